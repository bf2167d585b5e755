//! What stands around the workloads of a teardown, as the API server shows it: what must not be stopped, what would bring
//! it back, backups under way, and volumes that an earlier run was setting back.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, stream};
use serde_json::Value;

use crate::{
    cli::collect::Collected,
    client::{ListForm, ListRequest, ObjectRequest, ReadError, Reader, list_json},
    cluster::Cluster,
    facts::quoted,
    model::{Kind, Labels, ObjectKey, ObjectRef, Selector, Text, Uid},
    output::teardown::TeardownKeeper,
    plan::teardown::EarlierSteps,
};

/// Number of objects that are read at the same time.
const AT_ONCE: usize = 8;
/// Beginning of the priority classes of the system.
const SYSTEM_PRIORITY: &str = "system-";

/// What stands around the workloads of a teardown.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// Objects that must not be stopped, each with the reason.
    pub(super) protected: BTreeMap<ObjectKey, String>,
    /// What would bring claims or pods back.
    pub(super) keepers: BTreeSet<TeardownKeeper>,
    /// Reasons why nothing can be torn down now.
    pub(super) obstacles: Vec<String>,
    /// What could not be read, and does not matter enough to refuse.
    pub(super) notes: Vec<String>,
}

/// A service that answers the API server: an admission webhook, or an API of its own.
struct Answering {
    namespace: String,
    name: String,
    what: String,
}

impl Surroundings {
    /// Reads what stands around these workloads and pods.
    pub(super) async fn read(
        reader: &Reader,
        cluster: &Cluster,
        stops: &BTreeSet<ObjectRef>,
        keep_running: &Selector,
    ) -> Self {
        let mut found = Self::default();
        let read = stream::iter(stops).map(async |object| {
            let request = ObjectRequest::of(&object.key, object.key.kind.group().version);
            (object, reader.get_object::<Value>(&request).await)
        });
        let read: Vec<_> = read.buffer_unordered(AT_ONCE).collect().await;
        let mut live: BTreeMap<&ObjectKey, Value> = BTreeMap::new();
        for (object, answer) in read {
            match answer {
                Ok(answer) => {
                    live.insert(&object.key, answer.value);
                }
                Err(error) if error.is_absence_of(&object.key.name) => {}
                Err(error) => {
                    found.obstacles.push(format!("{object} was not read: {error}"));
                }
            }
        }
        let namespaces: BTreeSet<&str> =
            stops.iter().filter_map(|it| it.key.namespace.as_deref()).collect();
        found.follow_templates(reader, &mut live).await;
        for (key, object) in &live {
            found.look(key, object, keep_running);
        }
        found.spare_what_answers(reader, &namespaces, &live).await;
        found.autoscalers(reader, cluster, &namespaces, &live).await;
        found.drop_manual_applications(reader).await;
        found.node_autoscalers(reader).await;
        found.backups(reader).await;
        found
    }

    /// Reads the templates of Rollouts that refer to another workload for it.
    async fn follow_templates(&mut self, reader: &Reader, live: &mut BTreeMap<&ObjectKey, Value>) {
        for (key, object) in live {
            let text = |field: &str| object["spec"]["workloadRef"][field].as_str().unwrap_or("");
            let (kind, name) = (text("kind"), text("name"));
            if name.is_empty() {
                continue;
            }
            let group = text("apiVersion").split_once('/').map_or("", |it| it.0);
            let namespace = key.namespace.as_deref().unwrap_or_default();
            let read = match Kind::parse(group, kind).filter(|it| Kind::WORKLOADS.contains(it)) {
                Some(kind) => {
                    let of = ObjectRequest::named(kind, Some(namespace), name);
                    reader.get_object::<Value>(&of).await.map_err(|error| error.to_string())
                }
                None => Err("its kind is not known".to_owned()),
            };
            match read {
                Ok(mut answer) => {
                    object["spec"]["template"] = answer.value["spec"]["template"].take();
                }
                Err(why) => self.obstacles.push(format!(
                    "{key}: {kind} {name}, which has its template, was not read: {why}"
                )),
            }
        }
    }

    /// Looks at what an object tells of itself.
    fn look(&mut self, key: &ObjectKey, object: &Value, keep_running: &Selector) {
        let metadata = &object["metadata"];
        let template = template(object);
        let priority = template["spec"]["priorityClassName"]
            .as_str()
            .or_else(|| object["spec"]["priorityClassName"].as_str());
        if let Some(priority) = priority.filter(|it| it.starts_with(SYSTEM_PRIORITY)) {
            self.protected.insert(key.clone(), format!("its priority is {priority}"));
        }
        let labelled = [metadata, &template["metadata"]].map(|it| labels(&it["labels"]));
        if !keep_running.is_empty() && labelled.iter().any(|it| keep_running.matches(it)) {
            self.protected.insert(key.clone(), "--keep-running selects it".to_owned());
        }
        let label = |name: &str| metadata["labels"][name].as_str();
        let tracked = metadata["annotations"]["argocd.argoproj.io/tracking-id"].as_str();
        let application = tracked
            .and_then(|it| it.split(':').next())
            .or_else(|| label("argocd.argoproj.io/instance"));
        if let Some(name) = application {
            self.keepers.insert(TeardownKeeper {
                what: format!("Argo CD application {name} syncs {key}"),
                command: format!("argocd app set {} --sync-policy none", quoted(name)),
            });
        }
        for (of, what, resource) in [
            ("kustomize", "Kustomization", "kustomization"),
            ("helm", "HelmRelease", "helmrelease"),
        ] {
            let field = |field: &str| label(&format!("{of}.toolkit.fluxcd.io/{field}"));
            if let Some(name) = field("name") {
                let namespace = field("namespace").unwrap_or("flux-system");
                self.keepers.insert(TeardownKeeper {
                    what: format!("Flux {what} {namespace}/{name} reconciles {key}"),
                    command: format!(
                        "flux suspend {resource} {} -n {}",
                        quoted(name),
                        quoted(namespace)
                    ),
                });
            }
        }
    }

    /// Spares workloads whose pods answer the API server: without an admission webhook, it refuses every write.
    async fn spare_what_answers(
        &mut self,
        reader: &Reader,
        namespaces: &BTreeSet<&str>,
        live: &BTreeMap<&ObjectKey, Value>,
    ) {
        let mut services = Vec::new();
        for (resource, kind) in [
            ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
            ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ] {
            let request = custom("admissionregistration.k8s.io", "v1", resource, kind);
            match list_json::<Value>(reader, &request).await {
                Ok(answer) => {
                    services.extend(answer.value.iter().flat_map(|it| webhooks(it, kind)));
                }
                Err(error) => self.obstacles.push(format!(
                    "{resource} not read ({error}): unknown which workloads serve admission"
                )),
            }
        }
        let request = custom("apiregistration.k8s.io", "v1", "apiservices", "APIService");
        match list_json::<Value>(reader, &request).await {
            Ok(answer) => services.extend(answer.value.iter().filter_map(|it| {
                let service = &it["spec"]["service"];
                Some(Answering {
                    namespace: service["namespace"].as_str()?.to_owned(),
                    name: service["name"].as_str()?.to_owned(),
                    what: format!("APIService {}", it["metadata"]["name"].as_str()?),
                })
            })),
            Err(error) => self.obstacles.push(format!(
                "apiservices not read ({error}): unknown which workloads serve an API"
            )),
        }
        for service in services.iter().filter(|it| namespaces.contains(&*it.namespace)) {
            let request = ObjectRequest {
                group: "",
                version: "v1",
                kind: "Service",
                resource: "services",
                namespace: Some(&service.namespace),
                name: &service.name,
            };
            let answer = match reader.get_object::<Value>(&request).await {
                Ok(answer) => answer.value,
                Err(error) if error.is_absence_of(&service.name) => continue,
                Err(error) => {
                    let Answering { namespace, name, what } = service;
                    self.obstacles.push(format!(
                        "service {namespace}/{name} not read ({error}): unknown which workload \
                         serves {what}"
                    ));
                    continue;
                }
            };
            let Some(selector) = answer["spec"]["selector"].as_object() else { continue };
            for (key, object) in live {
                let is_there = key.namespace.as_deref() == Some(&*service.namespace);
                let labels = match key.kind {
                    Kind::Pod => &object["metadata"]["labels"],
                    _ => &template(object)["metadata"]["labels"],
                };
                let is_selected = selector.iter().all(|(name, value)| labels[name] == *value);
                if is_there && is_selected && !selector.is_empty() {
                    self.protected.insert((*key).clone(), format!("it serves {}", service.what));
                }
            }
        }
    }

    /// Finds what scales the workloads by itself.
    async fn autoscalers(
        &mut self,
        reader: &Reader,
        cluster: &Cluster,
        namespaces: &BTreeSet<&str>,
        live: &BTreeMap<&ObjectKey, Value>,
    ) {
        let targets = |namespace: &str, kind: &str, name: &str| {
            live.keys().any(|it| {
                it.namespace.as_deref() == Some(namespace)
                    && it.kind.name() == kind
                    && *it.name == *name
            })
        };
        for (_, it) in cluster.autoscalers() {
            if targets(&it.namespace, &it.target_kind, &it.target_name) {
                let (namespace, name) = (quoted(&it.namespace), quoted(&it.name));
                self.keepers.insert(TeardownKeeper {
                    what: format!(
                        "HorizontalPodAutoscaler {}/{} scales {} {}; it pauses at 0 replicas, and goes \
                         on when another client scales up",
                        it.namespace, it.name, it.target_kind, it.target_name
                    ),
                    command: format!("kubectl delete hpa {name} -n {namespace}"),
                });
            }
        }
        for (group, version, resource, kind, target, field, command) in [
            (
                "keda.sh",
                "v1alpha1",
                "scaledobjects",
                "ScaledObject",
                "scaleTargetRef",
                "Deployment",
                "kubectl annotate scaledobject NAME -n SPACE autoscaling.keda.sh/paused-replicas=0 \
                 --overwrite",
            ),
            (
                "autoscaling.k8s.io",
                "v1",
                "verticalpodautoscalers",
                "VerticalPodAutoscaler",
                "targetRef",
                "",
                "kubectl patch vpa NAME -n SPACE --type merge -p \
                 '{\"spec\":{\"updatePolicy\":{\"updateMode\":\"Off\"}}}'",
            ),
        ] {
            let found = list_json::<Value>(reader, &custom(group, version, resource, kind)).await;
            let items = self.unless_unserved(resource, found);
            for it in items {
                let target = &it["spec"][target];
                let of_kind = target["kind"].as_str().unwrap_or(field);
                let text =
                    |field: &str| it["metadata"][field].as_str().unwrap_or_default().to_owned();
                let (namespace, name) = (text("namespace"), text("name"));
                let target = target["name"].as_str().unwrap_or_default();
                if namespaces.contains(&*namespace) && targets(&namespace, of_kind, target) {
                    let command = command
                        .replace("NAME", &quoted(&name))
                        .replace("SPACE", &quoted(&namespace));
                    let what = format!("{kind} {namespace}/{name} scales {of_kind} {target}");
                    self.keepers.insert(TeardownKeeper { what, command });
                }
            }
        }
    }

    /// Removes the applications that do not sync by themselves, where that is known.
    async fn drop_manual_applications(&mut self, reader: &Reader) {
        const BEGINNING: &str = "Argo CD application ";
        if !self.keepers.iter().any(|it| it.what.starts_with(BEGINNING)) {
            return;
        }
        let request = custom("argoproj.io", "v1alpha1", "applications", "Application");
        let found = list_json::<Value>(reader, &request).await;
        for it in self.unless_unserved("applications", found) {
            let is_manual = it["spec"]["syncPolicy"]["automated"].is_null();
            if let Some(name) = it["metadata"]["name"].as_str().filter(|_| is_manual) {
                let named = format!("{BEGINNING}{name} ");
                self.keepers.retain(|it| !it.what.starts_with(&named));
            }
        }
    }

    /// Finds node autoscalers: they remove the nodes of controllers as soon as these are idle.
    async fn node_autoscalers(&mut self, reader: &Reader) {
        const SELECTOR: &str =
            "app.kubernetes.io/name in (karpenter,cluster-autoscaler,aws-cluster-autoscaler)";
        let mut request = ListRequest::of(Kind::Deployment, "v1");
        request.form = ListForm::Json;
        request.label_selector = Some(SELECTOR.to_owned());
        let found = list_json::<Value>(reader, &request).await;
        for it in self.unless_unserved("deployments", found) {
            let text = |field: &str| it["metadata"][field].as_str().unwrap_or_default();
            let (namespace, name) = (text("namespace"), text("name"));
            if it["spec"]["replicas"] != 0 {
                self.keepers.insert(TeardownKeeper {
                    what: format!(
                        "Deployment {namespace}/{name} removes idle nodes, perhaps those of controllers \
                         that are needed"
                    ),
                    command: format!(
                        "kubectl scale deploy {} -n {} --replicas 0",
                        quoted(name),
                        quoted(namespace)
                    ),
                });
            }
        }
    }

    /// Finds backups and restores that are under way.
    async fn backups(&mut self, reader: &Reader) {
        for (resource, kind, version) in [
            ("backups", "Backup", "v1"),
            ("restores", "Restore", "v1"),
            ("datauploads", "DataUpload", "v2alpha1"),
            ("datadownloads", "DataDownload", "v2alpha1"),
        ] {
            let found =
                list_json::<Value>(reader, &custom("velero.io", version, resource, kind)).await;
            for it in self.unless_unserved(resource, found) {
                let phase = it["status"]["phase"].as_str().unwrap_or("New");
                let is_over = [
                    "Completed",
                    "PartiallyFailed",
                    "Failed",
                    "FailedValidation",
                    "Canceled",
                    "Deleting",
                ]
                .contains(&phase);
                if !is_over {
                    let text = |field: &str| it["metadata"][field].as_str().unwrap_or_default();
                    let (namespace, name) = (text("namespace"), text("name"));
                    self.obstacles.push(format!(
                        "Velero {kind} {namespace}/{name} is {phase}: wait until it has ended"
                    ));
                }
            }
        }
    }

    /// Returns the objects of a kind that may not be served, and notes why they were not read.
    fn unless_unserved(
        &mut self,
        resource: &str,
        found: Result<crate::client::DatedAnswer<Vec<Value>>, ReadError>,
    ) -> Vec<Value> {
        match found {
            Ok(answer) => answer.value,
            // No such API group, or no such resource in it.
            Err(error) if error.is_not_served() => Vec::new(),
            Err(error) => {
                self.notes.push(format!("{resource} not read, which may bring pods back: {error}"));
                Vec::new()
            }
        }
    }
}

/// Returns the request for all objects of a kind that this tool has no type for.
fn custom(group: &str, version: &str, resource: &str, kind: &str) -> ListRequest {
    ListRequest {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
        kind: kind.to_owned(),
        form: ListForm::Custom,
        ..ListRequest::default()
    }
}

/// Returns the template of the pods of a workload.
fn template(object: &Value) -> &Value {
    let spec = &object["spec"];
    match spec["jobTemplate"].is_null() {
        true => &spec["template"],
        false => &spec["jobTemplate"]["spec"]["template"],
    }
}

fn labels(labels: &Value) -> Labels {
    let all = labels.as_object().into_iter().flatten();
    all.filter_map(|(key, it)| Some((Text::from(&**key), Text::from(it.as_str()?)))).collect()
}

fn webhooks(configuration: &Value, kind: &str) -> Vec<Answering> {
    let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
    let all = configuration["webhooks"].as_array().into_iter().flatten();
    let service = |it: &Value| {
        let service = &it["clientConfig"]["service"];
        Some(Answering {
            namespace: service["namespace"].as_str()?.to_owned(),
            name: service["name"].as_str()?.to_owned(),
            what: format!("{kind} {name}"),
        })
    };
    all.filter_map(service).collect()
}

/// Reads the volumes again whose policy an earlier run may have set back: one that has not changed since is still held by
/// that run. Returns the others.
pub(super) async fn unsettled(collected: &Collected, earlier: &mut EarlierSteps) -> BTreeSet<Uid> {
    let mut doubtful = BTreeSet::new();
    let Some(live) = &collected.live else { return doubtful };
    for (object, version) in &earlier.unsettled {
        let Some(uid) = object.uid.clone() else { continue };
        let request = ObjectRequest::of(&object.key, object.key.kind.group().version);
        let read = live.reader.get_object::<Value>(&request).await;
        let is_same = read.is_ok_and(|it| {
            let metadata = &it.value["metadata"];
            metadata["resourceVersion"] == **version && metadata["uid"] == uid.to_string()
        });
        match is_same {
            true => earlier.retained.insert(uid),
            false => doubtful.insert(uid),
        };
    }
    doubtful
}

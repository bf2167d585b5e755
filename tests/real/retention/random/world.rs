//! The namespace in which a random case really happens.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kubectl_storage::facts::retention::{Operation, Propagation};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::super::set::Policy;
use super::api::Api;
use super::case::{Act, Name, Owner, Shape};

const BACKGROUND: &str = "Background";
const HELD: &str = "example.com/held";
/// A uid that nobody has.
const EARLIER: &str = "00000000-dead-4000-8000-000000000000";
/// Controllers that have done nothing for so long have nothing left to do.
const QUIET: Duration = Duration::from_millis(2500);
/// A set that is being deleted and has pods to adopt never says that it was seen: the controller fails before that.
const STUCK: Duration = Duration::from_secs(8);
const POLL: Duration = Duration::from_millis(500);
/// A case in which controllers never come to rest has failed.
const RESTLESS: Duration = Duration::from_secs(60);

/// A set called `web`, alone in its namespace.
pub(super) struct World {
    pub(super) api: Api,
    shape: Shape,
}

impl World {
    pub(super) async fn make(api: Api, shape: Shape) -> Self {
        let other = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"},
        });
        api.create("configmaps", &other).await;
        let world = Self { api, shape };
        world.api.create("statefulsets", &world.set(shape.policy)).await;
        if let Some(policy) = shape.rival {
            // Its claims are called data-a-web-0 too.
            let rival = object("a-web", policy, Shape { templates: &["data"], ..shape });
            world.api.create("statefulsets", &rival).await;
        }
        world.settle().await;
        world
    }

    fn set(&self, policy: Policy) -> Value {
        object("web", policy, self.shape)
    }

    /// Has something happen, and lets the controllers do what follows.
    pub(super) async fn act(&self, act: &Act) {
        let api = &self.api;
        match act {
            Act::Scale(replicas) => self.spec(&json!({"replicas": replicas})).await,
            Act::Start(start) => self.spec(&json!({"ordinals": {"start": start}})).await,
            Act::SetPolicy(policy) => self.set_policy(&policy.json()).await,
            Act::Own { claim, owners, beside } => {
                let name = claim.to_string();
                let Some(found) = api.get("persistentvolumeclaims", &name).await else { return };
                let mut references = self.references(*claim, owners).await;
                if *beside {
                    references.extend(
                        found["metadata"]["ownerReferences"]
                            .as_array()
                            .cloned()
                            .into_iter()
                            .flatten(),
                    );
                }
                let patch = json!({"metadata": {"ownerReferences": references}});
                api.patch("persistentvolumeclaims", &name, &patch).await;
            }
            Act::Extra { claim, owners } => {
                let references = self.references(*claim, owners).await;
                let object = json!({
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "metadata": {"name": claim.to_string(), "ownerReferences": references},
                    "spec": spec_of_claim(),
                });
                api.create("persistentvolumeclaims", &object).await;
            }
            Act::HoldPod(ordinal) => self.hold("pods", &pod(*ordinal)).await,
            Act::HoldClaim(claim) => self.hold("persistentvolumeclaims", &claim.to_string()).await,
            Act::DeletePod(ordinal) => api.delete("pods", &pod(*ordinal), BACKGROUND).await,
            Act::DeleteClaim(claim) => {
                api.delete("persistentvolumeclaims", &claim.to_string(), BACKGROUND).await;
            }
            Act::HoldSet => self.hold("statefulsets", "web").await,
            Act::DeleteSet(propagation) => {
                api.delete("statefulsets", "web", name_of(*propagation)).await;
            }
            Act::Recreate(propagation, policy) => {
                api.delete("statefulsets", "web", name_of(*propagation)).await;
                // There is none yet where another one hangs, or waits for others.
                for _ in 0..3 {
                    if api.create("statefulsets", &self.set(*policy)).await.is_some() {
                        break;
                    }
                    sleep(POLL).await;
                }
            }
            Act::Estrange(ordinal) => {
                let patch = json!({"metadata": {"labels": {"app": "other"}}});
                api.patch("pods", &pod(*ordinal), &patch).await;
            }
            Act::Stranger(claim) => {
                api.create("pods", &stranger(&pod(claim.1), *claim)).await;
            }
            Act::Break(ordinal) => {
                let unready = json!({"type": "Ready", "status": "False"});
                api.patch_status(&pod(*ordinal), &json!({"status": {"conditions": [unready]}}))
                    .await;
            }
            Act::User(claim) => {
                api.create("pods", &stranger(&format!("user-{claim}"), *claim)).await;
            }
        }
        self.settle().await;
    }

    /// Does what was foretold about, and lets everything go that was held.
    pub(super) async fn operate(&self, operation: &Operation) {
        match operation {
            Operation::Wait => {}
            Operation::DeleteSet(propagation) => {
                self.api.delete("statefulsets", "web", name_of(*propagation)).await;
            }
            Operation::Scale(replicas) => self.spec(&json!({"replicas": replicas})).await,
            Operation::SetPolicy(policy) => {
                self.set_policy(&json!({
                    "whenDeleted": policy.when_deleted.to_string(),
                    "whenScaled": policy.when_scaled.to_string(),
                }))
                .await;
            }
            Operation::Change(change) => {
                let mut spec = json!({});
                if let Some(replicas) = change.replicas {
                    spec["replicas"] = json!(replicas);
                }
                if let Some(start) = change.start {
                    spec["ordinals"] = json!({"start": start});
                }
                if let Some(policy) = &change.policy {
                    spec["persistentVolumeClaimRetentionPolicy"] = json!({
                        "whenDeleted": policy.when_deleted.to_string(),
                        "whenScaled": policy.when_scaled.to_string(),
                    });
                }
                self.spec(&spec).await;
            }
            Operation::DeletePod(ordinal) => {
                self.api.delete("pods", &pod(*ordinal), BACKGROUND).await;
            }
        }
        self.settle().await;
        self.release().await;
        self.settle().await;
        // Nothing tells the controller that a claim is gone for which it waits.
        let poke = json!({"metadata": {"labels": {"poked": "yes"}}});
        let poked = self.api.patch("statefulsets", "web", &poke).await;
        let rival = self.api.patch("statefulsets", "a-web", &poke).await;
        if poked.or(rival).is_some() {
            self.settle().await;
        }
    }

    /// Makes the set again, with another policy.
    pub(super) async fn make_again(&self, policy: Policy) {
        self.api.create("statefulsets", &self.set(policy)).await;
        self.settle().await;
    }

    async fn spec(&self, spec: &Value) {
        self.api.patch("statefulsets", "web", &json!({"spec": spec})).await;
    }

    async fn set_policy(&self, policy: &Value) {
        self.spec(&json!({"persistentVolumeClaimRetentionPolicy": policy})).await;
    }

    async fn hold(&self, resource: &str, name: &str) {
        let Some(found) = self.api.get(resource, name).await else { return };
        let mut finalizers =
            found["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        finalizers.push(json!(HELD));
        self.api.patch(resource, name, &json!({"metadata": {"finalizers": finalizers}})).await;
    }

    /// Pods and sets that hang may go. Claims stay: that they are being deleted is what counts.
    async fn release(&self) {
        for resource in ["pods", "statefulsets"] {
            for object in self.api.list(resource).await {
                let metadata = &object["metadata"];
                let mut finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
                let count = finalizers.len();
                finalizers.retain(|it| it != HELD);
                if finalizers.len() < count {
                    let name = metadata["name"].as_str().unwrap_or_default();
                    let patch = json!({"metadata": {"finalizers": finalizers}});
                    self.api.patch(resource, name, &patch).await;
                }
            }
        }
    }

    async fn references(&self, claim: Name, owners: &[Owner]) -> Vec<Value> {
        let mut references = Vec::new();
        for owner in owners {
            let uid = async |resource: &str, name: &str| {
                let found = self.api.get(resource, name).await;
                found.map(|it| it["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
            };
            let pod = pod(claim.1);
            let (version, kind, name, uid) = match owner {
                Owner::Set { .. } => {
                    ("apps/v1", "StatefulSet", "web", uid("statefulsets", "web").await)
                }
                Owner::EarlierSet { .. } => {
                    ("apps/v1", "StatefulSet", "web", Some(EARLIER.to_owned()))
                }
                Owner::Pod { .. } => ("v1", "Pod", &*pod, uid("pods", &pod).await),
                Owner::EarlierPod => ("v1", "Pod", &*pod, Some(EARLIER.to_owned())),
                Owner::Other { .. } => {
                    ("v1", "ConfigMap", "other", uid("configmaps", "other").await)
                }
                Owner::Nobody => ("v1", "ConfigMap", "nobody", Some(EARLIER.to_owned())),
            };
            let Some(uid) = uid else { continue };
            let mut reference =
                json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid});
            if owner.is_controller() {
                reference["controller"] = json!(true);
            }
            references.push(reference);
        }
        references
    }

    /// The claims, by name.
    pub(super) async fn claims(&self) -> BTreeMap<String, Value> {
        let claims = self.api.list("persistentvolumeclaims").await;
        let name =
            |claim: &Value| claim["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        claims.into_iter().map(|claim| (name(&claim), claim)).collect()
    }

    /// Every object's name and version.
    pub(super) async fn versions(&self) -> Vec<String> {
        let mut versions = Vec::new();
        for resource in ["statefulsets", "pods", "persistentvolumeclaims"] {
            for object in self.api.list(resource).await {
                let metadata = &object["metadata"];
                let seen = object["status"]["observedGeneration"] == metadata["generation"];
                let word = if resource == "statefulsets" && !seen { "unseen" } else { "seen" };
                versions
                    .push(format!("{} {} {word}", metadata["uid"], metadata["resourceVersion"]));
            }
        }
        versions
    }

    /// Waits until nobody does anything any more.
    pub(super) async fn settle(&self) {
        let start = Instant::now();
        let mut known: Vec<String> = Vec::new();
        let mut since = Instant::now();
        let unseen = |it: &String| it.ends_with("unseen");
        while since.elapsed() < QUIET || (known.iter().any(unseen) && since.elapsed() < STUCK) {
            let rest = start.elapsed() < RESTLESS;
            assert!(rest, "{}: no rest within {RESTLESS:?}: {known:?}", self.api.namespace);
            let now = self.versions().await;
            if now != known {
                known = now;
                since = Instant::now();
            }
            sleep(POLL).await;
        }
    }

    /// Takes everything away.
    pub(super) async fn leave(self) {
        self.api.delete_all("statefulsets").await;
        self.api.delete_all("pods").await;
        self.release().await;
        for name in self.claims().await.keys() {
            let free = json!({"metadata": {"finalizers": null}});
            self.api.delete("persistentvolumeclaims", name, BACKGROUND).await;
            self.api.patch("persistentvolumeclaims", name, &free).await;
        }
    }
}

/// As the API calls it.
fn name_of(propagation: Propagation) -> &'static str {
    match propagation {
        Propagation::Background => BACKGROUND,
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    }
}

fn pod(ordinal: i32) -> String {
    format!("web-{ordinal}")
}

fn object(name: &str, policy: Policy, shape: Shape) -> Value {
    let claim = |template: &&str| json!({"metadata": {"name": template}, "spec": spec_of_claim()});
    let mount = |template: &&str| json!({"name": template, "mountPath": format!("/{template}")});
    let templates = shape.templates;
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": shape.replicas,
            "ordinals": {"start": shape.start},
            "podManagementPolicy": if shape.ordered { "OrderedReady" } else { "Parallel" },
            "serviceName": name,
            "persistentVolumeClaimRetentionPolicy": policy.json(),
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "nodeName": "node-1",
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{
                        "name": "main", "image": "none",
                        "volumeMounts": templates.iter().map(mount).collect::<Vec<_>>(),
                    }],
                },
            },
            "volumeClaimTemplates": templates.iter().map(claim).collect::<Vec<_>>(),
        },
    })
}

/// A pod that no set made.
fn stranger(name: &str, claim: Name) -> Value {
    let mut pod = crate::support::pod(name, &claim.to_string());
    pod["spec"]["nodeName"] = json!("node-1");
    pod["spec"]["terminationGracePeriodSeconds"] = json!(0);
    pod
}

fn spec_of_claim() -> Value {
    json!({
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "none",
        "resources": {"requests": {"storage": "1Gi"}},
    })
}

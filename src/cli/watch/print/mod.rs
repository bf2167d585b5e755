//! `watch print`: the objects with which `watch` runs in a cluster, as YAML.
//!
//! `workload` has the Deployment, and the Secrets that hold the files of a policy.

mod workload;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use workload::MountedSecret;

use crate::{
    cli::{
        Exit, Failure,
        args::{WATCH_NAMESPACE, reconciler},
        policy_refused,
        rbac::{acting_roles, watch_roles},
        terminal,
    },
    model::{escape_control, in_own_name, is_namespace_name},
    output::list,
    watch::policy::{
        PolicyFile, PolicySource, WatchPolicy,
        acting::{ReconcilerMode, ReconcilerName},
    },
};

/// Name of the image that is built from the `Containerfile`.
const IMAGE: &str = concat!("ghcr.io/kubectl-storage/kubectl-storage:v", env!("CARGO_PKG_VERSION"));

/// Policy for installations without a policy file.
const DEFAULT_POLICY: &str = "\
apiVersion: storage.kubectl.dev/v1alpha1
kind: WatchPolicy
report:
  events:
    severity: high
  metrics:
    address: 0.0.0.0:8443
  probes:
    address: 0.0.0.0:8081
leaderElection: {}
";

/// Arguments of `watch print`.
#[derive(Debug, Args)]
pub(super) struct PrintArgs {
    /// Put this policy file into the ConfigMap; - reads stdin [default: Events of high and worse, metrics, leader election]
    #[arg(short, long = "filename", value_name = "POLICY", value_hint = clap::ValueHint::FilePath)]
    filename: Option<PathBuf>,
    /// Run in this namespace, which is created, and restricted to pods of the restricted pod security standard
    #[arg(short, long, value_name = "NAMESPACE", default_value = WATCH_NAMESPACE, value_parser = namespace)]
    namespace: String,
    /// Run this image
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, value_parser = image)]
    image: String,
    /// Run this many pods, of which one reports [default: 2; 1 if the policy has no leaderElection]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    replicas: Option<u32>,
    /// Also print the roles with which these reconcilers act, whether the policy lets them or not yet
    #[arg(long, value_name = "RECONCILER", value_delimiter = ',', value_parser = reconciler())]
    act: Vec<ReconcilerName>,
    /// Also print a ServiceMonitor, a PrometheusRule and a Grafana dashboard; requires the Prometheus operator
    #[arg(long)]
    monitoring: bool,
    /// Tell clusters apart by this label in the rules and the dashboard that --monitoring prints
    #[arg(long, value_name = "LABEL", default_value = CLUSTER_LABEL, requires = "monitoring", value_parser = label)]
    cluster_label: String,
}

/// Parses a namespace that is not one of others: restrictions that are added to theirs would keep their pods from
/// starting.
fn namespace(text: &str) -> Result<String, String> {
    if !is_namespace_name(text) {
        return Err("not a valid name of a namespace".to_owned());
    }
    match text == "default" || text.starts_with("kube-") {
        true => Err("pods of others are in this namespace: the restrictions on pods would \
                     apply to them"
            .to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Parses the name of a label, as Prometheus takes it without quotes.
fn label(text: &str) -> Result<String, String> {
    let is_word = text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    match is_word && text.starts_with(|it: char| !it.is_ascii_digit()) {
        true => Ok(text.to_owned()),
        false => Err("not a valid name of a label".to_owned()),
    }
}

/// Parses the name of an image, as far as that needs no registry.
fn image(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.chars().all(|it| it.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("not a valid name of an image".to_owned()),
    }
}

impl PrintArgs {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let (policy, text) = if let Some(path) = &self.filename {
            let file = PolicyFile::open(PolicySource::parse(path));
            let file = file.map_err(|error| policy_refused(&error))?;
            (file.policy().clone(), file.text())
        } else {
            let policy = WatchPolicy::parse(&"the default policy", DEFAULT_POLICY);
            (policy.map_err(Failure::error)?, DEFAULT_POLICY.to_owned())
        };
        let installation = self.installation(policy, text)?;
        let objects = installation.objects().map_err(Failure::error)?;
        terminal::print(|out| {
            for (index, object) in objects.iter().enumerate() {
                if index > 0 {
                    writeln!(out, "---")?;
                }
                list::yaml(out, object)?;
            }
            Ok::<_, std::io::Error>(())
        })
        .map_err(Failure::error)?;
        if self.namespace != WATCH_NAMESPACE {
            terminal::note(&format!(
                "note: namespace {} gets the restricted pod security standard: nothing else should run there",
                self.namespace
            ));
        }
        let records = installation.policy.places(&self.namespace).records;
        if *records != *self.namespace {
            terminal::note(&format!(
                "note: namespace {records} must exist, in which the journal, the Lease and the record that pauses are: \
                 `kubectl create namespace {records}`. It is not printed, since deleting what is printed would delete \
                 the journal. `watch pause`, `resume` and `status` need -n {records}"
            ));
        }
        for name in &self.act {
            if installation.policy.reconcilers.mode(*name) != ReconcilerMode::Act {
                terminal::note(&format!(
                    "note: {name} may act by its roles, and does not: the policy says no mode: act"
                ));
            }
        }
        for secret in &installation.secrets {
            terminal::note(&format!("note: {}", escape_control(&secret.needed(&self.namespace))));
        }
        Ok(Exit::Done)
    }

    /// Returns what is to be installed, and refuses what could not run.
    fn installation(&self, policy: WatchPolicy, text: String) -> Result<Installation, Failure> {
        let elects = policy.leader_election.is_some();
        let replicas = self.replicas.unwrap_or(if elects { 2 } else { 1 });
        if replicas > 1 && !elects {
            return Err(Failure::usage(
                "--replicas above 1 requires leaderElection in the policy: without it each pod reports everything",
            ));
        }
        let metrics = policy.report.metrics.as_ref().filter(|it| !it.is_local());
        let port = metrics.map(|it| it.address.port());
        if port == Some(0) {
            return Err(Failure::usage("report.metrics.address: a Service requires a port, not 0"));
        }
        let probes = policy.report.probes.as_ref().filter(|it| !it.is_local());
        let probes = probes.map(|it| it.address.port());
        if probes == Some(0) {
            return Err(Failure::usage("report.probes.address: a kubelet requires a port, not 0"));
        }
        if probes.is_some() && probes == port {
            return Err(Failure::usage(
                "report.probes.address has the port of report.metrics.address: give it another one",
            ));
        }
        if self.monitoring && port.is_none() {
            return Err(Failure::usage(
                "--monitoring requires report.metrics in the policy, at an address that is not loopback, such as 0.0.0.0:8443",
            ));
        }
        if port.is_none() {
            terminal::note(match probes {
                Some(_) => {
                    "note: without metrics at an address that is not loopback there is no Service"
                }
                None => {
                    "note: without probes or metrics at an address that is not loopback there are no probes and no Service"
                }
            });
        }
        let secrets = workload::secrets(&policy.report).map_err(Failure::usage)?;
        Ok(Installation {
            namespace: self.namespace.clone(),
            image: self.image.clone(),
            replicas,
            policy,
            text,
            port,
            probes,
            secrets,
            act: self.act.clone(),
            cluster_label: self.monitoring.then(|| self.cluster_label.clone()),
        })
    }
}

/// Name of every object but the namespace and the policy.
const NAME: &str = "kubectl-storage-watch";
/// Name of the `ConfigMap` with the policy. With the name of the others it would be the one by which everything that
/// acts can be paused: the right to write that would include the policy.
const POLICY_NAME: &str = "kubectl-storage-watch-policy";
/// Key of the policy in its `ConfigMap`, and the name of its file.
const POLICY_FILE: &str = "policy.yaml";

/// Installation of `watch` in a cluster.
#[derive(Debug)]
struct Installation {
    namespace: String,
    image: String,
    replicas: u32,
    policy: WatchPolicy,
    /// Policy as it was written.
    text: String,
    /// Port of metrics, if they can be reached; of probes too, if these have none of their own.
    port: Option<u16>,
    /// Port of probes, if they can be reached.
    probes: Option<u16>,
    secrets: Vec<MountedSecret>,
    /// Reconcilers that get their roles, besides those that the policy lets act.
    act: Vec<ReconcilerName>,
    /// Label by which rules and the dashboard tell clusters apart, if these are printed.
    cluster_label: Option<String>,
}

impl Installation {
    /// Returns the labels of all objects, by which pods are selected.
    fn labels() -> Value {
        json!({"app.kubernetes.io/name": "kubectl-storage", "app.kubernetes.io/component": "watch"})
    }

    /// Returns the metadata of an object in the namespace.
    fn metadata(&self) -> Value {
        json!({"name": NAME, "namespace": self.namespace, "labels": Self::labels()})
    }

    /// Returns an object in the namespace, with one field.
    fn object(&self, version: &str, kind: &str, (field, value): (&str, Value)) -> Value {
        let mut object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": self.metadata(),
        });
        object[field] = value;
        object
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";

impl Installation {
    /// Returns all objects of the installation.
    ///
    /// # Errors
    /// When one cannot be written as JSON.
    fn objects(&self) -> anyhow::Result<Vec<Value>> {
        let mut objects = vec![
            self.own_namespace(),
            self.object("v1", "ServiceAccount", ("automountServiceAccountToken", json!(false))),
        ];
        for role in watch_roles(&self.policy)? {
            objects.extend(self.bound(role));
        }
        let data = json!({POLICY_FILE: self.text});
        let mut policy = self.object("v1", "ConfigMap", ("data", data));
        policy["metadata"]["name"] = json!(POLICY_NAME);
        objects.push(policy);
        objects.push(self.object("apps/v1", "Deployment", ("spec", workload::spec(self))));
        objects.push(self.disruption_budget());
        if self.port.is_some() {
            objects.push(self.service());
        }
        objects.push(self.network_policy());
        for role in acting_roles(&self.policy, &self.namespace, &self.act)? {
            objects.extend(self.bound(role));
        }
        if let Some(label) = &self.cluster_label {
            objects.extend(monitoring_objects(self, label)?);
        }
        Ok(objects)
    }

    /// Returns the namespace, in which no pod may do more than those of `watch`.
    fn own_namespace(&self) -> Value {
        let mut labels = Self::labels();
        for mode in ["enforce", "audit", "warn"] {
            labels[format!("pod-security.kubernetes.io/{mode}")] = json!("restricted");
        }
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace, "labels": labels},
        })
    }

    /// Returns a role, and its binding to the service account. A Role without a namespace is that of the Lease or of
    /// the journal, which is where the pod is.
    fn bound(&self, mut role: Value) -> [Value; 2] {
        let kind = role["kind"].as_str().unwrap_or_default().to_owned();
        if kind == "Role" && role["metadata"]["namespace"].is_null() {
            role["metadata"]["namespace"] = json!(self.namespace);
        }
        role["metadata"]["labels"] = Self::labels();
        let binding = json!({
            "apiVersion": RBAC_V1,
            "kind": format!("{kind}Binding"),
            "metadata": role["metadata"],
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role["metadata"]["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": self.namespace}],
        });
        [role, binding]
    }

    /// Returns the disruption budget: one pod at a time is evicted, and one that is not ready never blocks a drain.
    fn disruption_budget(&self) -> Value {
        let spec = json!({
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": Self::labels()},
        });
        self.object("policy/v1", "PodDisruptionBudget", ("spec", spec))
    }

    fn service(&self) -> Value {
        let port = json!({"name": "metrics", "port": self.port, "targetPort": "metrics"});
        let spec = json!({"selector": Self::labels(), "ports": [port]});
        self.object("v1", "Service", ("spec", spec))
    }

    /// Returns the network policy: only requests for metrics come in. What goes out is not limited: where the API
    /// server and a webhook are is not known here.
    fn network_policy(&self) -> Value {
        let port = self.port.map(|it| json!({"ports": [{"protocol": "TCP", "port": it}]}));
        let spec = json!({
            "podSelector": {"matchLabels": Self::labels()},
            "policyTypes": ["Ingress"],
            "ingress": port.into_iter().collect::<Vec<_>>(),
        });
        self.object("networking.k8s.io/v1", "NetworkPolicy", ("spec", spec))
    }
}

/// Label that tells clusters apart in [`ALERTS`] and [`DASHBOARD`], where the word means nothing else.
const CLUSTER_LABEL: &str = "cluster";

/// Alerting rules, as any Prometheus loads them.
const ALERTS: &str = include_str!("../../../../deploy/alerts.yaml");

/// Dashboard, as Grafana imports it.
const DASHBOARD: &str = include_str!("../../../../deploy/components/monitoring/dashboard.json");

/// Returns the objects of the group `monitoring.coreos.com`, and the dashboard.
///
/// # Errors
/// When the rules that this program holds are no YAML.
fn monitoring_objects(
    of: &Installation,
    cluster_label: &str,
) -> Result<[Value; 3], serde_yaml::Error> {
    let labelled =
        |text: &str| in_own_name(&text.replace(CLUSTER_LABEL, cluster_label)).into_owned();
    let object =
        |kind: &str, spec: Value| of.object("monitoring.coreos.com/v1", kind, ("spec", spec));
    // Nothing here knows who signed the certificate: each process has its own, unless the policy says.
    let endpoint = json!({
        "port": "metrics",
        "scheme": "https",
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": {"insecureSkipVerify": true},
    });
    let monitor = json!({
        "selector": {"matchLabels": Installation::labels()},
        "endpoints": [endpoint],
    });
    let rules: Value = serde_yaml::from_str(&labelled(ALERTS))?;
    let data = json!({"kubectl-storage.json": labelled(DASHBOARD)});
    let mut dashboard = of.object("v1", "ConfigMap", ("data", data));
    dashboard["metadata"]["name"] = json!("kubectl-storage-watch-dashboard");
    // Charts of Grafana have a sidecar that loads what has this label.
    dashboard["metadata"]["labels"]["grafana_dashboard"] = json!("1");
    Ok([object("ServiceMonitor", monitor), object("PrometheusRule", rules), dashboard])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_of_others_are_refused() {
        for name in ["kubectl-storage", "storage", "a"] {
            assert!(namespace(name).is_ok(), "{name}");
        }
        for name in ["", "A", "a.b", "-a", "a-", "default", "kube-system", "kube-public"] {
            assert!(namespace(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_default_policy_is_a_policy() {
        let policy = WatchPolicy::parse(&"default", DEFAULT_POLICY).expect("it is ours");
        assert!(policy.leader_election.is_some() && policy.report.webhook.is_none());
    }

    #[test]
    fn labels_need_no_quotes() {
        for name in ["cluster", "_a", "K8s_cluster"] {
            assert!(label(name).is_ok(), "{name}");
        }
        for name in ["", "1a", "a-b", "k8s.cluster", "a\"", "é"] {
            assert!(label(name).is_err(), "{name}");
        }
    }

    #[test]
    fn images_are_words() {
        assert!(image(IMAGE).is_ok());
        for name in ["", "a b", "a\n", "a\u{1b}[0m"] {
            assert!(image(name).is_err(), "{name:?}");
        }
    }
}

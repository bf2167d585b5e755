//! A `StatefulSet` called `web` whose pods have a claim each, on volumes of the in-tree provisioner.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubectl_storage::facts::retention::Operation;
use kubectl_storage::model::{Retention, RetentionPolicy};
use serde_json::{Value, json};

use super::foretell::words;
use crate::support::{Cluster, Report, Scenario, eventually, host_path_class};

/// What a claim's reference to the set looks like when the controller of today wrote it.
pub(super) const BY_SET: &str = "StatefulSet/web, controller, blocks";

/// `whenDeleted` and `whenScaled`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy(pub(super) &'static str, pub(super) &'static str);

pub(super) const RETAIN: Policy = Policy("Retain", "Retain");
pub(super) const DELETE_WITH_SET: Policy = Policy("Delete", "Retain");
pub(super) const DELETE_SCALED: Policy = Policy("Retain", "Delete");
pub(super) const DELETE: Policy = Policy("Delete", "Delete");

impl Policy {
    pub(super) fn json(self) -> Value {
        json!({"whenDeleted": self.0, "whenScaled": self.1})
    }

    pub(super) fn retention(self) -> RetentionPolicy {
        let value = |text| if text == "Delete" { Retention::Delete } else { Retention::Retain };
        RetentionPolicy { when_deleted: value(self.0), when_scaled: value(self.1) }
    }
}

/// The set, and its corner of the cluster.
pub(super) struct Set<'a> {
    pub(super) on: Scenario<'a>,
    class: String,
    /// Whether its pods come and go one after the other.
    ordered: bool,
}

impl<'a> Set<'a> {
    /// Starts a set, and waits until its pods run.
    pub(super) fn start(cluster: &'a Cluster, policy: Policy, replicas: u32) -> Self {
        Self::begin(cluster, policy, replicas, true)
    }

    /// Starts a set whose pods come and go as they like.
    pub(super) fn start_parallel(cluster: &'a Cluster, policy: Policy, replicas: u32) -> Self {
        Self::begin(cluster, policy, replicas, false)
    }

    fn begin(cluster: &'a Cluster, policy: Policy, replicas: u32, ordered: bool) -> Self {
        let on = Scenario::on(cluster);
        let class = on.named("class");
        on.create(&host_path_class(&class, "Delete"));
        let set = Self { on, class, ordered };
        set.create(policy, replicas);
        set
    }

    /// Creates the set (again), and waits until its pods run.
    pub(super) fn create(&self, policy: Policy, replicas: u32) {
        self.on.create(&self.object(policy, replicas));
        self.rolled_out(replicas);
        self.bound();
        self.on.remember_volumes();
    }

    /// Waits until all its claims are bound: kwok runs pods whose volumes are not there yet. Without
    /// a volume nothing could be lost, and findings would be lesser ones.
    fn bound(&self) {
        eventually("its claims are bound", || {
            self.list("pvc").iter().all(|claim| claim["status"]["phase"] == "Bound")
        });
    }

    fn object(&self, policy: Policy, replicas: u32) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "serviceName": "web",
                "podManagementPolicy": if self.ordered { "OrderedReady" } else { "Parallel" },
                "persistentVolumeClaimRetentionPolicy": policy.json(),
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {
                        "nodeName": "node-1", // not all control planes of the testbed have a scheduler
                        "terminationGracePeriodSeconds": 0,
                        "containers": [{
                            "name": "main", "image": "none",
                            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                        }],
                    },
                },
                "volumeClaimTemplates": [{
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": self.class,
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }],
            },
        })
    }

    /// Creates a claim of this name as if it had been one of the set's.
    pub(super) fn create_claim(&self, name: &str) {
        let mut claim = crate::support::claim(name, &self.class);
        claim["metadata"]["labels"] = json!({"app": "web"});
        self.on.create(&claim);
        self.on.bound(name);
    }

    /// Waits until the controller has done what the set's last change asks for.
    pub(super) fn rolled_out(&self, replicas: u32) {
        eventually(&format!("{replicas} pods are there, and ready"), || {
            let set = self.on.read("sts/web");
            let status = &set["status"];
            let count = |name: &str| status[name].as_u64().unwrap_or_default();
            status["observedGeneration"] == set["metadata"]["generation"]
                && count("replicas") == u64::from(replicas)
                && count("availableReplicas") == u64::from(replicas)
                && status["currentRevision"] == status["updateRevision"]
        });
    }

    /// Changes the number of replicas, and waits.
    pub(super) fn scale(&self, replicas: u32) {
        self.on.patch("sts/web", &json!({"spec": {"replicas": replicas}}));
        self.rolled_out(replicas);
        self.bound();
    }

    /// Changes the policy, and waits until the controller has seen it.
    pub(super) fn set_policy(&self, policy: Policy) {
        let patch = json!({"spec": {"persistentVolumeClaimRetentionPolicy": policy.json()}});
        self.on.patch("sts/web", &patch);
        eventually("the controller has seen the policy", || {
            let set = self.on.read("sts/web");
            set["status"]["observedGeneration"] == set["metadata"]["generation"]
        });
    }

    /// Deletes the set and its pods, and waits until they are gone.
    pub(super) fn delete(&self) {
        self.on.delete("sts/web");
        self.on.wait_gone("sts/web");
        eventually("its pods are gone", || self.pods().is_empty());
    }

    fn list(&self, resource: &str) -> Vec<Value> {
        self.on.cluster.list(&self.on.name, resource)
    }

    /// The names of the pods.
    pub(super) fn pods(&self) -> Vec<String> {
        self.list("pods").iter().map(|pod| text(&pod["metadata"]["name"])).collect()
    }

    /// The uids of all claims, by name.
    pub(super) fn claims(&self) -> BTreeMap<String, String> {
        let entry =
            |claim: &Value| (text(&claim["metadata"]["name"]), text(&claim["metadata"]["uid"]));
        self.list("pvc").iter().map(entry).collect()
    }

    /// The ordinals of the claims from the template.
    pub(super) fn ordinals(&self) -> Vec<String> {
        let ordinal = |name: &String| name.strip_prefix("data-web-").map(str::to_owned);
        self.claims().keys().filter_map(ordinal).collect()
    }

    /// Waits until these are the claims from the template.
    pub(super) fn wait_ordinals(&self, ordinals: &[&str]) {
        eventually(&format!("only the claims {ordinals:?} are there"), || {
            self.ordinals() == ordinals
        });
    }

    /// How a claim's owner references read, such as [`BY_SET`].
    pub(super) fn owners(&self, claim: &str) -> Vec<String> {
        let claim = self.on.read(&format!("pvc/{claim}"));
        claim["metadata"]["ownerReferences"].as_array().into_iter().flatten().map(owner).collect()
    }

    /// Waits until these are a claim's owner references.
    pub(super) fn wait_owners(&self, claim: &str, owners: &[&str]) {
        eventually(&format!("{claim} is owned by {owners:?}"), || self.owners(claim) == owners);
    }

    /// Replaces a claim's owner references.
    pub(super) fn set_owners(&self, claim: &str, owners: &[Value]) {
        let patch = json!({"metadata": {"ownerReferences": owners}});
        self.on.patch(&format!("pvc/{claim}"), &patch);
    }

    /// The folder of the volume of each claim.
    pub(super) fn folders(&self) -> BTreeMap<String, PathBuf> {
        let of = |claim: &str| {
            let volume = self.on.read(&format!("pvc/{claim}"))["spec"]["volumeName"].take();
            let volume = volume.as_str().expect("because it is bound").to_owned();
            let path = self.on.read(&format!("pv/{volume}"))["spec"]["hostPath"]["path"].take();
            Path::new(path.as_str().expect("because it is of host-path")).to_owned()
        };
        self.claims().into_keys().map(|claim| (claim.clone(), of(&claim))).collect()
    }

    /// Makes a pod fail its readiness for good.
    pub(super) fn unready(&self, pod: &str) {
        let unready = r#"{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}"#;
        let args = ["patch", pod, "-n", &self.on.name, "--subresource=status"];
        self.on.cluster.kubectl(&[&args[..], &["--type=strategic", "-p", unready]].concat());
    }

    /// The set's uid.
    pub(super) fn uid(&self) -> String {
        text(&self.on.read("sts/web")["metadata"]["uid"])
    }

    /// A `ConfigMap` of the namespace, as an owner.
    pub(super) fn config_map(&self, controller: bool) -> Value {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"},
        });
        let map = self.on.create(&map);
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "other",
            "uid": map["metadata"]["uid"], "controller": controller,
        })
    }

    /// What the tool foretells of an operation: a word for each claim.
    pub(super) fn foretell(&self, operation: &Operation) -> Vec<&'static str> {
        words(self.on.cluster, &self.on.name, self.ordered, operation)
    }

    /// How reports name a claim.
    pub(super) fn claim(&self, name: &str) -> String {
        format!("pvc/{}/{name}", self.on.name)
    }

    /// What a report finds about a claim that has to do with sets.
    pub(super) fn ids<'r>(&self, report: &'r Report, claim: &str) -> Vec<&'r str> {
        let mut ids = report.ids_of(&self.claim(claim));
        ids.retain(|id| id.starts_with("sts-"));
        ids
    }
}

impl Drop for Set<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.on.remember_volumes();
            let _ = self.on.cluster.try_kubectl(&["delete", "storageclass", &self.class], "");
        }
    }
}

fn owner(reference: &Value) -> String {
    let flag = |name: &str, says: &'static str| if reference[name] == true { says } else { "" };
    format!(
        "{}/{}{}{}",
        text(&reference["kind"]),
        text(&reference["name"]),
        flag("controller", ", controller"),
        flag("blockOwnerDeletion", ", blocks"),
    )
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

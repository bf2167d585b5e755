//! What kubectl, controllers and others may ask for that concerns storage, as dry runs.

use http::Method;
use serde_json::{Value, json};

use super::ask::{APPLY, Asked, JSON, MERGE};
use super::world::{ATTACHER, EXTERNAL};
use crate::support::Cluster;

/// A request, and what the guard is to do with it if a person sends it.
pub(super) struct Attempt {
    /// The rule that it is about.
    pub(super) rule: char,
    pub(super) what: &'static str,
    pub(super) asked: Asked,
    /// Whether the guard is against it.
    pub(super) against: bool,
}

struct Attempts<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    all: Vec<Attempt>,
}

fn options(more: &Value) -> Value {
    let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]});
    for (key, value) in more.as_object().into_iter().flatten() {
        options[key] = value.clone();
    }
    options
}

impl Attempts<'_> {
    fn live(&self, object: &str) -> Value {
        self.cluster.get(self.namespace, object).unwrap_or_else(|| panic!("{object} is gone"))
    }

    fn path(&self, object: &str) -> String {
        let (kind, name) = object.split_once('/').unwrap_or((object, ""));
        let slash = if name.is_empty() { "" } else { "/" };
        let namespace = self.namespace;
        match kind {
            "pv" => format!("/api/v1/persistentvolumes{slash}{name}"),
            "ns" => format!("/api/v1/namespaces{slash}{name}"),
            "volumeattachment" => format!("/apis/storage.k8s.io/v1/volumeattachments{slash}{name}"),
            "sts" => format!("/apis/apps/v1/namespaces/{namespace}/statefulsets{slash}{name}"),
            _ => format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims{slash}{name}"),
        }
    }

    fn add(&mut self, rule: char, what: &'static str, against: bool, asked: Asked) {
        self.all.push(Attempt { rule, what, asked, against });
    }

    fn delete(
        &mut self,
        rule: char,
        what: &'static str,
        object: &str,
        more: &Value,
        against: bool,
    ) {
        let (path, body) = (self.path(object), options(more));
        self.add(rule, what, against, Asked { method: Method::DELETE, path, content: JSON, body });
    }

    /// Deletes it as `kubectl storage delete` does.
    fn sign(&mut self, rule: char, what: &'static str, object: &str) {
        let metadata = self.live(object)["metadata"].clone();
        let both = json!({"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]});
        self.delete(rule, what, object, &json!({"preconditions": both}), false);
    }

    fn write(
        &mut self,
        what: &'static str,
        (method, content): (Method, &'static str),
        (object, part, manager): (&str, &str, &str),
        body: Value,
        against: bool,
    ) {
        let path = format!("{}{part}?dryRun=All&fieldManager={manager}", self.path(object));
        self.add('d', what, against, Asked { method, path, content, body });
    }

    fn merge(&mut self, what: &'static str, to: (&str, &str, &str), body: Value, against: bool) {
        self.write(what, (Method::PATCH, MERGE), to, body, against);
    }

    fn claims(&mut self) {
        self.delete('a', "delete a bound claim", "pvc/bound", &json!({}), true);
        let force = json!({"gracePeriodSeconds": 0});
        self.delete('a', "the same, --force --grace-period=0", "pvc/bound", &force, true);
        let orphan = json!({"propagationPolicy": "Orphan"});
        self.delete('a', "the same, --cascade=orphan", "pvc/bound", &orphan, true);
        let uid = json!({"preconditions": {"uid": self.live("pvc/bound")["metadata"]["uid"]}});
        self.delete('a', "the same, with the uid alone as precondition", "pvc/bound", &uid, true);
        self.delete('a', "delete all claims (deletecollection)", "pvc", &json!({}), true);
        self.sign('a', "delete a bound claim, signed by the tool", "pvc/bound");
        self.delete('a', "delete a claim that is not bound", "pvc/pending", &json!({}), false);
        self.delete('a', "delete a claim that is Terminating", "pvc/leaving", &json!({}), false);
    }

    fn volumes(&mut self) {
        self.delete('b', "delete a volume that leaks", "pv/leaks", &json!({}), true);
        let force = json!({"gracePeriodSeconds": 0});
        self.delete('b', "the same, --force --grace-period=0", "pv/leaks", &force, true);
        self.delete('b', "delete all volumes (deletecollection)", "pv", &json!({}), true);
        self.delete('b', "delete a protected volume", "pv/protected", &json!({}), false);
        self.delete('b', "delete a volume with policy Retain", "pv/retained", &json!({}), false);
    }

    fn sets(&mut self) {
        self.delete('c', "delete a set under whenDeleted Delete", "sts/destroys", &json!({}), true);
        let foreground = json!({"propagationPolicy": "Foreground"});
        self.delete('c', "the same, --cascade=foreground", "sts/destroys", &foreground, true);
        let helm = json!({"propagationPolicy": "Background"});
        self.delete('c', "the same, as helm uninstall sends it", "sts/destroys", &helm, true);
        self.delete('c', "delete all sets (deletecollection)", "sts", &json!({}), true);
        let orphan = json!({"propagationPolicy": "Orphan"});
        self.delete('c', "delete it with --cascade=orphan", "sts/destroys", &orphan, false);
        let old = json!({"orphanDependents": true});
        self.delete('c', "the same, as old clients send it", "sts/destroys", &old, false);
        self.sign('c', "delete it, signed by the tool", "sts/destroys");
        self.delete('c', "delete a set under whenDeleted Retain", "sts/retains", &json!({}), false);
    }

    fn finalizers(&mut self) {
        let none = json!({"metadata": {"finalizers": null}});
        let by_hand = "kubectl-patch";
        for (object, names) in [
            (
                "pvc/bound",
                [
                    "take off the finalizer of a claim",
                    "the same through /status",
                    "the same with kubectl replace",
                    "the same by the tool's field manager",
                ],
            ),
            (
                "pv/protected",
                [
                    "take off the finalizers of a volume",
                    "the same through /status",
                    "the same with kubectl replace",
                    "the same by the tool's field manager",
                ],
            ),
            (
                "volumeattachment/attached",
                [
                    "take off the finalizer of a VolumeAttachment",
                    "the same through /status, which the API server ignores",
                    "the same with kubectl replace",
                    "the same by the tool's field manager",
                ],
            ),
        ] {
            let [patch, status, replace, tool] = names;
            self.merge(patch, (object, "", by_hand), none.clone(), true);
            // The API server ignores the finalizers in the status of an attachment
            // (`volumeAttachmentStatusStrategy`).
            let kept = object.starts_with("volumeattachment/");
            self.merge(status, (object, "/status", by_hand), none.clone(), !kept);
            let mut whole = self.live(object);
            whole["metadata"]["finalizers"] = json!(null);
            let put = (Method::PUT, JSON);
            self.write(replace, put, (object, "", "kubectl-replace"), whole, true);
            self.merge(tool, (object, "", "kubectl-storage"), none.clone(), false);
        }
        let attacher_left =
            json!({"metadata": {"finalizers": [ATTACHER, "kubernetes.io/pv-protection"]}});
        let what = "take off the finalizer of the provisioner alone";
        self.merge(what, ("pv/protected", "", by_hand), attacher_left, true);
        let provisioner_left =
            json!({"metadata": {"finalizers": [EXTERNAL, "kubernetes.io/pv-protection"]}});
        let what = "take off the finalizer of the attacher alone";
        self.merge(what, ("pv/protected", "", by_hand), provisioner_left, true);
        let mut added = self.live("pvc/bound")["metadata"]["finalizers"].clone();
        added.as_array_mut().expect("it has one").push(json!("example.com/mine"));
        let added = json!({"metadata": {"finalizers": added}});
        self.merge("add a finalizer to a claim", ("pvc/bound", "", by_hand), added, false);
        let label = json!({"metadata": {"labels": {"team": "shop"}}});
        self.merge("label a claim", ("pvc/bound", "", "kubectl-label"), label.clone(), false);
        self.merge("label a volume", ("pv/protected", "", "kubectl-label"), label, false);
    }

    fn owners(&mut self) {
        let owner = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "gone",
            "uid": "00000000-dead-4000-8000-000000000000",
        });
        let patch = json!({"metadata": {"ownerReferences": [owner]}});
        let to = ("pvc/bound", "", "kubectl-edit");
        self.merge("add an owner reference to a claim", to, patch.clone(), true);
        let status = ("pvc/bound", "/status", "kubectl-edit");
        self.merge("the same through /status", status, patch.clone(), true);
        let mut applied = patch;
        applied["apiVersion"] = json!("v1");
        applied["kind"] = json!("PersistentVolumeClaim");
        let apply = (Method::PATCH, APPLY);
        let what = "the same with kubectl apply --server-side";
        self.write(what, apply, ("pvc/bound", "", "kubectl&force=true"), applied, true);
    }

    fn namespaces(&mut self) {
        let object = format!("ns/{}", self.namespace);
        self.delete('e', "delete the namespace", &object, &json!({}), true);
        self.sign('e', "delete the namespace, signed by the tool", &object);
    }
}

/// Returns every request, for objects of a namespace and for those that are in none.
pub(super) fn attempts(cluster: &Cluster, namespace: &str) -> Vec<Attempt> {
    let mut attempts = Attempts { cluster, namespace, all: Vec::new() };
    attempts.claims();
    attempts.volumes();
    attempts.sets();
    attempts.finalizers();
    attempts.owners();
    attempts.namespaces();
    attempts.all
}

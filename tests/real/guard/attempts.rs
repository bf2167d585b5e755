//! What kubectl, controllers and others may ask for that concerns storage, as dry runs.

use http::Method;
use serde_json::{Value, json};

use super::ask::{APPLY, Asked, JSON, MERGE};
use super::world::{ATTACHER, EXTERNAL};
use crate::support::{Cluster, PersistentVolume};

/// The uid of no claim, and the name of a volume that is provisioned for it.
const NOBODY: &str = "00000000-dead-4000-8000-000000000000";
const NAMED: &str = "pvc-00000000-dead-4000-8000-000000000000";

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
    /// The rule that updates are about.
    rule: char,
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
        self.add(self.rule, what, against, Asked { method, path, content, body });
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

    /// What takes a bound volume from its claim.
    fn claim_refs(&mut self) {
        self.rule = 'f';
        let by_hand = "kubectl-patch";
        let uid = |uid: &str| json!({"spec": {"claimRef": {"uid": uid}}});
        let what = "change the uid in the claimRef of a bound volume";
        self.merge(what, ("pv/taken", "", by_hand), uid(NOBODY), true);
        let mut whole = self.live("pv/taken");
        whole["spec"]["claimRef"]["uid"] = json!(NOBODY);
        let put = (Method::PUT, JSON);
        let what = "the same with kubectl replace, of an old manifest";
        self.write(what, put.clone(), ("pv/taken", "", "kubectl-replace"), whole, true);
        let applied = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "spec": {"claimRef": {"uid": NOBODY}},
        });
        let what = "the same with kubectl apply --server-side";
        let to = ("pv/taken", "", "kubectl&force=true");
        self.write(what, (Method::PATCH, APPLY), to, applied, true);
        let what = "the same by the tool's field manager";
        self.merge(what, ("pv/taken", "", "kubectl-storage"), uid(NOBODY), false);
        for (what, body) in [
            ("take the uid off", json!({"spec": {"claimRef": {"uid": null}}})),
            ("change the name in it", json!({"spec": {"claimRef": {"name": "other"}}})),
            ("change the namespace in it", json!({"spec": {"claimRef": {"namespace": "other"}}})),
            ("take the claimRef off", json!({"spec": {"claimRef": null}})),
        ] {
            self.merge(what, ("pv/taken", "", by_hand), body, true);
        }
        let released = json!({"status": {"phase": "Released"}});
        let what = "write phase Released into a bound volume";
        self.merge(what, ("pv/taken", "/status", by_hand), released, true);
        let label = json!({"metadata": {"labels": {"team": "shop"}}});
        self.merge("label a bound volume", ("pv/taken", "", "kubectl-label"), label, false);
        let own = self.live("pv/taken");
        let what = "replace a bound volume with itself";
        self.write(what, put, ("pv/taken", "", "kubectl-replace"), own, false);
        let empty = json!({"spec": {"claimRef": null}});
        let what = "take the claimRef off a Released volume";
        self.merge(what, ("pv/left", "", by_hand), empty, false);
        let what = "change the uid in that of a Released volume";
        self.merge(what, ("pv/left", "", by_hand), uid(NOBODY), false);
        let claim = json!({"spec": {"claimRef": {"namespace": "shop", "name": "data"}}});
        let what = "reserve an Available volume for a claim";
        self.merge(what, ("pv/retained", "", by_hand), claim, false);
        for (what, name, policy, manager, against) in [
            (
                "create a volume of a claim's uid with policy Delete",
                "copy",
                "Delete",
                "kubectl-create",
                true,
            ),
            ("the same by the tool's field manager", "copy", "Delete", "kubectl-storage", false),
            ("the same with policy Retain", "copy", "Retain", "kubectl-create", false),
            ("create it as a provisioner does, named by that uid", NAMED, "Delete", "csi", false),
        ] {
            let mut volume = PersistentVolume::csi(name, "csi.example", "copy").policy(policy).0;
            volume["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data", "uid": NOBODY});
            let create = (Method::POST, JSON);
            self.write(what, create, ("pv", "", manager), volume, against);
        }
    }

    /// Policies and replicas by which controllers destroy data.
    fn policies(&mut self) {
        self.rule = 'g';
        let by_hand = "kubectl-patch";
        let policy = |it: &str| json!({"spec": {"persistentVolumeReclaimPolicy": it}});
        let what = "set a Released volume from Retain to Delete";
        self.merge(what, ("pv/left", "", by_hand), policy("Delete"), true);
        let mut whole = self.live("pv/left");
        whole["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
        let put = (Method::PUT, JSON);
        let what = "the same with kubectl replace";
        self.write(what, put.clone(), ("pv/left", "", "kubectl-replace"), whole, true);
        let what = "the same by the tool's field manager";
        self.merge(what, ("pv/left", "", "kubectl-storage"), policy("Delete"), false);
        let what = "set an Available volume to Delete";
        self.merge(what, ("pv/retained", "", by_hand), policy("Delete"), false);
        let what = "set a bound volume to Retain";
        self.merge(what, ("pv/taken", "", by_hand), policy("Retain"), false);

        self.rule = 'h';
        let policy = |field: &str, it: &str| json!({"spec": {"persistentVolumeClaimRetentionPolicy": {field: it}}});
        let retains = ("sts/retains", "", by_hand);
        self.merge("set whenDeleted to Delete", retains, policy("whenDeleted", "Delete"), true);
        self.merge("set whenScaled to Delete", retains, policy("whenScaled", "Delete"), true);
        let mut whole = self.live("sts/retains");
        whole["spec"]["persistentVolumeClaimRetentionPolicy"]["whenScaled"] = json!("Delete");
        let what = "the same with kubectl replace";
        self.write(what, put, ("sts/retains", "", "kubectl-replace"), whole, true);
        let tool = ("sts/retains", "", "kubectl-storage");
        let what = "the same by the tool's field manager";
        self.merge(what, tool, policy("whenScaled", "Delete"), false);
        let what = "set whenDeleted to Retain";
        let destroys = ("sts/destroys", "", by_hand);
        self.merge(what, destroys, policy("whenDeleted", "Retain"), false);
        let shrinks = ("sts/shrinks", "", by_hand);
        let replicas = |it: u32| json!({"spec": {"replicas": it}});
        self.merge("fewer replicas under whenScaled Delete", shrinks, replicas(1), true);
        let later = json!({"spec": {"ordinals": {"start": 1}}});
        self.merge("a later first ordinal under whenScaled Delete", shrinks, later, true);
        self.merge("more replicas under whenScaled Delete", shrinks, replicas(3), false);
        let mut kept = policy("whenScaled", "Retain");
        kept["spec"]["replicas"] = json!(1);
        self.merge("fewer replicas, and whenScaled Retain", shrinks, kept, false);
        let scale = ("sts/shrinks", "/scale", by_hand);
        let what = "fewer replicas through /scale, which is not stopped";
        self.merge(what, scale, replicas(1), false);
        self.merge("fewer replicas under whenScaled Retain", retains, replicas(0), false);
    }

    fn namespaces(&mut self) {
        let object = format!("ns/{}", self.namespace);
        self.delete('e', "delete the namespace", &object, &json!({}), true);
        self.sign('e', "delete the namespace, signed by the tool", &object);
    }
}

/// Returns every request, for objects of a namespace and for those that are in none.
pub(super) fn attempts(cluster: &Cluster, namespace: &str) -> Vec<Attempt> {
    let mut attempts = Attempts { cluster, namespace, rule: 'd', all: Vec::new() };
    attempts.claims();
    attempts.volumes();
    attempts.sets();
    attempts.finalizers();
    attempts.owners();
    attempts.namespaces();
    attempts.claim_refs();
    attempts.policies();
    attempts.all
}

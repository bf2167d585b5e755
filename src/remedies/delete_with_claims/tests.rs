//! What `delete sts` and `delete ns` take into account.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::*;
use crate::model::{Settings, Uid};
use crate::objects::whole_cluster::cluster_of;

/// A set `web` without claim templates, its pod, and what else there is in the namespace.
#[derive(Default)]
struct Shop {
    objects: Vec<Value>,
    /// What is known of `ConfigMap`s, by name: the uid, if there is one.
    config_maps: Vec<(&'static str, Option<&'static str>)>,
    unread: Vec<Kind>,
    destroy_data: bool,
}

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "name": name, "uid": uid,
        "controller": kind != "ConfigMap",
    })
}

fn by_set() -> Value {
    owner("apps/v1", "StatefulSet", "web", "set")
}

fn by_pod() -> Value {
    owner("v1", "Pod", "web-0", "pod")
}

fn by_config_map(name: &str) -> Value {
    owner("v1", "ConfigMap", name, name)
}

/// A claim with a volume that is destroyed with it.
fn claim(name: &str, owners: &[Value]) -> [Value; 2] {
    let volume = format!("pv-{name}");
    [
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": owners},
            "spec": {"volumeName": volume}, "status": {"phase": "Bound"},
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": volume, "uid": volume,
                "annotations": {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"},
            },
            "spec": {
                "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"namespace": "shop", "name": name, "uid": name},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": volume},
            },
            "status": {"phase": "Bound"},
        }),
    ]
}

fn snapshot(name: &str) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"source": {"persistentVolumeClaimName": "data"}},
    })
}

fn content(name: &str, of: &str, uid: &str, policy: &str) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": name, "uid": name},
        "spec": {
            "driver": "ebs.csi.aws.com", "deletionPolicy": policy,
            "source": {"volumeHandle": "pv-data"},
            "volumeSnapshotRef": {"namespace": "shop", "name": of, "uid": uid},
        },
    })
}

impl Shop {
    fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "set"},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": []}},
            },
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-0", "namespace": "shop", "uid": "pod", "ownerReferences": [by_set()],
            },
            "spec": {"volumes": [{
                "name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}},
            }]},
            "status": {"phase": "Running"},
        });
        Self { objects: [set, pod].into_iter().chain(objects).collect(), ..Self::default() }
    }

    fn look<T>(&self, look: impl FnOnce(&Cx) -> T) -> T {
        let owners = self.config_maps.iter().map(|it| ("v1", "ConfigMap", it.0, it.1));
        let cluster = cluster_of(&self.objects, owners, &self.unread);
        let settings = Settings { destroy_data: self.destroy_data, ..Settings::default() };
        let facts = RefCell::default();
        look(&Cx::new(&cluster, &settings, &facts))
    }

    fn seen(&self, of: &ObjectRef, cascade: Cascade) -> Seen<Result<Proposal, Refusal>> {
        self.look(|cx| propose(cx, of, cascade))
    }

    fn refusal(&self, of: &ObjectRef, cascade: Cascade) -> String {
        self.seen(of, cascade).expect("everything is read").expect_err("it is refused").reason
    }

    fn proposal(&self, of: &ObjectRef, cascade: Cascade) -> Proposal {
        self.seen(of, cascade).expect("everything is read").expect("it is proposed")
    }

    fn volumes(&self, of: &ObjectRef, cascade: Cascade) -> Vec<String> {
        let volumes = self.look(|cx| volumes(cx, of, cascade)).expect("everything is read");
        volumes.into_iter().map(|it| it.name.to_string()).collect()
    }
}

fn set() -> ObjectRef {
    let key = ObjectKey::named(Kind::StatefulSet, "shop", "web");
    ObjectRef { key, uid: Uid::parse("set") }
}

fn namespace() -> ObjectRef {
    ObjectRef { key: ObjectKey::cluster_wide(Kind::Namespace, "shop"), uid: None }
}

#[test]
fn a_claim_of_any_name_that_the_set_owns_is_deleted_with_it() {
    for owners in [by_set(), by_pod()] {
        let mut shop = Shop::with(claim("ledger", &[owners]));
        for cascade in [Cascade::Background, Cascade::Foreground] {
            let reason = shop.refusal(&set(), cascade);
            assert!(reason.contains("ledger") && reason.contains(DESTROY_DATA), "{reason}");
            assert_eq!(shop.volumes(&set(), cascade), ["pv-ledger"]);
        }
        assert_eq!(shop.volumes(&set(), Cascade::Orphan), [""; 0]);
        assert_eq!(shop.proposal(&set(), Cascade::Orphan).relies_on, [""; 0]);
        shop.destroy_data = true;
        let proposal = shop.proposal(&set(), Cascade::Background);
        assert_eq!(proposal.relies_on, [DESTROY_DATA]);
        assert!(proposal.effect.what.contains("1 claim "), "{:?}", proposal.effect);
        let shown = shop.look(|cx| foretell(cx, &set(), Cascade::Background)).expect("it is read");
        assert_eq!(shown[..1], proposal.notices[..]);
        assert_eq!(shown[1], "claims deleted: 1; data destroyed: 1");
    }
    // What nobody owns, or another set, is no matter of this one.
    let other = owner("apps/v1", "StatefulSet", "web", "earlier");
    let unowned = [claim("ledger", &[]), claim("other", &[other])].concat();
    assert_eq!(Shop::with(unowned).proposal(&set(), Cascade::Background).notices, [""; 0]);
}

#[test]
fn a_claim_that_a_deleted_claim_owns_is_deleted_too() {
    let by_claim = |name| owner("v1", "PersistentVolumeClaim", name, name);
    // In an order in which the owner comes later.
    let chain =
        [claim("a", &[by_claim("b")]), claim("b", &[by_claim("c")]), claim("c", &[by_set()])]
            .concat();
    let reason = Shop::with(chain).refusal(&set(), Cascade::Background);
    for name in ["shop/a", "shop/b", "shop/c"] {
        assert!(reason.contains(name), "{reason}");
    }
}

#[test]
fn another_owner_keeps_a_claim_only_if_it_is_known_to_exist() {
    for (answer, line, counts) in [
        (Some(("keeper", Some("keeper"))), "is kept: another owner of it remains", false),
        (Some(("keeper", Some("another"))), "is deleted", true),
        (Some(("keeper", None)), "is deleted", true),
        (None, "may be deleted", true),
    ] {
        let owners = [by_set(), by_config_map("keeper")];
        let mut shop = Shop::with(claim("ledger", &owners));
        shop.config_maps.extend(answer);
        shop.destroy_data = true;
        let proposal = shop.proposal(&set(), Cascade::Background);
        assert!(proposal.notices[0].contains(line), "{answer:?}: {:?}", proposal.notices);
        assert_eq!(!proposal.relies_on.is_empty(), counts, "{answer:?}");
        // Without the reference to the set, the garbage collector looks at the other owner.
        let orphaned = shop.proposal(&set(), Cascade::Orphan);
        assert_eq!(!orphaned.relies_on.is_empty(), counts, "{answer:?}");
        shop.destroy_data = false;
        assert_eq!(shop.seen(&set(), Cascade::Background).expect("it is read").is_err(), counts);
    }
}

#[test]
fn an_ephemeral_volume_is_shown_and_needs_no_flag() {
    let shop = Shop::with(claim("web-0-scratch", &[by_pod()]));
    let proposal = shop.proposal(&set(), Cascade::Background);
    assert!(proposal.notices[0].contains("ephemeral"), "{:?}", proposal.notices);
    assert!(proposal.notices[0].contains("is destroyed"), "{:?}", proposal.notices);
    assert!(proposal.effect.risk.contains("ephemeral"), "{:?}", proposal.effect);
    assert!(proposal.effect.what.contains("1 claim "), "{:?}", proposal.effect);
    assert_eq!(shop.volumes(&set(), Cascade::Background), ["pv-web-0-scratch"]);
    // A namespace is deleted with everybody's.
    let reason = shop.refusal(&namespace(), Cascade::Background);
    assert!(reason.contains("web-0-scratch"), "{reason}");
}

#[test]
fn what_was_not_read_is_not_absent() {
    for kind in [Kind::PersistentVolumeClaim, Kind::Pod, Kind::StatefulSet] {
        let mut shop = Shop::with([]);
        shop.unread = vec![kind];
        if kind == Kind::StatefulSet {
            shop.objects.remove(0);
        }
        let unseen = shop.seen(&set(), Cascade::Background).expect_err("it was not read");
        assert_eq!(unseen.kind, kind);
    }
    let mut shop = Shop::with(claim("ledger", &[by_set()]).into_iter().take(1));
    shop.unread = vec![Kind::PersistentVolume];
    let unseen = shop.seen(&set(), Cascade::Background).expect_err("it was not read");
    assert_eq!(unseen.kind, Kind::PersistentVolume);
}

#[test]
fn a_snapshot_without_a_status_has_the_content_that_names_it() {
    for (contents, line, lost) in [
        (vec![], "may be deleted with its content", true),
        (vec![content("one", "nightly", "nightly", "Delete")], "is deleted with its", true),
        (vec![content("one", "nightly", "nightly", "Retain")], "its content is kept", false),
        (vec![content("one", "nightly", "", "Retain")], "its content is kept", false),
        (vec![content("one", "nightly", "earlier", "Retain")], "may be deleted with its", true),
        (vec![content("one", "weekly", "weekly", "Retain")], "may be deleted with its", true),
        (
            vec![
                content("one", "nightly", "nightly", "Retain"),
                content("two", "nightly", "nightly", "Delete"),
            ],
            "is deleted with its",
            true,
        ),
    ] {
        let shop = Shop::with([snapshot("nightly")].into_iter().chain(contents));
        let shown = shop.look(|cx| foretell(cx, &namespace(), Cascade::Background));
        let shown = shown.expect("it is read");
        assert!(shown[0].contains(line), "{line}: {shown:?}");
        let asked = shop.seen(&namespace(), Cascade::Background).expect("it is read");
        assert_eq!(asked.is_err(), lost, "{line}");
    }
}

#[test]
fn nothing_else_is_deleted_with_claims() {
    for kind in [Kind::Deployment, Kind::PersistentVolumeClaim, Kind::Pod] {
        let object = ObjectRef { key: ObjectKey::named(kind, "shop", "web"), uid: None };
        let reason = Shop::with([]).refusal(&object, Cascade::Background);
        assert!(reason.contains("is not deleted with claims"), "{reason}");
    }
}

#[test]
fn what_goes_with_it_is_listed_again() {
    let kinds = |object| lists(&object).into_iter().map(|it| it.kind).collect::<Vec<_>>();
    let of_set = [Kind::PersistentVolumeClaim, Kind::Pod];
    let snapshots = [Kind::VolumeSnapshot, Kind::VolumeSnapshotContent];
    assert_eq!(kinds(set()), of_set);
    assert_eq!(kinds(namespace()), [of_set, snapshots].concat());
    assert!(lists(&namespace())[..3].iter().all(|it| it.namespace.as_deref() == Some("shop")));
    assert_eq!(lists(&namespace())[3].namespace, None);
}

//! What `delete sts` and `delete ns` take into account.

use super::fixture::{
    Shop, by_config_map, by_pod, by_set, claim, content, namespace, owned_by, owner, set, snapshot,
};
use super::*;
use crate::model::{Answer, Uid};
use serde_json::{Value, json};

impl Shop {
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

/// How many volumes and snapshots a proposal destroys, or may.
fn loses(proposal: &Proposal) -> (usize, usize) {
    (proposal.loses.volumes, proposal.loses.snapshots)
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
        assert_eq!(loses(&proposal), (1, 0));
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
        (Some(owned_by("keeper", &[])), "is kept: another owner of it remains", false),
        (Some(owned_by("another", &[])), "is deleted", true),
        (Some(Answer::No), "is deleted", true),
        (Some(Answer::Forbidden), "may be deleted: its owner ConfigMap keeper may not be", true),
        (None, "may be deleted: its owner ConfigMap keeper was not read", true),
    ] {
        let owners = [by_set(), by_config_map("keeper")];
        let mut shop = Shop::with(claim("ledger", &owners));
        shop.config_maps.extend(answer.clone().map(|it| ("keeper".to_owned(), it)));
        shop.destroy_data = true;
        let proposal = shop.proposal(&set(), Cascade::Background);
        assert!(proposal.notices[0].contains(line), "{answer:?}: {:?}", proposal.notices);
        assert_eq!(!proposal.relies_on.is_empty(), counts, "{answer:?}");
        assert_eq!(loses(&proposal), (usize::from(counts), 0), "{answer:?}");
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
    assert_eq!((loses(&proposal), proposal.loses.is_certain), ((1, 0), true));
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
        (vec![], "may be destroyed: its content is not known", true),
        (
            vec![content("one", "nightly", "nightly", "Delete")],
            "destroys the snapshot at the storage backend",
            true,
        ),
        (
            vec![content("one", "nightly", "nightly", "Retain")],
            "policy Retain keeps its content",
            false,
        ),
        (vec![content("one", "nightly", "", "Retain")], "policy Retain keeps its content", false),
        (
            vec![content("one", "nightly", "earlier", "Retain")],
            "may be destroyed: its content is not known",
            true,
        ),
        (
            vec![content("one", "weekly", "weekly", "Retain")],
            "may be destroyed: its content is not known",
            true,
        ),
        (
            vec![
                content("one", "nightly", "nightly", "Retain"),
                content("two", "nightly", "nightly", "Delete"),
            ],
            "destroys the snapshot at the storage backend",
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
    let snapshots =
        [Kind::VolumeSnapshot, Kind::VolumeSnapshotContent, Kind::VolumeGroupSnapshotContent];
    assert_eq!(kinds(set()), of_set);
    assert_eq!(kinds(namespace()), [&of_set[..], &snapshots].concat());
    assert!(lists(&namespace())[..3].iter().all(|it| it.namespace.as_deref() == Some("shop")));
    assert_eq!(lists(&namespace())[3].namespace, None);
}

#[test]
fn an_owner_that_is_deleted_with_the_set_keeps_nothing() {
    let by = by_config_map;
    let unknown = Answer::Unanswered("no answer in time".into());
    // Each chain of owners begins at the claim; what is known of them, and what is said.
    let cases: [(Vec<(&str, Answer)>, &str); 9] = [
        (vec![("a", owned_by("a", &[by_set()]))], "is deleted"),
        (vec![("a", owned_by("a", &[by_pod()]))], "is deleted"),
        (vec![("a", owned_by("a", &[by("b")])), ("b", owned_by("b", &[by_set()]))], "is deleted"),
        (vec![("a", owned_by("a", &[by_set(), by("b")])), ("b", Answer::No)], "is deleted"),
        (
            vec![("a", owned_by("a", &[by_set(), by("b")])), ("b", owned_by("b", &[]))],
            "is kept: another owner of it remains",
        ),
        // They keep each other.
        (
            vec![("a", owned_by("a", &[by_set(), by("b")])), ("b", owned_by("b", &[by("a")]))],
            "is kept: another owner of it remains",
        ),
        (vec![("a", unknown)], "may be deleted: its owner ConfigMap a was not read"),
        (vec![("a", Answer::Forbidden)], "may be deleted: its owner ConfigMap a may not be read"),
        (
            vec![("a", owned_by("a", &[by("b")])), ("b", Answer::Forbidden)],
            "may be deleted: its owner ConfigMap b may not be read",
        ),
    ];
    for (known, line) in cases {
        let mut shop = Shop::with(claim("ledger", &[by("a")]));
        shop.config_maps =
            known.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).collect();
        shop.destroy_data = true;
        for cascade in [Cascade::Background, Cascade::Foreground] {
            let proposal = shop.proposal(&set(), cascade);
            assert!(proposal.notices[0].contains(line), "{line}: {:?}", proposal.notices);
            assert_eq!(proposal.relies_on.is_empty(), line.contains("is kept"), "{line}");
        }
        // Then only what is not known may lose data, and what has an absent owner besides the set.
        let lost = line.contains("may be deleted") || known.iter().any(|it| it.1 == Answer::No);
        let orphaned = shop.proposal(&set(), Cascade::Orphan);
        assert_eq!(orphaned.relies_on.is_empty(), !lost, "{line}");
    }
    // What nothing of the set owns is no matter of it.
    let mut shop = Shop::with(claim("ledger", &[by("a")]));
    shop.config_maps = vec![("a".to_owned(), owned_by("a", &[]))];
    assert_eq!(shop.proposal(&set(), Cascade::Background).notices, [""; 0]);
}

/// The content of a group snapshot of a namespace.
fn group_content(name: &str, of: &str, policy: Option<&str>) -> Value {
    let mut content = json!({
        "apiVersion": "groupsnapshot.storage.k8s.io/v1beta1", "kind": "VolumeGroupSnapshotContent",
        "metadata": {"name": name, "uid": name},
        "spec": {
            "driver": "ebs.csi.aws.com", "source": {"volumeHandles": ["pv-data"]},
            "volumeGroupSnapshotRef": {"namespace": of, "name": "weekly", "uid": "weekly"},
        },
    });
    if let Some(policy) = policy {
        content["spec"]["deletionPolicy"] = json!(policy);
    }
    content
}

#[test]
fn group_snapshots_of_a_namespace_are_named() {
    for (policy, line, lost) in [
        (Some("Delete"), "destroys the snapshot at the storage backend", true),
        (Some("Retain"), "policy Retain keeps its content", false),
        (None, "may be destroyed: the deletion policy of its content is unknown", true),
    ] {
        let mut shop = Shop::with([group_content("one", "shop", policy)]);
        let shown = shop.look(|cx| foretell(cx, &namespace(), Cascade::Background));
        let shown = shown.expect("it is read");
        assert!(shown[0].contains("one is the content of VolumeGroupSnapshot weekly"), "{shown:?}");
        assert!(shown[0].contains(line), "{line}: {shown:?}");
        let asked = shop.seen(&namespace(), Cascade::Background).expect("it is read");
        assert_eq!(asked.is_err(), lost, "{line}");
        shop.destroy_snapshots = true;
        let relies_on = shop.proposal(&namespace(), Cascade::Background).relies_on;
        assert_eq!(relies_on.contains(&DESTROY_SNAPSHOTS), lost, "{line}");
    }
    let other = Shop::with([group_content("one", "elsewhere", Some("Delete"))]);
    assert_eq!(other.proposal(&namespace(), Cascade::Background).notices, [""; 0]);
}

#[test]
fn what_a_namespace_takes_with_it_is_read_before_it_is_deleted() {
    for kind in [
        Kind::PersistentVolumeClaim,
        Kind::PersistentVolume,
        Kind::VolumeSnapshot,
        Kind::VolumeSnapshotContent,
        Kind::VolumeGroupSnapshotContent,
    ] {
        let mut shop = Shop::with([snapshot("nightly")]);
        shop.unread = vec![kind];
        let unseen = shop.seen(&namespace(), Cascade::Background).expect_err("it was not read");
        assert_eq!(unseen.kind, kind);
    }
}

#[test]
fn what_is_terminating_or_was_recreated_is_refused() {
    let later = json!("2026-11-01T12:00:00Z");
    let named = |uid: &str| ObjectRef { uid: Uid::parse(uid), ..namespace() };
    let live = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "shop"},
    });
    let mut shop = Shop::with([live]);
    assert!(shop.seen(&named("shop"), Cascade::Background).expect("it is read").is_ok());
    assert_eq!(shop.refusal(&named("earlier"), Cascade::Background), RECREATED);
    shop.objects[2]["metadata"]["deletionTimestamp"] = later.clone();
    assert_eq!(shop.refusal(&named("shop"), Cascade::Background), TERMINATING);

    let earlier = ObjectRef { uid: Uid::parse("earlier"), ..set() };
    assert_eq!(shop.refusal(&earlier, Cascade::Background), RECREATED);
    shop.objects[0]["metadata"]["deletionTimestamp"] = later;
    assert_eq!(shop.refusal(&set(), Cascade::Background), TERMINATING);
    shop.objects.remove(0);
    assert_eq!(shop.refusal(&set(), Cascade::Background), "it does not exist");
}

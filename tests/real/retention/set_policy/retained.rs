//! The policy is changed, and the set is deleted.

use serde_json::json;

use super::{PATCH, Set, patch_of, sent};
use crate::retention::set::{BY_SET, DELETE, DELETE_SCALED, DELETE_WITH_SET, RETAIN};
use crate::support::{Admin, shared};

/// D-75: the controller itself removes the references of claims whose pods are ready.
#[test]
#[ignore = "extended suite: further cases"]
fn with_all_pods_ready_only_the_set_is_patched() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.owned(&[0, 1, 2]);
    let (admin, mark, claims) = (Admin::of(&set.on), shared().mark(), set.claims());
    let told = set.run(&admin, &["--when-deleted", "Retain"]).ends(0);
    assert_eq!(told.outcomes("done"), ["web"], "{:#}", told.json);
    assert!(told.reason("web").contains("no owner reference contradicts it"), "{:#}", told.json);
    assert_eq!(sent(&admin, mark), [PATCH]);
    // Every write that might become necessary was tried before the first.
    let dry: Vec<_> = admin.sent(mark).into_iter().filter(|it| it.dry).map(|it| it.name).collect();
    assert_eq!(dry, ["web", "data-web-0", "data-web-1", "data-web-2", "web"]);
    assert_eq!(set.policy(), ("Retain".to_owned(), "Retain".to_owned()));
    set.unowned(&[0, 1, 2]);
    set.survives(&claims);
}

/// F60: claims of an earlier scale-down.
#[test]
fn claims_without_pods_are_released_before_the_policy_is_patched() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.owned(&[0, 1, 2]);
    set.scale(1);
    let (admin, mark, claims) = (Admin::of(&set.on), shared().mark(), set.claims());
    let told = set.run(&admin, &["--when-deleted", "Retain"]).ends(0);
    assert_eq!(sent(&admin, mark), [patch_of(1), patch_of(2), PATCH.to_owned()]);
    assert!(
        told.reason("web").contains("owner references of 2 claims were removed"),
        "{:#}",
        told.json
    );
    // Each write has its record, and each its Event.
    let journal = admin.journal(&told);
    let begun: Vec<_> = journal.iter().filter_map(|it| it["action"].as_str()).collect();
    assert_eq!(
        begun,
        ["remove-owner-references", "remove-owner-references", "set-retention-policy"]
    );
    let patch = admin.sent(mark).into_iter().rfind(|it| it.name == "web").expect("it was sent");
    let operations = patch.body.as_array().cloned().unwrap_or_default();
    let paths: Vec<_> = operations
        .iter()
        .map(|it| {
            format!("{} {}", it["op"].as_str().unwrap_or(""), it["path"].as_str().unwrap_or(""))
        })
        .collect();
    let policy = "/spec/persistentVolumeClaimRetentionPolicy";
    assert_eq!(
        paths,
        [
            "test /metadata/uid".to_owned(),
            "test /metadata/resourceVersion".to_owned(),
            "test /metadata/deletionTimestamp".to_owned(),
            format!("test {policy}/whenDeleted"),
            format!("test {policy}/whenScaled"),
            format!("replace {policy}/whenDeleted"),
        ]
    );
    set.survives(&claims);
}

/// The disaster of I.6, prevented; `claims_behind_a_pod_that_is_never_ready_still_go_with_the_set` makes it without the tool.
#[test]
#[ignore = "extended suite: further cases"]
fn claims_behind_a_pod_that_is_never_ready_are_released_too() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.owned(&[0, 1, 2]);
    set.scale(2);
    set.unready("pod/web-0");
    let (admin, mark, claims) = (Admin::of(&set.on), shared().mark(), set.claims());
    set.run(&admin, &["--when-deleted", "Retain"]).ends(0);
    let expected = [patch_of(0), patch_of(1), patch_of(2), PATCH.to_owned()];
    assert_eq!(sent(&admin, mark), expected);
    set.survives(&claims);
}

/// The policy was changed without the tool: only what the controller left is removed.
#[test]
#[ignore = "extended suite: further cases"]
fn a_policy_that_was_set_by_hand_is_made_true() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    set.unready("pod/web-0");
    set.set_policy(RETAIN);
    set.owned(&[0, 1]);
    let (admin, mark, claims) = (Admin::of(&set.on), shared().mark(), set.claims());
    set.run(&admin, &["--when-deleted", "Retain"]).ends(0);
    assert_eq!(sent(&admin, mark), [patch_of(0), patch_of(1)]);
    let told = set.refused(&admin, 5, &["--when-deleted", "Retain", "--when-scaled", "Retain"]);
    assert!(told.reason("web").contains("nothing to do"), "{:#}", told.json);
    set.survives(&claims);
}

#[test]
#[ignore = "extended suite: further cases"]
fn both_fields_are_changed_by_one_patch() {
    let set = Set::start(shared(), DELETE, 2);
    set.owned(&[0, 1]);
    set.scale(0);
    set.wait_ordinals(&[]);
    set.scale(2);
    set.on.remember_volumes();
    let (admin, mark, claims) = (Admin::of(&set.on), shared().mark(), set.claims());
    set.run(&admin, &["--when-deleted", "Retain", "--when-scaled", "Retain"]).ends(0);
    assert_eq!(sent(&admin, mark), [PATCH]);
    set.scale(0);
    set.survives(&claims);
}

/// Towards Delete nothing is added by the tool; the controller does it.
#[test]
fn towards_delete_only_the_set_is_patched() {
    let set = Set::start(shared(), RETAIN, 2);
    let (admin, mark) = (Admin::of(&set.on), shared().mark());
    let told = set.run(&admin, &["--when-deleted", "Delete", "--dry-run"]).ends(0);
    let notices = told.json["changes"][0]["notices"].to_string();
    let means = "data-web-0 to data-web-1: if the StatefulSet is deleted, deleted with its data (before: kept)";
    assert!(notices.contains(means), "{notices}");
    assert_eq!(admin.sent(mark).len(), 0, "a plan sends nothing");
    set.run(&admin, &["--when-deleted", "Delete", "--dry-run=server"]).ends(0);
    assert_eq!(sent(&admin, mark), [""; 0]);
    set.run(&admin, &["--when-deleted", "Delete"]).ends(0);
    assert_eq!(sent(&admin, mark), [PATCH]);
    set.owned(&[0, 1]);
    set.delete();
    set.wait_ordinals(&[]);
}

/// I.6: what made claims deletable is undone, and nothing that retains them.
#[test]
#[ignore = "extended suite: further cases"]
fn only_a_change_towards_delete_is_undone() {
    let set = Set::start(shared(), RETAIN, 2);
    let admin = Admin::of(&set.on);
    set.run(&admin, &["--when-deleted", "Delete"]).ends(0);
    set.owned(&[0, 1]);
    set.unready("pod/web-0");
    let (mark, claims) = (shared().mark(), set.claims());
    let told = admin.run(&["undo", "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), ["web"], "{:#}", told.json);
    assert_eq!(sent(&admin, mark), [patch_of(0), patch_of(1), PATCH.to_owned()]);
    let last = admin.journal(&told).iter().rev().find_map(|it| it["undoes"].as_u64());
    assert_eq!(last, Some(1), "the patch is recorded as the one that undoes the first");
    // What `undo` did would make claims deletable if it were undone itself.
    let entry = told.json["changes"][0]["entry"].to_string();
    let told = admin.run(&["undo", &entry, "--yes"]).ends(5);
    assert!(told.reason("web").contains("it would make claims deletable"), "{:#}", told.json);
    set.survives(&claims);
}

/// What somebody set to Retain since does not become Delete again.
#[test]
fn undo_sets_back_only_the_field_that_its_entry_changed() {
    let set = Set::start(shared(), DELETE_SCALED, 1);
    let admin = Admin::of(&set.on);
    set.run(&admin, &["--when-deleted", "Delete"]).ends(0);
    set.run(&admin, &["--when-scaled", "Retain"]).ends(0);
    let told = admin.run(&["undo", "1", "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), ["web"], "{:#}", told.json);
    assert_eq!(set.policy(), ("Retain".to_owned(), "Retain".to_owned()));
}

/// Without the reference to the StatefulSet, the claim would be deleted with its other owner alone.
#[test]
#[ignore = "extended suite: further cases"]
fn a_claim_with_another_owner_is_not_made_more_deletable() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    set.scale(1);
    let other = set.config_map(false);
    let mine = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": set.uid(),
        "controller": true, "blockOwnerDeletion": true,
    });
    set.set_owners("data-web-1", &[other, mine]);
    let (admin, mark, claims) = (Admin::of(&set.on), shared().mark(), set.claims());
    let told = set.run(&admin, &["--when-deleted", "Retain"]).ends(0);
    let reason = told.reason("web");
    assert!(reason.contains("except data-web-1: ConfigMap other owns it too"), "{reason}");
    assert_eq!(sent(&admin, mark), [PATCH]);
    assert_eq!(set.owners("data-web-1"), ["ConfigMap/other", BY_SET]);
    set.survives(&claims);
}

//! The deletion of what a scale-down left.

use super::*;
use crate::model::{FieldOwner, ManagedField, Time, Undo};

/// Everything that is asked for, with the data kept.
fn keep() -> Settings {
    Settings { delete_leftovers: true, keep_data: true, ..Settings::default() }
}

/// A claim that has been out of the range of a set for a month.
fn case() -> Case {
    Case { policy: "RD", settings: keep(), set: |set| scaled(set, 30 * 24 * 60), ..Case::default() }
}

/// Minutes since sets of these cases were created.
const OLD: i64 = 365 * 24 * 60;

fn by(field: ManagedField, manager: &str, time: Option<Time>) -> FieldOwner {
    FieldOwner { field, manager: manager.into(), time }
}

/// Has a set scaled so many minutes ago.
fn scaled(set: &mut StatefulSet, minutes: i64) {
    set.metadata.created = Some(ago(OLD));
    let time = Some(ago(minutes));
    set.metadata.managers =
        [ManagedField::Replicas, ManagedField::Ordinals].map(|it| by(it, "kubectl", time)).into();
}

/// Has a set scaled by its subresource, which leaves no time, and its controller write the status so
/// many minutes ago.
fn observed(set: &mut StatefulSet, minutes: i64) {
    set.metadata.created = Some(ago(OLD));
    set.metadata.managers = [
        by(ManagedField::Replicas, "kubectl", None),
        by(ManagedField::ObservedGeneration, "kube-controller-manager", Some(ago(minutes))),
    ]
    .into();
}

/// What the controller wrote after its last observation bounds the age, and only then.
#[test]
fn a_set_that_was_scaled_by_its_subresource_has_the_age_of_its_status() {
    let old = |set: &mut StatefulSet| observed(set, 30 * 24 * 60);
    let planned = Case { set: old, ..case() }.ask(DELETE).expect("planned");
    assert!(!planned.relies_on.contains(&"--include-unknown-age"), "{planned:?}");
    let ahead = |set: &mut StatefulSet| {
        observed(set, 30 * 24 * 60);
        set.observed_generation = set.generation + 1;
    };
    refuses(Case { set: ahead, ..case() }.ask(DELETE), "--include-unknown-age");
    let without = |set: &mut StatefulSet| {
        observed(set, 30 * 24 * 60);
        (set.generation, set.observed_generation) = (0, 0);
    };
    refuses(Case { set: without, ..case() }.ask(DELETE), "--include-unknown-age");
    // The claim was made later than the set was observed: by hand, or from a backup.
    let made_later = Case {
        set: |set| observed(set, 30 * 24 * 60),
        claim: |claim| claim.metadata.created = Some(ago(60)),
        ..case()
    };
    refuses(made_later.ask(DELETE), "less than 7d");
    // Of two bounds, the older one is as certain.
    let both = |set: &mut StatefulSet| {
        scaled(set, 30 * 24 * 60);
        let status = by(ManagedField::ObservedGeneration, "kube-controller-manager", Some(ago(60)));
        let known =
            set.metadata.managers.iter().map(|it| by(it.field.clone(), it.manager, it.time));
        set.metadata.managers = known.chain([status]).collect();
    };
    Case { set: both, ..case() }.ask(DELETE).expect("planned");
}

/// What a backup restores has the managers of an earlier set, with their times.
#[test]
fn what_is_older_than_its_set_is_no_age() {
    for set in [
        (|set: &mut StatefulSet| {
            scaled(set, 30 * 24 * 60);
            set.metadata.created = Some(ago(60));
        }) as fn(&mut StatefulSet),
        |set| {
            observed(set, 30 * 24 * 60);
            set.metadata.created = Some(ago(60));
        },
    ] {
        refuses(Case { set, ..case() }.ask(DELETE), "less than 7d");
    }
    let unknown = |set: &mut StatefulSet| {
        scaled(set, 30 * 24 * 60);
        set.metadata.created = None;
    };
    refuses(Case { set: unknown, ..case() }.ask(DELETE), "--include-unknown-age");
}

/// Above ten managers the API server merges the oldest, and one without a time is the oldest.
#[test]
fn managers_that_were_merged_tell_no_time() {
    let merged = |set: &mut StatefulSet| {
        set.metadata.created = Some(ago(OLD));
        let time = Some(ago(30 * 24 * 60));
        let fields = [ManagedField::Replicas, ManagedField::Ordinals];
        set.metadata.managers = fields.map(|it| by(it, "ancient-changes", time)).into();
    };
    refuses(Case { set: merged, ..case() }.ask(DELETE), "--include-unknown-age");
}

/// `spec.ordinals` may have been removed yesterday, of which no manager tells.
#[test]
fn where_nobody_owns_the_ordinals_the_first_pod_tells_since_when_they_are_there() {
    let set = |set: &mut StatefulSet| {
        set.metadata.created = Some(ago(OLD));
        set.metadata.managers =
            [by(ManagedField::Replicas, "kubectl", Some(ago(30 * 24 * 60)))].into();
    };
    refuses(Case { set, ..case() }.ask(DELETE), "--include-unknown-age");
    let first = |minutes| {
        vec![Row::Pod(Box::new(PodUse {
            name: "web-0".into(),
            created: Some(ago(minutes)),
            ..pod()
        }))]
    };
    refuses(Case { set, rows: first(60), ..case() }.ask(DELETE), "less than 7d");
    Case { set, rows: first(20 * 24 * 60), ..case() }.ask(DELETE).expect("planned");
}

const DELETE: RetentionChange =
    RetentionChange::DeleteLeftover(ClaimDeletionProgress { retained: false });

fn names(proposal: &Proposal) -> Vec<&'static str> {
    proposal.steps.iter().map(Action::name).collect()
}

#[test]
fn a_leftover_is_deleted_by_the_engine_of_delete_pvc() {
    for (policy, owners) in [("RD", ""), ("DD", ""), ("DD", "set"), ("RD", "set")] {
        let kept = Case { policy, owners, ..case() }.ask(DELETE).expect("planned");
        assert_eq!(names(&kept), ["set-reclaim-policy", "delete-claim"]);
        assert_eq!(kept.undo, Undo::Rebind);
        assert_eq!(kept.relies_on, ["--delete-leftovers", "--keep-data"]);
        assert!(kept.effect.what.contains("becomes Released with its data"), "{kept:?}");
        assert!(
            kept.notices[0].contains("uid web-uid") && kept.notices[0].contains("[0, 0]"),
            "{kept:?}"
        );
    }
    let settings = Settings { keep_data: false, destroy_data: true, ..keep() };
    let destroyed = Case { settings, ..case() }.ask(DELETE).expect("planned");
    assert_eq!(names(&destroyed), ["set-reclaim-policy", "delete-claim", "reclaim-released"]);
    let rest = DELETE.after(&destroyed.steps[..1]);
    let progress = ClaimDeletionProgress { retained: true };
    assert_eq!(rest, RetentionChange::DeleteLeftover(progress));
    let undecided = Case { settings: Settings { keep_data: false, ..keep() }, ..case() };
    refuses(undecided.ask(DELETE), "requires --keep-data");
}

#[test]
fn nothing_in_range_retained_ambiguous_or_foreign_is_deleted() {
    refuses(Case { replicas: 2, ..case() }.ask(DELETE), "is in the range [0, 1]");
    refuses(
        Case { policy: "DR", ..case() }.ask(DELETE),
        "`kubectl storage delete pvc/data-web-1 -n shop",
    );
    refuses(Case { policy: "RR", ..case() }.ask(DELETE), "is Retain");
    refuses(Case { policy: "?D", ..case() }.ask(DELETE), "is unknown");
    refuses(Case { policy: "--", ..case() }.ask(DELETE), "does not support it");
    refuses(Case { owners: "app*", ..case() }.ask(DELETE), "App app controls it");
    refuses(Case { owners: "old set", ..case() }.ask(DELETE), "an earlier StatefulSet web");
    refuses(Case { owners: "old pod", ..case() }.ask(DELETE), "an earlier Pod web-1");
    let ambiguous = Case { template: "data-a", rows: vec![twin()], ..case() };
    refuses(ambiguous.ask(DELETE), "is ambiguous");
    // An owner that proves the set does not make the name less ambiguous.
    let owned =
        Case { template: "data-a", policy: "DD", owners: "set", rows: vec![twin()], ..case() };
    refuses(owned.ask(DELETE), "is ambiguous");
    // A pod of its ordinal, of the set or not.
    refuses(Case { pod: Some(pod()), ..case() }.ask(DELETE), "pod web-1 exists");
    let stranger = PodUse { controller: None, ..pod() };
    refuses(Case { pod: Some(stranger), ..case() }.ask(DELETE), "pod web-1 exists");
    let going = Case { claim: |claim| claim.metadata.deleting = Some(ago(1)), ..case() };
    refuses(going.ask(DELETE), "Terminating");
    let gone = Case { set: |set| set.metadata.name = "other".into(), ..case() };
    refuses(gone.ask(DELETE), "no StatefulSet that exists");
}

#[test]
fn a_set_that_is_scaled_or_deleted_is_waited_for() {
    let deleting = |set: &mut StatefulSet| {
        scaled(set, 30 * 24 * 60);
        set.metadata.deleting = Some(ago(1));
    };
    refuses(Case { set: deleting, ..case() }.ask(DELETE), "Terminating");
    let behind = |set: &mut StatefulSet| {
        scaled(set, 30 * 24 * 60);
        set.generation = 2;
    };
    refuses(Case { set: behind, ..case() }.ask(DELETE), "wait until");
    let pods = |set: &mut StatefulSet| {
        scaled(set, 30 * 24 * 60);
        set.pods = 2;
    };
    refuses(Case { set: pods, ..case() }.ask(DELETE), "wait until");
}

#[test]
fn each_danger_has_its_flag() {
    let unasked = Case { settings: Settings { delete_leftovers: false, ..keep() }, ..case() };
    refuses(
        unasked.ask(DELETE),
        "retention reconcile sts/web -n shop --delete-leftovers --older-than 7d --keep-data`",
    );
    // T22: a set without replicas is paused, whatever its policy says.
    refuses(Case { replicas: 0, ..case() }.ask(DELETE), "--replicas-zero");
    let settings = || Settings { replicas_zero: true, ..keep() };
    let paused = Case { replicas: 0, settings: settings(), ..case() }.ask(DELETE).expect("planned");
    assert_eq!(paused.relies_on, ["--delete-leftovers", "--replicas-zero", "--keep-data"]);
    // What scales it is not read.
    let scheduled = |set: &mut StatefulSet| {
        scaled(set, 30 * 24 * 60);
        let known = set.metadata.managers.iter();
        let known = known.map(|it| by(it.field.clone(), "kube-downscaler", it.time));
        set.metadata.managers = known.collect();
    };
    refuses(Case { set: scheduled, ..case() }.ask(DELETE), "kube-downscaler scales sts/shop/web");
    let allowed = Case { set: scheduled, settings: settings(), ..case() }.ask(DELETE);
    assert!(allowed.expect("planned").relies_on.contains(&"--replicas-zero"));
    // The age is a lower bound, or unknown.
    let young = |set: &mut StatefulSet| scaled(set, 60);
    refuses(Case { set: young, ..case() }.ask(DELETE), "less than 7d");
    refuses(Case { set: |_| {}, ..case() }.ask(DELETE), "--include-unknown-age");
    refuses(Case { set: |set| observed(set, 60), ..case() }.ask(DELETE), "less than 7d");
    let settings = Settings { include_unknown_age: true, ..keep() };
    let unknown =
        Case { set: |_| {}, settings: settings.clone(), ..case() }.ask(DELETE).expect("planned");
    assert!(unknown.relies_on.contains(&"--include-unknown-age"));
    refuses(Case { set: young, settings, ..case() }.ask(DELETE), "less than 7d");
}

//! The addition of owner references.

use super::*;
use crate::model::Undo;

fn asked() -> Settings {
    Settings { add_owners: true, ..Settings::default() }
}

/// The flags of the reference that is added, and how many it replaces.
fn added(case: &Case) -> Result<(bool, bool, usize), String> {
    let proposal = case.ask(RetentionChange::AddOwner)?;
    assert_eq!(proposal.relies_on, ["--add-owners"]);
    let [Action::AddOwnerReference { owner, replaces, guard, .. }, rest @ ..] = &*proposal.steps
    else {
        panic!("{:?}", proposal.steps)
    };
    // Its own volume protects it meanwhile, where the set does not own it already.
    assert_eq!(guard.is_some(), replaces.is_empty());
    match (guard, rest) {
        (None, []) => {}
        (Some(guard), [Action::RemoveOwnerReferences { owners, .. }]) => {
            assert_eq!((&*guard.kind, &*guard.name), ("PersistentVolume", "pv-1"));
            assert_eq!(owners, std::slice::from_ref(guard));
            assert!(!guard.controller && !guard.blocks_deletion);
        }
        _ => panic!("{:?}", proposal.steps),
    }
    assert_eq!(proposal.undo == Undo::Revert, replaces.is_empty());
    assert_eq!((&*owner.name, owner.uid.clone()), ("web", Uid::parse("web-uid")));
    Ok((owner.controller, owner.blocks_deletion, replaces.len()))
}

fn case() -> Case {
    Case { policy: "DR", settings: asked(), ..Case::default() }
}

#[test]
fn only_what_the_policy_requires_of_a_claim_without_a_pod_is_added() {
    let flagged = Ok((true, true, 0));
    for (policy, replicas, has_pod, owners, expected) in [
        ("DR", 1, false, "", flagged),
        ("DR", 2, false, "", flagged),
        ("DD", 2, false, "", flagged),
        ("DR", 1, false, "app", flagged),
        // F66: in one patch.
        ("DR", 1, false, "plain set", Ok((true, true, 1))),
        ("DD", 1, false, "", Err("requires no owner reference")),
        ("RR", 1, false, "", Err("requires no owner reference")),
        ("RD", 2, false, "", Err("requires no owner reference")),
        ("DR", 1, false, "set", Err("has the owner reference")),
        ("DR", 2, true, "", Err("pod web-1 exists")),
        ("DR", 1, false, "app*", Err("App app controls it")),
        ("DR", 1, false, "old set", Err("contradict the policy")),
        ("D?", 1, false, "", Err("is unknown")),
        ("--", 1, false, "", Err("does not support it")),
    ] {
        let found = added(&Case { policy, replicas, owners, pod: has_pod.then(pod), ..case() });
        match expected {
            Ok(_) => {
                assert_eq!(found, expected.map_err(str::to_owned), "{policy} {replicas} {owners}");
            }
            Err(words) => {
                let reason = found.expect_err(owners);
                assert!(reason.contains(words), "{policy} {replicas} {owners}: {reason}");
            }
        }
    }
}

#[test]
fn the_flag_and_the_form_of_the_server_decide() {
    let told = Case { settings: Settings::default(), ..case() }.ask(RetentionChange::AddOwner);
    refuses(told, "`kubectl storage retention reconcile sts/web -n shop --add-owners` adds it");
    assert_eq!(added(&Case { server: Some((1, 29)), ..case() }), Ok((false, false, 0)));
    for unknown in [Some((1, 30)), None] {
        let told = Case { server: unknown, ..case() }.ask(RetentionChange::AddOwner);
        refuses(told, "which flags an owner reference has");
    }
    // The form without flags is no reason to rewrite anything there.
    let old = Case { server: Some((1, 29)), owners: "plain set", ..case() };
    refuses(old.ask(RetentionChange::AddOwner), "has the owner reference");
}

#[test]
fn a_set_that_is_deleted_and_an_ambiguous_name_are_refused() {
    let deleting = Case { set: |set| set.metadata.deleting = Some(ago(1)), ..case() };
    refuses(deleting.ask(RetentionChange::AddOwner), "is Terminating");
    let gone = Case { claim: |claim| claim.metadata.deleting = Some(ago(1)), ..case() };
    refuses(gone.ask(RetentionChange::AddOwner), "it is Terminating");
    let ambiguous = Case { template: "data-a", rows: vec![twin()], ..case() };
    refuses(ambiguous.ask(RetentionChange::AddOwner), "is ambiguous");
}

/// What the first step, or an interrupted run, has left is the rest of it.
#[test]
fn the_volume_that_protects_the_claim_is_removed_last() {
    let whole = case().ask(RetentionChange::AddOwner).expect("planned");
    let left = |owners| Case { owners, ..case() };
    let rest = left("set, volume").ask(RetentionChange::AddOwner).expect("planned");
    assert_eq!(rest.steps, whole.steps[1..]);
    assert_eq!((rest.notices, rest.relies_on), (whole.notices, whole.relies_on));
    // Where the policy retains by now, both are removed together.
    let both = Case { policy: "RR", settings: Settings::default(), ..left("set, volume") };
    let both = both.ask(RetentionChange::RemoveOwners).expect("planned");
    let [Action::RemoveOwnerReferences { owners, .. }] = &*both.steps else {
        panic!("{:?}", both.steps)
    };
    assert_eq!(owners.len(), 2);
}

//! The removal of owner references.

use super::*;
use crate::model::RareAnnotations;

/// The names and uids of the references that are removed.
fn removed(case: &Case) -> Result<Vec<String>, String> {
    let proposal = case.ask(RetentionChange::RemoveOwners)?;
    assert!(proposal.relies_on.is_empty(), "{:?}", proposal.relies_on);
    assert!(matches!(proposal.undo, crate::model::Undo::Never(_)));
    let [Action::RemoveOwnerReferences { owners, .. }] = &*proposal.steps else {
        panic!("{:?}", proposal.steps)
    };
    Ok(owners.iter().map(|it| it.uid.as_ref().expect("it has one").to_string()).collect())
}

/// In every state of the policy, the range and the pod, only what contradicts is removed; and whatever remains is no
/// owner that would delete the claim sooner.
#[test]
fn what_contradicts_the_policy_is_removed() {
    for (policy, replicas, has_pod, owners, expected) in [
        // F60, with and without a pod, in and out of range.
        ("RR", 1, false, "set", Ok(vec!["web-uid"])),
        ("RR", 2, false, "set", Ok(vec!["web-uid"])),
        ("RR", 2, true, "set", Ok(vec!["web-uid"])),
        ("RD", 2, true, "set", Ok(vec!["web-uid"])),
        ("RD", 1, false, "set", Ok(vec!["web-uid"])),
        ("RR", 2, false, "plain set", Ok(vec!["web-uid"])),
        // What the policy requires is not.
        ("DR", 2, true, "set", Err("agree with the policy")),
        ("DR", 1, false, "set", Err("agree with the policy")),
        ("DD", 2, true, "set", Err("agree with the policy")),
        ("RD", 1, true, "pod", Err("agree with the policy")),
        ("RR", 2, true, "", Err("agree with the policy")),
        // F67: the pod, whose ordinal is in range; or that whenScaled retains.
        ("RD", 2, true, "pod", Ok(vec!["web-1-uid"])),
        ("DD", 2, true, "pod", Ok(vec!["web-1-uid"])),
        ("RR", 1, true, "pod", Ok(vec!["web-1-uid"])),
        ("RR", 1, true, "set, pod", Ok(vec!["web-uid", "web-1-uid"])),
        // F65: earlier ones, whatever the policy says.
        ("RR", 1, false, "old set", Ok(vec!["old-set"])),
        ("DD", 2, true, "old set", Ok(vec!["old-set"])),
        ("DR", 2, true, "old set, set", Ok(vec!["old-set"])),
        ("RD", 2, true, "old pod", Ok(vec!["old-pod"])),
        ("RD", 2, false, "old pod", Ok(vec!["old-pod"])),
        ("RR", 1, false, "old pod", Ok(vec!["old-pod"])),
        ("RD", 1, true, "old pod", Ok(vec!["old-pod"])),
        ("RR", 1, false, "set, old pod", Ok(vec!["old-pod", "web-uid"])),
        // A scale-down that the garbage collector is about to finish.
        ("RD", 1, false, "old pod", Err("as whenScaled Delete requires")),
        // What this version does not know requires what is unknown; an earlier set is an earlier set.
        ("?R", 1, false, "set", Err("whenDeleted Archive")),
        ("R?", 2, true, "set", Err("whenScaled Archive")),
        ("--", 1, false, "set", Err("does not support it")),
        ("?R", 1, false, "old set", Ok(vec!["old-set"])),
        ("--", 1, false, "old set", Ok(vec!["old-set"])),
        ("?R", 1, false, "set, old set", Ok(vec!["old-set"])),
    ] {
        let pod = has_pod.then(pod);
        let case = Case { policy, replicas, owners, pod, ..Case::default() };
        let found = removed(&case);
        match expected {
            Ok(uids) => assert_eq!(
                found,
                Ok(uids.iter().map(|it| (*it).to_owned()).collect()),
                "{policy} {replicas} {owners}"
            ),
            Err(words) => {
                let reason = found.expect_err(owners);
                assert!(reason.contains(words), "{policy} {replicas} {owners}: {reason}");
            }
        }
    }
}

/// The claim is not more deletable afterwards: an owner that exists protects it.
#[test]
fn an_owner_that_exists_is_removed_only_if_no_other_remains() {
    let with = |owners, exist, unknown, unserved| Case {
        owners,
        exist,
        unknown,
        unserved,
        ..Case::default()
    };
    // Another owner exists: today the claim is deleted only if both are.
    refuses(with("set, app", "app", "", "").ask(RetentionChange::RemoveOwners), "with App app");
    // Alone with an owner that does not exist, the claim would be deleted at once: both are removed.
    let both = removed(&with("set, app", "", "", ""));
    assert_eq!(both, Ok(vec!["web-uid".to_owned(), "app".to_owned()]));
    // With one of which it is unknown whether it exists, it might be.
    refuses(with("set, app", "", "app", "").ask(RetentionChange::RemoveOwners), "not seen");
    refuses(
        with("set, app", "", "", "app").ask(RetentionChange::RemoveOwners),
        "--owner-kind-gone",
    );
    // An earlier set protects nothing: it is removed alone.
    let stale = removed(&with("set, old set, app", "app", "", ""));
    assert_eq!(stale, Ok(vec!["old-set".to_owned()]));
    // A set of another API group is any other owner.
    refuses(
        with("set, kruise", "kruise", "", "").ask(RetentionChange::RemoveOwners),
        "with StatefulSet web",
    );
    // Whether an earlier pod exists was not answered.
    let unread = Case {
        policy: "RD",
        replicas: 2,
        owners: "old pod",
        unknown: "old pod",
        ..Case::default()
    };
    refuses(unread.ask(RetentionChange::RemoveOwners), "not seen");
}

#[test]
fn what_is_terminating_exempt_or_ambiguous_is_refused() {
    let terminating = Case {
        owners: "set",
        claim: |claim| claim.metadata.deleting = Some(ago(1)),
        ..Case::default()
    };
    refuses(
        terminating.ask(RetentionChange::RemoveOwners),
        "`kubectl storage retain pvc/data-web-1 -n shop` keeps its data",
    );
    // The references of a claim whose set an owner proves are removed; others are not.
    let ambiguous =
        |owners| Case { template: "data-a", owners, rows: vec![twin()], ..Case::default() };
    assert_eq!(removed(&ambiguous("set")), Ok(vec!["web-uid".to_owned()]));
    refuses(ambiguous("old set").ask(RetentionChange::RemoveOwners), "is ambiguous");
    let exempt = Case {
        owners: "set",
        claim: |claim| {
            let ignore = Some("sts-ownerref-contradicts-retain meant so".into());
            claim.metadata.rare_annotations =
                Some(Box::new(RareAnnotations { ignore, ..RareAnnotations::default() }));
        },
        ..Case::default()
    };
    refuses(exempt.ask(RetentionChange::RemoveOwners), "storage.kubectl.dev/ignore");
    let gone =
        Case { owners: "set", set: |set| set.metadata.name = "other".into(), ..Case::default() };
    refuses(gone.ask(RetentionChange::RemoveOwners), "no StatefulSet that exists");
}

#[test]
fn the_set_may_be_terminating_since_that_is_when_it_matters() {
    let case =
        Case { owners: "set", set: |set| set.metadata.deleting = Some(ago(1)), ..Case::default() };
    assert_eq!(removed(&case), Ok(vec!["web-uid".to_owned()]));
}

#[test]
fn what_the_controller_does_by_itself_is_told() {
    let case = Case { owners: "set", replicas: 2, pod: Some(pod()), ..Case::default() };
    let proposal = case.ask(RetentionChange::RemoveOwners).expect("planned");
    assert!(proposal.notices[0].contains("removes the reference by itself"), "{proposal:?}");
    let case = Case { owners: "old set", policy: "DR", ..Case::default() };
    let proposal = case.ask(RetentionChange::RemoveOwners).expect("planned");
    assert!(proposal.notices[0].contains("adds a reference"), "{proposal:?}");
    assert!(proposal.notices[1].contains("at any moment"), "{proposal:?}");
}

/// The pod is deleted between the plan and the write: what is proposed does not change.
#[test]
fn a_pod_that_is_deleted_meanwhile_changes_nothing() {
    let going = PodUse { deleting: Some(ago(1)), ..pod() };
    let case = |pod| Case { policy: "RD", replicas: 2, owners: "pod", pod, ..Case::default() };
    let before = case(Some(going)).ask(RetentionChange::RemoveOwners).expect("planned");
    let after = case(None).ask(RetentionChange::RemoveOwners).expect("planned");
    assert_eq!((before.steps, before.effect), (after.steps, after.effect));
}

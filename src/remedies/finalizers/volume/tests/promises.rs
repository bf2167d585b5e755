//! Properties of the proposals for any volume, with any controllers and flags.

use proptest::{prelude::*, sample::select, sample::subsequence, strategy::ValueTree};

use super::*;

const BACKUP: &str = "example.com/backup";
const REPLICA: &str = "example.com/replica/2";
const FINALIZERS: [&str; 7] = [
    EXTERNAL_PROVISIONER,
    IN_TREE,
    PV_PROTECTION,
    ATTACHER_OF_DRIVER,
    ATTACHER_OF_MIGRATED,
    BACKUP,
    REPLICA,
];

fn cases() -> impl Strategy<Value = Case> {
    let drivers = || {
        prop_oneof![
            4 => select(vec![Driver::Absent, Driver::Alive]),
            1 => select(vec![Driver::Unknown, Driver::Unseen]),
        ]
    };
    let origins = select(vec![
        Origin::Csi,
        Origin::StaticCsi,
        Origin::Migrated,
        Origin::InTree,
        Origin::External,
        Origin::StaticInTree,
    ]);
    let policies = select(vec![
        ReclaimPolicy::Delete,
        ReclaimPolicy::Delete,
        ReclaimPolicy::Retain,
        ReclaimPolicy::Recycle,
        ReclaimPolicy::Other("Later".into()),
    ]);
    let phases = select(vec![
        Phase::Released,
        Phase::Released,
        Phase::Failed,
        Phase::Bound,
        Phase::Available,
        Phase::Pending,
        Phase::Other("Odd".into()),
    ]);
    let finalizers = subsequence(&FINALIZERS[..], 0..=5).prop_shuffle();
    let remove = select(vec![None, None, None, Some(BACKUP), Some(BACKUP), Some(PV_PROTECTION)]);
    let flags = any::<[bool; 4]>();
    (
        drivers(),
        drivers(),
        origins,
        policies,
        phases,
        finalizers,
        remove,
        flags,
        select(vec![32, 36]),
    )
        .prop_map(
            |(driver, attacher, origin, policy, phase, finalizers, remove, flags, minor)| {
                let [accept_leak, reclaim, rolled_back, live] = flags;
                let accept_leak = accept_leak && !live;
                // Only volumes with few finalizers can be reclaimed.
                let few = [IN_TREE, ATTACHER_OF_DRIVER, ATTACHER_OF_MIGRATED];
                let keeps = |it: &&str| !(live && reclaim) || few.contains(it);
                let finalizers = finalizers.into_iter().filter(keeps).collect();
                Case {
                    driver,
                    attacher,
                    minor,
                    accept_leak,
                    reclaim,
                    rolled_back,
                    remove,
                    origin,
                    policy,
                    phase,
                    // Most volumes are Terminating.
                    terminating: !live || reclaim,
                    finalizers,
                }
            },
        )
}

fn is_csi(case: &Case) -> bool {
    matches!(case.origin, Origin::Csi | Origin::StaticCsi | Origin::Migrated)
}

/// Returns the deletion-protection finalizer.
fn deletion_protection(case: &Case) -> &'static str {
    if is_csi(case) { EXTERNAL_PROVISIONER } else { IN_TREE }
}

fn without(volume: &Volume, finalizer: &str) -> Volume {
    let mut volume = volume.clone();
    remove_from(&mut volume, finalizer);
    volume
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2048) })]

    #[test]
    fn nothing_is_removed_while_a_controller_would_still_act_on_it(case in cases(), named: bool) {
        let Ok(proposal) = whole_of(&case, &volume(&case), named) else { return Ok(()) };
        let blind = [case.driver, case.attacher].contains(&Driver::Unseen);
        for finalizer in removed(&proposal) {
            match finalizer {
                EXTERNAL_PROVISIONER if is_csi(&case) => {
                    prop_assert!(case.driver == Driver::Absent && !blind);
                }
                ATTACHER_OF_DRIVER | ATTACHER_OF_MIGRATED => {
                    prop_assert!(case.attacher == Driver::Absent && !blind);
                }
                EXTERNAL_PROVISIONER | IN_TREE => prop_assert!(
                    is_csi(&case) || case.origin == Origin::InTree && case.rolled_back && case.minor < 33
                ),
                other => {
                    prop_assert_eq!(case.remove, Some(other));
                    prop_assert!(named && proposal.relies_on.contains(&"--remove-finalizer"));
                }
            }
            prop_assert!(finalizer != PV_PROTECTION && finalizer != REPLICA);
        }
    }

    #[test]
    fn no_backend_is_orphaned_unless_somebody_accepts_that_or_has_it_reclaimed(
        case in cases(), named: bool,
    ) {
        let volume = volume(&case);
        let Ok(proposal) = whole_of(&case, &volume, named) else { return Ok(()) };
        let gone = removed(&proposal);
        let left: Vec<_> = case.finalizers.iter().filter(|it| !gone.contains(it)).collect();
        let unguarded = !left.contains(&&deletion_protection(&case))
            && (is_csi(&case) || case.origin == Origin::InTree || !left.contains(&&EXTERNAL_PROVISIONER));
        let orphaned = case.terminating && case.policy == ReclaimPolicy::Delete && unguarded;
        let reclaimed = proposal.steps.iter().any(|it| matches!(it, Action::ReclaimBackend { .. }));
        let accepted = proposal.relies_on.contains(&"--accept-leak");
        if orphaned {
            prop_assert!(reclaimed != accepted, "{:?}", proposal);
            prop_assert!(case.phase != Phase::Bound);
        } else {
            prop_assert!(!reclaimed);
        }
        prop_assert!(!accepted || case.accept_leak);
        // It is deleted with the last of them: the policy cannot change in between.
        prop_assert!(!reclaimed || case.reclaim && left.is_empty());
        prop_assert!(!reclaimed || proposal.relies_on.contains(&"--reclaim"));
        let kept = matches!(case.policy, ReclaimPolicy::Retain | ReclaimPolicy::Recycle);
        prop_assert_eq!(proposal.keeps_backend, case.terminating && (kept || orphaned));
        // It remains while a claim is bound to it.
        let bound = case.terminating && case.phase == Phase::Bound;
        prop_assert!(!bound || !left.is_empty());
    }

    #[test]
    fn what_is_proposed_after_a_step_is_exactly_what_is_left_of_it(case in cases(), named: bool) {
        let mut row = volume(&case);
        let Ok(first) = whole_of(&case, &row, named) else { return Ok(()) };
        let mut expected = first.steps.clone();
        while expected.len() > 1 {
            let Action::RemoveFinalizer { finalizer, .. } = expected.remove(0) else {
                return Err(TestCaseError::fail("only the last step is another"));
            };
            row = without(&row, &finalizer);
            if let [Action::ReclaimBackend { .. }] = &*expected {
                prop_assert!(row.metadata.finalizers.is_empty(), "it has not gone: {:?}", first);
                break;
            }
            let next = whole_of(&case, &row, named).map_err(TestCaseError::fail)?;
            prop_assert_eq!(&next.steps, &expected);
            prop_assert!(next.notices.iter().all(|it| first.notices.contains(it)), "{:?}", next);
            prop_assert!(next.relies_on.iter().all(|it| first.relies_on.contains(it)), "{:?}", next);
            prop_assert_eq!(next.keeps_backend, first.keeps_backend);
        }
    }

    #[test]
    fn a_flag_adds_nothing_to_what_it_is_not_about(case in cases(), named: bool) {
        let row = volume(&case);
        let Ok(proposal) = whole_of(&case, &row, named) else { return Ok(()) };
        let said = |flag: &str| proposal.relies_on.contains(&flag);
        let bare = Case {
            accept_leak: case.accept_leak && said("--accept-leak"),
            // --accept-leak comes first.
            reclaim: case.reclaim && (said("--reclaim") || said("--accept-leak")),
            rolled_back: case.rolled_back && said("--rolled-back"),
            ..case.clone()
        };
        let again = whole_of(&bare, &row, named).map_err(TestCaseError::fail)?;
        prop_assert_eq!(again, proposal);
    }
}

/// The properties above would hold for a tool that never proposes anything.
#[test]
fn all_kinds_of_steps_are_proposed_by_chance() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut removals, mut reclaimed) = ([0_usize; 6], 0_usize);
    for _ in 0..12_000 {
        let case = cases().new_tree(&mut runner).expect("because it filters nothing").current();
        let Ok(proposal) = whole(&case) else { continue };
        removals[removed(&proposal).len()] += 1;
        reclaimed += usize::from(
            proposal.steps.iter().any(|it| matches!(it, Action::ReclaimBackend { .. })),
        );
    }
    assert!(removals[1] > 100 && removals[2] > 10 && removals[3] > 0, "{removals:?}");
    assert!(reclaimed > 10, "{reclaimed}");
}

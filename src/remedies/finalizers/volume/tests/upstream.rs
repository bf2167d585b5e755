//! The test tables of upstream about adding and removing finalizers, as cases: where a controller
//! of upstream acts, nothing is proposed (semantics#upstream-tests).

use super::*;

const CUSTOM: &str = "example.com/custom";

/// `TestController` and `TestShouldDeleteWithFinalizer` of sig-storage-lib-external-provisioner.
#[test]
fn what_the_provisioner_does_is_left_to_it_while_it_is_there() {
    let finalizers = vec![EXTERNAL_PROVISIONER, PV_PROTECTION];
    let alive = Case { driver: Driver::Alive, finalizers, ..case() };
    let live = Case { terminating: false, ..alive.clone() };
    for (row, case) in [
        ("Released and Delete, with its finalizer: deleted", live.clone()),
        ("the same, already under deletion: deleted", alive.clone()),
        ("a deletion that fails: the volume stays", Case { phase: Phase::Failed, ..alive.clone() }),
        ("bound: not deleted", Case { phase: Phase::Bound, ..live.clone() }),
        ("bound, under deletion: not deleted", Case { phase: Phase::Bound, ..alive.clone() }),
        (
            "Retain: the finalizer is removed",
            Case { policy: ReclaimPolicy::Retain, ..live.clone() },
        ),
        (
            "Recycle: the finalizer is removed",
            Case { policy: ReclaimPolicy::Recycle, ..live.clone() },
        ),
        (
            "static CSI, bound: the finalizer is added",
            Case {
                origin: Origin::StaticCsi,
                phase: Phase::Bound,
                finalizers: vec![PV_PROTECTION],
                ..live.clone()
            },
        ),
        (
            "migrated, bound: the finalizer is added",
            Case {
                origin: Origin::Migrated,
                phase: Phase::Bound,
                finalizers: vec![PV_PROTECTION],
                ..live
            },
        ),
    ] {
        for (accept_leak, reclaim) in [(false, false), (true, false), (false, true)] {
            let said = whole(&Case { accept_leak, reclaim, ..case.clone() });
            assert!(said.is_err(), "{row}: {said:?}");
        }
    }
    // "finalizer not added and volume not deleted when under deletion": no controller ever deletes
    // it.
    let bare = Case { attacher: Driver::Absent, finalizers: vec![ATTACHER_OF_DRIVER], ..alive };
    assert!(whole(&bare).expect_err("leaks").contains("--accept-leak or --reclaim"));
    assert!(whole(&Case { reclaim: true, ..bare }).is_ok());
}

/// `TestModifyDeletionFinalizers` of kube-controller-manager, all of whose rows have a live volume.
#[test]
fn what_the_controller_manager_does_is_left_to_it_unless_it_was_rolled_back() {
    let csi = Case {
        driver: Driver::Alive,
        terminating: false,
        phase: Phase::Bound,
        finalizers: vec![EXTERNAL_PROVISIONER],
        ..case()
    };
    let in_tree = Case { origin: Origin::InTree, minor: 32, ..csi.clone() };
    let with = |case: &Case, finalizers: &[&'static str]| Case {
        finalizers: [finalizers, &[PV_PROTECTION]].concat(),
        ..case.clone()
    };
    let retained = Case { policy: ReclaimPolicy::Retain, ..in_tree.clone() };
    let none: &[&str] = &[];
    let by_hand = Case { origin: Origin::StaticInTree, ..in_tree.clone() };
    let migrated = Case { origin: Origin::Migrated, ..csi.clone() };
    // The row, the volume, and the finalizers that are removed with --rolled-back.
    for (row, case, rolled_back) in [
        ("13-1", with(&csi, &[EXTERNAL_PROVISIONER]), none),
        ("13-2", with(&csi, &[]), none),
        ("13-3", with(&in_tree, &[CUSTOM]), none),
        ("13-4", with(&in_tree, &[]), none),
        // kube-controller-manager would replace it; nothing else protects the backend volume
        // meanwhile.
        ("13-5", with(&in_tree, &[EXTERNAL_PROVISIONER]), none),
        ("13-6", with(&in_tree, &[EXTERNAL_PROVISIONER, CUSTOM]), none),
        ("13-10", with(&Case { origin: Origin::StaticCsi, ..csi }, &[EXTERNAL_PROVISIONER]), none),
        ("13-12", with(&retained, &[]), none),
        ("13-14", with(&retained, &[IN_TREE]), &[IN_TREE]),
        ("13-15", with(&by_hand, &[]), none),
        (
            "both",
            with(&in_tree, &[EXTERNAL_PROVISIONER, IN_TREE]),
            &[EXTERNAL_PROVISIONER, IN_TREE],
        ),
    ] {
        assert!(whole(&case).is_err(), "{row}");
        let said = whole(&Case { rolled_back: true, ..case.clone() });
        let removed = said.as_ref().map_or_else(|_| Vec::new(), removed);
        assert_eq!(removed, rolled_back, "{row}: {said:?}");
        // From 1.33 on it cannot be rolled back.
        let newer = Case { rolled_back: true, minor: 33, ..case };
        assert!(whole(&newer).is_err(), "{row}");
    }
    // 13-7: of both on a migrated volume, the stale one is removed, and that of csi-provisioner is
    // left.
    let proposal = whole(&with(&migrated, &[EXTERNAL_PROVISIONER, IN_TREE])).expect("D-21");
    assert_eq!(self::removed(&proposal), [IN_TREE]);
}

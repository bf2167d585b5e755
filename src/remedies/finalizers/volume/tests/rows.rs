//! The rows in docs/semantics, and the fields that each removal tests.

use super::*;

#[test]
fn the_rows_that_semantics_spells_out() {
    use ReclaimPolicy::{Recycle, Retain};
    let refuses = |reason: &str| Says::Refuses(reason.to_owned());
    let gone = case();
    let live = Case { terminating: false, ..case() };
    let in_tree = Case {
        origin: Origin::InTree,
        minor: 32,
        rolled_back: true,
        finalizers: vec![IN_TREE],
        ..case()
    };
    let needs_leak = "removal would leak the backend volume; reinstall the driver, which then deletes it, or pass --accept-leak or --reclaim";
    let bound = "Bound: not this finalizer blocks the deletion, but its claim";
    let rows = [
        // F23, F24: the policy keeps the backend volume.
        (&EXTERNAL, Case { policy: Retain, ..gone.clone() }, Says::Plans),
        (&EXTERNAL, Case { policy: Retain, ..live.clone() }, Says::Plans),
        (&EXTERNAL, Case { policy: Recycle, ..live.clone() }, Says::Plans),
        (&EXTERNAL, Case { policy: Retain, phase: Phase::Bound, ..live.clone() }, Says::Plans),
        (
            &EXTERNAL,
            Case { policy: Retain, driver: Driver::Alive, ..gone.clone() },
            refuses(
                "csi-provisioner of driver.longhorn.io is running, but has not removed its finalizer since the deletion was requested at 2027-01-15T06:00:00Z; read its log, fix what it reports, then restart it, or upgrade it",
            ),
        ),
        (
            &EXTERNAL,
            Case { phase: Phase::Bound, driver: Driver::Alive, ..gone.clone() },
            refuses(
                "csi-provisioner of driver.longhorn.io is running, and removes it after the claim and the backend volume are deleted",
            ),
        ),
        // F24: the policy deletes it.
        (&EXTERNAL, Case { phase: Phase::Bound, ..gone.clone() }, refuses(bound)),
        (&EXTERNAL, Case { phase: Phase::Bound, ..live.clone() }, refuses(bound)),
        (
            &EXTERNAL,
            live.clone(),
            refuses("policy Delete: reinstall the driver, which then deletes the backend volume"),
        ),
        (
            &EXTERNAL,
            Case { accept_leak: true, ..live.clone() },
            refuses("policy Delete: reinstall the driver, which then deletes the backend volume"),
        ),
        (&EXTERNAL, gone.clone(), refuses(needs_leak)),
        (&EXTERNAL, Case { accept_leak: true, ..gone.clone() }, Says::Plans),
        (
            &EXTERNAL,
            Case { accept_leak: true, driver: Driver::Unseen, ..gone.clone() },
            Says::DidNotSee,
        ),
        // F27.
        (&IN_TREE_FINALIZER, Case { finalizers: vec![IN_TREE], ..live.clone() }, Says::Plans),
        (
            &IN_TREE_FINALIZER,
            Case { finalizers: vec![IN_TREE, EXTERNAL_PROVISIONER], ..gone.clone() },
            Says::Plans,
        ),
        (
            &IN_TREE_FINALIZER,
            Case { finalizers: vec![IN_TREE], policy: Retain, ..gone.clone() },
            Says::Plans,
        ),
        // D-40, T12.
        (
            &IN_TREE_FINALIZER,
            Case { finalizers: vec![IN_TREE], origin: Origin::Migrated, ..gone.clone() },
            refuses(
                "it is the last finalizer that blocks the deletion, external-provisioner.volume.kubernetes.io/finalizer is missing, and the policy is Delete; requires --accept-leak or --reclaim",
            ),
        ),
        // F30.
        (
            &EXTERNAL,
            Case { finalizers: vec![EXTERNAL_PROVISIONER, IN_TREE], ..in_tree.clone() },
            Says::Plans,
        ),
        (
            &EXTERNAL,
            Case { finalizers: vec![EXTERNAL_PROVISIONER], policy: Retain, ..in_tree.clone() },
            Says::Plans,
        ),
        (
            &EXTERNAL,
            Case { finalizers: vec![EXTERNAL_PROVISIONER], accept_leak: true, ..in_tree.clone() },
            refuses(
                "no other finalizer protects the backend volume: kubernetes.io/pv-controller is missing and the policy is Delete; run `kubectl storage retain pv/pv-1` first",
            ),
        ),
        (
            &EXTERNAL,
            Case { finalizers: vec![EXTERNAL_PROVISIONER, IN_TREE], minor: 36, ..in_tree.clone() },
            refuses(
                "kube-controller-manager removes it; if it does not, read its log and restart it",
            ),
        ),
        // F39.
        (&IN_TREE_FINALIZER, Case { policy: Retain, ..in_tree.clone() }, Says::Plans),
        (&IN_TREE_FINALIZER, Case { accept_leak: true, ..in_tree.clone() }, Says::Plans),
        (
            &IN_TREE_FINALIZER,
            in_tree.clone(),
            refuses("removal may leak the backend volume; requires --accept-leak or --reclaim"),
        ),
        (
            &IN_TREE_FINALIZER,
            Case { policy: Retain, phase: Phase::Bound, ..in_tree.clone() },
            refuses(
                "its deletion may still be in progress; wait, or read the log of kube-controller-manager",
            ),
        ),
    ];
    check(rows);
}

#[test]
fn the_rows_about_attachers() {
    let refuses = |reason: &str| Says::Refuses(reason.to_owned());
    let attached = Case { finalizers: vec![ATTACHER_OF_DRIVER], ..case() };
    let kept = Case { policy: ReclaimPolicy::Retain, ..attached.clone() };
    // F31, D-33.
    check([
        (
            &ATTACHER,
            attached.clone(),
            refuses(
                "if the backend volume still exists, no controller deletes it after this finalizer is removed (leak); requires --accept-leak or --reclaim",
            ),
        ),
        (&ATTACHER, Case { accept_leak: true, ..attached.clone() }, Says::Plans),
        (
            &ATTACHER,
            Case { finalizers: vec![EXTERNAL_PROVISIONER, ATTACHER_OF_DRIVER], ..attached.clone() },
            Says::Plans,
        ),
        (&ATTACHER, kept.clone(), Says::Plans),
        (
            &ATTACHER,
            Case { terminating: false, ..kept.clone() },
            refuses(
                "not Terminating: external-attacher keeps its finalizer until the volume is deleted",
            ),
        ),
        (
            &ATTACHER,
            Case { phase: Phase::Bound, ..attached },
            refuses("Bound: not this finalizer blocks the deletion, but its claim"),
        ),
    ]);
}

fn check(rows: impl IntoIterator<Item = (&'static Remedy, Case, Says)>) {
    for (remedy, case, expected) in rows {
        assert_eq!(decide(remedy, &case), expected, "{} {case:?}", remedy.id);
    }
}

#[test]
fn the_guards_of_each_removal() {
    use ReclaimPolicy::{Delete, Retain};
    let live = Case { terminating: false, ..case() };
    let finalizer = |it: &str| Guard::Finalizer(it.into());
    let rolled_back = Case { origin: Origin::InTree, minor: 32, rolled_back: true, ..live.clone() };
    let migrated = Case { origin: Origin::Migrated, ..case() };
    let attached = vec![EXTERNAL_PROVISIONER, ATTACHER_OF_DRIVER];
    let protected = vec![EXTERNAL_PROVISIONER, PV_PROTECTION];
    for (remedy, case, beside) in [
        // F23, F24.
        (&EXTERNAL, Case { policy: Retain, ..case() }, vec![]),
        (&EXTERNAL, Case { policy: Retain, ..live.clone() }, vec![Guard::NotTerminating]),
        (
            &EXTERNAL,
            Case { policy: Retain, phase: Phase::Bound, finalizers: protected, ..case() },
            vec![finalizer(PV_PROTECTION)],
        ),
        (&EXTERNAL, Case { accept_leak: true, ..case() }, vec![]),
        // F27.
        (
            &IN_TREE_FINALIZER,
            Case { finalizers: vec![IN_TREE, EXTERNAL_PROVISIONER], ..migrated.clone() },
            vec![finalizer(EXTERNAL_PROVISIONER)],
        ),
        (
            &IN_TREE_FINALIZER,
            Case { finalizers: vec![IN_TREE], policy: Retain, ..migrated },
            vec![],
        ),
        // F30: the other finalizer is there, or the policy is Retain.
        (
            &EXTERNAL,
            Case { finalizers: vec![EXTERNAL_PROVISIONER, IN_TREE], ..rolled_back.clone() },
            vec![Guard::NotTerminating, finalizer(IN_TREE)],
        ),
        (&EXTERNAL, Case { policy: Retain, ..rolled_back }, vec![Guard::NotTerminating]),
        // F31.
        (&ATTACHER, Case { finalizers: attached, ..case() }, vec![finalizer(EXTERNAL_PROVISIONER)]),
    ] {
        let policy = if case.policy == Retain { Retain } else { Delete };
        let expected: Vec<_> = [Guard::ReclaimPolicy(policy), Guard::Phase(case.phase.clone())]
            .into_iter()
            .chain(beside)
            .collect();
        let (cluster, settings, known) = (cluster(&case), settings(&case), RefCell::default());
        let cx = Cx::new(&cluster, &settings, &known);
        let proposal = (remedy.propose)(&cx, &volume(&case)).expect("seen").expect("planned");
        let [Action::RemoveFinalizer { guards, .. }] = &*proposal.steps else {
            panic!("{case:?}: {:?}", proposal.steps);
        };
        assert_eq!(*guards, expected, "{} {case:?}", remedy.id);
    }
}

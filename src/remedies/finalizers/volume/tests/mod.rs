//! The decision table, enumerated: what must never be planned, and what SEMANTICS spells out.

use std::cell::RefCell;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::model::{
    ClaimKey, ClaimRef, Lease, Metadata, Role, Row, Server, Settings, Sighting, Time, Uid,
    VolumeSource,
};

const DRIVER: &str = "disk.csi.example.com";
const MIGRATED: &str = "ebs.csi.aws.com";
const ATTACHER_OF_DRIVER: &str = "external-attacher/disk-csi-example-com";
const ATTACHER_OF_MIGRATED: &str = "external-attacher/ebs-csi-aws-com";

/// What is known of the driver's sidecars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Driver {
    Alive,
    Unknown,
    Unseen,
    Absent,
}

/// Who owns the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Csi,
    StaticCsi,
    Migrated,
    InTree,
    External,
    StaticInTree,
}

/// One row of the table.
#[derive(Debug, Clone)]
struct Case {
    driver: Driver,
    minor: u32,
    accept_leak: bool,
    rolled_back: bool,
    origin: Origin,
    policy: ReclaimPolicy,
    phase: Phase,
    terminating: bool,
    finalizers: Vec<&'static str>,
}

/// What a remedy says.
#[derive(Debug, PartialEq, Eq)]
enum Says {
    Plans,
    Refuses(String),
    DidNotSee,
}

fn ago(minutes: i64) -> Time {
    Time::from_timestamp(1_800_000_000 - 60 * minutes, 0).expect("in range")
}

fn volume(case: &Case) -> Volume {
    let csi = |driver: &str| VolumeSource::Csi {
        driver: driver.into(),
        handle: "vol-1".into(),
        provisioner_identity: true,
    };
    let (source, provisioned_by, migrated_to) = match case.origin {
        Origin::Csi => (csi(DRIVER), Some(DRIVER), None),
        Origin::StaticCsi => (csi(DRIVER), None, None),
        Origin::Migrated => (
            VolumeSource::InTree("awsElasticBlockStore".into()),
            Some("kubernetes.io/aws-ebs"),
            Some(MIGRATED),
        ),
        Origin::InTree => {
            (VolumeSource::HostPath("/tmp/a".into()), Some("kubernetes.io/host-path"), None)
        }
        Origin::External => {
            (VolumeSource::HostPath("/opt/a".into()), Some("rancher.io/local-path"), None)
        }
        Origin::StaticInTree => (VolumeSource::HostPath("/data/a".into()), None, None),
    };
    let claim = ClaimRef {
        key: ClaimKey { namespace: "default".into(), name: "data".into() },
        uid: Uid::parse("0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11"),
    };
    let claimed = !matches!(case.phase, Phase::Available | Phase::Pending);
    Volume {
        attributes_class: None,
        metadata: Metadata {
            name: "pv-1".into(),
            created: Some(ago(90 * 24 * 60)),
            deleting: case.terminating.then(|| ago(120)),
            finalizers: case.finalizers.iter().map(|it| Text::from(*it)).collect(),
            ..Metadata::default()
        },
        phase: case.phase.clone(),
        message: None,
        reason: None,
        last_phase_transition: None,
        reclaim_policy: case.policy.clone(),
        claim_ref: claimed.then_some(claim),
        source,
        backend: Some(crate::model::BackendKey { driver: DRIVER.into(), handle: "vol-1".into() }),
        class: None,
        capacity: None,
        node_affinity: None,
        provisioned_by: provisioned_by.map(Text::from),
        migrated_to: migrated_to.map(Text::from),
        bound_by_controller: true,
        deletion_secret: None,
        backend_state: None,
    }
}

fn cluster(driver: Driver, minor: u32) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    let mut apply = |change| cluster.apply(change, &mut dirty);
    apply(Change::Clock(ago(0)));
    let version = Some((1, minor));
    apply(Change::Server(Server { version, ..Server::default() }));
    let sibling = |origin, name: &str| {
        let case = Case { origin, ..case() };
        let mut row = volume(&case);
        row.metadata.name = name.into();
        Change::Seen(Row::Volume(Box::new(row)))
    };
    apply(sibling(Origin::Csi, "sibling-1"));
    apply(sibling(Origin::Migrated, "sibling-2"));
    for name in [DRIVER, MIGRATED] {
        for role in [Role::Provisioner, Role::Attacher] {
            let lease = match role {
                Role::Attacher => format!("external-attacher-leader-{}", facts::sanitize(name)),
                _ => facts::sanitize(name),
            };
            match driver {
                Driver::Alive => apply(Change::Seen(Row::Lease(Box::new(Lease {
                    metadata: Metadata { name: lease.into(), ..Metadata::default() },
                    namespace: "storage".into(),
                    holder: Some("a".into()),
                    renewed: Some(ago(0)),
                    duration_seconds: Some(15),
                })))),
                Driver::Absent => apply(Change::Seen(Row::Sighting(Sighting {
                    role,
                    driver: name.into(),
                    absent_since: ago(2 * 24 * 60),
                }))),
                Driver::Unknown | Driver::Unseen => {}
            }
        }
    }
    for kind in Kind::ALL {
        apply(if driver == Driver::Unseen && kind == Kind::Lease {
            Change::Lost(Gap { kind, namespace: None, reason: "forbidden".to_owned() })
        } else {
            Change::Whole(Reach::all(kind))
        });
    }
    cluster
}

fn settings(case: &Case) -> Settings {
    let (accept_leak, rolled_back) = (case.accept_leak, case.rolled_back);
    Settings { accept_leak, rolled_back, ..Settings::default() }
}

fn ask(cx: &Cx, remedy: &Remedy, case: &Case) -> Says {
    match (remedy.propose)(cx, &volume(case)) {
        Ok(Ok(proposal)) => {
            let [Action::RemoveFinalizer { finalizer, guards, .. }] = &*proposal.steps else {
                panic!("{case:?}: one finalizer at a time, not {:?}", proposal.steps);
            };
            hold_guards(case, finalizer, guards);
            assert!(case.finalizers.contains(&&**finalizer), "{case:?}: removes {finalizer}");
            let undo = matches!(proposal.undo, Undo::Never(_));
            assert_eq!(undo, case.terminating, "{case:?}: what may go cannot be undone");
            Says::Plans
        }
        Ok(Err(refusal)) => Says::Refuses(refusal.reason),
        Err(_) => Says::DidNotSee,
    }
}

/// Whatever made the removal right is tested by the patch.
fn hold_guards(case: &Case, removed: &str, guards: &[Guard]) {
    let has = |guard: Guard| guards.contains(&guard);
    assert!(has(Guard::ReclaimPolicy(case.policy.clone())), "{case:?}: {guards:?}");
    assert!(has(Guard::Phase(case.phase.clone())), "{case:?}: {guards:?}");
    assert_eq!(has(Guard::NotTerminating), !case.terminating, "{case:?}: {guards:?}");
    let keepers = || {
        guards.iter().filter_map(|guard| match guard {
            Guard::Finalizer(keeper) => Some(&**keeper),
            Guard::ReclaimPolicy(_) | Guard::Phase(_) | Guard::NotTerminating => None,
        })
    };
    let there = |it: &str| it != removed && case.finalizers.contains(&it);
    assert!(keepers().all(there), "{case:?}: tests for what is not there: {guards:?}");
    let keeps_disk = keepers().any(|it| it == EXTERNAL_PROVISIONER || it == IN_TREE);
    if case.terminating && case.policy == ReclaimPolicy::Delete && !case.accept_leak {
        assert!(keeps_disk, "{case:?}: nothing tests that the disk is kept: {guards:?}");
    }
    if case.terminating && case.phase == Phase::Bound {
        assert!(keepers().next().is_some(), "{case:?}: nothing tests that it stays: {guards:?}");
    }
}

/// A row to begin with: a provisioned, released, terminating volume of policy Delete.
fn case() -> Case {
    Case {
        driver: Driver::Absent,
        minor: 36,
        accept_leak: false,
        rolled_back: false,
        origin: Origin::Csi,
        policy: ReclaimPolicy::Delete,
        phase: Phase::Released,
        terminating: true,
        finalizers: vec![EXTERNAL_PROVISIONER],
    }
}

fn decide(remedy: &Remedy, case: &Case) -> Says {
    let (cluster, settings, known) =
        (cluster(case.driver, case.minor), settings(case), RefCell::default());
    ask(&Cx::new(&cluster, &settings, &known), remedy, case)
}

fn subsets(of: &[&'static str]) -> Vec<Vec<&'static str>> {
    let all = 1_usize << of.len();
    let chosen = |mask: usize| {
        of.iter().enumerate().filter(move |(bit, _)| mask & (1 << bit) != 0).map(|(_, it)| *it)
    };
    (0..all).map(|mask| chosen(mask).collect()).collect()
}

#[test]
fn nothing_is_ever_planned_that_could_leak_or_that_somebody_else_would_do() {
    let policies = [
        ReclaimPolicy::Retain,
        ReclaimPolicy::Delete,
        ReclaimPolicy::Recycle,
        ReclaimPolicy::Other("Later".into()),
    ];
    let phases = [Phase::Pending, Phase::Available, Phase::Bound, Phase::Released, Phase::Failed];
    let origins = [
        Origin::Csi,
        Origin::StaticCsi,
        Origin::Migrated,
        Origin::InTree,
        Origin::External,
        Origin::StaticInTree,
    ];
    let mut planned = 0_usize;
    for driver in [Driver::Alive, Driver::Unknown, Driver::Unseen, Driver::Absent] {
        for minor in [32, 36] {
            let cluster = cluster(driver, minor);
            for (accept_leak, rolled_back) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                let base = Case { driver, minor, accept_leak, rolled_back, ..case() };
                let (settings, known) = (settings(&base), RefCell::default());
                let cx = Cx::new(&cluster, &settings, &known);
                for origin in origins {
                    let attacher = match origin {
                        Origin::Migrated => ATTACHER_OF_MIGRATED,
                        _ => ATTACHER_OF_DRIVER,
                    };
                    let known = [EXTERNAL_PROVISIONER, IN_TREE, PV_PROTECTION, attacher];
                    for (policy, phase) in policies
                        .iter()
                        .flat_map(|policy| phases.iter().map(move |phase| (policy, phase)))
                    {
                        for finalizers in subsets(&known) {
                            for terminating in [false, true] {
                                let case = Case {
                                    origin,
                                    policy: policy.clone(),
                                    phase: phase.clone(),
                                    terminating,
                                    finalizers: finalizers.clone(),
                                    ..base.clone()
                                };
                                planned += hold(&cx, &case);
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(planned > 1000, "a table in which nothing is planned proves nothing: {planned}");
}

/// Holds one row against the invariants, and returns how many remedies plan something.
fn hold(cx: &Cx, case: &Case) -> usize {
    let has = |finalizer: &str| case.finalizers.contains(&finalizer);
    let csi = matches!(case.origin, Origin::Csi | Origin::StaticCsi | Origin::Migrated);
    let in_tree = case.origin == Origin::InTree;
    let attacher = |it: &&&str| it.starts_with("external-attacher/");
    let attached_by = case.finalizers.iter().find(attacher).copied().unwrap_or("none");
    let mut planned = 0;
    for (remedy, removed) in
        [(&EXTERNAL, EXTERNAL_PROVISIONER), (&IN_TREE_FINALIZER, IN_TREE), (&ATTACHER, attached_by)]
    {
        let says = ask(cx, remedy, case);
        if case.driver == Driver::Unseen && remedy.id == EXTERNAL.id && csi && has(removed) {
            assert_eq!(says, Says::DidNotSee, "{case:?}");
        }
        if says != Says::Plans {
            continue;
        }
        planned += 1;
        let id = remedy.id;
        assert!(has(removed), "{id} {case:?}: there is nothing to remove");
        assert!(csi || in_tree, "{id} {case:?}: nobody knows whose finalizer that is");
        let waits_for_driver = remedy.id == ATTACHER.id || remedy.id == EXTERNAL.id && csi;
        if waits_for_driver {
            assert_eq!(case.driver, Driver::Absent, "{id} {case:?}: its controller may act");
        }
        if in_tree {
            assert!(case.rolled_back && case.minor == 32, "{id} {case:?}: its controller acts");
        }
        let guarded = [EXTERNAL_PROVISIONER, IN_TREE].iter().any(|it| *it != removed && has(it));
        if case.terminating && case.policy == ReclaimPolicy::Delete && !guarded {
            assert!(case.accept_leak, "{id} {case:?}: leaks");
        }
        if case.terminating && case.phase == Phase::Bound {
            let held = case.finalizers.iter().any(|it| *it != removed);
            assert!(held, "{id} {case:?}: its claim would be lost");
        }
        if matches!(case.policy, ReclaimPolicy::Other(_)) {
            let harmless = !case.terminating || guarded || case.accept_leak;
            assert!(harmless, "{id} {case:?}: who knows what that means");
        }
    }
    planned
}

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
    let needs_leak =
        "the backend volume would be leaked: needs the admin's word that this is accepted";
    let bound = "it is bound: this finalizer is not what holds it";
    let rows = [
        // F23, F24: the policy keeps the disk.
        (&EXTERNAL, Case { policy: Retain, ..gone.clone() }, Says::Plans),
        (&EXTERNAL, Case { policy: Retain, ..live.clone() }, Says::Plans),
        (&EXTERNAL, Case { policy: Recycle, ..live.clone() }, Says::Plans),
        (&EXTERNAL, Case { policy: Retain, phase: Phase::Bound, ..live.clone() }, Says::Plans),
        (
            &EXTERNAL,
            Case { policy: Retain, driver: Driver::Alive, ..gone.clone() },
            refuses(
                "csi-provisioner of disk.csi.example.com is alive: it removes its finalizer itself",
            ),
        ),
        // F24: the policy deletes it.
        (&EXTERNAL, Case { phase: Phase::Bound, ..gone.clone() }, refuses(bound)),
        (&EXTERNAL, Case { phase: Phase::Bound, ..live.clone() }, refuses(bound)),
        (
            &EXTERNAL,
            live.clone(),
            refuses("its policy is Delete: reinstall the driver, which then deletes it"),
        ),
        (
            &EXTERNAL,
            Case { accept_leak: true, ..live.clone() },
            refuses("its policy is Delete: reinstall the driver, which then deletes it"),
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
                "it is the last guard of the backend volume: external-provisioner.volume.kubernetes.io/finalizer is absent and the policy is Delete",
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
                "nothing else protects the backend volume: kubernetes.io/pv-controller is absent and the policy is Delete",
            ),
        ),
        (
            &EXTERNAL,
            Case { finalizers: vec![EXTERNAL_PROVISIONER, IN_TREE], minor: 36, ..in_tree.clone() },
            refuses("kube-controller-manager removes it itself: look why it does not"),
        ),
        // F39.
        (&IN_TREE_FINALIZER, Case { policy: Retain, ..in_tree.clone() }, Says::Plans),
        (&IN_TREE_FINALIZER, Case { accept_leak: true, ..in_tree.clone() }, Says::Plans),
        (
            &IN_TREE_FINALIZER,
            in_tree.clone(),
            refuses(
                "the backend volume may be leaked: needs the admin's word that this is accepted",
            ),
        ),
        (
            &IN_TREE_FINALIZER,
            Case { policy: Retain, phase: Phase::Bound, ..in_tree.clone() },
            refuses("its deletion may still be going on"),
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
                "the backend volume will not be deleted by anyone once this goes: needs the admin's word that this is accepted",
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
            refuses("it is not terminating: the attacher keeps its finalizer until then"),
        ),
        (
            &ATTACHER,
            Case { phase: Phase::Bound, ..attached },
            refuses("it is bound: this finalizer is not what holds it"),
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
        let (cluster, settings, known) =
            (cluster(case.driver, case.minor), settings(&case), RefCell::default());
        let cx = Cx::new(&cluster, &settings, &known);
        let proposal = (remedy.propose)(&cx, &volume(&case)).expect("seen").expect("planned");
        let [Action::RemoveFinalizer { guards, .. }] = &*proposal.steps else {
            panic!("{case:?}: {:?}", proposal.steps);
        };
        assert_eq!(*guards, expected, "{} {case:?}", remedy.id);
    }
}

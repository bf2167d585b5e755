//! Tests of the decisions about finalizers of volumes and of the proposals that result.

mod decisions;
mod enumerated;
mod promises;
mod rows;
mod upstream;
mod whole;

use std::cell::RefCell;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::model::{
    Action, BackendKey, ClaimKey, ClaimRef, ControllerRole, Guard, Lease, Metadata, Phase, Row,
    SecretAssertion, Server, Settings, Sighting, Time, Uid, Undo, VolumeSource,
};

const DRIVER: &str = "driver.longhorn.io";
const MIGRATED: &str = "ebs.csi.aws.com";
const ATTACHER_OF_DRIVER: &str = "external-attacher/driver-longhorn-io";
const ATTACHER_OF_MIGRATED: &str = "external-attacher/ebs-csi-aws-com";

/// The state of a sidecar of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Driver {
    Alive,
    Unknown,
    Unseen,
    Absent,
}

/// The source and the provisioner of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Csi,
    StaticCsi,
    Migrated,
    InTree,
    External,
    StaticInTree,
}

/// One volume, with its controllers and flags.
#[expect(clippy::struct_excessive_bools, reason = "flags are")]
#[derive(Debug, Clone)]
struct Case {
    /// Its csi-provisioner.
    driver: Driver,
    attacher: Driver,
    minor: u32,
    accept_leak: bool,
    reclaim: bool,
    rolled_back: bool,
    remove: Option<&'static str>,
    origin: Origin,
    policy: ReclaimPolicy,
    phase: Phase,
    terminating: bool,
    finalizers: Vec<&'static str>,
}

/// The answer of a remedy.
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
        metadata: Metadata {
            name: "pv-1".into(),
            created: Some(ago(90 * 24 * 60)),
            deleting: case.terminating.then(|| ago(120)),
            finalizers: case.finalizers.iter().map(|it| Text::from(*it)).collect(),
            ..Metadata::default()
        },
        phase: case.phase.clone(),
        reclaim_policy: case.policy.clone(),
        claim_ref: claimed.then_some(claim),
        source,
        backend: Some(match case.origin {
            Origin::InTree => {
                BackendKey { driver: "hostPath".into(), handle: "/tmp/hostpath_pv/a@any".into() }
            }
            _ => BackendKey { driver: DRIVER.into(), handle: "vol-1".into() },
        }),
        provisioned_by: provisioned_by.map(Text::from),
        migrated_to: migrated_to.map(Text::from),
        ..Volume::sample()
    }
}

/// Returns the cluster of a case, all of which was read unless a sidecar is `Unseen`.
fn cluster(case: &Case) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    let mut apply = |change| cluster.apply(change, &mut dirty);
    apply(Change::Clock(ago(0)));
    let server = Server {
        version: Some((1, case.minor)),
        cluster_uid: Some("b7f3".into()),
        ..Server::default()
    };
    apply(Change::Server(server));
    apply(lease("kube-controller-manager", "kube-system"));
    let sibling = |origin, name: &str| {
        let case = Case { origin, ..self::case() };
        let mut row = volume(&case);
        row.metadata.name = name.into();
        let handle = format!("vol-{}", name.replace('-', "")).into();
        row.backend = Some(BackendKey { driver: DRIVER.into(), handle });
        Change::Seen(Row::Volume(Box::new(row)))
    };
    apply(sibling(Origin::Csi, "sibling-1"));
    apply(sibling(Origin::Migrated, "sibling-2"));
    for name in [DRIVER, MIGRATED] {
        for role in [ControllerRole::Provisioner, ControllerRole::Attacher] {
            let lease = match role {
                ControllerRole::Attacher => {
                    format!("external-attacher-leader-{}", facts::sanitize(name))
                }
                _ => facts::sanitize(name),
            };
            let state = if role == ControllerRole::Attacher { case.attacher } else { case.driver };
            match state {
                Driver::Alive => apply(self::lease(&lease, "storage")),
                Driver::Absent => apply(Change::Seen(Row::Sighting(Sighting {
                    role,
                    driver: name.into(),
                    absent_since: ago(2 * 24 * 60),
                }))),
                Driver::Unknown | Driver::Unseen => {}
            }
        }
    }
    let unseen = [case.driver, case.attacher].contains(&Driver::Unseen);
    for kind in Kind::ALL {
        apply(if unseen && kind == Kind::Lease {
            Change::Lost(Gap { kind, namespace: None, reason: "forbidden".to_owned() })
        } else {
            Change::Whole(Reach::all(kind))
        });
    }
    cluster
}

fn lease(name: &str, namespace: &str) -> Change {
    Change::Seen(Row::Lease(Box::new(Lease {
        read: crate::model::LeaseMoment::Clock,
        metadata: Metadata { name: name.into(), ..Metadata::default() },
        namespace: namespace.into(),
        holder: Some("a".into()),
        renewed: Some(ago(0)),
        duration_seconds: Some(15),
    })))
}

fn settings(case: &Case) -> Settings {
    Settings {
        accept_leak: case.accept_leak,
        reclaim: case.reclaim,
        rolled_back: case.rolled_back,
        remove_finalizer: case.remove.map(Text::from),
        secret: match case.origin {
            Origin::Csi | Origin::StaticCsi | Origin::Migrated => SecretAssertion::None,
            Origin::InTree | Origin::External | Origin::StaticInTree => SecretAssertion::Unsaid,
        },
        ..Settings::default()
    }
}

fn ask(cx: &Cx, remedy: &Remedy, case: &Case) -> Says {
    match (remedy.propose)(cx, &volume(case)) {
        Ok(Ok(proposal)) => {
            let [Action::RemoveFinalizer { finalizer, guards, .. }] = &*proposal.steps else {
                panic!("{case:?}: one finalizer at a time, not {:?}", proposal.steps);
            };
            hold_guards(case, finalizer, guards);
            assert!(case.finalizers.contains(&&**finalizer), "{case:?}: removes {finalizer}");
            let again = proposal.undo == Undo::Recreate;
            // A volume without a claim would become Available.
            let claimed = !matches!(case.phase, Phase::Available | Phase::Pending);
            let recorded = case.terminating && case.policy == ReclaimPolicy::Retain && claimed;
            assert_eq!(again, recorded && proposal.keeps_backend, "{case:?}: {:?}", proposal.undo);
            Says::Plans
        }
        Ok(Err(refusal)) => Says::Refuses(refusal.reason),
        Err(_) => Says::DidNotSee,
    }
}

/// Asserts that the patch tests the fields on which the removal rests.
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

/// Returns a provisioned, Released, Terminating volume with policy Delete.
fn case() -> Case {
    Case {
        driver: Driver::Absent,
        attacher: Driver::Absent,
        minor: 36,
        accept_leak: false,
        reclaim: false,
        remove: None,
        rolled_back: false,
        origin: Origin::Csi,
        policy: ReclaimPolicy::Delete,
        phase: Phase::Released,
        terminating: true,
        finalizers: vec![EXTERNAL_PROVISIONER],
    }
}

fn decide(remedy: &Remedy, case: &Case) -> Says {
    let (cluster, settings, known) = (cluster(case), settings(case), RefCell::default());
    ask(&Cx::new(&cluster, &settings, &known), remedy, case)
}

/// Returns the proposal for the volume of a case, which the user names.
fn whole(case: &Case) -> Result<Proposal, String> {
    whole_of(case, &volume(case), true)
}

fn whole_of(case: &Case, volume: &Volume, named: bool) -> Result<Proposal, String> {
    let (cluster, settings, known) = (cluster(case), settings(case), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &known);
    match fix(&cx, volume, &FinalizerRequest { named, ..FinalizerRequest::default() }) {
        Ok(said) => said.map_err(|refusal| refusal.reason),
        Err(unseen) => Err(format!("unseen: {}", unseen.reason)),
    }
}

fn removed(proposal: &Proposal) -> Vec<&str> {
    let names = proposal.steps.iter().filter_map(|step| match step {
        Action::RemoveFinalizer { finalizer, .. } => Some(&**finalizer),
        _ => None,
    });
    names.collect()
}

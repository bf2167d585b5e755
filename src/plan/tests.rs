//! Properties of every plan, for small random clusters: no plan destroys what is in use, and no
//! filter adds a change.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::model::{
    Action, Answer, Attachment, AttachmentSource, Claim, ClaimKey, ClaimPhase, ClaimRef,
    DeletionSecret, FieldOwner, FinalizerEdit, Kind, Lease, ManagedField, Metadata, MountedClaim,
    Node, NodeAffinity, NodeRequirement, NodeTerm, ObjectKey, Phase, PodPhase, PodUse, Question,
    ReclaimPolicy, Row, Selector, SidecarContainer, Sidecars, SnapshotContent, SnapshotSource,
    StorageClass, Uid, VolumeSource,
};

const ALIVE: &str = "ebs.csi.aws.com";
const ABSENT: &str = "tape.csi.example.com";
const DAY: i64 = 24 * 3600;
/// Kinds without which no volume may be destroyed, whatever else is known.
const ALWAYS: [Kind; 7] = [
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::Pod,
    Kind::Node,
    Kind::VolumeAttachment,
    Kind::VolumeSnapshotContent,
    Kind::VolumeGroupSnapshotContent,
];

/// Circumstance that forbids destroying a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    Nothing,
    Attachment,
    InlineAttachment,
    Pod,
    Node,
    SharedHandle,
    LiveClaim,
    ClaimRecreated,
    ClaimThatNamesIt,
    SnapshotInProgress,
    SnapshotOfGroup,
    NodeNotReady,
    NodeGone,
    SecretMissing,
    SecretForbidden,
    Ignore,
    KeepUntil,
    BackendState,
    Terminating,
    Driver,
}

use Against as A;
use rows::{attachment, claim, node, pod, snapshot};

const ALL: [Against; 20] = [
    A::Nothing,
    A::Attachment,
    A::InlineAttachment,
    A::Pod,
    A::Node,
    A::SharedHandle,
    A::LiveClaim,
    A::ClaimRecreated,
    A::ClaimThatNamesIt,
    A::SnapshotInProgress,
    A::SnapshotOfGroup,
    A::NodeNotReady,
    A::NodeGone,
    A::SecretMissing,
    A::SecretForbidden,
    A::Ignore,
    A::KeepUntil,
    A::BackendState,
    A::Terminating,
    A::Driver,
];

/// Traits of a random volume.
#[derive(Debug, Clone)]
struct Traits {
    against: Against,
    phase: Phase,
    policy: ReclaimPolicy,
    /// Days since the release by `lastPhaseTransitionTime`, and by managedFields.
    stated: Option<i64>,
    managed: Option<i64>,
    namespace: &'static str,
    class: &'static str,
    label: &'static str,
}

fn traits() -> impl Strategy<Value = Traits> {
    let against = prop_oneof![2 => Just(A::Nothing), 3 => select(&ALL[..])];
    let phase = prop_oneof![
        6 => Just(Phase::Released),
        2 => Just(Phase::Available),
        2 => select(vec![Phase::Bound, Phase::Failed, Phase::Pending, Phase::Other("Odd".into())]),
    ];
    let policy = prop_oneof![
        5 => Just(ReclaimPolicy::Retain),
        2 => select(vec![ReclaimPolicy::Delete, ReclaimPolicy::Recycle]),
    ];
    let days = || prop_oneof![3 => Just(Some(9)), 2 => option::of(select(vec![-30, 0, 6, 8, 400]))];
    let words = (select(vec!["a", "b"]), select(vec!["fast", "slow"]), select(vec!["x", "y"]));
    (against, phase, policy, days(), days(), words).prop_map(
        |(against, phase, policy, stated, managed, (namespace, class, label))| Traits {
            against,
            phase,
            policy,
            stated,
            managed,
            namespace,
            class,
            label,
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    any::<[bool; 4]>().prop_map(|[age, recreated, verified, destroy]| Settings {
        include_unknown_age: age,
        include_recreated: recreated,
        backend_verified: verified,
        destroy_data: destroy,
        ..Settings::default()
    })
}

fn at(days_ago: i64) -> Time {
    Time::from_timestamp(1_800_000_000 - days_ago * DAY, 0).expect("in range")
}

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), uid: Uid::parse(name), ..Metadata::default() }
}

fn name(index: usize) -> String {
    format!("pv-{index}")
}

fn claim_key(traits: &Traits, index: usize) -> ClaimKey {
    let namespace = traits.namespace.into();
    ClaimKey { namespace, name: format!("claim-{index}").into() }
}

fn volume(traits: &Traits, index: usize) -> Volume {
    let (against, name) = (traits.against, name(index));
    let driver: Text = if against == A::Driver { ABSENT } else { ALIVE }.into();
    let handle: Text = format!("vol-{index}").into();
    let managers = traits.managed.map(|days| FieldOwner {
        field: ManagedField::Phase,
        manager: "kube-controller-manager".into(),
        time: Some(at(days)),
    });
    let pinned = |node: &str| {
        let requirement = NodeRequirement {
            key: "kubernetes.io/hostname".into(),
            operator: "In".into(),
            values: Box::new([node.into()]),
        };
        let term = NodeTerm { labels: Box::new([requirement]), fields: Box::default() };
        Some(Arc::new(NodeAffinity { terms: Box::new([term]) }))
    };
    let node_affinity = match against {
        A::NodeNotReady => pinned("sick"),
        A::NodeGone => pinned("gone"),
        _ => None,
    };
    let uid = Uid::parse(&format!("claim-{index}"));
    let claim_ref = Some(ClaimRef { key: claim_key(traits, index), uid });
    let secret = DeletionSecret { namespace: "s".into(), name: (&*name).into() };
    let asks_secret = matches!(against, A::SecretMissing | A::SecretForbidden);
    Volume {
        metadata: Metadata {
            managers: managers.into_iter().collect(),
            labels: [("team".into(), traits.label.into())].into(),
            rare_annotations: Some(Box::new(crate::model::RareAnnotations {
                ignore: (against == A::Ignore).then(|| "all legal hold".into()),
                keep_until: (against == A::KeepUntil).then(|| "2099-01-01".into()),
                ..Default::default()
            })),
            deleting: (against == A::Terminating).then(|| at(1)),
            ..metadata(&name)
        },
        phase: traits.phase.clone(),
        last_phase_transition: traits.stated.map(at),
        reclaim_policy: traits.policy.clone(),
        claim_ref: claim_ref.filter(|_| traits.phase != Phase::Available),
        source: VolumeSource::Csi {
            driver: Text::clone(&driver),
            handle: handle.clone(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: Text::clone(&driver), handle }),
        class: Some(traits.class.into()),
        capacity: Some(1 << 30),
        node_affinity,
        provisioned_by: Some(driver),
        deletion_secret: asks_secret.then(|| secret.into()),
        backend_state: (against == A::BackendState).then(|| "unknown".into()),
        ..Volume::sample()
    }
}

/// Returns the object that forbids destroying a volume.
fn signs(traits: &Traits, index: usize) -> Option<Row> {
    let (volume_name, key) = (name(index), format!("claim-{index}"));
    let secret = Question::SecretExists { namespace: "s".into(), name: (&*volume_name).into() };
    Some(match traits.against {
        A::Attachment => attachment(index, AttachmentSource::Volume(volume_name.into())),
        A::InlineAttachment => {
            let handle = format!("vol-{index}").into();
            attachment(index, AttachmentSource::Inline { driver: ALIVE.into(), handle })
        }
        A::Pod => pod(traits, index),
        A::Node => node(
            &format!("node-{index}"),
            true,
            &[format!("kubernetes.io/csi/{ALIVE}^vol-{index}")],
        ),
        A::SharedHandle => {
            let mut twin = volume(traits, index);
            twin.metadata = metadata(&format!("twin-{index}"));
            twin.phase = Phase::Bound;
            Row::Volume(Box::new(twin))
        }
        A::LiveClaim => claim(traits, index, &key, Some(volume_name)),
        A::ClaimRecreated => claim(traits, index, "another", None),
        A::ClaimThatNamesIt => {
            let Row::Claim(mut other) = claim(traits, index, "other", Some(volume_name)) else {
                return None;
            };
            other.metadata.name = format!("other-{index}").into();
            other.namespace = "c".into();
            Row::Claim(other)
        }
        A::SnapshotInProgress => snapshot(index, Kind::VolumeSnapshotContent),
        A::SnapshotOfGroup => snapshot(index, Kind::VolumeGroupSnapshotContent),
        A::SecretMissing => Row::Answer(secret, Answer::No),
        A::SecretForbidden => Row::Answer(secret, Answer::Forbidden),
        _ => return None,
    })
}

/// Returns a cluster with these volumes, all of which was read.
fn cluster(all: &[Traits]) -> Cluster {
    let volumes: Vec<_> = all.iter().enumerate().map(|(index, it)| volume(it, index)).collect();
    around(all, volumes)
}

fn around(all: &[Traits], volumes: Vec<Volume>) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    let lease = Row::Lease(Box::new(Lease {
        read: crate::model::LeaseMoment::Clock,
        metadata: metadata("ebs-csi-aws-com"),
        namespace: "storage".into(),
        holder: Some("a".into()),
        renewed: Some(at(0)),
        duration_seconds: Some(15),
    }));
    let rest = all.iter().enumerate().filter_map(|(index, it)| signs(it, index));
    // Without its class, a volume could not be deleted either where others of its driver need a
    // Secret.
    let class = |name: &str| {
        Row::Class(Box::new(StorageClass {
            parameters: [].into(),
            metadata: metadata(name),
            provisioner: ALIVE.into(),
            reclaim_policy: None,
            allows_expansion: false,
            is_default: false,
            waits_for_consumer: false,
        }))
    };
    let nodes = [node("well", true, &[]), node("sick", false, &[])];
    let may_patch = Question::MayPatchVolumes {
        namespace: "storage".into(),
        service_account: "provisioner".into(),
    };
    let provisioner = [rows::provisioner(), Row::Answer(may_patch, Answer::Yes)];
    let rows = [lease, class("fast"), class("slow")].into_iter().chain(nodes).chain(provisioner);
    let volumes = volumes.into_iter().map(|it| Row::Volume(Box::new(it)));
    cluster.apply(Change::Clock(at(0)), &mut dirty);
    for row in volumes.chain(rows).chain(rest) {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    cluster
}

fn lose(cluster: &mut Cluster, kind: Kind, namespace: Option<&str>) {
    let gap = Gap { kind, namespace: namespace.map(Text::from), reason: "forbidden".to_owned() };
    cluster.apply(Change::Lost(gap), &mut Dirty::default());
}

fn plan(cluster: &Cluster, settings: &Settings, selection: &GcSelection) -> Plan {
    let facts = RefCell::default();
    gc(&Cx::new(cluster, settings, &facts), selection)
}

/// Returns a selection of all volumes by name, also those that no filter selects.
fn named(all: &[Traits]) -> GcSelection {
    let names = (0..all.len()).map(|index| name(index).into()).collect();
    GcSelection { names, ..GcSelection::default() }
}

fn objects(plan: &Plan) -> BTreeSet<ObjectRef> {
    plan.changes.iter().map(|change| change.object.clone()).collect()
}

fn is_within(part: &Plan, whole: &Plan) -> Result<(), TestCaseError> {
    for change in &part.changes {
        prop_assert!(whole.changes.contains(change), "only when selected: {change:?}");
    }
    for refused in &part.refusals {
        prop_assert!(whole.refusals.contains(refused), "only when selected: {refused:?}");
    }
    Ok(())
}

mod announced;
mod promises;
mod rows;

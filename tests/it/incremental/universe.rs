//! A universe small enough for everything in it to have to do with everything else.

use std::{sync::Arc, time::Duration};

use super::owners::{
    admission_object, attributes_class, autoscaler, claim, class, namespace, set, volume_snapshot,
};
use super::users::{
    affinity, alive, answer, attachment, event, kept, node, pod, served, snapshot, unlearned,
    workload,
};
use kubectl_storage::{
    cluster::{Change, Gap, Reach},
    model::{
        BackendKey, ClaimKey, ClaimRef, ControllerRole, CsiDriver, CsiNode, DeletionSecret,
        FieldManagers, FieldOwner, Kind, ManagedField, Metadata, Phase, ReclaimPolicy, Row, Server,
        Settings, Sighting, Text, Threshold, Time, Uid, Volume, VolumeSource,
    },
};

pub(super) const DRIVERS: [&str; 3] = ["d.example", "ebs.csi.aws.com", "pd.csi.storage.gke.io"];
pub(super) const HANDLES: [&str; 4] =
    ["h0", "h1", "projects/UNSPECIFIED/zones/z/disks/d", "projects/mine/zones/z/disks/d"];
const UNTIL: [&str; 3] = ["2027-01-01", "2026-01-01", "x"];
pub(super) const VOLUMES: [&str; 4] = ["v0", "v1", "v2", "v3"];
pub(super) const CLAIMS: [(&str, &str); 3] = [("a", "c-w0-0"), ("a", "c-w0-1"), ("b", "c-w0-0")];
pub(super) const NODES: [&str; 2] = ["n0", "n1"];
pub(super) const CLASSES: [&str; 2] = ["fast", "slow"];
/// Kinds that are listed, in the order in which the lists are taken: what names first.
pub(super) const LISTED: [Kind; 25] = [
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::Pod,
    Kind::Node,
    Kind::StorageClass,
    Kind::CsiDriver,
    Kind::CsiNode,
    Kind::VolumeAttachment,
    Kind::StatefulSet,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::DaemonSet,
    Kind::ReplicationController,
    Kind::Job,
    Kind::CronJob,
    Kind::HorizontalPodAutoscaler,
    Kind::Lease,
    Kind::Event,
    Kind::VolumeSnapshot,
    Kind::VolumeAttributesClass,
    Kind::VolumeSnapshotContent,
    Kind::VolumeGroupSnapshotContent,
    Kind::Namespace,
    Kind::ValidatingAdmissionPolicy,
    Kind::ValidatingAdmissionPolicyBinding,
];
/// When the universe begins.
const BEGINNING: i64 = 1_790_000_000;

/// A source of decisions: what chance, or a shrinking test, put in.
pub(super) struct Dice<'a> {
    bytes: &'a [u8],
    /// The server's clock.
    pub now: i64,
}

impl<'a> Dice<'a> {
    pub(super) fn new(bytes: &'a [u8], now: i64) -> Self {
        Self { bytes, now }
    }

    /// A number below `sides`; 0 when nothing is left.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                usize::from(*first) % sides
            }
            None => 0,
        }
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    pub(super) fn text(&mut self, from: &[&str]) -> Text {
        self.pick(from).into()
    }

    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.roll(one_in) == one_in - 1
    }

    pub(super) fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.roll(2) == 1).then(|| value(self))
    }

    pub(super) fn subset(&mut self, from: &[&str]) -> Vec<Text> {
        from.iter().filter(|_| self.roll(3) == 2).map(|it| Text::from(*it)).collect()
    }

    pub(super) fn time(&mut self) -> Time {
        let ago = self.pick(&[0, 30, 120, 900, 10_800, 9 * 86_400, -3600]);
        at(self.now - ago)
    }
}

pub(super) fn at(seconds: i64) -> Time {
    Time::from_timestamp(seconds, 0).expect("because it is near")
}

pub(super) fn boxed(texts: Vec<Text>) -> Box<[Text]> {
    texts.into()
}

/// What every case begins with: a clock, and everything seen.
pub(super) fn beginning() -> (i64, Vec<Change>) {
    let mut changes = vec![Change::Clock(at(BEGINNING))];
    for kind in LISTED {
        changes.push(Change::Begin(Reach::all(kind)));
        changes.push(Change::Complete(Reach::all(kind)));
    }
    (BEGINNING, changes)
}

/// What a user may have asked for.
pub(super) fn settings(dice: &mut Dice) -> Settings {
    let mut settings = Settings {
        include_unknown_age: dice.chance(3),
        include_recreated: dice.chance(3),
        accept_leak: dice.chance(2),
        rolled_back: dice.chance(2),
        ..Settings::default()
    };
    if dice.chance(2) {
        settings.absent_drivers.insert(dice.text(&DRIVERS));
    }
    if dice.chance(2) {
        settings.thresholds.set(Threshold::OlderThan, Duration::from_secs(60));
    }
    settings
}

/// One thing that happens; a few of them are several changes.
pub(super) fn change(dice: &mut Dice) -> Vec<Change> {
    match dice.roll(40) {
        0..=22 => vec![Change::Seen(row(dice))],
        23..=30 => row(dice).key().map(Change::Gone).into_iter().collect(),
        31..=33 => {
            dice.now += dice.pick(&[1, 40, 700, 8000, 200_000, 800_000]);
            vec![Change::Clock(at(dice.now))]
        }
        34 => vec![Change::Seen(Row::Volume(reclaimable(dice))), Change::Seen(alive(dice))],
        35 => {
            vec![Change::Seen(stuck(dice)), Change::Seen(served(dice)), Change::Seen(answer(dice))]
        }
        36 => vec![Change::Seen(terminating(dice)), Change::Seen(alive(dice))],
        _ => coverage(dice),
    }
}

fn coverage(dice: &mut Dice) -> Vec<Change> {
    let kind = dice.pick(&LISTED);
    let namespace = (kind.is_namespaced() && dice.chance(2)).then(|| dice.text(&["a", "b"]));
    let reach = Reach { kind, namespace: namespace.clone() };
    match dice.roll(8) {
        0 => vec![Change::Lost(Gap { kind, namespace, reason: "forbidden".to_owned() })],
        1 => vec![Change::Begin(reach)],
        2 => vec![Change::NotServed(kind)],
        3 => unlearned(dice),
        4 => vec![Change::Server(Server {
            git_version: Some("v1.32.2".into()),
            version: Some((1, dice.pick(&[25, 32, 36]))),
            ..Server::default()
        })],
        5 | 6 => vec![Change::Whole(Reach::all(kind))],
        _ => {
            let seen: Vec<_> = (0..dice.roll(4)).map(|_| Change::Seen(row(dice))).collect();
            [Change::Begin(reach.clone())]
                .into_iter()
                .chain(seen)
                .chain([Change::Complete(reach)])
                .collect()
        }
    }
}

fn row(dice: &mut Dice) -> Row {
    match dice.roll(34) {
        33 => Row::AdmissionObject(Box::new(admission_object(dice))),
        32 => Row::Namespace(Box::new(namespace(dice))),
        31 => Row::AddedFinalizer(
            Uid::parse(dice.pick(&["u0", "u1"])).expect("it is not empty"),
            "external-provisioner.volume.kubernetes.io/finalizer".into(),
        ),
        30 => Row::Kept(Box::new(kept(dice))),
        0..=4 => Row::Volume(Box::new(volume(dice))),
        5..=7 => Row::Claim(Box::new(claim(dice))),
        8 | 9 => Row::Pod(Box::new(pod(dice))),
        10 => Row::Workload(Box::new(workload(dice))),
        11 => Row::Node(Box::new(node(dice))),
        12 => Row::Class(Box::new(class(dice))),
        13 => Row::CsiDriver(Box::new(CsiDriver {
            metadata: metadata(dice, &DRIVERS),
            attach_required: dice.chance(2),
        })),
        14 => Row::CsiNode(Box::new(CsiNode {
            metadata: metadata(dice, &NODES),
            drivers: boxed(dice.subset(&DRIVERS)),
        })),
        15 | 16 => Row::Attachment(Box::new(attachment(dice))),
        17 => alive(dice),
        18 | 19 => Row::Event(Box::new(event(dice))),
        20 | 21 => Row::Snapshot(Box::new(snapshot(dice))),
        22 => answer(dice),
        23..=25 => Row::Workload(Box::new(set(dice))),
        26 => Row::Autoscaler(Box::new(autoscaler(dice))),
        27 => Row::VolumeSnapshot(Box::new(volume_snapshot(dice))),
        28 => Row::AttributesClass(Box::new(attributes_class(dice))),
        _ => Row::Sighting(Sighting {
            role: dice.pick(&[
                ControllerRole::Provisioner,
                ControllerRole::Attacher,
                ControllerRole::ControllerManager,
            ]),
            driver: dice.text(&["d.example", "ebs.csi.aws.com", "ghost-example"]),
            absent_since: dice.time(),
        }),
    }
}

pub(super) fn metadata(dice: &mut Dice, names: &[&str]) -> Metadata {
    Metadata {
        name: dice.pick(names).into(),
        uid: Uid::parse(dice.pick(&["u0", "u1"])),
        resource_version: dice.pick(&["1", "2"]).into(),
        created: Some(at(BEGINNING - 20 * 86_400)),
        deleting: dice.chance(4).then(|| dice.time()),
        ..Metadata::default()
    }
}

fn owners(dice: &mut Dice) -> FieldManagers {
    let managers = ["kube-controller-manager", "csi-provisioner", "csi-attacher", "kubectl"];
    let fields =
        [ManagedField::Phase, ManagedField::ReclaimPolicy, ManagedField::LastPhaseTransitionTime];
    let mut owners = Vec::new();
    for field in fields {
        if dice.chance(2) {
            owners.push(FieldOwner {
                field,
                manager: dice.text(&managers),
                time: Some(dice.time()),
            });
        }
    }
    owners.into_iter().collect()
}

pub(super) fn claim_ref(dice: &mut Dice) -> ClaimRef {
    let (namespace, name) = dice.pick(&CLAIMS);
    ClaimRef {
        key: ClaimKey { namespace: namespace.into(), name: name.into() },
        uid: Uid::parse(dice.pick(&["u0", "u1", ""])),
    }
}

/// A volume that gc would reclaim, unless something has to do with it.
pub(super) fn reclaimable(dice: &mut Dice) -> Box<Volume> {
    let released = at(dice.now - 9 * 86_400);
    let (driver, handle) = (DRIVERS[0], dice.pick(&HANDLES[..2]));
    let mut volume = volume(dice);
    volume.metadata = Metadata {
        deleting: None,
        rare_annotations: None,
        managers: [FieldOwner {
            field: ManagedField::Phase,
            manager: "kube-controller-manager".into(),
            time: Some(released),
        }]
        .into(),
        ..volume.metadata
    };
    volume.claim_ref = Some(ClaimRef { uid: Uid::parse("gone"), ..claim_ref(dice) });
    volume.source = VolumeSource::Csi {
        driver: driver.into(),
        handle: handle.into(),
        provisioner_identity: true,
    };
    volume.backend = Some(BackendKey { driver: driver.into(), handle: handle.into() });
    Box::new(Volume {
        phase: Phase::Released,
        reclaim_policy: ReclaimPolicy::Retain,
        last_phase_transition: Some(released),
        provisioned_by: Some(driver.into()),
        migrated_to: None,
        node_affinity: None,
        deletion_secret: None,
        backend_state: None,
        ..volume
    })
}

/// A volume that its provisioner should have deleted long ago.
fn stuck(dice: &mut Dice) -> Row {
    let mut volume = reclaimable(dice);
    volume.reclaim_policy = ReclaimPolicy::Delete;
    volume.metadata.finalizers =
        ["external-provisioner.volume.kubernetes.io/finalizer".into()].into();
    Row::Volume(volume)
}

/// A volume that waits for an attacher, under the driver's name or one that nothing else has.
fn terminating(dice: &mut Dice) -> Row {
    let mut volume = reclaimable(dice);
    let finalizers = ["external-attacher/ghost-example", "external-attacher/d-example"];
    volume.metadata.deleting = Some(at(dice.now - 86_400));
    volume.metadata.finalizers = [dice.text(&finalizers)].into();
    Row::Volume(volume)
}

fn volume(dice: &mut Dice) -> Volume {
    let finalizers = [
        "kubernetes.io/pv-protection",
        "external-provisioner.volume.kubernetes.io/finalizer",
        "kubernetes.io/pv-controller",
        "external-attacher/d-example",
        "external-attacher/ghost-example",
        "example.com/own",
    ];
    let driver = dice.text(&DRIVERS);
    let handle: Text = dice.pick(&HANDLES).into();
    let csi = VolumeSource::Csi {
        driver: Text::clone(&driver),
        handle: handle.clone(),
        provisioner_identity: dice.chance(2),
    };
    let own = Some(BackendKey { driver, handle });
    let (source, backend) = match dice.roll(6) {
        0 => (VolumeSource::HostPath("/data".into()), None),
        1 => (
            VolumeSource::InTree("awsElasticBlockStore".into()),
            Some(BackendKey { driver: DRIVERS[1].into(), handle: "h0".into() }),
        ),
        _ => (csi, own),
    };
    let in_tree = dice.pick(&["kubernetes.io/aws-ebs", "kubernetes.io/host-path"]);
    let provisioners = ["d.example", "d.example", "", in_tree, "rancher.io/local-path"];
    Volume {
        is_shared: dice.chance(4),
        is_xfs: dice.chance(4),
        access: kubectl_storage::model::Access::default(),
        attributes: kubectl_storage::model::Attributes::default(),
        attributes_class: dice.chance(6).then(|| "gold".into()),
        metadata: Metadata {
            finalizers: boxed(dice.subset(&finalizers)).into(),
            managers: owners(dice),
            rare_annotations: Some(Box::new(kubectl_storage::model::RareAnnotations {
                ignore: dice.chance(12).then(|| "all mine".into()),
                keep_until: dice.chance(12).then(|| dice.pick(&UNTIL).into()),
                announced: dice.chance(6).then(|| dice.pick(&UNTIL).into()),
                tracked_by_argo_cd: dice.chance(12),
                scheduled_by_downscaler: dice.chance(12),
            })),
            ..metadata(dice, &VOLUMES)
        },
        phase: dice.pick(&[
            Phase::Released,
            Phase::Bound,
            Phase::Available,
            Phase::Pending,
            Phase::Failed,
            Phase::Other("Odd".into()),
        ]),
        message: None,
        reason: None,
        last_phase_transition: dice.some(Dice::time),
        reclaim_policy: dice.pick(&[
            ReclaimPolicy::Retain,
            ReclaimPolicy::Delete,
            ReclaimPolicy::Recycle,
            ReclaimPolicy::Other("Odd".into()),
        ]),
        claim_ref: dice.some(claim_ref),
        source,
        backend,
        class: dice.some(|dice| dice.text(&CLASSES)),
        capacity: Some(1 << 30),
        node_affinity: dice.chance(3).then(|| Arc::new(affinity(dice))),
        provisioned_by: dice.some(|dice| dice.text(&provisioners)),
        migrated_to: dice.chance(5).then(|| DRIVERS[1].into()),
        bound_by_controller: dice.chance(2),
        deletion_secret: dice.chance(3).then(|| {
            let name = dice.text(&["x", ""]);
            DeletionSecret { namespace: "s".into(), name }.into()
        }),
        backend_state: dice.chance(12).then(|| "unknown".into()),
    }
}

//! For random provisioners: the finalizer is added exactly where every one of them honors it, by a
//! model of its own, and removed exactly where the journal says that this tool added it.

use std::cell::RefCell;

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::model::{
    Answer, Kind, Metadata, OwnerReference, Phase, PodPhase, PodUse, Question, Row, Settings,
    SidecarContainer, Sidecars, Text, Time, Uid, VolumeSource, Workload,
};

const DRIVER: &str = "disk.csi.example.com";
const OTHER: &str = "other.csi.example.com";
const IN_TREE: &str = "kubernetes.io/aws-ebs";
const SUCCESSOR: &str = "ebs.csi.aws.com";

/// Where a csi-provisioner stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Pod { phase: PodPhase, ready: bool },
    Workload { kind: Kind, replicas: Option<i32>, of_deployment: bool },
}

/// What its image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Image {
    Tag(u64, u64, u64),
    Digest,
    TagAndDigest,
    Foreign,
}

/// What its arguments say of the feature gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Silent,
    On,
    Off,
    Variable,
}

/// A csi-provisioner.
#[derive(Debug, Clone)]
struct Instance {
    place: Place,
    image: Image,
    gate: Gate,
    /// The driver that its arguments name.
    names: Option<&'static str>,
    /// Whether it may patch volumes; `None`: nobody has asked.
    may_patch: Option<Answer>,
}

/// A volume, by what its source is and who provisioned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Csi,
    Migrated,
    /// In-tree, of a plugin that is migrated, and the volume controller has not said so.
    Unannounced,
    HostPathOfProvisioner,
    StaticInTree,
}

fn instances() -> impl Strategy<Value = Instance> {
    let phases = vec![PodPhase::Running, PodPhase::Pending, PodPhase::Failed, PodPhase::Succeeded];
    let phase = prop_oneof![4 => Just(PodPhase::Running), 1 => select(phases)];
    let kinds = vec![Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet];
    let workload = (select(kinds), select(vec![None, Some(0), Some(1)]), any::<bool>());
    let place = prop_oneof![
        3 => (phase, prop_oneof![4 => Just(true), 1 => Just(false)])
            .prop_map(|(phase, ready)| Place::Pod { phase, ready }),
        2 => workload.prop_map(|(kind, replicas, of_deployment)| {
            Place::Workload { kind, replicas, of_deployment }
        }),
    ];
    let image = prop_oneof![
        8 => select(vec![(5, 0, 2), (5, 1, 0), (6, 3, 0), (10, 0, 0)])
            .prop_map(|(a, b, c)| Image::Tag(a, b, c)),
        2 => select(vec![(2, 2, 2), (3, 1, 0), (4, 0, 1), (5, 0, 0), (5, 0, 1)])
            .prop_map(|(a, b, c)| Image::Tag(a, b, c)),
        1 => select(vec![Image::Digest, Image::TagAndDigest, Image::Foreign]),
    ];
    let gate = prop_oneof![
        6 => Just(Gate::Silent),
        2 => Just(Gate::On),
        1 => select(vec![Gate::Off, Gate::Variable]),
    ];
    let names = prop_oneof![5 => Just(Some(DRIVER)), 1 => Just(Some(OTHER)), 1 => Just(None)];
    let may_patch = prop_oneof![
        8 => Just(Some(Answer::Yes)),
        1 => select(vec![
            None,
            Some(Answer::No),
            Some(Answer::Forbidden),
            Some(Answer::Unanswered("busy".into())),
        ]),
    ];
    (place, image, gate, names, may_patch).prop_map(|(place, image, gate, names, may_patch)| {
        Instance { place, image, gate, names, may_patch }
    })
}

fn sources() -> impl Strategy<Value = Source> {
    prop_oneof![
        6 => Just(Source::Csi),
        1 => Just(Source::Migrated),
        1 => Just(Source::Unannounced),
        1 => Just(Source::HostPathOfProvisioner),
        1 => Just(Source::StaticInTree),
    ]
}

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), uid: Uid::parse(name), ..Metadata::default() }
}

fn volume(source: Source, driver: &str) -> Volume {
    let (spec, provisioned_by, migrated_to) = match source {
        Source::Csi => {
            let spec = VolumeSource::Csi {
                driver: driver.into(),
                handle: "vol-1".into(),
                provisioner_identity: true,
            };
            (spec, Some(driver.into()), None)
        }
        Source::Migrated => {
            (VolumeSource::InTree(IN_TREE.into()), Some(IN_TREE.into()), Some(driver.into()))
        }
        Source::Unannounced => (VolumeSource::InTree(IN_TREE.into()), Some(IN_TREE.into()), None),
        Source::HostPathOfProvisioner => {
            (VolumeSource::HostPath("/data".into()), Some(driver.into()), None)
        }
        Source::StaticInTree => (VolumeSource::HostPath("/data".into()), None, None),
    };
    Volume {
        metadata: metadata("pv-1"),
        phase: Phase::Released,
        source: spec,
        provisioned_by,
        migrated_to,
        ..Volume::sample()
    }
}

fn sidecars(instance: &Instance, index: usize) -> Sidecars {
    let upstream = "registry.k8s.io/sig-storage/csi-provisioner";
    let image = match instance.image {
        Image::Tag(major, minor, patch) => format!("{upstream}:v{major}.{minor}.{patch}"),
        Image::Digest => format!("{upstream}@sha256:{index}"),
        Image::TagAndDigest => format!("{upstream}:v6.3.0@sha256:{index}"),
        Image::Foreign => "registry.example.com/ose-csi-external-provisioner:v6.3.0".to_owned(),
    };
    let gate = match instance.gate {
        Gate::Silent => None,
        Gate::On => Some("--feature-gates=HonorPVReclaimPolicy=true"),
        Gate::Off => Some("--feature-gates=HonorPVReclaimPolicy=false"),
        Gate::Variable => Some("--feature-gates=$(GATES)"),
    };
    let named = instance.names.map(|driver| format!("--drivername={driver}"));
    let args: Vec<Text> =
        gate.map(Text::from).into_iter().chain(named.map(|it| Text::from(&*it))).collect();
    Sidecars {
        containers: [SidecarContainer {
            provisions_itself: false,
            name: "csi-provisioner".into(),
            image: image.as_str().into(),
            args: args.iter().cloned().collect(),
        }]
        .into(),
        mentions: args.into_iter().collect(),
        images: Box::default(),
        service_account: Some(account(index)),
        of_cluster: Box::default(),
    }
}

fn account(index: usize) -> Text {
    format!("account-{index}").as_str().into()
}

fn row(instance: &Instance, index: usize) -> Row {
    let sidecars = Some(Box::new(sidecars(instance, index)));
    let name = format!("controller-{index}").as_str().into();
    match instance.place {
        Place::Pod { phase, ready } => Row::Pod(Box::new(PodUse {
            namespace: "storage".into(),
            name,
            phase,
            ready,
            sidecars,
            ..PodUse::sample()
        })),
        Place::Workload { kind, replicas, of_deployment } => Row::Workload(Box::new(Workload {
            kind,
            namespace: "storage".into(),
            name,
            replicas,
            controller: of_deployment.then(|| Box::new(deployment())),
            sidecars,
            ..Workload::sample()
        })),
    }
}

fn deployment() -> OwnerReference {
    OwnerReference {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        name: "controller".into(),
        uid: Uid::parse("deployment"),
        controller: true,
        blocks_deletion: true,
    }
}

/// Returns a cluster with these provisioners, all of which was read.
fn cluster(instances: &[Instance]) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(now()), &mut dirty);
    for (index, instance) in instances.iter().enumerate() {
        cluster.apply(Change::Seen(row(instance, index)), &mut dirty);
        if let Some(answer) = &instance.may_patch {
            let question = Question::MayPatchVolumes {
                namespace: "storage".into(),
                service_account: account(index),
            };
            cluster.apply(Change::Seen(Row::Answer(question, answer.clone())), &mut dirty);
        }
    }
    for kind in Kind::ALL {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    cluster
}

fn now() -> Time {
    Time::from_timestamp(1_800_000_000, 0).expect("in range")
}

fn added(cluster: &Cluster, volume: &Volume) -> (FinalizerEdit, Vec<String>) {
    let (facts, settings) = (RefCell::default(), Settings::default());
    let mut notices = Vec::new();
    let edit = with_delete(&Cx::new(cluster, &settings, &facts), volume, &mut notices);
    (edit, notices)
}

/// The model: whether one of them may run the driver's csi-provisioner, now or later.
fn may_serve(instance: &Instance, driver: &str) -> bool {
    let not_for_another = instance.names.is_none_or(|named| named == driver);
    not_for_another
        && match instance.place {
            Place::Pod { phase, .. } => !matches!(phase, PodPhase::Failed | PodPhase::Succeeded),
            Place::Workload { kind, replicas, of_deployment } => {
                !(kind == Kind::ReplicaSet && replicas == Some(0) && of_deployment)
            }
        }
}

fn honors(instance: &Instance) -> bool {
    matches!(instance.image, Image::Tag(a, b, c) if [a, b, c] >= [5, 0, 2])
        && matches!(instance.gate, Gate::Silent | Gate::On)
        && instance.may_patch == Some(Answer::Yes)
}

fn runs(instance: &Instance, driver: &str) -> bool {
    let at_work = Place::Pod { phase: PodPhase::Running, ready: true };
    instance.names == Some(driver) && instance.place == at_work
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn it_is_added_exactly_where_every_provisioner_surely_honors_it(
        instances in vec(instances(), 0..4), source in sources(),
        terminating in prop::bool::weighted(0.1), has_it in prop::bool::weighted(0.1),
    ) {
        let driver = if source == Source::Migrated { SUCCESSOR } else { DRIVER };
        // Those that name the driver of the others name this one.
        let instances: Vec<_> = instances
            .into_iter()
            .map(|it| Instance { names: it.names.map(|name| if name == DRIVER { driver } else { name }), ..it })
            .collect();
        let mut volume = volume(source, driver);
        volume.metadata.deleting = terminating.then(now);
        if has_it {
            volume.metadata.finalizers = [EXTERNAL_PROVISIONER.into()].into();
        }
        let takes = matches!(source, Source::Csi | Source::Migrated);
        let all: Vec<_> = instances.iter().filter(|it| may_serve(it, driver)).collect();
        let sure = all.iter().all(|it| honors(it)) && all.iter().any(|it| runs(it, driver));
        let expected = takes && !terminating && !has_it && sure;
        let (edit, notices) = added(&cluster(&instances), &volume);
        prop_assert_eq!(edit == FinalizerEdit::Added, expected, "{:?}", notices);
        prop_assert!(edit != FinalizerEdit::Removed);
        // Whoever does without it is told so, and why.
        prop_assert_eq!(notices.len(), usize::from(takes && !terminating && !has_it && !sure));

        // A second patch adds nothing.
        if edit == FinalizerEdit::Added {
            volume.metadata.finalizers = [EXTERNAL_PROVISIONER.into()].into();
            prop_assert_eq!(added(&cluster(&instances), &volume).0, FinalizerEdit::Untouched);
        }
    }

    #[test]
    fn what_was_not_seen_never_adds_it(
        instances in vec(instances(), 1..4),
        kind in select(vec![Kind::Pod, Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet]),
        namespace in prop::option::of(Just("elsewhere")),
    ) {
        let mut cluster = cluster(&instances);
        let reason = "forbidden".to_owned();
        let gap = Gap { kind, namespace: namespace.map(Text::from), reason };
        cluster.apply(Change::Lost(gap), &mut Dirty::default());
        prop_assert_eq!(added(&cluster, &volume(Source::Csi, DRIVER)).0, FinalizerEdit::Untouched);
    }

    #[test]
    fn only_one_of_ours_is_removed_and_never_from_a_terminating_volume(
        has_it: bool, ours: bool, of_another: bool, terminating: bool,
    ) {
        let mut volume = volume(Source::Csi, DRIVER);
        volume.metadata.deleting = terminating.then(now);
        if has_it {
            volume.metadata.finalizers = ["example.com/own".into(), EXTERNAL_PROVISIONER.into()].into();
        }
        let mut cluster = cluster(&[]);
        for (name, recorded) in [("pv-1", ours), ("pv-2", of_another)] {
            if let Some(uid) = Uid::parse(name).filter(|_| recorded) {
                let row = Row::AddedFinalizer(uid, EXTERNAL_PROVISIONER.into());
                cluster.apply(Change::Seen(row), &mut Dirty::default());
            }
        }
        let (facts, settings) = (RefCell::default(), Settings::default());
        let mut notices = Vec::new();
        let edit = without_delete(&Cx::new(&cluster, &settings, &facts), &volume, &mut notices);
        let removed = has_it && ours && !terminating;
        prop_assert_eq!(edit == FinalizerEdit::Removed, removed);
        prop_assert!(edit != FinalizerEdit::Added);
        prop_assert_eq!(notices.len(), usize::from(has_it && ours));
    }
}

/// The first property would hold for a fact that never believes anything.
#[test]
fn the_usual_provisioner_honors_it() {
    let usual = |place| Instance {
        place,
        image: Image::Tag(6, 3, 0),
        gate: Gate::Silent,
        names: Some(DRIVER),
        may_patch: Some(Answer::Yes),
    };
    let pod = usual(Place::Pod { phase: PodPhase::Running, ready: true });
    let of = |replicas| {
        usual(Place::Workload {
            kind: Kind::Deployment,
            replicas: Some(replicas),
            of_deployment: false,
        })
    };
    let volume = volume(Source::Csi, DRIVER);
    assert_eq!(added(&cluster(&[pod.clone(), of(1)]), &volume).0, FinalizerEdit::Added);

    // One that is scaled to zero, and old, counts.
    let idle = Instance { image: Image::Tag(5, 0, 1), ..of(0) };
    let (edit, notices) = added(&cluster(&[pod, idle]), &volume);
    assert_eq!(edit, FinalizerEdit::Untouched);
    assert_eq!(
        notices,
        ["the patch adds no deletion-protection finalizer (image \
             registry.k8s.io/sig-storage/csi-provisioner:v5.0.1 is older than csi-provisioner \
             5.0.2): if the object is deleted before the driver has finished, the backend volume can leak"]
    );
}

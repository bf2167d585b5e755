//! The rest of the universe: who uses volumes, who serves them, and what was said of them.

use std::sync::Arc;

use kubectl_storage::{
    cluster::Change,
    model::{
        Answer, Attachment, AttachmentSource, BackendKey, ClaimKey, ControllerRole, Event,
        KeptBackend, Kind, Labels, Lease, LeaseMoment, Metadata, MountedClaim, Node, NodeAffinity,
        NodeRequirement, NodeTerm, ObjectKey, OwnerKey, PodPhase, PodUse, Question, Recorded, Row,
        SidecarContainer, Sidecars, SnapshotContent, SnapshotSource, Text, Uid, Workload,
    },
};

use super::universe::{
    CLAIMS, DRIVERS, Dice, HANDLES, NODES, VOLUMES, at, boxed, claim_ref, metadata,
};

const NAMESPACES: [&str; 2] = ["a", "b"];

/// Something that proves that a controller is at work, or nearly so.
pub(super) fn alive(dice: &mut Dice) -> Row {
    let names = [
        "d-example",
        "ebs-csi-aws-com",
        "external-attacher-leader-d-example",
        "external-attacher-leader-ghost-example",
        "kube-controller-manager",
    ];
    let ago = dice.pick(&[0, 0, 20, 3600]);
    Row::Lease(Box::new(Lease {
        read: LeaseMoment::default(),
        metadata: metadata(dice, &names),
        namespace: dice.text(&["kube-system", "a"]),
        holder: (!dice.chance(4)).then(|| "somebody".into()),
        renewed: Some(at(dice.now - ago)),
        duration_seconds: Some(15),
    }))
}

pub(super) fn answer(dice: &mut Dice) -> Row {
    let question = match dice.roll(8) {
        0 => {
            let (namespace, name) = dice.pick(&CLAIMS);
            let key = ClaimKey { namespace: namespace.into(), name: name.into() };
            Question::Exists(ObjectKey::claim(&key))
        }
        1 => Question::Exists(ObjectKey::cluster_wide(Kind::PersistentVolume, dice.pick(&VOLUMES))),
        2 => Question::Exists(ObjectKey::cluster_wide(Kind::Node, dice.pick(&NODES))),
        3 => {
            let (kind, name) =
                dice.pick(&[("StatefulSet", "w0"), ("Pod", "w0-0"), ("ConfigMap", "x")]);
            Question::OwnerExists(OwnerKey {
                api_version: if kind == "StatefulSet" { "apps/v1" } else { "v1" }.into(),
                kind: kind.into(),
                namespace: dice.text(&NAMESPACES),
                name: name.into(),
            })
        }
        5 => Question::Announcements { namespace: "kube-system".into() },
        4 => Question::SecretExists { namespace: "s".into(), name: "x".into() },
        _ => Question::MayPatchVolumes {
            namespace: dice.text(&NAMESPACES),
            service_account: "sa".into(),
        },
    };
    let answers = [
        Answer::Yes,
        Answer::No,
        Answer::Is(Uid::parse("u0").expect("because it is not empty")),
        Answer::Forbidden,
        Answer::Announcements(Arc::default()),
        Answer::Unanswered("timeout".into()),
        Answer::NotServed { elsewhere: None },
        Answer::NotServed { elsewhere: Some("db.example.com/v2".into()) },
    ];
    Row::Answer(question, dice.pick(&answers))
}

fn sidecars(dice: &mut Dice) -> Sidecars {
    let images = [
        "r/csi-provisioner:v5.0.1",
        "r/csi-provisioner:v3.4.0",
        "r/csi-provisioner:v6.3.0",
        "r/csi-attacher:v4.8.0",
        "r/kube-controller-manager:v1.36.3",
        "r/csi-node-driver-registrar:v2.13.0",
        "r/local-path-provisioner:v0.0.30",
    ];
    let mentions = [
        "--drivername=d.example",
        "/var/lib/kubelet/plugins/ebs.csi.aws.com/csi.sock",
        "--drivername=other.example",
    ];
    Sidecars {
        images: boxed(dice.subset(&["r/nfsplugin:v4.13.4", "r/driver:v1"])),
        containers: Box::new([SidecarContainer {
            provisions_itself: false,
            name: dice.text(&["c", "csi-provisioner"]),
            image: dice.text(&images),
            args: boxed(
                dice.subset(&["--feature-gates=HonorPVReclaimPolicy=true", "--leader-election"]),
            ),
        }]),
        mentions: boxed(dice.subset(&mentions)),
        service_account: dice.some(|_| "sa".into()),
        of_cluster: Box::default(),
    }
}

pub(super) fn pod(dice: &mut Dice) -> PodUse {
    let namespace = dice.text(&NAMESPACES);
    let mounted = CLAIMS.iter().filter(|(place, _)| **place == *namespace);
    let mut claims = Vec::new();
    for (_, claim) in mounted {
        if dice.chance(2) {
            claims.push(MountedClaim { claim: (*claim).into(), ephemeral: dice.chance(3) });
        }
    }
    let mut pod = PodUse {
        inline: kubectl_storage::model::InlineVolumes::default(),
        controller: dice.chance(2).then(|| {
            Box::new(kubectl_storage::model::OwnerReference {
                api_version: "apps/v1".into(),
                kind: "StatefulSet".into(),
                name: "w0".into(),
                uid: Uid::parse(dice.pick(&["u0", "u1"])),
                controller: true,
                blocks_deletion: true,
            })
        }),
        created: dice.some(Dice::time),
        forced: dice.chance(3),
        labels: Labels::default(),
        namespace,
        name: dice.pick(&["w0-0", "w0-1"]).into(),
        uid: Uid::parse(dice.pick(&["u0", "u1"])),
        started: None,
        deleting: dice.chance(5).then(|| dice.time()),
        phase: dice.pick(&[
            PodPhase::Running,
            PodPhase::Pending,
            PodPhase::Succeeded,
            PodPhase::Failed,
            PodPhase::Unknown,
        ]),
        ready: dice.chance(2),
        node: dice.some(|dice| dice.text(&NODES)),
        claims: claims.into(),
        sidecars: dice.chance(3).then(|| Box::new(sidecars(dice))),
        unschedulable: None,
    };
    // No chance of its own: the cases remain those that they were.
    if pod.node.is_none() && pod.created.is_some() {
        pod.unschedulable = Some("2 node(s) had volume node affinity conflict".into());
    }
    pod
}

/// A pod that runs the provisioner of the first driver, under an account.
pub(super) fn served(dice: &mut Dice) -> Row {
    let image = dice.text(&["r/csi-provisioner:v6.3.0", "r/csi-provisioner:v5.1.0"]);
    let sidecars = Sidecars {
        images: [].into(),
        containers: Box::new([SidecarContainer {
            provisions_itself: false,
            name: "c".into(),
            image,
            args: Box::default(),
        }]),
        mentions: Box::new(["--drivername=d.example".into()]),
        service_account: Some("sa".into()),
        of_cluster: Box::default(),
    };
    let (phase, ready) = (PodPhase::Running, true);
    let pod = pod(dice);
    let sidecars = Some(Box::new(sidecars));
    Row::Pod(Box::new(PodUse { phase, ready, deleting: None, sidecars, ..pod }))
}

/// Something that was known and does not count any more.
pub(super) fn unlearned(dice: &mut Dice) -> Vec<Change> {
    match (dice.roll(4), answer(dice)) {
        (0, _) => vec![Change::Traced(ControllerRole::Provisioner, dice.text(&DRIVERS))],
        (1, _) => vec![Change::Forgotten(Question::KeptBackends { namespace: "a".into() })],
        (2, Row::Answer(question, _)) => vec![Change::Forgotten(question)],
        _ => {
            dice.now -= dice.pick(&[1, 700, 200_000]);
            vec![Change::Clock(at(dice.now))]
        }
    }
}

pub(super) fn workload(dice: &mut Dice) -> Workload {
    let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet];
    Workload {
        inline: kubectl_storage::model::InlineVolumes::default(),
        claims: Box::default(),
        controller: None,
        finished: false,
        suspended: false,
        set: None,
        kind: dice.pick(&kinds),
        namespace: dice.text(&NAMESPACES),
        name: "w0".into(),
        uid: Uid::parse("u0"),
        replicas: dice.some(|_| 1),
        sidecars: dice.some(|dice| Box::new(sidecars(dice))),
    }
}

pub(super) fn node(dice: &mut Dice) -> Node {
    let name = dice.pick(&NODES);
    let held = ["kubernetes.io/csi/d.example^h0", "kubernetes.io/csi/ebs.csi.aws.com^h0"];
    let volumes = dice.subset(&held).iter().map(|it| Box::from(&**it)).collect();
    let mut labels = vec![("host".into(), Text::from(name))];
    if dice.chance(2) {
        labels.push(("zone".into(), "z1".into()));
    }
    let metadata = Metadata { labels: labels.into(), ..metadata(dice, &[name]) };
    Node {
        out_of_service: dice.chance(4),
        provider_id: None,
        unschedulable: dice.chance(3),
        metadata,
        ready: dice.chance(2),
        volumes,
    }
}

pub(super) fn affinity(dice: &mut Dice) -> NodeAffinity {
    let requirement = |key: &str, operator: &str, value: &str| NodeRequirement {
        key: key.into(),
        operator: operator.into(),
        values: Box::new([value.into()]),
    };
    let label = dice.pick(&[
        requirement("host", "In", "n0"),
        requirement("host", "NotIn", "n1"),
        requirement("zone", "Exists", ""),
        requirement("zone", "In", "z1"),
    ]);
    let term = match dice.roll(4) {
        0 => NodeTerm {
            labels: Box::default(),
            fields: Box::new([requirement("metadata.name", "In", "n1")]),
        },
        1 => NodeTerm { labels: Box::default(), fields: Box::default() },
        _ => NodeTerm { labels: Box::new([label]), fields: Box::default() },
    };
    NodeAffinity { terms: Box::new([term]) }
}

pub(super) fn attachment(dice: &mut Dice) -> Attachment {
    Attachment {
        metadata: metadata(dice, &["a0", "a1"]),
        attacher: dice.text(&DRIVERS),
        node: dice.text(&NODES),
        source: match dice.roll(5) {
            0 => AttachmentSource::Inline { driver: dice.text(&DRIVERS), handle: "h0".into() },
            1 => AttachmentSource::None,
            _ => AttachmentSource::Volume(dice.pick(&VOLUMES).into()),
        },
        attached: dice.chance(2),
        attach_error: None,
        detach_error: dice.some(|_| "no".into()),
    }
}

pub(super) fn event(dice: &mut Dice) -> Event {
    let reasons =
        ["VolumeFailedDelete", "VolumeDelete", "VolumeFailedRecycle", "VolumeUnknownReclaimPolicy"];
    let components = ["d.example_pod_1", "ebs.csi.aws.com_pod_2", "persistentvolume-controller"];
    let mut reason = dice.text(&reasons);
    let about = match dice.roll(4) {
        0 => {
            let (namespace, name) = dice.pick(&CLAIMS);
            ObjectKey::claim(&ClaimKey { namespace: namespace.into(), name: name.into() })
        }
        1 => {
            reason = dice.text(&["FailedAttachVolume", "FailedMount"]);
            let namespace = Some(dice.text(&NAMESPACES));
            ObjectKey { kind: Kind::Pod, namespace, name: dice.pick(&["p0", "p1"]).into() }
        }
        _ => ObjectKey::cluster_wide(Kind::PersistentVolume, dice.pick(&VOLUMES)),
    };
    Event {
        namespace: "default".into(),
        name: dice.pick(&["e0", "e1", "e2"]).into(),
        about,
        about_uid: dice.some(|dice| Uid::parse(dice.pick(&["u0", "u1"]))).flatten(),
        reason,
        message: dice.pick(&["no", "busy", "Multi-Attach error", "for volume \"v0\""]).into(),
        warning: true,
        component: dice.text(&components),
        count: 1,
        first_seen: None,
        last_seen: dice.some(Dice::time),
    }
}

pub(super) fn snapshot(dice: &mut Dice) -> SnapshotContent {
    let handles = dice.subset(&HANDLES).iter().map(|it| Box::from(&**it)).collect();
    SnapshotContent {
        handle: None,
        size: None,
        kind: dice.pick(&[Kind::VolumeSnapshotContent, Kind::VolumeGroupSnapshotContent]),
        metadata: metadata(dice, &["s0", "s1"]),
        driver: dice.text(&DRIVERS),
        source: match dice.roll(4) {
            0 => SnapshotSource::Existing,
            _ => SnapshotSource::Volumes(handles),
        },
        snapshot: dice.some(|dice| (dice.text(&NAMESPACES), dice.pick(&["vs0", "vs1"]).into())),
        snapshot_uid: dice.some(|dice| Uid::parse(dice.pick(&["u0", "u1"]))).flatten(),
        ready: dice.chance(2),
        being_created: dice.chance(3),
        deletion_policy: dice.some(|_| "Retain".into()),
    }
}

/// What was left behind, by one of the records of it. One volume object had one backend volume.
pub(super) fn kept(dice: &mut Dice) -> KeptBackend {
    let (driver, handle) = (dice.roll(DRIVERS.len()), dice.roll(HANDLES.len()));
    KeptBackend {
        backend: BackendKey { driver: DRIVERS[driver].into(), handle: HANDLES[handle].into() },
        volume: VOLUMES[handle].into(),
        uid: Uid::parse(&format!("u{driver}")),
        claim: dice.some(claim_ref).map(|it| it.key),
        class: None,
        capacity: Some(1 << 30),
        since: dice.some(Dice::time),
        recorded: dice.pick(&Recorded::ALL),
        entry: None,
    }
}

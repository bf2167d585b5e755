//! Rows of other kinds than volumes, for random clusters.

use super::*;

pub(super) fn claim(traits: &Traits, index: usize, uid: &str, volume: Option<String>) -> Row {
    let key = claim_key(traits, index);
    Row::Claim(Box::new(Claim {
        metadata: Metadata { name: key.name, ..metadata(uid) },
        namespace: key.namespace,
        phase: ClaimPhase::Pending,
        volume_name: volume.map(Into::into),
        bind_completed: false,
        ..Claim::sample()
    }))
}

/// Returns a pod that runs the csi-provisioner of the driver that is alive.
pub(super) fn provisioner() -> Row {
    let args: Box<[Text]> = [format!("--drivername={ALIVE}").as_str().into()].into();
    Row::Pod(Box::new(PodUse {
        namespace: "storage".into(),
        name: "controller-0".into(),
        sidecars: Some(Box::new(Sidecars {
            containers: Box::new([SidecarContainer {
                provisions_itself: false,
                name: "csi-provisioner".into(),
                image: "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0".into(),
                args: args.clone(),
            }]),
            mentions: args,
            images: Box::default(),
            service_account: Some("provisioner".into()),
            of_cluster: Box::default(),
        })),
        ..PodUse::sample()
    }))
}

pub(super) fn attachment(index: usize, source: AttachmentSource) -> Row {
    Row::Attachment(Box::new(Attachment {
        metadata: metadata(&format!("csi-{index}")),
        attacher: ALIVE.into(),
        node: "well".into(),
        source,
        attached: false,
        ..Attachment::sample()
    }))
}

pub(super) fn node(name: &str, ready: bool, volumes: &[String]) -> Row {
    Row::Node(Box::new(Node {
        metadata: Metadata {
            labels: [("kubernetes.io/hostname".into(), name.into())].into(),
            ..metadata(name)
        },
        ready,
        out_of_service: false,
        provider_id: None,
        unschedulable: false,
        volumes: volumes.iter().map(|it| it.as_str().into()).collect(),
    }))
}

pub(super) fn pod(traits: &Traits, index: usize) -> Row {
    let key = claim_key(traits, index);
    Row::Pod(Box::new(PodUse {
        namespace: key.namespace,
        name: format!("pod-{index}").into(),
        claims: Box::new([MountedClaim { claim: key.name, ephemeral: false }]),
        // Even one that has ended, and was never scheduled.
        phase: PodPhase::Succeeded,
        ready: false,
        ..PodUse::sample()
    }))
}

pub(super) fn snapshot(index: usize, kind: Kind) -> Row {
    let group = kind == Kind::VolumeGroupSnapshotContent;
    let others = group.then(|| "vol-other".into());
    Row::Snapshot(Box::new(SnapshotContent {
        kind,
        metadata: metadata(&format!("content-{index}")),
        driver: ALIVE.into(),
        source: SnapshotSource::Volumes(
            others.into_iter().chain([format!("vol-{index}").into()]).collect(),
        ),
        snapshot: None,
        snapshot_uid: None,
        ready: false,
        being_created: false,
        deletion_policy: None,
        handle: None,
        size: None,
    }))
}

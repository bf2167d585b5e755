//! Rows of a small cluster: a claim `data` of namespace `shop`, its volume `pv`, and its users.

use std::cell::RefCell;

use crate::cluster::{Change, Cluster, Cx, Dirty, Gap, Reach};
use crate::facts::PVC_PROTECTION;
use crate::model::{
    Answer, Attachment, AttachmentSource, Claim, ClaimKey, ClaimPhase, ClaimRef, ClaimTemplate,
    DataSource, Kind, Labels, Metadata, MountedClaim, OwnerKey, OwnerReference, PodPhase, PodUse,
    Question, ReclaimPolicy, Row, Settings, StatefulSet, Time, Uid, Volume, VolumeSnapshot,
    VolumeSource, Workload,
};

pub(super) fn now() -> Option<Time> {
    Time::from_timestamp(1_800_000_000, 0)
}

pub(super) fn owner(kind: &str, name: &str, uid: Option<&str>, controller: bool) -> OwnerReference {
    let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
    OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: uid.and_then(Uid::parse),
        controller,
        blocks_deletion: true,
    }
}

pub(super) fn claim(name: &str, owners: &[OwnerReference]) -> Claim {
    Claim {
        metadata: Metadata {
            name: name.into(),
            uid: Uid::parse(name),
            created: now(),
            finalizers: [PVC_PROTECTION.into()].into(),
            owners: owners.into(),
            ..Metadata::default()
        },
        volume_name: Some("pv".into()),
        ..Claim::sample()
    }
}

/// A running pod with a uid of its own, which uses the claim `data`.
pub(super) fn pod(name: &str) -> PodUse {
    PodUse {
        name: name.into(),
        uid: Uid::parse(&format!("{name}-uid")),
        created: now(),
        node: Some("node-1".into()),
        claims: [MountedClaim { claim: "data".into(), ephemeral: false }].into(),
        ..PodUse::sample()
    }
}

pub(super) fn ephemeral(pod: PodUse, claim: &str) -> PodUse {
    PodUse { claims: [MountedClaim { claim: claim.into(), ephemeral: true }].into(), ..pod }
}

pub(super) fn unscheduled(pod: PodUse) -> PodUse {
    PodUse { node: None, phase: PodPhase::Pending, ..pod }
}

pub(super) fn shut_down(pod: PodUse) -> PodUse {
    PodUse { deleting: now(), forced: true, ..pod }
}

pub(super) fn volume(policy: ReclaimPolicy, claim: &str, uid: Option<&str>) -> Row {
    Row::Volume(Box::new(Volume {
        metadata: Metadata { name: "pv".into(), ..Metadata::default() },
        reclaim_policy: policy,
        claim_ref: Some(ClaimRef {
            key: ClaimKey { namespace: "shop".into(), name: claim.into() },
            uid: uid.and_then(Uid::parse),
        }),
        source: VolumeSource::HostPath("/data".into()),
        provisioned_by: Some("d.example".into()),
        ..Volume::sample()
    }))
}

pub(super) fn workload(kind: Kind, replicas: Option<i32>) -> Workload {
    Workload {
        kind,
        name: "web".into(),
        replicas,
        claims: ["data".into()].into(),
        ..Workload::sample()
    }
}

pub(super) fn set(name: &str, uid: &str, template: &str) -> Row {
    let metadata = Metadata { name: name.into(), uid: Uid::parse(uid), ..Metadata::default() };
    let template = ClaimTemplate { name: template.into(), class: None, requested: None };
    let set = StatefulSet {
        metadata,
        namespace: "shop".into(),
        generation: 1,
        replicas: Some(1),
        start: 0,
        templates: [template].into(),
        match_labels: Labels::default(),
        match_expressions: None,
        retention: None,
        ordered: Some(true),
        observed_generation: 1,
        pods: 1,
    };
    Row::Workload(Box::new(Workload {
        name: name.into(),
        uid: Uid::parse(uid),
        claims: Box::default(),
        set: Some(Box::new(set)),
        ..workload(Kind::StatefulSet, Some(1))
    }))
}

pub(super) fn source_of(name: &str, phase: ClaimPhase) -> Row {
    let source = DataSource {
        group: "".into(),
        kind: "PersistentVolumeClaim".into(),
        namespace: None,
        name: "data".into(),
    };
    Row::Claim(Box::new(Claim { phase, source: Some(Box::new(source)), ..claim(name, &[]) }))
}

pub(super) fn snapshot(ready: bool) -> Row {
    Row::VolumeSnapshot(Box::new(VolumeSnapshot {
        metadata: Metadata { name: "snap".into(), ..Metadata::default() },
        namespace: "shop".into(),
        source_claim: Some("data".into()),
        content: None,
        ready,
        error: None,
        taken_of: None,
    }))
}

pub(super) fn attachment(attached: bool) -> Row {
    Row::Attachment(Box::new(Attachment {
        metadata: Metadata { name: "csi-1".into(), ..Metadata::default() },
        source: AttachmentSource::Volume("pv".into()),
        attached,
        ..Attachment::sample()
    }))
}

pub(super) fn answered(owner: &OwnerReference, answer: Answer) -> Row {
    let key = OwnerKey {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        namespace: "shop".into(),
        name: owner.name.clone(),
    };
    Row::Answer(Question::OwnerExists(key), answer)
}

/// A cluster with these rows, read completely except for some kinds.
pub(super) fn cluster(rows: impl IntoIterator<Item = Row>, blind: &[Kind]) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    for row in rows {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        let change = if blind.contains(&kind) {
            Change::Lost(Gap { kind, namespace: None, reason: "forbidden".to_owned() })
        } else {
            Change::Whole(Reach::all(kind))
        };
        cluster.apply(change, &mut dirty);
    }
    cluster
}

/// Derives a fact from a cluster.
pub(super) fn look<T>(cluster: &Cluster, say: impl FnOnce(&Cx<'_>) -> T) -> T {
    let (settings, facts) = (Settings::default(), RefCell::default());
    say(&Cx::new(cluster, &settings, &facts))
}

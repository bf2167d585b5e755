//! Test: a cluster as kind and k3s set it up has no findings.

use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::model::{
    ClaimKey, ClaimRef, Kind, Lease, Metadata, Phase, ReclaimPolicy, Row, Server, Settings, Text,
    Time, Uid, Volume, VolumeSource,
};
use crate::rules::Assessor;

fn ago(seconds: i64) -> Time {
    Time::from_timestamp(1_800_000_000 - seconds, 0).expect("in range")
}

/// A bound volume that was created a month ago.
fn volume(name: &str, by: Option<&str>, finalizers: &[&str], source: VolumeSource) -> Row {
    let made = Some(ago(30 * 86_400));
    let claim = ClaimRef {
        key: ClaimKey { namespace: "default".into(), name: name.into() },
        uid: Uid::parse(name),
    };
    Row::Volume(Box::new(Volume {
        is_shared: false,
        is_xfs: false,
        access: crate::model::Access::default(),
        attributes_class: None,
        metadata: Metadata {
            name: name.into(),
            uid: Uid::parse(name),
            created: made,
            finalizers: finalizers.iter().map(|it| Text::from(*it)).collect(),
            ..Metadata::default()
        },
        phase: Phase::Bound,
        message: None,
        reason: None,
        last_phase_transition: made,
        reclaim_policy: if by.is_some() { ReclaimPolicy::Delete } else { ReclaimPolicy::Retain },
        claim_ref: Some(claim),
        source,
        backend: None,
        attributes: crate::model::Attributes::default(),
        class: Some("standard".into()),
        capacity: Some(1 << 30),
        node_affinity: None,
        provisioned_by: by.map(Text::from),
        migrated_to: None,
        bound_by_controller: true,
        deletion_secret: None,
        backend_state: None,
    }))
}

fn claim(name: &str) -> Row {
    Row::Claim(Box::new(crate::model::Claim {
        attributes_class: None,
        capacity: None,
        conditions: Box::default(),
        provisioner: None,
        resize_status: None,
        selected_node: None,
        source: None,
        metadata: Metadata {
            name: name.into(),
            uid: Uid::parse(name),
            finalizers: ["kubernetes.io/pvc-protection".into()].into(),
            created: Some(ago(30 * 86_400)),
            ..Metadata::default()
        },
        namespace: "default".into(),
        phase: crate::model::ClaimPhase::Bound,
        volume_name: Some(name.into()),
        class: Some("standard".into()),
        bind_completed: true,
        access: crate::model::Access::default(),
        selector: None,
        requested: Some(1 << 30),
    }))
}

/// A pod that uses a claim.
fn pod(claim: &str) -> Row {
    Row::Pod(Box::new(crate::model::PodUse {
        namespace: "default".into(),
        name: claim.into(),
        uid: Uid::parse(claim),
        created: Some(ago(86_400)),
        node: Some("node-1".into()),
        claims: [crate::model::MountedClaim { claim: claim.into(), ephemeral: false }].into(),
        ..crate::model::PodUse::sample()
    }))
}

#[test]
fn local_volumes_without_any_csi_driver_are_fine() {
    let host_path = |name: &str| VolumeSource::HostPath(format!("/opt/{name}").into());
    let protected = &["kubernetes.io/pv-protection"][..];
    let rows = [
        volume("a", Some("rancher.io/local-path"), protected, host_path("a")),
        volume("b", Some("k8s.io/minikube-hostpath"), protected, host_path("b")),
        volume("c", None, protected, host_path("c")),
        volume("d", None, protected, VolumeSource::Local("/mnt/d".into())),
        volume(
            "e",
            Some("kubernetes.io/host-path"),
            &["kubernetes.io/pv-protection", "kubernetes.io/pv-controller"],
            host_path("e"),
        ),
        Row::Lease(Box::new(Lease {
            read: crate::model::LeaseMoment::Clock,
            metadata: Metadata { name: "kube-controller-manager".into(), ..Metadata::default() },
            namespace: "kube-system".into(),
            holder: Some("control-plane".into()),
            renewed: Some(ago(3)),
            duration_seconds: Some(15),
        })),
    ];
    for minor in [32, 36] {
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
        cluster.apply(Change::Clock(ago(0)), &mut dirty);
        let server = Server { version: Some((1, minor)), ..Server::default() };
        cluster.apply(Change::Server(server), &mut dirty);
        let names = ["a", "b", "c", "d", "e"];
        for row in rows.iter().cloned().chain(names.map(claim)).chain(names.map(pod)) {
            cluster.apply(Change::Seen(row), &mut dirty);
        }
        for kind in Kind::ALL {
            cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
        }
        let (mut assessor, settings) = (Assessor::default(), Settings::default());
        assessor.update(&cluster, &settings, dirty);
        let found: Vec<_> = assessor.findings(&cluster, &settings).collect();
        assert!(found.is_empty(), "{found:#?}");
        assert!(assessor.questions().is_empty(), "{:?}", assessor.questions());
    }
}

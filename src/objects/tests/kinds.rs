//! The rows of volumes, claims, pods, nodes, classes, drivers and attachments.

use serde_json::json;

use super::*;
use crate::model::{
    self, Attachment, AttachmentSource, BackendKey, Claim, ClaimKey, ClaimPhase, ClaimRef,
    DeletionSecret, ManagedField, Metadata, MountedClaim, NodeRequirement, NodeTerm, Phase,
    PodPhase, PodUse, ReclaimPolicy, Sidecars, Uid, Volume, VolumeSource,
};

/// `ReadWriteOnce`, `Filesystem`.
fn once() -> crate::model::Access {
    let modes = crate::model::AccessModes::of(&["ReadWriteOnce"]);
    crate::model::Access { modes, is_block: false }
}

#[test]
fn volumes() {
    let requirement = |key: &str, values: &[&str]| NodeRequirement {
        key: key.into(),
        operator: "In".into(),
        values: values.iter().map(|value| Text::from(*value)).collect(),
    };
    let created = "2026-01-02T03:04:05Z";
    let expected = Volume {
        is_shared: false,
        is_xfs: false,
        access: once(),
        attributes_class: None,
        metadata: Metadata {
            resource_version: "42".into(),
            created: Some(time(created)),
            deleting: Some(time("2026-02-02T03:04:05Z")),
            finalizers: ["kubernetes.io/pv-protection", "external-attacher/ebs-csi-aws-com"]
                .map(Text::from)
                .into(),
            labels: [
                ("app".into(), "db".into()),
                ("topology.kubernetes.io/zone".into(), "a".into()),
            ]
            .into(),
            managers: [
                owner(ManagedField::ReclaimPolicy, "csi-provisioner", created),
                owner(
                    ManagedField::Finalizer("external-attacher/ebs-csi-aws-com".into()),
                    "csi-provisioner",
                    created,
                ),
                owner(
                    ManagedField::Finalizer("kubernetes.io/pv-protection".into()),
                    "csi-provisioner",
                    created,
                ),
                owner(ManagedField::Phase, "kube-controller-manager", "2026-01-02T03:05:00Z"),
                owner(
                    ManagedField::LastPhaseTransitionTime,
                    "kube-controller-manager",
                    "2026-01-02T03:05:00Z",
                ),
            ]
            .into(),
            rare_annotations: Some(Box::new(crate::model::RareAnnotations {
                ignore: Some("pv-failed: known".into()),
                keep_until: Some("2027-01-01".into()),
                announced: None,
                tracked_by_argo_cd: false,
                scheduled_by_downscaler: false,
            })),
            ..metadata("pvc-1", "0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11")
        },
        phase: Phase::Released,
        message: Some("late".into()),
        reason: Some("Why".into()),
        last_phase_transition: Some(time("2026-01-02T03:05:00Z")),
        reclaim_policy: ReclaimPolicy::Delete,
        claim_ref: Some(ClaimRef {
            key: ClaimKey { namespace: "prod".into(), name: "data-db-0".into() },
            uid: Uid::parse("11111111-2222-3333-4444-555555555555"),
        }),
        source: VolumeSource::Csi {
            driver: "ebs.csi.aws.com".into(),
            handle: "vol-0abc".into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: "ebs.csi.aws.com".into(), handle: "vol-0abc".into() }),
        attributes: crate::model::Attributes::default(),
        class: Some("gp3".into()),
        capacity: Some(10 << 30),
        node_affinity: Some(Arc::new(NodeAffinity {
            terms: [
                NodeTerm {
                    labels: [requirement("topology.ebs.csi.aws.com/zone", &["a", "b"])].into(),
                    fields: [].into(),
                },
                NodeTerm {
                    labels: [].into(),
                    fields: [requirement("metadata.name", &["node-1"])].into(),
                },
            ]
            .into(),
        })),
        provisioned_by: Some("ebs.csi.aws.com".into()),
        migrated_to: Some("ebs.csi.aws.com".into()),
        bound_by_controller: true,
        deletion_secret: Some(DeletionSecret { namespace: "".into(), name: "".into() }.into()),
        backend_state: Some("unknown since delete".into()),
    };
    assert_eq!(folded::<PersistentVolume>(sample!("volume")), row(Row::Volume(Box::new(expected))));
}

#[test]
fn volumes_that_are_nearly_empty() {
    let expected = Volume {
        is_shared: false,
        is_xfs: false,
        access: crate::model::Access::default(),
        attributes_class: None,
        metadata: metadata("static", ""),
        phase: Phase::Available,
        message: None,
        reason: None,
        last_phase_transition: None,
        reclaim_policy: ReclaimPolicy::Retain,
        claim_ref: None,
        source: VolumeSource::HostPath("/data/".into()),
        backend: Some(BackendKey { driver: "hostPath".into(), handle: "/data@any".into() }),
        attributes: crate::model::Attributes::default(),
        class: None,
        capacity: Some(5_000_000_000),
        node_affinity: None,
        provisioned_by: None,
        migrated_to: None,
        bound_by_controller: false,
        deletion_secret: None,
        backend_state: None,
    };
    assert_eq!(
        folded::<PersistentVolume>(sample!("volume_host_path")),
        row(Row::Volume(Box::new(expected)))
    );
}

#[test]
fn claims() {
    let expected = Claim {
        attributes_class: None,
        capacity: Some(10 << 30),
        conditions: Box::default(),
        provisioner: Some("ebs.csi.aws.com".into()),
        resize_status: None,
        selected_node: Some("node-1".into()),
        source: None,
        metadata: Metadata {
            resource_version: "8".into(),
            created: Some(time("2026-01-02T03:04:05Z")),
            finalizers: [Text::from("kubernetes.io/pvc-protection")].into(),
            labels: [("app".into(), "db".into())].into(),
            owners: [model::OwnerReference {
                blocks_deletion: true,
                api_version: "apps/v1".into(),
                kind: "StatefulSet".into(),
                name: "db".into(),
                uid: Uid::parse("99999999-2222-3333-4444-555555555555"),
                controller: true,
            }]
            .into(),
            managers: [owner(
                ManagedField::OwnerReferences,
                "kube-controller-manager",
                "2026-01-02T03:05:00Z",
            )]
            .into(),
            ..metadata("data-db-0", "11111111-2222-3333-4444-555555555555")
        },
        namespace: "prod".into(),
        phase: ClaimPhase::Bound,
        volume_name: Some("pvc-1".into()),
        class: Some("".into()),
        bind_completed: true,
        access: once(),
        selector: None,
        requested: Some(10 << 30),
    };
    assert_eq!(
        folded::<PersistentVolumeClaim>(sample!("claim")),
        row(Row::Claim(Box::new(expected)))
    );
}

#[test]
fn pods() {
    let args = ["--csi-address=/csi/csi.sock", "--leader-election"];
    let expected = PodUse {
        unschedulable: None,
        inline: [model::InlineVolume {
            name: "socket".into(),
            backend: BackendKey {
                driver: "hostPath".into(),
                handle: "/var/lib/kubelet/plugins/ebs.csi.aws.com@metadata.name In [\"node-1\"]"
                    .into(),
            },
            attributes: model::Attributes::default(),
        }]
        .into_iter()
        .collect(),
        controller: None,
        created: Some(time("2026-01-02T03:04:05Z")),
        started: Some(time("2026-01-02T03:04:06Z")),
        forced: false,
        labels: [("app".into(), "csi".into())].into(),
        namespace: "storage".into(),
        name: "csi-0".into(),
        uid: Uid::parse("22222222-2222-3333-4444-555555555555"),
        deleting: Some(time("2026-01-03T03:04:05Z")),
        phase: PodPhase::Running,
        ready: true,
        node: Some("node-1".into()),
        claims: [
            MountedClaim { claim: "cache".into(), ephemeral: false },
            MountedClaim { claim: "csi-0-scratch".into(), ephemeral: true },
        ]
        .into(),
        sidecars: Some(Box::new(Sidecars {
            images: [
                "busybox",
                "example.com/ebs:v1",
                "registry.k8s.io/sig-storage/csi-provisioner:v5.1.0",
                "registry:5000/x/my-csi-attacher@sha256:00",
            ]
            .map(Text::from)
            .into(),
            containers: [
                model::SidecarContainer {
                    provisions_itself: false,
                    name: "provisioner".into(),
                    image: "registry.k8s.io/sig-storage/csi-provisioner:v5.1.0".into(),
                    args: args.map(Text::from).into(),
                },
                model::SidecarContainer {
                    provisions_itself: false,
                    name: "other".into(),
                    image: "registry:5000/x/my-csi-attacher@sha256:00".into(),
                    args: [].into(),
                },
            ]
            .into(),
            mentions: [
                args[0],
                "--endpoint=unix:///csi/csi.sock",
                args[1],
                "/var/lib/kubelet/plugins/ebs.csi.aws.com/",
                "true",
            ]
            .map(Text::from)
            .into(),
            service_account: Some("ebs".into()),
            of_cluster: Box::default(),
        })),
    };
    assert_eq!(folded::<Pod>(sample!("pod")), row(Row::Pod(Box::new(expected))));
}

#[test]
fn nodes_and_namespaces() {
    let expected = model::Node {
        out_of_service: false,
        provider_id: Some("aws:///a/i-1".into()),
        unschedulable: false,
        metadata: Metadata {
            resource_version: "10".into(),
            created: Some(time("2026-01-02T03:04:05Z")),
            labels: [("topology.kubernetes.io/zone".into(), "a".into())].into(),
            ..metadata("node-1", "33333333-2222-3333-4444-555555555555")
        },
        ready: true,
        volumes: [
            "kubernetes.io/csi/ebs.csi.aws.com^vol-1".into(),
            "kubernetes.io/csi/ebs.csi.aws.com^vol-2".into(),
        ]
        .into(),
    };
    assert_eq!(folded::<Node>(sample!("node")), row(Row::Node(Box::new(expected))));
    let expected = model::Namespace {
        metadata: Metadata {
            labels: [("kubernetes.io/metadata.name".into(), "kube-system".into())].into(),
            ..metadata("kube-system", "44444444-2222-3333-4444-555555555555")
        },
    };
    assert_eq!(folded::<Namespace>(sample!("namespace")), row(Row::Namespace(Box::new(expected))));
}

#[test]
fn classes_and_drivers() {
    let class = model::StorageClass {
        parameters: [].into(),
        allows_expansion: true,
        is_default: true,
        waits_for_consumer: true,
        metadata: metadata("gp3", "55555555-2222-3333-4444-555555555555"),
        provisioner: "ebs.csi.aws.com".into(),
        reclaim_policy: Some("Delete".into()),
    };
    assert_eq!(folded::<StorageClass>(sample!("class")), row(Row::Class(Box::new(class))));
    let driver = model::CsiDriver {
        metadata: metadata("nfs.csi.k8s.io", "66666666-2222-3333-4444-555555555555"),
        attach_required: false,
    };
    assert_eq!(folded::<CsiDriver>(sample!("csi_driver")), row(Row::CsiDriver(Box::new(driver))));
    let node = model::CsiNode {
        metadata: Metadata {
            owners: [model::OwnerReference {
                blocks_deletion: false,
                api_version: "v1".into(),
                kind: "Node".into(),
                name: "node-1".into(),
                uid: Uid::parse("33333333-2222-3333-4444-555555555555"),
                controller: false,
            }]
            .into(),
            ..metadata("node-1", "77777777-2222-3333-4444-555555555555")
        },
        drivers: ["ebs.csi.aws.com".into(), "nfs.csi.k8s.io".into()].into(),
    };
    assert_eq!(folded::<CsiNode>(sample!("csi_node")), row(Row::CsiNode(Box::new(node))));
}

#[test]
fn attachments() {
    let finalizer = Text::from("external-attacher/ebs-csi-aws-com");
    let expected = Attachment {
        metadata: Metadata {
            deleting: Some(time("2026-01-03T03:04:05Z")),
            finalizers: [finalizer.clone()].into(),
            managers: [owner(
                ManagedField::Finalizer(finalizer),
                "csi-attacher",
                "2026-01-02T03:05:00Z",
            )]
            .into(),
            ..metadata("csi-1", "88888888-2222-3333-4444-555555555555")
        },
        attacher: "ebs.csi.aws.com".into(),
        node: "node-1".into(),
        source: AttachmentSource::Volume("pvc-1".into()),
        attached: true,
        attach_error: None,
        detach_error: Some("still in use".into()),
    };
    assert_eq!(
        folded::<VolumeAttachment>(sample!("attachment")),
        row(Row::Attachment(Box::new(expected.clone())))
    );
    let inline = Attachment {
        metadata: metadata("csi-2", ""),
        source: AttachmentSource::Inline {
            driver: "ebs.csi.aws.com".into(),
            handle: "vol-9".into(),
        },
        attached: false,
        detach_error: None,
        ..expected
    };
    assert_eq!(
        folded::<VolumeAttachment>(sample!("attachment_inline")),
        row(Row::Attachment(Box::new(inline)))
    );
}

#[test]
fn managed_fields_are_stored_for_the_kinds_that_say_so() {
    let entry = json!({
        "manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, "v:\"a.example/f\"": {}}}},
    });
    let metadata = json!({"namespace": "a", "name": "b", "managedFields": [entry]});
    for kind in Kind::ALL {
        let Some(decoding) = decoding(kind) else { continue };
        let object = (decoding.json)(&json!({"metadata": metadata}).to_string());
        let stored =
            object.expect("it decodes").to_json(kind.group().version).expect("it can be written");
        let stored = stored.get().contains("managedFields");
        assert_eq!(stored, keeps_managed_fields(kind), "{kind}");
    }
}

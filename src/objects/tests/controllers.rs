//! The rows of workloads, leases, events and snapshots, and of what uses claims.

use super::*;
use crate::model;
use crate::model::{
    Metadata, OwnerReference, Retention, Sidecars, SnapshotContent, SnapshotSource, Uid, Workload,
};

#[test]
fn workloads() {
    let workload = |kind, name: &str, uid, replicas, sidecars| {
        row(Row::Workload(Box::new(Workload {
            inline: crate::model::InlineVolumes::default(),
            claims: Box::default(),
            controller: None,
            finished: false,
            suspended: false,
            set: None,
            kind,
            namespace: "storage".into(),
            name: name.into(),
            uid: Uid::parse(uid),
            replicas,
            sidecars: Some(Box::new(sidecars)),
        })))
    };
    let sidecars = |image: &str, args: &[&str], account: Option<&str>| {
        let args: Box<[Text]> = args.iter().map(|arg| Text::from(*arg)).collect();
        Sidecars {
            images: [Text::from(image)].into(),
            containers: [model::SidecarContainer {
                provisions_itself: false,
                name: "c".into(),
                image: image.into(),
                args: args.clone(),
            }]
            .into(),
            mentions: args,
            service_account: account.map(Text::from),
            of_cluster: Box::default(),
        }
    };
    let Folded::Row(Row::Workload(mut set)) = folded::<StatefulSet>(sample!("stateful_set")) else {
        panic!("a set is always kept")
    };
    let Some(own) = set.set.take() else { panic!("it is a set") };
    assert_eq!(
        Folded::Row(Row::Workload(set)),
        workload(
            Kind::StatefulSet,
            "csi",
            "aaaaaaaa-2222-3333-4444-555555555555",
            Some(0),
            sidecars("k8s.gcr.io/sig-storage/snapshot-controller:v8", &["--v=5"], Some("snap")),
        )
    );
    assert_eq!((own.replicas, &own.match_labels[..]), (Some(0), &[("a".into(), "b".into())][..]));
    let policy = own.retention.map(|it| (it.when_deleted.deletes(), it.when_scaled.deletes()));
    assert_eq!(policy, Some((true, false)));
    assert_eq!(
        folded::<Deployment>(sample!("deployment")),
        workload(
            Kind::Deployment,
            "snapshots",
            "bbbbbbbb-2222-3333-4444-555555555555",
            Some(2),
            sidecars("csi-snapshotter", &[], None),
        )
    );
    assert_eq!(
        folded::<ReplicaSet>(sample!("replica_set")),
        workload(
            Kind::ReplicaSet,
            "snapshots-1",
            "cccccccc-2222-3333-4444-555555555555",
            Some(1),
            sidecars("csi-snapshotter", &[], None),
        )
    );
    assert_eq!(
        folded::<DaemonSet>(sample!("daemon_set")),
        workload(
            Kind::DaemonSet,
            "local",
            "dddddddd-2222-3333-4444-555555555555",
            None,
            sidecars("csi-provisioner:v5.1.0", &["--node-deployment"], None),
        )
    );
}

#[test]
fn leases_and_events() {
    let lease = model::Lease {
        read: crate::model::LeaseMoment::Clock,
        metadata: metadata("ebs-csi-aws-com", "eeeeeeee-2222-3333-4444-555555555555"),
        namespace: "storage".into(),
        holder: Some("csi-0".into()),
        renewed: Some(time("2026-01-02T03:04:05.123456Z")),
        duration_seconds: Some(15),
    };
    assert_eq!(folded::<Lease>(sample!("lease")), row(Row::Lease(Box::new(lease))));
    let event = model::Event {
        namespace: "default".into(),
        name: "pvc-1.abc".into(),
        about: ObjectKey::cluster_wide(Kind::PersistentVolume, "pvc-1"),
        about_uid: Uid::parse("0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11"),
        reason: "VolumeFailedDelete".into(),
        message: "in use".into(),
        warning: true,
        component: "ebs.csi.aws.com_csi-0_1".into(),
        count: 3,
        first_seen: Some(time("2026-01-02T03:04:05Z")),
        last_seen: Some(time("2026-01-02T03:07:05.000001Z")),
    };
    assert_eq!(folded::<Event>(sample!("event")), row(Row::Event(Box::new(event))));
}

#[test]
fn snapshots() {
    let expected = SnapshotContent {
        handle: Some("snap-1".into()),
        size: Some(1),
        kind: Kind::VolumeSnapshotContent,
        metadata: Metadata {
            finalizers: [Text::from(
                "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection",
            )]
            .into(),
            ..metadata("snapcontent-1", "12121212-2222-3333-4444-555555555555")
        },
        driver: "ebs.csi.aws.com".into(),
        source: SnapshotSource::Volumes(["vol-0abc".into()].into()),
        snapshot: Some(("prod".into(), "nightly".into())),
        snapshot_uid: Uid::parse("u"),
        ready: false,
        being_created: true,
        deletion_policy: Some("Delete".into()),
    };
    assert_eq!(
        folded::<VolumeSnapshotContent>(sample!(json "snapshot")),
        row(Row::Snapshot(Box::new(expected)))
    );
    let group = SnapshotContent {
        handle: None,
        size: None,
        kind: Kind::VolumeGroupSnapshotContent,
        metadata: metadata("groupsnapcontent-1", "13131313-2222-3333-4444-555555555555"),
        driver: "ebs.csi.aws.com".into(),
        source: SnapshotSource::Volumes(["vol-1".into(), "vol-2".into()].into()),
        snapshot: Some(("prod".into(), "group".into())),
        snapshot_uid: None,
        ready: true,
        being_created: false,
        deletion_policy: Some("Retain".into()),
    };
    assert_eq!(
        folded::<VolumeGroupSnapshotContent>(sample!(json "group_snapshot")),
        row(Row::Snapshot(Box::new(group)))
    );
}

#[test]
fn what_this_tool_says_is_no_evidence() {
    let said = |component: &str, reporting: &str| {
        fold(&Event {
            metadata: meta::BriefMeta {
                name: "e".to_owned(),
                namespace: "default".to_owned(),
                ..Default::default()
            },
            involved_object: meta::ObjectReference {
                kind: "PersistentVolume".to_owned(),
                ..Default::default()
            },
            source: node::EventSource { component: component.to_owned() },
            reporting_component: reporting.to_owned(),
            ..Event::default()
        })
    };
    assert!(matches!(said("persistentvolume-controller", ""), Folded::Row(_)));
    assert!(matches!(said("kubectl-storage", ""), Folded::Counted));
    assert!(matches!(said("", "kubectl-storage"), Folded::Counted));
}

#[test]
fn events_are_bounded_and_those_of_pods_are_about_volumes() {
    let event = |kind: &str, reason: &str, message: &str| -> Folded {
        let event = Event {
            metadata: meta::BriefMeta {
                name: "e".to_owned(),
                namespace: "default".to_owned(),
                ..Default::default()
            },
            involved_object: meta::ObjectReference { kind: kind.to_owned(), ..Default::default() },
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..Event::default()
        };
        fold(&event)
    };
    let message = |folded: Folded| match folded {
        Folded::Row(Row::Event(event)) => Some(event.message),
        _ => None,
    };
    for (reason, said, kept) in [
        ("FailedScheduling", "0/3 nodes: 1 Insufficient cpu.", false),
        ("FailedScheduling", "persistentvolumeclaim \"data\" not found", true),
        ("FailedScheduling", "2 node(s) had volume node affinity conflict", true),
        ("FailedScheduling", "unbound immediate PersistentVolumeClaims", true),
        ("FailedMount", "no", true),
        ("BackOff", "a volume", false),
    ] {
        assert_eq!(message(event("Pod", reason, said)).is_some(), kept, "{reason}: {said}");
    }
    let long = message(event("PersistentVolume", "Failed", &"ü".repeat(32 << 10)));
    let long = long.expect("events about volumes are kept");
    assert!(long.len() < 5000 && long.ends_with("ü… (65536 bytes)"), "{} bytes", long.len());
}

fn read<O: SlimObject>(object: serde_json::Value) -> Folded {
    let object: O = serde_json::from_value(object).expect("the sample is JSON");
    object.fold(&mut Folder::default()).expect("it folds")
}

fn workload(folded: Folded) -> Workload {
    match folded {
        Folded::Row(Row::Workload(row)) => *row,
        other => panic!("{other:?} is no workload"),
    }
}

fn object(spec: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({"metadata": {"name": "w", "namespace": "n", "uid": "u", "generation": 7,
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "c"},
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "o", "controller": true,
             "blockOwnerDeletion": true}]},
        "spec": spec})
}

fn template() -> serde_json::Value {
    serde_json::json!({"spec": {"volumes": [
        {"name": "b", "persistentVolumeClaim": {"claimName": "b"}},
        {"name": "a", "persistentVolumeClaim": {"claimName": "a"}},
        {"name": "again", "persistentVolumeClaim": {"claimName": "a"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "none", "emptyDir": {}}]}})
}

#[test]
fn claims_in_any_template_are_found() {
    let claims = [Box::from("a"), Box::from("b")];
    let controller = OwnerReference {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        name: "d".into(),
        uid: Uid::parse("o"),
        controller: true,
        blocks_deletion: true,
    };
    let replicated = object(&serde_json::json!({"replicas": 0, "template": template()}));
    let job = serde_json::json!({"template": template(), "suspend": true});
    let cron =
        serde_json::json!({"suspend": true, "jobTemplate": {"spec": {"template": template()}}});
    for (kind, row) in [
        (Kind::Deployment, read::<Deployment>(replicated.clone())),
        (Kind::ReplicaSet, read::<ReplicaSet>(replicated.clone())),
        (Kind::ReplicationController, read::<ReplicationController>(replicated.clone())),
        (Kind::DaemonSet, read::<DaemonSet>(replicated.clone())),
        (Kind::StatefulSet, read::<StatefulSet>(replicated)),
        (Kind::Job, read::<Job>(object(&job))),
        (Kind::CronJob, read::<CronJob>(object(&cron))),
    ] {
        let row = workload(row);
        assert_eq!(row.kind, kind);
        assert_eq!(*row.claims, claims, "{kind}");
        assert_eq!(row.controller.as_deref(), Some(&controller), "{kind}");
        assert_eq!(row.suspended, matches!(kind, Kind::Job | Kind::CronJob), "{kind}");
        let scaled = !matches!(kind, Kind::DaemonSet | Kind::Job | Kind::CronJob);
        assert_eq!(row.replicas, scaled.then_some(0), "{kind}");
    }
    assert_eq!(read::<Deployment>(object(&serde_json::json!({"replicas": 1}))), Folded::Counted);
}

#[test]
fn a_finished_job_says_so() {
    for (condition, status, finished) in [
        ("Complete", "True", true),
        ("Failed", "True", true),
        ("Complete", "False", false),
        ("Suspended", "True", false),
    ] {
        let mut job = object(&serde_json::json!({"template": template()}));
        job["status"] = serde_json::json!({"conditions": [{"type": condition, "status": status}]});
        assert_eq!(workload(read::<Job>(job)).finished, finished, "{condition} {status}");
    }
}

#[test]
fn a_set_is_kept_with_everything_that_decides_over_its_claims() {
    let mut set = object(&serde_json::json!({
        "selector": {"matchLabels": {"app": "web"}},
        "ordinals": {"start": 3},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}}}}],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Sometimes"}}));
    set["status"] = serde_json::json!({"observedGeneration": 6, "replicas": 2});
    let set = workload(read::<StatefulSet>(set)).set.expect("it is a set");
    assert_eq!((set.replicas, set.start, set.pods), (None, 3, 2));
    assert_eq!((set.generation, set.observed_generation), (7, 6));
    assert_eq!(set.templates.len(), 1);
    assert_eq!(&*set.templates[0].name, "data");
    assert_eq!(set.templates[0].requested, Some(1 << 30));
    let policy = set.retention.expect("it has a policy");
    assert_eq!(policy.when_deleted, Retention::Delete);
    assert_eq!(policy.when_scaled, Retention::Other("Sometimes".into()));
    let bare = workload(read::<StatefulSet>(object(&serde_json::json!({})))).set;
    assert_eq!(bare.and_then(|set| set.retention), None, "nothing is made up");
}

#[test]
fn pods_of_sets_are_kept_and_orphans_keep_their_labels() {
    let pod = |owners: serde_json::Value| {
        serde_json::json!({"metadata": {"name": "web-0", "namespace": "n", "labels": {"app": "web"},
            "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0,
            "ownerReferences": owners}, "spec": {}})
    };
    let set = serde_json::json!([{"kind": "StatefulSet", "name": "web", "controller": true}]);
    let Folded::Row(Row::Pod(row)) = read::<Pod>(pod(set)) else { panic!("it is kept") };
    assert!(row.is_shut_down() && row.labels.is_empty());
    assert_eq!(row.controller.as_ref().map(|it| &*it.name), Some("web"));
    assert_eq!(read::<Pod>(pod(serde_json::json!([]))), Folded::Counted);
}

#[test]
fn who_scales_and_who_snapshots() {
    let scaler =
        object(&serde_json::json!({"scaleTargetRef": {"kind": "StatefulSet", "name": "web"}}));
    let Folded::Row(Row::Autoscaler(row)) = read::<HorizontalPodAutoscaler>(scaler) else {
        panic!("it is kept")
    };
    assert_eq!((&*row.target_kind, &*row.target_name), ("StatefulSet", "web"));
    let mut snapshot =
        object(&serde_json::json!({"source": {"persistentVolumeClaimName": "data"}}));
    snapshot["status"] = serde_json::json!({"boundVolumeSnapshotContentName": "c", "readyToUse": false,
        "error": {"message": "no"}});
    let Folded::Row(Row::VolumeSnapshot(row)) = read::<VolumeSnapshot>(snapshot) else {
        panic!("it is kept")
    };
    let got =
        (row.source_claim.as_deref(), row.content.as_deref(), row.ready, row.error.as_deref());
    assert_eq!(got, (Some("data"), Some("c"), false, Some("no")));
    let class = serde_json::json!({"metadata": {"name": "gold"}, "driverName": "d.example"});
    let Folded::Row(Row::AttributesClass(row)) = read::<VolumeAttributesClass>(class) else {
        panic!("it is kept")
    };
    assert_eq!(&*row.driver, "d.example");
}

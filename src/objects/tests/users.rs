//! The rows of workloads, pods and autoscalers that use claims, from JSON. The scenarios read their
//! protobuf from a real server.

use super::*;
use crate::model::{OwnerReference, Retention, Workload};

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

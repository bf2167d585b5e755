//! The fields that slim types store, and those that they do not.

use proptest::prelude::*;
use serde_json::{Map, Value, json as object};

use super::super::any::every_kind;
use super::*;
use crate::model::{SnapshotSource, VolumeSource};

/// A volume with every source at once, which no API server would accept, has Kubernetes' tags and
/// names.
#[test]
fn every_volume_source_is_read_alike() {
    let (text, protobuf) = sample!("volume_every_source");
    let from_json: PersistentVolume = serde_json::from_str(text).expect("the sample is JSON");
    let upstream =
        PersistentVolume::decode(protobuf.expect("there is one")).expect("it is protobuf");
    assert_eq!(from_json.spec, upstream.spec);
    let written: Value = serde_json::to_value(&upstream).expect("it can be written");
    let given: Value = serde_json::from_str(text).expect("the sample is JSON");
    for (field, value) in written["spec"].as_object().expect("it is an object") {
        assert!(given["spec"].get(field).is_some(), "{field}: {value}");
    }
    assert_eq!(written["spec"].as_object().map(serde_json::Map::len), Some(23));
    folded::<PersistentVolume>((text, protobuf));
}

#[test]
fn sources_without_an_identity_are_known_by_name() {
    for field in ["quobyte", "photonPersistentDisk", "scaleIO", "storageos"] {
        let volume: PersistentVolume =
            json(object!({"metadata": {"name": "v"}, "spec": {field: {"image": "i"}}}));
        let Folded::Row(Row::Volume(row)) = fold(&volume) else { panic!("a volume") };
        assert_eq!((row.source, row.backend), (VolumeSource::InTree(field.into()), None));
    }
}

#[test]
fn nothing_private_or_large_is_kept() {
    let (text, _) = sample!("volume");
    let volume: PersistentVolume = serde_json::from_str(text).expect("the sample is JSON");
    let written = serde_json::to_string(&volume).expect("it can be written");
    for dropped in ["do not keep", "last-applied", "zzz", "f:labels", "kubectl-label"] {
        assert!(!written.contains(dropped), "{dropped} in {written}");
    }
    assert!(written.contains(r#""fsType":"ext4""#), "{written}");
    let (text, _) = sample!("pod");
    let pod: Pod = serde_json::from_str(text).expect("the sample is JSON");
    let written = serde_json::to_string(&pod).expect("it can be written");
    assert!(!written.contains("never keep this") && !written.contains("AWS_SECRET"), "{written}");
}

#[test]
fn of_command_lines_only_known_flags_of_drivers_are_kept() {
    let container = |name: &str, image: &str| {
        object!({"name": name, "image": image,
            "command": ["mysql", "-psecret", "sh", "-c", "run --password secret $(SECRET)"],
            "args": ["--password", "secret", "--token=secret", "secret", "--drivername=disk.example.com",
                "-provisioner", "example.com/nfs", "--leader-election", "secret",
                "--default-ondelete-policy", "retain", "--feature-gates=HonorPVReclaimPolicy=true", "--node-deployment=true"],
            "env": [{"name": "PASSWORD", "value": "secret"}]})
    };
    let template = |containers: &Value| {
        let labels = object!({"label": "secret"});
        object!({"metadata": {"labels": labels, "annotations": {"a": "secret"}},
            "spec": {"containers": containers, "initContainers": containers,
                "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]}})
    };
    let saved = |kind: Kind, containers: &Value| {
        let mut object =
            object!({"metadata": {"name": "x", "namespace": "n", "annotations": {"a": "secret"}}});
        let template = template(containers);
        match kind {
            Kind::Pod => {
                object["spec"] = template["spec"].clone();
                object["metadata"]["labels"] = template["metadata"]["labels"].clone();
                object["metadata"]["ownerReferences"] =
                    object!([{"kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true}]);
            }
            Kind::CronJob => object["spec"]["jobTemplate"]["spec"]["template"] = template,
            _ => object["spec"]["template"] = template,
        }
        let decoding = decoding(kind).expect("it has rows");
        let decoded = (decoding.json)(&object.to_string()).expect("it decodes");
        decoded.to_json(kind.group().version).expect("it is written").get().to_owned()
    };
    for kind in Kind::WORKLOADS.into_iter().chain([Kind::Pod, Kind::StatefulSet]) {
        let plain = saved(kind, &object!([container("db", "mysql:8")]));
        assert!(!plain.contains("secret") && !plain.contains("--"), "{kind}: {plain}");
        let sidecar =
            container("csi-provisioner", "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0");
        let driver = saved(kind, &object!([container("db", "mysql:8"), sidecar]));
        assert!(!driver.contains("secret"), "{kind}: {driver}");
        let kept = r#""args":["--drivername=disk.example.com","-provisioner=example.com/nfs","--leader-election","--default-ondelete-policy=retain","--feature-gates=HonorPVReclaimPolicy=true","--node-deployment=true"]"#;
        assert!(driver.contains(kept), "{kind}: {driver}");
        // A line of a shell with a variable may hold any flag: that is remembered.
        assert!(driver.contains(r#""command":["$"]"#), "{kind}: {driver}");
    }
}

#[test]
fn managed_fields_come_out_in_the_shape_of_kubernetes() {
    let (text, _) = sample!("volume");
    let volume: PersistentVolume = serde_json::from_str(text).expect("the sample is JSON");
    let written = serde_json::to_value(&volume).expect("it can be written");
    assert_eq!(
        written["metadata"]["managedFields"],
        object!([
            {
                "manager": "csi-provisioner", "operation": "Update",
                "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:finalizers": {
                        "v:\"external-attacher/ebs-csi-aws-com\"": {},
                        "v:\"kubernetes.io/pv-protection\"": {},
                    }},
                    "f:spec": {"f:persistentVolumeReclaimPolicy": {}},
                },
            },
            {
                "manager": "kube-controller-manager", "operation": "Update",
                "time": "2026-01-02T03:05:00Z", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:status": {"f:phase": {}, "f:lastPhaseTransitionTime": {}}},
                "subresource": "status",
            },
        ])
    );
}

#[test]
fn pods_and_workloads_without_storage_are_counted() {
    let spec = object!({"containers": [{"image": "nginx", "args": ["csi-provisioner"]}],
                        "volumes": [{"name": "h", "configMap": {"name": "c"}}, {"name": "e", "emptyDir": {}}]});
    let metadata = object!({"name": "web", "namespace": "default"});
    let pod: Pod = json(object!({"metadata": metadata, "spec": spec}));
    assert_eq!(fold(&pod), Folded::Counted);
    let deployment: Deployment =
        json(object!({"metadata": metadata, "spec": {"template": {"spec": spec}}}));
    assert_eq!(fold(&deployment), Folded::Counted);
    let event: Event = json(object!({"metadata": metadata, "involvedObject": {"kind": "Pod"}}));
    assert_eq!(fold(&event), Folded::Counted);
    assert_eq!(
        pod.key(&mut Folder::default()).map(|key| key.to_string()),
        Ok("po/default/web".into())
    );
}

#[test]
fn native_sidecars_are_sidecars() {
    for image in ["csi-provisioner", "r/kube-controller-manager:v1", "h:5/x/csi-attacher@sha256:0"]
    {
        let pod: Pod = json(object!({
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {"initContainers": [{"image": image, "restartPolicy": "Always"}]},
        }));
        assert!(matches!(fold(&pod), Folded::Row(Row::Pod(_))), "{image}");
    }
    for image in ["csi-metrics", "csi-provisioner/web", "", ":", "@"] {
        let pod: Pod = json(object!({
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {"containers": [{"image": image}]},
        }));
        assert_eq!(fold(&pod), Folded::Counted, "{image}");
    }
}

#[test]
fn snapshots_of_snapshots_name_no_volume() {
    let existing: VolumeSnapshotContent = json(object!({
        "metadata": {"name": "s"}, "spec": {"source": {"snapshotHandle": "snap-1"}}, "status": null,
    }));
    let Folded::Row(Row::Snapshot(row)) = fold(&existing) else { panic!("a snapshot") };
    assert_eq!(row.source, SnapshotSource::Existing);
    let existing: VolumeGroupSnapshotContent = json(object!({
        "metadata": {"name": "s"},
        "spec": {"source": {"groupSnapshotHandles": {"volumeGroupSnapshotHandle": "g"}}},
    }));
    let Folded::Row(Row::Snapshot(row)) = fold(&existing) else { panic!("a snapshot") };
    assert_eq!(row.source, SnapshotSource::Existing);
}

#[test]
fn leases_let_go_have_no_holder() {
    let lease: Lease = json(object!({
        "metadata": {"name": "l", "namespace": "n"},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": null},
    }));
    let Folded::Row(Row::Lease(row)) = fold(&lease) else { panic!("a lease") };
    assert_eq!((row.holder, row.renewed), (None, None));
}

#[test]
fn rows_share_what_they_repeat() {
    let (text, _) = sample!("volume");
    let volume: PersistentVolume = serde_json::from_str(text).expect("the sample is JSON");
    let mut folder = Folder::default();
    let mut affinity = || match volume.fold(&mut folder) {
        Ok(Folded::Row(Row::Volume(row))) => row.node_affinity.expect("it has one"),
        other => panic!("{other:?}"),
    };
    assert!(Arc::ptr_eq(&affinity(), &affinity()));
}

#[test]
fn metadata_alone_can_be_read_of_any_kind() {
    let secret =
        r#"{"kind": "Secret", "metadata": {"name": "s", "uid": "u"}, "data": {"k": "djE="}}"#;
    let partial: PartialObjectMetadata = serde_json::from_str(secret).expect("it is JSON");
    assert_eq!(partial.metadata.name, "s");
    assert_eq!(PartialObjectMetadata::decode(&*partial.encode_to_vec()), Ok(partial));
}

/// Names of fields, so that random objects reach deep into the types.
const NAMES: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "pv.kubernetes.io/provisioned-by",
    "ownerReferences",
    "finalizers",
    "managedFields",
    "manager",
    "time",
    "fieldsV1",
    "f:status",
    "f:phase",
    "f:metadata",
    "f:finalizers",
    "v:\"a\"",
    "v:x",
    "capacity",
    "storage",
    "csi",
    "driver",
    "volumeHandle",
    "volumeAttributes",
    "hostPath",
    "path",
    "gcePersistentDisk",
    "pdName",
    "awsElasticBlockStore",
    "volumeID",
    "fc",
    "nodeAffinity",
    "required",
    "nodeSelectorTerms",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "claimRef",
    "volumes",
    "containers",
    "image",
    "args",
    "template",
    "conditions",
    "type",
    "phase",
    "source",
    "renewTime",
    "involvedObject",
    "kind",
    "series",
    "lastObservedTime",
    "resources",
    "requests",
    "inlineVolumeSpec",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(
            &[
                "2026-01-02T03:04:05Z",
                "0001-01-01T00:00:00Z",
                "2016-12-31T23:59:60Z",
                "1969-12-31T23:59:59.5Z",
                "10Gi",
                "1e40",
                "csi-provisioner",
                "aws://",
                "aws://a/vol-1",
                "PersistentVolume",
                "In",
            ][..]
        )
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(7, 96, 6, |inner| {
        let name = prop_oneof![
            8 => prop::sample::select(NAMES).prop_map(str::to_owned),
            1 => ".{0,8}",
        ];
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::vec((name, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Reads the value as one kind; if it decodes, every encoding must agree.
fn read<O: SlimObject + PartialEq + std::fmt::Debug>(value: &Value) {
    let Ok(object) = serde_json::from_value::<O>(value.clone()) else { return };
    let folded = object.fold(&mut Folder::default());
    let again = O::decode(&*object.encode_to_vec()).expect("what is written can be read");
    assert_eq!(again, object);
    let written = serde_json::to_string(&object).expect("it can be written");
    let again: O = serde_json::from_str(&written).expect("what is written can be read");
    assert_eq!(again, object, "{written}");
    assert_eq!(again.fold(&mut Folder::default()), folded);
}

fn read_all(value: &Value) {
    macro_rules! read_kinds {
        ($($kind:ident)*) => { $(read::<$kind>(value);)* };
    }
    every_kind!(read_kinds);
    read::<Namespace>(value);
}

/// Puts a random value somewhere into a valid object.
fn damage(target: &mut Value, steps: &[prop::sample::Index], value: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *target = value;
        return;
    };
    let inner = match target {
        Value::Object(map) if !map.is_empty() => {
            let at = step.index(map.len());
            map.values_mut().nth(at)
        }
        Value::Array(list) if !list.is_empty() => {
            let at = step.index(list.len());
            list.get_mut(at)
        }
        _ => None,
    };
    match inner {
        Some(inner) => damage(inner, rest, value),
        None => *target = value,
    }
}

proptest! {
    #[test]
    fn random_values(value in value()) {
        read_all(&value);
    }

    #[test]
    fn damaged_samples(
        which in any::<prop::sample::Index>(),
        steps in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        value in value(),
    ) {
        let samples = [
            sample!("volume"), sample!("volume_every_source"), sample!("claim"), sample!("pod"),
            sample!("node"), sample!("attachment_inline"), sample!("lease"), sample!("event"),
        ];
        let mut object: Value = serde_json::from_str(samples[which.index(samples.len())].0).expect("a sample");
        damage(&mut object, &steps, value);
        read_all(&object);
    }

    #[test]
    fn damaged_protobuf(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        end in any::<prop::sample::Index>(),
    ) {
        let samples = [sample!("volume"), sample!("pod"), sample!("claim"), sample!("event")];
        let mut bytes = samples[which.index(samples.len())].1.expect("a sample").to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(bytes.len() - end.index(bytes.len()) / 8);
        let folder = &mut Folder::default();
        let _ = PersistentVolume::decode(&*bytes).map(|object| object.fold(folder));
        let _ = Pod::decode(&*bytes).map(|object| object.fold(folder));
        let _ = PersistentVolumeClaim::decode(&*bytes).map(|object| object.fold(folder));
        let _ = Event::decode(&*bytes).map(|object| object.fold(folder));
    }
}

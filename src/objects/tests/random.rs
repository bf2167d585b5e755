//! Random and damaged objects: decoding never panics, and what decodes can be written and read
//! again.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;
use crate::objects::any::every_kind;

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

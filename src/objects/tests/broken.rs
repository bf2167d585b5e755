//! Invalid objects: each gives an error that names the field, or a type error of the decoder.

use serde_json::{Value, json as object};

use super::*;
use crate::objects::scalar::Timestamp;

fn problem<O: SlimObject>(value: Value) -> String {
    let object: O = json(value);
    let error = object.fold(&mut Folder::default()).expect_err("it is broken");
    // It stays broken in a dump, and in protobuf.
    let written = serde_json::to_value(&object).expect("it can be written");
    let again = json::<O>(written).fold(&mut Folder::default());
    assert_eq!(again, Err(error.clone()));
    let again = O::decode(&*object.encode_to_vec()).expect("it is protobuf");
    assert_eq!(again.fold(&mut Folder::default()), Err(error.clone()));
    error.to_string()
}

#[test]
fn a_time_or_quantity_that_does_not_parse_is_named() {
    for (value, error) in [
        (
            object!({"metadata": {"name": "v", "creationTimestamp": "yesterday"}}),
            r#"pv/v: metadata.creationTimestamp is "yesterday", not an RFC 3339 time"#,
        ),
        (
            object!({"metadata": {"name": "v", "deletionTimestamp": ""}}),
            r#"pv/v: metadata.deletionTimestamp is "", not an RFC 3339 time"#,
        ),
        (
            object!({"metadata": {"name": "v", "deletionTimestamp": 1_700_000_000}}),
            r#"pv/v: metadata.deletionTimestamp is "1700000000", not an RFC 3339 time"#,
        ),
        (
            object!({"metadata": {"name": "v"}, "status": {"lastPhaseTransitionTime": "2026-13-01T00:00:00Z"}}),
            r#"pv/v: status.lastPhaseTransitionTime is "2026-13-01T00:00:00Z", not an RFC 3339 time"#,
        ),
        (
            object!({"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "ten"}}}),
            r#"pv/v: spec.capacity.storage is "ten", not a quantity of bytes"#,
        ),
        (
            object!({"metadata": {"name": "v"}, "spec": {"capacity": {"storage": null}}}),
            r#"pv/v: spec.capacity.storage is "null", not a quantity of bytes"#,
        ),
        (
            object!({"metadata": {"name": "v", "managedFields": [{"manager": "m", "time": "x", "fieldsV1": {"f:status": {"f:phase": {}}}}]}}),
            r#"pv/v: metadata.managedFields[].time is "x", not an RFC 3339 time"#,
        ),
    ] {
        assert_eq!(problem::<PersistentVolume>(value), error);
    }
    let claim = object!({"metadata": {"name": "c", "namespace": "n"}, "spec": {"resources": {"requests": {"storage": "-1Gi"}}}});
    assert_eq!(
        problem::<PersistentVolumeClaim>(claim),
        r#"pvc/n/c: spec.resources.requests.storage is "-1Gi", not a quantity of bytes"#
    );
    let lease = object!({"metadata": {"name": "l", "namespace": "n"}, "spec": {"renewTime": true}});
    assert_eq!(
        problem::<Lease>(lease),
        r#"lease/n/l: spec.renewTime is "true", not an RFC 3339 time"#
    );
    let pod = object!({"metadata": {"name": "p", "namespace": "n", "deletionTimestamp": "soon"}});
    assert!(problem::<Pod>(pod).starts_with("po/n/p: metadata.deletionTimestamp"));
}

#[test]
fn objects_must_say_who_they_are() {
    assert_eq!(
        problem::<PersistentVolume>(object!({})),
        "a PersistentVolume without metadata.name"
    );
    assert_eq!(
        problem::<Pod>(object!({"metadata": {"namespace": "n"}})),
        "a Pod without metadata.name"
    );
    assert_eq!(
        problem::<Pod>(object!({"metadata": {"name": "p"}})),
        "po/p has no metadata.namespace"
    );
}

#[test]
fn times_in_protobuf_are_checked_too() {
    let mut volume: PersistentVolume = json(object!({"metadata": {"name": "v"}}));
    volume.metadata.creation_timestamp = Timestamp { seconds: i64::MAX, nanos: 0, unparsed: None };
    let error = volume.fold(&mut Folder::default()).expect_err("beyond the calendar");
    assert!(error.to_string().contains("metadata.creationTimestamp"), "{error}");
    volume.metadata.creation_timestamp = Timestamp { seconds: 5, nanos: -1, unparsed: None };
    assert!(volume.fold(&mut Folder::default()).is_err());
    volume.metadata.creation_timestamp =
        Timestamp { seconds: -62_135_596_800, ..Timestamp::default() };
    assert!(volume.fold(&mut Folder::default()).is_ok(), "Go's zero time is none");
}

#[test]
fn null_is_nothing_everywhere() {
    let of = |spec: Value, status: Value| {
        object!({"metadata": {
            "name": "x", "namespace": "n", "uid": null, "resourceVersion": null,
            "creationTimestamp": null, "deletionTimestamp": null, "labels": null,
            "annotations": null, "ownerReferences": null, "finalizers": null, "managedFields": null,
        }, "spec": spec, "status": status})
    };
    let both = |spec: &Value, status: &Value| {
        [of(spec.clone(), status.clone()), of(Value::Null, Value::Null)]
    };
    let spec = object!({"capacity": null, "csi": null, "hostPath": null, "claimRef": null, "rbd": null,
        "persistentVolumeReclaimPolicy": null, "storageClassName": null, "nodeAffinity": {"required": null}});
    let status = object!({"phase": null, "message": null, "lastPhaseTransitionTime": null});
    let bare: PersistentVolume = json(object!({"metadata": {"name": "x", "namespace": "n"}}));
    for value in both(&spec, &status) {
        assert_eq!(json::<PersistentVolume>(value), bare);
    }
    let spec = object!({"volumes": null, "containers": null, "initContainers": null, "nodeName": null,
        "serviceAccountName": null});
    let status = object!({"phase": null, "conditions": null});
    for value in both(&spec, &status) {
        assert_eq!(fold(&json::<Pod>(value)), Folded::Counted);
    }
    let spec =
        object!({"resources": {"requests": null}, "volumeName": null, "storageClassName": null});
    for value in both(&spec, &status) {
        let Folded::Row(Row::Claim(row)) = fold(&json::<PersistentVolumeClaim>(value)) else {
            panic!("a claim")
        };
        assert_eq!(row.class, None, "null is not the empty class");
    }
    let spec = object!({"volumes": [{"name": null, "hostPath": null, "persistentVolumeClaim": null, "ephemeral": null}],
        "containers": [{"image": null, "command": null, "args": null}]});
    assert_eq!(fold(&json::<Pod>(of(spec, Value::Null))), Folded::Counted);
}

#[test]
fn wrong_types_are_errors_not_absences() {
    for value in [
        object!({"metadata": {"name": 5}}),
        object!({"metadata": "v"}),
        object!({"metadata": {"name": "v", "labels": "app"}}),
        object!({"metadata": {"name": "v", "finalizers": "one"}}),
        object!({"metadata": {"name": "v", "annotations": {"pv.kubernetes.io/provisioned-by": 1}}}),
        object!({"metadata": {"name": "v", "deletionTimestamp": {}}}),
        object!({"metadata": {"name": "v", "managedFields": {}}}),
        object!({"spec": {"csi": "x"}}),
        object!({"spec": {"rbd": 1}}),
        object!({"spec": {"capacity": {"storage": {}}}}),
        object!({"spec": {"claimRef": "ns/name"}}),
        object!("text"),
        object!(null),
    ] {
        assert!(serde_json::from_value::<PersistentVolume>(value.clone()).is_err(), "{value}");
    }
}

#[test]
fn managed_fields_that_cannot_be_read_are_an_error() {
    let entry = |raw: &[u8]| {
        // Tag 17, an entry, with tag 7, the set, with tag 1, its JSON.
        let wrap = |tag: u8, inner: &[u8]| {
            let mut out = vec![tag << 3 | 2];
            prost::encoding::encode_varint(inner.len() as u64, &mut out);
            out.extend_from_slice(inner);
            out
        };
        let mut metadata = vec![0x8a, 0x01];
        let set = wrap(7, &wrap(1, raw));
        prost::encoding::encode_varint(set.len() as u64, &mut metadata);
        metadata.extend_from_slice(&set);
        ManagedMeta::decode(&*metadata)
    };
    assert!(entry(br#"{"f:status":{"f:phase":{}}}"#).is_ok());
    assert!(entry(b"not JSON, and nothing that matters").is_ok());
    let error = entry(br#"{"f:status":{"f:phase":"#).expect_err("it ends early");
    assert!(error.to_string().contains("metadata.managedFields[].fieldsV1"), "{error}");
    // In a buffer of two pieces.
    let whole = json::<PersistentVolume>(object!({"metadata": {"name": "v", "managedFields": [
        {"manager": "m", "fieldsV1": {"f:status": {"f:phase": {}}}}]}}));
    let bytes = whole.encode_to_vec();
    for middle in 0..bytes.len() {
        let (first, second) = bytes.split_at(middle);
        assert_eq!(PersistentVolume::decode(bytes::Buf::chain(first, second)).as_ref(), Ok(&whole));
        assert!(PersistentVolume::decode(first).is_err() || first.len() < bytes.len());
    }
}

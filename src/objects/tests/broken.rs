//! Invalid objects: what of them is unknown, how far that reaches, and what the user is told.

use serde_json::{Value, json as object};

use super::super::slim::Timestamp;
use super::*;
use crate::cluster::Doubt;
use crate::damage::hold;

/// What of an object could not be read, and its row.
fn odd<O: SlimObject>(value: &Value) -> (Doubt, String, Folded) {
    let read = |text: &str| {
        let object = (decoding_of::<O>().json)(text).expect("its names can be read");
        let reduced = Reduced::of(&*object, &mut Folder::default(), Some("v1"));
        let odd = reduced.odd.expect("it is odd");
        let document = reduced.document.expect("it is saved").expect("it can be written");
        let folded = object.fold(&mut Folder::default()).expect("it has names");
        (odd.doubt, odd.reason, folded, document)
    };
    let (doubt, reason, folded, document) = read(&value.to_string());
    // It stays odd in a dump.
    let (again, _, refolded, _) = read(document.get());
    assert_eq!((again, &refolded), (doubt, &folded), "{document}");
    (doubt, reason, folded)
}

#[test]
fn a_time_or_quantity_that_does_not_parse_is_unknown_and_named() {
    for (value, error) in [
        (
            object!({"metadata": {"creationTimestamp": "yesterday"}}),
            r#"metadata.creationTimestamp is "yesterday", not an RFC 3339 time"#,
        ),
        (
            object!({"metadata": {"deletionTimestamp": ""}}),
            r#"metadata.deletionTimestamp is "", not an RFC 3339 time"#,
        ),
        (
            object!({"metadata": {"deletionTimestamp": {"a": [1]}}}),
            r#"metadata.deletionTimestamp is "an object", not an RFC 3339 time"#,
        ),
        (
            object!({"status": {"lastPhaseTransitionTime": "2026-13-01T00:00:00Z"}}),
            r#"status.lastPhaseTransitionTime is "2026-13-01T00:00:00Z", not an RFC 3339 time"#,
        ),
        (
            object!({"spec": {"capacity": {"storage": null}}}),
            r#"spec.capacity.storage is "null", not a quantity of bytes"#,
        ),
        (
            object!({"spec": {"capacity": {"storage": "1e40"}}}),
            r#"spec.capacity.storage is "1e40", not a quantity of bytes"#,
        ),
        (
            object!({"metadata": {"managedFields": [{"manager": "m", "time": "x", "fieldsV1": {"f:status": {"f:phase": {}}}}]}}),
            r#"metadata.managedFields[].time is "x", not an RFC 3339 time"#,
        ),
    ] {
        let mut volume = value;
        volume["metadata"]["name"] = "v".into();
        volume["spec"]["accessModes"] = object!(["ReadWriteOnce"]);
        let (doubt, reason, folded) = odd::<PersistentVolume>(&volume);
        assert_eq!((doubt, &*reason), (Doubt::Field, &*format!("pv/v: {error}")));
        let Folded::Row(Row::Volume(row)) = folded else { panic!("no volume: {folded:?}") };
        // That it is Terminating is known, and that somebody changed its phase.
        let deleting = volume["metadata"]["deletionTimestamp"].is_null();
        assert_eq!(row.metadata.deleting.is_none(), deleting);
        assert_eq!(
            (row.metadata.created, row.capacity, row.last_phase_transition),
            (None, None, None)
        );
        let changed = row.metadata.last_change(&ManagedField::Phase);
        assert!(changed.is_none_or(|it| it == crate::model::UNREADABLE_TIME), "{changed:?}");
    }
    let set = object!({"metadata": {"name": "s", "namespace": "n"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "volumeClaimTemplates": [
            {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "-1Gi"}}}}]}});
    let (doubt, reason, folded) = odd::<StatefulSet>(&set);
    let field = "spec.volumeClaimTemplates[].spec.resources.requests.storage";
    assert_eq!(reason, format!(r#"sts/n/s: {field} is "-1Gi", not a quantity of bytes"#));
    assert_eq!(doubt, Doubt::Field);
    let Folded::Row(Row::Workload(row)) = folded else { panic!("no set: {folded:?}") };
    let templates = &row.set.expect("a set").templates;
    assert_eq!((&*templates[0].name, templates[0].requested), ("data", None));
    let lease = object!({"metadata": {"name": "l", "namespace": "n"}, "spec": {"renewTime": true}});
    let (_, reason, folded) = odd::<Lease>(&lease);
    assert_eq!(reason, r#"lease/n/l: spec.renewTime is "true", not an RFC 3339 time"#);
    let Folded::Row(Row::Lease(row)) = folded else { panic!("no Lease: {folded:?}") };
    assert_eq!(
        row.renewed,
        Some(crate::model::UNREADABLE_TIME),
        "it is not one that was never renewed"
    );
}

#[test]
fn a_number_below_zero_is_in_doubt_for_its_set_alone() {
    for (field, spec) in [
        ("spec.replicas is -1", object!({"replicas": -1})),
        ("spec.ordinals.start is -5", object!({"replicas": 2, "ordinals": {"start": -5}})),
    ] {
        let set = object!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec});
        let (doubt, reason, _) = odd::<StatefulSet>(&set);
        assert_eq!((doubt, reason), (Doubt::Object, format!("sts/n/s: {field}, less than zero")));
    }
}

#[test]
fn what_is_of_another_type_is_in_doubt_as_far_as_it_reaches() {
    let volume = |path: &str, value: Value| {
        let mut volume = object!({"metadata": {"name": "v", "finalizers": ["a"], "labels": {"a": "b"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                "claimRef": {"name": "c", "namespace": "n"},
                "csi": {"driver": "d", "volumeHandle": "h"}},
            "status": {"phase": "Bound"}});
        *volume.pointer_mut(path).expect("it is there") = value;
        odd::<PersistentVolume>(&volume)
    };
    for (path, value, doubt, what) in [
        (
            "/metadata/finalizers",
            object!("one"),
            Doubt::Object,
            r#"metadata.finalizers is the text "one", not a list"#,
        ),
        (
            "/metadata/finalizers/0",
            object!(null),
            Doubt::Object,
            "metadata.finalizers[0] is null, not a text",
        ),
        (
            "/metadata/labels",
            object!("app"),
            Doubt::Kind,
            r#"metadata.labels is the text "app", not an object"#,
        ),
        ("/status", object!([["Bound"]]), Doubt::Kind, "status is a list, not an object"),
        ("/status/phase", object!({}), Doubt::Object, "status.phase is an object, not a text"),
        ("/spec/csi", object!([]), Doubt::Kind, "spec.csi is a list, not an object"),
        (
            "/spec/csi/volumeHandle",
            object!(5),
            Doubt::Kind,
            "spec.csi.volumeHandle is the number 5, not a text",
        ),
        (
            "/spec/claimRef",
            object!("n/c"),
            Doubt::Kind,
            r#"spec.claimRef is the text "n/c", not an object"#,
        ),
        (
            "/spec/accessModes",
            object!([1]),
            Doubt::Object,
            "spec.accessModes[0] is the number 1, not a text",
        ),
    ] {
        let (found, reason, _) = volume(path, value);
        assert_eq!((found, reason), (doubt, format!("pv/v: {what}")), "{path}");
    }
    let pod = |volumes: Value| {
        object!({"metadata": {"name": "p", "namespace": "n"},
        "spec": {"containers": [{"image": "i"}], "volumes": volumes}})
    };
    for (volumes, doubt) in [
        (object!([{"persistentVolumeClaim": {"claimName": ["a"]}}]), Doubt::Namespace),
        (object!([{"nfs": {"server": 5, "path": "/"}}]), Doubt::Kind),
        (object!([["a", {"persistentVolumeClaim": {"claimName": "a"}}]]), Doubt::Kind),
    ] {
        assert_eq!(odd::<Pod>(&pod(volumes.clone())).0, doubt, "{volumes}");
    }
}

#[test]
fn what_was_cut_out_of_an_object_makes_it_unread() {
    for (cut, what) in [
        (
            odd::<Pod>(&object!({"metadata": {"name": "p", "namespace": "n"}})),
            "po/n/p: it has no spec.containers",
        ),
        (
            odd::<Pod>(&object!({"metadata": {"name": "p", "namespace": "n"}, "spec": []})),
            "po/n/p: spec is a list",
        ),
        (odd::<PersistentVolume>(&object!({"metadata": {"name": "v"}})), "pv/v: it has no spec"),
        (
            odd::<Deployment>(&object!({"metadata": {"name": "d", "namespace": "n"}, "spec": {}})),
            "deploy/n/d: it has no template",
        ),
    ] {
        assert_eq!(cut.0, Doubt::Kind);
        assert!(cut.1.starts_with(what), "{}", cut.1);
    }
}

fn problem<O: SlimObject>(value: Value) -> String {
    json::<O>(value).fold(&mut Folder::default()).expect_err("it has no name").to_string()
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
    let mut volume: PersistentVolume = json(object!({"metadata": {"name": "v"},
        "spec": {"accessModes": ["ReadWriteOnce"]}}));
    for (seconds, nanos, is_odd) in [
        (i64::MAX, 0, true),
        (i64::MIN, 0, true),
        // The year 10000, which no text of RFC 3339 can express.
        (253_402_300_800, 0, true),
        (5, -1, true),
        // Go's zero time is none.
        (-62_135_596_800, 0, false),
        (5, 0, false),
    ] {
        volume.metadata.creation_timestamp = Timestamp { seconds, nanos, unparsed: None };
        let bytes = volume.encode_to_vec();
        let object = (decoding_of::<PersistentVolume>().protobuf)(&bytes).expect("it is protobuf");
        let reduced = Reduced::of(&*object, &mut Folder::default(), None);
        let odd =
            reduced.odd.map(|it| (it.doubt, it.reason.contains("metadata.creationTimestamp")));
        assert_eq!(odd, is_odd.then_some((Doubt::Field, true)), "{seconds} {nanos}");
    }
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
        object!({"metadata": {"name": "v", "managedFields": {}}}),
        object!({"spec": {"csi": "x"}}),
        object!({"spec": {"rbd": 1}}),
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

/// Objects as the API server sends them, damaged.
#[test]
fn damaged_objects_are_read_or_refused() {
    let samples = [
        (Kind::PersistentVolume, sample!("volume")),
        (Kind::PersistentVolume, sample!("volume_every_source")),
        (Kind::PersistentVolumeClaim, sample!("claim")),
        (Kind::Pod, sample!("pod")),
        (Kind::StatefulSet, sample!("stateful_set")),
        (Kind::VolumeAttachment, sample!("attachment_inline")),
        (Kind::Node, sample!("node")),
        (Kind::Event, sample!("event")),
    ];
    let kinds = samples.map(|(kind, _)| decoding(kind).expect("it is decoded"));
    let folds = |object: Box<dyn AnyObject>| {
        let _ = (object.fold(&mut Folder::default()), object.odd(), object.to_json("v1"));
    };
    let protobuf: Vec<_> = samples.iter().filter_map(|(_, it)| Some(it.1?.to_vec())).collect();
    hold("objects in protobuf", &protobuf, |bytes| {
        // One kind's bytes may be another's.
        kinds.iter().filter_map(|it| (it.protobuf)(bytes).ok()).for_each(folds);
    });
    let json: Vec<_> = samples.iter().map(|(_, it)| it.0.as_bytes().to_vec()).collect();
    hold("objects in JSON", &json, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        kinds.iter().filter_map(|it| (it.json)(&text).ok()).for_each(folds);
    });
}

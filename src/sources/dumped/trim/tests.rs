//! What is left out of objects is what nobody reads, whatever happened to the file.

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{
    Value, json,
    ser::{PrettyFormatter, Serializer},
};

use super::{Part, Parts, copy};
use crate::model::Kind;
use crate::objects::{self, ObjectKind};

/// What is read of an object, if it can be read.
fn read(kind: Kind, text: &str) -> Option<Value> {
    macro_rules! read {
        ($($type:ident)*) => {
            match kind {
                $(objects::$type::KIND => {
                    let object = serde_json::from_str::<objects::$type>(text).ok()?;
                    serde_json::to_value(object).ok()
                })*
                _ => panic!("{kind} is not listed here"),
            }
        };
    }
    read!(Pod Node Deployment ReplicaSet DaemonSet ReplicationController StatefulSet Job CronJob
        HorizontalPodAutoscaler Lease PersistentVolume PersistentVolumeClaim)
}

/// The kinds of which something is left out.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| !Part::of_kind(*kind).is_empty())
}

/// Returns an object for each member that is left out, which has it with this value, and the same
/// without it.
fn with_each(parts: Parts, value: &Value) -> Vec<(Value, Value)> {
    let one = |(name, part): &(&str, Part)| -> Vec<(Value, Value)> {
        let name = *name;
        match part {
            Part::Read => panic!("{name} need not be named"),
            Part::Unread => vec![(json!({ name: value }), json!({}))],
            Part::Object(parts) => with_each(parts, value)
                .into_iter()
                .map(|(with, without)| (json!({ name: with }), json!({ name: without })))
                .collect(),
            Part::Each(parts) => with_each(parts, value)
                .into_iter()
                .map(|(with, without)| (json!({ name: [with] }), json!({ name: [without] })))
                .collect(),
        }
    };
    parts.iter().flat_map(one).collect()
}

#[test]
fn what_is_left_out_is_read_by_nobody() {
    let values = [
        json!(7),
        json!("x"),
        json!(null),
        json!([]),
        json!({}),
        json!(["x"]),
        json!([{"name": "x", "type": "Ready", "status": "True"}]),
        json!({"x": "y", "name": "x", "matchLabels": {"a": "b"}}),
        json!({"f:phase": {}, "f:finalizers": {"v:\"x\"": {}}}),
    ];
    let read = |kind, object: &Value| {
        read(kind, &object.to_string()).unwrap_or_else(|| panic!("{kind} reads part of {object}"))
    };
    for kind in kinds() {
        for (with, without) in values.iter().flat_map(|it| with_each(Part::of_kind(kind), it)) {
            assert_eq!(read(kind, &with), read(kind, &without), "{kind} {with}");
        }
    }
}

/// The lines of an item as kubectl prints it.
fn item() -> Vec<String> {
    let probe = json!({"httpGet": {"path": "/", "port": 80}, "periodSeconds": 10});
    let container = json!({
        "args": ["--data", "]", "},"],
        "env": [{"name": "A", "value": "{"}, {"name": "B", "valueFrom": {"fieldRef": {}}}],
        "image": "registry.k8s.io/sig-storage/csi-provisioner:v5",
        "livenessProbe": probe,
        "name": "csi-provisioner",
        "resources": {"limits": {"cpu": "1"}},
        "volumeMounts": [{"mountPath": "/data", "name": "data"}],
    });
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"a": "b"},
            "labels": {"app": "db"},
            "managedFields": [{"fieldsV1": {"f:metadata": {".": {}}}, "manager": "m"}],
            "name": "db-0",
            "namespace": "shop",
            "ownerReferences": [{"kind": "StatefulSet", "name": "db", "controller": true}],
        },
        "spec": {
            "affinity": {"podAntiAffinity": {"required": [{"topologyKey": "zone"}]}},
            "containers": [container, container],
            "nodeName": "n1",
            "securityContext": {},
            "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b"}],
            "volumes": [
                {"configMap": {"name": "c"}, "name": "config"},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
                {"name": "token", "projected": {"sources": [{"secret": {"name": "t"}}]}},
            ],
        },
        "status": {
            "conditions": [{"status": "True", "type": "Ready"}],
            "containerStatuses": [{"name": "csi-provisioner", "state": {"running": {}}}],
            "phase": "Running",
            "podIPs": [{"ip": "10.0.0.1"}],
        },
    });
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(b"    ");
    pod.serialize(&mut Serializer::with_formatter(&mut text, formatter)).expect("into memory");
    let text = String::from_utf8(text).expect("because JSON is text");
    text.replace('\n', "\n        ").lines().map(str::to_owned).collect()
}

fn trimmed(item: &str) -> String {
    let mut out = String::new();
    copy(Kind::Pod, item, &(0..0), &mut out);
    out
}

/// The same as a matter of meaning: without the members that are not read.
fn without_unread(value: &mut Value, parts: Parts) {
    let Some(object) = value.as_object_mut() else { return };
    for (name, part) in parts {
        match (part, object.get_mut(*name)) {
            (Part::Unread, Some(Value::Object(it))) if it.is_empty() => {}
            (Part::Unread, _) => {
                object.remove(*name);
            }
            (Part::Object(parts), Some(value)) => without_unread(value, parts),
            (Part::Each(parts), Some(Value::Array(all))) => {
                for value in all {
                    without_unread(value, parts);
                }
            }
            (Part::Object(_) | Part::Each(_) | Part::Read, _) => {}
        }
    }
}

#[test]
fn everything_that_is_not_read_is_left_out_of_what_kubectl_prints() {
    let text = item().join("\n");
    let mut expected: Value = serde_json::from_str(&text).expect("because it was just written");
    without_unread(&mut expected, Part::of_kind(Kind::Pod));
    let found: Value = serde_json::from_str(&trimmed(&text)).expect("because commas are counted");
    assert_eq!(found, expected);
}

#[test]
fn managed_fields_are_left_out_where_they_are_said_to_stand() {
    let text = item().join("\n");
    let from = text.find("\n                \"managedFields\"").expect("because it has some");
    let end = text[from..].find("\n                ],").expect("because they end") + from + 19;
    let mut out = String::new();
    copy(Kind::Pod, &text, &(from..end), &mut out);
    assert_eq!(out, trimmed(&text));
    assert!(!out.contains("managedFields"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens to the lines of a file: what is read of an object stays the same, and what
    /// cannot be read still cannot.
    #[test]
    fn nothing_else_is_ever_hidden(
        lines in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        deeper in prop::sample::select(vec![-8, -4, -2, 1, 2, 4, 8_isize]),
        how in 0..4,
    ) {
        let mut item = item();
        let (from, to) = (lines.0.index(item.len()), lines.1.index(item.len()));
        let range = from.min(to)..from.max(to);
        match how {
            0 => drop(item.drain(range)),
            1 => {
                for line in &mut item[range] {
                    let text = line.trim_start();
                    let blanks = (line.len() - text.len()).saturating_add_signed(deeper);
                    *line = format!("{}{text}", " ".repeat(blanks));
                }
            }
            2 => {
                let part = item[range].to_vec();
                let place = lines.2.index(item.len());
                item.splice(place..place, part);
            }
            _ => {
                let part: Vec<_> = item.drain(range).collect();
                let place = lines.2.index(item.len() + 1);
                item.splice(place..place, part);
            }
        }
        let text = item.join("\n");
        prop_assert_eq!(read(Kind::Pod, &trimmed(&text)), read(Kind::Pod, &text), "{}", text);
    }
}

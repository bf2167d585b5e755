//! Items that are found by their indentation are those that are found by reading.

use std::io;
use std::ops::ControlFlow;

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use super::Bites;
use crate::dump::window::WindowLimits;
use crate::dump::{Input, Piece, inputs};

/// Parses as whoever takes objects in does: a field that is there twice is an error.
#[derive(Deserialize)]
struct Taker {
    #[serde(rename = "metadata")]
    _metadata: Named,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "name")]
    _name: IgnoredAny,
    #[serde(rename = "namespace")]
    _namespace: Option<IgnoredAny>,
}

/// A list as kubectl prints it, of items of several kinds.
fn list() -> Vec<u8> {
    let item = |kind: &str, name: &str, namespace: Option<&str>| {
        let mut item = json!({
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {
                "annotations": { "text": "}\n        }\",\n\"name\": \"other\"" },
                "labels": { "name": "label", "namespace": "label" },
                "managedFields": [{ "manager": "kubectl", "fieldsV1": { "f:spec": { "f:x": {} } } }],
                "name": name,
                "ownerReferences": [{ "kind": "Job", "name": "owner" }],
            },
            "spec": { "managedFields": ["no"], "list": [[1], { "a": [{}] }] },
        });
        if let Some(namespace) = namespace {
            item["metadata"]["namespace"] = namespace.into();
        }
        item
    };
    let list = json!({
        "apiVersion": "v1",
        "items": [
            item("Pod", "a", Some("shop")),
            item("PersistentVolume", "b", None),
            { "apiVersion": "v1", "kind": "Node", "metadata": { "name": "bare" } },
            { "apiVersion": "v1", "kind": "Node", "metadata": { "name": "es\"caped" } },
            item("Pod", "c", Some("other")),
        ],
        "kind": "List",
        "metadata": { "resourceVersion": "" },
    });
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(b"    ");
    list.serialize(&mut Serializer::with_formatter(&mut text, formatter))
        .expect("because memory takes all bytes");
    text.push(b'\n');
    text
}

/// What is read, how much of it was skimmed and loses its managed fields as it should, and whether anything was found to be damaged.
fn read(bytes: &[u8], skim: bool, bite: usize, chunk: usize) -> (Vec<String>, usize, bool) {
    let (mut pieces, mut unmanaged, mut damaged) = (Vec::new(), 0, false);
    let mut sink = |piece: Piece<'_>| {
        match piece {
            Piece::Object(object) => {
                pieces.push(format!(
                    "{} {} {}/{} {}",
                    object.origin, object.kind, object.namespace, object.name, object.body
                ));
                if let Some(it) = object.skimmed {
                    let (front, back) = object.body.split_at(it.managed_fields.start);
                    let rest = [front, &back[it.managed_fields.len()..]].concat();
                    damaged |= serde_json::from_str::<Taker>(object.body).is_err();
                    match serde_json::from_str::<Value>(&rest) {
                        Ok(rest) => {
                            unmanaged +=
                                usize::from(rest["metadata"].get("managedFields").is_none());
                        }
                        Err(_) => damaged = true,
                    }
                }
            }
            Piece::Record(_) | Piece::Untyped(_) => {}
            Piece::Broken(_) => damaged = true,
        }
        ControlFlow::Continue(())
    };
    let limits = WindowLimits { chunk, skim, ..WindowLimits::default() };
    let mut input = Bites { bytes, sizes: vec![bite], next: 0 };
    let files = inputs::read(&[Input::Stdin], &mut input, &mut sink, limits);
    let files = files.unwrap_or_else(|error| panic!("{}", io::Error::other(error)));
    damaged |= files.iter().any(|file| !file.intact || file.lists.iter().any(|it| !it.complete));
    (pieces, unmanaged, damaged)
}

#[test]
fn what_kubectl_prints_is_skimmed() {
    let (pieces, skimmed, damaged) = read(&list(), true, 4096, 4096);
    assert_eq!((skimmed, damaged), (4, false), "one has a name with an escape in it");
    assert_eq!(pieces, read(&list(), false, 4096, 4096).0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn seams_change_nothing(bite in 1..400_usize, chunk in 1..400_usize) {
        prop_assert_eq!(read(&list(), true, bite, chunk), read(&list(), true, 4096, 4096));
    }

    /// Whatever happens to a file: what is skimmed from it is what is read from it, or it is known to be damaged.
    #[test]
    fn damage_is_noticed(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut changed = list();
        let place = at.index(changed.len());
        changed[place] = byte;
        let mut shorter = list();
        shorter.truncate(cut.index(shorter.len()));
        let mut removed = list();
        let (from, to) = (place.min(cut.index(removed.len())), place.max(cut.index(removed.len())));
        removed.drain(from..to);
        for bytes in [changed, shorter, removed] {
            let (skimmed, _, damaged) = read(&bytes, true, 4096, 4096);
            let (read, _, _) = read(&bytes, false, 4096, 4096);
            prop_assert!(damaged || skimmed == read, "{}", String::from_utf8_lossy(&bytes));
        }
    }
}

/// A tab is as good a blank as kubectl's, around the colon too: a key is not missing because of it.
#[test]
fn other_blanks_are_read_alike() {
    let whole = list();
    let beside = |at: usize| matches!(whole.get(at), Some(b'"' | b':'));
    let blanks =
        (1..whole.len()).filter(|at| whole[*at] == b' ' && (beside(*at - 1) || beside(*at + 1)));
    for place in blanks {
        for byte in *b"\t\n" {
            let mut bytes = whole.clone();
            bytes[place] = byte;
            let (skimmed, _, damaged) = read(&bytes, true, 4096, 4096);
            let read = read(&bytes, false, 4096, 4096).0;
            assert!(damaged || skimmed == read, "place {place}, byte {byte}");
        }
    }
}

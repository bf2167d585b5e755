//! Every form in which objects are written. Items that are found by their indentation are those that
//! are found by reading.

use std::io;
use std::ops::ControlFlow;

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use super::super::window::WindowLimits;
use super::super::{FileFormat, Input, Piece, inputs};
use super::{Bites, JSON_LIST, YAML_LIST, json, read};

const TWO: [&str; 2] = ["v1/PersistentVolume a", "v1/PersistentVolume b"];

#[test]
fn every_form_gives_the_same_objects() {
    let (a, b) = (json("PersistentVolume", "a"), json("PersistentVolume", "b"));
    let bare = |name| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
    let (bare_a, bare_b) = (bare("a"), bare("b"));
    let yaml = "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: ";
    let indented = |depth: &str| {
        let item = |name| {
            format!(
                "{depth}- apiVersion: v1\n{depth}  kind: PersistentVolume\n{depth}  metadata: {{name: {name}}}\n"
            )
        };
        format!("apiVersion: v1\nkind: List\nitems:\n{}{}", item("a"), item("b"))
    };
    let forms = [
        ("list", JSON_LIST.to_owned()),
        ("list, CRLF", JSON_LIST.replace('\n', "\r\n")),
        ("list, byte order mark", format!("\u{feff}{JSON_LIST}")),
        ("lines", format!("{a}\n{b}\n")),
        ("lines, CRLF, empty ones, no end", format!("\r\n{a}\r\n\r\n{b}")),
        ("one after the other", format!("{a}{b}")),
        ("one after the other with YAML's divider", format!("{a}\n---\n{b}\n")),
        ("array", format!("[{a}, {b}]")),
        ("array of lists", format!(r#"[{{"kind":"List","apiVersion":"v1","items":[{a}]}},{b}]"#)),
        (
            "typed list, kind first",
            format!(
                r#"{{"kind":"PersistentVolumeList","apiVersion":"v1","metadata":{{}},"items":[{bare_a},{bare_b}]}}"#
            ),
        ),
        (
            "typed list, kind last",
            format!(
                r#"{{"items":[{bare_a},{bare_b}],"apiVersion":"v1","kind":"PersistentVolumeList"}}"#
            ),
        ),
        ("escaped names", format!("{a}{b}").replace("\"kind\"", "\"\\u006bind\"")),
        ("YAML documents", format!("{yaml}a\n---\n{yaml}b\n")),
        (
            "YAML, directives and ends",
            format!("%YAML 1.1\n---\n{yaml}a\n...\n# x\n--- # y\n{yaml}b\n...\n"),
        ),
        ("YAML, CRLF", format!("---\n{yaml}a\n---\n{yaml}b\n").replace('\n', "\r\n")),
        ("YAML, byte order mark", format!("\u{feff}{yaml}a\n---\n{yaml}b\n")),
        ("YAML list, at the margin", indented("")),
        ("YAML list, indented", indented("  ")),
        ("YAML list, far indented", indented("      ")),
        ("YAML list, kind last", YAML_LIST.to_owned()),
        ("YAML list, CRLF", YAML_LIST.replace('\n', "\r\n")),
        ("YAML list, flow", format!("kind: List\napiVersion: v1\nitems: [{a}, {b}]\n")),
        (
            "YAML list, flow beneath",
            format!("kind: List\napiVersion: v1\nitems:\n  [{a},\n  {b}]\n"),
        ),
        ("YAML list of JSON", format!("kind: List\napiVersion: v1\nitems:\n- {a}\n- {b}\n")),
        ("YAML array", format!("- {a}\n- {b}\n")),
        ("JSON in YAML", format!("# comment\n---\n{a}\n---\n{b}\n")),
    ];
    for (form, text) in forms {
        let outcome = read(&text);
        assert_eq!(outcome.pieces, TWO, "{form}");
        assert!(outcome.files[0].intact, "{form}");
        assert_eq!(outcome.files[0].objects, 2, "{form}");
        let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
        let format = if is_json { FileFormat::Json } else { FileFormat::Yaml };
        assert_eq!(outcome.files[0].format, format, "{form}");
    }
}

#[test]
fn a_list_is_evidence_only_when_it_is_whole() {
    let pv = r#"{"metadata":{"name":"a"}}"#;
    let table = [
        (r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#, "PodList 0 complete"),
        (r#"{"apiVersion":"v1","items":[],"kind":"PodList"}"#, "PodList 0 complete"),
        (
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}"#,
            "PodList 0 complete",
        ),
        (r#"{"kind":"PodList","apiVersion":"v1","metadata":{}}"#, "PodList 0 partial"),
        (r#"{"kind":"List","apiVersion":"v1","items":[]}"#, "List 0 complete"),
        (
            &format!(r#"{{"kind":"PodList","apiVersion":"v1","items":[{pv}]}}"#),
            "PodList 1 complete",
        ),
        // One page of several.
        (
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"x"},"items":[]}"#,
            "PodList 0 partial",
        ),
        (
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":""},"items":[]}"#,
            "PodList 0 complete",
        ),
        // An item that cannot be read.
        (
            &format!(r#"{{"kind":"PodList","apiVersion":"v1","items":[{pv},7]}}"#),
            "PodList 1 partial",
        ),
        ("kind: PodList\napiVersion: v1\nitems: []\nmetadata: {}\n", "PodList 0 complete"),
        ("kind: PodList\napiVersion: v1\nitems:\nmetadata: {}\n", "PodList 0 complete"),
        (
            "kind: PodList\napiVersion: v1\nitems: []\nmetadata: {continue: x}\n",
            "PodList 0 partial",
        ),
        (
            "apiVersion: v1\nitems:\n- metadata: {name: a}\nkind: PodList\nmetadata: {}\n",
            "PodList 1 complete",
        ),
        // Nothing follows the items: more of them may have.
        (
            "apiVersion: v1\nkind: PodList\nmetadata: {}\nitems:\n- metadata: {name: a}\n",
            "PodList 1 partial",
        ),
        ("apiVersion: v1\nitems:\n- metadata: {name: a}\nkind: PodList\n", "PodList 1 partial"),
    ];
    for (text, expected) in table {
        assert_eq!(read(text).lists(), [expected], "{text}");
    }
    let list = &read(JSON_LIST).files[0].lists[0];
    assert_eq!((list.origin.line, list.of()), (1, None));
    let list = &read(YAML_LIST).files[0].lists[0];
    assert_eq!((list.origin.line, list.of()), (2, Some("PersistentVolume")));
}

#[test]
fn items_take_from_their_list_only_what_they_lack() {
    let list = |items: &str| format!(r#"{{"kind":"PodList","apiVersion":"v1","items":[{items}]}}"#);
    let table = [
        (r#"{"metadata":{"name":"a","namespace":"n"}}"#, "v1/Pod n/a"),
        (r#"{"kind":"Pod","metadata":{"name":"a","namespace":null}}"#, "v1/Pod a"),
        (r#"{"kind":null,"apiVersion":"v2","metadata":{"name":"a"}}"#, "v2/Pod a"),
        (r#"{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a"}}"#, "batch/v1/Job a"),
        (
            r#"{"kind":"Job","metadata":{"name":"a"}}"#,
            "! stdin:1 (item 1) is not a Kubernetes object: it has no apiVersion",
        ),
    ];
    for (item, expected) in table {
        assert_eq!(read(list(item)).pieces[0], expected, "{item}");
    }
    // It is the answer to another question.
    let other = read(list(r#"{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a"}}"#));
    assert_eq!(other.broken(), ["! stdin:1 is a PodList with items of kind Job"]);
}

#[test]
fn places_are_told() {
    let outcome = read(format!("{}\n{}", json("Pod", "a"), JSON_LIST.replace("\"b\"", "7")));
    assert_eq!(
        outcome.broken(),
        [
            "! stdin:13 (item 2) is not a Kubernetes object: its metadata.name is the number 7, not a text"
        ]
    );
    let outcome = read(YAML_LIST.replace("name: b", "name: [b"));
    assert_eq!(outcome.objects(), ["v1/PersistentVolume a"]);
    let [broken] = outcome.broken()[..] else { panic!("{outcome:?}") };
    assert!(broken.starts_with("! stdin:13 (item 2) is not valid YAML at byte "), "{broken}");
}

#[test]
fn scalars_mean_what_they_mean_to_kubernetes() {
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: 'yes'\nspec: {a: yes, b: 1.5, c: '1', d: 12345678901}\n";
    let mut bodies = Vec::new();
    let mut sink = |piece: crate::dump::Piece<'_>| {
        if let crate::dump::Piece::Object(object) = piece {
            bodies.push(object.body.to_owned());
        }
        std::ops::ControlFlow::Continue(())
    };
    crate::dump::read(&[crate::dump::Input::Stdin], &mut yaml.as_bytes(), &mut sink)
        .expect("because standard input is given once");
    assert!(
        bodies[0].contains(r#""spec":{"a":"yes","b":1.5,"c":"1","d":12345678901}"#),
        "{bodies:?}"
    );
}

#[test]
fn a_cluster_info_dump_on_one_stream_is_read_around_its_logs() {
    let list = |kind: &str, items: &str| {
        format!(
            "{{\n    \"kind\": \"{kind}List\",\n    \"apiVersion\": \"v1\",\n    \"items\": [{items}]\n}}\n"
        )
    };
    let forged = json("PersistentVolume", "forged");
    let text = format!(
        "{}==== START logs for container c of pod n/p ====\n{forged}\n==== END logs for container x of pod n/p ====\n{forged}\n==== END logs for container c of pod n/p ====\n{}",
        list("Node", r#"{"metadata":{"name":"n1"}}"#),
        list("Pod", r#"{"metadata":{"name":"p","namespace":"n"}}"#)
    );
    assert_eq!(read(&text).pieces, ["v1/Node n1", "v1/Pod n/p"]);
    let yaml = "kind: Node\napiVersion: v1\nmetadata: {name: n1}\n==== START logs for container c of pod n/p ====\nkind: x: y\n---\n==== END logs for container c of pod n/p ====\n---\nkind: Node\napiVersion: v1\nmetadata: {name: n2}\n";
    assert_eq!(read(yaml).pieces, ["v1/Node n1", "v1/Node n2"]);
    let cut = text.split("==== END").next().map(read);
    assert_eq!(
        cut.map(|outcome| (outcome.pieces.len(), outcome.files[0].intact)),
        Some((2, false))
    );
}

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
fn read_pieces(bytes: &[u8], skim: bool, bite: usize, chunk: usize) -> (Vec<String>, usize, bool) {
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
    let (pieces, skimmed, damaged) = read_pieces(&list(), true, 4096, 4096);
    assert_eq!((skimmed, damaged), (4, false), "one has a name with an escape in it");
    assert_eq!(pieces, read_pieces(&list(), false, 4096, 4096).0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn seams_change_nothing(bite in 1..400_usize, chunk in 1..400_usize) {
        prop_assert_eq!(read_pieces(&list(), true, bite, chunk), read_pieces(&list(), true, 4096, 4096));
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
            let (skimmed, _, damaged) = read_pieces(&bytes, true, 4096, 4096);
            let (read, _, _) = read_pieces(&bytes, false, 4096, 4096);
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
            let (skimmed, _, damaged) = read_pieces(&bytes, true, 4096, 4096);
            let read = read_pieces(&bytes, false, 4096, 4096).0;
            assert!(damaged || skimmed == read, "place {place}, byte {byte}");
        }
    }
}

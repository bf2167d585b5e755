//! Tests of the document layer, by what is in the file.

mod broken;
mod packing;
mod forms;

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::window::WindowLimits;
use super::{FileSummary, Input, Piece, inputs};

/// What came of reading, in a form that is easy to compare.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReadPieces {
    /// `v1/Pod ns/name`, `record Kind`, `! where: what`
    pub(super) pieces: Vec<String>,
    pub(super) files: Vec<FileSummary>,
}

impl ReadPieces {
    pub(super) fn objects(&self) -> Vec<&str> {
        self.pieces.iter().map(String::as_str).filter(|piece| !piece.starts_with('!')).collect()
    }

    pub(super) fn broken(&self) -> Vec<&str> {
        self.pieces.iter().map(String::as_str).filter(|piece| piece.starts_with('!')).collect()
    }

    /// `PodList 2 complete`, `List 0 partial`.
    pub(super) fn lists(&self) -> Vec<String> {
        let lists = self.files.iter().flat_map(|file| &file.lists);
        let told = |complete| if complete { "complete" } else { "partial" };
        lists.map(|list| format!("{} {} {}", list.kind, list.items, told(list.complete))).collect()
    }
}

fn told(piece: &Piece) -> String {
    match piece {
        Piece::Object(object) => {
            let body: serde_json::Value =
                serde_json::from_str(object.body).expect("because a body is valid JSON");
            assert_eq!(body["metadata"]["name"], object.name);
            let slash = if object.namespace.is_empty() { "" } else { "/" };
            let (version, kind) = (object.api_version, object.kind);
            format!("{version}/{kind} {}{slash}{}", object.namespace, object.name)
        }
        Piece::Untyped(object) => format!("? {}", object.name),
        Piece::Record(record) => format!("record {}", record.kind),
        Piece::Broken(broken) => format!("! {broken}"),
    }
}

/// Reads inputs; the pieces are told.
pub(super) fn read_inputs(
    inputs: &[Input],
    stdin: &mut dyn Read,
    limits: WindowLimits,
) -> ReadPieces {
    let mut pieces = Vec::new();
    let mut sink = |piece: Piece<'_>| {
        pieces.push(told(&piece));
        ControlFlow::Continue(())
    };
    let files = inputs::read(inputs, stdin, &mut sink, limits).expect("because the inputs exist");
    for file in &files {
        let origin = |piece: &&String| piece.starts_with(&format!("! {}", file.path));
        assert!(file.broken == 0 || pieces.iter().any(|piece| origin(&piece)));
    }
    ReadPieces { pieces, files }
}

/// Reads bytes as standard input.
pub(super) fn read(bytes: impl AsRef<[u8]>) -> ReadPieces {
    read_inputs(&[Input::Stdin], &mut bytes.as_ref(), WindowLimits::default())
}

/// Reads bytes in small bites, so that every seam lies somewhere else.
pub(super) fn read_in_bites(bytes: &[u8], sizes: Vec<usize>, chunk: usize) -> ReadPieces {
    let limits = WindowLimits { chunk, ..WindowLimits::default() };
    read_inputs(&[Input::Stdin], &mut Bites { bytes, sizes, next: 0 }, limits)
}

pub(super) fn read_path(path: &Path) -> ReadPieces {
    read_inputs(&[Input::parse(path)], &mut io::empty(), WindowLimits::default())
}

struct Bites<'b> {
    bytes: &'b [u8],
    sizes: Vec<usize>,
    next: usize,
}

impl Read for Bites<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.get(self.next % self.sizes.len().max(1)).copied().unwrap_or(1).max(1);
        self.next += 1;
        let length = size.min(buffer.len());
        self.bytes.read(&mut buffer[..length])
    }
}

/// An object as JSON.
pub(super) fn json(kind: &str, name: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"{name}"}}}}"#)
}

/// A list of two volumes, as `kubectl get -o json` writes it.
pub(super) const JSON_LIST: &str = r#"{
    "apiVersion": "v1",
    "items": [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {
                "name": "a",
                "labels": {"é\"}": "]"}
            }
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {
                "name": "b"
            },
            "spec": {"n": -1.5e3}
        }
    ],
    "kind": "List",
    "metadata": {
        "resourceVersion": ""
    }
}
"#;

/// A typed list as `oc adm inspect` writes it: its kind comes last, its items have none.
pub(super) const YAML_LIST: &str = "---
apiVersion: v1
items:
- metadata:
    annotations:
      text: |-
        - not an item
        kind: not a kind
    name: a
- metadata:
    name: b
  # a comment
  spec:
    finalizers:
    - x
kind: PersistentVolumeList
metadata:
  resourceVersion: \"12\"
";

fn samples() -> Vec<Vec<u8>> {
    let lines = format!("{}\n{{torn\n{}\n", json("Pod", "a"), json("Pod", "b"));
    let array = format!("[{}, 12345, \"x\\u00e9\", {}]", json("Pod", "a"), json("Pod", "b"));
    let documents = format!("a: 1\n---\n{0}\n...\n---\n{0}\n# end", json("Pod", "a"));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(lines.as_bytes()).expect("because memory takes all bytes");
    let gzip = gzip.finish().expect("because memory takes all bytes");
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(YAML_LIST.len() as u64);
    tar.append_data(&mut header, "a.yaml", YAML_LIST.as_bytes())
        .expect("because memory takes all bytes");
    let tar = tar.into_inner().expect("because memory takes all bytes");
    vec![
        JSON_LIST.into(),
        YAML_LIST.into(),
        lines.into(),
        array.into(),
        documents.into(),
        gzip,
        tar,
    ]
}

/// Snippets that together are more often almost right than random bytes are.
fn almost() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\n",
        " ",
        "- ",
        "---\n",
        "...\n",
        "items:",
        "\nitems:\n",
        "\"items\":[",
        "\"kind\":\"PodList\"",
        "kind: PodList\n",
        "\"metadata\":{\"name\":\"a\"}",
        "metadata: {name: a}\n",
        "\"apiVersion\":\"v1\"",
        "apiVersion: v1\n",
        "null",
        "12",
        "true",
        "é",
        "&a ",
        "*a",
        "|\n",
        "#",
        "%",
        "\t",
        "\r\n",
        "==== START logs for container ",
        "==== END logs for container ",
        "storage.kubectl.dev/v1alpha1",
        "\"kind\":\"Dump\"",
        "\"kind\":\"DumpEnd\"",
        "\u{feff}",
        "\\u00",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn seams_change_nothing(
        bites in prop::collection::vec(1..40_usize, 1..8),
        chunk in 1..200_usize,
    ) {
        for sample in samples() {
            prop_assert_eq!(read_in_bites(&sample, bites.clone(), chunk), read(&sample));
        }
    }

    #[test]
    fn seams_change_nothing_in_nonsense(bytes in almost(), bite in 1..9_usize, chunk in 1..64_usize) {
        prop_assert_eq!(read_in_bites(&bytes, vec![bite], chunk), read(&bytes));
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
        read([b"\x1f\x8b\x08\0\0\0\0\0\0\xff".as_slice(), &bytes].concat());
        read([b"{".as_slice(), &bytes].concat());
        read([b"items:\n- ".as_slice(), &bytes].concat());
    }

    #[test]
    fn damage_does_no_harm(which in 0..7_usize, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut sample = samples().swap_remove(which);
        let at = at.index(sample.len());
        sample[at] = byte;
        read(&sample);
        sample.truncate(at);
        read(&sample);
    }
}

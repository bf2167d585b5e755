//! What nobody thought of.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::{JSON_LIST, YAML_LIST, json, read, read_in_bites};

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

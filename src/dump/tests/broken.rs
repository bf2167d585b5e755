//! What is wrong is told, and what is right around it is still read; our own dump is read back.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::{fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::super::window::WindowLimits;
use super::super::{DumpError, DumpWriter, FileFormat, Input, Piece, Replace};
use super::{JSON_LIST, YAML_LIST, json, read, read_inputs, read_path};
use crate::dump;

#[test]
fn every_flaw_has_its_words() {
    let pod = json("Pod", "a");
    let table: &[(&[u8], &str)] = &[
        (b"", "! stdin is empty"),
        (b" \n\t\r\n", "! stdin is empty"),
        (b"\xff\xfe{\0", "! stdin is UTF-16, not UTF-8"),
        (b"{\0\"\0", "! stdin is UTF-16, not UTF-8"),
        (b"\0a\0p\0i", "! stdin is UTF-16, not UTF-8"),
        (b"PK\x03\x04....", "! stdin is a zip file, which cannot be read"),
        (b"\x28\xb5\x2f\xfd....", "! stdin is zstd, which cannot be read"),
        (b"\x7fELF\0\0", "! stdin is neither text, nor gzip, nor tar"),
        (b"hello world\n", "! stdin:1 is a text, not a Kubernetes object"),
        (b"[7]", "! stdin:1 (item 1) is a number, not a Kubernetes object"),
        (b"[[]]", "! stdin:1 (item 1) is a list, not a Kubernetes object"),
        (b"[null]", "! stdin:1 (item 1) is null, not a Kubernetes object"),
        (b"{}", "! stdin:1 is not a Kubernetes object: it has no kind"),
        (b"{\"items\":[]}", "! stdin:1 is not a Kubernetes object: it has no kind"),
        (b"{\"kind\":\"Pod\"}", "! stdin:1 is not a Kubernetes object: it has no apiVersion"),
        (
            br#"{"kind":"Pod","apiVersion":"v1"}"#,
            "! stdin:1 is not a Kubernetes object: it has no metadata",
        ),
        (
            br#"{"kind":"Pod","apiVersion":"v1","metadata":{}}"#,
            "! stdin:1 is not a Kubernetes object: it has no metadata.name",
        ),
        (
            br#"{"kind":"Pod","apiVersion":"v1","metadata":["a","b",""]}"#,
            "! stdin:1 is not a Kubernetes object: its metadata is a list, not an object",
        ),
        (
            br#"{"kind":["Pod"],"apiVersion":"v1"}"#,
            "! stdin:1 is not a Kubernetes object: its kind is a list, not a text",
        ),
        (
            br#"{"kind":"Pod","kind":"Job","apiVersion":"v1"}"#,
            "! stdin:1 is not a Kubernetes object: its kind occurs twice",
        ),
        (
            br#"{"kind":"Status","apiVersion":"v1","message":"pods is forbidden"}"#,
            "! stdin:1 is an error of the API server, not the requested object: pods is forbidden",
        ),
        (b"{\"a\":1,}", "! stdin:1 is not valid JSON at byte 7: expected a name in quotes"),
        (b"{\"a\":truu}", "! stdin:1 is not valid JSON at byte 8: neither true, false nor null"),
        (b"{\"a\" 1}", "! stdin:1 is not valid JSON at byte 5: expected `:`"),
        (b"[{},]", "! stdin:1 is not valid JSON at byte 4: trailing comma"),
        (b"{\n  \"a\":", "! stdin:2 breaks off at byte 8, within a value"),
        (b"{\n", "! stdin:2 breaks off at byte 2, within an object"),
        (b"kind: Pod", "! stdin:1 is not a Kubernetes object: it has no apiVersion"),
        (
            b"kind: Po\nx",
            "! stdin:3 is not valid YAML at byte 10: could not find expected ':', while scanning a simple key",
        ),
        (
            br#"{"kind":"List","items":[{"kind":"PodList","apiVersion":"v1","items":[]}]}"#,
            "! stdin:1 (item 1) is a PodList within a list, and the items of such a list are not read",
        ),
        (
            b"kind: List\nitems:\n- kind: List\n  items:\n  - kind: Pod\n",
            "! stdin:3 (item 1) is a List within a list, and the items of such a list are not read",
        ),
        (
            br#"{"items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}],"kind":"Pod"}"#,
            "! stdin:1 has items, but its kind is Pod",
        ),
        (br#"{"items":[],"items":[],"kind":"PodList"}"#, "! stdin:1 has items twice"),
        (b"items:\n- a: b\nitems: []\nkind: PodList\n", "! stdin:3 has items twice"),
        (
            br#"{"kind":"List","items":[{"metadata":{"name":"a"}}]}"#,
            "! stdin:1 (item 1) is not a Kubernetes object: it has no kind",
        ),
    ];
    for (bytes, expected) in table {
        let outcome = read(bytes);
        let shown = String::from_utf8_lossy(bytes);
        assert!(outcome.broken().contains(expected), "{shown}: {outcome:#?}");
        assert!(
            outcome.lists().iter().all(|list| list.ends_with("partial")),
            "{shown}: {outcome:#?}"
        );
    }
    // What is right beside it is read.
    let outcome = read(format!("{{\"a\":1,}}\n{pod}\n{{}}\n{pod}\nnonsense\n{pod}\n"));
    assert_eq!((outcome.objects().len(), outcome.broken().len()), (3, 3), "{outcome:?}");
    let outcome = read(format!("a: [\n---\n{pod}\n---\n7\n---\n{pod}\n"));
    assert_eq!((outcome.objects().len(), outcome.broken().len()), (2, 2), "{outcome:?}");
    let outcome = read(format!(r#"{{"kind":"List","items":[{pod},7,"x",{{}},{pod}]}}"#));
    assert_eq!((outcome.objects().len(), outcome.broken().len()), (2, 3), "{outcome:?}");
}

/// Cuts a text everywhere. What is delivered must be a beginning of what the whole delivers, and
/// anything less than the whole must be noticed.
#[test]
fn no_cut_goes_unnoticed() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(JSON_LIST.as_bytes()).expect("because memory takes all bytes");
    let gzip = gzip.finish().expect("because memory takes all bytes");
    for whole in [JSON_LIST.as_bytes(), YAML_LIST.as_bytes(), &gzip] {
        let all = read(whole);
        assert_eq!(all.objects().len(), 2);
        assert!(all.files[0].lists[0].complete);
        for cut in 0..whole.len() {
            let part = read(&whole[..cut]);
            let shown = String::from_utf8_lossy(&whole[..cut]);
            assert!(all.objects().starts_with(&part.objects()), "{shown}: {part:?}");
            let complete = part.lists().iter().any(|list| list.ends_with("complete"));
            if whole[cut..].trim_ascii().is_empty() {
                continue; // Only the last line break is missing.
            }
            // All that is missing is the version of the list.
            let is_whole =
                shown.contains("kind: PersistentVolumeList\nmetadata:\n  resourceVersion:");
            assert!(!complete || is_whole, "{shown}");
            // In YAML the items are whole once the kind behind them is.
            let named = shown.contains("kind: PersistentVolumeList");
            assert!(
                named || !part.broken().is_empty() || shown.trim_end() == "---",
                "{shown}: {part:?}"
            );
            assert!(
                named || part.lists().iter().all(|list| !list.contains(" 2 ")) || whole[0] != b'-'
            );
        }
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let limits = WindowLimits { chunk: 16, json: 256, yaml: 256, ..WindowLimits::default() };
    let read = |text: &str| read_inputs(&[Input::Stdin], &mut text.as_bytes(), limits);
    let pod = json("Pod", "a");
    let large = format!(r#"{{"apiVersion":"v1","kind":"Pod","x":"{}"}}"#, "x".repeat(256));
    let outcome =
        read(&format!(r#"{{"kind":"PodList","items":[{pod},{pod},{pod},{pod},{large},{pod}]}}"#));
    assert_eq!(outcome.objects().len(), 4, "{outcome:?}");
    assert_eq!(outcome.broken(), ["! stdin:1 contains an object of more than 0 MiB"]);
    assert_eq!(outcome.lists(), ["PodList 4 partial"]);
    let outcome =
        read(&format!("kind: PodList\nitems:\n- {pod}\n- {pod}\n- {pod}\n- {pod}\n- {large}\n"));
    assert_eq!((outcome.objects().len(), outcome.broken().len()), (4, 1), "{outcome:?}");
    // Items that wait for their kind are kept, but not without end.
    let bare = r#"{"metadata":{"name":"a"}},"#.repeat(40);
    let outcome =
        read(&format!(r#"{{"items":[{}],"kind":"PodList"}}"#, bare.trim_end_matches(',')));
    assert_eq!(outcome.objects().len(), 0);
    assert_eq!(outcome.broken().len(), 1, "{outcome:?}");
    assert_eq!(outcome.lists(), ["PodList 0 partial"]);
}

#[test]
fn depth_is_no_danger() {
    for deep in [
        "[".repeat(200_000),
        "{\"a\":".repeat(200_000),
        "- ".repeat(20_000),
        "a: {b: [".repeat(9000),
    ] {
        assert_eq!(read(&deep).objects().len(), 0);
        let inside = format!(
            "{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"a\"}},\"x\":{deep}"
        );
        assert_eq!(read(inside).objects().len(), 0);
    }
    let bomb = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\ng: [*f, *f, *f, *f, *f, *f, *f, *f, *f]\n";
    assert_eq!(read(bomb).objects().len(), 0);
}

#[test]
fn the_sink_can_stop() {
    let text = format!("{0}\n{0}\n{0}\n", json("Pod", "a"));
    let mut seen = 0;
    let mut sink = |_: Piece<'_>| {
        seen += 1;
        if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let inputs = [Input::Stdin, Input::parse("/nonexistent")];
    let files = dump::read(&inputs, &mut text.as_bytes(), &mut sink)
        .expect("because it stops before the second");
    assert_eq!((seen, files.len(), files[0].intact), (2, 1, false));
}

#[test]
fn what_cannot_be_opened_is_an_error() {
    let mut sink = |_: Piece<'_>| ControlFlow::Continue(());
    let missing = dump::read(&[Input::parse("/nonexistent")], &mut io::empty(), &mut sink);
    assert!(matches!(missing, Err(DumpError::Open { .. })));
    let twice = dump::read(&[Input::parse("-"), Input::Stdin], &mut io::empty(), &mut sink);
    assert!(matches!(twice, Err(DumpError::StdinTwice)));
}

fn write(path: &Path, replace: Replace) -> Result<u64, DumpError> {
    let mut writer = DumpWriter::create(
        path,
        replace,
        &json!({"metadata": {"takenAt": "2024-05-02T10:11:12Z"}}),
    )?;
    writer.object(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a\nb"}}))?;
    writer.object(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))?;
    writer.record("Answer", &json!({"question": "x"}))?;
    writer.finish()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("because it is ours").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().expect("because there is room");
    for (name, zip) in [("dump.json", false), ("dump.json.gz", true)] {
        let path = folder.path().join(name);
        assert_eq!(write(&path, Replace::Dumps).ok(), Some(3));
        assert_eq!(write(&path, Replace::Dumps).ok(), Some(3), "a dump may replace a dump");
        let gzipped = fs::read(&path).expect("because it was written").starts_with(&[0x1F, 0x8B]);
        assert_eq!(gzipped, zip);
        let outcome = read_path(&path);
        assert_eq!(outcome.pieces, ["record Dump", "v1/Pod a\nb", "v1/Node n", "record Answer"]);
        let file = &outcome.files[0];
        assert_eq!(
            (file.format, file.objects, file.records, file.intact),
            (FileFormat::OwnDump, 2, 2, true)
        );
    }
    assert_eq!(names(folder.path()).len(), 2, "nothing is left over");
}

#[test]
fn a_dump_that_lost_something_is_noticed() {
    let folder = tempfile::tempdir().expect("because there is room");
    let path = folder.path().join("dump.json");
    write(&path, Replace::Dumps).expect("because there is room");
    let text = fs::read_to_string(&path).expect("because it was written");
    for cut in 0..text.len() - 1 {
        let part = read(&text[..cut]);
        assert!(!part.broken().is_empty() && !part.files[0].intact, "{}", &text[..cut]);
    }
    let lines: Vec<&str> = text.lines().collect();
    for missing in 0..lines.len() {
        let mut rest = lines.clone();
        rest.remove(missing);
        let part = read(rest.join("\n"));
        assert!(!part.broken().is_empty() && !part.files[0].intact, "{part:?}");
    }
    // Two dumps one after the other are two dumps.
    assert_eq!(read(format!("{text}{text}")).broken().len(), 0);
    let more = format!("{text}{}\n", lines[1]);
    assert_eq!(read(more).broken(), ["! stdin:6 follows the end of the dump"]);
    let torn = text.replace(r#"{"apiVersion":"v1","kind":"Node""#, "{torn");
    assert_eq!(read(torn).broken().len(), 2, "the line, and the count");
}

#[test]
fn only_a_dump_is_replaced_unless_asked() {
    let folder = tempfile::tempdir().expect("because there is room");
    let path = folder.path().join("notes.json");
    for notes in ["", "{\"apiVersion\":\"v1\",\"kind\":\"Dump\"}\n", "my notes\n", "\u{1f}\u{8b}"] {
        fs::write(&path, notes).expect("because it is ours");
        assert!(matches!(write(&path, Replace::Dumps), Err(DumpError::Exists { .. })), "{notes}");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some(notes));
    }
    assert_eq!(write(&path, Replace::Anything).ok(), Some(3));
    assert!(matches!(write(folder.path(), Replace::Anything), Err(DumpError::NotAFile { .. })));
    let nowhere = folder.path().join("no/such/folder.gz");
    assert!(matches!(write(&nowhere, Replace::Dumps), Err(DumpError::Write { .. })));
    assert_eq!(names(folder.path()), ["notes.json"]);
}

#[test]
fn an_unfinished_dump_leaves_nothing() {
    let folder = tempfile::tempdir().expect("because there is room");
    let path = folder.path().join("dump.json.gz");
    let mut writer =
        DumpWriter::create(&path, Replace::Dumps, &json!({})).expect("because there is room");
    writer.object(&json!({})).expect("because there is room");
    assert_eq!(names(folder.path()).len(), 1);
    drop(writer);
    assert_eq!(names(folder.path()).len(), 0);
}

#[cfg(unix)]
#[test]
fn links_are_written_through_and_devices_are_left_alone() {
    let folder = tempfile::tempdir().expect("because there is room");
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    write(&real, Replace::Dumps).expect("because there is room");
    std::os::unix::fs::symlink(&real, &link).expect("because it is ours");
    write(&link, Replace::Dumps).expect("because it leads to a dump");
    assert!(fs::symlink_metadata(&link).is_ok_and(|found| found.is_symlink()));
    assert!(matches!(
        write(Path::new("/dev/null"), Replace::Anything),
        Err(DumpError::NotAFile { .. })
    ));
}

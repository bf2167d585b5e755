//! Our own dump, written and read back.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{read, read_path};
use crate::dump::{DumpError, DumpWriter, FileFormat, Replace};

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

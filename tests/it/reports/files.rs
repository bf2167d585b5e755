//! `-o FORMAT=FILE`: a file is whole, or as it was.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Output, Stdio},
};

use super::{AS_OF, FORMATS, lost_claims};
use crate::support::{Call, binary, read};

/// A folder with a dump of so many findings.
fn place(count: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("dump.json"), lost_claims(count)).expect("it can be written");
    folder
}

fn audit(folder: &Path, args: &[&str]) -> Call {
    let args = [&["audit", "-f", "dump.json"], &AS_OF[..], args].concat();
    Call { folder: Some(folder.to_owned()), ..Call::new(args) }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    let name = |it: std::io::Result<fs::DirEntry>| {
        it.expect("it is there").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<_> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn a_file_holds_what_would_be_printed() {
    let folder = place(3);
    let at = folder.path();
    for code in [0, 3] {
        let fail_on: &[&str] = if code == 3 { &["--fail-on", "info"] } else { &[] };
        let outputs: Vec<_> =
            FORMATS.iter().map(|(format, end)| format!("{format}=a.{end}")).collect();
        let files = outputs.iter().flat_map(|it| ["-o", &**it]);
        let files: Vec<_> = files.chain(fail_on.iter().copied()).collect();
        let ran = audit(at, &files).run();
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stdout.starts_with("SEVERITY"), "the table stays on stdout: {}", ran.stdout);
        for (format, end) in FORMATS {
            let printed = audit(at, &["-o", format]).run();
            assert_eq!(printed.code, Some(0), "{}", printed.stderr);
            assert_eq!(read(&at.join(format!("a.{end}"))), printed.stdout, "{format}");
            fs::remove_file(at.join(format!("a.{end}"))).expect("it is there");
        }
        assert_eq!(names(at), ["dump.json"]);
    }
}

#[test]
fn an_incomplete_report_is_written_and_exits_with_4() {
    let folder = place(3);
    let args =
        ["audit", "-f", "dump.json", "--taken-at", "2026-06-01T00:00:00Z", "-o", "yaml=a.yaml"];
    let ran = Call { folder: Some(folder.path().to_owned()), ..Call::new(args) }.run();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(read(&folder.path().join("a.yaml")).contains("\ngaps:\n- "));
}

#[test]
fn a_file_keeps_its_rights_and_a_link_leads_where_it_led() {
    let folder = place(1);
    let at = folder.path();
    fs::write(at.join("there.csv"), "earlier").expect("it can be written");
    fs::set_permissions(at.join("there.csv"), Permissions::from_mode(0o640)).expect("it is ours");
    symlink("there.csv", at.join("link.csv")).expect("a link can be made");
    let ran = audit(at, &["-o", "csv=link.csv", "-o", "json=new.json"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(read(&at.join("there.csv")).starts_with("severity,id,"));
    assert!(fs::symlink_metadata(at.join("link.csv")).expect("it is there").is_symlink());
    let mode =
        |name: &str| fs::metadata(at.join(name)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode("there.csv"), 0o640);
    // Others may read a new one, as far as the umask lets them: collectors run as somebody else.
    assert_eq!(mode("new.json"), mode("dump.json"));
    let ran = audit(at, &["-o", "csv=link.csv", "-o", "json=there.csv"]).run();
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

/// Runs a call by a shell that has done something first.
fn shell(folder: &Path, first: &str, args: &str, stdout: Stdio) -> Output {
    let line = format!("{first}; exec \"$0\" audit -f dump.json {} {args}", AS_OF.join(" "));
    std::process::Command::new("/bin/sh")
        .args(["-c", &line])
        .arg(binary())
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .output()
        .expect("there is a shell")
}

#[test]
fn where_there_is_no_room_nothing_is_half_written() {
    let folder = place(400);
    let at = folder.path();
    fs::write(at.join("a.json"), "earlier").expect("it can be written");
    // More than 4 KiB do not fit into a file; the signal that would end it is an error instead, as on a full disk.
    let ran = shell(at, "trap '' XFSZ; ulimit -f 8", "-o json=a.json -o csv=b.csv", Stdio::null());
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    for told in ["a.json: not written\n", "b.csv: not written\n", "error: failed to write a.json"] {
        assert!(said.contains(told), "{said}");
    }
    assert_eq!(read(&at.join("a.json")), "earlier");
    assert_eq!(names(at), ["a.json", "dump.json"]);
}

#[test]
fn where_stdout_has_no_room_no_file_is_touched() {
    let folder = place(400);
    let at = folder.path();
    fs::write(at.join("a.json"), "earlier").expect("it can be written");
    let full = File::options().write(true).open("/dev/full").expect("there is one");
    let ran = shell(at, "true", "-o json=a.json -o csv", full.into());
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("a.json: not written\n"), "{said}");
    assert_eq!(read(&at.join("a.json")), "earlier");
    assert_eq!(names(at), ["a.json", "dump.json"]);
}

#[test]
fn a_reader_that_leaves_takes_no_file_along() {
    let folder = place(400);
    let at = folder.path();
    let mut child =
        audit(at, &["-o", "json=a.json", "-o", "csv"]).command().spawn().expect("it runs");
    drop(child.stdout.take());
    drop(child.stdin.take());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let report: serde_json::Value =
        serde_json::from_str(&read(&at.join("a.json"))).expect("it is whole");
    assert!(report["findings"].as_array().expect("a list").len() >= 400);
}

#[test]
fn what_is_read_is_not_replaced_and_a_stream_is_no_file() {
    let folder = place(1);
    let before = read(&folder.path().join("dump.json"));
    for (file, told) in [
        ("json=dump.json", "dump.json is a dump that is read"),
        ("json=./dump.json", "./dump.json is a dump that is read"),
        ("csv=/dev/stdout", "not a regular file"),
        ("csv=new/", "no name of a file"),
    ] {
        let ran = audit(folder.path(), &["-o", file]).run();
        assert!(matches!(ran.code, Some(1 | 2)) && ran.stderr.contains(told), "{}", ran.stderr);
    }
    assert_eq!(read(&folder.path().join("dump.json")), before);
    assert_eq!(names(folder.path()), ["dump.json"]);
}

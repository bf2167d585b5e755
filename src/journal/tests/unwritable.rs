use super::*;
use crate::journal::{JournalConsequence, JournalError};

/// Returns the message with its cause.
fn told(error: &JournalError) -> String {
    let source = std::error::Error::source(error).map(|it| format!(": {it}"));
    format!("{error}{}", source.unwrap_or_default())
}

#[test]
fn what_cannot_hold_a_journal_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "a file").expect("writable");
    let cluster = folder.path().join("cluster");
    fs::create_dir_all(cluster.join(JOURNAL)).expect("writable");
    for (folder, named) in [
        (&file, file.clone()),
        (&file.join("below"), file.join("below")),
        (&cluster, cluster.join(JOURNAL)),
    ] {
        let error = Log::open(folder).expect_err("it is no folder");
        let text = told(&error);
        assert!(text.starts_with("nothing was sent: "), "{text}");
        assert!(text.contains(&named.display().to_string()), "{text}");
        assert!(text.contains("set XDG_STATE_HOME to a"), "{text}");
        let error = history(folder).expect_err("nor is it an empty journal");
        assert!(told(&error).starts_with("the journal was not read: "), "{error}");
    }
    assert_eq!(fs::read(&file).expect("still there"), b"a file");
}

#[cfg(unix)]
#[test]
fn what_may_not_be_written_is_refused_before_anything_is_sent() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    fs::create_dir(&home).expect("writable");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o500)).expect("ours");
    // root may write everywhere; for root, the home is a file.
    let forbidden = fs::write(home.join("probe"), "").is_err();
    if !forbidden {
        fs::remove_dir_all(&home).expect("ours");
        fs::write(&home, "").expect("writable");
    }
    let error = Log::open(&home.join("cluster")).expect_err("refused");
    assert!(matches!(error, JournalError::Unwritable { .. }), "{error}");
    let kind = |error: &JournalError| match error {
        JournalError::Unwritable { source, .. } => Some(source.kind()),
        _ => None,
    };
    let expected = match forbidden {
        true => std::io::ErrorKind::PermissionDenied,
        false => std::io::ErrorKind::NotADirectory,
    };
    assert_eq!(kind(&error), Some(expected), "{}", told(&error));
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_to_a_file_and_to_nothing_else() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = folder.path().join("elsewhere.jsonl");
    let linked = |name: &str, target: &Path| {
        let cluster = folder.path().join(name);
        fs::create_dir(&cluster).expect("writable");
        symlink(target, cluster.join(JOURNAL)).expect("writable");
        cluster
    };
    fs::write(&elsewhere, "").expect("writable");
    let good = linked("good", &elsewhere);
    assert_eq!(write(&good, &[(keep("one"), &[Outcome::Done])]), [1]);
    assert_eq!(read(&good).entries.len(), 1);
    assert!(fs::metadata(&elsewhere).expect("there").len() > 0);
    for (name, target) in [("device", "/dev/null"), ("folder", "/"), ("process", "/proc/self/mem")]
    {
        let cluster = linked(name, Path::new(target));
        let error = Log::open(&cluster).expect_err(target);
        assert!(told(&error).contains("XDG_STATE_HOME"), "{target}: {}", told(&error));
    }
    let nowhere = linked("nowhere", &folder.path().join("gone").join("journal"));
    let error = Log::open(&nowhere).expect_err("its folder is not there");
    assert!(matches!(error, JournalError::Unwritable { .. }), "{}", told(&error));
}

#[test]
fn a_journal_that_goes_away_or_shrinks_during_a_run_stops_it() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &[(keep("one"), &[Outcome::Done])]);
    let log = Log::open(folder.path()).expect("writable");
    replace(folder.path(), b"");
    let error = log.begin("run", None, &keep("two")).expect_err("it is not the one we opened");
    let consequence = JournalConsequence::NothingSent;
    assert!(
        matches!(&error, JournalError::Shrunk { consequence: it, .. } if *it == consequence),
        "{error}"
    );
    assert_eq!(bytes(folder.path()), b"");
    fs::remove_file(log.path()).expect("ours");
    let error = log.end(1, None, Outcome::Done, "").expect_err("it is gone");
    assert!(told(&error).starts_with("how entry 1 ended is not recorded"), "{}", told(&error));
    assert!(!log.path().exists(), "a journal that starts in the middle says nothing");
}

use super::super::{JournalConsequence, JournalError};
use super::*;

#[test]
fn what_is_written_comes_back_in_the_order_in_which_it_was_begun() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(read(folder.path()), History::default());
    let log = Log::open(folder.path()).expect("writable");
    assert_eq!(log.path(), folder.path().join("journal.jsonl"));
    let first = log.begin("a", at(0), &keep("one")).expect("room");
    let second = log.begin("b", None, &undo(first, "two")).expect("room");
    log.end(second, at(3), Outcome::Sent, "").expect("room");
    log.end(first, None, Outcome::Refused, "admission\nsaid \"no\"").expect("room");
    log.end(second, at(4), Outcome::Done, "gone").expect("room");
    let History { entries, notes, .. } = read(folder.path());
    assert_eq!(notes, [""; 0]);
    assert_eq!(sequences(&entries), [1, 2]);
    assert_eq!((&*entries[0].run, entries[0].at, &entries[0].intent), ("a", at(0), &keep("one")));
    assert_eq!((entries[1].at, &entries[1].intent), (None, &undo(first, "two")));
    let told = |entry: usize| -> Vec<_> {
        let ended = entries[entry].outcomes.iter();
        ended.map(|it| (it.at, it.outcome, it.detail.as_str())).collect()
    };
    assert_eq!(told(0), [(None, Outcome::Refused, "admission\nsaid \"no\"")]);
    assert_eq!(told(1), [(at(3), Outcome::Sent, ""), (at(4), Outcome::Done, "gone")]);
}

#[test]
fn a_line_is_as_it_is_documented() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &[(undo(9, "one"), &[Outcome::Unanswered])]);
    let text = String::from_utf8(bytes(folder.path())).expect("because it is JSON");
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let first = format!(
        r#"{{"version":1,"sequence":1,"previous":"{nothing}","at":"2023-11-14T22:13:20Z","type":"intent","run":"run","command":"undo","object":{{"apiVersion":"v1","kind":"PersistentVolume","name":"one","uid":"{UID}"}},"action":"delete-volume","because":"pv-released-past-threshold","request":{{"method":"DELETE","path":"/api/v1/persistentvolumes/one","contentType":"application/json","body":{{"preconditions":{{"resourceVersion":"7","uid":"{UID}"}}}}}},"backend":{{"driver":"hostpath.csi.k8s.io","handle":"one"}},"capacity":"10Gi","keeps":false,"undoes":9}}"#
    );
    let previous = crate::journal::line::hash(first.as_bytes());
    let second = format!(
        r#"{{"version":1,"sequence":2,"previous":"{previous}","at":"2023-11-14T22:13:21Z","type":"outcome","of":1,"outcome":"unanswered","detail":"because"}}"#
    );
    assert_eq!(text, format!("{first}\n{second}\n"));
}

#[test]
fn any_object_that_has_a_name_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = |kind: Kind| ObjectRef {
        key: ObjectKey {
            kind,
            namespace: kind.is_namespaced().then(|| "shop".into()),
            name: "n".into(),
        },
        uid: Uid::parse("of its own"),
    };
    let intents = Kind::ALL.map(|kind| Intent { object: object(kind), ..keep("one") });
    let log = Log::open(folder.path()).expect("writable");
    for intent in &intents {
        log.begin("run", None, intent).expect("room");
    }
    let History { entries, notes, .. } = read(folder.path());
    assert_eq!(notes, [""; 0]);
    let read: Vec<_> = entries.into_iter().map(|entry| entry.intent).collect();
    assert_eq!(read, intents);
}

#[cfg(unix)]
#[test]
fn only_its_owner_may_look_at_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().join("state").join("cluster");
    let log = Log::open(&new).expect("writable");
    let mode = |path: &Path| fs::metadata(path).expect("created").permissions().mode() & 0o777;
    assert_eq!(mode(&new), 0o700);
    assert_eq!(mode(&folder.path().join("state")), 0o700);
    assert_eq!(mode(log.path()), 0o600);
    // The probe is removed.
    assert_eq!(fs::read_dir(&new).expect("readable").count(), 1);
}

#[test]
fn whatever_was_left_of_the_last_line_the_next_one_goes_on_after_it() {
    let folder = tempfile::tempdir().expect("a folder");
    // One round for each byte.
    let brief = || Intent { capacity: None, ..undo(1, "one") };
    write(folder.path(), &[(brief(), &[Outcome::Done])]);
    let before = bytes(folder.path());
    for whole in [Vec::new(), before] {
        replace(folder.path(), &whole);
        write(folder.path(), &[(brief(), &[])]);
        let torn = bytes(folder.path());
        let known = sequences(&read(folder.path()).entries);
        for length in whole.len()..torn.len() {
            replace(folder.path(), &torn[..length]);
            let left = length - whole.len();
            // Without its line break, the line is complete.
            let complete = length + 1 == torn.len();
            let found = read(folder.path());
            let entries = known.len() - usize::from(!complete);
            assert_eq!(sequences(&found.entries), known[..entries], "{left} bytes");
            assert_eq!(found.notes.len(), usize::from(left > 0), "{left} bytes: {:?}", found.notes);
            assert!(
                found.notes.iter().all(|it| it.contains("run was killed")),
                "{:?}",
                found.notes
            );

            let log = Log::open(folder.path()).expect("a torn line is no reason to refuse");
            let next = log.begin("next", None, &keep("next")).expect("room");
            assert_eq!(next, whole.split(|it| *it == b'\n').count() as u64 + u64::from(complete));
            let (now, rest) = (bytes(folder.path()), left.min(1));
            assert_eq!(now[..length], torn[..length], "evidence is lost");
            assert_eq!(now[length..length + rest], b"\n"[..rest], "glued onto a torn line");
            let found = read(folder.path());
            assert_eq!(found.entries.len(), entries + 1, "{left} bytes");
            assert_eq!(found.entries.last().map(|it| &*it.run), Some("next"));
            let line = memchr::memchr_iter(b'\n', &whole).count() + 1;
            let note = format!("line {line} is torn: a run was killed while writing it");
            let torn = left > 0 && !complete;
            assert_eq!(found.notes, vec![note; usize::from(torn)], "{left} bytes");
        }
    }
}

#[test]
fn zeros_after_a_crash_are_a_torn_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for left in ["\0\0\0", "{\"version\":1,\"seq\0\0\0\0", "\0\0\n\0"] {
        replace(folder.path(), left.as_bytes());
        assert_eq!(write(folder.path(), &[(keep("one"), &[Outcome::Done])]), [1], "{left:?}");
        let found = read(folder.path());
        assert_eq!(sequences(&found.entries), [1]);
        assert!(!found.notes.is_empty(), "{left:?}");
        assert!(!found.notes.iter().any(|note| note.contains("edited")), "{:?}", found.notes);
    }
}

#[test]
fn a_line_longer_than_what_is_read_at_once_is_gone_on_from() {
    let folder = tempfile::tempdir().expect("a folder");
    for length in [65_000, 65_535, 65_536, 65_537, 300_000] {
        let long = Intent { pre_image: Some("x".repeat(length).into()), ..keep("long") };
        write(folder.path(), &[(long, &[Outcome::Done])]);
    }
    let found = read(folder.path());
    assert_eq!((sequences(&found.entries), found.notes), (vec![1, 3, 5, 7, 9], Vec::new()));
}

#[test]
fn an_unfinished_entry_of_an_earlier_run_can_be_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let [open] = write(folder.path(), &[(keep("one"), &[Outcome::Unanswered])])[..] else {
        panic!("one entry")
    };
    assert_eq!(sequences(read(folder.path()).open()), [open]);
    let log = Log::open(folder.path()).expect("writable");
    log.end(open, at(9), Outcome::Done, "it had been written").expect("room");
    let found = read(folder.path());
    assert_eq!((found.open().count(), found.notes), (0, Vec::new()));
}

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

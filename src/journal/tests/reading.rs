use super::{
    Outcome::{Done, Failed, Pending, Refused, Sent, Stale, Unanswered},
    *,
};
use crate::damage::hold;
use crate::journal::{JournalConsequence, JournalError};

/// Three entries, each with an outcome: lines 1 to 6.
fn three() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let entry = |name| (keep(name), &[Done][..]);
    write(folder.path(), &[entry("one"), entry("two"), entry("three")]);
    folder
}

#[test]
fn only_what_is_known_to_have_ended_is_not_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&[Outcome], bool, bool); 10] = [
        (&[], true, false),
        (&[Sent], true, false),
        (&[Unanswered], true, false),
        (&[Sent, Pending], false, true),
        (&[Sent, Done], false, false),
        (&[Unanswered, Done], false, false),
        (&[Pending, Done], false, false),
        (&[Refused], false, false),
        (&[Stale], false, false),
        (&[Failed], false, false),
    ];
    write(folder.path(), &cases.map(|(outcomes, ..)| (keep("one"), outcomes)));
    let history = read(folder.path());
    for ((outcomes, open, pending), entry) in cases.iter().zip(&history.entries) {
        assert_eq!((entry.is_open(), entry.is_pending()), (*open, *pending), "{outcomes:?}");
    }
    assert_eq!(history.open().count(), 3);
}

#[test]
fn a_finalizer_is_ours_until_we_remove_it() {
    type Case = (&'static str, Vec<(Intent, &'static [Outcome])>, &'static [&'static str]);
    let adds = |name: &str| Intent { adds_finalizer: Some(name.to_owned()), ..keep("a") };
    let removes = |name: &str| Intent { removes_finalizer: Some(name.to_owned()), ..keep("a") };
    let cases: [Case; 8] = [
        ("added", vec![(adds("f"), &[Sent, Done])], &["f"]),
        ("waited for", vec![(adds("f"), &[Sent, Pending])], &["f"]),
        ("perhaps added", vec![(adds("f"), &[Unanswered]), (adds("g"), &[])], &["f", "g"]),
        (
            "never written",
            vec![(adds("f"), &[Refused]), (adds("f"), &[Stale]), (adds("f"), &[Failed])],
            &[],
        ),
        ("removed", vec![(adds("f"), &[Sent, Done]), (removes("f"), &[Sent, Done])], &[]),
        ("another removed", vec![(adds("f"), &[Sent]), (removes("g"), &[Sent, Done])], &["f"]),
        // It is removed again where it is still there.
        ("perhaps removed", vec![(adds("f"), &[Sent]), (removes("f"), &[Unanswered])], &["f"]),
        (
            "added again",
            vec![(adds("f"), &[Sent]), (removes("f"), &[Sent, Done]), (adds("f"), &[Sent, Done])],
            &["f"],
        ),
    ];
    for (case, entries, expected) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &entries);
        let history = read(folder.path());
        let found: Vec<_> = history.added_finalizers().into_iter().collect();
        let uid = Uid::parse(UID).expect("it is one");
        let expected: Vec<_> = expected.iter().map(|it| (&uid, *it)).collect();
        assert_eq!(found, expected, "{case}");
    }
    // Those of an object whose uid is not known are nobody's.
    let folder = tempfile::tempdir().expect("a folder");
    let mut nameless = adds("f");
    nameless.object.uid = None;
    write(folder.path(), &[(nameless, &[Sent, Done])]);
    assert!(read(folder.path()).added_finalizers().is_empty());
}

#[test]
fn a_backend_is_kept_until_that_is_undone() {
    type Case = (&'static str, Vec<(Intent, &'static [Outcome])>, &'static [u64]);
    let other = |it: Intent| Intent { keeps: false, ..it };
    let cases: [Case; 9] = [
        (
            "done, or perhaps",
            vec![
                (keep("a"), &[Sent, Done]),
                (keep("b"), &[Sent, Pending]),
                (keep("c"), &[Unanswered]),
                (keep("d"), &[]),
            ],
            &[1, 4, 7, 9],
        ),
        (
            "never written",
            vec![(keep("a"), &[Refused]), (keep("b"), &[Stale]), (keep("c"), &[Failed])],
            &[],
        ),
        ("not meant to be kept", vec![(other(keep("a")), &[Done])], &[]),
        ("without a backend", vec![(Intent { backend: None, ..keep("a") }, &[Done])], &[]),
        ("undone", vec![(keep("a"), &[Done]), (undo(1, "a"), &[Done]), (keep("b"), &[])], &[5]),
        ("not yet undone", vec![(keep("a"), &[Done]), (undo(1, "a"), &[Sent])], &[1]),
        (
            "the undoing undone",
            vec![(keep("a"), &[Done]), (undo(1, "a"), &[Done]), (undo(3, "a"), &[Done])],
            &[1],
        ),
        ("kept again, the latest", vec![(keep("a"), &[Done]), (keep("a"), &[Done])], &[3]),
        (
            "kept again, and that undone",
            vec![(keep("a"), &[Done]), (keep("a"), &[Done]), (undo(3, "a"), &[Done])],
            &[],
        ),
    ];
    for (case, entries, kept) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &entries);
        assert_eq!(sequences(read(folder.path()).kept()), kept, "{case}");
    }
}

#[test]
fn a_line_that_somebody_edited_is_named_and_the_others_stay_readable() {
    for (from, to, left, note) in [
        // Its content was changed.
        ("persistentvolumes/two", "persistentvolumes/xxx", 3, "line 4 does not follow from line 3"),
        // It is no longer JSON.
        ("\"sequence\":3", "sequence:3", 2, "line 3 cannot be read, and line 4 does not follow"),
        // An outcome before the first intent.
        ("\"detail\":\"because\"", "\"detail\":\"\"", 3, "line 3 does not follow from line 2"),
        ("\"previous\":\"e3b0", "\"previous\":\"0000", 3, "line 1 does not begin the journal"),
    ] {
        let folder = three();
        edit(folder.path(), |text| text.replacen(from, to, 1));
        let history = read(folder.path());
        assert_eq!(history.entries.len(), left, "{from}");
        let noted = |it: &String| it.starts_with(note) && it.contains("the file was edited");
        assert!(history.notes.iter().any(noted), "{from}: {:?}", history.notes);
        // An edited file gets notes, and blocks no run.
        let next = Log::open(folder.path()).expect("ours").begin("run", None, &keep("next"));
        assert_eq!(next.expect("room"), 7);
    }
}

#[test]
fn a_line_that_somebody_removed_is_missed() {
    let folder = three();
    edit(folder.path(), |text| {
        let third = text.split_inclusive('\n').nth(2).map(str::to_owned);
        text.replace(&third.expect("there are six"), "")
    });
    let history = read(folder.path());
    assert_eq!(sequences(&history.entries), [1, 5]);
    assert_eq!(
        history.notes,
        [
            "line 3 does not follow from line 2: the file was edited there",
            "line 3 records the outcome of entry 3, which cannot be read",
        ]
    );
}

#[test]
fn changed_line_breaks_do_not_flood_the_notes() {
    let folder = three();
    write(folder.path(), &[(keep("four"), &[Done]), (keep("five"), &[Done])]);
    edit(folder.path(), |text| text.replace('\n', "\r\n"));
    let history = read(folder.path());
    assert_eq!(history.entries.len(), 5);
    assert_eq!(history.notes.len(), 6, "{:?}", history.notes);
    assert_eq!(history.notes[5], "4 more lines do not follow from those before them");
}

#[test]
fn a_sequence_that_is_used_twice_names_no_entry() {
    let folder = three();
    edit(folder.path(), |text| text.replacen("\"sequence\":5", "\"sequence\":3", 1));
    let history = read(folder.path());
    assert_eq!(sequences(&history.entries), [1, 3, 3]);
    assert_eq!(history.entry(3), None);
    assert_eq!(history.entry(1), history.entries.first());
    let noted = |it: &String| it == "line 5: sequence 3 is used again, and identifies no entry";
    assert!(history.notes.iter().any(noted), "{:?}", history.notes);
}

#[test]
fn unknown_fields_are_left_alone_and_unknown_types_are_told() {
    let folder = three();
    edit(folder.path(), |text| {
        let text = text.replace("\"command\":", "\"since\":{\"a\":[1]},\"command\":");
        text.replacen("\"type\":\"outcome\"", "\"type\":\"weather\\u001b[2J\"", 1).replacen(
            "\"outcome\":\"done\"",
            "\"outcome\":\"soon\"",
            2,
        )
    });
    let History { entries, notes, .. } = read(folder.path());
    assert_eq!(entries.len(), 3);
    let open: Vec<_> = entries.iter().map(super::super::Entry::is_open).collect();
    assert_eq!(open, [true, true, false]);
    for note in [
        "line 2 is of a type that this version does not know: weather\\u{1b}[2J",
        "line 4: an outcome that this version cannot read",
    ] {
        assert!(notes.iter().any(|it| it == note), "{notes:?}");
    }
}

#[test]
fn a_newer_journal_is_told_by_readers_and_refused_by_writers() {
    let folder = three();
    let log = Log::open(folder.path()).expect("ours");
    let before = bytes(folder.path());
    for newer in ["{\"version\":3}\n{\"version\":2,\"previous\":7}\n", "{\"version\":3,\"x\":"] {
        replace(folder.path(), &[&before, newer.as_bytes()].concat());
        let history = read(folder.path());
        assert_eq!(sequences(&history.entries), [1, 3, 5]);
        let noted = "lines of a newer kubectl-storage (version 3 of the journal) cannot be read: 2, from line 7; what they record of other entries is missing";
        let whole = newer.ends_with('\n');
        assert_eq!(history.notes.contains(&noted.to_owned()), whole, "{:?}", history.notes);
        assert_eq!(Log::open(folder.path()).is_err(), whole);
    }
    // A newer version appended during this run.
    replace(folder.path(), &[&before, &b"{\"version\":2}\n"[..]].concat());
    let now = bytes(folder.path());
    let error = log.begin("run", None, &keep("x")).expect_err("refused");
    assert!(matches!(error, JournalError::Newer { version: 2, .. }), "{error}");
    assert!(error.to_string().starts_with("nothing was sent: "), "{error}");
    let error = log.end(5, None, Done, "").expect_err("refused");
    assert!(error.to_string().starts_with("how entry 5 ended is not recorded"), "{error}");
    assert_eq!(bytes(folder.path()), now);
}

#[test]
fn a_file_that_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for text in ["hello", "{\"a\":1}\n", "\n\u{feff}x\n", "{\"version\":0,\"sequence\":1}\n", "[]"]
    {
        replace(folder.path(), text.as_bytes());
        let error = Log::open(folder.path()).expect_err(text);
        assert!(matches!(error, JournalError::Foreign { .. }), "{text}: {error}");
        let error = history(folder.path()).expect_err(text);
        let consequence = JournalConsequence::NotRead;
        let foreign =
            matches!(error, JournalError::Foreign { consequence: it, .. } if it == consequence);
        assert!(foreign, "{text}: {error}");
        assert_eq!(bytes(folder.path()), text.as_bytes());
    }
}

#[test]
fn a_clock_that_jumps_changes_no_order_and_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = Log::open(folder.path()).expect("writable");
    // The clocks of concurrent runs may differ a little.
    for (seconds, name) in [(5_000, "a"), (4_990, "b"), (90_000, "c"), (10, "d")] {
        log.begin("run", at(seconds), &keep(name)).expect("room");
    }
    log.end(7, None, Done, "").expect("room");
    let history = read(folder.path());
    assert_eq!(sequences(&history.entries), [1, 2, 3, 4]);
    assert_eq!(history.entries[3].at, at(10));
    assert_eq!(
        history.notes,
        [
            "line 4: the clock went backwards, from 2023-11-15T23:13:20Z to 2023-11-14T22:13:30Z; the \
         order is that of the lines",
            "line 5 records the outcome of entry 7, which cannot be read",
        ]
    );
}

#[test]
fn a_time_that_is_none_is_not_known() {
    let folder = three();
    edit(folder.path(), |text| text.replace("2023-11-14T22:13:20Z", "yesterday"));
    let history = read(folder.path());
    assert_eq!(history.entries.iter().map(|entry| entry.at).collect::<Vec<_>>(), [None; 3]);
}

#[test]
fn a_reader_does_not_wait_for_ever_for_a_run_that_is_suspended() {
    let folder = three();
    let suspended = fs::File::open(folder.path().join(JOURNAL)).expect("there");
    suspended.lock().expect("nobody else has it");
    let history = read(folder.path());
    assert_eq!(history.entries.len(), 3);
    assert_eq!(history.notes, ["it was read while another run may have been writing to it"]);
}

#[test]
fn damaged_journals_are_read_or_refused() {
    let folder = three();
    let path = folder.path().join(JOURNAL);
    let sound = fs::read(&path).expect("it was written");
    hold("journals", &[sound], |bytes| {
        fs::write(&path, bytes).expect("the folder is writable");
        if let Ok(history) = history(folder.path()) {
            let _ = (history.open().count(), history.notes.len());
        }
    });
}

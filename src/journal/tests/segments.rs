//! The journal in segments, over a store in memory.

use std::time::Duration;

use super::segment_store::{Fault, SharedStore};
use super::*;
use crate::journal::segment::{segment_name, segment_number};
use crate::journal::{
    JournalConsequence, JournalError, JournalRecord, SegmentBounds, SegmentFailure, SegmentLog,
    Term, history_of_segments,
};

/// Segments of about three lines.
const SMALL: SegmentBounds = SegmentBounds { full: 2200, longest: 4000, pause: Duration::ZERO };

fn term(lease: &str, transitions: u64) -> Term {
    Term { lease: lease.to_owned(), transitions }
}

fn intent(run: &str, volume: &str) -> JournalRecord {
    JournalRecord::Intent { run: run.to_owned(), at: at(0), intent: Box::new(keep(volume)) }
}

async fn open(store: &SharedStore, term: Option<Term>) -> SegmentLog<SharedStore> {
    SegmentLog::open(store.clone(), term, SMALL).await.expect("it can be written")
}

async fn append(log: &SegmentLog<SharedStore>, volume: &str) -> Result<u64, JournalError> {
    log.append_all(&[intent("run", volume)]).await.remove(0)
}

fn stored(store: &SharedStore) -> History {
    history_of_segments(&store.0.borrow().all())
}

fn volumes(history: &History) -> Vec<String> {
    history.entries.iter().map(|it| it.intent.object.key.name.to_string()).collect()
}

#[track_caller]
fn failure(failed: Result<u64, JournalError>) -> SegmentFailure {
    match failed.expect_err("it was refused") {
        JournalError::InCluster { consequence, failure } => {
            assert_eq!(consequence, JournalConsequence::NothingSent);
            failure
        }
        other => panic!("{other}"),
    }
}

#[test]
fn names_sort_as_numbers_do_and_no_other_name_is_a_segment() {
    assert_eq!(segment_name(7), "kubectl-storage-journal-000007");
    assert_eq!(segment_name(1_234_567), "kubectl-storage-journal-1234567");
    for number in [1, 7, 999_999, 1_234_567] {
        assert_eq!(segment_number(&segment_name(number)), Some(number));
    }
    for name in [
        "kubectl-storage-journal-",
        "kubectl-storage-journal-0",
        "kubectl-storage-journal-000000",
        "kubectl-storage-journal-7",
        "kubectl-storage-journal-+00007",
        "kubectl-storage-journal-00000007",
        "kubectl-storage-kept-backends",
    ] {
        assert_eq!(segment_number(name), None, "{name}");
    }
}

#[tokio::test]
async fn a_full_segment_is_closed_and_the_chain_goes_on_in_the_next() {
    let store = SharedStore::default();
    let log = open(&store, None).await;
    for number in 1..=10 {
        assert_eq!(append(&log, &format!("v{number}")).await.expect("room"), number);
    }
    let all = store.0.borrow().all();
    assert!(all.len() > 2, "{} segments", all.len());
    let (last, closed) = all.split_last().expect("some");
    assert!(!last.closed && closed.iter().all(|it| it.closed));
    assert!(all.iter().all(|it| it.text.len() <= SMALL.full));
    let history = stored(&store);
    assert_eq!((sequences(&history.entries), history.notes), ((1..=10).collect(), Vec::new()));
    // Another run goes on where this one ended, and many records at once fill several segments.
    let log = open(&store, None).await;
    let many: Vec<_> = (11..=20).map(|number| intent("next", &format!("v{number}"))).collect();
    let appended: Vec<_> =
        log.append_all(&many).await.into_iter().map(|it| it.expect("room")).collect();
    assert_eq!(appended, (11..=20).collect::<Vec<_>>());
    let history = stored(&store);
    assert_eq!((sequences(&history.entries), history.notes), ((1..=20).collect(), Vec::new()));
}

#[tokio::test]
async fn a_record_is_that_of_the_file_with_the_epoch_of_the_leader() {
    let store = SharedStore::default();
    let log = open(&store, Some(term("lease-a", 3))).await;
    append(&log, "one").await.expect("room");
    let ended = JournalRecord::Outcome {
        of: 1,
        at: at(1),
        outcome: Outcome::Done,
        detail: "because".to_owned(),
    };
    log.append_all(&[ended]).await.remove(0).expect("room");
    let text = store.0.borrow().all().remove(0).text;
    for line in text.lines() {
        assert!(line.contains(r#""term":{"lease":"lease-a","transitions":3},"type":"#), "{line}");
    }
    // But for the epoch, it is the line that the file has.
    let folder = tempfile::tempdir().expect("a folder");
    super::write(folder.path(), &[(keep("one"), &[])]);
    let in_file = String::from_utf8(bytes(folder.path())).expect("JSON");
    let of_a_person = SharedStore::default();
    append(&open(&of_a_person, None).await, "one").await.expect("room");
    assert_eq!(of_a_person.0.borrow().all().remove(0).text, in_file);
    let history = stored(&store);
    assert_eq!(history.entries[0].term, Some(term("lease-a", 3)));
    assert_eq!(history.entries[0].last(), Some(Outcome::Done));
}

#[tokio::test]
async fn a_record_that_is_too_long_is_refused_and_keeps_no_other_from_being_appended() {
    let store = SharedStore::default();
    let log = open(&store, None).await;
    let sized = |length: usize| {
        let intent = Intent { pre_image: Some("x".repeat(length).into()), ..keep("long") };
        JournalRecord::Intent { run: "run".to_owned(), at: None, intent: Box::new(intent) }
    };
    let mut ends =
        log.append_all(&[intent("run", "a"), sized(4000), intent("run", "b"), sized(2500)]).await;
    assert_eq!(ends.remove(0).expect("room"), 1);
    assert!(
        matches!(failure(ends.remove(0)), SegmentFailure::TooLong { length, .. } if length > 4000)
    );
    assert_eq!(ends.remove(0).expect("room"), 2);
    // One that is longer than a segment has one to itself.
    assert_eq!(ends.remove(0).expect("room"), 3);
    assert_eq!(append(&log, "c").await.expect("room"), 4);
    let history = stored(&store);
    assert_eq!(
        (volumes(&history), history.notes),
        (["a", "b", "long", "c"].map(str::to_owned).to_vec(), Vec::new())
    );
}

#[tokio::test]
async fn whoever_was_overtaken_appends_after_the_other() {
    let store = SharedStore::default();
    let (one, other) = (open(&store, None).await, open(&store, None).await);
    for round in 0..4 {
        append(&one, &format!("one-{round}")).await.expect("room");
        append(&other, &format!("other-{round}")).await.expect("room");
    }
    let history = stored(&store);
    assert_eq!((sequences(&history.entries), &history.notes), ((1..=8).collect(), &Vec::new()));
    assert_eq!(volumes(&history)[..3], ["one-0", "other-0", "one-1"]);
}

#[tokio::test]
async fn an_answer_that_never_came_is_resolved_by_reading() {
    for (fault, writes) in [(Fault::Unanswered, 1), (Fault::Lost, 1), (Fault::Late, 1)] {
        let store = SharedStore::default();
        let log = open(&store, None).await;
        store.0.borrow_mut().faults.push_back(fault);
        assert_eq!(append(&log, "one").await.expect("resolved"), 1, "{fault:?}");
        assert_eq!(store.0.borrow().writes, writes, "{fault:?}");
        // The request that was on its way arrives after all.
        store.0.borrow_mut().arrive(0);
        assert_eq!(store.0.borrow().writes, writes, "{fault:?}");
        assert_eq!(append(&log, "two").await.expect("room"), 2);
        let history = stored(&store);
        assert_eq!(
            (volumes(&history), history.notes),
            (vec!["one".to_owned(), "two".to_owned()], Vec::new())
        );
    }
}

#[tokio::test]
async fn an_answer_that_never_came_is_found_beneath_what_others_appended() {
    let store = SharedStore::default();
    let (one, other) = (open(&store, None).await, open(&store, None).await);
    append(&one, "first").await.expect("room");
    store.0.borrow_mut().faults.push_back(Fault::Unanswered);
    // The other appends between the lost answer and the look at what has become of it.
    let mut appending = std::pin::pin!(append(&one, "mine"));
    while store.0.borrow().writes < 2 {
        assert!(futures::poll!(&mut appending).is_pending());
    }
    for number in 0..5 {
        append(&other, &format!("theirs-{number}")).await.expect("room");
    }
    assert_eq!(appending.await.expect("it is there"), 2);
    let history = stored(&store);
    assert_eq!(volumes(&history)[..3], ["first", "mine", "theirs-0"]);
    assert_eq!((history.entries.len(), history.notes), (7, Vec::new()));
}

#[tokio::test]
async fn what_cannot_be_resolved_or_is_refused_forbids_the_write() {
    let store = SharedStore::default();
    let log = open(&store, None).await;
    store.0.borrow_mut().faults.extend([Fault::Refused]);
    let refused = failure(append(&log, "a").await);
    assert!(
        matches!(refused, SegmentFailure::Unwritable { ref reason, .. } if reason.contains("403"))
    );
    store.0.borrow_mut().faults.extend([Fault::Lost; 10]);
    let unanswered = failure(append(&log, "b").await);
    assert!(matches!(unanswered, SegmentFailure::Unanswered { tries: 10, .. }), "{unanswered}");
    // The answer is lost, and so is the look.
    store.0.borrow_mut().faults.push_back(Fault::Unanswered);
    let mut appending = std::pin::pin!(append(&log, "c"));
    while store.0.borrow().writes < 1 {
        assert!(futures::poll!(&mut appending).is_pending());
    }
    store.0.borrow_mut().blind = Some("it is down".to_owned());
    let unread = failure(appending.await);
    assert!(matches!(unread, SegmentFailure::Unreadable { .. }), "{unread}");
    // It was stored all the same: nothing was sent, which the open entry says.
    store.0.borrow_mut().blind = None;
    assert_eq!(append(&log, "d").await.expect("room"), 2);
    let history = stored(&store);
    assert_eq!(
        (volumes(&history), history.open().count()),
        (vec!["c".to_owned(), "d".to_owned()], 2)
    );
    assert_eq!(history.notes, [""; 0]);
}

#[tokio::test]
async fn a_leader_never_appends_after_a_later_one() {
    let store = SharedStore::default();
    let old = open(&store, Some(term("lease", 1))).await;
    append(&old, "old").await.expect("it leads");
    let new = open(&store, Some(term("lease", 2))).await;
    append(&new, "new").await.expect("it leads");
    // The old one was stopped meanwhile, and goes on with what it knew.
    for _ in 0..2 {
        let over = failure(append(&old, "late").await);
        assert!(matches!(over, SegmentFailure::Overtaken { .. }), "{over}");
    }
    let over = SegmentLog::open(store.clone(), Some(term("lease", 1)), SMALL).await;
    assert!(over.is_err_and(|it| it.to_string().contains("records of a later leader")));
    // A person may append at any time, and lifts nothing.
    append(&open(&store, None).await, "person").await.expect("a person");
    assert!(append(&old, "late").await.is_err());
    append(&new, "again").await.expect("it still leads");
    let history = stored(&store);
    assert_eq!(
        (volumes(&history), history.notes),
        (["old", "new", "person", "again"].map(str::to_owned).to_vec(), Vec::new())
    );
}

#[tokio::test]
async fn of_two_leases_the_one_that_exists_is_the_later_one() {
    let store = SharedStore::default();
    store.0.borrow_mut().lease = Some("a".to_owned());
    let of_a = open(&store, Some(term("a", 7))).await;
    append(&of_a, "a").await.expect("it leads");
    // The Lease is deleted and created again; the leader of the first one does not know yet.
    store.0.borrow_mut().lease = Some("b".to_owned());
    let of_b = open(&store, Some(term("b", 0))).await;
    append(&of_b, "b").await.expect("its Lease exists");
    assert!(matches!(failure(append(&of_a, "late").await), SegmentFailure::Overtaken { .. }));
    // Not even if its uid came back.
    store.0.borrow_mut().lease = Some("a".to_owned());
    assert!(matches!(failure(append(&of_a, "late").await), SegmentFailure::Overtaken { .. }));
    // One that had not appended yet is known by its Lease.
    for (lease, leads) in [(Some("b"), false), (None, false), (Some("c"), true)] {
        store.0.borrow_mut().lease = lease.map(str::to_owned);
        let of_c = SegmentLog::open(store.clone(), Some(term("c", 0)), SMALL).await;
        assert_eq!(of_c.is_ok(), leads, "{lease:?}");
    }
    assert_eq!(volumes(&stored(&store)), ["a", "b"]);
}

#[tokio::test]
async fn what_somebody_removed_or_edited_is_told_and_stops_the_runs_that_had_read_it() {
    let store = SharedStore::default();
    let log = open(&store, None).await;
    for number in 1..=10 {
        append(&log, &format!("v{number}")).await.expect("room");
    }
    assert!(store.0.borrow().segments.len() >= 4);
    let note = |store: &SharedStore, wanted: &str| {
        let notes = stored(store).notes;
        assert!(notes.iter().any(|it| it.contains(wanted)), "{wanted}: {notes:#?}");
    };
    // A gap.
    let removed = store.0.borrow_mut().segments.remove(&2).expect("it is closed");
    note(&store, "segment 2 does not exist: its lines are missing");
    note(&store, "line 1 of segment 3 does not follow from line 3 of segment 1");
    // New runs are not blocked, and go on at the end.
    let sequence = append(&open(&store, None).await, "after").await.expect("room");
    assert_eq!(sequence, 11);
    store.0.borrow_mut().segments.insert(2, removed);
    assert_eq!(stored(&store).notes, [""; 0]);
    // The first ones.
    let first = [1, 2].map(|it| store.0.borrow_mut().segments.remove(&it).expect("there"));
    note(&store, "segments 1 to 2 do not exist: their lines are missing");
    note(&store, "line 1 of segment 3 does not begin the journal: the ConfigMap was edited");
    for segment in first {
        store.0.borrow_mut().segments.insert(segment.number, segment);
    }
    // A line in the middle.
    store
        .0
        .borrow_mut()
        .edit(1, |text| text.replacen("persistentvolumes/v2", "persistentvolumes/v9", 1));
    note(
        &store,
        "line 3 of segment 1 does not follow from line 2 of segment 1: the ConfigMap was edited",
    );
    store
        .0
        .borrow_mut()
        .edit(1, |text| text.replacen("persistentvolumes/v9", "persistentvolumes/v2", 1));
    // The last one, while a run writes to it.
    let last = *store.0.borrow().segments.last_key_value().expect("some").0;
    let log = open(&store, None).await;
    store.0.borrow_mut().edit(last, |_| String::new());
    assert!(matches!(failure(append(&log, "x").await), SegmentFailure::Changed { .. }));
    let log = open(&store, None).await;
    store.0.borrow_mut().segments.remove(&last);
    assert!(matches!(failure(append(&log, "x").await), SegmentFailure::Changed { .. }));
}

#[tokio::test]
async fn a_last_line_without_its_break_stays_as_evidence_on_a_line_of_its_own() {
    let store = SharedStore::default();
    let log = open(&store, None).await;
    append(&log, "one").await.expect("room");
    store.0.borrow_mut().edit(1, |text| format!("{text}{{\"version\":1,\"seq"));
    let history = stored(&store);
    assert_eq!(
        history.notes,
        ["line 2 of segment 1, the last one, is torn: the ConfigMap was edited"]
    );
    assert_eq!(append(&log, "two").await.expect("room"), 2);
    assert_eq!(append(&log, "three").await.expect("room"), 3);
    let history = stored(&store);
    assert_eq!(volumes(&history), ["one", "two", "three"]);
    assert_eq!(history.notes, ["line 2 of segment 1 is torn: the ConfigMap was edited"]);
}

#[tokio::test]
async fn what_is_not_ours_or_newer_or_may_not_be_written_is_refused_before_anything_is_sent() {
    let store = SharedStore::default();
    append(&open(&store, None).await, "one").await.expect("room");
    let opened = |store: &SharedStore| {
        let store = store.clone();
        async move { SegmentLog::open(store, None, SMALL).await.err().map(|it| it.to_string()) }
    };
    let before = store.0.borrow().all().remove(0).text;
    for (text, told) in [
        ("hello\n".to_owned(), "nothing was sent: segments is not a journal of kubectl-storage"),
        (format!("{before}{{\"version\":2}}\n"), "newer kubectl-storage (version 2"),
    ] {
        store.0.borrow_mut().edit(1, |_| text);
        assert!(opened(&store).await.is_some_and(|it| it.contains(told)), "{told}");
    }
    store.0.borrow_mut().edit(1, |_| before);
    assert_eq!(opened(&store).await, None);
    store.0.borrow_mut().refuses_creation = true;
    assert!(opened(&store).await.is_some_and(|it| it.contains("segment 2: 403")));
    store.0.borrow_mut().blind = Some("it is down".to_owned());
    assert!(
        opened(&store).await.is_some_and(|it| it.contains("failed to read segments: it is down"))
    );
    assert_eq!(store.0.borrow().writes, 1);
}

#[test]
fn no_segment_is_an_empty_history() {
    assert_eq!(history_of_segments::<u64>(&[]), History::default());
}

//! The journal in segments, over a store in memory.

use std::time::Duration;

use super::segment_store::{Fault, HERE, SharedStore};
use super::*;
use crate::journal::chain::ChainDoubt;
use crate::journal::segment::{segment_name, segment_number};
use crate::journal::{
    Entry, JournalConsequence, JournalError, JournalRecord, Segment, SegmentBounds, SegmentFailure,
    SegmentLog, Term, history_of_segments,
};

/// Segments of about three lines.
const SMALL: SegmentBounds = SegmentBounds {
    full: 1800,
    longest: 4000,
    pause: Duration::ZERO,
    awaited: Duration::MAX,
    patience: Duration::ZERO,
};

fn term(lease: &str, transitions: u64) -> Term {
    Term { lease: lease.to_owned(), transitions }
}

fn intent(run: &str, volume: &str) -> JournalRecord {
    JournalRecord::Intent { run: run.to_owned(), at: at(0), intent: Box::new(keep(volume)) }
}

async fn open(store: &SharedStore, term: Option<Term>) -> SegmentLog<SharedStore> {
    SegmentLog::open(store.clone(), term, SMALL).await.expect("it can be written").0
}

/// Opens it, and returns how many lines others had appended meanwhile.
async fn opened(store: &SharedStore, term: Option<Term>) -> Result<u64, SegmentFailure> {
    match SegmentLog::open(store.clone(), term, SMALL).await {
        Ok((_, opening)) => Ok(opening.added),
        Err(JournalError::InCluster { failure, .. }) => Err(failure),
        Err(other) => panic!("{other}"),
    }
}

async fn append(log: &SegmentLog<SharedStore>, volume: &str) -> Result<u64, JournalError> {
    log.append_all(&[intent("run", volume)]).await.remove(0)
}

fn stored(store: &SharedStore) -> History {
    history_of_segments(&store.0.borrow().all(), Ok(HERE))
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
    for number in [1, 7, 999_999] {
        assert_eq!(segment_number(&segment_name(number)), Some(number));
    }
    for name in [
        "kubectl-storage-journal-",
        "kubectl-storage-journal-0",
        "kubectl-storage-journal-000000",
        "kubectl-storage-journal-7",
        "kubectl-storage-journal-+00007",
        "kubectl-storage-journal-00000007",
        "kubectl-storage-journal-1234567",
        "kubectl-storage-journal-4294967295",
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
    // It is closed with the write that fills it, and no write only closes it.
    assert!(all.iter().all(|it| it.closed == (it.text.len() >= SMALL.full)));
    assert_eq!(store.0.borrow().writes, 10);
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
        of: 2,
        at: at(1),
        outcome: Outcome::Done,
        detail: "because".to_owned(),
    };
    log.append_all(&[ended]).await.remove(0).expect("room");
    let text = store.0.borrow().all().remove(0).text;
    for line in text.lines() {
        let author = r#""term":{"lease":"lease-a","transitions":3},"cluster":"here","type":"#;
        assert!(line.contains(author), "{line}");
    }
    // But for the epoch and the cluster, it is the line that the file has.
    let folder = tempfile::tempdir().expect("a folder");
    super::write(folder.path(), &[(keep("one"), &[])]);
    let in_file = String::from_utf8(bytes(folder.path())).expect("JSON");
    let of_a_person = SharedStore::default();
    append(&open(&of_a_person, None).await, "one").await.expect("room");
    let in_cluster = of_a_person.0.borrow().all().remove(0).text;
    assert_eq!(in_cluster.replacen(r#","cluster":"here""#, "", 1), in_file);
    assert_ne!(in_cluster, in_file);
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
    // One may be longer than what makes a segment full.
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
    assert!(over.err().is_some_and(|it| it.to_string().contains("records of a later leader")));
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
    // Nobody appends beyond it: what is after it may not be the journal.
    let gap = opened(&store, None).await.expect_err("it has a gap");
    assert_eq!(gap, SegmentFailure::Gap { place: "segment 2".to_owned() });
    store.0.borrow_mut().segments.insert(2, removed);
    assert_eq!(stored(&store).notes, [""; 0]);
    // The first ones.
    let first = [1, 2].map(|it| store.0.borrow_mut().segments.remove(&it).expect("there"));
    note(&store, "segments 1 to 2 do not exist: their lines are missing");
    note(&store, "line 1 of segment 3 does not begin the journal: the ConfigMap was edited");
    assert_eq!(opened(&store, None).await, Ok(0));
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
    let refused = |store: &SharedStore| {
        let store = store.clone();
        async move { SegmentLog::open(store, None, SMALL).await.err().map(|it| it.to_string()) }
    };
    let before = store.0.borrow().all().remove(0).text;
    for (text, told) in [
        ("hello\n".to_owned(), "nothing was sent: segments is not a journal of kubectl-storage"),
        (format!("{before}{{\"version\":2}}\n"), "newer kubectl-storage (version 2"),
    ] {
        store.0.borrow_mut().edit(1, |_| text);
        assert!(refused(&store).await.is_some_and(|it| it.contains(told)), "{told}");
    }
    store.0.borrow_mut().edit(1, |_| before);
    assert_eq!(refused(&store).await, None);
    store.0.borrow_mut().refuses_creation = true;
    assert!(refused(&store).await.is_some_and(|it| it.contains("segment 2: 403")));
    store.0.borrow_mut().blind = Some("it is down".to_owned());
    assert!(
        refused(&store).await.is_some_and(|it| it.contains("failed to read segments: it is down"))
    );
    assert_eq!(store.0.borrow().writes, 1);
}

#[test]
fn no_segment_is_an_empty_history() {
    assert_eq!(history_of_segments::<u64>(&[], Ok(HERE)), History::default());
    assert_eq!(history_of_segments::<u64>(&[], Err("403")), History::default());
}

#[tokio::test]
async fn what_was_recorded_in_another_cluster_is_neither_gone_on_with_nor_trusted() {
    let store = SharedStore::default();
    append(&open(&store, None).await, "one").await.expect("room");
    let log = open(&store, None).await;
    let history = |cluster| history_of_segments(&store.0.borrow().all(), cluster);
    assert_eq!(history(Ok(HERE)).distrusted, None);
    // A restore brings the segments into another cluster.
    store.0.borrow_mut().cluster = Some("there".to_owned());
    let refused = opened(&store, None).await.expect_err("it is of another cluster");
    assert!(
        matches!(refused, SegmentFailure::OtherCluster { ref recorded, ref cluster, .. }
            if recorded.0.as_deref() == Some(HERE) && cluster == "there"),
        "{refused}"
    );
    let read = history(Ok("there"));
    assert_eq!(read.entries.len(), 1, "it is shown");
    assert_eq!(
        read.distrusted.as_deref(),
        Some(
            "line 1 of segment 1 was recorded in cluster here, and this is cluster there: the \
             ConfigMaps were restored or copied"
        )
    );
    assert!(read.notes[0].ends_with("nothing is undone or destroyed by it"), "{:?}", read.notes);
    // Nobody knows which cluster this is.
    store.0.borrow_mut().cluster = None;
    let refused = opened(&store, None).await.expect_err("it is of no known cluster");
    assert_eq!(refused, SegmentFailure::Unidentified { reason: "403 Forbidden".to_owned() });
    assert!(history(Err("403")).distrusted.is_some_and(|it| it.ends_with("is unknown: 403")));
    // A line that does not say where it was recorded, and one that a run meets that has opened it.
    store.0.borrow_mut().cluster = Some(HERE.to_owned());
    for (from, into) in [
        (r#","cluster":"here""#, ""),
        (r#""cluster":"here""#, r#""cluster":7"#),
        (r#""cluster":"here""#, r#""cluster":"there""#),
    ] {
        let before = store.0.borrow().all().remove(0).text;
        let line = before.lines().next().expect("one").replacen(from, into, 1);
        store.0.borrow_mut().edit(1, |text| format!("{text}{line}\n"));
        let refused = opened(&store, None).await.expect_err("it does not say where");
        assert!(matches!(refused, SegmentFailure::OtherCluster { .. }), "{refused}");
        let refused = failure(append(&log, "late").await);
        assert!(matches!(refused, SegmentFailure::OtherCluster { .. }), "{refused}");
        assert!(history(Ok(HERE)).distrusted.is_some());
        store.0.borrow_mut().edit(1, |_| before);
    }
}

#[tokio::test]
async fn no_number_far_away_becomes_the_end_and_the_last_number_is_the_last() {
    let store = SharedStore::default();
    append(&open(&store, None).await, "one").await.expect("room");
    let far = Segment { number: 999_999, text: String::new(), ..store.0.borrow().all().remove(0) };
    store.0.borrow_mut().segments.insert(far.number, far.clone());
    let gap = opened(&store, None).await.expect_err("it is not the end");
    assert_eq!(gap, SegmentFailure::Gap { place: "segment 2".to_owned() });
    // Where nothing is before it, it is the end, and no other follows.
    let whole = store.0.borrow_mut().segments.remove(&1).expect("there");
    store
        .0
        .borrow_mut()
        .segments
        .insert(far.number, Segment { closed: true, text: whole.text, ..far });
    let refused = failure(append(&open(&store, None).await, "two").await);
    assert!(refused.to_string().contains("no number is left"), "{refused}");
}

#[tokio::test]
async fn an_edited_end_lifts_no_fence() {
    for (from, into, doubt) in [
        (r#""term":{"lease""#, r#""term":{"leash""#, ChainDoubt::UnreadableTerm),
        (r#""previous":""#, r#""previous":"0"#, ChainDoubt::Broken),
        (r#"{"version":1"#, r#"{"version":x"#, ChainDoubt::Unreadable),
    ] {
        let store = SharedStore::default();
        store.0.borrow_mut().lease = Some("lease".to_owned());
        let log = open(&store, Some(term("lease", 1))).await;
        append(&open(&store, Some(term("lease", 2))).await, "new").await.expect("it leads");
        store.0.borrow_mut().edit(1, |text| {
            let (before, last) = text.trim_end().rsplit_once('\n').expect("lines");
            format!("{before}\n{}\n", last.replacen(from, into, 1))
        });
        for transitions in [1, 2, 3] {
            let refused = opened(&store, Some(term("lease", transitions))).await;
            let doubtful = SegmentFailure::Doubtful { place: "segment 1".to_owned(), doubt };
            assert_eq!(refused, Err(doubtful), "{into}");
        }
        assert!(log.append_all(&[intent("run", "late")]).await.remove(0).is_err());
        // A person may append, and is told.
        let (_, opening) = SegmentLog::open(store.clone(), None, SMALL).await.expect("a person");
        assert_eq!(opening.notes, [format!("segment 1: {doubt}")]);
        assert!(!stored(&store).notes.is_empty(), "{into}");
    }
}

#[tokio::test]
async fn a_segment_that_was_restored_is_told_and_no_leader_goes_on_after_it() {
    let store = SharedStore::default();
    append(&open(&store, None).await, "one").await.expect("room");
    let created = |seconds| {
        store.0.borrow_mut().segments.get_mut(&1).expect("there").created = at(seconds);
    };
    // An outcome may have waited for an answer.
    created(200);
    assert_eq!(stored(&store).notes, [""; 0]);
    assert_eq!(opened(&store, Some(term("lease", 1))).await, Ok(0));
    created(86_400);
    let doubt = ChainDoubt::Recreated;
    assert_eq!(stored(&store).notes, [format!("segment 1: {doubt}")]);
    let doubtful = SegmentFailure::Doubtful { place: "segment 1".to_owned(), doubt };
    assert_eq!(opened(&store, Some(term("lease", 1))).await, Err(doubtful));
    append(&open(&store, None).await, "two").await.expect("a person");
}

#[tokio::test]
async fn what_is_not_only_a_segment_is_not_written_over() {
    let store = SharedStore::default();
    let log = open(&store, None).await;
    append(&log, "one").await.expect("room");
    let defect = "is being deleted".to_owned();
    store.0.borrow_mut().segments.get_mut(&1).expect("there").defect = Some(defect.clone());
    let refused = SegmentFailure::Defect { place: "segment 1".to_owned(), defect };
    assert_eq!(opened(&store, None).await, Err(refused));
    assert_eq!(stored(&store).notes, ["segment 1 is being deleted"]);
    assert_eq!(store.0.borrow().writes, 1);
}

#[tokio::test]
async fn a_leader_fences_those_before_it_when_it_begins_and_learns_what_they_did_meanwhile() {
    let store = SharedStore::default();
    let old = open(&store, Some(term("lease", 1))).await;
    append(&old, "old").await.expect("it leads");
    // The old one appends after the new one has read.
    let before = store.0.borrow().reads;
    let mut opening =
        std::pin::pin!(SegmentLog::open(store.clone(), Some(term("lease", 2)), SMALL));
    while store.0.borrow().reads == before {
        assert!(futures::poll!(&mut opening).is_pending());
    }
    append(&old, "meanwhile").await.expect("it still leads");
    let (_, begun) = opening.await.expect("it leads");
    assert_eq!(begun.added, 1);
    // From now on the old one is over, although the new one has recorded nothing else.
    let over = failure(append(&old, "late").await);
    assert!(matches!(over, SegmentFailure::Overtaken { .. }), "{over}");
    assert_eq!(opened(&store, Some(term("lease", 3))).await, Ok(0));
    let history = stored(&store);
    assert_eq!(
        (volumes(&history), history.notes),
        (["old", "meanwhile"].map(str::to_owned).to_vec(), Vec::new())
    );
}

#[tokio::test]
async fn what_was_stored_after_it_was_given_up_is_closed_as_refused() {
    let store = SharedStore::default();
    let log = open(&store, None).await;
    append(&log, "one").await.expect("room");
    store.0.borrow_mut().faults.push_back(Fault::Unanswered);
    let mut appending = std::pin::pin!(append(&log, "given-up"));
    while store.0.borrow().writes < 2 {
        assert!(futures::poll!(&mut appending).is_pending());
    }
    store.0.borrow_mut().blind = Some("it is down".to_owned());
    failure(appending.await);
    // While nobody knows, nothing is recorded.
    log.settle().await;
    assert_eq!(store.0.borrow().writes, 2);
    store.0.borrow_mut().blind = None;
    log.settle().await;
    log.settle().await;
    let history = stored(&store);
    assert_eq!(history.entry(2).and_then(Entry::last), Some(Outcome::Refused));
    assert_eq!((history.open().count(), store.0.borrow().writes), (1, 3));
    // What was not stored needs no end.
    store.0.borrow_mut().faults.extend([Fault::Lost; 10]);
    failure(append(&log, "lost").await);
    log.settle().await;
    assert_eq!(store.0.borrow().writes, 3);
}

#[tokio::test]
async fn how_a_request_ended_is_recorded_for_longer_than_a_write_waits() {
    let store = SharedStore::default();
    let bounds = SegmentBounds { awaited: Duration::ZERO, patience: Duration::MAX, ..SMALL };
    let (log, _) = SegmentLog::open(store.clone(), None, bounds).await.expect("it can be written");
    append(&log, "one").await.expect("it is tried once at least");
    store.0.borrow_mut().faults.extend([Fault::Lost; 40]);
    let unanswered = failure(append(&log, "two").await);
    assert!(matches!(unanswered, SegmentFailure::Unanswered { tries: 1, .. }), "{unanswered}");
    let ended =
        JournalRecord::Outcome { of: 1, at: at(1), outcome: Outcome::Done, detail: String::new() };
    log.append_all(&[ended]).await.remove(0).expect("it is tried again and again");
    assert_eq!(stored(&store).entries[0].last(), Some(Outcome::Done));
}

#[test]
fn an_error_names_the_entry_as_the_journal_of_the_cluster_does() {
    let failure = SegmentFailure::Foreign { place: "segments".to_owned() };
    let consequence = JournalConsequence::EndUnrecorded(7);
    let told = JournalError::InCluster { consequence, failure }.to_string();
    assert!(told.starts_with("how entry c7 ended is not recorded"), "{told}");
}

//! Writers that interleave in any order, over a store that loses answers and delays requests: every
//! record that was told to be stored is there once, in one order, and no leader appends after a later
//! one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::segment_store::{Fault, HERE, SharedStore};
use super::*;
use crate::journal::{JournalRecord, SegmentBounds, SegmentLog, Term, history_of_segments};

const BOUNDS: SegmentBounds = SegmentBounds {
    full: 3000,
    longest: 4000,
    pause: Duration::ZERO,
    awaited: Duration::MAX,
    patience: Duration::ZERO,
};
/// How many steps are taken at most: far more than any case needs.
const STEPS: usize = 20_000;

/// One process: who it is, and how many records it appends, in batches.
#[derive(Debug, Clone)]
struct Writer {
    /// The transitions of its term; `None` for a person.
    leads: Option<u64>,
    batches: Vec<usize>,
    /// After how many of its steps it is killed.
    killed_after: Option<usize>,
}

/// A process, as far as it has come.
type Work = Pin<Box<dyn Future<Output = ()>>>;

/// What a process was told of each record: its run, and its sequence if it is stored.
type Told = Rc<RefCell<Vec<(String, Option<u64>)>>>;

async fn work(store: SharedStore, who: usize, writer: Writer, told: Told) {
    let term = writer.leads.map(|transitions| Term { lease: "lease".to_owned(), transitions });
    let Ok((log, _)) = SegmentLog::open(store, term, BOUNDS).await else { return };
    for (batch, count) in writer.batches.iter().enumerate() {
        let run = |number: usize| format!("{who}-{batch}-{number}");
        let record = |number| JournalRecord::Intent {
            run: run(number),
            at: None,
            intent: Box::new(Intent { pre_image: None, ..keep("volume") }),
        };
        let records: Vec<_> = (0..*count).map(record).collect();
        for (number, end) in log.append_all(&records).await.into_iter().enumerate() {
            told.borrow_mut().push((run(number), end.ok()));
        }
    }
    log.settle().await;
}

fn writer() -> impl Strategy<Value = Writer> {
    let killed = option::weighted(0.3, 0..60_usize);
    (option::weighted(0.7, 0..4_u64), vec(1..4_usize, 1..6), killed)
        .prop_map(|(leads, batches, killed_after)| Writer { leads, batches, killed_after })
}

fn fault() -> impl Strategy<Value = Fault> {
    select(
        &[
            Fault::None,
            Fault::None,
            Fault::None,
            Fault::None,
            Fault::Lost,
            Fault::Unanswered,
            Fault::Late,
            Fault::Refused,
        ][..],
    )
}

/// Runs all writers, in the order that `choices` say.
fn interleave(
    writers: &[Writer],
    choices: &[u8],
    store: &SharedStore,
) -> Vec<(String, Option<u64>)> {
    let told = Told::default();
    let mut running: Vec<(usize, Work)> = writers
        .iter()
        .enumerate()
        .map(|(who, writer)| {
            let work = work(store.clone(), who, writer.clone(), Rc::clone(&told));
            (who, Box::pin(work) as Work)
        })
        .collect();
    let mut steps = vec![0; writers.len()];
    let mut context = Context::from_waker(Waker::noop());
    for step in 0..STEPS {
        if running.is_empty() {
            break;
        }
        let choice = usize::from(choices[step % choices.len()]) + step / choices.len();
        if choice.is_multiple_of(5) {
            store.0.borrow_mut().arrive(choice);
        }
        let place = choice % running.len();
        let (who, work) = &mut running[place];
        let who = *who;
        let is_done = matches!(work.as_mut().poll(&mut context), Poll::Ready(()));
        steps[who] += 1;
        if is_done || writers[who].killed_after.is_some_and(|after| steps[who] > after) {
            drop(running.swap_remove(place));
        }
    }
    assert!(running.is_empty(), "a writer goes on for ever");
    // What is still on its way arrives when everybody has ended.
    while store.0.borrow_mut().arrive(0) {}
    told.take()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn nothing_is_lost_nothing_is_there_twice_and_no_leader_follows_a_later_one(
        writers in vec(writer(), 2..5),
        choices in vec(any::<u8>(), 1..200),
        faults in vec(fault(), 0..60),
    ) {
        let store = SharedStore::default();
        store.0.borrow_mut().lease = Some("lease".to_owned());
        store.0.borrow_mut().faults.extend(faults);
        let told = interleave(&writers, &choices, &store);
        let segments = store.0.borrow().all();
        let history = history_of_segments(&segments, Ok(HERE));
        prop_assert_eq!(&history.notes, &[""; 0]);
        let stored = sequences(&history.entries);
        // The records with which leaders begin have numbers as well.
        prop_assert!(stored.is_sorted_by(|a, b| a < b), "{:?}", stored);
        let mut runs = BTreeMap::new();
        for entry in &history.entries {
            let twice = runs.insert(entry.run.as_str(), entry.sequence);
            prop_assert_eq!(twice, None, "{} is there twice", entry.run);
        }
        for (run, sequence) in &told {
            if let Some(sequence) = sequence {
                prop_assert_eq!(runs.get(run.as_str()), Some(sequence), "{} is lost", run);
            }
        }
        // The records of one process are in its order.
        for who in 0..writers.len() {
            let own = |run: &str| {
                let mut parts = run.split('-').map(|it| it.parse::<usize>().expect("a number"));
                (parts.next() == Some(who)).then(|| parts.collect::<Vec<_>>())
            };
            let own: Vec<_> = history.entries.iter().filter_map(|it| own(&it.run)).collect();
            prop_assert!(own.is_sorted_by(|a, b| a < b), "{:?}", own);
        }
        let terms: Vec<_> =
            history.entries.iter().filter_map(|it| it.term.as_ref()).map(|it| it.transitions).collect();
        prop_assert!(terms.is_sorted(), "{:?}", terms);
        if let Some((_, closed)) = segments.split_last() {
            prop_assert!(closed.iter().all(|it| it.closed));
        }
        for segment in &segments {
            prop_assert!(segment.text.len() < BOUNDS.full + BOUNDS.longest);
            prop_assert_eq!(segment.closed, segment.text.len() >= BOUNDS.full);
        }
    }
}

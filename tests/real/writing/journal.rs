//! The journal is lost in the middle of a run: from then on nothing is sent.

use std::fs;
use std::path::PathBuf;

use kubectl_storage::journal::{Outcome, history};

use super::{Case, Told, dry, real};
use crate::support::Fault;

/// Holds the first request that meets a fault, does something to the journal meanwhile, and tells how it all ended.
fn meanwhile(case: &Case, fault: Fault, happens: impl FnOnce(PathBuf)) -> Told {
    let held = case.proxy.hold(fault);
    let running = case.gc().start();
    held.wait();
    happens(case.journal_file());
    held.release();
    Told::of(running.finish())
}

/// Panics unless nothing at all was sent about a volume.
fn not_begun(case: &Case, told: &Told, volume: &String) {
    told.not_begun(volume);
    assert_eq!(case.sent(volume), [""; 0]);
    case.is_untouched(volume);
}

/// What cannot be written down is not done.
#[test]
fn the_journal_cannot_be_written_before_the_request() {
    let case = Case::of(2);
    let [first, second] = case.volumes.as_slice() else { panic!("two were asked for") };
    let told = meanwhile(&case, dry(Fault::hold(), first), |journal| {
        fs::remove_file(&journal).expect("because a run has opened it");
        fs::create_dir(&journal).expect("because nothing is there");
    });
    told.became(first, "failed", &["nothing was sent", "journal.jsonl"]);
    assert_eq!(told.entry(first), None);
    assert_eq!(case.sent(first), ["dry"]);
    assert_eq!(case.seen(first), ["dry 200"]);
    case.is_untouched(first);
    not_begun(&case, &told, second);
    let told = told.ends(1);
    told.notes("the run ended early");

    let refused = case.run().ends(1 + 4);
    assert!(refused.stderr.contains("is not a file"), "{refused}");
    fs::remove_dir(case.journal_file()).expect("because it is empty");
    assert_eq!(case.again().outcomes("done").len(), 2);
}

/// What was begun is finished, and nothing else is begun.
#[test]
fn the_journal_is_emptied_before_the_answer() {
    let case = Case::of(2);
    let [first, second] = case.volumes.as_slice() else { panic!("two were asked for") };
    let told = meanwhile(&case, real(Fault::hold(), first), |journal| {
        let file = fs::File::create(journal); // truncates it
        file.expect("because it is ours");
    })
    .ends(6);
    told.became(first, "done", &[]);
    told.notes("how entry 1 ended is not recorded");
    assert_eq!(told.json["notes"].as_array().map(Vec::len), Some(2), "each once: {told}");
    case.is_reclaimed(first);
    not_begun(&case, &told, second);
    assert!(case.recorded().is_empty(), "an emptied journal is not written to");
    assert_eq!(case.again().outcomes("done"), [second.as_str()]);
}

/// A journal that was moved away keeps an open entry, and no other is begun in its place.
#[test]
fn the_journal_is_moved_away_before_the_answer() {
    let case = Case::of(2);
    let [first, second] = case.volumes.as_slice() else { panic!("two were asked for") };
    let away = tempfile::tempdir().expect("because the temporary folder is writable");
    let told = meanwhile(&case, real(Fault::hold_after(), first), |journal| {
        fs::rename(journal, away.path().join("journal.jsonl")).expect("because both are ours");
    })
    .ends(6);
    told.became(first, "done", &[]);
    told.notes("how entry 1 ended is not recorded");
    case.is_reclaimed(first);
    not_begun(&case, &told, second);
    assert!(!case.journal_file().exists());
    let moved = history(away.path()).expect("because it is a journal");
    assert_eq!(moved.open().count(), 1);
    assert_eq!(moved.entries[0].last(), None);

    assert_eq!(case.again().outcomes("done"), [second.as_str()]);
    assert_eq!(case.recorded(), [(second.clone(), Some(Outcome::Done))]);
}

//! `kill -9` at each point of a step. Afterwards the journal says what was open, and another run goes on from what is.

use kubectl_storage::journal::Outcome;

use super::{Case, Told, dry, one, read, real};
use crate::support::{Fault, eventually};

/// What is left when the tool was killed at some point.
struct Left<'a> {
    /// The patches that it had sent.
    sent: &'a [&'static str],
    /// What the server had answered, once all had come to it.
    seen: &'a [&'a str],
    /// What the journal says last of its entry, if it has one.
    recorded: &'a [Option<Outcome>],
}

/// Kills the tool where it waits for the answer to a request. Whatever was on its way comes to the server or is lost,
/// as `arrives` says.
fn killed_at(fault: impl FnOnce(&str) -> Fault, arrives: bool, left: &Left) {
    let case = Case::of(2);
    let [first, second] = case.volumes.as_slice() else { panic!("two were asked for") };
    let held = case.proxy.hold(fault(first));
    let running = case.gc().start();
    held.wait();
    let told = Told::of(running.kill());
    assert_eq!((told.code, told.json.is_null()), (None, true), "{told}");
    if arrives {
        held.release();
    }
    drop(held);

    assert_eq!(case.sent(first), left.sent);
    eventually("the server has answered", || case.seen(first) == left.seen);
    let recorded: Vec<_> = left.recorded.iter().map(|it| (first.clone(), *it)).collect();
    assert_eq!(case.recorded(), recorded);
    let open = case.history().open().count();
    assert_eq!(open, recorded.len());
    let taken_effect = left.seen.contains(&"200");
    if taken_effect {
        case.is_reclaimed(first);
    } else {
        case.is_untouched(first);
    }
    assert_eq!(case.sent(second), [""; 0]);
    case.is_untouched(second);

    let told = case.again();
    assert_eq!(told.outcome(first) == "done", !taken_effect, "{told}");
    assert_eq!(told.stderr.contains("entry 1 of the journal"), open > 0, "{told}");
    let after: Vec<_> = case.recorded().into_iter().skip(recorded.len()).collect();
    let done = told.outcomes("done").into_iter().map(|it| (it.to_owned(), Some(Outcome::Done)));
    assert_eq!(sorted(after), sorted(done.collect()), "{told}");
}

fn sorted(mut all: Vec<(String, Option<Outcome>)>) -> Vec<(String, Option<Outcome>)> {
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn while_the_volume_is_read_again() {
    let left = Left { sent: &[], seen: &[], recorded: &[] };
    killed_at(|volume| read(Fault::hold(), volume), false, &left);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn before_the_dry_run_arrives() {
    let left = Left { sent: &["dry"], seen: &[], recorded: &[] };
    killed_at(|volume| dry(Fault::hold(), volume), false, &left);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn between_the_dry_run_and_the_journal() {
    let left = Left { sent: &["dry"], seen: &["dry 200"], recorded: &[] };
    killed_at(|volume| dry(Fault::hold_after(), volume), true, &left);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn after_the_journal_and_the_write_is_lost() {
    let left = Left { sent: &["dry", "real"], seen: &["dry 200"], recorded: &[None] };
    killed_at(|volume| real(Fault::hold(), volume), false, &left);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn after_the_journal_and_the_write_arrives() {
    let left = Left { sent: &["dry", "real"], seen: &["dry 200", "200"], recorded: &[None] };
    killed_at(|volume| real(Fault::hold(), volume), true, &left);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn before_the_answer_to_the_write_arrives() {
    let left = Left { sent: &["dry", "real"], seen: &["dry 200", "200"], recorded: &[None] };
    killed_at(|volume| real(Fault::hold_after(), volume), true, &left);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn while_the_event_is_written() {
    let recorded = &[Some(Outcome::Sent)];
    let left = Left { sent: &["dry", "real"], seen: &["dry 200", "200"], recorded };
    let event = |volume: &str| Fault::hold().on("POST", "/events$").body(volume);
    killed_at(event, false, &left);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn while_what_follows_is_verified() {
    let recorded = &[Some(Outcome::Sent)];
    let left = Left { sent: &["dry", "real"], seen: &["dry 200", "200"], recorded };
    let asked = |volume: &str| Fault::hold().on("GET", &one(volume)).after(1);
    killed_at(asked, true, &left);
}

/// Another run does not know that the request of the first is still on its way; the server tells them apart.
#[test]
#[ignore = "extended suite: kills and restarts"]
fn the_write_arrives_when_another_run_has_done_it() {
    let case = Case::of(1);
    let volume = &case.volumes[0];
    let held = case.proxy.hold(real(Fault::hold(), volume));
    let running = case.gc().start();
    held.wait();
    running.kill();
    let told = Told::of(case.gc().go()).ends(0);
    told.became(volume, "done", &[]);
    held.release();
    let seen = ["dry 200", "dry 200", "200", "404"];
    eventually("what was held has arrived", || case.seen(volume) == seen);
    case.is_reclaimed(volume);
    assert_eq!(case.recorded(), [(volume.clone(), None), (volume.clone(), Some(Outcome::Done))]);
}

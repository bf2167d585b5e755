//! Signals: the first ends after the step that was begun, the second at once.

use kubectl_storage::journal::Outcome;
use rustix::process::Signal;

use super::{Case, Told, dry, read, real};
use crate::support::Fault;

const FINISHING: &str = "finishing the current step";

/// Sends a signal while a request of the first of three volumes is held, then lets it go on.
fn once(signal: Signal, code: i32, fault: impl FnOnce(&str) -> Fault) {
    let case = Case::of(3);
    let [first, others @ ..] = case.volumes.as_slice() else { panic!("three were asked for") };
    let held = case.proxy.hold(fault(first));
    let mut running = case.gc().start();
    held.wait();
    running.signal(signal);
    running.says(FINISHING);
    held.release();
    let told = Told::of(running.finish()).ends(code);
    told.became(first, "done", &[]);
    case.is_reclaimed(first);
    for volume in others {
        told.not_begun(volume);
        told.became(volume, "refused", &["interrupted"]);
        assert_eq!(case.sent(volume), [""; 0]);
    }
    case.are_untouched(others);
    assert_eq!(case.recorded(), [(first.clone(), Some(Outcome::Done))]);
    assert_eq!(case.again().outcomes("done").len(), 2);
}

#[test]
fn ctrl_c_while_the_volume_is_read() {
    once(Signal::INT, 130, |volume| read(Fault::hold(), volume));
}

#[test]
fn ctrl_c_while_the_write_is_on_its_way() {
    once(Signal::INT, 130, |volume| real(Fault::hold(), volume));
}

#[test]
fn a_supervisor_ends_it_while_the_answer_is_on_its_way() {
    once(Signal::TERM, 143, |volume| real(Fault::hold_after(), volume));
}

/// Nothing is under way that has to be finished.
#[test]
fn ctrl_c_before_anything_is_written() {
    let case = Case::of(1);
    let held = case.proxy.hold(Fault::hold().on("GET", "^/api/v1/persistentvolumes$"));
    let running = case.gc().start();
    held.wait();
    running.signal(Signal::INT);
    let told = Told::of(running.finish()).ends(130);
    assert!(told.json.is_null(), "{told}");
    drop(held);
    assert_eq!(case.sent(&case.volumes[0]), [""; 0]);
    case.is_untouched(&case.volumes[0]);
    case.again();
}

/// The last step is finished: nothing was interrupted, and nothing is said to be.
#[test]
fn ctrl_c_during_the_last_step() {
    let case = Case::of(1);
    let volume = &case.volumes[0];
    let held = case.proxy.hold(real(Fault::hold(), volume));
    let mut running = case.gc().start();
    held.wait();
    running.signal(Signal::INT);
    running.says(FINISHING);
    held.release();
    let told = Told::of(running.finish()).ends(0);
    told.became(volume, "done", &[]);
    case.is_reclaimed(volume);
}

/// The entry stays open, and the next run says so.
#[test]
fn a_second_ctrl_c_ends_at_once() {
    let case = Case::of(2);
    let [first, second] = case.volumes.as_slice() else { panic!("two were asked for") };
    let held = case.proxy.hold(real(Fault::hold(), first));
    let mut running = case.gc().start();
    held.wait();
    running.signal(Signal::INT);
    running.says(FINISHING);
    running.signal(Signal::INT);
    let told = Told::of(running.finish()).ends(130);
    assert!(told.json.is_null(), "there is no receipt: {told}");
    assert_eq!(case.recorded(), [(first.clone(), None)]);
    let journal = case.history();
    assert_eq!(journal.open().map(|it| it.sequence).collect::<Vec<_>>(), [1]);
    held.lose();
    case.are_untouched(&case.volumes);
    assert_eq!(case.sent(second), [""; 0]);

    let told = case.again();
    assert_eq!(told.outcomes("done").len(), 2, "{told}");
    let explained = format!("entry 1 of the journal, about pv/{first}");
    assert!(told.stderr.contains(&explained), "{told}");
}

/// While it is still being looked at what would happen, nothing is open afterwards.
#[test]
fn a_second_signal_during_the_dry_run() {
    let case = Case::of(1);
    let volume = &case.volumes[0];
    let held = case.proxy.hold(dry(Fault::hold(), volume));
    let mut running = case.gc().start();
    held.wait();
    running.signal(Signal::TERM);
    running.says(FINISHING);
    running.signal(Signal::TERM);
    Told::of(running.finish()).ends(143);
    held.lose();
    assert!(case.recorded().is_empty());
    case.is_untouched(volume);
    case.again();
}

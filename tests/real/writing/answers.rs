//! One of three volumes meets an answer that it should not meet: what is sent, what is not, and what is said of it.

use kubectl_storage::journal::Outcome;
use serde_json::json;

use super::{Case, Told, dry, read, real};
use crate::support::{Fault, Run, claim, eventually};

/// What is expected of the second of three volumes.
struct Expect<'a> {
    outcome: &'a str,
    says: &'a [&'a str],
    /// The patches that the tool sends.
    sent: &'a [&'static str],
    /// What the API server answers to those that come to it.
    seen: &'a [&'a str],
    /// What the journal says, if it has an entry.
    recorded: Option<Outcome>,
    /// Whether the third volume is begun nevertheless.
    goes_on: bool,
}

/// Runs `gc` on three volumes of which the second meets a fault, then once more without it.
fn one_of_three(fault: impl FnOnce(&str) -> Fault, expect: &Expect) {
    let case = Case::of(3);
    let [first, second, third] = case.volumes.as_slice() else { panic!("three were asked for") };
    case.proxy.fault(fault(second));
    let told = case.run().ends(6);

    told.became(first, "done", &[]);
    told.became(second, expect.outcome, expect.says);
    assert_eq!(case.sent(second), expect.sent, "{told}");
    assert_eq!(case.seen(second), expect.seen, "{told}");
    let taken_effect = expect.seen.contains(&"200");
    if taken_effect {
        case.are_reclaimed(&case.volumes[..2]);
    } else {
        case.is_reclaimed(first);
        case.is_untouched(second);
    }
    let mut recorded = vec![(first.clone(), Some(Outcome::Done))];
    recorded.extend(expect.recorded.map(|it| (second.clone(), Some(it))));
    assert_eq!(told.entry(second).is_some(), expect.recorded.is_some(), "{told}");
    if expect.goes_on {
        told.became(third, "done", &[]);
        case.is_reclaimed(third);
        recorded.push((third.clone(), Some(Outcome::Done)));
    } else {
        told.not_begun(third);
        told.notes("the run ended early");
        assert_eq!(case.sent(third), [""; 0]);
        case.is_untouched(third);
    }
    assert_eq!(case.recorded(), recorded);

    let told = case.again();
    assert_eq!(told.outcome(second) == "done", !taken_effect, "{told}");
    assert_eq!(told.outcome(third) == "done", !expect.goes_on, "{told}");
    let explained = format!("about pv/{second}, is open");
    let open = expect.recorded == Some(Outcome::Unanswered);
    assert_eq!(told.stderr.contains(&explained), open, "{told}");
}

const NOT_SENT: Expect =
    Expect { outcome: "failed", says: &[], sent: &[], seen: &[], recorded: None, goes_on: false };
const NO_ANSWER: Expect = Expect {
    outcome: "unanswered",
    says: &["unknown whether the request took effect"],
    sent: &["dry", "real"],
    seen: &["dry 200"],
    recorded: Some(Outcome::Unanswered),
    goes_on: false,
};

#[test]
#[ignore = "extended suite: further faults"]
fn the_dry_run_is_one_too_many() {
    let fault = |volume: &str| dry(Fault::status(429).retry_after(1), volume);
    one_of_three(fault, &Expect { says: &["429"], sent: &["dry"], ..NOT_SENT });
}

#[test]
#[ignore = "extended suite: further faults"]
fn the_dry_run_meets_an_error() {
    let fault = |volume: &str| dry(Fault::status(500), volume);
    one_of_three(fault, &Expect { says: &["dry run", "500"], sent: &["dry"], ..NOT_SENT });
}

#[test]
#[ignore = "extended suite: further faults"]
fn the_dry_run_is_lost() {
    let fault = |volume: &str| dry(Fault::reset_after(), volume);
    let seen = &["dry 200"];
    one_of_three(fault, &Expect { says: &["dry run"], sent: &["dry"], seen, ..NOT_SENT });
}

/// As an admission webhook of before v1 may say it; now the API server takes none that does.
#[test]
fn a_webhook_cannot_be_asked_for_a_dry_run() {
    let message = r#"admission webhook "old.example" does not support dry run"#;
    let fault =
        |volume: &str| dry(Fault::status(400).reason("BadRequest").message(message), volume);
    let says = &["old.example", "does not support dry run"];
    let expect = Expect { outcome: "refused", says, sent: &["dry"], goes_on: true, ..NOT_SENT };
    one_of_three(fault, &expect);
}

#[test]
#[ignore = "extended suite: further faults"]
fn the_real_one_is_one_too_many() {
    let fault = |volume: &str| real(Fault::status(429).retry_after(1), volume);
    let expect = Expect { outcome: "failed", says: &["429"], ..NO_ANSWER };
    one_of_three(fault, &Expect { recorded: Some(Outcome::Failed), ..expect });
}

#[test]
#[ignore = "extended suite: further faults"]
fn only_the_real_one_is_forbidden() {
    let fault = |volume: &str| real(Fault::status(403).message("not today"), volume);
    let expect = Expect { outcome: "failed", says: &["403", "not today"], ..NO_ANSWER };
    one_of_three(fault, &Expect { recorded: Some(Outcome::Failed), ..expect });
}

#[test]
#[ignore = "extended suite: further cases"]
fn somebody_else_was_faster() {
    let fault = |volume: &str| real(Fault::status(409).message("it has been modified"), volume);
    let expect = Expect { outcome: "stale", says: &["modified"], goes_on: true, ..NO_ANSWER };
    one_of_three(fault, &Expect { recorded: Some(Outcome::Stale), ..expect });
}

#[test]
#[ignore = "extended suite: further cases"]
fn the_server_has_an_error() {
    let fault = |volume: &str| real(Fault::status(500), volume);
    one_of_three(fault, &Expect { says: &["unknown whether", "500"], ..NO_ANSWER });
}

#[test]
fn the_server_is_not_available() {
    let fault = |volume: &str| real(Fault::status(503).retry_after(1), volume);
    one_of_three(fault, &Expect { says: &["unknown whether", "503"], ..NO_ANSWER });
}

#[test]
#[ignore = "extended suite: further faults"]
fn the_answer_comes_too_late_for_a_gateway() {
    let fault = |volume: &str| real(Fault::status_after(504), volume);
    one_of_three(fault, &Expect { says: &["504"], seen: &["dry 200", "200"], ..NO_ANSWER });
}

/// A proxy has sent it twice, and only the second answer comes: what the first has done is in its way.
const SENT_TWICE: Expect = Expect {
    says: &["unknown whether the request took effect", "sent it twice"],
    seen: &["dry 200", "200"],
    goes_on: true,
    ..NO_ANSWER
};

#[test]
#[ignore = "extended suite: further faults"]
fn it_is_gone_after_it_was_carried_out() {
    one_of_three(|volume| real(Fault::status_after(404).absent(volume), volume), &SENT_TWICE);
}

#[test]
#[ignore = "extended suite: further cases"]
fn it_is_another_one_after_it_was_carried_out() {
    let changed = || Fault::status_after(409).message("it has been modified");
    one_of_three(|volume| real(changed(), volume), &SENT_TWICE);
}

/// One answer whose date is days ahead makes every volume old enough.
#[test]
fn nothing_is_removed_by_a_clock_that_disagrees() {
    let case = Case::of(1);
    let saved = case.home.path().join("plan.json");
    let saved = saved.to_string_lossy();
    let planned = case.gc().more(&["--plan-out", &saved]).go();
    assert_eq!(planned.code, Some(0), "{}", planned.stderr);
    let deletion = ["delete", "pvc", "data", "-n", &case.on.name, "--destroy-data", "--yes"];
    case.on.create(&claim("data", &case.driver.class_delete));
    let volume = case.on.bound("data");
    let of = |args: &[&str]| Run::of(args).kubeconfig(case.proxy.kubeconfig());
    let ahead = || {
        case.proxy.clear();
        let fault = Fault::clock(80 * 24 * 3600).on("GET", "^/api/v1/persistentvolumes$");
        case.proxy.fault(fault.times(1));
    };
    for run in [case.gc(), of(&["apply", &saved, "--yes"]), of(&deletion)] {
        ahead();
        let outcome = run.env("XDG_STATE_HOME", case.home.path()).go();
        assert_eq!(outcome.code, Some(5), "{}{}", outcome.stdout, outcome.stderr);
        // By that clock its provisioner is not running either, and the plan is old: that is said where it is asked first.
        let told = ["is 80d ahead of that of this machine", "is not running", "it is 80d old"];
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(told.iter().any(|it| said.contains(it)), "{said}");
        case.are_untouched(&case.volumes);
        assert!(case.driver.has(&case.on.handle(&volume)));
        assert!(case.on.get("pvc/data").is_some());
    }
    ahead();
    let outcome = case.gc().more(&["--keep-backend"]).go();
    let told = "the clock of the API server is 80d ahead of that of this machine";
    assert!(outcome.stderr.contains(told), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("--server"), "{}", outcome.stderr);
    case.are_untouched(&case.volumes);
    case.again();
}

#[test]
#[ignore = "extended suite: further faults"]
fn the_connection_is_reset_before_the_write() {
    one_of_three(|volume| real(Fault::reset_before(), volume), &NO_ANSWER);
}

#[test]
fn the_connection_is_reset_after_the_write() {
    let fault = |volume: &str| real(Fault::reset_after(), volume);
    one_of_three(fault, &Expect { seen: &["dry 200", "200"], ..NO_ANSWER });
}

#[test]
#[ignore = "extended suite: further faults"]
fn the_volume_cannot_be_read_again() {
    let fault = |volume: &str| read(Fault::status(500), volume);
    one_of_three(fault, &Expect { says: &["could not be read again", "500"], ..NOT_SENT });
}

#[test]
fn the_volume_may_not_be_read_again() {
    let fault = |volume: &str| read(Fault::status(403).message("not today"), volume);
    one_of_three(fault, &Expect { says: &["could not be read again", "not today"], ..NOT_SENT });
}

#[test]
#[ignore = "extended suite: further faults"]
fn its_claim_cannot_be_read_again() {
    let claim = |volume: &str| format!("/namespaces/left/persistentvolumeclaims/{volume}$");
    let fault = |volume: &str| Fault::status(500).on("GET", &claim(volume));
    one_of_three(fault, &Expect { says: &["could not be read again", "500"], ..NOT_SENT });
}

/// What is under way beside it is finished, and nothing else is begun.
#[test]
#[ignore = "extended suite: further faults"]
fn the_server_has_an_error_beside_another_volume() {
    let case = Case::of(3);
    let [first, second, third] = case.volumes.as_slice() else { panic!("three were asked for") };
    case.proxy.fault(real(Fault::status(500), first));
    let held = case.proxy.hold(real(Fault::hold(), second));
    let running = case.gc().more(&["--parallel", "2"]).start();
    held.wait();
    eventually("the first was sent", || case.sent(first) == ["dry", "real"]);
    held.release();
    let told = Told::of(running.finish()).ends(6);
    told.became(first, "unanswered", &["500"]);
    told.became(second, "done", &[]);
    told.not_begun(third);
    assert_eq!(case.sent(third), [""; 0]);
    case.is_reclaimed(second);
    case.is_untouched(first);
    case.is_untouched(third);
    case.again();
}

/// That others cannot read of it in the cluster is told, and is no reason to stop.
#[test]
#[ignore = "extended suite: further faults"]
fn no_event_can_be_written() {
    let case = Case::of(2);
    case.proxy.fault(Fault::status(500).on("POST", "/events$").times(1));
    case.proxy.fault(Fault::reset_before().on("POST", "/events$").times(1));
    let told = case.run().ends(0);
    for volume in &case.volumes {
        told.became(volume, "done", &[]);
        told.notes(&format!("no Event was written about pv/{volume}"));
    }
    case.are_reclaimed(&case.volumes);
    let events = case.proxy.requests().into_iter().filter(|it| it.path.ends_with("/events"));
    assert_eq!(events.filter(|it| it.method == "POST").count(), 2, "each is sent once");
}

/// Somebody's finalizer keeps the object for longer than anybody waits. That is understood, and no reason to stop.
#[test]
#[ignore = "extended suite: further cases"]
fn the_object_does_not_go() {
    let case = Case::of(2);
    let [first, second] = case.volumes.as_slice() else { panic!("two were asked for") };
    let finalizers = case.on.read(&format!("pv/{first}"))["metadata"]["finalizers"].clone();
    let mut more = finalizers.as_array().cloned().unwrap_or_default();
    more.push(json!("example.com/keep"));
    case.edit(first, &json!({"metadata": {"finalizers": more}}));
    let told = Told::of(case.gc().more(&["--timeout", "4s"]).go()).ends(6);
    told.became(first, "pending", &["it still exists after 4s"]);
    told.became(second, "done", &[]);
    assert_eq!(case.sent(first), ["dry", "real"]);
    assert!(!case.driver.has(first));
    let recorded = [(first, Outcome::Pending), (second, Outcome::Done)];
    let recorded = recorded.map(|(volume, outcome)| (volume.clone(), Some(outcome)));
    assert_eq!(case.recorded(), recorded);

    let told = case.run().ends(5);
    assert_eq!(told.refusal(first), "it is Terminating");
    case.edit(first, &json!({"metadata": {"finalizers": null}}));
    case.are_reclaimed(&case.volumes);
}

/// Nobody waits for ever, and what arrives after that is still carried out.
#[test]
fn the_request_arrives_after_the_tool_has_given_up() {
    let case = Case::of(2);
    let [first, second] = case.volumes.as_slice() else { panic!("two were asked for") };
    let held = case.proxy.hold(real(Fault::hold(), first));
    let running = case.gc().more(&["--request-timeout", "5s"]).start();
    held.wait();
    let told = Told::of(running.finish()).ends(6);
    told.became(first, "unanswered", &["unknown whether", "no answer came within 5s"]);
    told.not_begun(second);
    assert_eq!(case.recorded(), [(first.clone(), Some(Outcome::Unanswered))]);
    case.are_untouched(&case.volumes);

    held.release();
    case.is_reclaimed(first);
    assert_eq!(case.sent(first), ["dry", "real"]);
    case.is_untouched(second);
    let told = case.again();
    assert_eq!(told.refusal(first), "there is no such volume");
}

/// The second run does not know that the request of the first is still on its way.
#[test]
fn the_request_arrives_when_another_run_has_done_it() {
    let case = Case::of(1);
    let volume = &case.volumes[0];
    let held = case.proxy.hold(real(Fault::hold(), volume));
    let running = case.gc().more(&["--request-timeout", "5s"]).start();
    held.wait();
    Told::of(running.finish()).ends(6).became(volume, "unanswered", &[]);
    let told = Told::of(case.gc().go()).ends(0);
    told.became(volume, "done", &[]);
    case.is_reclaimed(volume);
    held.release();
    let seen = ["dry 200", "dry 200", "200", "404"];
    eventually("what was held has arrived", || case.seen(volume) == seen);
    let recorded = [Outcome::Unanswered, Outcome::Done].map(|it| (volume.clone(), Some(it)));
    assert_eq!(case.recorded(), recorded);
}

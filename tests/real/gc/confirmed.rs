//! `gc` at a terminal: its questions, and that nothing is written without the answer that they ask for.

use super::{Admin, left, policy, release};
use crate::support::{Scenario, Write, shared};

/// Runs `gc` once for each series of answers, none of which confirms: it exits with 5, and no request is sent.
fn nothing_comes_of(admin: &Admin, args: &[&str], answers: &[&[(&str, &str)]]) {
    for answers in answers {
        let before = admin.on.cluster.mark();
        let mut terminal = admin.at_terminal(args);
        for (question, answer) in *answers {
            terminal.answer(question, answer);
        }
        let (screen, code) = terminal.finish();
        assert!(screen.contains("not confirmed: nothing was changed"), "{answers:?}: {screen}");
        assert_eq!(code, Some(5), "{answers:?}: {screen}");
        let sent: Vec<_> = admin.sent(before).iter().map(Write::line).collect();
        assert_eq!(sent, [""; 0], "{answers:?}: {screen}");
    }
}

/// Runs `gc` once with answers that confirm, and returns the volumes that were patched, by name.
fn patched_after(admin: &Admin, args: &[&str], answers: &[(&str, &str)]) -> Vec<String> {
    let before = admin.on.cluster.mark();
    let mut terminal = admin.at_terminal(args);
    for (question, answer) in answers {
        terminal.answer(question, answer);
    }
    let (screen, code) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    let real = admin.sent(before).into_iter().filter(|it| !it.dry);
    let mut names: Vec<_> = real
        .map(|it| {
            assert_eq!((&*it.verb, &*it.resource), ("patch", "persistentvolumes"), "{}", it.line());
            it.name
        })
        .collect();
    names.sort();
    names
}

/// The question says what becomes of how much and where, and takes the number.
#[test]
fn what_destroys_data_takes_the_number() {
    const QUESTION: &str = "Reclaim 2 volumes (2Gi, data destroyed) in ";
    let on = Scenario::on(shared());
    let admin = Admin::of(&on);
    release(&on, &[&left(&on, "one"), &left(&on, "two")]);
    let args = ["gc", "-n", &on.name, "--older-than", "1s"];
    let wrong = ["\r", "n\r", "y\r", "yes\r", "1\r", "22\r"].map(|answer| [(QUESTION, answer)]);
    nothing_comes_of(&admin, &args, &wrong.each_ref().map(<[_; 1]>::as_slice));
    // It names where requests go, which is not the context where a flag names the server.
    let elsewhere = [&args[..], &["--server", shared().server()]].concat();
    let question = format!("{QUESTION}cluster {}", shared().server());
    nothing_comes_of(&admin, &elsewhere, &[&[(&question, "n\r")]]);
    let names = ["one", "two"].map(|name| on.named(name));
    assert_eq!(names.each_ref().map(|name| policy(&on, name)), ["Retain", "Retain"]);

    assert_eq!(patched_after(&admin, &args, &[("? Type \"2\" to go on", "2\r")]), names);
    assert!(names.iter().all(|name| !shared().driver().has(name)));
}

/// A change that is allowed only by a flag is asked about by itself; a no takes it out of the plan.
#[test]
#[ignore = "extended suite: further cases"]
fn what_rests_on_a_flag_is_asked_about_by_itself() {
    const QUESTION: &str = "Type \"1\" to go on";
    let on = Scenario::on(shared());
    let admin = Admin::of(&on);
    let (one, two) = (on.named("one"), on.named("two"));
    release(&on, &[&left(&on, "one"), &left(&on, "two")]);
    for name in [&one, &two] {
        let object = format!("pv/{name}");
        let never =
            serde_json::json!({"status": {"lastPhaseTransitionTime": "0001-01-01T00:00:00Z"}});
        on.patch_status(&object, &never);
        on.patch(&object, &serde_json::json!({"metadata": {"managedFields": [{}]}}));
    }
    let args = ["gc", "-n", &on.name, "--older-than", "1s", "--include-unknown-age"];
    let about = |name: &str| format!("pv/{name}: allowed only by --include-unknown-age.");
    let (about_one, about_two) = (about(&one), about(&two));
    nothing_comes_of(
        &admin,
        &args,
        &[
            &[(&about_one, "n"), (&about_two, "n")],
            &[(&about_one, "y"), (&about_two, "n"), (QUESTION, "n\r")],
        ],
    );

    let answers = [(&*about_one, "n"), (&*about_two, "y"), (QUESTION, "1\r")];
    assert_eq!(patched_after(&admin, &args, &answers), [&*two]);
    assert_eq!(policy(&on, &one), "Retain");
    assert!(shared().driver().has(&one) && !shared().driver().has(&two));
}

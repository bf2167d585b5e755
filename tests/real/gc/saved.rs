//! Plans that are carried out later: only whole, only here, only fresh, only once, and only what still is so.

use std::fs;
use std::time::Duration;

use super::{Admin, left, policy, release};
use crate::support::{Run, STILL, Scenario, shared};

#[test]
fn d_27_a_saved_plan_changes_what_it_was_made_for_and_nothing_else() {
    let on = Scenario::on(shared());
    let (admin, driver) = (Admin::of(&on), shared().driver());
    let (kept, old) = (on.named("kept"), on.named("replaced"));
    let volume = left(&on, "replaced");
    release(&on, &[&left(&on, "kept"), &volume]);
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let plan = file("plan.yaml");
    let gc = ["gc", "-n", &on.name, "--older-than", "1s", "--yes", "--plan-out", &plan];
    let told = admin.refused(0, &gc);
    assert_eq!(told.changes(), [&*kept, &*old], "{:#}", told.json);
    let text = fs::read_to_string(&plan).expect("because it was saved");

    // What is no plan of ours any more.
    let (half, _) = text.split_at(text.len() / 2);
    for (name, text, words) in [
        ("half", half.to_owned(), "not a whole plan"),
        ("nothing", String::new(), "not a whole plan"),
        ("edited", text.replace(&old, &on.named("another")), "edited after it was made"),
        ("weaker", text.replace("includeRecreated: false", "includeRecreated: true"), "edited"),
        (
            "later",
            text.replace("kubectl.dev/v1alpha1", "kubectl.dev/v2"),
            "of storage.kubectl.dev/v2",
        ),
        ("other", text.replacen("kind: Plan", "kind: Receipt", 1), "it is a Receipt"),
    ] {
        let path = file(name);
        assert!(fs::read_to_string(&plan).is_ok_and(|whole| whole != text), "{name}");
        fs::write(&path, text).expect("because the folder is ours");
        admin.refused(5, &["apply", &path, "--yes"]).says(&[words]);
    }
    std::thread::sleep(Duration::from_millis(2100));
    admin
        .refused(5, &["apply", &plan, "--yes", "--max-plan-age", "1s"])
        .says(&["--max-plan-age allows 1s"]);
    admin.refused(5, &["apply", &plan]).says(&["not a terminal"]);
    admin.refused(5, &["apply", &plan, "--yes", "--max", "1"]);
    let before = STILL.mark();
    let outcome = Run::of(&["apply", &plan, "--yes"]).kubeconfig(STILL.kubeconfig()).go();
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("it was created for cluster"), "{}", outcome.stderr);
    STILL.assert_no_write(before);

    // One volume is deleted and made again under its name: that it looks the same does not count.
    on.delete(&format!("pv/{old}"));
    on.wait_gone(&format!("pv/{old}"));
    release(&on, &[&volume]);
    let before = on.cluster.mark();
    let told = admin.run(&["apply", &plan, "--yes"]).ends(6);
    assert_eq!(
        (told.outcomes("done"), told.refusals()),
        (vec![&*kept], vec![&*old]),
        "{:#}",
        told.json
    );
    assert!(told.reason(&old).contains("deleted and recreated"), "{:#}", told.json);
    assert!(!driver.has(&kept));
    assert_eq!((policy(&on, &old), driver.has(&old)), ("Retain".to_owned(), true));
    let writes = admin.writes(before);
    assert!(writes.iter().all(|it| it["objectRef"]["name"] != old), "{writes:#?}");

    // The second time there is nothing left of it.
    let told = admin.refused(5, &["apply", &plan, "--yes"]);
    assert_eq!(told.refusals(), [&*kept, &*old], "{:#}", told.json);
    assert!(told.reason(&kept).contains("does not exist"), "{:#}", told.json);

    // The settings are those of the plan: what has changed meanwhile is judged under them.
    let later = file("later.yaml");
    admin.refused(0, &["gc", &old, "--older-than", "1s", "--plan-out", &later]);
    on.patch(
        &format!("pv/{old}"),
        &serde_json::json!({"metadata": {"annotations": {"storage.kubectl.dev/ignore": "all ours"}}}),
    );
    let told = admin.refused(5, &["apply", &later, "--yes"]);
    assert!(told.reason(&old).contains("storage.kubectl.dev/ignore"), "{:#}", told.json);
}

//! Claims that a filter chooses, claims of sets beyond their replicas, and saved plans.

use serde_json::json;

use super::{Admin, Scenario, because, delete, is_untouched, state};
use crate::support::{claim, eventually, pod, shared};

#[test]
fn a_filter_deletes_what_nothing_uses_and_lists_the_rest() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    for name in ["a", "b", "c"] {
        let mut made = claim(name, &driver.class_delete);
        made["metadata"]["labels"] = json!({"tier": if name == "c" { "other" } else { "test" }});
        on.create(&made);
        on.bound(name);
    }
    on.create(&pod("user", "b"));
    on.wait_phase("pod/user", "Running");
    let admin = Admin::of(&on);
    let kind = ["delete", "persistentvolumeclaims", "-n", &*on.name, "--yes"];
    let args = |more: &[&'static str]| [&kind[..], more].concat();
    // Without a word about the data nothing is done, and that is no error of a filter.
    let told = admin.refused(0, &args(&["-l", "tier=test"]));
    assert_eq!(told.refusals(), ["a", "b"], "{:#}", told.json);
    let told = admin.run(&args(&["-l", "tier=test", "--keep-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["a"], "{:#}", told.json);
    because(&told, "b", &["user references it, Running"]);
    let told = admin.run(&args(&["--all", "--keep-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["c"], "{:#}", told.json);
    is_untouched(&on, "b");
    for wrong in [
        &["--all", "-l", "tier=test"][..],
        &["--all", "--delete-leftovers"],
        &["-l", ""],
        &["b", "--all"],
        &["pvc/b"],
        &[],
    ] {
        let args = [&kind[..], wrong].concat();
        admin.refused(2, &args);
    }
    admin.refused(2, &["delete", "deployment", "x"]).says(&["not a kind that delete supports"]);
    admin.refused(2, &["delete", "pv/x"]).says(&["does not support"]);
}

#[test]
fn a_claim_beyond_the_replicas_of_its_set_is_deleted_only_by_name_and_with_its_flag() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {
        "containers": [{"name": "main", "image": "none"}],
    }});
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "serviceName": "none", "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "web"}}, "template": template,
        },
    });
    let mut of = claim("data", &driver.class_delete);
    of["kind"] = json!(null);
    of["apiVersion"] = json!(null);
    set["spec"]["volumeClaimTemplates"] = json!([of]);
    on.create(&set);
    eventually("both pods run", || {
        let runs = |name: &str| on.get(name).is_some_and(|it| it["status"]["phase"] == "Running");
        runs("pod/web-0") && runs("pod/web-1")
    });
    let volume = on.bound("data-web-1");
    on.bound("data-web-0");
    let scale = |replicas: &str| {
        let to = format!("--replicas={replicas}");
        on.cluster.kubectl(&["scale", "statefulset/web", &to, "-n", &on.name]);
    };
    scale("1");
    on.wait_gone("pod/web-1");
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["data-web-0", "data-web-1"], &["--keep-data"]));
    because(&told, "data-web-0", &["web-0 references it", "the set recreates the claim"]);
    because(
        &told,
        "data-web-1",
        &["beyond its 1 replicas", "--delete-leftovers allows its deletion"],
    );
    let leftovers = ["--keep-data", "--delete-leftovers"];
    let told = admin.run(&delete(&on, &["data-web-0", "data-web-1"], &leftovers)).ends(6);
    assert_eq!(told.outcomes("done"), ["data-web-1"], "{:#}", told.json);
    because(&told, "data-web-0", &["no flag overrides this"]);
    assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Released".to_owned()));
    // A set at rest is paused: its data may be kept, and not destroyed.
    scale("0");
    on.wait_gone("pod/web-0");
    let destroys = ["--destroy-data", "--delete-leftovers"];
    let told = admin.refused(5, &delete(&on, &["data-web-0"], &destroys));
    because(&told, "data-web-0", &["(replicas: 0)", "keep the data with --keep-data"]);
    is_untouched(&on, "data-web-0");
}

#[test]
fn a_saved_plan_is_judged_again_when_it_is_carried_out() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volumes = ["free", "taken"].map(|name| {
        on.create(&claim(name, &driver.class_delete));
        on.bound(name)
    });
    let admin = Admin::of(&on);
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let plan = folder.path().join("plan.yaml").display().to_string();
    let told =
        admin.refused(0, &delete(&on, &["free", "taken"], &["--keep-data", "--plan-out", &plan]));
    assert_eq!(told.changes(), ["free", "taken"], "{:#}", told.json);
    on.create(&pod("user", "taken"));
    let told = admin.run(&["apply", &plan, "--yes"]).ends(6);
    assert_eq!(told.outcomes("done"), ["free"], "{:#}", told.json);
    because(&told, "taken", &["user references it"]);
    assert_eq!(state(&on, &volumes[0]), ("Retain".to_owned(), "Released".to_owned()));
    is_untouched(&on, "taken");
    // What was done is not done again.
    let told = admin.refused(5, &["apply", &plan, "--yes"]);
    because(&told, "free", &["does not exist"]);
    let journal = admin.run(&["journal"]);
    let text = journal.json.to_string();
    assert!(text.contains("delete-claim") && text.contains("set-reclaim-policy"), "{text}");
}

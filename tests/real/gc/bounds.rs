//! What ends a run before it begins, and what it leaves unsaid.

use std::path::Path;

use serde_json::json;

use super::{Admin, left, policy, release};
use crate::support::{Scenario, shared};

#[test]
fn nothing_is_sent_before_everything_is_in_order() {
    let on = Scenario::on(shared());
    let (admin, driver) = (Admin::of(&on), shared().driver());
    let (one, two) = (on.named("one"), on.named("two"));
    release(&on, &[&left(&on, "one"), &left(&on, "two")]);
    let gc = ["gc", "-n", &on.name, "--older-than", "1s"];
    let with = |more: &[&'static str]| [&gc[..], more].concat();

    // Nobody is there to be asked.
    admin.refused(5, &gc).says(&["not a terminal", "--yes"]);
    admin.refused(5, &with(&["--include-unknown-age"]));
    admin.refused(5, &with(&["--yes", "--max", "1"])).says(&["2 objects", "--max allows 1"]);
    admin.refused(5, &with(&["--yes", "--max", "0"]));
    admin.refused(5, &with(&["--yes", "--max-percent", "0"])).says(&["--max-percent allows 0"]);

    // The journal cannot be written: nothing is begun, and not even asked of the server.
    let before = on.cluster.mark();
    let told = admin.run_at(Path::new("/dev/null/nowhere"), &with(&["--yes"])).ends(5);
    assert!(told.stderr.contains("/dev/null/nowhere"), "{}", told.stderr);
    let only_reads = |since| {
        let requests = admin.requests(since);
        let other = |it: &&serde_json::Value| {
            let reads = ["get", "list", "watch"].iter().any(|verb| it["verb"] == *verb);
            !reads && !it["requestURI"].as_str().unwrap_or_default().contains("accessreviews")
        };
        let others: Vec<_> = requests.iter().filter(other).collect();
        assert!(!requests.is_empty() && others.is_empty(), "{others:#?}");
    };
    only_reads(before);

    // A plan is shown: nothing but reads, and nothing in the journal.
    let before = on.cluster.mark();
    let told = admin.run(&with(&["--dry-run=client", "--yes"])).ends(0);
    assert_eq!((told.json["kind"].as_str(), told.changes()), (Some("Plan"), vec![&*one, &*two]));
    only_reads(before);

    // The server looks at each request; none is carried out.
    let before = on.cluster.mark();
    let told = admin.run(&with(&["--dry-run=server"])).ends(0);
    assert_eq!(told.outcomes("done"), [&*one, &*two], "{:#}", told.json);
    assert_eq!(told.json["metadata"]["dryRun"], "server");
    let requests = admin.requests(before);
    let patches: Vec<_> = requests.iter().filter(|it| it["verb"] == "patch").collect();
    assert_eq!(patches.len(), 2, "{patches:#?}");
    for patch in patches {
        assert!(
            patch["requestURI"].as_str().unwrap_or_default().contains("dryRun=All"),
            "{patch:#}"
        );
    }
    assert_eq!((admin.journal(&told).len(), admin.writes(before).len()), (0, 0));

    // What another machine may have kept in the same storage is not passed over.
    let blind = Admin::limited(&on, "blind", &["configmaps"], &["get", "patch"]);
    let before = on.cluster.mark();
    let told = blind.run(&with(&["--yes"]));
    assert!(told.outcomes("done").is_empty() && told.code != Some(0), "{:#}", told.json);
    let said = format!("{}{:#}", told.stderr, told.json);
    assert!(said.contains("record of kept backend volumes was not read"), "{said}");
    assert!(blind.writes(before).is_empty(), "{said}");

    // Who may not patch learns it from the dry run.
    let reader = Admin::limited(&on, "reader", &[], &["get"]);
    let told = reader.refused(5, &with(&["--yes"]));
    assert_eq!(told.outcomes("refused"), [&*one, &*two], "{:#}", told.json);
    assert!(told.reason(&one).contains("403"), "{:#}", told.json);
    assert_eq!(reader.journal(&told).len(), 0);
    for name in [&one, &two] {
        assert_eq!((policy(&on, name), driver.has(name)), ("Retain".to_owned(), true));
    }
}

/// What nobody waits for is not known to have happened.
#[test]
fn what_is_not_verified_is_pending() {
    let on = Scenario::on(shared());
    let (admin, one) = (Admin::of(&on), on.named("one"));
    release(&on, &[&left(&on, "one")]);
    let args = ["gc", &one, "--older-than", "1s", "--yes", "--wait=false", "--no-events"];
    let told = admin.run(&args).ends(6);
    assert_eq!(told.outcomes("pending"), [&*one], "{:#}", told.json);
    let ends: Vec<_> = admin.journal(&told).iter().map(|it| it["outcome"].clone()).collect();
    assert_eq!(ends, [json!(null), json!("sent"), json!("pending")]);
    on.wait_gone(&format!("pv/{one}"));
    let field = format!("involvedObject.name={one},reason=StorageReclaimed");
    let said = on.cluster.kubectl(&[
        "get",
        "events",
        "-n",
        "default",
        "-o",
        "name",
        "--field-selector",
        &field,
    ]);
    assert_eq!(said, "");
}

//! A deletion with `--keep-data` is undone by rebinding, and `retain` on a claim in use says how to go on.

use serde_json::json;

use super::{bound_to_each_other, driver, here, intact, rebind, words, write_ledger, written};
use crate::support::{Admin, Scenario, claim, eventually, pod};

#[test]
fn a_deletion_that_kept_the_data_is_undone() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    let mut kept = claim("data", &driver().class_delete);
    kept["metadata"]["labels"] = json!({"app": "shop"});
    kept["metadata"]["annotations"] = json!({"team": "ledger"});
    on.create(&kept);
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    write_ledger(driver(), &handle);
    admin.run(&["delete", "pvc", "data", "-n", &on.name, "--keep-data", "--yes"]).ends(0);
    assert!(on.get("pvc/data").is_none());
    on.wait_phase(&object, "Released");

    let mark = on.cluster.mark();
    let told = admin.run(&["undo", "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert_eq!(
        written(&admin, mark),
        [
            format!("patch persistentvolumes {name}"),
            "create persistentvolumeclaims data".to_owned()
        ]
    );
    bound_to_each_other(&on, &name, "data");
    intact(driver(), &handle);
    let back = on.read("pvc/data");
    assert_eq!(back["metadata"]["labels"], json!({"app": "shop"}));
    assert_eq!(back["metadata"]["annotations"]["team"], "ledger");
    // The policy stays Retain: it is said how it is set back, before and afterwards.
    let back = format!("kubectl patch pv {name} -p");
    let said = told.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the policy remains Retain") && said.contains(&back), "{said}");
    let flip = admin.refused(5, &["undo", "1", "--yes"]);
    assert!(flip.reason(&name).contains(&back), "{:#}", flip.json);
    let journal = admin.journal(&told);
    let undoes: Vec<_> = journal.iter().filter_map(|it| it["undoes"].as_u64()).collect();
    assert_eq!(undoes.len(), 1, "only the last step ends the deletion: {journal:#?}");
    let again = admin.refused(5, &["undo", &undoes[0].to_string(), "--yes"]);
    assert!(again.json.to_string().contains("it was undone already"), "{:#}", again.json);
}

#[test]
fn a_deletion_that_destroyed_the_data_is_not_undone() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver().class_delete));
    let name = on.bound("data");
    let handle = on.handle(&name);
    admin.run(&["delete", "pvc", "data", "-n", &on.name, "--destroy-data", "--yes"]).ends(0);
    eventually("the backend volume is gone", || !driver().has(&handle));
    on.wait_gone(&format!("pv/{name}"));
    let entries = admin.run(&["journal"]).ends(0);
    let entries = entries.json["journals"][0]["entries"].as_array().cloned().unwrap_or_default();
    let deletion = entries.iter().find(|it| it["action"] == "delete-claim").expect("one");
    let told = admin.refused(5, &["undo", &deletion["entry"].to_string(), "--yes"]);
    assert!(on.get("pvc/data").is_none(), "no claim without its data: {:#}", told.json);
}

#[test]
fn an_undone_deletion_never_takes_a_volume_that_another_claim_has() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver().class_retain));
    let name = on.bound("data");
    let handle = on.handle(&name);
    write_ledger(driver(), &handle);
    admin.run(&["delete", "pvc", "data", "-n", &on.name, "--keep-data", "--yes"]).ends(0);
    on.wait_phase(&format!("pv/{name}"), "Released");
    let colleague = Admin::named(&on, "colleague", &["--as-group", "system:masters"]);
    let args = rebind(&[&name, "--to", "other", "-n", &on.name]);
    colleague.run(&words(&args)).ends(0);
    let told = admin.refused(5, &["undo", "--yes"]);
    assert!(told.reason(&name).contains("no longer references"), "{:#}", told.json);
    bound_to_each_other(&on, &name, "other");
    intact(driver(), &handle);
}

#[test]
fn retain_on_a_claim_that_is_terminating_in_use_says_what_is_saved_and_how_to_go_on() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver().class_delete));
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    write_ledger(driver(), &handle);
    on.create(&pod("db-0", "data"));
    eventually("the pod runs", || on.read("pod/db-0")["status"]["phase"] == "Running");
    on.delete("pvc/data");
    let said = [
        "is Terminating: it is deleted when the last pod that uses it is deleted",
        "Released then, with its data",
        &format!("`kubectl storage rebind pv/{name}"),
    ];
    let retain = ["retain", "pvc/data", "-n", &on.name, "--yes"];
    let shown = admin.run(&[&retain[..], &["--dry-run=client"]].concat()).ends(0);
    let told = admin.run(&retain).ends(0);
    let again = admin.refused(5, &retain);
    for text in [
        shown.json["changes"][0]["notices"].to_string(),
        super::detail(&told).to_owned(),
        again.reason(&name).to_owned(),
    ] {
        assert!(said.iter().all(|it| text.contains(it)), "{text}");
    }
    on.delete("pod/db-0");
    on.wait_gone("pod/db-0");
    on.wait_phase(&object, "Released");
    eventually("the claim is gone", || on.get("pvc/data").is_none());
    admin.run(&words(&rebind(&[&object]))).ends(0);
    bound_to_each_other(&on, &name, "data");
    intact(driver(), &handle);
}

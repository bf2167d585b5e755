//! Reclaiming in two phases: what is announced, and what of that is still so when the grace period is over.

mod disturbed;

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Admin, left, policy, release};
use crate::support::{PersistentVolume, Scenario, Write, eventually, shared};

const MARK: &str = "storage.kubectl.dev/announced";
const ID: &str = "pv-reclaim-announced";
/// Longer than a run takes until everything is recorded and annotated.
const GRACE: Duration = Duration::from_secs(3);

/// The records of this kind in the scenario's namespace.
fn records(on: &Scenario, kind: &str) -> Vec<Value> {
    let all = on.cluster.list(&on.name, "cm").into_iter();
    all.filter(|it| it["metadata"]["labels"]["storage.kubectl.dev/record"] == kind).collect()
}

/// Announces with a grace period, and what else is asked for.
fn announce<'a>(on: &'a Scenario, more: &[&'a str]) -> Vec<&'a str> {
    let gc = ["gc", "--older-than", "1s", "--record-namespace", &*on.name, "--yes", "--announce"];
    [&gc[..], more].concat()
}

fn annotate(on: &Scenario, volume: &str, annotation: &str) {
    on.cluster.kubectl(&["annotate", "--overwrite", "pv", volume, annotation]);
}

fn mark(on: &Scenario, volume: &str) -> Option<String> {
    let live = on.read(&format!("pv/{volume}"));
    live["metadata"]["annotations"][MARK].as_str().map(str::to_owned)
}

/// What was written, in order, without rehearsals: verb, resource and name.
fn written(sent: &[Write]) -> Vec<String> {
    sent.iter().filter(|it| !it.dry).map(Write::line).collect()
}

#[test]
fn only_what_was_announced_for_long_enough_and_is_still_the_same_is_reclaimed() {
    let on = Scenario::on(shared());
    let (admin, driver) = (Admin::of(&on), shared().driver());
    let names = ["changed", "deleted", "forged", "plain", "reused", "vetoed"];
    let [changed, deleted, forged, plain, reused, vetoed] = names.map(|it| on.named(it));
    let volumes = names.map(|it| left(&on, it));
    release(&on, &volumes.iter().collect::<Vec<&PersistentVolume>>());
    let in_namespace = ["--record-namespace", &*on.name, "--yes"];

    // Two runs with records of their own, and one for the rest.
    admin.run(&announce(&on, &["1h", &forged])).ends(0);
    let long = records(&on, "announcement");
    admin.run(&announce(&on, &["1s", &deleted])).ends(0);
    let before = on.cluster.mark();
    let told = admin.run(&announce(&on, &["3s", "-n", &on.name])).ends(0);
    let rest = [&*changed, &*plain, &*reused, &*vetoed];
    assert_eq!(told.outcomes("done"), rest, "{:#}", told.json);
    assert!(told.reason(&forged).contains("announced already"), "{:#}", told.json);
    let sent = written(&admin.sent(before));
    assert_eq!(sent.len(), 5, "{sent:#?}");
    let (marks, record) = sent.split_at(4);
    assert!(record[0].contains("configmaps"), "not recorded last: {sent:#?}");
    assert!(marks.iter().all(|it| it.contains("persistentvolumes")), "{sent:#?}");
    let told_of = |name: &str, reason: &str, words: &str| {
        let field = format!("involvedObject.name={name},reason={reason}");
        let events = ["get", "events", "-n", "default", "--field-selector", &field];
        assert!(on.cluster.kubectl(&events).contains(words), "{name}");
    };
    for name in rest {
        told_of(name, "StorageAnnounced", "removing it is a veto");
    }

    let all = records(&on, "announcement");
    assert_eq!(all.len(), 3, "{all:#?}");
    for record in &all {
        assert_eq!(record["immutable"], true, "{record:#}");
        let batch = record["data"]["batch"].as_str().expect("it says how long");
        assert!(batch.contains("graceSeconds"), "{batch}");
    }
    let live = on.read(&format!("pv/{plain}"));
    let uid = live["metadata"]["uid"].as_str().expect("it has one");
    let entry = all.iter().find_map(|it| it["data"][uid].as_str()).expect("it is recorded");
    let entry: Value = serde_json::from_str(entry).expect("JSON");
    assert_eq!(entry["claimUid"], live["spec"]["claimRef"]["uid"], "{entry:#}");
    assert_eq!((&entry["driver"], &entry["handle"]), (&json!(driver.name), &json!(plain)));

    // What is announced is not announced again.
    let before = on.cluster.mark();
    let again = admin.run(&announce(&on, &["1s", "-n", &on.name])).ends(0);
    assert_eq!(again.changes().len(), 0, "{:#}", again.json);
    assert_eq!(written(&admin.sent(before)), Vec::<String>::new());

    // Whoever looks for records elsewhere learns where they are, and announces nothing beside them.
    let before = on.cluster.mark();
    let blind = ["gc", &*plain, "--older-than", "1s", "--announce", "1h", "--yes"];
    let blind = admin.refused(5, &blind);
    let flag = format!("--record-namespace {}", on.name);
    assert!(blind.reason(&plain).contains(&flag), "{:#}", blind.json);
    assert!(blind.stderr.contains(&*on.name), "{}", blind.stderr);
    assert_eq!(written(&admin.sent(before)), Vec::<String>::new());
    let findings = admin.audit(&["-n", &on.name]);
    findings.finding(ID, &format!("pv/{plain}")).expect("info", "unseen").says(&[&flag]);

    annotate(&on, &vetoed, &format!("{MARK}-"));
    let recorded_in = mark(&on, &forged).expect("it is announced");
    let recorded_in = recorded_in.rsplit(' ').next().unwrap_or_default().to_owned();
    annotate(&on, &forged, &format!("{MARK}=1970-01-01T00:00:00Z {recorded_in}"));
    // What the owner has written there stays when it is announced anew.
    annotate(&on, &reused, &format!("{MARK}=2099-01-01T00:00:00Z until the audit"));
    annotate(&on, &changed, "argocd.argoproj.io/tracking-id=shop:/PersistentVolume:shop/changed");
    let uid = json!({"spec": {"claimRef": {"uid": "6a1f02a7-f4e6-5ec4-8e0b-fc87ae581be5"}}});
    // By whoever made it: what kubectl has applied may be a copy, which is another refusal.
    let made = ["patch", "pv", &*reused, "--field-manager=scenario", "--type=merge", "-p"];
    on.cluster.kubectl(&[&made[..], &[&uid.to_string()]].concat());
    let names_it = |it: &&Value| it["data"].to_string().contains(&*deleted);
    let gone = all.iter().find(names_it).expect("it was announced");
    on.delete(&format!("cm/{}", gone["metadata"]["name"].as_str().expect("it has a name")));
    sleep(GRACE);

    let findings = admin.audit(&["-n", &on.name, "--record-namespace", &on.name]);
    for (name, words) in [
        (&plain, "due since"),
        (&forged, "due at"),
        (&vetoed, "its annotation was removed"),
        (&reused, "the uid in its claimRef"),
        (&changed, "Argo CD"),
        (&deleted, "no record announces it"),
    ] {
        findings.finding(ID, &format!("pv/{name}")).says(&[words]);
    }

    let before = on.cluster.mark();
    let reclaim = [&["gc", "--announced", "-n", &*on.name], &in_namespace[..]].concat();
    let told = admin.run(&reclaim).ends(0);
    assert_eq!(told.outcomes("done"), [&*plain, &*vetoed], "{:#}", told.json);
    for (name, reason) in [
        (&vetoed, "vetoed"),
        (&reused, "changed since it was announced"),
        (&changed, "changed since it was announced"),
        (&deleted, "void"),
        (&forged, "due at"),
    ] {
        assert!(told.reason(name).contains(reason), "{}", told.reason(name));
        assert!(driver.has(name), "the backend volume of {name} is gone");
        assert_eq!(policy(&on, name), "Retain");
    }
    assert!(!driver.has(&plain), "the backend volume is still there");
    let sent = written(&admin.sent(before));
    let about = |resource: &str| sent.iter().filter(|it| it.contains(resource)).count();
    assert_eq!((sent.len(), about(&plain), about("configmaps")), (2, 1, 1), "{sent:#?}");
    told_of(&vetoed, "StorageVetoed", "its announcement was vetoed");
    let recorded = records(&on, "veto");
    assert!(
        recorded.len() == 1 && recorded[0]["data"].to_string().contains(&*vetoed),
        "{recorded:#?}"
    );

    // A veto is not forgotten with its announcement, nor by an annotation that comes back.
    for record in records(&on, "announcement").iter().filter(|it| !long.contains(it)) {
        on.delete(&format!("cm/{}", record["metadata"]["name"].as_str().expect("it has a name")));
    }
    annotate(&on, &vetoed, &format!("{MARK}=2020-01-01T00:00:00Z"));
    let told = admin.run(&announce(&on, &["1h", "-n", &on.name])).ends(0);
    assert_eq!(told.outcomes("done"), [&*changed, &*deleted, &*reused], "{:#}", told.json);
    assert!(mark(&on, &reused).is_some_and(|it| it.starts_with("2099-01-01T00:00:00Z ")));
    assert!(told.reason(&vetoed).contains("--include-vetoed"), "{:#}", told.json);
    let told = admin.run(&announce(&on, &["1h", &vetoed, "--include-vetoed"])).ends(0);
    assert_eq!(told.outcomes("done"), [&*vetoed], "{:#}", told.json);
    assert!(!records(&on, "veto")[0]["data"].to_string().contains(&*vetoed));
    assert!(mark(&on, &vetoed).is_some_and(|it| !it.starts_with("2020")));
    let one = [&["gc", "--announced", &*vetoed], &in_namespace[..]].concat();
    let told = admin.refused(5, &one);
    assert!(told.reason(&vetoed).contains("due at"), "{:#}", told.json);
}

/// Lets somebody do this to `ConfigMap`s of the scenario's namespace.
fn grant(on: &Scenario, user: &str, verbs: &[&str]) {
    let name = verbs.join("-");
    let api = "rbac.authorization.k8s.io";
    on.create(&json!({
        "apiVersion": format!("{api}/v1"), "kind": "Role", "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    }));
    on.create(&json!({
        "apiVersion": format!("{api}/v1"), "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": api, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
    }));
}

#[test]
fn nothing_is_annotated_that_cannot_be_recorded() {
    let on = Scenario::on(shared());
    let user = Admin::limited(&on, "user", &[], &["patch"]);
    let name = on.named("pv");
    release(&on, &[&left(&on, "pv")]);
    let args = ["gc", &*name, "--older-than", "1s", "--announce", "1h", "--no-events", "--yes"];
    let args = [&args[..], &["--record-namespace", &on.name]].concat();
    let refused = |words: &str| {
        let mut said = String::new();
        // The authorizer learns of new roles a moment later.
        eventually(&format!("it is refused: {words}"), || {
            let told = user.refused(5, &args);
            said = format!("{}{:#}", told.stderr, told.json);
            said.contains(words)
        });
    };
    refused("unknown what is announced");
    // By the rest of the commands that is no reason to refuse.
    let plan = ["gc", &*name, "--older-than", "1s", "--dry-run", "--record-namespace", &on.name];
    assert_eq!(user.refused(0, &plan).changes(), [&*name]);
    grant(&on, &user.name, &["list"]);
    refused("cannot be created");
    assert_eq!(mark(&on, &name), None);
    assert_eq!(records(&on, "announcement"), Vec::<Value>::new());
    grant(&on, &user.name, &["create"]);
    let mut told = Vec::new();
    eventually("it may be recorded", || {
        let outcome = user.run(&args);
        told = outcome.outcomes("done").iter().map(|it| (*it).to_owned()).collect();
        outcome.code == Some(0)
    });
    assert_eq!(told, [&*name]);
    assert!(mark(&on, &name).is_some());
}

//! `delete sts` where custom resources stand between the set and its claims: what the garbage collector of Kubernetes
//! deletes is what is foretold.

use serde_json::{Value, json};

use super::{Admin, Scenario, written};
use crate::support::{Cluster, Driver, DriverOptions, Options, Write, claim, eventually};

/// The claims, and whether they are deleted with the set unless it orphans what it owns.
const CLAIMS: [(&str, bool); 5] =
    [("chained", true), ("far", true), ("both", true), ("held", false), ("free", false)];

/// Serves the kind that is in no list of ours.
fn serve_widgets(cluster: &Cluster) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    cluster.create(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    }));
    eventually("the kind is served", || {
        cluster.try_kubectl(&["get", "--raw", "/apis/example.com/v1/widgets"], "").is_ok()
    });
}

fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": true,
    })
}

fn owned(mut object: Value, owners: &[&Value]) -> Value {
    let references: Vec<_> = owners.iter().map(|it| reference(it)).collect();
    object["metadata"]["ownerReferences"] = json!(references);
    object
}

/// A set without pods, widgets that it owns and does not own, and claims of both. Returns the handles of the claims'
/// volumes, in their order.
fn chain(on: &Scenario, driver: &Driver) -> Vec<String> {
    let set = on.create(&json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 0, "serviceName": "none", "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            },
        },
    }));
    let widget = |name: &str, owners: &[&Value]| {
        let widget =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}});
        on.create(&owned(widget, owners))
    };
    let near = widget("near", &[&set]);
    let far = widget("far", &[&near]);
    let apart = widget("apart", &[]);
    let of: [&[&Value]; 5] = [&[&near], &[&far], &[&set, &near], &[&set, &apart], &[&apart]];
    let handles = CLAIMS.iter().zip(of).map(|((name, _), owners)| {
        on.create(&owned(claim(name, &driver.class_delete), owners));
        on.handle(&on.bound(name))
    });
    handles.collect()
}

/// Asserts what the garbage collector leaves.
fn is_left(on: &Scenario, driver: &Driver, handles: &[String], orphans: bool) {
    on.wait_gone("sts/web");
    for ((name, goes), handle) in CLAIMS.iter().zip(handles) {
        let claim = format!("pvc/{name}");
        if *goes && !orphans {
            on.wait_gone(&claim);
            eventually("its data is destroyed", || !driver.has(handle));
            continue;
        }
        // What the set owned, another owner has now, or nothing.
        eventually("the reference to the set is removed", || {
            !on.read(&claim)["metadata"]["ownerReferences"].to_string().contains("StatefulSet")
        });
        assert!(on.read(&claim)["metadata"]["deletionTimestamp"].is_null(), "{name}");
        assert!(driver.has(handle), "the data of {name} is gone");
    }
}

/// What `retention simulate --delete` says of each claim.
fn simulated(admin: &Admin, cascade: &str) -> Vec<(String, String)> {
    let on = &admin.on.name;
    let words = ["retention", "simulate", "web", "--delete", cascade, "-n", on];
    let told = admin.run(&words).ends(0);
    let claims = told.json["sets"][0]["claims"].as_array().cloned().unwrap_or_default();
    let said = |it: &Value| {
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        (text(&it["object"]["name"]), text(&it["effect"]["claim"]))
    };
    claims.iter().map(said).collect()
}

#[test]
#[ignore = "extended suite: further cases"]
fn owners_go_with_the_set() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    serve_widgets(&cluster);
    let options = DriverOptions { attach: false, ..DriverOptions::default() };
    let driver = cluster.start_driver("owners.csi.example", &options);
    for how in ["background", "foreground", "orphan"] {
        let cascade = format!("--cascade={how}");
        let orphans = how == "orphan";
        // Without the tool.
        let on = Scenario::part(&cluster, &format!("-{how}-kubectl"));
        let handles = chain(&on, &driver);
        cluster.kubectl(&["delete", "sts", "web", "-n", &on.name, &cascade]);
        is_left(&on, &driver, &handles, orphans);

        // With it.
        let on = Scenario::part(&cluster, &format!("-{how}"));
        let handles = chain(&on, &driver);
        let admin = Admin::of(&on);
        let delete = ["delete", "sts", "web", "-n", &*on.name, "--yes", &*cascade];
        let said = simulated(&admin, &cascade);
        for (name, goes) in CLAIMS {
            let word = said.iter().find(|(known, _)| known == name).map(|(_, word)| &**word);
            let expected = match (name, goes && !orphans) {
                ("free", _) => None,
                (_, true) => Some("deleted"),
                (_, false) => Some("kept"),
            };
            assert_eq!(word, expected, "{how}, {name}: {said:?}");
        }
        if !orphans {
            let mark = cluster.mark();
            let told = admin.refused(5, &delete);
            let reason = told.reason("web");
            for (name, goes) in CLAIMS {
                let named = reason.contains(&format!("{}/{name}", on.name));
                assert_eq!(named, goes, "{name}: {reason}");
            }
            assert_eq!(written(&admin, mark).len(), 0);
        }
        // Who may not read the widgets cannot know it.
        let blind = Admin::limited(&on, "blind", &[], &["get"]);
        let told = blind.run(&delete).ends(5);
        let reason = told.reason("web");
        assert!(reason.contains("/free") && reason.contains("--destroy-data allows"), "{reason}");
        told.says(&["its owner Widget apart may not be read"]);

        let mark = cluster.mark();
        let flags: &[&str] = if orphans { &[] } else { &["--destroy-data"] };
        let told = admin.run(&[&delete[..], flags].concat()).ends(0);
        assert_eq!(told.outcomes("done"), ["web"], "{:#}", told.json);
        let sent = admin.sent(mark);
        let lines: Vec<_> = sent.iter().map(Write::line).collect();
        assert_eq!(lines, ["dry delete statefulsets web", "delete statefulsets web"]);
        is_left(&on, &driver, &handles, orphans);
    }
}

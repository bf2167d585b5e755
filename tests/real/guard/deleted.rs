//! `delete sts` and `delete ns` under the guard: what they show, what they send, and what becomes of the data.

use serde_json::{Value, json};

use super::world::{install, namespace};
use crate::support::{
    Admin, Cluster, DriverOptions, Mark, Options, Scenario, Told, Write, claim, eventually,
};

/// A set of one pod with a claim, in the namespace of a scenario.
fn set(on: &Scenario, name: &str, class: &str) -> Value {
    let mut of = claim("data", class);
    of["kind"] = json!(null);
    of["apiVersion"] = json!(null);
    let made = on.create(&json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": {
            "replicas": 1, "serviceName": "none", "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            },
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
            "volumeClaimTemplates": [of],
        },
    }));
    on.wait_phase(&format!("pod/{name}-0"), "Running");
    let owned = format!("pvc/data-{name}-0");
    eventually("the set owns its claim", || {
        on.read(&owned)["metadata"]["ownerReferences"].is_array()
    });
    made
}

/// Creates a claim that a set owns although no template names it, and returns its handle.
fn owned_by(on: &Scenario, name: &str, class: &str, set: &Value) -> String {
    let mut owned = claim(name, class);
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": set["metadata"]["name"],
        "uid": set["metadata"]["uid"],
    }]);
    on.create(&owned);
    on.handle(&on.bound(name))
}

/// Asserts that a volume was read by name before the write: its policy may have changed.
fn read_again(admin: &Admin, since: Mark, volume: &str) {
    let requests = admin.requests(since);
    let written = requests.iter().rposition(|it| it["verb"] == "delete");
    let read = requests.iter().position(|it| {
        it["verb"] == "get"
            && it["objectRef"]["resource"] == "persistentvolumes"
            && it["objectRef"]["name"] == volume
    });
    assert!(read.is_some() && read < written, "{volume} is read before: {requests:#?}");
}

fn refused_by_kubectl(cluster: &Cluster, args: &[&str]) {
    let person = ["--as", "ann@example.com", "--as-group", "system:masters"];
    let said = cluster.try_kubectl(&[args, &person].concat(), "").expect_err("it is refused");
    assert!(said.contains("kubectl storage delete "), "{said}");
}

#[test]
fn a_set_and_a_namespace_are_deleted_after_what_goes_with_them_is_shown() {
    let cluster = Cluster::start(Options::COMPLETE);
    cluster.install_snapshot_api();
    install(&cluster, &["--volumes=deny"]);
    let on = Scenario::on(&cluster);
    let label = json!({"metadata": {"labels": {"storage.kubectl.dev/guard": "deny"}}});
    on.patch(&format!("namespace/{}", on.name), &label);
    // kwok mounts nothing: what would be attached would stay attached, and keep its data.
    let options = DriverOptions { attach: false, ..DriverOptions::default() };
    let driver = cluster.start_driver("mounts.csi.example", &options);
    let before = set(&on, "web", &driver.class_delete);
    set(&on, "left", &driver.class_delete);
    let volume = on.bound("data-web-0");
    let handle = on.handle(&volume);
    let ledger = owned_by(&on, "ledger", &driver.class_delete, &before);
    refused_by_kubectl(&cluster, &["delete", "sts", "web", "-n", &on.name]);

    let admin = Admin::of(&on);
    let delete = |more: &[&str]| -> Told {
        let all = ["delete", "sts", "web", "-n", &*on.name, "--yes"];
        admin.run(&[&all[..], more].concat())
    };
    let mark = cluster.mark();
    let told = delete(&[]).ends(5);
    let reason = told.reason("web");
    assert!(reason.contains("data-web-0") && reason.contains("--destroy-data allows"), "{reason}");
    // The garbage collector goes by owners, whatever a claim is called.
    assert!(reason.contains("ledger"), "{reason}");
    for wrong in ["--all", "--keep-data", "--snapshot-first"] {
        delete(&[wrong]).ends(2).says(&["does not apply to a StatefulSet"]);
    }
    assert_eq!(admin.sent(mark).len(), 0);

    // What is destroyed is counted, not what is named.
    let mark = cluster.mark();
    let asked = ["delete", "sts", "web", "-n", &*on.name, "--destroy-data"];
    let mut terminal = admin.at_terminal(&asked);
    terminal.answer("web: allowed only by --destroy-data. Continue?", "y");
    terminal.answer("data of 2 volumes destroyed) in", "1\r");
    let (screen, code) = terminal.finish();
    assert!(screen.contains("Type \"2\" to go on"), "{screen}");
    assert_eq!(code, Some(5), "{screen}");
    delete(&["--destroy-data", "--max", "1"]).ends(5).says(&["changes or destroys 2 objects"]);
    assert_eq!(admin.sent(mark).len(), 0);

    let mark = cluster.mark();
    let told =
        delete(&["--destroy-data"]).ends(0).says(&["data-web-0", "ledger", "data destroyed: 2"]);
    assert_eq!(told.outcomes("done"), ["web"], "{:#}", told.json);
    let sent = admin.sent(mark);
    let lines: Vec<_> = sent.iter().map(Write::line).collect();
    assert_eq!(lines, ["dry delete statefulsets web", "delete statefulsets web"]);
    assert_eq!(sent[1].body["preconditions"]["uid"], before["metadata"]["uid"]);
    assert!(sent[1].body["preconditions"]["resourceVersion"].is_string());
    assert_eq!(sent[1].body["propagationPolicy"], "Background");
    read_again(&admin, mark, &volume);
    on.wait_gone("pvc/data-web-0");
    on.wait_gone("pvc/ledger");
    eventually("its data is destroyed", || !driver.has(&handle) && !driver.has(&ledger));
    let journal = admin.journal(&told);
    assert_eq!(journal[0]["action"], "delete-with-claims");

    // Pods and claims stay.
    let mark = cluster.mark();
    let orphan = ["delete", "sts/left", "-n", &*on.name, "--yes", "--cascade=orphan"];
    admin.run(&orphan).ends(0);
    let sent = admin.sent(mark);
    assert_eq!(sent[1].body["propagationPolicy"], "Orphan");
    assert!(on.read("pvc/data-left-0")["metadata"]["deletionTimestamp"].is_null());
    assert!(on.get("pod/left-0").is_some());
    let missing = admin.refused(5, &["delete", "sts", "web", "-n", &on.name, "--yes"]);
    assert!(missing.stderr.contains("there is no sts/"), "{}", missing.stderr);

    // The namespace, with what is left.
    let volume = on.bound("data-left-0");
    let handle = on.handle(&volume);
    refused_by_kubectl(&cluster, &["delete", "ns", &on.name]);
    let told = admin.refused(5, &["delete", "ns", &on.name, "--yes"]);
    assert!(told.reason(&on.name).contains("data-left-0"), "{:#}", told.json);
    let mark = cluster.mark();
    let told = admin.run(&["delete", "ns", &on.name, "--yes", "--destroy-data"]).ends(0);
    assert_eq!(told.outcomes("done"), [&*on.name], "{:#}", told.json);
    namespace(&cluster, &on.name, None); // the scenario still asks for it
    let sent = admin.sent(mark);
    let lines: Vec<_> = sent.iter().map(Write::line).collect();
    let delete = format!("delete namespaces {}", on.name);
    assert_eq!(lines, [format!("dry {delete}"), delete]);
    assert!(sent[1].body["preconditions"]["resourceVersion"].is_string());
    read_again(&admin, mark, &volume);
    eventually("its data is destroyed", || !driver.has(&handle));
}

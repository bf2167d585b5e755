//! D-140 and following: custom resources that use claims without pods, and the marks of their operators.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::{Value, json};

use super::{Admin, Scenario, because, delete, is_untouched, state, written};
use crate::support::{Cluster, Fault, Options, Run, claim, eventually};

/// Kinds under their real names, with whatever fields: the group, the kind and the resource.
const KINDS: [(&str, &str, &str); 8] = [
    ("kubevirt.io", "VirtualMachine", "virtualmachines"),
    ("cdi.kubevirt.io", "DataVolume", "datavolumes"),
    ("keda.sh", "ScaledJob", "scaledjobs"),
    ("argoproj.io", "WorkflowTemplate", "workflowtemplates"),
    ("argoproj.io", "Workflow", "workflows"),
    ("volsync.backube", "ReplicationSource", "replicationsources"),
    ("postgresql.cnpg.io", "Cluster", "clusters"),
    ("kafka.strimzi.io", "Kafka", "kafkas"),
];

/// A cluster on which these kinds are served, and nothing acts on them. It is stopped when no scenario uses it.
fn operators() -> Arc<Cluster> {
    static CURRENT: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = current.upgrade() {
        return running;
    }
    let cluster = Cluster::start(Options::COMPLETE).of_many();
    for (group, kind, plural) in KINDS {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        cluster.create(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"), "annotations": {
                "api-approved.kubernetes.io": "unapproved, for tests",
            }},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                }],
            },
        }));
    }
    for (group, _, plural) in KINDS {
        eventually("the kind is served", || {
            let path = format!("/apis/{group}/v1/{plural}");
            cluster.try_kubectl(&["get", "--raw", &path], "").is_ok()
        });
    }
    let running = Arc::new(cluster);
    *current = Arc::downgrade(&running);
    running
}

fn custom(group: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// A stopped machine with this disk.
fn machine(name: &str, disk: &str) -> Value {
    let volumes = json!([{"name": "root", "dataVolume": {"name": disk}}]);
    let spec = json!({"runStrategy": "Halted", "template": {"spec": {"volumes": volumes}}});
    custom("kubevirt.io", "VirtualMachine", name, &spec)
}

/// Pods of this claim, as templates name it.
fn pods_of(claim: &str) -> Value {
    json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]})
}

fn labelled(name: &str, class: &str, labels: &Value) -> Value {
    let mut claim = claim(name, class);
    claim["metadata"]["labels"] = labels.clone();
    claim
}

#[test]
fn d_140_custom_resources_without_pods_are_users() {
    let cluster = operators();
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    let users = [
        (
            "vm-root",
            machine("vm", "vm-root"),
            "virtualmachine.kubevirt.io/vm references it in spec.template.spec.volumes[0].dataVolume.name (remove the volume from it, or delete it)",
        ),
        (
            "disk",
            custom("cdi.kubevirt.io", "DataVolume", "disk", &json!({"source": {"blank": {}}})),
            "datavolume.cdi.kubevirt.io/disk has its name, and would recreate it",
        ),
        (
            "queue",
            custom(
                "keda.sh",
                "ScaledJob",
                "worker",
                &json!({"minReplicaCount": 0, "jobTargetRef": {"template": {"spec": pods_of("queue")}}}),
            ),
            "scaledjob.keda.sh/worker references it in spec.jobTargetRef.template.spec.volumes[0].persistentVolumeClaim.claimName (remove the claim from its template, or delete it)",
        ),
        (
            "models",
            custom("argoproj.io", "WorkflowTemplate", "train", &pods_of("models")),
            "workflowtemplate.argoproj.io/train references it in spec.volumes[0]",
        ),
        (
            "orders",
            custom("volsync.backube", "ReplicationSource", "copy", &json!({"sourcePVC": "orders"})),
            "replicationsource.volsync.backube/copy references it in spec.sourcePVC (end the replication: delete it)",
        ),
    ];
    let names = users.each_ref().map(|(name, _, _)| *name);
    let volumes = users.each_ref().map(|(name, user, _)| {
        on.create(&claim(name, &driver.class_delete));
        on.create(user);
        on.bound(name)
    });
    on.create(&claim("plain", &driver.class_delete));
    let plain = on.bound("plain");
    let admin = Admin::of(&on);
    for flags in [&["--keep-data"][..], &["--destroy-data"], &["--keep-data", "--no-other-users"]] {
        let told = admin.refused(5, &delete(&on, &names, flags));
        for (name, _, words) in &users {
            because(&told, name, &["no flag overrides this", words]);
        }
    }
    for (name, volume) in names.iter().zip(&volumes) {
        is_untouched(&on, name);
        assert_eq!(state(&on, volume), ("Delete".to_owned(), "Bound".to_owned()));
        assert_eq!(driver.delete_calls(&on.handle(volume)), 0);
    }
    // Beside them, a claim that nobody uses needs no flag.
    admin.run(&delete(&on, &["plain"], &["--keep-data"])).ends(0);
    on.wait_gone("pvc/plain");
    assert_eq!(state(&on, &plain), ("Retain".to_owned(), "Released".to_owned()));

    for user in [
        "virtualmachines/vm",
        "datavolumes/disk",
        "scaledjobs/worker",
        "workflowtemplates/train",
        "replicationsources/copy",
    ] {
        on.delete(user);
    }
    let told = admin.run(&delete(&on, &names, &["--keep-data"])).ends(0);
    assert_eq!(told.outcomes("done").len(), names.len(), "{:#}", told.json);
    for (name, volume) in names.iter().zip(&volumes) {
        on.wait_gone(&format!("pvc/{name}"));
        assert_eq!(state(&on, volume), ("Retain".to_owned(), "Released".to_owned()));
    }
}

#[test]
fn d_141_what_has_finished_is_no_user() {
    let cluster = operators();
    let on = Scenario::on(&cluster);
    on.create(&claim("scratch", &cluster.driver().class_retain));
    on.bound("scratch");
    let mut workflow = custom("argoproj.io", "Workflow", "run", &pods_of("scratch"));
    workflow["status"] = json!({"phase": "Running", "finishedAt": null});
    on.create(&workflow);
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["scratch"], &[]));
    because(
        &told,
        "scratch",
        &["workflow.argoproj.io/run references it", "wait until it has finished"],
    );
    let done = json!({"status": {"phase": "Succeeded", "finishedAt": "2026-11-01T00:00:00Z"}});
    on.patch("workflows/run", &done);
    let told = admin.run(&delete(&on, &["scratch"], &["--dry-run"])).ends(0);
    let notices = told.json["changes"][0]["notices"].to_string();
    assert!(notices.contains("workflow.argoproj.io/run references it"), "{:#}", told.json);
    admin.run(&delete(&on, &["scratch"], &[])).ends(0);
    on.wait_gone("pvc/scratch");
}

#[test]
#[ignore = "extended suite: further cases"]
fn d_142_a_mark_needs_the_users_word() {
    let cluster = operators();
    let on = Scenario::on(&cluster);
    let class = &cluster.driver().class_retain;
    let of_db = json!({"cnpg.io/cluster": "shop-db", "cnpg.io/pvcRole": "PG_DATA"});
    on.create(&labelled("shop-db-1", class, &of_db));
    on.create(&labelled("data-0-bus-0", class, &json!({"strimzi.io/cluster": "bus"})));
    let home = json!({"app": "jupyterhub", "component": "singleuser-storage"});
    on.create(&labelled("claim-ann", class, &home));
    let restored = json!({"velero.io/restore-name": "nightly", "velero.io/backup-name": "nightly"});
    on.create(&labelled("restored", class, &restored));
    let names = ["shop-db-1", "data-0-bus-0", "claim-ann"];
    for name in names.iter().chain(&["restored"]) {
        on.bound(name);
    }
    // The cluster hibernates: its operator has removed its pods, and brings them back on a word.
    let mut db = custom("postgresql.cnpg.io", "Cluster", "shop-db", &json!({"instances": 1}));
    db["metadata"]["annotations"] = json!({"cnpg.io/hibernation": "on"});
    on.create(&db);
    let admin = Admin::of(&on);
    for flags in [&[][..], &["--no-other-users"]] {
        let told = admin.refused(5, &delete(&on, &["shop-db-1"], flags));
        let words =
            "cluster.postgresql.cnpg.io/shop-db uses the claims with its label cnpg.io/cluster";
        because(&told, "shop-db-1", &["no flag overrides this", words]);
    }
    on.delete("clusters/shop-db");
    let told = admin.refused(5, &delete(&on, &names, &[]));
    for (name, words) in [
        (
            "shop-db-1",
            "CloudNativePG can use it again when cluster.postgresql.cnpg.io/shop-db is recreated",
        ),
        ("data-0-bus-0", "Strimzi can use it again when kafka.kafka.strimzi.io/bus is recreated"),
        ("claim-ann", "JupyterHub starts a pod with it when its user logs in"),
    ] {
        because(&told, name, &[words, "; --no-other-users asserts that nothing else uses it"]);
        is_untouched(&on, name);
    }
    let plan = admin.run(&delete(&on, &names, &["--no-other-users", "--dry-run"])).ends(0);
    for change in plan.listed("changes") {
        assert_eq!(change["reliesOn"], json!(["--no-other-users"]), "{change:#}");
        assert!(change["notices"].to_string().contains("label "), "{change:#}");
    }
    let mark = cluster.mark();
    let told = admin.run(&delete(&on, &names, &["--no-other-users"])).ends(0);
    assert_eq!(told.outcomes("done").len(), 3, "{:#}", told.json);
    let mut sent = written(&admin, mark);
    sent.sort();
    let mut expected = names.map(|name| format!("delete persistentvolumeclaims {name}"));
    expected.sort();
    assert_eq!(sent, expected);
    // Where a claim came from says nothing about its users.
    admin.run(&delete(&on, &["restored"], &[])).ends(0);
    on.wait_gone("pvc/restored");
}

#[test]
fn d_143_what_comes_between_plan_and_write_is_found() {
    let cluster = operators();
    let on = Scenario::on(&cluster);
    let class = &cluster.driver().class_retain;
    for name in ["first", "second"] {
        on.create(&claim(name, class));
        on.bound(name);
    }
    let admin = Admin::of(&on);
    // A saved plan.
    let plan = admin.home.path().join("plan.json");
    let plan = plan.to_str().expect("because temporary folders have plain names");
    admin.run(&delete(&on, &["second"], &["--plan-out", plan])).ends(0);
    on.create(&machine("late", "second"));
    let told = admin.refused(5, &["apply", plan, "--yes"]);
    because(&told, "second", &["virtualmachine.kubevirt.io/late references it"]);
    is_untouched(&on, "second");
    on.delete("virtualmachines/late");

    // In one run, while another claim is being deleted.
    let proxy = cluster.proxy();
    let path = format!("^/api/v1/namespaces/{}/persistentvolumeclaims/first", on.name);
    let held = proxy.hold(Fault::hold().on("DELETE", &path).real());
    let mark = cluster.mark();
    let run = admin.by(proxy.kubeconfig(), &delete(&on, &["first", "second"], &[])).start();
    held.wait();
    on.create(&machine("late", "second"));
    held.release();
    let told = crate::support::Told::of(run.finish()).ends(6);
    assert_eq!(told.outcomes("done"), ["first"], "{:#}", told.json);
    because(&told, "second", &["virtualmachine.kubevirt.io/late references it"]);
    assert_eq!(written(&admin, mark), ["delete persistentvolumeclaims first"]);
    is_untouched(&on, "second");
}

#[test]
fn d_143_what_comes_after_the_deletion_keeps_the_data() {
    let cluster = operators();
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let handle = on.handle(&volume);
    let admin = Admin::of(&on);
    let proxy = cluster.proxy();
    let path = format!("^/api/v1/namespaces/{}/persistentvolumeclaims/data", on.name);
    let held = proxy.hold(Fault::hold_after().on("DELETE", &path).real());
    let run = delete(&on, &["data"], &["--destroy-data"]);
    let run = admin.by(proxy.kubeconfig(), &run).start();
    held.wait();
    on.create(&machine("late", "data"));
    held.release();
    let told = crate::support::Told::of(run.finish()).ends(6);
    assert_eq!(told.outcomes("pending"), ["data"], "{:#}", told.json);
    because(
        &told,
        "data",
        &[
            "is wanted: virtualmachine.kubevirt.io/late references it",
            "Released with policy Retain and its data",
        ],
    );
    assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Released".to_owned()));
    assert!(driver.has(&handle));
    assert_eq!(driver.delete_calls(&handle), 0);
}

#[test]
fn d_144_a_kind_that_may_not_be_listed_is_not_absent() {
    let cluster = operators();
    let on = Scenario::on(&cluster);
    let class = &cluster.driver().class_retain;
    for name in ["one", "two"] {
        on.create(&claim(name, class));
        on.bound(name);
    }
    let admin = Admin::named(&on, "clerk", &[]);
    // All that `rbac delete` prints, but for the machines.
    let printed = Run::of(&["rbac", "delete"]).go().stdout;
    let role: Value = serde_yaml::from_str(&printed).expect("it is YAML");
    let machines = |rule: &Value| rule["apiGroups"][0] == "kubevirt.io";
    let rules = role["rules"].as_array().expect("it has rules");
    assert!(rules.iter().any(machines), "{printed}");
    let without: Vec<_> = rules.iter().filter(|it| !machines(it)).cloned().collect();
    cluster.grant(&admin.name, &json!(without));

    let told = admin.refused(5, &delete(&on, &["one"], &[]));
    because(
        &told,
        "one",
        &[
            "unknown which custom resources use it: virtualmachines.kubevirt.io (forbidden: ",
            "--no-other-users asserts that nothing else uses it",
            "`kubectl storage rbac delete",
        ],
    );
    is_untouched(&on, "one");
    let told = admin.run(&delete(&on, &["one"], &["--no-other-users"])).ends(0);
    assert_eq!(told.outcomes("done"), ["one"], "{:#}", told.json);

    let lacking = Run::of(&["rbac", "delete", "--check", "--as", &admin.name]);
    let lacking = lacking.kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(lacking.stdout, "missing: list virtualmachines.kubevirt.io\n");
    let machines: Vec<_> = rules.iter().filter(|it| machines(it)).cloned().collect();
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": on.named("machines")}, "rules": machines,
    }));
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": on.named("machines")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": on.named("machines")},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": admin.name}],
    }));
    admin.run(&delete(&on, &["two"], &[])).ends(0);
    on.wait_gone("pvc/two");
}

#[test]
fn d_145_an_object_that_cannot_be_read_is_not_absent() {
    let cluster = operators();
    let on = Scenario::on(&cluster);
    on.create(&claim("data", &cluster.driver().class_retain));
    on.bound("data");
    let deep = (0..300).fold(json!({"claimName": "data"}), |inner, _| json!({"in": inner}));
    let mut deep = custom("keda.sh", "ScaledJob", "deep", &deep);
    deep["metadata"]["namespace"] = json!(on.name);
    // The requests of the scenarios cannot read it either.
    cluster.try_kubectl(&["create", "-f", "-"], &deep.to_string()).expect("it is valid");
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["data"], &[]));
    because(
        &told,
        "data",
        &["unknown which custom resources use it: scaledjobs.keda.sh (", "recursion limit"],
    );
    is_untouched(&on, "data");
    on.delete("scaledjobs/deep");
    admin.run(&delete(&on, &["data"], &[])).ends(0);
    on.wait_gone("pvc/data");
}

//! The proxy that stands for the API server as it really is: that it does what tests of writers rely on, seen from
//! kubectl, from the audit log and from the tool itself.

use std::thread;

use serde_json::json;

use crate::support::{
    Cluster, Fault, Options, PersistentVolume, Proxy, Request, Run, Scenario, Write, eventually,
    shared,
};

const VOLUMES: &str = "^/api/v1/persistentvolumes$";
const ONE_VOLUME: &str = "^/api/v1/persistentvolumes/";

/// A volume that nothing but its scenario is about.
fn volume(on: &Scenario) -> String {
    let name = on.named("pv");
    on.create(&PersistentVolume::csi(&name, "any.csi.example", &name).0);
    on.wait_phase(&format!("pv/{name}"), "Available");
    name
}

/// Labels a volume by way of a proxy, with the real kubectl.
fn label(cluster: &Cluster, proxy: &Proxy, volume: &str, more: &[&str]) -> Result<String, String> {
    let patch = [
        "patch",
        "pv",
        volume,
        "--type=merge",
        "-p",
        r#"{"metadata":{"labels":{"by":"kubectl"}}}"#,
    ];
    cluster.kubectl_through(proxy, &[&patch, more].concat())
}

fn is_labelled(on: &Scenario, volume: &str) -> bool {
    on.read(&format!("pv/{volume}"))["metadata"]["labels"]["by"] == "kubectl"
}

/// What the API server answered to patches of a volume since the scenario began.
fn patches(on: &Scenario, volume: &str) -> Vec<u64> {
    let mut events = on.events(volume);
    events.retain(|it| it["verb"] == "patch" && it["objectRef"]["resource"] == "persistentvolumes");
    events.iter().filter_map(|it| it["responseStatus"]["code"].as_u64()).collect()
}

/// The patches that came to a proxy.
fn sent(proxy: &Proxy) -> Vec<Request> {
    let mut all = proxy.requests();
    all.retain(|it| it.method == "PATCH");
    all
}

/// Panics unless kubectl failed and said all of this.
fn failed(said: Result<String, String>, words: &[&str]) {
    let error = said.expect_err("kubectl must have failed");
    for word in words {
        assert!(error.contains(word), "does not say {word:?}: {error}");
    }
}

#[test]
fn a_proxy_without_faults_changes_nothing() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    let report = on.audit_through(&proxy, &["-n", &on.name]);
    assert_eq!(report.code, Some(0), "{report}");
    assert!(label(on.cluster, &proxy, &volume, &["--dry-run=server"]).is_ok());
    assert!(!is_labelled(&on, &volume));
    assert!(label(on.cluster, &proxy, &volume, &[]).is_ok());
    assert!(is_labelled(&on, &volume));

    let patches = sent(&proxy);
    let [dry, real] = patches.as_slice() else { panic!("{patches:#?}") };
    assert!(dry.dry_run && dry.query.contains("dryRun=All"), "{dry:#?}");
    assert!(!real.dry_run && real.query.starts_with("fieldManager=kubectl-patch"), "{real:#?}");
    for patch in &patches {
        assert_eq!(patch.line(), format!("PATCH /api/v1/persistentvolumes/{volume}"));
        assert_eq!(patch.body, json!({"metadata": {"labels": {"by": "kubectl"}}}));
        assert_eq!(patch.content_type, "application/merge-patch+json");
        assert!(patch.user_agent.starts_with("kubectl/"), "{patch:#?}");
        assert!(patch.fault.is_empty() && patch.forwarded && patch.done, "{patch:#?}");
        assert_eq!((patch.server_status, patch.status), (200, 200));
    }
    let agents: Vec<_> = proxy.requests().into_iter().map(|it| it.user_agent).collect();
    let first = agents.iter().position(|it| it.starts_with("kubectl/")).expect("it was just seen");
    assert!(
        first > 0 && agents[..first].iter().all(|it| it.starts_with("kubectl-storage/")),
        "in order"
    );
}

/// A user's rights are those that he has without the proxy.
#[test]
fn users_are_who_they_are() {
    let on = Scenario::on(shared());
    let proxy = on.cluster.proxy();
    let report =
        Run::of(&["audit", "-o", "json"]).kubeconfig(&proxy.kubeconfig_of("user-19")).go().report();
    assert!(report.has_gap("persistentvolumes", None), "{report}");
    let list: Vec<_> =
        proxy.requests().into_iter().filter(|it| it.path == "/api/v1/persistentvolumes").collect();
    assert!(
        !list.is_empty() && list.iter().all(|it| it.forwarded && it.status == 403),
        "{list:#?}"
    );
}

#[test]
fn an_audit_gets_over_two_refusals() {
    let on = Scenario::on(shared());
    let proxy = on.cluster.proxy();
    proxy.fault(Fault::status(503).on("GET", VOLUMES).times(1));
    proxy.fault(Fault::status(429).on("GET", VOLUMES).text("slow down").retry_after(1).times(1));
    let report = on.audit_through(&proxy, &[]);
    assert_eq!(report.code, Some(0), "{report}");
    assert!(report.gaps().is_empty(), "{report}");
    let lists: Vec<_> = proxy
        .requests()
        .into_iter()
        .filter(|it| it.path == "/api/v1/persistentvolumes")
        .map(|it| (it.status, it.forwarded))
        .collect();
    assert_eq!(lists[..3], [(503, false), (429, false), (200, true)]);
}

#[test]
fn an_audit_that_is_refused_for_ever_has_a_gap() {
    let on = Scenario::on(shared());
    let proxy = on.cluster.proxy();
    proxy.fault(Fault::status(403).on("GET", VOLUMES));
    let report = on.audit_through(&proxy, &[]);
    assert_eq!(report.code, Some(4), "{report}");
    assert!(report.has_gap("persistentvolumes", None), "{report}");
}

#[test]
fn refusals_never_reach_the_server() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    let patch = |code| Fault::status(code).on("PATCH", ONE_VOLUME).times(1);
    proxy.fault(patch(403).message("not on a Monday"));
    proxy.fault(patch(409).reason("AlreadyExists"));
    proxy.fault(patch(500));
    failed(label(on.cluster, &proxy, &volume, &[]), &["Forbidden", "not on a Monday"]);
    failed(label(on.cluster, &proxy, &volume, &[]), &["AlreadyExists"]);
    failed(label(on.cluster, &proxy, &volume, &[]), &["InternalError"]);
    assert!(patches(&on, &volume).is_empty());
    assert!(label(on.cluster, &proxy, &volume, &[]).is_ok());
    assert_eq!(patches(&on, &volume), [200]);
    let answers: Vec<_> = sent(&proxy).iter().map(|it| (it.status, it.forwarded)).collect();
    assert_eq!(answers, [(403, false), (409, false), (500, false), (200, true)]);
}

#[test]
fn only_the_dry_run_or_only_the_real_one_is_refused() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    proxy.fault(Fault::status(500).on("PATCH", ONE_VOLUME).real().after(1));
    assert!(label(on.cluster, &proxy, &volume, &[]).is_ok(), "the first passes");
    failed(label(on.cluster, &proxy, &volume, &[]), &["InternalError"]);
    assert!(label(on.cluster, &proxy, &volume, &["--dry-run=server"]).is_ok());
    proxy.clear();
    assert!(label(on.cluster, &proxy, &volume, &[]).is_ok());
    proxy.fault(Fault::status(500).on("", ONE_VOLUME).dry().body("All"));
    assert!(
        label(on.cluster, &proxy, &volume, &["--dry-run=server"]).is_ok(),
        "its body says nothing"
    );
    let delete = |more: &[&str]| {
        on.cluster
            .kubectl_through(&proxy, &[&["delete", "pv", &volume, "--wait=false"], more].concat())
    };
    failed(delete(&["--dry-run=server"]), &["InternalError"]);
    assert!(delete(&[]).is_ok());
    on.wait_gone(&format!("pv/{volume}"));
}

#[test]
fn the_answer_comes_too_late() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    proxy.fault(Fault::status_after(504).on("PATCH", ONE_VOLUME).query("kubectl-patch"));
    failed(label(on.cluster, &proxy, &volume, &[]), &["Timeout"]);
    assert!(is_labelled(&on, &volume));
    assert_eq!(patches(&on, &volume), [200]);
    let patch = &sent(&proxy)[0];
    assert_eq!((patch.forwarded, patch.server_status, patch.status), (true, 200, 504));
    assert!(patch.fault.starts_with("status-after"), "{patch:#?}");
}

#[test]
fn the_connection_is_reset_before_the_server_sees_the_request() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    proxy.fault(Fault::reset_before().on("PATCH", ONE_VOLUME));
    assert!(label(on.cluster, &proxy, &volume, &[]).is_err());
    assert!(!is_labelled(&on, &volume));
    assert!(patches(&on, &volume).is_empty());
    let patch = &sent(&proxy)[0];
    assert_eq!((patch.forwarded, patch.server_status, patch.status), (false, 0, 0));
}

#[test]
fn the_connection_is_reset_after_the_write() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    proxy.fault(Fault::reset_after().on("PATCH", ONE_VOLUME));
    assert!(label(on.cluster, &proxy, &volume, &[]).is_err());
    assert!(is_labelled(&on, &volume));
    assert_eq!(patches(&on, &volume), [200]);
    let patch = &sent(&proxy)[0];
    assert_eq!((patch.forwarded, patch.server_status, patch.status), (true, 200, 0));
}

/// Something happens between a request and its arrival: here, the deletion of its object.
#[test]
fn a_request_is_held_while_the_world_changes() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    let said = thread::scope(|scope| {
        let held = proxy.hold(Fault::hold().on("PATCH", ONE_VOLUME).real());
        let kubectl = scope.spawn(|| label(on.cluster, &proxy, &volume, &[]));
        let request = held.wait();
        assert_eq!(request.body["metadata"]["labels"]["by"], "kubectl");
        assert_eq!((request.forwarded, request.done), (false, false));
        on.delete(&format!("pv/{volume}"));
        on.wait_gone(&format!("pv/{volume}"));
        held.release();
        kubectl.join().expect("because it does not panic")
    });
    failed(said, &["NotFound"]);
    assert_eq!(patches(&on, &volume), [404]);
}

/// Something happens between a write and its answer.
#[test]
fn an_answer_is_held_while_the_world_changes() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    let said = thread::scope(|scope| {
        let held = proxy.hold(Fault::hold_after().on("PATCH", ONE_VOLUME));
        let kubectl = scope.spawn(|| label(on.cluster, &proxy, &volume, &[]));
        let request = held.wait();
        assert_eq!((request.server_status, request.status), (200, 0));
        assert!(is_labelled(&on, &volume), "the write took effect");
        assert!(!kubectl.is_finished(), "nobody told kubectl");
        on.patch(&format!("pv/{volume}"), &json!({"metadata": {"labels": {"by": "somebody"}}}));
        held.release();
        kubectl.join().expect("because it does not panic")
    });
    assert!(said.is_ok(), "{said:?}");
    assert!(!is_labelled(&on, &volume));
}

#[test]
fn what_is_held_can_be_lost() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    let said = thread::scope(|scope| {
        let held = proxy.hold(Fault::hold().on("PATCH", ONE_VOLUME));
        let kubectl = scope.spawn(|| label(on.cluster, &proxy, &volume, &[]));
        held.wait();
        held.lose();
        kubectl.join().expect("because it does not panic")
    });
    assert!(said.is_err(), "{said:?}");
    assert!(patches(&on, &volume).is_empty());
    assert!(label(on.cluster, &proxy, &volume, &[]).is_ok(), "nothing is held any more");
}

/// `kill -9` at a chosen instant: when the tool has sent a request and waits for the answer.
#[test]
fn the_tool_is_killed_while_it_waits() {
    let on = Scenario::on(shared());
    let proxy = on.cluster.proxy();
    let held = proxy.hold(Fault::hold().on("GET", VOLUMES));
    let running = Run::of(&["audit", "-o", "json"]).through(&proxy).start();
    assert!(held.wait().user_agent.starts_with("kubectl-storage/"));
    let outcome = running.kill();
    assert_eq!((outcome.code, outcome.stdout.as_str()), (None, ""));
}

#[test]
fn watches_pass_through() {
    let on = Scenario::on(shared());
    let volume = volume(&on);
    let proxy = on.cluster.proxy();
    proxy.fault(Fault::reset_after().on("GET", VOLUMES).query("watch=true")); // no watch has an end
    let args = [
        "get",
        "pv",
        &volume,
        "--watch",
        "--output-watch-events",
        "-o",
        "jsonpath={.type} {.object.metadata.labels.by};\n",
    ];
    let mut watching = on.cluster.watch_through(&proxy, &args);
    watching.wait("ADDED");
    // Of one object, kubectl drops the first event of the watch, which shows the object as it was listed.
    let watches = |it: &Request| it.query.contains("watch=true") && it.status == 200;
    eventually("kubectl watches", || proxy.requests().iter().any(watches));
    on.patch(&format!("pv/{volume}"), &json!({"metadata": {"labels": {"by": "somebody"}}}));
    watching.wait("MODIFIED somebody;");
    let watch = proxy.requests().into_iter().find(|it| it.query.contains("watch=true"));
    let watch = watch.expect("because kubectl watches");
    assert_eq!((watch.status, watch.done), (200, false), "{watch:#?}");
}

#[test]
fn the_server_restarts_behind_the_proxy() {
    let cluster = Cluster::start(Options::default());
    let on = Scenario::on(&cluster);
    let name = on.named("pv");
    on.create(&PersistentVolume::csi(&name, "any.csi.example", &name).0);
    let proxy = cluster.proxy();
    let meanwhile = |happens: &dyn Fn()| {
        thread::scope(|scope| {
            let held = proxy.hold(Fault::hold().on("PATCH", ONE_VOLUME));
            let kubectl = scope.spawn(|| label(&cluster, &proxy, &name, &[]));
            held.wait();
            happens();
            held.release();
            kubectl.join().expect("because it does not panic")
        })
    };
    let said = meanwhile(&|| cluster.restart_server());
    assert!(said.is_ok(), "{said:?}");
    assert!(is_labelled(&on, &name));
    assert_eq!(on.audit_through(&proxy, &[]).code, Some(0));

    let said = meanwhile(&|| cluster.stop_component("apiserver"));
    assert!(said.is_err(), "{said:?}");
    let last = proxy.requests().pop().expect("because kubectl asked");
    assert_eq!((last.server_status, last.status), (0, 0), "{last:#?}");
}

/// The tool itself does not write yet: kubectl under its name stands in for it.
#[test]
fn writes_of_the_tool_are_told_from_all_others() {
    let cluster = Cluster::start(Options::default());
    let on = Scenario::on(&cluster);
    let volume = on.named("pv");
    on.create(&PersistentVolume::csi(&volume, "any.csi.example", &volume).0);
    assert!(on.writes().is_empty(), "the testbed's own kubectl is not the tool");
    on.audit(&[]);
    assert!(on.writes().is_empty(), "access reviews are questions");

    let tool = |args: &[&str]| cluster.kubectl_as_the_tool(args, "");
    let patch = r#"[{"op":"test","path":"/spec/persistentVolumeReclaimPolicy","value":"Retain"},{"op":"add","path":"/metadata/labels","value":{"by":"tool"}}]"#;
    let patch = ["patch", "pv", &volume, "--type=json", "-p", patch];
    tool(&[&patch[..], &["--dry-run=server"]].concat()).expect("it is allowed");
    tool(&patch).expect("it is allowed");
    let status = r#"{"status":{"message":"by the tool"}}"#;
    tool(&["patch", "pv", &volume, "--subresource=status", "--type=merge", "-p", status])
        .expect("it is allowed");
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "kept", "namespace": "default"},
        "involvedObject": {"kind": "PersistentVolume", "name": volume}, "reason": "Kept",
    });
    cluster.kubectl_as_the_tool(&["create", "-f", "-"], &event.to_string()).expect("it is allowed");
    tool(&["create", "configmap", "kept", "-n", &on.name, "--from-literal=a=b"])
        .expect("it is allowed");
    tool(&["create", "configmap", "kept", "-n", &on.name]).expect_err("it is there");
    tool(&["delete", "pv", &volume, "--dry-run=server"]).expect("it is allowed");
    tool(&["delete", "pv", &volume, "--wait=false"]).expect("it is allowed");

    let writes = on.writes();
    let lines: Vec<_> = writes.iter().map(Write::line).collect();
    assert_eq!(
        lines,
        [
            format!("dry patch persistentvolumes {volume}"),
            format!("patch persistentvolumes {volume}"),
            format!("patch persistentvolumes/status {volume}"),
            "create configmaps kept".to_owned(),
            "create configmaps kept 409".to_owned(),
            format!("dry delete persistentvolumes {volume}"),
            format!("delete persistentvolumes {volume}"),
        ]
    );
    assert_eq!(writes[1].body[0]["op"], "test", "{:#?}", writes[1]);
    assert_eq!(writes[3].body["data"]["a"], "b", "{:#?}", writes[3]);
    assert_eq!(writes[3].namespace, on.name);
    assert!(writes.iter().all(|it| it.user == "admin"), "{writes:#?}");
    let events = on.events_sent();
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0].body["reason"], "Kept");
}

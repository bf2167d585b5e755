//! `watch pause`, `watch resume` and `watch status`.

use serde_json::{Value, json};

use crate::support::{Admin, Fault, Run, Scenario, Told, shared};

const RECORD: &str = "configmap/kubectl-storage-watch";

/// What `watch status` says, which must end so.
#[track_caller]
fn status(admin: &Admin, code: i32) -> Value {
    let args = ["watch", "status", "-n", &admin.on.name, &super::there(admin.on)];
    let told = admin.run(&args).ends(code);
    assert_eq!(told.json["kind"], "WatchStatus", "{:#}", told.json);
    told.json
}

/// Runs a command of `watch` that prints nothing.
fn watch(admin: &Admin, kubeconfig: &std::path::Path, args: &[&str]) -> Told {
    let run = Run::of(&["watch"]).more(args).more(&["-n", &admin.on.name, "--as", &admin.name]);
    let run = run.more(&["--as-group", "system:masters"]).kubeconfig(kubeconfig);
    Told::of(run.env("XDG_STATE_HOME", admin.home.path()).go())
}

#[test]
fn everybody_can_pause_what_acts_and_doubt_pauses_it_too() {
    let on = Scenario::on(shared());
    let (admin, proxy) = (Admin::of(&on), on.cluster.proxy());
    let (here, there) = (on.cluster.kubeconfig(), super::there(&on));

    // Nothing acts before somebody has said that it may.
    let mark = on.cluster.mark();
    let first = status(&admin, 0);
    assert_eq!(first["pause"], json!({"paused": true, "record": "missing"}));
    assert_eq!(first["leaders"], json!({"leases": []}));
    assert_eq!((&first["journal"]["entries"], &first["journal"]["open"]), (&json!(0), &json!(0)));
    assert!(admin.writes(mark).is_empty(), "a status writes nothing");

    watch(&admin, here, &["resume"]).ends(0).says(&["is resumed by", &admin.name]);
    let resumed = status(&admin, 0);
    assert_eq!(
        (&resumed["pause"]["paused"], &resumed["pause"]["by"]),
        (&json!(false), &json!(admin.name))
    );
    assert!(resumed["pause"]["since"].is_string(), "{resumed:#}");

    // A copy of it from another cluster lets nothing act, and is paused or resumed like any other.
    let copy = json!({"data": {"cluster": "another"}});
    on.patch(RECORD, &copy);
    let copied = status(&admin, 0);
    assert_eq!(copied["pause"]["record"], "malformed", "{copied:#}");
    watch(&admin, here, &["resume"]).ends(0).says(&["is resumed by"]);
    assert_eq!(status(&admin, 0)["pause"]["record"], "resumed");

    // The answer is lost: it is looked up, and written once.
    let mark = on.cluster.mark();
    proxy.fault(Fault::reset_after().on("PUT", "/configmaps/").real().times(1));
    let why = ["pause", "--reason", "a restore"];
    watch(&admin, proxy.kubeconfig(), &why).ends(0).says(&["is paused by", ": a restore"]);
    assert_eq!(admin.writes(mark).len(), 1);
    let paused = status(&admin, 0);
    assert_eq!(
        (&paused["pause"]["record"], &paused["pause"]["reason"]),
        (&json!("paused"), &json!("a restore"))
    );
    // Once more, without a reason of its own: the first one stays.
    let mark = on.cluster.mark();
    watch(&admin, here, &["pause"]).ends(0).says(&["nothing to do"]);
    assert!(admin.writes(mark).is_empty());

    // Who resumes while another one pauses has not read why.
    proxy.clear();
    let held = proxy.hold(Fault::hold().on("PUT", "/configmaps/").real());
    let resume = Run::of(&["watch", "resume", "-n", &on.name, "--as", &admin.name]);
    let resume = resume.more(&["--as-group", "system:masters"]).kubeconfig(proxy.kubeconfig());
    let resume = resume.env("XDG_STATE_HOME", admin.home.path()).start();
    held.wait();
    watch(&admin, here, &["pause", "--reason", "not yet"]).ends(0);
    held.release();
    Told::of(resume.finish()).ends(5).says(&["meanwhile", "not yet"]);
    assert_eq!(status(&admin, 0)["pause"]["reason"], "not yet");

    // What somebody edits by hand, and what is not its own.
    on.patch(RECORD, &json!({"data": {"paused": "nope"}}));
    let edited = status(&admin, 0);
    assert_eq!(
        (&edited["pause"]["paused"], &edited["pause"]["record"]),
        (&json!(true), &json!("malformed"))
    );
    on.patch(RECORD, &json!({"data": {"policy.yaml": "kind: WatchPolicy"}}));
    let mark = on.cluster.mark();
    watch(&admin, here, &["resume"]).ends(5).says(&["policy.yaml", "nothing acts by it"]);
    assert!(admin.writes(mark).is_empty());
    // A pause always wins, and loses nothing of theirs.
    on.patch(RECORD, &json!({"data": {"paused": "false"}}));
    assert_eq!(status(&admin, 0)["pause"]["record"], "malformed");
    watch(&admin, here, &["pause"]).ends(0).says(&["is paused by"]);
    let kept = on.read(RECORD)["data"].clone();
    assert_eq!(
        (&kept["paused"], &kept["policy.yaml"]),
        (&json!("true"), &json!("kind: WatchPolicy"))
    );
    on.delete(RECORD);
    assert_eq!(status(&admin, 0)["pause"]["record"], "missing");

    // Who leads, by the Lease.
    on.create(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kubectl-storage-watch"},
        "spec": {"holderIdentity": "pod-a", "leaseTransitions": 3, "leaseDurationSeconds": 15,
                 "renewTime": "2026-11-01T12:00:00.000000Z"},
    }));
    let uid = on.read("lease/kubectl-storage-watch")["metadata"]["uid"].clone();
    // That of another policy, and one that is none of ours.
    for name in ["kubectl-storage-watch-shop", "kubectl-storage-watcher"] {
        on.create(&json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
            "spec": {"leaseDurationSeconds": 15},
        }));
    }
    let other = on.read("lease/kubectl-storage-watch-shop")["metadata"]["uid"].clone();
    let leaders = status(&admin, 0)["leaders"].clone();
    let expected = json!({"leases": [
        {
            "name": "kubectl-storage-watch", "holder": "pod-a", "renewed": "2026-11-01T12:00:00Z",
            "term": {"lease": uid, "transitions": 3},
        },
        {"name": "kubectl-storage-watch-shop", "term": {"lease": other, "transitions": 0}},
    ]});
    assert_eq!(leaders, expected);

    // Without rights nothing is known, which is told, and nothing is written.
    let nobody = Admin::named(&on, "nobody", &[]);
    let blind = status(&nobody, 4);
    assert_eq!(
        (&blind["pause"]["paused"], &blind["pause"]["record"]),
        (&json!(true), &json!("unreadable"))
    );
    assert!(blind["leaders"]["unread"].is_string() && blind["journal"]["unread"].is_string());
    // The printed roles are enough.
    for (role, args, says) in [
        // There is none, and the right to pause is not the right to create one.
        ("watch-pause", ["watch", "pause"], "is paused; what you said is not recorded"),
        ("watch-resume", ["watch", "resume"], "is resumed by"),
        ("watch-status", ["watch", "status"], ""),
    ] {
        let journal = there.as_str();
        let more: &[&str] = if role == "watch-status" { &[journal] } else { &[] };
        let printed = Run::of(&["rbac", role, "-n", &on.name]).more(more).go().stdout;
        on.cluster.try_kubectl(&["apply", "-f", "-"], &printed).expect("they are roles");
        let (name, of) = (format!("kubectl-storage-{role}"), format!("--user={}", nobody.name));
        let role_of = format!("--role={name}");
        on.cluster.kubectl(&["create", "rolebinding", &name, "-n", &on.name, &role_of, &of]);
        if role != "watch-pause" {
            let (bound, role_of) = (format!("{name}-{}", on.name), format!("--clusterrole={name}"));
            on.cluster.kubectl(&["create", "clusterrolebinding", &bound, &role_of, &of]);
        }
        let run = Run::of(&args).more(more).more(&["-n", &on.name, "--as", &nobody.name]);
        let ran = run.kubeconfig(here).go();
        assert!(ran.code == Some(0) && ran.stderr.contains(says), "{role}: {}", ran.stderr);
        let check = Run::of(&["rbac", role, "--check", "-n", &on.name, "--as", &nobody.name]);
        assert_eq!(check.more(more).kubeconfig(here).go().code, Some(0), "{role}");
    }
    assert_eq!(status(&nobody, 0)["pause"]["by"], json!(nobody.name));
}

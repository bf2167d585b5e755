//! Plans that are carried out later, and what has changed meanwhile. No controller runs.

use serde_json::json;

use super::{
    Admin, EXTERNAL, IS_GONE, STILL, finalizers, fix, hang, is_one_removal, left, lines,
    set_finalizers,
};
use crate::support::{Fault, Scenario, claim, pod};

const BACKUP: &str = "example.com/backup";
const MIRROR: &str = "storage.example.com/mirror";

/// What was planned is done to what it was planned for, or not at all.
#[test]
fn a_saved_plan_is_for_the_object_as_it_was() {
    let on = Scenario::on(&STILL);
    let admin = Admin::of(&on);
    let kinds = ["changed", "reordered", "repaired", "replaced", "same"];
    let names = kinds.map(|kind| on.named(kind));
    let objects = kinds.map(|kind| hang(&on, &left(&on, kind), &[MIRROR, EXTERNAL, BACKUP]));
    let [changed, reordered, repaired, replaced, same] = &objects;
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let file = folder.path().join("plan.yaml").display().to_string();
    let all: Vec<_> = objects.iter().map(String::as_str).collect();
    let told = admin.refused(0, &fix(&[&all, &["--plan-out", &*file][..], &IS_GONE].concat()));
    assert_eq!(told.changes(), names, "{:#}", told.json);

    on.set_policy(&names[0], "Delete");
    set_finalizers(&on, reordered, &[BACKUP, MIRROR, EXTERNAL]);
    set_finalizers(&on, repaired, &[MIRROR, BACKUP]);
    set_finalizers(&on, replaced, &[]);
    on.wait_gone(replaced);
    hang(&on, &left(&on, "replaced"), &[MIRROR, EXTERNAL, BACKUP]);
    let (before, mark) = (on.read(same), on.cluster.mark());
    let moved = on.read(reordered);
    let told = admin.run(&["apply", &file, "--yes"]).ends(6);
    assert!(told.outcomes("done").contains(&&*names[4]), "{:#}", told.json);
    for (object, name) in [(changed, &names[0]), (repaired, &names[2]), (replaced, &names[3])] {
        assert!(!told.outcomes("done").contains(&&**name), "{:#}", told.json);
        let sent = admin.sent(mark);
        assert!(sent.iter().all(|it| it.name != **name), "{:#?}", lines(&sent));
        assert!(finalizers(&on, object).contains(&MIRROR.to_owned()));
    }
    assert_eq!(finalizers(&on, changed), [MIRROR, EXTERNAL, BACKUP]);
    let of = |name: &str| {
        let mut sent = admin.sent(mark);
        sent.retain(|it| it.name == name && !it.dry);
        sent
    };
    is_one_removal(&of(&names[4])[0].body, &before, EXTERNAL);
    // The same proposal at another place is rendered anew, from what was read.
    if told.outcomes("done").contains(&&*names[1]) {
        is_one_removal(&of(&names[1])[0].body, &moved, EXTERNAL);
        assert_eq!(finalizers(&on, reordered), [BACKUP, MIRROR]);
    } else {
        assert_eq!(finalizers(&on, reordered), [BACKUP, MIRROR, EXTERNAL]);
    }
    admin.refused(5, &["apply", &file, "--yes"]);
}

/// Between the dry run and the request, somebody else takes one away: the place is another finalizer's then.
#[test]
fn a_finalizer_that_moved_at_the_last_moment_is_not_mistaken() {
    let on = Scenario::on(&STILL);
    let (admin, proxy) = (Admin::of(&on), STILL.proxy());
    let (name, next) = (on.named("pv"), on.named("next"));
    let object = hang(&on, &left(&on, "pv"), &[MIRROR, EXTERNAL, BACKUP]);
    let other = hang(&on, &left(&on, "next"), &[EXTERNAL, BACKUP]);
    let path = format!("^/api/v1/persistentvolumes/{name}$");
    let held = proxy.hold(Fault::hold().on("PATCH", &path).real());
    let args = fix(&[&[&*object, &*other, "--yes"][..], &IS_GONE].concat());
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    set_finalizers(&on, &object, &[BACKUP, EXTERNAL]);
    held.release();
    let told = super::Told::of(running.finish()).ends(6);
    assert_eq!(told.outcomes("stale"), [&*name], "{:#}", told.json);
    assert_eq!(finalizers(&on, &object), [BACKUP, EXTERNAL]);
    // That is no reason to leave another one alone.
    assert_eq!(told.outcomes("done"), [&*next], "{:#}", told.json);
    assert_eq!(finalizers(&on, &other), [BACKUP]);

    let mark = on.cluster.mark();
    let before = on.read(&object);
    admin.run(&fix(&[&[&*object, "--yes"][..], &IS_GONE].concat())).ends(0);
    super::one_removal(&admin, mark, "persistentvolumes", &before, EXTERNAL);
    on.patch(&object, &json!({"metadata": {"finalizers": null}}));
}

/// A claim that nobody used when the plan was made.
#[test]
fn a_pod_that_came_meanwhile_keeps_its_claim() {
    let on = Scenario::on(&STILL);
    let admin = Admin::of(&on);
    let word = ["-n", &*on.name, "--driver-absent", "kube-controller-manager"];
    for name in ["planned", "raced"] {
        on.create(&claim(name, ""));
        on.delete(&format!("pvc/{name}"));
    }
    super::grow_old();
    let file = admin.home.path().join("plan.yaml").display().to_string();
    let words = [&["pvc/planned", "--plan-out", &*file][..], &word].concat();
    assert_eq!(admin.refused(0, &fix(&words)).changes(), ["planned"]);
    on.create(&pod("user", "planned"));
    let told = admin.refused(5, &["apply", &file, "--yes"]);
    super::because(&told, "planned", &["user"]);
    on.read("pvc/planned");

    // It comes when the request is on its way: that is told, since nothing else can be done any more.
    let proxy = STILL.proxy();
    let path = "/persistentvolumeclaims/raced$";
    let held = proxy.hold(Fault::hold().on("PATCH", path).real());
    let args = fix(&[&["pvc/raced", "--yes"][..], &word].concat());
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    on.create(&pod("late", "raced"));
    held.release();
    let told = super::Told::of(running.finish()).ends(0);
    super::because(&told, "raced", &["late"]);
    assert!(on.get("pvc/raced").is_none());
}

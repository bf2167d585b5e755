//! A journal that takes its time: what has changed meanwhile is not written.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use super::super::set::{BY_SET, DELETE_WITH_SET, RETAIN, Set};
use crate::support::{Admin, Fault, Told, shared};

const CLAIM: &str = "data-web-1";
/// What gives the claims of a set their owners back.
const ADD_OWNERS: [&str; 5] = ["retention", "reconcile", "sts/web", "--add-owners", "--yes"];

/// Longer than what was judged counts as fresh, and shorter than an append may take.
const SLOWLY: Duration = Duration::from_millis(1500);

/// The set is deleted while the addition is being recorded: the claim does not change by that.
#[test]
fn nothing_is_added_whose_set_is_deleted_while_it_is_recorded() {
    let set = Set::start(shared(), RETAIN, 2);
    set.scale(1);
    set.set_policy(DELETE_WITH_SET);
    set.wait_owners("data-web-0", &[BY_SET]);
    let (admin, proxy) = (Admin::of(&set.on), set.on.cluster.proxy());
    let journal = format!("--cluster-journal={}", set.on.name);
    let args = [&ADD_OWNERS[..], &["-n", &set.on.name, &journal]].concat();
    let mark = set.on.cluster.mark();
    let held = proxy.hold(Fault::hold().on("POST", "/configmaps$").real());
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    let delete = ["delete", "sts/web", "-n", &set.on.name, "--cascade=orphan"];
    set.on.cluster.kubectl(&delete);
    set.on.wait_gone("sts/web");
    sleep(SLOWLY);
    held.release();
    let told = Told::of(running.finish());
    assert_eq!(told.outcomes("refused"), [CLAIM], "{:#}", told.json);
    assert!(told.reason(CLAIM).contains("nothing was sent"), "{:#}", told.json);
    let writes = admin.sent(mark);
    let patches: Vec<_> =
        writes.iter().filter(|it| it.resource == "persistentvolumeclaims" && !it.dry).collect();
    assert!(patches.is_empty(), "{patches:#?}");
    assert!(set.owners(CLAIM).is_empty());
    set.on.cluster.kubectl(&["delete", "pods", "--all", "-n", &set.on.name]);
}

/// What was added is taken back, which takes long to be recorded; somebody else removes a part of it meanwhile.
#[test]
fn what_is_taken_back_is_what_is_there_after_it_was_recorded() {
    let set = Set::start(shared(), RETAIN, 2);
    set.scale(1);
    set.set_policy(DELETE_WITH_SET);
    set.wait_owners("data-web-0", &[BY_SET]);
    let before = set.claims();
    let (admin, proxy) = (Admin::of(&set.on), set.on.cluster.proxy());
    let journal = format!("--cluster-journal={}", set.on.name);
    let args = [&ADD_OWNERS[..], &["-n", &set.on.name, &journal]].concat();
    let patch = proxy.hold(Fault::hold().on("PATCH", "/persistentvolumeclaims/").real());
    let taken_back = Fault::hold().on("PUT", "/configmaps/").body("remove-owner-references").real();
    let record = proxy.hold(taken_back);
    let mark = set.on.cluster.mark();
    let running = admin.by(proxy.kubeconfig(), &args).start();
    patch.wait();
    let delete = ["delete", "sts/web", "-n", &set.on.name, "--cascade=orphan"];
    set.on.cluster.kubectl(&delete);
    set.on.wait_gone("sts/web");
    patch.release();
    record.wait();
    let live = set.on.read(&format!("pvc/{CLAIM}"));
    let owners = live["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let guard: Vec<_> = owners.into_iter().filter(|it| it["kind"] == "PersistentVolume").collect();
    assert_eq!(guard.len(), 1, "{live:#}");
    set.set_owners(CLAIM, &guard);
    sleep(SLOWLY);
    record.release();
    let told = Told::of(running.finish()).ends(6);
    assert_eq!(told.outcomes("failed"), [CLAIM], "{:#}", told.json);
    let reason = told.reason(CLAIM);
    assert!(reason.contains("and the claim is kept"), "{reason}");
    assert_eq!(set.claims(), before);
    assert!(set.owners(CLAIM).is_empty());
    // Nothing was sent that the API server had to reject.
    let requests = admin.requests(mark);
    let patches = requests.iter().filter(|it| {
        it["objectRef"]["resource"] == "persistentvolumeclaims" && it["verb"] == "patch"
    });
    let codes: Vec<_> = patches.map(|it| it["responseStatus"]["code"].clone()).collect();
    assert!(!codes.is_empty() && codes.iter().all(|it| *it == json!(200)), "{codes:?}");
    set.on.cluster.kubectl(&["delete", "pods", "--all", "-n", &set.on.name]);
}

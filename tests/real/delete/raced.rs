//! What others do between the judgement, the flip of the policy and the deletion.

use serde_json::json;

use super::{Admin, Scenario, because, delete, is_untouched, state, written};
use crate::support::{Fault, claim, pod, shared};

/// Requests of the claim `data` of a scenario.
fn one(on: &Scenario) -> String {
    format!("^/api/v1/namespaces/{}/persistentvolumeclaims/data$", on.name)
}

/// Creates the claim `data` of the class with policy Delete, and returns its volume and its handle.
fn bound(on: &Scenario) -> (String, String) {
    on.create(&claim("data", &shared().driver().class_delete));
    let volume = on.bound("data");
    let handle = on.handle(&volume);
    (volume, handle)
}

#[test]
fn the_policy_is_set_back_between_the_flip_and_the_deletion() {
    let on = Scenario::on(shared());
    let (volume, handle) = bound(&on);
    let (admin, proxy) = (Admin::of(&on), on.cluster.proxy());
    let flip = format!("^/api/v1/persistentvolumes/{volume}$");
    let held = proxy.hold(Fault::hold_after().on("PATCH", &flip).real());
    let mark = on.cluster.mark();
    let args = delete(&on, &["data"], &["--keep-data"]);
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    on.set_policy(&volume, "Delete");
    held.release();
    let told = crate::support::Told::of(running.finish()).ends(6);
    let words = format!("another client has set the policy of pv/{volume} back to Delete");
    because(&told, "data", &["its policy is Retain; then", &words, "is not deleted"]);
    assert_eq!(told.outcomes("stale"), ["data"], "{:#}", told.json);
    assert_eq!(written(&admin, mark), [format!("patch persistentvolumes {volume}")]);
    is_untouched(&on, "data");
    assert!(shared().driver().has(&handle));
}

#[test]
fn d_53_a_pod_that_comes_before_the_last_list_is_found() {
    let on = Scenario::on(shared());
    let (volume, handle) = bound(&on);
    let (admin, proxy) = (Admin::of(&on), on.cluster.proxy());
    let held = proxy.hold(Fault::hold().on("DELETE", &one(&on)).dry().after(1));
    let mark = on.cluster.mark();
    let args = delete(&on, &["data"], &["--destroy-data"]);
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    on.create(&pod("late", "data"));
    held.release();
    let told = crate::support::Told::of(running.finish()).ends(6);
    because(&told, "data", &["late has started to use it: it is not deleted"]);
    assert_eq!(written(&admin, mark), [format!("patch persistentvolumes {volume}")]);
    is_untouched(&on, "data");
    assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Bound".to_owned()));
    assert!(shared().driver().has(&handle));
}

#[test]
fn a_pod_that_comes_after_the_last_list_keeps_its_data() {
    for flag in ["--keep-data", "--destroy-data"] {
        let on = Scenario::on(shared());
        let (volume, handle) = bound(&on);
        let (admin, proxy) = (Admin::of(&on), on.cluster.proxy());
        let held = proxy.hold(Fault::hold().on("DELETE", &one(&on)).real());
        let mark = on.cluster.mark();
        let args = delete(&on, &["data"], &[flag, "--timeout", "30s"]);
        let running = admin.by(proxy.kubeconfig(), &args).start();
        held.wait();
        // Never scheduled: Kubernetes lets the claim go all the same.
        let mut late = pod("late", "data");
        late["spec"]["nodeSelector"] = json!({"example.com/none": "yes"});
        on.create(&late);
        held.release();
        let told = crate::support::Told::of(running.finish());
        because(&told, "data", &["the claim is deleted", "late started to use it", "rebind"]);
        let expected = [
            format!("patch persistentvolumes {volume}"),
            "delete persistentvolumeclaims data".to_owned(),
        ];
        assert_eq!(written(&admin, mark), expected, "{flag}");
        if flag == "--keep-data" {
            assert_eq!(told.code, Some(0), "{:#}", told.json);
        } else {
            because(&told, "data", &["is not reclaimed, and keeps the data"]);
            assert_eq!(told.code, Some(6), "{:#}", told.json);
        }
        assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Released".to_owned()));
        assert!(shared().driver().has(&handle), "{flag}");
        assert_eq!(shared().driver().delete_calls(&handle), 0);
        let namespace = format!("namespace/{}", on.name);
        on.delete("pod/late");
        drop(on);
        shared().kubectl(&["wait", "--for=delete", &namespace, "--timeout=60s"]);
    }
}

#[test]
fn of_two_users_at_once_one_deletes_and_the_other_claims_nothing() {
    let on = Scenario::on(shared());
    let (volume, handle) = bound(&on);
    let (first, proxy) = (Admin::of(&on), on.cluster.proxy());
    let second = Admin::named(&on, "second", &["--as-group", "system:masters"]);
    let held = proxy.hold(Fault::hold().on("DELETE", &one(&on)).real());
    let args = delete(&on, &["data"], &["--keep-data"]);
    let running = first.by(proxy.kubeconfig(), &args).start();
    held.wait();
    let told = second.run(&args).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    held.release();
    // A proxy that sent the request twice would look just so.
    let told = crate::support::Told::of(running.finish()).ends(6);
    assert_eq!(told.outcomes("unanswered"), ["data"], "{:#}", told.json);
    assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Released".to_owned()));
    assert!(shared().driver().has(&handle));
}

//! When `undo` lowers the request of a claim, and to what.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::*;
use crate::model::Settings;
use crate::objects::whole_cluster::cluster_of;

/// Asks about a claim that requested `before`, requests 20Gi now and has 10Gi, with this status.
fn ask(before: &str, requested: &str, volume: &str, status: &Value) -> Result<Proposal, String> {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "db", "namespace": "shop", "uid": "u"},
        "spec": {"volumeName": "pv-db", "resources": {"requests": {"storage": before}}},
        "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}},
    });
    let patch = json!([
        {"op": "test", "path": "/spec/resources/requests/storage", "value": before},
        {"op": "replace", "path": "/spec/resources/requests/storage", "value": "20Gi"},
    ]);
    let lowered = LoweredRequest::of(&claim, &patch, 7).expect("the sizes are there");
    claim["spec"]["resources"]["requests"]["storage"] = json!(requested);
    for (key, value) in status.as_object().into_iter().flatten() {
        claim["status"][key] = value.clone();
    }
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-db", "uid": "v"},
        "spec": {
            "capacity": {"storage": volume}, "csi": {"driver": "disk.example.com", "volumeHandle": "1"},
            "claimRef": {"namespace": "shop", "name": "db", "uid": "u"},
        },
        "status": {"phase": "Bound"},
    });
    let cluster = cluster_of([&claim, &volume], [], &[]);
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &facts);
    let (_, claim) = cluster.claims().next().expect("there is one");
    propose(&cx, claim, &lowered).expect("everything was read").map_err(|it| it.reason)
}

fn status(status: &str, conditions: &[&str]) -> Value {
    let condition = |kind: &&str| json!({"type": kind, "status": "True", "message": "no"});
    let conditions: Vec<_> = conditions.iter().map(condition).collect();
    json!({"allocatedResourceStatuses": {"storage": status}, "conditions": conditions})
}

fn to(proposal: &Proposal) -> Bytes {
    let [Action::RequestStorage { to, .. }] = &*proposal.steps else {
        panic!("{:?}", proposal.steps)
    };
    *to
}

#[test]
fn a_failed_expansion_is_lowered_as_far_as_the_server_accepts() {
    let infeasible =
        || status("ControllerResizeInfeasible", &["Resizing", "ControllerResizeError"]);
    let error = || status("ControllerResizeInProgress", &["Resizing", "ControllerResizeError"]);
    for state in [infeasible(), error(), json!({})] {
        let proposal = ask("10Gi", "20Gi", "10Gi", &state).expect("proposed");
        assert_eq!(to(&proposal), (10 << 30) + MI);
        assert!(proposal.notices[0].contains("10241Mi is the least"), "{:?}", proposal.notices);
    }
    let told = |volume: &str| {
        let proposal = ask("10Gi", "20Gi", volume, &json!({})).expect("proposed");
        assert_eq!(to(&proposal), (10 << 30) + MI);
        proposal.notices[0].clone()
    };
    assert!(told("10Gi").ends_with("and the driver is asked to grow to that"), "{}", told("10Gi"));
    // A volume that is larger than its claim already.
    assert!(
        told("15Gi").ends_with("and its volume has 15Gi, and does not grow"),
        "{}",
        told("15Gi")
    );
    // The request before was above what there is.
    let proposal = ask("12Gi", "20Gi", "10Gi", &infeasible()).expect("proposed");
    assert_eq!((to(&proposal), proposal.notices.len()), (12 << 30, 0));
}

#[test]
fn what_has_grown_or_may_grow_is_left_alone() {
    for (requested, volume, state, reason) in [
        ("20Gi", "10Gi", status("ControllerResizeInProgress", &["Resizing"]), "has not failed"),
        ("20Gi", "20Gi", status("ControllerResizeInfeasible", &["Resizing"]), "has grown"),
        ("20Gi", "20Gi", status("NodeResizePending", &["FileSystemResizePending"]), "has grown"),
        ("20Gi", "20Gi", status("NodeResizeInfeasible", &["NodeResizeError"]), "has grown"),
        ("20Gi", "20Gi", json!({"capacity": {"storage": "20Gi"}}), "has grown"),
        ("30Gi", "10Gi", status("ControllerResizeInfeasible", &[]), "it is 30Gi"),
        ("10Gi", "10Gi", json!({}), "it is 10Gi"),
    ] {
        let refused = ask("10Gi", requested, volume, &state).expect_err(reason);
        assert!(refused.contains(reason), "{refused}");
    }
}

//! Whether a request that was answered as if another client had been first may itself have been carried out.

use http::Method;
use serde_json::Value;

use super::WriteRequest;

/// Whether the state of an object may be the effect of a request that was rendered from its state `before`; `None` is
/// no object.
pub(in crate::apply) fn may_have_caused(
    request: &WriteRequest,
    before: &Value,
    live: Option<&Value>,
) -> bool {
    let created = request.method == Method::POST;
    let Some(live) = live else { return !created };
    let uid = |it: &Value| it["metadata"]["uid"].clone();
    if created {
        return contains(live, &request.body);
    }
    if uid(before) != uid(live) {
        return true;
    }
    // What is deleted may be so because of what a controller has made of the change, which it takes back on its way.
    let deleted = |it: &Value| it["metadata"]["deletionTimestamp"].clone();
    let is_deleted = deleted(live) != deleted(before);
    if is_deleted || request.method == Method::DELETE {
        return is_deleted;
    }
    let operations = request.body.as_array().into_iter().flatten();
    let mut edits = operations.filter(|it| it["op"] != "test").peekable();
    edits.peek().is_none() || edits.all(|it| shows(it, before, live))
}

/// Whether an object shows the effect of one operation of a JSON patch.
fn shows(operation: &Value, before: &Value, live: &Value) -> bool {
    let path = operation["path"].as_str().unwrap_or_default();
    let (parent, last) = path.rsplit_once('/').unwrap_or_default();
    let is_element = last == "-" || last.parse::<usize>().is_ok();
    let elements = || live.pointer(parent).and_then(Value::as_array).into_iter().flatten();
    match (operation["op"] == "remove", is_element) {
        (false, false) => live.pointer(path) == Some(&operation["value"]),
        (false, true) => elements().any(|it| *it == operation["value"]),
        (true, false) => live.pointer(path).is_none(),
        (true, true) => !elements().any(|it| Some(it) == before.pointer(path)),
    }
}

/// Whether an object contains everything that a manifest contains.
fn contains(live: &Value, manifest: &Value) -> bool {
    match (live, manifest) {
        (Value::Object(live), Value::Object(manifest)) => {
            manifest.iter().all(|(key, it)| live.get(key).is_some_and(|live| contains(live, it)))
        }
        _ => live == manifest,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apply::request::JSON_PATCH;

    #[test]
    fn an_object_that_is_as_a_request_would_have_made_it_may_be_so_because_of_it() {
        let before = json!({
            "metadata": {"uid": "u", "finalizers": ["a/one", "b/two"], "annotations": {"x/y": "1"}},
            "spec": {"persistentVolumeReclaimPolicy": "Retain", "claimRef": {"uid": "c"}},
        });
        let with = |path: &str, value: Value| {
            let mut live = before.clone();
            *live.pointer_mut(path).expect("it is there") = value;
            live
        };
        let patch = |operations: Value| WriteRequest {
            method: Method::PATCH,
            path: String::new(),
            content_type: JSON_PATCH,
            body: operations,
        };
        let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"});
        let policy = "/spec/persistentVolumeReclaimPolicy";
        let retain = patch(json!([test, {"op": "replace", "path": policy, "value": "Delete"}]));
        let finalizer = patch(json!([test, {"op": "remove", "path": "/metadata/finalizers/0"}]));
        let owner =
            patch(json!([test, {"op": "add", "path": "/metadata/finalizers/-", "value": "c"}]));
        let unbind = patch(json!([test, {"op": "remove", "path": "/spec/claimRef/uid"},
            {"op": "add", "path": "/metadata/annotations/x~1y", "value": "2"}]));
        let mut both = with("/spec/claimRef", json!({}));
        both["metadata"]["annotations"]["x/y"] = json!("2");
        let terminating = {
            let mut live = before.clone();
            live["metadata"]["deletionTimestamp"] = json!("2026-11-01T12:00:00Z");
            live
        };
        let deletion = WriteRequest { method: Method::DELETE, ..patch(json!({})) };
        let manifest = json!({"metadata": {"name": "a"}, "spec": {"volumeName": "v"}});
        let creation = WriteRequest { method: Method::POST, ..patch(manifest) };
        let own =
            json!({"metadata": {"name": "a", "uid": "n"}, "spec": {"volumeName": "v", "x": 1}});
        let other = json!({"metadata": {"name": "a", "uid": "n"}, "spec": {"volumeName": "w"}});
        for (request, live, may) in [
            (&retain, Some(before.clone()), false),
            (&retain, Some(with(policy, json!("Delete"))), true),
            (&retain, Some(with(policy, json!("Recycle"))), false),
            (&retain, Some(with("/metadata/uid", json!("another"))), true),
            (&retain, Some(terminating.clone()), true),
            (&retain, None, true),
            (&finalizer, Some(before.clone()), false),
            (&finalizer, Some(with("/metadata/finalizers", json!(["b/two", "c"]))), true),
            (&finalizer, Some(with("/metadata/finalizers", json!(["a/one"]))), false),
            (&finalizer, None, true),
            (&owner, Some(before.clone()), false),
            (&owner, Some(with("/metadata/finalizers", json!(["c"]))), true),
            (&unbind, Some(with("/spec/claimRef", json!({}))), false),
            (&unbind, Some(both), true),
            (&deletion, Some(before.clone()), false),
            (&deletion, Some(terminating), true),
            (&deletion, Some(with("/metadata/uid", json!("another"))), true),
            (&deletion, None, true),
            (&creation, Some(own), true),
            (&creation, Some(other), false),
            // Its namespace does not exist.
            (&creation, None, false),
        ] {
            assert_eq!(
                may_have_caused(request, &before, live.as_ref()),
                may,
                "{request:?} {live:?}"
            );
        }
    }
}

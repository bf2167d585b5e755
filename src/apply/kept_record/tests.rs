//! The requests that set, remove and restore keys of the record.

use super::*;

fn record(data: Option<Value>) -> Value {
    let mut live = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": "ops", "uid": "u", "resourceVersion": "7"},
    });
    if let Some(data) = data {
        live["data"] = data;
    }
    live
}

fn tests() -> [Value; 2] {
    [
        json!({"op": "test", "path": "/metadata/uid", "value": "u"}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}),
    ]
}

#[test]
fn a_record_that_is_not_there_is_created_in_the_namespace_of_the_admins_choice() {
    let request = with("ops", None, "k", "v").expect("there is something to do");
    assert_eq!(
        (request.method, &*request.path),
        (Method::POST, "/api/v1/namespaces/ops/configmaps")
    );
    assert_eq!(request.body["metadata"]["name"], CONFIG_MAP);
    assert_eq!(request.body["data"], json!({"k": "v"}));
}

#[test]
fn a_key_is_added_to_the_very_record_that_was_read() {
    for (data, added) in [
        (None, json!({"op": "add", "path": "/data", "value": {"k": "v"}})),
        (Some(json!({"x": "y"})), json!({"op": "add", "path": "/data/k", "value": "v"})),
        (Some(json!({"k": "old"})), json!({"op": "add", "path": "/data/k", "value": "v"})),
    ] {
        let live = record(data);
        let request = with("ops", Some(&live), "k", "v").expect("there is something to do");
        let path = format!("/api/v1/namespaces/ops/configmaps/{CONFIG_MAP}");
        assert_eq!((request.method, request.path), (Method::PATCH, path));
        let [uid, version] = tests();
        assert_eq!(request.body, json!([uid, version, added]));
    }
    let live = record(Some(json!({"k": "v"})));
    assert_eq!(with("ops", Some(&live), "k", "v"), None, "it is there already");
}

#[test]
fn a_key_is_taken_back_only_while_it_says_what_we_wrote() {
    let live = record(Some(json!({"k": "v", "x": "y"})));
    let [uid, version] = tests();
    let ours = json!({"op": "test", "path": "/data/k", "value": "v"});
    let removed = without("ops", Some(&live), "k", "v", None).expect("there is something to do");
    let back = json!({"op": "remove", "path": "/data/k"});
    assert_eq!(removed.body, json!([&uid, &version, &ours, back]));
    let put_back = without("ops", Some(&live), "k", "v", Some("old")).expect("the same");
    let back = json!({"op": "replace", "path": "/data/k", "value": "old"});
    assert_eq!(put_back.body, json!([uid, version, ours, back]));
    for live in [None, Some(record(None)), Some(record(Some(json!({"k": "theirs"}))))] {
        assert_eq!(without("ops", live.as_ref(), "k", "v", None), None);
    }
}

#[test]
fn a_namespace_stays_one_segment_of_the_path() {
    let new = with("../x", None, "k", "v").expect("there is something to do");
    let (all, one) = (new.path, config_map::path("../x", CONFIG_MAP));
    assert_eq!(all, "/api/v1/namespaces/..%2Fx/configmaps");
    assert_eq!(one, format!("{all}/{CONFIG_MAP}"));
}

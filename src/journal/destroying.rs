//! Which recorded requests may destroy something. The request itself tells, so that this holds for lines of
//! any version.

use serde_json::Value;

use super::Intent;
use crate::model::Kind;

/// Actions that destroy nothing, whatever they were asked for.
const SAVING: [&str; 9] = [
    "record-announcement",
    "announce",
    "record-veto",
    "reserve-volume",
    "bind-volume",
    "create-claim",
    "add-finalizer",
    "create-snapshot",
    "remove-owner-references",
];

/// What only the guard is made of.
const GUARD_KINDS: [Kind; 2] =
    [Kind::ValidatingAdmissionPolicy, Kind::ValidatingAdmissionPolicyBinding];

impl Intent {
    /// Whether the request has a controller delete a backend volume, if the volume is Released or becomes it.
    pub fn reclaims(&self) -> bool {
        const POLICY: &str = "persistentVolumeReclaimPolicy";
        let body = &self.request.body;
        let sets = |it: &Value| {
            let path = it["path"].as_str().unwrap_or_default();
            it["op"] != "test" && path.ends_with(POLICY) && it["value"] == "Delete"
        };
        // That of a volume with the policy Delete does not set it again.
        self.action == "condemn-volume"
            || body["spec"][POLICY] == "Delete"
            || body.as_array().is_some_and(|operations| operations.iter().any(sets))
    }

    /// Whether the request deletes an object, has a backend volume deleted, or lets others do that: all
    /// requests but those that are known not to.
    pub fn may_destroy(&self) -> bool {
        match &*self.action {
            _ if GUARD_KINDS.contains(&self.object.key.kind) => false,
            "set-reclaim-policy" | "create-volume" => self.reclaims(),
            action => !SAVING.contains(&action),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::journal::SentRequest;
    use crate::model::{ObjectKey, ObjectRef};

    #[test]
    fn what_is_not_known_to_save_may_destroy() {
        let policy = |op: &str, to: &str| {
            json!([
                {"op": "test", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Delete"},
                {"op": op, "path": "/spec/persistentVolumeReclaimPolicy", "value": to},
            ])
        };
        let created = |policy: &str| json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
        let volume = Kind::PersistentVolume;
        for (kind, action, body, reclaims, may_destroy) in [
            (volume, "set-reclaim-policy", policy("replace", "Delete"), true, true),
            (volume, "set-reclaim-policy", policy("replace", "Retain"), false, false),
            (volume, "set-reclaim-policy", policy("test", "Delete"), false, false),
            (volume, "condemn-volume", policy("test", "Delete"), true, true),
            (volume, "create-volume", created("Delete"), true, true),
            (volume, "create-volume", created("Retain"), false, false),
            (volume, "delete-volume", json!({"preconditions": {}}), false, true),
            (volume, "remove-finalizer", json!([]), false, true),
            (volume, "reserve-volume", json!([]), false, false),
            (volume, "of a later version", Value::Null, false, true),
            (Kind::Namespace, "delete-with-claims", Value::Null, false, true),
            (Kind::ValidatingAdmissionPolicy, "delete", Value::Null, false, false),
        ] {
            let intent = Intent {
                command: "gc".to_owned(),
                object: ObjectRef { key: ObjectKey::cluster_wide(kind, "a"), uid: None },
                action: action.to_owned(),
                because: String::new(),
                request: SentRequest {
                    method: String::new(),
                    path: String::new(),
                    content_type: String::new(),
                    body,
                },
                pre_image: None,
                backend: None,
                capacity: None,
                keeps: false,
                adds_finalizer: None,
                removes_finalizer: None,
                undoes: None,
            };
            let body = &intent.request.body;
            assert_eq!(intent.reclaims(), reclaims, "{action} {body}");
            assert_eq!(intent.may_destroy(), may_destroy, "{action} {body}");
        }
    }
}

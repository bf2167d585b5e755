//! What was sent: nothing but what reconcilers may send.

use serde_json::Value;

use super::super::model::{NAME, RECORDS, VETOES};
use super::{Evidence, Verdict, operation, policy, process};
use crate::support::history::{is_write, text};

impl Verdict {
    pub(super) fn sent(&mut self, evidence: &Evidence) {
        let name = evidence.case.name();
        let sent = evidence.requests.iter().filter(|it| process(it).is_some() && is_write(it));
        for it in sent {
            self.holds(may_be_sent(it, &name), || {
                let body = &it["requestObject"];
                format!("sent: {} {} {body}", text(&it["verb"]), text(&it["requestURI"]))
            });
        }
    }
}

/// Whether a reconciler may send it, of the case of this name.
fn may_be_sent(event: &Value, case: &str) -> bool {
    let object = &event["objectRef"];
    let (resource, namespace) = (text(&object["resource"]), text(&object["namespace"]));
    let verb = text(&event["verb"]);
    let named = object["name"].as_str().or(event["requestObject"]["metadata"]["name"].as_str());
    let named = named.unwrap_or_default();
    match resource {
        "leases" => namespace == case && matches!(verb, "create" | "update"),
        "configmaps" if namespace == case => {
            named.starts_with("kubectl-storage-journal-") && matches!(verb, "create" | "update")
        }
        "configmaps" if namespace == RECORDS => match verb {
            "create" => named.starts_with(NAME) || named == VETOES,
            "update" => named == VETOES,
            _ => false,
        },
        "persistentvolumes" => verb == "patch" && is_known(event),
        _ => false,
    }
}

/// Whether a patch of a volume announces it, destroys it or keeps it, and tests what it was judged by.
fn is_known(patch: &Value) -> bool {
    let tests = |path| operation(patch, "test", path).is_some_and(|it| !it.is_null());
    let kind = match policy(patch) {
        Some("Delete") => {
            tests("/spec/claimRef/uid")
                && operation(patch, "test", "/status/phase").is_some_and(|it| it == "Released")
                && operation(patch, "test", super::POLICY).is_some_and(|it| it == "Retain")
        }
        Some("Retain") => operation(patch, "test", super::POLICY).is_some_and(|it| it == "Delete"),
        Some(_) => false,
        None => {
            let mark = "/metadata/annotations/storage.kubectl.dev~1announced";
            ["add", "replace"].iter().any(|it| operation(patch, it, mark).is_some())
        }
    };
    kind && tests("/metadata/uid") && tests("/metadata/resourceVersion")
}

//! How far a run has come, as the audit log shows it.

use serde_json::Value;

use super::case::Stage;
pub(super) use crate::support::history::{
    History, Noted, Revision, answered, is_by, is_dry, is_real, is_write, namespace_of, received,
    succeeded, text,
};

/// Waits until a run has come to a stage of its work.
pub(super) async fn reached(history: &History, namespace: &str, user: &str, stage: Stage) {
    let mut patched = false;
    let is_there = |it: &Value| {
        let here = is_by(it, user) && shows(it, stage) && (patched || stage != Stage::Relisted);
        patched |= is_by(it, user) && shows(it, Stage::Patched);
        here
    };
    history.request(namespace, is_there).await;
}

fn shows(event: &Value, stage: Stage) -> bool {
    let resource = text(&event["objectRef"]["resource"]);
    let verb = text(&event["verb"]);
    match stage {
        Stage::Listed | Stage::Relisted => {
            let here = text(&event["requestURI"]).contains("/namespaces/");
            verb == "list" && resource == "pods" && here
        }
        Stage::Rehearsed => verb == "delete" && is_dry(event),
        Stage::Patched => verb == "patch" && resource == "persistentvolumes" && is_real(event),
        Stage::Deleted => verb == "delete" && is_real(event),
        Stage::Over => text(&event["requestURI"]).starts_with("/version?over="),
    }
}

//! Verifies that the API server has taken the retention policy of a set.

use serde_json::Value;

use super::super::Outcome;
use crate::model::RetentionPolicy;

/// Whether an object shows a policy.
pub(in crate::apply) fn shows(to: &RetentionPolicy, object: &Value) -> bool {
    let policy = &object["spec"]["persistentVolumeClaimRetentionPolicy"];
    policy["whenDeleted"].as_str() == Some(&*to.when_deleted.to_string())
        && policy["whenScaled"].as_str() == Some(&*to.when_scaled.to_string())
}

/// Verifies the answer to the patch.
pub(super) fn is_set(to: &RetentionPolicy, written: &Value) -> (Outcome, String) {
    let RetentionPolicy { when_deleted, when_scaled } = to;
    match shows(to, written) {
        true => {
            (Outcome::Done, format!("whenDeleted is {when_deleted}, whenScaled is {when_scaled}"))
        }
        false => (
            Outcome::Failed,
            format!(
                "the API server shows the policy {}",
                written["spec"]["persistentVolumeClaimRetentionPolicy"]
            ),
        ),
    }
}

//! The retention policy that a plan gives to a StatefulSet.

use serde::{Deserialize, Serialize};

use crate::plan::Purpose;

/// The retention policy that a StatefulSet is to have; what is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlannedRetention {
    /// `whenDeleted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_deleted: Option<String>,
    /// `whenScaled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_scaled: Option<String>,
}

/// Returns the policy that a change gives to its set, as far as it was asked for.
pub(super) fn policy(purpose: &Purpose) -> Option<PlannedRetention> {
    let Purpose::SetRetention(request) = purpose else { return None };
    Some(PlannedRetention {
        when_deleted: request.when_deleted.as_ref().map(ToString::to_string),
        when_scaled: request.when_scaled.as_ref().map(ToString::to_string),
    })
}

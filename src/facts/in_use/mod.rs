//! Users of a claim, with evidence (semantics#claim-protection).
//!
//! [`upstream_in_use`] returns what the protection controller of Kubernetes waits for: scheduled
//! pods and nothing else. [`unsafe_to_delete`] returns why a claim must not be deleted, which is
//! stricter: everything that will use the data counts, running or not.

mod data_effect;
mod pods;
mod unsafe_to_delete;
mod workloads;

pub use data_effect::{ClaimDataEffect, data_effect, data_effect_with};
pub use pods::{PodUsage, PodUser, conflicting_pods, pod_users, upstream_in_use};
pub use unsafe_to_delete::{SetTemplate, Unsafe, UnsafeReason, template_of, unsafe_to_delete};
pub use workloads::{ClaimWorkloads, claim_workloads, deployment_of};

use crate::model::Kind;

/// Lists the kinds that were checked for users, and what was not: custom resources may use a claim
/// without a pod now.
pub fn checked_kinds() -> String {
    let kinds: Vec<_> = [Kind::Pod].into_iter().chain(Kind::WORKLOADS).map(Kind::plural).collect();
    format!("{}; custom resources not checked", kinds.join(", "))
}

#[cfg(test)]
mod tests;

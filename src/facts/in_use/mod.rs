//! Who uses a claim, with the evidence: the one truth about it (SEMANTICS A.2).
//!
//! Two questions are asked of it. What will upstream's protection controller do? That is
//! [`upstream_in_use`]: scheduled pods and nothing else. And may the claim be deleted? That is
//! [`unsafe_to_delete`], which is stricter: whoever will want the data counts, running or not.

mod data_effect;
mod pods;
mod unsafe_to_delete;

pub use data_effect::{ClaimDataEffect, data_effect, data_effect_with};
pub use pods::{PodUsage, PodUser, conflicting_pods, pod_users, upstream_in_use};
pub use unsafe_to_delete::{SetTemplate, Unsafe, UnsafeReason, template_of, unsafe_to_delete};

use crate::model::Kind;

/// Names the kinds that were looked at for users, and what was not: custom resources may use a
/// claim without having a pod now.
pub fn checked_kinds() -> String {
    let kinds: Vec<_> = [Kind::Pod].into_iter().chain(Kind::WORKLOADS).map(Kind::plural).collect();
    format!("{}; custom resources were not looked at", kinds.join(", "))
}

#[cfg(test)]
mod tests;

//! What wants a claim back that is gone (R-DRV-8).

use crate::cluster::{Cx, Seen};
use crate::facts::{deployment_of, retention::Ordinals};
use crate::model::{ClaimKey, ObjectRef, split_ordinal};

/// Something that names a claim which does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// What it is.
    pub object: ObjectRef,
    /// How it names the claim, in words that follow the object.
    pub how: String,
    /// Whether it would use the claim again; otherwise it is only worth a notice.
    pub binding: bool,
}

/// Returns what wants a claim back that is gone: workloads that name it, at any number of replicas,
/// and the set whose claim it was.
///
/// Not among them: finished Jobs, and `ReplicaSet`s that a Deployment controls, whose own template
/// counts. Those of another controller, such as a Rollout, count at any number of replicas.
///
/// # Errors
/// When a kind of workloads was not read.
pub fn wishes_for(cx: &Cx, claim: &ClaimKey) -> Seen<Vec<Wish>> {
    let mut wishes = Vec::new();
    for workload in cx.workloads_of(claim)? {
        if workload.finished || deployment_of(workload).is_some() {
            continue;
        }
        let how = match workload.replicas {
            Some(0) => "references its claim, at 0 replicas".to_owned(),
            _ => "references its claim".to_owned(),
        };
        wishes.push(Wish { object: workload.object(), how, binding: true });
    }
    let Some((stem, ordinal)) = split_ordinal(&claim.name) else { return Ok(wishes) };
    for (set, template) in cx.sets_of_stem(&claim.namespace, stem)? {
        let paused = set.replicas == Some(0);
        let in_range = Ordinals::of(set).contains(ordinal);
        let how = match (paused, in_range) {
            (true, _) => format!("is at 0 replicas, and its template {template} matches the claim"),
            (false, true) => format!("uses a claim of this name by its template {template}"),
            (false, false) => {
                "matches the claim beyond its replicas: a scale-up creates a new, empty one"
                    .to_owned()
            }
        };
        wishes.push(Wish { object: set.object(), how, binding: paused || in_range });
    }
    Ok(wishes)
}

//! Verifies that owner references are removed and stay so.

use std::time::Duration;

use serde_json::Value;

use super::super::Outcome;
use super::super::current_cluster::CurrentCluster;
use crate::model::{ObjectRef, OwnerReference};

/// How long a controller is given to add a reference again, and the garbage collector to end a
/// deletion that it has begun: both act on what they read before the update.
pub(in crate::apply) const SETTLING: Duration = Duration::from_secs(2);

/// Verifies the answer to the patch: another client may add the references again.
pub(super) fn are_removed(owners: &[OwnerReference], written: &Value) -> (Outcome, String) {
    if let Some(owner) = owners.iter().find(|it| is_in(it, written)) {
        let told = format!("the API server still shows the reference to {}", named(owner));
        return (Outcome::Failed, told);
    }
    let removed = match owners {
        [only] => format!("the owner reference to {} is removed", named(only)),
        _ => format!("{} owner references are removed", owners.len()),
    };
    (Outcome::Done, removed)
}

/// Verifies the removal, and that the claim is not deleted all the same.
pub(super) async fn stay_removed(
    cluster: &CurrentCluster,
    claim: &ObjectRef,
    owners: &[OwnerReference],
    written: &Value,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let (Outcome::Done, removed) = are_removed(owners, written) else {
        return are_removed(owners, written);
    };
    if wait.is_none() {
        return (Outcome::Pending, format!("{removed}; not verified: --wait=false"));
    }
    tokio::time::sleep(SETTLING).await;
    let live = match cluster.read_alone(claim).await {
        Ok(live) => live,
        Err(error) => {
            return (
                Outcome::Pending,
                format!("{removed}; unknown whether it remains so: {error}"),
            );
        }
    };
    let Some(live) = live.filter(|it| is_same(it, claim)) else {
        return (Outcome::Failed, format!("{removed}, but the claim was deleted meanwhile"));
    };
    if !live["metadata"]["deletionTimestamp"].is_null() {
        let told = format!(
            "{removed}, but the claim has been deleted meanwhile and is Terminating: \
             `kubectl storage retain {}` keeps its data",
            in_words(claim)
        );
        return (Outcome::Failed, told);
    }
    if let Some(owner) = owners.iter().find(|it| is_in(it, &live)) {
        let who = manager_of(&live, owner);
        let who = who.map_or_else(
            || "another client".to_owned(),
            |manager| format!("field manager {manager:?}"),
        );
        return (Outcome::Failed, format!("{who} added the reference to {} again", named(owner)));
    }
    let left = live["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let left: Vec<_> =
        left.iter().filter_map(|it| Some((it["kind"].as_str()?, it["name"].as_str()?))).collect();
    match &*left {
        [] => (Outcome::Done, format!("{removed}; the claim has no owner")),
        left => {
            let left: Vec<_> = left.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
            let unserved = match &*cluster.unserved_owners(claim) {
                [] => String::new(),
                some => format!(
                    "; no version of the kind of {} is served: when it is served again and this owner does not \
                     exist then, the claim is deleted; `kubectl storage disown {} --owner-kind-gone` prevents that",
                    some.join(", "),
                    in_words(claim)
                ),
            };
            (Outcome::Done, format!("{removed}; its owner is {}{unserved}", left.join(", ")))
        }
    }
}

/// The object with its namespace, as commands take it.
pub(in crate::apply) fn in_words(claim: &ObjectRef) -> String {
    let namespace = claim.key.namespace.as_deref().unwrap_or("default");
    format!("pvc/{} -n {namespace}", claim.key.name)
}

fn named(owner: &OwnerReference) -> String {
    format!("{} {}", owner.kind, owner.name)
}

/// Whether it is the same object, by its uid.
pub(in crate::apply) fn is_same(live: &Value, claim: &ObjectRef) -> bool {
    let uid = claim.uid.as_ref().map(ToString::to_string);
    live["metadata"]["uid"].as_str() == uid.as_deref()
}

/// Whether a claim has this owner reference.
pub(in crate::apply) fn is_in(owner: &OwnerReference, live: &Value) -> bool {
    let uid = owner.uid.as_ref().map(ToString::to_string);
    let all = live["metadata"]["ownerReferences"].as_array();
    all.into_iter().flatten().any(|it| {
        it["uid"].as_str() == uid.as_deref()
            && it["kind"] == *owner.kind
            && it["name"] == *owner.name
    })
}

/// Returns the field manager that set a reference, by `managedFields`.
pub(in crate::apply) fn manager_of(live: &Value, owner: &OwnerReference) -> Option<String> {
    let key = format!(r#"k:{{"uid":"{}"}}"#, owner.uid.as_ref()?);
    let entries = live["metadata"]["managedFields"].as_array()?;
    let sets =
        |entry: &&Value| entry["fieldsV1"]["f:metadata"]["f:ownerReferences"].get(&key).is_some();
    Some(entries.iter().rev().find(sets)?["manager"].as_str()?.to_owned())
}

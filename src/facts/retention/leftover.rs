//! Claims whose ordinals are out of the range of their `StatefulSet`: which these are, and for how
//! long at least (I.6 of the design; semantics#retention).

use crate::cluster::{Cx, Seen};
use crate::model::{Age, Claim, Managed, ManagedField, StatefulSet, Time, Trust};

use super::{ClaimPod, TemplateClaim, is_member, names_pod, wanted_owners};

/// The condition of a claim that no pod uses, on servers that write it.
const UNUSED: &str = "Unused";

/// Whether a set has no replicas, and retains its claims: it was scaled to nothing for a while.
pub fn is_paused(set: &StatefulSet) -> bool {
    set.replicas == Some(0)
        && set.metadata.deleting.is_none()
        && !wanted_owners(set.retention.as_ref(), true).pod
}

/// Whether the ordinal of a claim is out of range, it has no pod and nothing deletes it.
///
/// # Errors
/// When pods of its namespace were not read.
pub fn is_leftover(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<bool> {
    let deleting = claim.metadata.deleting.is_some() || member.set.metadata.deleting.is_some();
    let name = member.pod_name();
    let of_pod = claim.metadata.owners.iter().any(|it| names_pod(it, &name));
    if deleting || of_pod || member.is_wanted() {
        return Ok(false);
    }
    Ok(member.pod_state(&name, member.pod(cx)?) == ClaimPod::Podless)
}

/// Returns since when a claim has been unused, where the server says so.
pub fn unused_age(claim: &Claim) -> Age {
    let since = claim.condition(UNUSED).and_then(|it| it.since);
    since.map_or(Age::UNKNOWN, |since| Age { since: Some(since), trust: Trust::SingleSource })
}

/// Returns for how long at least a claim has been a leftover of its set. Nothing records it: the
/// claim says since when it is unused on some servers, and the managers of the set, or its controller,
/// since when the range of its ordinals has not changed. The time at which the claim was created says
/// nothing.
///
/// # Errors
/// When claims of its namespace were not read.
pub fn leftover_age(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<Age> {
    let unused = unused_age(claim).since;
    let unchanged = range_unchanged_since(cx, claim, member)?;
    Ok(match (unused, unchanged) {
        // Both are needed to be a leftover: the later one counts.
        (Some(unused), Some(unchanged)) => {
            Age { since: Some(unused.max(unchanged)), trust: Trust::LowerBound }
        }
        (None, Some(unchanged)) => Age { since: Some(unchanged), trust: Trust::LowerBound },
        // It may have been unused in range, too.
        (_, None) => Age::UNKNOWN,
    })
}

/// Since when the claim has certainly been out of range: each of both is a lower bound of its age. It
/// is no older than the set: a restored one has the managers of an earlier one, with their times.
fn range_unchanged_since(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<Option<Time>> {
    let Some(made) = member.set.metadata.created else { return Ok(None) };
    let made = claim.metadata.created.map_or(made, |created| made.max(created));
    let bounds = [range_managed_since(cx, member)?, spec_observed_since(member.set)];
    Ok(bounds.into_iter().flatten().min().map(|since| since.max(made)))
}

/// Since when the whole `spec` of a set has certainly not changed: every change has a generation, and
/// its controller writes the generation that it has observed with its status, after the change. Each
/// later write of the status only makes the bound younger. It is the only one after `kubectl scale`:
/// for the subresource, the API server notes a manager without a time (apimachinery,
/// `ScaleHandler.ToParent`).
fn spec_observed_since(set: &StatefulSet) -> Option<Time> {
    let observed = set.generation > 0 && set.observed_generation == set.generation;
    set.metadata.last_change(&ManagedField::ObservedGeneration).filter(|_| observed)
}

/// Since when the managers of the range have not changed it.
fn range_managed_since(cx: &Cx, member: &TemplateClaim) -> Seen<Option<Time>> {
    let set = member.set;
    // What is managed by nobody may have been removed at any time, and the default taken its place.
    let Some(replicas) = changed(set, &ManagedField::Replicas) else { return Ok(None) };
    if set.metadata.managers_of(&ManagedField::Ordinals).next().is_some() {
        let ordinals = changed(set, &ManagedField::Ordinals);
        return Ok(ordinals.map(|ordinals| replicas.max(ordinals)));
    }
    if set.start != 0 {
        return Ok(None);
    }
    // Removing spec.ordinals leaves no manager behind. If it was removed, the pod at the start of the
    // range is newer: its ordinal was out of range.
    let first = cx.pod(&set.namespace, &format!("{}-{}", set.metadata.name, set.start))?;
    let created = first.filter(|pod| is_member(set, pod)).and_then(|pod| pod.created);
    Ok(created.map(|created| replicas.max(created)))
}

/// When a field was changed last, if the time of every manager of it is known. That of an entry into
/// which the API server has merged older ones says nothing about those (apimachinery,
/// `capManagersManager`).
fn changed(set: &StatefulSet, field: &ManagedField) -> Option<Time> {
    let untold = |it: Managed<'_>| it.time.is_none() || it.manager == "ancient-changes";
    match set.metadata.managers_of(field).any(untold) {
        true => None,
        false => set.metadata.last_change(field),
    }
}

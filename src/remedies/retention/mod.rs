//! Has the claims of `StatefulSet`s follow their retention policies (R-1847-15, I.6).
//!
//! Without a danger flag only owner references are removed, and no claim is more deletable
//! afterwards. Adding references and deleting what scale-downs left is asked for by a flag each. `undo` of
//! an addition removes the owner reference that was added: the claim is then kept when its set is deleted.

mod add_owner;
mod leftover;
pub(super) mod remove_owners;

use serde_json::Value;

use super::{ClaimDeletionProgress, disown::named};
use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    Membership, TemplateClaim, is_leftover, membership, owner_agreement, wanted_owners,
};
use crate::model::{
    Action, Claim, ClaimKey, Effect, Kind, Loss, ObjectKey, OwnerReference, Proposal, Refusal,
    RetentionPolicy, StatefulSet, Uid, Undo, split_ordinal,
};

pub(crate) use add_owner::REMEDY as ADD_OWNER;
pub(crate) use leftover::REMEDY as DELETE_LEFTOVER;
pub(crate) use remove_owners::REMEDY as REMOVE_OWNERS;

/// Reason why `undo` adds no owner reference again.
pub const NEVER_ADDED: &str = "an owner reference makes the claim deletable; `kubectl storage retention reconcile --add-owners` adds those that the policy requires";

/// The name of the deletion of a leftover in plans and in the journal.
pub const LEFTOVER: &str = "retention-delete-leftover";

/// A change of one claim by `retention reconcile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionChange {
    /// Removes owner references that contradict the policy, and those to earlier sets and pods.
    RemoveOwners,
    /// Adds the owner reference that `whenDeleted` requires.
    AddOwner,
    /// Deletes a claim that a scale-down left although `whenScaled` is Delete.
    DeleteLeftover(ClaimDeletionProgress),
}

/// A change that may be made to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionCandidate {
    /// The change.
    pub change: RetentionChange,
    /// Whether the user asked for the change: a reference that is only missing is reported otherwise.
    pub asked: bool,
}

impl RetentionChange {
    /// All changes, in the order in which they are made: first those that save claims.
    pub const ALL: [Self; 3] = [
        Self::RemoveOwners,
        Self::AddOwner,
        Self::DeleteLeftover(ClaimDeletionProgress { retained: false }),
    ];

    /// The name of the change, which is that of the remedy.
    pub const fn id(self) -> &'static str {
        match self {
            Self::RemoveOwners => REMOVE_OWNERS.id,
            Self::AddOwner => ADD_OWNER.id,
            Self::DeleteLeftover(_) => DELETE_LEFTOVER.id,
        }
    }

    /// The rank of the change in the order of a plan.
    pub const fn rank(self) -> u8 {
        match self {
            Self::RemoveOwners => 0,
            Self::AddOwner => 1,
            Self::DeleteLeftover(_) => 2,
        }
    }

    /// Returns the rest of the change after these steps.
    #[must_use]
    pub fn after(self, done: &[Action]) -> Self {
        match self {
            Self::DeleteLeftover(progress) => Self::DeleteLeftover(progress.after(done)),
            Self::RemoveOwners | Self::AddOwner => self,
        }
    }

    /// Proposes or refuses the change for a claim.
    ///
    /// # Errors
    /// When an object was not read on which the decision rests.
    pub fn propose(self, cx: &Cx, claim: &Claim) -> Seen<Result<Proposal, Refusal>> {
        match self {
            Self::RemoveOwners => remove_owners::propose(cx, claim),
            Self::AddOwner => add_owner::propose(cx, claim),
            Self::DeleteLeftover(progress) => leftover::propose(cx, claim, progress),
        }
    }

    /// Returns the changes that may be made to a claim of a set: the deletion of a leftover first, since then its
    /// owners do not matter.
    ///
    /// # Errors
    /// When pods of its namespace were not read.
    pub fn candidates(
        cx: &Cx,
        claim: &Claim,
        member: &TemplateClaim,
    ) -> Seen<Vec<RetentionCandidate>> {
        let settings = cx.settings();
        let agreement = owner_agreement(cx, claim, member)?;
        let mut candidates = Vec::new();
        let mut add = |change, asked| candidates.push(RetentionCandidate { change, asked });
        let deletes = wanted_owners(member.set.retention.as_ref(), true).pod;
        if (settings.delete_leftovers || deletes) && is_leftover(cx, claim, member)? {
            let progress = ClaimDeletionProgress::default();
            add(Self::DeleteLeftover(progress), settings.delete_leftovers);
        }
        if !agreement.surplus.is_empty() {
            add(Self::RemoveOwners, true);
        }
        if claim.metadata.deleting.is_none()
            && member.set.metadata.deleting.is_none()
            && (agreement.missing.set
                || add_owner::lacks_flag(cx, claim, member)
                || (agreement.wanted.set && add_owner::is_guarded(cx, claim)?))
        {
            add(Self::AddOwner, settings.add_owners);
        }
        Ok(candidates)
    }
}

/// Returns the sets to which a claim may belong by its name, and their pods of its ordinal.
///
/// # Errors
/// When sets of its namespace were not read.
pub fn sets_and_pods(cx: &Cx, claim: &ClaimKey) -> Seen<Vec<ObjectKey>> {
    let Some((stem, ordinal)) = split_ordinal(&claim.name) else { return Ok(Vec::new()) };
    let mut keys = Vec::new();
    for (set, _) in cx.sets_of_stem(&claim.namespace, stem)? {
        let name = &set.metadata.name;
        let key = ObjectKey::named(Kind::StatefulSet, &claim.namespace, name);
        if !keys.contains(&key) {
            keys.push(key);
            let pod = format!("{name}-{ordinal}");
            keys.push(ObjectKey::named(Kind::Pod, &claim.namespace, &pod));
        }
    }
    Ok(keys)
}

/// Returns the command that applies the policy of a claim's set; `None` where its set is unknown.
fn command(cx: &Cx, claim: &Claim) -> Option<String> {
    let member = membership(cx, claim).ok()?.decided?;
    Some(format!("retention reconcile sts/{} -n {}", member.set.metadata.name, claim.namespace))
}

/// Returns the set of a claim.
fn member<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Result<TemplateClaim<'a>, String>> {
    let Membership { pairs, decided } = membership(cx, claim)?;
    Ok(match (decided, &*pairs) {
        (Some(member), _) => Ok(member),
        (None, []) => Err(format!(
            "it is a claim of no StatefulSet that exists; `kubectl storage retain pvc/{} -n {}` keeps its data",
            claim.metadata.name, claim.namespace
        )),
        (None, several) => Err(ambiguous(claim, several)),
    })
}

/// Returns the set of a claim, unless another set creates claims of its name too (F68).
fn only_member<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Result<TemplateClaim<'a>, String>> {
    let pairs = membership(cx, claim)?.pairs;
    match &*pairs {
        [_, _, ..] => Ok(Err(ambiguous(claim, &pairs))),
        _ => member(cx, claim),
    }
}

fn ambiguous(claim: &Claim, pairs: &[TemplateClaim]) -> String {
    let named = |it: &TemplateClaim| {
        let but = it.contradicted_by(claim).map_or_else(String::new, |it| {
            format!(
                " (but its label {}={} contradicts the selector, which has {})",
                it.key, it.value, it.wanted
            )
        });
        format!("template {} of {}{but}", it.template, it.set.object())
    };
    let named = pairs.iter().map(named).collect::<Vec<_>>().join(" and ");
    format!("whose claim it is, is ambiguous: by its name {named}")
}

/// Returns the policy of a set, if it is known which owners it requires.
pub(super) fn known_policy(set: &StatefulSet) -> Result<&RetentionPolicy, String> {
    use crate::model::Retention::Other;
    let object = set.object();
    let Some(policy) = &set.retention else {
        return Err(format!(
            "{object} has no spec.persistentVolumeClaimRetentionPolicy: the API server does not support it"
        ));
    };
    for (field, value) in
        [("whenDeleted", &policy.when_deleted), ("whenScaled", &policy.when_scaled)]
    {
        if let Other(value) = value {
            return Err(format!(
                "{field} {value} of {object} is unknown: which owners it requires is unknown too"
            ));
        }
    }
    Ok(policy)
}

#[expect(clippy::unnecessary_wraps, reason = "it ends functions that fail with what was not read")]
fn refuse<T>(reason: impl Into<String>, effect: Effect) -> Seen<Result<T, Refusal>> {
    Ok(Err(Refusal { reason: reason.into(), effect }))
}

/// The name of this purpose in the journal.
pub const ID: &str = "retention-take-back-owner";

/// The owner reference that a journal entry added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedOwner {
    /// The number of the entry that is undone.
    pub undoes: u64,
    owner: OwnerReference,
}

impl AddedOwner {
    /// Reads the added reference from the request of the entry.
    ///
    /// # Errors
    /// When the request is not one that only added a reference.
    pub fn of(request: &Value, undoes: u64) -> Result<Self, String> {
        let operations = request.as_array().map_or(&[][..], Vec::as_slice);
        if operations.iter().any(|it| it["op"] == "remove") {
            return Err("it replaced a reference to the same owner".to_owned());
        }
        let added = operations.iter().find(|it| it["op"] == "add").map(|it| &it["value"]);
        let added = added.map(|it| it.get(0).unwrap_or(it));
        let text = |field: &str| added.and_then(|it| it[field].as_str());
        let flag = |field: &str| added.is_some_and(|it| it[field] == true);
        let owner = (|| {
            Some(OwnerReference {
                api_version: text("apiVersion")?.into(),
                kind: text("kind")?.into(),
                name: text("name")?.into(),
                uid: Some(Uid::parse(text("uid")?)?),
                controller: flag("controller"),
                blocks_deletion: flag("blockOwnerDeletion"),
            })
        })();
        let owner = owner.ok_or("the journal does not contain the reference that was added")?;
        Ok(Self { undoes, owner })
    }
}

/// Proposes to remove the reference, if it is still there.
///
/// # Errors
/// Never: it rests on the claim alone.
pub fn propose(_: &Cx, claim: &Claim, added: &AddedOwner) -> Seen<Result<Proposal, Refusal>> {
    let name = named(&added.owner);
    let effect = Effect {
        what: format!("removes the owner reference to {name} again"),
        risk: "the claim and its volume are kept, and billed, until you delete the claim"
            .to_owned(),
    };
    if claim.metadata.deleting.is_some() {
        return refuse("it is Terminating, which cannot be revoked", effect);
    }
    if !claim.metadata.owners.contains(&added.owner) {
        return refuse(format!("it has no such owner reference to {name} any more"), effect);
    }
    Ok(Ok(Proposal {
        steps: vec![Action::RemoveOwnerReferences {
            claim: claim.object(),
            owners: vec![added.owner.clone()],
        }],
        effect,
        undo: Undo::Never(NEVER_ADDED),
        notices: Vec::new(),
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

#[cfg(test)]
mod tests;

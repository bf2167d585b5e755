//! `undo` of an addition: removes the owner reference that was added. The claim is kept then when its set
//! is deleted.

use serde_json::Value;

use super::super::disown::named;
use super::{NEVER_ADDED, refuse};
use crate::cluster::{Cx, Seen};
use crate::model::{Action, Claim, Effect, OwnerReference, Proposal, Refusal, Uid, Undo};

/// The name of this purpose in the journal.
pub const ID: &str = "retention-take-back-owner";

/// The owner reference that a journal entry added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedOwner {
    /// The number of the entry.
    pub undoes: u64,
    owner: OwnerReference,
}

impl AddedOwner {
    /// Reads it from the request of the entry.
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
    }))
}

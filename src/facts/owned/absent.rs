//! How it is known that an owner does not exist.

use crate::cluster::{Cx, Seen};
use crate::model::{Answer, Claim, OwnerKey, OwnerReference, Question, Text, Uid};

use super::{Ownership, ownership, unread};

/// Whether the owner of a reference exists, and how it is known that it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerPresence {
    /// An object with the uid of the reference exists.
    Exists,
    /// No object of that name exists.
    Missing,
    /// The object of that name has this uid.
    Recreated(Uid),
    /// Its kind is served in no version of its group: whether it exists cannot be asked, and the
    /// garbage collector leaves the claim alone until the kind is served again.
    KindGone,
}

/// Returns whether the owner of a claim exists. Where its kind is served in another version than
/// the reference names, the object is looked up in that version.
///
/// # Errors
/// When the question about the owner has no answer, or the reference has no uid.
pub fn owner_presence(cx: &Cx, claim: &Claim, owner: &OwnerReference) -> Seen<OwnerPresence> {
    let asked = |api_version: &Text| {
        Question::OwnerExists(OwnerKey {
            api_version: Text::clone(api_version),
            kind: Text::clone(&owner.kind),
            namespace: Text::clone(&claim.namespace),
            name: owner.name.clone(),
        })
    };
    let uid = owner.uid.as_ref();
    let uid = uid.ok_or_else(|| unread(claim, owner, "the reference has no uid"))?;
    let answer = cx.answer(asked(&owner.api_version));
    let answer = match answer.map_err(|_| unread(claim, owner, "it was not asked"))? {
        Answer::NotServed { elsewhere: None } => return Ok(OwnerPresence::KindGone),
        Answer::NotServed { elsewhere: Some(version) } => {
            let answer = cx.answer(asked(&version));
            answer.map_err(|_| unread(claim, owner, "it was not asked"))?
        }
        answer => answer,
    };
    Ok(match answer {
        Answer::No => OwnerPresence::Missing,
        Answer::Is(found) if found == *uid => OwnerPresence::Exists,
        Answer::Is(found) => OwnerPresence::Recreated(found),
        Answer::Yes
        | Answer::Owner(_)
        | Answer::Users(_)
        | Answer::Announcements(_)
        | Answer::Unanswered(_)
        | Answer::Forbidden
        | Answer::NotServed { .. } => match ownership(cx, claim, owner)? {
            Ownership::Solid => OwnerPresence::Exists,
            Ownership::Dangling => return Err(unread(claim, owner, "its uid is not known")),
            Ownership::NotServed => {
                return Err(unread(
                    claim,
                    owner,
                    "it was not found in another version of its kind",
                ));
            }
        },
    })
}

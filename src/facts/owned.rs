//! Owner references: whether the owner exists, as the garbage collector will find it
//! (`garbagecollector.go`, `isDangling`; R-1847-9).

use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{
    Answer, Claim, Kind, Metadata, OwnerKey, OwnerReference, PodUse, Question, Text, Uid,
};

/// The target of an owner reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// An object with the uid of the reference exists.
    Solid,
    /// No object of that name exists, or only one with another uid.
    Dangling,
    /// The server does not serve the owner's kind: the garbage collector leaves the dependent alone, and deletes it
    /// once the kind is served again and the owner does not exist then.
    NotServed,
}

/// Returns the reference to an object's managing controller.
pub fn controller_of(metadata: &Metadata) -> Option<&OwnerReference> {
    metadata.owners.iter().find(|owner| owner.controller)
}

/// Returns whether the owner of a claim exists. The list of `StatefulSet`s or pods proves that it
/// exists; only an answer that was received after the lists proves that it does not, or that its
/// uid is another one. Owners of owners are not checked, so that circles do no harm.
///
/// # Errors
/// When the question about the owner has no answer. Also when the reference has no uid, which only
/// happens in dumps, and an object of that name exists.
pub fn ownership(cx: &Cx, claim: &Claim, owner: &OwnerReference) -> Seen<Ownership> {
    if owner.uid.is_some() && listed_uid(cx, &claim.namespace, owner) == owner.uid {
        return Ok(Ownership::Solid);
    }
    let unseen = |reason: &str| unread(claim, owner, Some(reason));
    let ask = |api_version: &Text| {
        let question = Question::OwnerExists(OwnerKey {
            api_version: Text::clone(api_version),
            kind: Text::clone(&owner.kind),
            namespace: Text::clone(&claim.namespace),
            name: owner.name.clone(),
        });
        cx.answer(question).map_err(|_| unread(claim, owner, None))
    };
    match ask(&owner.api_version)? {
        Answer::No => Ok(Ownership::Dangling),
        Answer::Is(uid) => match &owner.uid {
            Some(wanted) if *wanted == uid => Ok(Ownership::Solid),
            Some(_) => Ok(Ownership::Dangling),
            None => Err(unseen("the reference has no uid")),
        },
        Answer::Yes | Answer::Owner(_) | Answer::Users(_) | Answer::Announcements(_) => {
            Err(unseen("its uid is not known"))
        }
        Answer::Unanswered(reason) => Err(unseen(&reason)),
        Answer::Forbidden => Err(unseen("asking is forbidden")),
        Answer::NotServed { elsewhere: None } => Ok(Ownership::NotServed),
        // The object is the same in every version of its group.
        Answer::NotServed { elsewhere: Some(version) } => match ask(&version)? {
            Answer::Is(uid) if owner.uid.as_ref() == Some(&uid) => Ok(Ownership::Solid),
            Answer::Is(_) | Answer::No | Answer::NotServed { .. } => Ok(Ownership::NotServed),
            Answer::Yes
            | Answer::Owner(_)
            | Answer::Users(_)
            | Answer::Announcements(_)
            | Answer::Unanswered(_)
            | Answer::Forbidden => Err(unseen("it was not found in another version of its kind")),
        },
    }
}

/// Returns the gap for an owner whose existence is unknown, with this reason; without one if no answer was read, as of
/// a dump.
fn unread(claim: &Claim, owner: &OwnerReference, reason: Option<&str>) -> Unseen {
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    Unseen {
        kind: Kind::PartialObjectMetadata,
        namespace: Some(Text::clone(&claim.namespace)),
        reason: format!(
            "unknown whether {} {} exists, the owner of {}{reason}",
            owner.kind,
            owner.name,
            claim.object()
        ),
    }
}

/// Whether the garbage collector will delete a claim at its next visit: it has owners, and none of
/// them exists. One owner that exists is enough to retain it, whatever was not read of the others.
///
/// # Errors
/// When no owner is known to exist, and not all are known to be absent.
pub fn is_doomed(cx: &Cx, claim: &Claim) -> Seen<bool> {
    let mut all_dangle = Ok(!claim.metadata.owners.is_empty());
    for owner in &claim.metadata.owners {
        match ownership(cx, claim, owner) {
            // One that cannot be looked up stops the garbage collector, too.
            Ok(Ownership::Solid | Ownership::NotServed) => return Ok(false),
            Ok(Ownership::Dangling) => {}
            Err(unseen) => all_dangle = Err(unseen),
        }
    }
    all_dangle
}

/// Returns the uid of an owner, if its kind is listed and rows are kept of all such objects, or of
/// those with claims.
fn listed_uid(cx: &Cx, namespace: &Text, owner: &OwnerReference) -> Option<Uid> {
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    match Kind::parse(group, &owner.kind)? {
        Kind::StatefulSet => cx.set(namespace, &owner.name).ok().flatten()?.metadata.uid.clone(),
        Kind::Pod => {
            let pod: Option<&PodUse> = cx.pod(namespace, &owner.name).ok().flatten();
            pod?.uid.clone()
        }
        _ => None,
    }
}

/// Existence of the owner of a reference, with the evidence where it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerPresence {
    /// An object with the uid of the reference exists.
    Exists,
    /// No object of that name exists.
    Missing,
    /// The object of that name has this uid.
    Recreated(Uid),
    /// The owner's kind is served in no version of its group: whether it exists cannot be asked, and the garbage
    /// collector leaves the claim alone until the kind is served again.
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
    let uid = uid.ok_or_else(|| unread(claim, owner, Some("the reference has no uid")))?;
    let answer = cx.answer(asked(&owner.api_version));
    let answer = match answer.map_err(|_| unread(claim, owner, None))? {
        Answer::NotServed { elsewhere: None } => return Ok(OwnerPresence::KindGone),
        Answer::NotServed { elsewhere: Some(version) } => {
            let answer = cx.answer(asked(&version));
            answer.map_err(|_| unread(claim, owner, None))?
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
            Ownership::Dangling => return Err(unread(claim, owner, Some("its uid is not known"))),
            Ownership::NotServed => {
                return Err(unread(
                    claim,
                    owner,
                    Some("it was not found in another version of its kind"),
                ));
            }
        },
    })
}

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
/// When the question about the owner has no answer; a kind that the server does not know counts as
/// neither present nor absent, as in Kubernetes. Also when the reference has no uid, which only
/// happens in dumps, and an object of that name exists.
pub fn ownership(cx: &Cx, claim: &Claim, owner: &OwnerReference) -> Seen<Ownership> {
    if owner.uid.is_some() && listed_uid(cx, &claim.namespace, owner) == owner.uid {
        return Ok(Ownership::Solid);
    }
    let unseen = |reason: &str| Unseen {
        kind: Kind::PartialObjectMetadata,
        namespace: Some(Text::clone(&claim.namespace)),
        reason: format!(
            "whether {} {}, which {} names as its owner, exists: {reason}",
            owner.kind,
            owner.name,
            claim.object()
        ),
    };
    let question = Question::OwnerExists(OwnerKey {
        api_version: Text::clone(&owner.api_version),
        kind: Text::clone(&owner.kind),
        namespace: Text::clone(&claim.namespace),
        name: owner.name.clone(),
    });
    match cx.answer(question).map_err(|_| unseen("it was not asked"))? {
        Answer::No => Ok(Ownership::Dangling),
        Answer::Is(uid) => match &owner.uid {
            Some(wanted) if *wanted == uid => Ok(Ownership::Solid),
            Some(_) => Ok(Ownership::Dangling),
            None => Err(unseen("the reference has no uid")),
        },
        Answer::Yes => Err(unseen("its uid is not known")),
        Answer::Unanswered(reason) => Err(unseen(&reason)),
        Answer::Forbidden => Err(unseen("asking is forbidden")),
        Answer::NotServed { .. } => Err(unseen(&format!(
            "the server serves no resource for {} of {}",
            owner.kind, owner.api_version
        ))),
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
            Ok(Ownership::Solid) => return Ok(false),
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

//! Whether what an object says owns it is there: what the garbage collector will find
//! (`garbagecollector.go`, `isDangling`; R-1847-9).

use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{
    Answer, Claim, Kind, Metadata, OwnerKey, OwnerReference, PodUse, Question, Text, Uid,
};

/// What an owner reference leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// To an object with the uid that it names.
    Solid,
    /// To nothing, or to another object of that name.
    Dangling,
}

/// Returns the reference to an object's managing controller.
pub fn controller_of(metadata: &Metadata) -> Option<&OwnerReference> {
    metadata.owners.iter().find(|owner| owner.controller)
}

/// Returns what an owner reference of a claim leads to. A set or a pod that was listed proves that
/// it is there; that it is gone, or another one, is only believed of an answer that came after
/// the lists. Owners' own owners are not looked at, so circles end where they begin.
///
/// # Errors
/// When the owner was not asked about, or the question was not answered; a kind that the server
/// does not know is neither there nor gone, for upstream as well. Also when the reference has no
/// uid, which only a dump can lack, and something of that name is there.
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
    }
}

/// Whether the garbage collector will delete a claim as soon as it looks: it names owners, and
/// none of them is there. One that is there keeps it, whatever was not seen of the others.
///
/// # Errors
/// When no owner is known to be there, and not all are known to be gone.
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

/// The uid of an owner of a kind all of which are kept, or that is kept because it has claims.
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

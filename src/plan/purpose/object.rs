//! The object of a change, as it was last read.

use crate::cluster::{Cx, Seen};
use crate::model::{Claim, Effect, ObjectRef, Proposal, Refusal, StatefulSet, Uid};

/// Proposes or refuses something for a claim.
pub(super) fn of_claim(
    cx: &Cx,
    object: &ObjectRef,
    propose: impl Fn(&Cx, &Claim) -> Seen<Result<Proposal, Refusal>>,
) -> Seen<Result<Proposal, Refusal>> {
    let Some(key) = object.key.as_claim() else { return Ok(Err(missing())) };
    match same_object(object, cx.claim(&key)?, |it| it.metadata.uid.as_ref()) {
        Ok(claim) => propose(cx, claim),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// Proposes or refuses something for a set.
pub(super) fn of_set(
    cx: &Cx,
    object: &ObjectRef,
    propose: impl Fn(&StatefulSet) -> Seen<Result<Proposal, Refusal>>,
) -> Seen<Result<Proposal, Refusal>> {
    let Some(namespace) = &object.key.namespace else { return Ok(Err(missing())) };
    match same_object(object, cx.set(namespace, &object.key.name)?, |it| it.metadata.uid.as_ref()) {
        Ok(set) => propose(set),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// Returns the object with the uid that was planned, and no other of its name.
pub(super) fn same_object<'a, T>(
    object: &ObjectRef,
    found: Option<&'a T>,
    uid: impl Fn(&T) -> Option<&Uid>,
) -> Result<&'a T, Refusal> {
    match found {
        None => Err(missing()),
        Some(it) if object.uid.is_some() && uid(it) != object.uid.as_ref() => {
            Err(refusal("it was deleted and recreated under the same name"))
        }
        Some(it) => Ok(it),
    }
}

/// The object does not exist.
pub(super) fn missing() -> Refusal {
    refusal("it does not exist")
}

/// A refusal with no more than a reason.
pub(super) fn refusal(reason: &str) -> Refusal {
    let effect = Effect { what: String::new(), risk: String::new() };
    Refusal { reason: reason.to_owned(), effect }
}

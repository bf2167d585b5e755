//! The object of a change, as it was last read.

use crate::cluster::{Cx, Seen, Subject};
use crate::model::{Claim, Effect, ObjectRef, Proposal, Refusal, StatefulSet, Uid};
use crate::remedies::finalizers::{self, FinalizerRequest};

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

/// Proposes or refuses steps for the finalizers of a claim or an attachment.
pub(super) fn fix_finalizers(
    cx: &Cx,
    object: &ObjectRef,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let cluster = cx.cluster();
    match cluster.subject(&object.key) {
        Some(Subject::Claim(id)) => {
            match same_object(object, cluster.claim_at(id), |it| it.metadata.uid.as_ref()) {
                Ok(claim) => finalizers::claim(cx, claim, request),
                Err(refusal) => Ok(Err(refusal)),
            }
        }
        Some(Subject::Attachment(id)) => {
            match same_object(object, cluster.attachment_at(id), |it| it.metadata.uid.as_ref()) {
                Ok(attachment) => finalizers::attachment(cx, attachment, request),
                Err(refusal) => Ok(Err(refusal)),
            }
        }
        _ => {
            cluster.reach(object.key.kind, object.key.namespace.as_ref())?;
            Ok(Err(missing()))
        }
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

fn missing() -> Refusal {
    refusal("it does not exist")
}

/// A refusal with no more than a reason.
pub(super) fn refusal(reason: &str) -> Refusal {
    let effect = Effect { what: String::new(), risk: String::new() };
    Refusal { reason: reason.to_owned(), effect }
}

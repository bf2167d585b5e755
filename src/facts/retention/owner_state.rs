//! The owners of a claim with their own owners, as the garbage collector will find them
//! (`garbagecollector.go`, `classifyReferences`): an owner that is deleted with a set keeps nothing.

use crate::cluster::Cx;
use crate::model::{Answer, ClaimKey, OwnerKey, OwnerReference, Question, Text, Uid};

use super::{OwnerDoubt, OwnerState, Presence, presence};

/// How far owners of owners are followed.
const DEPTH: usize = 8;
/// How many owners of owners of one object are followed.
const OWNERS: usize = 100;

/// What is known of an owner: whether it exists, its own owners, and why more is not known.
type KnownOwner = (Presence, Vec<OwnerReference>, Option<OwnerDoubt>);

/// What is known of an owner that exists.
fn existing(terminating: bool, owners: &[OwnerReference]) -> KnownOwner {
    match terminating {
        true => (Presence::Unknown, owners.to_vec(), Some(OwnerDoubt::Terminating)),
        false => (Presence::Present, owners.to_vec(), None),
    }
}

/// Returns what is known of the owners of an object in this namespace, and asks what is not. The
/// owners of `set` do not matter: it is what is deleted.
pub(super) fn owner_states(
    cx: &Cx,
    namespace: &Text,
    set: Option<&Uid>,
    references: &[OwnerReference],
) -> Vec<OwnerState> {
    let mut walk = OwnerWalk { cx, namespace, set, path: Vec::new(), left: OWNERS };
    references.iter().map(|it| walk.owner(it)).collect()
}

/// A walk from an object to its owners, and on to theirs.
struct OwnerWalk<'w, 'a> {
    cx: &'w Cx<'a>,
    namespace: &'w Text,
    set: Option<&'w Uid>,
    /// The owners that led here.
    path: Vec<Uid>,
    left: usize,
}

impl OwnerWalk<'_, '_> {
    fn owner(&mut self, reference: &OwnerReference) -> OwnerState {
        let state = |presence| OwnerState::new(reference.clone(), presence);
        let Some(uid) = &reference.uid else { return state(Presence::Absent) };
        // Objects that own each other keep each other.
        if self.set == Some(uid) || self.path.contains(uid) {
            return state(Presence::Present);
        }
        if self.left == 0 || self.path.len() == DEPTH {
            return OwnerState { doubt: Some(OwnerDoubt::TooMany), ..state(Presence::Unknown) };
        }
        self.left -= 1;
        let known = self.listed(reference, uid);
        let (presence, owners, doubt) = known.unwrap_or_else(|| self.asked(reference, uid));
        self.path.push(uid.clone());
        let owners = owners.iter().map(|it| self.owner(it)).collect();
        self.path.pop();
        OwnerState { owners, doubt, ..state(presence) }
    }

    /// What the lists show of an owner. Of a pod they show the managing controller only. That
    /// suffices if it has one: an owner that remains keeps the pod, whichever others it has, and
    /// with one that is deleted the pod counts as deleted.
    fn listed(&self, reference: &OwnerReference, uid: &Uid) -> Option<KnownOwner> {
        let (cx, name) = (self.cx, &reference.name);
        let (found, terminating, owners) = match (&*reference.api_version, &*reference.kind) {
            ("apps/v1", "StatefulSet") => {
                let metadata = &cx.set(self.namespace, name).ok()??.metadata;
                (metadata.uid.as_ref()?, metadata.deleting.is_some(), metadata.owners.to_vec())
            }
            ("v1", "PersistentVolumeClaim") => {
                let key = ClaimKey { namespace: Text::clone(self.namespace), name: name.clone() };
                let metadata = &cx.claim(&key).ok()??.metadata;
                (metadata.uid.as_ref()?, metadata.deleting.is_some(), metadata.owners.to_vec())
            }
            ("v1", "Pod") => {
                let pod = cx.pod(self.namespace, name).ok()??;
                let controller = pod.controller.as_deref().cloned();
                (pod.uid.as_ref()?, pod.deleting.is_some(), vec![controller?])
            }
            _ => return None,
        };
        Some(match found == uid {
            true => existing(terminating, &owners),
            false => (Presence::Absent, Vec::new(), None),
        })
    }

    /// What an answer shows of an owner of any kind.
    fn asked(&self, reference: &OwnerReference, uid: &Uid) -> KnownOwner {
        let key = OwnerKey {
            api_version: Text::clone(&reference.api_version),
            kind: Text::clone(&reference.kind),
            namespace: Text::clone(self.namespace),
            name: reference.name.clone(),
        };
        let doubt = match self.cx.answer(Question::OwnersOf(key)) {
            Ok(Answer::No) => return (Presence::Absent, Vec::new(), None),
            Ok(Answer::Owner(found)) if found.uid != *uid => {
                return (Presence::Absent, Vec::new(), None);
            }
            // Nothing in a namespace can own it (`isDangling`).
            Ok(Answer::Owner(found)) if found.cluster_wide => {
                return existing(found.terminating, &[]);
            }
            Ok(Answer::Owner(found)) => return existing(found.terminating, &found.owners),
            Ok(Answer::Forbidden) => OwnerDoubt::Forbidden,
            Ok(Answer::NotServed { .. }) => OwnerDoubt::NotServed,
            Ok(
                Answer::Yes
                | Answer::Is(_)
                | Answer::Users(_)
                | Answer::Announcements(_)
                | Answer::Unanswered(_),
            )
            | Err(_) => OwnerDoubt::NotRead,
        };
        // An earlier answer may prove that it does not exist.
        match presence(self.cx, self.namespace, reference) {
            Presence::Absent => (Presence::Absent, Vec::new(), None),
            known @ (Presence::Present | Presence::Unknown) => (known, Vec::new(), Some(doubt)),
        }
    }
}

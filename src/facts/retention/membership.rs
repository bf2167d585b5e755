//! Whose claim it is (R-1847-2, R-1847-3).

use crate::cluster::{Cx, Seen};
use crate::model::{Claim, PodUse, StatefulSet, Text, split_ordinal};

use super::{ClaimPod, Ordinals, OwnerIdentity, names_pod};

/// A claim as one of a set's.
#[derive(Debug, Clone, Copy)]
pub struct TemplateClaim<'a> {
    /// The set.
    pub set: &'a StatefulSet,
    /// The name of the template.
    pub template: &'a Text,
    /// The ordinal.
    pub ordinal: i32,
}

/// Whose a claim may be, by its name.
///
/// A name has no unique parse: template `data-a` of set `web` and template `data` of set `a-web`
/// make the same claims. So it is never split, but compared with the sets that exist.
#[derive(Debug, Clone)]
pub struct Membership<'a> {
    /// All pairs of a set and a template that would call a claim like this.
    pub pairs: Vec<TemplateClaim<'a>>,
    /// Which of them it is, where there is only one, or an owner or a pod tells.
    pub decided: Option<TemplateClaim<'a>>,
}

impl<'a> TemplateClaim<'a> {
    /// The pod that uses the claim, by its name.
    pub fn pod_name(&self) -> String {
        format!("{}-{}", self.set.metadata.name, self.ordinal)
    }

    /// Whether the set wants its ordinal.
    pub fn is_wanted(&self) -> bool {
        Ordinals::of(self.set).contains(self.ordinal)
    }

    /// The set, as owner references name it.
    pub fn owner(&self) -> OwnerIdentity<'a> {
        OwnerIdentity { name: &self.set.metadata.name, uid: self.set.metadata.uid.as_ref() }
    }

    /// The pod of its name, if it is the set's.
    ///
    /// # Errors
    /// When pods of that namespace were not read.
    pub fn pod<'b>(&self, cx: &Cx<'b>) -> Seen<Option<&'b PodUse>> {
        let pod = cx.pod(&self.set.namespace, &self.pod_name())?;
        Ok(pod.filter(|pod| is_member(self.set, pod)))
    }

    /// Where the controller finds the claim.
    pub fn pod_state<'b>(&self, name: &'b str, pod: Option<&'b PodUse>) -> ClaimPod<'b> {
        let Some(pod) = pod else { return ClaimPod::Podless };
        let identity = OwnerIdentity { name, uid: pod.uid.as_ref() };
        match (self.is_wanted(), pod.deleting.is_some() || pod.is_finished()) {
            (false, _) => ClaimPod::Condemned(identity),
            (true, true) => ClaimPod::Leaving(identity),
            (true, false) => ClaimPod::InRange(identity),
        }
    }
}

/// Whether the set's controller takes a pod called like one of its own for its own: it controls
/// it, or it may adopt it (`ClaimPods`). An expression of a selector that was not read may keep it
/// from doing so.
pub fn is_member(set: &StatefulSet, pod: &PodUse) -> bool {
    if let Some(owner) = &pod.controller {
        return owner.uid.is_some() && owner.uid == set.metadata.uid;
    }
    let has = |wanted: &(Text, Text)| pod.labels.contains(wanted);
    set.metadata.deleting.is_none() && set.match_labels.iter().all(has)
}

/// Returns whose a claim is.
///
/// # Errors
/// When sets of that namespace were not read, or pods, where only they can tell.
pub fn membership<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Membership<'a>> {
    let Some((stem, ordinal)) = split_ordinal(&claim.metadata.name) else {
        return Ok(Membership { pairs: Vec::new(), decided: None });
    };
    let sets = cx.sets_of_stem(&claim.namespace, stem)?;
    let pairs: Vec<_> =
        sets.into_iter().map(|(set, template)| TemplateClaim { set, template, ordinal }).collect();
    let decided = match &*pairs {
        [] => None,
        [only] => Some(*only),
        _ => decide(cx, claim, &pairs)?,
    };
    Ok(Membership { pairs, decided })
}

/// Returns the one pair that an owner of the claim names, else the one whose pod uses it.
fn decide<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    pairs: &[TemplateClaim<'a>],
) -> Seen<Option<TemplateClaim<'a>>> {
    let mut owned = Vec::new();
    for pair in pairs {
        let pod_name = pair.pod_name();
        let pod = pair.pod(cx)?;
        let pod = OwnerIdentity { name: &pod_name, uid: pod.and_then(|pod| pod.uid.as_ref()) };
        let names = claim.metadata.owners.iter().any(|owner| {
            pair.owner().is_named_by(owner)
                || (names_pod(owner, &pod_name) && pod.is_named_by(owner))
        });
        if names {
            owned.push(*pair);
        }
    }
    match &*owned {
        [only] => return Ok(Some(*only)),
        [] => {}
        _ => return Ok(None),
    }
    let users = cx.pods_of(&claim.key())?;
    let is_used = |pair: &&TemplateClaim<'a>| {
        let name = pair.pod_name();
        users.iter().any(|pod| *pod.name == *name && is_member(pair.set, pod))
    };
    let mut using = pairs.iter().filter(is_used);
    Ok(using.next().filter(|_| using.next().is_none()).copied())
}

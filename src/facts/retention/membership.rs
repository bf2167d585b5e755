//! The `StatefulSet` and template that a claim belongs to (R-1847-2, R-1847-3).

use std::borrow::Cow;

use crate::cluster::{Cx, Seen};
use crate::model::{Claim, PodUse, StatefulSet, Text, split_ordinal};

use super::{ClaimPod, Ordinals, OwnerIdentity, names_pod};

/// A claim of a template of a `StatefulSet`.
#[derive(Debug, Clone, Copy)]
pub struct TemplateClaim<'a> {
    /// The set.
    pub set: &'a StatefulSet,
    /// The name of the template.
    pub template: &'a Text,
    /// The ordinal.
    pub ordinal: i32,
}

/// The `StatefulSet`s that a claim may belong to, by its name.
///
/// A name can be parsed in several ways: template `data-a` of set `web` and template `data` of set
/// `a-web` make claims of the same names. So it is never split, but compared with the sets that
/// exist.
#[derive(Debug, Clone)]
pub struct Membership<'a> {
    /// All pairs of a set and a template whose claims have this name.
    pub pairs: Vec<TemplateClaim<'a>>,
    /// The pair that the claim belongs to: the one that an owner or a pod proves, else the only one
    /// that its labels allow.
    pub decided: Option<TemplateClaim<'a>>,
}

/// A label of a claim that its set would have written otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContradictingLabel<'a> {
    /// The key.
    pub key: &'a str,
    /// The value that the claim has.
    pub value: &'a str,
    /// The value, or the expression, in the selector of the set.
    pub wanted: Cow<'a, str>,
}

impl<'a> TemplateClaim<'a> {
    /// The name of the pod that uses the claim.
    pub fn pod_name(&self) -> String {
        format!("{}-{}", self.set.metadata.name, self.ordinal)
    }

    /// Whether its ordinal is in the range of the set.
    pub fn is_wanted(&self) -> bool {
        Ordinals::of(self.set).contains(self.ordinal)
    }

    /// The name and uid of the set, to compare with owner references.
    pub fn owner(&self) -> OwnerIdentity<'a> {
        OwnerIdentity { name: &self.set.metadata.name, uid: self.set.metadata.uid.as_ref() }
    }

    /// The pod of that name, if it belongs to the set.
    ///
    /// # Errors
    /// When pods of that namespace were not read.
    pub fn pod<'b>(&self, cx: &Cx<'b>) -> Seen<Option<&'b PodUse>> {
        let pod = cx.pod(&self.set.namespace, &self.pod_name())?;
        Ok(pod.filter(|pod| is_member(self.set, pod)))
    }

    /// Returns the label of the claim that contradicts the selector of the set, if there is one: the
    /// controller copies `matchLabels` onto every claim that it creates (`stateful_set_utils.go`,
    /// `getPersistentVolumeClaims`), so that a set with another selector has made it. It copies nothing
    /// for `matchExpressions`: a label that is absent contradicts none of them, and one that is there
    /// and that they exclude is another set's.
    pub fn contradicted_by<'b>(&self, claim: &'b Claim) -> Option<ContradictingLabel<'b>>
    where
        'a: 'b,
    {
        let copied = self.set.match_labels.iter().find_map(|(key, wanted)| {
            let value = claim.metadata.label(key).filter(|value| *value != &**wanted)?;
            Some(ContradictingLabel { key, value, wanted: Cow::Borrowed(wanted) })
        });
        copied.or_else(|| {
            let expressions = self.set.match_expressions.as_deref()?;
            let (key, value, wanted) = expressions.contradicted_by(&claim.metadata.labels)?;
            Some(ContradictingLabel { key, value, wanted: Cow::Owned(wanted) })
        })
    }

    /// Whether the claim has all labels that the set writes.
    fn is_labelled(&self, claim: &Claim) -> bool {
        let labels = &self.set.match_labels;
        !labels.is_empty()
            && labels.iter().all(|(key, wanted)| claim.metadata.label(key) == Some(&**wanted))
    }

    /// The state of its pod, in the view of the `StatefulSet` controller.
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

/// Whether the `StatefulSet` controller regards a pod of this name as a pod of the set: the set
/// controls it, or may adopt it (`ClaimPods`).
pub fn is_member(set: &StatefulSet, pod: &PodUse) -> bool {
    if let Some(owner) = &pod.controller {
        return owner.uid.is_some() && owner.uid == set.metadata.uid;
    }
    let has = |wanted: &(Text, Text)| pod.labels.contains(wanted);
    let matches = set.match_expressions.as_ref().is_none_or(|it| it.matches(&pod.labels));
    set.metadata.deleting.is_none() && set.match_labels.iter().all(has) && matches
}

/// Returns the `StatefulSet` and template that a claim belongs to.
///
/// # Errors
/// When sets of that namespace were not read, or pods, if only they can decide.
pub fn membership<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Membership<'a>> {
    let Some((stem, ordinal)) = split_ordinal(&claim.metadata.name) else {
        return Ok(Membership { pairs: Vec::new(), decided: None });
    };
    let sets = cx.sets_of_stem(&claim.namespace, stem)?;
    let pairs: Vec<_> =
        sets.into_iter().map(|(set, template)| TemplateClaim { set, template, ordinal }).collect();
    let decided = match &*pairs {
        [] => None,
        [only] if only.contradicted_by(claim).is_none() => Some(*only),
        _ => decide(cx, claim, &pairs)?,
    };
    Ok(Membership { pairs, decided })
}

/// Returns the one pair that an owner reference of the claim matches, else the one whose pod uses
/// it, else the one whose labels it has, if it contradicts all others.
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
    if let Some(first) = using.next() {
        return Ok(using.next().is_none().then_some(*first));
    }
    let mut allowed = pairs.iter().filter(|it| it.contradicted_by(claim).is_none());
    let only = allowed.next().filter(|_| allowed.next().is_none());
    Ok(only.filter(|it| it.is_labelled(claim)).copied())
}

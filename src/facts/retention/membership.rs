//! Membership of claims in `StatefulSet`s: the set and template that a claim belongs to (R-1847-2, R-1847-3), the range
//! of ordinals of a set (R-1847-4), claims that are out of that range, for how long at least (I.6 of the design;
//! semantics#retention), and who sets the number of replicas by itself.

use std::{borrow::Cow, fmt};

use super::{ClaimPod, OwnerIdentity, names_pod, wanted_owners};
use crate::cluster::{Cx, Seen};
use crate::model::{
    Age, Claim, Kind, Managed, ManagedField, ObjectKey, ObjectRef, PodUse, StatefulSet, Text, Time,
    Trust, split_ordinal,
};

/// A claim of a template of a `StatefulSet`.
#[derive(Debug, Clone, Copy)]
pub struct TemplateClaim<'a> {
    /// The set.
    pub set: &'a StatefulSet,
    /// The name of the template.
    pub template: &'a Text,
    /// The ordinal of the claim.
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
    /// The key of the label.
    pub key: &'a str,
    /// The value that the claim has.
    pub value: &'a str,
    /// The value, or the expression, in the selector of the set.
    pub wanted: Cow<'a, str>,
}

impl<'a> TemplateClaim<'a> {
    /// Returns the name of the pod that uses the claim.
    pub fn pod_name(&self) -> String {
        format!("{}-{}", self.set.metadata.name, self.ordinal)
    }

    /// Whether the ordinal of the claim is in the range of the set.
    pub fn is_wanted(&self) -> bool {
        Ordinals::of(self.set).contains(self.ordinal)
    }

    /// Returns the name and uid of the set, to compare with owner references.
    pub fn owner(&self) -> OwnerIdentity<'a> {
        OwnerIdentity { name: &self.set.metadata.name, uid: self.set.metadata.uid.as_ref() }
    }

    /// Returns the pod that uses the claim, if it belongs to the set.
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

    /// Returns the state of the claim's pod, in the view of the `StatefulSet` controller.
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

/// The ordinals of a set: `start` to `start + replicas - 1`.
///
/// Computed in 64 bits, so that no start overflows (`stateful_set_utils.go`, `getStartOrdinal`,
/// `getEndOrdinal` and `podInOrdinalRange`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordinals {
    first: i64,
    last: i64,
}

impl Ordinals {
    /// Returns the range with this start and number of replicas, of which the default is one.
    pub fn new(start: i32, replicas: Option<i32>) -> Self {
        let first = i64::from(start);
        Self { first, last: first + i64::from(replicas.unwrap_or(1)) - 1 }
    }

    /// Returns the range of a set.
    pub fn of(set: &StatefulSet) -> Self {
        Self::new(set.start, set.replicas)
    }

    /// Whether an ordinal is in the range.
    pub fn contains(self, ordinal: i32) -> bool {
        (self.first..=self.last).contains(&i64::from(ordinal))
    }

    /// Returns the ordinal after the batch in which a set that is not ordered visits an ordinal:
    /// one pod, then two, four and so on (`stateful_set_control.go`, `slowStartBatch`).
    pub(super) fn end_of_batch(self, ordinal: i64) -> i64 {
        /// Number of pods in the largest batch: `MaxBatchSize`.
        const LARGEST: i64 = 500;
        /// Number of pods in all smaller batches: 1 to 256.
        const SMALLER: i64 = 511;
        let index = ordinal - self.first;
        let end = if index < SMALLER {
            let doubled = (0..10).map(|power| (1 << power) - 1).find(|end| *end > index);
            doubled.unwrap_or(SMALLER)
        } else {
            SMALLER + ((index - SMALLER) / LARGEST + 1) * LARGEST
        };
        self.first + end
    }
}

impl fmt::Display for Ordinals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.last < self.first {
            return f.write_str("none");
        }
        write!(f, "[{}, {}]", self.first, self.last)
    }
}

/// The condition of a claim that no pod uses, on servers that write it.
const UNUSED: &str = "Unused";

/// Whether a set has no replicas, and retains its claims, so that it may be scaled to nothing only for a while.
pub fn is_paused(set: &StatefulSet) -> bool {
    set.replicas == Some(0)
        && set.metadata.deleting.is_none()
        && !wanted_owners(set.retention.as_ref(), true).pod
}

/// Whether the ordinal of a claim is out of range, and the claim has no pod and is not about to be deleted.
///
/// # Errors
/// When pods of its namespace were not read.
pub fn is_leftover(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<bool> {
    let deleting = claim.metadata.deleting.is_some() || member.set.metadata.deleting.is_some();
    let name = member.pod_name();
    let of_pod = claim.metadata.owners.iter().any(|it| names_pod(it, &name));
    if deleting || of_pod || member.is_wanted() {
        return Ok(false);
    }
    Ok(member.pod_state(&name, member.pod(cx)?) == ClaimPod::Podless)
}

/// Returns since when a claim has been unused, where the server says so.
pub fn unused_age(claim: &Claim) -> Age {
    let since = claim.condition(UNUSED).and_then(|it| it.since);
    since.map_or(Age::UNKNOWN, |since| Age { since: Some(since), trust: Trust::SingleSource })
}

/// Returns for how long at least a claim has been a leftover of its set. Nothing records it: the
/// claim says since when it is unused on some servers, and the managers of the set, or its controller,
/// since when the range of its ordinals has not changed. The time at which the claim was created says
/// nothing.
///
/// # Errors
/// When claims of its namespace were not read.
pub fn leftover_age(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<Age> {
    let unused = unused_age(claim).since;
    let unchanged = range_unchanged_since(cx, claim, member)?;
    Ok(match (unused, unchanged) {
        // Both are needed to be a leftover: the later one counts.
        (Some(unused), Some(unchanged)) => {
            Age { since: Some(unused.max(unchanged)), trust: Trust::LowerBound }
        }
        (None, Some(unchanged)) => Age { since: Some(unchanged), trust: Trust::LowerBound },
        // It may have been unused in range, too.
        (_, None) => Age::UNKNOWN,
    })
}

/// Returns since when the claim has certainly been out of range, the earlier of two lower bounds. It is no older than
/// the set: a restored one has the managers of an earlier one, with their times.
fn range_unchanged_since(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<Option<Time>> {
    let Some(made) = member.set.metadata.created else { return Ok(None) };
    let made = claim.metadata.created.map_or(made, |created| made.max(created));
    let bounds = [range_managed_since(cx, member)?, spec_observed_since(member.set)];
    Ok(bounds.into_iter().flatten().min().map(|since| since.max(made)))
}

/// Returns since when the whole `spec` of a set has certainly not changed: every change has a generation, and its
/// controller writes the generation that it has observed with its status, after the change. Each later write of the
/// status only makes the bound younger. It is the only one after `kubectl scale`: for the subresource, the API server
/// notes a manager without a time (apimachinery, `ScaleHandler.ToParent`).
fn spec_observed_since(set: &StatefulSet) -> Option<Time> {
    let observed = set.generation > 0 && set.observed_generation == set.generation;
    set.metadata.last_change(&ManagedField::ObservedGeneration).filter(|_| observed)
}

/// Returns since when the managers of the range have not changed it.
fn range_managed_since(cx: &Cx, member: &TemplateClaim) -> Seen<Option<Time>> {
    let set = member.set;
    // What is managed by nobody may have been removed at any time, and the default taken its place.
    let Some(replicas) = changed(set, &ManagedField::Replicas) else { return Ok(None) };
    if set.metadata.managers_of(&ManagedField::Ordinals).next().is_some() {
        let ordinals = changed(set, &ManagedField::Ordinals);
        return Ok(ordinals.map(|ordinals| replicas.max(ordinals)));
    }
    if set.start != 0 {
        return Ok(None);
    }
    // Removing spec.ordinals leaves no manager behind. If it was removed, the pod at the start of the
    // range is newer: its ordinal was out of range.
    let first = cx.pod(&set.namespace, &format!("{}-{}", set.metadata.name, set.start))?;
    let created = first.filter(|pod| is_member(set, pod)).and_then(|pod| pod.created);
    Ok(created.map(|created| replicas.max(created)))
}

/// Returns when a field was changed last, if the time of every manager of it is known. That of an entry into which the
/// API server has merged older ones says nothing about those (apimachinery, `capManagersManager`).
fn changed(set: &StatefulSet, field: &ManagedField) -> Option<Time> {
    let untold = |it: Managed<'_>| it.time.is_none() || it.manager == "ancient-changes";
    match set.metadata.managers_of(field).any(untold) {
        true => None,
        false => set.metadata.last_change(field),
    }
}

/// Prefix of the names of KEDA's autoscalers, unless KEDA is told another name.
const KEDA_AUTOSCALER: &str = "keda-hpa-";
/// Managers of `spec.replicas` that scale by themselves, with the name of the tool.
const MANAGERS: [(&str, &str); 6] = [
    ("keda", "KEDA"),
    ("kube-downscaler", "kube-downscaler"),
    ("py-kube-downscaler", "py-kube-downscaler"),
    ("pykube", "kube-downscaler"),
    ("kube-green", "kube-green"),
    ("sablier", "Sablier"),
];

/// A controller or tool that sets the number of replicas of a set by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scaler {
    /// A `HorizontalPodAutoscaler`; KEDA's, if its name says so.
    Autoscaler {
        /// The autoscaler.
        object: ObjectRef,
        /// Whether the autoscaler is one of KEDA's.
        of_keda: bool,
    },
    /// A tool that has set `spec.replicas`, by the managers of the field.
    Manager(&'static str),
    /// A downscaler, by the annotations of the set.
    Downscaler,
}

impl fmt::Display for Scaler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Autoscaler { object, of_keda: true } => write!(f, "KEDA ({object})"),
            Self::Autoscaler { object, of_keda: false } => write!(f, "{object}"),
            Self::Manager(tool) => f.write_str(tool),
            Self::Downscaler => f.write_str("a downscaler (annotation downscaler/…)"),
        }
    }
}

/// Returns what scales a set by itself, as far as the set and autoscalers show it.
///
/// # Errors
/// When autoscalers of its namespace were not read, and nothing else shows a scaler.
pub fn scalers(cx: &Cx, set: &StatefulSet) -> Seen<Vec<Scaler>> {
    let mut found = Vec::new();
    if set.metadata.is_scheduled_by_downscaler() {
        found.push(Scaler::Downscaler);
    }
    for manager in set.metadata.managers_of(&ManagedField::Replicas) {
        let of = |name: &str| {
            manager
                .manager
                .strip_prefix(name)
                .is_some_and(|it| it.is_empty() || !it.starts_with(char::is_alphanumeric))
        };
        let tool = MANAGERS.iter().find(|(name, _)| of(name)).map(|(_, tool)| *tool);
        found.extend(tool.map(Scaler::Manager).filter(|it| !found.contains(it)));
    }
    let autoscalers = match cx.autoscalers_of(&set.namespace, &set.metadata.name) {
        Ok(autoscalers) => autoscalers,
        Err(unseen) if found.is_empty() => return Err(unseen),
        Err(_) => Vec::new(),
    };
    let autoscaler = |name: &str| Scaler::Autoscaler {
        object: ObjectRef {
            key: ObjectKey {
                kind: Kind::HorizontalPodAutoscaler,
                namespace: Some(Text::clone(&set.namespace)),
                name: name.into(),
            },
            uid: None,
        },
        of_keda: name.starts_with(KEDA_AUTOSCALER),
    };
    let listed = autoscalers.iter().map(|it| autoscaler(&it.name));
    Ok(listed.chain(found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_double_until_they_are_large() {
        let range = Ordinals::new(3, Some(5000));
        for (ordinal, end) in [
            (3, 4),
            (4, 6),
            (5, 6),
            (6, 10),
            (9, 10),
            (10, 18),
            (513, 514),
            (514, 1014),
            (1014, 1514),
        ] {
            assert_eq!(range.end_of_batch(ordinal), end, "{ordinal}");
        }
    }

    #[test]
    fn a_range_begins_at_its_start_and_is_as_long_as_its_replicas() {
        for (start, replicas, inside, outside, shown) in [
            (0, Some(3), vec![0, 1, 2], vec![3, -1, i32::MAX], "[0, 2]"),
            (3, Some(2), vec![3, 4], vec![0, 2, 5], "[3, 4]"),
            (0, None, vec![0], vec![1], "[0, 0]"),
            (7, None, vec![7], vec![0, 6, 8], "[7, 7]"),
            (0, Some(0), vec![], vec![0, 1, -1], "none"),
            (4, Some(0), vec![], vec![3, 4, 5], "none"),
            (0, Some(-2), vec![], vec![0, -1, -2], "none"),
            (-2, Some(3), vec![-2, -1, 0], vec![1], "[-2, 0]"),
            (i32::MAX, Some(i32::MAX), vec![i32::MAX], vec![0], "[2147483647, 4294967293]"),
            (i32::MIN, Some(i32::MIN), vec![], vec![i32::MIN, 0], "none"),
        ] {
            let range = Ordinals::new(start, replicas);
            assert_eq!(range.to_string(), shown);
            assert!(inside.iter().all(|it| range.contains(*it)), "{range} of {inside:?}");
            assert!(!outside.iter().any(|it| range.contains(*it)), "{range} of {outside:?}");
        }
    }
}

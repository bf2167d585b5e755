//! State of the claims of `StatefulSet`s, and effects of operations on them, for `retention`.

mod effects;

use std::collections::BTreeSet;

pub use effects::{ClaimFate, SimulatedEffect, simulated};

use super::{Rule, explain, find, judge_with};
use crate::cluster::{Cx, Seen, Subject, Unseen};
use crate::facts::{
    self,
    retention::{
        self, ClaimPod, Operation, OwnerAgreement, Prediction, Propagation, ReferenceUpdate,
        Scaler, SetSituation,
    },
};
use crate::model::{Age, Claim, OwnerReference, PodUse, StatefulSet, Text, Volume};

/// A set and its claims.
#[derive(Debug)]
pub struct SetRetention<'a> {
    /// The set.
    pub set: &'a StatefulSet,
    /// The autoscalers and tools that set its number of replicas.
    pub scalers: Vec<Scaler>,
    /// The tool or owner that keeps the set as it is declared elsewhere.
    pub keeper: Option<String>,
    /// The claims of the set, by template and ordinal.
    pub claims: Vec<ClaimRetention<'a>>,
}

/// A claim of a set.
#[derive(Debug)]
pub struct ClaimRetention<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The name of its template.
    pub template: &'a Text,
    /// Its ordinal.
    pub ordinal: i32,
    /// The state of the claim in its set.
    pub place: ClaimPlace,
    /// The pod of its ordinal, if that belongs to the set.
    pub pod: Option<&'a PodUse>,
    /// Whether another set creates claims of the same name.
    pub contested: bool,
    /// The difference between its owner references and those that the policy requires.
    pub owners: OwnerAgreement<'a>,
    /// The least time for which the claim has been a leftover; unknown for others.
    pub age: Age,
    /// Its volume.
    pub volume: Option<&'a Volume>,
    /// The effect on it if the set is deleted.
    pub if_deleted: ClaimFate,
    /// The effect on it if the set is scaled to zero.
    pub if_scaled: ClaimFate,
}

/// State of a claim in its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimPlace {
    /// The ordinal is in range.
    InRange,
    /// The ordinal is out of range, and the claim has no pod.
    Leftover,
    /// The ordinal is out of range, and the pod of the claim is about to be deleted.
    Condemned,
    /// The claim is Terminating.
    Terminating,
}

impl ClaimPlace {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InRange => "in-range",
            Self::Leftover => "leftover",
            Self::Condemned => "condemned",
            Self::Terminating => "terminating",
        }
    }
}

/// Result of the comparison of a claim's owner references with the policy, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgreementWord {
    /// The owner references are as the policy requires.
    Matches,
    /// The controller is about to change the owner references.
    Pending,
    /// A reference deletes the claim although the policy retains it, or is to an earlier owner.
    Contradicts,
    /// A reference that the policy requires is missing, and the controller adds none.
    Missing,
    /// Another controller manages the claim.
    ForeignController,
    /// The policy required its deletion when its pod was scaled away.
    Outlived,
}

impl AgreementWord {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Pending => "pending",
            Self::Contradicts => "contradicts",
            Self::Missing => "missing",
            Self::ForeignController => "foreign-controller",
            Self::Outlived => "outlived",
        }
    }

    /// Whether the claim will not be treated as the policy requires.
    pub const fn is_contradiction(self) -> bool {
        match self {
            Self::Matches | Self::Pending => false,
            Self::Contradicts | Self::Missing | Self::ForeignController | Self::Outlived => true,
        }
    }
}

impl ClaimRetention<'_> {
    /// Compares the owner references with the policy.
    pub fn agreement(&self) -> AgreementWord {
        let owners = &self.owners;
        if self.place == ClaimPlace::Terminating {
            return AgreementWord::Matches;
        }
        let written = matches!(owners.next, ReferenceUpdate::Writes(_));
        if !owners.surplus.is_empty() {
            return AgreementWord::Contradicts;
        }
        if owners.foreign.is_some() {
            return AgreementWord::ForeignController;
        }
        match (written, owners.outlived, owners.missing.set || owners.missing.pod) {
            (true, ..) => AgreementWord::Pending,
            (_, true, _) => AgreementWord::Outlived,
            (.., true) => AgreementWord::Missing,
            _ => AgreementWord::Matches,
        }
    }

    /// Returns the reason for the agreement, in a sentence without a full stop.
    pub fn agreement_reason(&self) -> String {
        match self.agreement() {
            AgreementWord::Outlived => {
                "out of range and without a pod, although whenScaled is Delete: no controller deletes it".to_owned()
            }
            AgreementWord::Missing => {
                "lacks the owner reference that whenDeleted Delete requires: it remains when the set is deleted".to_owned()
            }
            AgreementWord::Matches
            | AgreementWord::Pending
            | AgreementWord::Contradicts
            | AgreementWord::ForeignController => explain::describe_update(&self.owners.next),
        }
    }
}

/// Returns a set with the state of its claims; adds what was not read to `unseen`.
///
/// # Errors
/// When its claims or pods were not read.
pub fn of_set<'a>(
    cx: &Cx<'a>,
    set: &'a StatefulSet,
    unseen: &mut BTreeSet<Unseen>,
) -> Seen<SetRetention<'a>> {
    let situation = SetSituation::of(cx, set)?;
    let deleted = predictions(&situation, &Operation::DeleteSet(Propagation::Background));
    let scaled = predictions(&situation, &Operation::Scale(0));
    let mut claims = Vec::new();
    for (deleted, scaled) in deleted.iter().zip(&scaled) {
        let stem = format!("{}-{}", deleted.template, set.metadata.name);
        let found = cx.sibling(&set.namespace, &stem, deleted.ordinal)?;
        let Some(claim) = found else { continue };
        let volume = volume_of(cx, claim, unseen);
        let membership = retention::membership(cx, claim)?;
        let Some(member) = membership.decided else { continue };
        let pod = member.pod(cx)?;
        let name = member.pod_name();
        let podless = member.pod_state(&name, pod) == ClaimPod::Podless;
        let place = match (claim.metadata.deleting, member.is_wanted(), podless) {
            (Some(_), ..) => ClaimPlace::Terminating,
            (None, true, _) => ClaimPlace::InRange,
            (None, false, true) => ClaimPlace::Leftover,
            (None, false, false) => ClaimPlace::Condemned,
        };
        claims.push(ClaimRetention {
            claim,
            template: member.template,
            ordinal: member.ordinal,
            place,
            pod,
            contested: membership.pairs.len() > 1,
            owners: retention::owner_agreement(cx, claim, &member)?,
            age: match place {
                ClaimPlace::Leftover => retention::leftover_age(cx, claim, &member)?,
                ClaimPlace::InRange | ClaimPlace::Condemned | ClaimPlace::Terminating => {
                    Age::UNKNOWN
                }
            },
            volume,
            if_deleted: ClaimFate::of(cx, claim, deleted),
            if_scaled: ClaimFate::of(cx, claim, scaled),
        });
    }
    let scalers = retention::scalers(cx, set).unwrap_or_else(|lost| {
        unseen.insert(lost);
        Vec::new()
    });
    Ok(SetRetention { set, scalers, keeper: facts::keeper(&set.metadata), claims })
}

fn predictions(situation: &SetSituation, operation: &Operation) -> Vec<Prediction> {
    retention::simulate(situation, operation)
}

/// Returns the volume of a claim; one that was not read is noted.
fn volume_of<'a>(cx: &Cx<'a>, claim: &Claim, unseen: &mut BTreeSet<Unseen>) -> Option<&'a Volume> {
    match cx.volume(claim.volume_name.as_deref()?) {
        Ok(volume) => volume,
        Err(lost) => {
            unseen.insert(lost);
            None
        }
    }
}

/// A claim that looks like one of a set, but is not certainly a claim of any: of a deleted set, of a template that a
/// set does not have any more, with an ambiguous name, or of a set of another API group.
#[derive(Debug)]
pub struct OtherClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The reason why the claim belongs to no set.
    pub reason: OtherReason,
    /// The reason in one sentence, without a full stop.
    pub summary: String,
}

/// Reason why a claim that looks like one of a set is not shown with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OtherReason {
    /// The name matches templates of several sets (F68).
    Ambiguous,
    /// The set has no such template any more (F70).
    OldTemplate,
    /// The set seems to be deleted (F63).
    DeletedSet,
    /// The claim belongs to a set of another API group, which the `StatefulSet` controller does not manage.
    Unmanaged,
}

impl OtherReason {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::OldTemplate => "old-template",
            Self::DeletedSet => "deleted-set",
            Self::Unmanaged => "unmanaged",
        }
    }
}

/// The rules that find such claims.
const TOLD_BY: [(&str, OtherReason); 3] = [
    ("sts-ambiguous-claim-name", OtherReason::Ambiguous),
    ("sts-template-drift", OtherReason::OldTemplate),
    ("sts-deleted-leftover", OtherReason::DeletedSet),
];

/// Returns a claim that looks like one of a set, but is not certainly a claim of any; `None` for all others.
///
/// # Errors
/// When sets or pods of its namespace were not read.
pub fn others<'a>(
    cx: &Cx<'a>,
    subject: &Subject,
    claim: &'a Claim,
) -> Seen<Option<OtherClaim<'a>>> {
    if retention::membership(cx, claim)?.decided.is_some() {
        return Ok(None);
    }
    if let Some(owner) = unmanaged(cx, claim)? {
        let summary = format!(
            "of {} {} ({}): kube-controller-manager applies no retention policy to it",
            owner.kind, owner.name, owner.api_version
        );
        return Ok(Some(OtherClaim { claim, reason: OtherReason::Unmanaged, summary }));
    }
    for (id, reason) in TOLD_BY {
        let rule: &Rule = find(id).expect("because a test holds that it is a rule");
        let judged = judge_with(cx, subject, rule);
        if let Some(unseen) = judged.unseen {
            return Err(unseen);
        }
        if let Some(finding) = judged.finding {
            return Ok(Some(OtherClaim { claim, reason, summary: finding.summary }));
        }
    }
    Ok(None)
}

/// Returns the set of another API group to which a claim belongs: its owner, or the controller of a pod that uses it.
fn unmanaged(cx: &Cx, claim: &Claim) -> Seen<Option<OwnerReference>> {
    let is_other = |it: &&OwnerReference| {
        it.kind.ends_with("StatefulSet") && !it.api_version.starts_with("apps/")
    };
    if let Some(owner) = claim.metadata.owners.iter().find(is_other) {
        return Ok(Some(owner.clone()));
    }
    let pods = cx.pods_of(&claim.key())?;
    let controllers = pods.iter().filter_map(|pod| pod.controller.as_deref());
    Ok(controllers.into_iter().find(is_other).cloned())
}

#[cfg(test)]
mod tests;

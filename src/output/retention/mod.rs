//! The public shape of the output of `retention`, filled from what was judged, and its text for people.

mod rows;
mod screen;
pub mod simulation;

pub(crate) use rows::print as print_rows;
pub(crate) use screen::print as print_screen;
use serde::{Deserialize, Serialize};

use super::{
    publish::{age, reference},
    wire::{Age, Evidence, Finding, Gap, ObjectReference, ReportMetadata},
};
use crate::{
    facts::retention::{Ordinals, WantedOwners, is_paused},
    model::{
        Claim, Kind, ManagedField, Metadata, ObjectRef, StatefulSet, Time, format_bytes,
        format_time,
    },
    rules::retention::{
        ClaimFate, ClaimPlace, ClaimRetention, OtherClaim, OtherReason, SetRetention,
    },
};

/// What `retention` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionReport {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `RetentionReport`.
    pub kind: String,
    /// When, of what, by which version and with which thresholds.
    pub metadata: ReportMetadata,
    /// The claims added up.
    pub summary: RetentionSummary,
    /// The StatefulSets with claim templates, or those that were named.
    pub sets: Vec<RetentionSet>,
    /// Claims that look like those of a StatefulSet, and that none certainly has.
    pub others: Vec<RetentionOther>,
    /// What was not read.
    pub gaps: Vec<Gap>,
}

/// The claims added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionSummary {
    /// StatefulSets that are shown.
    pub sets: usize,
    /// StatefulSets without claim templates, which are not shown.
    pub sets_without_templates: usize,
    /// The claims of these sets.
    pub claims: ClaimTotals,
    /// Those whose owner references contradict the retention policy.
    pub contradicting: ClaimTotals,
    /// Those that scale-downs left behind.
    pub leftovers: ClaimTotals,
    /// Those of sets that are paused with 0 replicas.
    pub paused: ClaimTotals,
    /// Sets that are paused with 0 replicas.
    pub paused_sets: usize,
    /// Those that deleted sets seem to have left, or that belong to earlier templates.
    pub of_deleted_sets: ClaimTotals,
    /// Those of sets of other API groups.
    pub unmanaged: ClaimTotals,
    /// Those whose names match templates of several sets.
    pub ambiguous: ClaimTotals,
}

/// How many claims, and how large they are together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClaimTotals {
    /// How many.
    pub count: usize,
    /// Their capacity, or what they request where they have none.
    pub size: String,
    /// The same in bytes.
    pub bytes: u64,
}

/// A `StatefulSet` and its claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionSet {
    /// The set.
    pub object: ObjectReference,
    /// `running`, `paused` (0 replicas, and whenScaled retains claims) or `terminating`.
    pub state: String,
    /// `spec.replicas`.
    pub replicas: i32,
    /// The ordinals in range, such as `[0, 2]`; `none` with 0 replicas.
    pub ordinals: String,
    /// The names of its claim templates.
    pub templates: Vec<String>,
    /// Its retention policy; absent if the server does not know or has dropped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<RetentionPolicyShown>,
    /// Whether its controller has observed its last change.
    pub observed: bool,
    /// What sets its number of replicas by itself.
    pub scaled_by: Vec<String>,
    /// Who keeps it as it is written down elsewhere, and may revert changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
    /// What proves it.
    pub evidence: Vec<Evidence>,
    /// The findings about the set itself.
    pub findings: Vec<Finding>,
    /// Its claims, by template and ordinal.
    pub claims: Vec<RetentionClaim>,
}

/// `spec.persistentVolumeClaimRetentionPolicy`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionPolicyShown {
    /// `whenDeleted`.
    pub when_deleted: String,
    /// `whenScaled`.
    pub when_scaled: String,
}

/// A claim of a `StatefulSet`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionClaim {
    /// The claim.
    pub object: ObjectReference,
    /// The name of its template.
    pub template: String,
    /// Its ordinal.
    pub ordinal: i32,
    /// `in-range`, `leftover`, `condemned` (its pod is about to be deleted) or `terminating`.
    pub place: String,
    /// The pod of its ordinal, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// For how long at least it has been a leftover; only of leftovers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Age>,
    /// Its capacity, or what it requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Its volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The reclaim policy of its volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaim_policy: Option<String>,
    /// Its owner references, in their order.
    pub owners: Vec<RetentionOwner>,
    /// The kinds of owners that the policy requires: `StatefulSet`, `Pod`, or none.
    pub should_be_owned_by: Vec<String>,
    /// `matches`, `pending` (the controller is about to change the references), `contradicts` (a
    /// reference deletes it although the policy retains it), `missing`, `foreign-controller` or
    /// `outlived` (the policy required its deletion).
    pub agreement: String,
    /// Why: one sentence.
    pub because: String,
    /// Whether another set creates claims of the same name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contested: bool,
    /// The effect on it if the set is deleted.
    pub if_set_deleted: Effect,
    /// The effect on it if the set is scaled to zero.
    pub if_scaled_to_zero: Effect,
    /// What proves it.
    pub evidence: Vec<Evidence>,
    /// Its findings about retention, as `audit` reports them.
    pub findings: Vec<Finding>,
    /// Its size in bytes, to add up.
    #[serde(skip)]
    pub(super) bytes: u64,
}

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionOwner {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `name`.
    pub name: String,
    /// `uid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// `controller`.
    pub controller: bool,
    /// Why it should not exist: `set-retains`, `pod-retains`, `earlier-set` or `earlier-pod`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surplus: Option<String>,
}

/// The effect of an operation on a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// `kept`, `deleted`, `recreated` (deleted, and an empty claim of its name is created) or
    /// `unknown`.
    pub claim: String,
    /// The effect on the data, if the claim is or may be deleted and has a volume, as in
    /// explanations: `destroyed`, `released`, `leaked`…
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Why: one sentence each about the claim and the data.
    pub because: Vec<String>,
    /// The owners that it has then, if it is kept, as `KIND NAME`.
    pub owners: Vec<String>,
    /// What blocks its deletion.
    pub waits_for: Vec<String>,
}

/// A claim that looks like one of a `StatefulSet`, and that none certainly has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionOther {
    /// The claim.
    pub object: ObjectReference,
    /// `deleted-set`, `old-template`, `ambiguous` or `unmanaged`.
    pub reason: String,
    /// One sentence.
    pub summary: String,
    /// Its capacity, or what it requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

impl Effect {
    /// Returns the effect in one word: of the claim, or of its data if these are not kept.
    pub(super) fn word(&self) -> &str {
        match (&*self.claim, &self.data) {
            ("deleted" | "recreated", Some(data)) => data,
            (claim, _) => claim,
        }
    }
}

/// Sums of claims, added up while sets are shown.
#[derive(Debug, Default)]
pub(crate) struct RetentionTotals {
    summary: RetentionSummary,
}

impl RetentionTotals {
    /// Counts a set without claim templates.
    pub(crate) fn skip(&mut self) {
        self.summary.sets_without_templates += 1;
    }

    /// Counts a set and its claims.
    pub(crate) fn set(&mut self, set: &SetRetention) {
        let summary = &mut self.summary;
        summary.sets += 1;
        let paused = is_paused(set.set);
        summary.paused_sets += usize::from(paused);
        for it in &set.claims {
            add(&mut summary.claims, it.claim);
            if it.agreement().is_contradiction() {
                add(&mut summary.contradicting, it.claim);
            }
            match (it.place, paused) {
                (ClaimPlace::Leftover, true) => add(&mut summary.paused, it.claim),
                (ClaimPlace::Leftover, false) => add(&mut summary.leftovers, it.claim),
                (ClaimPlace::InRange | ClaimPlace::Condemned | ClaimPlace::Terminating, _) => {}
            }
        }
    }

    /// Counts a claim of no set.
    pub(crate) fn other(&mut self, other: &OtherClaim) {
        let totals = match other.reason {
            OtherReason::Ambiguous => &mut self.summary.ambiguous,
            OtherReason::OldTemplate | OtherReason::DeletedSet => &mut self.summary.of_deleted_sets,
            OtherReason::Unmanaged => &mut self.summary.unmanaged,
        };
        add(totals, other.claim);
    }

    /// Returns the sums.
    pub(crate) fn finish(mut self) -> RetentionSummary {
        let summary = &mut self.summary;
        for totals in [
            &mut summary.claims,
            &mut summary.contradicting,
            &mut summary.leftovers,
            &mut summary.paused,
            &mut summary.of_deleted_sets,
            &mut summary.unmanaged,
            &mut summary.ambiguous,
        ] {
            totals.size = format_bytes(totals.bytes);
        }
        self.summary
    }
}

fn add(totals: &mut ClaimTotals, claim: &Claim) {
    totals.count += 1;
    totals.bytes = totals.bytes.saturating_add(claim.capacity.or(claim.requested).unwrap_or(0));
}

/// Puts a set into its public shape, with the findings about it and about each of its claims.
pub(crate) fn set(
    shown: &SetRetention,
    now: Option<Time>,
    findings: Vec<Finding>,
    of_claim: impl Fn(&ClaimRetention) -> Vec<Finding>,
) -> RetentionSet {
    let set = shown.set;
    RetentionSet {
        object: reference(&set.object()),
        state: state(set).to_owned(),
        replicas: set.replicas.unwrap_or(1),
        ordinals: Ordinals::of(set).to_string(),
        templates: set.templates.iter().map(|it| it.name.to_string()).collect(),
        policy: set.retention.as_ref().map(|policy| RetentionPolicyShown {
            when_deleted: policy.when_deleted.to_string(),
            when_scaled: policy.when_scaled.to_string(),
        }),
        observed: set.observed_generation >= set.generation,
        scaled_by: shown.scalers.iter().map(ToString::to_string).collect(),
        kept_by: shown.keeper.clone(),
        evidence: evidence(
            &set.object(),
            &set.metadata,
            &[
                ("f:persistentVolumeClaimRetentionPolicy", ManagedField::RetentionPolicy),
                ("f:replicas", ManagedField::Replicas),
                ("f:ordinals", ManagedField::Ordinals),
            ],
        ),
        findings,
        claims: shown.claims.iter().map(|it| claim(it, now, of_claim(it))).collect(),
    }
}

/// Returns the state of a set in a word.
fn state(set: &StatefulSet) -> &'static str {
    match set.metadata.deleting {
        Some(_) => "terminating",
        None if is_paused(set) => "paused",
        None => "running",
    }
}

/// Returns the managers of some fields, with their times.
fn evidence(
    object: &ObjectRef,
    metadata: &Metadata,
    fields: &[(&str, ManagedField)],
) -> Vec<Evidence> {
    let of_field = |(name, field): &(&str, ManagedField)| {
        let managers: Vec<_> = metadata
            .managers_of(field)
            .map(|it| match it.time {
                Some(time) => format!("{} at {}", it.manager, format_time(&time)),
                None => it.manager.to_owned(),
            })
            .collect();
        (!managers.is_empty()).then(|| Evidence {
            object: object.to_string(),
            field: format!("metadata.managedFields of {name}"),
            value: managers.join(", "),
        })
    };
    fields.iter().filter_map(of_field).collect()
}

/// Puts a claim into its public shape.
fn claim(shown: &ClaimRetention, now: Option<Time>, findings: Vec<Finding>) -> RetentionClaim {
    let row = shown.claim;
    let object = row.object();
    let owner = |it: &crate::model::OwnerReference| RetentionOwner {
        api_version: it.api_version.to_string(),
        kind: it.kind.to_string(),
        name: it.name.to_string(),
        uid: it.uid.as_ref().map(ToString::to_string),
        controller: it.controller,
        surplus: shown
            .owners
            .surplus
            .iter()
            .find(|(surplus, _)| *surplus == it)
            .map(|(_, why)| why.name().to_owned()),
    };
    let mut proof =
        evidence(&object, &row.metadata, &[("f:ownerReferences", ManagedField::OwnerReferences)]);
    proof.extend(row.condition("Unused").and_then(|it| it.since).map(|since| Evidence {
        object: object.to_string(),
        field: "status.conditions[Unused].lastTransitionTime".to_owned(),
        value: format_time(&since),
    }));
    RetentionClaim {
        template: shown.template.to_string(),
        ordinal: shown.ordinal,
        place: shown.place.name().to_owned(),
        pod: shown.pod.map(|pod| pod.name.to_string()),
        age: (shown.place == ClaimPlace::Leftover).then(|| age(shown.age, now)),
        size: size(row),
        volume: row.volume_name.as_deref().map(str::to_owned),
        reclaim_policy: shown.volume.map(|it| it.reclaim_policy.to_string()),
        owners: row.metadata.owners.iter().map(owner).collect(),
        should_be_owned_by: should(shown.owners.wanted),
        agreement: shown.agreement().name().to_owned(),
        because: shown.agreement_reason(),
        contested: shown.contested,
        if_set_deleted: effect(&shown.if_deleted),
        if_scaled_to_zero: effect(&shown.if_scaled),
        evidence: proof,
        findings,
        bytes: row.capacity.or(row.requested).unwrap_or(0),
        object: reference(&object),
    }
}

fn should(wanted: WantedOwners) -> Vec<String> {
    let kinds = [(wanted.set, Kind::StatefulSet), (wanted.pod, Kind::Pod)];
    kinds.into_iter().filter(|(wanted, _)| *wanted).map(|it| it.1.name().to_owned()).collect()
}

fn effect(fate: &ClaimFate) -> Effect {
    let data = fate.data.as_ref();
    let mut because = vec![fate.because.clone()];
    because.extend(data.map(|it| it.because.clone()));
    Effect {
        claim: fate.claim.name().to_owned(),
        data: data.map(|it| it.data.name().to_owned()),
        because,
        owners: fate.owners.iter().map(|it| format!("{} {}", it.kind, it.name)).collect(),
        waits_for: fate.held_by.clone(),
    }
}

fn size(claim: &Claim) -> Option<String> {
    claim.capacity.or(claim.requested).map(format_bytes)
}

/// Puts a claim of no set into its public shape.
pub(crate) fn other(shown: &OtherClaim) -> RetentionOther {
    RetentionOther {
        object: reference(&shown.claim.object()),
        reason: shown.reason.name().to_owned(),
        summary: shown.summary.clone(),
        size: size(shown.claim),
    }
}

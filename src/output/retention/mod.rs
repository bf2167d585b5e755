//! The public shape of what `retention` shows, and its text for people.

mod groups;
mod publish;
mod rows;
mod screen;
pub mod simulation;

use serde::{Deserialize, Serialize};

pub(crate) use self::publish::{RetentionTotals, other, set};
pub(crate) use self::rows::print as print_rows;
pub(crate) use self::screen::print as print_screen;
use super::wire::{Age, Evidence, Finding, Gap, ObjectReference, ReportMetadata};

/// What `retention` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimTotals {
    /// How many.
    pub count: usize,
    /// Their capacity, or what they request where they have none.
    pub size: String,
    /// The same in bytes.
    pub bytes: u64,
}

/// A `StatefulSet` and its claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RetentionPolicyShown {
    /// `whenDeleted`.
    pub when_deleted: String,
    /// `whenScaled`.
    pub when_scaled: String,
}

/// A claim of a `StatefulSet`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The effect in one word: of the claim, or of its data if these are not kept.
    pub(super) fn word(&self) -> &str {
        match (&*self.claim, &self.data) {
            ("deleted" | "recreated", Some(data)) => data,
            (claim, _) => claim,
        }
    }
}

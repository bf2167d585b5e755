//! Document `kind: Plan`: the changes of a plan, as they are shown, saved and read back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::step::{PlannedStep, steps};
use crate::{
    cluster::Cluster,
    facts::BlockingFinalizer,
    model::{Action, Loss, ObjectRef, Time, Undo, format_bytes, format_time},
    output::{
        publish::{age, cluster_identity, reference, tool, volume},
        repeated::RepeatedFlags,
        wire::{API_VERSION, Age, ClusterIdentity, ObjectReference, Tool, Volume, is_zero},
    },
    plan as inner,
    plan::{ObjectDetails, Purpose},
};

/// What would be changed, and what would not, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `Plan`.
    pub kind: String,
    /// For which command, when, for which cluster, under which settings.
    pub metadata: PlanMetadata,
    /// The changes added up.
    pub summary: PlanSummary,
    /// What would be changed, in this order.
    pub changes: Vec<PlannedChange>,
    /// What would not be, although it was named or selected.
    pub refusals: Vec<RefusedChange>,
}

/// Plans for several clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanList {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `PlanList`.
    pub kind: String,
    /// The plan for each, in the order in which they were named.
    pub items: Vec<PlanOfCluster>,
}

/// The plan for one of several clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanOfCluster {
    /// What the user calls the cluster.
    pub cluster: String,
    /// The plan.
    #[serde(flatten)]
    pub plan: Plan,
}

impl PlanList {
    /// Returns a list of these.
    pub fn of(items: Vec<PlanOfCluster>) -> Self {
        Self { api_version: API_VERSION.to_owned(), kind: "PlanList".to_owned(), items }
    }
}

/// For which command, when, for which cluster, under which settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanMetadata {
    /// The command that made it.
    pub command: String,
    /// When, by the server's clock; absent when a dump does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
    /// The cluster. Only there can it be carried out.
    pub cluster: ClusterIdentity,
    /// The tool.
    pub tool: Tool,
    /// What it was judged under; cannot be changed when it is carried out.
    pub settings: SavedSettings,
    /// Over everything else in this file: one that was edited is not carried out.
    pub digest: String,
}

/// What a plan was judged under.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedSettings {
    /// Every duration that ages were compared with.
    pub thresholds: BTreeMap<String, String>,
    /// Drivers that the user declared absent.
    pub driver_absent: Vec<String>,
    /// Provisioners that the user declared to be at work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provisioner_alive: Vec<String>,
    /// Drivers whose external-resizer the user declared to be at work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resizer_alive: Vec<String>,
    /// `--include-unknown-age`.
    pub include_unknown_age: bool,
    /// `--include-recreated`.
    pub include_recreated: bool,
    /// `--backend-verified`.
    pub backend_verified: bool,
    /// `--backend-exclusive`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backend_exclusive: Vec<String>,
    /// `--beside`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// `--all-clusters`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_clusters: bool,
    /// `--include-wanted`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_wanted: bool,
    /// `--destroy-snapshots`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destroy_snapshots: bool,
    /// `--destroy-data`.
    pub destroy_data: bool,
    /// `--accept-leak`.
    pub accept_leak: bool,
    /// `--rolled-back`.
    pub rolled_back: bool,
    /// `--reclaim`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reclaim: bool,
    /// `--keep-data`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_data: bool,
    /// `--delete-leftovers`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_leftovers: bool,
    /// `--replicas-zero`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replicas_zero: bool,
    /// `--add-owners`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub add_owners: bool,
    /// `--no-other-users`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_other_users: bool,
    /// `--snapshot-first`: the end of the names of the snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_first: Option<String>,
    /// `--snapshot-class`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_class: Option<String>,
    /// `--owner-kind-gone`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owner_kind_gone: bool,
    /// `--remove-finalizer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove_finalizer: Option<String>,
    /// `--secret`, or empty for `--no-secret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// `--record-namespace`.
    pub record_namespace: String,
    /// `--journal-only`.
    pub journal_only: bool,
}

/// The changes added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanSummary {
    /// How many objects would be changed.
    pub changes: usize,
    /// How many vetoes would be recorded, of volumes that stay as they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub vetoes: usize,
    /// How many would not be, although they were named or selected.
    pub refusals: usize,
    /// The capacity of all volumes that would be changed.
    pub capacity: String,
    /// What would be destroyed, or may be: with objects that have no size as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loses: Option<PlannedLoss>,
}

/// What a plan destroys, or may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedLoss {
    /// How many volumes lose their data.
    pub volumes: usize,
    /// How many snapshots at the storage backend go, beside those that go with a volume.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub snapshots: usize,
    /// The capacity of these volumes, as far as it is known.
    pub capacity: String,
    /// The same in words: `data of 2 volumes destroyed`.
    pub words: String,
}

impl PlannedLoss {
    fn of(loses: Loss) -> Option<Self> {
        let words = format!("{} {}", loses.words()?, loses.becomes());
        let Loss { volumes, snapshots, bytes, .. } = loses;
        Some(Self { volumes, snapshots, capacity: format_bytes(bytes), words })
    }
}

/// What would be done to one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedChange {
    /// The object.
    pub object: ObjectReference,
    /// The remedy.
    pub because: String,
    /// Since when it has been in its state: Terminating, or in its phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Age>,
    /// Whether it is Terminating: then `age` counts from the request to delete it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminating: bool,
    /// What tells it apart from other volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// What it names at the storage backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendVolume>,
    /// Who holds it by a finalizer, where that is what the change is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldFinalizer>,
    /// The claim to which a volume is given, where that is not the one that it was bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<ObjectReference>,
    /// The retention policy that a StatefulSet is to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PlannedRetention>,
    /// The size that is requested for a claim, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<u64>,
    /// What is written, in this order.
    pub steps: Vec<PlannedStep>,
    /// What that does.
    pub effect: String,
    /// What becomes of data: `destroyed`, `at-risk` or `kept`; absent where others decide that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// What is lost if the judgement is wrong.
    pub risk: String,
    /// How it is undone, or why it cannot be.
    pub undo: String,
    /// Things to know that are no reason to refuse.
    pub notices: Vec<String>,
    /// The danger flags without which it would have been refused.
    pub relies_on: Vec<String>,
}

/// A finalizer, and who should remove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeldFinalizer {
    /// The finalizer.
    pub finalizer: String,
    /// Who should remove it.
    pub by: String,
    /// `alive`, `absent` or `unknown`.
    pub state: String,
    /// Why that is so.
    pub because: String,
    /// Every probe that was made for them, and what it showed.
    pub probes: Vec<String>,
    /// Who set it, by `managedFields`.
    pub managers: Vec<String>,
}

/// A volume at the storage backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BackendVolume {
    /// The CSI driver, or the kind of source.
    pub driver: String,
    /// The volume handle.
    pub handle: String,
}

/// An object of which nothing is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RefusedChange {
    /// The object.
    pub object: ObjectReference,
    /// The remedy that was asked for.
    pub id: String,
    /// Why it is refused.
    pub reason: String,
    /// Whether something was not seen that the decision needs.
    pub unseen: bool,
    /// What tells it apart from other volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// Who holds it by a finalizer, where that is what it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldFinalizer>,
}

/// Puts a plan into its public shape.
pub fn plan(plan: &inner::Plan, cluster: &Cluster) -> Plan {
    let now = plan.made;
    let vetoes = plan.changes.iter().filter(|it| it.only_records()).count();
    let shape = Plan {
        api_version: API_VERSION.to_owned(),
        kind: "Plan".to_owned(),
        metadata: PlanMetadata {
            command: plan.command.to_owned(),
            made_at: now.as_ref().map(format_time),
            cluster: cluster_identity(cluster),
            tool: tool(),
            settings: SavedSettings::of(&plan.settings),
            digest: String::new(),
        },
        summary: PlanSummary {
            changes: plan.changes.len() - vetoes,
            vetoes,
            refusals: plan.refusals.len(),
            capacity: format_bytes(plan.bytes()),
            loses: PlannedLoss::of(plan.changes.iter().map(inner::ProposedChange::loses).sum()),
        },
        changes: plan.changes.iter().map(|it| change(it, now)).collect(),
        refusals: plan.refusals.iter().map(refusal).collect(),
    };
    shape.sealed()
}

impl Plan {
    /// Returns the plan with these flags in all of its commands, to be shown: its digest is that of what was planned.
    pub(super) fn repeating(&self, flags: &RepeatedFlags) -> Self {
        let mut plan = self.clone();
        for change in &mut plan.changes {
            let texts = [&mut change.effect, &mut change.risk, &mut change.undo];
            texts.into_iter().chain(&mut change.notices).for_each(|it| flags.repeat(it));
        }
        plan.refusals.iter_mut().for_each(|it| flags.repeat(&mut it.reason));
        plan
    }

    /// Returns the plan with its digest.
    fn sealed(mut self) -> Self {
        self.metadata.digest = self.digest();
        self
    }

    /// Returns the digest over everything but itself.
    pub(super) fn digest(&self) -> String {
        use std::fmt::Write as _;

        use sha2::{Digest as _, Sha256};
        let mut open = self.clone();
        open.metadata.digest = String::new();
        let text = serde_json::to_vec(&open).unwrap_or_default();
        let mut digest = String::from("sha256:");
        for byte in Sha256::digest(text) {
            let _ = write!(digest, "{byte:02x}");
        }
        digest
    }
}

/// Puts a change into its public shape.
pub fn change(change: &inner::ProposedChange, now: Option<Time>) -> PlannedChange {
    let proposal = &change.proposal;
    PlannedChange {
        object: reference(&change.object),
        because: change.purpose.id().to_owned(),
        age: change.about.age.map(|it| age(it, now)),
        terminating: change.about.terminating,
        volume: change.about.volume.clone().map(volume),
        backend: backend(&change.about),
        held: change.about.held.iter().map(held).collect(),
        to: change.purpose.read_before().map(|key| reference(&ObjectRef { key, uid: None })),
        policy: policy(&change.purpose),
        storage: storage(&change.proposal.steps),
        steps: steps(&proposal.steps),
        effect: proposal.effect.what.clone(),
        data: change.data_fate().map(|it| it.name().to_owned()),
        risk: proposal.effect.risk.clone(),
        undo: undo(proposal.undo),
        notices: proposal.notices.clone(),
        relies_on: proposal.relies_on.iter().map(|it| (*it).to_owned()).collect(),
    }
}

pub(super) fn backend(about: &ObjectDetails) -> Option<BackendVolume> {
    about
        .backend
        .as_ref()
        .map(|it| BackendVolume { driver: it.driver.to_string(), handle: it.handle.to_string() })
}

/// Puts a refusal into its public shape.
pub(super) fn refusal(refused: &inner::RefusedObject) -> RefusedChange {
    RefusedChange {
        object: reference(&refused.object),
        id: refused.because.to_owned(),
        reason: refused.reason.clone(),
        unseen: refused.unseen,
        volume: refused.about.volume.clone().map(volume),
        held: refused.about.held.iter().map(held).collect(),
    }
}

fn held(holder: &BlockingFinalizer) -> HeldFinalizer {
    let state = holder.state.as_ref();
    let because = match state {
        Some(state) => state.because.clone(),
        None => "nothing would show it".to_owned(),
    };
    HeldFinalizer {
        finalizer: holder.finalizer.to_string(),
        by: holder.by.clone(),
        state: holder.liveness().name().to_owned(),
        because,
        probes: state
            .into_iter()
            .flat_map(|it| &it.probes)
            .map(|it| format!("{}: {}", it.what, it.describe()))
            .collect(),
        managers: holder.managers.clone(),
    }
}

pub(super) fn undo(undo: Undo) -> String {
    match undo {
        Undo::Revert => "possible until a controller reacts: `kubectl storage undo`".to_owned(),
        Undo::Recreate => "`kubectl storage undo` creates the object again".to_owned(),
        Undo::Rebind => {
            "`kubectl storage undo` recreates the claim and binds it to its volume".to_owned()
        }
        Undo::Never(why) => format!("no: {why}"),
    }
}

/// The retention policy that a StatefulSet is to have; what is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedRetention {
    /// `whenDeleted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_deleted: Option<String>,
    /// `whenScaled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_scaled: Option<String>,
}

/// Returns the size that a change requests for its claim.
fn storage(steps: &[Action]) -> Option<u64> {
    steps.iter().find_map(|it| match it {
        Action::RequestStorage { to, .. } => Some(*to),
        _ => None,
    })
}

/// Returns the policy that a change gives to its set, as far as it was asked for.
pub(super) fn policy(purpose: &Purpose) -> Option<PlannedRetention> {
    let Purpose::SetRetention(request) = purpose else { return None };
    Some(PlannedRetention {
        when_deleted: request.when_deleted.as_ref().map(ToString::to_string),
        when_scaled: request.when_scaled.as_ref().map(ToString::to_string),
    })
}

//! Documents `kind: GuardStatus` and `kind: GuardChanges`: what a cluster has of the guard, what `guard` writes there,
//! and both as text.
//!
//! Scripts rest on the shapes: fields are added, never renamed.

mod status;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use status::{
    StatusContext, proof, proof_lines, refused, status, status_lines, unknown_label_lines,
};

use super::{
    publish::reference,
    wire::{ObjectReference, Tool},
};
use crate::{
    guard::{Difference, GuardOptions, Step},
    model::{ObjectRef, Uid, escape_control},
};

/// What a cluster has of the guard, and whether it is in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardStatus {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `GuardStatus`.
    pub kind: String,
    /// When, and by which version.
    pub metadata: GuardMetadata,
    /// Whether the cluster has anything of the guard.
    pub installed: bool,
    /// The options with which it was installed; absent where it is not installed, or its objects do
    /// not record them readably.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<GuardRules>,
    /// What `guard install` would write: how the guard differs from what was installed.
    pub differences: Vec<GuardChange>,
    /// What kube-controller-manager says of the types in the expressions.
    pub types: GuardTypes,
    /// What dry runs proved; absent where the guard is not installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<GuardProof>,
    /// What the guard does in which namespaces; absent where they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<GuardNamespaces>,
    /// Why namespaces were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces_unread: Option<String>,
    /// The volumes whose controllers the guard refuses, as Events of the last hour have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<GuardRefused>,
    /// Why Events were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_unread: Option<String>,
    /// What others have that decides about the same requests.
    pub others: GuardOthers,
    /// What the guard does not stop.
    pub not_stopped: Vec<String>,
}

/// What `guard diff`, `guard install` and `guard uninstall` would write, or have written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardChanges {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `GuardChanges`.
    pub kind: String,
    /// Of which command, when, and by which version.
    pub metadata: GuardMetadata,
    /// The options that the guard is to have; absent for `guard uninstall`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<GuardRules>,
    /// The writes, in their order.
    pub changes: Vec<GuardChange>,
    /// What dry runs proved after `guard install`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<GuardProof>,
}

/// Of which command, when, and by which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardMetadata {
    /// The command.
    pub command: String,
    /// When the guard was read, by the server's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<String>,
    /// The tool.
    pub tool: Tool,
    /// `client` or `server` when nothing was really written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<String>,
    /// The file that holds the journal, where something was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
}

/// What an admin chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardRules {
    /// `deny` or `warn`: the rules about volumes, which no namespace limits.
    pub volumes: String,
    /// The group that passes every rule.
    pub break_glass_group: String,
    /// Service accounts that do not pass, as `NAMESPACE/NAME`.
    pub denied_accounts: Vec<String>,
    /// Users that pass.
    pub passed_users: Vec<String>,
}

/// A write of the guard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardChange {
    /// `create`, `change` or `delete`.
    pub action: String,
    /// A policy or a binding.
    pub object: ObjectReference,
    /// The fields that change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<GuardChangeDifference>,
    /// `done`, `refused`, `stale`, `failed` or `unanswered`; absent where it was not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why, where it was not carried out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Its entry in the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
}

/// A field that is not what it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardChangeDifference {
    /// Its path, such as `spec.validationActions`.
    pub field: String,
    /// Its value in the cluster; absent where the field is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Value>,
    /// The value that it should have; absent where the field should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Value>,
}

/// What kube-controller-manager says of the types in the expressions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardTypes {
    /// How many policies it has checked and found to be well typed.
    pub checked: usize,
    /// The policies that it has not checked yet.
    pub waiting: Vec<String>,
    /// Its warnings.
    pub warnings: Vec<GuardTypeWarning>,
}

/// A warning of kube-controller-manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardTypeWarning {
    /// The policy.
    pub policy: String,
    /// The field of the expression, and what is wrong with it.
    pub warning: String,
}

/// What dry runs proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardProof {
    /// Why the guard lets the current user pass; then nothing is proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_passes: Option<String>,
    /// Why it is unknown whether the guard lets the current user pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_unknown: Option<String>,
    /// Every binding for which there is a namespace, or which needs none.
    pub bindings: Vec<GuardBinding>,
}

/// What a dry run proved about a binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardBinding {
    /// The binding.
    pub name: String,
    /// Its policy.
    pub policy: String,
    /// `deny` or `warn`.
    pub mode: String,
    /// `in-force`, `not-in-force` or `unknown`.
    pub state: String,
    /// What the server answered, where that proves nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What the guard does in which namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardNamespaces {
    /// Those in which it refuses.
    pub deny: Vec<String>,
    /// Those in which it does nothing.
    pub off: Vec<String>,
    /// In how many it warns.
    pub warn: usize,
    /// Those whose label it does not know; it warns in them.
    pub unknown: Vec<GuardLabel>,
}

/// A namespace whose label the guard does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardLabel {
    /// The namespace.
    pub name: String,
    /// The value of its label.
    pub value: String,
}

/// A volume whose controller the guard refuses, so that its deletion never ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardRefused {
    /// The volume.
    pub volume: String,
    /// The controller, as it calls itself.
    pub controller: String,
    /// The user as which it acts, if the Event names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// When it was last refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// What others have that decides about the same requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardOthers {
    /// Policies of others that decide about such deletions.
    pub policies: Vec<String>,
    /// Bindings of others that use a policy of the guard.
    pub bindings: Vec<String>,
}

/// Returns the public shape of writes.
pub fn changes(steps: &[Step]) -> Vec<GuardChange> {
    steps.iter().map(change).collect()
}

fn change(step: &Step) -> GuardChange {
    let (action, live, differences) = match step {
        Step::Create(_) => ("create", None, &[][..]),
        Step::Change { live, differences, .. } => ("change", Some(live), &differences[..]),
        Step::Delete { live, .. } => ("delete", Some(live), &[][..]),
    };
    let uid = live.and_then(|it| Uid::parse(it["metadata"]["uid"].as_str()?));
    GuardChange {
        action: action.to_owned(),
        object: reference(&ObjectRef { key: step.key(), uid }),
        differences: differences.iter().map(difference).collect(),
        outcome: None,
        detail: String::new(),
        entry: None,
    }
}

fn difference(Difference { field, live, wanted }: &Difference) -> GuardChangeDifference {
    GuardChangeDifference { field: field.clone(), live: live.clone(), wanted: wanted.clone() }
}

/// Returns the public shape of options.
fn rules(options: &GuardOptions) -> GuardRules {
    let accounts = options.denied_accounts.iter();
    GuardRules {
        volumes: options.volumes.to_string(),
        break_glass_group: options.break_glass.clone(),
        denied_accounts: accounts.map(|(namespace, name)| format!("{namespace}/{name}")).collect(),
        passed_users: options.passed_users.iter().cloned().collect(),
    }
}

/// Writes the differences: one line for each object, and one for each field that changes. All objects record the same
/// options: what was shown of one is not repeated.
pub fn difference_lines(out: &mut dyn Write, steps: &[Step]) -> io::Result<()> {
    let mut shown: Vec<GuardChangeDifference> = Vec::new();
    for step in steps {
        let GuardChange { action, differences, .. } = change(step);
        writeln!(out, "{action}  {}", escape_control(&step.key().to_string()))?;
        for difference in differences {
            let field = escape_control(&difference.field).into_owned();
            if shown.contains(&difference) {
                writeln!(out, "    {field}: as above")?;
                continue;
            }
            shown.push(difference.clone());
            writeln!(out, "    {field}")?;
            let GuardChangeDifference { live, wanted, .. } = difference;
            for (sign, value) in [("-", live), ("+", wanted)] {
                if let Some(value) = value {
                    writeln!(out, "      {sign} {}", escape_control(&plain(&value)))?;
                }
            }
        }
    }
    Ok(())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the line about the outcome of a write.
pub fn ended(step: &Step, change: &GuardChange) -> String {
    let past = match (change.outcome.as_deref(), step) {
        (Some("done"), Step::Create(_)) => "created",
        (Some("done"), Step::Change { .. }) => "changed",
        (Some("done"), Step::Delete { .. }) => "deleted",
        (outcome, _) => outcome.unwrap_or("not sent"),
    };
    let detail = match &*change.detail {
        "" => String::new(),
        detail => format!(": {detail}"),
    };
    escape_control(&format!("{} {past}{detail}", step.key())).into_owned()
}

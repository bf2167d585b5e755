//! The public shape of what `explain` says about a rule, whichever object has its finding.

use serde::{Deserialize, Serialize};

use crate::{model::Kind, output::wire::API_VERSION, rules::Rule};

/// What `explain ID` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingExplanation {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `FindingExplanation`.
    pub kind: String,
    /// The id of the finding.
    pub id: String,
    /// Its severity.
    pub severity: String,
    /// What it means.
    pub title: String,
    /// Why it is dangerous.
    pub danger: String,
    /// What the tool does, and what it refuses.
    pub remedy: String,
    /// The kinds that are read for it.
    pub reads: Vec<String>,
    /// Where Kubernetes says so.
    pub source: String,
}

/// What `explain` prints without an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingExplanationList {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `FindingExplanationList`.
    pub kind: String,
    /// All findings that there can be.
    pub items: Vec<FindingExplanation>,
}

impl FindingExplanation {
    /// Returns the explanation of a rule.
    pub fn of(rule: &Rule) -> Self {
        // Owners of claims are of any kind.
        let read = |kind: Kind| match kind {
            Kind::PartialObjectMetadata => "the owners of claims, of any kind",
            _ => kind.plural(),
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "FindingExplanation".to_owned(),
            id: rule.id.to_owned(),
            severity: rule.severity.name().to_owned(),
            title: rule.title.to_owned(),
            danger: rule.danger.to_owned(),
            remedy: rule.remedy.to_owned(),
            reads: rule.looks_at().into_iter().map(|it| read(it).to_owned()).collect(),
            source: rule.source.to_owned(),
        }
    }
}

impl FindingExplanationList {
    /// Returns the explanations of rules.
    pub fn of<'a>(rules: impl Iterator<Item = &'a Rule>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "FindingExplanationList".to_owned(),
            items: rules.map(FindingExplanation::of).collect(),
        }
    }
}

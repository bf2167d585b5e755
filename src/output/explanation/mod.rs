//! The public shape of the explanation of one object by `explain`, and its text for people.

mod lines;
mod rule;
mod text;

use std::{collections::BTreeMap, io};

use lines::{BOTTOM, LabelledLines};
pub use rule::{FindingExplanation, FindingExplanationList};
use serde::{Deserialize, Serialize};

use super::{
    publish::{Elsewhere, reference},
    repeated::RepeatedFlags,
    report::short_name,
    wire::{API_VERSION, Evidence, Finding, Gap, ObjectReference, ReportMetadata, ReportedCluster},
};
use crate::{
    cluster::Unseen,
    model::{self, RuleId, format_bytes, format_time},
    rules,
};

/// What `explain pvc/NAME` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `Explanation`.
    pub kind: String,
    /// When, of what, by which version and with which thresholds.
    pub metadata: ReportMetadata,
    /// The object.
    pub object: ObjectReference,
    /// Its state and since when, in words.
    #[serde(default)]
    pub status: String,
    /// The fields that show its state.
    pub state: Vec<Evidence>,
    /// Why it is in this state.
    pub because: Vec<String>,
    /// Its findings, as `audit` reports them, worst first.
    pub findings: Vec<Finding>,
    /// The last errors about it and about objects that it hangs on: its own first.
    #[serde(default)]
    pub errors: Vec<LastError>,
    /// The controllers that have to act on it now, and whether they run.
    #[serde(default)]
    pub controllers: Vec<String>,
    /// The identities of the cluster that a driver writes on the disks that it makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<DriverIdentity>,
    /// What to do first, if anything has to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Findings about objects that it hangs on, worst first; not all where there are very many.
    #[serde(default)]
    pub related: Vec<Finding>,
    /// How many findings there are about objects that it hangs on.
    #[serde(default)]
    pub related_total: usize,
    /// Its users.
    pub used_by: Vec<User>,
    /// Which kinds of users were checked. Custom resources may use it too.
    pub looked_at: Vec<String>,
    /// The effects of operations.
    pub outcomes: Vec<Outcome>,
    /// The questions that are open because of what was not read.
    #[serde(default)]
    pub open: Vec<String>,
    /// What was not read, and therefore could not be answered.
    pub gaps: Vec<Gap>,
    /// What only the text shows.
    #[serde(skip)]
    screen: Screen,
}

/// Parts of an explanation that only the text shows: the same as other fields, in fewer words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Screen {
    fields: Vec<(&'static str, String)>,
    notes: Vec<String>,
    /// Whether any rule is about objects of this kind.
    judged: bool,
}

/// What a controller reported last about an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// The object that it is about.
    pub object: ObjectReference,
    /// The component that reported it, or the field of the object that holds it.
    pub source: String,
    /// The reason of its event.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Its own words: from the cluster, not from this tool.
    pub message: String,
    /// Whether it is an error, rather than progress.
    pub is_error: bool,
    /// How often it was reported, as far as the events tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// When it was reported first, as far as the events tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// When it was reported last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// An identity of the cluster that a driver writes on the disks that it makes, and where it is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DriverIdentity {
    /// The identity: a name, or labels as the driver takes them.
    pub value: String,
    /// The argument or the variable that sets it.
    pub argument: String,
    /// The container.
    pub container: String,
    /// The workload or the pod of the container.
    pub object: ObjectReference,
}

/// A user of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct User {
    /// The user.
    pub object: ObjectReference,
    /// How.
    pub how: String,
    /// Whether Kubernetes itself waits for it when the object is deleted.
    pub holds: bool,
}

/// The effect of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outcome {
    /// The operation.
    #[serde(rename = "if")]
    pub when: String,
    /// The affected object, where that is not the explained object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,
    /// The effect, in one word.
    pub then: String,
    /// Why.
    pub because: String,
    /// The capacity of the volume, where volumes are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// The same in bytes.
    #[serde(skip)]
    bytes: Option<model::Bytes>,
}

/// The findings that belong to an explanation.
#[derive(Debug, Default)]
pub struct ExplainedFindings {
    /// The findings about the object, worst first.
    pub own: Vec<Finding>,
    /// The gaps for which the object could not be judged, with the rules that could not.
    pub unseen: Vec<(RuleId, Unseen)>,
    /// The findings about objects on which it depends, worst first.
    pub related: Vec<Finding>,
    /// The number of findings about such objects.
    pub related_total: usize,
}

/// Explanations of the objects of one name in several clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplanationList {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `ExplanationList`.
    pub kind: String,
    /// One for each cluster that has the object, in the order in which they were named.
    pub items: Vec<Explanation>,
}

impl ExplanationList {
    /// Returns a list of these.
    pub fn of(items: Vec<Explanation>) -> Self {
        Self { api_version: API_VERSION.to_owned(), kind: "ExplanationList".to_owned(), items }
    }
}

impl Explanation {
    /// Returns the explanation as one of several clusters, with what the comparison of these found about its object.
    #[must_use]
    pub fn of_cluster(
        mut self,
        cluster: ReportedCluster,
        compared: Vec<Finding>,
        elsewhere: &Elsewhere,
    ) -> Self {
        for findings in [&mut self.findings, &mut self.related] {
            elsewhere.withdraw(findings);
        }
        let is_own = |it: &Finding| {
            let (found, own) = (&it.object, &self.object);
            (&found.kind, &found.namespace, &found.name) == (&own.kind, &own.namespace, &own.name)
        };
        self.findings.extend(compared.into_iter().filter(is_own));
        self.findings.sort_by_key(|it| model::Severity::parse(&it.severity));
        for finding in self.findings.iter_mut().chain(&mut self.related) {
            finding.cluster = Some(cluster.name.clone());
        }
        self.metadata.clusters = vec![cluster];
        self
    }

    /// Returns the public shape of an explanation and the findings about its object.
    pub fn new(
        explanation: rules::Explanation,
        metadata: ReportMetadata,
        findings: ExplainedFindings,
    ) -> Self {
        let evidence = |it: model::Evidence| Evidence {
            object: it.object,
            field: it.field.to_owned(),
            value: it.value,
        };
        let screen = Screen {
            fields: explanation.fields,
            notes: explanation.notes,
            judged: explanation.subject.is_some(),
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "Explanation".to_owned(),
            metadata,
            object: reference(&explanation.object),
            status: explanation.status,
            state: explanation.state.into_iter().map(evidence).collect(),
            because: explanation.because,
            errors: explanation.errors.into_iter().map(LastError::of).collect(),
            controllers: explanation.controllers,
            identities: explanation.identities.iter().filter_map(DriverIdentity::of).collect(),
            next: findings.own.iter().find_map(next_step),
            findings: findings.own,
            related: findings.related,
            related_total: findings.related_total,
            used_by: explanation.users.into_iter().map(User::of).collect(),
            looked_at: explanation.looked_at.iter().map(|kind| kind.plural().to_owned()).collect(),
            outcomes: explanation.outcomes.into_iter().map(Outcome::of).collect(),
            open: explanation.open.into_iter().map(str::to_owned).collect(),
            gaps: gaps(explanation.unseen, findings.unseen),
            screen,
        }
    }

    /// Returns the explanation with these flags in its commands, apart from its findings, which have them already.
    #[must_use]
    pub fn repeating(mut self, flags: &RepeatedFlags) -> Self {
        let Screen { fields, notes, judged: _ } = &mut self.screen;
        let texts = fields.iter_mut().map(|(_, value)| value).chain(notes).chain(&mut self.open);
        let outcomes = self.outcomes.iter_mut().map(|it| &mut it.because);
        texts.chain(&mut self.because).chain(outcomes).for_each(|it| flags.repeat(it));
        self
    }
}

/// Returns the next step for a finding: its command, else the advice of its verdict.
fn next_step(finding: &Finding) -> Option<String> {
    let command = finding.remedy.as_ref().and_then(|it| it.command.clone());
    let advice = || {
        let verdict = &finding.verdict;
        (verdict.state == "report-only" && !verdict.reason.is_empty())
            .then(|| verdict.reason.clone())
    };
    command.filter(|_| finding.verdict.state == "fixable").or_else(advice)
}

/// Returns one gap for all that was not read for the same reason, with the rules that could not judge.
fn gaps(unseen: Vec<Unseen>, unjudged: Vec<(RuleId, Unseen)>) -> Vec<Gap> {
    let mut order: Vec<Unseen> = Vec::new();
    let mut ids: BTreeMap<Unseen, Vec<String>> = BTreeMap::new();
    let all = unseen.into_iter().map(|it| (None, it));
    for (rule, unseen) in all.chain(unjudged.into_iter().map(|(rule, it)| (Some(rule), it))) {
        let known = ids.entry(unseen.clone()).or_insert_with(|| {
            order.push(unseen);
            Vec::new()
        });
        known.extend(rule.map(str::to_owned));
    }
    let gap = |unseen: Unseen| Gap {
        cluster: None,
        ids: ids.remove(&unseen).unwrap_or_default(),
        resource: unseen.kind.plural().to_owned(),
        namespace: unseen.namespace.as_ref().map(ToString::to_string),
        reason: unseen.reason,
    };
    order.into_iter().map(gap).collect()
}

impl LastError {
    fn of(error: rules::LastError) -> Self {
        Self {
            object: reference(&error.object),
            source: error.source,
            reason: error.reason,
            message: error.message,
            is_error: error.is_error,
            count: error.count,
            first: error.first.as_ref().map(format_time),
            last: error.last.as_ref().map(format_time),
        }
    }
}

impl DriverIdentity {
    fn of((object, argument): &(model::ObjectRef, model::ClusterArgument)) -> Option<Self> {
        Some(Self {
            value: argument.identity()?.to_string(),
            argument: argument.name.to_owned(),
            container: argument.container.to_string(),
            object: reference(object),
        })
    }
}

impl User {
    fn of(user: rules::User) -> Self {
        Self { object: reference(&user.object), how: user.how, holds: user.holds }
    }
}

impl Outcome {
    fn of(outcome: rules::ObjectEffect) -> Self {
        Self {
            when: outcome.when,
            object: outcome.object.as_ref().map(reference),
            then: outcome.then.to_owned(),
            because: outcome.because,
            capacity: outcome.capacity.map(format_bytes),
            bytes: outcome.capacity,
        }
    }
}

/// Largest number of objects of one group that are named.
const NAMED: usize = 5;
/// Number of effects of one operation from which they are shown in groups.
const MANY: usize = 4;

/// The operation that always has a line of its own.
const DELETED: &str = "it is deleted";

/// Prints the effects of every operation. Those that destroy nothing share a line: their reasons are
/// in `-o json`.
fn print_outcomes(lines: &mut LabelledLines, outcomes: &[Outcome]) -> io::Result<()> {
    let keeps =
        |of_one: &[Outcome]| of_one.iter().all(|it| it.then == "kept" && it.when != DELETED);
    let by_operation = || outcomes.chunk_by(|a, b| a.when == b.when);
    // Operations with the same effects are told together.
    let mut told: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for of_one in by_operation().filter(|it| !keeps(it)) {
        let Some(first) = of_one.first() else { continue };
        let texts = if of_one.len() < MANY { one_by_one(of_one) } else { in_groups(of_one) };
        match told.iter_mut().find(|(when, known)| *known == texts && !when.contains(&DELETED)) {
            Some((when, _)) => when.push(&first.when),
            None => told.push((vec![&first.when], texts)),
        }
    }
    for (when, texts) in told {
        if when == [DELETED] {
            lines.list(BOTTOM, "If deleted:", texts)?;
            continue;
        }
        let mut texts = texts.into_iter();
        let first = texts.next().unwrap_or_default();
        lines.hanging(&format!("If {}: {first}", when.join(", or ")), BOTTOM.width)?;
        lines.list(BOTTOM, "", texts)?;
    }
    let kept: Vec<_> = by_operation().filter(|it| keeps(it)).filter_map(<[_]>::first).collect();
    let Some(first) = kept.first() else { return Ok(()) };
    let label = if first.object.is_some() { "Claims kept if:" } else { "Kept if:" };
    let when: Vec<_> = kept.iter().map(|it| &*it.when).collect();
    lines.labelled(BOTTOM, label, &when.join("; "))
}

fn one_by_one(outcomes: &[Outcome]) -> Vec<String> {
    outcomes
        .iter()
        .map(|it| {
            let whose = it.object.as_ref().map(|it| format!("{} ", short_name(it)));
            let then = match words(&it.then) {
                "" => String::new(),
                words => format!("{words}; "),
            };
            format!("{}{then}{}", whose.unwrap_or_default(), it.because)
        })
        .collect()
}

fn in_groups(outcomes: &[Outcome]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for outcome in outcomes {
        let then = &*outcome.then;
        if done.contains(&then) {
            continue;
        }
        done.push(then);
        let group: Vec<_> = outcomes.iter().filter(|it| it.then == then).collect();
        let bytes = group.iter().filter_map(|it| it.bytes);
        let size = match bytes.fold(0_u64, u64::saturating_add) {
            0 => String::new(),
            size => format!(" ({})", format_bytes(size)),
        };
        let shown = if words(then).is_empty() { then } else { words(then) };
        texts.push(format!("{shown}: {}{size}", group.len()));
        let named = group.iter().take(NAMED).map(|it| match &it.object {
            Some(object) => format!("- {}, {}", short_name(object), it.because),
            None => format!("- {}", it.because),
        });
        texts.extend(named);
        if group.len() > NAMED {
            texts.push(format!("- and {} more (-o json lists all)", group.len() - NAMED));
        }
    }
    texts
}

/// Returns an effect in words. Scripts rely on the words of `then`, people on Kubernetes' own.
fn words(then: &str) -> &str {
    match then {
        // The reason says it.
        "deleted" => "",
        "unaffected" => "no change",
        "forgotten" => "the backend volume stays, unreferenced",
        "leaked" => "the backend volume is leaked",
        "destroyed-later" => "destroyed later",
        "deleted-later" => "deleted later",
        "released" => "kept, Released",
        "failed" => "kept, Failed",
        "no-data" => "no data is lost",
        other => other,
    }
}

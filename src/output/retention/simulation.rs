//! The public shape of the prediction by `retention simulate`, and its text for people.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthStr as _;

use super::{ClaimTotals, Effect, RetentionPolicyShown, effect, screen::effect_word};
use crate::{
    facts::retention::Ordinals,
    model::{ObjectKey, ObjectRef, StatefulSet, escape_control, format_bytes},
    output::{
        lines::{LONGEST_NAME, Paint, bounded, broken, readable},
        publish::reference,
        screen::ScreenStyle,
        table::{TableStyle, TextTable, short_name},
        wire::{API_VERSION, Gap, ObjectReference, ReportMetadata},
    },
    rules::retention::SimulatedEffect,
};

/// What `retention simulate` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionSimulation {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `RetentionSimulation`.
    pub kind: String,
    /// When, of what, by which version and with which thresholds.
    pub metadata: ReportMetadata,
    /// The claims added up.
    pub summary: SimulationSummary,
    /// The sets, and what happens to their claims.
    pub sets: Vec<SimulatedSet>,
    /// What was not read.
    pub gaps: Vec<Gap>,
}

/// The claims added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulationSummary {
    /// Those that are kept.
    pub kept: ClaimTotals,
    /// Those that are deleted, destroyed or not.
    pub deleted: ClaimTotals,
    /// Those whose data is destroyed, at once or as soon as a controller runs.
    pub destroyed: ClaimTotals,
    /// Those whose data may be destroyed: what happens to the claim or to its volume is unknown.
    pub may_be_destroyed: ClaimTotals,
    /// Those of which it is unknown whether they are deleted.
    pub unknown: ClaimTotals,
}

/// A set, and what happens to its claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedSet {
    /// The set.
    pub object: ObjectReference,
    /// Whether it exists.
    pub exists: bool,
    /// `spec.replicas` now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The ordinals in range now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinals: Option<String>,
    /// Its retention policy now; absent if the server does not serve one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<RetentionPolicyShown>,
    /// What is done, in this order; each step begins when the controllers are done with the one
    /// before.
    pub steps: Vec<String>,
    /// What else there is to know.
    pub notes: Vec<String>,
    /// Its claims, by template and ordinal; if it is deleted, then those that only owners tie to it.
    pub claims: Vec<SimulatedClaimEffect>,
}

/// A claim, and what happens to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedClaimEffect {
    /// The claim.
    pub object: ObjectReference,
    /// The name of its template; absent of a claim that only its owners tie to the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Its ordinal; absent with the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<i32>,
    /// Its capacity, or what it requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Its volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The reclaim policy of its volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaim_policy: Option<String>,
    /// The effect.
    pub effect: Effect,
}

/// Sums of claims, added up while sets are simulated.
#[derive(Debug, Default)]
pub(crate) struct SimulationTotals {
    summary: SimulationSummary,
}

impl SimulationTotals {
    /// Counts the claims of a set.
    pub(crate) fn add(&mut self, effects: &[SimulatedEffect]) {
        for it in effects {
            let shown = effect(&it.fate);
            let summary = &mut self.summary;
            let destroyed = matches!(effect_word(&shown), "destroyed" | "scrubbed");
            let mut totals = vec![match &*shown.claim {
                "kept" => &mut summary.kept,
                "unknown" => &mut summary.unknown,
                _ => &mut summary.deleted,
            }];
            if destroyed {
                totals.push(&mut summary.destroyed);
            } else if it.fate.may_destroy() {
                totals.push(&mut summary.may_be_destroyed);
            }
            for totals in totals {
                totals.count += 1;
                let bytes = it.claim.capacity.or(it.claim.requested).unwrap_or(0);
                totals.bytes = totals.bytes.saturating_add(bytes);
                totals.size = format_bytes(totals.bytes);
            }
        }
    }

    /// Whether data of any claim is destroyed, or may be.
    pub(crate) const fn may_destroy(&self) -> bool {
        self.summary.destroyed.count > 0 || self.summary.may_be_destroyed.count > 0
    }
}

impl SimulationSummary {
    /// Returns the sums in one line.
    pub(crate) fn words(&self) -> String {
        let part = |totals: &ClaimTotals, what: &str| {
            let count = totals.count;
            (count > 0).then(|| format!("{what} {count} ({})", totals.size))
        };
        let parts: Vec<_> = [
            part(&self.destroyed, "data destroyed:"),
            part(&self.may_be_destroyed, "data may be destroyed:"),
            part(&self.deleted, "deleted:"),
            part(&self.unknown, "unknown:"),
            part(&self.kept, "kept:"),
        ]
        .into_iter()
        .flatten()
        .collect();
        match parts.is_empty() {
            true => "no claims".to_owned(),
            false => format!("claims: {}", parts.join(", ")),
        }
    }
}

impl RetentionSimulation {
    /// Puts simulated sets into their public shape.
    pub(crate) fn new(
        metadata: ReportMetadata,
        totals: SimulationTotals,
        sets: Vec<SimulatedSet>,
        gaps: Vec<Gap>,
    ) -> Self {
        let mut summary = totals.summary;
        for totals in [
            &mut summary.kept,
            &mut summary.deleted,
            &mut summary.destroyed,
            &mut summary.may_be_destroyed,
            &mut summary.unknown,
        ] {
            totals.size = format_bytes(totals.bytes);
        }
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "RetentionSimulation".to_owned(),
            metadata,
            summary,
            sets,
            gaps,
        }
    }
}

impl SimulatedSet {
    /// Returns the result for a set that does not exist: applying its manifest creates it.
    pub(crate) fn of_none(key: &ObjectKey) -> Self {
        Self {
            object: reference(&ObjectRef { key: key.clone(), uid: None }),
            exists: false,
            replicas: None,
            ordinals: None,
            policy: None,
            steps: vec!["the manifest is applied: the StatefulSet is created".to_owned()],
            notes: vec![
                "it does not exist: existing claims of its names are used again".to_owned(),
            ],
            claims: Vec::new(),
        }
    }

    /// Puts the effects on the claims of a set into their public shape.
    pub(crate) fn of(
        set: &StatefulSet,
        steps: Vec<String>,
        notes: Vec<String>,
        effects: &[SimulatedEffect],
    ) -> Self {
        let claim = |it: &SimulatedEffect| SimulatedClaimEffect {
            object: reference(&it.claim.object()),
            template: it.template.as_ref().map(|(template, _)| template.to_string()),
            ordinal: it.template.as_ref().map(|(_, ordinal)| *ordinal),
            size: it.claim.capacity.or(it.claim.requested).map(format_bytes),
            volume: it.claim.volume_name.as_deref().map(str::to_owned),
            reclaim_policy: it.volume.map(|volume| volume.reclaim_policy.to_string()),
            effect: effect(&it.fate),
        };
        Self {
            object: reference(&set.object()),
            exists: true,
            replicas: Some(set.replicas.unwrap_or(1)),
            ordinals: Some(Ordinals::of(set).to_string()),
            policy: set.retention.as_ref().map(|policy| RetentionPolicyShown {
                when_deleted: policy.when_deleted.to_string(),
                when_scaled: policy.when_scaled.to_string(),
            }),
            steps,
            notes,
            claims: effects.iter().map(claim).collect(),
        }
    }
}

/// Prints one line for each claim.
///
/// # Errors
/// When writing fails.
pub(crate) fn print_rows(
    out: &mut dyn Write,
    report: &RetentionSimulation,
    headers: bool,
) -> io::Result<()> {
    const HEADERS: [&str; 8] =
        ["NAMESPACE", "SET", "CLAIM", "RESULT", "DATA", "SIZE", "OWNERS-THEN", "WHY"];
    let look = TableStyle { headers, width: None, escape: readable };
    let mut table = TextTable::new(out, &HEADERS, look);
    let mut any = false;
    for (set, claim) in
        report.sets.iter().flat_map(|set| set.claims.iter().map(move |it| (set, it)))
    {
        any = true;
        let effect = &claim.effect;
        let owners = effect.owners.join(",");
        table.row(vec![
            claim.object.namespace.clone().unwrap_or_default(),
            set.object.name.clone(),
            claim.object.name.clone(),
            effect.claim.clone(),
            effect.data.clone().unwrap_or_else(|| "<none>".to_owned()),
            claim.size.clone().unwrap_or_default(),
            if owners.is_empty() { "<none>".to_owned() } else { owners },
            effect.because.join("; "),
        ])?;
    }
    if any { table.finish() } else { Ok(()) }
}

/// Prints the steps, and what they do to each claim; claims that end alike together.
///
/// # Errors
/// When writing fails.
pub(crate) fn print_screen(
    out: &mut dyn Write,
    report: &RetentionSimulation,
    style: ScreenStyle,
) -> io::Result<()> {
    let paint = Paint { colour: style.colour };
    let width = usize::from(style.width).max(60);
    for (index, set) in report.sets.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let name = bounded(&escape_control(&short_name(&set.object)), LONGEST_NAME);
        writeln!(out, "{}", paint.strong(&name))?;
        let mut text = |indent: usize, hanging: usize, text: &str| -> io::Result<()> {
            let room = width.saturating_sub(indent + hanging).max(20);
            for (index, line) in broken(&escape_control(text), room).iter().enumerate() {
                let indent = if index == 0 { indent } else { indent + hanging };
                writeln!(out, "{:indent$}{line}", "")?;
            }
            Ok(())
        };
        if let Some(policy) = &set.policy {
            let now = format!(
                "now: ordinals {}, whenDeleted {}, whenScaled {}",
                set.ordinals.as_deref().unwrap_or_default(),
                policy.when_deleted,
                policy.when_scaled
            );
            text(2, 2, &now)?;
        }
        for (number, step) in set.steps.iter().enumerate() {
            text(2, 3, &format!("{}. {step}", number + 1))?;
        }
        for note in &set.notes {
            text(2, 6, &format!("note: {note}"))?;
        }
        let mut told: Vec<&SimulatedClaimEffect> = Vec::new();
        for claim in &set.claims {
            if told.iter().any(|it| it.effect == claim.effect) {
                continue;
            }
            told.push(claim);
        }
        if style.headers && !told.is_empty() {
            writeln!(out, "  {:<12}CLAIMS", "RESULT")?;
        }
        for first in told {
            let alike: Vec<_> = set.claims.iter().filter(|it| it.effect == first.effect).collect();
            let word = effect_word(&first.effect);
            let shown = match word {
                "destroyed" | "destroyed?" | "scrubbed" | "leaked" => paint.alarm(word),
                word => word.to_owned(),
            };
            let gap = 12_usize.saturating_sub(word.width()).max(1);
            let names = runs(&alike).join(", ");
            for (index, line) in broken(&escape_control(&names), width - 14).iter().enumerate() {
                match index {
                    0 => writeln!(out, "  {shown}{:gap$}{line}", "")?,
                    _ => writeln!(out, "{:14}{line}", "")?,
                }
            }
            for line in
                first.effect.because.iter().flat_map(|it| broken(&escape_control(it), width - 14))
            {
                writeln!(out, "{:14}{line}", "")?;
            }
        }
    }
    Ok(())
}

/// Returns the names of claims, those of consecutive ordinals as the shell reads them.
fn runs(claims: &[&SimulatedClaimEffect]) -> Vec<String> {
    let of_template = claims.iter().filter_map(|it| Some((&*it.object.name, it.ordinal?)));
    let mut names = super::rows::runs(of_template);
    let others = claims.iter().filter(|it| it.ordinal.is_none());
    names.extend(others.map(|it| it.object.name.clone()));
    names
}

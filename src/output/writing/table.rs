//! Tables of plans and receipts: at most 80 columns wide, with the names of volumes unbroken.

use std::collections::HashMap;
use std::io::{self, Write};

use super::super::lines::{LONGEST_NAME, Paint, bounded, cell, column_width, shortened};
use super::super::repeated::RepeatedFlags;
use super::super::report::{resource_name, short_name, wrap};
use super::super::wire::ObjectReference;
use super::plan::{HeldFinalizer, Plan, PlannedChange, RefusedChange};
use super::receipt::{DoneChange, Receipt};
use crate::model::{escape_control, format_age};

/// Greatest length of a sentence that is printed. None is longer, but for messages in status fields, which may have any
/// length.
const LONGEST: usize = 2_000;

/// Screen on which a plan is printed.
#[derive(Debug, Clone, Copy)]
pub struct PlanScreen<'a> {
    /// The cluster and the namespaces that the plan is about, or the dump.
    pub place: &'a str,
    /// Number of columns of the terminal.
    pub width: usize,
    /// Whether what destroys data is printed in red, and what keeps it in green.
    pub colour: bool,
    /// The flags that the plan's commands repeat.
    pub repeated: &'a RepeatedFlags,
}

/// Prints the planned changes, and first their cluster: changes with the same risk and the same undo together.
///
/// # Errors
/// When writing fails.
pub fn plan_table(out: &mut dyn Write, plan: &Plan, screen: PlanScreen) -> io::Result<()> {
    let PlanScreen { place, width, colour, repeated } = screen;
    let plan = &plan.repeating(repeated);
    let paint = Paint { colour };
    for line in wrap(&escape_control(place), width.max(40)) {
        writeln!(out, "{line}")?;
    }
    let ages: Vec<String> = plan.changes.iter().map(age).collect();
    let columns = [
        column_width(7, ages.iter().map(|it| &**it)),
        column_width(8, plan.changes.iter().map(size)),
    ];
    if !plan.changes.is_empty() {
        writeln!(out, "{}{}OBJECT", cell("AGE", columns[0]), cell("SIZE", columns[1]))?;
    }
    let shared = Shared::of(&plan.changes);
    for group in groups(&plan.changes) {
        for change in &group {
            one_change(out, change, &shared, columns, screen)?;
        }
        let Some(first) = group.first() else { continue };
        for (label, text) in shared.own_outcomes(first) {
            match group.len() {
                1 => indented(out, &format!("{label}: {text}"), width)?,
                count => labelled(
                    out,
                    &format!("{label} of the {count} above"),
                    text,
                    width,
                    str::to_owned,
                )?,
            }
        }
    }
    // What is the same for all is said once, beneath.
    for notice in &shared.notices {
        labelled(out, "Note", notice, width, str::to_owned)?;
    }
    for (label, text) in [("Each", shared.effect), ("Risk", shared.risk), ("Undo", shared.undo)] {
        let Some(text) = text else { continue };
        let first = plan.changes.first().filter(|_| label == "Each");
        labelled(out, label, text, width, |line| {
            first.map_or_else(|| line.to_owned(), |it| by_fate(paint, it, line))
        })?;
    }
    refusals(out, &plan.refusals, width, paint)
}

/// Returns an object or an effect, in the colour of the fate of its data.
fn by_fate(paint: Paint, change: &PlannedChange, text: &str) -> String {
    match change.data.as_deref() {
        Some("destroyed" | "at-risk") => paint.alarm(text),
        Some("kept") => paint.kept(text),
        _ => text.to_owned(),
    }
}

/// Returns the size of an object for its column, empty for kinds without one.
fn size(change: &PlannedChange) -> &str {
    if matches!(&*change.object.kind, "StatefulSet" | "Namespace") {
        return "";
    }
    change.volume.as_ref().and_then(|it| it.capacity.as_deref()).unwrap_or("?")
}

/// Outcomes that all changes of a plan have in common; `None` where they differ.
struct Shared<'a> {
    effect: Option<&'a str>,
    risk: Option<&'a str>,
    undo: Option<&'a str>,
    notices: Vec<&'a String>,
}

impl<'a> Shared<'a> {
    fn of(changes: &'a [PlannedChange]) -> Self {
        let alike = |of: fn(&PlannedChange) -> &str| {
            let first = changes.first()?;
            changes.iter().all(|it| of(it) == of(first)).then(|| of(first))
        };
        let in_all = |it: &&String| changes.iter().all(|change| change.notices.contains(it));
        let notices = match changes {
            [first, _, ..] => first.notices.iter().filter(in_all).collect(),
            _ => Vec::new(),
        };
        Self {
            effect: alike(|it| &it.effect),
            risk: alike(|it| &it.risk),
            undo: alike(|it| &it.undo),
            notices,
        }
    }

    /// Returns the risk and undo of a change, where these are not the same for all.
    fn own_outcomes<'c>(
        &self,
        change: &'c PlannedChange,
    ) -> impl Iterator<Item = (&'static str, &'c str)> {
        let risk = self.risk.is_none().then_some(("Risk", &*change.risk));
        let undo = self.undo.is_none().then_some(("Undo", &*change.undo));
        risk.into_iter().chain(undo)
    }
}

/// Returns groups of changes with the same risk and undo, in the order of the first of each.
fn groups(changes: &[PlannedChange]) -> Vec<Vec<&PlannedChange>> {
    let mut groups: Vec<Vec<&PlannedChange>> = Vec::new();
    let mut known: HashMap<(&str, &str), usize> = HashMap::new();
    for change in changes {
        let next = groups.len();
        let group = *known.entry((&change.risk, &change.undo)).or_insert(next);
        match groups.get_mut(group) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    groups
}

fn one_change(
    out: &mut dyn Write,
    change: &PlannedChange,
    shared: &Shared,
    columns: [usize; 2],
    PlanScreen { width, colour, .. }: PlanScreen,
) -> io::Result<()> {
    let paint = Paint { colour };
    let object = by_fate(paint, change, &named(&short_name(&change.object)));
    let (age, size) = (cell(&age(change), columns[0]), cell(size(change), columns[1]));
    writeln!(out, "{age}{size}{object}")?;
    let mut facts = Vec::new();
    let terminating = change.terminating.then(|| "Terminating".to_owned());
    let volume = change.volume.iter().flat_map(|volume| {
        let parts = [
            ("claim", &volume.claim),
            ("class", &volume.storage_class),
            ("driver", &volume.driver),
        ];
        parts.into_iter().filter_map(|(what, it)| Some(format!("{what} {}", it.as_ref()?)))
    });
    facts.push(terminating.into_iter().chain(volume).collect::<Vec<_>>().join(", "));
    facts.extend(change.held.iter().filter(|it| is_removed(change, it)).map(remover));
    let own_effect = shared.effect.is_none().then_some(&change.effect);
    facts.extend(own_effect.cloned());
    let own = change.notices.iter().filter(|it| !shared.notices.contains(it));
    facts.extend(own.map(|it| format!("note: {it}")));
    if !change.relies_on.is_empty() {
        facts.push(format!("allowed only by {}", change.relies_on.join(", ")));
    }
    for fact in &facts {
        let shown = |line: &str| match Some(fact) == own_effect {
            true => by_fate(paint, change, line),
            false => line.to_owned(),
        };
        for line in indented_lines(fact, width) {
            writeln!(out, "    {}", shown(&line))?;
        }
    }
    Ok(())
}

/// Writes a sentence at the margin, after its label.
fn labelled(
    out: &mut dyn Write,
    label: &str,
    text: &str,
    width: usize,
    paint: impl Fn(&str) -> String,
) -> io::Result<()> {
    let text = format!("{label}: {}.", shortened(&escape_control(text), LONGEST));
    for (index, line) in wrap(&text, width.max(40) - 2).iter().enumerate() {
        writeln!(out, "{}{}", if index == 0 { "" } else { "  " }, paint(line))?;
    }
    Ok(())
}

/// Whether a finalizer is one that a change removes.
fn is_removed(change: &PlannedChange, held: &HeldFinalizer) -> bool {
    change.steps.iter().any(|step| step.what.contains(&held.finalizer))
}

/// Returns the controller that should have removed a finalizer, with its state.
fn remover(held: &HeldFinalizer) -> String {
    let HeldFinalizer { finalizer, by, state, because, .. } = held;
    match held.probes.is_empty() {
        true => format!("{finalizer}: removed by {by}"),
        false => format!("{finalizer}: removed by {by}, which is {state}: {because}"),
    }
}

/// Prints the refused objects with the reasons; objects that share a reason share its lines.
///
/// # Errors
/// When writing fails.
pub fn refusals(
    out: &mut dyn Write,
    refused: &[RefusedChange],
    width: usize,
    paint: Paint,
) -> io::Result<()> {
    let mut alike: HashMap<&str, Vec<&RefusedChange>> = HashMap::new();
    for refusal in refused {
        alike.entry(&refusal.reason).or_default().push(refusal);
    }
    for refusal in refused {
        // Said with the first of them.
        let Some(objects) = alike.remove(&*refusal.reason) else { continue };
        for it in objects {
            let object = named(&short_name(&it.object));
            writeln!(out, "{} {object}", paint.refused("refused:"))?;
        }
        indented(out, &refusal.reason, width)?;
    }
    Ok(())
}

/// Prints the outcome of every change.
///
/// # Errors
/// When writing fails.
pub fn receipt_table(
    out: &mut dyn Write,
    receipt: &Receipt,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    let paint = Paint { colour };
    let capacity =
        |it: &DoneChange| it.volume.as_ref().and_then(|it| it.capacity.clone()).unwrap_or_default();
    let capacities: Vec<String> = receipt.changes.iter().map(capacity).collect();
    let columns = [
        column_width(12, receipt.changes.iter().map(|it| &*it.outcome)),
        column_width(8, capacities.iter().map(|it| &**it)),
    ];
    if !receipt.changes.is_empty() {
        writeln!(out, "{}{}OBJECT", cell("OUTCOME", columns[0]), cell("SIZE", columns[1]))?;
    }
    for (change, size) in receipt.changes.iter().zip(&capacities) {
        let outcome = cell(&change.outcome, columns[0]);
        let outcome = match &*change.outcome {
            "done" => paint.kept(&outcome),
            "refused" | "stale" | "pending" => paint.refused(&outcome),
            _ => paint.alarm(&outcome),
        };
        let object = named(&short_name(&change.object));
        writeln!(out, "{outcome}{}{object}", cell(size, columns[1]))?;
        indented(out, &change.detail, width)?;
    }
    refusals(out, &receipt.refusals, width, paint)
}

/// Prints the names of objects, as kubectl does.
///
/// # Errors
/// When writing fails.
pub fn names(
    out: &mut dyn Write,
    objects: &mut dyn Iterator<Item = &ObjectReference>,
) -> io::Result<()> {
    for object in objects {
        writeln!(out, "{}", named(&resource_name(object)))?;
    }
    Ok(())
}

/// Returns the numbers of outcomes of all changes, in a line.
pub fn receipt_totals(receipt: &Receipt) -> String {
    let summary = &receipt.summary;
    let counts = [
        (summary.done, "done"),
        (summary.vetoes, if summary.vetoes == 1 { "veto recorded" } else { "vetoes recorded" }),
        (summary.pending, "pending"),
        (summary.unanswered, "unanswered"),
        (summary.stale, "stale"),
        (summary.failed, "failed"),
        (summary.refused + receipt.refusals.len(), "refused"),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, what)| format!("{count} {what}")).collect();
    let dry = if receipt.metadata.dry_run.is_some() {
        " (server dry run: nothing was changed)"
    } else {
        ""
    };
    // Not every change is about a volume.
    let capacity = match &*summary.capacity {
        "0" => String::new(),
        capacity => format!(", {capacity} in all"),
    };
    format!("{}{capacity}{dry}; the journal is {}", told.join(", "), receipt.metadata.journal)
}

fn named(name: &str) -> String {
    bounded(&escape_control(name), LONGEST_NAME)
}

fn indented(out: &mut dyn Write, text: &str, width: usize) -> io::Result<()> {
    indented_lines(text, width).iter().try_for_each(|line| writeln!(out, "    {line}"))
}

fn indented_lines(text: &str, width: usize) -> Vec<String> {
    wrap(&shortened(&escape_control(text), LONGEST), width.max(40) - 4)
}

/// Returns the age, marked when it is a bound.
fn age(change: &PlannedChange) -> String {
    let Some(age) = &change.age else { return String::new() };
    match age.seconds {
        None => "?".to_owned(),
        Some(seconds) if age.trust == "lower-bound" => format!(">{}", format_age(seconds)),
        Some(seconds) if age.trust == "corroborated" => format_age(seconds),
        Some(seconds) => format!("{}?", format_age(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(outcomes: &[(&str, &str, &str)]) -> String {
        let change = |(index, (effect, risk, undo)): (usize, &(&str, &str, &str))| {
            json!({
                "object": {"apiVersion": "v1", "kind": "PersistentVolume", "name": format!("pv-{index}")},
                "because": "retain", "steps": [], "effect": effect, "risk": risk, "undo": undo,
                "notices": [], "reliesOn": [], "terminating": index == 0,
            })
        };
        let plan = json!({
            "apiVersion": "v1", "kind": "Plan",
            "metadata": {
                "command": "retain", "cluster": {}, "tool": {"version": "0"}, "digest": "",
                "settings": {
                    "thresholds": {}, "driverAbsent": [], "includeUnknownAge": false,
                    "includeRecreated": false, "backendVerified": false, "destroyData": false,
                    "acceptLeak": false, "rolledBack": false, "recordNamespace": "", "journalOnly": false,
                },
            },
            "summary": {"changes": 0, "refusals": 0, "capacity": "0"},
            "changes": outcomes.iter().enumerate().map(change).collect::<Vec<_>>(),
            "refusals": [],
        });
        let plan: Plan = serde_json::from_value(plan).expect("because it is a plan");
        let mut out = Vec::new();
        let repeated = &RepeatedFlags::of_connection([("--context", Some("prod".to_owned()))]);
        let screen = PlanScreen { place: "Dump a.json", width: 80, colour: false, repeated };
        plan_table(&mut out, &plan, screen).expect("because memory does not fail");
        String::from_utf8(out).expect("because it is text")
    }

    #[test]
    fn what_is_the_same_is_said_once() {
        let text = shown(&[("a", "none", "never"), ("a", "none", "never")]);
        assert!(text.ends_with("pv-1\nEach: a.\nRisk: none.\nUndo: never.\n"), "{text}");
    }

    /// What is pasted is about the same cluster.
    #[test]
    fn commands_in_it_repeat_the_flags() {
        let text = shown(&[(
            "then `kubectl patch pv a`",
            "see `kubectl get pv`",
            "`kubectl storage undo`",
        )]);
        assert_eq!(text.matches("` --context prod").count(), 0, "{text}");
        for command in ["kubectl patch pv a", "kubectl get pv", "kubectl storage undo"] {
            assert!(text.contains(&format!("`{command} --context prod`")), "{text}");
        }
    }

    #[test]
    fn what_is_very_long_is_cut() {
        let long = "x ".repeat(64 << 10);
        let text = shown(&[(&*long, "\u{1b}[2Jnone", "never")]);
        assert!(text.len() < 3_000, "{}", text.len());
        assert!(text.contains("Risk: \\u{1b}[2Jnone."), "{text}");
    }

    /// However changes differ, risk and undo of each are shown before the question.
    #[test]
    fn what_differs_is_said_of_each_or_of_its_group() {
        let text = shown(&[("a", "leak", "never"), ("b", "none", "never"), ("c", "leak", "never")]);
        let expected = [
            "Dump a.json",
            "AGE    SIZE    OBJECT",
            "       ?       pv/pv-0",
            "    Terminating",
            "    a",
            "       ?       pv/pv-2",
            "    c",
            "Risk of the 2 above: leak.",
            "       ?       pv/pv-1",
            "    b",
            "    Risk: none",
            "Undo: never.",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}

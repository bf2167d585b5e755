//! Tables of plans and receipts: at most 80 columns wide, with the names of volumes unbroken.

use std::io::{self, Write};

use super::super::report::{resource_name, short_name, wrap};
use super::super::wire::ObjectReference;
use super::plan::{HeldFinalizer, Plan, PlannedChange, RefusedChange};
use super::receipt::Receipt;
use crate::model::{escape_control, format_age};

/// Prints what would be changed.
///
/// # Errors
/// When writing fails.
pub fn plan_table(out: &mut dyn Write, plan: &Plan, width: usize) -> io::Result<()> {
    if !plan.changes.is_empty() {
        writeln!(out, "{:<7}{:<8}OBJECT", "AGE", "SIZE")?;
    }
    // What is the same for all is said once, beneath.
    let first = plan.changes.first();
    let alike = |of: fn(&PlannedChange) -> &str| {
        first.filter(|first| plan.changes.iter().all(|it| of(it) == of(first))).map(of)
    };
    let (effect, risk, undo) = (alike(|it| &it.effect), alike(|it| &it.risk), alike(|it| &it.undo));
    let in_all = |it: &&String| plan.changes.iter().all(|change| change.notices.contains(it));
    let common: Vec<_> = match &plan.changes[..] {
        [first, _, ..] => first.notices.iter().filter(in_all).collect(),
        _ => Vec::new(),
    };
    for change in &plan.changes {
        let size = change.volume.as_ref().and_then(|it| it.capacity.as_deref()).unwrap_or("?");
        writeln!(out, "{:<7}{:<8}{}", age(change), size, named(&short_name(&change.object)))?;
        let mut facts = Vec::new();
        if let Some(volume) = &change.volume {
            let parts = [
                ("claim", &volume.claim),
                ("class", &volume.storage_class),
                ("driver", &volume.driver),
            ];
            let told =
                parts.iter().filter_map(|(what, it)| Some(format!("{what} {}", it.as_ref()?)));
            facts.push(told.collect::<Vec<_>>().join(", "));
        }
        facts.extend(change.held.iter().filter(|it| is_removed(change, it)).map(remover));
        if effect.is_none() {
            facts.push(change.effect.clone());
        }
        let own = change.notices.iter().filter(|it| !common.contains(it));
        facts.extend(own.map(|it| format!("note: {it}")));
        if !change.relies_on.is_empty() {
            facts.push(format!("only because of {}", change.relies_on.join(", ")));
        }
        for fact in &facts {
            indented(out, fact, width)?;
        }
    }
    let common = common.iter().map(|it| ("Note", it.as_str()));
    let alike = [("Each", effect), ("If wrong", risk), ("Undo", undo)];
    let alike = alike.into_iter().filter_map(|(label, text)| Some((label, text?)));
    for (label, text) in common.chain(alike) {
        let text = format!("{label}: {text}.");
        for (index, line) in wrap(&escape_control(&text), width.max(40) - 2).iter().enumerate() {
            writeln!(out, "{}{line}", if index == 0 { "" } else { "  " })?;
        }
    }
    refusals(out, &plan.refusals, width)
}

/// Whether a finalizer is one that a change removes.
fn is_removed(change: &PlannedChange, held: &HeldFinalizer) -> bool {
    change.steps.iter().any(|step| step.what.contains(&held.finalizer))
}

/// Who should have removed a finalizer.
fn remover(held: &HeldFinalizer) -> String {
    let HeldFinalizer { finalizer, by, state, because, .. } = held;
    match held.probes.is_empty() {
        true => format!("{finalizer}: removed by {by}"),
        false => format!("{finalizer}: removed by {by}, which is {state}: {because}"),
    }
}

/// Prints what is not changed, and why: objects that share a reason share its lines.
///
/// # Errors
/// When writing fails.
pub fn refusals(out: &mut dyn Write, refused: &[RefusedChange], width: usize) -> io::Result<()> {
    let mut told: Vec<&str> = Vec::new();
    for refusal in refused {
        if told.contains(&refusal.reason.as_str()) {
            continue;
        }
        told.push(&refusal.reason);
        for alike in refused.iter().filter(|it| it.reason == refusal.reason) {
            writeln!(out, "refused: {}", named(&short_name(&alike.object)))?;
        }
        indented(out, &refusal.reason, width)?;
    }
    Ok(())
}

/// Prints what became of every change.
///
/// # Errors
/// When writing fails.
pub fn receipt_table(out: &mut dyn Write, receipt: &Receipt, width: usize) -> io::Result<()> {
    if !receipt.changes.is_empty() {
        writeln!(out, "{:<12}{:<8}OBJECT", "OUTCOME", "SIZE")?;
    }
    for change in &receipt.changes {
        let size = change.volume.as_ref().and_then(|it| it.capacity.as_deref()).unwrap_or("");
        writeln!(out, "{:<12}{:<8}{}", change.outcome, size, named(&short_name(&change.object)))?;
        indented(out, &change.detail, width)?;
    }
    refusals(out, &receipt.refusals, width)
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

/// Returns what became of all changes, in a line.
pub fn receipt_totals(receipt: &Receipt) -> String {
    let summary = &receipt.summary;
    let counts = [
        (summary.done, "done"),
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
    format!(
        "{}, {} in all{dry}; the journal is {}",
        told.join(", "),
        summary.capacity,
        receipt.metadata.journal
    )
}

fn named(name: &str) -> String {
    escape_control(name).into_owned()
}

fn indented(out: &mut dyn Write, text: &str, width: usize) -> io::Result<()> {
    for line in wrap(&escape_control(text), width.max(40) - 4) {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// The age, marked when it is a bound.
fn age(change: &PlannedChange) -> String {
    let Some(age) = &change.age else { return String::new() };
    match age.seconds {
        None => "?".to_owned(),
        Some(seconds) if age.trust == "lower-bound" => format!(">{}", format_age(seconds)),
        Some(seconds) if age.trust == "corroborated" => format_age(seconds),
        Some(seconds) => format!("{}?", format_age(seconds)),
    }
}

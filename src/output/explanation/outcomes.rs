//! The effects of operations as text: those of one operation together, alike ones in groups.

use std::io;

use super::Outcome;
use super::lines::{BOTTOM, LabelledLines};
use crate::model::format_bytes;
use crate::output::report::short_name;

/// How many objects of one group are named.
const NAMED: usize = 5;
/// From how many effects of one operation on they are shown in groups.
const MANY: usize = 4;

/// The operation that is always told by itself.
const DELETED: &str = "it is deleted";

/// Prints the effects of every operation. Those that destroy nothing share a line: their reasons are
/// in `-o json`.
pub(super) fn print(lines: &mut LabelledLines, outcomes: &[Outcome]) -> io::Result<()> {
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

/// An effect in words. Scripts rely on the words of `then`, people on Kubernetes' own.
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

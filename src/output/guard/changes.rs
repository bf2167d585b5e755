//! What `guard` writes, in its public shape and as text.

use std::io::{self, Write};

use serde_json::Value;

use super::shape::{GuardChange, GuardChangeDifference, GuardRules};
use crate::guard::{Difference, GuardOptions, Step};
use crate::model::{ObjectRef, Uid, escape_control};
use crate::output::publish::reference;

/// Puts writes into their public shape.
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

/// Puts options into their public shape.
pub(super) fn rules(options: &GuardOptions) -> GuardRules {
    let accounts = options.denied_accounts.iter();
    GuardRules {
        volumes: options.volumes.to_string(),
        break_glass_group: options.break_glass.clone(),
        denied_accounts: accounts.map(|(namespace, name)| format!("{namespace}/{name}")).collect(),
        passed_users: options.passed_users.iter().cloned().collect(),
    }
}

/// Shows writes: one line for each object, and one for each field that changes. All objects record the same
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

/// Returns the line that says how a write ended.
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

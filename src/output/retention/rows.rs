//! The table for scripts, one line for each claim.

use std::io::{self, Write};

use super::groups::{owner_word, should_word};
use super::{RetentionClaim, RetentionOther, RetentionSet};
use crate::model::escape_control;
use crate::output::cells::age_cell;
use crate::output::table::{TableStyle, TextTable};

const NARROW: [&str; 11] = [
    "NAMESPACE",
    "SET",
    "CLAIM",
    "STATE",
    "AGE",
    "SIZE",
    "OWNER",
    "SHOULD-BE",
    "AGREEMENT",
    "IF-DELETED",
    "IF-SCALED",
];
const WIDE: [&str; 17] = [
    "NAMESPACE",
    "SET",
    "CLAIM",
    "STATE",
    "AGE",
    "SIZE",
    "OWNER",
    "SHOULD-BE",
    "AGREEMENT",
    "IF-DELETED",
    "IF-SCALED",
    "TEMPLATE",
    "ORDINAL",
    "POLICY",
    "RECLAIM",
    "VOLUME",
    "FINDINGS",
];

/// Prints one line for each claim.
///
/// # Errors
/// When writing fails.
pub(crate) fn print(
    out: &mut dyn Write,
    sets: &mut dyn Iterator<Item = RetentionSet>,
    others: &[RetentionOther],
    wide: bool,
    headers: bool,
) -> io::Result<()> {
    let look = TableStyle { headers, width: None, escape: escape_control };
    let names: &[&str] = if wide { &WIDE } else { &NARROW };
    let mut table = TextTable::new(out, names, look);
    let mut any = false;
    for set in sets {
        for claim in &set.claims {
            any = true;
            table.row(cells(&set, claim, wide))?;
        }
    }
    for other in others {
        any = true;
        let object = &other.object;
        let mut row = vec![String::new(); names.len()];
        row[0] = object.namespace.clone().unwrap_or_default();
        "<none>".clone_into(&mut row[1]);
        row[2].clone_from(&object.name);
        row[3].clone_from(&other.reason);
        row[5] = other.size.clone().unwrap_or_default();
        table.row(row)?;
    }
    if any { table.finish() } else { Ok(()) }
}

fn cells(set: &RetentionSet, claim: &RetentionClaim, wide: bool) -> Vec<String> {
    let none = || "<none>".to_owned();
    let mut cells = vec![
        claim.object.namespace.clone().unwrap_or_default(),
        set.object.name.clone(),
        claim.object.name.clone(),
        claim.place.clone(),
        age_cell(claim.age.as_ref(), "<unknown>"),
        claim.size.clone().unwrap_or_default(),
        owner_word(claim),
        should_word(claim),
        claim.agreement.clone(),
        claim.if_set_deleted.word().to_owned(),
        claim.if_scaled_to_zero.word().to_owned(),
    ];
    if wide {
        let policy = set.policy.as_ref();
        let policy = policy.map(|it| format!("{}/{}", it.when_deleted, it.when_scaled));
        let ids: Vec<_> = claim.findings.iter().map(|it| &*it.id).collect();
        cells.extend([
            claim.template.clone(),
            claim.ordinal.to_string(),
            policy.unwrap_or_else(none),
            claim.reclaim_policy.clone().unwrap_or_else(none),
            claim.volume.clone().unwrap_or_else(none),
            if ids.is_empty() { none() } else { ids.join(",") },
        ]);
    }
    cells
}

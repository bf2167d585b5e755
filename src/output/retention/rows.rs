//! Rows of claims for scripts, one line for each, and groups of claims that say the same.

use std::io::{self, Write};

use super::{RetentionClaim, RetentionOther, RetentionSet};
use crate::output::{
    lines::readable,
    table::{TableStyle, TextTable, age_cell},
};

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
    let look = TableStyle { headers, width: None, escape: readable };
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

/// Claims of one template that say the same.
pub(super) struct ClaimGroup<'a> {
    pub(super) claims: Vec<&'a RetentionClaim>,
    key: GroupKey<'a>,
}

#[derive(PartialEq, Eq)]
struct GroupKey<'a> {
    template: &'a str,
    place: &'a str,
    owner: String,
    agreement: &'a str,
    because: &'a str,
    effects: [&'a str; 2],
    age: String,
    findings: Vec<(&'a str, &'a str)>,
}

impl ClaimGroup<'_> {
    /// Returns the first claim of the group, whose words are those of all.
    pub(super) fn first(&self) -> &RetentionClaim {
        self.claims[0]
    }

    /// Returns the size of all claims together, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.claims.iter().map(|it| it.bytes).fold(0, u64::saturating_add)
    }

    /// Returns the names of the claims.
    pub(super) fn names(&self) -> Vec<String> {
        runs(self.claims.iter().map(|it| (&*it.object.name, it.ordinal)))
    }
}

/// Returns the names of claims of the templates of a set, those of consecutive ordinals as the shell reads them:
/// `data-web-{0..2}`.
pub(super) fn runs<'a>(claims: impl Iterator<Item = (&'a str, i32)>) -> Vec<String> {
    let mut runs: Vec<(&str, i32, i32)> = Vec::new();
    for (name, ordinal) in claims {
        let stem = name.rsplit_once('-').map_or(name, |(stem, _)| stem);
        match runs.last_mut() {
            Some((known, _, last)) if *known == stem && last.checked_add(1) == Some(ordinal) => {
                *last = ordinal;
            }
            _ => runs.push((stem, ordinal, ordinal)),
        }
    }
    let name = |(stem, first, last): (&str, i32, i32)| match last - first {
        0 => vec![format!("{stem}-{first}")],
        1 => vec![format!("{stem}-{first}"), format!("{stem}-{last}")],
        _ => vec![format!("{stem}-{{{first}..{last}}}")],
    };
    runs.into_iter().flat_map(name).collect()
}

/// Groups the claims of a set, in the order of the first of each group.
pub(super) fn groups(set: &RetentionSet) -> Vec<ClaimGroup<'_>> {
    let mut groups: Vec<ClaimGroup> = Vec::new();
    for claim in &set.claims {
        let key = GroupKey {
            template: &claim.template,
            place: &claim.place,
            owner: owner_word(claim),
            agreement: &claim.agreement,
            because: &claim.because,
            effects: [claim.if_set_deleted.word(), claim.if_scaled_to_zero.word()],
            age: age_cell(claim.age.as_ref(), "?"),
            findings: claim.findings.iter().map(|it| (&*it.id, &*it.summary)).collect(),
        };
        match groups.iter_mut().find(|it| it.key == key) {
            Some(group) => group.claims.push(claim),
            None => groups.push(ClaimGroup { claims: vec![claim], key }),
        }
    }
    groups
}

/// Returns the current owners of a claim, in a word for each.
pub(super) fn owner_word(claim: &RetentionClaim) -> String {
    let mut words: Vec<&str> = Vec::new();
    for owner in &claim.owners {
        let word = match (owner.surplus.as_deref(), &*owner.kind) {
            (Some("earlier-set" | "earlier-pod"), _) => "earlier",
            (_, "StatefulSet") if owner.api_version == "apps/v1" => "set",
            (_, "Pod") => "pod",
            _ => "other",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() { "none".to_owned() } else { words.join("+") }
}

/// Returns the owners that a claim should have, in a word for each.
pub(super) fn should_word(claim: &RetentionClaim) -> String {
    let word = |kind: &String| if kind == "Pod" { "pod" } else { "set" };
    let words: Vec<_> = claim.should_be_owned_by.iter().map(word).collect();
    if words.is_empty() { "none".to_owned() } else { words.join("+") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_ordinals_are_one_name() {
        let of = |names: &[(&'static str, i32)]| runs(names.iter().copied()).join(" ");
        assert_eq!(of(&[("data-web-0", 0)]), "data-web-0");
        assert_eq!(of(&[("data-web-0", 0), ("data-web-1", 1)]), "data-web-0 data-web-1");
        let many = [("d-w-0", 0), ("d-w-1", 1), ("d-w-2", 2), ("d-w-5", 5), ("l-w-6", 6)];
        assert_eq!(of(&many), "d-w-{0..2} d-w-5 l-w-6");
        assert_eq!(of(&[("d-w-2147483647", i32::MAX)]), "d-w-2147483647");
    }
}

//! Entries of the screen, into which findings are sorted: causes first, findings that say the same together.

use std::collections::HashMap;

use crate::{
    model::Severity,
    rules::{self, CapacityRisk, find},
};

/// A finding, reduced to what decides its place.
#[derive(Debug, Clone)]
pub struct Listed {
    pub severity: Severity,
    pub id: String,
    /// The object as people name it: with the id, the identity of a finding.
    pub object: String,
    /// The kind of the object.
    pub kind: String,
    /// The command that explains the object.
    pub explain: Option<String>,
    pub age: String,
    pub size: String,
    /// The findings that explain this one: id and object.
    pub causes: Vec<(String, String)>,
    /// Index of the finding's text.
    pub text: usize,
}

/// Entry of the screen, with findings that say the same and those that follow from them. Every finding is in exactly
/// one: as an object or as a follower.
#[derive(Debug, Default)]
pub struct Entry {
    /// The worst severity of the entry's findings.
    pub severity: Option<Severity>,
    /// Findings that say the same, each about its object.
    pub objects: Vec<usize>,
    /// Findings that `objects` explain, directly or by way of others.
    pub followers: Vec<usize>,
    /// Causes beneath which the entry is not folded: out of scope, or less dangerous than the entry.
    pub unfolded_causes: Vec<String>,
}

/// Sorts findings into entries, in the order of the first finding of each.
pub fn entries(listed: &[Listed]) -> Vec<Entry> {
    let places: HashMap<(&str, &str), usize> =
        listed.iter().enumerate().map(|(index, it)| ((&*it.id, &*it.object), index)).collect();
    let above: Vec<Option<usize>> = listed
        .iter()
        .map(|it| {
            let mut causes = it.causes.iter().filter(|(id, _)| may_fold(&it.id, id));
            causes.find_map(|(id, object)| places.get(&(&**id, &**object)).copied())
        })
        .collect();
    let roots: Vec<usize> = (0..listed.len()).map(|index| root(&above, index)).collect();

    // The worst of what follows counts, too: nothing is ranked lower because it is explained.
    let mut worst: Vec<Severity> = listed.iter().map(|it| it.severity).collect();
    for (index, root) in roots.iter().enumerate() {
        worst[*root] = worst[*root].min(listed[index].severity);
    }

    let mut entries: Vec<Entry> = Vec::new();
    let mut by_text: HashMap<(usize, Severity, Vec<String>), usize> = HashMap::new();
    let mut by_root: HashMap<usize, usize> = HashMap::new();
    for (index, root) in roots.iter().enumerate() {
        let entry = *by_root.entry(*root).or_insert_with(|| {
            let it = &listed[*root];
            let causes = unfolded(it);
            let key = (it.text, worst[*root], causes.clone());
            *by_text.entry(key).or_insert_with(|| {
                entries.push(Entry {
                    severity: Some(worst[*root]),
                    unfolded_causes: causes,
                    ..Entry::default()
                });
                entries.len() - 1
            })
        });
        let entry = &mut entries[entry];
        if index == *root { entry.objects.push(index) } else { entry.followers.push(index) }
    }
    entries
}

/// Returns the finding at the end of a chain of causes. Rules do not explain each other in a circle; a report that
/// claims so ends somewhere.
fn root(above: &[Option<usize>], start: usize) -> usize {
    let mut at = start;
    for _ in 0..above.len().min(16) {
        match above[at] {
            Some(cause) => at = cause,
            None => break,
        }
    }
    at
}

/// Whether a finding may stand beneath its cause without being shown itself: not if it has a danger
/// for data that the cause has not.
fn may_fold(effect: &str, cause: &str) -> bool {
    if !rules::stands_above(cause) {
        return false;
    }
    let risk = |id: &str| match find(id).map_or(CapacityRisk::None, |rule| rule.capacity_risk) {
        CapacityRisk::Deletion => CapacityRisk::Data,
        CapacityRisk::Unused => CapacityRisk::None,
        other => other,
    };
    risk(effect) == CapacityRisk::None || risk(effect) == risk(cause)
}

fn unfolded(it: &Listed) -> Vec<String> {
    let shown = |(id, object): &(String, String)| match *object == it.object {
        true => id.clone(),
        false => format!("{id} ({object})"),
    };
    it.causes.iter().map(shown).collect()
}

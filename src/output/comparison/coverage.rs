//! The findings that a report would list if they were there.

use std::collections::HashMap;

use super::{ClusterName, ReportClusters, SavedFinding, is_another};
use crate::{
    model::Kind,
    output::wire::{Gap, NamedFinding, ObjectReference, ReportScope},
    rules,
};

/// The findings that a report would list: its clusters, its scope, its gaps and what it hides.
#[derive(Clone, Copy)]
pub struct ReportCoverage<'a> {
    pub(super) clusters: &'a ReportClusters,
    pub(super) scope: &'a ReportScope,
    pub(super) gaps: &'a [Gap],
    /// Numbers of findings that are not listed, by rule; `None` if all are listed.
    pub(super) hidden: Option<&'a HashMap<String, usize>>,
    /// Whether it is the earlier one of both reports.
    pub(super) is_earlier: bool,
}

impl<'a> ReportCoverage<'a> {
    /// Returns the coverage of a report whose findings are all compared, also those that `--severity` hides.
    pub fn of_all(clusters: &'a ReportClusters, scope: &'a ReportScope, gaps: &'a [Gap]) -> Self {
        Self { clusters, scope, gaps, hidden: None, is_earlier: false }
    }

    /// Returns why a report may lack a finding that exists; `None` if it would have it. `other` is what the report that
    /// has it was asked about; gaps in `shared` limited both alike.
    pub(super) fn blind(
        &self,
        finding: &SavedFinding,
        other: &ReportScope,
        shared: &[Gap],
    ) -> Option<String> {
        let scope = self.scope;
        let SavedFinding { id, cluster, object, .. } = finding;
        let same = |it: &ObjectReference| {
            (&it.kind, &it.namespace, &it.name) == (&object.kind, &object.namespace, &object.name)
        };
        if rules::find(id).is_none() {
            return Some(format!("this version does not know {id}"));
        }
        if !self.clusters.has(cluster) {
            return Some(not_read(cluster.as_deref()));
        }
        if rules::USAGE.iter().any(|it| it.id == *id) {
            match self.clusters.contents.usage {
                None => return Some("no figures of volumes were read".to_owned()),
                // What is not measured any more is not cleared.
                Some(false) => return Some("not every claim was measured".to_owned()),
                Some(true) => {}
            }
        }
        if !self.clusters.contents.disks && rules::INVENTORY.iter().any(|it| it.id == *id) {
            return Some("no disks of providers were compared".to_owned());
        }
        if !scope.asks_for(id) {
            return Some(format!("{id} was not asked for"));
        }
        // Not every report says by which namespace, and none says by which labels, an object was selected: where both
        // selected alike, both would have it.
        let namespace = finding.namespace();
        let is_in = |it: &String| Some(&**it) == namespace;
        let is_elsewhere = !(scope.namespaces.is_empty() || scope.namespaces.iter().any(is_in));
        if is_elsewhere && scope.namespaces != other.namespaces {
            return Some(format!("only namespace {} was asked for", scope.namespaces.join(", ")));
        }
        if !(scope.objects.is_empty() || scope.objects.iter().any(same)) {
            return Some("other objects were asked for".to_owned());
        }
        let selected = |of: fn(&ReportScope) -> &Option<String>| {
            of(scope).as_ref().filter(|_| of(other) != of(scope))
        };
        if let Some(selector) = selected(|it| &it.selector).or(selected(|it| &it.field_selector)) {
            return Some(format!("only {selector} was asked for"));
        }
        let left_out = |it: &NamedFinding| {
            it.cluster == *cluster && same(&it.object) && !is_another(&it.object, object)
        };
        if scope.exempted.iter().any(|it| it.id == *id && left_out(it)) {
            return Some("an annotation of the object leaves it out".to_owned());
        }
        let is_hidden = self.hidden.is_some_and(|it| it.get(id).is_some_and(|count| *count > 0));
        if let Some(hidden) = scope.hidden.as_ref().filter(|_| is_hidden) {
            return Some(format!("not all findings are listed: {} are left out", hidden.what()));
        }
        let elsewhere = |gap: &Gap| {
            gap.cluster == *cluster
                && gap.namespace.as_deref().zip(namespace).is_some_and(|(a, b)| a != b)
        };
        let is_shared = |gap: &Gap| shared.iter().any(|other| other.place() == gap.place());
        let limits = |gap: &&Gap| {
            gap.ids.contains(id)
                && is_looked_at(id, &gap.resource)
                && !elsewhere(gap)
                && !is_shared(gap)
        };
        let unread = |of: &ClusterName| {
            let gap = self.gaps.iter().filter(|it| it.cluster == *of).find(limits)?;
            Some(match gap.resource == Gap::ALL_KINDS {
                true => not_read(of.as_deref()),
                false => format!("{} could not all be read", gap.place()),
            })
        };
        unread(cluster).or_else(|| self.blind_beyond(finding, unread))
    }

    /// Returns why a report may lack a finding that comparing clusters has made: of the other clusters which the finding
    /// names, an earlier report has seen none, or a later one not all.
    fn blind_beyond(
        &self,
        finding: &SavedFinding,
        unread: impl Fn(&ClusterName) -> Option<String>,
    ) -> Option<String> {
        if !rules::BETWEEN_CLUSTERS.iter().any(|it| it.id == finding.id) {
            return None;
        }
        if !self.clusters.are_compared {
            return Some("clusters were not compared".to_owned());
        }
        let blind = |name: &String| {
            let cluster = Some(name.clone());
            match self.clusters.has(&cluster) {
                true => unread(&cluster),
                false => Some(not_read(Some(name))),
            }
        };
        let mut reasons = finding.beyond.iter().filter_map(blind);
        let (first, others) = (reasons.next()?, reasons.count());
        (!self.is_earlier || others + 1 == finding.beyond.len()).then_some(first)
    }
}

fn not_read(cluster: Option<&str>) -> String {
    let cluster = cluster.map_or("its cluster".to_owned(), |it| format!("cluster {it}"));
    format!("{cluster} was not read")
}

/// Whether a rule needs objects of a resource.
fn is_looked_at(id: &str, resource: &str) -> bool {
    let needs = |rule: &rules::Rule| rule.needs.iter().any(|kind| kind.plural() == resource);
    // The gap of an inventory names the rule that needs it.
    let is_inventory = Kind::parse_resource(resource).is_some_and(Kind::is_inventory);
    resource == Gap::ALL_KINDS || is_inventory || rules::find(id).is_some_and(needs)
}

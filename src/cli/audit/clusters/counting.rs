//! Numbers of one of several clusters: what metrics say of it, and what its gaps limit.

use std::collections::BTreeMap;

use super::JudgedCluster;
use crate::{
    model::RuleId,
    rules::{BETWEEN_CLUSTERS, Rule, UnreadGap},
    watch::report::MeasuredCluster,
};

impl<T> JudgedCluster<T> {
    /// Returns the numbers of the cluster for metrics.
    pub(super) fn measured(&self) -> MeasuredCluster {
        MeasuredCluster {
            name: self.name.to_string(),
            totals: self.totals.clone(),
            gaps: self.unread.clone(),
            taken_at: self.clock,
        }
    }
}

/// Numbers of findings by a name.
pub(super) fn counts<K>(
    counts: &BTreeMap<K, usize>,
    name: fn(&K) -> &str,
) -> BTreeMap<String, usize> {
    counts.iter().map(|(key, count)| (name(key).to_owned(), *count)).collect()
}

/// The checks that compare clusters and that a gap limits.
pub(super) fn limited_between(unread: &UnreadGap) -> impl Iterator<Item = RuleId> + '_ {
    let is_lost = move |rule: &&&'static Rule| rule.needs.contains(&unread.gap.kind);
    BETWEEN_CLUSTERS.iter().filter(is_lost).map(|it| it.id)
}

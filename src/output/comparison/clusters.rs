//! The clusters of two reports that are compared: which of them are the same, and what both are called.

use std::collections::{BTreeMap, BTreeSet};

use crate::output::wire::{ComparableContents, ReportMetadata};

/// Name of a cluster in a report about several; `None` in a report about one.
pub type ClusterName = Option<String>;

/// A cluster that a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedCluster<'a> {
    /// The name of the cluster, if the report is about several.
    pub name: Option<&'a str>,
    /// The uid of its namespace `kube-system`, if that is known.
    pub uid: Option<&'a str>,
}

/// Returns the clusters that a report is about.
fn listed(metadata: &ReportMetadata) -> Vec<ListedCluster<'_>> {
    if metadata.clusters.is_empty() {
        return vec![ListedCluster { name: None, uid: metadata.cluster.uid.as_deref() }];
    }
    let all = metadata.clusters.iter();
    all.map(|it| ListedCluster { name: Some(&it.name), uid: it.identity.uid.as_deref() }).collect()
}

/// The clusters of an earlier and a later report, by which of them are the same.
#[derive(Debug, Default)]
pub struct PairedClusters<'a> {
    /// The clusters that both reports are about, as the earlier and as the later one lists them.
    pub both: Vec<(ListedCluster<'a>, ListedCluster<'a>)>,
    /// The clusters that only the earlier report is about.
    pub only_old: Vec<ListedCluster<'a>>,
    /// The clusters that only the later report is about.
    pub only_new: Vec<ListedCluster<'a>>,
}

impl<'a> PairedClusters<'a> {
    /// Finds the clusters of two reports that are the same: by uid and name, else by a uid that only one of each report
    /// has, else by name where a uid is unknown.
    pub fn of(old: &'a ReportMetadata, new: &'a ReportMetadata) -> Self {
        type IsSame = fn(&ListedCluster<'_>, &ListedCluster<'_>) -> bool;
        let ways: [IsSame; 3] = [
            |a, b| a.uid.is_some() && a == b,
            |a, b| a.uid.is_some() && a.uid == b.uid,
            |a, b| a.name == b.name && (a.uid.is_none() || b.uid.is_none()),
        ];
        let mut paired = Self { both: Vec::new(), only_old: listed(old), only_new: listed(new) };
        for is_same in ways {
            paired.pair(is_same);
        }
        paired
    }

    fn pair(&mut self, is_same: impl Fn(&ListedCluster<'_>, &ListedCluster<'_>) -> bool) {
        let mut at = 0;
        while let Some(old) = self.only_old.get(at) {
            let places = 0..self.only_new.len();
            let fitting: Vec<_> = places.filter(|it| is_same(old, &self.only_new[*it])).collect();
            let is_only = |new: usize| {
                let new = &self.only_new[new];
                self.only_old.iter().filter(|it| is_same(it, new)).count() == 1
            };
            match fitting[..] {
                [new] if is_only(new) => {
                    self.both.push((self.only_old.remove(at), self.only_new.remove(new)));
                }
                _ => at += 1,
            }
        }
    }

    /// Returns what to call each cluster of the earlier report: what the later one calls it, or its own name, which is
    /// told apart from those of other clusters.
    pub(super) fn names(&self) -> BTreeMap<ClusterName, ClusterName> {
        let owned = |name: Option<&str>| name.map(str::to_owned);
        let both = self.both.iter().map(|(old, new)| (owned(old.name), owned(new.name)));
        let mut names: BTreeMap<_, _> = both.collect();
        for it in &self.only_old {
            names.insert(owned(it.name), self.apart(it));
        }
        names
    }

    /// Returns the name of a cluster that only the earlier report is about, told apart from those of the later one.
    pub fn apart(&self, cluster: &ListedCluster<'_>) -> ClusterName {
        let name = cluster.name?;
        let mut new = self.both.iter().map(|it| &it.1).chain(&self.only_new);
        Some(match new.any(|it| it.name == cluster.name) {
            true => format!("{name} ({})", cluster.uid.unwrap_or("uid unknown")),
            false => name.to_owned(),
        })
    }
}

/// The clusters that a report is about, by what the later of two compared reports calls them.
#[derive(Debug, Clone, Default)]
pub struct ReportClusters {
    /// The names of the clusters.
    pub(super) names: BTreeSet<ClusterName>,
    /// Whether the report is about several, which it compares.
    pub(super) are_compared: bool,
    /// What else it is about.
    pub(super) contents: ComparableContents,
}

impl ReportClusters {
    /// Returns the clusters of a report, by its own names, and what else it is about.
    pub fn of(metadata: &ReportMetadata, contents: ComparableContents) -> Self {
        let names = listed(metadata).into_iter().map(|it| it.name.map(str::to_owned)).collect();
        Self { names, are_compared: !metadata.clusters.is_empty(), contents }
    }

    /// Whether the report is about a cluster.
    pub(super) fn has(&self, cluster: &ClusterName) -> bool {
        self.names.contains(cluster)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A report about clusters, each with its name and its uid; a name that is empty is that of a report about one.
    fn report(clusters: &[(&str, &str)]) -> ReportMetadata {
        let uid = |uid: &str| if uid.is_empty() { json!(null) } else { json!(uid) };
        let mut report = json!({
            "source": "dump", "cluster": {}, "tool": {"version": "0.1.0"}, "thresholds": {},
        });
        match clusters {
            [("", one)] => report["cluster"] = json!({"uid": uid(one)}),
            several => {
                let cluster = |(name, its): &(&str, &str)| {
                    json!({
                        "name": name, "uid": uid(its), "source": "dump",
                        "volumes": 0, "claims": 0, "findings": 0, "gaps": 0,
                    })
                };
                report["clusters"] = several.iter().map(cluster).collect();
            }
        }
        serde_json::from_value(report).expect("it has that shape")
    }

    #[test]
    fn clusters_are_the_same_by_uid_before_name() {
        for (old, new, names) in [
            (&[("", "a")][..], &[("", "a")][..], "-:-"),
            (&[("", "a")], &[("", "")], "-:-"),
            (&[("", "a")], &[("eu", "a"), ("us", "b")], "-:eu"),
            (&[("eu", "a"), ("us", "b")], &[("", "a")], "eu:- us:us"),
            (&[("eu", "a")], &[("europe", "a"), ("eu", "b")], "eu:europe"),
            // Another cluster has taken the name.
            (&[("eu", "a")], &[("eu", "b"), ("us", "c")], "eu:eu (a)"),
            // Not read this time.
            (&[("eu", "a"), ("us", "b")], &[("eu", "a"), ("us", "")], "eu:eu us:us"),
            (&[("eu", "a"), ("us", "b")], &[("eu", ""), ("europe", "a")], "eu:europe us:us"),
            (&[("eu", ""), ("x", "a")], &[("eu", "a")], "eu:eu (uid unknown) x:eu"),
            // One was cloned from the other.
            (&[("eu", "a"), ("us", "a")], &[("us", "a"), ("eu", "a")], "eu:eu us:us"),
            (&[("eu", "a"), ("us", "a")], &[("one", "a"), ("two", "a")], "eu:eu us:us"),
            (&[("eu", "a"), ("us", "a")], &[("eu", "a"), ("two", "a")], "eu:eu us:two"),
        ] {
            let (old, new) = (report(old), report(new));
            let paired = PairedClusters::of(&old, &new);
            let shown = |name: &ClusterName| name.clone().unwrap_or_else(|| "-".to_owned());
            let told = paired
                .names()
                .iter()
                .map(|(a, b)| format!("{}:{}", shown(a), shown(b)))
                .collect::<Vec<_>>();
            assert_eq!(told.join(" "), names, "{paired:?}");
        }
    }
}

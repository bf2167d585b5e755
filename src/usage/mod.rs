//! How full volumes are, as kubelets measured it: in answers of Prometheus and of kubelets, as files.
//!
//! Nothing here asks anybody, and nothing knows a cluster: whose figures these are, `facts` judges.

mod exposition;
mod history;
mod json;
mod read;
mod saved;

use std::collections::{BTreeMap, HashMap};

pub(crate) use history::UsageHistory;
#[cfg(test)]
pub(crate) use read::figures_of;
pub(crate) use read::{UsageError, read, read_summary};
pub(crate) use saved::{SavedFigures, SavedNode};

use crate::model::{Bytes, ClaimKey, Text, Time, escape_control, shorten};

/// What one kubelet measured of the volume of a claim.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VolumeFigures {
    /// The node or the scraped address; `None` where the source does not tell.
    pub(crate) node: Option<Text>,
    /// What was measured, by [`VolumeMeasure`]; `None` where nothing was.
    measured: [Option<MeasuredValue>; 5],
    /// Whether two series tell different values of one moment.
    pub(crate) contradicts: bool,
    /// Whether the time is that of a query, and the measurement may be up to five minutes older
    /// (`--query.lookback-delta` of Prometheus).
    pub(crate) is_evaluated: bool,
    /// Development of what is available, what is used and of the size, where the source has one.
    pub(crate) history: Option<Box<UsageHistory>>,
}

/// A measured value, and the time of the measurement; `None` for what is not told.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MeasuredValue {
    value: Option<u64>,
    at: Option<Time>,
}

impl VolumeFigures {
    /// Returns a value, where it is known.
    pub(crate) fn get(&self, measure: VolumeMeasure) -> Option<u64> {
        self.measured[measure as usize]?.value
    }

    /// Returns the time of the measurement of bytes: where they were not measured together, the earliest; `None` where
    /// one is not told.
    pub(crate) fn at(&self) -> Option<Time> {
        let bytes = [VolumeMeasure::Capacity, VolumeMeasure::Available, VolumeMeasure::Used];
        bytes.iter().filter_map(|it| self.measured[*it as usize]).map(|it| it.at).min()?
    }

    /// Returns the time of the measurement of one of them.
    pub(crate) fn at_of(&self, measure: VolumeMeasure) -> Option<Time> {
        self.measured[measure as usize]?.at
    }

    /// Takes a value, unless a later one is known. What is not known is later, too.
    fn take(&mut self, measure: VolumeMeasure, value: Option<u64>, at: Option<Time>) {
        let known = &mut self.measured[measure as usize];
        // Two that scrape the same tell nearly the same twice.
        if let Some((one, other)) = known.and_then(|it| it.value.filter(|_| it.at == at).zip(value))
        {
            self.contradicts |= differ(one, other, one.max(other));
        }
        if known.is_none_or(|it| it.at <= at) {
            *known = Some(MeasuredValue { value, at });
        }
    }
}

/// Figures of all claims that were read, one for each node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageFigures {
    claims: HashMap<ClaimKey, Vec<VolumeFigures>>,
    /// The claim that reports a size with this much available, on any node and on each; `None` where several do, as those
    /// of one file system.
    alike: HashMap<([Bytes; 2], Option<Text>), Option<ClaimKey>>,
    /// The value of each label that tells of clusters.
    clusters: ClusterLabels,
    /// Why kubelets that were asked themselves did not answer, by node.
    silent: BTreeMap<Text, Text>,
}

impl UsageFigures {
    /// Returns what is known if this kubelet did not answer, and why.
    pub(crate) fn without(node: Text, why: Text) -> Self {
        Self { silent: BTreeMap::from([(node, why)]), ..Self::default() }
    }

    /// Returns the figures of one claim.
    pub(crate) fn of_claim(claim: ClaimKey, figures: VolumeFigures) -> Self {
        let mut all = Self::default();
        all.take(claim, vec![figures]);
        all
    }

    /// Returns why the kubelet of a node did not answer, if it was asked.
    pub(crate) fn silence(&self, node: &str) -> Option<&Text> {
        self.silent.get(node)
    }

    /// Returns the nodes whose kubelets did not answer, with the reasons.
    pub(crate) const fn silent(&self) -> &BTreeMap<Text, Text> {
        &self.silent
    }

    /// Returns the figures of a claim.
    pub(crate) fn of(&self, claim: &ClaimKey) -> &[VolumeFigures] {
        self.claims.get(claim).map_or(&[], Vec::as_slice)
    }

    /// Whether several claims report a file system of this size with this much available, on this node or on any. Full ones
    /// are all alike.
    pub(crate) fn are_alike(&self, [capacity, available]: [Bytes; 2], node: Option<&Text>) -> bool {
        let known = self.alike.get(&([capacity, available], node.cloned()));
        available > 0 && known.is_some_and(Option::is_none)
    }

    /// Returns the claims that have figures.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &ClaimKey> {
        self.claims.keys()
    }

    /// Adds the figures of a file that was read to its end.
    ///
    /// # Errors
    /// When it is about another cluster than the files before it; nothing is added then.
    pub(crate) fn add(&mut self, file: UsageFile) -> Result<(), UsageError> {
        if let Some(why) = self.conflict(&file.figures) {
            return Err(UsageError::Foreign { name: file.name, why });
        }
        self.join(file.figures);
        Ok(())
    }

    /// Returns why other figures are not of the same cluster, if their labels tell that.
    pub(crate) fn conflict(&self, other: &Self) -> Option<String> {
        let mut labels = self.clusters.clone();
        let mut others = other.clusters.values.iter();
        others.find_map(|(label, value)| labels.take(label, value).err())
    }

    /// Returns a label that calls the cluster of both the same.
    pub(crate) fn same_cluster(&self, other: &Self) -> Option<String> {
        let mut own = self.clusters.values.iter();
        let same = own.find(|(label, value)| other.clusters.values.get(*label) == Some(value))?;
        Some(format!("{}=\"{}\"", same.0, escape_control(same.1)))
    }

    /// Adds figures of the same cluster.
    pub(crate) fn join(&mut self, other: Self) {
        self.clusters.values.extend(other.clusters.values);
        for (claim, of_claim) in other.claims {
            self.take(claim, of_claim);
        }
        self.silent.extend(other.silent);
    }

    fn take(&mut self, claim: ClaimKey, of_claim: Vec<VolumeFigures>) {
        for it in &of_claim {
            let bytes = [VolumeMeasure::Capacity, VolumeMeasure::Available].map(|of| it.get(of));
            if let [Some(capacity), Some(available)] = bytes {
                for node in std::iter::once(None).chain(it.node.clone().map(Some)) {
                    let first = self.alike.entry(([capacity, available], node));
                    first.or_insert_with(|| Some(claim.clone())).take_if(|it| *it != claim);
                }
            }
        }
        self.claims.entry(claim).or_default().extend(of_claim);
    }

    /// Sets the time of what has none.
    pub(crate) fn measured_at(&mut self, time: Time) {
        let values = self.claims.values_mut().flatten().flat_map(|it| &mut it.measured);
        for value in values.flatten() {
            value.at.get_or_insert(time);
        }
    }
}

/// The value of each label that tells of clusters, which is one for all that is read together.
#[derive(Debug, Clone, Default, PartialEq)]
struct ClusterLabels {
    values: BTreeMap<String, String>,
    /// Whether a series has none of them.
    is_any_without: bool,
}

impl ClusterLabels {
    /// Takes the labels of a series.
    ///
    /// # Errors
    /// When one has another value already, or only some series tell of a cluster.
    fn take_all(&mut self, labels: &BTreeMap<String, String>) -> Result<(), String> {
        for (label, value) in labels {
            self.take(label, value)?;
        }
        self.is_any_without |= !labels.keys().any(|it| Self::tells_of_clusters(it));
        match self.values.iter().next().filter(|_| self.is_any_without) {
            None => Ok(()),
            Some((label, value)) => Err(format!(
                "it is about several clusters: some series have label {label} (\"{}\"), and some have none; query one of them",
                escape_control(&shorten(value, 60))
            )),
        }
    }

    /// Takes the value of a label.
    ///
    /// # Errors
    /// When it has another one already.
    fn take(&mut self, label: &str, value: &str) -> Result<(), String> {
        if !Self::tells_of_clusters(label) {
            return Ok(());
        }
        let first = self.values.entry(label.to_owned()).or_insert_with(|| value.to_owned());
        if first == value {
            return Ok(());
        }
        let [first, value] = [first, value].map(|it| escape_control(&shorten(it, 60)).into_owned());
        Err(format!(
            "it is about several clusters: label {label} is \"{first}\" and \"{value}\"; query one of them"
        ))
    }

    /// Whether a label has the name of a cluster. Labels of nodes have names of groups, such as `cluster.x-k8s.io`.
    fn tells_of_clusters(label: &str) -> bool {
        let label = label.to_ascii_lowercase();
        let is_cluster = |it: &str| {
            let ends = ["", "_name", "_id", "_uid"].map(|end| format!("cluster{end}"));
            ends.iter().any(|end| it == end || it.ends_with(&format!("_{end}")))
        };
        is_cluster(&label) || label == "clustername" || label == "clusterid"
    }
}

/// What was read from a file.
#[derive(Debug, Default)]
pub(crate) struct UsageFile {
    /// The name by which messages call it.
    pub(crate) name: String,
    /// Its figures.
    figures: UsageFigures,
    /// What its source says about its completeness.
    pub(crate) warnings: Vec<String>,
}

/// What a series of `kubelet_volume_stats_…` measures (`pkg/kubelet/metrics/collectors/volume_stats.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VolumeMeasure {
    /// Size of the file system.
    Capacity,
    /// Bytes that may still be written: less than what is not used where blocks are reserved.
    Available,
    /// Bytes that are used.
    Used,
    /// Number of inodes.
    Inodes,
    /// Number of inodes that are used.
    InodesUsed,
}

impl VolumeMeasure {
    /// All of them, each at its own number.
    const ALL: [Self; 5] =
        [Self::Capacity, Self::Available, Self::Used, Self::Inodes, Self::InodesUsed];
    /// Beginning of the names.
    const PREFIX: &str = "kubelet_volume_stats_";

    /// Returns what a series of this name measures, if that is read.
    fn of(name: &str) -> Option<Self> {
        Some(match name.strip_prefix(Self::PREFIX)? {
            "capacity_bytes" => Self::Capacity,
            "available_bytes" => Self::Available,
            "used_bytes" => Self::Used,
            "inodes" => Self::Inodes,
            "inodes_used" => Self::InodesUsed,
            _ => return None,
        })
    }
}

/// Whether two measurements differ by more than a tenth of a whole.
pub(crate) const fn differ(one: u64, other: u64, whole: u64) -> bool {
    one.abs_diff(other) > whole / 10
}

/// Largest number that is a measure: what a driver does not know, it writes as -1, which becomes 2⁶⁴-1, or as 2⁶³-1.
const LARGEST: f64 = 9e18;

/// Returns a measured number; `None` for one that stands for what is not known.
fn measured(number: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    (0.0..LARGEST).contains(&number).then(|| number.round() as u64)
}

/// Returns a time in seconds since 1970; `None` for one that no calendar has.
fn seconds(number: f64) -> Option<Time> {
    #[expect(clippy::cast_possible_truncation, reason = "it saturates, and no calendar has that")]
    Time::from_timestamp_millis((number * 1000.0).round() as i64)
}

/// Returns a number of bytes for rates.
#[expect(clippy::cast_precision_loss, reason = "a rate is no count")]
const fn rate(bytes: u64) -> f64 {
    bytes as f64
}

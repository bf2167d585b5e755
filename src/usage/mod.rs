//! How full volumes are, as kubelets measured it: in answers of Prometheus and of kubelets, as files.
//!
//! Nothing here asks anybody, and nothing knows a cluster: whose figures these are, `facts` judges.

mod exposition;
mod history;
mod json;
mod read;

use std::collections::HashMap;

pub(crate) use history::UsageHistory;
#[cfg(test)]
pub(crate) use read::figures_of;
pub(crate) use read::{UsageInput, read};

use crate::model::{Bytes, ClaimKey, Text, Time};

/// What one kubelet measured of the volume of a claim. What it did not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VolumeFigures {
    /// The node or the scraped address; `None` where the source does not tell.
    pub(crate) node: Option<Text>,
    /// The time of the measurement; `None` where the source does not tell.
    pub(crate) at: Option<Time>,
    /// Size of the file system.
    pub(crate) capacity: Option<Bytes>,
    /// Bytes that may still be written: less than what is not used where blocks are reserved.
    pub(crate) available: Option<Bytes>,
    /// Bytes that are used.
    pub(crate) used: Option<Bytes>,
    /// Number of inodes.
    pub(crate) inodes: Option<u64>,
    /// Number of inodes that are used.
    pub(crate) inodes_used: Option<u64>,
    /// Development of the bytes, where the source has one.
    pub(crate) history: UsageHistory,
}

/// Figures of all claims that were read, one for each node.
#[derive(Debug, Default)]
pub(crate) struct UsageFigures {
    claims: HashMap<ClaimKey, Vec<VolumeFigures>>,
    /// Numbers of figures by size and what is available: those of one file system are the same.
    alike: HashMap<[Bytes; 2], usize>,
}

impl UsageFigures {
    /// Returns the figures of a claim.
    pub(crate) fn of(&self, claim: &ClaimKey) -> &[VolumeFigures] {
        self.claims.get(claim).map_or(&[], Vec::as_slice)
    }

    /// Returns how many figures of files that were added are those of a file system of this size with this much
    /// available.
    pub(crate) fn alike(&self, capacity: Bytes, available: Bytes) -> usize {
        self.alike.get(&[capacity, available]).copied().unwrap_or_default()
    }

    /// Returns the claims that have figures.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &ClaimKey> {
        self.claims.keys()
    }

    /// Adds the figures of a file that was read to its end.
    pub(crate) fn add(&mut self, file: UsageFile) {
        for (claim, of_claim) in file.figures.claims {
            for it in &of_claim {
                if let Some((capacity, available)) = it.capacity.zip(it.available) {
                    *self.alike.entry([capacity, available]).or_default() += 1;
                }
            }
            self.claims.entry(claim).or_default().extend(of_claim);
        }
    }

    /// Returns the figures of a claim on a node, to fill in.
    fn entry(&mut self, claim: ClaimKey, node: Option<Text>) -> &mut VolumeFigures {
        let all = self.claims.entry(claim).or_default();
        let at = all.iter().position(|it| it.node == node);
        let at = at.unwrap_or_else(|| {
            all.push(VolumeFigures { node, ..VolumeFigures::default() });
            all.len() - 1
        });
        &mut all[at]
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
enum VolumeMeasure {
    Capacity,
    Available,
    Used,
    Inodes,
    InodesUsed,
}

impl VolumeMeasure {
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

    /// Returns the place of the measure in the figures.
    const fn of_figures(self, figures: &mut VolumeFigures) -> &mut Option<u64> {
        match self {
            Self::Capacity => &mut figures.capacity,
            Self::Available => &mut figures.available,
            Self::Used => &mut figures.used,
            Self::Inodes => &mut figures.inodes,
            Self::InodesUsed => &mut figures.inodes_used,
        }
    }
}

/// Largest number that is a measure: what a driver does not know, it writes as -1, which becomes 2⁶⁴-1, or as 2⁶³-1.
const LARGEST: f64 = 9e18;

/// Returns a measured number; `None` for one that stands for what is not known.
fn measured(number: f64) -> Option<u64> {
    let is_known = number.is_finite() && (0.0..LARGEST).contains(&number);
    is_known.then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// Returns a time in seconds since 1970.
fn seconds(number: f64) -> Option<Time> {
    let milliseconds = format!("{:.0}", number * 1000.0).parse().ok()?;
    Time::from_timestamp_millis(milliseconds)
}

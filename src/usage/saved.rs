//! Figures as a dump keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    ClusterLabels, MeasuredValue, UsageFigures, VolumeFigures, VolumeMeasure,
    history::{PeakUsage, SteadySize, UsageHistory},
};
use crate::model::{Bytes, ClaimKey, Interner, Text, Time, format_time, parse_time};

/// What one kubelet measured of the volume of a claim.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedFigures {
    namespace: String,
    claim: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// Size, available and used bytes, inodes and used inodes: each with its time.
    measured: [Option<SavedValue>; 5],
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    contradicts: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    evaluated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history: Option<SavedHistory>,
    /// The labels that tell of the cluster.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    cluster_labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedValue {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedHistory {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peak: Option<SavedPeak>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<SavedSize>,
    /// Bytes a second that the available ones became fewer by, over the last week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_week: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_day: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedSize {
    bytes: Bytes,
    since: String,
    until: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedPeak {
    used: Bytes,
    since: String,
    until: String,
    days: usize,
    samples: usize,
}

/// A node whose kubelet did not answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedNode {
    node: String,
    reason: String,
}

impl SavedFigures {
    /// Puts all figures into their saved form.
    pub(crate) fn of(figures: &UsageFigures) -> impl Iterator<Item = Self> {
        let mut claims: Vec<_> = figures.claims.iter().collect();
        claims.sort_by_key(|it| it.0);
        claims
            .into_iter()
            .flat_map(|(claim, all)| all.iter().map(|it| Self::new(claim, it, &figures.clusters)))
    }

    fn new(claim: &ClaimKey, figures: &VolumeFigures, labels: &ClusterLabels) -> Self {
        let value =
            |it: MeasuredValue| SavedValue { value: it.value, at: it.at.as_ref().map(format_time) };
        Self {
            namespace: claim.namespace.to_string(),
            claim: claim.name.to_string(),
            node: figures.node.as_ref().map(ToString::to_string),
            measured: figures.measured.map(|it| it.map(value)),
            contradicts: figures.contradicts,
            evaluated: figures.is_evaluated,
            history: figures.history.as_deref().map(SavedHistory::new),
            cluster_labels: labels.values.clone(),
        }
    }

    /// Returns the figures.
    ///
    /// # Errors
    /// When a time is none.
    pub(crate) fn into_figures(self, interner: &mut Interner) -> Result<UsageFigures, String> {
        let claim = ClaimKey { namespace: interner.text(&self.namespace), name: self.claim.into() };
        let mut figures = VolumeFigures {
            node: self.node.map(|it| interner.text(&it)),
            contradicts: self.contradicts,
            is_evaluated: self.evaluated,
            ..VolumeFigures::default()
        };
        for (measure, saved) in VolumeMeasure::ALL.into_iter().zip(self.measured) {
            let Some(SavedValue { value, at }) = saved else { continue };
            let at = at.as_deref().map(time).transpose()?;
            figures.measured[measure as usize] = Some(MeasuredValue { value, at });
        }
        figures.history = self.history.map(SavedHistory::into_history).transpose()?.map(Box::new);
        let mut all = UsageFigures::of_claim(claim, figures);
        all.clusters.values = self.cluster_labels;
        Ok(all)
    }
}

impl SavedHistory {
    fn new(history: &UsageHistory) -> Self {
        let text = |it: Option<&Time>| it.map(format_time);
        let size = history.size.as_ref().map(|it| SavedSize {
            bytes: it.bytes,
            since: format_time(&it.since),
            until: format_time(&it.until),
        });
        let peak = history.peak.as_ref().map(|it| SavedPeak {
            used: it.used,
            since: format_time(&it.since),
            until: format_time(&it.until),
            days: it.days,
            samples: it.samples,
        });
        Self {
            since: text(history.since.as_ref()),
            until: text(history.until.as_ref()),
            peak,
            size,
            of_week: history.of_week,
            of_day: history.of_day,
        }
    }

    fn into_history(self) -> Result<UsageHistory, String> {
        let size = |it: SavedSize| {
            let (since, until) = (time(&it.since)?, time(&it.until)?);
            Ok::<_, String>(SteadySize { bytes: it.bytes, since, until })
        };
        let peak = |it: SavedPeak| {
            let (since, until) = (time(&it.since)?, time(&it.until)?);
            let SavedPeak { used, days, samples, .. } = it;
            Ok::<_, String>(PeakUsage { used, since, until, days, samples })
        };
        Ok(UsageHistory {
            since: self.since.as_deref().map(time).transpose()?,
            until: self.until.as_deref().map(time).transpose()?,
            peak: self.peak.map(peak).transpose()?,
            size: self.size.map(size).transpose()?,
            of_week: self.of_week,
            of_day: self.of_day,
        })
    }
}

impl SavedNode {
    /// Puts the nodes whose kubelets did not answer into their saved form.
    pub(crate) fn of(figures: &UsageFigures) -> impl Iterator<Item = Self> {
        let of =
            |(node, why): (&Text, &Text)| Self { node: node.to_string(), reason: why.to_string() };
        figures.silent().iter().map(of)
    }

    /// Returns the figures of a cluster of which only this is known.
    pub(crate) fn into_figures(self, interner: &mut Interner) -> UsageFigures {
        UsageFigures::without(interner.text(&self.node), self.reason.as_str().into())
    }
}

fn time(text: &str) -> Result<Time, String> {
    parse_time(text).ok().flatten().ok_or_else(|| format!("{text:?} is no time"))
}

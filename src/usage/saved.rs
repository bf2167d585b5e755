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
        let UsageHistory { since, until, peak, size, of_week, of_day } = figures.history();
        let size = size.map(|it| SavedSize { bytes: it.bytes, since: format_time(&it.since) });
        let peak = peak.map(|it| SavedPeak {
            used: it.used,
            since: format_time(&it.since),
            until: format_time(&it.until),
            days: it.days,
            samples: it.samples,
        });
        let [since, until] = [since, until].map(|it| it.as_ref().map(format_time));
        let history = SavedHistory { since, until, peak, size, of_week, of_day };
        Self {
            namespace: claim.namespace.to_string(),
            claim: claim.name.to_string(),
            node: figures.node.as_ref().map(ToString::to_string),
            measured: figures.measured.map(|it| it.map(value)),
            contradicts: figures.contradicts,
            evaluated: figures.is_evaluated,
            history: history.since.is_some().then_some(history),
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
        if let Some(SavedHistory { since, until, peak, size, of_week, of_day }) = self.history {
            let since = since.as_deref().map(time).transpose()?;
            let until = until.as_deref().map(time).transpose()?;
            let peak = peak.map(SavedPeak::into_peak).transpose()?;
            let steady = |it: SavedSize| {
                Ok::<_, String>(SteadySize { bytes: it.bytes, since: time(&it.since)? })
            };
            let size = size.map(steady).transpose()?;
            figures.histories.get_or_insert_default()[0] =
                Some(UsageHistory { since, until, peak, size, of_week, of_day });
        }
        let mut all = UsageFigures::of_claim(claim, figures);
        all.clusters.values = self.cluster_labels;
        Ok(all)
    }
}

impl SavedPeak {
    fn into_peak(self) -> Result<PeakUsage, String> {
        Ok(PeakUsage {
            used: self.used,
            since: time(&self.since)?,
            until: time(&self.until)?,
            days: self.days,
            samples: self.samples,
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

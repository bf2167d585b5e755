//! Figures as a dump keeps them.

use serde::{Deserialize, Serialize};

use super::{
    MeasuredValue, UsageFigures, VolumeFigures, VolumeMeasure,
    history::{PeakUsage, UsageHistory},
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history: Option<SavedHistory>,
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
    peak: Option<SavedPeak>,
    /// Bytes a second that the available ones became fewer by, over the last week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_week: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_day: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedPeak {
    used: Bytes,
    since: String,
    until: String,
    days: usize,
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
        claims.into_iter().flat_map(|(claim, all)| all.iter().map(|it| Self::new(claim, it)))
    }

    fn new(claim: &ClaimKey, figures: &VolumeFigures) -> Self {
        let value =
            |it: MeasuredValue| SavedValue { value: it.value, at: it.at.as_ref().map(format_time) };
        let UsageHistory { since, peak, of_week, of_day } = &figures.history;
        let peak = peak.as_ref().map(|it| SavedPeak {
            used: it.used,
            since: format_time(&it.since),
            until: format_time(&it.until),
            days: it.days,
        });
        let since = since.as_ref().map(format_time);
        let (of_week, of_day) = (*of_week, *of_day);
        Self {
            namespace: claim.namespace.to_string(),
            claim: claim.name.to_string(),
            node: figures.node.as_ref().map(ToString::to_string),
            measured: figures.measured.map(|it| it.map(value)),
            contradicts: figures.contradicts,
            history: since.is_some().then_some(SavedHistory { since, peak, of_week, of_day }),
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
            ..VolumeFigures::default()
        };
        for (measure, saved) in VolumeMeasure::ALL.into_iter().zip(self.measured) {
            let Some(SavedValue { value, at }) = saved else { continue };
            let at = at.as_deref().map(time).transpose()?;
            figures.measured[measure as usize] = Some(MeasuredValue { value, at });
        }
        if let Some(SavedHistory { since, peak, of_week, of_day }) = self.history {
            let since = since.as_deref().map(time).transpose()?;
            let peak = peak.map(SavedPeak::into_peak).transpose()?;
            figures.history = UsageHistory { since, peak, of_week, of_day };
        }
        Ok(UsageFigures::of_claim(claim, figures))
    }
}

impl SavedPeak {
    fn into_peak(self) -> Result<PeakUsage, String> {
        Ok(PeakUsage {
            used: self.used,
            since: time(&self.since)?,
            until: time(&self.until)?,
            days: self.days,
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

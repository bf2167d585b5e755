//! Numbers of claims by what is known of how full their volumes are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fullness::{Fullness, fullness};
use crate::{
    cluster::Cx,
    model::{Claim, Time, counted},
    usage::UsageFigures,
};

/// Numbers of claims by what is known of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSummary {
    /// Claims in scope.
    pub claims: usize,
    /// Those whose figures are about their volume alone.
    pub measured: usize,
    /// Those whose figures are about a file system that has more than their volume.
    pub shared: usize,
    /// Those of which nothing is known, by the reason.
    pub unknown: BTreeMap<String, usize>,
    /// Claims in the figures that do not exist in what was read.
    pub unmatched: usize,
    /// Measured or shared ones whose figures are older than an hour, or do not say when they were measured: no finding is
    /// made of them.
    pub not_judged: usize,
}

/// Most reasons that are told in a line.
const REASONS: usize = 6;

impl UsageSummary {
    /// Counts these claims; `None` where no figures were read. What was not seen is counted as that.
    pub fn of<'a>(cx: &Cx, claims: impl Iterator<Item = &'a Claim>) -> Option<Self> {
        let figures = cx.figures()?;
        let mut summary = Self::default();
        for claim in claims {
            let judged = fullness(cx, claim);
            summary.count(judged.as_ref().unwrap_or(&Fullness::UNSEEN), cx.clock());
        }
        summary.count_unmatched(cx, figures);
        Some(summary)
    }

    /// Counts a claim.
    pub(crate) fn count(&mut self, fullness: &Fullness, now: Option<Time>) {
        self.claims += 1;
        if let Fullness::Measured(system) | Fullness::Shared(system) = fullness {
            self.not_judged += usize::from(!system.is_fresh(now));
        }
        match fullness {
            Fullness::Measured(_) => self.measured += 1,
            Fullness::Shared(_) => self.shared += 1,
            Fullness::Unknown(why) => *self.unknown.entry(why.to_string()).or_default() += 1,
        }
    }

    /// Counts the claims in the figures that do not exist.
    pub(crate) fn count_unmatched(&mut self, cx: &Cx, figures: &UsageFigures) {
        self.unmatched = figures.claims().filter(|it| matches!(cx.claim(it), Ok(None))).count();
    }

    /// Adds the numbers of another cluster.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.claims += other.claims;
        self.measured += other.measured;
        self.shared += other.shared;
        self.unmatched += other.unmatched;
        self.not_judged += other.not_judged;
        for (why, count) in &other.unknown {
            *self.unknown.entry(why.clone()).or_default() += count;
        }
    }

    /// Whether every claim was judged.
    pub(crate) const fn is_whole(&self) -> bool {
        self.measured + self.shared == self.claims && self.not_judged == 0
    }

    /// Returns why no claim at all was judged, if that is so.
    pub(crate) fn unjudged(&self) -> Option<&'static str> {
        let known = self.measured + self.shared;
        if self.is_of_another() {
            return Some("no claim that was read is in the figures: are they of another cluster?");
        }
        (known > 0 && self.not_judged == known).then_some(
            "no figures are of the last hour, or they do not say when they were measured",
        )
    }

    /// Returns the numbers in a line.
    pub(crate) fn told(&self) -> String {
        let unknown: usize = self.unknown.values().sum();
        let mut parts = vec![format!("{} measured", self.measured)];
        if self.shared > 0 {
            parts.push(format!("{} shared", self.shared));
        }
        if unknown > 0 {
            let mut reasons: Vec<_> =
                self.unknown.iter().map(|(why, count)| (*count, why)).collect();
            reasons.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
            let rest: usize = reasons.iter().skip(REASONS).map(|it| it.0).sum();
            let told = reasons.iter().take(REASONS);
            let mut told: Vec<_> = told.map(|(count, why)| format!("{count} {why}")).collect();
            if rest > 0 {
                told.push(format!("{rest} for other reasons"));
            }
            parts.push(format!("{unknown} unknown ({})", told.join(", ")));
        }
        if self.not_judged > 0 {
            parts.push(format!("{} too old to be judged, or of an unknown time", self.not_judged));
        }
        let claims = counted(self.claims, "claim");
        match self.unmatched {
            0 => format!("{claims}: {}", parts.join(", ")),
            count => {
                let of = counted(count, "claim");
                format!("{claims}: {}; the figures of {of} match none", parts.join(", "))
            }
        }
    }

    /// Whether nothing that was read is in the figures: they may be those of another cluster.
    pub(crate) const fn is_of_another(&self) -> bool {
        self.measured + self.shared == 0 && self.unmatched > 0
    }
}

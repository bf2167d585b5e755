//! The metrics of one report, for `audit -o openmetrics`: those of `watch` without those of its process and its watches.

use std::{collections::BTreeSet, fmt, num::NonZeroUsize};

use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};

use super::{LAST_JUDGEMENT, Metrics, encode_report, exposition, gauges, seconds};
use crate::{
    model::{Kind, Text, Time, escape_control},
    rules::Totals,
    watch::leader::Leadership,
};

/// The numbers of one cluster in a report.
#[derive(Debug)]
pub(crate) struct MeasuredCluster {
    /// The value of its label; empty where the report is about one.
    pub(crate) name: String,
    /// The numbers of its findings, and bytes.
    pub(crate) totals: Totals,
    /// The kinds that were not all read.
    pub(crate) gaps: BTreeSet<Kind>,
    /// The time at which it was read.
    pub(crate) taken_at: Option<Time>,
}

#[derive(Debug)]
struct ReportMetrics {
    /// The name of each cluster, its numbers, and its time.
    clusters: Vec<(String, Metrics, Option<Time>)>,
}

impl Collector for ReportMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let numbers: Vec<_> =
            self.clusters.iter().map(|(name, metrics, _)| (&**name, metrics.numbers())).collect();
        let numbers: Vec<_> = numbers.iter().map(|(name, numbers)| (*name, &**numbers)).collect();
        encode_report(&mut encoder, &numbers)?;
        let times = self.clusters.iter();
        let times = times.filter_map(|(name, _, at)| Some((vec![&**name], seconds((*at)?))));
        gauges(&mut encoder, &LAST_JUDGEMENT, times)
    }
}

/// Returns the numbers of a report in the text format of `OpenMetrics`: gauges alone, so that the older format reads the
/// same. Each namespace has a label, and each of several clusters.
pub(crate) fn report_metrics(clusters: Vec<MeasuredCluster>) -> String {
    let clusters = clusters.into_iter().map(|MeasuredCluster { name, totals, gaps, taken_at }| {
        let metrics = Metrics::new(Leadership::alone(), Vec::new());
        metrics.label_namespaces(Some(NonZeroUsize::MAX));
        metrics.total(legible(totals));
        metrics.numbers().gaps = gaps;
        (name, metrics, taken_at)
    });
    exposition(ReportMetrics { clusters: clusters.collect() })
}

/// Escapes the names of a dump, which may be anything: some readers take a carriage return for the end of a line. What
/// reads the same afterwards is added up.
fn legible(mut totals: Totals) -> Totals {
    let safe = |text: Text| Text::from(&*escape_control(&text));
    for ((rule, severity, namespace), count) in std::mem::take(&mut totals.by_namespace) {
        *totals.by_namespace.entry((rule, severity, namespace.map(safe))).or_default() += count;
    }
    for (mut pool, of) in std::mem::take(&mut totals.storage) {
        for name in [&mut pool.namespace, &mut pool.class, &mut pool.driver] {
            *name = name.take().map(safe);
        }
        totals.storage.entry(pool).or_default().absorb(&of);
    }
    totals
}

//! The metrics of one report, for `audit -o openmetrics`: those of `watch` without those of its process and its watches.

use std::{collections::BTreeSet, fmt, num::NonZeroUsize};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, text},
    registry::Registry,
};

use super::{LAST_JUDGEMENT, Metrics, gauges, seconds};
use crate::{
    model::{Kind, Time},
    rules::Totals,
    watch::leader::Leadership,
};

#[derive(Debug)]
struct ReportMetrics {
    metrics: Metrics,
    taken_at: Option<Time>,
}

impl Collector for ReportMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.metrics.numbers().encode_report(&mut encoder)?;
        gauges(&mut encoder, &LAST_JUDGEMENT, self.taken_at.map(|it| (vec![], seconds(it))))
    }
}

/// Returns the numbers of a report in the text format of `OpenMetrics`: gauges alone, so that the older format reads the
/// same. Each namespace has a label.
pub(crate) fn report_metrics(
    totals: Totals,
    gaps: BTreeSet<Kind>,
    taken_at: Option<Time>,
) -> String {
    let metrics = Metrics::new(Leadership::alone(), Vec::new());
    metrics.label_namespaces(Some(NonZeroUsize::MAX));
    metrics.total(totals);
    metrics.numbers().gaps = gaps;
    let mut registry = Registry::default();
    registry.register_collector(Box::new(ReportMetrics { metrics, taken_at }));
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("because writing to a string does not fail");
    text
}

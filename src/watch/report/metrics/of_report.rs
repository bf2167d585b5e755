//! The metrics of one report, for `audit -o openmetrics`: those of `watch` without those of its process and its watches.

use std::{collections::BTreeSet, fmt, num::NonZeroUsize};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, text},
    registry::Registry,
};

use super::{LAST_JUDGEMENT, Metrics, gauges, seconds};
use crate::{
    model::{Kind, Text, Time, escape_control},
    rules::{StoragePool, Totals},
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
    metrics.total(legible(totals));
    metrics.numbers().gaps = gaps;
    let mut registry = Registry::default();
    registry.register_collector(Box::new(ReportMetrics { metrics, taken_at }));
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("because writing to a string does not fail");
    text
}

/// Names of a dump may be anything, and some readers take a carriage return for the end of a line.
fn legible(mut totals: Totals) -> Totals {
    let safe = |text: Text| Text::from(&*escape_control(&text));
    let findings = std::mem::take(&mut totals.by_namespace).into_iter();
    totals.by_namespace = findings
        .map(|((rule, severity, namespace), count)| ((rule, severity, namespace.map(safe)), count))
        .collect();
    let storage = std::mem::take(&mut totals.storage).into_iter();
    totals.storage = storage
        .map(|(StoragePool { namespace, class, driver, released_days }, of)| {
            let [namespace, class, driver] = [namespace, class, driver].map(|it| it.map(safe));
            (StoragePool { namespace, class, driver, released_days }, of)
        })
        .collect();
    totals
}

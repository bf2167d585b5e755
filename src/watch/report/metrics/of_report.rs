//! The metrics of one report, for `audit -o openmetrics`: those of `watch` without those of its process and its watches.

use std::{collections::BTreeSet, fmt, num::NonZeroUsize};

use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};

use super::{LAST_JUDGEMENT, Metrics, exposition, gauges, seconds};
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
    exposition(ReportMetrics { metrics, taken_at })
}

/// Escapes the names of a dump, which may be anything: some readers take a carriage return for the end of a line. What
/// reads the same afterwards is added up.
fn legible(mut totals: Totals) -> Totals {
    let safe = |text: Text| Text::from(&*escape_control(&text));
    for ((rule, severity, namespace), count) in std::mem::take(&mut totals.by_namespace) {
        *totals.by_namespace.entry((rule, severity, namespace.map(safe))).or_default() += count;
    }
    for (StoragePool { namespace, class, driver, released_days }, of) in
        std::mem::take(&mut totals.storage)
    {
        let [namespace, class, driver] = [namespace, class, driver].map(|it| it.map(safe));
        let pool = StoragePool { namespace, class, driver, released_days };
        totals.storage.entry(pool).or_default().absorb(&of);
    }
    totals
}

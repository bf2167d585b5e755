//! `Metrics`: the numbers of now, and their text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::Utc;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::families::{self, MetricFamily, older_text};
use super::queue::SinkCounts;
use crate::model::{Kind, RuleId, Severity, Text, Time};
use crate::rules::{StoragePool, StorageTotals, Totals};
use crate::sources::live::WatchHealth;
use crate::watch::acting::{ActingCounts, ActingNumbers};
use crate::watch::leader::Leadership;

/// Of a judgement, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0];
/// What stands for all namespaces that have no label of their own.
const OTHER: &str = "other";

/// The numbers of now. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Metrics(Arc<Mutex<Numbers>>);

#[derive(Debug)]
struct Numbers {
    per_namespace: Option<NonZeroUsize>,
    /// The namespaces that have a label of their own.
    labelled: BTreeSet<Text>,
    findings: BTreeMap<(RuleId, Severity, Option<Text>), usize>,
    storage: BTreeMap<StoragePool, StorageTotals>,
    gaps: BTreeSet<Kind>,
    last_judgement: Option<Time>,
    judgements: Histogram,
    judged: u64,
    full_passes: u64,
    defects: u64,
    health: Option<WatchHealth>,
    acting: Option<ActingCounts>,
    leadership: Leadership,
    sinks: Vec<(&'static str, Arc<SinkCounts>)>,
}

impl Metrics {
    /// Numbers of nothing yet, beside who leads and what has become of reports to these sinks.
    pub(super) fn new(leadership: Leadership, sinks: Vec<(&'static str, Arc<SinkCounts>)>) -> Self {
        Self(Arc::new(Mutex::new(Numbers {
            per_namespace: None,
            labelled: BTreeSet::new(),
            findings: BTreeMap::new(),
            storage: BTreeMap::new(),
            gaps: BTreeSet::new(),
            last_judgement: None,
            judgements: Histogram::new(BUCKETS),
            judged: 0,
            full_passes: 0,
            defects: 0,
            health: None,
            acting: None,
            leadership,
            sinks,
        })))
    }

    /// Labels findings with so many namespaces, or with none.
    pub(super) fn label_namespaces(&self, most: Option<NonZeroUsize>) {
        let mut numbers = self.numbers();
        numbers.per_namespace = most;
        numbers.label();
    }

    /// Follows the watches of a loop.
    pub(super) fn follow(&self, health: &WatchHealth) {
        self.numbers().health = Some(health.clone());
    }

    /// Follows what came of acting.
    pub(super) fn act(&self, counts: &ActingCounts) {
        self.numbers().acting = Some(counts.clone());
    }

    /// Notes a judgement, how long it took, as far as that was measured, and what was not read.
    pub(super) fn judged(&self, took: Option<Duration>, gaps: BTreeSet<Kind>) {
        let mut numbers = self.numbers();
        if let Some(took) = took {
            numbers.judgements.observe(took.as_secs_f64());
        }
        numbers.last_judgement = Some(Utc::now());
        numbers.gaps = gaps;
    }

    /// Notes how many objects were judged, how often all of them, and how many findings only that
    /// has changed.
    pub(super) fn worked(&self, judged: u64, full_passes: u64, defects: usize) {
        let mut numbers = self.numbers();
        numbers.judged = judged;
        numbers.full_passes = full_passes;
        numbers.defects += defects as u64;
    }

    /// Takes over the totals of a report.
    pub(super) fn total(&self, totals: Totals) {
        let mut numbers = self.numbers();
        numbers.findings = totals.by_namespace;
        numbers.storage = totals.storage;
        numbers.label();
    }

    /// The exposition in the text format of `OpenMetrics`.
    pub(super) fn open_metrics(&self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        text::encode(&mut text, &registry).expect("because writing to a string does not fail");
        text
    }

    /// The same in the older text format.
    pub(super) fn text(&self) -> String {
        older_text(&self.open_metrics())
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Numbers {
    /// Chooses the namespaces that have a label of their own. Those that have one keep it as long as
    /// there are findings in them: a series is not moved to `other` and back.
    fn label(&mut self) {
        let Some(most) = self.per_namespace else { return self.labelled.clear() };
        let there: BTreeSet<&Text> = self.findings.keys().filter_map(|it| it.2.as_ref()).collect();
        self.labelled.retain(|it| there.contains(it));
        for namespace in there {
            if self.labelled.len() >= most.get() {
                break;
            }
            self.labelled.insert(Text::clone(namespace));
        }
        while self.labelled.len() > most.get() {
            self.labelled.pop_last();
        }
    }

    /// Findings by id, severity and the label of their namespace.
    fn labelled_findings(&self) -> BTreeMap<(RuleId, Severity, &str), usize> {
        let mut labelled = BTreeMap::new();
        for ((rule, severity, namespace), count) in &self.findings {
            let label = match (namespace, self.per_namespace) {
                (None, _) | (_, None) => "",
                (Some(name), _) if self.labelled.contains(name) => name,
                _ => OTHER,
            };
            *labelled.entry((*rule, *severity, label)).or_default() += count;
        }
        labelled
    }

    /// Since when the volume is Released that has been for longest, by class.
    fn oldest_released(&self) -> BTreeMap<&str, Time> {
        let mut oldest: BTreeMap<&str, Time> = BTreeMap::new();
        for (pool, totals) in &self.storage {
            if let Some(since) = totals.oldest_released {
                let known =
                    oldest.entry(pool.class.as_deref().unwrap_or_default()).or_insert(since);
                *known = since.min(*known);
            }
        }
        oldest
    }

    fn encode(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let version = env!("CARGO_PKG_VERSION");
        gauges(encoder, &families::BUILD_INFO, [(vec![version], 1.0)])?;
        let findings = self.labelled_findings();
        let findings = findings.iter().map(|((rule, severity, namespace), count)| {
            (vec![*rule, severity.name(), *namespace], number(*count as u64))
        });
        gauges(encoder, &families::FINDINGS, findings)?;
        let pools = |of: fn(&StorageTotals) -> u64| {
            self.storage.iter().filter(move |(_, totals)| of(totals) > 0).map(
                move |(pool, totals)| {
                    let name = |it: &'_ Option<Text>| it.as_deref().unwrap_or_default().to_owned();
                    ([name(&pool.class), name(&pool.driver)], number(of(totals)))
                },
            )
        };
        for (family, of) in [
            (&families::RELEASED, (|it| it.released) as fn(&StorageTotals) -> u64),
            (&families::LEAKING, |it| it.leaking),
        ] {
            let samples: Vec<_> = pools(of).collect();
            let samples = samples.iter().map(|(it, value)| (vec![&*it[0], &*it[1]], *value));
            gauges(encoder, family, samples)?;
        }
        let oldest = self.oldest_released();
        let oldest = oldest.iter().map(|(class, since)| (vec![*class], seconds(*since)));
        gauges(encoder, &families::OLDEST_RELEASED, oldest)?;
        let gaps = self.gaps.iter().map(|kind| (vec![kind.plural()], 1.0));
        gauges(encoder, &families::GAP, gaps)?;
        let now = Utc::now();
        let silences = self.health.as_ref().map(WatchHealth::silences).unwrap_or_default();
        let heard = silences
            .iter()
            .map(|(kind, silence)| (vec![kind.plural()], seconds(now) - silence.as_secs_f64()));
        gauges(encoder, &families::VIEW, heard)?;
        let restarts = self.health.as_ref().map(WatchHealth::restarts).unwrap_or_default();
        let restarts = restarts.iter().map(|(kind, count)| (vec![kind.plural()], *count));
        counters(encoder, &families::WATCH_RESTARTS, restarts)?;
        let last = self.last_judgement.map(|it| (vec![], seconds(it)));
        gauges(encoder, &families::LAST_JUDGEMENT, last)?;
        self.judgements.encode(describe(encoder, &families::JUDGEMENTS)?)?;
        counters(encoder, &families::JUDGED, [(vec![], self.judged)])?;
        counters(encoder, &families::FULL_PASSES, [(vec![], self.full_passes)])?;
        counters(encoder, &families::DEFECTS, [(vec![], self.defects)])?;
        // Asked now: a loop that is stuck would not tell that it leads no more.
        let leads = f64::from(u8::from(self.leadership.leads()));
        let lease = self.leadership.lease();
        let leads = lease.map(|it| (vec![&*it.namespace, &*it.name], leads));
        gauges(encoder, &families::LEADER, leads)?;
        let reports = self.sinks.iter().flat_map(|(sink, counts)| {
            counts.by_outcome().map(|(outcome, count)| (vec![*sink, outcome], count))
        });
        counters(encoder, &families::REPORTS, reports)?;
        self.acting.as_ref().map_or(Ok(()), |it| encode_acting(encoder, &it.now()))
    }
}

/// What came of acting.
fn encode_acting(encoder: &mut DescriptorEncoder, acting: &ActingNumbers) -> fmt::Result {
    let changes = acting.changes.iter();
    let changes =
        changes.map(|((reconciler, outcome), count)| (vec![*reconciler, *outcome], *count));
    counters(encoder, &families::CHANGES, changes)?;
    let last = acting.last_change.map(|it| (vec![], seconds(it)));
    gauges(encoder, &families::LAST_CHANGE, last)?;
    let known = acting.announcements;
    gauges(encoder, &families::ANNOUNCED, known.map(|it| (vec![], number(it.announced))))?;
    gauges(encoder, &families::DUE, known.map(|it| (vec![], number(it.due))))?;
    gauges(encoder, &families::VETOED, known.map(|it| (vec![], number(it.vetoed))))?;
    let flag = |it: Option<bool>| it.map(|it| (vec![], f64::from(u8::from(it))));
    gauges(encoder, &families::PAUSED, flag(acting.paused))?;
    gauges(encoder, &families::BREAKER_OPEN, flag(acting.breaker_open))
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.numbers().encode(&mut encoder)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a metric is a float")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Seconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "a metric is a float")]
fn seconds(time: Time) -> f64 {
    time.timestamp_millis() as f64 / 1000.0
}

fn describe<'a>(
    encoder: &'a mut DescriptorEncoder,
    family: &'static MetricFamily,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    encoder.encode_descriptor(family.name, family.help, None, family.kind)
}

fn gauges<'a>(
    encoder: &mut DescriptorEncoder,
    family: &'static MetricFamily,
    samples: impl IntoIterator<Item = (Vec<&'a str>, f64)>,
) -> fmt::Result {
    encode_all(encoder, family, samples.into_iter().map(|(it, value)| (it, ConstGauge::new(value))))
}

fn counters<'a>(
    encoder: &mut DescriptorEncoder,
    family: &'static MetricFamily,
    samples: impl IntoIterator<Item = (Vec<&'a str>, u64)>,
) -> fmt::Result {
    let samples = samples.into_iter().map(|(it, count)| (it, ConstCounter::new(count)));
    encode_all(encoder, family, samples)
}

/// Encodes the samples of a family: the values of its labels, and the number. What has no samples is
/// not described, and an empty label is none.
fn encode_all<'a, T: EncodeMetric>(
    encoder: &mut DescriptorEncoder,
    family: &'static MetricFamily,
    samples: impl IntoIterator<Item = (Vec<&'a str>, T)>,
) -> fmt::Result {
    let mut samples = samples.into_iter().peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    let mut encoder = describe(encoder, family)?;
    if family.labels.is_empty() {
        return samples.next().map_or(Ok(()), |(_, sample)| sample.encode(encoder));
    }
    for (values, sample) in samples {
        let labels = family.labels.iter().copied().zip(values);
        let labels: Vec<(&str, &str)> = labels.filter(|(_, value)| !value.is_empty()).collect();
        sample.encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

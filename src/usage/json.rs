//! Answers in JSON: of the API of Prometheus, Thanos or Mimir, and of a kubelet (`/stats/summary`).

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    io::Read,
};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Error;

use super::{
    UsageFile, UsageHistory, VolumeFigures, VolumeMeasure, history::TimedBytes, measured, seconds,
};
use crate::model::{ClaimKey, Text, Time, escape_control, first_of, parse_time, shorten};

/// Labels of a series.
pub(super) type SeriesLabels = BTreeMap<String, String>;

/// What was found in a file until now.
#[derive(Debug, Default)]
pub(super) struct FoundFigures {
    pub(super) file: UsageFile,
    /// Number of series, of volumes of pods, or of lines.
    pub(super) rows: usize,
    /// Whether it is an answer of a kubelet: one whose node has no claims tells that.
    pub(super) is_of_kubelet: bool,
    /// Place of the figures of a claim on a node among those of the claim, which may have been scraped at very many
    /// addresses.
    places: HashMap<(ClaimKey, Option<Text>), usize>,
    /// The node whose kubelet was asked, whatever its answer calls it.
    asked: Option<Text>,
    /// The volumes of a kubelet's answer, whose node may stand behind them.
    volumes: Vec<(ClaimKey, MeasuredVolume, Option<Time>)>,
}

/// Reads every answer of a file.
///
/// # Errors
/// When one cannot be read, or is another one.
pub(super) fn read_json(content: &mut dyn Read, found: &mut FoundFigures) -> Result<(), Error> {
    let mut answers = serde_json::Deserializer::from_reader(content);
    loop {
        UsageAnswer(found).deserialize(&mut answers)?;
        match answers.end() {
            Ok(()) => return Ok(()),
            // Those of several nodes may follow each other.
            Err(error) if error.is_syntax() => {}
            Err(error) => return Err(error),
        }
    }
}

impl FoundFigures {
    /// Nothing yet of what the kubelet of this node answers.
    pub(super) fn of_node(node: Text) -> Self {
        Self { asked: Some(node), ..Self::default() }
    }

    /// Returns the figures to which a series belongs; `None` where it is not about a claim.
    ///
    /// # Errors
    /// When it is about another cluster than the series before it.
    pub(super) fn figures_of(
        &mut self,
        labels: &SeriesLabels,
    ) -> Result<Option<&mut VolumeFigures>, String> {
        self.file.figures.clusters.take_all(labels)?;
        // A scrape that does not honour labels calls those of the metric so.
        let label = |name: &str| {
            let exported = labels.get(&format!("exported_{name}"));
            exported.or_else(|| labels.get(name)).filter(|it| !it.is_empty())
        };
        let Some((namespace, name)) = label("namespace").zip(label("persistentvolumeclaim")) else {
            return Ok(None);
        };
        let claim = ClaimKey { namespace: namespace.as_str().into(), name: name.as_str().into() };
        let node = label("node").or_else(|| label("instance")).map(|it| it.as_str().into());
        Ok(Some(self.entry(claim, node)))
    }

    /// Returns the figures of a claim on a node, to fill in.
    fn entry(&mut self, claim: ClaimKey, node: Option<Text>) -> &mut VolumeFigures {
        let all = self.file.figures.claims.entry(claim.clone()).or_default();
        let place = *self.places.entry((claim, node)).or_insert_with_key(|(_, node)| {
            all.push(VolumeFigures { node: node.clone(), ..VolumeFigures::default() });
            all.len() - 1
        });
        &mut all[place]
    }

    /// Takes a series.
    fn take_series(&mut self, series: MetricSeries) -> Result<(), String> {
        self.rows += 1;
        let name = series.metric.get("__name__").ok_or(
            "it has no name: query the metrics themselves, as `kubectl storage explain usage` prints it",
        )?;
        let Some(measure) = VolumeMeasure::of(name) else { return Ok(()) };
        let samples = series.value.into_iter().chain(series.values);
        let Some(figures) = self.figures_of(&series.metric)? else { return Ok(()) };
        let mut samples: Vec<(f64, Option<u64>)> =
            samples.map(|it| (it.0, it.1.0.and_then(measured))).collect();
        // Prometheus sorts them; what others merged may not be.
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((last, value)) = samples.last() else { return Ok(()) };
        let at = seconds(*last).ok_or_else(|| format!("{last} is no time"))?;
        figures.take(measure, *value, Some(at));
        figures.is_evaluated = true;
        let known: Vec<TimedBytes> =
            samples.iter().filter_map(|(time, value)| Some((*time, (*value)?))).collect();
        if known.len() < 2 {
            return Ok(());
        }
        let mut history = UsageHistory::default();
        match measure {
            VolumeMeasure::Available => history.take_available(&known),
            VolumeMeasure::Used => history.take_used(&known),
            VolumeMeasure::Capacity => history.take_size(&known),
            VolumeMeasure::Inodes | VolumeMeasure::InodesUsed => return Ok(()),
        }
        figures.history.get_or_insert_default().join(&history);
        Ok(())
    }

    /// Takes the volume of a pod.
    fn take_volume(&mut self, mut volume: MeasuredVolume) -> Result<(), String> {
        let Some(claim) = volume.pvc_ref.take() else { return Ok(()) };
        self.rows += 1;
        let at = volume.time.as_deref().map(|it| {
            parse_time(it).map_err(|_| format!("time: {:?} is no time", shorten(it, 40)))
        });
        let at = at.transpose()?.flatten();
        let key = ClaimKey { namespace: claim.namespace.into(), name: claim.name.into() };
        self.volumes.push((key, volume, at));
        Ok(())
    }

    /// Ends the answer of a kubelet, which is about this node.
    fn end_summary(&mut self, node: Option<Text>) {
        let node = self.asked.clone().or(node);
        for (claim, volume, at) in std::mem::take(&mut self.volumes) {
            let figures = self.entry(claim, node.clone());
            // Each pod of a node tells of the volume.
            for (measure, number) in [
                (VolumeMeasure::Capacity, volume.capacity_bytes),
                (VolumeMeasure::Available, volume.available_bytes),
                (VolumeMeasure::Used, volume.used_bytes),
                (VolumeMeasure::Inodes, volume.inodes),
                (VolumeMeasure::InodesUsed, volume.inodes_used),
            ] {
                figures.take(measure, number.and_then(|it| it.0).and_then(measured), at);
            }
        }
    }
}

/// A series of a vector or of a matrix.
#[derive(Deserialize)]
#[serde(expecting = "a series with its metric")]
struct MetricSeries {
    metric: SeriesLabels,
    value: Option<TimedNumber>,
    #[serde(default)]
    values: Vec<TimedNumber>,
}

/// A time in seconds since 1970, and a number.
#[derive(Deserialize)]
#[serde(expecting = "a time and a number")]
struct TimedNumber(f64, MeasuredNumber);

/// A number, which Prometheus writes as text; `None` for what is none, such as `NaN`.
#[derive(Debug)]
struct MeasuredNumber(Option<f64>);

impl<'de> Deserialize<'de> for MeasuredNumber {
    fn deserialize<D: Deserializer<'de>>(number: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = MeasuredNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<MeasuredNumber, E> {
                Ok(MeasuredNumber(Some(number)))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<MeasuredNumber, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<MeasuredNumber, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<MeasuredNumber, E> {
                let number: f64 = text
                    .parse()
                    .map_err(|_| E::custom(format!("{:?} is no number", shorten(text, 40))))?;
                Ok(MeasuredNumber((!number.is_nan()).then_some(number)))
            }
        }
        number.deserialize_any(NumberVisitor)
    }
}

/// A volume of a pod (`pkg/apis/stats/v1alpha1`, `VolumeStats`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MeasuredVolume {
    time: Option<String>,
    available_bytes: Option<MeasuredNumber>,
    capacity_bytes: Option<MeasuredNumber>,
    used_bytes: Option<MeasuredNumber>,
    inodes: Option<MeasuredNumber>,
    inodes_used: Option<MeasuredNumber>,
    pvc_ref: Option<MeasuredClaim>,
}

#[derive(Debug, Deserialize)]
struct MeasuredClaim {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MeasuredNode {
    node_name: Option<String>,
}

/// An answer: of Prometheus, or of a kubelet.
struct UsageAnswer<'a>(&'a mut FoundFigures);

impl<'de> DeserializeSeed<'de> for UsageAnswer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, answer: D) -> Result<(), D::Error> {
        answer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for UsageAnswer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer of Prometheus or of a kubelet")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let (mut has_figures, mut others, mut failed) = (false, Vec::new(), None);
        let mut of_node = None;
        while let Some(field) = fields.next_key::<String>()? {
            match &*field {
                "data" => {
                    has_figures = true;
                    fields.next_value_seed(AnswerMembers { of: "result", found: self.0 })?;
                }
                "pods" => {
                    has_figures = true;
                    self.0.is_of_kubelet = true;
                    fields.next_value_seed(AnswerRows { of: AnswerRow::Pod, found: self.0 })?;
                }
                "node" => {
                    let node: MeasuredNode = fields.next_value()?;
                    of_node = node.node_name.map(Text::from);
                }
                "warnings" => {
                    let warnings = fields.next_value::<Option<Vec<String>>>()?.unwrap_or_default();
                    self.0.file.warnings.extend(warnings.iter().map(|it| shorten(it, 200)));
                }
                // VictoriaMetrics.
                "isPartial" => {
                    let is_partial = fields.next_value::<Option<bool>>()?.unwrap_or_default();
                    self.0.file.warnings.extend(is_partial.then(|| "isPartial".to_owned()));
                }
                "error" => {
                    failed = fields.next_value::<Option<String>>()?.filter(|it| !it.is_empty());
                }
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
            others.push(shorten(&field, 40));
        }
        self.0.end_summary(of_node);
        match failed {
            Some(error) => Err(A::Error::custom(format!(
                "it is an answer that says: {}",
                escape_control(&shorten(&error, 200))
            ))),
            None if has_figures => Ok(()),
            None => {
                let others: Vec<_> = others.iter().map(String::as_str).collect();
                let fields = first_of(&others, 8);
                Err(A::Error::custom(format!(
                    "no answer is an object with {}",
                    escape_control(&fields)
                )))
            }
        }
    }
}

/// An object of which one member is a list of rows.
struct AnswerMembers<'a> {
    of: &'static str,
    found: &'a mut FoundFigures,
}

impl<'de> DeserializeSeed<'de> for AnswerMembers<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, object: D) -> Result<(), D::Error> {
        object.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AnswerMembers<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {}", self.of)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let of = match self.of {
            "result" => AnswerRow::MetricSeries,
            _ => AnswerRow::Volume,
        };
        while let Some(field) = fields.next_key::<String>()? {
            if field == self.of {
                fields.next_value_seed(AnswerRows { of, found: &mut *self.found })?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum AnswerRow {
    /// A series of Prometheus.
    MetricSeries,
    /// A pod of a kubelet.
    Pod,
    /// A volume of a pod.
    Volume,
}

/// A list of rows, which are taken one after the other.
struct AnswerRows<'a> {
    of: AnswerRow,
    found: &'a mut FoundFigures,
}

impl<'de> DeserializeSeed<'de> for AnswerRows<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, rows: D) -> Result<(), D::Error> {
        rows.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for AnswerRows<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.of {
            AnswerRow::MetricSeries => "a list of series, as a vector or a matrix has it",
            AnswerRow::Pod => "a list of pods",
            AnswerRow::Volume => "a list of volumes",
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        let found = self.found;
        loop {
            let taken = match self.of {
                AnswerRow::MetricSeries => match rows.next_element::<MetricSeries>()? {
                    Some(series) => found.take_series(series),
                    None => return Ok(()),
                },
                AnswerRow::Pod => {
                    let pod = AnswerMembers { of: "volume", found: &mut *found };
                    match rows.next_element_seed(pod)? {
                        Some(()) => Ok(()),
                        None => return Ok(()),
                    }
                }
                AnswerRow::Volume => match rows.next_element::<MeasuredVolume>()? {
                    Some(volume) => found.take_volume(volume),
                    None => return Ok(()),
                },
            };
            taken.map_err(A::Error::custom)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_one_place() {
        const ADDRESSES: u64 = 60_000;
        let mut found = FoundFigures::default();
        for (measure, factor) in [(VolumeMeasure::Capacity, 2), (VolumeMeasure::Available, 1)] {
            for number in 0..ADDRESSES {
                let labels = [
                    ("namespace", "shop".to_owned()),
                    ("persistentvolumeclaim", "data".to_owned()),
                    ("instance", format!("10.0.{}.{}:10250", number / 256, number % 256)),
                ];
                let labels = labels.map(|(name, value)| (name.to_owned(), value)).into();
                let figures = found.figures_of(&labels).expect("there is one cluster");
                figures.expect("it is of a claim").take(measure, Some(number * factor), None);
            }
        }
        // What is asked for is looked up, and not searched.
        assert_eq!(found.places.len() as u64, ADDRESSES);
        let claim = ClaimKey { namespace: "shop".into(), name: "data".into() };
        let all = found.file.figures.of(&claim);
        assert_eq!(all.len() as u64, ADDRESSES);
        for (number, it) in (0..).zip(all) {
            let numbers = [VolumeMeasure::Capacity, VolumeMeasure::Available].map(|of| it.get(of));
            assert_eq!(numbers, [Some(number * 2), Some(number)]);
        }
    }
}

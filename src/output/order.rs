//! The order of `--sort-by`: the values that its path finds, compared by their meaning.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::jsonpath::{JsonPath, RenderError, TemplateError};
use crate::model::{Severity, nearest, parse_duration, parse_quantity, parse_time};

/// A path by which findings, or claims, are sorted.
#[derive(Debug)]
pub struct SortPath(JsonPath);

/// Reason for which nothing can be sorted by a path.
#[derive(Debug, Error)]
pub enum SortError {
    /// The text is no path.
    #[error(transparent)]
    Malformed(#[from] TemplateError),
    /// The path leads to nothing in any finding.
    #[error("no {what} has {path}")]
    Nowhere {
        /// What is sorted.
        what: &'static str,
        /// The fields of the path.
        path: String,
        /// Similar paths, one of which may be meant.
        near: Vec<String>,
    },
}

impl SortPath {
    /// Parses a path into values of a type; `what` is their name in messages.
    ///
    /// # Errors
    /// When it is no path, or the schema of the type has none like it.
    pub fn parse<T: JsonSchema>(text: &str, what: &'static str) -> Result<Self, SortError> {
        let path = JsonPath::parse(text)?;
        let schema = schemars::schema_for!(T).to_value();
        let mut known = Vec::new();
        paths(&schema, &schema, "", &mut known);
        // The schema is the same for every element of a list.
        let typed = path.fields().join("");
        if known.contains(&typed) || typed.is_empty() {
            return Ok(Self(path));
        }
        let mut near = nearest(&typed, known.iter().cloned());
        if near.is_empty() {
            // Often only the last field was typed, or one before it is missing.
            let last = typed.rsplit('.').next().unwrap_or_default();
            let ends = known.into_iter().filter(|it| it.rsplit('.').next() == Some(last));
            near.extend(ends.min_by_key(String::len));
        }
        Err(SortError::Nowhere { what, path: typed, near })
    }

    /// Sorts by what the path finds: the worst severity, the smallest quantity or number, the shortest duration and
    /// the earliest time first, other texts by their letters. What has no value comes last.
    ///
    /// # Errors
    /// When the path does not fit a value.
    pub fn sort<T: Serialize>(&self, values: Vec<T>) -> Result<Vec<T>, RenderError> {
        let mut keyed = Vec::with_capacity(values.len());
        for value in values {
            let json = serde_json::to_value(&value).map_err(std::io::Error::other)?;
            let key = self.0.find(&json)?.first().map(|found| (*found).clone());
            keyed.push((key, value));
        }
        // A column is of one type: `5m` is a duration beside `1h`, and a quantity beside `1`.
        let measure = [severity, duration, quantity, time].into_iter().find(|measure| {
            let measured = |key: &Value| key.as_str().is_some_and(|text| measure(text).is_some());
            keyed.iter().filter_map(|(key, _)| key.as_ref()).all(measured)
        });
        match measure {
            Some(measure) => keyed.sort_by_cached_key(|(key, _)| {
                let rank = key.as_ref().and_then(Value::as_str).and_then(measure);
                (rank.is_none(), rank)
            }),
            None => keyed.sort_by(|(a, _), (b, _)| plain(a.as_ref(), b.as_ref())),
        }
        Ok(keyed.into_iter().map(|(_, value)| value).collect())
    }
}

fn severity(text: &str) -> Option<i128> {
    let severity = Severity::parse(text)?;
    let rank = Severity::ALL.into_iter().position(|it| it == severity)?;
    i128::try_from(rank).ok()
}

fn duration(text: &str) -> Option<i128> {
    i128::try_from(parse_duration(text).ok()?.as_nanos()).ok()
}

fn quantity(text: &str) -> Option<i128> {
    parse_quantity(text).map(i128::from)
}

fn time(text: &str) -> Option<i128> {
    let time = parse_time(text).ok().flatten()?;
    Some(i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos()))
}

/// Compares values of several types: numbers before texts, what is missing last.
fn plain(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    let rank = |key: Option<&Value>| match key {
        Some(Value::Number(_)) => 0,
        Some(_) => 1,
        None => 2,
    };
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default())
        }
        (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
        (Some(a), Some(b)) => a.to_string().cmp(&b.to_string()),
        _ => Ordering::Equal,
    })
}

/// Collects every path that a schema allows. None of our shapes contains itself.
fn paths(root: &Value, schema: &Value, prefix: &str, known: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) {
        paths(root, &root["$defs"][name], prefix, known);
    }
    for choices in ["anyOf", "oneOf", "allOf"] {
        for choice in schema[choices].as_array().into_iter().flatten() {
            paths(root, choice, prefix, known);
        }
    }
    if schema["items"].is_object() {
        paths(root, &schema["items"], prefix, known);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}.{name}");
        if !known.contains(&path) {
            known.push(path.clone());
        }
        paths(root, field, &path, known);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::wire::{Finding, FindingEvent};

    #[test]
    fn columns_are_sorted_by_what_they_mean() {
        let path = SortPath(JsonPath::parse(".a").expect("a path"));
        for (values, sorted) in [
            (json!(["low", "critical", null, "high"]), json!(["critical", "high", "low", null])),
            (json!(["1Ti", "10Gi", "500M"]), json!(["500M", "10Gi", "1Ti"])),
            (json!(["1h", "5m", "2d"]), json!(["5m", "1h", "2d"])),
            (
                json!(["2026-01-01T00:00:00Z", "2025-12-31T23:00:00-02:00"]),
                json!(["2026-01-01T00:00:00Z", "2025-12-31T23:00:00-02:00"]),
            ),
            (json!([10, 9.5, null, -1]), json!([-1, 9.5, 10, null])),
            (json!(["b", 1, "10Gi", null]), json!([1, "10Gi", "b", null])),
        ] {
            let object = |value: &Value| match value {
                Value::Null => json!({}),
                value => json!({ "a": value }),
            };
            let objects = |values: &Value| -> Vec<Value> {
                values.as_array().expect("a list").iter().map(object).collect()
            };
            let done = path.sort(objects(&values)).expect("sortable");
            assert_eq!(done, objects(&sorted), "{values}");
        }
    }

    #[test]
    fn only_paths_that_findings_can_have_are_taken() {
        for path in [
            ".severity",
            "severity",
            "{.age.seconds}",
            ".volume.capacity",
            ".evidence[0].value",
            ".related[*].name",
            ".causedBy[0].object.name",
            ".verdict.state",
            ".remedy.command",
        ] {
            assert!(SortPath::parse::<Finding>(path, "finding").is_ok(), "{path}");
        }
        for (path, meant) in [
            (".severty", Some(".severity")),
            (".capacity", Some(".volume.capacity")),
            (".age.second", Some(".age.seconds")),
            (".metadata.name", Some(".object.name")),
            (".nonsense", None),
            (".time", None),
        ] {
            let error = SortPath::parse::<Finding>(path, "finding").expect_err(path);
            let SortError::Nowhere { near, .. } = error else { panic!("{path}: {error}") };
            assert_eq!(near.first().map(String::as_str), meant, "{path}");
        }
        assert!(SortPath::parse::<FindingEvent>(".time", "finding").is_ok());
        assert!(SortPath::parse::<FindingEvent>(".severity", "finding").is_ok());
        assert!(matches!(
            SortPath::parse::<Finding>(".a[x]", "finding"),
            Err(SortError::Malformed(_))
        ));
    }
}

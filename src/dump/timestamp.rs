//! Converts the times that YAML allows without quotes into those that Kubernetes writes.
//!
//! A tool that reads `2026-01-01T00:00:00Z` as a time may write it as `2026-01-01 00:00:00`: the
//! timestamp of <https://yaml.org/type/timestamp.html>, in which a missing zone is UTC.

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat};
use serde_json::Value;

/// What people may write as they like.
const FREE: [&str; 4] = ["labels", "annotations", "matchLabels", "parameters"];

/// Puts the times of an object into the form that Kubernetes knows.
pub(super) fn settle(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter_mut().filter(|(key, _)| !FREE.contains(&key.as_str()))
            {
                let is_time = key == "time" || key.ends_with("Time") || key.ends_with("Timestamp");
                match value {
                    Value::String(text) if is_time => {
                        if let Some(time) = rfc_3339(text) {
                            *text = time;
                        }
                    }
                    other => settle(other),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns a YAML timestamp as RFC 3339 has it; nothing if it is none, or is so already.
fn rfc_3339(text: &str) -> Option<String> {
    if DateTime::parse_from_rfc3339(text).is_ok() {
        return None;
    }
    let end = text.find(['T', 't', ' ', '\t']).unwrap_or(text.len());
    let date = NaiveDate::parse_from_str(&text[..end], "%Y-%m-%d").ok()?;
    let rest = text[end..].trim_start_matches(['T', 't', ' ', '\t']);
    let (time, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len()));
    let time = match time.trim_ascii_end() {
        "" if zone.is_empty() => NaiveTime::MIN,
        time => NaiveTime::parse_from_str(time, "%H:%M:%S%.f").ok()?,
    };
    let east = match zone {
        "" | "Z" | "z" => 0,
        zone => {
            let (hours, minutes) = zone[1..].split_once(':').unwrap_or((&zone[1..], "0"));
            let [hours, minutes] = [hours, minutes].map(|it| it.parse::<u16>().map(i64::from).ok());
            let minutes = hours? * 60 + minutes?;
            if zone.starts_with('-') { -minutes } else { minutes }
        }
    };
    let utc = date.and_time(time).checked_sub_signed(chrono::TimeDelta::minutes(east))?;
    Some(utc.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{rfc_3339, settle};

    #[test]
    fn timestamps_of_yaml_are_read_as_it_defines_them() {
        for (text, expected) in [
            ("2026-01-01", Some("2026-01-01T00:00:00Z")),
            ("2026-01-01 12:30:00", Some("2026-01-01T12:30:00Z")),
            ("2026-01-01T12:30:00", Some("2026-01-01T12:30:00Z")),
            ("2026-01-01 12:30:00.25 +1", Some("2026-01-01T11:30:00.250Z")),
            ("2026-1-1  2:30:00 Z", Some("2026-01-01T02:30:00Z")),
            ("2026-01-01 12:30:00 -5:30", Some("2026-01-01T18:00:00Z")),
            ("2026-01-01T12:30:00Z", None),
            ("2026-01-01 12:30:00+00:00", None),
            ("2026-01-01T12:30:00.000001Z", None),
            ("2026-01-01 Z", None),
            ("2026-13-01", None),
            ("20260101", None),
            ("2026-01-01 noon", None),
            ("2026-01-01 12:30:00 +x", None),
            ("2026-01-01 12:30:00 +99999999999", None),
            ("2026-01-01 12:30:00 +99999999", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(rfc_3339(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_times_are_settled() {
        let free = json!({"buildTime": "2026-01-01"});
        let mut object = json!({
            "metadata": {"creationTimestamp": "2026-01-01", "labels": free, "annotations": free,
                "name": "2026-01-01", "managedFields": [{"time": "2026-01-01 00:00:00"}]},
            "parameters": free,
        });
        settle(&mut object);
        let time = json!("2026-01-01T00:00:00Z");
        let metadata = json!({"creationTimestamp": time, "labels": free, "annotations": free,
            "name": "2026-01-01", "managedFields": [{"time": time}]});
        assert_eq!(object, json!({"metadata": metadata, "parameters": free}));
    }
}

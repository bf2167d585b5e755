//! `RequestTimeout`: the value of `--request-timeout`, in kubectl's format.

use std::str::FromStr;
use std::time::Duration;

/// `--request-timeout` as kubectl reads it: `0` for none, a number of seconds, or a duration such
/// as `1m30s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimeout(pub Option<Duration>);

impl FromStr for RequestTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a duration: use a number of seconds, or one such as 1m30s; 0 is none"
            )
        };
        let total = match text.parse::<u64>() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => go_duration(text).ok_or_else(wrong)?,
        };
        Ok(Self((!total.is_zero()).then_some(total)))
    }
}

/// Parses a duration as Go's `time.ParseDuration` does, without a sign.
fn go_duration(mut text: &str) -> Option<Duration> {
    let mut total = None;
    while !text.is_empty() {
        let number = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (value, rest) = text.split_at(number);
        let unit = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit);
        let scale = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(value.parse::<f64>().ok()? * scale).ok()?;
        total = Some(total.unwrap_or(Duration::ZERO).checked_add(part)?);
        text = rest;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::RequestTimeout;

    #[test]
    fn request_timeouts_are_kubectls() {
        for (text, seconds) in [
            ("0", None),
            ("0s", None),
            ("5", Some(5.0)),
            ("1m30s", Some(90.0)),
            ("1.5h", Some(5400.0)),
            ("500ms", Some(0.5)),
        ] {
            let parsed: Result<RequestTimeout, _> = text.parse();
            assert_eq!(
                parsed.map(|timeout| timeout.0.map(|time| time.as_secs_f64())),
                Ok(seconds),
                "{text}"
            );
        }
        for text in ["", "s", "-5", "1d", "1 m", "5.s.", "1m30"] {
            assert!(text.parse::<RequestTimeout>().is_err(), "{text}");
        }
    }
}

//! Points in time, always the API server's.

use chrono::{DateTime, SecondsFormat, Utc};

/// A point in time as the API server stamped it.
pub type Time = DateTime<Utc>;

/// Parses a date or a time; a date means the end of the day.
pub fn parse_day(text: &str) -> Option<Time> {
    if let Ok(time) = parse_time(text) {
        return time;
    }
    let day = text.parse::<chrono::NaiveDate>().ok()?;
    Some(day.succ_opt()?.and_hms_opt(0, 0, 0)?.and_utc())
}

/// Parses an RFC 3339 time; the zero time of Go (`0001-01-01T00:00:00Z`) means "none".
///
/// # Errors
/// When the text is not a time.
pub fn parse_time(text: &str) -> Result<Option<Time>, chrono::ParseError> {
    let time = DateTime::parse_from_rfc3339(text)?.with_timezone(&Utc);
    Ok((time.timestamp() != GO_ZERO_SECONDS).then_some(time))
}

/// Seconds of Go's zero time, which the API stores where a time was removed.
pub(crate) const GO_ZERO_SECONDS: i64 = -62_135_596_800;

/// Stands for a time that is there and cannot be read: later than any other, so that nothing counts
/// as old by it. No API server stamps such a fraction of a second.
pub const UNREADABLE_TIME: Time = match DateTime::from_timestamp(253_402_300_799, 999_999_000) {
    Some(time) => time,
    None => Time::MAX_UTC,
};

/// Prints a time as the API does, to the second.
pub fn format_time(time: &Time) -> String {
    if *time == UNREADABLE_TIME {
        return "a time that cannot be read".to_owned();
    }
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Prints seconds as kubectl prints an age: `45s`, `12m`, `3h20m`, `7d`, `2y40d`.
pub fn format_age(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_like_kubectl() {
        for (seconds, text) in [
            (-5, "0s"),
            (45, "45s"),
            (119, "119s"),
            (150, "2m30s"),
            (3600, "60m"),
            (12_000, "3h20m"),
            (90_000, "25h"),
            (7 * 86_400, "7d"),
            (8 * 86_400, "8d"),
            (400 * 86_400, "400d"),
            (800 * 86_400, "2y70d"),
            (9 * 365 * 86_400, "9y"),
        ] {
            assert_eq!(format_age(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn zero_time_is_no_time() {
        assert_eq!(parse_time("0001-01-01T00:00:00Z"), Ok(None));
        assert!(parse_time("yesterday").is_err());
        let time = parse_time("2026-01-02T03:04:05Z").expect("valid").expect("not zero");
        assert_eq!(format_time(&time), "2026-01-02T03:04:05Z");
    }
}

//! Points in time, always the API server's; ages, since when a state has lasted and how far that time can
//! be trusted; and thresholds, every duration with which rules compare ages.

use std::{fmt::Write as _, time::Duration};

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

/// Placeholder of a time that is present and cannot be read: later than any other, so that nothing counts as old by it.
/// No API server stamps such a fraction of a second.
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

/// Age of a state: since when it has lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// The beginning; `None` only with [`Trust::Unknown`].
    pub since: Option<Time>,
    /// The evidence for the beginning.
    pub trust: Trust,
}

impl Age {
    /// An unknown age.
    pub const UNKNOWN: Self = Self { since: None, trust: Trust::Unknown };

    /// Returns an age from a time that only the API server can write, such as a creation or deletion timestamp.
    pub fn stamped(since: Option<Time>) -> Self {
        match since {
            Some(time) if time != UNREADABLE_TIME => Self { since, trust: Trust::Corroborated },
            _ => Self::UNKNOWN,
        }
    }
}

/// Trust in an age, by its sources (semantics#trusted-age).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trust {
    /// Two sources agree within five minutes, or the API server alone can write the time.
    Corroborated,
    /// Two sources disagree; the younger age is used.
    Conflicting,
    /// The only source is `lastPhaseTransitionTime`, which users can write.
    SingleSource,
    /// The only source is managedFields: the state has lasted at least this long.
    LowerBound,
    /// The age is unknown.
    Unknown,
}

impl Trust {
    /// Returns the name of the trust in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corroborated => "corroborated",
            Self::Conflicting => "conflicting",
            Self::SingleSource => "single-source",
            Self::LowerBound => "lower-bound",
            Self::Unknown => "unknown",
        }
    }
}

/// A named duration; the only ones that rules may compare an age with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Threshold {
    OlderThan,
    Stuck,
    Finalizer,
    Protection,
    ClaimProtection,
    Detach,
    PvPending,
    PvcPending,
    DeleteWait,
    BackendGap,
    DriverAbsent,
    DriverAction,
    Resync,
    ProvisioningQuiet,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Threshold {
    /// All thresholds, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::OlderThan,
        Self::Stuck,
        Self::Finalizer,
        Self::Protection,
        Self::ClaimProtection,
        Self::Detach,
        Self::PvPending,
        Self::PvcPending,
        Self::DeleteWait,
        Self::BackendGap,
        Self::DriverAbsent,
        Self::DriverAction,
        Self::Resync,
        Self::ProvisioningQuiet,
    ];

    /// Returns the name in `--threshold NAME=DURATION`.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the default duration.
    pub const fn default(self) -> Duration {
        Duration::from_secs(self.row().1)
    }

    /// Describes the ages that are compared with the threshold, in a few words.
    pub const fn about(self) -> &'static str {
        self.row().2
    }

    /// Returns the threshold of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|threshold| threshold.name() == name)
    }

    const fn row(self) -> (&'static str, u64, &'static str) {
        match self {
            Self::OlderThan => ("older-than", 7 * DAY, "how long a volume must have been Released"),
            Self::Stuck => ("stuck", HOUR, "when something waiting counts as stuck"),
            Self::Finalizer => (
                "finalizer",
                20 * MINUTE,
                "how long a controller may take to set or remove its finalizer",
            ),
            Self::Protection => {
                ("protection", 5 * MINUTE, "how long protection of a volume may be missing")
            }
            Self::ClaimProtection => {
                ("claim-protection", 2 * MINUTE, "how long protection of a claim may be missing")
            }
            Self::Detach => ("detach", 10 * MINUTE, "how long detaching may take"),
            Self::PvPending => ("pv-pending", 10 * MINUTE, "how long a volume may be Pending"),
            Self::PvcPending => ("pvc-pending", HOUR, "how long a claim may be Pending"),
            Self::DeleteWait => {
                ("delete-wait", 5 * MINUTE, "how long to wait for a volume to be deleted")
            }
            Self::BackendGap => {
                ("backend-gap", 10 * MINUTE, "time between two listings of a backend")
            }
            Self::DriverAbsent => (
                "driver-absent",
                DAY,
                "how long a driver must have been missing to count as absent",
            ),
            Self::DriverAction => {
                ("driver-action", HOUR, "how recent a driver's action proves that it is running")
            }
            Self::Resync => ("resync", 30, "how long controllers take to notice"),
            Self::ProvisioningQuiet => (
                "provisioning-quiet",
                10 * MINUTE,
                "how long no volume may have been in the making",
            ),
        }
    }
}

/// The thresholds that apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thresholds([Duration; Threshold::ALL.len()]);

impl Default for Thresholds {
    fn default() -> Self {
        Self(Threshold::ALL.map(Threshold::default))
    }
}

impl Thresholds {
    /// Returns the duration that applies.
    pub fn get(&self, threshold: Threshold) -> Duration {
        self.0[threshold as usize]
    }

    /// Sets a duration.
    pub fn set(&mut self, threshold: Threshold, duration: Duration) {
        self.0[threshold as usize] = duration;
    }
}

/// Parses a duration such as `7d`, `36h`, `2w` or `1h30m`.
///
/// # Errors
/// When it is not a duration, has no unit, is negative, is zero, or is longer than a thousand
/// years: none of these can be intended when data is at risk.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err(format!("{text:?} is negative"));
    }
    if text.parse::<f64>().is_ok() && text != "0" {
        return Err(format!("{text:?} has no unit: write {text}d, {text}h, {text}m or {text}s"));
    }
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{text:?} is not a duration such as 7d, 36h or 1h30m: {error}"))?;
    if duration.is_zero() {
        return Err("zero is not an age to act on".to_owned());
    }
    if duration.as_secs() > 1000 * 366 * DAY {
        return Err(format!("{text:?} is longer than a thousand years"));
    }
    Ok(duration)
}

/// Prints a duration so that [`parse_duration`] reads it back: `7d`, `1h30m`, `500ms`.
pub fn format_duration(duration: Duration) -> String {
    let mut rest = duration.as_secs();
    let mut text = String::new();
    for (length, unit) in [(DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (1, "s")] {
        if rest >= length {
            let _ = write!(text, "{}{unit}", rest / length);
            rest %= length;
        }
    }
    if duration.subsec_millis() > 0 {
        let _ = write!(text, "{}ms", duration.subsec_millis());
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_stands_at_its_index_and_has_its_name() {
        for (index, threshold) in Threshold::ALL.into_iter().enumerate() {
            assert_eq!(threshold as usize, index);
            assert_eq!(Threshold::parse(threshold.name()), Some(threshold));
        }
    }

    #[test]
    fn durations_print_as_they_are_read() {
        for text in ["7d", "1d12h", "1h30m", "30s", "500ms", "20m"] {
            let duration = parse_duration(text).expect("a duration");
            assert_eq!(format_duration(duration), text);
        }
    }

    #[test]
    fn durations_need_a_unit_and_a_length() {
        for (text, seconds) in
            [("7d", 7 * DAY), ("36h", 36 * HOUR), ("2w", 14 * DAY), ("1h30m", 5400), ("5s", 5)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["0", "0s", "-1d", "7", "1.5", "", "soon", "99999999y", "1e9", "NaN", "inf"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

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

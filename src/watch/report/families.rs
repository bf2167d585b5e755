//! The metrics: their names, types, labels and what they say. `docs/watch-reports.md` shows them.

use std::fmt::Write as _;

use prometheus_client::metrics::MetricType;

/// All samples of one name.
#[derive(Debug)]
pub(super) struct MetricFamily {
    /// Its name, of a counter without `_total`.
    pub(super) name: &'static str,
    /// Its type.
    pub(super) kind: MetricType,
    /// The names of its labels.
    pub(super) labels: &'static [&'static str],
    /// What it says.
    pub(super) help: &'static str,
}

macro_rules! families {
    ($($name:ident: $kind:ident $text:literal [$($label:literal),*] $help:literal;)+) => {
        $(pub(super) static $name: MetricFamily = MetricFamily {
            name: concat!("kubectl_storage_", $text),
            kind: MetricType::$kind,
            labels: &[$($label),*],
            help: $help,
        };)+

        /// All of them, in the order of an exposition.
        pub(super) static FAMILIES: &[&MetricFamily] = &[$(&$name),+];
    };
}

families! {
    BUILD_INFO: Gauge "build_info" ["version"] "Which version this is.";
    FINDINGS: Gauge "findings" ["id", "severity", "namespace"]
        "Findings that are there, as in the summary of an audit.";
    RELEASED: Gauge "released_bytes" ["storageclass", "driver"] "Capacity of Released volumes.";
    LEAKING: Gauge "leaking_bytes" ["storageclass", "driver"]
        "Capacity of backend volumes that are leaked or about to be.";
    OLDEST_RELEASED: Gauge "oldest_released_timestamp_seconds" ["storageclass"]
        "Since when the volume is Released that has been for longest, where that is known.";
    GAP: Gauge "gap" ["resource"] "Whether not all of this resource could be read.";
    VIEW: Gauge "view_timestamp_seconds" ["resource"]
        "When the watch of this resource heard from the API server last.";
    WATCH_RESTARTS: Counter "watch_restarts" ["resource"]
        "How often a watch of this resource began anew, which the API server asks for now and then.";
    LAST_JUDGEMENT: Gauge "last_judgement_timestamp_seconds" []
        "When it was judged last what had changed.";
    JUDGEMENTS: Histogram "judgement_duration_seconds" []
        "How long a judgement took, with the questions that it asked.";
    JUDGED: Counter "judged_subjects" [] "Objects that were judged, each time anew.";
    FULL_PASSES: Counter "full_passes" [] "How often everything was judged from scratch.";
    DEFECTS: Counter "defects" []
        "Findings that only a full pass changed, which is a defect of this program.";
    LEADER: Gauge "leader" ["lease_namespace", "lease"]
        "Whether this process sends reports, where there is an election: only the one that holds this Lease does.";
    REPORTS: Counter "reports" ["sink", "outcome"]
        "Findings that were sent to a sink, given up after errors, or left out for want of room.";
    CHANGES: Counter "watch_changes" ["reconciler", "outcome"]
        "Changes that reconcilers made or did not make, by what came of each.";
    LAST_CHANGE: Gauge "watch_last_change_timestamp_seconds" [] "When a reconciler changed something last.";
    ANNOUNCED: Gauge "watch_announced" [] "Volumes that are announced and whose grace period runs.";
    DUE: Gauge "watch_due" [] "Volumes that are announced, unchanged, and whose grace period is over.";
    VETOED: Gauge "watch_vetoed" [] "Volumes whose announcement somebody vetoed.";
    PAUSED: Gauge "watch_paused" [] "Whether reconcilers that could act may change nothing, because of `watch pause`.";
    BREAKER_OPEN: Gauge "watch_breaker_open" []
        "Whether nothing is announced or reclaimed: too many volumes became reclaimable within an hour, or it is uncertain what time it is, or what happened.";
}

impl MetricFamily {
    /// Its name in the older text format, and in queries.
    pub(super) fn full_name(&self) -> String {
        match self.kind {
            MetricType::Counter => format!("{}_total", self.name),
            _ => self.name.to_owned(),
        }
    }
}

/// Turns the text of `OpenMetrics` into the older one that every Prometheus reads: counters are
/// described by their full names, and there is no end mark.
pub(super) fn older_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        let described = ["# HELP ", "# TYPE "].into_iter().find_map(|mark| {
            let (name, rest) = line.strip_prefix(mark)?.split_once(' ')?;
            Some((mark, FAMILIES.iter().find(|it| it.name == name)?, rest))
        });
        let _ = match described {
            Some((mark, family, rest)) => writeln!(text, "{mark}{} {rest}", family.full_name()),
            None => writeln!(text, "{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of metrics in the documentation.
    fn table() -> String {
        let mut table = "| metric | type | labels | what it says |\n|---|---|---|---|\n".to_owned();
        for family in FAMILIES {
            let labels: Vec<_> = family.labels.iter().map(|it| format!("`{it}`")).collect();
            let (name, kind) = (family.full_name(), family.kind.as_str());
            let line = format!("| `{name}` | {kind} | {} | {} |\n", labels.join(", "), family.help);
            table.push_str(&line);
        }
        table
    }

    #[test]
    fn the_documentation_lists_every_metric() {
        const BEGIN: &str = "<!-- metrics: generated -->\n";
        const END: &str = "<!-- end of metrics -->";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/watch-reports.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let (before, rest) = page.split_once(BEGIN).expect("where the table begins");
        let (_, after) = rest.split_once(END).expect("where the table ends");
        let expected = format!("{before}{BEGIN}{}{END}{after}", table());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &expected).expect("the page");
        } else {
            assert_eq!(page, expected, "UPDATE=1 writes it");
        }
    }

    #[test]
    fn names_follow_the_conventions() {
        for family in FAMILIES {
            let lower = |it: &str| it.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(lower(family.name) && family.labels.iter().all(|it| lower(it)), "{family:?}");
            assert!(!family.name.ends_with("_total"), "{family:?}");
            assert!(family.help.ends_with('.') && !family.help.contains('\\'), "{family:?}");
        }
    }
}

//! The summary of a report, in one or two lines.

use super::{lines::Paint, wire::Summary};
use crate::model::{Severity, counted};

/// Numbers of checks, asked for and made everywhere.
#[derive(Debug, Clone, Copy)]
pub struct Checks {
    /// Number of checks that were asked for and that nothing limited.
    pub made: usize,
    /// Number of all checks.
    pub all: usize,
    /// Whether everything could be read.
    pub complete: bool,
}

/// Returns the summary in one or two lines. Where checks were limited, it never says only that nothing was found.
pub fn summary(summary: &Summary, checks: Checks, paint: Paint) -> String {
    let counts: Vec<_> = Severity::ALL
        .into_iter()
        .filter_map(|severity| {
            let count = *summary.by_severity.get(severity.name())?;
            (count > 0).then(|| paint.ranked(severity, &format!("{count} {}", severity.name())))
        })
        .collect();
    let seen =
        format!("{}, {}", counted(summary.volumes, "volume"), counted(summary.claims, "claim"));
    let exempted = match summary.exempted {
        0 => String::new(),
        count => format!("; {count} exempted"),
    };
    if counts.is_empty() {
        let Checks { made, all, complete } = checks;
        return match complete && made == all {
            true => format!("no findings: {seen}{exempted}"),
            false => format!("0 findings in {made} of {all} checks: {seen}{exempted}"),
        };
    }
    let all: usize = summary.by_severity.values().sum();
    let caused = match summary.caused {
        0 => String::new(),
        count => format!(
            "\n{}, {}",
            counted(all.saturating_sub(count), "root cause"),
            counted(count, "consequence")
        ),
    };
    format!(
        "{}: {seen}{exempted}{caused}\nReleased {}, reclaimable now {}; leaking {}; data at risk {}",
        counts.join(", "),
        summary.released,
        summary.reclaimable,
        summary.leaking,
        summary.at_risk
    )
}

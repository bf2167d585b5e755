//! The text of `/metrics` of a kubelet.

use std::io::BufRead;

use super::{
    VolumeMeasure,
    json::{FoundFigures, SeriesLabels},
    measured, seconds,
};

/// Number of milliseconds since 1970 that is no number of seconds: it is in 1973, or in the year 5138.
const LEAST_MILLISECONDS: f64 = 1e11;

/// Reads all lines of a kubelet's `/metrics`; those of other metrics are left out.
///
/// # Errors
/// When a line about volumes cannot be read, with its number.
pub(super) fn read_text(
    content: &mut dyn BufRead,
    found: &mut FoundFigures,
) -> Result<(), MetricsError> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let length = content.read_until(b'\n', &mut line).map_err(MetricsError::Read)?;
        if length == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        found.is_of_kubelet |= text.starts_with("kubelet_");
        if text.starts_with(VolumeMeasure::PREFIX) {
            found.rows += 1;
            take(text.trim_end(), found).map_err(|why| MetricsError::Line { number, why })?;
        }
    }
}

/// Why a text cannot be read.
#[derive(Debug)]
pub(super) enum MetricsError {
    Read(std::io::Error),
    Line { number: u64, why: String },
}

/// Takes a line: `NAME{LABEL="VALUE",…} NUMBER [MILLISECONDS]`.
fn take(line: &str, found: &mut FoundFigures) -> Result<(), String> {
    let (name, rest) = line.split_once('{').ok_or("it has no labels")?;
    let (labels, rest) = labels(rest).ok_or("its labels do not end")?;
    let mut words = rest.split_ascii_whitespace();
    let number = words.next().ok_or("it has no number")?;
    let number: f64 = number.parse().map_err(|_| format!("{number:?} is no number"))?;
    let at = words.next().map(|it| it.parse::<f64>().map_err(|_| format!("{it:?} is no time")));
    // OpenMetrics writes seconds.
    let is_milliseconds = |it: f64| it >= LEAST_MILLISECONDS;
    let at = at.transpose()?;
    let at = at.and_then(|it| seconds(if is_milliseconds(it) { it / 1000.0 } else { it }));
    let Some(measure) = VolumeMeasure::of(name) else { return Ok(()) };
    let Some(figures) = found.figures_of(&labels)? else { return Ok(()) };
    figures.take(measure, measured(number), at);
    Ok(())
}

/// Reads labels up to their closing brace, and returns what follows it.
fn labels(text: &str) -> Option<(SeriesLabels, &str)> {
    let mut labels = SeriesLabels::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next()? {
                (end, '"') => break end + 1,
                (_, '\\') => match letters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, letter) => value.push(letter),
            }
        };
        labels.insert(name.trim().to_owned(), value);
        rest = &after[end..];
    }
}

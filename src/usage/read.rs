//! Reads a file with figures, recognised by its shape.

use std::io;

use super::{
    UsageFigures, UsageFile, VolumeMeasure,
    exposition::{MetricsError, read_text},
    json::{FoundFigures, read_json},
};
use crate::{
    listings::{NamedFile, Opened},
    model::{Text, escape_control, shorten},
};

/// Why figures cannot be read. None of the file is used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    /// The file cannot be read.
    #[error("failed to read {name}")]
    Read { name: String, source: io::Error },
    /// It is something else.
    #[error("{name} has no figures of volumes: {why}")]
    Foreign { name: String, why: String },
    /// A row or a line cannot be read.
    #[error("{name}, line {line}: {why}")]
    Row { name: String, line: u64, why: String },
}

/// Reads a file: an answer of Prometheus, summaries of kubelets, or the text of a kubelet's `/metrics`, plain or gzip.
///
/// # Errors
/// When it cannot be read to its end, is something else, or tells of several clusters.
pub(crate) fn read(input: &NamedFile) -> Result<UsageFile, UsageError> {
    read_from(input.open(), &input.name())
}

/// Reads the summary of the kubelet of a node (`/stats/summary`).
///
/// # Errors
/// When it cannot be read to its end, or is something else.
pub(crate) fn read_summary(node: Text, content: impl io::Read) -> Result<UsageFigures, String> {
    let mut found = FoundFigures::of_node(node);
    let told =
        |error: serde_json::Error| escape_control(&shorten(&error.to_string(), 200)).into_owned();
    read_json(&mut io::BufReader::new(content), &mut found).map_err(told)?;
    match found.is_of_kubelet {
        true => Ok(found.file.figures),
        false => Err("it is no summary of a kubelet".to_owned()),
    }
}

fn read_from(opened: io::Result<Opened<'_>>, name: &str) -> Result<UsageFile, UsageError> {
    let read = |source| UsageError::Read { name: name.to_owned(), source };
    let foreign = |why: &str| UsageError::Foreign { name: name.to_owned(), why: why.to_owned() };
    let (mut content, first) = opened.map_err(read)?;
    let mut found = FoundFigures::default();
    name.clone_into(&mut found.file.name);
    match first {
        None => return Err(foreign("it is empty")),
        Some(b'<') => {
            return Err(foreign("it is an HTML or XML page, perhaps that of a login"));
        }
        Some(b'[') => return Err(foreign("it is a list: pass each answer as it was printed")),
        Some(0xff | 0xfe) => {
            return Err(foreign("it is no UTF-8: PowerShell writes UTF-16, unless told"));
        }
        Some(b'{') => read_json(&mut content, &mut found).map_err(|error| {
            let text = error.to_string();
            let why = text.rsplit_once(" at line ").map_or(&*text, |it| it.0);
            let why = escape_control(&shorten(why, 300)).into_owned();
            match error.line() {
                _ if error.is_io() => {
                    UsageError::Read { name: name.to_owned(), source: io::Error::other(text) }
                }
                line if found.rows > 0 => {
                    UsageError::Row { name: name.to_owned(), line: line as u64, why }
                }
                _ => UsageError::Foreign { name: name.to_owned(), why },
            }
        })?,
        Some(_) => read_text(&mut content, &mut found).map_err(|error| match error {
            MetricsError::Read(source) => UsageError::Read { name: name.to_owned(), source },
            MetricsError::Line { number, why } => {
                let why = escape_control(&shorten(&why, 300)).into_owned();
                UsageError::Row { name: name.to_owned(), line: number, why }
            }
        })?,
    }
    if found.file.figures.claims.is_empty() && !found.is_of_kubelet {
        let measured = format!("no series in it is {}… of a claim", VolumeMeasure::PREFIX);
        return Err(foreign(&measured));
    }
    Ok(found.file)
}

/// Returns the figures of a text, for tests.
#[cfg(test)]
pub(crate) fn figures_of(text: &str) -> super::UsageFigures {
    let opened = crate::listings::unpacked(Box::new(text.as_bytes()));
    let mut figures = super::UsageFigures::default();
    let file = read_from(opened, "text").expect("the text has figures");
    figures.add(file).expect("it is of one cluster");
    figures
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::{damage::hold, listings::unpacked, model::format_time};

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        name: String,
        text: String,
        #[serde(default)]
        figures: Vec<String>,
        refused: Option<String>,
    }

    fn cases() -> Vec<Case> {
        let cases = include_str!("../../tests/usage.yaml");
        serde_yaml::from_str(cases).expect("the cases are YAML")
    }

    fn told(file: &UsageFile) -> Vec<String> {
        let number = |it: Option<u64>| it.map_or("-".to_owned(), |it| it.to_string());
        let mut told = Vec::new();
        for claim in file.figures.claims() {
            for it in file.figures.of(claim) {
                let numbers = [
                    VolumeMeasure::Capacity,
                    VolumeMeasure::Available,
                    VolumeMeasure::Used,
                    VolumeMeasure::Inodes,
                    VolumeMeasure::InodesUsed,
                ]
                .map(|of| it.get(of));
                told.push(format!(
                    "{}/{} {} {} {}",
                    claim.namespace,
                    claim.name,
                    it.node.as_deref().unwrap_or("-"),
                    numbers.map(number).join(" "),
                    it.at().as_ref().map_or("-".to_owned(), format_time),
                ));
            }
        }
        told.sort();
        told
    }

    #[test]
    fn answers_are_read_or_refused() {
        for case in cases() {
            let opened = unpacked(Box::new(case.text.as_bytes()));
            let read = read_from(opened, "file");
            match (read, case.refused) {
                (Ok(file), None) => assert_eq!(told(&file), case.figures, "{}", case.name),
                (Err(error), Some(refused)) => {
                    assert_eq!(error.to_string(), refused, "{}", case.name);
                }
                (read, _) => panic!("{}: {:?}", case.name, read.map(|it| told(&it))),
            }
        }
    }

    #[test]
    fn damaged_answers_are_read_or_refused() {
        let sound: Vec<_> = cases().into_iter().map(|it| it.text.into_bytes()).collect();
        hold("usage", &sound, |bytes| {
            // It may be refused.
            let _ = read_from(unpacked(Box::new(bytes)), "file");
        });
    }
}

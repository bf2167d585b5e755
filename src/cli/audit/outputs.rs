//! Outputs of `audit` by `-o`: the one that is printed, and the files that are written beside it.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tokio::task::yield_now;

use super::printer;
use crate::{
    cli::{Failure, terminal},
    dump::file_beside,
    model::escape_control,
    output::{
        format::{ALLOWED, FormatError},
        formats::ExportFormat,
        jsonpath::RenderError,
        report::Printer,
    },
    platform::sync_folder,
};

/// Outputs of a report: the one that is printed, and files.
#[derive(Debug)]
pub(super) struct ReportOutputs {
    pub(super) printed: Printed,
    pub(super) files: ReportFiles,
}

/// Format of the report that is printed.
#[derive(Debug)]
pub(super) enum Printed {
    /// Format that other commands print too, or a template.
    Screen(Printer),
    /// Format of files, here printed.
    File(ExportFormat),
}

impl Printed {
    /// Whether the output is for people: then the summary follows on stderr.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self, Self::Screen(printer) if printer.is_for_people())
    }
}

impl ReportOutputs {
    /// Parses every `-o`: `FORMAT` or `FORMAT=FILE`.
    ///
    /// # Errors
    /// When one is neither, two are for stdout, or a file cannot be the place of a report.
    pub(super) fn parse(typed: &[String]) -> Result<Self, Failure> {
        let mut printed: Option<(&String, Printed)> = None;
        let mut files = ReportFiles::default();
        for text in typed {
            let (name, path) = text.split_once('=').map_or((&**text, None), |(a, b)| (a, Some(b)));
            let format = ExportFormat::parse(name);
            let shown = match (format, path) {
                (Some(format), Some(path)) => {
                    files.add(format, path)?;
                    continue;
                }
                // Both are what they are for other commands.
                (Some(ExportFormat::Json | ExportFormat::Yaml) | None, _) => {
                    Printed::Screen(parsed(text)?)
                }
                (Some(format), None) => Printed::File(format),
            };
            if let Some((first, _)) = printed.replace((text, shown)) {
                let told = format!("-o {first} and -o {text} are both for stdout");
                return Err(Failure::usage(told).hint(Some("-o FORMAT=FILE writes one to a file")));
            }
        }
        let printed = printed.map(|(_, printed)| printed);
        let printed = printed.unwrap_or(Printed::Screen(Printer::Table { wide: false }));
        Ok(Self { printed, files })
    }

    /// Returns the printer for `--watch`.
    ///
    /// # Errors
    /// When that is a format of whole reports, or there are files.
    pub(super) fn followed(self) -> Result<Printer, Failure> {
        if !self.files.is_empty() {
            return Err(Failure::usage("-o FORMAT=FILE does not apply to --watch"));
        }
        match self.printed {
            Printed::Screen(printer) => Ok(printer),
            Printed::File(format) => {
                let told = format!("-o {} does not apply to --watch", format.name());
                Err(Failure::usage(told))
            }
        }
    }
}

fn parsed(text: &str) -> Result<Printer, Failure> {
    printer(text).map_err(|failure| match failure.error.downcast_ref::<FormatError>() {
        Some(FormatError::Unknown(_)) => {
            let files = ExportFormat::ALL.map(ExportFormat::name);
            let mut allowed: Vec<_> = ALLOWED.split(',').chain(files).collect();
            allowed.sort_unstable();
            allowed.dedup();
            Failure::usage(format!(
                "unable to match a printer suitable for the output format {text:?}, allowed formats are: {}",
                allowed.join(",")
            ))
            .hint(text.contains('=').then(|| format!("files are written as {}", files.join(", "))))
        }
        _ => failure,
    })
}

/// Files that the report is still to be written to: each becomes whole, or stays as it was.
#[derive(Debug, Default)]
pub(super) struct ReportFiles {
    files: Vec<ReportFile>,
}

#[derive(Debug)]
struct ReportFile {
    format: ExportFormat,
    /// Path as it was typed.
    path: String,
    /// File that the path leads to: renaming onto a link would replace the link.
    target: PathBuf,
    /// File that holds the report until it is renamed.
    temporary: Option<PathBuf>,
}

impl ReportFiles {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn add(&mut self, format: ExportFormat, path: &str) -> Result<(), Failure> {
        if matches!(path, "" | "-") {
            let told = format!("-o {}={path} names no file", format.name());
            let hint = format!("-o {} prints the report", format.name());
            return Err(Failure::usage(told).hint(Some(hint)));
        }
        let target = target(Path::new(path)).map_err(|error| unwritten(path, error))?;
        if self.files.iter().any(|it| it.target == target) {
            let told = format!("-o: two reports cannot be written to {}", escape_control(path));
            return Err(Failure::usage(told));
        }
        self.files.push(ReportFile { format, path: path.to_owned(), target, temporary: None });
        Ok(())
    }

    /// Refuses to replace files that are read, which are called this.
    ///
    /// # Errors
    /// When a file is one of those, or in a folder of those.
    pub(super) fn spare(&self, read: &[PathBuf], what: &str) -> Result<(), Failure> {
        let read: Vec<_> = read.iter().filter_map(|it| fs::canonicalize(it).ok()).collect();
        // A new file beside dumps of one cluster is none of them.
        let is_read = |it: &&ReportFile| {
            let lies_in = read.iter().any(|read| it.target.starts_with(read));
            read.contains(&it.target) || (lies_in && it.target.exists())
        };
        match self.files.iter().find(is_read) {
            Some(file) => {
                let path = escape_control(&file.path);
                Err(Failure::usage(format!("-o: {path} is a {what} that is read, or lies in one")))
            }
            None => Ok(()),
        }
    }

    /// Refuses to write into folders in which each file is the dump of a cluster.
    ///
    /// # Errors
    /// When a file is in one of those.
    pub(super) fn stay_out_of(&self, folders: &[PathBuf]) -> Result<(), Failure> {
        let folders: Vec<_> = folders.iter().filter_map(|it| fs::canonicalize(it).ok()).collect();
        let is_in = |it: &&ReportFile| folders.iter().any(|folder| it.target.starts_with(folder));
        match self.files.iter().find(is_in) {
            Some(file) => {
                let path = escape_control(&file.path);
                Err(Failure::usage(format!("-o: {path} would be the dump of a cluster")))
            }
            None => Ok(()),
        }
    }

    /// Writes each report to a file beside its target. Between them a signal can end it.
    ///
    /// # Errors
    /// When one cannot be written.
    pub(super) async fn write(
        &mut self,
        mut report: impl FnMut(ExportFormat, &mut dyn Write) -> Result<(), RenderError>,
    ) -> Result<(), Failure> {
        for file in &mut self.files {
            yield_now().await;
            let failed = |error| unwritten(&file.path, error);
            let (temporary, opened) =
                file_beside(&file.target, OpenOptions::new().write(true)).map_err(failed)?;
            file.temporary = Some(temporary);
            if let Ok(earlier) = fs::metadata(&file.target) {
                opened.set_permissions(earlier.permissions()).map_err(failed)?;
            }
            let mut out = BufWriter::with_capacity(64 << 10, opened);
            report(file.format, &mut out).map_err(|error| match error {
                RenderError::Io(error) => failed(error),
                other => Failure::error(other),
            })?;
            let whole = out.into_inner().map_err(io::IntoInnerError::into_error);
            whole.and_then(|it| it.sync_all()).map_err(failed)?;
        }
        yield_now().await;
        Ok(())
    }

    /// Renames each written report to its target.
    ///
    /// # Errors
    /// When one cannot take it.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        while let Some(file) = self.files.first() {
            if let Some(temporary) = &file.temporary {
                let placed = fs::rename(temporary, &file.target);
                placed.map_err(|error| unwritten(&file.path, error))?;
            }
            let placed = self.files.remove(0);
            let folder = placed.target.parent().unwrap_or(Path::new("."));
            if let Err(error) = sync_folder(folder) {
                // It is there, and whole.
                let path = escape_control(&placed.path);
                terminal::note(&format!(
                    "note: {path} is written, and may not survive a power cut: {error}"
                ));
            }
        }
        Ok(())
    }
}

impl Drop for ReportFiles {
    fn drop(&mut self) {
        for file in &self.files {
            if let Some(temporary) = &file.temporary {
                // It is only a leftover.
                let _ = fs::remove_file(temporary);
            }
            terminal::note(&format!("{}: not written", escape_control(&file.path)));
        }
    }
}

/// Returns the target of a report, which is a regular file or does not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    if path.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
        return Err(io::Error::other("it is no name of a file"));
    }
    // What stands for a stream would be replaced, not written to.
    if ["/dev", "/proc"].iter().any(|it| path.starts_with(it)) {
        return Err(io::Error::other("it is not a regular file; -o FORMAT prints the report"));
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
            Ok(fs::canonicalize(folder.unwrap_or(Path::new(".")))?.join(name))
        }
        Err(error) => Err(error),
        Ok(_) => {
            let target = fs::canonicalize(path)?;
            match fs::metadata(&target)?.is_file() {
                true => Ok(target),
                // Renaming a file onto a device works, for root.
                false => Err(io::Error::other("it is not a regular file")),
            }
        }
    }
}

fn unwritten(path: &str, error: io::Error) -> Failure {
    let context = format!("failed to write {path}");
    Failure::error(anyhow::Error::new(error).context(context))
}

//! Writer of our own dump file: one JSON object in each line, a header first, an end line last.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, io, process};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, value::RawValue};

use super::delivery::EndLine;
use super::flaw::DumpError;
use super::{OWN_GROUP, OWN_HEADER, OWN_TRAILER, OWN_VERSION};
use crate::platform::{private_file, sync_folder};

/// Number of bytes that are written at once.
const BUFFER: usize = 64 << 10;
/// Largest number of bytes of the first line: a file that does not end it by then is not a dump.
const LONGEST_HEADER: u64 = 1 << 20;
/// Where the version of a header stands at the latest, in bytes.
const BEGINNING: usize = 256;

/// Choice of the files that a dump may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// An earlier dump of ours, and nothing else.
    Dumps,
    /// Any file.
    Anything,
}

/// Writer of a dump. The file appears under its name only when [`finish`](Self::finish) has written the end line; a
/// writer that is dropped before leaves nothing behind.
///
/// The lines are gzipped if the name ends in `.gz`.
#[must_use = "a dump that is not finished is removed"]
pub struct DumpWriter {
    path: PathBuf,
    /// Output of the lines; `None` once the dump is finished. Gone once the dump is finished.
    lines: Option<LineOutput>,
    /// The file that is renamed at the end; none for standard output.
    temporary: Option<PathBuf>,
    replace: Replace,
    count: u64,
}

enum LineOutput {
    Stdout(BufWriter<io::Stdout>),
    Plain(BufWriter<File>),
    /// The encoder clears a buffer of its own at each write, and JSON is written in very small ones.
    Gzip(Box<BufWriter<GzEncoder<File>>>),
}

/// A line of ours, with the kind that readers look for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnLine<'a, T> {
    api_version: &'a str,
    kind: &'a str,
    #[serde(flatten)]
    rest: &'a T,
}

impl DumpWriter {
    /// Begins a dump with its header, to which `apiVersion` and `kind` are added. `-` is standard output.
    pub fn create(
        path: &Path,
        replace: Replace,
        header: &impl Serialize,
    ) -> Result<Self, DumpError> {
        let mut writer = if path.as_os_str() == "-" {
            let lines = Some(LineOutput::Stdout(BufWriter::with_capacity(BUFFER, io::stdout())));
            Self { path: path.to_owned(), lines, temporary: None, replace, count: 0 }
        } else {
            let path = resolved(path)?;
            may_replace(&path, replace)?;
            let failed = |source| DumpError::Write { path: path.clone(), source };
            let (temporary, file) = private_file_beside(&path).map_err(failed)?;
            let gzip = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz"));
            let lines = if gzip {
                let gzip = GzEncoder::new(file, Compression::default());
                LineOutput::Gzip(Box::new(BufWriter::with_capacity(BUFFER, gzip)))
            } else {
                LineOutput::Plain(BufWriter::with_capacity(BUFFER, file))
            };
            let (lines, temporary) = (Some(lines), Some(temporary));
            Self { path, lines, temporary, replace, count: 0 }
        };
        writer.line(&OwnLine { api_version: OWN_VERSION, kind: OWN_HEADER, rest: header })?;
        Ok(writer)
    }

    /// Writes a Kubernetes object that has its `apiVersion` and `kind`.
    pub fn object(&mut self, object: &impl Serialize) -> Result<(), DumpError> {
        self.line(object)?;
        self.count += 1;
        Ok(())
    }

    /// Writes a Kubernetes object as it was rendered.
    pub fn document(
        &mut self,
        document: Result<Box<RawValue>, serde_json::Error>,
    ) -> Result<(), DumpError> {
        let encode = |source| DumpError::Encode { path: self.path.clone(), source };
        let document = document.map_err(encode)?;
        self.object(&document)
    }

    /// Writes a record of our own, such as the answer to a question. It must have neither `apiVersion` nor `kind`
    /// itself.
    pub fn record(&mut self, kind: &str, record: &impl Serialize) -> Result<(), DumpError> {
        self.object(&OwnLine { api_version: OWN_VERSION, kind, rest: record })
    }

    /// Writes the end line and gives the file its name. Returns the number of lines between the
    /// header and the end.
    pub fn finish(mut self) -> Result<u64, DumpError> {
        let rest = &EndLine { count: self.count };
        self.line(&OwnLine { api_version: OWN_VERSION, kind: OWN_TRAILER, rest })?;
        let lines = self.lines.take();
        lines.map_or(Ok(()), LineOutput::close).map_err(|source| self.failed(source))?;
        if let Some(temporary) = &self.temporary {
            // It may have appeared meanwhile.
            may_replace(&self.path, self.replace)?;
            fs::rename(temporary, &self.path).map_err(|source| self.failed(source))?;
            self.temporary = None;
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            sync_folder(folder.unwrap_or(Path::new("."))).map_err(|source| self.failed(source))?;
        }
        Ok(self.count)
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), DumpError> {
        let Some(lines) = &mut self.lines else { return Ok(()) };
        // Compact JSON escapes line breaks, so this is one line whatever is in it.
        let encoded = serde_json::to_writer(&mut *lines, line);
        match encoded {
            Ok(()) => lines.write_all(b"\n").map_err(|source| self.failed(source)),
            Err(source) if source.is_io() => Err(self.failed(source.into())),
            Err(source) => Err(DumpError::Encode { path: self.path.clone(), source }),
        }
    }

    fn failed(&self, source: io::Error) -> DumpError {
        DumpError::Write { path: self.path.clone(), source }
    }
}

impl Drop for DumpWriter {
    fn drop(&mut self) {
        // Closed first: some systems do not remove what is open.
        self.lines = None;
        if let Some(temporary) = &self.temporary {
            // Nothing can be done about it here, and it is only a leftover.
            let _ = fs::remove_file(temporary);
        }
    }
}

impl LineOutput {
    fn close(self) -> io::Result<()> {
        let file = match self {
            Self::Stdout(mut out) => return out.flush(),
            Self::Plain(file) => file.into_inner()?,
            Self::Gzip(gzip) => gzip.into_inner()?.finish()?,
        };
        file.sync_all()
    }
}

impl Write for LineOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(gzip) => gzip.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Plain(file) => file.flush(),
            Self::Gzip(gzip) => gzip.flush(),
        }
    }
}

/// Returns the file that a link leads to: renaming onto the link would replace the link.
fn resolved(path: &Path) -> Result<PathBuf, DumpError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::canonicalize(path)
            .map_err(|source| DumpError::Write { path: path.to_owned(), source }),
        _ => Ok(path.to_owned()),
    }
}

/// Refuses to replace a file that is no dump of ours. A device or a pipe is never replaced: renaming a file onto
/// `/dev/null` works, for root.
fn may_replace(path: &Path, replace: Replace) -> Result<(), DumpError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(DumpError::Write { path: path.to_owned(), source }),
        Ok(found) if !found.is_file() => Err(DumpError::NotAFile { path: path.to_owned() }),
        Ok(_) if replace == Replace::Anything || is_dump(path) => Ok(()),
        Ok(_) => Err(DumpError::Exists { path: path.to_owned() }),
    }
}

/// Returns whether a file begins with our header.
pub(crate) fn is_dump(path: &Path) -> bool {
    header::<IgnoredAny>(path).is_some()
}

/// Returns the header of a file that begins with ours.
pub(crate) fn header<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut magic = [0; 2];
    File::open(path).ok()?.read_exact(&mut magic).ok()?;
    let file = BufReader::new(File::open(path).ok()?);
    let source: Box<dyn Read> =
        if magic == [0x1F, 0x8B] { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut source = BufReader::new(source);
    // What is none is not parsed, however long its first line is.
    let begins = source.fill_buf().ok()?;
    memchr::memmem::find(&begins[..begins.len().min(BEGINNING)], OWN_GROUP.as_bytes())?;
    let lines = serde_json::Deserializer::from_reader(source.take(LONGEST_HEADER));
    let header = lines.into_iter::<Value>().next()?.ok()?;
    let version = header["apiVersion"].as_str()?.strip_prefix(OWN_GROUP)?;
    let is_own = header["kind"] == OWN_HEADER && version.starts_with('/');
    is_own.then(|| T::deserialize(header).ok())?
}

/// Creates a file beside `path` that only its owner may read, so that renaming it is one step.
fn private_file_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    file_beside(path, &mut private_file())
}

/// Writes a file that only its owner may read, whole or not at all, and durably.
pub(crate) fn write_private(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let (temporary, file) = private_file_beside(path)?;
    let mut file = BufWriter::with_capacity(BUFFER, file);
    let written = write(&mut file)
        .and_then(|()| file.flush())
        .and_then(|()| file.get_ref().sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Creates a file beside `path` as these options say, so that renaming it is one step.
pub(crate) fn file_beside(path: &Path, options: &mut OpenOptions) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let mut number = 0;
    loop {
        let temporary = path.with_file_name(format!(".{name}.{}-{number}.part", process::id()));
        match options.create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Of another writer in this process, or left by one of the same id that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 99 => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

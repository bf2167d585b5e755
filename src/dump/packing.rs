//! Unpacking of gzip and tar, and the choice of the parser for the text inside; recognition of the layouts of known
//! tools by the paths of files.

use std::io;
use std::io::Read;
use std::path::Path;

use chrono::{DateTime, Utc};
use flate2::read::MultiGzDecoder;

use super::delivery::{Delivery, PieceSink};
use super::flaw::Flaw;
use super::piece::{FileFormat, FileLayout, FileScope, FileSummary};
use super::window::{Filled, Halt, Position, Window, WindowLimits};
use super::{json, wording, yaml};

/// Offset of the magic in a tar header.
const TAR_MAGIC: usize = 257;
/// Size of a block of a tar file. Nothing that is recognised here needs more.
const BLOCK: usize = 512;
/// Length of a name in an archive that is longer than any file system knows; names are read into memory.
const LONGEST_NAME: u64 = 64 << 10;

/// Layers of packing that have been unwrapped so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Packing {
    /// Whether the file was merely found, in a folder or an archive.
    pub(super) found: bool,
    gzip: u8,
    archive: bool,
}

impl Packing {
    /// Returns the packing of a file that was not named.
    pub(super) fn found() -> Self {
        Self { found: true, ..Self::default() }
    }
}

/// Unpacker of files, which sends their content to the sink.
pub(super) struct Unpacker<'s> {
    pub(super) sink: &'s mut PieceSink<'s>,
    pub(super) summaries: Vec<FileSummary>,
    pub(super) limits: WindowLimits,
}

/// Packed form that the first bytes promise.
enum PackedForm {
    Gzip,
    Tar,
    Text,
    Refused(Flaw),
}

impl Unpacker<'_> {
    /// Reads one stream of bytes, packed or not. Fails only when the sink wants no more.
    pub(super) fn stream(
        &mut self,
        name: &str,
        source: &mut dyn Read,
        wrapping: Packing,
    ) -> Result<(), Halt> {
        let mut source = PeekedSource::new(source);
        match nature(&source.head) {
            PackedForm::Gzip if wrapping.gzip < 2 => {
                let inner = Packing { gzip: wrapping.gzip + 1, ..wrapping };
                self.stream(name, &mut MultiGzDecoder::new(source), inner)
            }
            PackedForm::Tar if !wrapping.archive => self.archive(name, &mut source, wrapping),
            PackedForm::Gzip | PackedForm::Tar => self.refuse(name, Flaw::Nested),
            PackedForm::Refused(flaw) => self.refuse(name, flaw),
            PackedForm::Text if is_timestamp(name) && wrapping.found => {
                self.timestamp(name, &mut source);
                Ok(())
            }
            PackedForm::Text => self.text(name, &mut source, wrapping),
        }
    }

    /// Reports that nothing can be read from a file or folder.
    pub(super) fn refuse(&mut self, name: &str, flaw: Flaw) -> Result<(), Halt> {
        let delivery = Delivery::new(name, false, 0, self.sink);
        let (summary, end) = delivery.finish(Err(Halt::Flaw(flaw, Position::FILE)));
        self.summaries.push(summary);
        end
    }

    fn text(
        &mut self,
        name: &str,
        source: &mut PeekedSource,
        wrapping: Packing,
    ) -> Result<(), Halt> {
        let WindowLimits { chunk, skim, json: most_json, yaml: most_yaml } = self.limits;
        let mut out = Delivery::new(name, wrapping.found, most_json, self.sink);
        let is_json = match source.first_significant() {
            Some(byte) => matches!(byte, b'{' | b'['),
            None if source.failure.is_none() => {
                let (summary, end) = out.finish(Err(Halt::Flaw(Flaw::Empty, Position::FILE)));
                self.summaries.push(summary);
                return end;
            }
            None => false,
        };
        out.summary().format = if is_json { FileFormat::Json } else { FileFormat::Yaml };
        let most = if is_json { most_json } else { most_yaml };
        let mut window = Window::new(source, chunk, most);
        let end = skip_bom(&mut window).and_then(|()| {
            if is_json {
                json::read(&mut window, &mut out, skim)
            } else {
                yaml::read(&mut window, &mut out)
            }
        });
        let (summary, end) = out.finish(end);
        self.summaries.push(summary);
        end
    }

    fn timestamp(&mut self, name: &str, source: &mut PeekedSource) {
        let mut text = String::new();
        let read = source.take(LONGEST_NAME).read_to_string(&mut text);
        let Some(time) = read.ok().and_then(|_| parse_timestamp(&text)) else { return };
        let mut delivery = Delivery::new(name, true, 0, self.sink);
        delivery.summary().format = FileFormat::Timestamp;
        delivery.summary().taken_at = Some(time);
        self.summaries.push(delivery.finish(Ok(())).0);
    }

    fn archive(
        &mut self,
        name: &str,
        source: &mut PeekedSource,
        wrapping: Packing,
    ) -> Result<(), Halt> {
        let before = self.summaries.len();
        let mut archive = tar::Archive::new(ArchiveTail { source, zeros: 0 });
        let end = match archive.entries() {
            // Raw, because otherwise names are read into memory however long they claim to be.
            Ok(entries) => self.members(name, entries.raw(true), wrapping)?,
            Err(error) => Err(error),
        };
        let mut tail = archive.into_inner();
        // Files in an archive that is cut between two of them all look well: only the two empty
        // blocks at its end, and the checksum of gzip behind them, say that none is missing.
        let end = end.and_then(|()| {
            let ended = tail.zeros >= BLOCK;
            io::copy(&mut tail, &mut io::sink())?;
            let cut = || {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the end of the archive is missing")
            };
            if ended { Ok(()) } else { Err(cut()) }
        });
        if let Err(error) = end {
            for summary in &mut self.summaries[before..] {
                summary.intact = false;
                summary.lists.iter_mut().for_each(|list| list.complete = false);
            }
            let reason = wording::unreadable(&error);
            return self.refuse(name, Flaw::Unreadable { offset: 0, reason });
        }
        if self.summaries.len() == before {
            return self.refuse(name, Flaw::NothingInside);
        }
        Ok(())
    }

    /// Reads the files of an archive. The outer error is the sink's, the inner one the archive's.
    fn members<R: Read>(
        &mut self,
        name: &str,
        entries: tar::Entries<'_, R>,
        wrapping: Packing,
    ) -> Result<io::Result<()>, Halt> {
        let mut long_name = None;
        for entry in entries {
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Ok(Err(error)),
            };
            let kind = entry.header().entry_type();
            if kind.is_gnu_longname() || kind.is_pax_local_extensions() {
                let mut bytes = Vec::new();
                if let Err(error) = (&mut entry).take(LONGEST_NAME).read_to_end(&mut bytes) {
                    return Ok(Err(error));
                }
                let found = if kind.is_gnu_longname() { Some(bytes) } else { pax_path(&bytes) };
                long_name = found.or(long_name);
                continue;
            }
            if kind.is_gnu_longlink() || kind.is_pax_global_extensions() {
                continue;
            }
            let path = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
            let path = shown(&path);
            if !holds_objects(&path) && !is_timestamp(&path) {
                continue;
            }
            let inner = format!("{name}!{path}");
            if kind.is_file() || kind.is_contiguous() {
                let left = entry.size();
                let wrapping = Packing { found: true, archive: true, ..wrapping };
                self.stream(&inner, &mut ArchiveMember { source: &mut entry, left }, wrapping)?;
            } else if kind.is_gnu_sparse() {
                self.refuse(&inner, Flaw::Packed("a file with holes"))?;
            }
        }
        Ok(Ok(()))
    }
}

fn skip_bom(window: &mut Window) -> Result<(), Halt> {
    while window.bytes().len() < 3 && window.fill()? == Filled::More {}
    if window.bytes().starts_with(b"\xEF\xBB\xBF") {
        window.consume(3);
    }
    Ok(())
}

fn nature(head: &[u8]) -> PackedForm {
    match head {
        [0x1F, 0x8B, ..] => PackedForm::Gzip,
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => PackedForm::Refused(Flaw::Utf16),
        [0, b'{' | b'[' | b'-' | b'a'..=b'z', ..] | [b'{' | b'[' | b'-' | b'a'..=b'z', 0, ..] => {
            PackedForm::Refused(Flaw::Utf16)
        }
        [b'P', b'K', 3 | 5, 4 | 6, ..] => PackedForm::Refused(Flaw::Packed("a zip file")),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => PackedForm::Refused(Flaw::Packed("zstd")),
        [0xFD, b'7', b'z', b'X', b'Z', ..] => PackedForm::Refused(Flaw::Packed("xz")),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', ..] => PackedForm::Refused(Flaw::Packed("bzip2")),
        _ if head.get(TAR_MAGIC..).is_some_and(|magic| magic.starts_with(b"ustar")) => {
            PackedForm::Tar
        }
        _ if head.contains(&0) => PackedForm::Refused(Flaw::Binary),
        _ => PackedForm::Text,
    }
}

/// Returns the name in a pax header.
fn pax_path(bytes: &[u8]) -> Option<Vec<u8>> {
    tar::PaxExtensions::new(bytes)
        .filter_map(Result::ok)
        .find(|extension| extension.key_bytes() == b"path")
        .map(|extension| extension.value_bytes().to_vec())
}

/// Returns a name from an archive as it may be printed: it may hold anything, and terminals obey.
fn shown(path: &[u8]) -> String {
    let path = path.strip_suffix(b"\0").unwrap_or(path);
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let clean = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    String::from_utf8_lossy(path).chars().map(clean).collect()
}

/// A stream whose first block has been read.
struct PeekedSource<'r> {
    head: Vec<u8>,
    at: usize,
    failure: Option<io::Error>,
    rest: &'r mut dyn Read,
}

impl<'r> PeekedSource<'r> {
    fn new(rest: &'r mut dyn Read) -> Self {
        let mut head = Vec::with_capacity(BLOCK);
        let failure = rest.take(BLOCK as u64).read_to_end(&mut head).err();
        Self { head, at: 0, failure, rest }
    }

    /// Returns the first byte that is no white space, or a `#` if there is none this early and
    /// more may follow.
    fn first_significant(&self) -> Option<u8> {
        let text = self.head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.head);
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
        first.or((self.head.len() == BLOCK).then_some(b'#'))
    }
}

impl Read for PeekedSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let read = (&self.head[self.at..]).read(buffer)?;
            self.at += read;
            return Ok(read);
        }
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.rest.read(buffer),
        }
    }
}

/// A file of an archive. Without this, one that is cut would just seem shorter.
struct ArchiveMember<'r> {
    source: &'r mut dyn Read,
    left: u64,
}

impl Read for ArchiveMember<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.left = self.left.saturating_sub(read as u64);
        if read == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the archive breaks off in it",
            ));
        }
        Ok(read)
    }
}

/// An archive, and how many zeros have been read from it last.
struct ArchiveTail<R> {
    source: R,
    zeros: usize,
}

impl<R: Read> Read for ArchiveTail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        let last = buffer[..read].iter().rposition(|byte| *byte != 0);
        self.zeros = last.map_or(self.zeros + read, |last| read - last - 1);
        Ok(read)
    }
}

/// Returns whether a file that was not named is worth opening. Logs, pages and notes are not.
///
/// Archives are not either: a must-gather holds archives of older looks at the same cluster,
/// and objects of two times must not be mixed.
pub(super) fn holds_objects(path: &str) -> bool {
    let name = path.rsplit(['/', '\\', '!']).next().unwrap_or(path).to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let kind = Path::new(name).extension().and_then(|kind| kind.to_str());
    !name.starts_with('.') && matches!(kind, Some("json" | "yaml" | "yml" | "ndjson" | "jsonl"))
}

/// Returns whether this is the file in which a must-gather notes when it was taken.
pub(super) fn is_timestamp(path: &str) -> bool {
    path.rsplit(['/', '\\', '!']).next() == Some("timestamp")
}

/// Returns when a must-gather was taken.
///
/// It notes two times as Go prints them, the begin and the end of the gathering. Taken is the
/// earliest: a later one would make everything seem older than it was when it was looked at, and
/// old is what is acted upon. That an object may then seem to come from the future is harmless.
pub(super) fn parse_timestamp(text: &str) -> Option<DateTime<Utc>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let times: Option<Vec<_>> = lines.map(go_time).collect();
    times?.into_iter().min()
}

/// Parses `2024-05-02 10:11:12.123456789 +0200 CEST m=+0.214463842`.
fn go_time(line: &str) -> Option<DateTime<Utc>> {
    let mut words = line.split_whitespace();
    let (date, time, offset) = (words.next()?, words.next()?, words.next()?);
    let time = format!("{date} {time} {offset}");
    let time = DateTime::parse_from_str(&time, "%Y-%m-%d %H:%M:%S%.f %z").ok()?;
    Some(time.to_utc())
}

/// Decides for each file of one input which tool laid it out, and of which part of the cluster it speaks.
pub(super) fn settle_layouts(files: &mut [FileSummary]) {
    // `kubectl cluster-info dump` writes `<folder>/<namespace>/replication-controllers.json`. No
    // other tool writes this kind with a hyphen, and it does so for every namespace.
    let roots: Vec<String> = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/replication-controllers.json"))
        .map(|folder| match folder.rfind(['/', '!']) {
            Some(end) => folder[..=end].to_owned(),
            None => String::new(),
        })
        .collect();
    for file in files {
        if let Some(inside) = roots.iter().find_map(|root| file.path.strip_prefix(root.as_str())) {
            file.layout = FileLayout::ClusterInfoDump;
            file.scope = match inside.split('/').collect::<Vec<_>>()[..] {
                [_] => FileScope::Cluster,
                [namespace, _] => FileScope::Namespace(namespace.to_owned()),
                _ => FileScope::Unknown,
            };
        } else if let Some(scope) = gathered(&file.path) {
            file.layout = FileLayout::Gathered;
            file.scope = scope;
        } else if is_timestamp(&file.path) {
            file.layout = FileLayout::Gathered;
        }
    }
}

/// Returns the scope that a path stands for, of a must-gather or of crust-gather
/// (`cluster-scoped-resources/GROUP/…`, `cluster/GROUP-VERSION/KIND/…`, `namespaces/NAMESPACE/GROUP/…`),
/// of a support bundle of Troubleshoot (`cluster-resources/pvs.json`,
/// `cluster-resources/pods/NAMESPACE.json`) or of Sonobuoy (`resources/cluster/…`,
/// `resources/ns/NAMESPACE/…`).
fn gathered(path: &str) -> Option<FileScope> {
    let parts: Vec<&str> = path.split(['/', '\\', '!']).collect();
    parts.iter().enumerate().find_map(|(at, part)| match (*part, &parts[at + 1..]) {
        ("cluster-scoped-resources", [_, _, ..])
        | ("cluster", [_, _, _])
        | ("cluster-resources", [_])
        | ("resources", ["cluster", _]) => Some(FileScope::Cluster),
        // In the first two the object of the namespace itself is there too.
        ("namespaces", [namespace, _, ..]) | ("resources", ["ns", namespace, _]) => {
            Some(FileScope::Namespace((*namespace).to_owned()))
        }
        // Of custom resources there are more folders, one in another.
        ("cluster-resources", [_, file]) => {
            Some(FileScope::Namespace(file.split('.').next().unwrap_or_default().to_owned()))
        }
        _ => None,
    })
}

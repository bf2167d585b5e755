//! Appends to the journal of writes.
//!
//! Every append locks the file, continues after the last line, whatever it is, and returns when its
//! lines are on disk. These calls block for as long as the disk and other runs that append need: that
//! is why records that are at hand together are appended together.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::line::{Author, LinePosition, ParsedLine};
use super::{
    Intent, JOURNAL, JournalConsequence, JournalError, Outcome, create_private_file, line,
};
use crate::model::Time;
use crate::platform::{create_private_folder, private_file, sync_folder};

/// Name of a file that is written and removed again to prove that there is space.
const PROBE: &str = ".journal.probe";
/// Number of bytes that must be free: enough for a few steps; each append checks again.
const ROOM: usize = 64 * 1024;
/// Number of bytes that are read at once, from the end of the file.
const CHUNK: u64 = 64 * 1024;
/// Number of folders above the cluster's folder that may be new too.
const NEW_FOLDERS: usize = 3;

/// Record that is appended as one line.
#[derive(Debug)]
pub enum JournalRecord {
    /// Request that is about to be sent.
    Intent {
        /// The id of the run.
        run: String,
        /// The API server's time.
        at: Option<Time>,
        /// The intent.
        intent: Box<Intent>,
    },
    /// The outcome of the intent with a sequence.
    Outcome {
        /// The sequence of the intent, whichever run recorded it.
        of: u64,
        /// The API server's time.
        at: Option<Time>,
        /// The outcome.
        outcome: Outcome,
        /// The evidence for it.
        detail: String,
    },
    /// The beginning of the term of a leader.
    Term {
        /// The API server's time.
        at: Option<Time>,
    },
}

impl JournalRecord {
    /// Returns the consequence for a write if the record cannot be appended.
    pub(super) const fn consequence(&self) -> JournalConsequence {
        match self {
            Self::Intent { .. } | Self::Term { .. } => JournalConsequence::NothingSent,
            Self::Outcome { of, .. } => JournalConsequence::EndUnrecorded(*of),
        }
    }

    /// Whether a write waits for the record: then appending must not take long.
    pub(super) const fn is_awaited(&self) -> bool {
        !matches!(self, Self::Outcome { .. })
    }

    /// Renders the line of the record, without its line break. `author` is who appends it to the journal in a cluster.
    pub(super) fn line(
        &self,
        sequence: u64,
        previous: &str,
        author: Option<&Author>,
    ) -> serde_json::Result<Vec<u8>> {
        let (Self::Intent { at, .. } | Self::Outcome { at, .. } | Self::Term { at }) = self;
        let place = LinePosition { sequence, previous, at: *at, author };
        match self {
            Self::Intent { run, intent, .. } => line::intent(&place, run, intent),
            Self::Outcome { of, outcome, detail, .. } => {
                line::outcome(&place, *of, *outcome, detail)
            }
            Self::Term { .. } => line::term(&place),
        }
    }
}

/// The journal of writes of one cluster, open for appending.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// The highest sequence that this run has seen.
    seen: AtomicU64,
}

impl Log {
    /// Opens the journal in a folder, and creates both where they are missing. Called before
    /// anything is sent: it proves that lines can be appended and reach the disk.
    ///
    /// # Errors
    /// When it cannot be written or locked, when it is not a journal of this tool, or when a newer
    /// version wrote to it.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(JOURNAL);
        let consequence = JournalConsequence::NothingSent;
        create_private_folder(folder).map_err(|source| JournalError::Unwritable {
            consequence,
            path: folder.to_owned(),
            source,
        })?;
        let locked = LockedJournal::open(&path, true, consequence)?;
        locked.check()?;
        let tail = locked.tail()?;
        let written = || {
            prove_room(folder)?;
            locked.file.sync_all()?;
            // The run that wrote the first line has done so.
            if tail.length == 0 { sync_folders(folder) } else { Ok(()) }
        };
        written().map_err(|source| locked.unwritable(source))?;
        drop(locked);
        Ok(Self { path, seen: tail.sequence.into() })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an intent and returns its sequence once it is on disk.
    ///
    /// # Errors
    /// When it cannot be recorded: then the request must not be sent.
    pub fn begin(&self, run: &str, at: Option<Time>, intent: &Intent) -> Result<u64, JournalError> {
        let (run, intent) = (run.to_owned(), Box::new(intent.clone()));
        self.append(&[JournalRecord::Intent { run, at, intent }])
    }

    /// Appends an outcome of the intent with this sequence, whichever run recorded that.
    ///
    /// # Errors
    /// When it cannot be recorded: then the entry stays as it was.
    pub fn end(
        &self,
        sequence: u64,
        at: Option<Time>,
        outcome: Outcome,
        detail: &str,
    ) -> Result<(), JournalError> {
        let (of, detail) = (sequence, detail.to_owned());
        self.append(&[JournalRecord::Outcome { of, at, outcome, detail }]).map(drop)
    }

    /// Appends records in their order, waits once until all of them are on disk, and returns the
    /// sequence of each. Where they cannot be appended together, each is tried alone.
    pub fn append_all(&self, records: &[JournalRecord]) -> Vec<Result<u64, JournalError>> {
        let alone = |record| self.append(std::slice::from_ref(record));
        match self.append(records) {
            Ok(first) => (first..).take(records.len()).map(Ok).collect(),
            Err(error) if records.len() == 1 => vec![Err(error)],
            Err(_) => records.iter().map(alone).collect(),
        }
    }

    /// Appends records and returns the sequence of the first, or the error that concerns it.
    fn append(&self, records: &[JournalRecord]) -> Result<u64, JournalError> {
        let consequence =
            records.first().map_or(JournalConsequence::NothingSent, JournalRecord::consequence);
        // Opened for each append: a lock belongs to the open file, and would not exclude other
        // threads; and a journal that was moved away must not be written.
        let locked = LockedJournal::open(&self.path, false, consequence)?;
        let tail = locked.tail()?;
        if tail.sequence < self.seen.load(Ordering::Relaxed) {
            return Err(JournalError::Shrunk { consequence, path: self.path.clone() });
        }
        // The torn line of a run that was killed stays as evidence, on a line of its own.
        let mut bytes = if tail.torn { vec![b'\n'] } else { Vec::new() };
        let (mut sequence, mut previous) = (tail.sequence, tail.previous);
        for record in records {
            let next = sequence.checked_add(1);
            sequence = next.ok_or_else(|| locked.unwritable(io::ErrorKind::InvalidData.into()))?;
            let line = record
                .line(sequence, &previous, None)
                .map_err(|error| locked.unwritable(error.into()))?;
            previous = line::hash(&line);
            bytes.extend(line);
            bytes.push(b'\n');
        }
        locked.write(tail.length, &bytes)?;
        self.seen.fetch_max(sequence, Ordering::Relaxed);
        Ok(tail.sequence + 1)
    }
}

/// The journal file, locked exclusively until this is dropped.
struct LockedJournal<'a> {
    file: File,
    path: &'a Path,
    consequence: JournalConsequence,
}

/// The end of the journal, after which the next line is appended.
struct JournalTail {
    length: u64,
    /// Whether the last line lacks its line break.
    torn: bool,
    /// The hash of the last line, readable or not.
    previous: String,
    /// The sequence of the last line that has one.
    sequence: u64,
}

impl<'a> LockedJournal<'a> {
    fn open(
        path: &'a Path,
        create: bool,
        consequence: JournalConsequence,
    ) -> Result<Self, JournalError> {
        let unwritable =
            |source| JournalError::Unwritable { consequence, path: path.to_owned(), source };
        // Checked first: opening a pipe would wait for its other end.
        if fs::metadata(path).is_ok_and(|it| !it.is_file()) {
            return Err(JournalError::NotAFile { consequence, path: path.to_owned() });
        }
        let mut options = private_file();
        let file = options.read(true).append(true).create(create).open(path).map_err(unwritable)?;
        let locked = loop {
            match file.lock() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        locked.map_err(|source| JournalError::Unlockable {
            consequence,
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { file, path, consequence })
    }

    fn unwritable(&self, source: io::Error) -> JournalError {
        let Self { path, consequence, .. } = *self;
        JournalError::Unwritable { consequence, path: path.to_owned(), source }
    }

    fn unreadable(&self, source: io::Error) -> JournalError {
        let Self { path, consequence, .. } = *self;
        JournalError::Unreadable { consequence, path: path.to_owned(), source }
    }

    fn newer(&self, version: u32) -> JournalError {
        let Self { path, consequence, .. } = *self;
        JournalError::Newer { consequence, path: path.to_owned(), version }
    }

    /// Reads all lines, and fails where no line may be appended.
    fn check(&self) -> Result<(), JournalError> {
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        let (mut ours, mut strange) = (false, false);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(|it| self.unreadable(it))?;
            if read == 0 {
                break;
            }
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            match line::head(line) {
                Ok(_) => ours = true,
                Err(ParsedLine::Newer { version, .. }) => return Err(self.newer(version)),
                Err(_) => strange |= !line::looks_torn(line),
            }
        }
        if strange && !ours {
            let Self { path, consequence, .. } = *self;
            return Err(JournalError::Foreign { consequence, path: path.to_owned() });
        }
        Ok(())
    }

    fn tail(&self) -> Result<JournalTail, JournalError> {
        let unreadable = |source| self.unreadable(source);
        let length = self.file.metadata().map_err(unreadable)?.len();
        let mut tail = JournalTail { length, torn: false, previous: line::hash(b""), sequence: 0 };
        let Some(last) = length.checked_sub(1) else { return Ok(tail) };
        tail.torn = self.read(last, 1).map_err(unreadable)? != b"\n";
        let mut end = if tail.torn { length } else { last };
        let mut is_last = true;
        loop {
            let (start, line) = self.line_before(end).map_err(unreadable)?;
            if is_last {
                tail.previous = line::hash(&line);
                is_last = false;
            }
            match line::head(&line) {
                Ok(head) => {
                    tail.sequence = head.sequence;
                    return Ok(tail);
                }
                // A newer version has appended since this run began.
                Err(ParsedLine::Newer { version, .. }) => return Err(self.newer(version)),
                Err(_) => {}
            }
            let Some(before) = start.checked_sub(1) else { return Ok(tail) };
            end = before;
        }
    }

    /// Reads the line that ends at a position, and returns where it starts.
    fn line_before(&self, end: u64) -> io::Result<(u64, Vec<u8>)> {
        let mut line = Vec::new();
        let mut start = end;
        while start > 0 {
            let from = start.saturating_sub(CHUNK);
            let mut chunk = self.read(from, start - from)?;
            let cut = memchr::memrchr(b'\n', &chunk).map_or(0, |at| at + 1);
            chunk.drain(..cut);
            start -= chunk.len() as u64;
            chunk.append(&mut line);
            line = chunk;
            if cut > 0 {
                break;
            }
        }
        Ok((start, line))
    }

    fn read(&self, from: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends and waits until the bytes are on disk; after an error, the file is as it was.
    fn write(&self, before: u64, bytes: &[u8]) -> Result<(), JournalError> {
        let mut file = &self.file;
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        written.map_err(|source| {
            // A longer file has lines of another run, which must not be cut: the lock has not
            // worked, as on some network file systems. Where the file cannot be cut, the next
            // append handles the rest.
            let ours = before + bytes.len() as u64;
            if file.metadata().is_ok_and(|it| it.len() <= ours) {
                let _ = file.set_len(before).and_then(|()| file.sync_data());
            }
            self.unwritable(source)
        })
    }
}

impl Drop for LockedJournal<'_> {
    fn drop(&mut self) {
        // Closing unlocks it too, unless a child process that is being started has a copy.
        let _ = self.file.unlock();
    }
}

/// Proves that there is space, with a file beside the journal, so that no line of another run can be cut. Called while
/// the journal is locked.
fn prove_room(folder: &Path) -> io::Result<()> {
    let path = folder.join(PROBE);
    let probed = create_private_file(&path)
        .and_then(|mut probe| probe.write_all(&vec![0; ROOM]).and_then(|()| probe.sync_all()));
    let removed = fs::remove_file(&path);
    probed.and(removed)
}

/// Syncs the folder of the journal and those above it.
fn sync_folders(folder: &Path) -> io::Result<()> {
    let synced = sync_folder(folder);
    for above in folder.ancestors().skip(1).take(NEW_FOLDERS) {
        // Folders that cannot be opened were not created by this tool either.
        let _ = sync_folder(above);
    }
    synced
}

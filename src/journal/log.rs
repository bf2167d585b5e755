//! Appends to the journal of writes.
//!
//! Every append holds a lock on the file, goes on from whatever the last line is, and returns when
//! the disk has it. These calls block; none of them takes longer than the disk and the other runs
//! that append at the same moment.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    Consequence, Intent, JOURNAL, JournalError, Outcome, create_private_file,
    create_private_folder,
    record::{self, Line, Place},
};
use crate::model::Time;

/// What is written and removed again to prove that there is room, in our folder.
const PROBE: &str = ".journal.probe";
/// Room for a few steps, each of which checks for itself.
const ROOM: usize = 64 * 1024;
/// How much of the file is read at once, from its end.
const CHUNK: u64 = 64 * 1024;
/// How many folders above ours may be as new as ours.
const NEW_FOLDERS: usize = 3;

/// The journal of writes of one cluster, open for appending.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// The highest sequence that this run has seen.
    seen: AtomicU64,
}

impl Log {
    /// Opens the journal in a folder, and creates what is missing. To be called before anything is
    /// sent: it proves that the journal can be appended to and reaches the disk.
    ///
    /// # Errors
    /// When it cannot be written or locked, when it is not a journal of ours, or when a newer
    /// version wrote to it.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(JOURNAL);
        let consequence = Consequence::NothingSent;
        create_private_folder(folder).map_err(|source| JournalError::Unwritable {
            consequence,
            path: folder.to_owned(),
            source,
        })?;
        let held = Held::open(&path, true, consequence)?;
        held.check()?;
        let tail = held.tail()?;
        let written = || {
            prove_room(folder)?;
            held.file.sync_all()?;
            // Whoever wrote the first line had done so.
            if tail.length == 0 { keep(folder) } else { Ok(()) }
        };
        written().map_err(|source| held.unwritable(source))?;
        drop(held);
        Ok(Self { path, seen: tail.sequence.into() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends what is about to be sent and returns its sequence once the disk has it.
    ///
    /// # Errors
    /// When it cannot be recorded: then it must not be sent.
    pub fn begin(&self, run: &str, at: Option<Time>, intent: &Intent) -> Result<u64, JournalError> {
        self.append(Consequence::NothingSent, |sequence, previous| {
            record::intent(&Place { sequence, previous, at }, run, intent)
        })
    }

    /// Appends what became of the intent of this sequence, whichever run it was of.
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
        let of = sequence;
        self.append(Consequence::EndUnrecorded(of), |sequence, previous| {
            record::outcome(&Place { sequence, previous, at }, of, outcome, detail)
        })?;
        Ok(())
    }

    fn append(
        &self,
        consequence: Consequence,
        line: impl FnOnce(u64, &str) -> serde_json::Result<Vec<u8>>,
    ) -> Result<u64, JournalError> {
        // Opened anew: a lock is of the open file, and would not keep threads apart; and a journal
        // that was moved away must not be written to.
        let held = Held::open(&self.path, false, consequence)?;
        let tail = held.tail()?;
        if tail.sequence < self.seen.load(Ordering::Relaxed) {
            return Err(JournalError::Shrunk { consequence, path: self.path.clone() });
        }
        let next = tail.sequence.checked_add(1);
        let sequence = next.ok_or_else(|| held.unwritable(io::ErrorKind::InvalidData.into()))?;
        // What a run that died left of its line stays as evidence, on a line of its own.
        let mut bytes = if tail.torn { vec![b'\n'] } else { Vec::new() };
        let line = line(sequence, &tail.previous).map_err(|error| held.unwritable(error.into()))?;
        bytes.extend(line);
        bytes.push(b'\n');
        held.write(tail.length, &bytes)?;
        self.seen.fetch_max(sequence, Ordering::Relaxed);
        Ok(sequence)
    }
}

/// The journal, locked for us alone until this is dropped.
struct Held<'a> {
    file: File,
    path: &'a Path,
    consequence: Consequence,
}

/// Where the next line comes.
struct Tail {
    length: u64,
    /// Whether the last line lacks its line break.
    torn: bool,
    /// The hash of the last line, whatever it is.
    previous: String,
    /// The sequence of the last line that has one.
    sequence: u64,
}

impl<'a> Held<'a> {
    fn open(path: &'a Path, create: bool, consequence: Consequence) -> Result<Self, JournalError> {
        let unwritable =
            |source| JournalError::Unwritable { consequence, path: path.to_owned(), source };
        // Looked at first: opening a pipe would wait for somebody at its other end.
        if fs::metadata(path).is_ok_and(|it| !it.is_file()) {
            return Err(JournalError::NotAFile { consequence, path: path.to_owned() });
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(create);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(unwritable)?;
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

    /// Looks through all lines for what forbids another.
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
            match record::head(line) {
                Ok(_) => ours = true,
                Err(Line::Newer { version, .. }) => return Err(self.newer(version)),
                Err(_) => strange |= !record::looks_torn(line),
            }
        }
        if strange && !ours {
            let Self { path, consequence, .. } = *self;
            return Err(JournalError::Foreign { consequence, path: path.to_owned() });
        }
        Ok(())
    }

    fn tail(&self) -> Result<Tail, JournalError> {
        let unreadable = |source| self.unreadable(source);
        let length = self.file.metadata().map_err(unreadable)?.len();
        let mut tail = Tail { length, torn: false, previous: record::hash(b""), sequence: 0 };
        let Some(last) = length.checked_sub(1) else { return Ok(tail) };
        tail.torn = self.read(last, 1).map_err(unreadable)? != b"\n";
        let mut end = if tail.torn { length } else { last };
        let mut is_last = true;
        loop {
            let (start, line) = self.line_before(end).map_err(unreadable)?;
            if is_last {
                tail.previous = record::hash(&line);
                is_last = false;
            }
            match record::head(&line) {
                Ok(head) => {
                    tail.sequence = head.sequence;
                    return Ok(tail);
                }
                // A newer one joined while this run was under way.
                Err(Line::Newer { version, .. }) => return Err(self.newer(version)),
                Err(_) => {}
            }
            let Some(before) = start.checked_sub(1) else { return Ok(tail) };
            end = before;
        }
    }

    /// Reads the line that ends at a position, and tells where it starts.
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

    /// Appends and waits for the disk, or leaves the file as it was.
    fn write(&self, before: u64, bytes: &[u8]) -> Result<(), JournalError> {
        let mut file = &self.file;
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        written.map_err(|source| {
            // More than what was written here is not ours to cut: the lock did not hold, as on some
            // network file systems. Where it cannot be cut either, the next line copes.
            let ours = before + bytes.len() as u64;
            if file.metadata().is_ok_and(|it| it.len() <= ours) {
                let _ = file.set_len(before).and_then(|()| file.sync_data());
            }
            self.unwritable(source)
        })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing does it too, unless a process that is just being started has a copy.
        let _ = self.file.unlock();
    }
}

/// Proves that there is room, beside the journal and not in it: nothing that another run appended
/// can ever be cut off by that. The journal's lock is held.
fn prove_room(folder: &Path) -> io::Result<()> {
    let path = folder.join(PROBE);
    let probed = create_private_file(&path)
        .and_then(|mut probe| probe.write_all(&vec![0; ROOM]).and_then(|()| probe.sync_all()));
    let removed = fs::remove_file(&path);
    probed.and(removed)
}

/// Has the disk keep the names of our folder and of what is in it, as far as that can be asked.
fn keep(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    for above in folder.ancestors().skip(1).take(NEW_FOLDERS) {
        // Those that are not ours to open were not created by us either.
        let _ = File::open(above).and_then(|above| above.sync_all());
    }
    match synced {
        // Some file systems have no such thing.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        other => other,
    }
}

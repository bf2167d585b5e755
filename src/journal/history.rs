//! Reads the journal of writes, whatever happened to the file.
//!
//! Lines that cannot be read, do not follow from the line before or go back in time become notes;
//! all others stay readable. The hash chain shows that a line in the middle was changed or removed;
//! it cannot show that for the last lines.

use std::{
    collections::{BTreeSet, HashSet},
    fs::{self, File, TryLockError},
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
    thread,
    time::Duration,
};

use chrono::TimeDelta;
use hashbrown::HashMap;

use super::{
    Backend, Intent, JOURNAL, JournalConsequence, JournalError, Outcome,
    line::{self, JournalLine, LineBody, ParsedLine},
};
use crate::model::{Time, Uid, escape_control, format_time};

/// How often the lock is tried while another run appends, and the pause between tries. A reader
/// never waits for a suspended run.
const TRIES: u32 = 50;
const PATIENCE: Duration = Duration::from_millis(20);
/// How many lines that do not follow get a note. An editor that changes line breaks breaks all of
/// them.
const NAMED: usize = 5;
/// Concurrent runs read the time before they wait for the lock, perhaps from two API servers.
const SKEW: TimeDelta = TimeDelta::minutes(1);

/// A request that was about to be sent, and its outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number in the journal.
    pub sequence: u64,
    /// When it was recorded, by the API server's clock.
    pub at: Option<Time>,
    /// The id of the run.
    pub run: String,
    /// The intent.
    pub intent: Intent,
    /// Its outcomes, in the order in which they were recorded.
    pub outcomes: Vec<EntryOutcome>,
}

/// An outcome of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryOutcome {
    /// When it was recorded, by the API server's clock.
    pub at: Option<Time>,
    /// The outcome.
    pub outcome: Outcome,
    /// The API server's message, or the evidence.
    pub detail: String,
}

impl Entry {
    /// Returns its last outcome; `None` where the run ended before it recorded one.
    pub fn last(&self) -> Option<Outcome> {
        self.outcomes.last().map(|ended| ended.outcome)
    }

    /// Whether its outcome is unknown: none is recorded, or the run ended before it verified the
    /// effect, or no answer came.
    pub fn is_open(&self) -> bool {
        matches!(self.last(), None | Some(Outcome::Sent | Outcome::Unanswered))
    }

    /// Whether it was carried out, but its effect was not verified before the deadline.
    pub fn is_pending(&self) -> bool {
        self.last() == Some(Outcome::Pending)
    }

    /// Whether the API server has carried it out, whatever its effect.
    pub fn wrote(&self) -> bool {
        let written = [Outcome::Sent, Outcome::Done, Outcome::Pending];
        self.outcomes.iter().any(|ended| written.contains(&ended.outcome))
    }

    /// Whether the API server has carried it out, or may have.
    pub fn may_have_written(&self) -> bool {
        self.wrote() || self.is_open()
    }

    /// Whether its effect is verified.
    pub fn is_done(&self) -> bool {
        self.last() == Some(Outcome::Done)
    }
}

/// The journal as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// The entries, in the order of their intents.
    pub entries: Vec<Entry>,
    /// Defects of the file.
    pub notes: Vec<String>,
}

impl History {
    /// Returns the entry with this sequence; `None` where two have it, because the file was edited.
    pub fn entry(&self, sequence: u64) -> Option<&Entry> {
        let mut found = self.entries.iter().filter(|entry| entry.sequence == sequence);
        found.next().filter(|_| found.next().is_none())
    }

    /// Returns the entries with an unknown outcome.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_open())
    }

    /// Returns the entries that kept, or may have kept, a backend volume on purpose: the latest of
    /// each backend volume, unless it was undone.
    ///
    /// An entry that is itself undone undoes nothing.
    pub fn kept(&self) -> Vec<&Entry> {
        let undone = self.undone();
        let mut backends = HashSet::<&Backend>::new();
        let mut kept: Vec<_> = self
            .entries
            .iter()
            .rev()
            .filter(|it| it.intent.keeps && (it.is_done() || it.is_pending() || it.is_open()))
            .filter(|it| it.intent.backend.as_ref().is_some_and(|it| backends.insert(it)))
            .filter(|it| !undone.contains(&it.sequence))
            .collect();
        kept.reverse();
        kept
    }

    /// Returns the finalizers that entries added, or may have added, and no later one removed, each
    /// with the uid of its object.
    pub fn added_finalizers(&self) -> BTreeSet<(&Uid, &str)> {
        let mut added = BTreeSet::new();
        for entry in &self.entries {
            let Some(uid) = &entry.intent.object.uid else { continue };
            if let Some(finalizer) = entry.intent.adds_finalizer.as_deref()
                && entry.may_have_written()
            {
                added.insert((uid, finalizer));
            }
            if let Some(finalizer) = entry.intent.removes_finalizer.as_deref()
                && entry.wrote()
            {
                added.remove(&(uid, finalizer));
            }
        }
        added
    }

    /// Returns the sequences of the entries that a later, verified entry has undone.
    pub fn undone(&self) -> HashSet<u64> {
        let mut undone = HashSet::new();
        for entry in self.entries.iter().rev() {
            if let Some(earlier) = entry.intent.undoes
                && earlier < entry.sequence
                && entry.is_done()
                && !undone.contains(&entry.sequence)
            {
                undone.insert(earlier);
            }
        }
        undone
    }
}

/// Reads the journal in a folder; no journal is an empty history.
///
/// # Errors
/// When the file cannot be read, or is not a journal of this tool.
pub fn history(folder: &Path) -> Result<History, JournalError> {
    let path = folder.join(JOURNAL);
    let consequence = JournalConsequence::NotRead;
    let unreadable = |source| JournalError::Unreadable { consequence, path: path.clone(), source };
    match fs::metadata(&path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(JournalError::NotAFile { consequence, path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(History::default()),
        Err(source) => return Err(unreadable(source)),
    }
    let file = File::open(&path).map_err(unreadable)?;
    let locked = lock(&file);
    let mut reading = HistoryReader::default();
    reading.all(&file).map_err(unreadable)?;
    // Closing unlocks it too, unless a child process that is being started has a copy.
    let _ = file.unlock();
    if reading.strange && !reading.known {
        return Err(JournalError::Foreign { consequence, path });
    }
    if !locked {
        let note = "it was read while another run may have been writing to it";
        reading.history.notes.push(note.to_owned());
    }
    Ok(reading.history)
}

/// Waits while another run appends a line, and returns whether no run is appending now.
fn lock(file: &File) -> bool {
    for _ in 0..TRIES {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => thread::sleep(PATIENCE),
            // Where the file cannot be locked, no run can append either.
            Ok(()) | Err(TryLockError::Error(_)) => return true,
        }
    }
    false
}

/// Reads a journal line by line.
#[derive(Default)]
struct HistoryReader {
    history: History,
    /// The index of the entry with a sequence.
    places: HashMap<u64, usize>,
    /// The number of the line, from 1.
    number: usize,
    /// The hash of the line before; `None` for the first line.
    before: Option<String>,
    /// Whether the line before cannot be read.
    unreadable: bool,
    /// When the latest line was written.
    at: Option<Time>,
    /// How many lines do not follow from those before them.
    broken: usize,
    /// The first line of a newer version, the highest version, and how many there are.
    newer: Option<(usize, u32, usize)>,
    /// Whether any line was written by this tool.
    known: bool,
    /// Whether any line can neither be read nor be the beginning of a line of this tool.
    strange: bool,
}

impl HistoryReader {
    fn all(&mut self, file: &File) -> io::Result<()> {
        // Lines that are appended from now on are not read.
        let length = file.metadata()?.len();
        let mut reader = BufReader::new(file.take(length));
        let mut bytes = Vec::new();
        let mut whole = true;
        loop {
            bytes.clear();
            if reader.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            let line = bytes.strip_suffix(b"\n");
            whole = line.is_some();
            self.line(line.unwrap_or(&bytes));
        }
        self.end(whole);
        Ok(())
    }

    fn note(&mut self, text: String) {
        self.history.notes.push(text);
    }

    fn line(&mut self, bytes: &[u8]) {
        self.number += 1;
        let line = line::parse(bytes);
        self.check_chain(match &line {
            ParsedLine::Known(record) => Some(record.previous.as_str()),
            ParsedLine::Newer { previous, .. } => previous.as_deref(),
            ParsedLine::Unreadable => None,
        });
        self.unreadable = matches!(line, ParsedLine::Unreadable);
        self.before = Some(line::hash(bytes));
        match line {
            ParsedLine::Known(record) => {
                self.known = true;
                self.take_in(record);
            }
            ParsedLine::Newer { version, .. } => {
                self.known = true;
                let (first, highest, count) = self.newer.unwrap_or((self.number, version, 0));
                self.newer = Some((first, highest.max(version), count + 1));
            }
            ParsedLine::Unreadable => self.strange |= !line::looks_torn(bytes),
        }
    }

    /// Notes whether a line follows from the line before, and what is wrong with that one if it
    /// cannot be read.
    fn check_chain(&mut self, previous: Option<&str>) {
        let nothing = line::hash(b"");
        let follows = previous.map(|it| it == self.before.as_ref().unwrap_or(&nothing));
        let (number, before) = (self.number, self.number - 1);
        match (follows, self.unreadable) {
            // The run that appended after it found it torn.
            (Some(true), true) => {
                self.note(format!("line {before} is torn: a run was killed while writing it"));
            }
            (None, true) => self.note(format!("line {before} cannot be read")),
            (Some(false), unreadable) => {
                self.broken += 1;
                if self.broken <= NAMED {
                    self.note(match (before, unreadable) {
                        (0, _) => "line 1 does not begin the journal: the file was edited, and \
                                   earlier lines were removed"
                            .to_owned(),
                        (_, true) => format!(
                            "line {before} cannot be read, and line {number} does not follow from \
                             it: the file was edited there"
                        ),
                        (_, false) => format!(
                            "line {number} does not follow from line {before}: the file was \
                             edited there"
                        ),
                    });
                }
            }
            (Some(true) | None, false) => {}
        }
    }

    fn take_in(&mut self, line: JournalLine) {
        let JournalLine { sequence, at, body, .. } = line;
        let number = self.number;
        if let (Some(earlier), Some(at)) = (self.at, at)
            && at < earlier - SKEW
        {
            self.note(format!(
                "line {number}: the clock went backwards, from {} to {}; the order is that of the \
                 lines",
                format_time(&earlier),
                format_time(&at),
            ));
        }
        self.at = at.or(self.at);
        match body {
            LineBody::Intent { run, intent } => {
                let entry = Entry { sequence, at, run, intent: *intent, outcomes: Vec::new() };
                if self.places.insert(sequence, self.history.entries.len()).is_some() {
                    self.note(format!(
                        "line {number}: sequence {sequence} is used again, and identifies no entry"
                    ));
                }
                self.history.entries.push(entry);
            }
            LineBody::Outcome { of, outcome, detail } => match self.places.get(&of) {
                Some(place) => {
                    let ended = EntryOutcome { at, outcome, detail };
                    self.history.entries[*place].outcomes.push(ended);
                }
                None => self.note(format!(
                    "line {number} records the outcome of entry {of}, which cannot be read"
                )),
            },
            LineBody::Unknown(kind) => self.note(format!(
                "line {number} is of a type that this version does not know: {}",
                escape_control(&kind)
            )),
            LineBody::Malformed(kind) => {
                self.note(format!("line {number}: an {kind} that this version cannot read"));
            }
        }
    }

    fn end(&mut self, whole: bool) {
        let number = self.number;
        if self.unreadable {
            self.note(format!(
                "line {number}, the last one, is torn: a run was killed while writing it"
            ));
        } else if !whole {
            self.note(format!(
                "line {number}, the last one, lacks its line break: a run was killed while writing it"
            ));
        }
        if let Some(more) = self.broken.checked_sub(NAMED).filter(|more| *more > 0) {
            self.note(format!("{more} more lines do not follow from those before them"));
        }
        if let Some((first, version, count)) = self.newer {
            self.note(format!(
                "lines of a newer kubectl-storage (version {version} of the journal) cannot be read: \
                 {count}, from line {first}; what they record of other entries is missing"
            ));
        }
    }
}

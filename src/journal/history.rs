//! Reads the journal of writes, whatever happened to it.
//!
//! What cannot be read, does not follow from the line before it or goes back in time is told in
//! notes; everything else stays readable. The chain tells that a line was changed or removed in the
//! middle; at the very end it cannot.

use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
    thread,
    time::Duration,
};

use chrono::TimeDelta;
use hashbrown::HashMap;

use super::{
    Backend, Consequence, Intent, JOURNAL, JournalError, Outcome,
    record::{self, Body, Line, Record},
};
use crate::model::{Time, escape_control, format_time};

/// How often a run that is just appending is asked again, and how long each time. A reader never
/// waits for a run that is suspended.
const TRIES: u32 = 50;
const PATIENCE: Duration = Duration::from_millis(20);
/// How many lines that do not follow are named. An editor that changes line breaks breaks all.
const NAMED: usize = 5;
/// Runs side by side take the time before they wait for their turn, perhaps from two API servers.
const SKEW: TimeDelta = TimeDelta::minutes(1);

/// What was about to be sent, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its place in the journal, and its name.
    pub sequence: u64,
    /// When, by the API server.
    pub at: Option<Time>,
    /// Which run.
    pub run: String,
    /// What was about to be sent.
    pub intent: Intent,
    /// What became of it, in the order in which it was recorded.
    pub outcomes: Vec<Ended>,
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// When, by the API server.
    pub at: Option<Time>,
    /// What.
    pub outcome: Outcome,
    /// The server's words, or what was seen.
    pub detail: String,
}

impl Entry {
    /// What is known last; `None` where the run died before it could tell.
    pub fn last(&self) -> Option<Outcome> {
        self.outcomes.last().map(|ended| ended.outcome)
    }

    /// Whether it is not known what became of it: there is no outcome, or the run died while it was
    /// watching what follows, or no answer came.
    pub fn is_open(&self) -> bool {
        matches!(self.last(), None | Some(Outcome::Sent | Outcome::Unanswered))
    }

    /// Whether it was written and the controllers were not done when the run ended.
    pub fn is_pending(&self) -> bool {
        self.last() == Some(Outcome::Pending)
    }

    /// Whether it is verified.
    pub fn is_done(&self) -> bool {
        self.last() == Some(Outcome::Done)
    }
}

/// All that was written down.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// In the order in which they were begun.
    pub entries: Vec<Entry>,
    /// What is wrong with the journal.
    pub notes: Vec<String>,
}

impl History {
    /// Returns the entry of this sequence; none where two claim it, since somebody edited the file.
    pub fn entry(&self, sequence: u64) -> Option<&Entry> {
        let mut found = self.entries.iter().filter(|entry| entry.sequence == sequence);
        found.next().filter(|_| found.next().is_none())
    }

    /// Returns the entries of which it is not known what became of them.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_open())
    }

    /// Returns the entries that left, or may have left, a backend volume behind on purpose: for each
    /// backend volume the latest, unless that was undone.
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

    /// Returns the sequences of the entries that a later one reversed, verified.
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
/// When there is a file that cannot be read, or that is not a journal of ours.
pub fn history(folder: &Path) -> Result<History, JournalError> {
    let path = folder.join(JOURNAL);
    let consequence = Consequence::NotRead;
    let unreadable = |source| JournalError::Unreadable { consequence, path: path.clone(), source };
    match fs::metadata(&path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(JournalError::NotAFile { consequence, path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(History::default()),
        Err(source) => return Err(unreadable(source)),
    }
    let file = File::open(&path).map_err(unreadable)?;
    let locked = lock(&file);
    let mut reading = Reading::default();
    reading.all(&file).map_err(unreadable)?;
    // Closing does it too, unless a process that is just being started has a copy.
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

/// Waits for a line that is just being written, and tells whether nobody is writing now.
fn lock(file: &File) -> bool {
    for _ in 0..TRIES {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => thread::sleep(PATIENCE),
            // Where nothing can be locked, nothing is appended either.
            Ok(()) | Err(TryLockError::Error(_)) => return true,
        }
    }
    false
}

/// What reading a journal line by line remembers.
#[derive(Default)]
struct Reading {
    history: History,
    /// Where the entry of a sequence is.
    places: HashMap<u64, usize>,
    /// The number of the line, from 1.
    number: usize,
    /// The hash of the line before; `None` before the first.
    before: Option<String>,
    /// Whether the line before cannot be read.
    unreadable: bool,
    /// When the latest line was written.
    at: Option<Time>,
    /// How many lines do not follow from those before them.
    broken: usize,
    /// The first line of a newer version, the highest version, and how many there are.
    newer: Option<(usize, u32, usize)>,
    /// Whether any line is ours.
    known: bool,
    /// Whether any line can neither be read nor be a part of one.
    strange: bool,
}

impl Reading {
    fn all(&mut self, file: &File) -> io::Result<()> {
        // What is appended from now on is not of this reading.
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
        let line = record::parse(bytes);
        self.follow(match &line {
            Line::Ours(record) => Some(record.previous.as_str()),
            Line::Newer { previous, .. } => previous.as_deref(),
            Line::Unreadable => None,
        });
        self.unreadable = matches!(line, Line::Unreadable);
        self.before = Some(record::hash(bytes));
        match line {
            Line::Ours(record) => {
                self.known = true;
                self.record(record);
            }
            Line::Newer { version, .. } => {
                self.known = true;
                let (first, highest, count) = self.newer.unwrap_or((self.number, version, 0));
                self.newer = Some((first, highest.max(version), count + 1));
            }
            Line::Unreadable => self.strange |= !record::looks_torn(bytes),
        }
    }

    /// Tells whether a line follows from the one before, and what the latter is if it cannot be
    /// read.
    fn follow(&mut self, previous: Option<&str>) {
        let nothing = record::hash(b"");
        let follows = previous.map(|it| it == self.before.as_ref().unwrap_or(&nothing));
        let (number, before) = (self.number, self.number - 1);
        match (follows, self.unreadable) {
            // Whoever went on from it found it torn.
            (Some(true), true) => {
                self.note(format!("line {before} is torn: a run died while it was writing it"));
            }
            (None, true) => self.note(format!("line {before} cannot be read")),
            (Some(false), unreadable) => {
                self.broken += 1;
                if self.broken <= NAMED {
                    self.note(match (before, unreadable) {
                        (0, _) => "line 1 does not begin the journal: somebody edited the file, \
                                   and removed what came before"
                            .to_owned(),
                        (_, true) => format!(
                            "line {before} cannot be read, and line {number} does not follow from \
                             it: somebody edited the file there"
                        ),
                        (_, false) => format!(
                            "line {number} does not follow from line {before}: somebody edited the \
                             file there"
                        ),
                    });
                }
            }
            (Some(true) | None, false) => {}
        }
    }

    fn record(&mut self, record: Record) {
        let Record { sequence, at, body, .. } = record;
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
            Body::Intent { run, intent } => {
                let entry = Entry { sequence, at, run, intent: *intent, outcomes: Vec::new() };
                if self.places.insert(sequence, self.history.entries.len()).is_some() {
                    self.note(format!(
                        "line {number}: sequence {sequence} is used again, and names no entry"
                    ));
                }
                self.history.entries.push(entry);
            }
            Body::Outcome { of, outcome, detail } => match self.places.get(&of) {
                Some(place) => {
                    let ended = Ended { at, outcome, detail };
                    self.history.entries[*place].outcomes.push(ended);
                }
                None => self.note(format!(
                    "line {number} tells what became of entry {of}, which cannot be read"
                )),
            },
            Body::Unknown(kind) => self.note(format!(
                "line {number} is of a type that this version does not know: {}",
                escape_control(&kind)
            )),
            Body::Malformed(kind) => {
                self.note(format!("line {number}: an {kind} that this version cannot read"));
            }
        }
    }

    fn end(&mut self, whole: bool) {
        let number = self.number;
        if self.unreadable {
            self.note(format!(
                "line {number}, the last one, is torn: a run died while it was writing it"
            ));
        } else if !whole {
            self.note(format!(
                "line {number}, the last one, lacks its line break: a run died while it was writing \
                 it"
            ));
        }
        if let Some(more) = self.broken.checked_sub(NAMED).filter(|more| *more > 0) {
            self.note(format!("{more} more lines do not follow from those before them"));
        }
        if let Some((first, version, count)) = self.newer {
            self.note(format!(
                "lines of a newer kubectl-storage (version {version} of the journal) cannot be read: \
                 {count}, from line {first}; what they say of other entries is missing"
            ));
        }
    }
}

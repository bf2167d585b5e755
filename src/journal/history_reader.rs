//! Reads the lines of a journal, damaged or not.
//!
//! Lines that cannot be read, do not follow from the line before or go back in time become notes;
//! all others stay readable. The hash chain shows that a line in the middle was changed or removed;
//! it cannot show that for the last lines.

use std::fs::{File, TryLockError};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs, io, thread};

use hashbrown::HashMap;

use super::chain::{ChainDoubt, ChainLink};
use super::error::RecordedIn;
use super::history::{HistoryDoubt, SKEW};
use super::line::{JournalLine, LineBody, ParsedLine};
use super::segment::Segment;
use super::{Entry, EntryOutcome, History, JOURNAL, JournalConsequence, JournalError, line};
use crate::model::{Time, escape_control, format_time};

/// Number of tries to lock the file while another run appends, and the pause between tries. A reader never waits for a
/// suspended run.
const TRIES: u32 = 50;
const PATIENCE: Duration = Duration::from_millis(20);
/// Number of lines with a note that they do not follow. An editor that changes line breaks breaks all of them.
const NAMED: usize = 5;

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
    reading.file(&file).map_err(unreadable)?;
    // Closing unlocks it too, unless a child process that is being started has a copy.
    let _ = file.unlock();
    if reading.is_foreign() {
        return Err(JournalError::Foreign { consequence, path });
    }
    let mut history = reading.into_history();
    if !locked {
        let note = "it was read while another run may have been writing to it";
        history.notes.push(note.to_owned());
    }
    Ok(history)
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

/// Reads a journal in segments, which are in the order of their numbers; without any, it is an empty
/// history.
///
/// `cluster` is the uid of the cluster; `Err` is why it is not known.
pub(crate) fn history_of_segments<V>(
    segments: &[Segment<V>],
    cluster: Result<&str, &str>,
) -> History {
    let mut reading = HistoryReader::default();
    reading.segments(segments);
    reading.distrust(cluster);
    reading.into_history()
}

/// Reads a journal line by line.
#[derive(Default)]
struct HistoryReader {
    history: History,
    /// The indexes of the entries, by sequence.
    places: HashMap<u64, usize>,
    /// The place of the line that is being read.
    place: LinePlace,
    /// The place of the line before.
    place_before: LinePlace,
    chain: ChainLink,
    /// The clusters in which lines were recorded, with the first line of each; `None` for lines that do not say it.
    clusters: Vec<(Option<String>, LinePlace)>,
    /// Whether the line before cannot be read.
    unreadable: bool,
    /// The latest time of a line.
    at: Option<Time>,
    /// Number of lines that do not follow from those before them.
    broken: usize,
    /// The first line of a newer version, the highest version, and the number of such lines.
    newer: Option<(LinePlace, u32, usize)>,
    /// Whether any line was written by this tool.
    known: bool,
    /// Whether any line can neither be read nor be the beginning of a line of this tool.
    strange: bool,
}

impl HistoryReader {
    /// Whether no line was written by this tool, and some line cannot be the beginning of one.
    const fn is_foreign(&self) -> bool {
        self.strange && !self.known
    }

    /// Returns the history of the lines that were read.
    fn into_history(self) -> History {
        self.history
    }

    /// Reads a journal in a file.
    fn file(&mut self, file: &File) -> io::Result<()> {
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

    /// Reads a journal in segments, which are in the order of their numbers.
    fn segments<V>(&mut self, segments: &[Segment<V>]) {
        let mut next = 1;
        let mut whole = true;
        for (index, segment) in segments.iter().enumerate() {
            self.note_missing(next, segment.number);
            next = segment.number.saturating_add(1);
            self.place = LinePlace { number: 0, segment: Some(segment.number) };
            if let Some(defect) = &segment.defect {
                self.doubt(format!("segment {} {}", segment.number, escape_control(defect)));
            }
            if segment.is_recreated() {
                self.doubt(format!("segment {}: {}", segment.number, ChainDoubt::Recreated));
            }
            if !segment.closed && index + 1 < segments.len() {
                self.note(format!(
                    "segment {} is not closed, although a later one exists: it was edited",
                    segment.number
                ));
            }
            if !whole {
                self.note(format!("{} lacks its line break: it was edited", self.place_before));
            }
            for line in segment.lines() {
                self.line(line);
            }
            whole = segment.text.is_empty() || segment.text.ends_with('\n');
        }
        self.end(whole);
    }

    /// Notes that lines were recorded in another cluster, or that this is unknown.
    fn distrust(&mut self, cluster: Result<&str, &str>) {
        let clusters = std::mem::take(&mut self.clusters);
        let strange = |(uid, _): &&(Option<String>, LinePlace)| uid.as_deref() != cluster.ok();
        let why = match (cluster, clusters.iter().find(strange)) {
            (_, None) => return,
            (Ok(own), Some((uid, place))) => format!(
                "{place} was recorded in {}, and this is cluster {own}: the ConfigMaps were restored or \
                 copied",
                RecordedIn(uid.clone())
            ),
            (Err(reason), Some(_)) => format!(
                "unknown whether it was recorded in this cluster, whose identity is unknown: {reason}"
            ),
        };
        self.note(format!("{why}; nothing is undone or destroyed by it"));
        self.history.distrusted = Some(why);
    }

    /// Notes that segments do not exist.
    fn note_missing(&mut self, expected: u32, found: u32) {
        match found.saturating_sub(expected) {
            0 => {}
            1 => self.doubt(format!("segment {expected} does not exist: its lines are missing")),
            _ => self.doubt(format!(
                "segments {expected} to {} do not exist: their lines are missing",
                found - 1
            )),
        }
    }

    fn note(&mut self, text: String) {
        self.history.notes.push(text);
    }

    /// Notes a reason why entries may be missing that were recorded before the next line.
    fn doubt(&mut self, why: String) {
        self.is_in_doubt(|| why.clone());
        self.note(why);
    }

    /// Records a doubt whether entries before the next dated line are missing, unless one is open.
    fn is_in_doubt(&mut self, why: impl FnOnce() -> String) {
        if self.history.doubts.last().is_none_or(|it| it.before.is_some()) {
            self.history.doubts.push(HistoryDoubt { why: why(), before: None });
        }
    }

    /// Dates the doubt that has no time yet: the missing entries were recorded before `before`.
    fn date_doubts(&mut self, before: Time) {
        if let Some(undated) = self.history.doubts.last_mut().filter(|it| it.before.is_none()) {
            undated.before = Some(before);
        }
    }

    fn line(&mut self, bytes: &[u8]) {
        self.place.number += 1;
        let line = line::parse(bytes);
        let is_first = self.chain.is_at_beginning();
        let previous = match &line {
            ParsedLine::Known(record) => Some(record.previous.as_str()),
            ParsedLine::Newer { previous, .. } => previous.as_deref(),
            ParsedLine::Unreadable => None,
        };
        let follows = self.chain.follow(bytes, previous);
        self.check_chain(follows, is_first);
        self.unreadable = matches!(line, ParsedLine::Unreadable);
        let place = self.place;
        self.place_before = place;
        match line {
            ParsedLine::Known(record) => {
                self.known = true;
                self.take_in(*record);
            }
            ParsedLine::Newer { version, .. } => {
                self.known = true;
                let (first, highest, count) = self.newer.unwrap_or((place, version, 0));
                self.newer = Some((first, highest.max(version), count + 1));
                self.is_in_doubt(|| format!("{place} was recorded by a newer kubectl-storage"));
            }
            ParsedLine::Unreadable => self.strange |= !line::looks_torn(bytes),
        }
    }

    /// Notes whether a line follows from the line before, and what is wrong with that one if it
    /// cannot be read.
    fn check_chain(&mut self, follows: Option<bool>, is_first: bool) {
        let (place, before) = (self.place, self.place_before);
        let medium = place.medium();
        match (follows, self.unreadable) {
            // The run that appended after it found it torn.
            (Some(true), true) => self.doubt(format!("{before} is torn: {}", before.cut_by())),
            (None, true) => self.doubt(format!("{before} cannot be read")),
            (Some(false), unreadable) => {
                self.broken += 1;
                self.is_in_doubt(|| format!("{place} does not follow from the line before"));
                if self.broken <= NAMED {
                    self.note(match (is_first, unreadable) {
                        (true, _) => format!(
                            "{place} does not begin the journal: the {medium} was edited, and \
                             earlier lines were removed"
                        ),
                        (false, true) => format!(
                            "{before} cannot be read, and {place} does not follow from it: the \
                             {medium} was edited there"
                        ),
                        (false, false) => format!(
                            "{place} does not follow from {before}: the {medium} was edited there"
                        ),
                    });
                }
            }
            (Some(true) | None, false) => {}
        }
    }

    fn take_in(&mut self, line: JournalLine) {
        let JournalLine { sequence, at, term, term_is_unreadable, cluster, body, .. } = line;
        let place = self.place;
        if term_is_unreadable {
            self.note(format!("{place}: {}", ChainDoubt::UnreadableTerm));
        }
        if !self.clusters.iter().any(|(known, _)| *known == cluster) {
            self.clusters.push((cluster, place));
        }
        if let (Some(earlier), Some(at)) = (self.at, at)
            && at < earlier - SKEW
        {
            self.note(format!(
                "{place}: the clock went backwards, from {} to {}; the order is that of the \
                 lines",
                format_time(&earlier),
                format_time(&at),
            ));
        }
        if let Some(at) = at {
            self.date_doubts(at);
        }
        self.at = at.or(self.at);
        match body {
            LineBody::Intent { run, intent } => {
                let entry =
                    Entry { sequence, at, run, term, intent: *intent, outcomes: Vec::new() };
                if self.places.insert(sequence, self.history.entries.len()).is_some() {
                    self.note(format!(
                        "{place}: sequence {sequence} is used again, and identifies no entry"
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
                    "{place} records the outcome of entry {of}, which cannot be read"
                )),
            },
            LineBody::Term => {}
            LineBody::Unknown(kind) => self.doubt(format!(
                "{place} is of a type that this version does not know: {}",
                escape_control(&kind)
            )),
            LineBody::Malformed(kind) => {
                self.doubt(format!("{place}: an {kind} that this version cannot read"));
            }
        }
    }

    fn end(&mut self, whole: bool) {
        let place = self.place_before;
        let cut = place.cut_by();
        if self.unreadable {
            self.doubt(format!("{place}, the last one, is torn: {cut}"));
        } else if !whole {
            self.note(format!("{place}, the last one, lacks its line break: {cut}"));
        }
        if let Some(more) = self.broken.checked_sub(NAMED).filter(|more| *more > 0) {
            self.note(format!("{more} more lines do not follow from those before them"));
        }
        if let Some((first, version, count)) = self.newer {
            self.note(format!(
                "lines of a newer kubectl-storage (version {version} of the journal) cannot be read: \
                 {count}, from {first}; what they record of other entries is missing"
            ));
        }
    }
}

/// The place of a line in the file, or in a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LinePlace {
    /// The number of the line, from 1.
    number: usize,
    /// The number of the segment.
    segment: Option<u32>,
}

impl fmt::Display for LinePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.number)?;
        match self.segment {
            Some(segment) => write!(f, " of segment {segment}"),
            None => Ok(()),
        }
    }
}

impl LinePlace {
    /// The medium that holds the line, in words.
    const fn medium(&self) -> &'static str {
        match self.segment {
            Some(_) => "ConfigMap",
            None => "file",
        }
    }

    /// The reason why a line can be cut off, in words: a `ConfigMap` is written whole or not at all.
    const fn cut_by(&self) -> &'static str {
        match self.segment {
            Some(_) => "the ConfigMap was edited",
            None => "a run was killed while writing it",
        }
    }
}

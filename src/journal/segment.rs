//! A segment of the journal in a cluster: one `ConfigMap`, and what stores it.
//!
//! Segments are numbered from 1. Only the last one is appended to; when it is full it is closed, which
//! makes it immutable, and the next one is created. Nothing deletes a segment.

use std::time::Duration;

use chrono::TimeDelta;

use super::line;
use crate::model::Time;

/// The key of the lines in a `ConfigMap`.
pub(crate) const SEGMENT_KEY: &str = "journal.jsonl";
/// The beginning of the names of all segments.
const NAME: &str = "kubectl-storage-journal-";
/// Digits of a number in a name, so that names sort as numbers do.
const DIGITS: usize = 6;
/// The highest number that a name has room for.
const HIGHEST: u32 = 999_999;
/// How much later than its first line was recorded a segment may have been created: as long as an
/// outcome may wait for an answer, and more.
const SKEW: TimeDelta = TimeDelta::minutes(10);

/// A segment as it is stored. `V` tells one state of it from the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment<V> {
    /// Number, from 1.
    pub(crate) number: u32,
    /// Lines, each with its line break.
    pub(crate) text: String,
    /// Whether nothing is appended to it any more.
    pub(crate) closed: bool,
    /// When it was created, by the API server's clock.
    pub(crate) created: Option<Time>,
    /// Why nothing may be written over it: it is being deleted, or it is not only a segment.
    pub(crate) defect: Option<String>,
    /// Which state of it this is.
    pub(crate) version: V,
}

impl<V> Segment<V> {
    /// Lines of the segment, without their line breaks.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        lines(&self.text)
    }

    /// Whether it was created later than its first line was recorded: it was deleted, and restored or
    /// copied as it once was.
    pub(super) fn is_recreated(&self) -> bool {
        let first = self.lines().next().and_then(|it| line::head(it).ok()?.at());
        self.created.zip(first).is_some_and(|(created, first)| created > first + SKEW)
    }
}

/// The lines of a text, without their line breaks.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &[u8]> {
    text.split_terminator('\n').map(str::as_bytes)
}

/// Returns the name of a segment.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{NAME}{number:0DIGITS$}")
}

/// Returns the number of the segment of this name; `None` where it is the name of none.
pub(crate) fn segment_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix(NAME)?.parse().ok()?;
    ((1..=HIGHEST).contains(&number) && segment_name(number) == name).then_some(number)
}

/// Returns the number after this one; `None` where no number is left.
pub(crate) fn number_after(number: u32) -> Option<u32> {
    number.checked_add(1).filter(|it| *it <= HIGHEST)
}

/// Names all segments of a namespace.
pub(crate) fn shown(namespace: &str) -> String {
    format!("configmaps {namespace}/{NAME}*")
}

/// A segment as it is to be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentWrite<'a, V> {
    /// Number.
    pub(crate) number: u32,
    /// All its lines.
    pub(crate) text: &'a str,
    /// Whether it is closed with them.
    pub(crate) closed: bool,
    /// The state that it replaces, and no other; `None` for one that does not exist.
    pub(crate) over: Option<&'a V>,
}

/// How a write of a segment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SegmentEnd<V> {
    /// It is stored.
    Stored(Segment<V>),
    /// Another run was first: nothing was written.
    Overtaken,
    /// Nothing was written, and it would be refused again.
    Refused(String),
    /// Whether it was written is not known, or it may be tried again, `after` so long.
    Unanswered { reason: String, after: Option<Duration> },
}

/// What stores segments.
pub(crate) trait SegmentStore {
    /// What tells one state of a segment from the next.
    type Version;

    /// Returns the uid of the cluster. `Err` is why it is not known.
    async fn cluster(&self) -> Result<String, String>;

    /// Returns all segments, in the order of their numbers. `Err` is why they could not be read.
    async fn list(&self) -> Result<Vec<Segment<Self::Version>>, String>;

    /// Returns a segment; `None` where it does not exist. `Err` is why it could not be read.
    async fn read(&self, number: u32) -> Result<Option<Segment<Self::Version>>, String>;

    /// Stores a segment, if it is as it was read. A `rehearsal` only asks whether that would be
    /// allowed.
    async fn write(
        &self,
        write: SegmentWrite<'_, Self::Version>,
        rehearsal: bool,
    ) -> SegmentEnd<Self::Version>;

    /// Returns the uid of the Lease by which leaders are elected now. `Err` is why it is not known.
    async fn lease(&self) -> Result<Option<String>, String>;

    /// Names a segment, or all of them.
    fn shown(&self, number: Option<u32>) -> String;
}

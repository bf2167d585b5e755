//! A segment of the journal in a cluster, which is one `ConfigMap`, and the interface of the store of segments.
//!
//! Segments are numbered from 1. Only the last one is appended to; when it is full it is closed, which
//! makes it immutable, and the next one is created. Nothing deletes a segment.

use std::time::Duration;

use chrono::TimeDelta;

use super::line;
use crate::model::Time;

/// The key of the lines in a `ConfigMap`.
pub(crate) const SEGMENT_KEY: &str = "journal.jsonl";
/// Prefix of the names of all segments.
const NAME: &str = "kubectl-storage-journal-";
/// Number of digits of a number in a name, so that names sort as numbers do.
const DIGITS: usize = 6;
/// The highest number that a name has room for.
const HIGHEST: u32 = 999_999;
/// Tolerance between the creation of a segment and the time of its first line: as long as an outcome may wait for an
/// answer, and more.
const SKEW: TimeDelta = TimeDelta::minutes(10);

/// A segment as it is stored; each of its states has another version `V`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment<V> {
    /// Number of the segment, from 1.
    pub(crate) number: u32,
    /// The lines, each with its line break.
    pub(crate) text: String,
    /// Whether the segment is closed: no line is appended to it any more.
    pub(crate) closed: bool,
    /// Creation time, by the API server's clock.
    pub(crate) created: Option<Time>,
    /// Reason why the segment must not be replaced: it is being deleted, or holds something else too.
    pub(crate) defect: Option<String>,
    /// The version of this state.
    pub(crate) version: V,
}

impl<V> Segment<V> {
    /// Returns the lines of the segment, without their line breaks.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        lines(&self.text)
    }

    /// Whether the segment was created later than its first line was recorded: it was deleted, and restored or copied.
    pub(super) fn is_recreated(&self) -> bool {
        let first = self.lines().next().and_then(|it| line::head(it).ok()?.at());
        self.created.zip(first).is_some_and(|(created, first)| created > first + SKEW)
    }
}

/// Returns the lines of a text, without their line breaks.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &[u8]> {
    text.split_terminator('\n').map(str::as_bytes)
}

/// Returns the name of a segment.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{NAME}{number:0DIGITS$}")
}

/// Returns the number of the segment of this name; `None` where the name is not that of a segment.
pub(crate) fn segment_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix(NAME)?.parse().ok()?;
    ((1..=HIGHEST).contains(&number) && segment_name(number) == name).then_some(number)
}

/// Returns the number after this one; `None` for the highest.
pub(crate) fn number_after(number: u32) -> Option<u32> {
    number.checked_add(1).filter(|it| *it <= HIGHEST)
}

/// Names all segments of a namespace, for users.
pub(crate) fn shown(namespace: &str) -> String {
    format!("configmaps {namespace}/{NAME}*")
}

/// A segment as it is to be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentWrite<'a, V> {
    /// Number of the segment.
    pub(crate) number: u32,
    /// All lines of the segment.
    pub(crate) text: &'a str,
    /// Whether the segment is closed with this write.
    pub(crate) closed: bool,
    /// The version that is replaced; `None` where the segment is created.
    pub(crate) over: Option<&'a V>,
}

/// The end of a write of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SegmentEnd<V> {
    /// The segment is stored.
    Stored(Segment<V>),
    /// Another run was first: nothing was written.
    Overtaken,
    /// Nothing was written, and another try would be refused too.
    Refused(String),
    /// Whether the segment was written is unknown, or another try is possible, `after` this duration.
    Unanswered { reason: String, after: Option<Duration> },
}

/// A store of segments.
pub(crate) trait SegmentStore {
    /// The type of versions, which differ for each state of a segment.
    type Version;

    /// Returns the uid of the cluster. `Err` is why it is not known.
    async fn cluster(&self) -> Result<String, String>;

    /// Returns all segments, in the order of their numbers. `Err` is why they could not be read.
    async fn list(&self) -> Result<Vec<Segment<Self::Version>>, String>;

    /// Returns a segment; `None` where it does not exist. `Err` is why it could not be read.
    async fn read(&self, number: u32) -> Result<Option<Segment<Self::Version>>, String>;

    /// Stores a segment, if its stored state is still the one that was read. A `rehearsal` only asks whether that would
    /// be allowed.
    async fn write(
        &self,
        write: SegmentWrite<'_, Self::Version>,
        rehearsal: bool,
    ) -> SegmentEnd<Self::Version>;

    /// Returns the uid of the Lease by which leaders are elected now. `Err` is why it is not known.
    async fn lease(&self) -> Result<Option<String>, String>;

    /// Names a segment, or all of them, for users.
    fn shown(&self, number: Option<u32>) -> String;
}

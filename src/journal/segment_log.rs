//! Appends to the journal in a cluster.
//!
//! - What is appended replaces exactly the state that was read. Where another run was first, its lines
//!   are read, and the record is rendered again after them.
//! - A leader appends only after its own records and those of earlier leaders. So a leader that was
//!   stopped and goes on learns here that a later one has acted, whatever its clock says.
//! - Where no answer came, the segment is read before anything else is done: it holds the lines, or it
//!   does not. The same lines are then sent over the same state, so that of a request that is still on
//!   its way and the new one at most one is stored.
//! - An append that fails forbids the write that the record announces.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::sleep;

use super::{
    JournalConsequence, JournalError, SegmentFailure,
    chain::{ChainEnd, TermStanding},
    log::JournalRecord,
    segment::{Segment, SegmentEnd, SegmentStore, SegmentWrite, lines},
    term::Term,
};

/// How often a line is sent before it is given up: each conflict means that another run was first.
const TRIES: u32 = 10;

/// How large segments become, and how long to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentBounds {
    /// A segment is closed before it has more bytes than this, unless it has only one line. Each append
    /// stores the whole segment, and the API server refuses a `ConfigMap` of more than a mebibyte
    /// (apimachinery, `MaxSecretSize`).
    pub(crate) full: usize,
    /// No line is longer than this.
    pub(crate) longest: usize,
    /// How long to wait before a write is sent again that was not answered.
    pub(crate) pause: Duration,
}

impl Default for SegmentBounds {
    fn default() -> Self {
        Self { full: 256 * 1024, longest: 1000 * 1024, pause: Duration::from_millis(500) }
    }
}

/// The journal in a cluster, open for appending.
pub(crate) struct SegmentLog<S: SegmentStore> {
    store: S,
    term: Option<Term>,
    bounds: SegmentBounds,
    /// Held while lines are appended.
    known: Mutex<KnownEnd<S::Version>>,
}

/// The end of the journal as it was last read or written.
struct KnownEnd<V> {
    /// The last segment; `None` where there is none.
    last: Option<Segment<V>>,
    chain: ChainEnd,
    /// Whether it may have changed since.
    is_stale: bool,
}

/// What is stored next.
struct NextSegment {
    number: u32,
    text: String,
    closed: bool,
    /// Whether it replaces the last segment that is known.
    is_known: bool,
    /// What it adds, without line breaks; none where it only closes the segment.
    lines: Vec<Vec<u8>>,
}

impl<S: SegmentStore> SegmentLog<S> {
    /// Opens the journal. Called before anything is sent: it proves that lines can be appended. `term` is
    /// the epoch of the leader that appends; `None` for a person's command.
    ///
    /// # Errors
    /// When it cannot be read or written, when it is not a journal of this tool, when a newer version
    /// wrote to it, or when a later leader did.
    pub(crate) async fn open(
        store: S,
        term: Option<Term>,
        bounds: SegmentBounds,
    ) -> Result<Self, JournalError> {
        let refused = |failure| JournalError::InCluster {
            consequence: JournalConsequence::NothingSent,
            failure,
        };
        let mut end = KnownEnd { last: None, chain: ChainEnd::of_nothing(), is_stale: false };
        let listed = store.list().await;
        let place = store.shown(None);
        let segments = listed.map_err(|reason| {
            refused(SegmentFailure::Unreadable { place: place.clone(), reason })
        })?;
        for segment in segments {
            let shown = || store.shown(Some(segment.number));
            for line in segment.lines() {
                let followed = end.chain.follow(line);
                followed.map_err(|version| {
                    refused(SegmentFailure::Newer { place: shown(), version })
                })?;
            }
            end.last = Some(segment);
        }
        if end.chain.is_foreign() {
            return Err(refused(SegmentFailure::Foreign { place }));
        }
        let log = Self { store, term, bounds, known: Mutex::new(end) };
        {
            let end = log.known.lock().await;
            log.admit(&end.chain).await.map_err(refused)?;
            log.rehearse(&end).await.map_err(refused)?;
        }
        Ok(log)
    }

    /// Names the journal.
    pub(crate) fn shown(&self) -> String {
        self.store.shown(None)
    }

    /// Appends records in their order, and returns the sequence of each once it is stored.
    pub(crate) async fn append_all(
        &self,
        records: &[JournalRecord],
    ) -> Vec<Result<u64, JournalError>> {
        let mut known = self.known.lock().await;
        let mut appended = Vec::with_capacity(records.len());
        while let Some(rest) = records.get(appended.len()..).filter(|rest| !rest.is_empty()) {
            let failed = |record: &JournalRecord, failure: &SegmentFailure| {
                let (consequence, failure) = (record.consequence(), failure.clone());
                Err(JournalError::InCluster { consequence, failure })
            };
            match self.append(&mut known, rest).await {
                Ok((first, count)) => appended.extend((first..).take(count).map(Ok)),
                // One record must not keep the others from being appended.
                Err(failure @ SegmentFailure::TooLong { .. }) => {
                    appended.push(failed(&rest[0], &failure));
                }
                Err(failure) => appended.extend(rest.iter().map(|it| failed(it, &failure))),
            }
        }
        appended
    }

    /// Appends as many records as one segment takes, at least one. Returns the sequence of the first,
    /// and how many.
    async fn append(
        &self,
        known: &mut KnownEnd<S::Version>,
        records: &[JournalRecord],
    ) -> Result<(u64, usize), SegmentFailure> {
        let mut sent: Option<(u64, Vec<Vec<u8>>)> = None;
        let mut reason = String::new();
        for _ in 0..TRIES {
            if known.is_stale {
                let added = self.read_again(known).await?;
                // What was sent before is either what comes first, or was refused: the state that it
                // replaces is not there any more.
                if let Some((first, lines)) = &sent
                    && added.starts_with(lines)
                {
                    return Ok((*first, lines.len()));
                }
            }
            self.admit(&known.chain).await?;
            let next = self.next(known, records)?;
            let first = known.chain.sequence + 1;
            let over = known.last.as_ref().filter(|_| next.is_known).map(|it| &it.version);
            let NextSegment { number, ref text, closed, .. } = next;
            let write = SegmentWrite { number, text, closed, over };
            let place = || self.store.shown(Some(number));
            match self.store.write(write, false).await {
                SegmentEnd::Stored(stored) => {
                    if stored.text != *text {
                        known.is_stale = true;
                        let reason = "the API server stored other lines than were sent".to_owned();
                        return Err(SegmentFailure::Unwritable { place: place(), reason });
                    }
                    known.last = Some(stored);
                    self.follow(&mut known.chain, number, next.lines.iter().map(Vec::as_slice))?;
                    if !next.lines.is_empty() {
                        return Ok((first, next.lines.len()));
                    }
                    // It was closed: the lines begin the next one.
                }
                SegmentEnd::Overtaken => {
                    known.is_stale = true;
                    sent = Some((first, next.lines)).filter(|(_, lines)| !lines.is_empty());
                    "other runs were first".clone_into(&mut reason);
                }
                SegmentEnd::Refused(reason) => {
                    known.is_stale = true;
                    return Err(SegmentFailure::Unwritable { place: place(), reason });
                }
                SegmentEnd::Unanswered(why) => {
                    known.is_stale = true;
                    sent = Some((first, next.lines)).filter(|(_, lines)| !lines.is_empty());
                    reason = why;
                    if !self.bounds.pause.is_zero() {
                        sleep(self.bounds.pause).await;
                    }
                }
            }
        }
        Err(SegmentFailure::Unanswered { place: self.shown(), reason, tries: TRIES })
    }

    /// Renders what is stored next.
    fn next(
        &self,
        known: &KnownEnd<S::Version>,
        records: &[JournalRecord],
    ) -> Result<NextSegment, SegmentFailure> {
        let SegmentBounds { full, longest, .. } = self.bounds;
        let open = known.last.as_ref().filter(|it| !it.closed);
        let mut number = known.last.as_ref().map_or(0, |it| it.number);
        if open.is_none() {
            number += 1;
        }
        let place = || self.store.shown(Some(number));
        let unwritable = |reason: &dyn std::fmt::Display| SegmentFailure::Unwritable {
            place: place(),
            reason: reason.to_string(),
        };
        let mut text = open.map_or_else(String::new, |it| it.text.clone());
        if !text.is_empty() && !text.ends_with('\n') {
            // It was edited: what it holds stays as evidence, on a line of its own.
            text.push('\n');
        }
        let (mut sequence, mut previous) = (known.chain.sequence, known.chain.previous.clone());
        let mut lines = Vec::new();
        for record in records {
            sequence = sequence.checked_add(1).ok_or_else(|| unwritable(&"no number is left"))?;
            let line = record.line(sequence, &previous, self.term.as_ref());
            let line = line.map_err(|error| unwritable(&error))?;
            if line.len() > longest {
                if lines.is_empty() {
                    let (place, length) = (place(), line.len());
                    return Err(SegmentFailure::TooLong { place, length, longest });
                }
                break;
            }
            if !text.is_empty() && text.len() + line.len() + 1 > full {
                break;
            }
            previous = super::line::hash(&line);
            text.push_str(&String::from_utf8_lossy(&line));
            text.push('\n');
            lines.push(line);
        }
        let is_known = open.is_some();
        match open {
            // Not even one has room.
            Some(full) if lines.is_empty() => {
                Ok(NextSegment { number, text: full.text.clone(), closed: true, is_known, lines })
            }
            _ => Ok(NextSegment { number, text, closed: false, is_known, lines }),
        }
    }

    /// Reads what other runs have appended, or this one without an answer, and returns these lines.
    async fn read_again(
        &self,
        known: &mut KnownEnd<S::Version>,
    ) -> Result<Vec<Vec<u8>>, SegmentFailure> {
        let mut added = Vec::new();
        if let Some(before) = &known.last {
            let changed =
                || SegmentFailure::Changed { place: self.store.shown(Some(before.number)) };
            let now = self.read(before.number).await?.ok_or_else(changed)?;
            let rest = now.text.strip_prefix(&*before.text).ok_or_else(changed)?;
            let rest = match before.text.is_empty() || before.text.ends_with('\n') {
                true => rest,
                false if rest.is_empty() => rest,
                false => rest.strip_prefix('\n').ok_or_else(changed)?,
            };
            self.follow(&mut known.chain, now.number, lines(rest))?;
            added.extend(lines(rest).map(<[u8]>::to_vec));
            known.last = Some(now);
        }
        while known.last.as_ref().is_none_or(|it| it.closed) {
            let number = known.last.as_ref().map_or(0, |it| it.number) + 1;
            let Some(now) = self.read(number).await? else { break };
            self.follow(&mut known.chain, number, now.lines())?;
            added.extend(now.lines().map(<[u8]>::to_vec));
            known.last = Some(now);
        }
        known.is_stale = false;
        Ok(added)
    }

    async fn read(&self, number: u32) -> Result<Option<Segment<S::Version>>, SegmentFailure> {
        let read = self.store.read(number).await;
        let place = || self.store.shown(Some(number));
        read.map_err(|reason| SegmentFailure::Unreadable { place: place(), reason })
    }

    fn follow<'l>(
        &self,
        chain: &mut ChainEnd,
        number: u32,
        mut lines: impl Iterator<Item = &'l [u8]>,
    ) -> Result<(), SegmentFailure> {
        let followed = lines.try_for_each(|line| chain.follow(line));
        let place = || self.store.shown(Some(number));
        followed.map_err(|version| SegmentFailure::Newer { place: place(), version })
    }

    /// Fails where a later leader has appended, or is elected.
    async fn admit(&self, chain: &ChainEnd) -> Result<(), SegmentFailure> {
        let Some(own) = &self.term else { return Ok(()) };
        let over = || SegmentFailure::Overtaken { place: self.shown() };
        match chain.standing(own) {
            TermStanding::Follows => Ok(()),
            TermStanding::Over => Err(over()),
            // What is appended then replaces the state in which the other Lease was the last one.
            TermStanding::OtherLease => match self.store.lease().await {
                Ok(Some(lease)) if lease == own.lease => Ok(()),
                Ok(_) => Err(over()),
                Err(reason) => {
                    Err(SegmentFailure::Unreadable { place: "the Lease".into(), reason })
                }
            },
        }
    }

    /// Asks whether the last segment may be replaced, and the next one created.
    async fn rehearse(&self, known: &KnownEnd<S::Version>) -> Result<(), SegmentFailure> {
        let number = known.last.as_ref().map_or(0, |it| it.number);
        let next = SegmentWrite { number: number + 1, text: "", closed: false, over: None };
        let open = known.last.as_ref().filter(|it| !it.closed).map(|it| SegmentWrite {
            number,
            text: &it.text,
            closed: false,
            over: Some(&it.version),
        });
        for write in open.into_iter().chain([next]) {
            let place = self.store.shown(Some(write.number));
            match self.store.write(write, true).await {
                // Whoever was first is read before the first line is appended.
                SegmentEnd::Stored(_) | SegmentEnd::Overtaken => {}
                SegmentEnd::Refused(reason) | SegmentEnd::Unanswered(reason) => {
                    return Err(SegmentFailure::Unwritable { place, reason });
                }
            }
        }
        Ok(())
    }
}

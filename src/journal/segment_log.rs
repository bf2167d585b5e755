//! Appends to the journal in a cluster: its end, read again and followed, who may append to it, and
//! what is stored next after it.
//!
//! - What is appended replaces exactly the state that was read. Where another run was first, its lines
//!   are read, and the record is rendered again after them.
//! - A leader appends only after its own records and those of earlier leaders. So a leader that was
//!   stopped and goes on learns here that a later one has acted, whatever its clock says.
//! - Where no answer came, the segment is read before anything else is done: it holds the lines, or it
//!   does not. The same lines are then sent over the same state, so that of a request that is still on
//!   its way and the new one at most one is stored.
//! - An append that fails forbids the write that the record announces. One that a write waits for is
//!   given up soon; how a request ended is recorded for as long as it takes. Where a record was stored
//!   after it was given up, it is recorded that nothing was sent.
//! - Nothing is appended to what was recorded in another cluster, or beyond a gap.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::sleep;

use super::chain::{ChainBar, ChainDoubt, ChainEnd, TermStanding};
use super::error::RecordedIn;
use super::line::Author;
use super::log::JournalRecord;
use super::segment::{Segment, SegmentEnd, SegmentStore, SegmentWrite, lines, number_after};
use super::{JournalConsequence, JournalError, Outcome, SegmentFailure, Term, line};

/// Number of tries to append a line: each conflict means that another run was first.
const TRIES: u32 = 10;

/// Limits of the size of segments, and of waiting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentBounds {
    /// The number of bytes from which on a segment is closed with the write that reaches it. Each append stores the
    /// whole segment, and etcd keeps each state of it for a while.
    pub(crate) full: usize,
    /// The longest line: with the content of a segment that is not full, it is shorter than the mebibyte of a
    /// `ConfigMap` (apimachinery, `MaxSecretSize`).
    pub(crate) longest: usize,
    /// The pause before a write without an answer is sent again.
    pub(crate) pause: Duration,
    /// The time after which a record that a write waits for is given up: judgements become old.
    pub(crate) awaited: Duration,
    /// The least time for which the record of an outcome is tried.
    pub(crate) patience: Duration,
}

impl Default for SegmentBounds {
    fn default() -> Self {
        Self {
            full: 32 * 1024,
            longest: 960 * 1024,
            pause: Duration::from_millis(500),
            awaited: Duration::from_secs(4),
            patience: Duration::from_secs(180),
        }
    }
}

/// The journal in a cluster, open for appending.
pub(crate) struct SegmentLog<S: SegmentStore> {
    store: S,
    author: Author,
    bounds: SegmentBounds,
    /// The known end of the journal, locked while lines are appended.
    known: Mutex<KnownEnd<S::Version>>,
}

/// Facts about a journal that its opener must know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    /// Defects of the journal with which a person may append.
    pub notes: Vec<String>,
    /// Number of lines that others appended before a leader had begun: what was judged before is judged again.
    pub added: u64,
}

/// The end of the journal as it was last read or written.
struct KnownEnd<V> {
    /// The last segment; `None` where there is none.
    last: Option<Segment<V>>,
    chain: ChainEnd,
    /// The reason why it is unknown which leader appended last, with the number of the segment.
    doubt: Option<(u32, ChainDoubt)>,
    /// Whether the end may have changed since.
    is_stale: bool,
    /// Records that may be stored, although they were given up: sequences and lines.
    given_up: Vec<(u64, Vec<u8>)>,
    /// Abandoned records that are stored, and of which it is not recorded that nothing was sent.
    stored_late: Vec<u64>,
}

/// Content of the segment as it is stored next.
struct NextSegment {
    number: u32,
    text: String,
    closed: bool,
    /// Whether the content replaces the last known segment.
    is_known: bool,
    /// The added lines, without line breaks; at least one.
    lines: Vec<Vec<u8>>,
}

/// Lines that were sent and may be stored: the first sequence, and the lines.
type Unresolved = Option<(u64, Vec<Vec<u8>>)>;

impl<S: SegmentStore> SegmentLog<S> {
    /// Opens the journal. Called before anything is sent: it proves that lines can be appended. `term` is
    /// the epoch of the leader that appends; `None` for a person's command. A leader begins with a record
    /// of its own: from then on no earlier one appends.
    ///
    /// # Errors
    /// When it cannot be read or written, when it is not a journal of this tool or not of this cluster,
    /// when a newer version wrote to it, when a part is missing, or, for a leader, when a later leader
    /// wrote to it, or may have.
    pub(crate) async fn open(
        store: S,
        term: Option<Term>,
        bounds: SegmentBounds,
    ) -> Result<(Self, Opening), JournalError> {
        let opened = Self::open_or_fail(store, term, bounds).await;
        opened.map_err(|failure| JournalError::InCluster {
            consequence: JournalConsequence::NothingSent,
            failure,
        })
    }

    async fn open_or_fail(
        store: S,
        term: Option<Term>,
        bounds: SegmentBounds,
    ) -> Result<(Self, Opening), SegmentFailure> {
        let place = store.shown(None);
        let cluster = store.cluster().await;
        let cluster = cluster.map_err(|reason| SegmentFailure::Unidentified { reason })?;
        let listed = store.list().await;
        let segments =
            listed.map_err(|reason| SegmentFailure::Unreadable { place: place.clone(), reason })?;
        let end = KnownEnd {
            last: None,
            chain: ChainEnd::of_nothing(&cluster),
            doubt: None,
            is_stale: false,
            given_up: Vec::new(),
            stored_late: Vec::new(),
        };
        let log = Self { store, author: Author { cluster, term }, bounds, known: Mutex::new(end) };
        let mut opening = Opening::default();
        {
            let mut known = log.known.lock().await;
            for segment in segments {
                log.go_on(&mut known, segment)?;
            }
            if known.chain.is_foreign() {
                return Err(SegmentFailure::Foreign { place });
            }
            if let Some((number, doubt)) = known.doubt {
                opening.notes.push(format!("{}: {doubt}", log.store.shown(Some(number))));
            }
            log.admit(&known).await?;
            log.rehearse(&known).await?;
            if log.author.term.is_some() {
                let before = known.chain.sequence;
                let begins = [JournalRecord::Term { at: None }];
                let (first, _) = log.append(&mut known, &begins).await?;
                opening.added = first.saturating_sub(before.saturating_add(1));
            }
        }
        Ok((log, opening))
    }

    /// Advances to the next segment of the list.
    fn go_on(
        &self,
        known: &mut KnownEnd<S::Version>,
        segment: Segment<S::Version>,
    ) -> Result<(), SegmentFailure> {
        match known.last.as_ref().map(|it| number_after(it.number)) {
            None if segment.number > 1 => known.chain.begin_later(),
            Some(Some(next)) if segment.number != next => {
                return Err(SegmentFailure::Gap { place: self.store.shown(Some(next)) });
            }
            None | Some(_) => {}
        }
        if segment.is_recreated() {
            known.doubt.get_or_insert((segment.number, ChainDoubt::Recreated));
        }
        self.follow(known, segment.number, segment.lines())?;
        known.last = Some(segment);
        Ok(())
    }

    /// Names the journal, for users.
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
            // What a write waits for does not wait with the others, and they do not end with it.
            let alike = |it: &&JournalRecord| it.is_awaited() == rest[0].is_awaited();
            let rest = &rest[..rest.iter().take_while(alike).count()];
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

    /// Records, for each record that was stored after it had been given up, that nothing was sent. What cannot be
    /// recorded stays open.
    pub(crate) async fn settle(&self) {
        let mut known = self.known.lock().await;
        if known.given_up.is_empty() && known.stored_late.is_empty() {
            return;
        }
        if known.is_stale && self.read_again(&mut known).await.is_err() {
            return;
        }
        let refused = |of: &u64| JournalRecord::Outcome {
            of: *of,
            at: None,
            outcome: Outcome::Refused,
            detail: "its record was stored after it had been given up: nothing was sent".to_owned(),
        };
        let records: Vec<_> = known.stored_late.iter().map(refused).collect();
        if !records.is_empty()
            && let Ok((_, count)) = self.append(&mut known, &records).await
        {
            known.stored_late.drain(..count);
        }
    }

    /// Appends as many records as one segment takes, at least one. Returns the sequence of the first, and how many.
    async fn append(
        &self,
        known: &mut KnownEnd<S::Version>,
        records: &[JournalRecord],
    ) -> Result<(u64, usize), SegmentFailure> {
        let mut sent = None;
        let appended = self.try_to_append(known, records, &mut sent).await;
        if appended.is_err()
            && let Some((first, lines)) = sent
        {
            let awaited = records.iter().map(|it| matches!(it, JournalRecord::Intent { .. }));
            let all = (first..).zip(lines).zip(awaited);
            known.given_up.extend(all.filter_map(|(it, is_intent)| is_intent.then_some(it)));
        }
        appended
    }

    async fn try_to_append(
        &self,
        known: &mut KnownEnd<S::Version>,
        records: &[JournalRecord],
        sent: &mut Unresolved,
    ) -> Result<(u64, usize), SegmentFailure> {
        let began = Instant::now();
        let is_awaited = records.iter().any(JournalRecord::is_awaited);
        let mut reason = String::new();
        let mut tries = 0;
        loop {
            let has_tried = tries >= TRIES;
            let is_over = match is_awaited {
                true => has_tried || (tries > 0 && began.elapsed() >= self.bounds.awaited),
                false => has_tried && began.elapsed() >= self.bounds.patience,
            };
            if is_over {
                return Err(SegmentFailure::Unanswered { place: self.shown(), reason, tries });
            }
            tries += 1;
            if known.is_stale {
                let added = self.read_again(known).await;
                let added = match added {
                    // How a request ended is not lost because the API server is away for a while.
                    Err(SegmentFailure::Unreadable { reason: why, .. }) if !is_awaited => {
                        reason = why;
                        self.wait(None).await;
                        continue;
                    }
                    added => added?,
                };
                // What was sent before is either what comes first, or was refused: the state that it
                // replaces is not there any more.
                if let Some((first, lines)) = &*sent
                    && added.starts_with(lines)
                {
                    let appended = (*first, lines.len());
                    *sent = None;
                    return Ok(appended);
                }
            }
            self.admit(known).await?;
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
                    // What was on its way over the same state is refused now.
                    known.given_up.clear();
                    *sent = None;
                    self.follow(known, number, next.lines.iter().map(Vec::as_slice))?;
                    return Ok((first, next.lines.len()));
                }
                SegmentEnd::Overtaken => {
                    known.is_stale = true;
                    *sent = Some((first, next.lines));
                    "other runs were first".clone_into(&mut reason);
                }
                SegmentEnd::Refused(reason) => {
                    known.is_stale = true;
                    return Err(SegmentFailure::Unwritable { place: place(), reason });
                }
                SegmentEnd::Unanswered { reason: why, after } => {
                    known.is_stale = true;
                    *sent = Some((first, next.lines));
                    reason = why;
                    self.wait(after).await;
                }
            }
        }
    }

    /// Waits before the next try: as long as the API server asks, or about the usual pause, spread so that failed runs
    /// do not come back together.
    async fn wait(&self, after: Option<Duration>) {
        let SegmentBounds { pause, patience, .. } = self.bounds;
        if !pause.is_zero() {
            let spread = u32::try_from(RandomState::new().hash_one(0) % 1000).unwrap_or_default();
            sleep(after.unwrap_or_default().min(patience) + pause / 2 + pause * spread / 1000)
                .await;
        }
    }
}

impl<S: SegmentStore> SegmentLog<S> {
    /// Reads the lines that other runs, or unanswered tries of this one, have appended, and returns them.
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
            self.follow(known, now.number, lines(rest))?;
            added.extend(lines(rest).map(<[u8]>::to_vec));
            known.last = Some(now);
        }
        while known.last.as_ref().is_none_or(|it| it.closed) {
            let Some(number) = number_after(known.last.as_ref().map_or(0, |it| it.number)) else {
                break;
            };
            let Some(now) = self.read(number).await? else { break };
            self.follow(known, number, now.lines())?;
            added.extend(now.lines().map(<[u8]>::to_vec));
            known.last = Some(now);
        }
        known.is_stale = false;
        let (stored, given_up) = std::mem::take(&mut known.given_up)
            .into_iter()
            .partition(|(_, line)| added.contains(line));
        let stored: Vec<(u64, Vec<u8>)> = stored;
        known.given_up = given_up;
        known.stored_late.extend(stored.into_iter().map(|(of, _)| of));
        Ok(added)
    }

    async fn read(&self, number: u32) -> Result<Option<Segment<S::Version>>, SegmentFailure> {
        let read = self.store.read(number).await;
        let place = || self.store.shown(Some(number));
        read.map_err(|reason| SegmentFailure::Unreadable { place: place(), reason })
    }

    fn follow<'l>(
        &self,
        known: &mut KnownEnd<S::Version>,
        number: u32,
        lines: impl Iterator<Item = &'l [u8]>,
    ) -> Result<(), SegmentFailure> {
        let place = || self.store.shown(Some(number));
        for line in lines {
            match known.chain.follow(line) {
                Ok(None) => {}
                Ok(Some(doubt)) => {
                    known.doubt.get_or_insert((number, doubt));
                }
                Err(ChainBar::Newer(version)) => {
                    return Err(SegmentFailure::Newer { place: place(), version });
                }
                Err(ChainBar::OtherCluster(recorded)) => {
                    let (place, recorded) = (place(), RecordedIn(recorded));
                    let cluster = self.author.cluster.clone();
                    return Err(SegmentFailure::OtherCluster { place, recorded, cluster });
                }
            }
        }
        Ok(())
    }

    /// Fails where nothing may be written over the last segment, where a later leader has appended or
    /// is elected, and where a leader cannot know that.
    async fn admit(&self, known: &KnownEnd<S::Version>) -> Result<(), SegmentFailure> {
        if let Some((last, defect)) =
            known.last.as_ref().and_then(|it| Some((it, it.defect.clone()?)))
        {
            let place = self.store.shown(Some(last.number));
            return Err(SegmentFailure::Defect { place, defect });
        }
        let Some(own) = &self.author.term else { return Ok(()) };
        if let Some((number, doubt)) = known.doubt {
            return Err(SegmentFailure::Doubtful { place: self.store.shown(Some(number)), doubt });
        }
        let over = || SegmentFailure::Overtaken { place: self.shown() };
        match known.chain.standing(own) {
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

    /// Sends, as dry runs, the replacement of the last segment and the creation of the next one.
    async fn rehearse(&self, known: &KnownEnd<S::Version>) -> Result<(), SegmentFailure> {
        let number = known.last.as_ref().map_or(0, |it| it.number);
        let next = number_after(number).map(|number| SegmentWrite {
            number,
            text: "",
            closed: false,
            over: None,
        });
        let open = known.last.as_ref().filter(|it| !it.closed).map(|it| SegmentWrite {
            number,
            text: &it.text,
            closed: false,
            over: Some(&it.version),
        });
        for write in open.into_iter().chain(next) {
            let place = self.store.shown(Some(write.number));
            match self.store.write(write, true).await {
                // Whoever was first is read before the first line is appended.
                SegmentEnd::Stored(_) | SegmentEnd::Overtaken => {}
                SegmentEnd::Refused(reason) | SegmentEnd::Unanswered { reason, .. } => {
                    return Err(SegmentFailure::Unwritable { place, reason });
                }
            }
        }
        Ok(())
    }
}

impl<S: SegmentStore> SegmentLog<S> {
    /// Renders the segment that is stored next.
    fn next(
        &self,
        known: &KnownEnd<S::Version>,
        records: &[JournalRecord],
    ) -> Result<NextSegment, SegmentFailure> {
        let SegmentBounds { full, longest, .. } = self.bounds;
        let last = known.last.as_ref();
        let open = last.filter(|it| !it.closed);
        let unwritable = |reason: &dyn std::fmt::Display| SegmentFailure::Unwritable {
            place: self.shown(),
            reason: reason.to_string(),
        };
        let none_left = || unwritable(&"no number is left");
        let number = match (open, last) {
            (Some(open), _) => open.number,
            (None, last) => number_after(last.map_or(0, |it| it.number)).ok_or_else(none_left)?,
        };
        let mut text = open.map_or_else(String::new, |it| it.text.clone());
        if !text.is_empty() && !text.ends_with('\n') {
            // It was edited: what it holds stays as evidence, on a line of its own.
            text.push('\n');
        }
        let (mut sequence, mut previous) = (known.chain.sequence, known.chain.previous());
        let mut lines = Vec::new();
        for record in records {
            sequence = sequence.checked_add(1).ok_or_else(none_left)?;
            let line = record.line(sequence, &previous, Some(&self.author));
            let line = line.map_err(|error| unwritable(&error))?;
            if line.len() > longest {
                if lines.is_empty() {
                    let (place, length) = (self.store.shown(Some(number)), line.len());
                    return Err(SegmentFailure::TooLong { place, length, longest });
                }
                break;
            }
            previous = line::hash(&line);
            text.push_str(&String::from_utf8_lossy(&line));
            text.push('\n');
            lines.push(line);
            if text.len() >= full {
                break;
            }
        }
        let (is_known, closed) = (open.is_some(), text.len() >= full);
        Ok(NextSegment { number, text, closed, is_known, lines })
    }
}

//! Appends to the journal in a cluster.
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

mod known_end;
mod next_segment;

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::sleep;

use super::{
    JournalConsequence, JournalError, Outcome, SegmentFailure,
    chain::{ChainDoubt, ChainEnd},
    log::JournalRecord,
    segment::{Segment, SegmentEnd, SegmentStore, SegmentWrite, number_after},
    term::{Author, Term},
};

/// How often a line is sent before it is given up: each conflict means that another run was first.
const TRIES: u32 = 10;

/// How large segments become, and how long to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentBounds {
    /// A segment is closed with the write by which it has so many bytes. Each append stores the whole
    /// segment, and etcd keeps each state of it for a while.
    pub(crate) full: usize,
    /// No line is longer than this: together with what a segment holds that is not full, it is less
    /// than the mebibyte of a `ConfigMap` (apimachinery, `MaxSecretSize`).
    pub(crate) longest: usize,
    /// How long to wait before a write is sent again that was not answered.
    pub(crate) pause: Duration,
    /// After how long a record is given up that a write waits for: what was judged becomes old.
    pub(crate) awaited: Duration,
    /// For how long it is tried at least to record how a request ended.
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
    /// Held while lines are appended.
    known: Mutex<KnownEnd<S::Version>>,
}

/// What whoever opens the journal must know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    /// What is wrong with it, although a person may append.
    pub notes: Vec<String>,
    /// How many lines others have appended before a leader had begun: what was judged before is judged
    /// again.
    pub added: u64,
}

/// The end of the journal as it was last read or written.
struct KnownEnd<V> {
    /// The last segment; `None` where there is none.
    last: Option<Segment<V>>,
    chain: ChainEnd,
    /// Why it is not known which leader appended last, and the segment.
    doubt: Option<(u32, ChainDoubt)>,
    /// Whether it may have changed since.
    is_stale: bool,
    /// Records that may be stored, although they were given up: sequences and lines.
    given_up: Vec<(u64, Vec<u8>)>,
    /// Those of them that are stored, and of which it is not recorded that nothing was sent.
    stored_late: Vec<u64>,
}

/// What is stored next.
struct NextSegment {
    number: u32,
    text: String,
    closed: bool,
    /// Whether it replaces the last segment that is known.
    is_known: bool,
    /// What it adds, without line breaks; at least one.
    lines: Vec<Vec<u8>>,
}

/// What was sent, and of which it is not known whether it is stored: the first sequence, and the lines.
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

    /// Goes on to the next segment that was listed.
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

    /// Records of what was stored after it had been given up that nothing was sent. What cannot be
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

    /// Appends as many records as one segment takes, at least one. Returns the sequence of the first,
    /// and how many.
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

    /// Waits before the next try: for as long as the API server asks, or about as long as is usual, so
    /// that those who failed together do not come back together.
    async fn wait(&self, after: Option<Duration>) {
        let SegmentBounds { pause, patience, .. } = self.bounds;
        if !pause.is_zero() {
            let spread = u32::try_from(RandomState::new().hash_one(0) % 1000).unwrap_or_default();
            sleep(after.unwrap_or_default().min(patience) + pause / 2 + pause * spread / 1000)
                .await;
        }
    }
}

//! A store of segments in memory, which loses answers, delays requests and lets tests interleave.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::journal::{Segment, SegmentEnd, SegmentStore, SegmentWrite};

/// What happens to a write that is no rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// It is lost on its way.
    Lost,
    /// It is carried out, and the answer is lost.
    Unanswered,
    /// It is not answered, and arrives later, if it still may.
    Late,
    /// The API server refuses it.
    Refused,
}

/// A write as it was sent.
#[derive(Debug, Clone)]
struct SentSegment {
    number: u32,
    text: String,
    closed: bool,
    over: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct StoreState {
    pub(super) segments: BTreeMap<u32, Segment<u64>>,
    version: u64,
    pub(super) faults: VecDeque<Fault>,
    late: Vec<SentSegment>,
    pub(super) lease: Option<String>,
    /// The uid of the cluster; `None` where it may not be read.
    pub(super) cluster: Option<String>,
    /// Why it cannot be read.
    pub(super) blind: Option<String>,
    /// Which of the rehearsals are refused: those that create.
    pub(super) refuses_creation: bool,
    /// How often it was listed or read.
    pub(super) reads: usize,
    /// How many writes were carried out.
    pub(super) writes: usize,
}

impl StoreState {
    fn carry_out(&mut self, sent: &SentSegment) -> Option<Segment<u64>> {
        let SentSegment { number, ref text, closed, over } = *sent;
        let now = self.segments.get(&number);
        let fits = match (over, now) {
            (None, None) => true,
            (Some(over), Some(now)) => now.version == over && !now.closed,
            _ => false,
        };
        if !fits {
            return None;
        }
        self.version += 1;
        self.writes += 1;
        let version = self.version;
        let (created, defect) = (now.and_then(|it| it.created), None);
        let stored = Segment { number, text: text.clone(), closed, created, defect, version };
        self.segments.insert(number, stored.clone());
        Some(stored)
    }

    /// A late request arrives. Returns whether there was one.
    pub(super) fn arrive(&mut self, which: usize) -> bool {
        if self.late.is_empty() {
            return false;
        }
        let sent = self.late.swap_remove(which % self.late.len());
        self.carry_out(&sent);
        true
    }

    /// All segments, in their order.
    pub(super) fn all(&self) -> Vec<Segment<u64>> {
        self.segments.values().cloned().collect()
    }

    /// Edits the text of a segment, as a person might.
    pub(super) fn edit(&mut self, number: u32, change: impl FnOnce(String) -> String) {
        self.version += 1;
        let version = self.version;
        let segment = self.segments.get_mut(&number).expect("it exists");
        (segment.text, segment.version) = (change(std::mem::take(&mut segment.text)), version);
    }
}

/// A store that several writers share.
#[derive(Debug, Clone)]
pub(super) struct SharedStore(pub(super) Rc<RefCell<StoreState>>);

/// The uid of the cluster.
pub(super) const HERE: &str = "here";

impl Default for SharedStore {
    fn default() -> Self {
        let state = StoreState { cluster: Some(HERE.to_owned()), ..StoreState::default() };
        Self(Rc::new(RefCell::new(state)))
    }
}

/// Lets others go on first.
async fn give_way() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl SegmentStore for SharedStore {
    type Version = u64;

    async fn cluster(&self) -> Result<String, String> {
        give_way().await;
        self.0.borrow().cluster.clone().ok_or_else(|| "403 Forbidden".to_owned())
    }

    async fn list(&self) -> Result<Vec<Segment<u64>>, String> {
        give_way().await;
        let listed = {
            self.0.borrow_mut().reads += 1;
            let state = self.0.borrow();
            state.blind.clone().map_or_else(|| Ok(state.all()), Err)
        };
        give_way().await;
        listed
    }

    async fn read(&self, number: u32) -> Result<Option<Segment<u64>>, String> {
        give_way().await;
        let read = {
            let state = self.0.borrow();
            let blind = state.blind.clone();
            blind.map_or_else(|| Ok(state.segments.get(&number).cloned()), Err)
        };
        give_way().await;
        read
    }

    async fn write(&self, write: SegmentWrite<'_, u64>, rehearsal: bool) -> SegmentEnd<u64> {
        let SegmentWrite { number, text, closed, over } = write;
        let sent = SentSegment { number, text: text.to_owned(), closed, over: over.copied() };
        give_way().await;
        let end = {
            let mut state = self.0.borrow_mut();
            if rehearsal {
                match state.refuses_creation && sent.over.is_none() {
                    true => SegmentEnd::Refused("403 Forbidden: create".to_owned()),
                    false => SegmentEnd::Overtaken,
                }
            } else {
                let lost =
                    || SegmentEnd::Unanswered { reason: "no answer came".to_owned(), after: None };
                match state.faults.pop_front().unwrap_or(Fault::None) {
                    Fault::None => {
                        state.carry_out(&sent).map_or(SegmentEnd::Overtaken, SegmentEnd::Stored)
                    }
                    Fault::Lost => lost(),
                    Fault::Unanswered => {
                        state.carry_out(&sent);
                        lost()
                    }
                    Fault::Late => {
                        state.late.push(sent);
                        lost()
                    }
                    Fault::Refused => SegmentEnd::Refused("403 Forbidden".to_owned()),
                }
            }
        };
        give_way().await;
        end
    }

    async fn lease(&self) -> Result<Option<String>, String> {
        give_way().await;
        Ok(self.0.borrow().lease.clone())
    }

    fn shown(&self, number: Option<u32>) -> String {
        number.map_or_else(|| "segments".to_owned(), |number| format!("segment {number}"))
    }
}

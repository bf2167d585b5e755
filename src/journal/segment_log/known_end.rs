//! The end of the journal: read again, followed, and who may append to it.

use super::super::{
    SegmentFailure,
    chain::{ChainBar, TermStanding},
    error::RecordedIn,
    segment::{Segment, SegmentEnd, SegmentStore, SegmentWrite, lines, number_after},
};
use super::{KnownEnd, SegmentLog};

impl<S: SegmentStore> SegmentLog<S> {
    /// Reads what other runs have appended, or this one without an answer, and returns these lines.
    pub(super) async fn read_again(
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

    pub(super) fn follow<'l>(
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
    pub(super) async fn admit(&self, known: &KnownEnd<S::Version>) -> Result<(), SegmentFailure> {
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

    /// Asks whether the last segment may be replaced, and the next one created.
    pub(super) async fn rehearse(
        &self,
        known: &KnownEnd<S::Version>,
    ) -> Result<(), SegmentFailure> {
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

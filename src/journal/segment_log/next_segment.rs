//! What is stored next, rendered after the end of the journal.

use super::super::{
    SegmentFailure, line,
    log::JournalRecord,
    segment::{SegmentStore, number_after},
};
use super::{KnownEnd, NextSegment, SegmentBounds, SegmentLog};

impl<S: SegmentStore> SegmentLog<S> {
    /// Renders what is stored next.
    pub(super) fn next(
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

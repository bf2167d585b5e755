//! Some of what has to be judged. A judgement only looks at the cluster: it is the same whoever makes it, beside what.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{SubjectNotes, about, is_single};
use crate::cluster::{Cluster, Cx, Facts, Subject};
use crate::model::{Question, Settings};

/// What came of judging some subjects. Shares may be judged at the same time.
#[derive(Debug, Default)]
pub struct PartialAssessment {
    /// Those about which there is anything to keep.
    pub(super) cases: BTreeMap<Subject, SubjectNotes>,
    pub(super) questions: BTreeSet<Question>,
    /// What was known, and what was derived meanwhile. It rests on the cluster alone: where two
    /// shares derive the same fact, they agree.
    pub(super) facts: Facts,
}

impl PartialAssessment {
    /// Begins with the facts that are known.
    pub fn new(known: Facts) -> Self {
        Self { facts: known, ..Self::default() }
    }

    /// Judges subjects.
    pub fn judge(&mut self, cluster: &Cluster, settings: &Settings, subjects: &[Subject]) {
        let facts = RefCell::new(std::mem::take(&mut self.facts));
        let cx = Cx::new(cluster, settings, &facts);
        let judged = subjects.iter().filter_map(|subject| {
            let notes = note(&cx, cluster, subject)?;
            Some((subject.clone(), notes))
        });
        self.cases.extend(judged);
        self.questions.append(&mut cx.take_questions());
        self.facts = facts.take();
    }
}

/// Judges one subject by every rule about its kind; `None` when there is nothing to keep.
fn note(cx: &Cx, cluster: &Cluster, subject: &Subject) -> Option<SubjectNotes> {
    let mut notes = SubjectNotes::default();
    // Nearly all of these answers are that nothing is wrong: they are not put into boxes.
    for (rule, judge) in about(subject) {
        match judge.on(cx, cluster, subject) {
            Some(Ok(Some(finding))) => notes.found.push((rule, finding.severity)),
            Some(Err(unseen)) if is_single(cluster, &unseen) => {
                notes.unseen.push((rule.id, unseen));
            }
            // What a whole kind lacks is told once, as a gap of the kind.
            None | Some(Ok(None) | Err(_)) => {}
        }
    }
    notes.wake = cx.take_wake();
    let nothing = notes.found.is_empty() && notes.unseen.is_empty() && notes.wake.is_none();
    (!nothing).then_some(notes)
}

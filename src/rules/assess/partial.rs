//! Part of an assessment: the judgements of some subjects. Judgements only read the cluster, so
//! that several threads can make them at the same time.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{SubjectNotes, about, is_single};
use crate::cluster::{Cluster, Cx, Facts, Subject};
use crate::model::{Question, Settings};

/// The judgements of some subjects. Several of these can be made at the same time.
#[derive(Debug, Default)]
pub struct PartialAssessment {
    /// The subjects of which there is anything to keep.
    pub(super) cases: BTreeMap<Subject, SubjectNotes>,
    pub(super) questions: BTreeSet<Question>,
    /// The facts that were known, and those derived since. They depend on the cluster alone: if two
    /// parts derive the same fact, they agree.
    pub(super) facts: Facts,
}

impl PartialAssessment {
    /// Starts with the known facts.
    pub fn new(known: Facts) -> Self {
        Self { facts: known, ..Self::default() }
    }

    /// Judges subjects.
    pub fn judge<'a>(
        &mut self,
        cluster: &Cluster,
        settings: &Settings,
        subjects: impl Iterator<Item = &'a Subject>,
    ) {
        let facts = RefCell::new(std::mem::take(&mut self.facts));
        let cx = Cx::new(cluster, settings, &facts);
        let judged = subjects.filter_map(|subject| {
            let notes = note(&cx, cluster, subject)?;
            Some((subject.clone(), notes))
        });
        self.cases.extend(judged);
        self.questions.append(&mut cx.take_questions());
        self.facts = facts.take();
    }
}

/// Judges one subject by every rule about its kind; `None` if there is nothing to keep.
fn note(cx: &Cx, cluster: &Cluster, subject: &Subject) -> Option<SubjectNotes> {
    let mut notes = SubjectNotes::default();
    // Nearly all of these find nothing, so that no `Judgement` is built for each.
    for (rule, judge) in about(subject) {
        match judge.on(cx, cluster, subject) {
            Some(Ok(Some(finding))) => notes.found.push((rule, finding.severity)),
            Some(Err(unseen)) if is_single(cluster, &unseen) => {
                notes.unseen.push((rule.id, unseen));
            }
            // A kind that was not read is reported once, as a gap of that kind.
            None | Some(Ok(None) | Err(_)) => {}
        }
    }
    notes.wake = cx.take_wake();
    let nothing = notes.found.is_empty() && notes.unseen.is_empty() && notes.wake.is_none();
    (!nothing).then_some(notes)
}

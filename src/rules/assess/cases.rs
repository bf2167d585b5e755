//! `Cases`: what is kept of the subjects that were judged. What is asked after each change is found without looking at
//! all of them.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use super::SubjectNotes;
use crate::cluster::{Subject, Unseen};
use crate::model::{RuleId, Time};

/// What is kept of the subjects of which there is anything to keep.
#[derive(Debug, Default)]
pub(super) struct Cases {
    all: BTreeMap<Subject, SubjectNotes>,
    /// Those whose judgement may change with time, by when.
    wakes: BTreeSet<(Time, Subject)>,
    /// Those about which a rule could not judge.
    unseen: BTreeSet<Subject>,
}

impl Cases {
    /// What is kept of a subject.
    pub(super) fn get(&self, subject: &Subject) -> Option<&SubjectNotes> {
        self.all.get(subject)
    }

    /// All, by subject.
    pub(super) fn iter(&self) -> btree_map::Iter<'_, Subject, SubjectNotes> {
        self.all.iter()
    }

    /// Forgets a subject.
    pub(super) fn remove(&mut self, subject: &Subject) {
        let Some(notes) = self.all.remove(subject) else { return };
        if let Some(wake) = notes.wake {
            self.wakes.remove(&(wake, subject.clone()));
        }
        if !notes.unseen.is_empty() {
            self.unseen.remove(subject);
        }
    }

    /// Takes in subjects of which nothing is kept.
    pub(super) fn append(&mut self, judged: &mut BTreeMap<Subject, SubjectNotes>) {
        for (subject, notes) in &*judged {
            if let Some(wake) = notes.wake {
                self.wakes.insert((wake, subject.clone()));
            }
            if !notes.unseen.is_empty() {
                self.unseen.insert(subject.clone());
            }
        }
        match self.all.is_empty() {
            true => self.all.append(judged),
            // To append rebuilds the whole map, however few are new.
            false => self.all.extend(std::mem::take(judged)),
        }
    }

    /// When the first judgement may change with time.
    pub(super) fn wake(&self) -> Option<Time> {
        self.wakes.first().map(|(wake, _)| *wake)
    }

    /// The subjects whose time has come.
    pub(super) fn woken(&self, now: Option<Time>) -> impl Iterator<Item = &Subject> {
        let is_due = move |wake: &Time| now.is_some_and(|now| *wake <= now);
        self.wakes.iter().take_while(move |(wake, _)| is_due(wake)).map(|(_, subject)| subject)
    }

    /// Which rules could not judge, and why.
    pub(super) fn unseen(&self) -> impl Iterator<Item = &(RuleId, Unseen)> {
        self.unseen.iter().filter_map(|it| self.all.get(it)).flat_map(|notes| &notes.unseen)
    }
}

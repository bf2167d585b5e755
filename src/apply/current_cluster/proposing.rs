//! What is proposed right before a write: from what was asked and read for it, and nothing earlier.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CurrentCluster, ReadAgainError, ReadObjects, References};
use crate::cluster::{Lookup, Seen, Unseen};
use crate::model::{ObjectKey, ObjectRef, Proposal, Question, Refusal};
use crate::plan::Purpose;
use crate::rules;

/// Rounds of questions about one object: an answer may raise another question, but not for ever.
const ROUNDS: usize = 4;

impl CurrentCluster {
    /// Reads an object again, and proposes what is to be done to it as it is now.
    ///
    /// Questions are asked first: other changes are made at the same time, and what they take in
    /// may be older than what is read here. Between the last read and the proposal nothing is taken
    /// in.
    ///
    /// Whatever the proposal looks up was asked or read in the same round: an earlier answer may be
    /// wrong by now. What was just read, or what a watch has brought meanwhile, may raise a question
    /// that was not asked: then there is another round, and where rounds do not suffice no proposal.
    pub(in crate::apply) async fn propose_again(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> Result<(ReadObjects, Seen<Result<Proposal, Refusal>>), ReadAgainError> {
        let mut looked_up = BTreeSet::new();
        let mut rounds = ROUNDS;
        loop {
            let asked = self.ask_again(purpose, object, looked_up).await?;
            let (objects, read) = self.read_round(purpose, object).await?;
            let (proposed, questions) = self.propose(purpose, object);
            looked_up = questions;
            looked_up.retain(|it| !matches!(it, Question::Exists(key) if read.contains(key)));
            let Some(earlier) = looked_up.difference(&asked).next() else {
                return Ok((objects, proposed));
            };
            rounds -= 1;
            if rounds == 0 {
                let unseen = Unseen {
                    kind: earlier.kind(),
                    namespace: earlier.namespace().cloned(),
                    reason: "what it rests on has changed while it was being read".to_owned(),
                };
                return Ok((objects, proposed.and(Err(unseen))));
            }
        }
    }

    /// Reads what a proposal is about, and returns also the keys of everything that was read.
    async fn read_round(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> Result<(ReadObjects, BTreeSet<ObjectKey>), ReadAgainError> {
        let lists = purpose.listed_again(object);
        let mut read = BTreeSet::new();
        if let Some(key) = purpose.read_before() {
            let object = ObjectRef { key, uid: None };
            let before = self.read_with_references(&object, &[], References::ITS_OWN).await?;
            read.extend(before.keys_with(object.key));
        }
        if let Some(subject) = purpose.subject(object) {
            let references = References {
                its_own: purpose.rests_on_references(),
                others: self.rests_on(purpose, subject),
            };
            let objects = self.read_with_references(subject, &lists, references).await?;
            read.extend(objects.keys_with(subject.key.clone()));
            return Ok((objects, read));
        }
        for (index, key) in purpose.counterparts(object).into_iter().enumerate() {
            let lists = if index == 0 { &lists[..] } else { &[] };
            let object = ObjectRef { key, uid: None };
            let objects = self.read_with_references(&object, lists, References::ITS_OWN).await?;
            read.extend(objects.keys_with(object.key));
        }
        Ok((ReadObjects { subject: Some(Value::Null), referenced: Vec::new() }, read))
    }

    /// Returns what a decision about an object rests on besides what the object references. What was
    /// not read, the proposal reports.
    fn rests_on(&self, purpose: &Purpose, object: &ObjectRef) -> Vec<ObjectKey> {
        let state = self.state.borrow();
        purpose.rests_on(&state.cx(&self.settings), object).unwrap_or_default()
    }

    /// Proposes what is to be done from what was read so far, and returns every question that this
    /// looked up, whether it has an answer or not.
    pub(super) fn propose(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> (Seen<Result<Proposal, Refusal>>, BTreeSet<Question>) {
        let mut state = self.state.borrow_mut();
        state.drop_outdated_facts();
        let cx = state.cx(&self.settings);
        cx.listen();
        let mut proposed = purpose.propose(&cx, object);
        if self.in_scope
            && let Ok(Ok(proposal)) = &proposed
            && let Some(subject) = cx.cluster().subject(&object.key)
            && !rules::in_scope(cx.cluster(), &self.settings, &subject)
        {
            let reason = "it is out of the scope by now".to_owned();
            proposed = Ok(Err(Refusal { reason, effect: proposal.effect.clone() }));
        }
        // Facts are derived without questions: those about them are looked up by who uses a fact.
        let mut questions = cx.take_questions();
        let (looked, _) = cx.take_notes();
        questions.extend(looked.into_iter().filter_map(|it| match it {
            Lookup::Answer(question) => Some(question),
            _ => None,
        }));
        (proposed, questions)
    }
}

#[cfg(test)]
mod tests;

//! `Candidates`: which proposals stood unchanged, and for how many judgements.

use std::collections::BTreeMap;

use crate::model::ObjectRef;
use crate::plan::ProposedChange;

/// Proposals of consecutive judgements.
#[derive(Debug, Default)]
pub(crate) struct Candidates(BTreeMap<(&'static str, ObjectRef), Candidate>);

#[derive(Debug)]
struct Candidate {
    change: ProposedChange,
    judgements: u32,
    /// Its place in the last plan.
    place: usize,
}

impl Candidates {
    /// Takes in the proposals of one more judgement. One that is not made any more is forgotten, and
    /// one that is another now begins anew.
    pub(crate) fn judge(&mut self, changes: Vec<ProposedChange>) {
        let mut known = std::mem::take(&mut self.0);
        for (place, change) in changes.into_iter().enumerate() {
            let key = (change.purpose.id(), change.object.clone());
            let before = known.remove(&key).filter(|it| is_same(&it.change, &change));
            let judgements = before.map_or(0, |it| it.judgements).saturating_add(1);
            self.0.insert(key, Candidate { change, judgements, place });
        }
    }

    /// Whether nothing is proposed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The proposals that stood for so many judgements, in the order of the plan.
    pub(crate) fn settled(&self, judgements: u32) -> Vec<ProposedChange> {
        let settled = self.0.values().filter(|it| it.judgements >= judgements);
        let mut settled: Vec<_> = settled.collect();
        settled.sort_by_key(|it| it.place);
        settled.into_iter().map(|it| it.change.clone()).collect()
    }
}

/// Whether the same would be done to the same object, with the same consequences. What is merely shown beside it may
/// differ.
fn is_same(a: &ProposedChange, b: &ProposedChange) -> bool {
    a.purpose == b.purpose && a.object == b.object && a.proposal == b.proposal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, Kind, ObjectKey, Proposal, Uid, Undo};
    use crate::plan::{ObjectDetails, Purpose};

    fn change(name: &str, what: &str) -> ProposedChange {
        ProposedChange {
            purpose: Purpose::Retain,
            object: ObjectRef {
                key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
                uid: None,
            },
            about: ObjectDetails::default(),
            proposal: Proposal {
                steps: Vec::new(),
                effect: Effect { what: what.to_owned(), risk: String::new() },
                undo: Undo::Revert,
                notices: Vec::new(),
                relies_on: Vec::new(),
                keeps_backend: false,
            },
        }
    }

    fn settled(candidates: &Candidates, judgements: u32) -> Vec<String> {
        let settled = candidates.settled(judgements);
        settled.iter().map(|it| it.object.key.name.to_string()).collect()
    }

    #[test]
    fn only_what_stays_the_same_settles() {
        let mut candidates = Candidates::default();
        assert!(candidates.is_empty());
        candidates.judge(vec![change("stays", "a"), change("changes", "a"), change("flaps", "a")]);
        assert_eq!(settled(&candidates, 1), ["stays", "changes", "flaps"]);
        candidates.judge(vec![change("stays", "a"), change("changes", "b")]);
        assert_eq!(settled(&candidates, 2), ["stays"]);
        candidates.judge(vec![change("stays", "a"), change("changes", "b"), change("flaps", "a")]);
        assert_eq!(settled(&candidates, 2), ["stays", "changes"]);
        assert_eq!(settled(&candidates, 3), ["stays"]);
        candidates.judge(Vec::new());
        assert!(candidates.is_empty());
    }

    #[test]
    fn another_object_of_the_same_name_begins_anew() {
        let mut candidates = Candidates::default();
        let mut other = change("a", "a");
        other.object.uid = Uid::parse("9c6d9a3e-0000-4000-8000-000000000001");
        candidates.judge(vec![change("a", "a")]);
        candidates.judge(vec![other]);
        assert_eq!(candidates.settled(2), []);
        assert_eq!(candidates.settled(1).len(), 1);
    }

    #[test]
    fn a_new_notice_is_another_proposal_and_another_age_is_not() {
        let mut candidates = Candidates::default();
        candidates.judge(vec![change("a", "a")]);
        let mut aged = change("a", "a");
        aged.about.terminating = true;
        candidates.judge(vec![aged]);
        assert_eq!(settled(&candidates, 2), ["a"]);
        let mut noticed = change("a", "a");
        noticed.proposal.notices.push("somebody uses it".to_owned());
        candidates.judge(vec![noticed]);
        assert!(settled(&candidates, 2).is_empty());
    }
}

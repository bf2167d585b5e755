//! The plan of each [`Work`], which is that of a command without danger flags, and less; and the proposals that stood
//! unchanged, with the number of judgements.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bounds::Eligible;
use super::{AnnouncementCounts, Breaker, Work};
use crate::cluster::{Cx, Subject};
use crate::facts::AnnouncementStatus;
use crate::journal::History;
use crate::model::{ObjectRef, Settings, Threshold, Time};
use crate::plan::{
    FinalizerSelection, GcSelection, Plan, ProposedChange, Purpose, RefusedObject, WhenReclaimed,
};
use crate::remedies::Announcing;
use crate::{facts, plan, rules};

/// Time for which volumes count as newly eligible.
const NEWLY: chrono::Duration = chrono::Duration::hours(1);

/// Terms of work, which a policy or flags state beside the settings of judgements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WorkTerms {
    /// The grace period of announcements. What others announced for shorter is not due earlier.
    pub(crate) grace: Duration,
    /// Time for which volumes have to be Released before they are announced.
    pub(crate) older_than: Duration,
    /// Time since which announcements count, where the Lease of the leader had a gap: what people objected to before
    /// that may be lost, as after a restore of the cluster.
    pub(crate) counts_from: Option<Time>,
    /// Volumes that are reclaimed, besides the scope of the settings.
    pub(crate) selection: GcSelection,
}

impl WorkTerms {
    /// Returns the settings with which work is planned and carried out: those of the judgements, without danger flags.
    /// Which findings are reported decides nothing; of which objects none are, that does.
    pub(crate) fn settings(&self, work: Work, judged: &Settings) -> Settings {
        let Settings { thresholds, scope, recording, .. } = judged.clone();
        let mut settings = Settings { thresholds, scope, recording, ..Settings::default() };
        settings.scope.rules.clear();
        settings.scope.ignored.clear();
        match work {
            Work::Announce => settings.thresholds.set(Threshold::OlderThan, self.older_than),
            // What is announced was old enough then.
            Work::Reclaim => settings.thresholds.set(Threshold::OlderThan, Duration::from_secs(1)),
            Work::Rescue | Work::Retention | Work::Finalizers => {}
        }
        settings
    }

    /// Plans a work. Objects whose findings are exempted are left alone, and nothing destroys data but what was announced.
    pub(crate) fn plan(&self, work: Work, cx: &Cx, history: Option<&History>) -> Plan {
        let gc = |when| plan::gc(cx, &GcSelection { when, ..self.selection.clone() });
        let mut plan = match work {
            Work::Rescue => plan::rescue(cx),
            Work::Retention => plan::retention_reconcile(cx, &[]),
            Work::Finalizers => {
                plan::fix_finalizers(cx, &FinalizerSelection { history, ..Default::default() })
            }
            Work::Announce => {
                gc(WhenReclaimed::Announce(Announcing { grace: self.grace, include_vetoed: false }))
            }
            Work::Reclaim => gc(WhenReclaimed::Announced),
        };
        plan.command = work.command();
        plan.spare(cx, work.findings());
        match work {
            Work::Reclaim => {
                plan.spare(cx, Work::Announce.findings());
                // Others announce for less.
                plan.changes.retain(|it| !it.destroys() || self.is_over(cx, &it.object.key.name));
            }
            _ => plan.changes.retain(|it| !it.destroys()),
        }
        plan
    }

    /// Whether the grace period of these terms is over for an announced volume as well.
    fn is_over(&self, cx: &Cx, volume: &str) -> bool {
        let Ok(Some(volume)) = cx.volume(volume) else { return false };
        match facts::announcement_status(cx, volume, None) {
            Ok(AnnouncementStatus::Due(period)) => {
                let kept = volume.metadata.keep_until();
                let kept = kept.map(|until| facts::kept_end(until, self.grace));
                let end = self.end_of(period.since, period.grace);
                cx.passed(kept.map_or(end, |kept| kept.max(end)), Duration::ZERO)
            }
            _ => false,
        }
    }

    /// Returns the end of the grace period of an announcement of that time and length.
    fn end_of(&self, since: Time, grace: Duration) -> Time {
        match self.counts_from {
            Some(from) if from > since => facts::grace_end(from, self.grace.max(grace)),
            _ => facts::grace_end(since, self.grace),
        }
    }

    /// Counts volumes by the status of their announcement; `None` where that was not read. What `gc` would refuse is
    /// not due.
    pub(crate) fn announcements(&self, cx: &Cx) -> Option<AnnouncementCounts> {
        let selection = GcSelection { when: WhenReclaimed::Announced, ..GcSelection::default() };
        let due = plan::gc(cx, &selection).changes;
        let due = due.iter().filter(|it| it.destroys() && self.is_over(cx, &it.object.key.name));
        let mut counts =
            AnnouncementCounts { due: due.count() as u64, ..AnnouncementCounts::default() };
        for (_, volume) in cx.cluster().volumes() {
            match facts::announcement_status(cx, volume, None).ok()? {
                AnnouncementStatus::Running(_) => counts.announced += 1,
                AnnouncementStatus::Due(_) if !self.is_over(cx, volume.name()) => {
                    counts.announced += 1;
                }
                AnnouncementStatus::Vetoed(_) => counts.vetoed += 1,
                AnnouncementStatus::NotAnnounced
                | AnnouncementStatus::Due(_)
                | AnnouncementStatus::Changed(_)
                | AnnouncementStatus::Void(_)
                | AnnouncementStatus::Elsewhere(_) => {}
            }
        }
        Some(counts)
    }
}

/// Volumes that are old enough to be announced, and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftAlone {
    /// Number of these volumes.
    pub(crate) count: usize,
    /// The first of them.
    pub(crate) object: ObjectRef,
    /// Reason for which that one is not announced.
    pub(crate) reason: String,
}

/// Returns the volumes that a plan that announces leaves alone, and that were not announced before.
pub(crate) fn left_alone(cx: &Cx, announced: &Plan) -> Option<LeftAlone> {
    let is_unannounced = |it: &&RefusedObject| {
        let Ok(Some(volume)) = cx.volume(&it.object.key.name) else { return false };
        let status = facts::announcement_status(cx, volume, None);
        matches!(status, Ok(AnnouncementStatus::NotAnnounced))
    };
    let mut refused = announced.refusals.iter().filter(is_unannounced);
    let RefusedObject { object, reason, .. } = refused.next()?;
    let count = 1 + refused.count();
    Some(LeftAlone { count, object: object.clone(), reason: reason.clone() })
}

/// Removes from a plan the volumes that were reclaimed after they were announced, and that were taken back since: the
/// announcement was used. Returns them.
pub(crate) fn take_out_what_was_taken_back(
    cx: &Cx,
    plan: &mut Plan,
    history: &History,
) -> Vec<ObjectRef> {
    let was_reclaimed = |change: &ProposedChange| {
        let Ok(Some(volume)) = cx.volume(&change.object.key.name) else { return false };
        let Ok(status) = facts::announcement_status(cx, volume, None) else { return false };
        let AnnouncementStatus::Due(period) = status else { return false };
        let uid = volume.metadata.uid.as_ref();
        uid.is_some_and(|uid| history.was_condemned(uid, period.since))
    };
    let taken_back = plan.changes.extract_if(.., |it| it.destroys() && was_reclaimed(it));
    taken_back.map(|it| it.object).collect()
}

/// Returns the breaker for a plan that announces: it counts what would be announced, and what was within the last hour,
/// by any process. What could not be judged may be either.
pub(crate) fn breaker(cx: &Cx, announced: &Plan, percent: u8) -> Option<Breaker> {
    let is_new = |it: &&ProposedChange| matches!(it.purpose, Purpose::Announce(_));
    let refused: Vec<_> = announced.refusals.iter().filter(|it| it.unseen).collect();
    let mut eligible = Eligible {
        newly: announced.changes.iter().filter(is_new).count(),
        unseen: refused.len(),
        reason: refused.first().map_or("", |it| &*it.reason),
        all: 0,
    };
    for (id, volume) in cx.cluster().volumes() {
        if !rules::in_scope(cx.cluster(), cx.settings(), &Subject::Volume(id)) {
            continue;
        }
        eligible.all += 1;
        if let Ok(AnnouncementStatus::Running(period) | AnnouncementStatus::Due(period)) =
            facts::announcement_status(cx, volume, None)
            && cx.clock().is_none_or(|now| period.since > now - NEWLY)
        {
            eligible.newly += 1;
        }
    }
    Breaker::of(eligible, percent)
}

/// Proposals of consecutive judgements, with the number of judgements for which each stood.
#[derive(Debug, Default)]
pub(crate) struct Candidates(BTreeMap<(&'static str, ObjectRef), Candidate>);

#[derive(Debug)]
struct Candidate {
    change: ProposedChange,
    judgements: u32,
    /// Place in the last plan.
    place: usize,
}

impl Candidates {
    /// Adds the proposals of one more judgement. One that is not made any more is forgotten, and one that is another
    /// now begins anew.
    pub(crate) fn judge(&mut self, changes: Vec<ProposedChange>) {
        let mut known = std::mem::take(&mut self.0);
        for (place, change) in changes.into_iter().enumerate() {
            let key = (change.purpose.id(), change.object.clone());
            let before = known.remove(&key).filter(|it| is_same(&it.change, &change));
            let judgements = before.map_or(0, |it| it.judgements).saturating_add(1);
            self.0.insert(key, Candidate { change, judgements, place });
        }
    }

    /// Whether there are no proposals.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the proposals that stood for this number of judgements, in the order of the plan.
    pub(crate) fn settled(&self, judgements: u32) -> Vec<ProposedChange> {
        let settled = self.0.values().filter(|it| it.judgements >= judgements);
        let mut settled: Vec<_> = settled.collect();
        settled.sort_by_key(|it| it.place);
        settled.into_iter().map(|it| it.change.clone()).collect()
    }
}

/// Whether two changes do the same to the same object, with the same consequences. What is merely shown beside it may
/// differ.
fn is_same(a: &ProposedChange, b: &ProposedChange) -> bool {
    a.purpose == b.purpose && a.object == b.object && a.proposal == b.proposal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, Kind, Loss, ObjectKey, Proposal, Uid, Undo, parse_time};
    use crate::plan::{ObjectDetails, Purpose};

    #[test]
    fn what_was_announced_before_a_gap_waits_for_a_whole_grace_period_after_it() {
        let at = |time: &str| {
            let time = format!("2026-11-01T{time}:00Z");
            parse_time(&time).ok().flatten().expect("a time")
        };
        let minutes = |count: u64| Duration::from_secs(60 * count);
        for (counts_from, grace, end) in [
            (None, 45, "12:00"),
            (Some("12:40"), 45, "13:40"),
            // Whoever announced it gave more time.
            (Some("12:40"), 90, "14:10"),
            (None, 90, "12:00"),
            // It was announced after that.
            (Some("10:00"), 45, "12:00"),
        ] {
            let terms = WorkTerms {
                grace: minutes(60),
                counts_from: counts_from.map(at),
                ..WorkTerms::default()
            };
            let ends = terms.end_of(at("11:00"), minutes(grace));
            assert_eq!(ends, at(end), "{counts_from:?} {grace}");
        }
    }

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
                loses: Loss::default(),
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

//! The plan of each [`Work`]: that of a command without danger flags, and less.

use std::time::Duration;

use super::bounds::Eligible;
use super::counts::AnnouncementCounts;
use super::{Breaker, Work};
use crate::cluster::{Cx, Subject};
use crate::facts::{self, AnnouncementStatus};
use crate::journal::History;
use crate::model::{ObjectRef, Settings, Threshold, Time};
use crate::plan::{
    self, FinalizerSelection, GcSelection, Plan, ProposedChange, Purpose, RefusedObject,
    WhenReclaimed,
};
use crate::remedies::Announcing;
use crate::rules;

/// Within which volumes count as newly eligible.
const NEWLY: chrono::Duration = chrono::Duration::hours(1);

/// What a policy or flags say of work, beside the settings of judgements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WorkTerms {
    /// The grace period of what is announced. What others announced for shorter is not due earlier.
    pub(crate) grace: Duration,
    /// Volumes have to be Released for so long before they are announced.
    pub(crate) older_than: Duration,
    /// Since when announcements count, where the Lease of the leader had a gap: what people objected to before that may
    /// be lost, as after a restore of the cluster.
    pub(crate) counts_from: Option<Time>,
    /// Which volumes are reclaimed, besides the scope of the settings.
    pub(crate) selection: GcSelection,
}

impl WorkTerms {
    /// The settings with which work is planned and carried out: those of the judgements, without danger flags. Which
    /// findings are reported decides nothing; of which objects none are, that does.
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
            Work::Retention => plan::retention_apply(cx, &[]),
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

    /// Whether the grace period of these terms is over as well.
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

    /// The end of the grace period of what was announced then, for so long.
    fn end_of(&self, since: Time, grace: Duration) -> Time {
        match self.counts_from {
            Some(from) if from > since => facts::grace_end(from, self.grace.max(grace)),
            _ => facts::grace_end(since, self.grace),
        }
    }

    /// Counts volumes by what is known of their announcement; `None` where that was not read. What `gc` would refuse is not
    /// due.
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

/// Volumes that could be announced by their age, and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftAlone {
    /// How many.
    pub(crate) count: usize,
    /// The first of them.
    pub(crate) object: ObjectRef,
    /// Why that one is not.
    pub(crate) reason: String,
}

/// Returns the volumes that a plan that announces leaves alone, and that nobody has announced before.
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

/// Takes out of a plan the volumes that were reclaimed after they were announced, and that somebody has taken back since: the
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

/// The breaker, by a plan that announces: what would be announced, and what was within the last hour, by whomever. What
/// could not be judged may be either.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::parse_time;

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
}

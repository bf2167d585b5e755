//! The plan of each [`Work`]: that of a command without danger flags, and less.

use std::time::Duration;

use super::bounds::Eligible;
use super::counts::AnnouncementCounts;
use super::{Breaker, Work};
use crate::cluster::{Cx, Subject};
use crate::facts::{self, AnnouncementStatus};
use crate::journal::History;
use crate::model::{ObjectRef, Settings, Threshold};
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
                let end = facts::grace_end(period.since, self.grace);
                cx.passed(kept.map_or(end, |kept| kept.max(end)), Duration::ZERO)
            }
            _ => false,
        }
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

/// Counts volumes by what is known of their announcement; `None` where that was not read. What `gc` would refuse is not
/// due.
pub(crate) fn announcements(cx: &Cx) -> Option<AnnouncementCounts> {
    let selection = GcSelection { when: WhenReclaimed::Announced, ..GcSelection::default() };
    let due = plan::gc(cx, &selection).changes.iter().filter(|it| it.destroys()).count();
    let mut counts = AnnouncementCounts { due: due as u64, ..AnnouncementCounts::default() };
    for (_, volume) in cx.cluster().volumes() {
        match facts::announcement_status(cx, volume, None).ok()? {
            AnnouncementStatus::Running(_) => counts.announced += 1,
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

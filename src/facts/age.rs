//! The age of a phase: since when a volume has been in its phase, and how far that time can be
//! trusted (semantics#trusted-age).

use std::time::Duration;

use super::{FAILED_DELETE, owner};
use crate::cluster::Cx;
use crate::model::{Age, ManagedField, Time, Trust, Volume, VolumeColumns};

/// Largest difference of two clocks, or of two writes of one transition, that is still tolerated.
const SLACK: Duration = Duration::from_secs(60);
/// Largest difference of the two sources of an age at which they still agree.
const AGREEMENT: Duration = Duration::from_secs(5 * 60);

/// The two sources of the age of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastTransition {
    /// `status.lastPhaseTransitionTime`, unless it cannot be true.
    pub stated: Option<Time>,
    /// The latest time at which an owner of `f:phase` changed anything.
    pub managed: Option<Time>,
}

impl LastTransition {
    /// Returns both sources of the age of a volume's phase.
    pub fn of(cx: &Cx, volume: &Volume) -> Self {
        let stated = volume.last_phase_transition.filter(|time| {
            !cx.is_future(*time, SLACK) && !before_creation(*time, volume.metadata.created)
        });
        let stated = stated.map(|time| volume.metadata.since_creation(time));
        Self { stated, managed: volume.metadata.last_change(&ManagedField::Phase) }
    }

    /// Returns the age of the phase by both sources. The creation time never counts: a volume that was created years
    /// ago may have been released a minute ago.
    pub fn age(self) -> Age {
        match (self.stated, self.managed) {
            (Some(stated), Some(managed)) => {
                let agree = (stated - managed).abs().to_std().is_ok_and(|gap| gap <= AGREEMENT);
                let trust = if agree { Trust::Corroborated } else { Trust::Conflicting };
                Age { since: Some(stated.max(managed)), trust }
            }
            (Some(stated), None) => Age { since: Some(stated), trust: Trust::SingleSource },
            (None, Some(managed)) => Age { since: Some(managed), trust: Trust::LowerBound },
            (None, None) => Age::UNKNOWN,
        }
    }
}

/// Returns how long a volume has been in its phase.
pub fn phase_age(cx: &Cx, volume: &Volume) -> Age {
    LastTransition::of(cx, volume).age()
}

/// Returns since when a volume has been in the state that reports and plans are about: Terminating
/// since its deletion was requested, otherwise in its phase. This is what tables show as AGE.
pub fn state_age(cx: &Cx, volume: &Volume) -> Age {
    match volume.metadata.deleting {
        Some(requested) => Age::stamped(Some(requested)),
        None => phase_age(cx, volume),
    }
}

/// Returns how long a volume has at least been Released or Failed, for findings alone: what is
/// reclaimed rests on [`phase_age`].
///
/// A deletion is attempted only after the release, so the first event about a failed one is a lower
/// bound where the server recorded no time, or a later write hides it. Events are written by clients
/// may write events.
pub fn released_age(cx: &Cx, volume: &Volume) -> Age {
    let transition = LastTransition::of(cx, volume);
    if volume.metadata.deleting.is_some() {
        return state_age(cx, volume);
    }
    let (None, Some(uid)) = (volume.last_phase_transition, &volume.metadata.uid) else {
        return transition.age();
    };
    let events = cx.events_of(&volume.object().key).unwrap_or_default();
    let failures = events
        .into_iter()
        .filter(|event| *event.reason == *FAILED_DELETE && event.about_uid.as_ref() == Some(uid));
    let attempts = failures.filter_map(|event| event.first_seen);
    let attempts = attempts.filter(|time| !cx.is_future(*time, SLACK));
    let first = attempts.filter(|time| !before_creation(*time, volume.metadata.created)).min();
    let first = first.map(|time| volume.metadata.since_creation(time));
    match first.into_iter().chain(transition.managed).min() {
        Some(since) => Age { since: Some(since), trust: Trust::LowerBound },
        None => Age::UNKNOWN,
    }
}

/// Returns since when the reclaim policy, the phase and the object itself have been as they are:
/// the latest of these times. A controller that must react has had that long to do so.
pub fn policy_age(cx: &Cx, volume: &Volume) -> Age {
    let transition = LastTransition::of(cx, volume);
    let policy = volume.metadata.last_change(&ManagedField::ReclaimPolicy);
    let latest = [transition.stated, transition.managed, policy, volume.metadata.created];
    match latest.into_iter().flatten().max() {
        Some(since) => Age { since: Some(since), trust: Trust::LowerBound },
        None => Age::UNKNOWN,
    }
}

/// Returns why `status.lastPhaseTransitionTime` cannot be trusted, if it cannot.
pub fn untrusted_reason(cx: &Cx, volume: &Volume) -> Option<String> {
    let stated = volume.last_phase_transition?;
    if cx.is_future(stated, SLACK) {
        return Some("it lies in the future".to_owned());
    }
    if before_creation(stated, volume.metadata.created) {
        return Some("it is earlier than the volume's creation".to_owned());
    }
    let managed = volume.metadata.last_change(&ManagedField::Phase);
    let apart = |managed: Time| (stated - managed).abs().to_std().is_ok_and(|gap| gap > AGREEMENT);
    if managed.is_some_and(apart) {
        return Some("the manager of the phase last changed it at another time".to_owned());
    }
    let writers = volume.metadata.managers_of(&ManagedField::LastPhaseTransitionTime);
    let phase_owner = |manager: &str| {
        volume.metadata.managers_of(&ManagedField::Phase).any(|owner| owner.manager == manager)
    };
    let foreign = writers.map(|owner| owner.manager).find(|manager| !phase_owner(manager));
    foreign.map(|manager| format!("{manager} wrote it, which does not manage the phase"))
}

fn before_creation(time: Time, created: Option<Time>) -> bool {
    created.is_some_and(|created| (created - time).to_std().is_ok_and(|gap| gap > SLACK))
}

/// Returns the columns that tables show of the volume of a finding or a change.
pub fn columns(volume: &Volume) -> VolumeColumns {
    VolumeColumns {
        capacity: volume.capacity,
        claim: volume.claim_ref.as_ref().map(|claim| claim.key.to_string()),
        class: volume.class.clone(),
        driver: Some(owner(volume).name().clone()),
        reclaim_policy: volume.reclaim_policy.to_string(),
        phase: volume.phase.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Option<Time> {
        Time::from_timestamp(1_700_000_000 + seconds, 0)
    }

    #[test]
    fn an_age_is_never_older_than_its_younger_source() {
        for (stated, managed, since, trust) in [
            (at(0), at(0), at(0), Trust::Corroborated),
            (at(0), at(300), at(300), Trust::Corroborated),
            (at(300), at(0), at(300), Trust::Corroborated),
            (at(0), at(301), at(301), Trust::Conflicting),
            (at(301), at(0), at(301), Trust::Conflicting),
            (at(5), None, at(5), Trust::SingleSource),
            (None, at(5), at(5), Trust::LowerBound),
            (None, None, None, Trust::Unknown),
        ] {
            let age = LastTransition { stated, managed }.age();
            assert_eq!(age, Age { since, trust }, "{stated:?} {managed:?}");
        }
    }
}

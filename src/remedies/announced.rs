//! Announces that a Released volume will be reclaimed, and reclaims what was announced for long
//! enough.
//!
//! Both begin with the proposal to reclaim it now, with all its checks: what follows can only refuse.

use std::time::Duration;

use crate::cluster::{Cx, Seen};
use crate::facts::{self, AnnouncementStatus, VetoedAnnouncement};
use crate::model::{
    ANNOUNCED, Action, Effect, Loss, Proposal, Refusal, Undo, Volume, format_duration, format_time,
};

/// The name of [`announce`].
pub const ANNOUNCE_ID: &str = "announce";
/// The name of [`still_due`].
pub const RECLAIM_ANNOUNCED_ID: &str = "reclaim-announced";
/// The name of [`record_veto`].
pub const RECORD_VETO_ID: &str = "record-veto";

/// Options of an announcement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announcing {
    /// The least time for which volumes stay announced.
    pub grace: Duration,
    /// Whether a volume is announced again although its announcement was vetoed
    /// (`--include-vetoed`).
    pub include_vetoed: bool,
}

/// Proposes to announce a volume that this proposal would reclaim now, unless it is announced already or its
/// announcement was vetoed.
///
/// # Errors
/// When announcements were not read.
pub fn announce(
    cx: &Cx,
    volume: &Volume,
    reclaim: &Proposal,
    announcing: &Announcing,
) -> Seen<Result<Proposal, Refusal>> {
    let grace = format_duration(announcing.grace);
    let effect = Effect {
        what: format!("announces that after {grace} gc may do this: {}", reclaim.effect.what),
        risk: "nothing is reclaimed before; the annotation shows when".to_owned(),
    };
    let status = facts::announcement_status(cx, volume, Some(reclaim))?;
    let (mut notices, mut relies_on) = (reclaim.notices.clone(), reclaim.relies_on.clone());
    let refuse = |reason: String| Ok(Err(Refusal { reason, effect: effect.clone() }));
    match status {
        AnnouncementStatus::NotAnnounced => {}
        AnnouncementStatus::Running(period) => {
            return refuse(format!(
                "it is announced already, and due at {}",
                format_time(&period.due)
            ));
        }
        AnnouncementStatus::Due(period) => {
            return refuse(format!(
                "it is announced already, and due since {}: `kubectl storage gc {} --announced` reclaims it",
                format_time(&period.due),
                facts::on_command_line(&volume.object())
            ));
        }
        AnnouncementStatus::Vetoed(_) if announcing.include_vetoed => {
            relies_on.push("--include-vetoed");
        }
        AnnouncementStatus::Vetoed(veto) => {
            return refuse(format!("{}; --include-vetoed overrides this", vetoed(&veto)));
        }
        AnnouncementStatus::Elsewhere(namespace) => {
            return refuse(format!(
                "{}; to announce it here, remove that annotation first",
                facts::recorded_elsewhere(&namespace)
            ));
        }
        AnnouncementStatus::Changed(how) => {
            notices.push(format!("it has changed since it was announced before: {how}"));
        }
        AnnouncementStatus::Void(why) => {
            notices.push(format!("its annotation {ANNOUNCED} is ignored: {why}"));
        }
    }
    let Some(announced) = facts::announced_volume(volume, reclaim) else {
        return refuse(facts::UNIDENTIFIED.to_owned());
    };
    Ok(Ok(Proposal {
        steps: vec![Action::Announce {
            volume: volume.object(),
            announced: Box::new(announced),
            // Whatever it says, this overrides it.
            mark: volume
                .metadata
                .announced()
                .filter(|_| !announcing.include_vetoed)
                .map(Into::into),
            grace: announcing.grace,
        }],
        effect,
        undo: Undo::Never("removing the annotation vetoes it"),
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// Passes a proposal to reclaim a volume only if exactly that was announced and not vetoed, and the grace period is
/// over.
///
/// # Errors
/// When announcements were not read.
pub fn still_due(cx: &Cx, volume: &Volume, reclaim: Proposal) -> Seen<Result<Proposal, Refusal>> {
    let reason = match facts::announcement_status(cx, volume, Some(&reclaim))? {
        AnnouncementStatus::Due(_) => return Ok(Ok(reclaim)),
        AnnouncementStatus::NotAnnounced => "it is not announced".to_owned(),
        AnnouncementStatus::Running(period) => {
            format!("it is announced, and due at {}", format_time(&period.due))
        }
        AnnouncementStatus::Vetoed(veto) => vetoed(&veto),
        AnnouncementStatus::Changed(how) => format!("changed since it was announced: {how}"),
        AnnouncementStatus::Void(why) => format!("its announcement is void: {why}"),
        AnnouncementStatus::Elsewhere(namespace) => facts::recorded_elsewhere(&namespace),
    };
    Ok(Err(Refusal { reason, effect: reclaim.effect }))
}

/// Proposes to record that the announcement of a volume was vetoed, so that the veto outlives the announcement.
///
/// # Errors
/// When announcements were not read.
pub fn record_veto(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let effect = Effect {
        what: "records that its announcement was vetoed: it is not announced again without \
               --include-vetoed"
            .to_owned(),
        risk: "none: the volume is not changed".to_owned(),
    };
    let reason = match facts::announcement_status(cx, volume, None)? {
        AnnouncementStatus::Vetoed(veto) if !veto.recorded => {
            return Ok(Ok(Proposal {
                steps: vec![Action::RecordVeto { volume: volume.object(), batch: veto.batch }],
                effect,
                undo: Undo::Never("`gc --announce --include-vetoed` lifts it"),
                notices: Vec::new(),
                relies_on: Vec::new(),
                keeps_backend: false,
                loses: Loss::default(),
            }));
        }
        AnnouncementStatus::Vetoed(_) => "the veto is recorded already",
        _ => "its announcement is not vetoed",
    };
    Ok(Err(Refusal { reason: reason.to_owned(), effect }))
}

/// Returns the reason that an announcement was vetoed, and how.
fn vetoed(veto: &VetoedAnnouncement) -> String {
    format!("its announcement was vetoed: {}", veto.how)
}

//! Why a claim is Lost, and what repairs it (F43; `pv_controller.go`, `syncBoundClaim`).

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Claim, ClaimPhase, ClaimRef, Kind, ObjectKey, ObjectRef, Severity, Volume};

/// Why a claim is Lost, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostCause<'a> {
    /// `spec.volumeName` is empty although the claim was bound.
    NoVolumeName,
    /// The volume does not exist.
    Missing,
    /// Whether the volume exists is unknown, for this reason.
    Unread(String),
    /// The claimRef of the volume is another claim's.
    OfAnother(&'a Volume, &'a ClaimRef),
    /// The claimRef of the volume has this claim's name and another uid.
    OfEarlier(&'a Volume),
    /// claimRef was changed by hand: the volume is this claim's own.
    Changed(&'a Volume),
    /// The claimRef of the volume has this claim's name and no uid: nothing adds one.
    WithoutUid(&'a Volume),
    /// The claimRef of the volume is empty: kube-controller-manager binds it again.
    Unbound(&'a Volume),
    /// The volume is bound to this claim: kube-controller-manager sets the phase to Bound.
    Bound(&'a Volume),
}

/// Returns why a claim is Lost; `None` if it is not.
///
/// # Errors
/// When the claim is not Lost yet, and its volume was not read.
pub fn lost_cause<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Option<LostCause<'a>>> {
    let is_lost = claim.phase == ClaimPhase::Lost;
    let Some(name) = &claim.volume_name else {
        return Ok(is_lost.then_some(LostCause::NoVolumeName));
    };
    if !is_lost && !claim.bind_completed {
        return Ok(None);
    }
    let volume = match cx.volume(name) {
        Ok(Some(volume)) => volume,
        Ok(None) => return Ok(Some(LostCause::Missing)),
        // A claim with phase Lost is lost whether or not volumes were read.
        Err(unseen) if is_lost => return Ok(Some(LostCause::Unread(unseen.reason))),
        Err(unseen) => return Err(unseen),
    };
    if !is_lost {
        return Ok(None);
    }
    let Some(claim_ref) = &volume.claim_ref else { return Ok(Some(LostCause::Unbound(volume))) };
    if facts::was_taken_from(cx, volume, claim) {
        return Ok(Some(LostCause::Changed(volume)));
    }
    Ok(Some(match (&claim_ref.uid, &claim.metadata.uid) {
        _ if claim_ref.key != claim.key() => LostCause::OfAnother(volume, claim_ref),
        (None, _) => LostCause::WithoutUid(volume),
        (Some(_), None) => LostCause::Unread("the uid of the claim is unknown".to_owned()),
        (Some(wanted), Some(uid)) if wanted == uid => LostCause::Bound(volume),
        (Some(_), Some(_)) => LostCause::OfEarlier(volume),
    }))
}

impl<'a> LostCause<'a> {
    /// The volume, if it exists.
    pub const fn volume(&self) -> Option<&'a Volume> {
        match self {
            Self::NoVolumeName | Self::Missing | Self::Unread(_) => None,
            Self::OfAnother(volume, _)
            | Self::OfEarlier(volume)
            | Self::Changed(volume)
            | Self::WithoutUid(volume)
            | Self::Unbound(volume)
            | Self::Bound(volume) => Some(volume),
        }
    }

    /// How severe it is.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Bound(_) => Severity::Medium,
            // Until then another claim can bind the volume.
            Self::Unbound(_) => Severity::High,
            Self::NoVolumeName
            | Self::Missing
            | Self::Unread(_)
            | Self::OfAnother(..)
            | Self::OfEarlier(_)
            | Self::Changed(_)
            | Self::WithoutUid(_) => Severity::Critical,
        }
    }

    /// The cause, in words.
    pub fn describe(&self, claim: &Claim) -> String {
        let name = claim.volume_name.as_deref().unwrap_or("<none>");
        match self {
            Self::NoVolumeName => {
                "Lost: spec.volumeName is empty, so which volume it had is unknown".to_owned()
            }
            Self::Missing => format!(
                "PersistentVolume {name} does not exist: new pods with this claim cannot start; the backend volume may \
                 still exist"
            ),
            Self::Unread(reason) => format!(
                "Lost: whether PersistentVolume {name} exists and is its own is unknown ({reason})"
            ),
            Self::OfAnother(_, claim_ref) => {
                format!("Lost: PersistentVolume {name} belongs to claim {}", claim_ref.key)
            }
            Self::OfEarlier(_) => format!(
                "Lost: PersistentVolume {name} belongs to an earlier claim of this name, with another uid"
            ),
            Self::Changed(volume) => {
                let now = volume.claim_ref.as_ref();
                let other = now.filter(|it| it.key != claim.key());
                let other = other.map_or_else(String::new, |it| format!("claim {} with ", it.key));
                let uid = now.and_then(|it| it.uid.as_ref());
                let uid = uid.map_or_else(|| "<none>".to_owned(), ToString::to_string);
                format!(
                    "Lost: spec.claimRef of PersistentVolume {name} was changed, to {other}uid {uid}, but the volume is \
                     this claim's own"
                )
            }
            Self::WithoutUid(_) => format!(
                "Lost: spec.claimRef of PersistentVolume {name} has this claim's name, but no uid"
            ),
            Self::Unbound(_) => format!(
                "Lost: spec.claimRef of PersistentVolume {name} is empty; any matching claim can bind it"
            ),
            Self::Bound(_) => {
                format!("Lost, although spec.claimRef of PersistentVolume {name} is this claim")
            }
        }
    }

    /// What to do about it.
    pub fn advice(&self, cx: &Cx, claim: &Claim) -> String {
        let name = claim.volume_name.as_deref().unwrap_or("<none>");
        if claim.metadata.deleting.is_some() {
            return "Terminating: record which backend volume it had before the claim is deleted"
                .to_owned();
        }
        match self {
            Self::NoVolumeName => "keep the claim; its events, backups and the volumes whose \
                 spec.claimRef has its name show which volume it had"
                .to_owned(),
            Self::Missing if claim.metadata.label(VELERO).is_some() => format!(
                "keep the claim; Velero restored it without PersistentVolume {name}, so restore the volume and its \
                 data, or recreate the volume from its manifest"
            ),
            Self::Missing => format!(
                "keep the claim, and recreate PersistentVolume {name} from its manifest, with policy Retain and this \
                 claim's uid in spec.claimRef: `kubectl storage rebind {}` does so from the journal, or with \
                 --from FILE",
                facts::on_command_line(&ObjectRef {
                    key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
                    uid: None,
                })
            ),
            Self::Unread(_) => format!("read PersistentVolume {name} before any change"),
            Self::OfAnother(..) => {
                "find out whose data it is; to get a volume of its own, the claim has to be \
                 recreated without spec.volumeName"
                    .to_owned()
            }
            Self::OfEarlier(volume) | Self::WithoutUid(volume)
                if volume.metadata.deleting.is_some() =>
            {
                format!(
                    "PersistentVolume {name} is Terminating: save its manifest, it cannot be bound again"
                )
            }
            Self::Changed(volume) => facts::giving_back(volume, claim),
            Self::OfEarlier(volume) => {
                let first = facts::retained_first(volume);
                format!("{first}if this claim may read the data, {}", repair(cx, volume))
            }
            Self::WithoutUid(volume) => {
                format!("{}{}", facts::retained_first(volume), repair(cx, volume))
            }
            Self::Unbound(_) | Self::Bound(_) => {
                "wait: kube-controller-manager binds both again within seconds; if \
                 it does not, look at its log"
                    .to_owned()
            }
        }
    }
}

/// The label of objects that Velero restored.
const VELERO: &str = "velero.io/restore-name";

/// The repair: the claim's uid is written into the claimRef.
fn repair(cx: &Cx, volume: &Volume) -> String {
    let first = match cx.claims_naming(volume.name()) {
        Ok(claims) if claims.len() > 1 => {
            "find out which of the claims with this spec.volumeName owns the data, and delete the \
             others; then "
        }
        Ok(_) => "",
        Err(_) => "see that no other claim has this spec.volumeName; then ",
    };
    format!(
        "{first}run {}, which writes this claim's uid into spec.claimRef",
        facts::rebind_command(volume)
    )
}

//! Claims without a volume: Pending ones, which can be bound at any moment, and Lost ones, which may
//! be the last record of their data.

use super::super::checks;
use super::super::checks::ReliedFlags;
use super::outcome::{DataOutcome, no_other_volume};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, LostCause};
use crate::model::{Claim, Kind, ReclaimPolicy, Volume};

/// What is decided about a claim without a volume.
type Decided<'a> = Seen<Result<DataOutcome<'a>, String>>;

/// A claim that is Pending has no data; but a volume that is bound to it at the same moment is
/// reclaimed by its policy when the claim is deleted.
pub(super) fn pending<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Decided<'a> {
    let mut candidates = cx.volumes_of(&claim.key())?;
    candidates.retain(|it| may_become_its_own(it, claim));
    if let Some(name) = &claim.volume_name
        && let Some(volume) = cx.volume(name)?
        && volume.claim_ref.is_none()
    {
        candidates.push(volume);
    }
    for volume in candidates {
        let pv = volume.object();
        if volume.reclaim_policy != ReclaimPolicy::Retain {
            return Ok(Err(format!(
                "{pv}, with policy {}, may be bound to it at any moment: wait until it is Bound, or \
                 run `kubectl storage retain {pv}` first",
                volume.reclaim_policy
            )));
        }
        notices.push(format!("{pv} may be bound to it now; its policy Retain keeps its data"));
    }
    // kube-controller-manager sets it when it asks for a volume, and not while it waits for the
    // first consumer (`pv_controller.go`, `provisionClaimOperationExternal`).
    if let Some(provisioner) = &claim.provisioner {
        if !cx.settings().destroy_data {
            return Ok(Err(format!(
                "it is Pending, and {provisioner} may be creating a volume for it: wait until it is \
                 Bound, or pass --destroy-data, which accepts that a new volume is reclaimed by its \
                 policy, or leaked if {provisioner} is restarted meanwhile"
            )));
        }
        relies_on.rely("--destroy-data");
        notices.push(format!(
            "a volume that {provisioner} is creating for it is reclaimed by its policy, or leaked \
             if {provisioner} is restarted meanwhile"
        ));
    }
    Ok(Ok(DataOutcome::NoVolume))
}

/// Whether a volume that references the claim by its name is bound to it, or will be.
fn may_become_its_own(volume: &Volume, claim: &Claim) -> bool {
    let uid = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
    uid.is_none() || uid == claim.metadata.uid.as_ref()
}

/// A claim that is Lost may be the last record of its data. It is deleted only where that affects no
/// volume, and only if the user decided to keep what remains.
pub(super) fn lost<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Decided<'a> {
    let Some(cause) = facts::lost_cause(cx, claim)? else {
        return Ok(Err("its volume does not exist; wait until its phase is Lost".to_owned()));
    };
    if let LostCause::Unread(reason) = &cause {
        let (kind, reason) = (Kind::PersistentVolume, reason.clone());
        return Err(Unseen { kind, namespace: None, reason });
    }
    let described = cause.describe(claim);
    let (name, namespace) = (&claim.metadata.name, &claim.namespace);
    match &cause {
        LostCause::Unbound(_) | LostCause::Bound(_) => {
            return Ok(Err(format!("{described}; wait until it is Bound again")));
        }
        LostCause::OfEarlier(volume)
        | LostCause::Changed(volume)
        | LostCause::WithoutUid(volume)
            if volume.reclaim_policy != ReclaimPolicy::Retain =>
        {
            return Ok(Err(format!(
                "{described}; its policy is {}: run `kubectl storage retain {}` first",
                volume.reclaim_policy,
                volume.object()
            )));
        }
        LostCause::OfEarlier(_)
        | LostCause::Changed(_)
        | LostCause::WithoutUid(_)
        | LostCause::OfAnother(..)
        | LostCause::NoVolumeName
        | LostCause::Missing
        | LostCause::Unread(_) => {}
    }
    checks::all!(no_other_volume(cx, claim)?);
    if !cx.settings().keep_data {
        let repair = match &cause {
            LostCause::OfEarlier(volume)
            | LostCause::Changed(volume)
            | LostCause::WithoutUid(volume) => format!(
                "`kubectl storage rebind {} --to {namespace}/{name}` binds it again",
                volume.object()
            ),
            _ => format!("`kubectl storage explain pvc/{name} -n {namespace}` shows its repair"),
        };
        return Ok(Err(format!(
            "{described}; the claim may be the last record of its data; {repair}; if it is not \
             needed, --keep-data allows its deletion, which affects no volume"
        )));
    }
    relies_on.rely("--keep-data");
    notices
        .push(format!("{described}; only the journal of this machine keeps a copy of the claim"));
    Ok(Ok(DataOutcome::NoVolume))
}

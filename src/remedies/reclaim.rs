//! Reclaims a Released volume: flips its policy to Delete and lets its owner delete the backend,
//! then the object (R-2644-10). The tool never deletes the object itself.

use super::{Remedy, checks};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState, Owner};
use crate::model::{
    Action, Attachment, Effect, Kind, Phase, Proposal, ReclaimPolicy, Refusal, Text, Trust, Undo,
    Volume,
};

/// P-POLICY from Retain to Delete, with every check of F01.
pub static REMEDY: Remedy = Remedy {
    id: "reclaim",
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, StorageClass, VolumeSnapshotContent, VolumeGroupSnapshotContent, Secret],
    writes: &[("patch", "persistentvolumes")],
    propose,
};

fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let owner = facts::owner(volume);
    let mut notices = Vec::new();
    let effect = || Effect {
        what: format!(
            "sets the reclaim policy to Delete; then {} deletes the backend volume and the object",
            owner.describe()
        ),
        risk: "the data is gone for good; Retain is often deliberate".to_owned(),
    };
    if let Err(reason) = check(cx, volume, &owner, &mut notices)? {
        return Ok(Err(Refusal { reason, effect: effect() }));
    }
    Ok(Ok(Proposal {
        steps: vec![Action::SetReclaimPolicy {
            volume: volume.object(),
            from: ReclaimPolicy::Retain,
            to: ReclaimPolicy::Delete,
            doubts_backend: false,
        }],
        effect: effect(),
        undo: Undo::Never("the owner deletes the backend volume at once"),
        notices,
    }))
}

/// Makes every check, cheapest first; the first that fails is the reason.
fn check(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    notices: &mut Vec<String>,
) -> Seen<checks::Checked> {
    macro_rules! all {
        ($($check:expr),+ $(,)?) => {$(
            if let Err(reason) = $check { return Ok(Err(reason)); }
        )+};
    }
    all!(
        is_released(volume),
        checks::not_exempt(cx, &volume.metadata),
        backend_state_known(volume),
        checks::backend_is_known(volume).map(drop),
        age_is_trusted(cx, volume),
        claim_is_gone(cx, volume)?,
        checks::no_claim_names_it(cx, volume)?,
        checks::backend_is_its_own(cx, volume)?,
        is_detached(cx, volume)?,
        checks::on_no_node(cx, volume)?,
        reachable(cx, volume)?,
        hosts_answer(cx, volume)?,
        pods_are_gone(cx, volume)?,
        checks::no_snapshot_in_progress(cx, volume, notices)?,
        owner_will_act(cx, volume, owner)?,
        checks::secret_is_there(cx, volume, owner)?,
    );
    if let Some(driver) = owner.csi()
        && cx.csi_driver(driver)?.is_some_and(|driver| !driver.attach_required)
    {
        notices.push(format!("driver {driver} attaches without a trace: no attachment could show that it is still mounted"));
    }
    Ok(Ok(()))
}

fn is_released(volume: &Volume) -> checks::Checked {
    if volume.metadata.deleting.is_some() {
        return Err("it is terminating".to_owned());
    }
    if volume.phase != Phase::Released {
        return Err(format!("its phase is {}", volume.phase));
    }
    if volume.reclaim_policy != ReclaimPolicy::Retain {
        return Err(format!("its policy is {}", volume.reclaim_policy));
    }
    Ok(())
}

fn backend_state_known(volume: &Volume) -> checks::Checked {
    match &volume.backend_state {
        None => Ok(()),
        Some(state) => Err(format!("annotation storage.kubectl.dev/backend-state: {state}")),
    }
}

fn age_is_trusted(cx: &Cx, volume: &Volume) -> checks::Checked {
    let age = facts::phase_age(cx, volume);
    match age.trust {
        Trust::Corroborated | Trust::Conflicting | Trust::LowerBound => Ok(()),
        Trust::SingleSource | Trust::Unknown if cx.settings().include_unknown_age => Ok(()),
        Trust::SingleSource => {
            Err("its age rests on lastPhaseTransitionTime alone, which anybody may have written"
                .to_owned())
        }
        Trust::Unknown => Err("nothing tells since when it has been Released".to_owned()),
    }
}

fn claim_is_gone(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    Ok(match facts::claim_state(cx, volume)? {
        ClaimState::None | ClaimState::Reserved => {
            Err("it names no claim that it was bound to".to_owned())
        }
        ClaimState::Absent => Ok(()),
        ClaimState::Recreated(_) if cx.settings().include_recreated => Ok(()),
        ClaimState::Recreated(claim) => Err(format!(
            "{} was created again: its owner may believe that this volume holds its data",
            claim.object()
        )),
        ClaimState::Live(claim) => match &claim.volume_name {
            Some(other) if **other != *volume.name() => Ok(()),
            _ => Err(format!("{} still exists", claim.object())),
        },
    })
}

fn reachable(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    Ok(match facts::node_gone(cx, volume)? {
        false => Ok(()),
        true => Err("no node is left from which it can be reached".to_owned()),
    })
}

/// No attachment names it. One on a node that cannot be asked is not going to go by itself.
fn is_detached(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    let attachments = checks::attachments(cx, volume)?;
    let Some(first) = attachments.first() else { return Ok(Ok(())) };
    let plight =
        |it: &Attachment| facts::node_plight(cx, &it.node, Kind::VolumeAttachment).ok().flatten();
    let worst = attachments.iter().find_map(|it| plight(it).map(|plight| (it, plight)));
    Ok(Err(match worst {
        Some((it, plight)) => format!(
            "{}, which {}: it may still be written there",
            checks::still_names_it(it),
            plight.describe()
        ),
        None => checks::still_names_it(first),
    }))
}

/// The nodes that alone can have run its pods can be asked (SEMANTICS T32): on one that is not
/// Ready, a pod that is long gone from the API may still write.
fn hosts_answer(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    Ok(match facts::unready_host(cx, volume)? {
        None => Ok(()),
        Some(node) => Err(format!(
            "no/{}, which its node affinity leads to, is not Ready: a pod may still write there",
            node.metadata.name
        )),
    })
}

/// No pod names the claim that it belonged to.
///
/// Pods under the name of a claim that was created again and bound to another volume use that
/// other volume, as far as their nodes can be asked: one may be older than the new claim.
fn pods_are_gone(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    let Some(claim) = &volume.claim_ref else { return Ok(Ok(())) };
    let moved = cx.settings().include_recreated
        && matches!(facts::claim_state(cx, volume)?, ClaimState::Recreated(namesake)
            if namesake.volume_name.as_deref().is_some_and(|bound| bound != volume.name()));
    for pod in cx.pods_of(&claim.key)? {
        let plight = match &pod.node {
            Some(node) => facts::node_plight(cx, node, Kind::Pod),
            None => Ok(None),
        };
        match (plight, &pod.node) {
            (Ok(Some(plight)), Some(node)) => {
                return Ok(Err(format!(
                    "{} names claim {}, and its node {node} {}: it may still write",
                    pod.object(),
                    claim.key,
                    plight.describe()
                )));
            }
            (Err(unseen), _) if moved => return Err(unseen),
            _ if moved => {}
            _ => return Ok(Err(format!("{} names claim {}", pod.object(), claim.key))),
        }
    }
    Ok(Ok(()))
}

/// Somebody is there who deletes the backend once the policy says so.
fn owner_will_act(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<checks::Checked> {
    Ok(match owner {
        Owner::Csi(driver) => {
            if let Some(named) = volume.source.driver().filter(|named| *named != driver) {
                // The one would be told to delete a handle of the other.
                return Ok(Err(format!("it names driver {named}, but {driver} would delete it")));
            }
            let state = facts::provisioner(cx, driver);
            if let Err(reason) = checks::alive(&state, &format!("csi-provisioner of {driver}"))? {
                return Ok(Err(reason));
            }
            match volume.is_dynamic() {
                true => Ok(()),
                false => deletes_static(cx, driver)?,
            }
        }
        Owner::External(provisioner) => {
            Err(format!("whether external provisioner {provisioner} is running cannot be told"))
        }
        Owner::InTree(plugin) => match facts::known_deletable(plugin, cx.server()) {
            Some(true) => checks::alive(&facts::controller_manager(cx), "kube-controller-manager")?,
            Some(false) => Err(format!("no controller can delete volumes of {plugin} any more")),
            None => Err(format!("whether this server can delete volumes of {plugin} is not known")),
        },
        Owner::StaticInTree(source) => {
            Err(format!("no controller deletes static in-tree volumes ({source})"))
        }
    })
}

/// csi-provisioner deletes static volumes from 3.5 on (R-2644-8).
fn deletes_static(cx: &Cx, driver: &Text) -> Seen<checks::Checked> {
    Ok(match facts::surely_deletes_static_volumes(cx, driver)? {
        Some(true) => Ok(()),
        Some(false) => {
            Err("its csi-provisioner is older than 3.5 and never deletes static volumes".to_owned())
        }
        None => Err("whether its csi-provisioner deletes static volumes is not known: its version is not, and before 3.5 none does".to_owned()),
    })
}

#[cfg(test)]
mod table;

//! Checks of a Released volume: that it is one, that nothing uses it any more, and that its age can
//! be trusted. All remedies for such volumes make them.

use super::checks::{self, Checked, ReliedFlags};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState};
use crate::model::{Attachment, Kind, Phase, ReclaimPolicy, Trust, Volume};

/// What is asked of a Released volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReleaseDemand {
    /// That it was released at a time that can be trusted.
    Aged,
    /// Nothing of its age: this tool has just deleted its claim.
    JustReleased,
}

/// Refuses unless it is Released with policy Retain, with a trusted age where that is demanded, and
/// no claim references it.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn is_left_over(
    cx: &Cx,
    volume: &Volume,
    demand: ReleaseDemand,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    checks::all!(
        is_released(volume),
        checks::not_exempt(cx, &volume.metadata),
        backend_state_known(cx, volume, relies_on),
        checks::backend_is_known(volume).map(drop),
        match demand {
            ReleaseDemand::Aged => age_is_trusted(cx, volume, relies_on),
            ReleaseDemand::JustReleased => Ok(()),
        },
        claim_is_gone(cx, volume, relies_on)?,
        checks::no_claim_names_it(cx, volume)?,
    );
    Ok(Ok(()))
}

/// Refuses unless no node and no attachment uses its backend volume, and a node can reach it to
/// delete it.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn backend_can_go(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    checks::all!(
        is_detached(cx, volume)?,
        checks::on_no_node(cx, volume)?,
        reachable(cx, volume)?,
        hosts_answer(cx, volume)?,
    );
    Ok(Ok(()))
}

/// Refuses unless it is Released, with policy Retain, and not Terminating.
fn is_released(volume: &Volume) -> Checked {
    if volume.metadata.deleting.is_some() {
        return Err("it is Terminating".to_owned());
    }
    if volume.phase != Phase::Released {
        return Err(format!("its phase is {}, not Released", volume.phase));
    }
    if volume.reclaim_policy != ReclaimPolicy::Retain {
        return Err(format!("its policy is {}, not Retain", volume.reclaim_policy));
    }
    Ok(())
}

/// Refuses where an earlier deletion of the backend volume was stopped (T31).
pub(super) fn backend_state_known(
    cx: &Cx,
    volume: &Volume,
    relies_on: &mut ReliedFlags,
) -> Checked {
    match &volume.backend_state {
        None => Ok(()),
        Some(_) if cx.settings().backend_verified => {
            relies_on.push("--backend-verified");
            Ok(())
        }
        Some(state) => {
            Err(format!("{}, then pass --backend-verified", checks::backend_in_doubt(state)))
        }
    }
}

fn age_is_trusted(cx: &Cx, volume: &Volume, relies_on: &mut ReliedFlags) -> Checked {
    let age = facts::phase_age(cx, volume);
    match age.trust {
        Trust::Corroborated | Trust::Conflicting | Trust::LowerBound => Ok(()),
        Trust::SingleSource | Trust::Unknown if cx.settings().include_unknown_age => {
            relies_on.push("--include-unknown-age");
            Ok(())
        }
        Trust::SingleSource => {
            Err("time of release rests only on lastPhaseTransitionTime, which any client can \
                 write; --include-unknown-age overrides this"
                .to_owned())
        }
        Trust::Unknown => Err("time of release unknown; --include-unknown-age overrides \
                               this"
            .to_owned()),
    }
}

/// Refuses where a custom resource uses a claim of that name: one may have come while the claim was
/// being deleted.
///
/// # Errors
/// When a kind of custom resources was not read.
pub(super) fn no_custom_resource_wants_its_claim(
    cx: &Cx,
    volume: &Volume,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let Some(claim) = &volume.claim_ref else { return Ok(Ok(())) };
    let others = facts::other_users_of_name(cx, &claim.key);
    if let Some(user) = others.users.first() {
        return Ok(Err(format!("claim {} is wanted: {}", claim.key, user.words())));
    }
    checks::nothing_else_uses(cx, others, notices, relies_on)
}

/// Refuses where something wants its claim back, which is gone (R-DRV-8).
///
/// # Errors
/// When a kind of workloads was not read.
pub(super) fn nobody_wants_its_claim(
    cx: &Cx,
    volume: &Volume,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let Some(claim) = &volume.claim_ref else { return Ok(Ok(())) };
    if facts::claim_state(cx, volume)? != ClaimState::Absent {
        return Ok(Ok(()));
    }
    for wish in facts::wishes_for(cx, &claim.key)? {
        let text = format!("{} {}", wish.object, wish.how);
        match (wish.binding, cx.settings().include_wanted) {
            (false, _) => notices.push(text),
            (true, true) => checks::rely(relies_on, "--include-wanted"),
            (true, false) => {
                return Ok(Err(format!(
                    "{text}, and may need this data; --include-wanted overrides this"
                )));
            }
        }
    }
    Ok(Ok(()))
}

/// Refuses unless its claim does not exist, or is bound to another volume.
fn claim_is_gone(cx: &Cx, volume: &Volume, relies_on: &mut ReliedFlags) -> Seen<Checked> {
    Ok(match facts::claim_state(cx, volume)? {
        ClaimState::None | ClaimState::Reserved => Err(checks::UNBOUND.to_owned()),
        ClaimState::Absent => Ok(()),
        ClaimState::Recreated(_) if cx.settings().include_recreated => {
            relies_on.push("--include-recreated");
            Ok(())
        }
        ClaimState::Recreated(claim) => Err(format!(
            "{} was recreated and may need this data; --include-recreated overrides this",
            claim.object()
        )),
        ClaimState::Live(claim) => match &claim.volume_name {
            Some(other) if **other != *volume.name() => Ok(()),
            _ => Err(format!("{} still exists", claim.object())),
        },
    })
}

pub(super) fn reachable(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    Ok(match facts::node_gone(cx, volume)? {
        false => Ok(()),
        true => Err("no node matches its node affinity".to_owned()),
    })
}

/// Refuses where an attachment references it. Names one on a node that cannot be asked first: that
/// one stays.
pub(super) fn is_detached(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let attachments = checks::attachments(cx, volume)?;
    let Some(first) = attachments.first() else { return Ok(Ok(())) };
    let plight =
        |it: &Attachment| facts::node_problem(cx, &it.node, Kind::VolumeAttachment).ok().flatten();
    let worst = attachments.iter().find_map(|it| plight(it).map(|plight| (it, plight)));
    Ok(Err(match worst {
        Some((it, plight)) => format!(
            "{}, which {}: a pod there may still write",
            checks::still_names_it(it),
            plight.describe()
        ),
        None => checks::still_names_it(first),
    }))
}

/// Refuses where a node that its node affinity requires is not Ready (T32): a pod that
/// was deleted from the API may still write there.
pub(super) fn hosts_answer(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    Ok(match facts::unready_host(cx, volume)? {
        None => Ok(()),
        Some(node) => Err(format!(
            "node {}, which matches its node affinity, is not Ready: a pod there may still write",
            node.metadata.name
        )),
    })
}

/// Refuses where a pod uses its claim.
///
/// Pods that use a recreated claim, which is bound to another volume, use that other volume, as far
/// as their nodes can be asked: a pod may be older than the new claim.
pub(super) fn pods_are_gone(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let Some(claim) = &volume.claim_ref else { return Ok(Ok(())) };
    let moved = cx.settings().include_recreated
        && matches!(facts::claim_state(cx, volume)?, ClaimState::Recreated(namesake)
            if namesake.volume_name.as_deref().is_some_and(|bound| bound != volume.name()));
    for pod in cx.pods_of(&claim.key)? {
        let plight = match &pod.node {
            Some(node) => facts::node_problem(cx, node, Kind::Pod),
            None => Ok(None),
        };
        match (plight, &pod.node) {
            (Ok(Some(plight)), Some(node)) => {
                return Ok(Err(format!(
                    "{} uses claim {}, and its node {node} {}: it may still write",
                    pod.object(),
                    claim.key,
                    plight.describe()
                )));
            }
            (Err(unseen), _) if moved => return Err(unseen),
            _ if moved => {}
            _ => return Ok(Err(format!("{} uses claim {}", pod.object(), claim.key))),
        }
    }
    Ok(Ok(()))
}

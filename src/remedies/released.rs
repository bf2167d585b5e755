//! Checks of a Released volume: that it is Released, that nothing uses it any more, and that its age can be trusted.
//! All remedies for such volumes make them.

use super::checks::{self, Checked, ReliedFlags};
use crate::cluster::{Cx, Placed as _, Seen, Unseen};
use crate::facts::{self, ClaimState, NO_OTHER_USERS, OtherUsers};
use crate::model::{
    Attachment, Claim, ClaimKey, Kind, Phase, PodUse, Proposal, ReclaimPolicy, Refusal, Trust,
    Volume,
};

const UNKNOWN_AGE: &str = "--include-unknown-age";
const INCLUDE_WANTED: &str = "--include-wanted";
const INCLUDE_RECREATED: &str = "--include-recreated";

/// Condition on the age of a Released volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReleaseDemand {
    /// The volume was released at a time that can be trusted.
    Aged,
    /// No condition: this tool has just deleted the claim of the volume.
    JustReleased,
}

/// Refuses unless the volume is Released with policy Retain, with a trusted age where that is demanded, and no claim
/// references it.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn is_left_over(
    cx: &Cx,
    volume: &Volume,
    demand: ReleaseDemand,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    backend_state_known(cx, volume, relies_on);
    checks::all!(
        is_released(volume),
        checks::not_exempt(cx, &volume.metadata),
        checks::backend_is_known(volume).map(drop),
    );
    if demand == ReleaseDemand::Aged {
        age_is_trusted(cx, volume, relies_on);
    }
    checks::all!(claim_is_gone(cx, volume, relies_on)?, checks::no_claim_names_it(cx, volume)?,);
    Ok(Ok(()))
}

/// Refuses unless no node and no attachment uses the backend volume, and a node can reach it to delete it.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn backend_can_go(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    checks::all!(
        is_detached(cx, volume)?,
        on_no_node(cx, volume)?,
        reachable(cx, volume)?,
        hosts_answer(cx, volume)?,
    );
    Ok(Ok(()))
}

/// Refuses unless the volume is Released, with policy Retain, and not Terminating.
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

/// Requires `--backend-verified` where an earlier deletion of the backend volume was stopped (T31).
pub(super) fn backend_state_known(cx: &Cx, volume: &Volume, relies_on: &mut ReliedFlags) {
    match &volume.backend_state {
        None => {}
        Some(_) if cx.settings().backend_verified => relies_on.rely("--backend-verified"),
        Some(state) => {
            let why = checks::backend_in_doubt(state);
            relies_on.lack("--backend-verified", why, "then pass --backend-verified");
        }
    }
}

fn age_is_trusted(cx: &Cx, volume: &Volume, relies_on: &mut ReliedFlags) {
    let age = facts::phase_age(cx, volume);
    match age.trust {
        Trust::Corroborated | Trust::Conflicting | Trust::LowerBound => {}
        Trust::SingleSource | Trust::Unknown if cx.settings().include_unknown_age => {
            relies_on.rely(UNKNOWN_AGE);
        }
        Trust::SingleSource => relies_on.lack(
            UNKNOWN_AGE,
            "time of release rests only on lastPhaseTransitionTime, which any client can write",
            format!("{UNKNOWN_AGE} overrides this"),
        ),
        Trust::Unknown => relies_on.lack(
            UNKNOWN_AGE,
            "time of release unknown",
            format!("{UNKNOWN_AGE} overrides this"),
        ),
    }
}

/// Refuses where a custom resource uses a claim of the name in claimRef: one may have come while the claim was being
/// deleted.
pub(super) fn no_custom_resource_wants_its_claim(
    cx: &Cx,
    volume: &Volume,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Checked {
    let Some(claim) = &volume.claim_ref else { return Ok(()) };
    let others = facts::other_users_of_name(cx, &claim.key);
    if let Some(user) = others.users.first() {
        return Err(format!("claim {} is wanted: {}", claim.key, user.words()));
    }
    checks::nothing_else_uses(cx, others, notices, relies_on);
    Ok(())
}

/// Requires `--include-wanted` where a workload wants back the claim of the volume, which does not exist (R-DRV-8).
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
    nobody_wants(cx, &claim.key, notices, relies_on).map(Ok)
}

/// Requires `--include-wanted` where a workload wants back a claim of this name, which does not exist.
///
/// # Errors
/// When a kind of workloads was not read.
pub(super) fn nobody_wants(
    cx: &Cx,
    claim: &ClaimKey,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<()> {
    for wish in facts::wishes_for(cx, claim)? {
        if facts::is_wish_of_stopped(cx, &wish.object) {
            continue;
        }
        let text = format!("{} {}", wish.object, wish.how);
        match (wish.binding, cx.settings().include_wanted) {
            (false, _) => notices.push(text),
            (true, true) => relies_on.rely(INCLUDE_WANTED),
            (true, false) => relies_on.lack(
                INCLUDE_WANTED,
                format!("{text}, and may need this data"),
                format!("{INCLUDE_WANTED} overrides this"),
            ),
        }
    }
    Ok(())
}

/// Refuses unless the claim of the volume does not exist, or is bound to another volume.
fn claim_is_gone(cx: &Cx, volume: &Volume, relies_on: &mut ReliedFlags) -> Seen<Checked> {
    Ok(match facts::claim_state(cx, volume)? {
        ClaimState::None | ClaimState::Reserved => Err(checks::UNBOUND.to_owned()),
        ClaimState::Absent => Ok(()),
        ClaimState::Recreated(_) if cx.settings().include_recreated => {
            relies_on.rely(INCLUDE_RECREATED);
            Ok(())
        }
        ClaimState::Recreated(claim) => {
            relies_on.lack(
                INCLUDE_RECREATED,
                format!("{} was recreated and may need this data", claim.object()),
                format!("{INCLUDE_RECREATED} overrides this"),
            );
            Ok(())
        }
        ClaimState::Changed(claim) => Err(format!(
            "its own claim {} still exists, although spec.claimRef has another uid: {}",
            claim.object(),
            facts::giving_back(volume, claim)
        )),
        ClaimState::Live(claim) => match &claim.volume_name {
            Some(other) if **other != *volume.name() => Ok(()),
            _ => Err(format!("{} still exists", claim.object())),
        },
    })
}

pub(super) fn reachable(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let owner = facts::owner(volume);
    if !facts::deleter_gone(cx, volume, &owner)? {
        return Ok(Ok(()));
    }
    let deletes = match facts::deletes_on_node(cx, volume, &owner) {
        Some(true) => "deletes",
        _ => "may delete",
    };
    Ok(Err(format!("no node matches its node affinity, and its driver {deletes} on a node")))
}

/// Refuses where an attachment references the volume; one on a node that cannot be asked, which remains, is named
/// first.
pub(super) fn is_detached(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let attachments = checks::attachments(cx, volume)?;
    let Some(first) = attachments.first() else { return Ok(Ok(())) };
    let plight =
        |it: &Attachment| facts::node_problem(cx, &it.node, Kind::VolumeAttachment).ok().flatten();
    let worst = attachments.iter().find_map(|it| plight(it).map(|plight| (it, plight)));
    if worst.is_none() && is_rehearsed(cx) {
        return Ok(Ok(()));
    }
    Ok(Err(match worst {
        Some((it, plight)) => format!(
            "{}, which {}: a pod there may still write",
            checks::still_names_it(it),
            plight.describe()
        ),
        None => checks::still_names_it(first),
    }))
}

/// Refuses a volume that a node lists; in a rehearsal only where that node cannot be asked.
fn on_no_node(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let nodes = || cx.nodes_at(&volume.places());
    match is_rehearsed(cx) && nodes()?.iter().all(|(node, _)| node.ready) {
        true => Ok(checks::backend_is_known(volume).map(drop)),
        false => checks::on_no_node(cx, volume),
    }
}

/// Whether it is judged as if all workloads were stopped: what they have attached is awaited.
fn is_rehearsed(cx: &Cx) -> bool {
    cx.settings().teardown.as_ref().is_some_and(|it| it.is_rehearsal)
}

/// Refuses where a node that the node affinity requires is not Ready (T32): a pod that was deleted from the API may
/// still write there.
pub(super) fn hosts_answer(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    Ok(match facts::unready_host(cx, volume)? {
        None => Ok(()),
        Some(node) => Err(format!(
            "node {}, which matches its node affinity, is not Ready: a pod there may still write",
            node.metadata.name
        )),
    })
}

/// Refuses where a pod uses the claim of the volume.
///
/// Pods that use a recreated claim, which is bound to another volume, use that other volume, as far
/// as their nodes can be asked; a pod that is older than the new claim may still use this one.
pub(super) fn pods_are_gone(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let Some(claim) = &volume.claim_ref else { return Ok(Ok(())) };
    let namesake = match facts::claim_state(cx, volume)? {
        ClaimState::Recreated(namesake) => Some(namesake),
        _ => None,
    };
    let moved =
        namesake.filter(|it| it.volume_name.as_deref().is_some_and(|bound| bound != volume.name()));
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
            (Err(unseen), _) if moved.is_some() => return Err(unseen),
            (_, Some(_)) if moved.is_some_and(|it| may_be_older(pod, it)) => {
                return Ok(Err(format!(
                    "{} may be older than claim {}, which was recreated: it may still use this \
                     volume",
                    pod.object(),
                    claim.key
                )));
            }
            _ if moved.is_some() => {}
            _ => return Ok(Err(format!("{} uses claim {}", pod.object(), claim.key))),
        }
    }
    Ok(Ok(()))
}

/// Whether a pod was created before a claim that its volumes name, or at an unknown time: then it runs with
/// the claim that had the name before.
fn may_be_older(pod: &PodUse, claim: &Claim) -> bool {
    let times = pod.created.zip(claim.metadata.created);
    !pod.is_finished() && times.is_none_or(|(pod, claim)| pod < claim)
}

/// Refuses a proposal that destroys the data of a claim which a custom resource wants back, or may: a halted virtual
/// machine, a Rollout, a suspended workflow. For a dump a notice says that this is unknown: everything is asked again
/// before a write.
///
/// Reports do not make this check: they do not list custom resources.
///
/// # Errors
/// When a kind of custom resources could not be listed.
pub(crate) fn unless_custom_resources_want(
    cx: &Cx,
    claim: &ClaimKey,
    mut proposal: Proposal,
) -> Seen<Result<Proposal, Refusal>> {
    let OtherUsers { users, mut signs, unseen, unasked, .. } =
        facts::other_users_of_name(cx, claim);
    let settings = cx.settings();
    let rely = |proposal: &mut Proposal, flag| {
        if !proposal.relies_on.contains(&flag) {
            proposal.relies_on.push(flag);
        }
    };
    if let Some(user) = users.first() {
        let wanted = format!("claim {claim} is wanted: {}", user.words());
        if !settings.include_wanted {
            let reason = format!("{wanted}; {INCLUDE_WANTED} overrides this");
            return Ok(Err(Refusal { reason, effect: proposal.effect }));
        }
        proposal.notices.push(wanted);
        rely(&mut proposal, INCLUDE_WANTED);
    }
    let asserts = format!("{NO_OTHER_USERS} asserts that nothing else uses it");
    match unseen {
        Some(_) if unasked => proposal.notices.push(format!(
            "unknown which custom resources want claim {claim}: the dump does not tell, and the \
             cluster is asked before anything is written"
        )),
        Some(unseen) if settings.no_other_users => signs.push(unseen.reason),
        Some(unseen) => {
            return Err(Unseen { reason: format!("{}; {asserts}", unseen.reason), ..unseen });
        }
        None => {}
    }
    if signs.is_empty() {
        return Ok(Ok(proposal));
    }
    if !settings.no_other_users {
        let reason = format!("claim {claim} may be wanted: {}; {asserts}", signs.join("; "));
        return Ok(Err(Refusal { reason, effect: proposal.effect }));
    }
    proposal.notices.extend(signs);
    rely(&mut proposal, NO_OTHER_USERS);
    Ok(Ok(proposal))
}

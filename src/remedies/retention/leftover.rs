//! Deletes a claim that a scale-down left although `whenScaled` is Delete, by the engine of `delete
//! pvc`: with all its checks, and the decision about the data (F62, R-1847-15).
//!
//! The StatefulSet controller never deletes such a claim: it may be older than the policy. So its
//! deletion is asked for by a flag, and by an age.

use super::super::delete_claim;
use super::super::disown::named;
use super::super::{ClaimDeletionProgress, Remedy, checks};
use super::{LEFTOVER, command, known_policy, only_member, refuse};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::facts::retention::{
    Ordinals, SurplusReason, TemplateClaim, leftover_age, owner_agreement, scalers, wanted_owners,
};
use crate::model::{Claim, Effect, Proposal, Refusal, Threshold, Trust, Uid, format_duration};

/// The flag with which leftovers are deleted.
const DELETE_LEFTOVERS: &str = "--delete-leftovers";
/// The flag that allows the deletion for a set without replicas, or that something scales by itself.
const REPLICAS_ZERO: &str = "--replicas-zero";
/// The flag that allows the deletion at an unknown age.
const UNKNOWN_AGE: &str = "--include-unknown-age";

/// Deletes a claim that is out of the range of its set (P-DELETE).
pub(crate) static REMEDY: Remedy<Claim> = Remedy {
    id: LEFTOVER,
    needs: delete_claim::REMEDY.needs,
    writes: &[("patch", "persistentvolumes"), ("delete", "persistentvolumeclaims")],
    command,
    propose: |cx, claim| propose(cx, claim, ClaimDeletionProgress::default()),
};

pub(super) fn propose(
    cx: &Cx,
    claim: &Claim,
    progress: ClaimDeletionProgress,
) -> Seen<Result<Proposal, Refusal>> {
    let member = match only_member(cx, claim)? {
        Ok(member) => member,
        Err(reason) => return refuse(reason, effect(claim)),
    };
    let mut relies_on = checks::ReliedFlags::of(DELETE_LEFTOVERS);
    if let Err(reason) = allowed(cx, claim, &member, &mut relies_on)? {
        return refuse(reason, effect(claim));
    }
    let mut relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return refuse(reason, effect(claim)),
    };
    let proposed = delete_claim::propose(cx, claim, progress)?;
    Ok(proposed.map(|mut proposal| {
        proposal.notices.insert(0, about(&member));
        let further = std::mem::take(&mut proposal.relies_on).into_iter();
        let further: Vec<_> = further.filter(|flag| !relies_on.contains(flag)).collect();
        relies_on.extend(further);
        Proposal { relies_on, ..proposal }
    }))
}

/// Makes the checks that `delete pvc` does not make: first those that no flag lifts.
fn allowed(
    cx: &Cx,
    claim: &Claim,
    member: &TemplateClaim,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<checks::Checked> {
    checks::all!(
        policy_deletes(claim, member),
        checks::set_is_settled(member.set),
        owners_allow(cx, claim, member)?,
        asked(cx, claim),
        not_paused(cx, member, relies_on)?,
        old_enough(cx, claim, member, relies_on)?,
    );
    Ok(Ok(()))
}

/// Refuses where the policy does not require the deletion of the claim.
fn policy_deletes(claim: &Claim, member: &TemplateClaim) -> checks::Checked {
    let policy = known_policy(member.set)?;
    let set = member.set.object();
    if member.is_wanted() {
        let range = Ordinals::of(member.set);
        return Err(format!("ordinal {} is in the range {range} of {set}", member.ordinal));
    }
    if !wanted_owners(Some(policy), true).pod {
        return Err(format!(
            "whenScaled of {set} is Retain; if the claim is not needed, `kubectl storage delete {} {DELETE_LEFTOVERS}` \
             deletes it by name",
            facts::on_command_line(&claim.object())
        ));
    }
    Ok(())
}

/// Refuses where a pod of the claim's ordinal exists, another controller manages the claim, or the garbage collector
/// deletes it.
fn owners_allow(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<checks::Checked> {
    let name = member.pod_name();
    if cx.pod(&member.set.namespace, &name)?.is_some() {
        return Ok(Err(format!("pod {name} exists")));
    }
    let agreement = owner_agreement(cx, claim, member)?;
    if let Some(foreign) = agreement.foreign {
        return Ok(Err(format!(
            "{} {} controls it: the StatefulSet controller does not apply the policy to it",
            foreign.kind, foreign.name
        )));
    }
    let earlier = agreement
        .surplus
        .iter()
        .find(|(_, why)| matches!(why, SurplusReason::EarlierSet | SurplusReason::EarlierPod));
    Ok(match earlier {
        None => Ok(()),
        Some((owner, _)) => Err(format!(
            "it has an owner reference to an earlier {}: whose data it is, is unknown",
            named(owner)
        )),
    })
}

/// Refuses without `--delete-leftovers`.
fn asked(cx: &Cx, claim: &Claim) -> checks::Checked {
    if cx.settings().delete_leftovers {
        return Ok(());
    }
    let command = command(cx, claim).unwrap_or_default();
    let age = format_duration(cx.settings().thresholds.get(Threshold::OlderThan));
    Err(format!(
        "no controller deletes it, since it may be older than the policy; `kubectl storage {command} {DELETE_LEFTOVERS} \
         --older-than {age} --keep-data` deletes it and keeps its data"
    ))
}

/// Requires `--replicas-zero` for a set that is paused, or that something scales by itself (T22).
fn not_paused(
    cx: &Cx,
    member: &TemplateClaim,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<checks::Checked> {
    let set = member.set;
    let allowed = cx.settings().replicas_zero;
    let reason = match (set.replicas, scalers(cx, set)) {
        (Some(0), _) => Some(format!("{} has 0 replicas, which may be a pause", set.object())),
        (_, Ok(scalers)) => scalers
            .first()
            .map(|it| format!("{it} scales {}, and may scale it up again", set.object())),
        (_, Err(unseen)) if allowed => {
            Some(format!("unknown what scales {}: {}", set.object(), unseen.reason))
        }
        (_, Err(unseen)) => return Err(unseen),
    };
    Ok(match reason {
        None => Ok(()),
        Some(_) if allowed => {
            relies_on.rely(REPLICAS_ZERO);
            Ok(())
        }
        Some(reason) => {
            relies_on.lack(REPLICAS_ZERO, reason, format!("{REPLICAS_ZERO} overrides this"));
            Ok(())
        }
    })
}

/// Refuses a claim that has been a leftover for less than `--older-than`.
fn old_enough(
    cx: &Cx,
    claim: &Claim,
    member: &TemplateClaim,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<checks::Checked> {
    let age = leftover_age(cx, claim, member)?;
    if age.trust == Trust::Unknown {
        if cx.settings().include_unknown_age {
            relies_on.rely(UNKNOWN_AGE);
            return Ok(Ok(()));
        }
        let why = "unknown since when it has been out of range";
        relies_on.lack(UNKNOWN_AGE, why, format!("{UNKNOWN_AGE} overrides this"));
        return Ok(Ok(()));
    }
    if cx.older_than(&age, Threshold::OlderThan) {
        return Ok(Ok(()));
    }
    let least = format_duration(cx.settings().thresholds.get(Threshold::OlderThan));
    Ok(Err(format!("known to have been out of range for less than {least}")))
}

/// Returns the notice about the set: with a recreated set or another range, the proposal differs.
fn about(member: &TemplateClaim) -> String {
    let set = member.set;
    let uid = set.metadata.uid.as_ref().map_or_else(String::new, Uid::to_string);
    format!(
        "left by a scale-down of {} (uid {uid}), whose whenScaled is Delete and whose ordinals are {}",
        set.object(),
        Ordinals::of(set)
    )
}

fn effect(claim: &Claim) -> Effect {
    Effect {
        what: format!("deletes {}, which a scale-down left", claim.object()),
        risk: "a scale-up creates an empty claim instead".to_owned(),
    }
}

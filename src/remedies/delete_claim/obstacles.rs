//! Checks of a claim that hold whatever the decision about its data: its users, its owners, and obstacles that would
//! leave it Terminating.
//!
//! Claims without a volume: Pending ones, which can be bound at any moment, and Lost ones, which may
//! be the last record of their data.

use super::super::checks::{self, Checked, ReliedFlags};
use super::{DataOutcome, no_other_volume};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{
    self, FinalizerController, FinalizerOwner, LostCause, OtherUser, Ownership, PVC_PROTECTION,
    SetTemplate, Unsafe, UnsafeReason,
};
use crate::model::{Claim, ControllerRole, Kind, Liveness, ReclaimPolicy, Volume};

/// Number of users of a claim that a reason names at most.
const NAMED: usize = 20;
/// Number of finalizers and pods of a Terminating claim that a reason names at most.
const FEW: usize = 3;

/// The flag that allows the deletion of a claim that its set retains out of range.
const LEFTOVERS: &str = "--delete-leftovers";

/// Refuses a claim that is Terminating already: nothing reverts that, but its data can be kept.
pub(super) fn not_terminating(cx: &Cx, claim: &Claim) -> Checked {
    if claim.metadata.deleting.is_none() {
        return Ok(());
    }
    let pods = facts::upstream_in_use(cx, claim).unwrap_or_default();
    let finalizers = facts::finalizers_of_claim(cx, claim);
    let others = finalizers.iter().filter(|it| &*it.finalizer != PVC_PROTECTION || pods.is_empty());
    let pods = pods.iter().map(|it| it.pod.object().to_string());
    let others = others.map(|it| format!("finalizer {} ({})", it.finalizer, it.by));
    let blocking: Vec<_> = pods.chain(others).collect();
    let more = blocking.len().saturating_sub(FEW);
    let named = blocking.into_iter().take(FEW).collect::<Vec<_>>().join(", ");
    let blocked = match (named.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("; {named} blocks its deletion"),
        (false, more) => format!("; {named} and {more} more block its deletion"),
    };
    let (namespace, name) = (&claim.namespace, &claim.metadata.name);
    Err(format!(
        "it is Terminating already, which cannot be reverted{blocked}; `kubectl storage retain \
         pvc/{name} -n {namespace}` keeps its data"
    ))
}

/// Refuses where anything uses the claim, or will use it, or would block its deletion. The claim of a
/// set that retains it out of range is allowed by a flag that requires its name (I.6).
pub(super) fn not_used(
    cx: &Cx,
    claim: &Claim,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let Unsafe { mut reasons, unseen, notices: dormant } = checks::of(cx, claim);
    let others = facts::other_users(cx, claim);
    let owner = facts::controller_of(&claim.metadata);
    let told = |user: &OtherUser| owner.is_some_and(|it| user.is(&it.kind, &it.name));
    let is_owned = reasons.iter().any(|it| matches!(it, UnsafeReason::Owned(_)));
    let users = others.users.iter().filter(|it| !(is_owned && told(it)));
    reasons.extend(users.cloned().map(UnsafeReason::Other));
    reasons.retain(|it| !facts::is_ended_by_teardown(cx, &claim.namespace, it));
    if cx.settings().delete_leftovers {
        let count = reasons.len();
        reasons.retain(|it| leftover_of(it).is_none_or(|it| settled(cx, it).is_err()));
        if reasons.len() < count {
            relies_on.rely(LEFTOVERS);
        }
    }
    if !reasons.is_empty() {
        return Ok(Err(checks::in_words(&reasons, NAMED, |it| ended_by(cx, it))));
    }
    if let Some(unseen) = unseen.into_iter().next() {
        return Err(unseen);
    }
    checks::nothing_else_uses(cx, others, notices, relies_on);
    notices.extend(dormant);
    // What a teardown has stopped is not scaled up.
    let stopped = |it: &SetTemplate| {
        cx.settings().teardown.as_ref().is_some_and(|terms| terms.has_stopped_set(it.set))
    };
    for it in facts::template_of(cx, claim)?.iter().filter(|it| !stopped(it)) {
        notice_scale_up(cx, it, notices);
    }
    Ok(Ok(()))
}

/// Returns the template of a set that retains the claim although it has no pod of its ordinal now.
fn leftover_of<'a, 'b>(reason: &'b UnsafeReason<'a>) -> Option<&'b SetTemplate<'a>> {
    match reason {
        UnsafeReason::Template(it) if it.decided && !it.is_in_range() => Some(it),
        _ => None,
    }
}

/// Refuses while the set is being scaled or deleted: its controller has not observed its range. A set at replicas 0 is
/// paused, and all its data is out of range: it may only be kept.
fn settled(cx: &Cx, it: &SetTemplate) -> Checked {
    let set = it.set;
    checks::set_is_settled(set)?;
    if set.replicas == Some(0) && cx.settings().destroy_data {
        return Err(
            "a set at replicas 0 is paused: scale it up or delete it first, or keep the data \
                    with --keep-data"
                .to_owned(),
        );
    }
    Ok(())
}

/// Returns the way to end a use, or the flag that allows it.
fn ended_by(cx: &Cx, reason: &UnsafeReason) -> String {
    let Some(leftover) = leftover_of(reason) else { return reason.ended_by() };
    match settled(cx, leftover) {
        Err(reason) => reason,
        Ok(()) if cx.settings().delete_leftovers => reason.ended_by(),
        Ok(()) => format!(
            "a scale-up uses its data again; if it is not needed, {LEFTOVERS} allows its deletion \
             by name"
        ),
    }
}

/// Adds the notices that a set can want the claim again, and about its autoscalers.
fn notice_scale_up(cx: &Cx, it: &SetTemplate, notices: &mut Vec<String>) {
    let (set, template) = (it.set.object(), it.template);
    notices.push(format!(
        "a scale-up of {set} creates a new, empty claim of this name by template {template}"
    ));
    match cx.autoscalers_of(&it.set.namespace, &it.set.metadata.name) {
        Ok(scalers) => notices.extend(
            scalers.iter().map(|it| format!("HorizontalPodAutoscaler {} scales {set}", it.name)),
        ),
        Err(unseen) => notices.push(format!(
            "unknown whether a HorizontalPodAutoscaler scales {set}: {}",
            unseen.reason
        )),
    }
}

/// Refuses where an object owns the claim without controlling it: it may use the claim, or create it
/// again. A set and its pods use their claims by their names, which are compared.
pub(super) fn not_owned(cx: &Cx, claim: &Claim) -> Seen<Checked> {
    let member = facts::retention::membership(cx, claim)?.decided;
    for owner in claim.metadata.owners.iter().filter(|it| !it.controller) {
        if member.is_some_and(|it| it.owner().is_named_by(owner)) {
            continue;
        }
        if facts::ownership(cx, claim, owner)? == Ownership::Solid {
            let (kind, name) = (&owner.kind, &owner.name);
            return Ok(Err(format!(
                "{kind} {name} owns it (metadata.ownerReferences), and may use or recreate it; \
                 delete {kind} {name}, or remove the reference"
            )));
        }
    }
    Ok(Ok(()))
}

/// Refuses where a finalizer would leave the claim Terminating.
pub(super) fn no_finalizer_blocks(cx: &Cx, claim: &Claim) -> Seen<Checked> {
    for finalizer in claim.metadata.finalizers.iter().filter(|it| &***it != PVC_PROTECTION) {
        let by = match facts::owner_of(finalizer) {
            // csi-provisioner removes it from Terminating claims only (`clone_controller.go`,
            // `enqueueClaimUpdate`): every claim that was cloned has it for ever.
            FinalizerOwner::Cloning => {
                let driver = facts::copier_of(cx, claim);
                let controller = driver.map(|it| FinalizerController::provisioner(cx, &it));
                match controller {
                    Some(it) if it.liveness() == Liveness::Alive => continue,
                    Some(it) => {
                        it.was_seen()?;
                        it.describe()
                    }
                    None => "csi-provisioner of an unknown driver should remove it".to_owned(),
                }
            }
            FinalizerOwner::Snapshotter => {
                "snapshot-controller removes it when no snapshot of the claim is being taken; wait"
                    .to_owned()
            }
            FinalizerOwner::GarbageCollector => "the garbage collector removes it".to_owned(),
            FinalizerOwner::Provisioner
            | FinalizerOwner::ControllerManager
            | FinalizerOwner::Attacher(_)
            | FinalizerOwner::Unknown => {
                super::super::finalizers::describe_third_party(&claim.metadata, finalizer)
            }
        };
        return Ok(Err(format!(
            "it would only become Terminating, which cannot be reverted: finalizer {finalizer} \
             blocks its deletion ({by})"
        )));
    }
    Ok(Ok(()))
}

/// Requires that kube-controller-manager runs: nothing else removes kubernetes.io/pvc-protection.
pub(super) fn protection_is_removed(cx: &Cx, relies_on: &mut ReliedFlags) -> Seen<Checked> {
    let name = ControllerRole::ControllerManager.name();
    let state = facts::controller_manager(cx);
    let (who, vouch) = (name.to_owned(), checks::Vouch::Provisioner);
    let needed = checks::Needed { who, name, vouch, state };
    let because = |reason: &str| {
        format!("it would only become Terminating, which cannot be reverted: {reason}")
    };
    let mut word = ReliedFlags::default();
    let checked = checks::alive(cx, &needed, Some(&mut word))?;
    relies_on.join(word, because);
    Ok(checked.map_err(|reason| because(&reason)))
}

/// Adds notices about tools that may revert the changes.
pub(super) fn notice_keepers(claim: &Claim, outcome: &DataOutcome, notices: &mut Vec<String>) {
    if let Some(keeper) = facts::keeper_of(&claim.metadata) {
        notices.push(format!("{keeper} manages the claim, and may recreate it, empty"));
    }
    if let DataOutcome::Kept(volume) = outcome
        && volume.reclaim_policy != ReclaimPolicy::Retain
        && let Some(keeper) = facts::keeper_of(&volume.metadata)
    {
        let pv = volume.object();
        notices.push(format!("{keeper} manages {pv}, and may revert its policy"));
    }
}

/// Adds to a gap the question that it leaves open.
pub(super) fn with_consequence(unseen: Unseen) -> Unseen {
    let unknown = match unseen.kind {
        Kind::PersistentVolume => "what happens to its data",
        Kind::VolumeSnapshotClass => "which class its snapshot would have",
        Kind::Secret | Kind::SubjectAccessReview | Kind::Lease | Kind::Event => {
            return unseen;
        }
        _ => "what uses it",
    };
    let help = match unseen.reason.contains("forbidden") {
        true => "; `kubectl storage rbac delete` prints a ClusterRole with this right",
        false => "",
    };
    let (what, why) = (unseen.kind.plural(), &unseen.reason);
    // It says itself what is unknown.
    if unseen.kind == Kind::PartialObjectMetadata {
        return Unseen { reason: format!("{why}{help}"), ..unseen };
    }
    let reason = format!("{what} not read ({why}), so {unknown} is unknown{help}");
    Unseen { reason, ..unseen }
}

/// The decision about a claim without a volume.
type Decided<'a> = Seen<Result<DataOutcome<'a>, String>>;

/// Decides about a Pending claim: it has no data, but a volume that is bound to it at the same moment is reclaimed by
/// its policy when the claim is deleted.
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

/// Decides about a Lost claim, which may be the last record of its data: it is deleted only where that affects no
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

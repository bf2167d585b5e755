//! The reason for which a claim is Pending (F45), and the node that the scheduler selected for it (F47).

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EventSeries};
use crate::model::{
    Age, Claim, ClaimPhase, ControllerState, Kind, Liveness, Phase, Severity, StorageClass, Text,
    Threshold, Volume, provisioning_driver,
};

/// The reason for which a claim is Pending, with the advice about it.
#[derive(Debug, Clone)]
pub struct PendingReason<'a> {
    /// The cause, in words.
    pub why: String,
    /// The advice about it.
    pub advice: String,
    /// The state of the provisioner, if it should act.
    pub state: Option<ControllerState>,
    /// The severity: Info while the claim is as it should be.
    pub severity: Severity,
    /// A volume that is part of the reason.
    pub volume: Option<&'a Volume>,
}

impl PendingReason<'_> {
    fn new(why: impl Into<String>, advice: impl Into<String>) -> Self {
        let severity = Severity::Medium;
        Self { why: why.into(), advice: advice.into(), state: None, severity, volume: None }
    }
}

/// Returns why a claim is Pending. `failed`: the last event of its provisioner about a failure.
///
/// # Errors
/// When something was not read that decides it.
pub fn pending_reason<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    failed: Option<&EventSeries>,
) -> Seen<PendingReason<'a>> {
    if let Some(name) = &claim.volume_name {
        return named_volume(cx, claim, name);
    }
    let (why, advice) = match &claim.class {
        Some(name) if name.is_empty() => (
            "spec.storageClassName is empty, and no volume without a class matches".to_owned(),
            "create a volume that matches, or recreate the claim with a class",
        ),
        Some(name) => match cx.claimed_class(name)? {
            Some(class) if &*class.provisioner != "kubernetes.io/no-provisioner" => {
                return of_class(cx, claim, class, failed);
            }
            Some(class) if class.waits_for_consumer && claim.selected_node.is_none() => {
                let waits = for_first_pod(cx, claim)?;
                let released =
                    released(cx, claim).ok().flatten().filter(|_| waits.severity != Severity::Info);
                return Ok(released.map_or(waits, |volume| of_earlier_claim(volume, "")));
            }
            Some(_) => (
                format!(
                    "StorageClass {name} provisions nothing, and no volume of that class matches"
                ),
                "create a volume of that class that matches",
            ),
            None => (
                format!("StorageClass {name} does not exist, and no volume of that class matches"),
                "create the class, or recreate the claim with another one",
            ),
        },
        None => match cx.all_classes()?.into_iter().any(|class| class.is_default) {
            true => (
                "spec.storageClassName is not set, although there is a default class".to_owned(),
                "look at kube-controller-manager, which should have set the default class",
            ),
            false => (
                "spec.storageClassName is not set, and there is no default class".to_owned(),
                "make a class the default, or recreate the claim with a class",
            ),
        },
    };
    Ok(match released(cx, claim) {
        Ok(Some(volume)) => of_earlier_claim(volume, ""),
        Ok(None) => PendingReason::new(why, advice),
        // The rest is certain, and somebody who may read one namespace reads no volumes.
        Err(unseen) => PendingReason::new(
            why,
            format!(
                "{advice}; whether an earlier claim had a volume that matches is unknown ({})",
                unseen.reason
            ),
        ),
    })
}

/// Returns a volume that an earlier claim of this name had, and that would match.
fn released<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Option<&'a Volume>> {
    let matches = |volume: &&Volume| {
        let other_uid = volume.claim_ref.as_ref().is_some_and(|it| {
            it.uid.is_some() && claim.metadata.uid.is_some() && it.uid != claim.metadata.uid
        });
        let class = |class: Option<&Text>| class.filter(|it| !it.is_empty()).cloned();
        let small = volume.capacity.zip(claim.requested).is_some_and(|(has, asks)| has < asks);
        volume.phase == Phase::Released
            && volume.metadata.deleting.is_none()
            && other_uid
            && !small
            && class(volume.class.as_ref()) == class(claim.class.as_ref())
    };
    Ok(cx.volumes_of(&claim.key())?.into_iter().find(matches))
}

/// Returns the reason of a claim whose volume has the uid of an earlier claim; `how` says how the claim came to this
/// volume.
fn of_earlier_claim<'a>(volume: &'a Volume, how: &str) -> PendingReason<'a> {
    let why = format!(
        "{} PersistentVolume {}{how} still has the uid of an earlier claim of this name in spec.claimRef",
        volume.phase,
        volume.name()
    );
    let advice = facts::rebinding_advice(volume);
    PendingReason { volume: Some(volume), ..PendingReason::new(why, advice) }
}

fn named_volume<'a>(cx: &Cx<'a>, claim: &Claim, name: &str) -> Seen<PendingReason<'a>> {
    const BY_NAME: &str = ", which spec.volumeName requests,";
    let Some(volume) = cx.volume(name)? else {
        return Ok(PendingReason::new(
            format!("PersistentVolume {name}{BY_NAME} does not exist"),
            "create that volume, or recreate the claim without spec.volumeName",
        ));
    };
    let unfit = || {
        PendingReason::new(
            format!("PersistentVolume {name}{BY_NAME} does not match"),
            "compare class, size, access modes and volume mode of the two",
        )
    };
    let Some(claim_ref) = &volume.claim_ref else { return Ok(unfit()) };
    Ok(if claim_ref.key != claim.key() {
        PendingReason::new(
            format!("PersistentVolume {name}{BY_NAME} belongs to claim {}", claim_ref.key),
            "request another volume, or have that one reserved for this claim",
        )
    } else if claim_ref.uid.is_some() && claim_ref.uid != claim.metadata.uid {
        of_earlier_claim(volume, BY_NAME)
    } else {
        unfit()
    })
}

fn for_first_pod<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<PendingReason<'a>> {
    let pods = facts::pod_users(cx, claim)?;
    let Some(first) = pods.first() else {
        let why = "its class waits for the first pod, and no pod uses it yet";
        let reason = PendingReason::new(why, "nothing to do: it is bound once a pod needs it");
        return Ok(PendingReason { severity: Severity::Info, ..reason });
    };
    Ok(PendingReason::new(
        format!("its class waits for {}, which is not scheduled", first.pod.object()),
        match &first.pod.unschedulable {
            Some(message) => {
                format!("the scheduler finds no node for that pod: {}", facts::brief_error(message))
            }
            None => "find out why the scheduler finds no node for that pod".to_owned(),
        },
    ))
}

fn of_class<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    class: &StorageClass,
    failed: Option<&EventSeries>,
) -> Seen<PendingReason<'a>> {
    if class.waits_for_consumer && claim.selected_node.is_none() {
        return for_first_pod(cx, claim);
    }
    let named = claim.provisioner.as_ref().unwrap_or(&class.provisioner);
    let provisioner = provisioning_driver(named);
    let state = state(cx, &provisioner);
    let said = EventSeries::brief;
    let reason = match (failed, state.liveness) {
        (_, Liveness::Absent) => PendingReason::new(
            format!("provisioner {provisioner} is absent"),
            "reinstall the driver, or recreate the claim with another class",
        ),
        (Some(event), _) if event.newest.message.to_lowercase().contains("quota") => {
            PendingReason::new(
                format!("{provisioner} has no quota left ({})", said(event)),
                "raise the quota at the storage backend, or free some of it; the provisioner retries",
            )
        }
        (Some(event), _) => PendingReason::new(
            format!("{provisioner} fails to provision it ({})", said(event)),
            "fix this error; the provisioner retries",
        ),
        (None, Liveness::Alive) => PendingReason::new(
            format!("{provisioner} is running, and has not answered"),
            "look at the log of the provisioner",
        ),
        (None, Liveness::Unknown) => PendingReason::new(
            format!("whether provisioner {provisioner} is running is unknown"),
            "see that the provisioner runs, and look at its log",
        ),
    };
    Ok(PendingReason { state: Some(state), ..reason })
}

/// Returns the state of a provisioner; in-tree provisioners are part of kube-controller-manager.
fn state(cx: &Cx, provisioner: &Text) -> ControllerState {
    if provisioner.starts_with("kubernetes.io/") {
        facts::controller_manager(cx)
    } else {
        facts::provisioner(cx, provisioner)
    }
}

/// The reason for which a selected node gets no volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleNode {
    /// The node does not exist. The scheduler does not select another one while the annotation is there.
    Missing,
    /// The node is cordoned: a volume may still be provisioned for it.
    Cordoned,
}

/// Returns what is wrong with the selected node of a claim that has been Pending for some time.
///
/// # Errors
/// When nodes were not read, or its absence is not proven.
pub fn stale_selected_node(cx: &Cx, claim: &Claim) -> Seen<Option<StaleNode>> {
    let Some(node) = &claim.selected_node else { return Ok(None) };
    // A provisioner that notices that the node was deleted removes the annotation.
    let age = Age::stamped(claim.metadata.created);
    if claim.phase != ClaimPhase::Pending
        || claim.metadata.deleting.is_some()
        || !cx.older_than(&age, Threshold::Resync)
    {
        return Ok(None);
    }
    Ok(match cx.node(node, Kind::PersistentVolumeClaim)? {
        None => Some(StaleNode::Missing),
        Some(node) => node.unschedulable.then_some(StaleNode::Cordoned),
    })
}

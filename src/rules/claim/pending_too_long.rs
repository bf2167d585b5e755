//! F45: a claim is Pending for longer than the threshold, with the cause.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Age, Claim, ClaimPhase, ControllerState, Event, Finding, Liveness, Severity, StorageClass,
    Text, Threshold, migrated_driver,
};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_event};

pub(super) static RULE: Rule = Rule {
    id: "pvc-pending-too-long",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: PersistentVolumeClaim, StorageClass],
    remedies: &[],
    title: "A claim has been Pending for longer than the threshold",
    danger: "Its pods cannot start. The claim itself rarely says why: its class may be missing or wait for a \
             pod, its provisioner be gone or refuse, the volume it asks for belong to somebody else.",
    remedy: "The tool changes nothing: the finding says what the claim waits for, as far as that can be seen. \
             A claim that waits for its first pod is as it should be.",
    source: "pv_controller.go, syncUnboundClaim; external-provisioner (ProvisioningFailed)",
    judge: &[Judge::Claim(judge)],
};

/// Why a claim is Pending, what to do, and the state of the controller that should act, if it is
/// known.
struct PendingReason {
    why: String,
    advice: &'static str,
    state: Option<ControllerState>,
    severity: Severity,
}

impl PendingReason {
    fn new(why: impl Into<String>, advice: &'static str) -> Self {
        Self { why: why.into(), advice, state: None, severity: Severity::Medium }
    }
}

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let age = Age::stamped(claim.metadata.created);
    let waits = claim.phase == ClaimPhase::Pending && claim.metadata.deleting.is_none();
    if !waits || !cx.older_than(&age, Threshold::PvcPending) {
        return Ok(None);
    }
    // Without events the finding only lacks detail.
    let last = |reasons: &[&str]| facts::last_event_about(cx, &claim.object(), reasons);
    let failed = last(&["ProvisioningFailed"]).ok().flatten().map(|it| it.newest);
    let reason = reason(cx, claim, failed)?;
    let mut finding = RULE
        .on_claim(claim, format!("still Pending: {}", reason.why))
        .severe(reason.severity)
        .aged(age)
        .shows("spec.storageClassName", claim.class.as_deref().unwrap_or("<none>"));
    if let Some(node) = &claim.selected_node {
        finding = finding.shows("annotation volume.kubernetes.io/selected-node", &**node);
    }
    if let Some(source) = &claim.source {
        finding = finding.shows("spec.dataSource", format!("{} {}", source.kind, source.name));
    }
    finding = match last(&[]) {
        Ok(None) => finding,
        Ok(Some(event)) => finding.shows("last event", shown_event(&event)),
        Err(unseen) => finding.shows("last event", unseen.reason),
    };
    if let Some(state) = &reason.state {
        finding = finding.shows_controller(state);
    }
    Ok(Some(finding.report_only(reason.advice)))
}

fn reason(cx: &Cx, claim: &Claim, failed: Option<&Event>) -> Seen<PendingReason> {
    if let Some(name) = &claim.volume_name {
        return named_volume(cx, claim, name);
    }
    match &claim.class {
        Some(name) if name.is_empty() => Ok(PendingReason::new(
            "it asks for no class, and no volume that was made by hand fits it",
            "make a volume that fits, or make the claim again with a class",
        )),
        Some(name) => match cx.claimed_class(name)? {
            Some(class) => of_class(cx, claim, class, failed),
            None => Ok(PendingReason::new(
                format!("its class {name} does not exist, and no volume of that class fits it"),
                "make the class, or make the claim again with another one",
            )),
        },
        None => Ok(match cx.all_classes()?.into_iter().any(|class| class.is_default) {
            true => PendingReason::new(
                "it has no class, although there is a default one",
                "look at kube-controller-manager, which should have given it the default class",
            ),
            false => PendingReason::new(
                "it names no class, and there is no default one",
                "make a class the default, or make the claim again with a class",
            ),
        }),
    }
}

fn named_volume(cx: &Cx, claim: &Claim, name: &str) -> Seen<PendingReason> {
    let Some(volume) = cx.volume(name)? else {
        return Ok(PendingReason::new(
            format!("volume {name}, which it asks for by name, does not exist"),
            "make that volume, or make the claim again without its name",
        ));
    };
    let Some(claim_ref) = &volume.claim_ref else { return Ok(unfit(name)) };
    Ok(if claim_ref.key != claim.key() {
        PendingReason::new(
            format!("volume {name}, which it asks for by name, belongs to claim {}", claim_ref.key),
            "ask for another volume, or have that one reserved for this claim",
        )
    } else if claim_ref.uid.is_some() && claim_ref.uid != claim.metadata.uid {
        PendingReason::new(
            format!(
                "volume {name}, which it asks for by name, belonged to an earlier claim of its name"
            ),
            "have that volume reserved for this claim, if it may see the data",
        )
    } else {
        unfit(name)
    })
}

fn unfit(volume: &str) -> PendingReason {
    PendingReason::new(
        format!("volume {volume}, which it asks for by name, does not fit it"),
        "compare class, size, access modes and volume mode of the two",
    )
}

fn of_class(
    cx: &Cx,
    claim: &Claim,
    class: &StorageClass,
    failed: Option<&Event>,
) -> Seen<PendingReason> {
    if class.waits_for_consumer && claim.selected_node.is_none() {
        let pods = facts::pod_users(cx, claim)?;
        let Some(first) = pods.first() else {
            let why = "its class waits for the first pod, and no pod uses it yet";
            let reason = PendingReason::new(why, "nothing: it is bound once a pod needs it");
            return Ok(PendingReason { severity: Severity::Info, ..reason });
        };
        return Ok(PendingReason::new(
            format!("its class waits for {}, which is not scheduled", first.pod.object()),
            "find out why the scheduler finds no node for that pod",
        ));
    }
    if &*class.provisioner == "kubernetes.io/no-provisioner" {
        return Ok(PendingReason::new(
            "its class provisions nothing, and no volume that was made by hand fits it",
            "make a volume of that class that fits",
        ));
    }
    let named = claim.provisioner.as_ref().unwrap_or(&class.provisioner);
    let provisioner = migrated_driver(named).map_or_else(|| Text::clone(named), Text::from);
    let state = state(cx, &provisioner);
    let reason = match (failed, state.liveness) {
        (_, Liveness::Absent) => PendingReason::new(
            format!("its provisioner {provisioner} is absent"),
            "install the driver again, or make the claim again with another class",
        ),
        (Some(event), _) if event.message.to_lowercase().contains("quota") => PendingReason::new(
            format!("{provisioner} has no quota left for it: {}", event.message),
            "raise the quota at the storage backend, or free some of it",
        ),
        (Some(event), _) => PendingReason::new(
            format!("{provisioner} fails to provision it: {}", event.message),
            "the provisioner tries again: remove what it says is in the way",
        ),
        (None, Liveness::Alive) => PendingReason::new(
            format!("{provisioner} is at work, and has not answered"),
            "look at the log of the provisioner",
        ),
        (None, Liveness::Unknown) => PendingReason::new(
            format!("nothing shows that its provisioner {provisioner} is at work"),
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

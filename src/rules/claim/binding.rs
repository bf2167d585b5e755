//! Findings about claims that have no volume, or that of another claim.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, StaleNode};
use crate::model::{Age, Claim, ClaimPhase, Finding, Kind, Severity, Threshold, Trust, Volume};
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_claim_ref, shown_uid},
};

/// F43: a claim is Lost: its volume does not exist, or is not bound to it.
pub(super) static LOST: Rule = Rule {
    id: "pvc-lost",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::Pod, Kind::Event],
    remedies: &[],
    title: "A claim has lost its volume: it does not exist, or is not bound to this claim",
    danger: "Running pods may continue; new pods cannot start. The backend volume probably still exists. Deleting \
             the claim may remove its last record.",
    remedy: "`kubectl storage rebind` of the volume repairs it: if the volume exists and only the uid in its \
             spec.claimRef is missing or an earlier one, it writes this claim's uid; if the volume does not exist, it \
             recreates it under the same name, with policy Retain, from the journal or from a manifest (a backup, \
             an earlier dump) that --from names. A wrong volume handle gives the claim the data of another user.",
    source: "pv_controller.go, syncBoundClaim (ClaimLost)",
    judge: &[Judge::Claim(lost)],
};

fn lost(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(cause) = facts::lost_cause(cx, claim)? else { return Ok(None) };
    let completed = if claim.bind_completed { "present" } else { "<none>" };
    let mut finding = LOST
        .on_claim(claim, cause.describe(claim))
        .severe(cause.severity())
        .shows("metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows("annotation pv.kubernetes.io/bind-completed", completed)
        .about_volume(cause.volume());
    if let Some(volume) = cause.volume() {
        let object = volume.object();
        finding = finding
            .shows_of(&object, "spec.claimRef", shown_claim_ref(volume))
            .shows_of(&object, "status.phase", volume.phase.to_string())
            .shows_of(
                &object,
                "spec.persistentVolumeReclaimPolicy",
                volume.reclaim_policy.to_string(),
            )
            .relates([object]);
    }
    let reasons = ["ClaimLost", "ClaimMisbound"];
    if let Ok(Some(event)) = facts::last_event_about(cx, &claim.object(), &reasons) {
        finding = finding
            .aged(Age {
                since: event.last.map(|it| claim.metadata.since_creation(it)),
                trust: Trust::LowerBound,
            })
            .shows("last event", event.describe_with_reason());
    }
    if let Ok(users) = facts::pod_users(cx, claim) {
        finding = finding.shows_pods(&users);
    }
    Ok(Some(finding.report_only(cause.advice(cx, claim))))
}

/// F44: a claim references a volume that is bound to another claim.
pub(super) static MISBOUND: Rule = Rule {
    id: "pvc-misbound",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::Event],
    remedies: &[],
    title: "A claim was bound to a volume that another claim is bound to",
    danger: "Two workloads can write to one file system, which destroys it, or read each other's data. Such \
             claims come from restored backups and from claimRefs that were edited by hand.",
    remedy: "The tool changes nothing. Find out whose data it is: spec.claimRef of the volume names the claim \
             that Kubernetes binds it to. The other claim has to be recreated without spec.volumeName.",
    source: "pv_controller.go, syncBoundClaim (ClaimMisbound)",
    judge: &[Judge::Claim(misbound)],
};

fn misbound(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let (Some(name), true) = (&claim.volume_name, claim.bind_completed) else { return Ok(None) };
    let volume = cx.volume(name)?;
    let mine = volume.is_none_or(|it| is_of(it, claim) || facts::was_taken_from(cx, it, claim));
    let mut others = cx.claims_naming(name)?;
    others.retain(|other| {
        other.bind_completed
            && (&other.namespace, &other.metadata.name) != (&claim.namespace, &claim.metadata.name)
    });
    if mine && others.is_empty() {
        return Ok(None);
    }
    let summary = if mine {
        format!("another claim was bound to its PersistentVolume {name} as well")
    } else {
        format!("was bound to PersistentVolume {name}, whose spec.claimRef is another claim")
    };
    let mut finding = MISBOUND
        .on_claim(claim, summary)
        .shows("metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows("annotation pv.kubernetes.io/bind-completed", "present")
        .about_volume(volume);
    if let Some(volume) = volume {
        let object = volume.object();
        finding =
            finding.shows_of(&object, "spec.claimRef", shown_claim_ref(volume)).relates([object]);
    }
    for other in &others {
        let object = other.object();
        finding = finding
            .shows_of(&object, "metadata.uid", shown_uid(other.metadata.uid.as_ref()))
            .shows_of(&object, "status.phase", other.phase.to_string())
            .relates([object]);
    }
    if let Ok(Some(event)) = facts::last_event_about(cx, &claim.object(), &["ClaimMisbound"]) {
        finding = finding.shows("last event", event.describe_with_reason());
    }
    Ok(Some(
        finding
            .report_only("stop the pods of the other claim first; then find out whose data it is"),
    ))
}

/// Whether a volume belongs to a claim, or to no claim. The volume controller binds a volume again that is reserved for
/// the claim by name, or whose claimRef was removed.
fn is_of(volume: &Volume, claim: &Claim) -> bool {
    let Some(claim_ref) = &volume.claim_ref else { return true };
    match (&claim_ref.uid, &claim.metadata.uid) {
        (Some(wanted), Some(uid)) => wanted == uid,
        (None, _) | (_, None) => claim_ref.key == claim.key(),
    }
}

/// F45: a claim is Pending for longer than the threshold, with the cause.
pub(super) static PENDING_TOO_LONG: Rule = Rule {
    id: "pvc-pending-too-long",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: PersistentVolumeClaim, StorageClass, Node],
    remedies: &[],
    title: "A claim has been Pending for longer than the threshold",
    danger: "Its pods cannot start. The claim itself rarely shows the cause: its class may be missing or wait for a \
             pod, its provisioner be absent or fail, the volume that it requests belong to another claim.",
    remedy: "The tool changes nothing: the finding names what the claim waits for, as far as that can be seen. \
             A claim whose class waits for the first pod needs no repair.",
    source: "pv_controller.go, syncUnboundClaim; external-provisioner (ProvisioningFailed)",
    judge: &[Judge::Claim(pending_too_long)],
};

fn pending_too_long(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let age = Age::stamped(claim.metadata.created);
    let waits = claim.phase == ClaimPhase::Pending && claim.metadata.deleting.is_none();
    if !waits || !cx.older_than(&age, Threshold::PvcPending) {
        return Ok(None);
    }
    // That finding is about the cause; unread nodes decide nothing here.
    if facts::stale_selected_node(cx, claim) == Ok(Some(StaleNode::Missing)) {
        return Ok(None);
    }
    // Without events the finding only lacks detail.
    let last = |reasons: &[&str]| facts::last_event_about(cx, &claim.object(), reasons);
    let failed = last(&["ProvisioningFailed"]).ok().flatten();
    let reason = facts::pending_reason(cx, claim, failed.as_ref())?;
    let mut finding = PENDING_TOO_LONG
        .on_claim(claim, format!("Pending: {}", reason.why))
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
        Ok(Some(event)) => finding.shows("last event", event.describe_with_reason()),
        Err(unseen) => finding.shows("last event", unseen.reason),
    };
    if let Some(state) = &reason.state {
        finding = finding.shows_controller(state);
    }
    if let Some(volume) = reason.volume {
        let object = volume.object();
        let uid = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
        finding = finding
            .shows("metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
            .shows_of(&object, "spec.claimRef.uid", shown_uid(uid))
            .shows_of(&object, "status.phase", volume.phase.to_string())
            .relates([object]);
    }
    Ok(Some(finding.report_only(reason.advice)))
}

/// F47: the selected node of a Pending claim does not exist or is cordoned.
pub(super) static STALE_SELECTED_NODE: Rule = Rule {
    id: "pvc-stale-selected-node",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::Pod, Kind::Node, Kind::Event],
    remedies: &[],
    title: "A Pending claim waits for a volume on a node that does not exist or is cordoned",
    danger: "The provisioner can only create a volume that this node reaches, and the scheduler places the pod \
             nowhere else while the annotation names this node. If the node does not exist, the claim stays \
             Pending; older provisioners never remove the annotation.",
    remedy: "The tool changes nothing. Remove annotation volume.kubernetes.io/selected-node from the claim, and the \
             scheduler selects another node; deleting pod and claim has the same effect. Not while a volume is \
             being provisioned for that node: a second one would be created, and the first one leaked.",
    source: "sig-storage-lib-external-provisioner, rescheduleProvisioning; scheduler volumebinding plugin",
    judge: &[Judge::Claim(stale_selected_node)],
};

/// Events of a provisioner that creates a volume, or has tried to. Not `ExternalProvisioning`,
/// which kube-controller-manager repeats while it waits for a provisioner.
const PROVISIONING: [&str; 2] = ["Provisioning", "ProvisioningFailed"];

fn stale_selected_node(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(node) = &claim.selected_node else { return Ok(None) };
    let Some(stale) = facts::stale_selected_node(cx, claim)? else { return Ok(None) };
    let (severity, problem) = match stale {
        StaleNode::Missing => (Severity::Medium, "does not exist"),
        StaleNode::Cordoned => (Severity::Low, "is cordoned"),
    };
    let mut finding = STALE_SELECTED_NODE
        .on_claim(claim, format!("Pending: waits for a volume on node {node}, which {problem}"))
        .severe(severity)
        .aged(Age::stamped(claim.metadata.created))
        .shows("annotation volume.kubernetes.io/selected-node", &**node)
        .shows("node", problem)
        .relates_pods_of(cx, claim);
    let last = facts::last_event_about(cx, &claim.object(), &PROVISIONING);
    let quiet = |since| cx.older_than(&Age::stamped(since), Threshold::ProvisioningQuiet);
    let free = free(claim, stale);
    let advice = match last {
        Ok(None) => {
            finding = finding.shows("last provisioning event", "<none>");
            free
        }
        Ok(Some(event)) => {
            finding = finding.shows("last provisioning event", event.describe_with_reason());
            if quiet(event.last) {
                free
            } else {
                format!(
                    "keep the annotation for now, since a volume may be being provisioned for node {node}; later {free}"
                )
            }
        }
        Err(unseen) => {
            let advice = format!(
                "see that no volume is being provisioned for node {node} ({}); then {free}",
                unseen.reason
            );
            finding = finding.shows("last provisioning event", unseen.reason);
            advice
        }
    };
    Ok(Some(finding.report_only(advice)))
}

/// Returns advice that lets the scheduler select another node.
fn free(claim: &Claim, stale: StaleNode) -> String {
    let (namespace, name) = (&*claim.namespace, &*claim.metadata.name);
    let annotation = "volume.kubernetes.io/selected-node";
    let remove = match [namespace, name].into_iter().all(facts::is_plain_word) {
        true => format!(
            "remove annotation {annotation}: `kubectl annotate pvc {name} -n {namespace} {annotation}-`"
        ),
        false => format!("remove annotation {annotation}"),
    };
    match stale {
        StaleNode::Missing => format!("{remove} (or delete pod and claim)"),
        StaleNode::Cordoned => format!("uncordon the node, or {remove}"),
    }
}

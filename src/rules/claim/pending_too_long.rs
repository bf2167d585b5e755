//! F45: a claim is Pending for longer than the threshold, with the cause.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, StaleNode};
use crate::model::{Age, Claim, ClaimPhase, Finding, Severity, Threshold};
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_event, shown_uid},
};

pub(super) static RULE: Rule = Rule {
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
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
    let mut finding = RULE
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
        Ok(Some(event)) => finding.shows("last event", shown_event(&event)),
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

//! F50: the name of the claim for a pod's ephemeral volume is taken by another claim.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Claim, Finding, Kind, Severity};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_uid};

pub(super) static RULE: Rule = Rule {
    id: "pvc-ephemeral-name-conflict",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[],
    title: "A pod cannot have its ephemeral volume, because another claim has that name",
    danger: "The claim of an ephemeral volume has the name of the pod and the volume. A claim of that name \
             which the pod does not control is never used for it, so the pod cannot start. Deleting the claim \
             to start the pod destroys the data of its real users.",
    remedy: "The tool changes nothing. Rename the pod, or its volume.",
    source: "component-helpers storage/ephemeral, VolumeIsForPod; ephemeral volume controller",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let pods = facts::conflicting_pods(cx, claim)?;
    let Some(first) = pods.first() else { return Ok(None) };
    let owner = facts::controller_of(&claim.metadata)
        .map_or_else(|| "<none>".to_owned(), |owner| format!("{} {}", owner.kind, owner.name));
    let summary = format!(
        "has the name of an ephemeral volume of {}, which does not control it, so that pod cannot start",
        first.object()
    );
    let mut finding = RULE
        .on_claim(claim, summary)
        .shows("metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows("controller", owner);
    for pod in pods {
        let object = pod.object();
        let uid = shown_uid(pod.uid.as_ref());
        finding = finding
            .shows_of(&object, "metadata.uid", uid)
            .shows_of(&object, "status.phase", pod.phase.name())
            .relates([object]);
    }
    Ok(Some(finding.report_only("rename the pod or its volume; the claim belongs to another user")))
}

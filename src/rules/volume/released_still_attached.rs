//! F06: a Released or Failed volume still has a `VolumeAttachment`.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState};
use crate::model::{Age, Attachment, Finding, Phase, PodUse, Severity, Threshold, Volume};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-still-attached",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: Node, VolumeAttachment, PersistentVolumeClaim],
    remedies: &[],
    title: "A volume whose claim was deleted is still attached to a node",
    danger: "The node may have the file system mounted and may continue to write. Some drivers delete a backend \
             volume although it is attached. status.attached proves nothing: it records the last attempt.",
    remedy: "The tool changes nothing here: an attachment is deleted after no pod uses the volume and its driver has \
             detached it, which normally takes seconds. Reclaiming the volume is refused until then.",
    source: "external-provisioner canDeleteVolume; external-attacher csi_handler.go",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !matches!(volume.phase, Phase::Released | Phase::Failed) {
        return Ok(None);
    }
    if matches!(facts::claim_state(cx, volume), Ok(ClaimState::Changed(_))) {
        return Ok(None); // Its own claim exists, with its pods.
    }
    let attachments = cx.attachments_of(volume.name())?;
    if attachments.is_empty() || is_detaching(cx, volume, &attachments) {
        return Ok(None);
    }
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "its claim does not exist, but it is still attached: a node may have it mounted",
        )
        .aged(facts::state_age(cx, volume));
    for attachment in &attachments {
        let object = attachment.object();
        let attached = if attachment.attached { "true" } else { "false" };
        finding = finding
            .shows_of(&object, "spec.nodeName", &*attachment.node)
            .shows_of(&object, "status.attached", attached)
            .shows_of(&object, "metadata.deletionTimestamp", time(attachment.metadata.deleting));
        if let Some(error) = &attachment.detach_error {
            finding = finding.shows_of(&object, "status.detachError.message", &**error);
        }
        finding = finding.relates([object]);
    }
    let pods = volume.claim_ref.as_ref().and_then(|claim| cx.pods_of(&claim.key).ok());
    let on_its_node = |pod: &&PodUse| {
        attachments.iter().any(|attachment| pod.node.as_ref() == Some(&attachment.node))
    };
    let pods: Vec<_> = pods.into_iter().flatten().filter(on_its_node).map(PodUse::object).collect();
    let reason = if let Some(pod) = pods.first() {
        format!("{pod} uses its claim on that node; delete the pod if it is not needed")
    } else {
        let failing = attachments.iter().find(|it| it.detach_error.is_some());
        let attachment = failing.or(attachments.first());
        attachment.map_or_else(String::new, |it| facts::how_to_detach(cx, it))
    };
    Ok(Some(finding.relates(pods).report_only(reason)))
}

/// Whether it may be what every detachment looks like for a moment: the volume is known to have
/// been released lately, and no attachment has been Terminating for longer.
fn is_detaching(cx: &Cx, volume: &Volume, attachments: &[&Attachment]) -> bool {
    let released = facts::phase_age(cx, volume);
    let since = attachments.iter().filter_map(|it| it.metadata.deleting).min();
    released.since.is_some()
        && !cx.older_than(&released, Threshold::Detach)
        && !cx.older_than(&Age::stamped(since), Threshold::Detach)
}

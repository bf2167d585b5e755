//! F06: a Released or Failed volume still has a `VolumeAttachment`.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Kind, Phase, PodUse, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-still-attached",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::Pod, Kind::VolumeAttachment],
    remedies: &[],
    title: "A volume whose claim is gone still has an attachment to a node",
    danger: "The node may have the file system mounted and may go on writing. Some drivers delete a disk without \
             looking whether it is attached. Whether an attachment says attached or not proves nothing: it is \
             a record of the last attempt.",
    remedy: "The tool changes nothing here: attachments go once no pod uses the volume and its driver has \
             detached it. Reclaiming the volume is refused until then.",
    source: "external-provisioner canDeleteVolume; external-attacher csi_handler.go",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !matches!(volume.phase, Phase::Released | Phase::Failed) {
        return Ok(None);
    }
    let attachments = cx.attachments_of(volume.name())?;
    if attachments.is_empty() {
        return Ok(None);
    }
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "its claim is gone, but an attachment still names it: a node may have it mounted",
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
    let reason = match (pods.first(), attachments.iter().all(|it| it.metadata.deleting.is_some())) {
        (Some(pod), _) => {
            format!("{pod} names its claim on that node: it goes on until the pod ends")
        }
        (None, true) => "it is being detached; its driver has to finish that".to_owned(),
        (None, false) => "the attach/detach controller has to remove the attachment".to_owned(),
    };
    Ok(Some(finding.relates(pods).report_only(reason)))
}

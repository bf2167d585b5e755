//! F93: several volumes reference one backend volume.

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::Extent;
use crate::facts;
use crate::model::{Finding, Kind, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// There may be thousands, and each finding would list all others.
const SHOWN: usize = 20;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-volume-handle",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "Several volumes name the same backend volume",
    danger: "Nothing in Kubernetes checks this. Deleting any one of them deletes the disk of all. \
             In-tree volumes, other drivers of the same disk and directories in directories are recognised.",
    remedy: "Setting the policy of every member to Retain takes the danger away. No member is ever reclaimed \
             while another one exists.",
    source: "CSI spec, Volume.volume_id; csi-translation-lib",
    judge: &[Judge::Volume(judge)],
};

/// One finding per backend volume, about a volume whose policy can be changed.
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let others = facts::sharing(cx, volume)?;
    if others.is_empty() {
        return Ok(None);
    }
    let deletes = |it: &Volume| it.reclaim_policy == ReclaimPolicy::Delete;
    let dangerous = deletes(volume) || others.iter().any(|(other, _)| deletes(other));
    let of_devices = volume.places().iter().all(|it| matches!(it.extent, Extent::Device(_)));
    let (severity, summary) = match (dangerous, of_devices) {
        (true, _) => (
            Severity::Critical,
            "other volumes name the same storage: deleting one destroys the data of all",
        ),
        (false, true) => (Severity::High, "other volumes name the same disk; all are retained"),
        (false, false) => (Severity::Info, "other volumes share its storage; all are retained"),
    };
    let mut finding = RULE.on_volume(cx, volume, summary).severe(severity);
    for (other, overlap) in others.iter().take(SHOWN) {
        let state = format!("{}, policy {}", other.phase, other.reclaim_policy);
        finding = finding
            .shows_of(&other.object(), facts::lies(overlap), state)
            .relates([other.object()]);
    }
    let other = others.iter().find(|(other, _)| deletes(other));
    Ok(Some(match (deletes(volume), other) {
        (true, _) => finding.remedied_by(cx, volume, &remedies::RETAIN),
        (false, Some((other, _))) => finding.report_only(format!(
            "set the policy of {} to Retain before anything else",
            other.object()
        )),
        (false, None) => finding
            .report_only("every member is retained already: decide which object is the right one"),
    }))
}

//! F93: several volumes reference one backend volume.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, SharedStorage};
use crate::model::{Finding, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// There may be thousands, and each finding would list all others.
const SHOWN: usize = 20;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-volume-handle",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![deletion],
    remedies: &[&remedies::RETAIN],
    title: "Several PersistentVolumes reference the same backend volume",
    danger: "Kubernetes does not check this. Reclaiming any one of them with policy Delete destroys the data of all; \
             policy Retain on one does not change that. In-tree volumes, other drivers of the same disk, and \
             directories inside directories are recognised. With policy Retain on all of them, two claims can still \
             write to one disk, which corrupts a file system that is not made for it. Where they only may be one, \
             the severity is medium.",
    remedy: "Set the policy of every member to Retain; only then no member can destroy the data. No member is ever \
             reclaimed while another one exists.",
    source: "CSI spec, Volume.volume_id; csi-translation-lib",
    judge: &[Judge::Volume(judge)],
};

/// One finding for each member, so that whoever asks about one sees the others.
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let others = cx.sharing(volume)?;
    if others.is_empty() {
        return Ok(None);
    }
    let Some(shared) = SharedStorage::of(cx, volume, &others) else { return Ok(None) };
    let summary = match shared {
        SharedStorage::Perishable => {
            "other PersistentVolumes reference the same backend volume: reclaiming one can destroy the data of all"
        }
        SharedStorage::Device => {
            "other PersistentVolumes reference the same backend volume; nothing deletes it"
        }
        SharedStorage::FileSystem => {
            "other PersistentVolumes share its storage; nothing deletes it"
        }
        SharedStorage::Doubtful => "other PersistentVolumes may reference the same backend volume",
    };
    let mut finding = RULE.on_volume(cx, volume, summary).severe(shared.severity());
    for (other, overlap) in others.iter().take(SHOWN) {
        let claim = other.claim_ref.as_ref().map_or("none".to_owned(), |it| it.key.to_string());
        let state = format!("{}, policy {}, claim {claim}", other.phase, other.reclaim_policy);
        finding = finding
            .shows_of(&other.object(), facts::lies(overlap), state)
            .relates([other.object()]);
    }
    if facts::excludes_in_a_pod(volume, &others) {
        finding = finding.shows(
            "a pod that uses both",
            "cannot start: same driver and volume handle (kubernetes#132921)",
        );
    }
    if shared == SharedStorage::Doubtful {
        return Ok(Some(finding.report_only(format!(
            "compare them at the storage system; if they are one, `kubectl storage retain {}` keeps its data",
            volume.object()
        ))));
    }
    if facts::may_destroy(cx, volume) {
        return Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)));
    }
    let other = facts::first_destroyer(cx, &others);
    Ok(Some(finding.report_only(match (other, shared) {
        (Some(other), _) => format!(
            "`kubectl storage retain {0}` first: the policy {1} of {0} can destroy the data of this volume",
            other.object(),
            other.reclaim_policy
        ),
        (None, SharedStorage::FileSystem) => {
            "nothing, if the claims are meant to share the file system".to_owned()
        }
        (None, SharedStorage::Perishable | SharedStorage::Device | SharedStorage::Doubtful) => {
            "nothing deletes the backend volume; decide which object is the right one, and delete the other PersistentVolumes, which keeps the backend volume"
                .to_owned()
        }
    })))
}

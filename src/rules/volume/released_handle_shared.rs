//! F07: an Available, Released or Failed volume references the backend volume of another volume.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, SharedStorage};
use crate::model::{Finding, Phase, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// There may be thousands, and each finding would list all others.
const SHOWN: usize = 20;

pub(super) static RULE: Rule = Rule {
    id: "pv-released-handle-shared",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![deletion],
    remedies: &[&remedies::RETAIN],
    title: "An unbound volume references the backend volume of another PersistentVolume",
    danger: "It looks unused, so it may be reclaimed: that deletes the backend volume of the other one, too. If it is \
             Available, a claim can bind it, and two claims then write to one disk.",
    remedy: "Setting the policy of every member to Retain prevents that a provisioner deletes the backend volume. The \
             tool reclaims none of them. Once it is clear which object is the right one, the other one can be deleted \
             while its policy is Retain, which keeps the backend volume.",
    source: "CSI spec, Volume.volume_id; csi-translation-lib",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let unused = matches!(volume.phase, Phase::Released | Phase::Failed | Phase::Available);
    if !unused {
        return Ok(None);
    }
    let others = cx.sharing(volume)?;
    if others.is_empty() {
        return Ok(None);
    }
    let Some(shared) = SharedStorage::of(cx, volume, &others) else { return Ok(None) };
    let phase = &volume.phase;
    let summary = match shared {
        SharedStorage::Perishable => format!(
            "{phase}; another PersistentVolume references the same backend volume: reclaiming {} can destroy both",
            if facts::may_destroy(cx, volume) { "this one" } else { "the other one" }
        ),
        SharedStorage::Device => format!(
            "{phase}; another PersistentVolume references the same backend volume; nothing deletes it"
        ),
        SharedStorage::FileSystem => {
            format!("{phase}; another PersistentVolume shares its storage; nothing deletes it")
        }
        SharedStorage::Doubtful => {
            format!("{phase}; another PersistentVolume may reference the same backend volume")
        }
    };
    let mut finding = RULE
        .on_volume(cx, volume, summary)
        .severe(shared.severity())
        .aged(facts::state_age(cx, volume));
    for (other, overlap) in others.iter().take(SHOWN) {
        let claim = other.claim_ref.as_ref().map_or("none".to_owned(), |it| it.key.to_string());
        let state = format!("{}, policy {}, claim {claim}", other.phase, other.reclaim_policy);
        finding = finding
            .shows_of(&other.object(), facts::lies(overlap), state)
            .relates([other.object()]);
    }
    if shared == SharedStorage::Doubtful {
        return Ok(Some(finding.report_only(
            "compare them at the storage system before this one is deleted or bound",
        )));
    }
    if facts::may_destroy(cx, volume) {
        return Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)));
    }
    Ok(Some(finding.report_only(match facts::first_destroyer(cx, &others) {
        Some(other) => {
            format!("`kubectl storage retain {}` before anything else", other.object())
        }
        None => {
            "nothing deletes the backend volume; decide which object is the right one".to_owned()
        }
    })))
}

//! F33: a third-party finalizer blocks the deletion of a volume or claim.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerOwner};
use crate::model::{
    Age, Claim, Finding, Kind, ManagedField, Metadata, Severity, Text, Threshold, Volume,
};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-or-pvc-unknown-finalizer",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim],
    remedies: &[&remedies::REMOVE_THIRD_PARTY_FINALIZER, &remedies::FIX_CLAIM],
    title: "A third-party finalizer blocks the deletion of a volume or claim",
    danger: "The controller that set it may have to finish something first, such as a backup, a replication or a \
             clean-up. Removing the finalizer skips that. After a claim's last finalizer is removed, its data may be \
             destroyed.",
    remedy: "The evidence shows which field manager set the finalizer, as far as managedFields tell. Its controller \
             should remove it. If that controller is permanently removed, `fix-finalizers` removes the finalizer from \
             one object that is named and not in use, by its name: --remove-finalizer. For a claim's last finalizer \
             an assertion about its data is required.",
    source: "kubernetes pkg/volume/util/finalizer.go; external-snapshotter pkg/utils/util.go; Kubernetes concepts, finalizers",
    judge: &[Judge::Volume(judge), Judge::Claim(judge_claim)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let begin = |summary| RULE.on_volume(cx, volume, summary);
    Ok(stuck_finalizers(cx, &volume.metadata).map(|unknown| {
        let finding = finish(begin, &volume.metadata, &unknown);
        match &cx.settings().remove_finalizer {
            Some(asked) if unknown.contains(asked) => {
                finding.remedied_by(cx, volume, &remedies::REMOVE_THIRD_PARTY_FINALIZER)
            }
            _ => finding.report_only(format!(
                "removing it skips the clean-up of another controller; find out which one set it; if that is permanently removed, `kubectl storage fix-finalizers {} --remove-finalizer {}`",
                volume.object(),
                if let [one] = &*unknown { one } else { "NAME" }
            )),
        }
    }))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge_claim(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let begin = |summary| RULE.on_claim(claim, summary);
    let found = stuck_finalizers(cx, &claim.metadata);
    Ok(found.map(|unknown| {
        finish(begin, &claim.metadata, &unknown).remedied_by(cx, claim, &remedies::FIX_CLAIM)
    }))
}

/// Returns the third-party finalizers of an object that is Terminating for longer than the
/// threshold.
fn stuck_finalizers(cx: &Cx, metadata: &Metadata) -> Option<Vec<Text>> {
    let unknown: Vec<_> = metadata
        .finalizers
        .iter()
        .filter(|finalizer| facts::owner_of(finalizer) == FinalizerOwner::Unknown)
        .cloned()
        .collect();
    let hangs =
        !unknown.is_empty() && cx.older_than(&Age::stamped(metadata.deleting), Threshold::Stuck);
    hangs.then_some(unknown)
}

fn finish(
    begin: impl FnOnce(&'static str) -> Finding,
    metadata: &Metadata,
    unknown: &[Text],
) -> Finding {
    let mut finding =
        begin("a third-party finalizer blocks its deletion").aged(Age::stamped(metadata.deleting));
    for finalizer in unknown {
        finding = finding.shows("unknown finalizer", &**finalizer).shows_manager(
            metadata,
            &ManagedField::Finalizer(Text::clone(finalizer)),
            "managers of the finalizer",
        );
    }
    finding
}

//! F48: the deletion of a claim is blocked by a finalizer for clones or snapshots, although none is
//! in progress.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, CLONE_SOURCE, SNAPSHOT_SOURCE};
use crate::model::{Age, Claim, ClaimPhase, Finding, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pvc-source-finalizer-stuck",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: PersistentVolumeClaim, StorageClass, VolumeSnapshot, Secret],
    remedies: &[&remedies::FIX_CLAIM],
    title: "A finalizer for clones or snapshots blocks the deletion of a claim, but no copy is in progress",
    danger: "csi-provisioner and snapshot-controller block the deletion of a claim while they copy it. If \
             they were removed or restarted in the wrong moment, their finalizer stays, and the claim is \
             never deleted. Removing the last finalizer by hand destroys the data, if the policy is Delete.",
    remedy: "While the controller is running, nothing: it removes its finalizer at its next resync. If it is \
             proven absent, `fix-finalizers` removes the finalizer, after another check for clones and \
             snapshots in progress and for users of the claim. Where the claim is deleted with it, this \
             requires a decision about the data.",
    source: "external-provisioner clone_controller.go, syncClaim; external-snapshotter isPVCBeingUsed",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let age = Age::stamped(claim.metadata.deleting);
    if !cx.older_than(&age, Threshold::Resync) {
        return Ok(None);
    }
    let mut stuck = Vec::new();
    if claim.metadata.has_finalizer(CLONE_SOURCE) {
        let clones = cx.claims_from(&claim.key())?;
        if !clones.iter().any(|clone| clone.phase == ClaimPhase::Pending) {
            stuck.push((CLONE_SOURCE, "no Pending claim is being cloned from it"));
        }
    }
    if claim.metadata.has_finalizer(SNAPSHOT_SOURCE) {
        let snapshots = cx.volume_snapshots_of(&claim.key())?;
        if snapshots.iter().all(|snapshot| snapshot.ready) {
            stuck.push((SNAPSHOT_SOURCE, "no snapshot of it is in progress"));
        }
    }
    if stuck.is_empty() {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let mut finding = RULE
        .on_claim(
            claim,
            "Terminating, blocked as the source of a copy, although no copy is in progress",
        )
        .aged(age)
        .shows("consequence", fate.words("its last finalizer is removed"))
        .about_volume(fate.volume());
    for (finalizer, why) in &stuck {
        finding = finding.shows("stale finalizer", format!("{finalizer}: {why}"));
    }
    let owner = fate.volume().map(facts::owner);
    if stuck.iter().any(|(finalizer, _)| *finalizer == CLONE_SOURCE)
        && let Some(driver) = owner.as_ref().and_then(facts::Owner::csi)
    {
        finding = finding.shows_controller(&facts::provisioner(cx, driver));
    }
    if stuck.iter().any(|(finalizer, _)| *finalizer == SNAPSHOT_SOURCE) {
        finding = finding.shows_controller(&facts::snapshotter(cx));
    }
    Ok(Some(finding.remedied_by(cx, claim, &remedies::FIX_CLAIM)))
}

//! F34: the deletion Secret of a volume does not exist, so that the driver would be called without
//! credentials.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, SecretState};
use crate::model::{Finding, Phase, ReclaimPolicy, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-deletion-secret-missing",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions: PersistentVolume, StorageClass, Secret],
    remedies: &[],
    title: "The Secret with which the driver would delete a backend volume does not exist",
    danger: "csi-provisioner then calls the driver without credentials: the deletion fails on every retry, or reaches \
             the wrong storage system. The same happens if the volume recorded no Secret and the storage class that \
             named it does not exist.",
    remedy: "None by the tool: create the Secret, or the class, again. Until then the volume is not reclaimed. The \
             tool checks only whether the Secret exists, never its contents; if that is forbidden, nothing is \
             reported.",
    source: "external-provisioner controller.go, handleSecretsForDeletion, getSecretsFromSC",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let reclaimable = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Retain
        && volume.metadata.deleting.is_none();
    if volume.reclaim_policy != ReclaimPolicy::Delete && !reclaimable {
        return Ok(None);
    }
    let (summary, secret, reason) = match facts::deletion_secret(cx, volume, &facts::owner(volume))?
    {
        SecretState::NotNeeded | SecretState::Present(_) | SecretState::Forbidden(_) => {
            return Ok(None);
        }
        SecretState::Missing(secret) => (
            format!(
                "deletion Secret {}/{} does not exist: csi-provisioner would call the driver without credentials",
                secret.namespace, secret.name
            ),
            format!("{}/{}, which does not exist", secret.namespace, secret.name),
            "create the Secret again",
        ),
        SecretState::Unresolvable(named) => (
            format!(
                "csi-provisioner cannot find out which deletion Secret {named} is, and does not call the driver"
            ),
            named,
            "name the Secret in the class without annotations of the claim",
        ),
        SecretState::Forgotten => (
            "its storage class, which names the deletion Secret, does not exist: csi-provisioner would call the driver without credentials".to_owned(),
            "<none>, although other volumes of its driver have one".to_owned(),
            "create the storage class again, with the parameters that name the Secret",
        ),
    };
    let class = volume.class.as_deref().unwrap_or("<none>");
    let finding = RULE
        .on_volume(cx, volume, summary)
        .shows("volume.kubernetes.io/provisioner-deletion-secret", secret)
        .shows("spec.storageClassName", class);
    Ok(Some(finding.report_only(reason)))
}

//! F34: the deletion Secret of a volume does not exist, so that the driver would be called without
//! credentials.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, SecretState};
use crate::model::{Finding, Kind, Phase, ReclaimPolicy, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-deletion-secret-missing",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::StorageClass, Kind::Secret],
    remedies: &[],
    title: "The secret with which a volume's disk would be deleted does not exist",
    danger: "csi-provisioner logs that and goes on without credentials: the deletion fails for ever, or goes to \
             the wrong storage system. The same happens when a volume never recorded its secret and the storage \
             class that named it is gone.",
    remedy: "None by the tool: create the secret again, or the class. Until then the volume is not reclaimed. \
             Only the existence of the secret is asked for, never its contents; where that is forbidden, nothing \
             is reported.",
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
            "its deletion secret does not exist: its disk would be deleted without credentials",
            format!("{}/{}, which does not exist", secret.namespace, secret.name),
            "create the secret again",
        ),
        SecretState::Forgotten => (
            "its class, which names the deletion secret, is gone: no credentials to delete its disk",
            "<none>, though other volumes of its driver name one".to_owned(),
            "create the class again, with the parameters that name the secret",
        ),
    };
    let class = volume.class.as_deref().unwrap_or("<none>");
    let finding = RULE
        .on_volume(cx, volume, summary)
        .shows("volume.kubernetes.io/provisioner-deletion-secret", secret)
        .shows("spec.storageClassName", class);
    Ok(Some(finding.report_only(reason)))
}

//! F36: a csi-provisioner that may not patch volumes.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Severity, Text};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "provisioner-rbac-missing-patch",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions: SubjectAccessReview],
    remedies: &[],
    title: "A csi-provisioner may not patch PersistentVolumes, which it has to since 5.0",
    danger: "It can neither add its deletion-protection finalizer to existing volumes nor remove it: the backend \
             volumes of new volumes are deleted, and their objects remain Terminating; older volumes that are deleted \
             before their claims are leaked.",
    remedy: "None by the tool: whoever installed the driver grants its permissions. The rule that its ClusterRole \
             needs is shown. With it csi-provisioner finishes the deletions.",
    source: "external-provisioner changelog 5.0; kubernetes-csi/csi-driver-nfs#721",
    judge: &[Judge::Driver(judge)],
};

fn judge(cx: &Cx, driver: &Text) -> Seen<Option<Finding>> {
    let mut denied = Vec::new();
    let mut unseen = facts::provisioners_seen(cx).err();
    for claimed in facts::claimed_versions(cx, driver) {
        match facts::may_patch_volumes(cx, &claimed) {
            Ok(Some(false)) => denied.push(claimed),
            Ok(Some(true) | None) => {}
            Err(missed) => unseen = unseen.or(Some(missed)),
        }
    }
    if denied.is_empty() {
        return unseen.map_or(Ok(None), Err);
    }
    let mut finding = RULE.on_driver(
        driver,
        "csi-provisioner may not patch persistentvolumes: volumes are leaked, or remain Terminating",
    );
    for claimed in denied {
        finding = finding.shows_of(&claimed.object, "claimed version", &*claimed.image);
        if let Some((namespace, account)) = &claimed.service_account {
            let denied = format!("{namespace}/{account} may not patch persistentvolumes");
            finding = finding.shows_of(&claimed.object, "ServiceAccount", denied);
        }
        finding = finding.relates([claimed.object]);
    }
    Ok(Some(finding.report_only(
        "add to its ClusterRole: apiGroups [\"\"], resources [persistentvolumes], verbs [get, list, watch, create, patch, delete]",
    )))
}

//! The findings that explain others: the table of causes and effects, and the links between objects by which it is
//! applied.
//!
//! Causes are looked up when a report is written, in the findings that there are: nothing about them
//! is kept, so that a report after a change is the report of a new assessment.

use crate::cluster::{Cx, Subject};
use crate::facts::{self, Defect};
use crate::model::{
    Attachment, AttachmentSource, Claim, ClaimKey, Kind, Liveness, ObjectKey, PodUse, RuleId, Text,
    Volume, provisioning_driver,
};

/// A row of the table of causes: a rule whose findings explain findings of others.
#[derive(Debug, Clone, Copy)]
pub struct Cause {
    /// The rule of the cause.
    pub cause: RuleId,
    /// The link from the object of an effect to that of the cause.
    pub link: Link,
    /// The rules whose findings the cause explains.
    pub effects: &'static [RuleId],
}

/// All causes. If several hold, the first one is that under which a table folds the effect: what
/// makes progress impossible before what only hinders it.
pub static CAUSES: &[Cause] = &[
    Cause {
        cause: "provisioner-absent",
        link: Link::DriverOfVolume,
        effects: &[
            "pv-ext-finalizer-orphaned-driver",
            "pv-released-delete-stuck",
            "pv-stale-ext-finalizer-retain",
        ],
    },
    Cause {
        cause: "provisioner-absent",
        link: Link::AttacherOfObject,
        effects: &["pv-stuck-attacher-finalizer", "va-stuck-detaching"],
    },
    Cause {
        cause: "provisioner-absent",
        link: Link::ProvisionerOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pv-intree-plugin-removed",
        link: Link::Itself,
        effects: &["pv-failed", "pv-released-delete-stuck"],
    },
    Cause { cause: "va-orphan-pv-missing", link: Link::Itself, effects: &["va-stuck-detaching"] },
    Cause {
        cause: "va-node-missing",
        link: Link::NodeOfAttachment,
        effects: &["va-stuck-detaching"],
    },
    Cause {
        cause: "va-stuck-detaching",
        link: Link::AttachmentsOfVolume,
        effects: &["pv-released-still-attached", "pv-stuck-attacher-finalizer"],
    },
    Cause {
        cause: "va-node-missing",
        link: Link::AttachmentsOfVolume,
        effects: &["pv-released-still-attached", "pv-stuck-attacher-finalizer"],
    },
    Cause {
        cause: "pv-released-still-attached",
        link: Link::Itself,
        effects: &[
            "pv-delete-in-progress-or-failing",
            "pv-released-delete-stuck",
            "pv-stuck-attacher-finalizer",
        ],
    },
    Cause {
        cause: "pv-node-gone",
        link: Link::Itself,
        effects: &["pv-delete-in-progress-or-failing", "pv-released-delete-stuck"],
    },
    Cause {
        cause: "provisioner-rbac-missing-patch",
        link: Link::DriverOfVolume,
        effects: &[
            "pv-delete-in-progress-or-failing",
            "pv-missing-deletion-protection",
            "pv-released-delete-stuck",
            "pv-stale-ext-finalizer-retain",
        ],
    },
    Cause {
        cause: "provisioner-known-bad-version",
        link: Link::UnfinishedDriverOfVolume,
        effects: &["pv-delete-in-progress-or-failing", "pv-released-delete-stuck"],
    },
    Cause {
        cause: "pv-claim-ref-changed",
        link: Link::Itself,
        effects: &[
            "pv-delete-in-progress-or-failing",
            "pv-failed",
            "pv-referenced-by-other-pvc",
            "pv-released-delete-stuck",
        ],
    },
    Cause { cause: "pv-claim-ref-changed", link: Link::VolumeOfClaim, effects: &["pvc-lost"] },
    Cause {
        cause: "pv-released-claim-recreated",
        link: Link::VolumeOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pv-released-claim-recreated",
        link: Link::RecreatedClaimOfVolume,
        effects: &["pv-referenced-by-other-pvc"],
    },
    Cause {
        cause: "pv-referenced-by-other-pvc",
        link: Link::VolumeOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pv-pending-too-long",
        link: Link::VolumeOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pvc-held-by-completed-pods",
        link: Link::ClaimOfVolume,
        effects: &["pv-terminating-bound"],
    },
    Cause { cause: "pvc-lost", link: Link::ClaimsOfAttachment, effects: &["va-orphan-pv-missing"] },
    Cause { cause: "pvc-lost", link: Link::ClaimsOfPod, effects: &["pod-waiting-for-volume"] },
    Cause {
        cause: "pvc-stale-selected-node",
        link: Link::ClaimsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "pvc-pending-too-long",
        link: Link::ClaimsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause { cause: "pv-node-gone", link: Link::VolumesOfPod, effects: &["pod-waiting-for-volume"] },
    Cause {
        cause: "pv-leak-imminent",
        link: Link::UnattachedVolumesOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "pv-terminating-bound",
        link: Link::UnattachedVolumesOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "va-stuck-detaching",
        link: Link::AttachmentsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "va-node-missing",
        link: Link::AttachmentsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "va-not-referenced",
        link: Link::AttachmentsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
];

/// Whether the object of an effect only waits for the repair of its cause; other effects have to be checked once it is
/// repaired.
pub fn waits(effect: &str) -> bool {
    !matches!(effect, "pv-missing-deletion-protection" | "pv-stale-ext-finalizer-retain")
}

/// Whether a table folds the effects of a finding beneath it. The version of a provisioner explains what its volumes
/// suffer from, and stands below them: each of them has a next step of its own.
pub fn stands_above(cause: &str) -> bool {
    cause != "provisioner-known-bad-version"
}

/// Returns the findings that explain the finding of a rule about a subject, in the order of the
/// table. `found` tells whether a rule found something about a subject.
pub fn causes(
    cx: &Cx,
    subject: &Subject,
    effect: RuleId,
    found: impl Fn(&Subject, RuleId) -> bool,
) -> Vec<(RuleId, Subject)> {
    let mut causes: Vec<(RuleId, Subject)> = Vec::new();
    for row in CAUSES.iter().filter(|row| row.effects.contains(&effect)) {
        for object in row.link.follow(cx, subject) {
            let cause = (row.cause, object);
            if found(&cause.1, row.cause) && !causes.contains(&cause) {
                causes.push(cause);
            }
        }
    }
    causes
}

/// The way from the object of an effect to the objects of its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The same object.
    Itself,
    /// The same attachment, if the driver cannot detach it because of its node. Most drivers detach
    /// also from a machine that does not exist any more.
    NodeOfAttachment,
    /// The driver whose csi-provisioner deletes the volume.
    DriverOfVolume,
    /// The same driver, where its csi-provisioner deletes volumes and cannot remove its finalizer.
    UnfinishedDriverOfVolume,
    /// The driver of the attachment or of the volume's attacher finalizer, if its external-attacher
    /// is absent too.
    AttacherOfObject,
    /// The provisioner that has to create a volume for the claim now. A claim that waits for its
    /// first pod does not wait for a provisioner.
    ProvisionerOfClaim,
    /// The volume that the claim names.
    VolumeOfClaim,
    /// The claim that the volume is bound to.
    ClaimOfVolume,
    /// The same volume, if the only claim that references it has the name in its claimRef.
    RecreatedClaimOfVolume,
    /// The attachments of the volume.
    AttachmentsOfVolume,
    /// The claims that reference the volume of the attachment.
    ClaimsOfAttachment,
    /// The claims of the pod, without those that wait for the pod.
    ClaimsOfPod,
    /// The volumes of the pod's claims.
    VolumesOfPod,
    /// The volumes of the pod's claims that are not attached to its node.
    UnattachedVolumesOfPod,
    /// The attachments of the pod's volumes to other nodes.
    AttachmentsOfPod,
}

impl Link {
    /// Returns the objects at the end of the link; none where they were not read.
    fn follow(self, cx: &Cx, subject: &Subject) -> Vec<Subject> {
        let cluster = cx.cluster();
        let found = match (self, subject) {
            (Self::Itself, _) => Some(vec![subject.clone()]),
            (_, Subject::Volume(id)) => cluster.volume_at(*id).map(|it| self.of_volume(cx, it)),
            (_, Subject::Claim(id)) => cluster.claim_at(*id).map(|it| self.of_claim(cx, it)),
            (_, Subject::Attachment(id)) => {
                cluster.attachment_at(*id).map(|it| self.of_attachment(cx, it, subject))
            }
            (_, Subject::Pod(id)) => cluster.pod_at(*id).map(|it| self.of_pod(cx, it)),
            _ => None,
        };
        found.unwrap_or_default()
    }

    fn of_volume(self, cx: &Cx, volume: &Volume) -> Vec<Subject> {
        let driver = || facts::owner(volume).csi().map(Text::clone);
        match self {
            Self::DriverOfVolume => driver().map(Subject::Driver).into_iter().collect(),
            Self::UnfinishedDriverOfVolume => {
                let unfinished = |driver: &Text| {
                    let versions = facts::claimed_versions(cx, driver);
                    versions.iter().any(|it| facts::defect(it) == Some(Defect::EmptyPatch))
                };
                driver().filter(unfinished).map(Subject::Driver).into_iter().collect()
            }
            Self::AttacherOfObject => {
                facts::attacher_of(volume).map(|it| absent_attacher(cx, &it)).unwrap_or_default()
            }
            Self::ClaimOfVolume => {
                let bound = volume.claim_ref.as_ref();
                let claim = bound.and_then(|it| cx.claim(&it.key).ok().flatten().zip(Some(it)));
                let its = claim.filter(|(claim, bound)| claim.metadata.uid == bound.uid);
                its.and_then(|(claim, _)| cx.cluster().subject(&claim.object().key))
                    .into_iter()
                    .collect()
            }
            Self::RecreatedClaimOfVolume => {
                let claims = cx.claims_naming(volume.name()).unwrap_or_default();
                let key = volume.claim_ref.as_ref().map(|it| &it.key);
                let alone = claims.iter().all(|claim| Some(&claim.key()) == key);
                let itself = alone.then(|| cx.cluster().subject(&volume.object().key));
                itself.flatten().into_iter().collect()
            }
            Self::AttachmentsOfVolume => attachments(cx, volume.name(), |_| true),
            _ => Vec::new(),
        }
    }

    fn of_claim(self, cx: &Cx, claim: &Claim) -> Vec<Subject> {
        match self {
            Self::ProvisionerOfClaim => {
                provisioner(cx, claim).map(Subject::Driver).into_iter().collect()
            }
            Self::VolumeOfClaim => {
                claim.volume_name.iter().filter_map(|name| volume(cx, name)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_attachment(self, cx: &Cx, attachment: &Attachment, itself: &Subject) -> Vec<Subject> {
        match self {
            Self::NodeOfAttachment => {
                let error = attachment.detach_error.as_deref();
                let told = error.is_some_and(|error| error.contains(&*attachment.node));
                if told { vec![itself.clone()] } else { Vec::new() }
            }
            Self::AttacherOfObject => absent_attacher(cx, &attachment.attacher),
            Self::ClaimsOfAttachment => {
                let AttachmentSource::Volume(name) = &attachment.source else { return Vec::new() };
                let claims = cx.claims_naming(name).unwrap_or_default().into_iter();
                claims.filter_map(|it| cx.cluster().subject(&it.object().key)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_pod(self, cx: &Cx, pod: &PodUse) -> Vec<Subject> {
        let keys = pod
            .claims
            .iter()
            .map(|it| ClaimKey { namespace: Text::clone(&pod.namespace), name: it.claim.clone() });
        let claims = keys.filter_map(|key| cx.claim(&key).ok().flatten());
        let here = |it: &Attachment| pod.node.as_ref() == Some(&it.node);
        match self {
            Self::ClaimsOfPod => claims
                .filter(|claim| !waits_for_pod(cx, claim))
                .filter_map(|claim| cx.cluster().subject(&claim.object().key))
                .collect(),
            Self::VolumesOfPod => claims
                .filter_map(|claim| claim.volume_name.as_deref())
                .filter_map(|name| volume(cx, name))
                .collect(),
            // Before it is scheduled, a pod waits for no attachment.
            Self::UnattachedVolumesOfPod | Self::AttachmentsOfPod if pod.node.is_none() => {
                Vec::new()
            }
            Self::UnattachedVolumesOfPod => claims
                .filter_map(|claim| claim.volume_name.as_deref())
                .filter(|name| {
                    let attachments = cx.attachments_of(name);
                    attachments.is_ok_and(|it| !it.iter().any(|it| here(it) && it.attached))
                })
                .filter_map(|name| volume(cx, name))
                .collect(),
            Self::AttachmentsOfPod => claims
                .filter_map(|claim| claim.volume_name.as_deref())
                .filter(|name| attachments(cx, name, here).is_empty())
                .flat_map(|name| {
                    attachments(cx, name, |it| !here(it) && facts::may_be_attached(it))
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn volume(cx: &Cx, name: &str) -> Option<Subject> {
    cx.cluster().subject(&ObjectKey::cluster_wide(Kind::PersistentVolume, name))
}

/// The attachments of a volume that are `wanted`.
fn attachments(cx: &Cx, volume: &str, wanted: impl Fn(&Attachment) -> bool) -> Vec<Subject> {
    let all = cx.attachments_of(volume).unwrap_or_default().into_iter().filter(|it| wanted(it));
    all.filter_map(|it| cx.cluster().subject(&it.object().key)).collect()
}

/// The driver of an external-attacher, if that is absent; none otherwise.
fn absent_attacher(cx: &Cx, driver: &Text) -> Vec<Subject> {
    let absent = facts::attacher(cx, driver).liveness == Liveness::Absent;
    if absent { vec![Subject::Driver(Text::clone(driver))] } else { Vec::new() }
}

/// Whether a claim stays Pending until its first pod is scheduled.
fn waits_for_pod(cx: &Cx, claim: &Claim) -> bool {
    let class = claim.class.as_ref().and_then(|name| cx.claimed_class(name).ok().flatten());
    class.is_some_and(|class| class.waits_for_consumer)
        && claim.selected_node.is_none()
        && claim.volume_name.is_none()
}

/// The provisioner that has to create a volume for a Pending claim; `None` if none has to.
fn provisioner(cx: &Cx, claim: &Claim) -> Option<Text> {
    if claim.volume_name.is_some() || waits_for_pod(cx, claim) {
        return None;
    }
    let class = cx.claimed_class(claim.class.as_ref()?).ok().flatten()?;
    let named = claim.provisioner.as_ref().unwrap_or(&class.provisioner);
    Some(provisioning_driver(named))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rules::find;

    /// The rules that may explain a rule.
    fn graph() -> BTreeMap<RuleId, Vec<RuleId>> {
        let mut graph: BTreeMap<RuleId, Vec<RuleId>> = BTreeMap::new();
        for row in CAUSES {
            for effect in row.effects {
                graph.entry(effect).or_default().push(row.cause);
            }
        }
        graph
    }

    #[test]
    fn every_id_is_that_of_a_rule() {
        for row in CAUSES {
            for id in row.effects.iter().chain([&row.cause]) {
                assert!(find(id).is_some(), "there is no rule {id}");
            }
        }
    }

    /// If no rule explains itself, however far around, no finding does.
    #[test]
    fn no_finding_is_its_own_cause() {
        fn visit(graph: &BTreeMap<RuleId, Vec<RuleId>>, rule: RuleId, path: &mut Vec<RuleId>) {
            assert!(!path.contains(&rule), "{rule} explains itself: {path:?}");
            path.push(rule);
            for cause in graph.get(rule).into_iter().flatten() {
                visit(graph, cause, path);
            }
            path.pop();
        }
        let graph = graph();
        for rule in graph.keys() {
            visit(&graph, rule, &mut Vec::new());
        }
    }
}

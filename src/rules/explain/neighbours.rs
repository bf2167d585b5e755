//! The objects on which an object depends: their findings are shown with it.

use super::draft::ExplanationDraft;
use crate::cluster::{Cluster, Cx, Others, Subject};
use crate::model::{
    AttachmentSource, Claim, ClaimKey, Kind, ObjectKey, PodUse, Text, Volume, migrated_driver,
    provisioning_driver,
};

/// Number of volumes with shared storage that count as neighbours.
const SHARING: usize = 20;

/// The subject of a cluster-wide object, if it was read.
pub(super) fn cluster_wide(cluster: &Cluster, kind: Kind, name: &str) -> Option<Subject> {
    cluster.subject(&ObjectKey::cluster_wide(kind, name))
}

/// Adds a volume, its claims with pods and set, its attachments, class and drivers, and volumes that share its storage.
pub(super) fn around_volume(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    of_volume(cx, volume, draft);
    if let Some(claim) = &volume.claim_ref {
        around_claim_key(cx, &claim.key, draft);
    }
    let claims = draft.seen(cx.claims_naming(volume.name())).unwrap_or_default();
    for claim in claims {
        draft.hangs_on(cx.cluster().subject(&claim.object().key));
    }
    let others = draft.seen(cx.sharing(volume));
    for (other, _) in others.iter().flat_map(Others::iter).take(SHARING) {
        draft.hangs_on(cx.cluster().subject(&other.object().key));
    }
}

/// Adds a volume with its attachments, its class and its drivers.
fn of_volume(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    let cluster = cx.cluster();
    draft.hangs_on(cluster.subject(&volume.object().key));
    let attachments = draft.seen(cx.attachments_of(volume.name())).unwrap_or_default();
    for attachment in attachments {
        draft.hangs_on(cluster.subject(&attachment.object().key));
    }
    if let Some(class) = &volume.class {
        draft.hangs_on(cluster_wide(cluster, Kind::StorageClass, class));
    }
    let drivers = volume.drivers().filter(|it| migrated_driver(it).is_none());
    draft.hangs_on(drivers.map(|it| Subject::Driver(Text::from(it))));
}

/// Adds a claim with its volume, pods, set, class and provisioner, and volumes that reference its name.
pub(super) fn around_claim(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    let cluster = cx.cluster();
    around_claim_key(cx, &claim.key(), draft);
    let volume = claim.volume_name.as_deref().and_then(|it| draft.seen(cx.volume(it)).flatten());
    if let Some(volume) = volume {
        of_volume(cx, volume, draft);
    }
    let former = draft.seen(cx.volumes_of(&claim.key())).unwrap_or_default();
    draft.hangs_on(former.into_iter().filter_map(|it| cluster.subject(&it.object().key)));
    if let Some(name) = &claim.class {
        draft.hangs_on(cluster_wide(cluster, Kind::StorageClass, name));
        let class = draft.seen(cx.claimed_class(name)).flatten();
        draft.hangs_on(class.and_then(|it| provisioner(cx, &it.provisioner)));
    }
    draft.hangs_on(claim.provisioner.as_ref().and_then(|it| provisioner(cx, it)));
}

/// Adds the claim of this name with its pods and its set.
fn around_claim_key(cx: &Cx, key: &ClaimKey, draft: &mut ExplanationDraft) {
    let cluster = cx.cluster();
    draft.hangs_on(cluster.subject(&ObjectKey::claim(key)));
    let pods = draft.seen(cx.pods_of(key)).unwrap_or_default();
    draft.hangs_on(pods.into_iter().filter_map(|pod| cluster.subject(&pod.object().key)));
    if let Some((stem, _)) = crate::model::split_ordinal(&key.name) {
        let sets = draft.seen(cx.sets_of_stem(&key.namespace, stem)).unwrap_or_default();
        draft.hangs_on(sets.into_iter().filter_map(|(set, _)| cluster.subject(&set.object().key)));
    }
}

/// Adds the claims of a pod, with their volumes.
pub(super) fn around_pod(cx: &Cx, pod: &PodUse, draft: &mut ExplanationDraft) {
    for mounted in &pod.claims {
        let key = ClaimKey { namespace: Text::clone(&pod.namespace), name: mounted.claim.clone() };
        match draft.seen(cx.claim(&key)).flatten() {
            Some(claim) => around_claim(cx, claim, draft),
            None => around_claim_key(cx, &key, draft),
        }
    }
}

/// Adds the volume of an attachment.
pub(super) fn around_attachment(cx: &Cx, source: &AttachmentSource, draft: &mut ExplanationDraft) {
    if let AttachmentSource::Volume(name) = source
        && let Some(volume) = draft.seen(cx.attached_volume(name)).flatten()
    {
        around_volume(cx, volume, draft);
    }
}

/// Returns the driver that provisions under this name, if any object references it.
pub(super) fn provisioner(cx: &Cx, named: &Text) -> Option<Subject> {
    let driver = provisioning_driver(named);
    cx.cluster().has_driver(&driver).then_some(Subject::Driver(driver))
}

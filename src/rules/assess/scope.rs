//! What there is to judge, and what of it was asked for.

use std::collections::BTreeSet;

use crate::cluster::{Cluster, Subject};
use crate::model::{Kind, Metadata, ObjectKey, RuleId, Settings, Text};

/// Everything that can be judged.
pub fn subjects(cluster: &Cluster) -> BTreeSet<Subject> {
    let volumes = cluster.volumes().map(|(id, _)| Subject::Volume(id));
    let drivers = cluster.drivers().into_iter().map(Subject::Driver);
    volumes.chain(subjects_but_volumes(cluster)).chain(drivers).collect()
}

/// Everything that can be judged, but for volumes and drivers.
pub(super) fn subjects_but_volumes(cluster: &Cluster) -> impl Iterator<Item = Subject> + '_ {
    let claims = cluster.claims().map(|(id, _)| Subject::Claim(id));
    let sets = cluster.sets().map(|(id, _)| Subject::StatefulSet(id));
    let attachments = cluster.attachments().map(|(id, _)| Subject::Attachment(id));
    let pods = cluster.pods().map(|(id, _)| Subject::Pod(id));
    let classes = cluster.classes().map(|(id, _)| Subject::Class(id));
    let attributes = cluster.attributes_classes().map(|(id, _)| Subject::AttributesClass(id));
    let snapshots = cluster.snapshots().map(|(id, _)| Subject::Snapshot(id));
    let of_claims = claims.chain(sets).chain(attachments).chain(pods);
    let kept = cluster.kept_backends().map(|it| Subject::Backend(it.backend.clone()));
    of_claims.chain(classes).chain(attributes).chain(snapshots).chain(kept)
}

/// Which object a subject is.
pub(super) fn object_key(cluster: &Cluster, subject: &Subject) -> Option<ObjectKey> {
    Some(match subject {
        Subject::Volume(id) => cluster.volume_at(*id)?.object().key,
        Subject::Claim(id) => cluster.claim_at(*id)?.object().key,
        Subject::StatefulSet(id) => cluster.set_at(*id)?.object().key,
        Subject::Attachment(id) => cluster.attachment_at(*id)?.object().key,
        Subject::Pod(id) => cluster.pod_at(*id)?.object().key,
        Subject::Class(id) => cluster.class_at(*id)?.object().key,
        Subject::AttributesClass(id) => cluster.attributes_class_at(*id)?.object().key,
        Subject::Snapshot(id) => cluster.snapshot_at(*id)?.object().key,
        Subject::Driver(name) => ObjectKey::cluster_wide(Kind::CsiDriver, name),
        Subject::Backend(key) => cluster.kept_backend(key)?.object().key,
    })
}

/// The metadata of a subject, where it is kept.
pub fn metadata<'a>(cluster: &'a Cluster, subject: &Subject) -> Option<&'a Metadata> {
    match subject {
        Subject::Volume(id) => cluster.volume_at(*id).map(|it| &it.metadata),
        Subject::Claim(id) => cluster.claim_at(*id).map(|it| &it.metadata),
        Subject::StatefulSet(id) => cluster.set_at(*id).map(|it| &it.metadata),
        Subject::Attachment(id) => cluster.attachment_at(*id).map(|it| &it.metadata),
        Subject::Class(id) => cluster.class_at(*id).map(|it| &it.metadata),
        Subject::AttributesClass(id) => cluster.attributes_class_at(*id).map(|it| &it.metadata),
        Subject::Snapshot(id) => cluster.snapshot_at(*id).map(|it| &it.metadata),
        // Of pods neither labels nor annotations are kept; of what is gone there are none.
        Subject::Pod(_) | Subject::Driver(_) | Subject::Backend(_) => None,
    }
}

/// The namespace that a subject belongs to: its own, or that of the claim it has to do with.
fn namespace(cluster: &Cluster, subject: &Subject) -> Option<Text> {
    let of_volume = |name: &str| {
        let claim = cluster.volume_named(name)?.claim_ref.as_ref()?;
        Some(Text::clone(&claim.key.namespace))
    };
    match subject {
        Subject::Volume(id) => {
            let claim = cluster.volume_at(*id)?.claim_ref.as_ref()?;
            Some(Text::clone(&claim.key.namespace))
        }
        Subject::Claim(id) => cluster.claim_at(*id).map(|it| Text::clone(&it.namespace)),
        Subject::StatefulSet(id) => cluster.set_at(*id).map(|it| Text::clone(&it.namespace)),
        Subject::Pod(id) => cluster.pod_at(*id).map(|it| Text::clone(&it.namespace)),
        Subject::Snapshot(id) => {
            cluster.snapshot_at(*id)?.snapshot.as_ref().map(|(namespace, _)| Text::clone(namespace))
        }
        Subject::Attachment(id) => match &cluster.attachment_at(*id)?.source {
            crate::model::AttachmentSource::Volume(name) => of_volume(name),
            crate::model::AttachmentSource::Inline { .. }
            | crate::model::AttachmentSource::None => None,
        },
        Subject::Backend(key) => {
            let claim = cluster.kept_backend(key)?.claim.as_ref()?;
            Some(Text::clone(&claim.namespace))
        }
        Subject::Class(_) | Subject::AttributesClass(_) | Subject::Driver(_) => None,
    }
}

/// Whether the user asked for findings about a subject.
pub fn in_scope(cluster: &Cluster, settings: &Settings, subject: &Subject) -> bool {
    let scope = &settings.scope;
    if let Some(wanted) = &scope.namespace
        && namespace(cluster, subject).as_ref() != Some(wanted)
    {
        return false;
    }
    scope.selector.is_empty()
        || metadata(cluster, subject).is_some_and(|it| scope.selector.matches(&it.labels))
}

/// Whether a finding was left out on purpose.
pub(super) fn exempt(
    cluster: &Cluster,
    settings: &Settings,
    subject: &Subject,
    id: RuleId,
) -> bool {
    let scope = &settings.scope;
    if scope.ignored.contains(id) || !scope.rules.is_empty() && !scope.rules.contains(id) {
        return true;
    }
    let ignore = metadata(cluster, subject).and_then(|it| it.ignore.as_deref());
    ignore.is_some_and(|text| ignored_ids(text).any(|ignored| ignored == id))
}

/// The ids at the head of `storage.kubectl.dev/ignore: "<id>[,…] reason"`.
fn ignored_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().next().unwrap_or_default().split(',')
}

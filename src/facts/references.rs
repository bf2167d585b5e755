//! What a cluster names of storage, by any of its objects.

use super::{SharedStorage, may_destroy, owner};
use crate::cluster::{Cluster, Cx, Placed as _, ReferencingVolume, StorageReference};
use crate::drivers::{self, Fate, Place, Reach, Reference};
use crate::model::{Attributes, BackendKey, ObjectId, ObjectKey, SnapshotSource, Text, Volume};

/// Whether another cluster can name storage, too.
pub fn is_beyond(reference: &Reference<'_>) -> bool {
    reference.reach() != Reach::Cluster
}

/// Collects what a cluster names of storage, if it is wanted; `reported` completes what is said of a volume.
pub fn storage_references(
    cx: &Cx,
    is_wanted: fn(&Reference<'_>) -> bool,
    reported: impl Fn(ObjectId, ReferencingVolume) -> ReferencingVolume,
) -> Vec<StorageReference> {
    let mut found = Vec::new();
    for (id, volume) in cx.cluster().volumes() {
        let Some(backend) = &volume.backend else { continue };
        let Some(reference) =
            reference(volume.object().key, backend, &volume.attributes, is_wanted)
        else {
            continue;
        };
        let volume = Some(Box::new(reported(id, referencing(cx, volume))));
        found.push(StorageReference { volume, ..reference });
    }
    add_others(cx.cluster(), is_wanted, &mut found);
    found
}

/// What a comparison says of a volume, as if it were neither left out nor at risk.
fn referencing(cx: &Cx, volume: &Volume) -> ReferencingVolume {
    ReferencingVolume {
        uid: volume.metadata.uid.clone(),
        capacity: volume.capacity,
        phase: volume.phase.to_string().into(),
        claim: volume.claim_ref.as_ref().map(|it| it.key.clone()),
        class: volume.class.clone(),
        driver: owner(volume).name().clone(),
        policy: volume.reclaim_policy.to_string().into(),
        may_destroy: may_destroy(cx, volume),
        is_shared: SharedStorage::is_file_system(volume)
            && (volume.is_shared || is_in_directory(&volume.places())),
        is_left_out: false,
        is_exempt: false,
        is_at_risk: false,
    }
}

/// Whether all that is known of a volume is a directory; a device may be exported by a server, too.
fn is_in_directory(places: &[Place<'_>]) -> bool {
    places.iter().any(Place::is_directory)
        && !places.iter().any(|it| it.is_device() && !it.is_bucket())
}

/// Adds what is no `PersistentVolume`: volumes that pods and templates describe themselves, attachments, snapshots, kept records.
fn add_others(
    cluster: &Cluster,
    is_wanted: fn(&Reference<'_>) -> bool,
    found: &mut Vec<StorageReference>,
) {
    let none = Attributes::default();
    let reference = |object, backend: &BackendKey, attributes: &Attributes| {
        reference(object, backend, attributes, is_wanted)
    };
    for (_, pod) in cluster.pods() {
        for it in pod.inline.iter() {
            found.extend(reference(pod.object().key, &it.backend, &it.attributes));
        }
    }
    for (_, workload) in cluster.workloads() {
        for it in workload.inline.iter() {
            found.extend(reference(workload.object().key, &it.backend, &it.attributes));
        }
    }
    for (_, attachment) in cluster.attachments() {
        if let Some(backend) = attachment.source.backend() {
            found.extend(reference(attachment.object().key, &backend, &none));
        }
    }
    for (_, content) in cluster.snapshots() {
        // What is taken, and does not hang on its volume, is another disk.
        let snapshots = &drivers::family(&content.driver).snapshots;
        let handle = content.handle.as_deref();
        let is_apart = matches!(snapshots.fate_of(handle), Fate::Independent | Fate::None);
        if is_apart && !content.in_progress() {
            continue;
        }
        for backend in content.backends() {
            found.extend(reference(content.object().key, &backend, &none));
        }
        if content.source == SnapshotSource::Existing {
            let of = snapshots.volume_of_handle.zip(handle).and_then(|(of, handle)| of(handle));
            let backend = BackendKey {
                driver: Text::clone(&content.driver),
                handle: of.or(handle).unwrap_or_default().into(),
            };
            let named = reference(content.object().key, &backend, &none);
            found.extend(named.map(|it| StorageReference { is_somewhere: of.is_none(), ..it }));
        }
    }
    for kept in cluster.kept_backends() {
        found.extend(reference(kept.object().key, &kept.backend, &none));
    }
}

/// A reference to storage, if it is wanted.
fn reference(
    object: ObjectKey,
    backend: &BackendKey,
    attributes: &Attributes,
    is_wanted: fn(&Reference<'_>) -> bool,
) -> Option<StorageReference> {
    is_wanted(&Reference::of(backend, attributes)).then(|| StorageReference {
        object,
        backend: backend.clone(),
        attributes: attributes.clone(),
        is_somewhere: false,
        volume: None,
    })
}

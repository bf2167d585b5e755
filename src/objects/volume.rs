//! `PersistentVolume` and `VolumeAttachment`.

use super::slim::slim;
use super::slim::{Timestamp, storage};
use super::volume_source::{PROVISIONER_IDENTITY, PersistentVolumeSource, PersistentVolumeSpec};
use super::{Folded, Folder, ManagedMeta, SlimObject, backend, meta, unshared};
use crate::drivers;
use crate::model::{
    Access, AccessModes, Attachment, AttachmentSource, Attributes, BackendKey, DeletionSecret,
    Phase, ReclaimPolicy, Row, Text, Time, Volume, VolumeSource,
};

slim! {
    /// A `PersistentVolume`.
    pub struct PersistentVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ManagedMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: PersistentVolumeSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: PersistentVolumeStatus,
    }

    /// `status` of a persistent volume.
    pub struct PersistentVolumeStatus {
        /// Phase.
        #[prost(string, tag = "1")]
        pub phase: String,
        /// A message that explains the phase.
        #[prost(string, tag = "2")]
        pub message: String,
        /// The reason of the phase.
        #[prost(string, tag = "3")]
        pub reason: String,
        /// Time at which the phase began.
        #[prost(message, required, tag = "4")]
        pub last_phase_transition_time: Timestamp,
    }
}

impl SlimObject for PersistentVolume {
    fn lacks(&self) -> Option<&'static str> {
        (self.spec == PersistentVolumeSpec::default()).then_some("spec")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let annotation =
            |key, folder: &mut Folder| metadata.annotation(key).map(|text| folder.text(text));
        let secret_name = annotation(meta::DELETION_SECRET_NAME, folder);
        let secret_namespace = annotation(meta::DELETION_SECRET_NAMESPACE, folder);
        let created = metadata.creation_timestamp.fold("metadata.creationTimestamp", folder);
        let source = source(&spec.source, created, self.is_of_own_provisioner(), folder);
        let backend = backend::key(metadata, spec, folder).map(|key| share_handle(key, &source));
        let attributes = match (&spec.source.csi, &backend) {
            (Some(csi), Some(backend)) => csi.attributes(backend, folder),
            _ => Attributes::default(),
        };
        let row = Volume {
            phase: phase(&status.phase, folder),
            message: unshared(&status.message),
            reason: unshared(&status.reason),
            last_phase_transition: status
                .last_phase_transition_time
                .fold("status.lastPhaseTransitionTime", folder),
            reclaim_policy: reclaim_policy(&spec.persistent_volume_reclaim_policy, folder),
            claim_ref: spec.claim_ref.as_ref().map(|claim| claim.fold_claim(folder)),
            backend,
            attributes,
            access: Access {
                modes: AccessModes::of(&spec.access_modes),
                is_block: spec.volume_mode.as_deref() == Some("Block"),
            },
            is_shared: spec.volume_mode.as_deref() != Some("Block")
                && spec.access_modes.iter().any(|it| it == "ReadWriteMany" || it == "ReadOnlyMany"),
            is_xfs: spec.source.csi.as_ref().is_some_and(|it| it.fs_type == "xfs"),
            source,
            class: folder.non_empty(&spec.storage_class_name),
            attributes_class: spec
                .volume_attributes_class_name
                .as_deref()
                .and_then(|class| folder.non_empty(class)),
            capacity: storage(&spec.capacity, "spec.capacity.storage", folder),
            node_affinity: spec
                .node_affinity
                .required
                .as_ref()
                .map(|required| required.fold(folder))
                .map(|affinity| folder.affinity(affinity)),
            provisioned_by: annotation(meta::PROVISIONED_BY, folder),
            migrated_to: annotation(meta::MIGRATED_TO, folder),
            bound_by_controller: metadata.annotation(meta::BOUND_BY_CONTROLLER).is_some(),
            // With only one of the two annotations the class decides, as without both
            // (external-provisioner controller.go, handleSecretsForDeletion).
            deletion_secret: secret_namespace
                .zip(secret_name)
                .map(|(namespace, name)| folder.secret(DeletionSecret { namespace, name })),
            backend_state: metadata.annotation(meta::BACKEND_STATE).map(Into::into),
            metadata: metadata.fold(folder),
        };
        Folded::Row(Row::Volume(Box::new(row)))
    }
}

impl PersistentVolume {
    /// Whether a driver's own provisioner made the volume, which writes no identity: its name and its handle are those
    /// that the library makes from the uid of its claim.
    fn is_of_own_provisioner(&self) -> bool {
        let (Some(csi), Some(claim)) = (&self.spec.source.csi, &self.spec.claim_ref) else {
            return false;
        };
        let name = &self.metadata.name;
        drivers::family(&csi.driver).own_provisioner.is_some()
            && self.metadata.annotation(meta::PROVISIONED_BY) == Some(csi.driver.as_str())
            && name.strip_prefix("pvc-").is_some_and(|it| it == claim.uid)
            && csi.volume_handle == *name
    }
}

/// Returns the key with the handle of the source where both are the same, to save memory.
fn share_handle(mut key: BackendKey, source: &VolumeSource) -> BackendKey {
    if let VolumeSource::Csi { handle, .. } = source
        && *handle == key.handle
    {
        key.handle = Text::clone(handle);
    }
    key
}

/// Returns the phase of a volume.
fn phase(text: &str, folder: &mut Folder) -> Phase {
    match text {
        "" | "Pending" => Phase::Pending,
        "Available" => Phase::Available,
        "Bound" => Phase::Bound,
        "Released" => Phase::Released,
        "Failed" => Phase::Failed,
        other => Phase::Other(folder.text(other)),
    }
}

/// Returns the reclaim policy. The API server always sets it: an empty one is
/// [`ReclaimPolicy::Other`].
fn reclaim_policy(text: &str, folder: &mut Folder) -> ReclaimPolicy {
    match text {
        "Retain" => ReclaimPolicy::Retain,
        "Delete" => ReclaimPolicy::Delete,
        "Recycle" => ReclaimPolicy::Recycle,
        other => ReclaimPolicy::Other(folder.text(other)),
    }
}

/// Returns the source of the data of a volume.
fn source(
    source: &PersistentVolumeSource,
    created: Option<Time>,
    of_own_provisioner: bool,
    folder: &mut Folder,
) -> VolumeSource {
    if let Some(csi) = &source.csi {
        VolumeSource::Csi {
            driver: folder.text(&csi.driver),
            handle: csi.volume_handle.as_str().into(),
            provisioner_identity: of_own_provisioner
                || csi
                    .volume_attributes
                    .get(PROVISIONER_IDENTITY)
                    .is_some_and(|it| is_of_its_own(it, &csi.driver, created)),
        }
    } else if let Some(path) = &source.host_path {
        VolumeSource::HostPath(path.path.as_str().into())
    } else if let Some(path) = &source.local {
        VolumeSource::Local(path.path.as_str().into())
    } else {
        source
            .field()
            .map_or(VolumeSource::Unknown, |field| VolumeSource::InTree(folder.text(field)))
    }
}

/// Whether a provisioner of the driver wrote an identity, `MILLISECONDS-RANDOM-DRIVER` of its start,
/// before the volume was created (external-provisioner `cmd/csi-provisioner`).
fn is_of_its_own(identity: &str, driver: &str, created: Option<Time>) -> bool {
    let of_driver = identity.strip_suffix(driver).is_some_and(|before| before.ends_with('-'));
    let started = identity.split('-').next().and_then(|it| it.parse::<i64>().ok());
    // The clock of a node may be ahead of the API server's.
    let slack = chrono::Duration::minutes(5);
    let younger = |created: Time| {
        started.and_then(Time::from_timestamp_millis).is_some_and(|it| it > created + slack)
    };
    of_driver && !created.is_some_and(younger)
}

slim! {
    /// A `VolumeAttachment`.
    pub struct VolumeAttachment {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ManagedMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: VolumeAttachmentSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: VolumeAttachmentStatus,
    }

    /// `spec` of a `VolumeAttachment`.
    pub struct VolumeAttachmentSpec {
        /// The driver.
        #[prost(string, tag = "1")]
        pub attacher: String,
        /// The volume.
        #[prost(message, required, tag = "2")]
        pub source: VolumeAttachmentSource,
        /// The node.
        #[prost(string, tag = "3")]
        pub node_name: String,
    }

    /// The volume that is attached.
    pub struct VolumeAttachmentSource {
        /// A PersistentVolume.
        #[prost(string, optional, tag = "1")]
        pub persistent_volume_name: Option<String>,
        /// A volume that a pod specifies inline.
        #[prost(message, optional, tag = "2")]
        pub inline_volume_spec: Option<PersistentVolumeSpec>,
    }

    /// `status` of a `VolumeAttachment`.
    pub struct VolumeAttachmentStatus {
        /// Whether the volume is attached.
        #[prost(bool, tag = "1")]
        pub attached: bool,
        /// The last error of attaching.
        #[prost(message, optional, tag = "3")]
        pub attach_error: Option<VolumeError>,
        /// The last error of detaching.
        #[prost(message, optional, tag = "4")]
        pub detach_error: Option<VolumeError>,
    }

    /// An error of attaching or detaching.
    pub struct VolumeError {
        /// The message.
        #[prost(string, tag = "2")]
        pub message: String,
    }
}

impl SlimObject for VolumeAttachment {
    fn lacks(&self) -> Option<&'static str> {
        let VolumeAttachmentSource { persistent_volume_name, inline_volume_spec } =
            &self.spec.source;
        match self.spec.attacher.is_empty() {
            true => Some("spec.attacher"),
            false => (persistent_volume_name.is_none() && inline_volume_spec.is_none())
                .then_some("spec.source"),
        }
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let source = match &spec.source {
            VolumeAttachmentSource { persistent_volume_name: Some(name), .. } => {
                AttachmentSource::Volume(name.as_str().into())
            }
            VolumeAttachmentSource { inline_volume_spec: Some(inline), .. } => {
                match backend::key(metadata, inline, folder) {
                    Some(key) => AttachmentSource::Inline {
                        driver: key.driver,
                        handle: (*key.handle).into(),
                    },
                    None => AttachmentSource::None,
                }
            }
            _ => AttachmentSource::None,
        };
        // An error without a message is still an error.
        let message =
            |error: &Option<VolumeError>| error.as_ref().map(|error| error.message.as_str().into());
        let row = Attachment {
            metadata: metadata.fold(folder),
            attacher: folder.text(&spec.attacher),
            node: folder.text(&spec.node_name),
            source,
            attached: status.attached,
            attach_error: message(&status.attach_error),
            detach_error: message(&status.detach_error),
        };
        Folded::Row(Row::Attachment(Box::new(row)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::super::AnyObject as _;
    use super::*;

    #[test]
    fn a_deletion_secret_is_named_by_both_annotations_or_not_at_all() {
        let (name, namespace) = (meta::DELETION_SECRET_NAME, meta::DELETION_SECRET_NAMESPACE);
        for (annotations, expected) in [
            (&[][..], None),
            (&[(name, "s")], None),
            (&[(namespace, "n")], None),
            (&[(name, ""), (namespace, "")], Some(("", ""))),
            (&[(name, "s"), (namespace, "")], Some(("", "s"))),
            (&[(name, "s"), (namespace, "n")], Some(("n", "s"))),
        ] {
            let annotations: Map<String, Value> =
                annotations.iter().map(|(key, it)| ((*key).to_owned(), json!(it))).collect();
            let volume = json!({"metadata": {"name": "pv-1", "annotations": annotations}});
            let volume: PersistentVolume = serde_json::from_value(volume).expect("a volume");
            let folded = volume.fold(&mut Folder::default()).expect("folds");
            let Folded::Row(Row::Volume(row)) = folded else { panic!("no volume: {folded:?}") };
            let secret = row.deletion_secret.map(|it| (it.namespace.clone(), it.name.clone()));
            let expected = expected.map(|(namespace, name)| (namespace.into(), name.into()));
            assert_eq!(secret, expected, "{annotations:?}");
        }
    }
}

//! `VolumeAttachment`.

use super::{
    Folded, Folder, ManagedMeta, SlimObject, backend, slim::slim,
    volume_source::PersistentVolumeSpec,
};
use crate::model::{Attachment, AttachmentSource, Row};

slim! {
    /// A `VolumeAttachment`.
    pub struct VolumeAttachment {
        /// Its metadata.
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
        /// Whether it is attached.
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

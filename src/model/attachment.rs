//! Volume attachments.

use super::{BackendKey, Metadata, ObjectRef, Text};

/// A `VolumeAttachment`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Name, finalizers, deletion.
    pub metadata: Metadata,
    /// `spec.attacher`: the CSI driver.
    pub attacher: Text,
    /// `spec.nodeName`.
    pub node: Text,
    /// `spec.source`.
    pub source: AttachmentSource,
    /// `status.attached`.
    pub attached: bool,
    /// `status.attachError.message`.
    pub attach_error: Option<Box<str>>,
    /// `status.detachError.message`.
    pub detach_error: Option<Box<str>>,
}

impl Attachment {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// What is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachmentSource {
    /// `spec.source.persistentVolumeName`.
    Volume(Box<str>),
    /// `spec.source.inlineVolumeSpec`: driver and handle.
    Inline { driver: Text, handle: Box<str> },
    /// Neither, which no server should send.
    None,
}

impl AttachmentSource {
    /// Returns the backend volume that it describes itself, if it does.
    pub fn backend(&self) -> Option<BackendKey> {
        match self {
            Self::Inline { driver, handle } => {
                Some(BackendKey { driver: Text::clone(driver), handle: (**handle).into() })
            }
            Self::Volume(_) | Self::None => None,
        }
    }
}

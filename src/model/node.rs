//! Nodes, the registration of CSI drivers on them (`CSIDriver` and `CSINode`), and volume attachments.

use super::{BackendKey, Metadata, ObjectRef, Text};

/// A `Node`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name and labels.
    pub metadata: Metadata,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// Taint `node.kubernetes.io/out-of-service` is present.
    pub out_of_service: bool,
    /// `spec.providerID`: the machine, as its provider names it. In a dump of an earlier version it is unknown, and not
    /// absent: `Cluster::has_identity`.
    pub provider_id: Option<Box<str>>,
    /// `status.volumesInUse` and the names in `status.volumesAttached`,
    /// such as `kubernetes.io/csi/ebs.csi.aws.com^vol-1`.
    pub volumes: Box<[Box<str>]>,
}

/// A `CSIDriver`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiDriver {
    /// Name, which is the driver's.
    pub metadata: Metadata,
    /// `spec.attachRequired`; the API server fills in `true`.
    pub attach_required: bool,
}

/// A `CSINode`, which lists the drivers that the kubelet of a node has registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiNode {
    /// Name, which is the node's.
    pub metadata: Metadata,
    /// Names of `spec.drivers`.
    pub drivers: Box<[Text]>,
}

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
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// The volume of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachmentSource {
    /// `spec.source.persistentVolumeName`.
    Volume(Box<str>),
    /// `spec.source.inlineVolumeSpec`: driver and handle.
    Inline { driver: Text, handle: Box<str> },
    /// Neither of both, which no server should send.
    None,
}

impl AttachmentSource {
    /// Returns the name of the `PersistentVolume`, if it references one.
    pub fn volume(&self) -> Option<&str> {
        match self {
            Self::Volume(name) => Some(name),
            Self::Inline { .. } | Self::None => None,
        }
    }

    /// Returns the backend volume that the attachment describes itself, if it does.
    pub fn backend(&self) -> Option<BackendKey> {
        match self {
            Self::Inline { driver, handle } => {
                Some(BackendKey { driver: Text::clone(driver), handle: (**handle).into() })
            }
            Self::Volume(_) | Self::None => None,
        }
    }
}

#[cfg(test)]
impl Attachment {
    /// Returns an attachment of a volume to a node.
    pub(crate) fn sample() -> Self {
        Self {
            metadata: Metadata::default(),
            attacher: "disk.example.com".into(),
            node: "node-1".into(),
            source: AttachmentSource::Volume("pv-1".into()),
            attached: true,
            attach_error: None,
            detach_error: None,
        }
    }
}

//! `metadata`, in three sizes: what names an object, what is judged of it, and the same with the
//! managers of its fields.

use bytes::{Buf, BufMut};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType, message, skip_field, string},
};
use serde::{Deserialize, Serialize};

use super::{
    Folder, Identity, Problem,
    entries::{AllowList, Entries, EveryKey},
    managed::{self, ManagedFields, Managers, Unmanaged},
    scalar::Timestamp,
    slim::{is_default, or_default, slim},
};
use crate::model::{Metadata, OwnerReference as Owner, Uid};

pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
pub(super) const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
pub(super) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
pub(super) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
pub(super) const DELETION_SECRET_NAME: &str =
    "volume.kubernetes.io/provisioner-deletion-secret-name";
pub(super) const DELETION_SECRET_NAMESPACE: &str =
    "volume.kubernetes.io/provisioner-deletion-secret-namespace";
pub(super) const SNAPSHOT_BEING_CREATED: &str =
    "snapshot.storage.kubernetes.io/volumesnapshot-being-created";
pub(super) const GROUP_BEING_CREATED: &str =
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created";
pub(super) const BACKEND_STATE: &str = "storage.kubectl.dev/backend-state";
const IGNORE: &str = "storage.kubectl.dev/ignore";
const KEEP_UNTIL: &str = "storage.kubectl.dev/keep-until";

/// The annotations that matter. Others can be large, such as `last-applied-configuration` with
/// up to 256 KiB, or private.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageAnnotations;

impl AllowList for StorageAnnotations {
    fn allows(key: &str) -> bool {
        matches!(
            key,
            PROVISIONED_BY
                | MIGRATED_TO
                | BOUND_BY_CONTROLLER
                | BIND_COMPLETED
                | DELETION_SECRET_NAME
                | DELETION_SECRET_NAMESPACE
                | SNAPSHOT_BEING_CREATED
                | GROUP_BEING_CREATED
                | "volume.kubernetes.io/selected-node"
                | "volume.kubernetes.io/storage-provisioner"
                | "volume.beta.kubernetes.io/storage-provisioner"
        ) || key.starts_with("storage.kubectl.dev/")
    }
}

slim! {
    /// What names an object, for kinds of which nothing else in `metadata` matters.
    pub struct BriefMeta {
        /// Its name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Its namespace; empty for cluster-wide kinds.
        #[prost(string, tag = "3")]
        pub namespace: String,
        /// Its uid.
        #[prost(string, tag = "5")]
        pub uid: String,
        /// Its version.
        #[prost(string, tag = "6")]
        pub resource_version: String,
        /// Since when it is terminating.
        #[prost(message, required, tag = "9")]
        pub deletion_timestamp: Timestamp,
    }

    /// One entry of `metadata.ownerReferences`.
    pub struct OwnerReference {
        /// `apiVersion` of the owner.
        #[prost(string, tag = "5")]
        pub api_version: String,
        /// `kind` of the owner.
        #[prost(string, tag = "1")]
        pub kind: String,
        /// Its name.
        #[prost(string, tag = "3")]
        pub name: String,
        /// Its uid.
        #[prost(string, tag = "4")]
        pub uid: String,
        /// Whether it is the managing controller.
        #[prost(bool, optional, tag = "6")]
        pub controller: Option<bool>,
    }

    /// The metadata of any object, whatever its kind.
    pub struct PartialObjectMetadata {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
    }
}

impl BriefMeta {
    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            namespace: &self.namespace,
            name: &self.name,
            resource_version: &self.resource_version,
        }
    }
}

/// `metadata` with what is judged of it. Its protobuf form is written by hand, since prost's
/// derive would store every annotation before one could drop it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[serde(bound(serialize = "M: Managers", deserialize = "M: Managers"))]
pub struct ObjectMeta<M = Unmanaged> {
    /// Its name.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Its namespace; empty for cluster-wide kinds.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: String,
    /// Its uid.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub uid: String,
    /// Its version.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub resource_version: String,
    /// When it was created.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub creation_timestamp: Timestamp,
    /// Since when it is terminating.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub deletion_timestamp: Timestamp,
    /// Its labels.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub labels: Entries<EveryKey>,
    /// Its annotations, those that matter.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub annotations: Entries<StorageAnnotations>,
    /// Its owners.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub owner_references: Vec<OwnerReference>,
    /// What keeps it from being deleted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub finalizers: Vec<String>,
    /// Who manages the fields that matter, for kinds where that matters.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub managed_fields: M,
}

/// `metadata` with the managers of its fields.
pub type ManagedMeta = ObjectMeta<ManagedFields>;

impl<M: Managers> ObjectMeta<M> {
    /// Returns the value of an annotation that matters.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key)
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            namespace: &self.namespace,
            name: &self.name,
            resource_version: &self.resource_version,
        }
    }

    pub(super) fn fold(&self, folder: &mut Folder) -> Result<Metadata, Problem> {
        let owner = |owner: &OwnerReference, folder: &mut Folder| Owner {
            api_version: folder.text(&owner.api_version),
            kind: folder.text(&owner.kind),
            name: owner.name.as_str().into(),
            uid: Uid::parse(&owner.uid),
            controller: owner.controller == Some(true),
        };
        let label = |(key, value), folder: &mut Folder| (folder.text(key), folder.text(value));
        Ok(Metadata {
            name: self.name.as_str().into(),
            uid: Uid::parse(&self.uid),
            resource_version: self.resource_version.as_str().into(),
            created: self.creation_timestamp.fold("metadata.creationTimestamp")?,
            deleting: self.deletion_timestamp.fold("metadata.deletionTimestamp")?,
            finalizers: self.finalizers.iter().map(|name| folder.text(name)).collect(),
            labels: self.labels.iter().map(|entry| label(entry, folder)).collect(),
            owners: self.owner_references.iter().map(|entry| owner(entry, folder)).collect(),
            managers: managed::fold(self.managed_fields.entries(), folder)?,
            ignore: self.annotation(IGNORE).map(Into::into),
            keep_until: self.annotation(KEEP_UNTIL).map(Into::into),
        })
    }
}

impl<M: Managers> Message for ObjectMeta<M> {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        for (tag, text) in self.texts() {
            string::encode(tag, text, buf);
        }
        message::encode(8, &self.creation_timestamp, buf);
        message::encode(9, &self.deletion_timestamp, buf);
        self.labels.encode(11, buf);
        self.annotations.encode(12, buf);
        message::encode_repeated(13, &self.owner_references, buf);
        string::encode_repeated(14, &self.finalizers, buf);
        message::encode_repeated(17, self.managed_fields.entries(), buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => string::merge(wire_type, &mut self.name, buf, ctx),
            3 => string::merge(wire_type, &mut self.namespace, buf, ctx),
            5 => string::merge(wire_type, &mut self.uid, buf, ctx),
            6 => string::merge(wire_type, &mut self.resource_version, buf, ctx),
            8 => message::merge(wire_type, &mut self.creation_timestamp, buf, ctx),
            9 => message::merge(wire_type, &mut self.deletion_timestamp, buf, ctx),
            11 => self.labels.merge(wire_type, buf, ctx),
            12 => self.annotations.merge(wire_type, buf, ctx),
            13 => message::merge_repeated(wire_type, &mut self.owner_references, buf, ctx),
            14 => string::merge_repeated(wire_type, &mut self.finalizers, buf, ctx),
            17 => self.managed_fields.merge(wire_type, tag, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        self.texts().map(|(tag, text)| string::encoded_len(tag, text)).iter().sum::<usize>()
            + message::encoded_len(8, &self.creation_timestamp)
            + message::encoded_len(9, &self.deletion_timestamp)
            + self.labels.encoded_len(11)
            + self.annotations.encoded_len(12)
            + message::encoded_len_repeated(13, &self.owner_references)
            + string::encoded_len_repeated(14, &self.finalizers)
            + message::encoded_len_repeated(17, self.managed_fields.entries())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<M> ObjectMeta<M> {
    /// The fields of text, by their tags. Go writes empty ones too.
    fn texts(&self) -> [(u32, &String); 4] {
        [(1, &self.name), (3, &self.namespace), (5, &self.uid), (6, &self.resource_version)]
    }
}

//! The source `csi` of volumes and of pods. Its protobuf form is written by hand, since most
//! attributes are not stored.

use bytes::{Buf, BufMut};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType, message, skip_field, string},
};
use serde::{Deserialize, Serialize};

use super::{
    Folder,
    entries::{AllowList, Entries},
    slim::{is_default, only_objects, or_default, slim},
};
use crate::{
    drivers::{self, PUBLISH_SECRET},
    model::{Attributes, BackendKey},
};

/// The attribute that csi-provisioner sets on every volume that it provisions.
pub(super) const PROVISIONER_IDENTITY: &str = "storage.kubernetes.io/csiProvisionerIdentity";

/// `csi`. Its protobuf form is written by hand, since most attributes are not stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct Csi {
    /// The driver.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub driver: String,
    /// The volume handle.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub volume_handle: String,
    /// The attributes that prove dynamic provisioning or decide what is mounted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub volume_attributes: Entries<VolumeAttributes>,
    /// The Secret with which nodes mount it, and some drivers delete it.
    #[serde(skip_serializing_if = "is_default")]
    pub node_publish_secret_ref: Option<SecretReference>,
}

slim! {
    /// A reference to a Secret in any namespace.
    pub struct SecretReference {
        /// Its name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Its namespace.
        #[prost(string, tag = "2")]
        pub namespace: String,
    }
}

/// `csi` of a pod's volume, which has no handle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct InlineCsi {
    /// The driver.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub driver: String,
    /// The attributes that decide what is mounted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub volume_attributes: Entries<VolumeAttributes>,
}

only_objects!(Csi);
only_objects!(InlineCsi);

/// Allows the attribute that proves dynamic provisioning, and those that decide what any known
/// driver mounts. Others may hold what nobody should read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeAttributes;

impl AllowList for VolumeAttributes {
    fn allows(key: &str) -> bool {
        key == PROVISIONER_IDENTITY || key != PUBLISH_SECRET && drivers::is_attribute(key)
    }
}

impl Csi {
    /// Returns the attributes that decide what a volume names.
    pub(super) fn attributes(&self, backend: &BackendKey, folder: &mut Folder) -> Attributes {
        let secret = self.node_publish_secret_ref.as_ref();
        let secret = secret.map(|it| format!("{}/{}", it.namespace, it.name));
        let secret = secret.as_deref().map(|it| (PUBLISH_SECRET, it));
        deciding(self.volume_attributes.iter().chain(secret), backend, folder)
    }
}

impl InlineCsi {
    /// Returns the attributes that decide what a volume names.
    pub(super) fn attributes(&self, backend: &BackendKey, folder: &mut Folder) -> Attributes {
        deciding(self.volume_attributes.iter(), backend, folder)
    }
}

fn deciding<'a>(
    attributes: impl Iterator<Item = (&'a str, &'a str)>,
    backend: &BackendKey,
    folder: &mut Folder,
) -> Attributes {
    let pairs = attributes.filter(|(key, _)| *key != PROVISIONER_IDENTITY);
    let pairs = pairs.map(|(key, value)| (folder.text(key), value.into()));
    drivers::attributes_that_matter(backend, pairs.collect())
}

impl Message for InlineCsi {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        string::encode(1, &self.driver, buf);
        self.volume_attributes.encode(4, buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => string::merge(wire_type, &mut self.driver, buf, ctx),
            4 => self.volume_attributes.merge(wire_type, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        string::encoded_len(1, &self.driver) + self.volume_attributes.encoded_len(4)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Message for Csi {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        string::encode(1, &self.driver, buf);
        string::encode(2, &self.volume_handle, buf);
        self.volume_attributes.encode(5, buf);
        if let Some(secret) = &self.node_publish_secret_ref {
            message::encode(8, secret, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => string::merge(wire_type, &mut self.driver, buf, ctx),
            2 => string::merge(wire_type, &mut self.volume_handle, buf, ctx),
            5 => self.volume_attributes.merge(wire_type, buf, ctx),
            8 => {
                let secret = self.node_publish_secret_ref.get_or_insert_default();
                message::merge(wire_type, secret, buf, ctx)
            }
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        let secret = self.node_publish_secret_ref.as_ref();
        string::encoded_len(1, &self.driver)
            + string::encoded_len(2, &self.volume_handle)
            + self.volume_attributes.encoded_len(5)
            + secret.map_or(0, |it| message::encoded_len(8, it))
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

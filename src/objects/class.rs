//! `StorageClass` and `VolumeAttributesClass`.

use bytes::{Buf, BufMut};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType, bool, message, skip_field, string},
};
use serde::{Deserialize, Serialize};

use super::{
    Folded, Folder, ObjectMeta, SlimObject,
    entries::{AllowList, Entries},
    meta,
    slim::{is_default, only_objects, or_default, slim},
};
use crate::{
    drivers,
    model::{self, Row},
};

/// A `StorageClass`. Its protobuf form is written by hand, since most parameters are not stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct StorageClass {
    /// Its metadata.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// The provisioner of its volumes.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub provisioner: String,
    /// The parameters that decide what deletion of its volumes does.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub parameters: Entries<ClassParameters>,
    /// The reclaim policy of its volumes.
    #[serde(skip_serializing_if = "is_default")]
    pub reclaim_policy: Option<String>,
    /// Whether its claims can be expanded.
    #[serde(skip_serializing_if = "is_default")]
    pub allow_volume_expansion: Option<bool>,
    /// When its volumes are provisioned and bound.
    #[serde(skip_serializing_if = "is_default")]
    pub volume_binding_mode: Option<String>,
}

only_objects!(StorageClass);

/// Allows the parameters that decide what any known driver deletes. Others may hold passwords.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassParameters;

impl AllowList for ClassParameters {
    fn allows(key: &str) -> bool {
        drivers::is_class_parameter(key)
    }
}

impl Message for StorageClass {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        message::encode(1, &self.metadata, buf);
        string::encode(2, &self.provisioner, buf);
        self.parameters.encode(3, buf);
        if let Some(policy) = &self.reclaim_policy {
            string::encode(4, policy, buf);
        }
        if let Some(allowed) = &self.allow_volume_expansion {
            bool::encode(6, allowed, buf);
        }
        if let Some(mode) = &self.volume_binding_mode {
            string::encode(7, mode, buf);
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
            1 => message::merge(wire_type, &mut self.metadata, buf, ctx),
            2 => string::merge(wire_type, &mut self.provisioner, buf, ctx),
            3 => self.parameters.merge(wire_type, buf, ctx),
            4 => string::merge(wire_type, self.reclaim_policy.get_or_insert_default(), buf, ctx),
            6 => {
                let allowed = self.allow_volume_expansion.get_or_insert_default();
                bool::merge(wire_type, allowed, buf, ctx)
            }
            7 => {
                string::merge(wire_type, self.volume_binding_mode.get_or_insert_default(), buf, ctx)
            }
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        let text =
            |tag, it: &Option<String>| it.as_ref().map_or(0, |it| string::encoded_len(tag, it));
        message::encoded_len(1, &self.metadata)
            + string::encoded_len(2, &self.provisioner)
            + self.parameters.encoded_len(3)
            + text(4, &self.reclaim_policy)
            + self.allow_volume_expansion.as_ref().map_or(0, |it| bool::encoded_len(6, it))
            + text(7, &self.volume_binding_mode)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

slim! {
    /// A `VolumeAttributesClass`.
    pub struct VolumeAttributesClass {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The driver that it applies to.
        #[prost(string, tag = "2")]
        pub driver_name: String,
    }
}

impl SlimObject for StorageClass {
    fn lacks(&self) -> Option<&'static str> {
        self.provisioner.is_empty().then_some("provisioner")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::StorageClass {
            metadata: self.metadata.fold(folder),
            provisioner: folder.text(&self.provisioner),
            parameters: self
                .parameters
                .iter()
                .map(|(key, value)| (folder.text(key), folder.text(value)))
                .collect(),
            reclaim_policy: self.reclaim_policy.as_ref().map(|policy| folder.text(policy)),
            is_default: [meta::DEFAULT_CLASS, meta::BETA_DEFAULT_CLASS]
                .iter()
                .any(|key| self.metadata.annotation(key) == Some("true")),
            waits_for_consumer: self.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
            allows_expansion: self.allow_volume_expansion == Some(true),
        };
        Folded::Row(Row::Class(Box::new(row)))
    }
}

impl SlimObject for VolumeAttributesClass {
    fn lacks(&self) -> Option<&'static str> {
        self.driver_name.is_empty().then_some("driverName")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::AttributesClass {
            metadata: self.metadata.fold(folder),
            driver: folder.text(&self.driver_name),
        };
        Folded::Row(Row::AttributesClass(Box::new(row)))
    }
}

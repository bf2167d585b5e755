//! `StorageClass` and `VolumeAttributesClass`.

use super::{FieldProblem, Folded, Folder, ObjectMeta, SlimObject, meta, slim::slim};
use crate::model::{self, Row};

slim! {
    /// A `StorageClass`.
    pub struct StorageClass {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The provisioner of its volumes.
        #[prost(string, tag = "2")]
        pub provisioner: String,
        /// The reclaim policy of its volumes.
        #[prost(string, optional, tag = "4")]
        pub reclaim_policy: Option<String>,
        /// Whether its claims can be expanded.
        #[prost(bool, optional, tag = "6")]
        pub allow_volume_expansion: Option<bool>,
        /// When its volumes are provisioned and bound.
        #[prost(string, optional, tag = "7")]
        pub volume_binding_mode: Option<String>,
    }

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
    fn row(&self, folder: &mut Folder) -> Result<Folded, FieldProblem> {
        let row = model::StorageClass {
            metadata: self.metadata.fold(folder)?,
            provisioner: folder.text(&self.provisioner),
            reclaim_policy: self.reclaim_policy.as_ref().map(|policy| folder.text(policy)),
            is_default: [meta::DEFAULT_CLASS, meta::BETA_DEFAULT_CLASS]
                .iter()
                .any(|key| self.metadata.annotation(key) == Some("true")),
            waits_for_consumer: self.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
            allows_expansion: self.allow_volume_expansion == Some(true),
        };
        Ok(Folded::Row(Row::Class(Box::new(row))))
    }
}

impl SlimObject for VolumeAttributesClass {
    fn row(&self, folder: &mut Folder) -> Result<Folded, FieldProblem> {
        let row = model::AttributesClass {
            metadata: self.metadata.fold(folder)?,
            driver: folder.text(&self.driver_name),
        };
        Ok(Folded::Row(Row::AttributesClass(Box::new(row))))
    }
}

//! `StorageClass`.

use super::{Folded, Folder, Identity, Object, ObjectMeta, Problem, slim::slim};
use crate::model::{self, Kind, Row};

slim! {
    /// A `StorageClass`.
    pub struct StorageClass {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// Who makes its volumes.
        #[prost(string, tag = "2")]
        pub provisioner: String,
        /// The reclaim policy of the volumes that are made.
        #[prost(string, optional, tag = "4")]
        pub reclaim_policy: Option<String>,
    }
}

impl Object for StorageClass {
    const KIND: Kind = Kind::StorageClass;

    fn identity(&self) -> Identity<'_> {
        self.metadata.identity()
    }

    fn row(&self, folder: &mut Folder) -> Result<Folded, Problem> {
        let row = model::StorageClass {
            metadata: self.metadata.fold(folder)?,
            provisioner: folder.text(&self.provisioner),
            reclaim_policy: self.reclaim_policy.as_ref().map(|policy| folder.text(policy)),
        };
        Ok(Folded::Row(Row::Class(Box::new(row))))
    }
}

//! `CSIDriver` and `CSINode`.

use super::{Folded, Folder, ObjectMeta, SlimObject, slim::slim};
use crate::model::{self, Row};

slim! {
    /// A `CSIDriver`.
    pub struct CsiDriver {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The properties of the driver.
        #[prost(message, required, tag = "2")]
        pub spec: CsiDriverSpec,
    }

    /// `spec` of a driver.
    pub struct CsiDriverSpec {
        /// Whether volumes have to be attached to nodes; the API server sets `true` by default.
        #[prost(bool, optional, tag = "1")]
        pub attach_required: Option<bool>,
    }

    /// A `CSINode`.
    pub struct CsiNode {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The drivers of the node.
        #[prost(message, required, tag = "2")]
        pub spec: CsiNodeSpec,
    }

    /// `spec` of a `CSINode`.
    pub struct CsiNodeSpec {
        /// The drivers that its kubelet has registered.
        #[prost(message, repeated, tag = "1")]
        pub drivers: Vec<CsiNodeDriver>,
    }

    /// A driver that a kubelet has registered.
    pub struct CsiNodeDriver {
        /// Its name.
        #[prost(string, tag = "1")]
        pub name: String,
    }
}

impl SlimObject for CsiDriver {
    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::CsiDriver {
            metadata: self.metadata.fold(folder),
            attach_required: self.spec.attach_required != Some(false),
        };
        Folded::Row(Row::CsiDriver(Box::new(row)))
    }
}

impl SlimObject for CsiNode {
    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::CsiNode {
            metadata: self.metadata.fold(folder),
            drivers: folder.texts(self.spec.drivers.iter().map(|driver| &driver.name)),
        };
        Folded::Row(Row::CsiNode(Box::new(row)))
    }
}

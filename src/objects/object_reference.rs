//! `ObjectReference`: a reference to one object, such as `spec.claimRef`.

use super::{Folder, slim::slim};
use crate::model::{ClaimKey, ClaimRef, Uid};

slim! {
    /// A reference to an object.
    pub struct ObjectReference {
        /// Its kind.
        #[prost(string, tag = "1")]
        pub kind: String,
        /// Its namespace.
        #[prost(string, tag = "2")]
        pub namespace: String,
        /// Its name.
        #[prost(string, tag = "3")]
        pub name: String,
        /// Its uid.
        #[prost(string, tag = "4")]
        pub uid: String,
        /// Its API group and version.
        #[prost(string, tag = "5")]
        pub api_version: String,
    }
}

impl ObjectReference {
    /// Returns the reference as one to a claim, whatever its kind.
    pub(super) fn fold_claim(&self, folder: &mut Folder) -> ClaimRef {
        let namespace = folder.text(&self.namespace);
        ClaimRef {
            key: ClaimKey { namespace, name: self.name.as_str().into() },
            uid: Uid::parse(&self.uid),
        }
    }
}

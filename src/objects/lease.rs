//! `Lease`.

use super::{
    FieldProblem, Folded, Folder, ObjectMeta, SlimObject, scalar::Timestamp, slim::slim, unshared,
};
use crate::model::{self, Row};

slim! {
    /// A `Lease`.
    pub struct Lease {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// Who holds it.
        #[prost(message, required, tag = "2")]
        pub spec: LeaseSpec,
    }

    /// `spec` of a lease.
    pub struct LeaseSpec {
        /// Who holds it.
        #[prost(string, optional, tag = "1")]
        pub holder_identity: Option<String>,
        /// For how long, unless it is renewed.
        #[prost(int32, optional, tag = "2")]
        pub lease_duration_seconds: Option<i32>,
        /// When it was last renewed.
        #[prost(message, required, tag = "4")]
        pub renew_time: Timestamp,
    }
}

/// Where kubelets keep one lease each, renewed every few seconds: none of a storage controller.
const NODE_LEASES: &str = "kube-node-lease";

impl SlimObject for Lease {
    fn row(&self, folder: &mut Folder) -> Result<Folded, FieldProblem> {
        let Self { metadata, spec } = self;
        if metadata.namespace == NODE_LEASES {
            return Ok(Folded::Counted);
        }
        let row = model::Lease {
            metadata: metadata.fold(folder)?,
            namespace: folder.text(&metadata.namespace),
            // A holder that lets go leaves an empty name.
            holder: spec.holder_identity.as_deref().and_then(unshared),
            renewed: spec.renew_time.fold("spec.renewTime")?,
            // The API server takes positive ones only.
            duration_seconds: spec
                .lease_duration_seconds
                .and_then(|seconds| u32::try_from(seconds).ok()),
        };
        Ok(Folded::Row(Row::Lease(Box::new(row))))
    }
}

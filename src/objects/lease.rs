//! `Lease`.

use super::{Folded, Folder, ObjectMeta, SlimObject, scalar::Timestamp, slim::slim, unshared};
use crate::model::{self, Row};

slim! {
    /// A `Lease`.
    pub struct Lease {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: LeaseSpec,
    }

    /// `spec` of a lease.
    pub struct LeaseSpec {
        /// The identity of the holder.
        #[prost(string, optional, tag = "1")]
        pub holder_identity: Option<String>,
        /// For how long it is valid unless it is renewed.
        #[prost(int32, optional, tag = "2")]
        pub lease_duration_seconds: Option<i32>,
        /// When it was last renewed.
        #[prost(message, required, tag = "4")]
        pub renew_time: Timestamp,
    }
}

/// The namespace of the kubelets' leases, which are renewed every few seconds and have no rows.
const NODE_LEASES: &str = "kube-node-lease";

impl SlimObject for Lease {
    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec } = self;
        if metadata.namespace == NODE_LEASES {
            return Folded::Counted;
        }
        let row = model::Lease {
            metadata: metadata.fold(folder),
            namespace: folder.text(&metadata.namespace),
            // A holder that releases the lease leaves an empty identity.
            holder: spec.holder_identity.as_deref().and_then(unshared),
            renewed: spec.renew_time.fold_present("spec.renewTime", folder),
            // The API server accepts only positive durations.
            duration_seconds: spec
                .lease_duration_seconds
                .and_then(|seconds| u32::try_from(seconds).ok()),
            read: model::LeaseMoment::default(),
        };
        Folded::Row(Row::Lease(Box::new(row)))
    }
}

//! `PersistentVolumeClaim`.

use std::collections::BTreeMap;

use super::{
    Folded, Folder, Identity, ManagedMeta, Object, Problem, meta,
    scalar::{Quantity, storage},
    slim::slim,
    unshared,
};
use crate::model::{Claim, ClaimPhase, Kind, Row};

slim! {
    /// A `PersistentVolumeClaim`.
    pub struct PersistentVolumeClaim {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ManagedMeta,
        /// What it asks for.
        #[prost(message, required, tag = "2")]
        pub spec: PersistentVolumeClaimSpec,
        /// What it got.
        #[prost(message, required, tag = "3")]
        pub status: PersistentVolumeClaimStatus,
    }

    /// `spec` of a claim.
    pub struct PersistentVolumeClaimSpec {
        /// How much it asks for.
        #[prost(message, required, tag = "2")]
        pub resources: VolumeResourceRequirements,
        /// The volume that it is bound to.
        #[prost(string, tag = "3")]
        pub volume_name: String,
        /// The class that it asks for; empty is not the same as absent.
        #[prost(string, optional, tag = "5")]
        pub storage_class_name: Option<String>,
    }

    /// How much a claim asks for.
    pub struct VolumeResourceRequirements {
        /// The size, under `storage`.
        #[prost(btree_map = "string, message", tag = "2")]
        pub requests: BTreeMap<String, Quantity>,
    }

    /// `status` of a claim.
    pub struct PersistentVolumeClaimStatus {
        /// Its phase.
        #[prost(string, tag = "1")]
        pub phase: String,
    }
}

impl Object for PersistentVolumeClaim {
    const KIND: Kind = Kind::PersistentVolumeClaim;

    fn identity(&self) -> Identity<'_> {
        self.metadata.identity()
    }

    fn row(&self, folder: &mut Folder) -> Result<Folded, Problem> {
        let Self { metadata, spec, status } = self;
        let row = Claim {
            metadata: metadata.fold(folder)?,
            namespace: folder.text(&metadata.namespace),
            phase: match status.phase.as_str() {
                "" | "Pending" => ClaimPhase::Pending,
                "Bound" => ClaimPhase::Bound,
                "Lost" => ClaimPhase::Lost,
                other => ClaimPhase::Other(folder.text(other)),
            },
            volume_name: unshared(&spec.volume_name),
            class: spec.storage_class_name.as_ref().map(|class| folder.text(class)),
            bind_completed: metadata.annotation(meta::BIND_COMPLETED).is_some(),
            requested: storage(&spec.resources.requests, "spec.resources.requests.storage")?,
        };
        Ok(Folded::Row(Row::Claim(Box::new(row))))
    }
}

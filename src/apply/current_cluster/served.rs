//! Objects of kinds that may be served in another version than the one that is known, and may not
//! exist yet.

use serde_json::Value;

use super::{CurrentCluster, ReadAgainError, claim_of};
use crate::client::ReadError;
use crate::model::{Kind, ObjectKey, ObjectRef, Text, Uid};
use crate::remedies::snapshot_first;

impl CurrentCluster {
    /// Returns the snapshot that is taken of a claim before it is deleted, and before the data of
    /// its volume is destroyed, whether it exists or not.
    pub(super) fn first_snapshot(&self, object: &ObjectRef, live: &Value) -> Option<ObjectKey> {
        let wanted = self.settings.snapshot_first.as_ref()?;
        let claim = match object.key.kind {
            Kind::PersistentVolumeClaim => object.clone(),
            Kind::PersistentVolume => ObjectRef {
                key: claim_of(live)?,
                uid: live["spec"]["claimRef"]["uid"].as_str().and_then(Uid::parse),
            },
            _ => return None,
        };
        Some(snapshot_first::key(wanted, &claim))
    }

    /// Reads an object, in the version that the server prefers.
    pub(in crate::apply) async fn read(&self, key: &ObjectKey) -> Result<Option<Value>, ReadError> {
        self.get_in(key, &self.version_of(key.kind)).await
    }

    /// Reads an object again without those that it references, and takes it in.
    pub(in crate::apply) async fn read_alone(
        &self,
        object: &ObjectRef,
    ) -> Result<Option<Value>, ReadAgainError> {
        let live = self.read(&object.key).await?;
        // What the watches bring may be older than what was just read, and is taken in first.
        self.catch_up()?;
        self.take_in(&object.key, live.as_ref())?;
        Ok(live)
    }

    /// Returns the version of a kind that the server prefers.
    pub(super) fn version_of(&self, kind: Kind) -> Text {
        self.state.borrow().intake.cluster.version_of(kind).into()
    }
}

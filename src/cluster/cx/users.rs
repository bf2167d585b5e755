//! Looking at who uses a claim or a volume, besides pods that run.

use super::{Cx, Lookup};
use crate::cluster::Seen;
use crate::model::{Claim, ClaimKey, Kind, StorageClass, Text, Volume, VolumeSnapshot, Workload};

impl<'a> Cx<'a> {
    /// Returns the workloads whose template names a claim, at any number of replicas.
    ///
    /// # Errors
    /// When a kind of workloads was not seen in that namespace, and none of another kind was found:
    /// one user is proof enough of use.
    pub fn workloads_of(&self, key: &ClaimKey) -> Seen<Vec<&'a Workload>> {
        self.note(|| Lookup::WorkloadsOf(key.clone()));
        let ids = self.cluster.indexes.workloads_by_claim.candidates((&*key.namespace, &*key.name));
        let mut rows: Vec<_> = ids
            .filter_map(|id| self.cluster.workloads.get(id))
            .filter(|row| row.namespace == key.namespace && row.claims.contains(&key.name))
            .collect();
        if rows.is_empty() {
            for kind in Kind::WORKLOADS {
                self.cluster.reach(kind, Some(&key.namespace))?;
            }
        }
        rows.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        Ok(rows)
    }

    /// Returns the claims that are to be filled, or were filled, from a claim.
    ///
    /// # Errors
    /// When claims were not seen in every namespace: a source may be in another one.
    pub fn claims_from(&self, key: &ClaimKey) -> Seen<Vec<&'a Claim>> {
        self.note(|| Lookup::ClaimsFrom(key.clone()));
        self.cluster.reach(Kind::PersistentVolumeClaim, Some(&key.namespace))?;
        let kind = Kind::PersistentVolumeClaim.name();
        let wanted = (kind, &*key.namespace, &*key.name);
        let ids = self.cluster.indexes.claims_by_source.candidates(wanted);
        let is_from = |claim: &&Claim| {
            claim.source.as_ref().is_some_and(|source| {
                let namespace = source.namespace.as_ref().unwrap_or(&claim.namespace);
                &*source.kind == kind && source.name == key.name && *namespace == key.namespace
            })
        };
        let mut claims: Vec<_> =
            ids.filter_map(|id| self.cluster.claims.get(id)).filter(is_from).collect();
        claims.sort_by(|a, b| {
            (&a.namespace, &a.metadata.name).cmp(&(&b.namespace, &b.metadata.name))
        });
        Ok(claims)
    }

    /// Returns the `VolumeSnapshot`s that are or were taken of a claim.
    ///
    /// # Errors
    /// When the kind is served and was not seen in that namespace.
    pub fn volume_snapshots_of(&self, key: &ClaimKey) -> Seen<Vec<&'a VolumeSnapshot>> {
        self.note(|| Lookup::VolumeSnapshotsOf(key.clone()));
        self.cluster.reach(Kind::VolumeSnapshot, Some(&key.namespace))?;
        let wanted = (&*key.namespace, &*key.name);
        let ids = self.cluster.indexes.volume_snapshots_by_claim.candidates(wanted);
        let is_of = |row: &&VolumeSnapshot| {
            row.namespace == key.namespace && row.source_claim.as_deref() == Some(&*key.name)
        };
        let mut rows: Vec<_> =
            ids.filter_map(|id| self.cluster.volume_snapshots.get(id)).filter(is_of).collect();
        rows.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(rows)
    }

    /// Returns a `VolumeSnapshot` by name; `Ok(None)` when it is known to be absent.
    ///
    /// # Errors
    /// When the kind is served and was not seen in that namespace, or its absence is not proven.
    pub fn volume_snapshot(
        &self,
        namespace: &Text,
        name: &str,
    ) -> Seen<Option<&'a VolumeSnapshot>> {
        self.note(|| Lookup::VolumeSnapshot(Text::clone(namespace), name.into()));
        let kind = Kind::VolumeSnapshot;
        if let Some(id) = self.cluster.volume_snapshots.find(kind, namespace, name) {
            return Ok(self.cluster.volume_snapshots.get(id));
        }
        self.absent(kind, Some(namespace), name, Kind::VolumeSnapshotContent)?;
        Ok(None)
    }

    /// Returns the volume that an attachment names; `Ok(None)` when it is known to be absent.
    ///
    /// # Errors
    /// When volumes were not seen, or the absence is not proven.
    pub fn attached_volume(&self, name: &str) -> Seen<Option<&'a Volume>> {
        self.note(|| Lookup::AttachedVolume(name.into()));
        let kind = Kind::PersistentVolume;
        if let Some(id) = self.cluster.volumes.find(kind, "", name) {
            return Ok(self.cluster.volumes.get(id));
        }
        self.absent(kind, None, name, Kind::VolumeAttachment)?;
        Ok(None)
    }

    // --- classes ---------------------------------------------------------------------------

    /// Returns the storage class that a claim asks for; `Ok(None)` when it is known to be absent.
    ///
    /// # Errors
    /// When classes were not seen, or the absence is not proven.
    pub fn claimed_class(&self, name: &Text) -> Seen<Option<&'a StorageClass>> {
        self.note(|| Lookup::ClaimedClass(Text::clone(name)));
        let kind = Kind::StorageClass;
        if let Some(id) = self.cluster.classes.find(kind, "", name) {
            return Ok(self.cluster.classes.get(id));
        }
        self.absent(kind, None, name, Kind::PersistentVolumeClaim)?;
        Ok(None)
    }

    /// Returns all storage classes, in the order of their names.
    ///
    /// # Errors
    /// When classes were not seen.
    pub fn all_classes(&self) -> Seen<Vec<&'a StorageClass>> {
        self.note(|| Lookup::Classes);
        self.all_of(Kind::StorageClass)?;
        let mut rows: Vec<_> = self.cluster.classes.iter().map(|(_, row)| row).collect();
        rows.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(rows)
    }

    /// Returns the pending claims that ask for no class, and wait for a default one.
    ///
    /// # Errors
    /// When claims were not seen.
    pub fn classless_claims(&self) -> Seen<Vec<&'a Claim>> {
        self.note(|| Lookup::ClasslessClaims);
        self.all_of(Kind::PersistentVolumeClaim)?;
        let ids = self.cluster.indexes.classless_claims.iter();
        Ok(ids.filter_map(|id| self.cluster.claims.get(*id)).collect())
    }

    /// Returns the claims and the volumes that name a volume attributes class.
    ///
    /// # Errors
    /// When either kind was not seen.
    pub fn users_of_attributes(&self, name: &str) -> Seen<(Vec<&'a Claim>, Vec<&'a Volume>)> {
        self.note(|| Lookup::UsersOfAttributes(name.into()));
        self.all_of(Kind::PersistentVolumeClaim)?;
        self.all_of(Kind::PersistentVolume)?;
        let indexes = &self.cluster.indexes;
        let claims = indexes.claims_by_attributes.candidates(name);
        let mut claims: Vec<_> = claims
            .filter_map(|id| self.cluster.claims.get(id))
            .filter(|claim| claim.attributes_class.as_deref() == Some(name))
            .collect();
        claims.sort_by_key(|claim| claim.key());
        let volumes = indexes.volumes_by_attributes.candidates(name);
        let mut volumes: Vec<_> = volumes
            .filter_map(|id| self.cluster.volumes.get(id))
            .filter(|volume| volume.attributes_class.as_deref() == Some(name))
            .collect();
        volumes.sort_by(|a, b| a.name().cmp(b.name()));
        Ok((claims, volumes))
    }
}

//! Lookups of what uses claims, volumes and classes, besides pods.

use super::{Cx, Lookup};
use crate::cluster::Seen;
use crate::model::{
    Claim, ClaimKey, Kind, SnapshotClass, StorageClass, Text, Volume, VolumeSnapshot, Workload,
};

impl<'a> Cx<'a> {
    /// Returns the workloads whose template references a claim, at any number of replicas.
    ///
    /// # Errors
    /// When a kind of workloads was not read in that namespace, and none of another kind was found:
    /// one user proves use.
    pub fn workloads_of(&self, key: &ClaimKey) -> Seen<Vec<&'a Workload>> {
        self.note(|| Lookup::WorkloadsOf(key.clone()));
        let ids = self.cluster.indexes.workloads_by_claim.candidates((&*key.namespace, &*key.name));
        let mut rows = self.matching(ids, |row: &Workload| {
            row.namespace == key.namespace && row.claims.contains(&key.name)
        })?;
        if rows.is_empty() {
            for kind in Kind::WORKLOADS {
                self.cluster.reach(kind, Some(&key.namespace))?;
            }
        }
        rows.sort_by_key(|row| row.kind);
        Ok(rows)
    }

    /// Returns the claims that have a claim as their data source.
    ///
    /// # Errors
    /// When claims were not read in every namespace: a source may be in another one.
    pub fn claims_from(&self, key: &ClaimKey) -> Seen<Vec<&'a Claim>> {
        self.note(|| Lookup::ClaimsFrom(key.clone()));
        self.cluster.reach(Kind::PersistentVolumeClaim, Some(&key.namespace))?;
        let kind = Kind::PersistentVolumeClaim.name();
        let wanted = (kind, &*key.namespace, &*key.name);
        let ids = self.cluster.indexes.claims_by_source.candidates(wanted);
        self.matching(ids, |claim: &Claim| {
            claim.source.as_ref().is_some_and(|source| {
                let namespace = source.namespace.as_ref().unwrap_or(&claim.namespace);
                &*source.kind == kind && source.name == key.name && *namespace == key.namespace
            })
        })
    }

    /// Returns the claims that have a `VolumeSnapshot` as their data source.
    ///
    /// # Errors
    /// When claims were not read in every namespace: a source may be in another one.
    pub fn claims_restored_from(&self, namespace: &Text, name: &str) -> Seen<Vec<&'a Claim>> {
        self.note(|| Lookup::ClaimsRestoredFrom(Text::clone(namespace), name.into()));
        self.all_of(Kind::PersistentVolumeClaim)?;
        let kind = Kind::VolumeSnapshot.name();
        let ids = self.cluster.indexes.claims_by_source.candidates((kind, &**namespace, name));
        self.matching(ids, |claim: &Claim| {
            claim.source.as_ref().is_some_and(|source| {
                let place = source.namespace.as_ref().unwrap_or(&claim.namespace);
                &*source.kind == kind && &*source.name == name && place == namespace
            })
        })
    }

    /// Returns the `VolumeSnapshot`s that are or were taken of a claim.
    ///
    /// # Errors
    /// When the kind is served and was not read in that namespace.
    pub fn volume_snapshots_of(&self, key: &ClaimKey) -> Seen<Vec<&'a VolumeSnapshot>> {
        self.note(|| Lookup::VolumeSnapshotsOf(key.clone()));
        self.cluster.reach(Kind::VolumeSnapshot, Some(&key.namespace))?;
        let wanted = (&*key.namespace, &*key.name);
        let ids = self.cluster.indexes.volume_snapshots_by_claim.candidates(wanted);
        self.matching(ids, |row: &VolumeSnapshot| {
            row.namespace == key.namespace && row.source_claim.as_deref() == Some(&*key.name)
        })
    }

    /// Returns a `VolumeSnapshot` by name; `Ok(None)` if it is known to be absent.
    ///
    /// # Errors
    /// When the kind is served and was not read in that namespace, or its absence is not proven.
    pub fn volume_snapshot(
        &self,
        namespace: &Text,
        name: &str,
    ) -> Seen<Option<&'a VolumeSnapshot>> {
        self.note(|| Lookup::VolumeSnapshot(Text::clone(namespace), name.into()));
        self.by_name(Kind::VolumeSnapshot, Some(namespace), name, Kind::VolumeSnapshotContent)
    }

    /// Returns the volume that an attachment references; `Ok(None)` if it is known to be absent.
    ///
    /// # Errors
    /// When volumes were not read, or the absence is not proven.
    pub fn attached_volume(&self, name: &str) -> Seen<Option<&'a Volume>> {
        self.note(|| Lookup::AttachedVolume(name.into()));
        self.by_name(Kind::PersistentVolume, None, name, Kind::VolumeAttachment)
    }

    // --- classes ---------------------------------------------------------------------------

    /// Returns the storage class that a claim references; `Ok(None)` if it is known to be absent.
    ///
    /// # Errors
    /// When classes were not read, or the absence is not proven.
    pub fn claimed_class(&self, name: &Text) -> Seen<Option<&'a StorageClass>> {
        self.note(|| Lookup::ClaimedClass(Text::clone(name)));
        self.by_name(Kind::StorageClass, None, name, Kind::PersistentVolumeClaim)
    }

    /// Returns all storage classes, in the order of their names.
    ///
    /// # Errors
    /// When classes were not read.
    pub fn all_classes(&self) -> Seen<Vec<&'a StorageClass>> {
        self.note(|| Lookup::Classes);
        self.all_of(Kind::StorageClass)?;
        let mut rows: Vec<_> = self.cluster.tables.classes.iter().map(|(_, row)| row).collect();
        rows.iter().try_for_each(|row| self.legible(*row))?;
        rows.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(rows)
    }

    /// Returns all `VolumeSnapshotClasses`, in the order of their names.
    ///
    /// # Errors
    /// When they were not read.
    pub fn snapshot_classes(&self) -> Seen<Vec<&'a SnapshotClass>> {
        self.note(|| Lookup::SnapshotClasses);
        self.all_of(Kind::VolumeSnapshotClass)?;
        let classes = self.cluster.tables.snapshot_classes.iter();
        let mut rows: Vec<_> = classes.map(|(_, row)| row).collect();
        rows.iter().try_for_each(|row| self.legible(*row))?;
        rows.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(rows)
    }

    /// Returns the Pending claims without a class, which wait for a default class.
    ///
    /// # Errors
    /// When claims were not read.
    pub fn classless_claims(&self) -> Seen<Vec<&'a Claim>> {
        self.note(|| Lookup::ClasslessClaims);
        self.all_of(Kind::PersistentVolumeClaim)?;
        let ids = self.cluster.indexes.classless_claims.iter();
        let claims = ids.filter_map(|id| self.cluster.tables.claims.get(*id));
        claims.map(|claim| self.legible(claim).map(|()| claim)).collect()
    }

    /// Returns the claims and the volumes that reference a volume attributes class.
    ///
    /// # Errors
    /// When either kind was not read.
    pub fn users_of_attributes(&self, name: &str) -> Seen<(Vec<&'a Claim>, Vec<&'a Volume>)> {
        self.note(|| Lookup::UsersOfAttributes(name.into()));
        self.all_of(Kind::PersistentVolumeClaim)?;
        self.all_of(Kind::PersistentVolume)?;
        let indexes = &self.cluster.indexes;
        let claims = indexes.claims_by_attributes.candidates(name);
        let claims =
            self.matching(claims, |row: &Claim| row.attributes_class.as_deref() == Some(name))?;
        let volumes = indexes.volumes_by_attributes.candidates(name);
        let volumes =
            self.matching(volumes, |row: &Volume| row.attributes_class.as_deref() == Some(name))?;
        Ok((claims, volumes))
    }
}

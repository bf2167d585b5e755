//! Lookups of the users of claims, volumes and classes, and of the claims and pods of `StatefulSet`s.

use super::super::Seen;
use super::{Cx, Lookup};
use crate::model::{
    Autoscaler, Claim, ClaimKey, Kind, ObjectKey, ObjectRef, PodUse, SnapshotClass, StatefulSet,
    StorageClass, Text, Volume, VolumeSnapshot, Workload, split_ordinal,
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

impl<'a> Cx<'a> {
    /// Returns a set by name; `Ok(None)` if none of that name was read.
    ///
    /// # Errors
    /// When sets of that namespace were not read.
    pub fn set(&self, namespace: &Text, name: &str) -> Seen<Option<&'a StatefulSet>> {
        self.note(|| Lookup::Set(Text::clone(namespace), name.into()));
        self.cluster.legible(Kind::StatefulSet, namespace, name)?;
        if let Some(id) = self.cluster.tables.workloads.find(Kind::StatefulSet, namespace, name) {
            return Ok(self.cluster.set_at(id));
        }
        self.cluster.reach(Kind::StatefulSet, Some(namespace))?;
        Ok(None)
    }

    /// Returns the sets with a claim template such that their claims are called `<stem>-<ordinal>`,
    /// each with the template's name. There is one, or none; more when names are ambiguous.
    ///
    /// # Errors
    /// When sets of that namespace were not read.
    pub fn sets_of_stem(
        &self,
        namespace: &Text,
        stem: &str,
    ) -> Seen<Vec<(&'a StatefulSet, &'a Text)>> {
        self.note(|| Lookup::SetsOfStem(Text::clone(namespace), stem.into()));
        self.cluster.reach(Kind::StatefulSet, Some(namespace))?;
        let ids = self.cluster.indexes.sets_by_stem.candidates((&**namespace, stem));
        let mut sets: Vec<_> = ids
            .filter_map(|id| self.cluster.set_at(id))
            .filter(|set| set.namespace == *namespace)
            .flat_map(|set| set.templates.iter().map(move |template| (set, &template.name)))
            .filter(|(set, template)| {
                let rest = stem.strip_prefix(&***template).and_then(|it| it.strip_prefix('-'));
                rest == Some(&*set.metadata.name)
            })
            .collect();
        sets.iter().try_for_each(|(set, _)| {
            self.cluster.legible(Kind::StatefulSet, &set.namespace, &set.metadata.name)
        })?;
        sets.sort_by(|a, b| (&a.0.metadata.name, a.1).cmp(&(&b.0.metadata.name, b.1)));
        Ok(sets)
    }

    /// Returns the claims called `<stem>-<ordinal>`, in the order of their ordinals.
    ///
    /// # Errors
    /// When claims of that namespace were not read.
    pub fn claims_of_stem(&self, namespace: &Text, stem: &str) -> Seen<Vec<(i32, &'a Claim)>> {
        self.note(|| Lookup::ClaimsOfStem(Text::clone(namespace), stem.into()));
        self.cluster.reach(Kind::PersistentVolumeClaim, Some(namespace))?;
        let ids = self.cluster.indexes.claims_by_stem.candidates((&**namespace, stem));
        let mut claims: Vec<_> = ids
            .filter_map(|id| self.cluster.tables.claims.get(id))
            .filter(|claim| claim.namespace == *namespace)
            .filter_map(|claim| match split_ordinal(&claim.metadata.name) {
                Some((known, ordinal)) if known == stem => Some((ordinal, claim)),
                _ => None,
            })
            .collect();
        claims.iter().try_for_each(|(_, claim)| self.legible(*claim))?;
        claims.sort_by_key(|(ordinal, _)| *ordinal);
        Ok(claims)
    }

    /// Returns the pods that a workload controls, or that something of its name and a suffix does which it may control.
    /// Only writes look this up: it is not noted.
    ///
    /// # Errors
    /// When pods of that namespace were not read.
    pub fn pods_under(&self, workload: &Workload) -> Seen<Vec<&'a PodUse>> {
        let Workload { namespace, name, uid, .. } = workload;
        self.cluster.reach(Kind::Pod, Some(namespace))?;
        let ids = self.cluster.indexes.pods_by_controller.candidates((&**namespace, &**name));
        self.matching(ids, |pod: &PodUse| {
            let Some(owner) = pod.controller.as_ref().filter(|_| pod.namespace == *namespace)
            else {
                return false;
            };
            let between =
                [Kind::ReplicaSet, Kind::Job].into_iter().find(|it| it.name() == &*owner.kind);
            let is_between = between.is_some_and(|kind| {
                let row =
                    self.cluster.workload_named(&ObjectKey::named(kind, namespace, &owner.name));
                let suffix = owner.name.strip_prefix(&**name).and_then(|it| it.strip_prefix('-'));
                // Where its template names no claim, no row is kept.
                suffix.is_some_and(|it| !it.contains('-'))
                    && row.is_none_or(|row| {
                        row.controller.as_ref().and_then(|it| it.uid.as_ref()) == uid.as_ref()
                    })
            });
            is_between || uid.is_some() && owner.uid == *uid
        })
    }

    /// Returns the workloads that a workload controls. Only writes look this up: it is not noted.
    ///
    /// # Errors
    /// When one of them could not be read.
    pub fn workloads_under(&self, workload: &Workload) -> Seen<Vec<&'a Workload>> {
        let key = (&*workload.namespace, &*workload.name);
        let ids = self.cluster.indexes.workloads_by_controller.candidates(key);
        self.matching(ids, |it: &Workload| {
            let owner = it.controller.as_ref().and_then(|it| it.uid.as_ref());
            it.namespace == workload.namespace && owner.is_some() && owner == workload.uid.as_ref()
        })
    }

    /// Returns the claims that an object owns. Only writes look this up: it is not noted.
    ///
    /// # Errors
    /// When claims of that namespace were not read.
    pub fn claims_owned_by(&self, owner: &ObjectRef) -> Seen<Vec<&'a Claim>> {
        let namespace = owner.key.namespace.clone().unwrap_or_default();
        self.cluster.reach(Kind::PersistentVolumeClaim, Some(&namespace))?;
        let key = (&*namespace, &*owner.key.name);
        self.matching(self.cluster.indexes.claims_by_owner.candidates(key), |it: &Claim| {
            let owners = &it.metadata.owners;
            it.namespace == namespace
                && owners.iter().any(|it| it.uid.is_some() && it.uid == owner.uid)
        })
    }

    /// Returns the claim called `<stem>-<ordinal>`, if it was read. Comparing neighbours needs no
    /// look at all siblings then.
    ///
    /// # Errors
    /// When claims of that namespace were not read.
    pub fn sibling(&self, namespace: &Text, stem: &str, ordinal: i32) -> Seen<Option<&'a Claim>> {
        self.note(|| Lookup::ClaimsOfStem(Text::clone(namespace), stem.into()));
        let kind = Kind::PersistentVolumeClaim;
        self.cluster.reach(kind, Some(namespace))?;
        let name = format!("{stem}-{ordinal}");
        self.cluster.legible(kind, namespace, &name)?;
        Ok(self.cluster.tables.claims.named(kind, namespace, &name))
    }

    /// Returns a pod by name, if its row is kept: it uses claims, belongs to a set, or runs a storage sidecar.
    /// `Ok(None)` if none of these has the name.
    ///
    /// # Errors
    /// When pods of that namespace were not read.
    pub fn pod(&self, namespace: &Text, name: &str) -> Seen<Option<&'a PodUse>> {
        self.note(|| Lookup::Pod(Text::clone(namespace), name.into()));
        self.cluster.legible(Kind::Pod, namespace, name)?;
        let pod = self.cluster.tables.pods.named(Kind::Pod, namespace, name);
        if pod.is_none() {
            self.cluster.reach(Kind::Pod, Some(namespace))?;
        }
        Ok(pod)
    }

    /// Returns the pods called `<set>-<ordinal>`, in the order of their ordinals, whichever
    /// controller created them.
    ///
    /// # Errors
    /// When pods of that namespace were not read.
    pub fn pods_named_after(&self, namespace: &Text, set: &str) -> Seen<Vec<(i32, &'a PodUse)>> {
        self.note(|| Lookup::PodsOfSet(Text::clone(namespace), set.into()));
        self.cluster.reach(Kind::Pod, Some(namespace))?;
        let ids = self.cluster.indexes.pods_by_set.candidates((&**namespace, set));
        let mut pods: Vec<_> = ids
            .filter_map(|id| self.cluster.tables.pods.get(id))
            .filter(|pod| pod.namespace == *namespace)
            .filter_map(|pod| match split_ordinal(&pod.name) {
                Some((known, ordinal)) if known == set => Some((ordinal, pod)),
                _ => None,
            })
            .collect();
        pods.iter().try_for_each(|(_, pod)| self.legible(*pod))?;
        pods.sort_by_key(|(ordinal, _)| *ordinal);
        Ok(pods)
    }

    /// Returns the autoscalers that scale the set of this name.
    ///
    /// # Errors
    /// When autoscalers of that namespace were not read.
    pub fn autoscalers_of(&self, namespace: &Text, name: &str) -> Seen<Vec<&'a Autoscaler>> {
        self.note(|| Lookup::AutoscalersOf(Text::clone(namespace), name.into()));
        self.cluster.reach(Kind::HorizontalPodAutoscaler, Some(namespace))?;
        let kind = Kind::StatefulSet.name();
        let ids = self.cluster.indexes.autoscalers_by_target.candidates((&**namespace, kind, name));
        self.matching(ids, |row: &Autoscaler| {
            row.namespace == *namespace && &*row.target_kind == kind && &*row.target_name == name
        })
    }
}

//! Lookups about drivers, mostly for facts.

use std::sync::Arc;

use super::{Cx, Lookup};
use crate::cluster::{Seen, recognition::is_open};
use crate::drivers::{Family, Recognition, UNKNOWN, family_with};
use crate::model::{
    ControllerRole, CsiDriver, CsiNode, Event, Fact, FactKey, KeptBackend, Kind, Lease, PodUse,
    Text, Time, Volume, Workload,
};

impl<'a> Cx<'a> {
    /// Returns a fact about a driver, deriving it at most once.
    pub fn fact(&self, key: FactKey, derive: impl FnOnce() -> Fact) -> Arc<Fact> {
        self.note(|| Lookup::Fact(key.clone()));
        let known = self.facts.borrow().get(&key).cloned();
        let (fact, wake) = known.unwrap_or_else(|| {
            let (fact, wake) = self.derive_apart(derive);
            let derived = (Arc::new(fact), wake);
            self.facts.borrow_mut().insert(key, derived.clone());
            derived
        });
        if let Some(wake) = wake {
            self.wake_at(wake);
        }
        fact
    }

    /// Derives a fact with records of its own, and returns it with its wake time.
    fn derive_apart<T>(&self, derive: impl FnOnce() -> T) -> (T, Option<Time>) {
        let (lookups, wake) = (self.lookups.take(), self.wake.take());
        let fact = derive();
        let own_wake = self.wake.replace(wake);
        *self.lookups.borrow_mut() = lookups;
        (fact, own_wake)
    }

    /// Returns as what a driver or a provisioner is recognised: by its name, else by what runs it.
    pub fn recognition(&self, driver: &str) -> Recognition {
        if is_open(driver) {
            self.note(|| Lookup::Recognition(driver.into()));
        }
        self.cluster.recognition(driver)
    }

    /// Returns what is known of a driver or a provisioner.
    pub fn family(&self, driver: &str) -> &'static Family {
        match self.recognition(driver) {
            Recognition::As(id) => family_with(id),
            Recognition::Unknown | Recognition::Differs(_) => &UNKNOWN,
        }
    }

    /// Returns the `CSIDriver` of this name, if it was read.
    ///
    /// # Errors
    /// When it was not found and the kind was not read.
    pub fn csi_driver(&self, name: &Text) -> Seen<Option<&'a CsiDriver>> {
        self.note(|| Lookup::CsiDriver(Text::clone(name)));
        self.cluster.legible(Kind::CsiDriver, "", name)?;
        let driver = self.cluster.tables.csi_drivers.named(Kind::CsiDriver, "", name);
        if driver.is_none() {
            self.all_of(Kind::CsiDriver)?;
        }
        Ok(driver)
    }

    /// Returns the nodes on which a driver is registered. Only for facts.
    ///
    /// # Errors
    /// When none was found and the kind was not read.
    pub fn csi_nodes_of(&self, driver: &str) -> Seen<Vec<&'a CsiNode>> {
        let ids = self.cluster.indexes.csi_nodes_by_driver.candidates(driver);
        let nodes: Vec<_> = ids
            .filter_map(|id| self.cluster.tables.csi_nodes.get(id))
            .filter(|node| node.drivers.iter().any(|known| **known == *driver))
            .collect();
        nodes.iter().try_for_each(|node| self.legible(*node))?;
        if nodes.is_empty() {
            self.all_of(Kind::CsiNode)?;
        }
        Ok(nodes)
    }

    /// Returns the leases of this name, in any namespace. Only for facts.
    ///
    /// # Errors
    /// When none was found and Leases were not read in all namespaces.
    pub fn leases_named(&self, name: &str) -> Seen<Vec<&'a Lease>> {
        let ids = self.cluster.indexes.leases_by_name.candidates(name);
        let leases = self.matching(ids, |lease: &Lease| &*lease.metadata.name == name)?;
        if leases.is_empty() {
            self.all_of(Kind::Lease)?;
        }
        Ok(leases)
    }

    /// Returns the pods that run storage sidecars, as far as pods were read. Only for facts.
    pub fn sidecar_pods(&self) -> impl Iterator<Item = &'a PodUse> {
        self.cluster.indexes.sidecar_pods.iter().filter_map(|id| self.cluster.tables.pods.get(*id))
    }

    /// Returns the workloads that would run storage sidecars. Only for facts.
    pub fn sidecar_workloads(&self) -> impl Iterator<Item = &'a Workload> {
        let ids = self.cluster.indexes.sidecar_workloads.iter();
        ids.filter_map(|id| self.cluster.tables.workloads.get(*id))
    }

    /// Returns the volumes that reference a driver. Only for facts.
    pub fn volumes_of_driver(&self, driver: &str) -> impl Iterator<Item = &'a Volume> {
        let ids = self.cluster.indexes.volumes_by_driver.candidates(driver);
        // They are in the order of their ids: the first volume found is shown as evidence.
        let ids: Vec<_> = ids.collect();
        let driver: Box<str> = driver.into();
        ids.into_iter()
            .filter_map(|id| self.cluster.tables.volumes.get(id))
            .filter(move |volume| volume.drivers().any(|known| *known == *driver))
    }

    /// Returns the kept backend volumes of a driver.
    pub fn kept_of_driver(&self, driver: &str) -> impl Iterator<Item = &'a KeptBackend> {
        self.cluster.kept_backends().filter(move |it| *it.backend.driver == *driver)
    }

    /// Returns all events, for the last actions of drivers. Only for facts.
    pub fn events(&self) -> impl Iterator<Item = &'a Event> {
        self.cluster.tables.events.iter().map(|(_, event)| event)
    }

    /// Whether this tool added a finalizer to a volume, by the journal of this machine.
    pub fn added_finalizer(&self, volume: &Volume, finalizer: &str) -> bool {
        let Some(uid) = &volume.metadata.uid else { return false };
        self.cluster.added_finalizers.contains(&(uid.clone(), finalizer.into()))
    }

    /// Returns since when earlier runs found no trace of a controller. Only for facts.
    pub fn sighting(&self, role: ControllerRole, driver: &Text) -> Option<Time> {
        self.cluster.sightings.get(&(role, Text::clone(driver))).copied()
    }
}

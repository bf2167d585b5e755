//! Lookups of drivers and nodes, mostly for facts.

use std::sync::Arc;

use super::super::Seen;
use super::super::recognition::is_open;
use super::{Cx, Lookup};
use crate::drivers::{Family, Recognition, UNKNOWN, family_with};
use crate::model::{
    ControllerRole, CsiDriver, CsiNode, Event, Fact, FactKey, KeptBackend, Kind, Lease, Node,
    NodeAffinity, NodeRequirement, NodeTerm, PodUse, Text, Time, Volume, Workload,
};

impl<'a> Cx<'a> {
    /// Returns a fact about a driver, derived at most once.
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

    /// Derives a fact with its own wake time and without recorded lookups, and returns it with the wake time.
    fn derive_apart<T>(&self, derive: impl FnOnce() -> T) -> (T, Option<Time>) {
        let (lookups, wake) = (self.lookups.take(), self.wake.take());
        let fact = derive();
        let own_wake = self.wake.replace(wake);
        *self.lookups.borrow_mut() = lookups;
        (fact, own_wake)
    }

    /// Returns the recognition of a driver or a provisioner: by its name, else by the images of its pods and workloads.
    pub fn recognition(&self, driver: &str) -> Recognition {
        if is_open(driver) {
            self.note(|| Lookup::Recognition(driver.into()));
        }
        self.cluster.recognition(driver)
    }

    /// Returns the family of a driver or a provisioner.
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

    /// Returns the time since which earlier runs found no trace of a controller. Only for facts.
    pub fn sighting(&self, role: ControllerRole, driver: &Text) -> Option<Time> {
        self.cluster.sightings.get(&(role, Text::clone(driver))).copied()
    }
}

impl<'a> Cx<'a> {
    /// Returns a node that an object of the kind `named_by` references; `Ok(None)` if it is known
    /// to be absent.
    ///
    /// # Errors
    /// When nodes were not read, or the absence is not proven.
    pub fn node(&self, name: &str, named_by: Kind) -> Seen<Option<&'a Node>> {
        self.note(|| Lookup::Node(name.into(), named_by));
        self.by_name(Kind::Node, None, name, named_by)
    }

    /// Whether any node satisfies an affinity; `false` only when it is known that none does.
    ///
    /// # Errors
    /// When nodes were not read, or were listed before the volumes.
    pub fn any_node_matches(&self, affinity: &Arc<NodeAffinity>) -> Seen<bool> {
        self.note(|| Lookup::Nodes);
        let mut terms = affinity.terms.iter();
        if let Some(node) = terms.find_map(|term| self.node_of_term(term, &|_| true)) {
            return self.legible(node).map(|()| true);
        }
        self.listed_after(Kind::Node, None, Kind::PersistentVolume)?;
        Ok(false)
    }

    /// Returns a node that satisfies an affinity and is as wanted, such as not Ready.
    ///
    /// # Errors
    /// When there is none, and nodes were not read.
    pub fn node_matching(
        &self,
        affinity: &Arc<NodeAffinity>,
        wanted: impl Fn(&Node) -> bool,
    ) -> Seen<Option<&'a Node>> {
        self.note(|| Lookup::Nodes);
        let found = affinity.terms.iter().find_map(|term| self.node_of_term(term, &wanted));
        match found {
            Some(node) => self.legible(node)?,
            None => self.all_of(Kind::Node)?,
        }
        Ok(found)
    }

    fn node_of_term(&self, term: &NodeTerm, wished: &dyn Fn(&Node) -> bool) -> Option<&'a Node> {
        if term.labels.is_empty() && term.fields.is_empty() {
            return None; // An empty term matches nothing (core/v1 NodeSelectorTerm).
        }
        let matches = |node: &&Node| {
            wished(node)
                && term.labels.iter().all(|it| requirement_holds(it, node.metadata.label(&it.key)))
                && term.fields.iter().all(|it| match &*it.key {
                    "metadata.name" => requirement_holds(it, Some(&node.metadata.name)),
                    _ => false,
                })
        };
        // The nodes under one wanted label are few where all nodes are many.
        let wanted = term.labels.iter().find(|it| &*it.operator == "In");
        match wanted {
            Some(wanted) => wanted.values.iter().find_map(|value| {
                let key = (&*wanted.key, &**value);
                let ids = self.cluster.indexes.nodes_by_label.candidates(key);
                ids.filter_map(|id| self.cluster.tables.nodes.get(id)).find(matches)
            }),
            None => self.cluster.tables.nodes.iter().map(|(_, node)| node).find(matches),
        }
    }
}

fn requirement_holds(requirement: &NodeRequirement, value: Option<&str>) -> bool {
    let listed = |value: &str| requirement.values.iter().any(|known| **known == *value);
    let number = |text: &str| text.parse::<i64>().ok();
    let bound = || requirement.values.first().and_then(|text| number(text));
    match &*requirement.operator {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => value.and_then(number).zip(bound()).is_some_and(|(value, bound)| value > bound),
        "Lt" => value.and_then(number).zip(bound()).is_some_and(|(value, bound)| value < bound),
        // An operator of a later version: no proof that the node does not match.
        _ => true,
    }
}

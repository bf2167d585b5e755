//! Rows of what uses or serves storage: pods, workloads, nodes, drivers, Leases and events.

use super::Linked;
use crate::cluster::{
    Cluster, Dirty, Subject,
    indexes::{EntryChange, Indexes},
    places,
    store::object_key,
};
use crate::model::{
    Autoscaler, ClaimKey, CsiDriver, CsiNode, Event, Kind, Lease, Node, ObjectId, PodUse, Text,
    Workload, split_ordinal,
};

impl Linked for PodUse {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for mounted in &self.claims {
            change.apply(&mut indexes.pods_by_claim, (&*self.namespace, &*mounted.claim), id);
        }
        if let Some((set, _)) = split_ordinal(&self.name) {
            change.apply(&mut indexes.pods_by_set, (&*self.namespace, set), id);
        }
        places::index(self, change, &mut indexes.pods_by_place, id);
        places::index_names(self, change, &mut indexes.pods_by_token, id);
        if let Some(node) = &self.node {
            change.apply(&mut indexes.pods_by_node, &**node, id);
        }
        if self.sidecars.is_some() {
            change.mark(&mut indexes.sidecar_pods, id);
        }
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Pod(id));
        for mounted in &self.claims {
            let namespace = Text::clone(&self.namespace);
            cluster.touch_claim_key(&ClaimKey { namespace, name: mounted.claim.clone() }, dirty);
        }
        cluster.touch_places(self, dirty);
        cluster.touch_namesakes(self, dirty);
        cluster.touch_owned(&self.namespace, &self.name, dirty);
        if let Some((set, ordinal)) = split_ordinal(&self.name)
            && let Some(id) = cluster.tables.workloads.find(Kind::StatefulSet, &self.namespace, set)
            && let Some(set) = cluster.set_at(id)
        {
            dirty.subjects.insert(Subject::StatefulSet(id));
            for template in &set.templates {
                let name = format!("{}-{}-{ordinal}", template.name, set.metadata.name);
                let namespace = Text::clone(&self.namespace);
                cluster.touch_claim_key(&ClaimKey { namespace, name: name.into() }, dirty);
            }
        }
        if self.sidecars.is_some() {
            dirty.all_drivers = true;
        }
    }
}

impl Linked for Workload {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for claim in &self.claims {
            change.apply(&mut indexes.workloads_by_claim, (&*self.namespace, &**claim), id);
        }
        places::index(self, change, &mut indexes.workloads_by_place, id);
        places::index_names(self, change, &mut indexes.workloads_by_token, id);
        if let Some(set) = &self.set {
            for template in &set.templates {
                let stem = format!("{}-{}", template.name, self.name);
                change.apply(&mut indexes.sets_by_stem, (&*self.namespace, &*stem), id);
            }
        }
        if self.sidecars.is_some() {
            change.mark(&mut indexes.sidecar_workloads, id);
        }
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        for claim in &self.claims {
            let namespace = Text::clone(&self.namespace);
            cluster.touch_claim_key(&ClaimKey { namespace, name: claim.clone() }, dirty);
        }
        cluster.touch_places(self, dirty);
        cluster.touch_namesakes(self, dirty);
        if self.sidecars.is_some() {
            // The name of a workload does not show which driver it serves.
            dirty.all_drivers = true;
        }
        if self.set.is_some() {
            cluster.touch_set(id, dirty);
        }
    }
}

impl Linked for Autoscaler {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        let target = (&*self.namespace, &*self.target_kind, &*self.target_name);
        change.apply(&mut indexes.autoscalers_by_target, target, id);
    }

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_set_named(&self.namespace, &self.target_name, dirty);
    }
}

impl Linked for Node {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for (key, value) in self.metadata.labels.iter() {
            change.apply(&mut indexes.nodes_by_label, (&**key, &**value), id);
        }
        places::index(self, change, &mut indexes.nodes_by_place, id);
    }

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        // Any node may make or break an affinity, and nodes are rarely added or deleted; a
        // heartbeat does not get here, since it changes nothing that a row keeps.
        let volumes = cluster.tables.volumes.iter();
        let affine = volumes.filter(|(_, volume)| volume.node_affinity.is_some());
        for (id, volume) in affine {
            dirty.subjects.insert(Subject::Volume(id));
            // And the pods for which no node was found.
            cluster.touch_waiting_for(volume, dirty);
        }
        // Findings about these volumes show the state of the node: one that is not Ready may still
        // write.
        cluster.touch_places(self, dirty);
        cluster.touch_node_named(&self.metadata.name, dirty);
    }
}

impl Linked for CsiDriver {
    // Few enough to be found by name or by going through all of them.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_driver(&self.metadata.name, dirty);
        // Which driver a sidecar serves depends on which drivers are registered.
        dirty.all_drivers = true;
    }
}

impl Linked for CsiNode {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for driver in &self.drivers {
            change.apply(&mut indexes.csi_nodes_by_driver, &**driver, id);
        }
    }

    fn touch(&self, _: ObjectId, _: &Cluster, dirty: &mut Dirty) {
        dirty.drivers.extend(self.drivers.iter().cloned());
        // Which driver a sidecar serves depends on which drivers are registered.
        dirty.all_drivers = true;
    }
}

impl Linked for Lease {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        change.apply(&mut indexes.leases_by_name, &*self.metadata.name, id);
    }

    fn touch(&self, _: ObjectId, _: &Cluster, dirty: &mut Dirty) {
        // The name of a Lease does not show which driver it serves.
        dirty.all_drivers = true;
    }
}

impl Linked for Event {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        change.apply(&mut indexes.events_by_object, object_key(&self.about), id);
    }

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_object(&self.about, dirty);
        // The source of an event is the driver that acted.
        dirty.all_drivers = true;
    }
}

//! Rows of namespaces and of the objects of the guard.

use super::Linked;
use crate::cluster::{
    Cluster, Dirty, Subject,
    indexes::{EntryChange, Indexes},
};
use crate::model::{AdmissionObject, Namespace, ObjectId};

impl Linked for Namespace {
    // Found by going through all of them, which only a change of the guard does.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, id: ObjectId, _: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Namespace(id));
    }
}

impl Linked for AdmissionObject {
    // There are a dozen of them.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::AdmissionObject(id));
        // One shows what is missing of the others, and all of them whether there is a guard.
        let others = cluster.admission_objects().map(|(id, _)| Subject::AdmissionObject(id));
        dirty.subjects.extend(others);
        dirty.subjects.extend(cluster.namespaces().map(|(id, _)| Subject::Namespace(id)));
    }
}

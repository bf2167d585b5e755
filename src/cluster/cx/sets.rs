//! Lookups of `StatefulSet`s, their pods, the claims under their names, and autoscalers.

use super::{Cx, Lookup};
use crate::cluster::Seen;
use crate::model::{Autoscaler, Claim, Kind, PodUse, StatefulSet, Text, split_ordinal};

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

    /// Returns a pod of which a row is kept, by name: one that uses claims, belongs to a set, or
    /// runs a storage sidecar. `Ok(None)` if none of these has the name.
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

//! Lookups of nodes.

use std::sync::Arc;

use super::{Cx, Lookup};
use crate::cluster::Seen;
use crate::model::{Kind, Node, NodeAffinity, NodeRequirement, NodeTerm};

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

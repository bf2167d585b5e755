//! `spec.nodeAffinity` of a volume.

use super::{Folder, slim::slim};
use crate::model::{NodeAffinity, NodeRequirement, NodeTerm};

slim! {
    /// `spec.nodeAffinity`.
    pub struct VolumeNodeAffinity {
        /// The nodes that can reach the volume.
        #[prost(message, optional, tag = "1")]
        pub required: Option<NodeSelector>,
    }

    /// Terms of which a node must match one.
    pub struct NodeSelector {
        /// The terms.
        #[prost(message, repeated, tag = "1")]
        pub node_selector_terms: Vec<NodeSelectorTerm>,
    }

    /// One term, of which a node must match every requirement.
    pub struct NodeSelectorTerm {
        /// Requirements on labels.
        #[prost(message, repeated, tag = "1")]
        pub match_expressions: Vec<NodeSelectorRequirement>,
        /// Requirements on fields.
        #[prost(message, repeated, tag = "2")]
        pub match_fields: Vec<NodeSelectorRequirement>,
    }

    /// One requirement.
    pub struct NodeSelectorRequirement {
        /// The label or field.
        #[prost(string, tag = "1")]
        pub key: String,
        /// `In`, `NotIn`…
        #[prost(string, tag = "2")]
        pub operator: String,
        /// The values.
        #[prost(string, repeated, tag = "3")]
        pub values: Vec<String>,
    }
}

impl NodeSelector {
    pub(super) fn fold(&self, folder: &mut Folder) -> NodeAffinity {
        let mut all = |requirements: &[NodeSelectorRequirement]| {
            let one = |requirement: &NodeSelectorRequirement| NodeRequirement {
                key: folder.text(&requirement.key),
                operator: folder.text(&requirement.operator),
                values: folder.texts(&requirement.values),
            };
            requirements.iter().map(one).collect()
        };
        let term = |term: &NodeSelectorTerm| NodeTerm {
            labels: all(&term.match_expressions),
            fields: all(&term.match_fields),
        };
        NodeAffinity { terms: self.node_selector_terms.iter().map(term).collect() }
    }
}

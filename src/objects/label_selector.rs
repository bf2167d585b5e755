//! `LabelSelector`.

use std::collections::BTreeMap;

use super::slim::slim;
use crate::model::Selector;

slim! {
    /// A selector of objects.
    pub struct LabelSelector {
        /// The labels that an object must have.
        #[prost(btree_map = "string, string", tag = "1")]
        pub match_labels: BTreeMap<String, String>,
        /// The expressions that an object must match.
        #[prost(message, repeated, tag = "2")]
        pub match_expressions: Vec<LabelSelectorRequirement>,
    }

    /// One expression of a selector.
    pub struct LabelSelectorRequirement {
        /// The label.
        #[prost(string, tag = "1")]
        pub key: String,
        /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
        #[prost(string, tag = "2")]
        pub operator: String,
        /// The values.
        #[prost(string, repeated, tag = "3")]
        pub values: Vec<String>,
    }
}

impl LabelSelector {
    /// The expressions alone; `None` if there are none.
    pub(super) fn fold_expressions(&self) -> Option<Selector> {
        let alone = Self { match_expressions: self.match_expressions.clone(), ..Self::default() };
        (!self.match_expressions.is_empty()).then(|| alone.fold())
    }

    pub(super) fn fold(&self) -> Selector {
        let labels = self.match_labels.iter().map(|(key, value)| (&**key, &**value));
        let expressions = &self.match_expressions;
        Selector::of(labels, expressions.iter().map(|it| (&*it.key, &*it.operator, &*it.values)))
    }
}

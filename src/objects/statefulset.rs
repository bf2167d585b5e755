//! `StatefulSet`.

use std::collections::BTreeMap;

use super::{
    BriefMeta, FieldProblem, Folded, Folder, ManagedMeta, SlimObject,
    claim::PersistentVolumeClaimSpec,
    meta,
    scalar::storage,
    slim::{Present, slim},
    workload::PodTemplateSpec,
};
use crate::model::{self, ClaimTemplate, Kind, Retention, RetentionPolicy, Row, Uid, Workload};

slim! {
    /// A `StatefulSet`.
    pub struct StatefulSet {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ManagedMeta,
        /// What it should be.
        #[prost(message, required, tag = "2")]
        pub spec: StatefulSetSpec,
        /// What it is.
        #[prost(message, required, tag = "3")]
        pub status: StatefulSetStatus,
    }

    /// `spec` of a `StatefulSet`.
    pub struct StatefulSetSpec {
        /// How many pods.
        #[prost(int32, optional, tag = "1")]
        pub replicas: Option<i32>,
        /// Which pods are its own.
        #[prost(message, required, tag = "2")]
        pub selector: LabelSelector,
        /// What its pods are like.
        #[prost(message, required, tag = "3")]
        pub template: PodTemplateSpec,
        /// The claims that are made for each pod.
        #[prost(message, repeated, tag = "4")]
        pub volume_claim_templates: Vec<VolumeClaimTemplate>,
        /// In which order its pods are made and taken away; the API server fills it in.
        #[prost(string, tag = "6")]
        pub pod_management_policy: String,
        /// What becomes of these claims.
        #[prost(message, optional, tag = "10")]
        pub persistent_volume_claim_retention_policy: Option<ClaimRetentionPolicy>,
        /// How its pods are numbered.
        #[prost(message, required, tag = "11")]
        pub ordinals: StatefulSetOrdinals,
    }

    /// Which objects are meant.
    pub struct LabelSelector {
        /// Those with all of these labels.
        #[prost(btree_map = "string, string", tag = "1")]
        pub match_labels: BTreeMap<String, String>,
        /// And for which all of these hold.
        #[prost(message, repeated, tag = "2")]
        pub match_expressions: Vec<Present>,
    }

    /// A claim that is made for each pod.
    pub struct VolumeClaimTemplate {
        /// Its metadata: the name is the first part of the claims' names.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// What the claims ask for.
        #[prost(message, required, tag = "2")]
        pub spec: PersistentVolumeClaimSpec,
    }

    /// What becomes of claims.
    pub struct ClaimRetentionPolicy {
        /// When the set is deleted.
        #[prost(string, tag = "1")]
        pub when_deleted: String,
        /// When the set is made smaller.
        #[prost(string, tag = "2")]
        pub when_scaled: String,
    }

    /// How pods are numbered.
    pub struct StatefulSetOrdinals {
        /// The first number.
        #[prost(int32, tag = "1")]
        pub start: i32,
    }

    /// `status` of a `StatefulSet`.
    pub struct StatefulSetStatus {
        /// The generation that its controller last acted upon.
        #[prost(int64, tag = "1")]
        pub observed_generation: i64,
        /// How many pods there are.
        #[prost(int32, tag = "2")]
        pub replicas: i32,
    }
}

impl SlimObject for StatefulSet {
    fn row(&self, folder: &mut Folder) -> Result<Folded, FieldProblem> {
        let Self { metadata, spec, status } = self;
        let templates = &spec.volume_claim_templates;
        let set = model::StatefulSet {
            metadata: metadata.fold(folder)?,
            namespace: folder.text(&metadata.namespace),
            generation: metadata.generation,
            replicas: spec.replicas,
            start: spec.ordinals.start,
            templates: templates
                .iter()
                .map(|template| template.fold(folder))
                .collect::<Result<_, _>>()?,
            match_labels: spec
                .selector
                .match_labels
                .iter()
                .map(|(key, value)| (folder.text(key), folder.text(value)))
                .collect(),
            match_expressions: !spec.selector.match_expressions.is_empty(),
            retention: spec
                .persistent_volume_claim_retention_policy
                .as_ref()
                .map(|policy| policy.fold(folder)),
            ordered: match spec.pod_management_policy.as_str() {
                "OrderedReady" => Some(true),
                "Parallel" => Some(false),
                _ => None,
            },
            observed_generation: status.observed_generation,
            pods: status.replicas,
        };
        let template = &spec.template.spec;
        let row = Workload {
            kind: Kind::StatefulSet,
            namespace: folder.text(&metadata.namespace),
            name: metadata.name.as_str().into(),
            uid: Uid::parse(&metadata.uid),
            replicas: spec.replicas,
            suspended: false,
            finished: false,
            controller: meta::controller(&metadata.owner_references, folder),
            claims: template.claim_names(),
            sidecars: template.sidecars(folder).map(Box::new),
            set: Some(Box::new(set)),
        };
        Ok(Folded::Row(Row::Workload(Box::new(row))))
    }
}

impl VolumeClaimTemplate {
    fn fold(&self, folder: &mut Folder) -> Result<ClaimTemplate, FieldProblem> {
        const REQUESTED: &str = "spec.volumeClaimTemplates[].spec.resources.requests.storage";
        Ok(ClaimTemplate {
            name: folder.text(&self.metadata.name),
            class: self.spec.storage_class_name.as_ref().map(|class| folder.text(class)),
            requested: storage(&self.spec.resources.requests, REQUESTED)?,
        })
    }
}

impl ClaimRetentionPolicy {
    fn fold(&self, folder: &mut Folder) -> RetentionPolicy {
        let mut retention = |text: &str| match text {
            "" | "Retain" => Retention::Retain,
            "Delete" => Retention::Delete,
            other => Retention::Other(folder.text(other)),
        };
        RetentionPolicy {
            when_deleted: retention(&self.when_deleted),
            when_scaled: retention(&self.when_scaled),
        }
    }
}

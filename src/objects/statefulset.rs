//! `StatefulSet`.

use super::{
    BriefMeta, Folded, Folder, ManagedMeta, SlimObject, claim::PersistentVolumeClaimSpec,
    label_selector::LabelSelector, meta, scalar::storage, slim::slim, workload::PodTemplateSpec,
};
use crate::model::{self, ClaimTemplate, Kind, Retention, RetentionPolicy, Row, Uid, Workload};

slim! {
    /// A `StatefulSet`.
    pub struct StatefulSet {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ManagedMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: StatefulSetSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: StatefulSetStatus,
    }

    /// `spec` of a `StatefulSet`.
    pub struct StatefulSetSpec {
        /// How many pods.
        #[prost(int32, optional, tag = "1")]
        pub replicas: Option<i32>,
        /// The selector of its pods.
        #[prost(message, required, tag = "2")]
        pub selector: LabelSelector,
        /// The template of its pods.
        #[prost(message, required, tag = "3")]
        pub template: PodTemplateSpec,
        /// The templates of the claims that are created for each pod.
        #[prost(message, repeated, tag = "4")]
        pub volume_claim_templates: Vec<VolumeClaimTemplate>,
        /// The order in which its pods are created and deleted; the API server sets a default.
        #[prost(string, tag = "6")]
        pub pod_management_policy: String,
        /// Whether these claims are deleted with the pods or with the StatefulSet.
        #[prost(message, optional, tag = "10")]
        pub persistent_volume_claim_retention_policy: Option<ClaimRetentionPolicy>,
        /// The ordinals of its pods.
        #[prost(message, required, tag = "11")]
        pub ordinals: StatefulSetOrdinals,
    }

    /// The template of a claim that is created for each pod.
    pub struct VolumeClaimTemplate {
        /// Its metadata: its name is the first part of the claims' names.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state of the claims.
        #[prost(message, required, tag = "2")]
        pub spec: PersistentVolumeClaimSpec,
    }

    /// `persistentVolumeClaimRetentionPolicy`.
    pub struct ClaimRetentionPolicy {
        /// For the deletion of the StatefulSet.
        #[prost(string, tag = "1")]
        pub when_deleted: String,
        /// For scaling down.
        #[prost(string, tag = "2")]
        pub when_scaled: String,
    }

    /// The ordinals of pods.
    pub struct StatefulSetOrdinals {
        /// The first ordinal.
        #[prost(int32, tag = "1")]
        pub start: i32,
    }

    /// `status` of a `StatefulSet`.
    pub struct StatefulSetStatus {
        /// The generation that its controller has observed.
        #[prost(int64, tag = "1")]
        pub observed_generation: i64,
        /// How many pods there are.
        #[prost(int32, tag = "2")]
        pub replicas: i32,
    }
}

impl SlimObject for StatefulSet {
    fn trim(&mut self) {
        self.spec.template.spec.trim();
    }

    fn lacks(&self) -> Option<&'static str> {
        (self.spec == StatefulSetSpec::default()).then_some("spec")
    }

    fn impossible(&self) -> Option<String> {
        let StatefulSetSpec { replicas, ordinals, .. } = &self.spec;
        let numbers = [
            ("spec.replicas", replicas.unwrap_or_default()),
            ("spec.ordinals.start", ordinals.start),
        ];
        let below = numbers.into_iter().find(|(_, number)| *number < 0);
        below.map(|(field, number)| format!("{field} is {number}, less than zero"))
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let templates = &spec.volume_claim_templates;
        let set = model::StatefulSet {
            metadata: metadata.fold(folder),
            namespace: folder.text(&metadata.namespace),
            generation: metadata.generation,
            replicas: spec.replicas,
            start: spec.ordinals.start,
            templates: templates.iter().map(|template| template.fold(folder)).collect(),
            match_labels: spec
                .selector
                .match_labels
                .iter()
                .map(|(key, value)| (folder.text(key), folder.text(value)))
                .collect(),
            match_expressions: spec.selector.fold_expressions().map(Box::new),
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
            inline: template.inline(folder, ""),
            sidecars: template.sidecars(folder).map(Box::new),
            set: Some(Box::new(set)),
        };
        Folded::Row(Row::Workload(Box::new(row)))
    }
}

impl VolumeClaimTemplate {
    fn fold(&self, folder: &mut Folder) -> ClaimTemplate {
        const REQUESTED: &str = "spec.volumeClaimTemplates[].spec.resources.requests.storage";
        ClaimTemplate {
            name: folder.text(&self.metadata.name),
            class: self.spec.storage_class_name.as_ref().map(|class| folder.text(class)),
            requested: storage(&self.spec.resources.requests, REQUESTED, folder),
        }
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

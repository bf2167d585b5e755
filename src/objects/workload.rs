//! `StatefulSet`, other workloads, and `HorizontalPodAutoscaler`.

use super::claim::PersistentVolumeClaimSpec;
use super::meta::LabelSelector;
use super::node::Condition;
use super::pod::PodSpec;
use super::slim::{slim, storage};
use super::{BriefMeta, Folded, Folder, ManagedMeta, SlimObject, meta};
use crate::model;
use crate::model::{
    Autoscaler, ClaimTemplate, Kind, Retention, RetentionPolicy, Row, Uid, Workload,
};

slim! {
    /// A `StatefulSet`.
    pub struct StatefulSet {
        /// Metadata.
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
        /// Number of pods.
        #[prost(int32, optional, tag = "1")]
        pub replicas: Option<i32>,
        /// The selector of the set's pods.
        #[prost(message, required, tag = "2")]
        pub selector: LabelSelector,
        /// The template of the set's pods.
        #[prost(message, required, tag = "3")]
        pub template: PodTemplateSpec,
        /// The templates of the claims that are created for each pod.
        #[prost(message, repeated, tag = "4")]
        pub volume_claim_templates: Vec<VolumeClaimTemplate>,
        /// The order in which the set's pods are created and deleted; the API server sets a default.
        #[prost(string, tag = "6")]
        pub pod_management_policy: String,
        /// Policy by which these claims are deleted with the pods or with the StatefulSet.
        #[prost(message, optional, tag = "10")]
        pub persistent_volume_claim_retention_policy: Option<ClaimRetentionPolicy>,
        /// The ordinals of the set's pods.
        #[prost(message, required, tag = "11")]
        pub ordinals: StatefulSetOrdinals,
    }

    /// The template of a claim that is created for each pod.
    pub struct VolumeClaimTemplate {
        /// Metadata: its name is the first part of the claims' names.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state of the claims.
        #[prost(message, required, tag = "2")]
        pub spec: PersistentVolumeClaimSpec,
    }

    /// `persistentVolumeClaimRetentionPolicy`.
    pub struct ClaimRetentionPolicy {
        /// Policy for the deletion of the StatefulSet.
        #[prost(string, tag = "1")]
        pub when_deleted: String,
        /// Policy for scaling down.
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
        /// The generation that the set's controller has observed.
        #[prost(int64, tag = "1")]
        pub observed_generation: i64,
        /// Number of pods that exist.
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

slim! {
    /// A `Deployment`.
    pub struct Deployment {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// A `ReplicaSet`.
    pub struct ReplicaSet {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// `spec` of a `Deployment`, `ReplicaSet` or `ReplicationController`, as far as it is read.
    pub struct ReplicatedSpec {
        /// Number of pods.
        #[prost(int32, optional, tag = "1")]
        pub replicas: Option<i32>,
        /// The template of the pods.
        #[prost(message, required, tag = "3")]
        pub template: PodTemplateSpec,
    }

    /// A `DaemonSet`.
    pub struct DaemonSet {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: DaemonSetSpec,
    }

    /// `spec` of a `DaemonSet`.
    pub struct DaemonSetSpec {
        /// The template of the pods.
        #[prost(message, required, tag = "2")]
        pub template: PodTemplateSpec,
    }

    /// A `ReplicationController`.
    pub struct ReplicationController {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// A `Job`.
    pub struct Job {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: JobSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: JobStatus,
    }

    /// `spec` of a job.
    pub struct JobSpec {
        /// The template of the job's pods.
        #[prost(message, required, tag = "6")]
        pub template: PodTemplateSpec,
        /// Whether the job is suspended: it then creates no pods.
        #[prost(bool, optional, tag = "10")]
        pub suspend: Option<bool>,
    }

    /// `status` of a job.
    pub struct JobStatus {
        /// Conditions.
        #[prost(message, repeated, tag = "1")]
        pub conditions: Vec<Condition>,
    }

    /// A `CronJob`.
    pub struct CronJob {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: CronJobSpec,
    }

    /// `spec` of a cron job.
    pub struct CronJobSpec {
        /// Whether the cron job is suspended: it then creates no jobs.
        #[prost(bool, optional, tag = "4")]
        pub suspend: Option<bool>,
        /// The template of the cron job's jobs.
        #[prost(message, required, tag = "5")]
        pub job_template: JobTemplateSpec,
    }

    /// The template of the jobs of a cron job.
    pub struct JobTemplateSpec {
        /// `spec` of the jobs.
        #[prost(message, required, tag = "2")]
        pub spec: JobSpec,
    }

    /// A `HorizontalPodAutoscaler` (v2).
    pub struct HorizontalPodAutoscaler {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: HorizontalPodAutoscalerSpec,
    }

    /// `spec` of an autoscaler.
    pub struct HorizontalPodAutoscalerSpec {
        /// The workload that the autoscaler scales.
        #[prost(message, required, tag = "1")]
        pub scale_target_ref: ScaleTarget,
    }

    /// The workload that an autoscaler scales.
    pub struct ScaleTarget {
        /// Kind.
        #[prost(string, tag = "1")]
        pub kind: String,
        /// Name.
        #[prost(string, tag = "2")]
        pub name: String,
    }

    /// The template of the pods of a workload.
    pub struct PodTemplateSpec {
        /// `spec` of the pods.
        #[prost(message, required, tag = "2")]
        pub spec: PodSpec,
    }
}

/// Returns the row of a workload, if its pods would use claims or run storage sidecars.
fn workload(
    kind: Kind,
    metadata: &BriefMeta,
    template: &PodSpec,
    folder: &mut Folder,
) -> Option<Workload> {
    let sidecars = match kind {
        Kind::DaemonSet => template.sidecars_of_nodes(folder),
        _ => template.sidecars(folder),
    };
    let claims = template.claim_names();
    let inline = template.inline(folder, "");
    if sidecars.is_none() && claims.is_empty() && inline.is_empty() {
        return None;
    }
    Some(Workload {
        kind,
        namespace: folder.text(&metadata.namespace),
        name: metadata.name.as_str().into(),
        uid: Uid::parse(&metadata.uid),
        replicas: None,
        suspended: false,
        finished: false,
        controller: meta::controller(&metadata.owner_references, folder),
        claims,
        inline,
        sidecars: sidecars.map(Box::new),
        set: None,
    })
}

/// Implements [`SlimObject`] for kinds of workloads, given the template of their pods and further
/// fields of the row.
macro_rules! workloads {
    ($($kind:ident: |$object:ident| $template:expr, { $($field:ident: $value:expr),* };)*) => {$(
        impl SlimObject for $kind {
            fn trim(&mut self) {
                let $object = self;
                $template.spec.trim();
            }

            fn lacks(&self) -> Option<&'static str> {
                let $object = self;
                ($template.spec == PodSpec::default()).then_some("template")
            }

            fn row(&self, folder: &mut Folder) -> Folded {
                let $object = self;
                let row = workload(Kind::$kind, &self.metadata, &$template.spec, folder);
                let Some(row) = row else { return Folded::Counted };
                let row = Workload { $($field: $value,)* ..row };
                Folded::Row(Row::Workload(Box::new(row)))
            }
        }
    )*};
}

workloads! {
    Deployment: |it| it.spec.template, { replicas: it.spec.replicas };
    ReplicaSet: |it| it.spec.template, { replicas: it.spec.replicas };
    ReplicationController: |it| it.spec.template, { replicas: it.spec.replicas };
    DaemonSet: |it| it.spec.template, {};
    Job: |it| it.spec.template, {
        suspended: it.spec.suspend == Some(true),
        finished: it.status.is_finished()
    };
    CronJob: |it| it.spec.job_template.spec.template, { suspended: it.spec.suspend == Some(true) };
}

impl JobStatus {
    fn is_finished(&self) -> bool {
        self.conditions
            .iter()
            .any(|it| matches!(it.r#type.as_str(), "Complete" | "Failed") && it.status == "True")
    }
}

impl SlimObject for HorizontalPodAutoscaler {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.scale_target_ref.name.is_empty().then_some("spec.scaleTargetRef")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec } = self;
        let row = Autoscaler {
            namespace: folder.text(&metadata.namespace),
            name: metadata.name.as_str().into(),
            target_kind: folder.text(&spec.scale_target_ref.kind),
            target_name: spec.scale_target_ref.name.as_str().into(),
        };
        Folded::Row(Row::Autoscaler(Box::new(row)))
    }
}

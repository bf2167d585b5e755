//! Workloads other than StatefulSets, and `HorizontalPodAutoscaler`. A workload has a row if its
//! pods would use claims or run storage sidecars.

use super::{
    BriefMeta, Folded, Folder, SlimObject, meta, node::Condition, pod::PodSpec, slim::slim,
};
use crate::model::{Autoscaler, Kind, Row, Uid, Workload};

slim! {
    /// A `Deployment`.
    pub struct Deployment {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// A `ReplicaSet`.
    pub struct ReplicaSet {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// `spec` of a `Deployment`, `ReplicaSet` or `ReplicationController`, as far as it is read.
    pub struct ReplicatedSpec {
        /// How many pods.
        #[prost(int32, optional, tag = "1")]
        pub replicas: Option<i32>,
        /// The template of its pods.
        #[prost(message, required, tag = "3")]
        pub template: PodTemplateSpec,
    }

    /// A `DaemonSet`.
    pub struct DaemonSet {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: DaemonSetSpec,
    }

    /// `spec` of a `DaemonSet`.
    pub struct DaemonSetSpec {
        /// The template of its pods.
        #[prost(message, required, tag = "2")]
        pub template: PodTemplateSpec,
    }

    /// A `ReplicationController`.
    pub struct ReplicationController {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// A `Job`.
    pub struct Job {
        /// Its metadata.
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
        /// The template of its pods.
        #[prost(message, required, tag = "6")]
        pub template: PodTemplateSpec,
        /// Whether it is suspended: it then creates no pods.
        #[prost(bool, optional, tag = "10")]
        pub suspend: Option<bool>,
    }

    /// `status` of a job.
    pub struct JobStatus {
        /// Its conditions.
        #[prost(message, repeated, tag = "1")]
        pub conditions: Vec<Condition>,
    }

    /// A `CronJob`.
    pub struct CronJob {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: CronJobSpec,
    }

    /// `spec` of a cron job.
    pub struct CronJobSpec {
        /// Whether it is suspended: it then creates no jobs.
        #[prost(bool, optional, tag = "4")]
        pub suspend: Option<bool>,
        /// The template of its jobs.
        #[prost(message, required, tag = "5")]
        pub job_template: JobTemplateSpec,
    }

    /// The template of the jobs of a cron job.
    pub struct JobTemplateSpec {
        /// Their `spec`.
        #[prost(message, required, tag = "2")]
        pub spec: JobSpec,
    }

    /// A `HorizontalPodAutoscaler` (v2).
    pub struct HorizontalPodAutoscaler {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: HorizontalPodAutoscalerSpec,
    }

    /// `spec` of an autoscaler.
    pub struct HorizontalPodAutoscalerSpec {
        /// The workload that it scales.
        #[prost(message, required, tag = "1")]
        pub scale_target_ref: ScaleTarget,
    }

    /// The workload that an autoscaler scales.
    pub struct ScaleTarget {
        /// Its kind.
        #[prost(string, tag = "1")]
        pub kind: String,
        /// Its name.
        #[prost(string, tag = "2")]
        pub name: String,
    }

    /// The template of the pods of a workload.
    pub struct PodTemplateSpec {
        /// Their `spec`.
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

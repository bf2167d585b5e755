//! Workloads, of which only those matter whose pods would run storage sidecars.

use super::{
    BriefMeta, Folded, Folder, Identity, ManagedMeta, Object, Problem, pod::PodSpec, slim::slim,
};
use crate::model::{Kind, Row, Uid, Workload};

slim! {
    /// A `StatefulSet`.
    pub struct StatefulSet {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ManagedMeta,
        /// What it should be.
        #[prost(message, required, tag = "2")]
        pub spec: StatefulSetSpec,
    }

    /// `spec` of a `StatefulSet`.
    pub struct StatefulSetSpec {
        /// How many pods.
        #[prost(int32, optional, tag = "1")]
        pub replicas: Option<i32>,
        /// Which pods.
        #[prost(message, required, tag = "3")]
        pub template: PodTemplateSpec,
    }

    /// A `Deployment`.
    pub struct Deployment {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// What it should be.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// A `ReplicaSet`.
    pub struct ReplicaSet {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// What it should be.
        #[prost(message, required, tag = "2")]
        pub spec: ReplicatedSpec,
    }

    /// `spec` of a `Deployment` or `ReplicaSet`, which agree in what is read.
    pub struct ReplicatedSpec {
        /// How many pods.
        #[prost(int32, optional, tag = "1")]
        pub replicas: Option<i32>,
        /// Which pods.
        #[prost(message, required, tag = "3")]
        pub template: PodTemplateSpec,
    }

    /// A `DaemonSet`.
    pub struct DaemonSet {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// What it should be.
        #[prost(message, required, tag = "2")]
        pub spec: DaemonSetSpec,
    }

    /// `spec` of a `DaemonSet`.
    pub struct DaemonSetSpec {
        /// Which pods.
        #[prost(message, required, tag = "2")]
        pub template: PodTemplateSpec,
    }

    /// What the pods of a workload are like.
    pub struct PodTemplateSpec {
        /// Their `spec`.
        #[prost(message, required, tag = "2")]
        pub spec: PodSpec,
    }
}

/// Returns the row of a workload, if its pods would run storage sidecars.
fn workload(
    kind: Kind,
    identity: Identity,
    uid: &str,
    replicas: Option<i32>,
    template: &PodTemplateSpec,
    folder: &mut Folder,
) -> Folded {
    let Some(sidecars) = template.spec.sidecars(folder) else { return Folded::Counted };
    let row = Workload {
        kind,
        namespace: folder.text(identity.namespace),
        name: identity.name.into(),
        uid: Uid::parse(uid),
        replicas,
        sidecars,
    };
    Folded::Row(Row::Workload(Box::new(row)))
}

/// Implements [`Object`] for the kinds of workloads.
macro_rules! workloads {
    ($($kind:ident: |$spec:ident| $replicas:expr;)*) => {$(
        impl Object for $kind {
            const KIND: Kind = Kind::$kind;

            fn identity(&self) -> Identity<'_> {
                self.metadata.identity()
            }

            fn row(&self, folder: &mut Folder) -> Result<Folded, Problem> {
                let Self { metadata, spec: $spec } = self;
                let (uid, template) = (&metadata.uid, &$spec.template);
                Ok(workload(Self::KIND, self.identity(), uid, $replicas, template, folder))
            }
        }
    )*};
}

workloads! {
    StatefulSet: |spec| spec.replicas;
    Deployment: |spec| spec.replicas;
    ReplicaSet: |spec| spec.replicas;
    DaemonSet: |spec| None;
}

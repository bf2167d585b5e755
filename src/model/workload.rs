//! Workloads, as far as their templates use claims or would serve drivers.

use super::{Kind, ObjectRef, OwnerReference, Sidecars, StatefulSet, Text, Uid};

/// A workload whose template names a claim or would run storage sidecars, or a `StatefulSet`. Others
/// are counted, not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Deployment, `CronJob`…
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Option<Uid>,
    /// `spec.replicas`, where the kind has them.
    pub replicas: Option<i32>,
    /// Whether it makes no pods now, and will when somebody says so: `spec.suspend` of a job or a
    /// cron job.
    pub suspended: bool,
    /// Whether it will make no pods any more: a job with the condition `Complete` or `Failed`.
    pub finished: bool,
    /// Its managing controller, if it has one: the `Deployment` of a `ReplicaSet`.
    pub controller: Option<Box<OwnerReference>>,
    /// The claims that its template names, each once, sorted. Claims of a `StatefulSet`'s claim
    /// templates and of ephemeral volumes are made for each pod, and not among them.
    pub claims: Box<[Box<str>]>,
    /// The sidecars in its template, if there are any.
    pub sidecars: Option<Box<Sidecars>>,
    /// What makes it a `StatefulSet`.
    pub set: Option<Box<StatefulSet>>,
}

impl Workload {
    /// How reports name it.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.uid.as_ref())
    }
}

/// A `HorizontalPodAutoscaler`: somebody else who sets the number of replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Autoscaler {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Box<str>,
    /// `spec.scaleTargetRef.kind`.
    pub target_kind: Text,
    /// `spec.scaleTargetRef.name`.
    pub target_name: Box<str>,
}

//! Workloads whose templates use claims or contain storage sidecars.

use super::{InlineVolumes, Kind, ObjectRef, OwnerReference, Sidecars, StatefulSet, Text, Uid};

/// A workload whose template names a claim or would run storage sidecars, or a `StatefulSet`.
/// Others are counted, and no row is kept of them.
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
    /// Whether it is suspended and creates no pods now: `spec.suspend` of a Job or a `CronJob`.
    pub suspended: bool,
    /// Whether it will never create pods again: a Job with the condition `Complete` or `Failed`.
    pub finished: bool,
    /// Its managing controller, if it has one: the `Deployment` of a `ReplicaSet`.
    pub controller: Option<Box<OwnerReference>>,
    /// The claims that its template names, each once, sorted. Claims of a `StatefulSet`'s claim
    /// templates and of ephemeral volumes are created for each pod and not included.
    pub claims: Box<[Box<str>]>,
    /// The storage that its template describes itself, without a claim.
    pub inline: InlineVolumes,
    /// The sidecars in its template, if there are any.
    pub sidecars: Option<Box<Sidecars>>,
    /// What makes it a `StatefulSet`.
    pub set: Option<Box<StatefulSet>>,
}

impl Workload {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.uid.as_ref())
    }
}

/// A `HorizontalPodAutoscaler`, which sets the number of replicas of its target.
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

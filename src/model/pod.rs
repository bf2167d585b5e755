//! Pods that use claims, belong to a `StatefulSet` or run storage sidecars.

use std::sync::Arc;

use super::{Attributes, BackendKey, Labels, ObjectRef, OwnerReference, Sidecars, Text, Time, Uid};

/// A pod that uses a claim, belongs to a `StatefulSet` or runs a storage sidecar. Other pods are
/// counted, and no row is kept of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodUse {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Option<Uid>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// `metadata.deletionTimestamp`.
    pub deleting: Option<Time>,
    /// Whether it is being deleted with no grace at all (`deletionGracePeriodSeconds` 0):
    /// Kubernetes regards such a pod as shut down.
    pub forced: bool,
    /// Its managing controller, if it has one.
    pub controller: Option<Box<OwnerReference>>,
    /// Its labels, kept only while it has no managing controller: a `StatefulSet` that selects them
    /// adopts the pod.
    pub labels: Labels,
    /// `status.phase`.
    pub phase: PodPhase,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// `spec.nodeName`, once it is scheduled.
    pub node: Option<Text>,
    /// What the scheduler last wrote into the condition `PodScheduled`, while it found no node.
    pub unschedulable: Option<Box<str>>,
    /// The claims that its volumes name.
    pub claims: Box<[MountedClaim]>,
    /// The storage that it describes itself, without a claim.
    pub inline: InlineVolumes,
    /// Its storage sidecars, if it runs any.
    pub sidecars: Option<Box<Sidecars>>,
}

impl PodUse {
    /// Whether all its containers have ended although the object still exists.
    pub const fn is_finished(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether Kubernetes regards it as shut down (`pvc_protection_controller.go`,
    /// `podIsShutDown`).
    pub const fn is_shut_down(&self) -> bool {
        self.deleting.is_some() && self.forced
    }

    /// Its phase, or `Terminating`, as `kubectl get` shows it: the phase of a Terminating pod on a
    /// node that does not answer remains `Running`.
    pub const fn state(&self) -> &'static str {
        if self.deleting.is_some() { "Terminating" } else { self.phase.name() }
    }

    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.uid.as_ref())
    }
}

/// The volumes of a pod or a template that name storage without a claim, each once; the pods of one
/// workload share them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct InlineVolumes(Option<Arc<InlineList>>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct InlineList(Box<[InlineVolume]>);

/// One volume of a pod that names storage without a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InlineVolume {
    /// Its name in the pod.
    pub name: Text,
    /// What it names.
    pub backend: BackendKey,
    /// The `volumeAttributes` that decide what it names.
    pub attributes: Attributes,
}

impl InlineVolumes {
    /// Returns all of them.
    pub fn iter(&self) -> impl Iterator<Item = &InlineVolume> {
        self.0.iter().flat_map(|list| list.0.iter())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The same with the families as which their drivers were recognised.
    #[must_use]
    pub fn with_families(&self, of: impl Fn(&str) -> Option<&'static str>) -> Self {
        if self.iter().all(|it| it.attributes.family() == of(&it.backend.driver)) {
            return self.clone();
        }
        let told = self.iter().map(|it| {
            let family = of(&it.backend.driver);
            InlineVolume { attributes: it.attributes.clone().with_family(family), ..it.clone() }
        });
        told.collect()
    }
}

impl FromIterator<InlineVolume> for InlineVolumes {
    fn from_iter<I: IntoIterator<Item = InlineVolume>>(volumes: I) -> Self {
        let volumes: Box<[_]> = volumes.into_iter().collect();
        Self((!volumes.is_empty()).then(|| Arc::new(InlineList(volumes))))
    }
}

/// One claim that a pod's volume names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedClaim {
    /// The claim's name, in the pod's namespace.
    pub claim: Box<str>,
    /// Whether it is a generic ephemeral volume: the claim counts only if this pod controls it.
    pub ephemeral: bool,
}

/// `status.phase` of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodPhase {
    Pending,
    Running,
    Succeeded,
    Failed,
    /// `Unknown`, empty, or a phase that this version does not know.
    Unknown,
}

impl PodPhase {
    /// As the API writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }
}

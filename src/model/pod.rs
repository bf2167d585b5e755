//! Pods that use claims, belong to a `StatefulSet` or run storage sidecars, and the workloads that make
//! such pods.

use std::{fmt, sync::Arc};

use super::{
    Attributes, BackendKey, Bytes, ControllerRole, Kind, Labels, Metadata, ObjectRef,
    OwnerReference, Selector, Text, Time, Uid,
};

/// A pod that uses a claim, belongs to a `StatefulSet` or runs a storage sidecar. Other pods are
/// counted, and no row is kept of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodUse {
    /// The namespace of the pod.
    pub namespace: Text,
    /// The name of the pod.
    pub name: Box<str>,
    /// The uid of the pod.
    pub uid: Option<Uid>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// `status.startTime`: when the kubelet took the pod, which it does not before its claims are bound.
    pub started: Option<Time>,
    /// `metadata.deletionTimestamp`.
    pub deleting: Option<Time>,
    /// Whether the pod is being deleted with no grace at all (`deletionGracePeriodSeconds` 0): Kubernetes regards such
    /// a pod as shut down.
    pub forced: bool,
    /// The managing controller of the pod, if it has one.
    pub controller: Option<Box<OwnerReference>>,
    /// The labels of the pod, kept only while it has no managing controller: a `StatefulSet` that selects them adopts
    /// the pod.
    pub labels: Labels,
    /// `status.phase`.
    pub phase: PodPhase,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// `spec.nodeName`, once the pod is scheduled.
    pub node: Option<Text>,
    /// The text that the scheduler last wrote into the condition `PodScheduled`, while it found no node.
    pub unschedulable: Option<Box<str>>,
    /// The claims that the pod's volumes reference.
    pub claims: Box<[MountedClaim]>,
    /// The storage that the pod describes itself, without a claim.
    pub inline: InlineVolumes,
    /// The storage sidecars of the pod, if it runs any.
    pub sidecars: Option<Box<Sidecars>>,
}

impl PodUse {
    /// Whether all containers of the pod have ended although the object still exists.
    pub const fn is_finished(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether Kubernetes regards the pod as shut down (`pvc_protection_controller.go`, `podIsShutDown`).
    pub const fn is_shut_down(&self) -> bool {
        self.deleting.is_some() && self.forced
    }

    /// Returns the phase of the pod, or `Terminating`, as `kubectl get` shows it: the phase of a Terminating pod on a
    /// node that does not answer remains `Running`.
    pub const fn state(&self) -> &'static str {
        if self.deleting.is_some() { "Terminating" } else { self.phase.name() }
    }

    /// Returns the reference that reports print.
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
    /// The name of the volume in the pod.
    pub name: Text,
    /// The storage that the volume references.
    pub backend: BackendKey,
    /// The `volumeAttributes` that decide what the volume references.
    pub attributes: Attributes,
}

impl InlineVolumes {
    /// Returns all volumes.
    pub fn iter(&self) -> impl Iterator<Item = &InlineVolume> {
        self.0.iter().flat_map(|list| list.0.iter())
    }

    /// Whether there is no volume.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the volumes with the families as which their drivers were recognised.
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
    /// Whether the volume is a generic ephemeral one: the claim counts only if this pod controls it.
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
    /// Returns the name of the phase in the API.
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

/// A workload whose template names a claim or would run storage sidecars, or a `StatefulSet`.
/// Others are counted, and no row is kept of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Kind of the workload, such as Deployment or `CronJob`.
    pub kind: Kind,
    /// The namespace of the workload.
    pub namespace: Text,
    /// The name of the workload.
    pub name: Box<str>,
    /// The uid of the workload.
    pub uid: Option<Uid>,
    /// `spec.replicas`, where the kind has them.
    pub replicas: Option<i32>,
    /// Whether the workload is suspended and creates no pods now: `spec.suspend` of a Job or a `CronJob`.
    pub suspended: bool,
    /// Whether the workload will never create pods again: a Job with the condition `Complete` or `Failed`.
    pub finished: bool,
    /// The managing controller of the workload, if it has one: the `Deployment` of a `ReplicaSet`.
    pub controller: Option<Box<OwnerReference>>,
    /// The claims that the template references, each once, sorted. Claims of a `StatefulSet`'s claim templates and of
    /// ephemeral volumes are created for each pod and not included.
    pub claims: Box<[Box<str>]>,
    /// The storage that the template describes itself, without a claim.
    pub inline: InlineVolumes,
    /// The sidecars in the template, if there are any.
    pub sidecars: Option<Box<Sidecars>>,
    /// The further part of a `StatefulSet`; `None` for other kinds.
    pub set: Option<Box<StatefulSet>>,
}

impl Workload {
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.uid.as_ref())
    }
}

/// A `HorizontalPodAutoscaler`, which sets the number of replicas of its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Autoscaler {
    /// The namespace of the autoscaler.
    pub namespace: Text,
    /// The name of the autoscaler.
    pub name: Box<str>,
    /// `spec.scaleTargetRef.kind`.
    pub target_kind: Text,
    /// `spec.scaleTargetRef.name`.
    pub target_name: Box<str>,
}

/// The storage sidecars in a pod or a pod template, and everything that may name their driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecars {
    /// The containers whose image or name is that of one of the CSI sidecars, or of a provisioner
    /// that is not CSI; of a `DaemonSet` also those that register a node plugin.
    pub containers: Box<[SidecarContainer]>,
    /// Everything in the pod that may name a driver: arguments of all containers, paths of host
    /// folders, and as `NAME=value` the few environment variables that are read.
    pub mentions: Box<[Text]>,
    /// The images of all containers.
    pub images: Box<[Text]>,
    /// `spec.serviceAccountName`.
    pub service_account: Option<Text>,
    /// The arguments and variables by which the containers mark the disks of their cluster.
    pub of_cluster: Box<[ClusterArgument]>,
}

/// An argument or a variable by which a container of a driver marks the disks of its cluster
/// (semantics#cluster-identity).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterArgument {
    /// The name of the container.
    pub container: Text,
    /// The flag with its dashes, or the name of the variable.
    pub name: &'static str,
    /// The value; `None` where it comes from elsewhere, such as a ConfigMap.
    pub value: Option<Text>,
}

impl ClusterArgument {
    /// The value with which Cinder is installed in every cluster.
    pub const DEFAULT: &str = "kubernetes";

    /// Returns the identity of the cluster, if the value is known and is one.
    pub fn identity(&self) -> Option<&Text> {
        self.value.as_ref().filter(|it| &***it != Self::DEFAULT)
    }
}

/// Part of the name of the sidecar that registers the node plugin of a CSI driver.
pub const REGISTRAR: &str = "driver-registrar";

/// One sidecar container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidecarContainer {
    /// `name`, which shows the purpose of the container if its image does not.
    pub name: Text,
    /// `image`.
    pub image: Text,
    /// `command` followed by `args`.
    pub args: Box<[Text]>,
    /// Whether the container is a driver's own controller that takes the place of csi-provisioner.
    pub provisions_itself: bool,
}

impl SidecarContainer {
    /// Whether the container is a role's controller, by its image or by its name.
    pub fn plays(&self, role: ControllerRole) -> bool {
        role.is_played_by(&self.image) || role.is_called(&self.name) || self.takes(role)
    }

    /// Whether the container registers the node plugin of a CSI driver.
    pub fn registers(&self) -> bool {
        super::image_name(&self.image).ends_with(REGISTRAR) || self.name.ends_with(REGISTRAR)
    }

    /// Whether the container may be a role's controller, under an image name that its publisher changed.
    pub fn may_play(&self, role: ControllerRole) -> bool {
        role.may_be_played_by(&self.image) || role.is_called(&self.name) || self.takes(role)
    }

    fn takes(&self, role: ControllerRole) -> bool {
        role == ControllerRole::Provisioner && self.provisions_itself
    }
}

/// The part of a workload that only a `StatefulSet` has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatefulSet {
    /// Name, uid, deletion, managers.
    pub metadata: Metadata,
    /// Namespace of the set.
    pub namespace: Text,
    /// `metadata.generation`.
    pub generation: i64,
    /// `spec.replicas`; absent means one.
    pub replicas: Option<i32>,
    /// `spec.ordinals.start`.
    pub start: i32,
    /// `spec.volumeClaimTemplates`, in their order.
    pub templates: Box<[ClaimTemplate]>,
    /// `spec.selector.matchLabels`.
    pub match_labels: Labels,
    /// `spec.selector.matchExpressions`; `None` if there are none.
    pub match_expressions: Option<Box<Selector>>,
    /// `spec.persistentVolumeClaimRetentionPolicy`; absent from servers that do not know or do not
    /// honour it.
    pub retention: Option<RetentionPolicy>,
    /// Whether `spec.podManagementPolicy` is `OrderedReady`; `None` for a value that this version
    /// does not know.
    pub ordered: Option<bool>,
    /// `status.observedGeneration`.
    pub observed_generation: i64,
    /// `status.replicas`: pods that exist.
    pub pods: i32,
}

impl StatefulSet {
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// Splits a name at its ordinal: `data-web-0` into `data-web` and 0.
///
/// `None` when it does not end in an ordinal as the controller prints one: in canonical decimal
/// (`-01` is none), and small enough for the API (`stateful_set_utils.go`,
/// `getPersistentVolumeClaimName` and `getParentNameAndOrdinal`).
pub fn split_ordinal(name: &str) -> Option<(&str, i32)> {
    let (stem, digits) = name.rsplit_once('-')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if stem.is_empty() || !canonical || !decimal {
        return None;
    }
    Some((stem, digits.parse().ok()?))
}

/// One of `spec.volumeClaimTemplates`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimTemplate {
    /// `metadata.name`: the first part of the names of the template's claims.
    pub name: Text,
    /// `spec.storageClassName`.
    pub class: Option<Text>,
    /// `spec.resources.requests.storage`.
    pub requested: Option<Bytes>,
}

/// `spec.persistentVolumeClaimRetentionPolicy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Whether the claims are deleted when the set is deleted.
    pub when_deleted: Retention,
    /// Whether the claims of pods are deleted that a scale-down removes.
    pub when_scaled: Retention,
}

/// Whether claims are retained or deleted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retention {
    Retain,
    Delete,
    /// A value that this version does not know; upstream treats it as `Retain`.
    Other(Text),
}

impl Retention {
    /// Parses a value of `whenDeleted` or `whenScaled`.
    pub fn parse(text: &str) -> Self {
        match text {
            "Retain" => Self::Retain,
            "Delete" => Self::Delete,
            other => Self::Other(other.into()),
        }
    }

    /// Whether claims are deleted.
    pub const fn deletes(&self) -> bool {
        matches!(self, Self::Delete)
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retain => "Retain",
            Self::Delete => "Delete",
            Self::Other(text) => text,
        })
    }
}

#[cfg(test)]
impl PodUse {
    /// Returns a pod that runs and uses nothing.
    pub(crate) fn sample() -> Self {
        Self {
            namespace: "shop".into(),
            name: "pod".into(),
            uid: None,
            created: None,
            started: None,
            deleting: None,
            forced: false,
            controller: None,
            labels: Labels::default(),
            phase: PodPhase::Running,
            ready: true,
            node: None,
            unschedulable: None,
            claims: Box::default(),
            inline: InlineVolumes::default(),
            sidecars: None,
        }
    }
}

#[cfg(test)]
impl Workload {
    /// Returns a workload that uses nothing.
    pub(crate) fn sample() -> Self {
        Self {
            kind: Kind::Deployment,
            namespace: "shop".into(),
            name: "workload".into(),
            uid: None,
            replicas: Some(1),
            suspended: false,
            finished: false,
            controller: None,
            claims: Box::default(),
            inline: InlineVolumes::default(),
            sidecars: None,
            set: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ordinal_as_the_controller_prints_it_is_one() {
        for (name, split) in [
            ("data-web-0", Some(("data-web", 0))),
            ("data-web-10", Some(("data-web", 10))),
            ("data-web-2147483647", Some(("data-web", i32::MAX))),
            ("w-0", Some(("w", 0))),
            ("data-web-2147483648", None),
            ("data-web-99999999999999999999999", None),
            ("data-web-01", None),
            ("data-web-00", None),
            ("data-web-", None),
            ("data-web", None),
            ("-0", None),
            ("data-web-+1", None),
            ("data-web-1a", None),
            ("", None),
        ] {
            assert_eq!(split_ordinal(name), split, "{name}");
        }
    }
}

//! Pods and workloads, as far as they use claims or serve drivers.

use super::{Kind, ObjectKey, ObjectRef, Role, Text, Time, Uid};

/// A pod that uses a claim or runs a storage sidecar. Other pods are counted, not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodUse {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Option<Uid>,
    /// `metadata.deletionTimestamp`.
    pub deleting: Option<Time>,
    /// `status.phase`.
    pub phase: PodPhase,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// `spec.nodeName`, once it is scheduled.
    pub node: Option<Text>,
    /// The claims that its volumes name.
    pub claims: Box<[Mounted]>,
    /// Its storage sidecars, if it runs any.
    pub sidecars: Option<Box<Sidecars>>,
}

impl PodUse {
    /// How reports name it.
    pub fn object(&self) -> ObjectRef {
        ObjectRef {
            key: ObjectKey {
                kind: Kind::Pod,
                namespace: Some(Text::clone(&self.namespace)),
                name: self.name.clone(),
            },
            uid: self.uid.clone(),
        }
    }
}

/// One claim that a pod's volume names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
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

/// The storage sidecars in a pod or a pod template, with what tells whose they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecars {
    /// The containers whose image or name is that of one of the CSI sidecars.
    pub containers: Box<[Container]>,
    /// Everything in the pod that may name a driver: arguments of all containers and paths of
    /// host folders. No environment variables.
    pub mentions: Box<[Text]>,
    /// `spec.serviceAccountName`.
    pub service_account: Option<Text>,
}

/// One sidecar container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// `name`, which tells what it is for where its image does not.
    pub name: Text,
    /// `image`.
    pub image: Text,
    /// `command` followed by `args`.
    pub args: Box<[Text]>,
}

impl Container {
    /// Whether it is a role's controller, by its image or by its name.
    pub fn plays(&self, role: Role) -> bool {
        role.is_played_by(&self.image) || role.is_called(&self.name)
    }

    /// Whether it may be a role's controller, under an image that somebody named.
    pub fn may_play(&self, role: Role) -> bool {
        role.may_be_played_by(&self.image) || role.is_called(&self.name)
    }
}

/// A workload whose pods would run storage sidecars, whatever its number of replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Deployment, `StatefulSet`…
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Option<Uid>,
    /// `spec.replicas`, where the kind has them.
    pub replicas: Option<i32>,
    /// The sidecars in its template.
    pub sidecars: Sidecars,
}

impl Workload {
    /// How reports name it.
    pub fn object(&self) -> ObjectRef {
        ObjectRef {
            key: ObjectKey {
                kind: self.kind,
                namespace: Some(Text::clone(&self.namespace)),
                name: self.name.clone(),
            },
            uid: self.uid.clone(),
        }
    }
}

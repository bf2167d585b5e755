//! Terms of a teardown: what it selects, what it has stopped and set to Retain, and what it must not stop.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{ClaimKey, Kind, ObjectKey, Selector, StatefulSet, Text, Uid, Workload};

/// Annotation of a stopped workload: its number of replicas before, or that it ran.
pub const STOPPED_FROM: &str = "storage.kubectl.dev/stopped-from";

/// Terms by which claims are torn down. Plans, and each judgement before a write, read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeardownTerms {
    /// Whether data is destroyed; otherwise every disk is kept.
    pub destroys: bool,
    /// What the user leaves out.
    pub except: BTreeSet<Exception>,
    /// Whether Released volumes whose claims are gone are destroyed too (`--released`).
    pub takes_released: bool,
    /// Labels of pods and workloads that are not stopped (`--keep-running`).
    pub keep_running: Selector,
    /// Claims that are torn down.
    pub claims: BTreeSet<ClaimKey>,
    /// Uids of the workloads that this run's journal has stopped, or that its plan found stopped.
    pub stopped: BTreeSet<Uid>,
    /// Uids of the workloads and pods that are to be stopped, and of what they control. Only a rehearsal counts them as
    /// stopped.
    pub stopping: BTreeSet<Uid>,
    /// Uids of the volumes whose policy was Delete and that the journal has set to Retain.
    pub retained: BTreeSet<Uid>,
    /// Uids of the volumes that the journal has set to Retain from another policy than Delete: they were to survive, and
    /// nobody but a teardown decided that they stay.
    pub held: BTreeSet<Uid>,
    /// Uids of the volumes of which it is unknown whether a run that ended early has set their policy back to Delete.
    pub doubtful: BTreeSet<Uid>,
    /// What was surveyed when it was confirmed; `None` before.
    pub confirmed: Option<ConfirmedSurvey>,
    /// Objects that must not be stopped, each with the reason.
    pub protected: BTreeMap<ObjectKey, String>,
    /// Whether everything is judged as if all workloads were stopped. Nothing but dry runs is sent by such terms.
    pub is_rehearsal: bool,
}

/// What a survey had when it was confirmed, by the uids of volumes, of claims without one, and of snapshots. What comes
/// later is left alone, and so is what was to survive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfirmedSurvey {
    /// Everything that was surveyed.
    pub seen: BTreeSet<Uid>,
    /// Everything whose claim, volume or snapshot is to end.
    pub ends: BTreeSet<Uid>,
}

/// Object that the user leaves out (`--except`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exception {
    /// All claims of a namespace.
    Namespace(Text),
    /// All claims of a storage class.
    Class(Text),
    /// A volume.
    Volume(Text),
    /// A claim.
    Claim(ClaimKey),
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(f, "ns/{name}"),
            Self::Class(name) => write!(f, "sc/{name}"),
            Self::Volume(name) => write!(f, "pv/{name}"),
            Self::Claim(key) => write!(f, "pvc/{key}"),
        }
    }
}

/// Number of pods that a workload wants, or whether it is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadScale {
    /// `spec.replicas`.
    Replicas(i32),
    /// `spec.suspend` of a Job or a `CronJob`.
    Suspended(bool),
}

impl WorkloadScale {
    /// Whether the workload creates no pods.
    pub const fn is_stopped(self) -> bool {
        matches!(self, Self::Replicas(0) | Self::Suspended(true))
    }

    /// Returns the scale of the same workload when it is stopped.
    #[must_use]
    pub const fn stopped(self) -> Self {
        match self {
            Self::Replicas(_) => Self::Replicas(0),
            Self::Suspended(_) => Self::Suspended(true),
        }
    }
}

impl fmt::Display for WorkloadScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replicas(1) => f.write_str("1 replica"),
            Self::Replicas(count) => write!(f, "{count} replicas"),
            Self::Suspended(true) => f.write_str("suspended"),
            Self::Suspended(false) => f.write_str("not suspended"),
        }
    }
}

impl Workload {
    /// Returns the scale of the workload; `None` for a `DaemonSet`, which has none.
    pub const fn scale(&self) -> Option<WorkloadScale> {
        match self.kind {
            Kind::DaemonSet => None,
            Kind::Job | Kind::CronJob => Some(WorkloadScale::Suspended(self.suspended)),
            _ => match self.replicas {
                Some(count) => Some(WorkloadScale::Replicas(count)),
                None => Some(WorkloadScale::Replicas(1)),
            },
        }
    }
}

impl TeardownTerms {
    /// Whether a workload is stopped by this teardown: its plan or its journal says so, and it is stopped now.
    pub fn has_stopped(&self, workload: &Workload) -> bool {
        let owner = workload.controller.as_ref().and_then(|it| it.uid.as_ref());
        self.counts(workload.uid.as_ref(), || {
            workload.scale().is_some_and(WorkloadScale::is_stopped)
        })
        // The ReplicaSets of a Deployment follow it, and the Jobs of a CronJob are stopped by themselves.
        || workload.kind == Kind::ReplicaSet && self.counts(owner, || workload.replicas == Some(0))
    }

    /// Whether a set is stopped by this teardown.
    pub fn has_stopped_set(&self, set: &StatefulSet) -> bool {
        self.counts(set.metadata.uid.as_ref(), || set.replicas == Some(0))
    }

    /// Whether a pod ends with what is stopped. Only a rehearsal counts that.
    pub fn ends_pod(&self, pod: Option<&Uid>, controller: Option<&Uid>) -> bool {
        let stops = |uid: Option<&Uid>| uid.is_some_and(|it| self.stopping.contains(it));
        self.is_rehearsal && (stops(pod) || stops(controller))
    }

    fn counts(&self, uid: Option<&Uid>, is_stopped_now: impl Fn() -> bool) -> bool {
        let Some(uid) = uid else { return false };
        self.is_rehearsal && self.stopping.contains(uid)
            || self.stopped.contains(uid) && is_stopped_now()
    }
}

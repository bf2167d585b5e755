//! Controllers that serve storage, and whether they are alive.

use super::{Kind, ObjectRef, Text, Time};

/// What a controller does for volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// csi-provisioner, or another external provisioner: makes and deletes backend volumes.
    Provisioner,
    /// external-attacher.
    Attacher,
    /// snapshot-controller and csi-snapshotter.
    Snapshotter,
    /// kube-controller-manager.
    ControllerManager,
}

impl Role {
    /// As evidence and journals write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provisioner => "provisioner",
            Self::Attacher => "attacher",
            Self::Snapshotter => "snapshotter",
            Self::ControllerManager => "kube-controller-manager",
        }
    }
}

/// Whether a controller is there (SEMANTICS 0.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// Something proves that it is at work.
    Alive,
    /// Every probe was made and found nothing, and that has been so for long enough, or the user
    /// says so.
    Absent,
    /// Neither is proven: restarting, scaled to zero, half removed, or not seen.
    Unknown,
}

impl Liveness {
    /// As evidence writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Absent => "absent",
            Self::Unknown => "unknown",
        }
    }
}

/// What was found out about one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerState {
    /// The answer.
    pub liveness: Liveness,
    /// Why, in a few words.
    pub because: String,
    /// Every probe with what it found.
    pub probes: Vec<Probe>,
    /// Whether all probes were made and found nothing, however recently.
    pub all_negative: bool,
    /// What was not seen, where that is why the answer is `Unknown`.
    pub unseen: Option<(Kind, String)>,
    /// The workloads and pods that run it, or would.
    pub runs_in: Vec<ObjectRef>,
}

/// One way of looking for a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// What was looked at.
    pub what: &'static str,
    /// What it showed.
    pub found: String,
}

/// An earlier run's record that every probe for a controller found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Which controller.
    pub role: Role,
    /// Of which driver; empty for the controller manager.
    pub driver: Text,
    /// When all probes were first seen to be negative, without a positive one since.
    pub absent_since: Time,
}

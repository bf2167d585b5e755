//! Actions (planned writes), proposals and refusals, as plain data. Only `apply` makes requests of
//! them.

use std::time::Duration;

use super::{
    AnnouncedVolume, Bytes, ClaimKey, ObjectRef, OwnerReference, Phase, ReclaimPolicy,
    RetentionPolicy, Text, Uid, WorkloadScale, counted,
};

/// Namespace and name of a claim that never exists: a volume that references it is Released (D-31, P-TOMBSTONE).
pub const NO_CLAIM: (&str, &str) = ("default", "kubectl-storage-reclaimed");

/// Finalizer that csi-provisioner sets and removes on volumes whose backend volume it would delete.
pub const DELETION_PROTECTION: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// Planned write of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// P-POLICY: patches the reclaim policy, testing everything that the decision rested on.
    SetReclaimPolicy {
        volume: ObjectRef,
        from: ReclaimPolicy,
        to: ReclaimPolicy,
        /// Whether the same patch annotates `storage.kubectl.dev/backend-state: unknown`: a
        /// provisioner may have begun to delete the backend volume (T31).
        doubts_backend: bool,
        /// The change of the deletion-protection finalizer by the same patch.
        finalizer: FinalizerEdit,
    },
    /// P-RESERVE: removes the dead uid from claimRef, which keeps the claim's name, or gets that of another claim.
    ReserveVolume {
        volume: ObjectRef,
        /// The phase of the volume, which the patch tests.
        from: Phase,
        claim: ClaimKey,
    },
    /// Writes the uid of a claim that is Lost into claimRef, which has its name.
    BindVolume { volume: ObjectRef, claim: ObjectRef },
    /// Creates a claim that references a volume that is reserved for it.
    CreateClaim { claim: ObjectRef, manifest: serde_json::Value },
    /// P-FIN-DEL: removes one finalizer, by its position and name.
    RemoveFinalizer {
        object: ObjectRef,
        finalizer: Text,
        /// The conditions that the patch tests besides uid, resourceVersion and the finalizer itself.
        guards: Vec<Guard>,
    },
    /// P-FIN-ADD: adds one protection finalizer.
    AddFinalizer { object: ObjectRef, finalizer: Text },
    /// P-DELETE: deletes the object of a volume whose policy is Retain, so that the backend volume
    /// remains, referenced only by our record.
    DeleteVolume { volume: ObjectRef },
    /// Makes an Available volume count as Released by a claim that never was, with the policy Delete: its provisioner
    /// deletes the backend volume then (F11, D-31).
    CondemnVolume {
        volume: ObjectRef,
        from: ReclaimPolicy,
        claim: Uid,
        /// The change of the deletion-protection finalizer by the same patch.
        finalizer: FinalizerEdit,
    },
    /// P-TOMBSTONE and P-RECREATE-PV: creates a volume object.
    CreateVolume { volume: ObjectRef, manifest: serde_json::Value },
    /// P-TOMBSTONE for a volume object that an earlier step deleted: what is created is rendered
    /// from that object as it was last read.
    ReclaimBackend { tombstone: ObjectRef, of: ObjectRef },
    /// Creates a `VolumeSnapshot` of a claim.
    CreateSnapshot { snapshot: ObjectRef, claim: ObjectRef, manifest: serde_json::Value },
    /// P-DELETE of an attachment: its attacher detaches the volume and removes its finalizer.
    DeleteAttachment { attachment: ObjectRef },
    /// P-DELETE of a claim that nothing uses.
    DeleteClaim {
        claim: ObjectRef,
        /// The volume of the claim, which has policy Retain and becomes Released; `None` if it has none.
        released: Option<ObjectRef>,
    },
    /// P-POLICY from Retain to Delete of the volume of a claim that an earlier step deleted: proposed
    /// again by the remedy that reclaims Released volumes, with all its checks.
    ReclaimReleased { volume: ObjectRef, claim: ObjectRef },
    /// P-DELETE of a `StatefulSet` or a namespace, with which Kubernetes deletes claims.
    DeleteWithClaims { object: ObjectRef, cascade: Cascade },
    /// P-OWNER-DEL: removes owner references of a claim, by their positions and uids.
    RemoveOwnerReferences { claim: ObjectRef, owners: Vec<OwnerReference> },
    /// Patches `spec.persistentVolumeClaimRetentionPolicy` of a set, testing both of its fields.
    SetRetentionPolicy { set: ObjectRef, from: RetentionPolicy, to: RetentionPolicy },
    /// P-EXPAND: patches `spec.resources.requests.storage` of a Bound claim, testing what it was.
    RequestStorage {
        claim: ObjectRef,
        /// The request that the patch tests.
        from: Bytes,
        to: Bytes,
    },
    /// P-STOP: patches `spec.replicas` or `spec.suspend` of a workload, testing what it was, and annotates what that was.
    ScaleWorkload { workload: ObjectRef, from: WorkloadScale, to: WorkloadScale },
    /// P-DELETE of a pod that no controller creates again.
    DeletePod { pod: ObjectRef },
    /// P-DELETE of a `VolumeSnapshot`: its content follows by its own policy.
    DeleteSnapshot { snapshot: ObjectRef },
    /// Annotates a volume, and records what is to be done to it with those of the same run.
    Announce {
        volume: ObjectRef,
        /// The recorded announcement.
        announced: Box<AnnouncedVolume>,
        /// The volume's annotation as it was read, which must still be the same; not where vetoes are overridden.
        mark: Option<Box<str>>,
        /// The least time for which the volume stays announced.
        grace: Duration,
    },
    /// Records that the announcement of a volume was vetoed.
    RecordVeto {
        volume: ObjectRef,
        /// The record of the announcement.
        batch: Box<str>,
    },
    /// P-OWNER-ADD: adds an owner reference to a claim.
    AddOwnerReference {
        claim: ObjectRef,
        owner: OwnerReference,
        /// The references to the same owner that lack its flags: the same patch removes them.
        replaces: Vec<OwnerReference>,
        /// An owner that exists and that the same patch adds too: it protects the claim from the garbage collector
        /// until a later step.
        guard: Option<OwnerReference>,
    },
}

impl Action {
    /// Returns the name of the action, as plans and journals write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SetReclaimPolicy { .. } => "set-reclaim-policy",
            Self::ReserveVolume { .. } => "reserve-volume",
            Self::BindVolume { .. } => "bind-volume",
            Self::CreateClaim { .. } => "create-claim",
            Self::RemoveFinalizer { .. } => "remove-finalizer",
            Self::AddFinalizer { .. } => "add-finalizer",
            Self::DeleteVolume { .. } => "delete-volume",
            Self::CondemnVolume { .. } => "condemn-volume",
            Self::CreateVolume { .. } => "create-volume",
            Self::ReclaimBackend { .. } => "reclaim-backend",
            Self::CreateSnapshot { .. } => "create-snapshot",
            Self::DeleteAttachment { .. } => "delete-attachment",
            Self::DeleteClaim { .. } => "delete-claim",
            Self::DeleteWithClaims { .. } => "delete-with-claims",
            Self::ReclaimReleased { .. } => "reclaim-released",
            Self::RemoveOwnerReferences { .. } => "remove-owner-references",
            Self::SetRetentionPolicy { .. } => "set-retention-policy",
            Self::AddOwnerReference { .. } => "add-owner-reference",
            Self::Announce { .. } => "announce",
            Self::RecordVeto { .. } => "record-veto",
            Self::RequestStorage { .. } => "request-storage",
            Self::ScaleWorkload { .. } => "scale-workload",
            Self::DeletePod { .. } => "delete-pod",
            Self::DeleteSnapshot { .. } => "delete-snapshot",
        }
    }

    /// Returns the finalizer that the action adds.
    pub fn added_finalizer(&self) -> Option<&str> {
        match self {
            Self::SetReclaimPolicy { finalizer: FinalizerEdit::Added, .. }
            | Self::CondemnVolume { finalizer: FinalizerEdit::Added, .. } => {
                Some(DELETION_PROTECTION)
            }
            Self::AddFinalizer { finalizer, .. } => Some(finalizer),
            _ => None,
        }
    }

    /// Returns the finalizer that the action removes.
    pub fn removed_finalizer(&self) -> Option<&str> {
        match self {
            Self::SetReclaimPolicy { finalizer: FinalizerEdit::Removed, .. } => {
                Some(DELETION_PROTECTION)
            }
            Self::RemoveFinalizer { finalizer, .. } => Some(finalizer),
            _ => None,
        }
    }

    /// Whether the action creates its object.
    pub const fn creates(&self) -> bool {
        matches!(self, Self::CreateVolume { .. } | Self::CreateClaim { .. })
    }

    /// Returns the object that the action is about.
    pub const fn object(&self) -> &ObjectRef {
        match self {
            Self::SetReclaimPolicy { volume, .. }
            | Self::ReserveVolume { volume, .. }
            | Self::BindVolume { volume, .. }
            | Self::DeleteVolume { volume }
            | Self::CondemnVolume { volume, .. }
            | Self::CreateVolume { volume, .. }
            | Self::Announce { volume, .. }
            | Self::RecordVeto { volume, .. }
            | Self::ReclaimReleased { volume, .. } => volume,
            Self::ReclaimBackend { tombstone, .. } => tombstone,
            Self::CreateSnapshot { snapshot, .. } | Self::DeleteSnapshot { snapshot } => snapshot,
            Self::ScaleWorkload { workload, .. } => workload,
            Self::DeletePod { pod } => pod,
            Self::DeleteAttachment { attachment } => attachment,
            Self::CreateClaim { claim, .. }
            | Self::DeleteClaim { claim, .. }
            | Self::RemoveOwnerReferences { claim, .. }
            | Self::RequestStorage { claim, .. }
            | Self::AddOwnerReference { claim, .. } => claim,
            Self::RemoveFinalizer { object, .. }
            | Self::AddFinalizer { object, .. }
            | Self::DeleteWithClaims { object, .. } => object,
            Self::SetRetentionPolicy { set, .. } => set,
        }
    }
}

impl Action {
    /// Returns the object that is read before the action is sent, and that the journal saves: what is created does not
    /// exist yet.
    pub const fn read_before(&self) -> &ObjectRef {
        match self {
            Self::CreateSnapshot { claim, .. } => claim,
            _ => self.object(),
        }
    }
}

/// Propagation of a deletion to the dependents of the object (`propagationPolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cascade {
    /// The dependents are deleted afterwards; the default of `kubectl delete`.
    #[default]
    Background,
    /// The dependents are deleted first.
    Foreground,
    /// The dependents are not deleted.
    Orphan,
}

impl Cascade {
    /// Returns the value of `propagationPolicy`.
    pub const fn policy(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// Change of csi-provisioner's deletion-protection finalizer by a patch of the reclaim policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalizerEdit {
    /// The finalizer is not changed.
    Untouched,
    /// The finalizer is added, so that no deletion of the object comes before that of the backend volume (R-2644-11).
    Added,
    /// The finalizer is removed: this tool had added it, and with the policy Retain it would block the deletion of the
    /// object where no csi-provisioner runs.
    Removed,
}

/// Condition that a patch tests, because the decision rested on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// `spec.persistentVolumeReclaimPolicy` is this.
    ReclaimPolicy(ReclaimPolicy),
    /// `status.phase` is this.
    Phase(Phase),
    /// This finalizer is present too: it blocks deletion of the object until the backend volume is
    /// deleted, or while a claim is bound.
    Finalizer(Text),
    /// `metadata.deletionTimestamp` is absent: removing the finalizer deletes nothing.
    NotTerminating,
}

/// Effect of carrying out a proposal, and its cost if the judgement is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The effect, in words.
    pub what: String,
    /// The loss if the judgement is wrong.
    pub risk: String,
}

/// Way in which a proposal can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// By the same patch in the other direction, where no controller can have acted.
    Revert,
    /// By recreating the object from what was saved of it, with a reference to the same backend volume.
    Recreate,
    /// By recreating the claim, and binding it to the volume that was kept.
    Rebind,
    /// Not at all, for this reason.
    Never(&'static str),
}

/// Proposal of a remedy whose checks have all passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The writes, in their order.
    pub steps: Vec<Action>,
    /// The effect of the writes.
    pub effect: Effect,
    /// The way in which the writes can be undone.
    pub undo: Undo,
    /// Things to know that are no reason to refuse.
    pub notices: Vec<String>,
    /// The danger flags without which the proposal would have been refused.
    pub relies_on: Vec<&'static str>,
    /// Whether the object is deleted and its backend volume remains, referenced only by our record.
    pub keeps_backend: bool,
    /// The loss with the object, certain or possible; nothing where only its own volume is destroyed.
    pub loses: Loss,
}

/// Loss of data by a change, certain or possible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// Number of volumes whose data is destroyed.
    pub volumes: usize,
    /// Number of snapshots at the storage backend, beside those that are destroyed with a volume.
    pub snapshots: usize,
    /// The capacity of these volumes, as far as it is known.
    pub bytes: Bytes,
    /// Whether some data is destroyed for certain.
    pub is_certain: bool,
}

impl Loss {
    /// Returns the number of volumes and snapshots that are destroyed.
    pub const fn count(self) -> usize {
        self.volumes + self.snapshots
    }

    /// Describes what is destroyed: `data of 2 volumes and 1 snapshot`.
    pub fn words(self) -> Option<String> {
        let volumes = || format!("data of {}", counted(self.volumes, "volume"));
        let snapshots = || counted(self.snapshots, "snapshot");
        match (self.volumes, self.snapshots) {
            (0, 0) => None,
            (_, 0) => Some(volumes()),
            (0, _) => Some(snapshots()),
            (_, _) => Some(format!("{} and {}", volumes(), snapshots())),
        }
    }

    /// Describes what happens to the data.
    pub const fn becomes(self) -> &'static str {
        if self.is_certain { "destroyed" } else { "may be destroyed" }
    }
}

impl std::iter::Sum for Loss {
    fn sum<I: Iterator<Item = Self>>(losses: I) -> Self {
        losses.fold(Self::default(), |sum, it| Self {
            volumes: sum.volumes + it.volumes,
            snapshots: sum.snapshots + it.snapshots,
            bytes: sum.bytes.saturating_add(it.bytes),
            is_certain: sum.is_certain || it.is_certain,
        })
    }
}

/// Refusal of a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The check that did not pass, as a sentence without a full stop.
    pub reason: String,
    /// The effect that the remedy would otherwise have.
    pub effect: Effect,
}

//! Actions (planned writes), proposals and refusals, as plain data. Only `apply` makes requests of
//! them.

use std::time::Duration;

use super::{
    AnnouncedVolume, Bytes, ClaimKey, ObjectRef, OwnerReference, Phase, ReclaimPolicy,
    RetentionPolicy, Text, Uid, counted,
};

/// A claim of this namespace and name never exists: a volume that references it is Released (D-31,
/// P-TOMBSTONE).
pub const NO_CLAIM: (&str, &str) = ("default", "kubectl-storage-reclaimed");

/// Set and removed by csi-provisioner on volumes whose backend volume it would delete.
pub const DELETION_PROTECTION: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// One write.
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
        /// What the same patch does about the deletion-protection finalizer.
        finalizer: FinalizerEdit,
    },
    /// P-RESERVE: drops the dead uid from claimRef, which keeps the claim's name, or gets that of
    /// another claim.
    ReserveVolume {
        volume: ObjectRef,
        /// Its phase, which the patch tests.
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
        /// What the patch tests besides uid, resourceVersion and the finalizer itself.
        guards: Vec<Guard>,
    },
    /// P-FIN-ADD: adds one protection finalizer.
    AddFinalizer { object: ObjectRef, finalizer: Text },
    /// P-DELETE: deletes the object of a volume whose policy is Retain, so that the backend volume
    /// remains, referenced only by our record.
    DeleteVolume { volume: ObjectRef },
    /// Has an Available volume count as Released by a claim that never was, with the policy Delete:
    /// its provisioner deletes the backend volume then (F11, D-31).
    CondemnVolume {
        volume: ObjectRef,
        from: ReclaimPolicy,
        claim: Uid,
        /// What the same patch does about the deletion-protection finalizer.
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
        /// Its volume, which has policy Retain and becomes Released; `None` if it has none.
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
    /// Annotates a volume, and records what is to be done to it with those of the same run.
    Announce {
        volume: ObjectRef,
        /// What is recorded.
        announced: Box<AnnouncedVolume>,
        /// Its annotation as it was seen, which must still be the same; not where vetoes are overridden.
        mark: Option<Box<str>>,
        /// How long it stays announced at least.
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
        /// Those to the same owner that lack its flags: the same patch removes them.
        replaces: Vec<OwnerReference>,
        /// What the same patch adds too: an owner that exists, which protects the claim from the
        /// garbage collector until a later step.
        guard: Option<OwnerReference>,
    },
}

impl Action {
    /// Its name, as plans and journals write it.
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
        }
    }

    /// The finalizer that it adds.
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

    /// The finalizer that it removes.
    pub fn removed_finalizer(&self) -> Option<&str> {
        match self {
            Self::SetReclaimPolicy { finalizer: FinalizerEdit::Removed, .. } => {
                Some(DELETION_PROTECTION)
            }
            Self::RemoveFinalizer { finalizer, .. } => Some(finalizer),
            _ => None,
        }
    }

    /// Whether its object does not exist before.
    pub const fn creates(&self) -> bool {
        matches!(self, Self::CreateVolume { .. } | Self::CreateClaim { .. })
    }

    /// The object that it is about.
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
            Self::CreateSnapshot { snapshot, .. } => snapshot,
            Self::DeleteAttachment { attachment } => attachment,
            Self::CreateClaim { claim, .. }
            | Self::DeleteClaim { claim, .. }
            | Self::RemoveOwnerReferences { claim, .. }
            | Self::AddOwnerReference { claim, .. } => claim,
            Self::RemoveFinalizer { object, .. }
            | Self::AddFinalizer { object, .. }
            | Self::DeleteWithClaims { object, .. } => object,
            Self::SetRetentionPolicy { set, .. } => set,
        }
    }
}

impl Action {
    /// The object that is read before it is sent, and that the journal saves: what is created does
    /// not exist yet.
    pub const fn read_before(&self) -> &ObjectRef {
        match self {
            Self::CreateSnapshot { claim, .. } => claim,
            _ => self.object(),
        }
    }
}

/// What becomes of the dependents of an object that is deleted (`propagationPolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cascade {
    /// They are deleted afterwards; the default of `kubectl delete`.
    #[default]
    Background,
    /// They are deleted first.
    Foreground,
    /// They are not deleted.
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

/// What a patch of the reclaim policy does about csi-provisioner's deletion-protection finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalizerEdit {
    /// Nothing.
    Untouched,
    /// It adds it, so that no deletion of the object comes before that of the backend volume
    /// (R-2644-11).
    Added,
    /// It removes it: this tool had added it, and with the policy Retain it would block the deletion
    /// of the object where no csi-provisioner runs.
    Removed,
}

/// What a patch tests, because the decision rested on it.
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

/// What carrying out a proposal would do, and what it costs if the judgement is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What it would do.
    pub what: String,
    /// What is lost if the judgement is wrong.
    pub risk: String,
}

/// How far a proposal can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// The same patch in the other direction, where no controller can have acted.
    Revert,
    /// The object is recreated from what was saved of it, and references the same backend volume.
    Recreate,
    /// The claim is recreated, and bound to the volume that was kept.
    Rebind,
    /// Never, and why.
    Never(&'static str),
}

/// What a remedy would do, all its checks having passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The writes, in their order.
    pub steps: Vec<Action>,
    /// What they would do.
    pub effect: Effect,
    /// Whether they can be undone.
    pub undo: Undo,
    /// Things to know that are no reason to refuse.
    pub notices: Vec<String>,
    /// The danger flags without which it would have been refused.
    pub relies_on: Vec<&'static str>,
    /// Whether the object is deleted and its backend volume remains, referenced only by our record.
    pub keeps_backend: bool,
    /// What is destroyed with its object, or may be; nothing of it where only its own volume is.
    pub loses: Loss,
}

/// How much a change destroys, or may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// Volumes, whose data is destroyed.
    pub volumes: usize,
    /// Snapshots at the storage backend, beside those that go with a volume.
    pub snapshots: usize,
    /// The capacity of these volumes, as far as it is known.
    pub bytes: Bytes,
    /// Whether something of it is destroyed for certain.
    pub is_certain: bool,
}

impl Loss {
    /// How many things are destroyed.
    pub const fn count(self) -> usize {
        self.volumes + self.snapshots
    }

    /// What is destroyed, in words: `data of 2 volumes and 1 snapshot`.
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

    /// What becomes of it, in words.
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

/// Why a remedy would do nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The check that did not pass, as a sentence without a full stop.
    pub reason: String,
    /// What the remedy would do otherwise.
    pub effect: Effect,
}

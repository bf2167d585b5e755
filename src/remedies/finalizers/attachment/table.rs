//! The decision table for one attachment (F80, F81, F82, R-SUP-1).

use super::super::{Consent, FinalizerDecision};

/// The volume of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumeOfAttachment {
    /// The volume object exists, or the attachment has an inline volume.
    Exists,
    /// The volume object does not exist: without it, the attacher cannot detach the volume.
    Missing,
    /// The attachment references no volume, which no API server should return.
    Unnamed,
}

/// The finalizer of an attachment that decides: with that of an attacher, the volume may be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockedBy {
    /// The finalizer of the attacher in `spec.attacher`.
    ItsAttacher,
    /// The finalizer of the attacher of another driver.
    AnotherAttacher,
    /// A third-party finalizer, and none of an attacher: the volume is detached.
    ThirdParty,
    /// Only finalizers of the garbage collector.
    GarbageCollector,
    /// No finalizer.
    Nothing,
}

/// The inputs of the table for one attachment.
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttachmentInputs {
    pub(super) terminating: bool,
    pub(super) volume: VolumeOfAttachment,
    /// Whether the volume may be attached (R-SUP-1).
    pub(super) may_be_attached: bool,
    pub(super) blocked_by: BlockedBy,
    /// Whether the node of the attachment is known not to exist.
    pub(super) node_missing: bool,
    /// Whether a pod on that node still uses the volume.
    pub(super) pod_exists: bool,
    /// Whether the attacher in `spec.attacher` is proven absent.
    pub(super) attacher_absent: bool,
    /// Whether the user named the attachment, instead of a filter.
    pub(super) named: bool,
    /// Whether `--remove-finalizer` names a third-party finalizer of the attachment.
    pub(super) consent: Consent,
    /// Whether the attachment has been Terminating for as long as the threshold requires.
    pub(super) waited: bool,
}

/// The next step for an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachmentStep {
    /// The attachment is deleted: its attacher detaches the volume.
    Delete,
    /// The last resort: the finalizer of its attacher is removed, and the volume is not detached.
    RemoveItsAttachers,
    /// The third-party finalizer that the user names is removed: the volume is detached.
    RemoveThirdParty,
}

/// Reason why an attachment is left unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachmentReason {
    NotTerminating,
    NothingWasAttached,
    VolumeUnnamed,
    VolumeMissing,
    PodExists,
    AttacherAbsent,
    Detaching,
    OfAnotherAttacher,
    OfGarbageCollector,
    NoFinalizer,
    TooSoon,
    NeedsFinalizerName,
    NeedsObjectName,
}

/// A decision of the table about an attachment.
pub(super) type AttachmentDecision = FinalizerDecision<AttachmentStep, AttachmentReason>;

/// Decides about one attachment.
pub(super) const fn decide(row: AttachmentInputs) -> AttachmentDecision {
    if row.terminating { terminating(row) } else { live(row) }
}

/// Decides about an attachment that is not Terminating: F82, and F80 before its deletion.
const fn live(row: AttachmentInputs) -> AttachmentDecision {
    use FinalizerDecision::{Do, Leave};
    match (row.volume, row.node_missing, row.pod_exists, row.attacher_absent, row.named) {
        (VolumeOfAttachment::Unnamed, _, _, _, _) => Leave(AttachmentReason::VolumeUnnamed),
        (VolumeOfAttachment::Missing, _, _, _, _) if row.may_be_attached => {
            Leave(AttachmentReason::VolumeMissing)
        }
        (VolumeOfAttachment::Missing, _, _, _, _) => Leave(AttachmentReason::NothingWasAttached),
        (VolumeOfAttachment::Exists, false, _, _, _) => Leave(AttachmentReason::NotTerminating),
        (VolumeOfAttachment::Exists, true, true, _, _) => Leave(AttachmentReason::PodExists),
        (VolumeOfAttachment::Exists, true, false, true, _) => {
            Leave(AttachmentReason::AttacherAbsent)
        }
        (VolumeOfAttachment::Exists, true, false, false, false) => {
            Leave(AttachmentReason::NeedsObjectName)
        }
        (VolumeOfAttachment::Exists, true, false, false, true) => Do(AttachmentStep::Delete),
    }
}

/// Decides about a Terminating attachment: F80, F81, and third-party finalizers.
#[expect(clippy::match_same_arms, reason = "a line for each row of the table")]
const fn terminating(row: AttachmentInputs) -> AttachmentDecision {
    use FinalizerDecision::{Do, Leave};
    match (row.blocked_by, row.volume, row.node_missing, row.waited, row.named, row.consent) {
        (BlockedBy::Nothing, _, _, _, _, _) => Leave(AttachmentReason::NoFinalizer),
        (BlockedBy::GarbageCollector, _, _, _, _, _) => Leave(AttachmentReason::OfGarbageCollector),
        (BlockedBy::AnotherAttacher, _, _, _, _, _) => Leave(AttachmentReason::OfAnotherAttacher),
        (BlockedBy::ItsAttacher, VolumeOfAttachment::Exists, _, _, _, _) => {
            Leave(AttachmentReason::Detaching)
        }
        (BlockedBy::ItsAttacher, VolumeOfAttachment::Unnamed, _, _, _, _) => {
            Leave(AttachmentReason::VolumeUnnamed)
        }
        (BlockedBy::ItsAttacher, VolumeOfAttachment::Missing, false, _, _, _) => {
            Leave(AttachmentReason::VolumeMissing)
        }
        (BlockedBy::ItsAttacher, VolumeOfAttachment::Missing, true, false, _, _) => {
            Leave(AttachmentReason::TooSoon)
        }
        (BlockedBy::ItsAttacher, VolumeOfAttachment::Missing, true, true, false, _) => {
            Leave(AttachmentReason::NeedsObjectName)
        }
        (BlockedBy::ItsAttacher, VolumeOfAttachment::Missing, true, true, true, _) => {
            Do(AttachmentStep::RemoveItsAttachers)
        }
        (BlockedBy::ThirdParty, _, _, _, _, Consent::Missing) => {
            Leave(AttachmentReason::NeedsFinalizerName)
        }
        (BlockedBy::ThirdParty, _, _, _, false, Consent::Given) => {
            Leave(AttachmentReason::NeedsObjectName)
        }
        (BlockedBy::ThirdParty, _, _, false, true, Consent::Given) => {
            Leave(AttachmentReason::TooSoon)
        }
        (BlockedBy::ThirdParty, _, _, true, true, Consent::Given) => {
            Do(AttachmentStep::RemoveThirdParty)
        }
    }
}

#[cfg(test)]
mod tests;

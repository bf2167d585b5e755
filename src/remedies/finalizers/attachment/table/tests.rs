//! Every row of the table, and that there is no other.

use super::*;
use FinalizerDecision::{Do, Leave};

const VOLUMES: [VolumeOfAttachment; 3] =
    [VolumeOfAttachment::Exists, VolumeOfAttachment::Missing, VolumeOfAttachment::Unnamed];
const BLOCKED_BY: [BlockedBy; 5] = [
    BlockedBy::ItsAttacher,
    BlockedBy::AnotherAttacher,
    BlockedBy::ThirdParty,
    BlockedBy::GarbageCollector,
    BlockedBy::Nothing,
];

/// All 3840 rows.
fn all() -> Vec<AttachmentInputs> {
    let mut all = Vec::new();
    for volume in VOLUMES {
        for blocked_by in BLOCKED_BY {
            for bits in 0_u32..256 {
                let is = |bit: u32| bits & (1 << bit) != 0;
                all.push(AttachmentInputs {
                    terminating: is(0),
                    volume,
                    may_be_attached: is(1),
                    blocked_by,
                    node_missing: is(2),
                    pod_exists: is(3),
                    attacher_absent: is(4),
                    named: is(5),
                    consent: Consent::new(is(6)),
                    waited: is(7),
                });
            }
        }
    }
    all
}

/// Exactly these rows are decided so.
#[track_caller]
fn exactly(decision: AttachmentDecision, count: usize, holds: impl Fn(AttachmentInputs) -> bool) {
    let mut found = 0;
    for row in all() {
        assert_eq!(decide(row) == decision, holds(row), "{decision:?}: {row:?}");
        found += usize::from(holds(row));
    }
    assert_eq!((found, all().len()), (count, 3840), "{decision:?}");
}

/// An attachment to a node that does not exist, of a volume that exists.
fn node_is_missing(row: AttachmentInputs) -> bool {
    !row.terminating && row.volume == VolumeOfAttachment::Exists && row.node_missing
}

/// An attachment that its attacher cannot detach: the volume does not exist.
fn cannot_detach(row: AttachmentInputs) -> bool {
    row.terminating
        && row.blocked_by == BlockedBy::ItsAttacher
        && row.volume == VolumeOfAttachment::Missing
}

#[test]
fn an_attachment_to_a_node_that_is_gone_is_deleted_by_its_name() {
    exactly(Do(AttachmentStep::Delete), 40, |row| {
        node_is_missing(row) && !row.pod_exists && !row.attacher_absent && row.named
    });
}

#[test]
fn no_disk_is_taken_from_under_a_pod() {
    exactly(Leave(AttachmentReason::PodExists), 160, |row| node_is_missing(row) && row.pod_exists);
}

#[test]
fn nothing_is_deleted_that_nobody_would_detach() {
    exactly(Leave(AttachmentReason::AttacherAbsent), 80, |row| {
        node_is_missing(row) && !row.pod_exists && row.attacher_absent
    });
}

#[test]
fn what_concerns_a_node_that_is_gone_is_never_chosen_by_a_filter() {
    exactly(Leave(AttachmentReason::NeedsObjectName), 40 + 16 + 96, |row| {
        let deletes = node_is_missing(row) && !row.pod_exists && !row.attacher_absent;
        let resorts = cannot_detach(row) && row.node_missing && row.waited;
        let others = row.terminating
            && row.blocked_by == BlockedBy::ThirdParty
            && row.consent == Consent::Given;
        !row.named && (deletes || resorts || others)
    });
}

#[test]
fn the_attachers_finalizer_goes_where_volume_and_node_are_gone_and_only_by_name() {
    exactly(Do(AttachmentStep::RemoveItsAttachers), 16, |row| {
        cannot_detach(row) && row.node_missing && row.waited && row.named
    });
}

#[test]
fn a_volume_that_is_gone_has_to_come_back_first() {
    exactly(Leave(AttachmentReason::VolumeMissing), 64 + 320, |row| {
        let standing =
            !row.terminating && row.volume == VolumeOfAttachment::Missing && row.may_be_attached;
        cannot_detach(row) && !row.node_missing || standing
    });
}

#[test]
fn what_its_attacher_can_detach_is_never_forced() {
    exactly(Leave(AttachmentReason::Detaching), 128, |row| {
        row.terminating
            && row.blocked_by == BlockedBy::ItsAttacher
            && row.volume == VolumeOfAttachment::Exists
    });
}

#[test]
fn what_is_where_it_belongs_is_left() {
    exactly(Leave(AttachmentReason::NotTerminating), 320, |row| {
        !row.terminating && row.volume == VolumeOfAttachment::Exists && !row.node_missing
    });
}

#[test]
fn what_never_was_attached_is_anybodys_to_delete() {
    exactly(Leave(AttachmentReason::NothingWasAttached), 320, |row| {
        !row.terminating && row.volume == VolumeOfAttachment::Missing && !row.may_be_attached
    });
}

#[test]
fn what_names_no_volume_is_not_understood() {
    exactly(Leave(AttachmentReason::VolumeUnnamed), 640 + 128, |row| {
        let held = !row.terminating || row.blocked_by == BlockedBy::ItsAttacher;
        row.volume == VolumeOfAttachment::Unnamed && held
    });
}

#[test]
fn another_attacher_may_have_attached_it() {
    exactly(Leave(AttachmentReason::OfAnotherAttacher), 384, |row| {
        row.terminating && row.blocked_by == BlockedBy::AnotherAttacher
    });
}

#[test]
fn the_garbage_collector_is_left_its_own() {
    exactly(Leave(AttachmentReason::OfGarbageCollector), 384, |row| {
        row.terminating && row.blocked_by == BlockedBy::GarbageCollector
    });
}

#[test]
fn what_nothing_holds_goes_by_itself() {
    exactly(Leave(AttachmentReason::NoFinalizer), 384, |row| {
        row.terminating && row.blocked_by == BlockedBy::Nothing
    });
}

#[test]
fn what_others_set_needs_its_name() {
    exactly(Leave(AttachmentReason::NeedsFinalizerName), 192, |row| {
        row.terminating
            && row.blocked_by == BlockedBy::ThirdParty
            && row.consent == Consent::Missing
    });
}

#[test]
fn what_others_set_goes_by_both_names() {
    exactly(Do(AttachmentStep::RemoveThirdParty), 48, |row| {
        let said = row.named && row.consent == Consent::Given;
        row.terminating && row.blocked_by == BlockedBy::ThirdParty && said && row.waited
    });
}

#[test]
fn what_began_just_now_may_end_by_itself() {
    exactly(Leave(AttachmentReason::TooSoon), 48 + 32, |row| {
        let said = row.named && row.consent == Consent::Given;
        let others = row.terminating && row.blocked_by == BlockedBy::ThirdParty && said;
        !row.waited && (others || cannot_detach(row) && row.node_missing)
    });
}

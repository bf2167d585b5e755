//! Every row of both tables, and that there is no other.

use super::*;
use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
use FinalizerDecision::{Do, Leave};

const KINDS: [ClaimFinalizerKind; 5] = [
    ClaimFinalizerKind::Protection,
    ClaimFinalizerKind::CloneSource,
    ClaimFinalizerKind::SnapshotSource,
    ClaimFinalizerKind::GarbageCollection,
    ClaimFinalizerKind::ThirdParty,
];
const CONTROLLERS: [ControllerLiveness; 6] = [Alive, Working, Absent, Unknown, Nameless, Unread];

fn all() -> Vec<ClaimInputs> {
    let mut all = Vec::new();
    for kind in KINDS {
        for controller in CONTROLLERS {
            for bits in 0_u32..16 {
                let is = |bit: u32| bits & (1 << bit) != 0;
                all.push(ClaimInputs {
                    kind,
                    used: is(0),
                    controller,
                    consent: Consent::new(is(1)),
                    named: is(2),
                    waited: is(3),
                });
            }
        }
    }
    all
}

fn has_known_controller(row: ClaimInputs) -> bool {
    matches!(
        row.kind,
        ClaimFinalizerKind::Protection
            | ClaimFinalizerKind::CloneSource
            | ClaimFinalizerKind::SnapshotSource
    )
}

/// Whether the controller is absent, or the user names the finalizer and the claim.
fn can_be_removed(row: ClaimInputs) -> bool {
    let absent = has_known_controller(row) && row.controller == Absent;
    let consented = row.consent == Consent::Given && row.named;
    !row.used && (absent || row.kind == ClaimFinalizerKind::ThirdParty && consented)
}

/// Exactly these of the 480 rows are decided so.
#[track_caller]
fn exactly(decision: ClaimDecision, count: usize, holds: impl Fn(ClaimInputs) -> bool) {
    let mut found = 0;
    for row in all() {
        assert_eq!(decide(row) == decision, holds(row), "{decision:?}: {row:?}");
        found += usize::from(holds(row));
    }
    assert_eq!((found, all().len()), (count, 480), "{decision:?}");
}

#[test]
fn a_claim_in_use_keeps_every_finalizer() {
    exactly(Ok(Leave(ClaimReason::InUse)), 240, |row| row.used);
}

#[test]
fn a_controller_that_is_alive_removes_its_finalizer_itself() {
    exactly(Ok(Leave(ClaimReason::ControllerAlive)), 48, |row| {
        !row.used && has_known_controller(row) && matches!(row.controller, Alive | Working)
    });
}

#[test]
fn a_controller_that_may_be_running_is_waited_for() {
    exactly(Ok(Leave(ClaimReason::ControllerUnknown)), 24, |row| {
        !row.used && has_known_controller(row) && row.controller == Unknown
    });
}

#[test]
fn a_controller_without_a_name_is_not_known_to_be_absent() {
    exactly(Ok(Leave(ClaimReason::ControllerNameless)), 24, |row| {
        !row.used && has_known_controller(row) && row.controller == Nameless
    });
}

#[test]
fn nothing_is_decided_without_the_state_of_the_controller() {
    exactly(Err(NotRead::Controller), 32, |row| {
        !row.used && row.kind != ClaimFinalizerKind::ThirdParty && row.controller == Unread
    });
}

#[test]
fn the_garbage_collector_removes_its_own() {
    exactly(Ok(Leave(ClaimReason::OfGarbageCollector)), 40, |row| {
        let its_own = row.kind == ClaimFinalizerKind::GarbageCollection;
        !row.used && its_own && row.controller != Unread
    });
}

#[test]
fn a_third_party_finalizer_needs_its_name() {
    exactly(Ok(Leave(ClaimReason::NeedsFinalizerName)), 24, |row| {
        let third_party = row.kind == ClaimFinalizerKind::ThirdParty;
        !row.used && third_party && row.consent == Consent::Missing
    });
}

#[test]
fn a_third_party_finalizer_needs_the_name_of_the_claim_too() {
    exactly(Ok(Leave(ClaimReason::NeedsObjectName)), 12, |row| {
        let third_party = row.kind == ClaimFinalizerKind::ThirdParty;
        !row.used && third_party && row.consent == Consent::Given && !row.named
    });
}

#[test]
fn a_claim_that_is_terminating_for_a_short_time_is_left() {
    exactly(Ok(Leave(ClaimReason::TooSoon)), 18, |row| can_be_removed(row) && !row.waited);
}

#[test]
fn the_finalizer_of_an_absent_controller_or_one_that_the_user_names_is_removed() {
    exactly(Ok(Do(Remove)), 18, |row| can_be_removed(row) && row.waited);
}

#[test]
fn the_kind_of_each_finalizer() {
    for (finalizer, kind) in [
        (PVC_PROTECTION, ClaimFinalizerKind::Protection),
        (CLONE_SOURCE, ClaimFinalizerKind::CloneSource),
        (SNAPSHOT_SOURCE, ClaimFinalizerKind::SnapshotSource),
        ("foregroundDeletion", ClaimFinalizerKind::GarbageCollection),
        ("orphan", ClaimFinalizerKind::GarbageCollection),
        ("example.com/backup", ClaimFinalizerKind::ThirdParty),
        ("kubernetes.io/pvc-protection2", ClaimFinalizerKind::ThirdParty),
        // Finalizers that do not belong on a claim.
        (facts::PV_PROTECTION, ClaimFinalizerKind::ThirdParty),
        (facts::EXTERNAL_PROVISIONER, ClaimFinalizerKind::ThirdParty),
        ("external-attacher/driver-longhorn-io", ClaimFinalizerKind::ThirdParty),
        (
            "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
            ClaimFinalizerKind::ThirdParty,
        ),
    ] {
        assert_eq!(ClaimFinalizerKind::of(finalizer), kind, "{finalizer}");
    }
}

#[test]
fn the_data_row_by_row() {
    use DataChoice::{Destroy, Keep, Unsaid};
    use DataDecision::{Destroyed, Kept, LeftAlone, Refused};
    let needs_choice = Refused(DataRefusal::NeedsChoice);
    let would_leak = Refused(DataRefusal::WouldLeak);
    for (loss, of_choices) in [
        (DataLoss::Nothing, [LeftAlone, LeftAlone, LeftAlone]),
        (DataLoss::LostFromBound, [needs_choice, Kept, Destroyed]),
        (
            DataLoss::LostFromTerminating,
            [needs_choice, Refused(DataRefusal::VolumeTerminating), Destroyed],
        ),
        (
            DataLoss::LostFromOther,
            [needs_choice, Refused(DataRefusal::VolumeIsNotBound), Destroyed],
        ),
        (DataLoss::Leaked, [would_leak, would_leak, would_leak]),
    ] {
        for (choice, expected) in [Unsaid, Keep, Destroy].into_iter().zip(of_choices) {
            assert_eq!(decide_data(true, loss, choice), expected, "{loss:?}, {choice:?}");
            assert_eq!(
                decide_data(false, loss, choice),
                LeftAlone,
                "{loss:?}, {choice:?}: it stays"
            );
        }
    }
}

//! Every row of both tables, and that there is no other.

use super::*;

const WHOSE: [Whose; 5] = [
    Whose::Protection,
    Whose::CloneSource,
    Whose::SnapshotSource,
    Whose::Collector,
    Whose::Foreign,
];
const KEEPERS: [Keeper; 4] = [Keeper::Alive, Keeper::Absent, Keeper::Unknown, Keeper::Nameless];
const WORDS: [Word; 3] = [Word::Unsaid, Word::SaidOfMany, Word::Said];

fn all() -> Vec<Row> {
    let mut all = Vec::new();
    for whose in WHOSE {
        for keeper in KEEPERS {
            for word in WORDS {
                for (used, waited) in [(false, false), (false, true), (true, false), (true, true)] {
                    all.push(Row { whose, used, keeper, word, waited });
                }
            }
        }
    }
    all
}

fn is_known(row: Row) -> bool {
    matches!(row.whose, Whose::Protection | Whose::CloneSource | Whose::SnapshotSource)
}

/// Exactly these of the 240 rows are decided so.
#[track_caller]
fn exactly(decision: Decision, count: usize, holds: impl Fn(Row) -> bool) {
    let mut found = 0;
    for row in all() {
        assert_eq!(decide(row) == decision, holds(row), "{decision:?}: {row:?}");
        found += usize::from(holds(row));
    }
    assert_eq!(found, count, "{decision:?}: of {} rows", all().len());
}

#[test]
fn whatever_is_used_is_left() {
    exactly(Decision::Leave(Why::InUse), 120, |row| row.used);
}

#[test]
fn a_controller_that_is_alive_removes_its_finalizer_itself() {
    exactly(Decision::Leave(Why::ItsControllerIsAlive), 18, |row| {
        !row.used && is_known(row) && row.keeper == Keeper::Alive
    });
}

#[test]
fn a_controller_that_may_be_there_is_waited_for() {
    exactly(Decision::Leave(Why::ItsControllerIsUnknown), 18, |row| {
        !row.used && is_known(row) && row.keeper == Keeper::Unknown
    });
}

#[test]
fn a_controller_that_nobody_can_name_is_not_known_to_be_gone() {
    exactly(Decision::Leave(Why::ItsControllerIsNameless), 18, |row| {
        !row.used && is_known(row) && row.keeper == Keeper::Nameless
    });
}

#[test]
fn the_garbage_collector_is_left_its_own() {
    exactly(Decision::Leave(Why::IsTheCollectors), 24, |row| {
        !row.used && row.whose == Whose::Collector
    });
}

#[test]
fn what_others_set_needs_its_name() {
    exactly(Decision::Leave(Why::NeedsItsName), 8, |row| {
        !row.used && row.whose == Whose::Foreign && row.word == Word::Unsaid
    });
}

#[test]
fn what_others_set_needs_the_name_of_the_claim_too() {
    exactly(Decision::Leave(Why::NeedsTheClaimsName), 8, |row| {
        !row.used && row.whose == Whose::Foreign && row.word == Word::SaidOfMany
    });
}

#[test]
fn what_began_just_now_may_end_by_itself() {
    exactly(Decision::Leave(Why::TooSoon), 13, |row| {
        let absent = is_known(row) && row.keeper == Keeper::Absent;
        let said = row.whose == Whose::Foreign && row.word == Word::Said;
        !row.used && !row.waited && (absent || said)
    });
}

#[test]
fn what_nobody_is_left_to_remove_or_the_user_names_is_removed() {
    exactly(Decision::Remove, 13, |row| {
        let absent = is_known(row) && row.keeper == Keeper::Absent;
        let said = row.whose == Whose::Foreign && row.word == Word::Said;
        !row.used && row.waited && (absent || said)
    });
}

#[test]
fn whose_each_finalizer_is() {
    for (finalizer, whose) in [
        (PVC_PROTECTION, Whose::Protection),
        (CLONE_SOURCE, Whose::CloneSource),
        (SNAPSHOT_SOURCE, Whose::SnapshotSource),
        ("foregroundDeletion", Whose::Collector),
        ("orphan", Whose::Collector),
        ("example.com/backup", Whose::Foreign),
        ("kubernetes.io/pvc-protection2", Whose::Foreign),
        // What has no business on a claim is nobody's there.
        (facts::PV_PROTECTION, Whose::Foreign),
        (facts::EXTERNAL_PROVISIONER, Whose::Foreign),
        ("external-attacher/disk-csi-example-com", Whose::Foreign),
        ("snapshot.storage.kubernetes.io/volumesnapshot-bound-protection", Whose::Foreign),
    ] {
        assert_eq!(Whose::of(finalizer), whose, "{finalizer}");
    }
}

#[test]
fn what_becomes_of_the_data_row_by_row() {
    use Data::{Destroyed, Kept, LeftAlone, Refused};
    use DataWord::{Destroy, Keep, Unsaid};
    let needs_a_word = Refused(Danger::NeedsAWord);
    let would_leak = Refused(Danger::WouldLeak);
    for (stake, of_words) in [
        (Stake::Nothing, [LeftAlone, LeftAlone, LeftAlone]),
        (Stake::LostFromBound, [needs_a_word, Kept, Destroyed]),
        (Stake::LostFromTerminating, [needs_a_word, Refused(Danger::VolumeGoesToo), Destroyed]),
        (Stake::LostFromOther, [needs_a_word, Refused(Danger::VolumeIsNotBound), Destroyed]),
        (Stake::Leaked, [would_leak, would_leak, would_leak]),
    ] {
        for (word, expected) in [Unsaid, Keep, Destroy].into_iter().zip(of_words) {
            assert_eq!(data(true, stake, word), expected, "{stake:?}, {word:?}");
            assert_eq!(data(false, stake, word), LeftAlone, "{stake:?}, {word:?}: it stays");
        }
    }
}

//! Every row of the table, and that there is no other.

use super::*;

const SOURCES: [Source; 3] = [Source::There, Source::Missing, Source::Nameless];
const HELD: [Held; 5] =
    [Held::ByItsAttacher, Held::ByAnotherAttacher, Held::ByOthers, Held::ByTheCollector, Held::Not];

/// All 3840 rows.
fn all() -> Vec<Row> {
    let mut all = Vec::new();
    for source in SOURCES {
        for held in HELD {
            for bits in 0_u32..256 {
                let is = |bit: u32| bits & (1 << bit) != 0;
                all.push(Row {
                    terminating: is(0),
                    source,
                    may_be_attached: is(1),
                    held,
                    node_gone: is(2),
                    pod_there: is(3),
                    attacher_absent: is(4),
                    named: is(5),
                    word: if is(6) { Word::Said } else { Word::Unsaid },
                    waited: is(7),
                });
            }
        }
    }
    all
}

/// Exactly these rows are decided so.
#[track_caller]
fn exactly(decision: Decision, count: usize, holds: impl Fn(Row) -> bool) {
    let mut found = 0;
    for row in all() {
        assert_eq!(decide(row) == decision, holds(row), "{decision:?}: {row:?}");
        found += usize::from(holds(row));
    }
    assert_eq!((found, all().len()), (count, 3840), "{decision:?}");
}

/// An attachment to a node that is gone, of a volume that is there.
fn left_behind(row: Row) -> bool {
    !row.terminating && row.source == Source::There && row.node_gone
}

/// What its attacher never detaches: the volume is gone.
fn orphaned(row: Row) -> bool {
    row.terminating && row.held == Held::ByItsAttacher && row.source == Source::Missing
}

#[test]
fn an_attachment_to_a_node_that_is_gone_is_deleted_by_its_name() {
    exactly(Decision::Delete, 40, |row| {
        left_behind(row) && !row.pod_there && !row.attacher_absent && row.named
    });
}

#[test]
fn no_disk_is_taken_from_under_a_pod() {
    exactly(Decision::Leave(Why::PodIsThere), 160, |row| left_behind(row) && row.pod_there);
}

#[test]
fn nothing_is_deleted_that_nobody_would_detach() {
    exactly(Decision::Leave(Why::NobodyWouldDetach), 80, |row| {
        left_behind(row) && !row.pod_there && row.attacher_absent
    });
}

#[test]
fn what_concerns_a_node_that_is_gone_is_never_chosen_by_a_filter() {
    exactly(Decision::Leave(Why::NeedsTheAttachmentsName), 40 + 16 + 96, |row| {
        let deletes = left_behind(row) && !row.pod_there && !row.attacher_absent;
        let resorts = orphaned(row) && row.node_gone && row.waited;
        let others = row.terminating && row.held == Held::ByOthers && row.word == Word::Said;
        !row.named && (deletes || resorts || others)
    });
}

#[test]
fn the_attachers_finalizer_goes_where_volume_and_node_are_gone_and_only_by_name() {
    exactly(Decision::RemoveItsAttachers, 16, |row| {
        orphaned(row) && row.node_gone && row.waited && row.named
    });
}

#[test]
fn a_volume_that_is_gone_has_to_come_back_first() {
    exactly(Decision::Leave(Why::VolumeIsMissing), 64 + 320, |row| {
        let standing = !row.terminating && row.source == Source::Missing && row.may_be_attached;
        orphaned(row) && !row.node_gone || standing
    });
}

#[test]
fn what_its_attacher_can_detach_is_never_forced() {
    exactly(Decision::Leave(Why::IsDetaching), 128, |row| {
        row.terminating && row.held == Held::ByItsAttacher && row.source == Source::There
    });
}

#[test]
fn what_is_where_it_belongs_is_left() {
    exactly(Decision::Leave(Why::NothingHoldsIt), 320, |row| {
        !row.terminating && row.source == Source::There && !row.node_gone
    });
}

#[test]
fn what_never_was_attached_is_anybodys_to_delete() {
    exactly(Decision::Leave(Why::NothingWasAttached), 320, |row| {
        !row.terminating && row.source == Source::Missing && !row.may_be_attached
    });
}

#[test]
fn what_names_no_volume_is_not_understood() {
    exactly(Decision::Leave(Why::NamesNoVolume), 640 + 128, |row| {
        let held = !row.terminating || row.held == Held::ByItsAttacher;
        row.source == Source::Nameless && held
    });
}

#[test]
fn another_attacher_may_have_attached_it() {
    exactly(Decision::Leave(Why::IsAnotherAttachers), 384, |row| {
        row.terminating && row.held == Held::ByAnotherAttacher
    });
}

#[test]
fn the_garbage_collector_is_left_its_own() {
    exactly(Decision::Leave(Why::IsTheCollectors), 384, |row| {
        row.terminating && row.held == Held::ByTheCollector
    });
}

#[test]
fn what_nothing_holds_goes_by_itself() {
    exactly(Decision::Leave(Why::GoesByItself), 384, |row| {
        row.terminating && row.held == Held::Not
    });
}

#[test]
fn what_others_set_needs_its_name() {
    exactly(Decision::Leave(Why::NeedsItsName), 192, |row| {
        row.terminating && row.held == Held::ByOthers && row.word == Word::Unsaid
    });
}

#[test]
fn what_others_set_goes_by_both_names() {
    exactly(Decision::RemoveOthers, 48, |row| {
        let said = row.named && row.word == Word::Said;
        row.terminating && row.held == Held::ByOthers && said && row.waited
    });
}

#[test]
fn what_began_just_now_may_end_by_itself() {
    exactly(Decision::Leave(Why::TooSoon), 48 + 32, |row| {
        let said = row.named && row.word == Word::Said;
        let others = row.terminating && row.held == Held::ByOthers && said;
        !row.waited && (others || orphaned(row) && row.node_gone)
    });
}

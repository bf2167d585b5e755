//! Tests of the status of an announcement: what counts, and what never makes anything due.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::facts::finalizer::{NO_FINALIZER, finalizer_in_words};
use crate::model::{
    Action, ClaimKey, Effect, FinalizerEdit, Loss, ReclaimPolicy, Uid, Undo, Veto, VoidBatch,
};
use crate::objects::whole_cluster::cluster_of;

const UID: &str = "493c02a7-f4e6-5ec4-8e0b-fc87ae581be5";
const CLAIM: &str = "6a1f02a7-f4e6-5ec4-8e0b-fc87ae581be5";
const OTHER: &str = "7b2f02a7-f4e6-5ec4-8e0b-fc87ae581be5";
/// When the volume was announced.
const SINCE: i64 = 1_800_000_000;
const GRACE: u64 = 3600;
const DUE: i64 = SINCE + 3600;

fn at(seconds: i64) -> Time {
    Time::from_timestamp(seconds, 0).expect("a time")
}

/// A volume with this annotation and these other fields.
fn volume_with(mark: Option<&str>, change: impl Fn(&mut Value)) -> Volume {
    let mut object = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": UID, "resourceVersion": "1"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "shop", "name": "data", "uid": CLAIM},
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"},
        },
        "status": {"phase": "Released"},
    });
    if let Some(mark) = mark {
        object["metadata"]["annotations"] = json!({(crate::model::ANNOUNCED): mark});
    }
    change(&mut object);
    cluster_of([&object], [], &[]).volume_named("pv-1").expect("it is in there").clone()
}

fn volume(mark: &str) -> Volume {
    volume_with(Some(mark), |_| {})
}

fn own_mark() -> String {
    mark_text(&at(DUE), "kube-system", "batch")
}

fn proposal() -> Proposal {
    Proposal {
        steps: vec![Action::SetReclaimPolicy {
            volume: volume("").object(),
            from: ReclaimPolicy::Retain,
            to: ReclaimPolicy::Delete,
            doubts_backend: false,
            finalizer: FinalizerEdit::Added,
        }],
        effect: Effect {
            what: format!("deletes the backend volume{}", finalizer_in_words(FinalizerEdit::Added)),
            risk: "data loss".into(),
        },
        undo: Undo::Never("never"),
        notices: vec!["known".to_owned()],
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }
}

fn entry() -> AnnouncedVolume {
    announced_volume(&volume(""), &proposal()).expect("it has a backend volume")
}

fn batch(created: i64, grace: u64, volumes: Vec<AnnouncedVolume>) -> AnnouncedBatch {
    AnnouncedBatch {
        name: "batch".into(),
        created: at(created),
        grace: Duration::from_secs(grace),
        cluster: Some("here".into()),
        volumes,
    }
}

fn records(batches: Vec<AnnouncedBatch>) -> Announcements {
    Announcements { batches, ..Announcements::default() }
}

fn announced() -> Announcements {
    records(vec![batch(SINCE, GRACE, vec![entry()])])
}

fn look(records: &Announcements, volume: &Volume, now: i64) -> AnnouncementStatus {
    status(records, volume, Some(&proposal()), Some("here"), |time| time <= at(now))
}

fn period(due: i64) -> AnnouncedPeriod {
    AnnouncedPeriod {
        batch: "batch".into(),
        since: at(SINCE),
        due: at(due),
        grace: Duration::from_secs(GRACE),
    }
}

#[track_caller]
fn is_changed(status: &AnnouncementStatus, how: &str) {
    let AnnouncementStatus::Changed(told) = status else { panic!("{status:?}") };
    assert!(told.contains(how), "{told}");
}

#[track_caller]
fn is_vetoed(status: &AnnouncementStatus, how: &str, is_recorded: bool) {
    let AnnouncementStatus::Vetoed(veto) = status else { panic!("{status:?}") };
    assert!(veto.how.contains(how), "{}", veto.how);
    assert_eq!(veto.recorded, is_recorded);
}

#[track_caller]
fn is_void(status: &AnnouncementStatus, why: &str) {
    let AnnouncementStatus::Void(told) = status else { panic!("{status:?}") };
    assert!(told.contains(why), "{told}");
}

#[test]
fn the_grace_period_begins_with_the_record_and_ends_to_the_second() {
    let (all, marked) = (announced(), volume(&own_mark()));
    for now in [SINCE, DUE - 1] {
        assert_eq!(look(&all, &marked, now), AnnouncementStatus::Running(period(DUE)));
    }
    for now in [DUE, DUE + 1_000_000] {
        assert_eq!(look(&all, &marked, now), AnnouncementStatus::Due(period(DUE)));
    }
    // Without a clock nothing has passed.
    let timeless = status(&all, &marked, Some(&proposal()), Some("here"), |_| false);
    assert_eq!(timeless, AnnouncementStatus::Running(period(DUE)));
}

#[test]
fn what_nobody_announced_is_not_announced() {
    let bare = volume_with(None, |_| {});
    for all in [Announcements::default(), records(vec![batch(SINCE, GRACE, Vec::new())])] {
        assert_eq!(look(&all, &bare, DUE), AnnouncementStatus::NotAnnounced);
    }
    let nameless = volume_with(None, |it| it["metadata"]["uid"] = json!(""));
    assert_eq!(look(&announced(), &nameless, DUE), AnnouncementStatus::NotAnnounced);
}

#[test]
fn a_missing_annotation_is_a_veto_and_so_is_one_that_is_no_time() {
    let bare = volume_with(None, |_| {});
    is_vetoed(&look(&announced(), &bare, DUE), "was removed", false);
    for mark in ["", "no", "false", "2020", "26-11-2026 reclaim", "\u{1b}[31m"] {
        is_vetoed(&look(&announced(), &volume(mark), DUE), "no time", false);
    }
}

#[test]
fn a_recorded_veto_holds_whatever_else_is_there() {
    let uid = Uid::parse(UID).expect("a uid");
    let veto = Veto { volume: "pv-1".into(), uid, batch: "batch".into(), found: Some(at(DUE)) };
    let bare = volume_with(None, |_| {});
    for batches in
        [vec![], vec![batch(SINCE, GRACE, vec![entry()])], vec![batch(DUE, 1, vec![entry()])]]
    {
        let all = Announcements { vetoes: vec![veto.clone()], ..records(batches) };
        is_vetoed(&look(&all, &volume(&own_mark()), DUE + 2), "found 2027-01-15T09:00:00Z", true);
        is_vetoed(&look(&all, &bare, DUE + 2), "is recorded", true);
        // Another volume is not concerned.
        let other = volume_with(None, |it| it["metadata"]["uid"] = json!(OTHER));
        assert_eq!(look(&all, &other, DUE), AnnouncementStatus::NotAnnounced);
    }
}

#[test]
fn a_time_in_the_annotation_only_lengthens() {
    let all = announced();
    for mark in [
        "1970-01-01T00:00:00Z batch",
        "2027-01-15T08:00:00Z recorded in configmap a/batch",
        "2027-01-15T08:00:01Z anything",
    ] {
        assert_eq!(look(&all, &volume(mark), DUE - 1), AnnouncementStatus::Running(period(DUE)));
        assert_eq!(look(&all, &volume(mark), DUE), AnnouncementStatus::Due(period(DUE)));
    }
    // Neither names the record nor shows a time that a reader of it could have meant.
    for mark in ["1970-01-01T00:00:00Z", "2027-01-15T08:00:00Z batch-1", "2027-01-15T08:00:00Z"] {
        is_void(&look(&all, &volume(mark), DUE), "older than its newest record");
    }
    let later = volume("2027-01-15T10:00:00Z I need it until then");
    assert_eq!(look(&all, &later, DUE + 3599), AnnouncementStatus::Running(period(DUE + 3600)));
    assert_eq!(look(&all, &later, DUE + 3600), AnnouncementStatus::Due(period(DUE + 3600)));
    let never = look(&all, &volume("9999-12-31T23:59:59Z"), DUE + 100_000_000);
    assert!(matches!(never, AnnouncementStatus::Running(_)), "{never:?}");
}

#[test]
fn an_earlier_record_does_not_come_back_when_the_newest_is_deleted() {
    let named = volume(&mark_text(&at(DUE + 7200), "kube-system", "newest"));
    is_void(&look(&announced(), &named, DUE), "names another record");
    let newest = AnnouncedBatch { name: "newest".into(), ..batch(SINCE + 1, GRACE, vec![entry()]) };
    let both = records(vec![batch(SINCE, GRACE, vec![entry()]), newest]);
    assert!(matches!(look(&both, &named, DUE), AnnouncementStatus::Running(_)));
    // Metadata of before the newest announcement was restored.
    is_void(&look(&both, &volume(&own_mark()), DUE), "names another record");
}

#[test]
fn what_is_not_as_it_was_announced_has_changed() {
    let marked = |change: fn(&mut Value)| volume_with(Some(&own_mark()), change);
    let all = announced();
    let reused = marked(|it| it["spec"]["claimRef"]["uid"] = json!(OTHER));
    is_changed(&look(&all, &reused, DUE), "the uid in its claimRef");
    let reserved =
        marked(|it| it["spec"]["claimRef"] = json!({"namespace": "shop", "name": "data"}));
    is_changed(&look(&all, &reserved, DUE), "the uid in its claimRef");
    let given = marked(|it| it["spec"]["claimRef"]["name"] = json!("other"));
    is_changed(&look(&all, &given, DUE), "another claim");
    let free = marked(|it| it["spec"]["claimRef"] = Value::Null);
    is_changed(&look(&all, &free, DUE), "another claim");
    let elsewhere = marked(|it| it["spec"]["csi"]["volumeHandle"] = json!("vol-2"));
    is_changed(&look(&all, &elsewhere, DUE), "storage");
    // The same handle, of which another version of this tool knows something else.
    let place = AnnouncedVolume { place: "another".into(), ..entry() };
    let all = records(vec![batch(SINCE, GRACE, vec![place])]);
    is_changed(&look(&all, &volume(&own_mark()), DUE), "storage");
}

#[test]
fn another_proposal_has_changed_and_fewer_notices_have_not() {
    let (all, marked) = (announced(), volume(&own_mark()));
    let told = |change: &dyn Fn(&mut Proposal)| {
        let mut now = proposal();
        change(&mut now);
        status(&all, &marked, Some(&now), Some("here"), |time| time <= at(DUE))
    };
    is_changed(&told(&|it| it.effect.what = "deletes the file system".to_owned()), "file system");
    is_changed(&told(&|it| it.relies_on.push("--include-wanted")), "what would be done is now");
    is_changed(&told(&|it| it.notices.push("cj/nightly wants it".to_owned())), "cj/nightly");
    // What a reader without some right does not know is no other proposal.
    let untouched = told(&|it| {
        if let Action::SetReclaimPolicy { finalizer, .. } = &mut it.steps[0] {
            *finalizer = FinalizerEdit::Untouched;
        }
        it.effect.what = it.effect.what.replacen(&finalizer_in_words(FinalizerEdit::Added), "", 1);
        it.notices.push(format!("{NO_FINALIZER} (its pod is not Ready): the volume can leak"));
    });
    assert_eq!(untouched, AnnouncementStatus::Due(period(DUE)));
    assert_eq!(told(&|it| it.notices.clear()), AnnouncementStatus::Due(period(DUE)));
    // A report compares what it knows.
    let unproposed = status(&all, &marked, None, Some("here"), |time| time <= at(DUE));
    assert_eq!(unproposed, AnnouncementStatus::Due(period(DUE)));
}

#[test]
fn a_deleted_record_and_a_copied_annotation_announce_nothing() {
    let marked = volume(&own_mark());
    is_void(&look(&Announcements::default(), &marked, DUE), "no record announces it");
    is_void(&look(&Announcements::default(), &volume("2020-01-01T00:00:00Z"), DUE), "forged");
    let void = void_batch(SINCE);
    let all = Announcements { void: vec![void], ..Announcements::default() };
    is_void(&look(&all, &marked, DUE), "configmap batch announces nothing: it is not immutable");
    // Restored from a backup: the name is the same, the uid another one.
    let restored = volume_with(Some(&own_mark()), |it| it["metadata"]["uid"] = json!(OTHER));
    is_changed(&look(&announced(), &restored, DUE), "another uid");
    // Recorded in another cluster, whose uids were restored too.
    let there = status(&announced(), &marked, Some(&proposal()), Some("there"), |_| true);
    is_changed(&there, "another cluster");
    // Where this cluster's uid is unknown, the volume's own uid decides.
    let unknown = status(&announced(), &marked, Some(&proposal()), None, |_| true);
    assert_eq!(unknown, AnnouncementStatus::Due(period(DUE)));
}

/// A record about the volume that cannot be read.
fn void_batch(created: i64) -> VoidBatch {
    VoidBatch {
        name: "batch".into(),
        reason: "it is not immutable".into(),
        created: Some(at(created)),
        uids: Uid::parse(UID).into_iter().collect(),
    }
}

#[test]
fn a_newer_record_that_cannot_be_read_outdates_an_earlier_one() {
    let marked = volume(&own_mark());
    let with = |void: VoidBatch| Announcements { void: vec![void], ..announced() };
    for created in [SINCE, SINCE + 1] {
        is_void(&look(&with(void_batch(created)), &marked, DUE), "it is not immutable");
    }
    let undated = VoidBatch { created: None, ..void_batch(SINCE) };
    is_void(&look(&with(undated), &marked, DUE), "it is not immutable");
    let due = AnnouncementStatus::Due(period(DUE));
    let others = VoidBatch { uids: Vec::new(), ..void_batch(DUE) };
    for void in [void_batch(SINCE - 1), others] {
        assert_eq!(look(&with(void), &marked, DUE), due);
    }
    is_vetoed(&look(&with(void_batch(DUE)), &volume("no"), DUE), "no time", false);
}

#[test]
fn an_earlier_annotation_does_not_make_a_record_count() {
    // Recorded, and not annotated: what was there before was of an earlier announcement.
    let mut again = records(vec![batch(DUE, 60, vec![entry()])]);
    again.batches[0].name = "batch-1".into();
    is_void(&look(&again, &volume(&own_mark()), DUE + 60), "names another record");
    let marked = volume(&mark_text(&at(DUE), "kube-system", "batch-1"));
    let status = look(&again, &marked, DUE + 60);
    assert!(matches!(status, AnnouncementStatus::Due(_)), "{status:?}");
}

#[test]
fn announcing_again_never_shortens() {
    let uid = Uid::parse(UID);
    let after = |records: &Announcements, mark: Option<&str>| {
        lengthened(records, uid.as_ref(), mark, at(DUE))
    };
    let none = Announcements::default();
    assert_eq!(after(&none, None), at(DUE));
    for mark in ["no", "1970-01-01T00:00:00Z"] {
        assert_eq!(after(&none, Some(mark)), at(DUE));
    }
    let later = format!("{} I need it", format_time(&at(DUE + 100)));
    assert_eq!(after(&none, Some(&later)), at(DUE + 100));
    let earlier = records(vec![batch(SINCE, 2 * GRACE, vec![entry()])]);
    assert_eq!(after(&earlier, None), at(SINCE + 7200));
    assert_eq!(after(&earlier, Some(&later)), at(SINCE + 7200));
    assert_eq!(lengthened(&earlier, Uid::parse(OTHER).as_ref(), None, at(DUE)), at(DUE));
    // What is written can be read back.
    let endless = records(vec![batch(SINCE, u64::MAX, vec![entry()])]);
    let text = mark_text(&after(&endless, None), "kube-system", "batch");
    assert!(text.starts_with("9999-12-31T23:59:59Z ") && shown_time(&text).is_some(), "{text}");
}

#[test]
fn a_record_that_was_created_again_begins_again() {
    let again = records(vec![batch(DUE, GRACE, vec![entry()])]);
    let status = look(&again, &volume(&own_mark()), DUE + 3599);
    assert!(matches!(status, AnnouncementStatus::Running(_)), "{status:?}");
}

#[test]
fn of_several_records_the_newest_decides_what_and_the_latest_end_decides_when() {
    let marked = volume(&own_mark());
    // A later announcement with a shorter grace does not shorten the first one.
    let both =
        records(vec![batch(SINCE, GRACE, vec![entry()]), batch(SINCE + 60, 1, vec![entry()])]);
    let first_end = AnnouncedPeriod { since: at(SINCE + 60), ..period(DUE) };
    assert_eq!(look(&both, &marked, DUE - 1), AnnouncementStatus::Running(first_end.clone()));
    assert_eq!(look(&both, &marked, DUE), AnnouncementStatus::Due(first_end));
    // What the newest one says must be so, whatever earlier ones say; of the same second, all.
    let other = AnnouncedVolume { claim_uid: Uid::parse(OTHER), ..entry() };
    for newest in [SINCE, SINCE + 60] {
        let both = records(vec![
            batch(SINCE, GRACE, vec![entry()]),
            batch(newest, GRACE, vec![other.clone()]),
        ]);
        is_changed(&look(&both, &marked, DUE + 60), "claimRef");
    }
    let corrected =
        records(vec![batch(SINCE - 60, GRACE, vec![other]), batch(SINCE, GRACE, vec![entry()])]);
    assert_eq!(look(&corrected, &marked, DUE), AnnouncementStatus::Due(period(DUE)));
}

#[test]
fn a_grace_period_without_end_never_ends() {
    let endless = records(vec![batch(SINCE, u64::MAX, vec![entry()])]);
    let status = look(&endless, &volume(&own_mark()), DUE + 1_000_000_000);
    assert!(matches!(status, AnnouncementStatus::Running(_)), "{status:?}");
}

#[test]
fn what_is_recorded_shows_what_it_is_about() {
    let entry = entry();
    assert_eq!((&*entry.name, entry.uid.to_string().as_str()), ("pv-1", UID));
    let claim = ClaimKey { namespace: "shop".into(), name: "data".into() };
    assert_eq!((entry.claim, entry.claim_uid), (Some(claim), Uid::parse(CLAIM)));
    assert_eq!((&*entry.driver, &*entry.handle), ("ebs.csi.aws.com", "vol-1"));
    // Written down, so that an upgrade that changes it is noticed: it voids what is announced.
    assert_eq!((&*entry.place, &*entry.proposal), (PLACE, PROPOSAL));
}

const PLACE: &str = "6b36398fe8b651afa706a152f9a66743";
const PROPOSAL: &str = "851806450e1693c58857c8958e6b5a91";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Whatever an annotation says, nothing is due before its record says so, nor before itself.
    #[test]
    fn no_annotation_makes_a_volume_due_earlier(
        mark in prop_oneof![
            any::<String>(),
            (-100_000_i64..100_000).prop_map(|it| format_time(&at(DUE + it))),
            (-100_000_i64..100_000, "\\PC{0,20}")
                .prop_map(|(it, rest)| format!("{} {rest}", format_time(&at(DUE + it)))),
        ],
        ages in prop::collection::vec((0_i64..5000, 0_u64..5000), 1..4),
        now in SINCE - 100..DUE + 10_000,
    ) {
        let batches: Vec<_> =
            ages.iter().map(|(after, grace)| batch(SINCE + after, *grace, vec![entry()])).collect();
        let end = batches.iter().map(|it| grace_end(it.created, it.grace)).max().expect("there is one");
        let status = look(&records(batches), &volume(&mark), now);
        if let AnnouncementStatus::Due(period) = &status {
            prop_assert!(end <= at(now), "{status:?}");
            prop_assert!(period.due >= end);
            let shown = shown_time(&mark).expect("what is no time is a veto");
            prop_assert!(shown <= at(now));
        }
        let without = look(&records(Vec::new()), &volume(&mark), now);
        prop_assert!(matches!(without, AnnouncementStatus::Void(_)), "{without:?}");
    }
}

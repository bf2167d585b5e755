use std::cell::RefCell;

use super::super::finalizers::fixture::{
    DRIVER, FinalizerFixture, ago, attachment, claim, copy, node, pod, said, snapshot, volume,
    workload,
};
use super::*;
use crate::facts::{CLONE_SOURCE, PVC_PROTECTION, SNAPSHOT_SOURCE};
use crate::model::{ClaimPhase, ClaimRef, Kind, Liveness, Phase, PodPhase, Row, Settings, Uid};

const FOREIGN: &str = "example.com/backup";

/// What the user decided about the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    None,
    Keep,
    Destroy,
}

const CHOICES: [Choice; 3] = [Choice::None, Choice::Keep, Choice::Destroy];

fn settings(choice: Choice) -> Settings {
    Settings {
        keep_data: choice == Choice::Keep,
        destroy_data: choice == Choice::Destroy,
        ..Settings::default()
    }
}

/// Everything runs, and nothing uses the claim.
fn quiet(choice: Choice) -> FinalizerFixture {
    FinalizerFixture {
        manager: Liveness::Alive,
        provisioner: Liveness::Alive,
        snapshotter: Liveness::Alive,
        settings: settings(choice),
        ..FinalizerFixture::default()
    }
}

fn ask(fixture: &FinalizerFixture, claim: &Claim, retained: bool) -> Result<Proposal, String> {
    let (cluster, facts) = (fixture.cluster(), RefCell::default());
    let cx = Cx::new(&cluster, &fixture.settings, &facts);
    said(propose(&cx, claim, ClaimDeletionProgress { retained }))
}

/// The proposal for a claim and its volume, and nothing else.
fn of(fixture: FinalizerFixture, claim: &Claim, volume: &Volume) -> Result<Proposal, String> {
    ask(&fixture.of_claim(claim, Some(volume)), claim, false)
}

fn names(proposal: &Proposal) -> Vec<&'static str> {
    proposal.steps.iter().map(Action::name).collect()
}

#[track_caller]
fn refuses(told: Result<Proposal, String>, words: &[&str]) {
    let reason = told.expect_err("it must be refused");
    for word in words {
        assert!(reason.contains(word), "{reason:?} does not say {word:?}");
    }
}

fn users() -> Vec<Row> {
    vec![
        pod("shop", PodPhase::Running, Some("node-1")),
        pod("shop", PodPhase::Pending, None),
        pod("shop", PodPhase::Succeeded, Some("node-1")),
        workload(),
        copy(ClaimPhase::Pending),
        snapshot(false),
        Row::Attachment(Box::new(attachment(&[], None))),
    ]
}

fn policies() -> [ReclaimPolicy; 4] {
    [
        ReclaimPolicy::Retain,
        ReclaimPolicy::Delete,
        ReclaimPolicy::Recycle,
        ReclaimPolicy::Other("Shred".into()),
    ]
}

/// States of the volume: the first is that of a volume that is bound to the claim.
fn states(policy: &ReclaimPolicy) -> Vec<Option<Volume>> {
    let bound = volume(policy.clone());
    let change = |edit: fn(&mut Volume)| {
        let mut volume = bound.clone();
        edit(&mut volume);
        Some(volume)
    };
    vec![
        Some(bound.clone()),
        change(|it| it.metadata.deleting = Some(ago(1))),
        change(|it| it.phase = Phase::Released),
        change(|it| it.claim_ref = None),
        change(|it| {
            let uid = Uid::parse("other");
            it.claim_ref = it.claim_ref.take().map(|of| ClaimRef { uid, ..of });
        }),
        change(|it| it.claim_ref = it.claim_ref.take().map(|of| ClaimRef { uid: None, ..of })),
        None,
    ]
}

#[test]
fn nothing_in_use_unread_or_in_doubt_is_ever_planned_and_kept_data_is_retained_first() {
    let finalizers: [&[&str]; 5] = [
        &[PVC_PROTECTION],
        &[],
        &[PVC_PROTECTION, FOREIGN],
        &[PVC_PROTECTION, SNAPSHOT_SOURCE],
        &[PVC_PROTECTION, CLONE_SOURCE],
    ];
    let unread = [
        None,
        Some(Kind::Pod),
        Some(Kind::PersistentVolume),
        Some(Kind::VolumeAttachment),
        Some(Kind::CronJob),
        Some(Kind::StatefulSet),
        Some(Kind::VolumeSnapshot),
    ];
    let users: Vec<_> = std::iter::once(None).chain(users().into_iter().map(Some)).collect();
    let mut planned = 0;
    for policy in policies() {
        for (state, volume) in states(&policy).into_iter().enumerate() {
            for choice in CHOICES {
                for list in finalizers {
                    for user in &users {
                        for unread in unread {
                            for manager in [Liveness::Alive, Liveness::Unknown, Liveness::Absent] {
                                // One thing at a time is enough beside the volume and the choice.
                                let odd = [
                                    list.len() != 1,
                                    user.is_some(),
                                    unread.is_some(),
                                    manager != Liveness::Alive,
                                ];
                                if odd.iter().filter(|it| **it).count() > 1 {
                                    continue;
                                }
                                let claim = claim(list, None);
                                let mut fixture =
                                    FinalizerFixture { manager, unread, ..quiet(choice) };
                                fixture.rows.extend(user.clone());
                                let fixture = fixture.of_claim(&claim, volume.as_ref());
                                let told = ask(&fixture, &claim, false);
                                let Ok(proposal) = told else { continue };
                                planned += 1;
                                let clone_source = list.contains(&CLONE_SOURCE);
                                let odd = odd[1..].contains(&true) || odd[0] && !clone_source;
                                assert!(!odd, "{list:?} {user:?} {unread:?} {manager:?}");
                                holds(&fixture, &claim, volume.as_ref(), state, choice, &proposal);
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(planned > 12, "{planned}");
}

/// What holds of every proposal.
fn holds(
    fixture: &FinalizerFixture,
    claim: &Claim,
    volume: Option<&Volume>,
    state: usize,
    choice: Choice,
    proposal: &Proposal,
) {
    let Some(volume) = volume.filter(|_| state == 0) else {
        // A volume that does not exist, or is another claim's.
        assert_eq!((names(proposal), choice), (vec!["delete-claim"], Choice::Keep));
        assert!(volume.is_none_or(|it| it.claim_ref.is_some()), "it may be bound at any moment");
        return;
    };
    let retained = volume.reclaim_policy == ReclaimPolicy::Retain;
    let expected: &[&str] = match (retained, choice) {
        (true, Choice::Destroy) => panic!("a volume with policy Retain is reclaimed by gc"),
        (true, Choice::None | Choice::Keep) => &["delete-claim"],
        (false, Choice::Keep) => &["set-reclaim-policy", "delete-claim"],
        (false, Choice::Destroy) => &["set-reclaim-policy", "delete-claim", "reclaim-released"],
        (false, Choice::None) => panic!("no word about the data of {}", volume.reclaim_policy),
    };
    assert_eq!(names(proposal), expected);
    let destroys = proposal.relies_on.contains(&"--destroy-data");
    assert_eq!(destroys, choice == Choice::Destroy);
    if let [Action::SetReclaimPolicy { to, doubts_backend, .. }, rest @ ..] = &*proposal.steps {
        assert_eq!((to, *doubts_backend), (&ReclaimPolicy::Retain, false));
        // After the first step, exactly the rest is proposed.
        let done = &proposal.steps[..1];
        let mut after = fixture.clone();
        let now = Volume { reclaim_policy: ReclaimPolicy::Retain, ..volume.clone() };
        after.rows.push(Row::Volume(Box::new(now)));
        let progress = ClaimDeletionProgress::default().after(done);
        let again = ask(&after, claim, progress.retained).expect("it was confirmed");
        assert_eq!(again.steps, rest);
        assert!(again.notices.iter().all(|it| proposal.notices.contains(it)), "{again:?}");
        assert!(again.relies_on.iter().all(|it| proposal.relies_on.contains(it)), "{again:?}");
    }
    // Once it is done, nothing is done twice.
    let mut terminating = claim.clone();
    terminating.metadata.deleting = Some(ago(0));
    refuses(ask(fixture, &terminating, false), &["Terminating already", "retain pvc/data -n shop"]);
}

#[test]
fn without_a_word_about_the_data_both_options_are_told() {
    let claim = claim(&[PVC_PROTECTION], None);
    let told = of(quiet(Choice::None), &claim, &volume(ReclaimPolicy::Delete));
    refuses(
        told,
        &[
            "pv/pv-1 has policy Delete: requires --keep-data (pv/pv-1 is set to Retain first",
            &format!("--destroy-data (csi-provisioner of {DRIVER} deletes"),
        ],
    );
    let stopped = FinalizerFixture { provisioner: Liveness::Absent, ..quiet(Choice::None) };
    let told = of(stopped, &claim, &volume(ReclaimPolicy::Delete));
    refuses(told, &["--keep-data", "--destroy-data, which is refused now", "is absent"]);
}

#[test]
fn every_user_is_named_and_thousands_are_counted() {
    let claim = claim(&[PVC_PROTECTION], None);
    let mut fixture = quiet(Choice::Keep);
    fixture.rows.extend(users().into_iter().skip(2));
    let told =
        ask(&fixture.clone().of_claim(&claim, Some(&volume(ReclaimPolicy::Delete))), &claim, false);
    refuses(
        told,
        &[
            "no flag overrides this",
            "po/shop/web references it, Succeeded (delete that pod)",
            "cj/shop/nightly references it (suspended) (remove the claim from its template)",
            "pvc/shop/copy is being cloned from it",
            "VolumeSnapshot that never becomes ready",
            "attached to node node-1",
        ],
    );
    for number in 0..2000 {
        let Row::Pod(mut one) = pod("shop", PodPhase::Running, Some("node-1")) else { continue };
        one.name = format!("web-{number}").into();
        fixture.rows.push(Row::Pod(one));
    }
    let told = of(fixture, &claim, &volume(ReclaimPolicy::Delete)).expect_err("it is in use");
    assert!(told.contains(" and 1985 more"), "{told}");
    assert!(told.len() < 4000, "{}", told.len());
}

#[test]
fn a_pending_claim_is_deleted_only_if_no_volume_comes_to_it() {
    let mut pending = claim(&[PVC_PROTECTION], None);
    pending.phase = ClaimPhase::Pending;
    pending.volume_name = None;
    pending.bind_completed = false;
    let plain = ask(&quiet(Choice::None).of_claim(&pending, None), &pending, false);
    assert_eq!(names(&plain.expect("it has no data")), ["delete-claim"]);
    for (policy, uid) in [
        (ReclaimPolicy::Delete, Uid::parse("data-uid")),
        (ReclaimPolicy::Delete, None),
        (ReclaimPolicy::Retain, None),
    ] {
        let mut half = volume(policy.clone());
        half.claim_ref = half.claim_ref.take().map(|of| ClaimRef { uid, ..of });
        let told = of(quiet(Choice::Keep), &pending, &half);
        match policy {
            ReclaimPolicy::Retain => assert_eq!(names(&told.expect("kept")), ["delete-claim"]),
            _ => refuses(told, &["may be bound to it at any moment", "retain pv/pv-1"]),
        }
    }
    let earlier = states(&ReclaimPolicy::Delete).swap_remove(4).expect("of another claim");
    assert!(of(quiet(Choice::None), &pending, &earlier).is_ok());
    pending.provisioner = Some(DRIVER.into());
    let asked = quiet(Choice::None).of_claim(&pending, None);
    refuses(ask(&asked, &pending, false), &["may be creating a volume", "--destroy-data"]);
    let asked = quiet(Choice::Destroy).of_claim(&pending, None);
    let proposal = ask(&asked, &pending, false).expect("it was accepted");
    assert_eq!(proposal.relies_on, ["--destroy-data"]);
}

#[test]
fn a_lost_claim_is_the_last_record_of_its_data() {
    let mut lost = claim(&[PVC_PROTECTION], None);
    lost.phase = ClaimPhase::Lost;
    for choice in [Choice::None, Choice::Destroy] {
        let told = ask(&quiet(choice).of_claim(&lost, None), &lost, false);
        refuses(told, &["PersistentVolume pv-1 does not exist", "last record", "--keep-data"]);
    }
    let told = ask(&quiet(Choice::Keep).of_claim(&lost, None), &lost, false);
    let proposal = told.expect("it affects no volume");
    assert_eq!(
        (names(&proposal), &*proposal.relies_on),
        (vec!["delete-claim"], &["--keep-data"][..])
    );
    // Its volume has the uid of an earlier claim.
    let earlier = |policy| states(&policy).swap_remove(4).expect("of another claim");
    refuses(
        of(quiet(Choice::None), &lost, &earlier(ReclaimPolicy::Retain)),
        &["rebind pv/pv-1 --to shop/data"],
    );
    refuses(
        of(quiet(Choice::Keep), &lost, &earlier(ReclaimPolicy::Delete)),
        &["run `kubectl storage retain pv/pv-1` first"],
    );
}

#[test]
fn what_gc_would_not_destroy_is_not_destroyed_with_its_claim() {
    let claim = claim(&[PVC_PROTECTION], None);
    let ask = |fixture: FinalizerFixture| of(fixture, &claim, &volume(ReclaimPolicy::Delete));
    assert!(ask(quiet(Choice::Destroy).with(node())).is_ok());
    let mut twin = volume(ReclaimPolicy::Retain);
    (twin.metadata.name, twin.claim_ref) = ("twin".into(), None);
    refuses(ask(quiet(Choice::Destroy).with(Row::Volume(Box::new(twin)))), &["pv/twin"]);
    let mut doubted = volume(ReclaimPolicy::Delete);
    doubted.backend_state = Some("unknown".into());
    refuses(of(quiet(Choice::Destroy), &claim, &doubted), &["an earlier deletion was stopped"]);
    let absent = FinalizerFixture { provisioner: Liveness::Absent, ..quiet(Choice::Destroy) };
    refuses(ask(absent), &["csi-provisioner", "absent"]);
    let mut exempt = volume(ReclaimPolicy::Delete);
    exempt.metadata.rare_annotations = Some(Box::new(crate::model::RareAnnotations {
        keep_until: Some("2999-01-01".into()),
        ..Default::default()
    }));
    for choice in CHOICES {
        refuses(of(quiet(choice), &claim, &exempt), &["pv/pv-1 has annotation", "keep-until"]);
    }
}

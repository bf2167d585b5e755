//! Proposals and refusals for claims: F33, F41, F42, F48 and R-PVCP-9, one case per sentence.

mod promises;

use super::super::fixture::{
    DRIVER, FinalizerFixture, ago, attachment, claim, copy, pod, said, snapshot, volume, workload,
};
use super::*;
use crate::facts::{CLONE_SOURCE, SNAPSHOT_SOURCE};
use crate::model::{ClaimPhase, Liveness, Phase, PodPhase, ReclaimPolicy, Row, Settings, Volume};

const FOREIGN: &str = "example.com/backup";
const OTHER: &str = "example.com/replica";

fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

/// Returns the proposal or the refusal for a claim that has been Terminating for two hours.
fn ask(
    fixture: FinalizerFixture,
    finalizers: &[&str],
    volume: &Volume,
) -> Result<Proposal, String> {
    let claim = claim(finalizers, Some(120));
    said(fixture.of_claim(&claim, Some(volume)).ask(propose, &claim))
}

fn kept() -> Volume {
    volume(ReclaimPolicy::Retain)
}

/// The finalizers that are removed, and whether the policy is changed first.
fn steps(proposal: &Proposal) -> Vec<&str> {
    let mut steps = Vec::new();
    for step in &proposal.steps {
        steps.push(match step {
            Action::RemoveFinalizer { finalizer, .. } => &**finalizer,
            other => other.name(),
        });
    }
    steps
}

#[track_caller]
fn refuses(said: Result<Proposal, String>, words: &[&str]) {
    let reason = said.expect_err("it is refused");
    for word in words {
        assert!(reason.contains(word), "no {word:?} in: {reason}");
    }
}

/// An in-tree provisioner counts as the driver to which it was migrated.
#[test]
fn the_copier_of_a_claim_without_a_volume_is_the_driver_of_its_provisioner() {
    for (provisioner, driver) in [("kubernetes.io/aws-ebs", "ebs.csi.aws.com"), (DRIVER, DRIVER)] {
        let mut claim = claim(&[CLONE_SOURCE], Some(120));
        claim.volume_name = None;
        claim.provisioner = Some(provisioner.into());
        let fixture = FinalizerFixture::default().of_claim(&claim, None);
        let (cluster, facts) = (fixture.cluster(), std::cell::RefCell::default());
        let cx = Cx::new(&cluster, &fixture.settings, &facts);
        let copier = crate::facts::copier_of(&cx, &claim);
        assert_eq!(copier.as_deref(), Some(driver), "{provisioner}");
    }
}

#[test]
fn a_claim_whose_controllers_are_gone_is_let_go_one_finalizer_after_the_other() {
    let all = [PVC_PROTECTION, SNAPSHOT_SOURCE, CLONE_SOURCE];
    let proposal = ask(FinalizerFixture::default(), &all, &kept()).expect("planned");
    assert_eq!(steps(&proposal), [CLONE_SOURCE, SNAPSHOT_SOURCE, PVC_PROTECTION]);
    assert_eq!(proposal.undo, Undo::Never("a deleted claim cannot be restored"));
    assert_eq!((proposal.relies_on, proposal.notices), (vec![], vec![]));
    assert!(
        proposal
            .effect
            .what
            .ends_with("the volume and its data remain when the claim is deleted (pv/pv-1)"),
        "{}",
        proposal.effect.what
    );
}

#[test]
fn a_finalizer_is_left_to_its_controller_with_the_evidence_and_what_to_do() {
    for (finalizer, who, flag) in [
        (PVC_PROTECTION, "kube-controller-manager", "--driver-absent kube-controller-manager"),
        (
            CLONE_SOURCE,
            "csi-provisioner of driver.longhorn.io",
            "--driver-absent driver.longhorn.io",
        ),
        (SNAPSHOT_SOURCE, "snapshot-controller", "--driver-absent snapshot-controller"),
    ] {
        for (liveness, words) in [
            (
                Liveness::Alive,
                [
                    format!("{finalizer}: {who} is running (lease/kube-system/"),
                    "look at its log".to_owned(),
                ],
            ),
            (
                Liveness::Unknown,
                [format!("{finalizer}: unknown whether {who} is running ("), flag.to_owned()],
            ),
        ] {
            let fixture = FinalizerFixture {
                manager: liveness,
                provisioner: liveness,
                snapshotter: liveness,
                ..FinalizerFixture::default()
            };
            refuses(ask(fixture, &[finalizer], &kept()), &[&words[0], &words[1]]);
        }
    }
}

#[test]
fn the_users_word_that_a_controller_is_gone_counts_where_nothing_of_it_is_found() {
    for (finalizer, name) in [
        (PVC_PROTECTION, "kube-controller-manager"),
        (CLONE_SOURCE, DRIVER),
        (SNAPSHOT_SOURCE, "snapshot-controller"),
    ] {
        let of = |liveness| FinalizerFixture {
            manager: liveness,
            provisioner: liveness,
            snapshotter: liveness,
            settings: settings(|it| it.absent_drivers = [name.into()].into()),
            ..FinalizerFixture::default()
        };
        let proposal = ask(of(Liveness::Unknown), &[finalizer], &kept()).expect("planned");
        assert_eq!(proposal.relies_on, ["--driver-absent"], "{name}");
        refuses(ask(of(Liveness::Alive), &[finalizer], &kept()), &["is running"]);
    }
}

#[test]
fn every_finalizer_is_told_who_should_remove_it() {
    let fixture = FinalizerFixture { manager: Liveness::Alive, ..FinalizerFixture::default() };
    let all = [PVC_PROTECTION, "foregroundDeletion", FOREIGN];
    let words = [
        "kubernetes.io/pvc-protection: kube-controller-manager is running",
        "foregroundDeletion: the garbage collector removes it, and kube-controller-manager is running",
        "example.com/backup: the controller that set it should remove it; whether it exists is unknown",
        "requires --remove-finalizer example.com/backup",
    ];
    refuses(ask(fixture.clone(), &all, &kept()), &words);
    // Also where the claim is in use.
    let used = fixture.with(pod("shop", PodPhase::Running, Some("node-1")));
    refuses(ask(used, &all, &kept()), &words[..3]);
}

#[test]
fn what_is_removed_now_leaves_the_rest_with_its_reason() {
    let fixture = FinalizerFixture { manager: Liveness::Alive, ..FinalizerFixture::default() };
    let proposal = ask(fixture, &[PVC_PROTECTION, CLONE_SOURCE], &kept()).expect("planned");
    assert_eq!(steps(&proposal), [CLONE_SOURCE]);
    let [notice] = &*proposal.notices else { panic!("{:?}", proposal.notices) };
    assert!(notice.starts_with("kubernetes.io/pvc-protection: kube-controller-manager is running"));
}

#[test]
fn whoever_uses_it_is_named_and_no_flag_lifts_it() {
    let word = settings(|it| {
        it.destroy_data = true;
        it.keep_data = true;
        it.remove_finalizer = Some(PVC_PROTECTION.into());
        it.absent_drivers = ["kube-controller-manager".into(), DRIVER.into()].into();
    });
    let mut going = attachment(&["external-attacher/driver-longhorn-io"], None);
    going.attached = false;
    let resizing = crate::model::ClaimCondition {
        kind: "Resizing".into(),
        holds: true,
        since: None,
        reason: "".into(),
        message: "".into(),
    };
    for (row, words) in [
        (
            pod("shop", PodPhase::Running, Some("node-1")),
            "po/shop/web references it, Running (delete that pod)",
        ),
        (pod("shop", PodPhase::Pending, None), "Pending, not scheduled (delete that pod)"),
        (
            pod("shop", PodPhase::Succeeded, Some("node-1")),
            "references it, Succeeded (delete that pod)",
        ),
        (workload(), "the template of cj/shop/nightly references it (suspended)"),
        (
            copy(ClaimPhase::Pending),
            "pvc/shop/copy is being cloned from it (wait until the clone is Bound, or delete it)",
        ),
        (snapshot(false), "or delete a VolumeSnapshot that never becomes ready"),
        (Row::Attachment(Box::new(attachment(&[], None))), "attached to node node-1"),
        // Only by its finalizer (R-SUP-1).
        (Row::Attachment(Box::new(going)), "attached to node node-1"),
    ] {
        for finalizers in [&[PVC_PROTECTION][..], &[CLONE_SOURCE], &[PVC_PROTECTION, FOREIGN]] {
            let fixture =
                FinalizerFixture { settings: word.clone(), ..FinalizerFixture::default() }
                    .with(row.clone());
            let told = ask(fixture, finalizers, &volume(ReclaimPolicy::Delete));
            refuses(told, &["in use, and no flag overrides this; end these uses first", words]);
        }
    }
    let fixture = FinalizerFixture { settings: word, ..FinalizerFixture::default() };
    let claim = Claim { conditions: [resizing].into(), ..claim(&[PVC_PROTECTION], Some(120)) };
    let told = said(fixture.of_claim(&claim, Some(&kept())).ask(propose, &claim));
    refuses(told, &["condition Resizing is True (wait until the change is complete)"]);
}

#[test]
fn copies_that_are_done_hold_nothing() {
    let fixture = FinalizerFixture::default().with(copy(ClaimPhase::Bound)).with(snapshot(true));
    let proposal = ask(fixture, &[CLONE_SOURCE, SNAPSHOT_SOURCE], &kept()).expect("planned");
    assert_eq!(steps(&proposal), [CLONE_SOURCE, SNAPSHOT_SOURCE]);
}

#[test]
fn the_last_finalizer_needs_a_word_about_the_data() {
    let gone = volume(ReclaimPolicy::Delete);
    refuses(
        ask(FinalizerFixture::default(), &[PVC_PROTECTION], &gone),
        &[
            "requires --keep-data or --destroy-data",
            "policy Delete can destroy the data when the claim is deleted (pv/pv-1)",
            "kubernetes.io/pvc-protection: kube-controller-manager is absent",
        ],
    );
    let recycled = volume(ReclaimPolicy::Recycle);
    refuses(
        ask(FinalizerFixture::default(), &[PVC_PROTECTION], &recycled),
        &["requires --keep-data", "scrubs"],
    );
}

#[test]
fn keeping_the_data_changes_the_policy_before_anything_goes() {
    let keep = FinalizerFixture {
        settings: settings(|it| it.keep_data = true),
        ..FinalizerFixture::default()
    };
    let all = [PVC_PROTECTION, CLONE_SOURCE];
    let proposal = ask(keep.clone(), &all, &volume(ReclaimPolicy::Delete)).expect("planned");
    assert_eq!(steps(&proposal), ["set-reclaim-policy", CLONE_SOURCE, PVC_PROTECTION]);
    let Some(Action::SetReclaimPolicy { from, to, doubts_backend, volume: of, .. }) =
        proposal.steps.first()
    else {
        panic!("{:?}", proposal.steps);
    };
    assert_eq!(
        (from, to, *doubts_backend),
        (&ReclaimPolicy::Delete, &ReclaimPolicy::Retain, false)
    );
    assert_eq!(of.to_string(), "pv/pv-1");
    assert_eq!(proposal.relies_on, ["--keep-data"]);
    assert!(proposal.effect.what.ends_with("the volume and its data remain"));
    // A finalizer that gc has added goes with the policy Delete.
    let mut fixture = keep.clone();
    let uid = volume(ReclaimPolicy::Delete).metadata.uid.expect("it has one");
    fixture.rows.push(Row::AddedFinalizer(uid, facts::EXTERNAL_PROVISIONER.into()));
    let proposal = ask(fixture, &all, &volume(ReclaimPolicy::Delete)).expect("planned");
    assert_eq!(proposal.steps[0].removed_finalizer(), Some(facts::EXTERNAL_PROVISIONER));
    // With policy Retain, no flag is required.
    let proposal = ask(keep, &all, &kept()).expect("planned");
    assert_eq!(
        (steps(&proposal), proposal.relies_on.len()),
        (vec![CLONE_SOURCE, PVC_PROTECTION], 0)
    );
}

#[test]
fn destroying_the_data_is_said_and_done_without_touching_the_policy() {
    let destroy = FinalizerFixture {
        settings: settings(|it| it.destroy_data = true),
        ..FinalizerFixture::default()
    };
    let proposal =
        ask(destroy.clone(), &[PVC_PROTECTION], &volume(ReclaimPolicy::Delete)).expect("planned");
    assert_eq!(steps(&proposal), [PVC_PROTECTION]);
    assert_eq!(proposal.relies_on, ["--destroy-data"]);
    assert!(
        proposal
            .effect
            .what
            .contains("policy Delete can destroy the data when the claim is deleted (pv/pv-1)"),
        "{}",
        proposal.effect.what
    );
    let mut twin = volume(ReclaimPolicy::Retain);
    twin.metadata.name = "twin".into();
    twin.claim_ref = None;
    let shared = destroy.with(Row::Volume(Box::new(twin)));
    refuses(
        ask(shared, &[PVC_PROTECTION], &volume(ReclaimPolicy::Delete)),
        &["the backend volume of pv/pv-1 may contain other data too: pv/twin"],
    );
}

#[test]
fn a_claim_that_others_still_hold_is_asked_nothing_and_the_patch_tests_that_they_do() {
    let proposal = ask(
        FinalizerFixture::default(),
        &[PVC_PROTECTION, FOREIGN],
        &volume(ReclaimPolicy::Delete),
    )
    .expect("planned");
    assert_eq!((steps(&proposal), proposal.relies_on.len()), (vec![PVC_PROTECTION], 0));
    let [Action::RemoveFinalizer { guards, .. }] = &*proposal.steps else { panic!() };
    assert_eq!(*guards, [Guard::Finalizer(FOREIGN.into())]);
}

#[test]
fn what_its_controller_takes_off_next_holds_no_claim() {
    // Without the finalizer of csi-provisioner, kube-controller-manager removes its own within
    // seconds.
    for manager in [Liveness::Alive, Liveness::Unknown] {
        let fixture = FinalizerFixture { manager, ..FinalizerFixture::default() };
        let told = ask(fixture, &[PVC_PROTECTION, CLONE_SOURCE], &volume(ReclaimPolicy::Delete));
        refuses(told, &["requires --keep-data or --destroy-data"]);
    }
}

#[test]
fn a_volume_that_goes_with_the_claim_keeps_it() {
    let keep = FinalizerFixture {
        settings: settings(|it| it.keep_data = true),
        ..FinalizerFixture::default()
    };
    let mut going = volume(ReclaimPolicy::Delete);
    going.metadata.deleting = Some(ago(60));
    refuses(ask(keep.clone(), &[PVC_PROTECTION], &going), &["pv/pv-1 is Terminating too"]);
    going.reclaim_policy = ReclaimPolicy::Retain;
    refuses(
        ask(FinalizerFixture::default(), &[PVC_PROTECTION], &going),
        &["which leaks its backend volume, driver.longhorn.io"],
    );
    let mut released = volume(ReclaimPolicy::Delete);
    released.phase = Phase::Released;
    refuses(ask(keep, &[PVC_PROTECTION], &released), &["is Released, not Bound"]);
}

#[test]
fn a_volume_of_another_claim_is_nobodys_data_here() {
    let mut others = volume(ReclaimPolicy::Delete);
    if let Some(of) = &mut others.claim_ref {
        of.key.name = "other".into();
        of.uid = crate::model::Uid::parse("other-uid");
    }
    let proposal = ask(FinalizerFixture::default(), &[PVC_PROTECTION], &others).expect("planned");
    assert!(proposal.effect.what.contains("no volume is affected"), "{}", proposal.effect.what);
}

#[test]
fn exemptions_of_the_claim_and_of_the_volume_prevent() {
    let mut exempt = claim(&[PVC_PROTECTION], Some(120));
    exempt.metadata.rare_annotations = Some(Box::new(crate::model::RareAnnotations {
        ignore: Some("all: mine".into()),
        ..Default::default()
    }));
    let told =
        said(FinalizerFixture::default().of_claim(&exempt, Some(&kept())).ask(propose, &exempt));
    refuses(told, &["annotation storage.kubectl.dev/ignore"]);
    let mut kept_until = volume(ReclaimPolicy::Delete);
    kept_until.metadata.rare_annotations = Some(Box::new(crate::model::RareAnnotations {
        keep_until: Some("2099-01-01".into()),
        ..Default::default()
    }));
    for change in
        [|it: &mut Settings| it.keep_data = true, |it: &mut Settings| it.destroy_data = true]
    {
        let fixture =
            FinalizerFixture { settings: settings(change), ..FinalizerFixture::default() };
        refuses(
            ask(fixture, &[PVC_PROTECTION], &kept_until),
            &["pv/pv-1 has annotation storage.kubectl.dev/keep-until"],
        );
    }
}

#[test]
fn a_finalizer_of_others_goes_by_its_name_from_a_claim_that_is_named() {
    let word = settings(|it| it.remove_finalizer = Some(FOREIGN.into()));
    let fixture = FinalizerFixture { settings: word, ..FinalizerFixture::default() };
    let proposal = ask(fixture.clone(), &[OTHER, FOREIGN], &kept()).expect("planned");
    assert_eq!(
        (steps(&proposal), &*proposal.relies_on),
        (vec![FOREIGN], &["--remove-finalizer"][..])
    );
    let many = FinalizerFixture { named: false, ..fixture.clone() };
    refuses(ask(many, &[FOREIGN], &kept()), &["requires that the claim is named"]);
    let young = claim(&[FOREIGN], Some(30));
    let told = said(fixture.of_claim(&young, Some(&kept())).ask(propose, &young));
    refuses(told, &["has not been Terminating for 1h yet: wait"]);
}

#[test]
fn a_protection_that_is_missing_is_added_in_use_or_not() {
    let add = [Action::AddFinalizer {
        object: claim(&[], None).object(),
        finalizer: PVC_PROTECTION.into(),
    }];
    for named in [false, true] {
        let live = claim(&[FOREIGN], None);
        let fixture = FinalizerFixture { named, ..FinalizerFixture::default() }.with(pod(
            "shop",
            PodPhase::Running,
            Some("n"),
        ));
        let proposal = said(fixture.of_claim(&live, Some(&kept())).ask(propose, &live));
        assert_eq!(proposal.expect("planned").steps, add);
    }
    let mut young = claim(&[], None);
    young.metadata.created = Some(ago(1));
    let many = FinalizerFixture { named: false, ..FinalizerFixture::default() };
    refuses(said(many.ask(propose, &young)), &["may be about to add this finalizer"]);
    assert_eq!(said(FinalizerFixture::default().ask(propose, &young)).expect("planned").steps, add);
}

#[test]
fn nothing_is_removed_from_a_claim_that_is_not_being_deleted() {
    let word = settings(|it| {
        it.remove_finalizer = Some(FOREIGN.into());
        it.destroy_data = true;
    });
    let live = claim(&[PVC_PROTECTION, FOREIGN, CLONE_SOURCE], None);
    let fixture = FinalizerFixture { settings: word, ..FinalizerFixture::default() }
        .of_claim(&live, Some(&kept()));
    refuses(
        said(fixture.ask(propose, &live)),
        &["it is not Terminating, so no finalizer is removed"],
    );
}

#[test]
fn the_command_names_the_claim_and_the_flags_that_it_relies_on() {
    let word = settings(|it| {
        it.destroy_data = true;
        it.remove_finalizer = Some(FOREIGN.into());
        it.absent_drivers = [DRIVER.into()].into();
    });
    let claim = claim(&[FOREIGN, CLONE_SOURCE], Some(120));
    let fixture = FinalizerFixture {
        settings: word,
        provisioner: Liveness::Unknown,
        ..FinalizerFixture::default()
    };
    let fixture = fixture.of_claim(&claim, Some(&volume(ReclaimPolicy::Delete)));
    let (cluster, facts) = (fixture.cluster(), std::cell::RefCell::default());
    let (_, offer) = REMEDY.verdict(&Cx::new(&cluster, &fixture.settings, &facts), &claim);
    assert_eq!(
        offer.and_then(|it| it.command).as_deref(),
        Some(
            "kubectl storage fix-finalizers pvc/data -n shop --destroy-data \
             --driver-absent driver.longhorn.io --remove-finalizer example.com/backup"
        )
    );
}

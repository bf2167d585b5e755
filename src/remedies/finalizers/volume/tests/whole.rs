//! The proposal for one volume: all steps in order, or why there are none.

use super::*;
use crate::model::Attachment;

const BACKUP: &str = "example.com/a/b/backup";

fn reclaim() -> Case {
    Case { driver: Driver::Alive, reclaim: true, finalizers: vec![ATTACHER_OF_DRIVER], ..case() }
}

fn in_tree() -> Case {
    Case {
        origin: Origin::InTree,
        minor: 32,
        rolled_back: true,
        finalizers: vec![IN_TREE, PV_PROTECTION],
        ..case()
    }
}

#[test]
fn the_stale_guard_goes_before_the_true_one_and_the_attachers_after_both() {
    let all = vec![ATTACHER_OF_DRIVER, PV_PROTECTION, EXTERNAL_PROVISIONER, BACKUP, IN_TREE];
    let kept = Case { policy: ReclaimPolicy::Retain, finalizers: all.clone(), ..case() };
    let proposal = whole(&Case { remove: Some(BACKUP), ..kept.clone() }).expect("nobody is left");
    assert_eq!(removed(&proposal), [IN_TREE, EXTERNAL_PROVISIONER, ATTACHER_OF_DRIVER, BACKUP]);
    assert_eq!((proposal.undo, proposal.keeps_backend), (Undo::Recreate, true));
    assert_eq!(proposal.relies_on, ["--remove-finalizer"]);
    // On an in-tree volume the finalizer of csi-provisioner is the stale one.
    let both = vec![IN_TREE, EXTERNAL_PROVISIONER, PV_PROTECTION];
    let case = Case { accept_leak: true, finalizers: both, ..in_tree() };
    let proposal = whole(&case).expect("on the user's word");
    assert_eq!(removed(&proposal), [EXTERNAL_PROVISIONER, IN_TREE]);
    assert_eq!(proposal.relies_on, ["--accept-leak", "--rolled-back"]);
    // In any order on the object.
    let reordered = Case { finalizers: all.into_iter().rev().collect(), ..kept.clone() };
    assert_eq!(whole(&reordered), whole(&kept));
}

#[test]
fn what_a_step_tests_is_what_the_steps_before_leave() {
    let finalizers = vec![IN_TREE, EXTERNAL_PROVISIONER];
    let proposal = whole(&Case { accept_leak: true, finalizers, ..case() }).expect("accepted");
    let guards = |step: &Action| match step {
        Action::RemoveFinalizer { guards, .. } => guards.clone(),
        other => panic!("{other:?}"),
    };
    let guard = Guard::Finalizer(EXTERNAL_PROVISIONER.into());
    let [first, second] = &*proposal.steps else { panic!("{:?}", proposal.steps) };
    assert!(guards(first).contains(&guard));
    assert!(!guards(second).iter().any(|it| matches!(it, Guard::Finalizer(_))));
}

#[test]
fn forty_finalizers_of_others_are_all_left_and_one_of_them_goes_by_its_name() {
    let mut volume = volume(&Case { policy: ReclaimPolicy::Retain, ..case() });
    let names: Vec<Text> =
        (0..40).map(|it| format!("example.com/x/{it:02}").as_str().into()).collect();
    volume.metadata.finalizers = names.clone().into();
    let refused = whole_of(&case(), &volume, true).expect_err("they are somebody's");
    for name in &names {
        assert!(refused.contains(&**name), "{refused}");
    }
    let remove = Some("example.com/x/17");
    let proposal = whole_of(&Case { remove, ..case() }, &volume, true).expect("by its name");
    assert_eq!(removed(&proposal), ["example.com/x/17"]);
    assert!(proposal.effect.what.contains("other finalizers still hold"), "{:?}", proposal.effect);
    assert!(whole_of(&Case { remove, ..case() }, &volume, false).is_err(), "chosen by a filter");
}

#[test]
fn what_is_asked_for_by_its_name_is_done_or_nothing_is() {
    let finalizers = vec![EXTERNAL_PROVISIONER, PV_PROTECTION];
    let kept = Case { policy: ReclaimPolicy::Retain, finalizers, ..case() };
    assert!(whole(&kept).is_ok());
    for (name, reason) in [
        (PV_PROTECTION, "is a finalizer of Kubernetes"),
        (EXTERNAL_PROVISIONER, "is a finalizer of Kubernetes"),
        ("foregroundDeletion", "is a finalizer of Kubernetes"),
    ] {
        let refused = whole(&Case { remove: Some(name), ..kept.clone() }).expect_err(name);
        assert!(refused.contains(reason), "{refused}");
    }
    let finalizers = vec![EXTERNAL_PROVISIONER, BACKUP];
    let live = Case { terminating: false, remove: Some(BACKUP), finalizers, ..kept };
    assert_eq!(
        whole(&live),
        Err(format!("{BACKUP}: not Terminating: the finalizer blocks nothing now"))
    );
}

#[test]
fn a_backend_that_would_be_leaked_is_reclaimed_once_nothing_holds_its_object() {
    let name = |case: &Case| {
        let key = volume(case).backend.expect("because every case has one");
        crate::remedies::placeholder::name("b7f3", &key)
    };
    for case in [
        // D-33, T12, D-84, and a third-party finalizer.
        reclaim(),
        Case { finalizers: vec![IN_TREE], ..reclaim() },
        Case { reclaim: true, finalizers: vec![IN_TREE], ..in_tree() },
        Case { finalizers: vec![BACKUP], remove: Some(BACKUP), ..reclaim() },
        Case { phase: Phase::Failed, ..reclaim() },
    ] {
        let proposal = whole(&case).unwrap_or_else(|reason| panic!("{case:?}: {reason}"));
        let Some(Action::ReclaimBackend { tombstone, of }) = proposal.steps.last() else {
            panic!("{case:?}: {:?}", proposal.steps);
        };
        assert_eq!((&*tombstone.key.name, of), (&*name(&case), &volume(&case).object()));
        assert_eq!(removed(&proposal).len() + 1, proposal.steps.len());
        assert!(proposal.keeps_backend && proposal.relies_on.contains(&"--reclaim"), "{case:?}");
        assert!(matches!(proposal.undo, Undo::Never(_)), "{case:?}");
        // With --accept-leak as well, nothing is destroyed.
        let both = whole(&Case { accept_leak: true, ..case.clone() }).expect("accepted");
        assert!(both.steps.iter().all(|it| matches!(it, Action::RemoveFinalizer { .. })));
        assert!(!both.relies_on.contains(&"--reclaim") && both.keeps_backend);
    }
}

#[test]
fn nothing_is_reclaimed_before_it_is_sure_that_it_can_be() {
    let gone = Case { driver: Driver::Absent, ..reclaim() };
    let held = vec![ATTACHER_OF_DRIVER, BACKUP];
    for (case, reason) in [
        // F24: no controller can delete it.
        (Case { finalizers: vec![EXTERNAL_PROVISIONER], ..gone.clone() }, "is absent"),
        (gone, "is absent"),
        (Case { finalizers: held, ..reclaim() }, "other finalizers would still block its deletion"),
        (Case { phase: Phase::Available, ..reclaim() }, "it was never Released"),
        (Case { phase: Phase::Bound, ..reclaim() }, "Bound: "),
        (Case { driver: Driver::Unknown, ..reclaim() }, "may not be running"),
    ] {
        let refused = whole(&case).expect_err("not sure");
        assert!(refused.contains(reason), "{case:?}: {refused}");
    }
    let unseen = whole(&Case { driver: Driver::Unseen, attacher: Driver::Absent, ..reclaim() });
    assert!(unseen.is_err_and(|it| it.starts_with("unseen: ")));
    // Nothing leaks with policy Retain, or with the deletion-protection finalizer.
    for case in [
        Case { policy: ReclaimPolicy::Retain, ..reclaim() },
        Case { finalizers: vec![EXTERNAL_PROVISIONER, ATTACHER_OF_DRIVER], ..reclaim() },
    ] {
        let proposal = whole(&case).expect("its attacher is gone");
        assert_eq!(removed(&proposal).len(), proposal.steps.len(), "{case:?}");
        assert!(!proposal.relies_on.contains(&"--reclaim"));
    }
}

#[test]
fn a_leak_is_only_accepted_where_there_is_one() {
    let guarded = vec![EXTERNAL_PROVISIONER, ATTACHER_OF_DRIVER];
    let alive = Case { driver: Driver::Alive, accept_leak: true, finalizers: guarded, ..case() };
    let proposal = whole(&alive).expect("its attacher is gone");
    assert_eq!(removed(&proposal), [ATTACHER_OF_DRIVER]);
    assert_eq!((&*proposal.relies_on, proposal.keeps_backend), (&[][..], false));
    let gone = Case { driver: Driver::Absent, ..alive };
    let proposal = whole(&gone).expect("accepted");
    assert_eq!(removed(&proposal), [EXTERNAL_PROVISIONER, ATTACHER_OF_DRIVER]);
    assert_eq!((&*proposal.relies_on, proposal.keeps_backend), (&["--accept-leak"][..], true));
    assert_eq!(
        proposal.notices,
        [format!("no controller deletes the backend volume: {DRIVER} vol-1")]
    );
    let word = whole(&Case { accept_leak: false, ..gone }).expect("its provisioner's stays");
    assert_eq!(removed(&word), [ATTACHER_OF_DRIVER]);
}

#[test]
fn the_word_that_a_driver_is_absent_is_among_what_is_relied_on() {
    let case = Case { driver: Driver::Unknown, policy: ReclaimPolicy::Retain, ..case() };
    assert!(whole(&case).is_err());
    let (cluster, known) = (cluster(&case), RefCell::default());
    let absent_drivers = [DRIVER.into()].into();
    let settings = Settings { absent_drivers, ..settings(&case) };
    let cx = Cx::new(&cluster, &settings, &known);
    let volume = volume(&case);
    let proposal =
        fix(&cx, &volume, &FinalizerRequest::default()).expect("seen").expect("on his word");
    assert_eq!(proposal.relies_on, ["--driver-absent"]);
    let command = (EXTERNAL.command)(&cx, &volume);
    assert_eq!(
        command.as_deref(),
        Some(&*format!("fix-finalizers pv/pv-1 --driver-absent {DRIVER}"))
    );
}

#[test]
fn a_refusal_says_of_every_finalizer_who_should_remove_it_and_why_it_is_left() {
    let finalizers = vec![EXTERNAL_PROVISIONER, ATTACHER_OF_DRIVER, BACKUP, PV_PROTECTION];
    let alive = Case { driver: Driver::Alive, attacher: Driver::Alive, finalizers, ..case() };
    let refused = whole(&alive).expect_err("everybody is there");
    for part in [
        &*format!(
            "{EXTERNAL_PROVISIONER}: csi-provisioner of {DRIVER} has not deleted the backend volume; "
        ),
        "; its controller is running, but makes no progress; read its log, ",
        &*format!("{ATTACHER_OF_DRIVER}: external-attacher of {DRIVER} is running, but has not"),
        &*format!("{BACKUP}: third-party finalizer"),
        &*format!("{PV_PROTECTION}: kube-controller-manager removes it; running"),
    ] {
        assert!(refused.contains(part), "{part:?} is not in {refused:?}");
    }
    let failed = whole(&Case { phase: Phase::Failed, ..alive }).expect_err("nobody tries again");
    assert!(failed.contains("kubectl storage retain pv/pv-1"), "{failed}");
    let unknown = whole(&Case { driver: Driver::Unknown, ..case() }).expect_err("unknown");
    assert!(unknown.contains(&format!("assert that with --driver-absent {DRIVER}")), "{unknown}");
    // F35.
    let stuck = Case { phase: Phase::Bound, finalizers: vec![PV_PROTECTION], ..in_tree() };
    let refused = whole(&stuck).expect_err("the API server allows no new finalizer");
    assert!(
        refused.contains("`kubectl storage retain pv/pv-1` unblocks the deletion"),
        "{refused}"
    );
}

#[test]
fn an_attachment_is_repaired_first() {
    let case =
        Case { policy: ReclaimPolicy::Retain, finalizers: vec![ATTACHER_OF_DRIVER], ..case() };
    let (mut cluster, mut dirty) = (cluster(&case), Dirty::everything());
    let row = Row::Attachment(Box::new(Attachment {
        metadata: Metadata { name: "csi-1".into(), ..Metadata::default() },
        attacher: DRIVER.into(),
        ..Attachment::sample()
    }));
    cluster.apply(Change::Seen(row), &mut dirty);
    let (settings, known) = (settings(&case), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &known);
    let said = fix(&cx, &volume(&case), &FinalizerRequest::default())
        .expect("seen")
        .expect_err("attached");
    assert!(
        said.reason.contains(
            "volumeattachment/csi-1 references it on node node-1; once no pod uses the volume on node node-1, `kubectl delete volumeattachment/csi-1`"
        ),
        "{}",
        said.reason
    );
}

#[test]
fn a_missing_protection_is_added_where_the_volume_is_named_and_nothing_else_is_to_be_done() {
    let bare = Case { terminating: false, finalizers: vec![], ..case() };
    let step =
        Action::AddFinalizer { object: volume(&bare).object(), finalizer: PV_PROTECTION.into() };
    let proposal = whole(&bare).expect("on request");
    assert_eq!(proposal.steps, [step]);
    assert!(matches!(proposal.undo, Undo::Never(_)));
    assert!(whole_of(&bare, &volume(&bare), false).is_err(), "chosen by a filter");
    let first =
        Case { policy: ReclaimPolicy::Retain, finalizers: vec![EXTERNAL_PROVISIONER], ..bare };
    let proposal = whole(&first).expect("its provisioner is gone");
    assert_eq!(removed(&proposal), [EXTERNAL_PROVISIONER]);
    let protected = Case { finalizers: vec![PV_PROTECTION], ..first };
    assert!(whole(&protected).is_err());
    assert!(whole(&Case { terminating: true, finalizers: vec![], ..protected }).is_err());
}

#[test]
fn the_finalizer_of_a_live_in_tree_volume_goes_only_where_the_volume_is_named() {
    let live = Case { terminating: false, ..in_tree() };
    let proposal = whole(&live).expect("named, and rolled back");
    assert_eq!((removed(&proposal), &*proposal.relies_on), (vec![IN_TREE], &["--rolled-back"][..]));
    assert!(!proposal.keeps_backend && matches!(proposal.undo, Undo::Never(_)));
    let refused = whole_of(&live, &volume(&live), false).expect_err("chosen by a filter");
    assert!(refused.contains("removed only if the volume is named"), "{refused}");
    assert!(whole(&Case { rolled_back: false, ..live }).is_err());
}

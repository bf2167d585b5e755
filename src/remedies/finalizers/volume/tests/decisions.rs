//! The decision table, for all inputs.

use std::collections::BTreeSet;

use super::super::finalizer::VolumeFinalizer;
use super::super::finalizer::reason;
use super::super::table::{
    LeakChoice, Lifecycle, OtherFinalizers, ReclaimingController, Usage, VolumeFinalizerKind,
    VolumeInputs, VolumePhase, VolumePolicy, VolumeReason, VolumeStep, decide, leave, step,
};
use super::*;
use crate::remedies::finalizers::{Consent, ControllerLiveness, FinalizerDecision, NotRead};

const KINDS: [VolumeFinalizerKind; 4] = [
    VolumeFinalizerKind::External,
    VolumeFinalizerKind::InTree,
    VolumeFinalizerKind::Attacher,
    VolumeFinalizerKind::ThirdParty,
];
const RECLAIMING_CONTROLLERS: [ReclaimingController; 3] = [
    ReclaimingController::Provisioner,
    ReclaimingController::ControllerManager,
    ReclaimingController::Unknown,
];
const POLICIES: [VolumePolicy; 4] =
    [VolumePolicy::Retain, VolumePolicy::Recycle, VolumePolicy::Delete, VolumePolicy::Other];
const PHASES: [VolumePhase; 5] = [
    VolumePhase::Unbound,
    VolumePhase::Bound,
    VolumePhase::Released,
    VolumePhase::Failed,
    VolumePhase::Other,
];
const OTHERS: [OtherFinalizers; 3] =
    [OtherFinalizers::DeletionProtection, OtherFinalizers::PvProtection, OtherFinalizers::Neither];
const CONTROLLERS: [ControllerLiveness; 6] = [
    ControllerLiveness::Alive,
    ControllerLiveness::Working,
    ControllerLiveness::Absent,
    ControllerLiveness::Unknown,
    ControllerLiveness::Nameless,
    ControllerLiveness::Unread,
];
const LEAK_CHOICES: [LeakChoice; 3] =
    [LeakChoice::Unsaid, LeakChoice::AcceptLeak, LeakChoice::Reclaim];
const YES_OR_NO: [bool; 2] = [true, false];

fn each(mut ask: impl FnMut(&VolumeInputs)) {
    let mut finish = |it: VolumeInputs| {
        let is_deletion_protection = match it.reclaimed_by {
            ReclaimingController::Provisioner => it.kind == VolumeFinalizerKind::External,
            ReclaimingController::ControllerManager => it.kind == VolumeFinalizerKind::InTree,
            ReclaimingController::Unknown => false,
        };
        if is_deletion_protection && it.others == OtherFinalizers::DeletionProtection {
            return; // It is not one of the others.
        }
        for leak in LEAK_CHOICES {
            for rolled_back in YES_OR_NO {
                for (named, consent) in
                    [(true, Consent::Given), (true, Consent::Missing), (false, Consent::Given)]
                {
                    ask(&VolumeInputs { leak, rolled_back, named, consent, ..it });
                }
            }
        }
    };
    for (kind, reclaimed_by) in
        KINDS.into_iter().flat_map(|a| RECLAIMING_CONTROLLERS.map(|b| (a, b)))
    {
        for (policy, phase) in POLICIES.into_iter().flat_map(|a| PHASES.map(|b| (a, b))) {
            for (others, controller) in OTHERS.into_iter().flat_map(|a| CONTROLLERS.map(|b| (a, b)))
            {
                for lifecycle in [Lifecycle::Live, Lifecycle::Terminating] {
                    for usage in [Usage::Free, Usage::Used, Usage::Unread] {
                        finish(VolumeInputs {
                            kind,
                            reclaimed_by,
                            policy,
                            phase,
                            lifecycle,
                            others,
                            controller,
                            usage,
                            leak: LeakChoice::Unsaid,
                            rolled_back: false,
                            named: false,
                            consent: Consent::Missing,
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn every_row_has_a_step_or_a_reason_and_each_of_them_is_reached() {
    let (mut asked, mut steps, mut reasons) = (0_usize, BTreeSet::new(), BTreeSet::new());
    each(|it| {
        asked += 1;
        match decide(it) {
            Ok(FinalizerDecision::Do(step)) => {
                steps.insert(format!("{step:?}"));
            }
            Ok(FinalizerDecision::Leave(reason)) => {
                reasons.insert(reason);
            }
            Err(unread) => {
                let is_unread = match unread {
                    NotRead::Controller => it.controller == ControllerLiveness::Unread,
                    NotRead::Users => it.usage == Usage::Unread,
                };
                assert!(is_unread, "{it:?} was read");
            }
        }
    });
    assert!(asked >= 300, "only {asked}");
    assert_eq!(steps.len(), 5, "{steps:?}");
    assert_eq!(reasons.len(), 24, "reasons without a row: only {reasons:?}");
    // Each reason has its own sentence.
    let (cluster, known) = (cluster(&case()), RefCell::default());
    let settings = settings(&case());
    let cx = Cx::new(&cluster, &settings, &known);
    let volume = volume(&case());
    let asked = FinalizerRequest::default();
    let case = VolumeFinalizer::of(
        &cx,
        &volume,
        EXTERNAL_PROVISIONER,
        VolumeFinalizerKind::External,
        &asked,
    );
    let said: BTreeSet<_> = reasons.iter().map(|it| reason(&cx, &case, *it)).collect();
    assert_eq!(said.len(), reasons.len(), "{said:#?}");
    for text in said {
        assert!(!text.is_empty() && !text.ends_with('.'), "{text:?}");
    }
}

#[test]
fn no_step_is_taken_on_unread_inputs_or_against_a_controller_that_would_act() {
    each(|it| {
        let Ok(FinalizerDecision::Do(step)) = decide(it) else { return };
        let sidecar = it.kind == VolumeFinalizerKind::Attacher
            || it.kind == VolumeFinalizerKind::External
                && it.reclaimed_by == ReclaimingController::Provisioner;
        if sidecar {
            assert_eq!(it.controller, ControllerLiveness::Absent, "{it:?}");
        }
        let manager = it.reclaimed_by == ReclaimingController::ControllerManager
            && matches!(it.kind, VolumeFinalizerKind::External | VolumeFinalizerKind::InTree);
        if manager {
            assert!(it.rolled_back, "{it:?}: without the user's consent");
            assert!(
                matches!(it.controller, ControllerLiveness::Absent | ControllerLiveness::Working),
                "{it:?}"
            );
        }
        assert_eq!(step == VolumeStep::Remove, it.lifecycle == Lifecycle::Live, "{it:?}: {step:?}");
        let live_in_tree =
            manager && it.kind == VolumeFinalizerKind::InTree && it.lifecycle == Lifecycle::Live;
        if live_in_tree || it.kind == VolumeFinalizerKind::ThirdParty {
            assert!(it.named, "{it:?}: chosen by a filter");
        }
        if it.kind == VolumeFinalizerKind::ThirdParty {
            assert!(
                it.consent == Consent::Given && it.lifecycle == Lifecycle::Terminating,
                "{it:?}"
            );
        }
        let is_last = match step {
            VolumeStep::Remove | VolumeStep::RemoveWhileProtected => false,
            VolumeStep::RemoveLastKept
            | VolumeStep::RemoveLastLeaked
            | VolumeStep::RemoveLastReclaimed => true,
        };
        if is_last && it.phase == VolumePhase::Bound {
            assert_eq!(
                (it.others, step),
                (OtherFinalizers::PvProtection, VolumeStep::RemoveLastKept),
                "{it:?}"
            );
        } else if is_last {
            assert_eq!(it.usage, Usage::Free, "{it:?}: it is in use");
        }
        match step {
            VolumeStep::Remove => {}
            VolumeStep::RemoveWhileProtected => {
                assert_eq!(it.others, OtherFinalizers::DeletionProtection, "{it:?}");
            }
            VolumeStep::RemoveLastKept => {
                assert!(
                    matches!(it.policy, VolumePolicy::Retain | VolumePolicy::Recycle),
                    "{it:?}"
                );
            }
            VolumeStep::RemoveLastLeaked => assert_eq!(it.leak, LeakChoice::AcceptLeak, "{it:?}"),
            VolumeStep::RemoveLastReclaimed => {
                assert_eq!(
                    (it.leak, it.policy),
                    (LeakChoice::Reclaim, VolumePolicy::Delete),
                    "{it:?}"
                );
                assert!(matches!(it.phase, VolumePhase::Released | VolumePhase::Failed), "{it:?}");
            }
        }
    });
}

/// F25: `--accept-leak` and `--reclaim` allow only steps after which the backend volume would leak.
#[test]
fn a_leak_choice_changes_a_refusal_only_where_it_was_missing() {
    each(|it| {
        let without = decide(&VolumeInputs { leak: LeakChoice::Unsaid, ..*it });
        let with = decide(it);
        if with == without {
            return;
        }
        let missing = [
            VolumeReason::NeedsLeakChoice,
            VolumeReason::LastDeletionProtection,
            VolumeReason::NeedsAcceptLeak,
        ]
        .map(|it| Ok(FinalizerDecision::Leave(it)));
        assert!(missing.contains(&without), "{it:?}: {without:?} became {with:?}");
        assert_eq!(it.lifecycle, Lifecycle::Terminating, "{it:?}");
        assert_ne!(
            it.others,
            OtherFinalizers::DeletionProtection,
            "{it:?}: its reclaiming controller protects it"
        );
    });
}

#[test]
fn each_row() {
    use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
    use VolumeFinalizerKind::{Attacher, External, InTree, ThirdParty};
    use VolumeReason::{
        AttacherWaitsForDeletion, Bound, ControllerAlive, ControllerNameless, ControllerUnknown,
        DeletionMayGoOn, InUse, LastDeletionProtection, ManagerHonors, NeedsFinalizerName,
        NeedsLeakChoice, NeedsObjectName, NeedsRolledBack, NeverReleased, NotTerminating,
        NothingElseProtects, PolicyUnknown, ReinstallDriver, SlowDeletionLooksTheSame, TooSoon,
    };
    use VolumeStep::{
        Remove, RemoveLastKept, RemoveLastLeaked, RemoveLastReclaimed, RemoveWhileProtected,
    };
    let csi = VolumeInputs {
        kind: External,
        reclaimed_by: ReclaimingController::Provisioner,
        policy: VolumePolicy::Delete,
        phase: VolumePhase::Released,
        lifecycle: Lifecycle::Terminating,
        others: OtherFinalizers::PvProtection,
        controller: Absent,
        usage: Usage::Free,
        leak: LeakChoice::Unsaid,
        rolled_back: false,
        named: false,
        consent: Consent::Missing,
    };
    let kept = VolumeInputs { policy: VolumePolicy::Retain, ..csi };
    let live = |it: VolumeInputs| VolumeInputs { lifecycle: Lifecycle::Live, ..it };
    let leak = |it: VolumeInputs| VolumeInputs { leak: LeakChoice::AcceptLeak, ..it };
    let reclaim = |it: VolumeInputs| VolumeInputs { leak: LeakChoice::Reclaim, ..it };
    let in_tree = |it: VolumeInputs| VolumeInputs {
        reclaimed_by: ReclaimingController::ControllerManager,
        rolled_back: true,
        ..it
    };
    let of = |kind, it: VolumeInputs| VolumeInputs { kind, ..it };
    let controller = |controller, it: VolumeInputs| VolumeInputs { controller, ..it };
    let at = |phase, it: VolumeInputs| VolumeInputs { phase, ..it };
    let guarded =
        |it: VolumeInputs| VolumeInputs { others: OtherFinalizers::DeletionProtection, ..it };
    let consented = |it: VolumeInputs| VolumeInputs {
        named: true,
        consent: Consent::Given,
        ..of(ThirdParty, it)
    };
    let used = |it: VolumeInputs| VolumeInputs { usage: Usage::Used, ..it };
    let unread = |it: VolumeInputs| VolumeInputs { usage: Usage::Unread, ..it };
    for (row, it, says) in [
        ("F23", kept, step(RemoveLastKept)),
        ("F23 live", live(kept), step(Remove)),
        (
            "F23 recycle",
            VolumeInputs { policy: VolumePolicy::Recycle, ..kept },
            step(RemoveLastKept),
        ),
        ("F23 alive", controller(Alive, kept), leave(ControllerAlive)),
        ("F23 used", used(kept), leave(InUse)),
        ("F23 unread", unread(kept), Err(NotRead::Users)),
        ("F24", csi, leave(NeedsLeakChoice)),
        ("F24 leak", leak(csi), step(RemoveLastLeaked)),
        ("F24 reclaim", reclaim(csi), step(RemoveLastReclaimed)),
        ("F24 bound", leak(at(VolumePhase::Bound, csi)), leave(Bound)),
        ("F24 released", leak(live(csi)), leave(ReinstallDriver)),
        ("F24 failed", live(at(VolumePhase::Failed, csi)), leave(NotTerminating)),
        (
            "F24 odd",
            leak(VolumeInputs { policy: VolumePolicy::Other, ..csi }),
            leave(PolicyUnknown),
        ),
        ("F25", leak(controller(Alive, csi)), leave(ControllerAlive)),
        ("F25 unknown", reclaim(controller(Unknown, csi)), leave(ControllerUnknown)),
        ("F25 unread", leak(controller(Unread, csi)), Err(NotRead::Controller)),
        ("never bound", reclaim(at(VolumePhase::Unbound, csi)), leave(NeverReleased)),
        ("F27", live(of(InTree, csi)), step(Remove)),
        ("F27 guarded", guarded(of(InTree, csi)), step(RemoveWhileProtected)),
        ("F27 kept", of(InTree, kept), step(RemoveLastKept)),
        ("D-40", of(InTree, csi), leave(LastDeletionProtection)),
        ("D-40 leak", leak(of(InTree, csi)), step(RemoveLastLeaked)),
        ("F30", guarded(in_tree(csi)), step(RemoveWhileProtected)),
        ("F30 kept", in_tree(kept), step(RemoveLastKept)),
        ("F30 bare", leak(in_tree(csi)), leave(NothingElseProtects)),
        ("F30 newer", controller(Alive, in_tree(kept)), leave(ManagerHonors)),
        (
            "F30 without --rolled-back",
            VolumeInputs { rolled_back: false, ..in_tree(kept) },
            leave(NeedsRolledBack),
        ),
        ("F31 live", live(of(Attacher, csi)), leave(AttacherWaitsForDeletion)),
        ("F31 used", used(of(Attacher, kept)), leave(InUse)),
        ("F31 kept", of(Attacher, kept), step(RemoveLastKept)),
        ("F31 guarded", guarded(of(Attacher, csi)), step(RemoveWhileProtected)),
        ("F31 bound", at(VolumePhase::Bound, of(Attacher, kept)), leave(Bound)),
        ("F31 whose", controller(Nameless, of(Attacher, kept)), leave(ControllerNameless)),
        ("D-33", of(Attacher, csi), leave(NeedsLeakChoice)),
        ("D-33 reclaim", reclaim(of(Attacher, csi)), step(RemoveLastReclaimed)),
        ("F33", of(ThirdParty, kept), leave(NeedsFinalizerName)),
        ("F33 named", consented(kept), step(RemoveLastKept)),
        ("F33 chosen", VolumeInputs { named: false, ..consented(kept) }, leave(NeedsObjectName)),
        ("F33 too soon", controller(Working, consented(kept)), leave(TooSoon)),
        ("F33 live", live(consented(kept)), leave(NotTerminating)),
        ("F33 leaks", consented(csi), leave(NeedsLeakChoice)),
        ("F33 leak", leak(consented(csi)), step(RemoveLastLeaked)),
        ("F39", in_tree(of(InTree, csi)), leave(NeedsLeakChoice)),
        ("F39 kept", in_tree(of(InTree, kept)), step(RemoveLastKept)),
        ("F39 leak", leak(in_tree(of(InTree, csi))), step(RemoveLastLeaked)),
        ("D-84", reclaim(in_tree(of(InTree, csi))), step(RemoveLastReclaimed)),
        ("F39 slow", controller(Working, leak(in_tree(of(InTree, csi)))), leave(DeletionMayGoOn)),
        (
            "F39 without --rolled-back",
            VolumeInputs { rolled_back: false, ..leak(in_tree(of(InTree, csi))) },
            leave(SlowDeletionLooksTheSame),
        ),
        ("F39 M chosen", live(in_tree(of(InTree, csi))), leave(NeedsObjectName)),
        (
            "F39 M named",
            VolumeInputs { named: true, ..live(in_tree(of(InTree, csi))) },
            step(Remove),
        ),
    ] {
        assert_eq!(decide(&it), says, "{row}: {it:?}");
    }
}

//! The table by itself, in every situation that it can be asked about.

use std::collections::BTreeSet;

use super::super::reason::reason;
use super::super::table::{
    Act, Beside, Blind, Decision, Life, Policy, Reclaimer, Remover, Situation, Stage, Usage, Which,
    Why, Word, decide,
};
use super::*;

const WHICH: [Which; 4] = [Which::External, Which::InTree, Which::Attacher, Which::Foreign];
const RECLAIMERS: [Reclaimer; 3] =
    [Reclaimer::Provisioner, Reclaimer::ControllerManager, Reclaimer::Unknown];
const POLICIES: [Policy; 4] = [Policy::Retain, Policy::Recycle, Policy::Delete, Policy::Other];
const STAGES: [Stage; 5] =
    [Stage::Unbound, Stage::Bound, Stage::Released, Stage::Failed, Stage::Other];
const BESIDE: [Beside; 3] = [Beside::Guard, Beside::Protection, Beside::Nothing];
const REMOVERS: [Remover; 6] = [
    Remover::Alive,
    Remover::Working,
    Remover::Absent,
    Remover::Unknown,
    Remover::Nameless,
    Remover::Unseen,
];
const WORDS: [Word; 3] = [Word::None, Word::AcceptLeak, Word::Reclaim];
const YES_OR_NO: [bool; 2] = [true, false];

fn each(mut ask: impl FnMut(&Situation)) {
    let mut finish = |it: Situation| {
        let is_the_guard = match it.reclaimer {
            Reclaimer::Provisioner => it.which == Which::External,
            Reclaimer::ControllerManager => it.which == Which::InTree,
            Reclaimer::Unknown => false,
        };
        if is_the_guard && it.beside == Beside::Guard {
            return; // It is not beside itself.
        }
        for word in WORDS {
            for rolled_back in YES_OR_NO {
                for (named, by_name) in [(true, true), (true, false), (false, true)] {
                    ask(&Situation { word, rolled_back, named, by_name, ..it });
                }
            }
        }
    };
    for (which, reclaimer) in WHICH.into_iter().flat_map(|a| RECLAIMERS.map(|b| (a, b))) {
        for (policy, stage) in POLICIES.into_iter().flat_map(|a| STAGES.map(|b| (a, b))) {
            for (beside, remover) in BESIDE.into_iter().flat_map(|a| REMOVERS.map(|b| (a, b))) {
                for life in [Life::Live, Life::Terminating] {
                    for usage in [Usage::Free, Usage::Used, Usage::Unseen] {
                        finish(Situation {
                            which,
                            reclaimer,
                            policy,
                            stage,
                            life,
                            beside,
                            remover,
                            usage,
                            word: Word::None,
                            rolled_back: false,
                            named: false,
                            by_name: false,
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn every_situation_has_a_named_action_or_a_named_refusal_and_none_is_never_reached() {
    let (mut asked, mut acts, mut whys) = (0_usize, BTreeSet::new(), BTreeSet::new());
    each(|it| {
        asked += 1;
        match decide(it) {
            Decision::Do(act) => {
                acts.insert(format!("{act:?}"));
            }
            Decision::Refuse(why) => {
                whys.insert(why);
            }
            Decision::Unseen(blind) => {
                let blindly = match blind {
                    Blind::Remover => it.remover == Remover::Unseen,
                    Blind::Usage => it.usage == Usage::Unseen,
                };
                assert!(blindly, "{it:?} was seen");
            }
        }
    });
    assert!(asked >= 300, "only {asked}");
    assert_eq!(acts.len(), 5, "{acts:?}");
    assert_eq!(whys.len(), 24, "refusals that nothing leads to: only {whys:?}");
    // Each has words of its own, whatever it is about.
    let (cluster, known) = (cluster(&case()), RefCell::default());
    let settings = settings(&case());
    let cx = Cx::new(&cluster, &settings, &known);
    let volume = volume(&case());
    let asked = Asked::default();
    let case = situation::Case::of(&cx, &volume, EXTERNAL_PROVISIONER, Which::External, &asked);
    let said: BTreeSet<_> = whys.iter().map(|why| reason(&cx, &case, *why)).collect();
    assert_eq!(said.len(), whys.len(), "{said:#?}");
    for text in said {
        assert!(!text.is_empty() && !text.ends_with('.'), "{text:?}");
    }
}

#[test]
fn what_is_done_is_never_done_blindly_or_against_a_controller_that_would_act() {
    each(|it| {
        let Decision::Do(act) = decide(it) else { return };
        let sidecar = it.which == Which::Attacher
            || it.which == Which::External && it.reclaimer == Reclaimer::Provisioner;
        if sidecar {
            assert_eq!(it.remover, Remover::Absent, "{it:?}");
        }
        let manager = it.reclaimer == Reclaimer::ControllerManager
            && matches!(it.which, Which::External | Which::InTree);
        if manager {
            assert!(it.rolled_back, "{it:?}: without the user's word");
            assert!(matches!(it.remover, Remover::Absent | Remover::Working), "{it:?}");
        }
        assert_eq!(act == Act::TakeOff, it.life == Life::Live, "{it:?}: {act:?}");
        let live_in_tree = manager && it.which == Which::InTree && it.life == Life::Live;
        if live_in_tree || it.which == Which::Foreign {
            assert!(it.named, "{it:?}: chosen by a filter");
        }
        if it.which == Which::Foreign {
            assert!(it.by_name && it.life == Life::Terminating, "{it:?}");
        }
        let lets_go = match act {
            Act::TakeOff | Act::LeaveToGuard => false,
            Act::LetGoKept | Act::LetGoLeaked | Act::LetGoReclaimed => true,
        };
        if lets_go && it.stage == Stage::Bound {
            assert_eq!((it.beside, act), (Beside::Protection, Act::LetGoKept), "{it:?}");
        } else if lets_go {
            assert_eq!(it.usage, Usage::Free, "{it:?}: somebody has to do with it");
        }
        match act {
            Act::TakeOff => {}
            Act::LeaveToGuard => assert_eq!(it.beside, Beside::Guard, "{it:?}"),
            Act::LetGoKept => {
                assert!(matches!(it.policy, Policy::Retain | Policy::Recycle), "{it:?}");
            }
            Act::LetGoLeaked => assert_eq!(it.word, Word::AcceptLeak, "{it:?}"),
            Act::LetGoReclaimed => {
                assert_eq!((it.word, it.policy), (Word::Reclaim, Policy::Delete), "{it:?}");
                assert!(matches!(it.stage, Stage::Released | Stage::Failed), "{it:?}");
            }
        }
    });
}

/// F25: neither word makes anything possible but what leaks.
#[test]
fn a_word_changes_a_refusal_only_where_it_was_the_word_that_was_missing() {
    each(|it| {
        let without = decide(&Situation { word: Word::None, ..*it });
        let with = decide(it);
        if with == without {
            return;
        }
        let missing = [Why::NeedsWord, Why::LastGuard, Why::NeedsAcceptLeak].map(Decision::Refuse);
        assert!(missing.contains(&without), "{it:?}: {without:?} became {with:?}");
        assert_eq!(it.life, Life::Terminating, "{it:?}");
        assert_ne!(it.beside, Beside::Guard, "{it:?}: whoever deletes it would have");
    });
}

#[test]
fn each_row() {
    use Decision::{Do, Refuse, Unseen};
    let csi = Situation {
        which: Which::External,
        reclaimer: Reclaimer::Provisioner,
        policy: Policy::Delete,
        stage: Stage::Released,
        life: Life::Terminating,
        beside: Beside::Protection,
        remover: Remover::Absent,
        usage: Usage::Free,
        word: Word::None,
        rolled_back: false,
        named: false,
        by_name: false,
    };
    let kept = Situation { policy: Policy::Retain, ..csi };
    let live = |it: Situation| Situation { life: Life::Live, ..it };
    let leak = |it: Situation| Situation { word: Word::AcceptLeak, ..it };
    let reclaim = |it: Situation| Situation { word: Word::Reclaim, ..it };
    let in_tree = |it: Situation| Situation {
        reclaimer: Reclaimer::ControllerManager,
        rolled_back: true,
        ..it
    };
    let of = |which, it: Situation| Situation { which, ..it };
    let remover = |remover, it: Situation| Situation { remover, ..it };
    let at = |stage, it: Situation| Situation { stage, ..it };
    let guarded = |it: Situation| Situation { beside: Beside::Guard, ..it };
    let by_name =
        |it: Situation| Situation { named: true, by_name: true, ..of(Which::Foreign, it) };
    let used = |it: Situation| Situation { usage: Usage::Used, ..it };
    let blind = |it: Situation| Situation { usage: Usage::Unseen, ..it };
    for (row, it, says) in [
        ("F23", kept, Do(Act::LetGoKept)),
        ("F23 live", live(kept), Do(Act::TakeOff)),
        ("F23 recycle", Situation { policy: Policy::Recycle, ..kept }, Do(Act::LetGoKept)),
        ("F23 alive", remover(Remover::Alive, kept), Refuse(Why::RemoverAlive)),
        ("F23 used", used(kept), Refuse(Why::Used)),
        ("F23 blind", blind(kept), Unseen(Blind::Usage)),
        ("F24", csi, Refuse(Why::NeedsWord)),
        ("F24 leak", leak(csi), Do(Act::LetGoLeaked)),
        ("F24 reclaim", reclaim(csi), Do(Act::LetGoReclaimed)),
        ("F24 bound", leak(at(Stage::Bound, csi)), Refuse(Why::Bound)),
        ("F24 released", leak(live(csi)), Refuse(Why::ReinstallDriver)),
        ("F24 failed", live(at(Stage::Failed, csi)), Refuse(Why::HoldsUpNothing)),
        ("F24 odd", leak(Situation { policy: Policy::Other, ..csi }), Refuse(Why::PolicyUnknown)),
        ("F25", leak(remover(Remover::Alive, csi)), Refuse(Why::RemoverAlive)),
        ("F25 unknown", reclaim(remover(Remover::Unknown, csi)), Refuse(Why::RemoverUnknown)),
        ("F25 unseen", leak(remover(Remover::Unseen, csi)), Unseen(Blind::Remover)),
        ("never bound", reclaim(at(Stage::Unbound, csi)), Refuse(Why::NeverReleased)),
        ("F27", live(of(Which::InTree, csi)), Do(Act::TakeOff)),
        ("F27 guarded", guarded(of(Which::InTree, csi)), Do(Act::LeaveToGuard)),
        ("F27 kept", of(Which::InTree, kept), Do(Act::LetGoKept)),
        ("D-40", of(Which::InTree, csi), Refuse(Why::LastGuard)),
        ("D-40 leak", leak(of(Which::InTree, csi)), Do(Act::LetGoLeaked)),
        ("F30", guarded(in_tree(csi)), Do(Act::LeaveToGuard)),
        ("F30 kept", in_tree(kept), Do(Act::LetGoKept)),
        ("F30 bare", leak(in_tree(csi)), Refuse(Why::NothingElseProtects)),
        ("F30 newer", remover(Remover::Alive, in_tree(kept)), Refuse(Why::ManagerHonors)),
        (
            "F30 without the word",
            Situation { rolled_back: false, ..in_tree(kept) },
            Refuse(Why::NeedsRolledBack),
        ),
        ("F31 live", live(of(Which::Attacher, csi)), Refuse(Why::AttacherKeepsItWhileLive)),
        ("F31 used", used(of(Which::Attacher, kept)), Refuse(Why::Used)),
        ("F31 kept", of(Which::Attacher, kept), Do(Act::LetGoKept)),
        ("F31 guarded", guarded(of(Which::Attacher, csi)), Do(Act::LeaveToGuard)),
        ("F31 bound", at(Stage::Bound, of(Which::Attacher, kept)), Refuse(Why::Bound)),
        (
            "F31 whose",
            remover(Remover::Nameless, of(Which::Attacher, kept)),
            Refuse(Why::RemoverNameless),
        ),
        ("D-33", of(Which::Attacher, csi), Refuse(Why::NeedsWord)),
        ("D-33 reclaim", reclaim(of(Which::Attacher, csi)), Do(Act::LetGoReclaimed)),
        ("F33", of(Which::Foreign, kept), Refuse(Why::NotByName)),
        ("F33 named", by_name(kept), Do(Act::LetGoKept)),
        ("F33 chosen", Situation { named: false, ..by_name(kept) }, Refuse(Why::OnlyWhenNamed)),
        ("F33 too soon", remover(Remover::Working, by_name(kept)), Refuse(Why::TooSoon)),
        ("F33 live", live(by_name(kept)), Refuse(Why::HoldsUpNothing)),
        ("F33 leaks", by_name(csi), Refuse(Why::NeedsWord)),
        ("F33 leak", leak(by_name(csi)), Do(Act::LetGoLeaked)),
        ("F39", in_tree(of(Which::InTree, csi)), Refuse(Why::NeedsWord)),
        ("F39 kept", in_tree(of(Which::InTree, kept)), Do(Act::LetGoKept)),
        ("F39 leak", leak(in_tree(of(Which::InTree, csi))), Do(Act::LetGoLeaked)),
        ("D-84", reclaim(in_tree(of(Which::InTree, csi))), Do(Act::LetGoReclaimed)),
        (
            "F39 slow",
            remover(Remover::Working, leak(in_tree(of(Which::InTree, csi)))),
            Refuse(Why::DeletionMayGoOn),
        ),
        (
            "F39 without the word",
            Situation { rolled_back: false, ..leak(in_tree(of(Which::InTree, csi))) },
            Refuse(Why::SlowDeletionLooksTheSame),
        ),
        ("F39 M chosen", live(in_tree(of(Which::InTree, csi))), Refuse(Why::OnlyWhenNamed)),
        (
            "F39 M named",
            Situation { named: true, ..live(in_tree(of(Which::InTree, csi))) },
            Do(Act::TakeOff),
        ),
    ] {
        assert_eq!(decide(&it), says, "{row}: {it:?}");
    }
}

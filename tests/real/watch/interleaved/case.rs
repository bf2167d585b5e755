//! A random case: volumes, what people do to them, and what befalls the process that acts.

use std::fmt;

use crate::support::Dice;

/// Everything that a seed decides.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) seed: u64,
    /// The grace period of the policy at first, in seconds.
    pub(super) grace: i32,
    pub(super) volumes: Vec<Life>,
    pub(super) troubles: Vec<Trouble>,
}

/// What happens to a volume.
#[derive(Debug, Clone)]
pub(super) struct Life {
    /// When it is left Released, or its claim is made.
    pub(super) begin: u64,
    /// A pod uses it; its policy is Delete.
    pub(super) used: bool,
    pub(super) deeds: Vec<Deed>,
}

/// Something that somebody does to a volume.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deed {
    pub(super) when: When,
    pub(super) act: Act,
}

/// When it is done; the numbers are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// So long after the volume is there.
    After(u64),
    /// So long after the tool has done something to the volume.
    Once(Stage, u64),
}

/// What the audit log shows of the tool's work on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is announced.
    Marked,
    /// It was read once more before it is reclaimed.
    Rehearsed,
    /// It is reclaimed.
    Flipped,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// The annotation is removed.
    Unmark,
    /// The annotation says something else.
    Mark(&'static str),
    /// The annotation of another volume is set.
    CopyMark(usize),
    KeepUntil(&'static str),
    DeleteRecord,
    /// The record is not listed any more.
    UnlabelRecord,
    /// The record is deleted, and created again as it was.
    RecreateRecord,
    /// One more record like it that can be edited.
    CopyRecord,
    /// `claimRef` is that of another claim that is gone.
    OtherClaim,
    /// The claim is made again, and is not bound.
    ClaimBack,
    /// The claim is made again, and gets this volume.
    Reuse,
    /// Deleted and created again; with its annotations, as a restore does it.
    Recreate(bool),
    SetPolicy(&'static str),
    DeleteClaim,
    DeletePod,
}

/// What befalls the process that acts; the first number is when, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    pub(super) after: u64,
    pub(super) what: Ill,
}

/// Numbers are for how many milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ill {
    /// Killed, and another one is started.
    Kill,
    /// Stopped while another one is started, and woken later.
    Freeze(u64),
    Pause(u64),
    /// The record of the pause is deleted, and made anew later.
    LosePause(u64),
    /// Another grace period, in seconds.
    Grace(i32),
}

/// How many volumes a case has.
pub(super) const VOLUMES: usize = 20;
/// Everything has begun by then.
const BUSY: u64 = 9000;

const ACTS: [Act; 26] = [
    Act::Unmark,
    Act::Unmark,
    Act::Unmark,
    Act::Mark("no"),
    Act::Mark("2001-01-01T00:00:00Z"),
    Act::Mark(
        "2001-01-01T00:00:00Z reclaim, recorded in configmap kube-system/kubectl-storage-announced-x",
    ),
    Act::Mark("2199-01-01T00:00:00Z"),
    Act::CopyMark(0),
    Act::CopyMark(1),
    Act::KeepUntil("2199-01-01"),
    Act::KeepUntil("2199-01-01"),
    Act::KeepUntil("2020-01-01"),
    Act::DeleteRecord,
    Act::UnlabelRecord,
    Act::RecreateRecord,
    Act::CopyRecord,
    Act::OtherClaim,
    Act::OtherClaim,
    Act::ClaimBack,
    Act::Reuse,
    Act::Reuse,
    Act::Recreate(false),
    Act::Recreate(true),
    Act::SetPolicy("Delete"),
    Act::SetPolicy("Retain"),
    Act::SetPolicy("Retain"),
];

impl Case {
    pub(super) fn of(seed: u64) -> Self {
        let dice = &mut Dice::of(seed);
        let grace = dice.between(2, 4);
        let volumes = (0..VOLUMES).map(|_| life(dice)).collect();
        let troubles = (0..dice.below(3)).map(|_| trouble(dice)).collect();
        Self { seed, grace, volumes, troubles }
    }

    /// What the namespace of the case is called, and how the names of its volumes begin.
    pub(super) fn name(&self) -> String {
        format!("{PREFIX}{}", self.seed)
    }

    /// A handle of the driver, and the volume and the claim of that name.
    pub(super) fn volume(&self, index: usize) -> String {
        format!("{}-{index}", self.name())
    }
}

/// How the names of cases begin.
pub(super) const PREFIX: &str = "interleaved-";

/// A volume in five is left alone.
fn life(dice: &mut Dice) -> Life {
    let begin = dice.below(BUSY / 2);
    if dice.once_in(8) {
        let mut deeds = vec![Deed { when: When::After(dice.below(BUSY)), act: Act::DeleteClaim }];
        if !dice.once_in(4) {
            deeds.push(Deed { when: When::After(dice.below(2 * BUSY)), act: Act::DeletePod });
        }
        return Life { begin, used: true, deeds };
    }
    let mut deeds: Vec<Deed> = Vec::new();
    for _ in 0..dice.one_of(&[0, 1, 2, 2, 3]) {
        let act = dice.one_of(&ACTS);
        if !deeds.iter().any(|it| it.act == act) {
            deeds.push(Deed { when: when(dice), act });
        }
    }
    Life { begin, used: false, deeds }
}

fn when(dice: &mut Dice) -> When {
    match dice.below(10) {
        0..4 => When::After(dice.below(BUSY)),
        4..7 => When::Once(Stage::Marked, dice.one_of(&[0, 0, 400, 3000])),
        7 | 8 => When::Once(Stage::Rehearsed, dice.below(12)),
        _ => When::Once(Stage::Flipped, dice.below(40)),
    }
}

fn trouble(dice: &mut Dice) -> Trouble {
    let after = dice.below(BUSY) + 1500;
    let a_while = dice.below(16_000) + 500;
    let what = match dice.below(7) {
        0 | 1 => Ill::Kill,
        2 => Ill::Freeze(a_while + 6000),
        3 | 4 => Ill::Pause(a_while),
        5 => Ill::LosePause(a_while),
        _ => Ill::Grace(dice.one_of(&[1, 6])),
    };
    Trouble { after, what }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, grace, volumes, troubles } = self;
        write!(f, "SEED={seed} CASES=1: grace {grace} s, {troubles:?}")?;
        for (index, life) in volumes.iter().enumerate() {
            write!(f, "\n  volume {index}: {life:?}")?;
        }
        Ok(())
    }
}

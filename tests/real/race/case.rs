//! A random case: volumes, and what others do to them before and while `gc` runs.

use std::fmt;

use crate::support::Dice;

/// Everything that a seed decides.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) include_recreated: bool,
    pub(super) parallel: bool,
    /// Of each volume, what happens to it.
    pub(super) volumes: Vec<Vec<Deed>>,
}

/// Something that somebody else does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deed {
    pub(super) when: When,
    pub(super) act: Act,
}

/// When it is done; the numbers are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the tool is started.
    Before,
    /// So long after the tool was started.
    After(u64),
    /// So long after the tool has done something about the volume.
    Once(Stage, u64),
}

/// What the audit log shows of the tool's work on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has read the volume again.
    Looked,
    /// It has had the server look at the patch.
    Rehearsed,
    /// It has sent the patch.
    Patched,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// The claim is made again, and asks for this volume.
    ClaimAgain,
    /// The claim is made again, and is bound to another volume.
    ClaimElsewhere,
    SetPolicy(&'static str),
    Attach,
    Detach,
    /// As `kubectl delete pv` does it.
    Delete,
    /// Deleted, and made again under the same name with another handle.
    Replace,
    ForgetClaim,
    ForgetUid,
    OtherClaim,
    /// A pod that names the claim.
    Pod,
    Annotate(&'static str),
    /// Another volume names the same backend volume.
    Rival,
    Phase(&'static str),
    /// `lastPhaseTransitionTime` says another time.
    Stamp(&'static str),
}

pub(super) const IGNORE: &str = "storage.kubectl.dev/ignore";
pub(super) const KEEP_UNTIL: &str = "storage.kubectl.dev/keep-until";

const ACTS: [Act; 22] = [
    Act::ClaimAgain,
    Act::ClaimAgain,
    Act::ClaimElsewhere,
    Act::ClaimElsewhere,
    Act::SetPolicy("Delete"),
    Act::SetPolicy("Retain"),
    Act::SetPolicy("Retain"),
    Act::Attach,
    Act::Detach,
    Act::Delete,
    Act::Delete,
    Act::Replace,
    Act::ForgetClaim,
    Act::ForgetUid,
    Act::OtherClaim,
    Act::Pod,
    Act::Annotate(IGNORE),
    Act::Annotate(KEEP_UNTIL),
    Act::Rival,
    Act::Phase("Available"),
    Act::Phase("Bound"),
    Act::Stamp("2199-01-01T00:00:00Z"),
];

/// `gc` is at work for about so long.
const WORK: u64 = 2500;
/// The tool, and the provisioner after it, go from one stage to the next within about so long.
const STAGE: u64 = 40;

impl Case {
    pub(super) fn of(seed: u64) -> Self {
        let dice = &mut Dice::of(seed);
        let volumes = (0..dice.between(3, 5)).map(|_| deeds(dice)).collect();
        Self { seed, include_recreated: dice.once_in(3), parallel: dice.once_in(3), volumes }
    }

    /// In whose name the tool runs; also how the volumes are called.
    pub(super) fn user(&self) -> String {
        format!("race-{}", self.seed)
    }

    pub(super) fn volume(&self, index: usize) -> String {
        format!("race-{}-{index}", self.seed)
    }

    pub(super) fn names(&self) -> Vec<String> {
        (0..self.volumes.len()).map(|index| self.volume(index)).collect()
    }
}

/// A volume in four is left alone.
fn deeds(dice: &mut Dice) -> Vec<Deed> {
    let mut deeds: Vec<Deed> = Vec::new();
    for _ in 0..dice.between(0, 3) {
        let act = dice.one_of(&ACTS);
        if !deeds.iter().any(|it| it.act == act) {
            deeds.push(Deed { when: when(dice), act });
        }
    }
    deeds
}

fn when(dice: &mut Dice) -> When {
    match dice.below(10) {
        0 => When::Before,
        1..=4 => When::After(dice.below(WORK)),
        5 | 6 => When::Once(Stage::Looked, soon(dice)),
        7 | 8 => When::Once(Stage::Rehearsed, soon(dice)),
        _ => When::Once(Stage::Patched, soon(dice)),
    }
}

/// At once as often as not.
fn soon(dice: &mut Dice) -> u64 {
    if dice.once_in(2) { 0 } else { dice.below(STAGE) }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, include_recreated, parallel, .. } = self;
        write!(
            f,
            "SEED={seed} CASES=1: include_recreated {include_recreated}, parallel {parallel}"
        )?;
        for (index, deeds) in self.volumes.iter().enumerate() {
            write!(f, "\n  volume {index}: {deeds:?}")?;
        }
        Ok(())
    }
}

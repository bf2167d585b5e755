//! A random case: a set, what happened to it, and what somebody does to it then.

use std::fmt;

use kubectl_storage::facts::retention::{Operation, Propagation, SetChange};

use super::super::set::{DELETE, DELETE_SCALED, DELETE_WITH_SET, Policy, RETAIN};
use crate::support::Dice;

/// Everything that a seed decides.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) shape: Shape,
    pub(super) history: Vec<Act>,
    /// What is done then, one after the other.
    pub(super) operations: Vec<Operation>,
}

/// The set at the beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) replicas: i32,
    pub(super) start: i32,
    pub(super) templates: &'static [&'static str],
    pub(super) policy: Policy,
    pub(super) ordered: bool,
    /// The policy of another set whose claims are called the same.
    pub(super) rival: Option<Policy>,
}

/// Something that happens before.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Scale(i32),
    Start(i32),
    SetPolicy(Policy),
    /// These become the claim's owners, beside those it has or in their place.
    Own {
        claim: Name,
        owners: Vec<Owner>,
        beside: bool,
    },
    /// A claim that nobody made for a pod.
    Extra {
        claim: Name,
        owners: Vec<Owner>,
    },
    /// A finalizer of somebody else's on a pod, so that it hangs when it is deleted.
    HoldPod(i32),
    HoldClaim(Name),
    /// The same on the set.
    HoldSet,
    DeletePod(i32),
    DeleteClaim(Name),
    DeleteSet(Propagation),
    /// The set is deleted and made again, without its pods and claims having to go.
    Recreate(Propagation, Policy),
    /// A pod gets other labels, so that the set lets it go, and cannot make another of its name.
    Estrange(i32),
    /// A pod of nobody's, with a name that the set may want.
    Stranger(Name),
    /// A pod that uses a claim too.
    User(Name),
    /// A pod stops being ready, for ever.
    Break(i32),
}

/// Of a claim: template and ordinal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name(pub(super) &'static str, pub(super) i32);

/// An owner reference that somebody wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Set {
        controller: bool,
    },
    EarlierSet {
        controller: bool,
    },
    /// The pod of the claim's ordinal, if there is one.
    Pod {
        controller: bool,
    },
    EarlierPod,
    /// A `ConfigMap` that exists.
    Other {
        controller: bool,
    },
    /// A `ConfigMap` that never did.
    Nobody,
}

const POLICIES: [Policy; 4] = [RETAIN, DELETE_WITH_SET, DELETE_SCALED, DELETE];
const PROPAGATIONS: [Propagation; 3] =
    [Propagation::Background, Propagation::Foreground, Propagation::Orphan];
const TEMPLATES: [&[&str]; 3] = [&["data"], &["data"], &["data", "logs"]];
/// Ordinals that anything happens to lie below this.
const LAST: i32 = 6;

impl Case {
    pub(super) fn of(seed: u64) -> Self {
        let dice = &mut Dice::of(seed);
        let shape = Shape {
            replicas: dice.between(1, 3),
            start: if dice.once_in(2) { 0 } else { dice.between(0, 3) },
            templates: dice.one_of(&TEMPLATES),
            policy: dice.one_of(&POLICIES),
            ordered: dice.once_in(2),
            rival: None,
        };
        let shape = if dice.once_in(8) {
            Shape { templates: &["data-a"], rival: Some(dice.one_of(&POLICIES)), ..shape }
        } else {
            shape
        };
        let history = (0..dice.between(0, 5)).map(|_| Act::of(dice, &shape)).collect();
        let count = if dice.once_in(3) { 2 } else { 1 };
        let operations = (0..count).map(|_| operation(dice, &shape)).collect();
        Self { seed, shape, history, operations }
    }
}

impl Act {
    fn of(dice: &mut Dice, shape: &Shape) -> Self {
        match dice.below(25) {
            0..=2 => Self::Scale(dice.between(0, 4)),
            3 => Self::Start(dice.between(0, 3)),
            4 | 5 => Self::SetPolicy(dice.one_of(&POLICIES)),
            6 | 7 => Self::Own {
                claim: name(dice, shape),
                owners: Owner::some(dice),
                beside: dice.once_in(2),
            },
            8 | 9 => Self::Extra { claim: name(dice, shape), owners: Owner::some(dice) },
            10..=12 => Self::HoldPod(near(dice, shape)),
            13 => Self::HoldClaim(name(dice, shape)),
            14 => Self::HoldSet,
            15 => Self::DeletePod(near(dice, shape)),
            16 => Self::DeleteClaim(name(dice, shape)),
            17 => Self::DeleteSet(dice.one_of(&PROPAGATIONS)),
            18 => Self::Recreate(dice.one_of(&PROPAGATIONS), dice.one_of(&POLICIES)),
            19 => Self::Estrange(near(dice, shape)),
            20 => Self::Stranger(name(dice, shape)),
            21 => Self::User(name(dice, shape)),
            _ => Self::Break(near(dice, shape)),
        }
    }
}

impl Owner {
    /// None, one or two, of which at most one is the controller.
    fn some(dice: &mut Dice) -> Vec<Self> {
        let mut owners = Vec::new();
        let mut managed = false;
        for _ in 0..dice.between(0, 2) {
            let controller = !managed && dice.once_in(2);
            let owner = match dice.below(6) {
                0 => Self::Set { controller },
                1 => Self::EarlierSet { controller },
                2 => Self::Pod { controller },
                3 => Self::EarlierPod,
                4 => Self::Other { controller },
                _ => Self::Nobody,
            };
            managed |= owner.is_controller();
            owners.push(owner);
        }
        owners
    }

    pub(super) fn is_controller(self) -> bool {
        match self {
            Self::Set { controller }
            | Self::EarlierSet { controller }
            | Self::Pod { controller }
            | Self::Other { controller } => controller,
            Self::EarlierPod | Self::Nobody => false,
        }
    }
}

fn operation(dice: &mut Dice, shape: &Shape) -> Operation {
    match dice.below(14) {
        0 => Operation::Wait,
        1..=4 => Operation::DeleteSet(dice.one_of(&PROPAGATIONS)),
        5..=7 => Operation::Scale(dice.between(0, 4)),
        8..=10 => Operation::SetPolicy(dice.one_of(&POLICIES).retention()),
        11 => Operation::DeletePod(near(dice, shape)),
        _ => Operation::Change(SetChange {
            replicas: dice.once_in(2).then(|| dice.between(0, 4)),
            start: dice.once_in(3).then(|| dice.between(0, 3)),
            policy: dice.once_in(2).then(|| dice.one_of(&POLICIES).retention()),
        }),
    }
}

/// An ordinal that the set has, or nearly has.
fn near(dice: &mut Dice, shape: &Shape) -> i32 {
    if dice.once_in(5) {
        return dice.between(0, LAST);
    }
    dice.between(shape.start, (shape.start + shape.replicas).min(LAST))
}

fn name(dice: &mut Dice, shape: &Shape) -> Name {
    Name(dice.one_of(shape.templates), near(dice, shape))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-web-{}", self.0, self.1)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SEED={} CASES=1: {:?}", self.seed, self.shape)?;
        for act in &self.history {
            writeln!(f, "  then {act:?}")?;
        }
        write!(f, "  and at last {:?}", self.operations)
    }
}

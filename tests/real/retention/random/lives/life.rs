//! A random life of a set: what happened to it before, and the settled steps that follow.

use std::fmt;

use kubectl_storage::facts::retention::{Operation, Propagation, SetChange};

use super::super::super::set::{DELETE, DELETE_SCALED, DELETE_WITH_SET, Policy, RETAIN};
use super::super::case::{Act, Case, Name, Shape};
use crate::support::Dice;

/// Everything that a seed decides.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) seed: u64,
    pub(super) shape: Shape,
    pub(super) history: Vec<Act>,
    pub(super) steps: Vec<Step>,
}

/// Something after which everybody is given the time to come to rest.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// What `simulate` foretells.
    Do(Operation),
    /// The set is made again, if there is none.
    Recreate(Policy),
    /// A pod is never ready again.
    Break(i32),
    /// The controller manager is killed and started anew.
    Restart,
    /// `retention reconcile`.
    Apply { leftovers: bool },
}

const POLICIES: [Policy; 4] = [RETAIN, DELETE_WITH_SET, DELETE_SCALED, DELETE];
const PROPAGATIONS: [Propagation; 3] =
    [Propagation::Background, Propagation::Foreground, Propagation::Orphan];
/// Makes these lives others than the cases of the same seeds.
const SALT: u64 = 0x5e77_1ed0;

impl Life {
    pub(super) fn of(seed: u64) -> Self {
        let Case { mut shape, mut history, .. } = Case::of(seed);
        let dice = &mut Dice::of(seed ^ SALT);
        let mut steps = Vec::new();
        // Where nothing contradicts the policy and nothing is left over, nothing can be proven.
        match dice.below(4) {
            0 | 1 => {
                shape.policy = dice.one_of(&[DELETE_WITH_SET, DELETE]);
                shape.replicas = dice.between(2, 3);
                history = vec![match dice.once_in(2) {
                    true => Act::Break(shape.start),
                    false => Act::Scale(dice.between(0, 1)),
                }];
                history.push(Act::SetPolicy(dice.one_of(&[RETAIN, RETAIN, DELETE_SCALED])));
                steps.push(Step::Apply { leftovers: dice.once_in(4) });
                steps.extend(dice.once_in(3).then_some(Step::Restart));
                if !dice.once_in(3) {
                    let how = dice.one_of(&[Propagation::Background, Propagation::Foreground]);
                    steps.push(Step::Do(Operation::DeleteSet(how)));
                }
            }
            2 => {
                shape.policy = dice.one_of(&[RETAIN, DELETE_WITH_SET]);
                shape.replicas = dice.between(2, 3);
                history = vec![Act::Scale(dice.between(0, 1))];
                if dice.once_in(3) {
                    let last = shape.start + shape.replicas - 1;
                    history.push(Act::User(Name(shape.templates[0], last)));
                }
                history.push(Act::SetPolicy(dice.one_of(&[DELETE_SCALED, DELETE])));
                steps.push(Step::Apply { leftovers: true });
            }
            _ if dice.once_in(2) => steps.push(Step::Apply { leftovers: dice.once_in(3) }),
            _ => {}
        }
        for _ in 0..dice.between(2, 4) {
            let step = Step::of(dice, &shape);
            let policy = matches!(step, Step::Do(Operation::SetPolicy(_)) | Step::Recreate(_));
            steps.push(step);
            if policy && dice.once_in(2) {
                steps.push(Step::Apply { leftovers: dice.once_in(3) });
            }
        }
        Self { seed, shape, history, steps }
    }
}

impl Step {
    fn of(dice: &mut Dice, shape: &Shape) -> Self {
        match dice.below(17) {
            0..=3 => Self::Do(Operation::DeleteSet(dice.one_of(&PROPAGATIONS))),
            4..=6 => Self::Do(Operation::Scale(dice.between(0, 4))),
            7 => Self::Do(Operation::Change(SetChange {
                replicas: dice.once_in(2).then(|| dice.between(0, 4)),
                start: Some(dice.between(0, 3)),
                policy: None,
            })),
            8 => Self::Do(Operation::SetPolicy(dice.one_of(&POLICIES).retention())),
            9 => Self::Do(Operation::Wait),
            10 => Self::Do(Operation::DeletePod(near(dice, shape))),
            11 | 12 => Self::Restart,
            13 => Self::Recreate(dice.one_of(&POLICIES)),
            14 => Self::Break(near(dice, shape)),
            15 => Self::Apply { leftovers: false },
            _ => Self::Apply { leftovers: true },
        }
    }
}

/// An ordinal that the set has at the beginning.
fn near(dice: &mut Dice, shape: &Shape) -> i32 {
    dice.between(shape.start, shape.start + shape.replicas)
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SEED={} CASES=1: {:?}", self.seed, self.shape)?;
        for act in &self.history {
            writeln!(f, "  then {act:?}")?;
        }
        for step in &self.steps {
            writeln!(f, "  step {step:?}")?;
        }
        Ok(())
    }
}

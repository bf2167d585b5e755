//! A random case: claims with data, what others do to them and around them, and what the tool is told to do meanwhile.

use std::fmt;

use crate::support::Dice;

/// Everything that a seed decides.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) seed: u64,
    /// Of each claim, whether its volume keeps the backend volume.
    pub(super) retained: Vec<bool>,
    pub(super) deeds: Vec<Deed>,
}

/// Something that is done.
#[derive(Debug, Clone)]
pub(super) struct Deed {
    pub(super) when: When,
    pub(super) act: Act,
}

/// When it is done; the numbers are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before anything else, in order.
    Before,
    /// So long after that.
    After(u64),
    /// So long after a run of the tool, by its place among the deeds, has come to a stage.
    Once(usize, Stage, u64),
}

/// What the audit log shows of a run's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has listed the pods of the namespace, to judge a claim again.
    Listed,
    /// It has patched a volume.
    Patched,
    /// The same after that.
    Relisted,
    /// It has had the server look at the deletion of a claim.
    Rehearsed,
    /// It has deleted a claim.
    Deleted,
    /// It is over.
    Over,
}

/// Which claim, by its number.
pub(super) type Claim = usize;

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Pod(Claim, Shape),
    Workload(Kind, Claim, u32),
    /// Of a workload that an earlier deed created.
    Scale(usize, u32),
    /// Removes what an earlier deed created.
    Remove(usize),
    /// The reclaim policy of the claim's volume.
    Policy(Claim, &'static str),
    /// As kubectl deletes a claim.
    DeleteClaim(Claim),
    /// A claim of the same name, or of another, that asks for any volume.
    NewClaim(Claim, Whose),
    /// The tool runs; it is killed after so long.
    Run(Work, Option<u64>),
}

/// How a pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Running,
    /// No node suits it.
    Unscheduled,
    /// A finalizer holds it when it is deleted.
    Held,
    Succeeded,
}

/// Under which name somebody makes a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    TheSame,
    Another,
}

/// What makes pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Deployment,
    StatefulSet,
    Job,
    CronJob,
    /// Of KEDA.
    ScaledJob,
    /// Of Argo Workflows.
    WorkflowTemplate,
}

/// What the tool is told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Work {
    Delete {
        claims: Vec<Claim>,
        keep: bool,
    },
    /// Of the first volume of a claim; to a claim of another name.
    Rebind {
        claim: Claim,
        to: Option<String>,
    },
    Retain(Claim),
    /// What an earlier run did, by its place among the deeds.
    Undo(usize),
}

/// The claims of every case; the last ones are those of the set `web`.
const NAMES: [&str; 4] = ["orders", "archive", "data-web-0", "data-web-1"];
/// The set whose pods have claims of their own.
pub(super) const SET: &str = "web";
/// Its pods' claims, before the number.
pub(super) const TEMPLATE: &str = "data";

/// The tool is at work for about so long, in all.
const WORK: u64 = 3000;
/// The tool goes from one stage to the next within about so long.
const STAGE: u64 = 30;

impl Case {
    pub(super) fn of(seed: u64) -> Self {
        let dice = &mut Dice::of(seed);
        let claims = if dice.once_in(3) { 2 } else { NAMES.len() };
        let retained = (0..claims).map(|_| dice.once_in(4)).collect();
        let mut case = Self { seed, retained, deeds: Vec::new() };
        for _ in 0..dice.between(0, 2) {
            let claim = case.claim(dice);
            let act = case.act(dice, claim);
            case.deeds.push(Deed { when: When::Before, act });
        }
        for _ in 0..dice.between(2, 4) {
            let work = case.work(dice);
            let killed = dice.once_in(6).then(|| dice.below(WORK / 3));
            let when = match case.runs().last() {
                Some(earlier) if matches!(work, Work::Rebind { .. } | Work::Undo(_)) => {
                    When::Once(earlier, Stage::Over, dice.below(300))
                }
                _ => When::After(dice.below(WORK / 2)),
            };
            case.deeds.push(Deed { when, act: Act::Run(work, killed) });
        }
        for _ in 0..dice.between(1, 5) {
            let when = case.when(dice);
            let claim = case.near(dice, when);
            let act = case.act(dice, claim);
            case.deeds.push(Deed { when, act });
        }
        case
    }

    /// The namespace; also how the names begin in which the tool runs.
    pub(super) fn namespace(&self) -> String {
        format!("survive-{}", self.seed)
    }

    /// In whose name a run acts.
    pub(super) fn user(&self, run: usize) -> String {
        format!("{}-run-{run}", self.namespace())
    }

    pub(super) fn name(claim: Claim) -> &'static str {
        NAMES[claim]
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = Claim> {
        0..self.retained.len()
    }

    /// The deeds that are runs of the tool.
    fn runs(&self) -> impl DoubleEndedIterator<Item = usize> {
        let all = self.deeds.iter().enumerate();
        let runs = all.filter(|(_, it)| matches!(it.act, Act::Run(..)));
        runs.map(|(index, _)| index).collect::<Vec<_>>().into_iter()
    }

    fn claim(&self, dice: &mut Dice) -> Claim {
        let all: Vec<_> = self.claims().collect();
        // The first is where most happens.
        if dice.once_in(3) { 0 } else { dice.one_of(&all) }
    }

    fn work(&self, dice: &mut Dice) -> Work {
        let earlier: Vec<_> = self.runs().collect();
        match dice.below(9) {
            6 if !earlier.is_empty() => Work::Undo(dice.one_of(&earlier)),
            7 if !earlier.is_empty() => {
                let claim = self.claim(dice);
                let to = dice.once_in(4).then(|| format!("{}-back", Self::name(claim)));
                Work::Rebind { claim, to }
            }
            8 => Work::Retain(self.claim(dice)),
            _ => {
                let mut claims = vec![self.claim(dice)];
                let other = self.claim(dice);
                if dice.once_in(2) && !claims.contains(&other) {
                    claims.push(other);
                }
                Work::Delete { claims, keep: !dice.once_in(3) }
            }
        }
    }

    /// The claim that a run is about at that moment, more often than not.
    fn near(&self, dice: &mut Dice, when: When) -> Claim {
        if let When::Once(run, ..) = when
            && let Act::Run(Work::Delete { claims, .. }, _) = &self.deeds[run].act
            && !dice.once_in(4)
        {
            return claims[0];
        }
        self.claim(dice)
    }

    fn act(&self, dice: &mut Dice, claim: Claim) -> Act {
        const SHAPES: [Shape; 4] =
            [Shape::Running, Shape::Unscheduled, Shape::Held, Shape::Succeeded];
        const KINDS: [Kind; 6] = [
            Kind::Deployment,
            Kind::StatefulSet,
            Kind::Job,
            Kind::CronJob,
            Kind::ScaledJob,
            Kind::WorkflowTemplate,
        ];
        let made: Vec<_> = (0..self.deeds.len())
            .filter(|it| matches!(self.deeds[*it].act, Act::Pod(..) | Act::Workload(..)))
            .collect();
        match dice.below(16) {
            0..=4 => Act::Pod(claim, dice.one_of(&SHAPES)),
            5..=7 => Act::Workload(dice.one_of(&KINDS), claim, replicas(dice)),
            8 if !made.is_empty() => Act::Scale(dice.one_of(&made), replicas(dice)),
            9 | 10 if !made.is_empty() => Act::Remove(dice.one_of(&made)),
            11 => Act::DeleteClaim(claim),
            12 => Act::Policy(claim, "Retain"),
            13 => Act::NewClaim(claim, Whose::TheSame),
            14 => Act::NewClaim(claim, Whose::Another),
            _ => Act::Policy(claim, "Delete"),
        }
    }

    fn when(&self, dice: &mut Dice) -> When {
        const STAGES: [Stage; 6] = [
            Stage::Listed,
            Stage::Patched,
            Stage::Relisted,
            Stage::Relisted,
            Stage::Rehearsed,
            Stage::Deleted,
        ];
        let runs: Vec<_> = self.runs().collect();
        if dice.once_in(3) {
            return When::After(dice.below(WORK));
        }
        let delay = if dice.once_in(2) { 0 } else { dice.below(STAGE) };
        When::Once(dice.one_of(&runs), dice.one_of(&STAGES), delay)
    }
}

fn replicas(dice: &mut Dice) -> u32 {
    u32::try_from(dice.below(3)).expect("because it is small")
}

impl Kind {
    pub(super) fn resource(self) -> &'static str {
        match self {
            Self::Deployment => "deployments",
            Self::StatefulSet => "statefulsets",
            Self::Job => "jobs",
            Self::CronJob => "cronjobs",
            Self::ScaledJob => "scaledjobs",
            Self::WorkflowTemplate => "workflowtemplates",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SEED={} CASES=1:", self.seed)?;
        for (claim, retained) in self.retained.iter().enumerate() {
            let policy = if *retained { "Retain" } else { "Delete" };
            write!(f, " {} ({policy})", Self::name(claim))?;
        }
        for (index, Deed { when, act }) in self.deeds.iter().enumerate() {
            write!(f, "\n  deed {index}: {when:?} {act:?}")?;
        }
        Ok(())
    }
}

//! Which random cases a test runs, and for how long: `SEED`, `CASES` and `BUDGET`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use super::say;

/// What a random test runs unless it is told otherwise.
pub(crate) struct Bounds {
    /// The first of the cases that every run of the tests takes.
    pub(crate) seed: u64,
    /// Cases of a run that is not told how many, or for how long.
    pub(crate) cases: u64,
    /// So many of them must fit into the default budget.
    pub(crate) floor: u64,
    /// The budget, in seconds, unless `BUDGET` says another.
    pub(crate) budget: u64,
    /// A case takes about so long: nobody begins one that ends after the budget.
    pub(crate) one_case: Duration,
}

/// The cases of one run.
pub(crate) struct Cases {
    seed: u64,
    /// `CASES`: whoever says how many means that and no other bound.
    told: Option<u64>,
    limit: Option<u64>,
    budget: Duration,
    of: Bounds,
    began: Instant,
}

impl Cases {
    /// Reads from the environment what is asked for, and says with which seed the cases begin.
    pub(crate) fn begin(what: &str, bounds: Bounds) -> Self {
        let setting = |name: &str| std::env::var(name).ok().map(|text| number(name, &text));
        let seed = setting("SEED").unwrap_or(bounds.seed);
        let (told, budget) = (setting("CASES"), setting("BUDGET"));
        let limit = told.or(budget.is_none().then_some(bounds.cases));
        let budget = Duration::from_secs(budget.unwrap_or(bounds.budget));
        say(&format!("SEED={seed} begins random {what}"));
        Self { seed, told, limit, budget, of: bounds, began: Instant::now() }
    }

    /// Begins to count the time, where making the cluster took some.
    pub(crate) fn start_the_clock(&mut self) {
        self.began = Instant::now();
    }

    /// The seeds of the cases, until there were enough, or the time is over.
    pub(crate) fn seeds(&self) -> impl Iterator<Item = u64> + '_ {
        let more = |index: &u64| {
            self.limit.is_none_or(|limit| *index < limit)
                && (self.told.is_some() || self.began.elapsed() + self.of.one_case < self.budget)
        };
        (0..).take_while(more).map(|index| self.seed.wrapping_add(index))
    }

    /// Says what came of them; panics with the divergences, or where too few cases fitted.
    pub(crate) fn end(&self, count: u64, words: &str, divergences: &[String]) {
        let (seed, seconds) = (self.seed, self.began.elapsed().as_secs());
        say(&format!("SEED={seed}: {count} cases in {seconds} s{words}"));
        let all = divergences.join("\n");
        assert!(divergences.is_empty(), "{} divergences:\n{all}", divergences.len());
        let short = self.told.is_some() || self.budget.as_secs() < self.of.budget;
        let floor = self.of.floor;
        assert!(short || count >= floor, "only {count} cases, of at least {floor}");
    }
}

/// What became of all cases.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    /// How often what came about.
    pub(crate) counts: BTreeMap<String, u64>,
    pub(crate) divergences: Vec<String>,
}

impl Tally {
    /// Takes in a case: how often what came about, what should not have been, and the story of that.
    pub(crate) fn with(
        mut self,
        case: &impl Display,
        counts: BTreeMap<String, u64>,
        wrong: &[String],
        story: &str,
    ) -> Self {
        self.cases += 1;
        for (what, count) in counts {
            *self.counts.entry(what).or_default() += count;
        }
        if !wrong.is_empty() {
            let text = format!("{}\n{case}\n{story}", wrong.join("\n"));
            say(&format!("a divergence: {text}"));
            self.divergences.push(text);
        }
        self
    }
}

fn number(name: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text:?}"))
}

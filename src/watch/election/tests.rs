use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use super::*;

fn stored(object: Value) -> StoredLease {
    StoredLease::of(object)
}

fn lease(holder: &str, version: u64, transitions: u64) -> StoredLease {
    stored(json!({
        "metadata": {"uid": "u", "resourceVersion": version.to_string()},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": transitions},
    }))
}

fn election() -> Election {
    Election::new("me".to_owned(), ElectionPace::default())
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn nobody_is_overtaken_who_is_heard_of() {
    let mut election = election();
    let stands = Bid::Stand { holder: "other".to_owned() };
    for at in 0..100 {
        // Renewed every other second.
        assert_eq!(election.bid(Some(&lease("other", at / 2, 3)), seconds(at)), stands, "{at}");
    }
}

#[test]
fn who_is_not_heard_of_is_followed() {
    let mut election = election();
    for at in 0..=15 {
        let bid = election.bid(Some(&lease("other", 7, 3)), seconds(at));
        assert!(matches!(bid, Bid::Stand { .. }), "{at}");
    }
    let Bid::Write(hold) = election.bid(Some(&lease("other", 7, 3)), seconds(16)) else {
        panic!("it stands")
    };
    assert_eq!((hold.holder.as_str(), hold.transitions, hold.is_acquired), ("me", 4, true));
    assert_eq!(election.term(seconds(16)), None, "a bid is no victory");
    election.won(&lease("me", 8, 4), seconds(16));
    let term = Term { lease: "u".to_owned(), transitions: 4 };
    assert_eq!(election.term(seconds(25)), Some((&term, seconds(26))));
    assert_eq!(election.term(seconds(26)), None, "others begin after fifteen seconds");
}

#[test]
fn a_lease_that_was_given_back_is_taken_at_once() {
    let mut election = election();
    let bid = election.bid(Some(&lease("", 7, 3)), seconds(0));
    assert!(matches!(bid, Bid::Write(LeaseHold { transitions: 4, .. })), "{bid:?}");
    election.won(&lease("me", 8, 4), seconds(0));
    let released = election.release(seconds(1)).expect("it leads");
    assert_eq!((released.holder.as_str(), released.transitions), ("", 4));
    election.resigned();
    assert_eq!(election.release(seconds(1)), None);
}

#[test]
fn a_lease_without_a_duration_holds_as_long_as_the_own() {
    let mut election = election();
    let silent = stored(json!({
        "metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"holderIdentity": "other"},
    }));
    for at in [0, 15] {
        let bid = election.bid(Some(&silent), seconds(at));
        assert!(matches!(bid, Bid::Stand { .. }), "{at}");
    }
    assert!(matches!(election.bid(Some(&silent), seconds(16)), Bid::Write(_)));
}

/// What happens next, a process or none.
#[derive(Debug, Clone)]
enum Step {
    /// It reads the Lease, and says what it will write.
    Reads(usize),
    /// What it wanted to write arrives; its answer is lost or not.
    Writes(usize, bool),
    /// Time passes: tenths of a second.
    Passes(u64),
    /// Somebody deletes the Lease.
    Deletes,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..3_usize).prop_map(Step::Reads),
        8 => (0..3_usize, any::<bool>()).prop_map(|(who, lost)| Step::Writes(who, lost)),
        6 => (1..30_u64).prop_map(Step::Passes),
        2 => (100..200_u64).prop_map(Step::Passes),
    ];
    vec(step, 1..200)
}

/// The API server, and what the processes are about to write.
#[derive(Default)]
struct World {
    lease: Option<StoredLease>,
    version: u64,
    now: Duration,
    bids: BTreeMap<usize, (Option<StoredLease>, LeaseHold)>,
    terms: BTreeMap<u64, usize>,
}

impl World {
    fn step(&mut self, step: &Step, all: &mut [Election]) -> Result<(), TestCaseError> {
        match *step {
            Step::Passes(tenths) => self.now += Duration::from_millis(tenths * 100),
            Step::Deletes => self.lease = None,
            Step::Reads(who) => {
                let read = self.lease.clone();
                match all[who].bid(read.as_ref(), self.now) {
                    Bid::Write(hold) => drop(self.bids.insert(who, (read, hold))),
                    Bid::Stand { .. } => drop(self.bids.remove(&who)),
                }
            }
            Step::Writes(who, is_lost) => {
                let Some((over, hold)) = self.bids.remove(&who) else { return Ok(()) };
                let version = |it: &StoredLease| it.resource_version().to_owned();
                if over.as_ref().map(version) != self.lease.as_ref().map(version) {
                    return Ok(());
                }
                self.version += 1;
                let new = lease(&hold.holder, self.version, hold.transitions);
                self.lease = Some(new.clone());
                let first = *self.terms.entry(hold.transitions).or_insert(who);
                prop_assert!(first == who, "two processes in term {}", hold.transitions);
                if !is_lost {
                    // It was sent when it was stored: the answer can only be later.
                    all[who].won(&new, self.now);
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn never_do_two_lead(steps in steps()) {
        let mut world = World::default();
        let mut all: Vec<_> = (0..3)
            .map(|who| Election::new(format!("p{who}"), ElectionPace::default()))
            .collect();
        for step in &steps {
            world.step(step, &mut all)?;
            let leaders = all.iter().filter(|it| it.term(world.now).is_some()).count();
            prop_assert!(leaders <= 1, "{leaders} lead after {step:?}");
        }
    }
}

/// The invariant can fail: where the Lease is deleted, the next one begins although the last one
/// goes on.
#[test]
fn a_deleted_lease_makes_a_second_leader_until_the_first_one_looks() {
    let mut world = World::default();
    let mut all: Vec<_> =
        (0..3).map(|who| Election::new(format!("p{who}"), ElectionPace::default())).collect();
    let steps =
        [Step::Reads(0), Step::Writes(0, false), Step::Deletes, Step::Passes(10), Step::Reads(1)];
    for step in &steps {
        world.step(step, &mut all).expect("one term");
    }
    all[1].won(&lease("p1", 2, 0), world.now);
    let lead = |all: &[Election]| all.iter().filter(|it| it.term(world.now).is_some()).count();
    assert_eq!(lead(&all), 2);
    // It finds another holder, and stops.
    assert_eq!(
        all[0].bid(Some(&lease("p1", 2, 0)), world.now),
        Bid::Stand { holder: "p1".to_owned() }
    );
    assert_eq!(lead(&all), 1);
}

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
        assert_eq!(
            election.bid(Some(&lease("other", at / 2, 3)), seconds(at), false),
            stands,
            "{at}"
        );
    }
}

#[test]
fn who_is_not_heard_of_is_followed() {
    let mut election = election();
    for at in 0..=15 {
        let bid = election.bid(Some(&lease("other", 7, 3)), seconds(at), false);
        assert!(matches!(bid, Bid::Stand { .. }), "{at}");
    }
    let Bid::Write(hold) = election.bid(Some(&lease("other", 7, 3)), seconds(16), false) else {
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
    let bid = election.bid(Some(&lease("", 7, 3)), seconds(0), false);
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
        let bid = election.bid(Some(&silent), seconds(at), false);
        assert!(matches!(bid, Bid::Stand { .. }), "{at}");
    }
    assert!(matches!(election.bid(Some(&silent), seconds(16), false), Bid::Write(_)));
}

/// A Lease of this state, renewed at this time.
fn renewed(holder: &str, version: u64, transitions: u64, at: &str) -> StoredLease {
    stored(json!({
        "metadata": {"uid": "u", "resourceVersion": version.to_string()},
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": transitions,
            "renewTime": format!("2026-11-01T{at}.000000Z"),
        },
    }))
}

fn time(at: &str) -> Option<Time> {
    crate::model::parse_time(&format!("2026-11-01T{at}Z")).expect("a time")
}

/// A snapshot at 12:00, a veto at 12:10, and the snapshot restored at 12:40: the Lease comes back as it was.
#[test]
fn after_a_restore_announcements_count_anew_and_nothing_that_was_begun_is_sent() {
    let snapshot = renewed("me", 100, 3, "12:00:00");
    let mut goes_on = election();
    let mut begins = Election::new("other".to_owned(), ElectionPace::default());
    let mut at = seconds(0);
    assert!(!goes_on.is_restart(Some(&snapshot), time("12:00:01"), false));
    goes_on.won(&snapshot, at);
    let mut version = 100;
    for minute in 0..40 {
        // It renews all the time, and others look.
        (at, version) = (at + seconds(9), version + 1);
        let clock = format!("12:{minute:02}:00");
        let lease = renewed("me", version, 3, &clock);
        for process in [&mut goes_on, &mut begins] {
            assert!(!process.is_restart(Some(&lease), time(&clock), false), "{clock}");
        }
        assert_eq!(
            goes_on.bid(Some(&lease), at, false),
            Bid::Write(LeaseHold {
                holder: "me".to_owned(),
                duration: seconds(15),
                transitions: 3,
                is_acquired: false,
                is_restart: false,
            })
        );
        goes_on.won(&lease, at);
    }
    assert!(goes_on.term(at).is_some());
    // One of several API servers has another clock: who has written the Lease a moment ago knows better.
    let own = renewed("me", version, 3, "12:39:00");
    assert!(!goes_on.is_restart(Some(&own), time("12:55:00"), true));
    assert!(goes_on.term(at).is_some());
    // The one that led leads another term, so that what it has begun is not sent.
    assert!(goes_on.is_restart(Some(&snapshot), time("12:40:00"), false));
    assert_eq!(goes_on.term(at), None);
    let Bid::Write(hold) = goes_on.bid(Some(&snapshot), at, true) else { panic!("it stands") };
    assert_eq!((hold.transitions, hold.is_acquired, hold.is_restart), (4, true, true));
    // Whoever knows nothing of the time before sees the gap.
    let mut fresh = Election::new("fresh".to_owned(), ElectionPace::default());
    assert!(fresh.is_restart(Some(&snapshot), time("12:40:00"), false));
    // A snapshot of a few seconds ago has no gap: whoever has seen the Lease since knows it all the same.
    let late = renewed("me", version - 3, 3, "12:39:40");
    assert!(begins.is_restart(Some(&late), time("12:40:00"), false));
    assert!(!fresh.is_restart(Some(&late), time("12:40:00"), false));
    // And until it has led: the one that is restored is renewed before.
    assert!(begins.is_restart(Some(&renewed("me", 9000, 4, "12:40:10")), time("12:40:12"), false));
    begins.won(&renewed("other", 9001, 5, "12:40:12"), at);
    assert!(!begins.is_restart(
        Some(&renewed("other", 9001, 5, "12:40:12")),
        time("12:40:14"),
        false
    ));
}

#[test]
fn a_lease_that_counts_back_or_is_not_there_is_a_restart() {
    for (lease, is_restart) in [
        (Some(renewed("other", 8, 3, "12:00:02")), false),
        (Some(renewed("other", 7, 3, "12:00:00")), false),
        (Some(renewed("other", 8, 2, "12:00:02")), true),
        (Some(renewed("other", 6, 3, "12:00:02")), true),
        (Some(renewed("other", 8, 4, "11:58:00")), true),
        (None, true),
    ] {
        let mut election = election();
        assert!(!election.is_restart(
            Some(&renewed("other", 7, 3, "12:00:00")),
            time("12:00:01"),
            false
        ));
        let shown = format!("{lease:?}");
        assert_eq!(
            election.is_restart(lease.as_ref(), time("12:00:03"), false),
            is_restart,
            "{shown}"
        );
    }
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
                match all[who].bid(read.as_ref(), self.now, false) {
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
        all[0].bid(Some(&lease("p1", 2, 0)), world.now, false),
        Bid::Stand { holder: "p1".to_owned() }
    );
    assert_eq!(lead(&all), 1);
}

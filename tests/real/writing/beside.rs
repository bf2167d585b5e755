//! Two runs at once on the same volumes.

use kubectl_storage::journal::{Outcome, history};

use super::{Case, Told, real};
use crate::support::Fault;

/// The one has judged, rehearsed and written down; then the other does it all before its request arrives.
#[test]
fn the_slower_one_is_rejected() {
    let case = Case::of(3);
    let [first, others @ ..] = case.volumes.as_slice() else { panic!("three were asked for") };
    let held = case.proxy.hold(real(Fault::hold(), first));
    let slow = case.gc().start();
    held.wait();
    let fast = case.run().ends(0);
    held.release();
    let slow = Told::of(slow.finish()).ends(6);

    assert_eq!(fast.outcomes("done").len(), 3, "{fast}");
    // Its own request may have been the one that was carried out, as far as it knows.
    slow.became(first, "unanswered", &["deleted meanwhile", "sent it twice"]);
    assert_eq!(case.seen(first), ["dry 200", "dry 200", "200", "404"]);
    for volume in others {
        slow.became(volume, "stale", &["does not exist"]);
        assert_eq!(case.sent(volume), ["dry", "real"], "the fast one's alone");
    }
    case.are_reclaimed(&case.volumes);
    let recorded = case.recorded();
    assert_eq!(recorded.len(), 4);
    assert_eq!(recorded[0], (first.clone(), Some(Outcome::Unanswered)));
    assert!(recorded[1..].iter().all(|it| it.1 == Some(Outcome::Done)), "{recorded:?}");
}

/// As fast as each of them can, with one journal.
#[test]
fn they_share_a_journal() {
    let case = Case::of(3);
    let one = case.gc().start();
    let other = case.gc().start();
    let unanswered = judge(&case, &[Told::of(one.finish()), Told::of(other.finish())]);
    assert_eq!(case.history().open().count(), unanswered[0] + unanswered[1]);
}

/// Two people at two machines.
#[test]
fn each_has_a_journal() {
    let case = Case::of(3);
    let home = tempfile::tempdir().expect("because the temporary folder is writable");
    let one = case.gc().start();
    let other = case.gc().env("XDG_STATE_HOME", home.path()).start();
    let unanswered = judge(&case, &[Told::of(one.finish()), Told::of(other.finish())]);
    assert_eq!(case.history().open().count(), unanswered[0]);
    let name = case.folder();
    let name = name.file_name().expect("because it is named after the cluster");
    let theirs = history(&home.path().join("kubectl-storage").join(name));
    let theirs = theirs.expect("because it is a journal, or there is none");
    assert_eq!((theirs.notes.len(), theirs.open().count()), (0, unanswered[1]));
}

/// Whoever came first, each volume was patched once, and both know what became of it, or that it may have been they.
/// Returns how often each of them does not know.
fn judge(case: &Case, both: &[Told; 2]) -> [usize; 2] {
    case.are_reclaimed(&case.volumes);
    for volume in &case.volumes {
        let done = both.iter().filter(|it| it.outcome(volume) == "done").count();
        assert_eq!(done, 1, "{volume}: {}\n{}", both[0], both[1]);
        for told in both {
            match told.outcome(volume) {
                "" => {
                    told.refusal(volume); // it was so when the plan was made
                }
                outcome => {
                    let known = ["done", "stale", "unanswered"];
                    assert!(known.contains(&outcome), "{volume}: {told}");
                }
            }
        }
    }
    for told in both {
        let code = match (told.outcomes("done").len(), told.outcomes("unanswered").len()) {
            (0, 0) => 5,
            (3, _) => 0,
            _ => 6,
        };
        assert_eq!(told.code, Some(code), "{told}");
    }
    both.each_ref().map(|told| told.outcomes("unanswered").len())
}

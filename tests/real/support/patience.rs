//! Waiting for what controllers will do, and for what they must not do.

use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long anything that controllers do may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// How often it is looked.
const GLANCE: Duration = Duration::from_millis(100);

/// Waits until something is so, and panics with `what` when it never is.
#[track_caller]
pub(crate) fn eventually(what: &str, so: impl FnMut() -> bool) {
    assert!(happens(so), "not within {LIMIT:?}: {what}");
}

/// Waits until something is so. Returns whether that ever was.
pub(crate) fn happens(mut so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !so() {
        if start.elapsed() > LIMIT {
            return false;
        }
        sleep(GLANCE);
    }
    true
}

/// Looks for a while, and panics with `what` as soon as something is so.
pub(crate) fn never(what: &str, during: Duration, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while start.elapsed() < during {
        assert!(!so(), "happened after {:?}: {what}", start.elapsed());
        sleep(GLANCE);
    }
}

/// Writes a line to stderr, past the test runner's capture.
pub(crate) fn say(line: &str) {
    // A closed stderr is nobody's loss.
    let _ = writeln!(std::io::stderr(), "{line}");
}

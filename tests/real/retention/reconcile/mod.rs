//! `retention reconcile`: what it writes, what it refuses, and what becomes of the claims, with the real controllers.

mod add;
mod leftovers;
mod others;
mod owners;
mod permissions;
mod slow;

use super::set::Set;
use crate::support::{Admin, Mark, Told, Write};

/// A uid that no object has.
const DEAD: &str = "00000000-dead-4000-8000-000000000000";

impl Set<'_> {
    /// Somebody who may do anything applies the policy of the set.
    fn apply(&self, admin: &Admin, args: &[&str]) -> Told {
        let call = ["retention", "reconcile", "sts/web", "-n", &self.on.name, "--yes"];
        admin.run(&[&call[..], args].concat())
    }

    /// The command that a finding names.
    fn command(&self) -> String {
        format!("kubectl storage retention reconcile sts/web -n {}", self.on.name)
    }
}

/// What was sent, one line each.
fn lines(sent: &[Write]) -> Vec<String> {
    sent.iter().map(Write::line).collect()
}

/// What was sent, in order for each object: changes of owner references are made side by side.
fn sent_by_object(admin: &Admin, since: Mark) -> Vec<Write> {
    let mut sent = admin.sent(since);
    sent.sort_by(|a, b| a.name.cmp(&b.name));
    sent
}

/// What was written of the removals of owner references that were sent, by object. Until one was accepted, each is tried first.
fn removals(admin: &Admin, since: Mark) -> Vec<Write> {
    let (dry, written): (Vec<_>, Vec<_>) =
        sent_by_object(admin, since).into_iter().partition(|it| it.dry);
    assert!(!dry.is_empty(), "{:?}", lines(&written));
    written
}

/// The lines of a patch: its dry run, and itself.
fn patched<'a>(claims: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let both = |claim: &str| {
        let patch = format!("patch persistentvolumeclaims {claim}");
        [format!("dry {patch}"), patch]
    };
    claims.into_iter().flat_map(both).collect()
}

//! What a command could not show because it was not read.

use std::collections::BTreeSet;

use super::{collect::tell_permissions, terminal};
use crate::{
    cluster::Unseen,
    model::{RuleId, escape_control},
    output::{report::wrap, wire::Gap},
};

/// Returns one gap for all that was not read for the same reason, with the rules that could not judge.
pub(super) fn unread(unseen: BTreeSet<Unseen>, unjudged: &BTreeSet<(Unseen, RuleId)>) -> Vec<Gap> {
    let mut all = unseen;
    all.extend(unjudged.iter().map(|(unseen, _)| unseen.clone()));
    let gap = |unseen: Unseen| Gap {
        cluster: None,
        ids: unjudged
            .iter()
            .filter(|(of, _)| *of == unseen)
            .map(|(_, rule)| (*rule).to_owned())
            .collect(),
        resource: unseen.kind.plural().to_owned(),
        namespace: unseen.namespace.as_ref().map(ToString::to_string),
        reason: unseen.reason,
    };
    all.into_iter().map(gap).collect()
}

/// Tells on stderr what a command could not show because it was not read; `role` is its name in `rbac`.
pub(super) fn tell_unread(unread: &[Gap], role: &str) {
    for gap in unread {
        let line = format!("not read: {}", escape_control(&gap.told()));
        let width = terminal::width().map_or(usize::MAX, usize::from);
        for line in wrap(&line, width) {
            terminal::note(&line);
        }
    }
    if unread.iter().any(|it| it.reason.starts_with("forbidden")) {
        tell_permissions(role);
    }
}

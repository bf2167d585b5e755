//! What is told of a look on stderr: what was not read, and what else there is to know.

use super::{Collected, kinds};
use crate::{
    cli::{gaps, terminal},
    cluster::Gap,
    model::escape_control,
};

/// What there is to know besides what was not seen.
pub(in crate::cli) fn notes(collected: &Collected) -> Vec<String> {
    let cluster = &collected.intake.cluster;
    let words = gaps::unknown_words(cluster).into_iter().chain(gaps::odd_fields(cluster));
    let words: Vec<_> = words.collect();
    // What is a gap as well is told once.
    let is_gap = |note: &&String| collected.blind.iter().any(|it| it.gap.reason == **note);
    collected.notes.iter().chain(&words).filter(|it| !is_gap(it)).cloned().collect()
}

/// Tells what there is to know besides what was not seen, on stderr.
pub(in crate::cli) fn tell_notes(collected: &Collected) {
    for note in notes(collected) {
        terminal::note(&format!("note: {}", escape_control(&note)));
    }
}

/// Names the command that lists missing permissions.
pub(in crate::cli) fn tell_permissions(command: &str) {
    terminal::note(&format!(
        "hint: `rbac {command} --check` lists the permissions that you lack, `rbac {command}` \
         prints a ClusterRole with them"
    ));
}

/// Tells what was not read, on stderr, in as few lines as possible.
pub(in crate::cli) fn tell_gaps<'a>(told: &str, gaps: impl Iterator<Item = &'a Gap>) {
    for line in gaps::lines(gaps, &kinds()) {
        terminal::note(&format!("{told}: {}", escape_control(&line)));
    }
}

/// Tells what is read again, on stderr.
pub(in crate::cli) fn tell_read_again(gaps: &[Gap]) {
    if !gaps.is_empty() {
        terminal::note(&format!("read again: {}", gaps::names(gaps, &kinds())));
    }
}

/// Tells what was not seen, and what else there is to know, on stderr.
pub(in crate::cli) fn tell(collected: &Collected, command: &str) {
    let blind = &collected.blind;
    tell_notes(collected);
    tell_gaps("not read", blind.iter().map(|it| &it.gap));
    if blind.iter().any(|it| it.gap.reason.starts_with("forbidden")) {
        tell_permissions(command);
    }
}

//! What a policy says of acting that its other parts contradict.

use super::{
    WatchPolicy,
    acting::{Percent, ReconcilerMode, ReconcilerName, USUAL_GRACE},
    document::{Content, Fault, Node},
};
use crate::model::{RuleId, Threshold, format_duration};

/// Flags of the commands with which somebody accepts a danger, or asserts what cannot be seen. Whoever
/// does that looks at the object and at what is known of it.
const DANGER_FLAGS: [&str; 18] = [
    "accept-leak",
    "add-owners",
    "backend-exclusive",
    "backend-verified",
    "delete-leftovers",
    "destroy-data",
    "destroy-snapshots",
    "driver-absent",
    "include-recreated",
    "include-unknown-age",
    "include-vetoed",
    "include-wanted",
    "no-other-users",
    "owner-kind-gone",
    "provisioner-alive",
    "remove-finalizer",
    "replicas-zero",
    "rolled-back",
];

/// Finds what contradicts acting. Keys that name a danger are taken out, so that they are told once.
pub(super) fn find(root: &mut Node, faults: &mut Vec<Fault>) {
    let mut dangers = Vec::new();
    danger_keys(root, false, &mut dangers);
    if let Some(reconcilers) = root.get("reconcilers") {
        danger_keys(reconcilers, true, &mut dangers);
    }
    for (id, fault) in dangers {
        root.take_out(id);
        faults.push(fault);
    }
    let on: Vec<_> = ReconcilerName::ALL.into_iter().filter_map(|it| on(root, it)).collect();
    if on.is_empty() {
        idle(root, faults);
    }
    for (name, mode) in on {
        if mode.text() == Some(ReconcilerMode::Act.name()) && root.get("leaderElection").is_none() {
            let message = "act requires leaderElection: only one process may act at a time";
            faults.push(Fault { at: mode.at, message: message.to_owned() });
        }
        hidden(root, name, faults);
    }
}

/// Finds keys that are named as danger flags.
fn danger_keys(node: &Node, deeper: bool, found: &mut Vec<(usize, Fault)>) {
    let Content::Mapping(entries) = &node.content else { return };
    for (key, value) in entries {
        match key.text().and_then(danger_flag) {
            Some(flag) => {
                let message = format!(
                    "no reconciler takes --{flag}: what needs it is done by somebody who looks at \
                     the object"
                );
                found.push((key.id, Fault { at: key.at, message }));
            }
            None if deeper => danger_keys(value, true, found),
            None => {}
        }
    }
}

fn danger_flag(key: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    let key = plain(key);
    DANGER_FLAGS.into_iter().find(|flag| plain(flag) == key)
}

/// The mode of a reconciler that is not off, as it stands in the file.
fn on(root: &Node, name: ReconcilerName) -> Option<(ReconcilerName, &Node)> {
    let mode = root.get("reconcilers")?.get(name.name())?.get("mode")?;
    let acts = [ReconcilerMode::Report, ReconcilerMode::Act];
    acts.iter().any(|it| mode.text() == Some(it.name())).then_some((name, mode))
}

/// What only reconcilers use.
fn idle(root: &Node, faults: &mut Vec<Fault>) {
    for key in ["bounds", "clusterJournal"] {
        let Some(value) = root.get(key) else { continue };
        let message = format!("{key:?} is of no use: every reconciler is off");
        faults.push(Fault { at: value.at, message });
    }
}

/// The findings by which a reconciler knows what there is to do.
fn rests_on(name: ReconcilerName) -> impl Iterator<Item = RuleId> {
    let announced = (name == ReconcilerName::Reclaim).then_some("pv-reclaim-announced");
    name.answers().iter().copied().chain(announced)
}

/// Whatever is done is reported too.
fn hidden(root: &Node, name: ReconcilerName, faults: &mut Vec<Fault>) {
    let Some(rules) = root.get("rules") else { return };
    let listed = |key| match rules.get(key).map(|it| (&it.content, it.at)) {
        Some((Content::Sequence(items), at)) => Some((items, at)),
        _ => None,
    };
    let answered = |it: &&Node| it.text().is_some_and(|id| rests_on(name).any(|it| it == id));
    for item in listed("off").into_iter().flat_map(|(items, _)| items).filter(answered) {
        let id = item.text().unwrap_or_default();
        let message = format!("{id:?} is off, but reconcilers.{name} answers it");
        faults.push(Fault { at: item.at, message });
    }
    let Some((items, at)) = listed("only") else { return };
    let is_listed = |id: &str| items.iter().any(|it| it.text() == Some(id));
    let missing: Vec<_> = rests_on(name).filter(|id| !is_listed(id)).collect();
    if !items.is_empty() && !missing.is_empty() {
        let missing = missing.join(", ");
        let message = format!("\"only\" lacks what reconcilers.{name} answers: {missing}");
        faults.push(Fault { at, message });
    }
}

impl WatchPolicy {
    /// What is accepted, and hardly meant, a line for each.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if let Some(times) = self.reconcilers.reclaim.times() {
            if times.grace < USUAL_GRACE {
                doubts.push(format!(
                    "reconcilers.reclaim.grace is {}: nobody can be expected to veto within less than {}",
                    format_duration(times.grace),
                    format_duration(USUAL_GRACE),
                ));
            }
            let asked = self.thresholds.0.get(&Threshold::OlderThan);
            if let Some(asked) = asked.filter(|it| **it > times.older_than) {
                doubts.push(format!(
                    "thresholds.older-than is {}, but what reconcilers.reclaim announces is reported \
                     before: after {}",
                    format_duration(*asked),
                    format_duration(times.older_than),
                ));
            }
        }
        if self.bounds.newly_eligible_percent == Percent::ALL && !self.reconcilers.is_off() {
            doubts.push(
                "bounds.newlyEligiblePercent is 100: the circuit breaker never opens".to_owned(),
            );
        }
        doubts
    }
}

//! `ToldFindings`: which findings were told at one place, so that each is told once.

use std::collections::BTreeSet;

use crate::model::{ClearedFinding, Finding, FindingEvent, ObjectRef, RuleId, Severity};

/// Which findings were told at one place.
#[derive(Debug)]
pub(super) struct ToldFindings {
    severity: Severity,
    told: BTreeSet<(RuleId, ObjectRef)>,
}

/// What is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling<'a> {
    /// It was not told before.
    Appeared(&'a Finding),
    /// It was told, and is not there any more.
    Cleared(&'a ClearedFinding),
}

impl ToldFindings {
    /// Tells findings of a severity and worse.
    pub(super) fn new(severity: Severity) -> Self {
        Self { severity, told: BTreeSet::new() }
    }

    /// Tells findings of another severity from now on.
    pub(super) fn set_severity(&mut self, severity: Severity) {
        self.severity = severity;
    }

    /// Returns what is to be told. A finding that has become worse is told when it is bad enough.
    pub(super) fn sift<'a>(&mut self, events: &'a [FindingEvent]) -> Vec<Telling<'a>> {
        let mut telling = Vec::new();
        for event in events {
            match event {
                FindingEvent::Appeared(it) | FindingEvent::Changed(it) => {
                    let key = (it.rule, it.object.clone());
                    if it.severity <= self.severity && self.told.insert(key) {
                        telling.push(Telling::Appeared(it));
                    }
                }
                FindingEvent::Cleared(it) => {
                    if self.told.remove(&(it.rule, it.object.clone())) {
                        telling.push(Telling::Cleared(it));
                    }
                }
            }
        }
        telling
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey, Verdict, VerdictState};

    /// A finding about a volume.
    pub(in crate::watch::report) fn finding(name: &str, severity: Severity) -> Box<Finding> {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, name);
        Box::new(Finding {
            rule: "pv-failed",
            severity,
            object: ObjectRef { key, uid: None },
            summary: "reclaim failed".to_owned(),
            age: None,
            evidence: Vec::new(),
            related: Vec::new(),
            caused_by: Vec::new(),
            verdict: Verdict { state: VerdictState::ReportOnly, reason: "none".to_owned() },
            offer: None,
            volume: None,
        })
    }

    /// That it has cleared.
    pub(in crate::watch::report) fn cleared(name: &str, severity: Severity) -> FindingEvent {
        let Finding { rule, object, .. } = *finding(name, severity);
        FindingEvent::Cleared(ClearedFinding { rule, severity, object, left_out: false })
    }

    #[test]
    fn each_is_told_once_until_it_has_cleared() {
        let mut told = ToldFindings::new(Severity::High);
        let mut told = |event: FindingEvent| match told.sift(&[event])[..] {
            [] => "",
            [Telling::Appeared(_)] => "appeared",
            [Telling::Cleared(_)] => "cleared",
            _ => "more",
        };
        let appeared = |severity| FindingEvent::Appeared(finding("a", severity));
        let changed = |severity| FindingEvent::Changed(finding("a", severity));
        assert_eq!(told(appeared(Severity::Medium)), "");
        assert_eq!(told(cleared("a", Severity::Medium)), "");
        assert_eq!(told(appeared(Severity::Medium)), "");
        // It has become worse.
        assert_eq!(told(changed(Severity::High)), "appeared");
        assert_eq!(told(changed(Severity::Critical)), "");
        assert_eq!(told(cleared("a", Severity::Critical)), "cleared");
        assert_eq!(told(appeared(Severity::Critical)), "appeared");
    }
}

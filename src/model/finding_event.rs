//! `FindingEvent`: what has become of a finding.

use super::{Finding, ObjectRef, RuleId, Severity};

/// What has become of a finding. Its identity is its rule and its object: an object that was deleted
/// and created again is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingEvent {
    /// It was not there before.
    Appeared(Box<Finding>),
    /// Its severity, summary, age, volume, verdict or remedy has changed. Evidence and causes are
    /// those of now, but do not count as a change.
    Changed(Box<Finding>),
    /// It is not there any more, or is not to be reported any more.
    Cleared(ClearedFinding),
}

/// A finding that is not there any more, or is not to be reported any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearedFinding {
    /// The rule that had found it.
    pub rule: RuleId,
    /// Its last severity.
    pub severity: Severity,
    /// Its object, which may not exist any more.
    pub object: ObjectRef,
    /// Whether it is left out now, by the scope, an exemption or an annotation, and may still be
    /// there.
    pub left_out: bool,
}

impl FindingEvent {
    /// By which events are sorted, as the findings of a report are: worst first.
    pub fn rank(&self) -> (Severity, RuleId, &ObjectRef) {
        match self {
            Self::Appeared(it) | Self::Changed(it) => (it.severity, it.rule, &it.object),
            Self::Cleared(it) => (it.severity, it.rule, &it.object),
        }
    }

    /// The severity of a finding that is there.
    pub fn severity(&self) -> Option<Severity> {
        match self {
            Self::Appeared(it) | Self::Changed(it) => Some(it.severity),
            Self::Cleared(_) => None,
        }
    }
}

//! Findings with evidence, verdict and offered remedy, and the events in the life of a finding.

use super::{Age, Bytes, ObjectRef, Text};

/// The id of a rule, such as `pv-released-past-threshold`; part of the public interface.
pub type RuleId = &'static str;

/// The severity of a finding. The order is that of reports: worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    Critical,
    High,
    Medium,
    Low,
    Info,
}

impl Severity {
    /// All severities, worst first.
    pub const ALL: [Self; 5] = [Self::Critical, Self::High, Self::Medium, Self::Low, Self::Info];

    /// Returns the name of the severity in reports and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Info => "info",
        }
    }

    /// Returns the severity of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(name))
    }
}

/// A problem of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: RuleId,
    /// The severity of the problem.
    pub severity: Severity,
    /// The object.
    pub object: ObjectRef,
    /// One sentence that a tired admin understands; lower case, no full stop.
    pub summary: String,
    /// The time since which the problem has lasted, if that is known.
    pub age: Option<Age>,
    /// The evidence of the problem.
    pub evidence: Vec<Evidence>,
    /// Other objects that are involved.
    pub related: Vec<ObjectRef>,
    /// The findings that explain this one; filled in when a report is written.
    pub caused_by: Vec<CausedBy>,
    /// The verdict: whether something can be done about the problem.
    pub verdict: Verdict,
    /// The remedy; absent if the finding is report-only.
    pub offer: Option<Offer>,
    /// The columns that tables add, if a volume is involved.
    pub volume: Option<VolumeColumns>,
}

/// A finding that explains another one. There is at most one finding of a rule about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CausedBy {
    /// The rule that found it.
    pub rule: RuleId,
    /// The object of that finding.
    pub object: ObjectRef,
}

/// A field and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The object of the field, as `kind/name`.
    pub object: String,
    /// The field's path, or a derived fact's name.
    pub field: &'static str,
    /// The value, as the API shows it; `<none>` when it is absent.
    pub value: String,
}

/// Verdict on a finding: whether something can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The state.
    pub state: VerdictState,
    /// The reason; empty only for `fixable`.
    pub reason: String,
}

/// State of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VerdictState {
    /// All checks of the remedy passed.
    Fixable,
    /// A check of the remedy did not pass.
    Blocked,
    /// There is no remedy that a tool should carry out.
    ReportOnly,
    /// A check was not possible, because something was not read.
    Unseen,
}

impl VerdictState {
    /// Returns the name of the state in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixable => "fixable",
            Self::Blocked => "blocked",
            Self::ReportOnly => "report-only",
            Self::Unseen => "unseen",
        }
    }
}

/// Offer of a remedy for a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The command, printed only where this build has it.
    pub command: Option<String>,
    /// The effect of the remedy.
    pub effect: String,
    /// The loss if the judgement is wrong.
    pub risk: String,
}

/// Columns of tables with the volume of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeColumns {
    /// Capacity in bytes.
    pub capacity: Option<Bytes>,
    /// `namespace/name` of the claim to which the volume is or was bound.
    pub claim: Option<String>,
    /// Storage class.
    pub class: Option<Text>,
    /// CSI driver or in-tree plugin.
    pub driver: Option<Text>,
    /// Reclaim policy.
    pub reclaim_policy: String,
    /// Phase.
    pub phase: String,
}

/// Change of a finding: it appeared, changed or cleared. Its identity is its rule and its object: an object that was
/// deleted and created again is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingEvent {
    /// The finding did not exist before.
    Appeared(Box<Finding>),
    /// The severity, summary, age, volume, verdict or remedy of the finding has changed. Evidence and causes are those
    /// of now, but do not count as a change.
    Changed(Box<Finding>),
    /// The finding does not exist any more, or is not to be reported any more.
    Cleared(ClearedFinding),
}

/// A finding that does not exist any more, or is not to be reported any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearedFinding {
    /// The rule that had found it.
    pub rule: RuleId,
    /// The last severity of the finding.
    pub severity: Severity,
    /// The object of the finding, which may not exist any more.
    pub object: ObjectRef,
    /// Whether the finding is left out now, by the scope, an exemption or an annotation, and may still hold.
    pub left_out: bool,
}

impl FindingEvent {
    /// Returns the key by which events are sorted, as the findings of a report are: worst first.
    pub fn rank(&self) -> (Severity, RuleId, &ObjectRef) {
        match self {
            Self::Appeared(it) | Self::Changed(it) => (it.severity, it.rule, &it.object),
            Self::Cleared(it) => (it.severity, it.rule, &it.object),
        }
    }

    /// Returns the severity of a finding that holds.
    pub fn severity(&self) -> Option<Severity> {
        match self {
            Self::Appeared(it) | Self::Changed(it) => Some(it.severity),
            Self::Cleared(_) => None,
        }
    }
}

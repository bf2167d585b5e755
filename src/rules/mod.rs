//! One file per finding, in a folder per object.
//!
//! A rule says what it is called, what it has to have seen, why it matters, and how it looks. It
//! never imports another rule: what two share is a fact, and what can be done is a remedy.

mod assess;
mod attachment;
mod backend;
mod claim;
mod class;
mod driver;
mod explain;
mod judged;
mod pod;
mod snapshot;
mod statefulset;
mod volume;

pub use assess::{Assessor, Blind, Share, Tally, in_scope, judge_with, metadata, subjects};
pub use explain::{Explanation, Outcome, User, explain};
pub use judged::Judged;

use crate::cluster::{Cx, Seen, Subject};
use crate::model::{
    Attachment, AttributesClass, Claim, Finding, KeptBackend, Kind, PodUse, RuleId, Severity,
    SnapshotContent, StatefulSet, StorageClass, Text, Volume,
};
use crate::remedies::RemedyDeclaration;

/// A kind of finding: its public name, its texts, and the function that detects it.
#[derive(Debug)]
pub struct Rule {
    /// The public id, such as `pv-released-past-threshold`.
    pub id: RuleId,
    /// The severity, or the worst one where it depends.
    pub severity: Severity,
    /// What is lost when nobody acts, for the summary in bytes.
    pub stake: Stake,
    /// What detecting looks at.
    pub needs: &'static [Kind],
    /// What the verdict may ask.
    pub remedies: &'static [&'static dyn RemedyDeclaration],
    /// What it finds, in one sentence without a full stop.
    pub title: &'static str,
    /// Why it is dangerous.
    pub danger: &'static str,
    /// What the tool does about it, and what it refuses.
    pub remedy: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// How it is detected.
    pub judge: &'static [Judge],
}

/// What a finding means for the capacity of its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stake {
    /// Nothing.
    None,
    /// The backend volume is, or is about to be, known to nobody and billed for ever.
    Leak,
    /// The data can be destroyed, or read by somebody else.
    Data,
}

/// How a rule is detected, by what it is about.
#[derive(Debug, Clone, Copy)]
pub enum Judge {
    Volume(fn(&Cx, &Volume) -> Seen<Option<Finding>>),
    Claim(fn(&Cx, &Claim) -> Seen<Option<Finding>>),
    StatefulSet(fn(&Cx, &StatefulSet) -> Seen<Option<Finding>>),
    Attachment(fn(&Cx, &Attachment) -> Seen<Option<Finding>>),
    Pod(fn(&Cx, &PodUse) -> Seen<Option<Finding>>),
    Class(fn(&Cx, &StorageClass) -> Seen<Option<Finding>>),
    AttributesClass(fn(&Cx, &AttributesClass) -> Seen<Option<Finding>>),
    Snapshot(fn(&Cx, &SnapshotContent) -> Seen<Option<Finding>>),
    Driver(fn(&Cx, &Text) -> Seen<Option<Finding>>),
    Backend(fn(&Cx, &KeptBackend) -> Seen<Option<Finding>>),
}

/// The place of a kind of subjects among all of them.
const fn kind_of(subject: &Subject) -> usize {
    match subject {
        Subject::Volume(_) => 0,
        Subject::Claim(_) => 1,
        Subject::StatefulSet(_) => 2,
        Subject::Attachment(_) => 3,
        Subject::Pod(_) => 4,
        Subject::Class(_) => 5,
        Subject::AttributesClass(_) => 6,
        Subject::Snapshot(_) => 7,
        Subject::Driver(_) => 8,
        Subject::Backend(_) => 9,
    }
}

impl Judge {
    /// How many kinds of subjects there are.
    const KINDS: usize = 10;

    /// The kind of its subjects, as [`kind_of`] counts them.
    const fn kind(self) -> usize {
        match self {
            Self::Volume(_) => 0,
            Self::Claim(_) => 1,
            Self::StatefulSet(_) => 2,
            Self::Attachment(_) => 3,
            Self::Pod(_) => 4,
            Self::Class(_) => 5,
            Self::AttributesClass(_) => 6,
            Self::Snapshot(_) => 7,
            Self::Driver(_) => 8,
            Self::Backend(_) => 9,
        }
    }

    /// Judges a subject; `None` when the rule is not about such subjects.
    fn on(
        self,
        cx: &Cx,
        cluster: &crate::cluster::Cluster,
        subject: &Subject,
    ) -> Option<Seen<Option<Finding>>> {
        match (self, subject) {
            (Self::Volume(judge), Subject::Volume(id)) => {
                cluster.volume_at(*id).map(|it| judge(cx, it))
            }
            (Self::Claim(judge), Subject::Claim(id)) => {
                cluster.claim_at(*id).map(|it| judge(cx, it))
            }
            (Self::StatefulSet(judge), Subject::StatefulSet(id)) => {
                cluster.set_at(*id).map(|it| judge(cx, it))
            }
            (Self::Attachment(judge), Subject::Attachment(id)) => {
                cluster.attachment_at(*id).map(|it| judge(cx, it))
            }
            (Self::Pod(judge), Subject::Pod(id)) => cluster.pod_at(*id).map(|it| judge(cx, it)),
            (Self::Class(judge), Subject::Class(id)) => {
                cluster.class_at(*id).map(|it| judge(cx, it))
            }
            (Self::AttributesClass(judge), Subject::AttributesClass(id)) => {
                cluster.attributes_class_at(*id).map(|it| judge(cx, it))
            }
            (Self::Snapshot(judge), Subject::Snapshot(id)) => {
                cluster.snapshot_at(*id).map(|it| judge(cx, it))
            }
            (Self::Driver(judge), Subject::Driver(name)) => Some(judge(cx, name)),
            (Self::Backend(judge), Subject::Backend(key)) => {
                cluster.kept_backend(key).map(|it| judge(cx, it))
            }
            (
                Self::Volume(_)
                | Self::Claim(_)
                | Self::StatefulSet(_)
                | Self::Attachment(_)
                | Self::Pod(_)
                | Self::Class(_)
                | Self::AttributesClass(_)
                | Self::Snapshot(_)
                | Self::Driver(_)
                | Self::Backend(_),
                _,
            ) => None,
        }
    }
}

/// Every rule, in the order of the documentation.
pub static REGISTRY: std::sync::LazyLock<Vec<&'static Rule>> = std::sync::LazyLock::new(|| {
    [
        volume::RULES,
        claim::RULES,
        statefulset::RULES,
        attachment::RULES,
        class::RULES,
        snapshot::RULES,
        pod::RULES,
        driver::RULES,
        backend::RULES,
    ]
    .concat()
});

/// Returns the rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    REGISTRY.iter().copied().find(|rule| rule.id == id)
}

impl Rule {
    /// Everything that detecting it and judging its remedies looks at, each kind once, sorted.
    pub fn looks_at(&self) -> Vec<Kind> {
        let remedies = self.remedies.iter().flat_map(|remedy| remedy.needs());
        let mut kinds: Vec<_> = self.needs.iter().chain(remedies).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

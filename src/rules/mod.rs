//! Rules: the findings that are possible, by the kind of object and of problem.
//!
//! A rule consists of its id, the kinds that it needs, its texts, and the function that detects the
//! finding. It never imports another rule: what two rules share is a fact, and what can be done is
//! a remedy.

mod assess;
mod attachment;
mod backend;
mod beyond;
mod causes;
mod claim;
mod class;
mod driver;
mod explain;
mod finding;
mod guard;
mod inventory;
mod pod;
pub(crate) mod retention;
mod snapshot;
mod statefulset;
mod volume;

pub use assess::{Assessor, subjects};
pub(crate) use assess::{
    PartialAssessment, StoragePool, StorageTotals, Totals, UnreadGap, Waste, in_scope, is_left_out,
    judge_with, metadata, object,
};
pub use beyond::{
    NamedElsewhere, SharedBetweenClusters, named_storage, shared_between_clusters,
    storage_references,
};
pub use causes::{CAUSES, Cause, Link};
pub(crate) use causes::{stands_above, waits};
pub(crate) use explain::{
    DriverLine, EXPLAINED, Explanation, LastError, ObjectEffect, User, drivers, explain,
    known_driver,
};
pub(crate) use finding::Judgement;
pub(crate) use inventory::{
    InventoryFinding, InventoryReport, deleting_command, disks_of_cluster, judge_inventory,
};

use crate::cluster::{Cluster, Cx, Seen, Subject, for_each_judged_row};
use crate::model::{
    AdmissionObject, Attachment, AttributesClass, Claim, Finding, KeptBackend, Kind, NamedRow as _,
    Namespace, PodUse, RuleId, Severity, SnapshotContent, StatefulSet, StorageClass, Text, Volume,
};
use crate::remedies::RemedyDeclaration;

/// A rule: its public id, its texts, and the functions that detect its findings.
#[derive(Debug)]
pub struct Rule {
    /// The public id, such as `pv-released-past-threshold`.
    pub id: RuleId,
    /// The severity, or the worst one if it varies.
    pub severity: Severity,
    /// The loss without action, for the capacities in the summary.
    pub capacity_risk: CapacityRisk,
    /// The kinds that detecting it needs.
    pub needs: &'static [Kind],
    /// The remedies that may give the verdict of its findings.
    pub remedies: &'static [&'static dyn RemedyDeclaration],
    /// The finding, in one sentence without a full stop.
    pub title: &'static str,
    /// The danger of the finding.
    pub danger: &'static str,
    /// The remedy of the tool, and its refusals.
    pub remedy: &'static str,
    /// The upstream source of the rule.
    pub source: &'static str,
    /// The functions that detect its findings.
    pub judge: &'static [Judge],
}

/// The risk for the capacity of the volume of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityRisk {
    /// No capacity is at risk.
    None,
    /// No capacity is at risk: nothing uses the volume.
    Unused,
    /// The backend volume is leaked, or about to be.
    Leak,
    /// The data can be destroyed, or read by other users.
    Data,
    /// The claim is deleted, or about to be, and its data with it unless the policy of its volume keeps it.
    Deletion,
}

macro_rules! declare_judge {
    ($($subject:ident: $row:ident, $all:ident, $at:ident;)+) => {
        /// The function that detects a finding, by the kind of its subjects.
        #[derive(Debug, Clone, Copy)]
        pub enum Judge {
            $($subject(fn(&Cx, &$row) -> Seen<Option<Finding>>),)+
            Driver(fn(&Cx, &Text) -> Seen<Option<Finding>>),
            Backend(fn(&Cx, &KeptBackend) -> Seen<Option<Finding>>),
        }

        /// Kind of a subject, as a number.
        enum SubjectKind {
            $($subject,)+
            Driver,
            Backend,
        }

        /// Number of kinds of subjects.
        const SUBJECT_KINDS: usize = SubjectKind::Backend as usize + 1;

        const fn kind_of(subject: &Subject) -> usize {
            let kind = match subject {
                $(Subject::$subject(_) => SubjectKind::$subject,)+
                Subject::Driver(_) => SubjectKind::Driver,
                Subject::Backend(_) => SubjectKind::Backend,
            };
            kind as usize
        }

        impl Judge {
            /// Returns the kind of the subjects.
            const fn kind(self) -> usize {
                let kind = match self {
                    $(Self::$subject(_) => SubjectKind::$subject,)+
                    Self::Driver(_) => SubjectKind::Driver,
                    Self::Backend(_) => SubjectKind::Backend,
                };
                kind as usize
            }

            /// Judges a subject; `None` if the rule is not about subjects of this kind.
            fn on(
                self,
                cx: &Cx,
                cluster: &Cluster,
                subject: &Subject,
            ) -> Option<Seen<Option<Finding>>> {
                match (self, subject) {
                    $((Self::$subject(judge), Subject::$subject(id)) => {
                        let row = cluster.$at(*id)?;
                        let (kind, namespace, name) = row.identity();
                        let legible = cluster.legible(kind, namespace, name);
                        Some(legible.and_then(|()| judge(cx, row)))
                    })+
                    (Self::Driver(judge), Subject::Driver(name)) => Some(judge(cx, name)),
                    (Self::Backend(judge), Subject::Backend(key)) => {
                        cluster.kept_backend(key).map(|row| judge(cx, row))
                    }
                    ($(Self::$subject(_) |)+ Self::Driver(_) | Self::Backend(_), _) => None,
                }
            }
        }
    };
}

for_each_judged_row!(declare_judge);

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
        guard::RULES,
    ]
    .concat()
});

/// The rules that compare clusters: a report about one does not have them.
pub static BETWEEN_CLUSTERS: &[&Rule] = beyond::RULES;

/// The rules that compare clusters with what providers list: a report without `--inventory` does not have them.
pub static INVENTORY: &[&Rule] = inventory::RULES;

/// The rules about how full volumes are: a report without `--usage` does not have them.
pub static USAGE: &[&Rule] = claim::USAGE;

/// What a report is about, beside the objects of one cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportContents {
    /// Several clusters.
    pub clusters: bool,
    /// What providers list.
    pub inventory: bool,
    /// How full volumes are.
    pub usage: bool,
}

/// Returns every rule.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    of_report(ReportContents { clusters: true, inventory: true, usage: true })
}

/// Returns the rules that such a report has.
pub fn of_report(contents: ReportContents) -> impl Iterator<Item = &'static Rule> {
    let between = BETWEEN_CLUSTERS.iter().filter(move |_| contents.clusters);
    let inventory = INVENTORY.iter().filter(move |_| contents.inventory);
    let usage = USAGE.iter().filter(move |_| contents.usage);
    REGISTRY.iter().chain(between).chain(inventory).chain(usage).copied()
}

/// Returns the rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

impl Rule {
    /// Returns all kinds that the rule and its remedies need, each once, sorted.
    pub fn looks_at(&self) -> Vec<Kind> {
        let remedies = self.remedies.iter().flat_map(|remedy| remedy.needs());
        let mut kinds: Vec<_> = self.needs.iter().chain(remedies).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

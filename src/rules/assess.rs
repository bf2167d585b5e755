//! Assessment of a cluster: judges all subjects, or those that a change made dirty.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

mod beside;
mod cases;
mod explained;
mod unread;
mod scope;
mod partial;
mod totals;

use cases::Cases;
pub use partial::PartialAssessment;
use scope::{exempt, object_key};
pub use scope::{in_scope, is_left_out, metadata, object, subjects};
pub use totals::{StoragePool, StorageTotals, Totals};
pub use unread::UnreadGap;
use unread::is_single;

use super::{Judge, Judgement, REGISTRY, Rule, SUBJECT_KINDS, kind_of};
use crate::cluster::{Cluster, Cx, Dirty, Facts, Lookup, Subject, Unseen};
use crate::model::{
    ControllerRole, Fact, FactKey, Finding, Question, RuleId, Settings, Severity, Text, Time,
    Volume,
};

/// Keeps which rules found something about which subjects. Findings themselves are not kept: they
/// are judged again when they are printed.
#[derive(Debug, Default)]
pub struct Assessor {
    facts: RefCell<Facts>,
    cases: Cases,
    questions: BTreeSet<Question>,
}

/// What is kept of a subject, if there is anything to keep.
#[derive(Debug, Default)]
struct SubjectNotes {
    found: Vec<(&'static Rule, Severity)>,
    /// Rules that could not judge it, and why.
    unseen: Vec<(RuleId, Unseen)>,
    wake: Option<Time>,
}

impl Assessor {
    /// Returns access to the cluster for judgements, with the facts that are known.
    pub fn cx<'a>(&'a self, cluster: &'a Cluster, settings: &'a Settings) -> Cx<'a> {
        Cx::new(cluster, settings, &self.facts)
    }

    /// Judges one rule on one subject.
    pub fn judge(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subject: &Subject,
        rule: &Rule,
    ) -> Judgement {
        let cx = Cx::new(cluster, settings, &self.facts);
        judge(&cx, cluster, subject, rule)
    }

    /// Returns all lookups of one rule on one subject, for tests of what its judgement depends on.
    pub fn lookups(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subject: &Subject,
        rule: &Rule,
    ) -> Vec<Lookup> {
        let cx = Cx::new(cluster, settings, &self.facts);
        cx.listen();
        judge(&cx, cluster, subject, rule).lookups
    }

    /// Updates the assessment after a change: judges dirty subjects and those whose wake time has
    /// come.
    pub fn update(&mut self, cluster: &Cluster, settings: &Settings, dirty: Dirty) {
        let subjects = self.begin(cluster, settings, dirty);
        let mut partial = PartialAssessment::new(self.facts.take());
        partial.judge(cluster, settings, subjects.iter());
        self.end(cluster, [partial]);
    }

    /// Begins an update: returns the subjects that must be judged. Each must be judged by one
    /// [`PartialAssessment`] that starts with the known [facts](Self::facts). With these the update
    /// [ends](Self::end).
    pub fn begin(&mut self, cluster: &Cluster, settings: &Settings, dirty: Dirty) -> Vec<Subject> {
        let subjects = if dirty.everything {
            *self = Self::default();
            subjects(cluster)
        } else {
            self.dirty_subjects(cluster, settings, dirty)
        };
        for subject in &subjects {
            self.cases.remove(subject);
        }
        // A driver that no object references any more is not judged.
        let is_there =
            |it: &Subject| !matches!(it, Subject::Driver(name) if !cluster.has_driver(name));
        subjects.into_iter().filter(is_there).collect()
    }

    /// Ends an update with the judgements of its subjects.
    pub fn end(
        &mut self,
        cluster: &Cluster,
        partials: impl IntoIterator<Item = PartialAssessment>,
    ) {
        for mut partial in partials {
            self.cases.append(&mut partial.cases);
            self.questions.append(&mut partial.questions);
            self.facts.get_mut().append(&mut partial.facts);
        }
        self.questions.retain(|question| !cluster.answers().contains_key(question));
    }

    /// The facts that are known.
    pub fn facts(&self) -> Facts {
        self.facts.borrow().clone()
    }

    /// Questions that have no answer yet.
    pub fn questions(&self) -> &BTreeSet<Question> {
        &self.questions
    }

    /// When a judgement may change without any other change.
    pub fn wake(&self) -> Option<Time> {
        let facts = self.facts.borrow();
        let of_facts = facts.values().filter_map(|(_, wake)| *wake).min();
        earliest(self.cases.wake(), of_facts)
    }

    /// All findings in scope, worst first, judged again one by one as the iterator advances.
    pub fn findings<'a>(
        &'a self,
        cluster: &'a Cluster,
        settings: &'a Settings,
    ) -> impl Iterator<Item = Finding> + 'a {
        let mut cases: Vec<(Severity, &'static Rule, &Subject)> = self
            .cases
            .iter()
            .flat_map(|(subject, notes)| {
                notes.found.iter().map(move |(rule, severity)| (*severity, *rule, subject))
            })
            .filter(|(_, rule, subject)| {
                in_scope(cluster, settings, subject) && !exempt(cluster, settings, subject, rule.id)
            })
            .collect();
        let key = |subject: &Subject| object_key(cluster, subject);
        cases.sort_by(|a, b| {
            (a.0, a.1.id).cmp(&(b.0, b.1.id)).then_with(|| key(a.2).cmp(&key(b.2)))
        });
        let cx = Cx::new(cluster, settings, &self.facts);
        cases.into_iter().filter_map(move |(_, rule, subject)| {
            let mut finding = judge(&cx, cluster, subject, rule).finding?;
            finding.caused_by = self.caused_by(&cx, subject, rule.id);
            Some(finding)
        })
    }

    /// Controllers for which everything was read, each with whether all probes were negative.
    pub fn absences(&self) -> Vec<(ControllerRole, Text, bool)> {
        let of = |(key, (fact, _)): (&FactKey, &(Arc<Fact>, Option<Time>))| match (key, &**fact) {
            (FactKey::Controller(role, driver), Fact::Controller(state)) => {
                let seen = state.unseen.is_none();
                seen.then(|| (*role, Text::clone(driver), state.all_negative))
            }
            _ => None,
        };
        self.facts.borrow().iter().filter_map(of).collect()
    }

    /// Finds out which facts really changed, and returns all subjects that must be judged again.
    fn dirty_subjects(
        &mut self,
        cluster: &Cluster,
        settings: &Settings,
        mut dirty: Dirty,
    ) -> BTreeSet<Subject> {
        let now = cluster.clock();
        let mut subjects = std::mem::take(&mut dirty.subjects);
        subjects.extend(self.cases.woken(now).cloned());

        let known = self.facts.take();
        let mut changed: BTreeSet<Text> = BTreeSet::new();
        for (key, (fact, wake)) in known {
            let driver = Text::clone(key.driver());
            if dirty.outdates(&key, wake, now) {
                // Derived in a new context, so that it does not rest on outdated facts.
                let cx = Cx::new(cluster, settings, &self.facts);
                let new = cx.fact(key.clone(), || crate::facts::derive(&cx, &key));
                if !new.agrees_with(&fact) {
                    changed.insert(driver);
                }
            } else {
                self.facts.borrow_mut().insert(key, (fact, wake));
            }
        }
        if !changed.is_empty() {
            // Few of these use a fact, and facts change rarely.
            subjects.extend(scope::subjects_but_volumes(cluster));
            // The fact about the controller manager has no driver, and the external-attacher whose
            // finalizer a volume has may belong to a driver that no object references: such a fact
            // may change the judgement of every volume.
            let anybody = changed.iter().any(|driver| !cluster.has_driver(driver));
            let is_its =
                |it: &Volume| anybody || it.drivers().any(|driver| changed.contains(driver));
            let its = || cluster.volumes().filter(|(_, volume)| is_its(volume));
            subjects.extend(its().map(|(id, _)| Subject::Volume(id)));
            // What a driver destroys bears on the volumes of others that share the storage.
            let sharing = cluster.volumes_sharing(its().map(|(_, volume)| volume));
            subjects.extend(sharing.into_iter().map(Subject::Volume));
        }
        if dirty.all_drivers {
            subjects.extend(cluster.drivers().into_iter().map(Subject::Driver));
        }
        subjects.extend(dirty.drivers.into_iter().chain(changed).map(Subject::Driver));
        subjects
    }
}

/// Judges one rule on one subject, with existing access to the cluster.
pub fn judge_with(cx: &Cx, subject: &Subject, rule: &Rule) -> Judgement {
    judge(cx, cx.cluster(), subject, rule)
}

fn judge(cx: &Cx, cluster: &Cluster, subject: &Subject, rule: &Rule) -> Judgement {
    let mut judged = Judgement::default();
    for judge in rule.judge {
        match judge.on(cx, cluster, subject) {
            None | Some(Ok(None)) => {}
            Some(Ok(finding)) => judged.finding = finding,
            Some(Err(unseen)) => judged.unseen = Some(unseen),
        }
    }
    (judged.lookups, judged.wake) = cx.take_notes();
    judged
}

/// The rules about subjects of one kind, in the order of the registry.
fn about(subject: &Subject) -> &'static [(&'static Rule, Judge)] {
    static BY_KIND: std::sync::LazyLock<[Vec<(&'static Rule, Judge)>; SUBJECT_KINDS]> =
        std::sync::LazyLock::new(|| {
            let mut by_kind = [const { Vec::new() }; SUBJECT_KINDS];
            for rule in REGISTRY.iter() {
                for judge in rule.judge {
                    by_kind[judge.kind()].push((*rule, *judge));
                }
            }
            by_kind
        });
    &BY_KIND[kind_of(subject)]
}

fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

//! Assessment of a cluster: judges all subjects, or those that a change made dirty.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, btree_map},
    sync::Arc,
};

mod beside;
mod unread;
mod scope;
mod totals;

use scope::{exempt, object_key};
pub use scope::{in_scope, is_asked_for, is_left_out, metadata, object, subjects};
pub use totals::{StoragePool, StorageTotals, Totals, Waste};
pub use unread::UnreadGap;
use unread::is_single;

use super::{Judge, Judgement, REGISTRY, Rule, SUBJECT_KINDS, USAGE, causes::causes, kind_of};
use crate::cluster::{Cluster, Cx, Dirty, Facts, Lookup, Subject, Unseen};
use crate::model::{
    CausedBy, ControllerRole, Fact, FactKey, Finding, ObjectRef, Question, RuleId, Settings,
    Severity, Text, Time, Volume,
};

/// Record of which rules found something about which subjects. Findings themselves are not kept: they are judged again
/// when they are printed.
#[derive(Debug, Default)]
pub struct Assessor {
    facts: RefCell<Facts>,
    cases: Cases,
    questions: BTreeSet<Question>,
}

/// Notes about a subject; kept only if not empty.
#[derive(Debug, Default)]
struct SubjectNotes {
    found: Vec<(&'static Rule, Severity)>,
    /// Rules that could not judge the subject, with the reasons.
    unseen: Vec<(RuleId, Unseen)>,
    wake: Option<Time>,
}

impl Assessor {
    /// Returns access to the cluster for judgements, with the known facts.
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
        judge_with(&Cx::new(cluster, settings, &self.facts), subject, rule)
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
        judge_with(&cx, subject, rule).lookups
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

    /// Returns the known facts.
    pub fn facts(&self) -> Facts {
        self.facts.borrow().clone()
    }

    /// Questions that have no answer yet.
    pub fn questions(&self) -> &BTreeSet<Question> {
        &self.questions
    }

    /// Time at which a judgement or a fact may change without any other change.
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
        let reported =
            self.cases.iter().filter(|(subject, _)| in_scope(cluster, settings, subject));
        let cases = worst_first(cluster, settings, reported);
        let cx = Cx::new(cluster, settings, &self.facts);
        cases.into_iter().filter_map(move |(rule, subject)| self.judge_again(&cx, subject, rule))
    }

    /// The findings in scope that are asked for, and that an annotation or an exemption leaves out.
    pub fn exempted(&self, cluster: &Cluster, settings: &Settings) -> Vec<(RuleId, ObjectRef)> {
        let mut exempted = Vec::new();
        for (subject, notes) in self.cases.iter() {
            let found = notes.found.iter().map(|(rule, _)| rule.id);
            let asked = found
                .filter(|id| is_asked_for(settings, id) && !settings.scope.ignored.contains(*id));
            let left_out = asked.filter(|id| exempt(cluster, settings, subject, id));
            for id in left_out.collect::<Vec<_>>() {
                if in_scope(cluster, settings, subject) {
                    exempted.extend(object(cluster, subject).map(|it| (id, it)));
                }
            }
        }
        exempted.sort();
        exempted
    }

    /// Judges a rule again on a subject, and adds the causes of its finding.
    fn judge_again(&self, cx: &Cx, subject: &Subject, rule: &Rule) -> Option<Finding> {
        let mut finding = judge_with(cx, subject, rule).finding?;
        finding.caused_by = self.caused_by(cx, subject, rule.id);
        Some(finding)
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

    /// The findings that explain the finding of a rule about a subject: also those that are out of
    /// scope or exempted.
    pub fn caused_by(&self, cx: &Cx, subject: &Subject, rule: RuleId) -> Vec<CausedBy> {
        let cluster = cx.cluster();
        let found = |subject: &Subject, rule| self.found(subject, rule);
        let causes = causes(cx, subject, rule, found).into_iter();
        causes
            .filter_map(|(rule, subject)| {
                let key = object_key(cluster, &subject)?;
                let uid = metadata(cluster, &subject).and_then(|it| it.uid.clone());
                Some(CausedBy { rule, object: ObjectRef { key, uid } })
            })
            .collect()
    }

    /// Whether another finding explains the finding of a rule about a subject.
    fn is_caused(&self, cx: &Cx, subject: &Subject, rule: RuleId) -> bool {
        !causes(cx, subject, rule, |subject, rule| self.found(subject, rule)).is_empty()
    }

    fn found(&self, subject: &Subject, rule: RuleId) -> bool {
        let notes = self.cases.get(subject);
        notes.is_some_and(|notes| notes.found.iter().any(|(found, _)| found.id == rule))
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

/// Part of an assessment: the judgements of some subjects. Judgements only read the cluster, so that
/// several threads can make them at the same time.
#[derive(Debug, Default)]
pub struct PartialAssessment {
    /// The notes about subjects, if there are any.
    cases: BTreeMap<Subject, SubjectNotes>,
    questions: BTreeSet<Question>,
    /// The known facts, and those derived since. They depend on the cluster alone: if two parts derive the same fact,
    /// they agree.
    facts: Facts,
}

impl PartialAssessment {
    /// Returns a part without judgements, with the known facts.
    pub fn new(known: Facts) -> Self {
        Self { facts: known, ..Self::default() }
    }

    /// Judges subjects by every rule about their kinds.
    pub fn judge<'a>(
        &mut self,
        cluster: &Cluster,
        settings: &Settings,
        subjects: impl Iterator<Item = &'a Subject>,
    ) {
        let facts = RefCell::new(std::mem::take(&mut self.facts));
        let cx = Cx::new(cluster, settings, &facts);
        let judged = subjects.filter_map(|subject| {
            let notes = note(&cx, cluster, subject)?;
            Some((subject.clone(), notes))
        });
        self.cases.extend(judged);
        self.questions.append(&mut cx.take_questions());
        self.facts = facts.take();
    }
}

/// Judges one subject by every rule about its kind; `None` if there is nothing to note.
fn note(cx: &Cx, cluster: &Cluster, subject: &Subject) -> Option<SubjectNotes> {
    let mut notes = SubjectNotes::default();
    // Nearly all of these find nothing, so that no `Judgement` is built for each.
    for (rule, judge) in about(subject) {
        match judge.on(cx, cluster, subject) {
            Some(Ok(Some(finding))) => notes.found.push((rule, finding.severity)),
            Some(Err(unseen)) if is_single(cluster, &unseen) => {
                notes.unseen.push((rule.id, unseen));
            }
            // A kind that was not read is reported once, as a gap of that kind.
            None | Some(Ok(None) | Err(_)) => {}
        }
    }
    notes.wake = cx.take_wake();
    let nothing = notes.found.is_empty() && notes.unseen.is_empty() && notes.wake.is_none();
    (!nothing).then_some(notes)
}

/// Judges one rule on one subject, with existing access to the cluster.
pub fn judge_with(cx: &Cx, subject: &Subject, rule: &Rule) -> Judgement {
    let mut judged = Judgement::default();
    for judge in rule.judge {
        match judge.on(cx, cx.cluster(), subject) {
            None | Some(Ok(None)) => {}
            Some(Ok(finding)) => judged.finding = finding,
            Some(Err(unseen)) => judged.unseen = Some(unseen),
        }
    }
    (judged.lookups, judged.wake) = cx.take_notes();
    judged
}

/// Findings about subjects that are not exempt, worst first: each rule with its subject.
fn worst_first<'a>(
    cluster: &Cluster,
    settings: &Settings,
    cases: impl Iterator<Item = (&'a Subject, &'a SubjectNotes)>,
) -> Vec<(&'static Rule, &'a Subject)> {
    let found = cases.flat_map(|(subject, notes)| {
        notes.found.iter().map(move |(rule, severity)| (*severity, *rule, subject))
    });
    let mut found: Vec<_> =
        found.filter(|(_, rule, subject)| !exempt(cluster, settings, subject, rule.id)).collect();
    let key = |subject: &Subject| object_key(cluster, subject);
    found.sort_by(|a, b| (a.0, a.1.id).cmp(&(b.0, b.1.id)).then_with(|| key(a.2).cmp(&key(b.2))));
    found.into_iter().map(|(_, rule, subject)| (rule, subject)).collect()
}

/// The rules about subjects of one kind, in the order of the registry.
fn about(subject: &Subject) -> &'static [(&'static Rule, Judge)] {
    static BY_KIND: std::sync::LazyLock<[Vec<(&'static Rule, Judge)>; SUBJECT_KINDS]> =
        std::sync::LazyLock::new(|| {
            let mut by_kind = [const { Vec::new() }; SUBJECT_KINDS];
            for rule in REGISTRY.iter().chain(USAGE) {
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

/// The notes about all judged subjects, if there are any. What is asked after each change is found without looking at
/// all of them.
#[derive(Debug, Default)]
struct Cases {
    all: BTreeMap<Subject, SubjectNotes>,
    /// Subjects whose judgement may change with time, by that time.
    wakes: BTreeSet<(Time, Subject)>,
    /// Subjects about which a rule could not judge.
    unseen: BTreeSet<Subject>,
}

impl Cases {
    /// The notes about a subject.
    fn get(&self, subject: &Subject) -> Option<&SubjectNotes> {
        self.all.get(subject)
    }

    /// All notes, by subject.
    fn iter(&self) -> btree_map::Iter<'_, Subject, SubjectNotes> {
        self.all.iter()
    }

    /// Removes the notes about a subject.
    fn remove(&mut self, subject: &Subject) {
        let Some(notes) = self.all.remove(subject) else { return };
        if let Some(wake) = notes.wake {
            self.wakes.remove(&(wake, subject.clone()));
        }
        if !notes.unseen.is_empty() {
            self.unseen.remove(subject);
        }
    }

    /// Adds notes about subjects without notes.
    fn append(&mut self, judged: &mut BTreeMap<Subject, SubjectNotes>) {
        for (subject, notes) in &*judged {
            if let Some(wake) = notes.wake {
                self.wakes.insert((wake, subject.clone()));
            }
            if !notes.unseen.is_empty() {
                self.unseen.insert(subject.clone());
            }
        }
        match self.all.is_empty() {
            true => self.all.append(judged),
            // To append rebuilds the whole map, however few are new.
            false => self.all.extend(std::mem::take(judged)),
        }
    }

    /// Time at which the first judgement may change.
    fn wake(&self) -> Option<Time> {
        self.wakes.first().map(|(wake, _)| *wake)
    }

    /// Subjects whose wake time has come.
    fn woken(&self, now: Option<Time>) -> impl Iterator<Item = &Subject> {
        let is_due = move |wake: &Time| now.is_some_and(|now| *wake <= now);
        self.wakes.iter().take_while(move |(wake, _)| is_due(wake)).map(|(_, subject)| subject)
    }

    /// Rules that could not judge, with the reasons.
    fn unseen(&self) -> impl Iterator<Item = &(RuleId, Unseen)> {
        self.unseen.iter().filter_map(|it| self.all.get(it)).flat_map(|notes| &notes.unseen)
    }
}

//! Lookups in a `Cluster` by rules, facts and remedies, recorded for tests and wake times: by index
//! and by name for all types of row, with proofs that an object is absent.

mod backends;
mod drivers;
mod users;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub use self::backends::Others;

use self::backends::Crowd;
use super::table::Stored;
use super::{Cluster, Coverage, Reach, Seen, Unseen};
use crate::drivers::Place;
use crate::model::{
    Age, Answer, Attachment, AttachmentSource, Claim, ClaimKey, Event, Fact, FactKey, Kind,
    NamedRow, ObjectId, ObjectKey, PodUse, Question, Server, Settings, StorageClass, Text,
    Threshold, Time, Volume,
};
use crate::usage::UsageFigures;

/// Access to the cluster for one judgement: every lookup goes through here.
///
/// It records lookups, questions without an answer, and the time at which a judgement may change
/// without any other change.
#[derive(Debug)]
pub struct Cx<'a> {
    cluster: &'a Cluster,
    settings: &'a Settings,
    wake: Cell<Option<Time>>,
    asked: RefCell<BTreeSet<Question>>,
    /// Recorded lookups; `None` while none are recorded, and while a fact is derived, which is one lookup.
    lookups: RefCell<Option<Vec<Lookup>>>,
    facts: &'a RefCell<Facts>,
    /// The volumes that share places with very many others.
    crowds: RefCell<Crowds<'a>>,
    /// The volume that was last seen to share no place with another: several rules ask for it.
    alone: Cell<Option<&'a Volume>>,
    /// Number of lookups made and rows compared: the cost of judgements, however fast the machine is.
    effort: Cell<u64>,
}

/// Number of volumes at the same places from which on these are kept.
const CROWD: usize = 16;

/// The volumes that share storage at places, by the hash of the places.
type Crowds<'a> = HashMap<u64, Vec<(Vec<Place<'static>>, Rc<Crowd<'a>>)>>;

/// Facts about drivers, derived once and used by all volumes of a driver, each with the time at
/// which it has to be derived again.
///
/// The `Assessor` keeps them across changes and compares them, so that a renewed Lease alone makes
/// no volume dirty.
pub type Facts = BTreeMap<FactKey, (Arc<Fact>, Option<Time>)>;

/// A lookup that a judgement made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lookup {
    VolumesAt(Vec<Place<'static>>),
    Claim(ClaimKey),
    ClaimsNaming(Box<str>),
    /// Volumes whose claimRef has this name.
    VolumesOf(ClaimKey),
    VolumeNamed(Box<str>),
    PodsOf(ClaimKey),
    Pod(Text, Box<str>),
    PodsOfSet(Text, Box<str>),
    WorkloadsOf(ClaimKey),
    Set(Text, Box<str>),
    SetsOfStem(Text, Box<str>),
    ClaimsOfStem(Text, Box<str>),
    ClaimsFrom(ClaimKey),
    ClaimsRestoredFrom(Text, Box<str>),
    ClasslessClaims,
    AutoscalersOf(Text, Box<str>),
    VolumeSnapshot(Text, Box<str>),
    VolumeSnapshotsOf(ClaimKey),
    UsersOfAttributes(Box<str>),
    AttachedVolume(Box<str>),
    /// A node, with the kind of the object that references it.
    Node(Box<str>, Kind),
    ClaimedClass(Text),
    Classes,
    SnapshotClasses,
    AttachmentsOf(Box<str>),
    /// Attachments with an inline volume source.
    InlineAttachmentsAt(Vec<Place<'static>>),
    SnapshotsAt(Vec<Place<'static>>),
    NodesAt(Vec<Place<'static>>),
    PodsAt(Vec<Place<'static>>),
    WorkloadsAt(Vec<Place<'static>>),
    KeptAt(Vec<Place<'static>>),
    /// Another volume that shares an id with the one of this name.
    Namesake(Box<str>),
    /// Recognition of a driver.
    Recognition(Box<str>),
    Nodes,
    Class(Text),
    EventsOf(ObjectKey),
    Answer(Question),
    Fact(FactKey),
    CsiDriver(Text),
    /// Whether a kind was read completely.
    Whole(Kind),
}

impl<'a> Cx<'a> {
    /// Returns access for judgements, with these facts.
    pub fn new(cluster: &'a Cluster, settings: &'a Settings, facts: &'a RefCell<Facts>) -> Self {
        Self {
            cluster,
            settings,
            wake: Cell::new(None),
            asked: RefCell::default(),
            lookups: RefCell::new(None),
            facts,
            crowds: RefCell::default(),
            alone: Cell::new(None),
            effort: Cell::new(0),
        }
    }

    /// The settings: thresholds, scope and accepted risks.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// The cluster, for code that iterates over all rows.
    pub fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    /// How full volumes are, if that was read; it is read once.
    pub(crate) fn figures(&self) -> Option<&'a UsageFigures> {
        self.cluster.figures()
    }

    /// The server's clock, for records of when a decision was made. Rules compare ages with
    /// thresholds instead, so that the wake time is recorded.
    pub fn clock(&self) -> Option<Time> {
        self.cluster.clock()
    }

    /// Starts to record lookups, for tests of what a judgement depends on.
    pub fn listen(&self) {
        *self.lookups.borrow_mut() = Some(Vec::new());
    }

    /// Takes the lookups and the wake time that were recorded since the last call.
    pub fn take_notes(&self) -> (Vec<Lookup>, Option<Time>) {
        let lookups = self.lookups.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default();
        (lookups, self.wake.take())
    }

    /// Takes the earliest time at which an answer since the last call may change.
    pub fn take_wake(&self) -> Option<Time> {
        self.wake.take()
    }

    /// Takes the questions that have no answer.
    pub fn take_questions(&self) -> BTreeSet<Question> {
        self.asked.take()
    }

    /// Takes the number of lookups made and rows compared since the last call, for tests of its growth with the
    /// cluster.
    pub fn take_effort(&self) -> u64 {
        self.effort.take()
    }

    fn costs(&self, rows: usize) {
        self.effort.set(self.effort.get() + rows as u64);
    }

    fn note(&self, lookup: impl FnOnce() -> Lookup) {
        self.costs(1);
        if let Some(lookups) = self.lookups.borrow_mut().as_mut() {
            lookups.push(lookup());
        }
    }

    // --- time -----------------------------------------------------------------------------

    /// The server's version, if it was read.
    pub fn server(&self) -> Option<&'a Server> {
        self.cluster.server.as_ref()
    }

    /// Whether an age is at least a threshold. An unknown age never is.
    pub fn older_than(&self, age: &Age, threshold: Threshold) -> bool {
        age.since.is_some_and(|since| self.passed(since, self.settings.thresholds.get(threshold)))
    }

    /// Whether a duration has passed since a time. Without a clock it has not.
    pub fn passed(&self, since: Time, duration: Duration) -> bool {
        let Some(now) = self.cluster.clock() else { return false };
        let due = chrono::Duration::from_std(duration)
            .ok()
            .and_then(|duration| since.checked_add_signed(duration));
        let Some(due) = due else { return false };
        if due > now {
            self.wake_at(due);
        }
        due <= now
    }

    /// Whether the server's clock is known: without it nothing is recent, and nothing is long ago.
    pub fn has_clock(&self) -> bool {
        self.cluster.clock().is_some()
    }

    /// Whether a time lies further in the future than clocks may differ.
    pub fn is_future(&self, time: Time, slack: Duration) -> bool {
        let Some(now) = self.cluster.exact_clock() else { return false };
        let slack = chrono::Duration::from_std(slack).unwrap_or_default();
        let Some(from) = time.checked_sub_signed(slack) else { return false };
        if from > now {
            self.wake_at(from);
        }
        from > now
    }

    fn wake_at(&self, due: Time) {
        let earliest = self.wake.get().map_or(due, |known| known.min(due));
        self.wake.set(Some(earliest));
    }

    // --- volumes and claims ----------------------------------------------------------------

    /// Whether the kind was read completely, in all namespaces.
    ///
    /// # Errors
    /// When it was not.
    pub fn all_of(&self, kind: Kind) -> Seen<()> {
        self.note(|| Lookup::Whole(kind));
        self.cluster.reach(kind, None)
    }

    /// Whether the server serves a kind.
    ///
    /// # Errors
    /// When its objects were not read in that namespace.
    pub fn serves(&self, kind: Kind, namespace: Option<&Text>) -> Seen<bool> {
        self.note(|| Lookup::Whole(kind));
        self.cluster.serves(kind, namespace)
    }

    /// Returns a volume by name; `Ok(None)` if it is known to be absent.
    ///
    /// # Errors
    /// When volumes were not read, or the absence is not proven.
    pub fn volume(&self, name: &str) -> Seen<Option<&'a Volume>> {
        self.note(|| Lookup::VolumeNamed(name.into()));
        self.by_name(Kind::PersistentVolume, None, name, Kind::PersistentVolumeClaim)
    }

    /// Returns the claim that a volume references; `Ok(None)` if it is known to be absent.
    ///
    /// # Errors
    /// When claims of that namespace were not read, or when the list of claims began before the
    /// list of volumes ended and the claim was not requested since.
    pub fn claim(&self, key: &ClaimKey) -> Seen<Option<&'a Claim>> {
        self.note(|| Lookup::Claim(key.clone()));
        let (kind, namespace) = (Kind::PersistentVolumeClaim, Some(&key.namespace));
        self.by_name(kind, namespace, &key.name, Kind::PersistentVolume)
    }

    /// Returns the claims whose `spec.volumeName` is this volume.
    ///
    /// # Errors
    /// When claims were not read in every namespace.
    pub fn claims_naming(&self, volume: &str) -> Seen<Vec<&'a Claim>> {
        self.note(|| Lookup::ClaimsNaming(volume.into()));
        self.all_of(Kind::PersistentVolumeClaim)?;
        let ids = self.cluster.indexes.claims_by_volume.candidates(volume);
        self.matching(ids, |claim: &Claim| claim.volume_name.as_deref() == Some(volume))
    }

    /// Returns the volumes whose claimRef has this name, whatever its uid.
    ///
    /// # Errors
    /// When volumes were not read.
    pub fn volumes_of(&self, key: &ClaimKey) -> Seen<Vec<&'a Volume>> {
        self.note(|| Lookup::VolumesOf(key.clone()));
        self.all_of(Kind::PersistentVolume)?;
        let ids = self.cluster.indexes.volumes_by_claim.candidates((&*key.namespace, &*key.name));
        self.matching(ids, |it: &Volume| it.claim_ref.as_ref().is_some_and(|it| it.key == *key))
    }

    // --- users -----------------------------------------------------------------------------

    /// Returns the pods with a volume that references a claim, in any phase, scheduled or not.
    ///
    /// # Errors
    /// When pods of that namespace were not read.
    pub fn pods_of(&self, key: &ClaimKey) -> Seen<Vec<&'a PodUse>> {
        self.note(|| Lookup::PodsOf(key.clone()));
        self.cluster.reach(Kind::Pod, Some(&key.namespace))?;
        let ids = self.cluster.indexes.pods_by_claim.candidates((&*key.namespace, &*key.name));
        self.matching(ids, |pod: &PodUse| {
            pod.namespace == key.namespace
                && pod.claims.iter().any(|mounted| mounted.claim == key.name)
        })
    }

    /// Returns the attachments of a volume, in any state.
    ///
    /// # Errors
    /// When attachments were not read.
    pub fn attachments_of(&self, volume: &str) -> Seen<Vec<&'a Attachment>> {
        self.note(|| Lookup::AttachmentsOf(volume.into()));
        self.all_of(Kind::VolumeAttachment)?;
        let ids = self.cluster.indexes.attachments_by_volume.candidates(volume);
        self.matching(ids, |row: &Attachment| {
            matches!(&row.source, AttachmentSource::Volume(name) if **name == *volume)
        })
    }

    // --- classes, events, answers -----------------------------------------------------------

    /// Returns a storage class; `Ok(None)` if it is known to be absent.
    ///
    /// # Errors
    /// When classes were not read, or were listed before the volumes.
    pub fn class(&self, name: &Text) -> Seen<Option<&'a StorageClass>> {
        self.note(|| Lookup::Class(Text::clone(name)));
        self.cluster.legible(Kind::StorageClass, "", name)?;
        if let Some(class) = self.cluster.tables.classes.named(Kind::StorageClass, "", name) {
            return Ok(Some(class));
        }
        self.listed_after(Kind::StorageClass, None, Kind::PersistentVolume)?;
        Ok(None)
    }

    /// Returns the events about an object, oldest first.
    ///
    /// # Errors
    /// When events were not read.
    pub fn events_of(&self, key: &ObjectKey) -> Seen<Vec<&'a Event>> {
        self.note(|| Lookup::EventsOf(key.clone()));
        self.all_of(Kind::Event)?;
        let wanted = super::store::object_key(key);
        let ids = self.cluster.indexes.events_by_object.candidates(wanted);
        let is_about = |event: &Event| super::store::object_key(&event.about) == wanted;
        let mut events = self.matching(ids, is_about)?;
        events.sort_by(|a, b| (a.last_seen, &a.name).cmp(&(b.last_seen, &b.name)));
        Ok(events)
    }

    /// Returns the answer to a question that is asked anyway, if there is one.
    pub fn known_answer(&self, question: &Question) -> Option<&'a Answer> {
        self.note(|| Lookup::Answer(question.clone()));
        self.cluster.answers.get(question)
    }

    /// Returns the answer to a question; if there is none yet, records the question.
    ///
    /// # Errors
    /// When there is no answer yet.
    pub fn answer(&self, question: Question) -> Seen<Answer> {
        self.note(|| Lookup::Answer(question.clone()));
        if let Some(answer) = self.cluster.answers.get(&question) {
            return Ok(answer.clone());
        }
        let (kind, namespace) = (question.kind(), question.namespace().cloned());
        self.asked.borrow_mut().insert(question);
        Err(Unseen { kind, namespace, reason: "not requested".to_owned() })
    }
}

impl<'a> Cx<'a> {
    /// Returns the rows among the candidates of an index that really match, in the order of namespace and name.
    fn matching<R: Stored>(
        &self,
        candidates: impl Iterator<Item = ObjectId>,
        matches: impl Fn(&R) -> bool,
    ) -> Seen<Vec<&'a R>> {
        let table = R::table(&self.cluster.tables);
        let rows = candidates.filter_map(|id| table.get(id)).inspect(|_| self.costs(1));
        let mut rows: Vec<_> = rows.filter(|row| matches(row)).collect();
        rows.sort_by(|a, b| (a.namespace(), a.name()).cmp(&(b.namespace(), b.name())));
        rows.iter().try_for_each(|row| self.legible(*row))?;
        Ok(rows)
    }

    /// Fails where a part of a row that matters could not be read.
    ///
    /// # Errors
    /// What could not.
    fn legible(&self, row: &impl NamedRow) -> Seen<()> {
        let (kind, namespace, name) = row.identity();
        self.cluster.legible(kind, namespace, name)
    }

    /// Returns an object that an object of the kind `referenced_by` references; `Ok(None)` if it is
    /// known to be absent.
    fn by_name<R: Stored>(
        &self,
        kind: Kind,
        namespace: Option<&Text>,
        name: &str,
        referenced_by: Kind,
    ) -> Seen<Option<&'a R>> {
        let in_namespace = namespace.map_or("", |namespace| namespace);
        let row = R::table(&self.cluster.tables).named(kind, in_namespace, name);
        self.cluster.legible(kind, in_namespace, name)?;
        if row.is_none() {
            self.absent(kind, namespace, name, referenced_by)?;
        }
        Ok(row)
    }

    /// Fails unless an object that no list contains is known to be absent: by the order of the lists, or by an answer
    /// about this object.
    fn absent(&self, kind: Kind, namespace: Option<&Text>, name: &str, naming: Kind) -> Seen<()> {
        let key = ObjectKey { kind, namespace: namespace.cloned(), name: name.into() };
        let exists = Question::Exists(key.clone());
        if self.cluster.answers().get(&exists) == Some(&Answer::No) {
            self.note(|| Lookup::Answer(exists));
            return Ok(());
        }
        self.cluster.reach(kind, namespace)?;
        if self.listed_after(kind, namespace, naming).is_ok() {
            return Ok(());
        }
        let reason = format!("unknown whether {key} exists");
        let answer = self.answer(Question::Exists(key.clone()));
        match answer.map_err(|unseen| Unseen { reason, ..unseen })? {
            Answer::No => Ok(()),
            // The object would have been returned as a row; it may have been deleted since.
            Answer::Yes
            | Answer::Is(_)
            | Answer::Owner(_)
            | Answer::Users(_)
            | Answer::Announcements(_)
            | Answer::Unanswered(_)
            | Answer::Forbidden
            | Answer::NotServed { .. } => Err(Unseen {
                kind,
                namespace: namespace.cloned(),
                reason: format!("whether {key} exists could not be confirmed"),
            }),
        }
    }

    /// Fails unless the list of a kind began after the list of the objects that reference it ended: only then is an
    /// object that it does not contain known to be absent.
    fn listed_after(&self, kind: Kind, namespace: Option<&Text>, naming: Kind) -> Seen<()> {
        let (began, _) = self.cluster.listed(kind, namespace)?;
        let ended = match self.cluster.coverages.get(&Reach::all(naming)) {
            Some(Coverage::Seen { ended, .. }) => *ended,
            // The list of referencing objects is incomplete, or was read in parts: this proves
            // nothing.
            _ => u64::MAX,
        };
        if began >= ended {
            return Ok(());
        }
        Err(Unseen {
            kind,
            namespace: namespace.cloned(),
            reason: format!("{} were listed before {}", kind.plural(), naming.plural()),
        })
    }
}

//! What a judgement may look at.

mod backends;
mod drivers;
mod nodes;
mod sets;
mod users;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{Cluster, Coverage, Reach, Seen, Unseen};
use crate::model::{
    Age, Answer, Attachment, BackendKey, Claim, ClaimKey, Event, Fact, FactKey, Kind, ObjectKey,
    PodUse, Question, Server, Settings, StorageClass, Text, Threshold, Time, Volume,
};

/// The eyes of a judgement: every look at the cluster goes through here.
///
/// It notes what was looked at, what would have to be asked, and when time alone will change the
/// answer.
#[derive(Debug)]
pub struct Cx<'a> {
    cluster: &'a Cluster,
    settings: &'a Settings,
    wake: Cell<Option<Time>>,
    asked: RefCell<BTreeSet<Question>>,
    /// `None` while nobody listens, and inside a fact that is noted as a whole.
    looked: RefCell<Option<Vec<Lookup>>>,
    facts: &'a RefCell<Facts>,
    /// The volumes of backend volumes that very many share, so that they are not sorted for each.
    crowds: RefCell<BTreeMap<BackendKey, Vec<&'a Volume>>>,
}

/// From this many volumes on, those that share a backend volume are kept.
const CROWD: usize = 16;

/// Facts about drivers, derived once and used by all volumes of a driver, each with the time at
/// which it has to be derived again.
///
/// Whoever keeps them across changes compares them, so that a Lease that was merely renewed makes
/// no volume dirty.
pub type Facts = BTreeMap<FactKey, (Arc<Fact>, Option<Time>)>;

/// One look at the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lookup {
    VolumesOfBackend(BackendKey),
    Claim(ClaimKey),
    ClaimsNaming(Box<str>),
    VolumeNamed(Box<str>),
    PodsOf(ClaimKey),
    Pod(Text, Box<str>),
    PodsOfSet(Text, Box<str>),
    WorkloadsOf(ClaimKey),
    Set(Text, Box<str>),
    SetsOfStem(Text, Box<str>),
    ClaimsOfStem(Text, Box<str>),
    ClaimsFrom(ClaimKey),
    ClasslessClaims,
    AutoscalersOf(Text, Box<str>),
    VolumeSnapshot(Text, Box<str>),
    VolumeSnapshotsOf(ClaimKey),
    UsersOfAttributes(Box<str>),
    AttachedVolume(Box<str>),
    /// A node, with the kind of the object that names it.
    Node(Box<str>, Kind),
    ClaimedClass(Text),
    Classes,
    AttachmentsOf(Box<str>),
    /// Attachments that describe their volume themselves.
    InlineAttachmentsOf(BackendKey),
    SnapshotsOf(BackendKey),
    NodesHolding(BackendKey),
    Nodes,
    Class(Text),
    EventsOf(ObjectKey),
    Answer(Question),
    Fact(FactKey),
    CsiDriver(Text),
    /// Whether a kind was seen whole.
    Whole(Kind),
}

impl<'a> Cx<'a> {
    /// Prepares to judge.
    pub fn new(cluster: &'a Cluster, settings: &'a Settings, facts: &'a RefCell<Facts>) -> Self {
        Self {
            cluster,
            settings,
            wake: Cell::new(None),
            asked: RefCell::default(),
            looked: RefCell::new(None),
            facts,
            crowds: RefCell::default(),
        }
    }

    /// What the user asked for.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Everything that was seen, for whoever goes through all of it.
    pub fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    /// The server's clock, for whoever records when something was decided. Rules compare ages with
    /// thresholds instead, so that it is noted when time alone changes the answer.
    pub fn clock(&self) -> Option<Time> {
        self.cluster.clock()
    }

    /// Starts to note lookups, for tests of what a judgement depends on.
    pub fn listen(&self) {
        *self.looked.borrow_mut() = Some(Vec::new());
    }

    /// Takes what was noted since the last call: lookups, and the wake time.
    pub fn take_notes(&self) -> (Vec<Lookup>, Option<Time>) {
        let looked = self.looked.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default();
        (looked, self.wake.take())
    }

    /// Takes the earliest time at which an answer since the last call may change.
    pub fn take_wake(&self) -> Option<Time> {
        self.wake.take()
    }

    /// Takes the questions that came up.
    pub fn take_questions(&self) -> BTreeSet<Question> {
        self.asked.take()
    }

    fn note(&self, lookup: impl FnOnce() -> Lookup) {
        if let Some(looked) = self.looked.borrow_mut().as_mut() {
            looked.push(lookup());
        }
    }

    // --- time -----------------------------------------------------------------------------

    /// What the server says of itself, where it was asked.
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

    /// Whether there is a clock at all: without one nothing is recent, and nothing is long ago.
    pub fn has_clock(&self) -> bool {
        self.cluster.clock().is_some()
    }

    /// Whether a time lies further in the future than clocks may differ.
    pub fn is_future(&self, time: Time, slack: Duration) -> bool {
        let Some(now) = self.cluster.clock() else { return false };
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

    /// Whether the kind was seen whole, in all namespaces.
    ///
    /// # Errors
    /// When it was not.
    pub fn all_of(&self, kind: Kind) -> Seen<()> {
        self.note(|| Lookup::Whole(kind));
        self.cluster.reach(kind, None)
    }

    /// Returns the volumes that name the same backend volume, in the order of their names.
    ///
    /// # Errors
    /// When volumes were not seen.
    pub fn volumes_of_backend(&self, backend: &BackendKey) -> Seen<Vec<&'a Volume>> {
        self.note(|| Lookup::VolumesOfBackend(backend.clone()));
        self.all_of(Kind::PersistentVolume)?;
        if let Some(known) = self.crowds.borrow().get(backend) {
            return Ok(known.clone());
        }
        let mut volumes: Vec<_> =
            self.cluster.volumes_of_backend(backend).map(|(_, volume)| volume).collect();
        volumes.sort_by(|a, b| a.name().cmp(b.name()));
        if volumes.len() >= CROWD {
            self.crowds.borrow_mut().insert(backend.clone(), volumes.clone());
        }
        Ok(volumes)
    }

    /// Returns a volume by name; `Ok(None)` when it is known to be absent.
    ///
    /// # Errors
    /// When volumes were not seen, or the list began too early to prove the absence.
    pub fn volume(&self, name: &str) -> Seen<Option<&'a Volume>> {
        self.note(|| Lookup::VolumeNamed(name.into()));
        if let Some(id) = self.cluster.volumes.find(Kind::PersistentVolume, "", name) {
            return Ok(self.cluster.volumes.get(id));
        }
        self.absent(Kind::PersistentVolume, None, name, Kind::PersistentVolumeClaim)?;
        Ok(None)
    }

    /// Returns the claim that a volume names; `Ok(None)` when it is known to be absent.
    ///
    /// # Errors
    /// When claims of that namespace were not seen, or when the list of claims began before the
    /// list of volumes had ended and nobody has asked for this one since.
    pub fn claim(&self, key: &ClaimKey) -> Seen<Option<&'a Claim>> {
        self.note(|| Lookup::Claim(key.clone()));
        let kind = Kind::PersistentVolumeClaim;
        if let Some(id) = self.cluster.claims.find(kind, &key.namespace, &key.name) {
            return Ok(self.cluster.claims.get(id));
        }
        self.absent(kind, Some(&key.namespace), &key.name, Kind::PersistentVolume)?;
        Ok(None)
    }

    /// Returns the claims whose `spec.volumeName` is this volume.
    ///
    /// # Errors
    /// When claims were not seen in every namespace.
    pub fn claims_naming(&self, volume: &str) -> Seen<Vec<&'a Claim>> {
        self.note(|| Lookup::ClaimsNaming(volume.into()));
        self.all_of(Kind::PersistentVolumeClaim)?;
        let ids = self.cluster.indexes.claims_by_volume.candidates(volume);
        let mut claims: Vec<_> = ids
            .filter_map(|id| self.cluster.claims.get(id))
            .filter(|claim| claim.volume_name.as_deref() == Some(volume))
            .collect();
        claims.sort_by(|a, b| {
            (&a.namespace, &a.metadata.name).cmp(&(&b.namespace, &b.metadata.name))
        });
        Ok(claims)
    }

    // --- users -----------------------------------------------------------------------------

    /// Returns the pods whose volumes name a claim, in any phase, scheduled or not.
    ///
    /// # Errors
    /// When pods of that namespace were not seen.
    pub fn pods_of(&self, key: &ClaimKey) -> Seen<Vec<&'a PodUse>> {
        self.note(|| Lookup::PodsOf(key.clone()));
        self.cluster.reach(Kind::Pod, Some(&key.namespace))?;
        let ids = self.cluster.indexes.pods_by_claim.candidates((&*key.namespace, &*key.name));
        let mut pods: Vec<_> = ids
            .filter_map(|id| self.cluster.pods.get(id))
            .filter(|pod| {
                pod.namespace == key.namespace
                    && pod.claims.iter().any(|mounted| mounted.claim == key.name)
            })
            .collect();
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(pods)
    }

    /// Returns the attachments of a volume, in any state.
    ///
    /// # Errors
    /// When attachments were not seen.
    pub fn attachments_of(&self, volume: &str) -> Seen<Vec<&'a Attachment>> {
        self.note(|| Lookup::AttachmentsOf(volume.into()));
        self.all_of(Kind::VolumeAttachment)?;
        let ids = self.cluster.indexes.attachments_by_volume.candidates(volume);
        let is_of = |row: &&Attachment| matches!(&row.source, crate::model::AttachmentSource::Volume(name) if **name == *volume);
        let mut rows: Vec<_> =
            ids.filter_map(|id| self.cluster.attachments.get(id)).filter(is_of).collect();
        rows.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(rows)
    }

    // --- classes, events, answers -----------------------------------------------------------

    /// Returns a storage class; `Ok(None)` when it is known to be absent.
    ///
    /// # Errors
    /// When classes were not seen, or were listed before the volumes.
    pub fn class(&self, name: &Text) -> Seen<Option<&'a StorageClass>> {
        self.note(|| Lookup::Class(Text::clone(name)));
        if let Some(id) = self.cluster.classes.find(Kind::StorageClass, "", name) {
            return Ok(self.cluster.classes.get(id));
        }
        self.listed_after(Kind::StorageClass, None, Kind::PersistentVolume)?;
        Ok(None)
    }

    /// Returns the events about an object, oldest first.
    ///
    /// # Errors
    /// When events were not seen.
    pub fn events_of(&self, key: &ObjectKey) -> Seen<Vec<&'a Event>> {
        self.note(|| Lookup::EventsOf(key.clone()));
        self.all_of(Kind::Event)?;
        let wanted = super::store::object_key(key);
        let ids = self.cluster.indexes.events_by_object.candidates(wanted);
        let mut events: Vec<_> = ids
            .filter_map(|id| self.cluster.events.get(id))
            .filter(|event| super::store::object_key(&event.about) == wanted)
            .collect();
        events.sort_by(|a, b| (a.last_seen, &a.name).cmp(&(b.last_seen, &b.name)));
        Ok(events)
    }

    /// Returns the answer to a question; where there is none yet, notes that it came up.
    ///
    /// # Errors
    /// When it was not answered yet.
    pub fn answer(&self, question: Question) -> Seen<Answer> {
        self.note(|| Lookup::Answer(question.clone()));
        if let Some(answer) = self.cluster.answers.get(&question) {
            return Ok(answer.clone());
        }
        let (kind, namespace) = (question.kind(), question.namespace().cloned());
        self.asked.borrow_mut().insert(question);
        Err(Unseen { kind, namespace, reason: "nobody asked".to_owned() })
    }

    // --- absence ---------------------------------------------------------------------------

    /// Whether what no list shows is known to be absent: because of the order of the lists, or
    /// because somebody asked for it by name.
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
        let reason = format!("whether {key} exists was not asked");
        let answer = self.answer(Question::Exists(key.clone()));
        match answer.map_err(|unseen| Unseen { reason, ..unseen })? {
            Answer::No => Ok(()),
            // Then it would have come back as a row; it may have gone again since.
            Answer::Yes | Answer::Is(_) | Answer::Unanswered(_) | Answer::Forbidden => {
                Err(Unseen {
                    kind,
                    namespace: namespace.cloned(),
                    reason: format!("whether {key} exists could not be confirmed"),
                })
            }
        }
    }

    /// Whether the list of a kind began after the list of what names it had ended: only then is
    /// what it does not show known to be absent.
    fn listed_after(&self, kind: Kind, namespace: Option<&Text>, naming: Kind) -> Seen<()> {
        let (began, _) = self.cluster.coverages.reach(kind, namespace)?;
        let ended = match self.cluster.coverages.get(&Reach::all(naming)) {
            Some(Coverage::Seen { ended, .. }) => *ended,
            // What names it is still coming in, or came in parts: nothing is proven.
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

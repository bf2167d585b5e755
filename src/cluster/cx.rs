//! What a judgement may look at.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use super::{Cluster, Coverage, Reach, Seen, Unseen, lookup::node_volume_name};
use crate::model::{
    Age, Answer, Attachment, BackendKey, Claim, ClaimKey, CsiDriver, CsiNode, Event, Fact, FactKey,
    Kind, Lease, Node, NodeAffinity, NodeRequirement, NodeTerm, ObjectKey, PodUse, Question, Role,
    Server, Settings, SnapshotContent, StorageClass, Text, Threshold, Time, Volume, Workload,
};

/// The eyes of a judgement: every look at the cluster goes through here.
///
/// It notes what was looked at, what would have to be asked, and when time alone will change the
/// answer. Nobody gets to see the time itself.
#[derive(Debug)]
pub struct Cx<'a> {
    cluster: &'a Cluster,
    settings: &'a Settings,
    wake: Cell<Option<Time>>,
    asked: RefCell<BTreeSet<Question>>,
    /// `None` while nobody listens, and inside a fact that is noted as a whole.
    looked: RefCell<Option<Vec<Lookup>>>,
    facts: &'a RefCell<Facts>,
}

/// Facts about drivers, derived once and used by all volumes of a driver, each with the time at
/// which it has to be derived again.
///
/// Whoever keeps them across changes compares them, so that a Lease that was merely renewed makes
/// no volume dirty.
pub type Facts = BTreeMap<FactKey, (Rc<Fact>, Option<Time>)>;

/// One look at the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lookup {
    VolumesOfBackend(BackendKey),
    Claim(ClaimKey),
    ClaimsNaming(Box<str>),
    VolumeNamed(Box<str>),
    PodsOf(ClaimKey),
    AttachmentsOf(Box<str>),
    SnapshotsOf(BackendKey),
    NodesHolding(BackendKey),
    Nodes,
    Class(Text),
    EventsOf(ObjectKey),
    Answer(Question),
    Fact(FactKey),
    CsiDriver(Text),
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
        }
    }

    /// What the user asked for.
    pub fn settings(&self) -> &'a Settings {
        self.settings
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
        self.cluster.reach(kind, None)
    }

    /// Returns the volumes that name the same backend volume, in the order of their names.
    ///
    /// # Errors
    /// When volumes were not seen.
    pub fn volumes_of_backend(&self, backend: &BackendKey) -> Seen<Vec<&'a Volume>> {
        self.note(|| Lookup::VolumesOfBackend(backend.clone()));
        self.all_of(Kind::PersistentVolume)?;
        let mut volumes: Vec<_> =
            self.cluster.volumes_of_backend(backend).map(|(_, volume)| volume).collect();
        volumes.sort_by(|a, b| a.name().cmp(b.name()));
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
        self.listed_after(Kind::PersistentVolume, None, Kind::PersistentVolumeClaim)?;
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
        self.cluster.reach(kind, Some(&key.namespace))?;
        if self.listed_after(kind, Some(&key.namespace), Kind::PersistentVolume).is_ok() {
            return Ok(None);
        }
        match self.answer(Question::ClaimExists(key.clone()))? {
            Answer::No => Ok(None),
            // Then it would have come back as a row; it may have gone again since.
            Answer::Yes | Answer::Unanswered(_) | Answer::Forbidden => Err(Unseen {
                kind,
                namespace: Some(Text::clone(&key.namespace)),
                reason: format!("whether claim {key} exists could not be confirmed"),
            }),
        }
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

    /// Returns the snapshots and group snapshots that were or are being taken of a volume.
    ///
    /// # Errors
    /// When either kind is served and was not seen.
    pub fn snapshots_of(&self, backend: &BackendKey) -> Seen<Vec<&'a SnapshotContent>> {
        self.note(|| Lookup::SnapshotsOf(backend.clone()));
        self.all_of(Kind::VolumeSnapshotContent)?;
        self.all_of(Kind::VolumeGroupSnapshotContent)?;
        let key = (&*backend.driver, &*backend.handle);
        let is_of = |row: &&SnapshotContent| match &row.source {
            crate::model::SnapshotSource::Volumes(handles) => {
                row.driver == backend.driver && handles.contains(&backend.handle)
            }
            crate::model::SnapshotSource::Existing => false,
        };
        let ids = self.cluster.indexes.snapshots_by_backend.candidates(key);
        let mut rows: Vec<_> =
            ids.filter_map(|id| self.cluster.snapshots.get(id)).filter(is_of).collect();
        rows.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(rows)
    }

    // --- nodes -----------------------------------------------------------------------------

    /// Returns the nodes that say they hold a CSI volume, in use or attached.
    ///
    /// # Errors
    /// When nodes were not seen.
    pub fn nodes_holding(&self, backend: &BackendKey) -> Seen<Vec<&'a Node>> {
        self.note(|| Lookup::NodesHolding(backend.clone()));
        self.all_of(Kind::Node)?;
        let name = node_volume_name(backend);
        let ids = self.cluster.indexes.nodes_by_volume.candidates(&*name);
        let nodes = ids.filter_map(|id| self.cluster.nodes.get(id));
        Ok(nodes.filter(|node| node.volumes.iter().any(|known| **known == *name)).collect())
    }

    /// Whether any node satisfies an affinity; `false` only when it is known that none does.
    ///
    /// # Errors
    /// When nodes were not seen, or were listed before the volumes.
    pub fn any_node_matches(&self, affinity: &Arc<NodeAffinity>) -> Seen<bool> {
        self.note(|| Lookup::Nodes);
        if affinity.terms.iter().any(|term| self.any_node_matches_term(term)) {
            return Ok(true);
        }
        self.listed_after(Kind::Node, None, Kind::PersistentVolume)?;
        Ok(false)
    }

    fn any_node_matches_term(&self, term: &NodeTerm) -> bool {
        if term.labels.is_empty() && term.fields.is_empty() {
            return false; // An empty term matches nothing (core/v1 NodeSelectorTerm).
        }
        let matches = |node: &Node| {
            term.labels.iter().all(|it| requirement_holds(it, node.metadata.label(&it.key)))
                && term.fields.iter().all(|it| match &*it.key {
                    "metadata.name" => requirement_holds(it, Some(&node.metadata.name)),
                    _ => false,
                })
        };
        // The nodes under one wanted label are few where all nodes are many.
        let wanted = term.labels.iter().find(|it| &*it.operator == "In");
        match wanted {
            Some(wanted) => wanted.values.iter().any(|value| {
                let key = (&*wanted.key, &**value);
                let ids = self.cluster.indexes.nodes_by_label.candidates(key);
                ids.filter_map(|id| self.cluster.nodes.get(id)).any(matches)
            }),
            None => self.cluster.nodes.iter().any(|(_, node)| matches(node)),
        }
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
        let (kind, namespace) = match &question {
            Question::ClaimExists(key) => {
                (Kind::PersistentVolumeClaim, Text::clone(&key.namespace))
            }
            Question::SecretExists { namespace, .. } => (Kind::Secret, Text::clone(namespace)),
            Question::MayPatchVolumes { namespace, .. } => {
                (Kind::SubjectAccessReview, Text::clone(namespace))
            }
        };
        self.asked.borrow_mut().insert(question);
        Err(Unseen { kind, namespace: Some(namespace), reason: "nobody asked".to_owned() })
    }

    // --- drivers ---------------------------------------------------------------------------

    /// Returns a fact about a driver, deriving it at most once.
    pub fn fact(&self, key: FactKey, derive: impl FnOnce() -> Fact) -> Rc<Fact> {
        self.note(|| Lookup::Fact(key.clone()));
        let known = self.facts.borrow().get(&key).cloned();
        let (fact, wake) = known.unwrap_or_else(|| {
            let (fact, wake) = self.apart(derive);
            let derived = (Rc::new(fact), wake);
            self.facts.borrow_mut().insert(key, derived.clone());
            derived
        });
        if let Some(wake) = wake {
            self.wake_at(wake);
        }
        fact
    }

    /// Derives a fact with notes of its own, and returns it with its wake time.
    fn apart<T>(&self, derive: impl FnOnce() -> T) -> (T, Option<Time>) {
        let (looked, wake) = (self.looked.take(), self.wake.take());
        let fact = derive();
        let own_wake = self.wake.replace(wake);
        *self.looked.borrow_mut() = looked;
        (fact, own_wake)
    }

    /// Returns the `CSIDriver` of this name, if it was seen.
    ///
    /// # Errors
    /// When it was not found and the kind was not seen.
    pub fn csi_driver(&self, name: &Text) -> Seen<Option<&'a CsiDriver>> {
        self.note(|| Lookup::CsiDriver(Text::clone(name)));
        if let Some(id) = self.cluster.csi_drivers.find(Kind::CsiDriver, "", name) {
            return Ok(self.cluster.csi_drivers.get(id));
        }
        self.all_of(Kind::CsiDriver)?;
        Ok(None)
    }

    /// Returns the nodes on which a driver is registered. Only facts may ask.
    ///
    /// # Errors
    /// When none was found and the kind was not seen.
    pub fn csi_nodes_of(&self, driver: &str) -> Seen<Vec<&'a CsiNode>> {
        let ids = self.cluster.indexes.csi_nodes_by_driver.candidates(driver);
        let nodes: Vec<_> = ids
            .filter_map(|id| self.cluster.csi_nodes.get(id))
            .filter(|node| node.drivers.iter().any(|known| **known == *driver))
            .collect();
        if nodes.is_empty() {
            self.all_of(Kind::CsiNode)?;
        }
        Ok(nodes)
    }

    /// Returns the leases of this name, in any namespace. Only facts may ask.
    ///
    /// # Errors
    /// When none was found and leases were not seen everywhere.
    pub fn leases_named(&self, name: &str) -> Seen<Vec<&'a Lease>> {
        let ids = self.cluster.indexes.leases_by_name.candidates(name);
        let leases: Vec<_> = ids
            .filter_map(|id| self.cluster.leases.get(id))
            .filter(|lease| &*lease.metadata.name == name)
            .collect();
        if leases.is_empty() {
            self.all_of(Kind::Lease)?;
        }
        Ok(leases)
    }

    /// Returns the pods that run storage sidecars, as far as pods were seen. Only facts may ask.
    pub fn sidecar_pods(&self) -> impl Iterator<Item = &'a PodUse> {
        self.cluster.indexes.sidecar_pods.iter().filter_map(|id| self.cluster.pods.get(*id))
    }

    /// Returns the workloads that would run storage sidecars. Only facts may ask.
    pub fn sidecar_workloads(&self) -> impl Iterator<Item = &'a Workload> {
        self.cluster.workloads.iter().map(|(_, workload)| workload)
    }

    /// Returns the volumes that name a driver. Only facts may ask.
    pub fn volumes_of_driver(&self, driver: &str) -> impl Iterator<Item = &'a Volume> {
        let ids = self.cluster.indexes.volumes_by_driver.candidates(driver);
        let ids: Vec<_> = ids.collect();
        let driver: Box<str> = driver.into();
        ids.into_iter()
            .filter_map(|id| self.cluster.volumes.get(id))
            .filter(move |volume| volume.drivers().any(|known| *known == *driver))
    }

    /// Returns all events, for what drivers were last heard to do. Only facts may ask.
    pub fn events(&self) -> impl Iterator<Item = &'a Event> {
        self.cluster.events.iter().map(|(_, event)| event)
    }

    /// Returns since when earlier runs found nothing of a controller. Only facts may ask.
    pub fn sighting(&self, role: Role, driver: &Text) -> Option<Time> {
        self.cluster.sightings.get(&(role, Text::clone(driver))).copied()
    }

    // --- absence ---------------------------------------------------------------------------

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

fn requirement_holds(requirement: &NodeRequirement, value: Option<&str>) -> bool {
    let listed = |value: &str| requirement.values.iter().any(|known| **known == *value);
    let number = |text: &str| text.parse::<i64>().ok();
    let bound = || requirement.values.first().and_then(|text| number(text));
    match &*requirement.operator {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => value.and_then(number).zip(bound()).is_some_and(|(value, bound)| value > bound),
        "Lt" => value.and_then(number).zip(bound()).is_some_and(|(value, bound)| value < bound),
        // An operator of a later version: no proof that the node does not match.
        _ => true,
    }
}

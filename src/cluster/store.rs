//! The cluster as far as it was read, and the one way to change it: by a [`Change`].

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::{Coverages, OddObjects};
use super::indexes::{EntryChange, Indexes};
use super::table::{Linked, Tables};
use super::{ClustersBeside, Coverage, Dirty, Seen};
use crate::drivers::Recognition;
use crate::model::{
    Answer, BackendKey, ControllerRole, KeptBackend, Kind, ObjectId, ObjectKey, Question, Row,
    Server, Sighting, Text, Time, Uid, for_each_row,
};
use crate::usage::UsageFigures;

/// A cluster as far as it was read: rows, coverage, answers, and the server's clock.
#[derive(Debug, Default)]
pub struct Cluster {
    pub(super) tables: Tables,
    pub(super) indexes: Indexes,
    pub(super) answers: BTreeMap<Question, Answer>,
    pub(super) sightings: BTreeMap<(ControllerRole, Text), Time>,
    pub(super) kept: BTreeMap<BackendKey, KeptBackend>,
    /// Recognition of drivers whose names leave it open.
    pub(super) recognised: BTreeMap<Text, Recognition>,
    pub(super) added_finalizers: BTreeSet<(Uid, Text)>,
    pub(super) coverages: Coverages,
    pub(super) odd: OddObjects,
    pub(super) server: Option<Server>,
    pub(super) beside: Option<ClustersBeside>,
    /// How full volumes are, if that was read.
    figures: Option<UsageFigures>,
    /// Versions that the server prefers, of the kinds for which it was read.
    served: BTreeMap<Kind, Text>,
    clock: Option<Time>,
    /// Whether the time may have been later than the clock says.
    clock_is_lower_bound: bool,
    /// Whether the dump that was read holds nothing by which the cluster is known at a provider.
    lacks_identity: bool,
    /// Number of applied changes, which gives their order.
    sequence: u64,
}

/// Rows of one kind to be removed.
enum RowsRemoved<'a> {
    /// The row of this namespace and name.
    Named { namespace: &'a str, name: &'a str },
    /// Rows that were last listed before this point in the order of changes.
    ListedBefore { began: u64, namespace: Option<&'a str> },
}

impl Cluster {
    /// Applies one change, and adds to `dirty` the subjects whose judgement may differ after it.
    pub fn apply(&mut self, change: Change, dirty: &mut Dirty) {
        self.sequence += 1;
        match change {
            Change::Seen(mut row) => {
                self.recognise_row(&mut row);
                let shows = self.shows_what_runs(&row);
                self.put(row, dirty);
                if shows {
                    self.recognise_again(dirty);
                }
            }
            Change::Odd(row, odd) => {
                let known = self.odd.take(&odd.key);
                if let Some(mut row) = row {
                    self.recognise_row(&mut row);
                    let shows = self.shows_what_runs(&row);
                    self.put(row, dirty);
                    if shows {
                        self.recognise_again(dirty);
                    }
                }
                dirty.everything |= self.odd.insert(*odd, known, self.sequence);
            }
            Change::Gone(key) => {
                self.forget_existence(&key, dirty);
                dirty.everything |= self.odd.remove(&key);
                let namespace = key.namespace.as_deref().unwrap_or_default();
                let removed = RowsRemoved::Named { namespace, name: &key.name };
                self.remove(key.kind, &removed, dirty);
                self.recognise_without(key.kind, dirty);
            }
            Change::Begin(reach) => {
                let coverage = Coverage::Listing { began: self.sequence };
                self.coverages.set(reach, coverage);
                dirty.everything = true;
            }
            Change::Complete(reach) => {
                let began = match self.coverages.get(&reach) {
                    Some(Coverage::Listing { began }) => *began,
                    _ => 0,
                };
                let namespace = reach.namespace.as_deref();
                let removed = RowsRemoved::ListedBefore { began, namespace };
                self.odd.keep_listed(&reach, began);
                self.remove(reach.kind, &removed, dirty);
                self.recognise_without(reach.kind, dirty);
                let coverage = Coverage::Seen { began, ended: self.sequence };
                self.coverages.set(reach, coverage);
                dirty.everything = true;
            }
            Change::Whole(reach) => {
                // One moment for all kinds: every list began after every other one ended.
                self.coverages.set(reach, Coverage::Seen { began: u64::MAX, ended: 0 });
                dirty.everything = true;
            }
            Change::Covered(reach, coverage) => {
                self.coverages.set(reach, coverage);
                dirty.everything = true;
            }
            Change::NotServed(kind) => {
                let all = RowsRemoved::ListedBefore { began: u64::MAX, namespace: None };
                self.remove(kind, &all, dirty);
                self.odd.keep_listed(&Reach::all(kind), u64::MAX);
                self.recognise_without(kind, dirty);
                dirty.everything |= self.coverages.set(Reach::all(kind), Coverage::NotServed);
            }
            // Nothing is judged by it.
            Change::Served(kind, version) => drop(self.served.insert(kind, version)),
            Change::Lost(gap) => {
                let reach = gap.reach();
                dirty.everything |= self.coverages.set(reach, Coverage::Gap(gap));
            }
            // Time makes no subject dirty: judgements record when they must be made again. They do
            // not record when they were made, so that a clock that was set back concerns all.
            Change::Clock(time) => {
                dirty.everything |= self.clock.is_some_and(|known| time < known);
                (self.clock, self.clock_is_lower_bound) = (Some(time), false);
            }
            Change::ClockAtLeast(time) => {
                (self.clock, self.clock_is_lower_bound) = (Some(time), true);
            }
            Change::Server(server) => {
                self.server = Some(server);
                dirty.everything = true;
            }
            Change::Figures(figures) => {
                self.figures.get_or_insert_default().join(*figures);
                dirty.everything = true;
            }
            // Nothing is judged by it.
            Change::IdentityLeftOut => self.lacks_identity = true,
            Change::Forgotten(question) => self.forget(&question, dirty),
            Change::Traced(role, driver) => {
                if self.sightings.remove(&(role, Text::clone(&driver))).is_some() {
                    dirty.drivers.insert(driver);
                }
            }
        }
    }

    /// How full volumes are, if that was read.
    pub(crate) const fn figures(&self) -> Option<&UsageFigures> {
        self.figures.as_ref()
    }

    /// The server's clock, if it is known.
    pub fn clock(&self) -> Option<Time> {
        self.clock
    }

    /// Returns the clock, unless it may have been later: then nothing is known to lie in its future.
    pub(super) fn exact_clock(&self) -> Option<Time> {
        self.clock.filter(|_| !self.clock_is_lower_bound)
    }

    /// Whether the cluster was read with that by which it is known at a provider: the arguments with which drivers mark
    /// disks, and the ids of nodes. What is not there is then absent, and otherwise unseen.
    pub fn has_identity(&self) -> bool {
        !self.lacks_identity
    }

    /// The server's version, if it was read.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// The version of a kind that the server prefers, as far as that was read.
    pub fn version_of(&self, kind: Kind) -> &str {
        self.served.get(&kind).map_or(kind.group().version, |version| version)
    }

    /// Whether the server serves a kind, as far as its objects in a namespace were read.
    ///
    /// # Errors
    /// When they were not.
    pub(super) fn serves(&self, kind: Kind, namespace: Option<&Text>) -> Seen<bool> {
        self.reach(kind, namespace)?;
        Ok(!matches!(self.coverages.of(kind, namespace), Some(Coverage::NotServed)))
    }

    /// Gaps: everything that was not read.
    pub fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.coverages.gaps().chain(self.odd.gaps())
    }

    /// Unreadable fields of single objects: sizes and times that are unknown.
    pub fn odd_fields(&self) -> impl Iterator<Item = &str> {
        self.odd.fields()
    }

    /// Fails where a part of an object that matters could not be read.
    ///
    /// # Errors
    /// What could not.
    pub fn legible(&self, kind: Kind, namespace: &str, name: &str) -> Seen<()> {
        self.odd.legible(kind, namespace, name)
    }

    /// The coverage of each kind.
    pub fn coverages(&self) -> impl Iterator<Item = (&Reach, &Coverage)> {
        self.coverages.iter()
    }

    /// Fails unless a kind was read completely, in one namespace or in all.
    ///
    /// # Errors
    /// What was not read.
    pub fn reach(&self, kind: Kind, namespace: Option<&Text>) -> Seen<()> {
        self.listed(kind, namespace).map(drop)
    }

    /// Returns when the list of a kind began and ended.
    pub(super) fn listed(&self, kind: Kind, namespace: Option<&Text>) -> Seen<(u64, u64)> {
        let listed = self.coverages.reach(kind, namespace)?;
        self.odd.reach(kind, namespace)?;
        Ok(listed)
    }

    /// All answers, by question.
    pub fn answers(&self) -> &BTreeMap<Question, Answer> {
        &self.answers
    }

    /// Controllers that earlier runs found absent.
    pub fn sightings(&self) -> impl Iterator<Item = Sighting> {
        self.sightings.iter().map(|((role, driver), since)| Sighting {
            role: *role,
            driver: Text::clone(driver),
            absent_since: *since,
        })
    }

    fn put(&mut self, row: Row, dirty: &mut Dirty) {
        macro_rules! put {
            ($($table:ident: $variant:ident($row:ident) [$($kind:ident)+] $($field:ident)+;)+) => {
                match row {
                    $(Row::$variant(row) => self.put_row(row, dirty),)+
                    Row::Answer(question, answer) => {
                        if self.answers.get(&question) != Some(&answer) {
                            self.touch_question(&question, dirty);
                            self.answers.insert(question, answer);
                        }
                    }
                    Row::Kept(row) => self.keep(*row, dirty),
                    Row::AddedFinalizer(volume, finalizer) => {
                        // They are recalled once, before anything is judged.
                        dirty.everything = true;
                        self.added_finalizers.insert((volume, finalizer));
                    }
                    Row::Sighting(sighting) => {
                        let Sighting { role, driver, absent_since } = sighting;
                        dirty.drivers.insert(Text::clone(&driver));
                        self.sightings.insert((role, driver), absent_since);
                    }
                }
            };
        }
        for_each_row!(put);
    }

    /// Puts a row into its table and its indexes, and marks the subjects that rest on it, before
    /// and after.
    fn put_row<R: Linked>(&mut self, row: Box<R>, dirty: &mut Dirty) {
        let (kind, namespace, name) = row.identity();
        dirty.everything |= self.odd.remove_named(kind, namespace, name);
        let table = R::table(&self.tables);
        let mut tells_the_same = false;
        if let Some(id) = table.find(kind, namespace, name)
            && let Some(known) = table.get(id)
        {
            if *known == *row {
                R::table_mut(&mut self.tables).insert(row, self.sequence);
                return;
            }
            tells_the_same = row.tells_the_same_of_drivers(known);
            if !tells_the_same {
                self.touch_drivers::<R>(id, dirty);
            }
            self.touch(id, known, dirty);
            known.index(EntryChange::Remove, id, &mut self.indexes);
        }
        let id = R::table_mut(&mut self.tables).insert(row, self.sequence);
        if let Some(new) = R::table(&self.tables).get(id) {
            new.index(EntryChange::Add, id, &mut self.indexes);
        }
        if !tells_the_same {
            self.touch_drivers::<R>(id, dirty);
        }
        self.touch_row::<R>(id, dirty);
    }

    fn remove(&mut self, kind: Kind, removed: &RowsRemoved<'_>, dirty: &mut Dirty) {
        macro_rules! remove {
            ($($table:ident: $variant:ident($row:ident) [$($kind:ident)+] $($field:ident)+;)+) => {
                match kind {
                    $($(Kind::$kind)|+ => {
                        self.remove_rows::<crate::model::$row>(kind, removed, dirty);
                    })+
                    // No rows of these are kept.
                    Kind::Secret
                    | Kind::ConfigMap
                    | Kind::PartialObjectMetadata
                    | Kind::SubjectAccessReview
                    | Kind::BackendVolume
                    | Kind::Rollout
                    | Kind::CloneSet => {}
                }
            };
        }
        for_each_row!(remove);
    }

    fn remove_rows<R: Linked>(&mut self, kind: Kind, removed: &RowsRemoved<'_>, dirty: &mut Dirty) {
        let table = R::table(&self.tables);
        let ids: Vec<ObjectId> = match *removed {
            RowsRemoved::Named { namespace, name } => {
                table.find(kind, namespace, name).into_iter().collect()
            }
            RowsRemoved::ListedBefore { began, namespace } => {
                table.listed_before(began, kind, namespace)
            }
        };
        for id in ids {
            self.touch_drivers::<R>(id, dirty);
            self.touch_row::<R>(id, dirty);
            if let Some(row) = R::table_mut(&mut self.tables).remove(id) {
                row.index(EntryChange::Remove, id, &mut self.indexes);
            }
        }
    }
}

/// Identity of an object in the index of events.
pub(super) fn object_key(key: &ObjectKey) -> (Kind, &str, &str) {
    (key.kind, key.namespace.as_deref().unwrap_or_default(), &key.name)
}

/// A change to a [`Cluster`](super::Cluster).
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An object exists with this content, or a question was answered.
    Seen(Row),
    /// An object exists that could not be read in full, with the rest of its content.
    Odd(Option<Row>, Box<OddObject>),
    /// An object does not exist any more, or its row is not kept any more.
    Gone(ObjectKey),
    /// A list of everything within reach begins. Sent before the request.
    ///
    /// This, and whatever else is said of a whole kind, replaces what was said of its namespaces:
    /// the whole comes first, and then its parts.
    Begin(Reach),
    /// A list is complete: objects that it did not contain do not exist.
    Complete(Reach),
    /// A dump of another tool contains all objects within reach, as of one moment.
    Whole(Reach),
    /// The coverage of a list, as a dump recorded it.
    Covered(Reach, Coverage),
    /// The server does not serve the kind: no objects exist.
    NotServed(Kind),
    /// The server prefers this version of a kind.
    Served(Kind, Text),
    /// A list failed or is incomplete.
    Lost(Gap),
    /// The server's clock.
    Clock(Time),
    /// A lower bound of the server's clock.
    ClockAtLeast(Time),
    /// The server's version.
    Server(Server),
    /// An earlier version of this tool saved the dump: the arguments with which drivers mark disks, and the ids of
    /// nodes, were not saved.
    IdentityLeftOut,
    /// How full volumes are, beside what is known of that already.
    Figures(Box<UsageFigures>),
    /// An answer is too old to count: the question is open again. With the question about the
    /// record of kept backend volumes go all of these: they are taken in again.
    Forgotten(Question),
    /// A trace of a controller was found: that none was found earlier proves nothing any more.
    Traced(ControllerRole, Text),
}

/// An object that could not be read in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddObject {
    /// The object.
    pub key: ObjectKey,
    /// Extent of the doubt that the damage causes.
    pub doubt: Doubt,
    /// Description of the damage: names the object, lower case, no full stop.
    pub reason: String,
}

/// Extent of the doubt about judgements because a part of an object could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// Reaches a size or a time, which its row says is not known.
    Field,
    /// Reaches the object: neither it nor an object whose judgement needs it is judged.
    Object,
    /// Reaches the objects of its namespace that it may concern.
    Namespace,
    /// Reaches all objects that it may concern, in any namespace.
    Kind,
}

impl Gap {
    /// Returns what would cover the objects.
    pub fn reach(&self) -> Reach {
        Reach { kind: self.kind, namespace: self.namespace.clone() }
    }
}

/// Objects that a list covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reach {
    /// Kind of the objects.
    pub kind: Kind,
    /// One namespace, or `None` for all.
    pub namespace: Option<Text>,
}

impl Reach {
    /// All objects of a kind.
    pub const fn all(kind: Kind) -> Self {
        Self { kind, namespace: None }
    }
}

/// Objects that were not read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gap {
    /// The kind.
    pub kind: Kind,
    /// The namespace, or `None` for all.
    pub namespace: Option<Text>,
    /// The reason: lower case, no full stop.
    pub reason: String,
}

//! Where everything that is read comes together: saved, folded into rows, applied.

use std::collections::BTreeMap;

use super::{kept, records};
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::dump::{DumpError, DumpWriter};
use crate::model::{Answer, KeptBackend, Kind, ObjectKey, Question, Row, Time};
use crate::objects::{AnyObject, Folded, Folder, Reduced};

/// Owns a cluster while it is being read.
pub struct Intake {
    /// What was seen so far.
    pub cluster: Cluster,
    /// What has to be judged.
    pub dirty: Dirty,
    folder: Folder,
    saving: Option<DumpWriter>,
    /// Objects that could not be read, by where they were: how many, and what was wrong with the
    /// first.
    broken: BTreeMap<Reach, (u64, String)>,
    /// Every object that was broken, for people.
    complaints: Vec<String>,
    /// Objects that could be read, for progress: kept or counted.
    seen: BTreeMap<Kind, u64>,
    /// Objects that could be decoded, and then not be read.
    unfolded: u64,
}

/// More broken objects than this are counted, not named.
const COMPLAINTS: usize = 20;

impl Default for Intake {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Intake {
    /// Begins with nothing; what is read is also written to `saving`.
    pub fn new(saving: Option<DumpWriter>) -> Self {
        Self {
            cluster: Cluster::default(),
            dirty: Dirty::everything(),
            folder: Folder::default(),
            saving,
            broken: BTreeMap::new(),
            complaints: Vec::new(),
            seen: BTreeMap::new(),
            unfolded: 0,
        }
    }

    /// Takes in a change that is no object.
    pub fn apply(&mut self, change: Change) {
        if let Change::Begin(reach) = &change {
            // What was broken in an earlier list counts no more: it will be met again if it is there.
            self.broken.remove(reach);
        }
        self.cluster.apply(change, &mut self.dirty);
    }

    /// Takes in what the server's clock showed; it never goes back.
    pub fn advance(&mut self, date: Time) {
        if self.cluster.clock().is_none_or(|known| known < date) {
            self.apply(Change::Clock(date));
        }
    }

    /// Takes in an object.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn object(&mut self, object: &dyn AnyObject) -> Result<(), DumpError> {
        let reduced = Reduced::of(object, &mut self.folder, self.saving.is_some());
        self.take_in(&Reach::all(object.kind()), reduced, &String::new)
    }

    /// Whether what is read is also saved.
    pub fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Takes in an object of a list that reaches so far.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn reduced_within(&mut self, reach: &Reach, object: Reduced) -> Result<(), DumpError> {
        self.take_in(reach, object, &String::new)
    }

    /// Takes in an object of which a watch tells that it came or changed: one that is of no more
    /// interest is gone, and one that cannot be read makes everything within reach unseen.
    ///
    /// It is neither saved nor counted: a dump holds what the lists showed.
    pub fn watched(&mut self, reach: &Reach, object: &dyn AnyObject) {
        let folded = match object.fold(&mut self.folder) {
            Ok(Folded::Row(row)) => Ok(Change::Seen(row)),
            Ok(Folded::Counted) => object.key(&mut self.folder).map(Change::Gone),
            Err(error) => Err(error),
        };
        let change = folded.unwrap_or_else(|error| {
            let reason = error.to_string();
            self.broke(reach.clone(), reason.clone());
            let Reach { kind, namespace } = reach.clone();
            Change::Lost(Gap { kind, namespace, reason })
        });
        self.apply(change);
    }

    /// Takes in an object that stands at a place: what precedes its name if it is broken.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn reduced_at(
        &mut self,
        kind: Kind,
        object: Reduced,
        place: &dyn Fn() -> String,
    ) -> Result<(), DumpError> {
        self.take_in(&Reach::all(kind), object, place)
    }

    /// What shares what the rows repeat, for whoever reduces an object that is taken in next.
    pub fn folder(&mut self) -> &mut Folder {
        &mut self.folder
    }

    fn take_in(
        &mut self,
        reach: &Reach,
        object: Reduced,
        place: &dyn Fn() -> String,
    ) -> Result<(), DumpError> {
        if let Some((saving, document)) = self.saving.as_mut().zip(object.document) {
            saving.document(document)?;
        }
        match object.folded.is_ok() {
            true => *self.seen.entry(reach.kind).or_default() += 1,
            false => self.unfolded += 1,
        }
        match object.folded {
            Ok(Folded::Row(row)) => {
                self.apply(Change::Seen(row));
            }
            Ok(Folded::Counted) => {}
            Err(error) => self.broke(reach.clone(), format!("{}{error}", place())),
        }
        Ok(())
    }

    /// Forgets an object that was taken in, and counts it no more.
    pub fn forget(&mut self, key: ObjectKey) {
        if let Some(count) = self.seen.get_mut(&key.kind) {
            *count = count.saturating_sub(1);
        }
        self.apply(Change::Gone(key));
    }

    /// Takes in an answer.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn answer(&mut self, question: Question, answer: Answer) -> Result<(), DumpError> {
        if let Some(saving) = &mut self.saving {
            saving.record(records::ANSWER, &records::SavedAnswer::new(&question, &answer))?;
        }
        self.apply(Change::Seen(Row::Answer(question, answer)));
        Ok(())
    }

    /// Takes in what an earlier run recorded.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn sighting(&mut self, sighting: crate::model::Sighting) -> Result<(), DumpError> {
        if let Some(saving) = &mut self.saving {
            saving.record(records::SIGHTING, &records::SavedSighting::new(&sighting))?;
        }
        self.apply(Change::Seen(Row::Sighting(sighting)));
        Ok(())
    }

    /// Takes in what a record says of a backend volume that was left behind.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn kept(&mut self, kept: KeptBackend) -> Result<(), DumpError> {
        if let Some(saving) = &mut self.saving {
            saving.record(kept::KEPT, &kept::Kept::new(&kept))?;
        }
        self.apply(Change::Seen(Row::Kept(Box::new(kept))));
        Ok(())
    }

    /// Notes that something is there which could not be read.
    pub fn broke(&mut self, reach: Reach, reason: String) {
        self.complain(reason.clone());
        self.broken.entry(reach).or_insert((0, reason)).0 += 1;
    }

    /// Notes what to tell people who ask for everything that is broken.
    pub fn complain(&mut self, reason: String) {
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(reason);
        }
    }

    /// A list is whole, unless something in it was broken.
    pub fn complete(&mut self, reach: Reach) {
        let broken = self.broken.get(&reach).or_else(|| self.broken.get(&Reach::all(reach.kind)));
        match broken {
            None => self.apply(Change::Complete(reach)),
            Some((count, first)) => {
                let reason = match count {
                    1 => first.clone(),
                    _ => format!("{count} objects could not be read, the first: {first}"),
                };
                self.apply(Change::Lost(Gap {
                    kind: reach.kind,
                    namespace: reach.namespace,
                    reason,
                }));
            }
        }
    }

    /// What was broken within reach: how many objects, and what was wrong with the first.
    pub fn broken(&self) -> &BTreeMap<Reach, (u64, String)> {
        &self.broken
    }

    /// What to tell people of broken objects.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// How many objects of each kind were seen.
    pub fn seen(&self) -> &BTreeMap<Kind, u64> {
        &self.seen
    }

    /// Whether no object at all could be decoded.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.unfolded == 0
    }

    /// Ends saving: writes coverage, clock and server, and gives the file its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish_saving(&mut self) -> Result<Option<u64>, DumpError> {
        let Some(mut saving) = self.saving.take() else { return Ok(None) };
        for (reach, coverage) in self.cluster.coverages() {
            saving.record(records::COVERAGE, &records::SavedCoverage::new(reach, coverage))?;
        }
        saving.record(records::TAKEN, &records::DumpMoment::new(&self.cluster))?;
        saving.finish().map(Some)
    }
}

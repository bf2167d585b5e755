//! `Intake`, which owns a `Cluster` while it is read; it saves, folds and applies what arrives, and remembers how the
//! deletion of volumes was observed.

use std::collections::BTreeMap;

use super::answer_line::SavedAnswer;
use super::records;
use crate::cluster::{Change, Cluster, Dirty, Gap, Reach};
use crate::dump::{DumpError, DumpWriter};
use crate::model::{
    Answer, KeptBackend, Kind, ObjectKey, Question, ReclaimPolicy, Row, Text, Time, Uid, Volume,
};
use crate::objects::{AnyObject, Folder, Reduced};
use crate::usage::{SavedFigures, SavedNode, UsageFigures};

/// Owner of a cluster while it is read.
pub struct Intake {
    /// Cluster as far as it was read.
    pub cluster: Cluster,
    /// Subjects that have to be judged.
    pub dirty: Dirty,
    folder: Folder,
    saving: Option<DumpWriter>,
    /// The objects of each list that could not be read: their number, and the error of the first.
    broken: BTreeMap<Reach, (u64, String)>,
    /// The errors of the first objects that could not be read, for the user.
    complaints: Vec<String>,
    /// Number of objects that were read, with a row or without, for progress.
    seen: BTreeMap<Kind, u64>,
    /// Number of objects that were decoded, but could not be reduced.
    unreduced: u64,
    /// Memory of the deletion of volumes, where that matters.
    witness: Option<DeletionWitness>,
}

/// Number of errors that are stored; further ones are only counted.
const COMPLAINTS: usize = 20;

impl Default for Intake {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Intake {
    /// Returns an empty intake; what is read is also written to `saving`.
    pub fn new(saving: Option<DumpWriter>) -> Self {
        Self {
            cluster: Cluster::default(),
            dirty: Dirty::everything(),
            folder: Folder::default(),
            saving,
            broken: BTreeMap::new(),
            complaints: Vec::new(),
            seen: BTreeMap::new(),
            unreduced: 0,
            witness: None,
        }
    }

    /// Applies a change to the cluster.
    pub fn apply(&mut self, change: Change) {
        if let Change::Begin(reach) = &change {
            // Errors of an earlier list are obsolete: objects that are still broken are listed
            // again.
            self.broken.remove(reach);
        }
        if let (Some(witness), Change::Seen(Row::Volume(volume))) = (&mut self.witness, &change) {
            witness.look(volume);
        }
        self.cluster.apply(change, &mut self.dirty);
    }

    /// Remembers from now on which volumes had a finalizer while they were Terminating.
    pub fn witness_deletions(&mut self, finalizer: &str) {
        self.witness = Some(DeletionWitness::of(finalizer));
    }

    /// Returns a volume as it was when it was Terminating and had that finalizer; `None` where that was not observed,
    /// or its policy was not Delete all the time.
    pub fn protected_deletion(&self, uid: &Uid) -> Option<&Volume> {
        self.witness.as_ref()?.protected(uid)
    }

    /// Sets the cluster's clock to a time that the server sent, unless that is earlier.
    pub fn advance(&mut self, date: Time) {
        if self.cluster.clock().is_none_or(|known| known < date) {
            self.apply(Change::Clock(date));
        }
    }

    /// Whether what is read is also saved.
    pub fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Returns the folder, for objects that are reduced right before they are taken in.
    pub fn folder(&mut self) -> &mut Folder {
        &mut self.folder
    }

    /// Reduces an object that was read by itself, and takes it in.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn object(&mut self, object: &dyn AnyObject) -> Result<(), DumpError> {
        let version = self.cluster.version_of(object.kind());
        let saving = self.saving.is_some().then_some(version);
        let reduced = Reduced::of(object, &mut self.folder, saving);
        self.reduced(&Reach::all(object.kind()), reduced, &String::new)
    }

    /// Takes in an object that was reduced where it was decoded. `position` is the text before its
    /// name if it is broken.
    ///
    /// What a watch sends is neither saved nor counted. If it is broken, nothing within reach
    /// counts as seen; of a list, [`Self::complete`] decides that.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn reduced(
        &mut self,
        reach: &Reach,
        object: Reduced,
        position: &dyn Fn() -> String,
    ) -> Result<(), DumpError> {
        if object.change.is_err() {
            self.unreduced += 1;
        } else if !object.watched {
            *self.seen.entry(reach.kind).or_default() += 1;
        }
        if let Some((saving, document)) = self.saving.as_mut().zip(object.document) {
            saving.document(document)?;
        }
        match (object.change, object.odd) {
            (Ok(change), Some(odd)) => {
                let row = match change {
                    Some(Change::Seen(row)) => Some(row),
                    Some(other) => {
                        self.apply(other);
                        None
                    }
                    None => None,
                };
                self.apply(Change::Odd(row, odd));
            }
            (Ok(Some(change)), None) => self.apply(change),
            (Ok(None), None) => {}
            (Err(error), _) => {
                let reason = format!("{}{error}", position());
                self.broke(reach.clone(), reason.clone());
                if object.watched {
                    let Reach { kind, namespace } = reach.clone();
                    self.apply(Change::Lost(Gap { kind, namespace, reason }));
                }
            }
        }
        Ok(())
    }

    /// Removes an object that was taken in, and does not count it any more.
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
            saving.record(records::ANSWER, &SavedAnswer::new(&question, &answer))?;
        }
        self.apply(Change::Seen(Row::Answer(question, answer)));
        Ok(())
    }

    /// Takes in what an earlier run recorded of a controller.
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

    /// Takes in a kept backend volume from a record.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn kept(&mut self, kept: KeptBackend) -> Result<(), DumpError> {
        if let Some(saving) = &mut self.saving {
            let line = records::KeptBackendLine::new(&kept);
            saving.record(records::KEPT_BACKEND, &line)?;
        }
        self.apply(Change::Seen(Row::Kept(Box::new(kept))));
        Ok(())
    }

    /// Takes in how full volumes are.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub(crate) fn figures(&mut self, figures: UsageFigures) -> Result<(), DumpError> {
        if let Some(saving) = &mut self.saving {
            for line in SavedFigures::of(&figures) {
                saving.record(records::VOLUME_FIGURES, &line)?;
            }
            for line in SavedNode::of(&figures) {
                saving.record(records::SILENT_KUBELET, &line)?;
            }
        }
        self.apply(Change::Figures(Box::new(figures)));
        Ok(())
    }

    /// Takes in a finalizer that this tool added to a volume.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn added_finalizer(&mut self, volume: Uid, finalizer: Text) -> Result<(), DumpError> {
        if let Some(saving) = &mut self.saving {
            let line = records::SavedAddedFinalizer::new(&volume, &finalizer);
            saving.record(records::ADDED_FINALIZER, &line)?;
        }
        self.apply(Change::Seen(Row::AddedFinalizer(volume, finalizer)));
        Ok(())
    }

    /// Takes in the error of an object that could not be read.
    pub fn broke(&mut self, reach: Reach, reason: String) {
        self.complain(reason.clone());
        self.broken.entry(reach).or_insert((0, reason)).0 += 1;
    }

    /// Stores an error for the user.
    pub fn complain(&mut self, reason: String) {
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(reason);
        }
    }

    /// Ends a list: it is complete, unless an object of it could not be read.
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

    /// Returns the objects of each list that could not be read: their number, and the error of the
    /// first.
    pub fn broken(&self) -> &BTreeMap<Reach, (u64, String)> {
        &self.broken
    }

    /// Returns the errors of objects that could not be read, for the user.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Returns the number of objects of each kind that were read.
    pub fn seen(&self) -> &BTreeMap<Kind, u64> {
        &self.seen
    }

    /// Whether no object at all could be decoded.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.unreduced == 0
    }

    /// Ends saving: writes coverage, clock and server, and gives the file its final name. Returns
    /// how many lines were written, if anything was saved.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish_saving(&mut self) -> Result<Option<u64>, DumpError> {
        let Some(mut saving) = self.saving.take() else { return Ok(None) };
        for (reach, coverage) in self.cluster.coverages() {
            let line = match reach.kind.is_inventory() {
                true => records::INVENTORY_COVERAGE,
                false => records::COVERAGE,
            };
            saving.record(line, &records::SavedCoverage::new(reach, coverage))?;
        }
        saving.record(records::TAKEN, &records::DumpMoment::new(&self.cluster))?;
        saving.finish().map(Some)
    }
}

/// Volumes that were observed as Terminating, by their uid.
#[derive(Debug)]
pub(super) struct DeletionWitness {
    finalizer: Text,
    seen: BTreeMap<Uid, WitnessedDeletion>,
}

/// The observed deletion of a volume.
#[derive(Debug, Default)]
struct WitnessedDeletion {
    /// The volume, Terminating and with the finalizer.
    protected: Option<Box<Volume>>,
    /// Whether the volume's policy was ever another than Delete meanwhile.
    kept: bool,
}

impl DeletionWitness {
    /// Returns an empty memory of Terminating volumes that had a finalizer.
    pub(super) fn of(finalizer: &str) -> Self {
        Self { finalizer: finalizer.into(), seen: BTreeMap::new() }
    }

    pub(super) fn look(&mut self, volume: &Volume) {
        let (Some(uid), Some(_)) = (&volume.metadata.uid, volume.metadata.deleting) else { return };
        let seen = self.seen.entry(uid.clone()).or_default();
        seen.kept |= volume.reclaim_policy != ReclaimPolicy::Delete;
        if seen.protected.is_none() && volume.metadata.finalizers.contains(&self.finalizer) {
            seen.protected = Some(Box::new(volume.clone()));
        }
    }

    /// Returns the volume as it was when the finalizer was observed beside its `deletionTimestamp`, unless its policy
    /// was observed to be another than Delete.
    pub(super) fn protected(&self, uid: &Uid) -> Option<&Volume> {
        self.seen.get(uid).filter(|it| !it.kept)?.protected.as_deref()
    }
}

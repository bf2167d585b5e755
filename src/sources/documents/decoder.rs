//! Decoder of the objects of a dump on a second thread, while the first finds the next ones.
//!
//! Decoding takes longer than finding. When the decoder lags behind, the reader decodes the batch that
//! would have to wait. What is taken in, and in which order, is the same as with one thread.

use std::hash::RandomState;
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::{panic, str, thread};

use serde::de::IgnoredAny;

use super::super::intake::Intake;
use super::Occurrences;
use super::versions::{ObjectStamp, ObjectVersions, VersionOrder};
use crate::cluster::Reach;
use crate::dump::{DumpError, Origin};
use crate::model::{Answer, KeptBackend, Kind, ObjectKey, Question, Sighting, Text, Uid};
use crate::objects::{Folder, Reduced};
use crate::usage::UsageFigures;
use crate::{dump, objects};

/// Number of bytes that change hands at once.
const BATCH: usize = 256 << 10;
/// Number of tasks that change hands at once: what is broken has no text.
const TASKS: usize = 4096;
/// Number of batches on their way: a slow decoder slows the reader down.
const BATCHES: usize = 4;

/// Queue in which the reading thread leaves what it found.
pub(super) struct DecodingQueue {
    batch: DocumentBatch,
    full: SyncSender<DocumentBatch>,
    /// Batches that have been worked off, to be filled again.
    spare: Receiver<DocumentBatch>,
    hasher: RandomState,
    /// Folder for what is reduced here: no thread waits for the other's.
    folder: Folder,
    saving: bool,
}

/// Notes made while taking in.
#[derive(Default)]
pub(super) struct DecodingNotes {
    /// Damaged pieces that may have been of any kind.
    pub(super) damaged: Occurrences,
    pub(super) versions: ObjectVersions,
}

#[derive(Default)]
struct DocumentBatch {
    /// The bodies of objects and their names.
    text: String,
    tasks: Vec<DocumentTask>,
}

enum DocumentTask {
    Object(ObjectTask),
    Broken(Option<Kind>, String),
    Answer(Question, Answer),
    Sighting(Sighting),
    Kept(Box<KeptBackend>),
    AddedFinalizer(Uid, Text),
    Figures(Box<UsageFigures>),
}

/// An object, with the places of its parts in the text of its batch.
struct ObjectTask {
    /// Kind of the object; `None` if it has no use.
    kind: Option<Kind>,
    origin: Origin,
    namespace: Range<usize>,
    name: Range<usize>,
    body: Range<usize>,
    stamp: ObjectStamp,
    /// Whether the object's file vouches for its moment.
    at_once: bool,
    checked: bool,
    /// The decoded object, if it was reduced already.
    outcome: Option<DecodedObject>,
}

type DecodedObject = Result<Option<Reduced>, serde_json::Error>;

/// Runs `read`, while another thread takes what is left at the queue into `intake`. Also returns what was found out on
/// the way.
///
/// # Errors
/// What `read` says; else that an object cannot be saved, which makes the queue break off.
pub(super) fn with<T>(
    intake: &mut Intake,
    read: impl FnOnce(&mut DecodingQueue) -> Result<T, DumpError>,
) -> Result<(T, DecodingNotes), DumpError> {
    let found = DecodingNotes::default();
    let (hasher, saving) = (found.versions.hasher(), intake.is_saving());
    thread::scope(|scope| {
        let (full, batches) = sync_channel(BATCHES);
        let (done, spare) = channel();
        let worker = scope.spawn(move || work(&batches, &done, intake, found));
        let (batch, folder) = (DocumentBatch::default(), Folder::default());
        let mut queue = DecodingQueue { batch, full, spare, hasher, folder, saving };
        let read = read(&mut queue);
        // Nobody takes the last batch only if something went wrong with one before.
        let _ = queue.hand_over();
        drop(queue);
        let outcome = worker.join().unwrap_or_else(|reason| panic::resume_unwind(reason));
        let read = read?;
        outcome.map(|found| (read, found))
    })
}

/// Decodes an object and reduces it; `None` is one of a kind of which nothing is taken in.
///
/// # Errors
/// What is wrong with it.
fn reduce(kind: Kind, body: &str, folder: &mut Folder, saving: bool) -> DecodedObject {
    let Some(decoding) = objects::decoding(kind) else { return Ok(None) };
    let object = (decoding.json)(body)?;
    let saving = saving.then_some(kind.group().version);
    Ok(Some(Reduced::of(&*object, folder, saving)))
}

impl DecodingQueue {
    /// Queues an object. `None` is one that has no use; `at_once` is whether its file vouches for its moment.
    pub(super) fn object(
        &mut self,
        kind: Option<Kind>,
        object: &dump::DumpObject<'_>,
        at_once: bool,
    ) -> ControlFlow<()> {
        let checked = object.skimmed.is_none();
        if kind.is_none() && checked {
            return ControlFlow::Continue(());
        }
        let stamp = ObjectVersions::stamp(&self.hasher, object);
        let text = &mut self.batch.text;
        let mut push = |part: &str| {
            let start = text.len();
            text.push_str(part);
            start..text.len()
        };
        let (namespace, name) = (push(object.namespace), push(object.name));
        let body = text.len();
        match (kind, &object.skimmed) {
            // A third of a pod as kubectl prints it, and for most kinds nothing of it is stored.
            (Some(kind), Some(it)) if !objects::keeps_managed_fields(kind) => {
                text.push_str(&object.body[..it.managed_fields.start]);
                text.push_str(&object.body[it.managed_fields.end..]);
            }
            _ => text.push_str(object.body),
        }
        let (origin, body) = (object.origin.clone(), body..text.len());
        let outcome = None;
        let task =
            ObjectTask { kind, origin, namespace, name, body, stamp, at_once, checked, outcome };
        self.task(DocumentTask::Object(task))
    }

    /// Queues something broken: of a kind that is looked at, or of no consequence.
    pub(super) fn broken(&mut self, kind: Option<Kind>, complaint: String) -> ControlFlow<()> {
        self.task(DocumentTask::Broken(kind, complaint))
    }

    pub(super) fn answer(&mut self, question: Question, answer: Answer) -> ControlFlow<()> {
        self.task(DocumentTask::Answer(question, answer))
    }

    pub(super) fn sighting(&mut self, sighting: Sighting) -> ControlFlow<()> {
        self.task(DocumentTask::Sighting(sighting))
    }

    pub(super) fn kept(&mut self, kept: KeptBackend) -> ControlFlow<()> {
        self.task(DocumentTask::Kept(Box::new(kept)))
    }

    pub(super) fn added_finalizer(&mut self, volume: Uid, finalizer: Text) -> ControlFlow<()> {
        self.task(DocumentTask::AddedFinalizer(volume, finalizer))
    }

    pub(super) fn figures(&mut self, figures: UsageFigures) -> ControlFlow<()> {
        self.task(DocumentTask::Figures(Box::new(figures)))
    }

    fn task(&mut self, task: DocumentTask) -> ControlFlow<()> {
        self.batch.tasks.push(task);
        let full = self.batch.text.len() >= BATCH || self.batch.tasks.len() >= TASKS;
        if full { self.hand_over() } else { ControlFlow::Continue(()) }
    }

    fn hand_over(&mut self) -> ControlFlow<()> {
        let next = self.spare.try_recv().unwrap_or_default();
        let sent = match self.full.try_send(std::mem::replace(&mut self.batch, next)) {
            Err(TrySendError::Full(mut batch)) => {
                // Better than to wait; meanwhile there is enough on its way.
                batch.reduce(&mut self.folder, self.saving);
                self.full.send(batch).is_ok()
            }
            sent => sent.is_ok(),
        };
        if sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl DocumentBatch {
    /// Reduces everything, so that it only has to be taken in.
    fn reduce(&mut self, folder: &mut Folder, saving: bool) {
        for task in &mut self.tasks {
            if let DocumentTask::Object(object) = task
                && let Some(kind) = object.kind
            {
                let body = &self.text[object.body.clone()];
                object.outcome = Some(reduce(kind, body, folder, saving));
            }
        }
    }
}

fn work(
    batches: &Receiver<DocumentBatch>,
    done: &Sender<DocumentBatch>,
    intake: &mut Intake,
    mut found: DecodingNotes,
) -> Result<DecodingNotes, DumpError> {
    for mut batch in batches {
        let DocumentBatch { text, tasks } = &mut batch;
        for task in tasks.drain(..) {
            match task {
                DocumentTask::Object(object) => object.take_in(text, intake, &mut found)?,
                DocumentTask::Broken(Some(kind), complaint) => {
                    intake.broke(Reach::all(kind), complaint);
                }
                DocumentTask::Broken(None, complaint) => intake.complain(complaint),
                DocumentTask::Answer(question, answer) => intake.answer(question, answer)?,
                DocumentTask::Sighting(sighting) => intake.sighting(sighting)?,
                DocumentTask::Kept(kept) => intake.kept(*kept)?,
                DocumentTask::Figures(figures) => intake.figures(*figures)?,
                DocumentTask::AddedFinalizer(volume, finalizer) => {
                    intake.added_finalizer(volume, finalizer)?;
                }
            }
        }
        text.clear();
        // One that grew for a single large object is not kept.
        text.shrink_to(2 * BATCH);
        // The reader may have come to its end.
        let _ = done.send(batch);
    }
    Ok(found)
}

impl ObjectTask {
    fn take_in(
        mut self,
        text: &str,
        intake: &mut Intake,
        found: &mut DecodingNotes,
    ) -> Result<(), DumpError> {
        let (namespace, name) = (&text[self.namespace.clone()], &text[self.name.clone()]);
        let body = &text[self.body.clone()];
        let key = |kind: Kind| ObjectKey {
            kind,
            namespace: kind.is_namespaced().then(|| namespace.into()),
            name: name.into(),
        };
        let verdict = self.kind.map(|kind| {
            let named = || (key(kind), self.origin.to_string());
            (kind, found.versions.judge(self.stamp, self.at_once, named))
        });
        let error = match verdict {
            Some((_, VersionOrder::Known)) | None => None,
            Some((kind, VersionOrder::Contradictory)) => {
                intake.forget(key(kind));
                None
            }
            Some((kind, verdict)) => {
                if verdict == VersionOrder::Newer {
                    intake.forget(key(kind));
                }
                let place = || format!("{} ", self.origin);
                let saving = intake.is_saving();
                let outcome = self.outcome.take();
                let outcome =
                    outcome.unwrap_or_else(|| reduce(kind, body, intake.folder(), saving));
                match outcome {
                    Ok(Some(object)) => {
                        intake.reduced(&Reach::all(kind), object, &place)?;
                        None
                    }
                    Ok(None) => None,
                    Err(error) => Some((kind, error)),
                }
            }
        };
        let was_decoded = error.is_none()
            && verdict.is_some_and(|it| matches!(it.1, VersionOrder::New | VersionOrder::Newer));
        let is_json = || serde_json::from_str::<IgnoredAny>(body).is_ok();
        match error {
            // An object that hides others, perhaps of other kinds.
            _ if !self.checked && !was_decoded && !is_json() => {
                let complaint = format!("{} {name}: it is not valid JSON", self.origin);
                intake.complain(complaint.clone());
                found.damaged.add(|| complaint);
            }
            Some((kind, error)) => {
                let reason = dump::explain(body, &error);
                intake.broke(Reach::all(kind), format!("{} {}: {reason}", self.origin, key(kind)));
            }
            None => {}
        }
        Ok(())
    }
}

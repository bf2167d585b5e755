//! Between two threads: one finds where objects begin and end, the other decodes and takes them in.
//!
//! Both need about as long. What is taken in, and in which order, is the same as with one.

use std::{
    ops::{ControlFlow, Range},
    panic, str,
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread,
};

use super::super::{
    dump::{self, DumpError, Origin},
    intake::Intake,
    objects::{self, Object},
};
use crate::cluster::Reach;
use crate::model::{self, Answer, Kind, Question, Sighting};

/// Bytes that change hands at once.
const BATCH: usize = 256 << 10;
/// Batches on their way: a slow decoder slows the reader down.
const BATCHES: usize = 4;

/// Where the reading thread leaves what it found.
pub(super) struct Desk {
    batch: Batch,
    full: SyncSender<Batch>,
    /// Batches that have been worked off, to be filled again.
    spare: Receiver<Batch>,
}

#[derive(Default)]
struct Batch {
    /// The bodies of objects and their names.
    text: String,
    tasks: Vec<Task>,
}

enum Task {
    Object { kind: Kind, origin: Origin, name: Range<usize>, body: Range<usize> },
    Answer(Question, Answer),
    Sighting(Sighting),
}

/// Runs `read`, while another thread takes into `intake` what is left at the desk.
///
/// # Errors
/// What `read` says; else that an object cannot be saved, which makes the desk break off.
pub(super) fn with<T>(
    intake: &mut Intake,
    read: impl FnOnce(&mut Desk) -> Result<T, DumpError>,
) -> Result<T, DumpError> {
    thread::scope(|scope| {
        let (full, batches) = sync_channel(BATCHES);
        let (done, spare) = channel();
        let worker = scope.spawn(move || work(&batches, &done, intake));
        let mut desk = Desk { batch: Batch::default(), full, spare };
        let read = read(&mut desk);
        // Nobody takes the last batch only if something went wrong with one before.
        let _ = desk.hand_over();
        drop(desk);
        let outcome = worker.join().unwrap_or_else(|reason| panic::resume_unwind(reason));
        let read = read?;
        outcome.map(|()| read)
    })
}

impl Desk {
    pub(super) fn object(&mut self, kind: Kind, object: &dump::Object<'_>) -> ControlFlow<()> {
        let text = &mut self.batch.text;
        let mut add = |more: &str| {
            let start = text.len();
            text.push_str(more);
            start..text.len()
        };
        let (name, body) = (add(object.name), add(object.body));
        self.task(Task::Object { kind, origin: object.origin.clone(), name, body })
    }

    pub(super) fn answer(&mut self, question: Question, answer: Answer) -> ControlFlow<()> {
        self.task(Task::Answer(question, answer))
    }

    pub(super) fn sighting(&mut self, sighting: Sighting) -> ControlFlow<()> {
        self.task(Task::Sighting(sighting))
    }

    fn task(&mut self, task: Task) -> ControlFlow<()> {
        self.batch.tasks.push(task);
        if self.batch.text.len() < BATCH { ControlFlow::Continue(()) } else { self.hand_over() }
    }

    fn hand_over(&mut self) -> ControlFlow<()> {
        let next = self.spare.try_recv().unwrap_or_default();
        match self.full.send(std::mem::replace(&mut self.batch, next)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn work(
    batches: &Receiver<Batch>,
    done: &Sender<Batch>,
    intake: &mut Intake,
) -> Result<(), DumpError> {
    for mut batch in batches {
        let Batch { text, tasks } = &mut batch;
        for task in tasks.drain(..) {
            match task {
                Task::Object { kind, origin, name, body } => {
                    take_in(kind, &origin, &text[name], &text[body], intake)?;
                }
                Task::Answer(question, answer) => intake.answer(question, answer)?,
                Task::Sighting(sighting) => intake.sighting(sighting)?,
            }
        }
        text.clear();
        // One that grew for a single large object is not kept.
        text.shrink_to(2 * BATCH);
        // The reader may have come to its end.
        let _ = done.send(batch);
    }
    Ok(())
}

fn take_in(
    kind: Kind,
    origin: &Origin,
    name: &str,
    body: &str,
    intake: &mut Intake,
) -> Result<(), DumpError> {
    macro_rules! decode {
        ($type:ident) => {
            match serde_json::from_str::<objects::$type>(body) {
                Ok(object) => intake.object(&object),
                Err(error) => {
                    let kind = objects::$type::KIND;
                    let name = model::escape_control(name);
                    intake.broke(Reach::all(kind), format!("{origin} {kind} {name}: {error}"));
                    Ok(())
                }
            }
        };
    }
    match kind {
        Kind::PersistentVolume => decode!(PersistentVolume),
        Kind::PersistentVolumeClaim => decode!(PersistentVolumeClaim),
        Kind::Pod => decode!(Pod),
        Kind::Node => decode!(Node),
        Kind::StorageClass => decode!(StorageClass),
        Kind::CsiDriver => decode!(CsiDriver),
        Kind::CsiNode => decode!(CsiNode),
        Kind::VolumeAttachment => decode!(VolumeAttachment),
        Kind::StatefulSet => decode!(StatefulSet),
        Kind::Deployment => decode!(Deployment),
        Kind::ReplicaSet => decode!(ReplicaSet),
        Kind::DaemonSet => decode!(DaemonSet),
        Kind::Lease => decode!(Lease),
        Kind::Event => decode!(Event),
        Kind::VolumeSnapshotContent => decode!(VolumeSnapshotContent),
        Kind::VolumeGroupSnapshotContent => decode!(VolumeGroupSnapshotContent),
        Kind::Namespace | Kind::Secret | Kind::SubjectAccessReview => Ok(()),
    }
}

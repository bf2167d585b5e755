//! Between two threads: one finds where objects begin and end, the other decodes and takes them in.
//!
//! Both need about as long. What is taken in, and in which order, is the same as with one.

use std::{
    ops::{ControlFlow, Range},
    panic, str,
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread,
};

use serde::de::IgnoredAny;

use super::super::{
    dump::{self, DumpError, Origin},
    intake::Intake,
    objects,
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
    Object {
        kind: Option<Kind>,
        origin: Origin,
        name: Range<usize>,
        body: Range<usize>,
        checked: bool,
    },
    Answer(Question, Answer),
    Sighting(Sighting),
}

/// Runs `read`, while another thread takes into `intake` what is left at the desk. Also returns what
/// was found to be damaged on the way, which may have been of any kind.
///
/// # Errors
/// What `read` says; else that an object cannot be saved, which makes the desk break off.
pub(super) fn with<T>(
    intake: &mut Intake,
    read: impl FnOnce(&mut Desk) -> Result<T, DumpError>,
) -> Result<(T, Vec<String>), DumpError> {
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
        outcome.map(|damaged| (read, damaged))
    })
}

impl Desk {
    /// Leaves an object; `None` is one that nobody has a use for.
    pub(super) fn object(
        &mut self,
        kind: Option<Kind>,
        object: &dump::Object<'_>,
    ) -> ControlFlow<()> {
        let checked = object.skimmed.is_none();
        if kind.is_none() && checked {
            return ControlFlow::Continue(());
        }
        let text = &mut self.batch.text;
        let start = text.len();
        text.push_str(object.name);
        let body = text.len();
        let unread = object.skimmed.as_ref().map_or(0..0, |it| it.managed_fields.clone());
        match (object.body.get(..unread.start), object.body.get(unread.end..)) {
            // Half of what kubectl prints.
            (Some(front), Some(back)) if kind.is_some_and(ignores_managed_fields) => {
                text.push_str(front);
                text.push_str(back);
            }
            _ => text.push_str(object.body),
        }
        let (name, body) = (start..body, body..text.len());
        self.task(Task::Object { kind, origin: object.origin.clone(), name, body, checked })
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

/// Whether nothing in `metadata.managedFields` of this kind is read. The kinds of which there are many.
fn ignores_managed_fields(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Pod
            | Kind::Node
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::DaemonSet
            | Kind::ReplicationController
            | Kind::Job
            | Kind::CronJob
            | Kind::HorizontalPodAutoscaler
            | Kind::Lease
    )
}

fn work(
    batches: &Receiver<Batch>,
    done: &Sender<Batch>,
    intake: &mut Intake,
) -> Result<Vec<String>, DumpError> {
    let mut damaged = Vec::new();
    for mut batch in batches {
        let Batch { text, tasks } = &mut batch;
        for task in tasks.drain(..) {
            match task {
                Task::Object { kind, origin, name, body, checked } => {
                    let (name, body) = (&text[name], &text[body]);
                    let error = match kind {
                        Some(kind) => take_in(kind, body, intake)?.map(|error| (kind, error)),
                        None => None,
                    };
                    let is_json = || serde_json::from_str::<IgnoredAny>(body).is_ok();
                    let named = |kind: &str, error: &str| {
                        format!("{origin} {kind} {}: {error}", model::escape_control(name))
                    };
                    match error {
                        // An object that hides others, perhaps of other kinds.
                        _ if !checked && (kind.is_none() || error.is_some()) && !is_json() => {
                            damaged.push(named("item", "it is not valid JSON"));
                        }
                        Some((kind, error)) => {
                            intake.broke(Reach::all(kind), named(kind.name(), &error.to_string()));
                        }
                        None => {}
                    }
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
    Ok(damaged)
}

/// Decodes an object and takes it in. Returns what is wrong with it if it cannot be decoded.
fn take_in(
    kind: Kind,
    body: &str,
    intake: &mut Intake,
) -> Result<Option<serde_json::Error>, DumpError> {
    macro_rules! decode {
        ($type:ident) => {
            match serde_json::from_str::<objects::$type>(body) {
                Ok(object) => intake.object(&object)?,
                Err(error) => return Ok(Some(error)),
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
        Kind::ReplicationController => decode!(ReplicationController),
        Kind::Job => decode!(Job),
        Kind::CronJob => decode!(CronJob),
        Kind::HorizontalPodAutoscaler => decode!(HorizontalPodAutoscaler),
        Kind::Lease => decode!(Lease),
        Kind::Event => decode!(Event),
        Kind::VolumeAttributesClass => decode!(VolumeAttributesClass),
        Kind::VolumeSnapshot => decode!(VolumeSnapshot),
        Kind::VolumeSnapshotContent => decode!(VolumeSnapshotContent),
        Kind::VolumeGroupSnapshotContent => decode!(VolumeGroupSnapshotContent),
        Kind::Namespace
        | Kind::Secret
        | Kind::PartialObjectMetadata
        | Kind::SubjectAccessReview => {}
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managed_fields_are_left_out_only_where_nobody_reads_them() {
        let body = r#"{"metadata": {"name": "a", "namespace": "b", "managedFields": [{"manager": "m",
            "fieldsV1": {"f:metadata": {"f:ownerReferences": {}, "f:finalizers": {"v:\"x\"": {}}},
            "f:spec": {"f:persistentVolumeReclaimPolicy": {}}, "f:status": {"f:phase": {}}}}]}}"#;
        macro_rules! keeps {
            ($($kind:ident)*) => {[$({
                let object: objects::$kind = serde_json::from_str(body).expect("because it has a name");
                let text = serde_json::to_string(&object).expect("because it has a JSON form");
                (Kind::$kind, text.contains("managedFields"))
            }),*]};
        }
        for (kind, keeps) in keeps![Pod Node Deployment ReplicaSet DaemonSet
            ReplicationController Job CronJob HorizontalPodAutoscaler Lease PersistentVolume]
        {
            assert_eq!(ignores_managed_fields(kind), !keeps, "{kind}");
        }
    }
}

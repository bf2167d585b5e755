//! Questions on which proposals rest, asked again before each write.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tokio::sync::{
    Mutex,
    oneshot::{self, error::TryRecvError},
};

use super::CurrentCluster;
use crate::dump::DumpError;
use crate::model::{Kind, ObjectKey, ObjectRef, Question};
use crate::plan::Purpose;
use crate::sources::answers;

/// Questions of changes that are under way at the same time.
#[derive(Default)]
pub(super) struct QuestionQueue {
    /// The questions that wait to be asked, and who waits for the answers.
    waiting: RefCell<Vec<(BTreeSet<Question>, oneshot::Sender<()>)>>,
    /// Held while questions are being asked.
    asking: Mutex<()>,
}

impl CurrentCluster {
    /// Asks every question on which a proposal rests as it would be now, whether it was answered
    /// before or not, and these others. Returns what was asked.
    ///
    /// Whether the object exists, and those that it references, is known when they are read.
    ///
    /// Changes that come to it while others wait for their answers are asked for together then: a
    /// question that several of them have is sent once, after all of them came.
    pub(super) async fn ask_again(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
        others: BTreeSet<Question>,
    ) -> Result<BTreeSet<Question>, DumpError> {
        let (_, mut questions) = self.propose(purpose, object);
        questions.retain(|it| !matches!(it, Question::Exists(key) if is_read_by_reference(key)));
        questions.extend(others);
        if questions.is_empty() {
            return Ok(questions);
        }
        let (answer, mut answered) = oneshot::channel();
        self.questions.waiting.borrow_mut().push((questions.clone(), answer));
        let asking = self.questions.asking.lock().await;
        let waiting = match answered.try_recv() {
            Ok(()) => return Ok(questions),
            Err(TryRecvError::Empty) => self.questions.waiting.take(),
            // Another change took them along, and could not take in the answers.
            Err(TryRecvError::Closed) => Vec::new(),
        };
        let mut all = questions.clone();
        all.extend(waiting.iter().flat_map(|(questions, _)| questions.iter().cloned()));
        let replies = answers::replies(&self.reader, all).await;
        replies.take_in(&mut self.state.borrow_mut().intake)?;
        for (_, answer) in waiting {
            // Whoever has stopped waiting needs no answer.
            let _ = answer.send(());
        }
        drop(asking);
        Ok(questions)
    }
}

/// Whether objects of its kind are read with those that reference them.
const fn is_read_by_reference(key: &ObjectKey) -> bool {
    matches!(
        key.kind,
        Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::VolumeAttachment
            | Kind::VolumeSnapshot
            | Kind::VolumeSnapshotContent
    )
}

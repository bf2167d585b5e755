//! Whether the driver answered OK before a volume object was gone.

use super::{CurrentCluster, Lookup};
use crate::cluster::Cx;
use crate::facts;
use crate::model::{ObjectRef, Question, Text};
use crate::sources::answers;

impl CurrentCluster {
    /// Whether a volume that is gone now was held by the deletion-protection finalizer, and every
    /// csi-provisioner that may have removed it still honors it: then its driver had answered OK.
    ///
    /// It cannot be told who deleted the object.
    pub(in crate::apply) async fn driver_answered(&self, object: &ObjectRef) -> bool {
        let Some(uid) = &object.uid else { return false };
        if self.catch_up().is_err() {
            return false;
        }
        let driver = {
            let state = self.state.borrow();
            state.intake.protected_deletion(uid).and_then(facts::finalizer_driver)
        };
        let Some(driver) = driver else { return false };
        let questions = self.provisioners_honor_finalizer(&driver).1;
        let replies = answers::replies(&self.reader, questions).await;
        if self.catch_up().is_err() || replies.take_in(&mut self.state.borrow_mut().intake).is_err()
        {
            return false;
        }
        self.provisioners_honor_finalizer(&driver).0
    }

    /// Returns the answer from what was read so far, and the questions on which it rests.
    fn provisioners_honor_finalizer(&self, driver: &Text) -> (bool, Vec<Question>) {
        let mut state = self.state.borrow_mut();
        state.drop_outdated_facts();
        let cx: Cx = state.cx(&self.settings);
        cx.listen();
        let honored = facts::every_provisioner_honors_finalizer(&cx, driver).is_ok();
        let asked = cx.take_notes().0.into_iter().filter_map(|it| match it {
            Lookup::Answer(question) => Some(question),
            _ => None,
        });
        (honored, asked.collect())
    }
}

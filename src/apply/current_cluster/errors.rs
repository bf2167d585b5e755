//! What controllers report about objects, as far as it was read.

use super::CurrentCluster;
use crate::cluster::Subject;
use crate::model::ObjectKey;

impl CurrentCluster {
    /// Returns the last error that a controller reported about an object.
    pub(in crate::apply) fn last_error(&self, key: &ObjectKey) -> Option<String> {
        let state = self.state.borrow();
        let volume = match state.intake.cluster.subject(key)? {
            Subject::Volume(id) => state.intake.cluster.volume_at(id)?,
            Subject::Attachment(id) => {
                let attachment = state.intake.cluster.attachment_at(id)?;
                return attachment.detach_error.as_ref().map(ToString::to_string);
            }
            _ => return None,
        };
        let cx = state.cx(&self.settings);
        let event = crate::facts::last_event(&cx, volume, &[crate::facts::FAILED_DELETE]);
        event.ok().flatten().map(|series| series.describe_with_reason())
    }

    /// Returns the names of the `VolumeAttachments` of a volume that are Terminating, with the
    /// errors of their attacher.
    pub(in crate::apply) fn detaching(&self, volume: &str) -> Vec<String> {
        let state = self.state.borrow();
        let cx = state.cx(&self.settings);
        let attachments = cx.attachments_of(volume).unwrap_or_default().into_iter();
        attachments
            .filter(|it| it.metadata.deleting.is_some())
            .map(|it| match &it.detach_error {
                Some(error) => format!("{} ({error})", it.object()),
                None => it.object().to_string(),
            })
            .collect()
    }
}

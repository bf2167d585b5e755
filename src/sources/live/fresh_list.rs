//! A list that is read once more right before a write: a watch may not yet have sent the pod that
//! uses the claim (R-PVCP-7).

use crate::client::{self, Discovery, ListEvent, ListRequest, ReadError, Reader};
use crate::cluster::{Change, Gap, Reach};
use crate::dump::DumpError;
use crate::model::Kind;
use crate::objects::{self, AnyObject, Folder, Reduced};
use crate::sources::intake::Intake;

use super::message::Message;

/// Objects that were listed just now.
///
/// They add to what is known, and complete nothing: deletions come from the watches, which also
/// decide whether everything was seen.
pub struct FreshList(Vec<Message>);

impl FreshList {
    /// Takes in what was listed.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        self.0.into_iter().try_for_each(|message| message.take_in(intake))
    }
}

/// Lists everything within reach, past every cache of the API server, in this version of its kind.
///
/// # Errors
/// When it cannot be listed. A kind that is not served has no objects.
pub async fn list_again(
    reader: &Reader,
    reach: &Reach,
    version: &str,
) -> Result<FreshList, ReadError> {
    let kind = reach.kind;
    let Some(decoding) = objects::decoding(kind) else { return Ok(FreshList(Vec::new())) };
    let mut request = ListRequest::of(kind, version);
    request.namespace = reach.namespace.as_deref().map(str::to_owned);
    let (mut folder, mut objects, mut broken) = (Folder::default(), Vec::new(), None);
    let mut sink = |event: ListEvent<Box<dyn AnyObject>>| match event {
        ListEvent::Item(object) => objects.push(Reduced::of_watch(&*object, &mut folder)),
        ListEvent::Broken(error) => broken = Some(error.to_string()),
        ListEvent::Restart => objects.clear(),
    };
    let listed = client::list(reader, &request, decoding, &mut sink).await;
    let date = match listed {
        Ok(listed) => listed.date,
        Err(error) if error.is_not_served() && is_not_served(reader, kind).await => None,
        Err(error) => return Err(error),
    };
    let mut messages = vec![Message::Objects(reach.clone(), objects)];
    if let Some(reason) = broken {
        messages.push(Message::Broken(reach.clone(), reason.clone()));
        let Reach { kind, namespace } = reach.clone();
        messages.push(Message::Change(Change::Lost(Gap { kind, namespace, reason })));
    }
    messages.extend(date.map(|date| Message::Date(date, std::time::Instant::now())));
    Ok(FreshList(messages))
}

/// Whether a kind is not served in any version, and not only no longer in the one that was listed.
async fn is_not_served(reader: &Reader, kind: Kind) -> bool {
    matches!(Discovery::new(reader).version_of(kind).await, Ok(None))
}

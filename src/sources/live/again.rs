//! Lists made once more, right before something is written: what a watch has not brought yet may be
//! the pod that uses the claim (R-PVCP-7).

use crate::client::{self, ListEvent, ListRequest, ReadError, Reader};
use crate::cluster::Reach;
use crate::model::Kind;
use crate::objects::{self, AnyObject};
use crate::sources::intake::Intake;

/// Objects that were listed just now. Taking them in adds to what is known, and ends nothing: what is
/// gone the watches tell, and whether everything was seen stays their word.
pub struct Again(Box<dyn FnOnce(&mut Intake)>);

impl Again {
    /// Takes in what was listed.
    pub fn take_in(self, intake: &mut Intake) {
        (self.0)(intake);
    }
}

/// Lists everything within reach, past every cache of the API server.
///
/// # Errors
/// When it cannot be listed. What is not served has no objects.
pub async fn list_again(reader: &Reader, reach: &Reach) -> Result<Again, ReadError> {
    let kind = reach.kind;
    let decoding = match kind {
        Kind::Pod | Kind::PersistentVolumeClaim | Kind::VolumeAttachment | Kind::VolumeSnapshot => {
            objects::decoding(kind)
        }
        // Nothing that is written rests on a list of others.
        _ => None,
    };
    let Some(decoding) = decoding else { return Ok(Again(Box::new(|_| {}))) };
    let mut request = ListRequest::new(kind.group().name, kind.group().version, kind.plural());
    request.namespace = reach.namespace.as_deref().map(str::to_owned);
    let (mut found, mut broken) = (Vec::new(), None);
    let mut sink = |event: ListEvent<Box<dyn AnyObject>>| match event {
        ListEvent::Item(object) => found.push(object),
        ListEvent::Broken(error) => broken = Some(error.to_string()),
        ListEvent::Restart => found.clear(),
    };
    let listed = client::list(reader, &request, decoding, &mut sink).await;
    let date = match listed {
        Ok(listed) => listed.date,
        Err(error) if error.is_not_found() && kind.is_optional() => None,
        Err(error) => return Err(error),
    };
    let reach = reach.clone();
    Ok(Again(Box::new(move |intake: &mut Intake| {
        for object in &found {
            intake.watched(&reach, &**object);
        }
        if let Some(reason) = broken {
            intake.broke(reach.clone(), reason.clone());
            let Reach { kind, namespace } = reach;
            intake.apply(crate::cluster::Change::Lost(crate::cluster::Gap {
                kind,
                namespace,
                reason,
            }));
        }
        if let Some(date) = date {
            intake.advance(date);
        }
    })))
}

//! The custom resources of a namespace that use claims.

use std::sync::Arc;

use futures::{StreamExt as _, stream};

use crate::client::{self, ListEvent, ListRequest, Reader, Served, ServedKinds, ServedVersion};
use crate::model::{Answer, CUSTOM_KINDS, CustomKind, CustomUser, CustomUsers, UnlistedKind};
use crate::objects::CustomObject;
use crate::sources::live::gap_reason::gap_reason;

/// How many kinds are listed at the same time.
const PARALLEL: usize = 8;
/// Items per page: custom resources can be large, and only what they name is kept.
const PAGE: u32 = 100;

/// Lists every kind that uses claims and is served.
pub(super) async fn list_users(reader: &Reader, served: &ServedKinds, namespace: &str) -> Answer {
    let wanted =
        CUSTOM_KINDS.iter().filter_map(|kind| match served.served(kind.group, kind.plural) {
            Served::Versions(versions) => versions.first().map(|it| (kind, Ok(it))),
            Served::Not => None,
            Served::Unseen => Some((kind, Err("unknown whether the server serves it".to_owned()))),
        });
    let lists = stream::iter(wanted).map(|(kind, version)| async move {
        let listed = match version {
            Ok(version) => list_kind(reader, kind, version, namespace).await,
            Err(reason) => Err(reason),
        };
        (kind, listed)
    });
    let mut all = CustomUsers::default();
    let mut lists = lists.buffered(PARALLEL);
    while let Some((kind, listed)) = lists.next().await {
        match listed {
            Ok(users) => all.users.extend(users),
            Err(reason) => all.unlisted.push(UnlistedKind { kind, reason: reason.into() }),
        }
    }
    Answer::Users(Arc::new(all))
}

/// Lists one kind. The error is why nothing is known about it: one object that cannot be read may
/// be the one that matters.
async fn list_kind(
    reader: &Reader,
    kind: &'static CustomKind,
    version: &ServedVersion,
    namespace: &str,
) -> Result<Vec<CustomUser>, String> {
    let request = ListRequest {
        namespace: version.namespaced.then(|| namespace.to_owned()),
        page: Some(PAGE),
        json: true,
        ..ListRequest::new(kind.group, &version.version, kind.plural)
    };
    let (mut users, mut broken) = (Vec::new(), None);
    let mut sink = |event: ListEvent<CustomObject>| match event {
        ListEvent::Item(object) => users.extend(object.user(kind, !version.namespaced)),
        ListEvent::Broken(error) => broken = broken.take().or(Some(error)),
        ListEvent::Restart => {
            users.clear();
            broken = None;
        }
    };
    match client::list(reader, &request, CustomObject::decoding(), &mut sink).await {
        Ok(_) => match broken {
            None => Ok(users),
            Some(error) => Err(error.to_string()),
        },
        // It is not served any more.
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(gap_reason(&error)),
    }
}

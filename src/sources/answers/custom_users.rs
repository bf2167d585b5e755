//! The custom resources of a namespace that use claims.

use std::sync::Arc;

use futures::{StreamExt as _, stream};

use crate::client::{
    self, Decoding, Discovery, ListEvent, ListForm, ListRequest, Reader, ServedVersion,
};
use crate::model::{Answer, CUSTOM_KINDS, CustomKind, CustomUser, CustomUsers, UnlistedKind};
use crate::objects::CustomObject;
use crate::sources::live::gap_reason::gap_reason;

/// How many kinds are listed at the same time.
const PARALLEL: usize = 8;
/// Items per page: custom resources can be large, and only what they name is kept.
const PAGE: u32 = 100;

/// Lists every kind that uses claims and is served.
pub(super) async fn list_users(reader: &Reader, discovery: &Discovery, namespace: &str) -> Answer {
    let lists = stream::iter(CUSTOM_KINDS).map(|kind| async move {
        let listed = match discovery.version_of_custom(kind).await {
            Ok(Some(version)) => list_kind(reader, kind, &version, namespace).await,
            Ok(None) => Ok(Vec::new()),
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
        form: ListForm::Custom,
        group: kind.group.to_owned(),
        version: version.version.clone(),
        resource: kind.plural.to_owned(),
        kind: kind.kind.to_owned(),
        ..ListRequest::default()
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
    match client::list(reader, &request, Decoding::of_json(), &mut sink).await {
        Ok(_) => match broken {
            None => Ok(users),
            Some(error) => Err(error.to_string()),
        },
        Err(error) => Err(gap_reason(&error)),
    }
}

//! `delete sts NAME`, `delete ns NAME`: deletes it with its claims, after showing what becomes of
//! each.

use clap::ValueEnum;
use serde_json::Value;

use super::DeleteArgs;
use crate::cli::writing::{Interrupt, perform};
use crate::cli::{
    Exit, Failure,
    args::{ConnectionArgs, object_name, typed_object},
    collect::{Collected, collect},
    explain, retention,
};
use crate::client::{ObjectRequest, ReadError};
use crate::model::{Cascade, Kind, ObjectKey, ObjectRef, Uid};
use crate::plan;

/// The propagation of a deletion, as kubectl names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CascadeFlag {
    /// Pods and claims are deleted after the StatefulSet
    Background,
    /// The StatefulSet is deleted after its pods and claims
    Foreground,
    /// Pods and claims are not deleted
    Orphan,
}

impl CascadeFlag {
    const fn cascade(self) -> Cascade {
        match self {
            Self::Background => Cascade::Background,
            Self::Foreground => Cascade::Foreground,
            Self::Orphan => Cascade::Orphan,
        }
    }
}

const KINDS: [Kind; 2] = [Kind::StatefulSet, Kind::Namespace];

/// Returns the kind and the names of `StatefulSets` or namespaces that the user names; `None` where
/// claims are meant.
pub(super) fn named(objects: &[String]) -> Result<Option<(Kind, Vec<String>)>, Failure> {
    let kind_of = |text: &String| {
        let kind = text.split('/').next().unwrap_or_default();
        Kind::parse_resource(kind).filter(|kind| KINDS.contains(kind))
    };
    let Some(kind) = objects.first().and_then(kind_of) else { return Ok(None) };
    let once = !objects[0].contains('/');
    let rest = if once { &objects[1..] } else { objects };
    let mut names = Vec::new();
    for text in rest {
        let name = match once {
            true => object_name(text, kind)?,
            false => typed_object(text, &[kind])?.1,
        };
        if names.contains(&name) {
            return Err(Failure::usage(format!("{}/{name} is given twice", kind.short())));
        }
        names.push(name);
    }
    match names.is_empty() {
        true => Err(Failure::usage(format!("no {kind} is named"))
            .hint(Some(format!("expected {} NAME", kind.short())))),
        false => Ok(Some((kind, names))),
    }
}

impl DeleteArgs {
    pub(super) async fn with_claims(
        self,
        kind: Kind,
        names: &[String],
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        self.only_for_claims(kind)?;
        let settings = self.settings()?;
        let format = self.write.format()?;
        let cascade = self.cascade.map(CascadeFlag::cascade).unwrap_or_default();
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        let namespace = self.namespace.clone().or_else(|| collected.namespace.clone());
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        let mut objects = Vec::new();
        for name in names {
            let key = ObjectKey::named(kind, &namespace, name);
            let uid = uid(&collected, &key).await?;
            let object = ObjectRef { key, uid };
            match kind {
                Kind::StatefulSet => {
                    retention::show_deletion(&mut collected, &settings, &object, cascade).await?;
                }
                _ => explain::show(&mut collected, &settings, &object.key).await?,
            }
            objects.push(object);
        }
        let make = |cx: &crate::cluster::Cx| plan::delete_with_claims(cx, &objects, cascade);
        let plan = collected.make(&settings, make).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// Refuses the flags that decide about single claims.
    fn only_for_claims(&self, kind: Kind) -> Result<(), Failure> {
        let flags = [
            (self.all, "--all"),
            (self.selector.is_some(), "-l"),
            (self.keep_data, "--keep-data"),
            (self.delete_leftovers, "--delete-leftovers"),
            (self.snapshot.is_given(), "--snapshot-first"),
            (kind == Kind::Namespace && self.cascade.is_some(), "--cascade"),
            (kind == Kind::Namespace && self.namespace.is_some(), "-n"),
        ];
        match flags.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(Failure::usage(format!("{flag} does not apply to a {kind}"))
                .hint(Some("`kubectl storage retain pvc/NAME` keeps the data of a claim"))),
            None => Ok(()),
        }
    }
}

/// Reads the uid of an object; `None` where there is a dump instead of a cluster.
async fn uid(collected: &Collected, key: &ObjectKey) -> Result<Option<Uid>, Failure> {
    let Some(live) = &collected.live else { return Ok(None) };
    let object = ObjectRequest::of(key, key.kind.group().version);
    let read: Result<_, ReadError> = live.reader.get_object::<Value>(&object).await;
    match read {
        Ok(answer) => Ok(answer.value["metadata"]["uid"].as_str().and_then(Uid::parse)),
        Err(error) if error.is_absence_of(&key.name) => Err(Failure {
            exit: Exit::Refused,
            ..Failure::error(anyhow::anyhow!("there is no {key}"))
        }),
        Err(error) => {
            let hint = error.hint();
            Err(Failure { exit: Exit::Refused, ..Failure::error(error) }.hint(hint))
        }
    }
}

//! `kubectl storage retain`: sets the reclaim policy to Retain, which stops a deletion.

use std::path::PathBuf;

use clap::Args;

use super::{Interrupt, WriteArgs, perform};
use crate::cli::{
    Exit, Failure,
    args::{ConnectionArgs, typed_objects},
    collect::{ClusterSource, collect},
    reading::dumps,
};
use crate::model::{Kind, ObjectKey};
use crate::plan;

/// Arguments of `retain`.
#[derive(Debug, Args)]
pub struct RetainArgs {
    /// Retain these volumes: pv/NAME, or pvc/NAME for the volume that it is bound to
    #[arg(value_name = "OBJECT", required = true)]
    objects: Vec<String>,
    /// Find the claims in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Plan for a saved dump, and change nothing: a file, a folder or - for stdin
    #[arg(short, long = "filename", value_name = "DUMP", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    write: WriteArgs,
}

impl RetainArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        if self.write.max_percent.is_some() {
            let told = "--max-percent requires the count of all volumes, but retain reads only those \
                 that you name";
            return Err(Failure::usage(told));
        }
        let named =
            typed_objects(&self.objects, &[Kind::PersistentVolume, Kind::PersistentVolumeClaim])?;
        let settings = self.write.settings();
        let from = if self.filename.is_empty() {
            ClusterSource::Named {
                connection,
                namespace: self.namespace.as_deref(),
                objects: &named,
            }
        } else {
            dumps(&self.filename, None, &[])?
        };
        let mut collected = collect(from, &settings, None).await?;
        // A dump has no context that could name a namespace.
        let given = self.namespace.clone().or_else(|| collected.namespace.clone());
        let namespace = given.unwrap_or_else(|| "default".to_owned());
        let keys: Vec<_> =
            named.iter().map(|(kind, name)| ObjectKey::named(*kind, &namespace, name)).collect();
        let plan = perform::plan(&mut collected, &settings, |cx| plan::retain(cx, &keys)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }
}

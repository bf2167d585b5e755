//! `kubectl storage retain`: sets the reclaim policy to Retain, which stops a deletion.

use std::path::PathBuf;

use clap::Args;

use super::{WriteArgs, collect_named, perform};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{ConnectionArgs, namespace, typed_objects},
    },
    model::Kind,
    plan,
};

/// Arguments of `retain`.
#[derive(Debug, Args)]
pub struct RetainArgs {
    /// Retain these volumes: pv/NAME, or pvc/NAME for the volume that it is bound to
    #[arg(value_name = "OBJECT", required = true)]
    objects: Vec<String>,
    /// Find the claims in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Plan for a saved dump, change nothing: a file, a folder or -
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
        self.write.bounds_no_share("retain reads only those that you name")?;
        let named =
            typed_objects(&self.objects, &[Kind::PersistentVolume, Kind::PersistentVolumeClaim])?;
        let settings = self.write.settings();
        let place = (self.namespace.as_deref(), &*self.filename);
        let (mut collected, keys) = collect_named(connection, &settings, &named, place).await?;
        let plan = collected.make(&settings, |cx| plan::retain(cx, &keys)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }
}

//! `kubectl storage disown`: removes references of claims to owners that do not exist.

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

/// Arguments of `disown`.
#[derive(Debug, Args)]
pub struct DisownArgs {
    /// Remove references of these claims: pvc/NAME
    #[arg(value_name = "pvc/NAME", required = true)]
    claims: Vec<String>,
    /// Find the claims in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Assert that owners of kinds which the server no longer serves are not needed; remove references to them too
    #[arg(long)]
    owner_kind_gone: bool,
    /// Plan for a saved dump, change nothing: a file, a folder or -
    #[arg(short, long = "filename", value_name = "DUMP", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    write: WriteArgs,
}

impl DisownArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        self.write.bounds_no_share("disown reads only what you name")?;
        let named = typed_objects(&self.claims, &[Kind::PersistentVolumeClaim])?;
        let mut settings = self.write.settings();
        settings.owner_kind_gone = self.owner_kind_gone;
        let place = (self.namespace.as_deref(), &*self.filename);
        let (mut collected, keys) = collect_named(connection, &settings, &named, place).await?;
        let plan = collected.make(&settings, |cx| plan::disown(cx, &keys)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }
}

//! `kubectl storage destroy-orphan`: has a driver delete a backend volume that no volume names.

use clap::{ArgGroup, Args};

use super::{Interrupt, WriteArgs, journal, perform};
use crate::cli::{
    Exit, Failure,
    args::ConnectionArgs,
    collect::{From, collect},
};
use crate::model::{SecretWord, escape_control};
use crate::plan::{self, Which};

/// Arguments of `destroy-orphan`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true))]
pub struct OrphanArgs {
    /// The CSI driver of the backend volume
    #[arg(long, value_name = "DRIVER", requires = "handle", group = "which")]
    driver: Option<String>,
    /// Its volume handle
    #[arg(long, value_name = "HANDLE", requires = "driver")]
    handle: Option<String>,
    /// The backend volume that this entry of the journal kept
    #[arg(long, value_name = "ENTRY", group = "which")]
    from_journal: Option<u64>,
    /// Your word that no other cluster uses the backend of this driver
    #[arg(long)]
    backend_exclusive: bool,
    /// The secret with which the driver deletes it, where the journal does not tell
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "no_secret")]
    secret: Option<String>,
    /// Your word that the driver needs no secret to delete it
    #[arg(long)]
    no_secret: bool,
    #[command(flatten)]
    write: WriteArgs,
}

impl OrphanArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        self.write.rests_on_the_journal("destroy-orphan")?;
        let (which, secret) = (self.which()?, self.secret()?);
        let settings = self.write.settings();
        let from = From::Watched { connection, namespace: None };
        let mut collected = collect(from, &settings, None).await?;
        let history = journal::recall(&collected)?;
        if let Which::Entry(wanted) = which
            && history.entry(wanted).is_none()
        {
            return Err(journal::no_entry(&history, wanted));
        }
        let orphan = |cx: &crate::cluster::Cx| plan::orphan(cx, &history, &which, &secret);
        let plan = perform::plan(&mut collected, &settings, orphan).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    fn which(&self) -> Result<Which, Failure> {
        match (self.from_journal, &self.driver, &self.handle) {
            (Some(entry), _, _) => Ok(Which::Entry(entry)),
            (None, Some(driver), Some(handle)) if !driver.is_empty() && !handle.is_empty() => {
                Ok(Which::Named {
                    driver: driver.as_str().into(),
                    handle: handle.as_str().into(),
                    exclusive: self.backend_exclusive,
                })
            }
            _ => Err(Failure::usage("--driver and --handle name no backend volume")),
        }
    }

    fn secret(&self) -> Result<SecretWord, Failure> {
        let Some(secret) = &self.secret else {
            return Ok(if self.no_secret { SecretWord::None } else { SecretWord::Unsaid });
        };
        let parts = secret.split_once('/');
        let whole = |(namespace, name): &(&str, &str)| {
            !namespace.is_empty() && !name.is_empty() && !name.contains('/')
        };
        let Some((namespace, name)) = parts.filter(whole) else {
            let shown = escape_control(secret);
            return Err(Failure::usage(format!("{shown:?} names no secret"))
                .hint(Some("expected NAMESPACE/NAME")));
        };
        Ok(SecretWord::Named { namespace: namespace.into(), name: name.into() })
    }
}

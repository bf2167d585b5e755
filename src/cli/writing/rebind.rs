//! `kubectl storage rebind`: gives a Released volume back to a claim, data intact.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::{SavedArgs, WriteArgs, journal, perform, saved_manifest};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{ConnectionArgs, namespace, object_name},
        collect::collect,
        terminal,
    },
    model::{ClaimKey, Kind, escape_control},
    plan::{self, RebindRequest, SavedVolume},
};

/// Arguments of `rebind`.
#[derive(Debug, Args)]
pub struct RebindArgs {
    /// Give this volume to a claim: pv/NAME or NAME
    #[arg(value_name = "PV")]
    volume: String,
    /// Give it to this claim, which is created if it does not exist [default: the claim that it was bound to]
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    to: Option<String>,
    /// Find the claim of --to in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace, requires = "to")]
    namespace: Option<String>,
    /// Create the volume, which a Lost claim references or a teardown kept, from this manifest or record; - for stdin
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    from: Option<PathBuf>,
    /// Assert that a backend volume whose deletion was stopped, or failed, is intact
    #[arg(long)]
    backend_verified: bool,
    #[command(flatten)]
    saved: SavedArgs,
    #[command(flatten)]
    write: WriteArgs,
}

/// Tells that the claim has its volume already.
pub(super) fn tell_done(told: Option<&str>) {
    if let Some(told) = told {
        terminal::note(&escape_control(told));
    }
}

/// Claim as the user names it, with or without its namespace.
pub(super) struct NamedClaim {
    namespace: Option<String>,
    name: String,
}

impl RebindArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        let volume = object_name(&self.volume, Kind::PersistentVolume)?;
        let to = self.to.as_deref();
        let to = to.map(|it| NamedClaim::parse(it, self.namespace.as_deref())).transpose()?;
        if self.from.is_some() {
            self.write.rests_on("rebind --from", "a file of this machine")?;
        }
        let from = self.from.as_deref().map(saved_manifest).transpose()?;
        let from = from.map(|it| of_record(it, &volume)).transpose()?;
        let mut settings = self.write.settings();
        settings.backend_verified = self.backend_verified;
        let source = self.saved.or_watched(connection, None)?;
        let mut collected = collect(source, &settings, None).await?;
        // A plan that rests on the journal cannot be saved, and of a dump nothing is known of what
        // was done.
        let portable = self.saved.is_given() || self.write.plan_out.is_some();
        let history = match portable {
            true => None,
            false => Some(journal::recall(&collected).await?),
        };
        let current = collected.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let request = RebindRequest {
            volume: volume.into(),
            to: to.map(|it| it.key(&current)),
            from,
            history: history.as_ref(),
        };
        let (plan, told) = collected.make(&settings, |cx| plan::rebind(cx, &request)).await?;
        tell_done(told.as_deref());
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }
}

/// Returns the manifest of a volume from the record of a teardown, or the manifest itself.
fn of_record(saved: Value, volume: &str) -> Result<SavedVolume, Failure> {
    if saved["kind"] != "TeardownRecord" {
        return Ok(SavedVolume::Manifest(saved));
    }
    let volumes = saved["volumes"].as_array().into_iter().flatten();
    let of = |it: &&Value| it["volume"] == volume;
    let found = volumes.clone().find(of).filter(|it| !it["manifest"].is_null());
    let shown = escape_control(volume);
    let found =
        found.ok_or_else(|| Failure::usage(format!("the record has no manifest of pv/{shown}")))?;
    if found["manifest"]["metadata"]["name"] != volume {
        let told = format!("the manifest of pv/{shown} in the record is that of another volume");
        return Err(Failure::usage(told));
    }
    match found["outcome"].as_str() {
        Some("kept") => {
            let cluster = saved["metadata"]["cluster"]["uid"].as_str().map(str::to_owned);
            Ok(SavedVolume::Kept(found["manifest"].clone(), cluster))
        }
        outcome => Err(Failure::usage(format!(
            "the record does not say that pv/{shown} was kept: its outcome is {}",
            escape_control(outcome.unwrap_or("unknown"))
        ))),
    }
}

impl NamedClaim {
    /// Parses what `--to` names, beside `--namespace`.
    pub(super) fn parse(text: &str, namespace: Option<&str>) -> Result<Self, Failure> {
        // `pvc/NAME` is what other commands call a claim.
        let (own, name) = match text.split_once('/') {
            Some((kind, name))
                if Kind::parse_resource(kind) == Some(Kind::PersistentVolumeClaim) =>
            {
                (None, name)
            }
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        let plain = |word: &str| object_name(word, Kind::PersistentVolumeClaim).is_ok();
        if !plain(name) || name.contains('/') || !own.is_none_or(plain) {
            let shown = escape_control(text);
            return Err(Failure::usage(format!("\"{shown}\" is not a valid claim"))
                .hint(Some("expected NAMESPACE/NAME or NAME")));
        }
        if let (Some(one), Some(other)) = (own, namespace)
            && one != other
        {
            return Err(Failure::usage(format!(
                "--to names namespace {}, and -n names {}",
                escape_control(one),
                escape_control(other)
            )));
        }
        Ok(Self { namespace: own.or(namespace).map(str::to_owned), name: name.to_owned() })
    }

    /// Returns the key, in this namespace where none was named.
    pub(super) fn key(self, current: &str) -> ClaimKey {
        let namespace = self.namespace.as_deref().unwrap_or(current).into();
        ClaimKey { namespace, name: self.name.into() }
    }
}

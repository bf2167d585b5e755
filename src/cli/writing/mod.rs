//! Common parts of all writing commands: flags, confirmation, execution, receipt.

pub(super) mod adopt;
pub(super) mod apply;
mod confirm;
pub(super) mod delete;
pub(super) mod disown;
pub(super) mod expand;
pub(super) mod fix_finalizers;
pub(super) mod gc;
pub(super) mod guard;
pub(super) mod journal;
pub(super) mod orphan;
pub(super) mod perform;
pub(super) mod rebind;
pub(super) mod retain;
pub(super) mod retention_reconcile;
mod several;
pub(super) mod teardown;
pub(super) mod undo;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{
    Exit, Failure, Interrupt,
    acting::{ActingTerms, Following},
    args::{ConnectionArgs, GapArgs, JournalPlaceArgs, format},
    collect::{ClusterSource, Collected, collect},
    completion::{PLANS, formats},
    reading::dumps,
};
use crate::{
    apply::{ChangeReceipt, DryRun, Outcome, Receipt, RunOptions},
    client::RequestTimeout,
    model::{Kind, ObjectKey, SecretAssertion, Settings, Threshold, escape_control},
    output::format::Format,
    plan::{Plan, ProposedChange, RefusedObject},
    watch::acting::{ActingBounds, Work, WorkTerms},
};

/// A dump to plan for, instead of a cluster.
#[derive(Debug, Args)]
pub(super) struct SavedArgs {
    /// Plan for a saved dump, change nothing: a file, a folder or -
    #[arg(short, long = "filename", value_name = "DUMP", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
    /// Set the time at which the dump was taken, if the dump lacks it
    #[arg(long, value_name = "TIME", requires = "filename")]
    taken_at: Option<String>,
    /// Assert that the dump holds all objects of these kinds, or `all`
    #[arg(long, value_name = "KIND", value_delimiter = ',', requires = "filename",
          add = clap_complete::ArgValueCandidates::new(super::completion::resources))]
    complete: Vec<String>,
}

impl SavedArgs {
    /// Whether a dump is given.
    fn is_given(&self) -> bool {
        !self.filename.is_empty()
    }

    /// Returns the source to read: the dump, or a cluster that is about to be changed.
    pub(super) fn or_watched<'a>(
        &self,
        connection: &'a ConnectionArgs,
        namespace: Option<&'a str>,
    ) -> Result<ClusterSource<'a>, Failure> {
        match self.is_given() {
            true => dumps(connection, &self.filename, self.taken_at.as_deref(), &self.complete),
            false => Ok(ClusterSource::Watched { connection, namespace }),
        }
    }
}

/// Reads a manifest of one object from a file, or from stdin.
fn saved_manifest(path: &Path) -> Result<serde_json::Value, Failure> {
    let read = match path.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin().lock()),
        false => std::fs::read_to_string(path),
    };
    let text = read.map_err(|error| unread_manifest(path, error.into()))?;
    serde_yaml::from_str(&text).map_err(|error| unread_manifest(path, error.into()))
}

/// Returns the failure that a manifest could not be read, or is none.
fn unread_manifest(path: &Path, error: anyhow::Error) -> Failure {
    Failure::error(error.context(format!("failed to read {}", path.display())))
}

/// Reads the objects that the user names, from a cluster or from dumps, and returns their keys.
async fn collect_named(
    connection: &ConnectionArgs,
    settings: &Settings,
    objects: &[(Kind, String)],
    (namespace, filename): (Option<&str>, &[PathBuf]),
) -> Result<(Collected, Vec<ObjectKey>), Failure> {
    let from = match filename.is_empty() {
        true => ClusterSource::Named { connection, namespace, objects },
        false => dumps(connection, filename, None, &[])?,
    };
    let collected = collect(from, settings, None).await?;
    // A dump has no context that could name a namespace.
    let namespace = namespace.or(collected.namespace.as_deref()).unwrap_or("default");
    let key = |(kind, name): &(Kind, String)| ObjectKey::named(*kind, namespace, name);
    let keys = objects.iter().map(key).collect();
    Ok((collected, keys))
}

/// What the user says of the secret with which a driver deletes a backend volume.
#[derive(Debug, Args)]
pub(super) struct SecretArgs {
    /// Name the Secret with which the driver deletes the volume, where it is unknown
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "no_secret")]
    secret: Option<String>,
    /// Assert that the driver needs no Secret to delete a volume
    #[arg(long)]
    no_secret: bool,
}

impl SecretArgs {
    /// Returns what the flags assert about the secret.
    pub(super) fn word(&self) -> Result<SecretAssertion, Failure> {
        let Some(secret) = &self.secret else {
            return Ok(if self.no_secret {
                SecretAssertion::None
            } else {
                SecretAssertion::Unsaid
            });
        };
        let parts = secret.split_once('/');
        let whole = |(namespace, name): &(&str, &str)| {
            !namespace.is_empty() && !name.is_empty() && !name.contains('/')
        };
        let Some((namespace, name)) = parts.filter(whole) else {
            let shown = escape_control(secret);
            return Err(Failure::usage(format!("{shown:?} is not a reference to a Secret"))
                .hint(Some("expected NAMESPACE/NAME")));
        };
        Ok(SecretAssertion::Named { namespace: namespace.into(), name: name.into() })
    }
}

/// Flags of every command that writes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(super) struct WriteArgs {
    /// Skip the prompt; replaces no flag such as --accept-leak
    #[arg(short, long)]
    yes: bool,
    /// Change nothing: only plan (client), or send with dryRun=All (server)
    #[arg(long, value_name = "HOW", default_value = "none", default_missing_value = "client",
          num_args = 0..=1, require_equals = true, hide_default_value = true, hide_possible_values = true)]
    dry_run: DryRunFlag,
    /// Save the plan for `apply`, and change nothing
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    plan_out: Option<PathBuf>,
    /// Refuse a plan that changes more than N objects
    #[arg(long, value_name = "N", default_value_t = 50)]
    max: usize,
    /// Refuse a plan that changes more than this share of volumes
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    max_percent: Option<u8>,
    /// Make N changes at a time [default: 1 per driver, 8 owner references]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: Option<u16>,
    /// Write no Events about the changes
    #[arg(long)]
    no_events: bool,
    /// Wait until each effect is verified
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true",
          num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set, hide_possible_values = true)]
    wait: bool,
    /// Wait this long for each change; 0: as threshold delete-wait says, 5m
    #[arg(long, value_name = "DURATION")]
    timeout: Option<RequestTimeout>,
    /// Make changes as this field manager
    #[arg(long, value_name = "NAME", default_value = "kubectl-storage", value_parser = field_manager)]
    field_manager: String,
    #[command(flatten)]
    journal: JournalPlaceArgs,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print as table, json, yaml or name
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(PLANS))]
    output: String,
}

/// `--dry-run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DryRunFlag {
    /// Make the changes
    None,
    /// Plan, and send no change
    Client,
    /// Send each request with dryRun=All
    Server,
}

/// Parses a field manager, within the API server's own limit (apimachinery, `FieldManagerMaxLength`).
fn field_manager(name: &str) -> Result<String, String> {
    const LONGEST: usize = 128;
    let printable = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic());
    match printable && name.len() <= LONGEST && !name.contains(['&', '?', '#', '%', '+']) {
        true => Ok(name.to_owned()),
        false => Err(format!("expected up to {LONGEST} printable characters without spaces")),
    }
}

impl WriteArgs {
    /// Parses `-o`.
    pub(super) fn format(&self) -> Result<Format, Failure> {
        format(&self.output, &[Format::Table, Format::Json, Format::Yaml, Format::Name], |it| {
            format!(
                "unsupported format {it}; plans and receipts are printed as table, json, yaml or name"
            )
        })
    }

    /// Puts the place of the journal, and a given time to wait for the effect of a change, into the settings. Neither
    /// affects what is judged.
    fn take_into(&self, settings: &mut Settings) {
        self.journal.take_into(settings);
        if let Some(timeout) = self.timeout.and_then(|it| it.0) {
            settings.thresholds.set(Threshold::DeleteWait, timeout);
        }
    }

    /// Refuses a flag that needs to wait for an effect, where nothing is to be waited for.
    pub(super) fn must_wait(&self, flag: &str, until: &str) -> Result<(), Failure> {
        match self.wait {
            true => Ok(()),
            false => Err(Failure::usage(format!("{flag} must wait until {until}"))
                .hint(Some("omit --wait=false"))),
        }
    }

    /// Returns the settings of a command that has no others.
    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        self.take_into(&mut settings);
        settings
    }

    /// Refuses `--max-percent`: a command that reads only named objects does not know how many volumes there are.
    fn bounds_no_share(&self, reads: &str) -> Result<(), Failure> {
        match self.max_percent {
            None => Ok(()),
            Some(_) => Err(Failure::usage(format!(
                "--max-percent requires the count of all volumes, but {reads}"
            ))),
        }
    }

    /// Does these works in the background until it is ended.
    async fn follow(
        &self,
        connection: &ConnectionArgs,
        works: &[Work],
        terms: WorkTerms,
        judged: Settings,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.format()?;
        let following = Following {
            connection,
            terms: ActingTerms {
                works: works.iter().map(|work| (*work, true)).collect(),
                terms,
                judged,
                bounds: ActingBounds { most: Some(self.max), ..ActingBounds::default() },
            },
            field_manager: &self.field_manager,
            options: self.options(),
            format: &format,
        };
        Box::pin(following.run(interrupt)).await
    }

    /// Returns the options with which changes are made.
    pub(super) fn options(&self) -> RunOptions {
        RunOptions {
            parallel: self.parallel.map(usize::from),
            per_driver: 1,
            dry_run: match self.dry_run {
                DryRunFlag::Server => DryRun::Server,
                DryRunFlag::None | DryRunFlag::Client => DryRun::None,
            },
            events: !self.no_events,
            wait: self.wait,
        }
    }

    /// Whether nothing is to be written, whatever the plan says.
    fn only_plans(&self) -> bool {
        self.plan_out.is_some() || self.dry_run == DryRunFlag::Client
    }
}

/// Returns the exit code of a plan that is only shown.
fn exit_of_plan(plan: &Plan, gaps: bool) -> Exit {
    let nothing_else = plan.changes.iter().all(ProposedChange::only_records);
    exit_of_refusals(&plan.refusals, nothing_else, gaps)
}

/// Returns the exit code of a receipt. Of several that apply, the first: 130, 1, 6, 5, 4, 0.
fn exit_of_receipt(receipt: &Receipt, gaps: bool) -> Exit {
    if receipt.interrupted {
        return Exit::Interrupted;
    }
    // A veto that is recorded carries out nothing of what was asked for.
    let recorded = |it: &&ChangeReceipt| it.outcome == Outcome::Done && it.change.only_records();
    let recorded = receipt.done.iter().filter(recorded).count();
    let done = receipt.count(Outcome::Done) - recorded;
    let all = receipt.done.len() - recorded;
    let partly = receipt.done.iter().any(|it| it.partly && it.outcome != Outcome::Done);
    if partly || receipt.count(Outcome::Unanswered) + receipt.count(Outcome::Pending) > 0 {
        return Exit::Unfinished;
    }
    match (done, all) {
        (0, 1..) if receipt.count(Outcome::Failed) > 0 => Exit::Error,
        (0, 1..) => Exit::Refused,
        _ if done < all => Exit::Unfinished,
        (0, _) => exit_of_refusals(&receipt.refusals, true, gaps),
        // What was named and refused, or not seen, makes it a part of what was asked for.
        _ if receipt.refusals.iter().any(|it| it.named || it.unseen) => Exit::Unfinished,
        _ => exit_of_refusals(&receipt.refusals, false, gaps),
    }
}

/// Returns the exit code of refusals: an object that was named must not be refused, one that a filter chose may be. A
/// refusal because something was not read is never fine.
fn exit_of_refusals(refusals: &[RefusedObject], nothing_else: bool, gaps: bool) -> Exit {
    let named = refusals.iter().any(|it| it.named);
    let unseen = refusals.iter().any(|it| it.unseen);
    match (named, nothing_else) {
        (true, true) => Exit::Refused,
        (true, false) => Exit::Unfinished,
        _ if unseen => Exit::Refused,
        _ if gaps => Exit::Incomplete,
        _ => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Arg, ArgAction, Args as _, Command};

    use super::{
        ConnectionArgs, fix_finalizers::FixFinalizersArgs, gc::GcArgs,
        retention_reconcile::RetentionReconcileArgs,
    };

    /// Flags that go with `--watch`: which objects, when, and how changes are made. Whatever else there is must
    /// conflict with it, or require what does: no danger is accepted for what is found later.
    const BESIDE: [&str; 18] = [
        "all-namespaces",
        "announce",
        "cluster-journal",
        "driver",
        "field-manager",
        "max",
        "namespace",
        "no-events",
        "older-than",
        "output",
        "parallel",
        "record-namespace",
        "selector",
        "storage-class",
        "threshold",
        "timeout",
        "wait",
        "yes",
    ];

    /// Whether a call is refused because of a flag beside `--watch`.
    fn is_refused(command: &Command, arg: &Arg) -> bool {
        let long = arg.get_long().unwrap_or_default();
        let mut call = vec!["x".to_owned(), "--watch".to_owned(), "--yes".to_owned()];
        if command.get_arguments().any(|it| it.get_long() == Some("announce")) {
            call.extend(["--announce=72h", "--older-than=7d"].map(str::to_owned));
        }
        let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        let value = match (takes_value, long) {
            (false, _) => String::new(),
            (true, "older-than") => "=7d".to_owned(),
            (true, "max-percent") => "=5".to_owned(),
            (true, "dry-run") => "=client".to_owned(),
            (true, "backend-exclusive") => "=pv/a".to_owned(),
            (true, _) => "=a/b".to_owned(),
        };
        match arg.is_positional() {
            true => call.push("a".to_owned()),
            false => call.push(format!("--{long}{value}")),
        }
        let refused = command.clone().try_get_matches_from(call).err();
        refused.is_some_and(|it| {
            use clap::error::ErrorKind::{ArgumentConflict, MissingRequiredArgument};
            matches!(it.kind(), ArgumentConflict | MissingRequiredArgument)
        })
    }

    #[test]
    fn nothing_dangerous_is_said_beside_watch() {
        for command in [
            GcArgs::augment_args(ConnectionArgs::augment_args(Command::new("gc"))),
            FixFinalizersArgs::augment_args(Command::new("fix-finalizers")),
            RetentionReconcileArgs::augment_args(Command::new("retention reconcile")),
        ] {
            let name = command.get_name().to_owned();
            let others = command.get_arguments().filter(|it| {
                let long = it.get_long().unwrap_or_default();
                // Those of the connection are of every command.
                let is_own = !it.is_global_set() && !["watch", "help"].contains(&long);
                is_own && !BESIDE.contains(&long)
            });
            let accepted: BTreeSet<_> = others
                .filter(|it| !is_refused(&command, it))
                .map(|it| it.get_id().to_string())
                .collect();
            assert_eq!(accepted, BTreeSet::new(), "{name}");
        }
    }
}

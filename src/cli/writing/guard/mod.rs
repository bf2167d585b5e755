//! `kubectl storage guard`: makes the API server itself refuse deletes that lose data.

mod status;
mod write;

use std::collections::BTreeSet;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use status::StatusArgs;
use write::{InstallArgs, UninstallArgs};

use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{ConnectionArgs, format, secret},
        collect::connect,
        completion::{DOCUMENTS, formats},
        terminal,
    },
    client::{self, Connection, ListForm, ListRequest, ReadError, Reader, list_json},
    guard::{
        GUARD_LABEL, GuardKind, GuardMode, GuardOptions, Installed, NamespaceMode, installation,
        objects,
    },
    model::{Kind, ObjectKey, Time, escape_control},
    output::{
        format::Format,
        guard::{self, GuardChanges, GuardLabel, GuardNamespaces, difference_lines},
        list,
        report::wrap,
    },
};

/// Arguments of `guard`.
#[derive(Debug, Args)]
pub struct GuardArgs {
    #[command(subcommand)]
    command: GuardCommand,
}

/// What to do with the guard.
#[derive(Debug, Subcommand)]
enum GuardCommand {
    /// Install the guard, repair it, or change its options, after showing what is written
    Install(Box<InstallArgs>),
    /// Prove that the guard is in force by dry runs, and list what it does not stop
    Status(StatusArgs),
    /// Show how the guard in the cluster differs from the one installed; exit with 1 if it does
    Diff(DiffArgs),
    /// Print the policies and bindings as YAML, for deployment by other tools
    Print(PrintArgs),
    /// Remove the guard, after showing what is deleted
    Uninstall(UninstallArgs),
}

impl GuardArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        match self.command {
            GuardCommand::Install(args) => args.run(connection, interrupt).await,
            GuardCommand::Status(args) => args.run(connection).await,
            GuardCommand::Diff(args) => args.run(connection).await,
            GuardCommand::Print(args) => args.run(),
            GuardCommand::Uninstall(args) => args.run(connection, interrupt).await,
        }
    }
}

/// How `guard` prints.
#[derive(Debug, Args)]
struct GuardOutput {
    /// Print in this format: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(DOCUMENTS))]
    output: String,
}

/// Format in which `guard` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardFormat {
    Text,
    Json,
    Yaml,
}

impl GuardOutput {
    /// Parses the format; `command` is the one that refuses others.
    fn format(&self, command: &str) -> Result<GuardFormat, Failure> {
        let known = [Format::Table, Format::Json, Format::Yaml];
        let refusal = |it: &str| {
            format!("{command} does not print {it}; its formats are table, json and yaml")
        };
        Ok(match format(&self.output, &known, refusal)? {
            Format::Json => GuardFormat::Json,
            Format::Yaml => GuardFormat::Yaml,
            _ => GuardFormat::Text,
        })
    }
}

impl GuardFormat {
    const fn is_text(self) -> bool {
        matches!(self, Self::Text)
    }

    /// Prints a document as JSON or YAML; not as text, which each command prints itself.
    fn print(self, shape: &impl Serialize) -> Result<(), Failure> {
        terminal::print(|out| match self {
            Self::Text => Ok(()),
            Self::Json => list::json(out, shape),
            Self::Yaml => list::yaml(out, shape),
        })
        .map_err(Failure::error)
    }
}

/// What the guard is to do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules")]
struct RuleArgs {
    /// Refuse, or only warn, in the rules about volumes and VolumeAttachments, which no namespace limits [default: warn]
    #[arg(long, value_name = "MODE")]
    volumes: Option<VolumesFlag>,
    /// Also guard against this service account, such as that of a pipeline; can be repeated
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = secret)]
    deny_account: Vec<(String, String)>,
    /// Let this user pass: a controller of a managed control plane whose name does not begin with system:; can be repeated
    #[arg(long, value_name = "USER")]
    pass_user: Vec<String>,
    /// Let this group pass, for --as-group in an emergency [default: storage.kubectl.dev:break-glass]
    #[arg(long, value_name = "GROUP")]
    break_glass_group: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum VolumesFlag {
    /// Refuse
    Deny,
    /// Carry out the request, and print a warning
    Warn,
}

impl RuleArgs {
    /// Returns the options, with those that flags change.
    fn over(&self, options: GuardOptions) -> Result<GuardOptions, Failure> {
        let mut options = options;
        match self.volumes {
            None => {}
            Some(VolumesFlag::Deny) => options.volumes = GuardMode::Deny,
            Some(VolumesFlag::Warn) => options.volumes = GuardMode::Warn,
        }
        if !self.deny_account.is_empty() {
            options.denied_accounts = self.deny_account.iter().cloned().collect();
        }
        if !self.pass_user.is_empty() {
            options.passed_users = self.pass_user.iter().cloned().collect();
        }
        if let Some(group) = &self.break_glass_group {
            options.break_glass.clone_from(group);
        }
        options.check().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(options)
    }
}

/// Escapes a line, and wraps it for the terminal; all parts but the first are indented.
fn screen_lines(line: &str) -> Vec<String> {
    let width = terminal::width().map_or(usize::MAX, usize::from);
    let parts = wrap(&escape_control(line), width.saturating_sub(2)).into_iter().enumerate();
    parts.map(|(place, part)| if place == 0 { part } else { format!("  {part}") }).collect()
}

/// Tells a line on stderr.
fn tell(line: &str) {
    for line in screen_lines(line) {
        terminal::note(&line);
    }
}

/// Cluster with the objects of the guard that it has.
struct GuardedCluster {
    connection: Connection,
    reader: Reader,
    installed: Installed,
    /// Time of the API server.
    now: Option<Time>,
}

/// Names of namespaces by their label for the guard.
#[derive(Debug, Default)]
struct NamespaceLabels {
    /// Namespaces in which it refuses.
    deny: BTreeSet<String>,
    /// Namespaces in which it does nothing.
    off: BTreeSet<String>,
    /// Namespaces in which it warns.
    warn: BTreeSet<String>,
    /// Namespaces with a value that it does not know, with the value.
    unknown: BTreeSet<(String, String)>,
}

impl From<&NamespaceLabels> for GuardNamespaces {
    fn from(labels: &NamespaceLabels) -> Self {
        let unknown = labels.unknown.iter();
        let label = |(name, value): &(String, String)| GuardLabel {
            name: name.clone(),
            value: value.clone(),
        };
        Self {
            deny: labels.deny.iter().cloned().collect(),
            off: labels.off.iter().cloned().collect(),
            warn: labels.warn.len(),
            unknown: unknown.map(label).collect(),
        }
    }
}

fn read_failure(error: ReadError) -> Failure {
    let hint = match error.is_forbidden() {
        true => Some(
            "`kubectl storage rbac guard --check` lists the permissions that you lack".to_owned(),
        ),
        false => error.hint(),
    };
    Failure::error(error).hint(hint)
}

impl GuardedCluster {
    async fn read(connection: &ConnectionArgs) -> Result<Self, Failure> {
        let connection = connect(connection, None).await?;
        let reader = Reader::new(&connection);
        let mut installed = Installed::default();
        let mut now = None;
        for kind in [GuardKind::Policy, GuardKind::Binding] {
            let answer = match list_json::<Value>(&reader, &all(kind.kind())).await {
                Ok(answer) => answer,
                Err(error) if error.is_not_served() => return Err(not_served(&reader).await),
                Err(error) => return Err(read_failure(error)),
            };
            now = answer.date.or(now);
            match kind {
                GuardKind::Policy => installed.policies = answer.value,
                GuardKind::Binding => installed.bindings = answer.value,
            }
        }
        Ok(Self { connection, reader, installed, now })
    }

    /// Reads the Events that say why volumes could not be deleted.
    async fn failed_deletions(&self) -> Result<Vec<Value>, ReadError> {
        let field_selector = Some(FAILED_DELETIONS.to_owned());
        let request = ListRequest { field_selector, ..all(Kind::Event) };
        Ok(list_json::<Value>(&self.reader, &request).await?.value)
    }

    /// Reads the labels of all namespaces.
    async fn namespaces(&self) -> Result<NamespaceLabels, ReadError> {
        let answer = list_json::<Value>(&self.reader, &all(Kind::Namespace)).await?;
        let mut labels = NamespaceLabels::default();
        for namespace in &answer.value {
            let name = namespace["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let label = namespace["metadata"]["labels"][GUARD_LABEL].as_str();
            match NamespaceMode::of(label) {
                NamespaceMode::Deny => labels.deny.insert(name),
                NamespaceMode::Off => labels.off.insert(name),
                NamespaceMode::Warn => labels.warn.insert(name),
                NamespaceMode::Unknown => {
                    labels.unknown.insert((name, label.unwrap_or_default().to_owned()))
                }
            };
        }
        Ok(labels)
    }
}

/// Field selector for the Events of controllers that could not delete a volume.
const FAILED_DELETIONS: &str = "involvedObject.kind=PersistentVolume,reason=VolumeFailedDelete";

/// Returns the request for all objects of a kind.
fn all(kind: Kind) -> ListRequest {
    ListRequest { form: ListForm::Json, ..ListRequest::of(kind, kind.group().version) }
}

/// Returns the failure that the API server is too old, or that the API is disabled.
async fn not_served(reader: &Reader) -> Failure {
    let version = client::version(reader).await;
    let version = version.map_or_else(|_| "unknown version".to_owned(), |it| it.value.git);
    Failure {
        exit: Exit::Refused,
        error: anyhow::anyhow!(
            "the API server ({version}) does not serve ValidatingAdmissionPolicy in version v1, \
             which the guard consists of"
        ),
        hint: Some("Kubernetes serves it since 1.30; nothing was changed".to_owned()),
    }
}

/// Returns the failure that other objects have names of the guard.
fn taken(foreign: &[ObjectKey]) -> Failure {
    let names: Vec<_> = foreign.iter().map(ToString::to_string).collect();
    Failure {
        exit: Exit::Refused,
        error: anyhow::anyhow!(
            "not made by this tool, and never changed by it: {}",
            names.join(", ")
        ),
        hint: Some("nothing was changed; rename or delete these objects first".to_owned()),
    }
}

/// Arguments of `guard print`.
#[derive(Debug, Args)]
struct PrintArgs {
    #[command(flatten)]
    rules: RuleArgs,
}

impl PrintArgs {
    fn run(self) -> Result<Exit, Failure> {
        let options = self.rules.over(GuardOptions::default())?.in_own_name();
        terminal::print(|out| {
            for object in objects(&options) {
                writeln!(out, "---")?;
                list::yaml(out, &object.manifest)?;
            }
            Ok::<_, std::io::Error>(())
        })
        .map_err(Failure::error)?;
        Ok(Exit::Done)
    }
}

/// Arguments of `guard diff`.
#[derive(Debug, Args)]
struct DiffArgs {
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    output: GuardOutput,
}

impl DiffArgs {
    async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.output.format("guard diff")?;
        let cluster = GuardedCluster::read(connection).await?;
        let installed = &cluster.installed;
        let options = self.rules.over(installed.options().unwrap_or_default())?;
        let steps = installation(installed, &options).map_err(|foreign| taken(&foreign))?;
        let found = guard::changes(&steps);
        format.print(&GuardChanges::new("guard diff", cluster.now, Some(&options), found))?;
        if steps.is_empty() {
            terminal::note("the guard is as it was installed");
            return Ok(Exit::Done);
        }
        if format.is_text() {
            terminal::print(|out| difference_lines(out, &steps)).map_err(Failure::error)?;
        }
        terminal::note(match installed.is_any() {
            true => {
                "the guard differs; `kubectl storage guard install` with the same flags writes what is \
                 shown"
            }
            false => "the guard is not installed",
        });
        Ok(Exit::Error)
    }
}

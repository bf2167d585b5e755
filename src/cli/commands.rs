//! The commands, with their help, and which code runs each.

use std::{ffi::OsString, fmt::Write as _};

use clap::{
    Arg, ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    builder::{StyledStr, styling::Styles},
};
use clap_complete::{ArgValueCandidates, CompletionCandidate};

use super::{
    Exit, Failure, Interrupt,
    args::ConnectionArgs,
    audit::AuditArgs,
    completion::CompletionArgs,
    df::DfArgs,
    dump::DumpArgs,
    explain::ExplainArgs,
    name,
    rbac::RbacArgs,
    retention::RetentionArgs,
    table::{self, FIRST_STEPS, Group},
    terminal::{self, ColorChoice},
    version::{VERSION, VersionArgs},
    watch::WatchArgs,
    writing::{
        adopt::AdoptArgs, apply::ApplyArgs, delete::DeleteArgs, disown::DisownArgs,
        expand::ExpandArgs, fix_finalizers::FixFinalizersArgs, gc::GcArgs, guard::GuardArgs,
        journal::JournalArgs, orphan::OrphanArgs, rebind::RebindArgs, retain::RetainArgs,
        teardown::TeardownArgs, undo::UndoArgs,
    },
};
use crate::model::program;

/// Find and repair what goes wrong with Kubernetes storage
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true, max_term_width = 100, version = VERSION)]
pub struct Cli {
    /// Also say what was read, and in full what was not
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// How to reach the cluster.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Print colours: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub color: ColorChoice,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Report what is wrong with volumes and claims; read-only
    Audit(Box<AuditArgs>),
    /// Explain an object, a finding or a driver
    Explain(ExplainArgs),
    /// Show how full volumes are, by figures that others measured
    Df(Box<DfArgs>),
    /// Run as a service with a policy file
    Watch(Box<WatchArgs>),
    /// Set the reclaim policy to Retain, which stops a deletion
    Retain(Box<RetainArgs>),
    /// Give a Released volume back to a claim, with its data
    Rebind(Box<RebindArgs>),
    /// Give a listed disk that no cluster needs to a claim
    Adopt(Box<AdoptArgs>),
    /// Request more room for claims, where class and driver can
    Expand(Box<ExpandArgs>),
    /// Revert a change, where Kubernetes allows it
    Undo(Box<UndoArgs>),
    /// Reclaim Released volumes, with their backend volumes
    Gc(Box<GcArgs>),
    /// Delete unused claims; choose to keep or destroy their data
    Delete(Box<DeleteArgs>),
    /// Destroy or release all storage before the cluster is deleted
    Teardown(Box<TeardownArgs>),
    /// Carry out a plan that was saved with --plan-out
    Apply(Box<ApplyArgs>),
    /// Delete a backend volume that no PersistentVolume references
    DestroyOrphan(Box<OrphanArgs>),
    /// Unblock objects stuck in Terminating
    FixFinalizers(Box<FixFinalizersArgs>),
    /// Show and change what becomes of the claims of StatefulSets
    Retention(Box<RetentionArgs>),
    /// Remove references of claims to owners that do not exist
    Disown(Box<DisownArgs>),
    /// Have the API server refuse deletes that lose data
    Guard(Box<GuardArgs>),
    /// Print the smallest ClusterRole for a command, or check yours
    Rbac(RbacArgs),
    /// Save what an audit reads to a file, for offline work
    Dump(DumpArgs),
    /// List the changes that were made, and their outcomes
    Journal(JournalArgs),
    /// List the connection flags, which all commands take
    Options(OptionsArgs),
    /// Show the help of a command
    Help(HelpArgs),
    /// Complete commands in kubectl or in a shell
    Completion(CompletionArgs),
    /// Print the version
    Version(VersionArgs),
}

/// Arguments of `help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// Show the help of this command; without, list all commands
    #[arg(value_name = "COMMAND", add = ArgValueCandidates::new(names))]
    command: Vec<String>,
}

/// Returns the completions for names of commands, with what they do.
fn names() -> Vec<CompletionCandidate> {
    let program = Cli::command();
    let of =
        |it: &clap::Command| CompletionCandidate::new(it.get_name()).help(it.get_about().cloned());
    program.get_subcommands().map(of).collect()
}

/// Arguments of `options`.
#[derive(Debug, Args)]
pub struct OptionsArgs {}

impl OptionsArgs {
    fn run() -> Result<Exit, Failure> {
        let flags = ConnectionArgs::augment_args(clap::Command::new("options"));
        let mut flags = flags
            .disable_help_flag(true)
            .max_term_width(MAX_WIDTH)
            .mut_args(|it| it.help_heading(None::<&str>))
            .help_template("All commands take these flags:\n\n{options}");
        let help = flags.render_help();
        let help = match terminal::colour() {
            true => help.ansi().to_string(),
            false => help.to_string(),
        };
        terminal::print(|out| writeln!(out, "{}", help.trim_end())).map_err(Failure::error)?;
        Ok(Exit::Done)
    }
}

/// Greatest width of help, however wide the terminal is.
const MAX_WIDTH: usize = 100;
/// Name of the flag for a namespace before the command.
const NAMESPACE: &str = "namespace";
/// The heading of flags with which the user answers for what the tool cannot see.
const ASSERTIONS: &str = "Assertions (each says what the tool cannot see)";
/// First words in the help of each assertion.
const ASSERTION: &str = "Assert that ";

/// Builds the command line under the name of the file that was called.
pub fn command(called: &str) -> clap::Command {
    named(&name::decide(called, None).0)
}

/// Builds the command line under a name.
fn named(name: &str) -> clap::Command {
    let help =
        Arg::new("help").short('h').long("help").help("Print help").help_heading(None::<&str>);
    let namespace = Arg::new(NAMESPACE).short('n').long(NAMESPACE).value_name("NAMESPACE");
    let usages = [
        ("destroy-orphan", OrphanArgs::usage(name)),
        ("adopt", AdoptArgs::usage(name)),
        ("teardown", TeardownArgs::usage(name)),
    ];
    let program = Cli::command()
        .name("kubectl-storage")
        .display_name(name)
        .bin_name(name)
        .mut_args(|it| it.hide(true))
        .disable_help_flag(true)
        // Possible values say in one line what they are, as all flags do.
        .arg(help.action(ArgAction::HelpShort).global(true))
        .arg(namespace.hide(true));
    let template = template(&program);
    let after = format!(
        "{}\nUse \"{name} COMMAND --help\" for the flags of a command.\n{}",
        table::shown(FIRST_STEPS, name),
        pointer(name)
    );
    program.help_template(template).after_help(after).mut_subcommands(|command| {
        let examples = table::examples(command.get_name());
        let command = match usages.iter().find(|it| it.0 == command.get_name()) {
            Some((_, usage)) => command.override_usage(usage),
            None => command,
        };
        dressed(command, name, examples)
    })
}

/// Adds to the help of a command, and of its subcommands, what all have in common.
fn dressed(command: clap::Command, program: &str, examples: &[table::Example]) -> clap::Command {
    let mut after = table::shown(examples, program);
    if !after.is_empty() {
        after.push('\n');
    }
    let is_assertion =
        |it: &Arg| it.get_help().is_some_and(|help| help.to_string().starts_with(ASSERTION));
    command
        .mut_args(|it| if is_assertion(&it) { it.help_heading(ASSERTIONS) } else { it })
        .mut_subcommands(|it| dressed(it, program, &[]))
        .after_help(after + &pointer(program))
}

/// Returns the line of help that points to the connection flags.
fn pointer(program: &str) -> String {
    format!("Use \"{program} options\" for the connection flags, which all commands take.")
}

/// Returns the template of the program's help, which lists commands by purpose.
fn template(program: &clap::Command) -> StyledStr {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let width = table::rows().map(|it| it.name.len()).max().unwrap_or_default();
    for group in Group::ALL {
        let _ = writeln!(text, "\n{header}{}:{header:#}", group.heading());
        for row in table::rows().filter(|it| it.group == group) {
            let about = program.find_subcommand(row.name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{:width$}{literal:#}  {about}", row.name);
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text.into()
}

/// Parses what was typed. A namespace before the command is that of the command, as with kubectl.
///
/// # Errors
/// When it makes no sense, or when help is all that was asked for.
pub(super) fn parse(mut typed: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut matches = named(program()).try_get_matches_from(&typed)?;
    if let Some(namespace) = matches.get_one::<String>(NAMESPACE) {
        let end = typed.iter().position(|it| it == "--").unwrap_or(typed.len());
        typed.splice(end..end, ["-n".into(), namespace.into()]);
        matches = named(program()).try_get_matches_from(typed)?;
    }
    let cli = Cli::from_arg_matches(&matches)?;
    let Command::Help(HelpArgs { command: words }) = cli.command else { return Ok(cli) };
    let words = [program()].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    Cli::from_arg_matches(&named(program()).try_get_matches_from(words)?)
}

impl Cli {
    /// Runs the command that was typed.
    pub(super) async fn run(self, called: &str, interrupt: &Interrupt) -> Result<Exit, Failure> {
        terminal::choose_colours(self.color);
        if self.verbose > 0 {
            terminal::speak_in_full();
        }
        match self.command {
            Command::Audit(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Watch(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Gc(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::FixFinalizers(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Retain(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Delete(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Rebind(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Adopt(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Retention(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Disown(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Guard(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Teardown(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Apply(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::DestroyOrphan(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Expand(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Undo(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Journal(args) => Box::pin(args.run(&self.connection)).await,
            Command::Dump(args) => Box::pin(args.run(&self.connection)).await,
            Command::Df(args) => Box::pin(args.run(&self.connection)).await,
            Command::Explain(args) => Box::pin(args.run(&self.connection)).await,
            Command::Rbac(args) => args.run(&self.connection).await,
            Command::Version(args) => args.run(),
            Command::Completion(args) => args.run(called),
            Command::Options(OptionsArgs {}) => OptionsArgs::run(),
            // It was answered when it was parsed.
            Command::Help(_) => Ok(Exit::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::start::{READS_DUMPS, TRUSTS_DUMPS},
        output::repeated::{READ_RECORDS, RECORD_ROLES},
    };

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// Checks that commands take the flags that are added to them when they are printed.
    #[test]
    fn commands_take_what_is_repeated() {
        let program = command("kubectl-storage");
        // Those of other commands are offered whole.
        for command in program.get_subcommands().filter(|it| !it.has_subcommands()) {
            let takes = |flag: &str, value: &str| {
                command.get_arguments().any(|it| {
                    let values = it.get_value_names().into_iter().flatten();
                    it.get_long() == Some(flag)
                        && values.map(clap::builder::Str::as_str).eq([value])
                })
            };
            let name = command.get_name();
            // A dump is saved from a cluster, where a report asks for one.
            let reads = takes("filename", "DUMP") && name != "dump";
            assert_eq!(READS_DUMPS.contains(&name), reads, "{name}");
            assert_eq!(TRUSTS_DUMPS.contains(&name), reads && takes("taken-at", "TIME"), "{name}");
            if name != "rbac" {
                let records = takes("record-namespace", "NAMESPACE");
                assert_eq!(READ_RECORDS.contains(&name), records, "{name}");
            }
        }
        for role in table::roles() {
            assert_eq!(RECORD_ROLES.contains(&role.name), role.has_records(), "{}", role.name);
        }
    }

    /// Returns the words that the shell hands to the program.
    fn words(typed: &str) -> Vec<&str> {
        let ours = typed.split(" | ").next().unwrap_or_default();
        let ours = ours.split(" > ").next().unwrap_or_default();
        ours.split_whitespace().filter(|word| *word != "\\").collect()
    }

    #[test]
    fn every_command_has_a_row_and_examples_that_are_valid() {
        let program = command("kubectl-storage");
        let mut commands: Vec<_> = program.get_subcommands().map(clap::Command::get_name).collect();
        let mut rows: Vec<_> = table::rows().map(|it| it.name).collect();
        commands.sort_unstable();
        rows.sort_unstable();
        assert_eq!(commands, rows);
        for row in table::rows().filter(|it| it.name != "options") {
            assert!(row.examples.len() >= 2, "{}", row.name);
        }
        for (what, typed) in table::rows().flat_map(|it| it.examples).chain(FIRST_STEPS) {
            let typed = std::iter::once("kubectl-storage").chain(words(typed));
            if let Err(error) = program.clone().try_get_matches_from(typed) {
                panic!("{what}: {error}");
            }
        }
    }
}

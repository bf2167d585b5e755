//! `kubectl storage audit`: one report, or with `--watch` the same audit continuously.

mod following;
mod selection;
mod trend;

use std::collections::BTreeSet;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use following::{FindingView, Following};
use selection::SelectionArgs;
use trend::{TrendArgs, refuse_terminal};

use super::{
    Exit, Failure, Interrupt,
    args::{ConnectionArgs, GapArgs},
    collect::{Collected, collect, tell},
    completion::{self, REPORTS, formats},
    explain::NamedObject,
    reading::{DumpSourceArgs, JudgementArgs, note_unknown_drivers},
    start, terminal,
};
use crate::{
    model::{RuleId, Settings, Severity, did_you_mean},
    output::{
        columns::Columns,
        format::Format,
        jsonpath::{RenderError, Template},
        lines::Paint,
        order::{SortError, SortPath},
        publish::{self, ReportOrigin},
        report::{Printer, ReportStyle},
        screen::OfferedCommands,
        sections::{self, Grouping},
        summary::{Checks, summary},
        wire::{Finding, FindingEvent as WireEvent, Source},
    },
    rules::REGISTRY,
};

/// Arguments of `audit`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArgs {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    #[command(flatten)]
    dump: DumpSourceArgs,
    /// Go on after the report: print findings as they appear, change and clear
    #[arg(short, long, conflicts_with_all = ["filename", "allow_gaps"])]
    watch: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    judgement: JudgementArgs,
    /// Show only findings of this severity or worse; the summary and --fail-on count all
    #[arg(long, value_name = "SEVERITY", add = ArgValueCandidates::new(completion::severities))]
    severity: Option<String>,
    /// Exit with code 3 if there is a finding of this severity or worse; with --watch as soon as there is
    #[arg(long, value_name = "SEVERITY", add = ArgValueCandidates::new(completion::severities))]
    fail_on: Option<String>,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print in this format: table, wide, json, yaml, name, html, jsonpath=…, custom-columns=…
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(REPORTS))]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
    /// List the worst findings last, where the prompt is
    #[arg(long, conflicts_with = "watch")]
    reverse: bool,
    /// Sort findings by a JSONPath expression, such as .age.seconds or .volume.capacity
    #[arg(long, value_name = "JSONPATH")]
    sort_by: Option<String>,
    /// Group the table by cause, namespace, class or driver
    #[arg(
        long,
        value_name = "BY",
        value_enum,
        conflicts_with = "watch",
        hide_possible_values = true
    )]
    group_by: Option<GroupBy>,
}

/// What can be done with reports.
#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Show what saved reports say over time: Released, leaking and at-risk bytes
    Trend(TrendArgs),
}

impl AuditArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        if let Some(AuditCommand::Trend(args)) = &self.command {
            return args.run();
        }
        // Everything that was typed is looked at before anything is read.
        let (mut settings, named) = self.settings()?;
        let printer = printer(&self.output)?;
        self.refuse_page(&printer)?;
        self.groups(&printer)?;
        let sort_by = self.sort_path()?;
        let fail_on = self.fail_on.as_deref().map(severity).transpose()?;
        let view = self.view(fail_on)?;
        if self.watch {
            let screen = FindingView::new(fail_on, view);
            let by = Following { settings, named, printer, sort_by: sort_by.as_ref(), screen };
            return Box::pin(self.follow(connection, by, interrupt)).await;
        }
        let (from, source) = self.dump.from(connection, self.selection.namespace())?;
        let mut collected = collect(from, &settings, None).await?;
        self.selection.settle(&named, &mut collected, &mut settings).await?;
        note_unknown_drivers(&mut collected, &settings);
        let shown = ShownAs { printer: &printer, sort_by: sort_by.as_ref(), view, source };
        let worst = self.report(&collected, &settings, &shown)?;
        let exit = self.gaps.settle(exit(&collected, worst, fail_on));
        // The process ends here: taking apart a hundred thousand rows would only take time.
        std::mem::forget(collected);
        Ok(exit)
    }

    fn settings(&self) -> Result<(Settings, Vec<NamedObject>), Failure> {
        let mut settings = Settings::default();
        self.judgement.take_into(&mut settings);
        let (scope, named) = self.selection.parse()?;
        settings.scope = scope;
        Ok((settings, named))
    }

    fn sort_path(&self) -> Result<Option<SortPath>, Failure> {
        let parse =
            if self.watch { SortPath::parse::<WireEvent> } else { SortPath::parse::<Finding> };
        let refused = |error: SortError| {
            let hint = match &error {
                SortError::Nowhere { near, .. } => did_you_mean(near)
                    .or_else(|| Some("`-o json` shows the fields of findings".to_owned())),
                SortError::Malformed(_) => None,
            };
            Failure::usage(format!("invalid --sort-by: {error}")).hint(hint)
        };
        self.sort_by.as_deref().map(parse).transpose().map_err(refused)
    }

    /// What `--severity` leaves to see. What fails the command is always seen.
    fn view(&self, fail_on: Option<Severity>) -> Result<Option<Severity>, Failure> {
        let view = self.severity.as_deref().map(severity).transpose()?;
        match view.zip(fail_on) {
            Some((view, bound)) if view < bound => Err(Failure::usage(format!(
                "--severity {} hides findings that --fail-on {} counts",
                view.name(),
                bound.name()
            ))
            .hint(Some(format!("pass --severity {}, or less severe", bound.name())))),
            _ => Ok(view),
        }
    }

    /// A page is for a browser, and ends.
    fn refuse_page(&self, printer: &Printer) -> Result<(), Failure> {
        match printer {
            Printer::Html if self.watch => {
                Err(Failure::usage("-o html is one page, which --watch would never finish"))
            }
            Printer::Html => refuse_terminal(&Format::Html, "audit"),
            _ => Ok(()),
        }
    }

    /// Only tables have sections.
    fn groups(&self, printer: &Printer) -> Result<(), Failure> {
        match self.group_by {
            Some(_) if !printer.is_for_people() => {
                Err(Failure::usage("--group-by applies to the formats table and wide"))
            }
            _ => Ok(()),
        }
    }

    /// Prints the report, and returns the worst severity in it.
    fn report(
        &self,
        collected: &Collected,
        settings: &Settings,
        ShownAs { printer, sort_by, view, source }: &ShownAs,
    ) -> Result<Option<Severity>, Failure> {
        let cluster = &collected.intake.cluster;
        let tally = collected.assessor.totals(cluster, settings);
        let journal = collected.journal.as_ref().map(|path| path.display().to_string());
        let head =
            publish::head(cluster, settings, &tally, ReportOrigin { source: *source, journal });
        let tail = publish::tail(&collected.blind);
        let page = self.page();
        // What a part of the report shows is not what the whole would list again.
        let is_whole = view.is_none() && self.group_by.and_then(GroupBy::grouping).is_none();
        let is_plain = self.dump.is_plain() && self.judgement.is_plain();
        let again = start::again(&settings.scope, self.dump.files());
        let again = again.filter(|_| is_whole && is_plain);
        let offered = OfferedCommands { again: again.as_ref(), repeated: &collected.repeated };
        let mut start = Vec::new();
        let found = collected.assessor.findings(cluster, settings);
        let mut findings = found
            .filter(|it| view.is_none_or(|least| it.severity <= least))
            .map(|it| collected.public(it));
        terminal::print(|out| {
            let mut sorted = match sort_by {
                None => None,
                Some(path) => Some(path.sort(findings.by_ref().collect())?.into_iter()),
            };
            let findings: &mut dyn Iterator<Item = Finding> = match &mut sorted {
                Some(sorted) => sorted,
                None => &mut findings,
            };
            match self.group_by.and_then(GroupBy::grouping) {
                None => start = printer.print(out, &head, findings, &tail, page, offered)?,
                // Of the worst finding's section: it is the first.
                Some(by) => sections::print(out, findings, by, |out, findings| {
                    let findings = &mut findings.into_iter();
                    let of_section = printer.print(out, &head, findings, &tail, page, offered)?;
                    if start.is_empty() {
                        start = of_section;
                    }
                    Ok(())
                })?,
            }
            Ok::<_, RenderError>(())
        })
        .map_err(Failure::error)?;
        if printer.is_for_people() {
            let paint = Paint { colour: terminal::colour_of_notes() };
            terminal::note(&summary(&head.summary, checks(collected, settings), paint));
            let hidden =
                |least: Severity| tally.by_severity.iter().filter(move |(it, _)| **it > least);
            let hidden: usize = view.map_or(0, |least| hidden(least).map(|(_, count)| count).sum());
            if hidden > 0 {
                terminal::note(&format!("{hidden} less severe: not shown, as --severity says"));
            }
        }
        Self::tell_read(collected);
        start::tell(&start, &self.dump);
        Ok(tally.by_severity.into_keys().next())
    }

    fn page(&self) -> ReportStyle {
        ReportStyle {
            headers: !self.no_headers,
            width: terminal::width(),
            colour: terminal::colour(),
            reverse: self.reverse,
        }
    }

    /// Tells on stderr what was read, and what was not.
    fn tell_read(collected: &Collected) {
        if terminal::is_verbose() {
            for (kind, count) in collected.intake.seen() {
                terminal::note(&format!("read {count} {}", kind.plural()));
            }
            for complaint in collected.intake.complaints() {
                terminal::note(&format!("broken: {}", crate::model::escape_control(complaint)));
            }
        }
        tell(collected, "audit");
    }
}

/// Parses `-o`, and reads and parses its template.
pub(super) fn printer(output: &str) -> Result<Printer, Failure> {
    let format: Format = output.parse().map_err(|error| Failure::usage(format!("{error}")))?;
    let file = match format.file() {
        None => String::new(),
        Some(path) => std::fs::read_to_string(path).map_err(|error| {
            let error =
                anyhow::Error::new(error).context(format!("failed to read {}", path.display()));
            Failure { exit: Exit::Usage, error, hint: None }
        })?,
    };
    let template = |text: &str| {
        Template::parse(text).map_err(|error| Failure::usage(format!("invalid template: {error}")))
    };
    let columns = |parsed: Result<Columns, crate::output::columns::ColumnsError>| {
        parsed.map(Printer::Columns).map_err(|error| Failure {
            exit: Exit::Usage,
            error: error.into(),
            hint: None,
        })
    };
    Ok(match &format {
        Format::Table => Printer::Table { wide: false },
        Format::Wide => Printer::Table { wide: true },
        Format::Json => Printer::Json,
        Format::Yaml => Printer::Yaml,
        Format::Name => Printer::Name,
        Format::Html => Printer::Html,
        Format::JsonPath(text) => Printer::JsonPath(template(text)?),
        Format::JsonPathAsJson(text) => Printer::JsonPathAsJson(template(text)?),
        Format::JsonPathFile(_) => Printer::JsonPath(template(&file)?),
        Format::CustomColumns(text) => columns(Columns::parse(text))?,
        Format::CustomColumnsFile(_) => columns(Columns::parse_file(&file))?,
    })
}

fn severity(text: &str) -> Result<Severity, Failure> {
    Severity::parse(text).ok_or_else(|| {
        let names: Vec<_> = Severity::ALL.into_iter().map(Severity::name).collect();
        Failure::usage(format!("unknown severity {text:?}; known are {}", names.join(", ")))
    })
}

/// How a report is shown.
struct ShownAs<'a> {
    printer: &'a Printer,
    sort_by: Option<&'a SortPath>,
    view: Option<Severity>,
    source: Source,
}

/// `--group-by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupBy {
    /// What explains others first, which is the default
    Cause,
    /// By namespace: that of the object, or of the claim of a volume
    Namespace,
    /// By storage class
    Class,
    /// By driver
    Driver,
}

impl GroupBy {
    /// The sections; none where the table is as it always is.
    const fn grouping(self) -> Option<Grouping> {
        match self {
            Self::Cause => None,
            Self::Namespace => Some(Grouping::Namespace),
            Self::Class => Some(Grouping::Class),
            Self::Driver => Some(Grouping::Driver),
        }
    }
}

/// How many checks were made, of all.
fn checks(collected: &Collected, settings: &Settings) -> Checks {
    let scope = &settings.scope;
    let limited: BTreeSet<RuleId> =
        collected.blind.iter().flat_map(|it| it.rules.iter().copied()).collect();
    let asked = |id: RuleId| {
        (scope.rules.is_empty() || scope.rules.contains(id)) && !scope.ignored.contains(id)
    };
    let made = REGISTRY.iter().filter(|rule| asked(rule.id) && !limited.contains(rule.id)).count();
    Checks { made, all: REGISTRY.len(), complete: collected.blind.is_empty() }
}

/// The first that applies.
fn exit(collected: &Collected, worst: Option<Severity>, fail_on: Option<Severity>) -> Exit {
    match (fails(worst, fail_on), collected.blind.is_empty()) {
        (true, _) => Exit::Findings,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Done,
    }
}

/// Whether a severity is at or above `--fail-on`.
fn fails(worst: Option<Severity>, fail_on: Option<Severity>) -> bool {
    worst.zip(fail_on).is_some_and(|(worst, bound)| worst <= bound)
}

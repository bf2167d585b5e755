//! `kubectl storage audit`: one report, or with `--watch` the same audit continuously.

mod baseline;
mod clusters;
mod following;
mod inventory;
mod outputs;
mod packed;
pub(super) mod prices;
mod recorded;
mod reported;
mod selection;
mod trend;

use std::{collections::BTreeMap, io::Write, path::PathBuf};

use baseline::{AuditDiffArgs, Compared, baseline, comparable};
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
pub(super) use clusters::{ClustersLook, JudgedClusters};
use following::{FindingView, Following};
use outputs::{Printed, ReportOutputs};
use prices::PriceArgs;
use reported::Reported;
use selection::SelectionArgs;
use trend::{TrendArgs, refuse_page};

use super::{
    Exit, Failure, Interrupt,
    args::{ConnectionArgs, GapArgs, format as format_of, sort_refused},
    clusters::DistinctArgs,
    collect::{Collected, collect_measured},
    completion::{self, AUDITS, formats},
    named::NamedObject,
    reading::{DumpSourceArgs, JudgementArgs, note_unknown_drivers},
    start, terminal,
    usage::UsageArgs,
};
use crate::{
    model::{FreeShare, Settings, Severity},
    output::{
        columns::Columns,
        comparison::{BaselineState, SavedReport},
        format::{Format, FormatError},
        formats::{ExportFormat, ReportFrame},
        jsonpath::{RenderError, Template},
        lines::Paint,
        order::SortPath,
        publish::{self},
        repeated::RepeatedFlags,
        report::{Printer, ReportStyle},
        screen::OfferedCommands,
        sections::{self, Grouping},
        summary::summary,
        wire::{Finding, FindingEvent as WireEvent, HiddenFindings},
    },
    rules::{USAGE, disks_of_cluster},
};

/// Arguments of `audit`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArgs {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    #[command(flatten)]
    dump: DumpSourceArgs,
    #[command(flatten)]
    distinct: DistinctArgs,
    #[command(flatten)]
    inventory: crate::cli::listed::InventoryArgs,
    /// Say which disks of a teardown's record the listings still have, without a cluster
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, requires = "inventory",
          conflicts_with_all = ["filename", "contexts", "each", "watch", "price", "usage", "baseline", "all_clusters", "cluster_tag"])]
    record: Option<PathBuf>,
    #[command(flatten)]
    usage: UsageArgs,
    #[command(flatten)]
    prices: PriceArgs,
    /// Go on after the report: print findings as they appear, change and clear
    #[arg(short, long, conflicts_with_all = ["filename", "allow_gaps", "contexts", "each", "inventory", "price", "usage"])]
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
    /// Compare with an earlier report, which `-o json` saved: findings are new or known
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "watch")]
    baseline: Option<PathBuf>,
    /// Show only findings that are new since --baseline, and count only these for --fail-on
    #[arg(long, requires = "baseline")]
    new_only: bool,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print in this format: table, wide, json, yaml, name, html, csv, markdown, junit, sarif, openmetrics, jsonpath=…,
    /// custom-columns=…; FORMAT=FILE writes a file beside that; can be repeated
    #[arg(short, long, value_name = "FORMAT[=FILE]", add = formats(AUDITS))]
    output: Vec<String>,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
    /// List the worst findings last, where the prompt is
    #[arg(long, conflicts_with = "watch")]
    reverse: bool,
    /// Sort findings by a JSONPath expression, such as .age.seconds or .volume.capacity
    #[arg(long, value_name = "JSONPATH")]
    sort_by: Option<String>,
    /// Group the table by cause, namespace, class, driver or cluster
    #[arg(
        long,
        value_name = "BY",
        value_enum,
        conflicts_with = "watch",
        hide_possible_values = true
    )]
    group_by: Option<GroupBy>,
}

/// What else there is to do with reports.
#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Compare two saved reports: what appeared, changed its severity, or cleared
    Diff(AuditDiffArgs),
    /// Show what saved reports say over time: wasted and at-risk bytes
    Trend(TrendArgs),
}

impl AuditArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        match &self.command {
            Some(AuditCommand::Diff(diff)) => return diff.run(),
            Some(AuditCommand::Trend(trend)) => return trend.run(),
            None => {}
        }
        if let Some(record) = &self.record {
            let format = self.output.first().map_or("table", String::as_str);
            let format = format_of(format, &[Format::Table, Format::Json, Format::Yaml], |it| {
                format!(
                    "unsupported format {it}; recorded disks are printed as table, json or yaml"
                )
            })?;
            let exit = recorded::compare(record, &self.inventory, &format)?;
            return Ok(if exit == Exit::Incomplete { self.gaps.settle(exit) } else { exit });
        }
        // Everything that was typed is looked at before anything is read.
        let (mut settings, named) = self.settings()?;
        let mut outputs = ReportOutputs::parse(&self.output)?;
        self.fits(&outputs.printed)?;
        outputs.files.spare(self.dump.files(), "dump")?;
        outputs.files.spare(&self.inventory.files(self.dump.files())?, "listing")?;
        outputs.files.spare(&self.prices.files(), "list of prices")?;
        outputs.files.spare(&self.usage.files(), "file with figures")?;
        let sort_by = self.sort_path()?;
        let fail_on = self.fail_on.as_deref().map(severity).transpose()?;
        let view = self.view(fail_on)?;
        if self.watch {
            let printer = outputs.followed()?;
            let screen = FindingView::new(fail_on, view);
            let by = Following { settings, named, printer, sort_by: sort_by.as_ref(), screen };
            return Box::pin(self.follow(connection, by, interrupt)).await;
        }
        let baseline = self.baseline.as_deref().map(baseline).transpose()?;
        let prices = self.prices.read()?;
        let shown = ShownAs { sort_by: sort_by.as_ref(), view, baseline };
        if let Some(inputs) = self.distinct.inputs(&self.dump, connection)? {
            if !named.is_empty() {
                let hint = "name the context or the dump of that cluster".to_owned();
                return Err(Failure::usage("an object is in one cluster").hint(Some(hint)));
            }
            outputs.files.stay_out_of(self.distinct.folders())?;
            for input in &inputs {
                outputs.files.spare(input.files(), "dump")?;
            }
            self.are_measured(self.usage.is_asked_for() || !self.dump.files().is_empty())?;
            let take = async |collected: &mut Collected, settings: &mut Settings, _| {
                note_unknown_drivers(collected, settings);
                self.selection.absent_namespaces(collected, settings).await
            };
            let (distinct, namespace) = (&self.distinct, self.selection.namespace());
            let look = ClustersLook {
                distinct,
                connection,
                namespace,
                take,
                keeps_elsewhere: false,
                keeps_disks: self.inventory.is_asked_for(),
                usage: self.usage.of_clusters(&inputs, &self.dump)?,
            };
            let mut judged = JudgedClusters::read(&inputs, &settings, &look).await?;
            judged.note_absent_namespaces()?;
            let repeated = RepeatedFlags::default();
            let is_compared = self.inventory.is_asked_for() || judged.has_own_disks();
            let (views, called) = (judged.take_disks(), judged.names());
            let disks = is_compared
                .then(|| inventory::judge(&self.inventory, &views, &called, &settings))
                .transpose()?;
            let reported = judged.reported(&settings, &repeated).beside(disks.as_ref(), &settings);
            let reported = reported.priced(prices.as_ref(), disks.as_ref()).measured();
            let worst = self.report(&reported, &settings, shown, &mut outputs).await?;
            let complete = reported.tail.gaps.is_empty();
            return Ok(self.gaps.settle(exit(complete, worst, fail_on)));
        }
        let usage = self.usage.read(&self.dump)?;
        let (from, source) = self.dump.from(connection, self.selection.namespace())?;
        let mut collected = collect_measured(from, &settings, None, usage).await?;
        self.selection.settle(&named, &mut collected, &mut settings).await?;
        note_unknown_drivers(&mut collected, &settings);
        let cluster = &collected.intake.cluster;
        self.are_measured(cluster.figures().is_some())?;
        let is_compared = self.inventory.is_asked_for() || cluster.has_inventory_disks();
        let named =
            is_compared.then(|| [disks_of_cluster(None, &collected.assessor, cluster, &settings)]);
        let disks = named.as_ref();
        let disks = disks.map(|it| inventory::judge(&self.inventory, it, &[], &settings));
        let disks = disks.transpose()?;
        let reported =
            Reported::of(&collected, &settings, source).beside(disks.as_ref(), &settings);
        let reported = reported.priced(prices.as_ref(), disks.as_ref()).measured();
        let worst = self.report(&reported, &settings, shown, &mut outputs).await?;
        let complete = reported.tail.gaps.is_empty();
        drop(reported);
        let exit = self.gaps.settle(exit(complete, worst, fail_on));
        // The process ends here: taking apart a hundred thousand rows would only take time.
        std::mem::forget(collected);
        Ok(exit)
    }

    fn settings(&self) -> Result<(Settings, Vec<NamedObject>), Failure> {
        let mut settings = Settings::default();
        self.judgement.take_into(&mut settings);
        let (scope, named) = self.selection.parse()?;
        settings.scope = scope;
        settings.reads_inventories = !self.watch;
        if settings.least_free != FreeShare::default()
            && !self.usage.is_asked_for()
            && self.dump.files().is_empty()
        {
            let told = format!("--threshold {} requires --usage", FreeShare::NAME);
            return Err(Failure::usage(told));
        }
        Ok((settings, named))
    }

    /// Holds that there are figures, where rules about these are asked for.
    fn are_measured(&self, has_figures: bool) -> Result<(), Failure> {
        let asked = self.settings()?.0.scope.rules;
        match USAGE.iter().find(|it| !has_figures && asked.contains(it.id)) {
            Some(rule) => Err(Failure::usage(format!("--rule {} requires --usage", rule.id))),
            None => Ok(()),
        }
    }

    fn sort_path(&self) -> Result<Option<SortPath>, Failure> {
        let parse =
            if self.watch { SortPath::parse::<WireEvent> } else { SortPath::parse::<Finding> };
        let parse = |text| parse(text, "finding").map_err(|it| sort_refused(&it));
        self.sort_by.as_deref().map(parse).transpose()
    }

    /// Returns the least severity that is shown, and refuses one that hides what `--fail-on` counts.
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

    /// Refuses flags that do not apply to what is printed.
    fn fits(&self, printed: &Printed) -> Result<(), Failure> {
        if self.group_by.is_some() && !printed.is_for_people() {
            return Err(Failure::usage("--group-by applies to the formats table and wide"));
        }
        let Printed::File(format) = printed else { return Ok(()) };
        let name = format.name();
        if *format == ExportFormat::Html && !self.watch {
            refuse_page("write a file: kubectl storage audit -o html=FILE")?;
        }
        if !format.keeps_order() && (self.reverse || self.sort_by.is_some()) {
            let told = format!("--reverse and --sort-by do not apply to the format {name}");
            return Err(Failure::usage(told));
        }
        let narrows = self.severity.is_some() || self.new_only;
        if *format == ExportFormat::OpenMetrics && narrows {
            let flags = "--severity and --new-only do not apply";
            return Err(Failure::usage(format!("{flags} to the format {name}, which counts all")));
        }
        Ok(())
    }

    /// Prints the report and writes its files, and returns the worst severity in it.
    async fn report(
        &self,
        reported: &Reported<'_>,
        settings: &Settings,
        shown: ShownAs<'_>,
        ReportOutputs { printed, files }: &mut ReportOutputs,
    ) -> Result<Option<Severity>, Failure> {
        let ShownAs { sort_by, view, baseline } = shown;
        let Reported { totals: tally, tail, findings: all, .. } = reported;
        let mut scope = reported.scope.clone();
        let metadata = &reported.metadata;
        if let (Some(earlier), Some(path)) = (&baseline, &self.baseline) {
            comparable(path, &earlier.metadata, metadata)?;
        }
        let baseline = baseline.map(|it| it.aligned(metadata));
        let later = (metadata, &scope, &*tail.gaps);
        let contents = reported.comparable();
        let compared = baseline.as_ref().map(|it| Compared::build(it, later, contents, all()));
        let counted = match &compared {
            Some(compared) if self.new_only => &compared.new,
            _ => &tally.by_severity,
        };
        let worst = counted.keys().next().copied();
        let is_shown = |severity: Severity| view.is_none_or(|least| severity <= least);
        let listed_of = |counted: &BTreeMap<Severity, usize>| -> usize {
            counted.iter().filter(|(it, _)| is_shown(**it)).map(|(_, count)| count).sum()
        };
        let (listed, with_known) = (listed_of(counted), listed_of(&tally.by_severity));
        let all_found = tally.by_severity.values().sum::<usize>();
        let hiding = |listed: usize, known: bool| {
            (all_found > listed).then(|| HiddenFindings {
                less_severe_than: view.map(|it| it.name().to_owned()),
                known,
                count: all_found - listed,
            })
        };
        scope.hidden = hiding(listed, self.new_only);
        let mut head = publish::head(metadata.clone(), tally, scope);
        head.baseline = compared.as_ref().map(|it| it.comparison.clone());
        head.summary.inventory.clone_from(&reported.inventory);
        head.summary.money.clone_from(&reported.money);
        let frame = ReportFrame {
            head: &head,
            tail,
            checks: reported.checks,
            listed,
            metrics: &|| (reported.metrics)(tally.clone()),
            headers: !self.no_headers,
        };
        let whole = self.new_only.then(|| {
            let mut whole = head.clone();
            let scope = whole.metadata.scope.get_or_insert_default();
            scope.hidden = hiding(with_known, false);
            whole
        });
        let found = |known: bool| {
            let marked = all().map(|it| match &compared {
                Some(compared) => compared.marked(it),
                None => it,
            });
            marked.filter(move |it| {
                let is_new = it.baseline.as_deref() == Some(BaselineState::New.name());
                Severity::parse(&it.severity).is_none_or(is_shown) && (is_new || known)
            })
        };
        let sorted = || -> Result<Box<dyn Iterator<Item = Finding> + '_>, RenderError> {
            Ok(match sort_by {
                None => Box::new(found(!self.new_only)),
                Some(path) => Box::new(path.sort(found(!self.new_only).collect())?.into_iter()),
            })
        };
        let write = |format: ExportFormat, out: &mut dyn Write| {
            let mut findings = match format.keeps_order() {
                true if self.reverse => Box::new(sorted()?.collect::<Vec<_>>().into_iter().rev()),
                true => sorted()?,
                // It lists the worst first, or none.
                false => Box::new(found(!self.new_only || format.marks_new())) as _,
            };
            let frame = match &whole {
                Some(head) if format.marks_new() => {
                    ReportFrame { head, listed: with_known, ..frame }
                }
                _ => frame,
            };
            Ok(format.write(out, frame, &mut findings)?)
        };
        files.write(write).await?;
        // What a part of the report shows is not what the whole would list again.
        let is_whole =
            view.is_none() && !self.new_only && self.group_by.and_then(GroupBy::grouping).is_none();
        let is_plain = self.dump.is_plain() && self.judgement.is_plain();
        let again = start::again(&settings.scope, self.dump.files());
        let is_one = reported.metadata.clusters.is_empty();
        let again = again.filter(|_| is_whole && is_plain && is_one);
        let offered = OfferedCommands { again: again.as_ref(), repeated: reported.repeated };
        let mut start = Vec::new();
        terminal::print(|out| {
            match printed {
                Printed::Screen(printer) => {
                    start = self.screen(out, printer, frame, &mut sorted()?, offered)?;
                }
                Printed::File(format) => write(*format, out)?,
            }
            Ok::<_, RenderError>(())
        })
        .map_err(Failure::error)?;
        files.finish()?;
        let is_for_people = printed.is_for_people();
        if is_for_people {
            let paint = Paint { colour: terminal::colour_of_notes() };
            terminal::note(&summary(&head.summary, frame.checks, paint));
        }
        if let Some(compared) = &compared {
            // In any format: what could not be compared fails nothing.
            terminal::note(&compared.summary());
        }
        if is_for_people && all_found > listed {
            self.tell_hidden(all_found - listed);
        }
        (reported.tell)();
        if is_one {
            start::tell(&start, &self.dump);
        }
        Ok(worst)
    }

    /// Tells on stderr that not all findings are shown.
    fn tell_hidden(&self, hidden: usize) {
        let (what, flags) = match (self.new_only, &self.severity) {
            (true, None) => ("not new", "--new-only says"),
            (true, Some(_)) => ("less severe or not new", "--severity and --new-only say"),
            (false, _) => ("less severe", "--severity says"),
        };
        terminal::note(&format!("{hidden} {what}: not shown, as {flags}"));
    }

    /// Prints a report for people or by a template, and returns the commands with which to begin.
    fn screen(
        &self,
        out: &mut dyn Write,
        printer: &Printer,
        ReportFrame { head, tail, .. }: ReportFrame,
        findings: &mut dyn Iterator<Item = Finding>,
        offered: OfferedCommands,
    ) -> Result<Vec<String>, RenderError> {
        let page = self.page();
        // Names of several clusters are told apart by their sections.
        let is_folded = matches!(printer, Printer::Table { wide: false }) && page.width.is_some();
        let are_several = is_folded && !head.metadata.clusters.is_empty();
        let by = self.group_by.and_then(GroupBy::grouping);
        let Some(by) = by.or_else(|| are_several.then_some(Grouping::Cluster)) else {
            return printer.print(out, head, findings, tail, page, offered);
        };
        let mut start = Vec::new();
        // Of the worst finding's section: it is the first.
        sections::print(out, findings, by, |out, findings| {
            let findings = &mut findings.into_iter();
            let of_section = printer.print(out, head, findings, tail, page, offered)?;
            if start.is_empty() {
                start = of_section;
            }
            Ok(())
        })?;
        Ok(start)
    }

    fn page(&self) -> ReportStyle {
        ReportStyle {
            headers: !self.no_headers,
            width: terminal::width(),
            colour: terminal::colour(),
            reverse: self.reverse,
        }
    }
}

/// Parses `-o`, and reads and parses its template.
pub(super) fn printer(output: &str) -> Result<Printer, Failure> {
    let format: Format = output.parse().map_err(|error: FormatError| Failure {
        exit: Exit::Usage,
        error: error.into(),
        hint: None,
    })?;
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

/// Order, severity and baseline with which a report is shown.
struct ShownAs<'a> {
    sort_by: Option<&'a SortPath>,
    view: Option<Severity>,
    baseline: Option<SavedReport>,
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
    /// By cluster, of several
    Cluster,
}

impl GroupBy {
    /// Returns the sections of the table; `None` for the default table, which has none.
    const fn grouping(self) -> Option<Grouping> {
        match self {
            Self::Cause => None,
            Self::Namespace => Some(Grouping::Namespace),
            Self::Class => Some(Grouping::Class),
            Self::Driver => Some(Grouping::Driver),
            Self::Cluster => Some(Grouping::Cluster),
        }
    }
}

/// Returns the exit code of a report: that of findings comes before that of gaps.
fn exit(complete: bool, worst: Option<Severity>, fail_on: Option<Severity>) -> Exit {
    match (fails(worst, fail_on), complete) {
        (true, _) => Exit::Findings,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Done,
    }
}

/// Whether a severity is at or above `--fail-on`.
fn fails(worst: Option<Severity>, fail_on: Option<Severity>) -> bool {
    worst.zip(fail_on).is_some_and(|(worst, bound)| worst <= bound)
}

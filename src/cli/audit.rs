//! `kubectl storage audit`: one report, or with `--watch` the same audit continuously.

use std::{collections::BTreeSet, ops::ControlFlow, path::PathBuf};

use clap::Args;
use clap_complete::ArgValueCandidates;
use serde::Serialize;

use super::{
    Exit, Failure, Interrupt,
    args::{ConnectionArgs, scope, unknown_rule},
    collect::{self, Collected, collect, dump_failure, tell, tell_gaps, tell_read_again},
    completion,
    reading::{DumpSourceArgs, JudgementArgs, note_unknown_drivers},
    start,
    terminal::{self, EventPrinter},
};
use crate::{
    cluster::Cluster,
    model::{FindingEvent, Scope, Settings, Severity, Text, escape_control},
    output::{
        columns::Columns,
        event_stream::EventStream,
        format::Format,
        jsonpath::{JsonPath, RenderError, Template},
        lines::Paint,
        publish::{self, ReportOrigin},
        report::{Printer, ReportStyle},
        wire::{self, Source},
    },
    rules,
    watch::{Reconciler, Told},
};

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(flatten)]
    dump: DumpSourceArgs,
    /// Go on after the report: print findings as they appear, change and clear
    #[arg(short, long, conflicts_with = "filename")]
    watch: bool,
    /// Save exactly what this audit reads, for `audit -f`
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    save: Option<PathBuf>,
    /// Report only claims of this namespace, and volumes whose claim is or was there
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Report on the whole cluster, which is the default
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Report only objects with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Report only these findings; can be repeated
    #[arg(long, value_name = "ID", value_delimiter = ',', add = ArgValueCandidates::new(completion::rule_ids))]
    rule: Vec<String>,
    /// Leave out these findings; can be repeated
    #[arg(long, value_name = "ID", value_delimiter = ',', add = ArgValueCandidates::new(completion::rule_ids))]
    ignore: Vec<String>,
    #[command(flatten)]
    judgement: JudgementArgs,
    /// Exit with code 3 if there is a finding of this severity or worse; with --watch as soon as there is
    #[arg(long, value_name = "SEVERITY", add = ArgValueCandidates::new(completion::severities))]
    fail_on: Option<String>,
    /// Print in this format: table, wide, json, yaml, name, jsonpath=…, custom-columns=…
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
    /// List the worst findings last, where the prompt is
    #[arg(long, conflicts_with = "watch")]
    reverse: bool,
    /// Sort findings by a JSONPath expression, such as .age.seconds
    #[arg(long, value_name = "JSONPATH")]
    sort_by: Option<String>,
}

impl AuditArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        // Everything that was typed is looked at before anything is read.
        let settings = self.settings()?;
        let printer = self.printer()?;
        let sort_by = self.sort_by.as_deref().map(sort_path).transpose()?;
        let fail_on = self.fail_on.as_deref().map(severity).transpose()?;
        if self.watch {
            let by = Following { settings, printer, sort_by: sort_by.as_ref(), fail_on };
            return Box::pin(self.follow(connection, by, interrupt)).await;
        }
        let (from, source) = self.dump.from(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, self.save.as_deref()).await?;
        note_unknown_drivers(&mut collected, &settings);
        let worst = self.report(&collected, &settings, &printer, sort_by.as_ref(), source)?;
        let exit = exit(&collected, worst, fail_on);
        // The process ends here: taking apart a hundred thousand rows would only take time.
        std::mem::forget(collected);
        Ok(exit)
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        self.judgement.take_into(&mut settings);
        let ids = |ids: &[String]| {
            let known = |id: &String| match rules::find(id) {
                Some(rule) => Ok(Text::from(rule.id)),
                None => Err(unknown_rule(id)),
            };
            ids.iter().map(known).collect::<Result<BTreeSet<_>, _>>()
        };
        settings.scope = Scope {
            rules: ids(&self.rule)?,
            ignored: ids(&self.ignore)?,
            ..scope(self.namespace.as_deref(), self.selector.as_deref())?
        };
        Ok(settings)
    }

    fn printer(&self) -> Result<Printer, Failure> {
        printer(&self.output)
    }

    /// Prints the report, and returns the worst severity in it.
    fn report(
        &self,
        collected: &Collected,
        settings: &Settings,
        printer: &Printer,
        sort_by: Option<&JsonPath>,
        source: Source,
    ) -> Result<Option<Severity>, Failure> {
        let cluster = &collected.intake.cluster;
        let tally = collected.assessor.totals(cluster, settings);
        let journal = collected.journal.as_ref().map(|path| path.display().to_string());
        let head = publish::head(cluster, settings, &tally, ReportOrigin { source, journal });
        let tail = publish::tail(&collected.blind);
        let now = cluster.clock();
        let page = self.page();
        let is_plain = self.dump.is_plain() && self.judgement.is_plain();
        let again = is_plain.then(|| start::again(&settings.scope, self.dump.files()));
        let again = again.as_deref();
        let mut start = Vec::new();
        let mut findings =
            collected.assessor.findings(cluster, settings).map(|it| publish::finding(it, now));
        terminal::print(|out| {
            start = match sort_by {
                None => printer.print(out, &head, &mut findings, &tail, page, again)?,
                Some(path) => {
                    let mut sorted = sort(findings.collect(), path)?.into_iter();
                    printer.print(out, &head, &mut sorted, &tail, page, again)?
                }
            };
            Ok::<_, RenderError>(())
        })
        .map_err(Failure::error)?;
        if printer.is_for_people() {
            terminal::note(&summary(&head.summary, tail.gaps.is_empty()));
        }
        self.tell_read(collected);
        start::tell(&start, self.dump.files());
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
    fn tell_read(&self, collected: &Collected) {
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
        Format::JsonPath(text) => Printer::JsonPath(template(text)?),
        Format::JsonPathAsJson(text) => Printer::JsonPathAsJson(template(text)?),
        Format::JsonPathFile(_) => Printer::JsonPath(template(&file)?),
        Format::CustomColumns(text) => columns(Columns::parse(text))?,
        Format::CustomColumnsFile(_) => columns(Columns::parse_file(&file))?,
    })
}

fn sort_path(text: &str) -> Result<JsonPath, Failure> {
    JsonPath::parse(text).map_err(|error| Failure::usage(format!("invalid --sort-by: {error}")))
}

/// Sorts by what the path finds, numbers before text, findings without it last.
fn sort<T: Serialize>(findings: Vec<T>, path: &JsonPath) -> Result<Vec<T>, RenderError> {
    let mut keyed = Vec::with_capacity(findings.len());
    for finding in findings {
        let value = serde_json::to_value(&finding).map_err(std::io::Error::other)?;
        let key = path.find(&value)?.first().map(|found| (*found).clone());
        keyed.push((key, finding));
    }
    let rank = |key: &Option<serde_json::Value>| match key {
        Some(serde_json::Value::Number(_)) => 0,
        Some(_) => 1,
        None => 2,
    };
    keyed.sort_by(|(a, _), (b, _)| {
        rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
            (Some(serde_json::Value::Number(a)), Some(serde_json::Value::Number(b))) => {
                a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default())
            }
            (Some(serde_json::Value::String(a)), Some(serde_json::Value::String(b))) => a.cmp(b),
            (Some(a), Some(b)) => a.to_string().cmp(&b.to_string()),
            _ => std::cmp::Ordering::Equal,
        })
    });
    Ok(keyed.into_iter().map(|(_, finding)| finding).collect())
}

fn severity(text: &str) -> Result<Severity, Failure> {
    Severity::parse(text).ok_or_else(|| {
        let names: Vec<_> = Severity::ALL.into_iter().map(Severity::name).collect();
        Failure::usage(format!("unknown severity {text:?}; known are {}", names.join(", ")))
    })
}

/// The summary in one or two lines.
fn summary(summary: &wire::Summary, complete: bool) -> String {
    let paint = Paint { colour: terminal::colour_of_notes() };
    let counts: Vec<_> = Severity::ALL
        .into_iter()
        .filter_map(|severity| {
            let count = *summary.by_severity.get(severity.name())?;
            (count > 0).then(|| paint.ranked(severity, &format!("{count} {}", severity.name())))
        })
        .collect();
    let seen =
        format!("{}, {}", counted(summary.volumes, "volume"), counted(summary.claims, "claim"));
    let exempted = match summary.exempted {
        0 => String::new(),
        count => format!("; {count} exempted"),
    };
    if counts.is_empty() {
        return match complete {
            true => format!("no findings: {seen}{exempted}"),
            false => format!("no findings, but not everything could be read: {seen}{exempted}"),
        };
    }
    let all: usize = summary.by_severity.values().sum();
    let caused = match summary.caused {
        0 => String::new(),
        1 => format!("\n1 of {all} findings follows from another"),
        count => format!("\n{count} of {all} findings follow from another"),
    };
    format!(
        "{}: {seen}{exempted}{caused}\nReleased {}, reclaimable now {}; leaking {}; data at risk {}",
        counts.join(", "),
        summary.released,
        summary.reclaimable,
        summary.leaking,
        summary.at_risk
    )
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The first that applies.
fn exit(collected: &Collected, worst: Option<Severity>, fail_on: Option<Severity>) -> Exit {
    if !collected.blind.is_empty() {
        return Exit::Incomplete;
    }
    if fails(worst, fail_on) { Exit::Findings } else { Exit::Done }
}

/// Whether a severity is at or above `--fail-on`.
fn fails(worst: Option<Severity>, fail_on: Option<Severity>) -> bool {
    worst.zip(fail_on).is_some_and(|(worst, bound)| worst <= bound)
}

/// What findings are looked for, and how they are printed.
struct Following<'a> {
    settings: Settings,
    printer: Printer,
    sort_by: Option<&'a JsonPath>,
    fail_on: Option<Severity>,
}

impl AuditArgs {
    /// Prints what is found now, and what changes, until somebody ends it.
    async fn follow(
        &self,
        connection: &ConnectionArgs,
        by: Following<'_>,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        terminal::queue_notes(|lines| {
            terminal::note(&format!("note: {lines} lines were lost here: nobody read stderr"));
        })?;
        let Following { settings, printer, sort_by, fail_on } = by;
        let (namespace, save) = (self.namespace.as_deref(), self.save.as_deref());
        let mut collected = collect::look(connection, namespace, &settings, save).await?;
        note_unknown_drivers(&mut collected, &settings);
        let is_for_people = printer.is_for_people();
        let stream = EventStream::new(printer, self.page());
        let printer = EventPrinter::start(stream).map_err(Failure::error)?;
        let screen = FindingScreen { printer: printer.clone(), fail_on };
        let (reconciler, first) = collect::begin(&mut collected, settings);
        let cluster = &collected.intake.cluster;
        let shown = screen.show(first.findings, cluster, sort_by)?;
        interrupt.order();
        if is_for_people {
            // At a terminal it stands beneath the table, however slowly that is shown. Elsewhere
            // nobody sees the two together.
            let shown_all = async {
                match (terminal::is_terminal(), shown.is_continue()) {
                    (false, _) => printer.settle().await,
                    (true, false) => printer.finish().await,
                    (true, true) => printer.flush().await,
                }
            };
            tokio::select! {
                () = shown_all => {}
                () = interrupt.ordered() => return Ok(Exit::Interrupted),
            }
            let tally = reconciler.assessor().totals(cluster, reconciler.settings());
            let origin = ReportOrigin { source: Source::Watch, journal: None };
            let head = publish::head(cluster, reconciler.settings(), &tally, origin);
            terminal::note(&summary(&head.summary, collected.blind.is_empty()));
        }
        self.tell_read(&collected);
        let going_on = async {
            if let ControlFlow::Break(exit) = shown {
                let incomplete = exit == Exit::Findings && !collected.blind.is_empty();
                return Ok(if incomplete { Exit::Incomplete } else { exit });
            }
            let mut watching = collect::go_on(collected, reconciler, None)?;
            let tell = &mut |told: Told, cluster: &Cluster, reconciler: &Reconciler| match screen
                .tell(told, cluster)
            {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(Exit::Findings)) if reconciler.has_gaps() => {
                    ControlFlow::Break(Ok(Exit::Incomplete))
                }
                Ok(ControlFlow::Break(exit)) => ControlFlow::Break(Ok(exit)),
                Err(failure) => ControlFlow::Break(Err(failure)),
            };
            watching.run(tell).await.map_err(dump_failure)?
        };
        let going_on = async {
            let end = going_on.await;
            // What it ends with is told in any case, and soon where something went wrong.
            match &end {
                Ok(_) => printer.finish().await,
                Err(_) => printer.settle().await,
            }
            end
        };
        // Whoever asks for the end gets it, also where nobody reads what is printed.
        tokio::select! {
            biased;
            ended = printer.ended() => ended.map(|()| Exit::Done).map_err(Failure::error),
            () = interrupt.ordered() => {
                printer.settle().await;
                Ok(Exit::Interrupted)
            }
            end = going_on => end,
        }
    }
}

/// Where findings are printed.
struct FindingScreen {
    printer: EventPrinter,
    fail_on: Option<Severity>,
}

impl FindingScreen {
    /// Prints findings, and says whether that ends it: one is as bad as `--fail-on` says.
    fn show(
        &self,
        events: Vec<FindingEvent>,
        cluster: &Cluster,
        sort_by: Option<&JsonPath>,
    ) -> Result<ControlFlow<Exit>, Failure> {
        let worst = events.iter().filter_map(FindingEvent::severity).min();
        let now = cluster.clock();
        let events = events.into_iter().map(|it| publish::finding_event(it, now)).collect();
        let events = match sort_by {
            None => events,
            Some(path) => sort(events, path).map_err(Failure::error)?,
        };
        self.printer.push(events);
        Ok(match fails(worst, self.fail_on) {
            true => ControlFlow::Break(Exit::Findings),
            false => ControlFlow::Continue(()),
        })
    }

    /// Prints what is new, and tells the rest on stderr.
    fn tell(&self, told: Told, cluster: &Cluster) -> Result<ControlFlow<Exit>, Failure> {
        if told.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let Told { news, defects, notes, .. } = told;
        tell_gaps("not read", news.gaps.lost.iter());
        tell_read_again(&news.gaps.read_again);
        for note in &notes {
            terminal::note(&format!("note: {}", escape_control(note)));
        }
        if defects > 0 {
            terminal::note(&format!(
                "defect: a full pass changed {defects} findings, which the changes before it \
                 should have; please report this"
            ));
        }
        self.show(news.findings, cluster, None)
    }
}

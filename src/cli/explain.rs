//! `kubectl storage explain ID|KIND/NAME`: an object, a finding, or the drivers of a cluster.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use super::{
    Exit, Failure,
    args::{ConnectionArgs, GapArgs, format, namespace, unknown_rule},
    audit::{ClustersLook, JudgedClusters},
    clusters::{ClusterInput, DistinctArgs},
    collect::{Collected, collect, collect_measured, dump_failure, tell, tell_notes, tell_unread},
    completion::{DOCUMENTS, formats},
    named::{self, NamedObject},
    reading::{DumpSourceArgs, JudgementArgs, note_unknown_drivers},
    terminal,
    usage::{UsageArgs, explain_usage},
};
use crate::{
    client::ConnectError,
    cluster::Cluster,
    facts::ListingCommand,
    model::{Kind, ObjectKey, Question, Settings, counted, escape_control, program},
    output::{
        explanation::{
            self, ExplainedFindings, ExplanationList, FindingExplanation, FindingExplanationList,
        },
        format::Format,
        list as write_list,
        publish::{self, ReportOrigin},
        report::wrap,
        wire::Source,
    },
    rules::{self, DriverLine, Explanation, disks_of_cluster},
    sources::answers,
    watch::ROUNDS,
};

/// Width of explanations where there is no terminal.
const WIDTH: usize = 80;
/// Greatest width of explanations: longer lines are hard to read.
const WIDEST: usize = 120;
/// The subject that stands for what providers list.
const INVENTORY: &str = "inventory";
/// The word for the commands whose answers `df` reads.
const USAGE: &str = "usage";
/// Number of findings about other objects that are told.
const RELATED: usize = 200;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Explain a finding by its id, or an object as KIND/NAME or KIND NAME, where KIND is pv, pvc,
    /// sts, pod, va, vs, vsc, sc, vac, driver or ns; `driver` alone lists the drivers, `inventory` the
    /// commands whose answers `audit --inventory` reads, and without arguments, all ids are listed
    #[arg(value_name = "ID|KIND/NAME", num_args = 0..,
          add = clap_complete::ArgValueCompleter::new(named::complete))]
    subject: Vec<String>,
    /// Find the object in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    #[command(flatten)]
    dump: DumpSourceArgs,
    #[command(flatten)]
    distinct: DistinctArgs,
    #[command(flatten)]
    judgement: JudgementArgs,
    #[command(flatten)]
    usage: UsageArgs,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print in this format: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(DOCUMENTS))]
    output: String,
}

impl ExplainArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        let named = match &self.subject[..] {
            [] => {
                let all = FindingExplanationList::of(rules::all());
                return print_document(&all, &format, list_findings);
            }
            [word] if named::DRIVER.contains(&&**word) => {
                if format != Format::Table {
                    return Err(Failure::usage("a list of drivers is printed as table only")
                        .hint(Some("explain driver/NAME prints json and yaml too")));
                }
                return Box::pin(self.drivers(connection)).await;
            }
            [word] if word == INVENTORY => {
                if format != Format::Table {
                    return Err(Failure::usage(
                        "commands that list disks are printed as table only",
                    ));
                }
                return Box::pin(self.inventory(connection)).await;
            }
            [word] if word == USAGE => {
                if format != Format::Table {
                    return Err(Failure::usage(
                        "commands that measure volumes are printed as table only",
                    ));
                }
                return explain_usage();
            }
            [word] => match word.split_once('/') {
                Some((kind, name)) => NamedObject::parse(kind, name)?,
                None => return explain_finding(word, &format),
            },
            [kind, name] if !kind.contains('/') => NamedObject::parse(kind, name)?,
            _ => return Err(Failure::usage("explain takes one object at a time")),
        };
        if let (Some(typed), Some(flag)) = (named.namespace(), &self.namespace)
            && typed != flag
        {
            return Err(Failure::usage(format!(
                "two namespaces are given: {typed} before the name, {flag} with -n"
            )));
        }
        match self.distinct.inputs(&self.dump, connection)? {
            Some(inputs) => Box::pin(self.in_several(&inputs, connection, &named, &format)).await,
            None => Box::pin(self.object(connection, &named, &format)).await,
        }
    }

    /// Explains the objects of this name in several clusters, with what the clusters name in common.
    async fn in_several(
        &self,
        inputs: &[ClusterInput],
        connection: &ConnectionArgs,
        named: &NamedObject,
        format: &Format,
    ) -> Result<Exit, Failure> {
        let settings = self.settings();
        let take = async |collected: &mut Collected, settings: &mut Settings, source| {
            note_unknown_drivers(collected, settings);
            let known = self.namespace.clone().or_else(|| collected.namespace.clone());
            let key = named.key(&collected.intake.cluster, known.as_deref())?;
            let explained = explained(collected, settings, &key).await?;
            let absent = || named::not_found(&collected.intake.cluster, &key);
            let explained = explained.ok_or_else(absent);
            Ok(explained.map(|it| whole(collected, settings, it, source)))
        };
        let look = ClustersLook {
            distinct: &self.distinct,
            connection,
            namespace: named.namespace().or(self.namespace.as_deref()),
            take,
            keeps_elsewhere: true,
            keeps_disks: false,
            usage: self.usage.of_clusters(inputs, &self.dump)?,
        };
        let judged = JudgedClusters::read(inputs, &settings, &look).await?;
        let complete = judged.is_complete();
        judged.tell();
        let (mut found, mut absent) = (Vec::new(), Vec::new());
        for (cluster, explained, compared, elsewhere) in judged.into_taken() {
            match explained {
                Ok(explanation) => {
                    found.push(explanation.of_cluster(cluster, compared, &elsewhere));
                }
                Err(failure) => absent.push((cluster.name, failure)),
            }
        }
        for (cluster, failure) in &absent {
            let told = format!("{cluster}: {:#}", failure.error);
            terminal::note(&format!("note: {}", escape_control(&told)));
        }
        if found.is_empty() {
            let typed = self.subject.join("/");
            let told = format!("{typed} was found in none of these clusters");
            let error = io::Error::new(io::ErrorKind::NotFound, told);
            let hint = absent.into_iter().find_map(|it| it.1.hint);
            return Err(Failure::error(error).hint(hint));
        }
        let list = ExplanationList::of(found);
        print_document(&list, format, |out| {
            for (number, explanation) in list.items.iter().enumerate() {
                let line = if number == 0 { "" } else { "\n" };
                let clusters = explanation.metadata.clusters.iter();
                let told: Vec<_> = clusters.map(|it| escape_control(&it.name)).collect();
                writeln!(out, "{line}Cluster {}", told.join(", "))?;
                print_text(out, explanation)?;
            }
            Ok(())
        })?;
        let is_whole = complete && list.items.iter().all(|it| it.gaps.is_empty());
        Ok(self.gaps.settle(if is_whole { Exit::Done } else { Exit::Incomplete }))
    }

    fn format(&self) -> Result<Format, Failure> {
        format(&self.output, &[Format::Table, Format::Json, Format::Yaml], |it| {
            format!("explain does not print {it}; its formats are table, json and yaml")
        })
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        self.judgement.take_into(&mut settings);
        settings
    }

    async fn object(
        &self,
        connection: &ConnectionArgs,
        named: &NamedObject,
        format: &Format,
    ) -> Result<Exit, Failure> {
        let settings = self.settings();
        // Where listing everything is forbidden, at least this namespace is read.
        let place = named.namespace().or(self.namespace.as_deref());
        let usage = self.usage.read(&self.dump)?;
        let (from, source) = self.dump.from(connection, place)?;
        let collected = collect_measured(from, &settings, None, usage).await;
        let mut collected = match (collected, named.driver()) {
            (Err(failure), Some(driver)) if source == Source::Live => {
                return known(driver, &failure, &settings, format);
            }
            (collected, _) => collected?,
        };
        note_unknown_drivers(&mut collected, &settings);
        tell_unread(&collected.unmeasured(), "audit");
        let known = self.namespace.clone().or_else(|| collected.namespace.clone());
        let key = named.key(&collected.intake.cluster, known.as_deref())?;
        if key.kind == Kind::Namespace {
            collected.expect_namespaces([&*key.name]).await?;
        }
        let explained = explained(&mut collected, &settings, &key).await?;
        let Some(explained) = explained else {
            tell(&collected, "audit");
            return Err(named::not_found(&collected.intake.cluster, &key));
        };
        tell_notes(&collected);
        if let Some(hint) = named::doubt(&collected.intake.cluster, &key) {
            terminal::note(&format!("hint: {}", crate::model::escape_control(&hint)));
        }
        Ok(self.gaps.settle(print(&collected, &settings, explained, format, source)?))
    }

    /// Prints the commands whose answers `audit --inventory` reads.
    async fn inventory(&self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        if self.distinct.inputs(&self.dump, connection)?.is_some() {
            return Err(Failure::usage("explain inventory is about a single cluster"));
        }
        let settings = self.settings();
        let (from, _) = self.dump.from(connection, self.namespace.as_deref())?;
        let collected = collect(from, &settings, None).await?;
        let cluster = &collected.intake.cluster;
        let disks = disks_of_cluster(None, &collected.assessor, cluster, &settings);
        let listings = disks.listings();
        terminal::print(|out| list_commands(out, &listings)).map_err(Failure::error)?;
        tell(&collected, "audit");
        let unseen = cluster.gaps().next().is_some();
        Ok(self.gaps.settle(if unseen { Exit::Incomplete } else { Exit::Done }))
    }

    /// Lists the drivers of the cluster, with what is known of them.
    async fn drivers(&self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        if self.distinct.inputs(&self.dump, connection)?.is_some() {
            return Err(Failure::usage("a list of drivers is one of a single cluster")
                .hint(Some("explain driver/NAME explains a driver in several")));
        }
        let settings = self.settings();
        let (from, _) = self.dump.from(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        note_unknown_drivers(&mut collected, &settings);
        let cluster = &collected.intake.cluster;
        let rows = rules::drivers(&collected.assessor.cx(cluster, &settings));
        terminal::print(|out| list_drivers(out, &rows)).map_err(Failure::error)?;
        tell(&collected, "audit");
        let unseen = cluster.gaps().next().is_some();
        Ok(self.gaps.settle(if unseen { Exit::Incomplete } else { Exit::Done }))
    }
}

/// Explains an object, after asking the server what the explanation needs to know; `None` if it is not found.
async fn explained(
    collected: &mut Collected,
    settings: &Settings,
    key: &ObjectKey,
) -> Result<Option<Explanation>, Failure> {
    for _ in 0..ROUNDS {
        let cluster = &collected.intake.cluster;
        let cx = collected.assessor.cx(cluster, settings);
        let explained = rules::explain(&cx, key);
        let answered = cluster.answers();
        let asked = cx.take_questions().into_iter();
        let mut asked: Vec<Question> = asked.filter(|it| !answered.contains_key(it)).collect();
        // The list may be older than the object.
        let exists = Question::Exists(key.clone());
        let has_rows = !matches!(key.kind, Kind::CsiDriver | Kind::Namespace);
        if explained.is_none() && has_rows && !answered.contains_key(&exists) {
            asked.push(exists);
        }
        let Some(live) = collected.live.as_ref().filter(|_| !asked.is_empty()) else {
            return Ok(explained);
        };
        let reader = live.reader.clone();
        answers::ask(&reader, asked, &mut collected.intake).await.map_err(dump_failure)?;
        collected.judge(settings);
    }
    let cx = collected.assessor.cx(&collected.intake.cluster, settings);
    Ok(rules::explain(&cx, key))
}

/// Shows on stderr what `explain` says of an object, before it is changed.
pub(super) async fn show(
    collected: &mut Collected,
    settings: &Settings,
    key: &ObjectKey,
) -> Result<(), Failure> {
    let Some(explained) = explained(collected, settings, key).await? else { return Ok(()) };
    let source = if collected.live.is_some() { Source::Live } else { Source::Dump };
    let whole = whole(collected, settings, explained, source);
    let mut screen = Vec::new();
    let width = terminal::width().map_or(WIDTH, |it| usize::from(it).min(WIDEST));
    whole.print(&mut screen, width, false).map_err(Failure::error)?;
    terminal::note(String::from_utf8_lossy(&screen).trim_end());
    Ok(())
}

fn print(
    collected: &Collected,
    settings: &Settings,
    explained: Explanation,
    format: &Format,
    source: Source,
) -> Result<Exit, Failure> {
    let whole = whole(collected, settings, explained, source);
    print_explanation(&whole, format)?;
    Ok(if whole.gaps.is_empty() { Exit::Done } else { Exit::Incomplete })
}

/// Returns an explanation with the findings about its object and those beside it.
fn whole(
    collected: &Collected,
    settings: &Settings,
    explained: Explanation,
    source: Source,
) -> explanation::Explanation {
    let cluster = &collected.intake.cluster;
    let assessor = &collected.assessor;
    let own = explained.subject.as_ref();
    let own = own.map(|it| assessor.findings_of(cluster, settings, it)).unwrap_or_default();
    let (related, related_total) =
        assessor.findings_beside(cluster, settings, &explained.neighbours, RELATED);
    let public = |found: Vec<crate::model::Finding>| {
        found.into_iter().map(|it| collected.public(it)).collect()
    };
    let findings = ExplainedFindings {
        own: public(own.findings),
        unseen: own.unseen,
        related: public(related),
        related_total,
    };
    let journal = collected.journal.as_ref().map(|path| path.display().to_string());
    let about = publish::metadata(cluster, settings, ReportOrigin { source, journal });
    explanation::Explanation::new(explained, about, findings).repeating(&collected.repeated)
}

/// Explains what is known of a driver, where no cluster can be read.
fn known(
    driver: &str,
    failure: &Failure,
    settings: &Settings,
    format: &Format,
) -> Result<Exit, Failure> {
    let origin = ReportOrigin { source: Source::None, journal: None };
    let about = publish::metadata(&Cluster::default(), settings, origin);
    let explained = rules::known_driver(driver);
    let shape = explanation::Explanation::new(explained, about, ExplainedFindings::default());
    print_explanation(&shape, format)?;
    let error = escape_control(&format!("{:#}", failure.error)).into_owned();
    terminal::note(&format!("note: known without a cluster, of which none was read: {error}"));
    // Who has no cluster misses nothing of it.
    let has_none = matches!(
        failure.error.downcast_ref::<ConnectError>(),
        Some(ConnectError::NoKubeconfig { .. })
    );
    Ok(if has_none { Exit::Done } else { Exit::Incomplete })
}

fn print_explanation(shape: &explanation::Explanation, format: &Format) -> Result<(), Failure> {
    print_document(shape, format, |out| print_text(out, shape)).map(drop)
}

fn print_text(out: &mut dyn Write, shape: &explanation::Explanation) -> io::Result<()> {
    let width = terminal::width().map_or(WIDTH, |it| usize::from(it).min(WIDEST));
    let mut screen = Vec::new();
    shape.print(&mut screen, width, terminal::colour())?;
    writeln!(out, "{}", String::from_utf8_lossy(&screen).trim_end())
}

/// Prints a document in a format; `text` prints the table.
fn print_document(
    document: &impl Serialize,
    format: &Format,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Exit, Failure> {
    terminal::print(|out| match format {
        Format::Json => write_list::json(out, document),
        Format::Yaml => write_list::yaml(out, document),
        _ => text(out),
    })
    .map_err(Failure::error)?;
    Ok(Exit::Done)
}

/// Explains what a finding means.
fn explain_finding(id: &str, format: &Format) -> Result<Exit, Failure> {
    let Some(rule) = rules::find(id) else {
        if let Some(kind) = named::kind(id) {
            return Err(Failure::usage(format!("{id} is a kind, and no object is named"))
                .hint(Some(format!("explain {}/NAME", named::short(kind)))));
        }
        return Err(unknown_rule(id));
    };
    let explained = FindingExplanation::of(rule);
    print_document(&explained, format, |out| print_rule(out, &explained))
}

/// Lists the ids of all findings.
fn list_findings(out: &mut dyn Write) -> io::Result<()> {
    let width = rules::all().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in rules::all() {
        writeln!(out, "{:width$}   {:8}   {}", rule.id, rule.severity.name(), rule.title)?;
    }
    Ok(())
}

/// Prints the commands that list the disks of each driver.
fn list_commands(out: &mut dyn Write, listings: &[ListingCommand]) -> io::Result<()> {
    let mut files = Vec::new();
    for ListingCommand { driver, volumes, commands, tells, own } in listings {
        let driver = escape_control(driver);
        writeln!(out, "{driver}: {}", counted(*volumes, "volume"))?;
        if let Some(system) = own {
            let resource = system.kind.resource();
            writeln!(out, "  its disks lie in the cluster: audit reads {resource} without a file")?;
            continue;
        }
        for command in commands {
            let file = format!("disks-{}.json", files.len() + 1);
            writeln!(out, "  {command} > {file}")?;
            files.push(file);
        }
        let told = match commands.is_empty() {
            true => "no command is known: write a CSV file, as the documentation says".to_owned(),
            false => format!("tells {tells}"),
        };
        writeln!(out, "  {told}")?;
    }
    if files.is_empty() {
        let none = "no driver was found whose disks a provider lists";
        return if listings.is_empty() { writeln!(out, "{none}") } else { Ok(()) };
    }
    let files = files.join(" --inventory ");
    writeln!(out, "\nThen: {} audit --inventory {files}", program())
}

/// Lists drivers, each in a line.
fn list_drivers(out: &mut dyn Write, rows: &[DriverLine]) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "no driver and no provisioner was found");
    }
    for row in rows {
        let volumes = counted(row.volumes, "volume");
        let name = escape_control(&row.name);
        writeln!(out, "{name}: {}, {volumes}, provisioner {}", row.title, row.provisioner)?;
    }
    writeln!(out, "\n`{} explain driver/NAME` shows more.", program())
}

fn print_rule(out: &mut dyn Write, rule: &FindingExplanation) -> io::Result<()> {
    writeln!(out, "{} ({})", rule.id, rule.severity)?;
    for (heading, text) in [
        ("What it means", &rule.title),
        ("Why it is dangerous", &rule.danger),
        ("What the tool does and refuses", &rule.remedy),
        ("Reads", &rule.reads.join(", ")),
        ("Source", &rule.source),
    ] {
        writeln!(out, "\n{heading}:")?;
        for line in wrap(text, 76) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

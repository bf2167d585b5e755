//! `kubectl storage df`.

use std::{collections::BTreeSet, io};

use clap::{Args, ValueEnum};

use super::{
    Exit, Failure,
    args::{ConnectionArgs, GapArgs, format, namespace, scope, sort_refused},
    collect::{Collected, collect_measured, tell_notes, tell_unread, unread},
    completion::{ROWS, formats},
    named::{self, NamedObject},
    reading::DumpSourceArgs,
    terminal,
    usage::{PRINTED, UsageArgs},
};
use crate::{
    cluster::{Subject, Unseen},
    facts::{Fullness, UsageSummary, fullness, used_by},
    model::{Kind, Settings, Text, escape_control},
    output::{
        format::Format,
        jsonpath::RenderError,
        list,
        order::SortPath,
        publish::{self, ReportOrigin},
        report::wrap,
        sections::{self, Grouping},
        table::resource_name,
        usage::{self as shown, ClaimUsage, UsageReport},
        wire::{API_VERSION, Source},
    },
    rules,
};

/// Arguments of `df`.
#[derive(Debug, Args)]
pub struct DfArgs {
    /// Show these claims, as NAME or pvc/NAME; all without names
    #[arg(value_name = "NAME|pvc/NAME")]
    names: Vec<String>,
    #[command(flatten)]
    usage: UsageArgs,
    #[command(flatten)]
    dump: DumpSourceArgs,
    /// Show claims of this namespace, or of several (a,b) [default: all]
    #[arg(short, long = "namespace", value_name = "NAMESPACE", value_delimiter = ',',
          value_parser = namespace, conflicts_with = "all_namespaces")]
    namespaces: Vec<String>,
    /// Show claims of all namespaces, which is the default
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Show only claims with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "names")]
    selector: Option<String>,
    /// Sort by a field, such as .sizeBytes [default: the fullest first]
    #[arg(long, value_name = "JSONPATH")]
    sort_by: Option<String>,
    /// Group the table by namespace, class or driver
    #[arg(long, value_name = "BY", value_enum, hide_possible_values = true)]
    group_by: Option<UsageGrouping>,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print in this format: table, wide, json, yaml or name
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(ROWS))]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
}

/// `--group-by` of `df`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UsageGrouping {
    /// By namespace
    Namespace,
    /// By storage class
    Class,
    /// By driver
    Driver,
}

impl From<UsageGrouping> for Grouping {
    fn from(by: UsageGrouping) -> Self {
        match by {
            UsageGrouping::Namespace => Self::Namespace,
            UsageGrouping::Class => Self::Class,
            UsageGrouping::Driver => Self::Driver,
        }
    }
}

impl DfArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = format(
            &self.output,
            &[Format::Table, Format::Wide, Format::Json, Format::Yaml, Format::Name],
            |it| {
                format!("df does not print {it}; its formats are table, wide, json, yaml and name")
            },
        )?;
        if self.group_by.is_some() && !matches!(format, Format::Table | Format::Wide) {
            return Err(Failure::usage("--group-by applies to the formats table and wide"));
        }
        let parse =
            |text| SortPath::parse::<ClaimUsage>(text, "claim").map_err(|it| sort_refused(&it));
        let sort_by = self.sort_by.as_deref().map(parse).transpose()?;
        let named = self.names.iter().map(|it| claim(it)).collect::<Result<Vec<_>, _>>()?;
        if !named.is_empty() && self.namespaces.len() > 1 {
            return Err(Failure::usage("several namespaces are given for the named claims")
                .hint(Some("name each claim as pvc/NAMESPACE/NAME")));
        }
        let namespaces = if named.is_empty() { &*self.namespaces } else { &[] };
        let mut settings = Settings {
            scope: scope(namespaces.iter().map(String::as_str), self.selector.as_deref())?,
            ..Settings::default()
        };
        let first = self.namespaces.first().map(String::as_str);
        let (from, source) = self.dump.from(connection, first)?;
        // Told before a cluster is read for minutes.
        let is_live = self.dump.files().is_empty();
        let usage = self.usage.or_kubelets(is_live).read(&self.dump)?;
        let mut collected = collect_measured(from, &settings, None, usage).await?;
        if collected.intake.cluster.figures().is_none() {
            let told = "the dump does not say how full volumes are: pass --usage FILE";
            return Err(Failure::usage(told).hint(Some(PRINTED.to_owned())));
        }
        collected.expect_namespaces(self.namespaces.iter().map(String::as_str)).await?;
        let place = first.map(str::to_owned).or_else(|| collected.namespace.clone());
        for object in &named {
            let key = object.key(&collected.intake.cluster, place.as_deref())?;
            if collected.intake.cluster.subject(&key).is_none() {
                return Err(named::not_found(&collected.intake.cluster, &key));
            }
            settings.scope.objects.insert(key);
        }
        let mut report = report(&collected, &settings, source);
        if let Some(path) = sort_by {
            report.claims = path.sort(report.claims).map_err(Failure::error)?;
        }
        self.print(&report, &format)?;
        tell_notes(&collected);
        tell_unread(&report.gaps, "audit");
        let is_whole = report.gaps.is_empty();
        Ok(self.gaps.settle(if is_whole { Exit::Done } else { Exit::Incomplete }))
    }

    fn print(&self, report: &UsageReport, format: &Format) -> Result<(), Failure> {
        terminal::print(|out| match format {
            Format::Json => list::json(out, report),
            Format::Yaml => list::yaml(out, report),
            Format::Name => report
                .claims
                .iter()
                .try_for_each(|it| writeln!(out, "{}", escape_control(&resource_name(&it.object)))),
            _ => {
                let is_wide = *format == Format::Wide;
                let width = terminal::width().filter(|_| !is_wide);
                let print = |out: &mut dyn io::Write, claims: &[ClaimUsage]| {
                    shown::print(out, claims, is_wide, width, !self.no_headers)
                };
                let Some(by) = self.group_by else { return print(out, &report.claims) };
                let claims = &mut report.claims.iter().cloned();
                let printed = sections::print(out, claims, by.into(), |out, claims| {
                    print(out, &claims).map_err(RenderError::from)
                });
                printed.map_err(io::Error::other)
            }
        })
        .map_err(Failure::error)?;
        if matches!(format, Format::Table | Format::Wide) {
            let width = terminal::width().map_or(usize::MAX, usize::from);
            for line in wrap(&report.summary.told(), width) {
                terminal::note(&line);
            }
        }
        if report.summary.is_of_another() {
            terminal::note(
                "note: no claim that was read is in the figures: are they of another cluster?",
            );
        }
        Ok(())
    }
}

/// Parses the name of a claim.
fn claim(text: &str) -> Result<NamedObject, Failure> {
    let (kind, name) = text.split_once('/').unwrap_or(("pvc", text));
    match named::kind(kind) {
        Some(Kind::PersistentVolumeClaim) => NamedObject::parse(kind, name),
        _ => Err(Failure::usage(format!("\"{}\" is no claim", escape_control(text)))
            .hint(Some("df shows claims, as NAME or pvc/NAME, in the namespace of -n"))),
    }
}

fn report(collected: &Collected, settings: &Settings, source: Source) -> UsageReport {
    let cluster = &collected.intake.cluster;
    let cx = collected.assessor.cx(cluster, settings);
    let mut unseen: BTreeSet<Unseen> = BTreeSet::new();
    let namespaces = &settings.scope.namespaces;
    if namespaces.is_empty() {
        unseen.extend(cluster.reach(Kind::PersistentVolumeClaim, None).err());
    }
    let reach = |it: &Text| cluster.reach(Kind::PersistentVolumeClaim, Some(it)).err();
    unseen.extend(namespaces.iter().filter_map(reach));
    let mut summary = UsageSummary::default();
    let mut claims = Vec::new();
    for (id, claim) in cluster.claims() {
        if !rules::in_scope(cluster, settings, &Subject::Claim(id)) {
            continue;
        }
        let mut seen = |lost: Unseen| {
            unseen.insert(lost);
        };
        let used_by = used_by(&cx, claim).map_err(&mut seen).ok();
        let fullness = fullness(&cx, claim).unwrap_or_else(|lost| {
            seen(lost);
            Fullness::UNSEEN
        });
        summary.count(&fullness, cluster.clock());
        let volume = claim.volume_name.as_deref().and_then(|it| cluster.volume_named(it));
        let shown = shown::claim(claim, volume, used_by, &fullness, cluster.clock());
        claims.push(shown);
    }
    claims.sort_by_cached_key(ClaimUsage::rank);
    if let Some(figures) = cluster.figures() {
        summary.count_unmatched(&cx, figures);
    }
    let mut gaps = collected.unmeasured();
    gaps.extend(unread(unseen, &BTreeSet::new()));
    UsageReport {
        api_version: API_VERSION.to_owned(),
        kind: "UsageReport".to_owned(),
        metadata: publish::metadata(cluster, settings, ReportOrigin { source, journal: None }),
        summary,
        claims,
        gaps,
    }
}

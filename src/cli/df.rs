//! `kubectl storage df`.

use std::collections::BTreeSet;

use clap::Args;

use super::{
    Exit, Failure,
    args::{ConnectionArgs, GapArgs, format, namespace, scope, sort_refused},
    collect::{Collected, collect, tell_notes, tell_unread, unread},
    completion::{ROWS, formats},
    named::{self, NamedObject},
    reading::{DumpSourceArgs, standard_input_once},
    terminal,
};
use crate::{
    cluster::{Subject, Unseen},
    facts::{Fullness, fullness, used_by},
    listings::NamedFile,
    model::{ClaimKey, Kind, Settings, Text, escape_control, program},
    output::{
        format::Format,
        list,
        order::SortPath,
        publish::{self, ReportOrigin},
        report::wrap,
        table::resource_name,
        usage::{self as shown, ClaimUsage, UsageReport, UsageSummary},
        wire::{API_VERSION, Gap, Source},
    },
    rules,
    usage::{self, UsageFigures},
};

/// Arguments of `df`.
#[derive(Debug, Args)]
pub struct DfArgs {
    /// Show these claims, as NAME or pvc/NAME; all without names
    #[arg(value_name = "NAME|pvc/NAME")]
    names: Vec<String>,
    /// Read figures of volumes from a file: an answer of Prometheus, or of kubelets; - for standard input; can be repeated
    #[arg(long, value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    usage: Vec<String>,
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
    #[command(flatten)]
    gaps: GapArgs,
    /// Print in this format: table, wide, json, yaml or name
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(ROWS))]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
}

/// What was read from the files of `--usage`.
#[derive(Default)]
struct ReadFigures {
    figures: UsageFigures,
    /// Files, and parts of answers, that could not be read.
    gaps: Vec<Gap>,
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
        // Told before a cluster is read for minutes.
        let ReadFigures { figures, gaps } = self.figures()?;
        let first = self.namespaces.first().map(String::as_str);
        let (from, source) = self.dump.from(connection, first)?;
        let mut collected = collect(from, &settings, None).await?;
        collected.expect_namespaces(self.namespaces.iter().map(String::as_str)).await?;
        let place = first.map(str::to_owned).or_else(|| collected.namespace.clone());
        for object in &named {
            let key = object.key(&collected.intake.cluster, place.as_deref())?;
            if collected.intake.cluster.subject(&key).is_none() {
                return Err(named::not_found(&collected.intake.cluster, &key));
            }
            settings.scope.objects.insert(key);
        }
        let mut report = report(&collected, &settings, &figures, gaps, source);
        if let Some(path) = sort_by {
            report.claims = path.sort(report.claims).map_err(Failure::error)?;
        }
        self.print(&report, &format)?;
        tell_notes(&collected);
        tell_unread(&report.gaps, "audit");
        let is_whole = report.gaps.is_empty();
        Ok(self.gaps.settle(if is_whole { Exit::Done } else { Exit::Incomplete }))
    }

    /// Reads the files. One that cannot be read is a gap beside others.
    fn figures(&self) -> Result<ReadFigures, Failure> {
        let inputs: Vec<_> = self.usage.iter().map(|it| NamedFile::parse(it)).collect();
        standard_input_once(&inputs, self.dump.files())?;
        let mut read = ReadFigures::default();
        let gap = |reason: String| Gap {
            cluster: None,
            resource: "figures of volumes".to_owned(),
            namespace: None,
            reason,
            ids: Vec::new(),
        };
        let hint = "kubectl storage explain usage prints the commands whose answers are read";
        let refused = |error| Failure::error(error).hint(Some(hint.to_owned()));
        let mut broken = Vec::new();
        for input in &inputs {
            match usage::read(input) {
                Ok(file) => {
                    let partial = |it: &String| {
                        let told = escape_control(it);
                        gap(format!("{} is partial, its source says: {told}", file.name))
                    };
                    read.gaps.extend(file.warnings.iter().map(partial));
                    read.figures.add(file).map_err(refused)?;
                }
                Err(error) => broken.push(error),
            }
        }
        if broken.len() == inputs.len() && !broken.is_empty() {
            return Err(refused(broken.swap_remove(0)));
        }
        let broken = broken.into_iter().map(|it| gap(format!("{:#}", anyhow::Error::new(it))));
        read.gaps.extend(broken);
        Ok(read)
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
                shown::print(out, &report.claims, is_wide, width, !self.no_headers)
            }
        })
        .map_err(Failure::error)?;
        if matches!(format, Format::Table | Format::Wide) {
            let width = terminal::width().map_or(usize::MAX, usize::from);
            for line in wrap(&report.summary.told(), width) {
                terminal::note(&line);
            }
        }
        let UsageSummary { measured, shared, unmatched, .. } = report.summary;
        if measured + shared == 0 && unmatched > 0 {
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

fn report(
    collected: &Collected,
    settings: &Settings,
    figures: &UsageFigures,
    mut gaps: Vec<Gap>,
    source: Source,
) -> UsageReport {
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
        let shown = match fullness(&cx, claim, figures) {
            Ok(fullness) => {
                let volume = claim.volume_name.as_deref().and_then(|it| cluster.volume_named(it));
                shown::claim(claim, volume, used_by, &fullness, cluster.clock())
            }
            Err(lost) => {
                seen(lost);
                shown::claim(claim, None, used_by, &Fullness::Unknown("not read".into()), None)
            }
        };
        summary.count(&shown);
        claims.push(shown);
    }
    claims.sort_by_cached_key(ClaimUsage::rank);
    let is_absent = |it: &&ClaimKey| matches!(cx.claim(it), Ok(None));
    summary.unmatched = figures.claims().filter(is_absent).count();
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

/// What `explain usage` prints, at most 80 columns wide.
const COMMANDS: &str = r#"From Prometheus, Thanos or Mimir, now; no right in the cluster is needed:
  curl -sG "$PROMETHEUS/api/v1/query" \
    --data-urlencode 'query={__name__=~"kubelet_volume_stats_.*"}' > usage.json

The last 30 days, which also tell when a volume will be full:
  curl -sG "$PROMETHEUS/api/v1/query_range" \
    --data-urlencode 'query={__name__=~"kubelet_volume_stats_.*"}' \
    --data-urlencode "start=$(($(date +%s) - 2592000))" \
    --data-urlencode "end=$(date +%s)" --data-urlencode step=1h > usage.json

If it has several clusters, choose one by its label:
  'query={__name__=~"kubelet_volume_stats_.*",cluster="NAME"}'

From the kubelet of a node; a file for each node, or one after the other in one:
  kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary > usage-NODE.json
  That needs get on nodes/proxy, with which one may also run commands in every
  pod of the node: use rights that you have, and grant them to no role for this.
"#;

/// Prints the commands whose answers `df` reads.
///
/// # Errors
/// When writing fails.
pub(super) fn explain_usage() -> Result<Exit, Failure> {
    let name = program();
    terminal::print(|out| writeln!(out, "{COMMANDS}\nThen: {name} df --usage usage.json"))
        .map_err(Failure::error)?;
    Ok(Exit::Done)
}

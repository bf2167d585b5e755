//! `kubectl storage retention show`.

use std::collections::BTreeSet;

use clap::Args;

use super::named::NamedSets;
use crate::{
    cli::{
        Exit, Failure,
        args::{
            ConnectionArgs, GapArgs, ThresholdSetting, format, namespace, threshold_candidates,
        },
        collect::{Collected, collect, tell_notes, tell_unread, unread},
        completion::{ROWS, formats},
        reading::{DumpSourceArgs, note_unknown_drivers},
        terminal,
    },
    cluster::{Cx, Unseen},
    model::{Kind, RuleId, Settings, Text, counted, escape_control, nearest},
    output::{
        format::Format,
        list,
        publish::{self, ReportOrigin},
        retention::{self as shown, RetentionSet, RetentionSummary, RetentionTotals},
        screen::ScreenStyle,
        wire::{API_VERSION, Gap, ReportMetadata, Source},
    },
    rules::retention::{self, OtherClaim, SetRetention},
    watch::ROUNDS,
};

/// Arguments of `retention show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Show these StatefulSets, as NAME or sts/NAME; all without names
    #[arg(value_name = "NAME|sts/NAME")]
    names: Vec<String>,
    #[command(flatten)]
    dump: DumpSourceArgs,
    /// Show StatefulSets of this namespace, or of several (a,b) [default: that of the context; all of a dump]
    #[arg(short, long = "namespace", value_name = "NAMESPACE", value_delimiter = ',',
          value_parser = namespace, conflicts_with = "all_namespaces")]
    namespaces: Vec<String>,
    /// Show StatefulSets of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Show only StatefulSets with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    #[command(flatten)]
    judgement: SetJudgementArgs,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print in this format: table, wide, json, yaml or name
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(ROWS))]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
}

/// What sets and their claims are judged with.
#[derive(Debug, Args)]
pub(super) struct SetJudgementArgs {
    /// Change a threshold, such as protection=1m; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = threshold_candidates())]
    threshold: Vec<ThresholdSetting>,
    /// Assert that a driver is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated
    #[arg(long, value_name = "DRIVER")]
    driver_absent: Vec<String>,
}

impl SetJudgementArgs {
    /// Returns the settings by these flags.
    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        ThresholdSetting::take_all(&self.threshold, &mut settings);
        settings.absent_drivers = self.driver_absent.iter().map(|it| Text::from(&**it)).collect();
        settings
    }
}

/// Whether a rule is about retention, or about owners of claims.
pub(super) fn is_about_retention(id: RuleId) -> bool {
    id.starts_with("sts-") || OF_OWNERS.contains(&id)
}

/// Rules about the owners of claims in general.
const OF_OWNERS: [&str; 2] = ["pvc-doomed-by-gc", "pvc-owner-kind-not-served"];

impl ShowArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        let mut named = NamedSets::parse(
            &self.names,
            self.namespaces.iter().map(String::as_str),
            self.all_namespaces,
            self.selector.as_deref(),
        )?;
        let mut settings = self.judgement.settings();
        settings.scope.namespaces.clone_from(&named.scope.namespaces);
        let first = self.namespaces.first().map(String::as_str);
        let (from, source) = self.dump.from(connection, first)?;
        let mut collected = collect(from, &settings, None).await?;
        note_unknown_drivers(&mut collected, &settings);
        named.settle(&collected);
        named.found(&collected).map_err(|failure| match &self.names[..] {
            // A typing error in the name of the subcommand is read as the name of a set.
            [typed] if !typed.contains('/') => {
                let near = nearest(typed, super::SUBCOMMANDS.map(str::to_owned));
                let hint = near.first().map(|it| format!("did you mean `retention {it}`?"));
                if hint.is_some() { failure.hint(hint) } else { failure }
            }
            _ => failure,
        })?;
        named.expect(&mut collected).await?;
        let mut rounds = ROUNDS;
        loop {
            let cx = collected.assessor.cx(&collected.intake.cluster, &settings);
            let view = RetentionView::of(&cx, &collected, &settings, &named);
            let asked = cx.take_questions();
            if rounds == 0 || asked.is_empty() || collected.live.is_none() {
                let exit = self.report(&collected, &settings, &named, &format, (source, &view))?;
                // The process ends here: taking apart a hundred thousand rows would only take time.
                std::mem::forget(view);
                std::mem::forget(collected);
                return Ok(exit);
            }
            drop((view, cx));
            rounds -= 1;
            collected.ask(asked).await?;
            collected.judge(&settings);
        }
    }

    fn format(&self) -> Result<Format, Failure> {
        format(
            &self.output,
            &[Format::Table, Format::Wide, Format::Json, Format::Yaml, Format::Name],
            |it| {
                format!(
                    "retention does not print {it}; its formats are table, wide, json, yaml and name"
                )
            },
        )
    }

    fn report(
        &self,
        collected: &Collected,
        settings: &Settings,
        named: &NamedSets,
        format: &Format,
        (source, view): (Source, &RetentionView),
    ) -> Result<Exit, Failure> {
        let cluster = &collected.intake.cluster;
        let now = cluster.clock();
        let judged = |key| {
            let subject = cluster.subject(&key)?;
            let found =
                collected.assessor.findings_by(cluster, settings, &subject, is_about_retention);
            Some(found.findings.into_iter().map(|it| collected.public(it)).collect::<Vec<_>>())
        };
        let mut sets = view.sets.iter().map(|it| -> RetentionSet {
            let of_set = judged(it.set.object().key).unwrap_or_default();
            let of_claim = |claim: &retention::ClaimRetention| {
                judged(claim.claim.object().key).unwrap_or_default()
            };
            shown::set(it, now, of_set, of_claim)
        });
        let others: Vec<_> = view.others.iter().map(shown::other).collect();
        let wide = *format == Format::Wide;
        let headers = !self.no_headers;
        terminal::print(|out| match format {
            Format::Json | Format::Yaml => {
                let journal = collected.journal.as_ref().map(|path| path.display().to_string());
                let head = RetentionHead {
                    api_version: API_VERSION,
                    kind: "RetentionReport",
                    metadata: publish::metadata(
                        cluster,
                        settings,
                        ReportOrigin { source, journal },
                    ),
                    summary: &view.summary,
                };
                let tail = RetentionTail { others: &others, gaps: &view.gaps };
                match format {
                    Format::Json => list::report_json(out, &head, "sets", &mut sets, &tail),
                    _ => list::report_yaml(out, &head, "sets", &mut sets, &tail),
                }
            }
            Format::Name => view.names(out),
            _ => match terminal::width().filter(|_| !wide) {
                Some(width) => {
                    let style =
                        ScreenStyle { headers, width, colour: terminal::colour(), reverse: false };
                    shown::print_screen(out, &mut sets, &others, style)
                }
                None => shown::print_rows(out, &mut sets, &others, wide, headers),
            },
        })
        .map_err(Failure::error)?;
        if matches!(format, Format::Table | Format::Wide) {
            for line in summary(&view.summary, named, view.gaps.is_empty()) {
                terminal::note(&line);
            }
        }
        tell_notes(collected);
        tell_unread(&view.gaps, "retention");
        let seen = view.gaps.is_empty();
        Ok(self.gaps.settle(if seen { Exit::Done } else { Exit::Incomplete }))
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct RetentionHead<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: ReportMetadata,
    summary: &'a RetentionSummary,
}

#[derive(serde::Serialize)]
struct RetentionTail<'a> {
    others: &'a [shown::RetentionOther],
    gaps: &'a [Gap],
}

/// StatefulSets in scope with their claims, and what was not read about them.
struct RetentionView<'a> {
    sets: Vec<SetRetention<'a>>,
    others: Vec<OtherClaim<'a>>,
    summary: RetentionSummary,
    gaps: Vec<Gap>,
}

impl<'a> RetentionView<'a> {
    fn of(cx: &Cx<'a>, collected: &'a Collected, settings: &Settings, named: &NamedSets) -> Self {
        let cluster = &collected.intake.cluster;
        let mut unseen: BTreeSet<Unseen> = BTreeSet::new();
        let mut unjudged: BTreeSet<(Unseen, RuleId)> = BTreeSet::new();
        let mut totals = RetentionTotals::default();
        let scope = &named.scope;
        if scope.namespaces.is_empty() {
            unseen.extend(cluster.reach(Kind::StatefulSet, None).err());
        }
        for namespace in &scope.namespaces {
            unseen.extend(cluster.reach(Kind::StatefulSet, Some(namespace)).err());
        }
        unseen.extend(named.doubts.iter().cloned());
        let mut rows: Vec<_> =
            cluster.sets().map(|(_, set)| set).filter(|set| named.contains(set)).collect();
        rows.sort_by(|a, b| {
            (&a.namespace, &a.metadata.name).cmp(&(&b.namespace, &b.metadata.name))
        });
        let mut sets = Vec::new();
        for set in rows {
            if set.templates.is_empty() && named.names.is_empty() {
                totals.skip();
                continue;
            }
            match retention::of_set(cx, set, &mut unseen) {
                Ok(shown) => {
                    totals.set(&shown);
                    sets.push(shown);
                }
                Err(lost) => {
                    unseen.insert(lost);
                }
            }
        }
        for claim in sets.iter().flat_map(|it| &it.claims) {
            if let Some(subject) = cluster.subject(&claim.claim.object().key) {
                let found =
                    collected.assessor.findings_by(cluster, settings, &subject, is_about_retention);
                unjudged.extend(found.unseen.into_iter().map(|(rule, unseen)| (unseen, rule)));
            }
        }
        let mut others = Vec::new();
        if named.names.is_empty() && named.scope.selector.is_empty() {
            let claims = cluster.claims().map(|(_, claim)| claim);
            for claim in claims.filter(|it| scope.includes(&it.namespace)) {
                let Some(subject) = cluster.subject(&claim.object().key) else { continue };
                match retention::others(cx, &subject, claim) {
                    Ok(Some(other)) => {
                        totals.other(&other);
                        others.push(other);
                    }
                    Ok(None) => {}
                    Err(lost) => {
                        unseen.insert(lost);
                    }
                }
            }
            others.sort_by(|a, b| {
                let key = |it: &OtherClaim| {
                    (it.reason, it.claim.namespace.clone(), it.claim.metadata.name.clone())
                };
                key(a).cmp(&key(b))
            });
        }
        Self { sets, others, summary: totals.finish(), gaps: unread(unseen, &unjudged) }
    }

    fn names(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        let of_sets = self.sets.iter().flat_map(|it| &it.claims).map(|it| it.claim);
        for claim in of_sets.chain(self.others.iter().map(|it| it.claim)) {
            let name = crate::model::escape_control(&claim.metadata.name).into_owned();
            writeln!(out, "persistentvolumeclaim/{name}")?;
        }
        Ok(())
    }
}

/// Returns the sums of a report in a few lines. What was not read may exist.
fn summary(summary: &RetentionSummary, named: &NamedSets, all_read: bool) -> Vec<String> {
    let claims = |it: &shown::ClaimTotals| format!("{}, {}", counted(it.count, "claim"), it.size);
    let places: Vec<_> = named.scope.namespaces.iter().map(|it| escape_control(it)).collect();
    let place = match &places[..] {
        [] => String::new(),
        [one] => format!(" in namespace {one}"),
        several => format!(" in namespaces {}", several.join(", ")),
    };
    if summary.sets == 0 {
        let read = if all_read { "" } else { " was read" };
        let mut lines = vec![format!("no StatefulSet with claim templates{read}{place}")];
        lines.extend(left_behind(summary, claims));
        return lines;
    }
    let contradicting = match summary.contradicting.count {
        0 => "none contradicts its retention policy".to_owned(),
        1 => format!("1 contradicts its retention policy ({})", summary.contradicting.size),
        count => {
            format!("{count} contradict their retention policy ({})", summary.contradicting.size)
        }
    };
    let sets = counted(summary.sets, "StatefulSet");
    let mut lines = vec![format!("{sets}{place}, {}: {contradicting}", claims(&summary.claims))];
    lines.extend(left_behind(summary, claims));
    lines
}

/// Returns the sums of claims that scale-downs and deleted sets left behind, if there are any.
fn left_behind(
    summary: &RetentionSummary,
    claims: impl Fn(&shown::ClaimTotals) -> String,
) -> Option<String> {
    let parts = [
        ("left by scale-downs", &summary.leftovers),
        ("kept by paused StatefulSets", &summary.paused),
        ("left by deleted StatefulSets or earlier templates", &summary.of_deleted_sets),
        ("of sets of other API groups", &summary.unmanaged),
        ("with ambiguous names", &summary.ambiguous),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, totals)| totals.count > 0)
        .map(|(what, totals)| format!("{what}: {}", claims(totals)))
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

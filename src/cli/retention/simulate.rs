//! `kubectl storage retention simulate`.

use std::{collections::BTreeSet, path::PathBuf};

use clap::{Args, ValueEnum};

use super::{
    manifest::{self, SetManifest, describe_change},
    named::{NamedSets, only_namespace},
    show::SetJudgementArgs,
};
use crate::{
    cli::{
        Exit, Failure,
        args::{ConnectionArgs, GapArgs, format, namespace},
        collect::{ClusterSource, Collected, collect, tell_notes, tell_unread, unread},
        completion::{DOCUMENTS, formats},
        reading::{dumps, note_unknown_drivers},
        terminal,
    },
    cluster::{Cx, Unseen},
    facts::retention::{Operation, Propagation, SetChange},
    model::{Kind, Retention, RetentionPolicy, Settings, StatefulSet},
    output::{
        format::Format,
        list,
        publish::{self, ReportOrigin},
        retention::simulation::{
            RetentionSimulation, SimulatedSet, SimulationTotals, print_rows, print_screen,
        },
        screen::ScreenStyle,
        wire::{Gap, Source},
    },
    rules::retention,
};

/// Arguments of `retention simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Simulate changes of these StatefulSets, as NAME or sts/NAME; with -f those of the manifests
    #[arg(value_name = "NAME|sts/NAME", required_unless_present = "filename")]
    names: Vec<String>,
    /// Apply this manifest of a StatefulSet: a file or - for stdin; can be repeated
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    filename: Vec<PathBuf>,
    /// Scale to this number of replicas
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    replicas: Option<i32>,
    /// Set whenDeleted to Retain or Delete
    #[arg(long, value_name = "POLICY", value_parser = manifest::parse_retention)]
    when_deleted: Option<Retention>,
    /// Set whenScaled to Retain or Delete
    #[arg(long, value_name = "POLICY", value_parser = manifest::parse_retention)]
    when_scaled: Option<Retention>,
    /// Delete the StatefulSet, after the other changes
    #[arg(long)]
    delete: bool,
    /// Delete it in this way
    #[arg(long, value_name = "HOW", requires = "delete", value_enum, default_value = "background")]
    cascade: Cascade,
    /// Find the StatefulSets in this namespace [default: that of the manifest or of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Read a saved dump instead of a cluster; can be repeated
    #[arg(long, value_name = "DUMP", value_hint = clap::ValueHint::AnyPath)]
    dump: Vec<PathBuf>,
    #[command(flatten)]
    judgement: SetJudgementArgs,
    /// Exit with code 3 if the data of a claim would be destroyed, or may be
    #[arg(long)]
    fail_if_destroyed: bool,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print in this format: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(DOCUMENTS))]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
}

/// The propagation of a deletion, as kubectl names it.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Cascade {
    /// Dependents are deleted after the StatefulSet
    Background,
    /// The StatefulSet is deleted after its dependents
    Foreground,
    /// Dependents are not deleted
    Orphan,
}

/// Words for an effect that depends on a field which the manifest leaves out.
const UNDECIDED: &str = "it depends on whether applying the manifest resets fields that it leaves out to their defaults";

/// Operations on a set, with the words for each step.
struct SetPlan<'a> {
    set: &'a StatefulSet,
    /// Alternative sequences of operations.
    variants: Vec<Vec<Operation>>,
    steps: Vec<String>,
    notes: Vec<String>,
}

impl SimulateArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        if self.dump.iter().any(|it| it.as_os_str() == "-")
            && self.filename.iter().any(|it| it.as_os_str() == "-")
        {
            return Err(Failure::usage("stdin can be the dump or the manifest, not both"));
        }
        let changes = self.replicas.is_some()
            || self.when_deleted.is_some()
            || self.when_scaled.is_some()
            || self.delete
            || !self.filename.is_empty();
        if !changes {
            return Err(Failure::usage("nothing is changed").hint(Some(
                "pass --replicas, --when-deleted, --when-scaled, --delete or a manifest with -f",
            )));
        }
        let manifests = manifest::read(&self.filename)?;
        let named = NamedSets::parse(&self.names, self.namespace.as_deref(), false, None)?;
        let settings = self.judgement.settings();
        let (from, source) = match self.dump.is_empty() {
            true => {
                let namespace = self.namespace.as_deref();
                (ClusterSource::Live { connection, namespace }, Source::Live)
            }
            false => (dumps(connection, &self.dump, None, &[])?, Source::Dump),
        };
        let mut collected = collect(from, &settings, None).await?;
        note_unknown_drivers(&mut collected, &settings);
        let sets = self.sets(&collected, &named, &manifests)?;
        collected.expect_namespaces(self.namespace.as_deref()).await?;
        let exit = self.simulate(&mut collected, &settings, &sets, &format, source).await?;
        std::mem::forget(collected);
        Ok(exit)
    }

    fn format(&self) -> Result<Format, Failure> {
        format(&self.output, &[Format::Table, Format::Json, Format::Yaml], |it| {
            format!("retention simulate does not print {it}; its formats are table, json and yaml")
        })
    }

    /// Returns the keys of the sets, by namespace and name, each with its manifest if it has one.
    fn sets(
        &self,
        collected: &Collected,
        named: &NamedSets,
        manifests: &[SetManifest],
    ) -> Result<Vec<(String, String, Option<SetManifest>)>, Failure> {
        let cluster = &collected.intake.cluster;
        let context = self.namespace.clone().or_else(|| collected.namespace.clone());
        let place = |name: &str, of_manifest: Option<&String>| -> Result<String, Failure> {
            if let (Some(typed), Some(written)) = (&self.namespace, of_manifest)
                && typed != written
            {
                return Err(Failure::usage(format!(
                    "the manifest of sts/{name} is for namespace {}, -n says {typed}",
                    crate::model::escape_control(written)
                )));
            }
            if let Some(namespace) = of_manifest.or(context.as_ref()) {
                return Ok(namespace.clone());
            }
            only_namespace(cluster, name)
        };
        let mut sets = Vec::new();
        for manifest in manifests {
            if named.names.is_empty() || named.names.contains(&manifest.name) {
                let namespace = place(&manifest.name, manifest.namespace.as_ref())?;
                sets.push((namespace, manifest.name.clone(), Some(manifest.clone())));
            }
        }
        for name in &named.names {
            if sets.iter().any(|(_, known, _)| known == name) {
                continue;
            }
            if !manifests.is_empty() {
                return Err(Failure::usage(format!("no manifest describes sts/{name}")));
            }
            sets.push((place(name, None)?, name.clone(), None));
        }
        Ok(sets)
    }

    async fn simulate(
        &self,
        collected: &mut Collected,
        settings: &Settings,
        sets: &[(String, String, Option<SetManifest>)],
        format: &Format,
        source: Source,
    ) -> Result<Exit, Failure> {
        let (sets, gaps, totals) = collected.make(settings, |cx| self.effects(cx, sets)).await??;
        let cluster = &collected.intake.cluster;
        let journal = collected.journal.as_ref().map(|path| path.display().to_string());
        let about = publish::metadata(cluster, settings, ReportOrigin { source, journal });
        let may_destroy = totals.may_destroy();
        let report = RetentionSimulation::new(about, totals, sets, gaps);
        terminal::print(|out| match format {
            Format::Json => list::json(out, &report),
            Format::Yaml => list::yaml(out, &report),
            _ => match terminal::width() {
                Some(width) => {
                    let headers = !self.no_headers;
                    let style =
                        ScreenStyle { headers, width, colour: terminal::colour(), reverse: false };
                    print_screen(out, &report, style)
                }
                None => print_rows(out, &report, !self.no_headers),
            },
        })
        .map_err(Failure::error)?;
        if *format == Format::Table {
            terminal::note(&report.summary.words());
        }
        tell_notes(collected);
        tell_unread(&report.gaps, "retention");
        Ok(self.gaps.settle(
            match (self.fail_if_destroyed && may_destroy, report.gaps.is_empty()) {
                (true, _) => Exit::Findings,
                (false, false) => Exit::Incomplete,
                (false, true) => Exit::Done,
            },
        ))
    }

    fn effects(
        &self,
        cx: &Cx,
        sets: &[(String, String, Option<SetManifest>)],
    ) -> Result<(Vec<SimulatedSet>, Vec<Gap>, SimulationTotals), Failure> {
        let mut unseen: BTreeSet<Unseen> = BTreeSet::new();
        let mut totals = SimulationTotals::default();
        let mut shown = Vec::new();
        for (namespace, name, manifest) in sets {
            let key = crate::model::ObjectKey::named(Kind::StatefulSet, namespace, name);
            let found = cx.set(&namespace.as_str().into(), name);
            let Ok(Some(set)) = found else {
                if manifest.is_some() && found.is_ok() {
                    shown.push(SimulatedSet::of_none(&key));
                    continue;
                }
                return Err(crate::cli::named::not_found(cx.cluster(), &key));
            };
            let plan = self.plan(set, manifest.as_ref())?;
            match retention::simulated(cx, set, &plan.variants, UNDECIDED, &mut unseen) {
                Ok(effects) => {
                    let one = SimulatedSet::of(plan.set, plan.steps, plan.notes, &effects);
                    totals.add(&effects);
                    shown.push(one);
                }
                Err(lost) => {
                    unseen.insert(lost);
                }
            }
        }
        Ok((shown, unread(unseen, &BTreeSet::new()), totals))
    }

    /// Returns the operations on a set, in the order in which kubectl would do them.
    fn plan<'a>(
        &self,
        set: &'a StatefulSet,
        manifest: Option<&SetManifest>,
    ) -> Result<SetPlan<'a>, Failure> {
        let mut plan =
            SetPlan { set, variants: vec![Vec::new()], steps: Vec::new(), notes: Vec::new() };
        if set.metadata.deleting.is_some() {
            plan.notes.push("it is Terminating already: its deletion goes on".to_owned());
        }
        if set.observed_generation < set.generation {
            plan.notes.push("its controller has not observed its last change yet".to_owned());
        }
        if let Some(manifest) = manifest {
            manifest.check(set).map_err(|error| Failure {
                exit: Exit::Error,
                error,
                hint: None,
            })?;
            self.apply(&mut plan, manifest);
        }
        let policy = self.policy(&mut plan, manifest);
        if let Some(policy) = policy {
            let RetentionPolicy { when_deleted, when_scaled } = &policy;
            plan.step(
                &Operation::SetPolicy(policy.clone()),
                format!("whenDeleted {when_deleted}, whenScaled {when_scaled} is set"),
            );
        }
        if let Some(replicas) = self.replicas {
            plan.step(&Operation::Scale(replicas), format!("it is scaled to {replicas}"));
        }
        if self.delete {
            let (how, propagation) = match self.cascade {
                Cascade::Background => ("", Propagation::Background),
                Cascade::Foreground => (" with --cascade=foreground", Propagation::Foreground),
                Cascade::Orphan => (" with --cascade=orphan", Propagation::Orphan),
            };
            plan.step(&Operation::DeleteSet(propagation), format!("it is deleted{how}"));
        }
        Ok(plan)
    }

    /// Adds the application of a manifest, with the replicas of the flag where that is given.
    fn apply(&self, plan: &mut SetPlan, manifest: &SetManifest) {
        let set = plan.set;
        let decided = |mut change: SetChange| {
            if let Some(replicas) = self.replicas {
                change.replicas = Some(replicas);
            }
            change
        };
        let (kept, reset) = (decided(manifest.kept(set)), decided(manifest.reset(set)));
        let changed = describe_change(set, &kept);
        plan.steps.push(match changed.is_empty() {
            true => "the manifest is applied: no change for claims".to_owned(),
            false => format!("the manifest is applied: {}", changed.join(", ")),
        });
        let lost = describe_change(set, &reset);
        let lost: Vec<_> = lost.into_iter().filter(|it| !changed.contains(it)).collect();
        plan.variants = vec![vec![Operation::Change(kept)]];
        if !lost.is_empty() {
            plan.notes.push(format!(
                "the manifest leaves out fields that the StatefulSet has; if an earlier manifest had them, applying also means: {}",
                lost.join(", ")
            ));
            plan.variants.push(vec![Operation::Change(reset)]);
        }
    }

    /// Returns the policy with the values of the flags; `None` without flags, or if the server does not know it.
    fn policy(
        &self,
        plan: &mut SetPlan,
        manifest: Option<&SetManifest>,
    ) -> Option<RetentionPolicy> {
        if self.when_deleted.is_none() && self.when_scaled.is_none() {
            return None;
        }
        let Some(live) = &plan.set.retention else {
            plan.notes.push(
                "the server serves no persistentVolumeClaimRetentionPolicy, and would drop the change: every claim is kept".to_owned(),
            );
            return None;
        };
        let written = manifest.and_then(|it| it.kept(plan.set).policy);
        let base = written.as_ref().unwrap_or(live);
        Some(RetentionPolicy {
            when_deleted: self.when_deleted.clone().unwrap_or(base.when_deleted.clone()),
            when_scaled: self.when_scaled.clone().unwrap_or(base.when_scaled.clone()),
        })
    }
}

impl SetPlan<'_> {
    fn step(&mut self, operation: &Operation, words: String) {
        for variant in &mut self.variants {
            variant.push(operation.clone());
        }
        self.steps.push(words);
    }
}

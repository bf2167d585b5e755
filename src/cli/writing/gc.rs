//! `kubectl storage gc`.

use std::time::Duration;

use clap::Args;

use super::{
    WriteArgs, perform,
    several::{PlanForSeveral, known},
};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{
            ConnectionArgs, MinimumAge, RecordArgs, StorageArgs, ThresholdSetting, namespace,
            narrowed_scope, object_name, threshold_candidates,
        },
        clusters::{ClusterInput, DistinctArgs},
        collect::collect,
        reading::DumpSourceArgs,
        terminal,
    },
    facts,
    model::{Kind, Settings, Text, Threshold, escape_control},
    plan::{self, GcSelection, WhenReclaimed},
    remedies::Announcing,
    sources::answers,
    watch::acting::{Work, WorkTerms},
};

/// Shortest age, for announced volumes, which were old enough then.
const YOUNGEST: Duration = Duration::from_secs(1);
/// Longest grace period: years that are no dates count as never.
const LONGEST_GRACE: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// Arguments of `gc`.
#[expect(clippy::struct_excessive_bools, reason = "each is a danger of its own")]
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Reclaim only these volumes: NAME or pv/NAME
    #[arg(value_name = "VOLUME")]
    volumes: Vec<String>,
    /// Reclaim volumes Released for at least this long, such as 7d
    #[arg(
        long,
        value_name = "DURATION",
        required_unless_present = "announced",
        allow_hyphen_values = true
    )]
    older_than: Option<MinimumAge>,
    /// Only announce: reclaimable after this long, such as 72h
    #[arg(long, value_name = "GRACE", conflicts_with_all = ["announced", "keep_backend", "destroy_data", "plan_out"])]
    announce: Option<MinimumAge>,
    /// Reclaim only what was announced, is due, and is unchanged
    #[arg(long, conflicts_with_all = ["keep_backend", "destroy_data"])]
    announced: bool,
    /// Assert that earlier vetoes no longer hold; announce again
    #[arg(long, requires = "announce", conflicts_with = "announced")]
    include_vetoed: bool,
    /// Reclaim only volumes whose claim was in this namespace [default: all]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace, conflicts_with_all = ["all_namespaces", "volumes"])]
    namespace: Option<String>,
    /// Reclaim volumes of the whole cluster, which is the default
    #[arg(short = 'A', long, hide = true)]
    all_namespaces: bool,
    /// Reclaim only volumes with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "volumes")]
    selector: Option<String>,
    /// Reclaim only volumes of this StorageClass
    #[arg(long, value_name = "CLASS", conflicts_with = "volumes")]
    storage_class: Option<String>,
    /// Reclaim only volumes of this driver
    #[arg(long, value_name = "DRIVER", conflicts_with = "volumes")]
    driver: Option<String>,
    /// Delete only the PersistentVolume; record its backend volume
    #[arg(long, conflicts_with = "destroy_data")]
    keep_backend: bool,
    #[command(flatten)]
    record: RecordArgs,
    /// Record kept backend volumes only in this machine's journal
    #[arg(long, requires = "keep_backend")]
    journal_only: bool,
    /// Assert that volumes released at an unknown time are old enough
    #[arg(long)]
    include_unknown_age: bool,
    /// Assert that a recreated claim does not need its former volume
    #[arg(long)]
    include_recreated: bool,
    /// Assert that a backend volume whose deletion stopped is intact
    #[arg(long)]
    backend_verified: bool,
    /// Assert that the provisioner of a driver runs, which nothing shows
    #[arg(long, value_name = "DRIVER", conflicts_with = "keep_backend")]
    provisioner_alive: Vec<String>,
    /// Assert that what references the claim does not need its data
    #[arg(long)]
    include_wanted: bool,
    /// Assert that no custom resource uses the claim: not all were readable
    #[arg(long)]
    no_other_users: bool,
    #[command(flatten)]
    storage: StorageArgs,
    /// Assert that the data of a named, used, Available volume is not needed
    #[arg(long, requires = "volumes")]
    destroy_data: bool,
    /// Change a threshold, such as delete-wait=10m; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = threshold_candidates())]
    threshold: Vec<ThresholdSetting>,
    #[command(flatten)]
    saved: DumpSourceArgs,
    #[command(flatten)]
    distinct: DistinctArgs,
    /// Go on: announce what is old enough, reclaim what is due
    #[arg(long, requires_all = ["announce", "yes"], conflicts_with_all = [
        "volumes", "announced", "include_vetoed", "keep_backend", "journal_only", "include_unknown_age",
        "include_recreated", "backend_verified", "provisioner_alive", "include_wanted", "no_other_users",
        "backend_exclusive", "beside", "all_clusters", "contexts", "each", "distinct",
        "destroy_snapshots", "destroy_data", "filename", "allow_gaps", "complete", "taken_at", "dry_run", "plan_out", "max_percent",
    ])]
    watch: bool,
    #[command(flatten)]
    write: WriteArgs,
}

impl GcArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        if self.watch {
            return self.follow(connection, interrupt).await;
        }
        let settings = self.settings()?;
        let selection = self.selection()?;
        let format = self.write.format()?;
        let announces = self.announces()?;
        if let Some(inputs) = self.distinct.inputs(&self.saved, connection)? {
            self.only_plans(&inputs, &settings)?;
            let planned = PlanForSeveral {
                inputs: &inputs,
                distinct: &self.distinct,
                connection,
                namespace: self.namespace.as_deref(),
                settings: &settings,
                selection: &selection,
                announces,
            };
            let exit = Box::pin(planned.run(&format)).await?;
            return Ok(self.write.gaps.settle(exit));
        }
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        collected.expect_namespaces(self.namespace.as_deref()).await?;
        let plan = collected.make(&settings, |cx| plan::gc(cx, &selection)).await?;
        if announces {
            known(&collected, &settings)?;
            if let Some(live) = &collected.live {
                let namespace = &settings.recording.namespace;
                let elsewhere = answers::other_namespaces(&live.reader, namespace).await;
                // Before anything is confirmed.
                if let Some(told) = facts::records_elsewhere(&elsewhere.unwrap_or_default()) {
                    terminal::note(&format!("note: {}", escape_control(&told)));
                }
            }
        }
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// Holds that no cluster of several is to be changed: one is, with others beside it.
    fn only_plans(&self, inputs: &[ClusterInput], settings: &Settings) -> Result<(), Failure> {
        if !settings.beside.clusters.is_empty() {
            return Err(Failure::usage(
                "--beside is for one cluster; several are beside each other",
            ));
        }
        if self.write.plan_out.is_some() {
            return Err(Failure::usage("--plan-out saves the plan for one cluster")
                .hint(Some("--context NAME --beside OTHERS")));
        }
        if !self.write.only_plans() && inputs.iter().any(ClusterInput::is_live) {
            let hint =
                "--dry-run=client shows the plans; --context NAME --beside OTHERS changes one";
            return Err(Failure::usage("one cluster is changed at a time").hint(Some(hint)));
        }
        Ok(())
    }

    /// Announces and reclaims volumes until it is ended.
    async fn follow(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        self.announces()?;
        let (judged, selection) = (self.settings()?, self.selection()?);
        let terms = WorkTerms {
            counts_from: None,
            grace: self.announce.map(|it| it.0).unwrap_or_default(),
            older_than: judged.thresholds.get(Threshold::OlderThan),
            selection,
        };
        let works = &[Work::Announce, Work::Reclaim];
        self.write.follow(connection, works, terms, judged, interrupt).await
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        ThresholdSetting::take_all(&self.threshold, &mut settings);
        // What is announced was old enough then.
        let older_than = self.older_than.map_or(YOUNGEST, |it| it.0);
        settings.thresholds.set(Threshold::OlderThan, older_than);
        self.write.take_into(&mut settings);
        settings.scope = narrowed_scope(self.namespace.as_deref(), self.selector.as_deref())?;
        settings.include_unknown_age = self.include_unknown_age;
        settings.include_recreated = self.include_recreated;
        settings.backend_verified = self.backend_verified;
        settings.destroy_data = self.destroy_data;
        settings.alive_provisioners =
            self.provisioner_alive.iter().map(|it| Text::from(&**it)).collect();
        settings.include_wanted = self.include_wanted;
        settings.no_other_users = self.no_other_users;
        self.storage.take_into(&mut settings);
        self.record.take_into(&mut settings);
        settings.recording.journal_only = self.journal_only;
        Ok(settings)
    }

    fn selection(&self) -> Result<GcSelection, Failure> {
        let mut names: Vec<Text> = Vec::new();
        for name in &self.volumes {
            let name = object_name(name, Kind::PersistentVolume)?;
            if names.iter().any(|known| **known == *name) {
                return Err(Failure::usage(format!("pv/{name} is given twice")));
            }
            names.push(name.into());
        }
        Ok(GcSelection {
            names,
            class: self.storage_class.as_deref().map(Text::from),
            driver: self.driver.as_deref().map(Text::from),
            keep_backend: self.keep_backend,
            when: match self.announce {
                Some(MinimumAge(grace)) => WhenReclaimed::Announce(Announcing {
                    grace,
                    include_vetoed: self.include_vetoed,
                }),
                None if self.announced => WhenReclaimed::Announced,
                None => WhenReclaimed::Now,
            },
        })
    }

    /// Whether announcements are read or written; refuses a grace period that is too long.
    fn announces(&self) -> Result<bool, Failure> {
        if self.announce.is_some_and(|it| it.0 > LONGEST_GRACE) {
            return Err(Failure::usage("--announce is longer than ten years")
                .hint(Some("annotation storage.kubectl.dev/keep-until keeps a volume for long")));
        }
        Ok(self.announce.is_some() || self.announced)
    }
}

//! Plans for several clusters, each with the others beside it. Nothing is changed.

use std::sync::Arc;

use super::{
    exit_of_plan,
    perform::{place, totals},
};
use crate::{
    apply::SavedBeside,
    cli::{
        Exit, Failure,
        args::ConnectionArgs,
        beside::saved,
        clusters::{ClusterInput, DistinctArgs, Identified},
        collect::{Collected, collect, notes},
        named::name_absent,
        parallel::read_each,
        terminal,
    },
    cluster::{ClustersBeside, NamedClusters, NamedStorage},
    facts,
    model::{Settings, Text, escape_control},
    output::{
        format::Format,
        list,
        repeated::RepeatedFlags,
        writing::{self, PlanList, PlanOfCluster, PlanScreen},
    },
    plan::{self, GcSelection},
};

impl Identified for SavedBeside {
    fn name(&self) -> &Text {
        &self.name
    }

    fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    fn taken_at(&self) -> Option<&str> {
        self.taken_at.as_deref()
    }
}

/// A plan for one of several clusters, as it is shown.
struct PlannedCluster {
    place: String,
    plan: writing::Plan,
    exit: Exit,
    gaps: bool,
    notes: Vec<String>,
    repeated: RepeatedFlags,
}

/// Plans for several clusters.
pub(super) struct PlanForSeveral<'a> {
    pub(super) inputs: &'a [ClusterInput],
    pub(super) distinct: &'a DistinctArgs,
    pub(super) connection: &'a ConnectionArgs,
    pub(super) namespace: Option<&'a str>,
    pub(super) settings: &'a Settings,
    pub(super) selection: &'a GcSelection,
    /// Whether announcements are read.
    pub(super) announces: bool,
}

impl PlanForSeveral<'_> {
    /// Plans for each cluster, and prints the plans.
    pub(super) async fn run(&self, format: &Format) -> Result<Exit, Failure> {
        if matches!(format, Format::Name) {
            return Err(Failure::usage("the format name does not tell clusters apart")
                .hint(Some("-o json does")));
        }
        let named = self.named().await?;
        let plan = async |input: &ClusterInput| Box::pin(self.plan(input, &named)).await;
        let (mut planned, mut exits) = (Vec::new(), Vec::new());
        for (input, outcome) in read_each(self.inputs, plan).await? {
            match outcome {
                Ok(plan) => {
                    exits.push(plan.exit);
                    planned.push((input.name(), plan));
                }
                Err(failure) => {
                    exits.push(Exit::Incomplete);
                    let told = format!("not read: {}: {:#}", input.name(), failure.error);
                    terminal::note(&escape_control(&told));
                }
            }
        }
        Self::show(&planned, format)?;
        // As of one receipt: the first of 6, 5, 4 and 0 that applies.
        Ok(exits.into_iter().max_by_key(|it| *it as u8).unwrap_or(Exit::Done))
    }

    /// Reads what each cluster names of storage.
    async fn named(&self) -> Result<Arc<NamedClusters>, Failure> {
        let mut clusters = Vec::new();
        for (input, outcome) in
            read_each(self.inputs, async |it| saved(it, self.connection).await).await?
        {
            clusters.push(outcome.unwrap_or_else(|failure| SavedBeside {
                name: Text::clone(input.name()),
                uid: None,
                taken_at: None,
                named: NamedStorage::unread(format!("{:#}", failure.error)),
            }));
        }
        self.distinct.holds(&clusters)?;
        let named = clusters.into_iter().map(|it| (it.name, it.named));
        Ok(Arc::new(NamedClusters::new(named)))
    }

    async fn plan(
        &self,
        input: &ClusterInput,
        named: &Arc<NamedClusters>,
    ) -> Result<PlannedCluster, Failure> {
        let (from, _) = input.source(self.connection, self.namespace)?;
        let mut collected = collect(from, self.settings, None).await?;
        collected.expect_namespaces(self.namespace).await?;
        collected.intake.cluster.set_beside(self.beside(input, named));
        let mut plan = collected.make(self.settings, |cx| plan::gc(cx, self.selection)).await?;
        if self.announces {
            known(&collected, self.settings)?;
        }
        if !input.is_live() {
            name_absent(&collected.intake.cluster, &mut plan);
        }
        Ok(PlannedCluster {
            place: format!("{}: {}", escape_control(input.name()), place(&collected, &plan)),
            plan: writing::plan(&plan, &collected.intake.cluster),
            exit: exit_of_plan(&plan, !collected.blind.is_empty()),
            gaps: !collected.blind.is_empty(),
            notes: notes(&collected),
            repeated: collected.repeated,
        })
    }

    /// The other clusters, as they are beside one. Dumps permit nothing.
    fn beside(&self, input: &ClusterInput, named: &Arc<NamedClusters>) -> ClustersBeside {
        let own = self.inputs.iter().position(|it| it.name() == input.name());
        ClustersBeside { groups: vec![Arc::clone(named)], own, are_all: false }
    }

    fn show(planned: &[(&Text, PlannedCluster)], format: &Format) -> Result<(), Failure> {
        let width = terminal::width().map_or(80, usize::from);
        terminal::print(|out| {
            if matches!(format, Format::Table) {
                for (number, (_, it)) in planned.iter().enumerate() {
                    if number > 0 {
                        writeln!(out)?;
                    }
                    let (place, repeated) = (&*it.place, &it.repeated);
                    let colour = terminal::colour();
                    let screen = PlanScreen { place, width, colour, repeated };
                    writing::plan_table(out, &it.plan, screen)?;
                }
                return Ok(());
            }
            let of = |(name, it): &(&Text, PlannedCluster)| PlanOfCluster {
                cluster: name.to_string(),
                plan: it.plan.clone(),
            };
            let list = PlanList::of(planned.iter().map(of).collect());
            match format {
                Format::Yaml => list::yaml(out, &list),
                _ => list::json(out, &list),
            }
        })
        .map_err(Failure::error)?;
        for (name, it) in planned {
            let name = escape_control(name);
            for note in &it.notes {
                terminal::note(&format!("note: {name}: {}", escape_control(note)));
            }
            if matches!(format, Format::Table) {
                terminal::note(&format!("{name}: {}", totals(&it.plan, it.gaps)));
            }
        }
        Ok(())
    }
}

/// Refuses the whole run where announcements could not be read: then it is unknown what is announced or vetoed.
pub(super) fn known(collected: &Collected, settings: &Settings) -> Result<(), Failure> {
    let namespace = &settings.recording.namespace;
    let answers = collected.intake.cluster.answers();
    let reason = match answers.get(&facts::announcements_question(namespace)) {
        Some(answer) => match facts::records_of(answer, namespace) {
            Ok(_) => return Ok(()),
            Err(unseen) => unseen.reason,
        },
        None if collected.live.is_none() => {
            "unknown what is announced: the dump does not contain the records".to_owned()
        }
        // Where no volume is selected, it was not asked.
        None => return Ok(()),
    };
    let role = "`kubectl storage rbac gc-announce` prints the Role that is needed";
    Err(Failure { exit: Exit::Refused, error: anyhow::anyhow!(reason), hint: None }
        .hint(collected.live.is_some().then_some(role)))
}

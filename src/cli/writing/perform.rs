//! Confirms a plan, carries it out, and prints the receipt.

use std::{cell::RefCell, collections::BTreeSet, io::Write as _, path::Path, sync::Arc};

use indicatif::ProgressBar;

use super::{
    DryRunFlag, WriteArgs,
    confirm::{self, Confirmation},
    exit_of_plan, exit_of_receipt, journal as earlier,
};
use crate::{
    apply::{
        self, Confirmed, CurrentCluster, DryRun, JournalLeader, OpenJournal, PlanExecution,
        Receipt, RunOptions, RunProgress, SendPermit,
    },
    cli::{
        Exit, Failure, Interrupt,
        collect::{Collected, dump_failure, tell},
        named::name_absent,
        terminal,
    },
    client::Connection,
    dump::write_private,
    journal::Log,
    model::{Text, escape_control},
    output::{
        format::Format,
        list,
        wire::ObjectReference,
        writing::{self, PlanScreen, ReceiptContext},
    },
    plan::{Plan, ProposedChange},
    remedies::RECORD_VETO_ID,
};

/// Shows a plan, asks for confirmation, and carries it out.
pub(in crate::cli) async fn perform(
    mut collected: Collected,
    mut plan: Plan,
    args: &WriteArgs,
    format: &Format,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let place = place(&collected, &plan);
    let gaps = !collected.blind.is_empty();
    let dump = collected.live.is_none();
    if dump {
        name_absent(&collected.intake.cluster, &mut plan);
    }
    let shape = writing::plan(&plan, &collected.intake.cluster);
    confirm::tell_unfinished(&collected, &plan).await;
    if dump || args.only_plans() {
        if let Some(path) = &args.plan_out {
            can_be_saved(&plan)?;
            if dump {
                terminal::note(
                    "note: this plan was created from a dump; the cluster may have changed since",
                );
            }
            save(path, &shape)?;
        }
        // Nothing else may stand beside a plan on stdout: `apply -` reads it.
        if args.plan_out.as_deref() != Some(Path::new("-")) {
            show(&shape, plan_screen(&place, &collected), format, gaps)?;
        }
        tell(&collected, plan.command);
        if dump && !args.only_plans() {
            terminal::note("planned from a dump: nothing was changed");
        }
        return Ok(args.gaps.settle(exit_of_plan(&plan, gaps)));
    }
    if plan.changes.is_empty() {
        show(&shape, plan_screen(&place, &collected), format, gaps)?;
        tell(&collected, plan.command);
        return Ok(args.gaps.settle(exit_of_plan(&plan, gaps)));
    }
    within_bounds(&plan, args, collected.intake.cluster.count().0)?;
    confirm::by_the_same_clock(&plan, collected.intake.cluster.clock())?;
    let journal = open_journal(&collected, &args.field_manager, None).await?;

    // What is about to be done is no data: the receipt is.
    let mut screen = Vec::new();
    let style =
        PlanScreen { colour: terminal::colour_of_notes(), ..plan_screen(&place, &collected) };
    writing::plan_table(&mut screen, &shape, style).map_err(Failure::error)?;
    terminal::note(String::from_utf8_lossy(&screen).trim_end());
    terminal::note(&totals(&shape, gaps));
    let confirmed = if args.yes || args.dry_run == DryRunFlag::Server {
        Confirmed::by_user(plan)
    } else if !confirm::somebody_there() {
        return Err(refusal("cannot ask for confirmation: stdin or stderr is not a terminal")
            .hint(Some(
                "--yes skips the confirmation prompt, --dry-run=client only shows the plan",
            )));
    } else {
        match ask(&mut collected, plan).await? {
            Confirmation::Yes(plan) => Confirmed::by_user(*plan),
            Confirmation::No => return Err(refusal("not confirmed: nothing was changed")),
        }
    };
    Box::pin(carry_out(collected, confirmed, &journal, args, format, interrupt)).await
}

/// Asks for confirmation, and meanwhile keeps the cluster current: a terminal may stand open for hours.
async fn ask(collected: &mut Collected, plan: Plan) -> Result<Confirmation, Failure> {
    let live = collected.live.as_ref().map(|live| &live.connection);
    let place = live.map_or_else(String::new, |it| match &it.context {
        Some(context) => format!("context {context}"),
        None => format!("cluster {}", it.server),
    });
    let mut asked = std::pin::pin!(confirm::ask(plan, place));
    let watches = collected.live.as_mut().and_then(|live| live.watches.as_mut());
    let Some(watches) = watches else { return asked.await };
    loop {
        tokio::select! {
            answer = &mut asked => return answer,
            taken = watches.next(&mut collected.intake) => taken.map_err(dump_failure)?,
        }
    }
}

/// Circumstances in which a plan is carried out.
pub(in crate::cli) struct Execution<'a> {
    pub(in crate::cli) journal: &'a OpenJournal,
    pub(in crate::cli) field_manager: &'a str,
    pub(in crate::cli) options: RunOptions,
    /// Tells whether no other change may begin.
    pub(in crate::cli) interrupted: &'a dyn Fn() -> bool,
    /// Permit for changes in the background, asked before each write: the user has not named or seen the objects.
    pub(in crate::cli) in_background: Option<Arc<dyn SendPermit>>,
    pub(in crate::cli) progress: &'a dyn Fn(RunProgress<'_>),
}

/// Carries out a plan. The cluster as it was read is kept current meanwhile, and no longer.
pub(in crate::cli) async fn execute(
    collected: &mut Collected,
    confirmed: Confirmed,
    execution: Execution<'_>,
) -> Result<Receipt, Failure> {
    let Some(live) = collected.live.take() else {
        return Err(refusal("a dump cannot be changed"));
    };
    let mut cluster = CurrentCluster::new(
        live.reader,
        confirmed.settings().clone(),
        std::mem::take(&mut collected.intake),
        live.watches,
    )
    .beside(collected.beside.clone());
    let Execution { journal, field_manager, options, interrupted, in_background, progress } =
        execution;
    if in_background.is_some() {
        cluster = cluster.in_scope();
    }
    let run = PlanExecution {
        cluster: &cluster,
        connection: &live.connection,
        field_manager,
        journal,
        options,
        interrupted,
        permit: in_background,
        progress,
    };
    let receipt = apply::run(confirmed, &run).await;
    collected.intake = cluster.into_intake();
    Ok(receipt)
}

/// Puts a receipt into its public shape.
pub(in crate::cli) fn shape(
    receipt: &Receipt,
    collected: &Collected,
    command: &str,
    journal: &OpenJournal,
    dry_run: DryRun,
) -> writing::Receipt {
    let context = ReceiptContext {
        command,
        journal: journal.shown(),
        dry_run: dry_run == DryRun::Server,
        blind: &collected.blind,
    };
    writing::receipt(receipt, &collected.intake.cluster, &context).repeating(&collected.repeated)
}

/// Returns the objects that were changed, without those of recorded vetoes.
pub(in crate::cli) fn changed(
    receipt: &writing::Receipt,
) -> impl Iterator<Item = &ObjectReference> {
    let changes = receipt.changes.iter();
    let done = changes.filter(|it| it.outcome == "done" && it.because != RECORD_VETO_ID);
    done.map(|it| &it.object)
}

async fn carry_out(
    mut collected: Collected,
    confirmed: Confirmed,
    journal: &OpenJournal,
    args: &WriteArgs,
    format: &Format,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let command = confirmed.command();
    let options = args.options();
    let bar = ProgressBar::new(confirmed.count() as u64);
    let bar = terminal::ticking(bar, "{spinner} {pos}/{len} {wide_msg}");
    let done = RefCell::new(0_usize);
    let progress = |it: RunProgress| match it {
        RunProgress::Begun(change) => {
            bar.set_message(escape_control(&change.object.to_string()).into_owned());
        }
        RunProgress::Slowest(slowest) => {
            bar.set_message(escape_control(&slowest.to_string()).into_owned());
        }
        RunProgress::Ended(_) => {
            *done.borrow_mut() += 1;
            bar.set_position(*done.borrow() as u64);
        }
    };
    interrupt.begin();
    let execution = Execution {
        journal,
        field_manager: &args.field_manager,
        options,
        interrupted: &|| interrupt.asked(),
        in_background: None,
        progress: &progress,
    };
    let executed = Box::pin(execute(&mut collected, confirmed, execution)).await;
    interrupt.finish();
    bar.finish_and_clear();
    let receipt = executed?;
    let shape = shape(&receipt, &collected, command, journal, options.dry_run);
    let width = terminal::width().map_or(80, usize::from);
    terminal::print(|out| match format {
        Format::Json => list::json(out, &shape),
        Format::Yaml => list::yaml(out, &shape),
        Format::Name => writing::names(out, &mut changed(&shape)),
        _ => writing::receipt_table(out, &shape, width, terminal::colour()),
    })
    .map_err(Failure::error)?;
    terminal::note(&writing::receipt_totals(&shape));
    for note in &shape.notes {
        terminal::note(&format!("note: {}", escape_control(note)));
    }
    tell(&collected, command);
    Ok(args.gaps.settle(exit_of_receipt(&receipt, !collected.blind.is_empty())))
}

/// Returns the name of the cluster or the dump that a plan is for, and of the namespaces that it is about.
pub(super) fn place(collected: &Collected, plan: &Plan) -> String {
    let of_objects = plan.changes.iter().map(|it| &it.object);
    let objects = of_objects.chain(plan.refusals.iter().map(|it| &it.object));
    // What a filter selects is of these namespaces, or of all; what was named is where it is.
    let filters = matches!(plan.command, "gc" | "fix-finalizers");
    let namespaces: BTreeSet<&Text> = match plan.settings.scope.namespaces.is_empty() {
        false => plan.settings.scope.namespaces.iter().collect(),
        true if filters => BTreeSet::new(),
        true => objects.filter_map(|it| it.key.namespace.as_ref()).collect(),
    };
    let names: Vec<&str> = namespaces.into_iter().map(|it| &**it).collect();
    let scope = match &names[..] {
        [] if filters => ", all namespaces".to_owned(),
        [] => String::new(),
        [one] => format!(", namespace {one}"),
        some @ ([_, _] | [_, _, _]) => format!(", namespaces {}", some.join(", ")),
        many => format!(", {} namespaces", many.len()),
    };
    format!("{}{scope}", collected.place())
}

/// Returns how a plan is printed, without colour.
fn plan_screen<'a>(place: &'a str, collected: &'a Collected) -> PlanScreen<'a> {
    let width = terminal::width().map_or(80, usize::from);
    PlanScreen { place, width, colour: false, repeated: &collected.repeated }
}

/// Prints a plan in a format.
fn show(
    shape: &writing::Plan,
    screen: PlanScreen,
    format: &Format,
    gaps: bool,
) -> Result<(), Failure> {
    let changes = shape.changes.iter().filter(|it| it.because != RECORD_VETO_ID);
    let mut names = changes.map(|it| &it.object);
    terminal::print(|out| match format {
        Format::Json => list::json(out, shape),
        Format::Yaml => list::yaml(out, shape),
        Format::Name => writing::names(out, &mut names),
        _ => {
            let screen = PlanScreen { colour: terminal::colour(), ..screen };
            writing::plan_table(out, shape, screen)
        }
    })
    .map_err(Failure::error)?;
    if matches!(format, Format::Table) {
        terminal::note(&totals(shape, gaps));
    }
    Ok(())
}

pub(super) fn totals(shape: &writing::Plan, gaps: bool) -> String {
    // StatefulSets and namespaces have no size.
    let size = match &*shape.summary.capacity {
        "0" => String::new(),
        capacity => format!(", {capacity}"),
    };
    let changes = match shape.summary.changes {
        0 if gaps => "nothing to change, but not everything could be read".to_owned(),
        0 => "nothing to change".to_owned(),
        1 => format!("1 change{size}"),
        count => format!("{count} changes{size}"),
    };
    // Where the size of what is changed does not say it.
    let loses = shape.summary.loses.as_ref();
    let loses = loses.filter(|it| it.capacity != shape.summary.capacity);
    let loses = loses.map(|it| format!("; {} ({})", it.words, it.capacity)).unwrap_or_default();
    let vetoes = match shape.summary.vetoes {
        0 => String::new(),
        1 => "; 1 veto to record".to_owned(),
        count => format!("; {count} vetoes to record"),
    };
    match shape.summary.refusals {
        0 => format!("{changes}{loses}{vetoes}"),
        count => format!("{changes}{loses}{vetoes}; {count} refused"),
    }
}

/// Refuses to save a plan that rests on the journal or a file of this machine: no other machine could make it again.
fn can_be_saved(plan: &Plan) -> Result<(), Failure> {
    let bound = plan.changes.iter().find(|it| it.purpose.rests_on_this_machine());
    match bound {
        None => Ok(()),
        Some(change) => Err(Failure::usage(format!(
            "a plan that would {} {} cannot be saved",
            change.purpose.id(),
            escape_control(&change.object.to_string())
        ))
        .hint(Some("it depends on data that only this machine has; --dry-run=client shows it"))),
    }
}

/// Saves a plan, whole or not at all.
fn save(path: &Path, shape: &writing::Plan) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let context = format!("failed to write {}", path.display());
        Failure::error(anyhow::Error::new(error).context(context))
    };
    let mut text = Vec::new();
    list::yaml(&mut text, shape).map_err(failed)?;
    if path.as_os_str() == "-" {
        return terminal::print(|out| out.write_all(&text)).map_err(Failure::error);
    }
    write_private(path, |file| file.write_all(&text)).map_err(failed)?;
    terminal::note(&format!("plan saved to {}; `apply` carries it out", path.display()));
    Ok(())
}

/// Refuses a plan beyond `--max` or `--max-percent`.
fn within_bounds(plan: &Plan, args: &WriteArgs, volumes: usize) -> Result<(), Failure> {
    let refuse = |told: String| {
        Err(refusal(&told).hint(Some("nothing was changed; --dry-run=client shows the plan")))
    };
    // What is destroyed with an object counts like what is named.
    let changes = plan.changes.iter().filter(|it| !it.only_records());
    let losses: Vec<_> = changes.map(ProposedChange::loses).collect();
    let count: usize = losses.iter().map(|it| it.count().max(1)).sum();
    let verb = if count > losses.len() { "changes or destroys" } else { "changes" };
    if count > args.max {
        return refuse(format!("the plan {verb} {count} objects; --max allows {}", args.max));
    }
    // Of volumes, snapshots are no share.
    let count: usize = losses.iter().map(|it| it.volumes.max(1)).sum();
    if let Some(percent) = args.max_percent
        && count * 100 > volumes * usize::from(percent)
    {
        return refuse(format!(
            "the plan {verb} {count} of {volumes} volumes; --max-percent allows {percent}"
        ));
    }
    Ok(())
}

/// Opens the journal before the question is asked: without it, nothing is written. `leading` is the leader that appends
/// to one in the cluster.
pub(in crate::cli) async fn open_journal(
    collected: &Collected,
    field_manager: &str,
    leading: Option<&JournalLeader>,
) -> Result<OpenJournal, Failure> {
    let place = collected.live.as_ref().zip(collected.cluster_journal.as_deref());
    if let Some((live, namespace)) = place {
        return cluster_journal(&live.connection, field_manager, namespace, leading).await;
    }
    let Some(folder) = earlier::folder(collected) else {
        return Err(refusal("no folder for the journal is known: nothing was changed")
            .hint(Some("set XDG_STATE_HOME to a writable folder")));
    };
    let log = Log::open(&folder).map_err(|error| unopened(error.into()))?;
    Ok(OpenJournal::in_file(Arc::new(log)))
}

/// Opens the journal in a namespace of the cluster.
pub(super) async fn cluster_journal(
    connection: &Connection,
    field_manager: &str,
    namespace: &str,
    leading: Option<&JournalLeader>,
) -> Result<OpenJournal, Failure> {
    let opened = OpenJournal::in_cluster(connection, field_manager, namespace, leading).await;
    let (journal, opening) = opened.map_err(|error| unopened(error.into()))?;
    for note in &opening.notes {
        terminal::note(&escape_control(&format!("note: journal: {note}")));
    }
    if opening.added > 0 {
        terminal::note("note: journal: other runs appended to it while it was opened");
    }
    Ok(journal)
}

/// Returns the refusal to write anything without a journal.
pub(super) fn unopened(error: anyhow::Error) -> Failure {
    Failure { exit: Exit::Refused, error, hint: None }
}

/// Returns the refusal to change anything, for this reason.
pub(super) fn refusal(reason: &str) -> Failure {
    let error = anyhow::anyhow!(reason.to_owned());
    Failure { exit: Exit::Refused, error, hint: None }
}

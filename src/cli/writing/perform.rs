//! From a plan to a receipt.

use std::{cell::RefCell, path::Path};

use indicatif::{ProgressBar, ProgressStyle};

use super::{
    HowDry, Interrupt, WriteArgs,
    confirm::{self, Answer},
    journal as earlier, outcome,
};
use crate::apply::{self, Confirmed, DryRun, Options, Progress, Run, View, Writer};
use crate::cli::{
    Exit, Failure,
    collect::{Collected, ROUNDS, dump_failure, tell},
    terminal,
};
use crate::cluster::Cx;
use crate::journal::{self, Entry, Log};
use crate::model::{BackendKey, Settings, escape_control, format_time};
use crate::output::{
    format::Format,
    list,
    writing::{self, Besides},
};
use crate::plan::Plan;
use crate::sources::answers;

/// Makes a plan, asking whatever it needs to know.
pub(super) async fn plan(
    collected: &mut Collected,
    settings: &Settings,
    make: impl Fn(&Cx) -> Plan,
) -> Result<Plan, Failure> {
    for _ in 0..ROUNDS {
        collected.judge(settings);
        let (made, questions) = {
            let cx = collected.assessor.cx(&collected.intake.cluster, settings);
            let made = make(&cx);
            (made, cx.take_questions())
        };
        let Some(live) = &collected.live else { return Ok(made) };
        if questions.is_empty() {
            return Ok(made);
        }
        answers::ask(&live.reader, questions, &mut collected.intake).await.map_err(dump_failure)?;
    }
    collected.judge(settings);
    Ok(make(&collected.assessor.cx(&collected.intake.cluster, settings)))
}

/// Shows a plan, asks, and carries it out.
pub(super) async fn perform(
    collected: Collected,
    plan: Plan,
    args: &WriteArgs,
    format: &Format,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let shape = writing::plan(&plan, &collected.intake.cluster);
    let gaps = !collected.blind.is_empty();
    let dump = collected.live.is_none();
    if dump || args.only_plans() {
        if let Some(path) = &args.plan_out {
            if dump {
                terminal::note(
                    "note: a plan made from a dump is no plan of a cluster: nothing can be sure that it still is so",
                );
            }
            save(path, &shape)?;
        }
        show(&shape, format)?;
        tell(&collected);
        if dump && !args.only_plans() {
            terminal::note("a dump was looked at: nothing was changed");
        }
        return Ok(outcome::of_plan(&plan, gaps));
    }
    if plan.changes.is_empty() {
        show(&shape, format)?;
        tell(&collected);
        return Ok(outcome::of_plan(&plan, gaps));
    }
    within_bounds(&plan, args, collected.intake.cluster.count().0)?;
    let log = open_journal(&collected)?;
    tell_of_open_entries(&collected, &plan);
    // What is about to be done is no data: the receipt is.
    let mut screen = Vec::new();
    let width = terminal::width().map_or(80, usize::from);
    writing::plan_table(&mut screen, &shape, width).map_err(Failure::error)?;
    terminal::note(String::from_utf8_lossy(&screen).trim_end());
    terminal::note(&totals(&shape));
    let confirmed = if args.yes || args.dry_run == HowDry::Server {
        Confirmed::by_user(plan)
    } else if !confirm::somebody_there() {
        return Err(refusal("nobody is there to confirm it: stdin or stderr is no terminal")
            .hint(Some("--yes answers the question, --dry-run=client only shows the plan")));
    } else {
        match confirm::ask(plan).await? {
            Answer::Yes(plan) => Confirmed::by_user(plan),
            Answer::No => return Err(refusal("not confirmed: nothing was changed")),
        }
    };
    carry_out(collected, confirmed, &log, args, format, interrupt).await
}

async fn carry_out(
    mut collected: Collected,
    confirmed: Confirmed,
    log: &Log,
    args: &WriteArgs,
    format: &Format,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let Some(live) = collected.live.take() else {
        return Err(refusal("a dump cannot be changed"));
    };
    let command = confirmed.command();
    let total = confirmed.count();
    let view = View::new(
        live.reader,
        confirmed.settings().clone(),
        std::mem::take(&mut collected.intake),
        std::mem::take(&mut collected.assessor),
        live.watches,
    );
    let writer = Writer::new(&live.connection, &args.field_manager);
    let bar = bar(total);
    let done = RefCell::new(0_usize);
    let progress = |it: Progress| match it {
        Progress::Begun(change) => {
            bar.set_message(escape_control(&change.object.to_string()).into_owned());
        }
        Progress::Ended(..) => {
            *done.borrow_mut() += 1;
            bar.set_position(*done.borrow() as u64);
        }
    };
    interrupt.begin();
    let run = Run {
        view: &view,
        writer: &writer,
        log,
        options: Options {
            parallel: args.parallel.map(usize::from),
            dry_run: if args.dry_run == HowDry::Server { DryRun::Server } else { DryRun::None },
            events: !args.no_events,
            wait: args.wait,
        },
        interrupted: &|| interrupt.asked(),
        progress: &progress,
    };
    let receipt = apply::run(confirmed, &run).await;
    interrupt.finish();
    bar.finish_and_clear();
    collected.intake = view.into_intake();
    let shape = writing::receipt(
        &receipt,
        &collected.intake.cluster,
        &Besides {
            command,
            journal: log.path().display().to_string(),
            dry_run: args.dry_run == HowDry::Server,
            blind: &collected.blind,
        },
    );
    let names = || shape.changes.iter().filter(|it| it.outcome == "done").map(|it| &it.object);
    let width = terminal::width().map_or(80, usize::from);
    terminal::print(|out| match format {
        Format::Json => list::json(out, &shape),
        Format::Yaml => list::yaml(out, &shape),
        Format::Name => writing::names(out, &mut names()),
        _ => writing::receipt_table(out, &shape, width),
    })
    .map_err(Failure::error)?;
    terminal::note(&writing::receipt_totals(&shape));
    for note in &shape.notes {
        terminal::note(&format!("note: {}", escape_control(note)));
    }
    tell(&collected);
    Ok(outcome::of_receipt(&receipt, !collected.blind.is_empty()))
}

/// Prints a plan as data.
fn show(shape: &writing::Plan, format: &Format) -> Result<(), Failure> {
    let width = terminal::width().map_or(80, usize::from);
    let mut names = shape.changes.iter().map(|it| &it.object);
    terminal::print(|out| match format {
        Format::Json => list::json(out, shape),
        Format::Yaml => list::yaml(out, shape),
        Format::Name => writing::names(out, &mut names),
        _ => writing::plan_table(out, shape, width),
    })
    .map_err(Failure::error)?;
    if matches!(format, Format::Table) {
        terminal::note(&totals(shape));
    }
    Ok(())
}

fn totals(shape: &writing::Plan) -> String {
    let changes = match shape.summary.changes {
        0 => "nothing to change".to_owned(),
        1 => format!("1 change, {}", shape.summary.capacity),
        count => format!("{count} changes, {}", shape.summary.capacity),
    };
    match shape.summary.refusals {
        0 => changes,
        count => format!("{changes}; {count} refused"),
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
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let temporary = std::path::PathBuf::from(name);
    let written =
        std::fs::write(&temporary, &text).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        failed(error)
    })?;
    terminal::note(&format!("the plan is in {}; `apply` carries it out", path.display()));
    Ok(())
}

/// `--max` and `--max-percent`.
fn within_bounds(plan: &Plan, args: &WriteArgs, volumes: usize) -> Result<(), Failure> {
    let count = plan.changes.len();
    if count > args.max {
        let told = format!("{count} objects would be changed, and --max is {}", args.max);
        return Err(
            refusal(&told).hint(Some("nothing was changed; --dry-run=client shows the plan"))
        );
    }
    if let Some(percent) = args.max_percent
        && count * 100 > volumes * usize::from(percent)
    {
        let told = format!(
            "{count} of {volumes} volumes would be changed, and --max-percent is {percent}"
        );
        return Err(
            refusal(&told).hint(Some("nothing was changed; --dry-run=client shows the plan"))
        );
    }
    Ok(())
}

/// Opens the journal before anybody is asked: without it, nothing is written.
fn open_journal(collected: &Collected) -> Result<Log, Failure> {
    let Some(folder) = earlier::folder(collected) else {
        return Err(refusal("there is no home for the journal: nothing was changed")
            .hint(Some("set XDG_STATE_HOME to a folder that can be written")));
    };
    Log::open(&folder).map_err(|error| {
        let error = anyhow::Error::new(error);
        Failure { exit: Exit::Refused, error, hint: None }
    })
}

/// Says which entries of earlier runs about these objects are open, before anybody is asked.
fn tell_of_open_entries(collected: &Collected, plan: &Plan) {
    let Some(folder) = earlier::folder(collected) else { return };
    // That it can be written to was proven a moment ago; what is wrong with it, `journal` tells.
    let Ok(history) = journal::history(&folder) else { return };
    let touches = |entry: &&Entry| {
        let object = &entry.intent.object.key;
        let same = |backend: &BackendKey| {
            let known = entry.intent.backend.as_ref();
            known.is_some_and(|it| *it.driver == *backend.driver && *it.handle == *backend.handle)
        };
        let mut changes = plan.changes.iter();
        changes.any(|it| it.object.key == *object || it.about.backend.as_ref().is_some_and(same))
    };
    for entry in history.open().filter(touches) {
        let look = earlier::to_look_at(entry, &earlier::now(&collected.intake.cluster, entry));
        let (sequence, object) = (entry.sequence, &entry.intent.object);
        let told =
            format!("note: entry {sequence} of {} about {object} is open: {look}", begun(entry));
        terminal::note(&escape_control(&told));
    }
}

/// When an entry was begun, and by what.
fn begun(entry: &Entry) -> String {
    let when = entry.at.as_ref().map_or_else(|| "an unknown time".to_owned(), format_time);
    format!("{when} ({})", entry.intent.command)
}

fn refusal(reason: &str) -> Failure {
    let error = anyhow::anyhow!(reason.to_owned());
    Failure { exit: Exit::Refused, error, hint: None }
}

fn bar(total: usize) -> ProgressBar {
    let bar = ProgressBar::new(total as u64);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    bar
}

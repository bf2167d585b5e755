//! `-w` on commands that write: acts until a signal, a failure, or the end of whatever reads its output.

use std::{cell::RefCell, convert::Infallible, ops::ControlFlow, pin::pin, time::Duration};

use tokio::time::timeout;

use super::{
    ActingTerms, WantedFindings,
    actor::{ActingNews, Actor, ActorPast, ToldReasons},
    permit::{Busy, HourRoom, Permit},
};
use crate::{
    apply::RunOptions,
    cli::{
        Exit, Failure, Interrupt,
        args::ConnectionArgs,
        collect::{self, dump_failure, notes, tell_gaps},
        terminal,
        writing::perform,
    },
    cluster::Cluster,
    model::escape_control,
    output::{format::Format, list, writing},
    watch::{
        Leadership, Reconciler, Told,
        acting::{ActingCounts, LeftAlone, Work},
    },
};

/// Longest time for a change to end after a signal: Kubernetes waits 30 seconds before it kills a pod.
const LAST_CHANGE: Duration = Duration::from_secs(20);

/// Waits for a signal, then for the end of a change that is being made; no other one begins. A change that takes longer
/// stays open in the journal.
pub(in crate::cli) async fn ended(interrupt: &Interrupt, busy: &Busy) {
    interrupt.ordered().await;
    if busy.is_busy() {
        let _ = timeout(LAST_CHANGE, busy.wait()).await;
    }
}

/// Lets a change that is being made end, whatever else has ended; no other one begins. The wait is that after a signal.
pub(in crate::cli) async fn finish(
    acting: impl Future<Output = Infallible>,
    interrupt: &Interrupt,
    busy: &Busy,
) {
    interrupt.stop();
    if !busy.is_busy() {
        return;
    }
    tokio::select! {
        never = acting => match never {},
        _ = timeout(LAST_CHANGE, busy.wait()) => {}
    }
}

/// Command with `-w`, which acts until it is ended.
pub(in crate::cli) struct Following<'a> {
    pub(in crate::cli) connection: &'a ConnectionArgs,
    pub(in crate::cli) terms: ActingTerms,
    pub(in crate::cli) field_manager: &'a str,
    pub(in crate::cli) options: RunOptions,
    pub(in crate::cli) format: &'a Format,
}

impl Following<'_> {
    /// Acts until a signal, a failure, or the end of its reader.
    pub(in crate::cli) async fn run(self, interrupt: &Interrupt) -> Result<Exit, Failure> {
        let Self { connection, terms, field_manager, options, format } = self;
        interrupt.order();
        let busy = Busy::default();
        let judged = terms.judged.clone();
        let (mut findings, followed) = WantedFindings::by(terms);
        let act = async {
            let mut collected = collect::look(connection, None, &judged).await?;
            let namespaces = judged.scope.namespaces.iter();
            collected.expect_namespaces(namespaces.map(|it| &**it)).await?;
            let (reconciler, news) = collect::begin(&mut collected, judged.clone());
            for note in notes(&collected) {
                terminal::note(&escape_control(&format!("note: {note}")));
            }
            tell_gaps("not read", collected.blind.iter().map(|it| &it.gap));
            findings.take_in(&Told { news, ..Told::default() });
            let mut watching = collect::go_on(collected, reconciler, None)?;
            let (end, mut ended) = tokio::sync::mpsc::unbounded_channel();
            let told = RefCell::new(ToldReasons::default());
            let show = |news: ActingNews<'_>| {
                // The end of its reader ends the command.
                match tell(&news, format, &mut told.borrow_mut()) {
                    Ok(true) => {}
                    Ok(false) => drop(end.send(Ok(Exit::Done))),
                    Err(error) => drop(end.send(Err(Failure::error(error)))),
                }
            };
            let actor = Actor {
                connection,
                works: &Work::ALL,
                terms: followed.terms,
                wanted: followed.wanted,
                permit: Permit {
                    leadership: Leadership::alone(),
                    pause: None,
                    interrupt: interrupt.clone(),
                },
                field_manager,
                options,
                counts: ActingCounts::default(),
                tell: &show,
                busy: busy.clone(),
                room: HourRoom::default(),
                past: ActorPast::default(),
            };
            let hear = &mut |told: Told, _: &Cluster, _: &Reconciler| {
                for note in &told.notes {
                    terminal::note(&escape_control(&format!("note: {note}")));
                }
                findings.take_in(&told);
                ControlFlow::<Infallible>::Continue(())
            };
            let mut acting = pin!(actor.run());
            let end = tokio::select! {
                end = watching.run(hear) => end.map_err(dump_failure).map(|never| match never {}),
                never = &mut acting => match never {},
                Some(end) = ended.recv() => end,
            };
            finish(acting, interrupt, &busy).await;
            end
        };
        tokio::select! {
            end = act => end,
            () = ended(interrupt, &busy) => Ok(Exit::Interrupted),
        }
    }
}

/// Prints what was done, and tells once why something was not. Returns whether the output is still read.
fn tell(news: &ActingNews<'_>, format: &Format, told: &mut ToldReasons) -> std::io::Result<bool> {
    if let ActingNews::Changed { work, shape, .. } = news {
        told.forget(*work);
        let width = terminal::width().map_or(80, usize::from);
        let is_read = terminal::print_on(|out| match format {
            Format::Json => list::json_line(out, shape),
            Format::Yaml => writeln!(out, "---").and_then(|()| list::yaml(out, shape)),
            Format::Name => writing::names(out, &mut perform::changed(shape)),
            _ => writing::receipt_table(out, shape, width, terminal::colour()),
        })?;
        for note in &shape.notes {
            terminal::note(&format!("note: {}", escape_control(note)));
        }
        return Ok(is_read);
    }
    if let Some((work, text)) = note(news)
        && told.is_new(work, &text)
    {
        terminal::note(&escape_control(&text));
    }
    Ok(true)
}

/// Returns why something was not done; `None` for news that are not about that.
fn note(news: &ActingNews<'_>) -> Option<(Work, String)> {
    let (work, text) = match news {
        ActingNews::BreakerOpen { work, breaker } => (
            work,
            format!("warning: {breaker}; nothing is announced or reclaimed; {}", breaker.help()),
        ),
        ActingNews::NoRoom { work, .. } => {
            (work, "changes wait, since as many as allowed were made within the hour".to_owned())
        }
        ActingNews::UnknownRate { work, why, .. } => (
            work,
            format!("changes wait: it is not known how many were made within the hour: {why}"),
        ),
        ActingNews::TooMany { work, count } => (
            work,
            format!("warning: {count} changes at once; --max allows fewer, and none is made"),
        ),
        ActingNews::Undone { work, object } => (
            work,
            format!(
                "warning: {object} is left alone for an hour: another client keeps undoing its changes"
            ),
        ),
        ActingNews::TakenBack { work, object } => (
            work,
            format!(
                "warning: {object} is left alone: its reclaim policy was set back after it was reclaimed; `gc --announced` reclaims it again"
            ),
        ),
        ActingNews::LeftAlone { work, left_alone: LeftAlone { count, object, reason } } => (
            work,
            format!("note: {count} old enough are not announced; the first is {object}: {reason}"),
        ),
        ActingNews::Failed { work, message } => {
            (work, format!("warning: {message}; tried again in a minute"))
        }
        ActingNews::Would { .. } | ActingNews::Changed { .. } => return None,
    };
    Some((*work, text))
}

//! `audit --watch`: the same audit, continuously.

use std::ops::ControlFlow;

use super::{AuditArgs, fails, sort, summary};
use crate::cli::{
    Exit, Failure,
    args::ConnectionArgs,
    collect::{dump_failure, tell_gaps, tell_read_again},
    event_printer::EventPrinter,
    follow,
    reading::note_unknown_drivers,
    terminal,
    writing::Interrupt,
};
use crate::cluster::Cluster;
use crate::model::{FindingEvent, Settings, Severity, escape_control};
use crate::output::{
    event_stream::EventStream,
    jsonpath::JsonPath,
    publish::{self, ReportOrigin},
    report::Printer,
    wire::Source,
};
use crate::watch::{Reconciler, Told};

/// What findings are looked for, and how they are printed.
pub(super) struct Following<'a> {
    pub(super) settings: Settings,
    pub(super) printer: Printer,
    pub(super) sort_by: Option<&'a JsonPath>,
    pub(super) fail_on: Option<Severity>,
}

impl AuditArgs {
    /// Prints what is found now, and what changes, until somebody ends it.
    pub(super) async fn follow(
        &self,
        connection: &ConnectionArgs,
        by: Following<'_>,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        terminal::queue_notes(|lines| {
            terminal::note(&format!("note: {lines} lines were lost here: nobody read stderr"));
        })?;
        let Following { settings, printer, sort_by, fail_on } = by;
        let (namespace, save) = (self.namespace.as_deref(), self.save.as_deref());
        let mut collected = follow::look(connection, namespace, &settings, save).await?;
        note_unknown_drivers(&mut collected, &settings);
        let is_for_people = printer.is_for_people();
        let stream = EventStream::new(printer, self.page());
        let printer = EventPrinter::start(stream).map_err(Failure::error)?;
        let screen = FindingScreen { printer: printer.clone(), fail_on };
        let (reconciler, first) = follow::begin(&mut collected, settings);
        let cluster = &collected.intake.cluster;
        let shown = screen.show(first.findings, cluster, sort_by)?;
        interrupt.order();
        if is_for_people {
            // At a terminal it stands beneath the table, however slowly that is shown. Elsewhere
            // nobody sees the two together.
            let shown_all = async {
                match (terminal::is_terminal(), shown.is_continue()) {
                    (false, _) => printer.settle().await,
                    (true, false) => printer.finish().await,
                    (true, true) => printer.flush().await,
                }
            };
            tokio::select! {
                () = shown_all => {}
                () = interrupt.ordered() => return Ok(Exit::Interrupted),
            }
            let tally = reconciler.assessor().totals(cluster, reconciler.settings());
            let origin = ReportOrigin { source: Source::Watch, journal: None };
            let head = publish::head(cluster, reconciler.settings(), &tally, origin);
            terminal::note(&summary(&head.summary, collected.blind.is_empty()));
        }
        self.tell_read(&collected);
        let going_on = async {
            if let ControlFlow::Break(exit) = shown {
                let incomplete = exit == Exit::Findings && !collected.blind.is_empty();
                return Ok(if incomplete { Exit::Incomplete } else { exit });
            }
            let mut watching = follow::go_on(collected, reconciler, None)?;
            let tell = &mut |told: Told, cluster: &Cluster, reconciler: &Reconciler| match screen
                .tell(told, cluster)
            {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(Exit::Findings)) if reconciler.has_gaps() => {
                    ControlFlow::Break(Ok(Exit::Incomplete))
                }
                Ok(ControlFlow::Break(exit)) => ControlFlow::Break(Ok(exit)),
                Err(failure) => ControlFlow::Break(Err(failure)),
            };
            watching.run(tell).await.map_err(dump_failure)?
        };
        let going_on = async {
            let end = going_on.await;
            // What it ends with is told in any case, and soon where something went wrong.
            match &end {
                Ok(_) => printer.finish().await,
                Err(_) => printer.settle().await,
            }
            end
        };
        // Whoever asks for the end gets it, also where nobody reads what is printed.
        tokio::select! {
            biased;
            ended = printer.ended() => ended.map(|()| Exit::Done).map_err(Failure::error),
            () = interrupt.ordered() => {
                printer.settle().await;
                Ok(Exit::Interrupted)
            }
            end = going_on => end,
        }
    }
}

/// Where findings are printed.
struct FindingScreen {
    printer: EventPrinter,
    fail_on: Option<Severity>,
}

impl FindingScreen {
    /// Prints findings, and says whether that ends it: one is as bad as `--fail-on` says.
    fn show(
        &self,
        events: Vec<FindingEvent>,
        cluster: &Cluster,
        sort_by: Option<&JsonPath>,
    ) -> Result<ControlFlow<Exit>, Failure> {
        let worst = events.iter().filter_map(FindingEvent::severity).min();
        let now = cluster.clock();
        let events = events.into_iter().map(|it| publish::finding_event(it, now)).collect();
        let events = match sort_by {
            None => events,
            Some(path) => sort(events, path).map_err(Failure::error)?,
        };
        self.printer.push(events);
        Ok(match fails(worst, self.fail_on) {
            true => ControlFlow::Break(Exit::Findings),
            false => ControlFlow::Continue(()),
        })
    }

    /// Prints what is new, and tells the rest on stderr.
    fn tell(&self, told: Told, cluster: &Cluster) -> Result<ControlFlow<Exit>, Failure> {
        if told.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let Told { news, defects, notes, .. } = told;
        tell_gaps("not read", news.gaps.lost.iter());
        tell_read_again(&news.gaps.read_again);
        for note in &notes {
            terminal::note(&format!("note: {}", escape_control(note)));
        }
        if defects > 0 {
            terminal::note(&format!(
                "defect: a full pass changed {defects} findings, which the changes before it \
                 should have; please report this"
            ));
        }
        self.show(news.findings, cluster, None)
    }
}

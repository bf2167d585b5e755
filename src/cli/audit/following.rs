//! `audit --watch`: prints findings, and goes on to print what becomes of them.

use std::{collections::HashSet, ops::ControlFlow};

use super::{
    AuditArgs, fails,
    reported::{checks_of, tell_read},
};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::ConnectionArgs,
        collect::{self, dump_failure, tell_gaps, tell_read_again},
        named::NamedObject,
        reading::note_unknown_drivers,
        terminal::{self, EventPrinter},
    },
    cluster::Cluster,
    model::{FindingEvent, ObjectRef, RuleId, Settings, Severity, escape_control},
    output::{
        event_stream::EventStream, lines::Paint, order::SortPath, publish, repeated::RepeatedFlags,
        report::Printer, summary::summary,
    },
    watch::{Reconciler, Told},
};

/// Settings of a followed audit, and the printer of its findings.
pub(super) struct Following<'a> {
    pub(super) settings: Settings,
    pub(super) named: Vec<NamedObject>,
    pub(super) printer: Printer,
    pub(super) sort_by: Option<&'a SortPath>,
    pub(super) screen: FindingView,
}

impl AuditArgs {
    /// Prints present findings, then what changes, until it is ended.
    pub(super) async fn follow(
        &self,
        connection: &ConnectionArgs,
        by: Following<'_>,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        terminal::queue_notes(|lines| {
            terminal::note(&format!("note: {lines} lines were lost here: stderr was not read"));
        })?;
        let Following { mut settings, named, printer, sort_by, screen } = by;
        let namespace = self.selection.namespace();
        let mut collected = collect::look(connection, namespace, &settings).await?;
        self.selection.settle(&named, &mut collected, &mut settings).await?;
        note_unknown_drivers(&mut collected, &settings);
        let is_for_people = printer.is_for_people();
        let stream = EventStream::new(printer, self.page());
        let printer = EventPrinter::start(stream).map_err(Failure::error)?;
        let mut screen = FindingScreen {
            printer: printer.clone(),
            view: screen,
            repeated: collected.repeated.clone(),
        };
        let (reconciler, first) = collect::begin(&mut collected, settings);
        let cluster = &collected.intake.cluster;
        let shown = screen.show(first.findings, cluster, sort_by)?;
        interrupt.order();
        if is_for_people {
            // At a terminal it stands beneath the table, however slowly that is shown. Elsewhere
            // the two are not seen together.
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
            let paint = Paint { colour: terminal::colour_of_notes() };
            let checks = checks_of(&collected, reconciler.settings(), &[]);
            terminal::note(&summary(&publish::summary(&tally), checks, paint));
        }
        tell_read(&collected);
        let going_on = async {
            if let ControlFlow::Break(exit) = shown {
                return Ok(exit);
            }
            let mut watching = collect::go_on(collected, reconciler, None)?;
            let tell = &mut |told: Told, cluster: &Cluster, _: &Reconciler| match screen
                .tell(told, cluster)
            {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(exit)) => ControlFlow::Break(Ok(exit)),
                Err(failure) => ControlFlow::Break(Err(failure)),
            };
            watching.run(tell).await.map_err(dump_failure)?
        };
        let going_on = async {
            let end = Box::pin(going_on).await;
            // What it ends with is told in any case, and soon where something went wrong.
            match &end {
                Ok(_) => printer.finish().await,
                Err(_) => printer.settle().await,
            }
            end
        };
        // A request to end is carried out, also where what is printed is not read.
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

/// Printer of findings, with the view that selects them.
struct FindingScreen {
    printer: EventPrinter,
    view: FindingView,
    /// Flags that the commands in findings repeat.
    repeated: RepeatedFlags,
}

/// View that decides which findings are printed, and which end the command.
pub(super) struct FindingView {
    fail_on: Option<Severity>,
    /// Least severity that is printed (`--severity`).
    view: Option<Severity>,
    /// Findings that were printed and did not clear, where not all are printed.
    shown: HashSet<(RuleId, ObjectRef)>,
}

impl FindingView {
    /// Builds a view of findings of this severity or worse; of all without one.
    pub(super) fn new(fail_on: Option<Severity>, view: Option<Severity>) -> Self {
        Self { fail_on, view, shown: HashSet::new() }
    }

    /// Whether an event is printed: its finding is severe enough, or was.
    fn shows(&mut self, event: &FindingEvent) -> bool {
        let Some(least) = self.view else { return true };
        let finding = match event {
            FindingEvent::Appeared(it) | FindingEvent::Changed(it) => it,
            FindingEvent::Cleared(it) => return self.shown.remove(&(it.rule, it.object.clone())),
        };
        let key = (finding.rule, finding.object.clone());
        match finding.severity <= least {
            true => {
                self.shown.insert(key);
                true
            }
            false => self.shown.remove(&key),
        }
    }
}

impl FindingScreen {
    /// Prints findings, and ends the command at one as bad as `--fail-on` says.
    fn show(
        &mut self,
        mut events: Vec<FindingEvent>,
        cluster: &Cluster,
        sort_by: Option<&SortPath>,
    ) -> Result<ControlFlow<Exit>, Failure> {
        let worst = events.iter().filter_map(FindingEvent::severity).min();
        events.retain(|it| self.view.shows(it));
        let now = cluster.clock();
        let public = |it| self.repeated.event(publish::finding_event(it, now));
        let events: Vec<_> = events.into_iter().map(public).collect();
        let events = match sort_by {
            None => events,
            Some(path) => path.sort(events).map_err(Failure::error)?,
        };
        self.printer.push(events);
        Ok(match fails(worst, self.view.fail_on) {
            true => ControlFlow::Break(Exit::Findings),
            false => ControlFlow::Continue(()),
        })
    }

    /// Prints changed findings, and tells gaps, notes and defects on stderr.
    fn tell(&mut self, told: Told, cluster: &Cluster) -> Result<ControlFlow<Exit>, Failure> {
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

//! `audit --watch`: the same audit, continuously.

use std::ops::ControlFlow;

use super::{AuditArgs, fails, sort, summary};
use crate::cli::{
    Exit, Failure,
    args::ConnectionArgs,
    collect::{dump_failure, tell_gaps, tell_read_again},
    follow,
    reading::note_unknown_drivers,
    terminal,
};
use crate::cluster::Cluster;
use crate::model::{FindingEvent, Settings, Severity, escape_control};
use crate::output::{
    event_stream::EventStream,
    jsonpath::{JsonPath, RenderError},
    publish::{self, ReportOrigin},
    report::Printer,
    wire::Source,
};
use crate::watch::{Reconciler, Told};

impl AuditArgs {
    /// Prints what is found now, and what changes, until somebody ends it.
    pub(super) async fn follow(
        &self,
        connection: &ConnectionArgs,
        settings: Settings,
        printer: Printer,
        sort_by: Option<&JsonPath>,
        fail_on: Option<Severity>,
    ) -> Result<Exit, Failure> {
        let (namespace, save) = (self.namespace.as_deref(), self.save.as_deref());
        let mut collected = follow::look(connection, namespace, &settings, save).await?;
        note_unknown_drivers(&mut collected, &settings);
        let is_for_people = printer.is_for_people();
        let mut screen = FindingScreen { stream: EventStream::new(printer, self.page()), fail_on };
        let (reconciler, first) = follow::begin(&mut collected, settings);
        let cluster = &collected.intake.cluster;
        let shown = screen.show(first.findings, cluster, sort_by)?;
        if is_for_people {
            let tally = reconciler.assessor().totals(cluster, reconciler.settings());
            let origin = ReportOrigin { source: Source::Watch, journal: None };
            let head = publish::head(cluster, reconciler.settings(), &tally, origin);
            terminal::note(&summary(&head.summary, collected.blind.is_empty()));
        }
        self.tell_read(&collected);
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
    }
}

/// Where findings are printed.
struct FindingScreen {
    stream: EventStream,
    fail_on: Option<Severity>,
}

impl FindingScreen {
    /// Prints findings, and says whether that ends it: nobody reads any more, or one is as bad as
    /// `--fail-on` says.
    fn show(
        &mut self,
        events: Vec<FindingEvent>,
        cluster: &Cluster,
        sort_by: Option<&JsonPath>,
    ) -> Result<ControlFlow<Exit>, Failure> {
        let worst = events.iter().filter_map(FindingEvent::severity).min();
        let now = cluster.clock();
        let events = events.into_iter().map(|it| publish::finding_event(it, now)).collect();
        let is_read = terminal::print_on(|out| {
            let events = match sort_by {
                None => events,
                Some(path) => sort(events, path)?,
            };
            self.stream.print(out, events)
        })
        .map_err(|error: RenderError| Failure::error(error))?;
        Ok(match (is_read, fails(worst, self.fail_on)) {
            (false, _) => ControlFlow::Break(Exit::Done),
            (true, true) => ControlFlow::Break(Exit::Findings),
            (true, false) => ControlFlow::Continue(()),
        })
    }

    /// Prints what is new, and tells the rest on stderr.
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

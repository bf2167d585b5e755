//! What the deletion of a set does to its claims, shown before it is asked for.

use std::collections::BTreeSet;

use super::unread;
use crate::{
    cli::{Failure, collect::Collected, terminal},
    facts::retention::{Operation, Propagation},
    model::{Cascade, ObjectKey, Settings, Text},
    output::{
        publish::{self, ReportOrigin},
        retention::simulation::{
            RetentionSimulation, SimulatedSet, SimulationTotals, print_screen,
        },
        screen::ScreenStyle,
        wire::Source,
    },
    rules::retention,
};

/// Shows on stderr what `retention simulate --delete` says of a set that exists.
pub(in crate::cli) async fn show_deletion(
    collected: &mut Collected,
    settings: &Settings,
    key: &ObjectKey,
    cascade: Cascade,
) -> Result<(), Failure> {
    let propagation = match cascade {
        Cascade::Background => Propagation::Background,
        Cascade::Foreground => Propagation::Foreground,
        Cascade::Orphan => Propagation::Orphan,
    };
    let namespace = key.namespace.clone().unwrap_or_else(|| Text::from(""));
    let simulated = collected.make(settings, |cx| {
        let mut unseen = BTreeSet::new();
        let mut totals = SimulationTotals::default();
        let set = cx.set(&namespace, &key.name).ok().flatten()?;
        let steps =
            vec![format!("it is deleted with --cascade={}", cascade.policy().to_lowercase())];
        let variants = [vec![Operation::DeleteSet(propagation)]];
        let shown = match retention::simulated(cx, set, &variants, "", &mut unseen) {
            Ok(effects) => {
                totals.add(&effects);
                vec![SimulatedSet::of(set, steps, Vec::new(), &effects)]
            }
            Err(lost) => {
                unseen.insert(lost);
                Vec::new()
            }
        };
        Some((shown, unread(unseen, &BTreeSet::new()), totals))
    });
    let Some((shown, gaps, totals)) = simulated.await? else { return Ok(()) };
    let cluster = &collected.intake.cluster;
    let source = if collected.live.is_some() { Source::Live } else { Source::Dump };
    let about = publish::metadata(cluster, settings, ReportOrigin { source, journal: None });
    let report = RetentionSimulation::new(about, totals, shown, gaps);
    let width = terminal::width().unwrap_or(80);
    let style = ScreenStyle { headers: true, width, colour: false };
    let mut screen = Vec::new();
    print_screen(&mut screen, &report, style).map_err(Failure::error)?;
    terminal::note(String::from_utf8_lossy(&screen).trim_end());
    terminal::note(&report.summary.words());
    Ok(())
}

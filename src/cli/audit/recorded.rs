//! `audit --inventory LISTING --record FILE`: which disks that a teardown recorded the provider still has. No cluster is
//! asked.

use std::path::Path;

use crate::{
    cli::{Exit, Failure, listed::InventoryArgs, terminal, writing::teardown::read_if_there},
    facts::{DiskKeys, Inventory},
    listings::{Disk, is_one_provider},
    model::{Settings, Text, counted, escape_control},
    output::{
        format::Format,
        lines::readable,
        list,
        table::{TableStyle, TextTable},
        teardown::{RecordedDisk, RecordedDisks, RecordedSummary},
        wire::API_VERSION,
    },
};
use hashbrown::HashMap;

/// Compares a record with listings, and prints which disks exist.
///
/// # Errors
/// When the record or the only listing cannot be read.
pub(super) fn compare(
    path: &Path,
    listings: &InventoryArgs,
    format: &Format,
) -> Result<Exit, Failure> {
    let record = read_if_there(path)?.ok_or_else(|| {
        Failure::error(anyhow::anyhow!("failed to read {}: there is no such file", path.display()))
    })?;
    let settings = Settings::default();
    let mut inventory = Inventory::new(&[], &settings, listings.words(&[])?);
    let (mut listed, mut drivers) = (HashMap::new(), Vec::<Text>::new());
    let read = listings.read(&mut inventory, &mut |disk| {
        listed.insert(DiskKeys::of(disk).disk(), ());
        if !drivers.contains(&disk.backend.driver) {
            drivers.push(Text::clone(&disk.backend.driver));
        }
    })?;
    for note in read.notes.iter().chain(&read.unread).chain(&read.cut) {
        terminal::note(&format!("note: {}", escape_control(note)));
    }
    let is_whole = read.unread.is_empty() && read.cut.is_empty();
    let mut found = RecordedDisks {
        api_version: API_VERSION.to_owned(),
        kind: "RecordedDisks".to_owned(),
        summary: RecordedSummary::default(),
        disks: Vec::new(),
    };
    for it in record.volumes {
        let (Some(driver), Some(handle)) = (it.driver, it.handle) else { continue };
        let key = DiskKeys::of(&Disk::new(&driver, handle.as_str())).disk();
        let is_covered = drivers.iter().any(|of| is_one_provider(of, &driver));
        let (state, count) = match (listed.contains_key(&key), is_covered && is_whole) {
            (true, _) => ("exists", &mut found.summary.exist),
            (false, true) => ("gone", &mut found.summary.gone),
            (false, false) => ("not-compared", &mut found.summary.not_compared),
        };
        *count += 1;
        found.disks.push(RecordedDisk {
            driver,
            handle,
            size: it.size,
            claim: it.claim,
            outcome: it.outcome.unwrap_or(it.plan),
            state: state.to_owned(),
            command: it.command.filter(|_| state == "exists"),
        });
    }
    let is_wrong = |it: &RecordedDisk| it.state == "exists" && it.outcome == "destroyed";
    let wrong = found.disks.iter().filter(|it| is_wrong(it)).count();
    show(&found, format)?;
    let RecordedSummary { exist, gone, not_compared } = found.summary;
    terminal::note(&format!(
        "{} of the record: {exist} exist, {gone} gone, {not_compared} not compared",
        counted(found.disks.len(), "disk")
    ));
    Ok(match (wrong, not_compared) {
        (1.., _) => {
            terminal::note(&format!(
                "error: {} recorded as destroyed, and the provider lists it",
                counted(wrong, "disk")
            ));
            Exit::Findings
        }
        (0, 1..) => Exit::Incomplete,
        (0, 0) => Exit::Done,
    })
}

fn show(found: &RecordedDisks, format: &Format) -> Result<(), Failure> {
    terminal::print(|out| match format {
        Format::Json => list::json(out, found),
        Format::Yaml => list::yaml(out, found),
        _ => {
            let style =
                TableStyle { headers: true, width: terminal::width(), escape: |it| readable(it) };
            let mut table =
                TextTable::new(out, &["STATE", "RECORDED", "SIZE", "CLAIM", "DISK"], style);
            for it in &found.disks {
                let text = |it: &Option<String>| it.clone().unwrap_or_else(|| "-".to_owned());
                table.row(vec![
                    it.state.clone(),
                    it.outcome.clone(),
                    text(&it.size),
                    text(&it.claim),
                    format!("{} {}", it.driver, it.handle),
                ])?;
            }
            table.finish()?;
            for command in found.disks.iter().filter_map(|it| it.command.as_ref()) {
                writeln!(out, "{}", readable(command))?;
            }
            Ok(())
        }
    })
    .map_err(Failure::error)
}

//! `--inventory`: what providers list, compared with the clusters of the report.

use std::collections::BTreeMap;

use super::prices::PricedBytes;
use crate::{
    cli::{
        Failure,
        listed::{InventoryArgs, ReadListings},
    },
    facts::{DisksOfCluster, Inventory},
    model::{Bytes, RuleId, Settings, Text, Time},
    output::{
        inventory::InventorySummary,
        publish::{inventory_finding, inventory_gaps, inventory_summary},
        report::wrap,
        wire::{Finding, Gap},
    },
    rules::{INVENTORY, InventoryReport, Totals, judge_inventory},
};

/// Width of the lines that tell what became of the disks.
pub(super) const WIDTH: usize = 80;

/// What listings show beside the findings of clusters.
#[derive(Debug)]
pub(super) struct JudgedInventory<'a> {
    report: InventoryReport<'a>,
    /// The names of several clusters.
    names: &'a [Text],
    /// The time of the newest view.
    now: Option<Time>,
    /// What could not be judged.
    pub(super) gaps: Vec<Gap>,
    /// What became of the disks.
    pub(super) summary: InventorySummary,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
    /// Numbers of the findings.
    pub(super) totals: Totals,
    /// Bytes of orphans, by type and driver.
    pub(super) orphaned: Vec<PricedBytes>,
    /// Bytes of unattributed disks, by type and driver.
    pub(super) unattributed: Vec<PricedBytes>,
}

/// Reads the listings, and compares them with the clusters; `names` are those of several.
///
/// # Errors
/// When the only listing cannot be read.
pub(super) fn judge<'a>(
    args: &InventoryArgs,
    clusters: &'a [DisksOfCluster],
    names: &'a [Text],
    settings: &'a Settings,
) -> Result<JudgedInventory<'a>, Failure> {
    let mut inventory = Inventory::new(clusters, settings, args.words(names)?);
    let ReadListings { notes, unread, cut } = args.read(&mut inventory, &mut |_| {})?;
    inventory.add_own();
    let report = judge_inventory(inventory, settings);
    let gaps = unread.into_iter().chain(cut).map(gap);
    Ok(JudgedInventory {
        names,
        now: clusters.iter().filter_map(DisksOfCluster::clock).max(),
        gaps: gaps.chain(inventory_gaps(&report, names)).collect(),
        summary: inventory_summary(&report, names),
        notes,
        totals: report.totals(),
        orphaned: by_type(&report, "backend-volume-orphan"),
        unattributed: by_type(&report, "backend-volume-unattributed"),
        report,
    })
}

/// Adds up the bytes of disks by type and driver.
fn by_type(report: &InventoryReport<'_>, rule: RuleId) -> Vec<PricedBytes> {
    let mut sums: BTreeMap<[Option<Text>; 2], Bytes> = BTreeMap::new();
    for disk in report.disks(rule) {
        let names = [disk.kind.clone(), Some(Text::clone(&disk.backend.driver))];
        let sum = sums.entry(names).or_default();
        *sum = sum.saturating_add(disk.size.unwrap_or_default());
    }
    sums.into_iter().collect()
}

/// A gap of a listing.
fn gap(reason: String) -> Gap {
    Gap {
        cluster: None,
        resource: "disks of the provider".to_owned(),
        namespace: None,
        reason,
        ids: INVENTORY.iter().map(|it| it.id.to_owned()).collect(),
    }
}

impl JudgedInventory<'_> {
    /// Makes the findings, one after the other, in the order of a report.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        self.report.findings().map(|it| inventory_finding(it, self.names, self.now))
    }

    /// Says what became of the disks, and what the user should know of the listings.
    pub(super) fn told(&self) -> Vec<String> {
        let notes = self.notes.iter().map(|it| format!("note: {it}"));
        let summary = (self.summary.counts.listed > 0).then(|| wrap(&self.summary.told(), WIDTH));
        notes.chain(summary.into_iter().flatten()).collect()
    }
}

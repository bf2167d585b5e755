//! `--inventory`: what providers list, compared with the clusters of the report.

use std::collections::BTreeMap;

use super::{packed::rank, prices::PricedBytes};
use crate::{
    cli::{
        Failure,
        listed::{InventoryArgs, ReadListings},
    },
    facts::{DisksOfCluster, Inventory},
    model::{Bytes, Settings, Text},
    output::{
        inventory::InventorySummary,
        publish::{inventory_finding, inventory_gaps, inventory_summary},
        report::wrap,
        wire::{Finding, Gap},
    },
    rules::{INVENTORY, InventoryFinding, Totals, judge_inventory},
};

/// Width of the lines that tell what became of the disks.
const WIDTH: usize = 80;

/// What listings show beside the findings of clusters.
#[derive(Debug, Default)]
pub(super) struct JudgedInventory {
    /// The findings, in the order of a report.
    pub(super) findings: Vec<Finding>,
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
pub(super) fn judge(
    args: &InventoryArgs,
    clusters: &[DisksOfCluster],
    names: &[Text],
    settings: &Settings,
) -> Result<JudgedInventory, Failure> {
    let mut inventory = Inventory::new(clusters, settings, args.words(names)?);
    let ReadListings { notes, unread, cut } = args.read(&mut inventory, &mut |_| {})?;
    inventory.add_own();
    let gaps = unread.into_iter().chain(cut).map(gap).collect();
    let mut found = JudgedInventory { gaps, notes, ..JudgedInventory::default() };
    let report = judge_inventory(inventory, settings);
    let now = clusters.iter().filter_map(DisksOfCluster::clock).max();
    found.gaps.extend(inventory_gaps(&report, names));
    found.summary = inventory_summary(&report, names);
    report.findings.iter().for_each(|it| found.totals.count(&it.finding, 0));
    found.orphaned = by_type(&report.findings, "backend-volume-orphan");
    found.unattributed = by_type(&report.findings, "backend-volume-unattributed");
    let public = report.findings.into_iter().map(|it| inventory_finding(it, names, now));
    let mut findings: Vec<Finding> = public.collect();
    findings.sort_by_cached_key(|it| (rank(it), it.cluster.clone()));
    found.findings = findings;
    Ok(found)
}

/// Adds up the bytes of disks by type and driver.
fn by_type(findings: &[InventoryFinding], rule: &str) -> Vec<PricedBytes> {
    let mut sums: BTreeMap<[Option<Text>; 2], Bytes> = BTreeMap::new();
    for disk in
        findings.iter().filter(|it| it.finding.rule == rule).filter_map(|it| it.disk.as_ref())
    {
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

impl JudgedInventory {
    /// Says what became of the disks, and what the user should know of the listings.
    pub(super) fn told(&self) -> Vec<String> {
        let notes = self.notes.iter().map(|it| format!("note: {it}"));
        let summary = (self.summary.counts.listed > 0).then(|| wrap(&self.summary.told(), WIDTH));
        notes.chain(summary.into_iter().flatten()).collect()
    }
}

//! `--inventory`: what providers list, compared with the clusters of the report.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;

use super::{packed::rank, prices::PricedBytes};
use crate::{
    cli::Failure,
    facts::{DisksOfCluster, Inventory, InventoryWords},
    listings::{self, ListingError, ListingInput},
    model::{Bytes, Settings, Text, escape_control},
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

/// What providers list.
#[derive(Debug, Args)]
pub(super) struct InventoryArgs {
    /// Compare with the disks that a provider lists, in the answer of a command of its own: FILE, - or rbd:POOL=FILE
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    inventory: Vec<String>,
    /// Assert that every cluster which uses the accounts of --inventory is given
    #[arg(long, requires = "inventory")]
    all_clusters: bool,
    /// Set the identity that drivers write on the disks of a cluster: VALUE, or NAME=VALUE of several
    #[arg(long, value_name = "[NAME=]VALUE", requires = "inventory")]
    cluster_tag: Vec<String>,
}

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

impl InventoryArgs {
    /// Whether anything is to be compared.
    pub(super) fn is_asked_for(&self) -> bool {
        !self.inventory.is_empty()
    }

    fn inputs(&self) -> Vec<ListingInput> {
        self.inventory.iter().map(|it| ListingInput::parse(it)).collect()
    }

    /// Returns the files of the listings, which are read beside these dumps.
    ///
    /// # Errors
    /// When standard input is named twice.
    pub(super) fn files(&self, dumps: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let inputs = self.inputs();
        let is_stdin = |it: &&PathBuf| {
            let it = it.to_string_lossy();
            it == "-" || it.ends_with("=-")
        };
        let of_stdin = inputs.iter().filter(|it| it.path().is_none()).count();
        if of_stdin > 1 || (of_stdin > 0 && dumps.iter().any(|it| is_stdin(&it))) {
            return Err(Failure::usage("standard input is one file: name - once"));
        }
        Ok(inputs.iter().filter_map(ListingInput::path).map(PathBuf::from).collect())
    }

    /// Returns what the user says, of the clusters with these names.
    ///
    /// # Errors
    /// When a cluster is none of these, or is not named although there are several.
    pub(super) fn words(&self, names: &[Text]) -> Result<InventoryWords, Failure> {
        let parse = |tag: &String| {
            if names.is_empty() {
                return Ok((0, Text::from(tag.as_str())));
            }
            let known = tag.split_once('=').and_then(|(name, value)| {
                Some((names.iter().position(|it| **it == *name)?, Text::from(value)))
            });
            known.filter(|it| !it.1.is_empty()).ok_or_else(|| {
                let told =
                    format!("--cluster-tag {}: no cluster is called that", escape_control(tag));
                Failure::usage(told)
                    .hint(Some("write NAME=VALUE with the name of a cluster".to_owned()))
            })
        };
        let identities = self.cluster_tag.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(InventoryWords { are_all: self.all_clusters, identities })
    }

    /// Reads the listings, and compares them with the clusters; `names` are those of several.
    ///
    /// # Errors
    /// When the only listing cannot be read.
    pub(super) fn judge(
        &self,
        clusters: &[DisksOfCluster],
        names: &[Text],
        settings: &Settings,
    ) -> Result<JudgedInventory, Failure> {
        let inputs = self.inputs();
        let mut inventory = Inventory::new(clusters, settings, self.words(names)?);
        let mut found = JudgedInventory::default();
        for input in &inputs {
            let mut reading = inventory.begin();
            let read = listings::read(input, &mut |disk| inventory.take(disk, &mut reading));
            let added = read.and_then(|listing| {
                let why = inventory.add(&listing, reading).err();
                let name = listing.name.clone();
                why.map_or(Ok(listing), |why| Err(ListingError::Foreign { name, why }))
            });
            match added {
                Ok(listing) => {
                    if listing.rows == 0 {
                        let note =
                            format!("{} lists nothing, and nothing is judged by it", listing.name);
                        found.notes.push(note);
                    }
                    if listing.is_truncated {
                        let reason = format!("{} is cut off: it names a next page", listing.name);
                        found.gaps.push(gap(reason));
                    }
                }
                Err(error) if inputs.len() == 1 => {
                    let hint = "kubectl storage explain inventory prints the commands whose answers are read";
                    return Err(Failure::error(error).hint(Some(hint.to_owned())));
                }
                Err(error) => {
                    inventory.fail();
                    found.gaps.push(gap(format!("{:#}", anyhow::Error::new(error))));
                }
            }
        }
        inventory.add_own();
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

//! What listings of providers show: disks that nothing names, and volumes whose disk is gone.

mod told;

use std::collections::HashSet;

use super::assess::{in_scope, is_asked_for};
use super::{Assessor, Rule, Totals, UnreadGap};
use crate::cluster::{Cluster, Gap, Subject};
use crate::facts::{self, DiskFate, DisksOfCluster, Inventory, InventoryCounts, KnownIdentity};
use crate::listings::Disk;
use crate::model::{Bytes, Finding, Kind, RuleId, Settings, Severity, Text};
use told::{
    ATTACHED_ELSEWHERE, IDENTITY_MISSING, MISSING, ORPHAN, UNATTRIBUTED, about_disk, about_driver,
    about_volume, referencing,
};

pub(super) use told::RULES;
pub(crate) use told::deleting_command;

/// What is wrong with a disk, a volume or a driver: enough to make a finding of it, which is much larger.
#[derive(Debug)]
pub struct InventoryProblem {
    rule: &'static Rule,
    severity: Severity,
    /// The number of its cluster, if it has one with a name.
    cluster: Option<usize>,
    about: ProblemObject,
}

#[derive(Debug)]
enum ProblemObject {
    /// A disk, the number of the cluster that made it, and why that is not certain.
    Disk(Box<Disk>, Option<usize>, Option<String>),
    /// The volume with this number, in the cluster with that one.
    Volume(usize, usize),
    Driver(Text),
}

/// A finding about what a provider lists.
#[derive(Debug)]
pub struct InventoryFinding<'a> {
    /// The finding.
    pub finding: Finding,
    /// The number of its cluster, if it has one.
    pub cluster: Option<usize>,
    /// The disk, of a finding about one.
    pub disk: Option<&'a Disk>,
}

/// What a comparison of clusters and listings has found.
#[derive(Debug)]
pub struct InventoryReport<'a> {
    inventory: Inventory<'a>,
    /// The problems, in the order of a report.
    problems: Vec<InventoryProblem>,
    /// What could not be judged, each with the number of its cluster.
    pub gaps: Vec<(Option<usize>, UnreadGap)>,
    /// Numbers of disks.
    pub counts: InventoryCounts,
    /// Bytes of disks that no cluster needs.
    pub orphaned: Bytes,
    /// Bytes of disks of which no cluster is known.
    pub unattributed: Bytes,
    /// The identities by which clusters are known.
    pub identities: Vec<KnownIdentity>,
}

/// Returns what a cluster names of the disks of providers; `name` is what the report calls it.
pub fn disks_of_cluster(
    name: Option<&Text>,
    assessor: &Assessor,
    cluster: &Cluster,
    settings: &Settings,
) -> DisksOfCluster {
    let cx = assessor.cx(cluster, settings);
    let is_left_out = |id| !in_scope(cluster, settings, &Subject::Volume(id));
    let mut disks = facts::DisksOfCluster::of(name, &cx, is_left_out);
    disks.own = facts::own_disks(&cx, &disks);
    disks
}

/// Judges everything that was read.
pub fn judge_inventory<'a>(
    mut inventory: Inventory<'a>,
    settings: &Settings,
) -> InventoryReport<'a> {
    let mut problems = Vec::new();
    let mut gaps: Vec<(Option<usize>, Kind, String)> = Vec::new();
    let (mut orphaned, mut unattributed): (Bytes, Bytes) = (0, 0);
    let listed = std::mem::take(&mut inventory.left).into_values().map(|disk| (None, disk));
    let own = std::mem::take(&mut inventory.own).into_iter();
    let own = own.map(|(cluster, disk)| (Some(cluster), Box::new(disk.clone())));
    let mut left: Vec<_> = listed.chain(own).collect();
    left.sort_by(|one, other| (&one.1.backend, one.0).cmp(&(&other.1.backend, other.0)));
    for (lies_in, disk) in left {
        if inventory.is_taken(&disk) {
            // The other row is counted.
            inventory.counts.listed -= 1;
            continue;
        }
        let fate = match lies_in {
            Some(cluster) => inventory.fate_of_own(cluster, &disk),
            None => inventory.fate(&disk),
        };
        let (rule, of, doubt) = match fate {
            DiskFate::Orphan { of, doubt } => {
                inventory.counts.orphans += 1;
                (&ORPHAN, of, doubt)
            }
            DiskFate::Unattributed => {
                inventory.counts.unattributed += 1;
                (&UNATTRIBUTED, None, None)
            }
            DiskFate::OfAnother => {
                inventory.counts.of_other_clusters += 1;
                continue;
            }
            DiskFate::Elsewhere => {
                inventory.counts.elsewhere += 1;
                continue;
            }
            DiskFate::TooYoung => {
                inventory.counts.too_young += 1;
                continue;
            }
            DiskFate::Gap(it) => {
                inventory.counts.not_judged += 1;
                let gap = (named_cluster(&inventory, it.cluster), it.kind, it.reason);
                if !gaps.contains(&gap) {
                    gaps.push(gap);
                }
                continue;
            }
        };
        if !is_reported(settings, &disk, rule.id) {
            continue;
        }
        let bytes = if rule.id == ORPHAN.id { &mut orphaned } else { &mut unattributed };
        *bytes = bytes.saturating_add(disk.size.unwrap_or_default());
        let severity = match (rule.id == ORPHAN.id, doubt.is_some() || inventory.is_young(&disk)) {
            (false, _) => Severity::Low,
            (true, true) => Severity::Medium,
            (true, false) => Severity::High,
        };
        let cluster = of.and_then(|it| named_cluster(&inventory, it));
        let about = ProblemObject::Disk(disk, of, doubt);
        problems.push(InventoryProblem { rule, severity, cluster, about });
    }
    for cluster in 0..inventory.clusters.len() {
        judge_volumes(&inventory, cluster, settings, &mut problems, &mut gaps);
    }
    for (number, cluster) in inventory.clusters.iter().enumerate() {
        for driver in cluster.unmarked.iter().filter(|it| inventory.has_listed(it)) {
            if !is_asked_for(settings, IDENTITY_MISSING.id)
                || settings.scope.ignored.contains(IDENTITY_MISSING.id)
            {
                continue;
            }
            let about = ProblemObject::Driver(Text::clone(driver));
            let (rule, severity) = (&IDENTITY_MISSING, IDENTITY_MISSING.severity);
            let cluster = named_cluster(&inventory, number);
            problems.push(InventoryProblem { rule, severity, cluster, about });
        }
    }
    let name = |number: usize| inventory.clusters[number].name.as_ref();
    let rank = |it: &InventoryProblem| (it.severity, it.rule.id, it.cluster.and_then(name));
    problems.sort_by(|one, other| rank(one).cmp(&rank(other)));
    InventoryReport {
        problems,
        gaps: gaps.into_iter().map(|it| (it.0, gap(it.1, it.2))).collect(),
        counts: inventory.counts,
        orphaned,
        unattributed,
        identities: inventory.known_identities(),
        inventory,
    }
}

impl InventoryReport<'_> {
    /// Makes the findings, one after the other, in the order of a report.
    pub fn findings(&self) -> impl Iterator<Item = InventoryFinding<'_>> {
        self.problems.iter().map(|problem| {
            let InventoryProblem { rule, severity, cluster, about } = problem;
            let (finding, disk) = match about {
                ProblemObject::Disk(disk, of, doubt) => {
                    let finding = about_disk(&self.inventory, rule, disk, *of, doubt.as_deref());
                    (finding, Some(&**disk))
                }
                ProblemObject::Volume(cluster, number) => {
                    (about_volume(&self.inventory, rule, *cluster, *number), None)
                }
                ProblemObject::Driver(driver) => (about_driver(driver), None),
            };
            InventoryFinding { finding: finding.severe(*severity), cluster: *cluster, disk }
        })
    }

    /// Returns the numbers of the findings.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for problem in &self.problems {
            let claim = match &problem.about {
                ProblemObject::Disk(disk, ..) => {
                    disk.made.as_ref().and_then(|it| it.claim.as_ref())
                }
                ProblemObject::Volume(cluster, number) => {
                    referencing(&self.inventory, *cluster, *number).claim.as_ref()
                }
                ProblemObject::Driver(_) => None,
            };
            let namespace = claim.map(|it| Text::clone(&it.namespace));
            totals.tally(problem.rule.id, problem.severity, namespace);
        }
        totals
    }

    /// Returns the disks with a problem of this rule.
    pub fn disks(&self, rule: RuleId) -> impl Iterator<Item = &Disk> {
        let of_rule = self.problems.iter().filter(move |it| it.rule.id == rule);
        of_rule.filter_map(|it| match &it.about {
            ProblemObject::Disk(disk, ..) => Some(&**disk),
            ProblemObject::Volume(..) | ProblemObject::Driver(_) => None,
        })
    }
}

fn named_cluster(inventory: &Inventory<'_>, number: usize) -> Option<usize> {
    inventory.clusters[number].name.is_some().then_some(number)
}

/// Judges the volumes of a cluster by what is listed.
fn judge_volumes(
    inventory: &Inventory<'_>,
    cluster: usize,
    settings: &Settings,
    problems: &mut Vec<InventoryProblem>,
    gaps: &mut Vec<(Option<usize>, Kind, String)>,
) {
    let view = &inventory.clusters[cluster];
    let is_listed = |number: usize| inventory.listed[cluster][number].is_some();
    let place_of = |number: usize| {
        let it = &view.volumes[number];
        (&it.reference.backend.driver, it.place.as_ref())
    };
    // What a node has is there: a listing without it has only some of that place.
    let mut incomplete = HashSet::new();
    for number in 0..view.volumes.len() {
        let volume = &view.volumes[number];
        let lacks = volume.attachment == Some(true)
            && !is_listed(number)
            && inventory.covers(cluster, number).is_some();
        if lacks && incomplete.insert(place_of(number)) {
            let object = volume.reference.object();
            let reason =
                format!("the listing lacks the disk of {object}, which is attached to a node");
            gaps.push((named_cluster(inventory, cluster), Kind::BackendVolume, reason));
        }
    }
    for number in 0..view.volumes.len() {
        let volume = &view.volumes[number];
        let is_gone = || {
            !is_listed(number)
                && inventory.covers(cluster, number) == Some(true)
                && !incomplete.contains(&place_of(number))
                && volume.attachment.is_none()
        };
        let (rule, severity) = if inventory.strangers(cluster, number).is_some() {
            (&ATTACHED_ELSEWHERE, ATTACHED_ELSEWHERE.severity)
        } else if is_gone() {
            (&MISSING, if volume.is_bound { Severity::Critical } else { Severity::Medium })
        } else {
            continue;
        };
        if !referencing(inventory, cluster, number).is_left_out
            && is_asked_for(settings, rule.id)
            && !settings.scope.ignored.contains(rule.id)
        {
            let about = ProblemObject::Volume(cluster, number);
            let cluster = named_cluster(inventory, cluster);
            problems.push(InventoryProblem { rule, severity, cluster, about });
        }
    }
}

/// Whether a finding about a disk is reported: by its rule, and by the namespace of its claim.
fn is_reported(settings: &Settings, disk: &Disk, id: RuleId) -> bool {
    let scope = &settings.scope;
    let claim = disk.made.as_ref().and_then(|it| it.claim.as_ref());
    let is_in =
        scope.namespaces.is_empty() || claim.is_some_and(|it| scope.includes(&it.namespace));
    // It has no labels, and no fields.
    let is_plain = scope.selector.is_empty() && scope.fields.is_empty() && scope.objects.is_empty();
    is_in && is_plain && is_asked_for(settings, id) && !scope.ignored.contains(id)
}

/// A gap that limits all rules about listings.
fn gap(kind: Kind, reason: String) -> UnreadGap {
    let gap = Gap { kind, namespace: None, reason };
    UnreadGap { gap, rules: RULES.iter().map(|it| it.id).collect() }
}

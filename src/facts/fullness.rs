//! How full the volume of a claim is, and whether measured figures are about it at all.
//!
//! A kubelet writes what it does not know as 0 (`volume_stat_calculator.go`), a share reports the whole file system
//! (`pkg/volume/metrics_statfs.go`), and a series outlives its claim. Whatever is not certainly about this volume is
//! unknown: never full, and never empty.

use std::borrow::Cow;

use super::in_use::{claim_workloads, pod_users, template_of};
use crate::{
    cluster::{Cx, Placed as _, Seen},
    drivers::{Place, Reach, Reference},
    model::{
        Bytes, Claim, ClaimRef, Kind, Text, Time, Volume, VolumeSource, format_bytes, format_time,
    },
    usage::{UsageFigures, UsageHistory, VolumeFigures, VolumeMeasure, differ},
};

/// Fullness of the volume of a claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fullness {
    /// The file system is that of this volume alone.
    Measured(FileSystem),
    /// The file system is larger than the volume, or another claim has the same one: what is used need not be of this
    /// claim.
    Shared(FileSystem),
    /// It is not known, for this reason.
    Unknown(Cow<'static, str>),
}

impl Fullness {
    /// Returns what is known, in a few words.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Measured(system) => system.told(),
            Self::Shared(system) => format!("{}: of a file system that it shares", system.told()),
            Self::Unknown(why) => format!("unknown: {why}"),
        }
    }

    /// That of a claim of which something was not read.
    pub(crate) const UNSEEN: Self = Self::Unknown(Cow::Borrowed("not read"));
}

/// A file system, as the kubelet of the node sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileSystem {
    /// Its size.
    pub(crate) capacity: Bytes,
    /// What may still be written.
    pub(crate) available: Bytes,
    /// What is used.
    pub(crate) used: Bytes,
    /// Inodes that are used, and all; `None` where it has no fixed number.
    pub(crate) inodes: Option<(u64, u64)>,
    /// Time of the measurement.
    pub(crate) at: Option<Time>,
    /// The node, or the address at which its kubelet was asked.
    pub(crate) node: Option<Text>,
    /// Development.
    pub(crate) history: UsageHistory,
}

impl FileSystem {
    /// Returns what is used, in per cent, as `df` prints it: rounded up, of what is used and available.
    pub(crate) fn used_percent(&self) -> u64 {
        percent(self.used, self.used.saturating_add(self.available))
    }

    /// Returns whether it was measured within the hour before the view of the cluster, or is later than that: what is
    /// older, or of an unknown time, is shown and judged by nothing.
    pub(crate) fn is_fresh(&self, now: Option<Time>) -> bool {
        self.at.zip(now).is_some_and(|(at, now)| now - at <= FRESH)
    }

    /// Returns what is used and available, and when that was measured, in a few words.
    pub(crate) fn told(&self) -> String {
        let at = self.at.as_ref().map_or_else(|| "an unknown time".to_owned(), format_time);
        let inodes = self.inodes_percent().map(|it| format!(", {it}% of the inodes"));
        format!(
            "{}% used{}, {} of {} free, measured at {at}",
            self.used_percent(),
            inodes.unwrap_or_default(),
            format_bytes(self.available),
            format_bytes(self.capacity)
        )
    }

    /// Returns the inodes that are used, in per cent.
    pub(crate) fn inodes_percent(&self) -> Option<u64> {
        self.inodes.map(|(used, all)| percent(used, all))
    }
}

/// Returns a part of a whole in per cent, rounded up.
fn percent(part: u64, whole: u64) -> u64 {
    let percent = (u128::from(part) * 100).div_ceil(u128::from(whole.max(1)));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// Age up to which a measurement is that of now.
const FRESH: chrono::Duration = chrono::Duration::hours(1);
/// Largest difference of measurements that count as made at one time.
const SAME_TIME: chrono::Duration = chrono::Duration::minutes(10);
/// How much later than the view of the cluster a measurement may be: until then, claims come and go.
const MOST_AHEAD: chrono::Duration = chrono::Duration::hours(1);
/// Least part of a file system that is used or available, in per cent: ext4 reserves 5, its administrator perhaps 10. After
/// an expansion the size is new for minutes and the rest is old (pvc-autoresizer issue 387).
const LEAST_TOLD: u128 = 88;
/// The same of small file systems, whose tables take their share.
const LEAST_TOLD_OF_SMALL: u128 = 80;
/// Size below which a file system is small.
const SMALL: Bytes = 1 << 30;
/// How much older than a query its answer may be.
const LOOKBACK: chrono::Duration = chrono::Duration::minutes(5);

/// Judges how full the volume of a claim is, by the figures that were read.
///
/// # Errors
/// When its volume, or the pods of its namespace, were not read.
pub(crate) fn fullness(cx: &Cx, claim: &Claim) -> Seen<Fullness> {
    let unknown = |why: &'static str| Ok(Fullness::Unknown(Cow::Borrowed(why)));
    let Some(figures) = cx.figures() else { return unknown("no figures were read") };
    let Some(name) = &claim.volume_name else { return unknown("not bound") };
    let Some(volume) = cx.volume(name)? else { return unknown("its volume is gone") };
    let is_its = |it: &ClaimRef| it.key == claim.key();
    if volume.claim_ref.as_ref().is_some_and(|it| !is_its(it)) {
        return unknown("its volume is another claim's");
    }
    if volume.access.is_block || claim.access.is_block {
        return unknown("block");
    }
    let all = figures.of(&claim.key());
    let created = claim.metadata.created;
    let is_earlier = |it: &&VolumeFigures| {
        let lookback = if it.is_evaluated { LOOKBACK } else { chrono::Duration::zero() };
        it.at().zip(created).is_some_and(|(at, created)| at < created + lookback)
    };
    let of_node: Vec<_> = all.iter().filter(|it| !is_of_no_node(cx, it)).collect();
    let own: Vec<_> = of_node.iter().copied().filter(|it| !is_earlier(it)).collect();
    if own.is_empty() {
        if !of_node.is_empty() {
            return unknown("of an earlier claim");
        }
        if !all.is_empty() {
            return unknown("of a node that does not exist");
        }
        if matches!(volume.source, VolumeSource::HostPath(_)) {
            return unknown("hostPath");
        }
        let pods = pod_users(cx, claim)?;
        let mut running = pods.iter().filter(|it| !it.pod.is_finished()).peekable();
        if running.peek().is_none() {
            return unknown("not mounted");
        }
        let silent = running.find_map(|it| {
            let node = it.pod.node.as_ref()?;
            Some(format!("node {node}: {}", figures.silence(node)?))
        });
        return match silent {
            Some(why) => Ok(Fullness::Unknown(Cow::Owned(why))),
            None => unknown("not in the figures"),
        };
    }
    let systems: Vec<_> = own.iter().filter_map(|it| file_system(it)).collect();
    let Some(mut system) = systems.iter().max_by_key(|it| it.at).cloned() else {
        return unknown("not told by its driver");
    };
    if system.at.zip(cx.clock()).is_some_and(|(at, now)| at - now > MOST_AHEAD) {
        return unknown("measured after the view");
    }
    let contradicts = |it: &FileSystem| {
        let is_of_same_time = it.at.zip(system.at).is_none_or(|(one, at)| at - one <= SAME_TIME);
        let whole = it.capacity.max(system.capacity);
        is_of_same_time
            && (differ(it.capacity, system.capacity, whole)
                || differ(it.available, system.available, whole))
    };
    if own.iter().any(|it| it.contradicts) || systems.iter().any(contradicts) {
        return unknown("contradicting");
    }
    for it in own.iter().filter_map(|it| it.history.as_deref()) {
        system.history.join(it);
    }
    if let Some(at) = system.at {
        system.history.end_at(at);
    }
    if system.history.since.zip(created).is_some_and(|(since, created)| since < created) {
        // It is that of an earlier claim of this name as well.
        system.history = UsageHistory::default();
    }
    let is_resized = claim.resize_status.as_deref().is_some_and(|it| !it.is_empty())
        || ["Resizing", "FileSystemResizePending"].iter().any(|it| claim.condition(it).is_some());
    if is_resized {
        return unknown("expansion under way");
    }
    let Some(size) = volume.capacity.or(claim.capacity).filter(|it| *it > 0) else {
        return unknown("no size");
    };
    // In tenths: a file system has less than its disk, and rounding of drivers may give a little more.
    let tenths = u128::from(system.capacity) * 10;
    let size = u128::from(size);
    if tenths > size * 11 || is_share(volume, figures, &system) {
        return Ok(Fullness::Shared(system));
    }
    match tenths < size * 5 {
        true => unknown("smaller than its volume"),
        false => Ok(Fullness::Measured(system)),
    }
}

/// Returns the last reading of the file system of a volume whose claim is gone; `None` where there is none that is certainly
/// about it: another claim has that name now, or another volume had a claim of that name.
///
/// # Errors
/// When claims of its namespace or volumes were not read.
pub(crate) fn last_reading(cx: &Cx, volume: &Volume) -> Seen<Option<FileSystem>> {
    let Some((figures, claim)) = cx.figures().zip(volume.claim_ref.as_ref()) else {
        return Ok(None);
    };
    if cx.claim(&claim.key)?.is_some() || cx.volumes_of(&claim.key)?.len() > 1 {
        return Ok(None);
    }
    let all = figures.of(&claim.key).iter().filter(|it| !is_of_no_node(cx, it));
    let is_its = |it: &FileSystem| {
        let created = volume.metadata.created;
        let is_later = it.at.zip(created).is_some_and(|(at, created)| at > created + LOOKBACK);
        let fits = |size: Bytes| {
            let (tenths, size) = (u128::from(it.capacity) * 10, u128::from(size));
            (size * 5..=size * 11).contains(&tenths)
        };
        is_later && volume.capacity.is_some_and(fits)
    };
    Ok(all.filter_map(file_system).filter(is_its).max_by_key(|it| it.at))
}

/// Returns the file system in figures; `None` where the kubelet wrote what it does not know as nothing: what is used and
/// available is not the whole then, of which only a part is reserved.
fn file_system(figures: &VolumeFigures) -> Option<FileSystem> {
    let bytes = [VolumeMeasure::Capacity, VolumeMeasure::Available, VolumeMeasure::Used];
    let [capacity, available, used] = bytes.map(|it| figures.get(it));
    let (capacity, available, used) = (capacity.filter(|it| *it > 0)?, available?, used?);
    let at = figures.at();
    let is_together = |it: VolumeMeasure| {
        figures.at_of(it).zip(at).is_none_or(|(one, at)| (one - at).abs() <= SAME_TIME)
    };
    let told = u128::from(used) + u128::from(available);
    let whole = u128::from(capacity);
    // In hundredths. Ceph and ZFS may tell a little more than the whole.
    let least = if capacity < SMALL { LEAST_TOLD_OF_SMALL } else { LEAST_TOLD };
    if told * 100 < whole * least
        || told * 100 > whole * 101
        || used == 0
        || !bytes.into_iter().all(is_together)
    {
        return None;
    }
    // Those that are not told any more are not of this time.
    let of = |it| figures.get(it).filter(|number| *number > 0 && is_together(it));
    let inodes = of(VolumeMeasure::InodesUsed).zip(of(VolumeMeasure::Inodes));
    Some(FileSystem {
        capacity,
        available,
        used,
        inodes: inodes.filter(|(used, all)| used <= all),
        at,
        node: figures.node.clone(),
        history: UsageHistory::default(),
    })
}

/// Whether what is used in the file system of a volume need not be of its claim: a directory that its provisioner made
/// on a node or a server beside others, or one whose file system another claim reports.
fn is_share(volume: &Volume, figures: &UsageFigures, system: &FileSystem) -> bool {
    if volume.places().iter().any(Place::is_device) {
        return false;
    }
    let drivers = || volume.drivers();
    // Whole disks, which it found.
    let is_disk = drivers().any(|it| it.starts_with("local-volume-provisioner-"));
    let is_path = matches!(volume.source, VolumeSource::HostPath(_) | VolumeSource::Local(_));
    let is_made = volume.is_dynamic() && is_path && !is_disk;
    let is_nfs = drivers().any(|it| DIRECTORIES.contains(&it))
        || matches!(&volume.source, VolumeSource::InTree(source) if &**source == "nfs");
    let is_of_share = volume
        .backend
        .as_ref()
        .is_some_and(|it| Reference::of(it, &volume.attributes).family.expansion.futile.is_some());
    // The disks of two nodes are two, however alike they are.
    let node = system.node.as_ref().filter(|_| matches!(volume.source, VolumeSource::Local(_)));
    is_made || is_nfs || is_of_share || figures.are_alike([system.capacity, system.available], node)
}

/// Whether figures are of a node that the cluster does not have, by the name of the node and not by an address.
fn is_of_no_node(cx: &Cx, figures: &VolumeFigures) -> bool {
    let Some(node) = figures.node.as_deref().filter(|it| !it.contains([':', '/'])) else {
        return false;
    };
    matches!(cx.node(node, Kind::PersistentVolumeClaim), Ok(None))
}

/// Drivers whose volumes are directories in a file system that has others.
const DIRECTORIES: &[&str] = &[
    "nfs",
    "nfs.csi.k8s.io",
    "smb.csi.k8s.io",
    "hostpath.csi.k8s.io",
    "kubevirt.io.hostpath-provisioner",
];

/// Time for which a volume must have been nearly empty to count as too large.
const LONG: chrono::Duration = chrono::Duration::days(14);
/// Number of days of this time that must have been sampled: a pod that does not run measures nothing.
const LONG_DAYS: usize = 14;
/// Number of samples in this time, at least: what is needed for half an hour each night is missed by one a day.
const LONG_SAMPLES: usize = 14 * 12;
/// Share of a volume below which the most that was used is little, in per cent.
const LITTLE: u128 = 20;
/// Least number of unused bytes that are worth a word.
const WORTHWHILE: Bytes = 10 << 30;

/// Returns the file system of a claim as it is now, and whether it has more than this claim; `None` where that is not
/// known, and of a claim that is on its way out.
///
/// # Errors
/// When its volume, or the pods of its namespace, were not read.
pub(crate) fn measured_now(cx: &Cx, claim: &Claim) -> Seen<Option<(FileSystem, bool)>> {
    if cx.figures().is_none() || claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    let system = match fullness(cx, claim)? {
        Fullness::Measured(system) => (system, false),
        Fullness::Shared(system) => (system, true),
        Fullness::Unknown(_) => return Ok(None),
    };
    Ok(Some(system).filter(|(it, _)| it.is_fresh(cx.clock())))
}

/// Returns the volume of a claim of which most was never used for two weeks, and the number of these bytes; `None` unless
/// they are known to have been unused for so long, and are billed.
///
/// # Errors
/// When its volume, or the pods of its namespace, were not read.
pub(crate) fn over_provisioned<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
) -> Seen<Option<(&'a Volume, Bytes, FileSystem)>> {
    let Some((system, false)) = measured_now(cx, claim)? else { return Ok(None) };
    let Some(name) = claim.volume_name.as_deref() else { return Ok(None) };
    let Some((volume, unused)) = cx.volume(name)?.zip(unused_for_long(&system)) else {
        return Ok(None);
    };
    Ok(is_billed_by_size(volume).then_some((volume, unused, system)))
}

/// Returns the bytes of a file system that were never used for two weeks, if they are most of it.
fn unused_for_long(system: &FileSystem) -> Option<Bytes> {
    let peak = system.history.peak.as_ref()?;
    let used = peak.used.max(system.used);
    let unused = system.capacity.saturating_sub(used);
    let at = system.at?;
    let is_sampled = peak.days >= LONG_DAYS && peak.samples >= LONG_SAMPLES;
    // A larger one is as new as its size, and so is what is unused of it.
    let size = system.history.size.as_ref();
    let is_steady = size.is_some_and(|it| it.bytes == system.capacity && at - it.since >= LONG);
    let is_known = at - peak.since >= LONG && is_sampled && is_steady;
    let is_little = u128::from(used) * 100 < u128::from(system.capacity) * LITTLE;
    (is_known && is_little && unused >= WORTHWHILE).then_some(unused)
}

/// Whether a provider bills the size of a volume, however much of it is used: a disk of a cloud.
fn is_billed_by_size(volume: &Volume) -> bool {
    let places = volume.places();
    let is_of_provider = volume.backend.as_ref().is_some_and(|it| {
        let family = Reference::of(it, &volume.attributes).family;
        // Its administrator chooses whether disks are thin.
        family.reach == Reach::Provider && family.id != "vsphere"
    });
    is_of_provider && !places.is_empty() && places.iter().all(Place::is_device)
}

/// Returns who uses a claim, in a word or two: its workload, the number of its pods, or `nothing`.
///
/// # Errors
/// When pods or workloads of its namespace were not read.
pub(crate) fn used_by(cx: &Cx, claim: &Claim) -> Seen<String> {
    let pods = pod_users(cx, claim)?;
    let running: Vec<_> = pods.iter().filter(|it| !it.pod.is_finished()).collect();
    let workloads = claim_workloads(cx, &claim.key())?;
    let named = |kind: Kind, name: &str| match kind {
        Kind::Pod => format!("pod/{name}"),
        _ => format!("{}/{name}", kind.short()),
    };
    let of_template = workloads.active.iter().find(|it| it.kind != Kind::ReplicaSet);
    if let Some(workload) = of_template.or(workloads.active.first()) {
        return Ok(match workloads.active.iter().filter(|it| it.kind == workload.kind).count() {
            1 => named(workload.kind, &workload.name),
            several => format!("{several} workloads"),
        });
    }
    let mut controllers: Vec<_> = running
        .iter()
        .filter_map(|it| {
            let controller = it.pod.controller.as_ref()?;
            let kind = Kind::parse_resource(&controller.kind.to_lowercase())?;
            Some(named(kind, &controller.name))
        })
        .collect();
    controllers.sort_unstable();
    controllers.dedup();
    match (&*controllers, &*running) {
        ([one], _) if running.iter().all(|it| it.pod.controller.is_some()) => Ok(one.clone()),
        (_, [one]) => Ok(named(Kind::Pod, &one.pod.name)),
        (_, []) => Ok(match template_of(cx, claim)?.first() {
            Some(template) => named(Kind::StatefulSet, &template.set.metadata.name),
            None => "nothing".to_owned(),
        }),
        (_, several) => Ok(format!("{} pods", several.len())),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        cluster::{Change, Dirty},
        model::{Settings, parse_day},
        objects::whole_cluster::cluster_of,
        usage::figures_of,
    };

    const GI: u64 = 1 << 30;

    fn volume() -> Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "pv-db", "uid": "6a1f02a7-f4e6-5ec4-8e0b-fc87ae581be5"},
            "spec": {
                "capacity": {"storage": "10Gi"}, "persistentVolumeReclaimPolicy": "Delete",
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-0aaaaaaaaaaaaaaa1"},
                "claimRef": {"namespace": "shop", "name": "db", "uid": "u"},
            },
            "status": {"phase": "Bound"},
        })
    }

    fn claim() -> Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "db", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-05-01T00:00:00Z"},
            "spec": {"volumeName": "pv-db", "resources": {"requests": {"storage": "10Gi"}}},
            "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}},
        })
    }

    fn node(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}})
    }

    /// A measurement of a claim on a node: its capacity, what is available and used, and the time.
    fn measured(claim: &str, node: &str, numbers: [u64; 3], time: &str) -> String {
        let [capacity, available, used] = numbers;
        let claim = json!({"name": claim, "namespace": "shop"});
        let volume = json!({
            "time": time, "capacityBytes": capacity, "availableBytes": available, "usedBytes": used, "pvcRef": claim,
        });
        json!({"node": {"nodeName": node}, "pods": [{"volume": [volume]}]}).to_string()
    }

    fn judged(claim: &Value, volume: &Value, figures: &str) -> String {
        let mut cluster = cluster_of([claim, volume, &node("n1"), &node("n2")], [], &[]);
        let now = parse_day("2026-06-01").expect("it is a day");
        cluster.apply(Change::Clock(now), &mut Dirty::default());
        let figures = Box::new(figures_of(figures));
        cluster.apply(Change::Figures(figures), &mut Dirty::default());
        let (settings, facts) = (Settings::default(), RefCell::default());
        let cx = Cx::new(&cluster, &settings, &facts);
        let (_, claim) = cluster.claims().next().expect("there is one");
        match fullness(&cx, claim).expect("all was read") {
            Fullness::Measured(it) => format!("{}%", it.used_percent()),
            Fullness::Shared(it) => format!("shared {}", it.capacity / GI),
            Fullness::Unknown(why) => why.into_owned(),
        }
    }

    #[test]
    fn figures_are_used_only_if_they_are_about_the_volume() {
        const NOW: &str = "2026-06-01T00:00:00Z";
        let own = |numbers| measured("db", "n1", numbers, NOW);
        let full = [10 * GI, GI, 9 * GI];
        let told = |figures: &str| judged(&claim(), &volume(), figures);
        for (figures, expected) in [
            // `df` rounds up, and counts what is reserved as neither.
            (own(full), "90%"),
            (own([10 * GI, GI, 8 * GI]), "89%"),
            (own([10 * GI, 0, 9 * GI]), "100%"),
            (own([10 * GI, 10 * GI, 1]), "1%"),
            (own([5 * GI, GI, 4 * GI]), "80%"),
            // What is not known is written as 0, or as the largest number.
            (own([0, 0, 0]), "not told by its driver"),
            (own([10 * GI, 0, 0]), "not told by its driver"),
            (own([10 * GI, u64::MAX, 0]), "not told by its driver"),
            (own([10 * GI, GI, u64::MAX]), "not told by its driver"),
            (own([u64::MAX, GI, GI]), "not told by its driver"),
            // What is missing is written as 0: neither full nor empty. What is reserved is little.
            (own([10 * GI, 0, GI]), "not told by its driver"),
            (own([10 * GI, 3 * GI, 0]), "not told by its driver"),
            (own([10 * GI, 10 * GI, 0]), "not told by its driver"),
            (own([10 * GI, 300 * GI, GI]), "not told by its driver"),
            (own([10 * GI, 2 * GI, 7 * GI]), "78%"),
            // What grew is not told yet.
            (own([12 * GI, GI, 9 * GI]), "not told by its driver"),
            // The whole file system of a share, and one that has not grown yet.
            (own([12 * GI, GI, 11 * GI]), "shared 12"),
            (own([4 * GI, GI, 3 * GI]), "smaller than its volume"),
            (measured("db", "n1", full, "2026-04-30T00:00:00Z"), "of an earlier claim"),
            (measured("other", "n1", full, NOW), "not mounted"),
            (
                measured("db", "n1", full, NOW)
                    + &measured("db", "n2", [20 * GI, GI, 19 * GI], NOW),
                "contradicting",
            ),
            (
                measured("db", "n1", full, NOW) + &measured("db", "n2", [10 * GI, 9 * GI, GI], NOW),
                "contradicting",
            ),
            // One of two nodes knows nothing.
            (measured("db", "n1", full, NOW) + &measured("db", "n2", [0, 0, 0], NOW), "90%"),
            (measured("db", "n1", full, "2026-08-01T00:00:00Z"), "measured after the view"),
            // The newer of two nodes counts, and what an earlier claim left is none.
            (
                measured("db", "n1", full, "2026-05-02T00:00:00Z")
                    + &measured("db", "n2", [10 * GI, 5 * GI, 5 * GI], NOW),
                "50%",
            ),
            (
                measured("db", "n1", [20 * GI, GI, 19 * GI], "2026-04-30T00:00:00Z") + &own(full),
                "90%",
            ),
        ] {
            assert_eq!(told(&figures), expected, "{figures}");
        }
        // Two disks of one size are as full as each other; two directories are one file system.
        let twice = own(full) + &measured("other", "n1", full, NOW);
        assert_eq!(told(&twice), "90%");
        let mut directory = volume();
        directory["spec"]["csi"] = Value::Null;
        directory["spec"]["local"] = json!({"path": "/mnt/data/db"});
        assert_eq!(judged(&claim(), &directory, &twice), "shared 10");
        assert_eq!(judged(&claim(), &directory, &own(full)), "90%");
        // A claim that two nodes mount is one claim; what a provisioner makes lies beside others.
        let on_two = own(full) + &measured("db", "n2", full, NOW);
        assert_eq!(judged(&claim(), &directory, &on_two), "90%");
        directory["metadata"]["annotations"] =
            json!({"pv.kubernetes.io/provisioned-by": "rancher.io/local-path"});
        assert_eq!(judged(&claim(), &directory, &own(full)), "shared 10");
        let mut share = volume();
        share["spec"]["csi"] = Value::Null;
        share["spec"]["nfs"] = json!({"server": "10.0.0.2", "path": "/export/a"});
        assert_eq!(judged(&claim(), &share, &own(full)), "shared 10");
        let mut others = volume();
        others["spec"]["claimRef"]["name"] = json!("other");
        assert_eq!(judged(&claim(), &others, &own(full)), "its volume is another claim's");
    }

    #[test]
    fn nothing_is_foretold_by_what_an_earlier_claim_used() {
        let series = |what: &str, number: &dyn Fn(u64) -> u64| {
            // Eight days up to 2026-06-01, a sample every six hours.
            let values = (0..=32_u64)
                .map(|it| json!([1_780_272_000 - (32 - it) * 21_600, number(it).to_string()]));
            let name = format!("kubelet_volume_stats_{what}_bytes");
            let metric =
                json!({"__name__": name, "namespace": "shop", "persistentvolumeclaim": "db"});
            json!({"metric": metric, "values": values.collect::<Vec<_>>()})
        };
        let result = [
            series("capacity", &|_| 10 * GI),
            series("available", &|it| (33 - it) * (GI / 8)),
            series("used", &|it| 5 * GI + it * (GI / 8)),
        ];
        let answer =
            json!({"status": "success", "data": {"resultType": "matrix", "result": result}});
        let foretold = |created: &str| {
            let mut claim = claim();
            claim["metadata"]["creationTimestamp"] = json!(created);
            let volume = volume();
            let mut cluster = cluster_of([&claim, &volume], [], &[]);
            let figures = Box::new(figures_of(&answer.to_string()));
            cluster.apply(Change::Figures(figures), &mut Dirty::default());
            let (settings, facts) = (Settings::default(), RefCell::default());
            let cx = Cx::new(&cluster, &settings, &facts);
            let (_, claim) = cluster.claims().next().expect("there is one");
            let judged = fullness(&cx, claim);
            let Ok(Fullness::Measured(system)) = judged else { panic!("{judged:?}") };
            let days =
                system.history.full_in(system.available).map(|it| (it / 864.0).round() / 100.0);
            (days, system.history.peak.map(|it| it.used))
        };
        assert_eq!(foretold("2026-05-01T00:00:00Z"), (Some(0.25), Some(9 * GI)));
        assert_eq!(foretold("2026-05-28T00:00:00Z"), (None, None));
    }

    #[test]
    fn some_volumes_are_never_judged() {
        let figures = measured("db", "n1", [10 * GI, GI, 9 * GI], "2026-06-01T00:00:00Z");
        let other = measured("other", "n1", [10 * GI, GI, 9 * GI], "2026-06-01T00:00:00Z");
        let told = |of_claim: &str, value: Value| {
            let mut claim = claim();
            *claim.pointer_mut(of_claim).expect("it has that") = value;
            judged(&claim, &volume(), &figures)
        };
        assert_eq!(told("/spec/volumeName", Value::Null), "not bound");
        assert_eq!(told("/spec/volumeName", json!("pv-gone")), "its volume is gone");
        let resized =
            json!({"phase": "Bound", "conditions": [{"type": "Resizing", "status": "True"}]});
        assert_eq!(told("/status", resized), "expansion under way");
        let failed = json!({"phase": "Bound", "allocatedResourceStatuses": {"storage": "NodeResizePending"}});
        assert_eq!(told("/status", failed), "expansion under way");
        let mut block = volume();
        block["spec"]["volumeMode"] = json!("Block");
        assert_eq!(judged(&claim(), &block, &figures), "block");
        let mut path = volume();
        path["spec"]["csi"] = Value::Null;
        path["spec"]["hostPath"] = json!({"path": "/data/db"});
        assert_eq!(judged(&claim(), &path, &other), "hostPath");
        let mut unsized_volume = volume();
        unsized_volume["spec"]["capacity"] = Value::Null;
        let mut bare = claim();
        bare["status"] = json!({"phase": "Bound"});
        assert_eq!(judged(&bare, &unsized_volume, &figures), "no size");
    }
}

//! `Totals`: numbers and capacities of all findings.

use std::collections::BTreeMap;

use super::scope::{exempt, in_scope, is_asked_for, namespace};
use super::{Assessor, earliest, judge_with};
use crate::cluster::{Cluster, Cx, Subject};
use crate::facts::{self, UsageSummary};
use crate::model::{
    Bytes, Finding, ObjectKey, Phase, RuleId, Settings, Severity, Text, Time, VerdictState, Volume,
};
use crate::rules::{CapacityRisk, Rule, claim};

/// Numbers and capacities of all findings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Findings by severity.
    pub by_severity: BTreeMap<Severity, usize>,
    /// Findings by rule.
    pub by_rule: BTreeMap<RuleId, usize>,
    /// The numbers of volumes and claims in scope.
    pub in_scope: (usize, usize),
    /// Findings that another finding explains, whether that is in scope or not.
    pub caused: usize,
    /// Findings left out by annotation, exemption or `--ignore`.
    pub exempted: usize,
    /// Findings by rule, severity and namespace: that of the object, or of its claim.
    pub by_namespace: BTreeMap<(RuleId, Severity, Option<Text>), usize>,
    /// Released, leaking, unused and endangered capacity, by where it is.
    pub storage: BTreeMap<StoragePool, StorageTotals>,
    /// Capacity of volumes that gc could reclaim now.
    pub reclaimable: Bytes,
    /// Capacity of all Released volumes in scope, each backend volume once.
    pub released: Bytes,
    /// Capacity of backend volumes that are leaked or about to be.
    pub leaking: Bytes,
    /// Capacity of volumes whose data can be destroyed, or read by other users.
    pub at_risk: Bytes,
    /// What is known of how full volumes are, if that was read.
    pub usage: Option<UsageSummary>,
    /// Bytes that are billed and were not used for long, by class and driver.
    pub over_provisioned: BTreeMap<[Option<Text>; 2], Bytes>,
}

impl Totals {
    /// Counts a finding that comparing clusters has made, and what is at risk because of it.
    pub fn count(&mut self, finding: &Finding, at_risk: Bytes) {
        let (rule, severity) = (finding.rule, finding.severity);
        let volume = finding.volume.as_ref();
        let claim = volume.and_then(|it| it.claim.as_deref()).and_then(|it| it.split_once('/'));
        let namespace = claim.map(|it| Text::from(it.0));
        if at_risk > 0 {
            let pool = StoragePool {
                namespace: namespace.clone(),
                class: volume.and_then(|it| it.class.clone()),
                driver: volume.and_then(|it| it.driver.clone()),
                ..StoragePool::default()
            };
            let pool = self.storage.entry(pool).or_default();
            pool.volumes_at_risk += 1;
            pool.at_risk = pool.at_risk.saturating_add(at_risk);
            self.at_risk = self.at_risk.saturating_add(at_risk);
        }
        self.tally(rule, severity, namespace);
    }

    /// Counts a finding of a rule, with this severity and the namespace of its claim.
    pub fn tally(&mut self, rule: RuleId, severity: Severity, namespace: Option<Text>) {
        *self.by_severity.entry(severity).or_default() += 1;
        *self.by_rule.entry(rule).or_default() += 1;
        *self.by_namespace.entry((rule, severity, namespace)).or_default() += 1;
    }

    /// Adds the numbers of other findings.
    pub fn add_findings(&mut self, other: &Self) {
        fn add<K: Ord + Clone>(sums: &mut BTreeMap<K, usize>, others: &BTreeMap<K, usize>) {
            for (key, count) in others {
                *sums.entry(key.clone()).or_default() += count;
            }
        }
        add(&mut self.by_severity, &other.by_severity);
        add(&mut self.by_rule, &other.by_rule);
        add(&mut self.by_namespace, &other.by_namespace);
    }

    /// Adds those of a cluster, which is the place of its capacity.
    pub fn absorb(&mut self, cluster: &Text, other: &Self) {
        self.add_findings(other);
        for (pool, storage) in &other.storage {
            let pool = StoragePool { cluster: Some(Text::clone(cluster)), ..pool.clone() };
            self.storage.entry(pool).or_default().absorb(storage);
        }
        self.in_scope.0 += other.in_scope.0;
        self.in_scope.1 += other.in_scope.1;
        self.caused += other.caused;
        self.exempted += other.exempted;
        self.reclaimable = self.reclaimable.saturating_add(other.reclaimable);
        self.released = self.released.saturating_add(other.released);
        self.leaking = self.leaking.saturating_add(other.leaking);
        self.at_risk = self.at_risk.saturating_add(other.at_risk);
        if let Some(usage) = &other.usage {
            self.usage.get_or_insert_default().absorb(usage);
        }
        for (names, unused) in &other.over_provisioned {
            self.add_over_provisioned(names.clone(), *unused);
        }
    }

    fn add_over_provisioned(&mut self, names: [Option<Text>; 2], unused: Bytes) {
        let sum = self.over_provisioned.entry(names).or_default();
        *sum = sum.saturating_add(unused);
    }
}

/// The namespace, class, driver and age for which capacity is added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoragePool {
    /// The cluster, where several are added up.
    pub cluster: Option<Text>,
    /// The namespace of the claim, if there is one.
    pub namespace: Option<Text>,
    /// The storage class, if it is known.
    pub class: Option<Text>,
    /// The CSI driver or in-tree plugin, if it is known.
    pub driver: Option<Text>,
    /// The least number of days for which the volumes are Released, as one of [`Self::DAYS`]; `None` where they are
    /// not, or for an unknown time.
    pub released_days: Option<u32>,
}

/// Reason why a backend volume costs more than it is worth. Each counts as the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waste {
    /// The backend volume is leaked, or about to be.
    Leaking,
    /// The claim of the volume is deleted.
    Released,
    /// Nothing uses the claim of the volume, which does not belong to a paused StatefulSet.
    Unused,
}

impl Waste {
    /// All reasons, the worst first.
    pub const ALL: [Self; 3] = [Self::Leaking, Self::Released, Self::Unused];

    /// The name of the reason in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leaking => "leaking",
            Self::Released => "released",
            Self::Unused => "unused",
        }
    }
}

/// Capacities in one pool. Each backend volume counts once as wasted, at the volume with the first name of those that
/// reference it, and beside that once at risk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageTotals {
    by_waste: [Bytes; Waste::ALL.len()],
    /// Number of wasted backend volumes.
    pub volumes: usize,
    /// Capacity of volumes whose data can be destroyed, or read by other users.
    pub at_risk: Bytes,
    /// Number of backend volumes whose data is at risk.
    pub volumes_at_risk: usize,
    /// Time since which the volume that was Released first is Released, of those with a known time.
    pub oldest_released: Option<Time>,
}

impl StorageTotals {
    /// Returns the capacity that is wasted for one reason.
    pub const fn of(&self, waste: Waste) -> Bytes {
        self.by_waste[waste as usize]
    }

    /// Returns the capacity that is wasted for any reason.
    pub fn sum(&self) -> Bytes {
        self.by_waste.into_iter().fold(0, Bytes::saturating_add)
    }

    /// Adds capacity that is wasted for one reason.
    pub const fn add(&mut self, waste: Waste, bytes: Bytes) {
        let sum = &mut self.by_waste[waste as usize];
        *sum = sum.saturating_add(bytes);
    }

    /// Adds the totals of another pool.
    pub fn absorb(&mut self, other: &Self) {
        for waste in Waste::ALL {
            self.add(waste, other.of(waste));
        }
        self.at_risk = self.at_risk.saturating_add(other.at_risk);
        self.volumes += other.volumes;
        self.volumes_at_risk += other.volumes_at_risk;
        self.oldest_released = earliest(self.oldest_released, other.oldest_released);
    }
}

impl StoragePool {
    /// Lower bounds of the age groups, in days.
    pub const DAYS: [u32; 5] = [0, 7, 30, 90, 365];

    fn of_volume(cx: &Cx, volume: &Volume) -> Self {
        let is_released = volume.phase == Phase::Released;
        let since = is_released.then(|| facts::released_age(cx, volume).since).flatten();
        Self::of_released(cx, volume, since)
    }

    /// Returns the pool of a volume with the time since which it is Released.
    fn of_released(cx: &Cx, volume: &Volume, since: Option<Time>) -> Self {
        let columns = facts::columns(volume);
        let namespace = volume.claim_ref.as_ref().map(|it| Text::clone(&it.key.namespace));
        let days = since.zip(cx.cluster().clock()).map(|(since, now)| (now - since).num_days());
        let released_days =
            days.and_then(|days| Self::DAYS.into_iter().rev().find(|it| i64::from(*it) <= days));
        let (class, driver) = (columns.class, columns.driver);
        Self { namespace, class, driver, released_days, ..Self::default() }
    }

    /// Returns the pool of a subject without a volume.
    fn of_subject(cluster: &Cluster, subject: &Subject) -> Self {
        match subject {
            Subject::Claim(id) => cluster.claim_at(*id).map(|it| Self {
                namespace: Some(Text::clone(&it.namespace)),
                class: it.class.clone(),
                ..Self::default()
            }),
            Subject::Backend(key) => cluster.kept_backend(key).map(|it| Self {
                class: it.class.clone(),
                driver: Some(Text::clone(&key.driver)),
                ..Self::default()
            }),
            _ => None,
        }
        .unwrap_or_default()
    }
}

/// The capacity of a subject.
fn capacity(cluster: &Cluster, subject: &Subject) -> Bytes {
    let found = match subject {
        Subject::Volume(id) => cluster.volume_at(*id).and_then(|it| it.capacity),
        Subject::Claim(id) => cluster.claim_at(*id).and_then(|it| it.capacity),
        Subject::Backend(key) => cluster.kept_backend(key).and_then(|it| it.capacity),
        Subject::StatefulSet(_)
        | Subject::Attachment(_)
        | Subject::Pod(_)
        | Subject::Class(_)
        | Subject::AttributesClass(_)
        | Subject::Snapshot(_)
        | Subject::Namespace(_)
        | Subject::AdmissionObject(_)
        | Subject::Driver(_) => None,
    };
    found.unwrap_or(0)
}

/// Returns the volume of a subject: itself, or that of a claim; none for a paused StatefulSet, which is no waste.
fn volume<'a>(cluster: &'a Cluster, subject: &Subject) -> Option<&'a Volume> {
    if let Subject::Claim(id) = subject {
        return cluster.volume_named(cluster.claim_at(*id)?.volume_name.as_deref()?);
    }
    let Subject::Volume(id) = subject else { return None };
    cluster.volume_at(*id)
}

/// Volumes by name.
type VolumesByName<'a> = BTreeMap<&'a str, &'a Volume>;

/// Whether a backend volume is counted at another volume: one of `these` with an earlier name, or any of `first`.
fn counts_elsewhere(
    cx: &Cx,
    volume: &Volume,
    these: &VolumesByName,
    first: &[&VolumesByName],
) -> bool {
    let is_first = |it: &Volume| first.iter().any(|volumes| volumes.contains_key(it.name()));
    let Ok(others) = cx.sharing(volume) else { return is_first(volume) };
    let equal = others.iter().filter(|(_, overlap)| overlap.is_same());
    let mut equal = equal.map(|(other, _)| other);
    let is_earlier = |it: &Volume| it.name() < volume.name() && these.contains_key(it.name());
    is_first(volume) || equal.any(|it| is_first(it) || is_earlier(it))
}

/// Whether the data of a claim may be lost when the claim is deleted.
fn is_lost_with_claim(cx: &Cx, subject: &Subject) -> bool {
    let Subject::Claim(id) = subject else { return true };
    let effect = cx.cluster().claim_at(*id).map(|claim| facts::data_effect(cx, claim));
    effect.is_some_and(|it| it.may_lose_data())
}

/// The class and driver of a claim, and the bytes of it that are billed and were not used for long.
fn over_provisioned(cx: &Cx, subject: &Subject) -> Option<([Option<Text>; 2], Bytes)> {
    let Subject::Claim(id) = subject else { return None };
    let claim = cx.cluster().claim_at(*id)?;
    let (volume, unused, _) = facts::over_provisioned(cx, claim).ok().flatten()?;
    let columns = facts::columns(volume);
    Some(([columns.class, columns.driver], unused))
}

/// Returns whether data is at risk by a finding: what is kept, and only shared, is not.
fn is_at_risk(cx: &Cx, subject: &Subject, rule: &Rule, severity: Severity) -> bool {
    match rule.capacity_risk {
        _ if severity == Severity::Info => false,
        CapacityRisk::Data => true,
        CapacityRisk::Deletion => is_lost_with_claim(cx, subject),
        CapacityRisk::None | CapacityRisk::Unused | CapacityRisk::Leak => false,
    }
}

impl Assessor {
    /// Returns whether the data of a volume is at risk, by what is counted of it or of its claim.
    pub fn is_at_risk(&self, cx: &Cx, volume: &Subject) -> bool {
        let (cluster, settings) = (cx.cluster(), cx.settings());
        let found = |subject: &Subject| {
            let found = self.cases.get(subject).map(|it| &it.found[..]).unwrap_or_default();
            in_scope(cluster, settings, subject)
                && found.iter().any(|(rule, severity)| {
                    !exempt(cluster, settings, subject, rule.id)
                        && is_at_risk(cx, subject, rule, *severity)
                })
        };
        let Subject::Volume(id) = volume else { return false };
        let claim = cluster.volume_at(*id).and_then(|it| it.claim_ref.as_ref());
        let claim = claim.and_then(|it| cluster.subject(&ObjectKey::claim(&it.key)));
        found(volume) || claim.is_some_and(|it| found(&it))
    }

    /// Counts the findings in scope, and adds up their capacities.
    pub fn totals(&self, cluster: &Cluster, settings: &Settings) -> Totals {
        let mut totals = Totals::default();
        let [mut released, mut leaking, mut unused, mut at_risk] =
            [(); 4].map(|()| VolumesByName::new());
        let cx = Cx::new(cluster, settings, &self.facts);
        for (subject, notes) in self.cases.iter() {
            if !in_scope(cluster, settings, subject) {
                continue;
            }
            let capacity = capacity(cluster, subject);
            let (mut leaks, mut risks, mut idles) = (false, false, false);
            let found = notes.found.iter();
            for (rule, severity) in found.filter(|(rule, _)| is_asked_for(settings, rule.id)) {
                if exempt(cluster, settings, subject, rule.id) {
                    totals.exempted += 1;
                    continue;
                }
                *totals.by_severity.entry(*severity).or_default() += 1;
                *totals.by_rule.entry(rule.id).or_default() += 1;
                let place = (rule.id, *severity, namespace(cluster, subject));
                *totals.by_namespace.entry(place).or_default() += 1;
                totals.caused += usize::from(self.is_caused(&cx, subject, rule.id));
                match rule.capacity_risk {
                    CapacityRisk::None => {}
                    CapacityRisk::Unused => idles = true,
                    CapacityRisk::Leak => leaks = true,
                    CapacityRisk::Data | CapacityRisk::Deletion => {
                        risks |= is_at_risk(&cx, subject, rule, *severity);
                    }
                }
                if rule.id == claim::OVER_PROVISIONED_ID
                    && let Some((names, unused)) = over_provisioned(&cx, subject)
                {
                    totals.add_over_provisioned(names, unused);
                }
                let reclaims = rule.remedies.iter().any(|remedy| remedy.id() == "reclaim");
                if reclaims {
                    let finding = judge_with(&cx, subject, rule).finding;
                    if finding.is_some_and(|it| it.verdict.state == VerdictState::Fixable) {
                        totals.reclaimable = totals.reclaimable.saturating_add(capacity);
                    }
                }
            }
            let volume = volume(cluster, subject).map(|it| (it.name(), it));
            leaking.extend(volume.filter(|_| leaks));
            unused.extend(volume.filter(|_| idles));
            at_risk.extend(volume.filter(|_| risks));
            if risks && volume.is_none() && capacity > 0 {
                let pool = StoragePool::of_subject(cluster, subject);
                let pool = totals.storage.entry(pool).or_default();
                pool.volumes_at_risk += 1;
                pool.at_risk = pool.at_risk.saturating_add(capacity);
            }
        }
        for (id, volume) in cluster.volumes() {
            if !in_scope(cluster, settings, &Subject::Volume(id)) {
                continue;
            }
            totals.in_scope.0 += 1;
            if volume.phase == Phase::Released {
                released.insert(volume.name(), volume);
                let since = facts::released_age(&cx, volume).since;
                let pool = StoragePool::of_released(&cx, volume, since);
                let pool = totals.storage.entry(pool).or_default();
                pool.oldest_released = earliest(pool.oldest_released, since);
            }
        }
        let parts: [(Waste, &VolumesByName, &[&VolumesByName]); 3] = [
            (Waste::Leaking, &leaking, &[]),
            (Waste::Released, &released, &[&leaking]),
            (Waste::Unused, &unused, &[&leaking, &released]),
        ];
        for (waste, volumes, first) in parts {
            for volume in volumes.values() {
                if counts_elsewhere(&cx, volume, volumes, first) {
                    continue;
                }
                let pool = StoragePool::of_volume(&cx, volume);
                let pool = totals.storage.entry(pool).or_default();
                pool.volumes += 1;
                pool.add(waste, volume.capacity.unwrap_or(0));
            }
        }
        for volume in at_risk.values().filter(|it| !counts_elsewhere(&cx, it, &at_risk, &[])) {
            let pool = totals.storage.entry(StoragePool::of_volume(&cx, volume)).or_default();
            pool.volumes_at_risk += 1;
            pool.at_risk = pool.at_risk.saturating_add(volume.capacity.unwrap_or(0));
        }
        let sum = |of: fn(&StorageTotals) -> Bytes| {
            totals.storage.values().map(of).fold(0, Bytes::saturating_add)
        };
        totals.released = sum(|it| it.of(Waste::Released));
        totals.leaking = sum(|it| it.of(Waste::Leaking));
        totals.at_risk = sum(|it| it.at_risk);
        let claims = || {
            let is_in_scope = |id| in_scope(cluster, settings, &Subject::Claim(id));
            cluster.claims().filter(move |(id, _)| is_in_scope(*id)).map(|it| it.1)
        };
        totals.usage = UsageSummary::of(&cx, claims());
        totals.in_scope.1 = claims().count();
        totals
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::cluster::{Change, Dirty};
    use crate::dump::Input;
    use crate::model::{Kind, ObjectKey, Row};
    use crate::sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    };

    fn example() -> Intake {
        let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz");
        let mut intake = Intake::new(None);
        let dump = [Input::Path(PathBuf::from(dump))];
        documents::read(&dump, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
            .expect("it ships with us");
        intake
    }

    fn totals(cluster: &Cluster) -> Totals {
        let (mut assessor, settings) = (Assessor::default(), Settings::default());
        assessor.update(cluster, &settings, Dirty::everything());
        assessor.totals(cluster, &settings)
    }

    /// Wasted bytes by namespace.
    fn by_namespace(totals: &Totals, waste: Waste) -> BTreeMap<String, Bytes> {
        let mut sums = BTreeMap::new();
        for (pool, totals) in totals.storage.iter().filter(|(_, totals)| totals.of(waste) > 0) {
            let namespace = pool.namespace.as_deref().unwrap_or("none");
            *sums.entry(namespace.to_owned()).or_default() += totals.of(waste);
        }
        sums
    }

    #[test]
    fn the_parts_add_up_to_the_totals() {
        let totals = totals(&example().cluster);
        let mut by_severity = BTreeMap::new();
        for ((_, severity, _), count) in &totals.by_namespace {
            *by_severity.entry(*severity).or_default() += count;
        }
        assert_eq!(by_severity, totals.by_severity);
        assert!(totals.released > 0 && totals.leaking > 0, "{totals:?}");
        assert!(totals.storage.values().any(|it| it.oldest_released.is_some()), "{totals:?}");
        let sums = by_namespace(&totals, Waste::Released);
        assert!(sums.len() > 1 && !sums.contains_key("none"), "{sums:?}");
    }

    #[test]
    fn volumes_that_reference_one_backend_volume_count_once() {
        let Intake { mut cluster, .. } = example();
        let before = totals(&cluster);
        let released = |it: &&Volume| it.phase == Phase::Released && it.backend.is_some();
        let volume = cluster.volumes().map(|it| it.1).find(released).expect("there is one");
        let (own, size) = (volume.claim_ref.clone(), volume.capacity.unwrap_or_default());
        let own = own.expect("because it is Released").key.namespace;
        let mut copy = volume.clone();
        copy.metadata.name = "0-before-every-other-name".into();
        if let Some(claim) = &mut copy.claim_ref {
            claim.key.namespace = "elsewhere".into();
        }
        cluster.apply(Change::Seen(Row::Volume(Box::new(copy))), &mut Dirty::default());
        let after = totals(&cluster);
        assert_eq!(after.released, before.released);
        let mut expected = by_namespace(&before, Waste::Released);
        expected.insert("elsewhere".to_owned(), size);
        let left = expected.get_mut(&*own).map(|it| {
            *it -= size;
            *it
        });
        if left == Some(0) {
            expected.remove(&*own);
        }
        assert_eq!(by_namespace(&after, Waste::Released), expected);
    }

    #[test]
    fn a_claim_that_nothing_uses_counts_by_its_volume() {
        let Intake { mut cluster, .. } = example();
        let before = by_namespace(&totals(&cluster), Waste::Unused);
        let pod = ObjectKey::named(Kind::Pod, "analytics", "notebooks");
        cluster.apply(Change::Gone(pod), &mut Dirty::default());
        let mut expected = before;
        *expected.entry("analytics".to_owned()).or_default() += 20 << 30;
        assert_eq!(by_namespace(&totals(&cluster), Waste::Unused), expected);
    }
}

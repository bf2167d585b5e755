//! `Totals`: numbers and capacities of all findings.

use std::collections::BTreeMap;

use super::scope::{exempt, in_scope, is_asked_for, namespace};
use super::{Assessor, earliest, judge_with};
use crate::cluster::{Cluster, Cx, Subject};
use crate::facts;
use crate::model::{Bytes, Phase, RuleId, Settings, Severity, Text, Time, VerdictState, Volume};
use crate::rules::CapacityRisk;

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
    /// Released and leaking capacity, by where it is.
    pub storage: BTreeMap<StoragePool, StorageTotals>,
    /// Capacity of volumes that gc could reclaim now.
    pub reclaimable: Bytes,
    /// Capacity of all Released volumes in scope.
    pub released: Bytes,
    /// Capacity of backend volumes that are leaked or about to be.
    pub leaking: Bytes,
    /// Capacity of volumes whose data can be destroyed, or read by other users.
    pub at_risk: Bytes,
}

/// Where capacity is.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoragePool {
    /// The storage class, as far as it is known.
    pub class: Option<Text>,
    /// The CSI driver or in-tree plugin, as far as it is known.
    pub driver: Option<Text>,
}

/// Capacities in one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageTotals {
    /// Capacity of Released volumes.
    pub released: Bytes,
    /// Capacity of backend volumes that are leaked or about to be.
    pub leaking: Bytes,
    /// Since when the volume is Released that has been for longest, of those of which it is known.
    pub oldest_released: Option<Time>,
}

impl StoragePool {
    fn of_volume(volume: &Volume) -> Self {
        let columns = facts::columns(volume);
        Self { class: columns.class, driver: columns.driver }
    }
}

/// The capacity of a subject, and where it is.
fn storage(cluster: &Cluster, subject: &Subject) -> (Bytes, StoragePool) {
    let found = match subject {
        Subject::Volume(id) => {
            cluster.volume_at(*id).map(|it| (it.capacity, StoragePool::of_volume(it)))
        }
        Subject::Claim(id) => cluster.claim_at(*id).map(|claim| {
            let volume = claim.volume_name.as_deref();
            let volume = volume.and_then(|name| cluster.volume_named(name));
            let driver = volume.and_then(|it| StoragePool::of_volume(it).driver);
            (claim.capacity, StoragePool { class: claim.class.clone(), driver })
        }),
        Subject::Backend(key) => cluster.kept_backend(key).map(|kept| {
            let driver = Some(Text::clone(&key.driver));
            (kept.capacity, StoragePool { class: kept.class.clone(), driver })
        }),
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
    let (capacity, pool) = found.unwrap_or_default();
    (capacity.unwrap_or(0), pool)
}

/// Whether the data of a claim may be lost when the claim is deleted.
fn is_lost_with_claim(cx: &Cx, subject: &Subject) -> bool {
    let Subject::Claim(id) = subject else { return true };
    let effect = cx.cluster().claim_at(*id).map(|claim| facts::data_effect(cx, claim));
    effect.is_some_and(|it| it.may_lose_data())
}

impl Assessor {
    /// Counts the findings in scope, and adds up their capacities.
    pub fn totals(&self, cluster: &Cluster, settings: &Settings) -> Totals {
        let mut totals = Totals::default();
        let cx = Cx::new(cluster, settings, &self.facts);
        for (subject, notes) in self.cases.iter() {
            if !in_scope(cluster, settings, subject) {
                continue;
            }
            let (capacity, pool) = storage(cluster, subject);
            let (mut leaks, mut risks) = (false, false);
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
                    CapacityRisk::Leak => leaks = true,
                    // What is kept, and only shared, is at no risk.
                    CapacityRisk::Data => risks |= *severity != Severity::Info,
                    CapacityRisk::Deletion => {
                        risks |= *severity != Severity::Info && is_lost_with_claim(&cx, subject);
                    }
                }
                let reclaims = rule.remedies.iter().any(|remedy| remedy.id() == "reclaim");
                if reclaims {
                    let finding = judge_with(&cx, subject, rule).finding;
                    if finding.is_some_and(|it| it.verdict.state == VerdictState::Fixable) {
                        totals.reclaimable = totals.reclaimable.saturating_add(capacity);
                    }
                }
            }
            if leaks {
                totals.leaking = totals.leaking.saturating_add(capacity);
                let pool = totals.storage.entry(pool).or_default();
                pool.leaking = pool.leaking.saturating_add(capacity);
            }
            if risks {
                totals.at_risk = totals.at_risk.saturating_add(capacity);
            }
        }
        for (id, volume) in cluster.volumes() {
            if !in_scope(cluster, settings, &Subject::Volume(id)) {
                continue;
            }
            totals.in_scope.0 += 1;
            if volume.phase == Phase::Released {
                let capacity = volume.capacity.unwrap_or(0);
                totals.released = totals.released.saturating_add(capacity);
                let pool = totals.storage.entry(StoragePool::of_volume(volume)).or_default();
                pool.released = pool.released.saturating_add(capacity);
                let since = facts::released_age(&cx, volume).since;
                pool.oldest_released = earliest(pool.oldest_released, since);
            }
        }
        let claims =
            cluster.claims().filter(|(id, _)| in_scope(cluster, settings, &Subject::Claim(*id)));
        totals.in_scope.1 = claims.count();
        totals
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::cluster::Dirty;
    use crate::dump::Input;
    use crate::sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    };

    #[test]
    fn the_parts_add_up_to_the_totals() {
        let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz");
        let mut intake = Intake::new(None);
        let dump = [Input::Path(PathBuf::from(dump))];
        documents::read(&dump, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
            .expect("it ships with us");
        let (mut assessor, settings) = (Assessor::default(), Settings::default());
        assessor.update(&intake.cluster, &settings, Dirty::everything());
        let totals = assessor.totals(&intake.cluster, &settings);
        let mut by_severity = BTreeMap::new();
        for ((_, severity, _), count) in &totals.by_namespace {
            *by_severity.entry(*severity).or_default() += count;
        }
        assert_eq!(by_severity, totals.by_severity);
        let sum = |of: fn(&StorageTotals) -> Bytes| totals.storage.values().map(of).sum::<Bytes>();
        assert_eq!(sum(|it| it.released), totals.released);
        assert_eq!(sum(|it| it.leaking), totals.leaking);
        assert!(totals.released > 0 && totals.leaking > 0, "{totals:?}");
        assert!(totals.storage.values().any(|it| it.oldest_released.is_some()), "{totals:?}");
    }
}

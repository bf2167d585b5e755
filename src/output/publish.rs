//! Conversion of what was judged into the public shapes of [`wire`](super::wire).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::inventory::{DiskIdentity, InventorySummary, ListedDisk};
use super::wire::{
    self, API_VERSION, ClusterIdentity, EventFinding, NamedFinding, ObjectReference, ReportHead,
    ReportMetadata, ReportScope, ReportTail, Source, StorageAmounts, StorageShare, Summary, Tool,
};
use crate::cluster::Cluster;
use crate::facts::KnownIdentity;
use crate::model::{
    self, Bytes, FindingEvent, FreeShare, Kind, ObjectKey, ObjectRef, RuleId, Scope, Settings,
    Severity, Text, Threshold, Time, VerdictState, format_bytes, format_duration, format_time,
};
use crate::remedies::{RECLAIM, is_refused_beside};
use crate::rules::{
    self, InventoryFinding, InventoryReport, NamedElsewhere, StoragePool, StorageTotals, Totals,
    UnreadGap, Waste,
};

/// Origin of a report, which the cluster does not contain.
#[derive(Debug, Clone)]
pub struct ReportOrigin {
    /// The source of the objects.
    pub source: Source,
    /// The folder whose records of earlier runs were read.
    pub journal: Option<String>,
}

/// Builds the head of a report.
pub fn head(metadata: ReportMetadata, tally: &Totals, scope: ReportScope) -> ReportHead {
    ReportHead {
        api_version: API_VERSION,
        kind: "AuditReport",
        metadata: ReportMetadata { scope: Some(scope), ..metadata },
        summary: summary(tally),
        baseline: None,
    }
}

/// Returns time, cluster, version and thresholds of a report.
pub fn metadata(cluster: &Cluster, settings: &Settings, origin: ReportOrigin) -> ReportMetadata {
    ReportMetadata {
        taken_at: cluster.clock().as_ref().map(format_time),
        source: origin.source,
        cluster: cluster_identity(cluster),
        clusters: Vec::new(),
        tool: tool(),
        thresholds: thresholds(settings),
        scope: None,
        journal: origin.journal,
    }
}

/// Returns the public shape of the scope of a report.
pub fn scope(scope: &Scope, exempted: &[(RuleId, ObjectRef)]) -> ReportScope {
    let texts = |texts: &BTreeSet<Text>| texts.iter().map(ToString::to_string).collect();
    let object = |key: &ObjectKey| reference(&ObjectRef { key: key.clone(), uid: None });
    let exempted = exempted.iter().map(|(id, object)| named_finding(id, object));
    ReportScope {
        namespaces: texts(&scope.namespaces),
        selector: (!scope.selector.is_empty()).then(|| scope.selector.to_string()),
        field_selector: (!scope.fields.is_empty()).then(|| scope.fields.to_string()),
        objects: scope.objects.iter().map(object).collect(),
        rules: texts(&scope.rules),
        ignored: texts(&scope.ignored),
        exempted: exempted.collect(),
        hidden: None,
    }
}

/// Names a finding by its rule and its object.
pub fn named_finding(id: RuleId, object: &ObjectRef) -> NamedFinding {
    NamedFinding { id: id.to_owned(), cluster: None, object: reference(object) }
}

/// Builds the end of a report.
pub fn tail(blind: &[UnreadGap]) -> ReportTail {
    ReportTail { gaps: blind.iter().map(gap).collect() }
}

/// Puts a finding into its public shape.
pub fn finding(finding: model::Finding, now: Option<Time>) -> wire::Finding {
    wire::Finding {
        id: finding.rule.to_owned(),
        severity: finding.severity.name().to_owned(),
        cluster: None,
        object: reference(&finding.object),
        baseline: None,
        summary: finding.summary,
        age: finding.age.map(|it| age(it, now)),
        volume: finding.volume.map(volume),
        backend: None,
        evidence: finding
            .evidence
            .into_iter()
            .map(|evidence| wire::Evidence {
                object: evidence.object,
                field: evidence.field.to_owned(),
                value: evidence.value,
            })
            .collect(),
        related: finding.related.iter().map(reference).collect(),
        caused_by: finding
            .caused_by
            .iter()
            .map(|it| wire::CausedBy { id: it.rule.to_owned(), object: reference(&it.object) })
            .collect(),
        verdict: wire::Verdict {
            state: finding.verdict.state.name().to_owned(),
            reason: finding.verdict.reason,
        },
        remedy: finding.offer.map(|offer| wire::Remedy {
            command: offer.command,
            effect: offer.effect,
            risk: offer.risk,
        }),
    }
}

/// Whether a rule offers such a remedy.
fn offers(rule: &str, is_such: impl Fn(&str) -> bool) -> bool {
    rules::find(rule).is_some_and(|it| it.remedies.iter().any(|remedy| is_such(remedy.id())))
}

/// Volumes of a cluster whose storage other clusters name: no remedy that may destroy it is offered.
#[derive(Debug, Default)]
pub struct Elsewhere(HashMap<ObjectKey, (String, Bytes)>);

impl Elsewhere {
    /// Adds a volume, and its claim.
    pub fn add(&mut self, named: NamedElsewhere) {
        if let Some(claim) = named.claim {
            self.0.insert(claim, (named.reason.clone(), 0));
        }
        self.0.insert(named.volume, (named.reason, named.capacity));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether findings of a rule offer such a remedy.
    pub fn concerns(rule: &str) -> bool {
        offers(rule, is_refused_beside)
    }

    /// Withdraws such remedies from findings, and returns the capacity that gc could have reclaimed by them.
    pub fn withdraw(&self, findings: &mut [wire::Finding]) -> Bytes {
        let fixable = VerdictState::Fixable.name();
        let mut withdrawn: Bytes = 0;
        let offering =
            |it: &&mut wire::Finding| it.verdict.state == fixable && Self::concerns(&it.id);
        for it in findings.iter_mut().filter(offering) {
            let Some((reason, capacity)) = it.object.key().and_then(|key| self.0.get(&key)) else {
                continue;
            };
            if offers(&it.id, |remedy| remedy == RECLAIM.id) {
                withdrawn = withdrawn.saturating_add(*capacity);
            }
            it.verdict = wire::Verdict {
                state: VerdictState::Blocked.name().to_owned(),
                reason: reason.clone(),
            };
            if let Some(remedy) = &mut it.remedy {
                remedy.command = None;
            }
        }
        withdrawn
    }
}

/// Puts the change of a finding into its public shape.
pub fn finding_event(event: FindingEvent, now: Option<Time>) -> wire::FindingEvent {
    let present = |it: Box<model::Finding>| EventFinding::Present(Box::new(finding(*it, now)));
    let (name, finding) = match event {
        FindingEvent::Appeared(it) => ("appeared", present(it)),
        FindingEvent::Changed(it) => ("changed", present(it)),
        FindingEvent::Cleared(it) => {
            let id = it.rule.to_owned();
            let (severity, object) = (it.severity.name().to_owned(), reference(&it.object));
            let left_out = it.left_out;
            let cleared = wire::ClearedFinding { id, severity, object, left_out };
            ("cleared", EventFinding::Cleared(cleared))
        }
    };
    wire::FindingEvent {
        api_version: API_VERSION.to_owned(),
        kind: "FindingEvent".to_owned(),
        event: name.to_owned(),
        time: now.as_ref().map(format_time),
        finding,
    }
}

/// Puts an age into its public shape.
pub(super) fn age(age: model::Age, now: Option<Time>) -> wire::Age {
    wire::Age {
        since: age.since.as_ref().map(format_time),
        seconds: age.since.zip(now).map(|(since, now)| (now - since).num_seconds().max(0)),
        trust: age.trust.name().to_owned(),
    }
}

/// Puts the columns of a volume into their public shape.
pub(super) fn volume(volume: model::VolumeColumns) -> wire::Volume {
    wire::Volume {
        capacity: volume.capacity.map(format_bytes),
        phase: volume.phase,
        claim: volume.claim,
        storage_class: volume.class.map(|class| class.to_string()),
        driver: volume.driver.map(|driver| driver.to_string()),
        reclaim_policy: volume.reclaim_policy,
    }
}

pub(super) fn reference(object: &model::ObjectRef) -> ObjectReference {
    ObjectReference {
        cluster: None,
        api_version: object.key.kind.api_version(),
        kind: object.key.kind.name().to_owned(),
        namespace: object.key.namespace.as_ref().map(ToString::to_string),
        name: object.key.name.to_string(),
        uid: object.uid.as_ref().map(ToString::to_string),
    }
}

impl ObjectReference {
    /// Returns its kind, if it is one that the tool knows.
    pub fn known_kind(&self) -> Option<Kind> {
        let group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        Kind::parse(group, &self.kind)
    }

    /// Returns its key, if its kind is known.
    pub fn key(&self) -> Option<ObjectKey> {
        let namespace = self.namespace.as_deref().map(Into::into);
        Some(ObjectKey { kind: self.known_kind()?, namespace, name: (&*self.name).into() })
    }
}

pub(super) fn gap(UnreadGap { gap, rules }: &UnreadGap) -> wire::Gap {
    wire::Gap {
        cluster: None,
        resource: gap.kind.resource().to_owned(),
        namespace: gap.namespace.as_ref().map(ToString::to_string),
        reason: gap.reason.clone(),
        ids: rules.iter().map(|id| (*id).to_owned()).collect(),
    }
}

/// Puts a finding about a listing into its public shape; `names` are those of several clusters.
pub(crate) fn inventory_finding(
    found: InventoryFinding<'_>,
    names: &[Text],
    now: Option<Time>,
) -> wire::Finding {
    let mut finding = finding(found.finding, now);
    finding.cluster = found.cluster.map(|it| names[it].to_string());
    finding.backend = found.disk.map(ListedDisk::from);
    finding
}

/// Puts what became of the disks into its public shape.
pub(crate) fn inventory_summary(report: &InventoryReport<'_>, names: &[Text]) -> InventorySummary {
    let identity = |it: &KnownIdentity| DiskIdentity {
        cluster: names.get(it.cluster).map(ToString::to_string),
        driver: it.driver.to_string(),
        value: it.value.to_string(),
        source: it.source.name().to_owned(),
    };
    InventorySummary {
        counts: report.counts,
        orphaned_bytes: report.orphaned,
        unattributed_bytes: report.unattributed,
        identities: report.identities.iter().map(identity).collect(),
    }
}

/// Puts the gaps into their public shape.
pub(crate) fn inventory_gaps<'a>(
    report: &'a InventoryReport<'_>,
    names: &'a [Text],
) -> impl Iterator<Item = wire::Gap> + 'a {
    report.gaps.iter().map(|(cluster, it)| wire::Gap {
        cluster: cluster.map(|it| names[it].to_string()),
        ..gap(it)
    })
}

/// Returns the sums of the findings.
pub fn summary(tally: &Totals) -> Summary {
    let (volumes, claims) = tally.in_scope;
    let count = |severity: Severity| tally.by_severity.get(&severity).copied().unwrap_or(0);
    Summary {
        volumes,
        claims,
        by_severity: Severity::ALL
            .into_iter()
            .map(|it| (it.name().to_owned(), count(it)))
            .collect(),
        by_id: tally.by_rule.iter().map(|(id, n)| ((*id).to_owned(), *n)).collect(),
        caused: tally.caused,
        exempted: tally.exempted,
        reclaimable: format_bytes(tally.reclaimable),
        released: format_bytes(tally.released),
        leaking: format_bytes(tally.leaking),
        at_risk: format_bytes(tally.at_risk),
        storage: Some(tally.storage.iter().filter_map(share).collect()),
        inventory: None,
        money: None,
        usage: tally.usage.clone(),
    }
}

/// Returns the bytes in one place; `None` if there are none.
fn share((pool, totals): (&StoragePool, &StorageTotals)) -> Option<StorageShare> {
    let text = |it: &Option<Text>| it.as_ref().map(ToString::to_string);
    let amounts = StorageAmounts {
        leaking_bytes: totals.of(Waste::Leaking),
        released_bytes: totals.of(Waste::Released),
        unused_bytes: totals.of(Waste::Unused),
        volumes: totals.volumes,
        at_risk_bytes: totals.at_risk,
        volumes_at_risk: totals.volumes_at_risk,
    };
    (amounts != StorageAmounts::default()).then(|| StorageShare {
        cluster: text(&pool.cluster),
        namespace: text(&pool.namespace),
        storage_class: text(&pool.class),
        driver: text(&pool.driver),
        released_days: pool.released_days,
        amounts,
    })
}

/// Returns the identity of the cluster.
pub fn cluster_identity(cluster: &Cluster) -> ClusterIdentity {
    let server = cluster.server().cloned().unwrap_or_default();
    let owned = |text: Option<Box<str>>| text.map(String::from);
    ClusterIdentity {
        uid: owned(server.cluster_uid),
        server: owned(server.url),
        version: owned(server.git_version),
    }
}

/// Returns the identity of this tool.
pub(super) fn tool() -> Tool {
    Tool { version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Returns every duration with which ages were compared, and the share of volumes that had to be free, if the user chose
/// it.
pub(super) fn thresholds(settings: &Settings) -> BTreeMap<String, String> {
    let text = |threshold: Threshold| format_duration(settings.thresholds.get(threshold));
    let ages = Threshold::ALL.into_iter().map(|it| (it.name().to_owned(), text(it)));
    let share = Some(settings.least_free).filter(|it| *it != FreeShare::default());
    ages.chain(share.map(|it| (FreeShare::NAME.to_owned(), it.to_string()))).collect()
}

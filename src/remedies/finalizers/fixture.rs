//! Fixture for tests of finalizers: claim `shop/data`, its volume `pv-1`, and their controllers, each of which is
//! alive, absent or unknown.

use std::cell::RefCell;
use std::sync::Arc;

use super::FinalizerRequest;
use crate::cluster::{Change, Cluster, Cx, Dirty, Gap, Reach, Seen};
use crate::facts;
use crate::model::{
    Answer, Attachment, BackendKey, Claim, ClaimKey, ClaimPhase, ClaimRef, ControllerRole,
    DataSource, Kind, Lease, Liveness, Metadata, MountedClaim, Node, PodPhase, PodUse, Proposal,
    Question, ReclaimPolicy, Refusal, Row, Settings, Sighting, Text, Time, Uid, Volume,
    VolumeSnapshot, VolumeSource, Workload,
};

pub(in crate::remedies) const DRIVER: &str = "driver.longhorn.io";

/// Returns the time this many minutes ago.
pub(in crate::remedies) fn ago(minutes: i64) -> Time {
    Time::from_timestamp(1_800_000_000 - 60 * minutes, 0).expect("in range")
}

pub(in crate::remedies) fn metadata(
    name: &str,
    finalizers: &[&str],
    deleting: Option<i64>,
) -> Metadata {
    Metadata {
        name: name.into(),
        uid: Uid::parse(&format!("{name}-uid")),
        created: Some(ago(90 * 24 * 60)),
        deleting: deleting.map(ago),
        finalizers: finalizers.iter().map(|it| Text::from(*it)).collect(),
        ..Metadata::default()
    }
}

pub(in crate::remedies) fn claim(finalizers: &[&str], deleting: Option<i64>) -> Claim {
    Claim {
        metadata: metadata("data", finalizers, deleting),
        volume_name: Some("pv-1".into()),
        ..Claim::sample()
    }
}

/// Returns the volume of the claim, bound to it.
pub(in crate::remedies) fn volume(policy: ReclaimPolicy) -> Volume {
    let key = ClaimKey { namespace: "shop".into(), name: "data".into() };
    Volume {
        metadata: metadata("pv-1", &[facts::PV_PROTECTION, facts::EXTERNAL_PROVISIONER], None),
        reclaim_policy: policy,
        claim_ref: Some(ClaimRef { key, uid: Uid::parse("data-uid") }),
        source: VolumeSource::Csi {
            driver: DRIVER.into(),
            handle: "vol-1".into(),
            provisioner_identity: true,
        },
        backend: Some(BackendKey { driver: DRIVER.into(), handle: "vol-1".into() }),
        provisioned_by: Some(DRIVER.into()),
        ..Volume::sample()
    }
}

pub(in crate::remedies) fn attachment(finalizers: &[&str], deleting: Option<i64>) -> Attachment {
    Attachment {
        metadata: metadata("csi-1", finalizers, deleting),
        attacher: DRIVER.into(),
        ..Attachment::sample()
    }
}

pub(in crate::remedies) fn node() -> Row {
    Row::Node(Box::new(Node {
        metadata: metadata("node-1", &[], None),
        ready: true,
        unschedulable: false,
        out_of_service: false,
        provider_id: None,
        volumes: Box::default(),
    }))
}

/// Returns a pod that uses a claim `data`.
pub(in crate::remedies) fn pod(namespace: &str, phase: PodPhase, node: Option<&str>) -> Row {
    Row::Pod(Box::new(PodUse {
        namespace: namespace.into(),
        name: "web".into(),
        phase,
        node: node.map(Text::from),
        claims: [MountedClaim { claim: "data".into(), ephemeral: false }].into(),
        ..PodUse::sample()
    }))
}

/// Returns a suspended workload whose template uses the claim.
pub(in crate::remedies) fn workload() -> Row {
    Row::Workload(Box::new(Workload {
        kind: Kind::CronJob,
        name: "nightly".into(),
        replicas: None,
        suspended: true,
        claims: ["data".into()].into(),
        ..Workload::sample()
    }))
}

/// Returns a claim that is, or was, cloned from the claim.
pub(in crate::remedies) fn copy(phase: ClaimPhase) -> Row {
    let source = DataSource {
        group: "".into(),
        kind: "PersistentVolumeClaim".into(),
        namespace: None,
        name: "data".into(),
    };
    Row::Claim(Box::new(Claim {
        metadata: metadata("copy", &[], None),
        phase,
        volume_name: None,
        source: Some(Box::new(source)),
        ..claim(&[], None)
    }))
}

pub(in crate::remedies) fn snapshot(ready: bool) -> Row {
    Row::VolumeSnapshot(Box::new(VolumeSnapshot {
        metadata: metadata("snap", &[], None),
        namespace: "shop".into(),
        source_claim: Some("data".into()),
        content: None,
        ready,
        error: None,
        taken_of: None,
    }))
}

/// The objects and controllers of the cluster, and the settings.
#[derive(Debug, Clone)]
pub(in crate::remedies) struct FinalizerFixture {
    pub(in crate::remedies) rows: Vec<Row>,
    pub(in crate::remedies) manager: Liveness,
    pub(in crate::remedies) provisioner: Liveness,
    pub(in crate::remedies) snapshotter: Liveness,
    pub(in crate::remedies) attacher: Liveness,
    /// A kind that was not read.
    pub(in crate::remedies) unread: Option<Kind>,
    pub(in crate::remedies) settings: Settings,
    pub(in crate::remedies) named: bool,
}

impl Default for FinalizerFixture {
    /// Returns a fixture in which all controllers are absent, and no flag is given.
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            manager: Liveness::Absent,
            provisioner: Liveness::Absent,
            snapshotter: Liveness::Absent,
            attacher: Liveness::Absent,
            unread: None,
            settings: Settings::default(),
            named: true,
        }
    }
}

impl FinalizerFixture {
    pub(in crate::remedies) fn with(mut self, row: Row) -> Self {
        self.rows.push(row);
        self
    }

    pub(in crate::remedies) fn of_claim(self, claim: &Claim, volume: Option<&Volume>) -> Self {
        let fixture = self.with(Row::Claim(Box::new(claim.clone())));
        volume
            .into_iter()
            .fold(fixture, |fixture, it| fixture.with(Row::Volume(Box::new(it.clone()))))
    }

    pub(in crate::remedies) fn cluster(&self) -> Cluster {
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
        let mut apply = |change| cluster.apply(change, &mut dirty);
        apply(Change::Clock(ago(0)));
        // Another volume shows that the driver is CSI, whatever the volume of the claim is.
        let mut sibling = volume(ReclaimPolicy::Retain);
        sibling.metadata.name = "sibling".into();
        sibling.claim_ref = None;
        sibling.backend = Some(BackendKey { driver: DRIVER.into(), handle: "vol-2".into() });
        apply(Change::Seen(Row::Volume(Box::new(sibling))));
        for (role, name, lease, liveness) in [
            (ControllerRole::ControllerManager, "", "kube-controller-manager", self.manager),
            (ControllerRole::Provisioner, DRIVER, "driver-longhorn-io", self.provisioner),
            (ControllerRole::Snapshotter, "", "snapshot-controller-leader", self.snapshotter),
            (
                ControllerRole::Attacher,
                DRIVER,
                "external-attacher-leader-driver-longhorn-io",
                self.attacher,
            ),
        ] {
            let renewed = match liveness {
                Liveness::Alive => ago(0),
                Liveness::Absent | Liveness::Unknown => ago(3 * 24 * 60),
            };
            apply(Change::Seen(Row::Lease(Box::new(Lease {
                read: crate::model::LeaseMoment::Clock,
                metadata: Metadata { name: lease.into(), ..Metadata::default() },
                namespace: "kube-system".into(),
                holder: Some("a".into()),
                renewed: Some(renewed),
                duration_seconds: Some(15),
            }))));
            if liveness == Liveness::Absent {
                let absent_since = ago(2 * 24 * 60);
                let sighting = Sighting { role, driver: name.into(), absent_since };
                apply(Change::Seen(Row::Sighting(sighting)));
            }
        }
        // No custom resource uses a claim; an answer among the rows wins.
        let question = Question::CustomUsers { namespace: "shop".into() };
        apply(Change::Seen(Row::Answer(question, Answer::Users(Arc::default()))));
        for row in &self.rows {
            apply(Change::Seen(row.clone()));
        }
        for kind in Kind::ALL {
            apply(match self.unread {
                Some(unread) if unread == kind => {
                    Change::Lost(Gap { kind, namespace: None, reason: "forbidden".to_owned() })
                }
                Some(_) | None => Change::Whole(Reach::all(kind)),
            });
        }
        cluster
    }

    pub(in crate::remedies) fn ask<T>(
        &self,
        propose: fn(&Cx, &T, &FinalizerRequest) -> Seen<Result<Proposal, Refusal>>,
        object: &T,
    ) -> Seen<Result<Proposal, Refusal>> {
        let (cluster, facts) = (self.cluster(), RefCell::default());
        let asked = FinalizerRequest { named: self.named, ..FinalizerRequest::default() };
        propose(&Cx::new(&cluster, &self.settings, &facts), object, &asked)
    }
}

/// Returns the proposal, or the reason for the refusal.
pub(in crate::remedies) fn said(seen: Seen<Result<Proposal, Refusal>>) -> Result<Proposal, String> {
    match seen {
        Ok(answer) => answer.map_err(|refusal| refusal.reason),
        Err(unseen) => Err(format!("not seen: {}", unseen.reason)),
    }
}

//! Teardown: its record, which is the public shape of a survey and of an outcome; `screen` prints it.

mod screen;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::publish::{cluster_identity, reference, tool};
use super::wire::{API_VERSION, ClusterIdentity, ObjectReference, Tool};
use crate::cluster::Cluster;
use crate::model::{Bytes, format_bytes, format_time};
use crate::plan::teardown::{SurveyedVolume, TeardownSurvey, VolumeFate};

pub(crate) use screen::{TeardownScreen, teardown_table};

/// What a teardown does, or has done, with every volume in its scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeardownRecord {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `TeardownRecord`.
    pub kind: String,
    /// Of which cluster, when, in which mode.
    pub metadata: TeardownMetadata,
    /// The volumes added up.
    pub summary: TeardownSummary,
    /// Every volume in the scope, and every claim without one.
    pub volumes: Vec<TornDownVolume>,
    /// Every snapshot in the scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<TornDownSnapshot>,
    /// The workloads that are stopped, and the pods that are deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<StoppedWorkload>,
    /// What blocks the teardown: nothing is written before it is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<TeardownObstacle>,
    /// What would bring claims or pods back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keepers: Vec<TeardownKeeper>,
    /// Number of pods with volumes that they describe themselves, which are not judged.
    #[serde(default)]
    pub inline_not_judged: usize,
}

/// Of which cluster, when, in which mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeardownMetadata {
    /// `destroy-data` or `keep-data`.
    pub mode: String,
    /// The cluster.
    pub cluster: ClusterIdentity,
    /// The context of the kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Number of its nodes.
    pub nodes: usize,
    /// The object that was created last: a cluster in use has a young one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub youngest: Option<YoungestObject>,
    /// When it was surveyed, by the server's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surveyed_at: Option<String>,
    /// When the run ended; absent in a survey, and where it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// The tool.
    pub tool: Tool,
}

/// The object that was created last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct YoungestObject {
    /// The object.
    pub object: ObjectReference,
    /// When it was created.
    pub created_at: String,
}

/// Volumes added up by what becomes of them, or has become.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeardownSummary {
    /// Volumes that are destroyed.
    pub destroyed: TeardownAmount,
    /// Volumes that are kept because of a decision.
    pub kept: TeardownAmount,
    /// Volumes that are left although nothing says that they are to be kept.
    pub left: TeardownAmount,
    /// Volumes of which that is unknown.
    pub unknown: TeardownAmount,
}

/// Number and bytes of volumes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct TeardownAmount {
    /// Number of volumes.
    pub volumes: usize,
    /// Their capacities.
    pub bytes: Bytes,
}

/// What becomes of one volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TornDownVolume {
    /// The `PersistentVolume`; absent for a claim without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Its uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Driver of the backend volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Handle of the backend volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Its `StorageClass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// Its claim: `NAMESPACE/NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Whether that claim was gone before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claim_is_gone: bool,
    /// What is planned: `destroy`, `keep`, `leave` or `blocked`.
    pub plan: String,
    /// What has become of it: `destroyed`, `kept`, `left` or `unknown`; absent in a survey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Who destroys it and how, why it survives, or what is in the way.
    pub reason: String,
    /// The provider's command that deletes a disk which is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A manifest of the volume for another cluster: policy Retain, no uid, and reserved for its claim's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Value>,
}

/// What becomes of one snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TornDownSnapshot {
    /// The `VolumeSnapshot`.
    pub object: ObjectReference,
    /// What is planned: `destroy`, `keep` or `leave`.
    pub plan: String,
    /// What has become of it: `destroyed`, `kept`, `left` or `unknown`; absent in a survey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why.
    pub reason: String,
}

/// A workload that is stopped, or a pod that is deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedWorkload {
    /// The object.
    pub object: ObjectReference,
    /// Its scale before: `3 replicas`, `not suspended`; absent for a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// What blocks a teardown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeardownObstacle {
    /// The object; absent for a controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,
    /// The reason, and what to do.
    pub reason: String,
}

/// What would bring claims or pods back.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct TeardownKeeper {
    /// What it is, and what it does.
    pub what: String,
    /// The command that stops it.
    pub command: String,
}

/// Disks of a record, compared with what the provider lists (`audit --inventory LISTING --record FILE`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedDisks {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `RecordedDisks`.
    pub kind: String,
    /// Numbers of disks.
    pub summary: RecordedSummary,
    /// The disks, in the order of the record.
    pub disks: Vec<RecordedDisk>,
}

/// Numbers of recorded disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSummary {
    /// Disks that the provider lists.
    pub exist: usize,
    /// Disks that it does not list.
    pub gone: usize,
    /// Disks of providers of which no whole listing was given.
    pub not_compared: usize,
}

/// A recorded disk, and whether the provider lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedDisk {
    /// Driver of the backend volume.
    pub driver: String,
    /// Handle of the backend volume.
    pub handle: String,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Its claim: `NAMESPACE/NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// What the record says: `destroyed`, `kept`, `left` or `unknown`.
    pub outcome: String,
    /// `exists`, `gone` or `not-compared`.
    pub state: String,
    /// The provider's command that deletes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl TeardownRecord {
    /// Returns the record of a survey.
    pub fn of(survey: &TeardownSurvey, cluster: &Cluster, destroys: bool) -> Self {
        let mode = if destroys { "destroy-data" } else { "keep-data" };
        let metadata = TeardownMetadata {
            mode: mode.to_owned(),
            cluster: cluster_identity(cluster),
            context: None,
            nodes: survey.nodes,
            youngest: survey.youngest.as_ref().map(|(object, at)| YoungestObject {
                object: reference(object),
                created_at: format_time(at),
            }),
            surveyed_at: cluster.clock().as_ref().map(format_time),
            finished_at: None,
            tool: tool(),
        };
        let workloads = survey.workloads.iter().map(|(object, scale)| StoppedWorkload {
            object: reference(object),
            before: Some(scale.to_string()),
        });
        let pods = survey
            .pods
            .iter()
            .map(|object| StoppedWorkload { object: reference(object), before: None });
        let mut record = Self {
            api_version: API_VERSION.to_owned(),
            kind: "TeardownRecord".to_owned(),
            metadata,
            summary: TeardownSummary::default(),
            volumes: survey.volumes.iter().map(surveyed).collect(),
            snapshots: survey
                .snapshots
                .iter()
                .map(|(object, fate)| TornDownSnapshot {
                    object: reference(object),
                    plan: planned(fate).0.to_owned(),
                    outcome: None,
                    reason: planned(fate).1.to_owned(),
                })
                .collect(),
            stopped: workloads.chain(pods).collect(),
            obstacles: survey
                .obstacles
                .iter()
                .map(|it| TeardownObstacle {
                    object: it.object.as_ref().map(reference),
                    reason: it.reason.clone(),
                })
                .collect(),
            keepers: Vec::new(),
            inline_not_judged: survey.inline,
        };
        record.sum();
        record
    }

    /// Adds the volumes up again.
    pub fn sum(&mut self) {
        let mut summary = TeardownSummary::default();
        for it in self.volumes.iter().filter(|it| it.volume.is_some()) {
            let amount = match it.fate() {
                "destroyed" | "destroy" => &mut summary.destroyed,
                "kept" | "keep" => &mut summary.kept,
                "unknown" | "blocked" => &mut summary.unknown,
                _ => &mut summary.left,
            };
            amount.volumes += 1;
            amount.bytes = amount.bytes.saturating_add(it.bytes.unwrap_or(0));
        }
        self.summary = summary;
    }

    /// Whether nothing is left, or unknown, that was not decided to be kept.
    pub fn is_clean(&self) -> bool {
        let is_clean = |it: Option<&str>| !matches!(it, Some("left" | "unknown"));
        self.volumes.iter().all(|it| is_clean(it.outcome.as_deref()))
            && self.snapshots.iter().all(|it| is_clean(it.outcome.as_deref()))
    }
}

impl TornDownVolume {
    /// Returns the outcome, or what is planned as long as there is none.
    pub fn fate(&self) -> &str {
        self.outcome.as_deref().unwrap_or(&self.plan)
    }

    /// Returns the name for tables: the claim, or the volume.
    fn name(&self) -> String {
        match (self.claim.as_ref().filter(|_| !self.claim_is_gone), &self.volume) {
            (Some(claim), _) => format!("pvc/{claim}"),
            (None, Some(volume)) => format!("pv/{volume}"),
            (None, None) => String::new(),
        }
    }
}

/// Returns the word of a plan for a fate, and its reason.
fn planned(fate: &VolumeFate) -> (&'static str, &str) {
    match fate {
        VolumeFate::Destroyed(what) => ("destroy", what),
        VolumeFate::Kept(why) => ("keep", why),
        VolumeFate::Left(why) => ("leave", why),
        VolumeFate::Blocked(why) => ("blocked", why),
    }
}

fn surveyed(it: &SurveyedVolume) -> TornDownVolume {
    let (plan, reason) = planned(&it.fate);
    let columns = it.about.volume.as_ref();
    let claim = it.claim.as_ref().and_then(|it| it.key.as_claim());
    let former = columns.and_then(|it| it.claim.as_ref()).map(ToString::to_string);
    TornDownVolume {
        volume: it.volume.as_ref().map(|it| it.key.name.to_string()),
        uid: it.volume.as_ref().and_then(|it| it.uid.as_ref()).map(ToString::to_string),
        driver: it.about.backend.as_ref().map(|it| it.driver.to_string()),
        handle: it.about.backend.as_ref().map(|it| it.handle.to_string()),
        size: columns.and_then(|it| it.capacity).map(format_bytes),
        bytes: columns.and_then(|it| it.capacity),
        storage_class: columns.and_then(|it| it.class.as_ref()).map(ToString::to_string),
        claim_is_gone: claim.is_none() && former.is_some(),
        claim: claim.map(|it| it.to_string()).or(former),
        plan: plan.to_owned(),
        outcome: None,
        reason: reason.to_owned(),
        command: None,
        manifest: None,
    }
}

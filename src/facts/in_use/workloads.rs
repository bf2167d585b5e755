//! Workloads whose templates reference a claim: those that can start pods with it, and those that
//! will not by themselves.

use crate::cluster::{Cx, Seen};
use crate::model::{ClaimKey, Kind, Workload};

/// The workloads whose templates reference a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimWorkloads<'a> {
    /// Those that start pods with it, now or when they are scaled up, resumed or triggered.
    pub active: Vec<&'a Workload>,
    /// Those that start none: finished Jobs, and `ReplicaSet`s of earlier revisions of a Deployment
    /// whose template does not reference the claim any more. Only a rollback needs these.
    pub dormant: Vec<&'a Workload>,
}

/// Returns the workloads whose templates reference a claim.
///
/// # Errors
/// When a kind of workloads was not read in that namespace, and no active one was found: one user
/// proves use.
pub fn claim_workloads<'a>(cx: &Cx<'a>, claim: &ClaimKey) -> Seen<ClaimWorkloads<'a>> {
    let all = cx.workloads_of(claim)?;
    let (dormant, active): (Vec<_>, Vec<_>) =
        all.iter().partition(|it| it.finished || is_earlier_revision(cx, it, &all));
    if active.is_empty() {
        for kind in Kind::WORKLOADS {
            cx.cluster().reach(kind, Some(&claim.namespace))?;
        }
    }
    Ok(ClaimWorkloads { active, dormant })
}

/// Whether it is a `ReplicaSet` without replicas whose Deployment references the claim no more.
fn is_earlier_revision(cx: &Cx, workload: &Workload, all: &[&Workload]) -> bool {
    let Some(owner) = deployment_of(workload) else { return false };
    workload.replicas == Some(0)
        && cx.cluster().reach(Kind::Deployment, Some(&workload.namespace)).is_ok()
        && !all.iter().any(|it| it.kind == Kind::Deployment && &*it.name == owner)
}

/// The name of the Deployment that controls a `ReplicaSet`.
pub fn deployment_of(workload: &Workload) -> Option<&str> {
    let owner = workload.controller.as_ref().filter(|_| workload.kind == Kind::ReplicaSet)?;
    (&*owner.kind == Kind::Deployment.name()).then_some(&*owner.name)
}

impl ClaimWorkloads<'_> {
    /// Describes each dormant workload.
    pub fn notices(&self) -> Vec<String> {
        self.dormant.iter().map(|it| describe(it)).collect()
    }
}

fn describe(workload: &Workload) -> String {
    let object = workload.object();
    match deployment_of(workload) {
        Some(deployment) => format!(
            "a rollback of Deployment {deployment} to the revision of {object} would need the claim"
        ),
        None => format!("{object} references the claim, but is finished: it starts no more pods"),
    }
}

/// What ends the use of a claim by a workload.
pub(super) fn ended_by(workload: &Workload) -> String {
    match deployment_of(workload) {
        Some(deployment) => {
            format!("remove the claim from the template of Deployment {deployment}")
        }
        // The template of a Job cannot be changed.
        None if workload.kind == Kind::Job => format!("delete {}", workload.object()),
        None => "remove the claim from its template".to_owned(),
    }
}

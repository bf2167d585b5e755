//! What a teardown does before it deletes claims (semantics K.5): stops a workload, deletes a pod that no controller
//! creates again, deletes a snapshot; and starts a workload again.

use super::{Remedy, checks};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, SnapshotFate};
use crate::model::{
    Action, ClaimKey, ClaimPhase, Effect, Liveness, Loss, PodUse, Proposal, Refusal,
    SnapshotSource, TeardownTerms, Undo, VolumeSnapshot, Workload, WorkloadScale, counted,
};

/// Scales a workload to zero, or suspends it (P-STOP).
pub static STOP: Remedy<Workload> = Remedy {
    id: "stop",
    needs: facts::needs![users: PersistentVolumeClaim],
    writes: &[
        ("patch", "statefulsets"),
        ("patch", "deployments"),
        ("patch", "replicasets"),
        ("patch", "replicationcontrollers"),
        ("patch", "jobs"),
        ("patch", "cronjobs"),
        ("patch", "rollouts"),
        ("patch", "clonesets"),
        ("delete", "pods"),
    ],
    command: |_, _| None,
    propose: stop,
};

/// Name of the deletion of a pod in plans and in the journal.
pub const END_POD_ID: &str = "end-pod";
/// Name of starting a workload again in plans and in the journal.
pub const RESTART_ID: &str = "restart";
/// Name of the deletion of a snapshot in plans and in the journal.
pub const DELETE_SNAPSHOT_ID: &str = "delete-snapshot";

/// Reason for a refusal without the terms of a teardown.
const NO_TEARDOWN: &str = "only a teardown stops it";

fn stop(cx: &Cx, workload: &Workload) -> Seen<Result<Proposal, Refusal>> {
    let object = workload.object();
    let scale = workload.scale();
    let effect = Effect {
        what: match scale {
            Some(WorkloadScale::Suspended(_)) => format!("suspends {object}"),
            _ => format!("scales {object} to 0"),
        },
        risk: "it serves nothing any more".to_owned(),
    };
    let refuse = |reason: String| Ok(Err(Refusal { reason, effect: effect.clone() }));
    let Some(terms) = &cx.settings().teardown else { return refuse(NO_TEARDOWN.to_owned()) };
    let Some(from) = scale else {
        return refuse("a DaemonSet cannot be stopped: remove its claim, or delete it".to_owned());
    };
    if facts::is_stopped(workload) {
        return refuse("it is stopped already".to_owned());
    }
    match facts::stopped_with(cx, workload) {
        Ok(stopped) if stopped.object() == object => {}
        Ok(stopped) => return refuse(format!("it is stopped with {}", stopped.object())),
        Err(reason) => return refuse(reason),
    }
    if let Err(reason) = may_end(cx, terms, workload)? {
        return refuse(reason);
    }
    let step = Action::ScaleWorkload { workload: object, from, to: from.stopped() };
    Ok(Ok(one(step, effect, Undo::Revert)))
}

/// Refuses what is never stopped, and a workload with claims that are not torn down.
fn may_end(cx: &Cx, terms: &TeardownTerms, workload: &Workload) -> Seen<checks::Checked> {
    if let Some(reason) = facts::protected_from_teardown(cx, terms, &workload.object()) {
        return Ok(Err(reason));
    }
    let claims = facts::claims_of_workload(cx, workload)?;
    let left = claims.iter().filter(|it| !terms.claims.contains(*it)).collect::<Vec<_>>();
    Ok(match *left {
        [] => Ok(()),
        [first, ..] => {
            let count = counted(left.len(), "claim");
            Err(format!("it also uses {count} that the teardown leaves out: pvc/{first}"))
        }
    })
}

/// Proposes or refuses to delete a pod that no controller creates again.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn end_pod(cx: &Cx, pod: &PodUse) -> Seen<Result<Proposal, Refusal>> {
    let object = pod.object();
    let effect = Effect {
        what: format!("deletes {object}, which no controller creates again"),
        risk: "it serves nothing any more; the journal has its manifest".to_owned(),
    };
    let refuse = |reason: String| Ok(Err(Refusal { reason, effect: effect.clone() }));
    let Some(terms) = &cx.settings().teardown else { return refuse(NO_TEARDOWN.to_owned()) };
    if pod.deleting.is_some() {
        return refuse("it is Terminating already".to_owned());
    }
    if let Some(reason) = facts::protected_from_teardown(cx, terms, &object) {
        return refuse(reason);
    }
    if let Err(reason) = facts::is_deleted_alone(cx, terms, pod) {
        return refuse(reason);
    }
    let mut named = pod
        .claims
        .iter()
        .map(|it| ClaimKey { namespace: pod.namespace.clone(), name: it.claim.clone() });
    if let Some(left) = named.find(|it| !terms.claims.contains(it)) {
        return refuse(format!("it also uses pvc/{left}, which the teardown leaves out"));
    }
    let undo = Undo::Never("a deleted pod is not created again; the journal has its manifest");
    Ok(Ok(one(Action::DeletePod { pod: object }, effect, undo)))
}

/// A workload that is to be started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The journal entry that stopped it.
    pub undoes: u64,
    /// Its scale before.
    pub to: WorkloadScale,
    /// Number of claims that a custom resource makes for each of its pods.
    pub own_claims: usize,
}

/// Proposes or refuses to start a workload again, which needs all claims that it had.
///
/// # Errors
/// When claims or volumes of its namespace were not read.
pub fn restart(cx: &Cx, workload: &Workload, restart: &Restart) -> Seen<Result<Proposal, Refusal>> {
    let object = workload.object();
    let effect = Effect {
        what: format!("sets {object} back: {}", restart.to),
        risk: "it uses its claims again".to_owned(),
    };
    let refuse = |reason: String| Ok(Err(Refusal { reason, effect: effect.clone() }));
    let Some(from) = workload.scale() else { return refuse("it has no scale".to_owned()) };
    if !from.is_stopped() {
        return refuse(format!("it was started since: {from}"));
    }
    if workload.finished {
        return refuse("it has finished".to_owned());
    }
    if let (WorkloadScale::Replicas(count), true) = (restart.to, restart.own_claims > 0) {
        let wanted = restart.own_claims * usize::try_from(count).unwrap_or(0);
        let found = cx.claims_owned_by(&workload.object())?.len();
        if found < wanted {
            return refuse(format!(
                "{found} of its {wanted} claims exist: it would run with new, empty ones; `kubectl storage rebind \
                 pv/NAME` gives the data of a Released volume back"
            ));
        }
    }
    for key in facts::claims_at_scale(cx, workload, restart.to)? {
        if cx.claim(&key)?.is_some() {
            continue;
        }
        let back = cx.volumes_of(&key)?.into_iter().map(|it| {
            format!("; `kubectl storage rebind {}` gives its data back first", it.object())
        });
        let back = back.collect::<Vec<_>>().concat();
        return refuse(format!(
            "its claim {key} does not exist: it would run with a new, empty one, or wait for ever{back}"
        ));
    }
    let step = Action::ScaleWorkload { workload: object, from, to: restart.to };
    Ok(Ok(one(step, effect, Undo::Never("a teardown stops it again"))))
}

/// Proposes or refuses to delete a snapshot, with which its driver deletes what it has of it.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn delete_snapshot(cx: &Cx, snapshot: &VolumeSnapshot) -> Seen<Result<Proposal, Refusal>> {
    let object = snapshot.object();
    let effect = Effect {
        what: format!("deletes {object}; then its driver deletes the snapshot"),
        risk: "the snapshot is permanently destroyed".to_owned(),
    };
    let refuse = |reason: String| Ok(Err(Refusal { reason, effect: effect.clone() }));
    if cx.settings().teardown.is_none() || !cx.settings().destroy_snapshots {
        return refuse("requires --destroy-snapshots".to_owned());
    }
    if snapshot.metadata.deleting.is_some() {
        return refuse("it is Terminating already".to_owned());
    }
    if let Err(reason) = checks::not_exempt(cx, &snapshot.metadata) {
        return refuse(reason);
    }
    let content = match facts::snapshot_fate(cx, snapshot)? {
        SnapshotFate::Destroyed(content) => content,
        SnapshotFate::Kept(content) => {
            return refuse(format!("{} has deletionPolicy Retain", content.object()));
        }
        SnapshotFate::Unknown(why) => return refuse(why),
    };
    if matches!(content.source, SnapshotSource::Existing) {
        return refuse(format!("{} is pre-provisioned", content.object()));
    }
    let restoring = cx.claims_restored_from(&snapshot.namespace, &snapshot.metadata.name)?;
    if let Some(claim) = restoring.iter().find(|it| it.phase == ClaimPhase::Pending) {
        return refuse(format!("{} is being restored from it", claim.object()));
    }
    let state = facts::csi_snapshotter(cx, &content.driver);
    if state.liveness != Liveness::Alive {
        let driver = &content.driver;
        return refuse(format!(
            "csi-snapshotter of {driver} may not be running: {}",
            state.because
        ));
    }
    let undo = Undo::Never("the snapshot is deleted at the storage system");
    let loses =
        Loss { volumes: 0, snapshots: 1, bytes: content.size.unwrap_or(0), is_certain: true };
    let proposal = one(Action::DeleteSnapshot { snapshot: object }, effect, undo);
    Ok(Ok(Proposal { loses, relies_on: vec!["--destroy-snapshots"], ..proposal }))
}

/// Returns a proposal of one write that loses no data.
fn one(step: Action, effect: Effect, undo: Undo) -> Proposal {
    Proposal {
        steps: vec![step],
        effect,
        undo,
        notices: Vec::new(),
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }
}

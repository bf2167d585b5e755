//! Workloads and pods that use claims which are torn down.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Purpose, TeardownObstacle};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{ClaimKey, Kind, ObjectRef, Text, Uid, Volume, WorkloadScale, split_ordinal};

/// Returns the workloads and pods that use claims which are torn down: those to stop, and what keeps them from it.
///
/// `deleted` are the claims that are deleted.
///
/// # Errors
/// When something was not read on which this rests.
pub fn users(cx: &Cx, deleted: &BTreeSet<ClaimKey>) -> Seen<Users> {
    let Some(terms) = &cx.settings().teardown else { return Ok(Users::default()) };
    let mut found = Users::default();
    let namespaces: BTreeSet<&Text> = deleted.iter().map(|it| &it.namespace).collect();
    for namespace in &namespaces {
        for kind in Kind::WORKLOADS.into_iter().chain([Kind::Pod]) {
            cx.cluster().reach(kind, Some(namespace))?;
        }
    }
    let mut by_stem: BTreeMap<&Text, Vec<&ClaimKey>> = BTreeMap::new();
    let mut stems = BTreeSet::new();
    for key in deleted {
        // One of each set is enough.
        let stem = split_ordinal(&key.name).map(|(stem, _)| stem);
        if stem.is_some_and(|stem| stems.insert((&key.namespace, stem))) {
            by_stem.entry(&key.namespace).or_default().push(key);
        }
    }
    let workloads = cx.cluster().workloads().map(|(_, it)| Cow::Borrowed(it));
    let custom = namespaces.iter().flat_map(|it| facts::custom_workloads(cx, it));
    for workload in workloads.chain(custom.map(Cow::Owned)) {
        if !namespaces.contains(&workload.namespace) {
            continue;
        }
        let claims = facts::claims_of_workload(cx, &workload)?;
        // A scale-down may have deleted the claim before the pod.
        let is_of_set = || {
            let of_stem = by_stem.get(&workload.namespace).into_iter().flatten();
            workload.set.is_some()
                && of_stem.into_iter().any(|it| facts::is_named_by_set(&workload, it))
        };
        if claims.is_disjoint(deleted) && !is_of_set() {
            continue;
        }
        if workload.kind == Kind::DaemonSet {
            found.obstacles.insert(TeardownObstacle {
                object: Some(workload.object()),
                reason: "a DaemonSet cannot be stopped: remove its claim, or delete it".to_owned(),
            });
            continue;
        }
        found.dependents.extend(workload.uid.clone());
        if facts::is_stopped(&workload) {
            // Of a set that is scaled to zero, nothing has to be stopped.
            found.stopped.extend(workload.uid.clone());
            continue;
        }
        match facts::stopped_with(cx, &workload) {
            // Its controller has not followed yet.
            Ok(target) if facts::is_stopped(&target) => found.stopped.extend(target.uid.clone()),
            Ok(target) => {
                if let Some(scale) = target.scale() {
                    found.stops.insert(target.object(), scale);
                }
            }
            Err(reason) => {
                let object = Some(workload.object());
                found.obstacles.insert(TeardownObstacle { object, reason });
            }
        }
    }
    for (_, pod) in cx.cluster().pods() {
        let key = |name: &str| ClaimKey { namespace: pod.namespace.clone(), name: name.into() };
        let uses = pod.claims.iter().any(|it| deleted.contains(&key(&it.claim)));
        if !uses || !namespaces.contains(&pod.namespace) {
            continue;
        }
        let node = pod.node.as_ref();
        let problem = node.map(|it| facts::node_problem(cx, it, Kind::Pod)).transpose()?.flatten();
        if let (Some(node), Some(problem)) = (node, problem) {
            found.obstacles.insert(TeardownObstacle {
                object: Some(pod.object()),
                reason: format!(
                    "its node {node} {}: a process there may still write, and nothing is forced",
                    problem.describe()
                ),
            });
            continue;
        }
        if pod.deleting.is_some() {
            found.dependents.extend(pod.uid.clone());
            continue;
        }
        let owner = pod.controller.as_ref();
        let is_known = owner.is_some_and(|it| {
            let uid = it.uid.as_ref();
            uid.is_some_and(|uid| found.dependents.contains(uid))
        });
        match facts::is_deleted_alone(cx, terms, pod) {
            Ok(()) => {
                found.pods.insert(pod.object());
            }
            Err(_) if is_known => {}
            Err(reason) => {
                let reason = format!("{reason}, and would create it again: stop or delete that");
                found.obstacles.insert(TeardownObstacle { object: Some(pod.object()), reason });
            }
        }
    }
    // Each is judged as it is before the write.
    let mut refused = Vec::new();
    let stops = found.stops.keys().map(|it| (Purpose::Stop, it));
    for (purpose, object) in stops.chain(found.pods.iter().map(|it| (Purpose::EndPod, it))) {
        if let Err(refusal) = purpose.propose(cx, object)? {
            refused.push(TeardownObstacle { object: Some(object.clone()), reason: refusal.reason });
        }
    }
    found.obstacles.extend(refused);
    found.dependents.extend(found.stops.keys().filter_map(|it| it.uid.clone()));
    found.dependents.extend(found.pods.iter().filter_map(|it| it.uid.clone()));
    Ok(found)
}

/// Returns the stopped workloads whose claims are gone, and whose volumes this teardown has set to Retain: an earlier run
/// found them stopped, which is in no journal.
///
/// # Errors
/// When something was not read on which this rests.
pub fn stopped_before(cx: &Cx) -> Seen<BTreeSet<Uid>> {
    let Some(terms) = &cx.settings().teardown else { return Ok(BTreeSet::new()) };
    let cluster = cx.cluster();
    let is_ours =
        |it: &Volume| it.metadata.uid.as_ref().is_some_and(|uid| terms.retained.contains(uid));
    let claims = cluster.volumes().filter(|(_, it)| is_ours(it));
    let claims = claims.filter_map(|(_, it)| Some(it.claim_ref.as_ref()?.key.clone()));
    let scope = &cx.settings().scope;
    let is_gone =
        |it: &ClaimKey| scope.includes(&it.namespace) && cluster.claim_named(it).is_none();
    Ok(users(cx, &claims.filter(is_gone).collect())?.stopped)
}

/// Workloads and pods that use claims which are torn down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Users {
    /// Workloads that are to be stopped, with their scale now.
    pub stops: BTreeMap<ObjectRef, WorkloadScale>,
    /// Pods that are to be deleted by themselves.
    pub pods: BTreeSet<ObjectRef>,
    /// Uids of workloads that are stopped already.
    pub stopped: BTreeSet<Uid>,
    /// Uids of everything that ends with what is stopped.
    pub dependents: BTreeSet<Uid>,
    /// What cannot be stopped.
    pub obstacles: BTreeSet<TeardownObstacle>,
}

//! What a teardown may stop, and which uses of a claim end with what it stops (semantics K.5).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ClaimState, UnsafeReason, claim_state};
use crate::cluster::{Cx, Seen};
use crate::model::{
    Answer, Claim, ClaimKey, CustomUser, CustomUsers, Kind, ObjectKey, ObjectRef, Phase, PodUse,
    Question, ReclaimPolicy, TeardownTerms, Text, Volume, Workload, WorkloadScale, split_ordinal,
};

/// Namespace whose workloads are never stopped.
const SYSTEM: &str = "kube-system";

/// Returns the custom resources with replicas that are known in a namespace.
pub fn custom_workloads(cx: &Cx, namespace: &Text) -> Vec<Workload> {
    let seen = custom_users(cx, namespace);
    seen.users.iter().filter_map(|it| it.as_workload(namespace)).collect()
}

fn custom_users(cx: &Cx, namespace: &Text) -> Arc<CustomUsers> {
    match cx.answer(Question::CustomUsers { namespace: Text::clone(namespace) }) {
        Ok(Answer::Users(seen)) => seen,
        _ => Arc::default(),
    }
}

/// Returns a workload by its key, also one of a custom kind.
pub fn workload_named<'a>(cx: &Cx<'a>, key: &ObjectKey) -> Option<Cow<'a, Workload>> {
    let Some(namespace) = key.namespace.as_ref().filter(|_| key.kind.is_custom_workload()) else {
        return cx.cluster().workload_named(key).map(Cow::Borrowed);
    };
    let seen = custom_users(cx, namespace);
    let is_it = |it: &&CustomUser| it.name == key.name && it.kind.workload() == Some(key.kind);
    seen.users.iter().find(is_it)?.as_workload(namespace).map(Cow::Owned)
}

/// Whether a custom resource is stopped by this teardown, so that it uses no claims.
pub fn is_stopped_by_teardown(cx: &Cx, namespace: &Text, user: &CustomUser) -> bool {
    let Some(terms) = &cx.settings().teardown else { return false };
    user.as_workload(namespace).is_some_and(|it| terms.has_stopped(&it))
}

/// Whether a use of a claim ends with what this teardown has stopped, and is stopped now.
pub fn is_ended_by_teardown(cx: &Cx, namespace: &Text, reason: &UnsafeReason) -> bool {
    let Some(terms) = &cx.settings().teardown else { return false };
    match reason {
        UnsafeReason::Pod(user) => {
            let controller = user.pod.controller.as_ref().and_then(|it| it.uid.as_ref());
            terms.ends_pod(user.pod.uid.as_ref(), controller)
        }
        UnsafeReason::Workload(workload) => terms.has_stopped(workload),
        UnsafeReason::Template(it) => terms.has_stopped_set(it.set),
        // It is awaited.
        UnsafeReason::Attached(_) => terms.is_rehearsal,
        // It goes with its pod.
        UnsafeReason::Owned(owner) if &*owner.kind == Kind::Pod.name() => {
            let key = ObjectKey::named(Kind::Pod, namespace, &owner.name);
            let pod = cx.cluster().pod_named(&key).filter(|it| it.uid == owner.uid);
            pod.is_some_and(|pod| {
                let controller = pod.controller.as_ref().and_then(|it| it.uid.as_ref());
                terms.ends_pod(pod.uid.as_ref(), controller)
            })
        }
        UnsafeReason::Owned(owner) => {
            let custom = custom_users(cx, namespace);
            let owner = custom.users.iter().find(|it| it.uid.is_some() && it.uid == owner.uid);
            let owner = owner.and_then(|it| it.as_workload(namespace));
            owner.is_some_and(|it| terms.has_stopped(&it))
        }
        UnsafeReason::Clone(_)
        | UnsafeReason::Snapshot(_)
        | UnsafeReason::Other(_)
        | UnsafeReason::Unprotected
        | UnsafeReason::DataLost(_)
        | UnsafeReason::Changing(_) => false,
    }
}

/// Whether the disk of a volume goes without anything more being done: its claim is gone or Terminating.
///
/// # Errors
/// When claims of its namespace were not read.
pub fn is_going(cx: &Cx, volume: &Volume) -> Seen<bool> {
    if volume.reclaim_policy == ReclaimPolicy::Retain {
        return Ok(false);
    }
    Ok(match (&volume.phase, claim_state(cx, volume)?) {
        (Phase::Released | Phase::Failed, _)
        | (Phase::Bound, ClaimState::Absent | ClaimState::Recreated(_)) => true,
        (Phase::Bound, ClaimState::Live(claim)) => claim.metadata.deleting.is_some(),
        _ => false,
    })
}

/// Whether an object that wants a claim back was stopped by this teardown, and is stopped now.
pub fn is_wish_of_stopped(cx: &Cx, object: &ObjectRef) -> bool {
    let Some(terms) = &cx.settings().teardown else { return false };
    let workload = workload_named(cx, &object.key);
    workload.is_some_and(|it| it.uid == object.uid && terms.has_stopped(&it))
}

/// Reason why an object is never stopped by a teardown; `None` for one that may be.
pub fn protected_from_teardown(
    cx: &Cx,
    terms: &TeardownTerms,
    object: &ObjectRef,
) -> Option<String> {
    if let Some(reason) = terms.protected.get(&object.key) {
        return Some(reason.clone());
    }
    let namespace = object.key.namespace.as_ref()?;
    if **namespace == *SYSTEM {
        return Some(format!("nothing in namespace {SYSTEM} is stopped"));
    }
    let pods = cx.sidecar_pods().map(|it| (&it.namespace, it.object()));
    let workloads = cx.sidecar_workloads().map(|it| (&it.namespace, it.object()));
    let (_, driver) = pods.chain(workloads).find(|(of, _)| *of == namespace)?;
    Some(format!("nothing in namespace {namespace} is stopped: {driver} serves storage"))
}

/// Returns the claims that a workload names by its template, or that its pods use: also those that are made for each of
/// them. Of a custom resource also those of the `ReplicaSet`s that it controls.
///
/// # Errors
/// When claims or pods of its namespace were not read.
pub fn claims_of_workload(cx: &Cx, workload: &Workload) -> Seen<BTreeSet<ClaimKey>> {
    let key =
        |name: &str| ClaimKey { namespace: Text::clone(&workload.namespace), name: name.into() };
    let mut claims: BTreeSet<_> = workload.claims.iter().map(|name| key(name)).collect();
    if let Some(set) = &workload.set {
        for template in &set.templates {
            let stem = format!("{}-{}", template.name, workload.name);
            let of_stem = cx.claims_of_stem(&workload.namespace, &stem)?;
            claims.extend(of_stem.into_iter().map(|(_, claim)| claim.key()));
        }
    }
    let pods = cx.pods_under(workload)?;
    claims.extend(pods.iter().flat_map(|it| &it.claims).map(|it| key(&it.claim)));
    claims.extend(claims_of_custom(cx, workload)?);
    Ok(claims)
}

/// Returns the claims that a custom resource owns, and those that the `ReplicaSet`s which it controls name.
fn claims_of_custom(cx: &Cx, workload: &Workload) -> Seen<BTreeSet<ClaimKey>> {
    if !workload.kind.is_custom_workload() {
        return Ok(BTreeSet::new());
    }
    let namespace = &workload.namespace;
    let key = |name: &str| ClaimKey { namespace: Text::clone(namespace), name: name.into() };
    let owned = cx.claims_owned_by(&workload.object())?.into_iter().map(Claim::key);
    let controlled = cx.workloads_under(workload)?;
    let named = controlled.iter().flat_map(|it| &it.claims).map(|it| key(it));
    Ok(owned.chain(named).collect())
}

/// Returns the claims that a workload has at a scale: those that its template names, of a set those of its pods, and of
/// a custom resource those that it owns or controls.
///
/// # Errors
/// When claims of its namespace were not read.
pub fn claims_at_scale(
    cx: &Cx,
    workload: &Workload,
    scale: WorkloadScale,
) -> Seen<BTreeSet<ClaimKey>> {
    let key =
        |name: String| ClaimKey { namespace: Text::clone(&workload.namespace), name: name.into() };
    let mut claims: BTreeSet<_> = workload.claims.iter().map(|it| key(it.to_string())).collect();
    if let (Some(set), WorkloadScale::Replicas(count)) = (&workload.set, scale) {
        for template in &set.templates {
            let ordinals = set.start..set.start.saturating_add(count);
            claims.extend(
                ordinals.map(|it| key(format!("{}-{}-{it}", template.name, workload.name))),
            );
        }
    }
    claims.extend(claims_of_custom(cx, workload)?);
    Ok(claims)
}

/// Whether a claim has the name of one that a set makes by its templates.
pub fn is_named_by_set(workload: &Workload, claim: &ClaimKey) -> bool {
    let Some(set) = &workload.set else { return false };
    let Some((stem, _)) = split_ordinal(&claim.name) else { return false };
    let own = |template: &Text| {
        let rest = stem.strip_prefix(&**template).and_then(|it| it.strip_prefix('-'));
        rest == Some(&*workload.name)
    };
    claim.namespace == workload.namespace && set.templates.iter().any(|it| own(&it.name))
}

/// Returns the workload that has to be stopped so that another one creates no pods: the Deployment or the Rollout of a
/// `ReplicaSet`.
///
/// # Errors
/// Names its controller where that is not read, or has no scale.
pub fn stopped_with(cx: &Cx, workload: &Workload) -> Result<Workload, String> {
    let Some(owner) = &workload.controller else { return Ok(workload.clone()) };
    let controlled = |why: &str| format!("{} {} controls it{why}", owner.kind, owner.name);
    let restarted = || controlled(", and would start it again");
    let named = |kind| {
        let key = ObjectKey::named(kind, &workload.namespace, &owner.name);
        workload_named(cx, &key).filter(|it| owner.uid.is_none() || it.uid == owner.uid)
    };
    match (workload.kind, &*owner.kind) {
        (Kind::ReplicaSet, "Deployment") => match named(Kind::Deployment) {
            Some(it) => stopped_with(cx, &it),
            None => Err(controlled(", whose template does not name its claims any more")),
        },
        // Each run of a CronJob is suspended by itself.
        (Kind::Job, "CronJob") => Ok(workload.clone()),
        (Kind::ReplicaSet, "Rollout") => {
            named(Kind::Rollout).map(Cow::into_owned).ok_or_else(restarted)
        }
        _ => Err(restarted()),
    }
}

/// Whether a pod is deleted by itself: no controller creates it again.
pub fn is_deleted_alone(cx: &Cx, terms: &TeardownTerms, pod: &PodUse) -> Result<(), String> {
    let Some(owner) = &pod.controller else { return Ok(()) };
    let key = |kind| ObjectKey::named(kind, &pod.namespace, &owner.name);
    let named = format!("{} {} controls it", owner.kind, owner.name);
    if &*owner.kind != Kind::Job.name() || !pod.is_finished() {
        return Err(named);
    }
    let job = cx.cluster().workload_named(&key(Kind::Job));
    let job = job.filter(|it| owner.uid.is_none() || it.uid == owner.uid);
    match job {
        None => Ok(()),
        Some(job) if job.finished || terms.has_stopped(job) => Ok(()),
        Some(_) => Err(named),
    }
}

/// Whether a workload creates no pods now.
pub fn is_stopped(workload: &Workload) -> bool {
    workload.finished || workload.scale().is_some_and(WorkloadScale::is_stopped)
}

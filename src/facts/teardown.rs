//! What a teardown may stop, and which uses of a claim end with what it stops (semantics K.5).

use std::collections::BTreeSet;

use super::UnsafeReason;
use crate::cluster::{Cx, Seen};
use crate::model::{
    ClaimKey, Kind, ObjectKey, ObjectRef, PodUse, TeardownTerms, Text, Workload, WorkloadScale,
    split_ordinal,
};

/// Namespace whose workloads are never stopped.
const SYSTEM: &str = "kube-system";

/// Whether a use of a claim ends with what this teardown has stopped, and is stopped now.
pub fn is_ended_by_teardown(cx: &Cx, reason: &UnsafeReason) -> bool {
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
        UnsafeReason::Clone(_)
        | UnsafeReason::Snapshot(_)
        | UnsafeReason::Other(_)
        | UnsafeReason::Owned(_)
        | UnsafeReason::Unprotected
        | UnsafeReason::DataLost(_)
        | UnsafeReason::Changing(_) => false,
    }
}

/// Whether an object that wants a claim back was stopped by this teardown, and is stopped now.
pub fn is_wish_of_stopped(cx: &Cx, object: &ObjectRef) -> bool {
    let workload = || cx.cluster().workload_named(&object.key);
    let terms = cx.settings().teardown.as_ref();
    terms.is_some_and(|terms| {
        workload().is_some_and(|it| it.uid == object.uid && terms.has_stopped(it))
    })
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

/// Returns the claims that a workload names by its template, or that its pods use.
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
    Ok(claims)
}

/// Returns the claims that a workload has at a scale: those that its template names, and of a set those of its pods.
pub fn claims_at_scale(workload: &Workload, scale: WorkloadScale) -> BTreeSet<ClaimKey> {
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
    claims
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

/// Returns the workload that has to be stopped so that another one creates no pods: the Deployment of a `ReplicaSet`.
/// `None` where that is not read, or has no scale: then its controller is named.
pub fn stopped_with(cx: &Cx, workload: &Workload) -> Result<ObjectRef, String> {
    let Some(owner) = &workload.controller else { return Ok(workload.object()) };
    let controlled = |why: &str| format!("{} {} controls it{why}", owner.kind, owner.name);
    match (workload.kind, &*owner.kind) {
        (Kind::ReplicaSet, "Deployment") => {
            let key = ObjectKey::named(Kind::Deployment, &workload.namespace, &owner.name);
            cx.cluster().workload_named(&key).map_or_else(
                || Err(controlled(", whose template does not name its claims any more")),
                |it| stopped_with(cx, it),
            )
        }
        // Each run of a CronJob is suspended by itself.
        (Kind::Job, "CronJob") => Ok(workload.object()),
        _ => Err(controlled(", and would start it again")),
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

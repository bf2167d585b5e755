//! The controllers that have to act on an object now, each with its state.

use super::draft::ExplanationDraft;
use crate::cluster::{Cx, Unseen};
use crate::facts::{
    self, BlockingFinalizer, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, Owner, PVC_PROTECTION,
};
use crate::model::{
    Attachment, Claim, ClaimPhase, ClaimedVersion, ControllerState, Liveness, Phase, PodUse,
    ReclaimPolicy, StorageClass, Text, Volume, provisioning_driver,
};

/// Adds the controllers that have to act on a volume: those that reclaim it, and those that should
/// remove its finalizers.
pub(super) fn of_volume(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    let reclaims = volume.reclaim_policy == ReclaimPolicy::Delete
        && matches!(volume.phase, Phase::Released | Phase::Failed);
    let owner = facts::owner(volume);
    if reclaims {
        let failed = volume.phase == Phase::Failed;
        let may_be_in_tree = facts::unmigrated(volume, cx.server()).is_some();
        let (name, state) = match &owner {
            Owner::Csi(_) if may_be_in_tree => {
                (facts::describe_owner(volume, cx.server()), facts::controller_manager(cx))
            }
            Owner::Csi(driver) => (provisioner_name(cx, driver), facts::provisioner(cx, driver)),
            Owner::External(name) => (owner.describe(), facts::provisioner(cx, name)),
            Owner::InTree(_) => (owner.describe(), facts::controller_manager(cx)),
            Owner::StaticInTree(_) => {
                draft.explanation.controllers.push(owner.describe());
                return;
            }
        };
        // `shouldDelete` of the library behind external provisioners: Released volumes only.
        let is_external = !may_be_in_tree && matches!(owner, Owner::Csi(_) | Owner::External(_));
        let but = if failed && is_external { "; it ignores Failed volumes" } else { "" };
        let line = describe(&name, &state);
        add(draft, format!("{line}{but}"), Some(&state));
    }
    if volume.metadata.deleting.is_none() {
        return;
    }
    if let Some(driver) =
        owner.csi().filter(|_| volume.metadata.has_finalizer(EXTERNAL_PROVISIONER))
    {
        permission(cx, driver, draft);
    }
    // While it is bound, only finalizers of third parties do not wait for its claim.
    let is_bound = volume.phase == Phase::Bound;
    for blocking in facts::finalizers_of_volume(cx, volume) {
        let waits_for_claim =
            is_bound && facts::owner_of(&blocking.finalizer) != FinalizerOwner::Unknown;
        let is_reclaimers =
            reclaims && matches!(&*blocking.finalizer, EXTERNAL_PROVISIONER | IN_TREE);
        if !waits_for_claim && !is_reclaimers {
            blocks(&blocking, draft);
        }
    }
}

/// Adds whether csi-provisioner may patch volumes, without which it cannot remove its finalizer.
fn permission(cx: &Cx, driver: &Text, draft: &mut ExplanationDraft) {
    // Earlier versions update the volume instead.
    let patches = |it: &ClaimedVersion| it.version.as_ref().is_some_and(|it| it.major >= 5);
    for claimed in facts::claimed_versions(cx, driver).into_iter().filter(patches) {
        match (facts::may_patch_volumes(cx, &claimed), &claimed.service_account) {
            (Ok(Some(false)), Some((namespace, account))) => add(
                draft,
                format!(
                    "ServiceAccount {namespace}/{account} may not patch persistentvolumes (RBAC): csi-provisioner cannot remove its finalizer"
                ),
                None,
            ),
            (Ok(Some(true)), _) | (Ok(Some(false)), None) => {}
            (Ok(None) | Err(_), _) => {
                draft.open("whether csi-provisioner may patch persistentvolumes (RBAC)");
            }
        }
    }
}

/// Adds the controllers that have to act on a claim: its provisioner, or those that should remove
/// its finalizers.
pub(super) fn of_claim(
    cx: &Cx,
    claim: &Claim,
    class: Option<&StorageClass>,
    draft: &mut ExplanationDraft,
) {
    if claim.metadata.deleting.is_some() {
        let in_use = facts::upstream_in_use(cx, claim).is_ok_and(|pods| !pods.is_empty());
        for blocking in facts::finalizers_of_claim(cx, claim) {
            let waits_for_pods = in_use && &*blocking.finalizer == PVC_PROTECTION;
            if !waits_for_pods {
                blocks(&blocking, draft);
            }
        }
    } else if claim.phase == ClaimPhase::Pending && claim.volume_name.is_none() {
        // Until a pod is scheduled, its provisioner has nothing to do.
        if class.is_some_and(|it| it.waits_for_consumer) && claim.selected_node.is_none() {
            return;
        }
        let named = claim.provisioner.as_ref().or(class.map(|it| &it.provisioner));
        if let Some(named) = named.filter(|it| &***it != "kubernetes.io/no-provisioner") {
            provisioner(cx, named, draft);
        }
    }
}

/// Adds the provisioner with this name.
pub(super) fn provisioner(cx: &Cx, named: &Text, draft: &mut ExplanationDraft) {
    let driver = provisioning_driver(named);
    let (name, state) = match () {
        () if driver.starts_with("kubernetes.io/") => {
            (format!("kube-controller-manager, plugin {driver}"), facts::controller_manager(cx))
        }
        () if facts::is_csi(cx, &driver) => {
            (provisioner_name(cx, &driver), facts::provisioner(cx, &driver))
        }
        () => (format!("provisioner {driver}"), facts::provisioner(cx, &driver)),
    };
    add(draft, describe(&name, &state), Some(&state));
}

/// Adds the controllers that have to act on an attachment: its attacher, unless it is attached and not Terminating.
pub(super) fn of_attachment(cx: &Cx, attachment: &Attachment, draft: &mut ExplanationDraft) {
    if attachment.metadata.deleting.is_none() && attachment.attached {
        return;
    }
    let state = facts::attacher(cx, &attachment.attacher);
    let name = format!("external-attacher of {}", attachment.attacher);
    add(draft, describe(&name, &state), Some(&state));
}

/// Adds the controllers that have to move the volume of a claim to the node of a pod: the one that deletes its
/// attachment to another node, and the attacher.
pub(super) fn of_wanted_claim(cx: &Cx, pod: &PodUse, claim: &Claim, draft: &mut ExplanationDraft) {
    let Some(name) = &claim.volume_name else { return };
    for attachment in cx.attachments_of(name).unwrap_or_default() {
        let elsewhere = pod.node.as_ref() != Some(&attachment.node);
        if elsewhere && attachment.metadata.deleting.is_none() {
            let state = facts::controller_manager(cx);
            add(draft, describe("kube-controller-manager", &state), Some(&state));
        } else {
            of_attachment(cx, attachment, draft);
        }
    }
}

/// Adds the snapshot-controller with its state.
pub(super) fn of_snapshot(cx: &Cx, draft: &mut ExplanationDraft) {
    let state = facts::snapshotter(cx);
    add(draft, describe(facts::SNAPSHOT_CONTROLLER, &state), Some(&state));
}

/// Adds the controller that should remove a finalizer.
fn blocks(blocking: &BlockingFinalizer, draft: &mut ExplanationDraft) {
    let BlockingFinalizer { finalizer, by, state, managers } = blocking;
    let set_by = match &managers[..] {
        [] => String::new(),
        some => format!(", set by {}", some.join(", ")),
    };
    let line = match state {
        Some(state) => format!("{}; it should remove {finalizer}", describe(by, state)),
        None => format!("no known controller removes {finalizer}{set_by}"),
    };
    add(draft, line, state.as_ref());
}

fn add(draft: &mut ExplanationDraft, line: String, state: Option<&ControllerState>) {
    if let Some((kind, reason)) = state.and_then(|it| it.unseen.as_ref()) {
        draft.unseen(Unseen { kind: *kind, namespace: None, reason: reason.clone() });
    }
    let lines = &mut draft.explanation.controllers;
    if !lines.contains(&line) {
        lines.push(line);
    }
}

/// Names the csi-provisioner of a driver, with the versions of its images.
fn provisioner_name(cx: &Cx, driver: &Text) -> String {
    let claimed = facts::claimed_versions(cx, driver);
    let mut versions: Vec<_> = claimed.into_iter().filter_map(|it| it.version).collect();
    versions.sort();
    versions.dedup();
    let versions: Vec<_> = versions.iter().map(|it| format!("v{it}")).collect();
    let shown = match &versions[..] {
        [] => String::new(),
        some => format!(" {} (image tag)", some.join(", ")),
    };
    format!("csi-provisioner{shown} of {driver}")
}

/// Describes a controller: its state, and the evidence of it.
pub(super) fn describe(name: &str, state: &ControllerState) -> String {
    // A Lease that has not expired says so; of an act it matters when it was.
    let act = state.latest.as_ref().filter(|_| state.because.starts_with("it wrote"));
    let because = match act {
        Some(act) => format!("{}: {act}", state.because),
        None => state.because.clone(),
    };
    match (state.liveness, &state.unseen) {
        (Liveness::Alive, _) => format!("{name} is running ({because})"),
        (Liveness::Absent, _) => format!("{name} is absent ({because})"),
        (Liveness::Unknown, Some((kind, _))) => {
            format!("{name}; whether it runs is unknown ({} not read)", kind.plural())
        }
        (Liveness::Unknown, None) => format!("{name}; whether it runs is unknown ({because})"),
    }
}

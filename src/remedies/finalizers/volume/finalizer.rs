//! One finalizer of a volume, with the inputs of the table as the cluster shows them.

use super::super::super::checks;
use super::super::FinalizerRequest;
use super::super::decision::{Consent, ControllerLiveness, NotRead};
use super::table::{
    LeakChoice, Lifecycle, OtherFinalizers, ReclaimingController, Usage, VolumeFinalizerKind,
    VolumeInputs, VolumePhase, VolumePolicy,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{
    self, ClaimState, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, Owner, PV_PROTECTION,
};
use crate::model::{Age, ControllerState, Phase, ReclaimPolicy, Settings, Text, Threshold, Volume};

/// One finalizer of one volume, with the inputs of the table and their evidence.
pub(super) struct VolumeFinalizer<'a> {
    pub(super) volume: &'a Volume,
    pub(super) finalizer: &'a str,
    pub(super) inputs: VolumeInputs,
    /// The name of the controller that should remove it.
    pub(super) who: String,
    /// The driver of that controller, where it is a sidecar.
    pub(super) driver: Option<Text>,
    /// The state of that sidecar.
    pub(super) state: Option<ControllerState>,
    /// Why the volume is in use.
    pub(super) used: Option<String>,
    unread_controller: Option<Unseen>,
    unread_users: Option<Unseen>,
}

/// Returns the kind of a finalizer; `None` where the table does not decide about it.
pub(super) fn kind(finalizer: &str) -> Option<VolumeFinalizerKind> {
    match facts::owner_of(finalizer) {
        FinalizerOwner::Provisioner => Some(VolumeFinalizerKind::External),
        FinalizerOwner::ControllerManager => {
            (finalizer == IN_TREE).then_some(VolumeFinalizerKind::InTree)
        }
        FinalizerOwner::Attacher(_) => Some(VolumeFinalizerKind::Attacher),
        FinalizerOwner::Unknown => Some(VolumeFinalizerKind::ThirdParty),
        FinalizerOwner::Cloning
        | FinalizerOwner::Snapshotter
        | FinalizerOwner::GarbageCollector => None,
    }
}

/// Returns what the user chose for a backend volume that no controller would delete. With both
/// flags nothing is destroyed.
pub(super) const fn leak_choice(settings: &Settings) -> LeakChoice {
    match (settings.accept_leak, settings.reclaim) {
        (true, _) => LeakChoice::AcceptLeak,
        (false, true) => LeakChoice::Reclaim,
        (false, false) => LeakChoice::Unsaid,
    }
}

fn reclaiming_controller(volume: &Volume) -> ReclaimingController {
    match facts::owner(volume) {
        Owner::Csi(_) => ReclaimingController::Provisioner,
        Owner::InTree(_) => ReclaimingController::ControllerManager,
        Owner::External(_) | Owner::StaticInTree(_) => ReclaimingController::Unknown,
    }
}

const fn policy(volume: &Volume) -> VolumePolicy {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => VolumePolicy::Retain,
        ReclaimPolicy::Recycle => VolumePolicy::Recycle,
        ReclaimPolicy::Delete => VolumePolicy::Delete,
        ReclaimPolicy::Other(_) => VolumePolicy::Other,
    }
}

pub(super) const fn phase(volume: &Volume) -> VolumePhase {
    match volume.phase {
        Phase::Pending | Phase::Available => VolumePhase::Unbound,
        Phase::Bound => VolumePhase::Bound,
        Phase::Released => VolumePhase::Released,
        Phase::Failed => VolumePhase::Failed,
        Phase::Other(_) => VolumePhase::Other,
    }
}

/// Whether the volume has the deletion-protection finalizer of its reclaiming controller, apart
/// from `besides`. The stale one of the other controller blocks the deletion of the object only.
pub(super) fn is_protected(volume: &Volume, besides: &str) -> bool {
    let has = |it: &str| it != besides && volume.metadata.has_finalizer(it);
    match reclaiming_controller(volume) {
        ReclaimingController::Provisioner => has(EXTERNAL_PROVISIONER),
        ReclaimingController::ControllerManager => has(IN_TREE),
        ReclaimingController::Unknown => has(EXTERNAL_PROVISIONER) || has(IN_TREE),
    }
}

/// Whether no controller deletes the backend volume after the removal of a finalizer that does not
/// protect it.
pub(super) fn is_leaked_without(case: &VolumeFinalizer) -> bool {
    case.inputs.lifecycle == Lifecycle::Terminating
        && case.inputs.policy == VolumePolicy::Delete
        && !is_protected(case.volume, case.finalizer)
}

impl<'a> VolumeFinalizer<'a> {
    /// Reads the inputs for one finalizer of a volume, as the steps before have left the volume.
    pub(super) fn of(
        cx: &Cx,
        volume: &'a Volume,
        finalizer: &'a str,
        kind: VolumeFinalizerKind,
        request: &FinalizerRequest,
    ) -> Self {
        let settings = cx.settings();
        let mut case = Self {
            volume,
            finalizer,
            inputs: VolumeInputs {
                kind,
                reclaimed_by: match facts::unmigrated(volume, cx.server()) {
                    Some(_) => ReclaimingController::Unknown,
                    None => reclaiming_controller(volume),
                },
                policy: policy(volume),
                phase: phase(volume),
                lifecycle: match volume.metadata.deleting {
                    Some(_) => Lifecycle::Terminating,
                    None => Lifecycle::Live,
                },
                others: match is_protected(volume, finalizer) {
                    true => OtherFinalizers::DeletionProtection,
                    false if volume.metadata.has_finalizer(PV_PROTECTION) => {
                        OtherFinalizers::PvProtection
                    }
                    false => OtherFinalizers::Neither,
                },
                controller: ControllerLiveness::Unknown,
                usage: Usage::Free,
                leak: leak_choice(settings),
                rolled_back: settings.rolled_back,
                named: request.named,
                consent: Consent::new(settings.remove_finalizer.as_deref() == Some(finalizer)),
            },
            who: String::new(),
            driver: None,
            state: None,
            used: None,
            unread_controller: None,
            unread_users: None,
        };
        case.find_controller(cx);
        case.find_users(cx);
        case
    }

    /// Returns the gap behind an input that was not read.
    pub(super) const fn gap(&self, unread: NotRead) -> Option<&Unseen> {
        match unread {
            NotRead::Controller => self.unread_controller.as_ref(),
            NotRead::Users => self.unread_users.as_ref(),
        }
    }

    fn find_controller(&mut self, cx: &Cx) {
        let owner = facts::owner(self.volume);
        match (self.inputs.kind, owner) {
            (VolumeFinalizerKind::External, Owner::Csi(driver)) => {
                self.set_sidecar(facts::FinalizerController::provisioner(cx, &driver));
            }
            (VolumeFinalizerKind::External | VolumeFinalizerKind::InTree, Owner::InTree(_)) => {
                self.set_manager(cx);
            }
            // No controller removes it from a CSI volume.
            (VolumeFinalizerKind::InTree, Owner::Csi(_)) => {
                "kube-controller-manager".clone_into(&mut self.who);
            }
            (
                VolumeFinalizerKind::External | VolumeFinalizerKind::InTree,
                owner @ (Owner::External(_) | Owner::StaticInTree(_)),
            ) => self.who = owner.describe(),
            (
                VolumeFinalizerKind::Attacher,
                Owner::Csi(_) | Owner::InTree(_) | Owner::External(_) | Owner::StaticInTree(_),
            ) => {
                if let Some(driver) = facts::attacher_with(self.volume, self.finalizer) {
                    self.set_sidecar(facts::FinalizerController::attacher(cx, &driver));
                } else {
                    "an external-attacher".clone_into(&mut self.who);
                    self.inputs.controller = ControllerLiveness::Nameless;
                }
            }
            (
                VolumeFinalizerKind::ThirdParty,
                Owner::Csi(_) | Owner::InTree(_) | Owner::External(_) | Owner::StaticInTree(_),
            ) => {
                "the controller that set it".clone_into(&mut self.who);
                let since = Age::stamped(self.volume.metadata.deleting);
                if !cx.older_than(&since, Threshold::Stuck) {
                    self.inputs.controller = ControllerLiveness::Working;
                }
            }
        }
    }

    fn set_sidecar(&mut self, sidecar: facts::FinalizerController) {
        self.inputs.controller = ControllerLiveness::of(&sidecar);
        self.unread_controller = sidecar.was_seen().err();
        let facts::FinalizerController { who, name, state } = sidecar;
        self.who = who;
        self.driver = Some(name);
        self.state = Some(state);
    }

    /// Takes kube-controller-manager as the controller, and finds out whether it can be one that
    /// does not remove the finalizer.
    fn set_manager(&mut self, cx: &Cx) {
        "kube-controller-manager".clone_into(&mut self.who);
        let rolled_back = match (self.inputs.kind, self.inputs.lifecycle) {
            // Without --rolled-back nothing rests on it.
            (VolumeFinalizerKind::InTree, Lifecycle::Terminating) if self.inputs.rolled_back => {
                facts::looks_rolled_back(cx, self.volume)
            }
            (
                VolumeFinalizerKind::External
                | VolumeFinalizerKind::InTree
                | VolumeFinalizerKind::Attacher
                | VolumeFinalizerKind::ThirdParty,
                Lifecycle::Live | Lifecycle::Terminating,
            ) => Ok(true),
        };
        self.inputs.controller = match (facts::always_honors_reclaim_policy(cx), rolled_back) {
            (Some(true), _) => ControllerLiveness::Alive,
            (None, _) => ControllerLiveness::Unknown,
            (Some(false), Ok(true)) => ControllerLiveness::Absent,
            (Some(false), Ok(false)) => ControllerLiveness::Working,
            (Some(false), Err(unseen)) => {
                self.unread_controller = Some(unseen);
                ControllerLiveness::Unread
            }
        };
    }

    /// Finds the users of a Terminating volume, whose deletion may complete with the removal.
    fn find_users(&mut self, cx: &Cx) {
        let found = match (self.inputs.kind, self.inputs.lifecycle) {
            (_, Lifecycle::Live) => return,
            (VolumeFinalizerKind::Attacher, Lifecycle::Terminating) => users(cx, self.volume)
                .and_then(|used| match used {
                    Ok(()) => checks::on_no_node(cx, self.volume),
                    Err(reason) => Ok(Err(reason)),
                }),
            (
                VolumeFinalizerKind::External
                | VolumeFinalizerKind::InTree
                | VolumeFinalizerKind::ThirdParty,
                Lifecycle::Terminating,
            ) => users(cx, self.volume),
        };
        self.inputs.usage = match found {
            Ok(Ok(())) => Usage::Free,
            Ok(Err(reason)) => {
                self.used = Some(reason);
                Usage::Used
            }
            Err(unseen) => {
                self.unread_users = Some(unseen);
                Usage::Unread
            }
        };
    }
}

/// Refuses where a claim or an attachment uses a volume that is not bound.
fn users(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if volume.phase == Phase::Bound {
        return Ok(Ok(()));
    }
    if let ClaimState::Live(claim) | ClaimState::Changed(claim) = facts::claim_state(cx, volume)?
        && claim.volume_name.as_deref().is_none_or(|bound| bound == volume.name())
    {
        return Ok(Err(format!("{} still exists", claim.object())));
    }
    checks::not_attached(cx, volume)
}

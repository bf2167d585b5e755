//! One finalizer of a volume, with the inputs of the table as the cluster shows them.

use super::super::super::checks;
use super::super::{Consent, ControllerLiveness, FinalizerRequest, NotRead};
use super::table::{
    LeakChoice, Lifecycle, OtherFinalizers, ReclaimingController, Usage, VolumeFinalizerKind,
    VolumeInputs, VolumePhase, VolumePolicy, VolumeReason,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{
    self, ClaimState, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, Owner, PV_PROTECTION,
};
use crate::model::{
    Age, ControllerState, Phase, ReclaimPolicy, Settings, Text, Threshold, Volume, format_duration,
    format_time,
};

/// One finalizer of one volume, with the inputs of the table and their evidence.
pub(super) struct VolumeFinalizer<'a> {
    pub(super) volume: &'a Volume,
    pub(super) finalizer: &'a str,
    pub(super) inputs: VolumeInputs,
    /// The name of the controller that should remove it.
    pub(super) who: String,
    /// The driver of that controller, where it is a sidecar.
    pub(super) driver: Option<Text>,
    /// The state of the sidecar.
    pub(super) state: Option<ControllerState>,
    /// The reason why the volume is in use.
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

/// Returns the user's choice about a backend volume that no controller would delete. With both flags nothing is
/// destroyed.
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
    /// Reads the inputs for one finalizer of a volume, as earlier steps leave the volume.
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

    /// Sets kube-controller-manager as the controller, with its liveness: absent if it can be one that does not remove
    /// the finalizer.
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

/// Returns the sentence for a reason, without a full stop.
pub(super) fn reason(cx: &Cx, case: &VolumeFinalizer, why: VolumeReason) -> String {
    let (who, volume) = (&case.who, case.volume);
    let said: &str = match why {
        VolumeReason::ReclaimingControllerUnknown => {
            return format!("unknown which controller should remove it: {who}");
        }
        VolumeReason::ControllerAlive => {
            return running(cx, case);
        }
        VolumeReason::ControllerUnknown => {
            let because = case.state.as_ref().map_or("not found out", |it| &*it.because);
            return format!("unknown whether {who} is absent: {because}");
        }
        VolumeReason::ControllerNameless => "unknown which driver's external-attacher set it",
        VolumeReason::ManagerHonors => {
            "kube-controller-manager removes it; if it does not, read its log and restart it"
        }
        VolumeReason::ManagerUnversioned => {
            "unknown whether kube-controller-manager removes it: server version not read"
        }
        VolumeReason::NeedsRolledBack => {
            "requires --rolled-back, which asserts that HonorPVReclaimPolicy is off in kube-controller-manager"
        }
        VolumeReason::SlowDeletionLooksTheSame => {
            "a slow deletion looks the same; requires --rolled-back, which asserts that HonorPVReclaimPolicy is off in kube-controller-manager"
        }
        VolumeReason::DeletionMayGoOn => {
            "its deletion may still be in progress; wait, or read the log of kube-controller-manager"
        }
        VolumeReason::NeedsObjectName => "removed only if the volume is named on the command line",
        VolumeReason::NeedsFinalizerName => {
            return format!(
                "the controller that set it should remove it, and may have to finish something first; skipping that requires --remove-finalizer {}",
                case.finalizer
            );
        }
        VolumeReason::TooSoon => {
            let stuck = format_duration(cx.settings().thresholds.get(Threshold::Stuck));
            return format!(
                "Terminating for less than {stuck}: the controller that set it may still be working; wait"
            );
        }
        VolumeReason::AttacherWaitsForDeletion => {
            "not Terminating: external-attacher keeps its finalizer until the volume is deleted"
        }
        VolumeReason::NotTerminating => "not Terminating: the finalizer blocks nothing now",
        VolumeReason::ReinstallDriver => {
            "policy Delete: reinstall the driver, which then deletes the backend volume"
        }
        VolumeReason::Bound => "Bound: not this finalizer blocks the deletion, but its claim",
        VolumeReason::BoundUnprotected => {
            "Bound, and no other finalizer blocks the deletion: its claim would become Lost"
        }
        VolumeReason::InUse => {
            return case.used.clone().unwrap_or_else(|| "it is in use".to_owned());
        }
        VolumeReason::LastDeletionProtection => {
            let needs = match case.inputs.policy {
                VolumePolicy::Delete => "; requires --accept-leak or --reclaim",
                VolumePolicy::Retain | VolumePolicy::Recycle | VolumePolicy::Other => "",
            };
            return format!(
                "it is the last finalizer that blocks the deletion, {EXTERNAL_PROVISIONER} is missing, and the policy is {}{needs}",
                volume.reclaim_policy
            );
        }
        VolumeReason::NothingElseProtects => {
            return format!(
                "no other finalizer protects the backend volume: {IN_TREE} is missing and the policy is {}; run `kubectl storage retain {}` first",
                volume.reclaim_policy,
                volume.object()
            );
        }
        VolumeReason::NeedsLeakChoice => match case.inputs.kind {
            VolumeFinalizerKind::External => {
                "removal would leak the backend volume; reinstall the driver, which then deletes it, or pass --accept-leak or --reclaim"
            }
            VolumeFinalizerKind::InTree => {
                "removal may leak the backend volume; requires --accept-leak or --reclaim"
            }
            VolumeFinalizerKind::Attacher | VolumeFinalizerKind::ThirdParty => {
                "if the backend volume still exists, no controller deletes it after this finalizer is removed (leak); requires --accept-leak or --reclaim"
            }
        },
        VolumeReason::NeedsAcceptLeak => {
            "policy Recycle, and unknown whether the data was scrubbed; requires --accept-leak"
        }
        VolumeReason::NeverReleased => {
            return format!(
                "phase {}: it was never Released, so --reclaim does not apply; --accept-leak keeps the backend volume without a PersistentVolume",
                volume.phase
            );
        }
        VolumeReason::PolicyUnknown => {
            return format!(
                "its policy {} is unknown; `kubectl storage retain {}` sets one that is known",
                volume.reclaim_policy,
                volume.object()
            );
        }
    };
    said.to_owned()
}

/// Whether csi-provisioner leaves its finalizer rightly: it deletes no backend volume before the claim is deleted
/// (R-2644-8).
pub(super) fn waits_for_claim(case: &VolumeFinalizer) -> bool {
    let it = &case.inputs;
    it.kind == VolumeFinalizerKind::External
        && it.phase == VolumePhase::Bound
        && it.policy == VolumePolicy::Delete
}

/// Describes a running controller that has not removed its finalizer: that it will, as long as it has had no time for
/// that; then that it is stuck.
fn running(cx: &Cx, case: &VolumeFinalizer) -> String {
    let who = &case.who;
    if waits_for_claim(case) {
        return format!(
            "{who} is running, and removes it after the claim and the backend volume are deleted"
        );
    }
    let threshold = match case.inputs.kind {
        VolumeFinalizerKind::Attacher => Threshold::Detach,
        VolumeFinalizerKind::External
        | VolumeFinalizerKind::InTree
        | VolumeFinalizerKind::ThirdParty => Threshold::Stuck,
    };
    let leak = match case.inputs.kind {
        VolumeFinalizerKind::Attacher if is_leaked_without(case) => {
            "; if the backend volume still exists, no controller deletes it after this finalizer is removed (leak)"
        }
        _ => "",
    };
    match case.volume.metadata.deleting {
        Some(since) if cx.older_than(&Age::stamped(Some(since)), threshold) => format!(
            "{who} is running, but has not removed its finalizer since the deletion was requested at {}; read its log, fix what it reports, then restart it, or upgrade it{leak}",
            format_time(&since)
        ),
        Some(_) => format!("{who} is running and should remove its finalizer soon; wait{leak}"),
        None => format!(
            "{who} is running and should remove its finalizer; if it does not, read its log and restart it"
        ),
    }
}

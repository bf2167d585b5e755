//! What the table is asked, as the cluster shows it, and what a reason says of it.

use super::super::super::checks;
use super::super::Asked;
use super::table::{
    Beside, Life, Policy, Reclaimer, Remover, Situation, Stage, Usage, Which, Word,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{
    self, ClaimState, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, Owner, PV_PROTECTION,
};
use crate::model::{
    Age, ControllerState, Liveness, Phase, ReclaimPolicy, Settings, Text, Threshold, Volume,
};

/// One finalizer of one volume, with what it rests on.
pub(super) struct Case<'a> {
    pub(super) volume: &'a Volume,
    pub(super) finalizer: &'a str,
    pub(super) situation: Situation,
    /// Who should remove it.
    pub(super) who: String,
    /// The driver whose sidecar that is.
    pub(super) driver: Option<Text>,
    /// What is known of that sidecar.
    pub(super) state: Option<ControllerState>,
    /// Who has to do with the volume.
    pub(super) used: Option<String>,
    unseen: [Option<Unseen>; 2],
}

/// Whose a finalizer is, where the table decides about it.
pub(super) fn which(finalizer: &str) -> Option<Which> {
    match facts::owner_of(finalizer) {
        FinalizerOwner::Provisioner => Some(Which::External),
        FinalizerOwner::ControllerManager => (finalizer == IN_TREE).then_some(Which::InTree),
        FinalizerOwner::Attacher(_) => Some(Which::Attacher),
        FinalizerOwner::Unknown => Some(Which::Foreign),
        FinalizerOwner::Cloning
        | FinalizerOwner::Snapshotter
        | FinalizerOwner::GarbageCollector => None,
    }
}

/// What the user said of a backend volume that nobody would delete. Who says both destroys nothing.
pub(super) const fn word(settings: &Settings) -> Word {
    match (settings.accept_leak, settings.reclaim) {
        (true, _) => Word::AcceptLeak,
        (false, true) => Word::Reclaim,
        (false, false) => Word::None,
    }
}

pub(super) fn reclaimer(volume: &Volume) -> Reclaimer {
    match facts::owner(volume) {
        Owner::Csi(_) => Reclaimer::Provisioner,
        Owner::InTree(_) => Reclaimer::ControllerManager,
        Owner::External(_) | Owner::StaticInTree(_) => Reclaimer::Unknown,
    }
}

pub(super) const fn policy(volume: &Volume) -> Policy {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => Policy::Retain,
        ReclaimPolicy::Recycle => Policy::Recycle,
        ReclaimPolicy::Delete => Policy::Delete,
        ReclaimPolicy::Other(_) => Policy::Other,
    }
}

pub(super) const fn stage(volume: &Volume) -> Stage {
    match volume.phase {
        Phase::Pending | Phase::Available => Stage::Unbound,
        Phase::Bound => Stage::Bound,
        Phase::Released => Stage::Released,
        Phase::Failed => Stage::Failed,
        Phase::Other(_) => Stage::Other,
    }
}

/// Whether the finalizer of whoever deletes the backend volume is there, besides another. A stale
/// one of the other kind holds the object, and nobody deletes anything for it.
pub(super) fn is_guarded(volume: &Volume, besides: &str) -> bool {
    let there = |it: &str| it != besides && volume.metadata.has_finalizer(it);
    match reclaimer(volume) {
        Reclaimer::Provisioner => there(EXTERNAL_PROVISIONER),
        Reclaimer::ControllerManager => there(IN_TREE),
        Reclaimer::Unknown => there(EXTERNAL_PROVISIONER) || there(IN_TREE),
    }
}

impl<'a> Case<'a> {
    /// Looks at one of its finalizers, as the steps before have left the volume.
    pub(super) fn of(
        cx: &Cx,
        volume: &'a Volume,
        finalizer: &'a str,
        which: Which,
        asked: &Asked,
    ) -> Self {
        let settings = cx.settings();
        let mut case = Self {
            volume,
            finalizer,
            situation: Situation {
                which,
                reclaimer: reclaimer(volume),
                policy: policy(volume),
                stage: stage(volume),
                life: match volume.metadata.deleting {
                    Some(_) => Life::Terminating,
                    None => Life::Live,
                },
                beside: match is_guarded(volume, finalizer) {
                    true => Beside::Guard,
                    false if volume.metadata.has_finalizer(PV_PROTECTION) => Beside::Protection,
                    false => Beside::Nothing,
                },
                remover: Remover::Unknown,
                usage: Usage::Free,
                word: word(settings),
                rolled_back: settings.rolled_back,
                named: asked.named,
                by_name: settings.remove_finalizer.as_deref() == Some(finalizer),
            },
            who: String::new(),
            driver: None,
            state: None,
            used: None,
            unseen: [None, None],
        };
        case.look_for_the_remover(cx);
        case.look_for_users(cx);
        case
    }

    /// What was not seen of whoever should remove it.
    pub(super) fn unseen_remover(&self) -> Option<&Unseen> {
        self.unseen[0].as_ref()
    }

    /// What was not seen of its users.
    pub(super) fn unseen_usage(&self) -> Option<&Unseen> {
        self.unseen[1].as_ref()
    }

    fn look_for_the_remover(&mut self, cx: &Cx) {
        let owner = facts::owner(self.volume);
        match (self.situation.which, owner) {
            (Which::External, Owner::Csi(driver)) => {
                self.is_sidecar(facts::FinalizerController::provisioner(cx, &driver));
            }
            (Which::External | Which::InTree, Owner::InTree(_)) => self.is_manager(cx),
            // Nobody removes that from a volume that is CSI, whoever is there.
            (Which::InTree, Owner::Csi(_)) => {
                "kube-controller-manager".clone_into(&mut self.who);
            }
            (
                Which::External | Which::InTree,
                owner @ (Owner::External(_) | Owner::StaticInTree(_)),
            ) => self.who = owner.describe(),
            (
                Which::Attacher,
                Owner::Csi(_) | Owner::InTree(_) | Owner::External(_) | Owner::StaticInTree(_),
            ) => {
                if let Some(driver) = facts::attacher_with(self.volume, self.finalizer) {
                    self.is_sidecar(facts::FinalizerController::attacher(cx, &driver));
                } else {
                    "an external-attacher".clone_into(&mut self.who);
                    self.situation.remover = Remover::Nameless;
                }
            }
            (
                Which::Foreign,
                Owner::Csi(_) | Owner::InTree(_) | Owner::External(_) | Owner::StaticInTree(_),
            ) => {
                "whoever set it".clone_into(&mut self.who);
                let since = Age::stamped(self.volume.metadata.deleting);
                if !cx.older_than(&since, Threshold::Stuck) {
                    self.situation.remover = Remover::Working;
                }
            }
        }
    }

    fn is_sidecar(&mut self, sidecar: facts::FinalizerController) {
        self.situation.remover = match (sidecar.liveness(), sidecar.was_seen()) {
            (Liveness::Alive, _) => Remover::Alive,
            (Liveness::Absent, _) => Remover::Absent,
            (Liveness::Unknown, Ok(())) => Remover::Unknown,
            (Liveness::Unknown, Err(unseen)) => {
                self.unseen[0] = Some(unseen);
                Remover::Unseen
            }
        };
        let facts::FinalizerController { who, name, state } = sidecar;
        self.who = who;
        self.driver = Some(name);
        self.state = Some(state);
    }

    /// The controller manager that would remove it: whether it can be one that does not.
    fn is_manager(&mut self, cx: &Cx) {
        "kube-controller-manager".clone_into(&mut self.who);
        let silent = match (self.situation.which, self.situation.life) {
            // Without the user's word nothing rests on it.
            (Which::InTree, Life::Terminating) if self.situation.rolled_back => {
                facts::looks_rolled_back(cx, self.volume)
            }
            (
                Which::External | Which::InTree | Which::Attacher | Which::Foreign,
                Life::Live | Life::Terminating,
            ) => Ok(true),
        };
        self.situation.remover = match (facts::always_honors_reclaim_policy(cx), silent) {
            (Some(true), _) => Remover::Alive,
            (None, _) => Remover::Unknown,
            (Some(false), Ok(true)) => Remover::Absent,
            (Some(false), Ok(false)) => Remover::Working,
            (Some(false), Err(unseen)) => {
                self.unseen[0] = Some(unseen);
                Remover::Unseen
            }
        };
    }

    /// A terminating object may go with its finalizer: then nobody may have to do with it.
    fn look_for_users(&mut self, cx: &Cx) {
        let looked = match (self.situation.which, self.situation.life) {
            (_, Life::Live) => return,
            (Which::Attacher, Life::Terminating) => {
                users(cx, self.volume).and_then(|used| match used {
                    Ok(()) => checks::on_no_node(cx, self.volume),
                    Err(reason) => Ok(Err(reason)),
                })
            }
            (Which::External | Which::InTree | Which::Foreign, Life::Terminating) => {
                users(cx, self.volume)
            }
        };
        self.situation.usage = match looked {
            Ok(Ok(())) => Usage::Free,
            Ok(Err(reason)) => {
                self.used = Some(reason);
                Usage::Used
            }
            Err(unseen) => {
                self.unseen[1] = Some(unseen);
                Usage::Unseen
            }
        };
    }
}

/// Whether a claim or an attachment has to do with a volume that is not bound.
pub(super) fn users(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if volume.phase == Phase::Bound {
        return Ok(Ok(()));
    }
    if let ClaimState::Live(claim) = facts::claim_state(cx, volume)?
        && claim.volume_name.as_deref().is_none_or(|bound| bound == volume.name())
    {
        return Ok(Err(format!("{} still exists", claim.object())));
    }
    checks::not_attached(cx, volume)
}

//! Removes one finalizer that nobody is left to remove: P-FIN-DEL, one at a time, by position and
//! name. What blocks and what does not is the table of SEMANTICS F23, F24, F27, F30, F31, F39.

use super::{Remedy, checks};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, EXTERNAL_PROVISIONER, IN_TREE, Owner};
use crate::model::{
    Action, ControllerState, Effect, Kind, Liveness, Phase, Proposal, ReclaimPolicy, Refusal, Text,
    Undo, Volume,
};

const PROBES: &[Kind] = &[
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::Pod,
    Kind::Lease,
    Kind::CsiDriver,
    Kind::CsiNode,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::ReplicaSet,
    Kind::Event,
    Kind::VolumeAttachment,
];

/// Removes the finalizer of csi-provisioner.
pub static EXTERNAL: Remedy = Remedy {
    id: "remove-external-finalizer",
    needs: PROBES,
    writes: &[("patch", "persistentvolumes")],
    propose: |cx, volume| propose(cx, volume, EXTERNAL_PROVISIONER, external),
};

/// Removes the finalizer of kube-controller-manager's volume controller.
pub static IN_TREE_FINALIZER: Remedy = Remedy {
    id: "remove-in-tree-finalizer",
    needs: PROBES,
    writes: &[("patch", "persistentvolumes")],
    propose: |cx, volume| propose(cx, volume, IN_TREE, in_tree),
};

/// Removes the finalizer of external-attacher.
pub static ATTACHER: Remedy = Remedy {
    id: "remove-attacher-finalizer",
    needs: PROBES,
    writes: &[("patch", "persistentvolumes")],
    propose: |cx, volume| {
        let finalizer = attacher_finalizer(volume);
        propose(cx, volume, finalizer.as_deref().unwrap_or("external-attacher/"), attached)
    },
};

type Decision = fn(&Cx, &Volume) -> Seen<checks::Checked>;

fn propose(
    cx: &Cx,
    volume: &Volume,
    finalizer: &str,
    decide: Decision,
) -> Seen<Result<Proposal, Refusal>> {
    let effect = effect(volume, finalizer);
    if !volume.metadata.has_finalizer(finalizer) {
        return Ok(Err(Refusal { reason: format!("it has no finalizer {finalizer}"), effect }));
    }
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return Ok(Err(Refusal { reason, effect }));
    }
    if let Err(reason) = decide(cx, volume)? {
        return Ok(Err(Refusal { reason, effect }));
    }
    Ok(Ok(Proposal {
        steps: vec![Action::RemoveFinalizer {
            object: volume.object(),
            finalizer: Text::from(finalizer),
        }],
        effect,
        undo: match volume.metadata.deleting {
            Some(_) => Undo::Never("the object may go at once"),
            None => Undo::Revert,
        },
        notices: Vec::new(),
    }))
}

fn effect(volume: &Volume, finalizer: &str) -> Effect {
    let last = volume.metadata.finalizers.len() == 1;
    let what = match (volume.metadata.deleting.is_some(), last) {
        (true, true) => format!(
            "removes {finalizer}, the last finalizer: the object goes at once, and the backend volume stays"
        ),
        (true, false) => format!("removes {finalizer}; other finalizers still hold the object"),
        (false, _) => format!("removes {finalizer}"),
    };
    Effect {
        what,
        risk: "if its controller was only away, the backend volume is leaked".to_owned(),
    }
}

/// The finalizer of csi-provisioner: F23, F24, F30.
fn external(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    let terminating = volume.metadata.deleting.is_some();
    let deletes = volume.reclaim_policy == ReclaimPolicy::Delete;
    match facts::owner(volume) {
        Owner::Csi(driver) => {
            let state = facts::provisioner(cx, &driver);
            if let Err(reason) = gone(&state, &format!("csi-provisioner of {driver}"))? {
                return Ok(Err(reason));
            }
            if volume.phase == Phase::Bound {
                return Ok(Err("it is bound: this finalizer is not what holds it".to_owned()));
            }
            Ok(match (deletes, terminating) {
                (false, _) => Ok(()),
                (true, false) => {
                    Err("its policy is Delete: reinstall the driver, which then deletes it"
                        .to_owned())
                }
                (true, true) if cx.settings().accept_leak => Ok(()),
                (true, true) => {
                    Err("the backend volume would be leaked: needs --accept-leak".to_owned())
                }
            })
        }
        Owner::InTree(_) => Ok(match !deletes || volume.metadata.has_finalizer(IN_TREE) {
            true => Ok(()),
            false => Err(format!(
                "nothing else protects the backend volume: {IN_TREE} is absent and the policy is Delete"
            )),
        }),
        owner @ (Owner::External(_) | Owner::StaticInTree(_)) => {
            Ok(Err(format!("who should remove it is not known: {}", owner.describe())))
        }
    }
}

/// The finalizer of the controller manager: F27 on volumes that are not in-tree any more, F39 on
/// those that are.
fn in_tree(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    let terminating = volume.metadata.deleting.is_some();
    let deletes = volume.reclaim_policy == ReclaimPolicy::Delete;
    Ok(match facts::owner(volume) {
        Owner::Csi(_) => {
            let guarded = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
            match !terminating || !deletes || guarded {
                true => Ok(()),
                false => Err(format!("it is the last guard of the backend volume: {EXTERNAL_PROVISIONER} is absent and the policy is Delete")),
            }
        }
        Owner::InTree(_) if !cx.settings().rolled_back => Err(
            "a slow deletion looks the same: needs --rolled-back, your word that HonorPVReclaimPolicy is off in the controller manager"
                .to_owned(),
        ),
        Owner::InTree(_) if !deletes || cx.settings().accept_leak => {
            let attachments = cx.attachments_of(volume.name())?;
            match attachments.is_empty() {
                true => Ok(()),
                false => Err("it is still attached".to_owned()),
            }
        }
        Owner::InTree(_) => Err("the backend volume may be leaked: needs --accept-leak".to_owned()),
        owner @ (Owner::External(_) | Owner::StaticInTree(_)) => {
            Err(format!("who should remove it is not known: {}", owner.describe()))
        }
    })
}

/// The finalizer of external-attacher: F31.
fn attached(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if volume.metadata.deleting.is_none() {
        return Ok(Err(
            "it is not terminating: the attacher keeps its finalizer until then".to_owned()
        ));
    }
    if volume.phase == Phase::Bound {
        return Ok(Err("it is bound: this finalizer is not what holds it".to_owned()));
    }
    if let Err(reason) = checks::not_attached(cx, volume)? {
        return Ok(Err(reason));
    }
    if let Err(reason) = checks::on_no_node(cx, volume)? {
        return Ok(Err(reason));
    }
    let driver = attacher_driver(volume);
    if let Err(reason) =
        gone(&facts::attacher(cx, &driver), &format!("external-attacher of {driver}"))?
    {
        return Ok(Err(reason));
    }
    let leaks = volume.reclaim_policy == ReclaimPolicy::Delete
        && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    Ok(match leaks && !cx.settings().accept_leak {
        true => Err(
            "the backend volume will not be deleted by anyone once this goes: needs --accept-leak"
                .to_owned(),
        ),
        false => Ok(()),
    })
}

/// The controller that should remove the finalizer is proven absent.
fn gone(state: &ControllerState, who: &str) -> Seen<checks::Checked> {
    Ok(match state.liveness {
        Liveness::Absent => Ok(()),
        Liveness::Alive => Err(format!("{who} is alive: it removes its finalizer itself")),
        Liveness::Unknown => match &state.unseen {
            Some((kind, reason)) => {
                return Err(Unseen { kind: *kind, namespace: None, reason: reason.clone() });
            }
            None => Err(format!("whether {who} is gone is unknown: {}", state.because)),
        },
    })
}

/// Returns the attacher's finalizer on a volume, if there is one.
fn attacher_finalizer(volume: &Volume) -> Option<Text> {
    let prefix = "external-attacher/";
    volume.metadata.finalizers.iter().find(|finalizer| finalizer.starts_with(prefix)).cloned()
}

/// Returns the driver whose attacher set the finalizer: the one of the volume's own that is
/// written like it, else what the finalizer says.
fn attacher_driver(volume: &Volume) -> Text {
    let finalizer = attacher_finalizer(volume);
    let wanted = finalizer.as_deref().unwrap_or_default();
    let own = volume.drivers().find(|driver| facts::attacher_finalizer(driver) == wanted);
    own.unwrap_or_else(|| wanted.trim_start_matches("external-attacher/")).into()
}

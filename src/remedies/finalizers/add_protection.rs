//! Adds a missing protection finalizer: P-FIN-ADD.

use super::super::{Remedy, checks};
use crate::cluster::{Cx, Seen};
use crate::facts::PV_PROTECTION;
use crate::model::{Action, Effect, Kind, Proposal, Refusal, Undo, Volume};

/// P-FIN-ADD of `kubernetes.io/pv-protection`, the one finalizer that may be added by hand.
pub static REMEDY: Remedy = Remedy {
    id: "add-protection",
    needs: &[Kind::PersistentVolume],
    writes: &[("patch", "persistentvolumes")],
    command: |_, volume| Some(format!("fix-finalizers {}", volume.object())),
    propose,
};

fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let effect = Effect {
        what: format!("adds finalizer {PV_PROTECTION}, which keeps the object while it is bound"),
        risk: "none while kube-controller-manager runs; without it, deleting the volume will hang"
            .to_owned(),
    };
    let refuse =
        |reason: &str| Ok(Err(Refusal { reason: reason.to_owned(), effect: effect.clone() }));
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(&reason);
    }
    if volume.metadata.deleting.is_some() {
        return refuse("the API server allows no new finalizer on a terminating object");
    }
    if volume.metadata.has_finalizer(PV_PROTECTION) {
        return refuse("it has the finalizer");
    }
    Ok(Ok(Proposal {
        steps: vec![Action::AddFinalizer {
            object: volume.object(),
            finalizer: PV_PROTECTION.into(),
        }],
        effect,
        undo: Undo::Never("every volume has this finalizer: it would be added again"),
        notices: Vec::new(),
        relies_on: Vec::new(),
        keeps_backend: false,
    }))
}

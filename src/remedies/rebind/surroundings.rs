//! What else is known of a volume that is given to a claim: other claims that reference it, nodes and
//! attachments, marks of other tools.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{ClaimKey, ClaimPhase, Kind, Volume};
use crate::remedies::checks::{self, Checked};

/// Refuses where another claim was bound to the volume, and is Bound or Lost; one that waits for it is
/// a notice.
///
/// # Errors
/// When claims were not read in every namespace.
pub(super) fn other_claims(
    cx: &Cx,
    volume: &Volume,
    target: &ClaimKey,
    notices: &mut Vec<String>,
) -> Seen<Checked> {
    for claim in cx.claims_naming(volume.name())? {
        if claim.key() == *target {
            continue;
        }
        let object = claim.object();
        if facts::was_taken_from(cx, volume, claim) {
            return Ok(Err(format!(
                "spec.claimRef was changed, and {object} is the volume's own claim: {}",
                facts::giving_back(volume, claim)
            )));
        }
        if claim.bind_completed || claim.phase != ClaimPhase::Pending {
            return Ok(Err(format!(
                "{object}, which is {}, references it in spec.volumeName too: find out whose data it is",
                claim.phase
            )));
        }
        notices.push(format!("{object} waits for this volume, and is not bound to it"));
    }
    Ok(Ok(()))
}

/// Adds what is worth knowing, and no reason to refuse. What was not read is said to be unknown.
pub(super) fn notices(cx: &Cx, volume: &Volume, target: &ClaimKey, notices: &mut Vec<String>) {
    let earlier = volume.claim_ref.as_ref().map(|it| &it.key);
    if let Some(earlier) = earlier.filter(|it| it.namespace != target.namespace) {
        notices.push(format!(
            "pods of namespace {} will read data that was written in namespace {}",
            target.namespace, earlier.namespace
        ));
    }
    attachments(cx, volume, notices);
    nodes(cx, volume, notices);
    let marks = facts::marks_of_others(volume);
    if marks.restored {
        notices.push(
            "Velero restored it, so another cluster may have a PersistentVolume of the same storage"
                .to_owned(),
        );
    }
    if let Some(keeper) = marks.kept_by {
        notices.push(format!("{keeper} manages the object, and may revert its spec.claimRef"));
    }
}

fn attachments(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) {
    let attachments = match checks::attachments(cx, volume) {
        Ok(attachments) => attachments,
        Err(unseen) => {
            notices.push(format!("unknown whether it is attached: {}", unseen.reason));
            return;
        }
    };
    for attachment in attachments {
        let plight = facts::node_problem(cx, &attachment.node, Kind::VolumeAttachment);
        let told = checks::still_names_it(attachment);
        notices.push(match plight {
            Ok(Some(plight)) => {
                format!("{told}, which {}: a pod there may still write", plight.describe())
            }
            _ => format!("{told}: a pod on another node may have to wait until it is detached"),
        });
    }
}

fn nodes(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) {
    if let Ok(Err(reason)) = checks::on_no_node(cx, volume).map(|it| it.map_err(Some))
        && volume.backend.is_some()
    {
        notices.extend(reason);
    }
    match facts::node_gone(cx, volume) {
        Ok(true) => {
            notices.push("no node matches its node affinity: no pod can use it".to_owned());
        }
        Err(unseen) => {
            notices.push(format!("unknown whether a node can reach it: {}", unseen.reason));
        }
        Ok(false) => {
            if let Ok(Some(node)) = facts::unready_host(cx, volume) {
                notices.push(format!(
                    "node {}, which matches its node affinity, is not Ready",
                    node.metadata.name
                ));
            }
            if volume.node_affinity.as_ref().is_some_and(|it| facts::names_hosts(it)) {
                notices.push(
                    "pods that use it run only on the nodes that its node affinity names"
                        .to_owned(),
                );
            }
        }
    }
}

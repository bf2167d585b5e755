//! Checks whether an existing claim can be bound to a volume (`checkVolumeSatisfyClaim`, `FindMatchingVolume`), and
//! which claim has its name; and notices about a volume that is given to a claim: other claims that reference it, nodes
//! and attachments, marks of other tools.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState};
use crate::model::{
    Claim, ClaimKey, ClaimPhase, Kind, Selector, Text, Volume, escape_control, format_bytes,
    parse_quantity,
};
use crate::remedies::checks::{self, Checked};

/// Returns why the volume belongs to another claim, or the claim to another volume.
pub(super) fn taken(cx: &Cx, volume: &Volume, target: &ClaimKey) -> Seen<Option<String>> {
    let name = volume.name();
    if let ClaimState::Live(claim) = facts::claim_state(cx, volume)? {
        let object = claim.object();
        return Ok(Some(match claim.volume_name.as_deref() {
            Some(other) if *other != *name => format!(
                "{object}, which its spec.claimRef references, still exists, and references \
                 pv/{other}: kube-controller-manager unbinds one of both"
            ),
            Some(_) if claim.key() == *target && claim.phase == ClaimPhase::Bound => {
                format!("{object} is bound to it already")
            }
            _ if claim.key() == *target => format!(
                "{object} still exists, and is {}: kube-controller-manager binds both by itself",
                claim.phase
            ),
            _ => format!(
                "{object} still exists, and has it; `kubectl storage delete {} --keep-data` \
                 releases it first",
                facts::on_command_line(&object)
            ),
        }));
    }
    let Some(claim) = cx.claim(target)? else { return Ok(None) };
    let object = claim.object();
    Ok(match (&claim.phase, claim.volume_name.as_deref()) {
        (ClaimPhase::Pending | ClaimPhase::Lost, _) => None,
        (ClaimPhase::Bound, Some(other)) if *other == *name => Some(format!(
            "{object} is still Bound to it: kube-controller-manager marks the claim Lost shortly; run \
             the same command again then"
        )),
        (ClaimPhase::Bound, Some(other)) => Some(format!(
            "the name is taken: {object} is Bound to pv/{other}; pass --to NAMESPACE/NAME, or release it first \
             with `kubectl storage delete {} --keep-data`",
            facts::on_command_line(&object)
        )),
        (phase, _) => Some(format!("{object} is {phase}, not Pending")),
    })
}

/// Returns the field because of which a claim cannot be bound to a volume, with both values.
pub(super) fn misfit(
    cx: &Cx,
    volume: &Volume,
    claim: &Claim,
    notices: &mut Vec<String>,
) -> Seen<Option<String>> {
    let object = claim.object();
    if claim.metadata.deleting.is_some() {
        return Ok(Some(format!("{object} is Terminating: it is deleted, not bound")));
    }
    let unequal = |what: &str, asks: &str, has: &str| {
        format!("{object} requests {what} {asks}, but the volume has {has}")
    };
    let name = volume.name();
    if let Some(other) = claim.volume_name.as_deref().filter(|it| **it != *name) {
        return Ok(Some(unequal("spec.volumeName", other, name)));
    }
    if let Some(source) = &claim.source {
        let (kind, from) = (escape_control(&source.kind), escape_control(&source.name));
        return Ok(Some(format!(
            "{object} is to be filled from {kind} {from}, which would replace the data, or would \
             not happen; recreate it without spec.dataSourceRef"
        )));
    }
    match (claim.requested, volume.capacity) {
        (Some(asks), Some(has)) if asks <= has => {}
        (Some(asks), Some(has)) => {
            return Ok(Some(unequal("a size of", &exact(asks, has), &exact(has, asks))));
        }
        _ => return Ok(Some(format!("the size of {object}, or of the volume, is unknown"))),
    }
    if let Some(reason) = other_class(cx, volume, claim)? {
        return Ok(Some(reason));
    }
    let (asks, has) = (claim.access, volume.access);
    if asks.is_block != has.is_block {
        return Ok(Some(unequal("spec.volumeMode", asks.volume_mode(), has.volume_mode())));
    }
    if !has.modes.contain(asks.modes) {
        let (asks, has) = (asks.modes.to_string(), has.modes.to_string());
        return Ok(Some(unequal("spec.accessModes", &asks, &has)));
    }
    let attributes = |class: &Option<Text>| class.as_deref().unwrap_or("<none>").to_owned();
    if attributes(&claim.attributes_class) != attributes(&volume.attributes_class) {
        let (asks, has) =
            (attributes(&claim.attributes_class), attributes(&volume.attributes_class));
        return Ok(Some(unequal("spec.volumeAttributesClassName", &asks, &has)));
    }
    if let Some(selector) = claim.selector.as_deref().filter(|it| !selects(it, volume)) {
        let labels = volume.metadata.labels.iter();
        let labels: Vec<_> = labels.map(|(key, value)| format!("{key}={value}")).collect();
        let has = if labels.is_empty() { "no labels".to_owned() } else { labels.join(",") };
        return Ok(Some(unequal("labels", &selector.to_string(), &has)));
    }
    if claim.volume_name.is_none()
        && let Some(other) = also_reserved(cx, volume, claim)?
    {
        return Ok(Some(format!(
            "{} is reserved for {object} too, and which of the two it gets is unknown; recreate the \
             claim with spec.volumeName",
            other.object()
        )));
    }
    note(claim, notices);
    Ok(None)
}

fn selects(selector: &Selector, volume: &Volume) -> bool {
    selector.matches(&volume.metadata.labels)
}

/// Formats a size so that it differs from another one.
fn exact(bytes: u64, other: u64) -> String {
    let is_exact = |bytes| parse_quantity(&format_bytes(bytes)) == Some(bytes);
    match is_exact(bytes) && is_exact(other) {
        true => format_bytes(bytes),
        false => format!("{bytes} bytes"),
    }
}

/// Compares the classes of a volume and a claim. An absent one counts as none (`GetPersistentVolumeClaimClass`), unless
/// the volume controller is about to write the default class (`assignDefaultStorageClass`).
fn other_class(cx: &Cx, volume: &Volume, claim: &Claim) -> Seen<Option<String>> {
    let object = claim.object();
    let has = volume.class.as_deref().unwrap_or_default();
    let shown = |class: &str| if class.is_empty() { "\"\"".to_owned() } else { class.to_owned() };
    let Some(class) = &claim.class else {
        let default = cx.all_classes()?.into_iter().find(|it| it.is_default);
        return Ok(match default {
            None if has.is_empty() => None,
            None => Some(format!(
                "spec.storageClassName of {object} is not set, but the volume has {has}"
            )),
            Some(default) => Some(format!(
                "spec.storageClassName of {object} is not set, so it becomes that of the default \
                 class {}, but the volume has {}; recreate the claim with the class of the volume",
                default.metadata.name,
                shown(has)
            )),
        });
    };
    Ok((**class != *has).then(|| {
        format!(
            "{object} requests spec.storageClassName {}, but the volume has {}",
            shown(class),
            shown(has)
        )
    }))
}

/// Returns another volume that the volume controller may bind to a claim.
fn also_reserved<'a>(cx: &Cx<'a>, volume: &Volume, claim: &Claim) -> Seen<Option<&'a Volume>> {
    let may_be = |it: &&Volume| {
        let claim_ref = it.claim_ref.as_ref();
        let uid = claim_ref.and_then(|it| it.uid.as_ref());
        it.name() != volume.name() && (uid.is_none() || uid == claim.metadata.uid.as_ref())
    };
    Ok(cx.volumes_of(&claim.key())?.into_iter().find(may_be))
}

/// Adds notices about a claim that fits.
fn note(claim: &Claim, notices: &mut Vec<String>) {
    let object = claim.object();
    if claim.volume_name.is_none()
        && let Some(provisioner) = &claim.provisioner
    {
        notices.push(format!(
            "{provisioner} may be provisioning a volume for {object}: the one that is not bound to \
             it is left over, or deleted"
        ));
    }
    let third_party: Vec<_> = claim
        .metadata
        .finalizers
        .iter()
        .filter(|it| facts::owner_of(it) == facts::FinalizerOwner::Unknown)
        .map(|it| &**it)
        .collect();
    if !third_party.is_empty() {
        notices.push(format!(
            "{object} has third-party finalizers, whose controllers may act on it: {}",
            third_party.join(", ")
        ));
    }
}

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

/// Adds notices about a volume that is given to a claim, and about what was not read.
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

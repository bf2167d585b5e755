//! What the volume tells that referenced a backend volume, as the journal has recorded it: whether it was
//! a copy, who wants its claim back, and its node.

use super::super::{
    Manifest,
    checks::{self, ReliedFlags},
    exclusive, released,
};
use super::Orphan;
use crate::cluster::{Cx, Seen};
use crate::facts::{self, Owner};
use crate::model::{ClaimKey, ControllerRole, Volume};

/// Requires the user's word where the former volume may be a copy of one of another cluster, or where
/// a workload wants its claim back. Returns that claim, if it does not exist: a custom resource may want
/// it too.
///
/// # Errors
/// When the claim or a kind of workloads was not read.
pub(super) fn wanted<'a>(
    cx: &Cx,
    orphan: &'a Orphan,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Option<&'a ClaimKey>> {
    let Some(volume) = orphan.former.as_ref().map(Manifest::volume) else { return Ok(None) };
    exclusive::is_no_copy(cx, volume, &facts::owner(volume), relies_on);
    let Some(claim) = volume.claim_ref.as_ref().map(|it| &it.key) else { return Ok(None) };
    // Where a claim of that name exists again, that one is wanted.
    if cx.claim(claim)?.is_some() {
        return Ok(None);
    }
    released::nobody_wants(cx, claim, notices, relies_on)?;
    Ok(Some(claim))
}

/// Refuses where csi-provisioner runs on every node and the node of the volume is unknown: each one
/// handles only the volumes of its node.
pub(super) fn its_node_is_known(cx: &Cx, volume: &Volume, owner: &Owner) -> checks::Checked {
    let Some(driver) = owner.csi().filter(|_| volume.node_affinity.is_none()) else {
        return Ok(());
    };
    let on_every_node = cx
        .sidecar_pods()
        .filter_map(|pod| pod.sidecars.as_deref())
        .filter(|it| it.mentions.iter().any(|text| text.contains(&**driver)))
        .flat_map(|it| &it.containers)
        .filter(|it| it.plays(ControllerRole::Provisioner))
        .flat_map(|it| &it.args)
        .any(|arg| {
            arg.trim_start_matches('-').starts_with("node-deployment") && !arg.ends_with("=false")
        });
    match on_every_node {
        false => Ok(()),
        true => Err("its csi-provisioner runs on every node, and only the journal records the \
                     node of the volume: pass --from-journal"
            .to_owned()),
    }
}

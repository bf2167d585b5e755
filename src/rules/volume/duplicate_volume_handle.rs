//! F93: several volumes reference one backend volume.

use crate::cluster::{Cx, Seen};
use crate::model::{Finding, Kind, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// There may be thousands, and each finding would list all others.
const SHOWN: usize = 20;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-volume-handle",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "Several volumes name the same backend volume",
    danger: "Nothing in Kubernetes checks this. Deleting any one of them deletes the disk of all. \
             In-tree volumes and their CSI twins are recognised as the same disk.",
    remedy: "Setting the policy of a member to Retain takes the danger away. No member is ever reclaimed \
             while another one exists. Some drivers share a handle on purpose (NFS, SMB, EFS): the tool \
             cannot know that, and stays with refusing.",
    source: "CSI spec, Volume.volume_id; csi-translation-lib",
    judge: &[Judge::Volume(judge)],
};

/// One finding per backend volume, about a volume whose policy can be changed.
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Some(backend) = &volume.backend else { return Ok(None) };
    let members = cx.volumes_of_backend(backend)?;
    if members.len() < 2 {
        return Ok(None);
    }
    if !is_reported_for(cx, volume, &members)? {
        return Ok(None);
    }
    let dangerous = first_dangerous(&members);
    let others = members.iter().filter(|member| member.name() != volume.name());
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "other volumes name the same backend volume: deleting one destroys the data of all",
        )
        .severe(if dangerous.is_some() { Severity::Critical } else { Severity::High });
    for member in others.take(SHOWN) {
        let state = format!("{}, policy {}", member.phase, member.reclaim_policy);
        finding = finding
            .shows_of(&member.object(), "names the same backend volume", state)
            .relates([member.object()]);
    }
    Ok(Some(match dangerous {
        Some(_) => finding.remedied_by(cx, volume, &remedies::RETAIN),
        None => finding
            .report_only("every member is retained already: decide which object is the right one"),
    }))
}

/// Whether the finding is about this volume. A volume with an unknown part, such as the node of a
/// path, may equal two others that differ from each other, so that their groups differ: then a
/// volume whose representative is represented by another one has its own finding.
fn is_reported_for(cx: &Cx, volume: &Volume, members: &[&Volume]) -> Seen<bool> {
    let Some(first) = representative(members) else { return Ok(false) };
    if first.name() == volume.name() {
        return Ok(true);
    }
    let Some(backend) = first.backend.as_ref().filter(|it| Some(*it) != volume.backend.as_ref())
    else {
        return Ok(false); // Written alike, they have the same members.
    };
    let theirs = cx.volumes_of_backend(backend)?;
    Ok(representative(&theirs).is_some_and(|it| it.name() != first.name()))
}

/// Returns the first volume by name with policy Delete, else the first.
fn representative<'a>(members: &[&'a Volume]) -> Option<&'a Volume> {
    first_dangerous(members).or(members.first().copied())
}

fn first_dangerous<'a>(members: &[&'a Volume]) -> Option<&'a Volume> {
    members.iter().copied().find(|member| member.reclaim_policy == ReclaimPolicy::Delete)
}

//! F93: several volumes name one backend volume.

use crate::cluster::{Cx, Seen};
use crate::model::{Finding, Kind, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{Judge, Rule, Stake};

/// There may be thousands, and each of them would show all others.
const SHOWN: usize = 20;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-volume-handle",
    severity: Severity::Critical,
    stake: Stake::Data,
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

/// The finding is about the first member by name that has policy Delete, else about the first:
/// one finding per backend volume, about an object whose policy can be changed.
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Some(backend) = &volume.backend else { return Ok(None) };
    let members = cx.volumes_of_backend(backend)?;
    if members.len() < 2 {
        return Ok(None);
    }
    let deletes = |member: &&&Volume| member.reclaim_policy == ReclaimPolicy::Delete;
    let dangerous = members.iter().find(deletes);
    let spokesman = dangerous.or(members.first()).is_some_and(|it| it.name() == volume.name());
    if !spokesman {
        return Ok(None);
    }
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

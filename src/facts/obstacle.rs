//! Why a volume that should be deleted is not deleted.

use super::{
    Defect, FAILED_DELETE, Owner, claimed_versions, defect, deletes_static_volumes,
    known_deletable, last_event, may_patch_volumes, node_gone, owner, provisioner,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{Liveness, ObjectRef, Text, Volume};

/// A cause that prevents the deletion of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The csi-provisioner of this driver is absent.
    ProvisionerAbsent(Text),
    /// This attachment references it, on this node.
    Attached { attachment: Box<str>, node: Text },
    /// It was statically provisioned, and its csi-provisioner is too old to delete such volumes.
    StaticIgnored,
    /// Its provisioner runs on each node for the volumes of that node, and its node does not exist.
    NodeGone,
    /// The provisioner may not patch volumes.
    PatchDenied { namespace: Text, service_account: Text },
    /// This object runs a release of csi-provisioner that sends an empty patch instead of removing
    /// its finalizer.
    EmptyPatch(ObjectRef),
    /// The last attempt failed, with this message.
    AttemptFailed(Box<str>),
    /// The server can no longer delete volumes of this plugin.
    PluginRemoved(Text),
}

impl Obstacle {
    /// In a few words that follow a colon.
    pub const fn brief(&self) -> &'static str {
        match self {
            Self::ProvisionerAbsent(_) => "its provisioner is gone",
            Self::Attached { .. } => "it is still attached",
            Self::StaticIgnored => "its provisioner ignores volumes made by hand",
            Self::NodeGone => "no node is left that reaches it",
            Self::PatchDenied { .. } => "its provisioner may not patch volumes",
            Self::EmptyPatch(_) => "its provisioner is a broken release",
            Self::AttemptFailed(_) => "the last attempt failed",
            Self::PluginRemoved(_) => "this server lost its plugin",
        }
    }

    /// With the evidence.
    pub fn describe(&self) -> String {
        match self {
            Self::ProvisionerAbsent(driver) => format!("csi-provisioner of {driver} is absent"),
            Self::Attached { attachment, node } => {
                format!("volumeattachment/{attachment} still names it, on node {node}")
            }
            Self::StaticIgnored => {
                "made by hand, and csi-provisioner deletes such volumes only from 3.5 on".to_owned()
            }
            Self::NodeGone => "its node affinity matches no node".to_owned(),
            Self::PatchDenied { namespace, service_account } => format!(
                "ServiceAccount {namespace}/{service_account} may not patch persistentvolumes"
            ),
            Self::EmptyPatch(object) => {
                format!(
                    "{object} claims csi-provisioner 5.0.0 or 5.0.1, which cannot finish deletions"
                )
            }
            Self::AttemptFailed(message) => format!("{FAILED_DELETE}: {message}"),
            Self::PluginRemoved(plugin) => {
                format!("no controller can delete volumes of {plugin} any more")
            }
        }
    }
}

/// What to do about a controller that is running, and makes no progress for so long that it will
/// not by itself.
pub const ALIVE_AND_STUCK: &str = "its controller is running and stuck; read its log, fix what it reports, and restart it if it still makes no progress";

/// Returns the first cause of F05 that prevents the deletion of a volume. `Ok(None)`
/// means that everything was read, and that no cause was found.
///
/// # Errors
/// When no cause was found, and something was not read.
pub fn obstacle(cx: &Cx, volume: &Volume) -> Seen<Option<Obstacle>> {
    let owner = owner(volume);
    let mut unseen: Option<Unseen> = None;
    for look in [absent, attached, static_ignored, unreachable, denied, broken, failed, removed] {
        match look(cx, volume, &owner) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(missed) => unseen = unseen.or(Some(missed)),
        }
    }
    unseen.map_or(Ok(None), Err)
}

fn absent(cx: &Cx, _: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let Some(driver) = owner.csi() else { return Ok(None) };
    let state = provisioner(cx, driver);
    match (state.liveness, state.unseen) {
        (Liveness::Absent, _) => Ok(Some(Obstacle::ProvisionerAbsent(Text::clone(driver)))),
        (Liveness::Unknown, Some((kind, reason))) => Err(Unseen { kind, namespace: None, reason }),
        (Liveness::Alive | Liveness::Unknown, _) => Ok(None),
    }
}

fn attached(cx: &Cx, volume: &Volume, _: &Owner) -> Seen<Option<Obstacle>> {
    let attachments = cx.attachments_of(volume.name())?;
    Ok(attachments.first().map(|first| Obstacle::Attached {
        attachment: first.metadata.name.clone(),
        node: Text::clone(&first.node),
    }))
}

fn static_ignored(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let Some(driver) = owner.csi().filter(|_| !volume.is_dynamic()) else { return Ok(None) };
    let deletes = deletes_static_volumes(cx, driver)?;
    Ok((deletes == Some(false)).then_some(Obstacle::StaticIgnored))
}

fn unreachable(cx: &Cx, volume: &Volume, _: &Owner) -> Seen<Option<Obstacle>> {
    Ok(node_gone(cx, volume)?.then_some(Obstacle::NodeGone))
}

fn denied(cx: &Cx, _: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let Some(driver) = owner.csi() else { return Ok(None) };
    for claimed in claimed_versions(cx, driver) {
        if may_patch_volumes(cx, &claimed)? == Some(false)
            && let Some((namespace, service_account)) = claimed.service_account
        {
            return Ok(Some(Obstacle::PatchDenied { namespace, service_account }));
        }
    }
    Ok(None)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every look")]
fn broken(cx: &Cx, _: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let Some(driver) = owner.csi() else { return Ok(None) };
    let versions = claimed_versions(cx, driver);
    let broken = versions.into_iter().find(|it| defect(it) == Some(Defect::EmptyPatch));
    Ok(broken.map(|claimed| Obstacle::EmptyPatch(claimed.object)))
}

fn failed(cx: &Cx, volume: &Volume, _: &Owner) -> Seen<Option<Obstacle>> {
    let event = last_event(cx, volume, &[FAILED_DELETE])?;
    Ok(event.map(|series| Obstacle::AttemptFailed(series.newest.message.clone())))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every look")]
fn removed(cx: &Cx, _: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let Owner::InTree(plugin) = owner else { return Ok(None) };
    let removed = known_deletable(plugin, cx.server()) == Some(false);
    Ok(removed.then(|| Obstacle::PluginRemoved(Text::clone(plugin))))
}

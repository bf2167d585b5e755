//! The causes for which a volume that should be deleted is not deleted.
//!
//! One reason is a controller that the guard refuses: its username does not begin with `system:`, so that
//! the guard takes it for a person. It retries for ever.

use super::{
    Defect, FAILED_DELETE, Owner, SecretState, StaticDeletion, brief_error, claimed_versions,
    defect, deleter_gone, deletes_static_volumes, deletion_secret, how_to_detach, in_tree_deletes,
    last_event, lies_on_node, may_patch_volumes, owner, provisioner, quoted, unmigrated,
    unusable_host,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{DeletionSecret, GUARD_NAME, Kind, Liveness, ObjectRef, Text, Volume};

/// A cause that prevents the deletion of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The csi-provisioner of this driver is absent.
    ProvisionerAbsent(Text),
    /// This attachment references the volume, on this node, and the driver fails to detach it with this error.
    Attached { attachment: Box<str>, node: Text, error: Option<Box<str>> },
    /// The volume was statically provisioned, and its csi-provisioner is too old to delete such volumes.
    StaticIgnored,
    /// No node matches the volume's node affinity, which a provisioner that runs on each node for the volumes of that
    /// node needs.
    NodeGone,
    /// The only node of the volume is in this state, in which its provisioner may be unable to work there.
    NodeUnusable { node: Box<str>, state: String },
    /// The provisioner may not patch volumes.
    PatchDenied { namespace: Text, service_account: Text },
    /// This object runs a release of csi-provisioner that sends an empty patch instead of removing
    /// its finalizer.
    EmptyPatch(ObjectRef),
    /// The guard refuses the volume's controller, as its last attempt shows.
    RefusedByGuard { refusal: GuardRefusal, controller: String },
    /// The last attempts failed, with this message, which `series` repeats with its count and its times.
    AttemptFailed { message: Box<str>, series: String },
    /// The server can no longer delete volumes of this plugin.
    PluginRemoved(Text),
    /// No controller deletes statically provisioned volumes of this source.
    NoDeleter(Text),
}

impl Obstacle {
    /// Describes the cause in a few words that follow a colon.
    pub fn brief(&self) -> String {
        match self {
            Self::ProvisionerAbsent(driver) => format!("csi-provisioner of {driver} is absent"),
            Self::Attached { node, error: Some(error), .. } => {
                format!("it is not detached from node {node}: {}", brief_error(error))
            }
            Self::Attached { attachment, node, error: None } => {
                format!("volumeattachment/{attachment} exists, to node {node}")
            }
            Self::StaticIgnored => {
                "its csi-provisioner ignores statically provisioned volumes".to_owned()
            }
            Self::NodeGone => "no node matches its node affinity".to_owned(),
            Self::NodeUnusable { node, state } => format!("its only node {node} is {state}"),
            Self::PatchDenied { .. } => "its csi-provisioner may not patch volumes".to_owned(),
            Self::EmptyPatch(_) => {
                "its csi-provisioner 5.0.0 or 5.0.1 cannot finish deletions".to_owned()
            }
            Self::RefusedByGuard { controller, .. } => {
                format!("the guard refuses {controller}")
            }
            Self::AttemptFailed { message, .. } => {
                format!("last attempt failed: {}", brief_error(message))
            }
            Self::PluginRemoved(plugin) => {
                format!("this Kubernetes version has no plugin {plugin}")
            }
            Self::NoDeleter(source) => {
                format!("no controller deletes statically provisioned volumes ({source})")
            }
        }
    }

    /// Describes the cause with its evidence.
    pub fn describe(&self) -> String {
        match self {
            Self::ProvisionerAbsent(driver) => format!("csi-provisioner of {driver} is absent"),
            Self::Attached { attachment, node, .. } => {
                format!("volumeattachment/{attachment} references it, on node {node}")
            }
            Self::StaticIgnored => {
                "statically provisioned; csi-provisioner deletes such volumes only from 3.5 on"
                    .to_owned()
            }
            Self::NodeGone => "no node matches its node affinity".to_owned(),
            Self::NodeUnusable { node, state } => format!(
                "its only node {node} is {state}, so the provisioner may be unable to run a pod there"
            ),
            Self::PatchDenied { namespace, service_account } => format!(
                "ServiceAccount {namespace}/{service_account} may not patch persistentvolumes"
            ),
            Self::EmptyPatch(object) => {
                format!(
                    "{object} runs csi-provisioner 5.0.0 or 5.0.1 (image tag), which cannot finish deletions"
                )
            }
            Self::RefusedByGuard { controller, .. } => format!(
                "the guard refuses {controller}, which it takes for a person, and which retries for ever"
            ),
            Self::AttemptFailed { series, .. } => format!("{FAILED_DELETE}: {series}"),
            Self::PluginRemoved(plugin) => {
                format!(
                    "this Kubernetes version has no plugin {plugin}, and no controller deletes its volumes"
                )
            }
            Self::NoDeleter(_) => self.brief(),
        }
    }

    /// Returns what removes the cause, after a colon.
    pub fn remedy(&self, cx: &Cx, volume: &Volume) -> String {
        let retain = |unless: &str| {
            format!(
                "{unless}; `kubectl storage retain {}` keeps the backend volume and unblocks the deletion of the object",
                volume.object()
            )
        };
        match self {
            Self::ProvisionerAbsent(_) => "reinstall the driver".to_owned(),
            Self::Attached { attachment, .. } => {
                let all = cx.attachments_of(volume.name()).unwrap_or_default();
                let it = all.into_iter().find(|it| it.metadata.name == *attachment);
                it.map_or_else(|| "detach it first".to_owned(), |it| how_to_detach(cx, it))
            }
            Self::StaticIgnored => "upgrade csi-provisioner to 3.5 or later".to_owned(),
            Self::NodeGone if lies_on_node(volume) => format!(
                "the data is gone with its machine, unless the machine returns; if it does not, `kubectl delete {0}`, and `kubectl storage fix-finalizers {0}` if finalizers block that",
                volume.object()
            ),
            Self::NodeGone => retain(
                "bring the node back, or delete the data on its machine by hand: a provisioner that runs per node cannot reach it",
            ),
            Self::NodeUnusable { node, state } => match state.contains("Ready") {
                true => format!("repair node {node}; the provisioner retries"),
                false => format!(
                    "`kubectl uncordon {node}`, or let the provisioner's helper pods tolerate the cordon; it retries"
                ),
            },
            Self::PatchDenied { .. } => {
                "add the verb patch on persistentvolumes to the ClusterRole of that ServiceAccount"
                    .to_owned()
            }
            Self::EmptyPatch(object) => {
                let versions = owner(volume).csi().map(|driver| claimed_versions(cx, driver));
                let claimed =
                    versions.unwrap_or_default().into_iter().find(|it| it.object == *object);
                let version = claimed.map(|it| match &it.version {
                    Some(version) => version.to_string(),
                    None => it.image.to_string(),
                });
                match version {
                    Some(version) => format!(
                        "upgrade csi-provisioner from {version} to 5.0.2 or later; versions from 5.0 on also need the verb patch on persistentvolumes in their ClusterRole"
                    ),
                    None => "upgrade csi-provisioner to 5.0.2 or later".to_owned(),
                }
            }
            Self::RefusedByGuard { refusal, controller, .. } => refusal.advice(controller, &[]),
            Self::AttemptFailed { .. } => "fix this error; its controller retries".to_owned(),
            Self::PluginRemoved(_) | Self::NoDeleter(_) => {
                retain("delete the backend volume at the storage system")
            }
        }
    }
}

/// Advice about a controller that is running, and makes no progress for so long that it will not by itself.
pub const ALIVE_AND_STUCK: &str = "its controller is running, but makes no progress; read its log, fix what it reports, then restart it";

/// Advice about a csi-provisioner that is running, and neither deletes nor reports: it retries for ever, after five
/// minutes at most (external-provisioner `csi-provisioner.go`, `FailedDeleteThreshold(0)`, `--retry-interval-max`), and
/// reports each failure, so that this volume is no longer among those that it works on.
const GAVE_UP: &str = "read the log of csi-provisioner; a restart has it try again, which is safe (DeleteVolume is idempotent); if it stops once more, upgrade it";

/// Explanation of a volume that should be deleted and is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The cause in a few words, with the newest error, shortened.
    pub brief: String,
    /// The cause with its evidence.
    pub because: String,
    /// The advice that removes the cause.
    pub helps: String,
}

/// Returns why a volume that should be deleted is not deleted, with the newest error of its
/// controller; `is_running` if that controller is running.
pub fn stuck_deletion(cx: &Cx, volume: &Volume, is_running: bool) -> Cause {
    let failure = last_event(cx, volume, &[FAILED_DELETE]).ok().flatten();
    let also = |brief: String| match &failure {
        Some(series) => format!("{brief}; last error: {}", series.brief()),
        None => brief,
    };
    let is_csi = owner(volume).csi().is_some() && unmigrated(volume, cx.server()).is_none();
    let (brief, because, helps) = match obstacle(cx, volume) {
        Ok(Some(it @ Obstacle::AttemptFailed { .. })) => {
            let helps = match missing_secret(cx, volume) {
                Some(DeletionSecret { namespace, name }) => format!(
                    "create Secret {namespace}/{name} again: csi-provisioner calls the driver without its credentials, and \
                     retries"
                ),
                // Retries alone did not help.
                None if is_running => ALIVE_AND_STUCK.to_owned(),
                None => it.remedy(cx, volume),
            };
            (it.brief(), it.describe(), helps)
        }
        // Its message is that of the refusal.
        Ok(Some(it @ Obstacle::RefusedByGuard { .. })) => {
            (it.brief(), it.describe(), it.remedy(cx, volume))
        }
        Ok(Some(it)) => (also(it.brief()), it.describe(), it.remedy(cx, volume)),
        Ok(None) if is_running && is_csi => (
            "csi-provisioner is running, but seems to have given it up".to_owned(),
            "no cause found, and no failure of the last hour was reported".to_owned(),
            GAVE_UP.to_owned(),
        ),
        Ok(None) if is_running => (
            "its controller is running, but makes no progress".to_owned(),
            "no cause found".to_owned(),
            ALIVE_AND_STUCK.to_owned(),
        ),
        Ok(None) => match stopped_provisioner(cx, volume) {
            Some((driver, stopped)) => (
                format!("csi-provisioner of {driver} seems to have stopped ({stopped})"),
                "no other cause found".to_owned(),
                format!("start csi-provisioner of {driver} again"),
            ),
            None => (
                "cause not found".to_owned(),
                "no cause found, and unknown whether its controller is running".to_owned(),
                "check that its controller runs".to_owned(),
            ),
        },
        Err(unseen) => {
            let helps = match is_running {
                true if is_csi => GAVE_UP,
                true => ALIVE_AND_STUCK,
                false => "check that its controller runs",
            };
            let because = format!("cause unknown: {}", unseen.reason);
            (also("cause unknown".to_owned()), because, helps.to_owned())
        }
    };
    Cause { brief, because, helps }
}

/// Returns the driver of a volume whose csi-provisioner is not proven to run, with the evidence that it ended.
fn stopped_provisioner(cx: &Cx, volume: &Volume) -> Option<(Text, String)> {
    let owner = owner(volume);
    let driver = owner.csi().filter(|_| unmigrated(volume, cx.server()).is_none())?;
    let stopped = provisioner(cx, driver).stopped?;
    Some((Text::clone(driver), stopped))
}

/// Returns the Secret that the deletion of a volume needs, if that is known not to exist.
fn missing_secret(cx: &Cx, volume: &Volume) -> Option<DeletionSecret> {
    match deletion_secret(cx, volume, &owner(volume)) {
        Ok(SecretState::Missing(secret)) => Some(secret),
        Ok(_) | Err(_) => None,
    }
}

/// Returns the first cause of F05 that prevents the deletion of a volume. `Ok(None)`
/// means that everything was read, and that no cause was found.
///
/// # Errors
/// When no cause was found, and something was not read.
pub fn obstacle(cx: &Cx, volume: &Volume) -> Seen<Option<Obstacle>> {
    let owner = owner(volume);
    let mut unseen: Option<Unseen> = None;
    for look in [
        absent,
        refused,
        attached,
        static_ignored,
        unreachable,
        unusable,
        denied,
        broken,
        failed,
        removed,
    ] {
        match look(cx, volume, &owner) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(missed) => unseen = unseen.or(Some(missed)),
        }
    }
    unseen.map_or(Ok(None), Err)
}

fn absent(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let ours = owner.csi().filter(|_| unmigrated(volume, cx.server()).is_none());
    let Some(driver) = ours else { return Ok(None) };
    let state = provisioner(cx, driver);
    match (state.liveness, state.unseen) {
        (Liveness::Absent, _) => Ok(Some(Obstacle::ProvisionerAbsent(Text::clone(driver)))),
        (Liveness::Unknown, Some((kind, reason))) => Err(Unseen { kind, namespace: None, reason }),
        (Liveness::Alive | Liveness::Unknown, _) => Ok(None),
    }
}

/// Finds a refusal by the guard: what it refuses was tried by a controller that runs, which retries for ever.
fn refused(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let event = last_event(cx, volume, &[FAILED_DELETE])?;
    Ok(event.and_then(|series| {
        Some(Obstacle::RefusedByGuard {
            refusal: GuardRefusal::of(&series.newest.message)?,
            controller: owner.describe(),
        })
    }))
}

fn attached(cx: &Cx, volume: &Volume, _: &Owner) -> Seen<Option<Obstacle>> {
    let attachments = cx.attachments_of(volume.name())?;
    let failing = attachments.iter().find(|it| it.detach_error.is_some());
    Ok(failing.or(attachments.first()).map(|it| Obstacle::Attached {
        attachment: it.metadata.name.clone(),
        node: Text::clone(&it.node),
        error: it.detach_error.as_deref().map(Box::from),
    }))
}

fn static_ignored(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let Some(driver) = owner.csi().filter(|_| !volume.is_dynamic()) else { return Ok(None) };
    let deletes = deletes_static_volumes(cx, driver)?;
    Ok((deletes == StaticDeletion::Never).then_some(Obstacle::StaticIgnored))
}

fn unreachable(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    Ok(deleter_gone(cx, volume, owner)?.then_some(Obstacle::NodeGone))
}

/// Finds an only node that is unusable: a provisioner that is not CSI deletes by a helper pod, which no cordoned node
/// takes; where a kubelet does not report, nothing runs.
fn unusable(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let is_external = matches!(owner, Owner::External(_));
    let found = unusable_host(cx, volume)?;
    let found = found.filter(|(_, state)| is_external || state != "cordoned");
    Ok(found.map(|(node, state)| Obstacle::NodeUnusable { node, state }))
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
    Ok(event.map(|series| Obstacle::AttemptFailed {
        message: series.newest.message.clone(),
        series: series.describe(),
    }))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every look")]
fn removed(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Option<Obstacle>> {
    let removed = in_tree_deletes(volume, cx.server()) == Some(false);
    Ok(match owner {
        Owner::InTree(plugin) if removed => Some(Obstacle::PluginRemoved(Text::clone(plugin))),
        Owner::StaticInTree(source) if removed => Some(Obstacle::NoDeleter(Text::clone(source))),
        Owner::InTree(_) | Owner::StaticInTree(_) | Owner::Csi(_) | Owner::External(_) => None,
    })
}

/// Greatest length of the name of a user that is believed.
const LONGEST: usize = 253;

/// A refusal by the guard, as the message of an Event of the refused controller has it.
///
/// A client that may create Events can write one: it is shown, and the reader has to recognise the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardRefusal {
    /// The user as which the controller acts, if the message names one.
    pub user: Option<String>,
}

impl GuardRefusal {
    /// Reads the message of an Event about a volume; `None` if the guard did not refuse it.
    pub fn of(message: &str) -> Option<Self> {
        let policy =
            format!("ValidatingAdmissionPolicy '{GUARD_NAME}-{}'", Kind::PersistentVolume.plural());
        let (before, after) = message.split_once(&policy)?;
        let says = after.contains("denied request");
        let named = |text: &str| {
            let user = text.split_once("User \"")?.1.split_once('"')?.0;
            let is_printable = |c: char| c.is_ascii_graphic() && c != '\'' && c != '\\';
            let is_name = !user.is_empty() && user.len() <= LONGEST;
            (is_name && user.chars().all(is_printable)).then(|| user.to_owned())
        };
        says.then(|| Self { user: named(after).or_else(|| named(before)) })
    }

    /// Returns the next step after the refusal. `controller` is who is refused; `passed` are the users that the guard
    /// is known to let pass, which have to be listed again.
    pub fn advice(&self, controller: &str, passed: &[String]) -> String {
        let again = passed.iter().map(|user| format!(" --pass-user {}", quoted(user)));
        let again: String = again.collect();
        let replaced = if passed.is_empty() {
            "; add --pass-user for those that `kubectl storage guard status` lists as passing"
        } else {
            ""
        };
        match &self.user {
            Some(user) => format!(
                "if {user} is the user as which {controller} acts, `kubectl storage guard install{again} --pass-user {}` \
                 lets it pass{replaced}",
                quoted(user)
            ),
            None => format!(
                "let the user pass as which {controller} acts: the API server's audit log names it, for guard \
                 install{again} --pass-user{replaced}"
            ),
        }
    }
}

/// Returns the refusal of a volume's controller by the guard, if that is why its last attempt failed,
/// as far as Events were read.
pub fn guard_refusal(cx: &Cx, volume: &Volume) -> Option<GuardRefusal> {
    let series = last_event(cx, volume, &[FAILED_DELETE]).ok().flatten()?;
    GuardRefusal::of(&series.newest.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "persistentvolumes \"a\" is forbidden: ValidatingAdmissionPolicy \
         'kubectl-storage-guard-persistentvolumes' with binding 'kubectl-storage-guard-persistentvolumes' denied \
         request: removing a finalizer by hand can lose data";

    #[test]
    fn only_the_guard_refuses_and_only_a_name_is_a_user() {
        for (message, expected) in [
            (REFUSED.to_owned(), Some(None)),
            (format!("{REFUSED}. User \"eks:csi-provisioner\""), Some(Some("eks:csi-provisioner"))),
            (format!("User \"a\" cannot patch: {REFUSED}"), Some(Some("a"))),
            (format!("{REFUSED} User \"$(rm 'x')\""), Some(None)),
            (format!("{REFUSED} User \"\""), Some(None)),
            (REFUSED.replace("denied request", "warned"), None),
            (REFUSED.replace("kubectl-storage-guard", "other"), None),
            (REFUSED.replace("persistentvolumes'", "persistentvolumeclaims'"), None),
            ("rpc error".to_owned(), None),
        ] {
            let found = GuardRefusal::of(&message);
            let found = found.as_ref().map(|it| it.user.as_deref());
            assert_eq!(found, expected, "{message}");
        }
    }

    #[test]
    fn a_user_is_quoted_and_those_that_pass_already_are_listed_again() {
        let of = |user: &str| GuardRefusal { user: Some(user.to_owned()) };
        let advice = of("a$b").advice("csi-provisioner", &["eks:x".to_owned()]);
        assert!(advice.contains("install --pass-user eks:x --pass-user 'a$b'`"), "{advice}");
        let unknown = GuardRefusal { user: None }.advice("csi-provisioner", &[]);
        assert!(unknown.contains("audit log names it, for guard install"), "{unknown}");
    }
}

//! Versions of the running csi-provisioner by image tag, and what is known of these versions
//! (semantics#reclaim-policy, semantics#feature-gates).

mod honored_finalizer;

use std::collections::BTreeSet;

use semver::Version;

use super::controller::{pod_provisions, workload_provisions};
use super::driver_names::{mentions, provisioner_leases, sanitize};
use crate::cluster::{Cx, Seen};
use crate::model::{
    Answer, ClaimedVersion, ControllerRole, Fact, FactKey, Kind, ObjectRef, Question,
    SidecarContainer, Sidecars, Text, image_name,
};

pub(super) use honored_finalizer::derive as derive_finalizer_support;
pub use honored_finalizer::{every_provisioner_honors_finalizer, finalizer_driver};

/// Returns the claimed version of every pod and workload that runs the csi-provisioner of a driver.
///
/// A Deployment occurs more than once, with its pods and itself; during an upgrade with different
/// versions. Questions about abilities of the driver are answered by the weakest version. What does
/// not run any more is left out: finished pods, the `ReplicaSet`s of earlier revisions, and
/// workloads without replicas while others have some.
pub fn claimed_versions(cx: &Cx, driver: &Text) -> Vec<ClaimedVersion> {
    let key = FactKey::ProvisionerVersions(Text::clone(driver));
    match &*cx.fact(key, || Fact::ProvisionerVersions(derive(cx, driver))) {
        Fact::ProvisionerVersions(versions) => versions.clone(),
        _ => derive(cx, driver),
    }
}

pub(super) fn derive(cx: &Cx, driver: &Text) -> Vec<ClaimedVersion> {
    let leaders = leaders(cx, driver);
    let names_driver =
        |sidecars: &Sidecars| sidecars.mentions.iter().any(|text| mentions(text, driver));
    let mut running = Vec::new();
    for pod in cx.sidecar_pods() {
        let Some(sidecars) = &pod.sidecars else { continue };
        let leads = leaders.contains(&(Text::clone(&pod.namespace), sanitize(&pod.name)));
        let its_own = || leads || names_driver(sidecars) || pod_provisions(cx, driver, pod);
        if !pod.is_finished() && its_own() {
            running.extend(claims(&pod.object(), &pod.namespace, sidecars));
        }
    }
    let mut idle = Vec::new();
    for workload in cx.sidecar_workloads() {
        let is_its = |it: &&Sidecars| names_driver(it) || workload_provisions(cx, driver, workload);
        let Some(sidecars) = workload.sidecars.as_deref().filter(is_its) else { continue };
        let claims = claims(&workload.object(), &workload.namespace, sidecars);
        match workload.replicas {
            Some(0) if workload.kind == Kind::ReplicaSet => {}
            Some(0) => idle.extend(claims),
            Some(_) | None => running.extend(claims),
        }
    }
    let mut versions = if running.is_empty() { idle } else { running };
    versions.sort_by(|a, b| a.object.cmp(&b.object));
    versions
}

/// The kinds that may run a csi-provisioner.
const RUNNERS: [Kind; 5] =
    [Kind::Pod, Kind::StatefulSet, Kind::Deployment, Kind::ReplicaSet, Kind::DaemonSet];

/// Whether everything that may run a csi-provisioner was read.
///
/// # Errors
/// What was not read.
pub fn provisioners_seen(cx: &Cx) -> Seen<()> {
    RUNNERS.into_iter().try_for_each(|kind| cx.all_of(kind))
}

/// Returns the pods that hold the driver's Lease, by namespace and sanitised name: the Lease shows
/// the driver of their provisioner if their arguments do not.
fn leaders(cx: &Cx, driver: &Text) -> BTreeSet<(Text, String)> {
    let leases = provisioner_leases(driver).into_iter();
    leases
        .filter_map(|name| cx.leases_named(&name).ok())
        .flatten()
        .filter_map(|lease| Some((Text::clone(&lease.namespace), lease.holder.as_deref()?.into())))
        .collect()
}

fn claims(object: &ObjectRef, namespace: &Text, sidecars: &Sidecars) -> Vec<ClaimedVersion> {
    let of = |container| claimed(object.clone(), namespace, sidecars, container);
    sidecars.containers.iter().filter_map(of).collect()
}

fn claimed(
    object: ObjectRef,
    namespace: &Text,
    sidecars: &Sidecars,
    container: &SidecarContainer,
) -> Option<ClaimedVersion> {
    if !container.plays(ControllerRole::Provisioner) {
        return None;
    }
    Some(ClaimedVersion {
        object,
        image: Text::clone(&container.image),
        version: tag_version(&container.image),
        honor_flag: honor_flag(&container.args),
        service_account: Some(service_account(namespace, sidecars)),
    })
}

fn service_account(namespace: &Text, sidecars: &Sidecars) -> (Text, Text) {
    let named = sidecars.service_account.clone().filter(|account| !account.is_empty());
    (Text::clone(namespace), named.unwrap_or_else(|| "default".into()))
}

fn tag_version(image: &str) -> Option<Version> {
    let name = image_name(image);
    if !name.ends_with("csi-provisioner") && name != "external-provisioner" {
        return None; // Distributions tag their own images with versions of their own.
    }
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    let (_, tag) = image.rsplit_once('/').map_or(image, |(_, name)| name).split_once(':')?;
    Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()
}

fn honor_flag(args: &[Text]) -> Option<bool> {
    let mut gates = BTreeSet::new();
    for (index, arg) in args.iter().enumerate() {
        let flag = arg.trim_start_matches('-');
        if let Some(value) = flag.strip_prefix("feature-gates=") {
            gates.extend(value.split(','));
        } else if flag == "feature-gates"
            && let Some(value) = args.get(index + 1)
        {
            gates.extend(value.split(','));
        }
    }
    let value =
        gates.into_iter().find_map(|gate| gate.trim().strip_prefix("HonorPVReclaimPolicy="))?;
    match &*value.to_ascii_lowercase() {
        "true" | "t" | "1" => Some(true),
        "false" | "f" | "0" => Some(false),
        _ => None,
    }
}

/// Returns whether a claimed csi-provisioner may patch volumes, which it has to from 5.0 on
/// (R-2644-20). `Ok(None)` if it need not, or if the user may not ask.
///
/// # Errors
/// When there is no answer yet.
pub fn may_patch_volumes(cx: &Cx, claimed: &ClaimedVersion) -> Seen<Option<bool>> {
    let patches = claimed.version.as_ref().is_some_and(|version| version.major >= 5);
    let Some((namespace, account)) = claimed.service_account.as_ref().filter(|_| patches) else {
        return Ok(None);
    };
    let question = Question::MayPatchVolumes {
        namespace: Text::clone(namespace),
        service_account: Text::clone(account),
    };
    Ok(match cx.answer(question)? {
        Answer::Yes
        | Answer::Is(_)
        | Answer::Owner(_)
        | Answer::Users(_)
        | Answer::Announcements(_) => Some(true),
        Answer::No => Some(false),
        Answer::Forbidden | Answer::Unanswered(_) | Answer::NotServed { .. } => None,
    })
}

/// A known defect of a version of csi-provisioner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// 5.0.0 and 5.0.1 send an empty patch: volumes stay Terminating after their backend volume was
    /// deleted.
    EmptyPatch,
    /// 3.1 to 4.x without the feature gate set no deletion-protection finalizer.
    Unprotected,
    /// Before 3.1 csi-provisioner neither sets nor removes the deletion-protection finalizer.
    TooOld,
}

/// Returns the known defect of a claimed version.
pub fn defect(claimed: &ClaimedVersion) -> Option<Defect> {
    defect_of(claimed.version.as_ref()?, claimed.honor_flag)
}

fn defect_of(version: &Version, honor_flag: Option<bool>) -> Option<Defect> {
    match (version.major, version.minor, version.patch) {
        (5, 0, 0 | 1) => Some(Defect::EmptyPatch),
        (3, 1.., _) | (4, ..) if honor_flag != Some(true) => Some(Defect::Unprotected),
        (0..=2, ..) | (3, 0, _) => Some(Defect::TooOld),
        _ => None,
    }
}

/// Whether a claimed version sets the deletion-protection finalizer: on by default from 5.0, by
/// feature gate from 3.1, never before. `None` when the version is not known.
pub fn honors_reclaim_policy(claimed: &ClaimedVersion) -> Option<bool> {
    let version = claimed.version.as_ref()?;
    Some(match (version.major, version.minor) {
        (0..=2, _) | (3, 0) => false,
        (3 | 4, _) => claimed.honor_flag == Some(true),
        // From 5.3 on the feature cannot be switched off.
        (5, 0..=2) => claimed.honor_flag != Some(false),
        _ => true,
    })
}

/// Whether the csi-provisioners of a driver delete statically provisioned volumes, which each does
/// from 3.5 on (R-2644-8). Where they differ, the one that leads decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaticDeletion {
    /// Every one of them does.
    Always,
    /// At least one does, and others do not, or may not.
    Sometimes,
    /// None of them does.
    Never,
    /// None is known to, and not all versions are known; or none was found.
    Unknown,
}

/// Returns whether the csi-provisioners of a driver delete statically provisioned volumes.
///
/// # Errors
/// When none was found that does, and not everything that may run one was read.
pub fn deletes_static_volumes(cx: &Cx, driver: &Text) -> Seen<StaticDeletion> {
    let all_seen = || provisioners_seen(cx);
    match static_deletion(&claimed_versions(cx, driver)) {
        StaticDeletion::Always if all_seen().is_err() => Ok(StaticDeletion::Sometimes),
        found @ (StaticDeletion::Always | StaticDeletion::Sometimes) => Ok(found),
        found @ (StaticDeletion::Never | StaticDeletion::Unknown) => all_seen().map(|()| found),
    }
}

fn static_deletion(claimed: &[ClaimedVersion]) -> StaticDeletion {
    let each = || {
        let version = |it: &ClaimedVersion| it.version.clone();
        claimed.iter().map(version).map(|it| it.map(|it| (it.major, it.minor) >= (3, 5)))
    };
    let all = |wanted| each().all(|deletes| deletes == Some(wanted));
    match claimed {
        [] => StaticDeletion::Unknown,
        _ if all(true) => StaticDeletion::Always,
        _ if all(false) => StaticDeletion::Never,
        _ if each().any(|deletes| deletes == Some(true)) => StaticDeletion::Sometimes,
        _ => StaticDeletion::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectKey;

    #[test]
    fn hand_made_volumes_are_deleted_from_3_5_on() {
        use StaticDeletion::{Always, Never, Sometimes, Unknown};
        for (images, expected) in [
            (&["csi-provisioner:v3.5.0"][..], Always),
            (&["csi-provisioner:v3.5.0", "csi-provisioner:v6.3.0"], Always),
            (&["csi-provisioner:v3.4.1"], Never),
            (&["csi-provisioner:v3.4.1", "csi-provisioner:v6.3.0"], Sometimes),
            (&["csi-provisioner:v6.3.0", "csi-provisioner@sha256:00"], Sometimes),
            (&["csi-provisioner:v3.4.1", "csi-provisioner@sha256:00"], Unknown),
            (&["csi-provisioner@sha256:00"], Unknown),
            (&[], Unknown),
        ] {
            let claimed: Vec<_> = images.iter().map(|image| claiming(image, &[])).collect();
            assert_eq!(static_deletion(&claimed), expected, "{images:?}");
        }
    }

    fn claiming(image: &str, args: &[&str]) -> ClaimedVersion {
        ClaimedVersion {
            object: ObjectRef { key: ObjectKey::cluster_wide(Kind::Pod, "p"), uid: None },
            image: image.into(),
            version: tag_version(image),
            honor_flag: honor_flag(&args.iter().map(|arg| Text::from(*arg)).collect::<Vec<_>>()),
            service_account: None,
        }
    }

    #[test]
    fn versions_have_the_defects_of_their_changelogs() {
        let on = &["--feature-gates=Topology=true,HonorPVReclaimPolicy=true"][..];
        for (image, args, found, honors) in [
            ("r/csi-provisioner:v6.3.0", &[][..], None, Some(true)),
            ("r/csi-provisioner:v5.0.2", &[], None, Some(true)),
            (
                "r/csi-provisioner:v5.0.2",
                &["--feature-gates", "HonorPVReclaimPolicy=false"],
                None,
                Some(false),
            ),
            ("r/csi-provisioner:v5.0.1", &[], Some(Defect::EmptyPatch), Some(true)),
            ("r/csi-provisioner:v5.0.0", &[], Some(Defect::EmptyPatch), Some(true)),
            ("r/csi-provisioner:v4.0.1", &[], Some(Defect::Unprotected), Some(false)),
            ("r/csi-provisioner:v4.0.1", on, None, Some(true)),
            ("r/csi-provisioner:v3.1.0", &[], Some(Defect::Unprotected), Some(false)),
            ("r/csi-provisioner:v3.0.0", on, Some(Defect::TooOld), Some(false)),
            ("r/csi-provisioner:v2.2.2", &[], Some(Defect::TooOld), Some(false)),
            ("r/csi-provisioner@sha256:00", &[], None, None),
            ("r/csi-provisioner:latest", &[], None, None),
            ("host:5000/csi-provisioner", &[], None, None),
            ("r/external-provisioner:v5.0.1-eks-1", &[], Some(Defect::EmptyPatch), Some(true)),
            ("r/ose-csi-external-provisioner:v4.15.0", &[], None, None),
        ] {
            let claimed = claiming(image, args);
            assert_eq!(defect(&claimed), found, "{image} {args:?}");
            assert_eq!(honors_reclaim_policy(&claimed), honors, "{image} {args:?}");
        }
    }
}

//! Versions of the running csi-provisioner by image tag, and the known behaviour of these versions
//! (semantics#reclaim-policy, semantics#feature-gates).
//!
//! Whether every csi-provisioner that may serve a driver honors the deletion-protection finalizer on a
//! volume that another client gave it (R-2644-29) is decided more strictly than what a report says of
//! versions: one that may run counts like one that does, and what cannot be read counts against it.

use std::collections::BTreeSet;

use semver::Version;

use super::{
    controller::{pod_provisions, workload_provisions},
    driver_names::{mentions, provisioner_leases, sanitize},
};
use crate::cluster::{Cx, Seen};
use crate::facts::{
    controller::{pod_may_provision, workload_may_provision},
    owner::owner,
};
use crate::model::{
    Answer, ClaimedVersion, ControllerRole, Fact, FactKey, FinalizerSupport, Kind, ObjectRef,
    PodPhase, PodUse, Question, SidecarContainer, Sidecars, Text, Volume, Workload, image_name,
};

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
    /// Every csi-provisioner of the driver deletes them.
    Always,
    /// At least one deletes them, and others do not, or may not.
    Sometimes,
    /// No csi-provisioner of the driver deletes them.
    Never,
    /// None is known to delete them, and not all versions are known; or none was found.
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

/// The first version of csi-provisioner without a known defect in its handling of the finalizer (R-2644-22).
const LEAST: (u64, u64, u64) = (5, 0, 2);

/// Returns the driver whose csi-provisioner would honor the finalizer on such a volume: a CSI
/// volume, or one whose migration the volume controller has announced. On other in-tree volumes the
/// volume controller removes it (R-2644-6).
pub fn finalizer_driver(volume: &Volume) -> Option<Text> {
    let migrated = volume.migrated_to.as_ref().is_some_and(|driver| !driver.is_empty());
    let owner = owner(volume);
    owner.csi().filter(|_| migrated || volume.source.driver().is_some()).cloned()
}

/// Checks that every csi-provisioner that may serve a driver honors the finalizer. `Err` is the
/// reason why that is not certain.
pub fn every_provisioner_honors_finalizer(cx: &Cx, driver: &Text) -> Result<(), String> {
    let key = FactKey::FinalizerSupport(Text::clone(driver));
    let fact = cx.fact(key, || Fact::FinalizerSupport(derive_finalizer_support(cx, driver)));
    let Fact::FinalizerSupport(support) = &*fact else {
        return Err("it was not found out".to_owned());
    };
    for (namespace, account) in support.as_ref().map_err(String::clone)? {
        let question = Question::MayPatchVolumes {
            namespace: Text::clone(namespace),
            service_account: Text::clone(account),
        };
        let who = format!("service account {namespace}/{account}");
        match cx.answer(question) {
            Ok(Answer::Yes) => {}
            Ok(Answer::No) => return Err(format!("{who} may not patch volumes")),
            Ok(
                Answer::Is(_)
                | Answer::Owner(_)
                | Answer::Users(_)
                | Answer::Announcements(_)
                | Answer::Forbidden
                | Answer::Unanswered(_)
                | Answer::NotServed { .. },
            )
            | Err(_) => {
                return Err(format!("whether {who} may patch volumes is not known"));
            }
        }
    }
    Ok(())
}

/// Derives the support of the finalizer from the cluster as it is now, apart from permissions.
pub(super) fn derive_finalizer_support(cx: &Cx, driver: &Text) -> FinalizerSupport {
    let unseen =
        |kind: Kind, reason: &str| format!("not all {} were seen: {reason}", kind.plural());
    provisioners_seen(cx).map_err(|it| unseen(it.kind, &it.reason))?;
    // One namespace that was lost since may hold another one.
    if let Some(gap) = cx.cluster().gaps().find(|gap| RUNNERS.contains(&gap.kind)) {
        return Err(unseen(gap.kind, &gap.reason));
    }
    let leaders = leaders(cx, driver);
    let names_driver =
        |sidecars: &Sidecars| sidecars.mentions.iter().any(|text| mentions(text, driver));
    let mut found = Found::default();
    for pod in cx.sidecar_pods() {
        let Some(sidecars) = pod.sidecars.as_deref() else { continue };
        let leads = leaders.contains(&(Text::clone(&pod.namespace), sanitize(&pod.name)));
        let its_own = leads || names_driver(sidecars) || pod_provisions(cx, driver, pod);
        if pod.is_finished() || !(its_own || pod_may_provision(cx, driver, pod)) {
            continue;
        }
        let provisioners = found.take(&pod.namespace, sidecars);
        found.runs |= its_own && provisioners > 0 && is_at_work(pod);
    }
    for workload in cx.sidecar_workloads().filter(|it| !is_earlier_revision(it)) {
        let Some(sidecars) = workload.sidecars.as_deref() else { continue };
        if names_driver(sidecars) || workload_may_provision(cx, driver, workload) {
            found.take(&workload.namespace, sidecars);
        }
    }
    found.support()
}

/// Findings about all csi-provisioners that may serve a driver.
#[derive(Default)]
struct Found {
    /// Whether a pod runs a csi-provisioner that is certainly the driver's.
    runs: bool,
    /// The reasons for which some csi-provisioners may not honor the finalizer.
    doubts: BTreeSet<String>,
    /// The service accounts of the other csi-provisioners.
    accounts: BTreeSet<(Text, Text)>,
}

impl Found {
    /// Adds the csi-provisioners of a pod or a template, and returns how many there are.
    fn take(&mut self, namespace: &Text, sidecars: &Sidecars) -> usize {
        let plays = |it: &&SidecarContainer| it.may_play(ControllerRole::Provisioner);
        let provisioners: Vec<_> = sidecars.containers.iter().filter(plays).collect();
        for container in &provisioners {
            match honoring(namespace, sidecars, container) {
                Ok(account) => {
                    self.accounts.insert(account);
                }
                Err(doubt) => {
                    self.doubts.insert(doubt);
                }
            }
        }
        provisioners.len()
    }

    fn support(self) -> FinalizerSupport {
        // The first by its text: the pods of a workload have random names, and are not named.
        match self.doubts.into_iter().next() {
            Some(doubt) => Err(doubt),
            None if !self.runs => Err("no pod was seen that runs its csi-provisioner".to_owned()),
            None => Ok(self.accounts),
        }
    }
}

/// Whether a pod is running and ready.
fn is_at_work(pod: &PodUse) -> bool {
    pod.phase == PodPhase::Running && pod.ready && pod.deleting.is_none()
}

/// Whether a workload is a `ReplicaSet` that a Deployment has replaced: it runs again only if the Deployment is
/// changed.
fn is_earlier_revision(workload: &Workload) -> bool {
    workload.kind == Kind::ReplicaSet
        && workload.replicas == Some(0)
        && workload.controller.is_some()
}

/// Returns the service account of a container that honors the finalizer if it may patch volumes.
fn honoring(
    namespace: &Text,
    sidecars: &Sidecars,
    container: &SidecarContainer,
) -> Result<(Text, Text), String> {
    let image = &container.image;
    let unknown = || format!("the version of csi-provisioner cannot be read from image {image}");
    // The digest decides which image runs; a tag beside it is ignored.
    if image.contains('@') {
        return Err(unknown());
    }
    let version = tag_version(image).ok_or_else(unknown)?;
    if (version.major, version.minor, version.patch) < LEAST {
        return Err(format!("image {image} is older than csi-provisioner 5.0.2"));
    }
    if defect_of(&version, honor_flag(&container.args)).is_some() {
        return Err(format!("image {image} has a known defect"));
    }
    match gate(&container.args) {
        Gate::Default | Gate::On => Ok(service_account(namespace, sidecars)),
        Gate::Off => Err(format!("the arguments of {image} switch the finalizer off")),
        Gate::Unknown => {
            Err(format!("whether the arguments of {image} switch the finalizer off cannot be read"))
        }
    }
}

/// State of the feature gate `HonorPVReclaimPolicy` by literal arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Default,
    On,
    Off,
    Unknown,
}

fn gate(args: &[Text]) -> Gate {
    let names_it = |arg: &&Text| arg.contains("HonorPVReclaimPolicy");
    // `AllBeta` sets all gates of that stage, to which this one belongs up to 5.2.
    let sets_stage = |arg: &Text| arg.contains("AllBeta");
    if !args.iter().all(|arg| is_literal(arg)) || args.iter().any(sets_stage) {
        return Gate::Unknown;
    }
    match (honor_flag(args), args.iter().filter(names_it).count()) {
        (Some(true), 1) => Gate::On,
        (Some(false), _) => Gate::Off,
        (None, 0) => Gate::Default,
        _ => Gate::Unknown,
    }
}

/// Whether an argument is what it looks like, and neither a variable that may hold another flag nor
/// a line of a shell. The value of a flag that is written out is only its value.
fn is_literal(arg: &str) -> bool {
    let plain = |text: &str| !text.contains('$') && !text.contains(char::is_whitespace);
    let named = || {
        let (flag, _) = arg.strip_prefix('-')?.split_once('=')?;
        let flag = flag.trim_start_matches('-');
        Some(flag.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && flag != "feature-gates")
    };
    plain(arg) || named().unwrap_or(false)
}

#[cfg(test)]
mod tests;

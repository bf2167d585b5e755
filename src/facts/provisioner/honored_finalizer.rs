//! Whether every csi-provisioner that may serve a driver honors the deletion-protection finalizer on
//! a volume that another client gave it (R-2644-29).
//!
//! Stricter than what is known of versions for a report: one that may run counts like one that
//! does, and what cannot be read counts against it.

use std::collections::BTreeSet;

use super::{
    RUNNERS, defect_of, honor_flag, leaders, mentions, provisioners_seen, service_account,
    tag_version,
};
use crate::cluster::Cx;
use crate::facts::controller::{pod_may_provision, pod_provisions, workload_may_provision};
use crate::facts::driver_names::sanitize;
use crate::facts::owner::owner;
use crate::model::{
    Answer, ControllerRole, Fact, FactKey, FinalizerSupport, Kind, PodPhase, PodUse, Question,
    SidecarContainer, Sidecars, Text, Volume, Workload,
};

/// The first csi-provisioner without a known defect in its handling of the finalizer (R-2644-22).
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
    let fact = cx.fact(key, || Fact::FinalizerSupport(derive(cx, driver)));
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

/// Derives it from the cluster as it is now, apart from permissions.
pub(in crate::facts) fn derive(cx: &Cx, driver: &Text) -> FinalizerSupport {
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

/// What was found of all of them.
#[derive(Default)]
struct Found {
    /// Whether a pod runs one that is certainly the driver's.
    runs: bool,
    /// Why some of them may not honor it.
    doubts: BTreeSet<String>,
    /// The service accounts of the others.
    accounts: BTreeSet<(Text, Text)>,
}

impl Found {
    /// Takes in the csi-provisioners of a pod or a template, and returns how many they are.
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

/// Whether a workload is a `ReplicaSet` that a Deployment has replaced: it runs again only if
/// somebody changes the Deployment.
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

/// What literal arguments say of the feature gate `HonorPVReclaimPolicy`.
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

//! Facts of a driver that are derived once for all its volumes: how its controller was started, and
//! whether the handles of a driver of which nothing is known identify its volumes (semantics#place).
//! Also the Secret with which the driver's provisioner deletes a backend volume (R-2644-17).

use std::collections::BTreeMap;

use super::{
    Owner, driver_volumes::driver_volumes, provisioner::provisioners_seen, provisioning_family,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::drivers::{self, PUBLISH_SECRET, Recognition, Reference, SECRET_PARAMETERS};
use crate::facts::controller::{pod_provisions, workload_provisions};
use crate::model::{
    Answer, BackendKey, ClusterArgument, ControllerSettings, DeletionSecret, Fact, FactKey,
    KeptBackend, Kind, NamedBackend, ObjectRef, PodUse, Question, StorageClass, Text,
    UndecidedIdentity, Volume, Workload,
};

/// Returns the arguments and images of the controller of a driver; `None` where no pod and no
/// workload of it was found.
pub fn controller_settings(cx: &Cx, driver: &Text) -> Option<ControllerSettings> {
    let key = FactKey::ControllerSettings(Text::clone(driver));
    match &*cx.fact(key, || Fact::ControllerSettings(derive_controller_settings(cx, driver))) {
        Fact::ControllerSettings(settings) => settings.clone(),
        _ => derive_controller_settings(cx, driver),
    }
}

/// Collects the arguments and images from all pods and workloads that surely run a driver's provisioner: one that is
/// about to start counts as well. A node plugin, which has the same image, tells nothing of the controller.
pub fn derive_controller_settings(cx: &Cx, driver: &Text) -> Option<ControllerSettings> {
    let of_pods = pods_of(cx, driver).filter_map(|pod| pod.sidecars.as_deref());
    let of_workloads = workloads_of(cx, driver).filter_map(|workload| workload.sidecars.as_deref());
    let mut found: Option<ControllerSettings> = None;
    for sidecars in of_pods.chain(of_workloads) {
        let settings = found.get_or_insert_default();
        settings.arguments.extend(sidecars.mentions.iter().cloned());
        settings.images.extend(sidecars.images.iter().cloned());
    }
    if let Some(settings) = &mut found {
        for list in [&mut settings.arguments, &mut settings.images] {
            list.sort_unstable();
            list.dedup();
        }
    }
    found
}

fn pods_of<'a>(cx: &Cx<'a>, driver: &Text) -> impl Iterator<Item = &'a PodUse> {
    cx.sidecar_pods().filter(|pod| pod_provisions(cx, driver, pod))
}

fn workloads_of<'a>(cx: &Cx<'a>, driver: &Text) -> impl Iterator<Item = &'a Workload> {
    cx.sidecar_workloads().filter(|workload| workload_provisions(cx, driver, workload))
}

/// Identity of the cluster as a driver writes it on the disks that it makes, by the arguments of its controller
/// (semantics#cluster-identity).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterIdentity {
    /// The arguments and variables that are set, each with the first workload or pod that has it.
    pub arguments: Vec<(ObjectRef, ClusterArgument)>,
    /// Why others may be set; `None` if none is.
    pub unseen: Option<String>,
}

/// How an identity is known (semantics K.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdentitySource {
    /// The user said it.
    Flag,
    /// The controller of the driver has it as an argument.
    Argument,
    /// A disk has it that a volume of the cluster names, and that was made for the claim of this volume.
    Disk,
}

impl IdentitySource {
    /// Returns the name of the source in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Argument => "argument",
            Self::Disk => "disk",
        }
    }
}

/// An identity that a driver writes on the disks of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownIdentity {
    /// The number of the cluster.
    pub cluster: usize,
    /// The driver; empty if it is any.
    pub driver: Text,
    /// The identity.
    pub value: Text,
    /// How it is known.
    pub source: IdentitySource,
}

/// Returns the identity of the cluster as a driver writes it on the disks that it makes. What an earlier revision of a
/// Deployment said was corrected since, and does not count.
pub fn cluster_identity(cx: &Cx, driver: &Text) -> ClusterIdentity {
    let is_current = |it: &&Workload| it.kind != Kind::ReplicaSet || it.replicas != Some(0);
    let mut workloads: Vec<_> = workloads_of(cx, driver).filter(is_current).collect();
    workloads.sort_by_key(|it| it.controller.is_some());
    let of_workloads = workloads.into_iter().map(|it| (it.object(), it.sidecars.as_deref()));
    let pods = pods_of(cx, driver).filter(|it| !it.is_finished());
    let hosts = of_workloads.chain(pods.map(|it| (it.object(), it.sidecars.as_deref())));
    let (mut found, mut is_line, mut arguments) = (false, false, BTreeMap::new());
    for (object, sidecars) in hosts {
        let Some(sidecars) = sidecars else { continue };
        found = true;
        is_line |= sidecars.mentions.iter().any(|it| it.starts_with(drivers::UNREAD));
        for argument in &sidecars.of_cluster {
            arguments.entry(argument.clone()).or_insert_with(|| object.clone());
        }
    }
    let unseen = match provisioners_seen(cx) {
        _ if !cx.cluster().has_identity() => {
            Some("the dump was saved by an earlier version, which left it out".to_owned())
        }
        Err(Unseen { kind, reason, .. }) => Some(format!("{} not read: {reason}", kind.plural())),
        Ok(()) if !found => Some("no pod and no workload of its controller was found".to_owned()),
        Ok(()) if is_line => {
            Some("a shell runs a container of its controller, with arguments of its own".to_owned())
        }
        Ok(()) => None,
    };
    let arguments = arguments.into_iter().map(|(argument, object)| (object, argument)).collect();
    ClusterIdentity { arguments, unseen }
}

/// Number of volumes whose names are kept: one is needed besides the volume itself, its record, and one more that the
/// caller leaves out.
const NAMES: usize = 4;

/// Returns why the handles of a driver do not tell its volumes apart, if they do not. Of known
/// families the places themselves say it.
pub fn undecided_identity(cx: &Cx, driver: &Text) -> Option<UndecidedIdentity> {
    if !drivers::is_unknown(cx.family(driver)) {
        return None;
    }
    let key = FactKey::Identity(Text::clone(driver));
    match &*cx.fact(key, || Fact::Identity(derive_identity(cx, driver))) {
        Fact::Identity(undecided) => undecided.clone(),
        _ => derive_identity(cx, driver),
    }
}

/// Derives the answer of [`undecided_identity`] anew.
pub fn derive_identity(cx: &Cx, driver: &Text) -> Option<UndecidedIdentity> {
    undecided_reason(cx, driver)
        .map(|why| UndecidedIdentity { why, first: first_names(cx, driver) })
}

/// Returns the first names of the backend volumes of a driver.
fn first_names(cx: &Cx, driver: &Text) -> Vec<NamedBackend> {
    let volumes = cx.volumes_of_driver(driver).map(|it| NamedBackend {
        volume: it.name().into(),
        who: it.object().to_string(),
        kept: None,
    });
    let kept = cx.kept_of_driver(driver).map(|it| NamedBackend {
        volume: it.volume.clone(),
        who: of_kept(it),
        kept: Some(it.backend.clone()),
    });
    let mut all: Vec<_> = volumes.chain(kept).collect();
    all.sort_unstable();
    let mut names = 0;
    let mut last = None;
    let is_first = |it: &NamedBackend| {
        if last.as_ref() != Some(&it.volume) {
            names += 1;
            last = Some(it.volume.clone());
        }
        names <= NAMES
    };
    all.into_iter().take_while(is_first).collect()
}

/// Returns the words by which reports name a kept backend volume.
pub fn of_kept(kept: &KeptBackend) -> String {
    format!("the kept backend volume of {}", kept.object())
}

/// Returns why a handle of a driver may not stand for one disk; `None` where nothing suggests shared storage.
fn undecided_reason<'a>(cx: &Cx<'a>, driver: &Text) -> Option<String> {
    if let Recognition::Differs(why) = cx.recognition(driver) {
        return Some(format!("unknown which driver {driver} is: {why}"));
    }
    // Their attributes tell what the handles do not.
    let is_told = |volume: &Volume| {
        let backend = volume.backend.as_ref().filter(|it| it.driver == *driver);
        backend.is_none_or(|it| !drivers::is_unknown(Reference::of(it, &volume.attributes).family))
    };
    if cx.volumes_of_driver(driver).next().is_some() && cx.volumes_of_driver(driver).all(is_told) {
        return None;
    }
    match cx.csi_driver(driver) {
        Ok(Some(it)) if it.attach_required => {}
        Ok(Some(_)) => {
            return Some(format!(
                "driver {driver} is unknown, and has attachRequired: false like drivers of shared \
                 storage"
            ));
        }
        Ok(None) => return Some(format!("driver {driver} is unknown, and has no CSIDriver")),
        Err(unseen) => return Some(unseen.reason),
    }
    let split = |backend: &'a BackendKey| backend.handle.split(['/', '#', ':']).collect();
    let mut handles: Vec<Vec<&str>> =
        cx.kept_of_driver(driver).map(|kept| split(&kept.backend)).collect();
    for volume in cx.volumes_of_driver(driver) {
        if volume.is_shared {
            let object = volume.object();
            return Some(format!(
                "driver {driver} is unknown, and {object} is a file system that several nodes mount"
            ));
        }
        if let Some(backend) = volume.backend.as_ref().filter(|it| it.driver == *driver) {
            handles.push(split(backend));
        }
    }
    handles.sort_unstable();
    handles.dedup();
    let is_within = |pair: &&[Vec<&str>]| pair[1].starts_with(&pair[0]);
    let pair = handles.windows(2).find(is_within)?;
    let written = |parts: &[&str]| parts.join("/");
    Some(format!(
        "driver {driver} is unknown, and its volume handle {} begins with {}",
        written(&pair[1]),
        written(&pair[0])
    ))
}

/// The state of the Secret for `DeleteVolume`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretState {
    /// No Secret is needed, or no field references one.
    NotNeeded,
    /// The Secret exists.
    Present(DeletionSecret),
    /// The Secret does not exist: csi-provisioner would call the driver without credentials.
    Missing(DeletionSecret),
    /// The volume references no Secret, its class does not exist, and other volumes of the driver reference one:
    /// csi-provisioner would call the driver without credentials.
    Forgotten,
    /// The class names the Secret by this, which csi-provisioner cannot resolve: it would not call the driver.
    Unresolvable(String),
    /// The user may not read Secrets.
    Forbidden(DeletionSecret),
}

impl DeletionSecret {
    /// Returns the gap of a Secret that may not be read.
    pub fn unreadable(&self) -> Unseen {
        self.unread("reading it is forbidden")
    }

    fn unread(&self, reason: &str) -> Unseen {
        Unseen {
            kind: Kind::Secret,
            namespace: Some(Text::clone(&self.namespace)),
            reason: format!(
                "unknown whether its deletion Secret {}/{} exists: {reason}",
                self.namespace, self.name
            ),
        }
    }
}

/// Returns the state of a volume's deletion Secret.
///
/// # Errors
/// When the Secret was not requested, or the class was not read.
pub fn deletion_secret(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<SecretState> {
    let Some(driver) = owner.csi() else { return Ok(SecretState::NotNeeded) };
    let secret = match named(cx, volume, driver, owner)? {
        Ok(Some(secret)) => secret,
        Ok(None) => return Ok(SecretState::NotNeeded),
        Err(state) => return Ok(state),
    };
    if secret.name.is_empty() || secret.namespace.is_empty() {
        return Ok(SecretState::NotNeeded);
    }
    let question = Question::SecretExists {
        namespace: Text::clone(&secret.namespace),
        name: Text::clone(&secret.name),
    };
    let answer = cx.answer(question).map_err(|unseen| secret.unread(&unseen.reason))?;
    Ok(match answer {
        Answer::Yes
        | Answer::Is(_)
        | Answer::Owner(_)
        | Answer::Users(_)
        | Answer::Announcements(_) => SecretState::Present(secret),
        Answer::No => SecretState::Missing(secret),
        Answer::Forbidden => SecretState::Forbidden(secret),
        Answer::Unanswered(reason) => return Err(secret.unread(&reason)),
        Answer::NotServed { .. } => return Err(secret.unread("its kind is not served")),
    })
}

/// Returns the Secret that is named for the deletion of a volume, whether or not it exists; or the
/// state that is known without it.
fn named(
    cx: &Cx,
    volume: &Volume,
    driver: &Text,
    owner: &Owner,
) -> Seen<Result<Option<DeletionSecret>, SecretState>> {
    let family = provisioning_family(cx, volume, owner);
    let settings = family.own_provisioner.and_then(|_| controller_settings(cx, driver));
    let arguments = settings.as_ref().map(|it| &*it.arguments);
    if family.provisions_itself(arguments) == Some(true) {
        let named = volume.attributes.get(PUBLISH_SECRET).and_then(|it| it.split_once('/'));
        return Ok(Ok(named.map(|(namespace, name)| DeletionSecret {
            namespace: namespace.into(),
            name: name.into(),
        })));
    }
    // csi-provisioner writes the annotations from 3.2.0 on, empty where no Secret is needed. Without
    // them every version of it reads the class, as it is then; without the class it uses none.
    if let Some(secret) = &volume.deletion_secret {
        return Ok(Ok(Some((**secret).clone())));
    }
    let (Some(name), Some(_)) =
        (volume.class.as_ref().filter(|class| !class.is_empty()), &volume.claim_ref)
    else {
        return Ok(Ok(None));
    };
    let names_secret = driver_volumes(cx, driver).names_secret;
    Ok(match cx.class(name) {
        Ok(Some(class)) => of_class(class, volume),
        Ok(None) if names_secret => Err(SecretState::Forgotten),
        Ok(None) => Ok(None),
        Err(unseen) => return Err(unseen),
    })
}

/// Returns the Secret that a class names for a volume (external-provisioner controller.go, `getSecretReference`).
fn of_class(class: &StorageClass, volume: &Volume) -> Result<Option<DeletionSecret>, SecretState> {
    let parameter = |key: &str| {
        let mut parameters = class.parameters.iter();
        parameters.find(|(known, _)| **known == *key).map(|(_, value)| &**value)
    };
    let mut named =
        SECRET_PARAMETERS.iter().map(|(name, namespace)| (parameter(name), parameter(namespace)));
    let Some((name, namespace)) = named.find(|it| *it != (None, None)) else { return Ok(None) };
    let (name, namespace) = (name.unwrap_or_default(), namespace.unwrap_or_default());
    let resolved = |template: &str, with_claim: bool| {
        let claim = volume.claim_ref.as_ref().map(|it| &it.key);
        let mut text = template.replace("${pv.name}", volume.name());
        if let Some(claim) = claim {
            text = text.replace("${pvc.namespace}", &claim.namespace);
            if with_claim {
                text = text.replace("${pvc.name}", &claim.name);
            }
        }
        match text.is_empty() || text.contains('$') {
            true => {
                Err(SecretState::Unresolvable(format!("{namespace}/{name} of {}", class.object())))
            }
            false => Ok(Text::from(text)),
        }
    };
    Ok(Some(DeletionSecret { namespace: resolved(namespace, false)?, name: resolved(name, true)? }))
}

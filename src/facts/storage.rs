//! Storage of a volume: what its controller destroys when it is told to delete it; who made the volume, and who else
//! may change it (R-DRV-9, R-DRV-10); what wants a claim back that does not exist any more (R-DRV-8).

use std::borrow::Cow;

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{
    self, Deletion, Destruction, Family, PUBLISH_SECRET, Place, Recognition, Reference, Relation,
    UNKNOWN,
};
use crate::facts::{
    Owner, SecretState, controller_settings, deletion_secret, deployment_of, owner,
    retention::Ordinals,
};
use crate::model::{
    ClaimKey, ControllerRole, DeletionSecret, Kind, ManagedField, Metadata, ObjectRef,
    StorageClass, Uid, Volume, VolumeSource, split_ordinal,
};

/// The reason where a volume references no backend volume that can be compared.
pub const UNIDENTIFIED: &str = "its backend volume cannot be identified";

/// Returns the family of the driver or provisioner that deletes a volume: that of unknown ones where the evidence
/// contradicts itself.
pub fn provisioning_family(cx: &Cx, volume: &Volume, owner: &Owner) -> &'static Family {
    recognised(cx, volume, owner).unwrap_or(&UNKNOWN)
}

/// Recognises the driver or provisioner that deletes a volume: by its name; where that
/// says nothing, by what runs it and by the attributes of the volume.
///
/// # Errors
/// When these contradict each other, with the contradiction.
fn recognised(cx: &Cx, volume: &Volume, owner: &Owner) -> Result<&'static Family, String> {
    let name = match owner {
        Owner::Csi(name) | Owner::External(name) => name,
        Owner::InTree(name) | Owner::StaticInTree(name) => return Ok(drivers::family(name)),
    };
    let shown = match cx.recognition(name) {
        Recognition::As(id) => Some(drivers::family_with(id)),
        Recognition::Unknown => None,
        Recognition::Differs(why) => return Err(format!("unknown which driver {name} is: {why}")),
    };
    let is_its = volume.source.driver() == Some(name);
    let told = drivers::recognised_by_attributes(&volume.attributes)
        .filter(|_| is_its && drivers::is_unknown(drivers::family(name)));
    match (shown, told) {
        (Some(shown), Some(told)) if shown.id != told.id => Err(format!(
            "unknown which driver {name} is: what runs it is {}, and the attributes are those of {}",
            shown.title, told.title
        )),
        (shown, told) => Ok(shown.or(told).unwrap_or(&UNKNOWN)),
    }
}

/// Returns what the controller of a volume destroys when it is told to delete it; or why that cannot
/// be foretold, whatever the user knows of the storage.
///
/// # Errors
/// When its class was not read, and deletion depends on it.
pub fn destruction(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Result<Destruction, String>> {
    let Some(backend) = &volume.backend else {
        return Ok(Ok(Destruction::Undecided(Cow::Borrowed(UNIDENTIFIED))));
    };
    let family = match recognised(cx, volume, owner) {
        Ok(family) => family,
        Err(why) => return Ok(Ok(Destruction::Undecided(Cow::Owned(why)))),
    };
    if matches!(owner, Owner::External(_)) && drivers::is_unknown(family) {
        let why = "its provisioner is unknown";
        return Ok(Ok(Destruction::Undecided(Cow::Borrowed(why))));
    }
    let class = match class_of(cx, volume, family)? {
        Ok(class) => class,
        Err(why) => return Ok(Err(why)),
    };
    let settings = controller_settings(cx, owner.name());
    let answer = |has_secret| {
        (family.deletion)(&Deletion {
            reference: Reference::of(backend, &volume.attributes),
            owner: owner.name(),
            volume: volume.name(),
            class: class.map(|class| &*class.parameters),
            arguments: settings.as_ref().map(|it| &*it.arguments),
            images: settings.as_ref().map(|it| &*it.images),
            has_secret,
        })
    };
    let unseen = match deletion_secret(cx, volume, owner) {
        Ok(SecretState::Forbidden(secret)) => secret.unreadable(),
        Ok(SecretState::Present(secret)) => {
            return Ok(Ok(two_secrets(volume, &secret).unwrap_or_else(|| answer(true))));
        }
        Ok(_) => return Ok(Ok(answer(false))),
        Err(unseen) => unseen,
    };
    // Most drivers do the same with and without one, or fail.
    let with_secret = answer(true);
    if with_secret == answer(false) { Ok(Ok(with_secret)) } else { Err(unseen) }
}

/// Returns the doubt about a volume that is mounted and deleted with different Secrets: where the Secret says which
/// file system it is, the driver may look for the volume in another one than nodes do.
fn two_secrets(volume: &Volume, deleting: &DeletionSecret) -> Option<Destruction> {
    let mounting = volume.attributes.get(PUBLISH_SECRET)?;
    let deleting = format!("{}/{}", deleting.namespace, deleting.name);
    (mounting != deleting).then(|| {
        Destruction::Undecided(Cow::Owned(format!(
            "nodes mount it with Secret {mounting}, and it is deleted with Secret {deleting}"
        )))
    })
}

/// Returns the class that a volume references, if deletion reads it and it is younger than the volume: what was wanted
/// when the volume was made may be another.
pub fn recreated_class<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    owner: &Owner,
) -> Option<&'a StorageClass> {
    let class = class_of(cx, volume, provisioning_family(cx, volume, owner)).ok()?.ok()??;
    (class.metadata.created > volume.metadata.created).then_some(class)
}

/// Returns the class of a volume, as deletion reads it; or why deletion, which needs it, cannot succeed.
fn class_of<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    family: &Family,
) -> Seen<Result<Option<&'a StorageClass>, String>> {
    if !family.reads_class {
        return Ok(Ok(None));
    }
    let Some(name) = volume.class.as_ref().filter(|name| !name.is_empty()) else {
        return Ok(Err("its provisioner reads its StorageClass, but spec.storageClassName is \
                       empty"
            .to_owned()));
    };
    Ok(match cx.class(name)? {
        None => Err(format!(
            "its provisioner reads sc/{name}, which does not exist: recreate it with its former \
             parameters"
        )),
        found => Ok(found),
    })
}

/// Whether what a node mounts is what the driver would delete (R-DRV-2): the driver is told the
/// handle, the node the attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sameness {
    /// The driver would delete exactly what a node mounts.
    Same,
    /// What is deleted contains what is mounted.
    More,
    /// The driver may delete what a node mounts, or something else.
    Unclear,
    /// The driver would delete something else than a node mounts.
    Different,
}

/// Returns whether what a volume uses is what is destroyed, in every view of it; the clearest one says
/// how sure that is.
pub fn same_storage(volume: &Volume, destroyed: &[Place<'_>]) -> Sameness {
    let used = volume.places();
    let closest = |mine: &Place<'_>| {
        // Where there is none, it is a second view of the same storage, such as the directory behind
        // an access point.
        let of_space = destroyed.iter().filter(|it| it.space == mine.space);
        of_space.map(|it| sameness(mine, it)).min()
    };
    let views: Vec<_> = used.iter().filter_map(closest).collect();
    if views.contains(&Sameness::Different) {
        return Sameness::Different;
    }
    let none = if destroyed.is_empty() { Sameness::Same } else { Sameness::Different };
    views.into_iter().min().unwrap_or(none)
}

fn sameness(mounted: &Place<'_>, destroyed: &Place<'_>) -> Sameness {
    if mounted == destroyed {
        // What is not known of both is the same.
        return Sameness::Same;
    }
    let overlap = mounted.overlap(destroyed);
    let overlap = overlap.filter(|it| it.relation != Relation::Inside);
    match overlap.map(|it| (it.is_certain(), it.relation)) {
        None => Sameness::Different,
        Some((false, _)) => Sameness::Unclear,
        Some((true, Relation::Around)) => Sameness::More,
        Some((true, _)) => Sameness::Same,
    }
}

/// Whether a CSI volume was statically provisioned: csi-provisioner of its driver did not write its identity into it,
/// or did so for another volume that was copied. Of sources other than CSI only the annotation of their provisioner
/// tells.
pub fn is_static(volume: &Volume) -> bool {
    match &volume.source {
        // An annotation is written by hand as easily as the rest of the object.
        VolumeSource::Csi { provisioner_identity, .. } => !provisioner_identity,
        VolumeSource::HostPath(_)
        | VolumeSource::Local(_)
        | VolumeSource::InTree(_)
        | VolumeSource::Unknown => !volume.is_dynamic(),
    }
}

/// The manager under which this tool writes, unless the user says another.
const OWN_FIELD_MANAGER: &str = "kubectl-storage";

/// The label that Velero sets on what it restores.
const VELERO: &str = "velero.io/restore-name";

/// Labels of tools that keep objects as they were written down, with the name of the tool.
const KEEPERS: [(&str, &str); 4] = [
    ("kustomize.toolkit.fluxcd.io/name", "Flux"),
    ("helm.toolkit.fluxcd.io/name", "Flux"),
    ("argocd.argoproj.io/instance", "Argo CD"),
    ("app.kubernetes.io/managed-by", ""),
];

/// The field managers of tools that keep objects as they were written down, with the name of the
/// tool. Argo CD marks objects by default with a label that many objects have, and is known by this
/// alone.
const KEEPING_MANAGERS: [(&str, &str); 6] = [
    ("argocd-controller", "Argo CD"),
    ("argocd-application-controller", "Argo CD"),
    ("kustomize-controller", "Flux"),
    ("helm-controller", "Flux"),
    ("flux-client-side-apply", "Flux"),
    ("helm", "Helm"),
];

/// Marks that other tools left on a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether Velero restored the volume: another cluster may have an object of the same storage.
    pub restored: bool,
    /// The tool or owner that may set the volume's policy back, or create it again.
    pub kept_by: Option<String>,
}

/// Beginnings of the names of managers under which people and their tools write, beside kubectl and
/// [`KEEPING_MANAGERS`].
const APPLIERS: [&str; 6] = ["velero", "Mozilla", "dashboard", "Terraform", "HashiCorp", "rancher"];

/// Evidence that an object may be a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copied {
    /// The object's name holds the uid of this claim, and `spec.claimRef` has another one.
    NamedFor(Uid),
    /// A client has applied `spec.claimRef`, and the provisioner has written nothing.
    Applied,
}

/// Returns the marks of other tools on a volume.
pub fn marks_of_others(volume: &Volume) -> Marks {
    let metadata = &volume.metadata;
    Marks { restored: metadata.label(VELERO).is_some(), kept_by: keeper(metadata) }
}

/// Returns the evidence that an object which a provisioner has made may be a copy, whose original another cluster uses.
pub fn copied(cx: &Cx, volume: &Volume) -> Option<Copied> {
    let claim = volume.claim_ref.as_ref()?.uid.as_ref().filter(|_| volume.is_dynamic())?;
    let other = uid_in_name(volume).filter(|uid| uid != claim);
    // Provisioners whose name is not known here write it as well; people and their tools are told by theirs.
    let applies = |it: &str| {
        (it.starts_with("kubectl") && it != OWN_FIELD_MANAGER)
            || APPLIERS.iter().any(|known| it.starts_with(known))
            || KEEPING_MANAGERS.iter().any(|(known, _)| it == *known)
    };
    let mut managers = volume.metadata.managers_of(&ManagedField::ClaimRef);
    let is_applied = managers.any(|it| applies(it.manager));
    match other {
        _ if was_made_here(cx, volume) => None,
        Some(uid) => Some(Copied::NamedFor(uid)),
        None => is_applied.then_some(Copied::Applied),
    }
}

/// Returns the uid in the name of a volume: provisioners call it `PREFIX-UID`, whatever the prefix is
/// (sig-storage-lib-external-provisioner, `getProvisionedVolumeNameForClaim`; external-provisioner, `makeVolumeName`).
/// With `--volume-name-uuid-length` only a part of it is there, which other names may look like.
fn uid_in_name(volume: &Volume) -> Option<Uid> {
    const UUID: usize = 36;
    let name = volume.name();
    let (prefix, uid) = name.split_at_checked(name.len().checked_sub(UUID)?)?;
    let uid = Uid::parse(uid).filter(|uid| matches!(uid, Uid::Uuid(_)))?;
    prefix.ends_with('-').then_some(uid)
}

/// Whether this cluster's provisioner has made the object: it, or this tool, manages a field of it, such as
/// `spec.claimRef`. Those of a copy are managed by the client that copied it, or at a time before its creation.
fn was_made_here(cx: &Cx, volume: &Volume) -> bool {
    let owner = owner(volume);
    let images = provisioning_family(cx, volume, &owner).provisioner.images;
    let in_tree = matches!(owner, Owner::InTree(_) | Owner::StaticInTree(_));
    let is_ours = |manager: &str| {
        manager == OWN_FIELD_MANAGER
            || manager == ControllerRole::Provisioner.field_manager()
            || images.contains(&manager)
            || in_tree && manager == ControllerRole::ControllerManager.field_manager()
    };
    let mut managers = volume.metadata.managers.iter();
    managers
        .any(|it| is_ours(it.manager) && it.time.is_some() && it.time >= volume.metadata.created)
}

/// Returns who keeps an object as it is written down elsewhere, by its labels and owners: a change
/// of it may be reverted.
pub fn keeper(metadata: &Metadata) -> Option<String> {
    let owner = || metadata.owners.first().map(|it| format!("{} {}", it.kind, it.name));
    keeper_of(metadata).or_else(owner)
}

/// Returns the tool that keeps an object as it was written down, by its labels, its annotations and
/// the managers of its fields.
pub fn keeper_of(metadata: &Metadata) -> Option<String> {
    let keeper = KEEPERS.iter().find_map(|(label, tool)| {
        let value = metadata.label(label)?;
        Some(if tool.is_empty() { value.to_owned() } else { (*tool).to_owned() })
    });
    let tracked = || metadata.is_tracked_by_argo_cd().then(|| "Argo CD".to_owned());
    let managing = || {
        let tool = |name: &str| KEEPING_MANAGERS.iter().find(|(known, _)| *known == name);
        metadata.managers.iter().find_map(|it| Some(tool(it.manager)?.1.to_owned()))
    };
    keeper.or_else(tracked).or_else(managing)
}

/// An object that references a claim which does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The object that references it.
    pub object: ObjectRef,
    /// The way in which it references the claim, in words that follow the object.
    pub how: String,
    /// Whether the object would use the claim again; otherwise it is only worth a notice.
    pub binding: bool,
}

/// Returns what wants a claim back that does not exist: workloads that reference it, at any number of replicas, and the
/// set whose claim it was.
///
/// Not among them: finished Jobs, and `ReplicaSet`s that a Deployment controls, whose own template
/// counts. Those of another controller, such as a Rollout, count at any number of replicas.
///
/// # Errors
/// When a kind of workloads was not read.
pub fn wishes_for(cx: &Cx, claim: &ClaimKey) -> Seen<Vec<Wish>> {
    let mut wishes = Vec::new();
    // A workload that has ended, or belongs to another, says nothing about kinds that were not read.
    let read = |kind| cx.cluster().reach(kind, Some(&claim.namespace));
    Kind::WORKLOADS.into_iter().try_for_each(read)?;
    for workload in cx.workloads_of(claim)? {
        if workload.finished || deployment_of(workload).is_some() {
            continue;
        }
        let how = match workload.replicas {
            Some(0) => "references its claim, at 0 replicas".to_owned(),
            _ => "references its claim".to_owned(),
        };
        wishes.push(Wish { object: workload.object(), how, binding: true });
    }
    let Some((stem, ordinal)) = split_ordinal(&claim.name) else { return Ok(wishes) };
    for (set, template) in cx.sets_of_stem(&claim.namespace, stem)? {
        let paused = set.replicas == Some(0);
        let in_range = Ordinals::of(set).contains(ordinal);
        let how = match (paused, in_range) {
            (true, _) => format!("is at 0 replicas, and its template {template} matches the claim"),
            (false, true) => format!("uses a claim of this name by its template {template}"),
            (false, false) => {
                "matches the claim beyond its replicas: a scale-up creates a new, empty one"
                    .to_owned()
            }
        };
        wishes.push(Wish { object: set.object(), how, binding: paused || in_range });
    }
    Ok(wishes)
}

//! Who made a volume, and who else may change it (R-DRV-9, R-DRV-10).

use super::provisioning_family;
use crate::cluster::Cx;
use crate::facts::{Owner, owner};
use crate::model::{ControllerRole, ManagedField, Metadata, Uid, Volume, VolumeSource};

/// Whether a CSI volume was made by hand: csi-provisioner of its driver did not write its identity
/// into it, or did so for another volume that was copied. Of sources other than CSI only the
/// annotation of their provisioner tells.
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

/// The marks of others on a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Velero restored it: another cluster may have an object of the same storage.
    pub restored: bool,
    /// Who may set its policy back, or create it again.
    pub kept_by: Option<String>,
}

/// How the managers are called under which people and their tools write, beside kubectl and what keeps objects.
const APPLIERS: [&str; 6] = ["velero", "Mozilla", "dashboard", "Terraform", "HashiCorp", "rancher"];

/// What shows that an object may be a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copied {
    /// Its name holds the uid of this claim, and `spec.claimRef` has another one.
    NamedFor(Uid),
    /// Somebody has applied `spec.claimRef`, and its provisioner has written nothing.
    Applied,
}

/// Returns the marks of others on a volume.
pub fn marks_of_others(volume: &Volume) -> Marks {
    let metadata = &volume.metadata;
    Marks { restored: metadata.label(VELERO).is_some(), kept_by: keeper(metadata) }
}

/// Whether an object that a provisioner has made may be a copy, whose original another cluster uses, and
/// how that is seen.
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

/// The uid in the name of a volume: provisioners call it `PREFIX-UID`, whatever the prefix is
/// (sig-storage-lib-external-provisioner, `getProvisionedVolumeNameForClaim`; external-provisioner,
/// `makeVolumeName`). With `--volume-name-uuid-length` only a part of it is there, which other names may
/// look like.
fn uid_in_name(volume: &Volume) -> Option<Uid> {
    const UUID: usize = 36;
    let name = volume.name();
    let (prefix, uid) = name.split_at_checked(name.len().checked_sub(UUID)?)?;
    let uid = Uid::parse(uid).filter(|uid| matches!(uid, Uid::Uuid(_)))?;
    prefix.ends_with('-').then_some(uid)
}

/// Whether this cluster's provisioner has made the object: it, or this tool, manages a field of it, such as
/// `spec.claimRef`. Those of a copy are managed by whoever copied it, or at a time before its creation.
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

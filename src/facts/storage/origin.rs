//! Who made a volume, and who else may change it (R-DRV-9, R-DRV-10).

use super::provisioning_family;
use crate::cluster::Cx;
use crate::facts::owner;
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
    /// Its name holds the uid of this claim, and `spec.claimRef` has another one: it may be a copy,
    /// whose original another cluster uses.
    pub named_for: Option<Uid>,
    /// Who may set its policy back, or create it again.
    pub kept_by: Option<String>,
}

/// Returns the marks of others on a volume.
pub fn marks_of_others(cx: &Cx, volume: &Volume) -> Marks {
    let metadata = &volume.metadata;
    Marks {
        restored: metadata.label(VELERO).is_some(),
        named_for: named_for(volume).filter(|_| !was_given_on(cx, volume)),
        kept_by: keeper(metadata),
    }
}

/// The uid in the name of a dynamic volume, where `spec.claimRef` has another one: provisioners call
/// a volume `PREFIX-UID`, whatever the prefix is (sig-storage-lib-external-provisioner,
/// `getProvisionedVolumeNameForClaim`; external-provisioner, `makeVolumeName`). With
/// `--volume-name-uuid-length` only a part of it is there, which other names may look like.
fn named_for(volume: &Volume) -> Option<Uid> {
    const UUID: usize = 36;
    let name = volume.name();
    let (prefix, uid) = name.split_at_checked(name.len().checked_sub(UUID)?)?;
    let uid = Uid::parse(uid).filter(|uid| matches!(uid, Uid::Uuid(_)))?;
    let claim = volume.claim_ref.as_ref()?.uid.as_ref()?;
    (volume.is_dynamic() && prefix.ends_with('-') && uid != *claim).then_some(uid)
}

/// Whether this cluster's provisioner has made the object, and its claim was exchanged later, as
/// `rebind` does: the provisioner still manages a part of `spec.claimRef`, or this tool does. That of a
/// copy is managed by whoever copied it, or at a time before its creation.
fn was_given_on(cx: &Cx, volume: &Volume) -> bool {
    let images = provisioning_family(cx, volume, &owner(volume)).provisioner.images;
    let is_ours = |manager: &str| {
        manager == OWN_FIELD_MANAGER
            || manager.contains(ControllerRole::Provisioner.field_manager())
            || images.contains(&manager)
    };
    let mut managers = volume.metadata.managers_of(&ManagedField::ClaimRef);
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

//! Who made a volume, and who else may change it (R-DRV-9, R-DRV-10).

use crate::model::{Metadata, Volume, VolumeSource};

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

/// Returns the marks of others on a volume.
pub fn marks_of_others(volume: &Volume) -> Marks {
    let metadata = &volume.metadata;
    Marks { restored: metadata.label(VELERO).is_some(), kept_by: keeper(metadata) }
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

//! The reclaiming controller of a volume: which controller deletes its backend volume
//! (docs/semantics 0.2, R-2644-1).

use crate::model::{Server, Text, Volume, VolumeSource, migrated_driver};

/// The reclaiming controller of a volume. The volume alone decides it: a storage class can be
/// deleted and recreated, so that it is no evidence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The csi-provisioner of this driver.
    Csi(Text),
    /// An external provisioner that is not CSI: local-path, nfs-subdir, minikube…
    External(Text),
    /// kube-controller-manager, with this in-tree plugin.
    InTree(Text),
    /// None is known: a statically provisioned in-tree source, which often no controller can
    /// delete.
    StaticInTree(Text),
}

impl Owner {
    /// The CSI driver, if it is one.
    pub fn csi(&self) -> Option<&Text> {
        match self {
            Self::Csi(driver) => Some(driver),
            Self::External(_) | Self::InTree(_) | Self::StaticInTree(_) => None,
        }
    }

    /// The name of the driver, provisioner or plugin.
    pub fn name(&self) -> &Text {
        match self {
            Self::Csi(name)
            | Self::External(name)
            | Self::InTree(name)
            | Self::StaticInTree(name) => name,
        }
    }

    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Self::Csi(driver) => format!("csi-provisioner of {driver}"),
            Self::External(provisioner) => format!("external provisioner {provisioner}"),
            Self::InTree(plugin) => format!("kube-controller-manager, plugin {plugin}"),
            Self::StaticInTree(source) => format!("nobody: static in-tree volume ({source})"),
        }
    }
}

/// Returns the reclaiming controller of a volume.
pub fn owner(volume: &Volume) -> Owner {
    if let Some(driver) = volume.migrated_to.as_ref().filter(|driver| !driver.is_empty()) {
        return Owner::Csi(Text::clone(driver));
    }
    if let Some(provisioner) = volume.provisioned_by.as_ref().filter(|name| !name.is_empty()) {
        if let Some(driver) = migrated_driver(provisioner) {
            return Owner::Csi(driver.into());
        }
        if provisioner.starts_with("kubernetes.io/") {
            return Owner::InTree(Text::clone(provisioner));
        }
        return match &volume.source {
            VolumeSource::Csi { .. } => Owner::Csi(Text::clone(provisioner)),
            VolumeSource::HostPath(_)
            | VolumeSource::Local(_)
            | VolumeSource::InTree(_)
            | VolumeSource::Unknown => Owner::External(Text::clone(provisioner)),
        };
    }
    match &volume.source {
        VolumeSource::Csi { driver, .. } => Owner::Csi(Text::clone(driver)),
        VolumeSource::HostPath(_) => Owner::StaticInTree("hostPath".into()),
        VolumeSource::Local(_) => Owner::StaticInTree("local".into()),
        VolumeSource::InTree(field) => Owner::StaticInTree(Text::clone(field)),
        VolumeSource::Unknown => Owner::StaticInTree("unknown source".into()),
    }
}

/// Whether a server's controller manager can still delete volumes of an in-tree plugin
/// (kubernetes `pkg/volume`, `NewDeleter`). `None` when the server's version is not known.
pub fn known_deletable(plugin: &str, server: Option<&Server>) -> Option<bool> {
    match plugin {
        "kubernetes.io/host-path" => Some(true),
        "kubernetes.io/portworx-volume" => server?.at_least(1, 36).map(|removed| !removed),
        "kubernetes.io/rbd" => server?.at_least(1, 31).map(|removed| !removed),
        "kubernetes.io/glusterfs" => server?.at_least(1, 26).map(|removed| !removed),
        _ => Some(false),
    }
}

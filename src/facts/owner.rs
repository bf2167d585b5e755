//! The reclaiming controller of a volume, which deletes its backend volume (docs/semantics 0.2, R-2644-1), and what the
//! driver then does to the data.

use super::{Sameness, destruction, same_storage};
use crate::cluster::Cx;
use crate::drivers::Destruction;
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
    /// No controller is known: a statically provisioned in-tree source, which often no controller can delete.
    StaticInTree(Text),
}

impl Owner {
    /// Returns the CSI driver, if the controller is a csi-provisioner.
    pub fn csi(&self) -> Option<&Text> {
        match self {
            Self::Csi(driver) => Some(driver),
            Self::External(_) | Self::InTree(_) | Self::StaticInTree(_) => None,
        }
    }

    /// Returns the name of the driver, provisioner or plugin.
    pub fn name(&self) -> &Text {
        match self {
            Self::Csi(name)
            | Self::External(name)
            | Self::InTree(name)
            | Self::StaticInTree(name) => name,
        }
    }

    /// Describes the controller.
    pub fn describe(&self) -> String {
        match self {
            Self::Csi(driver) => format!("csi-provisioner of {driver}"),
            Self::External(provisioner) => format!("external provisioner {provisioner}"),
            Self::InTree(plugin) => format!("kube-controller-manager, plugin {plugin}"),
            Self::StaticInTree(source) => {
                format!("no known controller: static in-tree volume ({source})")
            }
        }
    }
}

/// A volume of an in-tree plugin that has a CSI successor, without an annotation that says whether
/// it was migrated, on a server that may still run the plugin.
///
/// kube-controller-manager writes the annotation within seconds once migration is on
/// (`updateVolumeMigrationAnnotationsAndFinalizers`). Without it the volume is reclaimed by
/// kube-controller-manager itself, unless the server is so new that it has no such plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmigrated {
    /// The in-tree plugin.
    pub plugin: Text,
    /// Whether kube-controller-manager surely reclaims the volume; otherwise the server's version, which decides it, is
    /// unknown.
    pub certain: bool,
}

/// Returns the in-tree plugin of a volume that may not be migrated; `None` for every other volume.
pub fn unmigrated(volume: &Volume, server: Option<&Server>) -> Option<Unmigrated> {
    let says = volume.migrated_to.as_ref().is_some_and(|driver| !driver.is_empty());
    let plugin = volume.provisioned_by.as_ref().filter(|_| !says)?;
    if matches!(volume.source, VolumeSource::Csi { .. }) {
        return None;
    }
    let (optional, general) = migration_versions(plugin)?;
    let at_least = |minor| server.and_then(|server| server.at_least(1, minor));
    let certain = at_least(optional) == Some(false);
    (at_least(general) != Some(true)).then(|| Unmigrated { plugin: Text::clone(plugin), certain })
}

/// The minor versions of Kubernetes 1 from which the volumes of an in-tree plugin are migrated by
/// default although that can be switched off, and from which they always are (kubernetes
/// `pkg/features/kube_features.go`, `CSIMigration*`).
fn migration_versions(plugin: &str) -> Option<(u32, u32)> {
    Some(match plugin {
        "kubernetes.io/cinder" | "kubernetes.io/azure-disk" => (24, 24),
        "kubernetes.io/aws-ebs" | "kubernetes.io/gce-pd" => (25, 25),
        "kubernetes.io/azure-file" | "kubernetes.io/vsphere-volume" => (26, 26),
        "kubernetes.io/portworx-volume" => (31, 33),
        _ => return None,
    })
}

/// Describes the reclaiming controller of a volume, on this server.
pub fn describe_owner(volume: &Volume, server: Option<&Server>) -> String {
    let owner = owner(volume);
    match unmigrated(volume, server) {
        Some(Unmigrated { plugin, certain: true }) => Owner::InTree(plugin).describe(),
        Some(Unmigrated { plugin, certain: false }) => format!(
            "{}, or {} (it lacks the annotation pv.kubernetes.io/migrated-to, and the server version does not tell)",
            Owner::InTree(plugin).describe(),
            owner.describe()
        ),
        None => owner.describe(),
    }
}

/// Whether kube-controller-manager can delete the backend volume of a volume that it reclaims
/// itself: one of an in-tree plugin, or a statically provisioned one (kubernetes `pkg/volume`,
/// `NewDeleter`; `findDeletablePlugin`). `None` if that is unknown.
pub fn in_tree_deletes(volume: &Volume, server: Option<&Server>) -> Option<bool> {
    if let Some(it) = unmigrated(volume, server) {
        return it.certain.then_some(true);
    }
    match (owner(volume), &volume.source) {
        (Owner::InTree(plugin), _) => known_deletable(&plugin, server),
        // The deleter takes any path that contains this, on the node of kube-controller-manager.
        (Owner::StaticInTree(_), VolumeSource::HostPath(path)) => {
            let rest = path.split_once("/tmp/").map(|(_, rest)| rest);
            Some(rest.is_some_and(|rest| !rest.is_empty()))
        }
        (Owner::StaticInTree(_), VolumeSource::InTree(field)) => static_deletes(field, server),
        (Owner::Csi(_) | Owner::External(_) | Owner::StaticInTree(_), _) => Some(false),
    }
}

/// Whether kube-controller-manager deletes a statically provisioned volume of this source. Between
/// the migration of a plugin and its removal both can be, by the configuration.
fn static_deletes(field: &str, server: Option<&Server>) -> Option<bool> {
    let before = |minor| server.and_then(|it| it.at_least(1, minor)).map(|reached| !reached);
    let (migrated, removed) = match field {
        "rbd" => (31, 31),
        "glusterfs" => (26, 26),
        "awsElasticBlockStore" | "gcePersistentDisk" => (25, 31),
        "azureDisk" | "cinder" => (24, 31),
        "azureFile" | "vsphereVolume" => (26, 31),
        "portworxVolume" => (31, 36),
        "flocker" | "quobyte" | "scaleIO" | "storageos" | "photonPersistentDisk" => (22, 25),
        // nfs, iscsi, fc, cephfs, flexVolume and others have no deleter.
        _ => return Some(false),
    };
    match (before(migrated)?, before(removed)?) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
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

/// The effect on the data of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataEffect {
    /// The backend volume is deleted with everything on it.
    Destroyed,
    /// The backend volume remains, and the volume becomes Released: its policy is Retain, or its
    /// external provisioner cannot delete it.
    Released,
    /// The data remains, and no volume references it any more: the policy is Retain, or the driver
    /// archives it, or leaves it without its access point.
    Forgotten,
    /// The backend volume remains, and no volume references it any more, although the policy is
    /// Delete: no controller will ever delete it, or its driver answers OK without deleting it.
    Leaked,
    /// The backend volume and the volume remain until a controller runs that can delete them.
    Waiting,
    /// The data is scrubbed, and any claim can bind the volume.
    Scrubbed,
    /// Reclaiming fails; the volume becomes Failed, and the backend volume remains.
    Failed,
    /// Nothing changes.
    Unaffected,
    /// The effect is unknown from what was read.
    Unknown,
}

impl DataEffect {
    /// Whether the data is destroyed, or may be.
    pub const fn may_destroy(self) -> bool {
        match self {
            Self::Destroyed | Self::Waiting | Self::Scrubbed | Self::Unknown => true,
            Self::Released | Self::Forgotten | Self::Leaked | Self::Failed | Self::Unaffected => {
                false
            }
        }
    }

    /// Returns the name of the effect in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Destroyed => "destroyed",
            Self::Released => "released",
            Self::Forgotten => "forgotten",
            Self::Leaked => "leaked",
            Self::Waiting => "destroyed-later",
            Self::Scrubbed => "scrubbed",
            Self::Failed => "failed",
            Self::Unaffected => "unaffected",
            Self::Unknown => "unknown",
        }
    }
}

/// What the driver of a volume does to the data once it is told to delete the backend volume, by which gc plans.
#[derive(Debug)]
pub struct DriverEffect {
    /// The effect on the data.
    pub data: DataEffect,
    /// The action of the driver, in words that follow its name.
    pub what: String,
}

/// The words for a driver that destroys exactly what a volume uses.
pub const DELETES: &str = "deletes the backend volume with everything on it";

/// Returns what the driver of a volume does to its data when it is told to delete the backend volume.
pub fn driver_effect(cx: &Cx, volume: &Volume, owner: &Owner) -> DriverEffect {
    let effect = |data, what| DriverEffect { data, what };
    let unknown = |why: &str| {
        effect(
            DataEffect::Unknown,
            format!("may delete the backend volume, which is unknown: {why}"),
        )
    };
    match destruction(cx, volume, owner) {
        Ok(Ok(Destruction::Storage { places, what })) => {
            let what = match same_storage(volume, &places) {
                Sameness::Same => DELETES.to_owned(),
                Sameness::More | Sameness::Unclear => format!("deletes {what}"),
                Sameness::Different => {
                    format!("deletes {what}, which is not the storage that pods mount")
                }
            };
            effect(DataEffect::Destroyed, what)
        }
        Ok(Ok(Destruction::Kept { what, .. })) => effect(
            DataEffect::Forgotten,
            format!("{what}, and no PersistentVolume references the data any more"),
        ),
        Ok(Ok(Destruction::Nothing(why))) => effect(
            DataEffect::Leaked,
            format!(
                "answers OK without deleting anything, since {why}: the object is deleted, the data \
                 remains"
            ),
        ),
        // External provisioners retry, and leave the phase as it is.
        Ok(Ok(Destruction::Fails(why))) => effect(
            match owner {
                Owner::Csi(_) | Owner::External(_) => DataEffect::Released,
                Owner::InTree(_) | Owner::StaticInTree(_) => DataEffect::Failed,
            },
            format!("cannot delete it: {why}; the data remains"),
        ),
        Ok(Ok(Destruction::Undecided(why))) => unknown(&why),
        Ok(Err(why)) => unknown(&why),
        Err(unseen) => unknown(&unseen.reason),
    }
}

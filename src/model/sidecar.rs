//! Storage sidecars in pods and pod templates.

use super::{ControllerRole, Text};

/// The storage sidecars in a pod or a pod template, and everything that may name their driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecars {
    /// The containers whose image or name is that of one of the CSI sidecars, or of a provisioner
    /// that is not CSI; of a `DaemonSet` also those that register a node plugin.
    pub containers: Box<[SidecarContainer]>,
    /// Everything in the pod that may name a driver: arguments of all containers, paths of host
    /// folders, and as `NAME=value` the few environment variables that are read.
    pub mentions: Box<[Text]>,
    /// The images of all containers.
    pub images: Box<[Text]>,
    /// `spec.serviceAccountName`.
    pub service_account: Option<Text>,
}

/// How the sidecar is called that registers the node plugin of a CSI driver.
pub const REGISTRAR: &str = "driver-registrar";

/// One sidecar container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidecarContainer {
    /// `name`, which shows the purpose of the container if its image does not.
    pub name: Text,
    /// `image`.
    pub image: Text,
    /// `command` followed by `args`.
    pub args: Box<[Text]>,
    /// Whether it is a driver's own controller that takes the place of csi-provisioner.
    pub provisions_itself: bool,
}

impl SidecarContainer {
    /// Whether it is a role's controller, by its image or by its name.
    pub fn plays(&self, role: ControllerRole) -> bool {
        role.is_played_by(&self.image) || role.is_called(&self.name) || self.takes(role)
    }

    /// Whether it registers the node plugin of a CSI driver.
    pub fn registers(&self) -> bool {
        super::image_name(&self.image).ends_with(REGISTRAR) || self.name.ends_with(REGISTRAR)
    }

    /// Whether it may be a role's controller, under an image name that its publisher changed.
    pub fn may_play(&self, role: ControllerRole) -> bool {
        role.may_be_played_by(&self.image) || role.is_called(&self.name) || self.takes(role)
    }

    fn takes(&self, role: ControllerRole) -> bool {
        role == ControllerRole::Provisioner && self.provisions_itself
    }
}

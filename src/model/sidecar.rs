//! Storage sidecars, in pods and in templates of pods.

use super::Text;

/// The storage sidecars in a pod or a pod template, with what tells whose they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecars {
    /// The containers whose image is one of the CSI sidecars.
    pub containers: Box<[Container]>,
    /// Everything in the pod that may name a driver: arguments of all containers and paths of
    /// host folders. No environment variables.
    pub mentions: Box<[Text]>,
    /// `spec.serviceAccountName`.
    pub service_account: Option<Text>,
}

/// One sidecar container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// `image`.
    pub image: Text,
    /// `command` followed by `args`.
    pub args: Box<[Text]>,
}

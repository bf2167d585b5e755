//! Who should remove a finalizer, whether they are there, and how that is known.

use super::{
    SNAPSHOT_CONTROLLER, attacher, controller_manager, is_absent, provisioner, snapshotter,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{ControllerRole, ControllerState, Liveness, Text};

/// The controller that should remove a finalizer.
#[derive(Debug, Clone)]
pub struct FinalizerController {
    /// What it is called, such as `csi-provisioner of disk.example.com`.
    pub who: String,
    /// What `--driver-absent` calls it.
    pub name: Text,
    /// What is known of it.
    pub state: ControllerState,
}

impl FinalizerController {
    /// The controller manager.
    pub fn controller_manager(cx: &Cx) -> Self {
        Self::single(ControllerRole::ControllerManager.name(), controller_manager(cx))
    }

    /// The csi-provisioner of a driver.
    pub fn provisioner(cx: &Cx, driver: &Text) -> Self {
        Self::sidecar("csi-provisioner", driver, provisioner(cx, driver))
    }

    /// The snapshot-controller.
    pub fn snapshot_controller(cx: &Cx) -> Self {
        Self::single(SNAPSHOT_CONTROLLER, snapshotter(cx))
    }

    /// The external-attacher of a driver.
    pub fn attacher(cx: &Cx, driver: &Text) -> Self {
        Self::sidecar("external-attacher", driver, attacher(cx, driver))
    }

    fn sidecar(sidecar: &str, driver: &Text, state: ControllerState) -> Self {
        Self { who: format!("{sidecar} of {driver}"), name: Text::clone(driver), state }
    }

    fn single(name: &'static str, state: ControllerState) -> Self {
        Self { who: name.to_owned(), name: name.into(), state }
    }

    /// Whether it is there.
    pub const fn liveness(&self) -> Liveness {
        self.state.liveness
    }

    /// Nothing that was not seen is why it is unknown.
    ///
    /// # Errors
    /// When something is.
    pub fn was_seen(&self) -> Seen<()> {
        match (self.state.liveness, &self.state.unseen) {
            (Liveness::Unknown, Some((kind, reason))) => {
                Err(Unseen { kind: *kind, namespace: None, reason: reason.clone() })
            }
            (Liveness::Unknown, None) | (Liveness::Alive | Liveness::Absent, _) => Ok(()),
        }
    }

    /// Whether it is absent, rather than alive or unknown.
    ///
    /// # Errors
    /// When what was not seen decides it.
    pub fn is_absent(&self, cx: &Cx) -> Seen<bool> {
        is_absent(cx, &self.state, &self.name)
    }

    /// Whether it counts as absent on the user's word.
    pub fn is_absent_by_word(&self, cx: &Cx) -> bool {
        self.state.liveness == Liveness::Absent && cx.settings().absent_drivers.contains(&self.name)
    }

    /// Who it is, whether it is there, and by which evidence; without times, which move.
    pub fn describe(&self) -> String {
        let Self { who, state, .. } = self;
        match state.liveness {
            Liveness::Alive => format!("{who} is alive ({})", state.because),
            Liveness::Absent => format!("{who} is absent ({})", state.because),
            Liveness::Unknown => {
                let unseen = state.unseen.as_ref().map(|(_, reason)| reason.as_str());
                let because = unseen.unwrap_or(&state.because);
                format!("whether {who} is there is unknown ({because})")
            }
        }
    }

    /// The flag that says that it is gone.
    pub fn absent_flag(&self) -> String {
        format!("--driver-absent {}", self.name)
    }
}

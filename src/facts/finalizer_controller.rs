//! The controller that should remove a finalizer, and whether it is running.

use super::{
    SNAPSHOT_CONTROLLER, attacher, controller_manager, is_absent, provisioner, snapshotter,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{ControllerRole, ControllerState, Liveness, Text};

/// The controller that should remove a finalizer.
#[derive(Debug, Clone)]
pub struct FinalizerController {
    /// Its description, such as `csi-provisioner of disk.example.com`.
    pub who: String,
    /// Its name for `--driver-absent`.
    pub name: Text,
    /// Its state.
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

    /// Whether it is running.
    pub const fn liveness(&self) -> Liveness {
        self.state.liveness
    }

    /// Fails if the state is unknown because something was not read.
    ///
    /// # Errors
    /// What was not read.
    pub fn was_seen(&self) -> Seen<()> {
        match (self.state.liveness, &self.state.unseen) {
            (Liveness::Unknown, Some((kind, reason))) => {
                Err(Unseen { kind: *kind, namespace: None, reason: reason.clone() })
            }
            (Liveness::Unknown, None) | (Liveness::Alive | Liveness::Absent, _) => Ok(()),
        }
    }

    /// Whether it is absent, rather than running or unknown.
    ///
    /// # Errors
    /// When something that was not read decides it.
    pub fn is_absent(&self, cx: &Cx) -> Seen<bool> {
        is_absent(cx, &self.state, &self.name)
    }

    /// Whether it counts as absent because the user asserts it.
    pub fn is_absent_by_word(&self, cx: &Cx) -> bool {
        self.state.liveness == Liveness::Absent && cx.settings().absent_drivers.contains(&self.name)
    }

    /// Its description, state and evidence; without times, which change all the time.
    pub fn describe(&self) -> String {
        let Self { who, state, .. } = self;
        match state.liveness {
            Liveness::Alive => format!("{who} is running ({})", state.because),
            Liveness::Absent => format!("{who} is absent ({})", state.because),
            Liveness::Unknown => {
                let unseen = state.unseen.as_ref().map(|(_, reason)| reason.as_str());
                let because = unseen.unwrap_or(&state.because);
                format!("unknown whether {who} is running ({because})")
            }
        }
    }

    /// The flag that asserts that it is absent.
    pub fn absent_flag(&self) -> String {
        format!("--driver-absent {}", self.name)
    }
}

//! The state of a controller: running, absent, or unknown (semantics#controller-state).

mod probes;
mod sidecar_driver;
mod sign_of_life;

use std::time::Duration;

use sign_of_life::SignOfLife;

use super::owner;
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{
    ControllerRole, ControllerState, Fact, FactKey, Liveness, ObjectRef, Probe, Text, Threshold,
    Time, Volume,
};

/// Returns the state of a driver's provisioner.
pub fn provisioner(cx: &Cx, driver: &Text) -> ControllerState {
    state(cx, ControllerRole::Provisioner, driver)
}

/// Returns the state of a driver's attacher.
pub fn attacher(cx: &Cx, driver: &Text) -> ControllerState {
    state(cx, ControllerRole::Attacher, driver)
}

/// The name of the snapshot-controller for `--driver-absent`.
pub const SNAPSHOT_CONTROLLER: &str = "snapshot-controller";

/// Returns the state of the cluster's snapshot-controller, which serves all drivers.
pub fn snapshotter(cx: &Cx) -> ControllerState {
    state(cx, ControllerRole::Snapshotter, &Text::from(""))
}

/// Returns the state of kube-controller-manager.
pub fn controller_manager(cx: &Cx) -> ControllerState {
    state(cx, ControllerRole::ControllerManager, &Text::from(""))
}

fn state(cx: &Cx, role: ControllerRole, driver: &Text) -> ControllerState {
    let key = FactKey::Controller(role, Text::clone(driver));
    match &*cx.fact(key, || Fact::Controller(derive(cx, role, driver))) {
        Fact::Controller(state) => state.clone(),
        _ => derive(cx, role, driver),
    }
}

/// Whether a driver's controller is absent, rather than running or unknown. An installed controller
/// is not absent, whatever else was not read.
///
/// # Errors
/// When something that was not read decides it.
pub fn is_absent(cx: &Cx, state: &ControllerState, driver: &Text) -> Seen<bool> {
    match (state.liveness, &state.unseen) {
        (Liveness::Absent, _) => Ok(true),
        (Liveness::Alive, _) | (Liveness::Unknown, None) => Ok(false),
        (Liveness::Unknown, Some(_)) if !state.runs_in.is_empty() => Ok(false),
        (Liveness::Unknown, Some((kind, reason))) => match cx.csi_driver(driver) {
            Ok(Some(_)) => Ok(false),
            Ok(None) | Err(_) => {
                Err(Unseen { kind: *kind, namespace: None, reason: reason.clone() })
            }
        },
    }
}

/// Derives the state of a controller from the cluster as it is now.
pub(super) fn derive(cx: &Cx, role: ControllerRole, driver: &Text) -> ControllerState {
    ControllerSearch {
        cx,
        role,
        driver,
        probes: Vec::new(),
        runs_in: Vec::new(),
        scaled_to_zero: None,
        alive: None,
        last_sign: None,
        lease: false,
    }
    .state()
}

struct ControllerSearch<'a, 'b> {
    cx: &'b Cx<'a>,
    role: ControllerRole,
    driver: &'b Text,
    probes: Vec<Probe>,
    runs_in: Vec<ObjectRef>,
    scaled_to_zero: Option<ObjectRef>,
    /// The first probe that found it running.
    alive: Option<Probe>,
    /// The latest sign of life of any age.
    last_sign: Option<Time>,
    /// Whether it has a Lease, however old.
    lease: bool,
}

/// The outcome of one probe.
enum ProbeOutcome {
    /// It is running.
    Alive,
    /// It is installed, or partly removed: not absent.
    Trace,
    /// No trace, and everything was read.
    Nothing,
    /// Not read.
    Unseen(Unseen),
}

impl ControllerSearch<'_, '_> {
    fn state(mut self) -> ControllerState {
        let outcomes = [
            self.lease(),
            self.pods(),
            self.workloads(),
            self.registration(),
            self.recent_action(),
        ];
        let all_negative = outcomes.iter().all(|outcome| matches!(outcome, ProbeOutcome::Nothing));
        let (liveness, because) = if self.alive.is_some() {
            (Liveness::Alive, "")
        } else if outcomes.iter().any(|outcome| matches!(outcome, ProbeOutcome::Unseen(_))) {
            (Liveness::Unknown, "not everything that would show it was seen")
        } else if all_negative {
            self.absent()
        } else {
            (Liveness::Unknown, "it is installed, or half removed, but was not seen at work")
        };
        let unseen = outcomes.into_iter().find_map(|outcome| match outcome {
            ProbeOutcome::Unseen(unseen) if liveness == Liveness::Unknown => {
                Some((unseen.kind, unseen.reason))
            }
            _ => None,
        });
        let (because, latest) = match self.alive {
            Some(probe) => (probe.found, probe.latest),
            None => (because.to_owned(), None),
        };
        ControllerState {
            unseen,
            liveness,
            because,
            latest,
            probes: self.probes,
            all_negative,
            runs_in: self.runs_in,
            scaled_to_zero: self.scaled_to_zero,
        }
    }

    /// Returns the state of a controller of which no probe found a trace.
    fn absent(&self) -> (Liveness, &'static str) {
        let settings = self.cx.settings();
        let name = match self.role {
            ControllerRole::ControllerManager => ControllerRole::ControllerManager.name(),
            ControllerRole::Snapshotter => SNAPSHOT_CONTROLLER,
            ControllerRole::Provisioner | ControllerRole::Attacher => self.driver,
        };
        if self.role == ControllerRole::Provisioner && !is_csi(self.cx, self.driver) {
            // local-path, nfs-subdir…: their pods cannot be distinguished from other pods
            // (semantics#reclaiming-controller).
            return (Liveness::Unknown, "it is no CSI driver: nothing would show it");
        }
        if settings.absent_drivers.contains(name) {
            return (Liveness::Absent, "nothing of it was found, and --driver-absent says so");
        }
        if matches!(self.role, ControllerRole::ControllerManager | ControllerRole::Snapshotter)
            && !self.lease
        {
            // It can run without a Lease and outside the cluster, without visible pods: then it
            // leaves no trace.
            return (Liveness::Unknown, "it keeps no Lease that was seen");
        }
        // A sign of life after an earlier run found no trace restarts the wait.
        let since = self.cx.sighting(self.role, self.driver).max(self.last_sign);
        let seen_before = self.cx.sighting(self.role, self.driver).is_some();
        let wait = settings.thresholds.get(Threshold::DriverAbsent);
        if seen_before && since.is_some_and(|since| self.cx.passed(since, wait)) {
            return (Liveness::Absent, "nothing of it was found, now and for long enough");
        }
        (
            Liveness::Unknown,
            "nothing of it was found, but not for long enough: it may be half of a reinstall",
        )
    }

    fn probe(
        &mut self,
        what: &'static str,
        found: impl Into<String>,
        outcome: ProbeOutcome,
    ) -> ProbeOutcome {
        self.probe_of(what, found, None, outcome)
    }

    /// Adds a probe with its latest evidence: a time and a holder or pod.
    fn probe_of(
        &mut self,
        what: &'static str,
        found: impl Into<String>,
        latest: Option<String>,
        outcome: ProbeOutcome,
    ) -> ProbeOutcome {
        let probe = Probe { what, found: found.into(), latest };
        if matches!(outcome, ProbeOutcome::Alive) && self.alive.is_none() {
            self.alive = Some(probe.clone());
        }
        self.probes.push(probe);
        outcome
    }

    /// Records a sign of life, and returns its weight as evidence.
    fn sign(&mut self, time: Option<Time>, within: Duration) -> SignOfLife {
        self.last_sign = self.last_sign.max(time);
        SignOfLife::of(self.cx, time, within)
    }
}

/// Whether there is evidence that a driver is a CSI driver, and not another external provisioner.
pub fn is_csi(cx: &Cx, driver: &Text) -> bool {
    let of_csi = |volume: &Volume| {
        volume.source.driver() == Some(driver) || owner(volume).csi() == Some(driver)
    };
    cx.volumes_of_driver(driver).any(of_csi) || is_registered(cx, driver)
}

/// Whether a `CSIDriver` or a `CSINode` of this driver was read.
fn is_registered(cx: &Cx, driver: &str) -> bool {
    cx.csi_driver(&driver.into()).is_ok_and(|found| found.is_some())
        || cx.csi_nodes_of(driver).is_ok_and(|found| !found.is_empty())
}

#[cfg(test)]
mod tests;

//! The state of a controller: running, absent, or unknown (semantics#controller-state).

mod traces;
mod probes;

use std::time::Duration;

use super::driver_volumes::driver_volumes;
use crate::cluster::{Cx, Seen, Unseen};
use crate::drivers::{self, Name, ProvisionerKind};
use crate::model::{
    ControllerRole, ControllerState, Fact, FactKey, Kind, Liveness, ObjectRef, PodUse, Probe, Text,
    Threshold, Time, Uid, Volume, Workload, format_duration,
};
use probes::Host;
use traces::LastLease;

pub(crate) use traces::leases;

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

/// Returns the state of a driver's csi-snapshotter.
pub fn csi_snapshotter(cx: &Cx, driver: &Text) -> ControllerState {
    state(cx, ControllerRole::CsiSnapshotter, driver)
}

/// Returns the state of a driver's external-resizer.
pub fn resizer(cx: &Cx, driver: &Text) -> ControllerState {
    state(cx, ControllerRole::Resizer, driver)
}

/// Returns the state of kube-controller-manager.
pub fn controller_manager(cx: &Cx) -> ControllerState {
    state(cx, ControllerRole::ControllerManager, &Text::from(""))
}

fn state(cx: &Cx, role: ControllerRole, driver: &Text) -> ControllerState {
    let key = FactKey::Controller(role, Text::clone(driver));
    match &*cx.fact(key, || Fact::Controller(Box::new(derive(cx, role, driver)))) {
        Fact::Controller(state) => ControllerState::clone(state),
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

/// Whether a pod surely runs the provisioner of a driver.
pub(super) fn pod_provisions(cx: &Cx, driver: &Text, pod: &PodUse) -> bool {
    let search = ControllerSearch::new(cx, ControllerRole::Provisioner, driver);
    Host::pod(pod).is_some_and(|host| search.serves(host))
}

/// Whether a pod surely runs the provisioner of a driver, on whichever node: one that runs on each
/// node has another name on each.
pub(super) fn pod_is_of_provisioner(cx: &Cx, driver: &Text, pod: &PodUse) -> bool {
    let search = ControllerSearch::new(cx, ControllerRole::Provisioner, driver);
    Host::pod(pod).is_some_and(|host| search.serves(host.anywhere()))
}

/// Whether the pods of a workload surely run the provisioner of a driver.
pub(super) fn workload_provisions(cx: &Cx, driver: &Text, workload: &Workload) -> bool {
    let search = ControllerSearch::new(cx, ControllerRole::Provisioner, driver);
    Host::workload(workload).is_some_and(|host| search.serves(host))
}

/// Whether a pod may run the provisioner of a driver: it names that driver, or no other.
pub(super) fn pod_may_provision(cx: &Cx, driver: &Text, pod: &PodUse) -> bool {
    let search = ControllerSearch::new(cx, ControllerRole::Provisioner, driver);
    Host::pod(pod).is_some_and(|host| search.may_serve(host))
}

/// Whether the pods of a workload may run the provisioner of a driver.
pub(super) fn workload_may_provision(cx: &Cx, driver: &Text, workload: &Workload) -> bool {
    let search = ControllerSearch::new(cx, ControllerRole::Provisioner, driver);
    Host::workload(workload).is_some_and(|host| search.may_serve(host))
}

/// Derives the state of a controller from the cluster as it is now.
pub(super) fn derive(cx: &Cx, role: ControllerRole, driver: &Text) -> ControllerState {
    ControllerSearch::new(cx, role, driver).state()
}

struct ControllerSearch<'a, 'b> {
    cx: &'b Cx<'a>,
    role: ControllerRole,
    driver: &'b Text,
    /// Whether the controller is a provisioner that is not CSI.
    external: bool,
    probes: Vec<Probe>,
    runs_in: Vec<ObjectRef>,
    scaled_to_zero: Option<ObjectRef>,
    /// The first probe that found the controller running.
    alive: Option<Probe>,
    /// The latest sign of life of any age.
    last_sign: Option<Time>,
    /// The youngest Lease of the controller, if that is not fresh.
    lease: Option<LastLease>,
    /// Whether a Lease of the controller is held and was renewed in time.
    has_fresh_lease: bool,
    /// Whether a pod that has not finished may run the controller.
    pods_here: bool,
    /// The contradiction to `--driver-absent` that was found first.
    objection: Option<String>,
}

/// The outcome of one probe.
enum ProbeOutcome {
    /// The controller is running.
    Alive,
    /// The controller is installed, or partly removed: not absent.
    Trace,
    /// There is no trace of the controller, and everything was read.
    Nothing,
    /// Something that the probe needs was not read.
    Unseen(Unseen),
}

impl<'a, 'b> ControllerSearch<'a, 'b> {
    fn new(cx: &'b Cx<'a>, role: ControllerRole, driver: &'b Text) -> Self {
        Self {
            cx,
            role,
            driver,
            external: role == ControllerRole::Provisioner && is_external(cx, driver),
            probes: Vec::new(),
            runs_in: Vec::new(),
            scaled_to_zero: None,
            alive: None,
            last_sign: None,
            lease: None,
            has_fresh_lease: false,
            pods_here: false,
            objection: None,
        }
    }

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
            (Liveness::Alive, String::new())
        } else if outcomes.iter().any(|outcome| matches!(outcome, ProbeOutcome::Unseen(_))) {
            (Liveness::Unknown, "not everything that could show it was read".to_owned())
        } else {
            self.not_seen_at_work(all_negative)
        };
        let unseen = outcomes.into_iter().find_map(|outcome| match outcome {
            ProbeOutcome::Unseen(unseen) if liveness == Liveness::Unknown => {
                Some((unseen.kind, unseen.reason))
            }
            _ => None,
        });
        let stopped = self.stopped();
        let expired_lease = self.lease.as_ref().filter(|it| it.held).map(|it| it.duration);
        let (because, latest) = match self.alive {
            Some(probe) => (probe.found, probe.latest),
            None => (because, None),
        };
        ControllerState {
            unseen,
            stopped: stopped.filter(|_| liveness != Liveness::Alive),
            expired_lease: expired_lease.filter(|_| liveness == Liveness::Absent),
            liveness,
            because,
            latest,
            probes: self.probes,
            all_negative,
            runs_in: self.runs_in,
            scaled_to_zero: self.scaled_to_zero,
        }
    }

    /// Returns the state of a controller that no probe found at work, with the reason; everything
    /// was read.
    fn not_seen_at_work(&self, all_negative: bool) -> (Liveness, String) {
        let settings = self.cx.settings();
        if self.role == ControllerRole::Provisioner && !is_csi(self.cx, self.driver) {
            // It can run in pods that are not recognised (semantics#reclaiming-controller).
            let because = self.stopped();
            let because = because.unwrap_or_else(|| "no Lease, pod or Event shows it".to_owned());
            return (Liveness::Unknown, because);
        }
        if settings.absent_drivers.contains(self.name()) {
            return match &self.objection {
                None => (
                    Liveness::Absent,
                    "no evidence shows that it is running, and --driver-absent asserts that it is \
                     removed"
                        .to_owned(),
                ),
                Some(objection) => {
                    (Liveness::Unknown, format!("{objection}, although --driver-absent is given"))
                }
            };
        }
        if !all_negative {
            let because = self.stopped().unwrap_or_else(|| match self.hidden() {
                Some(hidden) => format!("no evidence shows that it is running ({hidden})"),
                None => "it is installed or partly removed, but no evidence shows that it is \
                         running"
                    .to_owned(),
            });
            return (Liveness::Unknown, because);
        }
        let hidden = matches!(
            self.role,
            ControllerRole::ControllerManager
                | ControllerRole::Snapshotter
                | ControllerRole::CsiSnapshotter
        );
        if hidden && self.lease.is_none() {
            // It can run without a Lease and outside the cluster, without visible pods: then it
            // leaves no trace.
            return (Liveness::Unknown, "no Lease of it was found".to_owned());
        }
        // A sign of life after an earlier run found no trace restarts the wait.
        let since = self.cx.sighting(self.role, self.driver).max(self.last_sign);
        let seen_before = self.cx.sighting(self.role, self.driver).is_some();
        let wait = settings.thresholds.get(Threshold::DriverAbsent);
        if seen_before && since.is_some_and(|since| self.cx.passed(since, wait)) {
            let because = format!("no trace found, now and for {}", format_duration(wait));
            return (Liveness::Absent, because);
        }
        let hidden = || self.hidden().map(|it| format!("no trace found ({it})"));
        let because = self.stopped().or_else(hidden);
        let because = because.unwrap_or_else(|| {
            format!(
                "not seen; its removal is confirmed after {} without a trace",
                format_duration(wait)
            )
        });
        (Liveness::Unknown, because)
    }

    /// Whether every pod and workload was read that would run the controller.
    fn all_read(&self) -> bool {
        super::provisioners_seen(self.cx).is_ok()
    }

    /// Returns the name of the controller for `--driver-absent`.
    fn name(&self) -> &str {
        match self.role {
            ControllerRole::ControllerManager => ControllerRole::ControllerManager.name(),
            ControllerRole::Snapshotter => SNAPSHOT_CONTROLLER,
            ControllerRole::Provisioner
            | ControllerRole::Attacher
            | ControllerRole::CsiSnapshotter
            | ControllerRole::Resizer => self.driver,
        }
    }

    /// Returns the control planes that hide the controllers of the driver, where nothing that would run this one was found.
    fn hidden(&self) -> Option<&'static str> {
        let is_beside_driver =
            matches!(self.role, ControllerRole::Provisioner | ControllerRole::Resizer);
        let of_driver = is_beside_driver && self.runs_in.is_empty();
        self.cx.family(self.driver).provisioner.hidden.filter(|_| of_driver)
    }

    /// Returns the evidence that the controller is not at work, as opposed to a lack of evidence that it is.
    fn stopped(&self) -> Option<String> {
        let expired = self.lease.as_ref().filter(|it| it.expired());
        expired.map(LastLease::describe).or_else(|| {
            let workload = self.scaled_to_zero.as_ref().filter(|_| !self.pods_here)?;
            Some(format!("{workload} has no replicas"))
        })
    }

    /// Records what contradicts `--driver-absent`; the first counts.
    fn objects_to_word(&mut self, objection: impl FnOnce() -> String) {
        self.objection.get_or_insert_with(objection);
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
    driver_volumes(cx, driver).is_csi || is_registered(cx, driver)
}

/// Whether there is evidence that a driver is a provisioner that is not CSI: it is known as one, or made volumes that
/// are not CSI volumes.
fn is_external(cx: &Cx, driver: &Text) -> bool {
    let kind = cx.family(driver).provisioner.kind;
    !is_csi(cx, driver)
        && (matches!(kind, ProvisionerKind::External { .. })
            || driver_volumes(cx, driver).is_external)
}

/// Whether a `CSIDriver` or a `CSINode` of this driver was read.
fn is_registered(cx: &Cx, driver: &str) -> bool {
    cx.csi_driver(&driver.into()).is_ok_and(|found| found.is_some())
        || cx.csi_nodes_of(driver).is_ok_and(|found| !found.is_empty())
}

/// Provisioners whose identity is random: after a start they ignore every volume that they have
/// made before, without a word (minikube `storage_provisioner.go`; minikube#4546).
const FORGETFUL: [&str; 1] = ["k8s.io/minikube-hostpath"];

/// Whether a provisioner of `FORGETFUL` has made a volume since its start, so that it deletes that; true for every
/// other one. `None` if when it was started is not known. A container that was restarted in its pod is not noticed: the
/// volume then stays Released.
pub fn deletes_since_its_start(cx: &Cx, driver: &Text, volume: &Volume) -> Option<bool> {
    if !FORGETFUL.contains(&&**driver) {
        return Some(true);
    }
    let search = ControllerSearch::new(cx, ControllerRole::Provisioner, driver);
    let pods = cx.sidecar_pods().filter(|pod| Host::pod(pod).is_some_and(|it| search.serves(it)));
    let started = pods.filter_map(|pod| pod.created).max()?;
    Some(started <= volume.metadata.created?)
}

/// Returns the node in the name of a provisioner that runs on each node, if that node has another uid now: the
/// provisioner there has another name, and ignores the volumes of this one (sig-storage-local-static-provisioner
/// `cmd/main.go`, `pkg/populator`).
pub fn recreated_node(cx: &Cx, driver: &Text) -> Option<String> {
    const UUID: usize = 36;
    let family = drivers::family(driver);
    if family.provisioner.kind != ProvisionerKind::PerNode {
        return None;
    }
    let rest = family.names.iter().find_map(|name| match name {
        Name::BeginsWith(prefix) => driver.strip_prefix(prefix),
        Name::Is(_) | Name::EndsWith(_) | Name::Chart(_) => None,
    })?;
    let at = rest.len().checked_sub(UUID + 1)?;
    let (node, uid) = (rest.get(..at)?, rest.get(at..)?.strip_prefix('-')?);
    let uid = Uid::parse(uid).filter(|it| matches!(it, Uid::Uuid(_)))?;
    let known = cx.node(node, Kind::PersistentVolume).ok()??.metadata.uid.as_ref()?;
    (*known != uid).then(|| node.to_owned())
}

/// The weight of a sign of life as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignOfLife {
    None,
    Old,
    /// A clock is wrong or the time is unknown: this proves nothing.
    Odd,
    Recent,
}

impl SignOfLife {
    /// Returns the weight of a sign of life where nothing shows that it is old: `Odd` instead of `Old`.
    fn or_odd(self) -> Self {
        if self == Self::Old { Self::Odd } else { self }
    }

    /// Weighs a time by the clock of the cluster, which that of the writer may be ahead of by as much as counts as
    /// recent.
    fn of(cx: &Cx, time: Option<Time>, within: Duration) -> Self {
        match time {
            None => Self::None,
            Some(time)
                if !cx.has_clock() || cx.is_future(time, within) || is_ahead(cx, time, within) =>
            {
                Self::Odd
            }
            Some(time) if cx.passed(time, within) => Self::Old,
            Some(_) => Self::Recent,
        }
    }
}

/// Whether a time lies after the clock by more than counts as recent. That of a dump without a time may
/// be too early, but no earlier than any time of its objects that has come.
fn is_ahead(cx: &Cx, time: Time, within: Duration) -> bool {
    let now = cx.cluster().clock();
    now.is_some_and(|now| (time - now).to_std().is_ok_and(|ahead| ahead > within))
}

#[cfg(test)]
mod tests;

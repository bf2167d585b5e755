//! Whether a controller is alive, absent, or neither proven (SEMANTICS 0.7).

use std::{collections::BTreeSet, time::Duration};

mod sign;

use sign::Sign;

use super::names::{mentions, named_driver, provisioner_leases, sanitize};
use super::owner;
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{
    Container, ControllerState, Fact, FactKey, Kind, Liveness, ObjectRef, PodPhase, Probe, Role,
    Sidecars, Text, Threshold, Time, Volume,
};

/// A Lease counts as renewed for this many times its own duration.
const LEASE_PERIODS: u32 = 3;
/// The duration of a Lease that does not say.
const LEASE_DEFAULT: Duration = Duration::from_secs(15);

/// Returns the state of a driver's provisioner.
pub fn provisioner(cx: &Cx, driver: &Text) -> ControllerState {
    state(cx, Role::Provisioner, driver)
}

/// Returns the state of a driver's attacher.
pub fn attacher(cx: &Cx, driver: &Text) -> ControllerState {
    state(cx, Role::Attacher, driver)
}

/// Returns the state of kube-controller-manager.
pub fn controller_manager(cx: &Cx) -> ControllerState {
    state(cx, Role::ControllerManager, &Text::from(""))
}

fn state(cx: &Cx, role: Role, driver: &Text) -> ControllerState {
    let key = FactKey::Controller(role, Text::clone(driver));
    match &*cx.fact(key, || Fact::Controller(derive(cx, role, driver))) {
        Fact::Controller(state) => state.clone(),
        Fact::DeletionSecrets(_) | Fact::ProvisionerVersions(_) => derive(cx, role, driver),
    }
}

/// Whether a driver's controller is absent, rather than alive or unknown. One that is installed is
/// not absent, whatever else was not seen.
///
/// # Errors
/// When what was not seen decides it.
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

/// Derives the state of a controller from what is seen now.
pub(super) fn derive(cx: &Cx, role: Role, driver: &Text) -> ControllerState {
    Search {
        cx,
        role,
        driver,
        probes: Vec::new(),
        runs_in: Vec::new(),
        last_sign: None,
        lease: false,
    }
    .state()
}

struct Search<'a, 'b> {
    cx: &'b Cx<'a>,
    role: Role,
    driver: &'b Text,
    probes: Vec<Probe>,
    runs_in: Vec<ObjectRef>,
    /// The latest sign of life of any age.
    last_sign: Option<Time>,
    /// Whether it has a Lease, however old.
    lease: bool,
}

/// What one probe says.
enum Says {
    /// It is at work.
    Alive,
    /// It is installed, or half removed: not absent.
    Trace,
    /// Nothing, and it was seen.
    Nothing,
    /// It was not seen.
    Unseen(Unseen),
}

impl Search<'_, '_> {
    fn state(mut self) -> ControllerState {
        let answers = [
            self.lease(),
            self.pods(),
            self.workloads(),
            self.registration(),
            self.recent_action(),
        ];
        let all_negative = answers.iter().all(|says| matches!(says, Says::Nothing));
        let (liveness, because) = if answers.iter().any(|says| matches!(says, Says::Alive)) {
            (Liveness::Alive, "it is at work")
        } else if answers.iter().any(|says| matches!(says, Says::Unseen(_))) {
            (Liveness::Unknown, "not everything that would show it was seen")
        } else if all_negative {
            self.absent()
        } else {
            (Liveness::Unknown, "it is installed, or half removed, but was not seen at work")
        };
        let unseen = answers.into_iter().find_map(|says| match says {
            Says::Unseen(unseen) if liveness == Liveness::Unknown => {
                Some((unseen.kind, unseen.reason))
            }
            _ => None,
        });
        ControllerState {
            unseen,
            liveness,
            because: because.to_owned(),
            probes: self.probes,
            all_negative,
            runs_in: self.runs_in,
        }
    }

    /// What it means that every probe was made and found nothing.
    fn absent(&self) -> (Liveness, &'static str) {
        let settings = self.cx.settings();
        let name = match self.role {
            Role::ControllerManager => Role::ControllerManager.name(),
            Role::Provisioner | Role::Attacher | Role::Snapshotter => self.driver,
        };
        if self.role == Role::Provisioner && !is_csi(self.cx, self.driver) {
            // local-path, nfs-subdir…: their pods look like any other pod (SEMANTICS 0.2).
            return (Liveness::Unknown, "it is no CSI driver: nothing would show it");
        }
        if settings.absent_drivers.contains(name) {
            return (Liveness::Absent, "nothing of it was found, and --driver-absent says so");
        }
        if self.role == Role::ControllerManager && !self.lease {
            // It can be told to keep no Lease, and then leaves no trace.
            return (Liveness::Unknown, "it keeps no Lease that was seen");
        }
        // Whatever was a sign of life after an earlier run saw nothing starts the wait anew.
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

    fn probe(&mut self, what: &'static str, found: String, says: Says) -> Says {
        self.probes.push(Probe { what, found });
        says
    }

    /// Notes a sign of life, and tells what it is worth.
    fn sign(&mut self, time: Option<Time>, within: Duration) -> Sign {
        self.last_sign = self.last_sign.max(time);
        Sign::of(self.cx, time, within)
    }

    fn lease(&mut self) -> Says {
        let mut names = match self.role {
            Role::Provisioner => provisioner_leases(self.driver),
            Role::Attacher => vec![format!("external-attacher-leader-{}", sanitize(self.driver))],
            Role::Snapshotter => vec!["snapshot-controller-leader".to_owned()],
            Role::ControllerManager => vec!["kube-controller-manager".to_owned()],
        };
        names.dedup();
        let (mut stale, mut odd) = (None, None);
        for name in &names {
            let leases = match self.cx.leases_named(name) {
                Ok(leases) => leases,
                Err(unseen) => {
                    return self.probe("lease", unseen.reason.clone(), Says::Unseen(unseen));
                }
            };
            for lease in leases {
                let system = &*lease.namespace == "kube-system";
                if self.role == Role::ControllerManager && !system {
                    continue;
                }
                let object = format!("lease/{}/{name}", lease.namespace);
                let period = lease
                    .duration_seconds
                    .map_or(LEASE_DEFAULT, |seconds| Duration::from_secs(seconds.into()));
                let renewed = self.sign(lease.renewed, period * LEASE_PERIODS);
                // A holder that lets go leaves its name empty.
                let held = lease.holder.as_deref().is_some_and(|holder| !holder.is_empty());
                match renewed {
                    Sign::Recent if held => {
                        let found = format!("{object} is being renewed");
                        return self.probe("lease", found, Says::Alive);
                    }
                    Sign::Odd if held => odd = Some(object),
                    Sign::None | Sign::Old | Sign::Odd | Sign::Recent => stale = Some(object),
                }
            }
        }
        self.lease = stale.is_some() || odd.is_some();
        if let Some(object) = odd {
            let found = format!("{object} was renewed at a time that is not known to be past");
            return self.probe("lease", found, Says::Trace);
        }
        // An old Lease may have a namesake that was not seen.
        if let Err(unseen) = self.cx.all_of(Kind::Lease) {
            return self.probe("lease", unseen.reason.clone(), Says::Unseen(unseen));
        }
        match stale {
            // A driver's Leases outlive its uninstallation: old ones prove nothing.
            Some(object) => {
                self.probe("lease", format!("{object} is no longer renewed"), Says::Nothing)
            }
            None => self.probe("lease", format!("no Lease {}", names.join(" or ")), Says::Nothing),
        }
    }

    fn pods(&mut self) -> Says {
        let mut waiting = None;
        for pod in self.cx.sidecar_pods() {
            let Some(sidecars) = &pod.sidecars else { continue };
            if !self.may_serve(sidecars) {
                continue;
            }
            self.runs_in.push(pod.object());
            let runs = pod.phase == PodPhase::Running && pod.ready && pod.deleting.is_none();
            if runs && self.names_driver(sidecars) {
                let found = format!("{} is running and ready", pod.object());
                return self.probe("pod", found, Says::Alive);
            }
            waiting = Some(format!("{} may run it, phase {}", pod.object(), pod.phase.name()));
        }
        if let Some(found) = waiting {
            return self.probe("pod", found, Says::Trace);
        }
        match self.cx.all_of(Kind::Pod) {
            Ok(()) => self.probe("pod", "no pod runs it".to_owned(), Says::Nothing),
            Err(unseen) => self.probe("pod", unseen.reason.clone(), Says::Unseen(unseen)),
        }
    }

    fn workloads(&mut self) -> Says {
        let served = |sidecars: &Sidecars| self.may_serve(sidecars);
        let found: Vec<_> = self
            .cx
            .sidecar_workloads()
            .filter(|workload| workload.sidecars.as_deref().is_some_and(served))
            .map(|workload| (workload.object(), workload.replicas))
            .collect();
        if let Some((object, replicas)) = found.first() {
            let replicas = replicas.map_or(String::new(), |n| format!(", {n} replicas"));
            let text = format!("{object} would run it{replicas}");
            self.runs_in.extend(found.into_iter().map(|(object, _)| object));
            return self.probe("workload", text, Says::Trace);
        }
        let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet];
        match kinds.into_iter().try_for_each(|kind| self.cx.all_of(kind)) {
            Ok(()) => self.probe("workload", "no workload would run it".to_owned(), Says::Nothing),
            Err(unseen) => self.probe("workload", unseen.reason.clone(), Says::Unseen(unseen)),
        }
    }

    /// `CSIDriver` and `CSINode`: a driver that is registered is not absent.
    fn registration(&mut self) -> Says {
        if matches!(self.role, Role::ControllerManager | Role::Snapshotter) {
            return Says::Nothing;
        }
        match self.cx.csi_driver(self.driver) {
            Ok(Some(_)) => {
                let found = format!("CSIDriver {} exists", self.driver);
                return self.probe("registration", found, Says::Trace);
            }
            Ok(None) => {}
            Err(unseen) => {
                return self.probe("registration", unseen.reason.clone(), Says::Unseen(unseen));
            }
        }
        match self.cx.csi_nodes_of(self.driver) {
            Ok(nodes) if nodes.is_empty() => {
                let found = "neither CSIDriver nor CSINode names it".to_owned();
                self.probe("registration", found, Says::Nothing)
            }
            Ok(nodes) => {
                let found = format!("registered on {} nodes", nodes.len());
                self.probe("registration", found, Says::Trace)
            }
            Err(unseen) => self.probe("registration", unseen.reason.clone(), Says::Unseen(unseen)),
        }
    }

    /// What it was last seen to do: writes to volumes, and events.
    fn recent_action(&mut self) -> Says {
        let within = self.cx.settings().thresholds.get(Threshold::DriverAction);
        let manager = match self.role {
            Role::Provisioner => "csi-provisioner",
            Role::Attacher => "csi-attacher",
            Role::Snapshotter => "snapshot-controller",
            Role::ControllerManager => "kube-controller-manager",
        };
        let wrote = self
            .cx
            .volumes_of_driver(self.driver)
            .flat_map(|volume| volume.metadata.managers.iter())
            .filter(|owner| owner.manager.contains(manager))
            .filter_map(|owner| owner.time)
            .max();
        let wrote = self.sign(wrote, within);
        if wrote == Sign::Recent {
            let found = format!("{manager} wrote to one of its volumes lately");
            return self.probe("recent action", found, Says::Alive);
        }
        let said = self
            .cx
            .events()
            .filter(|event| self.speaks_as(&event.component))
            .filter_map(|event| event.last_seen)
            .max();
        let said = self.sign(said, within);
        if said == Sign::Recent {
            return self.probe("recent action", "it wrote events lately".to_owned(), Says::Alive);
        }
        if wrote == Sign::Odd || said == Sign::Odd {
            let found = "at a time that is not known to be past".to_owned();
            return self.probe("recent action", found, Says::Trace);
        }
        match self.cx.all_of(Kind::Event).and_then(|()| self.cx.all_of(Kind::PersistentVolume)) {
            Ok(()) => self.probe("recent action", "none seen".to_owned(), Says::Nothing),
            Err(unseen) => self.probe("recent action", unseen.reason.clone(), Says::Unseen(unseen)),
        }
    }

    /// Whether this is how the controller signs its events.
    fn speaks_as(&self, component: &str) -> bool {
        match self.role {
            // `<driver>_<host>_<uuid>` (library, `NewProvisionController`).
            Role::Provisioner => {
                component.strip_prefix(&**self.driver).is_some_and(|rest| rest.starts_with('_'))
            }
            // It writes none about volumes and claims.
            Role::Attacher => false,
            Role::Snapshotter => component == "snapshot-controller",
            Role::ControllerManager => {
                matches!(component, "persistentvolume-controller" | "attachdetach-controller")
            }
        }
    }

    /// Whether these sidecars play the role for the driver, as far as they say whose they are.
    fn names_driver(&self, sidecars: &Sidecars) -> bool {
        sidecars.containers.iter().any(|it| self.role.is_played_by(&it.image))
            && (matches!(self.role, Role::ControllerManager | Role::Snapshotter)
                || sidecars.mentions.iter().any(|text| mentions(text, self.driver)))
    }

    /// Whether these sidecars may play the role for the driver: they name it, or do not say for
    /// whom. Each of them serves one driver, so where more of them run than drivers are named, one
    /// may be this driver's.
    fn may_serve(&self, sidecars: &Sidecars) -> bool {
        let plays = |container: &&Container| self.role.may_be_played_by(&container.image);
        let running = sidecars.containers.iter().filter(plays).count();
        let named: BTreeSet<_> =
            sidecars.mentions.iter().filter_map(|it| named_driver(it)).collect();
        let of_all = matches!(self.role, Role::ControllerManager | Role::Snapshotter);
        let mentioned = || sidecars.mentions.iter().any(|text| mentions(text, self.driver));
        running > named.len() || running > 0 && (of_all || mentioned())
    }
}

/// Whether anything shows a driver to be CSI, and not just the name of another provisioner.
pub fn is_csi(cx: &Cx, driver: &Text) -> bool {
    let of_csi = |volume: &Volume| {
        volume.source.driver() == Some(driver) || owner(volume).csi() == Some(driver)
    };
    cx.volumes_of_driver(driver).any(of_csi)
        || cx.csi_driver(driver).is_ok_and(|found| found.is_some())
        || cx.csi_nodes_of(driver).is_ok_and(|found| !found.is_empty())
}

#[cfg(test)]
mod states;

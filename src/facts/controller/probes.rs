//! Probes for a controller: Leases, pods, workloads, registration, recent actions.

use std::time::Duration;

use super::{ControllerSearch, ProbeOutcome, SignOfLife};
use crate::facts::driver_names::{provisioner_leases, sanitize};
use crate::model::{
    ControllerRole, Kind, ObjectRef, PodPhase, Sidecars, Threshold, Time, Workload, format_time,
};

/// A Lease counts as renewed for this many times its own duration.
const LEASE_PERIODS: u32 = 3;
/// The duration of a Lease without one.
const LEASE_DEFAULT: Duration = Duration::from_secs(15);

/// The last renewal of a Lease, in words.
fn last_renewed(time: Option<Time>, holder: Option<&str>) -> String {
    let by = holder.map_or_else(String::new, |holder| format!(" by {holder}"));
    match time {
        Some(time) => format!("last renewed at {}{by}", format_time(&time)),
        None => format!("never renewed{by}"),
    }
}

impl ControllerSearch<'_, '_> {
    pub(super) fn lease(&mut self) -> ProbeOutcome {
        let mut names = match self.role {
            ControllerRole::Provisioner => provisioner_leases(self.driver),
            ControllerRole::Attacher => {
                vec![format!("external-attacher-leader-{}", sanitize(self.driver))]
            }
            ControllerRole::Snapshotter => vec!["snapshot-controller-leader".to_owned()],
            ControllerRole::ControllerManager => vec!["kube-controller-manager".to_owned()],
        };
        names.dedup();
        let (mut stale, mut odd): (Option<(String, String)>, Option<_>) = (None, None);
        for name in &names {
            let leases = match self.cx.leases_named(name) {
                Ok(leases) => leases,
                Err(unseen) => {
                    return self.probe(
                        "lease",
                        unseen.reason.clone(),
                        ProbeOutcome::Unseen(unseen),
                    );
                }
            };
            for lease in leases {
                let system = &*lease.namespace == "kube-system";
                if self.role == ControllerRole::ControllerManager && !system {
                    continue;
                }
                let object = format!("lease/{}/{name}", lease.namespace);
                let period = lease
                    .duration_seconds
                    .map_or(LEASE_DEFAULT, |seconds| Duration::from_secs(seconds.into()));
                let renewed = self.sign(lease.renewed, period * LEASE_PERIODS);
                // A holder that releases a Lease empties the field.
                let holder = lease.holder.as_deref().filter(|holder| !holder.is_empty());
                let latest = last_renewed(lease.renewed, holder);
                match (renewed, holder) {
                    (SignOfLife::Recent, Some(_)) => {
                        let found = format!("{object} has not expired");
                        return self.probe_of("lease", found, Some(latest), ProbeOutcome::Alive);
                    }
                    (SignOfLife::Odd, Some(_)) => odd = Some((object, latest)),
                    (_, Some(_)) => stale = Some((format!("{object} has expired"), latest)),
                    (_, None) => stale = Some((format!("{object} has no holder"), latest)),
                }
            }
        }
        self.lease = stale.is_some() || odd.is_some();
        if let Some((object, latest)) = odd {
            let found = format!("{object} was renewed at a time that is not known to be past");
            return self.probe_of("lease", found, Some(latest), ProbeOutcome::Trace);
        }
        // Besides an old Lease there may be another one of that name that was not read.
        if let Err(unseen) = self.cx.all_of(Kind::Lease) {
            return self.probe("lease", unseen.reason.clone(), ProbeOutcome::Unseen(unseen));
        }
        match stale {
            // The Leases of a driver remain after it was uninstalled: old ones prove nothing.
            Some((found, latest)) => {
                self.probe_of("lease", found, Some(latest), ProbeOutcome::Nothing)
            }
            None => self.probe(
                "lease",
                format!("no Lease {}", names.join(" or ")),
                ProbeOutcome::Nothing,
            ),
        }
    }

    pub(super) fn pods(&mut self) -> ProbeOutcome {
        let mut waiting = None;
        for pod in self.cx.sidecar_pods() {
            let Some(sidecars) = &pod.sidecars else { continue };
            if !self.may_serve(sidecars) {
                continue;
            }
            self.runs_in.push(pod.object());
            let runs = pod.phase == PodPhase::Running && pod.ready && pod.deleting.is_none();
            if runs && self.serves(sidecars) {
                let found = format!("{} is running and ready", pod.object());
                return self.probe("pod", found, ProbeOutcome::Alive);
            }
            waiting = Some(format!("{} may run it, phase {}", pod.object(), pod.phase.name()));
        }
        if let Some(found) = waiting {
            return self.probe("pod", found, ProbeOutcome::Trace);
        }
        match self.cx.all_of(Kind::Pod) {
            Ok(()) => self.probe("pod", "no pod runs it", ProbeOutcome::Nothing),
            Err(unseen) => self.probe("pod", unseen.reason.clone(), ProbeOutcome::Unseen(unseen)),
        }
    }

    pub(super) fn workloads(&mut self) -> ProbeOutcome {
        let served = |sidecars: &Sidecars| self.may_serve(sidecars);
        let found: Vec<_> = self
            .cx
            .sidecar_workloads()
            .filter(|workload| workload.sidecars.as_deref().is_some_and(served))
            .map(|workload| (workload.object(), workload.replicas))
            .collect();
        self.scaled_to_zero = self.scaled_to_zero();
        if let Some((object, replicas)) = found.first() {
            let replicas = replicas.map_or(String::new(), |n| format!(", {n} replicas"));
            let text = format!("{object} would run it{replicas}");
            self.runs_in.extend(found.into_iter().map(|(object, _)| object));
            return self.probe("workload", text, ProbeOutcome::Trace);
        }
        let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet];
        match kinds.into_iter().try_for_each(|kind| self.cx.all_of(kind)) {
            Ok(()) => self.probe("workload", "no workload would run it", ProbeOutcome::Nothing),
            Err(unseen) => {
                self.probe("workload", unseen.reason.clone(), ProbeOutcome::Unseen(unseen))
            }
        }
    }

    /// Returns the workload of the controller that was scaled to zero, unless another one runs it
    /// too. `ReplicaSet`s without replicas are earlier revisions.
    fn scaled_to_zero(&self) -> Option<ObjectRef> {
        let names = |it: &&Workload| it.sidecars.as_deref().is_some_and(|it| self.serves(it));
        let own = self.cx.sidecar_workloads().filter(names);
        let mut own = own.filter(|it| it.kind != Kind::ReplicaSet || it.replicas != Some(0));
        let first = own.next()?;
        (first.replicas == Some(0) && own.all(|it| it.replicas == Some(0))).then(|| first.object())
    }

    /// `CSIDriver` and `CSINode`: a driver that is registered is not absent.
    pub(super) fn registration(&mut self) -> ProbeOutcome {
        if matches!(self.role, ControllerRole::ControllerManager | ControllerRole::Snapshotter) {
            return ProbeOutcome::Nothing;
        }
        match self.cx.csi_driver(self.driver) {
            // Its volumes are not attached: the registration is no evidence of an
            // external-attacher.
            Ok(Some(driver))
                if self.role == ControllerRole::Attacher && !driver.attach_required =>
            {
                let found = format!("CSIDriver {} needs no attacher", self.driver);
                return self.probe("registration", found, ProbeOutcome::Nothing);
            }
            Ok(Some(_)) => {
                let found = format!("CSIDriver {} exists", self.driver);
                return self.probe("registration", found, ProbeOutcome::Trace);
            }
            Ok(None) => {}
            Err(unseen) => {
                return self.probe(
                    "registration",
                    unseen.reason.clone(),
                    ProbeOutcome::Unseen(unseen),
                );
            }
        }
        match self.cx.csi_nodes_of(self.driver) {
            Ok(nodes) if nodes.is_empty() => {
                let found = "neither CSIDriver nor CSINode names it";
                self.probe("registration", found, ProbeOutcome::Nothing)
            }
            Ok(nodes) => {
                let found = format!("registered on {} nodes", nodes.len());
                self.probe("registration", found, ProbeOutcome::Trace)
            }
            Err(unseen) => {
                self.probe("registration", unseen.reason.clone(), ProbeOutcome::Unseen(unseen))
            }
        }
    }

    /// Its last actions: writes to volumes, and events.
    pub(super) fn recent_action(&mut self) -> ProbeOutcome {
        let within = self.cx.settings().thresholds.get(Threshold::DriverAction);
        let manager = match self.role {
            ControllerRole::Provisioner => "csi-provisioner",
            ControllerRole::Attacher => "csi-attacher",
            ControllerRole::Snapshotter => "snapshot-controller",
            ControllerRole::ControllerManager => "kube-controller-manager",
        };
        let writes = self.cx.volumes_of_driver(self.driver).flat_map(|volume| {
            let own = volume.metadata.managers.iter().filter(|it| it.manager.contains(manager));
            own.filter_map(move |it| Some((it.time?, it.manager, volume)))
        });
        let last = writes.max_by_key(|(time, manager, volume)| (*time, *manager, volume.name()));
        let wrote = self.sign(last.map(|(time, ..)| time), within);
        if let Some((time, manager, volume)) = last
            && wrote == SignOfLife::Recent
        {
            let (found, time) = ("it wrote to one of its volumes", format_time(&time));
            let latest = format!("{}, as {manager}, at {time}", volume.object());
            return self.probe_of("recent action", found, Some(latest), ProbeOutcome::Alive);
        }
        let own = self.cx.events().filter(|event| self.is_event_source(&event.component));
        let last = own
            .filter_map(|event| Some((event.last_seen?, event)))
            .max_by_key(|(time, event)| (*time, &event.namespace, &event.name));
        let said = self.sign(last.map(|(time, _)| time), within);
        if let Some((time, event)) = last
            && said == SignOfLife::Recent
        {
            let time = format_time(&time);
            let latest = format!("{} about {}, at {time}", event.reason, event.about);
            return self.probe_of(
                "recent action",
                "it wrote an event",
                Some(latest),
                ProbeOutcome::Alive,
            );
        }
        if wrote == SignOfLife::Odd || said == SignOfLife::Odd {
            let found = "at a time that is not known to be past";
            return self.probe("recent action", found, ProbeOutcome::Trace);
        }
        match self.cx.all_of(Kind::Event).and_then(|()| self.cx.all_of(Kind::PersistentVolume)) {
            Ok(()) => self.probe("recent action", "none seen", ProbeOutcome::Nothing),
            Err(unseen) => {
                self.probe("recent action", unseen.reason.clone(), ProbeOutcome::Unseen(unseen))
            }
        }
    }

    /// Whether the controller uses this name as the source of its events.
    fn is_event_source(&self, component: &str) -> bool {
        match self.role {
            // `<driver>_<host>_<uuid>` (library, `NewProvisionController`).
            ControllerRole::Provisioner => {
                component.strip_prefix(&**self.driver).is_some_and(|rest| rest.starts_with('_'))
            }
            // It emits none about volumes and claims.
            ControllerRole::Attacher => false,
            ControllerRole::Snapshotter => component == "snapshot-controller",
            ControllerRole::ControllerManager => {
                matches!(component, "persistentvolume-controller" | "attachdetach-controller")
            }
        }
    }
}

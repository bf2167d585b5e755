//! Probes for a controller: pods, workloads, registration.

use super::{ControllerSearch, Host, ProbeOutcome};
use crate::model::{ControllerRole, Kind, ObjectRef, PodPhase, Workload};

impl ControllerSearch<'_, '_> {
    pub(super) fn pods(&mut self) -> ProbeOutcome {
        let mut waiting = None;
        for pod in self.cx.sidecar_pods() {
            let Some(host) = Host::pod(pod).filter(|host| self.may_serve(*host)) else { continue };
            self.runs_in.push(pod.object());
            self.pods_here |= !pod.is_finished();
            if !pod.is_finished() && pod.deleting.is_none() {
                self.objects_to_word(|| format!("{} may run it", pod.object()));
            }
            let runs = pod.phase == PodPhase::Running && pod.ready && pod.deleting.is_none();
            if !runs || !self.serves(host) {
                waiting = Some(format!("{} may run it, phase {}", pod.object(), pod.phase.name()));
            } else if self.has_fresh_lease || self.works_without_lease(host) {
                let found = format!("{} is running and ready", pod.object());
                return self.probe("pod", found, ProbeOutcome::Alive);
            } else {
                // Only the holder of the Lease works; the others wait for it.
                waiting =
                    Some(format!("{} is ready, but no Lease shows that it leads", pod.object()));
            }
        }
        if let Some(found) = waiting {
            return self.probe("pod", found, ProbeOutcome::Trace);
        }
        match self.cx.all_of(Kind::Pod) {
            Ok(()) => self.probe("pod", "no pod runs it", ProbeOutcome::Nothing),
            Err(unseen) => self.probe("pod", unseen.reason.clone(), ProbeOutcome::Unseen(unseen)),
        }
    }

    /// Whether a ready pod works without a Lease: it elects no leader, or, being no CSI provisioner,
    /// holds a lock of another kind and no Lease is known.
    fn works_without_lease(&self, host: Host) -> bool {
        let other_lock =
            || self.external && self.lease.is_none() && self.cx.all_of(Kind::Lease).is_ok();
        self.elects_leader(host.sidecars) == Some(false) || other_lock()
    }

    pub(super) fn workloads(&mut self) -> ProbeOutcome {
        let served = |host: Host| self.may_serve(host);
        let found: Vec<_> = self
            .cx
            .sidecar_workloads()
            .filter(|workload| Host::workload(workload).is_some_and(served))
            .map(|workload| (workload.object(), workload.replicas))
            .collect();
        self.scaled_to_zero = self.scaled_to_zero();
        if let Some((object, replicas)) = found.first() {
            let replicas = replicas.map_or(String::new(), |n| format!(", {n} replicas"));
            let text = format!("{object} would run it{replicas}");
            self.objects_to_word(|| text.clone());
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
        let names = |it: &&Workload| Host::workload(it).is_some_and(|it| self.serves(it));
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
                let found = format!("CSIDriver {} has attachRequired: false", self.driver);
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
                let found = "neither a CSIDriver nor a CSINode references it";
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
}

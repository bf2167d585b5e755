//! The last acts of a controller: writes to volumes, and events.

use super::{ControllerSearch, Host, ProbeOutcome, SignOfLife, driver_volumes};
use crate::drivers::{self, ProvisionerKind};
use crate::model::{
    ControllerRole, Event, Kind, LastWrite, Threshold, Time, Workload, format_time,
};

/// The letters and digits of the random parts of the names of pods (apimachinery `rand.String`).
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";
/// The length of the random part at the end of the name of a pod.
const RANDOM_LENGTH: usize = 5;

/// The latest act of one sort.
struct Act {
    time: Time,
    /// What was done.
    what: &'static str,
    /// What it was done to, how and when.
    latest: String,
}

impl ControllerSearch<'_, '_> {
    /// Its last acts: writes to volumes, and events.
    ///
    /// An act proves that a controller ran when it acted. It is history where something that was
    /// read shows that the controller has ended since.
    pub(super) fn recent_action(&mut self) -> ProbeOutcome {
        let within = self.cx.settings().thresholds.get(Threshold::DriverAction);
        let (mut odd, mut history) = (false, None);
        for act in [self.last_write(), self.last_event()].into_iter().flatten() {
            match self.sign(Some(act.time), within) {
                SignOfLife::None | SignOfLife::Old => {}
                SignOfLife::Odd => odd = true,
                SignOfLife::Recent => match self.end_after(&act) {
                    Some(end) => {
                        history.get_or_insert((format!("{}, but {end}", act.what), act.latest));
                    }
                    None if self.word_decides() => {
                        self.objects_to_word(|| {
                            format!("{} at {}", act.what, format_time(&act.time))
                        });
                        let latest = Some(act.latest);
                        return self.probe_of(
                            "recent action",
                            act.what,
                            latest,
                            ProbeOutcome::Trace,
                        );
                    }
                    None => {
                        let latest = Some(act.latest);
                        return self.probe_of(
                            "recent action",
                            act.what,
                            latest,
                            ProbeOutcome::Alive,
                        );
                    }
                },
            }
        }
        if odd {
            let found = "at a time that may be in the future";
            self.objects_to_word(|| format!("it acted {found}"));
            return self.probe("recent action", found, ProbeOutcome::Trace);
        }
        match self.cx.all_of(Kind::Event).and_then(|()| self.cx.all_of(Kind::PersistentVolume)) {
            Ok(()) => match history {
                Some((found, latest)) => {
                    self.probe_of("recent action", found, Some(latest), ProbeOutcome::Nothing)
                }
                None => self.probe("recent action", "none found", ProbeOutcome::Nothing),
            },
            Err(unseen) => {
                self.probe("recent action", unseen.reason.clone(), ProbeOutcome::Unseen(unseen))
            }
        }
    }

    /// Its last write to a volume. `managedFields` name no host.
    fn last_write(&self) -> Option<Act> {
        let writes = driver_volumes(self.cx, self.driver).last_writes;
        let LastWrite { time, manager, volume, .. } =
            writes.into_iter().find(|it| it.role == self.role)?;
        let latest = format!("{volume}, as {manager}, at {}", format_time(&time));
        Some(Act { time, what: "it wrote to one of its volumes", latest })
    }

    /// Its last event; those of pods that do not exist any more are left out.
    fn last_event(&self) -> Option<Act> {
        let own = self.cx.events().filter(|event| self.is_event_source(&event.component));
        let own = own.filter(|event| !self.is_of_a_former_pod(event));
        let (time, event) = own
            .filter_map(|event| Some((event.last_seen?, event)))
            .max_by_key(|(time, event)| (*time, &event.namespace, &event.name))?;
        let latest = format!("{} about {}, at {}", event.reason, event.about, format_time(&time));
        Some(Act { time, what: "it wrote an Event", latest })
    }

    /// Returns what shows that the controller has ended since an act.
    fn end_after(&self, act: &Act) -> Option<String> {
        if let Some(lease) = self.lease.as_ref().filter(|it| it.outlasts(act.time)) {
            return Some(lease.describe());
        }
        // Its workload is known: it is not one of those that a control plane hides.
        let idle = self.scaled_to_zero.as_ref().filter(|_| !self.pods_here && self.all_read());
        if let Some(workload) = idle {
            return Some(format!("{workload} has no replicas since"));
        }
        let family = self.cx.family(self.driver);
        let visible = family.provisioner.kind == ProvisionerKind::Csi
            && family.provisioner.hidden.is_none()
            && !drivers::is_unknown(family);
        let gone = visible && self.role == ControllerRole::Provisioner && self.word_decides();
        gone.then(|| "no pod or workload that would run it exists".to_owned())
    }

    /// Whether only the user can know if the controller acts somewhere out of sight: it has no
    /// Lease, nothing that would run it was found, and the user says that it is gone.
    fn word_decides(&self) -> bool {
        let declared = self.cx.settings().absent_drivers.contains(self.name());
        declared && self.lease.is_none() && self.runs_in.is_empty() && self.all_read()
    }

    /// Whether an event is of a pod that does not exist any more: its host is named like a pod of a
    /// workload of this controller, whose pods all have rows, and none of them has this name.
    fn is_of_a_former_pod(&self, event: &Event) -> bool {
        let Some(host) = self.host(&event.component) else { return false };
        if self.cx.all_of(Kind::Pod).is_err()
            || self.cx.sidecar_pods().any(|pod| *pod.name == *host)
        {
            return false;
        }
        let mut workloads = self.cx.sidecar_workloads();
        workloads
            .any(|it| Host::workload(it).is_some_and(|it| self.serves(it)) && names_pod(it, host))
    }

    /// Returns the host in the source of an event: `<driver>_<host>_<uuid>` (library,
    /// `NewProvisionController`).
    fn host<'c>(&self, component: &'c str) -> Option<&'c str> {
        if self.role != ControllerRole::Provisioner {
            return None;
        }
        let rest = component.strip_prefix(&**self.driver)?.strip_prefix('_')?;
        Some(rest.rsplit_once('_')?.0)
    }

    /// Whether the controller uses this name as the source of its events.
    fn is_event_source(&self, component: &str) -> bool {
        match self.role {
            ControllerRole::Provisioner => {
                component.strip_prefix(&**self.driver).is_some_and(|rest| rest.starts_with('_'))
            }
            // It emits none about volumes and claims.
            ControllerRole::Attacher => false,
            ControllerRole::Snapshotter => component == "snapshot-controller",
            ControllerRole::CsiSnapshotter => {
                component.strip_prefix("csi-snapshotter ") == Some(&**self.driver)
            }
            ControllerRole::ControllerManager => {
                matches!(component, "persistentvolume-controller" | "attachdetach-controller")
            }
        }
    }
}

/// Whether a workload gives its pods such names.
fn names_pod(workload: &Workload, host: &str) -> bool {
    let random = |text: &str| {
        text.len() == RANDOM_LENGTH && text.chars().all(|letter| RANDOM.contains(letter))
    };
    let Some(rest) = host.strip_prefix(&*workload.name).and_then(|rest| rest.strip_prefix('-'))
    else {
        return false;
    };
    match workload.kind {
        Kind::Deployment => rest.split_once('-').is_some_and(|(hash, end)| {
            !hash.is_empty() && hash.chars().all(|it| it.is_ascii_alphanumeric()) && random(end)
        }),
        Kind::ReplicaSet | Kind::DaemonSet => random(rest),
        Kind::StatefulSet => !rest.is_empty() && rest.chars().all(|it| it.is_ascii_digit()),
        _ => false,
    }
}

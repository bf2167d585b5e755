//! Traces of a controller at work: writes to volumes, events, and its Leases.

use std::time::Duration;

use super::{ControllerSearch, Host, ProbeOutcome, SignOfLife, driver_volumes};
use crate::cluster::Cx;
use crate::drivers::{self, ProvisionerKind};
use crate::facts::driver_names::{provisioner_leases, sanitize};
use crate::model::{
    ControllerRole, Event, Kind, LastWrite, Lease, LeaseMoment, Threshold, Time, Workload,
    format_time,
};

/// The letters and digits of the random parts of the names of pods (apimachinery `rand.String`).
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";
/// The length of the random part at the end of the name of a pod.
const RANDOM_LENGTH: usize = 5;

/// The latest act of one sort.
struct Act {
    time: Time,
    /// What the controller did.
    what: &'static str,
    /// The object, the way and the time of the act.
    latest: String,
}

impl ControllerSearch<'_, '_> {
    /// Looks for the last acts of the controller: writes to volumes, and events.
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

    /// Returns the last write of the controller to a volume. `managedFields` name no host.
    fn last_write(&self) -> Option<Act> {
        let writes = driver_volumes(self.cx, self.driver).last_writes;
        let LastWrite { time, manager, volume, .. } =
            writes.into_iter().find(|it| it.role == self.role)?;
        let latest = format!("{volume}, as {manager}, at {}", format_time(&time));
        Some(Act { time, what: "it wrote to one of its volumes", latest })
    }

    /// Returns the last event of the controller, without those of pods that do not exist any more.
    fn last_event(&self) -> Option<Act> {
        let own = self.cx.events().filter(|event| self.is_event_source(&event.component));
        let own = own.filter(|event| !self.is_of_a_former_pod(event));
        let (time, event) = own
            .filter_map(|event| Some((event.last_seen?, event)))
            .max_by_key(|(time, event)| (*time, &event.namespace, &event.name))?;
        let latest = format!("{} about {}, at {}", event.reason, event.about, format_time(&time));
        Some(Act { time, what: "it wrote an Event", latest })
    }

    /// Returns the evidence that the controller has ended since an act.
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

    /// Whether only the user can know if the controller acts elsewhere: it has no Lease, nothing that would run it was
    /// found, and the user asserts that it is absent.
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
            ControllerRole::Resizer => {
                component.strip_prefix("external-resizer ") == Some(&**self.driver)
            }
            ControllerRole::ControllerManager => {
                matches!(component, "persistentvolume-controller" | "attachdetach-controller")
            }
        }
    }
}

/// Whether this host has a name like the pods of a workload.
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

/// Number of its durations for which a Lease counts as renewed.
const LEASE_PERIODS: u32 = 3;
/// Age of the newest of some Leases, at the time of a dump, from which they prove no running control plane.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// The duration of a Lease that states none.
const LEASE_DEFAULT: Duration = Duration::from_secs(15);

/// The Lease of a controller that was renewed last, and is not fresh.
#[derive(Debug)]
pub(super) struct LastLease {
    /// The Lease as reports name it.
    object: String,
    /// Time at which the Lease was renewed or released.
    renewed: Option<Time>,
    /// Duration of the Lease.
    pub(super) duration: Duration,
    /// Whether the Lease has a holder: one that ends properly releases it.
    pub(super) held: bool,
    /// Weight of the last renewal as evidence.
    sign: SignOfLife,
    latest: String,
}

impl LastLease {
    /// Whether a holder stopped renewing the Lease.
    pub(super) fn expired(&self) -> bool {
        self.held && self.sign == SignOfLife::Old
    }

    /// Whether another Lease of the same name counts instead: the younger one. A time that may be in
    /// the future tells of no age, and every user with a namespace can write one.
    fn is_followed_by(&self, lease: &Lease, sign: SignOfLife) -> bool {
        match (self.sign == SignOfLife::Odd, sign == SignOfLife::Odd) {
            (true, false) => true,
            (false, true) => false,
            (true, true) | (false, false) => self.renewed <= lease.renewed,
        }
    }

    /// Describes the Lease and its last renewal, in words that stand alone.
    pub(super) fn describe(&self) -> String {
        let since = self.renewed.map_or_else(
            || "was never renewed".to_owned(),
            |time| format!("was not renewed since {}", format_time(&time)),
        );
        format!("{} {since}", self.object)
    }

    /// Whether an act was done while the Lease was still valid, so that it shows no more than the Lease.
    pub(super) fn outlasts(&self, act: Time) -> bool {
        if self.sign == SignOfLife::Odd {
            return false;
        }
        let valid = chrono::Duration::from_std(self.duration * LEASE_PERIODS).ok();
        let until = self.renewed.zip(valid).and_then(|(it, valid)| it.checked_add_signed(valid));
        until.is_some_and(|until| act <= until)
    }
}

/// Returns the duration of a Lease, or the default.
fn duration(lease: &Lease) -> Duration {
    let seconds = lease.duration_seconds;
    seconds.map_or(LEASE_DEFAULT, |seconds| Duration::from_secs(seconds.into()))
}

/// Describes the last renewal of a Lease.
fn last_renewed(time: Option<Time>, holder: Option<&str>) -> String {
    let by = holder.map_or_else(String::new, |holder| format!(" by {holder}"));
    match time {
        Some(time) => format!("last renewed at {}{by}", format_time(&time)),
        None => format!("never renewed{by}"),
    }
}

impl ControllerSearch<'_, '_> {
    /// Weighs the last renewal of a Lease. The lists of a dump of another tool are of different moments:
    /// a Lease is old there only against those that were listed beside it.
    fn renewal(&mut self, lease: &Lease) -> SignOfLife {
        let within = duration(lease) * LEASE_PERIODS;
        let by_clock = self.sign(lease.renewed, within);
        let (Some(renewed), SignOfLife::Old | SignOfLife::Recent) = (lease.renewed, by_clock)
        else {
            return by_clock;
        };
        match lease.read {
            LeaseMoment::Clock => by_clock,
            LeaseMoment::Beside(latest) => {
                let lag = (latest - renewed).to_std().unwrap_or_default();
                let lead = (renewed - latest).to_std().unwrap_or_default();
                // Leases that have all been old for so long prove no running control plane.
                let is_abandoned = self.cx.passed(latest, ABANDONED);
                match (lag > within, lead > within, is_abandoned) {
                    (true, ..) => SignOfLife::Old,
                    // One that ended long before tells nothing of it.
                    (false, true, _) => by_clock.or_odd(),
                    (false, false, true) => by_clock,
                    (false, false, false) => SignOfLife::Recent,
                }
            }
            LeaseMoment::Alone => by_clock.or_odd(),
        }
    }

    /// Looks for the Leases of the controller: of all with its name, in all namespaces, the youngest counts.
    pub(super) fn lease(&mut self) -> ProbeOutcome {
        let names = names(self.role, self.driver);
        let mut odd = None;
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
                let renewed = self.renewal(lease);
                // A holder that releases a Lease empties the field.
                let holder = lease.holder.as_deref().filter(|holder| !holder.is_empty());
                let latest = last_renewed(lease.renewed, holder);
                match (renewed, holder) {
                    (SignOfLife::Recent, Some(_)) => {
                        self.has_fresh_lease = true;
                        let found = format!("{object} has not expired");
                        return self.probe_of("lease", found, Some(latest), ProbeOutcome::Alive);
                    }
                    (SignOfLife::Odd, Some(_)) => {
                        odd = Some((object.clone(), latest.clone(), lease.read));
                    }
                    (_, _) => {}
                }
                if self.lease.as_ref().is_none_or(|known| known.is_followed_by(lease, renewed)) {
                    self.lease = Some(LastLease {
                        object,
                        renewed: lease.renewed,
                        duration: duration(lease),
                        held: holder.is_some(),
                        sign: renewed,
                        latest,
                    });
                }
            }
        }
        if let Some((object, latest, read)) = odd {
            let found = match read {
                LeaseMoment::Clock => {
                    format!("{object} was renewed at a time that may be in the future")
                }
                LeaseMoment::Beside(_) | LeaseMoment::Alone => {
                    format!("no Lease that was read with {object} tells whether it has expired")
                }
            };
            self.objects_to_word(|| found.clone());
            return self.probe_of("lease", found, Some(latest), ProbeOutcome::Trace);
        }
        // Besides an old Lease there may be another one of that name that was not read.
        if let Err(unseen) = self.cx.all_of(Kind::Lease) {
            return self.probe("lease", unseen.reason.clone(), ProbeOutcome::Unseen(unseen));
        }
        // The Leases of a driver remain after it was uninstalled: old ones are no trace of it.
        let (found, latest) = match &self.lease {
            None => (format!("no Lease {}", names.join(" or ")), None),
            Some(LastLease { object, held: true, latest, .. }) => {
                (format!("{object} has expired"), Some(latest.clone()))
            }
            Some(LastLease { object, latest, .. }) => {
                (format!("{object} has no holder"), Some(latest.clone()))
            }
        };
        self.probe_of("lease", found, latest, ProbeOutcome::Nothing)
    }
}

/// Returns the names of the Leases of a controller.
fn names(role: ControllerRole, driver: &str) -> Vec<String> {
    let mut names = match role {
        ControllerRole::Provisioner => provisioner_leases(driver),
        ControllerRole::Attacher => {
            vec![format!("external-attacher-leader-{}", sanitize(driver))]
        }
        ControllerRole::CsiSnapshotter => {
            vec![format!("external-snapshotter-leader-{}", sanitize(driver))]
        }
        ControllerRole::Resizer => vec![format!("external-resizer-{}", sanitize(driver))],
        ControllerRole::Snapshotter => vec!["snapshot-controller-leader".to_owned()],
        ControllerRole::ControllerManager => vec!["kube-controller-manager".to_owned()],
    };
    names.dedup();
    names
}

/// Returns the Leases of a controller, as far as they were read.
pub(crate) fn leases<'a>(cx: &Cx<'a>, role: ControllerRole, driver: &str) -> Vec<&'a Lease> {
    let named = |name: String| cx.leases_named(&name).unwrap_or_default();
    names(role, driver).into_iter().flat_map(named).collect()
}

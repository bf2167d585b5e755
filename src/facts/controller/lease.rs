//! The Leases of a controller.

use std::time::Duration;

use super::{ControllerSearch, ProbeOutcome, SignOfLife};
use crate::cluster::Cx;
use crate::facts::driver_names::{provisioner_leases, sanitize};
use crate::model::{ControllerRole, Kind, Lease, LeaseMoment, Time, format_time};

/// A Lease counts as renewed for this many times its own duration.
const LEASE_PERIODS: u32 = 3;
/// How long the newest of some Leases may have been renewed before the time of a dump.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// The duration of a Lease without one.
const LEASE_DEFAULT: Duration = Duration::from_secs(15);

/// The Lease of a controller that was renewed last, and is not fresh.
#[derive(Debug)]
pub(super) struct LastLease {
    /// Its object, as reports name it.
    object: String,
    /// When it was renewed or released.
    renewed: Option<Time>,
    /// Its duration.
    pub(super) duration: Duration,
    /// Whether it has a holder: one that ends properly releases it.
    pub(super) held: bool,
    /// What its last renewal proves.
    sign: SignOfLife,
    latest: String,
}

impl LastLease {
    /// Whether a holder stopped renewing it.
    pub(super) fn expired(&self) -> bool {
        self.held && self.sign == SignOfLife::Old
    }

    /// Whether another Lease of the same name counts instead: the younger one. A time that may be in
    /// the future tells of no age, and anybody with a namespace can write one.
    fn is_followed_by(&self, lease: &Lease, sign: SignOfLife) -> bool {
        match (self.sign == SignOfLife::Odd, sign == SignOfLife::Odd) {
            (true, false) => true,
            (false, true) => false,
            (true, true) | (false, false) => self.renewed <= lease.renewed,
        }
    }

    /// In words that stand by themselves.
    pub(super) fn describe(&self) -> String {
        let since = self.renewed.map_or_else(
            || "was never renewed".to_owned(),
            |time| format!("was not renewed since {}", format_time(&time)),
        );
        format!("{} {since}", self.object)
    }

    /// Whether an act was done while the Lease was still valid: it shows no more than the Lease.
    pub(super) fn outlasts(&self, act: Time) -> bool {
        if self.sign == SignOfLife::Odd {
            return false;
        }
        let valid = chrono::Duration::from_std(self.duration * LEASE_PERIODS).ok();
        let until = self.renewed.zip(valid).and_then(|(it, valid)| it.checked_add_signed(valid));
        until.is_some_and(|until| act <= until)
    }
}

/// The duration of a Lease.
fn duration(lease: &Lease) -> Duration {
    let seconds = lease.duration_seconds;
    seconds.map_or(LEASE_DEFAULT, |seconds| Duration::from_secs(seconds.into()))
}

/// The last renewal of a Lease, in words.
fn last_renewed(time: Option<Time>, holder: Option<&str>) -> String {
    let by = holder.map_or_else(String::new, |holder| format!(" by {holder}"));
    match time {
        Some(time) => format!("last renewed at {}{by}", format_time(&time)),
        None => format!("never renewed{by}"),
    }
}

impl ControllerSearch<'_, '_> {
    /// Weighs the last renewal of a Lease. The lists of somebody else's dump are of different moments:
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

    /// Its Leases: of all with its name, in all namespaces, the youngest counts.
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

/// The names of the Leases of a controller.
fn names(role: ControllerRole, driver: &str) -> Vec<String> {
    let mut names = match role {
        ControllerRole::Provisioner => provisioner_leases(driver),
        ControllerRole::Attacher => {
            vec![format!("external-attacher-leader-{}", sanitize(driver))]
        }
        ControllerRole::CsiSnapshotter => {
            vec![format!("external-snapshotter-leader-{}", sanitize(driver))]
        }
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

//! Whether a controller is alive, absent, or neither proven (SEMANTICS 0.7).

use std::time::Duration;

use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{
    ControllerState, Fact, FactKey, Kind, Liveness, ObjectRef, PodPhase, Probe, Role, Sidecars,
    Text, Threshold, Time,
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

/// Derives the state of a controller from what is seen now.
pub(super) fn derive(cx: &Cx, role: Role, driver: &Text) -> ControllerState {
    Search { cx, role, driver, probes: Vec::new(), runs_in: Vec::new() }.state()
}

/// Replaces what neither finalizers nor Leases may contain
/// (external-attacher `SanitizeDriverName`; csi-lib-utils `sanitizeName`).
pub fn sanitize(driver: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    let mut name: String = driver.chars().map(plain).collect();
    if name.ends_with('-') {
        name.push('X');
    }
    name
}

struct Search<'a, 'b> {
    cx: &'b Cx<'a>,
    role: Role,
    driver: &'b Text,
    probes: Vec<Probe>,
    runs_in: Vec<ObjectRef>,
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
        let (role, driver) = (self.role, self.driver);
        let all_negative = answers.iter().all(|says| matches!(says, Says::Nothing));
        let declared = self.cx.settings().absent_drivers.contains(driver);
        let sighting = self.cx.sighting(role, driver);
        let wait = self.cx.settings().thresholds.get(Threshold::DriverAbsent);
        let (liveness, because) = if answers.iter().any(|says| matches!(says, Says::Alive)) {
            (Liveness::Alive, "it is at work".to_owned())
        } else if answers.iter().any(|says| matches!(says, Says::Unseen(_))) {
            (Liveness::Unknown, "not everything that would show it was seen".to_owned())
        } else if !all_negative {
            (
                Liveness::Unknown,
                "it is installed, or half removed, but was not seen at work".to_owned(),
            )
        } else if role == Role::ControllerManager {
            // Its Lease is the only trace it leaves, and it can be told not to keep one.
            (Liveness::Unknown, "it keeps no Lease that was seen".to_owned())
        } else if declared {
            (Liveness::Absent, "nothing of it was found, and --driver-absent says so".to_owned())
        } else if sighting.is_some_and(|since| self.cx.passed(since, wait)) {
            (Liveness::Absent, "nothing of it was found, now and for long enough".to_owned())
        } else {
            (
                Liveness::Unknown,
                "nothing of it was found, but not for long enough: it may be half of a reinstall"
                    .to_owned(),
            )
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
            because,
            probes: self.probes,
            all_negative,
            runs_in: self.runs_in,
        }
    }

    fn probe(&mut self, what: &'static str, found: String, says: Says) -> Says {
        self.probes.push(Probe { what, found });
        says
    }

    fn lease(&mut self) -> Says {
        let mut names = match self.role {
            Role::Provisioner => vec![sanitize(self.driver), self.driver.replace('/', "-")],
            Role::Attacher => vec![format!("external-attacher-leader-{}", sanitize(self.driver))],
            Role::Snapshotter => vec!["snapshot-controller-leader".to_owned()],
            Role::ControllerManager => vec!["kube-controller-manager".to_owned()],
        };
        names.dedup();
        let mut stale = None;
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
                let fresh = lease.renewed.is_some_and(|time| {
                    lease.holder.is_some() && !self.cx.passed(time, period * LEASE_PERIODS)
                });
                if fresh {
                    return self.probe("lease", format!("{object} is being renewed"), Says::Alive);
                }
                stale = Some(object);
            }
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
            .filter(|workload| served(&workload.sidecars))
            .map(|workload| (workload.object(), workload.replicas))
            .collect();
        if let Some((object, replicas)) = found.first() {
            let replicas = replicas.map_or(String::new(), |n| format!(", {n} replicas"));
            let text = format!("{object} would run it{replicas}");
            self.runs_in.extend(found.into_iter().map(|(object, _)| object));
            return self.probe("workload", text, Says::Trace);
        }
        let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet];
        match kinds.into_iter().map(|kind| self.cx.all_of(kind)).collect::<Seen<()>>() {
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
        let recent = |time: Option<Time>| time.is_some_and(|time| !self.cx.passed(time, within));
        let manager = match self.role {
            Role::Provisioner => "csi-provisioner",
            Role::Attacher => "csi-attacher",
            Role::Snapshotter => "snapshot-controller",
            Role::ControllerManager => "kube-controller-manager",
        };
        let wrote = self.cx.volumes_of_driver(self.driver).find(|volume| {
            volume
                .metadata
                .managers
                .iter()
                .any(|owner| owner.manager.contains(manager) && recent(owner.time))
        });
        if let Some(volume) = wrote {
            let found = format!("{manager} wrote to {} lately", volume.object());
            return self.probe("recent action", found, Says::Alive);
        }
        // The source of csi-provisioner's events is `<driver>_<pod>_<uuid>`.
        let prefix = format!("{}_", self.driver);
        let spoke = self.role == Role::Provisioner
            && !self.driver.is_empty()
            && self
                .cx
                .events()
                .any(|event| event.component.starts_with(&prefix) && recent(event.last_seen));
        if spoke {
            return self.probe("recent action", "it wrote events lately".to_owned(), Says::Alive);
        }
        match self.cx.all_of(Kind::Event).and_then(|()| self.cx.all_of(Kind::PersistentVolume)) {
            Ok(()) => self.probe("recent action", "none seen".to_owned(), Says::Nothing),
            Err(unseen) => self.probe("recent action", unseen.reason.clone(), Says::Unseen(unseen)),
        }
    }

    /// Whether these sidecars play the role for the driver, as far as they say whose they are.
    fn names_driver(&self, sidecars: &Sidecars) -> bool {
        self.plays_role(sidecars)
            && (matches!(self.role, Role::ControllerManager | Role::Snapshotter)
                || sidecars.mentions.iter().any(|text| mentions(text, self.driver)))
    }

    /// Whether these sidecars play the role for the driver, or do not say for whom.
    fn may_serve(&self, sidecars: &Sidecars) -> bool {
        self.plays_role(sidecars) && (self.names_driver(sidecars) || !self.serves_another(sidecars))
    }

    fn plays_role(&self, sidecars: &Sidecars) -> bool {
        let name = match self.role {
            Role::Provisioner => "csi-provisioner",
            Role::Attacher => "csi-attacher",
            Role::Snapshotter => "snapshot-controller",
            Role::ControllerManager => "kube-controller-manager",
        };
        sidecars.containers.iter().any(|container| image_name(&container.image).ends_with(name))
    }

    /// Whether these sidecars name a driver, and not this one.
    fn serves_another(&self, sidecars: &Sidecars) -> bool {
        sidecars
            .mentions
            .iter()
            .any(|text| named_driver(text).is_some_and(|name| name != &**self.driver))
    }
}

/// Returns the name of an image: no registry, tag or digest.
pub(super) fn image_name(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    let image = image.rsplit_once('/').map_or(image, |(_, name)| name);
    image.split_once(':').map_or(image, |(name, _)| name)
}

/// Whether a text names a driver as a whole word: `ebs.csi.aws.com` is not in `my-ebs.csi.aws.com`.
pub(super) fn mentions(text: &str, driver: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.match_indices(driver).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + driver.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// Returns the driver that a text names in one of the usual ways: `--drivername=X`,
/// `--driver-name=X`, or a kubelet plugin folder.
fn named_driver(text: &str) -> Option<&str> {
    let flag = text.trim_start_matches('-');
    for name in ["drivername=", "driver-name=", "driver_name="] {
        if let Some(driver) = flag.strip_prefix(name) {
            return Some(driver);
        }
    }
    let (_, rest) = text.split_once("/kubelet/plugins/")?;
    let folder = rest.split('/').next()?;
    folder.contains('.').then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sanitised_as_upstream_does() {
        for (driver, name) in [
            ("ebs.csi.aws.com", "ebs-csi-aws-com"),
            ("k8s.io/minikube-hostpath", "k8s-io-minikube-hostpath"),
            ("odd.", "odd-X"),
        ] {
            assert_eq!(sanitize(driver), name);
        }
    }

    #[test]
    fn images_are_known_by_their_last_part() {
        for (image, name) in [
            ("registry.k8s.io/sig-storage/csi-provisioner:v6.3.0", "csi-provisioner"),
            ("localhost:5000/csi-provisioner", "csi-provisioner"),
            ("mirror/x/csi-provisioner@sha256:abc", "csi-provisioner"),
            ("csi-provisioner", "csi-provisioner"),
        ] {
            assert_eq!(image_name(image), name, "{image}");
        }
    }

    #[test]
    fn a_driver_is_mentioned_as_a_whole_word_only() {
        assert!(mentions("--drivername=a.example", "a.example"));
        assert!(mentions("/var/lib/kubelet/plugins/a.example/csi.sock", "a.example"));
        assert!(!mentions("--drivername=not-a.example", "a.example"));
        assert!(!mentions("--drivername=a.example.org", "a.example"));
        assert_eq!(named_driver("--drivername=b"), Some("b"));
        assert_eq!(named_driver("/var/lib/kubelet/plugins/b.example/"), Some("b.example"));
        assert_eq!(named_driver("--v=5"), None);
    }
}

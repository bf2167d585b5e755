//! Controllers that serve storage: their roles, how sidecars are recognised, whether one is running, and the Leases and
//! events that they write.

use std::{sync::LazyLock, time::Duration};

use memchr::memmem::Finder;

use super::{Kind, Metadata, ObjectKey, ObjectRef, Text, Time, Uid};

/// The role of a controller in the life of volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControllerRole {
    /// csi-provisioner, or another external provisioner: makes and deletes backend volumes.
    Provisioner,
    /// external-attacher.
    Attacher,
    /// snapshot-controller and csi-snapshotter.
    Snapshotter,
    /// csi-snapshotter of one driver, which makes the driver take and delete snapshots.
    CsiSnapshotter,
    /// external-resizer: has the driver grow backend volumes.
    Resizer,
    /// kube-controller-manager.
    ControllerManager,
}

impl ControllerRole {
    /// Returns the name of the role in evidence and journals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provisioner => "provisioner",
            Self::Attacher => "attacher",
            Self::Snapshotter => "snapshotter",
            Self::CsiSnapshotter => "csi-snapshotter",
            Self::Resizer => "resizer",
            Self::ControllerManager => "kube-controller-manager",
        }
    }

    /// The roles that each driver fills for itself.
    pub const OF_DRIVERS: [Self; 5] =
        [Self::Provisioner, Self::Attacher, Self::Snapshotter, Self::CsiSnapshotter, Self::Resizer];

    /// Returns a part of the name under which the controller writes, in `metadata.managedFields`.
    pub const fn field_manager(self) -> &'static str {
        match self {
            Self::Provisioner => "csi-provisioner",
            Self::Attacher => "csi-attacher",
            Self::Snapshotter => "snapshot-controller",
            Self::CsiSnapshotter => "csi-snapshotter",
            Self::Resizer => "csi-resizer",
            Self::ControllerManager => "kube-controller-manager",
        }
    }
}

impl ControllerRole {
    /// All roles.
    pub const ALL: [Self; 6] = [
        Self::Provisioner,
        Self::Attacher,
        Self::Snapshotter,
        Self::CsiSnapshotter,
        Self::Resizer,
        Self::ControllerManager,
    ];

    /// Whether an image is that of the role's controller, by the names under which it is published:
    /// upstream's, those of EKS and of `OpenShift`.
    pub fn is_played_by(self, image: &str) -> bool {
        let name = image_name(image);
        // Red Hat's images end in the version of their base: ose-csi-external-provisioner-rhel9.
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let name = digits.strip_suffix("-rhel").unwrap_or(name);
        let published = |sidecar: &str, upstream: &str| {
            name.ends_with(sidecar)
                || name == upstream
                || name.strip_suffix(upstream).is_some_and(|before| before.ends_with("csi-"))
        };
        match self {
            Self::Provisioner => published("csi-provisioner", "external-provisioner"),
            Self::Attacher => published("csi-attacher", "external-attacher"),
            Self::Snapshotter => {
                name.ends_with("snapshot-controller")
                    || published("csi-snapshotter", "external-snapshotter")
            }
            Self::CsiSnapshotter => published("csi-snapshotter", "external-snapshotter"),
            Self::Resizer => published("csi-resizer", "external-resizer"),
            Self::ControllerManager => name.ends_with("kube-controller-manager"),
        }
    }

    /// Whether the name of an image or a container contains a word that every sidecar has in its
    /// name. A quick test: it runs for every container in the cluster, and nearly all fail it.
    pub fn may_be_meant(name: &str) -> bool {
        static WORDS: LazyLock<[Finder<'static>; 6]> = LazyLock::new(|| {
            [
                "provisioner",
                "attacher",
                "snapshot",
                "resizer",
                "kube-controller-manager",
                "diskmaker",
            ]
            .map(Finder::new)
        });
        WORDS.iter().any(|word| word.find(name.as_bytes()).is_some())
    }

    /// Whether a container has a name that is usual for the role. Some distributions use one image
    /// name for all containers.
    pub fn is_called(self, container: &str) -> bool {
        let (sidecar, others): (&str, &[&str]) = match self {
            Self::Provisioner => {
                ("csi-provisioner", &["csi-external-provisioner", "external-provisioner"])
            }
            Self::Attacher => ("csi-attacher", &["csi-external-attacher", "external-attacher"]),
            Self::Snapshotter => (
                "csi-snapshotter",
                &["external-snapshotter", "snapshot-controller", "csi-snapshot-controller"],
            ),
            Self::CsiSnapshotter => {
                ("csi-snapshotter", &["csi-external-snapshotter", "external-snapshotter"])
            }
            Self::Resizer => ("csi-resizer", &["csi-external-resizer", "external-resizer"]),
            Self::ControllerManager => ("kube-controller-manager", &[]),
        };
        let prefixed = container.strip_suffix(sidecar);
        prefixed.is_some_and(|before| before.is_empty() || before.ends_with('-'))
            || others.contains(&container)
    }

    /// Whether an image may be that of the role's sidecar, under a changed name. This is enough to
    /// not call the controller absent, and never enough to call it running.
    pub fn may_be_played_by(self, image: &str) -> bool {
        let name = image_name(image);
        let names: &[&str] = match self {
            Self::Provisioner => &["csi-provisioner", "csi-external-provisioner"],
            Self::Attacher => &["csi-attacher", "external-attacher"],
            Self::Snapshotter => {
                &["csi-snapshotter", "snapshot-controller", "external-snapshotter"]
            }
            Self::CsiSnapshotter => &["csi-snapshotter", "external-snapshotter"],
            Self::Resizer => &["csi-resizer", "external-resizer"],
            Self::ControllerManager => &["kube-controller-manager"],
        };
        self.is_played_by(image)
            || names.iter().any(|known| name.contains(known))
            || self == Self::Provisioner && name.starts_with("external-provisioner")
    }
}

/// Returns the name of an image: no registry, tag or digest.
pub fn image_name(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    let image = image.rsplit_once('/').map_or(image, |(_, name)| name);
    image.split_once(':').map_or(image, |(name, _)| name)
}

/// Liveness of a controller: running, absent or neither (semantics#controller-state).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// Evidence proves that the controller is running.
    Alive,
    /// Every probe found nothing, for longer than the threshold; or the user asserts that the controller is absent.
    Absent,
    /// Neither is proven: the controller is restarting, scaled to zero, partly removed, or was not read.
    Unknown,
}

impl Liveness {
    /// Returns the name of the liveness in evidence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Absent => "absent",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the liveness in the words of a sentence.
    const fn describe(self) -> &'static str {
        match self {
            Self::Alive => "running",
            Self::Absent | Self::Unknown => self.name(),
        }
    }
}

/// State of one controller: whether it is running, and the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerState {
    /// The verdict.
    pub liveness: Liveness,
    /// The reason, in a few words; for a running controller the evidence.
    pub because: String,
    /// The latest evidence: its time and source. It changes all the time and does not count as a
    /// change of the fact.
    pub latest: Option<String>,
    /// Every probe with its result.
    pub probes: Vec<Probe>,
    /// Whether all probes found nothing, over however short a time.
    pub all_negative: bool,
    /// The kind that was not read and why, if this is the reason for `Unknown`.
    pub unseen: Option<(Kind, String)>,
    /// The workloads and pods that run the controller, or would.
    pub runs_in: Vec<ObjectRef>,
    /// The only workload that runs the controller, if that is scaled to zero.
    pub scaled_to_zero: Option<ObjectRef>,
    /// Evidence that the controller is not at work: an expired Lease, or no replicas. `None` where merely nothing shows
    /// it at work.
    pub stopped: Option<String>,
    /// The duration of the controller's expired Lease, if that is part of why it is absent: the clock of its holder may
    /// be wrong, so that a second reading has to confirm it before anything is written.
    pub expired_lease: Option<Duration>,
}

impl ControllerState {
    /// Describes the state in one line, with the evidence.
    pub fn describe(&self) -> String {
        format!("{}: {}", self.liveness.describe(), with(&self.because, self.latest.as_deref()))
    }

    /// Whether both states agree, apart from the latest evidence.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let lasting = |state: &Self| {
            let mut state = state.clone();
            state.latest = None;
            state.probes.iter_mut().for_each(|probe| probe.latest = None);
            state
        };
        lasting(self) == lasting(other)
    }
}

fn with(found: &str, latest: Option<&str>) -> String {
    latest.map_or_else(|| found.to_owned(), |latest| format!("{found}: {latest}"))
}

/// Probe of a controller: one way of looking for it, with the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The evidence that was looked for.
    pub what: &'static str,
    /// The result.
    pub found: String,
    /// The latest evidence: its time and source.
    pub latest: Option<String>,
}

impl Probe {
    /// Describes the result with the latest evidence.
    pub fn describe(&self) -> String {
        with(&self.found, self.latest.as_deref())
    }
}

/// An earlier run's record that every probe for a controller found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The role of the controller.
    pub role: ControllerRole,
    /// The driver of the controller; empty for the controller manager.
    pub driver: Text,
    /// Time at which all probes were first negative, without a positive one since.
    pub absent_since: Time,
}

/// A `Lease`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Name.
    pub metadata: Metadata,
    /// Namespace of the Lease.
    pub namespace: Text,
    /// `spec.holderIdentity`; empty after the holder released the Lease.
    pub holder: Option<Box<str>>,
    /// `spec.renewTime`.
    pub renewed: Option<Time>,
    /// `spec.leaseDurationSeconds`.
    pub duration_seconds: Option<u32>,
    /// The moment at which the Lease was read.
    pub read: LeaseMoment,
}

/// Moment at which a Lease was read, by which it was renewed in time or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaseMoment {
    /// The time of the cluster's clock.
    #[default]
    Clock,
    /// The time of a list in a dump of another tool, until which its other Leases were renewed.
    Beside(Time),
    /// Unknown: in such a list, no other Lease shows the time.
    Alone,
}

/// An `Event` about a volume, a claim or a set, or about a pod that waits for a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's own namespace and name.
    pub namespace: Text,
    /// The event's own name.
    pub name: Box<str>,
    /// The object that the event is about.
    pub about: ObjectKey,
    /// The uid of that object.
    pub about_uid: Option<Uid>,
    /// `reason`.
    pub reason: Text,
    /// `message`; only the beginning if it is longer than any that Kubernetes writes.
    pub message: Box<str>,
    /// `type` is `Warning`.
    pub warning: bool,
    /// The reporter: `reportingComponent` or `source.component`.
    pub component: Text,
    /// Number of occurrences, as far as the event tells; 0 if it does not.
    pub count: u32,
    /// Time of the first occurrence: the earliest of the event's times.
    pub first_seen: Option<Time>,
    /// Time of the last occurrence: the latest of the event's times.
    pub last_seen: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The short cut must not leave out what the long way would have found.
    #[test]
    fn every_name_of_a_sidecar_has_one_of_the_words() {
        let parts =
            ["csi", "external", "provisioner", "attacher", "snapshotter", "snapshot", "resizer"];
        let more = ["controller", "kube", "manager", "kube-controller-manager"];
        let parts: Vec<&str> = parts.into_iter().chain(more).collect();
        let mut names = 0;
        for a in &parts {
            for b in &parts {
                for c in &parts {
                    for name in [(*a).to_owned(), format!("{a}-{b}"), format!("{a}-{b}-{c}")] {
                        let known = |role: ControllerRole| {
                            role.may_be_played_by(&name) || role.is_called(&name)
                        };
                        if ControllerRole::ALL.into_iter().any(known) {
                            names += 1;
                            assert!(ControllerRole::may_be_meant(&name), "{name}");
                        }
                    }
                }
            }
        }
        assert!(names > 20, "{names}");
    }

    #[test]
    fn sidecars_are_known_by_the_names_they_are_published_by() {
        for (image, is_provisioner) in [
            ("registry.k8s.io/sig-storage/csi-provisioner:v6.3.0", true),
            ("public.ecr.aws/eks-distro/kubernetes-csi/external-provisioner:v5.1.0-eks-1", true),
            ("registry.redhat.io/openshift4/ose-csi-external-provisioner:v4.15.0", true),
            ("registry.redhat.io/openshift4/ose-csi-external-provisioner-rhel9:v4.18.0", true),
            ("mirror/csi-provisioner-arm64:v6", false),
            ("registry.k8s.io/sig-storage/nfs-subdir-external-provisioner:v4.0.2", false),
            ("registry.k8s.io/sig-storage/csi-attacher:v4.13.0", false),
        ] {
            assert_eq!(ControllerRole::Provisioner.is_played_by(image), is_provisioner, "{image}");
        }
    }
}

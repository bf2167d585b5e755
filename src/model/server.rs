//! An API server: its version, its namespaces, and the admission objects that the guard consists of.

use serde_json::Value;

use super::{Kind, Metadata, ObjectRef};

/// The server's version and the cluster's identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// Uid of the namespace `kube-system`: the nearest thing to a cluster id.
    pub cluster_uid: Option<Box<str>>,
    /// The URL it was reached at, or that a dump recorded.
    pub url: Option<Box<str>>,
    /// `gitVersion`.
    pub git_version: Option<Box<str>>,
    /// Major and minor version, the emulated one where the server emulates an older one.
    pub version: Option<(u32, u32)>,
    /// Where that is unknown: the lowest and the highest that its kubelets allow.
    pub allowed: Option<[(u32, u32); 2]>,
}

/// How many minor versions a kubelet may be older than its API server (version skew policy).
const SKEW: u32 = 3;

impl Server {
    /// What kubelets of these versions tell: no server is older than the newest of them, or newer by
    /// more than the allowed skew than the oldest.
    pub fn of_kubelets(kubelets: impl Iterator<Item = (u32, u32)>) -> Option<Self> {
        let kubelets: Vec<_> = kubelets.collect();
        let (newest, oldest) = (*kubelets.iter().max()?, *kubelets.iter().min()?);
        let most = (oldest.0, oldest.1 + SKEW);
        // A cluster beyond the skew allows nothing to be told of its upper end.
        let allowed = Some([newest, most.max(newest)]);
        Some(Self { allowed, ..Self::default() })
    }

    /// Whether it is known to be at least this version, or not to be; `None` when neither is known.
    pub fn at_least(&self, major: u32, minor: u32) -> Option<bool> {
        if let Some(version) = self.version {
            return Some(version >= (major, minor));
        }
        let [least, most] = self.allowed?;
        match (least >= (major, minor), most < (major, minor)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

/// The names of the guard's policies and bindings begin so, and go on with the plural of a kind.
pub const GUARD_NAME: &str = "kubectl-storage-guard";

/// A `Namespace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Name, labels.
    pub metadata: Metadata,
}

impl Namespace {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// A `ValidatingAdmissionPolicy` or its binding, of those that have a name of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionObject {
    /// Whether it is a policy or a binding.
    pub kind: Kind,
    /// Name, labels.
    pub metadata: Metadata,
    /// The object with the fields that the guard decides about, and a policy's status.
    pub document: Value,
}

impl AdmissionObject {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_bound_their_server() {
        let of = |kubelets: &[u32]| Server::of_kubelets(kubelets.iter().map(|minor| (1, *minor)));
        for (kubelets, minor, expected) in [
            (&[30][..], 30, Some(true)),
            (&[30], 31, None),
            (&[30], 33, None),
            (&[30], 34, Some(false)),
            (&[30, 31], 31, Some(true)),
            (&[30, 31], 33, None),
            (&[30, 31], 34, Some(false)),
            // Beyond the skew: the newest counts.
            (&[20, 31], 31, Some(true)),
        ] {
            let server = of(kubelets).expect("there are kubelets");
            assert_eq!(server.at_least(1, minor), expected, "{kubelets:?} {minor}");
        }
        assert_eq!(of(&[]), None);
    }
}

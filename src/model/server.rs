//! API servers: their version and namespaces, and the admission objects of the guard.

use serde_json::Value;

use super::{Kind, Metadata, ObjectRef};

/// The server's version and the cluster's identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// Uid of the namespace `kube-system`: the nearest thing to a cluster id.
    pub cluster_uid: Option<Box<str>>,
    /// The URL at which the server was reached, or that a dump recorded.
    pub url: Option<Box<str>>,
    /// `gitVersion`.
    pub git_version: Option<Box<str>>,
    /// Major and minor version, the emulated one where the server emulates an older one.
    pub version: Option<(u32, u32)>,
    /// The lowest and the highest version that the kubelets allow, where the server's own is unknown.
    pub allowed: Option<[(u32, u32); 2]>,
}

/// Number of minor versions by which a kubelet may be older than its API server (version skew policy).
const SKEW: u32 = 3;

impl Server {
    /// Returns the server that kubelets of these versions allow: none is older than the newest of them, or newer by
    /// more than the allowed skew than the oldest.
    pub fn of_kubelets(kubelets: impl Iterator<Item = (u32, u32)>) -> Option<Self> {
        let kubelets: Vec<_> = kubelets.collect();
        let (newest, oldest) = (*kubelets.iter().max()?, *kubelets.iter().min()?);
        let most = (oldest.0, oldest.1 + SKEW);
        // A cluster beyond the skew allows nothing to be told of its upper end.
        let allowed = Some([newest, most.max(newest)]);
        Some(Self { allowed, ..Self::default() })
    }

    /// Whether the server is known to be at least this version, or not to be; `None` when neither is known.
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

/// Beginning of the names of the guard's policies and bindings, which go on with the plural of a kind.
pub const GUARD_NAME: &str = "kubectl-storage-guard";

/// A `Namespace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Name, labels.
    pub metadata: Metadata,
}

impl Namespace {
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// A `ValidatingAdmissionPolicy` or its binding, of those that have a name of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionObject {
    /// Kind of the object: a policy or a binding.
    pub kind: Kind,
    /// Name, labels.
    pub metadata: Metadata,
    /// The object with the fields that the guard decides about, and a policy's status.
    pub document: Value,
}

impl AdmissionObject {
    /// Returns the reference that reports print.
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

//! The version of an API server.

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
}

impl Server {
    /// Whether it is known to be at least this version; `None` when the version is not known.
    pub fn at_least(&self, major: u32, minor: u32) -> Option<bool> {
        self.version.map(|version| version >= (major, minor))
    }
}

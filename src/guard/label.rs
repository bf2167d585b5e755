//! The label by which a namespace chooses what the guard does in it.

/// The label of a namespace.
pub const GUARD_LABEL: &str = "storage.kubectl.dev/guard";

/// What the guard does in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceMode {
    /// It refuses.
    Deny,
    /// It warns: the namespace has no label, or the label `warn`.
    Warn,
    /// It does nothing.
    Off,
    /// The label has a value that the guard does not know: it warns.
    Unknown,
}

impl NamespaceMode {
    /// Returns what a value of the label means.
    pub fn of(label: Option<&str>) -> Self {
        match label {
            Some("deny") => Self::Deny,
            Some("off") => Self::Off,
            None | Some("warn") => Self::Warn,
            Some(_) => Self::Unknown,
        }
    }
}

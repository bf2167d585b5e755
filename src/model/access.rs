//! How a volume is mounted, or is to be: access modes and volume mode.

use std::fmt;

/// `spec.accessModes` and `spec.volumeMode` of a volume or a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// `spec.accessModes`.
    pub modes: AccessModes,
    /// Whether `spec.volumeMode` is `Block`.
    pub is_block: bool,
}

impl Access {
    /// Returns `spec.volumeMode`.
    pub const fn volume_mode(self) -> &'static str {
        if self.is_block { "Block" } else { "Filesystem" }
    }
}

/// Access modes, in a byte: there may be very many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessModes(u8);

/// The modes that this version knows, in the order in which kubectl shows them.
const MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
/// A mode that this version does not know.
const UNKNOWN: u8 = 1 << 7;

impl AccessModes {
    /// Reads the modes in a list.
    pub fn of<T: AsRef<str>>(modes: &[T]) -> Self {
        let bit = |mode: &T| {
            let known = MODES.iter().position(|it| *it == mode.as_ref());
            known.map_or(UNKNOWN, |index| 1 << index)
        };
        Self(modes.iter().map(bit).fold(0, |all, one| all | one))
    }

    /// Returns the names of those that this version knows.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        MODES
            .into_iter()
            .enumerate()
            .filter(move |(index, _)| self.0 & 1 << index != 0)
            .map(|it| it.1)
    }

    /// Whether these contain all of others. Of modes that this version does not know that is unknown,
    /// and no.
    pub const fn contain(self, others: Self) -> bool {
        others.0 & !self.0 == 0 && others.0 & UNKNOWN == 0
    }

    /// Whether there is one that this version does not know.
    pub const fn has_unknown(self) -> bool {
        self.0 & UNKNOWN != 0
    }
}

impl fmt::Display for AccessModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown = self.has_unknown().then_some("an unknown mode");
        let all: Vec<_> = self.names().chain(unknown).collect();
        f.write_str(if all.is_empty() { "none" } else { "" })?;
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_compared_as_sets() {
        let once = AccessModes::of(&["ReadWriteOnce"]);
        let both = AccessModes::of(&["ReadWriteMany", "ReadWriteOnce"]);
        let odd = AccessModes::of(&["ReadWriteOnce", "ReadWriteTwice"]);
        assert!(both.contain(once) && once.contain(once) && !once.contain(both));
        assert!(!odd.contain(odd) && odd.contain(once) && !both.contain(odd));
        assert_eq!(both.to_string(), "ReadWriteOnce, ReadWriteMany");
        assert_eq!(odd.to_string(), "ReadWriteOnce, an unknown mode");
        assert_eq!(AccessModes::default().to_string(), "none");
    }
}

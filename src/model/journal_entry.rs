//! How people name an entry of the journal.

use std::fmt;
use std::str::FromStr;

use super::{Text, is_namespace_name};

/// Where a journal is. Each place has numbers of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum JournalPlace {
    /// In the file of this machine.
    #[default]
    Machine,
    /// In this namespace of the cluster.
    Cluster(Text),
}

impl fmt::Display for JournalPlace {
    /// As in "the journal …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => f.write_str("of this machine"),
            Self::Cluster(namespace) => write!(f, "in namespace {namespace}"),
        }
    }
}

/// An entry of the journal: `12` in the file of this machine, `c12` in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalEntryNumber {
    /// Where it is.
    pub place: JournalPlace,
    /// Its number there.
    pub sequence: u64,
}

impl JournalEntryNumber {
    /// Returns how a command names it: `12`, or `c12 --cluster-journal=NAMESPACE`.
    pub fn arguments(&self) -> String {
        match &self.place {
            JournalPlace::Machine => self.to_string(),
            JournalPlace::Cluster(namespace) => format!("{self} --cluster-journal={namespace}"),
        }
    }

    /// Reads what [`arguments`](Self::arguments) renders.
    pub fn of_arguments(text: &str) -> Option<Self> {
        let Some((number, namespace)) = text.split_once(" --cluster-journal=") else {
            let number: AskedEntry = text.parse().ok()?;
            return number.within(&JournalPlace::Machine).ok();
        };
        let place = JournalPlace::Cluster(Text::from(namespace));
        let number: AskedEntry = number.parse().ok()?;
        number.within(&place).ok().filter(|_| is_namespace_name(namespace))
    }
}

impl fmt::Display for JournalEntryNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            JournalPlace::Machine => write!(f, "{}", self.sequence),
            JournalPlace::Cluster(_) => write!(f, "c{}", self.sequence),
        }
    }
}

/// An entry as a user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedEntry {
    /// Its number.
    sequence: u64,
    /// Whether it is one of the cluster.
    in_cluster: bool,
}

/// Why a text names no entry, or none of this place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Neither a number nor a `c` with a number.
    #[error("expected a number such as 12, or c12 with --cluster-journal")]
    NoNumber,
    /// It is of the other place.
    #[error("entry c{0} is in the journal of the cluster: pass --cluster-journal")]
    InCluster(u64),
    /// It is of the other place.
    #[error(
        "entry {0} is in the journal of this machine: omit --cluster-journal, or pass c{0} for the \
         entry in the cluster"
    )]
    OnMachine(u64),
}

impl FromStr for AskedEntry {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, EntryError> {
        let (digits, in_cluster) = match text.strip_prefix('c') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let sequence = digits.parse().ok().filter(|_| !digits.starts_with('+'));
        Ok(Self { sequence: sequence.ok_or(EntryError::NoNumber)?, in_cluster })
    }
}

impl AskedEntry {
    /// Returns the entry in this place.
    ///
    /// # Errors
    /// When it is an entry of the other place.
    pub fn within(self, place: &JournalPlace) -> Result<JournalEntryNumber, EntryError> {
        let Self { sequence, in_cluster } = self;
        match (place, in_cluster) {
            (JournalPlace::Machine, true) => Err(EntryError::InCluster(sequence)),
            (JournalPlace::Cluster(_), false) => Err(EntryError::OnMachine(sequence)),
            _ => Ok(JournalEntryNumber { place: place.clone(), sequence }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_journals_have_numbers_of_their_own_and_each_refuses_the_others() {
        let cluster = JournalPlace::Cluster("ops".into());
        let asked = |text: &str| text.parse::<AskedEntry>();
        let of = |text: &str, place: &JournalPlace| asked(text).and_then(|it| it.within(place));
        for (text, place, arguments) in
            [("12", &JournalPlace::Machine, "12"), ("c12", &cluster, "c12 --cluster-journal=ops")]
        {
            let entry = of(text, place).expect("it is of this place");
            assert_eq!((entry.to_string(), entry.arguments()), (text.into(), arguments.into()));
            assert_eq!(JournalEntryNumber::of_arguments(arguments), Some(entry));
        }
        assert_eq!(of("c12", &JournalPlace::Machine), Err(EntryError::InCluster(12)));
        assert_eq!(of("12", &cluster), Err(EntryError::OnMachine(12)));
        for text in ["", "c", "-1", "+1", "c+1", "C1", "1c", "cc1", "99999999999999999999"] {
            assert_eq!(asked(text), Err(EntryError::NoNumber), "{text}");
        }
        assert_eq!(JournalEntryNumber::of_arguments("c1 --cluster-journal=a b"), None);
        assert_eq!(JournalEntryNumber::of_arguments("1 --cluster-journal=ops"), None);
    }
}

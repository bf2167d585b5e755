//! Coverage: which kinds were read, in which namespaces.

use std::collections::BTreeMap;

use super::{Gap, Reach};
use crate::model::{Kind, Text};

/// The result of a lookup: `Err` means that the answer depends on something that was not read.
pub type Seen<T> = Result<T, Unseen>;

/// What was not read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unseen {
    /// The kind.
    pub kind: Kind,
    /// The namespace, or `None` for all.
    pub namespace: Option<Text>,
    /// The reason, for the user: lower case, no full stop.
    pub reason: String,
}

/// How far a kind was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// A list is being read since this point in the order of changes.
    Listing { began: u64 },
    /// Read completely, by a list that began and ended at these points in the order of changes.
    Seen { began: u64, ended: u64 },
    /// Not read, or not completely.
    Gap(Gap),
    /// The server does not serve it: no objects exist.
    NotServed,
    /// Not read, and only rules about the guard look at it: a gap where one of them has to.
    Withheld(Gap),
}

impl Coverage {
    /// The coverage of what a dump does not show, or not whole: few dumps hold kinds of the guard.
    pub fn unread(gap: Gap) -> Self {
        if gap.kind.is_of_guard() { Self::Withheld(gap) } else { Self::Gap(gap) }
    }
}

/// The coverage of every kind, as a whole and by namespace.
#[derive(Debug, Default)]
pub(super) struct Coverages(BTreeMap<Reach, Coverage>);

impl Coverages {
    /// Sets how far was read within reach, and returns whether that is something new.
    ///
    /// The whole includes every part: what was said of single namespaces is history as soon as
    /// anything is said of all. Otherwise the gap of a namespace that was deleted would remain, and
    /// the list of one that was deleted and created again would prove absence in the new one.
    pub(super) fn set(&mut self, reach: Reach, coverage: Coverage) -> bool {
        let before = self.0.len();
        if reach.namespace.is_none() {
            self.0.retain(|known, _| known.kind != reach.kind || known.namespace.is_none());
        }
        let drops_parts = self.0.len() < before;
        let is_known = self.0.get(&reach) == Some(&coverage);
        self.0.insert(reach, coverage);
        drops_parts || !is_known
    }

    pub(super) fn get(&self, reach: &Reach) -> Option<&Coverage> {
        self.0.get(reach)
    }

    /// Returns the coverage that answers for one namespace: its own, else that of the whole.
    pub(super) fn of(&self, kind: Kind, namespace: Option<&Text>) -> Option<&Coverage> {
        namespace
            .and_then(|namespace| {
                self.0.get(&Reach { kind, namespace: Some(Text::clone(namespace)) })
            })
            .or_else(|| self.0.get(&Reach::all(kind)))
    }

    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.0.values().filter_map(|coverage| match coverage {
            Coverage::Gap(gap) => Some(gap),
            _ => None,
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Reach, &Coverage)> {
        self.0.iter()
    }

    /// Returns whether everything within reach was read: when its list began and ended.
    pub(super) fn reach(&self, kind: Kind, namespace: Option<&Text>) -> Seen<(u64, u64)> {
        let unseen = |reason: String| Unseen { kind, namespace: namespace.cloned(), reason };
        match self.of(kind, namespace) {
            Some(Coverage::Seen { began, ended }) => Ok((*began, *ended)),
            Some(Coverage::NotServed) => Ok((u64::MAX, 0)),
            Some(Coverage::Gap(gap) | Coverage::Withheld(gap)) => Err(unseen(gap.reason.clone())),
            Some(Coverage::Listing { .. }) => {
                Err(unseen(format!("{} are still being listed", kind.plural())))
            }
            None => Err(unseen(format!("{} were not read", kind.plural()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_all_replaces_what_was_said_of_namespaces() {
        let (all, kind) = (Reach::all(Kind::Pod), Kind::Pod);
        let part = |kind: Kind| Reach { kind, namespace: Some("shop".into()) };
        let gap = |namespace: Option<Text>| {
            Coverage::Gap(Gap { kind, namespace, reason: "forbidden".to_owned() })
        };
        let seen = Coverage::Seen { began: 1, ended: 2 };
        for whole in [gap(None), Coverage::NotServed, Coverage::Listing { began: 3 }, seen.clone()]
        {
            for before in [gap(Some("shop".into())), seen.clone()] {
                let mut coverages = Coverages::default();
                assert!(coverages.set(all.clone(), whole.clone()));
                assert!(!coverages.set(all.clone(), whole.clone()));
                assert!(coverages.set(part(kind), before.clone()));
                assert!(coverages.set(part(Kind::PersistentVolumeClaim), before.clone()));
                // Of the whole it is nothing new, but of its part.
                assert!(coverages.set(all.clone(), whole.clone()));
                assert_eq!(coverages.get(&part(kind)), None);
                assert_eq!(coverages.of(kind, Some(&"shop".into())), Some(&whole));
                // What is said of a part afterwards is of this part, and of no other kind.
                assert!(coverages.set(part(kind), before.clone()));
                assert_eq!(coverages.of(kind, Some(&"shop".into())), Some(&before));
                assert_eq!(coverages.of(kind, None), Some(&whole));
                assert_eq!(coverages.get(&part(Kind::PersistentVolumeClaim)), Some(&before));
            }
        }
    }
}

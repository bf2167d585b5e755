//! How extents and parts of two places compare.

use std::{borrow::Cow, cmp::Ordering};

use super::{ANY_NODE, Extent, Letters, Part, Relation};

impl Extent<'_> {
    pub(super) fn relation(
        &self,
        other: &Self,
        letters: Letters,
        doubt: &mut Option<Cow<'static, str>>,
    ) -> Option<Relation> {
        let path = |extent: &Self| match extent {
            Self::Directory(path) | Self::Within(path, _) => path.len(),
            Self::Device(_) | Self::Undecided(..) => 0,
        };
        match (self, other) {
            (Self::Undecided(mine, why), Self::Undecided(theirs, _)) if mine != theirs => {
                doubt.get_or_insert_with(|| why.clone());
                Some(Relation::Equal)
            }
            (Self::Undecided(..), Self::Undecided(..)) => Some(Relation::Equal),
            (Self::Undecided(_, why), _) | (_, Self::Undecided(_, why)) => {
                doubt.get_or_insert_with(|| why.clone());
                Some(Relation::Equal)
            }
            (Self::Device(mine), Self::Device(theirs)) => {
                same(mine, theirs, letters, doubt)?;
                Some(Relation::Equal)
            }
            // A directory and a device of one space: a share, and a disk in it.
            (Self::Device(_), _) | (_, Self::Device(_)) => None,
            (
                Self::Directory(mine) | Self::Within(mine, _),
                Self::Directory(theirs) | Self::Within(theirs, _),
            ) => {
                for (mine, theirs) in mine.iter().zip(theirs) {
                    same(mine, theirs, letters, doubt)?;
                }
                let (mine, theirs) = (path(self), path(other));
                // Only a directory contains everything beneath it for certain.
                let (outer, relation) = match mine.cmp(&theirs) {
                    Ordering::Less => (self, Relation::Inside),
                    Ordering::Greater => (other, Relation::Around),
                    Ordering::Equal => match (self, other) {
                        (Self::Within(..), Self::Directory(_)) => (other, Relation::Around),
                        (Self::Directory(_), Self::Within(..)) => (self, Relation::Inside),
                        _ => (self, Relation::Equal),
                    },
                };
                if let Self::Within(_, why) = outer {
                    doubt.get_or_insert(Cow::Borrowed(why));
                }
                Some(relation)
            }
        }
    }
}

/// Whether two names are the same; adds a doubt where only loosely.
fn same(
    mine: &str,
    theirs: &str,
    letters: Letters,
    doubt: &mut Option<Cow<'static, str>>,
) -> Option<()> {
    if mine == theirs {
        return Some(());
    }
    if mine.eq_ignore_ascii_case(theirs) {
        return match letters {
            Letters::Alike => Some(()),
            Letters::Distinct => None,
            Letters::Unclear => {
                doubt.get_or_insert(Cow::Borrowed("they differ only in upper and lower case"));
                Some(())
            }
        };
    }
    if decomposed(mine) || decomposed(theirs) {
        doubt.get_or_insert(Cow::Borrowed("both may be Unicode spellings of one name"));
        return (!mine.is_ascii() && !theirs.is_ascii()).then_some(());
    }
    None
}

/// Whether a name contains characters that Unicode also has composed with the one before.
fn decomposed(name: &str) -> bool {
    name.chars().any(
        |c| matches!(c, '\u{300}'..='\u{36f}' | '\u{1100}'..='\u{11ff}' | '\u{3099}' | '\u{309a}'),
    )
}

impl<'a> Part<'a> {
    pub(super) fn into_owned(self) -> Part<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Is(text) => Part::Is(own(text)),
            Self::Named(text) => Part::Named(own(text)),
            Self::Nodes(text) => Part::Nodes(own(text)),
            Self::Server { identity, address } => {
                Part::Server { identity: identity.map(own), address: address.map(own) }
            }
            Self::Unknown(why) => Part::Unknown(why),
        }
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Is(text) | Self::Named(text) | Self::Nodes(text) => text,
            Self::Server { identity, address } => {
                address.as_ref().or(identity.as_ref()).map_or("", |text| text)
            }
            Self::Unknown(why) => why,
        }
    }

    /// Whether two parts agree; adds a doubt where one of them is not known well enough.
    pub(super) fn agrees(&self, other: &Self, doubt: &mut Option<Cow<'static, str>>) -> Option<()> {
        match (self, other) {
            (Self::Unknown(why), _) | (_, Self::Unknown(why)) => {
                doubt.get_or_insert(Cow::Borrowed(why));
                Some(())
            }
            (Self::Nodes(mine), Self::Nodes(theirs)) => nodes_agree(mine, theirs, doubt),
            (
                Self::Server { identity: Some(mine), address: here },
                Self::Server { identity: Some(theirs), address: there },
            ) => {
                if mine == theirs {
                    return Some(());
                }
                // One server has two addresses, but an address does not have two servers.
                here.as_ref().filter(|here| Some(*here) == there.as_ref())?;
                doubt.get_or_insert(Cow::Borrowed("two servers are listed with one address"));
                Some(())
            }
            _ => {
                let (mine, theirs) = (self.name(), other.name());
                if mine.eq_ignore_ascii_case(theirs) {
                    return Some(());
                }
                if matches!((self, other), (Self::Is(_), Self::Is(_))) {
                    return None;
                }
                doubt.get_or_insert_with(|| format!("{mine} and {theirs} may be the same").into());
                Some(())
            }
        }
    }
}

/// Whether two node affinities can lead to one node.
fn nodes_agree(mine: &str, theirs: &str, doubt: &mut Option<Cow<'static, str>>) -> Option<()> {
    if mine == theirs || mine == ANY_NODE || theirs == ANY_NODE {
        return Some(());
    }
    if let (Some((label, mine)), Some((other, theirs))) = (values(mine), values(theirs)) {
        let mut both = mine.split(", ").filter(|value| theirs.split(", ").any(|it| it == *value));
        let (meet, one) = (both.next().is_some(), !mine.contains(", ") && !theirs.contains(", "));
        // The label of a node mostly is its name, and need not be.
        if meet && one {
            return Some(());
        }
        if !meet && label == other {
            return None;
        }
    }
    doubt.get_or_insert(Cow::Borrowed("their node affinities may match the same node"));
    Some(())
}

/// Splits the canonical text `LABEL In ["a", "b"]` of one requirement.
fn values(affinity: &str) -> Option<(&str, &str)> {
    let one = !affinity.contains(" and ") && !affinity.contains(" or ");
    let (label, rest) = affinity.split_once(" In [").filter(|_| one)?;
    Some((label, rest.strip_suffix(']')?))
}

/// The label and the only value that an affinity allows.
pub(super) fn one_value(affinity: &str) -> Option<(&str, &str)> {
    values(affinity).filter(|(_, values)| !values.contains(", "))
}

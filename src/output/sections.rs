//! The sections of a table of findings or claims (`--group-by`): each with a heading, and printed by itself.

use std::{collections::BTreeMap, io::Write};

use super::{jsonpath::RenderError, usage::ClaimUsage, wire::Finding};
use crate::model::{Kind, Severity, counted, escape_control};

/// Property by which findings or claims are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// The namespace of the object, or of the claim of its volume.
    Namespace,
    /// The storage class.
    Class,
    /// The CSI driver or provisioner.
    Driver,
    /// The cluster, in a report about several.
    Cluster,
}

impl Grouping {
    const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Class => "class",
            Self::Driver => "driver",
            Self::Cluster => "cluster",
        }
    }
}

/// A row of a table that has sections.
pub trait Grouped {
    /// What a row is, in a word.
    const WHAT: &str;

    /// Returns its group; `None` where it belongs to none.
    fn group(&self, by: Grouping) -> Option<String>;

    /// Returns what orders sections by their first row: the least first.
    fn urgency(&self) -> u64;
}

impl Grouped for Finding {
    const WHAT: &str = "finding";

    fn group(&self, by: Grouping) -> Option<String> {
        let object = &self.object;
        let is = |kind: Kind| object.kind == kind.name();
        let own = |kind: Kind| is(kind).then(|| object.name.clone());
        let volume = self.volume.as_ref();
        match by {
            Grouping::Namespace => {
                let of_claim = || Some(volume?.claim.as_deref()?.split_once('/')?.0.to_owned());
                own(Kind::Namespace).or_else(|| object.namespace.clone()).or_else(of_claim)
            }
            Grouping::Class => own(Kind::StorageClass).or_else(|| volume?.storage_class.clone()),
            Grouping::Driver => own(Kind::CsiDriver).or_else(|| volume?.driver.clone()),
            Grouping::Cluster => self.cluster.clone(),
        }
    }

    fn urgency(&self) -> u64 {
        Severity::parse(&self.severity).map_or(0, |it| it as u64)
    }
}

impl Grouped for ClaimUsage {
    const WHAT: &str = "claim";

    fn group(&self, by: Grouping) -> Option<String> {
        match by {
            Grouping::Namespace => self.object.namespace.clone(),
            Grouping::Class => self.storage_class.clone(),
            Grouping::Driver => self.driver.clone(),
            Grouping::Cluster => None,
        }
    }

    fn urgency(&self) -> u64 {
        self.fullest().map_or(u64::MAX, |it| u64::MAX - 1 - it)
    }
}

/// Prints rows in sections, that of the worst row first, and that of what belongs to no group last. `print` prints those of
/// one section.
///
/// # Errors
/// When writing fails.
pub fn print<T: Grouped>(
    out: &mut dyn Write,
    rows: &mut dyn Iterator<Item = T>,
    by: Grouping,
    mut print: impl FnMut(&mut dyn Write, Vec<T>) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    let mut groups: BTreeMap<Option<String>, Vec<T>> = BTreeMap::new();
    for row in rows {
        groups.entry(row.group(by)).or_default().push(row);
    }
    let worst = |rows: &[T]| rows.iter().map(T::urgency).min();
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_cached_key(|(name, rows)| (name.is_none(), worst(rows), name.clone()));
    for (index, (name, rows)) in groups.into_iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let heading = match name {
            Some(name) => format!("{} {}", by.name(), escape_control(&name)),
            None => "other objects".to_owned(),
        };
        writeln!(out, "{heading}: {}", counted(rows.len(), T::WHAT))?;
        print(out, rows)?;
    }
    Ok(())
}

//! The sections of a table of findings (`--group-by`): each with a heading, and printed by itself.

use std::{collections::BTreeMap, io::Write};

use super::{jsonpath::RenderError, wire::Finding};
use crate::model::{Kind, Severity, counted, escape_control};

/// Property by which findings are grouped.
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

    /// Returns the group of a finding; `None` where it belongs to none.
    pub(super) fn of(self, finding: &Finding) -> Option<String> {
        let object = &finding.object;
        let is = |kind: Kind| object.kind == kind.name();
        let own = |kind: Kind| is(kind).then(|| object.name.clone());
        let volume = finding.volume.as_ref();
        match self {
            Self::Namespace => {
                let of_claim = || Some(volume?.claim.as_deref()?.split_once('/')?.0.to_owned());
                own(Kind::Namespace).or_else(|| object.namespace.clone()).or_else(of_claim)
            }
            Self::Class => own(Kind::StorageClass).or_else(|| volume?.storage_class.clone()),
            Self::Driver => own(Kind::CsiDriver).or_else(|| volume?.driver.clone()),
            Self::Cluster => finding.cluster.clone(),
        }
    }
}

/// Prints findings in sections, that of the worst finding first, and that of what belongs to no group last. `print` prints
/// those of one section.
///
/// # Errors
/// When writing fails.
pub fn print(
    out: &mut dyn Write,
    findings: &mut dyn Iterator<Item = Finding>,
    by: Grouping,
    mut print: impl FnMut(&mut dyn Write, Vec<Finding>) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    let mut groups: BTreeMap<Option<String>, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        groups.entry(by.of(&finding)).or_default().push(finding);
    }
    let worst =
        |findings: &[Finding]| findings.iter().filter_map(|it| Severity::parse(&it.severity)).min();
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_cached_key(|(name, findings)| (name.is_none(), worst(findings), name.clone()));
    for (index, (name, findings)) in groups.into_iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let heading = match name {
            Some(name) => format!("{} {}", by.name(), escape_control(&name)),
            None => "other objects".to_owned(),
        };
        writeln!(out, "{heading}: {}", counted(findings.len(), "finding"))?;
        print(out, findings)?;
    }
    Ok(())
}

//! The first steps of the order in which a disk is judged (semantics K.3), for those that a provider lists and those that
//! lie in a cluster.

use std::ops::RangeInclusive;

use super::disks_of_cluster::{DiskNaming, uids_beginning};
use super::inventory_counts::InventoryCounts;
use crate::listings::{Attached, Disk};

/// What a disk is to the clusters that are given, by the first step that applies (semantics K.3, 2 to 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A cluster names it.
    Named,
    /// A cluster may name it.
    MaybeNamed,
    /// A machine has it, or may have it again.
    Attached,
    /// The listing does not tell whether a machine has it.
    AttachmentUnknown,
    /// Nothing shows that Kubernetes made it.
    NotKubernetes,
    /// Its claim exists.
    Claimed,
    /// None of these: the further steps decide.
    Left,
}

impl Standing {
    /// Judges a disk that clusters name so; `has_claim` tells whether one of them has a claim with such a uid.
    pub fn of(
        disk: &Disk,
        naming: DiskNaming,
        has_claim: impl FnOnce(&RangeInclusive<u128>) -> bool,
    ) -> Self {
        let uids = disk.made.as_ref().and_then(|it| uids_beginning(it.uid.as_deref()?));
        match (naming, &disk.attached) {
            (DiskNaming::Named(_), _) => Self::Named,
            (DiskNaming::Maybe, _) => Self::MaybeNamed,
            (DiskNaming::Not, Attached::To(_) | Attached::Held(_)) => Self::Attached,
            (DiskNaming::Not, Attached::Unknown) => Self::AttachmentUnknown,
            (DiskNaming::Not, Attached::No) if disk.made.is_none() => Self::NotKubernetes,
            (DiskNaming::Not, Attached::No) if uids.is_some_and(|it| has_claim(&it)) => {
                Self::Claimed
            }
            (DiskNaming::Not, Attached::No) => Self::Left,
        }
    }
}

impl InventoryCounts {
    /// Counts a disk; returns whether the further steps decide what becomes of it, so that it is not counted.
    pub fn count(&mut self, standing: Standing) -> bool {
        let count = match standing {
            Standing::Named => &mut self.named,
            Standing::MaybeNamed => &mut self.may_be_named,
            Standing::Attached => &mut self.attached,
            Standing::AttachmentUnknown => &mut self.attachment_unknown,
            Standing::NotKubernetes => &mut self.not_kubernetes,
            Standing::Claimed => &mut self.claimed,
            Standing::Left => return true,
        };
        *count += 1;
        false
    }
}

//! What the answer of a command looks like, and what its disks tell.

use std::fmt;

use super::{
    Disk, Made,
    row::{FieldError, ListedRow},
};
use crate::model::{ClaimKey, ClusterArgument, Text};

/// The answer of a command that lists disks.
pub(super) struct ListingShape {
    /// The command.
    pub(super) command: &'static str,
    /// The driver of its disks.
    pub(super) driver: &'static str,
    /// The member of the answer that holds the rows; empty where the answer is the list of rows.
    pub(super) rows: &'static str,
    /// Fields that, together, only its rows have.
    pub(super) telling: &'static [&'static str],
    /// The other fields that are read.
    pub(super) fields: &'static [&'static str],
    /// Reads a row of a disk of the driver.
    pub(super) read: fn(ListedRow<'_>, &str) -> Result<Disk, FieldError>,
}

impl ListingShape {
    /// Whether a field of its rows is read.
    pub(super) fn reads(&self, field: &str) -> bool {
        self.telling.contains(&field) || self.fields.contains(&field)
    }
}

impl fmt::Debug for ListingShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command)
    }
}

/// What is known of the disks of a driver.
#[derive(Debug)]
pub(crate) struct Provider {
    /// The driver.
    pub(crate) driver: &'static str,
    /// Tags that only the driver writes, or with this value only.
    pub(super) marks: &'static [&'static str],
    /// The tags with the namespace and the name of the claim.
    pub(super) claim: Option<[&'static str; 2]>,
    /// The tags with the name of the `PersistentVolume`.
    pub(super) volume_tags: &'static [&'static str],
    /// The tags with the identity of the cluster.
    pub(super) clusters: &'static [ClusterTag],
    /// Returns the place of the disk of a `PersistentVolume`, by its handle and the zones and regions that it allows;
    /// `None` where these do not tell.
    pub(crate) place_of: fn(&str, &[&str]) -> Option<String>,
    /// Returns the place of a machine, by the `spec.providerID` of its node and by its zone or region.
    pub(crate) place_of_node: fn(&str, &str) -> Option<String>,
    /// Returns the account and region of a place, in which an identity holds.
    pub(crate) region_of: fn(&str) -> &str,
    /// Whether a place names the account: then an identity of another account is in another place.
    pub(crate) names_account: bool,
    /// Whether the driver takes the hyphens out of the name that it is told.
    pub(super) strips_hyphens: bool,
    /// Whether a listing tells which machines have a disk.
    pub(crate) tells_machines: bool,
    /// The number of rows of a page, where the command prints one page and does not say so; 0 where it does.
    pub(super) page: usize,
    /// The commands with which a user looks at a disk, keeps a copy of it and deletes it; empty where there is none.
    pub(crate) commands: [&'static str; 3],
    /// The command that lists all disks of a place, and what its answer tells.
    pub(crate) lists: Lists,
    /// The flag with which the driver writes the cluster on its disks; empty where there is none.
    pub(crate) identity_flag: &'static str,
    /// What a `PersistentVolume` of a disk needs that was not made by the driver for it.
    pub(crate) volume: VolumeNeeds,
}

/// What a `PersistentVolume` needs besides driver and handle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VolumeNeeds {
    /// The `volumeAttributes` that are the same for all disks.
    pub(crate) attributes: &'static [(&'static str, &'static str)],
    /// What neither a listing nor a tag tells; empty if nothing is missing.
    pub(crate) lacks: &'static str,
    /// The label of nodes with the zone or region; empty where the driver has none, or it cannot be told.
    pub(crate) zone_label: &'static str,
}

/// A command that lists disks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lists {
    /// The command; `PLACE` stands for the place.
    pub(crate) command: &'static str,
    /// What its answer tells, and what not.
    pub(crate) tells: &'static str,
}

/// A tag with the identity of a cluster.
#[derive(Debug, Clone, Copy)]
pub(super) enum ClusterTag {
    /// The value of this tag.
    Value(&'static str),
    /// What follows this in the key of a tag.
    Key(&'static str),
    /// The same, of a tag with the value `owned`: `shared` is of several.
    Owned(&'static str),
}

impl Provider {
    /// Says who made a disk that has this name and these tags.
    pub(super) fn made(&self, name: Option<&str>, tags: &[(Text, Text)]) -> Option<Made> {
        let tag = |key: &str| {
            let found = tags.iter().find(|it| *it.0 == *key).map(|it| &it.1);
            found.filter(|it| !it.is_empty())
        };
        let volume = self.volume_tags.iter().find_map(|key| tag(key));
        let behind = if self.strips_hyphens { "pvc" } else { "pvc-" };
        let mut names = [volume.map(|it| &**it), name].into_iter().flatten();
        let uid = names.find_map(|it| uid_behind(behind, it).or_else(|| uid_of_name(it)));
        let is_marked = volume.is_some()
            || self.marks.iter().any(|mark| match mark.split_once('=') {
                Some((key, value)) => tag(key).is_some_and(|it| **it == *value),
                None => tag(mark).is_some(),
            });
        if uid.is_none() && !is_marked {
            return None;
        }
        let claim = self.claim.and_then(|[namespace, name]| {
            let [namespace, name] = [tag(namespace)?, tag(name)?];
            Some(ClaimKey { namespace: Text::clone(namespace), name: (&**name).into() })
        });
        let after = |beginning: &str, value: Option<&str>| -> Vec<Text> {
            let fits = |it: &&(Text, Text)| value.is_none_or(|value| *it.1 == *value);
            let keys = tags.iter().filter(fits).filter_map(|it| it.0.strip_prefix(beginning));
            keys.map(Text::from).collect()
        };
        let clusters = self.clusters.iter().flat_map(|of| match of {
            ClusterTag::Value(key) => tag(key).cloned().into_iter().collect(),
            ClusterTag::Key(beginning) => after(beginning, None),
            ClusterTag::Owned(beginning) => after(beginning, Some("owned")),
        });
        let is_identity = |it: &Text| !it.is_empty() && **it != *ClusterArgument::DEFAULT;
        let clusters = clusters.filter(is_identity).collect();
        Some(Made { claim, volume: volume.cloned(), uid, clusters })
    }
}

/// Length of a uid in hexadecimal digits.
const UID_LENGTH: usize = 32;
/// Fewest digits of a uid that was cut: a date has eight.
const FEWEST: usize = 16;

/// Returns the uid of the claim in a name that ends with `pvc-UID`, as csi-provisioner makes names
/// (external-provisioner, `makeVolumeName`): with `--volume-name-uuid-length` without hyphens, and cut.
pub(crate) fn uid_of_name(name: &str) -> Option<Text> {
    uid_behind("pvc-", name)
}

fn uid_behind(prefix: &str, name: &str) -> Option<Text> {
    let (_, uid) = name.rsplit_once(prefix)?;
    let digits: String = match uuid::Uuid::try_parse(uid) {
        Ok(uid) => uid.simple().to_string(),
        Err(_) => uid.to_ascii_lowercase(),
    };
    let is_uid = (FEWEST..=UID_LENGTH).contains(&digits.len())
        && digits.bytes().all(|it| it.is_ascii_hexdigit());
    is_uid.then(|| digits.into())
}

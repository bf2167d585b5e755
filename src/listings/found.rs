//! What is found in a listing, whatever its form: its disks one after the other, or why it is refused.

use std::io;

use super::{
    Attached, Disk, Made,
    answers::SHAPES,
    row::{self, ListedRow},
    shape::ListingShape,
    value::ListedFields,
};
use crate::model::{Text, Time, escape_control, first_of, shorten};

/// What a listing is, besides its disks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The name by which messages call it.
    pub(crate) name: String,
    /// The command whose answer it is; empty where it has no rows.
    pub(crate) command: &'static str,
    /// Number of its rows.
    pub(crate) rows: usize,
    /// Whether it says that there are more.
    pub(crate) is_truncated: bool,
    /// The newest time in it.
    pub(crate) newest: Option<Time>,
}

/// Why a listing cannot be read. Nothing is judged by it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListingError {
    /// The file cannot be read.
    #[error("failed to read {name}")]
    Read { name: String, source: io::Error },
    /// It is something else.
    #[error("{name} is no listing: {why}")]
    Foreign { name: String, why: String },
    /// A row cannot be read.
    #[error("{name}, row {row}{}: {why}", line.map(|it| format!(" (line {it})")).unwrap_or_default())]
    Row { name: String, row: usize, line: Option<u64>, why: String },
}

/// Receives the disks of a listing; an error ends the reading.
pub(crate) type EachDisk<'a> = &'a mut dyn FnMut(Disk) -> Result<(), String>;

/// What was found in a listing until now.
pub(super) struct FoundDisks<'a> {
    pub(super) listing: Listing,
    pub(super) pool: Option<Text>,
    pub(super) shape: Option<&'static ListingShape>,
    each: EachDisk<'a>,
}

impl<'a> FoundDisks<'a> {
    pub(super) fn new(name: String, pool: Option<Text>, each: EachDisk<'a>) -> Self {
        Self { listing: Listing { name, ..Listing::default() }, pool, shape: None, each }
    }

    /// Takes a row; `around` is the member of the answer that holds the rows.
    pub(super) fn take(&mut self, around: &str, row: &ListedFields<'_>) -> Result<(), String> {
        self.listing.rows += 1;
        let disk = match (&self.pool, self.shape) {
            (Some(pool), _) => {
                self.listing.command = "rbd ls -l --format json";
                // Snapshots are rows, too.
                if row.get("snapshot").is_some() {
                    return Ok(());
                }
                image(ListedRow(row), pool).map_err(|it| it.to_string())?
            }
            (None, None) => {
                let shape = recognised(around, row).ok_or_else(|| unknown(row))?;
                self.shape = Some(shape);
                self.listing.command = shape.command;
                read_row(shape, row)?
            }
            (None, Some(shape)) => read_row(shape, row)?,
        };
        self.give(disk)
    }

    pub(super) fn give(&mut self, disk: Disk) -> Result<(), String> {
        self.listing.newest = self.listing.newest.max(disk.created).max(disk.detached);
        (self.each)(disk)
    }
}

fn read_row(shape: &ListingShape, row: &ListedFields<'_>) -> Result<Disk, String> {
    (shape.read)(ListedRow(row), shape.driver).map_err(|it| it.to_string())
}

fn recognised(around: &str, row: &ListedFields<'_>) -> Option<&'static ListingShape> {
    let has_all = |shape: &&ListingShape| shape.telling.iter().all(|it| row.get(it).is_some());
    SHAPES.iter().filter(|it| it.rows == around).find(has_all)
}

fn unknown(row: &ListedFields<'_>) -> String {
    let fields: Vec<_> = row.iter().map(|it| shorten(it.0, 40)).collect();
    if row.get("image").is_some() && row.get("size").is_some() {
        return "images of Ceph: pass it as rbd:POOL=FILE".to_owned();
    }
    let fields = first_of(&fields, 8);
    format!("no listing has rows of these fields: {}", escape_control(&fields))
}

/// Reads an image of Ceph.
fn image(row: ListedRow<'_>, pool: &Text) -> Result<Disk, row::FieldError> {
    let handle = row.needed("image")?;
    let [key, value] = ["staticVolume", "true"].map(Text::from);
    let attributes = [(key, value), ("pool".into(), Text::clone(pool))];
    let made = handle.starts_with("csi-vol-").then(Made::default);
    // Who has an image open, only `rbd status` tells; a lock is enough.
    let attached = match row.text("lock_type") {
        Some(lock) => Attached::Held(lock.into()),
        None => Attached::No,
    };
    Ok(Disk {
        size: row.size("size", 1)?,
        attributes: attributes.into_iter().collect(),
        place: Text::clone(pool),
        attached,
        made,
        ..Disk::new("rbd.csi.ceph.com", handle)
    })
}

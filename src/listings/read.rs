//! Reads a listing as a stream: JSON as a provider's command prints it, or CSV.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;

use super::{
    Attached, Disk, Made,
    answers::SHAPES,
    json::read_json,
    providers::provider,
    row::{self, ListedRow},
    shape::{ListingShape, uid_of_name},
    value::ListedFields,
};
use crate::model::{ClaimKey, Text, Time, escape_control, first_of, migrated_driver, shorten};

/// A listing that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListingInput {
    /// The file; `None` for standard input.
    path: Option<PathBuf>,
    /// The pool whose images it has.
    pool: Option<Text>,
}

impl ListingInput {
    /// Parses `FILE`, `-` or `rbd:POOL=FILE`.
    pub(crate) fn parse(text: &str) -> Self {
        let of_pool = text.strip_prefix("rbd:").and_then(|it| it.split_once('='));
        let (pool, path) = match of_pool {
            Some((pool, path)) => (Some(pool.into()), path),
            None => (None, text),
        };
        Self { path: (path != "-").then(|| path.into()), pool }
    }

    /// Returns the file; `None` for standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the name by which messages call it.
    pub(crate) fn name(&self) -> String {
        match &self.path {
            Some(path) => escape_control(&path.display().to_string()).into_owned(),
            None => "standard input".to_owned(),
        }
    }

    fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match &self.path {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(io::stdin().lock()),
        })
    }
}

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

/// Reads a listing, and gives each of its disks to `each`.
///
/// # Errors
/// When it cannot be read to its end, is no listing that is known, or a row of it is wrong.
pub(crate) fn read(input: &ListingInput, each: EachDisk<'_>) -> Result<Listing, ListingError> {
    let name = input.name();
    match input.open() {
        Ok(content) => read_from(content, name, input.pool.clone(), each),
        Err(source) => Err(ListingError::Read { name, source }),
    }
}

fn read_from<'a>(
    content: Box<dyn Read + 'a>,
    name: String,
    pool: Option<Text>,
    each: EachDisk<'_>,
) -> Result<Listing, ListingError> {
    let failed = |source| ListingError::Read { name: name.clone(), source };
    let mut plain = BufReader::with_capacity(256 << 10, content);
    let is_packed = plain.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    let mut content: Box<dyn BufRead + 'a> = match is_packed {
        true => Box::new(BufReader::with_capacity(256 << 10, MultiGzDecoder::new(plain))),
        false => Box::new(plain),
    };
    let mut found = FoundDisks::new(name.clone(), pool, each);
    let first = first_byte(&mut content).map_err(failed)?;
    match first {
        None => {}
        Some(b'[' | b'{') => read_json(content, &mut found)?,
        Some(b'<') => {
            let why = "it is an HTML or XML page, perhaps that of a login".to_owned();
            return Err(ListingError::Foreign { name, why });
        }
        Some(_) => read_csv(content, &mut found)?,
    }
    let listing = &mut found.listing;
    let page = found.shape.map_or(0, |it| provider(it.driver).page);
    listing.is_truncated |= page > 0 && listing.rows > 0 && listing.rows.is_multiple_of(page);
    Ok(found.listing)
}

/// Skips white space and the mark of UTF-8, and returns the first byte after them.
fn first_byte(content: &mut dyn BufRead) -> io::Result<Option<u8>> {
    if content.fill_buf()?.starts_with("\u{feff}".as_bytes()) {
        content.consume(3);
    }
    loop {
        let buffer = content.fill_buf()?;
        match buffer.iter().position(|it| !it.is_ascii_whitespace()) {
            Some(at) => {
                let first = buffer[at];
                content.consume(at);
                return Ok(Some(first));
            }
            None if buffer.is_empty() => return Ok(None),
            None => {
                let length = buffer.len();
                content.consume(length);
            }
        }
    }
}

/// What was found until now.
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

    fn give(&mut self, disk: Disk) -> Result<(), String> {
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

/// The columns of a CSV file.
const COLUMNS: [&str; 10] = [
    "handle",
    "driver",
    "size",
    "created",
    "lastDetached",
    "attachedTo",
    "name",
    "cluster",
    "namespace",
    "claim",
];

/// Reads a CSV file with named columns.
fn read_csv(
    content: Box<dyn BufRead + '_>,
    found: &mut FoundDisks<'_>,
) -> Result<(), ListingError> {
    let name = found.listing.name.clone();
    let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(content);
    let broken = |row: usize, error: &csv::Error| {
        let line = error.position().map(csv::Position::line);
        ListingError::Row { name: name.clone(), row, line, why: error.to_string() }
    };
    let headers = rows.headers().map_err(|error| broken(0, &error))?.clone();
    let at = COLUMNS.map(|column| headers.iter().position(|it| it == column));
    for (column, at) in COLUMNS[..2].iter().zip(&at) {
        if at.is_none() {
            let why = format!("it is not JSON, and as CSV it has no column {column:?}");
            return Err(ListingError::Foreign { name, why });
        }
    }
    found.listing.command = "CSV";
    for record in rows.records() {
        let number = found.listing.rows + 1;
        let record = record.map_err(|error| broken(number, &error))?;
        found.listing.rows = number;
        let cell = |column: usize| at[column].and_then(|at| record.get(at));
        let given = disk_of(&cell).map_err(|it| it.to_string()).and_then(|it| found.give(it));
        let line = record.position().map(csv::Position::line);
        given.map_err(|why| ListingError::Row { name: name.clone(), row: number, line, why })?;
    }
    Ok(())
}

/// Reads the disk of a row of cells.
fn disk_of<'a>(cell: &dyn Fn(usize) -> Option<&'a str>) -> Result<Disk, row::FieldError> {
    let text = |column: usize| cell(column).filter(|it| !it.is_empty());
    let needed = |column: usize| text(column).ok_or(row::FieldError::missing(COLUMNS[column]));
    let (handle, driver) = (needed(0)?, needed(1)?);
    let driver = migrated_driver(driver).unwrap_or(driver);
    let claim = text(8)
        .zip(text(9))
        .map(|(namespace, name)| ClaimKey { namespace: namespace.into(), name: name.into() });
    let (name, cluster) = (text(6), text(7));
    let uid = name.and_then(uid_of_name);
    let is_made = uid.is_some() || claim.is_some() || cluster.is_some();
    let made = is_made.then(|| Made {
        volume: name.filter(|_| uid.is_some()).map(Text::from),
        uid,
        claim,
        clusters: cluster.into_iter().map(Text::from).collect(),
    });
    Ok(Disk {
        size: row::size(COLUMNS[2], cell(2).unwrap_or_default())?,
        created: row::time(COLUMNS[3], cell(3).unwrap_or_default())?,
        detached: row::time(COLUMNS[4], cell(4).unwrap_or_default())?,
        attached: match cell(5) {
            None => Attached::Unknown,
            Some("") => Attached::No,
            Some(machine) => Attached::To([machine.into()].into()),
        },
        made,
        ..Disk::new(driver, handle)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::read_from;
    use crate::damage::hold;

    #[test]
    fn damaged_listings_are_read_or_refused() {
        let cases = include_str!("../../tests/inventory.yaml");
        let cases: Value = serde_yaml::from_str(cases).expect("the cases are YAML");
        let listing = |case: &Value| match &case["text"] {
            Value::String(text) => text.clone().into_bytes(),
            _ => case["listing"].to_string().into_bytes(),
        };
        let sound: Vec<Vec<u8>> = cases.as_array().into_iter().flatten().map(listing).collect();
        assert!(sound.len() > 30);
        hold("listings", &sound, |bytes| {
            for pool in [None, Some("kube".into())] {
                let content = Box::new(bytes);
                // It may be refused.
                let _ = read_from(content, "listing".to_owned(), pool, &mut |_| Ok(()));
            }
        });
    }
}

//! Reads a listing as a stream: JSON as a provider's command prints it, or CSV.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;

use super::{
    Attached, Disk, Made,
    found::{EachDisk, FoundDisks, Listing, ListingError},
    json::read_json,
    providers::provider,
    row,
    shape::uid_of_name,
};
use crate::model::{ClaimKey, Text, escape_control, migrated_driver};

/// A file that the user named, or standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedFile(Option<PathBuf>);

impl NamedFile {
    /// Parses `FILE` or `-`.
    pub(crate) fn parse(text: &str) -> Self {
        Self((text != "-").then(|| text.into()))
    }

    /// Returns the path; `None` for standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// Returns the name by which messages call it.
    pub(crate) fn name(&self) -> String {
        match &self.0 {
            Some(path) => escape_control(&path.display().to_string()).into_owned(),
            None => "standard input".to_owned(),
        }
    }

    /// Opens it, plain or as gzip.
    ///
    /// # Errors
    /// When it cannot be opened, or its beginning not be read.
    pub(crate) fn open(&self) -> io::Result<Opened<'static>> {
        unpacked(match &self.0 {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(io::stdin().lock()),
        })
    }
}

/// A listing that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListingInput {
    /// The file.
    pub(crate) file: NamedFile,
    /// The pool whose images it has.
    pool: Option<Text>,
}

impl ListingInput {
    /// Parses `FILE`, `-` or `rbd:POOL=FILE`.
    pub(crate) fn parse(text: &str) -> Self {
        let of_pool = text.strip_prefix("rbd:").and_then(|it| it.split_once('='));
        let (pool, file) = match of_pool {
            Some((pool, file)) => (Some(pool.into()), file),
            None => (None, text),
        };
        Self { file: NamedFile::parse(file), pool }
    }
}

/// Content as it is to be read, and its first byte that is no white space.
pub(crate) type Opened<'a> = (Box<dyn BufRead + 'a>, Option<u8>);

/// Returns content without its packing.
///
/// # Errors
/// When its beginning cannot be read.
pub(crate) fn unpacked<'a>(content: Box<dyn Read + 'a>) -> io::Result<Opened<'a>> {
    let mut plain = BufReader::with_capacity(256 << 10, content);
    let is_packed = plain.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let mut content: Box<dyn BufRead + 'a> = match is_packed {
        true => Box::new(BufReader::with_capacity(256 << 10, MultiGzDecoder::new(plain))),
        false => Box::new(plain),
    };
    let first = first_byte(&mut content)?;
    Ok((content, first))
}

/// Reads a listing, and gives each of its disks to `each`.
///
/// # Errors
/// When it cannot be read to its end, is no listing that is known, or a row of it is wrong.
pub(crate) fn read(input: &ListingInput, each: EachDisk<'_>) -> Result<Listing, ListingError> {
    read_from(input.file.open(), input.file.name(), input.pool.clone(), each)
}

fn read_from(
    opened: io::Result<Opened<'_>>,
    name: String,
    pool: Option<Text>,
    each: EachDisk<'_>,
) -> Result<Listing, ListingError> {
    let (content, first) = match opened {
        Ok(opened) => opened,
        Err(source) => return Err(ListingError::Read { name, source }),
    };
    let mut found = FoundDisks::new(name.clone(), pool, each);
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

    use super::{read_from, unpacked};
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
                let content = unpacked(Box::new(bytes));
                // It may be refused.
                let _ = read_from(content, "listing".to_owned(), pool, &mut |_| Ok(()));
            }
        });
    }
}

//! Pieces of a dump as the caller gets them: objects, records, and what is broken.

use std::fmt;
use std::sync::Arc;

use super::flaw::Flaw;
use super::head::ClaimedType;
use super::skim::Skimmed;

/// One piece of a dump. It lives only while the sink looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A Kubernetes object.
    Object(DumpObject<'a>),
    /// What may be a Kubernetes object, and says of which kind neither itself nor through its list:
    /// it has a name, and stands in a file that nobody named. Kind and version are empty.
    Untyped(DumpObject<'a>),
    /// A line of our own dump that is no Kubernetes object: its header, an answer to a question.
    Record(OwnRecord<'a>),
    /// Something that should have been an object, and is not seen.
    Broken(Broken),
}

/// A Kubernetes object that has a kind, a version and a name. The rest of it has not been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpObject<'a> {
    /// Where it stands.
    pub origin: Origin,
    /// Its own, or that of the typed list it is in.
    pub api_version: &'a str,
    /// Its own, or that of the typed list it is in.
    pub kind: &'a str,
    /// Empty for what lives in no namespace.
    pub namespace: &'a str,
    /// Never empty.
    pub name: &'a str,
    /// Empty if there is none, or if it stands where a skimmed body does not show it.
    pub uid: &'a str,
    /// The same goes for this.
    pub resource_version: &'a str,
    /// `metadata.creationTimestamp` as it is written. The same goes for this.
    pub created: &'a str,
    /// The whole object as valid JSON. What an item leaves to its list (`apiVersion`, `kind`) is
    /// missing here too.
    pub body: &'a str,
    /// Set when the body was cut out by its indentation, and nobody has checked that it is JSON.
    pub skimmed: Option<Skimmed>,
    /// Which of the [`lists`](super::FileSummary::lists) of its file it is an item of.
    pub list: Option<usize>,
}

/// A line of our own dump that is no Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRecord<'a> {
    /// Where it stands.
    pub origin: Origin,
    /// `storage.kubectl.dev/…`.
    pub api_version: &'a str,
    /// `Dump` for the header, which comes first.
    pub kind: &'a str,
    /// The whole line as valid JSON.
    pub body: &'a str,
}

/// Something that is not seen, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Where it stands; for what breaks off, where it does.
    pub origin: Origin,
    /// What is wrong with it.
    pub flaw: Flaw,
    /// What it was, as far as it or its list could tell; none if it may have been anything.
    pub of: Option<ClaimedType>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.origin, self.flaw)
    }
}

/// A place in a file: `pods.json:123`, or `archive.tar.gz!path/in/archive.yaml:12 (item 7)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The path as it was given, with `!` before a path inside an archive, and `stdin` for `-`.
    pub file: Arc<str>,
    /// Counted from 1; 0 when the whole file is meant.
    pub line: u64,
    /// In bytes after unpacking, counted from 0. JSON often is one single line.
    pub offset: u64,
    /// The position in its list, counted from 1.
    pub item: Option<u64>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(item) = self.item {
            write!(f, " (item {item})")?;
        }
        Ok(())
    }
}

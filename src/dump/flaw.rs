//! Errors of a dump: flaws of its contents, after which reading goes on, and the few that end it.

use std::io;
use std::path::PathBuf;

use super::OWN_VERSION;

/// Flaw of a piece of a dump. It is told as a lower-case fragment that follows the
/// [`Origin`](super::Origin), and is never a reason to stop with the other files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The file is empty.
    #[error("is empty")]
    Empty,
    /// The text is UTF-16: each character takes two bytes.
    #[error("is UTF-16, not UTF-8")]
    Utf16,
    /// The file is packed in a way that is not read here.
    #[error("is {0}, which cannot be read")]
    Packed(&'static str),
    /// The file holds bytes that no text has.
    #[error("is neither text, nor gzip, nor tar")]
    Binary,
    /// An archive lies in an archive, or gzip in gzip in gzip.
    #[error("is packed more than once over")]
    Nested,
    /// A folder or an archive without a single file that could hold objects.
    #[error("contains no .json or .yaml file")]
    NothingInside,
    /// The bytes could not be read, or not be unpacked.
    #[error("cannot be read{}: {reason}", beyond(*offset))]
    Unreadable {
        /// Offset after unpacking, counted from 0, which may also mean that it is not known.
        offset: u64,
        /// Message of the operating system or the unpacker.
        reason: String,
    },
    /// The end came in the middle of something.
    #[error("breaks off at byte {offset}, within {what}")]
    Truncated {
        /// Offset after unpacking, counted from 0.
        offset: u64,
        /// The unfinished part.
        what: &'static str,
    },
    /// The text is neither JSON nor YAML.
    #[error("is not valid {format} at byte {offset}: {reason}")]
    Syntax {
        /// `JSON` or `YAML`, by the first character of the text.
        format: &'static str,
        /// Offset after unpacking, counted from 0.
        offset: u64,
        /// Message of the parser.
        reason: String,
    },
    /// A text in the piece is not UTF-8. No API server writes such a thing: the bytes were damaged.
    #[error("contains text that is not UTF-8")]
    NotUtf8,
    /// A single object is larger than any that Kubernetes would store.
    #[error("contains an object of more than {} MiB", limit >> 20)]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A number, a text, a list… where an object belongs.
    #[error("is {found}, not a Kubernetes object")]
    NotAnObject {
        /// The value that was found.
        found: &'static str,
    },
    /// A field that every Kubernetes object has is absent, or empty.
    #[error("is not a Kubernetes object: it has no {0}")]
    Lacks(&'static str),
    /// A field that every Kubernetes object has is present, and of another type.
    #[error("is not a Kubernetes object: its {field} {reason}")]
    Unusable {
        /// The field's path.
        field: String,
        /// The fault of the field, in words that follow its name.
        reason: String,
    },
    /// The document is the answer of an API server that refused.
    #[error("is an error of the API server, not the requested object: {0}")]
    Refusal(String),
    /// A document has `items` beneath a kind that is no list.
    #[error("has items, but its kind is {0}")]
    NotAList(String),
    /// A typed list with items of another kind: the answer to another question.
    #[error("is a {0} with items of kind {1}")]
    OtherItems(String, String),
    /// A list stands where an item of a list should be.
    #[error("is a {0} within a list, and the items of such a list are not read")]
    NestedList(String),
    /// A list has `items` twice.
    #[error("has items twice")]
    TwoItems,
    /// A list names its kind last, its items name none, and they are too many to be kept until then.
    #[error("names the kind of its items only after more than {} MiB of them", limit >> 20)]
    KindTooLate {
        /// The limit in bytes.
        limit: usize,
    },
    /// A newer version wrote the dump, whose lines may mean what this version does not know.
    #[error(
        "was written by a newer version of this tool, as {0}: this one knows {OWN_VERSION} only"
    )]
    Newer(String),
    /// Our own dump has no end line.
    #[error("is a dump that was not finished: its end line is missing")]
    NoEnd,
    /// Our own dump has an end line and no beginning.
    #[error("is the end of a dump whose beginning is missing")]
    NoBeginning,
    /// Our own dump says that it has another number of lines.
    #[error("is the end of a dump of {stated} lines, but {found} came before it")]
    Miscounted {
        /// The number in the end line.
        stated: u64,
        /// The lines that were found.
        found: u64,
    },
    /// Something follows the end line of our own dump.
    #[error("follows the end of the dump")]
    AfterEnd,
}

impl Flaw {
    /// Returns advice about the flaw.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Utf16 => Some(
                "PowerShell's > writes UTF-16: save it with `| Out-File -Encoding utf8`, or convert it",
            ),
            Self::Packed(_) => Some("unpack it first, or pack it with tar and gzip"),
            Self::Nested => Some("unpack it, and name the inner archive or the folder"),
            Self::Binary | Self::NotAnObject { .. } | Self::Lacks(_) | Self::Unusable { .. } => {
                Some(
                    "expected the output of `kubectl get -o json` or `-o yaml`, a must-gather, or \
                     a dump of this tool",
                )
            }
            Self::Syntax { format: "YAML", .. }
            | Self::TooLarge { .. }
            | Self::KindTooLate { .. } => Some("save it as JSON: `kubectl get … -o json`"),
            Self::Empty
            | Self::Truncated { .. }
            | Self::Unreadable { .. }
            | Self::NotUtf8
            | Self::NoEnd
            | Self::NoBeginning
            | Self::Miscounted { .. } => Some("save or copy it again"),
            Self::NestedList(_) => Some("save the inner list as a document of its own"),
            Self::Newer(_) => Some(
                "update this tool with `kubectl krew upgrade storage`, or create the dump again \
                 with this version",
            ),
            Self::Refusal(_) => Some("repeat the request with an account that may list it"),
            Self::NothingInside
            | Self::Syntax { .. }
            | Self::NotAList(_)
            | Self::OtherItems(..)
            | Self::TwoItems
            | Self::AfterEnd => None,
        }
    }
}

fn beyond(offset: u64) -> String {
    if offset == 0 { String::new() } else { format!(" beyond byte {offset}") }
}

/// Reason for which reading did not begin, or writing did not end.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// An input that was asked for by name could not be opened.
    #[error("failed to read {}", path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// `-` was given twice.
    #[error("standard input (-) can be read only once")]
    StdinTwice,
    /// The dump would replace something that is not a dump.
    #[error("{} exists, and is not a dump", path.display())]
    Exists {
        /// The file that exists.
        path: PathBuf,
    },
    /// The dump would replace something that is not even a file.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path of what exists.
        path: PathBuf,
    },
    /// The dump could not be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// The dump.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Nothing that was read is of any use.
    #[error("{reason}")]
    Useless {
        /// The reason, with the name of the input.
        reason: String,
        /// The advice about it.
        hint: Option<&'static str>,
    },
    /// A line of the dump could not be put into JSON.
    #[error("failed to put a line of {} into JSON", path.display())]
    Encode {
        /// The dump.
        path: PathBuf,
        /// Error of the encoder.
        source: serde_json::Error,
    },
}

impl DumpError {
    /// Returns advice about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("choose another name"),
            Self::NotAFile { .. } => Some("name a file, or - for standard output"),
            Self::StdinTwice => Some("give - once"),
            Self::Useless { hint, .. } => *hint,
            Self::Open { .. } | Self::Write { .. } | Self::Encode { .. } => None,
        }
    }
}

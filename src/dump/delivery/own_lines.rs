//! Lines of our own dumps: the header, records that are no Kubernetes objects, and the end line.

use serde::{Deserialize, Serialize};

use super::super::flaw::Flaw;
use super::super::head::ObjectHead;
use super::super::piece::{OwnRecord, Piece};
use super::super::summary::FileFormat;
use super::super::window::{Halt, Position};
use super::super::{OWN_EXCERPT, OWN_HEADER, OWN_TRAILER, OWN_VERSION};
use super::Delivery;

/// How far a dump of ours has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dump) enum OwnDump {
    /// It is none.
    No,
    /// So many lines after the header.
    Open(u64),
    /// The end line has been seen.
    Closed,
}

/// The end line of our own dump.
#[derive(Serialize, Deserialize)]
pub(in crate::dump) struct EndLine {
    /// The lines between the header and the end.
    pub(in crate::dump) count: u64,
}

impl Delivery<'_> {
    /// Delivers a line of ours, and holds a dump of ours to its header and its end.
    pub(in crate::dump) fn own_line(
        &mut self,
        place: Position,
        head: &ObjectHead,
        body: &[u8],
    ) -> Result<(), Halt> {
        let of_a_dump = [OWN_HEADER, OWN_EXCERPT, OWN_TRAILER].contains(&&*head.kind);
        if head.api_version != OWN_VERSION && (of_a_dump || self.own != OwnDump::No) {
            // Even a line of a known kind may mean something else.
            return Err(Halt::Flaw(Flaw::Newer(head.api_version.clone()), place));
        }
        match (head.kind.as_str(), self.own) {
            (OWN_HEADER, _) => {
                // A second header where no end line was: the first dump was cut.
                if let OwnDump::Open(_) = self.own {
                    self.spoil(place, Flaw::NoEnd)?;
                }
                self.own = OwnDump::Open(0);
                self.summary().format = FileFormat::OwnDump;
            }
            (OWN_TRAILER, OwnDump::Open(found)) => {
                self.own = OwnDump::Closed;
                let stated = serde_json::from_slice::<EndLine>(body).map(|trailer| trailer.count);
                return match stated {
                    Ok(stated) if stated == found => Ok(()),
                    Ok(stated) => self.spoil(place, Flaw::Miscounted { stated, found }),
                    Err(_) => self.spoil(place, Flaw::Lacks("count")),
                };
            }
            (OWN_TRAILER, OwnDump::No) => return self.spoil(place, Flaw::NoBeginning),
            (_, OwnDump::Closed) => return self.broken(place, None, Flaw::AfterEnd),
            (_, OwnDump::Open(_) | OwnDump::No) => self.count_line(),
        }
        let origin = self.origin(place, None);
        let Ok(body) = str::from_utf8(body) else {
            return self.report(origin, Flaw::NotUtf8, None);
        };
        self.summary().records += 1;
        let record = OwnRecord { origin, api_version: &head.api_version, kind: &head.kind, body };
        self.send(Piece::Record(record))
    }

    /// Counts a line of ours, if it is one.
    pub(in crate::dump) fn count_line(&mut self) {
        if let OwnDump::Open(count) = &mut self.own {
            *count += 1;
        }
    }
}

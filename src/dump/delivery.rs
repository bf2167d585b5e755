//! Delivery of the documents of one file to the caller as pieces, which are counted for the file's summary; and lines
//! of our own dumps: the header, records that are no Kubernetes objects, and the end line.
//!
//! An item of a list takes from its list the kind and version that it lacks. Lists that name their
//! kind only at their end keep such items until then.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::flaw::Flaw;
use super::head::{ClaimedType, HeadMetadata, ItemsMember, ObjectHead};
use super::piece::Skimmed;
use super::piece::{
    Broken, DumpObject, FileFormat, FileLayout, FileScope, FileSummary, ListSummary, Origin,
    OwnRecord, Piece,
};
use super::window::{Halt, Position};
use super::{OWN_EXCERPT, OWN_GROUP, OWN_HEADER, OWN_TRAILER, OWN_VERSION};

/// Function of the caller that receives pieces.
pub(super) type PieceSink<'s> = dyn FnMut(Piece<'_>) -> ControlFlow<()> + 's;

/// One file on its way to the sink.
pub(super) struct Delivery<'s> {
    sink: &'s mut PieceSink<'s>,
    /// Whether the file was merely found in a folder or an archive, and may hold anything.
    found: bool,
    /// Number of bytes of a list that are kept until it names its kind.
    keep: usize,
    pub(super) own: OwnDump,
    list: Option<OpenList>,
    summary: FileSummary,
}

/// A list whose end has not been seen.
struct OpenList {
    origin: Origin,
    items: u64,
    broken: u64,
    /// Items without a kind, until the list names it.
    held: Vec<UntypedItem>,
    held_bytes: usize,
    overflown: bool,
    /// Two different kinds that items of the list name, if they do.
    kinds: [String; 2],
    /// Broken items, until the list names the kind that they must have been of.
    doubtful: Vec<(Origin, Flaw)>,
}

/// Largest number of broken items that wait for their kind.
const MOST_DOUBTFUL: usize = 1000;

/// Kind and version that an object, its list or its file states.
struct StatedType<'a> {
    api_version: &'a str,
    kind: &'a str,
    /// The head of the list that the object is in.
    list: Option<&'a ObjectHead>,
}

struct UntypedItem {
    origin: Origin,
    head: ObjectHead,
    body: Box<[u8]>,
}

impl<'s> Delivery<'s> {
    pub(super) fn new(file: &str, found: bool, keep: usize, sink: &'s mut PieceSink<'s>) -> Self {
        Self {
            sink,
            found,
            keep,
            own: OwnDump::No,
            list: None,
            summary: FileSummary {
                path: Arc::from(file),
                format: FileFormat::Unknown,
                layout: FileLayout::Loose,
                scope: FileScope::Unknown,
                taken_at: None,
                objects: 0,
                records: 0,
                broken: 0,
                foreign: 0,
                lists: Vec::new(),
                intact: true,
            },
        }
    }

    pub(super) fn summary(&mut self) -> &mut FileSummary {
        &mut self.summary
    }

    pub(super) fn origin(&self, place: Position, item: Option<u64>) -> Origin {
        Origin { file: self.summary.path.clone(), line: place.line, offset: place.offset, item }
    }

    /// Delivers a document that is not in a Kubernetes list.
    pub(super) fn document(
        &mut self,
        place: Position,
        item: Option<u64>,
        head: &ObjectHead,
        body: &[u8],
    ) -> Result<(), Halt> {
        if head.api_version.strip_prefix(OWN_GROUP).is_some_and(|rest| rest.starts_with('/')) {
            return self.own_line(place, head, body);
        }
        if self.own == OwnDump::Closed {
            return self.broken(place, item, Flaw::AfterEnd);
        }
        self.count_line();
        if self.found && head.is_foreign() {
            return self.untyped(self.origin(place, item), head, body);
        }
        if head.is_list() && head.meta.name.0.is_empty() {
            self.open_list(place);
            return self.close_list(head, head.items == ItemsMember::Null && head.has_metadata);
        }
        let origin = self.origin(place, item);
        let said = StatedType { api_version: &head.api_version, kind: &head.kind, list: None };
        self.object(origin, head, &said, body, None)
    }

    /// Delivers one item of the list that is open. What is known of the list so far comes with it.
    pub(super) fn item(
        &mut self,
        place: Position,
        index: u64,
        list: &ObjectHead,
        head: ObjectHead,
        body: &[u8],
    ) -> Result<(), Halt> {
        let origin = self.origin(place, Some(index));
        if !head.kind.is_empty() || list.is_list() {
            return self.typed(origin, list, &head, body, None);
        }
        let (keep, Some(open)) = (self.keep, &mut self.list) else { return Ok(()) };
        // Counted with what it costs to remember it, lest a million tiny items pass for little.
        open.held_bytes += body.len() + size_of::<UntypedItem>();
        if open.held_bytes <= keep {
            open.held.push(UntypedItem { origin, head, body: body.into() });
            return Ok(());
        }
        open.held = Vec::new();
        if std::mem::replace(&mut open.overflown, true) {
            return Ok(());
        }
        self.broken_item(place, index, list, Flaw::KindTooLate { limit: keep })
    }

    /// Reports an item of the list that is open. If the list does not tell yet of what it is, this
    /// waits until it does: one broken pod says nothing about volumes.
    pub(super) fn broken_item(
        &mut self,
        place: Position,
        index: u64,
        list: &ObjectHead,
        flaw: Flaw,
    ) -> Result<(), Halt> {
        let origin = self.origin(place, Some(index));
        if let Some(open) = &mut self.list
            && list.kind.is_empty()
            && open.doubtful.len() < MOST_DOUBTFUL
        {
            open.doubtful.push((origin, flaw));
            return Ok(());
        }
        self.report(origin, flaw, list.claimed_items())
    }

    /// Delivers an item that was cut out by its indentation. It names its kind.
    pub(super) fn skimmed(
        &mut self,
        place: Position,
        index: u64,
        list: &ObjectHead,
        (head, skimmed): &(ObjectHead, Skimmed),
        body: &[u8],
    ) -> Result<(), Halt> {
        self.typed(self.origin(place, Some(index)), list, head, body, Some(skimmed))
    }

    /// Delivers an item of a list that has named its kind, or that needs no such help.
    fn typed(
        &mut self,
        origin: Origin,
        list: &ObjectHead,
        head: &ObjectHead,
        body: &[u8],
        skimmed: Option<&Skimmed>,
    ) -> Result<(), Halt> {
        let of = list.kind.strip_suffix("List").unwrap_or_default();
        let kind = if head.kind.is_empty() { of } else { &head.kind };
        // The version of a typed list is that of its items; that of a plain List says nothing.
        let inherits = head.api_version.is_empty() && !of.is_empty() && kind == of;
        let api_version = if inherits { &list.api_version } else { &head.api_version };
        self.object(
            origin,
            head,
            &StatedType { api_version, kind, list: Some(list) },
            body,
            skimmed,
        )
    }

    fn object(
        &mut self,
        origin: Origin,
        head: &ObjectHead,
        &StatedType { api_version, kind, list }: &StatedType<'_>,
        body: &[u8],
        skimmed: Option<&Skimmed>,
    ) -> Result<(), Halt> {
        // Passing over a text, the parser does not look at it.
        let text = str::from_utf8(body).map_err(|_| Flaw::NotUtf8);
        let body = match (head.flaw(api_version, kind), text) {
            (None, Ok(body)) => body,
            (Some(flaw), _) | (None, Err(flaw)) => {
                let of = head.claimed(api_version, kind);
                return self.report(origin, flaw, of.or_else(|| list?.claimed_items()));
            }
        };
        self.summary.objects += 1;
        if let Some(open) = &mut self.list {
            open.items += 1;
            let [first, other] = &mut open.kinds;
            match (first.is_empty(), other.is_empty()) {
                (true, _) => kind.clone_into(first),
                (false, true) if first != kind => kind.clone_into(other),
                (false, _) => {}
            }
        }
        let object = DumpObject {
            skimmed: skimmed.cloned(),
            ..document(origin, head, (api_version, kind), body, self.list_number())
        };
        self.send(Piece::Object(object))
    }

    /// Delivers a document that names no kind, in a file that was merely found. Without a name it is no object.
    fn untyped(&mut self, origin: Origin, head: &ObjectHead, body: &[u8]) -> Result<(), Halt> {
        let Some(body) = str::from_utf8(body).ok().filter(|_| !head.meta.name.0.is_empty()) else {
            self.summary.foreign += 1;
            return Ok(());
        };
        self.send(Piece::Untyped(document(origin, head, ("", ""), body, self.list_number())))
    }

    /// Returns which of the lists of the file is open: those before it are closed.
    fn list_number(&self) -> Option<usize> {
        self.list.as_ref().map(|_| self.summary.lists.len())
    }

    /// Begins a list. What kind it is may be known only at its end.
    pub(super) fn open_list(&mut self, place: Position) {
        self.list = Some(OpenList {
            origin: self.origin(place, None),
            items: 0,
            broken: 0,
            held: Vec::new(),
            held_bytes: 0,
            overflown: false,
            kinds: Default::default(),
            doubtful: Vec::new(),
        });
    }

    /// Ends the list that is open. `whole` is whether its end was really there.
    pub(super) fn close_list(&mut self, list: &ObjectHead, whole: bool) -> Result<(), Halt> {
        let (held, doubtful) = self
            .list
            .as_mut()
            .map(|open| (std::mem::take(&mut open.held), std::mem::take(&mut open.doubtful)))
            .unwrap_or_default();
        if self.found && list.is_foreign() {
            self.summary.foreign += doubtful.len() as u64;
            for UntypedItem { origin, head, body } in held {
                self.untyped(origin, &head, &body)?;
            }
        } else {
            for (origin, flaw) in doubtful {
                self.report(origin, flaw, list.claimed_items())?;
            }
            for UntypedItem { origin, head, body } in held {
                self.typed(origin, list, &head, &body, None)?;
            }
            let open = self.list.as_ref().filter(|_| whole);
            let silent = open.is_some_and(|open| open.items + open.broken == 0);
            let alien = open.and_then(|open| list.alien(&open.kinds));
            if let Some(flaw) = list.list_flaw(silent).or(alien) {
                let origin = self.list.as_ref().map(|open| open.origin.clone());
                let origin = origin.unwrap_or_else(|| self.origin(Position::FILE, None));
                self.report(origin, flaw, list.claimed_items())?;
            }
        }
        let Some(open) = self.list.take() else { return Ok(()) };
        // A page is not the list, however whole it is.
        let continues = list.meta.continues();
        let complete = whole && list.is_list() && open.broken == 0 && !continues;
        self.summary.lists.push(ListSummary {
            origin: open.origin,
            api_version: list.api_version.clone(),
            kind: list.kind.clone(),
            items: open.items,
            broken: open.broken,
            continues,
            complete,
        });
        Ok(())
    }

    /// Reports a piece that is not read, after which reading goes on.
    pub(super) fn broken(
        &mut self,
        place: Position,
        item: Option<u64>,
        flaw: Flaw,
    ) -> Result<(), Halt> {
        let origin = self.origin(place, item);
        self.report(origin, flaw, None)
    }

    /// Reports a flaw of the whole file: nothing that it seems to prove by silence is believed.
    pub(super) fn spoil(&mut self, place: Position, flaw: Flaw) -> Result<(), Halt> {
        self.summary.intact = false;
        self.broken(place, None, flaw)
    }

    pub(super) fn report(
        &mut self,
        origin: Origin,
        flaw: Flaw,
        of: Option<ClaimedType>,
    ) -> Result<(), Halt> {
        self.summary.broken += 1;
        if let Some(open) = &mut self.list {
            open.broken += 1;
        }
        self.send(Piece::Broken(Broken { origin, flaw, of }))
    }

    pub(super) fn send(&mut self, piece: Piece<'_>) -> Result<(), Halt> {
        match (self.sink)(piece) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Asked),
        }
    }

    /// Ends the file with what its parser said last. The summary is there in every case; the
    /// other half says whether the sink wants no more.
    pub(super) fn finish(mut self, end: Result<(), Halt>) -> (FileSummary, Result<(), Halt>) {
        let end = match end {
            Ok(()) => match self.own {
                OwnDump::Open(_) => self.spoil(Position::FILE, Flaw::NoEnd),
                OwnDump::No | OwnDump::Closed => Ok(()),
            },
            Err(Halt::Flaw(flaw, place)) => self.spoil(place, flaw),
            Err(Halt::Asked) => Err(Halt::Asked),
        };
        if end.is_err() {
            self.summary.intact = false;
        }
        if !self.summary.intact {
            for list in &mut self.summary.lists {
                list.complete = false;
            }
        }
        (self.summary, end)
    }
}

/// Returns the piece for a document from its head.
fn document<'a>(
    origin: Origin,
    head: &'a ObjectHead,
    (api_version, kind): (&'a str, &'a str),
    body: &'a str,
    list: Option<usize>,
) -> DumpObject<'a> {
    let HeadMetadata { name, namespace, uid, resource_version, created, .. } = &head.meta;
    DumpObject {
        origin,
        api_version,
        kind,
        namespace: &namespace.0,
        name: &name.0,
        uid: &uid.0,
        resource_version: &resource_version.0,
        created: &created.0,
        body,
        skimmed: None,
        list,
    }
}

/// State of a file that may be a dump of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dump) enum OwnDump {
    /// The file is no dump of ours.
    No,
    /// The header has been read, and this number of lines after it.
    Open(u64),
    /// The end line has been read.
    Closed,
}

/// The end line of our own dump.
#[derive(Serialize, Deserialize)]
pub(in crate::dump) struct EndLine {
    /// Number of lines between the header and the end.
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

    /// Counts a line, if it is one of our own dump.
    pub(in crate::dump) fn count_line(&mut self) {
        if let OwnDump::Open(count) = &mut self.own {
            *count += 1;
        }
    }
}

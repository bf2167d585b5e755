//! The table: what is done about one attachment (SEMANTICS F80, F81, F82, R-SUP-1).

/// The volume that an attachment is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Its object is there, or the attachment describes it itself.
    There,
    /// Its object is known to be gone: its attacher can detach nothing without it.
    Missing,
    /// It names none, which no server should send.
    Nameless,
}

/// What holds an attachment first: whatever its attacher's finalizer is on may be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The finalizer of the attacher that it names.
    ByItsAttacher,
    /// The finalizer of another driver's attacher.
    ByAnotherAttacher,
    /// Finalizers of others alone: the disk is detached.
    ByOthers,
    /// The garbage collector alone.
    ByTheCollector,
    Not,
}

/// What the user said of one finalizer of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// `--remove-finalizer` names none of them.
    Unsaid,
    /// It names one.
    Said,
}

/// What speaks for doing something about an attachment, and against it.
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) terminating: bool,
    pub(super) source: Source,
    /// Whether the disk may be attached (R-SUP-1).
    pub(super) may_be_attached: bool,
    pub(super) held: Held,
    /// Whether its node is known to be gone.
    pub(super) node_gone: bool,
    /// Whether a pod is still said to use the volume there.
    pub(super) pod_there: bool,
    /// Whether the attacher that it names is known to be absent.
    pub(super) attacher_absent: bool,
    /// Whether the attachment was named: a filter never chooses what is done to nodes that are gone.
    pub(super) named: bool,
    pub(super) word: Word,
    /// Whether it has been terminating for as long as the threshold asks.
    pub(super) waited: bool,
}

/// What is done about one attachment next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// An ordinary deletion: its attacher detaches.
    Delete,
    /// The last resort: the object goes, and nobody detaches.
    RemoveItsAttachers,
    /// It is detached, and the user names the finalizer that keeps the object.
    RemoveOthers,
    Leave(Why),
}

/// Why an attachment is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    NothingHoldsIt,
    NothingWasAttached,
    NamesNoVolume,
    VolumeIsMissing,
    PodIsThere,
    NobodyWouldDetach,
    IsDetaching,
    IsAnotherAttachers,
    IsTheCollectors,
    GoesByItself,
    TooSoon,
    NeedsItsName,
    NeedsTheAttachmentsName,
}

pub(super) const fn decide(row: Row) -> Decision {
    if row.terminating { terminating(row) } else { standing(row) }
}

/// F82, and F80 before anybody deleted the attachment.
const fn standing(row: Row) -> Decision {
    use Decision::{Delete, Leave};
    match (row.source, row.node_gone, row.pod_there, row.attacher_absent, row.named) {
        (Source::Nameless, _, _, _, _) => Leave(Why::NamesNoVolume),
        (Source::Missing, _, _, _, _) if row.may_be_attached => Leave(Why::VolumeIsMissing),
        (Source::Missing, _, _, _, _) => Leave(Why::NothingWasAttached),
        (Source::There, false, _, _, _) => Leave(Why::NothingHoldsIt),
        (Source::There, true, true, _, _) => Leave(Why::PodIsThere),
        (Source::There, true, false, true, _) => Leave(Why::NobodyWouldDetach),
        (Source::There, true, false, false, false) => Leave(Why::NeedsTheAttachmentsName),
        (Source::There, true, false, false, true) => Delete,
    }
}

/// F80, F81, and what others hold.
#[expect(clippy::match_same_arms, reason = "a line for each row of the table")]
const fn terminating(row: Row) -> Decision {
    use Decision::{Leave, RemoveItsAttachers, RemoveOthers};
    match (row.held, row.source, row.node_gone, row.waited, row.named, row.word) {
        (Held::Not, _, _, _, _, _) => Leave(Why::GoesByItself),
        (Held::ByTheCollector, _, _, _, _, _) => Leave(Why::IsTheCollectors),
        (Held::ByAnotherAttacher, _, _, _, _, _) => Leave(Why::IsAnotherAttachers),
        (Held::ByItsAttacher, Source::There, _, _, _, _) => Leave(Why::IsDetaching),
        (Held::ByItsAttacher, Source::Nameless, _, _, _, _) => Leave(Why::NamesNoVolume),
        (Held::ByItsAttacher, Source::Missing, false, _, _, _) => Leave(Why::VolumeIsMissing),
        (Held::ByItsAttacher, Source::Missing, true, false, _, _) => Leave(Why::TooSoon),
        (Held::ByItsAttacher, Source::Missing, true, true, false, _) => {
            Leave(Why::NeedsTheAttachmentsName)
        }
        (Held::ByItsAttacher, Source::Missing, true, true, true, _) => RemoveItsAttachers,
        (Held::ByOthers, _, _, _, _, Word::Unsaid) => Leave(Why::NeedsItsName),
        (Held::ByOthers, _, _, _, false, Word::Said) => Leave(Why::NeedsTheAttachmentsName),
        (Held::ByOthers, _, _, false, true, Word::Said) => Leave(Why::TooSoon),
        (Held::ByOthers, _, _, true, true, Word::Said) => RemoveOthers,
    }
}

#[cfg(test)]
mod tests;

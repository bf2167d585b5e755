//! Reader that turns the documents of dumps into changes of the cluster: our own dumps, and those that kubectl and
//! other tools write.
//!
//! A dump of ours says itself how far each kind was seen. Of any other only what it shows is
//! known: see [`KindEvidence`] for what counts as having seen all of a kind.

mod kinds;
mod conclusion;
mod decoder;
mod seen_beside;
#[cfg(test)]
mod tests;
mod versions;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    ops::ControlFlow,
    sync::Arc,
};

use self::kinds::{ServedKind, claimed_kind, served_kind};
use self::seen_beside::NewestTime;
use decoder::{DecodingNotes, DecodingQueue};
use seen_beside::SeenBeside;

use super::answer_line::SavedAnswer;
use super::intake::Intake;
use super::records;
use crate::cluster::{Coverage, Reach};
use crate::dump::{self, Broken, DumpError, Input, Piece};
use crate::model::{Interner, Kind, Text, Time};
use crate::usage::{SavedFigures, SavedNode};

/// Statements of the user about a dump.
#[derive(Debug, Clone, Default)]
pub struct DumpOptions {
    /// The kinds that judgements need.
    pub kinds: Vec<Kind>,
    /// `--complete`: kinds of which the dump holds every object.
    pub complete: BTreeSet<Kind>,
    /// `--taken-at`.
    pub taken_at: Option<Time>,
    /// The time of this machine: a dump that does not say when it was taken was taken no later.
    pub now: Option<Time>,
}

/// Notes about a dump, besides its objects.
#[derive(Debug, Clone, Default)]
pub struct DumpNotes {
    /// Things that the user should know, each a sentence without a full stop.
    pub notes: Vec<String>,
    /// Gaps of the dump besides objects, each a sentence without a full stop.
    pub details: Vec<String>,
    /// Number of objects that an audit does not use.
    pub unused: u64,
}

/// Reads dumps into `intake`.
///
/// # Errors
/// When a dump cannot be opened, or holds nothing at all that an audit could use.
pub fn read(
    inputs: &[Input],
    stdin: &mut dyn Read,
    options: &DumpOptions,
    intake: &mut Intake,
) -> Result<DumpNotes, DumpError> {
    let newest_time = NewestTime::until(options.now);
    let mut reading = DumpReading { newest_time, ..DumpReading::default() };
    let (summaries, DecodingNotes { damaged, versions }) = decoder::with(intake, |queue| {
        dump::read(inputs, stdin, &mut |piece| reading.take_in(piece, queue))
    })?;
    reading.broken_anywhere.join(damaged);
    // A list without items is something to go by; a page of HTML or a list of Secrets is not.
    let tells = |list: &dump::ListSummary| match list.of() {
        Some(_) => kind_of(list).is_some(),
        None => list.items == 0,
    };
    let listed = summaries.iter().flat_map(|it| &it.lists).any(|it| it.complete && tells(it));
    if intake.is_empty() && !listed && reading.own.is_empty() {
        return Err(reading.useless(inputs, intake));
    }
    Ok(reading.conclude(inputs, &summaries, &versions, options, intake))
}

/// Returns the kind of the items of a typed list, if it is one that an audit looks at.
fn kind_of(list: &dump::ListSummary) -> Option<Kind> {
    claimed_kind(&list.api_version, list.of()?)
}

/// Occurrences of one sort: their number, and the first of them.
#[derive(Debug, Clone, Default)]
struct Occurrences {
    count: u64,
    first: String,
}

impl Occurrences {
    fn add(&mut self, told: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = told();
        }
        self.count += 1;
    }

    fn join(&mut self, other: Self) {
        if self.count == 0 {
            self.first = other.first;
        }
        self.count += other.count;
    }
}

/// State of reading dumps.
#[derive(Default)]
struct DumpReading {
    interner: Interner,
    evidence: BTreeMap<Kind, KindEvidence>,
    /// Coverage that dumps of ours record.
    recorded: Vec<(Reach, Coverage)>,
    /// The dumps of ours that were read.
    own: BTreeSet<Arc<str>>,
    /// The files that hold objects of the kinds that an audit looks at.
    sources: BTreeSet<Arc<str>>,
    newest_time: NewestTime,
    beside: SeenBeside,
    header: records::DumpHeader,
    taken: Option<records::DumpMoment>,
    notes: DumpNotes,
    /// Broken pieces that may have been of any kind.
    broken_anywhere: Occurrences,
    /// Objects without kind and version, by the kinds that they may be of.
    untyped: BTreeMap<Kind, Occurrences>,
    /// The files that hold objects without kind and version.
    untyped_files: BTreeSet<Arc<str>>,
    /// Objects of other groups whose kind has the name of one that an audit looks at, by `kind.group`.
    namesakes: BTreeMap<String, Occurrences>,
    /// Templates, which make objects, and hold none of a cluster.
    templates: Occurrences,
    /// The first broken piece, and the advice about it.
    broken_first: Option<(String, Option<&'static str>)>,
}

/// Evidence of a foreign dump about a kind.
///
/// A list that shows objects of a kind is taken for the whole of that kind, as far as its reach
/// can be told: all namespaces when it shows at least two, one when it shows one. What one list
/// shows says nothing about another. An object that is in no list proves nothing about others.
#[derive(Debug, Default)]
struct KindEvidence {
    /// Namespaces shown, by file and list.
    by_list: BTreeMap<(Arc<str>, usize), BTreeSet<Text>>,
    /// Whether objects outside of lists are shown.
    loose: bool,
}

impl DumpReading {
    fn take_in(&mut self, piece: Piece<'_>, queue: &mut DecodingQueue) -> ControlFlow<()> {
        match piece {
            Piece::Object(object) => self.object(&object, queue),
            Piece::Untyped(object) => self.untyped(&object, queue),
            Piece::Record(record) => match self.record(&record, queue) {
                Ok(flow) => flow,
                Err(reason) => {
                    let complaint = format!("{} {} {reason}", record.origin, record.kind);
                    self.broken_anywhere.add(|| complaint.clone());
                    queue.broken(None, complaint)
                }
            },
            Piece::Broken(broken) => self.broken(&broken, queue),
        }
    }

    /// Notes a broken piece: against the kind that it is said to be of, or against all.
    fn broken(&mut self, broken: &Broken, queue: &mut DecodingQueue) -> ControlFlow<()> {
        let complaint = broken.to_string();
        if self.broken_first.is_none() {
            self.broken_first = Some((complaint.clone(), broken.flaw.hint()));
        }
        let Some(claimed) = &broken.of else {
            self.broken_anywhere.add(|| complaint.clone());
            return queue.broken(None, complaint);
        };
        let kind = claimed_kind(&claimed.api_version, &claimed.kind);
        queue.broken(kind, complaint)
    }

    fn object(
        &mut self,
        object: &dump::DumpObject<'_>,
        queue: &mut DecodingQueue,
    ) -> ControlFlow<()> {
        if let Some(answer) = self.beside.answer(object, self.own.is_empty()) {
            return queue.answer(answer.0, answer.1);
        }
        match served_kind(object.api_version, object.kind) {
            ServedKind::Known(kind) => return self.of_kind(kind, object, queue),
            ServedKind::Unlike(kind) => {
                let complaint = format!(
                    "{} is of {}, whose fields this version does not know",
                    object.origin, object.api_version
                );
                return queue.broken(Some(kind), complaint);
            }
            ServedKind::Namesake => {
                let group = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
                let namesakes = self.namesakes.entry(format!("{}.{group}", object.kind));
                namesakes.or_default().add(|| object.origin.to_string());
            }
            ServedKind::Other if object.kind == "Template" => {
                self.templates.add(|| object.origin.to_string());
            }
            ServedKind::Other => {}
        }
        self.notes.unused += 1;
        queue.object(None, object, true)
    }

    fn of_kind(
        &mut self,
        kind: Kind,
        object: &dump::DumpObject<'_>,
        queue: &mut DecodingQueue,
    ) -> ControlFlow<()> {
        if !self.sources.contains(&object.origin.file) {
            self.sources.insert(Arc::clone(&object.origin.file));
        }
        self.newest_time.look(kind, object.body);
        self.beside.look(kind, object);
        let evidence = self.evidence.entry(kind).or_default();
        match object.list {
            Some(list) => {
                let list = (Arc::clone(&object.origin.file), list);
                let namespaces = evidence.by_list.entry(list).or_default();
                // Two are enough to tell all namespaces from one.
                if namespaces.len() < 2 {
                    namespaces.insert(self.interner.text(object.namespace));
                }
            }
            None => evidence.loose = true,
        }
        queue.object(Some(kind), object, !self.own.is_empty())
    }

    /// Notes an object that does not say of which kind it is.
    fn untyped(
        &mut self,
        object: &dump::DumpObject<'_>,
        queue: &mut DecodingQueue,
    ) -> ControlFlow<()> {
        let kinds = kinds::kinds(object);
        if let [kind] = kinds[..] {
            return self.of_kind(kind, object, queue);
        }
        if kinds.is_empty() {
            self.notes.unused += 1;
            return ControlFlow::Continue(());
        }
        for kind in kinds {
            self.untyped.entry(kind).or_default().add(|| object.origin.to_string());
        }
        self.untyped_files.insert(Arc::clone(&object.origin.file));
        queue.broken(None, format!("{} has neither kind nor apiVersion", object.origin))
    }

    /// Reads a line of our own dump. The error is what is wrong with it.
    fn record(
        &mut self,
        record: &dump::OwnRecord<'_>,
        queue: &mut DecodingQueue,
    ) -> Result<ControlFlow<()>, String> {
        fn parse<T: serde::de::DeserializeOwned>(body: &str) -> Result<T, String> {
            serde_json::from_str(body).map_err(|error| dump::explain(body, &error))
        }
        match record.kind {
            // An excerpt is written by hand: it has a header, and no end line to prove its end.
            "Dump" | "Excerpt" => {
                self.header = parse(record.body)?;
                self.own.insert(Arc::clone(&record.origin.file));
            }
            records::TAKEN => self.taken = Some(parse(record.body)?),
            records::COVERAGE | records::INVENTORY_COVERAGE => {
                let covered = parse::<records::SavedCoverage>(record.body)?;
                self.recorded.push(covered.into_coverage(&mut self.interner)?);
            }
            records::ANSWER => {
                let row = parse::<SavedAnswer>(record.body)?.into_row(&mut self.interner)?;
                if let crate::model::Row::Answer(question, answer) = row {
                    return Ok(queue.answer(question, answer));
                }
            }
            records::SIGHTING => {
                let sighted = parse::<records::SavedSighting>(record.body)?;
                return Ok(queue.sighting(sighted.into_sighting(&mut self.interner)?));
            }
            records::ADDED_FINALIZER => {
                let added = parse::<records::SavedAddedFinalizer>(record.body)?;
                let (volume, finalizer) = added.into_parts(&mut self.interner)?;
                return Ok(queue.added_finalizer(volume, finalizer));
            }
            records::KEPT_BACKEND => {
                let line = parse::<records::KeptBackendLine>(record.body)?;
                return Ok(queue.kept(line.into_backend(&mut self.interner)?));
            }
            records::VOLUME_FIGURES => {
                let figures = parse::<SavedFigures>(record.body)?;
                return Ok(queue.figures(figures.into_figures(&mut self.interner)?));
            }
            records::SILENT_KUBELET => {
                let silent = parse::<SavedNode>(record.body)?;
                return Ok(queue.figures(silent.into_figures(&mut self.interner)));
            }
            // A line of a later version: what it says is not needed to understand the rest.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the error that nothing that was read is of any use.
    fn useless(self, inputs: &[Input], intake: &Intake) -> DumpError {
        const EXPECTED: &str = "expected is what `kubectl get pv,pvc,… -A -o json` writes, a must-gather or a dump of ours";
        let undecodable = intake.complaints().first().map(|first| (first.clone(), None));
        let (reason, hint) = self.broken_first.or(undecodable).unwrap_or_else(|| {
            let reason = match (&self.templates, inputs) {
                (Occurrences { count: 1.., first }, _) => {
                    format!(
                        "{first} is a Template, which makes objects: it shows none of a cluster"
                    )
                }
                (_, [one]) => format!("{one} holds no object that an audit looks at"),
                (_, _) => format!(
                    "none of the {} inputs holds an object that an audit looks at",
                    inputs.len()
                ),
            };
            (reason, None)
        });
        DumpError::Useless { reason, hint: Some(hint.unwrap_or(EXPECTED)) }
    }
}

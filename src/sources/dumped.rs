//! Reading a saved dump: our own, or what kubectl and must-gather write.
//!
//! A dump of ours says itself how far each kind was seen. Of any other only what it shows is
//! known: see [`Evidence`] for what counts as having seen all of a kind.

mod conclude;
mod desk;
#[cfg(test)]
mod tests;
mod trim;
mod unread;
mod versions;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    ops::ControlFlow,
    sync::Arc,
};

use desk::{Desk, Found};

use super::{intake::Intake, kept_backend_line, saved};
use crate::cluster::{Coverage, Reach};
use crate::dump::{self, Broken, DumpError, FileSummary, Input, Piece};
use crate::model::{Interner, Kind, Text, Time};

/// What the user says of a dump.
#[derive(Debug, Clone, Default)]
pub struct DumpOptions {
    /// The kinds that judgements need.
    pub kinds: Vec<Kind>,
    /// `--complete`: kinds of which the dump holds every object.
    pub complete: BTreeSet<Kind>,
    /// `--taken-at`.
    pub taken_at: Option<Time>,
}

/// What there is to say about a dump besides its objects.
#[derive(Debug, Clone, Default)]
pub struct DumpNotes {
    /// Things that the user should know, each a sentence without a full stop.
    pub notes: Vec<String>,
    /// Objects that an audit has no use for.
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
    let mut reading = Reading::default();
    let (summaries, Found { damaged, versions }) = desk::with(intake, |desk| {
        dump::read(inputs, stdin, &mut |piece| reading.take_in(piece, desk))
    })?;
    reading.broken_anywhere.join(damaged);
    // A list without items is something to go by; a page of HTML or a list of Secrets is not.
    let tells = |list: &dump::List| match list.of() {
        Some(kind) => Kind::ALL.into_iter().any(|it| it.is_listed() && it.name() == kind),
        None => list.items == 0,
    };
    let listed = summaries.iter().flat_map(|it| &it.lists).any(|it| it.complete && tells(it));
    if intake.seen().is_empty() && !listed && reading.own.is_empty() {
        return Err(reading.useless(&summaries, intake));
    }
    Ok(reading.conclude(&summaries, &versions, options, intake))
}

/// Things of one sort: how many, and the first of them.
#[derive(Debug, Clone, Default)]
struct Tally {
    count: u64,
    first: String,
}

impl Tally {
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

/// What is learned while reading.
#[derive(Default)]
struct Reading {
    interner: Interner,
    evidence: BTreeMap<Kind, Evidence>,
    /// Coverage that dumps of ours record.
    recorded: Vec<(Reach, Coverage)>,
    /// The dumps of ours that were read.
    own: BTreeSet<Arc<str>>,
    /// The files that hold objects, as long as they are few.
    sources: BTreeSet<Arc<str>>,
    header: saved::Header,
    taken: Option<saved::Taken>,
    notes: DumpNotes,
    /// What may have been of any kind.
    broken_anywhere: Tally,
    /// What was broken first, and what can be done about it.
    broken_first: Option<(String, Option<&'static str>)>,
}

/// What a foreign dump shows of a kind.
///
/// A list that shows objects of a kind is taken for the whole of that kind, as far as its reach
/// can be told: all namespaces when it shows at least two in one list, one when it shows one. An
/// object that is in no list proves nothing about others.
#[derive(Debug, Default)]
struct Evidence {
    /// Namespaces shown, by file and list.
    by_list: BTreeMap<(Arc<str>, bool), BTreeSet<Text>>,
    /// Objects outside of lists.
    loose: bool,
}

impl Reading {
    fn take_in(&mut self, piece: Piece<'_>, desk: &mut Desk) -> ControlFlow<()> {
        match piece {
            Piece::Object(object) => self.object(&object, desk),
            Piece::Record(record) => match self.record(&record, desk) {
                Ok(flow) => flow,
                Err(reason) => {
                    let complaint = format!("{} {} {reason}", record.origin, record.kind);
                    self.broken_anywhere.add(|| complaint.clone());
                    desk.broken(None, complaint)
                }
            },
            Piece::Broken(broken) => self.broken(&broken, desk),
        }
    }

    /// Takes down what is broken: against the kind that it is said to be of, or against all.
    fn broken(&mut self, broken: &Broken, desk: &mut Desk) -> ControlFlow<()> {
        let complaint = broken.to_string();
        if self.broken_first.is_none() {
            self.broken_first = Some((complaint.clone(), broken.flaw.hint()));
        }
        let Some(claimed) = &broken.of else {
            self.broken_anywhere.add(|| complaint.clone());
            return desk.broken(None, complaint);
        };
        let group = claimed.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let kind = Kind::ALL.into_iter().filter(|kind| kind.is_listed()).find(|kind| {
            let fits = claimed.api_version.is_empty() || kind.group().name == group;
            fits && kind.name() == claimed.kind
        });
        desk.broken(kind, complaint)
    }

    fn object(&mut self, object: &dump::Object<'_>, desk: &mut Desk) -> ControlFlow<()> {
        let group = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let kind = Kind::parse(group, object.kind).filter(|kind| kind.is_listed());
        let Some(kind) = kind else {
            self.notes.unused += 1;
            return desk.object(None, object, true);
        };
        if self.sources.len() < 2 && !self.sources.contains(&object.origin.file) {
            self.sources.insert(Arc::clone(&object.origin.file));
        }
        let evidence = self.evidence.entry(kind).or_default();
        if object.origin.item.is_some() {
            let list = (Arc::clone(&object.origin.file), true);
            let namespaces = evidence.by_list.entry(list).or_default();
            // Two are enough to tell all namespaces from one.
            if namespaces.len() < 2 {
                namespaces.insert(self.interner.text(object.namespace));
            }
        } else {
            evidence.loose = true;
        }
        desk.object(Some(kind), object, !self.own.is_empty())
    }

    /// Takes in a line of ours. The error is what is wrong with it.
    fn record(
        &mut self,
        record: &dump::Record<'_>,
        desk: &mut Desk,
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
            saved::TAKEN => self.taken = Some(parse(record.body)?),
            saved::COVERAGE => {
                let covered = parse::<saved::Covered>(record.body)?;
                self.recorded.push(covered.into_coverage(&mut self.interner)?);
            }
            saved::ANSWER => {
                let row = parse::<saved::Answered>(record.body)?.into_row(&mut self.interner)?;
                if let crate::model::Row::Answer(question, answer) = row {
                    return Ok(desk.answer(question, answer));
                }
            }
            saved::SIGHTING => {
                let sighted = parse::<saved::Sighted>(record.body)?;
                return Ok(desk.sighting(sighted.into_sighting(&mut self.interner)?));
            }
            kept_backend_line::KEPT_BACKEND => {
                let line = parse::<kept_backend_line::KeptBackendLine>(record.body)?;
                return Ok(desk.kept(line.into_backend(&mut self.interner)?));
            }
            // A line of a later version: what it says is not needed to understand the rest.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Says why nothing that was read is of any use.
    fn useless(self, summaries: &[FileSummary], intake: &Intake) -> DumpError {
        const EXPECTED: &str = "expected is what `kubectl get pv,pvc,… -A -o json` writes, a must-gather or a dump of ours";
        let undecodable = intake.complaints().first().map(|first| (first.clone(), None));
        let (reason, hint) = self.broken_first.or(undecodable).unwrap_or_else(|| {
            let names: Vec<_> = summaries.iter().take(3).map(|it| it.path.to_string()).collect();
            (format!("{} holds no object that an audit looks at", names.join(", ")), None)
        });
        DumpError::Useless { reason, hint: Some(hint.unwrap_or(EXPECTED)) }
    }
}

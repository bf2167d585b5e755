//! Reading a saved dump: our own, or what kubectl and must-gather write.
//!
//! A dump of ours says itself how far each kind was seen. Of any other only what it shows is
//! known: see [`Evidence`] for what counts as having seen all of a kind.

mod desk;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    ops::ControlFlow,
    sync::Arc,
};

use desk::Desk;

use super::{
    dump::{self, DumpError, FileSummary, Input, Layout, Piece, Scope},
    intake::Intake,
    saved,
};
use crate::cluster::{Change, Coverage, Gap, Reach};
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
    let (summaries, damaged) = desk::with(intake, |desk| {
        dump::read(inputs, stdin, &mut |piece| reading.take_in(piece, desk))
    })?;
    reading.broken_anywhere.extend(damaged);
    // A list without items is something to go by; a page of HTML is not.
    let listed = summaries.iter().any(|it| it.records > 0 || it.lists.iter().any(|it| it.complete));
    if intake.seen().is_empty() && !listed {
        return Err(reading.useless(&summaries));
    }
    Ok(reading.conclude(&summaries, options, intake))
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
    broken_anywhere: Vec<String>,
    /// What can be done about the first of them.
    hint: Option<&'static str>,
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
                    self.broken_anywhere.push(format!("{} {reason}", record.origin));
                    ControlFlow::Continue(())
                }
            },
            Piece::Broken(broken) => {
                self.hint = self.hint.or(broken.flaw.hint());
                self.broken_anywhere.push(broken.to_string());
                ControlFlow::Continue(())
            }
        }
    }

    fn object(&mut self, object: &dump::Object<'_>, desk: &mut Desk) -> ControlFlow<()> {
        let group = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let kind = Kind::parse(group, object.kind).filter(|kind| kind.is_listed());
        let Some(kind) = kind else {
            self.notes.unused += 1;
            return desk.object(None, object);
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
        desk.object(Some(kind), object)
    }

    /// Takes in a line of ours. The error is what is wrong with it.
    fn record(
        &mut self,
        record: &dump::Record<'_>,
        desk: &mut Desk,
    ) -> Result<ControlFlow<()>, String> {
        fn parse<T: serde::de::DeserializeOwned>(body: &str) -> Result<T, String> {
            serde_json::from_str(body).map_err(|error| error.to_string())
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
            // A line of a later version: what it says is not needed to understand the rest.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Says why nothing that was read is of any use.
    fn useless(self, summaries: &[FileSummary]) -> DumpError {
        const EXPECTED: &str = "expected is what `kubectl get pv,pvc,… -A -o json` writes, a must-gather or a dump of ours";
        let (first, hint) = (self.broken_anywhere.into_iter().next(), self.hint);
        let reason = first.unwrap_or_else(|| {
            let names: Vec<_> = summaries.iter().take(3).map(|it| it.path.to_string()).collect();
            format!("{} holds no object that an audit looks at", names.join(", "))
        });
        DumpError::Useless { reason, hint: Some(hint.unwrap_or(EXPECTED)) }
    }

    /// Draws the conclusions that only the end of everything allows.
    fn conclude(
        mut self,
        summaries: &[FileSummary],
        options: &DumpOptions,
        intake: &mut Intake,
    ) -> DumpNotes {
        if summaries.iter().any(|it| it.layout == Layout::ClusterInfoDump) {
            self.notes.notes.push(
                "kubectl cluster-info dump holds neither volumes nor claims: it only tells about workloads"
                    .to_owned(),
            );
        }
        let mut complete = options.complete.clone();
        for name in &self.header.complete {
            match Kind::parse_resource(name) {
                Some(kind) => {
                    complete.insert(kind);
                }
                None if name == "all" => complete.extend(Kind::ALL),
                None => {
                    self.broken_anywhere.push(format!("{name:?} is no kind that can be complete"));
                }
            }
        }
        self.cover(summaries, &complete, &options.kinds, intake);
        self.tell_time(summaries, options, intake);
        self.notes.notes.extend(self.broken_anywhere);
        self.notes
    }

    /// Decides how far each kind was seen.
    fn cover(
        &mut self,
        summaries: &[FileSummary],
        complete: &BTreeSet<Kind>,
        needed: &[Kind],
        intake: &mut Intake,
    ) {
        let mixed = self.mixed();
        let recorded = std::mem::take(&mut self.recorded);
        let known: BTreeSet<Kind> = recorded.iter().map(|(reach, _)| reach.kind).collect();
        for (reach, coverage) in recorded {
            intake.apply(Change::Covered(reach, coverage));
        }
        for kind in needed.iter().copied().filter(|kind| kind.is_listed()) {
            let broken_here = intake.broken().get(&Reach::all(kind)).cloned();
            if let Some((count, first)) = broken_here {
                let reason = match count {
                    1 => first,
                    _ => format!("{count} objects could not be read, the first: {first}"),
                };
                intake.apply(Change::Lost(Gap { kind, namespace: None, reason }));
                continue;
            }
            if let Some(reason) = &mixed {
                intake.apply(Change::Lost(Gap { kind, namespace: None, reason: reason.clone() }));
                continue;
            }
            // What broke before its kind was known may have been of any kind, and the only one.
            if let Some(first) = self.broken_anywhere.first() {
                let reason = match self.broken_anywhere.len() {
                    1 => first.clone(),
                    count => {
                        format!("{count} pieces of the dump could not be read, the first: {first}")
                    }
                };
                intake.apply(Change::Lost(Gap { kind, namespace: None, reason }));
                continue;
            }
            if known.contains(&kind) {
                continue;
            }
            if complete.contains(&kind) {
                intake.apply(Change::Whole(Reach::all(kind)));
                continue;
            }
            self.cover_foreign(kind, summaries, intake);
        }
    }

    /// Why nothing can be said to be absent, where a dump of ours is not all that was read: the
    /// coverage that it records is about its own moment, and its own cluster.
    fn mixed(&self) -> Option<String> {
        let own = self.own.first()?;
        let other = self.own.iter().chain(&self.sources).find(|file| *file != own)?;
        Some(format!(
            "{own} tells of one moment, and {other} may be of another: audit them one by one"
        ))
    }

    fn cover_foreign(&self, kind: Kind, summaries: &[FileSummary], intake: &mut Intake) {
        let typed = |summary: &FileSummary| {
            summary.lists.iter().any(|list| list.complete && list.of() == Some(kind.name()))
        };
        let lose = |intake: &mut Intake, reason: String| {
            intake.apply(Change::Lost(Gap { kind, namespace: None, reason }));
        };
        let mut whole = false;
        let mut namespaces: BTreeSet<Text> = BTreeSet::new();
        for summary in summaries {
            if !summary.intact {
                continue;
            }
            let shown = self
                .evidence
                .get(&kind)
                .and_then(|evidence| evidence.by_list.get(&(Arc::clone(&summary.path), true)));
            let listed =
                typed(summary) || shown.is_some() && summary.lists.iter().any(|it| it.complete);
            if !listed {
                continue;
            }
            match (&summary.scope, kind.is_namespaced()) {
                (_, false) => whole = true,
                (Scope::Namespace(namespace), true) => {
                    namespaces.insert(namespace.as_str().into());
                }
                (Scope::Unknown | Scope::Cluster, true) => match shown {
                    Some(shown) if shown.len() == 1 => namespaces.extend(shown.iter().cloned()),
                    // A typed list without items, or a list of several namespaces.
                    Some(_) | None => whole = true,
                },
            }
        }
        if whole {
            intake.apply(Change::Whole(Reach::all(kind)));
            return;
        }
        let unlisted = self.evidence.get(&kind).is_some_and(|evidence| evidence.loose);
        if namespaces.is_empty() {
            let why = if unlisted {
                "the dump holds single objects, not a list; --complete says that they are all"
            } else {
                "the dump shows none; --complete says that there are none"
            };
            lose(intake, why.to_owned());
            return;
        }
        let names = namespaces.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
        lose(
            intake,
            format!("the dump shows only namespace {names}; --complete says that this is all"),
        );
        for namespace in namespaces {
            intake.apply(Change::Whole(Reach { kind, namespace: Some(namespace) }));
        }
    }

    /// Sets the clock to the moment at which the dump was taken.
    fn tell_time(&mut self, summaries: &[FileSummary], options: &DumpOptions, intake: &mut Intake) {
        let taken = self.taken.take().unwrap_or_else(|| self.header.metadata.clone());
        let recorded = taken.clock().unwrap_or_else(|reason| {
            self.notes.notes.push(reason);
            None
        });
        match taken.server() {
            Some(server) => intake.apply(Change::Server(server)),
            None => self.notes.notes.push(
                "the dump does not tell the server's version: what depends on it is not judged"
                    .to_owned(),
            ),
        }
        let gathered = summaries.iter().filter_map(|summary| summary.taken_at).min();
        let guessed = recorded.is_none() && gathered.is_none() && options.taken_at.is_none();
        let time = options.taken_at.or(recorded).or(gathered).or(intake.newest());
        match time {
            Some(time) => {
                intake.apply(Change::Clock(time));
                if guessed && self.own.is_empty() {
                    let time = crate::model::format_time(&time);
                    self.notes.notes.push(format!(
                        "the dump does not tell when it was taken; ages are as of {time}, the newest time in it (--taken-at sets another)"
                    ));
                }
            }
            None => self.notes.notes.push(
                "the dump does not tell when it was taken, so nothing has an age: pass --taken-at"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::sources::dump::{DumpWriter, Replace};

    /// A dump of ours that says it has seen all claims and attachments, and holds one attachment.
    fn own(path: &Path) {
        let mut writer = DumpWriter::create(path, Replace::Dumps, &saved::Header::now())
            .expect("because there is room");
        let attachment = serde_json::json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": "a"}, "spec": {"source": {"persistentVolumeName": "pv"}}});
        writer.object(&attachment).expect("because there is room");
        for kind in [Kind::PersistentVolumeClaim, Kind::VolumeAttachment] {
            let covered =
                saved::Covered::new(&Reach::all(kind), &Coverage::Seen { began: 9, ended: 10 });
            writer.record(saved::COVERAGE, &covered).expect("because there is room");
        }
        writer.finish().expect("because there is room");
    }

    fn unseen(paths: &[&Path]) -> Vec<Kind> {
        let inputs: Vec<_> = paths.iter().map(|path| Input::Path(path.to_path_buf())).collect();
        let kinds = vec![Kind::PersistentVolumeClaim, Kind::VolumeAttachment];
        let options = DumpOptions { kinds, ..DumpOptions::default() };
        let mut intake = Intake::new(None);
        read(&inputs, &mut std::io::empty(), &options, &mut intake).expect("readable");
        let unseen = |kind: &Kind| intake.cluster.reach(*kind, None).is_err();
        options.kinds.iter().copied().filter(unseen).collect()
    }

    #[test]
    fn a_dump_whose_only_object_of_a_kind_is_damaged_has_not_shown_that_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("dump.json");
        own(&path);
        assert_eq!(unseen(&[&path]), []);
        let text = fs::read_to_string(&path).expect("because it was written");
        fs::write(&path, text.replace("\"kind\":\"VolumeAttachment\"", "\"kind\":7"))
            .expect("room");
        assert_eq!(unseen(&[&path]), [Kind::PersistentVolumeClaim, Kind::VolumeAttachment]);
    }

    #[test]
    fn a_dump_of_ours_beside_anything_else_proves_no_absence() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, two, list] = ["one.json", "two.json", "pv.json"].map(|it| folder.path().join(it));
        own(&one);
        own(&two);
        let volumes = r#"{"apiVersion": "v1", "kind": "PersistentVolumeList", "items": [
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "later"}}]}"#;
        fs::write(&list, volumes).expect("because there is room");
        let both = [Kind::PersistentVolumeClaim, Kind::VolumeAttachment];
        assert_eq!(unseen(&[&one]), []);
        assert_eq!(unseen(&[&one, &two]), both);
        assert_eq!(unseen(&[&one, &list]), both);
        assert_eq!(unseen(&[&list, &one]), both);
    }
}

//! What a dump proves once it has been read to its end: how far each kind was seen, and when.

use std::{collections::BTreeSet, sync::Arc};

use super::super::intake::Intake;
use super::{DumpNotes, DumpOptions, Reading, Tally, versions::Versions};
use crate::cluster::{Change, Coverage, Gap, Reach};
use crate::dump::{FileSummary, Layout, Scope};
use crate::model::{Kind, Text};

impl Reading {
    /// Draws the conclusions that only the end of everything allows.
    pub(super) fn conclude(
        mut self,
        summaries: &[FileSummary],
        versions: &Versions,
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
                    let reason = format!("{name:?} is no kind that can be complete");
                    self.broken_anywhere.add(|| reason);
                }
            }
        }
        self.cover(summaries, versions, &complete, &options.kinds, intake);
        self.tell_versions(versions);
        self.tell_time(summaries, options, intake);
        self.notes
    }

    fn tell_versions(&mut self, versions: &Versions) {
        let older = &versions.older;
        let note = match older.count {
            0 => return,
            1 => format!("there are two versions of {}: the newer one counts", older.first),
            count => format!(
                "there are two versions of {}, and of {} more: the newer ones count",
                older.first,
                counted(count - 1, "object")
            ),
        };
        self.notes.notes.push(note);
    }

    /// Decides how far each kind was seen.
    fn cover(
        &mut self,
        summaries: &[FileSummary],
        versions: &Versions,
        complete: &BTreeSet<Kind>,
        needed: &[Kind],
        intake: &mut Intake,
    ) {
        let mixed = self.mixed();
        let Tally { count, first } = &self.broken_anywhere;
        let anywhere = (*count > 0).then(|| several(*count, "pieces of the dump", first));
        let recorded = std::mem::take(&mut self.recorded);
        let known: BTreeSet<Kind> = recorded.iter().map(|(reach, _)| reach.kind).collect();
        for (reach, coverage) in recorded {
            intake.apply(Change::Covered(reach, coverage));
        }
        for kind in needed.iter().copied().filter(|kind| kind.is_listed()) {
            let broken_here = intake.broken().get(&Reach::all(kind)).cloned();
            let lost = broken_here
                .map(|(count, first)| several(count, "objects", &first))
                .or_else(|| mixed.clone())
                // What broke before its kind was known may have been of any kind, and the only one.
                .or_else(|| anywhere.clone())
                .or_else(|| Some(at_two_moments(versions.unordered.get(&kind)?)));
            if let Some(reason) = lost {
                intake.apply(Change::Lost(Gap { kind, namespace: None, reason }));
                continue;
            }
            if known.contains(&kind) {
                continue;
            }
            if complete.contains(&kind) {
                intake.apply(Change::Whole(Reach::all(kind)));
            } else {
                self.cover_foreign(kind, summaries, intake);
            }
        }
        self.tell_moment(summaries, versions, intake);
    }

    /// Says that what is absent is so only if the lists of a foreign dump are of one moment: where one
    /// kind was seen whole, and objects of another may miss something in it.
    fn tell_moment(&mut self, summaries: &[FileSummary], versions: &Versions, intake: &Intake) {
        let mut covered = intake.cluster.coverages();
        let relied_upon = covered.any(|(reach, coverage)| {
            let by_others = intake.seen().keys().any(|kind| *kind != reach.kind);
            by_others && matches!(coverage, Coverage::Seen { .. })
        });
        if !self.own.is_empty() || !versions.unordered.is_empty() || !relied_upon {
            return;
        }
        let listed = summaries.iter().filter(|it| it.objects > 0 || !it.lists.is_empty());
        let paths: Vec<_> = listed.map(|it| &*it.path).collect();
        let note = match &paths[..] {
            [] => return,
            [one] => format!("{one} does not say when its lists were taken: they are"),
            [one, more @ ..] => format!(
                "{one} and {} do not say when their lists were taken: they are",
                counted(more.len() as u64, "other file")
            ),
        };
        self.notes.notes.push(format!("{note} judged as of one moment"));
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
        let recorded = taken.clock().unwrap_or_else(|_| {
            let text = taken.taken_at.as_deref().unwrap_or_default();
            self.notes.notes.push(format!("takenAt is {text:?}, not an RFC 3339 time"));
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

/// Says what could not be read, in one line however much it was.
fn several(count: u64, what: &str, first: &str) -> String {
    match count {
        1 => first.to_owned(),
        _ => format!("{count} {what} could not be read, the first: {first}"),
    }
}

/// Why nothing is known to be absent, where inputs contradict each other.
fn at_two_moments(Tally { count, first }: &Tally) -> String {
    let more = match count {
        0 | 1 => String::new(),
        _ => format!(", and of {}", counted(count - 1, "more object")),
    };
    format!("two versions of {first}{more}: the inputs were not taken at one moment")
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

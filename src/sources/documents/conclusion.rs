//! Conclusions at the end of a dump: which kinds were read whole, and when the dump was taken.

use std::{collections::BTreeSet, sync::Arc};

use super::super::intake::Intake;
use super::{
    DumpNotes, DumpOptions, DumpReading, KindEvidence, Occurrences, kind_of,
    versions::ObjectVersions,
};
use crate::cluster::{Change, Coverage, Gap, Reach};
use crate::dump::{FileLayout, FileScope, FileSummary, Input};
use crate::model::{Kind, Server, Text, counted};

impl DumpReading {
    /// Draws the conclusions that only the end of everything allows.
    pub(super) fn conclude(
        mut self,
        inputs: &[Input],
        summaries: &[FileSummary],
        versions: &ObjectVersions,
        options: &DumpOptions,
        intake: &mut Intake,
    ) -> DumpNotes {
        if summaries.iter().any(|it| it.layout == FileLayout::ClusterInfoDump) {
            self.notes.notes.push(
                "kubectl cluster-info dump contains neither volumes nor claims, only workloads"
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
                    let reason = format!("{name:?} is not a kind that can be complete");
                    self.broken_anywhere.add(|| reason);
                }
            }
        }
        self.cover(summaries, versions, &complete, &options.kinds, intake);
        self.note_moment(inputs, summaries, versions, intake);
        self.note_versions(versions);
        self.note_untyped();
        self.note_namesakes();
        self.set_clock(summaries, options, intake);
        if self.own.is_empty() {
            self.beside.conclude(intake);
        }
        self.notes
    }

    fn note_versions(&mut self, versions: &ObjectVersions) {
        let older = &versions.older;
        let note = match older.count {
            0 => return,
            1 => {
                format!("the dump contains two versions of {}; the newer one is used", older.first)
            }
            count => format!(
                "the dump contains two versions of {}, and of {} more; the newer ones are used",
                older.first,
                counted(count - 1, "object")
            ),
        };
        self.notes.notes.push(note);
    }

    /// Decides how far each kind was read.
    fn cover(
        &mut self,
        summaries: &[FileSummary],
        versions: &ObjectVersions,
        complete: &BTreeSet<Kind>,
        needed: &[Kind],
        intake: &mut Intake,
    ) {
        let mixed = self.mixed();
        let pages = self.pages(summaries);
        let Occurrences { count, first } = &self.broken_anywhere;
        let anywhere = (*count > 0).then(|| several(*count, "pieces of the dump", first));
        let mut recorded = std::mem::take(&mut self.recorded);
        // What is said of a whole kind replaces what was said of its namespaces.
        recorded.sort_by(|a, b| a.0.cmp(&b.0));
        let known: BTreeSet<Kind> = recorded.iter().map(|(reach, _)| reach.kind).collect();
        for (reach, coverage) in recorded {
            // What a command does not look at is no gap of it.
            if !reach.kind.is_inventory() || needed.contains(&reach.kind) {
                intake.apply(Change::Covered(reach, coverage));
            }
        }
        for kind in needed.iter().copied().filter(|kind| kind.is_listed()) {
            let broken_here = intake.broken().get(&Reach::all(kind)).cloned();
            if kind.is_inventory() {
                // A dump without one does not lack anything.
                let is_there = known.contains(&kind) || self.evidence.contains_key(&kind);
                match broken_here {
                    Some((count, first)) => {
                        let reason = several(count, "objects", &first);
                        let gap = Gap { kind, namespace: None, reason };
                        intake.apply(Change::Covered(Reach::all(kind), Coverage::Gap(gap)));
                        continue;
                    }
                    None if !is_there => continue,
                    None => {}
                }
            }
            let lost = broken_here
                .map(|(count, first)| several(count, "objects", &first))
                .or_else(|| mixed.clone())
                // What broke before its kind was known may have been of any kind, and the only one.
                .or_else(|| anywhere.clone())
                .or_else(|| Some(untyped(self.untyped.get(&kind)?)))
                .or_else(|| Some(at_two_moments(versions.unordered.get(&kind)?)));
            if let Some(reason) = lost {
                lose(kind, reason, intake);
                continue;
            }
            if known.contains(&kind) {
                continue;
            }
            if complete.contains(&kind) {
                intake.apply(Change::Whole(Reach::all(kind)));
            } else {
                self.cover_foreign(kind, summaries, &pages, intake);
            }
        }
    }

    /// Notes that absence rests on the lists of a foreign dump being of one moment: where one kind was read whole, and
    /// objects of another may miss something in it.
    fn note_moment(
        &mut self,
        inputs: &[Input],
        summaries: &[FileSummary],
        versions: &ObjectVersions,
        intake: &Intake,
    ) {
        let mut covered = intake.cluster.coverages();
        let relied_upon = covered.any(|(reach, coverage)| {
            let by_others = intake.seen().keys().any(|kind| *kind != reach.kind);
            by_others && matches!(coverage, Coverage::Seen { .. })
        });
        if !self.own.is_empty() || !versions.unordered.is_empty() || !relied_upon {
            return;
        }
        let lists = |file: &FileSummary| file.lists.iter().any(|list| kind_of(list).is_some());
        let matters = |file: &&FileSummary| self.sources.contains(&file.path) || lists(file);
        let files: Vec<_> = summaries.iter().filter(matters).map(|file| &*file.path).collect();
        // A folder or an archive is told by its own name, not by that of any file in it.
        let inputs: Vec<_> = inputs.iter().map(Input::to_string).collect();
        let within = |file: &str, input: &String| {
            let rest = file.strip_prefix(input.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '!']))
        };
        let told = inputs.iter().filter(|input| files.iter().any(|file| within(file, input)));
        let note = match told.collect::<Vec<_>>()[..] {
            [] => return,
            [one] => format!("{one} does not say when its lists were taken"),
            [one, ref more @ ..] => format!(
                "{one} and {} do not say when their lists were taken",
                counted(more.len(), "other file")
            ),
        };
        self.notes.details.push(format!("{note}: they are treated as simultaneous"));
    }

    /// Notes the files that hold objects that may be of any of several kinds.
    fn note_untyped(&mut self) {
        let mut files = self.untyped_files.iter();
        let Some(first) = files.next() else { return };
        let more = files.len() as u64;
        let note = match more {
            0 => format!("{first} contains objects"),
            _ => format!("{first} and {} contain objects", counted(more, "other file")),
        };
        self.notes.notes.push(format!(
            "{note} without kind and apiVersion: they are not read, and no kind that they may be \
             of counts as complete"
        ));
    }

    /// Notes the objects that were not read since their group is not that of their namesakes.
    fn note_namesakes(&mut self) {
        for (name, Occurrences { count, first }) in &self.namesakes {
            self.notes.notes.push(match count {
                1 => format!("{first} is a {name}, which an audit does not read"),
                _ => format!(
                    "{count} objects are of {name}, which an audit does not read; the \
                              first is {first}"
                ),
            });
        }
    }

    /// Returns why nothing can be said to be absent, where a dump of ours is not all that was read: the coverage that
    /// it records is about its own moment, and its own cluster.
    fn mixed(&self) -> Option<String> {
        let own = self.own.first()?;
        let other = self.own.iter().chain(&self.sources).find(|file| *file != own)?;
        Some(format!(
            "{own} was taken at one time, and {other} possibly at another: audit them one by one"
        ))
    }

    /// Returns the kinds of which there are pages, by the part of the cluster that their place promises: what looks
    /// like a whole list may be the last of these pages.
    fn pages<'s>(&self, summaries: &'s [FileSummary]) -> BTreeSet<(Option<Kind>, &'s FileScope)> {
        let mut pages = BTreeSet::new();
        for summary in summaries {
            for (number, list) in summary.lists.iter().enumerate() {
                if !list.continues {
                    continue;
                }
                let shows =
                    |evidence: &KindEvidence| evidence.shown(&summary.path, number).is_some();
                let on_page = self.evidence.iter().filter(|it| shows(it.1)).map(|(kind, _)| *kind);
                let kinds: BTreeSet<_> = on_page.chain(kind_of(list)).map(Some).collect();
                // A page without objects that does not name its kind may be of any.
                let kinds =
                    if kinds.is_empty() && list.of().is_none() { [None].into() } else { kinds };
                pages.extend(kinds.into_iter().map(|kind| (kind, &summary.scope)));
            }
        }
        pages
    }

    fn cover_foreign(
        &self,
        kind: Kind,
        summaries: &[FileSummary],
        pages: &BTreeSet<(Option<Kind>, &FileScope)>,
        intake: &mut Intake,
    ) {
        let lose = |intake: &mut Intake, reason: String| lose(kind, reason, intake);
        let evidence = self.evidence.get(&kind);
        let (mut whole, mut is_listed, mut has_empty) = (false, false, false);
        let mut namespaces: BTreeSet<Text> = BTreeSet::new();
        for summary in summaries {
            for (number, list) in summary.lists.iter().enumerate() {
                let shown = evidence.and_then(|it| it.shown(&summary.path, number));
                if shown.is_none() && kind_of(list) != Some(kind) {
                    continue;
                }
                let is_page =
                    [Some(kind), None].iter().any(|it| pages.contains(&(*it, &summary.scope)));
                if !list.complete || is_page {
                    is_listed = true;
                    continue;
                }
                match (&summary.scope, shown) {
                    _ if !kind.is_namespaced() => whole = true,
                    (_, Some(shown)) if shown.len() > 1 => whole = true,
                    // What is in the list counts more than where it lies.
                    (_, Some(shown)) => namespaces.extend(shown.iter().cloned()),
                    (FileScope::Namespace(namespace), None) => {
                        namespaces.insert(namespace.as_str().into());
                    }
                    // Where the layout says that it is of all namespaces.
                    (FileScope::Cluster, None) => whole = true,
                    (FileScope::Unknown, None) => has_empty = true,
                }
            }
        }
        // A typed list without items is that of all namespaces or of one: nothing in it tells.
        if whole {
            intake.apply(Change::Whole(Reach::all(kind)));
            return;
        }
        if namespaces.is_empty() {
            let why = if is_listed {
                "the dump contains no list of them that is certainly whole"
            } else if has_empty {
                "the dump contains an empty list of them, which may be that of one namespace"
            } else if evidence.is_some() {
                "the dump contains single objects, not a list"
            } else {
                "the dump contains none"
            };
            lose(intake, why.to_owned());
            return;
        }
        let names = namespaces.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
        lose(intake, format!("the dump contains only namespace {names}"));
        for namespace in namespaces {
            intake.apply(Change::Whole(Reach { kind, namespace: Some(namespace) }));
        }
    }

    /// Sets the clock to the moment at which the dump was taken.
    fn set_clock(&mut self, summaries: &[FileSummary], options: &DumpOptions, intake: &mut Intake) {
        let taken = self.taken.take().unwrap_or_else(|| self.header.metadata.clone());
        let recorded = taken.clock().unwrap_or_else(|_| {
            let text = taken.taken_at.as_deref().unwrap_or_default();
            self.notes.notes.push(format!("takenAt is {text:?}, not an RFC 3339 time"));
            None
        });
        // It tells clusters apart, and is in any list of namespaces.
        let cluster_uid = {
            let mut namespaces = intake.cluster.namespaces().map(|it| &it.1.metadata);
            let namespace = namespaces.find(|it| &*it.name == "kube-system");
            namespace.and_then(|it| it.uid.as_ref()).map(|it| it.to_string().into_boxed_str())
        };
        if !self.own.is_empty() && !taken.identity {
            intake.apply(Change::IdentityLeftOut);
        }
        if let Some(server) = taken.server() {
            let cluster_uid = server.cluster_uid.clone().or(cluster_uid);
            intake.apply(Change::Server(Server { cluster_uid, ..server }));
        } else {
            let kubelets = self.beside.server();
            let note = match kubelets.as_ref().and_then(|it| it.allowed) {
                Some([least, most]) => format!(
                    "the dump lacks the server version, which its kubelets bound: {}.{} to {}.{}",
                    least.0, least.1, most.0, most.1
                ),
                None => {
                    "the dump lacks the server version; checks that need it are skipped".to_owned()
                }
            };
            self.notes.details.push(note);
            if kubelets.is_some() || cluster_uid.is_some() {
                let server = kubelets.unwrap_or_default();
                intake.apply(Change::Server(Server { cluster_uid, ..server }));
            }
        }
        let gathered = summaries.iter().filter_map(|summary| summary.taken_at).min();
        if let Some(time) = options.taken_at.or(recorded).or(gathered) {
            intake.apply(Change::Clock(time));
            return;
        }
        let newest = self.newest_time.get();
        let Some(newest) = newest else {
            self.notes
                .notes
                .push("dump date unknown, and with it every age; pass --taken-at TIME".to_owned());
            return;
        };
        let time = options.now.map_or(newest, |now| newest.min(now));
        intake.apply(Change::ClockAtLeast(time));
        if self.own.is_empty() {
            let of = if time == newest {
                "the newest time in it"
            } else {
                "the time of this machine; the dump has later ones"
            };
            self.notes.notes.push(format!(
                "dump date unknown; ages are minimums, counted to {} ({of}); pass --taken-at TIME",
                crate::model::format_time(&time)
            ));
        }
    }
}

impl KindEvidence {
    /// Returns the namespaces that a list shows of the kind; `None` if it shows none of its objects.
    fn shown(&self, file: &Arc<str>, list: usize) -> Option<&BTreeSet<Text>> {
        self.by_list.get(&(Arc::clone(file), list))
    }
}

/// Returns why a kind was not read, where objects may be of it or of another.
fn untyped(Occurrences { count, first }: &Occurrences) -> String {
    match count {
        1 => format!("{first} has neither kind nor apiVersion, and may be one of them"),
        _ => format!(
            "{count} objects have neither kind nor apiVersion and may be some of them, the first is {first}"
        ),
    }
}

/// Describes what could not be read, in one line however much it was.
fn several(count: u64, what: &str, first: &str) -> String {
    match count {
        1 => first.to_owned(),
        _ => format!("{count} {what} could not be read, the first: {first}"),
    }
}

/// Returns why nothing is known to be absent, where inputs contradict each other.
fn at_two_moments(Occurrences { count, first }: &Occurrences) -> String {
    let more = match count {
        0 | 1 => String::new(),
        _ => format!(", and of {}", counted(count - 1, "more object")),
    };
    format!("two versions of {first}{more}: the inputs were not taken at the same time")
}

/// Notes that a kind was not read, or not whole.
fn lose(kind: Kind, reason: String, intake: &mut Intake) {
    let gap = Gap { kind, namespace: None, reason };
    intake.apply(Change::Covered(Reach::all(kind), Coverage::unread(gap)));
}

//! Reads a cluster, live or from dumps, asks the open questions, and judges it: what commands share.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use futures::try_join;

use super::{
    Exit, Failure, args::ConnectionArgs, connecting::connect, gaps, judging,
    progress::ProgressLine, terminal,
};
use crate::{
    client::{Connection, Reader},
    cluster::Cx,
    dump::{DumpError, DumpWriter, Input, Replace},
    journal::{self, Entry, History, kept_backend::CONFIG_MAP, sightings},
    model::{Answer, Kind, ObjectKey, Question, Settings, Sighting, Text, Time, escape_control},
    remedies::snapshot_first,
    rules::{Assessor, REGISTRY, UnreadGap},
    sources::{
        DumpHeader,
        answers::{self, Replies},
        documents::{self, DumpOptions},
        intake::Intake,
        live::{self, LiveError, LiveOptions},
    },
};

/// Rounds of questions: an answer may raise another question, but not for ever.
pub(super) const ROUNDS: usize = 4;

/// Where to look.
pub(super) enum ClusterSource<'a> {
    /// A cluster; the namespace is what `-n` said.
    Live { connection: &'a ConnectionArgs, namespace: Option<&'a str> },
    /// A cluster that is about to be changed: what was read is kept current.
    Watched { connection: &'a ConnectionArgs, namespace: Option<&'a str> },
    /// A cluster of which only these objects, and the volumes of these claims, are looked at.
    Named {
        connection: &'a ConnectionArgs,
        namespace: Option<&'a str>,
        objects: &'a [(Kind, String)],
    },
    /// Dumps.
    Dumps { inputs: Vec<Input>, complete: BTreeSet<Kind>, taken_at: Option<Time> },
}

/// The way to a cluster that was looked at, and what keeps the look current.
pub(super) struct LiveConnection {
    pub(super) connection: Connection,
    pub(super) reader: Reader,
    pub(super) watches: Option<live::Watches>,
}

/// What was seen, and judged.
pub(super) struct Collected {
    pub(super) intake: Intake,
    pub(super) assessor: Assessor,
    /// The folder whose records were read.
    pub(super) journal: Option<PathBuf>,
    /// The namespace of the context, or that which the user gave; `None` for dumps.
    pub(super) namespace: Option<String>,
    /// Everything that was not seen.
    pub(super) blind: Vec<UnreadGap>,
    /// Things to tell the user, on stderr.
    pub(super) notes: Vec<String>,
    /// The way to the cluster, unless it was a dump.
    pub(super) live: Option<LiveConnection>,
    /// Objects in the saved file, if one was asked for.
    pub(super) saved: Option<u64>,
}

/// Every kind that any rule or remedy looks at.
pub(super) fn kinds() -> Vec<Kind> {
    let all: BTreeSet<_> = REGISTRY.iter().flat_map(|rule| rule.looks_at()).collect();
    all.into_iter().collect()
}

/// What a command reads with these settings.
fn kinds_for(settings: &Settings) -> Vec<Kind> {
    let first: &[Kind] = match settings.snapshot_first {
        Some(_) => snapshot_first::NEEDS,
        None => &[],
    };
    let all: BTreeSet<_> = kinds().into_iter().chain(first.iter().copied()).collect();
    all.into_iter().collect()
}

/// Looks, asks and judges.
pub(super) async fn collect(
    from: ClusterSource<'_>,
    settings: &Settings,
    save: Option<&Path>,
) -> Result<Collected, Failure> {
    let saving = save
        .map(|path| DumpWriter::create(path, Replace::Dumps, &DumpHeader::now()))
        .transpose()
        .map_err(dump_failure)?;
    let mut collected = Collected {
        intake: Intake::new(saving),
        assessor: Assessor::default(),
        journal: None,
        namespace: None,
        blind: Vec::new(),
        notes: Vec::new(),
        live: None,
        saved: None,
    };
    match from {
        ClusterSource::Live { connection, namespace } => {
            let reader = collected.connect(connection, namespace).await?;
            collected.read(&reader, connection.chunk_size(), settings, false).await?;
        }
        ClusterSource::Watched { connection, namespace } => {
            let reader = collected.connect(connection, namespace).await?;
            collected.read(&reader, connection.chunk_size(), settings, true).await?;
        }
        ClusterSource::Named { connection, namespace, objects } => {
            let reader = collected.connect(connection, namespace).await?;
            collected.ask_for(&reader, objects).await?;
            collected.judge(settings);
            return Ok(collected);
        }
        ClusterSource::Dumps { inputs, complete, taken_at } => {
            let now = Some(chrono::Utc::now());
            let options = DumpOptions { kinds: kinds_for(settings), complete, taken_at, now };
            let read =
                documents::read(&inputs, &mut io::stdin().lock(), &options, &mut collected.intake);
            collected.notes.extend(read.map_err(dump_failure)?.notes);
            collected.judge(settings);
        }
    }
    collected.blind = collected.assessor.unread(&collected.intake.cluster);
    collected.saved = collected.intake.finish_saving().map_err(dump_failure)?;
    Ok(collected)
}

impl Collected {
    async fn connect(
        &mut self,
        connection: &ConnectionArgs,
        namespace: Option<&str>,
    ) -> Result<Reader, Failure> {
        let connected = connect(connection, namespace).await?;
        self.namespace = Some(connected.namespace.clone());
        let reader = Reader::new(&connected);
        self.live =
            Some(LiveConnection { connection: connected, reader: reader.clone(), watches: None });
        Ok(reader)
    }

    /// Asks for objects by name, and for the volumes of those that are claims.
    async fn ask_for(
        &mut self,
        reader: &Reader,
        objects: &[(Kind, String)],
    ) -> Result<(), Failure> {
        let namespace = self.namespace.clone().unwrap_or_default();
        let url = self.server_url().to_owned();
        live::identify(reader, &url, &mut self.intake).await.map_err(live_failure)?;
        if let Some(folder) = self.journal_folder()
            && let Some(history) = self
                .history(&folder, "finalizers that the tool added are unknown and are not removed")
        {
            self.recall_finalizers(&history)?;
        }
        let named = objects
            .iter()
            .map(|(kind, name)| Question::Exists(ObjectKey::named(*kind, &namespace, name)));
        answers::ask(reader, named, &mut self.intake).await.map_err(dump_failure)?;
        let volumes: Vec<_> = self
            .intake
            .cluster
            .claims()
            .filter_map(|(_, claim)| claim.volume_name.as_deref())
            .map(|name| Question::Exists(ObjectKey::cluster_wide(Kind::PersistentVolume, name)))
            .collect();
        answers::ask(reader, volumes, &mut self.intake).await.map_err(dump_failure)?;
        // Each is read again before a write as well.
        let claims: Vec<_> = self
            .intake
            .cluster
            .volumes()
            .filter_map(|(_, volume)| volume.claim_ref.as_ref())
            .map(|it| Question::Exists(ObjectKey::claim(&it.key)))
            .collect();
        answers::ask(reader, claims, &mut self.intake).await.map_err(dump_failure)
    }

    fn server_url(&self) -> &str {
        self.live.as_ref().map_or("", |live| &live.connection.server)
    }

    async fn read(
        &mut self,
        reader: &Reader,
        chunk_size: Option<u32>,
        settings: &Settings,
        watch: bool,
    ) -> Result<(), Failure> {
        let options = LiveOptions {
            kinds: kinds_for(settings),
            chunk_size,
            namespace: self.namespace.clone().unwrap_or_default(),
            server: self.server_url().to_owned(),
        };
        let progress = ProgressLine::start();
        let mut show = |intake: &Intake| progress.show(intake);
        let namespace = &settings.recording.namespace;
        let kept = Question::KeptBackends { namespace: Text::clone(namespace) };
        // Beside the lists: servers are far away.
        let asked = async { Ok(answers::replies(reader, [kept]).await) };
        let read = async {
            if watch {
                let watches = live::read_and_watch(reader, &options, &mut self.intake, &mut show);
                watches.await.map(Some)
            } else {
                live::read(reader, &options, &mut self.intake, &mut show).await.map(|()| None)
            }
        };
        let (watches, replies) = try_join!(read, asked).map_err(live_failure)?;
        if let Some(live) = &mut self.live {
            live.watches = watches;
        }
        let known = self.recall()?;
        self.take_in_kept(namespace, replies)?;
        self.judge(settings);
        for _ in 0..ROUNDS {
            let questions = self.assessor.questions().clone();
            if questions.is_empty() {
                break;
            }
            answers::ask(reader, questions, &mut self.intake).await.map_err(dump_failure)?;
            self.judge(settings);
        }
        drop(progress);
        if let Some(known) = known {
            self.record(&known);
        }
        Ok(())
    }

    pub(super) fn judge(&mut self, settings: &Settings) {
        let dirty = std::mem::take(&mut self.intake.dirty);
        judging::update(&mut self.assessor, &self.intake.cluster, settings, dirty);
    }

    /// Makes something of what was read, asking whatever it needs to know.
    pub(super) async fn make<T>(
        &mut self,
        settings: &Settings,
        make: impl Fn(&Cx) -> T,
    ) -> Result<T, Failure> {
        let mut rounds = ROUNDS;
        loop {
            self.judge(settings);
            let (made, questions) = {
                let cx = self.assessor.cx(&self.intake.cluster, settings);
                (make(&cx), cx.take_questions())
            };
            if rounds == 0 || !self.ask(questions).await? {
                return Ok(made);
            }
            rounds -= 1;
        }
    }

    /// Asks the cluster; `false` where there is nothing to ask, or nobody: what was read is a dump.
    pub(super) async fn ask(&mut self, questions: BTreeSet<Question>) -> Result<bool, Failure> {
        let Some(live) = self.live.as_ref().filter(|_| !questions.is_empty()) else {
            return Ok(false);
        };
        answers::ask(&live.reader, questions, &mut self.intake).await.map_err(dump_failure)?;
        Ok(true)
    }

    /// Takes in the backend volumes that were left behind on purpose, by the record in the cluster.
    fn take_in_kept(&mut self, namespace: &Text, replies: Replies) -> Result<(), Failure> {
        replies.take_in(&mut self.intake).map_err(dump_failure)?;
        let asked = Question::KeptBackends { namespace: Text::clone(namespace) };
        if self.intake.cluster.answers().get(&asked) == Some(&Answer::Forbidden) {
            self.notes.push(format!(
                "you may not read configmap {namespace}/{CONFIG_MAP}, the record of kept backend \
                 volumes: those kept from other machines are not listed"
            ));
        }
        Ok(())
    }

    /// Reads the journal of this machine; where it cannot be read, notes what is missing then.
    fn history(&mut self, folder: &Path, missing: &str) -> Option<History> {
        match journal::history(folder) {
            Ok(history) => Some(history),
            Err(error) => {
                self.notes.push(format!("{:#}: {missing}", anyhow::Error::new(error)));
                None
            }
        }
    }

    /// Takes in the finalizers that this tool added, by the journal of this machine.
    fn recall_finalizers(&mut self, history: &History) -> Result<(), Failure> {
        let mut added = history.added_finalizers().into_iter();
        added
            .try_for_each(|(volume, finalizer)| {
                self.intake.added_finalizer(volume.clone(), finalizer.into())
            })
            .map_err(dump_failure)
    }

    /// Takes in the backend volumes that were left behind on purpose, by the journal of this machine.
    fn recall_kept(&mut self, history: &History) -> Result<(), Failure> {
        let mut kept = history.kept().into_iter().filter_map(Entry::kept_backend);
        kept.try_for_each(|it| self.intake.kept(it)).map_err(dump_failure)
    }

    /// The folder of the cluster that was read; `None` where there is none.
    fn journal_folder(&self) -> Option<PathBuf> {
        let LiveConnection { connection, .. } = self.live.as_ref()?;
        let uid = self.intake.cluster.server().and_then(|server| server.cluster_uid.clone());
        journal::folder(uid.as_deref(), &connection.server, &connection.authority)
    }

    /// Takes in what earlier runs recorded; `None` when there is no usable record.
    fn recall(&mut self) -> Result<Option<Vec<Sighting>>, Failure> {
        let Some(folder) = self.journal_folder() else { return Ok(None) };
        if let Some(history) =
            self.history(&folder, "backend volumes kept from this machine are not listed")
        {
            self.recall_finalizers(&history)?;
            self.recall_kept(&history)?;
        }
        let known = match sightings::read(&folder) {
            Ok(known) => known,
            Err(error) => {
                self.notes.push(format!(
                    "{:#}: no driver is proven absent by earlier runs",
                    anyhow::Error::new(error)
                ));
                return Ok(None);
            }
        };
        self.journal = Some(folder);
        for sighting in &known {
            self.intake.sighting(sighting.clone()).map_err(dump_failure)?;
        }
        Ok(Some(known))
    }

    /// Records which controllers were not there, for later runs.
    fn record(&mut self, known: &[Sighting]) {
        let (Some(folder), Some(now)) = (&self.journal, self.intake.cluster.clock()) else {
            return;
        };
        let next = sightings::update(known.to_vec(), &self.assessor.absences(), now);
        if next == known {
            return;
        }
        if let Err(error) = sightings::write(folder, &next) {
            self.notes.push(format!(
                "{:#}: this run does not count as evidence that a driver is absent",
                anyhow::Error::new(error)
            ));
        }
    }
}

fn live_failure(error: LiveError) -> Failure {
    match error {
        LiveError::Read(error) => {
            let hint = error.hint();
            Failure::error(error).hint(hint)
        }
        LiveError::Save(error) => dump_failure(error),
    }
}

pub(super) fn dump_failure(error: DumpError) -> Failure {
    let hint = error.hint();
    let exit = match error {
        DumpError::StdinTwice => Exit::Usage,
        _ => Exit::Error,
    };
    Failure { exit, ..Failure::error(error) }.hint(hint)
}

/// Tells what there is to know besides what was not seen, on stderr.
pub(super) fn tell_notes(collected: &Collected) {
    let cluster = &collected.intake.cluster;
    for note in collected.notes.iter().chain(&gaps::unknown_words(cluster)) {
        // What is a gap as well is told once.
        if !collected.blind.iter().any(|it| it.gap.reason == *note) {
            terminal::note(&format!("note: {}", escape_control(note)));
        }
    }
}

/// Names the command that lists missing permissions.
pub(super) fn tell_permissions(command: &str) {
    terminal::note(&format!(
        "hint: `rbac {command} --check` lists the permissions that you lack, `rbac {command}` \
         prints a ClusterRole with them"
    ));
}

/// Tells what was not seen, and what else there is to know, on stderr.
pub(super) fn tell(collected: &Collected, command: &str) {
    let blind = &collected.blind;
    tell_notes(collected);
    for line in gaps::lines(blind.iter().map(|it| &it.gap), &kinds()) {
        terminal::note(&format!("not read: {}", escape_control(&line)));
    }
    if blind.iter().any(|it| it.gap.reason.starts_with("forbidden")) {
        tell_permissions(command);
    }
}

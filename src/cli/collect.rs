//! Collects a cluster, live or from dumps: reads it, asks the open questions, and judges it, once or followed.

mod figures;
mod recall;
mod tell;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use figures::silent_kubelets;
pub(super) use figures::{UsageSources, unmeasured};
use futures::try_join;
use indicatif::ProgressBar;
pub(super) use tell::{
    gap_lines, gap_names, notes, tell, tell_gaps, tell_notes, tell_read_again, tell_unread, unread,
    unread_inventories,
};
use tokio::sync::mpsc;

use super::{Exit, Failure, args::ConnectionArgs, terminal};
use crate::{
    apply::BesideReader,
    client::{self, Connection, Reader},
    cluster::Cx,
    dump::{DumpError, DumpWriter, Input, Replace},
    facts,
    model::{self, INVENTORY_SYSTEMS, Kind, ObjectKey, Question, Recording, Settings, Text, Time},
    output::{
        publish,
        repeated::RepeatedFlags,
        wire::{Finding, Gap},
    },
    remedies::snapshot_first,
    rules::{Assessor, REGISTRY, UnreadGap},
    sources::{
        DumpHeader, answers,
        documents::{self, DumpOptions},
        intake::Intake,
        live::{self, LiveError, LiveOptions, Return},
    },
    watch::{
        self, News, Pace, ROUNDS, Reconciler, Records, Watching, judging, policy::WatchPolicy,
    },
};

/// Source to collect from: a cluster or dumps.
pub(super) enum ClusterSource<'a> {
    /// A cluster that is read once; the namespace is that of `-n`.
    Live { connection: &'a ConnectionArgs, namespace: Option<&'a str> },
    /// A cluster that is about to be changed: what was read is kept current.
    Watched { connection: &'a ConnectionArgs, namespace: Option<&'a str> },
    /// A cluster that is watched until the user ends it: what was not read is tried again.
    Followed { connection: &'a ConnectionArgs, namespace: Option<&'a str> },
    /// A cluster of which only these objects, with the volumes and claims bound to them, are read.
    Named {
        connection: &'a ConnectionArgs,
        namespace: Option<&'a str>,
        objects: &'a [(Kind, String)],
    },
    /// Dumps; the connection is that of printed commands.
    Dumps {
        connection: &'a ConnectionArgs,
        inputs: Vec<Input>,
        complete: BTreeSet<Kind>,
        taken_at: Option<Time>,
    },
}

impl<'a> ClusterSource<'a> {
    /// Returns the flags of the connection.
    const fn connection(&self) -> &'a ConnectionArgs {
        let (Self::Live { connection, .. }
        | Self::Watched { connection, .. }
        | Self::Followed { connection, .. }
        | Self::Named { connection, .. }
        | Self::Dumps { connection, .. }) = self;
        connection
    }

    /// Returns the flags that printed commands about the same source repeat.
    fn repeated(&self, recording: &Recording) -> RepeatedFlags {
        let records = Some(&*recording.namespace).filter(|it| *it != Recording::NAMESPACE);
        self.connection().repeated().with_records(records)
    }
}

/// Connection to a cluster that was read, with the watches that keep it current.
pub(super) struct LiveConnection {
    pub(super) connection: Connection,
    pub(super) reader: Reader,
    pub(super) watches: Option<live::Watches>,
}

/// Cluster as it was read and judged.
pub(super) struct Collected {
    pub(super) intake: Intake,
    pub(super) assessor: Assessor,
    /// Folder of the records that were read.
    pub(super) journal: Option<PathBuf>,
    /// Namespace of the journal in the cluster; `None` where the journal is in that folder.
    pub(super) cluster_journal: Option<Text>,
    /// Namespace that the user gave, or that of the context; `None` for dumps.
    pub(super) namespace: Option<String>,
    /// Names of the dumps that were read; empty for a cluster.
    pub(super) dumps: Vec<String>,
    /// Gaps: everything that was not read, with the rules that need it.
    pub(super) blind: Vec<UnreadGap>,
    /// Notes for the user, on stderr.
    pub(super) notes: Vec<String>,
    /// Notes on what a dump lacks besides objects, told where nothing else is missing, or with -v.
    pub(super) details: Vec<String>,
    /// Connection to the cluster; `None` for dumps.
    pub(super) live: Option<LiveConnection>,
    /// Number of objects in the saved file, if one was asked for.
    pub(super) saved: Option<u64>,
    /// Flags that printed commands repeat.
    pub(super) repeated: RepeatedFlags,
    /// The clusters that are read beside this one.
    pub(super) beside: Option<Arc<BesideReader>>,
    /// What could not be read of how full volumes are.
    pub(super) unmeasured: Vec<Gap>,
}

/// Returns every kind that any rule or remedy reads.
pub(super) fn kinds() -> Vec<Kind> {
    let all: BTreeSet<_> = REGISTRY.iter().flat_map(|rule| rule.looks_at()).collect();
    all.into_iter().collect()
}

/// Returns the kinds that a command reads with these settings.
fn kinds_for(settings: &Settings) -> Vec<Kind> {
    let first: &[Kind] = match settings.snapshot_first {
        Some(_) => snapshot_first::NEEDS,
        None => &[],
    };
    let own = INVENTORY_SYSTEMS.iter().map(|it| it.kind).filter(|_| settings.reads_inventories);
    let all: BTreeSet<_> = kinds().into_iter().chain(first.iter().copied()).chain(own).collect();
    all.into_iter().collect()
}

/// The file in which what is read is saved.
pub(super) struct Saving<'a> {
    /// The file.
    pub(super) path: &'a Path,
    /// What the user calls the cluster.
    pub(super) name: Option<String>,
}

/// Reads a source, asks the open questions, and judges.
pub(super) async fn collect(
    from: ClusterSource<'_>,
    settings: &Settings,
    save: Option<Saving<'_>>,
) -> Result<Collected, Failure> {
    collect_measured(from, settings, save, None).await
}

/// Does the same with figures of how full volumes are.
pub(super) async fn collect_measured(
    from: ClusterSource<'_>,
    settings: &Settings,
    save: Option<Saving<'_>>,
    usage: Option<UsageSources>,
) -> Result<Collected, Failure> {
    Box::pin(read_source(from, settings, save, usage)).await
}

async fn read_source(
    from: ClusterSource<'_>,
    settings: &Settings,
    save: Option<Saving<'_>>,
    usage: Option<UsageSources>,
) -> Result<Collected, Failure> {
    let saving = save
        .map(|to| DumpWriter::create(to.path, Replace::Dumps, &DumpHeader::now(to.name)))
        .transpose()
        .map_err(dump_failure)?;
    let mut collected = Collected {
        intake: Intake::new(saving),
        assessor: Assessor::default(),
        journal: None,
        cluster_journal: settings.recording.cluster_journal.clone(),
        namespace: None,
        dumps: Vec::new(),
        blind: Vec::new(),
        notes: Vec::new(),
        details: Vec::new(),
        live: None,
        saved: None,
        repeated: from.repeated(&settings.recording),
        beside: None,
        unmeasured: Vec::new(),
    };
    let connection = from.connection();
    connection.fits_beside(&settings.beside)?;
    match from {
        ClusterSource::Live { connection, namespace } => {
            let reader = collected.connect(connection, namespace).await?;
            collected.read(&reader, connection.chunk_size(), settings, None).await?;
            if let Some(usage) = usage {
                Box::pin(usage.settle(&mut collected, settings)).await?;
                collected.judge(settings);
            }
        }
        ClusterSource::Watched { connection, namespace } => {
            let reader = collected.connect(connection, namespace).await?;
            let returns = Some(Return::Never);
            collected.read(&reader, connection.chunk_size(), settings, returns).await?;
        }
        ClusterSource::Followed { connection, namespace } => {
            let reader = collected.connect(connection, namespace).await?;
            let returns = Some(Return::AfterAWhile);
            collected.read(&reader, connection.chunk_size(), settings, returns).await?;
        }
        ClusterSource::Named { connection, namespace, objects } => {
            let reader = collected.connect(connection, namespace).await?;
            collected.ask_for(&reader, objects).await?;
            collected.judge(settings);
            Box::pin(collected.look_beside(connection, settings)).await?;
            return Ok(collected);
        }
        ClusterSource::Dumps { .. } if collected.cluster_journal.is_some() => {
            return Err(Failure::usage("--cluster-journal requires a cluster, not a dump"));
        }
        ClusterSource::Dumps { inputs, complete, taken_at, .. } => {
            let now = Some(chrono::Utc::now());
            let options = DumpOptions { kinds: kinds_for(settings), complete, taken_at, now };
            // Unlocked: dumps of several clusters are read on several threads.
            let read = documents::read(&inputs, &mut io::stdin(), &options, &mut collected.intake);
            collected.dumps = inputs.iter().map(Input::to_string).collect();
            let told = read.map_err(dump_failure)?;
            collected.notes.extend(told.notes);
            collected.details = told.details;
            if let Some(usage) = usage {
                Box::pin(usage.settle(&mut collected, settings)).await?;
            }
            collected.judge(settings);
        }
    }
    Box::pin(collected.look_beside(connection, settings)).await?;
    collected.blind = collected.assessor.unread(&collected.intake.cluster);
    collected.notes.extend(unread_inventories(&collected.intake.cluster));
    collected.saved = collected.intake.finish_saving().map_err(dump_failure)?;
    Ok(collected)
}

impl Collected {
    /// Puts a finding into its public shape, with the flags that its commands repeat.
    pub(super) fn public(&self, finding: model::Finding) -> Finding {
        self.repeated.finding(publish::finding(finding, self.intake.cluster.clock()))
    }

    /// Returns what could not be read of how full volumes are.
    pub(super) fn unmeasured(&self) -> Vec<Gap> {
        let figures = self.intake.cluster.figures().into_iter();
        self.unmeasured.iter().cloned().chain(figures.flat_map(silent_kubelets)).collect()
    }

    /// Returns everything that was not read.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let mut gaps = publish::tail(&self.blind).gaps;
        gaps.extend(self.unmeasured());
        gaps
    }

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

    /// Asks for objects by name, and for the volumes and claims that are bound to them.
    async fn ask_for(
        &mut self,
        reader: &Reader,
        objects: &[(Kind, String)],
    ) -> Result<(), Failure> {
        let namespace = self.namespace.clone().unwrap_or_default();
        let url = self.server_url().to_owned();
        live::identify(reader, &url, &mut self.intake).await.map_err(live_failure)?;
        let missing = "finalizers that the tool added are unknown and are not removed";
        if let Some(folder) = self.journal_folder()
            && let Some(history) = self.history(&folder, missing)
        {
            self.recall_finalizers(&history)?;
        }
        if let Some(history) = self.cluster_history(missing).await {
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

    /// Returns the name of the cluster or of the dumps, as a plan shows it.
    pub(super) fn place(&self) -> String {
        match &self.live {
            None => format!("Dump {}", self.dumps.join(", ")),
            Some(LiveConnection { connection: Connection { server, context, .. }, .. }) => {
                let context = context.as_ref().map(|it| format!(" (context {it})"));
                format!("Cluster {server}{}", context.unwrap_or_default())
            }
        }
    }

    fn server_url(&self) -> &str {
        self.live.as_ref().map_or("", |live| &live.connection.server)
    }

    /// Reads the whole source and judges it; with `watch`, keeps it current as well.
    async fn read(
        &mut self,
        reader: &Reader,
        chunk_size: Option<u32>,
        settings: &Settings,
        watch: Option<Return>,
    ) -> Result<(), Failure> {
        let mut kinds = kinds_for(settings);
        if matches!(watch, Some(Return::Never)) {
            // What is about to be changed does not depend on the guard: the API server knows it.
            kinds.retain(|kind| !kind.is_of_guard());
        }
        let options = LiveOptions {
            kinds,
            chunk_size,
            namespaces: match &settings.scope.namespaces {
                none if none.is_empty() => vec![self.namespace.clone().unwrap_or_default()],
                some => some.iter().map(ToString::to_string).collect(),
            },
            server: self.server_url().to_owned(),
        };
        let progress = ProgressLine::start();
        let mut show = |intake: &Intake| progress.show(intake);
        let namespace = &settings.recording.namespace;
        let kept = Question::KeptBackends { namespace: Text::clone(namespace) };
        // Beside the lists: servers are far away.
        // Commands that write or watch ask only where something is announced, or is to be.
        let reports = watch.is_none();
        let announced = reports.then(|| facts::announcements_question(namespace));
        let asked = std::iter::once(kept).chain(announced);
        let asked = async { Ok(answers::replies(reader, asked).await) };
        let elsewhere = async {
            Ok(if reports { answers::other_namespaces(reader, namespace).await } else { None })
        };
        let read = async {
            let intake = &mut self.intake;
            match watch {
                Some(returns) => live::read_and_watch(reader, &options, intake, returns, &mut show)
                    .await
                    .map(Some),
                None => live::read(reader, &options, intake, &mut show).await.map(|()| None),
            }
        };
        let (watches, replies, elsewhere) =
            try_join!(read, asked, elsewhere).map_err(live_failure)?;
        if let Some(live) = &mut self.live {
            live.watches = watches;
        }
        let known = self.recall().await?;
        self.take_in_kept(namespace, replies)?;
        if reports {
            self.note_unknown_announcements(namespace);
            self.note_records_elsewhere(elsewhere);
        }
        let assessor = &mut self.assessor;
        let judge = &mut |intake: &mut Intake| {
            let dirty = std::mem::take(&mut intake.dirty);
            judging::update(assessor, &intake.cluster, settings, dirty);
            assessor.questions().clone()
        };
        let patience = Duration::MAX;
        watch::settle(reader, &mut self.intake, patience, judge).await.map_err(dump_failure)?;
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

    /// Computes a value from what was read, and asks the cluster whatever that needs to know.
    pub(super) async fn make<T>(
        &mut self,
        settings: &Settings,
        make: impl Fn(&Cx) -> T,
    ) -> Result<T, Failure> {
        let mut rounds = ROUNDS;
        loop {
            self.judge(settings);
            let (outcome, questions) = {
                let cx = self.assessor.cx(&self.intake.cluster, settings);
                (make(&cx), cx.take_questions())
            };
            if rounds == 0 || !self.ask(questions).await? {
                return Ok(outcome);
            }
            rounds -= 1;
        }
    }

    /// Asks the cluster; returns `false` where nothing was asked, as with a dump.
    pub(super) async fn ask(&mut self, questions: BTreeSet<Question>) -> Result<bool, Failure> {
        let Some(live) = self.live.as_ref().filter(|_| !questions.is_empty()) else {
            return Ok(false);
        };
        answers::ask(&live.reader, questions, &mut self.intake).await.map_err(dump_failure)?;
        Ok(true)
    }
}

/// Reads and judges a cluster that is then followed.
pub(super) async fn look(
    connection: &ConnectionArgs,
    namespace: Option<&str>,
    settings: &Settings,
) -> Result<Collected, Failure> {
    collect(ClusterSource::Followed { connection, namespace }, settings, None).await
}

/// Begins to follow a collected cluster: all its findings have appeared.
pub(super) fn begin(collected: &mut Collected, settings: Settings) -> (Reconciler, News) {
    let assessor = std::mem::take(&mut collected.assessor);
    let cluster = &collected.intake.cluster;
    let mut reconciler = Reconciler::new(settings, assessor, cluster, Pace::default());
    let news = reconciler.report(cluster);
    (reconciler, news)
}

/// Returns the loop that goes on after the first look.
pub(super) fn go_on(
    collected: Collected,
    reconciler: Reconciler,
    policies: Option<mpsc::Receiver<Arc<WatchPolicy>>>,
) -> Result<Watching, Failure> {
    let Collected { intake, journal, live, .. } = collected;
    let live = live.and_then(|live| Some((live.reader, live.watches?)));
    let Some((reader, watches)) = live else {
        return Err(Failure::usage("a dump cannot be watched"));
    };
    let namespace = reconciler.settings().recording.namespace.clone();
    let records = Records { folder: journal, namespace };
    Ok(Watching { reader, watches, intake, reconciler, records, policies })
}

const USER_AGENT: &str = concat!("kubectl-storage/", env!("CARGO_PKG_VERSION"));

/// Opens a connection; the namespace is that of `-n`.
pub(super) async fn connect(
    connection: &ConnectionArgs,
    namespace: Option<&str>,
) -> Result<Connection, Failure> {
    let connected = client::connect(&connection.options(namespace), USER_AGENT).await;
    connected.map_err(|error| {
        let hint = error.hint();
        Failure::error(error).hint(hint)
    })
}

/// Whether a progress line is shown.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Line on stderr that shows how much was read so far, if that is a terminal. One that starts while another one is shown
/// stays hidden: that is about more.
pub struct ProgressLine {
    bar: ProgressBar,
    is_shown: bool,
}

impl ProgressLine {
    /// Starts the line.
    pub fn start() -> Self {
        if IS_SHOWN.swap(true, Ordering::Relaxed) {
            return Self { bar: ProgressBar::hidden(), is_shown: false };
        }
        let bar = terminal::ticking(ProgressBar::new_spinner(), "{spinner} {wide_msg}");
        bar.set_message("connecting");
        Self { bar, is_shown: true }
    }

    /// Shows how many objects of each kind were read so far.
    pub fn show(&self, intake: &Intake) {
        if self.bar.is_hidden() {
            return;
        }
        let mut line = String::from("reading");
        for (kind, count) in intake.seen() {
            let _ = write!(line, "  {} {count}", kind.resource());
        }
        self.say(line);
    }

    /// Shows a text.
    pub fn say(&self, line: String) {
        self.bar.set_message(line);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.is_shown {
            IS_SHOWN.store(false, Ordering::Relaxed);
        }
    }
}

/// Converts an error of reading a cluster to a failure.
fn live_failure(error: LiveError) -> Failure {
    match error {
        LiveError::Read(error) => {
            let hint = error.hint();
            Failure::error(error).hint(hint)
        }
        LiveError::Save(error) => dump_failure(error),
    }
}

/// Converts an error of reading or saving a dump to a failure.
pub(super) fn dump_failure(error: DumpError) -> Failure {
    let hint = error.hint();
    let exit = match error {
        DumpError::StdinTwice => Exit::Usage,
        _ => Exit::Error,
    };
    Failure { exit, ..Failure::error(error) }.hint(hint)
}

//! `kubectl storage teardown`: destroys or releases all storage of a cluster, before the cluster itself is deleted.

mod phases;
mod record;
mod surroundings;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    io::{self, Write},
    path::PathBuf,
};

use clap::{ArgGroup, Args};
use dialoguer::Input;
pub(in crate::cli) use record::read_if_there;

use self::{
    phases::{Phases, remains_stopped},
    record::RecordFile,
    surroundings::{Surroundings, unsettled},
};
use super::{DryRunFlag, SavedArgs, confirm, field_manager, journal, perform::refusal};
use crate::{
    apply::{DryRun, RunOptions},
    cli::{
        Exit, Failure, Interrupt,
        args::{
            ConnectionArgs, GapArgs, JournalPlaceArgs, StorageArgs, format, namespace,
            narrowed_scope,
        },
        collect::{Collected, collect, connect, tell},
        completion::{DOCUMENTS, formats},
        terminal,
    },
    client::{Reader, RequestTimeout, cluster_uid},
    cluster::Unseen,
    facts::quoted,
    journal::History,
    model::{
        ClaimKey, ConfirmedSurvey, Exception, Kind, Selector, Settings, TeardownTerms, Text,
        Threshold, escape_control, format_bytes,
    },
    output::{
        format::Format,
        list,
        teardown::{TeardownObstacle, TeardownRecord, TeardownScreen, teardown_table},
    },
    plan::teardown::{self as plan, EarlierSteps, TeardownSurvey},
};

/// Arguments of `teardown`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("data"),
          group = ArgGroup::new("reach").required(true).multiple(true))]
pub struct TeardownArgs {
    /// Tear down the claims of all namespaces
    #[arg(short = 'A', long, group = "reach", conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Tear down the claims of these namespaces
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',', value_parser = namespace, group = "reach")]
    namespace: Vec<String>,
    /// Tear down only claims with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", group = "reach")]
    selector: Option<String>,
    /// Assert that the data is not needed: drivers destroy it
    #[arg(long, group = "data")]
    destroy_data: bool,
    /// Keep every disk, and record how another cluster can have it
    #[arg(long, group = "data")]
    keep_data: bool,
    /// Leave this out: ns/N, sc/N, pv/N or pvc/NS/N; can be repeated
    #[arg(long, value_name = "KIND/NAME", value_parser = exception)]
    except: Vec<Exception>,
    /// Also destroy Released volumes with policy Retain whose claims are gone
    #[arg(long, conflicts_with = "keep_data")]
    released: bool,
    /// Do not stop workloads or pods with these labels
    #[arg(long, value_name = "SELECTOR")]
    keep_running: Option<String>,
    /// Record what becomes of each volume in this file [default: beside the journal]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    record: Option<PathBuf>,
    /// Refuse to destroy more than N volumes
    #[arg(long, value_name = "N")]
    max: Option<usize>,
    /// Go on only in the cluster whose namespace kube-system has this UID
    #[arg(long, value_name = "UID")]
    confirm_cluster: Option<String>,
    /// Skip the prompt; requires --confirm-cluster, --record and --max
    #[arg(short, long, requires_all = ["confirm_cluster", "record"])]
    yes: bool,
    /// Change nothing: only survey (client), or send with dryRun=All (server)
    #[arg(long, value_name = "HOW", default_value = "none", default_missing_value = "client",
          num_args = 0..=1, require_equals = true, hide_default_value = true, hide_possible_values = true)]
    dry_run: DryRunFlag,
    /// Assert that the provisioner of a driver runs, which nothing shows
    #[arg(long, value_name = "DRIVER")]
    provisioner_alive: Vec<String>,
    /// Assert that no custom resource uses the claims: not all were readable
    #[arg(long)]
    no_other_users: bool,
    #[command(flatten)]
    storage: StorageArgs,
    #[command(flatten)]
    saved: SavedArgs,
    /// Wait this long until nothing uses the claims, and for each volume
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    timeout: RequestTimeout,
    /// Make N changes of each driver at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// Write no Events about the changes
    #[arg(long)]
    no_events: bool,
    /// Make changes as this field manager
    #[arg(long, value_name = "NAME", default_value = "kubectl-storage", value_parser = field_manager)]
    field_manager: String,
    #[command(flatten)]
    journal: JournalPlaceArgs,
    #[command(flatten)]
    gaps: GapArgs,
    /// Print the survey or the record as table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(DOCUMENTS))]
    output: String,
}

/// Parses what is left out.
fn exception(text: &str) -> Result<Exception, String> {
    let expected = || "expected ns/NAME, sc/NAME, pv/NAME or pvc/NAMESPACE/NAME".to_owned();
    let (kind, name) = text.split_once('/').ok_or_else(expected)?;
    let plain = |name: &str| !name.is_empty() && !name.contains('/');
    match Kind::parse_resource(kind) {
        Some(Kind::Namespace) if plain(name) => Ok(Exception::Namespace(name.into())),
        Some(Kind::StorageClass) if plain(name) => Ok(Exception::Class(name.into())),
        Some(Kind::PersistentVolume) if plain(name) => Ok(Exception::Volume(name.into())),
        Some(Kind::PersistentVolumeClaim) => {
            let (namespace, name) = name.split_once('/').ok_or_else(expected)?;
            match plain(namespace) && plain(name) {
                true => Ok(Exception::Claim(ClaimKey {
                    namespace: namespace.into(),
                    name: name.into(),
                })),
                false => Err(expected()),
            }
        }
        _ => Err(expected()),
    }
}

/// A look at the cluster: what was read, by which terms it is judged, and what comes of that.
pub(super) struct Look {
    pub(super) collected: Collected,
    /// Settings by which writes are judged.
    pub(super) settings: Settings,
    /// Settings by which it is judged as if all workloads were stopped.
    pub(super) rehearsed: Settings,
    pub(super) history: History,
    pub(super) earlier: EarlierSteps,
    pub(super) survey: TeardownSurvey,
    pub(super) record: TeardownRecord,
}

impl Look {
    /// Writes a record as a table.
    fn table(
        &self,
        out: &mut dyn Write,
        record: &TeardownRecord,
        colour: bool,
        next: Option<&str>,
    ) -> io::Result<()> {
        let place = self.collected.place();
        let width = terminal::width().map_or(80, usize::from);
        let now = self.collected.intake.cluster.clock();
        teardown_table(out, record, TeardownScreen { place: &place, width, colour, now, next })
    }

    /// Prints a record.
    fn show(
        &self,
        record: &TeardownRecord,
        format: &Format,
        next: Option<&str>,
    ) -> Result<(), Failure> {
        terminal::print(|out| match format {
            Format::Json => list::json(out, record),
            Format::Yaml => list::yaml(out, record),
            _ => self.table(out, record, terminal::colour(), next),
        })
        .map_err(Failure::error)
    }
}

impl TeardownArgs {
    /// Returns the usage line, which clap would make longer than a terminal.
    pub(in crate::cli) fn usage(program: &str) -> String {
        format!("{program} teardown [OPTIONS] -A|-n NAMESPACE[,…]|-l SELECTOR")
    }

    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.fits()?;
        self.settings()?;
        if let Some(uid) = &self.confirm_cluster {
            self.is_cluster(connection, uid).await?;
        }
        let look = Box::pin(self.look(connection, None)).await?;
        let unmatched = look.collected.assessor.cx(&look.collected.intake.cluster, &look.settings);
        let unmatched = plan::unmatched(&unmatched);
        if let Some(first) = unmatched.first() {
            return Err(Failure::usage(format!("--except {first} matches nothing")));
        }
        let gaps = !look.collected.blind.is_empty();
        let is_live = look.collected.live.is_some();
        let blocked = !look.record.obstacles.is_empty();
        if !is_live || self.dry_run == DryRunFlag::Client || blocked {
            let next = self.next(&look.record).filter(|_| !blocked && is_live);
            look.show(&look.record, &format, next.as_deref())?;
            tell(&look.collected, plan::DESTROY);
            if look.record.volumes.is_empty() {
                terminal::note("no claim and no volume is in scope");
            }
            if blocked && self.dry_run != DryRunFlag::Client {
                terminal::note("nothing was changed");
            }
            let exit = match (blocked, gaps) {
                (true, _) => Exit::Refused,
                (false, true) => Exit::Incomplete,
                (false, false) => Exit::Done,
            };
            return Ok(if blocked { exit } else { self.gaps.settle(exit) });
        }
        let destroyed = look.record.summary.destroyed;
        if let Some(max) = self.max.filter(|max| destroyed.volumes > *max) {
            let told =
                format!("{} volumes would be destroyed; --max allows {max}", destroyed.volumes);
            return Err(
                refusal(&told).hint(Some("nothing was changed; --dry-run shows the survey"))
            );
        }
        Box::pin(self.carry_out(look, connection, &format, interrupt)).await
    }

    /// Refuses flags that do not go together, and returns the format.
    fn fits(&self) -> Result<Format, Failure> {
        let format = format(&self.output, &[Format::Table, Format::Json, Format::Yaml], |it| {
            format!("unsupported format {it}; a teardown is printed as table, json or yaml")
        })?;
        let only_surveys = self.dry_run == DryRunFlag::Client || self.saved.is_given();
        if !self.destroy_data && !self.keep_data && !only_surveys {
            return Err(Failure::usage("what becomes of the data is not said")
                .hint(Some("pass --destroy-data or --keep-data, or --dry-run to see first")));
        }
        if self.yes && self.destroys() && self.max.is_none() {
            let told = "--yes with --destroy-data requires --max";
            return Err(
                Failure::usage(told).hint(Some("--max N refuses to destroy more than N volumes"))
            );
        }
        if self.confirm_cluster.is_some() && self.saved.is_given() {
            return Err(Failure::usage("--confirm-cluster requires a cluster, not a dump"));
        }
        Ok(format)
    }

    /// Whether data is destroyed; a survey without either flag shows that.
    const fn destroys(&self) -> bool {
        !self.keep_data
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        self.journal.take_into(&mut settings);
        self.storage.take_into(&mut settings);
        let namespaces = self.namespace.iter().map(String::as_str);
        settings.scope = narrowed_scope(namespaces, self.selector.as_deref())?;
        settings.keep_data = !self.destroys();
        settings.destroy_data = self.destroys();
        settings.no_other_users = self.no_other_users;
        settings.alive_provisioners =
            self.provisioner_alive.iter().map(|it| Text::from(&**it)).collect();
        if let Some(timeout) = self.timeout.0 {
            settings.thresholds.set(Threshold::DeleteWait, timeout);
        }
        let keep_running = self.keep_running.as_deref().map(Selector::parse).transpose();
        let keep_running = keep_running.map_err(|error| Failure::usage(error.to_string()))?;
        if keep_running.as_ref().is_some_and(Selector::is_empty) {
            return Err(Failure::usage("the selector of --keep-running is empty"));
        }
        settings.teardown = Some(Box::new(TeardownTerms {
            destroys: self.destroys(),
            except: self.except.iter().cloned().collect(),
            takes_released: self.released,
            keep_running: keep_running.unwrap_or_default(),
            ..TeardownTerms::default()
        }));
        Ok(settings)
    }

    /// Compares the UID of a cluster, before anything else of it is read.
    async fn is_cluster(&self, connection: &ConnectionArgs, wanted: &str) -> Result<(), Failure> {
        let connected = connect(connection, None).await?;
        let reader = Reader::new(&connected);
        let found = cluster_uid(&reader).await.map_err(|error| {
            let hint = error.hint();
            Failure::error(error).hint(hint)
        })?;
        match found {
            Some(uid) if uid == wanted => Ok(()),
            Some(uid) => Err(refusal(&format!(
                "this is another cluster: namespace kube-system of {} has UID {}, not {}",
                connected.server,
                escape_control(&uid),
                escape_control(wanted)
            ))
            .hint(Some("nothing else was read, and nothing was changed"))),
            None => Err(refusal(
                "reading namespace kube-system is forbidden: unknown which cluster this is",
            )
            .hint(Some("`kubectl storage rbac teardown` prints a ClusterRole with this right"))),
        }
    }

    /// Reads the cluster and surveys it. Nothing is written. After the first look only what that had is torn down, and notes
    /// about the journal are not told again.
    pub(super) async fn look(
        &self,
        connection: &ConnectionArgs,
        confirmed: Option<&ConfirmedSurvey>,
    ) -> Result<Look, Failure> {
        let mut settings = self.settings()?;
        let namespace = self.namespace.first().map(String::as_str);
        let source = self.saved.or_watched(connection, namespace)?;
        let mut collected = collect(source, &settings, None).await?;
        let names = self.namespace.iter().map(String::as_str);
        collected.expect_namespaces(names).await?;
        if self.namespace.is_empty() && !self.all_namespaces {
            // Labels alone select in the namespace of the context, as with kubectl.
            let current = collected.namespace.clone().unwrap_or_else(|| "default".to_owned());
            settings.scope.namespaces.insert(Text::from(&*current));
        }
        let is_live = collected.live.is_some();
        let history = match is_live {
            true => journal::recalled(&collected, confirmed.is_none()).await?,
            false => History::default(),
        };
        let mut earlier = EarlierSteps::of(&history, self.destroys());
        let doubtful = unsettled(&collected, &mut earlier).await;
        let mut terms = terms_of(&settings).clone();
        terms.stopped.clone_from(&earlier.stopped);
        terms.retained.clone_from(&earlier.retained);
        terms.held.clone_from(&earlier.held);
        terms.doubtful = doubtful;
        terms.confirmed = confirmed.cloned();
        let with = |terms: &TeardownTerms| Settings {
            teardown: Some(Box::new(terms.clone())),
            ..settings.clone()
        };
        let now = with(&terms);
        terms.claims = collected.make(&now, plan::claims).await?;
        let now = with(&terms);
        let first = collected.make(&now, plan::deleted_claims).await?;
        let first = first.map_err(|unseen| unread(&unseen, is_live))?;
        let users = collected.make(&now, |cx| plan::users(cx, &first)).await?;
        let users = users.map_err(|unseen| unread(&unseen, is_live))?;
        let stops: BTreeSet<_> = users.stops.keys().chain(&users.pods).cloned().collect();
        let mut around = Surroundings::default();
        if let Some(live) = collected.live.as_ref().filter(|_| !stops.is_empty()) {
            let cluster = &collected.intake.cluster;
            around = Surroundings::read(&live.reader, cluster, &stops, &terms.keep_running).await;
        }
        terms.protected = around.protected;
        terms.stopped.extend(users.stopped.clone());
        let before = collected.make(&now, plan::stopped_before).await?;
        terms.stopped.extend(before.map_err(|unseen| unread(&unseen, is_live))?);
        let mut rehearsed = terms.clone();
        rehearsed.is_rehearsal = true;
        rehearsed.stopping = users.dependents;
        let rehearsed = with(&rehearsed);
        let mut survey = collected.make(&rehearsed, plan::survey).await?;
        // Only what uses a claim that is deleted after all is stopped.
        let doomed = survey.deleted();
        let users = collected.make(&rehearsed, |cx| plan::users(cx, &doomed)).await?;
        let users = users.map_err(|unseen| unread(&unseen, is_live))?;
        let cluster = &collected.intake.cluster;
        survey.workloads = users.stops.into_iter().collect();
        survey.pods = users.pods.into_iter().collect();
        survey.obstacles.extend(users.obstacles);
        survey.obstacles.sort();
        survey.obstacles.dedup();
        let mut record = TeardownRecord::of(&survey, cluster, self.destroys());
        let of_surroundings = around.obstacles.into_iter();
        record
            .obstacles
            .extend(of_surroundings.map(|reason| TeardownObstacle { object: None, reason }));
        record.keepers = around.keepers.into_iter().collect();
        if let Some(live) = &collected.live {
            record.metadata.context.clone_from(&live.connection.context);
        }
        collected.notes.extend(around.notes);
        let settings = with(&terms);
        Ok(Look { collected, settings, rehearsed, history, earlier, survey, record })
    }

    /// Returns the options of writes.
    pub(super) fn options(&self, dry_run: DryRun) -> RunOptions {
        RunOptions {
            parallel: None,
            per_driver: usize::from(self.parallel),
            dry_run,
            events: !self.no_events,
            wait: true,
        }
    }

    /// Returns the line to paste, which does what was surveyed.
    fn next(&self, record: &TeardownRecord) -> Option<String> {
        if record.volumes.iter().all(|it| matches!(it.plan.as_str(), "keep" | "leave"))
            && self.destroys()
        {
            return None;
        }
        let mut words = vec!["kubectl storage teardown".to_owned()];
        words.push(if self.destroys() { "--destroy-data" } else { "--keep-data" }.to_owned());
        if self.all_namespaces {
            words.push("-A".to_owned());
        }
        if !self.namespace.is_empty() {
            words.push(format!("-n {}", self.namespace.join(",")));
        }
        words.extend(self.selector.iter().map(|it| format!("-l {}", quoted(it))));
        words.extend(self.except.iter().map(|it| format!("--except {}", quoted(&it.to_string()))));
        words.extend(self.released.then(|| "--released".to_owned()));
        words.extend(self.keep_running.iter().map(|it| format!("--keep-running {}", quoted(it))));
        words.extend(self.storage.typed());
        let alive = self.provisioner_alive.iter();
        words.extend(alive.map(|it| format!("--provisioner-alive {}", quoted(it))));
        words.extend(self.no_other_users.then(|| "--no-other-users".to_owned()));
        Some(words.join(" "))
    }

    /// Rehearses, asks, and carries out.
    async fn carry_out(
        &self,
        mut look: Look,
        connection: &ConnectionArgs,
        format: &Format,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let clock = look.collected.intake.cluster.clock();
        confirm::same_clock(clock)?;
        let path = self.record.clone().map_or_else(|| self.default_record(&look), Ok)?;
        let mut record = look.record.clone();
        if let Some(live) = &look.collected.live {
            record.complete(&live.reader, &look.collected.intake.cluster).await?;
        }
        let confirmed = look.survey.confirmed();
        let earlier = look.earlier.entries.iter();
        let earlier =
            earlier.map(|(entry, it)| (it.clone(), look.history.numbered(*entry).arguments()));
        let phases = Phases {
            args: self,
            connection,
            interrupt,
            confirmed: &confirmed,
            looked: Cell::default(),
            stopped: RefCell::new(earlier.collect()),
        };
        // What the API server refuses, it refuses before anything is written.
        Box::pin(phases.rehearse(&mut look)).await?;
        if self.dry_run == DryRunFlag::Server {
            look.show(&look.record, format, None)?;
            terminal::note(
                "the API server would accept every request that can be tried; nothing was changed",
            );
            return Ok(Exit::Done);
        }
        if !self.yes {
            self.ask(&look)?;
            // The question may have stood for long.
            Box::pin(phases.look_unblocked()).await?;
        }
        let mut file = RecordFile::begin(&path, record)?;
        let ended = Box::pin(phases.run(&mut file)).await;
        let ended = match ended {
            Ok(ended) => ended,
            Err(failure) => {
                file.write();
                for (object, number) in phases.stopped.borrow().iter() {
                    terminal::note(&escape_control(&remains_stopped(object, number)));
                }
                terminal::note(&format!("the record is {}", file.path().display()));
                return Err(Failure { exit: Exit::Unfinished, ..failure });
            }
        };
        ended.look.show(&file.record, format, None)?;
        for note in &ended.notes {
            terminal::note(&escape_control(note));
        }
        tell(&ended.look.collected, plan::DESTROY);
        terminal::note(&format!("the record is {}", file.path().display()));
        if let Some(why) = &file.failed {
            terminal::note(&format!("error: the record could not be completed: {why}"));
        }
        Ok(match ended.interrupted {
            true => Exit::Interrupted,
            false if ended.complete && file.record.is_clean() && file.failed.is_none() => {
                Exit::Done
            }
            false => Exit::Unfinished,
        })
    }

    /// Returns the file of the record beside the journal.
    fn default_record(&self, look: &Look) -> Result<PathBuf, Failure> {
        let folder = journal::folder(&look.collected);
        let folder = folder.ok_or_else(|| refusal("no folder for the record is known"))?;
        std::fs::create_dir_all(&folder).map_err(Failure::error)?;
        let mode = if self.destroys() { "destroy" } else { "keep" };
        Ok(folder.join(format!("teardown-{mode}.json")))
    }

    /// Asks the person to type the server's host and the bytes.
    fn ask(&self, look: &Look) -> Result<(), Failure> {
        if !confirm::somebody_there() {
            return Err(refusal("cannot ask for confirmation: stdin or stderr is not a terminal")
                .hint(Some(
                    "--yes, --confirm-cluster, --record and --max go on without a prompt",
                )));
        }
        let mut screen = Vec::new();
        let colour = terminal::colour_of_notes();
        look.table(&mut screen, &look.record, colour, None).map_err(Failure::error)?;
        terminal::note(String::from_utf8_lossy(&screen).trim_end());
        let live = look.collected.live.as_ref();
        let server = live.map_or("", |it| &it.connection.server);
        let host = server.split("://").last().unwrap_or_default();
        let host = host.split(['/', ':']).next().unwrap_or_default();
        let summary = &look.record.summary;
        let (verb, amount) = match self.destroys() {
            true => ("Destroy", summary.destroyed),
            false => ("Release", summary.kept),
        };
        let wanted = format!("{host} {}", format_bytes(amount.bytes));
        let typed: String = Input::new()
            .with_prompt(format!(
                "{verb} {} volumes in {host}? Type \"{wanted}\" to go on",
                amount.volumes
            ))
            .allow_empty(true)
            .interact_text()
            .map_err(Failure::error)?;
        match typed.split_whitespace().eq(wanted.split_whitespace()) {
            true => Ok(()),
            false => Err(refusal("not confirmed: nothing was changed")),
        }
    }
}

/// Returns the terms in settings of this command.
fn terms_of(settings: &Settings) -> &TeardownTerms {
    settings.teardown.as_deref().expect("because `settings` sets them")
}

/// Returns the refusal to go on without what was not read.
fn unread(unseen: &Unseen, is_live: bool) -> Failure {
    let kind = unseen.kind.plural();
    let hint = match is_live {
        true => "`kubectl storage rbac teardown` prints a ClusterRole with all rights",
        false => "`kubectl storage dump` saves all kinds",
    };
    refusal(&format!("{kind} not read ({}): unknown what uses the claims", unseen.reason))
        .hint(Some(hint))
}

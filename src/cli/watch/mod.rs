//! `kubectl storage watch`: the audit as a service, by a policy file, in an unattended process.
//!
//! - `act`: reconcilers that act, or say what they would do.
//! - `check`: `--check`, which validates and looks once, and what of a policy only a cluster can contradict.
//! - `log`: log lines, and what is logged of what the loop tells.
//! - `pause`, `status`: whether it may act, and what it did.
//! - `print`: the objects with which it runs in a cluster.

mod act;
mod check;
mod log;
mod pause;
mod print;
mod status;

use std::{
    convert::Infallible, ops::ControlFlow, path::PathBuf, pin::pin, sync::Arc, time::Duration,
};

use act::Acting;
use clap::{Args, Subcommand};
use log::{LogFormat, LogLines};
use pause::PauseArgs;
use print::PrintArgs;
use status::StatusArgs;
use tokio::{sync::mpsc, task::spawn_blocking, time::sleep};
use tracing::{error, info, warn};

use super::{
    Exit, Failure, Interrupt,
    acting::{Busy, WantedFindings, ended, finish},
    args::ConnectionArgs,
    collect::{self, Collected, connect, dump_failure, notes},
    policy_refused,
    terminal::{self, EventPrinter},
};
use crate::{
    client::ReadError,
    cluster::Cluster,
    model::{Settings, Text, escape_control},
    output::{
        event_stream::EventStream,
        publish,
        report::{Printer, ReportStyle},
    },
    watch::{
        Candidate, ElectionPace, Leadership, Listener, Probes, Reconciler, Told,
        acting::ActingCounts,
        policy::{PolicyFile, PolicySource, Reloaded, WatchPolicy, report::ReportPolicy},
        report::Reporters,
    },
};

/// Arguments of `watch`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct WatchArgs {
    #[command(subcommand)]
    command: Option<WatchCommand>,
    #[command(flatten)]
    watching: Option<WatchingArgs>,
}

/// What to do instead of watching.
#[derive(Debug, Subcommand)]
enum WatchCommand {
    /// Print the objects with which it runs in a cluster, as YAML for kubectl apply
    Print(PrintArgs),
    /// Stop everything that acts, at once; findings are still reported
    Pause(PauseArgs),
    /// Allow changes; a new installation starts paused
    Resume(PauseArgs),
    /// Show whether it may act, who leads, and what was done last
    Status(StatusArgs),
}

impl WatchArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        match (self.command, self.watching) {
            (Some(WatchCommand::Print(args)), _) => args.run(),
            (Some(WatchCommand::Pause(args)), _) => args.pause(connection).await,
            (Some(WatchCommand::Resume(args)), _) => args.resume(connection).await,
            (Some(WatchCommand::Status(args)), _) => args.run(connection).await,
            (None, Some(args)) => Box::pin(args.run(connection, interrupt)).await,
            (None, None) => Err(Failure::usage("a policy is required: watch -f policy.yaml")),
        }
    }
}

/// Arguments of `watch` itself.
#[derive(Debug, Args)]
struct WatchingArgs {
    /// Watch by this policy file, which is read again when it changes; - reads stdin, once
    #[arg(short, long = "filename", value_name = "POLICY", value_hint = clap::ValueHint::FilePath)]
    filename: PathBuf,
    /// Validate the policy, look once, and print what would be reported now, and where
    #[arg(long)]
    check: bool,
    /// Also print findings on stdout as they appear, change and clear: json, one object a line
    #[arg(short, long, value_name = "FORMAT", value_parser = ["json"], conflicts_with = "check")]
    output: Option<String>,
    /// Log in this format
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "check")]
    log_format: LogFormat,
}

impl WatchingArgs {
    async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let source = PolicySource::parse(&self.filename);
        if self.check {
            let file = PolicyFile::open(source).map_err(|error| policy_refused(&error))?;
            return Box::pin(check::check(connection, &file)).await;
        }
        log::start(self.log_format)?;
        let opened = PolicyFile::open(source);
        if let (Err(error), LogFormat::Text) = (&opened, self.log_format) {
            // At a terminal it reads as every other command's mistake does.
            return Err(policy_refused(error));
        }
        let watched = match opened {
            Ok(file) => Box::pin(self.watch(connection, file, interrupt)).await,
            Err(error) => Err(log::refused(&error)),
        };
        Ok(watched.unwrap_or_else(|failure| {
            log::failed(&failure);
            failure.exit
        }))
    }

    /// Watches by a policy until it is ended.
    async fn watch(
        &self,
        connection: &ConnectionArgs,
        file: PolicyFile,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let version = env!("CARGO_PKG_VERSION");
        info!(version, policy = %escape_control(&file.source().name()), "started");
        interrupt.order();
        let stdout = self.output.as_ref().map(|_| EventPrinter::start(json_lines()));
        let stdout = stdout.transpose().map_err(Failure::error)?;
        let mut candidate = None;
        let busy = Busy::default();
        let follow =
            self.follow(connection, file, stdout.as_ref(), &mut candidate, (interrupt, &busy));
        let end = tokio::select! {
            end = follow => end,
            () = ended(interrupt, &busy) => Ok(Exit::Interrupted),
        };
        if let Some(candidate) = candidate {
            candidate.resign().await;
        }
        if let Some(stdout) = &stdout {
            stdout.settle().await;
        }
        if end.is_ok() {
            info!("stopped");
        }
        end
    }

    async fn follow(
        &self,
        connection: &ConnectionArgs,
        file: PolicyFile,
        stdout: Option<&EventPrinter>,
        candidate: &mut Option<Candidate>,
        (interrupt, busy): (&Interrupt, &Busy),
    ) -> Result<Exit, Failure> {
        let policy = Arc::new(file.policy().clone());
        let settings = policy.settings();
        if self.output.is_none() && policy.report == ReportPolicy::default() {
            warn!("{}", check::ONLY_COUNTED);
        }
        // Reports must not wait for what the loop reads.
        let reporting = connect(connection, None).await?;
        let probes = Arc::new(Probes::default());
        let places = policy.places(&reporting.namespace);
        *candidate = policy.leader_election.as_ref().map(|it| {
            let lease = (&*places.lease, it.name());
            let pace = ElectionPace::default();
            Candidate::stand(&reporting, lease, &places.pauses, pace, Arc::clone(&probes))
        });
        let leadership = candidate.as_ref().map_or_else(Leadership::alone, Candidate::leadership);
        let reporters =
            Reporters::start(&policy.report, &reporting, leadership.clone(), probes).await;
        let reporters = reporters.map_err(Failure::error)?;
        let watched = reporters.watched();
        let records = Text::clone(&places.records);
        let terms_of = Box::new(move |policy: &WatchPolicy| act::terms(policy, &records));
        let (findings, followed) = WantedFindings::by_policy(&policy, terms_of);
        let counts = ActingCounts::default();
        watched.act(&counts);
        let acting = Acting {
            followed,
            leadership,
            interrupt: interrupt.clone(),
            counts,
            busy: busy.clone(),
        };
        let mut audience = Audience {
            stdout: stdout.cloned(),
            listeners: vec![Box::new(LogLines::default()), Box::new(reporters), Box::new(findings)],
        };
        let mut collected = audience.first_look(connection, &settings).await?;
        let (reconciler, news) = collect::begin(&mut collected, settings);
        let first =
            Told { news, policy: Some(policy), notes: notes(&collected), ..Told::default() };
        let cluster = &collected.intake.cluster;
        audience.tell(first, cluster, &reconciler);
        let (sender, policies) = mpsc::channel(1);
        let reloading = reload(file, sender);
        let mut watching = collect::go_on(collected, reconciler, Some(policies))?;
        watched.follow(watching.watches.health());
        let tell = &mut |told: Told, cluster: &Cluster, reconciler: &Reconciler| {
            audience.tell(told, cluster, reconciler);
            ControlFlow::<Infallible>::Continue(())
        };
        let mut acting = pin!(acting.run(connection, &reporting, places.pauses));
        let end = tokio::select! {
            end = watching.run(tell) => end.map_err(dump_failure).map(|never| match never {}),
            never = &mut acting => match never {},
            never = reloading => match never {},
            ended = nobody_reads(stdout) => ended,
        };
        if busy.is_busy() {
            info!("ending after the change that is being made");
        }
        finish(acting, interrupt, busy).await;
        end
    }
}

/// First wait before an API server that did not answer is asked again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest wait before an API server is asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Interval at which listeners hear that the process goes on while it waits for the first look.
const TURN: Duration = Duration::from_secs(5);

/// Waits until the findings on stdout are not read any more; for ever without them.
async fn nobody_reads(stdout: Option<&EventPrinter>) -> Result<Exit, Failure> {
    match stdout {
        Some(stdout) => stdout.ended().await.map(|()| Exit::Done).map_err(Failure::error),
        None => std::future::pending().await,
    }
}

/// Receivers of news: stdout and listeners.
struct Audience {
    /// Printer of findings, if the user asked for them.
    stdout: Option<EventPrinter>,
    listeners: Vec<Box<dyn Listener>>,
}

impl Audience {
    /// Reads the cluster as often as it takes: an unattended process does not end because the API server is not there
    /// yet.
    async fn first_look(
        &mut self,
        connection: &ConnectionArgs,
        settings: &Settings,
    ) -> Result<Collected, Failure> {
        let mut pause = FIRST_PAUSE;
        loop {
            let look = Box::pin(collect::look(connection, None, settings));
            let failure = match self.wait_for(look).await {
                Ok(collected) => return Ok(collected),
                Err(failure) => failure,
            };
            if !failure.error.downcast_ref().is_some_and(ReadError::may_pass) {
                return Err(failure);
            }
            let seconds = pause.as_secs();
            warn!(retry_seconds = seconds, "{}", escape_control(&terminal::message(&failure)));
            self.wait_for(sleep(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Waits for work, and tells listeners now and then that the process goes on.
    async fn wait_for<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            self.listeners.iter_mut().for_each(|it| it.turned());
            tokio::select! {
                done = &mut work => return done,
                () = sleep(TURN) => {}
            }
        }
    }

    /// Passes news to all listeners, and findings to stdout.
    fn tell(&mut self, told: Told, cluster: &Cluster, reconciler: &Reconciler) {
        let is_news = !told.is_empty() || told.took.is_some();
        for listener in &mut self.listeners {
            if is_news || listener.is_behind() {
                listener.hear(&told, cluster, reconciler);
            }
            listener.turned();
        }
        if let Some(stdout) = &self.stdout {
            let now = cluster.clock();
            let events = told.news.findings.into_iter();
            stdout.push(events.map(|it| publish::finding_event(it, now)).collect());
        }
    }
}

fn json_lines() -> EventStream {
    let page = ReportStyle { headers: false, width: None, colour: false, reverse: false };
    EventStream::new(Printer::Json, page)
}

/// Interval at which the policy file is read.
const INTERVAL: Duration = Duration::from_secs(2);

/// Reads the policy file again and again, hands over each policy that is accepted, and logs what is not.
async fn reload(mut file: PolicyFile, policies: mpsc::Sender<Arc<WatchPolicy>>) -> Infallible {
    loop {
        sleep(INTERVAL).await;
        // A file system may be slow.
        let look = spawn_blocking(move || {
            let found = file.reload();
            (file, found)
        });
        let Ok((looked, found)) = look.await else { std::future::pending().await };
        file = looked;
        let policy = file.source().name();
        let policy = escape_control(&policy);
        match found {
            Reloaded::Same => {}
            Reloaded::New(accepted) => {
                // The loop says when it is in force; it ends together with this.
                let _ = policies.send(Arc::new(*accepted)).await;
            }
            Reloaded::Restored => info!(%policy, "the file holds the policy in force again"),
            Reloaded::Refused(wrong) => {
                for line in wrong.lines() {
                    error!("{}", escape_control(&line));
                }
                error!(%policy, "the file is refused; the policy in force stays");
            }
        }
    }
}

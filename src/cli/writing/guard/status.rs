//! `guard status`: shows whether the guard is what it should be, where it refuses, and whether dry runs prove it.

use std::time::Duration;

use clap::Args;

use super::{GuardOutput, GuardedCluster, NamespaceLabels, screen_lines, taken, tell};
use crate::{
    apply::GuardWriter,
    cli::{Exit, Failure, args::ConnectionArgs, terminal},
    guard::{self, GuardOptions, NOT_STOPPED, Probe, ProbeVerdict, installation, probes},
    output::{
        guard as output,
        guard::{GuardNamespaces, GuardProof, StatusContext, refused, status, status_lines},
    },
};

/// Arguments of `guard status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    output: GuardOutput,
}

impl StatusArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.output.format("guard status")?;
        let cluster = GuardedCluster::read(connection).await?;
        let installed = &cluster.installed;
        let is_any = installed.is_any();
        let options = installed.options();
        let wanted = options.clone().unwrap_or_default();
        let steps = match is_any {
            true => installation(installed, &wanted).map_err(|it| taken(&it))?,
            false => Vec::new(),
        };
        let labels = cluster.namespaces().await;
        let probed = match (is_any, &labels) {
            (false, _) => None,
            (true, Ok(labels)) => Some(prove(&cluster, &wanted, labels).await),
            (true, Err(_)) => {
                Some(prove(&cluster, &wanted, &super::NamespaceLabels::default()).await)
            }
        };
        let refused = match is_any {
            true => cluster.failed_deletions().await.map(|it| refused(&it, options.as_ref())),
            false => Ok(Vec::new()),
        };
        let shape = status(StatusContext {
            installed,
            options: options.as_ref(),
            steps: &steps,
            proof: probed.as_ref().map(Proof::shape),
            namespaces: match &labels {
                Ok(labels) => Ok(GuardNamespaces::from(labels)),
                Err(error) => Err(error.to_string()),
            },
            refused: refused.map_err(|error| error.to_string()),
            now: cluster.now,
        });
        if format.is_text() {
            print(&status_lines(&shape))?;
            match is_any {
                true => list_not_stopped(),
                false => {
                    tell("`kubectl storage guard install --dry-run` shows what it consists of");
                }
            }
        } else {
            format.print(&shape)?;
        }
        let fails = probed.as_ref().is_some_and(Proof::fails);
        let holds = probed.as_ref().is_some_and(Proof::holds);
        let wrong = !is_any
            || !steps.is_empty()
            || options.is_none()
            || !shape.types.warnings.is_empty()
            || !shape.refused.is_empty()
            || fails;
        Ok(match wrong {
            true => Exit::Error,
            false if !holds || labels.is_err() || !shape.types.waiting.is_empty() => {
                Exit::Incomplete
            }
            false if shape.events_unread.is_some() => Exit::Incomplete,
            false => Exit::Done,
        })
    }
}

fn print(lines: &[String]) -> Result<(), Failure> {
    terminal::print(|out| {
        let mut lines = lines.iter().flat_map(|line| screen_lines(line));
        lines.try_for_each(|line| writeln!(out, "{line}"))
    })
    .map_err(Failure::error)
}

/// Lists what the guard does not stop, on stderr.
pub(super) fn list_not_stopped() {
    tell("The guard is a seatbelt, not a security boundary. It does not stop:");
    for line in NOT_STOPPED {
        tell(&format!("- {line}"));
    }
}

/// Longest time for the API servers to enforce what was written: each watches by itself.
const PROOF_PATIENCE: Duration = Duration::from_secs(20);
const PROOF_PAUSE: Duration = Duration::from_millis(500);

/// Results of the dry runs.
pub(super) struct Proof {
    /// Bindings that could be probed, each with what its probe proved.
    pub(super) probed: Vec<(Probe, ProbeVerdict)>,
    /// Reason why the guard lets the current user pass, if it does.
    pub(super) passes: Option<String>,
    /// Reason why it is unknown who the current user is.
    pub(super) unknown_user: Option<String>,
}

impl Proof {
    /// Whether every binding that was probed is in force.
    pub(super) fn holds(&self) -> bool {
        self.probed.iter().all(|(_, verdict)| *verdict == ProbeVerdict::InForce)
    }

    /// Returns the proof as it is published.
    pub(super) fn shape(&self) -> GuardProof {
        output::proof(&self.probed, self.passes.clone(), self.unknown_user.clone())
    }

    /// Whether a binding is not in force, although the user does not pass.
    pub(super) fn fails(&self) -> bool {
        self.passes.is_none()
            && self.probed.iter().any(|(_, verdict)| *verdict == ProbeVerdict::NotInForce)
    }
}

/// Sends a dry run to each binding for which there is a namespace, and returns what they prove.
pub(super) async fn prove(
    cluster: &GuardedCluster,
    options: &GuardOptions,
    labels: &NamespaceLabels,
) -> Proof {
    let writer = GuardWriter::new(&cluster.connection, "kubectl-storage");
    let who = writer.who_am_i().await;
    let passed = who.as_ref().ok().and_then(|(user, groups)| guard::passes(options, user, groups));
    let deny = labels.deny.first().map(String::as_str);
    let warn = Some("default").filter(|it| labels.warn.contains(*it));
    let warn = warn.or_else(|| labels.warn.first().map(String::as_str));
    let mut probed = Vec::new();
    for probe in probes(options, deny, warn) {
        let verdict = match writer.probe(&probe).await {
            Ok(answer) => probe.judge(&answer),
            Err(error) => ProbeVerdict::Unknown(error),
        };
        probed.push((probe, verdict));
    }
    Proof { probed, passes: passed, unknown_user: who.err() }
}

/// Proves again until no binding fails to be in force, or until its time is over.
pub(super) async fn wait(
    cluster: &GuardedCluster,
    options: &GuardOptions,
    labels: &NamespaceLabels,
) -> Proof {
    let began = tokio::time::Instant::now();
    loop {
        let proof = prove(cluster, options, labels).await;
        if !proof.fails() || began.elapsed() >= PROOF_PATIENCE {
            return proof;
        }
        tokio::time::sleep(PROOF_PAUSE).await;
    }
}

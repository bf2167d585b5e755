//! `guard status`: whether the guard is what it should be, is in force, and where.

use clap::Args;

use super::{GuardOutput, GuardedCluster, proof, screen_lines, taken, tell};
use crate::cli::{Exit, Failure, args::ConnectionArgs, terminal};
use crate::guard::{NOT_STOPPED, installation};
use crate::output::guard::{GuardNamespaces, StatusContext, refused, status, status_lines};

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
            (true, Ok(labels)) => Some(proof::prove(&cluster, &wanted, labels).await),
            (true, Err(_)) => {
                Some(proof::prove(&cluster, &wanted, &super::NamespaceLabels::default()).await)
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
            proof: probed.as_ref().map(proof::Proof::shape),
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
        let fails = probed.as_ref().is_some_and(proof::Proof::fails);
        let holds = probed.as_ref().is_some_and(proof::Proof::holds);
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

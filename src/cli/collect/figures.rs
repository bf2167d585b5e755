//! How full volumes are, for a cluster that is read.

use std::collections::BTreeSet;

use super::{Collected, ProgressLine, dump_failure};
use crate::{
    cli::Failure,
    cluster::{Cx, Seen, Subject},
    facts::pod_users,
    model::{Settings, Text, Time},
    output::wire::Gap,
    rules::{self, USAGE},
    sources::kubelets,
    usage::UsageFigures,
};

/// What to do without the right to ask kubelets.
const WITHOUT_RIGHT: &str = "asking kubelets needs get on nodes/proxy, which also lets one run commands in every pod; \
                             `kubectl storage explain usage` prints the ways that need no right";

/// Figures of the volumes of one cluster, as far as files told them.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct UsageSources {
    pub(in crate::cli) figures: UsageFigures,
    /// Whether any file was named.
    pub(in crate::cli) has_files: bool,
    /// Whether the kubelets of the cluster are asked.
    pub(in crate::cli) asks_kubelets: bool,
    /// Files, and parts of answers, that could not be read.
    pub(in crate::cli) gaps: Vec<Gap>,
}

impl UsageSources {
    /// Sets the time of what has none.
    pub(in crate::cli) fn measured_at(&mut self, time: Option<Time>) {
        if let Some(time) = time {
            self.figures.measured_at(time);
        }
    }

    /// Gives a cluster that was read the figures, for which its kubelets may be asked, and notes what is missing.
    ///
    /// # Errors
    /// When no kubelet may be asked and nothing else is known, or the figures cannot be saved.
    pub(super) async fn settle(
        mut self,
        collected: &mut Collected,
        settings: &Settings,
    ) -> Result<(), Failure> {
        if self.asks_kubelets
            && let Some(live) = &collected.live
        {
            let nodes =
                nodes(&collected.assessor.cx(&collected.intake.cluster, settings), settings);
            let (asked, line) = (nodes.len(), ProgressLine::start());
            let progress = |done: usize| line.say(format!("asking kubelets  {done} of {asked}"));
            match kubelets::read(&live.reader, nodes, progress).await {
                Ok(figures) => self.figures.join(figures),
                Err(error) if self.has_files => self.gaps.push(unmeasured(error.to_string())),
                Err(error) => {
                    return Err(Failure::error(error).hint(Some(WITHOUT_RIGHT.to_owned())));
                }
            }
        }
        let known = collected.intake.cluster.figures();
        if let Some(why) = known.and_then(|it| it.conflict(&self.figures)) {
            return Err(Failure::error(anyhow::anyhow!(
                "the figures are of another cluster than those in the dump: {why}"
            )));
        }
        collected.intake.figures(self.figures).map_err(dump_failure)?;
        collected.unmeasured = self.gaps;
        Ok(())
    }
}

/// Nodes whose kubelets have figures of claims in scope: those that run pods with them.
fn nodes(cx: &Cx, settings: &Settings) -> Vec<Text> {
    let cluster = cx.cluster();
    let in_scope =
        cluster.claims().filter(|(id, _)| rules::in_scope(cluster, settings, &Subject::Claim(*id)));
    let of_claim = |claim| -> Seen<Vec<Text>> {
        let pods = pod_users(cx, claim)?;
        let running = pods.iter().filter(|it| !it.pod.is_finished());
        Ok(running.filter_map(|it| it.pod.node.clone()).collect())
    };
    // What was not seen is a gap already.
    let nodes = in_scope.filter_map(|(_, claim)| of_claim(claim).ok()).flatten();
    let nodes: BTreeSet<Text> = nodes.collect();
    nodes.into_iter().collect()
}

/// Returns the gaps of kubelets that did not answer.
pub(super) fn silent_kubelets(figures: &UsageFigures) -> impl Iterator<Item = Gap> {
    let silent = figures.silent().iter();
    silent.map(|(node, why)| unmeasured(format!("the kubelet of node {node}: {why}")))
}

/// Returns the gap of figures that are missing, for this reason.
pub(in crate::cli) fn unmeasured(reason: String) -> Gap {
    Gap {
        cluster: None,
        resource: "figures of volumes".to_owned(),
        namespace: None,
        reason,
        ids: USAGE.iter().map(|it| it.id.to_owned()).collect(),
    }
}

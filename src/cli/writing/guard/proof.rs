//! Proves by dry runs that the guard is in force.

use std::time::Duration;

use super::{GuardedCluster, NamespaceLabels};
use crate::apply::GuardWriter;
use crate::guard::{GuardOptions, Probe, ProbeVerdict, passes, probes};
use crate::output::guard::{self as output, GuardProof};

/// How long the API servers may take until they enforce what was written: each watches by itself.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(500);

/// What the dry runs proved.
pub(super) struct Proof {
    /// Every binding that could be probed, and what its probe proved.
    pub(super) probed: Vec<(Probe, ProbeVerdict)>,
    /// Why the guard lets the current user pass, if it does.
    pub(super) passes: Option<String>,
    /// Why it is unknown who the current user is.
    pub(super) unknown_user: Option<String>,
}

impl Proof {
    /// Whether every binding that was probed is in force.
    pub(super) fn holds(&self) -> bool {
        self.probed.iter().all(|(_, verdict)| *verdict == ProbeVerdict::InForce)
    }

    /// Returns what is published of it.
    pub(super) fn shape(&self) -> GuardProof {
        output::proof(&self.probed, self.passes.clone(), self.unknown_user.clone())
    }

    /// Whether a binding is not in force, although the user does not pass.
    pub(super) fn fails(&self) -> bool {
        self.passes.is_none()
            && self.probed.iter().any(|(_, verdict)| *verdict == ProbeVerdict::NotInForce)
    }
}

/// Sends a dry run to each binding for which there is a namespace.
pub(super) async fn prove(
    cluster: &GuardedCluster,
    options: &GuardOptions,
    labels: &NamespaceLabels,
) -> Proof {
    let writer = GuardWriter::new(&cluster.connection, "kubectl-storage");
    let who = writer.who_am_i().await;
    let passed = who.as_ref().ok().and_then(|(user, groups)| passes(options, user, groups));
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

/// Proves again until every binding is in force, or for as long as that may take.
pub(super) async fn wait(
    cluster: &GuardedCluster,
    options: &GuardOptions,
    labels: &NamespaceLabels,
) -> Proof {
    let began = tokio::time::Instant::now();
    loop {
        let proof = prove(cluster, options, labels).await;
        if !proof.fails() || began.elapsed() >= PATIENCE {
            return proof;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

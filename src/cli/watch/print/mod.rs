//! `watch print`: the objects with which it runs in a cluster, as YAML.
//!
//! - `objects`: all of them, in the order in which they are applied.
//! - `installation`: what is installed, and what they have in common.
//! - `workload`: the Deployment.
//! - `mounted`: the Secrets that hold the files of a policy.
//! - `monitoring`: the objects of the Prometheus operator.

mod installation;
mod monitoring;
mod mounted;
mod objects;
mod workload;

use std::path::PathBuf;

use clap::Args;

use self::installation::Installation;
use crate::{
    cli::{
        Exit, Failure,
        args::{WATCH_NAMESPACE, reconciler},
        policy::refused,
        terminal,
    },
    model::{escape_control, is_namespace_name},
    output::list,
    watch::policy::{
        PolicyFile, PolicySource, WatchPolicy,
        acting::{ReconcilerMode, ReconcilerName},
    },
};

/// The image that is built from the `Containerfile`.
const IMAGE: &str = concat!("ghcr.io/kubectl-storage/kubectl-storage:v", env!("CARGO_PKG_VERSION"));

/// The policy without a file.
const DEFAULT_POLICY: &str = "\
apiVersion: storage.kubectl.dev/v1alpha1
kind: WatchPolicy
report:
  events:
    severity: high
  metrics:
    address: 0.0.0.0:8443
  probes:
    address: 0.0.0.0:8081
leaderElection: {}
";

/// Arguments of `watch print`.
#[derive(Debug, Args)]
pub(super) struct PrintArgs {
    /// Put this policy file into the ConfigMap; - reads stdin [default: Events of high and worse, metrics, leader election]
    #[arg(short, long = "filename", value_name = "POLICY", value_hint = clap::ValueHint::FilePath)]
    filename: Option<PathBuf>,
    /// Run in this namespace, which is created, and restricted to pods of the restricted pod security standard
    #[arg(short, long, value_name = "NAMESPACE", default_value = WATCH_NAMESPACE, value_parser = namespace)]
    namespace: String,
    /// Run this image
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, value_parser = image)]
    image: String,
    /// Run this many pods, of which one reports [default: 2; 1 if the policy has no leaderElection]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    replicas: Option<u32>,
    /// Also print the roles with which these reconcilers act, whether the policy lets them or not yet
    #[arg(long, value_name = "RECONCILER", value_delimiter = ',', value_parser = reconciler())]
    act: Vec<ReconcilerName>,
    /// Also print a ServiceMonitor and a PrometheusRule, of which the Prometheus operator must be installed
    #[arg(long)]
    monitoring: bool,
}

/// Parses a namespace of its own: restrictions that are added to the namespace of others would keep
/// their pods from starting.
fn namespace(text: &str) -> Result<String, String> {
    if !is_namespace_name(text) || text.starts_with('-') || text.ends_with('-') {
        return Err("not a valid name of a namespace".to_owned());
    }
    match text == "default" || text.starts_with("kube-") {
        true => Err("pods of others are in this namespace: the restrictions on pods would \
                     apply to them"
            .to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Parses the name of an image, as far as that needs no registry.
fn image(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.chars().all(|it| it.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("not a valid name of an image".to_owned()),
    }
}

impl PrintArgs {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let (policy, text) = if let Some(path) = &self.filename {
            let file = PolicyFile::open(PolicySource::parse(path));
            let file = file.map_err(|error| refused(&error))?;
            (file.policy().clone(), file.text())
        } else {
            let policy = WatchPolicy::parse(&"the default policy", DEFAULT_POLICY);
            (policy.map_err(Failure::error)?, DEFAULT_POLICY.to_owned())
        };
        let installation = self.installation(policy, text)?;
        let objects = installation.objects().map_err(Failure::error)?;
        terminal::print(|out| {
            for (index, object) in objects.iter().enumerate() {
                if index > 0 {
                    writeln!(out, "---")?;
                }
                list::yaml(out, object)?;
            }
            Ok::<_, std::io::Error>(())
        })
        .map_err(Failure::error)?;
        if self.namespace != WATCH_NAMESPACE {
            terminal::note(&format!(
                "note: namespace {} gets the restricted pod security standard: nothing else should run there",
                self.namespace
            ));
        }
        let records = installation.policy.places(&self.namespace).records;
        if *records != *self.namespace {
            terminal::note(&format!(
                "note: namespace {records} must exist, in which the journal, the Lease and the record that pauses are: \
                 `kubectl create namespace {records}`. It is not printed, since deleting what is printed would delete \
                 the journal. `watch pause`, `resume` and `status` need -n {records}"
            ));
        }
        for name in &self.act {
            if installation.policy.reconcilers.mode(*name) != ReconcilerMode::Act {
                terminal::note(&format!(
                    "note: {name} may act by its roles, and does not: the policy says no mode: act"
                ));
            }
        }
        for secret in &installation.secrets {
            terminal::note(&format!("note: {}", escape_control(&secret.needed(&self.namespace))));
        }
        Ok(Exit::Done)
    }

    /// What is to be installed, if that can run.
    fn installation(&self, policy: WatchPolicy, text: String) -> Result<Installation, Failure> {
        let elects = policy.leader_election.is_some();
        let replicas = self.replicas.unwrap_or(if elects { 2 } else { 1 });
        if replicas > 1 && !elects {
            return Err(Failure::usage(
                "--replicas above 1 requires leaderElection in the policy: without it each pod reports everything",
            ));
        }
        let metrics = policy.report.metrics.as_ref().map(|it| it.address);
        let port = metrics.filter(|it| !it.ip().is_loopback()).map(|it| it.port());
        if port == Some(0) {
            return Err(Failure::usage("report.metrics.address: a Service requires a port, not 0"));
        }
        let probes = policy.report.probes.as_ref().map(|it| it.address);
        let probes = probes.filter(|it| !it.ip().is_loopback()).map(|it| it.port());
        if probes == Some(0) {
            return Err(Failure::usage("report.probes.address: a kubelet requires a port, not 0"));
        }
        if probes.is_some() && probes == port {
            return Err(Failure::usage(
                "report.probes.address has the port of report.metrics.address: give it another one",
            ));
        }
        if self.monitoring && port.is_none() {
            return Err(Failure::usage(
                "--monitoring requires report.metrics in the policy, at an address that is not loopback, such as 0.0.0.0:8443",
            ));
        }
        if port.is_none() {
            terminal::note(match probes {
                Some(_) => {
                    "note: without metrics at an address that is not loopback there is no Service"
                }
                None => {
                    "note: without probes or metrics at an address that is not loopback there are no probes and no Service"
                }
            });
        }
        let secrets = mounted::secrets(&policy.report).map_err(Failure::usage)?;
        Ok(Installation {
            namespace: self.namespace.clone(),
            image: self.image.clone(),
            replicas,
            policy,
            text,
            port,
            probes,
            secrets,
            act: self.act.clone(),
            monitoring: self.monitoring,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_of_others_are_refused() {
        for name in ["kubectl-storage", "storage", "a"] {
            assert!(namespace(name).is_ok(), "{name}");
        }
        for name in ["", "A", "a.b", "-a", "a-", "default", "kube-system", "kube-public"] {
            assert!(namespace(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_default_policy_is_a_policy() {
        let policy = WatchPolicy::parse(&"default", DEFAULT_POLICY).expect("it is ours");
        assert!(policy.leader_election.is_some() && policy.report.webhook.is_none());
    }

    #[test]
    fn images_are_words() {
        assert!(image(IMAGE).is_ok());
        for name in ["", "a b", "a\n", "a\u{1b}[0m"] {
            assert!(image(name).is_err(), "{name:?}");
        }
    }
}

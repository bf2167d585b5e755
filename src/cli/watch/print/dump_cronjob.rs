//! `watch print --dump-cronjob`: a CronJob that saves a dump every night, and keeps the last ones.

use clap::Args;
use serde_json::{Value, json};

use super::{InstalledPart, workload};
use crate::{
    cli::{Exit, Failure, rbac::dump_roles},
    model::{Kind, is_namespace_name},
};

/// Name of every object but the namespace and the claim.
const NAME: &str = "kubectl-storage-dump";
/// Name of the claim that is printed where none is named.
const CLAIM: &str = "kubectl-storage-dumps";
/// Folder in which the claim is mounted.
const FOLDER: &str = "/dumps";
/// Group of the image's user, to which the kubelet gives the volume.
const GROUP: u32 = 65532;
/// Number of seconds after which a run is given up.
const DEADLINE: u32 = 3600;

/// Arguments of `watch print --dump-cronjob`.
#[derive(Debug, Args)]
pub(super) struct DumpCronJobArgs {
    /// Print instead a CronJob that saves a dump every night, with a read-only role
    #[arg(long, conflicts_with_all = ["filename", "replicas", "act", "monitoring"])]
    dump_cronjob: bool,
    /// Save dumps in this claim of the namespace, which exists [default: a claim that is printed]
    #[arg(long, value_name = "pvc/NAME[/PATH]", requires = "dump_cronjob", value_parser = target)]
    to: Option<DumpTarget>,
    /// Keep the last N dumps
    #[arg(long, value_name = "N", requires = "dump_cronjob", default_value_t = 7,
          value_parser = clap::value_parser!(u16).range(1..))]
    keep: u16,
}

/// Claim in which dumps are saved, and the folder in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DumpTarget {
    claim: String,
    /// Folder in the volume, with a slash before each part; empty for the volume itself.
    path: String,
}

/// Parses a claim with a folder in it.
fn target(text: &str) -> Result<DumpTarget, String> {
    let mut parts = text.trim_end_matches('/').split('/');
    let kind = parts.next().and_then(Kind::parse_resource);
    let claim = parts.next().unwrap_or_default();
    if kind != Some(Kind::PersistentVolumeClaim) || !claim.split('.').all(is_namespace_name) {
        return Err("not a claim, such as pvc/dumps or pvc/backup/storage".to_owned());
    }
    let is_plain = |it: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        !it.is_empty() && !it.starts_with(['.', '-']) && it.chars().all(plain)
    };
    let folders: Vec<_> = parts.collect();
    match folders.iter().all(|it| is_plain(it)) {
        true => Ok(DumpTarget {
            claim: claim.to_owned(),
            path: folders.iter().map(|it| format!("/{it}")).collect(),
        }),
        false => Err("a folder in a claim has a plain path, such as pvc/backup/storage".to_owned()),
    }
}

impl DumpCronJobArgs {
    /// Whether the CronJob is asked for, instead of `watch`.
    pub(super) const fn is_wanted(&self) -> bool {
        self.dump_cronjob
    }

    /// Prints the CronJob with what it needs.
    pub(super) fn run(self, namespace: &str, image: &str) -> Result<Exit, Failure> {
        let objects = self.objects(namespace, image).map_err(Failure::error)?;
        super::print(&objects)?;
        super::note_namespace(namespace);
        if self.to.is_none() {
            crate::cli::terminal::note(&format!(
                "note: claim {CLAIM} of the default StorageClass is printed too: deleting what is printed deletes the \
                 dumps. --to pvc/NAME names a claim of yours"
            ));
        }
        Ok(Exit::Done)
    }

    fn objects(&self, namespace: &str, image: &str) -> serde_json::Result<Vec<Value>> {
        let part = InstalledPart { name: NAME, component: "dump", namespace };
        let mut objects = vec![
            super::own_namespace(namespace),
            part.object("v1", "ServiceAccount", ("automountServiceAccountToken", json!(false))),
        ];
        for role in dump_roles(NAME)? {
            objects.extend(part.bound(role));
        }
        if self.to.is_none() {
            let spec = json!({
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            });
            let mut claim = part.object("v1", "PersistentVolumeClaim", ("spec", spec));
            claim["metadata"]["name"] = json!(CLAIM);
            objects.push(claim);
        }
        objects.push(part.object("batch/v1", "CronJob", ("spec", self.spec(&part, image))));
        Ok(objects)
    }

    /// Returns the specification of the CronJob. A run succeeds although something could not be read: the
    /// dump says what, and its audit reports it.
    fn spec(&self, part: &InstalledPart<'_>, image: &str) -> Value {
        let (claim, path) = match &self.to {
            Some(DumpTarget { claim, path }) => (&**claim, &**path),
            None => (CLAIM, ""),
        };
        let folder = format!("{FOLDER}{path}");
        let args = json!(["--keep", self.keep.to_string(), "--allow-gaps", folder]);
        let mut container = workload::container(image, "dump", &args);
        container["volumeMounts"] = json!([
            {"name": "dumps", "mountPath": FOLDER},
            {"name": "state", "mountPath": workload::STATE_FOLDER},
        ]);
        let mut pod = workload::pod(part.name);
        pod["containers"] = json!([container]);
        pod["restartPolicy"] = json!("Never");
        pod["securityContext"]["fsGroup"] = json!(GROUP);
        pod["securityContext"]["fsGroupChangePolicy"] = json!("OnRootMismatch");
        pod["volumes"] = json!([
            {"name": "dumps", "persistentVolumeClaim": {"claimName": claim}},
            workload::state_volume(),
        ]);
        let job = json!({
            "activeDeadlineSeconds": DEADLINE,
            "backoffLimit": 2,
            "template": {"metadata": {"labels": part.labels()}, "spec": pod},
        });
        json!({
            "schedule": "17 1 * * *",
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": DEADLINE,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": job},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_and_a_plain_folder_in_it_are_taken() {
        for (text, claim, path) in [
            ("pvc/dumps", "dumps", ""),
            ("pvc/dumps/", "dumps", ""),
            ("persistentvolumeclaim/a.b/prod/eu_1", "a.b", "/prod/eu_1"),
        ] {
            let expected = DumpTarget { claim: claim.to_owned(), path: path.to_owned() };
            assert_eq!(target(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "dumps",
            "pvc",
            "pvc/",
            "pv/dumps",
            "pvc/Dumps",
            "pvc/a//b",
            "pvc/a/..",
            "pvc/a/.b",
            "pvc/a/b c",
            "pvc/a/-b",
            "pvc/a/$(B)",
            "pvc//b",
            "/dumps",
        ] {
            assert!(target(text).is_err(), "{text}");
        }
    }
}

//! The world of a case: a namespace with claims that hold data, and the others who do something there.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use super::api::Api;
use super::case::{Act, Case, Claim, Shape, Whose};
use super::history::{History, text};
use super::shapes::{HELD, name_of, pod_of, scaled, workload};
use crate::support::{Cluster, Driver, claim};

/// How often the server is asked what has come about.
const GLANCE: Duration = Duration::from_millis(100);
/// What controllers have not done by then is not coming.
const PATIENCE: Duration = Duration::from_secs(90);
/// Nobody does anything any more if nothing has happened for so long.
const QUIET: Duration = Duration::from_millis(900);

#[derive(Clone)]
pub(super) struct World<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) driver: &'a Driver,
    pub(super) history: Arc<History>,
    pub(super) api: Api,
    pub(super) case: &'a Case,
}

/// The first volume of a claim.
#[derive(Debug, Clone)]
pub(super) struct Backing {
    pub(super) claim: Claim,
    pub(super) volume: String,
    pub(super) handle: String,
    /// Its file, and what is in it.
    pub(super) file: PathBuf,
    pub(super) data: String,
}

impl World<'_> {
    /// Makes the claims of the case, and writes something into their volumes.
    pub(super) async fn make(&self) -> Vec<Backing> {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.api.namespace},
        });
        self.api.create("namespaces", &namespace).await.expect("a new name");
        for (index, retained) in self.case.retained.iter().enumerate() {
            let class =
                if *retained { &self.driver.class_retain } else { &self.driver.class_delete };
            let made = claim(Case::name(index), class);
            self.api.create("persistentvolumeclaims", &made).await.expect("a new namespace");
        }
        let mut all = Vec::new();
        for index in self.case.claims() {
            let volume = self.bound(Case::name(index)).await;
            let found = self.api.get("persistentvolumes", &volume).await.expect("it is bound");
            let handle = text(&found["spec"]["csi"]["volumeHandle"]).to_owned();
            let file = self.driver.folder(&handle).join("data");
            let data = format!("{}/{}", self.api.namespace, Case::name(index));
            fs::write(&file, &data).expect("because the folder is there");
            all.push(Backing { claim: index, volume, handle, file, data });
        }
        all
    }

    async fn bound(&self, claim: &str) -> String {
        let begin = Instant::now();
        loop {
            let found = self.api.get("persistentvolumeclaims", claim).await.unwrap_or_default();
            let volume = text(&found["spec"]["volumeName"]).to_owned();
            if found["status"]["phase"] == "Bound" {
                let volume = self.api.get("persistentvolumes", &volume).await.unwrap_or_default();
                if volume["status"]["phase"] == "Bound" {
                    return text(&volume["metadata"]["name"]).to_owned();
                }
            }
            assert!(begin.elapsed() < PATIENCE, "{claim} is not bound: {found:#}");
            sleep(GLANCE).await;
        }
    }

    /// Does something that is no run; `Err` is the server's refusal.
    pub(super) async fn act(
        &self,
        index: usize,
        act: &Act,
        backings: &[Backing],
    ) -> Result<(), u16> {
        let done = match act {
            Act::Pod(claim, shape) => {
                let name = named(index);
                let made = pod_of(&name, Case::name(*claim), *shape);
                let made = self.api.create("pods", &made).await?;
                if *shape == Shape::Succeeded {
                    let status = json!({"status": {"phase": "Succeeded"}});
                    self.api.patch("pods", &format!("{name}/status"), &status).await?;
                }
                Ok(made)
            }
            Act::Workload(kind, claim, replicas) => {
                let (name, class) = (named(index), &self.driver.class_delete);
                let made = workload(*kind, &name, Case::name(*claim), *replicas, class);
                self.api.create(kind.resource(), &made).await
            }
            Act::Scale(of, replicas) => match &self.case.deeds[*of].act {
                Act::Workload(kind, claim, _) => {
                    let name = name_of(*kind, &named(*of), Case::name(*claim));
                    self.api.patch(kind.resource(), &name, &scaled(*kind, *replicas)).await
                }
                _ => return Err(404),
            },
            Act::Remove(of) => match &self.case.deeds[*of].act {
                Act::Workload(kind, claim, _) => {
                    let name = name_of(*kind, &named(*of), Case::name(*claim));
                    self.api.delete(kind.resource(), &name).await
                }
                _ => self.api.delete("pods", &named(*of)).await,
            },
            Act::Policy(claim, policy) => {
                let patch = json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
                self.api.patch("persistentvolumes", &backings[*claim].volume, &patch).await
            }
            Act::DeleteClaim(claim) => {
                self.api.delete("persistentvolumeclaims", Case::name(*claim)).await
            }
            Act::NewClaim(claimed, whose) => {
                let own = named(index);
                let name = match whose {
                    Whose::TheSame => Case::name(*claimed),
                    Whose::Another => &own,
                };
                let class = match self.case.retained[*claimed] {
                    true => &self.driver.class_retain,
                    false => &self.driver.class_delete,
                };
                self.api.create("persistentvolumeclaims", &claim(name, class)).await
            }
            Act::Run(..) => unreachable!("runs are begun elsewhere"),
        };
        done.map(drop)
    }

    /// Waits until nobody is at work any more.
    pub(super) async fn settle(&self) {
        let begin = Instant::now();
        let (mut length, mut since) = (0, Instant::now());
        while begin.elapsed() < PATIENCE {
            let now = self.history.length(&self.api.namespace);
            if now != length {
                (length, since) = (now, Instant::now());
            }
            if since.elapsed() > QUIET && !self.is_moving() {
                return;
            }
            sleep(GLANCE).await;
        }
    }

    /// Whether a provisioner or a controller has something left to do.
    fn is_moving(&self) -> bool {
        let mut last = std::collections::BTreeMap::new();
        for revision in self.history.revisions(&self.api.namespace) {
            last.insert((revision.resource, revision.name().to_owned()), revision);
        }
        last.values().filter(|it| !it.gone).any(|it| {
            let phase = text(&it.object["status"]["phase"]);
            match it.resource {
                "persistentvolumes" => {
                    let destroys = it.object["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
                    matches!(phase, "" | "Pending") || (destroys && phase == "Released")
                }
                "persistentvolumeclaims" => matches!(phase, "" | "Pending"),
                _ => false,
            }
        })
    }

    /// Removes what is left of the case.
    pub(super) async fn leave(&self) {
        let revisions = self.history.revisions(&self.api.namespace);
        let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
        for volume in revisions.iter().filter(|it| it.resource == "persistentvolumes") {
            // Most are gone.
            let _ = self.api.patch("persistentvolumes", volume.name(), &retain).await;
        }
        // Nothing waits for what is left of it.
        let _ = self.api.delete("namespaces", &self.api.namespace).await;
        for pod in revisions.iter().filter(|it| it.resource == "pods") {
            if pod.object["metadata"]["finalizers"].to_string().contains(HELD) {
                let free = json!({"metadata": {"finalizers": null}});
                let _ = self.api.patch("pods", pod.name(), &free).await;
            }
        }
        for volume in revisions.iter().filter(|it| it.resource == "persistentvolumes") {
            let _ = self.api.delete("persistentvolumes", volume.name()).await;
            let handle = text(&volume.object["spec"]["csi"]["volumeHandle"]);
            if !handle.is_empty() {
                let _ = fs::remove_dir_all(self.driver.folder(handle));
            }
        }
    }
}

/// What a deed creates is called so.
pub(super) fn named(deed: usize) -> String {
    format!("made-{deed}")
}

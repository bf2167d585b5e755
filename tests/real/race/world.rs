//! The world of a case: its volumes, and the others who do something to them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::api::{Api, NAMESPACE};
use super::case::{Act, Case, Deed, IGNORE, KEEP_UNTIL};
use crate::support::{Driver, PersistentVolume, claim, pod};

/// How often the server is asked what has come about.
const GLANCE: Duration = Duration::from_millis(200);
/// `--older-than 1s` asks for more than a second, and the server's stamps have no fractions.
const AGE: Duration = Duration::from_millis(2100);
/// What controllers have not done by then is not coming.
const PATIENCE: Duration = Duration::from_secs(75);
/// A claim that is gone.
const SOMEBODY: &str = "00000000-beef-4000-8000-000000000000";

#[derive(Clone)]
pub(super) struct World<'a> {
    pub(super) api: Api,
    pub(super) driver: &'a Driver,
}

const VOLUMES: &str = "persistentvolumes";
const ATTACHMENTS: &str = "volumeattachments";

impl World<'_> {
    /// Makes the volumes of a case and waits until they are old enough.
    pub(super) async fn make(&self, case: &Case) {
        for name in case.names() {
            self.driver.make(&name);
            let made = self.api.create(VOLUMES, &self.left(&name, &name).0).await;
            made.unwrap_or_else(|code| panic!("{name}: {code}"));
        }
        let begin = Instant::now();
        for name in case.names() {
            while self.volume(&name).await.is_none_or(|it| it["status"]["phase"] != "Released") {
                assert!(begin.elapsed() < PATIENCE, "{name} is not Released");
                sleep(GLANCE).await;
            }
        }
        sleep(AGE).await;
    }

    /// A volume whose claim, named like it, is gone.
    fn left(&self, name: &str, handle: &str) -> PersistentVolume {
        self.made(name, handle).left_by(NAMESPACE, name)
    }

    fn made(&self, name: &str, handle: &str) -> PersistentVolume {
        let driver = &self.driver.name;
        let volume = PersistentVolume::csi(name, driver, handle);
        volume.provisioned_by(driver).class(&self.driver.class_retain)
    }

    pub(super) async fn volume(&self, name: &str) -> Option<Value> {
        self.api.get(VOLUMES, name).await
    }

    /// Does something to a volume; `Err` is the server's refusal.
    pub(super) async fn act(&self, deed: &Deed, name: &str) -> Result<(), u16> {
        let merge = async |patch: Value| self.api.patch(VOLUMES, name, &patch).await;
        let status = async |field: &str, value: &str| {
            let patch = json!({"status": {field: value}});
            self.api.patch(VOLUMES, &format!("{name}/status"), &patch).await
        };
        let done = match deed.act {
            Act::ClaimAgain => self.claim(name, name).await,
            Act::ClaimElsewhere => {
                let other = elsewhere(name);
                self.driver.make(&other);
                let volume = self.made(&other, &other).reserved_for(NAMESPACE, name);
                self.api.create(VOLUMES, &volume.0).await?;
                self.claim(name, &other).await
            }
            Act::SetPolicy(policy) => {
                merge(json!({"spec": {"persistentVolumeReclaimPolicy": policy}})).await
            }
            Act::Attach => {
                let attachment = json!({
                    "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                    "metadata": {"name": name},
                    "spec": {
                        "attacher": self.driver.name, "nodeName": "none",
                        "source": {"persistentVolumeName": name},
                    },
                });
                self.api.create(ATTACHMENTS, &attachment).await
            }
            Act::Detach => self.api.delete(ATTACHMENTS, name).await,
            Act::Delete => self.api.delete(VOLUMES, name).await,
            Act::Replace => self.replace(name).await,
            Act::ForgetClaim => merge(json!({"spec": {"claimRef": null}})).await,
            Act::ForgetUid => {
                merge(json!({"spec": {"claimRef": {"uid": null, "resourceVersion": null}}})).await
            }
            Act::OtherClaim => {
                let other = json!({"name": format!("{name}-somebody"), "uid": SOMEBODY});
                merge(json!({"spec": {"claimRef": other}})).await
            }
            Act::Pod => self.api.create("pods", &pod(name, name)).await,
            Act::Annotate(key) => {
                let value = if key == KEEP_UNTIL { "2199-01-01" } else { "all legal hold" };
                debug_assert!([IGNORE, KEEP_UNTIL].contains(&key));
                merge(json!({"metadata": {"annotations": {key: value}}})).await
            }
            Act::Rival => self.api.create(VOLUMES, &self.left(&rival(name), name).0).await,
            Act::Phase(phase) => status("phase", phase).await,
            Act::Stamp(time) => status("lastPhaseTransitionTime", time).await,
        };
        done.map(drop)
    }

    async fn claim(&self, name: &str, volume: &str) -> Result<Value, u16> {
        let mut claim = claim(name, &self.driver.class_retain);
        claim["spec"]["volumeName"] = json!(volume);
        self.api.create("persistentvolumeclaims", &claim).await
    }

    async fn replace(&self, name: &str) -> Result<Value, u16> {
        self.api.delete(VOLUMES, name).await?;
        let handle = anew(name);
        self.driver.make(&handle);
        let volume = self.left(name, &handle).0;
        let begin = Instant::now();
        loop {
            match self.api.create(VOLUMES, &volume).await {
                Err(409) if begin.elapsed() < PATIENCE => sleep(GLANCE).await,
                done => break done,
            }
        }
    }

    /// Waits until nobody is at work any more on the volumes of a case; returns how many do not come to rest.
    pub(super) async fn settle(&self, case: &Case) -> u64 {
        let begin = Instant::now();
        let mut restless = 0;
        for name in case.names().iter().flat_map(|name| all_names(name)) {
            while let Some(volume) = self.volume(&name).await {
                let status = volume["status"]["phase"].as_str().unwrap_or_default();
                let going = !volume["metadata"]["deletionTimestamp"].is_null()
                    || volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
                let moving = matches!(status, "" | "Pending") || (going && status == "Released");
                if !moving {
                    break;
                }
                if begin.elapsed() > PATIENCE {
                    restless += 1;
                    break;
                }
                sleep(GLANCE).await;
            }
        }
        restless
    }

    /// Removes what is left of a case.
    pub(super) async fn leave(&self, case: &Case) {
        for name in case.names() {
            let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
            // Of most of it there is nothing.
            let _ = self.api.delete("pods", &name).await;
            let _ = self.api.delete("persistentvolumeclaims", &name).await;
            let _ = self.api.delete(ATTACHMENTS, &name).await;
            for volume in all_names(&name) {
                let _ = self.api.patch(VOLUMES, &volume, &retain).await;
                let _ = self.api.delete(VOLUMES, &volume).await;
            }
            for handle in handles(&name) {
                let _ = fs::remove_dir_all(self.driver.folder(&handle));
            }
        }
    }
}

fn elsewhere(name: &str) -> String {
    format!("{name}-elsewhere")
}

fn rival(name: &str) -> String {
    format!("{name}-rival")
}

fn anew(name: &str) -> String {
    format!("{name}-anew")
}

/// The names of all volumes that can come of one.
pub(super) fn all_names(name: &str) -> [String; 3] {
    [name.to_owned(), elsewhere(name), rival(name)]
}

/// The handles of all folders that can come of a volume.
pub(super) fn handles(name: &str) -> [String; 3] {
    [name.to_owned(), elsewhere(name), anew(name)]
}

//! The world of a case: its volumes, and the people who do something to them.

use std::time::{Duration, Instant};

use http::Method;
use kube::Client;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::case::{Act, Case, Stage};
use super::model::{KEEP_UNTIL, MARK, RECORD, RECORDS, VETOES};
use super::verdict::Evidence;
use crate::support::history::{History, is_dry, text};
use crate::support::{Driver, PersistentVolume, claim, pod, send};

/// How often the server is asked what has come about.
const GLANCE: Duration = Duration::from_millis(200);
/// What controllers have not done by then is not coming.
const PATIENCE: Duration = Duration::from_secs(180);
/// A claim that is gone.
const SOMEBODY: &str = "00000000-beef-4000-8000-000000000000";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

pub(super) struct World<'a> {
    pub(super) client: Client,
    pub(super) driver: &'a Driver,
    pub(super) history: &'a History,
    pub(super) case: &'a Case,
    /// The namespace of the case, by which it is known.
    pub(super) name: String,
}

const VOLUMES: &str = "persistentvolumes";

impl World<'_> {
    async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Value, u16> {
        let content = if method == Method::PATCH { MERGE } else { JSON };
        send(&self.client, method, path, content, body).await
    }

    fn path(&self, resource: &str, name: &str) -> String {
        let within = match resource {
            "namespaces" | VOLUMES => String::new(),
            "records" => format!("namespaces/{RECORDS}/"),
            _ => format!("namespaces/{}/", self.name),
        };
        let resource = if resource == "records" { "configmaps" } else { resource };
        let slash = if name.is_empty() { "" } else { "/" };
        format!("/api/v1/{within}{resource}{slash}{name}")
    }

    pub(super) async fn create(&self, resource: &str, object: &Value) -> Result<Value, u16> {
        self.send(Method::POST, &self.path(resource, ""), object).await
    }

    pub(super) async fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.send(Method::GET, &self.path(resource, name), &Value::Null).await.ok()
    }

    async fn patch(&self, resource: &str, name: &str, patch: &Value) -> Result<Value, u16> {
        self.send(Method::PATCH, &self.path(resource, name), patch).await
    }

    async fn delete(&self, resource: &str, name: &str) -> Result<Value, u16> {
        let grace = (resource == "pods").then_some(0);
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "propagationPolicy": "Background", "gracePeriodSeconds": grace,
        });
        self.send(Method::DELETE, &self.path(resource, name), &options).await
    }

    /// The items of a list.
    pub(super) async fn list(&self, path: &str) -> Vec<Value> {
        let list = self.send(Method::GET, path, &Value::Null).await.unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// What is left by a claim that is gone.
    fn left(&self, name: &str) -> PersistentVolume {
        let driver = &self.driver.name;
        PersistentVolume::csi(name, driver, name)
            .provisioned_by(driver)
            .class(&self.driver.class_retain)
            .left_by(&self.name, name)
    }

    /// Makes a volume of the case, and returns its name.
    pub(super) async fn make(&self, index: usize) -> String {
        let name = self.case.volume(index);
        if !self.case.volumes[index].used {
            self.driver.make(&name);
            self.create(VOLUMES, &self.left(&name).0).await.expect("a new name");
            return name;
        }
        let claimed = claim(&name, &self.driver.class_delete);
        self.create("persistentvolumeclaims", &claimed).await.expect("a new name");
        self.create("pods", &pod(&name, &name)).await.expect("a new name");
        let begin = Instant::now();
        loop {
            let claimed = self.get("persistentvolumeclaims", &name).await.unwrap_or_default();
            let running = self.get("pods", &name).await.unwrap_or_default();
            if claimed["status"]["phase"] == "Bound" && running["status"]["phase"] == "Running" {
                return text(&claimed["spec"]["volumeName"]).to_owned();
            }
            assert!(begin.elapsed() < PATIENCE, "{name} is not bound: {claimed:#}");
            sleep(GLANCE).await;
        }
    }

    /// Does something to a volume; `Err` is the server's refusal.
    pub(super) async fn act(&self, act: Act, index: usize, volume: &str) -> Result<(), u16> {
        let name = self.case.volume(index);
        let merge = async |patch: Value| self.patch(VOLUMES, volume, &patch).await;
        let annotate = async |key: &str, value: Option<&str>| {
            merge(json!({"metadata": {"annotations": {key: value}}})).await
        };
        let done = match act {
            Act::Unmark => annotate(MARK, None).await,
            Act::Mark(words) => annotate(MARK, Some(words)).await,
            Act::CopyMark(of) => {
                let other = self.get(VOLUMES, &self.case.volume(of)).await.ok_or(404_u16)?;
                let mark = other["metadata"]["annotations"][MARK].as_str().ok_or(404_u16)?;
                annotate(MARK, Some(mark)).await
            }
            Act::KeepUntil(day) => annotate(KEEP_UNTIL, Some(day)).await,
            Act::DeleteRecord => {
                let record = self.record_of(volume).await?;
                self.delete("records", text(&record["metadata"]["name"])).await
            }
            Act::UnlabelRecord => {
                let record = self.record_of(volume).await?;
                let patch = json!({"metadata": {"labels": {RECORD: null}}});
                self.patch("records", text(&record["metadata"]["name"]), &patch).await
            }
            Act::RecreateRecord => {
                let record = self.record_of(volume).await?;
                self.delete("records", text(&record["metadata"]["name"])).await?;
                self.create("records", &anew(&record, "")).await
            }
            Act::CopyRecord => {
                let mut copy = anew(&self.record_of(volume).await?, "-copy");
                copy["immutable"] = json!(false);
                self.create("records", &copy).await
            }
            Act::OtherClaim => merge(json!({"spec": {"claimRef": {"uid": SOMEBODY}}})).await,
            Act::ClaimBack => self.claim(&name, volume).await,
            Act::Reuse => {
                let free = json!({"spec": {"claimRef": {"uid": null, "resourceVersion": null}}});
                merge(free).await?;
                self.claim(&name, volume).await
            }
            Act::Recreate(with_annotations) => self.recreate(volume, with_annotations).await,
            Act::SetPolicy(policy) => {
                merge(json!({"spec": {"persistentVolumeReclaimPolicy": policy}})).await
            }
            Act::DeleteClaim => self.delete("persistentvolumeclaims", &name).await,
            Act::DeletePod => self.delete("pods", &name).await,
        };
        done.map(drop)
    }

    async fn claim(&self, name: &str, volume: &str) -> Result<Value, u16> {
        let mut claim = claim(name, &self.driver.class_retain);
        claim["spec"]["volumeName"] = json!(volume);
        self.create("persistentvolumeclaims", &claim).await
    }

    /// The newest record that announces a volume.
    async fn record_of(&self, volume: &str) -> Result<Value, u16> {
        let live = self.get(VOLUMES, volume).await.ok_or(404_u16)?;
        let uid = text(&live["metadata"]["uid"]);
        let records = self.records().await;
        let mut of_it = records.into_iter().filter(|it| it["data"][uid].is_string());
        of_it.next_back().ok_or(404)
    }

    /// The records of what the case announced.
    async fn records(&self) -> Vec<Value> {
        let all = self.list(&self.path("records", "")).await.into_iter();
        all.filter(|it| super::case_of(it).as_deref() == Some(&self.name)).collect()
    }

    async fn recreate(&self, name: &str, with_annotations: bool) -> Result<Value, u16> {
        let before = self.get(VOLUMES, name).await.ok_or(404_u16)?;
        self.delete(VOLUMES, name).await?;
        let mut volume = self.left(name).0;
        if with_annotations {
            volume["metadata"]["annotations"] = before["metadata"]["annotations"].clone();
        }
        let begin = Instant::now();
        loop {
            match self.create(VOLUMES, &volume).await {
                Err(409) if begin.elapsed() < PATIENCE => sleep(GLANCE).await,
                done => break done,
            }
        }
    }

    /// Waits until the tool has come to a stage of its work on a volume.
    pub(super) async fn reached(&self, volume: &str, stage: Stage) {
        let shows = |it: &Value| it["objectRef"]["name"] == *volume && is_at(it, stage);
        self.history.request(&self.name, shows).await;
    }

    /// Removes what is left of the case.
    pub(super) async fn leave(&self, evidence: &Evidence) {
        let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
        let volumes = self.list("/api/v1/persistentvolumes").await;
        let own: Vec<_> = volumes
            .iter()
            .filter(|it| super::case_of(it).as_deref() == Some(&self.name))
            .map(|it| text(&it["metadata"]["name"]))
            .collect();
        // Nothing waits for what is left of it.
        for volume in &own {
            let _ = self.patch(VOLUMES, volume, &retain).await;
        }
        let _ = self.delete("namespaces", &self.name).await;
        for volume in own {
            let _ = self.delete(VOLUMES, volume).await;
        }
        let uids = evidence.volumes().map(|it| (it.uid().to_owned(), Value::Null));
        let forgotten = json!({"data": uids.collect::<Map<_, _>>()});
        let _ = self.patch("records", VETOES, &forgotten).await;
        for record in self.records().await {
            let _ = self.delete("records", text(&record["metadata"]["name"])).await;
        }
        for index in 0..self.case.volumes.len() {
            let _ = std::fs::remove_dir_all(self.driver.folder(&self.case.volume(index)));
        }
    }
}

/// What is created of an object that was read.
fn anew(object: &Value, end: &str) -> Value {
    let metadata = &object["metadata"];
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "immutable": object["immutable"],
        "metadata": {
            "name": format!("{}{end}", text(&metadata["name"])),
            "labels": metadata["labels"], "annotations": metadata["annotations"],
        },
        "data": object["data"],
    })
}

fn is_at(event: &Value, stage: Stage) -> bool {
    if event["verb"] != "patch" || !event["impersonatedUser"].is_object() {
        return false;
    }
    let body = event["requestObject"].to_string();
    match stage {
        Stage::Marked => body.contains("~1announced") && !is_dry(event),
        Stage::Rehearsed => body.contains("\"Delete\"") && is_dry(event),
        Stage::Flipped => body.contains("\"Delete\"") && !is_dry(event),
    }
}

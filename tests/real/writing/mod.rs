//! What `gc` does when its requests are not answered as they should be, when it is stopped or killed, and when others
//! write at the same moment.
//!
//! Most scenarios share one cluster, on which each has volumes, a proxy and a journal of its own.

mod admission;
mod answers;
mod beside;
mod interrupted;
mod journal;
mod killed;
mod pool;
mod raced;
mod restarted;

use std::fs;
use std::path::{Path, PathBuf};

use kubectl_storage::journal::{History, Outcome, history};
use serde_json::{Value, json};

use crate::support::{self, Cluster, Driver, Fault, Proxy, Run, Scenario, eventually};

/// Some Released volumes, and somebody who wants them reclaimed by way of a proxy.
struct Case<'a> {
    on: Scenario<'a>,
    proxy: Proxy,
    driver: &'a Driver,
    volumes: Vec<String>,
    home: tempfile::TempDir,
}

/// What a run said.
struct Told {
    /// The receipt or the plan; null when there is none.
    json: Value,
    stderr: String,
    code: Option<i32>,
}

/// A fault of the request that really reclaims a volume.
fn real(fault: Fault, volume: &str) -> Fault {
    patch(fault, volume).real()
}

/// A fault of the dry run before it.
fn dry(fault: Fault, volume: &str) -> Fault {
    patch(fault, volume).dry()
}

fn patch(fault: Fault, volume: &str) -> Fault {
    fault.on("PATCH", &one(volume))
}

/// A fault of reading a volume.
fn read(fault: Fault, volume: &str) -> Fault {
    fault.on("GET", &one(volume))
}

/// Requests of one volume.
fn one(volume: &str) -> String {
    format!("^/api/v1/persistentvolumes/{volume}$")
}

impl Case<'static> {
    /// On the cluster that most share.
    fn of(count: usize) -> Self {
        let pool = pool::shared();
        let (driver, volumes) = pool.take(count);
        Self::on(&pool.cluster, driver, volumes)
    }
}

impl<'a> Case<'a> {
    fn on(cluster: &'a Cluster, driver: &'a Driver, volumes: Vec<String>) -> Self {
        let home = tempfile::tempdir().expect("because the temporary folder is writable");
        Self { on: Scenario::on(cluster), proxy: cluster.proxy(), driver, volumes, home }
    }

    /// Reclaims all of them, as the administrator.
    fn gc(&self) -> Run {
        self.gc_as(self.proxy.kubeconfig())
    }

    fn gc_as(&self, kubeconfig: &Path) -> Run {
        let names: Vec<_> = self.volumes.iter().map(String::as_str).collect();
        Run::of(&["gc", "--older-than", "1s", "--yes", "-o", "json"])
            .more(&names)
            .kubeconfig(kubeconfig)
            .env("XDG_STATE_HOME", self.home.path())
    }

    /// Runs it to its end.
    fn run(&self) -> Told {
        Told::of(self.gc().go())
    }

    /// Runs it once more with nothing in its way: whatever is left is reclaimed, whatever is gone is explained, and in
    /// the end every volume has been patched once.
    fn again(&self) -> Told {
        self.again_as(self.proxy.kubeconfig())
    }

    fn again_as(&self, kubeconfig: &Path) -> Told {
        self.proxy.clear();
        let told = Told::of(self.gc_as(kubeconfig).more(&["--parallel", "3"]).go());
        let left = told.outcomes("done").len();
        for volume in &self.volumes {
            if told.outcome(volume) != "done" {
                let reason = told.refusal(volume);
                let explained = ["there is no such volume", "its policy is Delete", "terminating"];
                assert!(explained.iter().any(|it| reason.contains(it)), "{volume}: {told}");
            }
        }
        self.are_reclaimed(&self.volumes);
        let code = match left {
            0 => 5,
            _ if left < self.volumes.len() => 6,
            _ => 0,
        };
        assert_eq!(told.code, Some(code), "{told}");
        told
    }

    /// Panics unless backend volumes and objects are gone, or go now, each by one patch of all that were sent.
    #[track_caller]
    fn are_reclaimed(&self, volumes: &[String]) {
        eventually(&format!("{volumes:?} are gone"), || {
            volumes.iter().all(|it| !self.driver.has(it)) && self.objects(volumes).is_empty()
        });
        let seen = self.all_seen();
        for volume in volumes {
            let real = seen.iter().filter(|(name, code)| name == volume && code == "200").count();
            assert_eq!(real, 1, "{volume}: {seen:?}");
        }
    }

    #[track_caller]
    fn is_reclaimed(&self, volume: &String) {
        self.are_reclaimed(std::slice::from_ref(volume));
    }

    /// Panics unless volumes are as they were, backends and all.
    #[track_caller]
    fn are_untouched(&self, volumes: &[String]) {
        let objects = self.objects(volumes);
        assert_eq!(objects.len(), volumes.len(), "some of {volumes:?} are gone");
        for object in objects {
            assert_eq!(object["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{object:#}");
            assert_eq!(object["status"]["phase"], "Released", "{object:#}");
        }
        for volume in volumes {
            assert!(self.driver.has(volume), "the backend volume of {volume} is gone");
            assert_eq!(self.driver.delete_calls(volume), 0, "who asked for the end of {volume}?");
        }
    }

    #[track_caller]
    fn is_untouched(&self, volume: &String) {
        self.are_untouched(std::slice::from_ref(volume));
    }

    /// Those of some volumes that are still there.
    fn objects(&self, volumes: &[String]) -> Vec<Value> {
        let object = |name: &String| self.on.get(&format!("pv/{name}"));
        volumes.iter().filter_map(object).collect()
    }

    /// What the API server answered to the tool's patches of a volume, in order: `200`, or `dry 200` for dry runs.
    fn seen(&self, volume: &str) -> Vec<String> {
        let all = self.all_seen().into_iter().filter(|(name, _)| name == volume);
        all.map(|(_, code)| code).collect()
    }

    fn all_seen(&self) -> Vec<(String, String)> {
        let writes = self.on.writes().into_iter().filter(|it| self.volumes.contains(&it.name));
        let line = |it: support::Write| {
            assert_eq!((it.verb.as_str(), it.resource.as_str()), ("patch", "persistentvolumes"));
            (it.name, format!("{}{}", if it.dry { "dry " } else { "" }, it.code))
        };
        writes.map(line).collect()
    }

    /// Which patches of a volume came to the proxy, in order: `real` or `dry`.
    fn sent(&self, volume: &str) -> Vec<&'static str> {
        let path = format!("/api/v1/persistentvolumes/{volume}");
        let requests = self.proxy.requests().into_iter();
        let patches = requests.filter(|it| it.path == path && it.method != "GET");
        patches.map(|it| if it.dry_run { "dry" } else { "real" }).collect()
    }

    /// Our folder for the cluster.
    fn folder(&self) -> PathBuf {
        let all = self.home.path().join("kubectl-storage");
        let mut folders = fs::read_dir(&all).expect("because a run began").flatten();
        let folder = folders.next().expect("because a run began").path();
        assert!(folders.next().is_none(), "there is one cluster");
        folder
    }

    fn journal_file(&self) -> PathBuf {
        self.folder().join("journal.jsonl")
    }

    /// Reads the journal, which must be whole.
    fn history(&self) -> History {
        let history = history(&self.folder()).expect("because it is a journal");
        assert_eq!(history.notes, [""; 0]);
        history
    }

    /// What the journal says last of each of its entries, in order: the volume, and the outcome.
    fn recorded(&self) -> Vec<(String, Option<Outcome>)> {
        let entries = self.history().entries;
        entries.iter().map(|it| (it.intent.object.key.name.to_string(), it.last())).collect()
    }

    /// Merges a patch into a volume, as somebody else.
    fn edit(&self, volume: &str, patch: &Value) {
        self.on.patch(&format!("pv/{volume}"), patch);
    }
}

impl Told {
    fn of(outcome: support::Outcome) -> Self {
        let support::Outcome { stdout, stderr, code } = outcome;
        assert!(!stderr.contains("panicked"), "{stderr}");
        let json = match stdout.trim() {
            "" => json!(null),
            text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
        };
        Self { json, stderr, code }
    }

    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// What became of a volume; empty where the receipt has no such change.
    fn outcome(&self, volume: &str) -> &str {
        self.change(volume).map_or("", |it| it["outcome"].as_str().unwrap_or_default())
    }

    /// Panics unless a volume came to this end, and the words about it have these.
    #[track_caller]
    fn became(&self, volume: &str, outcome: &str, words: &[&str]) {
        assert_eq!(self.outcome(volume), outcome, "{volume}: {self}");
        let detail = self.change(volume).map(|it| it["detail"].to_string()).unwrap_or_default();
        for word in words {
            assert!(detail.contains(word), "{volume}: {detail} does not say {word:?}");
        }
    }

    /// Panics unless a volume was left alone since the batch had ended.
    #[track_caller]
    fn not_begun(&self, volume: &str) {
        self.became(volume, "refused", &["not started"]);
    }

    /// Why a volume was refused before anything was begun.
    #[track_caller]
    fn refusal(&self, volume: &str) -> &str {
        let refused = find(&self.json["refusals"], volume);
        let reason = refused.and_then(|it| it["reason"].as_str());
        reason.unwrap_or_else(|| panic!("{volume} was not refused: {self}"))
    }

    fn outcomes(&self, outcome: &str) -> Vec<&str> {
        let all = self.json["changes"].as_array().into_iter().flatten();
        let those = all.filter(|it| it["outcome"] == outcome);
        those.filter_map(|it| it["object"]["name"].as_str()).collect()
    }

    /// The number of a change's entry in the journal.
    fn entry(&self, volume: &str) -> Option<u64> {
        self.change(volume)?["entry"].as_u64()
    }

    fn change(&self, volume: &str) -> Option<&Value> {
        find(&self.json["changes"], volume)
    }

    /// Panics unless a note has this word.
    #[track_caller]
    fn notes(&self, word: &str) {
        let notes = self.json["notes"].to_string();
        assert!(notes.contains(word), "no note says {word:?}: {self}");
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "exit code {:?}, stderr: {}", self.code, self.stderr)?;
        write!(out, "{:#}", self.json)
    }
}

fn find<'a>(list: &'a Value, volume: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|it| it["object"]["name"] == volume)
}

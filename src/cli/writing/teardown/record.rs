//! The record of a teardown as a file: written before the first write, and after each outcome, whole or not at all.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::Look;
use crate::{
    apply::{ChangeReceipt, Outcome},
    cli::{Failure, writing::perform::refusal},
    client::{ListForm, ListRequest, Reader, list_json},
    cluster::{Cluster, Cx},
    dump::write_private,
    facts::is_going,
    journal::{Entry, History},
    model::{Action, Kind, ObjectRef, ReclaimPolicy, Volume, escape_control, format_time},
    output::{
        list,
        teardown::{TeardownRecord, TornDownSnapshot, TornDownVolume},
    },
    plan::teardown::{LEFT_OUT, UNDER_WAY},
    remedies::{recreate::for_another_cluster, teardown::DELETE_SNAPSHOT_ID},
    rules::deleting_command,
};

/// The record of a teardown, and its file.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    pub(super) record: TeardownRecord,
    /// Why it could not be written; then the run is not complete.
    pub(super) failed: Option<String>,
    /// When it was last written, and how long that took.
    written: (Instant, Duration),
    /// What only an earlier run recorded.
    joined: BTreeSet<Identity>,
}

impl RecordFile {
    /// Begins the record in a file, with what an earlier run of the same teardown recorded there.
    ///
    /// # Errors
    /// When the file is something else, or cannot be written.
    pub(super) fn begin(path: &Path, mut record: TeardownRecord) -> Result<Self, Failure> {
        let mut joined = BTreeSet::new();
        if let Some(earlier) = read_if_there(path)? {
            let here = &record.metadata;
            let of = &earlier.metadata;
            if of.cluster.uid != here.cluster.uid || of.mode != here.mode {
                let told = format!(
                    "{} is the record of another teardown ({}, cluster {})",
                    path.display(),
                    of.mode,
                    of.cluster.uid.as_deref().unwrap_or("unknown")
                );
                return Err(refusal(&told).hint(Some("name another file with --record")));
            }
            joined = record.join(earlier);
        }
        record.sum();
        let written = (Instant::now(), Duration::ZERO);
        let mut file = Self { path: path.to_owned(), record, failed: None, written, joined };
        file.write();
        match file.failed.take() {
            None => Ok(file),
            Some(why) => Err(refusal(&format!(
                "the record cannot be written to {}: {why}; nothing was changed",
                path.display()
            ))),
        }
    }

    /// Writes the record, whole or not at all, and durably.
    pub(super) fn write(&mut self) {
        let began = Instant::now();
        let written = write_private(&self.path, |file| list::json(file, &self.record));
        self.failed = written.err().map(|error| error.to_string());
        self.written = (Instant::now(), began.elapsed());
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in how a change has ended.
    pub(super) fn take(&mut self, done: &ChangeReceipt) {
        let destroys = self.record.metadata.mode == "destroy-data";
        let steps = &done.change.proposal.steps;
        let is_about_data = steps.iter().any(|it| {
            matches!(it, Action::DeleteClaim { .. } | Action::ReclaimReleased { .. })
                || matches!(it, Action::SetReclaimPolicy { to, .. } if *to == ReclaimPolicy::Delete)
        });
        let object = &done.change.object;
        let outcome = match (done.outcome, destroys) {
            (Outcome::Done, false) => Some("kept"),
            // The end tells whether its disk stays.
            (_, false) => None,
            (Outcome::Done, true) => Some("destroyed"),
            (Outcome::Unanswered, true) => Some("unknown"),
            (_, true) => Some("left"),
        };
        if object.key.kind == Kind::VolumeSnapshot {
            let named = |it: &&mut TornDownSnapshot| {
                Some(&*it.object.name) == Some(&*object.key.name)
                    && it.object.namespace.as_deref() == object.key.namespace.as_deref()
            };
            if let Some(it) = self.record.snapshots.iter_mut().find(named) {
                it.outcome = outcome.map(str::to_owned);
                it.reason.clone_from(&done.detail);
            }
        } else if is_about_data {
            // A claim of the same name may have had another volume before.
            let claim = object.key.as_claim().map(|it| it.to_string());
            let volume = steps.iter().find_map(|it| match it {
                Action::DeleteClaim { released, .. } => released.as_ref(),
                Action::ReclaimReleased { volume, .. }
                | Action::SetReclaimPolicy { volume, .. } => Some(volume),
                _ => None,
            });
            let volume = volume.map(|it| &*it.key.name);
            let is_it = |it: &&mut TornDownVolume| match volume {
                Some(name) => it.volume.as_deref() == Some(name),
                None => it.volume.is_none() && it.claim == claim,
            };
            for it in self.record.volumes.iter_mut().filter(is_it) {
                let is_data = it.volume.is_some();
                it.outcome = if is_data { outcome } else { Some("kept") }.map(str::to_owned);
                it.reason.clone_from(&done.detail);
            }
        }
        // Each time the whole is written: of very many volumes only so often that a tenth of the time goes into it. What a
        // run that is killed has not written, the next one reads from the journal.
        let (at, took) = self.written;
        if at.elapsed() >= 10 * took {
            self.record.sum();
            self.write();
        }
    }

    /// Completes the record by what the cluster has now, with what came since it was begun.
    pub(super) fn finish(&mut self, look: &Look) {
        let (cluster, history) = (&look.collected.intake.cluster, &look.history);
        let cx = look.collected.assessor.cx(cluster, &look.settings);
        let known: BTreeSet<_> = self.record.volumes.iter().map(identity).collect();
        let came = look.record.volumes.iter().filter(|it| !known.contains(&identity(it)));
        let came: Vec<_> = came.cloned().collect();
        self.record.volumes.extend(came);
        self.record.add_snapshots(look.record.snapshots.clone());
        let destroys = self.record.metadata.mode == "destroy-data";
        for it in &mut self.record.volumes {
            if it.outcome.as_deref() == Some("destroyed") {
                continue;
            }
            let joined = self.joined.contains(&identity(it));
            let (outcome, reason) = outcome(it, &cx, history, (destroys, joined));
            it.outcome = Some(outcome.to_owned());
            if let Some(reason) = reason {
                it.reason = reason;
            }
        }
        for it in &mut self.record.snapshots {
            let (outcome, reason) = outcome_of_snapshot(it, cluster, history);
            it.outcome = Some(outcome.to_owned());
            it.reason = reason.unwrap_or_else(|| std::mem::take(&mut it.reason));
        }
        self.record.obstacles.clear();
        self.record.metadata.finished_at = cluster.clock().as_ref().map(format_time);
        self.record.sum();
        self.write();
    }
}

/// Returns what became of a volume, by what the cluster and the journal tell, and the reason where that is new.
/// `joined`: an earlier run recorded it, and its object may be gone since for any reason.
fn outcome(
    it: &TornDownVolume,
    cx: &Cx,
    history: &History,
    (destroys, joined): (bool, bool),
) -> (&'static str, Option<String>) {
    let Some(name) = it.volume.as_deref() else {
        return (if it.plan == "leave" { "left" } else { "kept" }, None);
    };
    let known = it.outcome.as_deref();
    let is_it = |volume: &&Volume| volume.metadata.uid.as_ref().map(ToString::to_string) == it.uid;
    let Some(volume) = cx.cluster().volume_named(name).filter(is_it) else {
        return match given_back(history, it.uid.as_deref()) {
            Some(entry) => (
                "destroyed",
                Some(format!(
                    "its object is gone since entry {entry} of the journal set its policy to Delete"
                )),
            ),
            None if destroys && it.reason == UNDER_WAY => {
                ("destroyed", Some("its deletion has ended".to_owned()))
            }
            None if joined && known == Some("kept") => ("kept", None),
            None => {
                let told = "its object is gone, and this teardown did not have it deleted";
                ("unknown", Some(told.to_owned()))
            }
        };
    };
    let is_unasked = it.reason.starts_with(LEFT_OUT) || it.claim.is_none();
    match (&*it.plan, &volume.reclaim_policy) {
        ("leave", _) => ("left", None),
        ("keep", ReclaimPolicy::Retain) => ("kept", None),
        ("keep", _) if is_unasked && is_going(cx, volume) == Ok(false) => ("kept", None),
        ("keep", policy) => {
            ("left", Some(format!("its policy is {policy}: its disk goes with its claim")))
        }
        _ => ("left", known.is_none().then(|| "it still exists".to_owned())),
    }
}

/// Returns what became of a snapshot, by what the cluster and the journal tell, and the reason where that is new.
fn outcome_of_snapshot(
    it: &TornDownSnapshot,
    cluster: &Cluster,
    history: &History,
) -> (&'static str, Option<String>) {
    let is_it = |found: &ObjectRef| {
        *found.key.name == *it.object.name
            && found.key.namespace.as_deref() == it.object.namespace.as_deref()
            && found.uid.as_ref().map(ToString::to_string) == it.object.uid
    };
    let exists = cluster.volume_snapshots().any(|(_, found)| is_it(&found.object()));
    let deleted = |entry: &&Entry| {
        entry.intent.because == DELETE_SNAPSHOT_ID
            && is_it(&entry.intent.object)
            && entry.may_have_written()
    };
    match (exists, &*it.plan, it.outcome.as_deref()) {
        (false, _, Some("destroyed")) => ("destroyed", None),
        (false, ..) => match history.entries.iter().rev().find(deleted) {
            Some(entry) => {
                let told =
                    format!("it is gone since entry {} of the journal deleted it", entry.sequence);
                ("destroyed", Some(told))
            }
            None => ("unknown", Some("it is gone, and this teardown did not delete it".to_owned())),
        },
        (true, "keep", _) => ("kept", None),
        (true, ..) => ("left", None),
    }
}

/// Returns the entry with which the policy of a volume was set to Delete for good.
fn given_back(history: &History, uid: Option<&str>) -> Option<u64> {
    let uid = uid?;
    let is_it = |it: &&Entry| {
        it.intent.object.uid.as_ref().is_some_and(|it| it.to_string() == uid)
            && it.intent.reclaims()
            && it.may_have_written()
    };
    history.entries.iter().rev().find(is_it).map(|it| it.sequence)
}

impl TeardownRecord {
    /// Joins what an earlier run recorded: volumes that are not there any more. Returns which these are.
    fn join(&mut self, earlier: Self) -> BTreeSet<Identity> {
        let known: BTreeSet<_> = self.volumes.iter().map(identity).collect();
        let mut gone = earlier.volumes;
        gone.retain(|it| !known.contains(&identity(it)));
        let joined = gone.iter().map(identity).collect();
        self.volumes.extend(gone);
        let stopped: Vec<_> =
            earlier.stopped.into_iter().filter(|it| !self.stopped.contains(it)).collect();
        self.stopped.extend(stopped);
        self.add_snapshots(earlier.snapshots);
        joined
    }

    /// Adds the snapshots that it does not have.
    fn add_snapshots(&mut self, mut more: Vec<TornDownSnapshot>) {
        more.retain(|it| !self.snapshots.iter().any(|own| own.object == it.object));
        self.snapshots.extend(more);
    }

    /// Adds to each volume its manifest for another cluster, and the provider's command that deletes its disk.
    ///
    /// # Errors
    /// When volumes cannot be read.
    pub(super) async fn complete(
        &mut self,
        reader: &Reader,
        cluster: &Cluster,
    ) -> Result<(), Failure> {
        let mut request = ListRequest::of(Kind::PersistentVolume, "v1");
        request.form = ListForm::Json;
        request.page = Some(500);
        let answer = list_json::<Value>(reader, &request).await;
        let answer = answer.map_err(Failure::error)?;
        let by_name: BTreeMap<&str, &Value> = answer
            .value
            .iter()
            .filter_map(|it| Some((it["metadata"]["name"].as_str()?, it)))
            .collect();
        for it in &mut self.volumes {
            let Some(name) = it.volume.as_deref() else { continue };
            let same = |live: &&&Value| live["metadata"]["uid"].as_str() == it.uid.as_deref();
            if let Some(live) = by_name.get(name).filter(same) {
                it.manifest = Some(for_another_cluster(live));
            }
            let volume = cluster.volume_named(name);
            it.command = volume.and_then(deleting_command);
        }
        Ok(())
    }
}

/// What tells a volume from others: its name and uid, or the claim that has none.
type Identity = (Option<String>, Option<String>, Option<String>);

fn identity(it: &TornDownVolume) -> Identity {
    let claim = it.claim.clone().filter(|_| it.volume.is_none());
    (it.volume.clone(), it.uid.clone(), claim)
}

/// Reads a record; `None` where there is no file.
///
/// # Errors
/// When it cannot be read, or is no record.
pub(in crate::cli) fn read_if_there(path: &Path) -> Result<Option<TeardownRecord>, Failure> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let told = format!("failed to read {}", path.display());
            return Err(Failure::error(anyhow::Error::new(error).context(told)));
        }
    };
    let record: TeardownRecord = serde_json::from_slice(&text).map_err(|error| {
        let shown = escape_control(&path.display().to_string()).into_owned();
        Failure::usage(format!("{shown} is no record of a teardown: {error}"))
    })?;
    match &*record.kind {
        "TeardownRecord" => Ok(Some(record)),
        other => {
            let told = format!(
                "{} is a {}, no record of a teardown",
                path.display(),
                escape_control(other)
            );
            Err(Failure::usage(told))
        }
    }
}

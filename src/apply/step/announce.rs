//! Announces volumes: records all of them first, then annotates each.
//!
//! Nothing is annotated that is not recorded. A volume that is recorded but could not be annotated
//! counts as vetoed, which is told: nothing is reclaimed on its account.

use serde_json::{Value, json};

use super::super::Outcome;
use super::super::change_end::ChangeEnd;
use super::super::config_map::{self, ConfigMapWrite, NewConfigMap, StoredConfigMap};
use super::super::options::DryRun;
use super::super::request::{self, WriteRequest};
use super::{ChangeExecutor, dry_run};
use crate::facts;
use crate::journal::announcement::{self, ANNOUNCEMENT, RECORD};
use crate::journal::{Intent, JournalRecord};
use crate::model::{
    ANNOUNCED, Action, AnnouncedVolume, Kind, ObjectKey, ObjectRef, Time, format_time,
};
use crate::plan::{ProposedChange, Purpose};

/// How many volumes a record holds at most: an object may have 1 MiB (apiserver, etcd).
const VOLUMES: usize = 400;
/// What a record says of itself.
const ABOUT: &str = "PersistentVolumes that kubectl storage gc --announced may reclaim after the grace period in \
                     key batch, counted from the creation of this object. Deleting this object takes all of it back.";

/// The record of a volume that is announced.
#[derive(Debug, Clone)]
pub(in crate::apply) struct RecordedAnnouncement {
    /// The name of the `ConfigMap`.
    batch: String,
    /// The end of the grace period.
    due: Time,
}

/// A volume that is about to be recorded.
struct Candidate<'a> {
    change: &'a ProposedChange,
    announced: &'a AnnouncedVolume,
}

impl ChangeExecutor<'_> {
    /// Records everything that a plan announces, before anything is annotated. What became of each
    /// is known to [`Self::mark_announced`].
    pub(in crate::apply) async fn record_announcements(&self, changes: &[ProposedChange]) {
        let mut ready: Vec<Candidate<'_>> = Vec::new();
        let mut grace = None;
        for change in changes {
            let [Action::Announce { announced, grace: its, .. }] = &*change.proposal.steps else {
                continue;
            };
            if (self.interrupted)() {
                return;
            }
            grace = Some(*its);
            match self.may_mark(change).await {
                Ok(()) => ready.push(Candidate { change, announced }),
                Err(ended) => self.take_record(change, Err(ended)),
            }
        }
        let Some(grace) = grace.filter(|_| !(self.interrupted)()) else { return };
        for (number, volumes) in ready.chunks(VOLUMES).enumerate() {
            let cluster = self.cluster.cluster_uid();
            let entries = volumes.iter().map(|it| it.announced);
            let data = announcement::data(grace, cluster.as_deref(), entries);
            let name = announcement::name(self.run, number);
            let new = NewConfigMap {
                namespace: &self.cluster.settings().recording.namespace,
                name: &name,
                labels: &[(RECORD, ANNOUNCEMENT)],
                about: ABOUT,
                data: &data,
                immutable: true,
            };
            let recorded = match self.record_batch(&new).await {
                Ok(created) => end(created, grace).ok_or_else(|| "its end is no date".to_owned()),
                Err(ended) => {
                    let ChangeEnd { outcome, detail, ends_batch, .. } = ended;
                    for it in volumes {
                        let ended = ChangeEnd::new(outcome, detail.clone());
                        let ended = ChangeEnd { ends_batch: ends_batch.clone(), ..ended };
                        self.take_record(it.change, Err(ended));
                    }
                    match ends_batch {
                        Some(_) => return,
                        None => continue,
                    }
                }
            };
            for it in volumes {
                let recorded =
                    recorded.clone().map(|due| RecordedAnnouncement { batch: name.clone(), due });
                let recorded = recorded.map_err(|detail| ChangeEnd::new(Outcome::Failed, detail));
                self.take_record(it.change, recorded);
            }
        }
    }

    fn take_record(&self, change: &ProposedChange, it: Result<RecordedAnnouncement, ChangeEnd>) {
        self.announcements.borrow_mut().insert(change.object.key.clone(), it);
    }

    /// Refuses what could not be annotated: it is proposed again, and its annotation is sent as a dry
    /// run.
    async fn may_mark(&self, change: &ProposedChange) -> Result<(), ChangeEnd> {
        let Some(live) = self.read_and_propose_again(change, 0).await? else {
            return Err(ChangeEnd::new(Outcome::Stale, "there is nothing to announce"));
        };
        let action = &change.proposal.steps[0];
        let request = marking(change, &live, "announced")?;
        self.dry_run_step(&change.purpose, action, &request).await
    }

    /// Creates a record, and returns when the API server created it.
    async fn record_batch(&self, new: &NewConfigMap<'_>) -> Result<Time, ChangeEnd> {
        let request = new.request();
        let shown = format!("configmap {}/{}", new.namespace, new.name);
        match config_map::send(self.writer, &request, true).await {
            ConfigMapWrite::Stored(_) if self.dry_run == DryRun::Server => {
                // Nothing is created: when it would have been is now.
                return Ok(self.cluster.clock().unwrap_or_default());
            }
            ConfigMapWrite::Stored(_) => {}
            ended => return Err(unrecorded(&shown, &ended)),
        }
        let entry = self.begin_record(new, &request).await?;
        let sent = match config_map::send(self.writer, &request, false).await {
            ConfigMapWrite::Unanswered(detail) => self.find_record(new, detail).await,
            sent => sent,
        };
        let mut ended = match sent {
            ConfigMapWrite::Stored(stored) => match is_whole(&stored, new) {
                Some(created) => {
                    let detail = format!("created {}", format_time(&created));
                    let mut ended = ChangeEnd::new(Outcome::Done, detail);
                    self.end(&mut ended, entry).await;
                    // What has no end in the journal is told by the changes that follow.
                    return Ok(created);
                }
                None => ChangeEnd::new(
                    Outcome::Failed,
                    format!("{shown} was stored with other contents: nothing is announced"),
                )
                .ends_batch(),
            },
            ended => unrecorded(&shown, &ended),
        };
        self.end(&mut ended, entry).await;
        Err(ended)
    }

    /// Looks for a record whose creation was not answered. Nobody else creates one of its name.
    async fn find_record(&self, new: &NewConfigMap<'_>, detail: String) -> ConfigMapWrite {
        match self.cluster.record(new.name).await.ok().flatten() {
            Some(stored) => ConfigMapWrite::Stored(stored),
            None => ConfigMapWrite::Unanswered(detail),
        }
    }

    /// Appends to the journal that a record is about to be created.
    async fn begin_record(
        &self,
        new: &NewConfigMap<'_>,
        request: &WriteRequest,
    ) -> Result<u64, ChangeEnd> {
        let key = ObjectKey::named(Kind::ConfigMap, new.namespace, new.name);
        let intent = Intent {
            command: self.command.to_owned(),
            object: ObjectRef { key, uid: None },
            action: "record-announcement".to_owned(),
            because: "announce".to_owned(),
            request: self.sent_request(request),
            pre_image: None,
            backend: None,
            capacity: None,
            keeps: false,
            adds_finalizer: None,
            removes_finalizer: None,
            undoes: None,
        };
        let (run, at) = (self.run.to_owned(), self.cluster.clock());
        let record = JournalRecord::Intent { run, at, intent: Box::new(intent) };
        self.log
            .append(record)
            .await
            .map_err(|error| ChangeEnd::new(Outcome::Failed, error.with_cause()).ends_batch())
    }

    /// Says which volumes were recorded, and not annotated because the run has ended.
    pub(in crate::apply) fn unmarked(&self) -> Option<String> {
        let left = self.announcements.borrow();
        let names: Vec<_> =
            left.iter().filter(|it| it.1.is_ok()).map(|it| it.0.to_string()).collect();
        (self.dry_run == DryRun::None && !names.is_empty()).then(|| {
            format!(
                "recorded but not annotated, which counts as vetoed: {}; --include-vetoed announces \
                 them again",
                names.join(", ")
            )
        })
    }

    /// Annotates a volume that was recorded.
    pub(super) async fn mark_announced(&self, change: &ProposedChange) -> ChangeEnd {
        let recorded = self.announcements.borrow_mut().remove(&change.object.key);
        let recorded = match recorded {
            Some(Ok(recorded)) => recorded,
            Some(Err(ended)) => return ended,
            None => return ChangeEnd::new(Outcome::Refused, "not recorded: the run has ended"),
        };
        if self.dry_run == DryRun::Server {
            return dry_run::changes_nothing();
        }
        match self.mark(change, &recorded).await {
            Ok(ended) => ended,
            Err(ended) if ended.outcome == Outcome::Unanswered => ended,
            Err(mut ended) => {
                let namespace = &self.cluster.settings().recording.namespace;
                ended.detail = format!(
                    "{}; it is recorded in configmap {namespace}/{}, and counts as vetoed without \
                     its annotation: --include-vetoed announces it again",
                    ended.detail, recorded.batch
                );
                ended
            }
        }
    }

    async fn mark(
        &self,
        change: &ProposedChange,
        recorded: &RecordedAnnouncement,
    ) -> Result<ChangeEnd, ChangeEnd> {
        let action = &change.proposal.steps[0];
        let read = self.cluster.read_again(&change.object).await;
        let Some(live) = read.map_err(|error| ChangeEnd::unread(&error))? else {
            return Err(ChangeEnd::new(Outcome::Stale, "it does not exist"));
        };
        let namespace = &self.cluster.settings().recording.namespace;
        let text = facts::mark_text(&recorded.due, namespace, &recorded.batch);
        let request = marking(change, &live, &text)?;
        let entry = self.begin(change, 0, &request, live).await?;
        let sent = self.writer.send(&request, false).await;
        let mut ended = match &sent {
            Ok(_) => ChangeEnd::new(Outcome::Sent, ""),
            Err(error) => ChangeEnd::unsent(error),
        };
        ended.entry = Some(entry);
        self.end(&mut ended, entry).await;
        let Ok(written) = sent else { return Err(ended) };
        ended.notes.extend(self.write_event(change, action, &written, entry, None).await);
        let shown = &written.value["metadata"]["annotations"][ANNOUNCED];
        (ended.outcome, ended.detail) = match *shown == json!(text) {
            true => (
                Outcome::Done,
                format!(
                    "due at {}, recorded in configmap {namespace}/{}",
                    format_time(&recorded.due),
                    recorded.batch
                ),
            ),
            false => (Outcome::Pending, format!("the API server shows the annotation {shown}")),
        };
        self.end(&mut ended, entry).await;
        if let Purpose::Announce(announcing) = &change.purpose
            && announcing.include_vetoed
        {
            ended.notes.extend(self.take_back_veto(change).await);
        }
        Ok(ended)
    }
}

/// Renders the request that annotates a volume.
fn marking(change: &ProposedChange, live: &Value, text: &str) -> Result<WriteRequest, ChangeEnd> {
    request::mark(change.proposal.steps[0].object(), live, text)
        .map_err(|unfit| ChangeEnd::new(Outcome::Stale, unfit.to_string()))
}

/// Returns the end of a grace period; `None` where that is no date.
fn end(created: Time, grace: std::time::Duration) -> Option<Time> {
    created.checked_add_signed(chrono::Duration::from_std(grace).ok()?)
}

/// Returns when a record was created, if all of it was stored.
fn is_whole(stored: &StoredConfigMap, new: &NewConfigMap<'_>) -> Option<Time> {
    let whole = new.data.iter().all(|(key, value)| stored.value(key) == Some(value));
    stored.created().filter(|_| whole && stored.is_immutable())
}

/// Returns how a change ends that could not be recorded.
fn unrecorded(shown: &str, ended: &ConfigMapWrite) -> ChangeEnd {
    let right =
        "requires list and create of configmaps in its namespace; --record-namespace names another";
    match ended {
        ConfigMapWrite::Refused(why) => {
            ChangeEnd::new(Outcome::Refused, format!("{shown} cannot be created: {why} ({right})"))
        }
        ConfigMapWrite::Stored(_) | ConfigMapWrite::Overtaken => {
            ChangeEnd::new(Outcome::Failed, format!("{shown} exists already")).ends_batch()
        }
        ConfigMapWrite::Failed(why) => {
            ChangeEnd::new(Outcome::Failed, format!("{shown} was not created: {why}")).ends_batch()
        }
        ConfigMapWrite::Unanswered(why) => ChangeEnd::new(
            Outcome::Unanswered,
            format!("unknown whether {shown} was created; nothing is annotated: {why}"),
        )
        .ends_batch(),
    }
}

//! Announces volumes: annotates each, then records all that were annotated.
//!
//! Only the record announces. Where it cannot be created after all, or the run is killed before, the
//! annotations are ignored, and no volume is recorded whose users could not see that.

use serde_json::json;

use super::super::Outcome;
use super::super::config_map::{self, ConfigMapWrite, NewConfigMap, StoredConfigMap};
use super::super::receipt::ChangeEnd;
use super::super::receipt::DryRun;
use super::super::request::{self, WriteRequest};
use super::super::writer::WriteAnswer;
use super::{ChangeExecutor, dry_run};
use crate::facts;
use crate::journal::announcement::{self, ANNOUNCEMENT, RECORD};
use crate::journal::{Intent, JournalRecord};
use crate::model::{
    ANNOUNCED, Action, AnnouncedVolume, Kind, ObjectKey, ObjectRef, Time, Veto, format_time,
};
use crate::plan::{ProposedChange, Purpose};

/// The most bytes of a record: the values of a `ConfigMap` may have 1 MiB (apiserver, `ValidateConfigMap`).
const BYTES: usize = 700 * 1024;
/// Annotation that explains a record.
const ABOUT: &str = "PersistentVolumes that kubectl storage gc --announced may reclaim after the grace period in \
                     key batch, counted from the creation of this object. Deleting this object takes all of it back.";

/// A volume that is to be announced.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    change: &'a ProposedChange,
    announced: &'a AnnouncedVolume,
    grace: std::time::Duration,
}

/// A volume that was annotated, and is to be recorded.
struct Marked<'a> {
    candidate: Candidate<'a>,
    entry: u64,
    written: WriteAnswer,
    /// The time in the annotation.
    shown: Time,
    /// The veto that was recorded when the change was proposed.
    veto: Option<Veto>,
}

impl<'a> Candidate<'a> {
    fn of(change: &'a ProposedChange) -> Option<Self> {
        match &*change.proposal.steps {
            [Action::Announce { announced, grace, .. }] => {
                Some(Self { change, announced, grace: *grace })
            }
            _ => None,
        }
    }

    fn overrides_vetoes(&self) -> bool {
        matches!(&self.change.purpose, Purpose::Announce(it) if it.include_vetoed)
    }
}

impl ChangeExecutor<'_> {
    /// Announces all volumes that a plan announces. How each change ends is known to [`Self::announced_end`]; what an
    /// interruption leaves out has no end.
    pub(in crate::apply) async fn announce_all(&self, changes: &[ProposedChange]) {
        let all: Vec<_> = changes.iter().filter_map(Candidate::of).collect();
        for (number, volumes) in batches(&all).into_iter().enumerate() {
            if (self.interrupted)() || !self.announce_batch(number, &volumes).await {
                return;
            }
        }
    }

    /// Returns the end of a change that announces, if it has ended.
    pub(in crate::apply) fn announced_end(&self, change: &ProposedChange) -> Option<ChangeEnd> {
        Candidate::of(change)?;
        self.announcements.borrow_mut().remove(&change.object.key)
    }

    fn ends(&self, change: &ProposedChange, ended: ChangeEnd) {
        self.announcements.borrow_mut().insert(change.object.key.clone(), ended);
    }

    /// Announces the volumes of one record, and returns whether others may follow.
    async fn announce_batch(&self, number: usize, volumes: &[Candidate<'_>]) -> bool {
        let Some(grace) = volumes.first().map(|it| it.grace) else { return true };
        let cluster = self.cluster.cluster_uid();
        let name = announcement::name(self.run, number);
        let data =
            announcement::data(grace, cluster.as_deref(), volumes.iter().map(|it| it.announced));
        let namespace = &self.cluster.settings().recording.namespace;
        let labels = &[(RECORD, ANNOUNCEMENT)];
        let new = NewConfigMap {
            namespace,
            name: &name,
            labels,
            about: ABOUT,
            data: &data,
            immutable: true,
        };
        // Who may not record it annotates nothing.
        if let ended @ (ConfigMapWrite::Refused(_)
        | ConfigMapWrite::Overtaken
        | ConfigMapWrite::Failed { .. }
        | ConfigMapWrite::Unanswered(_)) =
            config_map::rehearse(self.writer, &new.request()).await
        {
            let ended = unrecorded(&shown(&new), &ended);
            for it in volumes {
                self.ends(it.change, ended.same());
            }
            return ended.ends_batch.is_none();
        }
        let mut marked = Vec::new();
        let mut may_go_on = true;
        for it in volumes {
            if (self.interrupted)() || !may_go_on {
                break;
            }
            match self.mark(*it, &name).await {
                Ok(Some(it)) => marked.push(it),
                Ok(None) => self.ends(it.change, dry_run::changes_nothing()),
                Err(ended) => {
                    may_go_on = ended.ends_batch.is_none();
                    self.ends(it.change, ended);
                }
            }
        }
        if marked.is_empty() {
            return may_go_on;
        }
        let entries = marked.iter().map(|it| it.candidate.announced);
        let data = announcement::data(grace, cluster.as_deref(), entries);
        let new = NewConfigMap { data: &data, ..new };
        let recorded = self.record_batch(&new).await;
        may_go_on &= !matches!(&recorded, Err(ended) if ended.ends_batch.is_some());
        for it in marked {
            let change = it.candidate.change;
            let ended = match &recorded {
                Ok(created) => self.announced(it, created, &shown(&new)).await,
                Err(ended) => self.only_marked(&it, ended).await,
            };
            may_go_on &= ended.ends_batch.is_none();
            self.ends(change, ended);
        }
        may_go_on
    }

    /// Annotates a volume that is still as it was planned; `None` where only dry runs are sent.
    async fn mark<'a>(
        &self,
        it: Candidate<'a>,
        batch: &str,
    ) -> Result<Option<Marked<'a>>, ChangeEnd> {
        let change = it.change;
        let Some(live) = self.read_and_propose_again(change, 0).await? else {
            return Err(ChangeEnd::new(Outcome::Stale, "there is nothing to announce"));
        };
        let seen = live["metadata"]["annotations"][ANNOUNCED].as_str();
        let uid = change.object.uid.as_ref();
        let recorded = self.cluster.announcements();
        let begins = self.cluster.clock().unwrap_or_default();
        let end = facts::grace_end(begins, it.grace);
        let shown = facts::lengthened(&recorded, uid, seen, end);
        let veto = recorded.vetoes.iter().find(|it| Some(&it.uid) == uid).cloned();
        let namespace = &self.cluster.settings().recording.namespace;
        let text = facts::mark_text(&shown, namespace, batch);
        let action = &change.proposal.steps[0];
        let request = request::mark(action.object(), &live, &text)
            .map_err(|unfit| ChangeEnd::new(Outcome::Stale, unfit.to_string()))?;
        self.dry_run_step(&change.purpose, action, &request).await?;
        if self.dry_run == DryRun::Server {
            return Ok(None);
        }
        let entry = self.begin(change, 0, &request, live.clone()).await?;
        let sent = self.writer.send(&request, false).await;
        let mut ended = match &sent {
            Ok(_) => ChangeEnd::new(Outcome::Sent, ""),
            // What befalls one volume must not keep the others from being recorded.
            Err(error) => ChangeEnd { ends_batch: None, ..ChangeEnd::unsent(error) },
        };
        ended = self.unless_own(ended, action.object(), &request, &live).await;
        if let Ok(written) = &sent {
            let is = &written.value["metadata"]["annotations"][ANNOUNCED];
            if *is != json!(text) {
                ended = ChangeEnd::new(
                    Outcome::Failed,
                    format!("not announced: the API server shows annotation {ANNOUNCED} as {is}"),
                );
            }
        }
        ended.entry = Some(entry);
        self.end(&mut ended, entry).await;
        match sent {
            Ok(written) if ended.outcome == Outcome::Sent => {
                Ok(Some(Marked { candidate: it, entry, written, shown, veto }))
            }
            _ => Err(ended),
        }
    }

    /// Ends a change whose volume was annotated and recorded.
    async fn announced(&self, it: Marked<'_>, created: &Time, shown: &str) -> ChangeEnd {
        let Marked { candidate, entry, written, shown: at_least, veto } = it;
        let change = candidate.change;
        let due = facts::grace_end(*created, candidate.grace).max(at_least);
        let detail = format!("due at {}, recorded in {shown}", format_time(&due));
        let mut ended = ChangeEnd::new(Outcome::Done, detail);
        ended.entry = Some(entry);
        let event = self.write_event(change, &change.proposal.steps[0], &written, entry, None);
        ended.notes.extend(event.await);
        if let Some(veto) = veto.filter(|_| candidate.overrides_vetoes())
            && let Some(why) = self.take_back_veto(change, &veto).await
        {
            ended.outcome = Outcome::Failed;
            ended.detail = format!("its veto remains, so that it is not reclaimed: {why}");
        }
        self.end(&mut ended, entry).await;
        ended
    }

    /// Ends a change whose volume was annotated and not recorded.
    async fn only_marked(&self, it: &Marked<'_>, recorded: &ChangeEnd) -> ChangeEnd {
        let ChangeEnd { outcome, detail, ends_batch, .. } = recorded.same();
        // It was annotated.
        let outcome = if outcome == Outcome::Unanswered { outcome } else { Outcome::Failed };
        let detail = format!("annotated, but ignored for want of a record: {detail}");
        let mut ended = ChangeEnd { ends_batch, ..ChangeEnd::new(outcome, detail) };
        ended.entry = Some(it.entry);
        self.end(&mut ended, it.entry).await;
        ended
    }

    /// Creates a record, and returns when the API server created it.
    async fn record_batch(&self, new: &NewConfigMap<'_>) -> Result<Time, ChangeEnd> {
        let request = new.request();
        let shown = shown(new);
        let entry = self.begin_record(new, &request).await?;
        let sent = match config_map::send(self.writer, &request, false).await {
            ConfigMapWrite::Unanswered(detail) => self.find_record(new, detail).await,
            // Nobody else creates one of its name: a proxy has sent it twice.
            ConfigMapWrite::Overtaken => {
                self.find_record(new, "it exists already".to_owned()).await
            }
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

    /// Looks for a record whose creation was not answered. No other client creates one of its name.
    async fn find_record(&self, new: &NewConfigMap<'_>, detail: String) -> ConfigMapWrite {
        match self.cluster.listed_record(new.name).await {
            Ok(Some(stored)) => ConfigMapWrite::Stored(stored),
            Ok(None) => {
                ConfigMapWrite::Unanswered(format!("{detail}; it was not there afterwards"))
            }
            Err(error) => {
                let detail = format!("{detail}; it could not be looked for: {error}");
                ConfigMapWrite::Unanswered(detail)
            }
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
}

/// Names a record, for users.
fn shown(new: &NewConfigMap<'_>) -> String {
    format!("configmap {}/{}", new.namespace, new.name)
}

/// Groups volumes into records that the API server stores.
fn batches<'a>(all: &[Candidate<'a>]) -> Vec<Vec<Candidate<'a>>> {
    let mut batches: Vec<Vec<Candidate<'a>>> = Vec::new();
    let mut bytes = 0;
    for it in all {
        let (key, value) = announcement::entry(it.announced);
        let more = key.len() + value.len();
        match batches.last_mut() {
            Some(batch) if bytes + more <= BYTES => batch.push(*it),
            _ => {
                batches.push(vec![*it]);
                bytes = 0;
            }
        }
        bytes += more;
    }
    batches
}

/// Returns the creation time of a record, if all of it was stored.
fn is_whole(stored: &StoredConfigMap, new: &NewConfigMap<'_>) -> Option<Time> {
    let whole = new.data.iter().all(|(key, value)| stored.value(key) == Some(value));
    stored.created().filter(|_| whole && stored.is_immutable())
}

/// Returns the end of a change that could not be recorded.
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
        ConfigMapWrite::Failed { reason: why, .. } => {
            ChangeEnd::new(Outcome::Failed, format!("{shown} was not created: {why}")).ends_batch()
        }
        ConfigMapWrite::Unanswered(why) => ChangeEnd::new(
            Outcome::Unanswered,
            format!("unknown whether {shown} was created: {why}"),
        )
        .ends_batch(),
    }
}

#[cfg(test)]
mod tests;

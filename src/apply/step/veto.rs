//! The record of vetoes: one `ConfigMap`, of which only single keys are changed.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::Outcome;
use super::super::config_map::{self, ConfigMapWrite, NewConfigMap, RecordTry, StoredConfigMap};
use super::super::receipt::ChangeEnd;
use super::super::receipt::DryRun;
use super::super::request::WriteRequest;
use super::super::writer::WriteAnswer;
use super::{ChangeExecutor, dry_run};
use crate::journal::announcement::{RECORD, VETO, VETOES, parse_veto, veto_value};
use crate::model::{Action, Veto};
use crate::plan::ProposedChange;

/// Annotation that explains the record of vetoes.
const ABOUT: &str = "PersistentVolumes whose announcement was vetoed, by uid. kubectl storage gc --announce does \
                     not announce them again, unless --include-vetoed is given or their key is removed.";

impl ChangeExecutor<'_> {
    /// Records that the announcement of a volume was vetoed.
    pub(super) async fn record_veto(&self, change: &ProposedChange) -> ChangeEnd {
        match self.try_to_record_veto(change).await {
            Ok(ended) | Err(ended) => ended,
        }
    }

    async fn try_to_record_veto(&self, change: &ProposedChange) -> Result<ChangeEnd, ChangeEnd> {
        let [Action::RecordVeto { volume, batch }] = &*change.proposal.steps else {
            return Err(ChangeEnd::new(Outcome::Refused, "there is nothing to record"));
        };
        let Some(live) = self.read_and_propose_again(change, 0).await? else {
            return Err(ChangeEnd::new(Outcome::Stale, "there is nothing to record"));
        };
        let Some(uid) = volume.uid.clone() else {
            return Err(ChangeEnd::new(Outcome::Refused, "its uid is unknown"));
        };
        let (volume, found) = (volume.key.name.clone(), self.cluster.clock());
        let veto = Veto { volume, uid, batch: batch.clone(), found };
        let (key, value) = (veto.uid.to_string(), veto_value(&veto));
        let edit = |data: &mut BTreeMap<String, String>| match data.contains_key(&key) {
            true => false,
            false => data.insert(key.clone(), value.clone()).is_none(),
        };
        let mut ended = self.change_vetoes(change, &live, edit).await?;
        if let (Outcome::Done, Some(entry)) = (ended.outcome, ended.entry) {
            let (action, unchanged) = (&change.proposal.steps[0], WriteAnswer::default());
            let event = self.write_event(change, action, &unchanged, entry, None);
            ended.notes.extend(event.await);
        }
        Ok(ended)
    }

    /// Removes the veto of a volume that is announced again, if it is still the one that was read. Why one remains, if
    /// one does, is returned.
    pub(super) async fn take_back_veto(
        &self,
        change: &ProposedChange,
        read: &Veto,
    ) -> Option<String> {
        let key = read.uid.to_string();
        let another = Cell::new(false);
        let edit = |data: &mut BTreeMap<String, String>| {
            let found = data.get(&key).map(|it| parse_veto(&key, it).as_ref() == Some(read));
            another.set(found == Some(false));
            found == Some(true) && data.remove(&key).is_some()
        };
        let ended = match self.change_vetoes(change, &Value::Null, edit).await {
            Ok(ended) | Err(ended) => ended,
        };
        match ended.outcome {
            Outcome::Done if another.get() => Some("it was vetoed again meanwhile".to_owned()),
            Outcome::Done => None,
            _ => Some(ended.detail),
        }
    }

    /// Tries a change of the record until it is stored. `edit` returns whether there is one.
    async fn change_vetoes(
        &self,
        change: &ProposedChange,
        volume: &Value,
        edit: impl Fn(&mut BTreeMap<String, String>) -> bool,
    ) -> Result<ChangeEnd, ChangeEnd> {
        let namespace = &self.cluster.settings().recording.namespace;
        let shown = format!("configmap {namespace}/{VETOES}");
        // All vetoes are keys of one object, so that writes at the same time conflict.
        let _turn = self.vetoing.lock().await;
        let attempt = async |_| {
            let stored = self.cluster.record(VETOES).await;
            let stored = stored.map_err(|error| {
                ChangeEnd::new(Outcome::Refused, format!("{shown} could not be read: {error}"))
            })?;
            let mut data = stored.as_ref().map(StoredConfigMap::data).unwrap_or_default();
            // Without its label it is not listed, so that no veto in it holds.
            let is_listed = stored.as_ref().is_none_or(|it| it.label(RECORD) == Some(VETO));
            if !edit(&mut data) && is_listed {
                let told = format!("{shown} says so already");
                return Ok(RecordTry::Done(ChangeEnd::new(Outcome::Done, told)));
            }
            let request = render(namespace, stored.as_ref(), &data);
            match config_map::rehearse(self.writer, &request).await {
                ConfigMapWrite::Stored(_) if self.dry_run == DryRun::Server => {
                    return Ok(RecordTry::Done(dry_run::changes_nothing()));
                }
                ConfigMapWrite::Stored(_) => {}
                ConfigMapWrite::Overtaken => return Ok(RecordTry::Overtaken(overtaken(&shown))),
                ended => return Err(unwritten(&shown, ended)),
            }
            let entry = self.begin(change, 0, &request, volume.clone()).await?;
            let mut ended = match config_map::send(self.writer, &request, false).await {
                ConfigMapWrite::Stored(_) => {
                    ChangeEnd::new(Outcome::Done, format!("recorded in {shown}"))
                }
                ended => unwritten(&shown, ended),
            };
            ended.entry = Some(entry);
            self.end(&mut ended, entry).await;
            match ended.outcome {
                Outcome::Done => Ok(RecordTry::Done(ended)),
                Outcome::Stale => Ok(RecordTry::Overtaken(ended.detail)),
                _ => Err(ended),
            }
        };
        config_map::change_record(attempt, |why| ChangeEnd::new(Outcome::Failed, why)).await
    }
}

fn overtaken(shown: &str) -> String {
    format!("another client has changed {shown}")
}

/// Renders the request that writes the record.
fn render(
    namespace: &str,
    stored: Option<&StoredConfigMap>,
    data: &BTreeMap<String, String>,
) -> WriteRequest {
    let Some(stored) = stored else {
        let labels = &[(RECORD, VETO)];
        let about = ABOUT;
        let (name, immutable) = (VETOES, false);
        return NewConfigMap { namespace, name, labels, about, data, immutable }.request();
    };
    let mut request = config_map::replace(stored, data);
    // Without its label it would not be listed.
    if let Some(metadata) = request.body["metadata"].as_object_mut() {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert(RECORD.to_owned(), json!(VETO));
        }
    }
    request
}

/// Returns the end of a change whose record was not written.
fn unwritten(shown: &str, ended: ConfigMapWrite) -> ChangeEnd {
    match ended {
        ConfigMapWrite::Refused(why) => ChangeEnd::new(
            Outcome::Refused,
            format!(
                "{shown} cannot be written: {why} (requires get, create and update of configmaps \
                 in its namespace)"
            ),
        ),
        ConfigMapWrite::Unanswered(why) => ChangeEnd::new(
            Outcome::Unanswered,
            format!("unknown whether {shown} was written: {why}"),
        )
        .ends_batch(),
        ConfigMapWrite::Failed { reason: why, .. } => {
            ChangeEnd::new(Outcome::Failed, format!("{shown} was not written: {why}")).ends_batch()
        }
        ConfigMapWrite::Stored(_) | ConfigMapWrite::Overtaken => {
            ChangeEnd::new(Outcome::Stale, overtaken(shown))
        }
    }
}

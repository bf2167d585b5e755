//! The record in the cluster of the backend volume that a change keeps or deletes.

use serde_json::Value;

use super::super::Outcome;
use super::super::change_end::ChangeEnd;
use super::super::kept_record::{PreviousValue, RecordError};
use super::{ChangeExecutor, backend};
use crate::facts;
use crate::journal::kept_backend::{self, KeptBackendRecord};
use crate::model::BackendKey;
use crate::plan::ProposedChange;

impl ChangeExecutor<'_> {
    /// Sends the record that a change needs as a dry run; `None` for a change that needs none.
    pub(super) async fn dry_run_record(
        &self,
        change: &ProposedChange,
        live: &Value,
    ) -> Result<Option<KeptBackendRecord>, ChangeEnd> {
        let (Some(recorder), Some(record)) = (&self.recorder, self.record_of(change, live)?) else {
            return Ok(None);
        };
        match recorder.dry_run(&record).await {
            Ok(()) => Ok(Some(record)),
            Err(error) => Err(unrecorded(&error)),
        }
    }

    /// Returns the record that a change needs; `None` for a change that needs none.
    pub(super) fn record_of(
        &self,
        change: &ProposedChange,
        live: &Value,
    ) -> Result<Option<KeptBackendRecord>, ChangeEnd> {
        if self.recorder.is_none() || !change.proposal.keeps_backend {
            return Ok(None);
        }
        let backend =
            backend(change).ok_or_else(|| ChangeEnd::new(Outcome::Refused, facts::UNIDENTIFIED))?;
        Ok(Some(KeptBackendRecord::of(&backend, live, self.run, self.cluster.clock())))
    }

    /// Writes the record that a change needs, with its journal entry.
    pub(super) async fn keep_record(
        &self,
        record: Option<KeptBackendRecord>,
        entry: u64,
    ) -> Result<Option<(KeptBackendRecord, PreviousValue)>, ChangeEnd> {
        let (Some(recorder), Some(record)) = (&self.recorder, record) else { return Ok(None) };
        let record = KeptBackendRecord { entry: Some(entry), ..record };
        match recorder.write(&record).await {
            Ok(before) => Ok(Some((record, before))),
            Err(error) => Err(unrecorded(&error)),
        }
    }

    /// Reverts the record of a change that was not carried out. `Err` describes the wrong record
    /// that remains.
    pub(super) async fn revert_record(
        &self,
        kept: Option<&(KeptBackendRecord, PreviousValue)>,
    ) -> Result<(), String> {
        let (Some(recorder), Some((record, before))) = (&self.recorder, kept) else {
            return Ok(());
        };
        recorder.revert(record, before).await.map_err(|error| {
            format!(
                "the record wrongly lists the backend volume of pv/{} as kept, and could not be \
                 corrected: {error}",
                record.volume
            )
        })
    }

    /// Removes the record of a backend volume that was destroyed, or that a volume references
    /// again. Returns a description of the wrong record that remains, if one does.
    pub(super) async fn end_record(&self, change: &ProposedChange) -> Option<String> {
        let key = change.about.backend.as_ref().filter(|_| change.purpose.ends_keeping())?;
        match self.cluster.is_recorded(key) {
            true => self.remove_record(key).await,
            false => None,
        }
    }

    /// Removes the record of a backend volume, whether it was read or not.
    pub(super) async fn remove_record(&self, key: &BackendKey) -> Option<String> {
        let recorder = self.recorder.as_ref()?;
        let error = recorder.remove(&kept_backend::key(&key.driver, &key.handle)).await.err()?;
        Some(format!(
            "the record still lists volume {} of {} as kept, although it no longer is: {error}",
            key.handle, key.driver
        ))
    }
}

/// Returns how a change ends whose record cannot be written.
fn unrecorded(error: &RecordError) -> ChangeEnd {
    match error {
        RecordError::Denied(why) => ChangeEnd::new(
            Outcome::Refused,
            format!(
                "the record of the backend volume cannot be written to {why}; pass \
                 --record-namespace for another namespace, or --journal-only for only the journal \
                 of this machine"
            ),
        ),
        RecordError::Failed(why) => ChangeEnd::new(
            Outcome::Failed,
            format!("the record of the backend volume was not written to {why}"),
        )
        .ends_batch(),
    }
}

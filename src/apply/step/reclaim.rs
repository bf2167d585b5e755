//! Steps around the deletion of a backend volume, and the record of it in the cluster.
//!
//! A repair that would leak a backend volume ends with a placeholder volume: it is created after the
//! volume object is deleted, and its provisioner deletes the backend volume (P-TOMBSTONE). A deletion of a
//! claim with its data ends with the reclaiming of its volume, as `gc` reclaims a Released volume, after the
//! claim is deleted and nothing was found that began to use it. Until then the policy is Retain: whatever
//! stops the run or this step, the data remains.

use std::time::Instant;

use serde_json::Value;

use super::super::{
    Outcome,
    kept_record::{PreviousValue, RecordError},
    receipt::ChangeEnd,
    request,
};
use super::{ChangeExecutor, RETRY, backend};
use crate::facts;
use crate::journal::kept_backend::{self, KeptBackendRecord};
use crate::model::{Action, BackendKey, ObjectRef, Proposal};
use crate::plan::{ProposedChange, Purpose};
use crate::remedies::{Orphan, placeholder};

impl ChangeExecutor<'_> {
    /// Creates the placeholder volume with which the driver deletes the kept backend volume. `Err` is an early end.
    pub(super) async fn reclaim(
        &self,
        change: &ProposedChange,
        earlier: &ChangeEnd,
    ) -> Result<ChangeEnd, ChangeEnd> {
        let left = |why: String| {
            let way = earlier.entry.map_or_else(String::new, |entry| {
                let entry = self.log.numbered(entry).arguments();
                format!("; continue with `kubectl storage destroy-orphan --from-journal {entry}`")
            });
            ChangeEnd::new(Outcome::Pending, format!("{why}; the backend volume is kept{way}"))
        };
        let saved = earlier.before.as_ref().ok_or("the former object is unknown");
        let saved = saved.map_err(|why| left(why.to_owned()))?;
        let orphan = self.orphan(change, saved, earlier.entry).map_err(left)?;
        let object = orphan.placeholder.volume().object();
        let purpose = Purpose::DestroyOrphan(Box::new(orphan));
        // The watches may bring the deletion later, and another client may have created the object
        // again.
        let anew = ObjectRef { key: change.object.key.clone(), uid: None };
        self.cluster.read_again(&anew).await.map_err(|error| left(error.to_string()))?;
        let judged = self.cluster.propose_again(&purpose, &object).await;
        let proposal = match judged {
            Ok((_, Ok(Ok(proposal)))) => proposal,
            Ok((_, Ok(Err(refusal)))) => return Err(left(refusal.reason)),
            Ok((_, Err(unseen))) => return Err(left(unseen.reason)),
            Err(error) => return Err(left(error.to_string())),
        };
        let about = change.about.clone();
        let change = ProposedChange { purpose, object, about, proposal };
        let mut ended = self
            .step(&change, 0, None)
            .await
            .map_err(|ended| ChangeEnd { entry: ended.entry, ..left(ended.detail) })?;
        if ended.outcome == Outcome::Done
            && let Some(backend) = &change.about.backend
        {
            // The step before has just written its record.
            ended.notes.extend(self.remove_record(backend).await);
        }
        Ok(ended)
    }

    /// Sends the creation of the placeholder volume as a dry run before the first step: a user who may not create it
    /// must not remove the finalizer.
    pub(super) async fn dry_run_reclaim(
        &self,
        change: &ProposedChange,
        live: &Value,
    ) -> Result<(), ChangeEnd> {
        let reclaims = |it: &Action| matches!(it, Action::ReclaimBackend { .. });
        if !change.proposal.steps.iter().any(reclaims) {
            return Ok(());
        }
        let refused = |why: String| ChangeEnd::new(Outcome::Refused, why);
        let orphan = self.orphan(change, live, None).map_err(refused)?;
        let volume = orphan.placeholder.volume().object();
        let action = Action::CreateVolume { volume, manifest: orphan.placeholder.value().clone() };
        let request = request::request(&action, &Value::Null);
        let request = request.map_err(|unfit| refused(unfit.to_string()))?;
        self.send_dry_run(&Purpose::DestroyOrphan(Box::new(orphan)), &request).await.map(drop)
    }

    /// Renders the placeholder volume from the volume object as it was last read.
    fn orphan(
        &self,
        change: &ProposedChange,
        saved: &Value,
        undoes: Option<u64>,
    ) -> Result<Orphan, String> {
        let cluster = self.cluster.cluster_uid().ok_or(placeholder::CLUSTER_UNIDENTIFIED)?;
        let named = change.about.backend.as_ref();
        let named = named.ok_or(facts::UNIDENTIFIED)?;
        let secret = &self.cluster.settings().secret;
        let (placeholder, relies_on) = placeholder::manifest(Some(saved), named, &cluster, secret)?;
        let elsewhere = match &change.purpose {
            Purpose::FixFinalizers(asked) => asked.elsewhere.clone(),
            _ => std::collections::BTreeSet::new(),
        };
        let of = Some(change.object.key.name.clone());
        Ok(Orphan { undoes, placeholder, of, former: None, elsewhere, relies_on })
    }
}

impl ChangeExecutor<'_> {
    /// Lists the pods of the namespace of a claim once more right before its deletion is sent: after
    /// all checks and the dry run.
    pub(super) async fn look_for_users(&self, action: &Action) -> Result<(), ChangeEnd> {
        let Action::DeleteClaim { claim, .. } = action else { return Ok(()) };
        match self.cluster.users_of(claim).await.as_deref() {
            Ok([]) => Ok(()),
            Ok([pod, ..]) => {
                let told = format!("{pod} has started to use it: it is not deleted");
                Err(ChangeEnd::new(Outcome::Stale, told))
            }
            Err(error) => {
                let told = format!("unknown whether a pod has started to use it: {error}");
                Err(ChangeEnd::new(Outcome::Failed, told).ends_batch())
            }
        }
    }

    /// Reclaims the volume of a claim that the step before has deleted. `Err` is an early end.
    pub(super) async fn reclaim_released(
        &self,
        change: &ProposedChange,
        volume: &ObjectRef,
        claim: &ObjectRef,
    ) -> Result<ChangeEnd, ChangeEnd> {
        let left = |why: String| {
            let told = format!(
                "{why}; {volume} is not reclaimed: it is Released with policy Retain and its data, \
                 which `kubectl storage rebind {volume}` gives back"
            );
            ChangeEnd::new(Outcome::Pending, told)
        };
        let purpose = Purpose::ReclaimReleased(Box::new(claim.key.clone()));
        let proposal = self.propose_to_reclaim(&purpose, volume).await.map_err(left)?;
        let unconfirmed =
            proposal.relies_on.iter().find(|it| !change.proposal.relies_on.contains(it));
        if let Some(flag) = unconfirmed {
            return Err(left(format!(
                "it would rely on {flag} now, which was not confirmed for it"
            )));
        }
        let (object, about) = (volume.clone(), change.about.clone());
        let reclaim = ProposedChange { purpose, object, about, proposal };
        self.step(&reclaim, 0, None).await.map_err(|ended| match ended.outcome {
            Outcome::Unanswered => ended,
            _ => {
                ChangeEnd { outcome: Outcome::Pending, detail: left(ended.detail).detail, ..ended }
            }
        })
    }

    /// Proposes to reclaim the volume as it is now. What a watch has lost is waited for.
    async fn propose_to_reclaim(
        &self,
        purpose: &Purpose,
        volume: &ObjectRef,
    ) -> Result<Proposal, String> {
        let began = Instant::now();
        loop {
            let judged = self.cluster.propose_again(purpose, volume).await;
            match judged.map_err(|error| format!("it could not be read again: {error}"))?.1 {
                Ok(Ok(proposal)) => return Ok(proposal),
                Ok(Err(refusal)) => return Err(refusal.reason),
                Err(unseen) if began.elapsed() >= self.patience || (self.interrupted)() => {
                    return Err(unseen.reason);
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }
}

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

/// Returns the end of a change whose record cannot be written.
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

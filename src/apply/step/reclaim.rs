//! The last step of a repair that would leak a backend volume: after the volume object is deleted,
//! a placeholder volume is created, whose provisioner deletes the backend volume (P-TOMBSTONE).

use serde_json::Value;

use super::super::change_end::ChangeEnd;
use super::super::{Outcome, request};
use super::ChangeExecutor;
use crate::facts;
use crate::model::{Action, ObjectRef};
use crate::plan::{ProposedChange, Purpose};
use crate::remedies::{Orphan, placeholder};

impl ChangeExecutor<'_> {
    /// Has the driver delete the backend volume that the step before kept. `Err` is an early end.
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

    /// Sends the creation of the placeholder volume as a dry run before the first step: a user who
    /// may not create it must not remove the finalizer.
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

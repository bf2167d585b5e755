//! The last step of a repair that would leak: once the object is gone, its backend volume is deleted
//! by a volume object made for that (P-TOMBSTONE).

use serde_json::Value;

use super::step::{Ended, Hand};
use super::{Outcome, request};
use crate::model::{Action, ObjectRef};
use crate::plan::{Change, Purpose};
use crate::remedies::{Orphan, tombstone};

impl Hand<'_> {
    /// Has the driver delete what the step before left behind. `Err` is an early end.
    pub(super) async fn reclaim(&self, change: &Change, earlier: &Ended) -> Result<Ended, Ended> {
        let left = |why: String| {
            let way = earlier.entry.map_or_else(String::new, |entry| {
                format!(": `kubectl storage destroy-orphan --from-journal {entry}` goes on")
            });
            Ended::new(Outcome::Pending, format!("{why}; the backend volume is left behind{way}"))
        };
        let saved = earlier.before.as_ref().ok_or("what the object was is not known");
        let saved = saved.map_err(|why| left(why.to_owned()))?;
        let orphan = self.orphan(change, saved, earlier.entry).map_err(left)?;
        let object = orphan.tombstone.volume().object();
        let purpose = Purpose::Tombstone(Box::new(orphan));
        // That it is gone was asked, and watches may tell of it later; whoever applies manifests may
        // have created it again.
        let anew = ObjectRef { key: change.object.key.clone(), uid: None };
        self.view.look(&anew).await.map_err(|error| left(error.to_string()))?;
        let judged = self.view.judge(&purpose, &object).await;
        let proposal = match judged {
            Ok((_, Ok(Ok(proposal)))) => proposal,
            Ok((_, Ok(Err(refusal)))) => return Err(left(refusal.reason)),
            Ok((_, Err(unseen))) => return Err(left(unseen.reason)),
            Err(error) => return Err(left(error.to_string())),
        };
        let about = change.about.clone();
        let change = Change { purpose, object, about, proposal };
        let mut ended = self
            .step(&change, 0)
            .await
            .map_err(|ended| Ended { entry: ended.entry, ..left(ended.detail) })?;
        if ended.outcome == Outcome::Done
            && let Some(backend) = &change.about.backend
        {
            // The step before has just written it.
            ended.notes.extend(self.forget(backend).await);
        }
        Ok(ended)
    }

    /// Has the server rehearse, before anything is lost, what is to be created in the end: who may
    /// not create it must not let go of the object.
    pub(super) async fn rehearse_reclaim(
        &self,
        change: &Change,
        live: &Value,
    ) -> Result<(), Ended> {
        let reclaims = |it: &Action| matches!(it, Action::ReclaimBackend { .. });
        if !change.proposal.steps.iter().any(reclaims) {
            return Ok(());
        }
        let refused = |why: String| Ended::new(Outcome::Refused, why);
        let orphan = self.orphan(change, live, None).map_err(refused)?;
        let volume = orphan.tombstone.volume().object();
        let action = Action::CreateVolume { volume, manifest: orphan.tombstone.value().clone() };
        let request = request::request(&action, &Value::Null);
        let request = request.map_err(|unfit| refused(unfit.to_string()))?;
        self.rehearse(&Purpose::Tombstone(Box::new(orphan)), &request).await
    }

    /// What is created, rendered from the object as it was last read.
    fn orphan(
        &self,
        change: &Change,
        saved: &Value,
        undoes: Option<u64>,
    ) -> Result<Orphan, String> {
        let cluster = self.view.cluster_uid().ok_or("which cluster it is was not seen")?;
        let named = change.about.backend.as_ref();
        let named = named.ok_or("what it names at the backend is not known")?;
        let secret = &self.view.settings().secret;
        let (tombstone, relies_on) = tombstone::manifest(Some(saved), named, &cluster, secret)?;
        let elsewhere = match &change.purpose {
            Purpose::FixFinalizers(asked) => asked.elsewhere.clone(),
            _ => std::collections::BTreeSet::new(),
        };
        Ok(Orphan { undoes, tombstone, elsewhere, relies_on })
    }
}

//! Whether a finalizer is gone, or there, and stays so.

use std::time::Duration;

use serde_json::Value;

use super::view::View;
use super::{Outcome, verify};
use crate::facts::PV_PROTECTION;
use crate::model::{ClaimKey, Kind, ObjectRef};

/// How long a controller is given to put back what was taken away: it acts on the change itself.
const SETTLING: Duration = Duration::from_secs(2);

/// A finalizer that was removed.
pub(super) struct Removal<'a> {
    /// From this object.
    pub(super) object: &'a ObjectRef,
    /// Its name.
    pub(super) finalizer: &'a str,
    /// How often it is still there, and removed by later steps.
    pub(super) again: usize,
}

impl Removal<'_> {
    /// Whether it is there more often than it should be.
    fn is_there(&self, live: &Value) -> bool {
        finalizers(live).iter().filter(|it| **it == self.finalizer).count() > self.again
    }

    /// Looks at what follows. Without `wait`, nobody waits for an object to go.
    pub(super) async fn followed(
        &self,
        view: &View,
        written: &Value,
        wait: Option<Duration>,
    ) -> (Outcome, String) {
        let Self { object, finalizer, .. } = self;
        let left = finalizers(written);
        if self.is_there(written) {
            return (Outcome::Failed, format!("the API server still shows finalizer {finalizer}"));
        }
        let done = format!("finalizer {finalizer} is removed");
        if written["metadata"]["deletionTimestamp"].is_null() {
            return self.not_back(view, done).await;
        }
        let protected_only = object.key.kind == Kind::PersistentVolume
            && left == [PV_PROTECTION]
            && written["status"]["phase"] != "Bound";
        if !left.is_empty() && !protected_only {
            return (Outcome::Done, format!("{done}; {} still holds the object", left.join(", ")));
        }
        let Some(wait) = wait else { return (Outcome::Done, done) };
        let gone = format!("{done}, and the object is gone");
        let (outcome, mut detail) =
            verify::until_gone(view, object, Some(wait), &gone, false).await;
        if let (Kind::PersistentVolumeClaim, Some(namespace)) =
            (object.key.kind, &object.key.namespace)
        {
            let key = ClaimKey { namespace: namespace.clone(), name: object.key.name.clone() };
            match view.users_now(&key).await {
                Ok(users) if users.is_empty() => {}
                Ok(users) => {
                    detail = format!("{detail}; meanwhile {} came to use it", users.join(", "));
                }
                Err(error) => {
                    detail =
                        format!("{detail}; whether a pod came to use it was not seen: {error}");
                }
            }
        }
        (outcome, detail)
    }

    /// Where the object is not being deleted, whoever set the finalizer can set it again.
    async fn not_back(&self, view: &View, done: String) -> (Outcome, String) {
        let finalizer = self.finalizer;
        tokio::time::sleep(SETTLING).await;
        match view.look(self.object).await {
            Ok(Some(live)) if self.is_there(&live) => {
                let who = manager_of(&live, finalizer);
                let who = who.map_or_else(
                    || "somebody".to_owned(),
                    |manager| format!("field manager {manager:?}"),
                );
                let told =
                    format!("{who} put finalizer {finalizer} back: its controller is at work");
                (Outcome::Failed, told)
            }
            Ok(_) => (Outcome::Done, done),
            Err(error) => {
                (Outcome::Pending, format!("{done}; whether it stays so was not seen: {error}"))
            }
        }
    }
}

/// Looks at what came of adding one.
pub(super) fn added(finalizer: &str, written: &Value) -> (Outcome, String) {
    if finalizers(written).contains(&finalizer) {
        return (Outcome::Done, format!("finalizer {finalizer} is there"));
    }
    (Outcome::Failed, format!("the API server does not show finalizer {finalizer}"))
}

fn finalizers(live: &Value) -> Vec<&str> {
    let all = live["metadata"]["finalizers"].as_array();
    all.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Who set a finalizer, by `managedFields`.
fn manager_of(live: &Value, finalizer: &str) -> Option<String> {
    let key = format!("v:{}", Value::from(finalizer));
    let entries = live["metadata"]["managedFields"].as_array()?;
    let sets = |entry: &&Value| entry["fieldsV1"]["f:metadata"]["f:finalizers"].get(&key).is_some();
    Some(entries.iter().rev().find(sets)?["manager"].as_str()?.to_owned())
}

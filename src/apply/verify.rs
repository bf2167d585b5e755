//! Whether what was meant to happen has happened. Nobody is told that it has before it was seen.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::view::View;
use super::{Outcome, created, finalizer};
use crate::model::{Action, ObjectRef, ReclaimPolicy};
use crate::plan::{Change, Purpose};

/// How often what the watches bring is looked through.
pub(super) const GLANCE: Duration = Duration::from_millis(100);
/// How often the server is asked where no watch tells.
pub(super) const ASK: Duration = Duration::from_secs(2);

/// Waits for what follows a write that the server has answered with `written`.
pub(super) async fn verify(
    view: &View,
    change: &Change,
    done: usize,
    written: &Value,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let action = &change.proposal.steps[done];
    let policy = written["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    let only_written = matches!(change.purpose, Purpose::Revert(_));
    match action {
        // Nothing follows from it.
        Action::SetReclaimPolicy { to, .. } if only_written || *to == ReclaimPolicy::Retain => {
            if policy == to.to_string() {
                return (Outcome::Done, format!("its policy is {to}"));
            }
            // Somebody in between answered something else.
            (Outcome::Pending, format!("the API server shows the policy {policy:?}"))
        }
        Action::CreateVolume { .. } if change.purpose.destroys() => {
            created::until_reclaimed(view, change, wait).await
        }
        Action::CreateVolume { .. } => created::until_settled(view, change, wait).await,
        Action::SetReclaimPolicy { .. } | Action::CondemnVolume { .. } => {
            let gone = "the object is gone, which its provisioner removes after the driver has answered DeleteVolume";
            // The watch may not have brought what was written: Retain then is what it was before.
            let taken = view.take_in(&change.object.key, Some(written));
            until_gone(view, &change.object, wait, gone, taken.is_ok()).await
        }
        Action::DeleteVolume { .. } => {
            let gone = "the object is gone; the backend volume was left alone";
            until_gone(view, &change.object, wait, gone, false).await
        }
        Action::DeleteAttachment { .. } => {
            let gone = "the attachment is gone: its attacher has detached the disk";
            until_gone(view, &change.object, wait, gone, false).await
        }
        Action::RemoveFinalizer { object, finalizer, .. } => {
            let following = change.proposal.steps.get(done + 1..).unwrap_or_default();
            let last = !matches!(following.first(), Some(Action::RemoveFinalizer { .. }));
            // The API server keeps a name that somebody put in twice.
            let again = |it: &&Action| matches!(it, Action::RemoveFinalizer { finalizer: other, .. } if other == finalizer);
            let removal = finalizer::Removal {
                object,
                finalizer,
                again: following.iter().filter(again).count(),
            };
            removal.followed(view, written, wait.filter(|_| last)).await
        }
        Action::AddFinalizer { finalizer, .. } => finalizer::added(finalizer, written),
        Action::ReserveVolume { .. } | Action::ReclaimBackend { .. } => {
            (Outcome::Done, "the API server has it so".to_owned())
        }
    }
}

/// Where the backend volume is to go too, somebody who takes the policy back stops that, or does
/// not: the provisioner may have begun. An object that goes then proves nothing.
pub(super) async fn until_gone(
    view: &View,
    object: &ObjectRef,
    wait: Option<Duration>,
    gone: &str,
    by_policy: bool,
) -> (Outcome, String) {
    let Some(wait) = wait else {
        return (Outcome::Pending, "nobody waited for it".to_owned());
    };
    let (began, mut asked) = (Instant::now(), Instant::now());
    let name = &object.key.name;
    let (mut trouble, mut taken_back) = (None, None);
    loop {
        if let Err(error) = view.catch_up() {
            trouble = Some(error.to_string());
        }
        let policy = view.volume(name, |it| {
            let volume = it.filter(|volume| volume.metadata.uid == object.uid)?;
            Some(volume.reclaim_policy.clone())
        });
        let seen = view.is_seen(object);
        if let Some(policy) = policy.filter(|_| by_policy) {
            taken_back = Some(policy).filter(|it| *it != ReclaimPolicy::Delete);
        }
        let over = began.elapsed() >= wait;
        // That nothing is seen any more is confirmed by asking, whatever the watch says.
        if !seen || over || asked.elapsed() >= ASK {
            asked = Instant::now();
            match view.is_gone(object).await {
                Ok(true) => return is_gone(taken_back.as_ref(), gone),
                Ok(false) => trouble = None,
                Err(error) => trouble = Some(error.to_string()),
            }
        }
        if over {
            break;
        }
        tokio::time::sleep(GLANCE).await;
    }
    let last = trouble.or_else(|| view.last_complaint(&object.key));
    let last = last.map_or_else(String::new, |last| format!("; last heard: {last}"));
    let waited = crate::model::format_duration(wait);
    (Outcome::Pending, format!("it is still there after {waited}{last}"))
}

fn is_gone(taken_back: Option<&ReclaimPolicy>, gone: &str) -> (Outcome, String) {
    let Some(policy) = taken_back else { return (Outcome::Done, gone.to_owned()) };
    let detail = format!(
        "the object is gone, but somebody had set its policy to {policy} before: whether its backend volume was deleted is not known, ask the storage backend"
    );
    (Outcome::Pending, detail)
}

//! Waits until an object is deleted.

use std::time::{Duration, Instant};

use super::super::Outcome;
use super::super::current_cluster::CurrentCluster;
use crate::model::{ObjectRef, ReclaimPolicy, format_duration};

/// How often what the watches have brought is checked.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How often the API server is asked where a watch brings nothing.
pub(super) const ASK_INTERVAL: Duration = Duration::from_secs(2);

/// Waits until an object is deleted. `by_policy`: its backend volume is deleted with it, because of
/// the policy Delete. Where another client changes the policy meanwhile, the provisioner may or may
/// not have begun, and the deletion of the object proves nothing.
pub(super) async fn until_gone(
    cluster: &CurrentCluster,
    object: &ObjectRef,
    wait: Option<Duration>,
    gone: &str,
    by_policy: bool,
) -> (Outcome, String) {
    let Some(wait) = wait else {
        return (Outcome::Pending, "not verified: --wait=false".to_owned());
    };
    let (began, mut asked) = (Instant::now(), Instant::now());
    let name = &object.key.name;
    let (mut trouble, mut changed_policy) = (None, None);
    loop {
        if let Err(error) = cluster.catch_up() {
            trouble = Some(error.to_string());
        }
        let policy = cluster.volume(name, |it| {
            let volume = it.filter(|volume| volume.metadata.uid == object.uid)?;
            Some(volume.reclaim_policy.clone())
        });
        let seen = cluster.exists_as_read(object);
        if let Some(policy) = policy.filter(|_| by_policy) {
            changed_policy = Some(policy).filter(|it| *it != ReclaimPolicy::Delete);
        }
        let over = began.elapsed() >= wait;
        // That the object does not exist is confirmed by the API server, whatever the watch says.
        if !seen || over || asked.elapsed() >= ASK_INTERVAL {
            asked = Instant::now();
            match cluster.is_deleted(object).await {
                Ok(true) => return deleted(changed_policy.as_ref(), gone),
                Ok(false) => trouble = None,
                Err(error) => trouble = Some(error.to_string()),
            }
        }
        if over {
            break;
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
    let last = trouble.or_else(|| cluster.last_error(&object.key));
    let last = last.map_or_else(String::new, |last| format!("; last error: {last}"));
    let waited = format_duration(wait);
    (Outcome::Pending, format!("it still exists after {waited}{last}"))
}

/// Waits until an object of which no watch brings anything is deleted.
pub(super) async fn until_deleted(
    cluster: &CurrentCluster,
    object: &ObjectRef,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let Some(wait) = wait else {
        return (Outcome::Pending, "not verified: --wait=false".to_owned());
    };
    let began = Instant::now();
    loop {
        let trouble = match cluster.is_deleted(object).await {
            Ok(true) => return (Outcome::Done, "it is deleted".to_owned()),
            Ok(false) => String::new(),
            Err(error) => format!("; last error: {error}"),
        };
        if began.elapsed() >= wait {
            let waited = format_duration(wait);
            return (Outcome::Pending, format!("it still exists after {waited}{trouble}"));
        }
        tokio::time::sleep(ASK_INTERVAL).await;
    }
}

fn deleted(changed_policy: Option<&ReclaimPolicy>, gone: &str) -> (Outcome, String) {
    let Some(policy) = changed_policy else { return (Outcome::Done, gone.to_owned()) };
    let detail = format!(
        "the object is deleted, but its policy was changed to {policy} before: unknown whether \
         the backend volume was deleted; check the storage system"
    );
    (Outcome::Pending, detail)
}

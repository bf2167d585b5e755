//! Waits for what controllers do with a volume object that was created.

use std::time::{Duration, Instant};

use super::super::Outcome;
use super::super::current_cluster::{CurrentCluster, claim_of};
use super::deletion::{ASK_INTERVAL, CHECK_INTERVAL};
use crate::model::{Claim, ClaimPhase, JournalEntryNumber, ObjectRef, format_duration};
use crate::plan::ProposedChange;

/// Waits until a recreated volume object is Bound, or Released where its claim does not exist.
pub(super) async fn until_settled(
    cluster: &CurrentCluster,
    change: &ProposedChange,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let Some(wait) = wait else { return unwaited() };
    let began = Instant::now();
    let object = ObjectRef { key: change.object.key.clone(), uid: None };
    loop {
        let seen = match cluster.read_again(&object).await {
            Ok(Some(live)) => {
                let phase = live["status"]["phase"].as_str().unwrap_or_default().to_owned();
                let uid = live["spec"]["claimRef"]["uid"].as_str().map(str::to_owned);
                let its_own = |claim: &&Claim| {
                    let found = claim.metadata.uid.as_ref().map(ToString::to_string);
                    found == uid && uid.is_some()
                };
                let claim = claim_of(&live).and_then(|key| {
                    cluster.claim(&key, |it| it.filter(its_own).map(|it| it.phase.clone()))
                });
                let claimed = claim.is_some();
                // The volume controller sets the phase of the volume first.
                let waits = claim.is_some_and(|it| it != ClaimPhase::Bound);
                // Its attacher can detach it now.
                let detaching = cluster.detaching(&object.key.name);
                match (phase.as_str(), claimed) {
                    ("Bound", true) if waits => "its claim is not Bound".to_owned(),
                    ("Bound", true) if detaching.is_empty() => {
                        return (Outcome::Done, "it is bound to its claim again".to_owned());
                    }
                    ("Released", false) if detaching.is_empty() => {
                        let told = "it is Released with policy Retain, and references the same \
                                    backend volume";
                        return (Outcome::Done, told.to_owned());
                    }
                    ("Bound", true) | ("Released", false) => {
                        format!("{} is not detached", detaching.join(", "))
                    }
                    ("Available", _) => {
                        let told = "it is Available: its spec.claimRef was removed, and any \
                                    matching claim can bind it";
                        return (Outcome::Pending, told.to_owned());
                    }
                    (phase, _) => format!("its phase is {phase:?}"),
                }
            }
            Ok(None) => return (Outcome::Pending, "it was deleted again".to_owned()),
            Err(error) => error.to_string(),
        };
        if began.elapsed() >= wait {
            let waited = format_duration(wait);
            return (Outcome::Pending, format!("it was created, and after {waited} {seen}"));
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Waits until a provisioner has deleted a placeholder volume, after its driver has deleted the
/// backend volume. `entry` is the journal entry that kept the backend volume.
pub(in super::super) async fn until_reclaimed(
    cluster: &CurrentCluster,
    change: &ProposedChange,
    entry: Option<JournalEntryNumber>,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let Some(wait) = wait else { return unwaited() };
    let began = Instant::now();
    let name = &change.object.key.name;
    let object = ObjectRef { key: change.object.key.clone(), uid: None };
    let mut pause = CHECK_INTERVAL;
    loop {
        let seen = match cluster.read_again(&object).await {
            // Its provisioner deletes it only after the driver's answer.
            Ok(None) => {
                let told = "the placeholder volume is deleted; its provisioner removes it only \
                            after DeleteVolume succeeded";
                return (Outcome::Done, told.to_owned());
            }
            Ok(Some(live)) => {
                let policy = live["spec"]["persistentVolumeReclaimPolicy"].as_str();
                let policy = policy.unwrap_or_default();
                if policy != "Delete" {
                    let told = format!(
                        "the policy of pv/{name} was changed to {policy}: the backend volume may \
                         be partly deleted"
                    );
                    return (Outcome::Pending, told);
                }
                let complaint = cluster.last_error(&object.key);
                let last = complaint.map_or_else(String::new, |it| format!("; last error: {it}"));
                format!("pv/{name} still exists{last}")
            }
            Err(error) => error.to_string(),
        };
        if began.elapsed() >= wait {
            let again = match entry {
                Some(entry) => {
                    format!("`kubectl storage destroy-orphan --from-journal {}`", entry.arguments())
                }
                None => "the same command".to_owned(),
            };
            let waited = format_duration(wait);
            return (Outcome::Pending, format!("after {waited} {seen}; {again} continues to wait"));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(ASK_INTERVAL);
    }
}

pub(super) fn unwaited() -> (Outcome, String) {
    (Outcome::Pending, "not verified: --wait=false".to_owned())
}

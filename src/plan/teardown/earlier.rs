//! What earlier runs of a teardown have done, by the journal alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::journal::History;
use crate::model::{ObjectRef, Uid};
use crate::remedies::{self, STOP};

/// Command in plans and in the journal of a teardown that destroys data.
pub const DESTROY: &str = "teardown";
/// Command in plans and in the journal of a teardown that keeps data: what it kept, no other one destroys.
pub const KEEP: &str = "teardown --keep-data";

/// What the journal tells of earlier runs of a teardown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EarlierSteps {
    /// Uids of the workloads that were stopped, and not started again by `undo`.
    pub stopped: BTreeSet<Uid>,
    /// Uids of the volumes that were set to Retain, and whose policy nothing in the journal has changed since.
    pub retained: BTreeSet<Uid>,
    /// Volumes whose policy may have been set back to Delete: by an entry of which that is unknown. Each with the
    /// `resourceVersion` that it had before.
    pub unsettled: Vec<(ObjectRef, String)>,
    /// Entries that stopped a workload, with the workload.
    pub entries: Vec<(u64, ObjectRef)>,
}

impl EarlierSteps {
    /// Reads what a teardown that destroys data, or keeps it, has done so far.
    pub fn of(history: &History, destroys: bool) -> Self {
        let command = if destroys { DESTROY } else { KEEP };
        let undone = history.undone();
        let mut steps = Self::default();
        // Names of the volumes that were held, by which claims name them.
        let mut held: BTreeMap<Uid, Box<str>> = BTreeMap::new();
        for entry in &history.entries {
            let intent = &entry.intent;
            let Some(uid) = intent.object.uid.clone() else { continue };
            if !entry.may_have_written() || undone.contains(&entry.sequence) {
                continue;
            }
            let is_own = intent.command == command;
            // What another command does with a volume is a decision about it: it was given back, or kept.
            if !is_own {
                steps.forget(&uid);
                if intent.action == remedies::DELETE_CLAIM.id {
                    let claim = intent.pre_image.as_ref();
                    let volume = claim.and_then(|it| it["spec"]["volumeName"].as_str());
                    let of_claim = |name: &str| volume == Some(name);
                    let kept: Vec<_> = held
                        .iter()
                        .filter(|(_, name)| of_claim(name))
                        .map(|it| it.0.clone())
                        .collect();
                    for uid in &kept {
                        steps.forget(uid);
                    }
                }
                continue;
            }
            match &*intent.action {
                "scale-workload" if intent.because == STOP.id => {
                    steps.entries.retain(|(_, it)| *it != intent.object);
                    steps.entries.push((entry.sequence, intent.object.clone()));
                    steps.stopped.insert(uid);
                }
                "set-reclaim-policy" => {
                    let before = intent.pre_image.as_ref();
                    let before = before.map(|it| &it["spec"]["persistentVolumeReclaimPolicy"]);
                    let is_ours = intent.because == remedies::RETAIN.id
                        && before.is_some_and(|it| it == "Delete");
                    steps.unsettled.retain(|(it, _)| it.uid.as_ref() != Some(&uid));
                    let version = intent.pre_image.as_ref();
                    let version = version.and_then(|it| it["metadata"]["resourceVersion"].as_str());
                    match (is_ours, version) {
                        (true, _) => {
                            held.insert(uid.clone(), intent.object.key.name.clone());
                            steps.retained.insert(uid);
                        }
                        // The run was killed before it knew.
                        (false, Some(version)) if !entry.wrote() && steps.retained.remove(&uid) => {
                            steps.unsettled.push((intent.object.clone(), version.to_owned()));
                        }
                        // What was given back is Delete.
                        (false, _) => {
                            steps.retained.remove(&uid);
                        }
                    }
                }
                _ => {}
            }
        }
        steps
    }

    /// Leaves a volume to what was decided about it.
    fn forget(&mut self, uid: &Uid) {
        self.retained.remove(uid);
        self.unsettled.retain(|(it, _)| it.uid.as_ref() != Some(uid));
    }
}

#[cfg(test)]
mod tests;

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
    /// Uids of the volumes that were set to Retain from another policy than Delete, likewise.
    pub held: BTreeSet<Uid>,
    /// Volumes whose policy may have been set back to Delete: by an entry of which that is unknown. Each with the
    /// `resourceVersion` that it had before.
    pub unsettled: Vec<(ObjectRef, String)>,
    /// Entries by which any teardown stopped a workload, with the workload.
    pub entries: Vec<(u64, ObjectRef)>,
}

impl EarlierSteps {
    /// Reads what a teardown that destroys data, or keeps it, has done so far.
    pub fn of(history: &History, destroys: bool) -> Self {
        let command = if destroys { DESTROY } else { KEEP };
        let undone = history.undone();
        let mut steps = Self::default();
        // Names of the volumes that were held, by which claims name them.
        let mut names: BTreeMap<Uid, Box<str>> = BTreeMap::new();
        for entry in &history.entries {
            let intent = &entry.intent;
            let Some(uid) = intent.object.uid.clone() else { continue };
            if !entry.may_have_written() || undone.contains(&entry.sequence) {
                continue;
            }
            let is_own = intent.command == command;
            if intent.because == STOP.id {
                steps.entries.retain(|(_, it)| *it != intent.object);
                steps.entries.push((entry.sequence, intent.object.clone()));
                steps.stopped.extend(is_own.then(|| uid.clone()));
            }
            // What another command does with a volume is a decision about it: it was given back, or kept.
            if !is_own {
                steps.forget(&uid);
                if intent.action == remedies::DELETE_CLAIM.id {
                    let claim = intent.pre_image.as_ref();
                    let volume = claim.and_then(|it| it["spec"]["volumeName"].as_str());
                    for (uid, _) in names.iter().filter(|(_, name)| volume == Some(&***name)) {
                        steps.forget(uid);
                    }
                }
                continue;
            }
            if intent.action != "set-reclaim-policy" {
                continue;
            }
            let before = intent.pre_image.as_ref();
            let was_delete =
                before.is_some_and(|it| it["spec"]["persistentVolumeReclaimPolicy"] == "Delete");
            let version = before.and_then(|it| it["metadata"]["resourceVersion"].as_str());
            let is_unsettled = steps.unsettled.iter().any(|(it, _)| it.uid.as_ref() == Some(&uid));
            let was_ours = is_unsettled || steps.retained.contains(&uid);
            // The last entry decides.
            steps.forget(&uid);
            if intent.because == remedies::RETAIN.id {
                names.insert(uid.clone(), intent.object.key.name.clone());
                match was_delete {
                    true => steps.retained.insert(uid),
                    false => steps.held.insert(uid),
                };
            } else if let Some(version) = version.filter(|_| was_ours && !entry.wrote()) {
                // The run was killed before it knew whether it was given back.
                steps.unsettled.push((intent.object.clone(), version.to_owned()));
            }
        }
        steps
    }

    /// Leaves a volume to what was decided about it.
    fn forget(&mut self, uid: &Uid) {
        self.retained.remove(uid);
        self.held.remove(uid);
        self.unsettled.retain(|(it, _)| it.uid.as_ref() != Some(uid));
    }
}

#[cfg(test)]
mod tests;

//! Reclaims a Released volume: sets its policy to Delete, so that its reclaiming controller deletes
//! the backend volume, then the object (R-2644-10). The tool does not delete the object itself.

use super::released::{self, ReleaseDemand};
use super::{Remedy, checks, exclusive, keep_backend};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, Owner, StaticDeletion};
use crate::model::{
    Action, ControllerRole, Effect, FinalizerEdit, Loss, Proposal, ReclaimPolicy, Refusal, Text,
    Threshold, Volume, format_duration,
};

/// Sets the policy of a Released volume from Retain to Delete (P-POLICY), with every check of F01.
pub static REMEDY: Remedy = Remedy {
    id: "reclaim",
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, StorageClass, VolumeSnapshotContent, VolumeGroupSnapshotContent, Secret, ReplicationController, Job, CronJob, SubjectAccessReview],
    writes: &[("patch", "persistentvolumes")],
    command: |cx, volume| {
        let age = format_duration(cx.settings().thresholds.get(Threshold::OlderThan));
        Some(format!("gc {} --older-than {age}", facts::on_command_line(&volume.object())))
    },
    propose,
};

/// Reason why the deletion of a backend volume cannot be undone.
pub const DELETED_AT_ONCE: &str = "its controller deletes the backend volume immediately";

fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    reclaim(cx, volume, ReleaseDemand::Aged)
}

/// Proposes or refuses to reclaim a volume whose claim this tool has just deleted, whatever its age.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose_released(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    reclaim(cx, volume, ReleaseDemand::JustReleased)
}

fn reclaim(cx: &Cx, volume: &Volume, demand: ReleaseDemand) -> Seen<Result<Proposal, Refusal>> {
    let owner = facts::owner(volume);
    let mut notices = Vec::new();
    let effect = |finalizer, what: &str, risk: &str| Effect {
        what: format!(
            "sets the reclaim policy to Delete{}; then {} {what}",
            facts::finalizer_in_words(finalizer),
            owner.describe()
        ),
        risk: format!("{risk}; Retain is often deliberate"),
    };
    let refuse = |reason| {
        Ok(Err(Refusal {
            reason,
            effect: effect(
                FinalizerEdit::Untouched,
                "deletes the backend volume and the object",
                "the data can be destroyed",
            ),
        }))
    };
    let mut relies_on = checks::ReliedFlags::default();
    let clearance = match check(cx, volume, (&owner, demand), &mut notices, &mut relies_on)? {
        Ok(found) => found,
        Err(reason) => {
            return refuse(forward(cx, volume, demand, relies_on.besides(reason)));
        }
    };
    let relies_on = match relies_on.settled_for(cx)? {
        Ok(flags) => flags,
        Err(reason) => return refuse(reason),
    };
    let finalizer = checks::with_delete(cx, volume, &mut notices);
    let what = clearance.with_object("the object");
    let effect = |finalizer| effect(finalizer, &what, clearance.risk());
    Ok(Ok(Proposal {
        steps: vec![Action::SetReclaimPolicy {
            volume: volume.object(),
            from: ReclaimPolicy::Retain,
            to: ReclaimPolicy::Delete,
            doubts_backend: false,
            finalizer,
        }],
        effect: effect(finalizer),
        undo: clearance.undo(),
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// Adds a possible alternative to the reason of a refusal that no flag lifts.
fn forward(cx: &Cx, volume: &Volume, demand: ReleaseDemand, reason: String) -> String {
    let is_offered = demand == ReleaseDemand::Aged && !reason.contains("--keep-backend");
    let propose = keep_backend::REMEDY.propose;
    let is_allowed = || matches!(propose(cx, volume), Ok(Ok(_)));
    match (keep_backend::REMEDY.command)(cx, volume).filter(|_| is_offered && is_allowed()) {
        Some(command) => format!(
            "{reason}; `kubectl storage {command}` deletes the object and records the backend volume"
        ),
        None => reason,
    }
}

/// Makes every check, cheapest first; the first that no flag lifts is the reason. Returns what the
/// driver will do.
fn check(
    cx: &Cx,
    volume: &Volume,
    (owner, demand): (&Owner, ReleaseDemand),
    notices: &mut Vec<String>,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<Result<exclusive::Clearance, String>> {
    checks::all!(
        released::is_left_over(cx, volume, demand, relies_on)?,
        released::backend_can_go(cx, volume)?,
        released::pods_are_gone(cx, volume)?,
        released::nobody_wants_its_claim(cx, volume, notices, relies_on)?,
        match demand {
            ReleaseDemand::Aged => Ok(()),
            ReleaseDemand::JustReleased => {
                released::no_custom_resource_wants_its_claim(cx, volume, notices, relies_on)
            }
        },
        drivers_agree(volume, owner),
    );
    let mut clearance = match exclusive::clearance(cx, volume, owner, None, None, relies_on)? {
        Ok(clearance) => clearance,
        Err(reason) => return Ok(Err(reason)),
    };
    notices.append(&mut clearance.notices);
    checks::all!(
        exclusive::made_here(cx, volume, owner, relies_on),
        exclusive::allow_deletion(cx, volume, owner, notices, relies_on)?,
        owner_will_act(cx, volume, owner, Some(relies_on))?,
        checks::secret_is_there(cx, volume, owner)?,
    );
    notice_word(relies_on, notices);
    if let Some(finalizers) = checks::third_party_finalizers(volume) {
        notices.push(checks::blocked_by(&finalizers));
    }
    if let Some(driver) = owner.csi()
        && cx.csi_driver(driver)?.is_some_and(|driver| !driver.attach_required)
    {
        notices.push(checks::attaches_without_trace(driver));
    }
    Ok(Ok(clearance))
}

/// Refuses unless a reclaiming controller runs that deletes the backend volume of a volume with
/// policy Delete. With `word`, `--provisioner-alive` counts where nothing shows whether it runs.
pub(super) fn owner_will_act(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    word: Option<&mut checks::ReliedFlags>,
) -> Seen<checks::Checked> {
    Ok(match owner {
        Owner::Csi(driver) => {
            if facts::unmigrated(volume, cx.server()).is_some() {
                let owner = facts::describe_owner(volume, cx.server());
                return Ok(Err(format!("unknown which controller would delete it: {owner}")));
            }
            if let Err(reason) = drivers_agree(volume, owner) {
                return Ok(Err(reason));
            }
            let (who, name) = (format!("csi-provisioner of {driver}"), &**driver);
            let state = facts::provisioner(cx, driver);
            let needed = checks::Needed { who, name, vouch: checks::Vouch::Provisioner, state };
            if let Err(reason) = checks::alive(cx, &needed, word)? {
                return Ok(Err(reason));
            }
            match volume.is_dynamic() {
                true => Ok(()),
                false => deletes_static(cx, driver)?,
            }
        }
        Owner::External(provisioner) => {
            if let Some(node) = facts::recreated_node(cx, provisioner) {
                return Ok(Err(format!(
                    "node {node} was recreated, and the provisioner there ignores the volumes of \
                     {provisioner}"
                )));
            }
            let (who, name) = (format!("external provisioner {provisioner}"), &**provisioner);
            let state = facts::provisioner(cx, provisioner);
            let needed = checks::Needed { who, name, vouch: checks::Vouch::Provisioner, state };
            if let Err(reason) = checks::alive(cx, &needed, word)? {
                return Ok(Err(reason));
            }
            match facts::deletes_since_its_start(cx, provisioner, volume) {
                Some(true) => Ok(()),
                Some(false) => Err(format!(
                    "{} was started after the volume was created, and never deletes such volumes",
                    needed.who
                )),
                None => Err(format!(
                    "{} deletes only volumes that it created since its start, and its start time \
                     is unknown",
                    needed.who
                )),
            }
        }
        Owner::InTree(plugin) => match facts::known_deletable(plugin, cx.server()) {
            Some(true) => {
                let name = ControllerRole::ControllerManager.name();
                let state = facts::controller_manager(cx);
                let (who, vouch) = (name.to_owned(), checks::Vouch::Provisioner);
                checks::alive(cx, &checks::Needed { who, name, vouch, state }, word)?
            }
            Some(false) => Err(format!(
                "no controller of this Kubernetes version can delete \
                                        volumes of plugin {plugin}"
            )),
            None => Err(format!(
                "unknown whether this Kubernetes version can delete volumes of \
                                 plugin {plugin}"
            )),
        },
        Owner::StaticInTree(source) => {
            Err(format!("no controller deletes static in-tree volumes ({source})"))
        }
    })
}

/// Adds the notice that the proposal relies on the assertion that a provisioner is running.
pub(super) fn notice_word(relies_on: &checks::ReliedFlags, notices: &mut Vec<String>) {
    if relies_on.contains(checks::PROVISIONER_ALIVE) {
        notices.push(
            "no evidence shows that its provisioner is running: until one runs, the volume \
             remains Released with policy Delete, and its deletion begins as soon as one runs"
                .to_owned(),
        );
    }
}

/// Refuses where one driver would delete by a handle of another driver.
fn drivers_agree(volume: &Volume, owner: &Owner) -> checks::Checked {
    let named = volume.source.driver();
    match owner.csi().and_then(|driver| Some((driver, named.filter(|named| *named != driver)?))) {
        None => Ok(()),
        Some((driver, named)) => {
            Err(format!("its driver is {named}, but {driver} would delete it"))
        }
    }
}

/// Refuses unless csi-provisioner deletes static volumes, as it does from 3.5 on (R-2644-8).
fn deletes_static(cx: &Cx, driver: &Text) -> Seen<checks::Checked> {
    Ok(match facts::deletes_static_volumes(cx, driver)? {
        StaticDeletion::Always => Ok(()),
        StaticDeletion::Never => {
            Err("its csi-provisioner is older than 3.5 and never deletes statically provisioned \
                 volumes"
                .to_owned())
        }
        StaticDeletion::Sometimes | StaticDeletion::Unknown => {
            Err("unknown whether its csi-provisioner deletes statically provisioned volumes: not \
                 every one is known to be 3.5 or later"
                .to_owned())
        }
    })
}

#[cfg(test)]
mod tests;

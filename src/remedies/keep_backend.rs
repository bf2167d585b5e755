//! Deletes the object of a Released volume and keeps the backend volume: P-DELETE while the policy
//! is Retain. Afterwards only the record of this tool references the backend volume.

use super::{Remedy, checks, released, released::ReleaseDemand};
use crate::cluster::{Cx, Seen};
use crate::drivers::ObjectDropped;
use crate::facts;
use crate::model::{
    Action, Effect, Kind, Loss, Proposal, Refusal, Threshold, Undo, Volume, format_duration,
};

/// Deletes the object of a Released volume and keeps the backend volume: `gc --keep-backend` (F01, alternative).
///
/// Another volume may reference the same backend volume: deleting the redundant object is a purpose
/// of this remedy (F07). No controller of the driver is required, since nothing is deleted at the
/// backend.
pub static REMEDY: Remedy = Remedy {
    id: "keep-backend",
    needs: &[
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::Pod,
        Kind::Node,
        Kind::VolumeAttachment,
        Kind::VolumeSnapshotContent,
        Kind::VolumeGroupSnapshotContent,
    ],
    writes: &[("delete", "persistentvolumes")],
    command: |cx, volume| {
        let age = format_duration(cx.settings().thresholds.get(Threshold::OlderThan));
        let object = facts::on_command_line(&volume.object());
        Some(format!("gc {object} --older-than {age} --keep-backend"))
    },
    propose,
};

fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let effect = Effect {
        what: "deletes the PersistentVolume and keeps the backend volume, which only the record \
               of kept backend volumes references then"
            .to_owned(),
        risk: "the backend volume is billed until it is deleted, at the storage system or with \
               destroy-orphan"
            .to_owned(),
    };
    let (mut notices, mut relies_on) = (Vec::new(), checks::ReliedFlags::default());
    if let Err(reason) = check(cx, volume, &mut notices, &mut relies_on)? {
        return Ok(Err(Refusal { reason, effect }));
    }
    if let Some(finalizers) = checks::third_party_finalizers(volume) {
        notices.push(checks::blocked_by(&finalizers));
    }
    if cx.settings().recording.journal_only {
        notices.push("only the journal of this machine will record the backend volume".to_owned());
        relies_on.rely("--journal-only");
    }
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return Ok(Err(Refusal { reason, effect })),
    };
    Ok(Ok(Proposal {
        steps: vec![Action::DeleteVolume { volume: volume.object() }],
        effect,
        undo: Undo::Recreate,
        notices,
        relies_on,
        keeps_backend: true,
        loses: Loss::default(),
    }))
}

fn check(
    cx: &Cx,
    volume: &Volume,
    notices: &mut Vec<String>,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<checks::Checked> {
    let owner = facts::owner(volume);
    match facts::provisioning_family(cx, volume, &owner).object_dropped {
        Some(ObjectDropped::Destroys(how)) => {
            return Ok(Err(format!(
                "deleting only the PersistentVolume is unsafe with {}: {how}",
                owner.name()
            )));
        }
        Some(ObjectDropped::Notice(what)) => notices.push(what.to_owned()),
        None => {}
    }
    checks::all!(
        released::is_left_over(cx, volume, ReleaseDemand::Aged, relies_on)?,
        released::is_detached(cx, volume)?,
        checks::on_no_node(cx, volume)?,
        released::hosts_answer(cx, volume)?,
        released::pods_are_gone(cx, volume)?,
        checks::no_snapshot_in_progress(cx, volume, notices)?,
    );
    Ok(Ok(()))
}

//! Deletes a `StatefulSet` or a namespace, with which Kubernetes deletes claims, after it is known
//! what becomes of the data of each.
//!
//! The DELETE carries the uid and the resourceVersion of the object: the guard knows the tool by
//! these, and lets it pass.

use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::retention::{ClaimOutcome, Operation, Propagation, SetSituation, simulate_steps};
use crate::facts::{self, ClaimDataEffect};
use crate::model::{
    Action, Cascade, Claim, Effect, Kind, ObjectKey, ObjectRef, Proposal, Refusal, Text, Undo,
};

const DESTROY_DATA: &str = "--destroy-data";
const DESTROY_SNAPSHOTS: &str = "--destroy-snapshots";
/// How many claims a refusal names.
const NAMED: usize = 5;

/// Returns the name of this purpose.
pub const fn id(cascade: Cascade) -> &'static str {
    match cascade {
        Cascade::Background => "delete-with-claims",
        Cascade::Foreground => "delete-with-claims-foreground",
        Cascade::Orphan => "delete-with-claims-orphan",
    }
}

/// What becomes of the claims of an object that is deleted.
#[derive(Default)]
struct Fates {
    /// A line for each claim.
    lines: Vec<String>,
    /// The claims whose data is destroyed, or may be.
    lost: Vec<String>,
    /// The snapshots that are destroyed.
    snapshots: Vec<String>,
    /// How many claims are deleted, or may be.
    deleted: usize,
}

impl Fates {
    /// Adds a claim that is deleted, or may be for this reason.
    fn deleted(&mut self, cx: &Cx, claim: &Claim, doubt: Option<&str>) -> Seen<()> {
        let name = claim.object().to_string();
        self.deleted += 1;
        let what = match doubt {
            None => "is deleted".to_owned(),
            Some(doubt) => format!("may be deleted: {doubt}"),
        };
        let effect = facts::data_effect(cx, claim);
        let data = match &effect {
            ClaimDataEffect::Unseen(reason) => {
                return Err(Unseen {
                    kind: Kind::PersistentVolume,
                    namespace: None,
                    reason: format!("what becomes of the data of {name} is unknown: {reason}"),
                });
            }
            ClaimDataEffect::NoVolume => "it has no volume".to_owned(),
            ClaimDataEffect::Kept(volume) => format!("{} keeps its data", volume.object()),
            ClaimDataEffect::Destroyed(volume) => {
                format!("the data of {} is destroyed", volume.object())
            }
            ClaimDataEffect::Scrubbed(volume) => {
                format!("the data of {} is scrubbed", volume.object())
            }
        };
        self.lines.push(format!("{name} {what}; {data}"));
        if effect.loses_data() {
            self.lost.push(name);
        }
        Ok(())
    }
}

/// Proposes or refuses the deletion of a `StatefulSet` or a namespace.
///
/// # Errors
/// When its claims or their volumes were not read.
pub fn propose(cx: &Cx, object: &ObjectRef, cascade: Cascade) -> Seen<Result<Proposal, Refusal>> {
    let fates = match object.key.kind {
        Kind::StatefulSet => match of_set(cx, object, cascade)? {
            Ok(fates) => fates,
            Err(reason) => return Ok(Err(refusal(reason))),
        },
        _ => of_namespace(cx, &Text::from(&*object.key.name))?,
    };
    let claims = match fates.deleted {
        0 => "no claim".to_owned(),
        1 => "1 claim".to_owned(),
        many => format!("{many} claims"),
    };
    let what = format!("deletes {object}, and {claims} with it");
    let risk = match fates.lost.is_empty() && fates.snapshots.is_empty() {
        true => "what else belongs to it is deleted too",
        false => "the data is permanently destroyed",
    };
    let effect = Effect { what, risk: risk.to_owned() };
    let settings = cx.settings();
    let mut relies_on = Vec::new();
    for (lost, flag, given, of) in [
        (&fates.lost, DESTROY_DATA, settings.destroy_data, "the data"),
        (&fates.snapshots, DESTROY_SNAPSHOTS, settings.destroy_snapshots, "the content"),
    ] {
        if lost.is_empty() {
            continue;
        }
        if !given {
            let reason = format!(
                "{of} of {} is destroyed, or may be; {flag} allows this{}",
                named(lost),
                alternative(object, flag)
            );
            return Ok(Err(Refusal { reason, effect }));
        }
        relies_on.push(flag);
    }
    Ok(Ok(Proposal {
        steps: vec![Action::DeleteWithClaims { object: object.clone(), cascade }],
        effect,
        undo: Undo::Never("what is deleted with it is not recreated"),
        notices: fates.lines,
        relies_on,
        keeps_backend: false,
    }))
}

/// How the data can be kept.
fn alternative(object: &ObjectRef, flag: &str) -> &'static str {
    match (object.key.kind, flag) {
        (Kind::StatefulSet, DESTROY_DATA) => {
            ", --cascade=orphan keeps pods and claims, and `kubectl storage retain pvc/NAME` keeps \
             the data of a claim"
        }
        (_, DESTROY_DATA) => ", and `kubectl storage retain pvc/NAME` keeps the data of a claim",
        _ => "",
    }
}

fn named(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len() - names.len().min(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn refusal(reason: String) -> Refusal {
    Refusal { reason, effect: Effect { what: String::new(), risk: String::new() } }
}

/// What becomes of the claims of a set, or why it cannot be deleted.
fn of_set(cx: &Cx, object: &ObjectRef, cascade: Cascade) -> Seen<Result<Fates, String>> {
    let namespace = object.key.namespace.clone().unwrap_or_else(|| Text::from(""));
    let Some(set) = cx.set(&namespace, &object.key.name)? else {
        return Ok(Err("it does not exist".to_owned()));
    };
    if object.uid.is_some() && set.metadata.uid != object.uid {
        return Ok(Err("it was deleted and recreated under the same name".to_owned()));
    }
    if set.metadata.deleting.is_some() {
        return Ok(Err("it is Terminating already".to_owned()));
    }
    let situation = SetSituation::of(cx, set)?;
    let propagation = match cascade {
        Cascade::Background => Propagation::Background,
        Cascade::Foreground => Propagation::Foreground,
        Cascade::Orphan => Propagation::Orphan,
    };
    let mut fates = Fates::default();
    for prediction in simulate_steps(&situation, &[Operation::DeleteSet(propagation)]) {
        let stem = format!("{}-{}", prediction.template, set.metadata.name);
        let Some(claim) = cx.sibling(&namespace, &stem, prediction.ordinal)? else { continue };
        match &prediction.outcome {
            ClaimOutcome::Kept | ClaimOutcome::Reowned(_) => {
                fates.lines.push(format!("{} is kept", claim.object()));
            }
            ClaimOutcome::Deleted { .. } => fates.deleted(cx, claim, None)?,
            ClaimOutcome::Unknown(reason) => fates.deleted(cx, claim, Some(reason))?,
        }
    }
    Ok(Ok(fates))
}

/// What becomes of the claims and snapshots of a namespace.
fn of_namespace(cx: &Cx, name: &Text) -> Seen<Fates> {
    let cluster = cx.cluster();
    for kind in [Kind::PersistentVolumeClaim, Kind::VolumeSnapshot] {
        cluster.reach(kind, Some(name))?;
    }
    for kind in [Kind::PersistentVolume, Kind::VolumeSnapshotContent] {
        cx.all_of(kind)?;
    }
    let mut fates = Fates::default();
    let mut claims: Vec<_> =
        cluster.claims().map(|(_, it)| it).filter(|it| it.namespace == *name).collect();
    claims.sort_by_key(|it| &it.metadata.name);
    for claim in claims {
        fates.deleted(cx, claim, None)?;
    }
    let mut snapshots: Vec<_> =
        cluster.volume_snapshots().map(|(_, it)| it).filter(|it| it.namespace == *name).collect();
    snapshots.sort_by_key(|it| &it.metadata.name);
    for snapshot in snapshots {
        let Some(content) = &snapshot.content else { continue };
        let key = ObjectKey::cluster_wide(Kind::VolumeSnapshotContent, content);
        let content = match cluster.subject(&key) {
            Some(crate::cluster::Subject::Snapshot(id)) => cluster.snapshot_at(id),
            _ => None,
        };
        let kept = content.and_then(|it| it.deletion_policy.as_deref()) == Some("Retain");
        let name = snapshot.object().to_string();
        fates.lines.push(match kept {
            true => format!("{name} is deleted; its content is kept"),
            false => format!("{name} is deleted with its content"),
        });
        if !kept {
            fates.snapshots.push(name);
        }
    }
    Ok(fates)
}

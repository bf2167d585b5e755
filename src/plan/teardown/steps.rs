//! Plans of the steps of a teardown, by its survey.

use super::{DESTROY, KEEP, SurveyedVolume, TeardownSurvey, VolumeFate, VolumeStep};
use crate::cluster::Cx;
use crate::model::{Kind, ObjectKey, ObjectRef, Phase};
use crate::plan::{ObjectDetails, Plan, Purpose};
use crate::remedies::ClaimDeletionProgress;

/// Adds the changes of these objects for one purpose.
fn planned(cx: &Cx, objects: &[ObjectRef], purpose: impl Fn(&ObjectRef) -> Purpose) -> Plan {
    let destroys = cx.settings().teardown.as_ref().is_some_and(|it| it.destroys);
    let mut plan = Plan::new(if destroys { DESTROY } else { KEEP }, cx);
    for object in objects {
        let about = ObjectDetails::of_object(cx, object);
        plan.take_proposed(cx, purpose(object), object.clone(), about, true);
    }
    plan
}

/// Plans to set the policy of every volume to Retain that is in danger as soon as something is stopped.
pub fn hold(cx: &Cx, survey: &TeardownSurvey) -> Plan {
    let exposed = survey.volumes.iter().filter(|it| it.is_exposed && it.claim.is_some());
    let objects: Vec<_> = exposed.filter_map(|it| it.volume.clone()).collect();
    planned(cx, &objects, |_| Purpose::Retain)
}

/// Returns the claims that are Terminating still, and the volumes that are not Released although their claims are gone.
pub fn ending(cx: &Cx, survey: &TeardownSurvey) -> Vec<(ObjectRef, String)> {
    let ends = survey.volumes.iter().filter(|it| it.step == VolumeStep::AwaitsClaim);
    let remains = |it: &SurveyedVolume| match (&it.claim, &it.volume) {
        (Some(claim), _) => {
            let found = claim.key.as_claim().and_then(|key| cx.cluster().claim_named(&key));
            let is_it = found.is_some_and(|found| found.metadata.uid == claim.uid);
            is_it.then(|| (claim.clone(), "it is Terminating".to_owned()))
        }
        (None, Some(volume)) => {
            let found = cx.cluster().volume_named(&volume.key.name);
            let is_bound = found.is_some_and(|found| found.phase == Phase::Bound);
            is_bound.then(|| (volume.clone(), "it is not Released yet".to_owned()))
        }
        (None, None) => None,
    };
    ends.filter_map(remains).collect()
}

/// Plans to stop workloads, or to delete pods.
pub fn stop(cx: &Cx, objects: &[ObjectRef]) -> Plan {
    planned(cx, objects, |it| match it.key.kind {
        Kind::Pod => Purpose::EndPod,
        _ => Purpose::Stop,
    })
}

/// Plans to delete snapshots.
pub fn end_snapshots(cx: &Cx, survey: &TeardownSurvey) -> Plan {
    let doomed = survey.snapshots.iter().filter(|it| matches!(it.1, VolumeFate::Destroyed(_)));
    let objects: Vec<_> = doomed.map(|it| it.0.clone()).collect();
    planned(cx, &objects, |_| Purpose::DeleteSnapshot)
}

/// Plans to delete the claims, and to reclaim what is Released already.
pub fn end_claims(cx: &Cx, survey: &TeardownSurvey) -> Plan {
    let doomed = survey
        .volumes
        .iter()
        .filter(|it| matches!(it.step, VolumeStep::DeletesClaim | VolumeStep::Reclaims));
    let objects: Vec<_> =
        doomed.filter_map(|it| it.claim.clone().or_else(|| it.volume.clone())).collect();
    planned(cx, &objects, |object| match object.key.kind {
        Kind::PersistentVolume => {
            let volume = cx.cluster().volume_named(&object.key.name);
            let claim = volume.and_then(|it| it.claim_ref.as_ref());
            let claim = claim.map(|it| ObjectKey::claim(&it.key));
            Purpose::ReclaimReleased(Box::new(claim.unwrap_or_else(|| object.key.clone())))
        }
        _ => Purpose::DeleteClaim(ClaimDeletionProgress { retained: true }),
    })
}

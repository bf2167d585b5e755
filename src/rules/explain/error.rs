//! The last errors about an object and about objects on which it depends, in the words of the components that report
//! them.

use std::cmp::Reverse;

use super::LastError;
use super::draft::ExplanationDraft;
use crate::cluster::Cx;
use crate::facts::{self, EventSeries};
use crate::model::{
    Attachment, Claim, ClaimPhase, ObjectRef, PodUse, StatefulSet, Volume, VolumeSnapshot,
};

/// Number of errors that are shown of one object: its events can differ in anything.
const OF_ONE: usize = 20;
/// Number of pods, attachments or claims beside an object whose errors are looked up.
const BESIDE: usize = 50;

pub(super) fn of_volume(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    events(cx, &volume.object(), false, draft);
    field(&volume.object(), "status.message", volume.message.as_deref(), draft);
    attachments(cx, volume.name(), draft);
    if volume.claim_ref.is_some() {
        let claim = facts::claim_state(cx, volume).ok().and_then(|state| match state {
            facts::ClaimState::Live(claim) | facts::ClaimState::Changed(claim) => Some(claim),
            facts::ClaimState::None
            | facts::ClaimState::Reserved
            | facts::ClaimState::Absent
            | facts::ClaimState::Recreated(_) => None,
        });
        if let Some(claim) = claim {
            events(cx, &claim.object(), false, draft);
            pods(cx, claim, draft);
        }
    }
    sort(draft);
}

pub(super) fn of_claim(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    events(cx, &claim.object(), claim.phase == ClaimPhase::Pending, draft);
    let volume = claim.volume_name.as_deref().and_then(|it| cx.volume(it).ok().flatten());
    if let Some(volume) = volume {
        events(cx, &volume.object(), false, draft);
        field(&volume.object(), "status.message", volume.message.as_deref(), draft);
        attachments(cx, volume.name(), draft);
    }
    pods(cx, claim, draft);
    sort(draft);
}

pub(super) fn of_pod(cx: &Cx, pod: &PodUse, claims: &[&Claim], draft: &mut ExplanationDraft) {
    events(cx, &pod.object(), false, draft);
    for claim in claims.iter().take(BESIDE) {
        events(cx, &claim.object(), claim.phase == ClaimPhase::Pending, draft);
        if let Some(name) = &claim.volume_name {
            attachments(cx, name, draft);
        }
    }
    sort(draft);
}

pub(super) fn of_attachment(cx: &Cx, attachment: &Attachment, draft: &mut ExplanationDraft) {
    of_row(attachment, draft);
    let volume = match &attachment.source {
        crate::model::AttachmentSource::Volume(name) => cx.attached_volume(name).ok().flatten(),
        crate::model::AttachmentSource::Inline { .. } | crate::model::AttachmentSource::None => {
            None
        }
    };
    if let Some(volume) = volume {
        events(cx, &volume.object(), false, draft);
    }
    sort(draft);
}

pub(super) fn of_set(cx: &Cx, set: &StatefulSet, draft: &mut ExplanationDraft) {
    events(cx, &set.object(), false, draft);
    let pods = cx.pods_named_after(&set.namespace, &set.metadata.name).unwrap_or_default();
    for (_, pod) in pods.into_iter().take(BESIDE) {
        events(cx, &pod.object(), false, draft);
    }
    sort(draft);
}

pub(super) fn of_snapshot(snapshot: &VolumeSnapshot, draft: &mut ExplanationDraft) {
    field(&snapshot.object(), "status.error.message", snapshot.error.as_deref(), draft);
}

/// Adds the errors of the attachments of a volume.
fn attachments(cx: &Cx, volume: &str, draft: &mut ExplanationDraft) {
    for row in cx.attachments_of(volume).unwrap_or_default().into_iter().take(BESIDE) {
        of_row(row, draft);
    }
}

fn of_row(row: &Attachment, draft: &mut ExplanationDraft) {
    let object = row.object();
    field(&object, "status.detachError.message", row.detach_error.as_deref(), draft);
    field(&object, "status.attachError.message", row.attach_error.as_deref(), draft);
}

/// Adds the errors about the pods that use a claim.
fn pods(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    for pod in cx.pods_of(&claim.key()).unwrap_or_default().into_iter().take(BESIDE) {
        events(cx, &pod.object(), false, draft);
    }
}

/// Adds a field that holds an error.
fn field(object: &ObjectRef, name: &str, message: Option<&str>, draft: &mut ExplanationDraft) {
    let Some(message) = message.filter(|it| !it.is_empty()) else { return };
    add(
        LastError {
            object: object.clone(),
            source: name.to_owned(),
            reason: String::new(),
            message: message.to_owned(),
            is_error: true,
            count: None,
            first: None,
            last: None,
        },
        draft,
    );
}

/// Adds the series of errors in the events of an object, that of the responsible component first; where there is none
/// and `progress` is wanted, the newest series of any kind.
fn events(cx: &Cx, object: &ObjectRef, progress: bool, draft: &mut ExplanationDraft) {
    let Some(series) = draft.seen(facts::event_series(cx, object)) else { return };
    let responsible = facts::last_error(cx, object).ok().flatten();
    let errors = series.iter().filter(|it| it.newest.warning && Some(**it) != responsible);
    let before = draft.explanation.errors.len();
    for it in responsible.iter().chain(errors).take(OF_ONE) {
        add(told(object, it), draft);
    }
    if progress
        && draft.explanation.errors.len() == before
        && let Some(newest) = series.first()
    {
        add(told(object, newest), draft);
    }
}

fn told(object: &ObjectRef, series: &EventSeries<'_>) -> LastError {
    LastError {
        object: object.clone(),
        source: series.newest.component.to_string(),
        reason: series.newest.reason.to_string(),
        message: series.newest.message.to_string(),
        is_error: series.newest.warning,
        count: (series.count > 0).then_some(series.count),
        first: series.first,
        last: series.last,
    }
}

/// Adds an error, unless the same message about its object is there already.
fn add(error: LastError, draft: &mut ExplanationDraft) {
    let same = |it: &LastError| it.object == error.object && it.message == error.message;
    let errors = &mut draft.explanation.errors;
    if !errors.iter().any(same) {
        errors.push(error);
    }
}

/// Sorts errors: those about the explained object first, in their order; then the newest.
fn sort(draft: &mut ExplanationDraft) {
    let own = draft.explanation.object.clone();
    draft.explanation.errors.sort_by_key(|it| match it.object == own {
        true => (false, Reverse(None)),
        false => (true, Reverse(it.last)),
    });
}

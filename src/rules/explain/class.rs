//! Explanation of a `StorageClass` and of a `VolumeAttributesClass`: its fields, its provisioner, and its volumes and
//! claims.

use std::collections::BTreeMap;

use super::draft::{DELETED, ExplanationDraft, counted};
use super::{controller, neighbours};
use crate::cluster::{Cx, Subject};
use crate::facts::VAC_PROTECTION;
use crate::model::{
    AttributesClass, ClaimPhase, Kind, StorageClass, format_time, provisioning_driver,
};

/// The provisioner of classes without dynamic provisioning.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

pub(super) fn explain(cx: &Cx, class: &StorageClass) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(class.object());
    draft.status(if class.is_default { "default class" } else { "not the default class" });
    draft.terminating(cx, class.metadata.deleting);
    let policy = class.reclaim_policy.as_deref().unwrap_or("Delete");
    let binding = if class.waits_for_consumer { "WaitForFirstConsumer" } else { "Immediate" };
    let expands = if class.allows_expansion { "true" } else { "false" };
    draft.show("provisioner", &*class.provisioner);
    draft.show("reclaimPolicy", policy);
    draft.show("volumeBindingMode", binding);
    draft.show("allowVolumeExpansion", expands);
    draft.field("provisioner", &*class.provisioner);
    draft.field("reclaim policy", policy);
    draft.field("binding mode", binding);
    draft.field("expansion", if class.allows_expansion { "allowed" } else { "not allowed" });
    if &*class.provisioner != NO_PROVISIONER {
        controller::provisioner(cx, &class.provisioner, &mut draft);
        draft.hangs_on(neighbours::provisioner(cx, &class.provisioner));
    }
    let pending = claims(cx, class, &mut draft);
    volumes(cx, class, &mut draft);
    deleted(cx, class, pending, &mut draft);
    draft.finalizers(&class.metadata, &[]);
    draft
}

/// Adds the claims of the class, and returns how many of them are Pending.
fn claims(cx: &Cx, class: &StorageClass, draft: &mut ExplanationDraft) -> usize {
    let mut phases: BTreeMap<String, usize> = BTreeMap::new();
    let mut pending = 0;
    for (id, claim) in cx.cluster().claims() {
        if claim.class.as_deref() == Some(&*class.metadata.name) {
            *phases.entry(claim.phase.to_string()).or_default() += 1;
            pending += usize::from(claim.phase == ClaimPhase::Pending);
            draft.hangs_on([Subject::Claim(id)]);
        }
    }
    let read = draft.seen(cx.all_of(Kind::PersistentVolumeClaim)).is_some();
    draft.show("claims", grouped(&phases, read));
    draft.field("claims", grouped(&phases, read));
    pending
}

fn volumes(cx: &Cx, class: &StorageClass, draft: &mut ExplanationDraft) {
    let mut phases: BTreeMap<String, usize> = BTreeMap::new();
    for (id, volume) in cx.cluster().volumes() {
        if volume.class.as_deref() == Some(&*class.metadata.name) {
            let group = format!("{} with policy {}", volume.phase, volume.reclaim_policy);
            *phases.entry(group).or_default() += 1;
            draft.hangs_on([Subject::Volume(id)]);
        }
    }
    let read = draft.seen(cx.all_of(Kind::PersistentVolume)).is_some();
    draft.show("volumes", grouped(&phases, read));
    draft.field("volumes", grouped(&phases, read));
}

/// Lists numbers of objects by their state, and says where they may be too small.
fn grouped(groups: &BTreeMap<String, usize>, read: bool) -> String {
    let shown: Vec<_> = groups.iter().map(|(group, n)| format!("{n} {group}")).collect();
    match (shown.is_empty(), read) {
        (true, true) => "none".to_owned(),
        (true, false) => "not read".to_owned(),
        (false, true) => shown.join(", "),
        (false, false) => format!("{} (not all were read)", shown.join(", ")),
    }
}

fn deleted(cx: &Cx, class: &StorageClass, pending: usize, draft: &mut ExplanationDraft) {
    let named = &class.provisioner;
    let driver = provisioning_driver(named);
    let existing = match cx.family(&driver).reads_class {
        true => format!(
            "{driver} reads it to delete volumes: without it, none of its volumes is reclaimed"
        ),
        false => "existing volumes and their reclaim policies stay as they are".to_owned(),
    };
    let waiting = match pending {
        0 => String::new(),
        1 => "; 1 Pending claim can no longer be provisioned".to_owned(),
        many => format!("; {many} Pending claims can no longer be provisioned"),
    };
    draft.outcome(DELETED, None, "deleted", format!("{existing}{waiting}"));
}

/// Explains a `VolumeAttributesClass`.
pub(super) fn explain_attributes(cx: &Cx, class: &AttributesClass) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(class.object());
    draft.show("driverName", &*class.driver);
    if let Some(time) = &class.metadata.deleting {
        draft.show("metadata.deletionTimestamp", format_time(time));
    }
    draft.show("metadata.finalizers", class.metadata.finalizers.join(", "));
    draft.field("driver", &*class.driver);
    draft.finalizers(&class.metadata, &[VAC_PROTECTION]);
    draft.explanation.looked_at = vec![Kind::PersistentVolumeClaim, Kind::PersistentVolume];
    let users = draft.seen(cx.users_of_attributes(&class.metadata.name));
    let (claims, volumes) = users.clone().unwrap_or_default();
    for claim in &claims {
        draft.user(claim.object(), format!("claim, {}", claim.phase), true);
        draft.hangs_on(cx.cluster().subject(&claim.object().key));
    }
    for volume in &volumes {
        draft.user(volume.object(), format!("volume, {}", volume.phase), true);
        draft.hangs_on(cx.cluster().subject(&volume.object().key));
    }
    draft.status(match (users.is_some(), claims.len() + volumes.len()) {
        (false, _) => "its users were not read".to_owned(),
        (true, 0) => "not in use".to_owned(),
        (true, _) => format!(
            "used by {} and {}",
            counted(claims.len(), "claim"),
            counted(volumes.len(), "volume")
        ),
    });
    draft.terminating(cx, class.metadata.deleting);
    let protected = class.metadata.has_finalizer(VAC_PROTECTION);
    let in_use = users.is_none() || !claims.is_empty() || !volumes.is_empty();
    match class.metadata.deleting {
        Some(_) => draft.outcome(DELETED, None, "unaffected", "already Terminating"),
        None if protected && in_use => draft.outcome(
            DELETED,
            None,
            "deleted-later",
            "it becomes Terminating (irreversible) until no claim and no volume references it",
        ),
        None => draft.outcome(
            DELETED,
            None,
            "deleted",
            "it is deleted immediately; attributes of existing volumes stay as they are",
        ),
    }
    draft.hangs_on(neighbours::provisioner(cx, &class.driver));
    draft
}

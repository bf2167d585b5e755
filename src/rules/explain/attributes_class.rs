//! Explanation of a `VolumeAttributesClass`.

use super::draft::{ExplanationDraft, counted};
use super::neighbours;
use crate::cluster::Cx;
use crate::facts::VAC_PROTECTION;
use crate::model::{AttributesClass, Kind, format_time};

const DELETED: &str = "it is deleted";

pub(super) fn explain(cx: &Cx, class: &AttributesClass) -> ExplanationDraft {
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

//! Findings about backend volumes that no volume references.

use super::{CapacityRisk, Judge, Rule, finding::time};
use crate::cluster::{Cx, Placed, Seen};
use crate::model::{
    Age, Finding, JournalEntryNumber, KeptBackend, Kind, Severity, Trust, VolumeColumns,
    format_bytes,
};

/// The rules about kept backend volumes, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&KEPT_BACKEND];

/// F94: a kept backend volume that no volume references.
static KEPT_BACKEND: Rule = Rule {
    id: "journal-kept-backend",
    severity: Severity::Info,
    // It was kept on purpose, and is recorded.
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[],
    title: "A kept backend volume (orphaned disk) that no PersistentVolume references",
    danger: "It is billed until you delete it; no driver deletes it. Only the journal of this tool and the record in \
             the cluster say where it is, so it is listed from any machine.",
    remedy: "If the journal of this machine has its entry, `undo` creates the PersistentVolume again, with policy \
             Retain, and `destroy-orphan --from-journal` lets the driver delete the backend volume. Both make all \
             their checks first. From another machine, the record holds the PersistentVolume as it was.",
    source: "our own journal, and the ConfigMap kubectl-storage-kept-backends",
    judge: &[Judge::Backend(kept_backend)],
};

fn kept_backend(cx: &Cx, kept: &KeptBackend) -> Seen<Option<Finding>> {
    let places = kept.places();
    let is_any = &|_: &str| true;
    if !cx.sharing_at(&places, "")?.is_empty() || !cx.doubtful_at(&places, is_any)?.0.is_empty() {
        return Ok(None);
    }
    let none = || "<none>".to_owned();
    let age = match kept.since {
        // The record may contain any text that users with write access put there.
        since @ Some(_) => Age { since, trust: Trust::SingleSource },
        None => Age::UNKNOWN,
    };
    let claim = kept.claim.as_ref().map(ToString::to_string);
    let mut finding = KEPT_BACKEND
        .about(
            kept.object(),
            "backend volume was kept on purpose; no PersistentVolume references it".to_owned(),
        )
        .aged(age)
        .shows("driver", &*kept.backend.driver)
        .shows("handle", &*kept.backend.handle)
        .shows("capacity", kept.capacity.map_or_else(none, format_bytes))
        .shows("claim", claim.clone().unwrap_or_else(none))
        .shows("storage class", kept.class.as_deref().unwrap_or("<none>"))
        .shows("kept since", time(kept.since))
        .shows("recorded", kept.recorded.name());
    if let Some(entry) = &kept.entry {
        finding = finding.shows("journal entry", entry.to_string());
    }
    finding.volume = Some(VolumeColumns {
        capacity: kept.capacity,
        claim,
        class: kept.class.clone(),
        driver: Some(kept.backend.driver.clone()),
        reclaim_policy: "<none>".to_owned(),
        phase: "<none>".to_owned(),
    });
    let (handle, driver) = (&kept.backend.handle, &kept.backend.driver);
    let entry = kept.entry.as_ref().map(JournalEntryNumber::arguments);
    Ok(Some(finding.report_only(match entry {
        Some(entry) => format!(
            "`kubectl storage undo {entry}` creates its PersistentVolume again; if it is not needed, \
             `kubectl storage destroy-orphan --from-journal {entry}` lets {driver} delete {handle}"
        ),
        None => format!("if it is not needed, delete {handle} of {driver} at the storage system"),
    })))
}

//! F94: a kept backend volume that no volume references.

use crate::cluster::{Cx, Placed, Seen};
use crate::model::{Age, Finding, KeptBackend, Kind, Severity, Trust, VolumeColumns, format_bytes};
use crate::rules::finding::time;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "journal-kept-backend",
    severity: Severity::Info,
    // It was kept on purpose, and is recorded.
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[],
    title: "A backend volume was left behind on purpose, and no volume names it any more",
    danger: "It is paid for until somebody deletes it, which no driver does of its own accord. Our journal and \
             the record in the cluster are all that tells where it is, so it is listed for ever, from any machine.",
    remedy: "Where the journal of this machine has its entry, `undo` creates the volume again, with the policy Retain, \
             and `destroy-orphan --from-journal` has the driver delete the backend volume. Both make all their checks \
             first. From another machine, the record holds the volume as it was.",
    source: "our own journal, and the ConfigMap kubectl-storage-kept-backends",
    judge: &[Judge::Backend(judge)],
};

fn judge(cx: &Cx, kept: &KeptBackend) -> Seen<Option<Finding>> {
    if !cx.volumes_at(&kept.places())?.is_empty() {
        return Ok(None);
    }
    let none = || "<none>".to_owned();
    let age = match kept.since {
        // The record may contain any text that users with write access put there.
        since @ Some(_) => Age { since, trust: Trust::SingleSource },
        None => Age::UNKNOWN,
    };
    let claim = kept.claim.as_ref().map(ToString::to_string);
    let mut finding = RULE
        .about(kept.object(), "its backend volume was kept, and nothing else names it".to_owned())
        .aged(age)
        .shows("driver", &*kept.backend.driver)
        .shows("handle", &*kept.backend.handle)
        .shows("capacity", kept.capacity.map_or_else(none, format_bytes))
        .shows("claim", claim.clone().unwrap_or_else(none))
        .shows("storage class", kept.class.as_deref().unwrap_or("<none>"))
        .shows("kept since", time(kept.since))
        .shows("recorded", kept.recorded.name());
    if let Some(entry) = kept.entry {
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
    Ok(Some(finding.report_only(match kept.entry {
        Some(entry) => format!(
            "`undo {entry}` names it again; if nobody needs it, `destroy-orphan --from-journal {entry}` has {driver} delete {handle}"
        ),
        None => format!("if nobody needs it, delete {handle} of {driver} at the storage system"),
    })))
}

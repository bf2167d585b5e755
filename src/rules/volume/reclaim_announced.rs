//! F106: a volume is announced to be reclaimed, or its announcement does not count any more.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, AnnouncedPeriod, AnnouncementStatus};
use crate::model::{ANNOUNCED, Age, Finding, Severity, Verdict, VerdictState, Volume, format_time};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RECLAIM_ANNOUNCED: Rule = Rule {
    id: "pv-reclaim-announced",
    severity: Severity::Info,
    // What else is wrong with it has findings of its own.
    capacity_risk: CapacityRisk::None,
    // All that gc looks at: what it would refuse is said.
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, StorageClass, VolumeSnapshotContent, VolumeGroupSnapshotContent, Secret, ReplicationController, Job, CronJob, SubjectAccessReview, ConfigMap],
    remedies: &[],
    title: "A volume is announced to be reclaimed, or its announcement was vetoed or is void",
    danger: "After the grace period, `gc --announced` has its driver delete the backend volume, unless the volume is \
             not as it was announced, or the announcement was vetoed.",
    remedy: "To keep it, remove annotation storage.kubectl.dev/announced from the PersistentVolume, or set \
             storage.kubectl.dev/keep-until. The next run records the veto, and the volume is not announced again \
             unless --include-vetoed is given. Only the record decides when it is due: what the annotation says \
             can lengthen the grace period, never shorten it.",
    source: "our own records: ConfigMaps with label storage.kubectl.dev/record",
    judge: &[Judge::Volume(reclaim_announced)],
};

fn reclaim_announced(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let mark = volume.metadata.announced();
    // Nobody is asked where nothing says that anything is announced.
    let read = match mark {
        Some(_) => Some(facts::announcements(cx)),
        None => facts::known_announcements(cx),
    };
    let records = match read {
        Some(Ok(records)) => records,
        None => return Ok(None),
        // What was found before is not known to be over.
        Some(Err(unseen)) if mark.is_none() => return Err(unseen),
        Some(Err(unseen)) => {
            let reason = unseen.reason;
            let mut finding = found(cx, volume, "its annotation says that it is announced");
            finding.verdict = Verdict { state: VerdictState::Unseen, reason };
            return Ok(Some(finding));
        }
    };
    let first = facts::status_by(cx, &records, volume, None);
    let (period, is_due, refusal) = match first {
        AnnouncementStatus::NotAnnounced => return Ok(None),
        AnnouncementStatus::Running(_) | AnnouncementStatus::Due(_) => {
            let (status, refusal) = match (remedies::RECLAIM.propose)(cx, volume) {
                Ok(Ok(proposal)) => (facts::status_by(cx, &records, volume, Some(&proposal)), None),
                Ok(Err(refusal)) => (first, Some(refusal.reason)),
                Err(unseen) => (first, Some(unseen.reason)),
            };
            match status {
                AnnouncementStatus::Running(period) => (period, false, refusal),
                AnnouncementStatus::Due(period) => (period, true, refusal),
                other => return Ok(ended(cx, volume, &other)),
            }
        }
        other => return Ok(ended(cx, volume, &other)),
    };
    Ok(Some(announced(cx, volume, &period, is_due, refusal.as_deref())))
}

fn found(cx: &Cx, volume: &Volume, summary: impl Into<String>) -> Finding {
    let mark = volume.metadata.announced().unwrap_or("<none>");
    RECLAIM_ANNOUNCED.on_volume(cx, volume, summary).shows(ANNOUNCED, mark)
}

/// Returns the finding about an announcement that counts.
fn announced(
    cx: &Cx,
    volume: &Volume,
    period: &AnnouncedPeriod,
    is_due: bool,
    refusal: Option<&str>,
) -> Finding {
    let due = format_time(&period.due);
    let when = if is_due { "since" } else { "at" };
    let doubt = if refusal.is_some() { "; gc would refuse it now" } else { "" };
    let summary = format!("announced to be reclaimed, and due {when} {due}{doubt}");
    let finding = found(cx, volume, summary)
        .aged(Age::stamped(Some(period.since)))
        .shows("announced", format_time(&period.since))
        .shows("due", &*due)
        .shows("recorded in", format!("configmap {}/{}", namespace(cx), period.batch));
    let how = "removing its annotation vetoes that";
    let advice = match (refusal, is_due) {
        (Some(why), _) => format!("gc --announced would refuse it: {why}; {how}"),
        (None, true) => {
            let object = facts::on_command_line(&volume.object());
            format!("`kubectl storage gc {object} --announced` reclaims it; {how}")
        }
        (None, false) => how.to_owned(),
    };
    finding.report_only(advice)
}

/// Returns the finding about an announcement that does not count any more.
fn ended(cx: &Cx, volume: &Volume, status: &AnnouncementStatus) -> Option<Finding> {
    let (summary, advice) = match status {
        AnnouncementStatus::Vetoed(veto) => (
            format!("its announcement was vetoed: {}", veto.how),
            match veto.recorded {
                true => "gc --announce announces it again only with --include-vetoed",
                false => "the next run of gc --announced or gc --announce records the veto",
            },
        ),
        AnnouncementStatus::Changed(how) => (
            format!("changed since it was announced: {how}"),
            "gc --announced refuses it; gc --announce announces it anew, if gc would reclaim it",
        ),
        AnnouncementStatus::Void(why) => (
            format!("its announcement is void: {why}"),
            "gc --announced refuses it; gc --announce announces it anew, if gc would reclaim it",
        ),
        AnnouncementStatus::Elsewhere(namespace) => {
            let what = format!("its annotation says that it is announced in namespace {namespace}");
            let mut finding = found(cx, volume, what);
            let reason = facts::recorded_elsewhere(namespace);
            finding.verdict = Verdict { state: VerdictState::Unseen, reason };
            return Some(finding);
        }
        AnnouncementStatus::NotAnnounced
        | AnnouncementStatus::Running(_)
        | AnnouncementStatus::Due(_) => return None,
    };
    let mut finding = found(cx, volume, summary);
    if let AnnouncementStatus::Vetoed(veto) = status
        && !veto.batch.is_empty()
    {
        let batch = format!("configmap {}/{}", namespace(cx), veto.batch);
        finding = finding.shows("recorded in", batch);
    }
    Some(finding.report_only(advice))
}

fn namespace<'a>(cx: &Cx<'a>) -> &'a str {
    &cx.settings().recording.namespace
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Answer;
    use crate::model::Settings;
    use crate::objects::whole_cluster::cluster_of;
    use serde_json::json;
    use std::cell::RefCell;

    #[test]
    fn what_may_not_be_read_is_not_judged_to_be_over() {
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "pv-1", "uid": "6a1f02a7-f4e6-5ec4-8e0b-fc87ae581be5"},
            "spec": {"csi": {"driver": "disk.example.com", "volumeHandle": "vol-1"}},
            "status": {"phase": "Released"},
        });
        let settings = Settings::default();
        let question = facts::announcements_question(&settings.recording.namespace);
        let judged = |answer: Option<Answer>| {
            let answers = answer.map(|it| (question.clone(), it));
            let (cluster, facts) = (cluster_of([&volume], answers, &[]), RefCell::default());
            let cx = Cx::new(&cluster, &settings, &facts);
            reclaim_announced(&cx, cluster.volume_named("pv-1").expect("it is in there"))
        };
        for answer in [Answer::Forbidden, Answer::Unanswered("it is down".into())] {
            assert!(judged(Some(answer)).is_err());
        }
        // Nothing says that anything is announced, and nobody has asked.
        assert_eq!(judged(None), Ok(None));
        assert_eq!(judged(Some(Answer::Announcements(std::sync::Arc::default()))), Ok(None));
    }
}

//! F12: reclaiming a volume failed.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, FAILED_DELETE, FAILED_RECYCLE, Owner, UNKNOWN_POLICY};
use crate::model::{Finding, Kind, Phase, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static FAILED: Rule = Rule {
    id: "pv-failed",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Event],
    remedies: &[&remedies::RETAIN],
    title: "A volume is Failed: its controller could not reclaim it",
    danger: "The backend volume remains and may be billed. kube-controller-manager retries for the in-tree volumes \
             that it can delete, so the data is destroyed as soon as the cause is fixed. External provisioners ignore \
             Failed volumes, and for statically provisioned volumes of most in-tree sources no controller exists: \
             these remain Failed.",
    remedy: "Setting the policy to Retain ends the attempts and keeps the backend volume; the phase remains Failed. A \
             volume that no controller reclaims is deleted as an object, and its data by hand. Status is never \
             patched: a phase that a user wrote proves nothing to the controllers.",
    source: "pv_controller.go, syncVolume and deleteVolumeOperation; external-provisioner shouldDelete",
    judge: &[Judge::Volume(failed)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn failed(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.phase != Phase::Failed {
        return Ok(None);
    }
    let retry = retry(cx, volume);
    let next = retry.describe();
    let reasons = [FAILED_DELETE, FAILED_RECYCLE, UNKNOWN_POLICY];
    let event = facts::last_event(cx, volume, &reasons).ok().flatten();
    let message = volume.message.as_deref().filter(|message| !message.is_empty());
    let error = message.or_else(|| event.map(|series| &*series.newest.message));
    let summary = match error {
        Some(error) => format!("reclaim failed: {}; {next}", facts::brief_error(error)),
        None => format!("reclaim failed; {next}"),
    };
    let mut finding = FAILED
        .on_volume(cx, volume, summary)
        .aged(facts::released_age(cx, volume))
        .shows("status.reason", volume.reason.as_deref().unwrap_or("<none>"))
        .shows("status.message", volume.message.as_deref().unwrap_or("<none>"))
        .shows("what happens next", next);
    if let Some(event) = event {
        finding = finding.shows("last event", event.describe_with_reason());
    }
    let mut helps = retry.remedy(volume);
    if error.is_some_and(says_missing) && volume.reclaim_policy == ReclaimPolicy::Delete {
        helps = format!(
            "verify at the storage system whether the backend volume still exists, since the error speaks of something that does not; if it does not, deleting the PersistentVolume leaks nothing; otherwise {helps}"
        );
    }
    if volume.reclaim_policy != ReclaimPolicy::Delete {
        return Ok(Some(finding.report_only(helps).unless_taken(cx, volume)));
    }
    let retriable = match retry {
        Retry::Manager | Retry::ManagerUnlessMigrated => true,
        Retry::Kept | Retry::Ignored | Retry::Never | Retry::PolicyUnknown => false,
    };
    let offered = |finding: Finding| finding.remedied_by(cx, volume, &remedies::RETAIN);
    let finding = match retriable {
        true => offered(finding.shows("what helps", &*helps)).or_rather(&helps),
        false => offered(finding.shows("what remains to be done", helps)),
    };
    Ok(Some(finding.unless_taken(cx, volume)))
}

/// The controller that retries to reclaim a Failed volume.
enum Retry {
    /// No controller: the policy is Retain.
    Kept,
    /// kube-controller-manager.
    Manager,
    /// kube-controller-manager, unless the volume was migrated.
    ManagerUnlessMigrated,
    /// No controller: external provisioners reclaim Released volumes only.
    Ignored,
    /// No controller: kube-controller-manager has no plugin that deletes such volumes.
    Never,
    /// No controller: the policy is unknown to Kubernetes.
    PolicyUnknown,
}

fn retry(cx: &Cx, volume: &Volume) -> Retry {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => return Retry::Kept,
        ReclaimPolicy::Other(_) => return Retry::PolicyUnknown,
        // It retries every sync, whether or not the plugin can scrub.
        ReclaimPolicy::Recycle => return Retry::Manager,
        ReclaimPolicy::Delete => {}
    }
    match (facts::unmigrated(volume, cx.server()), facts::owner(volume)) {
        (Some(it), _) if it.certain => Retry::Manager,
        (Some(_), _) => Retry::ManagerUnlessMigrated,
        (None, Owner::Csi(_) | Owner::External(_)) => Retry::Ignored,
        (None, Owner::InTree(_) | Owner::StaticInTree(_)) => {
            match facts::in_tree_deletes(volume, cx.server()) {
                Some(false) => Retry::Never,
                Some(true) | None => Retry::Manager,
            }
        }
    }
}

impl Retry {
    const fn describe(&self) -> &'static str {
        match self {
            Self::Kept => "policy Retain: no controller retries",
            Self::Manager => "kube-controller-manager retries",
            Self::ManagerUnlessMigrated => {
                "kube-controller-manager retries, unless the volume was migrated to CSI"
            }
            Self::Ignored => "no controller retries: external provisioners ignore Failed volumes",
            Self::Never => "no controller can delete a volume of this kind",
            Self::PolicyUnknown => "its policy is unknown to Kubernetes: no controller retries",
        }
    }

    fn remedy(&self, volume: &Volume) -> String {
        let object = volume.object();
        match self {
            Self::Kept => "policy Retain keeps the backend volume, and does not clear the phase Failed; if the data is not needed, delete the backend volume at the storage system and then the object".to_owned(),
            Self::Manager | Self::ManagerUnlessMigrated => {
                "fix the cause that the message names; kube-controller-manager retries until the backend volume is deleted".to_owned()
            }
            Self::Ignored | Self::Never if volume.metadata.deleting.is_some() => format!(
                "`kubectl storage retain {object}` keeps the backend volume and lets the object go; delete the backend volume at the storage system if the data is not needed"
            ),
            Self::Ignored | Self::Never => format!(
                "`kubectl storage retain {object}` records that the backend volume is kept; delete it by hand at the storage system, and then the object"
            ),
            Self::PolicyUnknown => "set a policy that Kubernetes knows".to_owned(),
        }
    }
}

/// Whether an error says that something does not exist.
fn says_missing(error: &str) -> bool {
    let error = error.to_lowercase();
    ["not found", "notfound", "404", "does not exist"].iter().any(|it| error.contains(it))
}

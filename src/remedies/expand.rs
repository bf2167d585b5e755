//! Requests a larger size for a claim: external-resizer then has the driver grow the backend volume, and the kubelet its
//! file system (P-EXPAND).
//!
//! The API server checks only that the claim is Bound and that its class allows it (`plugin/pkg/admission/storage/
//! persistentvolume/resize`). Whether a controller acts on the request, and whether the volume then has more room, is
//! judged here; nothing takes the request back once a controller has carried it out.

use super::{Remedy, checks, rebind::quantity};
use crate::cluster::{Cx, Seen};
use crate::drivers::Family;
use crate::facts::{self, ExpansionProgress, retention};
use crate::model::{
    Action, Bytes, Claim, ClaimPhase, ControllerState, Effect, Kind, Liveness, Loss,
    OwnerReference, Proposal, Refusal, Text, Undo, Volume, format_bytes,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "expand";

/// Reason why `undo` does not take an expansion back.
pub const NEVER_SHRINKS: &str =
    "volumes cannot shrink; as long as an expansion has failed, `undo` lowers the request again";

/// Unit in which sizes are requested where the driver's own is unknown.
pub(super) const MI: Bytes = 1 << 20;

/// Growth that is offered where no other is asked for, in per cent.
const USUAL: u32 = 20;

/// How many times as large a size may be as what there is, before its unit may be a mistake.
const SUSPICIOUS: Bytes = 10;

/// Requests a larger size (P-EXPAND).
pub static REMEDY: Remedy<Claim> = Remedy {
    id: ID,
    needs: facts::needs![controller: PersistentVolumeClaim, StorageClass],
    writes: &[("patch", "persistentvolumeclaims")],
    command: |_, claim| {
        let key = claim.key();
        Some(format!("expand pvc/{} -n {} --by {USUAL}%", key.name, key.namespace))
    },
    propose: |cx, claim| propose(cx, claim, Growth::Percent(USUAL)),
};

/// Size that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// This size.
    To(Bytes),
    /// So much more.
    More(Bytes),
    /// So many per cent more.
    Percent(u32),
}

impl Growth {
    /// Returns the size from which growth counts: the largest one of the request, of `status.capacity` and of the
    /// capacity of the volume; `None` where one of the first two is missing.
    pub fn base(claim: &Claim, volume: Option<&Volume>) -> Option<Bytes> {
        let has = claim.requested?.max(claim.capacity?);
        Some(has.max(volume.and_then(|it| it.capacity).unwrap_or_default()))
    }

    /// Returns the size before it is rounded; `None` if it is larger than any number.
    fn exact(self, size: Bytes) -> Option<Bytes> {
        match self {
            Self::To(wanted) => Some(wanted),
            Self::More(more) => size.checked_add(more),
            Self::Percent(percent) => {
                let more = (u128::from(size) * u128::from(percent)).div_ceil(100);
                size.checked_add(more.try_into().ok()?)
            }
        }
    }

    /// Returns the size, in whole units; `None` if it is larger than any quantity.
    fn of(self, size: Bytes, unit: Bytes) -> Option<Bytes> {
        let size = self.exact(size)?.checked_next_multiple_of(unit)?;
        // Quantities are signed (apimachinery, `resource.Quantity`).
        i64::try_from(size).ok().map(|_| size)
    }

    /// Returns the notice that the size is rounded; per cent are rounded to whole mebibytes without one.
    fn rounded(self, size: Bytes, unit: Bytes) -> Option<String> {
        let exact = self.exact(size).filter(|it| !it.is_multiple_of(unit))?;
        let wanted = match self {
            Self::To(_) | Self::More(_) => quantity(exact),
            Self::Percent(_) if unit <= MI => return None,
            Self::Percent(_) => format_bytes(exact),
        };
        Some(format!("{wanted} is rounded up to whole {}", format_bytes(unit)))
    }
}

/// Proposes or refuses to request a larger size for a claim.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(cx: &Cx, claim: &Claim, growth: Growth) -> Seen<Result<Proposal, Refusal>> {
    // Before anything else: nothing lifts that. A volume that was not read is an error after it.
    let volume = volume_of(cx, claim).ok().and_then(Result::ok);
    if let (Growth::To(to), Some(size)) = (growth, Growth::base(claim, volume))
        && to <= size
    {
        return Ok(Err(refused(not_larger(claim, volume, to, size))));
    }
    let mut able = match expandable(cx, claim)? {
        Ok(able) => able,
        Err(reason) => return Ok(Err(refused(reason))),
    };
    let (request, size) = (able.request, able.size);
    let to = match growth.of(size, able.unit()) {
        Some(to) if to > size => to,
        Some(to) => {
            return Ok(Err(refused(not_larger(claim, Some(able.volume), to, size))));
        }
        None => return Ok(Err(refused("the size is larger than any quantity".to_owned()))),
    };
    able.notices.extend(growth.rounded(size, able.unit()));
    if to > size.saturating_mul(SUSPICIOUS) {
        let to = quantity(to);
        able.notices.push(format!("{to} is more than ten times as large as now: check the unit"));
    }
    let volume = able.volume.object();
    Ok(Ok(Proposal {
        steps: vec![Action::RequestStorage { claim: claim.object(), from: request, to }],
        effect: Effect {
            what: format!(
                "requests {} instead of {}, {} more than there is: {} is asked to grow {volume}",
                quantity(to),
                quantity(request),
                quantity(to - size),
                able.resizer,
            ),
            risk: "the larger size cannot be taken back, and is billed for as long as the volume exists"
                .to_owned(),
        },
        undo: Undo::Never(NEVER_SHRINKS),
        notices: able.notices,
        relies_on: able.relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

fn refused(reason: String) -> Refusal {
    let effect = Effect { what: "requests a larger size".to_owned(), risk: String::new() };
    Refusal { reason, effect }
}

/// Returns the reason for refusal that a size is not larger than what there is.
///
/// external-resizer (`expandAndRecover`) acts on a request above `status.capacity` even where the volume has as much:
/// it asks the driver for a size that is not larger, and then may leave the file system to the kubelet.
fn not_larger(claim: &Claim, volume: Option<&Volume>, to: Bytes, size: Bytes) -> String {
    let claimed = claim.requested.max(claim.capacity);
    let is_behind = claimed < Some(to) && volume.is_some_and(|it| it.capacity == Some(size));
    let status = claim.capacity.map(quantity).filter(|_| is_behind);
    let has_size =
        claim.capacity == Some(size) || volume.is_some_and(|it| it.capacity == Some(size));
    let (to, size) = (quantity(to), quantity(size));
    if let Some(status) = status {
        return format!(
            "{to} is not larger: its volume has {size}, although status.capacity is {status}; with {to} the backend \
             volume does not grow, at most the file system on it; request more than {size}"
        );
    }
    let has = match has_size {
        true => format!("its volume has {size}"),
        false => format!("{size} is requested"),
    };
    format!(
        "{to} is not larger: {has}, and volumes cannot shrink; copy the data to a new, smaller claim"
    )
}

/// A claim that can be expanded.
struct Expandable<'a> {
    /// `spec.resources.requests.storage`.
    request: Bytes,
    /// What there is, by [`Growth::base`].
    size: Bytes,
    volume: &'a Volume,
    family: &'static Family,
    /// Name of the controller that acts on the request.
    resizer: String,
    notices: Vec<String>,
    relies_on: Vec<&'static str>,
}

impl Expandable<'_> {
    fn unit(&self) -> Bytes {
        self.family.expansion.unit.unwrap_or(MI)
    }
}

/// Returns what is known of a claim that can be expanded, to whatever size, or why it cannot.
fn expandable<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Result<Expandable<'a>, String>> {
    if claim.metadata.deleting.is_some() {
        return Ok(Err("it is Terminating".to_owned()));
    }
    if claim.phase != ClaimPhase::Bound {
        let phase = &claim.phase;
        return Ok(Err(format!("its phase is {phase}: only a Bound claim can be expanded")));
    }
    checks::all!(checks::not_ignored(&claim.metadata), class_allows(cx, claim)?);
    let (Some(request), Some(_)) = (claim.requested, claim.capacity) else {
        let what = "spec.resources.requests.storage or status.capacity.storage is missing";
        return Ok(Err(what.to_owned()));
    };
    let volume = match volume_of(cx, claim)? {
        Ok(volume) => volume,
        Err(reason) => return Ok(Err(reason)),
    };
    checks::all!(nothing_under_way(claim, request));
    let owner = facts::owner(volume);
    let driver = volume.source.driver().or_else(|| owner.csi());
    let driver = driver.filter(|_| facts::unmigrated(volume, cx.server()).is_none());
    let name = driver.unwrap_or_else(|| owner.name());
    let family = cx.family(name);
    if let Some(futile) = family.expansion.futile {
        return Ok(Err(format!("a larger size gives it no more room: {futile}")));
    }
    let (mut relies_on, mut notices) = (checks::ReliedFlags::default(), Vec::new());
    let resizer = if let Some(driver) = driver {
        checks::all!(resizer_acts(cx, driver, family, &mut relies_on, &mut notices)?);
        format!("external-resizer of {driver}")
    } else {
        let why =
            format!("{name} is no CSI driver: no controller is known that expands its volumes");
        checks::vouched(cx, checks::Vouch::Resizer, name, why, &mut relies_on);
        format!("a controller of {name}")
    };
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return Ok(Err(reason)),
    };
    if !relies_on.is_empty() {
        notices.push(format!("no evidence shows {resizer}: until it runs, nothing grows"));
    }
    notices.extend(notices_about(cx, claim, volume));
    notices.extend(sharing_notice(cx, volume));
    notices.extend(family.expansion.limit.map(str::to_owned));
    let size = Growth::base(claim, Some(volume)).unwrap_or(request);
    Ok(Ok(Expandable { request, size, volume, family, resizer, notices, relies_on }))
}

/// Refuses a claim whose class does not allow expansion, as the API server does.
fn class_allows(cx: &Cx, claim: &Claim) -> Seen<checks::Checked> {
    let Some(name) = claim.class.as_ref().filter(|it| !it.is_empty()) else {
        return Ok(Err(
            "it has no StorageClass, and the API server requires one that allows expansion"
                .to_owned(),
        ));
    };
    Ok(match cx.claimed_class(name)? {
        None => Err(format!(
            "StorageClass {name} does not exist, and the API server requires that it allows expansion"
        )),
        Some(class) if !class.allows_expansion => Err(format!(
            "StorageClass {name} does not allow expansion; if driver {} can expand, set its \
             allowVolumeExpansion to true",
            class.provisioner
        )),
        Some(_) => Ok(()),
    })
}

/// Returns the volume of a claim, if external-resizer regards it as that.
fn volume_of<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Result<&'a Volume, String>> {
    let Some(name) = &claim.volume_name else {
        return Ok(Err("spec.volumeName is empty".to_owned()));
    };
    let Some(volume) = cx.volume(name)? else {
        return Ok(Err(format!("PersistentVolume {name} does not exist")));
    };
    let is_its = volume.claim_ref.as_ref().is_some_and(|it| {
        it.key == claim.key() && (it.uid.is_none() || it.uid == claim.metadata.uid)
    });
    Ok(match is_its {
        true => checks::not_ignored(&volume.metadata).map(|()| volume),
        false => Err(format!("spec.claimRef of {} references another claim", volume.object())),
    })
}

/// Refuses a claim of which an expansion is under way, or has failed.
fn nothing_under_way(claim: &Claim, request: Bytes) -> checks::Checked {
    let request = quantity(request);
    let wait = "wait until it is complete";
    Err(match ExpansionProgress::of(claim) {
        ExpansionProgress::Idle => return Ok(()),
        ExpansionProgress::Requested => {
            format!("{request} is requested already, and no controller has begun to expand it")
        }
        ExpansionProgress::Controller => {
            format!("an expansion to {request} is under way; {wait}")
        }
        ExpansionProgress::Node => format!(
            "an expansion to {request} is under way: its file system is expanded when a pod mounts it; {wait}"
        ),
        ExpansionProgress::Failed(failed) => format!(
            "an expansion to {request} has failed: {}; repair the cause, and it is tried again",
            facts::brief_error(&failed.describe())
        ),
    })
}

/// Refuses unless external-resizer of a driver runs; where a control plane hides the controllers of the driver, that
/// cannot be seen, and is a notice.
fn resizer_acts(
    cx: &Cx,
    driver: &Text,
    family: &Family,
    relies_on: &mut checks::ReliedFlags,
    notices: &mut Vec<String>,
) -> Seen<checks::Checked> {
    let state = facts::resizer(cx, driver);
    let may_be_hidden = state.liveness == Liveness::Unknown
        && state.runs_in.is_empty()
        && state.stopped.is_none()
        && state.unseen.is_none()
        && !family.provisioner.shows_leases
        // Where the other sidecars are visible, this one would be, too.
        && facts::provisioner(cx, driver).runs_in.is_empty()
        && cx.csi_driver(driver)?.is_some();
    if let Some(hidden) = family.provisioner.hidden.filter(|_| may_be_hidden) {
        notices.push(format!("external-resizer of {driver} was not seen: {hidden}"));
        return Ok(Ok(()));
    }
    let state = match state.runs_in.is_empty() && state.unseen.is_none() {
        true => ControllerState { because: "no Lease, pod or Event shows it".to_owned(), ..state },
        false => state,
    };
    let needed = checks::Needed {
        who: format!("external-resizer of {driver}"),
        name: driver,
        vouch: checks::Vouch::Resizer,
        state,
    };
    checks::alive(cx, &needed, Some(relies_on))
}

/// Returns what to know before: whose manifest has to follow, and what else has to happen.
fn notices_about(cx: &Cx, claim: &Claim, volume: &Volume) -> Vec<String> {
    let mut notices = Vec::new();
    let set = retention::membership(cx, claim).ok().and_then(|it| it.decided).map(|it| it.set);
    let operator = |owners: &[OwnerReference]| {
        let is_workload = |it: &&OwnerReference| {
            it.controller && ![Kind::StatefulSet.name(), Kind::Pod.name()].contains(&&*it.kind)
        };
        owners.iter().find(is_workload).map(|it| format!("{} {}", it.kind, it.name))
    };
    // The labels of a claim of a set are those of its template: what applies the set does not apply the claim.
    let keeper = || facts::keeper_of(&claim.metadata).filter(|_| set.is_none());
    match operator(&claim.metadata.owners) {
        Some(owner) => notices.push(format!("{owner} owns the claim: set the size there too")),
        None => notices.extend(keeper().map(|keeper| {
            format!(
                "{keeper} applies the claim: set the size there too, or it tries to shrink the claim, which is refused"
            )
        })),
    }
    if let Some(set) = set {
        let name = &set.metadata.name;
        notices.push(match operator(&set.metadata.owners) {
            Some(owner) => format!("{owner} owns sts/{name}: set the size there, for new replicas"),
            None => format!(
                "new replicas of sts/{name} get the old size: its volumeClaimTemplates cannot be changed; delete it with \
                 --cascade=orphan and create it with the new size{}",
                facts::keeper_of(&set.metadata)
                    .map(|keeper| format!(", in what {keeper} applies"))
                    .unwrap_or_default()
            ),
        });
    }
    if claim.condition("ModifyingVolume").is_some() {
        notices.push("its VolumeAttributesClass is being changed as well".to_owned());
    }
    if volume.metadata.deleting.is_some() {
        notices.push(format!("{} is Terminating, and is deleted after the claim", volume.object()));
    }
    if !claim.access.is_block {
        let pods = facts::pod_users(cx, claim);
        let runs =
            pods.map(|pods| pods.iter().any(|it| it.pod.node.is_some() && !it.pod.is_finished()));
        if runs == Ok(false) {
            notices
                .push("no pod mounts it: its file system may grow only when one does".to_owned());
        }
        if claim.access.modes.names().eq(["ReadOnlyMany"]) {
            let told = "it is mounted read-only: the kubelet does not grow such a file system";
            notices.push(told.to_owned());
        }
    }
    notices
}

/// Returns the notice that other volumes reference the same backend volume, or that this is unknown.
fn sharing_notice(cx: &Cx, volume: &Volume) -> Option<String> {
    let others = match cx.sharing(volume) {
        Ok(others) => others,
        Err(unseen) => {
            return Some(format!(
                "whether another PersistentVolume is the same backend volume is unknown: {}",
                unseen.reason
            ));
        }
    };
    let mut same = others.iter().filter(|(_, overlap)| overlap.is_same());
    let (first, _) = same.next()?;
    let first = first.object();
    Some(match same.count() {
        0 => format!(
            "{first} is the same backend volume: it grows too, and its own object does not say so"
        ),
        more => format!(
            "{first} and {more} more are the same backend volume: they grow too, and their own objects do not say so"
        ),
    })
}

#[cfg(test)]
mod tests;

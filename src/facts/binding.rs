//! The binding of volumes and claims: whether the claim of a volume still exists, by name and uid; what
//! lets a recreated claim bind the volume of its predecessor; and why a claim is Lost, and what repairs
//! it (F43; `pv_controller.go`, `syncBoundClaim`).
//!
//! All findings about a volume and its former claim give the advice of this file. The user who runs the
//! command decides who reads the data.

use std::time::Duration;

use super::LastTransition;
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Claim, ClaimPhase, ClaimRef, Kind, ManagedField, ObjectKey, ObjectRef, Phase, ReclaimPolicy,
    Severity, Volume, VolumeSource,
};

/// Longest time between the creation of a claim and the moment at which the release of its predecessor's volume is
/// noticed.
const NOTICED: Duration = Duration::from_secs(60);

/// The state of the claim that a volume references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState<'a> {
    /// The volume references no claim.
    None,
    /// The volume references a claim without a uid: it is reserved, not bound.
    Reserved,
    /// The claim that the volume was bound to exists.
    Live(&'a Claim),
    /// No claim of that name exists.
    Absent,
    /// A claim of that name exists with another uid: it was deleted and recreated.
    Recreated(&'a Claim),
    /// The uid in claimRef is of no claim, and the volume is this claim's own, which exists:
    /// claimRef was edited.
    Changed(&'a Claim),
}

/// Returns the state of the claim that a volume references.
///
/// # Errors
/// When claims of that namespace were not read.
pub fn claim_state<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<ClaimState<'a>> {
    let Some(claim_ref) = &volume.claim_ref else { return Ok(ClaimState::None) };
    let Some(uid) = &claim_ref.uid else { return Ok(ClaimState::Reserved) };
    let namesake = cx.claim(&claim_ref.key)?;
    if let Some(claim) = namesake.filter(|it| it.metadata.uid.as_ref() == Some(uid)) {
        return Ok(ClaimState::Live(claim));
    }
    // Under another name it is looked for only as far as claims were read: one that was not read
    // makes nothing of this untrue.
    let naming = cx.claims_naming(volume.name()).unwrap_or_default();
    let own = namesake.into_iter().chain(naming).find(|it| is_made_for(volume, it));
    Ok(match (own, namesake) {
        (Some(claim), _) => ClaimState::Changed(claim),
        (None, Some(claim)) if was_bound_before_release(cx, volume, claim) => {
            ClaimState::Changed(claim)
        }
        (None, Some(claim)) => ClaimState::Recreated(claim),
        (None, None) => ClaimState::Absent,
    })
}

/// Returns the claim whose own volume this is, and whose claimRef was changed.
pub fn taken_from<'a>(cx: &Cx<'a>, volume: &Volume) -> Option<&'a Claim> {
    match claim_state(cx, volume) {
        Ok(ClaimState::Changed(own)) => Some(own),
        Ok(_) | Err(_) => None,
    }
}

/// Whether a volume is this claim's own, and its claimRef was changed.
pub fn was_taken_from(cx: &Cx, volume: &Volume, claim: &Claim) -> bool {
    taken_from(cx, volume).is_some_and(|own| own.key() == claim.key())
}

/// Returns the uid of the claim for which a provisioner created a volume, by its name `pvc-UID`
/// (`getProvisionedVolumeNameForClaim`). That claim may be another cluster's, and need not exist; a
/// volume populator or a rebinding gives its volume to another claim.
pub fn provisioned_for(name: &str) -> Option<&str> {
    let uid = name.strip_prefix("pvc-")?;
    let lengths = uid.split('-').map(str::len);
    let is_hex = uid.chars().all(|it| it.is_ascii_hexdigit() || it == '-');
    (is_hex && lengths.eq([8, 4, 4, 4, 12])).then_some(uid)
}

/// Whether the name of a volume, or what it references at the backend, holds the uid of a claim: it
/// was provisioned for this claim.
pub fn is_made_for(volume: &Volume, claim: &Claim) -> bool {
    let Some(uid) = claim.metadata.uid.as_ref().map(ToString::to_string) else { return false };
    let storage = match &volume.source {
        VolumeSource::Csi { handle, .. } => handle,
        VolumeSource::HostPath(path) | VolumeSource::Local(path) => &**path,
        VolumeSource::InTree(_) | VolumeSource::Unknown => {
            volume.backend.as_ref().map_or("", |it| &it.handle)
        }
    };
    volume.name().contains(&uid) || storage.contains(&uid)
}

/// Whether a claim with the name in claimRef was bound to the volume before its release: it existed
/// then, and its uid was replaced.
///
/// A claim that was recreated while the volume controller did not run is older than the release too:
/// claimRef has its uid from a time before that claim, as far as managers of fields are known.
fn was_bound_before_release(cx: &Cx, volume: &Volume, claim: &Claim) -> bool {
    let is_bound = claim.bind_completed && claim.volume_name.as_deref() == Some(volume.name());
    let Some(created) = claim.metadata.created.filter(|_| is_bound) else { return false };
    let released = LastTransition::of(cx, volume).stated;
    let released = released.filter(|_| volume.phase == Phase::Released);
    let written = volume.metadata.last_change(&ManagedField::ClaimUid);
    released.is_some_and(|at| (at - created).to_std().is_ok_and(|after| after > NOTICED))
        && written.is_none_or(|at| at > created)
}

/// Whether the volume controller of Kubernetes would now regard the volume as released, whatever
/// its phase (`pv_controller.go`, `isVolumeReleased`).
///
/// # Errors
/// When claims of that namespace were not read.
pub fn semantically_released(cx: &Cx, volume: &Volume) -> Seen<bool> {
    Ok(match claim_state(cx, volume)? {
        ClaimState::None | ClaimState::Reserved => false,
        ClaimState::Absent | ClaimState::Recreated(_) | ClaimState::Changed(_) => true,
        ClaimState::Live(claim) => {
            claim.volume_name.as_deref().is_some_and(|bound| bound != volume.name())
        }
    })
}

/// Advice for a recreated claim, without the command that gives the volume back.
pub(crate) const CLEAR_THE_UID: &str =
    "decide whether this claim may read the old data; then clear spec.claimRef.uid";

/// Returns the first step of an advice, which keeps the backend volume; empty if the policy is Retain.
pub(crate) fn retained_first(volume: &Volume) -> String {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => String::new(),
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            format!("run `kubectl storage retain {}` first; ", on_command_line(&volume.object()))
        }
    }
}

/// Returns the command that gives a volume back to its claim.
pub(crate) fn rebind_command(volume: &Volume) -> String {
    format!("`kubectl storage rebind {}`", on_command_line(&volume.object()))
}

/// Returns the whole advice for a volume of a recreated claim: the first step, the decision and the command.
pub(crate) fn rebinding_advice(volume: &Volume) -> String {
    format!("{}{CLEAR_THE_UID}: {}", retained_first(volume), rebind_command(volume))
}

/// Returns the arguments that give a volume whose claimRef was changed back to its own claim, which claimRef may not
/// name any more.
pub(crate) fn command_of_own(volume: &Volume, claim: &Claim) -> String {
    let named = volume.claim_ref.as_ref().is_some_and(|it| it.key == claim.key());
    let to =
        if named { String::new() } else { format!(" --to {}", quoted(&claim.key().to_string())) };
    format!("rebind {}{to}", on_command_line(&volume.object()))
}

/// Returns the advice that gives a volume back to its own claim; `None` unless its claimRef was changed. Whatever else
/// is wrong with such a volume follows from that, and no other advice applies.
pub(crate) fn giving_it_back(cx: &Cx, volume: &Volume) -> Option<String> {
    taken_from(cx, volume).map(|claim| giving_back(volume, claim))
}

/// Returns the advice that gives a volume whose claimRef was changed back to its own claim. While its deletion is under
/// way, the first step is what keeps its data.
pub(crate) fn giving_back(volume: &Volume, claim: &Claim) -> String {
    let retain = match retained_first(volume) {
        first if first.is_empty() => first,
        first => format!("{first}then "),
    };
    let (object, command) = (on_command_line(&volume.object()), command_of_own(volume, claim));
    let claim = claim.object();
    match volume.metadata.deleting {
        None => format!(
            "{retain}`kubectl storage {command}` writes the uid of {claim} into spec.claimRef again"
        ),
        Some(_) => format!(
            "{retain}save its manifest with the uid of {claim} in spec.claimRef as {file}; after the object is deleted, \
             `kubectl storage rebind {object} --from {file}` creates it again",
            file = quoted(&format!("{}.yaml", volume.name()))
        ),
    }
}

/// Returns what becomes of a volume with policy Retain whose claim is Terminating, and the command that gives it back.
/// `None` where its claim is not known to be Terminating.
pub(crate) fn rescue(cx: &Cx, volume: &Volume) -> Option<String> {
    let claim_ref = volume.claim_ref.as_ref().filter(|it| it.uid.is_some())?;
    let claim = cx.claim(&claim_ref.key).ok()??;
    let terminating = claim.metadata.deleting.is_some() && claim.metadata.uid == claim_ref.uid;
    terminating.then(|| {
        format!(
            "{} is Terminating: it is deleted when the last pod that uses it is deleted, and the \
             volume is Released then, with its data; {} gives it back to a claim of this name",
            claim.object(),
            rebind_command(volume)
        )
    })
}

/// Returns the command that sets the policy of a volume back by hand; `None` where its name cannot stand in a command.
pub(crate) fn policy_command(volume: &str, policy: &ReclaimPolicy) -> Option<String> {
    let known = matches!(policy, ReclaimPolicy::Delete | ReclaimPolicy::Recycle);
    (known && is_plain_word(volume)).then(|| {
        format!(
            "`kubectl patch pv {volume} -p '{{\"spec\":{{\"persistentVolumeReclaimPolicy\":\"{policy}\"}}}}'`"
        )
    })
}

/// Whether a text may stand in a command that a reader copies into a shell: names in a dump may be
/// anything, also what a shell would carry out.
pub fn is_plain_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '/' | ':');
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

/// Returns an object as the arguments of `kubectl storage`: `pvc/data -n shop`.
pub fn on_command_line(object: &ObjectRef) -> String {
    let ObjectKey { kind, namespace, name } = &object.key;
    let named = quoted(&format!("{}/{name}", kind.short()));
    match namespace {
        Some(namespace) => format!("{named} -n {}", quoted(namespace)),
        None => named,
    }
}

/// Returns a word of a command, quoted where a shell would carry it out.
pub fn quoted(word: &str) -> String {
    if is_plain_word(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The cause for which a claim is Lost, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostCause<'a> {
    /// `spec.volumeName` is empty although the claim was bound.
    NoVolumeName,
    /// The volume does not exist.
    Missing,
    /// Whether the volume exists is unknown, for this reason.
    Unread(String),
    /// The claimRef of the volume is another claim's.
    OfAnother(&'a Volume, &'a ClaimRef),
    /// The claimRef of the volume has this claim's name and another uid.
    OfEarlier(&'a Volume),
    /// claimRef was edited: the volume is this claim's own.
    Changed(&'a Volume),
    /// The claimRef of the volume has this claim's name and no uid: nothing adds one.
    WithoutUid(&'a Volume),
    /// The claimRef of the volume is empty: kube-controller-manager binds it again.
    Unbound(&'a Volume),
    /// The volume is bound to this claim: kube-controller-manager sets the phase to Bound.
    Bound(&'a Volume),
}

/// Returns why a claim is Lost; `None` if it is not.
///
/// # Errors
/// When the claim is not Lost yet, and its volume was not read.
pub fn lost_cause<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Option<LostCause<'a>>> {
    let is_lost = claim.phase == ClaimPhase::Lost;
    let Some(name) = &claim.volume_name else {
        return Ok(is_lost.then_some(LostCause::NoVolumeName));
    };
    if !is_lost && !claim.bind_completed {
        return Ok(None);
    }
    let volume = match cx.volume(name) {
        Ok(Some(volume)) => volume,
        Ok(None) => return Ok(Some(LostCause::Missing)),
        // A claim with phase Lost is lost whether or not volumes were read.
        Err(unseen) if is_lost => return Ok(Some(LostCause::Unread(unseen.reason))),
        Err(unseen) => return Err(unseen),
    };
    if !is_lost {
        return Ok(None);
    }
    let Some(claim_ref) = &volume.claim_ref else { return Ok(Some(LostCause::Unbound(volume))) };
    if facts::was_taken_from(cx, volume, claim) {
        return Ok(Some(LostCause::Changed(volume)));
    }
    Ok(Some(match (&claim_ref.uid, &claim.metadata.uid) {
        _ if claim_ref.key != claim.key() => LostCause::OfAnother(volume, claim_ref),
        (None, _) => LostCause::WithoutUid(volume),
        (Some(_), None) => LostCause::Unread("the uid of the claim is unknown".to_owned()),
        (Some(wanted), Some(uid)) if wanted == uid => LostCause::Bound(volume),
        (Some(_), Some(_)) => LostCause::OfEarlier(volume),
    }))
}

impl<'a> LostCause<'a> {
    /// Returns the volume of the cause, if it exists.
    pub const fn volume(&self) -> Option<&'a Volume> {
        match self {
            Self::NoVolumeName | Self::Missing | Self::Unread(_) => None,
            Self::OfAnother(volume, _)
            | Self::OfEarlier(volume)
            | Self::Changed(volume)
            | Self::WithoutUid(volume)
            | Self::Unbound(volume)
            | Self::Bound(volume) => Some(volume),
        }
    }

    /// Returns the severity of the cause.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Bound(_) => Severity::Medium,
            // Until then another claim can bind the volume.
            Self::Unbound(_) => Severity::High,
            Self::NoVolumeName
            | Self::Missing
            | Self::Unread(_)
            | Self::OfAnother(..)
            | Self::OfEarlier(_)
            | Self::Changed(_)
            | Self::WithoutUid(_) => Severity::Critical,
        }
    }

    /// Describes the cause.
    pub fn describe(&self, claim: &Claim) -> String {
        let name = claim.volume_name.as_deref().unwrap_or("<none>");
        match self {
            Self::NoVolumeName => {
                "Lost: spec.volumeName is empty, so which volume it had is unknown".to_owned()
            }
            Self::Missing => format!(
                "PersistentVolume {name} does not exist: new pods with this claim cannot start; the backend volume may \
                 still exist"
            ),
            Self::Unread(reason) => format!(
                "Lost: whether PersistentVolume {name} exists and is its own is unknown ({reason})"
            ),
            Self::OfAnother(_, claim_ref) => {
                format!("Lost: PersistentVolume {name} belongs to claim {}", claim_ref.key)
            }
            Self::OfEarlier(_) => format!(
                "Lost: PersistentVolume {name} belongs to an earlier claim of this name, with another uid"
            ),
            Self::Changed(volume) => {
                let now = volume.claim_ref.as_ref();
                let other = now.filter(|it| it.key != claim.key());
                let other = other.map_or_else(String::new, |it| format!("claim {} with ", it.key));
                let uid = now.and_then(|it| it.uid.as_ref());
                let uid = uid.map_or_else(|| "<none>".to_owned(), ToString::to_string);
                format!(
                    "Lost: spec.claimRef of PersistentVolume {name} was changed, to {other}uid {uid}, but the volume is \
                     this claim's own"
                )
            }
            Self::WithoutUid(_) => format!(
                "Lost: spec.claimRef of PersistentVolume {name} has this claim's name, but no uid"
            ),
            Self::Unbound(_) => format!(
                "Lost: spec.claimRef of PersistentVolume {name} is empty; any matching claim can bind it"
            ),
            Self::Bound(_) => {
                format!("Lost, although spec.claimRef of PersistentVolume {name} is this claim")
            }
        }
    }

    /// Returns the advice against the cause.
    pub fn advice(&self, cx: &Cx, claim: &Claim) -> String {
        let name = claim.volume_name.as_deref().unwrap_or("<none>");
        if claim.metadata.deleting.is_some() {
            return "Terminating: record which backend volume it had before the claim is deleted"
                .to_owned();
        }
        match self {
            Self::NoVolumeName => "keep the claim; its events, backups and the volumes whose \
                 spec.claimRef has its name show which volume it had"
                .to_owned(),
            Self::Missing if claim.metadata.label(VELERO).is_some() => format!(
                "keep the claim; Velero restored it without PersistentVolume {name}, so restore the volume and its \
                 data, or recreate the volume from its manifest"
            ),
            Self::Missing => format!(
                "keep the claim, and recreate PersistentVolume {name} from its manifest, with policy Retain and this \
                 claim's uid in spec.claimRef: `kubectl storage rebind {}` does so from the journal, or from the \
                 file that --from names",
                facts::on_command_line(&ObjectRef {
                    key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
                    uid: None,
                })
            ),
            Self::Unread(_) => format!("run `kubectl get pv {name}` before any change"),
            Self::OfAnother(..) => {
                "find out whose data it is; to get a volume of its own, the claim has to be \
                 recreated without spec.volumeName"
                    .to_owned()
            }
            Self::OfEarlier(volume) | Self::WithoutUid(volume)
                if volume.metadata.deleting.is_some() =>
            {
                format!(
                    "PersistentVolume {name} is Terminating: save its manifest, it cannot be bound again"
                )
            }
            Self::Changed(volume) => facts::giving_back(volume, claim),
            Self::OfEarlier(volume) => {
                let first = facts::retained_first(volume);
                format!("{first}if this claim may read the data, {}", repair(cx, volume))
            }
            Self::WithoutUid(volume) => {
                format!("{}{}", facts::retained_first(volume), repair(cx, volume))
            }
            Self::Unbound(_) | Self::Bound(_) => {
                "wait: kube-controller-manager binds both again within seconds; if \
                 it does not, look at its log"
                    .to_owned()
            }
        }
    }
}

/// The label of objects that Velero restored.
const VELERO: &str = "velero.io/restore-name";

/// Returns the repair, which writes the claim's uid into the claimRef.
fn repair(cx: &Cx, volume: &Volume) -> String {
    let first = match cx.claims_naming(volume.name()) {
        Ok(claims) if claims.len() > 1 => {
            "find out which of the claims with this spec.volumeName owns the data, and delete the \
             others; then "
        }
        Ok(_) => "",
        Err(_) => "see that no other claim has this spec.volumeName; then ",
    };
    format!(
        "{first}run {}, which writes this claim's uid into spec.claimRef",
        facts::rebind_command(volume)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn only_the_name_of_a_provisioner_holds_the_uid_of_a_claim() {
        let uid = "2f5a1b7c-0d3e-4f60-8a9b-0c1d2e3f4a5b";
        for (name, of) in [
            (&*format!("pvc-{uid}"), Some(uid)),
            (&format!("pv-{uid}"), None),
            (&format!("pvc-{uid}-copy"), None),
            (&format!("pvc-{}", uid.replace('b', "g")), None),
            ("pvc-42", None),
        ] {
            assert_eq!(provisioned_for(name), of, "{name}");
        }
    }

    #[test]
    fn what_a_shell_would_carry_out_is_not_plain() {
        for (text, plain) in [
            ("data-web-0", true),
            ("pvc-1.2_3", true),
            ("ip-10-0-1-201.us-west-2.compute.internal", true),
            ("", false),
            ("-n", false),
            ("a b", false),
            ("a;b", false),
            ("a'b", false),
            ("$(a)", false),
            ("a\nb", false),
        ] {
            assert_eq!(is_plain_word(text), plain, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_plain_is_quoted() {
        let key = |name: &str| ObjectKey::cluster_wide(Kind::PersistentVolume, name);
        for (name, words) in [("a", "pv/a"), ("a;b", "'pv/a;b'"), ("a'b", r"'pv/a'\''b'")] {
            let object = ObjectRef { key: key(name), uid: None };
            assert_eq!(on_command_line(&object), words);
        }
    }
}

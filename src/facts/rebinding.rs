//! What lets a recreated claim bind the volume of its predecessor: the one advice of all findings
//! about the two. Whoever runs the command decides who reads the data.

use super::{is_plain_word, on_command_line, quoted, taken_from};
use crate::cluster::Cx;
use crate::model::{Claim, ReclaimPolicy, Volume};

/// What to do, without the command that does it.
pub(crate) const CLEAR_THE_UID: &str =
    "decide whether this claim may read the old data; then clear spec.claimRef.uid";

/// What to do first, so that the backend volume is kept.
pub(crate) fn retained_first(volume: &Volume) -> String {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => String::new(),
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            format!("run `kubectl storage retain {}` first; ", on_command_line(&volume.object()))
        }
    }
}

/// The command that gives a volume back to its claim.
pub(crate) fn rebind_command(volume: &Volume) -> String {
    format!("`kubectl storage rebind {}`", on_command_line(&volume.object()))
}

/// What to do, whole.
pub(crate) fn rebinding_advice(volume: &Volume) -> String {
    format!("{}{CLEAR_THE_UID}: {}", retained_first(volume), rebind_command(volume))
}

/// The arguments that give a volume whose claimRef was changed back to its own claim, which claimRef
/// may not name any more.
pub(crate) fn command_of_own(volume: &Volume, claim: &Claim) -> String {
    let named = volume.claim_ref.as_ref().is_some_and(|it| it.key == claim.key());
    let to =
        if named { String::new() } else { format!(" --to {}", quoted(&claim.key().to_string())) };
    format!("rebind {}{to}", on_command_line(&volume.object()))
}

/// How a volume comes back to its own claim; `None` unless its claimRef was changed. Whatever else is
/// wrong with such a volume follows from that, and no other advice applies.
pub(crate) fn giving_it_back(cx: &Cx, volume: &Volume) -> Option<String> {
    taken_from(cx, volume).map(|claim| giving_back(volume, claim))
}

/// How a volume whose claimRef was changed comes back to its own claim. While its deletion is under
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
            "{retain}save its manifest with the uid of {claim} in spec.claimRef; after the object is deleted, `kubectl \
             storage rebind {object} --from FILE` creates it again"
        ),
    }
}

/// What becomes of a volume whose claim is Terminating, if its policy is Retain, and how to go on.
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

/// The command that sets the policy of a volume back by hand; `None` where its name cannot stand in a
/// command.
pub(crate) fn policy_command(volume: &str, policy: &ReclaimPolicy) -> Option<String> {
    let known = matches!(policy, ReclaimPolicy::Delete | ReclaimPolicy::Recycle);
    (known && is_plain_word(volume)).then(|| {
        format!(
            "`kubectl patch pv {volume} -p '{{\"spec\":{{\"persistentVolumeReclaimPolicy\":\"{policy}\"}}}}'`"
        )
    })
}

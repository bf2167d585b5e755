//! Checks that several remedies make.
//!
//! Among them, the deletion-protection finalizer in a patch of the reclaim policy: added with the policy
//! Delete, so that no deletion of the object comes before that of the backend volume (R-2644-29),
//! and removed again with the policy Retain.

use crate::cluster::{Cx, Placed, Seen, Unseen};
use crate::drivers::Overlap;
use crate::facts::{
    self, EXTERNAL_PROVISIONER, FinalizerOwner, NO_FINALIZER, NO_OTHER_USERS, OtherUsers, Owner,
    SecretState, Unsafe, UnsafeReason,
};
use crate::model::{
    Attachment, AttachmentSource, BackendKey, Claim, ControllerState, FinalizerEdit, Liveness,
    Metadata, StatefulSet, Text, Volume, parse_day,
};

/// Number of objects that a reason names at most.
const NAMED: usize = 5;

/// The result of a check: `Err` is the reason to refuse.
pub(super) type Checked = Result<(), String>;

/// The danger flags on which passed checks rely, and the missing flags with which further checks would pass: all of
/// them are reported at once.
#[derive(Debug, Default)]
pub(super) struct ReliedFlags {
    given: Vec<&'static str>,
    missing: Vec<MissingFlag>,
}

/// A flag that is not given.
#[derive(Debug)]
struct MissingFlag {
    flag: &'static str,
    /// The reason why the flag is needed.
    why: String,
    /// The flag with its value and its meaning, in words that follow the reason.
    lifts: String,
    /// The kind that was not read, if that is the reason.
    unseen: Option<Unseen>,
}

impl ReliedFlags {
    /// Returns the flags with one that is given.
    pub(super) fn of(flag: &'static str) -> Self {
        Self { given: vec![flag], missing: Vec::new() }
    }

    /// Notes that a passed check relies on a flag, once for all objects.
    pub(super) fn rely(&mut self, flag: &'static str) {
        if !self.given.contains(&flag) {
            self.given.push(flag);
        }
    }

    /// Notes that a check would pass only with a flag; `lifts` names it with its value and its meaning. The other
    /// checks are made all the same.
    pub(super) fn lack(
        &mut self,
        flag: &'static str,
        why: impl Into<String>,
        lifts: impl Into<String>,
    ) {
        self.missing.push(MissingFlag { flag, why: why.into(), lifts: lifts.into(), unseen: None });
    }

    /// Notes that a check would pass only with a flag, because something was not read.
    fn lack_unseen(&mut self, flag: &'static str, unseen: Unseen, why: String, lifts: String) {
        self.missing.push(MissingFlag { flag, why, lifts, unseen: Some(unseen) });
    }

    /// Adds the flags that another check noted, with other reasons for the missing ones.
    pub(super) fn join(&mut self, other: Self, why: impl Fn(&str) -> String) {
        other.given.into_iter().for_each(|flag| self.rely(flag));
        let missing = other.missing.into_iter();
        self.missing.extend(missing.map(|it| MissingFlag { why: why(&it.why), ..it }));
    }

    /// Whether a flag is given, and a passed check relies on it.
    pub(super) fn contains(&self, flag: &str) -> bool {
        self.given.contains(&flag)
    }

    /// Adds the reasons for missing flags to a reason that no flag lifts, without naming the flags.
    pub(super) fn besides(&self, reason: String) -> String {
        let whys = self.missing.iter().map(|it| it.why.clone());
        std::iter::once(reason).chain(whys).collect::<Vec<_>>().join("; ")
    }

    /// Returns the same, and names no flag where a teardown lacks one: what overrides a refusal is looked up, not pasted.
    ///
    /// # Errors
    /// When something was not read, and a flag would do in its place.
    pub(super) fn settled_for(self, cx: &Cx) -> Seen<Result<Vec<&'static str>, String>> {
        if cx.settings().teardown.is_none() || self.missing.is_empty() {
            return self.settled();
        }
        let mut whys: Vec<_> = self.missing.iter().map(|it| &*it.why).collect();
        whys.dedup();
        let reason = whys.join("; ");
        match self.missing.into_iter().find_map(|it| it.unseen) {
            Some(unseen) => Err(Unseen { reason, ..unseen }),
            None => Ok(Err(reason)),
        }
    }

    /// Returns the flags on which the checks rely, or why a required one is missing.
    ///
    /// # Errors
    /// When something was not read, and a flag would do in its place.
    pub(super) fn settled(self) -> Seen<Result<Vec<&'static str>, String>> {
        if self.missing.is_empty() {
            return Ok(Ok(self.given));
        }
        let mut told: Vec<(&str, Vec<&str>, &str)> = Vec::new();
        for MissingFlag { flag, why, lifts, .. } in &self.missing {
            match told.iter_mut().find(|(known, ..)| known == flag) {
                None => told.push((flag, vec![why], lifts)),
                Some((_, reasons, shown)) => {
                    if !reasons.contains(&why.as_str()) {
                        reasons.push(why);
                    }
                    // What is said of this volume alone is enough for all that was said of more.
                    if lifts.len() < shown.len() {
                        *shown = lifts;
                    }
                }
            }
        }
        let told =
            told.into_iter().map(|(_, reasons, lifts)| format!("{}; {lifts}", reasons.join("; ")));
        let reason = told.collect::<Vec<_>>().join("; ");
        match self.missing.into_iter().find_map(|it| it.unseen) {
            Some(unseen) => Err(Unseen { reason, ..unseen }),
            None => Ok(Err(reason)),
        }
    }
}

/// Makes checks in order; the function returns the first that does not pass.
macro_rules! all {
    ($($check:expr),+ $(,)?) => {$(
        if let Err(reason) = $check { return Ok(Err(reason)); }
    )+};
}
pub(super) use all;

/// Returns the third-party finalizers of a volume.
pub(super) fn third_party_finalizers(volume: &Volume) -> Option<String> {
    let third_party = |it: &&Text| facts::owner_of(it) == FinalizerOwner::Unknown;
    let names: Vec<&str> =
        volume.metadata.finalizers.iter().filter(third_party).map(|it| &**it).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns the notice that third-party finalizers block the deletion.
pub(super) fn blocked_by(third_party: &str) -> String {
    format!(
        "third-party finalizers block its deletion until their controllers remove them: {third_party}"
    )
}

/// Returns the notice that no `VolumeAttachment` can show where a volume of a driver is in use.
pub(super) fn attaches_without_trace(driver: &str) -> String {
    format!("CSIDriver {driver} has attachRequired: false, so no VolumeAttachment can show a mount")
}

/// Returns the reason for a volume whose earlier deletion was stopped, without the flag that lifts it.
pub(super) fn backend_in_doubt(state: &str) -> String {
    format!(
        "an earlier deletion was stopped (annotation storage.kubectl.dev/backend-state: {state}): \
         verify the backend volume"
    )
}

/// The reason for a volume that was never bound to a claim, as far as its `spec.claimRef` shows.
pub(super) const UNBOUND: &str = "spec.claimRef is empty or has no uid";

/// The risk of a remedy that ends with the deletion of the backend volume.
pub(super) const DATA_LOSS: &str = "the data is permanently destroyed";

/// The risk of a deletion with which the driver removes the volume and leaves the data.
pub(super) const DATA_KEPT: &str =
    "the data remains at the storage system, and no PersistentVolume references it any more";

/// Refuses an object that an annotation exempts, for good or until a day.
pub(super) fn not_exempt(cx: &Cx, metadata: &Metadata) -> Checked {
    not_ignored(metadata)?;
    if let Some(until) = metadata.keep_until() {
        // A date that does not parse never expires: its author wanted protection.
        let expired =
            parse_day(until).is_some_and(|time| cx.passed(time, std::time::Duration::ZERO));
        if !expired {
            return Err(format!("annotation storage.kubectl.dev/keep-until: {until}"));
        }
    }
    Ok(())
}

/// Refuses an object that an annotation exempts for good. A remedy that saves an object is not refused because of a day
/// until which the object is to be kept.
pub(super) fn not_ignored(metadata: &Metadata) -> Checked {
    match metadata.ignore() {
        Some(ignore) => Err(format!("annotation storage.kubectl.dev/ignore: {ignore}")),
        None => Ok(()),
    }
}

/// Refuses while a set is being deleted or scaled: its controller has not observed its range.
pub(super) fn set_is_settled(set: &StatefulSet) -> Checked {
    if set.metadata.deleting.is_some() {
        return Err("the set is Terminating".to_owned());
    }
    if set.observed_generation < set.generation || set.pods > set.replicas.unwrap_or(1) {
        return Err("wait until the StatefulSet controller has scaled the set".to_owned());
    }
    Ok(())
}

/// Refuses a volume whose storage another volume certainly references, or may.
pub(super) fn backend_is_its_own(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let others = cx.sharing(volume)?;
    let told = |(other, overlap): &(&Volume, Overlap)| {
        format!("{} {}", other.object(), facts::lies(overlap))
    };
    let named: Vec<_> = others.iter().take(NAMED).map(told).collect();
    let named = named.join(", ");
    // There may be thousands, each with such a reason.
    Ok(match others.len() {
        0 => Ok(()),
        1..=NAMED => Err(named),
        more => Err(format!("{named}, and {} more", more - NAMED)),
    })
}

/// Returns the attachments that reference a volume, whatever their status: by its name, or by an inline volume with the
/// same backend volume.
pub(super) fn attachments<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Vec<&'a Attachment>> {
    let mut attachments = cx.attachments_of(volume.name())?;
    let inline = cx.inline_attachments_at(&volume.places())?;
    attachments.extend(inline.into_iter().map(|(attachment, _)| attachment));
    Ok(attachments)
}

/// Refuses a volume that an attachment references.
pub(super) fn not_attached(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let attachments = attachments(cx, volume)?;
    Ok(attachments.first().map_or(Ok(()), |first| Err(still_names_it(first))))
}

/// Returns the reason for refusal that an attachment references a volume.
pub(super) fn still_names_it(attachment: &Attachment) -> String {
    let (name, node) = (&attachment.metadata.name, &attachment.node);
    let what = match &attachment.source {
        AttachmentSource::Inline { .. } => "its backend volume",
        AttachmentSource::Volume(_) | AttachmentSource::None => "it",
    };
    format!("volumeattachment/{name} references {what} on node {node}")
}

/// Refuses unless the backend volume is known and comparable: otherwise other volumes, nodes and snapshots that use it
/// cannot be found.
pub(super) fn backend_is_known(volume: &Volume) -> Result<&BackendKey, String> {
    let Some(backend) = &volume.backend else {
        return Err(facts::UNIDENTIFIED.to_owned());
    };
    Ok(backend)
}

/// Refuses a volume that a node lists as in use or attached. Nodes list migrated volumes as CSI volumes.
pub(super) fn on_no_node(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    if let Err(reason) = backend_is_known(volume) {
        return Ok(Err(reason));
    }
    let nodes = cx.nodes_at(&volume.places())?;
    let nodes: Vec<_> = nodes.into_iter().map(|(node, _)| node).collect();
    // A node that is not Ready is named first: no kubelet there can release the volume.
    let unready = nodes.iter().find(|node| !node.ready);
    Ok(match unready.or(nodes.first()) {
        None => Ok(()),
        Some(node) => {
            let silent =
                if node.ready { "" } else { " and is not Ready: a pod there may still write" };
            let name = &node.metadata.name;
            Err(format!("node {name} lists it in volumesInUse or volumesAttached{silent}"))
        }
    })
}

/// Refuses a volume that a claim references.
pub(super) fn no_claim_names_it(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let claims = cx.claims_naming(volume.name())?;
    Ok(match claims.first() {
        None => Ok(()),
        Some(claim) => Err(format!("{} references it in spec.volumeName", claim.object())),
    })
}

/// Refuses while a snapshot of the volume is being taken; each finished one adds a notice.
pub(super) fn no_snapshot_in_progress(
    cx: &Cx,
    volume: &Volume,
    notices: &mut Vec<String>,
) -> Seen<Checked> {
    for (snapshot, _) in cx.snapshots_at(&volume.places())? {
        if snapshot.in_progress() {
            return Ok(Err(format!("{} is being taken of it", snapshot.object())));
        }
        notices.push(format!("{} was taken of it", snapshot.object()));
    }
    Ok(Ok(()))
}

/// Refuses unless the deletion Secret of the volume exists.
pub(super) fn secret_is_there(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Checked> {
    Ok(match facts::deletion_secret(cx, volume, owner)? {
        SecretState::NotNeeded | SecretState::Present(_) => Ok(()),
        SecretState::Missing(secret) => Err(format!(
            "its deletion Secret {}/{} does not exist; create it again",
            secret.namespace, secret.name
        )),
        SecretState::Forgotten => {
            Err("its StorageClass does not exist, so the name of its deletion Secret is \
                 unknown; create the class again"
                .to_owned())
        }
        SecretState::Unresolvable(named) => Err(format!(
            "csi-provisioner cannot find out which Secret {named} is, and would not call the driver"
        )),
        SecretState::Forbidden(secret) => return Err(secret.unreadable()),
    })
}

/// A controller that has to run so that a remedy has its effect.
pub(super) struct Needed<'a> {
    /// Description of the controller, such as `csi-provisioner of disk.example.com`.
    pub(super) who: String,
    /// Name of the controller for the flag that asserts that it runs.
    pub(super) name: &'a str,
    /// That flag.
    pub(super) vouch: Vouch,
    pub(super) state: ControllerState,
}

/// The flag with which the user asserts that a provisioner is running.
pub(super) const PROVISIONER_ALIVE: &str = "--provisioner-alive";

/// The flag with which the user asserts that an external-resizer is running.
pub(super) const RESIZER_ALIVE: &str = "--resizer-alive";

/// Assertion that a controller is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vouch {
    /// Of a provisioner.
    Provisioner,
    /// Of an external-resizer.
    Resizer,
}

impl Vouch {
    const fn flag(self) -> &'static str {
        match self {
            Self::Provisioner => PROVISIONER_ALIVE,
            Self::Resizer => RESIZER_ALIVE,
        }
    }

    /// Whether the user asserts it of the controller with this name.
    fn is_given(self, cx: &Cx, name: &str) -> bool {
        let settings = cx.settings();
        match self {
            Self::Provisioner => settings.alive_provisioners.contains(name),
            Self::Resizer => settings.alive_resizers.contains(name),
        }
    }

    fn lifts(self, name: &str) -> String {
        format!("{} {name} asserts that it is", self.flag())
    }
}

/// Requires the user's assertion that a controller is running, because of this.
pub(super) fn vouched(cx: &Cx, vouch: Vouch, name: &str, why: String, relies_on: &mut ReliedFlags) {
    if vouch.is_given(cx, name) {
        relies_on.rely(vouch.flag());
    } else {
        let lifts = format!("{} {name} asserts that one does", vouch.flag());
        relies_on.lack(vouch.flag(), why, lifts);
    }
}

/// Refuses unless a controller is running. Where its state is unknown, the flag that asserts it counts, if `word` is
/// given, and becomes one of the flags on which the proposal relies. Nothing overrides evidence that it is not running.
///
/// # Errors
/// When objects were not read that would show it.
pub(super) fn alive(cx: &Cx, needed: &Needed, word: Option<&mut ReliedFlags>) -> Seen<Checked> {
    let Needed { who, name, vouch, state } = needed;
    match state.liveness {
        Liveness::Alive => return Ok(Ok(())),
        Liveness::Absent => return Ok(Err(format!("{who} is absent: {}", state.because))),
        Liveness::Unknown => {}
    }
    if let Some(stopped) = &state.stopped {
        return Ok(Err(format!("{who} is not running: {stopped}; start it first")));
    }
    let Some(relies_on) = word else {
        return match unseen(state) {
            Some(unseen) => Err(unseen),
            None => Ok(Err(format!("{who} may not be running: {}", state.because))),
        };
    };
    if vouch.is_given(cx, name) {
        relies_on.rely(vouch.flag());
        return Ok(Ok(()));
    }
    let (flag, lifts) = (vouch.flag(), vouch.lifts(name));
    if let Some(unseen) = unseen(state) {
        let why = format!("{}; unknown whether {who} is running", unseen.reason);
        relies_on.lack_unseen(flag, unseen, why, lifts);
    } else {
        let why = format!("{who} may not be running: {}", state.because);
        relies_on.lack(flag, why, lifts);
    }
    Ok(Ok(()))
}

/// Returns the gap because of which the state of a controller is unknown.
fn unseen(state: &ControllerState) -> Option<Unseen> {
    let (kind, reason) = state.unseen.as_ref()?;
    Some(Unseen { kind: *kind, namespace: None, reason: reason.clone() })
}

/// Requires the user's assertion that there are no other users, where something suggests users that were not found
/// (R-USE-8).
pub(super) fn nothing_else_uses(
    cx: &Cx,
    others: OtherUsers,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) {
    let OtherUsers { signs, mut unseen, unasked, .. } = others;
    notices.extend(others.notices);
    // A survey of a dump is no plan: the cluster is asked before anything is written.
    if unasked && cx.settings().teardown.is_some() {
        notices.extend(unseen.take().map(|it| it.reason));
    }
    if signs.is_empty() && unseen.is_none() {
        return;
    }
    if cx.settings().no_other_users {
        relies_on.rely(NO_OTHER_USERS);
        notices.extend(signs);
        notices.extend(unseen.map(|it| it.reason));
        return;
    }
    let asserts = format!("{NO_OTHER_USERS} asserts that nothing else uses it");
    let reason = unseen.as_ref().map(|it| it.reason.clone());
    let why = signs.into_iter().chain(reason).collect::<Vec<_>>().join("; ");
    match unseen {
        None => relies_on.lack(NO_OTHER_USERS, why, asserts),
        Some(unseen) => relies_on.lack_unseen(NO_OTHER_USERS, unseen, why, asserts),
    }
}

/// Returns the uses of a claim: R-PVCP-9 without the choice about its data. An attachment counts by
/// its finalizer too (R-SUP-1).
pub(super) fn of<'a>(cx: &Cx<'a>, claim: &Claim) -> Unsafe<'a> {
    let mut found = facts::unsafe_to_delete(cx, claim);
    found.reasons.retain(|it| !it.is_lifted_by_choice());
    let attached = claim.volume_name.as_deref().map_or(Ok(Vec::new()), |it| cx.attachments_of(it));
    // What was not read is reported by `unsafe_to_delete` already.
    for row in attached.unwrap_or_default() {
        let reason = UnsafeReason::Attached(row);
        if facts::may_be_attached(row) && !found.reasons.contains(&reason) {
            found.reasons.push(reason);
        }
    }
    found
}

/// Returns the reason that names up to `most` uses, each with the way to end it.
pub(super) fn in_words<'a>(
    uses: &[UnsafeReason<'a>],
    most: usize,
    ended_by: impl Fn(&UnsafeReason<'a>) -> String,
) -> String {
    let named = uses.iter().take(most).map(|it| format!("{} ({})", it.words(), ended_by(it)));
    let named = named.collect::<Vec<_>>().join(", ");
    let others = uses.len().saturating_sub(most);
    let others = if others == 0 { String::new() } else { format!(" and {others} more") };
    format!("in use, and no flag overrides this; end these uses first: {named}{others}")
}

/// Returns the edit of the deletion-protection finalizer in a patch to the policy Delete. Where it would help, but not
/// every csi-provisioner is known to honor it, a notice gives the reason.
pub(super) fn with_delete(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> FinalizerEdit {
    if volume.metadata.deleting.is_some() || has_it(volume) {
        return FinalizerEdit::Untouched;
    }
    let Some(driver) = facts::finalizer_driver(volume) else { return FinalizerEdit::Untouched };
    match facts::every_provisioner_honors_finalizer(cx, &driver) {
        Ok(()) => FinalizerEdit::Added,
        Err(reason) => {
            notices.push(format!(
                "{NO_FINALIZER} ({reason}): if the object is deleted before the driver has \
                 finished, the backend volume can leak"
            ));
            FinalizerEdit::Untouched
        }
    }
}

/// Adds the notice of [`with_delete`] to a plan that sets the policy to Retain first: then
/// csi-provisioner removes the finalizer that the volume has now.
pub(super) fn with_delete_later(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) {
    let mut released = volume.clone();
    let finalizers = released.metadata.finalizers.iter();
    released.metadata.finalizers =
        finalizers.filter(|it| &***it != EXTERNAL_PROVISIONER).cloned().collect();
    with_delete(cx, &released, notices);
}

/// Returns the edit of the deletion-protection finalizer in a patch to another policy than Delete: one that this tool
/// added is removed. On a Terminating volume it stays, and a notice names who removes it.
pub(super) fn without_delete(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> FinalizerEdit {
    if !has_it(volume) || !cx.added_finalizer(volume, EXTERNAL_PROVISIONER) {
        return FinalizerEdit::Untouched;
    }
    if volume.metadata.deleting.is_some() {
        notices.push(format!(
            "finalizer {EXTERNAL_PROVISIONER}, which this tool added, blocks deletion until {} \
             removes it; if none runs, use `kubectl storage fix-finalizers {}`",
            facts::owner(volume).describe(),
            volume.object(),
        ));
        return FinalizerEdit::Untouched;
    }
    notices.push(format!(
        "the same patch removes finalizer {EXTERNAL_PROVISIONER}, which this tool added: no \
         controller might remove it"
    ));
    FinalizerEdit::Removed
}

fn has_it(volume: &Volume) -> bool {
    volume.metadata.finalizers.iter().any(|it| **it == *EXTERNAL_PROVISIONER)
}

#[cfg(test)]
mod tests;

//! Gives a volume back to a claim, data intact: P-RESERVE, then the claim, then the binding.
//!
//! The volume controller binds a volume whose claimRef has the name of a claim and no uid to that
//! claim alone, whatever its size, class and modes are (`IsVolumeBoundToClaim`, `syncUnboundClaim`):
//! whether they fit is checked here.

mod fit;

use serde_json::{Map, Value, json};

use super::{Remedy, checks::ReliedFlags, reserve};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, LostCause};
use crate::model::{
    Action, Bytes, Claim, ClaimKey, ClaimPhase, Effect, Kind, Loss, ObjectKey, ObjectRef, Phase,
    Proposal, ReclaimPolicy, Refusal, Uid, Undo, Volume,
};
use crate::remedies::{
    checks::{self, Checked},
    released,
};

/// Gives a volume back (`rebind`): to the claim that it was bound to, or to its own if claimRef was changed.
pub static REMEDY: Remedy = Remedy {
    id: "rebind",
    needs: &[
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::StorageClass,
        Kind::VolumeAttachment,
        Kind::Node,
    ],
    writes: &[("patch", "persistentvolumes"), ("create", "persistentvolumeclaims")],
    command: |cx, volume| {
        Some(match facts::taken_from(cx, volume) {
            Some(own) => facts::command_of_own(volume, own),
            None => format!("rebind {}", facts::on_command_line(&volume.object())),
        })
    },
    propose: |cx, volume| {
        let to = facts::taken_from(cx, volume).map(Claim::key);
        propose(cx, volume, &Rebinding { to, ..Rebinding::default() })
    },
};

/// The claim to which a volume is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebinding {
    /// The claim; `None` for the one that the volume was bound to.
    pub to: Option<ClaimKey>,
    /// The former claim, as it was before it was deleted.
    pub former: Option<FormerClaim>,
    /// The uid of the deleted claim to which the volume must belong.
    pub of: Option<Uid>,
    /// The journal entry with which the claim was deleted.
    pub undoes: Option<u64>,
}

/// The risk of a binding.
pub(super) const RISK: &str = "pods that use the claim read and change the data";

impl Rebinding {
    /// Returns the claim to which a volume is given.
    pub fn target(&self, volume: &Volume) -> Option<ClaimKey> {
        self.to.clone().or_else(|| volume.claim_ref.as_ref().map(|it| it.key.clone()))
    }
}

/// Returns the claim to which a volume is bound, if it is the wanted one.
///
/// # Errors
/// When the claim was not read.
pub fn bound<'a>(cx: &Cx<'a>, volume: &Volume, to: Option<&ClaimKey>) -> Seen<Option<&'a Claim>> {
    let Some(claim_ref) = &volume.claim_ref else { return Ok(None) };
    if to.is_some_and(|it| *it != claim_ref.key) || claim_ref.uid.is_none() {
        return Ok(None);
    }
    let claim = cx.claim(&claim_ref.key)?;
    Ok(claim.filter(|it| {
        it.metadata.uid == claim_ref.uid
            && it.phase == ClaimPhase::Bound
            && it.volume_name.as_deref() == Some(volume.name())
    }))
}

/// Proposes or refuses to give a volume to a claim.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(cx: &Cx, volume: &Volume, rebinding: &Rebinding) -> Seen<Result<Proposal, Refusal>> {
    let Some(target) = rebinding.target(volume) else {
        let effect =
            Effect { what: "binds the volume to a claim".to_owned(), risk: RISK.to_owned() };
        let reason = "spec.claimRef is empty: any matching claim can bind it".to_owned();
        return Ok(Err(Refusal { reason, effect }));
    };
    let object = claim_object(&target);
    let refuse = |reason: String| {
        let what = format!("reserves the volume for {object}, and binds both");
        Ok(Err(Refusal { reason, effect: Effect { what, risk: RISK.to_owned() } }))
    };
    if let Some(reason) = other_volume(volume, rebinding, &target) {
        return refuse(reason);
    }
    let claim = cx.claim(&target)?;
    if let Some(claim) = claim.filter(|it| it.phase == ClaimPhase::Lost) {
        return propose_lost(cx, volume, claim);
    }
    let (mut notices, mut relies_on) = (Vec::new(), ReliedFlags::default());
    if let Err(reason) = reserve::is_free(cx, volume, &target, &mut notices, &mut relies_on)? {
        // Who has the volume matters more than its phase.
        return refuse(fit::taken(cx, volume, &target)?.unwrap_or(reason));
    }
    if let Some(reason) = fit::taken(cx, volume, &target)? {
        return refuse(reason);
    }
    if let Some(claim) = claim
        && let Some(reason) = fit::misfit(cx, volume, claim, &mut notices)?
    {
        return refuse(reason);
    }
    if let Err(reason) = fit::other_claims(cx, volume, &target, &mut notices)? {
        return refuse(reason);
    }
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return refuse(reason),
    };
    fit::notices(cx, volume, &target, &mut notices);
    let mut steps = Vec::new();
    let reserved = reserve::is_reserved_for(volume, &target);
    if !reserved {
        steps.push(Action::ReserveVolume {
            volume: volume.object(),
            from: volume.phase.clone(),
            claim: target.clone(),
        });
    }
    if claim.is_none() {
        let former = rebinding.former.as_ref();
        let manifest = match of(volume, &target, former) {
            Ok(manifest) => manifest,
            Err(reason) => return refuse(reason),
        };
        steps.push(Action::CreateClaim { claim: object.clone(), manifest });
    }
    let first = if reserved { "" } else { "reserves the volume for that claim, " };
    let what = match claim {
        None => format!("{first}creates {object}, and binds both"),
        Some(_) => format!("{first}and binds {object}, which is Pending, to it"),
    };
    Ok(Ok(Proposal {
        steps,
        effect: Effect {
            what: format!("{}; {}", trimmed(&what), remains(volume)),
            risk: RISK.to_owned(),
        },
        undo: RELEASES_AGAIN,
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// The way to end a binding again.
const RELEASES_AGAIN: Undo = Undo::Never("release it again with `delete pvc NAME --keep-data`");

fn trimmed(what: &str) -> &str {
    what.strip_prefix("and ").unwrap_or(what)
}

/// Describes the effect of the policy afterwards.
fn remains(volume: &Volume) -> String {
    let back = facts::policy_command(volume.name(), &ReclaimPolicy::Delete);
    let back =
        back.map_or_else(String::new, |it| format!("; {it} has it deleted with the claim again"));
    format!(
        "the policy remains Retain, so the backend volume remains after the claim is deleted{back}"
    )
}

/// Returns the object of a claim that need not exist.
fn claim_object(key: &ClaimKey) -> ObjectRef {
    ObjectRef { key: ObjectKey::claim(key), uid: None }
}

/// Returns why the volume is not the wanted one, or the claim is not one of a user.
fn other_volume(volume: &Volume, rebinding: &Rebinding, target: &ClaimKey) -> Option<String> {
    let claim_ref = volume.claim_ref.as_ref();
    if let Some(of) = &rebinding.of {
        let its_own = claim_ref.is_some_and(|it| it.uid.as_ref() == Some(of));
        if !its_own && !reserve::is_reserved_for(volume, target) {
            return Some(format!(
                "its spec.claimRef no longer references {target} as it was deleted, with uid {of}"
            ));
        }
    }
    // A volume populator fills the volume of such a claim, then writes the user's claim into
    // claimRef (lib-volume-populator, `controller.go`).
    if rebinding.to.is_none() && target.name.starts_with("prime-") {
        return Some(format!(
            "claim {target} in its spec.claimRef is that of a volume populator, which no pod uses; \
             --to NAMESPACE/NAME names the claim that is to have the data"
        ));
    }
    None
}

fn propose_lost(cx: &Cx, volume: &Volume, claim: &Claim) -> Seen<Result<Proposal, Refusal>> {
    let object = claim.object();
    let what = format!(
        "writes the uid of {object} into spec.claimRef, and binds both; {}",
        remains(volume)
    );
    let effect = Effect { what, risk: RISK.to_owned() };
    let (mut notices, mut relies_on) = (Vec::new(), ReliedFlags::default());
    if let Err(reason) = check(cx, volume, claim, &mut notices, &mut relies_on)? {
        return Ok(Err(Refusal { reason, effect }));
    }
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return Ok(Err(Refusal { reason, effect })),
    };
    fit::notices(cx, volume, &claim.key(), &mut notices);
    let mut steps = Vec::new();
    if volume.claim_ref.as_ref().is_none_or(|it| it.key != claim.key()) {
        let (from, claim) = (volume.phase.clone(), claim.key());
        steps.push(Action::ReserveVolume { volume: volume.object(), from, claim });
    }
    steps.push(Action::BindVolume { volume: volume.object(), claim: object });
    Ok(Ok(Proposal {
        steps,
        effect,
        undo: RELEASES_AGAIN,
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

fn check(
    cx: &Cx,
    volume: &Volume,
    claim: &Claim,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let (object, name) = (claim.object(), volume.name());
    if claim.volume_name.as_deref().is_some_and(|it| *it != *name) {
        let other = claim.volume_name.as_deref().unwrap_or_default();
        return Ok(Err(format!(
            "the name is taken: {object} is Lost, and references pv/{other}, not this volume; pass \
             --to NAMESPACE/NAME for another name, or repair that claim with `kubectl storage \
             rebind pv/{other}`"
        )));
    }
    if claim.metadata.deleting.is_some() {
        return Ok(Err(format!("{object} is Terminating: it is deleted, not bound")));
    }
    if claim.metadata.uid.is_none() {
        return Ok(Err(format!("the uid of {object} is unknown")));
    }
    match facts::lost_cause(cx, claim)? {
        None => return Ok(Err(format!("{object} is not Lost any more"))),
        Some(LostCause::NoVolumeName) => {
            return Ok(Err(format!(
                "{object} is Lost, and its spec.volumeName is empty, so no controller binds it; \
                 once you know that this volume is its own, delete the claim, and run the same \
                 command again, which recreates it"
            )));
        }
        Some(LostCause::Missing | LostCause::Unread(_)) => {
            return Ok(Err(format!("{object} is Lost, and whose this volume is, is unknown")));
        }
        Some(LostCause::OfAnother(_, claim_ref)) => {
            return Ok(Err(format!(
                "{object} is Lost, since the volume belongs to claim {}; find out whose data it is: \
                 `kubectl storage rebind pv/{name}` without --to gives it back to that claim",
                claim_ref.key
            )));
        }
        Some(LostCause::Unbound(_)) => {
            return Ok(Err(format!(
                "spec.claimRef is empty and {object} references it: kube-controller-manager binds \
                 both by itself; if it does not within a minute, look at its log"
            )));
        }
        Some(LostCause::Bound(_)) => {
            return Ok(Err(format!(
                "spec.claimRef is {object} already: kube-controller-manager sets both to Bound by \
                 itself; if it does not within a minute, look at its log"
            )));
        }
        Some(LostCause::OfEarlier(_) | LostCause::Changed(_) | LostCause::WithoutUid(_)) => {}
    }
    released::backend_state_known(cx, volume, relies_on);
    checks::all!(
        reserve::is_kept(volume),
        phase(volume),
        checks::not_exempt(cx, &volume.metadata),
        reserve::shares_by_design(cx, volume, notices)?,
        fit::other_claims(cx, volume, &claim.key(), notices)?,
    );
    Ok(Ok(()))
}

fn phase(volume: &Volume) -> Checked {
    match &volume.phase {
        Phase::Available | Phase::Released | Phase::Pending => Ok(()),
        phase => Err(format!("its phase is {phase}, not Available or Released")),
    }
}

/// The labels and annotations of a deleted claim that a new one takes over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormerClaim {
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
}

/// Prefixes of annotations that controllers write, and have to write anew.
const OF_CONTROLLERS: [&str; 3] =
    ["pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"];

impl FormerClaim {
    /// Reads a claim as the API server returned it before it was deleted. Its owners are left out:
    /// they may not exist, and the garbage collector would delete the claim with them.
    pub fn of(saved: &Value) -> Self {
        let all = |field: &str| saved["metadata"][field].as_object().cloned().unwrap_or_default();
        let mut annotations = all("annotations");
        annotations.retain(|key, _| !OF_CONTROLLERS.iter().any(|it| key.starts_with(it)));
        Self { labels: all("labels"), annotations }
    }
}

/// Returns the manifest of a claim that fits a volume exactly.
///
/// # Errors
/// Why none would fit, as a reason to refuse.
pub fn of(volume: &Volume, key: &ClaimKey, former: Option<&FormerClaim>) -> Result<Value, String> {
    let modes = volume.access.modes;
    if modes.has_unknown() || modes.names().next().is_none() {
        return Err(format!("its access modes ({modes}) are none that a claim could have"));
    }
    let capacity = volume.capacity.filter(|it| *it > 0);
    let capacity = capacity.ok_or("its capacity is unknown, so the size of its claim is too")?;
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(&*key.name));
    metadata.insert("namespace".to_owned(), json!(&*key.namespace));
    if let Some(FormerClaim { labels, annotations }) = former {
        for (field, map) in [("labels", labels), ("annotations", annotations)] {
            if !map.is_empty() {
                metadata.insert(field.to_owned(), Value::Object(map.clone()));
            }
        }
    }
    let mut spec = json!({
        "accessModes": modes.names().collect::<Vec<_>>(),
        "volumeMode": volume.access.volume_mode(),
        "resources": {"requests": {"storage": quantity(capacity)}},
        // An absent class would become the default class.
        "storageClassName": volume.class.as_deref().unwrap_or_default(),
        "volumeName": volume.name(),
    });
    if let Some(class) = &volume.attributes_class {
        spec["volumeAttributesClassName"] = json!(&**class);
    }
    Ok(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec,
    }))
}

/// Returns a number of bytes as a quantity, without rounding.
pub fn quantity(bytes: Bytes) -> String {
    let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests;

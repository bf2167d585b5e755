//! `rebind`: plans to give a volume back to a claim, or to recreate the volume of a Lost claim.

use serde_json::{Value, json};

use super::{ObjectDetails, Plan, Purpose, orphan::not_reclaimed_elsewhere, undo::reclaims};
use crate::cluster::{Cx, Seen};
use crate::journal::{Entry, History};
use crate::model::{Claim, ClaimKey, ClaimRef, Kind, ObjectKey, ObjectRef, Uid, Volume};
use crate::remedies::{
    Adoption, FormerClaim, REBIND, Rebinding, Recreation, rebind as remedy, recreate,
};

/// Volume and claim to bind to each other, and manifests to recreate them.
#[derive(Debug, Default)]
pub struct RebindRequest<'a> {
    /// Name of the volume.
    pub volume: Box<str>,
    /// Key of the claim; `None` for the one that the volume was bound to.
    pub to: Option<ClaimKey>,
    /// Manifest of the volume (`--from`).
    pub from: Option<SavedVolume>,
    /// Journal with deleted volumes and claims.
    pub history: Option<&'a History>,
}

/// Manifest of a volume that does not exist.
#[derive(Debug)]
pub enum SavedVolume {
    /// That of a backup or a dump, or a list that contains it.
    Manifest(Value),
    /// That of a volume which a teardown kept, in this or in another cluster: by the uid that its record has.
    Kept(Value, Option<String>),
}

/// Plans to give a volume back to a claim. Without a change or a refusal the claim has it already, and the text says
/// so.
pub fn rebind(cx: &Cx, request: &RebindRequest) -> (Plan, Option<String>) {
    let mut plan = Plan::new(REBIND.id, cx);
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, &request.volume);
    let object = ObjectRef { key, uid: None };
    let volume = match cx.volume(&request.volume) {
        Ok(Some(volume)) => volume,
        Ok(None) => {
            plan_creation(&mut plan, cx, request, object);
            return (plan, None);
        }
        Err(unseen) => {
            plan.refuse(object, REBIND.id, unseen.reason, true);
            return (plan, None);
        }
    };
    if let Some(SavedVolume::Manifest(_)) = request.from {
        let reason = "it exists, so nothing is recreated: omit --from".to_owned();
        plan.refuse(volume.object(), REBIND.id, reason, false);
        return (plan, None);
    }
    match remedy::bound(cx, volume, request.to.as_ref()) {
        Ok(Some(claim)) => {
            return (plan, Some(told_bound(volume, claim)));
        }
        Ok(None) => {}
        Err(unseen) => {
            plan.refuse(volume.object(), REBIND.id, unseen.reason, true);
            return (plan, None);
        }
    }
    if let Some(SavedVolume::Kept(..)) = request.from {
        // An earlier run may have created it, and not the claim.
        plan_creation(&mut plan, cx, request, object);
        return (plan, None);
    }
    let rebinding = Rebinding {
        to: request.to.clone(),
        former: request.history.and_then(|it| former(it, volume, request.to.as_ref())),
        ..Rebinding::default()
    };
    plan.take(cx, Purpose::Rebind(Box::new(rebinding)), volume, true);
    (plan, None)
}

/// Says that a volume is bound to a claim.
pub(super) fn told_bound(volume: &Volume, claim: &Claim) -> String {
    format!("{} is bound to {} already", volume.object(), claim.object())
}

/// Returns the claim that a volume was bound to, as the journal has it from before its deletion; `None` for any other
/// claim.
fn former(history: &History, volume: &Volume, to: Option<&ClaimKey>) -> Option<FormerClaim> {
    let claim_ref = volume.claim_ref.as_ref()?;
    if to.is_some_and(|it| *it != claim_ref.key) {
        return None;
    }
    let saved = |entry: &&Entry| {
        let key = &entry.intent.object.key;
        key.kind == Kind::PersistentVolumeClaim
            && key.namespace.as_ref() == Some(&claim_ref.key.namespace)
            && key.name == claim_ref.key.name
            && entry.intent.pre_image.as_ref().is_some_and(|it| was_bound_to(it, volume))
    };
    let entry = history.entries.iter().rev().find(saved)?;
    entry.intent.pre_image.as_ref().map(FormerClaim::of)
}

/// Whether a claim from the journal is the one that a volume was bound to.
fn was_bound_to(saved: &Value, volume: &Volume) -> bool {
    let uid = saved["metadata"]["uid"].as_str().and_then(Uid::parse);
    let wanted = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
    saved["spec"]["volumeName"].as_str() == Some(volume.name())
        && wanted.is_none_or(|wanted| uid.as_ref() == Some(wanted))
}

/// Plans to create a volume, or refuses it.
fn plan_creation(plan: &mut Plan, cx: &Cx, request: &RebindRequest, object: ObjectRef) {
    match creation(cx, request) {
        Ok(Ok((purpose, volume))) => {
            let about = ObjectDetails::of_created(cx, &volume);
            plan.take_proposed(cx, purpose, volume.object(), about, true);
        }
        Ok(Err(reason)) => plan.refuse(object, recreate::ID, reason, false),
        Err(unseen) => plan.refuse(object, recreate::ID, unseen.reason, true),
    }
}

/// Returns the creation of a volume that does not exist, and the volume: that of a Lost claim, or one that a teardown kept.
fn creation(cx: &Cx, request: &RebindRequest) -> Seen<Result<(Purpose, Volume), String>> {
    let claims = cx.claims_naming(&request.volume)?;
    let lost: Vec<&Claim> = claims.into_iter().filter(|it| it.was_bound()).collect();
    Ok(match (&lost[..], &request.from) {
        ([], Some(SavedVolume::Kept(manifest, of))) => {
            let server = cx.cluster().server();
            let here = server.and_then(|it| it.cluster_uid.as_deref());
            let is_of_this = of.is_some() && of.as_deref() == here;
            let adoption = not_reclaimed(request)
                .and_then(|()| Adoption::kept(manifest, request.to.as_ref(), is_of_this));
            adoption.map(|it| (Purpose::Adopt(Box::new(it.clone())), it.volume().clone()))
        }
        _ => recreation(request, &lost)
            .map(|it| (Purpose::Recreate(Box::new(it.clone())), it.volume().clone())),
    })
}

/// Refuses a volume whose disk a journal of this cluster may have had deleted.
fn not_reclaimed(request: &RebindRequest) -> Result<(), String> {
    let journals = request.history.into_iter().flat_map(History::all);
    let mut deleted = journals.flat_map(|of| of.entries.iter().map(move |it| (of, it)));
    match deleted.find(|(_, it)| reclaims(it, &request.volume)) {
        None => Ok(()),
        Some((of, it)) => Err(format!(
            "entry {} of the journal had its policy set to Delete, which deletes the disk",
            of.numbered(it.sequence).arguments()
        )),
    }
}

/// Finds the manifest with which the volume of a Lost claim is recreated.
fn recreation(request: &RebindRequest, lost: &[&Claim]) -> Result<Recreation, String> {
    let name = &*request.volume;
    let claim = match lost {
        [] => return Err(unclaimed(request)),
        [claim] => *claim,
        [one, other, ..] => {
            return Err(format!(
                "there is no such volume, and {} and {} both reference it: find out whose data it is",
                one.object(),
                other.object()
            ));
        }
    };
    let object = claim.object();
    if request.to.as_ref().is_some_and(|to| *to != claim.key()) {
        return Err(format!(
            "there is no such volume, and it can be recreated only for {object}, which references \
             it: omit --to"
        ));
    }
    if let Some(SavedVolume::Manifest(from) | SavedVolume::Kept(from, _)) = &request.from {
        return from_file(from, name, claim);
    }
    let Some(history) = request.history else {
        return Err(format!(
            "there is no such volume, and {object} is Lost; --from FILE recreates the volume from \
             its manifest"
        ));
    };
    let kept = history.entries.iter().rev().filter(|it| {
        let key = &it.intent.object.key;
        key.kind == Kind::PersistentVolume && *key.name == *name
    });
    let undone = history.undone();
    let mut kept = kept.filter_map(|entry| {
        let saved = entry.intent.pre_image.as_ref()?;
        let open = entry.intent.keeps && !undone.contains(&entry.sequence);
        let made = Recreation::of(saved, Some(entry.sequence).filter(|_| open)).ok()?;
        let of_claim = made.volume().claim_ref.as_ref()?.uid == claim.metadata.uid;
        let exists = not_reclaimed_elsewhere(history, entry).is_ok();
        (of_claim && exists).then_some(made)
    });
    kept.next().ok_or_else(|| {
        format!(
            "there is no such volume, and {object} is Lost; the journal does not \
             contain the volume as it was bound to this claim: --from FILE recreates it from a \
             manifest, of a backup or a dump"
        )
    })
}

fn unclaimed(request: &RebindRequest) -> String {
    let saved = request.history.and_then(|it| {
        it.kept().into_iter().rev().find(|entry| {
            let key = &entry.intent.object.key;
            key.kind == Kind::PersistentVolume && key.name == request.volume
        })
    });
    match saved.zip(request.history) {
        Some((entry, history)) => format!(
            "there is no such volume; run `kubectl storage undo {}` first, which recreates it",
            history.numbered(entry.sequence).arguments()
        ),
        None => "there is no such volume, and no claim that was bound to it".to_owned(),
    }
}

/// Reads the manifest in a file: a volume, or a list or a dump that contains it.
fn from_file(from: &Value, name: &str, claim: &Claim) -> Result<Recreation, String> {
    let is_it = |it: &&Value| it["kind"] == "PersistentVolume" && it["metadata"]["name"] == *name;
    let items = from["items"].as_array().into_iter().flatten();
    let found = std::iter::once(from).chain(items).find(is_it);
    let found = found.ok_or_else(|| format!("--from contains no manifest of pv/{name}"))?;
    let mut manifest = found.clone();
    // Backup tools remove the uid: the claim that survived is the one that it was.
    let claim_ref = manifest.pointer_mut("/spec/claimRef").and_then(Value::as_object_mut);
    if let (Some(claim_ref), Some(uid)) = (claim_ref, &claim.metadata.uid)
        && claim_ref.get("uid").and_then(Value::as_str).is_none_or(str::is_empty)
        && claim_ref.get("namespace").and_then(Value::as_str) == Some(&claim.namespace)
        && claim_ref.get("name").and_then(Value::as_str) == Some(&claim.metadata.name)
    {
        claim_ref.insert("uid".to_owned(), json!(uid.to_string()));
    }
    let made = Recreation::of(&manifest, None)?;
    let wanted = ClaimRef { key: claim.key(), uid: claim.metadata.uid.clone() };
    match &made.volume().claim_ref {
        Some(found) if *found == wanted && wanted.uid.is_some() => Ok(made),
        Some(found) => {
            let uid =
                |it: &ClaimRef| it.uid.as_ref().map_or("<none>".to_owned(), ToString::to_string);
            Err(format!(
                "spec.claimRef of the manifest is {} with uid {}, but the claim that references the \
                 volume is {} with uid {}: it would be Released, or bound to a claim that did not \
                 have this data",
                found.key,
                uid(found),
                wanted.key,
                uid(&wanted)
            ))
        }
        None => {
            Err("spec.claimRef of the manifest is empty, so whose data it is, is unknown"
                .to_owned())
        }
    }
}

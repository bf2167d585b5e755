//! Recreates a volume object from its saved manifest: P-RECREATE-PV.
//!
//! Its policy is Retain, whatever it was (T37), and it never becomes Available: its
//! claimRef has the uid of its claim, whether that exists or not.

use serde_json::{Map, Value, json};

use super::checks;
use crate::cluster::{Cx, Seen};
use crate::dump;
use crate::model::{Action, Claim, ClaimRef, Effect, Loss, Proposal, Refusal, Row, Undo, Volume};
use crate::objects::{self, Folded, Folder, PersistentVolume};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "recreate";

/// A volume object that is to be recreated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recreation {
    /// The journal entry with which it was deleted.
    pub undoes: Option<u64>,
    manifest: Manifest,
}

impl Recreation {
    /// Prepares to recreate a volume object as it was.
    ///
    /// # Errors
    /// When it is no manifest of a volume, as a reason to refuse.
    pub fn of(saved: &Value, undoes: Option<u64>) -> Result<Self, String> {
        Ok(Self { undoes, manifest: Manifest::read(anew(saved))? })
    }

    /// Returns the volume that would be created.
    pub fn volume(&self) -> &Volume {
        self.manifest.volume()
    }
}

/// Returns the manifest of the recreated volume: name, labels, annotations and spec. The API server and the controllers
/// write the other fields again.
fn anew(saved: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "labels", "annotations"] {
        if let Some(value) = saved["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut spec = saved["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("persistentVolumeReclaimPolicy".to_owned(), json!("Retain"));
        if let Some(claim) = spec.get_mut("claimRef").and_then(Value::as_object_mut) {
            claim.remove("resourceVersion");
        }
    }
    json!({
        "apiVersion": "v1", "kind": saved["kind"], "metadata": metadata, "spec": spec,
    })
}

/// Returns the manifest of a volume for another cluster: policy Retain, and reserved for a claim of the same name,
/// whatever uid that has there.
pub fn for_another_cluster(saved: &Value) -> Value {
    let mut manifest = anew(saved);
    manifest["kind"] = json!("PersistentVolume");
    if let Some(claim) = manifest.pointer_mut("/spec/claimRef").and_then(Value::as_object_mut) {
        claim.remove("uid");
    }
    if let Some(annotations) =
        manifest.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        // With it, the volume controller may clear the claimRef (`pv_controller.go`, `unbindVolume`).
        annotations.remove("pv.kubernetes.io/bound-by-controller");
    }
    manifest
}

/// Proposes or refuses to recreate the volume object.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(cx: &Cx, recreation: &Recreation) -> Seen<Result<Proposal, Refusal>> {
    let volume = recreation.volume();
    let effect = |what: &str| {
        Effect {
        what: format!("recreates the PersistentVolume with policy Retain: {what}"),
        risk: "pods that use its claim read the data; the backend volume is billed until you reclaim it"
            .to_owned(),
    }
    };
    let claim = match check(cx, volume)? {
        Ok(claim) => claim,
        Err(reason) => {
            let effect = effect("it references the same backend volume");
            return Ok(Err(Refusal { reason, effect }));
        }
    };
    let effect = match claim {
        Some(claim) => effect(&format!("{} is bound to it again", claim.object())),
        None => effect("it is Released, and no claim binds it automatically"),
    };
    let mut notices = Vec::new();
    for attachment in cx.attachments_of(volume.name())? {
        notices.push(format!(
            "{}: external-attacher can detach it then",
            checks::still_names_it(attachment)
        ));
    }
    Ok(Ok(Proposal {
        steps: vec![Action::CreateVolume {
            volume: volume.object(),
            manifest: recreation.manifest.value().clone(),
        }],
        effect,
        undo: Undo::Never("delete a Released PersistentVolume again with `gc --keep-backend`"),
        notices,
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// Returns the claim to which the volume will be bound, if that still exists.
fn check<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Result<Option<&'a Claim>, String>> {
    if let Err(reason) = checks::backend_is_known(volume) {
        return Ok(Err(reason));
    }
    if cx.volume(volume.name())?.is_some() {
        return Ok(Err(format!("pv/{} exists", volume.name())));
    }
    if let Err(reason) = checks::backend_is_its_own(cx, volume)? {
        return Ok(Err(reason));
    }
    let Some(owner) = &volume.claim_ref else {
        return Ok(Err(
            "its spec.claimRef was empty: any matching claim could bind the recreated \
                       volume"
                .to_owned(),
        ));
    };
    if owner.uid.is_none() {
        return Ok(Err(format!("it was only reserved: any new claim {} could bind it", owner.key)));
    }
    surviving_claim(cx, volume, owner)
}

/// Returns the claim that the claimRef references, if it exists with that uid. Another claim that
/// is Lost, or bound to a volume of this name, must not get this data (T37, D-36).
fn surviving_claim<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    owner: &ClaimRef,
) -> Seen<Result<Option<&'a Claim>, String>> {
    for claim in cx.claims_naming(volume.name())? {
        if claim.key() != owner.key || claim.metadata.uid != owner.uid {
            return Ok(Err(format!(
                "{} references a volume of this name, but is not the claim that it was bound to",
                claim.object()
            )));
        }
    }
    let Some(claim) = cx.claim(&owner.key)?.filter(|it| it.metadata.uid == owner.uid) else {
        return Ok(Ok(None));
    };
    if claim.volume_name.as_deref() != Some(volume.name()) {
        // The volume controller would unbind the volume: it would become Available.
        return Ok(Err(format!(
            "{}, which it was bound to, does not reference it",
            claim.object()
        )));
    }
    Ok(Ok(Some(claim)))
}

/// A volume object that need not exist, as JSON and as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    value: Value,
    volume: Volume,
}

impl Manifest {
    /// Reads a manifest of a volume.
    ///
    /// # Errors
    /// Why it is not a manifest of a PersistentVolume, as a reason to refuse.
    pub fn read(value: Value) -> Result<Self, String> {
        if value["kind"] != "PersistentVolume" {
            return Err("it is not a manifest of a PersistentVolume".to_owned());
        }
        let unreadable = |why: &str| format!("its manifest cannot be read: {why}");
        let text = value.to_string();
        let object = (objects::decoding_of::<PersistentVolume>().json)(&text);
        let object = object.map_err(|error| unreadable(&dump::explain(&text, &error)))?;
        match object.fold(&mut Folder::default()) {
            Ok(Folded::Row(Row::Volume(volume))) => Ok(Self { value, volume: *volume }),
            Ok(_) => Err("it is not a manifest of a PersistentVolume".to_owned()),
            Err(error) => Err(unreadable(&error.to_string())),
        }
    }

    /// Returns the manifest as JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the volume, as if it existed.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }
}

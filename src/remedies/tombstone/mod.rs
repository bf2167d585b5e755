//! Has a driver delete a backend volume that no volume names any more: P-TOMBSTONE.
//!
//! A volume object is created that names the backend volume, has the policy Delete and belongs to a
//! claim that never was. It is Released at once (`pv_controller.go`, `syncVolume`), and its
//! provisioner calls `DeleteVolume` and removes it. Nothing else in the API does that.
//!
//! Upstream looks for attachments by the name of the volume, which is a new one, and a driver
//! answers OK for a handle that it does not know: all checks are ours (SEMANTICS 0.5).

mod manifest;

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{Manifest, checks, reclaim, released};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState, Owner};
use crate::model::{
    Action, AttachmentSource, BackendKey, Claim, ClaimKey, ClaimPhase, ClaimRef, ControllerRole,
    DeletionSecret, Effect, Kind, Metadata, NO_CLAIM, Phase, PodUse, Proposal, ReclaimPolicy,
    Refusal, SecretAssertion, Uid, Undo, Volume, migrated_driver,
};
pub use manifest::manifest;

/// Its name, as plans and journals write it.
pub const ID: &str = "destroy-orphan";

/// How the objects that it creates are called.
const PREFIX: &str = "kubectl-storage-reclaim-";

/// A backend volume that no volume names, and what would be created to have it deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The entry of the journal that kept it.
    pub undoes: Option<u64>,
    /// What would be created.
    pub tombstone: Manifest,
    /// Volumes that are gone and named another backend volume, by the journal.
    pub elsewhere: BTreeSet<Box<str>>,
    /// The danger flags on which it relies.
    pub relies_on: Vec<&'static str>,
}

/// The name of the object that is created for a backend volume of a cluster: always the same, so
/// that a run that died is resumed.
pub fn name(cluster: &str, backend: &BackendKey) -> String {
    use std::fmt::Write as _;
    let mut name = PREFIX.to_owned();
    for byte in digest(cluster, backend).iter().take(10) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The uid of the claim that never was, in the form of a random one.
pub fn never_was(cluster: &str, backend: &BackendKey) -> String {
    let digest = digest(cluster, backend);
    let bytes: [u8; 16] = std::array::from_fn(|index| digest[16 + index]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

fn digest(cluster: &str, backend: &BackendKey) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [cluster, &backend.driver, &backend.handle] {
        hash.update(part);
        hash.update([0]);
    }
    hash.finalize().into()
}

/// A backend volume, looked at as if its volume object were not there.
struct Candidate<'a> {
    /// What would be created.
    volume: &'a Volume,
    /// Volumes that are gone and named another backend volume.
    elsewhere: &'a BTreeSet<Box<str>>,
    /// Whether it is known which volume object had it, so that it is nobody's who waits for one.
    is_known: bool,
    /// The volume object that still names it, and is to go before.
    instead_of: Option<&'a str>,
}

/// What would be created once a volume object is gone.
pub(super) struct After {
    pub(super) tombstone: crate::model::ObjectRef,
    pub(super) notices: Vec<String>,
    pub(super) relies_on: Vec<&'static str>,
}

/// Whether a driver could be told to delete the backend volume of an object that is about to go:
/// the same checks, before anything is lost.
///
/// # Errors
/// When something was not seen that the decision needs.
pub(super) fn after(
    cx: &Cx,
    volume: &Volume,
    elsewhere: &BTreeSet<Box<str>>,
) -> Seen<Result<After, String>> {
    let Some(cluster) = cx.server().and_then(|server| server.cluster_uid.as_deref()) else {
        return Ok(Err(
            "the uid of namespace kube-system, which tells clusters apart, was not seen".to_owned(),
        ));
    };
    let backend = match checks::backend_is_known(volume) {
        Ok(backend) => backend,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut relies_on = Vec::new();
    let tombstone = match anew(volume, backend, cluster, &cx.settings().secret, &mut relies_on) {
        Ok(tombstone) => tombstone,
        Err(reason) => return Ok(Err(reason)),
    };
    let candidate = Candidate {
        volume: &tombstone,
        elsewhere,
        is_known: true,
        instead_of: Some(volume.name()),
    };
    let mut notices = Vec::new();
    if let Err(reason) = checks::no_claim_names_it(cx, volume)? {
        return Ok(Err(reason));
    }
    if let Err(reason) = no_pod_may_write(cx, volume)? {
        return Ok(Err(reason));
    }
    if let Err(reason) = check(cx, &candidate, &facts::owner(&tombstone), &mut notices)? {
        return Ok(Err(reason));
    }
    Ok(Ok(After { tombstone: tombstone.object(), notices, relies_on }))
}

/// No pod was started with the claim that it belonged to: of drivers that attach without a trace,
/// only that tells who may still write. Pods that are younger than another claim of that name, which
/// has another volume, use that one.
fn no_pod_may_write(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    let Some(claim) = &volume.claim_ref else { return Ok(Ok(())) };
    let namesake = match facts::claim_state(cx, volume)? {
        ClaimState::Recreated(it) if it.volume_name.as_deref() != Some(volume.name()) => {
            it.metadata.created.filter(|_| it.volume_name.is_some())
        }
        _ => None,
    };
    let may_write = |pod: &&&PodUse| namesake.is_none_or(|it| pod.created.is_none_or(|at| at < it));
    Ok(match cx.pods_of(&claim.key)?.iter().find(may_write) {
        None => Ok(()),
        Some(pod) => {
            let (pod, claim) = (pod.object(), &claim.key);
            Err(format!("{pod} names its claim {claim}, and may still write to it"))
        }
    })
}

/// The row of what [`manifest`] makes of a volume object.
fn anew(
    volume: &Volume,
    backend: &BackendKey,
    cluster: &str,
    secret: &SecretAssertion,
    relies_on: &mut Vec<&'static str>,
) -> Result<Volume, String> {
    let mut row = volume.clone();
    row.metadata = Metadata {
        name: name(cluster, backend).into(),
        labels: volume.metadata.labels.clone(),
        ..Metadata::default()
    };
    row.phase = Phase::Pending;
    row.reclaim_policy = ReclaimPolicy::Delete;
    row.class = Some("".into());
    row.claim_ref = Some(ClaimRef {
        key: ClaimKey { namespace: NO_CLAIM.0.into(), name: NO_CLAIM.1.into() },
        uid: Uid::parse(&never_was(cluster, backend)),
    });
    let of_csi = volume.source.driver().is_some() || volume.migrated_to.is_some();
    let known = volume.deletion_secret.is_some();
    if let Some((namespace, name)) = manifest::credentials(known, of_csi, secret, relies_on)? {
        let secret = DeletionSecret { namespace: namespace.into(), name: name.into() };
        row.deletion_secret = Some(Arc::new(secret));
    }
    if row.provisioned_by.is_none() {
        row.provisioned_by = volume.source.driver().cloned();
    }
    Ok(row)
}

/// Proposes or refuses it.
///
/// # Errors
/// When something was not seen that the decision needs.
pub fn propose(cx: &Cx, orphan: &Orphan) -> Seen<Result<Proposal, Refusal>> {
    let volume = orphan.tombstone.volume();
    let owner = facts::owner(volume);
    let named = volume.backend.as_ref().map(ToString::to_string).unwrap_or_default();
    let effect = Effect {
        what: format!(
            "creates a volume object that is Released at once; then {} has its driver delete the backend volume {named}, and removes the object",
            owner.describe()
        ),
        risk: "the data is gone for good".to_owned(),
    };
    let mut notices = Vec::new();
    let candidate = Candidate {
        volume,
        elsewhere: &orphan.elsewhere,
        is_known: orphan.undoes.is_some(),
        instead_of: None,
    };
    if let Err(reason) = check(cx, &candidate, &owner, &mut notices)? {
        return Ok(Err(Refusal { reason, effect }));
    }
    Ok(Ok(Proposal {
        steps: vec![Action::CreateVolume {
            volume: volume.object(),
            manifest: orphan.tombstone.value().clone(),
        }],
        effect,
        undo: Undo::Never("the driver deletes the backend volume at once"),
        notices,
        relies_on: orphan.relies_on.clone(),
        keeps_backend: false,
    }))
}

fn check(
    cx: &Cx,
    orphan: &Candidate,
    owner: &Owner,
    notices: &mut Vec<String>,
) -> Seen<checks::Checked> {
    let volume = orphan.volume;
    let backend = match checks::backend_is_known(volume) {
        Ok(backend) => backend,
        Err(reason) => return Ok(Err(reason)),
    };
    checks::all!(
        none_but_ours(cx, volume, notices)?,
        checks::backend_is_only_of(cx, volume, orphan.instead_of)?,
        no_attachment_may_be_its(cx, orphan, backend)?,
        no_claim_may_be_its(cx, orphan, backend, owner)?,
        checks::on_no_node(cx, volume)?,
        released::reachable(cx, volume)?,
        released::hosts_answer(cx, volume)?,
        checks::no_snapshot_in_progress(cx, volume, notices)?,
        reclaim::owner_will_act(cx, volume, owner)?,
        its_node_is_known(cx, volume, owner),
        checks::secret_is_there(cx, volume, owner)?,
    );
    if let Some(driver) = owner.csi()
        && cx.csi_driver(driver)?.is_some_and(|driver| !driver.attach_required)
    {
        notices.push(format!("driver {driver} attaches without a trace: no attachment could show that it is still mounted"));
    }
    Ok(Ok(()))
}

/// An object of that name is one that an earlier run left, as it was created.
fn none_but_ours(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> Seen<checks::Checked> {
    let Some(there) = cx.volume(volume.name())? else { return Ok(Ok(())) };
    let uid = |it: &Volume| it.claim_ref.as_ref().and_then(|claim| claim.uid.clone());
    if there.backend != volume.backend || uid(there) != uid(volume) {
        return Ok(Err(format!("{} exists, and is none of ours", there.object())));
    }
    if there.reclaim_policy != ReclaimPolicy::Delete {
        let policy = &there.reclaim_policy;
        return Ok(Err(format!(
            "{} exists, and somebody set its policy to {policy}",
            there.object()
        )));
    }
    notices
        .push("an earlier run has created the object: this one waits until it is gone".to_owned());
    Ok(Ok(()))
}

/// No attachment of the driver describes it, or names a volume of which nobody knows what it was.
fn no_attachment_may_be_its(
    cx: &Cx,
    orphan: &Candidate,
    backend: &BackendKey,
) -> Seen<checks::Checked> {
    if let Some(inline) = cx.inline_attachments_of(backend)?.first() {
        return Ok(Err(checks::still_names_it(inline)));
    }
    cx.all_of(Kind::VolumeAttachment)?;
    for (_, attachment) in cx.cluster().attachments() {
        let AttachmentSource::Volume(name) = &attachment.source else { continue };
        if attachment.attacher != backend.driver || orphan.elsewhere.contains(name) {
            continue;
        }
        if cx.attached_volume(name)?.is_none() {
            return Ok(Err(format!(
                "{} names pv/{name}, which is gone and may have been this one",
                attachment.object()
            )));
        }
    }
    Ok(Ok(()))
}

/// No claim has lost a volume that may have been this one: its pods may still write. And without an
/// entry of the journal, none waits for a volume that may be this one.
fn no_claim_may_be_its(
    cx: &Cx,
    orphan: &Candidate,
    backend: &BackendKey,
    owner: &Owner,
) -> Seen<checks::Checked> {
    cx.all_of(Kind::PersistentVolumeClaim)?;
    let provisioner = |claim: &Claim| {
        let name = claim.provisioner.as_deref()?;
        Some(migrated_driver(name).unwrap_or(name).to_owned())
    };
    let is_ours = |name: &str| name == &*backend.driver || name == &**owner.name();
    for (_, claim) in cx.cluster().claims() {
        let of = provisioner(claim);
        let Some(name) = &claim.volume_name else {
            let waits = claim.phase == ClaimPhase::Pending && of.as_deref().is_some_and(is_ours);
            if waits && !orphan.is_known {
                return Ok(Err(format!(
                    "{} waits for a volume of this driver, which may be this one",
                    claim.object()
                )));
            }
            continue;
        };
        let had = claim.bind_completed || claim.phase == ClaimPhase::Lost;
        if !had || orphan.elsewhere.contains(name) || !of.as_deref().is_none_or(is_ours) {
            continue;
        }
        if cx.volume(name)?.is_none() {
            return Ok(Err(format!(
                "{} has lost pv/{name}, which may have been this one: its pods may still write",
                claim.object()
            )));
        }
    }
    Ok(Ok(()))
}

/// A provisioner on every node only takes volumes of which it is told that they are there.
fn its_node_is_known(cx: &Cx, volume: &Volume, owner: &Owner) -> checks::Checked {
    let Some(driver) = owner.csi().filter(|_| volume.node_affinity.is_none()) else {
        return Ok(());
    };
    let on_every_node = cx
        .sidecar_pods()
        .filter_map(|pod| pod.sidecars.as_deref())
        .filter(|it| it.mentions.iter().any(|text| text.contains(&**driver)))
        .flat_map(|it| &it.containers)
        .filter(|it| it.plays(ControllerRole::Provisioner))
        .flat_map(|it| &it.args)
        .any(|arg| {
            arg.trim_start_matches('-').starts_with("node-deployment") && !arg.ends_with("=false")
        });
    match on_every_node {
        false => Ok(()),
        true => Err("its csi-provisioner runs on every node, and on which node the volume is only the journal can tell: --from-journal".to_owned()),
    }
}

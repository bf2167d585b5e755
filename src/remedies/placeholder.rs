//! Has a driver delete a backend volume that no volume references any more: P-TOMBSTONE.
//!
//! A placeholder volume is created: it references the backend volume, has the policy Delete, and
//! its claimRef references a claim that does not exist. It becomes Released immediately
//! (`pv_controller.go`, `syncVolume`), and its provisioner calls `DeleteVolume` and deletes it. The
//! API has no other way.
//!
//! Upstream checks attachments by the name of the volume, which is new, and a driver answers OK for
//! an unknown handle: so all checks are made here (semantics#requests).

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    Manifest,
    checks::{self, ReliedFlags},
    exclusive, reclaim, released,
};
use crate::cluster::{Cx, Placed, Seen};
use crate::facts::{self, ClaimState, Owner};
use crate::model::{
    Action, AttachmentSource, BackendKey, Claim, ClaimKey, ClaimPhase, ClaimRef, ControllerRole,
    DeletionSecret, Effect, Kind, Loss, Metadata, NO_CLAIM, Phase, PodUse, Proposal, ReclaimPolicy,
    Refusal, SecretAssertion, Uid, Undo, Volume,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "destroy-orphan";

/// Reason to refuse where the identity of the cluster is unknown.
pub const CLUSTER_UNIDENTIFIED: &str =
    "the uid of namespace kube-system, which identifies the cluster, was not read";

/// The prefix of the names of placeholder volumes.
const PREFIX: &str = "kubectl-storage-reclaim-";

/// A backend volume that no volume references, and the placeholder volume with which it is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The journal entry that kept the backend volume.
    pub undoes: Option<u64>,
    /// The placeholder volume.
    pub placeholder: Manifest,
    /// The name of the volume that referenced it, if that is known.
    pub of: Option<Box<str>>,
    /// The volume that referenced it, as it was recorded.
    pub former: Option<Manifest>,
    /// Volumes that do not exist any more and that, by the journal, referenced other backend
    /// volumes.
    pub elsewhere: BTreeSet<Box<str>>,
    /// The danger flags on which the placeholder volume relies.
    pub relies_on: Vec<&'static str>,
}

/// Returns the name of the placeholder volume for a backend volume of a cluster: always the same,
/// so that a later run continues an interrupted one.
pub fn name(cluster: &str, backend: &BackendKey) -> String {
    derived_name(PREFIX, cluster, backend)
}

/// Returns the name of a volume that is created for a backend volume of a cluster.
pub(super) fn derived_name(prefix: &str, cluster: &str, backend: &BackendKey) -> String {
    use std::fmt::Write as _;
    let mut name = prefix.to_owned();
    for byte in digest(cluster, backend).iter().take(10) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Returns the uid of the claim in the placeholder's claimRef, in the form of a random one.
fn placeholder_claim_uid(cluster: &str, backend: &BackendKey) -> String {
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

/// A backend volume that is checked as if its volume object did not exist.
struct OrphanedBackend<'a> {
    /// The placeholder volume.
    volume: &'a Volume,
    /// Volumes that do not exist any more and referenced other backend volumes.
    elsewhere: &'a BTreeSet<Box<str>>,
    /// Whether the volume object that referenced the backend volume is known: then no Pending claim waits for it.
    is_known: bool,
    /// The volume object that still references the backend volume, and is deleted before.
    instead_of: Option<&'a str>,
    /// The name of the volume object that referenced the backend volume, by which the user knows it.
    named: Option<&'a str>,
}

/// The placeholder volume that would be created after a volume object is deleted.
pub(super) struct PlannedPlaceholder {
    pub(super) placeholder: crate::model::ObjectRef,
    pub(super) notices: Vec<String>,
    pub(super) relies_on: Vec<&'static str>,
}

/// Checks a placeholder volume for a volume object that is about to be deleted, before anything is lost.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub(super) fn planned(
    cx: &Cx,
    volume: &Volume,
    elsewhere: &BTreeSet<Box<str>>,
) -> Seen<Result<PlannedPlaceholder, String>> {
    let Some(cluster) = cx.server().and_then(|server| server.cluster_uid.as_deref()) else {
        return Ok(Err(CLUSTER_UNIDENTIFIED.to_owned()));
    };
    let Some(backend) = &volume.backend else { return Ok(Err(facts::UNIDENTIFIED.to_owned())) };
    let (mut relies_on, mut said) = (checks::ReliedFlags::default(), Vec::new());
    if let Err(reason) = exclusive::made_here(cx, volume, &facts::owner(volume), &mut relies_on) {
        return Ok(Err(reason));
    }
    let placeholder = match anew(volume, backend, cluster, &cx.settings().secret, &mut said) {
        Ok(placeholder) => placeholder,
        Err(reason) => return Ok(Err(reason)),
    };
    let candidate = OrphanedBackend {
        volume: &placeholder,
        elsewhere,
        is_known: true,
        instead_of: Some(volume.name()),
        named: Some(volume.name()),
    };
    let mut notices = Vec::new();
    if let Err(reason) = checks::no_claim_names_it(cx, volume)? {
        return Ok(Err(reason));
    }
    if let Err(reason) = no_pod_may_write(cx, volume)? {
        return Ok(Err(reason));
    }
    if let Err(reason) =
        check(cx, &candidate, &facts::owner(&placeholder), &mut notices, &mut relies_on)?
    {
        return Ok(Err(reason));
    }
    for flag in said {
        relies_on.rely(flag);
    }
    let placeholder = placeholder.object();
    Ok(relies_on.settled()?.map(|relies_on| PlannedPlaceholder { placeholder, notices, relies_on }))
}

/// Refuses where a pod was started with the claim of the volume: for drivers without attachments, only pods show what
/// may still write. Pods that are younger than a recreated claim, which has another volume, use that one.
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
            Err(format!("{pod} uses its claim {claim}, and may still write"))
        }
    })
}

/// Returns the placeholder volume for a volume object as a row, as [`manifest`] renders it.
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
        uid: Uid::parse(&placeholder_claim_uid(cluster, backend)),
    });
    let of_csi = volume.source.driver().is_some() || volume.migrated_to.is_some();
    let known = volume.deletion_secret.is_some();
    if let Some((namespace, name)) = credentials(known, of_csi, secret, relies_on)? {
        let secret = DeletionSecret { namespace: namespace.into(), name: name.into() };
        row.deletion_secret = Some(Arc::new(secret));
    }
    if row.provisioned_by.is_none() {
        row.provisioned_by = volume.source.driver().cloned();
    }
    Ok(row)
}

/// Proposes or refuses to create the placeholder volume.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(cx: &Cx, orphan: &Orphan) -> Seen<Result<Proposal, Refusal>> {
    let volume = orphan.placeholder.volume();
    let owner = facts::owner(volume);
    let named = volume.backend.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut effect = Effect {
        what: format!(
            "creates a placeholder volume that becomes Released; then {} has its driver delete \
             the backend volume {named}, and removes the placeholder volume",
            owner.describe()
        ),
        risk: checks::DATA_LOSS.to_owned(),
    };
    let (mut notices, mut relies_on) = (Vec::new(), checks::ReliedFlags::default());
    orphan.relies_on.iter().for_each(|flag| relies_on.rely(flag));
    let candidate = OrphanedBackend {
        volume,
        elsewhere: &orphan.elsewhere,
        is_known: orphan.undoes.is_some(),
        instead_of: None,
        named: orphan.of.as_deref(),
    };
    match check(cx, &candidate, &owner, &mut notices, &mut relies_on)? {
        Ok(clearance) => {
            if clearance.keeps_data {
                effect.what = format!("{}; its driver {}", effect.what, clearance.what);
            }
            clearance.risk().clone_into(&mut effect.risk);
        }
        Err(reason) => return Ok(Err(Refusal { reason, effect })),
    }
    let wanted = wanted(cx, orphan, &mut notices, &mut relies_on)?;
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return Ok(Err(Refusal { reason, effect })),
    };
    let proposal = Proposal {
        steps: vec![Action::CreateVolume {
            volume: volume.object(),
            manifest: orphan.placeholder.value().clone(),
        }],
        effect,
        undo: Undo::Never("the driver deletes the backend volume immediately"),
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    };
    match wanted {
        Some(claim) => released::unless_custom_resources_want(cx, claim, proposal),
        None => Ok(Ok(proposal)),
    }
}

fn check(
    cx: &Cx,
    orphan: &OrphanedBackend,
    owner: &Owner,
    notices: &mut Vec<String>,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<Result<exclusive::Clearance, String>> {
    let volume = orphan.volume;
    let Some(backend) = &volume.backend else { return Ok(Err(facts::UNIDENTIFIED.to_owned())) };
    checks::all!(
        none_but_ours(cx, volume, notices)?,
        no_attachment_may_be_of(cx, volume, &|name| orphan.elsewhere.contains(name))?,
        no_claim_may_be_its(cx, orphan, backend, owner)?,
        checks::on_no_node(cx, volume)?,
        released::reachable(cx, volume)?,
        released::hosts_answer(cx, volume)?,
        exclusive::allow_deletion(cx, volume, owner, notices, relies_on)?,
        // Nobody waits for this volume but the tool: the word of the user is not enough.
        reclaim::owner_will_act(cx, volume, owner, None)?,
        its_node_is_known(cx, volume, owner),
        checks::secret_is_there(cx, volume, owner)?,
    );
    let named = (orphan.instead_of, orphan.named);
    let clearance = match exclusive::clearance(cx, volume, owner, named.0, named.1, relies_on)? {
        Ok(clearance) => clearance,
        Err(reason) => return Ok(Err(reason)),
    };
    notices.extend(clearance.notices.iter().cloned());
    if let Some(driver) = owner.csi()
        && cx.csi_driver(driver)?.is_some_and(|driver| !driver.attach_required)
    {
        notices.push(checks::attaches_without_trace(driver));
    }
    Ok(Ok(clearance))
}

/// Refuses where an object of the placeholder's name exists that no earlier run has created.
fn none_but_ours(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> Seen<checks::Checked> {
    let Some(there) = cx.volume(volume.name())? else { return Ok(Ok(())) };
    let uid = |it: &Volume| it.claim_ref.as_ref().and_then(|claim| claim.uid.clone());
    if there.backend != volume.backend || uid(there) != uid(volume) {
        return Ok(Err(format!("{} exists, but this tool did not create it", there.object())));
    }
    if there.reclaim_policy != ReclaimPolicy::Delete {
        let policy = &there.reclaim_policy;
        return Ok(Err(format!(
            "{} exists, but its policy was changed to {policy}",
            there.object()
        )));
    }
    notices.push(
        "an earlier run created the placeholder volume: this run waits until it is \
               deleted"
            .to_owned(),
    );
    Ok(Ok(()))
}

/// Refuses where an attachment has the backend volume as an inline volume, or references a volume that does not exist
/// and whose backend volume is unknown.
pub(super) fn no_attachment_may_be_of(
    cx: &Cx,
    volume: &Volume,
    is_elsewhere: &dyn Fn(&str) -> bool,
) -> Seen<checks::Checked> {
    if let Some((inline, _)) = cx.inline_attachments_at(&volume.places())?.first() {
        return Ok(Err(checks::still_names_it(inline)));
    }
    let driver = volume.backend.as_ref().map(|it| &it.driver);
    cx.all_of(Kind::VolumeAttachment)?;
    for (_, attachment) in cx.cluster().attachments() {
        let AttachmentSource::Volume(name) = &attachment.source else { continue };
        if Some(&attachment.attacher) != driver || is_elsewhere(name) {
            continue;
        }
        if cx.attached_volume(name)?.is_none() {
            return Ok(Err(format!(
                "{} references pv/{name}, which does not exist and may have been this volume",
                attachment.object()
            )));
        }
    }
    Ok(Ok(()))
}

/// Refuses where a claim has lost a volume that may have referenced the backend volume: its pods may still write.
/// Without a journal entry, also where a Pending claim waits for a volume that may be this one.
fn no_claim_may_be_its(
    cx: &Cx,
    orphan: &OrphanedBackend,
    backend: &BackendKey,
    owner: &Owner,
) -> Seen<checks::Checked> {
    let is_ours = |name: &str| name == &*backend.driver || name == &**owner.name();
    let may_be = |it: Option<&str>| it.is_none_or(is_ours);
    checks::all!(no_claim_has_lost_it(cx, &may_be, &|it| orphan.elsewhere.contains(it), None)?);
    let waits = |claim: &Claim| {
        claim.volume_name.is_none()
            && claim.phase == ClaimPhase::Pending
            && claim.driver().is_some_and(is_ours)
    };
    let mut claims = cx.cluster().claims().map(|it| it.1);
    Ok(match claims.find(|it| !orphan.is_known && waits(it)) {
        None => Ok(()),
        Some(claim) => Err(format!(
            "{} waits for a volume of this driver, which may be this one",
            claim.object()
        )),
    })
}

/// Refuses where a claim, other than the one that is to have it, has lost a volume that may have referenced the backend
/// volume: its pods may still write. `is_ours` tells by the driver of the lost volume, as far as it is known.
pub(super) fn no_claim_has_lost_it(
    cx: &Cx,
    is_ours: &dyn Fn(Option<&str>) -> bool,
    is_elsewhere: &dyn Fn(&str) -> bool,
    except: Option<&ClaimKey>,
) -> Seen<checks::Checked> {
    cx.all_of(Kind::PersistentVolumeClaim)?;
    for (_, claim) in cx.cluster().claims() {
        let Some(name) = &claim.volume_name else { continue };
        let is_of_driver = is_ours(claim.driver());
        if !claim.was_bound() || is_elsewhere(name) || !is_of_driver || except == Some(&claim.key())
        {
            continue;
        }
        if cx.volume(name)?.is_none() {
            return Ok(Err(format!(
                "{} is Lost: its volume pv/{name} may have been this one, and its pods may still write",
                claim.object()
            )));
        }
    }
    Ok(Ok(()))
}

/// The annotation with the provisioner of a volume, which also deletes it (`pv_controller.go`,
/// `AnnDynamicallyProvisioned`).
pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The annotation with the driver to which a volume was migrated (`pv_controller.go`, `AnnMigratedTo`).
const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// The annotations with the Secret for `DeleteVolume` (external-provisioner `controller.go`).
const SECRET: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
    "volume.kubernetes.io/provisioner-deletion-secret-name",
];

/// Renders the manifest of a placeholder volume, from the volume object as it was or from the volume handle alone, and
/// returns it with the danger flags on which it relies.
///
/// # Errors
/// Why it cannot be rendered, as a reason to refuse.
pub fn manifest(
    saved: Option<&Value>,
    backend: &BackendKey,
    cluster: &str,
    secret: &SecretAssertion,
) -> Result<(Manifest, Vec<&'static str>), String> {
    let mut relies_on = Vec::new();
    let mut spec = saved.map_or_else(|| bare(backend), source_of);
    let mut annotations = saved.map_or_else(Map::new, annotations_of);
    let known = SECRET.iter().all(|it| annotations.contains_key(*it));
    let of_csi = spec.get("csi").is_some() || annotations.contains_key(MIGRATED_TO);
    if let Some((namespace, name)) = credentials(known, of_csi, secret, &mut relies_on)? {
        annotations.insert(SECRET[0].to_owned(), json!(namespace));
        annotations.insert(SECRET[1].to_owned(), json!(name));
    }
    if let Some(driver) = spec["csi"]["driver"].as_str()
        && !annotations.contains_key(PROVISIONED_BY)
    {
        annotations.insert(PROVISIONED_BY.to_owned(), json!(driver));
    }
    spec["persistentVolumeReclaimPolicy"] = json!("Delete");
    spec["storageClassName"] = json!("");
    spec["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": NO_CLAIM.0,
        "name": NO_CLAIM.1, "uid": placeholder_claim_uid(cluster, backend),
    });
    let mut metadata = json!({"name": name(cluster, backend), "annotations": annotations});
    // For a zonal in-tree volume, only the labels have the zone.
    if let Some(labels) = saved.and_then(|it| it["metadata"].get("labels")) {
        metadata["labels"] = labels.clone();
    }
    let manifest = Manifest::read(json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec,
    }))?;
    if manifest.volume().backend.as_ref() != Some(backend) {
        return Err(
            "its saved manifest references another backend volume than the entry".to_owned()
        );
    }
    Ok((manifest, relies_on))
}

/// Returns the spec of a volume of which only the handle is known. It is never mounted: capacity
/// and access modes do not matter.
fn bare(backend: &BackendKey) -> Value {
    json!({
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": &*backend.driver, "volumeHandle": &*backend.handle},
    })
}

/// Returns the fields with which a driver finds the backend volume.
fn source_of(saved: &Value) -> Value {
    let mut spec = saved["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        for field in ["claimRef", "volumeAttributesClassName", "mountOptions"] {
            spec.remove(field);
        }
    }
    spec
}

fn annotations_of(saved: &Value) -> Map<String, Value> {
    let all = &saved["metadata"]["annotations"];
    let wanted = [PROVISIONED_BY, MIGRATED_TO, SECRET[0], SECRET[1]];
    wanted.iter().filter_map(|it| Some(((*it).to_owned(), all.get(*it)?.clone()))).collect()
}

/// Returns the deletion Secret that the user names, by namespace and name, both empty for none;
/// `None` where the volume has one or needs none.
///
/// # Errors
/// When it is unknown, or given twice.
fn credentials<'a>(
    known: bool,
    of_csi: bool,
    word: &'a SecretAssertion,
    relies_on: &mut Vec<&'static str>,
) -> Result<Option<(&'a str, &'a str)>, String> {
    match word {
        SecretAssertion::Unsaid if known || !of_csi => Ok(None),
        SecretAssertion::Unsaid => {
            Err("the Secret with which its driver deletes it is unknown: pass --secret \
                 NAMESPACE/NAME, or --no-secret if the driver needs none"
                .to_owned())
        }
        _ if known => Err("its deletion Secret is known: omit --secret and --no-secret".to_owned()),
        SecretAssertion::None => {
            relies_on.push("--no-secret");
            Ok(Some(("", "")))
        }
        SecretAssertion::Named { namespace, name } => Ok(Some((namespace, name))),
    }
}

/// Requires the user's assertion where the former volume may be a copy of one in another cluster, or where a workload
/// wants its claim back. Returns that claim, if it does not exist: a custom resource may want it too.
///
/// # Errors
/// When the claim or a kind of workloads was not read.
fn wanted<'a>(
    cx: &Cx,
    orphan: &'a Orphan,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Option<&'a ClaimKey>> {
    let Some(volume) = orphan.former.as_ref().map(Manifest::volume) else { return Ok(None) };
    exclusive::is_no_copy(cx, volume, &facts::owner(volume), relies_on);
    let Some(claim) = volume.claim_ref.as_ref().map(|it| &it.key) else { return Ok(None) };
    // Where a claim of that name exists again, that one is wanted.
    if cx.claim(claim)?.is_some() {
        return Ok(None);
    }
    released::nobody_wants(cx, claim, notices, relies_on)?;
    Ok(Some(claim))
}

/// Refuses where csi-provisioner runs on every node and the node of the volume is unknown: each instance handles only
/// the volumes of its node.
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
        true => Err("its csi-provisioner runs on every node, and only the journal records the \
                     node of the volume: pass --from-journal"
            .to_owned()),
    }
}

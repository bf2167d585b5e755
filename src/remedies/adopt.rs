//! Gives a disk that no volume names to a claim: P-ADOPT.
//!
//! A volume with policy Retain is created for the disk, reserved for the claim, and then bound to it as by `rebind`.
//! Upstream binds a volume whose claimRef has no uid to the claim of that name alone (`IsVolumeBoundToClaim`).

use serde_json::{Map, Value, json};

use super::{
    Manifest, Rebinding, checks, exclusive, placeholder,
    rebind::{self, quantity},
    recreate, reserve,
};
use crate::cluster::{Cx, Placed as _, Seen};
use crate::drivers::Reference;
use crate::facts::{self, Nearness};
use crate::listings::{Disk, provider, uid_of_name};
use crate::model::{
    Action, BackendKey, Claim, ClaimKey, Effect, Phase, Proposal, ReclaimPolicy, Refusal, Text,
    Volume, is_namespace_name, is_object_name,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "adopt";
/// The prefix of the names of volumes. Not the former name: what still references a volume of that name would take this
/// one for it.
const PREFIX: &str = "adopted-";
/// What stands in a handle of GCE for a project or a zone that was not known.
const UNSPECIFIED: &str = "UNSPECIFIED";

/// How a disk is to be used, where no claim tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeUse {
    /// The storage class.
    pub class: Option<Text>,
    /// The volume mode.
    pub mode: Option<&'static str>,
    /// The filesystem on the disk.
    pub filesystem: Option<Text>,
}

/// A disk that is given to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoption {
    volume: Manifest,
    claim: ClaimKey,
    /// The uid of the claim for which the disk was made, in hexadecimal digits.
    made_for: Option<Text>,
    /// Whether it was the disk of one claim alone before: a teardown kept it.
    is_kept: bool,
    /// What is not certain about the disk, and was told.
    notices: Vec<String>,
}

/// Returns the name of the volume for a disk: always the same, so that a later run continues an interrupted one.
pub fn name(cluster: &str, disk: &Disk) -> String {
    placeholder::derived_name(PREFIX, cluster, &disk.backend)
}

impl Adoption {
    /// Prepares the volume object for a disk; `doubts` are told.
    ///
    /// # Errors
    /// When the claim was not read; inside, why no volume object can be made, as a reason to refuse.
    pub fn of(
        cx: &Cx,
        cluster: &str,
        disk: &Disk,
        claim: &ClaimKey,
        (how, doubts): (&VolumeUse, Vec<String>),
    ) -> Seen<Result<Self, String>> {
        let existing = cx.claim(claim)?;
        let mut notices = doubts;
        let told = match provider(&disk.backend.driver).tells_machines {
            true => "no machine had it when it was listed; what has it since is not seen",
            false => "no listing tells what has it mounted: stop that first",
        };
        notices.push(told.to_owned());
        let name = name(cluster, disk);
        if how.filesystem.is_some() && cx.volume(&name)?.is_some() {
            let told = format!("pv/{name} exists since an earlier run, and keeps its fsType");
            notices.push(told);
        }
        Ok(spec(disk, claim, existing, how, &mut notices).and_then(|spec| {
            let value = json!({
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {
                    "name": name,
                    // Its driver did make it.
                    "annotations": {placeholder::PROVISIONED_BY: &*disk.backend.driver},
                },
                "spec": spec,
            });
            Ok(Self {
                volume: Manifest::read(value)?,
                claim: claim.clone(),
                made_for: disk.made.as_ref().and_then(|it| it.uid.clone()),
                is_kept: false,
                notices,
            })
        }))
    }

    /// Prepares the volume object of a disk that a teardown kept, in this or in another cluster, for the claim that it had
    /// there or for `to`.
    ///
    /// # Errors
    /// Why that is no volume of a claim, or not to be had in this cluster, as a reason to refuse.
    pub fn kept(
        manifest: &Value,
        to: Option<&ClaimKey>,
        is_of_this_cluster: bool,
    ) -> Result<Self, String> {
        let mut manifest = recreate::for_another_cluster(manifest);
        if let Some(to) = to {
            manifest["spec"]["claimRef"] = claim_ref(to);
        }
        let volume = Manifest::read(manifest)?;
        let claim = volume.volume().claim_ref.as_ref().map(|it| it.key.clone());
        let claim = claim.ok_or("the record names no claim of it: pass --to")?;
        if !is_namespace_name(&claim.namespace) || !is_object_name(&claim.name) {
            return Err(format!("spec.claimRef of the manifest, {claim}, cannot be a claim"));
        }
        let Volume { backend, attributes, .. } = volume.volume();
        let stays = |it: &BackendKey| !facts::is_beyond(&Reference::of(it, attributes));
        if !is_of_this_cluster && backend.as_ref().is_some_and(stays) {
            return Err(
                "its data is in the cluster that kept it, or on one of its nodes: no other \
                        cluster reaches it"
                    .to_owned(),
            );
        }
        let told = "the cluster that kept it may still name the disk: nothing must use it there";
        let made_for = uid_of_name(volume.volume().name());
        Ok(Self { volume, claim, made_for, is_kept: true, notices: vec![told.to_owned()] })
    }

    /// Returns the volume that would be created.
    pub fn volume(&self) -> &Volume {
        self.volume.volume()
    }
}

fn spec(
    disk: &Disk,
    key: &ClaimKey,
    claim: Option<&Claim>,
    how: &VolumeUse,
    notices: &mut Vec<String>,
) -> Result<Value, String> {
    let driver = &*disk.backend.driver;
    let needs = provider(driver).volume;
    if !needs.lacks.is_empty() {
        let lacks = needs.lacks;
        return Err(format!("a PersistentVolume of {driver} needs {lacks}: create it by hand"));
    }
    let handle = &*disk.backend.handle;
    if handle.contains("://")
        || handle.contains(UNSPECIFIED)
        || handle.contains(char::is_whitespace)
        || handle.contains(char::is_control)
    {
        return Err(format!(
            "its handle is not as {driver} writes it: list it with the provider's own command, which \
             `kubectl storage explain inventory` prints"
        ));
    }
    let listed = disk.size.filter(|it| *it > 0);
    let size = listed.or_else(|| claim.and_then(|it| it.requested)).ok_or_else(|| {
        format!("its size is unknown: create claim {key} first, whose request is taken for it")
    })?;
    if listed.is_none() {
        let size = quantity(size);
        notices
            .push(format!("the listing does not tell its size: {size} is what the claim requests"));
    }
    let is_device = disk.is_device();
    let mode = match (claim, how.mode) {
        (Some(claim), Some(mode)) if claim.access.volume_mode() != mode => {
            return Err(format!("{} has another volumeMode than {mode}", claim.object()));
        }
        (Some(claim), _) => claim.access.volume_mode(),
        (None, Some(mode)) => mode,
        (None, None) if is_device => {
            return Err(
                "no listing tells whether it holds a filesystem: pass --volume-mode Filesystem, or Block; a \
                 filesystem is made on a disk on which none is found"
                    .to_owned(),
            );
        }
        (None, None) => "Filesystem",
    };
    if !is_device && mode == "Block" {
        return Err("it is a directory on a server: no pod sees it as a device".to_owned());
    }
    let is_shared = claim.is_some_and(|it| it.access.modes.names().any(|it| it == "ReadWriteMany"));
    if is_device && mode == "Filesystem" && is_shared {
        return Err(format!(
            "claim {key} requests ReadWriteMany with a filesystem, which two nodes would destroy on one disk"
        ));
    }
    if is_device && mode == "Filesystem" && how.filesystem.is_none() {
        notices.push(
            "the driver expects its default filesystem on the disk; --fs-type names another"
                .to_owned(),
        );
    }
    let modes: Vec<_> = match claim {
        Some(claim) => claim.access.modes.names().collect(),
        None if is_device => vec!["ReadWriteOnce"],
        None => vec!["ReadWriteMany"],
    };
    let mut source = Map::new();
    source.insert("driver".to_owned(), json!(driver));
    source.insert("volumeHandle".to_owned(), json!(&*disk.backend.handle));
    if let Some(filesystem) = &how.filesystem {
        source.insert("fsType".to_owned(), json!(&**filesystem));
    }
    if !needs.attributes.is_empty() {
        let attributes =
            needs.attributes.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
        source.insert("volumeAttributes".to_owned(), Value::Object(attributes.collect()));
    }
    let class = match claim {
        Some(claim) => claim.class.as_deref(),
        None => how.class.as_deref(),
    };
    let mut spec = json!({
        "capacity": {"storage": quantity(size)},
        "accessModes": modes,
        "volumeMode": mode,
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": class.unwrap_or_default(),
        "claimRef": claim_ref(key),
        "csi": source,
    });
    if let Some(attributes) = claim.and_then(|it| it.attributes_class.as_deref()) {
        spec["volumeAttributesClassName"] = json!(attributes);
    }
    match disk.zone.as_deref().filter(|_| !needs.zone_label.is_empty()) {
        Some(zone) => {
            spec["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": needs.zone_label, "operator": "In", "values": [zone]},
            ]}]}});
        }
        None if is_device => notices.push(
            "its zone is unknown, so it has no node affinity: a pod may be scheduled where the disk cannot be attached"
                .to_owned(),
        ),
        None => {}
    }
    Ok(spec)
}

fn claim_ref(key: &ClaimKey) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": &*key.namespace,
        "name": &*key.name,
    })
}

/// Proposes or refuses to create the volume object, and to bind it to the claim.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(cx: &Cx, adoption: &Adoption) -> Seen<Result<Proposal, Refusal>> {
    let planned = adoption.volume.volume();
    let rebinding = Rebinding { to: Some(adoption.claim.clone()), ..Rebinding::default() };
    let existing = cx.volume(planned.name())?;
    let backend = planned.backend.as_ref().map(ToString::to_string).unwrap_or_default();
    let creates = format!("creates a PersistentVolume for {backend}");
    if let Some(reason) = existing.and_then(|it| is_other(it, planned, &adoption.claim)) {
        let what = format!("{creates}, and binds claim {} to it", adoption.claim);
        return Ok(Err(Refusal { reason, effect: Effect { what, risk: rebind::RISK.to_owned() } }));
    }
    let mut proposal = match rebind::propose(cx, existing.unwrap_or(planned), &rebinding)? {
        Ok(proposal) => proposal,
        refused @ Err(_) => return Ok(refused),
    };
    let driver = planned.backend.as_ref().map(|it| Text::clone(&it.driver)).unwrap_or_default();
    if let Err(reason) = check(cx, adoption, &driver, &mut proposal.notices)? {
        return Ok(Err(Refusal { reason, effect: proposal.effect }));
    }
    let is_csi = matches!(facts::owner(planned), facts::Owner::Csi(_));
    if is_csi && cx.csi_driver(&driver)?.is_none() {
        proposal
            .notices
            .push(format!("there is no CSIDriver {driver}: it may not run in this cluster"));
    }
    proposal.notices.extend(adoption.notices.iter().cloned());
    if existing.is_none() {
        proposal.effect.what = format!("{creates}; {}", proposal.effect.what);
        let manifest = adoption.volume.value().clone();
        proposal.steps.insert(0, Action::CreateVolume { volume: planned.object(), manifest });
    }
    Ok(Ok(proposal))
}

/// Returns why a volume of the same name is not the one that would be created, and waits for the claim.
fn is_other(there: &Volume, planned: &Volume, claim: &ClaimKey) -> Option<String> {
    let object = there.object();
    if there.backend != planned.backend || there.reclaim_policy != ReclaimPolicy::Retain {
        return Some(format!("{object} exists, and is not as this tool created it"));
    }
    if !reserve::is_reserved_for(there, claim) {
        let of = there.claim_ref.as_ref().map(|it| it.key.to_string()).unwrap_or_default();
        return Some(match there.phase {
            Phase::Released => format!(
                "{object} has it, and is Released: `kubectl storage rebind {} --to {claim}` gives it to the claim",
                facts::on_command_line(&object)
            ),
            _ => format!("{object} has it, which is {}, and is that of claim {of}", there.phase),
        });
    }
    let how =
        |it: &Volume| (it.access.volume_mode(), it.class.as_deref().unwrap_or_default().to_owned());
    let ((mode, class), wanted) = (how(there), how(planned));
    ((mode, &*class) != (wanted.0, &*wanted.1)).then(|| {
        format!(
            "{object} exists since an earlier run, with volumeMode {mode} and storageClassName \"{class}\": ask for \
             the same, or delete it first"
        )
    })
}

/// Refuses a disk that something else names or has, or may name.
fn check(
    cx: &Cx,
    adoption: &Adoption,
    driver: &Text,
    notices: &mut Vec<String>,
) -> Seen<checks::Checked> {
    let planned = adoption.volume.volume();
    // A name that csi-provisioner made for another claim is that of another disk.
    let is_elsewhere = |name: &str| {
        let uids = adoption.made_for.as_deref().zip(uid_of_name(name));
        uids.is_some_and(|(own, other)| !other.starts_with(own) && !own.starts_with(&*other))
    };
    let lost = |is_ours: &dyn Fn(Option<&str>) -> bool| {
        let to = Some(&adoption.claim);
        placeholder::no_claim_has_lost_it(cx, is_ours, &is_elsewhere, to)
    };
    checks::all!(
        checks::backend_is_known(planned),
        exclusive::not_named_beside(cx, planned)?,
        placeholder::no_attachment_may_be_of(cx, planned, &is_elsewhere)?,
        lost(&|it| it == Some(&**driver))?,
        checks::on_no_node(cx, planned)?,
    );
    // The listing shows which machine has a disk, whatever claim it was lost by.
    notices.extend(lost(&|it| it.is_none())?.err());
    let neighbours = facts::neighbours(cx, planned, &planned.places(), None)?;
    // This one was its claim's own. Which others an unknown driver may confuse it with changes by the minute.
    let undecided = adoption.is_kept.then(|| facts::undecided_identity(cx, driver)).flatten();
    let is_told = |how: &str| undecided.as_ref().is_some_and(|it| how.ends_with(&*it.why));
    for it in &neighbours.found {
        let told = format!("{} {}", it.who, it.how);
        match it.nearness {
            Nearness::Proven => return Ok(Err(told)),
            Nearness::Possible if !adoption.is_kept => return Ok(Err(told)),
            Nearness::Possible if !is_told(&it.how) => notices.push(told),
            Nearness::Possible | Nearness::Notable => {}
        }
    }
    let told = |why| format!("other volumes may reference the same storage: {why}");
    notices.extend(undecided.map(|it| told(it.why)));
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        listings::Attached,
        model::{Access, AccessModes, BackendKey},
    };

    fn disk(driver: &str, handle: &str, zone: Option<&str>) -> Disk {
        Disk {
            backend: BackendKey { driver: driver.into(), handle: handle.into() },
            attributes: crate::model::Attributes::default(),
            object: None,
            kind: None,
            size: Some(20 << 30),
            created: None,
            detached: None,
            attached: Attached::No,
            place: Text::default(),
            zone: zone.map(Text::from),
            made: None,
            tags: Box::default(),
        }
    }

    fn key() -> ClaimKey {
        ClaimKey { namespace: "shop".into(), name: "data".into() }
    }

    fn of(disk: &Disk, claim: Option<&Claim>, mode: Option<&'static str>) -> Result<Value, String> {
        let how = VolumeUse { mode, class: Some("fast".into()), filesystem: Some("xfs".into()) };
        spec(disk, &key(), claim, &how, &mut Vec::new())
    }

    #[test]
    fn a_volume_has_what_its_driver_needs() {
        let cases = [
            (
                "ebs.csi.aws.com",
                "vol-1",
                "us-east-1a",
                "topology.ebs.csi.aws.com/zone",
                json!(null),
            ),
            (
                "dobs.csi.digitalocean.com",
                "9b2f3c44-1111-4222-8333-000000000027",
                "fra1",
                "region",
                json!({"com.digitalocean.csi/noformat": "true"}),
            ),
            ("csi.hetzner.cloud", "123", "fsn1", "csi.hetzner.cloud/location", json!(null)),
        ];
        for (driver, handle, zone, label, attributes) in cases {
            let spec = of(&disk(driver, handle, Some(zone)), None, Some("Block")).expect(driver);
            let term = &spec["nodeAffinity"]["required"]["nodeSelectorTerms"][0];
            let requirement = json!({"key": label, "operator": "In", "values": [zone]});
            assert_eq!(term["matchExpressions"][0], requirement, "{driver}");
            assert_eq!(spec["csi"]["volumeAttributes"], attributes, "{driver}");
            assert_eq!(spec["volumeMode"], "Block", "{driver}");
            assert_eq!(spec["persistentVolumeReclaimPolicy"], "Retain", "{driver}");
            assert_eq!(spec["storageClassName"], "fast", "{driver}");
            assert_eq!(spec["csi"]["fsType"], "xfs", "{driver}");
            assert!(spec["claimRef"].get("uid").is_none(), "{driver}");
        }
        let mut notices = Vec::new();
        let how = VolumeUse { mode: Some("Filesystem"), ..VolumeUse::default() };
        let spec = spec(&disk("ebs.csi.aws.com", "vol-1", None), &key(), None, &how, &mut notices);
        assert!(spec.expect("because it is whole").get("nodeAffinity").is_none());
        let told = ["--fs-type names another", "its zone is unknown"];
        assert!(told.iter().zip(&notices).all(|(told, it)| it.contains(told)), "{notices:?}");
    }

    #[test]
    fn what_cannot_be_known_is_refused() {
        let ebs = disk("ebs.csi.aws.com", "vol-1", None);
        let unsized_disk = Disk { size: None, ..ebs.clone() };
        let cases = [
            (of(&disk("rbd.csi.ceph.com", "csi-vol-1", None), None, Some("Block")), "clusterID"),
            (
                of(&disk("csi.example.com", "a", None), None, Some("Block")),
                "not known of this driver",
            ),
            (of(&ebs, None, None), "--volume-mode"),
            (of(&unsized_disk, None, Some("Block")), "its size is unknown"),
        ];
        for (spec, why) in cases {
            let reason = spec.expect_err(why);
            assert!(reason.contains(why), "{reason}");
        }
    }

    #[test]
    fn a_claim_that_exists_decides() {
        let claim = Claim {
            access: Access { modes: AccessModes::of(&["ReadWriteOncePod"]), is_block: true },
            class: Some("slow".into()),
            requested: Some(5 << 30),
            attributes_class: Some("gold".into()),
            ..Claim::sample()
        };
        let ebs = Disk { size: None, ..disk("ebs.csi.aws.com", "vol-1", None) };
        let spec = of(&ebs, Some(&claim), None).expect("because the claim tells the size");
        assert_eq!(spec["capacity"]["storage"], "5Gi");
        assert_eq!(spec["accessModes"], json!(["ReadWriteOncePod"]));
        assert_eq!(spec["volumeMode"], "Block");
        assert_eq!(spec["storageClassName"], "slow");
        assert_eq!(spec["volumeAttributesClassName"], "gold");
        let other = of(&ebs, Some(&claim), Some("Filesystem"));
        assert!(other.expect_err("because the claim is Block").contains("volumeMode"));
    }
}

//! Amazon EBS: `ebs.csi.aws.com`, and the in-tree volumes that were migrated to it.

use std::borrow::Cow;

use super::basis::{BLOCK, device};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// Amazon EBS.
pub static FAMILY: Family = Family {
    id: "aws-ebs",
    title: "Amazon EBS",
    names: &[Name::Is("ebs.csi.aws.com")],
    identity: "the id vol-…, shared with EKS Auto Mode (ebs.csi.eks.amazonaws.com) and with in-tree \
               awsElasticBlockStore; partitions are parts of one disk",
    used,
    deletion,
    destroys: "the EBS volume",
    answers_ok: &["an id that does not exist"],
    refuses: &["a volume that is attached anywhere", "local-ebs://… (devices of the node)"],
    snapshots: Snapshots::all(Fate::Independent, "EBS snapshots do not need their volume"),
    provisioner: Provisioner::csi(
        &["ebs-csi-controller", "aws-ebs-csi-driver-controller"],
        &["aws-ebs-csi-driver"],
    )
    .hidden("OpenShift with hosted control planes: the pod is hidden, its Lease is visible"),
    sources: &[
        "kubernetes-sigs/aws-ebs-csi-driver 429e202e: pkg/cloud/cloud.go DeleteDisk, pkg/driver/constants.go",
        "kubernetes/csi-translation-lib plugins/aws_ebs.go KubernetesVolumeIDToEBSVolumeID",
    ],
    ..BLOCK
};

/// The space of EBS volumes, whichever driver names them.
pub(super) const SPACE: &str = "EBS";

pub(super) fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if let Some(id) = volume(reference.handle) {
        vec![device(SPACE, id)]
    } else {
        let why = "its handle is not an EBS volume id";
        vec![Place::undecided(SPACE, reference.handle, why)]
    }
}

pub(super) fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match volume(deletion.reference.handle) {
        Some(id) => Destruction::of(
            device(SPACE, id).into_owned(),
            format!("the EBS volume {id}"),
        ),
        None => Destruction::Fails(Cow::Borrowed("its handle is not an EBS volume id")),
    }
}

/// The id `vol-…`, with the zone that in-tree volumes write before it.
fn volume(handle: &str) -> Option<&str> {
    let id = match handle.strip_prefix("aws://") {
        Some(rest) => rest.split_once('/')?.1.trim_matches('/'),
        None => handle,
    };
    let hex = id.strip_prefix("vol-")?;
    let plain = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then_some(id)
}

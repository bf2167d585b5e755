//! Amazon EBS: `ebs.csi.aws.com`, the in-tree volumes that were migrated to it, and EKS Auto Mode.

use std::borrow::Cow;

use super::basis::{BASE, device};
use crate::drivers::{
    Deletion, Destruction, Expansion, Family, Fate, Name, Place, Provisioner, Reach, Reference,
    Snapshots,
};

/// Amazon EBS.
pub(super) static AWS_EBS: Family = Family {
    id: "aws-ebs",
    title: "Amazon EBS",
    names: &[Name::Is("ebs.csi.aws.com")],
    identity: "the id vol-…, shared with EKS Auto Mode (ebs.csi.eks.amazonaws.com) and with in-tree \
               awsElasticBlockStore; partitions are parts of one disk",
    reach: Reach::Provider,
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
    .hidden("OpenShift with hosted control planes: the pod is hidden, its Lease is visible")
    .but_leases(),
    expansion: Expansion::IN_GIB.limited(MODIFICATIONS),
    sources: &[
        "kubernetes-sigs/aws-ebs-csi-driver 429e202e: pkg/cloud/cloud.go DeleteDisk ResizeOrModifyDisk, \
         pkg/driver/controller.go ControllerExpandVolume, pkg/driver/constants.go",
        "docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyVolume.html",
        "kubernetes/csi-translation-lib plugins/aws_ebs.go KubernetesVolumeIDToEBSVolumeID",
    ],
    ..BASE
};

/// Limit of modifications, of which each expansion is one.
const MODIFICATIONS: &str = "Amazon allows four modifications of an EBS volume in 24 hours, each only after the last \
                             one has completed (in China one in 6 hours): ask for enough at once";

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
        Some(id) => Destruction::of(device(SPACE, id).into_owned(), format!("the EBS volume {id}")),
        None => Destruction::Fails(Cow::Borrowed("its handle is not an EBS volume id")),
    }
}

/// Returns the id `vol-…`, without the zone that in-tree volumes write before it.
fn volume(handle: &str) -> Option<&str> {
    let id = match handle.strip_prefix("aws://") {
        Some(rest) => rest.split_once('/')?.1.trim_matches('/'),
        None => handle,
    };
    let hex = id.strip_prefix("vol-")?;
    let plain = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then_some(id)
}

/// EKS Auto Mode.
pub(super) static AWS_EBS_AUTO: Family = Family {
    id: "aws-ebs-auto",
    title: "Amazon EBS in EKS Auto Mode",
    names: &[Name::Is("ebs.csi.eks.amazonaws.com")],
    identity: "the id vol-…, shared with ebs.csi.aws.com: a migrated volume has an object of each",
    reach: Reach::Provider,
    used,
    deletion,
    destroys: "the EBS volume",
    refuses: &["possibly a disk without the tag eks:eks-cluster-name of this cluster"],
    snapshots: Snapshots::all(Fate::Independent, "EBS snapshots do not need their volume"),
    provisioner: Provisioner::csi(&[], &[])
        .without_leader()
        .hidden("EKS runs it outside the cluster: no object in the cluster shows it"),
    expansion: Expansion::IN_GIB.limited(MODIFICATIONS),
    sources: &[
        "docs.aws.amazon.com/eks/latest/userguide/migrate-auto.html",
        "docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEKSBlockStoragePolicyV2.html",
    ],
    ..BASE
};

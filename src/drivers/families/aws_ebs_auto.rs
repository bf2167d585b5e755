//! Amazon EBS in EKS Auto Mode: `ebs.csi.eks.amazonaws.com`.

use super::{aws_ebs, basis::BLOCK};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// EKS Auto Mode.
pub static FAMILY: Family = Family {
    id: "aws-ebs-auto",
    title: "Amazon EBS in EKS Auto Mode",
    names: &[Name::Is("ebs.csi.eks.amazonaws.com")],
    identity: "the id vol-…, shared with ebs.csi.aws.com: a migrated volume has an object of each",
    used: aws_ebs::used,
    deletion: aws_ebs::deletion,
    destroys: "the EBS volume",
    refuses: &["possibly a disk without the tag eks:eks-cluster-name of this cluster"],
    snapshots: Snapshots::all(Fate::Independent, "EBS snapshots do not need their volume"),
    provisioner: Provisioner::csi(&[], &[])
        .without_leader()
        .hidden("EKS runs it outside the cluster: no object in the cluster shows it"),
    sources: &[
        "docs.aws.amazon.com/eks/latest/userguide/migrate-auto.html",
        "docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEKSBlockStoragePolicyV2.html",
    ],
    ..BLOCK
};

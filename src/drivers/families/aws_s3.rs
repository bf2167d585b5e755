//! Amazon S3 through Mountpoint: `s3.csi.aws.com`.

use std::borrow::Cow;

use super::basis::{SHARE, device, undecided};
use crate::drivers::{Destruction, Family, Fate, Name, Provisioner, Snapshots};

/// Mountpoint for Amazon S3.
pub static FAMILY: Family = Family {
    id: "aws-s3",
    title: "Amazon S3 (Mountpoint)",
    names: &[Name::Is("s3.csi.aws.com")],
    identity: "the bucket in the attribute bucketName; the handle is any text",
    attributes: &["bucketName"],
    used: |reference| match reference.attribute("bucketName") {
        Some(bucket) if !bucket.is_empty() => vec![device("S3 bucket", bucket)],
        _ => vec![undecided("S3 bucket", reference)],
    },
    deletion: |_| Destruction::Fails(Cow::Borrowed("the driver cannot delete volumes")),
    destroys: "nothing: it neither creates nor deletes volumes",
    refuses: &["every volume"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::NOBODY,
    sources: &[
        "awslabs/mountpoint-s3-csi-driver 57c6bed: pkg/driver/controller.go, pkg/driver/node/volumecontext",
    ],
    ..SHARE
};

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn the_attribute_names_the_bucket() {
        let bucket = |handle, name| places("s3.csi.aws.com", handle, &[("bucketName", name)]);
        assert_eq!(lies(&bucket("x", "data"), &bucket("y", "data")), "equal");
        assert_eq!(lies(&bucket("x", "data"), &bucket("x", "logs")), "apart");
        assert_eq!(lies(&bucket("x", "data"), &places("s3.csi.aws.com", "x", &[])), "equal?");
        let told = answer(&Case { driver: "s3.csi.aws.com", handle: "x", ..Case::default() });
        assert_eq!(told, "fails: the driver cannot delete volumes");
    }
}

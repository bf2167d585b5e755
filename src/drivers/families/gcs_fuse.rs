//! Cloud Storage through FUSE: `gcsfuse.csi.storage.gke.io`.

use std::borrow::Cow;

use super::basis::{SHARE, device, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// Cloud Storage FUSE.
pub static FAMILY: Family = Family {
    id: "gcs-fuse",
    title: "Google Cloud Storage (FUSE)",
    names: &[Name::Is("gcsfuse.csi.storage.gke.io")],
    identity: "the bucket: the handle up to a colon, or the attribute bucketName of a pod's own volume; _ stands for \
               all buckets. The mount option only-dir is not checked",
    attributes: &["bucketName"],
    used,
    deletion,
    destroys: "all objects and the bucket, if there is a provisioner that asks for it; the driver comes without one",
    answers_ok: &["a bucket that does not exist", "a handle with a colon: no bucket can have such \
                                                   a name"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::NOBODY,
    sources: &[
        "GoogleCloudPlatform/gcs-fuse-csi-driver 5fcdc04a: pkg/util/util.go ParseVolumeID, pkg/csi_driver/node.go, \
         pkg/csi_driver/controller.go",
    ],
    ..SHARE
};

/// The space of buckets.
const SPACE: &str = "GCS bucket";

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let bucket = match reference.handle {
        INLINE => reference.attribute("bucketName").unwrap_or_default(),
        handle => handle.split(':').next().unwrap_or_default(),
    };
    vec![match bucket {
        "" => undecided(SPACE, reference),
        "_" => Place::undecided(SPACE, "_", "_ stands for all buckets"),
        bucket => device(SPACE, bucket),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match deletion.reference.handle {
        "" | "_" => Destruction::Undecided(Cow::Borrowed("its handle does not reference a single \
                                                          bucket")),
        handle if handle.contains(':') => {
            Destruction::Nothing(Cow::Borrowed("no bucket can have the name in the handle"))
        }
        bucket => Destruction::of(
            device(SPACE, bucket).into_owned(),
            format!("the whole bucket {bucket} with all objects"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::INLINE;
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "gcsfuse.csi.storage.gke.io";

    #[test]
    fn buckets_end_at_a_colon() {
        let one = places(DRIVER, "data", &[]);
        for (handle, bucket, expected) in [
            ("data:a", "", "equal"),
            ("logs", "", "apart"),
            ("_", "", "equal?"),
            (INLINE, "data", "equal"),
            (INLINE, "logs", "apart"),
            (INLINE, "_", "equal?"),
            (INLINE, "", "equal?"),
        ] {
            let other = places(DRIVER, handle, &[("bucketName", bucket)]);
            assert_eq!(lies(&one, &other), expected, "{handle} {bucket}");
        }
        for (handle, expected) in
            [("data", "deletes the whole bucket data"), ("data:a", "does nothing"), ("_", "undecided")]
        {
            let told = answer(&Case { driver: DRIVER, handle, ..Case::default() });
            assert!(told.starts_with(expected), "{handle}: {told}");
        }
    }
}

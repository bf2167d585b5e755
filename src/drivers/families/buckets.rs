//! Buckets of object storage that are mounted as file systems.

use std::borrow::Cow;

use super::basis::{BASE, NO_SNAPSHOTS, device, disk, folder, undecided, what_it_uses};
use crate::drivers::{
    Deletion, Destruction, Family, INLINE, Name, Place, Provisioner, Reach, Reference,
};

/// Mountpoint for Amazon S3.
pub(super) static AWS_S3: Family = Family {
    id: "aws-s3",
    title: "Amazon S3 (Mountpoint)",
    names: &[Name::Is("s3.csi.aws.com")],
    identity: "the bucket in the attribute bucketName; the handle is any text",
    reach: Reach::Provider,
    attributes: &["bucketName"],
    used: |reference| match reference.attribute("bucketName") {
        Some(bucket) if !bucket.is_empty() => vec![device("S3 bucket", bucket)],
        _ => vec![undecided("S3 bucket", reference)],
    },
    deletion: |_| Destruction::Fails(Cow::Borrowed("the driver cannot delete volumes")),
    destroys: "nothing: it neither creates nor deletes volumes",
    refuses: &["every volume"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::NOBODY,
    sources: &[
        "awslabs/mountpoint-s3-csi-driver 57c6bed: pkg/driver/controller.go, pkg/driver/node/volumecontext",
    ],
    ..BASE
};

/// Cloud Storage FUSE.
pub(super) static GCS_FUSE: Family = Family {
    id: "gcs-fuse",
    title: "Google Cloud Storage (FUSE)",
    names: &[Name::Is("gcsfuse.csi.storage.gke.io")],
    identity: "the bucket: the handle up to a colon, or the attribute bucketName of a pod's own volume; _ stands for \
               all buckets. The mount option only-dir is not checked",
    reach: Reach::Provider,
    attributes: &["bucketName"],
    used: gcs_used,
    deletion,
    destroys: "all objects and the bucket, if there is a provisioner that asks for it; the driver comes without one",
    answers_ok: &[
        "a bucket that does not exist",
        "a handle with a colon: no bucket can have such \
                                                   a name",
    ],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::NOBODY,
    sources: &[
        "GoogleCloudPlatform/gcs-fuse-csi-driver 5fcdc04a: pkg/util/util.go ParseVolumeID, pkg/csi_driver/node.go, \
         pkg/csi_driver/controller.go",
    ],
    ..BASE
};

/// The space of buckets.
const SPACE: &str = "GCS bucket";

fn gcs_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
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
        "" | "_" => Destruction::Undecided(Cow::Borrowed(
            "its handle does not reference a single \
                                                          bucket",
        )),
        handle if handle.contains(':') => {
            Destruction::Nothing(Cow::Borrowed("no bucket can have the name in the handle"))
        }
        bucket => Destruction::of(
            device(SPACE, bucket).into_owned(),
            format!("the whole bucket {bucket} with all objects"),
        ),
    }
}

/// Alibaba Cloud OSS.
pub(super) static ALIBABA_OSS: Family = Family {
    id: "alibaba-oss",
    title: "Alibaba Cloud OSS",
    names: &[Name::Is("ossplugin.csi.alibabacloud.com")],
    identity: "the attributes bucket and path; the handle is the name of the volume",
    reach: Reach::Provider,
    attributes: &["bucket", "path"],
    used: oss_used,
    deletion: |_| {
        Destruction::Nothing(Cow::Borrowed("the driver deletes no buckets and no objects"))
    },
    destroys: "nothing",
    answers_ok: &["every volume"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["csi-provisioner"], &[])
        .hidden("ACK may run it in the control plane; unknown what is visible then"),
    sources: &[
        "kubernetes-sigs/alibaba-cloud-csi-driver 8aacf9009: pkg/oss/utils.go, pkg/oss/controllerserver.go",
    ],
    ..BASE
};

fn oss_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match (reference.attribute("bucket"), reference.handle) {
        (Some(bucket), _) if !bucket.is_empty() => {
            vec![folder("OSS bucket", bucket, reference.attribute("path").unwrap_or_default())]
        }
        (_, INLINE) => Vec::new(),
        _ => vec![undecided("OSS bucket", reference)],
    }
}

/// Huawei OBS.
pub(super) static HUAWEI_OBS: Family = Family {
    id: "huawei-obs",
    title: "Huawei OBS",
    names: &[Name::Is("obs.csi.huaweicloud.com")],
    identity: "the name of the bucket, which is the handle",
    reach: Reach::Provider,
    used: |reference| disk("OBS bucket", reference),
    deletion: |deletion| {
        let bucket = deletion.reference.handle;
        what_it_uses(deletion, format!("the whole bucket {bucket} with all objects"))
    },
    destroys: "all objects and the bucket",
    answers_ok: &["a bucket that does not exist"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["csi-obs-controller"], &["obs-csi-plugin"]),
    sources: &[
        "huaweicloud/huaweicloud-csi-driver 06c6079: pkg/obs/controllerserver.go DeleteVolume, pkg/obs/nodeserver.go",
    ],
    ..BASE
};

/// Tencent COS and CHDFS.
pub(super) static TENCENT_BUCKETS: Family = Family {
    id: "tencent-buckets",
    title: "Tencent COS and CHDFS",
    names: &[Name::Is("com.tencent.cloud.csi.cosfs"), Name::Is("com.tencent.cloud.csi.chdfs")],
    identity: "the attributes bucket and path, or the attribute url of CHDFS; the handle is any text",
    reach: Reach::Provider,
    attributes: &["bucket", "path", "url"],
    used: tencent_used,
    deletion: |_| {
        Destruction::Fails(Cow::Borrowed("there are only static volumes: nothing deletes them"))
    },
    destroys: "nothing: it neither creates nor deletes volumes",
    refuses: &["every volume"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::NOBODY,
    sources: &[
        "TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cosfs/util.go, driver/chdfs/node.go",
    ],
    ..BASE
};

fn tencent_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    let is_chdfs = reference.driver.ends_with("chdfs");
    let space = if is_chdfs { "CHDFS" } else { "COS bucket" };
    match (is_chdfs, value("url"), value("bucket")) {
        (true, Some(url), _) => vec![device(space, url.trim_end_matches('/'))],
        (false, _, Some(bucket)) => vec![folder(space, bucket, value("path").unwrap_or_default())],
        _ if reference.handle == INLINE => Vec::new(),
        _ => vec![undecided(space, reference)],
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::INLINE;
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

    #[test]
    fn buckets_end_at_a_colon() {
        const DRIVER: &str = "gcsfuse.csi.storage.gke.io";
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
        for (handle, expected) in [
            ("data", "deletes the whole bucket data"),
            ("data:a", "does nothing"),
            ("_", "undecided"),
        ] {
            let told = answer(&Case { driver: DRIVER, handle, ..Case::default() });
            assert!(told.starts_with(expected), "{handle}: {told}");
        }
    }

    #[test]
    fn bucket_and_path_name_the_objects() {
        const DRIVER: &str = "ossplugin.csi.alibabacloud.com";
        let at = |path| places(DRIVER, "pv", &[("bucket", "data"), ("path", path)]);
        assert_eq!(lies(&at("/a"), &at("a/")), "equal");
        assert_eq!(lies(&at("/"), &at("/a")), "inside");
        assert_eq!(lies(&at("/a"), &places(DRIVER, "pv", &[("bucket", "logs")])), "apart");
        assert_eq!(lies(&at("/a"), &places(DRIVER, "pv", &[])), "equal?");
        let told = answer(&Case { driver: DRIVER, handle: "pv", ..Case::default() });
        assert!(told.starts_with("does nothing"));
    }

    #[test]
    fn attributes_name_the_objects() {
        const COS: &str = "com.tencent.cloud.csi.cosfs";
        const CHDFS: &str = "com.tencent.cloud.csi.chdfs";
        let bucket = |name, path| places(COS, "x", &[("bucket", name), ("path", path)]);
        assert_eq!(lies(&bucket("data", "/"), &bucket("data", "/a")), "inside");
        assert_eq!(lies(&bucket("data", "/b"), &bucket("data", "/a")), "apart");
        assert_eq!(lies(&bucket("data", "/"), &bucket("logs", "/")), "apart");
        assert_eq!(lies(&bucket("data", "/"), &places(COS, "x", &[])), "equal?");
        let url = |url| places(CHDFS, "x", &[("url", url)]);
        assert_eq!(
            lies(&url("ofs://a.chdfs.example.com"), &url("ofs://a.chdfs.example.com/")),
            "equal"
        );
        assert_eq!(
            lies(&url("ofs://a.chdfs.example.com"), &url("ofs://b.chdfs.example.com")),
            "apart"
        );
        let told = answer(&Case { driver: COS, handle: "x", ..Case::default() });
        assert!(told.starts_with("fails"));
    }
}

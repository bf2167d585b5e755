//! Tencent object storage: `com.tencent.cloud.csi.cosfs`, `com.tencent.cloud.csi.chdfs`.

use std::borrow::Cow;

use super::{
    cloud::folder,
    basis::{SHARE, device, undecided},
};
use crate::drivers::{
    Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// Tencent COS and CHDFS.
pub static FAMILY: Family = Family {
    id: "tencent-buckets",
    title: "Tencent COS and CHDFS",
    names: &[Name::Is("com.tencent.cloud.csi.cosfs"), Name::Is("com.tencent.cloud.csi.chdfs")],
    identity: "the attributes bucket and path, or the attribute url of CHDFS; the handle is any text",
    attributes: &["bucket", "path", "url"],
    used,
    deletion: |_| Destruction::Fails(Cow::Borrowed("there are only static volumes: nothing deletes them")),
    destroys: "nothing: it neither creates nor deletes volumes",
    refuses: &["every volume"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::NOBODY,
    sources: &[
        "TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cosfs/util.go, driver/chdfs/node.go",
    ],
    ..SHARE
};

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
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
    use crate::drivers::tests::{Case, answer, lies, places};

    const COS: &str = "com.tencent.cloud.csi.cosfs";
    const CHDFS: &str = "com.tencent.cloud.csi.chdfs";

    #[test]
    fn attributes_name_the_objects() {
        let bucket = |name, path| places(COS, "x", &[("bucket", name), ("path", path)]);
        assert_eq!(lies(&bucket("data", "/"), &bucket("data", "/a")), "inside");
        assert_eq!(lies(&bucket("data", "/b"), &bucket("data", "/a")), "apart");
        assert_eq!(lies(&bucket("data", "/"), &bucket("logs", "/")), "apart");
        assert_eq!(lies(&bucket("data", "/"), &places(COS, "x", &[])), "equal?");
        let url = |url| places(CHDFS, "x", &[("url", url)]);
        assert_eq!(lies(&url("ofs://a.chdfs.example.com"), &url("ofs://a.chdfs.example.com/")), "equal");
        assert_eq!(lies(&url("ofs://a.chdfs.example.com"), &url("ofs://b.chdfs.example.com")), "apart");
        let told = answer(&Case { driver: COS, handle: "x", ..Case::default() });
        assert!(told.starts_with("fails"));
    }
}

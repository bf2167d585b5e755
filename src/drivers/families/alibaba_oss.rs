//! Alibaba Cloud OSS: `ossplugin.csi.alibabacloud.com`.

use std::borrow::Cow;

use super::{
    cloud::folder,
    basis::{SHARE, undecided},
};
use crate::drivers::{
    Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// Alibaba Cloud OSS.
pub static FAMILY: Family = Family {
    id: "alibaba-oss",
    title: "Alibaba Cloud OSS",
    names: &[Name::Is("ossplugin.csi.alibabacloud.com")],
    identity: "the attributes bucket and path; the handle is the name of the volume",
    attributes: &["bucket", "path"],
    used,
    deletion: |_| Destruction::Nothing(Cow::Borrowed("the driver deletes no buckets and no objects")),
    destroys: "nothing",
    answers_ok: &["every volume"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::csi(&["csi-provisioner"], &[])
        .hidden("ACK may run it in the control plane; unknown what is visible then"),
    sources: &["kubernetes-sigs/alibaba-cloud-csi-driver 8aacf9009: pkg/oss/utils.go, pkg/oss/controllerserver.go"],
    ..SHARE
};

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match (reference.attribute("bucket"), reference.handle) {
        (Some(bucket), _) if !bucket.is_empty() => {
            vec![folder("OSS bucket", bucket, reference.attribute("path").unwrap_or_default())]
        }
        (_, INLINE) => Vec::new(),
        _ => vec![undecided("OSS bucket", reference)],
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "ossplugin.csi.alibabacloud.com";

    #[test]
    fn bucket_and_path_name_the_objects() {
        let at = |path| places(DRIVER, "pv", &[("bucket", "data"), ("path", path)]);
        assert_eq!(lies(&at("/a"), &at("a/")), "equal");
        assert_eq!(lies(&at("/"), &at("/a")), "inside");
        assert_eq!(lies(&at("/a"), &places(DRIVER, "pv", &[("bucket", "logs")])), "apart");
        assert_eq!(lies(&at("/a"), &places(DRIVER, "pv", &[])), "equal?");
        let told = answer(&Case { driver: DRIVER, handle: "pv", ..Case::default() });
        assert!(told.starts_with("does nothing"));
    }
}

//! Huawei OBS: `obs.csi.huaweicloud.com`.

use super::{
    cloud::disk,
    basis::{SHARE, what_it_uses},
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// Huawei OBS.
pub static FAMILY: Family = Family {
    id: "huawei-obs",
    title: "Huawei OBS",
    names: &[Name::Is("obs.csi.huaweicloud.com")],
    identity: "the name of the bucket, which is the handle",
    used: |reference| disk("OBS bucket", reference),
    deletion: |deletion| {
        let bucket = deletion.reference.handle;
        what_it_uses(deletion, format!("the whole bucket {bucket} with all objects"))
    },
    destroys: "all objects and the bucket",
    answers_ok: &["a bucket that does not exist"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::csi(&["csi-obs-controller"], &["obs-csi-plugin"]),
    sources: &[
        "huaweicloud/huaweicloud-csi-driver 06c6079: pkg/obs/controllerserver.go DeleteVolume, pkg/obs/nodeserver.go",
    ],
    ..SHARE
};

//! Huawei SFS and SFS Turbo: `sfs.csi.huaweicloud.com`, `sfsturbo.csi.huaweicloud.com`.

use super::{
    cloud::server,
    basis::{NFS, SHARE, undecided, what_it_uses},
};
use crate::drivers::{Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots};

/// Huawei SFS.
pub static FAMILY: Family = Family {
    id: "huawei-sfs",
    title: "Huawei SFS and SFS Turbo",
    names: &[Name::Is("sfs.csi.huaweicloud.com"), Name::Is("sfsturbo.csi.huaweicloud.com")],
    identity: "the UUID of the share, which is the handle; where it is exported only Huawei knows",
    used,
    deletion: |deletion| {
        let id = deletion.reference.handle;
        what_it_uses(deletion, format!("the whole share {id}"))
    },
    destroys: "the share with everything in it",
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(
        &["csi-sfs-controller", "csi-sfsturbo-controller"],
        &["sfs-csi-plugin", "sfsturbo-csi-plugin"],
    ),
    sources: &[
        "huaweicloud/huaweicloud-csi-driver 06c6079: pkg/sfs/controllerserver.go, pkg/sfsturbo/controllerserver.go, \
         pkg/sfs/nodeserver.go",
    ],
    ..SHARE
};

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match reference.handle {
        INLINE => Vec::new(),
        "" => vec![undecided(NFS, reference)],
        id => vec![Place::directory(NFS, "/").of(server(format!("Huawei share {id}"), None))],
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "sfsturbo.csi.huaweicloud.com";

    #[test]
    fn shares_are_apart_and_their_address_is_not_known() {
        let one = places(DRIVER, "0a1b", &[]);
        assert_eq!(lies(&one, &places(DRIVER, "0a1b", &[])), "equal");
        assert_eq!(lies(&one, &places(DRIVER, "0a1c", &[])), "apart");
        assert_eq!(lies(&one, &places("nfs", "10.0.0.4:/a", &[])), "inside?");
        let told = answer(&Case { driver: DRIVER, handle: "0a1b", ..Case::default() });
        assert_eq!(told, "deletes the whole share 0a1b");
    }
}

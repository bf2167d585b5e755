//! Volumes that no controller deletes: the sources `iscsi`, `fc`, `glusterfs` and `flexVolume`, and secrets.

use std::borrow::Cow;

use super::basis::{BASE, NO_SNAPSHOTS, undecided};
use crate::drivers::{
    Destruction, Family, Fate, Letters, Name, Part, Place, Provisioner, Reach, Reference,
};

/// The sources `iscsi` and `fc`.
pub(super) static BLOCK_IN_TREE: Family = Family {
    id: "block-in-tree",
    title: "iSCSI and Fibre Channel without a driver (sources iscsi, fc)",
    names: &[Name::Is("iscsi"), Name::Is("fc")],
    identity: "iSCSI: the name of the target and the LUN, whose portals may have several addresses; \
               Fibre Channel: a WWN and the LUN, or a WWID, which are not compared with each other",
    used: block_used,
    deletion: |_| {
        let why = "no controller deletes volumes of the sources iscsi and fc";
        Destruction::Fails(Cow::Borrowed(why))
    },
    destroys: "nothing",
    snapshots: NO_SNAPSHOTS,
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &[
        "kubernetes v1.36.3: pkg/volume/iscsi/iscsi.go, pkg/volume/fc/fc.go have no deleter",
    ],
    ..BASE
};

/// The space of LUNs that are reached through iSCSI.
const ISCSI: &str = "iSCSI LUN";

/// The space of LUNs that are reached through Fibre Channel.
const FC: &str = "Fibre Channel LUN";

/// Returns a LUN of a target: targets have one name everywhere, portals may have several.
pub(super) fn lun<'a>(portal: &'a str, target: &str, lun: &str) -> Place<'a> {
    let portal = portal.strip_suffix(":3260").unwrap_or(portal);
    let portal = match portal {
        "" => Part::Unknown("the portal of one of them is unknown"),
        portal => Part::Named(portal.into()),
    };
    Place::device(ISCSI, format!("{target},{lun}")).letters(Letters::Alike).of(portal)
}

/// Reads `PORTAL,TARGET,LUN`, `WWN,WWN:LUN` and `WWID,WWID`: each WWN is a way to the LUN.
fn block_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if reference.driver == "iscsi" {
        return vec![match reference.fields(',')[..] {
            [portal, target, number] if !target.is_empty() => lun(portal, target, number),
            _ => undecided(ISCSI, reference),
        }];
    }
    let places: Vec<_> = match reference.handle.rsplit_once(':') {
        Some((wwns, lun)) => {
            let port = |wwn: &'a str| Part::Named(Cow::Borrowed(wwn));
            wwns.split(',').map(|wwn| Place::device(FC, lun).of(port(wwn))).collect()
        }
        None => reference
            .fields(',')
            .into_iter()
            .map(|wwid| Place::device("Fibre Channel WWID", wwid).letters(Letters::Alike))
            .collect(),
    };
    places
}

/// The source `glusterfs`.
pub(super) static GLUSTERFS: Family = Family {
    id: "glusterfs",
    title: "GlusterFS (source glusterfs)",
    names: &[Name::Is("glusterfs"), Name::Is("kubernetes.io/glusterfs")],
    identity: "the name of the Endpoints and the Gluster volume; other Endpoints may lead to the same \
               servers",
    used: gluster_used,
    deletion: |_| {
        Destruction::Fails(Cow::Borrowed("no controller deletes volumes of source glusterfs"))
    },
    destroys: "nothing",
    snapshots: NO_SNAPSHOTS,
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.26 removed pkg/volume/glusterfs"],
    ..BASE
};

/// The space of Gluster volumes.
const SPACE: &str = "GlusterFS";

/// Reads `ENDPOINTS:/PATH`.
fn gluster_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle.split_once(":/") {
        Some((endpoints, path)) if !endpoints.is_empty() => {
            Place::directory(SPACE, path).of(Part::Named(endpoints.into()))
        }
        _ => undecided(SPACE, reference),
    }]
}

/// The source `flexVolume`.
pub(super) static FLEX_VOLUME: Family = Family {
    id: "flex-volume",
    title: "FlexVolume (source flexVolume)",
    names: &[Name::Is("flexVolume")],
    identity: "nothing that is read: its options identify the storage, and may contain secrets",
    // The handle is the name of the driver: two volumes of one driver may be one, and need not be.
    used: |reference| {
        let why = "the options of a flexVolume, which identify its storage, are not read";
        let space = format!("flexVolume {}", reference.handle);
        vec![Place::directory(space, "").somewhere_within(why)]
    },
    deletion: |_| {
        let why = "no controller of Kubernetes deletes volumes of source flexVolume";
        Destruction::Fails(Cow::Borrowed(why))
    },
    destroys: "nothing",
    deletes_on_node: None,
    snapshots: NO_SNAPSHOTS,
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.36.3: pkg/volume/flexvolume has no deleter"],
    ..BASE
};

/// secrets-store-csi-driver.
pub(super) static SECRETS_STORE: Family = Family {
    id: "secrets-store",
    title: "Secrets Store CSI driver",
    names: &[Name::Is("secrets-store.csi.k8s.io")],
    identity: "nothing: only pods have such volumes, in memory of their node",
    reach: Reach::Cluster,
    used: |_| Vec::new(),
    deletion: |_| Destruction::Fails(Cow::Borrowed("its driver deletes no volumes")),
    destroys: "nothing",
    snapshots: NO_SNAPSHOTS,
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes-sigs/secrets-store-csi-driver 2026-04: deploy/csidriver.yaml"],
    ..BASE
};

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

    #[test]
    fn a_lun_has_several_ways_to_it() {
        for (driver, mine, other, expected) in [
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.1,iqn.a:t,0", "equal"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.2:3260,iqn.a:t,0", "equal?"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.1:3260,iqn.a:t,1", "apart"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.1:3260,iqn.a:u,0", "apart"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "odd", "equal?"),
            ("fc", "5006a,5006b:0", "5006b,5006c:0", "equal"),
            ("fc", "5006a:0", "5006c:0", "equal?"),
            ("fc", "5006a:0", "5006a:1", "apart"),
            ("fc", "3600a,3600b", "3600b", "equal"),
            ("fc", "3600a", "3600b", "apart"),
        ] {
            let (mine, other) = (places(driver, mine, &[]), places(driver, other, &[]));
            assert_eq!(lies(&mine, &other), expected, "{mine:?} {other:?}");
        }
    }

    #[test]
    fn other_endpoints_may_lead_to_the_same_servers() {
        let mine = places("glusterfs", "gluster:/vol1", &[]);
        for (handle, expected) in [
            ("gluster:/vol1", "equal"),
            ("gluster:/vol1/team", "inside"),
            ("gluster2:/vol1", "equal?"),
            ("gluster:/vol2", "apart"),
            ("vol1", "equal?"),
        ] {
            assert_eq!(lies(&mine, &places("glusterfs", handle, &[])), expected, "{handle}");
        }
    }

    #[test]
    fn two_of_one_driver_may_be_one() {
        let volume = |driver| places("flexVolume", driver, &[]);
        assert_eq!(lies(&volume("example.com/lvm"), &volume("example.com/lvm")), "equal?");
        assert_eq!(lies(&volume("example.com/lvm"), &volume("example.com/cifs")), "apart");
    }
}

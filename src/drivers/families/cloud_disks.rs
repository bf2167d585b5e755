//! Disks of clouds: the handle is an id, or holds one.

use std::borrow::Cow;

use super::basis::{
    BASE, NO_SNAPSHOTS, UNKNOWN_FATE, deletes_disk_with, deletes_named, device, disk, disk_with,
    is_uuid, undecided, what_it_uses,
};
use crate::drivers::{
    Deletion, Destruction, Expansion, Family, Fate, INLINE, Name, Place, Provisioner, Reach,
    Reference, Snapshots,
};

/// `OpenStack` Cinder.
pub(super) static CINDER: Family = Family {
    id: "cinder",
    title: "OpenStack Cinder",
    names: &[Name::Is("cinder.csi.openstack.org")],
    identity: "the UUID of the volume, shared with in-tree cinder",
    reach: Reach::Provider,
    used: |it| disk("Cinder volume", it),
    deletion: |it| deletes_named(it, "the Cinder volume"),
    destroys: "the volume",
    answers_ok: &[
        "a volume that does not exist, also because the Secret with the name of its cloud is missing",
    ],
    refuses: &["a volume that is attached anywhere", "a volume with snapshots"],
    snapshots: Snapshots::all(Fate::Blocks, "Cinder refuses to delete a volume that has snapshots"),
    provisioner: Provisioner::csi(
        &["csi-cinder-controllerplugin", "openstack-cinder-csi-controllerplugin"],
        &["cinder-csi-plugin"],
    ),
    expansion: Expansion::IN_GIB,
    sources: &[
        "kubernetes/cloud-provider-openstack c453fb7c9: pkg/csi/cinder/controllerserver.go, \
         pkg/csi/cinder/openstack/openstack_volumes.go",
        "kubernetes/csi-translation-lib plugins/openstack_cinder.go",
    ],
    ..BASE
};

/// `DigitalOcean` volumes.
pub(super) static DIGITALOCEAN: Family = Family {
    id: "digitalocean",
    title: "DigitalOcean volumes",
    names: &[Name::Is("dobs.csi.digitalocean.com")],
    identity: "the UUID of the volume",
    reach: Reach::Provider,
    used: |it| disk("DigitalOcean volume", it),
    deletion: |it| deletes_named(it, "the DigitalOcean volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume that is attached anywhere"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["csi-do-controller"], &["do-csi-plugin"])
        .without_leader()
        .hidden("DOKS runs it in the control plane: no object in the cluster shows it"),
    // Its driver rounds down.
    expansion: Expansion::IN_GIB,
    sources: &["digitalocean/csi-digitalocean 0711283d: driver/controller.go"],
    ..BASE
};

/// Hetzner Cloud.
pub(super) static HETZNER: Family = Family {
    id: "hetzner",
    title: "Hetzner Cloud",
    names: &[Name::Is("csi.hetzner.cloud")],
    identity: "the number of the volume",
    reach: Reach::Provider,
    // The driver reads a number, which may be written in several ways.
    used: |reference| match reference.handle.parse::<i64>() {
        Ok(number) if number.to_string() != reference.handle => {
            vec![undecided(HETZNER_SPACE, reference)]
        }
        _ => disk(HETZNER_SPACE, reference),
    },
    deletion: hetzner_deletion,
    destroys: "the volume, which it first detaches from whichever server has it",
    answers_ok: &["a handle that is not a number", "a volume that does not exist"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["hcloud-csi-controller"], &["hcloud-csi-driver"])
        .without_leader(),
    expansion: Expansion::IN_GIB,
    sources: &[
        "hetznercloud/csi-driver 53ead0b: internal/volumes/idempotency.go, internal/volsrv/volume.go, \
         chart/templates/controller/deployment.yaml",
    ],
    ..BASE
};

/// The space of volumes.
const HETZNER_SPACE: &str = "Hetzner volume";

fn hetzner_deletion(deletion: &Deletion<'_>) -> Destruction {
    let id = deletion.reference.handle;
    if id.parse::<i64>().is_err() {
        return Destruction::Nothing(Cow::Borrowed("its handle is not a number"));
    }
    what_it_uses(deletion, format!("the volume {id}, which it first detaches from its server"))
}

/// Linode block storage.
pub(super) static LINODE: Family = Family {
    id: "linode",
    title: "Linode block storage",
    names: &[Name::Is("linodebs.csi.linode.com")],
    identity: "the number before the first dash; the label after it may differ",
    reach: Reach::Provider,
    used: |it| disk_with(LINODE_SPACE, number(it.handle), it),
    deletion: |it| {
        let other =
            "the driver makes a number of its handle, and deletes the volume that has this number";
        let other = Destruction::Undecided(Cow::Borrowed(other));
        deletes_disk_with(LINODE_SPACE, number(it.reference.handle), "the Linode volume", other)
    },
    destroys: "the volume; it makes a number of any other text, and deletes the volume that has it",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume that is attached anywhere"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["csi-linode-controller"], &["linode-blockstorage-csi-driver"])
        .without_leader(),
    sources: &[
        "linode/linode-blockstorage-csi-driver def6be4: pkg/linode-volumes/utils.go VolumeIdAsInt, \
         internal/driver/controllerserver.go",
    ],
    ..BASE
};

/// The space of volumes.
const LINODE_SPACE: &str = "Linode volume";

fn number(handle: &str) -> Option<&str> {
    let (number, label) = handle.split_once('-')?;
    let plain = number.bytes().all(|it| it.is_ascii_digit()) && !number.starts_with('0');
    (plain && !number.is_empty() && !label.is_empty()).then_some(number)
}

/// Scaleway block storage.
pub(super) static SCALEWAY: Family = Family {
    id: "scaleway",
    title: "Scaleway block storage",
    names: &[Name::Is("csi.scaleway.com")],
    identity: "the UUID of the volume, with or without its zone before it",
    reach: Reach::Provider,
    used: |it| disk_with(SCALEWAY_SPACE, scaleway_uuid(it.handle), it),
    deletion: |it| {
        let none = Destruction::Nothing(Cow::Borrowed("its handle is not the id of a volume"));
        let id = scaleway_uuid(it.reference.handle);
        deletes_disk_with(SCALEWAY_SPACE, id, "the Scaleway volume", none)
    },
    destroys: "the volume",
    answers_ok: &[
        "a handle that is not a UUID",
        "a volume that does not exist in the zone of the handle",
    ],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&[], &["scaleway-csi"])
        .without_leader()
        .hidden("Kapsule and Kosmos install it; unknown what is visible there"),
    sources: &[
        "scaleway/scaleway-csi e2edd7a: pkg/driver/helpers.go ExtractIDAndZone, pkg/driver/controller.go DeleteVolume",
    ],
    ..BASE
};

/// The space of volumes.
const SCALEWAY_SPACE: &str = "Scaleway volume";

/// Returns the UUID, after a zone or alone.
fn scaleway_uuid(handle: &str) -> Option<&str> {
    let id = handle.split_once('/').map_or(handle, |(_zone, id)| id);
    is_uuid(id).then_some(id)
}

/// Oracle block volumes.
pub(super) static OCI_BLOCK: Family = Family {
    id: "oci-block",
    title: "Oracle block volumes",
    names: &[Name::Is("blockvolume.csi.oraclecloud.com")],
    identity: "the OCID of the volume",
    reach: Reach::Provider,
    used: |it| disk("Oracle block volume", it),
    deletion: |it| deletes_named(it, "the block volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to its backups"),
    provisioner: Provisioner::csi(&["csi-oci-controller"], &["cloud-provider-oci"])
        .hidden("OKE may run it in the control plane; unknown what is visible then"),
    sources: &["oracle/oci-cloud-controller-manager 1100ac362: pkg/csi/driver/bv_controller.go"],
    ..BASE
};

/// IBM VPC block storage.
pub(super) static IBM_VPC_BLOCK: Family = Family {
    id: "ibm-vpc-block",
    title: "IBM VPC block storage",
    names: &[Name::Is("vpc.block.csi.ibm.io")],
    identity: "the id of the volume",
    reach: Reach::Provider,
    used: |it| disk("IBM VPC volume", it),
    deletion: |it| deletes_named(it, "the VPC volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["ibm-vpc-block-csi-controller"], &["ibm-vpc-block-csi-driver"])
        .without_leader(),
    sources: &[
        "kubernetes-sigs/ibm-vpc-block-csi-driver eb450134: pkg/ibmcsidriver/controller.go, deploy/kubernetes",
    ],
    ..BASE
};

/// Alibaba Cloud disks.
pub(super) static ALIBABA_DISK: Family = Family {
    id: "alibaba-disk",
    title: "Alibaba Cloud disks",
    names: &[Name::Is("diskplugin.csi.alibabacloud.com")],
    identity: "the id d-… of the disk",
    reach: Reach::Provider,
    used: |it| disk("Alibaba disk", it),
    deletion: |deletion| {
        let id = deletion.reference.handle;
        let detaches = match deletion.flag("DISK_DETACH_BEFORE_DELETE") {
            Some("false") => "",
            _ => ", which it first detaches from its node",
        };
        what_it_uses(deletion, format!("the disk {id}{detaches}"))
    },
    destroys: "the disk, which it first detaches from the instance that uses it, unless DISK_DETACH_BEFORE_DELETE is false",
    answers_ok: &["a disk that does not exist"],
    refuses: &["a disk that an elastic container instance uses"],
    snapshots: Snapshots::all(
        Fate::Independent,
        "manual snapshots remain; a setting of the disk decides about automatic ones",
    ),
    provisioner: Provisioner::csi(&["csi-provisioner"], &[])
        .hidden("ACK may run it in the control plane; unknown what is visible then"),
    sources: &[
        "kubernetes-sigs/alibaba-cloud-csi-driver 8aacf9009: pkg/disk/controllerserver.go DeleteVolume",
        "alibabacloud.com/help/en/ecs/api-deletedisk",
    ],
    ..BASE
};

/// Tencent Cloud Block Storage.
pub(super) static TENCENT_CBS: Family = Family {
    id: "tencent-cbs",
    title: "Tencent Cloud Block Storage",
    names: &[Name::Is("com.tencent.cloud.csi.cbs")],
    identity: "the ids disk-… of the disks, separated by commas: one volume may be several disks",
    reach: Reach::Provider,
    used: tencent_used,
    deletion: tencent_deletion,
    destroys: "every disk of the list",
    answers_ok: &["parts of the list that do not begin with disk-"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["csi-cbs-controller"], &["csi-tencentcloud-cbs"]),
    sources: &[
        "TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cbs/controller.go DeleteVolume, deploy/cbs",
    ],
    ..BASE
};

/// The space of disks.
const TENCENT_SPACE: &str = "Tencent disk";

/// Returns the disks of a list; the driver drops fields that are none.
fn disks(handle: &str) -> impl Iterator<Item = &str> {
    handle.split(',').map(str::trim).filter(|part| part.starts_with("disk-"))
}

fn tencent_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if reference.handle == INLINE {
        return Vec::new();
    }
    let places: Vec<_> = disks(reference.handle).map(|id| device(TENCENT_SPACE, id)).collect();
    if places.is_empty() { vec![undecided(TENCENT_SPACE, reference)] } else { places }
}

fn tencent_deletion(deletion: &Deletion<'_>) -> Destruction {
    let ids: Vec<_> = disks(deletion.reference.handle).collect();
    match ids[..] {
        [] => Destruction::Undecided(Cow::Borrowed("its handle contains no disk")),
        [id] => Destruction::of(device(TENCENT_SPACE, id).into_owned(), format!("the disk {id}")),
        _ => Destruction::Storage {
            places: ids.iter().map(|id| device(TENCENT_SPACE, (*id).to_owned())).collect(),
            what: format!("all of the disks {}", ids.join(", ")).into(),
        },
    }
}

/// Outscale BSU.
pub(super) static OUTSCALE: Family = Family {
    id: "outscale",
    title: "Outscale BSU",
    names: &[Name::Is("bsu.csi.outscale.com")],
    identity: "the id vol-…, which is not an id of Amazon",
    reach: Reach::Provider,
    used: |it| disk("Outscale volume", it),
    deletion: |it| deletes_named(it, "the BSU volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["osc-csi-controller"], &["osc-bsu-csi-driver"]),
    sources: &["outscale/osc-bsu-csi-driver a0f01887: pkg/driver/controller.go DeleteVolume"],
    ..BASE
};

/// Exoscale block storage.
pub(super) static EXOSCALE: Family = Family {
    id: "exoscale",
    title: "Exoscale block storage",
    names: &[Name::Is("csi.exoscale.com")],
    identity: "the UUID of the volume, after its zone: ZONE/UUID",
    reach: Reach::Provider,
    used: |it| disk_with(EXOSCALE_SPACE, exoscale_uuid(it.handle), it),
    deletion: |it| {
        let unread = Destruction::Fails(Cow::Borrowed("it cannot read the handle"));
        let id = exoscale_uuid(it.reference.handle);
        deletes_disk_with(EXOSCALE_SPACE, id, "the Exoscale volume", unread)
    },
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a handle that does not parse"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["exoscale-csi-controller"], &[]),
    sources: &[
        "exoscale/exoscale-csi-driver 6206a6f: driver/controller.go DeleteVolume, driver/helpers.go getExoscaleID, \
         deployment/0.29.6/controller.yaml",
    ],
    ..BASE
};

/// The space of volumes.
const EXOSCALE_SPACE: &str = "Exoscale volume";

/// Returns the UUID after its zone.
fn exoscale_uuid(handle: &str) -> Option<&str> {
    let (_zone, id) = handle.split_once('/')?;
    is_uuid(id).then_some(id)
}

/// Huawei EVS.
pub(super) static HUAWEI_EVS: Family = Family {
    id: "huawei-evs",
    title: "Huawei EVS",
    names: &[Name::Is("evs.csi.huaweicloud.com")],
    identity: "the UUID of the volume; the volume that a pod describes itself is a new disk",
    reach: Reach::Provider,
    used: |it| disk("Huawei EVS volume", it),
    deletion: |it| deletes_named(it, "the EVS volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["csi-evs-controller"], &["evs-csi-plugin"]),
    sources: &[
        "huaweicloud/huaweicloud-csi-driver 06c6079: pkg/evs/controllerserver.go DeleteVolume, pkg/evs/nodeserver.go",
    ],
    ..BASE
};

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_number_is_detached_and_deleted() {
        let answer =
            |handle| answer(&Case { driver: "csi.hetzner.cloud", handle, ..Case::default() });
        assert_eq!(answer("17"), "deletes the volume 17, which it first detaches from its server");
        assert_eq!(answer("pvc-17"), "does nothing: its handle is not a number");
        assert!(answer("017").starts_with("undecided"));
    }

    #[test]
    fn only_the_number_counts() {
        const DRIVER: &str = "linodebs.csi.linode.com";
        let one = places(DRIVER, "17-pvc1", &[]);
        for (handle, expected) in
            [("17-other", "equal"), ("18-pvc1", "apart"), ("17", "equal?"), ("pvc-17", "equal?")]
        {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("17-pvc1"), "deletes the Linode volume 17");
        assert!(answer("17").starts_with("undecided"));
    }

    #[test]
    fn the_zone_is_no_part_of_the_name() {
        const DRIVER: &str = "csi.scaleway.com";
        const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
        let one = places(DRIVER, &format!("fr-par-1/{ID}"), &[]);
        for (handle, expected) in [
            (ID, "equal"),
            ("fr-par-1/0a1b2c3d-0000-4000-8000-000000000002", "apart"),
            ("fr-par-1", "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(ID), format!("deletes the Scaleway volume {ID}"));
        assert!(answer("fr-par-1").starts_with("does nothing"));
    }

    #[test]
    fn a_volume_may_be_several_disks() {
        const DRIVER: &str = "com.tencent.cloud.csi.cbs";
        let one = places(DRIVER, "disk-a,disk-b", &[]);
        for (handle, expected) in
            [("disk-b", "equal"), ("disk-b,disk-c", "equal"), ("disk-c", "apart"), ("x", "equal?")]
        {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("disk-a"), "deletes the disk disk-a");
        assert_eq!(answer("disk-a,disk-b"), "deletes all of the disks disk-a, disk-b");
        assert!(answer("x").starts_with("undecided"));
    }

    #[test]
    fn volumes_are_told_apart_by_their_uuid() {
        const DRIVER: &str = "csi.exoscale.com";
        const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
        let one = places(DRIVER, &format!("ch-gva-2/{ID}"), &[]);
        for (handle, expected) in [
            ("ch-gva-2/0A1B2C3D-0000-4000-8000-000000000001", "equal"),
            ("ch-gva-2/0a1b2c3d-0000-4000-8000-000000000002", "apart"),
            (ID, "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let whole = format!("ch-gva-2/{ID}");
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(&whole), format!("deletes the Exoscale volume {ID}"));
        assert!(answer(ID).starts_with("fails"));
    }
}

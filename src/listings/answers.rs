//! The answers of commands that list disks, as a table.
//!
//! Sources are the code of the commands for the fields of their answers.

use super::{
    Attached, Disk,
    providers::{azure_group, provider, region},
    row::{FieldError, GIB, ListedRow, MIB},
    shape::ListingShape,
    value::ListedValue,
};
use crate::model::Text;

/// The answers that are recognised.
pub(super) static SHAPES: [ListingShape; 12] = [
    ListingShape {
        command: "aws ec2 describe-volumes --output json",
        driver: "ebs.csi.aws.com",
        rows: "Volumes",
        telling: &["VolumeId", "State"],
        fields: &["Size", "CreateTime", "Attachments", "AvailabilityZone", "Tags", "VolumeType"],
        read: |row, driver| {
            let state = row.text("State").unwrap_or_default();
            let tags = row.pair_list("Tags", "Key", "Value");
            let zone = row.text("AvailabilityZone").unwrap_or_default();
            Ok(Disk {
                size: row.size("Size", GIB)?,
                created: row.time("CreateTime")?,
                attached: row.attached("Attachments", "InstanceId").unless(state == "available"),
                place: region(zone).unwrap_or_default().into(),
                ..Disk::new(driver, row.needed("VolumeId")?)
            }
            .of_type(row.text("VolumeType"))
            .in_zone(row.text("AvailabilityZone"))
            .tagged(None, tags))
        },
    },
    ListingShape {
        command: "aws efs describe-access-points --output json",
        driver: "efs.csi.aws.com",
        rows: "AccessPoints",
        telling: &["AccessPointId", "FileSystemId"],
        fields: &["Tags", "OwnerId"],
        read: |row, driver| {
            let file_system = row.needed("FileSystemId")?;
            let handle = format!("{file_system}::{}", row.needed("AccessPointId")?);
            let tags = row.pair_list("Tags", "Key", "Value");
            // What mounts an access point is no attachment that a listing has.
            let place = file_system.into();
            Ok(Disk { attached: Attached::No, place, ..Disk::new(driver, handle) }
                .tagged(None, tags))
        },
    },
    ListingShape {
        command: "gcloud compute disks list --format json",
        driver: "pd.csi.storage.gke.io",
        rows: "",
        telling: &["selfLink", "sizeGb"],
        fields: &[
            "creationTimestamp",
            "lastDetachTimestamp",
            "users",
            "labels",
            "description",
            "status",
            "type",
            "zone",
            "name",
        ],
        read: |row, driver| {
            let link = row.needed("selfLink")?;
            let handle = link.split_once("/compute/v1/").map(|it| it.1);
            let handle = handle.ok_or(FieldError::missing("selfLink after /compute/v1/"))?;
            let mut tags = row.pairs("labels");
            let described = row.text("description").unwrap_or_default();
            if let Ok(ListedValue::Object(described)) = serde_json::from_str(described) {
                tags.extend(ListedRow(&described).all());
            }
            Ok(Disk {
                size: row.size("sizeGb", GIB)?,
                created: row.time("creationTimestamp")?,
                detached: row.time("lastDetachTimestamp")?,
                // Whoever leaves fields out may have left out who uses it.
                attached: match row.text("status") {
                    None => Attached::Unknown,
                    Some(status) => row.attached("users", "").unless(status == "READY"),
                },
                place: (provider(driver).place_of)(handle, &[]).unwrap_or_default().into(),
                ..Disk::new(driver, handle)
            }
            .of_type(row.text("type"))
            .in_zone(row.text("zone").and_then(|it| it.rsplit('/').next()))
            .tagged(row.text("name"), tags))
        },
    },
    ListingShape {
        command: "az disk list -o json",
        driver: "disk.csi.azure.com",
        rows: "",
        telling: &["id", "diskState"],
        fields: AZURE_FIELDS,
        read: azure,
    },
    ListingShape {
        command: "the REST API of Azure",
        driver: "disk.csi.azure.com",
        rows: "value",
        telling: &["id", "properties"],
        fields: AZURE_FIELDS,
        read: azure,
    },
    ListingShape {
        command: "openstack volume list --long -f json",
        driver: "cinder.csi.openstack.org",
        rows: "",
        telling: &["ID", "Status", "Attached to"],
        fields: &["Name", "Size", "Properties", "Type"],
        read: |row, driver| {
            let status = row.text("Status").unwrap_or_default();
            Ok(Disk {
                size: row.size("Size", GIB)?,
                attached: row.attached("Attached to", "server_id").unless(status == "available"),
                ..Disk::new(driver, row.needed("ID")?)
            }
            .of_type(row.text("Type"))
            .tagged(row.text("Name"), row.pairs_or_text("Properties")))
        },
    },
    ListingShape {
        command: "govc volume.ls -json",
        driver: "csi.vsphere.vmware.com",
        rows: "volume",
        telling: &["volumeId", "metadata"],
        fields: &["backingObjectDetails", "name", "datastoreUrl"],
        read: |row, driver| {
            let mut tags = Vec::new();
            for entity in row.entries("metadata.entityMetadata") {
                let text = |key: &str| entity.get(key)?.as_text();
                let (kind, name) = (text("entityType"), text("entityName"));
                let mut tag = |key: &str, value: Option<&str>| {
                    tags.extend(value.map(|it| (Text::from(key), Text::from(it))));
                };
                match kind {
                    Some("PERSISTENT_VOLUME") => tag("cns.k8s.pv.name", name),
                    Some("PERSISTENT_VOLUME_CLAIM") => {
                        tag("cns.k8s.pvc.name", name);
                        tag("cns.k8s.pvc.namespace", text("namespace"));
                    }
                    _ => {}
                }
            }
            let clusters = row.entries("metadata.containerClusterArray").iter();
            let ids = clusters.filter_map(|it| it.get("clusterId")?.as_text());
            tags.extend(ids.map(|it| (format!("cluster:{it}").into(), Text::default())));
            Ok(Disk {
                size: row.size("backingObjectDetails.capacityInMb", MIB)?,
                place: row.text("datastoreUrl").unwrap_or_default().into(),
                ..Disk::new(driver, row.needed("volumeId.id")?)
            }
            .tagged(row.text("name"), tags))
        },
    },
    ListingShape {
        command: "govc disk.ls -json",
        driver: "csi.vsphere.vmware.com",
        rows: "objects",
        telling: &["config"],
        fields: &[],
        read: |row, driver| {
            Ok(Disk {
                size: row.size("config.capacityInMB", MIB)?,
                created: row.time("config.createTime")?,
                // What has it is told by an id that no node shows.
                attached: match row.attached("config.consumerId", "id") {
                    Attached::To(_) => Attached::Held("in use".into()),
                    attached => attached,
                },
                ..Disk::new(driver, row.needed("config.id.id")?)
            }
            .tagged(row.text("config.name"), row.pair_list("config.metadata", "key", "value")))
        },
    },
    ListingShape {
        command: "doctl compute volume list -o json",
        driver: "dobs.csi.digitalocean.com",
        rows: "",
        telling: &["id", "size_gigabytes", "droplet_ids"],
        fields: &["name", "created_at", "tags", "description", "region"],
        read: |row, driver| {
            let described = row.text("description").into_iter();
            let tags = row.list("tags").chain(described).map(|it| (it.into(), "yes".into()));
            Ok(Disk {
                size: row.size("size_gigabytes", GIB)?,
                created: row.time("created_at")?,
                attached: row.attached("droplet_ids", ""),
                place: row.text("region.slug").unwrap_or_default().into(),
                ..Disk::new(driver, row.needed("id")?)
            }
            .in_zone(row.text("region.slug"))
            .tagged(row.text("name"), tags.collect()))
        },
    },
    ListingShape {
        command: "hcloud volume list -o json",
        driver: "csi.hetzner.cloud",
        rows: "",
        telling: &["id", "linux_device", "server"],
        fields: &["name", "size", "created", "labels", "location"],
        read: |row, driver| {
            Ok(Disk {
                size: row.size("size", GIB)?,
                created: row.time("created")?,
                attached: row.attached("server", ""),
                ..Disk::new(driver, row.needed("id")?)
            }
            .in_zone(row.text("location.name"))
            .tagged(row.text("name"), row.pairs("labels")))
        },
    },
    ListingShape {
        command: "linode-cli volumes list --json",
        driver: "linodebs.csi.linode.com",
        rows: "",
        telling: &["id", "label", "linode_id"],
        fields: &["size", "created", "tags", "region"],
        read: |row, driver| {
            let handle = format!("{}-{}", row.needed("id")?, row.needed("label")?);
            let tags = row.list("tags").map(|it| (it.into(), "yes".into()));
            Ok(Disk {
                size: row.size("size", GIB)?,
                created: row.time_of_utc("created")?,
                attached: row.attached("linode_id", ""),
                ..Disk::new(driver, handle)
            }
            .in_zone(row.text("region"))
            .tagged(row.text("label"), tags.collect()))
        },
    },
    ListingShape {
        command: "scw block volume list zone=all -o json",
        driver: "csi.scaleway.com",
        rows: "",
        telling: &["id", "zone", "references"],
        fields: &["name", "size", "created_at", "last_detached_at", "status"],
        read: |row, driver| {
            let zone = row.needed("zone")?;
            Ok(Disk {
                size: row.size("size", 1)?,
                created: row.time("created_at")?,
                detached: row.time("last_detached_at")?,
                attached: row
                    .attached("references", "product_resource_id")
                    .unless(row.text("status") == Some("available")),
                place: (&*zone).into(),
                ..Disk::new(driver, format!("{zone}/{}", row.needed("id")?))
            }
            .in_zone(Some(&zone))
            .tagged(row.text("name"), Vec::new()))
        },
    },
];

const AZURE_FIELDS: &[&str] = &[
    "name",
    "diskSizeGB",
    "diskSizeGb",
    "timeCreated",
    "LastOwnershipUpdateTime",
    "lastOwnershipUpdateTime",
    "managedBy",
    "managedByExtended",
    "diskState",
    "location",
    "zones",
    "properties",
    "sku",
    "tags",
];

fn azure(row: ListedRow<'_>, driver: &str) -> Result<Disk, FieldError> {
    let handle = row.needed("id")?;
    let inner = match row.at("properties") {
        Some(ListedValue::Object(fields)) => ListedRow(fields),
        _ => row,
    };
    let size = match inner.size("diskSizeGB", GIB)? {
        None => inner.size("diskSizeGb", GIB)?,
        size => size,
    };
    let detached = match inner.time("LastOwnershipUpdateTime")? {
        None => inner.time("lastOwnershipUpdateTime")?,
        time => time,
    };
    let state = inner.text("diskState").unwrap_or_default();
    let machines = ["managedBy", "managedByExtended"].map(|it| row.attached(it, ""));
    let attached = machines.into_iter().find(|it| *it != Attached::No).unwrap_or(Attached::No);
    let mut zones = row.list("zones");
    let zone = match (row.text("location"), zones.next(), zones.next()) {
        (Some(location), Some(zone), None) => Some(format!("{location}-{zone}")),
        _ => None,
    };
    Ok(Disk {
        size,
        created: inner.time("timeCreated")?,
        detached,
        // Reserved: attached to a machine that is stopped.
        attached: attached.or_state(state, state == "Unattached"),
        place: azure_group(&handle).unwrap_or_default().into(),
        ..Disk::new(driver, handle)
    }
    .of_type(row.text("sku.name"))
    .in_zone(zone.as_deref())
    .tagged(row.text("name"), row.pairs("tags")))
}

//! The providers, and the commands whose answers are read, as tables.
//!
//! Sources are the drivers' own code for tags and names, and the code of the commands for the fields of their answers.

use serde_json::Value;

use super::{
    Attached, Disk,
    row::{FieldError, GIB, ListedRow, MIB},
    shape::{ClusterTag, ListingShape, Lists, Provider},
};
use crate::drivers::{family, is_unknown};
use crate::model::Text;

/// Returns what is known of the disks of a driver, by its name or its family; of another one only that a name may hold the
/// uid of a claim.
pub(crate) fn provider(driver: &str) -> &'static Provider {
    let named = PROVIDERS.iter().find(|it| it.driver == driver);
    let of_family = || {
        let family = family(driver);
        let is_it = |it: &&Provider| self::family(it.driver).id == family.id;
        PROVIDERS.iter().find(is_it).filter(|_| !is_unknown(family))
    };
    named.or_else(of_family).unwrap_or(&UNKNOWN)
}

/// Everything that a volume of an unknown driver does not tell.
const BASE: Provider = Provider {
    driver: "",
    marks: &[],
    claim: None,
    volume: &[],
    clusters: &[],
    region_of: |place| place.split('/').next().unwrap_or_default(),
    names_account: false,
    page: 0,
    place_of: |_, _| Some(String::new()),
    place_of_node: |_, _| Some(String::new()),
    commands: ["", "", ""],
    lists: Lists { command: "", tells: "" },
    identity_flag: "",
};

static UNKNOWN: Provider = BASE;

const CREATED_FOR: [&str; 2] =
    ["kubernetes.io/created-for/pvc/namespace", "kubernetes.io/created-for/pvc/name"];

static PROVIDERS: [Provider; 11] = [
    Provider {
        driver: "ebs.csi.aws.com",
        // The tag Name is the user's.
        marks: &["ebs.csi.aws.com/cluster", "CSIVolumeName"],
        claim: Some(CREATED_FOR),
        volume: &["CSIVolumeName", "kubernetes.io/created-for/pv/name"],
        clusters: &[
            ClusterTag::Value("ebs.csi.aws.com/cluster-name"),
            ClusterTag::Owned("kubernetes.io/cluster/"),
            ClusterTag::Value("eks:eks-cluster-name"),
        ],
        place_of: |_, zones| zones.iter().find_map(|it| region(it)),
        place_of_node: |id, zone| {
            let of_id = id.strip_prefix("aws:///").and_then(|it| region(it.split('/').next()?));
            of_id.or_else(|| region(zone))
        },
        commands: [
            "aws ec2 describe-volumes --region PLACE --volume-ids HANDLE",
            "aws ec2 create-snapshot --region PLACE --volume-id HANDLE",
            "aws ec2 delete-volume --region PLACE --volume-id HANDLE",
        ],
        lists: Lists {
            command: "aws ec2 describe-volumes --region PLACE --output json",
            tells: "size, creation and attachment; not when a volume was detached",
        },
        identity_flag: "--k8s-tag-cluster-id",
        ..BASE
    },
    Provider {
        driver: "efs.csi.aws.com",
        marks: &["efs.csi.aws.com/cluster"],
        // A listing has the access points of some file systems, and no volume without one.
        place_of: |handle, _| file_system_of_access_point(handle).map(str::to_owned),
        commands: [
            "aws efs describe-access-points --access-point-id AFTER",
            "",
            "aws efs delete-access-point --access-point-id AFTER",
        ],
        lists: Lists {
            command: "aws efs describe-access-points --output json",
            tells: "access points; neither their size nor creation, so that none is more than medium",
        },
        ..BASE
    },
    Provider {
        driver: "pd.csi.storage.gke.io",
        marks: &["storage.gke.io/created-by", "goog-gke-volume"],
        claim: Some(CREATED_FOR),
        volume: &["kubernetes.io/created-for/pv/name"],
        clusters: &[
            ClusterTag::Value("cluster-id-gke-io"),
            // Not goog-k8s-cluster-name: clusters of several regions have one name.
            ClusterTag::Value("goog-gke-cluster-id-base32"),
            ClusterTag::Owned("kubernetes-io-cluster-"),
        ],
        // A zone is its region with a letter.
        region_of: |place| match place.rsplit_once('-') {
            Some((region, zone)) if zone.len() == 1 => region,
            _ => place,
        },
        names_account: true,
        place_of: |handle, _| match handle.split('/').collect::<Vec<_>>()[..] {
            ["projects", project, "zones" | "regions", location, "disks", _]
                if project != "UNSPECIFIED" && location != "UNSPECIFIED" =>
            {
                Some(format!("{project}/{location}"))
            }
            _ => None,
        },
        place_of_node: |id, _| match id.strip_prefix("gce://")?.split('/').collect::<Vec<_>>()[..] {
            [project, zone, _] => Some(format!("{project}/{zone}")),
            _ => None,
        },
        commands: [
            "gcloud compute disks describe https://www.googleapis.com/compute/v1/HANDLE",
            "gcloud compute disks snapshot https://www.googleapis.com/compute/v1/HANDLE",
            "gcloud compute disks delete https://www.googleapis.com/compute/v1/HANDLE",
        ],
        lists: Lists {
            command: "gcloud compute disks list --project PLACE --format json",
            tells: "size, creation, attachment, and when a disk was last detached",
        },
        identity_flag: "--cluster-ownership-id",
        ..BASE
    },
    Provider {
        driver: "disk.csi.azure.com",
        // Others have a tag `created-by`, too.
        marks: &[
            "k8s-azure-created-by",
            "created-by=kubernetes-azure-dd",
            "kubernetes.io-created-for-pv-name",
        ],
        claim: Some([
            "kubernetes.io-created-for-pvc-namespace",
            "kubernetes.io-created-for-pvc-name",
        ]),
        volume: &["kubernetes.io-created-for-pv-name"],
        names_account: true,
        place_of: |handle, _| azure_group(handle),
        place_of_node: |id, _| azure_group(id.strip_prefix("azure://")?),
        commands: [
            "az disk show --ids HANDLE",
            "az snapshot create --resource-group PART --name AFTER-copy --source HANDLE",
            "az disk delete --ids HANDLE",
        ],
        lists: Lists {
            command: "az disk list --subscription PLACE -o json",
            tells: "size, creation, attachment, and when the owner of a disk last changed",
        },
        ..BASE
    },
    Provider {
        driver: "cinder.csi.openstack.org",
        marks: &["cinder.csi.openstack.org/cluster", "csi.storage.k8s.io/pv/name"],
        claim: Some(["csi.storage.k8s.io/pvc/namespace", "csi.storage.k8s.io/pvc/name"]),
        volume: &["csi.storage.k8s.io/pv/name"],
        clusters: &[ClusterTag::Value("cinder.csi.openstack.org/cluster")],
        commands: [
            "openstack volume show HANDLE",
            "openstack volume snapshot create --volume HANDLE HANDLE-copy",
            "openstack volume delete HANDLE",
        ],
        lists: Lists {
            command: "openstack volume list --long -f json",
            tells: "size and attachment; not creation, so that none is more than medium",
        },
        identity_flag: "--cluster",
        ..BASE
    },
    Provider {
        driver: "csi.vsphere.vmware.com",
        marks: &["cns.k8s.pv.name", "cns.k8s.pvc.name"],
        claim: Some(["cns.k8s.pvc.namespace", "cns.k8s.pvc.name"]),
        volume: &["cns.k8s.pv.name"],
        clusters: &[ClusterTag::Key("cluster:")],
        place_of: |_, _| None,
        commands: [
            "govc disk.ls -l HANDLE",
            "govc disk.snapshot.create HANDLE copy",
            "govc disk.rm HANDLE",
        ],
        lists: Lists {
            command: "govc disk.ls -json -ds DATASTORE",
            tells: "size, creation and attachment, of one datastore",
        },
        ..BASE
    },
    Provider {
        driver: "dobs.csi.digitalocean.com",
        marks: &["Created by DigitalOcean CSI driver"],
        clusters: &[ClusterTag::Key("k8s:")],
        place_of: |_, zones| zones.first().map(ToString::to_string),
        place_of_node: |_, zone| (!zone.is_empty()).then(|| zone.to_owned()),
        commands: [
            "doctl compute volume get HANDLE",
            "doctl compute volume snapshot HANDLE --snapshot-name copy",
            "doctl compute volume delete HANDLE",
        ],
        lists: Lists {
            command: "doctl compute volume list -o json",
            tells: "size, creation and attachment; no driver writes the claim on it",
        },
        identity_flag: "--do-tag",
        ..BASE
    },
    Provider {
        driver: "csi.hetzner.cloud",
        marks: &["pv-name", "pvc-name"],
        claim: Some(["pvc-namespace", "pvc-name"]),
        volume: &["pv-name"],
        commands: ["hcloud volume describe HANDLE", "", "hcloud volume delete HANDLE"],
        lists: Lists {
            command: "hcloud volume list -o json",
            tells: "size, creation and attachment, of one project",
        },
        ..BASE
    },
    Provider {
        driver: "linodebs.csi.linode.com",
        page: 100,
        commands: [
            "linode-cli volumes view BEFORE",
            "linode-cli volumes clone BEFORE --label copy",
            "linode-cli volumes delete BEFORE",
        ],
        lists: Lists {
            command: "linode-cli volumes list --json --all-rows --all-columns",
            tells: "size, creation and attachment; nothing tells the cluster",
        },
        ..BASE
    },
    Provider {
        driver: "csi.scaleway.com",
        place_of: |handle, zones| {
            let of_handle = handle.split_once('/').map(|it| it.0);
            of_handle.or_else(|| zones.first().copied()).map(str::to_owned)
        },
        place_of_node: |_, zone| (!zone.is_empty()).then(|| zone.to_owned()),
        commands: [
            "scw block volume get AFTER zone=PLACE",
            "scw block snapshot create volume-id=AFTER zone=PLACE",
            "scw block volume delete AFTER zone=PLACE",
        ],
        lists: Lists {
            command: "scw block volume list zone=all -o json",
            tells: "size, creation, attachment, and when a volume was last detached",
        },
        ..BASE
    },
    Provider {
        driver: "rbd.csi.ceph.com",
        marks: &["csi-vol"],
        place_of: |_, _| None,
        place_of_node: |_, _| None,
        commands: [
            "rbd info WHOLE/HANDLE",
            "rbd snap create WHOLE/HANDLE@copy",
            "rbd trash mv WHOLE/HANDLE",
        ],
        lists: Lists {
            command: "rbd ls -l --format json POOL",
            tells: "size; neither creation nor who has it open, and `rbd status` tells that",
        },
        ..BASE
    },
];

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
            "name",
        ],
        read: |row, driver| {
            let link = row.needed("selfLink")?;
            let handle = link.split_once("/compute/v1/").map(|it| it.1);
            let handle = handle.ok_or(FieldError::missing("selfLink after /compute/v1/"))?;
            let mut tags = row.pairs("labels");
            let described = row.text("description").unwrap_or_default();
            if let Ok(Value::Object(described)) = serde_json::from_str(described) {
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
            let entities = row.at("metadata.entityMetadata").and_then(Value::as_array);
            let mut tags = Vec::new();
            for entity in entities.into_iter().flatten() {
                let text = |key: &str| entity.get(key).and_then(Value::as_str);
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
            let clusters = row.at("metadata.containerClusterArray").and_then(Value::as_array);
            let ids = clusters.into_iter().flatten().filter_map(|it| it.get("clusterId")?.as_str());
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
            .tagged(row.text("name"), tags.collect()))
        },
    },
    ListingShape {
        command: "hcloud volume list -o json",
        driver: "csi.hetzner.cloud",
        rows: "",
        telling: &["id", "linux_device", "server"],
        fields: &["name", "size", "created", "labels"],
        read: |row, driver| {
            Ok(Disk {
                size: row.size("size", GIB)?,
                created: row.time("created")?,
                attached: row.attached("server", ""),
                ..Disk::new(driver, row.needed("id")?)
            }
            .tagged(row.text("name"), row.pairs("labels")))
        },
    },
    ListingShape {
        command: "linode-cli volumes list --json",
        driver: "linodebs.csi.linode.com",
        rows: "",
        telling: &["id", "label", "linode_id"],
        fields: &["size", "created", "tags"],
        read: |row, driver| {
            let handle = format!("{}-{}", row.needed("id")?, row.needed("label")?);
            let tags = row.list("tags").map(|it| (it.into(), "yes".into()));
            Ok(Disk {
                size: row.size("size", GIB)?,
                created: row.time_of_utc("created")?,
                attached: row.attached("linode_id", ""),
                ..Disk::new(driver, handle)
            }
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
                place: zone.as_str().into(),
                ..Disk::new(driver, format!("{zone}/{}", row.needed("id")?))
            }
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
    "properties",
    "sku",
    "tags",
];

fn azure(row: ListedRow<'_>, driver: &str) -> Result<Disk, FieldError> {
    let handle = row.needed("id")?;
    let inner = row.at("properties").and_then(Value::as_object).map_or(row, ListedRow);
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
    .tagged(row.text("name"), row.pairs("tags")))
}

/// Returns the file system of a handle of EFS with an access point.
fn file_system_of_access_point(handle: &str) -> Option<&str> {
    let handle = handle.strip_prefix("efs:").unwrap_or(handle);
    match handle.split(':').collect::<Vec<_>>()[..] {
        [file_system, _, point] if !point.is_empty() => Some(file_system),
        _ => None,
    }
}

/// Returns subscription and resource group of an id of Azure, in lower case.
fn azure_group(id: &str) -> Option<String> {
    let id = id.to_ascii_lowercase();
    match id.trim_matches('/').split('/').collect::<Vec<_>>()[..] {
        ["subscriptions", subscription, "resourcegroups", group, ..] => {
            Some(format!("{subscription}/{group}"))
        }
        _ => None,
    }
}

/// Returns the region of a zone or region of AWS, also of a local zone: `us-west-2` of `us-west-2-lax-1a`.
fn region(zone: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in zone.split('-') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        if !digits.is_empty() {
            return (parts.len() >= 2).then(|| format!("{}-{digits}", parts.join("-")));
        }
        parts.push(part);
    }
    None
}

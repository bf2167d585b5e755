//! The providers as a table.
//!
//! Sources are the drivers' own code for tags, names, labels of nodes and attributes of volumes.

use super::shape::{ClusterTag, Lists, Provider, VolumeNeeds};
use crate::drivers::{family, is_unknown};

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

/// Whether two drivers are one, or two names for the disks of one provider.
pub(crate) fn is_one_provider(one: &str, other: &str) -> bool {
    let known = provider(one).driver;
    one == other || (!known.is_empty() && known == provider(other).driver)
}

/// Everything that a volume of an unknown driver does not tell.
const BASE: Provider = Provider {
    driver: "",
    marks: &[],
    claim: None,
    volume_tags: &[],
    clusters: &[],
    region_of: |place| place.split('/').next().unwrap_or_default(),
    names_account: false,
    tells_machines: true,
    strips_hyphens: false,
    page: 0,
    place_of: |_, _| Some(String::new()),
    place_of_node: |_, _| Some(String::new()),
    commands: ["", "", ""],
    lists: Lists { command: "", tells: "" },
    identity_flag: "",
    volume: VolumeNeeds { attributes: &[], lacks: "", zone_label: "" },
};

static UNKNOWN: Provider = Provider {
    volume: VolumeNeeds { lacks: "attributes that are not known of this driver", ..BASE.volume },
    ..BASE
};

const CREATED_FOR: [&str; 2] =
    ["kubernetes.io/created-for/pvc/namespace", "kubernetes.io/created-for/pvc/name"];

static PROVIDERS: [Provider; 11] = [
    Provider {
        driver: "ebs.csi.aws.com",
        // The tag Name is the user's.
        marks: &["ebs.csi.aws.com/cluster", "CSIVolumeName"],
        claim: Some(CREATED_FOR),
        volume_tags: &["CSIVolumeName", "kubernetes.io/created-for/pv/name"],
        clusters: &[
            ClusterTag::Value("ebs.csi.aws.com/cluster-name"),
            ClusterTag::Owned("kubernetes.io/cluster/"),
            ClusterTag::Value("eks:eks-cluster-name"),
        ],
        place_of: |_, zones| zones.iter().find_map(|it| region(it)).map(str::to_owned),
        place_of_node: |id, zone| {
            let of_id = id.strip_prefix("aws:///").and_then(|it| region(it.split('/').next()?));
            of_id.or_else(|| region(zone)).map(str::to_owned)
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
        volume: VolumeNeeds { zone_label: "topology.ebs.csi.aws.com/zone", ..BASE.volume },
        ..BASE
    },
    Provider {
        driver: "efs.csi.aws.com",
        marks: &["efs.csi.aws.com/cluster"],
        tells_machines: false,
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
        volume_tags: &["kubernetes.io/created-for/pv/name"],
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
        volume: VolumeNeeds { zone_label: "topology.gke.io/zone", ..BASE.volume },
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
        volume_tags: &["kubernetes.io-created-for-pv-name"],
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
        volume: VolumeNeeds { zone_label: "topology.disk.csi.azure.com/zone", ..BASE.volume },
        ..BASE
    },
    Provider {
        driver: "cinder.csi.openstack.org",
        marks: &["cinder.csi.openstack.org/cluster", "csi.storage.k8s.io/pv/name"],
        claim: Some(["csi.storage.k8s.io/pvc/namespace", "csi.storage.k8s.io/pvc/name"]),
        volume_tags: &["csi.storage.k8s.io/pv/name"],
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
        volume_tags: &["cns.k8s.pv.name"],
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
        volume: VolumeNeeds { attributes: &[("type", "vSphere CNS Block Volume")], ..BASE.volume },
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
        volume: VolumeNeeds {
            // Nothing formats a disk that has data.
            attributes: &[("com.digitalocean.csi/noformat", "true")],
            zone_label: "region",
            ..BASE.volume
        },
        ..BASE
    },
    Provider {
        driver: "csi.hetzner.cloud",
        marks: &["pv-name", "pvc-name"],
        claim: Some(["pvc-namespace", "pvc-name"]),
        volume_tags: &["pv-name"],
        commands: ["hcloud volume describe HANDLE", "", "hcloud volume delete HANDLE"],
        lists: Lists {
            command: "hcloud volume list -o json",
            tells: "size, creation and attachment, of one project",
        },
        volume: VolumeNeeds { zone_label: "csi.hetzner.cloud/location", ..BASE.volume },
        ..BASE
    },
    Provider {
        driver: "linodebs.csi.linode.com",
        // Of `pvc-` and 16 digits: its manifest has --volume-name-uuid-length.
        strips_hyphens: true,
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
        volume: VolumeNeeds { zone_label: "topology.linode.com/region", ..BASE.volume },
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
        volume: VolumeNeeds { zone_label: "topology.csi.scaleway.com/zone", ..BASE.volume },
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
        volume: VolumeNeeds {
            lacks: "clusterID, pool and the Secrets of its StorageClass",
            ..BASE.volume
        },
        ..BASE
    },
];

/// Returns the file system of a handle of EFS with an access point.
fn file_system_of_access_point(handle: &str) -> Option<&str> {
    let handle = handle.strip_prefix("efs:").unwrap_or(handle);
    match handle.split(':').collect::<Vec<_>>()[..] {
        [file_system, _, point] if !point.is_empty() => Some(file_system),
        _ => None,
    }
}

/// Returns subscription and resource group of an id of Azure, in lower case.
pub(super) fn azure_group(id: &str) -> Option<String> {
    let id = id.to_ascii_lowercase();
    match id.trim_matches('/').split('/').collect::<Vec<_>>()[..] {
        ["subscriptions", subscription, "resourcegroups", group, ..] => {
            Some(format!("{subscription}/{group}"))
        }
        _ => None,
    }
}

/// Returns the region of a zone or region of AWS, also of a local zone: `us-west-2` of `us-west-2-lax-1a`.
pub(super) fn region(zone: &str) -> Option<&str> {
    let mut before = 0;
    for (number, part) in zone.split('-').enumerate() {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            return (number >= 2).then(|| &zone[..before + digits]);
        }
        before += part.len() + 1;
    }
    None
}

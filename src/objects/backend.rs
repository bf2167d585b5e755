//! The backend volume that a PersistentVolume references, as a `BackendKey`
//! (semantics#backend-volume).

use std::fmt::Write;

use super::volume_source::{AzureFile, Fc, PersistentVolumeSpec};
use super::volume_source::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use super::{Folder, ManagedMeta};
use crate::model::{BackendKey, migrated_driver};

/// The labels and node requirements with a zone, in order of precedence: csi-translation-lib
/// prefers the older label.
const ZONE_KEYS: [&str; 3] = [
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/zone",
    "topology.gke.io/zone",
];

/// Returns the backend volume that a PersistentVolume references; `None` if its source is
/// incomplete, or of a type of which two volumes cannot be compared.
///
/// - CSI: driver and volume handle.
/// - In-tree disks: as csi-translation-lib 0.36 translates them. A GCE disk without a zone in
///   labels or node affinity has the zone `UNSPECIFIED`: its name may be used in every zone.
/// - `azureFile` is compared only with `azureFile`: the CSI handle begins with a resource group,
///   which the in-tree source does not have, and ends with the name of the PersistentVolume.
/// - `hostPath` and `local`: path and node affinity, since the same path on two nodes is not the
///   same folder. Without an affinity, all volumes with the same path count as one.
/// - `nfs`, `iscsi`, `fc`: the addresses, with the name of the source as driver.
pub(super) fn key(
    metadata: &ManagedMeta,
    spec: &PersistentVolumeSpec,
    folder: &mut Folder,
) -> Option<BackendKey> {
    let source = &spec.source;
    let affinity = spec.node_affinity.required.as_ref();
    let migrated = |in_tree| migrated_driver(in_tree).unwrap_or(in_tree);
    let (driver, handle) = if let Some(csi) = &source.csi {
        (csi.driver.as_str(), csi.volume_handle.clone())
    } else if let Some(aws) = &source.aws_elastic_block_store {
        (migrated("kubernetes.io/aws-ebs"), ebs_volume(&aws.volume_id).to_owned())
    } else if let Some(gce) = &source.gce_persistent_disk {
        // Without a zone it may be the disk of this name in any.
        let place = gce_place(metadata, affinity).unwrap_or_else(|| "zones/UNSPECIFIED".to_owned());
        let handle = match gce.pd_name.as_str() {
            "" => String::new(),
            disk => format!("projects/UNSPECIFIED/{place}/disks/{disk}"),
        };
        (migrated("kubernetes.io/gce-pd"), handle)
    } else if let Some(azure) = &source.azure_disk {
        (migrated("kubernetes.io/azure-disk"), azure.disk_uri.clone())
    } else if let Some(azure) = &source.azure_file {
        ("azureFile", azure_share(azure, spec))
    } else if let Some(cinder) = &source.cinder {
        (migrated("kubernetes.io/cinder"), cinder.volume_id.clone())
    } else if let Some(vsphere) = &source.vsphere_volume {
        (migrated("kubernetes.io/vsphere-volume"), vsphere.volume_path.clone())
    } else if let Some(portworx) = &source.portworx_volume {
        (migrated("kubernetes.io/portworx-volume"), portworx.volume_id.clone())
    } else if let Some(host) = &source.host_path {
        ("hostPath", path_on_nodes(&host.path, affinity))
    } else if let Some(local) = &source.local {
        ("local", path_on_nodes(&local.path, affinity))
    } else if let Some(nfs) = &source.nfs {
        let handle = match (nfs.server.as_str(), nfs.path.as_str()) {
            ("", _) | (_, "") => String::new(),
            (server, path) => format!("{server}:{}", clean(path)),
        };
        ("nfs", handle)
    } else if let Some(iscsi) = &source.iscsi {
        let handle = match (iscsi.target_portal.as_str(), iscsi.iqn.as_str()) {
            ("", _) | (_, "") => String::new(),
            (portal, iqn) => format!("{portal},{iqn},{}", iscsi.lun),
        };
        ("iscsi", handle)
    } else if let Some(fc) = &source.fc {
        ("fc", fibre_channel(fc))
    } else if let Some(rbd) = &source.rbd {
        let pool = if rbd.pool.is_empty() { "rbd" } else { &rbd.pool };
        let handle = match rbd.image.as_str() {
            "" => String::new(),
            image => format!("{} {pool}/{image}", rbd.monitors.join(",")),
        };
        ("rbd", handle)
    } else if let Some(cephfs) = &source.cephfs {
        ("cephfs", format!("{}:/{}", cephfs.monitors.join(","), cephfs.path.trim_matches('/')))
    } else if let Some(gluster) = &source.glusterfs {
        ("glusterfs", format!("{}:/{}", gluster.endpoints, gluster.path.trim_matches('/')))
    } else if let Some(flex) = &source.flex_volume {
        // Its options, which say what it names, may hold what nobody should read.
        ("flexVolume", flex.driver.clone())
    } else {
        return None;
    };
    // Two volumes without a handle do not reference the same backend volume.
    (!driver.is_empty() && !handle.is_empty())
        .then(|| BackendKey { driver: folder.text(driver), handle: handle.into() })
}

/// Returns the id in `aws://zone/vol-1`; other ids are returned unchanged.
fn ebs_volume(id: &str) -> &str {
    let Some(rest) = id.strip_prefix("aws://") else { return id };
    match rest.split_once('/').map(|(_, path)| path.trim_matches('/')) {
        Some(volume) if volume.starts_with("vol-") && !volume.contains('/') => volume,
        _ => id,
    }
}

/// Returns `zones/Z` or, for a disk in several zones, `regions/R`.
fn gce_place(metadata: &ManagedMeta, affinity: Option<&NodeSelector>) -> Option<String> {
    let label =
        ZONE_KEYS.iter().find_map(|key| metadata.labels.get(key).filter(|zone| !zone.is_empty()));
    let zones = match label {
        Some(label) => label.split("__").collect(),
        None => zones_of(affinity?)?,
    };
    if let [zone] = zones[..] {
        return Some(format!("zones/{zone}"));
    }
    let mut regions = zones.iter().map(|zone| match zone.split('-').collect::<Vec<_>>()[..] {
        [continent, place, _] => Some(format!("{continent}-{place}")),
        _ => None,
    });
    let region = regions.next()??;
    regions.all(|other| other.as_ref() == Some(&region)).then(|| format!("regions/{region}"))
}

/// Returns the zones in which a volume can be reached, if every term of its affinity has zones.
fn zones_of(affinity: &NodeSelector) -> Option<Vec<&str>> {
    let mut zones = Vec::new();
    for term in &affinity.node_selector_terms {
        let names_zone = |requirement: &&NodeSelectorRequirement| {
            requirement.operator == "In" && ZONE_KEYS.contains(&requirement.key.as_str())
        };
        // A term without a zone allows every zone.
        let requirement = term.match_expressions.iter().find(names_zone)?;
        zones.extend(requirement.values.iter().map(String::as_str));
    }
    zones.sort_unstable();
    zones.dedup();
    (!zones.is_empty() && zones.iter().all(|zone| !zone.is_empty())).then_some(zones)
}

/// Returns the share with its storage account, which is part of the name of the `Secret`, or else
/// with the `Secret`.
fn azure_share(azure: &AzureFile, spec: &PersistentVolumeSpec) -> String {
    let secret = azure.secret_name.as_str();
    if secret.is_empty() || azure.share_name.is_empty() {
        return String::new();
    }
    let account = secret
        .strip_prefix("azure-storage-account-")
        .and_then(|rest| rest.strip_suffix("-secret"))
        .filter(|account| !account.is_empty());
    let share = &azure.share_name;
    if let Some(account) = account {
        return format!("{account}#{share}");
    }
    let of_claim = || spec.claim_ref.as_ref().map(|claim| claim.namespace.as_str());
    let namespace = azure.secret_namespace.as_deref().or_else(of_claim).unwrap_or_default();
    format!("secret {namespace}/{secret}#{share}")
}

/// Returns a path on the node of a pod; `?` stands for a node that is not known.
pub(super) fn path_on_node(path: &str, node: &str) -> String {
    match node {
        "" => format!("{}@?", clean(path)),
        node => format!("{}@metadata.name In [{node:?}]", clean(path)),
    }
}

/// Returns a path with the nodes that have it.
fn path_on_nodes(path: &str, affinity: Option<&NodeSelector>) -> String {
    if path.is_empty() {
        return String::new();
    }
    let nodes = affinity.map_or_else(|| "any".to_owned(), canonical);
    format!("{}@{nodes}", clean(path))
}

/// Returns a path without the slashes at its end, which do not change its meaning.
fn clean(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

/// Returns the addresses of an `fc` volume.
fn fibre_channel(fc: &Fc) -> String {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        names.join(",")
    };
    match (fc.target_wwns.is_empty(), fc.lun) {
        (false, Some(lun)) => format!("{}:{lun}", sorted(&fc.target_wwns)),
        _ => sorted(&fc.wwids),
    }
}

/// Returns a text that is the same for equal affinities, whatever the order of their parts.
fn canonical(affinity: &NodeSelector) -> String {
    let sorted = |mut parts: Vec<String>, between: &str| {
        parts.sort_unstable();
        parts.dedup();
        parts.join(between)
    };
    let requirement = |about: &str, requirement: &NodeSelectorRequirement| {
        let mut values: Vec<_> = requirement.values.iter().collect();
        values.sort_unstable();
        values.dedup();
        let mut text = format!("{about}{} {}", requirement.key, requirement.operator);
        if !values.is_empty() {
            // Writing to a text cannot fail.
            let _ = write!(text, " {values:?}");
        }
        text
    };
    let term = |term: &NodeSelectorTerm| {
        let labels = term.match_expressions.iter().map(|label| requirement("", label));
        let fields = term.match_fields.iter().map(|field| requirement("field ", field));
        sorted(labels.chain(fields).collect(), " and ")
    };
    sorted(affinity.node_selector_terms.iter().map(term).collect(), " or ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn key_of(metadata: Value, spec: Value) -> Option<(String, String)> {
        let metadata = serde_json::from_value(metadata).expect("metadata");
        let spec = serde_json::from_value(spec).expect("a spec");
        key(&metadata, &spec, &mut Folder::default())
            .map(|key| (key.driver.to_string(), key.handle.to_string()))
    }

    fn zones(values: &[&str]) -> Value {
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": values}]}]}})
    }

    #[test]
    fn every_source_names_what_it_names() {
        let table = [
            (
                json!({"csi": {"driver": "d", "volumeHandle": "aws://a/vol-1"}}),
                Some(("d", "aws://a/vol-1")),
            ),
            (json!({"csi": {"driver": "d", "volumeHandle": ""}}), None),
            (json!({"csi": {}}), None),
            (
                json!({"awsElasticBlockStore": {"volumeID": "aws://us-1a/vol-1"}}),
                Some(("ebs.csi.aws.com", "vol-1")),
            ),
            (
                json!({"awsElasticBlockStore": {"volumeID": "aws:///vol-1/"}}),
                Some(("ebs.csi.aws.com", "vol-1")),
            ),
            (
                json!({"awsElasticBlockStore": {"volumeID": "vol-1"}}),
                Some(("ebs.csi.aws.com", "vol-1")),
            ),
            (
                json!({"awsElasticBlockStore": {"volumeID": "aws://a"}}),
                Some(("ebs.csi.aws.com", "aws://a")),
            ),
            (
                json!({"azureDisk": {"diskURI": "/subscriptions/s/disks/d"}}),
                Some(("disk.csi.azure.com", "/subscriptions/s/disks/d")),
            ),
            (
                json!({"azureFile": {"secretName": "azure-storage-account-acc-secret", "shareName": "s"}}),
                Some(("azureFile", "acc#s")),
            ),
            (
                json!({"azureFile": {"secretName": "key", "shareName": "s", "secretNamespace": "n"}}),
                Some(("azureFile", "secret n/key#s")),
            ),
            (
                json!({"azureFile": {"secretName": "key", "shareName": "s"}, "claimRef": {"namespace": "c"}}),
                Some(("azureFile", "secret c/key#s")),
            ),
            (json!({"azureFile": {"shareName": "s"}}), None),
            (json!({"cinder": {"volumeID": "c"}}), Some(("cinder.csi.openstack.org", "c"))),
            (
                json!({"vsphereVolume": {"volumePath": "[ds] v.vmdk"}}),
                Some(("csi.vsphere.vmware.com", "[ds] v.vmdk")),
            ),
            (json!({"portworxVolume": {"volumeID": "p"}}), Some(("pxd.portworx.com", "p"))),
            (json!({"nfs": {"server": "s", "path": "/e/"}}), Some(("nfs", "s:/e"))),
            (json!({"nfs": {"server": "s", "path": "/"}}), Some(("nfs", "s:/"))),
            (json!({"nfs": {"path": "/e"}}), None),
            (
                json!({"iscsi": {"targetPortal": "p:3260", "iqn": "q", "lun": 1}}),
                Some(("iscsi", "p:3260,q,1")),
            ),
            (json!({"iscsi": {"iqn": "q", "lun": 1}}), None),
            (json!({"fc": {"targetWWNs": ["b", "a"], "lun": 0}}), Some(("fc", "a,b:0"))),
            (json!({"fc": {"wwids": ["y", "x"]}}), Some(("fc", "x,y"))),
            (json!({"fc": {"targetWWNs": ["b"]}}), None),
            (json!({"hostPath": {"path": "/d/"}}), Some(("hostPath", "/d@any"))),
            (json!({"hostPath": {}}), None),
            (
                json!({"local": {"path": "/d"}, "nodeAffinity": {"required": null}}),
                Some(("local", "/d@any")),
            ),
            (json!({"rbd": {"image": "i", "monitors": ["m"]}}), Some(("rbd", "m rbd/i"))),
            (json!({"rbd": {}}), None),
            (json!({}), None),
        ];
        for (spec, expected) in table {
            let expected = expected.map(|(driver, handle)| (driver.to_owned(), handle.to_owned()));
            assert_eq!(key_of(json!({}), spec.clone()), expected, "{spec}");
        }
    }

    #[test]
    fn a_gce_disk_without_a_zone_may_be_in_any() {
        let beta = "failure-domain.beta.kubernetes.io/zone";
        let stable = "topology.kubernetes.io/zone";
        let zonal = "projects/UNSPECIFIED/zones/eu-1-b/disks/d";
        let regional = "projects/UNSPECIFIED/regions/eu-1/disks/d";
        let nowhere = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d";
        let only_other = json!({"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "topology.gke.io/zone", "operator": "In", "values": ["eu-1-b"]}]},
            {"matchExpressions": [{"key": "other", "operator": "Exists"}]}]}});
        let table = [
            (json!({beta: "eu-1-b"}), Value::Null, Some(zonal)),
            (json!({stable: "eu-1-b"}), Value::Null, Some(zonal)),
            (json!({stable: "eu-1-c", beta: "eu-1-b"}), Value::Null, Some(zonal)),
            (json!({stable: "eu-1-b__eu-1-c"}), Value::Null, Some(regional)),
            (json!({stable: "eu-1-b__eu-2-c"}), Value::Null, Some(nowhere)),
            (json!({stable: "odd__zones"}), Value::Null, Some(nowhere)),
            (json!({}), zones(&["eu-1-b"]), Some(zonal)),
            (json!({}), zones(&["eu-1-c", "eu-1-b"]), Some(regional)),
            (json!({}), zones(&[]), Some(nowhere)),
            (json!({}), only_other, Some(nowhere)),
            (json!({}), Value::Null, Some(nowhere)),
        ];
        for (labels, affinity, expected) in table {
            let spec = json!({"gcePersistentDisk": {"pdName": "d"}, "nodeAffinity": affinity});
            let expected =
                expected.map(|handle| ("pd.csi.storage.gke.io".to_owned(), handle.to_owned()));
            assert_eq!(key_of(json!({"labels": labels}), spec), expected, "{labels} {affinity}");
        }
    }

    #[test]
    fn the_same_path_on_two_nodes_is_not_the_same_folder() {
        let on = |terms: Value| {
            let affinity = json!({"required": {"nodeSelectorTerms": terms}});
            key_of(json!({}), json!({"local": {"path": "/d"}, "nodeAffinity": affinity}))
        };
        let host = |values: Value| json!({"key": "kubernetes.io/hostname", "operator": "In", "values": values});
        let zone = json!({"key": "zone", "operator": "Exists"});
        let one = on(json!([{"matchExpressions": [host(json!(["a", "b"])), zone]}]));
        let same = on(json!([{"matchExpressions": [zone, host(json!(["b", "a"]))]}]));
        assert_eq!(one, same, "order means nothing");
        assert_ne!(one, on(json!([{"matchExpressions": [host(json!(["a"])), zone]}])));
        assert_ne!(
            one,
            on(
                json!([{"matchExpressions": [host(json!(["a", "b"]))]}, {"matchExpressions": [zone]}])
            )
        );
        assert_ne!(
            on(json!([{"matchExpressions": [host(json!(["a"]))]}])),
            on(json!([{"matchFields": [host(json!(["a"]))]}]))
        );
    }
}

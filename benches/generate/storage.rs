//! Volumes, claims, attachments.

use serde_json::{Value, json};

use super::{
    Driver, EFS, MANILA, Made, Mix, NFS, PD, Population, RBD, TRIDENT, UNKNOWN, VSPHERE,
    metadata::{Meta, managed},
};

const DAY: u64 = 86_400;

impl Population {
    pub(super) fn storage(&self) -> impl Iterator<Item = Made> + '_ {
        let volumes = (0..self.volumes).map(|index| self.volume(index));
        let claims = (0..self.claims).map(|index| self.claim(index));
        let attached = (0..self.stateful_pods()).filter(|index| !self.driver(*index).shared);
        let attachments = attached.map(|index| self.attachment(index));
        volumes
            .map(|object| Made { registry: "persistentvolumes", object })
            .chain(claims.map(|object| Made { registry: "persistentvolumeclaims", object }))
            .chain(attachments.map(|object| Made { registry: "volumeattachments", object }))
    }

    pub fn volume_name(&self, index: usize) -> String {
        format!("pvc-{}", self.uid("PersistentVolumeClaim", index))
    }

    /// The claim of a replica of a stateful set; beyond the bound ones nobody has any.
    pub(super) fn claim_name(&self, index: usize) -> String {
        let size = self.claims_of_set;
        format!("data-{}-{}", Self::set_name(index / size), index % size)
    }

    pub(super) fn set_name(set: usize) -> String {
        const APPS: [&str; 6] = ["postgres", "kafka", "redis", "minio", "elasticsearch", "etcd"];
        format!("{}-{:04}", APPS[set % APPS.len()], set / APPS.len())
    }

    fn size(&self, index: usize) -> String {
        const SIZES: [&str; 5] = ["10Gi", "20Gi", "50Gi", "100Gi", "500Gi"];
        SIZES[usize::try_from(self.roll("size", index) % 5).unwrap_or(0)].to_owned()
    }

    /// The handle of a volume.
    pub fn handle(&self, index: usize, driver: Driver) -> String {
        let (number, uid) = (self.roll("handle", index), self.uid("handle", index));
        match driver {
            RBD => format!("0001-0009-rook-ceph-0000000000000002-{uid}"),
            EFS if self.mix == Mix::FileSystems => format!("fs-{number:016x}0"),
            EFS => format!("fs-0123456789abcdef0::fsap-{number:016x}0"),
            NFS if self.mix == Mix::Export => format!("export-{uid}"),
            NFS => format!("nas.example.com#export/team#pvc-{uid}##"),
            UNKNOWN => format!("array00123/vol-{number:016x}"),
            TRIDENT => format!("pvc-{uid}"),
            MANILA => uid,
            VSPHERE => format!("file:{uid}"),
            PD => format!("projects/p/zones/europe-west1-b/disks/pvc-{uid}"),
            _ => format!("vol-{number:016x}0"),
        }
    }

    /// The attributes of a volume besides the identity of its provisioner.
    fn attributes(&self, index: usize, driver: Driver) -> Value {
        let uid = self.uid("handle", index);
        match driver {
            NFS if self.mix == Mix::Export => {
                json!({ "server": "nas.example.com", "share": "/export/team" })
            }
            NFS => json!({
                "server": "nas.example.com", "share": "/export/team", "subdir": format!("pvc-{uid}"),
            }),
            TRIDENT => json!({
                "backendUUID": "backend-1", "protocol": "file",
                "internalName": format!("trident_pvc_{}", uid.replace('-', "_")),
            }),
            MANILA => json!({ "shareID": uid }),
            _ => json!({}),
        }
    }

    fn volume(&self, index: usize) -> Value {
        let driver = self.driver(index);
        let bound = index < self.bound();
        let age = (30 + self.roll("age", index) % 300) * DAY;
        let released = age.min((1 + self.roll("released", index) % 120) * DAY);
        let namespace = self.namespace_of_set(index / self.claims_of_set);
        let claim = if bound { self.claim_name(index) } else { format!("data-gone-{index}") };
        let mut annotations = json!({ "pv.kubernetes.io/provisioned-by": driver.name });
        let (name, place) = match driver.secret {
            true => ("rook-csi-rbd-provisioner", "rook-ceph"),
            false => ("", ""),
        };
        annotations["volume.kubernetes.io/provisioner-deletion-secret-name"] = name.into();
        annotations["volume.kubernetes.io/provisioner-deletion-secret-namespace"] = place.into();
        let attacher = format!("external-attacher/{}", driver.name.replace('.', "-"));
        // Provisioners take their finalizer off when the policy is no longer Delete.
        let retained = !bound || index.is_multiple_of(4);
        let mut finalizers = vec!["kubernetes.io/pv-protection"];
        if !retained {
            finalizers.insert(0, "external-provisioner.volume.kubernetes.io/finalizer");
        }
        if index < self.stateful_pods() && !driver.shared {
            finalizers.push(&attacher);
        }
        let mut attributes = self.attributes(index, driver);
        attributes["storage.kubernetes.io/csiProvisionerIdentity"] =
            format!("1700000000000-{}-{}", 4096 + index % 7, driver.name).into();
        let modes = if driver.shared { "ReadWriteMany" } else { "ReadWriteOnce" };
        let transition = self.ago(if bound { age } else { released });
        let managers = json!([
            managed(
                "csi-provisioner",
                "",
                "v1",
                &self.ago(age),
                "metadata|annotations|. metadata|annotations|pv.kubernetes.io/provisioned-by \
                 metadata|annotations|volume.kubernetes.io/provisioner-deletion-secret-name \
                 metadata|annotations|volume.kubernetes.io/provisioner-deletion-secret-namespace \
                 metadata|finalizers|. metadata|finalizers|v:\"external-provisioner.volume.kubernetes.io/finalizer\" \
                 spec|accessModes spec|capacity|. spec|capacity|storage spec|claimRef|. spec|claimRef|apiVersion \
                 spec|claimRef|kind spec|claimRef|name spec|claimRef|namespace spec|claimRef|resourceVersion \
                 spec|claimRef|uid spec|csi|. spec|csi|driver spec|csi|fsType spec|csi|volumeAttributes|. \
                 spec|csi|volumeAttributes|storage.kubernetes.io/csiProvisionerIdentity spec|csi|volumeHandle \
                 spec|nodeAffinity spec|persistentVolumeReclaimPolicy spec|storageClassName spec|volumeMode"
            ),
            managed(
                "kube-controller-manager",
                "status",
                "v1",
                &transition,
                "status|lastPhaseTransitionTime status|phase"
            ),
        ]);
        let zone = format!("eu-central-1{}", ["a", "b", "c"][index % 3]);
        let meta = Meta {
            age,
            annotations,
            finalizers: json!(finalizers),
            managed: managers,
            ..Meta::new("PersistentVolume", index, None, self.volume_name(index))
        };
        let volume = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": meta.build(self),
            "spec": {
                "accessModes": [modes],
                "capacity": { "storage": self.size(index) },
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "name": claim,
                    "namespace": namespace,
                    "resourceVersion": (100_000 + index * 7).to_string(),
                    "uid": self.uid("PersistentVolumeClaim", index),
                },
                "csi": {
                    "driver": driver.name,
                    "fsType": "ext4",
                    "volumeAttributes": attributes,
                    "volumeHandle": self.handle(index, driver),
                },
                "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [{
                    "key": "topology.kubernetes.io/zone",
                    "operator": "In",
                    "values": [zone],
                }] }] } },
                "persistentVolumeReclaimPolicy": if retained { "Retain" } else { "Delete" },
                "storageClassName": driver.class,
                "volumeMode": "Filesystem",
            },
            "status": {
                "lastPhaseTransitionTime": transition,
                "phase": if bound { "Bound" } else { "Released" },
            },
        });
        self.broken(index, volume)
    }

    /// A volume or a claim as it is, or in a mix of broken ones with something wrong.
    fn broken(&self, index: usize, mut object: Value) -> Value {
        if self.mix != Mix::Broken {
            return object;
        }
        let is_volume = object["kind"] == "PersistentVolume";
        match index % 6 {
            0 if is_volume => object["spec"]["claimRef"]["uid"] = self.uid("other", index).into(),
            0 => object["status"]["phase"] = "Lost".into(),
            1 if is_volume => object["status"]["phase"] = "Failed".into(),
            2 => object["metadata"]["deletionTimestamp"] = self.ago(DAY).into(),
            3 if is_volume => {
                object["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
                object["spec"]["persistentVolumeReclaimPolicy"] = "Delete".into();
                object["status"]["phase"] = "Released".into();
            }
            4 if is_volume => {
                let before = self.handle(index - 1, self.driver(index - 1));
                object["spec"]["csi"]["volumeHandle"] = before.into();
            }
            5 if !is_volume => object["spec"]["volumeName"] = format!("gone-{index}").into(),
            _ => {}
        }
        object
    }

    fn claim(&self, index: usize) -> Value {
        let driver = self.driver(index);
        let bound = index < self.bound();
        let set = index / self.claims_of_set;
        let app = Self::set_name(set);
        let namespace = self.namespace_of_set(set);
        let age = (30 + self.roll("age", index) % 300) * DAY;
        let mut annotations = json!({
            "volume.beta.kubernetes.io/storage-provisioner": driver.name,
            "volume.kubernetes.io/storage-provisioner": driver.name,
        });
        if bound {
            annotations["pv.kubernetes.io/bind-completed"] = "yes".into();
            annotations["pv.kubernetes.io/bound-by-controller"] = "yes".into();
            annotations["volume.kubernetes.io/selected-node"] = self.node_name(index).into();
        }
        let managers = json!([
            managed(
                "kube-controller-manager",
                "",
                "v1",
                &self.ago(age),
                "metadata|annotations|. metadata|annotations|pv.kubernetes.io/bind-completed \
                 metadata|annotations|pv.kubernetes.io/bound-by-controller \
                 metadata|annotations|volume.kubernetes.io/storage-provisioner metadata|labels|. metadata|labels|app \
                 spec|accessModes spec|resources|requests|. spec|resources|requests|storage spec|volumeMode spec|volumeName"
            ),
            managed(
                "kube-controller-manager",
                "status",
                "v1",
                &self.ago(age),
                "status|accessModes status|capacity|. status|capacity|storage status|phase"
            ),
        ]);
        let meta = Meta {
            age: if bound { age } else { 600 },
            labels: json!({
                "app.kubernetes.io/instance": app,
                "app.kubernetes.io/managed-by": "Helm",
                "app.kubernetes.io/name": app.split('-').next(),
            }),
            annotations,
            finalizers: json!(["kubernetes.io/pvc-protection"]),
            managed: managers,
            ..Meta::new(
                "PersistentVolumeClaim",
                // Those that wait have nothing to do with the claims that Released volumes had.
                if bound { index } else { self.volumes + index },
                Some(&namespace),
                if bound { self.claim_name(index) } else { format!("later-{index}") },
            )
        };
        let modes = if driver.shared { "ReadWriteMany" } else { "ReadWriteOnce" };
        let mut spec = json!({
            "accessModes": [modes],
            "resources": { "requests": { "storage": self.size(index) } },
            "storageClassName": driver.class,
            "volumeMode": "Filesystem",
        });
        let mut status = json!({ "phase": "Pending" });
        if bound {
            spec["volumeName"] = self.volume_name(index).into();
            status = json!({
                "accessModes": [modes],
                "capacity": { "storage": self.size(index) },
                "phase": "Bound",
            });
        }
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta.build(self),
            "spec": spec,
            "status": status,
        });
        self.broken(index, claim)
    }

    fn attachment(&self, index: usize) -> Value {
        let driver = self.driver(index);
        let id = format!("{:016x}{:016x}", self.roll("attach", index), self.roll("ment", index));
        let attacher = format!("external-attacher/{}", driver.name.replace('.', "-"));
        let meta = Meta {
            age: 5 * DAY,
            annotations: json!({ "csi.alpha.kubernetes.io/node-id": format!("i-{:017x}", self.roll("node", index % self.nodes())) }),
            finalizers: json!([attacher]),
            managed: json!([
                managed(
                    "csi-attacher",
                    "status",
                    "storage.k8s.io/v1",
                    &self.ago(5 * DAY),
                    "status|attached"
                ),
                managed(
                    "kube-controller-manager",
                    "",
                    "storage.k8s.io/v1",
                    &self.ago(5 * DAY),
                    "spec|attacher spec|nodeName spec|source|persistentVolumeName"
                ),
            ]),
            ..Meta::new("VolumeAttachment", index, None, format!("csi-{id}{id}"))
        };
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": meta.build(self),
            "spec": {
                "attacher": driver.name,
                "nodeName": self.node_name(index),
                "source": { "persistentVolumeName": self.volume_name(index) },
            },
            "status": { "attached": true },
        })
    }
}

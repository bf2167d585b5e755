//! Namespaces, nodes, classes, drivers and their leases.

use chrono::SecondsFormat;
use serde_json::{Value, json};

use super::{
    Driver, Made, Population,
    metadata::{Meta, managed},
};

impl Population {
    pub(super) fn node_name(&self, index: usize) -> String {
        format!(
            "ip-10-0-{:03}-{:03}.eu-central-1.compute.internal",
            index % self.nodes() / 250,
            index % self.nodes() % 250
        )
    }

    pub(super) fn infrastructure(&self) -> impl Iterator<Item = Made> + '_ {
        let made = |registry| move |object| Made { registry, object };
        let system = ["kube-system", "kube-node-lease", "default", "rook-ceph"];
        let names = system.into_iter().map(str::to_owned);
        let teams = (0..self.namespaces()).map(|index| self.namespace_of_set(index));
        let namespaces =
            names.chain(teams).enumerate().map(|(index, name)| self.namespace(index, &name));
        let nodes = (0..self.nodes()).map(|index| self.node(index));
        let csi_nodes = (0..self.nodes()).map(|index| self.csi_node(index));
        let leases = (0..self.nodes()).map(|index| {
            self.lease(index, "kube-node-lease", &self.node_name(index), &self.node_name(index))
        });
        let leaders = self.drivers().iter().enumerate().flat_map(|(number, driver)| {
            let name = driver.name.replace('.', "-");
            ["", "external-attacher-leader-"].map(|prefix| {
                let index = 1_000_000 + number * 2 + usize::from(prefix.is_empty());
                self.lease(index, driver.namespace, &format!("{prefix}{name}"), "csi-controller")
            })
        });
        let manager = self.lease(2_000_000, "kube-system", "kube-controller-manager", "master-1_0");
        namespaces
            .map(made("namespaces"))
            .chain(nodes.map(made("minions")))
            .chain(csi_nodes.map(made("csinodes")))
            .chain(leases.chain(leaders).chain([manager]).map(made("leases")))
            .chain(self.drivers().iter().enumerate().flat_map(|(number, driver)| {
                [
                    Made { registry: "csidrivers", object: self.csi_driver(number, *driver) },
                    Made { registry: "storageclasses", object: self.class(number) },
                ]
            }))
    }

    /// The secret that a provisioner deletes with. `kubectl get` of what an audit reads does not hold it.
    pub fn secret(&self) -> Made {
        let meta = Meta::new("Secret", 0, Some("rook-ceph"), "rook-csi-rbd-provisioner");
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": meta.build(self), "type": "Opaque",
        });
        Made { registry: "secrets", object }
    }

    /// What is in the cluster besides, and is only asked about: what the provisioners may do.
    pub fn permissions(&self) -> [Made; 2] {
        let meta = |kind| Meta::new(kind, 0, None, "csi-controller").build(self);
        let subjects: Vec<_> = self.drivers()
            .iter()
            .enumerate()
            .map(|(number, driver)| json!({
                "kind": "ServiceAccount", "name": format!("csi-controller-{number}"), "namespace": driver.namespace,
            }))
            .collect();
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": meta("ClusterRole"),
            "rules": [{
                "apiGroups": [""],
                "resources": ["persistentvolumes"],
                "verbs": ["get", "list", "watch", "create", "patch", "delete"],
            }],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": meta("ClusterRoleBinding"),
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "csi-controller" },
            "subjects": subjects,
        });
        [
            Made { registry: "clusterroles", object: role },
            Made { registry: "clusterrolebindings", object: binding },
        ]
    }

    fn namespace(&self, index: usize, name: &str) -> Value {
        let meta = Meta {
            labels: json!({ "kubernetes.io/metadata.name": name }),
            ..Meta::new("Namespace", index, None, name)
        };
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": meta.build(self),
            "spec": { "finalizers": ["kubernetes"] },
            "status": { "phase": "Active" },
        })
    }

    fn node(&self, index: usize) -> Value {
        let name = self.node_name(index);
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({
                "lastHeartbeatTime": self.ago(60), "lastTransitionTime": self.ago(30 * 86_400),
                "message": reason, "reason": reason, "status": status, "type": kind,
            })
        };
        let attached: Vec<_> = (index..self.stateful_pods())
            .step_by(self.nodes())
            .map(|volume| (volume, self.driver(volume)))
            .filter(|(_, driver)| !driver.shared)
            .map(|(volume, driver)| {
                format!("kubernetes.io/csi/{}^{}", driver.name, self.handle(volume, driver))
            })
            .collect();
        let meta = Meta {
            labels: json!({
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m6i.4xlarge",
                "topology.kubernetes.io/region": "eu-central-1",
                "topology.kubernetes.io/zone": format!("eu-central-1{}", ["a", "b", "c"][index % 3]),
            }),
            annotations: json!({
                "csi.volume.kubernetes.io/nodeid": format!("{{\"ebs.csi.aws.com\":\"i-{:017x}\"}}", self.roll("node", index)),
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            }),
            managed: json!([managed(
                "kubelet",
                "status",
                "v1",
                &self.ago(60),
                "status|allocatable|cpu status|capacity|cpu status|conditions|k:{\"type\":\"Ready\"}|lastHeartbeatTime status|images status|volumesInUse"
            )]),
            ..Meta::new("Node", index, None, name.as_str())
        };
        let images: Vec<_> = (0..25)
            .map(|image| json!({
                "names": [
                    format!("registry.example.com/apps/app-{image}@sha256:{:064x}", self.roll("image", image)),
                    format!("registry.example.com/apps/app-{image}:1.2.0"),
                ],
                "sizeBytes": 40_000_000 + image * 1_234_567,
            }))
            .collect();
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": meta.build(self),
            "spec": { "podCIDR": "10.64.0.0/24", "podCIDRs": ["10.64.0.0/24"], "providerID": format!("aws:///eu-central-1a/i-{:017x}", self.roll("node", index)) },
            "status": {
                "addresses": [{ "address": "10.0.0.1", "type": "InternalIP" }, { "address": name, "type": "Hostname" }],
                "allocatable": { "cpu": "15890m", "memory": "60000000Ki", "pods": "110" },
                "capacity": { "cpu": "16", "memory": "64000000Ki", "pods": "110" },
                "conditions": [
                    condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                    condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                    condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                    condition("Ready", "True", "KubeletReady"),
                ],
                "images": images,
                "nodeInfo": {
                    "architecture": "amd64", "bootID": self.uid("boot", index), "containerRuntimeVersion": "containerd://2.1.0",
                    "kernelVersion": "6.12.0", "kubeProxyVersion": "", "kubeletVersion": "v1.36.3", "machineID": self.uid("machine", index),
                    "operatingSystem": "linux", "osImage": "Debian GNU/Linux 12 (bookworm)", "systemUUID": self.uid("system", index),
                },
                "volumesAttached": attached.iter().map(|name| json!({ "devicePath": "", "name": name })).collect::<Vec<_>>(),
                "volumesInUse": attached,
            },
        })
    }

    fn csi_node(&self, index: usize) -> Value {
        let name = self.node_name(index);
        let drivers: Vec<_> = self
            .drivers()
            .iter()
            .map(|driver| {
                json!({
                    "allocatable": { "count": 25 },
                    "name": driver.name,
                    "nodeID": format!("i-{:017x}", self.roll("node", index)),
                    "topologyKeys": ["topology.kubernetes.io/zone"],
                })
            })
            .collect();
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": Meta::new("CSINode", index, None, name).build(self),
            "spec": { "drivers": drivers },
        })
    }

    fn lease(&self, index: usize, namespace: &str, name: &str, holder: &str) -> Value {
        let renewed = self.now.to_rfc3339_opts(SecondsFormat::Micros, true);
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": Meta::new("Lease", index, Some(namespace), name).build(self),
            "spec": { "holderIdentity": holder, "leaseDurationSeconds": 40, "renewTime": renewed },
        })
    }

    fn csi_driver(&self, number: usize, driver: Driver) -> Value {
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": Meta::new("CSIDriver", number, None, driver.name).build(self),
            "spec": {
                "attachRequired": !driver.shared, "fsGroupPolicy": "File", "podInfoOnMount": false, "requiresRepublish": false,
                "seLinuxMount": false, "storageCapacity": false, "volumeLifecycleModes": ["Persistent"],
            },
        })
    }

    fn class(&self, number: usize) -> Value {
        let driver = self.drivers()[number];
        json!({
            "allowVolumeExpansion": true,
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": Meta::new("StorageClass", number, None, driver.class).build(self),
            "parameters": { "type": driver.class },
            "provisioner": driver.name,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
        })
    }
}

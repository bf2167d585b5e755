//! What is in every cluster: nodes, classes, and controllers of every driver at work.

use serde_json::{Value, json};

use super::{
    model::{NODES, Names, Other, Sort},
    nodes::{LOCAL_PATH, MINIKUBE, UNKNOWN},
    objects::{COMMON_AGE, object, templated},
    shares::NFS_SUBDIR,
    volumes::Setting,
};

/// CSI drivers, and whether volumes are attached.
const DRIVERS: [(&str, bool); 14] = [
    ("ebs.csi.aws.com", true),
    ("ebs.csi.eks.amazonaws.com", true),
    ("efs.csi.aws.com", false),
    ("pd.csi.storage.gke.io", true),
    ("disk.csi.azure.com", true),
    ("file.csi.azure.com", false),
    ("nfs.csi.k8s.io", false),
    ("rook-ceph.cephfs.csi.ceph.com", false),
    ("cephfs.csi.ceph.com", false),
    ("rook-ceph.rbd.csi.ceph.com", true),
    ("rbd.csi.ceph.com", true),
    ("driver.longhorn.io", true),
    ("secrets-store.csi.k8s.io", false),
    (UNKNOWN, true),
];

/// Everything that is there besides what chance adds, and what of it names storage.
pub(super) fn background(setting: &Setting) -> (Vec<Value>, Vec<Other>) {
    let mut objects = vec![json!({
        "apiVersion": "storage.kubectl.dev/v1alpha1",
        "kind": "Excerpt",
        "metadata": {
            "takenAt": "2026-11-01T12:00:00Z",
            "cluster": {
                "uid": "8c37f023-6291-5aa1-a8d8-82e583590304",
                "server": "https://example",
                "version": "v1.36.3",
            },
        },
        "complete": ["all"],
    })];
    for node in NODES {
        objects.push(object("v1", "Node", "", node, json!({
            "metadata": {"labels": {"kubernetes.io/hostname": node, "kubernetes.io/os": "linux"}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        })));
    }
    for (driver, attached) in DRIVERS {
        let attached = if driver == UNKNOWN { setting.attach_required } else { attached };
        objects.push(object(
            "storage.k8s.io/v1",
            "CSIDriver",
            "",
            driver,
            json!({
                "spec": {"attachRequired": attached, "podInfoOnMount": false,
                    "volumeLifecycleModes": ["Persistent"]},
            }),
        ));
        objects.push(lease(&driver.replace('.', "-")));
    }
    let class = |name: &str, provisioner: &str, parameters: Value| {
        object(
            "storage.k8s.io/v1",
            "StorageClass",
            "",
            name,
            json!({
                "provisioner": provisioner, "parameters": parameters,
                "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
            }),
        )
    };
    objects.push(class("fast", UNKNOWN, json!({})));
    let export = json!({"server": "nfs.example.com", "share": "/export"});
    objects.push(class("nfs-csi", "nfs.csi.k8s.io", export));
    objects.push(class("nfs-client", NFS_SUBDIR, setting.nfs_subdir_class.clone()));
    objects.push(class("local-path", LOCAL_PATH, json!({})));
    objects.push(class("standard", MINIKUBE, json!({})));
    let mut others = controllers(setting, &mut objects);
    let root = json!([{"name": "root", "hostPath": {"path": "/"}}]);
    let exporter = json!({"volumes": root, "containers": [
        {"name": "node-exporter", "image": "quay.io/prometheus/node-exporter:v1.9.0"}]});
    objects.push(templated("DaemonSet", "node-exporter", 0, &exporter));
    let names = Names::Path { node: None, path: "/".to_owned() };
    others.push(Other { names, sort: Sort::Inline, is_obscure: false });
    (objects, others)
}

fn lease(name: &str) -> Value {
    object(
        "coordination.k8s.io/v1",
        "Lease",
        "storage",
        name,
        json!({
            "spec": {"holderIdentity": "controller-0", "leaseDurationSeconds": 15,
                "leaseTransitions": 3, "acquireTime": "2026-10-20T12:00:00.000000Z",
                "renewTime": "2026-11-01T11:59:58.000000Z"},
        }),
    )
}

/// The workloads of provisioners of which more matters than that they are at work.
fn controllers(setting: &Setting, objects: &mut Vec<Value>) -> Vec<Other> {
    if let Some(erases) = setting.efs_erases {
        let args = json!([
            "--endpoint=unix:/csi/csi.sock",
            format!("--delete-access-point-root-dir={erases}"),
        ]);
        runs(
            objects,
            "efs-csi-controller",
            json!({"containers": [
                {"name": "efs-plugin", "image": "public.ecr.aws/efs-csi-driver/amazon/aws-efs-csi-driver:v2.1.0",
                    "args": args},
                {"name": "csi-provisioner", "image": "public.ecr.aws/csi-components/csi-provisioner:v6.3.0",
                    "args": ["--csi-address=/csi/csi.sock", "--leader-election"]},
            ]}),
        );
    }
    let (server, root) = setting.nfs_subdir_root;
    runs(
        objects,
        "nfs-client-provisioner",
        json!({
            "volumes": [{"name": "root", "nfs": {"server": server, "path": root}}],
            "containers": [{
                "name": "nfs-client-provisioner",
                "image": "registry.k8s.io/sig-storage/nfs-subdir-external-provisioner:v4.0.2",
                "env": [{"name": "PROVISIONER_NAME", "value": NFS_SUBDIR},
                    {"name": "NFS_SERVER", "value": server}, {"name": "NFS_PATH", "value": root}],
                "volumeMounts": [{"name": "root", "mountPath": "/persistentvolumes"}],
            }],
        }),
    );
    runs(
        objects,
        "local-path-provisioner",
        json!({"containers": [{
            "name": "local-path-provisioner",
            "image": "rancher/local-path-provisioner:v0.0.37",
            "command": ["local-path-provisioner", "--debug", "start", "--config", "/etc/config/config.json"],
        }]}),
    );
    runs(
        objects,
        "storage-provisioner",
        json!({"containers": [{
            "name": "storage-provisioner",
            "image": "gcr.io/k8s-minikube/storage-provisioner:v5",
            "command": ["/storage-provisioner"],
        }]}),
    );
    for (name, pod) in [
        (NFS_SUBDIR, "nfs-client-provisioner-0"),
        (LOCAL_PATH, "local-path-provisioner-0"),
        (MINIKUBE, "storage-provisioner-0"),
    ] {
        let component = format!("{name}_{pod}_0d9c6c1a-0000-4000-8000-000000000007");
        objects.push(object("v1", "Event", "shop", &format!("{pod}.1"), json!({
            "type": "Normal", "reason": "ProvisioningSucceeded", "message": "Successfully provisioned",
            "involvedObject": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": "shop", "name": "fresh", "uid": "77777777-0000-4000-8000-000000000000"},
            "source": {"component": component}, "reportingComponent": component, "count": 1,
            "firstTimestamp": "2026-11-01T11:58:00Z", "lastTimestamp": "2026-11-01T11:58:00Z",
        })));
    }
    objects.push(lease(&NFS_SUBDIR.replace('/', "-")));
    let names = Names::Export { server: server.to_owned(), path: root.to_owned() };
    vec![Other { names, sort: Sort::OfProvisioner(NFS_SUBDIR), is_obscure: false }]
}

/// A Deployment and its pod, which is ready.
fn runs(objects: &mut Vec<Value>, name: &str, spec: Value) {
    objects.push(templated("Deployment", name, 1, &spec));
    let mut spec = spec;
    spec["nodeName"] = NODES[0].into();
    objects.push(object(
        "v1",
        "Pod",
        "shop",
        &format!("{name}-0"),
        json!({
            "metadata": {"creationTimestamp": COMMON_AGE},
            "spec": spec,
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }),
    ));
}

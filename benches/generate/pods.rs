//! Pods: those of stateful sets, of daemon sets, of deployments, and those that serve drivers.

use serde_json::{Value, json};

use super::{
    Made, Population, REPLICAS,
    metadata::{Meta, managed, owner},
    workloads::controller_spec,
};

/// What tells one pod from another.
struct Sketch {
    index: usize,
    namespace: String,
    name: String,
    app: String,
    /// The claim that it mounts.
    claim: Option<String>,
    owners: Value,
    /// Instead of an application's containers.
    containers: Option<Value>,
    service_account: String,
    node: String,
}

impl Population {
    pub(super) fn pod_objects(&self) -> impl Iterator<Item = Made> + '_ {
        let controllers = self.drivers().len() * 2;
        let plain = (self.pods - self.stateful_pods()).saturating_sub(controllers);
        (0..controllers)
            .map(|index| self.controller_pod(index))
            .chain((0..self.stateful_pods()).map(|index| self.stateful_pod(index)))
            .chain((0..plain).map(|index| self.plain_pod(index)))
            .map(|sketch| Made { registry: "pods", object: self.pod(&sketch) })
    }

    fn controller_pod(&self, index: usize) -> Sketch {
        let number = index / 2;
        let driver = self.drivers()[number];
        let set = format!("csi-controller-{number}-7d9c5b6f4");
        Sketch {
            index: 2_000_000 + index,
            namespace: driver.namespace.to_owned(),
            name: format!("{set}-{:05x}", self.roll("suffix", index) & 0xf_ffff),
            app: format!("csi-controller-{number}"),
            claim: None,
            owners: owner(self, "apps/v1", "ReplicaSet", 1_000_000 + number, &set),
            containers: Some(controller_spec(driver)),
            service_account: format!("csi-controller-{number}"),
            node: self.node_name(index),
        }
    }

    fn stateful_pod(&self, index: usize) -> Sketch {
        let set = index / self.claims_of_set;
        let app = Self::set_name(set);
        Sketch {
            index,
            namespace: self.namespace_of_set(set),
            name: format!("{app}-{}", index % self.claims_of_set),
            owners: owner(self, "apps/v1", "StatefulSet", set, &app),
            app,
            claim: Some(self.claim_name(index)),
            containers: None,
            service_account: "default".to_owned(),
            node: self.node_name(index),
        }
    }

    fn plain_pod(&self, index: usize) -> Sketch {
        let deployment = index / REPLICAS;
        let app = Self::deployment_name(deployment);
        let set = self.replica_set_name(deployment);
        Sketch {
            index: 1_000_000 + index,
            namespace: self.namespace_of_set(deployment),
            name: format!("{set}-{:05x}", self.roll("suffix", 1_000_000 + index) & 0xf_ffff),
            app,
            claim: None,
            owners: owner(self, "apps/v1", "ReplicaSet", deployment, &set),
            containers: None,
            service_account: "default".to_owned(),
            node: self.node_name(index),
        }
    }

    #[expect(clippy::too_many_lines, reason = "a pod is long")]
    fn pod(&self, sketch: &Sketch) -> Value {
        let Sketch {
            index,
            namespace,
            name,
            app,
            claim,
            owners,
            containers,
            service_account,
            node,
        } = sketch;
        let age = 5 * 86_400 + self.roll("pod age", *index) % 86_400;
        let started = self.ago(age - 20);
        let managers = json!([
            managed(
                "kube-controller-manager",
                "",
                "v1",
                &self.ago(age),
                &format!(
                    "metadata|annotations|. metadata|annotations|checksum/config metadata|annotations|prometheus.io/scrape \
                 metadata|generateName metadata|labels|. metadata|labels|app.kubernetes.io/instance \
                 metadata|labels|app.kubernetes.io/name metadata|labels|pod-template-hash \
                 metadata|ownerReferences|. metadata|ownerReferences|k:{{\"uid\":\"{uid}\"}} \
                 spec|containers|k:{{\"name\":\"app\"}}|. spec|containers|k:{{\"name\":\"app\"}}|args \
                 spec|containers|k:{{\"name\":\"app\"}}|env|. spec|containers|k:{{\"name\":\"app\"}}|env|k:{{\"name\":\"LOG_LEVEL\"}}|. \
                 spec|containers|k:{{\"name\":\"app\"}}|env|k:{{\"name\":\"LOG_LEVEL\"}}|name \
                 spec|containers|k:{{\"name\":\"app\"}}|env|k:{{\"name\":\"LOG_LEVEL\"}}|value \
                 spec|containers|k:{{\"name\":\"app\"}}|image spec|containers|k:{{\"name\":\"app\"}}|imagePullPolicy \
                 spec|containers|k:{{\"name\":\"app\"}}|livenessProbe|. spec|containers|k:{{\"name\":\"app\"}}|livenessProbe|httpGet|. \
                 spec|containers|k:{{\"name\":\"app\"}}|livenessProbe|httpGet|path spec|containers|k:{{\"name\":\"app\"}}|livenessProbe|httpGet|port \
                 spec|containers|k:{{\"name\":\"app\"}}|name spec|containers|k:{{\"name\":\"app\"}}|ports|. \
                 spec|containers|k:{{\"name\":\"app\"}}|resources|limits|. spec|containers|k:{{\"name\":\"app\"}}|resources|limits|cpu \
                 spec|containers|k:{{\"name\":\"app\"}}|resources|limits|memory spec|containers|k:{{\"name\":\"app\"}}|resources|requests|. \
                 spec|dnsPolicy spec|enableServiceLinks spec|restartPolicy spec|schedulerName spec|securityContext \
                 spec|terminationGracePeriodSeconds spec|volumes|. spec|volumes|k:{{\"name\":\"config\"}}|.",
                    uid = self.uid("owner of", *index)
                )
            ),
            managed(
                "kubelet",
                "status",
                "v1",
                &started,
                "status|conditions|k:{\"type\":\"ContainersReady\"}|. status|conditions|k:{\"type\":\"ContainersReady\"}|lastProbeTime \
                 status|conditions|k:{\"type\":\"ContainersReady\"}|lastTransitionTime status|conditions|k:{\"type\":\"ContainersReady\"}|status \
                 status|conditions|k:{\"type\":\"Initialized\"}|. status|conditions|k:{\"type\":\"Ready\"}|. \
                 status|conditions|k:{\"type\":\"Ready\"}|lastTransitionTime status|conditions|k:{\"type\":\"Ready\"}|status \
                 status|containerStatuses status|hostIP status|hostIPs status|phase status|podIP status|podIPs status|startTime"
            ),
        ]);
        let meta = Meta {
            age,
            labels: json!({
                "app.kubernetes.io/instance": app,
                "app.kubernetes.io/name": app.split('-').next(),
                "app.kubernetes.io/part-of": namespace,
                "pod-template-hash": format!("{:08x}", self.roll("hash", index / REPLICAS) & 0xffff_ffff),
            }),
            annotations: json!({
                "checksum/config": format!("{:064x}", self.roll("checksum", index / REPLICAS)),
                "prometheus.io/port": "9090",
                "prometheus.io/scrape": "true",
            }),
            owners: owners.clone(),
            managed: managers,
            ..Meta::new("Pod", *index, Some(namespace), name.as_str())
        };
        let mut volumes = vec![
            json!({ "configMap": { "defaultMode": 420, "name": format!("{app}-config") }, "name": "config" }),
            json!({ "name": "kube-api-access-x7k2p", "projected": { "defaultMode": 420, "sources": [
                { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                { "configMap": { "items": [{ "key": "ca.crt", "path": "ca.crt" }], "name": "kube-root-ca.crt" } },
                { "downwardAPI": { "items": [{
                    "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" }, "path": "namespace" }] } },
            ] } }),
        ];
        if let Some(claim) = claim {
            volumes
                .push(json!({ "name": "data", "persistentVolumeClaim": { "claimName": claim } }));
        }
        let mut mounts = vec![
            json!({ "mountPath": "/etc/app", "name": "config" }),
            json!({ "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access-x7k2p", "readOnly": true }),
        ];
        if claim.is_some() {
            mounts.push(json!({ "mountPath": "/var/lib/data", "name": "data" }));
        }
        let application = || {
            let resources = json!({
                "limits": { "cpu": "2", "memory": "2Gi" },
                "requests": { "cpu": "250m", "memory": "1Gi" },
            });
            let probe = |path: &str| {
                json!({
                    "failureThreshold": 3, "httpGet": { "path": path, "port": 8080, "scheme": "HTTP" },
                    "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
                })
            };
            json!([
                {
                    "args": ["--config=/etc/app/config.yaml", "--listen=:8080", "--data-dir=/var/lib/data", "--log-format=json"],
                    "env": [
                        { "name": "LOG_LEVEL", "value": "info" },
                        { "name": "POD_NAME", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.name" } } },
                        { "name": "GOMEMLIMIT", "value": "1800MiB" },
                    ],
                    "image": format!("registry.example.com/apps/{}:1.{}.0", app.split('-').next().unwrap_or_default(), index % 9),
                    "imagePullPolicy": "IfNotPresent",
                    "livenessProbe": probe("/healthz"),
                    "name": "app",
                    "ports": [{ "containerPort": 8080, "name": "http", "protocol": "TCP" }],
                    "readinessProbe": probe("/readyz"),
                    "resources": resources,
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "volumeMounts": mounts,
                },
                {
                    "args": ["--web.listen-address=:9090"],
                    "image": "registry.example.com/monitoring/exporter:0.15.0",
                    "imagePullPolicy": "IfNotPresent",
                    "name": "metrics",
                    "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                },
            ])
        };
        let containers = containers.clone().unwrap_or_else(application);
        let statuses: Vec<_> = containers
            .as_array()
            .into_iter()
            .flatten()
            .map(|container| json!({
                "containerID": format!("containerd://{:064x}", self.roll("container", *index)),
                "image": container["image"],
                "imageID": format!("registry.example.com/any@sha256:{:064x}", self.roll("image", index % 9)),
                "lastState": {},
                "name": container["name"],
                "ready": true,
                "restartCount": 0,
                "started": true,
                "state": { "running": { "startedAt": started } },
            }))
            .collect();
        let conditions: Vec<_> =
            ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
                .into_iter()
                .map(|kind| json!({ "lastProbeTime": null, "lastTransitionTime": started, "status": "True", "type": kind }))
                .collect();
        let address =
            format!("10.{}.{}.{}", 64 + index / 65_536 % 64, index / 256 % 256, index % 256);
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta.build(self),
            "spec": {
                "containers": containers,
                "dnsPolicy": "ClusterFirst",
                "enableServiceLinks": true,
                "nodeName": node,
                "preemptionPolicy": "PreemptLowerPriority",
                "priority": 0,
                "restartPolicy": "Always",
                "schedulerName": "default-scheduler",
                "securityContext": { "fsGroup": 1000, "runAsNonRoot": true },
                "serviceAccount": service_account,
                "serviceAccountName": service_account,
                "terminationGracePeriodSeconds": 30,
                "tolerations": [
                    { "effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300 },
                    { "effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300 },
                ],
                "volumes": volumes,
            },
            "status": {
                "conditions": conditions,
                "containerStatuses": statuses,
                "hostIP": "10.0.0.1",
                "hostIPs": [{ "ip": "10.0.0.1" }],
                "phase": "Running",
                "podIP": address,
                "podIPs": [{ "ip": address }],
                "qosClass": "Burstable",
                "startTime": self.ago(age),
            },
        })
    }
}

//! Stateful sets, deployments with their replica sets, daemon sets.

use serde_json::{Value, json};

use super::{
    Driver, Made, Population, REPLICAS,
    metadata::{Meta, managed, owner},
};

/// The containers of a driver's controller.
pub(super) fn controller_spec(driver: Driver) -> Value {
    let sidecar = |name: &str, version: &str, more: &[&str]| {
        let mut args =
            vec!["--csi-address=/csi/csi.sock".to_owned(), "--leader-election".to_owned()];
        args.push(format!("--leader-election-namespace={}", driver.namespace));
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        json!({
            "args": args,
            "image": format!("registry.k8s.io/sig-storage/{name}:{version}"),
            "imagePullPolicy": "IfNotPresent",
            "name": name,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        })
    };
    json!([
        sidecar("csi-provisioner", "v6.3.0", &["--feature-gates=Topology=true"]),
        sidecar("csi-attacher", "v4.13.0", &[]),
        {
            "args": [format!("--drivername={}", driver.name), "--endpoint=unix:///csi/csi.sock"],
            "image": "registry.example.com/csi/plugin:v1.40.0",
            "imagePullPolicy": "IfNotPresent",
            "name": "plugin",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        },
    ])
}

fn application_spec(app: &str) -> Value {
    json!([{
        "args": ["--config=/etc/app/config.yaml", "--listen=:8080", "--log-format=json"],
        "env": [{ "name": "LOG_LEVEL", "value": "info" }],
        "image": format!("registry.example.com/apps/{app}:1.2.0"),
        "imagePullPolicy": "IfNotPresent",
        "name": "app",
        "ports": [{ "containerPort": 8080, "name": "http", "protocol": "TCP" }],
        "resources": { "requests": { "cpu": "250m", "memory": "1Gi" } },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }])
}

/// What pods a workload has.
struct Template<'a> {
    app: &'a str,
    replicas: usize,
    containers: Value,
    service_account: &'a str,
}

impl Template<'_> {
    fn spec(&self) -> Value {
        json!({
            "replicas": self.replicas,
            "revisionHistoryLimit": 10,
            "selector": { "matchLabels": { "app.kubernetes.io/instance": self.app } },
            "template": {
                "metadata": { "labels": { "app.kubernetes.io/instance": self.app } },
                "spec": {
                    "containers": self.containers,
                    "dnsPolicy": "ClusterFirst",
                    "restartPolicy": "Always",
                    "schedulerName": "default-scheduler",
                    "securityContext": {},
                    "serviceAccount": self.service_account,
                    "serviceAccountName": self.service_account,
                    "terminationGracePeriodSeconds": 30,
                },
            },
        })
    }
}

impl Population {
    pub(super) fn deployment_name(deployment: usize) -> String {
        const APPS: [&str; 5] = ["frontend", "checkout", "search", "worker", "gateway"];
        format!("{}-{:04}", APPS[deployment % APPS.len()], deployment / APPS.len())
    }

    pub(super) fn replica_set_name(&self, deployment: usize) -> String {
        let hash = self.roll("template", deployment) & 0xff_ffff_ffff;
        format!("{}-{hash:010x}", Self::deployment_name(deployment))
    }

    pub(super) fn workloads(&self) -> impl Iterator<Item = Made> + '_ {
        let sets = (0..self.bound().div_ceil(self.claims_of_set)).map(|set| self.stateful_set(set));
        let plain = self.pods - self.stateful_pods();
        let deployments = (0..plain.div_ceil(REPLICAS)).flat_map(|index| self.deployment(index));
        let controllers = (0..self.drivers().len()).flat_map(|number| self.controller(number));
        sets.chain(deployments).chain(controllers)
    }

    fn workload_meta<'a>(
        &self,
        kind: &'static str,
        index: usize,
        namespace: &'a str,
        name: &str,
        app: &str,
    ) -> Meta<'a> {
        let managers = json!([
            managed(
                "helm",
                "",
                "apps/v1",
                &self.ago(90 * 86_400),
                "metadata|annotations|. metadata|labels|. metadata|labels|app.kubernetes.io/instance spec|replicas spec|selector \
                 spec|template|metadata|labels|. spec|template|spec|containers|k:{\"name\":\"app\"}|. \
                 spec|template|spec|containers|k:{\"name\":\"app\"}|args spec|template|spec|containers|k:{\"name\":\"app\"}|image \
                 spec|template|spec|dnsPolicy spec|template|spec|restartPolicy spec|template|spec|schedulerName"
            ),
            managed(
                "kube-controller-manager",
                "status",
                "apps/v1",
                &self.ago(86_400),
                "status|availableReplicas status|observedGeneration status|readyReplicas status|replicas"
            ),
        ]);
        Meta {
            labels: json!({
                "app.kubernetes.io/instance": app,
                "app.kubernetes.io/managed-by": "Helm",
                "app.kubernetes.io/name": app.split('-').next(),
            }),
            annotations: json!({
                "meta.helm.sh/release-name": app,
                "meta.helm.sh/release-namespace": namespace,
            }),
            managed: managers,
            ..Meta::new(kind, index, Some(namespace), name)
        }
    }

    fn stateful_set(&self, set: usize) -> Made {
        let app = Self::set_name(set);
        let namespace = self.namespace_of_set(set);
        let first = set * self.claims_of_set;
        let replicas = self.stateful_pods().saturating_sub(first).min(self.claims_of_set);
        let template = Template {
            app: &app,
            replicas,
            containers: application_spec(app.split('-').next().unwrap_or_default()),
            service_account: "default",
        };
        let mut spec = template.spec();
        spec["persistentVolumeClaimRetentionPolicy"] =
            json!({ "whenDeleted": "Retain", "whenScaled": "Retain" });
        spec["podManagementPolicy"] = "OrderedReady".into();
        spec["serviceName"] = app.as_str().into();
        spec["volumeClaimTemplates"] = json!([{
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": { "name": "data" },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "10Gi" } },
                "storageClassName": self.driver(first).class,
                "volumeMode": "Filesystem",
            },
            "status": { "phase": "Pending" },
        }]);
        let meta = self.workload_meta("StatefulSet", set, &namespace, &app, &app);
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": meta.build(self),
            "spec": spec,
            "status": { "availableReplicas": replicas, "readyReplicas": replicas, "replicas": replicas },
        });
        Made { registry: "statefulsets", object }
    }

    fn deployment(&self, index: usize) -> [Made; 3] {
        let app = Self::deployment_name(index);
        let namespace = self.namespace_of_set(index);
        let template = |replicas| Template {
            app: &app,
            replicas,
            containers: application_spec(app.split('-').next().unwrap_or_default()),
            service_account: "default",
        };
        let current = self.replica_set_name(index);
        let previous = format!("{app}-{:010x}", self.roll("previous", index) & 0xff_ffff_ffff);
        [
            self.deployed("Deployment", index, &namespace, &app, &template(REPLICAS), Value::Null),
            self.deployed(
                "ReplicaSet",
                index,
                &namespace,
                &current,
                &template(REPLICAS),
                owner(self, "apps/v1", "Deployment", index, &app),
            ),
            self.deployed(
                "ReplicaSet",
                2_000_000 + index,
                &namespace,
                &previous,
                &template(0),
                owner(self, "apps/v1", "Deployment", index, &app),
            ),
        ]
    }

    fn controller(&self, number: usize) -> [Made; 2] {
        let driver = self.drivers()[number];
        let app = format!("csi-controller-{number}");
        let template = Template {
            app: &app,
            replicas: 2,
            containers: controller_spec(driver),
            service_account: &app,
        };
        let set = format!("{app}-7d9c5b6f4");
        let index = 1_000_000 + number;
        [
            self.deployed("Deployment", index, driver.namespace, &app, &template, Value::Null),
            self.deployed(
                "ReplicaSet",
                index,
                driver.namespace,
                &set,
                &template,
                owner(self, "apps/v1", "Deployment", index, &app),
            ),
        ]
    }

    fn deployed(
        &self,
        kind: &'static str,
        index: usize,
        namespace: &str,
        name: &str,
        template: &Template<'_>,
        owners: Value,
    ) -> Made {
        let meta =
            Meta { owners, ..self.workload_meta(kind, index, namespace, name, template.app) };
        let replicas = template.replicas;
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": meta.build(self),
            "spec": template.spec(),
            "status": { "availableReplicas": replicas, "readyReplicas": replicas, "replicas": replicas },
        });
        Made { registry: if kind == "Deployment" { "deployments" } else { "replicasets" }, object }
    }
}

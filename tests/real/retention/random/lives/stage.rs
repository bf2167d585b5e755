//! The cluster of all lives, whose controller manager is restarted when everything is at rest.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kubectl_storage::client::Connection;
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard};
use tokio::time::sleep;

use super::super::super::foretell::connection;
use super::super::api::Api;
use crate::support::{Cluster, Options};

const CONTROLLER_ARGS: &[&str] = &[
    // Claims stay Pending, and nobody complains of that.
    "--controllers=-persistentvolume-binder-controller",
    "--concurrent-statefulset-syncs=20",
    "--kube-api-qps=2000",
    "--kube-api-burst=4000",
];
const CANARY: &str = "canary";
const DEAD: &str = "00000000-dead-4000-8000-000000000000";
const POLL: Duration = Duration::from_millis(250);
/// Controllers that do nothing for so long after a restart have not come back.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) struct Stage {
    pub(super) cluster: Cluster,
    pub(super) connection: Connection,
    /// Whoever takes a step reads; whoever restarts the controllers writes.
    steps: RwLock<()>,
    pub(super) restarts: AtomicU64,
    canary: Api,
}

impl Stage {
    pub(super) async fn set(cluster: Cluster) -> Self {
        let connection = connection(&cluster).await;
        let canary = Api::make(connection.client.clone(), CANARY.to_owned()).await;
        canary.create("statefulsets", &set()).await;
        let stage = Self {
            cluster,
            connection,
            steps: RwLock::default(),
            restarts: AtomicU64::new(0),
            canary,
        };
        stage.wait_for_controllers().await;
        stage
    }

    pub(super) fn options() -> Options<'static> {
        Options {
            controllers: true,
            kwok: true,
            nodes: 1,
            controller_args: CONTROLLER_ARGS,
            ..Options::default()
        }
    }

    /// Takes a step: the controllers are not restarted before it has settled.
    pub(super) async fn step(&self) -> RwLockReadGuard<'_, ()> {
        self.steps.read().await
    }

    /// Restarts the controllers when all steps have settled, unless somebody has done so since this was asked for.
    pub(super) async fn restart(&self) {
        let asked = self.restarts.load(Ordering::SeqCst);
        let _alone = self.steps.write().await;
        if self.restarts.load(Ordering::SeqCst) > asked {
            return;
        }
        // Nobody else has anything to do meanwhile.
        self.cluster.restart_controllers(CONTROLLER_ARGS);
        self.wait_for_controllers().await;
        self.restarts.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until the garbage collector deletes what has no owner, and the controller of sets looks at one.
    async fn wait_for_controllers(&self) {
        let doomed = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "doomed", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": DEAD},
            ]},
        });
        self.canary.create("configmaps", &doomed).await;
        let seconds = self.restarts.load(Ordering::SeqCst) + 1;
        let patch = json!({"spec": {"minReadySeconds": seconds}});
        self.canary.patch("statefulsets", CANARY, &patch).await;
        let start = Instant::now();
        loop {
            let map = self.canary.get("configmaps", "doomed").await;
            let set = self.canary.get("statefulsets", CANARY).await.unwrap_or_default();
            let seen = set["status"]["observedGeneration"] == set["metadata"]["generation"];
            if map.is_none() && seen {
                return;
            }
            assert!(start.elapsed() < LIMIT, "the controllers are not at work: {map:?} {set}");
            sleep(POLL).await;
        }
    }
}

fn set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": CANARY},
        "spec": {
            "replicas": 0, "serviceName": "",
            "selector": {"matchLabels": {"app": CANARY}},
            "template": {
                "metadata": {"labels": {"app": CANARY}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            },
        },
    })
}

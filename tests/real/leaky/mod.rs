//! A cluster that has leaked for two years, and its copy in `examples/`.
//!
//! Most of it is written into etcd with the stamps that an old cluster would have; what real controllers make of it
//! when they start is theirs.

pub(crate) mod old;
mod plant;

use std::path::Path;
use std::sync::LazyLock;

use serde_json::json;

use crate::support::{Cluster, Driver, DriverOptions, Options, Run, eventually, pod};

/// The driver that is installed.
const LIVE: &str = "disk.csi.example";
/// The driver that was uninstalled long ago.
const GONE: &str = "legacy.csi.example";

const EXAMPLE: &str = "examples/leaky-cluster.json.gz";

/// With its driver, which runs until it is dropped.
static LEAKY: LazyLock<(Cluster, Driver)> = LazyLock::new(plant);

/// The cluster; tests only look at it.
pub(crate) fn leaky() -> &'static Cluster {
    &LEAKY.0
}

fn plant() -> (Cluster, Driver) {
    let seed = plant::objects();
    let cluster = Cluster::start(Options { seed: &seed, ..Options::COMPLETE });
    let driver = cluster.start_driver(LIVE, &DriverOptions::default());
    for (namespace, claim) in plant::USED {
        let mut pod = pod(claim, claim);
        pod["metadata"]["namespace"] = json!(namespace);
        cluster.create(&pod);
    }
    for (namespace, claim) in plant::USED {
        let running = [
            "wait",
            &format!("pod/{claim}"),
            "-n",
            namespace,
            "--for=jsonpath={.status.phase}=Running",
            "--timeout=45s",
        ];
        cluster.kubectl(&running);
    }
    cluster.kubectl(&["delete", "pvc/cart", "-n", "shop", "--wait=false"]);
    settle(&cluster);
    (cluster, driver)
}

/// Waits until the controllers have said all that they will say.
fn settle(cluster: &Cluster) {
    let phase =
        |namespace, object| cluster.get(namespace, object).map(|it| it["status"]["phase"].clone());
    eventually("the undeletable folder has failed", || {
        phase("", "pv/reports") == Some(json!("Failed"))
    });
    eventually("the claim without a volume is lost", || {
        phase("analytics", "pvc/features") == Some(json!("Lost"))
    });
    eventually("the provisioner protects what it may delete", || {
        ["pv/legacy-db", "pv/team-a-db", "pv/cart"].iter().all(|volume| {
            let volume = cluster.get("", volume).unwrap_or_default();
            volume["metadata"]["finalizers"].to_string().contains("external-provisioner")
        })
    });
}

/// With `RECORD_EXAMPLE=FILE` saves the example there; without, holds that the shipped one is what an audit of such a
/// cluster sees today.
#[test]
fn record_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if let Ok(file) = std::env::var("RECORD_EXAMPLE") {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().expect("because it is in a folder"))
            .expect("because it is ours");
        let file = file.display().to_string();
        let saved = Run::of(&["dump", &file]).kubeconfig(leaky().kubeconfig()).go();
        assert_eq!(saved.code, Some(0), "{}", saved.stderr);
        crate::support::say(&format!("{}", leaky().audit(&[])));
        return;
    }
    let shipped = root.join(EXAMPLE).display().to_string();
    let shipped = Run::of(&["audit", "-o", "json", "-f", &shipped]).go().report();
    let live = leaky().audit(&[]);
    assert_eq!(shipped.pairs(), live.pairs(), "left: {EXAMPLE}, right: a cluster of today");
    assert_eq!(shipped.gaps(), live.gaps());
}

//! What `df` holds in memory while a thousand kubelets answer with 2 MiB each: no more than while a hundred do.
//!
//! `cargo bench --bench kubelets`; docs/benchmarks.md explains what is measured.

mod measure;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::{ExitCode, Stdio},
    sync::Arc,
    thread,
};

use clap::Parser;
use serde_json::{Value, json};

use measure::{HEADER, Runs, Verdict, end, mebibytes, run, say, tool};

/// How much more memory a node may take: its own row, and which of the claims it has measured.
const OF_NODE: u64 = 8 << 10;

/// Asks made-up kubelets how full volumes are.
#[derive(Debug, Parser)]
struct Args {
    /// Nodes, few and many
    #[arg(long, value_delimiter = ',', default_value = "100,1000")]
    nodes: Vec<usize>,
    /// Claims of all nodes together, which are as many each time
    #[arg(long, default_value_t = 2000)]
    claims: usize,
    /// Bytes of the answer of a kubelet
    #[arg(long, default_value_t = 2 << 20)]
    bytes: usize,
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("kubelets", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let [few, many] = args.nodes[..] else { return Err(io::ErrorKind::InvalidInput.into()) };
    say(HEADER);
    let (fewer, more) = (peak(args, few)?, peak(args, many)?);
    let bound = fewer + OF_NODE * many.saturating_sub(few) as u64;
    let mut verdict = Verdict::default();
    verdict.bound(
        &format!(
            "peak RSS {} with {many} nodes, at most {}: that with {few}, and {OF_NODE} bytes for each node more",
            mebibytes(more),
            mebibytes(bound)
        ),
        fewer > 0 && more <= bound,
    );
    Ok(verdict.exit())
}

/// Returns the most memory that `df` needs where so many nodes have the claims.
fn peak(args: &Args, nodes: usize) -> io::Result<u64> {
    let folder = tempfile::tempdir()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "made-up",
        "clusters": [{"name": "made-up", "cluster": {"server": format!("http://{}", listener.local_addr()?)}}],
        "contexts": [{"name": "made-up", "context": {"cluster": "made-up", "user": "made-up"}}],
        "users": [{"name": "made-up", "user": {}}],
    });
    fs::write(&kubeconfig, config.to_string())?;
    let cluster = Arc::new(Cluster::made_up(args, nodes));
    // It ends with the bench.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let cluster = Arc::clone(&cluster);
            thread::spawn(move || cluster.serve(&stream));
        }
    });
    let mut runs = Runs::default();
    for number in 0..=args.runs {
        let printed = folder.path().join("printed.json");
        let mut command = tool(folder.path());
        command.arg("--kubeconfig").arg(&kubeconfig).args(["df", "-o", "json"]);
        command.stdout(fs::File::create(&printed)?).stderr(Stdio::null());
        let run = run(&mut command)?;
        let report: Value = serde_json::from_str(&fs::read_to_string(&printed)?)?;
        if report["summary"]["measured"] != args.claims {
            return Err(io::Error::other(format!("{}: {}", run.status, report["summary"])));
        }
        // The first does not count.
        if number > 0 {
            runs.0.push(run);
        }
    }
    say(&runs.line(&format!("df, {nodes} nodes of {}", mebibytes(args.bytes as u64))));
    Ok(runs.peak())
}

/// A made-up cluster whose claims are spread over its nodes.
struct Cluster {
    /// Answers by path.
    documents: BTreeMap<String, String>,
    /// What the kubelet of each node tells of its pods with claims.
    pods: Vec<String>,
    /// What each kubelet tells of other pods.
    others: String,
}

impl Cluster {
    fn made_up(args: &Args, nodes: usize) -> Self {
        let created = "2026-01-01T00:00:00Z";
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        let of_cluster =
            |name: String| json!({"name": name, "uid": name, "creationTimestamp": created});
        let in_shop = |name: String| json!({"name": name, "uid": name, "namespace": "shop", "creationTimestamp": created});
        let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        let mut pods = vec![String::new(); nodes];
        for number in 0..nodes {
            let node = json!({"metadata": of_cluster(format!("node-{number}")), "status": {"conditions": [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": created},
            ]}});
            lists.entry("nodes").or_default().push(node);
        }
        for number in 0..args.claims {
            let [pod, claim, volume] =
                ["pod", "claim", "volume"].map(|it| format!("{it}-{number}"));
            let size = json!({"storage": "10Gi"});
            lists.entry("persistentvolumes").or_default().push(json!({
                "metadata": of_cluster(volume.clone()),
                "spec": {
                    "capacity": size, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Delete",
                    "csi": {"driver": "disk.example.com", "volumeHandle": volume},
                    "claimRef": {"namespace": "shop", "name": claim, "uid": claim},
                },
                "status": {"phase": "Bound"},
            }));
            lists.entry("persistentvolumeclaims").or_default().push(json!({
                "metadata": in_shop(claim.clone()),
                "spec": {"volumeName": volume, "accessModes": ["ReadWriteOnce"], "resources": {"requests": size}},
                "status": {"phase": "Bound", "capacity": size},
            }));
            lists.entry("pods").or_default().push(json!({
                "metadata": in_shop(pod.clone()),
                "spec": {
                    "nodeName": format!("node-{}", number % nodes), "containers": [{"name": "app", "image": "app"}],
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
                },
                "status": {"phase": "Running"},
            }));
            // No two alike: those would be one file system.
            let (used, all) = ((number as u64 + 1) * 4096, 10_u64 << 30);
            let told = json!({
                "podRef": {"name": pod, "namespace": "shop", "uid": pod},
                "volume": [{
                    "time": now, "name": "data", "pvcRef": {"name": claim, "namespace": "shop"},
                    "capacityBytes": all, "usedBytes": used, "availableBytes": all - used,
                    "inodes": 655_360, "inodesUsed": 11, "inodesFree": 655_349,
                }],
            });
            pods[number % nodes].push(',');
            pods[number % nodes].push_str(&told.to_string());
        }
        let others = |number: usize| {
            json!({
                "podRef": {"name": format!("other-{number}"), "namespace": "kube-system", "uid": number.to_string()},
                "containers": [{"name": "app", "cpu": {"time": now, "usageNanoCores": number}, "memory": {"time": now, "rssBytes": number}}],
                "volume": [{"time": now, "name": "token", "capacityBytes": 1 << 30, "usedBytes": 12_288, "availableBytes": 1 << 20}],
            })
        };
        let mut filler = others(0).to_string();
        let mut number = 0;
        while filler.len() < args.bytes {
            number += 1;
            filler.push(',');
            filler.push_str(&others(number).to_string());
        }
        Self { documents: documents(lists), pods, others: filler }
    }

    /// Answers the requests of a connection until it is closed.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut requests = BufReader::new(stream);
        loop {
            let mut first = String::new();
            if requests.read_line(&mut first)? == 0 {
                return Ok(());
            }
            let path = first.split(' ').nth(1).unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default();
            let mut header = String::new();
            while requests.read_line(&mut header)? > 2 {
                header.clear();
            }
            let kubelet = path.strip_prefix("/api/v1/nodes/node-");
            let kubelet = kubelet
                .and_then(|it| it.strip_suffix("/proxy/stats/summary")?.parse::<usize>().ok());
            let (code, parts) = if let Some(node) = kubelet {
                let head = format!("{{\"node\":{{\"nodeName\":\"node-{node}\"}},\"pods\":[");
                (200, vec![head, self.others.clone(), self.pods[node].clone(), "]}".to_owned()])
            } else if let Some(document) = self.documents.get(path) {
                (200, vec![document.clone()])
            } else {
                (404, vec!["404 page not found\n".to_owned()])
            };
            let length: usize = parts.iter().map(String::len).sum();
            let date = chrono::Utc::now().format("%a, %d %b %Y %H:%M:%S GMT");
            let mut stream = stream;
            write!(
                stream,
                "HTTP/1.1 {code} X\r\nDate: {date}\r\nContent-Type: application/json\r\nAudit-Id: x\r\nContent-Length: {length}\r\n\r\n"
            )?;
            parts.iter().try_for_each(|it| stream.write_all(it.as_bytes()))?;
        }
    }
}

/// Returns what an API server with these objects answers.
fn documents(mut lists: BTreeMap<&str, Vec<Value>>) -> BTreeMap<String, String> {
    let mut documents = BTreeMap::from([("/readyz".to_owned(), "ok".to_owned())]);
    let mut take = |path: String, document: Value| documents.insert(path, document.to_string());
    take("/version".to_owned(), json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3"}));
    take("/api".to_owned(), json!({"kind": "APIVersions", "versions": ["v1"]}));
    let mut groups = Vec::new();
    for (group, kinds) in SERVED {
        let root = match group.rsplit_once('/') {
            Some((name, version)) => {
                let served = json!({"groupVersion": group, "version": version});
                groups
                    .push(json!({"name": name, "versions": [served], "preferredVersion": served}));
                format!("/apis/{group}")
            }
            None => format!("/api/{group}"),
        };
        let mut resources = Vec::new();
        for (plural, kind, is_namespaced) in *kinds {
            resources.push(json!({
                "name": plural, "kind": kind, "namespaced": is_namespaced, "verbs": ["get", "list", "watch"],
            }));
            take(
                format!("{root}/{plural}"),
                json!({
                    "apiVersion": group, "kind": format!("{kind}List"), "metadata": {"resourceVersion": "1"},
                    "items": lists.remove(plural).unwrap_or_default(),
                }),
            );
        }
        take(
            root,
            json!({"kind": "APIResourceList", "groupVersion": group, "resources": resources}),
        );
    }
    take("/apis".to_owned(), json!({"kind": "APIGroupList", "groups": groups}));
    documents
}

/// A group with its version, and its kinds: plural, kind, and whether it is in namespaces.
type ServedGroup = (&'static str, &'static [(&'static str, &'static str, bool)]);

/// What the cluster serves.
const SERVED: &[ServedGroup] = &[
    (
        "v1",
        &[
            ("nodes", "Node", false),
            ("namespaces", "Namespace", false),
            ("events", "Event", true),
            ("pods", "Pod", true),
            ("persistentvolumes", "PersistentVolume", false),
            ("persistentvolumeclaims", "PersistentVolumeClaim", true),
            ("replicationcontrollers", "ReplicationController", true),
        ],
    ),
    (
        "apps/v1",
        &[
            ("deployments", "Deployment", true),
            ("replicasets", "ReplicaSet", true),
            ("statefulsets", "StatefulSet", true),
            ("daemonsets", "DaemonSet", true),
        ],
    ),
    ("batch/v1", &[("jobs", "Job", true), ("cronjobs", "CronJob", true)]),
    ("coordination.k8s.io/v1", &[("leases", "Lease", true)]),
    (
        "storage.k8s.io/v1",
        &[
            ("storageclasses", "StorageClass", false),
            ("csidrivers", "CSIDriver", false),
            ("csinodes", "CSINode", false),
            ("volumeattachments", "VolumeAttachment", false),
        ],
    ),
];

//! The commands that `explain usage` prints, asked of a real Prometheus over blocks that promtool made.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use chrono::{SecondsFormat, Utc};
use serde_json::{Value, json};

use super::claim_of;
use super::node::{pasted, printed, succeeds};
use crate::support::{Outcome, Run, eventually, program};

const GI: u64 = 1 << 30;
const DAY: i64 = 86_400;
/// Size of each volume.
const SIZE: u64 = 100 * GI;
/// Seconds from a sample to the next: less than the five minutes after which Prometheus calls a series stale.
const SCRAPE: usize = 240;

/// How much of a volume is available, so many days before now.
type Available = fn(f64) -> f64;

/// What a series says where so much is available.
type Figure = fn(u64) -> u64;

/// Claims, the days of which there are samples, and how full they were.
const CLAIMS: [(&str, i64, Available); 4] = [
    ("filling", 15, |days| 22.5 + 5.0 * days),
    ("burst", 15, |days| 30.0 + 14.0 * days.min(1.0)),
    ("steady", 15, |_| 60.0),
    ("young", 3, |days| 10.0 + 5.0 * days),
];

#[test]
#[ignore = "extended suite: a real Prometheus"]
fn the_printed_queries_tell_how_full_volumes_are_and_when_they_will_be() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let folder = folder.path();
    make_blocks(folder, &CLAIMS, &[""]);
    let prometheus = Prometheus::start(folder, "");
    let [now, history] = &*queries() else { panic!("two queries are printed") };
    prometheus.answers(folder, now);
    let told = report(&df(folder, 0));
    for (name, _, available) in CLAIMS {
        let (shown, available) = (claim_of(&told, name), bytes(available(0.0)));
        assert_eq!(shown["capacityBytes"], SIZE, "{name}");
        assert!(is_about(&shown["availableBytes"], available), "{name}: {shown:#}");
        assert!(is_about(&shown["usedBytes"], SIZE - available), "{name}: {shown:#}");
        assert_eq!(
            (&shown["state"], &shown["node"]),
            (&"measured".into(), &"node-1".into()),
            "{name}"
        );
        assert_eq!(
            (&shown["since"], &shown["fullInSeconds"]),
            (&Value::Null, &Value::Null),
            "{name}"
        );
    }

    prometheus.answers(folder, history);
    let told = report(&df(folder, 0));
    let days = |name: &str| claim_of(&told, name)["fullInSeconds"].as_i64().map(|it| it * 10 / DAY);
    // The last hours of what fills are a little less: the samples are of every hour.
    assert!(days("filling").is_some_and(|it| (44..=45).contains(&it)), "{told:#}");
    // By the rate of the week, which is slower.
    assert!(days("burst").is_some_and(|it| (145..=152).contains(&it)), "{told:#}");
    assert_eq!((days("steady"), days("young")), (None, None), "{told:#}");
    let peak = &claim_of(&told, "filling")["peakUsedBytes"];
    assert!(is_about(peak, SIZE - bytes(22.5)), "{told:#}");
    let table = run(folder).go().stdout;
    let notes: Vec<_> = table.lines().filter_map(|it| it.split_once("full in about ")).collect();
    let [(row, when)] = *notes else { panic!("one will soon be full: {table}") };
    assert!(row.contains(" filling ") && when.starts_with("4d"), "{table}");

    // A Prometheus that cannot ask another one says that its answer is partial.
    drop(prometheus);
    let unreachable = "remote_read: [{url: 'http://127.0.0.1:1/read', read_recent: true}]";
    let partial = Prometheus::start(folder, unreachable);
    for query in [now, history] {
        partial.answers(folder, query);
        let ran = df(folder, 4);
        let gap = "usage.json is partial, its source says: remote_read";
        assert!(ran.stderr.contains(gap), "{}", ran.stderr);
        assert_eq!(claim_of(&report(&ran), "filling")["state"], "measured");
    }
}

#[test]
#[ignore = "extended suite: a real Prometheus"]
fn of_several_clusters_one_is_chosen_as_it_is_printed() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let folder = folder.path();
    make_blocks(folder, &CLAIMS[..1], &[",cluster=\"east\"", ",cluster=\"west\""]);
    let prometheus = Prometheus::start(folder, "");
    let queries = queries();
    let whole = "'query={__name__=~\"kubelet_volume_stats_.*\"}'";
    let printed = printed();
    let one = printed.lines().map(str::trim).find(|it| it.contains("cluster=\"NAME\""));
    let one = one.expect("because it is printed").replace("NAME", "west");
    for query in &queries {
        prometheus.answers(folder, query);
        let refused = df(folder, 1);
        let why = "it is about several clusters: label cluster is \"east\" and \"west\"";
        assert!(refused.stderr.contains(why) && refused.stdout.is_empty(), "{}", refused.stderr);
        assert!(query.contains(whole), "{query}");
        prometheus.answers(folder, &query.replace(whole, &one));
        assert_eq!(claim_of(&report(&df(folder, 0)), "filling")["state"], "measured");
    }
}

/// The commands about Prometheus that are printed.
fn queries() -> Vec<String> {
    let printed = printed();
    let paragraphs = printed.split("\n\n");
    let commands = paragraphs.filter_map(|it| it.find("  curl ").map(|at| it[at..].to_owned()));
    commands.collect()
}

/// A Prometheus on the blocks of a folder; it ends with the test.
struct Prometheus {
    process: Child,
    url: String,
}

impl Prometheus {
    fn start(folder: &Path, config: &str) -> Self {
        let file = folder.join("prometheus.yml");
        fs::write(&file, config).expect("the folder is writable");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = format!("127.0.0.1:{}", port.expect("because a port is free").port());
        let log = fs::File::create(folder.join("prometheus.log")).expect("the folder is writable");
        let process = Command::new(program("prometheus"))
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .args(["--storage.tsdb.retention.time=60d", "--log.level=warn"])
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("because the testbed has it");
        let url = format!("http://{address}");
        let mut prometheus = Self { process, url };
        eventually("Prometheus answers", || {
            let ended = prometheus.process.try_wait().expect("because it was started");
            let log = || fs::read_to_string(folder.join("prometheus.log")).unwrap_or_default();
            assert!(ended.is_none(), "Prometheus ended: {}", log());
            let ready = format!("{}/-/ready", prometheus.url);
            let asked = Command::new("curl").args(["-sf", &ready]).stdout(Stdio::null()).status();
            asked.expect("because the printed commands need curl").success()
        });
        prometheus
    }

    /// Runs a printed command, which writes usage.json.
    fn answers(&self, folder: &Path, command: &str) {
        let command = format!("export PROMETHEUS={}\n{command}", self.url);
        let asked = pasted(&command, folder, Path::new("/dev/null"));
        let said = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success() && said.is_empty(), "{command}: {said}");
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes blocks with samples of claims until some minutes after now, and a dump that has these claims.
fn make_blocks(folder: &Path, claims: &[(&str, i64, Available)], labels: &[&str]) {
    let now = Utc::now();
    let mut text = String::new();
    let figures: [(&str, Figure); 5] = [
        ("available_bytes", |available| available),
        ("capacity_bytes", |_| SIZE),
        ("inodes", |_| 1000),
        ("inodes_used", |_| 11),
        ("used_bytes", |available| SIZE - available),
    ];
    for (what, figure) in figures {
        let metric = format!("kubelet_volume_stats_{what}");
        writeln!(text, "# TYPE {metric} gauge").expect("because it is memory");
        for ((name, days, available), more) in
            claims.iter().flat_map(|it| labels.iter().map(move |more| (it, more)))
        {
            for before in (-1200..=days * DAY).rev().step_by(SCRAPE) {
                #[expect(clippy::cast_precision_loss, reason = "it is small")]
                let value = figure(bytes(available(before.max(0) as f64 / 86_400.0)));
                let at = now.timestamp() - before;
                let labels = format!(
                    "job=\"kubelet\",instance=\"10.0.0.1:10250\",node=\"node-1\",namespace=\"shop\",persistentvolumeclaim=\"{name}\"{more}"
                );
                writeln!(text, "{metric}{{{labels}}} {value} {at}").expect("because it is memory");
            }
        }
    }
    text.push_str("# EOF\n");
    let samples = folder.join("samples.txt");
    fs::write(&samples, text).expect("the folder is writable");
    let blocks = folder.join("data");
    succeeds(Command::new(program("promrules")).arg("blocks").arg(&samples).arg(blocks));

    let node = json!({"name": "node-1", "uid": "node-1"});
    let mut objects = vec![json!({"apiVersion": "v1", "kind": "Node", "metadata": node})];
    for (name, ..) in claims {
        let meta =
            |it: &str| json!({"name": it, "uid": it, "creationTimestamp": "2026-01-01T00:00:00Z"});
        let (mut of_claim, of_volume) = (meta(name), meta(&format!("pv-{name}")));
        of_claim["namespace"] = json!("shop");
        objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": of_volume,
            "spec": {
                "capacity": {"storage": "100Gi"}, "persistentVolumeReclaimPolicy": "Delete",
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": format!("vol-{name}")},
                "claimRef": {"namespace": "shop", "name": name, "uid": name},
            },
            "status": {"phase": "Bound"},
        }));
        objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": of_claim,
            "spec": {"volumeName": format!("pv-{name}"), "resources": {"requests": {"storage": "100Gi"}}},
            "status": {"phase": "Bound", "capacity": {"storage": "100Gi"}},
        }));
    }
    let dump = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    fs::write(folder.join("dump.json"), dump.to_string()).expect("the folder is writable");
}

/// A run of `df` of the dump by usage.json.
fn run(folder: &Path) -> Run {
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
    let [dump, usage] = ["dump.json", "usage.json"].map(|it| folder.join(it).display().to_string());
    Run::of(&["df", "-f", &dump, "--complete", "all", "--taken-at", &now, "--usage", &usage])
}

/// Runs it, and holds that it ends so.
fn df(folder: &Path, code: i32) -> Outcome {
    let ran = run(folder).more(&["-o", "json"]).go();
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    ran
}

fn report(ran: &Outcome) -> Value {
    serde_json::from_str(&ran.stdout).expect("it is JSON")
}

fn bytes(gibibytes: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let mebibytes = (gibibytes * 1024.0) as u64;
    mebibytes << 20
}

/// Whether a number of bytes is this one, but for what changes in an hour.
fn is_about(shown: &Value, bytes: u64) -> bool {
    shown.as_u64().is_some_and(|it| it.abs_diff(bytes) < GI / 2)
}

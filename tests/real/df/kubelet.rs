//! What a real kubelet measures of volumes that are really mounted, and what `df` makes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::claim_of;
use super::node::{Df, NODE, Node, bound, pasted, printed_command, succeeds, used};
use crate::support::{ADDRESS, Finding, PersistentVolume, Run, Scenario, alone, eventually};

/// A driver that tells how full its volumes are, and one that does not.
const TELLS: &str = "tells.csi.example";
const SILENT: &str = "silent.csi.example";

/// Claims whose volumes are measured, each in a file system of its own.
const MEASURED: [&str; 7] = ["tmpfs", "ext4", "reserved", "full", "full-for-all", "inodes", "csi"];

#[test]
#[ignore = "extended suite: a real kubelet"]
fn df_says_to_the_byte_what_df_says_in_the_pod() {
    alone(|| {
        let node = Node::start(&[(TELLS, &[]), (SILENT, &["--without-volume-stats"])]);
        let on = Scenario::on(&node.cluster);
        users(&node, &on);
        on.wait_phase("pod/csi-silent", "Running");
        let asked_before = node.answered(SILENT, "NodeGetCapabilities");
        eventually("the kubelet has asked whether the driver tells", || {
            node.answered(SILENT, "NodeGetCapabilities") > asked_before
        });
        let awaited = [&MEASURED[..], &["one", "other", "block"]].concat();
        let summary = measured(&node, &awaited);
        let shown = df(&node, &[&summary], 0);
        is_that_of_df(&node, &on, &shown);
        assert_eq!(claim_of(&shown, "csi")["node"], NODE);
        let table = Run::of(&["df", "--usage", &summary.display().to_string()]);
        let table = table.kubeconfig(node.cluster.kubeconfig()).go().stdout;
        for name in MEASURED {
            let real = Df::of(&node.mounted(&on, name));
            let row = table.lines().find(|it| it.split_whitespace().nth(1) == Some(name));
            let words: Vec<_> = row.expect("it has a row").split_whitespace().collect();
            assert_eq!(words[4..6], [real.percent, real.inodes_percent], "{table}");
        }
        // A kubelet says that nothing is used, and nothing available, of what it does not measure.
        let block = measured_of(&read(&summary), "block").expect("because it was awaited");
        assert_eq!(
            (&block["usedBytes"], &block["availableBytes"]),
            (&0.into(), &0.into()),
            "{block:#}"
        );

        // The tool asks the kubelet itself, and a dump keeps what it said.
        is_that_of_df(&node, &on, &df(&node, &[], 0));
        let dump = folder().join("dump.json.gz");
        let saved = Run::of(&["dump", &dump.display().to_string(), "--usage", "kubelet"]);
        let saved = saved.kubeconfig(node.cluster.kubeconfig()).go();
        assert_eq!(saved.code, Some(0), "{}", saved.stderr);
        let kept = Run::of(&["df", "-o", "json", "-f", &dump.display().to_string()]).go();
        assert_eq!(kept.code, Some(0), "{}", kept.stderr);
        is_that_of_df(&node, &on, &serde_json::from_str(&kept.stdout).expect("it is JSON"));
        let found = node.cluster.audit(&["--usage", "kubelet", "--rule", "pvc-nearly-full"]);
        let name = |it: &Finding<'_>| it.0["object"]["name"].as_str().map(str::to_owned);
        let full: Vec<_> = found.findings().filter_map(|it| name(&it)).collect();
        assert_eq!(full.len(), 2, "{full:?}");
        assert!(full.iter().all(|it| it.starts_with("full")), "{full:?}");

        // The text of its metrics tells the same, without times.
        let command =
            printed_command(NODE).replace("stats/summary", "metrics").replace(".json", ".txt");
        asked(&node, "", &command).expect("it answers");
        let shown = df(&node, &[&folder().join(format!("usage-{NODE}.txt"))], 0);
        is_that_of_df(&node, &on, &shown);
        assert_eq!(claim_of(&shown, "csi")["measuredAt"], Value::Null);

        // One driver was asked, and the other one could not be.
        assert!(node.answered(TELLS, "NodeGetVolumeStats") > 0);
        assert_eq!(node.answered(SILENT, "NodeGetVolumeStats"), 0);
        assert!(node.answered(SILENT, "NodePublishVolume") > 0);
    });
}

#[test]
#[ignore = "extended suite: a real kubelet"]
fn a_node_that_is_dead_and_a_user_who_may_not_ask_leave_the_rest_as_it_is() {
    alone(|| {
        let node = Node::start(&[]);
        let on = Scenario::on(&node.cluster);
        let local =
            |name: &str, path: &Path, node| PersistentVolume::local(&on.named(name), path, node);
        let place = node.tmpfs("lives", 16);
        write(&place, 4_000_000);
        used(&on, "lives", local("lives", &place, NODE), 16);
        // A node that was, at whose address nothing listens.
        let dead = "node-2";
        node.cluster
            .create(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": dead}}));
        node.cluster.patch_status(
            "",
            &format!("node/{dead}"),
            &json!({"status": {
                "addresses": [{"type": "InternalIP", "address": ADDRESS}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
            }}),
        );
        let mut lost = bound(&on, "lost", local("lost", &place, dead), 16);
        lost["spec"]["nodeName"] = json!(dead);
        on.create(&lost);
        let summary = measured(&node, &["lives"]);

        let unanswered = asked(&node, "", &printed_command(dead)).expect_err("it is dead");
        assert!(unanswered.contains("connection refused"), "{unanswered}");
        // The shell has made the file.
        let empty = folder().join(format!("usage-{dead}.json"));
        let shown = df(&node, &[&summary, &empty], 4);
        let gaps = shown["gaps"].as_array().expect("because it is a list");
        let reasons: Vec<_> = gaps.iter().filter_map(|it| it["reason"].as_str()).collect();
        assert!(matches!(*reasons, [one] if one.ends_with("it is empty")), "{reasons:?}");
        assert_eq!(claim_of(&shown, "lives")["usedPercent"], json!(24), "{shown:#}");
        assert_eq!(claim_of(&shown, "lost")["reason"], json!("not in the figures"));

        // What a kubelet itself asks for is not enough: the API server wants what lets one run commands in pods.
        let may = |resources: &[&str]| json!([{"apiGroups": [""], "resources": resources, "verbs": ["get"]}]);
        node.cluster.grant("user-1", &may(&["nodes/stats", "nodes/metrics"]));
        node.cluster.grant("user-2", &may(&["nodes/proxy"]));
        let refused = asked(&node, "user-1", &printed_command(NODE)).expect_err("it may not");
        assert!(refused.contains("Forbidden") && refused.contains("nodes/proxy"), "{refused}");
        asked(&node, "user-2", &printed_command(NODE)).expect("it may");

        // Asked by the tool: the dead node is a gap, and the rest stands.
        let shown = df(&node, &[], 4);
        assert_eq!(claim_of(&shown, "lives")["usedPercent"], json!(24), "{shown:#}");
        assert_eq!(claim_of(&shown, "lost")["reason"], json!("node node-2: connection refused"));
        let gaps = shown["gaps"].as_array().expect("because it is a list");
        let reasons: Vec<_> = gaps.iter().filter_map(|it| it["reason"].as_str()).collect();
        assert_eq!(reasons, ["the kubelet of node node-2: connection refused"]);
        // What audit may is not enough, and says what is; the printed role is.
        let rules = |role: &str| {
            let printed = Run::of(&["rbac", role]).go().stdout;
            let role = printed.split("---").next().unwrap_or_default();
            let role: Value = serde_yaml::from_str(role).expect("it is YAML");
            role["rules"].clone()
        };
        node.cluster.grant("user-3", &rules("audit"));
        node.cluster.grant("user-4", &rules("df"));
        let as_user = |user: &str| {
            let kubeconfig = node.cluster.kubeconfig_of(user);
            Run::of(&["df"]).kubeconfig(&kubeconfig).go()
        };
        let refused = as_user("user-3");
        assert_eq!((refused.code, &*refused.stdout), (Some(1), ""), "{}", refused.stderr);
        for said in ["nodes/proxy", "kubectl storage explain usage"] {
            assert!(refused.stderr.contains(said), "{}", refused.stderr);
        }
        let granted = as_user("user-4");
        assert_eq!(granted.code, Some(4), "{}", granted.stderr);
        assert!(granted.stdout.contains("lives"), "{}", granted.stdout);
    });
}

/// Holds that `df` says of each claim what df(1) says of what the kubelet has mounted, and knows nothing of the others.
fn is_that_of_df(node: &Node, on: &Scenario, report: &Value) {
    let shown = |name: &str| claim_of(report, name);
    for name in MEASURED {
        let (shown, real) = (shown(name), Df::of(&node.mounted(on, name)));
        let number =
            |field: &str| shown[field].as_u64().unwrap_or_else(|| panic!("{name}: {shown:#}"));
        let told = Df {
            size: number("capacityBytes"),
            used: number("usedBytes"),
            available: number("availableBytes"),
            inodes: number("inodes"),
            inodes_used: number("inodesUsed"),
            percent: format!("{}%", number("usedPercent")),
            inodes_percent: format!("{}%", number("inodesUsedPercent")),
        };
        assert_eq!(told, real, "{name}");
        assert_eq!(shown["state"], "measured", "{name}");
        assert_eq!(shown["usedBy"], format!("pod/{name}"));
    }
    let percent = |name: &str, field: &str| shown(name)[field].as_u64();
    // What is reserved is no room: it is full though not all is used.
    let full = Df::of(&node.mounted(on, "full"));
    assert!(full.available == 0 && full.used < full.size * 96 / 100, "{full:?}");
    assert_eq!(percent("full", "usedPercent"), Some(100));
    assert_eq!(percent("full-for-all", "usedPercent"), Some(100));
    let reserved = Df::of(&node.mounted(on, "reserved"));
    assert!(reserved.used + reserved.available < reserved.size * 90 / 100, "{reserved:?}");
    // Out of inodes, with room.
    assert_eq!(percent("inodes", "inodesUsedPercent"), Some(100));
    assert!(percent("inodes", "usedPercent").is_some_and(|it| it < 50));

    for (name, why) in
        [("block", "block"), ("csi-silent", "not in the figures"), ("idle", "not mounted")]
    {
        let shown = shown(name);
        assert_eq!((&shown["state"], &shown["reason"]), (&"unknown".into(), &why.into()), "{name}");
        assert_eq!(shown["usedPercent"], Value::Null, "{name}");
    }
    // Two directories of one file system.
    for name in ["one", "other"] {
        assert_eq!(shown(name)["state"], "shared");
    }
}

/// Has pods use volumes of every kind.
fn users(node: &Node, on: &Scenario) {
    let local = |name: &str, path: &Path| PersistentVolume::local(&on.named(name), path, NODE);
    let tmpfs = node.tmpfs("tmpfs", 64);
    write(&tmpfs, 5_000_000);
    let ext4 = node.ext4("ext4", 96, &[]);
    write(&ext4, 7_654_321);
    let reserved = node.ext4("reserved", 48, &["-m", "12"]);
    write(&reserved, 1_000_000);
    let full = node.ext4("full", 32, &[]);
    write(&full, Df::of(&full).available);
    let full_for_all = node.ext4("full-for-all", 40, &[]);
    succeeds(
        Command::new("sh")
            .args(["-c", "cat /dev/zero > \"$0\" 2> /dev/null; sync -f \"$0\""])
            .arg(full_for_all.join("data")),
    );
    let inodes = node.ext4("inodes", 56, &["-N", "64"]);
    let made = (0..64).take_while(|it| fs::write(inodes.join(it.to_string()), "").is_ok()).count();
    assert!(made < 64, "there are too many inodes");
    succeeds(Command::new("sync").arg("-f").arg(&inodes));
    for (name, path, size) in [
        ("tmpfs", &tmpfs, 64),
        ("ext4", &ext4, 96),
        ("reserved", &reserved, 48),
        ("full", &full, 32),
        ("full-for-all", &full_for_all, 40),
        ("inodes", &inodes, 56),
    ] {
        used(on, name, local(name, path), size);
    }
    let both = node.ext4("both", 72, &[]);
    for name in ["one", "other"] {
        let folder = both.join(name);
        fs::create_dir(&folder).expect("because it is mounted");
        used(on, name, local(name, &folder), 72);
    }
    let mut block = local("block", &node.device("block", 16));
    block.0["spec"]["volumeMode"] = "Block".into();
    used(on, "block", block, 16);
    for (name, driver) in [("csi", TELLS), ("csi-silent", SILENT)] {
        node.make(driver, name);
        used(on, name, PersistentVolume::csi(&on.named(name), driver, name), 1024);
    }
    let idle = node.ext4("idle", 24, &[]);
    bound(on, "idle", local("idle", &idle), 24);
}

/// Writes a file of so many bytes.
fn write(folder: &Path, bytes: u64) {
    let file = folder.join("data");
    succeeds(
        Command::new("head")
            .args(["-c", &bytes.to_string(), "/dev/zero"])
            .stdout(fs::File::create(&file).expect("because it is mounted")),
    );
    succeeds(Command::new("sync").arg("-f").arg(&file));
}

/// Where the printed commands write.
fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join("usage");
    fs::create_dir_all(&folder).expect("because the temporary folder is the test's own");
    folder
}

/// Runs a printed command as a user, or as the administrator; returns what is said when it fails.
fn asked(node: &Node, user: &str, command: &str) -> Result<(), String> {
    let kubeconfig = match user {
        "" => node.cluster.kubeconfig().to_owned(),
        user => node.cluster.kubeconfig_of(user),
    };
    let asked = pasted(command, &folder(), &kubeconfig);
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    if asked.status.success() { Ok(()) } else { Err(said) }
}

/// Asks the kubelet as it is printed until it has measured these claims, and returns the file.
fn measured(node: &Node, claims: &[&str]) -> PathBuf {
    let file = folder().join(format!("usage-{NODE}.json"));
    eventually("the kubelet has measured all", || {
        asked(node, "", &printed_command(NODE)).expect("it answers");
        let summary = read(&file);
        claims.iter().all(|it| measured_of(&summary, it).is_some())
    });
    file
}

fn read(file: &Path) -> Value {
    let text = fs::read_to_string(file).expect("because it was written");
    serde_json::from_str(&text).expect("it is JSON")
}

/// What a summary says of the volume of a claim.
fn measured_of(summary: &Value, claim: &str) -> Option<Value> {
    let pods = summary["pods"].as_array()?.iter();
    let mut volumes = pods.filter_map(|it| it["volume"].as_array()).flatten();
    volumes.find(|it| it["pvcRef"]["name"] == claim).cloned()
}

/// The report of `df` by figures in files, which ends so.
fn df(node: &Node, files: &[&Path], code: i32) -> Value {
    let mut run = Run::of(&["df", "-o", "json"]);
    for file in files {
        run = run.more(&["--usage", &file.display().to_string()]);
    }
    let ran = run.kubeconfig(node.cluster.kubeconfig()).go();
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("it is JSON")
}

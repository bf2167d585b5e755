//! The policy file of `watch`: its schema, its page, and what the command does without a cluster.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStderr};
use std::thread;

use kubectl_storage::watch::policy::WatchPolicy;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Call, expect_file, files, read, root};

const SCHEMA: &str = "docs/schema/watch-policy.v1alpha1.json";
const PAGE: &str = "docs/watch.md";

fn schema() -> Value {
    serde_json::to_value(schemars::schema_for!(WatchPolicy)).expect("a schema is JSON")
}

#[test]
fn the_shipped_schema_of_policies_is_that_of_the_code() {
    let text = serde_json::to_string_pretty(&schema()).expect("a schema is JSON");
    expect_file(&root().join(SCHEMA), &format!("{text}\n"));
}

/// The YAML documents of the page.
fn documents() -> Vec<String> {
    let page = read(&root().join(PAGE));
    let parts = page.split("```yaml\n").skip(1);
    parts.map(|it| it.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The policies of the cases of the command line.
fn cases() -> Vec<String> {
    let of = |path: &std::path::PathBuf| {
        let case: Value = serde_yaml::from_str(&read(path)).expect("a case is YAML");
        Some(case["files"]["policy.yaml"].as_str()?.to_owned())
    };
    let all = files(&root().join("tests/cli"), "cmd.yaml");
    all.iter().filter(|it| it.to_string_lossy().contains("watch-policy-")).filter_map(of).collect()
}

/// Mistakes that the schema has to see as well.
const WRONG: [&str; 37] = [
    "rule: {}",
    "rules: {of: []}",
    "rules: {off: [pv-faild]}",
    "rules: {off: pv-failed}",
    "rules: {off: [pv-shared-between-clusters]}",
    "rules: {only: []}",
    "thresholds: {stuk: 2h}",
    "thresholds: {stuck: 2}",
    "thresholds: {stuck: 0s}",
    "scope: {namespace: a}",
    "scope: {namespaces: [A]}",
    "exemptions: [{rule: pv-failed, object: pv/a}]",
    "exemptions: [{rule: pv-failed, object: a, reason: b}]",
    "report: {events: {severity: hihg}}",
    "report: {metrics: {}}",
    "reconcilers: {rescu: {}}",
    "reconcilers: {rescue: report}",
    "reconcilers: {rescue: {mode: on}}",
    "reconcilers: {rescue: {mode: false}}",
    "reconcilers: {rescue: {mode: report, grace: 1h}}",
    "reconcilers: {rescue: {mode: report, includeRecreated: true}}",
    "reconcilers: {reclaim: {mode: report, olderThan: 30, grace: 72h}}",
    "reconcilers: {reclaim: {mode: report, olderThan: 30d, grace: 0s}}",
    "{reconcilers: {rescue: {mode: report}}, bounds: {changesPerRun: 0}}",
    "{reconcilers: {rescue: {mode: report}}, bounds: {changesPerHour: -1}}",
    "{reconcilers: {rescue: {mode: report}}, bounds: {newlyEligiblePercent: 101}}",
    "{reconcilers: {rescue: {mode: report}}, bounds: {newlyEligiblePercent: 1.5}}",
    "{reconcilers: {rescue: {mode: report}}, bounds: {unchanged: 3}}",
    "{reconcilers: {rescue: {mode: report}}, clusterJournal: A_b}",
    "{reconcilers: {rescue: {mode: report}}, clusterJournal: -a}",
    "{reconcilers: {rescue: {mode: report}}, clusterJournal: null}",
    "leaderElection: null",
    "leaderElection: {name: null}",
    "report: {webhook: null}",
    "report: {metrics: {address: '[::]:80', tls: null}}",
    "report: {metrics: {address: '[::]:80', perNamespace: null}}",
    "exemptions: [{rule: pv-failed, object: pv/a, reason: b, until: null}]",
];

#[test]
fn the_schema_and_the_parser_agree() {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
    let agree = |text: &str, must_be_wrong: bool| {
        let accepted = WatchPolicy::parse(&"p", text).is_ok();
        // What is no YAML, or has a key twice, no schema can see.
        let Ok(value) = serde_yaml::from_str::<Value>(text) else {
            assert!(!accepted, "{text}");
            return false;
        };
        let valid = validator.is_valid(&value);
        // What the parser accepts is valid: the parser may know more, never less.
        assert!(valid || !accepted, "accepted, but not by the schema: {text}");
        assert!(!(must_be_wrong && (valid || accepted)), "{valid} {accepted}: {text}");
        accepted
    };
    assert!(documents().iter().all(|text| agree(text, false)), "the page shows what is refused");
    assert_eq!(documents().len(), 2);
    let cases = cases();
    assert!(cases.len() >= 10, "only {}", cases.len());
    for text in cases {
        agree(&text, false);
    }
    for wrong in WRONG {
        let head = "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n";
        agree(&format!("{head}{wrong}"), true);
    }
}

/// What it says is there without a key can be written there.
#[test]
fn defaults_of_the_schema_are_values_of_its_keys() {
    let schema = schema();
    let bounds = &schema["$defs"]["BoundsPolicy"]["properties"];
    let bounds = bounds.as_object().expect("it has keys").iter();
    let defaults: serde_json::Map<_, _> =
        bounds.filter_map(|(key, it)| Some((key.clone(), it.get("default")?.clone()))).collect();
    assert_eq!(defaults["judgementInterval"], "5s");
    let policy = serde_json::json!({
        "apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "WatchPolicy",
        "reconcilers": {"rescue": {"mode": "report"}}, "bounds": defaults,
    });
    assert!(WatchPolicy::parse(&"p", &policy.to_string()).is_ok(), "{policy}");
}

#[test]
fn the_schema_knows_which_names_a_lease_may_have() {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
    let named = |length: usize| format!("kubectl-storage-watch-{}", "a".repeat(length - 22));
    let (longest, longer) = (named(253), named(254));
    for (name, is_good) in [
        ("kubectl-storage-watch", true),
        ("kubectl-storage-watch-shop", true),
        ("kubectl-storage-watch--1", true),
        ("kubectl-storage-watch-a.b-c.0", true),
        (&*longest, true),
        (&*longer, false),
        ("kubectl-storage-watch-", false),
        ("kubectl-storage-watch-a-", false),
        ("kubectl-storage-watch-A", false),
        ("kubectl-storage-watch-a..b", false),
        ("kubectl-storage-watch-a.", false),
        ("kubectl-storage-watch-a.-b", false),
        ("kubectl-storage-watch-a-.b", false),
        ("kubectl-storage-watch.a", false),
        ("kubectl-storage-watch-.a", false),
        ("kubectl-storage-watcher", false),
        ("kubectl-storage-watch/a", false),
        ("kubectl-storage-watch-a_b", false),
        ("kube-controller-manager", false),
        ("external-provisioner-leader-disk-example-com", false),
        ("my-kubectl-storage-watch", false),
        ("", false),
    ] {
        let policy = serde_json::json!({
            "apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "WatchPolicy",
            "leaderElection": {"name": name},
        });
        let parsed = WatchPolicy::parse(&"p", &policy.to_string());
        assert_eq!(parsed.is_ok(), is_good, "the parser: {name:?}");
        assert_eq!(validator.is_valid(&policy), is_good, "the schema: {name:?}");
    }
}

#[test]
fn no_danger_flag_is_a_key_of_a_policy() {
    let flag = regex::Regex::new("--([a-z-]+)").expect("it is a pattern");
    let commands: [&[&str]; 8] = [
        &["gc"],
        &["fix-finalizers"],
        &["retention", "reconcile"],
        &["disown"],
        &["retain"],
        &["delete", "pvc"],
        &["rebind"],
        &["undo"],
    ];
    let mut refused = BTreeSet::new();
    for command in commands {
        let ran = Call::new(command.iter().chain(&["--help"]).copied()).run();
        for (_, [flag]) in flag.captures_iter(&ran.stdout).map(|it| it.extract()) {
            let mut words = flag.split('-');
            let mut key = words.next().unwrap_or_default().to_owned();
            for word in words {
                key.extend(word.chars().next().map(|it| it.to_ascii_uppercase()));
                key.push_str(&word[1..]);
            }
            let text = format!(
                "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\nreconcilers: \
                 {{rescue: {{{key}: true}}}}\n"
            );
            let error = WatchPolicy::parse(&"p", &text).expect_err("it is no key").to_string();
            if error.contains(&format!("no reconciler takes --{flag}: ")) {
                refused.insert(flag.to_owned());
            }
        }
    }
    // A flag that is new has to be looked at.
    let expected = [
        "accept-leak",
        "add-owners",
        "all-clusters",
        "backend-exclusive",
        "backend-verified",
        "delete-leftovers",
        "destroy-data",
        "destroy-snapshots",
        "driver-absent",
        "include-recreated",
        "include-unknown-age",
        "include-vetoed",
        "include-wanted",
        "no-other-users",
        "owner-kind-gone",
        "provisioner-alive",
        "remove-finalizer",
        "replicas-zero",
        "rolled-back",
    ];
    assert_eq!(refused, expected.map(str::to_owned).into());
}

/// Every key of the schema with its path and its description, depth first.
fn keys(schema: &Value, part: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let mut part = part;
    while let Some(name) = part["$ref"].as_str() {
        part = schema.pointer(name.trim_start_matches('#')).expect("it is defined");
    }
    for choice in part["anyOf"].as_array().into_iter().flatten() {
        keys(schema, choice, path, found);
    }
    if part["items"].is_object() {
        keys(schema, &part["items"], &format!("{path}[]"), found);
    }
    for (name, inner) in part["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let about = inner["description"].as_str().unwrap_or_default().replace('\n', " ");
        found.push((path.clone(), about));
        if path != "thresholds" {
            keys(schema, inner, &path, found);
        }
    }
}

#[test]
fn the_page_says_of_every_key_what_it_is() {
    let (schema, mut found) = (schema(), Vec::new());
    keys(&schema, &schema, "", &mut found);
    assert!(found.len() > 20, "{found:?}");
    let mut table = vec!["| key | what it is |\n|---|---|\n".to_owned()];
    for (path, about) in &found {
        assert!(!about.is_empty(), "{path} has no description");
        table.push(format!("| `{path}` | {about} |\n"));
    }
    let table = table.concat();
    let page = read(&root().join(PAGE));
    let (before, rest) =
        page.split_once("<!-- generated: the keys of the policy -->\n").expect("it begins");
    let (_, after) = rest.split_once("<!-- end -->").expect("it ends");
    let expected =
        format!("{before}<!-- generated: the keys of the policy -->\n{table}<!-- end -->{after}");
    expect_file(&root().join(PAGE), &expected);
    // And the example has every key but the one that excludes another.
    let example = documents().pop().expect("there is one");
    let named: BTreeSet<_> = example.lines().filter_map(|it| it.split_once(':')).collect();
    let named: BTreeSet<_> =
        named.into_iter().map(|(key, _)| key.trim_start_matches([' ', '-'])).collect();
    for (path, _) in found.iter().filter(|it| it.0 != "rules.only") {
        let key = path.rsplit('.').next().unwrap_or_default();
        assert!(named.contains(key), "the example lacks {path}");
    }
}

/// A watch of a server at this port, with JSON logs.
fn watch(port: u16, folder: &std::path::Path) -> Child {
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: \
         {{server: 'http://127.0.0.1:{port}'}}}}], contexts: [{{name: c, context: {{cluster: c, \
         user: u}}}}], users: [{{name: u, user: {{token: x}}}}]}}"
    );
    let policy = "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n";
    std::fs::write(folder.join("config"), config).expect("a file can be written");
    std::fs::write(folder.join("policy.yaml"), policy).expect("a file can be written");
    let mut call = Call::new(["watch", "-f", "policy.yaml", "--log-format", "json"]);
    call.env.insert("KUBECONFIG".to_owned(), "config".to_owned());
    call.folder = Some(folder.to_owned());
    call.command().spawn().expect("the binary runs")
}

/// Reads log lines until one has this message, and returns that one.
fn line(log: &mut BufReader<ChildStderr>, message: &str) -> Value {
    let mut all = String::new();
    loop {
        let begin = all.len();
        assert!(log.read_line(&mut all).expect("it is a pipe") > 0, "{message:?} in {all}");
        let line: Value = serde_json::from_str(&all[begin..]).expect("each line is JSON");
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
        if line["message"].as_str().expect("each has a message").contains(message) {
            return line;
        }
    }
}

/// Sends SIGTERM, and expects it to end as it should; a test that hangs here has found what it is for.
fn terminate(mut child: Child, log: &mut BufReader<ChildStderr>) {
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).expect("it runs");
    line(log, "stopped");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(143));
}

#[test]
fn a_server_that_is_down_is_asked_again_until_sigterm() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = nobody.local_addr().expect("it is bound").port();
    drop(nobody);
    let mut child = watch(port, folder.path());
    let mut log = BufReader::new(child.stderr.take().expect("because it is piped"));
    assert_eq!(line(&mut log, "started")["policy"], "policy.yaml");
    let refused = line(&mut log, "was refused");
    assert_eq!((&refused["level"], &refused["retry_seconds"]), (&"WARN".into(), &1.into()));
    assert_eq!(line(&mut log, "was refused")["retry_seconds"], 2);
    terminate(child, &mut log);
}

#[test]
fn a_server_that_never_answers_holds_up_no_sigterm() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("it is bound").port();
    let mut child = watch(port, folder.path());
    let mut log = BufReader::new(child.stderr.take().expect("because it is piped"));
    line(&mut log, "started");
    // It has asked, and waits.
    let asked = silent.accept().expect("it connects");
    terminate(child, &mut log);
    drop(asked);
}

#[test]
fn a_credential_that_is_refused_ends_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = server.local_addr().expect("it is bound").port();
    // It ends with the test.
    thread::spawn(move || {
        for asked in server.incoming() {
            let mut asked = asked.expect("it connects");
            let mut lines = BufReader::new(asked.try_clone().expect("it is open")).lines();
            while lines.next().is_some_and(|it| it.is_ok_and(|it| !it.is_empty())) {}
            let body =
                r#"{"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "no"}"#;
            let head =
                "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Type: application/json";
            let sent = write!(asked, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            sent.expect("it waits for it");
        }
    });
    let mut child = watch(port, folder.path());
    let mut log = BufReader::new(child.stderr.take().expect("because it is piped"));
    let refused = line(&mut log, "401");
    assert_eq!(refused["level"], "ERROR", "{refused}");
    assert!(refused["hint"].as_str().is_some_and(|it| it.contains("log in again")), "{refused}");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

#[test]
fn what_is_wrong_with_a_policy_is_logged_as_objects_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let policy = format!("{}\nrule: {{}}\nthresholds: {{stuck: 1}}\n", documents()[0]);
    std::fs::write(folder.path().join("policy.yaml"), policy).expect("a file can be written");
    let mut call = Call::new(["watch", "-f", "policy.yaml", "--log-format", "json"]);
    call.folder = Some(folder.path().to_owned());
    let ran = call.run();
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let lines: Vec<Value> =
        ran.stderr.lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    let messages: Vec<_> = lines.iter().filter_map(|it| it["message"].as_str()).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("did you mean \"rules\"?"), "{messages:?}");
    assert!(messages[1].contains("has no unit"), "{messages:?}");
    assert!(lines.iter().all(|it| it["level"] == "ERROR"), "{lines:?}");
}

#[test]
fn a_kubeconfig_that_is_missing_ends_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("policy.yaml"), documents()[0].as_bytes())
        .expect("a file can be written");
    let mut call = Call::new(["watch", "-f", "policy.yaml", "--log-format", "json"]);
    call.folder = Some(folder.path().to_owned());
    call.env.insert("KUBECONFIG".to_owned(), "missing".to_owned());
    let ran = call.run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let last = ran.stderr.lines().last().expect("it says why");
    let last: Value = serde_json::from_str(last).expect("each line is JSON");
    assert_eq!(last["level"], "ERROR", "{last}");
    assert!(last["message"].as_str().is_some_and(|it| it.contains("kubeconfig")), "{last}");
}

//! `deploy/` is what `watch print` prints, and what is printed belongs together.

use std::fs;

use serde_json::Value;

use crate::support::{Call, Ran, expect_file, read, root};

fn print(args: &[&str]) -> Ran {
    Call::new(["watch", "print"].iter().chain(args).copied()).run()
}

fn printed(args: &[&str]) -> String {
    let ran = print(args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    ran.is_decent("watch print");
    ran.stdout
}

fn objects(text: &str) -> Vec<Value> {
    let of = |it: &str| serde_yaml::from_str(it).expect("because it is YAML");
    text.split("\n---\n").map(of).collect()
}

fn object<'a>(all: &'a [Value], kind: &str) -> &'a Value {
    all.iter().find(|it| it["kind"] == kind).unwrap_or_else(|| panic!("there is no {kind}"))
}

/// A folder with a policy that reports and elects as these lines say.
fn policy(rest: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("policy.yaml");
    let text = format!("apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n{rest}");
    fs::write(&path, text).expect("it is ours");
    (folder, path.display().to_string())
}

#[test]
fn the_kustomize_base_is_what_is_printed() {
    let base = printed(&[]);
    expect_file(&root().join("deploy/base/installation.yaml"), &base);
    let all = printed(&["--monitoring"]);
    let more = all.strip_prefix(&format!("{base}---\n")).expect("they are printed last");
    // The dashboard, which comes last, is a file of its own.
    let (monitoring, _) = more.rsplit_once("---\n").expect("there are several");
    expect_file(&root().join("deploy/components/monitoring/monitoring.yaml"), monitoring);
    let labelled = printed(&["--monitoring", "--cluster-label", "k8s_name"]);
    assert_eq!(labelled, format!("{base}---\n{}", more.replace("cluster", "k8s_name")));
}

#[test]
fn the_dashboard_is_the_file_of_the_component() {
    let all = objects(&printed(&["--monitoring"]));
    let printed = all.last().expect("there are some");
    let text = read(&root().join("deploy/components/monitoring/dashboard.json"));
    assert_eq!(printed["data"], serde_json::json!({"kubectl-storage.json": text}));
    let component = read(&root().join("deploy/components/monitoring/kustomization.yaml"));
    let component: Value = serde_yaml::from_str(&component).expect("because it is YAML");
    let made = &component["configMapGenerator"][0];
    assert_eq!(made["files"], serde_json::json!(["kubectl-storage.json=dashboard.json"]));
    assert_eq!(made["options"]["disableNameSuffixHash"], true);
    let metadata = &printed["metadata"];
    assert_eq!(metadata["labels"]["grafana_dashboard"], "1");
    for (made, printed) in [
        (&made["name"], &metadata["name"]),
        (&made["namespace"], &metadata["namespace"]),
        (&made["options"]["labels"], &metadata["labels"]),
    ] {
        assert_eq!(made, printed);
    }
}

/// Calls this with everything in a value.
fn each<'a>(value: &'a Value, look: &mut dyn FnMut(&'a Value)) {
    look(value);
    for it in value.as_array().into_iter().flatten() {
        each(it, look);
    }
    for (_, it) in value.as_object().into_iter().flatten() {
        each(it, look);
    }
}

#[test]
fn the_dashboard_fits_any_grafana() {
    let text = read(&root().join("deploy/components/monitoring/dashboard.json"));
    let dashboard: Value = serde_json::from_str(&text).expect("because it is JSON");
    // Links and saved stars keep this.
    assert_eq!(dashboard["uid"], "kubectl-storage");
    assert!(dashboard["id"].is_null(), "the number of one Grafana");
    let variables = dashboard["templating"]["list"].as_array().expect("there are some");
    let names: Vec<_> = variables.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["datasource", "cluster", "namespace"]);
    let (mut sources, mut queries) = (0, Vec::new());
    each(&dashboard, &mut |it| {
        if it["datasource"].is_object() {
            sources += 1;
            assert_eq!(it["datasource"]["uid"], "${datasource}", "{it}");
        }
        queries.extend(it["expr"].as_str());
    });
    assert!(sources > queries.len() && queries.len() > 20, "{sources} {}", queries.len());
    // Every query can be narrowed to clusters, and one that asks for bytes or findings to namespaces.
    let selector = regex::Regex::new(r"kubectl_storage_([a-z_]+)(\{[^}]*\})?").expect("a pattern");
    for query in queries {
        for found in selector.captures_iter(query) {
            let (name, labels) = (&found[1], found.get(2).map_or("", |it| it.as_str()));
            if name == "leader" {
                continue; // joined by the cluster of what it is joined to
            }
            assert!(labels.contains("cluster=~\"$cluster\""), "{query}");
            let of_namespaces = name.ends_with("_bytes") || name == "findings";
            let narrows = labels.contains("exported_namespace=~\"$namespace\"");
            assert_eq!(narrows, of_namespaces, "{query}");
        }
    }
    // The panels of a grid do not overlap.
    let panels = dashboard["panels"].as_array().expect("there are some");
    let mut taken = std::collections::BTreeSet::new();
    for panel in panels {
        let of = |key: &str| panel["gridPos"][key].as_u64().expect("it is a number");
        for (x, y) in (of("x")..of("x") + of("w"))
            .flat_map(|x| (of("y")..of("y") + of("h")).map(move |y| (x, y)))
        {
            assert!(x < 24 && taken.insert((x, y)), "{}", panel["title"]);
        }
    }
}

/// What is printed beside the base where these reconcilers may act.
fn roles(act: &str) -> String {
    let (base, all) = (printed(&[]), print(&["--act", act]));
    assert_eq!(all.code, Some(0), "{act}: {}", all.stderr);
    all.stdout.strip_prefix(&format!("{base}---\n")).expect("they are printed last").to_owned()
}

const RECONCILERS: [&str; 4] = ["rescue", "retention", "finalizers", "reclaim"];

#[test]
fn a_component_gives_a_reconciler_its_roles_and_nothing_else() {
    let mut each = Vec::new();
    for name in RECONCILERS {
        let roles = roles(name);
        expect_file(&root().join(format!("deploy/components/{name}/roles.yaml")), &roles);
        for object in objects(&roles) {
            let kind = object["kind"].as_str().unwrap_or_default();
            let of_rights = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
            assert!(of_rights.contains(&kind), "{name}: {object}");
            // With another name than any of those that the base or another component has.
            assert_eq!(object["metadata"]["name"], format!("kubectl-storage-watch:{name}"));
            if kind.ends_with("Binding") {
                assert_eq!(object["roleRef"]["name"], object["metadata"]["name"]);
                assert_eq!(object["subjects"][0]["name"], "kubectl-storage-watch");
                assert_eq!(object["subjects"][0]["namespace"], "kubectl-storage");
            }
        }
        let file = read(&root().join(format!("deploy/components/{name}/kustomization.yaml")));
        let file: Value = serde_yaml::from_str(&file).expect("because it is YAML");
        assert_eq!(file["kind"], "Component");
        assert_eq!(file["resources"], serde_json::json!(["roles.yaml"]));
        each.push(roles);
    }
    // All of them together.
    assert_eq!(roles(&RECONCILERS.join(",")), each.join("---\n"));
}

#[test]
fn the_base_changes_no_storage() {
    for object in objects(&printed(&[])) {
        for rule in object["rules"].as_array().into_iter().flatten() {
            let of = |key: &str| rule[key].as_array().cloned().unwrap_or_default();
            let reads =
                of("verbs").iter().all(|it| *it == "get" || *it == "list" || *it == "watch");
            let tells = of("resources").iter().all(|it| {
                ["events", "leases", "tokenreviews", "subjectaccessreviews"]
                    .contains(&it.as_str().unwrap_or_default())
            });
            assert!(reads || tells, "{rule}");
        }
    }
}

#[test]
fn a_policy_that_acts_is_printed_with_its_roles() {
    let acts = "leaderElection: {name: kubectl-storage-watch-shop}\nreconcilers:\n  rescue: {mode: \
                act}\n  retention: {mode: report}\nclusterJournal: journals\n";
    let (_folder, path) = policy(acts);
    let named = |all: &[Value], kind: &str| -> Vec<String> {
        let of_kind = all.iter().filter(|it| it["kind"] == kind);
        let place = |it: &Value| {
            let namespace = it["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            format!("{namespace}/{}", it["metadata"]["name"].as_str().unwrap_or_default())
        };
        of_kind.map(place).collect()
    };
    let lease = "kubectl-storage-watch-shop";
    let cluster = |extra: &[&str]| -> Vec<String> {
        std::iter::once(format!("/{lease}"))
            .chain(extra.iter().map(|it| format!("/{lease}:{it}")))
            .collect()
    };
    let ran = print(&["-f", &path]);
    let all = objects(&ran.stdout);
    assert_eq!(named(&all, "ClusterRole"), cluster(&["rescue"]));
    assert_eq!(named(&all, "ClusterRoleBinding"), cluster(&["rescue"]));
    // The journal is where the policy says.
    let in_journals = format!("journals/{lease}:rescue");
    assert!(named(&all, "RoleBinding").contains(&in_journals), "{:?}", named(&all, "RoleBinding"));
    // Whoever asks gets the roles of one that only reports, and is told so.
    let ran = print(&["-f", &path, "--act", "retention,rescue"]);
    assert!(ran.stderr.contains("retention may act by its roles, and does not"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("rescue may act"), "{}", ran.stderr);
    let all = objects(&ran.stdout);
    assert_eq!(named(&all, "ClusterRole"), cluster(&["rescue", "retention"]));
    // A policy may name the namespace in which it runs: one role has all rights there, as two would have one name.
    let act =
        "leaderElection: {}\nreconcilers: {rescue: {mode: act}}\nclusterJournal: kubectl-storage\n";
    let (_folder, path) = policy(act);
    let all = objects(&print(&["-f", &path]).stdout);
    let roles = named(&all, "Role");
    assert_eq!(roles.iter().filter(|it| it.ends_with(":rescue")).count(), 1, "{roles:?}");
    // One that reports what it would do reads the journal for that, and no more.
    let (_folder, path) = policy("reconcilers: {finalizers: {mode: report}}\n");
    let all = objects(&print(&["-f", &path]).stdout);
    assert_eq!(named(&all, "ClusterRole"), ["/kubectl-storage-watch"]);
    let is_its = |it: &&Value| it["metadata"]["name"] == "kubectl-storage-watch:finalizers";
    let role = all.iter().filter(is_its).find(|it| it["kind"] == "Role").expect("there is one");
    assert_eq!(role["rules"][0]["verbs"], serde_json::json!(["get", "list"]), "{role}");
    assert_eq!(role["rules"].as_array().map(Vec::len), Some(1), "{role}");
}

#[test]
fn the_image_runs_what_the_deployment_runs() {
    let all = objects(&printed(&[]));
    let command =
        &object(&all, "Deployment")["spec"]["template"]["spec"]["containers"][0]["command"];
    // What is built from source, and what is published.
    for file in ["Containerfile", "release/Containerfile"] {
        let file = read(&root().join(file));
        let entry = file.lines().find_map(|line| line.strip_prefix("ENTRYPOINT "));
        let entry: Value = serde_json::from_str(entry.expect("it has one")).expect("it is a list");
        assert_eq!(*command, entry);
        let user = file.lines().find_map(|line| line.strip_prefix("USER ")).expect("it has one");
        assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    }
}

#[test]
fn a_policy_is_kept_as_it_is_written() {
    let rest =
        "# off, é \t\nrules: {off: [pv-failed]}\nreport: {metrics: {address: '[::]:9000'}}\n\n";
    let (_folder, path) = policy(rest);
    let all = objects(&printed(&["-f", &path, "-n", "storage"]));
    let text = object(&all, "ConfigMap")["data"]["policy.yaml"].as_str();
    assert_eq!(text.map(str::to_owned), fs::read_to_string(&path).ok());
    let of_records = |it: &&Value| it["metadata"]["name"] == "kubectl-storage-watch-records";
    let (records, own): (Vec<_>, Vec<_>) = all.iter().partition(of_records);
    let namespaced = own.iter().filter_map(|it| it["metadata"]["namespace"].as_str());
    assert!(namespaced.clone().count() > 5 && namespaced.clone().all(|it| it == "storage"));
    // A Role and its binding, where the records are.
    let places: Vec<_> = records.iter().map(|it| &it["metadata"]["namespace"]).collect();
    assert_eq!(places, ["kube-system", "kube-system"]);
    assert_eq!(object(&all, "Service")["spec"]["ports"][0]["port"], 9000);
    // Without an election there is no Lease, and one process.
    assert!(own.iter().all(|it| it["kind"] != "Role"));
    assert_eq!(object(&all, "Deployment")["spec"]["replicas"], 1);
}

#[test]
fn what_cannot_be_reached_is_not_promised() {
    let (_folder, path) = policy("report: {metrics: {address: '127.0.0.1:9000'}}");
    let ran = print(&["-f", &path]);
    assert!(ran.stderr.contains("no probes and no Service"), "{}", ran.stderr);
    let all = objects(&ran.stdout);
    assert!(all.iter().all(|it| it["kind"] != "Service"));
    let container = &object(&all, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    assert!(container["livenessProbe"].is_null() && container["ports"].is_null());
    assert_eq!(object(&all, "NetworkPolicy")["spec"]["ingress"], serde_json::json!([]));
}

#[test]
fn files_of_a_policy_are_mounted_from_secrets() {
    let (_folder, path) = policy("report: {webhook: {urlFile: /etc/hook/address}}");
    let ran = print(&["-f", &path]);
    assert!(ran.stderr.contains("Secret kubectl-storage-webhook with url"), "{}", ran.stderr);
    let all = objects(&ran.stdout);
    let pod = &object(&all, "Deployment")["spec"]["template"]["spec"];
    let secret = &pod["volumes"][2]["secret"];
    assert_eq!(secret["secretName"], "kubectl-storage-webhook");
    assert_eq!(secret["items"][0], serde_json::json!({"key": "url", "path": "address"}));
    assert_eq!(pod["containers"][0]["volumeMounts"][2]["mountPath"], "/etc/hook");
}

#[test]
fn what_could_not_run_is_refused() {
    for (rest, args, why) in [
        ("", vec!["--replicas", "2"], "requires leaderElection"),
        ("", vec!["--monitoring"], "requires report.metrics"),
        ("", vec!["--cluster-label", "name"], "--monitoring"),
        ("", vec!["--monitoring", "--cluster-label", "k8s.name"], "not a valid name of a label"),
        ("report: {metrics: {address: '0.0.0.0:0'}}", vec![], "requires a port"),
        ("report: {webhook: {urlFile: url}}", vec![], "report.webhook.urlFile"),
        ("", vec!["-n", "kube-system"], "pods of others"),
        ("", vec!["--image", "a b"], "not a valid name of an image"),
        ("", vec!["--replicas", "0"], "0"),
        ("", vec!["--act", "rescu"], "rescu"),
        ("reconcilers: {rescue: {mode: act}}", vec![], "requires leaderElection"),
        ("rule: {}", vec![], "did you mean \"rules\"?"),
    ] {
        let (_folder, path) = policy(rest);
        let ran = print(&[vec!["-f", &path], args].concat());
        assert_eq!(ran.code, Some(2), "{why}: {}", ran.stderr);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(why), "{why}: {}", ran.stderr);
    }
    // A watch has no use for what is only printed, and needs a policy all the same.
    for args in [vec!["watch"], vec!["watch", "-f", "a", "print"]] {
        assert_eq!(Call::new(args.clone()).run().code, Some(2), "{args:?}");
    }
}

#[test]
fn the_role_follows_the_name_of_the_lease() {
    let lease = "kubectl-storage-watch-shop";
    let rest = format!("leaderElection: {{name: {lease}}}\nreport: {{openReports: {{}}}}");
    let (_folder, path) = policy(&rest);
    let all = objects(&printed(&["-f", &path]));
    // Reports have its name, and no other one is within reach.
    let of_cluster = &object(&all, "ClusterRole")["rules"];
    let of_reports = |it: &&Value| it["apiGroups"] == serde_json::json!(["openreports.io"]);
    let of_reports: Vec<_> =
        of_cluster.as_array().into_iter().flatten().filter(of_reports).collect();
    assert_eq!(of_reports[0]["verbs"], serde_json::json!(["create"]));
    assert_eq!(of_reports[1]["verbs"], serde_json::json!(["delete", "list", "update"]));
    assert_eq!(of_reports[1]["resourceNames"], serde_json::json!([lease]));
    assert_eq!(of_reports.len(), 2, "{of_reports:?}");
    // The Role of the records of announcements has a name of its own, which follows as well.
    let records = format!("{lease}-records");
    let (of_records, all): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|it| it["metadata"]["name"] == *records);
    assert_eq!(object(&of_records, "RoleBinding")["roleRef"]["name"], *records);
    let rules = &object(&all, "Role")["rules"];
    assert_eq!(rules[0]["verbs"], serde_json::json!(["create"]), "{rules}");
    assert_eq!(rules[1]["verbs"], serde_json::json!(["get", "update"]), "{rules}");
    assert_eq!(rules[1]["resourceNames"], serde_json::json!([lease]), "{rules}");
    // Roles of one policy do not replace those of another, wherever that runs.
    for kind in ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"] {
        assert_eq!(object(&all, kind)["metadata"]["name"], lease, "{kind}");
    }
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        assert_eq!(object(&all, kind)["roleRef"]["name"], lease, "{kind}");
        assert_eq!(object(&all, kind)["subjects"][0]["name"], "kubectl-storage-watch", "{kind}");
    }
    assert_eq!(object(&all, "Deployment")["spec"]["replicas"], 2);
}

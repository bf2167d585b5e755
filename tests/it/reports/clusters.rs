//! Reports about several clusters: what one of them has is never taken for that of another.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::{Value, json};

use super::{AS_OF, lost_claims, write};
use crate::support::read;

/// A dump of a cluster with this uid, in which so many claims have lost their volumes.
fn dump(folder: &Path, name: &str, uid: &str, count: usize) {
    let mut dump: Value = serde_json::from_str(&lost_claims(count)).expect("because it is JSON");
    let system = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid}});
    dump["items"].as_array_mut().expect("because it is a list").push(system);
    fs::write(folder.join(name), dump.to_string()).expect("it is writable");
}

/// The runs of a report for code scanning, by their category.
fn runs(folder: &Path, name: &str) -> BTreeMap<String, Value> {
    let log: Value =
        serde_json::from_str(&read(&folder.join(format!("{name}.sarif")))).expect("it is JSON");
    let runs = log["runs"].as_array().expect("a list").iter();
    let category = |run: &Value| run["automationDetails"]["id"].as_str().expect("text").to_owned();
    runs.map(|run| (category(run), run.clone())).collect()
}

fn results(run: &Value) -> &[Value] {
    run["results"].as_array().expect("a list")
}

fn prints(results: &[Value]) -> BTreeSet<String> {
    results.iter().map(|it| it["partialFingerprints"].to_string()).collect()
}

#[test]
fn each_format_tells_clusters_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    dump(at, "eu.json", "uid-eu", 3);
    dump(at, "us.json", "uid-us", 2);
    let args = [&["-f", "eu=eu.json", "-f", "us=us.json"], &AS_OF[..]].concat();
    write(at, "both", &args);
    let of = |end: &str| read(&at.join(format!("both.{end}")));
    let report: Value = serde_json::from_str(&of("json")).expect("it is JSON");
    let findings = report["findings"].as_array().expect("a list");
    let found = |cluster: &str| findings.iter().filter(|it| it["cluster"] == cluster).count();
    let (eu, us) = (found("eu"), found("us"));
    assert!(eu > us && us > 0 && eu + us == findings.len(), "{eu} and {us}");
    for listed in report["metadata"]["clusters"].as_array().expect("a list") {
        let ids = listed["byId"].as_object().expect("numbers").values();
        let ids: u64 = ids.filter_map(Value::as_u64).sum();
        assert_eq!(listed["findings"], ids, "{listed}");
    }
    let csv = of("csv");
    let lines = |cluster: &str| csv.lines().filter(|it| it.ends_with(cluster)).count();
    assert_eq!((lines(",cluster"), lines(",eu"), lines(",us")), (1, eu, us));
    let junit = of("xml");
    for (name, count) in [("eu", eu), ("us", us)] {
        let start = junit.find(&format!("<testsuite name=\"{name}\"")).expect("it is a suite");
        let suite = junit[start..].split("</testsuite>").next().expect("it ends");
        let cases = suite.matches("<testcase ").count();
        assert_eq!(suite.matches("<failure ").count(), count, "{name}");
        let numbers = format!("tests=\"{cases}\" failures=\"{count}\" errors=\"0\"");
        assert!(suite.contains(&numbers), "{name}: {numbers}");
    }
    let rows = of("md").lines().filter(|it| it.starts_with("| `eu` |")).count();
    assert_eq!(rows, eu);
    let metrics = of("om");
    let samples = metrics.lines().filter(|it| !it.starts_with('#'));
    let without = samples.filter(|it| !it.contains("cluster=\""));
    assert_eq!(
        without.map(|it| it.split('{').next()).collect::<Vec<_>>(),
        [Some("kubectl_storage_build_info")]
    );
    let runs = runs(at, "both");
    let mut seen = BTreeSet::new();
    for (category, name, count) in [("uid-eu", "eu", eu), ("uid-us", "us", us)] {
        let run = &runs[&format!("kubectl-storage/{category}/")];
        assert_eq!(results(run).len(), count, "{name}");
        seen.append(&mut prints(results(run)));
        for result in results(run) {
            assert_eq!(result["properties"]["cluster"], name);
            let index = result["ruleIndex"].as_u64().expect("a number");
            let rule = &run["tool"]["driver"]["rules"][usize::try_from(index).expect("small")];
            assert_eq!(rule["id"], result["ruleId"]);
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            assert!(place.as_str().expect("text").starts_with(&format!("{name}/")), "{place}");
        }
    }
    assert_eq!(seen.len(), findings.len(), "no two results are one");
}

/// Code scanning closes each alert that a run lacks.
#[test]
fn a_cluster_that_was_not_read_has_no_run_and_the_others_have_that_of_their_own_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    dump(at, "eu.json", "uid-eu", 3);
    let args = [&["-f", "eu=eu.json", "-f", "us=us.json"], &AS_OF[..]].concat();
    assert_eq!(write(at, "some", &args), 4);
    assert_eq!(write(at, "alone", &[&["-f", "eu.json"], &AS_OF[..]].concat()), 0);
    let (some, alone) = (runs(at, "some"), runs(at, "alone"));
    let (between, of) = ("kubectl-storage/between-clusters/", "kubectl-storage/uid-eu/");
    assert_eq!(some.keys().collect::<Vec<_>>(), [between, of]);
    assert_eq!(alone.keys().collect::<Vec<_>>(), [of]);
    assert_eq!(prints(results(&some[of])), prints(results(&alone[of])));
    let told = some[between]["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(told.contains("us: all kinds"), "{told}");
}

#[test]
fn clusters_with_one_uid_are_told_apart_by_their_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    dump(at, "eu.json", "uid-eu", 3);
    let args = ["-f", "eu=eu.json", "-f", "us=eu.json", "--distinct", "eu,us"];
    write(at, "clones", &[&args, &AS_OF[..]].concat());
    let runs = runs(at, "clones");
    let keys: Vec<_> = runs.keys().collect();
    let categories = ["between-clusters", "eu", "us"].map(|it| format!("kubectl-storage/{it}/"));
    assert_eq!(keys, categories.iter().collect::<Vec<_>>());
    let of = |category: &str| prints(results(&runs[category]));
    assert!(of("kubectl-storage/eu/").is_disjoint(&of("kubectl-storage/us/")));
}

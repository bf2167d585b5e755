//! The Grafana dashboard that is shipped: its model by the types of Grafana's own SDK, and its queries by Prometheus' own
//! engine, over metrics that a process served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Watcher;
use super::acting::{left, switch};
use super::reporting::{Reporting, count_of};
use crate::support::{Cluster, Options, Scenario, claim, eventually, program};

const DASHBOARD: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/components/monitoring/dashboard.json");

/// Runs `promrules`, and returns whether it is content, and what it said.
fn promrules(args: &[&str]) -> (bool, String) {
    let ran = Command::new(program("promrules")).args(args).output();
    let ran = ran.expect("because the testbed has it");
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn dashboard() -> Value {
    let text = fs::read_to_string(DASHBOARD).expect("it ships with us");
    serde_json::from_str(&text).expect("because it is JSON")
}

#[test]
#[ignore = "extended suite: tools of others"]
fn the_dashboard_has_the_fields_that_grafana_knows() {
    let (fits, said) = promrules(&["model", DASHBOARD]);
    assert!(fits && said.contains("25 panels"), "{said}");
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let wrong = folder.path().join("wrong.json").display().to_string();
    for (path, field) in [("", "pannels"), ("/panels/1", "titel"), ("/panels/1/gridPos", "width")] {
        let mut dashboard = dashboard();
        let place = dashboard.pointer_mut(path).expect("it is there");
        place[field] = Value::Null;
        fs::write(&wrong, dashboard.to_string()).expect("because the folder is writable");
        let (fits, said) = promrules(&["model", &wrong]);
        assert!(!fits && said.contains(field), "{field}: {said}");
    }
}

/// What Prometheus keeps of an exposition of a target in a namespace, of which every sample has been the same for 70
/// minutes. Where a label of the target has the name of one of a sample, that one becomes `exported_…`.
fn scraped(text: &str, namespace: Option<&str>, pod: &str, leads: bool) -> String {
    let mut series = String::new();
    for line in text.lines().filter(|it| !it.starts_with('#')) {
        let (sample, number) = line.rsplit_once(' ').expect("a sample has a number");
        let (name, labels) = sample.trim_end_matches('}').split_once('{').unwrap_or((sample, ""));
        let labels = match labels {
            "" => String::new(),
            labels if namespace.is_none() => format!(",{labels}"),
            labels => format!(",{labels}").replace(",namespace=\"", ",exported_namespace=\""),
        };
        let number = if name == "kubectl_storage_leader" && !leads { "0" } else { number };
        let own = namespace.map_or_else(String::new, |it| format!(r#"namespace="{it}","#));
        let target = format!(r#"cluster="east",{own}pod="{pod}",instance="{pod}:8443""#);
        writeln!(series, "  {name}{{{target}{labels}}} {number}x70")
            .expect("because writing to a string does not fail");
    }
    series
}

/// What is not there while all is well.
const OTHERS: &str = r#"kubectl_storage_leaking_bytes{storageclass="fast",driver="d",namespace="shop"} 7.0
kubectl_storage_leaking_bytes{storageclass="none",driver="d",namespace="shop"} 3.0
kubectl_storage_leaking_bytes{driver="d"} 4.0
kubectl_storage_gap{resource="pods"} 1.0
kubectl_storage_watch_changes_total{reconciler="rescue",outcome="refused"} 2
"#;

/// What the only process of another policy serves, whose scope is another one.
const OTHER_POLICY: &str = r#"kubectl_storage_build_info{version="1"} 1.0
kubectl_storage_leaking_bytes{storageclass="fast",driver="d",namespace="team"} 5.0
"#;

/// The answer to a query: samples, each with its labels and its number.
type Answer = Vec<(BTreeMap<String, String>, f64)>;

/// The answers to queries.
fn answers(series: &Path, queries: &[String]) -> Vec<Answer> {
    let series = series.display().to_string();
    let mut args = vec!["query", &*series];
    args.extend(queries.iter().map(String::as_str));
    let (answered, said) = promrules(&args);
    assert!(answered, "{said}");
    let sample = |it: &Value| {
        let labels = it["metric"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, it)| (key.clone(), it.as_str().unwrap_or("").to_owned()));
        let number = it["value"][1].as_str().and_then(|it| it.parse().ok());
        (labels.collect(), number.expect("because it is a number"))
    };
    let answer = |line: &str| -> Vec<_> {
        let samples: Value = serde_json::from_str(line).expect("because it is JSON");
        samples.as_array().into_iter().flatten().map(sample).collect()
    };
    let answers: Vec<_> = said.lines().map(answer).collect();
    assert_eq!(answers.len(), queries.len(), "{said}");
    answers
}

/// The queries of the panels, by title and name.
fn queries(dashboard: &Value) -> BTreeMap<String, String> {
    let panels = dashboard["panels"].as_array().expect("there are some");
    let mut queries = BTreeMap::new();
    for panel in panels {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let text = |it: &'_ Value| it.as_str().expect("because it is text").to_owned();
            let title = format!("{} {}", text(&panel["title"]), text(&target["refId"]));
            let query = text(&target["expr"]).replace("$cluster", "e.*");
            assert!(queries.insert(title, query).is_none(), "two panels have one title: {panel}");
        }
    }
    queries
}

#[test]
#[ignore = "extended suite: tools of others"]
fn every_query_of_the_dashboard_is_answered() {
    let cluster = Cluster::start(Options::COMPLETE);
    let (on, other) = (Scenario::on(&cluster), Scenario::part(&cluster, "-other"));
    left(&on, "left");
    left(&on, "left-too");
    left(&other, "left");
    on.create(&claim("idle", &cluster.driver().class_delete));
    on.bound("idle");
    let namespace = &on.name;
    let reporting = Reporting::with(
        "{events: {severity: info}, metrics: {address: '127.0.0.1:PORT', perNamespace: 5}}",
        &format!(
            "leaderElection: {{namespace: {namespace}}}\nclusterJournal: {namespace}\n\
             reconcilers: {{reclaim: {{mode: act, olderThan: 1s, grace: 1h}}}}\n\
             bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}"
        ),
    );
    let watcher = Watcher::in_pod("actor", cluster.kubeconfig(), &reporting.policy(), &[]);
    switch(&on, "resume");
    let number = |name: &str| count_of(&reporting.numbers(&format!("kubectl_storage_{name}")), &[]);
    eventually("the volumes are announced", || number("watch_announced") == 3);
    eventually("the claim is unused", || number("unused_bytes") > 0);
    eventually("there are Events", || number("reports_total") > 0);
    let (_, text) = reporting.get("/metrics").expect("it is there");
    let of = |on: &Scenario| {
        let released = reporting.numbers("kubectl_storage_released_bytes");
        count_of(&released, &[&format!("namespace=\"{}\"", on.name)])
    };
    let (own, others) = (of(&on), of(&other));
    watcher.terminate();
    assert_eq!(own, 2 * others, "{text}");

    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let series = folder.path().join("series");
    let text = format!("{text}{OTHERS}");
    // Two processes, of which one leads, and which chose different labels: nothing counts twice.
    let label = |name: &str| format!("namespace=\"{name}\"");
    let standby = text.replace(&label(&other.name), &label("other"));
    assert_ne!(standby, text);
    let all = [
        scraped(&text, Some("storage"), "a", true),
        scraped(&standby, Some("storage"), "b", false),
        scraped(OTHER_POLICY, Some("team-storage"), "c", true),
    ];
    fs::write(&series, format!("load 1m\n{}", all.concat())).expect("because it is writable");

    let dashboard = dashboard();
    let queries = queries(&dashboard);
    let ask = |namespace: &str| {
        let texts: Vec<_> =
            queries.values().map(|it| it.replace("$namespace", namespace)).collect();
        let answers = answers(&series, &texts);
        queries.keys().cloned().zip(answers).collect::<BTreeMap<_, _>>()
    };
    let everywhere = ask(".*");
    for (title, answer) in &everywhere {
        assert!(!answer.is_empty(), "{title}: {}", queries[title]);
    }
    let by = |answer: &[(BTreeMap<String, String>, f64)], label: &str| -> BTreeMap<String, f64> {
        let by = answer.iter().map(|(labels, number)| (labels[label].clone(), *number));
        let found: BTreeMap<_, _> = by.collect();
        assert_eq!(found.len(), answer.len(), "two of one name: {answer:?}");
        found
    };
    #[expect(clippy::cast_precision_loss, reason = "they are small")]
    let (own, others) = (own as f64, others as f64);
    let released = &everywhere["Released by namespace A"];
    let expected = [(on.name.clone(), own), (other.name.clone(), others)];
    assert_eq!(by(released, "exported_namespace"), expected.clone().into());
    let single = |title: &str, answers: &BTreeMap<String, Answer>| {
        let [(_, number)] = &answers[title][..] else { panic!("{title}: {answers:?}") };
        *number
    };
    for (title, expected) in [
        ("Released A", own + others),
        ("Leaking A", 19.0),
        ("Resources not read A", 1.0),
        ("Announced volumes A", 3.0),
        ("Nothing is changed A", 0.0),
    ] {
        assert!((single(title, &everywhere) - expected).abs() < 0.5, "{title}");
    }
    for (title, label, expected) in [
        (
            "Leaking by storage class A",
            "storageclass",
            [("fast", 12.0), ("none", 3.0), ("(none)", 4.0)],
        ),
        (
            "Leaking by namespace A",
            "exported_namespace",
            [("shop", 10.0), ("team", 5.0), ("(none)", 4.0)],
        ),
    ] {
        let expected = expected.map(|(name, number)| (name.to_owned(), number));
        assert_eq!(by(&everywhere[title], label), expected.into(), "{title}");
    }
    let narrowed = ask(&on.name);
    let released = &narrowed["Released by namespace A"];
    assert_eq!(by(released, "exported_namespace"), expected[..1].iter().cloned().collect());
    assert!((single("Leaking A", &narrowed) - 0.0).abs() < 0.5);

    // A target without a namespace of its own: the totals are right.
    let target = folder.path().join("target");
    let all = format!(
        "load 1m\n{}{}",
        scraped(&text, None, "a", true),
        scraped(&standby, None, "b", false)
    );
    fs::write(&target, all).expect("because the folder is writable");
    let leaking = queries["Leaking A"].replace("$namespace", ".*");
    let leaking = &answers(&target, &[leaking])[0];
    assert!(leaking.len() == 1 && (leaking[0].1 - 14.0).abs() < 0.5, "{leaking:?}");

    // What the variables offer.
    for variable in &dashboard["templating"]["list"].as_array().expect("there are some")[1..] {
        let query = variable["query"]["query"].as_str().expect("because it is text");
        let (query, label) = query
            .strip_prefix("label_values(")
            .and_then(|it| it.strip_suffix(')')?.rsplit_once(", "))
            .expect("because it asks for a label");
        let found = answers(&series, &[query.replace("$cluster", ".*")]);
        assert!(found[0].iter().any(|(labels, _)| labels.contains_key(label)), "{query}");
    }
}

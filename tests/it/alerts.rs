//! The alert rules and the dashboard that are shipped, as far as no Prometheus is needed.
//! `tests/real/watch/alerts` and `dashboard` have its own code judge them.

use serde_json::Value;

use crate::support::{read, root};

#[test]
fn every_alert_is_tested_where_it_fires_and_where_it_does_not() {
    let yaml = |name: &str| -> Value {
        let text = read(&root().join("deploy").join(name));
        serde_yaml::from_str(&text).expect("because it is YAML")
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (rules, tests) = (yaml("alerts.yaml"), list(&yaml("alerts.test.yaml")["tests"]));
    let rules = list(&rules["groups"][0]["rules"]);
    assert!(rules.len() > 5, "{rules:?}");
    for rule in rules {
        let name = &rule["alert"];
        let looks = |test: &Value| {
            let looks = list(&test["alert_rule_test"]).into_iter();
            looks.filter(|it| it["alertname"] == *name).map(|it| list(&it["exp_alerts"]))
        };
        assert!(tests.iter().flat_map(looks).any(|it| it.is_empty()), "{name}");
        // Without such a label, and for one of two clusters.
        for (other, expected) in [("", Value::Null), ("cluster=\"west\"", "east".into())] {
            let is_it = |alert: &Value| alert["exp_labels"]["cluster"] == expected;
            let mut tests = tests
                .iter()
                .filter(|it| it["input_series"].to_string().replace('\\', "").contains(other));
            let fires = |alerts: Vec<Value>| !alerts.is_empty() && alerts.iter().all(is_it);
            assert!(tests.any(|it| looks(it).any(fires)), "{name}: {expected}");
        }
    }
}

/// A label of another name takes the place of the word, wherever that stands.
#[test]
fn the_word_cluster_is_a_label_of_metrics_and_every_alert_keeps_it() {
    let label = r#"\(cluster[,)]|\.cluster |`cluster`|/cluster/|[ {]cluster=~|\$cluster\b|, cluster\)|\{cluster\}|": "cluster""#;
    let label = regex::Regex::new(label).expect("it is a pattern");
    for file in ["deploy/alerts.yaml", "deploy/components/monitoring/dashboard.json"] {
        let text = read(&root().join(file));
        let words = label.find_iter(&text).count();
        assert!(words > 40 && words == text.matches("cluster").count(), "{file}");
    }
    let alerts = read(&root().join("deploy/alerts.yaml"));
    let grouped =
        regex::Regex::new(r"\b(by|on|without|ignoring) ?\((\w*)").expect("it is a pattern");
    let kept: Vec<_> = grouped.captures_iter(&alerts).map(|it| it[2].to_owned()).collect();
    assert!(kept.len() > 40 && kept.iter().all(|it| it == "cluster"), "{kept:?}");
    let told = alerts.matches("{{ with $labels.cluster }}Cluster {{ . }}: {{ end -}}").count();
    assert_eq!(told, alerts.matches("- alert: ").count());
}

#[test]
fn alert_rules_and_the_dashboard_name_metrics_that_exist() {
    let page = read(&root().join("docs/watch-reports.md"));
    let metric = regex::Regex::new("kubectl_storage_[a-z_]+").expect("it is a pattern");
    for file in ["deploy/alerts.yaml", "deploy/components/monitoring/dashboard.json"] {
        let text = read(&root().join(file));
        let named: Vec<_> = metric.find_iter(&text).map(|it| it.as_str()).collect();
        assert!(named.len() > 8, "{named:?}");
        for name in named.into_iter().filter(|it| *it != "kubectl_storage_") {
            assert!(page.contains(&format!("| `{name}` |")), "{file}: {name} is no metric");
        }
    }
}

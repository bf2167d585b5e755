//! What a policy may say, and what is said of everything that is wrong with it.

mod acting;

use super::*;
use crate::model::{Threshold, format_duration};

const HEAD: &str = "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n";

fn parse(rest: &str) -> Result<WatchPolicy, Vec<String>> {
    WatchPolicy::parse(&"p.yaml", &format!("{HEAD}{rest}")).map_err(|error| error.lines())
}

/// What is wrong with the rest of a policy that begins as all do; lines count from there.
fn wrong(rest: &str) -> Vec<String> {
    let strip = |line: &String| {
        let rest = line.strip_prefix("p.yaml:").expect("the file is named");
        let (line, rest) = rest.split_once(':').expect("so is the line");
        let line: usize = line.parse().expect("it is a number");
        format!("{}:{rest}", line - 2)
    };
    parse(rest).expect_err(rest).iter().map(strip).collect()
}

#[test]
fn a_policy_says_what_is_judged() {
    let policy = parse(
        "rules: {off: [pv-failed, pvc-lost]}
thresholds: {stuck: 2h, 'older-than': 30d}
scope: {namespaces: [shop, \"7\"], selector: 'app in (db, web)'}
exemptions:
- {rule: pv-failed, object: pv/archive, reason: kept for the auditors, until: 2027-01-01}
- {rule: pvc-lost, object: pvc/shop/data, reason: it is known}
report: {events: {severity: critical}}
",
    )
    .expect("a policy");
    let settings = policy.settings();
    assert_eq!(settings.thresholds.get(Threshold::Stuck).as_secs(), 7200);
    assert_eq!(format_duration(settings.thresholds.get(Threshold::OlderThan)), "30d");
    let scope = settings.scope;
    let names = |all: &BTreeSet<Text>| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&scope.ignored), ["pv-failed", "pvc-lost"]);
    assert_eq!(names(&scope.rules), [""; 0]);
    assert_eq!(names(&scope.namespaces), ["7", "shop"]);
    assert_eq!(scope.selector.to_string(), "app in (db,web)");
    let ends: Vec<_> =
        scope.exemptions.iter().map(|it| (it.object.to_string(), it.until)).collect();
    let end = crate::model::parse_time("2027-01-01T00:00:00Z").expect("a time");
    assert_eq!(ends, [("pv/archive".to_owned(), end), ("pvc/shop/data".to_owned(), None)]);
    assert!(policy.report.events.is_some() && policy.report.webhook.is_none());
}

#[test]
fn a_policy_that_says_nothing_is_that_of_an_audit() {
    assert_eq!(parse("").map(|it| it.settings()), Ok(Settings::default()));
    let only = parse("rules: {only: [pv-failed]}").expect("a policy").settings();
    assert_eq!(only.scope.rules.len(), 1);
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place() {
    for (text, expected) in [
        ("treshold: {}", &["1:1: unknown key \"treshold\"; did you mean \"thresholds\"?"][..]),
        ("thresholds: {stuck: 7}", &["1:21: \"7\" has no unit: write 7d, 7h, 7m or 7s"]),
        ("thresholds: {stuck: 0}", &["1:21: zero is not an age to act on"]),
        ("thresholds: {stuck: 0s}", &["1:21: zero is not an age to act on"]),
        ("thresholds: {stuck: -2h}", &["1:21: \"-2h\" is negative"]),
        ("thresholds: {stuk: 2h}", &["1:14: unknown threshold \"stuk\"; did you mean \"stuck\"?"]),
        (
            "rules: {off: [pv-faild]}",
            &["1:15: unknown finding \"pv-faild\"; did you mean \"pv-failed\"?"],
        ),
        (
            "rules: {off: [pv-failed], only: [pvc-lost]}",
            &["1:8: \"off\" and \"only\" exclude each other"],
        ),
        ("rules: {only: []}", &["1:15: the list is empty: nothing would be reported"]),
        ("rules: {off: pv-failed}", &["1:14: expected a list, found \"pv-failed\""]),
        ("scope: ", &["1:6: expected keys and values, found nothing"]),
        ("report:\n  metrics:", &["2:10: expected keys and values, found nothing"]),
        ("leaderElection:", &["1:15: expected keys and values, found nothing"]),
        ("rules: [pv-failed]", &["1:8: expected keys and values, found a list"]),
        ("scope: {namespaces: [Shop]}", &["1:22: \"Shop\" is not a valid name of a namespace"]),
        (
            "scope: {namespaces: [12]}",
            &["1:22: expected the name of a namespace; quote \"12\" if it is one"],
        ),
        (
            "scope: {selector: 'a b'}",
            &["1:19: invalid selector at \"a b\": found \"b\", expected =, ==, !=, in, notin, < \
               or > after the key"],
        ),
        ("exemptions: [{rule: pv-failed, object: pv/a}]", &["1:14: the key \"reason\" is missing"]),
        (
            "exemptions: [{rule: pv-failed, object: pv/a, reason: ' ', until: soon}]",
            &[
                "1:54: the reason is empty",
                "1:66: \"soon\" is not a date such as 2027-01-31 or a time such as \
                 2027-01-31T12:00:00Z",
            ],
        ),
        (
            "exemptions: [{rule: pv-failed, object: pvc/a, reason: b}]",
            &["1:40: \"pvc/a\": expected pvc/NAMESPACE/NAME"],
        ),
        (
            "exemptions: [{rule: pv-failed, object: pvv/a, reason: b}]",
            &["1:40: unknown kind \"pvv\"; did you mean \"pv\" or \"pvc\"?"],
        ),
        ("scope: {}\nscope: {}", &["2:1: the key \"scope\" is given twice, first on line 3"]),
        ("scope: &a {}\nrules: *a", &["2:8: aliases are not supported in a policy"]),
        ("scope: !!map {}", &["1:14: tags are not supported in a policy"]),
        ("---\n{}", &["1:1: a second document; a policy is one"]),
        (
            "report: {events: {severity: hihg}, webhok: {}}",
            &[
                "1:29: unknown value \"hihg\"; did you mean \"high\"?",
                "1:36: unknown key \"webhok\"; did you mean \"webhook\"?",
            ],
        ),
        (
            "rules: {of: [a]}\nthresholds:\n  stuck: 1\n  finalizr: 2h\nscope: 3",
            &[
                "1:9: unknown key \"of\"; did you mean \"off\"?",
                "3:10: \"1\" has no unit: write 1d, 1h, 1m or 1s",
                "4:3: unknown threshold \"finalizr\"; did you mean \"finalizer\"?",
                "5:8: expected keys and values, found integer `3`",
            ],
        ),
    ] {
        assert_eq!(wrong(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_policy_is_said_first() {
    for (text, expected) in [
        ("", "p.yaml:1:1: the policy is empty"),
        ("# nothing", "p.yaml:1:1: the policy is empty"),
        ("[]", "p.yaml:1:1: expected keys and values"),
        (
            "apiVersion: v1\nkind: ConfigMap\ndata: {}",
            "p.yaml:1:13: apiVersion must be storage.kubectl.dev/v1alpha1",
        ),
        (
            "apiVersion: storage.kubectl.dev/v1alpha1\nkind: Policy",
            "p.yaml:2:7: kind must be WatchPolicy",
        ),
        (
            "apiVersion: storage.kubectl.dev/v1alpha1",
            "p.yaml:1:1: the key \"kind\" is missing: write kind: WatchPolicy",
        ),
    ] {
        let error = WatchPolicy::parse(&"p.yaml", text).expect_err(text);
        assert_eq!(error.lines(), [expected], "{text}");
    }
    for (levels, expected) in [(20, "too many levels"), (100_000, "not valid YAML")] {
        let deep = format!("{HEAD}scope: {}{}", "[".repeat(levels), "]".repeat(levels));
        let error = WatchPolicy::parse(&"p.yaml", &deep).expect_err("it is too deep");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let broken = WatchPolicy::parse(&"p.yaml", "a: [b").expect_err("it is cut");
    assert!(broken.lines()[0].contains(": not valid YAML: "), "{broken}");
}

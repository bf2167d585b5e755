//! Reports for other programs: what each format promises. Tools of others judge them in the extended suite.

mod clusters;
mod compared;
mod files;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use kubectl_storage::rules::REGISTRY;
use serde_json::{Value, json};

use crate::{
    rules::{dump, dumps},
    support::{Call, read, root},
};

/// The formats, with the ends of their files.
const FORMATS: [(&str, &str); 6] = [
    ("csv", "csv"),
    ("json", "json"),
    ("junit", "xml"),
    ("markdown", "md"),
    ("openmetrics", "om"),
    ("sarif", "sarif"),
];

/// Writes a report in every format, and returns the exit code.
fn write(folder: &Path, name: &str, args: &[&str]) -> i32 {
    let output = |(format, end): &(&str, &str)| format!("{format}={name}.{end}");
    let outputs = FORMATS.iter().flat_map(|it| ["-o".to_owned(), output(it)]);
    let args = ["audit"].iter().chain(args).map(|it| (*it).to_owned()).chain(outputs);
    let ran = Call { folder: Some(folder.to_owned()), ..Call::new(args) }.run();
    ran.is_decent(name);
    ran.code.expect("because it is decent")
}

/// A dump of claims whose volumes do not exist, as many as that.
fn lost_claims(count: usize) -> String {
    let claim = |number: usize| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": format!("claim-{number}"), "namespace": format!("team-{}", number % 7),
                "uid": format!("uid-{number}"), "creationTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["kubernetes.io/pvc-protection"],
            },
            "spec": {
                "volumeName": format!("gone-{number}"), "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
            "status": {"phase": "Lost"},
        })
    };
    let items: Vec<_> = (0..count).map(claim).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

const AS_OF: [&str; 4] = ["--taken-at", "2026-06-01T00:00:00Z", "--complete", "all"];

/// What a report in the formats of files says, and what GitHub and Jenkins ask of it. Returns how many findings it lists.
fn hold(folder: &Path, name: &str) -> usize {
    let of = |end: &str| read(&folder.join(format!("{name}.{end}")));
    let report: Value = serde_json::from_str(&of("json")).expect("it is JSON");
    let findings = report["findings"].as_array().expect("a list");
    let count = findings.len();
    let csv = of("csv");
    assert_eq!(csv.matches("\r\n").count(), count + 1, "{name}: a line for each finding");
    assert_eq!(csv.matches('\n').count(), count + 1, "{name}: no other lines");
    let junit = of("xml");
    assert_eq!(junit.matches("<failure ").count(), count, "{name}");
    let cases = junit.matches("<testcase ").count();
    let numbers = format!("tests=\"{cases}\" failures=\"{count}\" errors=\"0\"");
    assert_eq!(junit.matches(&numbers).count(), 2, "{name}: {numbers}");
    let markdown = of("md");
    assert!(markdown.chars().count() < 60_000, "{name}");
    let rows = markdown.lines().filter(|it| it.starts_with("| ")).count();
    let rows = rows.saturating_sub(2);
    let left_out = format!("\n{} more finding", count - rows.min(count));
    assert_eq!(markdown.contains(&left_out), rows < count, "{name}: {rows} of {count}");
    let metrics = of("om");
    assert!(metrics.ends_with("# EOF\n"), "{name}: {metrics}");
    let sample =
        |line: &str| line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok());
    let counted = metrics.lines().filter(|it| it.starts_with("kubectl_storage_findings{"));
    let counted: f64 = counted.filter_map(sample).sum::<f64>();
    assert!(
        (counted - f64::from(u32::try_from(count).expect("few"))).abs() < 0.5,
        "{name}: {counted}"
    );
    let log: Value = serde_json::from_str(&of("sarif")).expect("it is JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("a list");
    assert_eq!(results.len(), count.min(5_000), "{name}");
    let rules = run["tool"]["driver"]["rules"].as_array().expect("a list");
    assert_eq!(rules.len(), REGISTRY.len());
    let mut prints = BTreeSet::new();
    for (result, finding) in results.iter().zip(findings) {
        assert_eq!(result["ruleId"], finding["id"]);
        let index = result["ruleIndex"].as_u64().expect("a number");
        assert_eq!(rules[usize::try_from(index).expect("small")]["id"], finding["id"]);
        let level = match finding["severity"].as_str().expect("text") {
            "critical" | "high" => "error",
            "medium" => "warning",
            _ => "note",
        };
        assert_eq!(result["level"], level);
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("text");
        let name = finding["object"]["name"].as_str().expect("text");
        assert!(
            uri.strip_suffix(".yaml").is_some() && !uri.starts_with('/') && !uri.contains(':'),
            "{uri}"
        );
        assert!(
            name.contains(|c: char| !c.is_ascii()) || uri.contains(name) || uri.contains('%'),
            "{uri}"
        );
        assert_eq!(place["region"]["startLine"], 1);
        let print = result["partialFingerprints"]["kubectlStorage/v1"].as_str().expect("text");
        assert!(prints.insert(print.to_owned()), "{name}: {print} is of two findings");
    }
    let notes = run["invocations"][0]["toolExecutionNotifications"].to_string();
    assert_eq!(notes.contains("left out"), count > 5_000, "{notes}");
    count
}

#[test]
fn each_format_lists_each_finding() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut count = 0;
    for rule in REGISTRY.iter() {
        for file in dumps(rule, "found").into_iter().take(1) {
            let path = dump(rule, &file).to_string_lossy().into_owned();
            write(folder.path(), rule.id, &["-f", &path]);
            count += hold(folder.path(), rule.id);
        }
    }
    assert!(count > 100, "only {count} findings: nothing is proven");
}

#[test]
fn many_findings_are_bounded_and_what_is_left_out_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("dump.json"), lost_claims(6_000)).expect("it can be written");
    let args = [&["-f", "dump.json"], &AS_OF[..]].concat();
    write(folder.path(), "many", &args);
    assert!(hold(folder.path(), "many") >= 6_000);
    let markdown = read(&folder.path().join("many.md"));
    assert!(markdown.chars().count() > 50_000, "there is room for more");
}

#[test]
fn a_fingerprint_is_of_the_finding_and_not_of_its_words() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("dump.json"), lost_claims(3)).expect("it can be written");
    let prints = |at: &str| {
        let args = ["-f", "dump.json", "--complete", "all", "--taken-at", at];
        write(folder.path(), "some", &args);
        let log: Value =
            serde_json::from_str(&read(&folder.path().join("some.sarif"))).expect("JSON");
        let results = log["runs"][0]["results"].as_array().expect("a list").clone();
        results.iter().map(|it| it["partialFingerprints"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(prints("2026-06-01T00:00:00Z"), prints("2026-09-01T00:00:00Z"));
}

/// Tools of others read every format: of each fixture, of none and of many findings, and of hostile names.
#[test]
#[ignore = "extended suite: tools of others"]
fn tools_of_others_accept_each_format() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    for rule in REGISTRY.iter() {
        for file in dumps(rule, "found").into_iter().take(1) {
            let path = dump(rule, &file).to_string_lossy().into_owned();
            write(at, rule.id, &["-f", &path]);
        }
    }
    for (name, count) in [("none", 0), ("many", 6_000)] {
        fs::write(at.join(format!("{name}.dump")), lost_claims(count)).expect("it can be written");
        let dump = format!("{name}.dump");
        write(at, name, &[&["-f", &*dump], &AS_OF[..]].concat());
    }
    let files = ["-f", "none=none.dump", "-f", "many=many.dump", "-f", "gone=gone.dump"];
    write(at, "clusters", &[&files, &AS_OF[..]].concat());
    let hostile = [
        "=cmd|' /C calc'!A0",
        "@org/team #123 GH-1 https://evil.example",
        "a|b\\|c`d``e",
        "<script>alert(1)</script>",
        "\u{202e}gpj.exe\u{0}\u{1b}[2J\u{fffe}\u{ffff}",
        "[link](javascript:alert(1)) ![i](http://x/y.png)",
        "../../..",
        "Ünïcödé 数据 \u{1f4a5} \u{5d0}\u{5d1}",
        "a\r\n\r\n# heading\n- list\n",
        "${{ secrets.TOKEN }} :+1: ~~x~~ **y** $z$",
        "\"quoted\", 'cell'",
    ];
    for (index, name) in hostile.iter().enumerate() {
        let text = lost_claims(1).replace("claim-0", "NAME").replace("team-0", "NAME");
        let name = serde_json::to_string(name).expect("it is text");
        let text = text.replace("\"NAME\"", &name);
        fs::write(at.join("hostile.dump"), text).expect("it can be written");
        let args = [&["-f", "hostile.dump"], &AS_OF[..]].concat();
        write(at, &format!("hostile-{index}"), &args);
    }
    let check = root().join("tests/validators/check");
    let ran = Command::new(check).arg(at).output().expect("the script runs");
    let said =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("Sarif.Multitool: nothing found"), "{said}");
}

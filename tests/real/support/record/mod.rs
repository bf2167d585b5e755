//! Fixtures of rules (`tests/rules`), recorded from what a scenario made.
//!
//! With `RECORD_FIXTURES=1` every audit also saves what it saw, and a scenario that says
//! [`Report::is_fixture`] writes the fixture of a rule: the finding's object and what belongs to it.
//! Without, it holds that the fixture that is shipped says what the audit says today.

mod closure;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::report::{Finding, Report};
use super::{Run, say};

/// What an audit saw.
pub(super) struct Saved {
    /// The lines of its dump.
    lines: Vec<Value>,
    /// What it was asked.
    args: Vec<String>,
}

/// One entry of `expected.yaml`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Expected {
    object: String,
    severity: String,
    verdict: String,
    #[serde(default)]
    reason: String,
    summary: String,
}

/// Whether fixtures are to be written.
pub(super) fn recording() -> bool {
    std::env::var_os("RECORD_FIXTURES").is_some()
}

impl Saved {
    pub(super) fn read(file: &Path, args: &[&str]) -> Self {
        let text = fs::read_to_string(file).expect("because it was just saved");
        let line =
            |line| serde_json::from_str(line).expect("because a dump has an object per line");
        Self {
            lines: text.lines().map(line).collect(),
            args: args.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Report {
    /// Makes a finding of this report the fixture of its rule, or compares it with that.
    pub(crate) fn is_fixture(&self, id: &str, object: &str) {
        self.is_fixture_called("", id, object);
    }

    /// The same beside a fixture that was written by hand.
    pub(crate) fn is_second_fixture(&self, id: &str, object: &str) {
        self.is_fixture_called("-recorded", id, object);
    }

    fn is_fixture_called(&self, which: &str, id: &str, object: &str) {
        let finding = self.finding(id, object);
        match &self.saved {
            Some(saved) => record(saved, which, finding),
            None => compare(which, finding),
        }
    }

    /// Makes an object about which this rule has nothing to say the recorded near miss of the rule.
    pub(crate) fn is_near_miss(&self, id: &str, object: &str) {
        self.expect_not(object, id);
        let file = folder(id).join("clean-recorded.yaml");
        let Some(saved) = &self.saved else {
            assert!(file.exists(), "{id} has no recorded near miss: RECORD_FIXTURES=1 makes one");
            return;
        };
        let object = closure::key_of(object);
        write_excerpt(&file, saved, closure::around(&saved.lines, &object, &[]), "a near miss");
        write_settings(&folder(id).join("settings-recorded.yaml"), &saved.args);
        let findings = judge(&file, id, saved);
        assert_eq!(findings, [], "the excerpt is no near miss of {id}");
    }
}

fn folder(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules").join(id)
}

fn expected(finding: Finding) -> Expected {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Expected {
        object: finding.object(),
        severity: finding.severity().to_owned(),
        verdict: text(&finding.0["verdict"]["state"]),
        reason: text(&finding.0["verdict"]["reason"]),
        summary: text(&finding.0["summary"]),
    }
}

fn compare(which: &str, finding: Finding) {
    let file = folder(finding.id()).join(format!("expected{which}.yaml"));
    let text = fs::read_to_string(&file).unwrap_or_default();
    let shipped: Vec<Expected> = serde_yaml::from_str(&text).unwrap_or_default();
    let now = expected(finding);
    let same = |it: &Expected| {
        (&it.severity, &it.verdict) == (&now.severity, &now.verdict)
            && without_random_names(&it.summary) == without_random_names(&now.summary)
    };
    assert!(
        shipped.iter().any(same),
        "{}: RECORD_FIXTURES=1 renews the fixture: {shipped:#?}, and today {now:#?}",
        file.display()
    );
}

/// A text without uids, of which names of volumes are made, hashes, of which those of attachments
/// are, and the endings of the names of generated pods.
fn without_random_names(text: &str) -> String {
    let random = r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,}|-[b-df-hj-np-tv-z2456789]{5}\b";
    let random = Regex::new(random).expect("because it is a pattern");
    random.replace_all(text, "…").into_owned()
}

fn record(saved: &Saved, which: &str, finding: Finding) {
    let folder = folder(finding.id());
    fs::create_dir_all(&folder).expect("because the repository is ours");
    let file = folder.join(format!("found{which}.yaml"));
    let related = finding.0["related"].as_array().cloned().unwrap_or_default();
    let objects = closure::around(&saved.lines, &finding.0["object"], &related);
    write_excerpt(&file, saved, objects, "the near misses are in clean.yaml");
    write_settings(&folder.join(format!("settings{which}.yaml")), &saved.args);
    let findings = judge(&file, finding.id(), saved);
    assert!(
        findings.contains(&expected(finding)),
        "the excerpt is not enough: of it the tool says {findings:#?}, of the cluster {finding}"
    );
    write(&folder.join(format!("expected{which}.yaml")), &yaml(&findings));
    say(&format!("recorded {}", finding.id()));
}

/// What the tool says of an excerpt, judged as the audit was.
fn judge(file: &Path, id: &str, saved: &Saved) -> Vec<Expected> {
    let file = file.display().to_string();
    let args: Vec<_> = saved.args.iter().map(String::as_str).collect();
    let run = Run::of(&["audit", "-o", "json", "--rule", id, "-f", &file]).more(&args);
    run.go().report().findings().map(expected).collect()
}

fn write_excerpt(file: &Path, saved: &Saved, objects: Vec<Value>, what: &str) {
    let taken = saved.lines.iter().find(|line| line["kind"] == "Taken");
    let taken = taken.expect("because an audit of a cluster tells when it was taken");
    let version = taken["cluster"]["version"].as_str().expect("because the server told it");
    let scenario = thread::current();
    let scenario = scenario.name().unwrap_or_default();
    let mut text =
        format!("# Recorded from Kubernetes {version} by tests/real, {scenario}: {what}.\n");
    let header = json!({
        "apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "Excerpt",
        "metadata": {
            "takenAt": taken["takenAt"],
            "cluster": {"uid": taken["cluster"]["uid"], "server": "https://example", "version": version},
        },
        "complete": ["all"],
    });
    text += &yaml(&header);
    for object in objects {
        write!(text, "---\n{}", yaml(&object)).expect("because a string takes everything");
    }
    // The testbed has two binaries of this name, and theirs is what they call themselves.
    let text = text.replace("kube-controller-manager-1.32", "kube-controller-manager");
    let home = std::env::var("HOME").unwrap_or_default();
    for place in ["127.0.0.1", "/tmp/kst", env!("CARGO_MANIFEST_DIR"), &home] {
        let known = place.len() > 1 && text.contains(place);
        assert!(!known, "{place} of this machine is in {text}");
    }
    write(file, &text);
}

/// Writes down what the audit was asked, in the words of the fixtures' harness.
fn write_settings(file: &Path, args: &[String]) {
    let mut thresholds = BTreeMap::new();
    let mut absent = Vec::new();
    for pair in args.windows(2) {
        match (pair[0].as_str(), pair[1].as_str()) {
            ("--older-than", duration) => {
                thresholds.insert("older-than", duration);
            }
            ("--threshold", setting) => {
                thresholds.extend(setting.split_once('='));
            }
            ("--driver-absent", driver) => absent.push(driver),
            _ => {}
        }
    }
    let mut settings = json!({});
    if !thresholds.is_empty() {
        settings["thresholds"] = json!(thresholds);
    }
    if !absent.is_empty() {
        settings["driverAbsent"] = json!(absent);
    }
    if settings == json!({}) {
        let _ = fs::remove_file(file); // there may be none
    } else {
        write(
            file,
            &format!("# What the audit was asked when it was recorded.\n{}", yaml(&settings)),
        );
    }
}

fn yaml(value: &impl Serialize) -> String {
    serde_yaml::to_string(value).expect("because it is plain data")
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

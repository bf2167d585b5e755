//! Real incidents, rebuilt as dumps: what has to be true of the tool's answers about each of them.
//!
//! `tests/cases/README.md` says how `expect.json` reads.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use crate::support::{Call, Ran, read, root};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    audit: Vec<String>,
    #[serde(default)]
    present: Vec<Vec<String>>,
    #[serde(default)]
    absent: Vec<Vec<String>>,
    #[serde(default)]
    blocked: Vec<Vec<String>>,
    #[serde(default)]
    explain: Vec<Explained>,
    #[serde(default)]
    commands: Vec<Commanded>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explained {
    object: String,
    args: Vec<String>,
    #[serde(default)]
    must: Vec<String>,
    #[serde(default)]
    must_not: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commanded {
    args: Vec<String>,
    #[serde(default)]
    must: Vec<String>,
    #[serde(default)]
    must_not: Vec<String>,
    #[serde(default = "fine")]
    exit: Vec<i32>,
}

/// The exit codes of a command that did what it was asked for.
fn fine() -> Vec<i32> {
    vec![0, 3, 4, 5]
}

/// An expectation of `present`, `absent` or `blocked`.
struct Pattern<'a> {
    id: &'a str,
    object: &'a str,
    severity: Option<&'a str>,
}

impl<'a> Pattern<'a> {
    fn of(entry: &'a [String]) -> Self {
        let [id, object, rest @ ..] = entry else { panic!("{entry:?} names no object") };
        Self { id, object, severity: rest.first().map(String::as_str) }
    }

    fn fits(&self, finding: &Value) -> bool {
        let is = |pattern: &str, value: &Value| {
            pattern.split('|').any(|it| it == "*" || value.as_str() == Some(it))
        };
        let severe = self.severity.is_none_or(|least| rank(&finding["severity"]) >= rank_of(least));
        is(self.id, &finding["id"]) && is(self.object, &finding["object"]["name"]) && severe
    }
}

fn rank(severity: &Value) -> usize {
    rank_of(severity.as_str().expect("because every finding has a severity"))
}

fn rank_of(severity: &str) -> usize {
    let known = ["info", "low", "medium", "high", "critical"];
    known.iter().position(|it| *it == severity).expect("a severity")
}

#[test]
fn the_tool_is_right_about_real_incidents() {
    let mut folders: Vec<PathBuf> = fs::read_dir(root().join("tests/cases"))
        .expect("tests/cases")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(folders.len() > 20, "only {} cases", folders.len());
    let mut short = String::new();
    for folder in &folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        for shortfall in shortfalls(folder, &name) {
            let _ = writeln!(short, "{name}: {shortfall}");
        }
    }
    assert!(short.is_empty(), "these fall short:\n{short}");
}

/// Every expectation of a case that does not hold.
fn shortfalls(folder: &Path, name: &str) -> Vec<String> {
    let expected: Expected = serde_json::from_str(&read(&folder.join("expect.json")))
        .unwrap_or_else(|error| panic!("{name}: expect.json: {error}"));
    let folder_of_dumps = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases");
    fs::create_dir_all(&folder_of_dumps).expect("a folder");
    let dump = folder_of_dumps.join(format!("{name}.json.gz")).to_string_lossy().into_owned();
    let objects = folder.join("objects.yaml").to_string_lossy().into_owned();
    let with = |words: &[&str]| {
        let words: Vec<_> = words.iter().copied().chain(["-f", &objects]).collect();
        Call::new(words.into_iter().chain(expected.audit.iter().map(String::as_str))).run()
    };
    let ran = with(&["dump", &dump]);
    if !matches!(ran.code, Some(0 | 4)) {
        return vec![format!("dump saves nothing: {}", ran.stderr)];
    }
    let ran = with(&["audit", "-o", "json"]);
    let Ok(report) = serde_json::from_str::<Value>(&ran.stdout) else {
        return vec![format!("audit prints no report: {}", ran.stderr)];
    };
    let findings = report["findings"].as_array().expect("because every report has them");
    let mut short = Vec::new();
    let mut held = |what: &str, entries: &[Vec<String>], holds: &dyn Fn(&Pattern) -> bool| {
        let entries = entries.iter().filter(|it| !holds(&Pattern::of(it)));
        short.extend(entries.map(|it| format!("{what}: {}", it.join(" "))));
    };
    held("present", &expected.present, &|it| findings.iter().any(|found| it.fits(found)));
    held("absent", &expected.absent, &|it| !findings.iter().any(|found| it.fits(found)));
    held("blocked", &expected.blocked, &|it| {
        let is_fixable = |found: &&Value| found["verdict"]["state"] == "fixable";
        !findings.iter().filter(is_fixable).any(|found| it.fits(found))
    });
    for it in &expected.explain {
        let args: Vec<_> = ["explain", &it.object].map(str::to_owned).into();
        let args = [args, it.args.clone()].concat();
        short.extend(asked(&dump, &args, &it.must, &it.must_not, &fine()));
    }
    for it in &expected.commands {
        short.extend(asked(&dump, &it.args, &it.must, &it.must_not, &it.exit));
    }
    short
}

/// What a call does not say, or should not say.
fn asked(
    dump: &str,
    args: &[String],
    must: &[String],
    must_not: &[String],
    exit: &[i32],
) -> Vec<String> {
    let call = args.join(" ");
    let ran = Call::new(args.iter().map(String::as_str).chain(["-f", dump])).run();
    if !ran.code.is_some_and(|code| exit.contains(&code)) {
        return vec![format!("{call}: ends with {:?}", ran.code)];
    }
    let said = words_of(&ran);
    let missing = must.iter().filter(|it| !pattern(it).is_match(&said));
    let missing = missing.map(|it| format!("{call}: does not say {it}"));
    let wrong = must_not.iter().filter(|it| pattern(it).is_match(&said));
    missing.chain(wrong.map(|it| format!("{call}: says {it}"))).collect()
}

/// What was printed, with each run of white space as one space.
fn words_of(ran: &Ran) -> String {
    let words = ran.stdout.split_whitespace().chain(ran.stderr.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

fn pattern(text: &str) -> Regex {
    RegexBuilder::new(text)
        .case_insensitive(true)
        .build()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

//! The workflows of the forge: pinned, with few permissions, and thin.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use regex::Regex;
use serde_json::{Value, json};

use crate::support::{files, read, root};

const FOLDER: &str = ".github/workflows";

fn workflows() -> Vec<(String, String)> {
    let paths = files(&root().join(FOLDER), ".yaml");
    let name = |path: &Path| path.strip_prefix(root()).unwrap_or(path).display().to_string();
    paths.iter().map(|path| (name(path), read(path))).collect()
}

/// Every value of this key, however deep.
fn values<'a>(within: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match within {
        Value::Object(fields) => {
            found.extend(fields.get(key));
            fields.values().for_each(|it| values(it, key, found));
        }
        Value::Array(items) => items.iter().for_each(|it| values(it, key, found)),
        _ => {}
    }
}

fn texts(within: &Value, key: &str) -> Vec<String> {
    let mut found = Vec::new();
    values(within, key, &mut found);
    found.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What is wrong with a workflow.
fn wrong(text: &str, is_script: &dyn Fn(&str) -> bool) -> Vec<String> {
    let pinned = Regex::new("^[^@]+@[0-9a-f]{40}$").expect("a pattern");
    let script = Regex::new(r"(?:^|[\s($])((?:release|\.ci)/[a-z-]+)").expect("a pattern");
    let workflow: Value = serde_yaml::from_str(text).expect("because it is YAML");
    let mut wrong = Vec::new();
    let modest = [json!({}), json!({"contents": "read"})];
    for (name, job) in workflow["jobs"].as_object().into_iter().flatten() {
        let given = job.get("permissions").or_else(|| workflow.get("permissions"));
        match given {
            None => wrong.push(format!("{name} gets the permissions of the repository's settings")),
            Some(given) if given["contents"] == "write" => {
                let of_others = |it: &&String| !it.starts_with("actions/");
                let others: Vec<_> = texts(job, "uses");
                if let Some(other) = others.iter().find(of_others) {
                    wrong.push(format!("{name} may write the repository, and runs {other}"));
                }
            }
            Some(_) => {}
        }
        let pushes = texts(job, "run").iter().any(|it| it.contains("git push"));
        for step in job["steps"].as_array().into_iter().flatten() {
            let is_checkout =
                step["uses"].as_str().is_some_and(|it| it.starts_with("actions/checkout@"));
            if is_checkout && !pushes && step["with"]["persist-credentials"] != false {
                wrong.push(format!("{name} keeps credentials that it does not use"));
            }
        }
    }
    if workflow.get("permissions").is_some_and(|it| !modest.contains(it)) {
        wrong.push("gives every job more than to read".to_owned());
    }
    if workflow["defaults"]["run"]["shell"] != "bash" {
        wrong.push("does not run bash with pipefail".to_owned());
    }
    for action in texts(&workflow, "uses") {
        let own = action.strip_prefix("./").is_some_and(|it| root().join(it).is_file());
        if !own && !pinned.is_match(&action) {
            wrong.push(format!("{action} is not pinned by its commit"));
        }
    }
    for run in texts(&workflow, "run") {
        if run.contains("${{") {
            wrong.push(format!("text of others becomes a command: {run}"));
        }
        for called in script.captures_iter(&run).map(|it| it[1].to_owned()) {
            if !is_script(&called) {
                wrong.push(format!("{called} is no script that can be run"));
            }
        }
    }
    wrong
}

fn is_script(path: &str) -> bool {
    let found = root().join(path).metadata();
    found.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[test]
fn workflows_are_pinned_modest_and_call_what_exists() {
    let workflows = workflows();
    assert_eq!(workflows.len(), 2, "{workflows:?}");
    for (name, text) in &workflows {
        assert_eq!(wrong(text, &is_script), [""; 0], "{name}");
        // What can be done by a script is: it runs on any machine.
        assert!(text.contains("release/") && text.lines().count() < 200, "{name} is not thin");
    }
}

#[test]
fn a_careless_workflow_is_seen() {
    let text = "jobs: {a: {steps: [{uses: actions/checkout@v4}, {run: x && release/gone y}, \
        {run: 'echo ${{ matrix.target }}'}, {uses: ./.github/workflows/ci.yaml}]}}";
    let found = wrong(text, &is_script);
    let seen =
        ["settings", "credentials", "pipefail", "not pinned", "becomes a command", "no script"];
    for what in seen {
        assert_eq!(found.iter().filter(|it| it.contains(what)).count(), 1, "{what}: {found:?}");
    }
    assert_eq!(found.len(), seen.len(), "{found:?}");
    let sha = "3d3c42e5aac5ba805825da76410c181273ba90b1";
    let of = |permissions: &str, job: &str| {
        let text = format!(
            "permissions: {permissions}\ndefaults: {{run: {{shell: bash}}}}\njobs: {{a: {{permissions: {job}, steps: [{{uses: a/b@{sha}}}]}}}}"
        );
        wrong(&text, &is_script).join(", ")
    };
    assert_eq!(of("{}", "{contents: read}"), "");
    assert!(of("{}", "{contents: write}").contains("may write the repository, and runs a/b@"));
    assert!(of("write-all", "{}").contains("more than to read"));
}

/// One version of an action at a time, and the version beside each pin.
#[test]
fn pins_say_which_version_they_are() {
    let line = Regex::new(r"uses: ([^@\s]+)@([0-9a-f]{40})(?: # (v[0-9.]+))?").expect("a pattern");
    let mut pins = std::collections::BTreeMap::new();
    for (name, text) in workflows() {
        for found in line.captures_iter(&text) {
            let version = found.get(3).map(|it| it.as_str().to_owned());
            assert!(version.is_some(), "{name}: {} says no version", &found[1]);
            let pin = (found[2].to_owned(), version);
            let first = pins.entry(found[1].to_owned()).or_insert_with(|| pin.clone());
            assert_eq!(*first, pin, "{name}: {}", &found[1]);
        }
    }
    assert!(pins.len() >= 5, "{pins:?}");
}

/// Everything that builds what is published does so with one Rust, which is one that the crate compiles with.
#[test]
fn one_rust_builds_what_is_published() {
    let rust = Regex::new(r"RUSTUP_TOOLCHAIN: ([0-9.]+)\n").expect("a pattern");
    let named = |text: &str| rust.captures(text).map(|it| it[1].to_owned());
    let named: Vec<_> = workflows().iter().map(|it| named(&it.1)).collect();
    assert!(named[0].is_some() && named[0] == named[1], "{named:?}");
    let minor = |version: &str| version.split('.').nth(1).and_then(|it| it.parse::<u32>().ok());
    let used = named[0].as_deref().and_then(minor);
    assert!(used.is_some() && used >= minor(env!("CARGO_PKG_RUST_VERSION")), "{used:?}");
}

//! Every rule on its fixtures: what it has to find, and the near miss that it must not.
//!
//! In `tests/rules/<id>/`, `found.yaml` and `clean.yaml` are dumps; `expected.yaml` lists what the rule finds in the
//! former; `settings.yaml` holds what the user would have asked for. There can be more of them: `found-X.yaml` with
//! `expected-X.yaml`, `clean-X.yaml`, and `settings-X.yaml` for either; those of `clean.yaml` are in
//! `settings-clean.yaml`. The first line of a dump says whether `tests/real` recorded it, or what was made up and why;
//! `fixture` completes those that are made up. `UPDATE=1 cargo test --test it rules` rewrites what is expected.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use kubectl_storage::{
    dump::Input,
    model::{Settings, Text, Threshold, parse_duration},
    rules::{self, Assessor, REGISTRY, Rule, USAGE},
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};
use serde::{Deserialize, Serialize};

use crate::{
    fixture::{self, MADE_UP, RECORDED},
    support::{root, updating},
};

/// What a rule is expected to find.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    object: String,
    severity: String,
    verdict: String,
    #[serde(default)]
    reason: String,
    summary: String,
}

/// What the user would have asked for.
#[expect(clippy::struct_excessive_bools, reason = "flags are")]
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    thresholds: std::collections::BTreeMap<String, String>,
    driver_absent: Vec<String>,
    accept_leak: bool,
    rolled_back: bool,
    remove_finalizer: Option<String>,
    include_unknown_age: bool,
    include_recreated: bool,
    destroy_data: bool,
}

impl Asked {
    fn settings(self) -> Settings {
        let mut settings = Settings {
            absent_drivers: self.driver_absent.iter().map(|it| Text::from(&**it)).collect(),
            accept_leak: self.accept_leak,
            rolled_back: self.rolled_back,
            include_unknown_age: self.include_unknown_age,
            include_recreated: self.include_recreated,
            destroy_data: self.destroy_data,
            remove_finalizer: self.remove_finalizer.map(Text::from),
            ..Settings::default()
        };
        for (name, duration) in self.thresholds {
            let threshold = Threshold::parse(&name).expect("a threshold of that name");
            let duration: Duration = parse_duration(&duration).expect("a duration");
            settings.thresholds.set(threshold, duration);
        }
        settings
    }
}

/// The rules that are judged by what one dump holds.
fn of_objects() -> impl Iterator<Item = &'static Rule> {
    REGISTRY.iter().chain(USAGE).copied()
}

/// The folder of a rule's fixtures, settings and expectations.
fn folder(rule: &Rule) -> PathBuf {
    fixture::source().join(rule.id)
}

/// The dump that a fixture of a rule stands for.
pub(crate) fn dump(rule: &Rule, file: &str) -> PathBuf {
    fixture::folder().join(rule.id).join(file)
}

/// The dumps of a rule whose names begin so.
pub(crate) fn dumps(rule: &Rule, prefix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder(rule)) else { return Vec::new() };
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort_unstable();
    names
}

/// The file that goes with a dump: `expected-X.yaml` with `found-X.yaml`.
fn companion(dump: &str, name: &str) -> String {
    match dump.split_once('-') {
        Some((_, rest)) => format!("{name}-{rest}"),
        None if dump == "clean.yaml" => format!("{name}-clean.yaml"),
        None => format!("{name}.yaml"),
    }
}

pub(crate) struct Look {
    pub intake: Intake,
    pub settings: Settings,
    pub assessor: Assessor,
}

pub(crate) fn look(rule: &Rule, file: &str) -> Look {
    let path = dump(rule, file);
    let settings = fs::read_to_string(folder(rule).join(companion(file, "settings")));
    let asked: Asked = settings.map_or_else(
        |_| Asked::default(),
        |text| serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", rule.id)),
    );
    let settings = asked.settings();
    let kinds: BTreeSet<_> = REGISTRY.iter().flat_map(|rule| rule.looks_at()).collect();
    let options = DumpOptions { kinds: kinds.into_iter().collect(), ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    let inputs = [Input::Path(path.clone())];
    let notes = documents::read(&inputs, &mut std::io::empty(), &options, &mut intake)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(notes.notes.is_empty(), "{}: {:?}", path.display(), notes.notes);
    assert!(notes.details.is_empty(), "{}: {:?}", path.display(), notes.details);
    assert_eq!(intake.complaints(), [] as [String; 0], "{}", path.display());
    let mut assessor = Assessor::default();
    assessor.update(&intake.cluster, &settings, std::mem::take(&mut intake.dirty));
    Look { intake, settings, assessor }
}

impl Look {
    fn findings(&self, rule: &Rule) -> Vec<Expected> {
        self.assessor
            .findings(&self.intake.cluster, &self.settings)
            .filter(|finding| finding.rule == rule.id)
            .map(|finding| Expected {
                object: finding.object.to_string(),
                severity: finding.severity.name().to_owned(),
                verdict: finding.verdict.state.name().to_owned(),
                reason: finding.verdict.reason,
                summary: finding.summary,
            })
            .collect()
    }
}

/// Writes what is expected from now on, and says so.
fn update(path: &Path, found: &[Expected]) {
    let text = serde_yaml::to_string(found).expect("findings are YAML");
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::write(path, text).expect("the file can be written");
    let path = path.strip_prefix(root()).unwrap_or(path).display();
    writeln!(std::io::stderr(), "{path} was rewritten").expect("stderr is open");
}

#[test]
fn every_rule_finds_what_its_fixture_expects() {
    let mut wrong = Vec::new();
    for rule in of_objects() {
        for dump in dumps(rule, "found") {
            let file = companion(&dump, "expected");
            let found = look(rule, &dump).findings(rule);
            if updating() {
                update(&folder(rule).join(&file), &found);
            }
            let Ok(text) = fs::read_to_string(folder(rule).join(&file)) else {
                wrong.push(format!("{}: there is no {file}", rule.id));
                continue;
            };
            let expected: Vec<Expected> = serde_yaml::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {file}: {error}", rule.id));
            assert!(!expected.is_empty(), "{}: {file} expects nothing, and proves it", rule.id);
            if found != expected {
                wrong.push(format!(
                    "{}: {dump}:\n  found    {found:#?}\n  expected {expected:#?}",
                    rule.id
                ));
            }
        }
        if !folder(rule).join("found.yaml").exists() {
            wrong.push(format!("{}: there is no found.yaml", rule.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_rule_raises_a_false_alarm_on_its_near_miss() {
    let mut wrong = Vec::new();
    for rule in of_objects() {
        if !folder(rule).join("clean.yaml").exists() {
            wrong.push(format!("{}: there is no clean.yaml", rule.id));
            continue;
        }
        for dump in dumps(rule, "clean") {
            let look = look(rule, &dump);
            let gaps: Vec<_> = look.intake.cluster.gaps().collect();
            if !gaps.is_empty() {
                wrong.push(format!("{}: {dump} was not judged: {gaps:?}", rule.id));
            }
            if look.intake.cluster.count() == (0, 0) {
                wrong.push(format!("{}: {dump} is empty", rule.id));
            }
            let found = look.findings(rule);
            if !found.is_empty() {
                wrong.push(format!("{}: {dump}: false alarm: {found:#?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_folder_of_fixtures_belongs_to_a_rule() {
    for entry in fs::read_dir(fixture::source()).expect("tests/rules") {
        let name = entry.expect("readable").file_name();
        let name = name.to_string_lossy();
        let shared = ["background", "defaults.yaml"].contains(&&*name);
        assert!(shared || rules::find(&name).is_some(), "tests/rules/{name} belongs to no rule");
    }
}

#[test]
fn every_fixture_tells_where_it_comes_from() {
    for rule in of_objects() {
        for dump in dumps(rule, "found").into_iter().chain(dumps(rule, "clean")) {
            let text = fs::read_to_string(folder(rule).join(&dump)).expect("it was just listed");
            let first = text.lines().next().unwrap_or_default();
            let recorded =
                first.strip_prefix(RECORDED).is_some_and(|rest| rest.contains(" by tests/real, "));
            let made_up = first.strip_prefix(MADE_UP).is_some_and(|why| why.len() > 20);
            assert!(recorded || made_up, "tests/rules/{}/{dump} begins with {first:?}", rule.id);
        }
    }
}

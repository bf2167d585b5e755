//! Findings that explain others: in every fixture and in every real incident.

use std::collections::{BTreeMap, BTreeSet};

use kubectl_storage::rules::{CAUSES, REGISTRY};

use crate::rules::{dumps, look};

type Finding = (String, String);

/// The causes of every finding, by fixture.
fn causes() -> BTreeMap<String, BTreeMap<Finding, Vec<Finding>>> {
    let mut all = BTreeMap::new();
    for rule in REGISTRY.iter() {
        for file in dumps(rule, "found").into_iter().chain(dumps(rule, "clean")) {
            let it = look(rule, &file);
            let findings = it.assessor.findings(&it.intake.cluster, &it.settings).map(|finding| {
                let causes = finding.caused_by.iter();
                let causes = causes.map(|it| (it.rule.to_owned(), it.object.to_string()));
                ((finding.rule.to_owned(), finding.object.to_string()), causes.collect())
            });
            all.insert(format!("{}/{file}", rule.id), findings.collect());
        }
    }
    all
}

/// The length of the longest chain of causes.
fn depth(
    findings: &BTreeMap<Finding, Vec<Finding>>,
    of: &Finding,
    path: &mut Vec<Finding>,
) -> usize {
    assert!(!path.contains(of), "{of:?} is its own cause: {path:?}");
    path.push(of.clone());
    let causes = findings.get(of).unwrap_or_else(|| panic!("{of:?} is a cause, and no finding"));
    let deepest = causes.iter().map(|cause| depth(findings, cause, path)).max().unwrap_or(0);
    path.pop();
    deepest + 1
}

#[test]
fn causes_are_findings_and_no_finding_is_its_own() {
    let mut deepest = 0;
    for findings in causes().values() {
        for finding in findings.keys() {
            deepest = deepest.max(depth(findings, finding, &mut Vec::new()));
        }
    }
    assert!(deepest >= 3, "no fixture has a cause of a cause");
}

#[test]
fn every_cause_has_a_fixture() {
    let seen: BTreeSet<(String, String)> = causes()
        .values()
        .flatten()
        .flat_map(|(effect, causes)| {
            causes.iter().map(|cause| (cause.0.clone(), effect.0.clone())).collect::<Vec<_>>()
        })
        .collect();
    let missing: Vec<_> = CAUSES
        .iter()
        .flat_map(|row| {
            row.effects.iter().map(|effect| (row.cause.to_owned(), (*effect).to_owned()))
        })
        .filter(|pair| !seen.contains(pair))
        .collect();
    assert!(missing.is_empty(), "no fixture shows these causes of effects: {missing:#?}");
}

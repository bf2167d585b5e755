//! Format `-o sarif`: SARIF 2.1.0, as GitHub's code scanning takes it.
//!
//! GitHub refuses a whole upload for one result without a file. No object is in a file, so each result names one that
//! tells the object: `CLUSTER/KIND/NAMESPACE/NAME.yaml`.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
};

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ReportFrame, cluster};
use crate::{
    model::{Severity, counted, escape_control},
    output::{
        list,
        table::short_name,
        wire::{Finding, Gap, ObjectReference, ReportedCluster},
    },
    rules::{self, BETWEEN_CLUSTERS, Rule, of_report},
};

/// Largest number of results: GitHub shows no more of one run.
const MOST: usize = 5_000;
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
struct SarifLog<R> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: Vec<SarifRun<R>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun<R> {
    tool: Value,
    automation_details: Value,
    invocations: [Value; 1],
    results: R,
}

/// Category of the run of what comparing clusters has found.
const BETWEEN: &str = "between-clusters";

/// Writes a report as one run for each cluster, which is the same one in a report about that cluster alone: one that was
/// not read has no run, as code scanning closes each alert that a run lacks. What comparing clusters has found is a run
/// of its own.
pub fn write(
    out: &mut dyn Write,
    report: ReportFrame,
    findings: &mut dyn Iterator<Item = Finding>,
) -> io::Result<()> {
    let ReportFrame { head, tail, listed, .. } = report;
    let metadata = &head.metadata;
    let hidden = metadata.scope.as_ref().and_then(|it| it.hidden.as_ref());
    let hidden = hidden.map(|it| notification(&it.told()));
    let version = &metadata.tool.version;
    if metadata.clusters.is_empty() {
        let name = cluster(head);
        let rules: Vec<_> = of_report(head.summary.contents()).collect();
        let index = index(&rules);
        let notes: Vec<Value> =
            tail.gaps.iter().map(unread).chain(left_out(listed)).chain(hidden).collect();
        let mut results = findings.take(MOST).map(|it| result((name, name), &index, &it));
        let results = list::streamed(&mut results);
        return log(out, vec![run(version, name, &rules, &notes, results)]);
    }
    let mut by_cluster: HashMap<Option<String>, Vec<Finding>> = HashMap::new();
    for finding in findings {
        let is_between = BETWEEN_CLUSTERS.iter().any(|it| it.id == finding.id);
        let cluster = finding.cluster.clone().filter(|_| !is_between);
        by_cluster.entry(cluster).or_default().push(finding);
    }
    let identities: HashMap<&str, &str> =
        metadata.clusters.iter().map(|it| (&*it.name, identity(it, &metadata.clusters))).collect();
    let mut runs = Vec::new();
    let mut add = |category: &str, found: Vec<Finding>, mut notes: Vec<Value>| {
        let is_found = |rule: &&Rule| found.iter().any(|it| it.id == rule.id);
        let rules: Vec<_> = rules::all().filter(is_found).collect();
        let index = index(&rules);
        notes.extend(left_out(found.len()));
        let results = found.iter().take(MOST).map(|it| {
            let name = it.cluster.as_deref().unwrap_or_default();
            result((name, identities.get(name).copied().unwrap_or(name)), &index, it)
        });
        runs.push(run(version, category, &rules, &notes, results.collect::<Vec<_>>()));
    };
    let is_lost = |gap: &&Gap| gap.resource == Gap::ALL_KINDS;
    let lost: Vec<_> = tail.gaps.iter().filter(is_lost).collect();
    let notes = lost.iter().map(|it| unread(it)).chain(hidden).collect();
    add(BETWEEN, by_cluster.remove(&None).unwrap_or_default(), notes);
    for it in &metadata.clusters {
        let name = Some(it.name.clone());
        if lost.iter().any(|gap| gap.cluster == name) {
            continue;
        }
        let found = by_cluster.remove(&name).unwrap_or_default();
        let gaps = tail.gaps.iter().filter(|gap| gap.cluster == name);
        add(identities[&*it.name], found, gaps.map(unread).collect());
    }
    log(out, runs)
}

fn log<R: Serialize>(out: &mut dyn Write, runs: Vec<SarifRun<R>>) -> io::Result<()> {
    list::json(out, &SarifLog { schema: SCHEMA, version: "2.1.0", runs })
}

fn run<R: Serialize>(
    version: &str,
    cluster: &str,
    rules: &[&Rule],
    notes: &[Value],
    results: R,
) -> SarifRun<R> {
    SarifRun {
        tool: json!({ "driver": {
            "name": "kubectl-storage",
            "version": version,
            "semanticVersion": version,
            "informationUri": env!("CARGO_PKG_REPOSITORY"),
            "rules": rules.iter().map(|rule| described(rule)).collect::<Vec<_>>(),
        }}),
        // GitHub takes what stands before the last slash for the category of the run.
        automation_details: json!({ "id": format!("kubectl-storage/{}/", segment(cluster)) }),
        invocations: [json!({
            "executionSuccessful": true,
            "toolExecutionNotifications": notes,
        })],
        results,
    }
}

/// Returns the place of each rule in the list of a run.
fn index<'a>(rules: &[&'a Rule]) -> HashMap<&'a str, usize> {
    rules.iter().enumerate().map(|(index, rule)| (rule.id, index)).collect()
}

/// Returns what tells a cluster apart under any name: its uid, unless one was cloned from the other.
fn identity<'a>(cluster: &'a ReportedCluster, all: &[ReportedCluster]) -> &'a str {
    let uid = &cluster.identity.uid;
    let are_clones = all.iter().filter(|it| it.identity.uid == *uid).count() > 1;
    uid.as_deref().filter(|_| !are_clones).unwrap_or(&cluster.name)
}

fn unread(gap: &Gap) -> Value {
    notification(&format!("not read: {}", gap.told()))
}

fn left_out(listed: usize) -> Option<Value> {
    let left_out = listed.checked_sub(MOST).filter(|it| *it > 0)?;
    let told = format!("{} left out: the worst {MOST} are listed", counted(left_out, "finding"));
    Some(notification(&told))
}

fn notification(told: &str) -> Value {
    json!({ "level": "warning", "message": { "text": text(told) } })
}

/// Returns a rule, with what makes it dangerous and what the tool does about it.
fn described(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": text(rule.title) },
        "fullDescription": { "text": text(rule.danger) },
        "help": { "text": format!("{}\n\n{}", text(rule.danger), text(rule.remedy)) },
        "helpUri": concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/findings.md"),
        "defaultConfiguration": { "level": level(rule.severity.name()) },
        "properties": { "tags": ["kubernetes", "storage"], "severity": rule.severity.name() },
    })
}

fn level(severity: &str) -> &'static str {
    match Severity::parse(severity) {
        Some(Severity::Critical | Severity::High) => "error",
        Some(Severity::Medium) => "warning",
        Some(Severity::Low | Severity::Info) | None => "note",
    }
}

/// Returns a result of a cluster: what people call that, and what tells it apart.
fn result(
    (cluster, identity): (&str, &str),
    index: &HashMap<&str, usize>,
    finding: &Finding,
) -> Value {
    let object = &finding.object;
    let prefix = finding.cluster.as_ref().map(|it| format!("{it}/")).unwrap_or_default();
    let name = format!("{prefix}{}", short_name(object));
    let mut said = text(&finding.summary);
    if let Some(command) = finding.remedy.as_ref().and_then(|it| it.command.as_ref()) {
        let _ = write!(said, "\nNext: {}", text(command));
    }
    let fingerprint = fingerprint(identity, &finding.id, object);
    let mut result = json!({
        "ruleId": finding.id,
        "level": level(&finding.severity),
        "message": { "text": said },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": path(cluster, object) },
                "region": { "startLine": 1 },
            },
            "logicalLocations": [{
                "name": escape_control(&object.name),
                "fullyQualifiedName": escape_control(&name),
                "kind": "resource",
            }],
        }],
        "partialFingerprints": {
            // What GitHub tells results apart by; the other is by its name for everything else.
            "primaryLocationLineHash": format!("{fingerprint}:1"),
            "kubectlStorage/v1": fingerprint,
        },
        "properties": { "severity": finding.severity, "verdict": finding.verdict.state },
    });
    // Whether an earlier report could have it is no state of SARIF.
    match finding.baseline.as_deref() {
        Some("new") => result["baselineState"] = json!("new"),
        Some("known") => result["baselineState"] = json!("unchanged"),
        _ => {}
    }
    if let Some(cluster) = &finding.cluster {
        result["properties"]["cluster"] = json!(escape_control(cluster));
    }
    if let Some(index) = index.get(&*finding.id) {
        result["ruleIndex"] = json!(index);
    }
    result
}

/// Returns the fingerprint of a finding: the same for one rule and one name of an object, however the finding is
/// worded.
fn fingerprint(cluster: &str, id: &str, object: &ObjectReference) -> String {
    let namespace = object.namespace.as_deref().unwrap_or_default();
    let parts = [cluster, id, &object.kind, namespace, &object.name];
    let mut digest = Sha256::new();
    for part in parts {
        // Each with its length: otherwise two objects could be spelled alike.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let digest = digest.finalize();
    digest.iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Returns the relative URI of the file that stands for the object.
fn path(cluster: &str, object: &ObjectReference) -> String {
    let namespace = object.namespace.iter().map(|it| format!("{}/", segment(it)));
    let place: String = namespace.collect();
    format!("{}/{}/{place}{}.yaml", segment(cluster), segment(&object.kind), segment(&object.name))
}

/// Returns a segment of a path (RFC 3986), which leads nowhere else.
fn segment(text: &str) -> String {
    if matches!(text, "" | "." | "..") {
        return format!("_{text}");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::new(), |mut segment, byte| {
        match plain(byte) {
            true => segment.push(char::from(byte)),
            false => {
                let _ = write!(segment, "%{byte:02X}");
            }
        }
        segment
    })
}

/// Returns one line of a message, in which no brackets are a link.
fn text(text: &str) -> String {
    escape_control(text).replace("](", "] (")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(namespace: Option<&str>, name: &str) -> ObjectReference {
        ObjectReference {
            cluster: None,
            api_version: "v1".to_owned(),
            kind: "PersistentVolumeClaim".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            uid: None,
        }
    }

    #[test]
    fn each_object_has_a_file_and_a_fingerprint_of_its_own() {
        let of = |object: &ObjectReference| path("prod", object);
        assert_eq!(of(&object(Some("shop"), "data")), "prod/PersistentVolumeClaim/shop/data.yaml");
        assert_eq!(of(&object(None, "data")), "prod/PersistentVolumeClaim/data.yaml");
        assert_eq!(of(&object(Some(".."), "a/b?")), "prod/PersistentVolumeClaim/_../a%2Fb%3F.yaml");
        let print = |namespace, name| fingerprint("c", "pvc-lost", &object(namespace, name));
        assert_ne!(print(Some("a"), "b"), print(Some("ab"), ""));
        assert_ne!(print(Some("a"), "b"), print(None, "ab"));
        assert_eq!(print(Some("a"), "b"), print(Some("a"), "b"));
        assert_eq!(print(Some("a"), "b").len(), 32);
    }

    proptest! {
        #[test]
        fn any_name_is_a_relative_uri(name in ".{0,20}|[./\\\\:?#%]{1,4}", namespace in "[./]{0,3}|.{0,5}") {
            let uri = path("https://host:6443", &object(Some(&namespace), &name));
            let parts: Vec<_> = uri.split('/').collect();
            prop_assert_eq!(parts.len(), 4, "{}", uri);
            prop_assert!(parts.iter().all(|it| !matches!(*it, "" | "." | "..")), "{}", uri);
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._~%".contains(c);
            prop_assert!(parts.iter().all(|it| it.chars().all(plain)), "{}", uri);
        }

        #[test]
        fn no_text_is_a_link(said in ".{0,20}|[\\[\\]()\\\\a]{1,9}") {
            let shown = text(&said);
            prop_assert!(!shown.contains("](") && !shown.contains('\n'), "{}", shown);
        }
    }
}

//! The public shape of reports: its schema, and real output held against it.

use kubectl_storage::{
    cluster::Dirty,
    model::{ClearedFinding, FindingEvent as FindingEventInside},
    output::{
        comparison::AuditComparison,
        explanation::{Explanation, FindingExplanation, FindingExplanationList},
        finding_event,
        guard::{GuardChanges, GuardStatus},
        retention::{RetentionReport, simulation::RetentionSimulation},
        teardown::{RecordedDisks, TeardownRecord},
        trend::StorageTrend,
        usage::UsageReport,
        watch_status::{WatchJournal, WatchLeaders, WatchPause, WatchStatus, watch_status},
        wire::{AuditReport, FindingEvent},
        writing::{Plan, Receipt},
    },
    rules::{self, Assessor, REGISTRY},
    watch::{Pace, Reconciler},
};

use crate::{
    rules::{dump, dumps},
    support::{Call, expect_file, read, root},
};

const PATH: &str = "docs/schema/audit-report.v1alpha1.json";

#[test]
fn the_shipped_schema_is_that_of_the_code() {
    let schema = schemars::schema_for!(AuditReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(PATH), &format!("{text}\n"));
}

const COMPARISON: &str = "docs/schema/audit-comparison.v1alpha1.json";

#[test]
fn the_shipped_schema_of_comparisons_is_that_of_the_code() {
    let schema = schemars::schema_for!(AuditComparison);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(COMPARISON), &format!("{text}\n"));
    let validator = jsonschema::validator_for(&serde_json::json!(schema)).expect("it is one");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = |name: &str, only: &[&str]| {
        let path = dump(REGISTRY[0], "found.yaml").to_string_lossy().into_owned();
        let file = folder.path().join(name).to_string_lossy().into_owned();
        let args = ["audit", "-f", &path, "-o", &format!("json={file}")].map(str::to_owned);
        let only = only.iter().map(|it| (*it).to_owned());
        Call::new(args.into_iter().chain(only)).run().is_decent(name);
        file
    };
    // The volume has been Released for some seconds.
    let (old, new) = (report("old", &[]), report("new", &["--older-than", "1s"]));
    let ran = Call::new(["audit", "diff", &old, &new, "-o", "json"]).run();
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    let wrong: Vec<_> = validator.iter_errors(&said).map(|it| it.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let read: AuditComparison = serde_json::from_value(said.clone()).expect("its own shape");
    assert!(!read.changes.is_empty(), "{said:#}");
    assert_eq!(serde_json::to_value(read).expect("it is JSON"), said);
    assert!(!validator.is_valid(&serde_json::json!({"kind": "AuditComparison"})));
}

const FINDING_EXPLANATION: &str = "docs/schema/finding-explanation.v1alpha1.json";

#[test]
fn the_explanation_of_a_finding_keeps_to_its_schema() {
    let schema = schemars::schema_for!(FindingExplanation);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(FINDING_EXPLANATION), &format!("{text}\n"));
    let schema = serde_json::to_value(&schema).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let ran = Call::new(["explain", "-o", "json"]).run();
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    let all: FindingExplanationList = serde_json::from_str(&ran.stdout).expect("a list");
    assert_eq!(all.items.len(), rules::all().count());
    for (rule, explained) in rules::all().zip(&all.items) {
        assert_eq!(rule.id, explained.id);
        let value = serde_json::to_value(explained).expect("it is JSON");
        validator.validate(&value).unwrap_or_else(|error| panic!("{}: {error}", rule.id));
    }
}

const EVENT: &str = "docs/schema/finding-event.v1alpha1.json";

#[test]
fn the_shipped_schema_of_events_is_that_of_the_code() {
    let schema = schemars::schema_for!(FindingEvent);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(EVENT), &format!("{text}\n"));
}

/// Every finding of every fixture, as an event.
#[test]
fn events_keep_to_their_schema() {
    let schema = serde_json::from_str(&read(&root().join(EVENT))).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let (mut count, settings) = (0, kubectl_storage::model::Settings::default());
    for rule in REGISTRY.iter() {
        for file in dumps(rule, "found") {
            let seen = crate::rules::look(rule, &file);
            let (cluster, now) = (&seen.intake.cluster, seen.intake.cluster.clock());
            let mut reconciler =
                Reconciler::new(settings.clone(), Assessor::default(), cluster, Pace::default());
            reconciler.judge(cluster, Dirty::everything());
            let mut events = reconciler.report(cluster).findings;
            let cleared = events.iter().filter_map(|event| match event {
                FindingEventInside::Appeared(it) => {
                    Some(FindingEventInside::Cleared(ClearedFinding {
                        rule: it.rule,
                        severity: it.severity,
                        object: it.object.clone(),
                        left_out: true,
                    }))
                }
                _ => None,
            });
            events.extend(cleared.collect::<Vec<_>>());
            for event in events {
                let event = finding_event(event, now);
                let said = serde_json::to_value(&event).expect("it is JSON");
                let wrong: Vec<_> = validator.iter_errors(&said).map(|it| it.to_string()).collect();
                assert!(wrong.is_empty(), "{}: {wrong:#?}", rule.id);
                let read: FindingEvent = serde_json::from_value(said).expect("its own shape");
                assert_eq!(read, event);
                count += 1;
            }
        }
    }
    assert!(count > 100, "only {count} events: nothing is proven");
}

const EXPLANATION: &str = "docs/schema/explanation.v1alpha1.json";

#[test]
fn the_shipped_schema_of_explanations_is_that_of_the_code() {
    let schema = schemars::schema_for!(Explanation);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(EXPLANATION), &format!("{text}\n"));
}

const RETENTION: &str = "docs/schema/retention-report.v1alpha1.json";

#[test]
fn the_shipped_schema_of_retention_reports_is_that_of_the_code() {
    let schema = schemars::schema_for!(RetentionReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(RETENTION), &format!("{text}\n"));
}

#[test]
fn the_shipped_schema_of_usage_reports_is_that_of_the_code() {
    let schema = schemars::schema_for!(UsageReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join("docs/schema/usage-report.v1alpha1.json"), &format!("{text}\n"));
}

const SIMULATION: &str = "docs/schema/retention-simulation.v1alpha1.json";

#[test]
fn the_shipped_schema_of_simulations_is_that_of_the_code() {
    let schema = schemars::schema_for!(RetentionSimulation);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(SIMULATION), &format!("{text}\n"));
}

/// What is shown of every fixture about sets keeps to the schema, and adds up.
#[test]
fn retention_reports_keep_to_their_schema() {
    let schema = serde_json::from_str(&read(&root().join(RETENTION))).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let simulated = serde_json::from_str(&read(&root().join(SIMULATION))).expect("it is JSON");
    let simulated = jsonschema::validator_for(&simulated).expect("the schema is one");
    let (mut claims, mut others) = (0, 0);
    for rule in REGISTRY.iter().filter(|rule| rule.id.starts_with("sts-")) {
        for name in dumps(rule, "found").into_iter().chain(dumps(rule, "clean")) {
            let path = dump(rule, &name).to_string_lossy().into_owned();
            let ran = Call::new(["retention", "-o", "json", "-f", &path]).run();
            ran.is_decent(&path);
            let said: serde_json::Value = serde_json::from_str(&ran.stdout)
                .unwrap_or_else(|error| panic!("{path}: {error}: {}", ran.stderr));
            let wrong: Vec<_> = validator.iter_errors(&said).map(|it| it.to_string()).collect();
            assert!(wrong.is_empty(), "{path}: {wrong:#?}");
            let report: RetentionReport = serde_json::from_value(said).expect("its own shape");
            let shown: usize = report.sets.iter().map(|set| set.claims.len()).sum();
            assert_eq!(report.summary.claims.count, shown, "{path}");
            let bad = report
                .sets
                .iter()
                .flat_map(|set| &set.claims)
                .filter(|claim| !matches!(&*claim.agreement, "matches" | "pending"));
            assert_eq!(report.summary.contradicting.count, bad.count(), "{path}");
            claims += shown;
            others += report.others.len();
            for set in &report.sets {
                let (name, namespace) = (&*set.object.name, set.object.namespace.as_deref());
                let namespace = namespace.expect("because sets have one");
                let call =
                    ["retention", "simulate", name, "-n", namespace, "--delete", "-o", "json"];
                let ran = Call::new(call.into_iter().chain(["--dump", &path])).run();
                ran.is_decent(&path);
                let said: serde_json::Value = serde_json::from_str(&ran.stdout)
                    .unwrap_or_else(|error| panic!("{path}: {error}: {}", ran.stderr));
                let wrong: Vec<_> = simulated.iter_errors(&said).map(|it| it.to_string()).collect();
                assert!(wrong.is_empty(), "{path}: {wrong:#?}");
                let report: RetentionSimulation = serde_json::from_value(said).expect("its shape");
                // Both commands say the same of the same operation.
                let of = |it: &kubectl_storage::output::retention::RetentionClaim| {
                    it.if_set_deleted.clone()
                };
                let shown: Vec<_> = set.claims.iter().map(of).collect();
                let claims = report.sets[0].claims.iter().filter(|it| it.template.is_some());
                let foretold: Vec<_> = claims.map(|it| it.effect.clone()).collect();
                assert_eq!(shown, foretold, "{path}");
            }
        }
    }
    assert!(claims > 20 && others > 3, "{claims} claims, {others} others");
}

const GUARD_STATUS: &str = "docs/schema/guard-status.v1alpha1.json";
const GUARD_CHANGES: &str = "docs/schema/guard-changes.v1alpha1.json";

#[test]
fn the_shipped_schemas_of_the_guard_are_those_of_the_code() {
    let schemas = [
        (GUARD_STATUS, schemars::schema_for!(GuardStatus)),
        (GUARD_CHANGES, schemars::schema_for!(GuardChanges)),
    ];
    for (path, schema) in schemas {
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        expect_file(&root().join(path), &format!("{text}\n"));
    }
}

const WATCH_STATUS: &str = "docs/schema/watch-status.v1alpha1.json";

#[test]
fn the_shipped_schema_of_the_status_of_a_watch_is_that_of_the_code() {
    let schema = schemars::schema_for!(WatchStatus);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(WATCH_STATUS), &format!("{text}\n"));
    let validator = jsonschema::validator_for(&serde_json::json!(schema)).expect("it is one");
    let pause = WatchPause {
        paused: true,
        record: "missing".to_owned(),
        since: None,
        by: None,
        reason: None,
        wrong: None,
    };
    let journal = WatchJournal {
        place: "configmaps storage/kubectl-storage-journal-*".to_owned(),
        entries: 0,
        open: 0,
        last: None,
        notes: Vec::new(),
        unread: None,
    };
    let status = watch_status("storage", pause, WatchLeaders::default(), journal);
    let status = serde_json::json!(status);
    assert!(validator.is_valid(&status), "{status:#}");
    assert!(!validator.is_valid(&serde_json::json!({"kind": "WatchStatus"})));
}

const TEARDOWN: &str = "docs/schema/teardown-record.v1alpha1.json";
const RECORDED: &str = "docs/schema/recorded-disks.v1alpha1.json";

/// The shipped example, surveyed; and what a record with its volumes says beside a listing.
#[test]
fn the_shipped_schemas_of_a_teardown_are_those_of_the_code() {
    let schemas = [
        (TEARDOWN, schemars::schema_for!(TeardownRecord)),
        (RECORDED, schemars::schema_for!(RecordedDisks)),
    ];
    for (path, schema) in schemas {
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        expect_file(&root().join(path), &format!("{text}\n"));
    }
    let validator = |path: &str| {
        let schema = serde_json::from_str(&read(&root().join(path))).expect("the schema is JSON");
        jsonschema::validator_for(&schema).expect("the schema is one")
    };
    let shipped = root().join("examples/leaky-cluster.json.gz").to_string_lossy().into_owned();
    let ran = Call::new(["teardown", "-A", "-f", &shipped, "-o", "json"]).run();
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    let wrong: Vec<_> = validator(TEARDOWN).iter_errors(&said).map(|it| it.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let record: TeardownRecord = serde_json::from_value(said).expect("its own shape");
    assert!(record.volumes.len() > 10, "{record:#?}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let in_folder = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (file, listing) = (in_folder("record.json"), in_folder("listing.json"));
    std::fs::write(&file, &ran.stdout).expect("it is a temporary folder");
    std::fs::write(&listing, "{\"Volumes\": []}").expect("it is a temporary folder");
    let args = ["audit", "--inventory", &listing, "--record", &file, "-o", "json"];
    let ran = Call::new(args).run();
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    let wrong: Vec<_> = validator(RECORDED).iter_errors(&said).map(|it| it.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const PLAN: &str = "docs/schema/plan.v1alpha1.json";
const RECEIPT: &str = "docs/schema/receipt.v1alpha1.json";

#[test]
fn the_shipped_schemas_of_plans_and_receipts_are_those_of_the_code() {
    let schemas = [(PLAN, schemars::schema_for!(Plan)), (RECEIPT, schemars::schema_for!(Receipt))];
    for (path, schema) in schemas {
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        expect_file(&root().join(path), &format!("{text}\n"));
    }
}

/// What gc would do with the shipped dump, and with every fixture about Released volumes.
#[test]
fn plans_keep_to_their_schema() {
    let schema = serde_json::from_str(&read(&root().join(PLAN))).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let shipped = root().join("examples/leaky-cluster.json.gz");
    let mut paths = vec![shipped.to_string_lossy().into_owned()];
    for id in ["pv-released-past-threshold", "pv-released-unknown-age", "pv-available-was-bound"] {
        let rule = kubectl_storage::rules::find(id).expect("because it is a rule");
        let of_rule = dumps(rule, "found").into_iter().chain(dumps(rule, "clean"));
        paths.extend(of_rule.map(|it| dump(rule, &it).to_string_lossy().into_owned()));
    }
    let (mut changes, mut refusals) = (0, 0);
    for path in paths {
        for flags in
            [&[][..], &["--keep-backend"], &["--include-unknown-age", "--include-recreated"]]
        {
            let call = ["gc", "--older-than", "1s", "-o", "json", "-f", &path];
            let ran = Call::new(call.into_iter().chain(flags.iter().copied())).run();
            ran.is_decent(&path);
            let said: serde_json::Value = serde_json::from_str(&ran.stdout)
                .unwrap_or_else(|error| panic!("{path}: {error}: {}", ran.stderr));
            let wrong: Vec<_> = validator.iter_errors(&said).map(|it| it.to_string()).collect();
            assert!(wrong.is_empty(), "{path}: {wrong:#?}");
            let plan: Plan = serde_json::from_value(said).expect("its own shape");
            changes += plan.changes.len();
            refusals += plan.refusals.len();
        }
    }
    assert!(changes > 10 && refusals > 10, "{changes} changes, {refusals} refusals");
}

/// Every claim, volume and set of every fixture is explained, in JSON that keeps to the schema.
#[test]
fn explanations_keep_to_their_schema() {
    let schema =
        serde_json::from_str(&read(&root().join(EXPLANATION))).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let mut outcomes = 0;
    for id in ["sts-ownerref-contradicts-retain", "pvc-terminating-in-use", "va-orphan-pv-missing"]
    {
        let rule = kubectl_storage::rules::find(id).expect("because it is a rule");
        for file in dumps(rule, "found") {
            let path = dump(rule, &file).to_string_lossy().into_owned();
            let seen = crate::rules::look(rule, &file);
            for (_, claim) in seen.intake.cluster.claims() {
                let (name, namespace) = (format!("pvc/{}", claim.metadata.name), &claim.namespace);
                let ran =
                    Call::new(["explain", &name, "-n", namespace, "-o", "json", "-f", &path]).run();
                ran.is_decent(&path);
                let said: serde_json::Value = serde_json::from_str(&ran.stdout)
                    .unwrap_or_else(|error| panic!("{path}: {error}: {}", ran.stderr));
                let wrong: Vec<_> = validator.iter_errors(&said).map(|it| it.to_string()).collect();
                assert!(wrong.is_empty(), "{path}: {wrong:#?}");
                let read: Explanation = serde_json::from_value(said).expect("its own shape");
                outcomes += read.outcomes.len();
            }
        }
    }
    assert!(outcomes > 20, "only {outcomes} outcomes: nothing is proven");
}

#[test]
fn real_reports_keep_to_the_schema() {
    let schema = serde_json::from_str(&read(&root().join(PATH))).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let mut findings = 0;
    for rule in REGISTRY.iter() {
        for file in dumps(rule, "found").into_iter().chain(dumps(rule, "clean")) {
            let path = dump(rule, &file).to_string_lossy().into_owned();
            let ran = Call::new(["audit", "-o", "json", "-f", &path]).run();
            ran.is_decent(&path);
            let report: serde_json::Value = serde_json::from_str(&ran.stdout)
                .unwrap_or_else(|error| panic!("{path}: {error}: {}", ran.stderr));
            let wrong: Vec<_> = validator.iter_errors(&report).map(|it| it.to_string()).collect();
            assert!(wrong.is_empty(), "{path}: {wrong:#?}");
            // The Rust type says the same as the schema, and reads what was written.
            let read: AuditReport = serde_json::from_value(report.clone())
                .unwrap_or_else(|error| panic!("{path}: {error}"));
            findings += read.findings.len();
            assert_eq!(serde_json::to_value(read).expect("it is JSON"), report, "{path}");
        }
    }
    assert!(findings > 20, "only {findings} findings: nothing is proven");
}

#[test]
fn what_is_no_report_is_refused() {
    let schema = serde_json::from_str(&read(&root().join(PATH))).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let path = dump(REGISTRY[0], "found.yaml").to_string_lossy().into_owned();
    let ran = Call::new(["audit", "-o", "json", "-f", &path]).run();
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    for (what, broken) in [
        ("findings", serde_json::json!("none")),
        ("gaps", serde_json::Value::Null),
        ("summary", serde_json::json!({})),
    ] {
        let mut report = report.clone();
        report[what] = broken;
        assert!(!validator.is_valid(&report), "{what}");
    }
}

const TREND: &str = "docs/schema/storage-trend.v1alpha1.json";

#[test]
fn what_reports_say_over_time_keeps_to_its_schema() {
    let schema = schemars::schema_for!(StorageTrend);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(TREND), &format!("{text}\n"));
    let schema = serde_json::to_value(&schema).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dump = root().join("examples/leaky-cluster.json.gz").display().to_string();
    let saved = Call::new(["audit", "-f", &dump, "-o", "json"]).run();
    std::fs::write(folder.path().join("a.json"), saved.stdout).expect("it is writable");
    let of = folder.path().display().to_string();
    let ran = Call::new(["audit", "trend", &of, "-o", "json"]).run();
    let printed = serde_json::from_str(&ran.stdout).expect("it is JSON");
    validator.validate(&printed).unwrap_or_else(|error| panic!("{error}"));
    let reports: StorageTrend = serde_json::from_value(printed).expect("it is one");
    assert!(reports.series[0].reports[0].by_namespace.contains_key("shop"), "{reports:?}");
}

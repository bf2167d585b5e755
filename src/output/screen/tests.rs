//! The screen, from findings to lines.

use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::*;
use crate::output::wire::{CausedBy, Evidence};

fn finding(id: &str, severity: &str, kind: &str, name: &str) -> Finding {
    let group = match kind {
        "CSIDriver" => "storage.k8s.io/v1",
        _ => "v1",
    };
    let namespace = matches!(kind, "PersistentVolumeClaim" | "Pod").then_some("shop");
    serde_json::from_value(json!({
        "id": id,
        "severity": severity,
        "object": {"apiVersion": group, "kind": kind, "name": name, "namespace": namespace},
        "summary": format!("wrong with {kind}"),
        "evidence": [],
        "related": [],
        "verdict": {"state": "report-only", "reason": ""},
    }))
    .expect("because it is a finding")
}

fn caused(mut finding: Finding, cause: &Finding) -> Finding {
    let cause = CausedBy { id: cause.id.clone(), object: cause.object.clone() };
    finding.caused_by.push(cause);
    finding
}

fn shown(findings: Vec<Finding>, width: u16) -> Vec<String> {
    printed(findings, ScreenStyle { headers: false, width, colour: false, reverse: false }).0
}

/// The lines of a screen, and the commands with which to begin.
fn printed(findings: Vec<Finding>, style: ScreenStyle) -> (Vec<String>, Vec<String>) {
    let mut out = Vec::new();
    let again = SameReport { namespaces: Vec::new(), flags: " --ignore pv-failed".to_owned() };
    let offered = OfferedCommands { again: Some(&again), repeated: &RepeatedFlags::default() };
    let start = print(&mut out, &mut findings.into_iter(), style, offered)
        .expect("because memory does not fail");
    let text = String::from_utf8(out).expect("because it is text");
    (text.lines().map(str::to_owned).collect(), start)
}

fn offered(mut finding: Finding, command: &str) -> Finding {
    finding.verdict.state = "fixable".to_owned();
    let remedy = json!({"command": command, "effect": "", "risk": ""});
    finding.remedy = serde_json::from_value(remedy).expect("because it is a remedy");
    finding
}

#[test]
fn a_driver_that_is_down_is_one_entry() {
    let driver = finding("provisioner-absent", "high", "CSIDriver", "disk.example.com");
    let mut findings = vec![driver.clone()];
    for index in 0..41 {
        let name = format!("pv-{index}");
        let volume = finding("pv-released-delete-stuck", "high", "PersistentVolume", &name);
        findings.push(caused(volume, &driver));
    }
    for index in 0..12 {
        let name = format!("data-{index}");
        let claim = finding("pvc-pending-too-long", "medium", "PersistentVolumeClaim", &name);
        let claim = caused(claim, &driver);
        let pod = finding("pod-waiting-for-volume", "medium", "Pod", &format!("pod-{index}"));
        findings.push(caused(pod, &claim));
        findings.push(claim);
    }
    let expected = [
        "high                     csidriver/disk.example.com",
        "    provisioner-absent: wrong with CSIDriver",
        "    and 41 volumes, 12 pods and 12 claims that wait for it",
    ];
    assert_eq!(shown(findings, 80), expected);
}

#[test]
fn what_follows_is_ranked_by_its_worst_and_named_if_it_is_little() {
    let node = finding("pvc-stale-selected-node", "low", "PersistentVolumeClaim", "data");
    let mut pending = finding("pvc-pending-too-long", "medium", "PersistentVolumeClaim", "data");
    pending.age = serde_json::from_value(json!({"seconds": 7200, "trust": "corroborated"}))
        .expect("because it is an age");
    let pending = caused(pending, &node);
    let pod = caused(finding("pod-waiting-for-volume", "medium", "Pod", "web-0"), &pending);
    let other = finding("pv-failed", "medium", "PersistentVolume", "pv-1");
    let expected = [
        "medium    120m           pvc/shop/data",
        "    pvc-stale-selected-node: wrong with PersistentVolumeClaim",
        "    also pvc-pending-too-long (same object)",
        "    and po/shop/web-0 that waits for it",
        "medium                   pv/pv-1",
        "    pv-failed: wrong with PersistentVolume",
    ];
    assert_eq!(shown(vec![pending, pod, other, node], 80), expected);
}

/// A danger for data is never hidden beneath something milder.
#[test]
fn a_danger_of_its_own_is_not_folded() {
    let pods = finding("pvc-terminating-stuck", "low", "PersistentVolumeClaim", "data");
    let danger = finding("pv-terminating-bound", "high", "PersistentVolume", "pv-1");
    let lines = shown(vec![caused(danger, &pods), pods], 80);
    assert_eq!(lines[2], "    Cause: pvc-terminating-stuck (pvc/shop/data)");
    assert_eq!(lines.len(), 5, "{lines:#?}");
}

#[test]
fn a_cause_that_is_not_reported_is_named() {
    let driver = finding("provisioner-absent", "high", "CSIDriver", "disk.example.com");
    let claim = finding("pvc-pending-too-long", "medium", "PersistentVolumeClaim", "data");
    let lines = shown(vec![caused(claim, &driver)], 80);
    assert_eq!(lines[2], "    Cause: provisioner-absent (csidriver/disk.example.com)");
}

#[test]
fn what_says_the_same_is_one_entry() {
    let mut findings = Vec::new();
    for index in 0..30 {
        let it = finding("pvc-unused", "low", "PersistentVolumeClaim", &format!("data-{index}"));
        let command = format!("kubectl storage fix-finalizers pvc/data-{index} -n shop");
        findings.push(offered(it, &command));
    }
    let one = shown(findings[..1].to_vec(), 80);
    assert_eq!(one[2], "    Next:  kubectl storage fix-finalizers pvc/data-0 -n shop");
    let three = shown(findings[..3].to_vec(), 120);
    assert_eq!(
        three[4],
        "    Next:  kubectl storage fix-finalizers pvc/data-0 pvc/data-1 pvc/data-2 -n shop"
    );
    // A report selects them all.
    let lines = shown(findings.clone(), 80);
    assert_eq!(lines.len(), 10 + 1 + 3, "{lines:#?}");
    assert_eq!(lines[10], "                         and 20 more like these: see -o wide");
    assert_eq!(
        lines[12..],
        [
            "    Next:  kubectl storage audit -n shop --ignore pv-failed --rule pvc-unused \\",
            "           -o name | xargs -r -o kubectl storage fix-finalizers -n shop",
        ]
    );
    // Unless it would select others, too.
    findings.push(finding("pvc-unused", "low", "PersistentVolumeClaim", "other"));
    let lines = shown(findings, 120);
    assert!(lines[12].ends_with("pvc/data-3 pvc/data-4 -n shop"), "{lines:#?}");
    assert_eq!(lines[13], "           and 25 more: see -o wide");
}

/// Where flags say which cluster it is, the commands say so too: one without would be about another.
#[test]
fn commands_are_about_the_same_cluster() {
    let repeated = RepeatedFlags::of_connection([("--context", Some("prod".to_owned()))]);
    let again =
        SameReport { namespaces: vec!["a".to_owned(), "shop".to_owned()], flags: String::new() };
    let mut out = Vec::new();
    let mut findings = Vec::new();
    for index in 0..6 {
        let it = finding("pvc-unused", "low", "PersistentVolumeClaim", &format!("data-{index}"));
        let command = format!("kubectl storage fix-finalizers pvc/data-{index} -n shop");
        findings.push(repeated.finding(offered(it, &command)));
    }
    findings.push(finding("pv-failed", "high", "PersistentVolume", "pv-1"));
    let style = ScreenStyle { headers: false, width: 200, colour: false, reverse: false };
    let offered = OfferedCommands { again: Some(&again), repeated: &repeated };
    let start = print(&mut out, &mut findings.into_iter(), style, offered)
        .expect("because memory does not fail");
    // One namespace, although the report is of two.
    let all = "kubectl storage audit -n shop --rule pvc-unused -o name --context prod | \
               xargs -r -o kubectl storage fix-finalizers --context prod -n shop";
    assert_eq!(start, ["kubectl storage explain pv/pv-1 --context prod", all]);
    assert!(String::from_utf8(out).expect("because it is text").contains(all));
}

/// One command is about one namespace, and what takes one object is said of the first.
#[test]
fn commands_name_real_objects() {
    let mut claims: Vec<_> = ["a", "b", "c"]
        .map(|name| {
            let command = format!("kubectl storage retain pvc/{name} -n shop");
            offered(finding("pvc-unused", "low", "PersistentVolumeClaim", name), &command)
        })
        .into();
    claims[1].object.namespace = Some("web".to_owned());
    let command = "kubectl storage retain pvc/b -n web";
    claims[1] = offered(claims[1].clone(), command);
    let lines = shown(claims, 80);
    assert_eq!(lines[4], "    Next:  kubectl storage retain pvc/a pvc/c -n shop");
    assert_eq!(lines[5], format!("           {command}"));

    let volume = |name: &str| {
        let mut it = finding("pv-failed", "high", "PersistentVolume", name);
        it.verdict.reason = format!(
            "pv/{name} is lost; `kubectl storage retain pv/{name}`, then `kubectl storage rebind pv/{name}`"
        );
        it
    };
    let lines = shown(vec![volume("a"), volume("b")], 120);
    assert_eq!(
        lines[3..].iter().map(|it| it.trim()).collect::<Vec<_>>().join(" "),
        "Next:  the volume is lost; `kubectl storage retain pv/a pv/b`, then `kubectl storage rebind \
         pv/a` (the others alike)"
    );
}

/// A command is broken between its words, and never shortened.
#[test]
fn a_command_in_advice_is_whole_at_any_width() {
    let command = format!("kubectl storage rebind pv/{} --to shop/orders", "n".repeat(60));
    let mut it = finding("pv-failed", "high", "PersistentVolume", "pv-1");
    it.verdict.reason = format!("{}; `{command}` gives it back", "much to say ".repeat(80));
    for width in [40, 80, 120] {
        let text = shown(vec![it.clone()], width).join(" ").replace(" \\ ", " ");
        let words: Vec<_> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("`{command}` gives it back")), "{width}: {text}");
    }
}

#[test]
fn the_worst_comes_last_where_that_is_asked_for() {
    let findings = || {
        let worst = finding("pv-leak-imminent", "critical", "PersistentVolume", "pv-1");
        let claim = finding("pvc-unused", "low", "PersistentVolumeClaim", "data");
        let command = "kubectl storage retain pv/pv-1";
        vec![offered(worst, command), claim, finding("guard-changed", "low", "Pod", "p")]
    };
    let style = ScreenStyle { headers: false, width: 80, colour: false, reverse: false };
    let (lines, start) = printed(findings(), style);
    assert!(lines[0].starts_with("critical"), "{lines:#?}");
    let first = [
        "kubectl storage retain pv/pv-1",
        "kubectl storage explain pvc/data -n shop",
        "kubectl storage explain po/p -n shop",
    ];
    assert_eq!(start, first);
    let (lines, start) = printed(findings(), ScreenStyle { reverse: true, ..style });
    assert!(lines[0].starts_with("low"), "{lines:#?}");
    assert_eq!(start, first);
}

/// A version of a provisioner stands beneath the volumes that suffer from it.
#[test]
fn a_version_is_no_heading() {
    let driver =
        finding("provisioner-known-bad-version", "medium", "CSIDriver", "disk.example.com");
    let volume = finding("pv-released-delete-stuck", "high", "PersistentVolume", "pv-1");
    let expected = [
        "high                     pv/pv-1",
        "    pv-released-delete-stuck: wrong with PersistentVolume",
        "    Cause: provisioner-known-bad-version (csidriver/disk.example.com)",
        "medium                   csidriver/disk.example.com",
        "    provisioner-known-bad-version: wrong with CSIDriver",
    ];
    assert_eq!(shown(vec![caused(volume, &driver), driver], 80), expected);
}

#[test]
fn a_long_size_does_not_touch_its_object() {
    let mut it = finding("pv-failed", "high", "PersistentVolume", "pv-1");
    it.volume = serde_json::from_value(json!({
        "capacity": "1099511627776001", "phase": "Failed", "reclaimPolicy": "Delete",
    }))
    .ok();
    let lines = shown(vec![it, finding("pv-failed", "high", "PersistentVolume", "pv-2")], 80);
    assert_eq!(lines[0], "high             1099511627776001  pv/pv-1");
    assert_eq!(lines[1], "high                               pv/pv-2");
}

#[test]
fn errors_are_those_of_the_evidence_without_wrapping_and_time() {
    let cases = [
        (
            "last VolumeFailedDelete",
            "rpc error: code = NotFound desc = no fs-1 (2 times, first 2026-01-01T00:00:00Z, last 2026-01-02T00:00:00Z)",
            Some("NotFound: no fs-1"),
        ),
        ("last VolumeFailedDelete", "busy (2026-01-02T00:00:00Z)", Some("busy")),
        ("last VolumeFailedDelete", "busy at 2026-01-02T00:00:00Z", Some("busy")),
        ("last VolumeFailedDelete", "<none>", None),
        ("last VolumeFailedDelete", "not read: events are forbidden", None),
        (
            "last event",
            "ProvisioningFailed: no quota, at 2026-01-02T00:00:00Z",
            Some("ProvisioningFailed: no quota"),
        ),
        ("last event", "FailedMount: wrong fs", Some("FailedMount: wrong fs")),
        ("last event", "WaitForFirstConsumer: waiting (2026-01-02T00:00:00Z)", None),
        ("last event", "the dump shows no events", None),
        ("last node", "node-1", None),
        ("last event at", "2026-01-02T00:00:00Z", None),
        ("status.message", "no plugin", Some("no plugin")),
        ("status.detachError.message", "busy", Some("busy")),
    ];
    for (field, value, error) in cases {
        let mut it = finding("pv-failed", "high", "PersistentVolume", "pv-1");
        let (object, field) = ("pv/pv-1".to_owned(), field.to_owned());
        it.evidence.push(Evidence { object, field, value: value.to_owned() });
        let lines = shown(vec![it], 120);
        let found = lines.iter().find_map(|line| line.strip_prefix("    Error: "));
        assert_eq!(found, error, "{value}");
    }
}

#[test]
fn a_reason_does_not_repeat_the_error() {
    let error = "rpc error: code = Internal desc = the device is busy, ask again";
    let mut it = finding("va-stuck-detaching", "high", "VolumeAttachment", "csi-1");
    let (object, field) = ("va/csi-1".to_owned(), "status.detachError.message".to_owned());
    it.evidence.push(Evidence { object, field, value: error.to_owned() });
    it.verdict.reason = format!("external-attacher fails: {error}; it retries");
    let lines = shown(vec![it], 80);
    assert_eq!(lines[2], "    Error: Internal: the device is busy, ask again");
    assert_eq!(lines[3], "    Next:  external-attacher fails (see Error); it retries");
}

#[test]
fn hostile_text_stays_on_its_lines() {
    let hostile = "\u{1b}[2J\u{202e}שלום \n\u{1}".to_owned();
    let long = format!("{hostile}{}", "x".repeat(64 << 10));
    let mut it = finding("pv-failed", "high", "PersistentVolume", &hostile);
    it.summary.clone_from(&long);
    it.verdict.reason.clone_from(&long);
    let (object, field) = ("pv/x".to_owned(), "status.message".to_owned());
    it.evidence.push(Evidence { object, field, value: format!("y{long}") });
    for width in [40, 80, 120, 400] {
        let lines = shown(vec![it.clone()], width);
        // The object, the summary, the error, the next step.
        assert!(lines.len() <= 1 + 4 + 8 + 7, "{}", lines.len());
        for line in &lines {
            assert!(line.width() <= usize::from(width).max(60), "{width}: {line}");
            assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
        }
    }
    it.object.name = "n".repeat(64 << 10);
    assert!(shown(vec![it], 80).iter().all(|line| line.len() < 500));
}

/// Every finding is counted once, and a hundred thousand take no quadratic time.
#[test]
fn every_finding_is_in_one_entry() {
    let driver = finding("provisioner-absent", "high", "CSIDriver", "disk.example.com");
    let mut all = vec![listed(driver.clone(), name(&driver.object), 0)];
    for index in 0..100_000 {
        let volume =
            finding("pv-released-delete-stuck", "high", "PersistentVolume", &format!("pv-{index}"));
        let volume = if index % 3 == 0 { volume } else { caused(volume, &driver) };
        let object = name(&volume.object);
        all.push(listed(volume, object, 1 + index % 2));
    }
    let entries = entries(&all);
    let count: usize = entries.iter().map(|it| it.objects.len() + it.followers.len()).sum();
    assert_eq!((count, entries.len()), (all.len(), 3));
}

//! AGE has one meaning, in reports and in plans: since when the object is in the state that is shown.

use kubectl_storage::rules::REGISTRY;
use serde_json::Value;

use crate::{
    rules::{dumps, look},
    support::Call,
};

/// Rules about something that began later than the deletion.
const LATER: &[&str] = &["pv-stuck-attacher-finalizer"];
/// Rules about something that began before the deletion, and does not depend on it.
const EARLIER: &[&str] = &[
    "pv-stale-ext-finalizer-retain",
    "pv-stale-ext-finalizer-intree",
    "pv-stale-intree-finalizer-migrated",
];

#[test]
fn findings_about_terminating_volumes_count_from_the_deletion() {
    let mut checked = 0;
    for rule in REGISTRY.iter() {
        for file in dumps(rule, "found") {
            let it = look(rule, &file);
            let cluster = &it.intake.cluster;
            for finding in it.assessor.findings(cluster, &it.settings) {
                let volume = cluster.volume_named(&finding.object.key.name);
                let is_it = |uid| finding.object.uid.as_ref() == uid;
                let volume = volume.filter(|it| is_it(it.metadata.uid.as_ref()));
                let deleting = volume.and_then(|it| it.metadata.deleting);
                let (Some(deleting), Some(age)) = (deleting, finding.age) else { continue };
                let other = LATER.contains(&finding.rule) || EARLIER.contains(&finding.rule);
                if !other {
                    assert_eq!(age.since, Some(deleting), "{}/{file}: {}", rule.id, finding.rule);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 20, "only {checked} findings");
}

#[test]
fn a_plan_has_the_age_of_the_finding() {
    let json = |args: &[&str]| -> Value {
        let dump = crate::support::root().join("examples/leaky-cluster.json.gz");
        let mut args: Vec<_> = args.iter().map(|it| (*it).to_owned()).collect();
        args.extend(["-o".into(), "json".into(), "-f".into(), dump.to_string_lossy().into_owned()]);
        serde_json::from_str(&Call::new(args).run().stdout).expect("it prints JSON")
    };
    let report = json(&["audit"]);
    for (id, volume) in [("pv-leak-imminent", "events"), ("pv-terminating-bound", "payments")] {
        let findings = report["findings"].as_array().expect("findings");
        let finding = findings.iter().find(|it| it["id"] == id && it["object"]["name"] == volume);
        let plan = json(&["retain", &format!("pv/{volume}")]);
        assert_eq!(plan["changes"][0]["age"], finding.expect("it is found")["age"], "{volume}");
        assert_eq!(plan["changes"][0]["terminating"], true);
    }
}

//! `--baseline`: what appeared is new, whatever a report was narrowed to.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use super::{AS_OF, lost_claims};
use crate::{
    fixture,
    support::{Call, read},
};

fn audit(folder: &Path, args: &[&str]) -> Call {
    Call { folder: Some(folder.to_owned()), ..Call::new([&["audit"], args].concat()) }
}

fn report(folder: &Path, args: &[&str]) -> Value {
    let ran = audit(folder, &[args, &["-o", "json"]].concat()).run();
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
}

/// The namespaces of the objects of a dump.
fn namespaces(dump: &str) -> BTreeSet<&str> {
    let names = dump.lines().filter_map(|it| it.trim().strip_prefix("namespace: "));
    names.filter(|it| !it.contains(['{', '"'])).collect()
}

/// Of an attachment or a snapshot no report says by which namespace it was selected.
#[test]
fn what_appears_in_a_namespace_is_new_also_where_no_report_says_the_namespace() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut without = 0;
    for rule in ["va-node-missing", "va-orphan-pv-missing", "snapshot-content-orphan"] {
        let path = fixture::folder().join(rule).join("found.yaml");
        let (dump, path) = (read(&path), path.display().to_string());
        for namespace in namespaces(&dump) {
            let narrowed = ["-f", &*path, "-n", namespace];
            let ran = audit(folder.path(), &[&narrowed[..], &["-o", "json"]].concat()).run();
            // A Lease names namespaces that are not in the dump.
            let Ok(mut earlier) = serde_json::from_str::<Value>(&ran.stdout) else { continue };
            let found = earlier["findings"].as_array().map_or(0, Vec::len);
            let has_namespace = |it: &Value| it["object"]["namespace"].is_string();
            let findings = earlier["findings"].as_array().into_iter().flatten();
            without += findings.filter(|it| !has_namespace(it)).count();
            (earlier["findings"], earlier["summary"]["byId"]) = (json!([]), json!({}));
            fs::write(folder.path().join("old.json"), earlier.to_string()).expect("it is writable");
            let now = report(folder.path(), &[&narrowed[..], &["--baseline", "old.json"]].concat());
            let compared = &now["baseline"];
            assert_eq!(
                (&compared["new"], &compared["unseen"]),
                (&json!(found), &json!(0)),
                "{rule}"
            );
        }
    }
    assert!(without > 0, "nothing is proven");
}

#[test]
fn an_annotation_of_an_object_that_is_gone_exempts_no_other_of_its_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut dump: Value = serde_json::from_str(&lost_claims(1)).expect("because it is JSON");
    let mut judged = |uid: &str, ignored: Value, args: &[&str]| {
        let metadata = &mut dump["items"][0]["metadata"];
        (metadata["uid"], metadata["annotations"]) = (json!(uid), ignored);
        fs::write(folder.path().join("dump.json"), dump.to_string()).expect("it is writable");
        report(folder.path(), &[&["-f", "dump.json"], &AS_OF[..], args].concat())
    };
    let ignored = json!({"storage.kubectl.dev/ignore": "pvc-lost known"});
    let earlier = judged("before", ignored.clone(), &[]);
    fs::write(folder.path().join("old.json"), earlier.to_string()).expect("it is writable");
    for (uid, state) in [("before", "unseen"), ("after", "new")] {
        let now = judged(uid, json!({}), &["--baseline", "old.json"]);
        let lost =
            now["findings"].as_array().into_iter().flatten().find(|it| it["id"] == "pvc-lost");
        assert_eq!(lost.expect("there is one")["baseline"], state, "{uid}");
    }
}

#[test]
fn what_this_version_does_not_check_is_not_cleared() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("dump.json"), lost_claims(1)).expect("it is writable");
    let args = [&["-f", "dump.json"], &AS_OF[..]].concat();
    let mut earlier = report(folder.path(), &args);
    earlier["findings"][0]["id"] = json!("of-a-later-version");
    fs::write(folder.path().join("old.json"), earlier.to_string()).expect("it is writable");
    let now = report(folder.path(), &[&args[..], &["--baseline", "old.json"]].concat());
    assert_eq!(now["baseline"]["cleared"], json!([]));
    let reason = &now["baseline"]["notSeen"][0]["reason"];
    assert_eq!(reason, "this version does not know of-a-later-version");
}

/// Code scanning closes each alert that an upload lacks.
#[test]
fn sarif_lists_what_is_known_beside_what_is_new() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    for (name, count) in [("old", 1), ("dump", 2)] {
        fs::write(at.join(format!("{name}-dump.json")), lost_claims(count))
            .expect("it is writable");
    }
    let of = |dump: &'static str| [&["-f", dump], &AS_OF[..]].concat();
    let earlier = report(at, &of("old-dump.json"));
    fs::write(at.join("old.json"), earlier.to_string()).expect("it is writable");
    let more = ["--baseline", "old.json", "--new-only", "-o", "sarif=a.sarif"];
    let now = report(at, &[&of("dump-dump.json")[..], &more].concat());
    let new = now["findings"].as_array().map_or(0, Vec::len);
    let log: Value = serde_json::from_str(&read(&at.join("a.sarif"))).expect("because it is JSON");
    let results = log["runs"][0]["results"].as_array().expect("a list");
    let states = |state: &str| results.iter().filter(|it| it["baselineState"] == state).count();
    let known = earlier["findings"].as_array().map_or(0, Vec::len);
    assert_eq!((states("new"), states("unchanged")), (new, known));
    let notes = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notes, &json!([]), "nothing is left out");
}

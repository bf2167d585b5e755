//! The judge can find a loss: with kubectl in the place of the tool, and in histories that were tampered with.

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::case::{Act, Case, Deed, Kind, Shape, When, Work};
use super::history::is_real;
use super::run::Hand;
use super::verdict::{Did, Evidence};
use super::{PARALLEL, SEED, Stage, play, verdict};
use crate::support::say;

/// A claim that a pod uses before the run begins.
fn case(seed: u64, before: Option<Act>, work: Work) -> Case {
    let before = before.map(|act| Deed { when: When::Before, act });
    let run = Deed { when: When::After(500), act: Act::Run(work, None) };
    Case { seed, retained: vec![false], deeds: before.into_iter().chain([run]).collect() }
}

/// What the issue is about: nothing keeps kubectl from it.
#[test]
#[ignore = "extended suite: long random runs"]
fn what_kubectl_loses_is_found() {
    let runtime = Runtime::new().expect("because the machine has threads");
    runtime.block_on(async {
        let stage = Stage::set().await;
        let delete = |keep| Work::Delete { claims: vec![0], keep };
        let unscheduled = Act::Pod(0, Shape::Unscheduled);
        let (evidence, late) =
            play(&stage, case(1, Some(unscheduled), delete(true)), Hand::Kubectl).await;
        assert_eq!(late, None);
        assert_eq!(evidence.files, [None], "kubectl keeps nothing");
        let verdict = verdict::judge(&evidence);
        say(&verdict.wrong.join("\n"));
        for told in [
            "without having listed pods",
            "without having read deployments",
            "nobody wanted that",
            "sent without conditions",
            "had policy Delete since",
        ] {
            let mut wrong = verdict.wrong.iter();
            assert!(wrong.any(|it| it.contains(told)), "not found: {told}\n{}", verdict.story);
        }
    });
}

/// The same random lives with kubectl: some claims are deleted under their users, and some data is gone that was to be
/// kept.
#[test]
#[ignore = "extended suite: long random runs"]
fn random_lives_with_kubectl_end_badly() {
    let runtime = Runtime::new().expect("because the machine has threads");
    let wrong: Vec<_> = runtime.block_on(async {
        let stage = Stage::set().await;
        stream::iter(0..12)
            .map(|index| play(&stage, Case::of(SEED + index), Hand::Kubectl))
            .buffer_unordered(PARALLEL)
            .flat_map(|(evidence, late)| {
                assert_eq!(late, None);
                let verdict = verdict::judge(&evidence);
                stream::iter(verdict.wrong)
            })
            .collect()
            .await
    });
    for told in ["that use it came and went: [\"", "nobody wanted that", "had policy Delete since"]
    {
        assert!(wrong.iter().any(|it| it.contains(told)), "not found: {told}\n{wrong:#?}");
    }
}

/// A history in which all is well, and what must be found when it is another one.
#[test]
fn a_history_that_was_tampered_with_is_found_out() {
    let runtime = Runtime::new().expect("because the machine has threads");
    let evidence = runtime.block_on(async {
        let stage = Stage::set().await;
        let delete = Work::Delete { claims: vec![0], keep: true };
        let mut case = case(2, Some(Act::Pod(1, Shape::Running)), delete);
        case.retained.push(false);
        let (evidence, late) = play(&stage, case, Hand::Tool).await;
        assert_eq!(late, None);
        evidence
    });
    let verdict = verdict::judge(&evidence);
    assert_eq!(verdict.wrong, [""; 0], "{}", verdict.story);
    for (change, told) in CHANGES {
        let mut changed = evidence.clone();
        change(&mut changed);
        let wrong = verdict::judge(&changed).wrong;
        assert!(wrong.iter().any(|it| it.contains(told)), "not found: {told}: {wrong:#?}");
    }
}

type Change = fn(&mut Evidence);

const CHANGES: &[(Change, &str)] = &[
    (|it| delete(it)["requestObject"]["preconditions"]["uid"] = Value::Null, "without conditions"),
    (
        |it| delete(it)["requestObject"]["preconditions"]["resourceVersion"] = Value::Null,
        "without conditions",
    ),
    (|it| forget(it, "pods"), "without having listed pods"),
    (|it| forget(it, "cronjobs"), "without having read cronjobs"),
    (
        |it| {
            for list in it.requests.iter_mut().filter(|it| it["objectRef"]["resource"] == "pods") {
                list["requestURI"] = json!("/api/v1/pods?resourceVersion=0");
            }
        },
        "after a list from a cache",
    ),
    (
        |it| {
            // The pod of the other claim was there all the time.
            let pods = it.revisions.iter_mut().filter(|it| it.resource == "pods");
            for pod in pods {
                let volume = &mut pod.object["spec"]["volumes"][0];
                volume["persistentVolumeClaim"]["claimName"] = json!("orders");
            }
        },
        "although pod made-0 uses it",
    ),
    (
        |it| {
            let act = Act::Workload(Kind::Deployment, 0, 0);
            it.case.deeds.push(Deed { when: When::Before, act });
            let (index, at) = (it.case.deeds.len() - 1, it.did[0].end);
            it.did.push(Did { index, begin: at, end: at, result: Some(Ok(())) });
        },
        "although deployments made-2 uses it",
    ),
    (
        |it| {
            let mut extra = delete(it).clone();
            extra["objectRef"]["name"] = json!("archive");
            it.requests.push(extra);
        },
        "and sent: delete persistentvolumeclaims archive",
    ),
    (|it| it.ran[0].intents.clear(), "had not noted"),
    (|it| it.ran[0].intents.push("DELETE /api/v1/pods/x".to_owned()), "noted, and never sent"),
    (|it| it.ran[0].json = Value::Null, "what its receipt does not name"),
    (|it| it.ran[0].code = Some(5), "says that nothing was changed"),
    (|it| it.ran[1].code = Some(6), "nothing was in the way"),
    (|it| it.files[0] = None, "nobody wanted that"),
    (|it| it.files[0] = Some("of another".to_owned()), "nobody wanted that"),
    (
        |it| {
            for volume in it.revisions.iter_mut().filter(|it| it.resource == "persistentvolumes") {
                volume.object["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
            }
        },
        "had policy Delete since",
    ),
    (
        |it| {
            let volume = it.backings[0].volume.clone();
            let mut all = it.revisions.iter_mut().rev();
            all.find(|it| it.name() == volume).expect("it has one").gone = true;
        },
        "and its data is left in",
    ),
    (
        |it| {
            let volume = json!(it.backings[0].volume);
            let mut all = it.revisions.iter_mut().rev();
            let other = all.find(|it| it.name() == "archive").expect("it has one");
            other.object["spec"]["volumeName"] = volume;
        },
        "which has the data of orders",
    ),
    (
        |it| it.revisions.retain(|it| it.resource != "persistentvolumeclaims" || !it.gone),
        "says done, and orders is there",
    ),
    (|it| without_phase(it, "Released"), "was not kept"),
    (|it| without_phase(it, "Bound"), "never had"),
];

/// The deletion that the tool sent.
fn delete(evidence: &mut Evidence) -> &mut Value {
    let sent = |it: &&mut Value| {
        is_real(it) && it["objectRef"]["name"] == "orders" && it["verb"] == "delete"
    };
    evidence.requests.iter_mut().find(sent).expect("because it was deleted")
}

/// The tool has never asked for it.
fn forget(evidence: &mut Evidence, resource: &str) {
    evidence.requests.retain(|it| it["objectRef"]["resource"] != resource);
}

/// The first volume never was in a phase.
fn without_phase(evidence: &mut Evidence, phase: &str) {
    let volume = evidence.backings[0].volume.clone();
    evidence.revisions.retain(|it| it.name() != volume || it.object["status"]["phase"] != *phase);
}

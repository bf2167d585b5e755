//! Tests of users of a claim, one case per rule of semantics#claim-protection. The cases are those
//! of
//! `pvc_protection_controller_test.go` in Kubernetes and of R-PVCP-3 to R-PVCP-11.

mod rows;

use rows::{
    answered, attachment, claim, cluster, ephemeral, look, now, owner, pod, set, shut_down,
    snapshot, source_of, unscheduled, volume, workload,
};

use super::*;
use crate::facts::{Ownership, is_doomed, ownership};
use crate::model::{
    Answer, Claim, ClaimCondition, ClaimPhase, Metadata, MountedClaim, OwnerReference, PodPhase,
    PodUse, ReclaimPolicy, Row, Uid, Workload,
};

#[test]
fn which_pods_use_a_claim_and_which_of_them_upstream_waits_for() {
    let of_pod = |uid, controller| owner("Pod", "web", Some(uid), controller);
    let own = claim("web-data", &[of_pod("web-uid", true)]);
    let plain = claim("data", &[]);
    let eph = |pod| ephemeral(pod, "web-data");
    let finished = |phase| PodUse { phase, ..pod("web") };
    let elsewhere = || PodUse { namespace: "elsewhere".into(), ..pod("web") };
    let terminating = || PodUse { deleting: now(), ..pod("web") };
    for (what, claim, pods, upstream, all) in [
        ("no pod", &plain, vec![], 0, 0),
        ("a running pod", &plain, vec![pod("web")], 1, 1),
        ("a pod that succeeded", &plain, vec![finished(PodPhase::Succeeded)], 1, 1),
        ("a pod that failed", &plain, vec![finished(PodPhase::Failed)], 1, 1),
        ("a pod that is not scheduled", &plain, vec![unscheduled(pod("web"))], 0, 1),
        ("a pod that is being deleted", &plain, vec![terminating()], 1, 1),
        ("a pod that is shut down", &plain, vec![shut_down(pod("web"))], 1, 1),
        ("a pod of another namespace", &plain, vec![elsewhere()], 0, 0),
        ("a pod of another claim", &claim("other", &[]), vec![pod("web")], 0, 0),
        ("one of two", &plain, vec![unscheduled(pod("a")), finished(PodPhase::Failed)], 1, 2),
        ("both", &plain, vec![pod("a"), pod("b")], 2, 2),
        ("its ephemeral volume", &own, vec![eph(pod("web"))], 1, 1),
        ("its ephemeral volume, shut down", &own, vec![shut_down(eph(pod("web")))], 0, 1),
        ("its ephemeral volume, not scheduled", &own, vec![unscheduled(eph(pod("web")))], 0, 1),
        ("a name alone", &claim("web-data", &[]), vec![eph(pod("web"))], 0, 0),
        (
            "an earlier pod's",
            &claim("web-data", &[of_pod("old", true)]),
            vec![eph(pod("web"))],
            0,
            0,
        ),
        (
            "an owner that does not control",
            &claim("web-data", &[of_pod("web-uid", false)]),
            vec![eph(pod("web"))],
            0,
            0,
        ),
    ] {
        let rows = pods.into_iter().map(|pod| Row::Pod(Box::new(pod)));
        let cluster = cluster(rows, &[]);
        let found = look(&cluster, |cx| {
            (upstream_in_use(cx, claim).map(|it| it.len()), pod_users(cx, claim).map(|it| it.len()))
        });
        assert_eq!(found, (Ok(upstream), Ok(all)), "{what}");
    }
    let blind = cluster([Row::Pod(Box::new(pod("web")))], &[Kind::Pod]);
    assert!(look(&blind, |cx| upstream_in_use(cx, &plain).is_err()), "a forbidden namespace");
}

#[test]
fn which_pods_wait_for_a_name_that_is_taken() {
    let of_pod = |uid| owner("Pod", "web", Some(uid), true);
    let both = PodUse {
        claims: [true, false]
            .map(|ephemeral| MountedClaim { claim: "web-data".into(), ephemeral })
            .into(),
        ..pod("web")
    };
    for (what, claim, pod, conflict) in [
        ("nobody's", claim("web-data", &[]), ephemeral(pod("web"), "web-data"), true),
        (
            "its own",
            claim("web-data", &[of_pod("web-uid")]),
            ephemeral(pod("web"), "web-data"),
            false,
        ),
        (
            "an earlier pod's, which is on its way out",
            claim("web-data", &[of_pod("old")]),
            ephemeral(pod("web"), "web-data"),
            false,
        ),
        (
            "a set's",
            claim("web-data", &[owner("StatefulSet", "web", Some("web-uid-2"), true)]),
            ephemeral(pod("web"), "web-data"),
            true,
        ),
        ("named as well", claim("web-data", &[]), both, false),
        ("named", claim("data", &[]), pod("web"), false),
    ] {
        let cluster = cluster([Row::Pod(Box::new(pod))], &[]);
        let found = look(&cluster, |cx| conflicting_pods(cx, &claim).map(|it| !it.is_empty()));
        assert_eq!(found, Ok(conflict), "{what}");
    }
}

/// The names of the reasons, and how many kinds were not read.
fn reasons(rows: Vec<Row>, blind: &[Kind], claim: &Claim) -> (Vec<String>, usize) {
    let cluster = cluster(rows, blind);
    look(&cluster, |cx| {
        let found = unsafe_to_delete(cx, claim);
        for reason in &found.reasons {
            assert!(!reason.words().is_empty());
            assert_eq!(reason.is_lifted_by_choice(), matches!(reason, UnsafeReason::DataLost(_)));
        }
        let names = found.reasons.iter().map(|reason| {
            let text = format!("{reason:?}");
            text.split('(').next().unwrap_or_default().to_owned()
        });
        (names.collect(), found.unseen.len())
    })
}

/// A `ReplicaSet` of the Deployment of `deploy`.
fn revision(replicas: i32) -> Workload {
    let controller = owner("Deployment", &workload(Kind::Deployment, None).name, None, true);
    Workload {
        controller: Some(Box::new(controller)),
        ..workload(Kind::ReplicaSet, Some(replicas))
    }
}

#[test]
fn a_workload_that_starts_no_pods_speaks_against_nothing() {
    let plain = claim("data", &[]);
    let deploy = || workload(Kind::Deployment, Some(0));
    let kept = || volume(ReclaimPolicy::Retain, "data", Some("data"));
    let work = |row| Row::Workload(Box::new(row));
    let finished = Workload { finished: true, ..workload(Kind::Job, None) };
    for (what, rows, names) in [
        ("a finished job", vec![work(finished)], &[][..]),
        ("an earlier revision of a deployment without it", vec![work(revision(0))], &[]),
        ("a revision with replicas", vec![work(revision(1))], &["Workload"]),
        (
            "revisions of a deployment that references it",
            vec![work(revision(0)), work(deploy())],
            &["Workload", "Workload"],
        ),
    ] {
        let names = names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let rows = rows.into_iter().chain([kept()]).collect();
        assert_eq!(reasons(rows, &[], &plain), (names, 0), "{what}");
    }
}

#[test]
fn what_speaks_against_deleting_a_claim() {
    let plain = claim("data", &[]);
    let templated = claim("data-web-0", &[]);
    let operator = owner("Database", "main", Some("db-uid"), true);
    let owned = claim("data", std::slice::from_ref(&operator));
    let bare = Claim {
        metadata: Metadata { finalizers: [].into(), ..plain.metadata.clone() },
        ..plain.clone()
    };
    let condition = |kind: &str, holds| Claim {
        conditions: [ClaimCondition {
            kind: kind.into(),
            holds,
            since: now(),
            reason: "".into(),
            message: "".into(),
        }]
        .into(),
        ..plain.clone()
    };
    let kept = || volume(ReclaimPolicy::Retain, "data", Some("data"));
    let lost = || volume(ReclaimPolicy::Delete, "data", Some("data"));
    let work = |row| Row::Workload(Box::new(row));
    let pods = |pod| Row::Pod(Box::new(pod));
    let deploy = || workload(Kind::Deployment, Some(0));
    let uid = || Uid::parse("db-uid").map_or(Answer::No, Answer::Is);
    let other = || Uid::parse("db-uid-2").map_or(Answer::No, Answer::Is);
    for (what, rows, claim, names) in [
        ("nothing", vec![kept()], &plain, &[][..]),
        ("a: a running pod", vec![kept(), pods(pod("web"))], &plain, &["Pod"]),
        ("a: not scheduled", vec![kept(), pods(unscheduled(pod("web")))], &plain, &["Pod"]),
        ("b: replicas 0", vec![kept(), work(deploy())], &plain, &["Workload"]),
        (
            "b: suspended",
            vec![kept(), work(Workload { suspended: true, ..workload(Kind::CronJob, None) })],
            &plain,
            &["Workload"],
        ),
        (
            "b: another claim",
            vec![kept(), work(Workload { claims: ["x".into()].into(), ..deploy() })],
            &plain,
            &[],
        ),
        ("c: a set's template", vec![set("web", "set-uid", "data")], &templated, &["Template"]),
        ("c: no such template", vec![set("web", "set-uid", "logs")], &templated, &[]),
        (
            "d: a clone in the making",
            vec![kept(), source_of("copy", ClaimPhase::Pending)],
            &plain,
            &["Clone"],
        ),
        (
            "d: a clone that is done",
            vec![kept(), source_of("copy", ClaimPhase::Bound)],
            &plain,
            &[],
        ),
        ("d: a snapshot", vec![kept(), snapshot(false)], &plain, &["Snapshot"]),
        ("d: a snapshot that is done", vec![kept(), snapshot(true)], &plain, &[]),
        ("e: attached", vec![kept(), attachment(true)], &plain, &["Attached"]),
        ("e: not attached", vec![kept(), attachment(false)], &plain, &[]),
        ("f: an operator's", vec![kept(), answered(&operator, uid())], &owned, &["Owned"]),
        ("f: an operator that is gone", vec![kept(), answered(&operator, Answer::No)], &owned, &[]),
        ("f: another operator", vec![kept(), answered(&operator, other())], &owned, &[]),
        ("g: no protection", vec![kept()], &bare, &["Unprotected"]),
        ("h: the policy", vec![lost()], &plain, &["DataLost"]),
        (
            "h: another claim's volume",
            vec![volume(ReclaimPolicy::Delete, "data", Some("other"))],
            &plain,
            &[],
        ),
        ("i: resizing", vec![kept()], &condition("Resizing", true), &["Changing"]),
        (
            "i: file system",
            vec![kept()],
            &condition("FileSystemResizePending", true),
            &["Changing"],
        ),
        ("i: attributes", vec![kept()], &condition("ModifyingVolume", true), &["Changing"]),
        ("i: over", vec![kept()], &condition("Resizing", false), &[]),
        (
            "the condition Unused is no proof",
            vec![kept(), pods(pod("web"))],
            &condition("Unused", true),
            &["Pod"],
        ),
        (
            "all at once",
            vec![lost(), pods(pod("web")), work(deploy()), attachment(true), snapshot(false)],
            &bare,
            &["Pod", "Workload", "Snapshot", "Attached", "Unprotected", "DataLost"],
        ),
    ] {
        let names = names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(reasons(rows, &[], claim), (names, 0), "{what}");
    }
    for kind in [
        Kind::Pod,
        Kind::CronJob,
        Kind::PersistentVolumeClaim,
        Kind::VolumeSnapshot,
        Kind::VolumeAttachment,
    ] {
        assert_eq!(reasons(vec![kept()], &[kind], &plain), (vec![], 1), "{kind} not seen");
    }
    let unasked = reasons(vec![kept()], &[], &owned);
    assert_eq!(unasked, (vec![], 1), "nobody asked for its owner");
    let unserved = answered(&operator, Answer::NotServed { elsewhere: None });
    let unserved = reasons(vec![kept(), unserved], &[], &owned);
    assert_eq!(unserved, (vec![], 1), "it may exist, and come back with its kind");
    let one = reasons(vec![kept(), work(deploy())], &[Kind::CronJob], &plain);
    assert_eq!(one, (vec!["Workload".to_owned()], 0), "one user is proof enough");
    let looked = checked_kinds();
    assert!(looked.starts_with("pods, statefulsets") && looked.contains("custom"), "{looked}");
}

#[test]
fn which_owners_are_there() {
    let is = |uid: &str| Uid::parse(uid).map_or(Answer::No, Answer::Is);
    let of_set = |uid| owner("StatefulSet", "web", uid, true);
    let of_kind = |kind: &str| owner(kind, "main", Some("1"), true);
    let solid = Some(Ownership::Solid);
    let dangling = Some(Ownership::Dangling);
    let other = |owner: &OwnerReference, answer| vec![answered(owner, answer)];
    for (what, owner, rows, expected) in [
        ("a set that was listed", of_set(Some("1")), vec![set("web", "1", "data")], solid),
        (
            "a pod that was listed",
            owner("Pod", "web", Some("web-uid"), true),
            vec![Row::Pod(Box::new(pod("web")))],
            solid,
        ),
        (
            "another set of that name, unasked",
            of_set(Some("1")),
            vec![set("web", "2", "data")],
            None,
        ),
        ("gone since", of_set(Some("1")), other(&of_set(None), Answer::No), dangling),
        ("made again since", of_set(Some("1")), other(&of_set(None), is("2")), dangling),
        (
            "another list than the answer",
            of_set(Some("1")),
            vec![set("web", "2", "data"), answered(&of_set(None), is("1"))],
            solid,
        ),
        ("an operator's", of_kind("Database"), other(&of_kind("Database"), is("1")), solid),
        ("not asked", of_kind("Database"), vec![], None),
        ("forbidden", of_kind("Database"), other(&of_kind("Database"), Answer::Forbidden), None),
        (
            "a kind that nobody knows",
            of_kind("Thing"),
            other(&of_kind("Thing"), Answer::Unanswered("what is a Thing".into())),
            None,
        ),
        (
            "a kind that is not served",
            of_kind("Thing"),
            other(&of_kind("Thing"), Answer::NotServed { elsewhere: None }),
            Some(Ownership::NotServed),
        ),
        (
            "a kind that is served in another version, unasked",
            of_kind("Thing"),
            other(
                &of_kind("Thing"),
                Answer::NotServed { elsewhere: Some("example.com/v2".into()) },
            ),
            None,
        ),
        ("no uid in a dump", of_kind("Database"), other(&of_kind("Database"), Answer::Yes), None),
        ("no uid in the reference", of_set(None), other(&of_set(None), is("1")), None),
        (
            "no uid in the reference, and gone",
            of_set(None),
            other(&of_set(None), Answer::No),
            dangling,
        ),
    ] {
        let claim = claim("data", std::slice::from_ref(&owner));
        let cluster = cluster(rows, &[]);
        let found = look(&cluster, |cx| ownership(cx, &claim, &owner).ok());
        assert_eq!(found, expected, "{what}");
        let doomed = look(&cluster, |cx| is_doomed(cx, &claim).ok());
        assert_eq!(doomed, expected.map(|it| it == Ownership::Dangling), "{what}");
    }
}

#[test]
fn one_owner_that_is_there_saves_a_claim() {
    let (there, gone, unasked) = (
        owner("StatefulSet", "web", Some("1"), false),
        owner("Database", "gone", Some("1"), true),
        owner("Database", "unasked", Some("1"), false),
    );
    // Its own owner: a circle, which Kubernetes regards as solid as well.
    let own = owner("PersistentVolumeClaim", "data", Some("data"), false);
    let its_own = Uid::parse("data").map_or(Answer::No, Answer::Is);
    let rows = [set("web", "1", "data"), answered(&gone, Answer::No), answered(&own, its_own)];
    let cluster = cluster(rows, &[]);
    for (owners, doomed) in [
        (vec![], Some(false)),
        (vec![gone.clone()], Some(true)),
        (vec![gone.clone(), gone.clone()], Some(true)),
        (vec![gone.clone(), there.clone()], Some(false)),
        (vec![unasked.clone(), there], Some(false)),
        (vec![gone.clone(), unasked], None),
        (vec![gone, own], Some(false)),
    ] {
        let claim = claim("data", &owners);
        assert_eq!(look(&cluster, |cx| is_doomed(cx, &claim).ok()), doomed, "{owners:?}");
    }
}

#[test]
fn what_becomes_of_the_data() {
    for (policy, uid, words) in [
        (ReclaimPolicy::Delete, Some("data"), "policy Delete can destroy the data when it goes"),
        (ReclaimPolicy::Recycle, Some("data"), "policy Recycle scrubs the data when it goes"),
        (ReclaimPolicy::Retain, Some("data"), "the volume and its data remain when it goes"),
        (
            ReclaimPolicy::Other("Keep".into()),
            Some("data"),
            "the volume and its data remain when it goes",
        ),
        (ReclaimPolicy::Delete, None, "policy Delete can destroy the data when it goes"),
        (ReclaimPolicy::Delete, Some("x"), "no volume is affected when it goes"),
    ] {
        let cluster = cluster([volume(policy.clone(), "data", uid)], &[]);
        let found = look(&cluster, |cx| data_effect(cx, &claim("data", &[])).words("it goes"));
        assert_eq!(found, words, "{policy} {uid:?}");
    }
    let blind = cluster([], &[Kind::PersistentVolume]);
    let unseen = look(&blind, |cx| {
        matches!(data_effect(cx, &claim("data", &[])), ClaimDataEffect::Unseen(_))
    });
    assert!(unseen);
}

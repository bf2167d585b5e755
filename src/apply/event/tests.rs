use super::*;
use crate::client::test_server::{TestReply, TestServer, json as json_reply, reply};
use crate::model::{Kind, ObjectKey, Severity, Uid, Verdict, VerdictState, parse_time};
use crate::rules::REGISTRY;

fn noon() -> Time {
    parse_time("2026-11-21T12:00:00Z").ok().flatten().expect("because it is a time")
}

fn finding(key: ObjectKey, summary: &str) -> Finding {
    Finding {
        rule: "pv-failed",
        severity: Severity::High,
        object: ObjectRef { key, uid: Uid::parse("4f6e1c6e-3c5f-4b5e-9c39-5d8e6b3e7a10") },
        summary: summary.to_owned(),
        age: None,
        evidence: Vec::new(),
        related: Vec::new(),
        caused_by: Vec::new(),
        verdict: Verdict { state: VerdictState::ReportOnly, reason: "none".to_owned() },
        offer: None,
        volume: None,
    }
}

fn notice(is_new: bool) -> FindingNotice {
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "a");
    FindingNotice::of(&finding(key, "reclaim failed"), noon(), is_new)
}

#[test]
fn an_event_says_what_the_api_asks_for() {
    let request = notice(true).create("a", "here");
    assert_eq!(request.path, "/apis/events.k8s.io/v1/namespaces/default/events");
    let body = &request.body;
    assert_eq!(body["eventTime"], "2026-11-21T12:00:00.000000Z");
    assert_eq!(body["reason"], "PvFailed");
    assert_eq!(body["note"], "pv-failed: reclaim failed");
    assert_eq!(body["regarding"]["kind"], "PersistentVolume");
    let claim = ObjectKey::named(Kind::PersistentVolumeClaim, "shop", "a");
    let claim = FindingNotice::of(&finding(claim, "lost"), noon(), true);
    let claim = claim.create("a", "here");
    assert_eq!(claim.path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    assert_eq!(claim.body["regarding"]["namespace"], "shop");
}

/// A process that is called by another name tells nothing twice.
#[test]
fn the_name_of_the_program_is_no_news() {
    let usual = "pv-failed: it failed; next: kubectl storage retain pv/a";
    for (note, expected) in [
        (usual, true),
        ("pv-failed: it failed; next: oc storage retain pv/a", true),
        ("pv-failed: it failed; next: kubectl storage retain pv/b", false),
        ("pv-failed: it failed; next: rm -rf; kubectl storage retain pv/a", false),
        ("pv-failed: it failed again; next: kubectl storage retain pv/a", false),
        ("pv-failed: it failed", false),
    ] {
        assert_eq!(is_told(note, usual), expected, "{note}");
    }
    assert!(is_told("a; next: kubectl get pv", "a; next: kubectl get pv"));
}

#[test]
fn a_name_belongs_to_an_object_and_a_rule() {
    let name = notice(true).name("");
    assert_eq!(name, notice(false).name(""));
    assert_ne!(name, notice(true).name("another"));
    let other = FindingNotice { rule: "pv-node-gone", ..notice(true) };
    assert_ne!(name, other.name(""));
    let mut again = notice(true);
    again.object.uid = None;
    assert_ne!(name, again.name(""));
    assert!(name.len() < 64, "{name}");
}

#[test]
fn every_reason_fits() {
    for rule in REGISTRY.iter() {
        let reason = reason(rule.id);
        assert!(reason.len() <= 128 && reason.chars().all(char::is_alphanumeric), "{reason}");
    }
}

#[test]
fn what_is_hostile_is_escaped_and_what_is_long_is_cut() {
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "a");
    let hostile = FindingNotice::of(&finding(key.clone(), "a\u{1b}[2Jb\n"), noon(), true);
    assert_eq!(hostile.note, "pv-failed: a\\u{1b}[2Jb\\n");
    for letter in ["a", "ä", "漢", "\u{7}"] {
        let long = FindingNotice::of(&finding(key.clone(), &letter.repeat(2000)), noon(), true);
        assert!((1000..=1024).contains(&long.note.len()), "{}", long.note.len());
    }
}

/// Tells a notice to a server that has such an Event, and returns what was asked.
async fn told(
    notice: &FindingNotice,
    create: impl Fn() -> TestReply + Send + Sync + 'static,
) -> (Result<NoticeEnd, NoticeError>, Vec<(String, String)>) {
    let mut known = notice.create(&notice.name(""), "earlier").body;
    known["series"] = json!({"count": 3});
    let server = TestServer::start(move |asked| match asked.method.as_str() {
        "post" | "POST" => create(),
        _ => json_reply(known.to_string()),
    })
    .await;
    let end = EventWriter::new(&server.connect().await, "here").tell(notice).await;
    (end, server.asked().into_iter().map(|it| (it.method, it.body)).collect())
}

#[tokio::test]
async fn what_an_earlier_process_told_is_not_told_again() {
    let known = || reply(409, "", "{}");
    let (end, asked) = told(&notice(false), known).await;
    assert_eq!(end, Ok(NoticeEnd::Known));
    assert_eq!(asked.len(), 2);
    // What has cleared and appeared again is the same series.
    let (end, asked) = told(&notice(true), known).await;
    assert_eq!(end, Ok(NoticeEnd::Continued));
    assert_eq!(asked.len(), 3);
    assert!(asked[2].1.contains(r#""count":4"#), "{asked:?}");
}

#[tokio::test]
async fn an_event_that_somebody_else_made_of_its_name_keeps_nothing_from_being_told() {
    for is_new in [true, false] {
        let notice = notice(is_new);
        let own = notice.create(&notice.name(""), "here").body;
        for (field, value) in [
            ("/reportingController", "another"),
            ("/note", "pv-failed: all is well"),
            ("/regarding/uid", "5f6e1c6e-3c5f-4b5e-9c39-5d8e6b3e7a10"),
            ("/reason", "Pulled"),
        ] {
            let mut forged = own.clone();
            forged["metadata"]["uid"] = json!("foreign");
            *forged.pointer_mut(field).expect("it is there") = json!(value);
            let (taken, beside) = (notice.name(""), notice.name("foreign"));
            let server = TestServer::start(move |asked| {
                match (asked.method.as_str(), asked.body.contains(&taken)) {
                    ("POST", true) => reply(409, "", "{}"),
                    ("POST", false) => json_reply("{}"),
                    _ => json_reply(forged.to_string()),
                }
            })
            .await;
            let end = EventWriter::new(&server.connect().await, "here").tell(&notice).await;
            assert_eq!(end, Ok(NoticeEnd::Created), "{field}");
            let asked = server.asked();
            assert_eq!(asked.len(), 3, "{field}");
            assert!(asked[2].body.contains(&beside), "{field}: {}", asked[2].body);
        }
    }
}

#[tokio::test]
async fn a_refusal_is_told_apart_from_silence() {
    let of = async |code| told(&notice(true), move || reply(code, "", "{}")).await.0;
    assert_eq!(of(201).await, Ok(NoticeEnd::Created));
    assert!(matches!(of(403).await, Err(NoticeError::Forbidden(_))));
    assert!(matches!(of(422).await, Err(NoticeError::Rejected(_))));
    assert!(matches!(of(429).await, Err(NoticeError::Unanswered(_))));
    assert!(matches!(of(500).await, Err(NoticeError::Unanswered(_))));
}

#[tokio::test]
async fn a_refusal_of_admission_is_not_taken_for_a_missing_right() {
    let end = async |message: &str| {
        let status =
            json!({"kind": "Status", "reason": "Forbidden", "code": 403, "message": message});
        let body = status.to_string();
        let refused = move || reply(403, "content-type: application/json\r\n", &body);
        told(&notice(true), refused).await.0
    };
    // As the API server words them: the plugins NamespaceLifecycle and ResourceQuota, webhooks and policies.
    for message in [
        "events.events.k8s.io \"e\" is forbidden: unable to create new content in namespace shop because it is being terminated",
        "events.events.k8s.io \"e\" is forbidden: exceeded quota: q, requested: count/events.events.k8s.io=1, used: 9, limited: 9",
        "admission webhook \"a.example\" denied the request: no",
        "events.events.k8s.io \"e\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    ] {
        assert!(matches!(end(message).await, Err(NoticeError::Rejected(_))), "{message}");
    }
    let lacks = "events.events.k8s.io is forbidden: User \"u\" cannot create resource \"events\" in API group \"events.k8s.io\" in the namespace \"shop\"";
    assert!(matches!(end(lacks).await, Err(NoticeError::Forbidden(_))));
}

use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
use crate::client::test_server::{
    ReceivedRequest, TestReply, TestServer, absent, json as answer, reply,
};

const QUICK: ElectionPace = ElectionPace {
    duration: Duration::from_secs(15),
    deadline: Duration::from_secs(10),
    retry: Duration::from_millis(10),
};

/// An API server that keeps one Lease, which is not there at first.
fn keep(lease: &Mutex<Option<Value>>, asked: &ReceivedRequest) -> TestReply {
    let mut lease = lease.lock().expect("because no test panics while holding it");
    if asked.method != "GET" {
        let mut object: Value = serde_json::from_str(&asked.body).expect("because it is JSON");
        object["metadata"]["uid"] = json!("u");
        object["metadata"]["resourceVersion"] = json!(asked.nth.to_string());
        *lease = Some(object);
    }
    if let Some(object) = &*lease {
        return answer(object.to_string());
    }
    absent(&asked.path)
}

/// Waits until something is so, for half a minute at most.
pub(in crate::watch) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

#[tokio::test]
async fn a_loop_that_turns_no_more_leads_no_more() {
    let lease: Arc<Mutex<Option<Value>>> = Arc::default();
    let kept = Arc::clone(&lease);
    let server = TestServer::start(move |asked| keep(&kept, asked)).await;
    let holder = || {
        let lease = lease.lock().expect("because no test panics while holding it");
        lease.as_ref().map(|it| it["spec"]["holderIdentity"].as_str().unwrap_or("?").to_owned())
    };
    let is_held = || holder().is_some_and(|it| !it.is_empty());
    let probes = Arc::new(Probes::stuck_after(Duration::from_millis(300)));
    let connection = server.connect().await;
    let candidate = Candidate::stand(&connection, ("a", "watch"), &[], QUICK, Arc::clone(&probes));
    let leadership = candidate.leadership();
    // It turns, and has read nothing: it would keep the Lease from others and report nothing.
    for _ in 0..10 {
        probes.turned();
        sleep(QUICK.retry).await;
    }
    assert!(server.asked().is_empty() && !leadership.leads(), "it does not even ask");
    probes.looked();
    eventually("it leads", || {
        probes.turned();
        leadership.leads() && is_held()
    })
    .await;
    // The loop is stuck from now on. Nobody else stands for election.
    eventually("it leads no more", || !leadership.leads()).await;
    assert!(!probes.is_alive());
    eventually("it gives the Lease back", || holder() == Some(String::new())).await;
    let asked = server.asked().len();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(server.asked().len(), asked, "it does not even ask");
    // And turns again.
    eventually("it leads again", || {
        probes.turned();
        leadership.leads() && is_held()
    })
    .await;
    let term = leadership.term().expect("it leads");
    assert!(term.transitions > 0, "another term: {term:?}");
    candidate.resign().await;
    assert_eq!(holder(), Some(String::new()));
}

#[test]
fn only_who_has_looked_and_turns_bids_and_a_pause_is_not_the_end() {
    let mut fitness = Fitness::default();
    for (is_ready, is_alive, step) in [
        (false, true, Step::Wait),
        (true, true, Step::Bid),
        // It was paused for long, and the loop turns right after it goes on.
        (true, false, Step::Wait),
        (true, true, Step::Bid),
        // It is stuck.
        (true, false, Step::Wait),
        (true, false, Step::GiveBack),
        (true, false, Step::GiveBack),
        (true, true, Step::Bid),
        // The first look is stuck.
        (false, false, Step::Wait),
        (false, false, Step::GiveBack),
        (false, true, Step::Wait),
    ] {
        assert_eq!(fitness.step(is_ready, is_alive), step, "{is_ready} {is_alive}");
    }
}

#[tokio::test]
async fn a_namespace_of_the_lease_that_does_not_exist_is_told() {
    let message = r#"namespaces "a" not found"#;
    let status = json!({"kind": "Status", "reason": "NotFound", "code": 404, "message": message,
        "details": {"name": "a", "kind": "namespaces"}});
    let lease: Arc<Mutex<Option<Value>>> = Arc::default();
    let server = TestServer::start(move |asked| match asked.method.as_str() {
        "GET" => keep(&lease, asked),
        _ => reply(404, "content-type: application/json\r\n", status.to_string()),
    })
    .await;
    let connection = server.connect().await;
    let probes: Arc<Probes> = Arc::default();
    probes.looked();
    let candidate = Candidate::stand(&connection, ("a", "watch"), &[], QUICK, probes);
    let standing = candidate.standing.clone();
    eventually("it is told", || match &*standing.borrow() {
        Standing::Stands { leader: None, failure: Some(why) } => why.contains(message),
        _ => false,
    })
    .await;
    assert!(!candidate.leadership().leads() && !candidate.leadership().is_led_by_another());
}

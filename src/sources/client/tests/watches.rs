//! What was listed, kept current by watches; and what cannot be kept current, said.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json as value};
use tokio::time::timeout;

use super::server::{Reply, Server, begun, chunk, json, quick, reply};
use crate::cluster::{Cx, Facts};
use crate::model::{ClaimKey, Kind, Settings, Text};
use crate::sources::client::{Limits, Reader};
use crate::sources::{
    intake::Intake,
    live::{self, LiveOptions, Watches},
};

const CLAIMS: &str = "/api/v1/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const PODS: &str = "/api/v1/pods";

/// Says what the nth list of a collection is answered with, and the nth watch.
type Script = dyn Fn(&str, bool, usize) -> Reply + Send + Sync;

async fn serving(script: Box<Script>) -> Server {
    let asked_before = Mutex::new(BTreeMap::<(String, bool), usize>::new());
    Server::start(move |asked| {
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        if path == "/version" {
            return json(r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}"#);
        }
        let watch = query.contains("watch=1");
        let mut counts = asked_before.lock().expect("because no test panics while holding it");
        let count = counts.entry((path.to_owned(), watch)).or_default();
        *count += 1;
        script(path, watch, *count - 1)
    })
    .await
}

/// One cluster and its owner.
struct Look {
    server: Server,
    reader: Reader,
    intake: Intake,
    watches: Watches,
}

impl Look {
    async fn at(
        kinds: &[Kind],
        limits: Limits,
        script: impl Fn(&str, bool, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let server = serving(Box::new(script)).await;
        let reader = Reader::with_limits(&server.connect().await, limits);
        let options = LiveOptions { kinds: kinds.to_vec(), ..LiveOptions::default() };
        let mut intake = Intake::new(None);
        let watches = live::read_and_watch(&reader, &options, &mut intake, &mut |_| {})
            .await
            .expect("readable");
        Self { server, reader, intake, watches }
    }

    async fn at_claims(
        list: impl Fn(usize) -> Reply + Send + Sync + 'static,
        watch: impl Fn(usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::at(&[Kind::PersistentVolumeClaim], quick(), move |path, watches, nth| {
            match (path, watches) {
                (CLAIMS, true) => watch(nth),
                (CLAIMS, false) => list(nth),
                _ => reply(404, "", ""),
            }
        })
        .await
    }

    /// Takes in what comes until something is so.
    async fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) {
        let taking_in = async {
            while !so(self) {
                self.watches.next(&mut self.intake).await.expect("because nothing is saved");
            }
        };
        if timeout(Duration::from_secs(20), taking_in).await.is_err() {
            panic!("never: {what}; {:#?} {:?}", self.requests(), self.claims());
        }
    }

    /// The names of the claims, and whether they are all that there are.
    fn claims(&self) -> (Vec<&str>, bool) {
        let claims = self.intake.cluster.claims();
        let mut names: Vec<_> = claims.map(|(_, claim)| &*claim.metadata.name).collect();
        names.sort_unstable();
        (names, self.sees(Kind::PersistentVolumeClaim))
    }

    fn sees(&self, kind: Kind) -> bool {
        self.intake.cluster.reach(kind, None).is_ok()
    }

    /// What was asked of a collection: `list`, or the version watched from.
    fn of(&self, collection: &str) -> Vec<String> {
        let of = |path: &String| path.split('?').next() == Some(collection);
        let version = |path: String| match path.split_once("&resourceVersion=") {
            Some((_, rest)) => rest.split('&').next().unwrap_or_default().to_owned(),
            None => match path.split_once("watch=1&resourceVersion=") {
                Some((_, rest)) => rest.split('&').next().unwrap_or_default().to_owned(),
                None => "list".to_owned(),
            },
        };
        self.requests().into_iter().filter(of).map(version).collect()
    }

    fn requests(&self) -> Vec<String> {
        self.server.asked().into_iter().map(|asked| asked.path).collect()
    }
}

fn claim(name: &str, version: u32) -> Value {
    value!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": version.to_string()},
        "spec": {"volumeName": format!("for-{name}")}, "status": {"phase": "Bound"},
    })
}

fn list(version: u32, items: &[Value]) -> Reply {
    let version = version.to_string();
    json(
        value!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items})
            .to_string(),
    )
}

fn event(r#type: &str, object: &Value) -> String {
    format!("{}\n", value!({"type": r#type, "object": object}))
}

fn bookmark(version: u32) -> String {
    event(
        "BOOKMARK",
        &value!({"kind": "PersistentVolumeClaim", "metadata": {"resourceVersion": version.to_string()}}),
    )
}

fn expired() -> Value {
    value!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})
}

/// A watch that tells this and then nothing.
fn open(text: &str) -> Reply {
    Reply::Hang([begun(), chunk_of(text)].concat())
}

/// A watch that tells this and ends.
fn over(text: &str) -> Reply {
    Reply::Whole([begun(), chunk_of(text), chunk("")].concat())
}

/// A watch that tells this and is cut.
fn cut(text: &str) -> Reply {
    Reply::Cut([begun(), chunk_of(text)].concat())
}

fn chunk_of(text: &str) -> Vec<u8> {
    if text.is_empty() { Vec::new() } else { chunk(text) }
}

#[tokio::test]
async fn what_comes_changes_and_goes_is_seen() {
    let told = [
        event("ADDED", &claim("b", 2)),
        event("MODIFIED", &{
            let mut lost = claim("a", 3);
            lost["status"]["phase"] = value!("Lost");
            lost
        }),
        event("DELETED", &claim("b", 4)),
        event("ADDED", &claim("c", 5)),
    ]
    .concat();
    let mut look = Look::at_claims(|_| list(1, &[claim("a", 1)]), move |_| open(&told)).await;
    assert_eq!(look.claims(), (vec!["a"], true));
    look.until("c", |look| look.claims() == (vec!["a", "c"], true)).await;
    let phases = look.intake.cluster.claims().map(|(_, claim)| format!("{:?}", claim.phase));
    assert!(phases.into_iter().any(|phase| phase == "Lost"));
    assert_eq!(look.of(CLAIMS), ["list", "1"]);
    let watch = look.requests().into_iter().find(|path| path.contains("watch=1"));
    assert!(watch.expect("asked").contains("&allowWatchBookmarks=true&timeoutSeconds="));
    let head = look.server.asked().into_iter().find(|asked| asked.path.contains("watch=1"));
    assert!(head.expect("asked").head.contains("accept-encoding: identity\r\n"));
}

#[tokio::test]
async fn events_may_be_cut_anywhere() {
    let mut named = claim("ü", 2);
    named["metadata"]["labels"] = value!({"text": "a\nb \"{\\\" ü"});
    let text = [event("ADDED", &named), bookmark(7), event("DELETED", &claim("a", 8))].concat();
    // Every place is tried on lines themselves; here it is about what stands above them.
    for at in (1..text.len()).step_by(17) {
        let pieces = text.as_bytes().split_at(at);
        let pieces = vec![begun(), chunk(pieces.0), chunk(pieces.1)];
        let mut look =
            Look::at_claims(|_| list(1, &[claim("a", 1)]), move |_| Reply::Pieces(pieces.clone()))
                .await;
        look.until("both", |look| look.claims() == (vec!["ü"], true)).await;
    }
}

#[tokio::test]
async fn the_next_watch_goes_on_from_the_bookmark() {
    let mut look = Look::at_claims(
        |_| list(1, &[]),
        |nth| match nth {
            0 => over(&[event("ADDED", &claim("a", 4)), bookmark(9)].concat()),
            // Half an event is none: it comes again.
            1 => cut(&[
                event("ADDED", &claim("b", 11)),
                event("ADDED", &claim("c", 12))[..40].to_owned(),
            ]
            .concat()),
            _ => open(&event("ADDED", &claim("c", 12))),
        },
    )
    .await;
    look.until("c", |look| look.claims() == (vec!["a", "b", "c"], true)).await;
    assert_eq!(look.of(CLAIMS), ["list", "1", "9", "11"]);
}

#[tokio::test]
async fn a_forgotten_version_is_listed_again() {
    for in_stream in [true, false] {
        let mut look = Look::at_claims(
            |nth| match nth {
                0 => list(1, &[claim("a", 1), claim("b", 1)]),
                _ => list(20, &[claim("b", 1), claim("new", 15)]),
            },
            move |nth| match nth {
                0 if in_stream => open(&event("ERROR", &expired())),
                0 => reply(410, "content-type: application/json\r\n", expired().to_string()),
                _ => open(&event("ADDED", &claim("newest", 21))),
            },
        )
        .await;
        let all = (vec!["b", "new", "newest"], true);
        look.until("listed again", |look| look.claims() == all).await;
        assert_eq!(look.of(CLAIMS), ["list", "1", "list", "20"], "in the stream: {in_stream}");
        assert_eq!(look.intake.cluster.gaps().count(), 0);
    }
}

#[tokio::test]
async fn another_error_in_the_stream_is_a_gap_until_listed_again() {
    let status = value!({"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcd has a bad day"});
    let down = Arc::new(AtomicBool::new(true));
    let still = Arc::clone(&down);
    let mut look = Look::at_claims(
        move |nth| match nth {
            0 => list(1, &[claim("a", 1)]),
            _ if still.load(Ordering::SeqCst) => reply(403, "", "not now"),
            _ => list(2, &[]),
        },
        move |nth| match nth {
            0 => open(&event("ERROR", &status)),
            _ => open(""),
        },
    )
    .await;
    look.until("a gap", |look| {
        look.intake.cluster.gaps().any(|gap| gap.reason.contains("not now"))
    })
    .await;
    assert_eq!(look.claims(), (vec!["a"], false));
    down.store(false, Ordering::SeqCst);
    look.until("seen again", |look| look.claims() == (vec![], true)).await;
}

#[tokio::test]
async fn what_cannot_be_read_makes_all_unseen_until_it_can() {
    let mut shapeless = claim("b", 5);
    shapeless["spec"] = value!(5);
    let mut unmeasured = claim("b", 5);
    unmeasured["spec"]["resources"] = value!({"requests": {"storage": "much"}});
    for broken in [shapeless, unmeasured, value!(7)] {
        let told = event("MODIFIED", &broken);
        let mended = Arc::new(AtomicBool::new(false));
        let is_mended = Arc::clone(&mended);
        let listed = broken.clone();
        let mut look = Look::at_claims(
            move |nth| match nth {
                0 => list(1, &[claim("a", 1)]),
                _ if is_mended.load(Ordering::SeqCst) => list(9, &[claim("a", 1), claim("b", 8)]),
                _ => list(7, &[claim("a", 1), listed.clone()]),
            },
            move |nth| match nth {
                0 => over(&[told.clone(), event("ADDED", &claim("c", 6))].concat()),
                // It is listed again each time; see below.
                1 => over(&bookmark(7)),
                _ => open(""),
            },
        )
        .await;
        look.until("c", |look| look.claims().0.contains(&"c")).await;
        assert!(!look.claims().1 && !look.intake.complaints().is_empty(), "{broken}");
        look.until("listed", |look| look.of(CLAIMS).len() >= 3).await;
        assert!(!look.claims().1, "{broken}");
        mended.store(true, Ordering::SeqCst);
        look.until("mended", |look| look.claims() == (vec!["a", "b"], true)).await;
    }
}

#[tokio::test]
async fn what_is_no_event_is_a_gap() {
    for text in ["<html>login</html>\n", "{\"type\":\"HELLO\",\"object\":{}}\n", "{}\n"] {
        let mut look = Look::at_claims(
            |nth| match nth {
                0 => list(1, &[claim("a", 1)]),
                _ => list(2, &[]),
            },
            move |nth| if nth == 0 { open(text) } else { open("") },
        )
        .await;
        look.until("a gap", |look| !look.sees(Kind::PersistentVolumeClaim)).await;
        look.until("seen again", |look| look.claims() == (vec![], true)).await;
    }
}

#[tokio::test]
async fn a_lost_connection_is_a_gap_until_it_is_back() {
    let up = Arc::new(AtomicBool::new(true));
    let is_up = Arc::clone(&up);
    let mut look = Look::at(&[Kind::PersistentVolumeClaim], quick(), move |path, watches, nth| {
        match (path, watches) {
            _ if !is_up.load(Ordering::SeqCst) => Reply::Reset(Vec::new()),
            (CLAIMS, true) if nth == 0 => {
                is_up.store(false, Ordering::SeqCst);
                cut(&event("ADDED", &claim("b", 2)))
            }
            (CLAIMS, true) => open(""),
            (CLAIMS, false) if nth == 0 => list(1, &[claim("a", 1)]),
            (CLAIMS, false) => list(9, &[claim("c", 8)]),
            _ => reply(404, "", ""),
        }
    })
    .await;
    look.until("a gap", |look| look.intake.cluster.gaps().any(|it| it.reason.contains("broke")))
        .await;
    // What was seen is kept, but it is not all that there may be.
    assert_eq!(look.claims(), (vec!["a", "b"], false));
    up.store(true, Ordering::SeqCst);
    look.until("back", |look| look.claims() == (vec!["c"], true)).await;
    assert_eq!(look.intake.cluster.gaps().count(), 0);
}

#[tokio::test]
async fn a_watch_that_always_breaks_off_at_once_is_a_gap() {
    for cleanly in [true, false] {
        let up = Arc::new(AtomicBool::new(false));
        let is_up = Arc::clone(&up);
        let mut look = Look::at_claims(
            move |nth| match nth {
                0 => list(1, &[]),
                _ if is_up.load(Ordering::SeqCst) => list(2, &[]),
                _ => reply(403, "", "not now"),
            },
            move |nth| match nth {
                0..5 if cleanly => over(""),
                0..5 => cut(""),
                _ => open(""),
            },
        )
        .await;
        look.until("a gap", |look| look.intake.cluster.gaps().count() == 1).await;
        assert!(look.of(CLAIMS).iter().filter(|it| *it == "1").count() >= 5);
        up.store(true, Ordering::SeqCst);
        look.until("listed again", |look| look.claims().1).await;
    }
}

#[tokio::test]
async fn a_silent_server_is_asked_anew_and_then_listed_again() {
    let limits = Limits { silence: Duration::from_millis(40), ..quick() };
    let mut look =
        Look::at(&[Kind::PersistentVolumeClaim], limits, |path, watches, nth| match path {
            CLAIMS if watches => open(""),
            CLAIMS if nth == 0 => list(1, &[claim("a", 1)]),
            CLAIMS => list(5, &[claim("b", 4)]),
            _ => reply(404, "", ""),
        })
        .await;
    look.until("listed again", |look| look.claims() == (vec!["b"], true)).await;
    assert_eq!(look.of(CLAIMS)[..4], ["list", "1", "1", "list"]);
}

#[tokio::test]
async fn a_pod_that_lets_go_of_its_claim_is_forgotten() {
    let pod = |volumes: Value| value!({"metadata": {"name": "user", "namespace": "shop", "resourceVersion": "2"}, "spec": {"volumes": volumes}});
    let uses = value!([{"name": "data", "persistentVolumeClaim": {"claimName": "a"}}]);
    let told =
        [event("ADDED", &pod(uses)), bookmark(3), event("MODIFIED", &pod(value!([])))].concat();
    let (first, second) = told.split_at(told.len() - 150);
    let pieces = vec![begun(), chunk(first), chunk(second)];
    let mut look = Look::at(&[Kind::Pod], quick(), move |path, watches, _| match path {
        PODS if watches => Reply::Pieces(pieces.clone()),
        PODS => list(1, &[]),
        _ => reply(404, "", ""),
    })
    .await;
    look.until("the pod", |look| look.intake.cluster.pods().count() == 1).await;
    look.until("no pod", |look| look.intake.cluster.pods().count() == 0).await;
}

#[tokio::test]
async fn a_new_list_of_volumes_is_followed_by_what_they_name() {
    let volume = value!({"metadata": {"name": "v", "resourceVersion": "1"}, "spec": {
        "csi": {"driver": "d", "volumeHandle": "h"},
        "claimRef": {"namespace": "shop", "name": "gone"}}, "status": {"phase": "Released"}});
    let kinds = [Kind::PersistentVolume, Kind::PersistentVolumeClaim];
    let mut look = Look::at(&kinds, quick(), move |path, watches, nth| match (path, watches) {
        (VOLUMES, true) if nth == 0 => open(&event("ERROR", &expired())),
        (VOLUMES, false) => list(1, std::slice::from_ref(&volume)),
        (CLAIMS, false) => list(1, &[]),
        (VOLUMES | CLAIMS, true) => open(""),
        _ => reply(404, "", ""),
    })
    .await;
    let is_gone = |look: &Look| {
        let (settings, facts) = (Settings::default(), RefCell::new(Facts::default()));
        let cx = Cx::new(&look.intake.cluster, &settings, &facts);
        let key = ClaimKey { namespace: Text::from("shop"), name: "gone".into() };
        cx.claim(&key).is_ok_and(|claim| claim.is_none())
    };
    assert!(is_gone(&look));
    look.until("volumes again", |look| look.of(VOLUMES).len() >= 3 && !is_gone(look)).await;
    look.until("claims again", is_gone).await;
    assert_eq!(look.of(CLAIMS)[..3], ["list", "1", "list"]);
}

#[tokio::test]
async fn watches_take_no_place_from_questions() {
    let limits = Limits { parallel: 1, ..quick() };
    let kinds = [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod];
    let mut look = Look::at(&kinds, limits, |path, watches, nth| match (path, watches) {
        (CLAIMS, true) if nth == 0 => open(&event("ERROR", &expired())),
        (CLAIMS, false) if nth == 1 => {
            // More than has room on its way, so that this list waits for its owner in its midst.
            let item = |nth: usize| format!("{},", claim(&format!("c-{nth}"), 1));
            let piece = |nth: usize| chunk((nth..nth + 64).map(item).collect::<String>());
            let mut pieces =
                vec![begun(), chunk("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[")];
            pieces.extend((0..20).map(|nth| piece(nth * 64)));
            let last =
                format!("{}],\"metadata\":{{\"resourceVersion\":\"9\"}}}}", claim("last", 1));
            pieces.extend([chunk(last), chunk("")]);
            Reply::Pieces(pieces)
        }
        (VOLUMES | CLAIMS | PODS, true) => open(&bookmark(5)),
        (VOLUMES | CLAIMS | PODS, false) => list(1, &[]),
        _ => json("{}"),
    })
    .await;
    assert_eq!(look.watches.count(), 3);
    look.until("lists again", |look| look.of(CLAIMS).len() >= 3).await;
    // Without taking anything in.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let answer = timeout(Duration::from_secs(20), look.reader.get_json::<Value>("/api/v1/x"));
    assert!(answer.await.expect("because there is room").is_ok());
    look.until("the whole list", |look| look.claims().0.len() == 20 * 64 + 1 && look.claims().1)
        .await;
}

#[tokio::test]
async fn a_gap_is_not_watched() {
    let look = Look::at(&[Kind::PersistentVolumeClaim], quick(), |path, _, _| match path {
        CLAIMS => reply(403, "", "no"),
        "/api/v1/namespaces" => list(
            1,
            &[value!({"metadata": {"name": "shop"}}), value!({"metadata": {"name": "till"}})],
        ),
        "/api/v1/namespaces/shop/persistentvolumeclaims" => list(3, &[]),
        _ => reply(403, "", "no"),
    })
    .await;
    assert_eq!(look.watches.count(), 1);
    assert!(
        look.requests().iter().all(|path| !path.contains("watch=1") || path.contains("/shop/"))
    );
}

#[tokio::test]
async fn what_may_not_be_watched_is_a_gap() {
    let limits = Limits { silence: Duration::from_secs(3600), ..quick() };
    let mut look =
        Look::at(&[Kind::PersistentVolumeClaim], limits, |path, watches, _| match path {
            CLAIMS if watches => reply(403, "", "you may not watch"),
            CLAIMS => list(1, &[claim("a", 1)]),
            _ => reply(404, "", ""),
        })
        .await;
    look.until("a gap", |look| !look.sees(Kind::PersistentVolumeClaim)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    look.watches.drain(&mut look.intake).expect("because nothing is saved");
    assert_eq!(look.claims(), (vec!["a"], false));
    assert_eq!(look.of(CLAIMS), ["list", "1"]);
}

#[tokio::test]
async fn time_goes_on_between_dates() {
    let mut look = Look::at_claims(|_| list(1, &[]), |_| open("")).await;
    let first = look.intake.cluster.clock().expect("because lists are dated");
    tokio::time::sleep(Duration::from_millis(30)).await;
    look.watches.drain(&mut look.intake).expect("because nothing is saved");
    let second = look.intake.cluster.clock().expect("because it was known");
    assert!(second - first >= chrono::Duration::milliseconds(30), "{first} {second}");
}

#[tokio::test]
async fn nobody_watches_when_the_watches_are_dropped() {
    let mut look = Look::at_claims(|_| list(1, &[]), |_| over(&bookmark(5))).await;
    look.until("watched", |look| look.of(CLAIMS).len() > 3).await;
    drop(std::mem::replace(&mut look.watches, {
        let nothing = LiveOptions::default();
        live::read_and_watch(&look.reader, &nothing, &mut Intake::new(None), &mut |_| {})
            .await
            .expect("readable")
    }));
    // What was under way may still arrive.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let asked = look.of(CLAIMS).len();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(look.of(CLAIMS).len(), asked);
}

//! Many owner references removed by one run: their effects settle side by side.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Admin, Cluster, Fault, Mark, Options, Scenario, Told, Write, claim, eventually,
};

const DEAD: &str = "00000000-dead-4000-8000-000000000000";
/// What `stay_removed` waits for each of them.
const SETTLING: Duration = Duration::from_secs(2);

/// Claims that the garbage collector would delete, on a cluster without one.
struct Doomed<'a> {
    on: Scenario<'a>,
    names: Vec<String>,
}

fn cluster() -> Cluster {
    Cluster::start(Options {
        controller_args: &["--controllers=-garbage-collector-controller"],
        ..Options::COMPLETE
    })
}

impl<'a> Doomed<'a> {
    fn claims(cluster: &'a Cluster, count: usize) -> Self {
        let on = Scenario::on(cluster);
        let names: Vec<_> = (0..count).map(|index| format!("data-{index:02}")).collect();
        let doomed = Self { on, names };
        for name in &doomed.names {
            let mut object = claim(name, "");
            object["metadata"]["ownerReferences"] = json!([owner()]);
            doomed.on.create(&object);
        }
        doomed
    }

    fn args(&self) -> Vec<String> {
        let names = self.names.iter().map(|it| format!("pvc/{it}"));
        let rest = ["-n", &self.on.name, "--yes"].map(str::to_owned);
        ["disown".to_owned()].into_iter().chain(names).chain(rest).collect()
    }

    fn owned(&self) -> Vec<&str> {
        let live = self.on.cluster.list(&self.on.name, "pvc");
        let owned = |name: &&String| {
            live.iter().any(|it| {
                it["metadata"]["name"] == **name && !it["metadata"]["ownerReferences"].is_null()
            })
        };
        self.names.iter().filter(owned).map(String::as_str).collect()
    }
}

fn owner() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": DEAD})
}

fn refs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// The claims whose patch was carried out, by name.
fn patched(admin: &Admin, since: Mark) -> Vec<String> {
    let sent = admin.sent(since);
    let real = |it: &&Write| it.line().starts_with("patch ");
    let line = |it: &Write| it.line().replace("patch persistentvolumeclaims ", "");
    let mut names: Vec<_> = sent.iter().filter(real).map(line).collect();
    names.sort_unstable();
    names
}

/// One change after the other: each begins when the last one was sent.
const IN_ORDER: [&str; 2] = ["--parallel", "1"];
/// How many have a turn at the same time by themselves.
const TURNS: usize = 8;

#[test]
#[ignore = "extended suite: further cases"]
fn the_effects_of_many_repairs_settle_side_by_side() {
    const COUNT: usize = 30;
    let cluster = cluster();
    let doomed = Doomed::claims(&cluster, COUNT);
    let admin = Admin::of(&doomed.on);
    let (mark, began) = (cluster.mark(), Instant::now());
    // The first is read again when it has settled; until that is answered, all others are sent.
    let proxy = cluster.proxy();
    let settles = Fault::hold().on("GET", &format!("{}$", doomed.names[0])).after(2);
    let held = proxy.hold(settles);
    let running = admin.by(proxy.kubeconfig(), &refs(&doomed.args())).start();
    held.wait();
    eventually("all are sent", || patched(&admin, mark) == doomed.names);
    held.release();
    let told = Told::of(running.finish()).ends(0);
    let took = began.elapsed();
    assert_eq!(told.outcomes("done"), doomed.names, "{:#}", told.json);
    assert!(doomed.owned().is_empty());
    assert_eq!(patched(&admin, mark), doomed.names, "each is sent once");
    assert!(took > SETTLING, "each of them was verified: {took:?}");
    // Until one was accepted, each is tried first.
    let dry = admin.sent(mark).iter().filter(|it| it.dry).count();
    assert!((1..=TURNS).contains(&dry), "{dry} dry runs");
    let journal = admin.journal(&told);
    assert_eq!(journal[0]["type"], "intent", "{journal:#?}");
    let (mut intents, mut unsent) = (0, BTreeSet::new());
    for line in &journal {
        match (&line["type"], &line["outcome"]) {
            (kind, _) if kind == "intent" => {
                intents += 1;
                unsent.insert(line["sequence"].to_string());
                assert!(unsent.len() <= TURNS, "no more than these at once: {journal:#?}");
            }
            (_, outcome) if outcome == "sent" => {
                assert!(unsent.remove(&line["of"].to_string()), "{journal:#?}");
            }
            _ => {}
        }
    }
    assert_eq!((intents, unsent.len()), (COUNT, 0), "{journal:#?}");
    let done = journal.iter().filter(|it| it["outcome"] == "done").count();
    assert_eq!(done, COUNT, "{journal:#?}");
    // The last one is sent before the first has settled.
    let sent = journal.iter().rposition(|it| it["outcome"] == "sent");
    let is_first = |it: &&Value| it["type"] == "intent" && it["object"]["name"] == *doomed.names[0];
    let first = &journal.iter().find(is_first).expect("it was recorded")["sequence"];
    let settled = journal.iter().position(|it| it["outcome"] == "done" && it["of"] == *first);
    assert!(sent < settled, "{journal:#?}");
}

/// One request is not answered while others have their turn: what is under way is verified, and nothing else begins.
#[test]
#[ignore = "extended suite: further cases"]
fn a_failure_among_several_stops_what_has_not_begun() {
    const COUNT: usize = 40;
    let cluster = cluster();
    let doomed = Doomed::claims(&cluster, COUNT);
    let proxy = cluster.proxy();
    proxy.fault(Fault::status(500).on("PATCH", &format!("{}$", doomed.names[9])).real());
    let admin = Admin::of(&doomed.on);
    let mark = cluster.mark();
    let told = admin.run_through(&proxy, &refs(&doomed.args())).ends(6);
    assert_eq!(told.outcomes("unanswered"), doomed.names[9..10], "{:#}", told.json);
    let (done, refused) = (told.outcomes("done"), told.outcomes("refused"));
    assert_eq!(done.len() + refused.len() + 1, COUNT, "{:#}", told.json);
    assert!(refused.len() >= COUNT - 10 - 2 * TURNS, "{:#}", told.json);
    for name in &refused {
        assert!(told.reason(name).starts_with("not started: "), "{:#}", told.json);
    }
    assert_eq!(patched(&admin, mark), done);
    let mut left = [&refused[..], &[&*doomed.names[9]]].concat();
    left.sort_unstable();
    assert_eq!(doomed.owned(), left);
}

/// The third request is not answered: those before it are verified all the same, and none after it is sent.
#[test]
fn a_failure_stops_what_is_not_sent_while_others_settle() {
    let cluster = cluster();
    let doomed = Doomed::claims(&cluster, 5);
    let proxy = cluster.proxy();
    proxy.fault(Fault::status(500).on("PATCH", &format!("{}$", doomed.names[2])).real());
    let admin = Admin::of(&doomed.on);
    let mark = cluster.mark();
    let args = doomed.args();
    let told = admin.run_through(&proxy, &[&refs(&args)[..], &IN_ORDER].concat()).ends(6);
    assert_eq!(told.outcomes("done"), doomed.names[..2], "{:#}", told.json);
    assert_eq!(told.outcomes("unanswered"), doomed.names[2..3], "{:#}", told.json);
    assert_eq!(told.outcomes("refused"), doomed.names[3..], "{:#}", told.json);
    for name in &doomed.names[3..] {
        assert!(told.reason(name).starts_with("not started: "), "{:#}", told.json);
    }
    assert_eq!(patched(&admin, mark), doomed.names[..2]);
    assert_eq!(doomed.owned(), doomed.names[2..]);
    let again = admin.run(&refs(&doomed.args())).ends(6);
    assert_eq!(again.outcomes("done"), doomed.names[2..], "{:#}", again.json);
    assert!(doomed.owned().is_empty());
}

#[test]
fn ctrl_c_while_others_settle() {
    let cluster = cluster();
    let doomed = Doomed::claims(&cluster, 5);
    let proxy = cluster.proxy();
    let path = format!("{}$", doomed.names[2]);
    let held = proxy.hold(Fault::hold().on("PATCH", &path).real());
    let admin = Admin::of(&doomed.on);
    let args = doomed.args();
    let args = [&refs(&args)[..], &IN_ORDER].concat();
    let mut running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    running.signal(Signal::INT);
    running.says("finishing the current step");
    held.release();
    let told = Told::of(running.finish()).ends(130);
    assert_eq!(told.outcomes("done"), doomed.names[..3], "{:#}", told.json);
    assert_eq!(told.outcomes("refused"), doomed.names[3..], "{:#}", told.json);
    assert_eq!(doomed.owned(), doomed.names[3..]);
}

/// The second of three is reverted while it settles. The third may have been sent by then.
#[test]
fn who_is_reverted_is_told_whatever_becomes_of_the_others() {
    let cluster = cluster();
    let doomed = Doomed::claims(&cluster, 3);
    let admin = Admin::of(&doomed.on);
    let run = admin.by(cluster.kubeconfig(), &refs(&doomed.args())).start();
    let second = &doomed.names[1];
    eventually("its reference is removed", || !doomed.owned().contains(&&**second));
    let patch = json!({"metadata": {"ownerReferences": [owner()]}}).to_string();
    let args = ["patch", "pvc", second, "-n", &doomed.on.name, "--type=merge", "-p", &patch];
    cluster.kubectl(&[&args[..], &["--field-manager=stubborn-operator"]].concat());
    let told = Told::of(run.finish()).ends(6);
    assert_eq!(told.outcomes("failed"), [second], "{:#}", told.json);
    assert!(told.reason(second).contains("\"stubborn-operator\" added"), "{:#}", told.json);
    assert!(told.outcomes("done").contains(&&*doomed.names[0]), "{:#}", told.json);
}

/// Two administrators at once, several changes at a time: each reference is removed once, and who came second is told.
#[test]
fn two_runs_at_once_remove_each_reference_once() {
    const COUNT: usize = 16;
    let cluster = cluster();
    let doomed = Doomed::claims(&cluster, COUNT);
    let (first, second) =
        (Admin::named(&doomed.on, "first", MASTERS), Admin::named(&doomed.on, "second", MASTERS));
    let mark = cluster.mark();
    let args = doomed.args();
    let args = [&refs(&args)[..], &["--parallel", "4"]].concat();
    let runs = [&first, &second].map(|it| it.by(cluster.kubeconfig(), &args).start());
    let told = runs.map(|run| Told::of(run.finish()));
    for name in &doomed.names {
        let ends: Vec<_> = told.iter().map(|it| it.outcomes("done").contains(&&**name)).collect();
        assert_eq!(ends.iter().filter(|done| **done).count(), 1, "{name}: {ends:?}");
    }
    assert!(doomed.owned().is_empty());
    let writes = [&first, &second].map(|it| {
        let writes = it.writes(mark).into_iter();
        let ok = |it: &Value| {
            it["objectRef"]["resource"] == "persistentvolumeclaims"
                && it["responseStatus"]["code"] == 200
        };
        writes.filter(ok).count()
    });
    assert_eq!(writes.iter().sum::<usize>(), COUNT, "{writes:?}");
}

const MASTERS: &[&str] = &["--as-group", "system:masters"];

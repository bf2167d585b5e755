//! Several processes with one policy: who tells what, and who follows whom. What each of them sent is read in the audit
//! log.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::reporting::{Reporting, count_of, events};
use super::{ARGS, PAST, Watcher, released};
use crate::support::{Cluster, Mark, Options, Scenario, Write, eventually};

/// One of several processes; its pod has its name.
struct Replica {
    name: &'static str,
    reporting: Reporting,
    watcher: Watcher,
}

impl Replica {
    fn start(name: &'static str, cluster: &Cluster) -> Self {
        Self::by(name, cluster.kubeconfig())
    }

    fn by(name: &'static str, kubeconfig: &std::path::Path) -> Self {
        let reporting = Reporting::with(
            "{events: {severity: medium}, metrics: {address: '127.0.0.1:PORT'}}",
            "leaderElection: {namespace: default}",
        );
        let watcher = Watcher::in_pod(name, kubeconfig, &reporting.policy(), &ARGS);
        let replica = Self { name, reporting, watcher };
        eventually(&format!("{name} is ready"), || {
            replica.reporting.get("/readyz").is_some_and(|it| it.0 == 200)
        });
        replica
    }

    /// What it says itself; nothing while it is stopped.
    fn leads(&self) -> Option<bool> {
        let numbers = self.reporting.numbers("kubectl_storage_leader");
        (!numbers.is_empty()).then(|| count_of(&numbers, &[]) == 1)
    }

    fn begins_to_lead(&self) {
        eventually(&format!("{} leads", self.name), || self.leads() == Some(true));
    }

    fn stands_by(&self) {
        eventually(&format!("{} stands by", self.name), || self.leads() == Some(false));
    }
}

/// Who created an Event, and with what end, since the scenario began: pod, object and code.
fn created(on: &Scenario) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |it: Write| {
        let pod = text(&it.body["reportingInstance"]);
        (pod, format!("pv/{}", text(&it.body["regarding"]["name"])), it.code)
    };
    on.events_sent().into_iter().filter(|it| it.verb == "create").map(of).collect()
}

/// Who has told of an object.
fn tellers(on: &Scenario, object: &str) -> Vec<String> {
    let told = created(on).into_iter().filter(|it| it.1 == object && it.2 < 300);
    told.map(|it| it.0).collect()
}

fn told_by(on: &Scenario, object: &str, name: &str) {
    eventually(&format!("{object} is told"), || !tellers(on, object).is_empty());
    assert_eq!(tellers(on, object), [name], "{object}");
}

/// The holders that were written into the Lease since, in order and without their repetitions; empty where it was
/// given back.
fn holders(cluster: &Cluster, since: Mark) -> Vec<String> {
    let mut holders = Vec::new();
    for request in cluster.requests_since(since) {
        let is_stored = request["responseStatus"]["code"].as_u64().is_some_and(|it| it < 300);
        let is_write = ["create", "update"].contains(&request["verb"].as_str().unwrap_or_default());
        if request["objectRef"]["resource"] != "leases" || !is_stored || !is_write {
            continue;
        }
        let holder = &request["requestObject"]["spec"]["holderIdentity"];
        let holder = holder.as_str().expect("because it is written every time");
        holders.push(holder.split('_').next().unwrap_or_default().to_owned());
    }
    holders.dedup();
    holders
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn one_process_reports_and_another_follows_it() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let begun = cluster.mark();
    let volume = |name: &str| released(&on, name);
    let first = volume("first");
    let one = Replica::start("one", &cluster);
    one.begins_to_lead();
    let two = Replica::start("two", &cluster);
    told_by(&on, &first, "one");
    // Both judge, and one of them tells.
    let second = volume("second");
    for replica in [&one, &two] {
        replica.watcher.tells("appeared", PAST, &second);
    }
    told_by(&on, &second, "one");
    assert_eq!(two.leads(), Some(false));

    // Whoever is ended gives the Lease back.
    one.watcher.terminate();
    two.begins_to_lead();
    assert_eq!(holders(&cluster, begun), ["one", "", "two"]);
    let third = volume("third");
    told_by(&on, &third, "two");

    // Whoever dies does not.
    let three = Replica::start("three", &cluster);
    three.stands_by();
    two.watcher.kill();
    let fourth = volume("fourth");
    three.begins_to_lead();
    told_by(&on, &fourth, "three");
    assert_eq!(holders(&cluster, begun), ["one", "", "two", "three"]);

    // Whoever is stopped, and goes on, has lost it.
    let four = Replica::start("four", &cluster);
    four.stands_by();
    three.watcher.signal(Signal::STOP);
    let stopped = cluster.mark();
    let fifth = volume("fifth");
    four.begins_to_lead();
    told_by(&on, &fifth, "four");
    three.watcher.signal(Signal::CONT);
    three.watcher.tells("appeared", PAST, &fifth);
    three.stands_by();
    let sixth = volume("sixth");
    three.watcher.tells("appeared", PAST, &sixth);
    told_by(&on, &sixth, "four");
    let is_of_three = |it: &&Value| {
        it["objectRef"]["resource"] == "events"
            && it["requestObject"]["reportingInstance"] == "three"
    };
    let requests = cluster.requests_since(stopped);
    let sent: Vec<_> = requests.iter().filter(is_of_three).collect();
    assert!(sent.is_empty(), "sent by who leads no more: {sent:#?}");
    // What it sent right before it was stopped may have been stored since.
    let held = holders(&cluster, stopped);
    assert_eq!(held.strip_prefix(&["three".to_owned()]).unwrap_or(&held), ["four"]);

    // A Lease that somebody deletes is made again, by one of them.
    cluster.delete("default", "lease/kubectl-storage-watch");
    eventually("there is a Lease", || {
        cluster.get("default", "lease/kubectl-storage-watch").is_some()
    });
    eventually("one leads", || {
        let leading = [&three, &four].map(Replica::leads);
        leading == [Some(true), Some(false)] || leading == [Some(false), Some(true)]
    });
    let seventh = volume("seventh");
    eventually("it is told", || !tellers(&on, &seventh).is_empty());
    for replica in [&three, &four] {
        replica.watcher.tells("appeared", PAST, &seventh);
        // Whoever leads renews the Lease meanwhile, and finds that the Events are there.
        let is_of_leader = |it: &Value| {
            let resource = &it["objectRef"]["resource"];
            resource == "leases" || (resource == "events" && it["responseStatus"]["code"] == 409)
        };
        replica.watcher.converges_beside(&cluster, &is_of_leader);
    }
    // Each finding is one Event, and no series of it goes on.
    let all = [&first, &second, &third, &fourth, &fifth, &sixth, &seventh];
    for object in all {
        assert_eq!(tellers(&on, object).len(), 1, "{object}: {:?}", created(&on));
    }
    let shown = events(&cluster, "default");
    assert!(shown.iter().all(|it| it["series"].is_null()), "{shown:#?}");
    three.watcher.terminate();
    four.watcher.terminate();
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn without_the_right_to_the_lease_nothing_is_reported() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    cluster.grant(
        "user-1",
        &json!([
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
        ]),
    );
    let begun = cluster.mark();
    let first = released(&on, "first");
    let one = Replica::by("one", &cluster.kubeconfig_of("user-1"));
    one.watcher.tells("appeared", PAST, &first);
    one.watcher.says("the Lease does not say who leads");
    let refused = || {
        let requests = cluster.requests_since(begun);
        let is_it = |it: &&Value| {
            it["objectRef"]["resource"] == "leases" && it["responseStatus"]["code"] == 403
        };
        requests.iter().filter(is_it).count()
    };
    eventually("it has tried often", || refused() >= 5);
    let said = one.watcher.said();
    assert_eq!(said.matches("the Lease does not say").count(), 1, "{said}");
    assert!(said.contains("leases"), "{said}");
    assert_eq!(one.leads(), Some(false));
    assert_eq!(one.reporting.get("/readyz").map(|it| it.0), Some(200));
    assert_eq!(on.events_sent().len(), 0);

    // It goes on as soon as it may.
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "leads", "namespace": "default"},
        "rules": [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
             "resourceNames": ["kubectl-storage-watch"], "verbs": ["get", "update"]},
        ],
    }));
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "leads", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "leads"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "user-1"}],
    }));
    one.begins_to_lead();
    told_by(&on, &first, "one");
    one.watcher.terminate();
}

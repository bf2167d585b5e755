//! What is told while parts of the control plane are slow or gone, the line is bad, and much changes at once.
//!
//! In the end it is what an audit finds. `BUDGET=600 cargo test --test real many_pods -- --ignored --nocapture` has pods come
//! and go for ten minutes; without it, for twenty seconds.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use http::Method;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::cutter::Cutter;
use super::reporting::{Reporting, count_of};
use super::{ARGS, PAST, Watcher, released};
use crate::support::{
    Cluster, Options, PersistentVolume, Scenario, claim, eventually, pod, say, send,
};

/// How many pods are made and deleted at the same time.
const HANDS: u64 = 16;
/// How many claims the pods share.
const CLAIMS: u64 = 40;

/// No full pass has changed a finding so far.
fn counts_no_defect(reporting: &Reporting) {
    let defects = reporting.numbers("kubectl_storage_defects_total");
    assert_eq!(defects.len(), 1, "{defects:?}");
    assert_eq!(count_of(&defects, &[]), 0);
}

fn watched(kubeconfig: &std::path::Path) -> (Reporting, Watcher) {
    let reporting = Reporting::new("{metrics: {address: '127.0.0.1:PORT'}}");
    let watcher = Watcher::in_pod("one", kubeconfig, &reporting.policy(), &ARGS);
    (reporting, watcher)
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn watches_that_are_cut_within_every_second_miss_nothing() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let kept = released(&on, "kept");
    // Sooner than a watch counts as one that lasts.
    let cutter = Cutter::start(&cluster, Duration::from_millis(800));
    let (reporting, watcher) = watched(&cutter.kubeconfig());
    watcher.tells("appeared", PAST, &kept);
    for round in 0..4 {
        let other = released(&on, &format!("other-{round}"));
        watcher.tells("appeared", PAST, &other);
        on.delete(&other);
        watcher.tells("cleared", PAST, &other);
    }
    assert!(cutter.cuts() > 4, "{}", cutter.cuts());
    watcher.converges(&cluster);
    assert_eq!(watcher.count("cleared", PAST, &kept), 0);
    counts_no_defect(&reporting);
    watcher.terminate();
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn a_slow_etcd_and_an_absent_controller_manager_clear_nothing() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let kept = released(&on, "kept");
    let (reporting, watcher) = watched(cluster.kubeconfig());
    watcher.tells("appeared", PAST, &kept);
    for round in 0..2 {
        cluster.signal_component("etcd", "STOP");
        sleep(Duration::from_secs(3));
        cluster.signal_component("etcd", "CONT");
        let other = released(&on, &format!("slow-{round}"));
        watcher.tells("appeared", PAST, &other);
        on.delete(&other);
        watcher.tells("cleared", PAST, &other);
    }
    // Without controllers a deleted volume stays where it is, and a new one is not even Available.
    let waiting = released(&on, "waiting");
    watcher.tells("appeared", PAST, &waiting);
    cluster.stop_component("kcm");
    on.delete(&waiting);
    let name = on.named("unseen");
    on.create(&PersistentVolume::csi(&name, "none.example", &name).left_by(&on.name, "gone").0);
    watcher.converges(&cluster);
    cluster.start_component("kcm");
    on.wait_gone(&waiting);
    watcher.tells("cleared", PAST, &waiting);
    watcher.tells("appeared", PAST, &format!("pv/{name}"));
    watcher.converges(&cluster);
    assert_eq!(watcher.count("cleared", PAST, &kept), 0);
    counts_no_defect(&reporting);
    watcher.terminate();
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn many_pods_that_come_and_go_leave_what_an_audit_finds() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let kept = released(&on, "kept");
    for number in 0..CLAIMS {
        on.create(&claim(&format!("data-{number}"), "none"));
    }
    let (reporting, watcher) = watched(cluster.kubeconfig());
    watcher.tells("appeared", PAST, &kept);
    let seconds = env::var("BUDGET").ok().map(|it| it.parse().expect("BUDGET is in seconds"));
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(20));
    let runtime = tokio::runtime::Runtime::new().expect("because the machine has threads");
    let made = Arc::new(AtomicU64::new(0));
    let hands = runtime.block_on(churn(&cluster, &on.name, &made, end));
    // Meanwhile volumes come and go too.
    let mut round = 0;
    while Instant::now() < end {
        let other = released(&on, &format!("other-{round}"));
        watcher.tells("appeared", PAST, &other);
        on.delete(&other);
        watcher.tells("cleared", PAST, &other);
        round += 1;
    }
    runtime.block_on(hands.join_all());
    let made = made.load(Ordering::Relaxed);
    say(&format!("{made} pods came, and two thirds of them went"));
    assert!(made > 100, "{made}");
    watcher.converges(&cluster);
    assert_eq!(watcher.count("cleared", PAST, &kept), 0);
    // A change is judged where it is, and not everything with it.
    let judged = count_of(&reporting.numbers("kubectl_storage_judged_subjects_total"), &[]);
    assert!(judged > 0);
    counts_no_defect(&reporting);
    watcher.terminate();
    // Everything goes at once.
    let (reporting, watcher) = watched(cluster.kubeconfig());
    watcher.tells("appeared", PAST, &kept);
    cluster.delete("", &format!("namespace/{}", on.name));
    eventually("all claims are gone", || cluster.list(&on.name, "pvc").is_empty());
    watcher.converges(&cluster);
    counts_no_defect(&reporting);
    watcher.terminate();
}

/// Has many hands make pods until the end, and delete two of three of them.
async fn churn(
    cluster: &Cluster,
    namespace: &str,
    made: &Arc<AtomicU64>,
    end: Instant,
) -> JoinSet<()> {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).expect("the testbed wrote it");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let config = config.expect("because the testbed wrote it");
    let client = Client::try_from(config).expect("because the testbed wrote it");
    let mut hands = JoinSet::new();
    for _ in 0..HANDS {
        let (client, made) = (client.clone(), Arc::clone(made));
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        hands.spawn(async move {
            let at_once = json!({"gracePeriodSeconds": 0});
            while Instant::now() < end {
                let number = made.fetch_add(1, Ordering::Relaxed);
                let name = format!("pod-{number}");
                let object = pod(&name, &format!("data-{}", number % CLAIMS));
                let ask = async |method, path: String, body: &Value| {
                    let done = send(&client, method, &path, "application/json", body).await;
                    done.unwrap_or_else(|code| panic!("{path}: {code}"))
                };
                ask(Method::POST, path.clone(), &object).await;
                if number % 3 > 0 {
                    ask(Method::DELETE, format!("{path}/{name}"), &at_once).await;
                }
            }
        });
    }
    hands
}

//! The API server goes away in the middle, or the watches that keep the view current do.

use std::thread;

use super::pool::Pool;
use super::{Case, Told, real};
use crate::support::{Fault, eventually};

/// What one of three volumes may come to while the server restarts: it is done, or it was left alone.
fn once_at_most(case: &Case, told: &Told, volume: &String) {
    let seen = case.seen(volume);
    let real = case.sent(volume).iter().filter(|it| **it == "real").count();
    match told.outcome(volume) {
        "done" => {
            assert_eq!(real, 1, "{told}");
            case.is_reclaimed(volume);
        }
        "unanswered" => assert_eq!(real, 1, "{told}"),
        "refused" | "failed" => {
            assert_eq!(real, 0, "{seen:?} {told}");
            case.is_untouched(volume);
        }
        _ => panic!("{volume}: {told}"),
    }
}

/// One after the other, since they disturb each other, and each in a corner of its own.
#[test]
fn the_server_restarts_and_watches_break() {
    let pool = Pool::start(1, 11);
    let in_turn = |name: &str, count: usize, happens: &(dyn Fn(&Case) + Sync)| {
        thread::scope(|scope| {
            let corner = thread::Builder::new().name(name.to_owned());
            let case = || {
                let (driver, volumes) = pool.take(count);
                happens(&Case::on(&pool.cluster, driver, volumes));
            };
            let ended = corner.spawn_scoped(scope, case).expect("because there is room").join();
            assert!(ended.is_ok(), "{name}: see above");
        });
    };
    in_turn("before_the_write_arrives", 3, &|case| restarted(case, &pool, Fault::hold()));
    in_turn("before_it_is_verified", 3, &|case| restarted(case, &pool, Fault::hold_after()));
    in_turn("the_watch_is_refused", 2, &the_watch_is_refused);
    in_turn("the_watch_breaks_for_good", 3, &|case| the_watch_breaks_for_good(case, &pool));
}

/// The server restarts while the first of three volumes is written.
fn restarted(case: &Case, pool: &Pool, fault: Fault) {
    let [first, others @ ..] = case.volumes.as_slice() else { panic!("three were asked for") };
    let held = case.proxy.hold(real(fault, first));
    let running = case.gc().start();
    held.wait();
    pool.cluster.restart_server();
    held.release();
    let told = Told::of(running.finish());
    told.became(first, "done", &[]);
    case.is_reclaimed(first);
    for volume in others {
        once_at_most(case, &told, volume);
    }
    let all = told.outcomes("done").len() == case.volumes.len();
    assert_eq!(told.code, Some(if all { 0 } else { 6 }), "{told}");
    case.again();
}

const CLAIMS: &str = "/persistentvolumeclaims$";
/// How long to wait for what is not seen at the moment.
const SOON: [&str; 2] = ["--threshold", "resync=2s"];

/// What cannot be kept current is not seen.
fn the_watch_is_refused(case: &Case) {
    case.proxy.fault(Fault::status(403).on("GET", CLAIMS).query("watch="));
    let told = Told::of(case.gc().more(&SOON).go()).ends(5);
    for volume in &case.volumes {
        assert_ne!(told.outcome(volume), "done", "{told}");
        assert_eq!(case.sent(volume), [""; 0], "{told}");
    }
    case.are_untouched(&case.volumes);
    case.again();
}

/// It was kept current for a while.
fn the_watch_breaks_for_good(case: &Case, pool: &Pool) {
    let [first, others @ ..] = case.volumes.as_slice() else { panic!("three were asked for") };
    let held = case.proxy.hold(real(Fault::hold(), first));
    let running = case.gc().more(&SOON).start();
    held.wait();
    case.proxy.fault(Fault::status(500).on("GET", CLAIMS));
    pool.cluster.restart_server(); // ends the watch that was there
    eventually("somebody has asked in vain", || {
        let all = case.proxy.requests();
        all.iter().any(|it| it.path.ends_with("persistentvolumeclaims") && it.status == 500)
    });
    held.release();
    let told = Told::of(running.finish()).ends(6);
    told.became(first, "done", &[]);
    for volume in others {
        told.became(volume, "refused", &["persistentvolumeclaims"]);
        assert_eq!(case.sent(volume), [""; 0], "{told}");
    }
    case.are_untouched(others);
    assert!(case.history().open().next().is_none());
    case.again();
}

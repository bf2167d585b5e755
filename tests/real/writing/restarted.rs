//! The API server goes away in the middle, or the watches that keep the view current do.

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

#[test]
fn the_server_restarts_in_the_middle_of_a_batch() {
    let pool = Pool::start(1, 11);
    let case = |count| {
        let (driver, volumes) = pool.take(count);
        Case::on(&pool.cluster, driver, volumes)
    };

    // Before the request arrives.
    let before = case(3);
    let held = before.proxy.hold(real(Fault::hold(), &before.volumes[0]));
    let running = before.gc().start();
    held.wait();
    pool.cluster.restart_server();
    held.release();
    let told = Told::of(running.finish());
    before.volumes.iter().for_each(|volume| once_at_most(&before, &told, volume));
    told.became(&before.volumes[0], "done", &[]);
    before.again();

    // Between the patch and its verification.
    let after = case(3);
    let held = after.proxy.hold(real(Fault::hold_after(), &after.volumes[0]));
    let running = after.gc().start();
    held.wait();
    pool.cluster.restart_server();
    held.release();
    let told = Told::of(running.finish());
    after.volumes.iter().for_each(|volume| once_at_most(&after, &told, volume));
    told.became(&after.volumes[0], "done", &[]);
    after.again();

    the_watch_is_refused_from_the_start(&case(2));
    the_watch_breaks_for_good(&case(3), &pool);
}

const CLAIMS: &str = "/persistentvolumeclaims$";

/// What cannot be kept current is not seen.
fn the_watch_is_refused_from_the_start(case: &Case) {
    case.proxy.fault(Fault::status(403).on("GET", CLAIMS).query("watch="));
    let told = case.run().ends(5);
    for volume in &case.volumes {
        assert_ne!(told.outcome(volume), "done", "{told}");
        assert_eq!(case.sent(volume), [""; 0], "{told}");
        case.is_untouched(volume);
    }
    case.again();
}

/// It is kept current for a while.
fn the_watch_breaks_for_good(case: &Case, pool: &Pool) {
    let [first, others @ ..] = case.volumes.as_slice() else { panic!("three were asked for") };
    let held = case.proxy.hold(real(Fault::hold(), first));
    let running = case.gc().start();
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
        case.is_untouched(volume);
    }
    case.again();
}

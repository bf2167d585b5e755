//! The clock of whoever holds a Lease may be wrong: one that looks expired is read twice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Admin, EXTERNAL, PV_PROTECTION, STILL, because, finalizers, fix, grow_old, make};
use crate::support::{PersistentVolume, Scenario};

const NAME: &str = "behind.csi.example";
const WORD: [&str; 2] = ["--driver-absent", NAME];
const DURATION: Duration = Duration::from_secs(4);

/// When the holder renewed its Lease, by a clock that is an hour behind.
fn renewed(times: u64) -> Value {
    let behind = chrono::Utc::now() - chrono::Duration::hours(1);
    let time = behind.format("%Y-%m-%dT%H:%M:%S");
    json!({"spec": {"renewTime": format!("{time}.{times:06}Z")}})
}

#[test]
fn an_expired_lease_is_read_twice_and_any_change_of_it_is_life() {
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let volume = PersistentVolume::csi(&name, NAME, &name).left_by(&on.name, "gone");
    let both = [PV_PROTECTION, EXTERNAL];
    let object = make(&on, &volume.provisioned_by(NAME), "Released", &both);
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "behind-csi-example"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": DURATION.as_secs()},
    });
    on.create(&lease);
    let renew = |times| STILL.patch(&on.name, "lease/behind-csi-example", &renewed(times));
    renew(0);
    grow_old();
    let args = fix(&[&[&*object, "--yes"][..], &WORD].concat());

    let over = AtomicBool::new(false);
    let mark = on.cluster.mark();
    let told = thread::scope(|scope| {
        scope.spawn(|| {
            for times in 1.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                renew(times);
                thread::sleep(Duration::from_secs(1));
            }
        });
        let told = admin.run(&args);
        over.store(true, Ordering::Relaxed);
        told
    });
    assert_eq!(told.code, Some(5), "{}\n{:#}", told.stderr, told.json);
    assert_eq!(told.outcomes("stale"), [&*name], "{:#}", told.json);
    because(&told, &name, &["behind-csi-example", "its holder is running"]);
    assert!(admin.sent(mark).is_empty(), "{:#}", told.json);
    assert_eq!(finalizers(&on, &object), both);

    // Its holder is gone.
    let began = Instant::now();
    let told = admin.run(&args).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert!(began.elapsed() >= DURATION, "{:?}", began.elapsed());
    assert_eq!(finalizers(&on, &object), [PV_PROTECTION]);
}

//! A journal that takes its time: what was judged before is judged again before anything is sent.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use super::{FIRST, elsewhere, entries, there, written};
use crate::support::{Admin, Fault, PersistentVolume, Scenario, Told, claim, shared};

/// Longer than what was judged counts as fresh, and shorter than an append may take.
const SLOWLY: Duration = Duration::from_millis(1500);

/// The claim of a volume comes back while the reclaim is being recorded. The volume itself does not change by that, so
/// that no precondition of the patch would notice it.
#[test]
fn what_is_needed_again_while_it_is_recorded_is_not_reclaimed() {
    let on = Scenario::on(shared());
    let (admin, driver, proxy) = (Admin::of(&on), shared().driver(), on.cluster.proxy());
    let [name, other] = ["data", "other"].map(|it| on.named(it));
    for name in [&name, &other] {
        driver.make(name);
        let volume = PersistentVolume::csi(name, &driver.name, name).left_by(&on.name, name);
        on.create(&volume.provisioned_by(&driver.name).class(&driver.class_retain).0);
        on.wait_phase(&format!("pv/{name}"), "Released");
    }
    sleep(Duration::from_millis(2100));
    let there = there(&on);
    let mark = on.cluster.mark();
    let held = proxy.hold(Fault::hold().on("POST", "/configmaps$").real());
    let args = ["gc", &name, &other, "--older-than", "1s", "--yes", &there];
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    let mut back = claim(&name, &driver.class_retain);
    back["spec"]["volumeName"] = json!("none");
    on.create(&back);
    sleep(SLOWLY);
    held.release();
    let told = Told::of(running.finish()).ends(6);
    assert_eq!(told.outcomes("refused"), [&*name], "{:#}", told.json);
    let reason = told.reason(&name);
    assert!(reason.contains("nothing was sent") && reason.contains("recreated"), "{reason}");
    // The other one is nobody's.
    assert_eq!(told.outcomes("done"), [&*other], "{:#}", told.json);
    assert!(driver.has(&name) && !driver.has(&other));
    let update = format!("update {FIRST}");
    let expected = [
        format!("create {FIRST}"),
        update.clone(),
        update.clone(),
        format!("patch persistentvolumes {other}"),
        update.clone(),
        update,
    ];
    assert_eq!(written(&admin, mark), expected);
    let all = entries(&elsewhere(&admin, &["journal", &there]).ends(0));
    let ends: Vec<_> = all.iter().map(|it| (&it["entry"], &it["outcome"])).collect();
    assert_eq!(ends, [(&json!(1), &json!("refused")), (&json!(3), &json!("done"))], "{all:#?}");
}

//! P-RESERVE as the primitive that it is: what is sent, and what the controllers make of it.

use std::time::Duration;

use kubectl_storage::apply::request::request;
use kubectl_storage::model::{Action, ClaimKey, Kind, ObjectKey, ObjectRef, Phase, Uid};

use crate::support::{PersistentVolume, Scenario, claim, never, shared};

const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

#[test]
fn d_32_a_reserved_volume_is_for_its_claim_alone() {
    let on = Scenario::on(shared());
    let (driver, name, class) = (shared().driver(), on.named("pv"), on.named("class"));
    let object = format!("pv/{name}");
    driver.make(&name);
    std::fs::write(driver.folder(&name).join("ledger"), "42").expect("because it is ours");
    // Nobody provisions for this class: what is there is all there is.
    on.create(&PersistentVolume::csi(&name, &driver.name, &name).class(&class).0);
    on.create(&claim("data", &class));
    assert_eq!(on.bound("data"), name);
    assert_eq!(on.read(&object)["metadata"]["annotations"][BOUND_BY_CONTROLLER], "yes");
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");

    let live = on.read(&object);
    let uid = live["metadata"]["uid"].as_str().and_then(Uid::parse);
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, &name);
    let claimed = ClaimKey { namespace: on.name.as_str().into(), name: "data".into() };
    let reserve = Action::ReserveVolume {
        volume: ObjectRef { key, uid },
        from: Phase::Released,
        claim: claimed,
    };
    let patch = request(&reserve, &live).expect("it fits").body.to_string();
    on.cluster.kubectl(&["patch", &object, "--type=json", "-p", &patch]);
    on.wait_phase(&object, "Available");
    // The same patch is good for once.
    let again = on.cluster.try_kubectl(&["patch", &object, "--type=json", "-p", &patch], "");
    assert!(again.is_err_and(|error| error.contains("the server rejected our request")));

    on.create(&claim("foreign", &class));
    never("a foreign claim gets it", Duration::from_secs(4), || {
        on.read("pvc/foreign")["status"]["phase"] != "Pending"
    });
    let reserved = on.read(&object);
    assert_eq!(reserved["spec"]["claimRef"]["name"], "data");
    assert!(reserved["spec"]["claimRef"].get("uid").is_none(), "{reserved:#}");
    on.create(&claim("data", &class));
    assert_eq!(on.bound("data"), name);
    assert!(on.read(&object)["metadata"]["annotations"].get(BOUND_BY_CONTROLLER).is_none());
    let file = std::fs::read_to_string(driver.folder(&name).join("ledger"));
    assert_eq!(file.expect("the old files are there"), "42");
    assert_eq!(driver.delete_calls(&name), 0);
}

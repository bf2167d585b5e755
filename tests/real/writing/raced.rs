//! D-26: somebody else changes a volume between the judgement and the patch.

use serde_json::{Value, json};

use super::{Case, Told, real};
use crate::support::Fault;

/// The same volume once more, under another uid.
fn recreate(case: &Case, volume: &str) {
    let object = format!("pv/{volume}");
    let was = case.on.read(&object);
    case.on.delete(&object);
    case.on.wait_gone(&object);
    let mut spec = was["spec"].clone();
    spec["claimRef"]["resourceVersion"] = Value::Null;
    let annotations =
        json!({"pv.kubernetes.io/provisioned-by": spec["csi"]["driver"].as_str().unwrap_or("")});
    case.on.cluster.create(&json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": volume, "annotations": annotations}, "spec": spec,
    }));
    case.on.wait_phase(&object, "Released");
}

#[test]
fn d_26_somebody_changes_it_before_the_patch() {
    let case = Case::of(6);
    let [freed, recreated, deleted, recycled, kept, last] = case.volumes.as_slice() else {
        panic!("six were asked for")
    };
    let raced = [freed, recreated, deleted, recycled, kept];
    let held = raced.map(|volume| case.proxy.hold(real(Fault::hold(), volume)));
    let running = case.gc().start();
    for (volume, held) in raced.iter().zip(&held) {
        held.wait();
        if *volume == freed {
            case.edit(volume, &json!({"spec": {"claimRef": null}}));
        } else if *volume == recreated {
            recreate(&case, volume);
        } else if *volume == deleted {
            case.on.delete(&format!("pv/{volume}"));
            case.on.wait_gone(&format!("pv/{volume}"));
        } else if *volume == recycled {
            case.on.set_policy(volume, "Recycle");
        } else {
            let until = json!({"metadata": {"annotations": {"storage.kubectl.dev/keep-until": "2999-01-01"}}});
            case.edit(volume, &until);
        }
        held.release();
    }
    let told = Told::of(running.finish()).ends(6);
    for volume in raced {
        let code = if volume == deleted { "404" } else { "422" };
        assert_eq!(case.seen(volume), ["dry 200", code], "{told}");
        assert_eq!(case.sent(volume), ["dry", "real"]);
        let words = if volume == deleted { "deleted meanwhile" } else { "changed" };
        // Of one that is not there any more nobody knows whether the request came first.
        let is_gone = volume == deleted || volume == recreated;
        told.became(volume, if is_gone { "unanswered" } else { "stale" }, &[words]);
        assert!(case.driver.has(volume), "nothing was deleted");
        assert_eq!(case.driver.delete_calls(volume), 0);
    }
    told.became(last, "done", &[]);
    case.is_reclaimed(last);
    assert_eq!(case.history().open().count(), 2);

    // From scratch: one of them is a Released volume like any other.
    let told = case.run().ends(6);
    assert_eq!(told.outcomes("done"), [recreated.as_str()], "{told}");
    for (volume, words) in [
        (freed, "its phase is Available"),
        (deleted, "there is no such volume"),
        (recycled, "its p"),
        (kept, "keep-until: 2999-01-01"),
        (last, "there is no such volume"),
    ] {
        let reason = told.refusal(volume);
        assert!(reason.contains(words), "{volume}: {reason}");
        assert_eq!(case.driver.has(volume), volume != last);
    }
}

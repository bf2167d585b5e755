//! Every bad input of `rebind`: it says both values and what lifts it, and writes nothing.

use serde_json::{Value, json};

use super::{Left, bound_to_each_other, driver, here, rebind, words};
use crate::support::{Admin, PersistentVolume, Scenario, Told, claim};

const CLASS: &str = "nobody-provisions-this";

/// A statically provisioned volume whose claim of the same name was deleted.
fn left(on: &Scenario, name: &str) -> PersistentVolume {
    let volume = on.named(name);
    PersistentVolume::csi(&volume, &driver().name, &volume).class(CLASS).left_by(&on.name, name)
}

fn release(on: &Scenario, volume: &PersistentVolume) -> String {
    on.create(&volume.0);
    let name = volume.0["metadata"]["name"].as_str().expect("because it has one").to_owned();
    on.wait_phase(&format!("pv/{name}"), "Released");
    name
}

/// Rebinds, and panics unless it is refused so, and nothing was written.
#[track_caller]
fn refused(admin: &Admin, args: &[&str], said: &[&str]) -> Told {
    let told = admin.refused(5, &words(&rebind(args)));
    let text = format!("{} {}", told.json, told.stderr);
    for word in said {
        assert!(text.contains(word), "does not say {word:?}: {text}");
    }
    told
}

/// A claim that waits for the volume of its name.
fn waiting(on: &Scenario, name: &str, change: &Value) -> Value {
    let mut it = claim(name, CLASS);
    it["spec"]["volumeName"] = json!(on.named(name));
    for (field, value) in change.as_object().expect("because it is one") {
        it["spec"][field] = value.clone();
    }
    it
}

#[test]
fn a_volume_that_is_not_free_is_not_given_away() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    refused(&admin, &[&on.named("none")], &["there is no such volume"]);

    let available = PersistentVolume::csi(&on.named("free"), &driver().name, &on.named("free"));
    on.create(&available.class(CLASS).0);
    on.wait_phase(&format!("pv/{}", on.named("free")), "Available");
    refused(&admin, &[&on.named("free")], &["spec.claimRef is empty"]);

    on.create(&claim("bound", &driver().class_retain));
    let bound = on.bound("bound");
    let to = ["--to", "other", "-n", &on.name];
    refused(&admin, &[&[&*bound][..], &to].concat(), &["still exists, and has it", "--keep-data"]);

    // Nobody runs that could delete it.
    let deleting = left(&on, "deleting").policy("Delete").provisioned_by("none.csi.example");
    let deleting = release(&on, &deleting);
    let retain = format!("`kubectl storage retain pv/{deleting}");
    refused(
        &admin,
        &[&deleting],
        &["its policy is Delete, not Retain", &retain, "--backend-verified"],
    );

    let terminating = release(&on, &left(&on, "terminating").finalizers(&["example.com/hold"]));
    on.terminate(&terminating);
    refused(&admin, &[&terminating], &["is Terminating, which nothing reverts"]);

    let exempt = left(&on, "exempt").annotated("storage.kubectl.dev/ignore", "all legal hold");
    refused(&admin, &[&release(&on, &exempt)], &["annotation storage.kubectl.dev/ignore"]);

    // The path of a recreated claim, and the same disk twice, are one thing to the binder.
    let shared = release(&on, &left(&on, "shared"));
    let twin = PersistentVolume::csi(&on.named("twin"), &driver().name, &shared);
    on.create(&twin.class(CLASS).0);
    let said = format!("pv/{} references the same backend volume", on.named("twin"));
    refused(&admin, &[&shared], &[&said]);

    // A doubt is lifted by the flag that asserts the opposite.
    let doubted = left(&on, "doubted").annotated("storage.kubectl.dev/backend-state", "unknown");
    let doubted = release(&on, &doubted);
    refused(&admin, &[&doubted], &["verify the backend volume", "--backend-verified"]);
    let told = admin.run(&words(&rebind(&[&doubted, "--backend-verified"]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*doubted], "{:#}", told.json);
    bound_to_each_other(&on, &doubted, "doubted");
}

#[test]
#[ignore = "extended suite: further cases"]
fn a_claim_that_does_not_fit_is_not_bound() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    let snapshot =
        json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"});
    for (name, change, said) in [
        ("large", json!({"resources": {"requests": {"storage": "2Gi"}}}), ["2Gi", "1Gi"]),
        ("classy", json!({"storageClassName": "other"}), ["other", CLASS]),
        ("classless", json!({"storageClassName": ""}), ["\\\"\\\"", CLASS]),
        ("block", json!({"volumeMode": "Block"}), ["Block", "Filesystem"]),
        ("many", json!({"accessModes": ["ReadWriteMany"]}), ["ReadWriteMany", "ReadWriteOnce"]),
        (
            "picky",
            json!({"selector": {"matchLabels": {"tier": "gold"}}}),
            ["tier=gold", "no labels"],
        ),
        ("elsewhere", json!({"volumeName": "another"}), ["another", "spec.volumeName"]),
        ("filled", json!({"dataSource": snapshot}), ["VolumeSnapshot s", "spec.dataSourceRef"]),
    ] {
        let volume = release(&on, &left(&on, name));
        on.create(&waiting(&on, name, &change));
        refused(&admin, &[&volume], &said);
        let live = on.read(&format!("pv/{volume}"));
        assert_eq!(live["status"]["phase"], "Released", "{name}");
        assert_eq!(on.read(&format!("pvc/{name}"))["status"]["phase"], "Pending", "{name}");
    }

    // Terminating, held by somebody's finalizer.
    let volume = release(&on, &left(&on, "going"));
    let mut going = waiting(&on, "going", &json!({}));
    going["metadata"]["finalizers"] = json!(["example.com/hold"]);
    on.create(&going);
    on.delete("pvc/going");
    refused(&admin, &[&volume], &["is Terminating"]);
    on.patch("pvc/going", &json!({"metadata": {"finalizers": null}}));

    // Bound to another volume: both ways on are named.
    let left = Left::by(&on, driver(), "taken");
    on.create(&claim("taken", &driver().class_retain));
    let other = on.bound("taken");
    let release = format!("`kubectl storage delete pvc/taken -n {} --keep-data", on.name);
    let said = [&*format!("is Bound to pv/{other}"), "--to NAMESPACE/NAME", &release];
    refused(&admin, &[&left.name], &said);
    assert!(driver().has(&left.handle));
}

#[test]
fn a_namespace_that_takes_no_claim_is_found_before_the_reservation() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    let volume = release(&on, &left(&on, "data"));
    let missing = format!("{}/data", on.named("missing"));
    refused(&admin, &[&volume, "--to", &missing], &["not found"]);
    let ending = on.named("ending");
    on.cluster.create(&json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": ending, "finalizers": ["example.com/hold"]},
    }));
    on.cluster.delete("", &format!("namespace/{ending}"));
    refused(&admin, &[&volume, "--to", &format!("{ending}/data")], &["terminated"]);
    on.cluster.patch(
        "",
        &format!("namespace/{ending}"),
        &json!({"metadata": {"finalizers": null}}),
    );
    let live = on.read(&format!("pv/{volume}"));
    assert!(live["spec"]["claimRef"]["uid"].is_string(), "{live:#}");
}

#[test]
fn what_was_not_read_or_not_said_well_is_no_action() {
    let on = Scenario::on(here());
    let volume = release(&on, &left(&on, "data"));
    for unread in ["persistentvolumeclaims", "persistentvolumes"] {
        let blind = Admin::limited(&on, unread, &[unread], &["patch"]);
        let told = blind.refused(5, &words(&rebind(&[&volume])));
        assert_eq!(told.json["refusals"][0]["unseen"], true, "{:#}", told.json);
    }
    let admin = Admin::of(&on);
    for args in [
        &[&*volume, "--to", "a/b/c"][..],
        &[&volume, "--to", "Upper"],
        &[&volume, "-n", &on.name],
        &[&volume, "--to", "a/b", "-n", "c"],
        &["pvc/data"],
        &[],
    ] {
        admin.refused(2, &words(&rebind(args)));
    }
    // A plan that is only shown, and one that the server only checks, write nothing either.
    for dry in ["--dry-run=client", "--dry-run=server"] {
        let before = on.cluster.mark();
        let told = admin.run(&words(&rebind(&[&volume, dry]))).ends(0);
        assert_eq!(told.changes(), [&*volume], "{:#}", told.json);
        assert!(admin.writes(before).is_empty());
    }
    assert!(on.get("pvc/data").is_none());
}

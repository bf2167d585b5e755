//! kubectl with everything it has, in the name of an administrator, with the guard and without it.

use std::process::Command;

use serde_json::{Value, json};

use super::ask::{Asker, Seen};
use super::world::{fill, fill_cluster_wide, in_force, install, namespace, tool};
use crate::support::{Cluster, Options, eventually, program};

/// Runs kubectl as somebody in `system:masters`.
fn kubectl(cluster: &Cluster, args: &[&str], stdin: &str) -> Result<String, String> {
    let person = ["--as", "ann@example.com", "--as-group", "system:masters"];
    cluster.try_kubectl(&[args, &person].concat(), stdin)
}

/// Of the YAML that `kubectl edit` shows: takes the finalizer of a claim off.
const NO_FINALIZER: &str = r"/^  finalizers:/d; /^  - kubernetes.io.pvc-protection/d";
/// Writes an owner.
const AN_OWNER: &str = r"s/^  name: bound$/&\n  ownerReferences:\n  - apiVersion: v1\n    kind: ConfigMap\n    name: gone\n    uid: 00000000-dead-4000-8000-000000000000/";

/// Runs `kubectl edit` with an editor that applies a sed script.
fn edit(cluster: &Cluster, script: &str, part: &[&str]) -> Result<String, String> {
    // kubectl leaves there what was refused.
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let ran = Command::new(program("kubectl"))
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .args(["edit", "pvc", "bound", "-n", "strict", "--as=ann@example.com"])
        .arg("--as-group=system:masters")
        .args(part)
        .env("KUBE_EDITOR", format!("sed -i '{script}'"))
        .env("TMPDIR", folder.path())
        .output()
        .expect("the testbed has a kubectl");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match ran.status.success() {
        true => Ok(text(&ran.stdout)),
        false => Err(text(&ran.stderr)),
    }
}

fn generation(cluster: &Cluster, object: &str) -> Option<[Value; 6]> {
    let live = cluster.get("strict", object)?;
    let of = |field: &str| live["metadata"][field].clone();
    let metadata = ["uid", "deletionTimestamp", "finalizers", "ownerReferences"].map(of);
    let [uid, deleted, finalizers, owners] = metadata;
    Some([uid, deleted, finalizers, owners, live["spec"].clone(), live["status"]["phase"].clone()])
}

const OWNER: &str = r#"[{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"00000000-dead-4000-8000-000000000000"}]}]"#;
const UID: &str = r#"{"spec":{"claimRef":{"uid":"00000000-dead-4000-8000-000000000000"}}}"#;
const NO_CLAIM: &str = r#"[{"op":"remove","path":"/spec/claimRef"}]"#;
const RELEASED: &str = r#"{"status":{"phase":"Released"}}"#;
const DELETE: &str = r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#;
const WHEN_SCALED: &str =
    r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}"#;
const FEWER: &str = r#"{"spec":{"replicas":1}}"#;
const BARE: &str = r#"{"metadata":{"finalizers":null}}"#;

/// What an administrator might type, and the object that it must not touch.
fn attacks() -> Vec<(&'static str, Vec<&'static str>)> {
    let strict = |args: &[&'static str]| [args, &["-n", "strict"]].concat();
    vec![
        ("sts/retains", strict(&["patch", "sts", "retains", "-p", WHEN_SCALED])),
        ("sts/shrinks", strict(&["patch", "sts", "shrinks", "-p", FEWER])),
        ("pvc/bound", strict(&["delete", "pvc", "bound", "--wait=false"])),
        ("pvc/bound", strict(&["delete", "pvc", "--all", "--wait=false"])),
        ("pvc/bound", strict(&["delete", "pvc", "bound", "--force", "--grace-period=0"])),
        ("pvc/bound", strict(&["delete", "pvc", "bound", "--now", "--wait=false"])),
        ("pvc/bound", strict(&["delete", "pvc", "bound", "--cascade=orphan", "--wait=false"])),
        ("pvc/bound", strict(&["delete", "pvc", "-l", "!nothing", "--wait=false"])),
        ("pvc/bound", strict(&["delete", "all,pvc", "--all", "--wait=false"])),
        ("pvc/bound", vec!["delete", "pvc", "-A", "--all", "--wait=false"]),
        (
            "pvc/bound",
            strict(&["delete", "--raw", "/api/v1/namespaces/strict/persistentvolumeclaims/bound"]),
        ),
        (
            "pvc/bound",
            strict(&["delete", "--raw", "/api/v1/namespaces/strict/persistentvolumeclaims"]),
        ),
        ("pvc/bound", strict(&["patch", "pvc", "bound", "-p", BARE])),
        (
            "pvc/bound",
            strict(&["patch", "pvc", "bound", "--subresource=status", "--type=merge", "-p", BARE]),
        ),
        ("pvc/bound", strict(&["patch", "pvc", "bound", "--type=json", "-p", OWNER])),
        (
            "pvc/bound",
            strict(&["patch", "pvc", "bound", "--subresource=status", "--type=json", "-p", OWNER]),
        ),
        ("sts/destroys", strict(&["delete", "sts", "destroys", "--wait=false"])),
        ("sts/destroys", strict(&["delete", "sts", "--all", "--wait=false"])),
        (
            "sts/destroys",
            strict(&["delete", "sts", "destroys", "--cascade=foreground", "--wait=false"]),
        ),
        ("sts/destroys", strict(&["delete", "sts", "destroys", "--force", "--grace-period=0"])),
        ("pv/leaks", vec!["delete", "pv", "leaks", "--wait=false"]),
        ("pv/leaks", vec!["delete", "pv", "--all", "--wait=false"]),
        ("pv/protected", vec!["patch", "pv", "protected", "-p", BARE]),
        (
            "pv/protected",
            vec!["patch", "pv", "protected", "--subresource=status", "--type=merge", "-p", BARE],
        ),
        (
            "volumeattachment/attached",
            vec!["patch", "volumeattachment", "attached", "--type=merge", "-p", BARE],
        ),
        ("pv/taken", vec!["patch", "pv", "taken", "--type=merge", "-p", UID]),
        ("pv/taken", vec!["patch", "pv", "taken", "--type=json", "-p", NO_CLAIM]),
        (
            "pv/taken",
            vec!["patch", "pv", "taken", "--subresource=status", "--type=merge", "-p", RELEASED],
        ),
        ("pv/left", vec!["patch", "pv", "left", "-p", DELETE]),
        ("namespace/strict", vec!["delete", "ns", "strict", "--wait=false"]),
    ]
}

#[test]
#[ignore = "extended suite: the whole matrix of the guard"]
fn kubectl_loses_nothing_while_the_guard_is_in_force() {
    let cluster = Cluster::start(Options::default());
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    fill_cluster_wide(&cluster);
    install(&cluster, &["--volumes=deny"]);
    in_force(&Asker::of(&cluster), "strict", Seen::Refused);
    for (object, attack) in attacks() {
        let before = generation(&cluster, object);
        let said = kubectl(&cluster, &attack, "").expect_err(&attack.join(" "));
        assert!(said.contains("kubectl-storage-guard-"), "{attack:?}: {said}");
        assert_eq!(generation(&cluster, object), before, "{attack:?}");
    }
    // Manifests: replaced, replaced by force (which deletes), applied, pruned.
    let mut claim = cluster.get("strict", "pvc/bound").expect("it is there");
    let before = generation(&cluster, "pvc/bound");
    let replace = ["replace", "--force", "-f", "-", "-n", "strict"];
    let said = kubectl(&cluster, &replace, &claim.to_string()).expect_err("it deletes first");
    assert!(said.contains("kubectl storage delete pvc bound -n strict"), "{said}");
    claim["metadata"]["finalizers"] = json!(null);
    let said = kubectl(&cluster, &["replace", "-f", "-"], &claim.to_string());
    assert!(said.expect_err("it takes the finalizer off").contains("fix-finalizers"));
    let applied = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "bound", "namespace": "strict", "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "gone",
            "uid": "00000000-dead-4000-8000-000000000000",
        }]},
    });
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let said = kubectl(&cluster, &apply, &applied.to_string()).expect_err("it adds an owner");
    assert!(said.contains("owner reference"), "{said}");
    assert_eq!(generation(&cluster, "pvc/bound"), before);

    // The editor of kubectl edit takes the finalizers off, and writes an owner.
    for (script, says) in [(NO_FINALIZER, "fix-finalizers"), (AN_OWNER, "owner reference")] {
        for part in [&[][..], &["--subresource=status"]] {
            let said = edit(&cluster, script, part).expect_err("it takes the finalizer off");
            assert!(said.contains(says), "{script} {part:?}: {said}");
            assert!(said.contains("--as-group=storage.kubectl.dev:break-glass"), "{said}");
        }
    }
    assert_eq!(generation(&cluster, "pvc/bound"), before);

    // Read aloud: what is refused, the safe command, and the way round.
    let said = kubectl(&cluster, &["delete", "pvc", "bound", "-n", "strict"], "").expect_err("no");
    assert_eq!(
        said.trim(),
        "Error from server (Forbidden): persistentvolumeclaims \"bound\" is forbidden: \
         ValidatingAdmissionPolicy 'kubectl-storage-guard-persistentvolumeclaims' with binding \
         'kubectl-storage-guard-persistentvolumeclaims-deny' denied request: bound to volume \
         strict-bound: deleting this claim can destroy its data. Use: kubectl storage delete pvc \
         bound -n strict --keep-data (or --destroy-data). A refusal is overridden \
         by adding --as=USER --as-group=storage.kubectl.dev:break-glass to the command."
    );
    // The way round.
    cluster.kubectl(&[
        "create",
        "clusterrolebinding",
        "emergency",
        "--clusterrole=cluster-admin",
        "--group=storage.kubectl.dev:break-glass",
    ]);
    eventually("the emergency group may delete", || {
        let group = ["--as", "ann@example.com", "--as-group", "storage.kubectl.dev:break-glass"];
        let delete = ["delete", "pvc", "bound", "-n", "strict", "--wait=false"];
        cluster.try_kubectl(&[&delete[..], &group].concat(), "").is_ok()
    });
    // What is safe passes: orphaned sets, claims that are not bound, volumes that are protected.
    for safe in [
        &["delete", "sts", "destroys", "-n", "strict", "--cascade=orphan", "--wait=false"][..],
        &["delete", "pvc", "pending", "-n", "strict", "--wait=false"],
        &["delete", "pv", "protected", "--wait=false"],
    ] {
        kubectl(&cluster, safe, "").unwrap_or_else(|error| panic!("{safe:?}: {error}"));
    }
}

/// The same without the guard: each of them does harm, or they would prove nothing.
#[test]
#[ignore = "extended suite: the whole matrix of the guard"]
fn kubectl_does_all_of_it_without_the_guard() {
    let cluster = Cluster::start(Options::default());
    install(&cluster, &["--volumes=deny"]);
    let removed = tool(&cluster, &["guard", "uninstall", "--yes"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    fill_cluster_wide(&cluster);
    eventually("the guard is not in force any more", || {
        let dry = ["delete", "pvc", "bound", "-n", "strict", "--dry-run=server"];
        kubectl(&cluster, &dry, "").is_ok()
    });
    let mut harmless = Vec::new();
    for (object, attack) in attacks() {
        let dry = match attack[1] {
            "--raw" => continue,
            _ => [&attack[..], &["--dry-run=server"]].concat(),
        };
        // Forced deletion cannot be rehearsed with --grace-period.
        if let Err(said) = kubectl(&cluster, &dry, "") {
            harmless.push(format!("{object}: {attack:?}: {said}"));
        }
    }
    assert!(harmless.is_empty(), "{harmless:#?}");
}

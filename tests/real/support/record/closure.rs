//! What belongs to an object: all that a judgement about it could look at, and nothing else.

use std::collections::BTreeSet;

use kubectl_storage::model::Kind;
use serde_json::{Value, json};

/// Where the real `csi-provisioner` and its driver stand in for the containers of a Deployment.
const DRIVER_KINDS: [&str; 6] =
    ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod", "Lease"];

/// Reads `pv/NAME`, `pvc/NAMESPACE/NAME` and the like.
pub(super) fn key_of(object: &str) -> Value {
    let parts: Vec<_> = object.split('/').collect();
    let kind = Kind::parse_resource(parts[0]);
    let kind = kind.unwrap_or_else(|| panic!("{object:?} is of no kind")).name();
    match parts[1..] {
        [name] => json!({"kind": kind, "name": name}),
        [namespace, name] => json!({"kind": kind, "namespace": namespace, "name": name}),
        _ => panic!("{object:?} is not the name of an object"),
    }
}

/// The lines of a dump about an object (`kind`, `namespace`, `name`), about what is related to it, and about what
/// belongs to these.
pub(super) fn around(lines: &[Value], object: &Value, related: &[Value]) -> Vec<Value> {
    let mut chosen = Chosen::default();
    let seeds: Vec<_> = [object].into_iter().chain(related).collect();
    if object["kind"] == "CSIDriver" {
        let name = text(&object["name"]);
        chosen.drivers.insert(name);
        chosen.all_volumes = true; // a driver is missed by those who need it
    }
    let is_seed = |line: &Value| {
        seeds.iter().any(|seed| {
            (&seed["kind"], &seed["name"]) == (&line["kind"], name(line))
                && seed["namespace"] == *namespace(line)
        })
    };
    loop {
        let before = chosen.lines.len();
        for (index, line) in lines.iter().enumerate() {
            if !chosen.lines.contains(&index) && (is_seed(line) || chosen.wants(line, lines)) {
                chosen.lines.insert(index);
                if line["kind"] == "PersistentVolume" || line["kind"] == "VolumeAttachment" {
                    chosen.drivers.extend(drivers(line));
                }
            }
        }
        if chosen.lines.len() == before {
            break;
        }
    }
    let mut objects: Vec<_> = chosen.lines.iter().map(|index| lines[*index].clone()).collect();
    for line in objects.iter_mut().filter(|line| line["kind"] == "CSINode") {
        if let Some(drivers) = line["spec"]["drivers"].as_array_mut() {
            drivers.retain(|it| chosen.drivers.contains(&text(&it["name"]))); // not other scenarios'
        }
    }
    objects.sort_by_key(|line| {
        [text(&line["kind"]), text(namespace(line)), text(name(line)), line["question"].to_string()]
    });
    objects
}

#[derive(Default)]
struct Chosen {
    lines: BTreeSet<usize>,
    drivers: BTreeSet<String>,
    all_volumes: bool,
}

impl Chosen {
    fn wants(&self, line: &Value, lines: &[Value]) -> bool {
        let kind = text(&line["kind"]);
        // The controllers that all volumes wait for.
        let of_controllers = kind == "Lease" && name(line) == "kube-controller-manager";
        of_controllers
            || self.drivers.iter().any(|driver| self.is_of_driver(line, &kind, driver))
            || self.lines.iter().any(|chosen| belongs(line, &lines[*chosen]))
    }

    fn is_of_driver(&self, line: &Value, kind: &str, driver: &str) -> bool {
        let dashed = driver.replace('.', "-");
        match kind {
            "CSIDriver" => name(line) == driver,
            "CSINode" => drivers(line).contains(&driver.to_owned()),
            "PersistentVolume" => self.all_volumes && line["spec"]["csi"]["driver"] == driver,
            "Sighting" => line["driver"] == driver,
            kind if DRIVER_KINDS.contains(&kind) => *namespace(line) == format!("csi-{dashed}"),
            "Answer" => line["question"]["mayPatchVolumes"]["namespace"] == format!("csi-{dashed}"),
            _ => false,
        }
    }
}

/// Whether a judgement about `chosen` may look at `line`.
fn belongs(line: &Value, chosen: &Value) -> bool {
    match (text(&line["kind"]).as_str(), text(&chosen["kind"]).as_str()) {
        ("PersistentVolumeClaim", "PersistentVolume") => {
            let claim = &chosen["spec"]["claimRef"];
            (namespace(line), name(line)) == (&claim["namespace"], &claim["name"])
                || line["spec"]["volumeName"] == *name(chosen)
        }
        ("PersistentVolume", "PersistentVolumeClaim") => {
            *name(line) == chosen["spec"]["volumeName"]
        }
        ("PersistentVolume", "PersistentVolume") => {
            let same = |of: &dyn Fn(&Value) -> Value| !of(line).is_null() && of(line) == of(chosen);
            same(&|it| it["spec"]["csi"]["volumeHandle"].clone())
                && line["spec"]["csi"]["driver"] == chosen["spec"]["csi"]["driver"]
                || same(&|it| it["spec"]["hostPath"]["path"].clone())
        }
        ("PersistentVolume", "VolumeAttachment") => {
            *name(line) == chosen["spec"]["source"]["persistentVolumeName"]
        }
        ("PersistentVolumeClaim", "Pod") => {
            namespace(line) == namespace(chosen) && mounts(&chosen["spec"], line)
        }
        ("Node", "Pod") => {
            let uses_any =
                volumes(&chosen["spec"]).iter().any(|it| !it["persistentVolumeClaim"].is_null());
            uses_any && *name(line) == chosen["spec"]["nodeName"]
        }
        ("VolumeSnapshot", "VolumeSnapshotContent") => {
            let of = &chosen["spec"]["volumeSnapshotRef"];
            (namespace(line), name(line)) == (&of["namespace"], &of["name"])
        }
        ("VolumeAttachment", "PersistentVolume") => {
            line["spec"]["source"]["persistentVolumeName"] == *name(chosen)
        }
        ("VolumeSnapshotContent", "PersistentVolume") => {
            let handle = &chosen["spec"]["csi"]["volumeHandle"];
            line["spec"]["source"]["volumeHandle"] == *handle && !handle.is_null()
        }
        ("StorageClass", "PersistentVolume" | "PersistentVolumeClaim") => {
            let class = &chosen["spec"]["storageClassName"];
            let waits = class.is_null() && chosen["kind"] == "PersistentVolumeClaim";
            *name(line) == *class || waits // for the default
        }
        ("Node", "PersistentVolume") => !chosen["spec"]["nodeAffinity"].is_null(),
        ("Node", "VolumeAttachment") => *name(line) == chosen["spec"]["nodeName"],
        ("Pod", "PersistentVolumeClaim") => {
            namespace(line) == namespace(chosen)
                && (mounts(&line["spec"], chosen) || has_ephemeral(line, chosen))
        }
        ("CronJob", "PersistentVolumeClaim") => {
            namespace(line) == namespace(chosen)
                && mounts(&line["spec"]["jobTemplate"]["spec"]["template"]["spec"], chosen)
        }
        (
            "Deployment"
            | "ReplicaSet"
            | "DaemonSet"
            | "ReplicationController"
            | "Job"
            | "StatefulSet",
            "PersistentVolumeClaim",
        ) => {
            namespace(line) == namespace(chosen)
                && (mounts(&line["spec"]["template"]["spec"], chosen) || makes(line, chosen))
        }
        ("PersistentVolumeClaim", "PersistentVolumeClaim") => {
            namespace(line) == namespace(chosen)
                && line["spec"]["dataSource"]["kind"] == "PersistentVolumeClaim"
                && line["spec"]["dataSource"]["name"] == *name(chosen)
        }
        ("VolumeSnapshot", "PersistentVolumeClaim") => {
            namespace(line) == namespace(chosen)
                && line["spec"]["source"]["persistentVolumeClaimName"] == *name(chosen)
        }
        ("Node", "PersistentVolumeClaim") => {
            chosen["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == *name(line)
        }
        ("Event", "PersistentVolume" | "PersistentVolumeClaim" | "Pod") => {
            let about = &line["involvedObject"];
            (&about["kind"], &about["name"]) == (&chosen["kind"], name(chosen))
                && about["namespace"] == *namespace(chosen)
        }
        ("Answer", "PersistentVolume") => is_asked_of(&line["question"], chosen),
        ("Answer", "PersistentVolumeClaim") => is_asked_of_claim(&line["question"], chosen),
        ("Answer", "VolumeAttachment") => {
            let asked = &line["question"]["exists"]["name"];
            *asked == chosen["spec"]["source"]["persistentVolumeName"]
                || *asked == chosen["spec"]["nodeName"]
        }
        _ => false,
    }
}

/// Whether a pod, or the pods of a template, name a claim.
fn mounts(spec: &Value, claim: &Value) -> bool {
    volumes(spec).iter().any(|it| it["persistentVolumeClaim"]["claimName"] == *name(claim))
}

/// Whether a claim has the name of a pod's ephemeral volume.
fn has_ephemeral(pod: &Value, claim: &Value) -> bool {
    volumes(&pod["spec"]).iter().any(|it| {
        let made = format!("{}-{}", text(name(pod)), text(&it["name"]));
        !it["ephemeral"].is_null() && *name(claim) == made
    })
}

fn volumes(spec: &Value) -> &[Value] {
    spec["volumes"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether a claim has the name of one that a set makes for its pods.
fn makes(set: &Value, claim: &Value) -> bool {
    let templates = set["spec"]["volumeClaimTemplates"].as_array();
    templates.into_iter().flatten().any(|it| {
        let stem = format!("{}-{}-", text(name(it)), text(name(set)));
        text(name(claim)).starts_with(&stem)
    })
}

/// Whether somebody asked for an owner of a claim, or for something that it names.
fn is_asked_of_claim(question: &Value, claim: &Value) -> bool {
    let owner = &question["ownerExists"];
    if !owner.is_null() {
        let owners = claim["metadata"]["ownerReferences"].as_array();
        let names_it = |it: &Value| (&it["kind"], &it["name"]) == (&owner["kind"], &owner["name"]);
        return owner["namespace"] == *namespace(claim)
            && owners.is_some_and(|all| all.iter().any(names_it));
    }
    let wanted = &question["exists"]["name"];
    let spec = &claim["spec"];
    !wanted.is_null()
        && [
            &spec["volumeName"],
            &spec["storageClassName"],
            &claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"],
        ]
        .contains(&wanted)
}

fn is_asked_of(question: &Value, volume: &Value) -> bool {
    let claim = &volume["spec"]["claimRef"];
    let asked = &question["exists"];
    if !asked.is_null() {
        return (&asked["namespace"], &asked["name"]) == (&claim["namespace"], &claim["name"]);
    }
    let secret = &question["secretExists"];
    let annotations = &volume["metadata"]["annotations"];
    !secret.is_null()
        && annotations["volume.kubernetes.io/provisioner-deletion-secret-name"] == secret["name"]
}

/// The CSI drivers that an object names.
fn drivers(line: &Value) -> Vec<String> {
    match text(&line["kind"]).as_str() {
        "PersistentVolume" => {
            line["spec"]["csi"]["driver"].as_str().map(str::to_owned).into_iter().collect()
        }
        "VolumeAttachment" => vec![text(&line["spec"]["attacher"])],
        "CSINode" => {
            let drivers = line["spec"]["drivers"].as_array().map(Vec::as_slice).unwrap_or_default();
            drivers.iter().map(|it| text(&it["name"])).collect()
        }
        _ => Vec::new(),
    }
}

fn name(line: &Value) -> &Value {
    &line["metadata"]["name"]
}

fn namespace(line: &Value) -> &Value {
    &line["metadata"]["namespace"]
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

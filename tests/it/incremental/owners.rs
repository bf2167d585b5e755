//! Claims, the sets whose they are, and what else decides over them.

use kubectl_storage::guard::{GUARD_LABEL, GuardOptions, objects};
use kubectl_storage::model::{
    AdmissionObject, AttributesClass, Autoscaler, Claim, ClaimCondition, ClaimPhase, ClaimTemplate,
    DataSource, Kind, Labels, Metadata, Namespace, OwnerReference, Retention, RetentionPolicy,
    StatefulSet, StorageClass, Uid, VolumeSnapshot, Workload,
};

use super::universe::{CLAIMS, CLASSES, DRIVERS, Dice, NODES, VOLUMES, boxed, metadata};

pub(super) const SETS: [&str; 2] = ["w0", "w1"];

fn owner(dice: &mut Dice) -> OwnerReference {
    let (kind, name) =
        dice.pick(&[("StatefulSet", "w0"), ("Pod", "w0-0"), ("ConfigMap", "x"), ("Pod", "w0-1")]);
    OwnerReference {
        api_version: if kind == "StatefulSet" { "apps/v1" } else { "v1" }.into(),
        kind: kind.into(),
        name: name.into(),
        uid: dice.some(|dice| Uid::parse(dice.pick(&["u0", "u1"]))).flatten(),
        controller: dice.chance(2),
        blocks_deletion: dice.chance(2),
    }
}

pub(super) fn claim(dice: &mut Dice) -> Claim {
    let (namespace, name) = dice.pick(&CLAIMS);
    let finalizers = [
        "kubernetes.io/pvc-protection",
        "provisioner.storage.kubernetes.io/cloning-protection",
        "snapshot.storage.kubernetes.io/pvc-as-source-protection",
    ];
    let owners = dice.roll(3);
    let conditions = ["Unused", "FileSystemResizePending", "ControllerResizeError"];
    Claim {
        metadata: Metadata {
            finalizers: boxed(dice.subset(&finalizers)).into(),
            owners: (0..owners).map(|_| owner(dice)).collect(),
            ..metadata(dice, &[name])
        },
        namespace: namespace.into(),
        phase: dice.pick(&[
            ClaimPhase::Bound,
            ClaimPhase::Pending,
            ClaimPhase::Lost,
            ClaimPhase::Other("Odd".into()),
        ]),
        volume_name: dice.some(|dice| dice.pick(&VOLUMES).into()),
        class: dice.some(|dice| dice.text(&CLASSES)),
        bind_completed: dice.chance(2),
        access: kubectl_storage::model::Access::default(),
        selector: None,
        requested: Some(1 << 30),
        capacity: Some(1 << 30),
        selected_node: dice.chance(3).then(|| dice.text(&NODES)),
        provisioner: dice.chance(3).then(|| dice.text(&DRIVERS)),
        source: dice.chance(3).then(|| {
            let kind = dice.text(&["PersistentVolumeClaim", "VolumeSnapshot"]);
            let name = dice.pick(&CLAIMS).1.into();
            Box::new(DataSource { group: "".into(), kind, namespace: None, name })
        }),
        attributes_class: dice.chance(6).then(|| "gold".into()),
        resize_status: dice.chance(6).then(|| "NodeResizeInfeasible".into()),
        conditions: dice
            .subset(&conditions)
            .into_iter()
            .map(|kind| ClaimCondition {
                kind,
                holds: dice.chance(2),
                since: Some(dice.time()),
                reason: "".into(),
                message: "".into(),
            })
            .collect(),
    }
}

fn retention(dice: &mut Dice) -> Retention {
    dice.pick(&[Retention::Retain, Retention::Delete, Retention::Other("Odd".into())])
}

/// A set, or a workload of another kind that names a claim.
pub(super) fn set(dice: &mut Dice) -> Workload {
    let namespace = dice.text(&["a", "b"]);
    let name = dice.pick(&SETS);
    let of_namespace = CLAIMS.iter().filter(|(place, _)| *place == &*namespace);
    let claims: Vec<Box<str>> =
        of_namespace.filter(|_| dice.chance(3)).map(|(_, claim)| Box::from(*claim)).collect();
    let kinds = [Kind::StatefulSet, Kind::StatefulSet, Kind::Deployment, Kind::CronJob, Kind::Job];
    let kind = dice.pick(&kinds);
    let replicas = dice.some(|dice| dice.pick(&[0, 1, 2]));
    let metadata = metadata(dice, &[name]);
    let set = (kind == Kind::StatefulSet).then(|| {
        let template =
            |name: &str| ClaimTemplate { name: name.into(), class: None, requested: None };
        Box::new(StatefulSet {
            namespace: namespace.clone(),
            generation: 2,
            replicas,
            start: dice.pick(&[0, 0, 1]),
            templates: dice.subset(&["c", "d"]).iter().map(|it| template(it)).collect(),
            match_labels: Labels::default(),
            match_expressions: None,
            retention: dice.some(|dice| RetentionPolicy {
                when_deleted: retention(dice),
                when_scaled: retention(dice),
            }),
            ordered: dice.some(|dice| dice.chance(2)),
            observed_generation: dice.pick(&[1, 2]),
            pods: 1,
            metadata: metadata.clone(),
        })
    });
    Workload {
        inline: kubectl_storage::model::InlineVolumes::default(),
        kind,
        namespace,
        name: name.into(),
        uid: metadata.uid,
        replicas,
        suspended: dice.chance(2),
        finished: dice.chance(3),
        controller: None,
        claims: claims.into(),
        sidecars: None,
        set,
    }
}

pub(super) fn autoscaler(dice: &mut Dice) -> Autoscaler {
    Autoscaler {
        namespace: dice.text(&["a", "b"]),
        name: "scaler".into(),
        target_kind: "StatefulSet".into(),
        target_name: dice.pick(&SETS).into(),
    }
}

pub(super) fn volume_snapshot(dice: &mut Dice) -> VolumeSnapshot {
    let (namespace, claim) = dice.pick(&CLAIMS);
    VolumeSnapshot {
        metadata: metadata(dice, &["vs0", "vs1"]),
        namespace: namespace.into(),
        source_claim: dice.some(|_| claim.into()),
        content: dice.some(|dice| dice.pick(&["s0", "s1"]).into()),
        ready: dice.chance(2),
        error: None,
        taken_of: None,
    }
}

pub(super) fn attributes_class(dice: &mut Dice) -> AttributesClass {
    let finalizers = boxed(dice.subset(&["kubernetes.io/vac-protection"])).into();
    let metadata = Metadata { finalizers, ..metadata(dice, &["gold"]) };
    AttributesClass { metadata, driver: dice.text(&DRIVERS) }
}

pub(super) fn namespace(dice: &mut Dice) -> Namespace {
    let labels: &[_] = dice.pick(&[&[], &["deny"][..], &["Deny"][..]]);
    let labels = labels.iter().map(|it| (GUARD_LABEL.into(), (*it).into())).collect();
    Namespace { metadata: Metadata { labels, ..metadata(dice, &["a", "b"]) } }
}

/// An object of the guard, sometimes changed, or without the marks of the tool.
pub(super) fn admission_object(dice: &mut Dice) -> AdmissionObject {
    let all = objects(&GuardOptions::default());
    let object = &all[dice.roll(all.len())];
    let mut document = object.manifest.clone();
    match dice.roll(4) {
        0 => document["spec"]["failurePolicy"] = "Ignore".into(),
        1 => document["metadata"]["labels"] = serde_json::Value::Null,
        _ => {}
    }
    let metadata = metadata(dice, &[&object.name]);
    AdmissionObject { kind: object.kind.kind(), metadata, document }
}

pub(super) fn class(dice: &mut Dice) -> StorageClass {
    StorageClass {
        parameters: [].into(),
        allows_expansion: dice.chance(2),
        is_default: dice.chance(2),
        waits_for_consumer: dice.chance(2),
        metadata: metadata(dice, &CLASSES),
        provisioner: dice.text(&DRIVERS),
        reclaim_policy: Some("Delete".into()),
    }
}

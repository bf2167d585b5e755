//! The exact requests of docs/semantics/requests.md, and the live objects for which none is
//! rendered.

use super::*;
use crate::model::{Kind, ObjectKey, Phase, Uid};

const UID: &str = "11111111-0000-4000-8000-000000000001";
const CLAIM: &str = "22222222-0000-4000-8000-000000000002";
const OTHER: &str = "33333333-0000-4000-8000-000000000003";
const POLICY: &str = "/spec/persistentVolumeReclaimPolicy";
const PATH: &str = "/api/v1/persistentvolumes/pv-1";

/// Returns a Released volume with policy Retain, as GET returns it.
fn live() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": "pv-1", "uid": UID, "resourceVersion": "42",
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            "finalizers": ["kubernetes.io/pv-protection", "example.com/own"],
        },
        "spec": {
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {
                "kind": "PersistentVolumeClaim", "namespace": "shop", "name": "orders",
                "uid": CLAIM, "resourceVersion": "7",
            },
        },
        "status": {"phase": "Released"},
    })
}

/// Returns the same with other values of some fields (`Null` removes a field).
fn with(fields: &[(&str, Value)]) -> Value {
    let mut live = live();
    for (path, value) in fields {
        let (parent, field) = path.rsplit_once('/').expect("because paths begin with a slash");
        let parent = live.pointer_mut(parent).and_then(Value::as_object_mut);
        let parent = parent.expect("because only fields of what is there are put");
        match value {
            Value::Null => drop(parent.remove(field)),
            value => drop(parent.insert(field.to_owned(), value.clone())),
        }
    }
    live
}

fn volume() -> ObjectRef {
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1");
    ObjectRef { key, uid: Uid::parse(UID) }
}

fn set(from: ReclaimPolicy, to: ReclaimPolicy, doubts_backend: bool) -> Action {
    let finalizer = FinalizerEdit::Untouched;
    Action::SetReclaimPolicy { volume: volume(), from, to, doubts_backend, finalizer }
}

fn reclaim() -> Action {
    set(ReclaimPolicy::Retain, ReclaimPolicy::Delete, false)
}

fn condemn(from: ReclaimPolicy) -> Action {
    let claim = Uid::parse(OTHER).expect("it is not empty");
    let finalizer = FinalizerEdit::Untouched;
    Action::CondemnVolume { volume: volume(), from, claim, finalizer }
}

fn remove(finalizer: &str, guards: Vec<Guard>) -> Action {
    Action::RemoveFinalizer { object: volume(), finalizer: finalizer.into(), guards }
}

fn test(path: &str, value: impl Into<Value>) -> Value {
    json!({"op": "test", "path": path, "value": value.into()})
}

/// Returns the first operations of every patch.
fn itself() -> Vec<Value> {
    vec![test("/metadata/uid", UID), test("/metadata/resourceVersion", "42")]
}

#[track_caller]
fn patches(action: &Action, live: &Value, operations: Vec<Value>) {
    let expected = WriteRequest {
        method: Method::PATCH,
        path: PATH.to_owned(),
        content_type: "application/json-patch+json",
        body: Value::Array([itself(), operations].concat()),
    };
    assert_eq!(request(action, live), Ok(expected));
}

#[track_caller]
fn unfit(action: &Action, live: &Value, reason: &str) {
    assert_eq!(request(action, live), Err(UnfitObject(reason.to_owned())));
}

#[test]
fn a_policy_is_patched_with_tests_of_phase_claim_and_policy() {
    let flip = json!({"op": "replace", "path": POLICY, "value": "Delete"});
    let seen = [test("/status/phase", "Released"), test("/spec/claimRef/uid", CLAIM)];
    patches(
        &reclaim(),
        &live(),
        vec![seen[0].clone(), seen[1].clone(), test(POLICY, "Retain"), flip.clone()],
    );

    // Without a claimRef, the decision rests on its absence.
    let free = with(&[("/spec/claimRef", Value::Null), ("/status/phase", json!("Available"))]);
    patches(
        &reclaim(),
        &free,
        vec![
            test("/status/phase", "Available"),
            test("/spec/claimRef", Value::Null),
            test(POLICY, "Retain"),
            flip.clone(),
        ],
    );
    // Reserved by name: a test of the missing uid would fail.
    let reserved = with(&[("/spec/claimRef/uid", Value::Null)]);
    patches(&reclaim(), &reserved, vec![seen[0].clone(), test(POLICY, "Retain"), flip]);
}

#[test]
fn a_stop_in_doubt_annotates_in_the_same_patch() {
    let stop = set(ReclaimPolicy::Delete, ReclaimPolicy::Retain, true);
    let deleting = with(&[(POLICY, json!("Delete"))]);
    let beginning = |live: &Value| {
        vec![
            test("/status/phase", live["status"]["phase"].clone()),
            test("/spec/claimRef/uid", CLAIM),
            test(POLICY, "Delete"),
            json!({"op": "replace", "path": POLICY, "value": "Retain"}),
        ]
    };
    let annotation = json!({
        "op": "add", "path": "/metadata/annotations/storage.kubectl.dev~1backend-state", "value": "unknown",
    });
    patches(&stop, &deleting, [beginning(&deleting), vec![annotation]].concat());

    // An annotation cannot be added to a missing map.
    let bare = with(&[(POLICY, json!("Delete")), ("/metadata/annotations", Value::Null)]);
    let all = json!({
        "op": "add", "path": "/metadata/annotations", "value": {"storage.kubectl.dev/backend-state": "unknown"},
    });
    patches(&stop, &bare, [beginning(&bare), vec![all]].concat());

    let bound = with(&[(POLICY, json!("Delete")), ("/status/phase", json!("Bound"))]);
    let sure = set(ReclaimPolicy::Delete, ReclaimPolicy::Retain, false);
    patches(&sure, &bound, beginning(&bound));
}

#[test]
fn the_finalizer_comes_and_goes_in_the_patch_of_the_policy() {
    use FinalizerEdit::{Added, Removed};
    const FINALIZERS: &str = "/metadata/finalizers";
    let edit = |from, to, finalizer| Action::SetReclaimPolicy {
        volume: volume(),
        from,
        to,
        doubts_backend: false,
        finalizer,
    };
    let alive = || test("/metadata/deletionTimestamp", Value::Null);
    let policy = |from: &str, to: &str| {
        vec![
            test("/status/phase", "Released"),
            test("/spec/claimRef/uid", CLAIM),
            test(POLICY, from),
            json!({"op": "replace", "path": POLICY, "value": to}),
        ]
    };
    let reclaim = || edit(ReclaimPolicy::Retain, ReclaimPolicy::Delete, Added);
    let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    let appended = add("/metadata/finalizers/-", json!(EXTERNAL_PROVISIONER));
    let flip = || policy("Retain", "Delete");
    patches(&reclaim(), &live(), [flip(), vec![alive(), appended.clone()]].concat());
    let bare = with(&[(FINALIZERS, Value::Null)]);
    let first = add(FINALIZERS, json!([EXTERNAL_PROVISIONER]));
    patches(&reclaim(), &bare, [flip(), vec![alive(), first]].concat());

    let has_it = json!(["kubernetes.io/pv-protection", EXTERNAL_PROVISIONER, "example.com/own"]);
    let held = with(&[(FINALIZERS, has_it.clone())]);
    let already = "it has finalizer external-provisioner.volume.kubernetes.io/finalizer already";
    unfit(&reclaim(), &held, already);
    let terminating = with(&[("/metadata/deletionTimestamp", json!("2026-11-01T12:00:00Z"))]);
    let late = "metadata.deletionTimestamp is \"2026-11-01T12:00:00Z\", not null";
    unfit(&reclaim(), &terminating, late);

    let stop = edit(ReclaimPolicy::Delete, ReclaimPolicy::Retain, Removed);
    let deleting = with(&[(FINALIZERS, has_it), (POLICY, json!("Delete"))]);
    let removed = vec![
        alive(),
        test("/metadata/finalizers/1", EXTERNAL_PROVISIONER),
        json!({"op": "remove", "path": "/metadata/finalizers/1"}),
    ];
    patches(&stop, &deleting, [policy("Delete", "Retain"), removed].concat());
    let gone = with(&[(POLICY, json!("Delete"))]);
    unfit(&stop, &gone, "it has no finalizer external-provisioner.volume.kubernetes.io/finalizer");

    // The same with a claim that never was.
    let free = with(&[("/spec/claimRef", Value::Null), ("/status/phase", json!("Available"))]);
    let claim = Uid::parse(OTHER).expect("it is not empty");
    let from = ReclaimPolicy::Retain;
    let condemn = Action::CondemnVolume { volume: volume(), from, claim, finalizer: Added };
    let body = request(&condemn, &free).expect("it is rendered").body;
    let operations = body.as_array().expect("because it is a JSON patch");
    assert_eq!(operations[operations.len() - 2..], [alive(), appended]);
}

/// Reserves the volume for a claim of its namespace.
fn reserving(name: &str) -> Action {
    let claim = ClaimKey { namespace: "shop".into(), name: name.into() };
    Action::ReserveVolume { volume: volume(), from: Phase::Released, claim }
}

#[test]
fn reserving_drops_the_dead_uid_and_everything_that_belongs_to_it() {
    let reserve = reserving("orders");
    let beginning = || {
        vec![
            test("/spec/claimRef/uid", CLAIM),
            test("/status/phase", "Released"),
            test(POLICY, "Retain"),
            json!({"op": "remove", "path": "/spec/claimRef/uid"}),
        ]
    };
    let version = json!({"op": "remove", "path": "/spec/claimRef/resourceVersion"});
    let annotation = json!({
        "op": "remove", "path": "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
    });
    let both = vec![version.clone(), annotation.clone()];
    patches(&reserve, &live(), [beginning(), both].concat());
    let unversioned = with(&[("/spec/claimRef/resourceVersion", Value::Null)]);
    patches(&reserve, &unversioned, [beginning(), vec![annotation]].concat());
    for unannotated in [
        with(&[("/metadata/annotations", json!({"example.com/a": "b"}))]),
        with(&[("/metadata/annotations", Value::Null)]),
    ] {
        patches(&reserve, &unannotated, [beginning(), vec![version.clone()]].concat());
    }
}

#[test]
fn a_finalizer_is_removed_by_its_place_and_name() {
    let guards = vec![
        Guard::ReclaimPolicy(ReclaimPolicy::Retain),
        Guard::Phase(Phase::Released),
        Guard::Finalizer("kubernetes.io/pv-protection".into()),
        Guard::NotTerminating,
    ];
    patches(
        &remove("example.com/own", guards),
        &live(),
        vec![
            test(POLICY, "Retain"),
            test("/status/phase", "Released"),
            test("/metadata/finalizers/0", "kubernetes.io/pv-protection"),
            test("/metadata/deletionTimestamp", Value::Null),
            test("/metadata/finalizers/1", "example.com/own"),
            json!({"op": "remove", "path": "/metadata/finalizers/1"}),
        ],
    );
    patches(
        &remove("kubernetes.io/pv-protection", vec![]),
        &live(),
        vec![
            test("/metadata/finalizers/0", "kubernetes.io/pv-protection"),
            json!({"op": "remove", "path": "/metadata/finalizers/0"}),
        ],
    );
}

#[test]
fn a_finalizer_is_added_to_the_list_or_with_it() {
    let add =
        Action::AddFinalizer { object: volume(), finalizer: "kubernetes.io/pv-protection".into() };
    let bare = with(&[("/metadata/finalizers", Value::Null)]);
    patches(
        &add,
        &bare,
        vec![json!({
            "op": "add", "path": "/metadata/finalizers", "value": ["kubernetes.io/pv-protection"],
        })],
    );
    for list in [json!([]), json!(["example.com/own"])] {
        let listed = with(&[("/metadata/finalizers", list)]);
        patches(
            &add,
            &listed,
            vec![json!({
                "op": "add", "path": "/metadata/finalizers/-", "value": "kubernetes.io/pv-protection",
            })],
        );
    }
}

#[test]
fn only_an_object_that_keeps_its_backend_is_deleted() {
    let delete = Action::DeleteVolume { volume: volume() };
    let expected = WriteRequest {
        method: Method::DELETE,
        path: PATH.to_owned(),
        content_type: "application/json",
        body: json!({
            "kind": "DeleteOptions", "apiVersion": "v1",
            "preconditions": {"uid": UID, "resourceVersion": "42"},
            "propagationPolicy": "Background",
        }),
    };
    assert_eq!(request(&delete, &live()), Ok(expected));
    for policy in ["Delete", "Recycle", "Later"] {
        let live = with(&[(POLICY, json!(policy))]);
        let reason =
            format!("its policy is {policy}: deleting the object could leak the backend volume");
        unfit(&delete, &live, &reason);
    }
    // The API server's default is Retain, but a volume without the field is not changed.
    let silent = with(&[(POLICY, Value::Null)]);
    unfit(&delete, &silent, "its policy is : deleting the object could leak the backend volume");
}

#[test]
fn a_free_volume_is_condemned_by_a_claim_that_never_was() {
    let free = |policy: &str| {
        let phase = ("/status/phase", json!("Available"));
        with(&[("/spec/claimRef", Value::Null), phase, (POLICY, json!(policy))])
    };
    let tests = |policy: &str| {
        vec![
            test("/status/phase", "Available"),
            test("/spec/claimRef", Value::Null),
            test(POLICY, policy),
        ]
    };
    let claim = json!({
        "op": "add", "path": "/spec/claimRef", "value": {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "namespace": "default", "name": "kubectl-storage-reclaimed", "uid": OTHER,
        },
    });
    let flip = json!({"op": "replace", "path": POLICY, "value": "Delete"});
    let retained = [tests("Retain"), vec![flip, claim.clone()]].concat();
    patches(&condemn(ReclaimPolicy::Retain), &free("Retain"), retained);
    patches(
        &condemn(ReclaimPolicy::Delete),
        &free("Delete"),
        [tests("Delete"), vec![claim]].concat(),
    );
}

#[test]
fn a_volume_is_created_as_it_was_written_down() {
    let manifest = json!({"kind": "PersistentVolume", "metadata": {"name": "pv-1"}});
    let create = Action::CreateVolume { volume: volume(), manifest: manifest.clone() };
    let expected = WriteRequest {
        method: Method::POST,
        path: "/api/v1/persistentvolumes".to_owned(),
        content_type: "application/json",
        body: manifest,
    };
    assert_eq!(request(&create, &Value::Null), Ok(expected));
}

#[test]
fn a_volume_is_reserved_for_another_claim_by_the_same_patch() {
    let claim = ClaimKey { namespace: "bank".into(), name: "copy".into() };
    let reserve = Action::ReserveVolume { volume: volume(), from: Phase::Failed, claim };
    let failed = with(&[
        ("/status/phase", json!("Failed")),
        ("/spec/claimRef/resourceVersion", Value::Null),
        ("/metadata/annotations", Value::Null),
    ]);
    let replace = |path: &str, value: &str| json!({"op": "replace", "path": path, "value": value});
    let (namespace, name) = ("/spec/claimRef/namespace", "/spec/claimRef/name");
    let operations = vec![
        test("/spec/claimRef/uid", CLAIM),
        test("/status/phase", "Failed"),
        test(POLICY, "Retain"),
        test(namespace, "shop"),
        replace(namespace, "bank"),
        test(name, "orders"),
        replace(name, "copy"),
        json!({"op": "remove", "path": "/spec/claimRef/uid"}),
    ];
    patches(&reserve, &failed, operations);
    unfit(&reserve, &live(), "status.phase is \"Released\", not \"Failed\"");
}

#[test]
fn a_lost_claim_is_written_into_the_claim_ref_of_its_volume() {
    let claim = |name: &str, uid: Option<&str>| ObjectRef {
        key: ObjectKey::named(Kind::PersistentVolumeClaim, "shop", name),
        uid: uid.and_then(Uid::parse),
    };
    let bind = |name, uid| Action::BindVolume { volume: volume(), claim: claim(name, uid) };
    let unversioned = with(&[("/spec/claimRef/resourceVersion", Value::Null)]);
    let beginning = vec![
        test("/spec/claimRef/namespace", "shop"),
        test("/spec/claimRef/name", "orders"),
        test(POLICY, "Retain"),
    ];
    let add = json!({"op": "add", "path": "/spec/claimRef/uid", "value": OTHER});
    let earlier = [beginning.clone(), vec![test("/spec/claimRef/uid", CLAIM), add.clone()]];
    patches(&bind("orders", Some(OTHER)), &unversioned, earlier.concat());
    let bare = with(&[
        ("/spec/claimRef/resourceVersion", Value::Null),
        ("/spec/claimRef/uid", Value::Null),
    ]);
    patches(&bind("orders", Some(OTHER)), &bare, [beginning, vec![add.clone()]].concat());
    // Where somebody has written another name over it.
    let renamed = vec![
        test("/spec/claimRef/namespace", "shop"),
        test("/spec/claimRef/name", "orders"),
        json!({"op": "replace", "path": "/spec/claimRef/name", "value": "other"}),
        test(POLICY, "Retain"),
        add.clone(),
    ];
    patches(&bind("other", Some(OTHER)), &bare, renamed);
    unfit(&bind("orders", None), &live(), "the uid of the claim is unknown");
    let deleting = with(&[(POLICY, json!("Delete"))]);
    let policy = "spec.persistentVolumeReclaimPolicy is \"Delete\", not \"Retain\"";
    unfit(&bind("orders", Some(OTHER)), &deleting, policy);
}

#[test]
fn a_snapshot_is_created_of_the_claim_that_was_read_in_the_version_that_is_served() {
    let create = |version: &str| Action::CreateSnapshot {
        snapshot: ObjectRef {
            key: ObjectKey::named(Kind::VolumeSnapshot, "shop", "data-before-delete-1"),
            uid: None,
        },
        claim: ObjectRef {
            key: ObjectKey::named(Kind::PersistentVolumeClaim, "shop", "data"),
            uid: Uid::parse(UID),
        },
        manifest: json!({"apiVersion": format!("snapshot.storage.k8s.io/{version}")}),
    };
    let claim = json!({"metadata": {"name": "data", "uid": UID, "resourceVersion": "7"}});
    for version in ["v1", "v1beta1"] {
        let expected = WriteRequest {
            method: Method::POST,
            path: format!(
                "/apis/snapshot.storage.k8s.io/{version}/namespaces/shop/volumesnapshots"
            ),
            content_type: "application/json",
            body: json!({"apiVersion": format!("snapshot.storage.k8s.io/{version}")}),
        };
        assert_eq!(request(&create(version), &claim), Ok(expected));
    }
    let reason = format!("metadata.uid is \"{OTHER}\", not \"{UID}\"");
    unfit(&create("v1"), &json!({"metadata": {"uid": OTHER, "resourceVersion": "7"}}), &reason);
}

#[test]
fn nothing_is_sent_to_an_object_that_is_not_the_one() {
    let all = || {
        let free = condemn(ReclaimPolicy::Retain);
        let reserve = reserving("orders");
        let add = Action::AddFinalizer { object: volume(), finalizer: "example.com/new".into() };
        let delete = Action::DeleteVolume { volume: volume() };
        [reclaim(), free, reserve, remove("example.com/own", vec![]), add, delete]
    };
    let namesake = with(&[("/metadata/uid", json!(OTHER))]);
    for action in all() {
        let reason = format!("metadata.uid is \"{OTHER}\", not \"{UID}\"");
        unfit(&action, &namesake, &reason);
        let nameless = with(&[("/metadata/uid", Value::Null)]);
        unfit(&action, &nameless, &format!("metadata.uid is null, not \"{UID}\""));
        let unversioned = with(&[("/metadata/resourceVersion", Value::Null)]);
        unfit(&action, &unversioned, "metadata.resourceVersion is absent");
        // A missing object.
        unfit(&action, &Value::Null, &format!("metadata.uid is null, not \"{UID}\""));
    }
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1");
    let unknown = Action::DeleteVolume { volume: ObjectRef { key, uid: None } };
    unfit(&unknown, &live(), "its uid is unknown");
}

#[test]
fn nothing_is_sent_where_what_the_decision_rested_on_has_changed() {
    let policy = |policy: &str| with(&[(POLICY, json!(policy))]);
    let phase = |phase: &str| with(&[("/status/phase", json!(phase))]);
    let reserve = || reserving("orders");
    let free = || with(&[("/status/phase", json!("Available")), ("/spec/claimRef", Value::Null)]);
    let own = |guard: Guard| remove("example.com/own", vec![guard]);
    let terminating = with(&[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]);
    let policy_is = |seen: &str, wanted: &str| {
        format!("spec.persistentVolumeReclaimPolicy is \"{seen}\", not \"{wanted}\"")
    };
    let phase_is =
        |seen: &str, wanted: &str| format!("status.phase is \"{seen}\", not \"{wanted}\"");
    let no = |finalizer: &str| format!("it has no finalizer {finalizer}");
    let without = |finalizers: Value| with(&[("/metadata/finalizers", finalizers)]);
    let stop = set(ReclaimPolicy::Delete, ReclaimPolicy::Retain, true);
    let claimed = with(&[
        ("/status/phase", json!("Available")),
        ("/spec/claimRef", json!({"namespace": "shop", "name": "orders"})),
    ]);
    let claim = "spec.claimRef is {\"name\":\"orders\",\"namespace\":\"shop\"}, not null";
    let since = "metadata.deletionTimestamp is \"2026-01-01T00:00:00Z\", not null";
    let cases = [
        (reclaim(), policy("Delete"), policy_is("Delete", "Retain")),
        (stop, policy("Retain"), policy_is("Retain", "Delete")),
        (condemn(ReclaimPolicy::Retain), live(), phase_is("Released", "Available")),
        (condemn(ReclaimPolicy::Retain), claimed, claim.to_owned()),
        (condemn(ReclaimPolicy::Delete), free(), policy_is("Retain", "Delete")),
        (reserve(), phase("Bound"), phase_is("Bound", "Released")),
        (reserve(), policy("Delete"), policy_is("Delete", "Retain")),
        (
            reserve(),
            with(&[("/spec/claimRef/uid", Value::Null)]),
            "spec.claimRef.uid is absent".to_owned(),
        ),
        (
            remove("example.com/own", vec![]),
            without(json!(["kubernetes.io/pv-protection"])),
            no("example.com/own"),
        ),
        (remove("example.com/own", vec![]), without(Value::Null), no("example.com/own")),
        (own(Guard::Finalizer("example.com/gone".into())), live(), no("example.com/gone")),
        (own(Guard::ReclaimPolicy(ReclaimPolicy::Delete)), live(), policy_is("Retain", "Delete")),
        (own(Guard::Phase(Phase::Bound)), live(), phase_is("Released", "Bound")),
        (own(Guard::NotTerminating), terminating, since.to_owned()),
    ];
    for (action, live, reason) in cases {
        unfit(&action, &live, &reason);
    }
}

#[test]
fn a_claim_is_reached_in_its_namespace_and_a_volume_never_is() {
    let key = |kind, namespace: Option<&str>| ObjectKey {
        kind,
        namespace: namespace.map(Text::from),
        name: "orders".into(),
    };
    let claim = key(Kind::PersistentVolumeClaim, Some("shop"));
    assert_eq!(path(&claim), "/api/v1/namespaces/shop/persistentvolumeclaims/orders");
    let volume = key(Kind::PersistentVolume, Some("shop"));
    assert_eq!(path(&volume), "/api/v1/persistentvolumes/orders");
    let attachment = key(Kind::VolumeAttachment, None);
    assert_eq!(path(&attachment), "/apis/storage.k8s.io/v1/volumeattachments/orders");
}

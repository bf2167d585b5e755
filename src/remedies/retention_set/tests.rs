//! What `retention set` proposes and refuses.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::*;
use crate::cluster::Unseen;
use crate::model::{Kind, Settings, Uid};
use crate::objects::whole_cluster::{cluster_of, existence};

/// A set `web` of three pods with a claim each, and claim 3, which an earlier scale-down left.
struct Shop {
    set: Value,
    /// The ordinals of pods, and whether they are ready.
    pods: Vec<(i32, bool)>,
    /// The ordinal of the pod that is Terminating.
    terminating: Option<i32>,
    /// The owner references of the claims, by ordinal.
    claims: Vec<(i32, Vec<Value>)>,
    others: Vec<Value>,
    /// What is known of `ConfigMap`s, by name: the uid, if there is one.
    config_maps: Vec<(&'static str, Option<&'static str>)>,
    unread: Vec<Kind>,
    destroy_data: bool,
}

fn by_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set",
        "controller": true, "blockOwnerDeletion": true,
    })
}

fn by_pod(ordinal: i32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "name": format!("web-{ordinal}"),
        "uid": format!("pod-{ordinal}"), "controller": true, "blockOwnerDeletion": true,
    })
}

impl Shop {
    /// Every claim is owned by the set.
    fn with(when_deleted: &str, when_scaled: &str) -> Self {
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "set", "generation": 1},
            "spec": {
                "replicas": 3, "podManagementPolicy": "OrderedReady",
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": []}},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
                "persistentVolumeClaimRetentionPolicy": {
                    "whenDeleted": when_deleted, "whenScaled": when_scaled,
                },
            },
            "status": {"observedGeneration": 1, "replicas": 3},
        });
        Self {
            set,
            pods: vec![(0, true), (1, true), (2, true)],
            terminating: None,
            claims: (0..4).map(|ordinal| (ordinal, vec![by_set()])).collect(),
            others: Vec::new(),
            config_maps: Vec::new(),
            unread: Vec::new(),
            destroy_data: false,
        }
    }

    fn objects(&self) -> Vec<Value> {
        let pod = |(ordinal, ready): &(i32, bool)| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": format!("web-{ordinal}"), "namespace": "shop", "uid": format!("pod-{ordinal}"),
                    "ownerReferences": [by_set()],
                    "deletionTimestamp": (self.terminating == Some(*ordinal)).then_some("2026-01-01T00:00:00Z"),
                },
                "spec": {"volumes": [{
                    "name": "data",
                    "persistentVolumeClaim": {"claimName": format!("data-web-{ordinal}")},
                }]},
                "status": {
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": if *ready { "True" } else { "False" }}],
                },
            })
        };
        let claim = |(ordinal, owners): &(i32, Vec<Value>)| {
            let volume = format!("pv-{ordinal}");
            let has_volume = self.others.iter().any(|it| it["metadata"]["name"] == *volume);
            let spec = if has_volume { json!({"volumeName": volume}) } else { json!({}) };
            json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": format!("data-web-{ordinal}"), "namespace": "shop",
                    "uid": format!("claim-{ordinal}"), "ownerReferences": owners,
                },
                "spec": spec, "status": {"phase": "Bound"},
            })
        };
        let pods = self.pods.iter().map(pod);
        let claims = self.claims.iter().map(claim);
        std::iter::once(self.set.clone())
            .chain(pods)
            .chain(claims)
            .chain(self.others.clone())
            .collect()
    }

    fn ask<T>(&self, ask: impl FnOnce(&Cx, &StatefulSet) -> T) -> T {
        let config_maps =
            self.config_maps.iter().map(|it| existence("v1", "ConfigMap", it.0, it.1));
        let owners = config_maps.chain([existence("apps/v1", "StatefulSet", "web", Some("set"))]);
        let cluster = cluster_of(&self.objects(), owners, &self.unread);
        let settings = Settings { destroy_data: self.destroy_data, ..Settings::default() };
        let facts = RefCell::default();
        let cx = Cx::new(&cluster, &settings, &facts);
        let set = cx.set(&"shop".into(), "web").expect("sets are read").expect("there is one");
        ask(&cx, set)
    }

    fn seen(&self, deleted: &str, scaled: &str) -> Seen<Result<Proposal, Refusal>> {
        self.ask(|cx, set| propose(cx, set, &request(deleted, scaled)))
    }

    fn proposal(&self, deleted: &str, scaled: &str) -> Proposal {
        self.seen(deleted, scaled).expect("everything is read").expect("it is proposed")
    }

    fn refusal(&self, deleted: &str, scaled: &str) -> String {
        self.seen(deleted, scaled).expect("everything is read").expect_err("it is refused").reason
    }

    /// The steps, in a word each.
    fn steps(&self, deleted: &str, scaled: &str) -> Vec<String> {
        self.proposal(deleted, scaled).steps.iter().map(word).collect()
    }
}

fn word(action: &Action) -> String {
    match action {
        Action::RemoveOwnerReferences { claim, owners } => {
            let kinds: Vec<_> = owners.iter().map(|it| &*it.kind).collect();
            format!("{} {}", claim.key.name, kinds.join("+"))
        }
        Action::SetRetentionPolicy { to, .. } => {
            format!("set {} {}", to.when_deleted, to.when_scaled)
        }
        other => other.name().to_owned(),
    }
}

/// `-` leaves a field as it is.
fn request(deleted: &str, scaled: &str) -> RetentionRequest {
    let asked = |text: &str| (text != "-").then(|| Retention::parse(text));
    RetentionRequest { when_deleted: asked(deleted), when_scaled: asked(scaled), undoes: None }
}

#[test]
fn references_that_the_controller_does_not_update_are_removed_first() {
    let mut shop = Shop::with("Delete", "Retain");
    let healthy = [
        "data-web-3 StatefulSet",
        "set Retain Retain",
        "data-web-0 StatefulSet",
        "data-web-1 StatefulSet",
        "data-web-2 StatefulSet",
    ];
    assert_eq!(shop.steps("Retain", "-"), healthy);
    // Behind a pod that is not ready, only those before it are certainly updated.
    shop.pods[1].1 = false;
    let behind = [
        "data-web-1 StatefulSet",
        "data-web-2 StatefulSet",
        "data-web-3 StatefulSet",
        "set Retain Retain",
        "data-web-0 StatefulSet",
    ];
    assert_eq!(shop.steps("Retain", "Retain"), behind);
    shop.set["spec"]["podManagementPolicy"] = json!("Parallel");
    assert_eq!(shop.steps("Retain", "-"), healthy);
}

#[test]
fn towards_delete_only_the_set_is_patched() {
    for (from, asked, to) in [
        (("Retain", "Retain"), ("Delete", "-"), "set Delete Retain"),
        (("Retain", "Retain"), ("-", "Delete"), "set Retain Delete"),
        (("Retain", "Retain"), ("Delete", "Delete"), "set Delete Delete"),
        (("Delete", "Retain"), ("-", "Delete"), "set Delete Delete"),
    ] {
        let shop = Shop::with(from.0, from.1);
        assert_eq!(shop.steps(asked.0, asked.1), [to], "{from:?} {asked:?}");
        assert_eq!(shop.proposal(asked.0, asked.1).undo, Undo::Revert);
    }
}

#[test]
fn both_directions_at_once_remove_what_retain_contradicts() {
    let shop = Shop::with("Delete", "Retain");
    let steps = shop.steps("Retain", "Delete");
    assert_eq!(steps.iter().position(|it| it == "set Retain Delete"), Some(1), "{steps:?}");
    assert_eq!(steps.len(), 5, "{steps:?}");
    let proposal = shop.proposal("Retain", "Delete");
    assert!(matches!(proposal.undo, Undo::Never(_)), "{:?}", proposal.undo);
    assert!(proposal.effect.risk.contains("are deleted"), "{}", proposal.effect.risk);
    let saving = Shop::with("Delete", "Delete").proposal("Retain", "-").effect.risk;
    assert!(saving.contains("are kept"), "{saving}");
}

#[test]
fn a_policy_that_is_set_already_leaves_only_the_references() {
    let mut shop = Shop::with("Retain", "Retain");
    let all: Vec<_> = (0..4).map(|it| format!("data-web-{it} StatefulSet")).collect();
    assert_eq!(shop.steps("Retain", "-"), all);
    for claim in &mut shop.claims {
        claim.1.clear();
    }
    assert!(shop.refusal("Retain", "Retain").starts_with("nothing to do"));
    // A reference to the pod of an ordinal in range contradicts every policy.
    shop.claims[1].1 = vec![by_pod(1)];
    assert_eq!(shop.steps("Retain", "-"), ["data-web-1 Pod"]);
}

#[test]
fn what_is_not_the_sets_or_cannot_be_revoked_is_left_alone() {
    let mut shop = Shop::with("Delete", "Retain");
    let earlier =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "old"});
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": "map"});
    let gone = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "map"});
    shop.claims = vec![(0, vec![earlier]), (1, vec![other, by_set()]), (2, vec![gone, by_set()])];
    shop.config_maps = vec![("web", Some("map")), ("gone", None)];
    let claim = |name: &str, metadata: Value| {
        let mut object = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [by_set()]},
            "spec": {}, "status": {"phase": "Bound"},
        });
        for (key, value) in metadata.as_object().into_iter().flatten() {
            object["metadata"][key] = value.clone();
        }
        object
    };
    shop.others = vec![
        claim("data-web-01", json!({})),
        claim("data-web-7", json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})),
    ];
    let proposal = shop.proposal("Retain", "Retain");
    let steps: Vec<_> = proposal.steps.iter().map(word).collect();
    // With one that does not exist alone, the garbage collector would delete the claim.
    assert_eq!(steps, ["data-web-2 StatefulSet+ConfigMap", "set Retain Retain"]);
    let told =
        proposal.notices.iter().find(|it| it.starts_with("data-web-1: ConfigMap web owns it too"));
    assert!(told.is_some(), "{:?}", proposal.notices);
    let told = proposal.notices.iter().find(|it| it.contains("pvc/data-web-01"));
    assert!(told.is_some_and(|it| it.contains("deleted with it")), "{:?}", proposal.notices);
    let told = proposal.notices.iter().find(|it| it.starts_with("data-web-0: only an earlier"));
    let keeps = "`kubectl storage disown pvc/data-web-0 -n shop` keeps it";
    assert!(told.is_some_and(|it| it.ends_with(keeps)), "{:?}", proposal.notices);
}

/// Whether a claim is owned by earlier objects alone has nothing to do with the policy, which a user who saves claims does not
/// know.
#[test]
fn claims_that_only_earlier_sets_own_are_told_even_if_nothing_is_to_be_done() {
    let earlier =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "old"});
    let gone = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "map"});
    let mut shop = Shop::with("Retain", "Retain");
    shop.claims =
        vec![(0, vec![earlier.clone()]), (1, Vec::new()), (2, vec![earlier.clone(), gone])];
    shop.config_maps = vec![("gone", None)];
    let told = shop.refusal("Retain", "-");
    assert!(told.starts_with("nothing to do"), "{told}");
    assert!(told.contains("except data-web-0: only an earlier StatefulSet web owns it"), "{told}");
    // What is not to be removed, and what the garbage collector counts, is not asked here.
    assert!(!told.contains("data-web-1") && !told.contains("data-web-2"), "{told}");
    // Together with the reference to the set, the one to an earlier set is removed.
    shop.claims = vec![(0, vec![by_set(), earlier])];
    assert_eq!(shop.steps("Retain", "-"), ["data-web-0 StatefulSet+StatefulSet"]);
}

#[test]
fn who_keeps_the_set_as_it_is_gets_the_lines_to_commit() {
    let helm = json!({"labels": {"app.kubernetes.io/managed-by": "Helm"}});
    let argo = json!({"annotations": {"argocd.argoproj.io/tracking-id": "a:b"}});
    let flux = json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}});
    let by_manager = json!({"managedFields": [{
        "manager": "argocd-controller", "operation": "Apply", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }]});
    let operator = json!({"ownerReferences": [
        {"apiVersion": "db.example.com/v1", "kind": "Database", "name": "d", "uid": "d", "controller": true},
    ]});
    for (marks, keeper) in [
        (helm, "Helm"),
        (argo, "Argo CD"),
        (flux, "Flux"),
        (by_manager, "Argo CD"),
        (operator, "Database d"),
    ] {
        let mut shop = Shop::with("Delete", "Delete");
        for (key, value) in marks.as_object().into_iter().flatten() {
            shop.set["metadata"][key] = value.clone();
        }
        let told = shop.refusal("Retain", "-");
        assert!(told.starts_with(&format!("{keeper} manages it")), "{told}");
        let lines =
            "persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Delete}";
        assert!(told.contains(lines), "{told}");
        assert!(told.contains("retention reconcile sts/web -n shop"), "{told}");
    }
}

#[test]
fn sets_that_cannot_be_changed_are_refused() {
    let mut shop = Shop::with("Delete", "Retain");
    shop.set["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let told = shop.refusal("Retain", "-");
    let keeps = "kubectl storage retain pvc/data-web-0 pvc/data-web-1 pvc/data-web-2 … -n shop";
    assert!(told.contains("Terminating") && told.contains(keeps), "{told}");

    let mut shop = Shop::with("Delete", "Retain");
    shop.set["spec"]["persistentVolumeClaimRetentionPolicy"].take();
    let told = shop.refusal("Retain", "-");
    assert!(told.contains("drops the field"), "{told}");

    let mut shop = Shop::with("Delete", "Perhaps");
    shop.pods.clear();
    assert!(shop.refusal("Retain", "-").contains("set both fields"));
    assert!(shop.steps("Retain", "Retain").contains(&"set Retain Retain".to_owned()));

    let mut shop = Shop::with("Delete", "Retain");
    shop.set["metadata"]["annotations"] = json!({"storage.kubectl.dev/ignore": "all of it"});
    assert!(shop.refusal("Retain", "-").contains("storage.kubectl.dev/ignore"));
}

/// What is changed before a proposal.
type Edit<'a> = &'a dyn Fn(&mut Shop);

#[test]
fn what_deletes_claims_at_once_requires_the_flag() {
    let scaled = |shop: &mut Shop| {
        shop.pods.push((3, true));
        shop.others.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": "pv-3", "uid": "pv-3", "annotations": {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"},
            },
            "spec": {
                "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Delete",
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-3"},
                "claimRef": {"namespace": "shop", "name": "data-web-3", "uid": "claim-3"},
            },
            "status": {"phase": "Bound"},
        }));
    };
    let driven = |shop: &mut Shop| {
        shop.others.push(json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop", "uid": "hpa"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}},
        }));
    };
    // What the controller of the set does first, nobody knows.
    let terminating = |shop: &mut Shop| {
        scaled(shop);
        shop.terminating = Some(3);
    };
    // Only what is being scaled down is deleted by the change itself.
    let scaling_down = "a scale-down is in progress";
    let cases: [(Edit, &str, usize, bool); 3] = [
        (&scaled, scaling_down, 1, true),
        (&terminating, scaling_down, 1, false),
        (&driven, "sets its number of replicas", 0, false),
    ];
    for (change, reason, lost, is_certain) in cases {
        let mut shop = Shop::with("Retain", "Retain");
        change(&mut shop);
        let told = shop.refusal("-", "Delete");
        assert!(told.contains(reason) && told.contains("requires --destroy-data"), "{told}");
        assert!(shop.proposal("Delete", "-").relies_on.is_empty(), "only whenScaled matters");
        shop.destroy_data = true;
        let proposal = shop.proposal("-", "Delete");
        assert_eq!(proposal.relies_on, ["--destroy-data"]);
        let loses = proposal.loses;
        assert_eq!(
            (loses.volumes, loses.is_certain, loses.bytes),
            (lost, is_certain, (lost as u64) << 30)
        );
        let told = proposal.notices.iter().any(|it| it.contains("by this change itself: "));
        assert_eq!(told, lost > 0, "{:?}", proposal.notices);
        // It was so before.
        let mut shop = Shop::with("Retain", "Delete");
        change(&mut shop);
        assert!(shop.proposal("Delete", "-").relies_on.is_empty());
        assert!(shop.proposal("-", "Retain").relies_on.is_empty());
    }
}

#[test]
fn what_was_not_read_is_no_reason_to_go_on() {
    for (kind, deleted, scaled) in [
        (Kind::PersistentVolumeClaim, "Retain", "-"),
        (Kind::Pod, "Retain", "-"),
        (Kind::Pod, "Delete", "-"),
        (Kind::HorizontalPodAutoscaler, "-", "Delete"),
    ] {
        let mut shop = Shop::with("Delete", "Retain");
        if deleted == "Delete" {
            shop = Shop::with("Retain", "Retain");
        }
        shop.unread = vec![kind];
        let unseen: Seen<_> = shop.seen(deleted, scaled);
        assert!(matches!(unseen, Err(Unseen { kind: it, .. }) if it == kind), "{kind} {unseen:?}");
    }
    let mut shop = Shop::with("Delete", "Retain");
    shop.unread = vec![Kind::HorizontalPodAutoscaler];
    assert_eq!(shop.steps("Retain", "-").len(), 5, "autoscalers do not matter towards Retain");
}

#[test]
fn every_claim_is_told_what_the_change_means_for_it() {
    let mut shop = Shop::with("Delete", "Retain");
    let notices = shop.proposal("Retain", "Retain").notices;
    assert_eq!(
        notices,
        [
            "data-web-0 to data-web-3: if the StatefulSet is deleted, kept (before: deleted); if it is scaled to 0, \
          kept, as before"
        ]
    );
    shop.pods[0].1 = false;
    let notices = shop.proposal("Retain", "Retain").notices;
    assert!(notices.iter().all(|it| it.contains("is deleted, kept (before: ")), "{notices:?}");
    let shop = Shop::with("Retain", "Retain");
    let told = shop.proposal("Delete", "Delete").notices.join("\n");
    assert!(told.contains("if it is scaled to 0, deleted (before: kept)"), "{told}");
}

#[test]
fn a_part_is_proposed_as_it_was_confirmed_or_not_at_all() {
    let shop = Shop::with("Delete", "Retain");
    let asked = request("Retain", "-");
    let whole = shop.proposal("Retain", "-");
    let patch = whole.steps.iter().find(|it| word(it).starts_with("set")).expect("there is one");
    let alone = shop.ask(|cx, set| propose_part(cx, set, &asked, &RetentionPart::Policy));
    assert_eq!(alone.expect("seen").expect("proposed"), steps_alone(vec![patch.clone()]));

    let (from, to) = match patch {
        Action::SetRetentionPolicy { from, to, .. } => (from.clone(), to.clone()),
        other => panic!("{other:?}"),
    };
    let of_claim = |shop: &Shop, uid: &str, from: &RetentionPolicy| {
        shop.ask(|cx, set| {
            let mut object = set.object();
            object.uid = Uid::parse(uid);
            let part = RetentionPart::Claim { set: object, from: from.clone(), to: to.clone() };
            let key =
                crate::model::ClaimKey { namespace: "shop".into(), name: "data-web-3".into() };
            let claim = cx.claim(&key).expect("seen").expect("there is one");
            propose_for_claim(cx, claim, &part).expect("seen").map_err(|it| it.reason)
        })
    };
    let removal = of_claim(&shop, "set", &from).expect("proposed");
    assert_eq!(removal, steps_alone(vec![whole.steps[0].clone()]));
    let told = of_claim(&shop, "old", &from).expect_err("another set of that name");
    assert!(told.contains("recreated"), "{told}");
    // Somebody has set a third policy meanwhile.
    let told = of_claim(&Shop::with("Delete", "Delete"), "set", &from).expect_err("another policy");
    assert!(told.contains("another client has changed the policy"), "{told}");
    let mut free = Shop::with("Delete", "Retain");
    free.claims[3].1.clear();
    assert_eq!(of_claim(&free, "set", &from).expect("proposed").steps, []);

    let rest = |shop: &Shop| {
        shop.ask(|cx, set| propose_part(cx, set, &asked, &RetentionPart::Rest(to.clone())))
            .expect("seen")
            .map_err(|it| it.reason)
    };
    assert!(rest(&shop).expect_err("it is not set yet").contains("another client"));
    assert_eq!(rest(&Shop::with("Retain", "Retain")).expect("proposed").steps.len(), 4);
}

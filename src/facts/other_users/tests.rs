//! Tests of who else uses a claim: custom resources, marks, and what was not listed.

use std::cell::RefCell;
use std::sync::Arc;

use super::*;
use crate::cluster::{Change, Cluster, Dirty};
use crate::model::{CUSTOM_KINDS, CustomKind, NamedClaim, Row, Settings, UnlistedKind};

/// The claim `data-web-0` of namespace `shop`, with these labels.
fn claim(labels: &[(&str, &str)]) -> Claim {
    let mut labels: Vec<(Text, Text)> =
        labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    labels.sort();
    Claim {
        metadata: Metadata {
            name: "data-web-0".into(),
            labels: labels.into(),
            ..Metadata::default()
        },
        ..Claim::sample()
    }
}

fn kind(group: &str, name: &str) -> &'static CustomKind {
    CustomKind::find(group, name).expect("it is in the table")
}

fn user(kind: &'static CustomKind, name: &str, claims: &[(&str, NamedBy)]) -> CustomUser {
    let claims = claims.iter().map(|(claim, by)| NamedClaim {
        name: (*claim).into(),
        by: *by,
        field: "spec.x".into(),
    });
    CustomUser {
        kind,
        name: name.into(),
        cluster_wide: false,
        finished: false,
        claims: claims.collect(),
        uid: None,
        replicas: None,
    }
}

fn ask(answer: Option<Answer>, claim: &Claim) -> OtherUsers {
    let mut cluster = Cluster::default();
    if let Some(answer) = answer {
        let question = Question::CustomUsers { namespace: "shop".into() };
        cluster.apply(Change::Seen(Row::Answer(question, answer)), &mut Dirty::default());
    }
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &facts);
    other_users(&cx, claim)
}

fn with(users: Vec<CustomUser>, claim: &Claim) -> OtherUsers {
    ask(Some(Answer::Users(Arc::new(CustomUsers { users, unlisted: Vec::new() }))), claim)
}

fn words(found: &OtherUsers) -> Vec<String> {
    found.users.iter().map(|it| format!("{} ({})", it.words(), it.ended_by())).collect()
}

#[test]
fn an_object_that_names_the_claim_uses_it() {
    let plain = claim(&[]);
    for (user, expected) in [
        (
            user(kind("kubevirt.io", "VirtualMachine"), "vm", &[("data-web-0", NamedBy::Field)]),
            Some(
                "virtualmachine.kubevirt.io/vm references it in spec.x (remove the volume from it, or delete it)",
            ),
        ),
        (
            user(
                kind("cdi.kubevirt.io", "DataVolume"),
                "data-web-0",
                &[("data-web-0", NamedBy::OwnName)],
            ),
            Some(
                "datavolume.cdi.kubevirt.io/data-web-0 has its name, and would recreate it (delete it, which also deletes the claim that it owns)",
            ),
        ),
        (
            user(kind("apps.kruise.io", "StatefulSet"), "web", &[("data", NamedBy::Template)]),
            Some(
                "statefulset.apps.kruise.io/web has a template of which it is a claim (remove the claim from its template, or delete it)",
            ),
        ),
        // Near misses.
        (user(kind("keda.sh", "ScaledJob"), "j", &[("data-web", NamedBy::Field)]), None),
        (user(kind("apps.kruise.io", "StatefulSet"), "we", &[("data", NamedBy::Template)]), None),
        (
            user(kind("apps.kruise.io", "StatefulSet"), "0", &[("data-web", NamedBy::Template)]),
            None,
        ),
        (user(kind("postgresql.cnpg.io", "Cluster"), "data-web-0", &[]), None),
    ] {
        let found = with(vec![user], &plain);
        assert_eq!(words(&found).first().map(String::as_str), expected);
        let rest = (found.signs.len(), found.unseen, found.notices.len());
        assert_eq!(rest, (0, None, 0), "{expected:?}");
    }
}

#[test]
fn what_has_finished_or_is_not_decided_is_told() {
    let plain = claim(&[]);
    let workflow = kind("argoproj.io", "Workflow");
    let done =
        CustomUser { finished: true, ..user(workflow, "w", &[("data-web-0", NamedBy::Field)]) };
    let disk = CustomUser {
        finished: true,
        ..user(
            kind("cdi.kubevirt.io", "DataVolume"),
            "data-web-0",
            &[("data-web-0", NamedBy::OwnName)],
        )
    };
    let found = with(vec![done.clone()], &plain);
    assert!(found.users.is_empty() && found.signs.is_empty());
    assert_eq!(
        found.notices,
        [
            "workflow.argoproj.io/w references it in spec.x, and has finished: it starts no more pods unless it is started again"
        ]
    );
    assert_eq!(with(vec![done, disk], &plain).users.len(), 1, "a disk recreates its claim");

    let template = kind("argoproj.io", "WorkflowTemplate");
    let later = |name: &str| user(template, name, &[("{{inputs.claim}}", NamedBy::Field)]);
    let found = with(vec![later("a"), later("b"), later("c"), later("d")], &plain);
    assert!(found.users.is_empty() && found.signs.is_empty());
    assert_eq!(
        found.notices,
        [
            "which claim these use is decided when they run: workflowtemplate.argoproj.io/a (spec.x: {{inputs.claim}}), workflowtemplate.argoproj.io/b (spec.x: {{inputs.claim}}), workflowtemplate.argoproj.io/c (spec.x: {{inputs.claim}}) and 1 more"
        ]
    );
}

#[test]
fn what_may_use_it_is_a_sign() {
    let plain = claim(&[]);
    let everywhere = CustomUser {
        cluster_wide: true,
        ..user(
            kind("argoproj.io", "ClusterWorkflowTemplate"),
            "build",
            &[("data-web-0", NamedBy::Field)],
        )
    };
    let restored =
        user(kind("postgresql.cnpg.io", "Cluster"), "new", &[("data-web-0", NamedBy::Field)]);
    let found = with(vec![everywhere, restored], &plain);
    assert!(found.users.is_empty() && found.notices.is_empty());
    assert_eq!(
        found.signs,
        [
            "clusterworkflowtemplate.argoproj.io/build references it in spec.x, in whichever namespace it is run",
            "cluster.postgresql.cnpg.io/new references it in spec.x, which matters while it is being created",
        ]
    );
}

#[test]
fn marks_lead_to_the_objects_of_operators() {
    let cnpg = || user(kind("postgresql.cnpg.io", "Cluster"), "shop-db", &[]);
    let kafka = || user(kind("kafka.strimzi.io", "Kafka"), "bus", &[]);
    let hibernated = claim(&[("cnpg.io/cluster", "shop-db"), ("cnpg.io/pvcRole", "PG_DATA")]);
    let found = with(vec![cnpg(), kafka()], &hibernated);
    assert_eq!(
        words(&found),
        [
            "cluster.postgresql.cnpg.io/shop-db uses the claims with its label cnpg.io/cluster (remove it by its operator, or delete it)"
        ]
    );
    assert!(found.signs.is_empty());

    let broker = claim(&[("strimzi.io/cluster", "bus")]);
    for (what, users, labels, sign) in [
        (
            "its cluster was deleted, or hibernated by the plugin",
            vec![kafka()],
            &hibernated,
            "label cnpg.io/cluster=shop-db: CloudNativePG can use it again when cluster.postgresql.cnpg.io/shop-db is recreated",
        ),
        (
            "no pod set names it any more",
            vec![cnpg(), kafka()],
            &broker,
            "label strimzi.io/cluster=bus: Strimzi can use it again when kafka.kafka.strimzi.io/bus is scaled up",
        ),
        (
            "a broker of a cluster that was deleted",
            vec![],
            &broker,
            "label strimzi.io/cluster=bus: Strimzi can use it again when kafka.kafka.strimzi.io/bus is recreated",
        ),
        (
            "a database of Zalando's operator",
            vec![],
            &claim(&[("application", "spilo"), ("cluster-name", "acid-shop")]),
            "label application=spilo: Zalando's postgres-operator can use it again when postgresql.acid.zalan.do/acid-shop is recreated",
        ),
        (
            "without the label that names its object",
            vec![],
            &claim(&[("app.kubernetes.io/managed-by", "kubeblocks")]),
            "label app.kubernetes.io/managed-by=kubeblocks: KubeBlocks can use it again when its object is recreated",
        ),
        (
            "the home of a user",
            vec![],
            &claim(&[("app", "jupyterhub"), ("component", "singleuser-storage")]),
            "label component=singleuser-storage: JupyterHub starts a pod with it when its user logs in",
        ),
    ] {
        let found = with(users, labels);
        assert_eq!((found.users.len(), &*found.signs), (0, &[sign.to_owned()][..]), "{what}");
    }
}

#[test]
fn what_is_no_mark_means_nothing() {
    for labels in [
        &[("app", "web")][..],
        &[("app.kubernetes.io/managed-by", "Helm")],
        &[("velero.io/restore-name", "nightly"), ("velero.io/backup-name", "nightly")],
        &[("application", "shop")],
        &[("component", "database")],
        &[("cnpg.io/clusters", "x")],
    ] {
        assert_eq!(with(Vec::new(), &claim(labels)), OtherUsers::default(), "{labels:?}");
    }
    // What imported the claim is history, once nothing references it.
    let disk = claim(&[("app", "containerized-data-importer")]);
    let found = with(Vec::new(), &disk);
    assert!(found.users.is_empty() && found.signs.is_empty());
    assert_eq!(
        found.notices,
        ["label app=containerized-data-importer: KubeVirt CDI made it, and nothing references it"]
    );
    let vm = user(kind("kubevirt.io", "VirtualMachine"), "vm", &[("data-web-0", NamedBy::Field)]);
    let found = with(vec![vm], &disk);
    assert_eq!((found.users.len(), found.notices.len()), (1, 0));
}

#[test]
fn what_was_not_listed_is_not_absent() {
    let disk = claim(&[("app", "containerized-data-importer")]);
    let vm = kind("kubevirt.io", "VirtualMachine");
    let job = user(kind("keda.sh", "ScaledJob"), "j", &[("data-web-0", NamedBy::Field)]);
    let unlisted = vec![
        UnlistedKind { kind: vm, reason: "forbidden: no".into() },
        UnlistedKind { kind: kind("ray.io", "RayCluster"), reason: "timed out".into() },
    ];
    let found =
        ask(Some(Answer::Users(Arc::new(CustomUsers { users: vec![job], unlisted }))), &disk);
    assert_eq!(found.users.len(), 1, "one user proves use");
    assert!(found.notices.is_empty(), "that nothing references it is not known");
    let unseen = found.unseen.expect("two kinds were not listed");
    assert_eq!(
        unseen.reason,
        "unknown which custom resources use it: virtualmachines.kubevirt.io (forbidden: no), rayclusters.ray.io (timed out)"
    );
    for (answer, reason) in [
        (None, "they were not listed"),
        (Some(Answer::Unanswered("timed out".into())), "timed out"),
        (Some(Answer::No), "they were not listed"),
    ] {
        let found = ask(answer, &disk);
        let expected = format!("unknown which custom resources use it: {reason}");
        assert_eq!(found.unseen.map(|it| it.reason), Some(expected));
        assert!(found.notices.is_empty());
    }
}

#[test]
fn every_mark_names_a_kind_that_is_listed() {
    for mark in OPERATOR_MARKS {
        if let Some(owner) = &mark.owner {
            let kind = kind(owner.group, owner.kind);
            assert_eq!(kind.naming, Naming::Labels, "{}", mark.operator);
        }
    }
    let marked = |kind: &CustomKind| {
        OPERATOR_MARKS
            .iter()
            .filter_map(|it| it.owner.as_ref())
            .any(|owner| owner.group == kind.group && owner.kind == kind.kind)
    };
    for kind in CUSTOM_KINDS {
        assert_eq!(marked(kind), kind.naming == Naming::Labels, "{}.{}", kind.kind, kind.group);
    }
}

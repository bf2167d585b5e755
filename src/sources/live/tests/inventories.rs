//! Tests of the kinds of inventories that lie in the cluster: they are listed where they are served, and nothing misses
//! them elsewhere.

use serde_json::{Value, json as value};

use super::super::{LiveOptions, read};
use crate::client::test_server::{TestReply, TestServer, json, reply, unserved};
use crate::cluster::Coverage;
use crate::model::Kind;
use crate::sources::intake::Intake;

const VOLUMES: &str = "/apis/longhorn.io/v1beta2/volumes";

fn discovered(version: &str) -> TestReply {
    let kind =
        "content-type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n";
    let groups = value!([{"metadata": {"name": "longhorn.io"}, "versions": [{
        "version": version, "freshness": "Current", "resources": [{
            "resource": "volumes", "scope": "Namespaced", "responseKind": {"kind": "Volume"},
        }],
    }]}]);
    let groups = if version.is_empty() { value!([]) } else { groups };
    reply(200, kind, value!({"items": groups}).to_string())
}

fn volumes(items: &[Value]) -> TestReply {
    let list = value!({
        "kind": "VolumeList", "apiVersion": "longhorn.io/v1beta2", "metadata": {"resourceVersion": "1"}, "items": items,
    });
    json(list.to_string())
}

fn volume(name: &str, spec: &Value) -> Value {
    value!({
        "apiVersion": "longhorn.io/v1beta2", "kind": "Volume",
        "metadata": {"name": name, "namespace": "longhorn-system", "uid": name, "resourceVersion": "1"},
        "spec": spec, "status": {"state": "detached"},
    })
}

/// Reads the disks of Longhorn and of Trident from a server that serves Longhorn in this version, or not at all.
async fn listed(
    version: &'static str,
    answer: impl Fn() -> TestReply + Send + Sync + 'static,
) -> (Intake, Vec<String>) {
    let server =
        TestServer::start(move |asked| match asked.path.split('?').next().unwrap_or_default() {
            "/version" => json(r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}"#),
            "/readyz" => reply(200, "", "ok"),
            "/api" => discovered(""),
            "/apis" => discovered(version),
            VOLUMES => answer(),
            _ => unserved(),
        })
        .await;
    let kinds = vec![Kind::LonghornVolume, Kind::TridentVolume];
    let options = LiveOptions { kinds, ..LiveOptions::default() };
    let mut intake = Intake::new(None);
    let reader = server.reader().await;
    read(&reader, &options, &mut intake, &mut |_| {}).await.expect("readable");
    let asked = server.asked().into_iter().map(|it| it.path);
    (intake, asked.filter(|it| it.contains("longhorn") || it.contains("trident")).collect())
}

fn coverages(intake: &Intake) -> Vec<(Kind, Coverage)> {
    let all = intake.cluster.coverages();
    all.map(|(reach, coverage)| (reach.kind, coverage.clone())).collect()
}

#[tokio::test]
async fn an_inventory_is_listed_where_it_is_served() {
    let size = value!({"size": "1073741824"});
    let (intake, asked) = listed("v1beta2", move || volumes(&[volume("pvc-a", &size)])).await;
    let disks: Vec<_> = intake.cluster.inventory_disks().map(|it| (&*it.name, it.size)).collect();
    assert_eq!(disks, [("pvc-a", Some(1 << 30))]);
    assert!(matches!(coverages(&intake)[..], [(Kind::LonghornVolume, Coverage::Seen { .. })]));
    assert_eq!(asked.len(), 1, "what is not served is not asked for: {asked:?}");
}

#[tokio::test]
async fn without_any_everything_is_as_before() {
    let (intake, asked) = listed("", || volumes(&[])).await;
    assert!(coverages(&intake).is_empty() && intake.cluster.gaps().next().is_none());
    assert!(asked.is_empty(), "{asked:?}");
}

#[tokio::test]
async fn who_may_not_list_it_misses_nothing_else() {
    let denied = value!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
        "message": "volumes.longhorn.io is forbidden: User \"ann\" cannot list resource \"volumes\" in API group \"longhorn.io\" at the cluster scope",
    })
    .to_string();
    let forbidden = move || reply(403, "content-type: application/json\r\n", denied.clone());
    let (intake, asked) = listed("v1beta2", forbidden).await;
    assert_eq!(intake.cluster.gaps().count(), 0);
    let [(Kind::LonghornVolume, Coverage::Withheld(gap))] = &coverages(&intake)[..] else {
        panic!("{:?}", coverages(&intake));
    };
    assert!(gap.reason.starts_with("forbidden: User \"ann\""), "{}", gap.reason);
    assert_eq!(asked.len(), 1, "not by namespace either: {asked:?}");
}

#[tokio::test]
async fn a_version_that_is_not_known_is_told() {
    let (intake, asked) = listed("v3", || volumes(&[])).await;
    assert_eq!((intake.cluster.gaps().count(), asked.len()), (0, 0));
    assert!(matches!(
        &coverages(&intake)[..],
        [(Kind::LonghornVolume, Coverage::Withheld(gap))] if gap.reason.contains("served as v3 only")
    ));
}

#[tokio::test]
async fn a_list_that_fails_or_holds_what_cannot_be_read_is_a_gap() {
    let odd = value!([{"size": 1}]);
    let answers: [Box<dyn Fn() -> TestReply + Send + Sync>; 2] = [
        Box::new(|| reply(404, "", "a gateway")),
        Box::new(move || volumes(&[volume("pvc-a", &odd)])),
    ];
    for answer in answers {
        let (intake, _) = listed("v1beta2", answer).await;
        let gaps: Vec<_> = intake.cluster.gaps().map(|it| it.kind).collect();
        assert_eq!(gaps, [Kind::LonghornVolume]);
        assert!(intake.cluster.reach(Kind::LonghornVolume, None).is_err());
    }
}

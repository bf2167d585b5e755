//! Lists of a user who may list a kind in each namespace, but not in the whole cluster.

use crate::client::test_server::{TestServer, json, reply};
use crate::model::{Kind, Text};
use crate::sources::{
    intake::Intake,
    live::{self, LiveOptions},
};

#[tokio::test]
async fn namespaces_seen_one_by_one_do_not_add_up_to_all() {
    let forbidden = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
        "reason": "Forbidden", "message": "persistentvolumeclaims is forbidden: no"}"#;
    let server = TestServer::start(move |asked| {
        let path = asked.path.split('?').next().unwrap_or_default();
        match path {
            "/version" => json(r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}"#),
            "/api/v1/namespaces" => {
                json(r#"{"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "shop"}}]}"#)
            }
            "/api/v1/namespaces/shop/persistentvolumeclaims" => {
                json(r#"{"kind": "PersistentVolumeClaimList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}"#)
            }
            _ => reply(403, "content-type: application/json\r\n", forbidden),
        }
    })
    .await;
    let options = LiveOptions {
        kinds: vec![Kind::PersistentVolumeClaim],
        namespace: "default".to_owned(),
        ..LiveOptions::default()
    };
    let mut intake = Intake::new(None);
    let reader = server.reader().await;
    live::read(&reader, &options, &mut intake, &mut |_| {}).await.expect("readable");
    let seen = |namespace: Option<&str>| {
        let namespace = namespace.map(Text::from);
        intake.cluster.reach(Kind::PersistentVolumeClaim, namespace.as_ref()).is_ok()
    };
    assert!(seen(Some("shop")));
    assert!(!seen(Some("new")) && !seen(None));
    // A gap makes the run exit with another code than 0.
    assert_eq!(intake.cluster.gaps().count(), 1);
}

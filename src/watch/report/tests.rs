use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::Value;
use tokio::time::sleep;

use super::super::leader::Standing;
use super::super::leader::tests::eventually;
use super::super::policy::report::{OpenReportsPolicy, WebhookPolicy};
use super::super::{Pace, judging};
use super::*;
use crate::apply::Moment;
use crate::client::test_server::{ReceivedRequest, TestServer, reply};
use crate::cluster::{Change, Coverage, Dirty, Gap, Reach};
use crate::dump::Input;
use crate::model::{Kind, Settings, Severity};
use crate::rules::Assessor;
use crate::sources::documents;
use crate::sources::documents::DumpOptions;
use crate::sources::intake::Intake;

/// What was told at a webhook, by finding and object; each once.
fn told(hook: &TestServer) -> BTreeSet<String> {
    let mut told = BTreeSet::new();
    for message in hook.asked() {
        let message: Value = serde_json::from_str(&message.body).expect("because it is JSON");
        assert_eq!(message["omitted"], 0, "because there are few");
        for finding in message["findings"].as_array().expect("because there is a list") {
            assert_eq!(finding["event"], "appeared", "{finding}");
            let is_new = told.insert(format!("{} {}", finding["id"], finding["object"]));
            assert!(is_new, "told twice: {finding}");
        }
    }
    told
}

fn judge(reconciler: &mut Reconciler, intake: &mut Intake) -> Told {
    reconciler.judge(&intake.cluster, std::mem::take(&mut intake.dirty));
    Told { news: reconciler.report(&intake.cluster), ..Told::default() }
}

#[tokio::test]
async fn who_takes_over_during_a_gap_tells_what_there_is_and_the_rest_when_it_is_read() {
    let (api, hook) = (
        TestServer::start(|_| reply(500, "", "")).await,
        TestServer::start(|_| reply(200, "", "")).await,
    );
    let folder = tempfile::tempdir().expect("a folder");
    let url_file = folder.path().join("url");
    std::fs::write(&url_file, format!("{}/hook", hook.url)).expect("a file");
    let webhook = WebhookPolicy { url_file, severity: Severity::Info };
    let policy = ReportPolicy { webhook: Some(webhook), ..ReportPolicy::default() };
    let stands = Standing::Stands { leader: Some("other".to_owned()), failure: None };
    let (standing, leadership) = Leadership::of_test(stands);
    let connection = api.connect().await;
    let reporters = Reporters::start(&policy, &connection, leadership, Arc::default()).await;
    let mut reporters = reporters.expect("because it serves nothing");

    let mut intake = example();
    let mut reconciler = first_look(&mut intake);
    let news = reconciler.report(&intake.cluster);
    let all = news.findings.len();
    reporters.hear(&Told { news, ..Told::default() }, &intake.cluster, &reconciler);

    // Volumes are not read any more; what was found of them stands.
    let kind = Kind::PersistentVolume;
    let gap = Gap { kind, namespace: None, reason: "the server is away".to_owned() };
    intake.apply(Change::Lost(gap));
    let lost = judge(&mut reconciler, &mut intake);
    let readable = reconciler.assessor().findings(&intake.cluster, reconciler.settings()).count();
    assert!(0 < readable && readable < all, "{readable} of {all}");
    assert_eq!(reconciler.count(), all);
    reporters.hear(&lost, &intake.cluster, &reconciler);
    assert!(!reporters.is_behind());

    // The other one is gone.
    let term = Term { lease: "u".to_owned(), transitions: 1 };
    standing.send_replace(Standing::Leads {
        term,
        renewed: Moment::now(),
        lasts: Duration::from_secs(3600),
        unattended: None,
        restarted: None,
    });
    assert!(reporters.is_behind());
    reporters.hear(&Told::default(), &intake.cluster, &reconciler);
    eventually("what there is is told", || told(&hook).len() == readable).await;
    reporters.hear(&Told::default(), &intake.cluster, &reconciler);

    let whole = Coverage::Seen { began: 0, ended: 1 };
    intake.apply(Change::Covered(Reach::all(kind), whole));
    let read_again = judge(&mut reconciler, &mut intake);
    let is_change = |it: &FindingEvent| matches!(it, FindingEvent::Changed(_));
    assert!(read_again.news.findings.iter().all(is_change), "{:?}", read_again.news.findings);
    reporters.hear(&read_again, &intake.cluster, &reconciler);
    eventually("everything is told", || told(&hook).len() == all).await;
    // And no more than that.
    reporters.hear(&Told::default(), &intake.cluster, &reconciler);
    sleep(Duration::from_millis(50)).await;
    assert_eq!(told(&hook).len(), all);
}

#[tokio::test]
async fn a_process_that_begins_during_a_gap_deletes_no_report() {
    let api = TestServer::start(|asked| {
        let of_cluster = serde_json::json!({"metadata": {
            "name": "kubectl-storage-watch", "uid": "u", "resourceVersion": "1",
            "labels": {"app.kubernetes.io/managed-by": "kubectl-storage"},
            "annotations": {"storage.kubectl.dev/written-for": "cluster"},
        }});
        let items =
            if asked.path.contains("/clusterreports") { vec![of_cluster] } else { Vec::new() };
        let kind = "PartialObjectMetadataList";
        let list =
            serde_json::json!({"apiVersion": "meta.k8s.io/v1", "kind": kind, "items": items});
        match &*asked.method {
            "GET" => crate::client::test_server::json(list.to_string()),
            _ => reply(201, "", "{}"),
        }
    });
    let api = api.await;
    let open_reports = Some(OpenReportsPolicy { severity: Severity::Info });
    let policy = ReportPolicy { open_reports, ..ReportPolicy::default() };
    let connection = api.connect().await;
    let started = Reporters::start(&policy, &connection, Leadership::alone(), Arc::default()).await;
    let mut reporters = started.expect("because it serves nothing");
    let mut intake = example();
    let kind = Kind::PersistentVolume;
    let gap = Gap { kind, namespace: None, reason: "the server is away".to_owned() };
    intake.apply(Change::Lost(gap));
    let mut reconciler = first_look(&mut intake);
    let news = reconciler.report(&intake.cluster);
    assert!(!news.findings.is_empty(), "there are findings of claims");
    reporters.hear(&Told { news, ..Told::default() }, &intake.cluster, &reconciler);
    let is_write = |it: &ReceivedRequest| it.method != "GET";
    eventually("what is found is written", || api.asked().iter().any(is_write)).await;
    sleep(Duration::from_millis(100)).await;
    let touches = |it: &ReceivedRequest| is_write(it) && it.path.contains("/clusterreports");
    assert!(!api.asked().iter().any(touches), "{:?}", api.asked());

    // While they are listed again neither; and then it may.
    let mut cover = |coverage| {
        intake.apply(Change::Covered(Reach::all(kind), coverage));
        judge(&mut reconciler, &mut intake);
        reconciler.sees_all(&intake.cluster)
    };
    assert!(!cover(Coverage::Listing { began: 0 }));
    assert!(cover(Coverage::Seen { began: 0, ended: 1 }));
}

fn example() -> Intake {
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz");
    let dump = [Input::Path(PathBuf::from(dump))];
    let mut intake = Intake::new(None);
    documents::read(&dump, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
        .expect("it ships with us");
    intake
}

fn first_look(intake: &mut Intake) -> Reconciler {
    let (settings, mut assessor) = (Settings::default(), Assessor::default());
    judging::update(&mut assessor, &intake.cluster, &settings, Dirty::everything());
    intake.dirty = Dirty::default();
    Reconciler::new(settings, assessor, &intake.cluster, Pace::default())
}

/// An authority of its own.
pub(super) struct TestAuthority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(super) struct TestCertificate {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivatePkcs8KeyDer<'static>,
}

impl TestAuthority {
    /// Another one has another name, as any two have.
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("because it names nobody");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("because ring has randomness");
        Self(CertifiedIssuer::self_signed(params, key).expect("because the key signs"))
    }

    /// Signs a certificate for a name; one that has ended, if that is wanted.
    pub(super) fn sign(&self, name: &str, is_over: bool) -> TestCertificate {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("because it is one");
        if is_over {
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().expect("because ring has randomness");
        let signed = params.signed_by(&key, &self.0).expect("because the key signs");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        TestCertificate { chain: vec![signed.der().clone()], key }
    }

    /// Trusts this authority, and nobody else.
    pub(super) fn trusted(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("because it is a certificate");
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("because ring has them")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }
}

impl TestCertificate {
    /// Serves with it.
    pub(super) fn served(&self) -> ServerConfig {
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("because ring has them")
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key().into())
            .expect("because they fit together")
    }

    /// Certificate and key as files hold them.
    pub(super) fn pem(&self) -> [String; 2] {
        let certificate = self.chain.iter().map(|it| pem("CERTIFICATE", it)).collect();
        [certificate, pem("PRIVATE KEY", self.key.secret_pkcs8_der())]
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let base64 = serde_json::to_value(k8s_openapi::ByteString(der.to_vec()));
    let base64 = base64.expect("because it is text").as_str().unwrap_or_default().to_owned();
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::*;
use crate::apply::Moment;
use crate::client::test_server::{TestServer, reply};
use crate::cluster::{Change, Coverage, Dirty, Gap, Reach};
use crate::dump::Input;
use crate::model::{Kind, Settings, Severity};
use crate::rules::Assessor;
use crate::sources::documents::{self, DumpOptions};
use crate::sources::intake::Intake;
use crate::watch::leader::{Standing, tests::eventually};
use crate::watch::policy::report::WebhookPolicy;
use crate::watch::{Pace, judging};

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

    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz");
    let dump = [Input::Path(PathBuf::from(dump))];
    let mut intake = Intake::new(None);
    documents::read(&dump, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
        .expect("it ships with us");
    let settings = Settings::default();
    let mut assessor = Assessor::default();
    judging::update(&mut assessor, &intake.cluster, &settings, Dirty::everything());
    intake.dirty = Dirty::default();
    let mut reconciler = Reconciler::new(settings, assessor, &intake.cluster, Pace::default());
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

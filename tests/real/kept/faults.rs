//! What is recorded of a kept backend volume where something between the tool and the API server is at fault.

use serde_json::{Value, json};

use super::{
    CLUSTER, ID, Volume, audit, changes, driver, journal, keep, receipt, recorded, released,
};
use crate::support::{Fault, Scenario};

/// `gc --keep-backend` of two volumes by way of a proxy with a fault. The first of them, as they are kept here, met it.
fn with_fault(claims: [&str; 2], fault: impl FnOnce(&Scenario, &[Volume]) -> Fault) -> Interfered {
    let on = Scenario::on(&CLUSTER);
    let mut volumes = released(&on, &claims);
    let home = tempfile::tempdir().expect("a folder");
    let proxy = on.cluster.proxy();
    proxy.fault(fault(&on, &volumes));
    let names: Vec<_> = volumes.iter().map(|it| &*it.name).collect();
    let more = [&names[..], &["--no-events", "--record-namespace", &on.name]].concat();
    let before = on.cluster.mark();
    let outcome = keep(home.path(), proxy.kubeconfig(), &more).go();
    let receipt = receipt(&outcome);
    let mut deleted = changes(on.cluster.requests_since(before));
    deleted.retain(|it| volumes.iter().any(|volume| it["objectRef"]["name"] == *volume.name));
    let deleted = deleted.iter().map(|it| it["objectRef"]["name"].clone()).collect();
    let unanswered = |it: &Volume| outcome_of(&receipt, it) == "unanswered";
    volumes.sort_by_key(|it| !unanswered(it));
    Interfered { on, volumes, home, receipt, code: outcome.code, deleted }
}

fn outcome_of<'a>(receipt: &'a Value, volume: &Volume) -> &'a Value {
    let changes = receipt["changes"].as_array().expect("a receipt has changes");
    let change = changes.iter().find(|it| it["object"]["name"] == *volume.name);
    change.map_or(&Value::Null, |it| &it["outcome"])
}

/// The path of either of two volumes, the first that is deleted.
fn either(volumes: &[Volume]) -> String {
    format!("^/api/v1/persistentvolumes/({}|{})$", volumes[0].name, volumes[1].name)
}

struct Interfered {
    on: Scenario<'static>,
    volumes: Vec<Volume>,
    home: tempfile::TempDir,
    receipt: Value,
    code: Option<i32>,
    /// The volumes whose deletion came to the API server, no dry runs.
    deleted: Vec<Value>,
}

impl Interfered {
    fn outcome(&self, volume: usize) -> &Value {
        outcome_of(&self.receipt, &self.volumes[volume])
    }

    /// Panics unless the first volume's object is gone, and the journal and the record in the cluster say which backend
    /// volume was kept, with its outcome open; and unless the second one is as it was.
    fn is_recorded(&self) {
        assert_eq!(self.code, Some(6), "{:#}", self.receipt);
        assert_eq!(self.outcome(0), "unanswered", "{:#}", self.receipt);
        assert_eq!(self.deleted, [json!(self.volumes[0].name)], "{:#}", self.receipt);
        let (first, second) = (&self.volumes[0], &self.volumes[1]);
        assert!(self.on.get(&first.object).is_none() && driver().has(&first.handle));
        let kept = recorded(&self.on.name, first).expect("it is in the record");
        let lines = journal(self.home.path());
        let entry = lines.iter().find(|it| it["keeps"] == true).expect("it is in the journal");
        assert_eq!(entry["backend"]["handle"], *first.handle, "{entry:#}");
        assert_eq!(kept["entry"], entry["sequence"], "{kept:#}");
        let ends: Vec<_> = lines.iter().filter(|it| it["of"] == entry["sequence"]).collect();
        assert!(
            ends.iter().all(|it| it["outcome"] == "unanswered") && ends.len() == 1,
            "{ends:#?}"
        );
        assert_eq!(self.on.read(&second.object)["status"]["phase"], "Released");
        assert!(recorded(&self.on.name, second).is_none());
        // So the backend volume is found again.
        let report = audit(&self.on, self.home.path(), &["--record-namespace", &self.on.name]);
        report.finding(ID, &first.object);
    }
}

/// Something drops what says that a deletion is a dry run: the run ends, and what is lost is recorded.
#[test]
fn a_dry_run_that_was_carried_out_is_recorded_and_ends_the_run() {
    let interfered = with_fault(["real-a", "real-b"], |_, volumes| {
        Fault::dry_is_real().on("DELETE", &either(volumes)).dry().times(1)
    });
    interfered.is_recorded();
}

/// The answer to a deletion breaks off after 200: it may have been carried out, and it was.
#[test]
fn the_record_stays_where_an_answer_breaks_off() {
    let interfered = with_fault(["cut-a", "cut-b"], |_, volumes| {
        Fault::cut_after().on("DELETE", &either(volumes)).real().times(1)
    });
    interfered.is_recorded();
}

/// A proxy sends a deletion twice: the object is not there for the second.
#[test]
fn the_record_stays_where_a_deletion_was_sent_twice() {
    let interfered = with_fault(["twice-a", "twice-b"], |_, volumes| {
        let volume = &volumes[0];
        let path = format!("^/api/v1/persistentvolumes/{}$", volume.name);
        Fault::status_after(404).absent(&volume.name).on("DELETE", &path).real()
    });
    assert_eq!(interfered.outcome(0), "unanswered", "{:#}", interfered.receipt);
    let first = &interfered.volumes[0];
    assert!(interfered.on.get(&first.object).is_none() && driver().has(&first.handle));
    assert!(recorded(&interfered.on.name, first).is_some(), "the only reference is gone");
    assert_eq!(interfered.outcome(1), "done", "{:#}", interfered.receipt);
}

/// A login page with 200 in the place of the record is no record, and without one nothing is deleted.
#[test]
fn a_login_page_is_no_record() {
    let interfered = with_fault(["page-a", "page-b"], |on, _| {
        let path = format!("^/api/v1/namespaces/{}/configmaps", on.name);
        Fault::status(200).text("<html>please log in</html>").on("POST", &path).real()
    });
    for (at, volume) in interfered.volumes.iter().enumerate() {
        assert_ne!(interfered.outcome(at), "done", "{:#}", interfered.receipt);
        assert_eq!(interfered.on.read(&volume.object)["status"]["phase"], "Released");
        assert!(recorded(&interfered.on.name, volume).is_none());
    }
    assert!(interfered.deleted.is_empty(), "{:#}", interfered.receipt);
}

//! A journal to which leaders append, on a real control plane: by the epochs of a Lease.

use kubectl_storage::apply::{JournalLeader, OpenJournal, cluster_history};
use kubectl_storage::client::{Connection, ConnectionOptions, Reader, connect};
use kubectl_storage::journal::rate::{Rate, rate};
use kubectl_storage::journal::{Intent, JournalRecord, Opening, SentRequest, Term};
use kubectl_storage::model::{Kind, ObjectKey, ObjectRef};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{FIRST, bound, elsewhere, entries, there, written};
use crate::support::{Admin, Scenario, shared};

const LEASE: &str = "kubectl-storage-watch";

/// What acts in the background, in the name of somebody.
struct Acting<'a> {
    admin: &'a Admin<'a>,
    connection: Connection,
    runtime: Runtime,
}

impl<'a> Acting<'a> {
    fn of(admin: &'a Admin<'a>) -> Self {
        let runtime = Runtime::new().expect("because the machine has threads");
        let options = ConnectionOptions {
            kubeconfig: Some(admin.on.cluster.kubeconfig().to_owned()),
            as_user: Some(admin.name.clone()),
            as_groups: vec!["system:masters".to_owned()],
            ..ConnectionOptions::default()
        };
        let connection = runtime.block_on(connect(&options, "acting"));
        Self { admin, connection: connection.expect("because the cluster has started"), runtime }
    }

    /// The Lease, which has changed hands so often.
    fn elected(&self, lease: &Value, transitions: u64) -> JournalLeader {
        JournalLeader {
            term: Term {
                lease: lease["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
                transitions,
            },
            namespace: self.admin.on.name.as_str().into(),
            lease: LEASE.into(),
        }
    }

    fn open(&self, leader: &JournalLeader) -> Result<(OpenJournal, Opening), String> {
        let namespace = &*self.admin.on.name;
        let opened = OpenJournal::in_cluster(&self.connection, "acting", namespace, Some(leader));
        self.runtime.block_on(opened).map_err(|error| error.to_string())
    }

    /// Records what is about to be sent; `filling` makes the record long.
    fn append(&self, to: &OpenJournal, volume: &str, filling: usize) -> Result<u64, String> {
        let body = json!([{
            "op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Delete",
        }]);
        let intent = Intent {
            command: "gc".to_owned(),
            object: ObjectRef {
                key: ObjectKey::cluster_wide(Kind::PersistentVolume, volume),
                uid: None,
            },
            action: "set-reclaim-policy".to_owned(),
            because: "reclaim".to_owned(),
            request: SentRequest {
                method: "PATCH".to_owned(),
                path: format!("/api/v1/persistentvolumes/{volume}"),
                content_type: "application/json-patch+json".to_owned(),
                body,
            },
            pre_image: Some(json!({"metadata": {"name": volume}, "filling": "x".repeat(filling)})),
            backend: None,
            capacity: None,
            keeps: false,
            adds_finalizer: None,
            removes_finalizer: None,
            undoes: None,
        };
        let run = "run".to_owned();
        let record = JournalRecord::Intent { run, at: None, intent: Box::new(intent) };
        let mut appended = self.runtime.block_on(to.append_all(vec![record]));
        appended.remove(0).map_err(|error| error.to_string())
    }

    fn rate(&self) -> Rate {
        let (reader, namespace) = (Reader::new(&self.connection), &*self.admin.on.name);
        let history = self.runtime.block_on(cluster_history(&reader, namespace));
        rate(&history.expect("because it may be read"), chrono::Utc::now())
    }
}

fn lease(on: &Scenario, transitions: u64) -> Value {
    on.create(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE},
        "spec": {"holderIdentity": "pod", "leaseTransitions": transitions},
    }));
    on.read(&format!("lease/{LEASE}"))
}

#[test]
fn a_leader_that_was_stopped_appends_nothing_once_a_later_one_has_begun() {
    let on = Scenario::on(shared());
    let (admin, there) = (Admin::of(&on), there(&on));
    let acting = Acting::of(&admin);
    let elected = lease(&on, 1);
    let mark = on.cluster.mark();

    let (first, _) = acting.open(&acting.elected(&elected, 1)).expect("nobody has led before");
    assert_eq!(acting.append(&first, "one", 0), Ok(2));
    let update = format!("update {FIRST}");
    assert_eq!(written(&admin, mark), [&*format!("create {FIRST}"), &*update]);

    // The first one was stopped for a while, and goes on.
    let (second, opening) = acting.open(&acting.elected(&elected, 2)).expect("it is later");
    assert_eq!(opening, Opening::default());
    let mark = on.cluster.mark();
    let late = acting.append(&first, "late", 0).expect_err("it does not lead any more");
    assert!(late.contains("nothing was sent") && late.contains("a later leader"), "{late}");
    // What it read is not there any more: the API server refuses it, and it does not try again.
    assert_eq!(written(&admin, mark), [format!("{update} 409")]);
    assert!(acting.open(&acting.elected(&elected, 1)).is_err());

    // A person leads nothing, and ends no term.
    let volume = bound(&on, "data");
    elsewhere(&admin, &["retain", &format!("pv/{volume}"), "--yes", &there]).ends(0);
    // A long record closes the segment, which nobody can change then.
    assert_eq!(acting.append(&second, "two", 40 * 1024), Ok(7));
    let edit = json!({"data": {"journal.jsonl": ""}}).to_string();
    let edit =
        ["patch", "configmap", "kubectl-storage-journal-000001", "-n", &on.name, "-p", &edit];
    let refused = on.cluster.try_kubectl(&edit, "").expect_err("it is immutable");
    assert!(refused.contains("immutable"), "{refused}");
    assert_eq!(acting.append(&second, "three", 0), Ok(8));

    // The Lease was deleted and created again: its leader is the later one, whatever it counts.
    on.delete(&format!("lease/{LEASE}"));
    let again = lease(&on, 0);
    let (third, _) = acting.open(&acting.elected(&again, 0)).expect("its Lease exists");
    let late = acting.append(&second, "late", 0).expect_err("its Lease was deleted");
    assert!(late.contains("a later leader"), "{late}");
    assert_eq!(acting.append(&third, "four", 0), Ok(10));

    let all = entries(&elsewhere(&admin, &["journal", &there]).ends(0));
    let shown: Vec<_> =
        all.iter().map(|it| (&it["object"]["name"], &it["term"]["transitions"])).collect();
    let of = |name: &str, transitions: Value| (json!(name), transitions);
    let expected = [
        of("one", json!(1)),
        of(&volume, Value::Null),
        of("two", json!(2)),
        of("three", json!(2)),
        of("four", json!(0)),
    ];
    assert_eq!(shown, expected.each_ref().map(|(name, term)| (name, term)));
    assert_eq!(all[4]["term"]["lease"], again["metadata"]["uid"]);

    // What may have been done counts, and that a part is missing is told.
    let found = acting.rate();
    assert_eq!((found.changes, found.destroying, found.incomplete), (5, 4, None));
    on.delete("configmap/kubectl-storage-journal-000001");
    let found = acting.rate();
    assert_eq!((found.changes, found.destroying), (2, 2));
    let why = found.incomplete.expect("what is missing may be of this hour");
    assert!(why.contains("segment 1 does not exist"), "{why}");
}

//! What the tool says will happen, from its own look at the cluster.

use std::collections::{BTreeMap, BTreeSet};

use kubectl_storage::client::{Connection, ConnectionOptions, Reader, connect};
use kubectl_storage::cluster::{Cx, Facts};
use kubectl_storage::facts::retention::{
    ClaimOutcome, Operation, Prediction, Readiness, SetSituation, simulate_steps,
};
use kubectl_storage::model::{Kind, OwnerReference, Question, Settings, Text, Uid};
use kubectl_storage::sources::answers;
use kubectl_storage::sources::intake::Intake;
use kubectl_storage::sources::live::{self, LiveOptions};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::Cluster;

/// What was foretold about a set's claims.
pub(super) struct Foretold {
    pub(super) situation: SetSituation,
    pub(super) predictions: Vec<Prediction>,
    /// The same, by somebody who does not know in which order the set's pods come and go.
    pub(super) unordered: Vec<Prediction>,
}

/// What a look at a cluster needs for the claims of sets.
const KINDS: [Kind; 4] =
    [Kind::StatefulSet, Kind::Pod, Kind::PersistentVolume, Kind::PersistentVolumeClaim];

/// Rounds of questions about owners.
const ROUNDS: usize = 3;

/// Looks at the cluster as an audit does, and foretells what an operation does to the set `web`, if there is one.
pub(super) async fn foretell(
    connection: &Connection,
    namespace: &str,
    ordered: bool,
    operations: &[Operation],
) -> Option<Foretold> {
    let reader = Reader::new(connection);
    let options = LiveOptions { kinds: KINDS.to_vec(), ..LiveOptions::default() };
    let mut intake = Intake::new(None);
    live::read(&reader, &options, &mut intake, &mut |_| {})
        .await
        .unwrap_or_else(|error| panic!("{namespace}: {error}"));
    let mut situation = None;
    for _ in 0..ROUNDS {
        let (seen, questions) = look(&intake, namespace);
        if questions.is_empty() {
            situation = seen;
            break;
        }
        answers::ask(&reader, questions, &mut intake)
            .await
            .unwrap_or_else(|error| panic!("{namespace}: {error}"));
    }
    let mut situation = situation?;
    situation.set.ordered = None;
    let unordered = simulate_steps(&situation, operations);
    situation.set.ordered = Some(ordered);
    // Here nobody makes a pod ready that is not; a user does not know that.
    for pod in situation.pods.values_mut().filter(|it| it.readiness == Readiness::NotReady) {
        pod.readiness = Readiness::Never;
    }
    let predictions = simulate_steps(&situation, operations);
    Some(Foretold { situation, predictions, unordered })
}

fn look(intake: &Intake, namespace: &str) -> (Option<SetSituation>, BTreeSet<Question>) {
    let settings = Settings::default();
    let facts = std::cell::RefCell::new(Facts::default());
    let cx = Cx::new(&intake.cluster, &settings, &facts);
    let set = cx.set(&Text::from(namespace), "web").ok().flatten();
    let situation = set.and_then(|set| SetSituation::of(&cx, set).ok());
    (situation, cx.take_questions())
}

/// Foretells what an operation does to the set `web` of a scenario: a word for each claim.
pub(super) fn words(
    cluster: &Cluster,
    namespace: &str,
    ordered: bool,
    operation: &Operation,
) -> Vec<&'static str> {
    let runtime = Runtime::new().expect("because the machine has threads");
    let foretold = runtime.block_on(async {
        foretell(&connection(cluster).await, namespace, ordered, std::slice::from_ref(operation))
            .await
    });
    let foretold = foretold.unwrap_or_else(|| panic!("{namespace}: the set was not seen"));
    foretold.predictions.iter().map(|it| word(&it.outcome)).collect()
}

/// The tool's own way to a cluster.
pub(super) async fn connection(cluster: &Cluster) -> Connection {
    let options = ConnectionOptions {
        kubeconfig: Some(cluster.kubeconfig().to_owned()),
        ..ConnectionOptions::default()
    };
    connect(&options, "foretelling").await.expect("because the cluster has started")
}

/// What became of a claim, in a word.
pub(super) fn word(outcome: &ClaimOutcome) -> &'static str {
    match outcome {
        ClaimOutcome::Kept => "kept",
        ClaimOutcome::Reowned(_) => "reowned",
        ClaimOutcome::Deleted { recreated: false, .. } => "deleted",
        ClaimOutcome::Deleted { recreated: true, .. } => "recreated",
        ClaimOutcome::Unknown(_) => "unknown",
    }
}

/// Says what happened otherwise than it was foretold.
pub(super) fn differs(
    prediction: &Prediction,
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> Option<String> {
    let name = &*prediction.claim;
    let old = &before[name]["metadata"];
    let new = after.get(name).map(|claim| &claim["metadata"]);
    let same = new.is_some_and(|new| new["uid"] == old["uid"]);
    let going = same && new.is_some_and(|new| !new["deletionTimestamp"].is_null());
    let owners = new.map(references).unwrap_or_default();
    let right = match &prediction.outcome {
        ClaimOutcome::Unknown(_) => true,
        ClaimOutcome::Kept => same && !going && owners == references(old),
        ClaimOutcome::Reowned(foretold) => same && !going && owners == *foretold,
        // One that hangs makes no room for another.
        ClaimOutcome::Deleted { .. } if going => !prediction.held_by.is_empty(),
        ClaimOutcome::Deleted { recreated, .. } => !same && new.is_some() == *recreated,
    };
    let happened = match new {
        None => "it is gone".to_owned(),
        Some(_) if going => "it is being deleted".to_owned(),
        Some(_) if same => format!("it is there, owned by {owners:?}"),
        Some(_) => "there is another of its name".to_owned(),
    };
    (!right).then(|| {
        format!(
            "{name} (owned by {:?}, deleting {}): foretold {:?} because of {:?}, held by {:?}, but {happened}",
            references(old),
            !old["deletionTimestamp"].is_null(),
            prediction.outcome,
            prediction.reason,
            prediction.held_by,
        )
    })
}

fn references(metadata: &Value) -> Vec<OwnerReference> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reference = |it: &Value| OwnerReference {
        api_version: Text::from(&*text(&it["apiVersion"])),
        kind: Text::from(&*text(&it["kind"])),
        name: text(&it["name"]).into(),
        uid: Uid::parse(&text(&it["uid"])),
        controller: it["controller"] == true,
        blocks_deletion: it["blockOwnerDeletion"] == true,
    };
    metadata["ownerReferences"].as_array().into_iter().flatten().map(reference).collect()
}

//! The matrix on the page about claims of `StatefulSet`s is what the code foretells.

use std::fmt::Write as _;

use kubectl_storage::facts::retention::{
    ClaimOutcome, Operation, OwnerState, Prediction, Presence, Propagation, Readiness,
    ReferenceForm, SetClaimState, SetPodState, SetSituation, SetState, VolumeEffect, simulate,
    simulate_steps, wanted_owners,
};
use kubectl_storage::model::{OwnerReference, Retention, RetentionPolicy, Uid};

use crate::support::{expect_file, read, root};

const PAGE: &str = "docs/statefulset-claims.md";
const BEGIN: &str = "<!-- matrix -->\n";
const END: &str = "<!-- /matrix -->";

const POLICIES: [(Retention, Retention); 4] = [
    (Retention::Retain, Retention::Retain),
    (Retention::Delete, Retention::Retain),
    (Retention::Retain, Retention::Delete),
    (Retention::Delete, Retention::Delete),
];

#[test]
fn the_page_prints_what_the_code_foretells() {
    let page = read(&root().join(PAGE));
    let (before, rest) = page.split_once(BEGIN).expect("the mark of the matrix");
    let (_, after) = rest.split_once(END).expect("the end of the matrix");
    let mut matrix = String::new();
    owners(&mut matrix);
    operations(&mut matrix);
    changes(&mut matrix);
    expect_file(&root().join(PAGE), &format!("{before}{BEGIN}\n{matrix}\n{END}{after}"));
}

fn policy((when_deleted, when_scaled): &(Retention, Retention)) -> RetentionPolicy {
    RetentionPolicy { when_deleted: when_deleted.clone(), when_scaled: when_scaled.clone() }
}

fn head(page: &mut String, title: &str, columns: &[&str]) {
    let _ = writeln!(
        page,
        "{title}\n\n| {} |\n|{}",
        columns.join(" | "),
        " --- |".repeat(columns.len())
    );
}

fn row(page: &mut String, policy: &RetentionPolicy, cells: &[String]) {
    let RetentionPolicy { when_deleted, when_scaled } = policy;
    let _ = writeln!(page, "| {when_deleted} | {when_scaled} | {} |", cells.join(" | "));
}

/// Who owns a claim that has a pod.
fn owners(page: &mut String) {
    let columns = [
        "whenDeleted",
        "whenScaled",
        "claim of a pod in range",
        "claim of a pod that is scaled away",
    ];
    head(page, "The owner references that the controller writes:", &columns);
    for values in &POLICIES {
        let policy = policy(values);
        let words = |condemned| {
            let wanted = wanted_owners(Some(&policy), condemned);
            match (wanted.set, wanted.pod) {
                (false, false) => "none",
                (true, false) => "StatefulSet",
                (false, true) => "pod",
                (true, true) => "StatefulSet and pod",
            }
            .to_owned()
        };
        row(page, &policy, &[words(false), words(true)]);
    }
}

/// What becomes of the claims of three replicas, and of one that was left by an earlier scale-down.
fn operations(page: &mut String) {
    let operations = [
        ("a pod is deleted", Operation::DeletePod(1)),
        ("scaled from 3 to 1", Operation::Scale(1)),
        ("scaled to 0", Operation::Scale(0)),
        ("deleted", Operation::DeleteSet(Propagation::Background)),
        ("deleted, `--cascade=foreground`", Operation::DeleteSet(Propagation::Foreground)),
        ("deleted, `--cascade=orphan`", Operation::DeleteSet(Propagation::Orphan)),
    ];
    let mut columns = vec!["whenDeleted", "whenScaled"];
    columns.extend(operations.iter().map(|(what, _)| *what));
    let _ = writeln!(page);
    head(
        page,
        "The claims of a StatefulSet with 3 replicas (ordinals 0 to 2), and claim 3, which an earlier scale-down left under the same policy:",
        &columns,
    );
    for values in &POLICIES {
        let policy = policy(values);
        // What a scale-down leaves: the reference to the set where it was not deleted.
        let leftover = wanted_owners(Some(&policy), true).set;
        let situation = situation(&policy, wanted_owners(Some(&policy), false).set, leftover, &[]);
        let cells: Vec<_> = operations
            .iter()
            .map(|(_, operation)| words(&simulate(&situation, operation)))
            .collect();
        row(page, &policy, &cells);
    }
}

/// What becomes of the claims when the policy is changed first.
fn changes(page: &mut String) {
    let _ = writeln!(page);
    let columns = [
        "whenDeleted",
        "whenScaled",
        "changed to Retain, Retain; then deleted",
        "the same, while pod 0 is never ready",
        "changed to Delete, Delete; then deleted",
        "changed to Delete, Delete; then scaled to 1",
    ];
    head(
        page,
        "The same StatefulSet, whose policy is changed before (`whenDeleted`, `whenScaled`):",
        &columns,
    );
    let delete = Operation::DeleteSet(Propagation::Background);
    for values in &POLICIES {
        let from = policy(values);
        let owned = wanted_owners(Some(&from), false).set;
        let leftover = wanted_owners(Some(&from), true).set;
        let change = |index: usize| Operation::SetPolicy(policy(&POLICIES[index]));
        let ready = situation(&from, owned, leftover, &[]);
        let unready = situation(&from, owned, leftover, &[0]);
        let cells = [
            words(&simulate_steps(&ready, &[change(0), delete.clone()])),
            words(&simulate_steps(&unready, &[change(0), delete.clone()])),
            words(&simulate_steps(&ready, &[change(3), delete.clone()])),
            words(&simulate_steps(&ready, &[change(3), Operation::Scale(1)])),
        ];
        row(page, &from, &cells);
    }
}

fn situation(
    policy: &RetentionPolicy,
    owned: bool,
    leftover_owned: bool,
    unready: &[i32],
) -> SetSituation {
    let uid = Uid::parse("set");
    let reference = OwnerState::new(
        OwnerReference {
            api_version: "apps/v1".into(),
            kind: "StatefulSet".into(),
            name: "web".into(),
            uid: uid.clone(),
            controller: true,
            blocks_deletion: true,
        },
        Presence::Present,
    );
    let set = SetState {
        name: "web".into(),
        uid,
        replicas: Some(3),
        start: 0,
        policy: Some(policy.clone()),
        deleting: None,
        ordered: Some(true),
        form: ReferenceForm::Controller,
    };
    let pod = |ordinal: i32| SetPodState {
        uid: Uid::parse(&format!("pod-{ordinal}")),
        member: true,
        terminating: false,
        finished: false,
        readiness: match unready.contains(&ordinal) {
            true => Readiness::Never,
            false => Readiness::Ready,
        },
    };
    let claim = |ordinal: i32| SetClaimState {
        template: "data".into(),
        ordinal,
        contested: false,
        owners: match (ordinal < 3 && owned) || (ordinal >= 3 && leftover_owned) {
            true => vec![reference.clone()],
            false => Vec::new(),
        },
        deleting: false,
        finalizers: vec!["kubernetes.io/pvc-protection".into()],
        other_users: Vec::new(),
        volume: VolumeEffect::Destroyed,
    };
    SetSituation {
        set,
        pods: (0..3).map(|ordinal| (ordinal, pod(ordinal))).collect(),
        claims: (0..4).map(claim).collect(),
    }
}

/// The outcomes, those of several ordinals together.
fn words(predictions: &[Prediction]) -> String {
    let word = |it: &Prediction| match &it.outcome {
        ClaimOutcome::Kept | ClaimOutcome::Reowned(_) => "kept",
        ClaimOutcome::Deleted { recreated: true, .. } => "**deleted**, then empty",
        ClaimOutcome::Deleted { .. } => "**deleted**",
        ClaimOutcome::Unknown(_) => "unknown",
    };
    let mut groups: Vec<(&str, Vec<i32>)> = Vec::new();
    for it in predictions {
        match groups.iter_mut().find(|(known, _)| *known == word(it)) {
            Some((_, ordinals)) => ordinals.push(it.ordinal),
            None => groups.push((word(it), vec![it.ordinal])),
        }
    }
    match &groups[..] {
        [(word, _)] => format!("all {word}"),
        groups => {
            let group = |(word, ordinals): &(&str, Vec<i32>)| {
                let ordinals: Vec<_> = ordinals.iter().map(ToString::to_string).collect();
                format!("{}: {word}", ordinals.join(", "))
            };
            groups.iter().map(group).collect::<Vec<_>>().join("; ")
        }
    }
}

//! What the guard costs: far below the API server's budget. What it takes of time is a bench, `benches/guard.rs`.

use http::Method;
use serde_json::{Value, json};

use super::ask::{Actor, Asked, Asker, MERGE, Seen};
use super::world::{fill, in_force, install, let_everybody, namespace};
use crate::support::{Cluster, Options, claim, say};

/// So many of everything no claim has.
const MANY: usize = 64;

fn owner(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": format!("owner-{number}"),
        "uid": format!("00000000-dead-4000-8000-{number:012}"),
    })
}

fn many(last: &str) -> (Vec<Value>, Vec<String>) {
    let mut finalizers: Vec<_> = (0..MANY).map(|it| format!("example.com/hold-{it}")).collect();
    finalizers.push(last.to_owned());
    ((0..MANY).map(owner).collect(), finalizers)
}

/// A claim with many owners and finalizers is judged by the rules, and not refused because that is too much work.
#[test]
#[ignore = "extended suite: the whole matrix of the guard"]
fn objects_of_unusual_size_stay_within_the_budget() {
    let cluster = Cluster::start(Options::default());
    let_everybody(&cluster);
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    let (owners, finalizers) = many("kubernetes.io/pvc-protection");
    let mut large = claim("large", "");
    large["metadata"]["namespace"] = json!("strict");
    large["metadata"]["ownerReferences"] = json!(owners);
    large["metadata"]["finalizers"] = json!(finalizers);
    cluster.create(&large);
    let asker = Asker::of(&cluster);
    install(&cluster, &[]);
    in_force(&asker, "strict", Seen::Refused);
    let patch = |body: Value| Asked {
        method: Method::PATCH,
        path: "/api/v1/namespaces/strict/persistentvolumeclaims/large?dryRun=All".to_owned(),
        content: MERGE,
        body,
    };
    let person = Actor::person();
    let label = patch(json!({"metadata": {"labels": {"team": "shop"}}}));
    assert_eq!(asker.ask(&person, &label).seen(), Seen::Passed);
    let mut more = owners.clone();
    more.push(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "another",
        "uid": "00000000-beef-4000-8000-000000000000",
    }));
    for (body, says) in [
        (
            json!({"metadata": {"ownerReferences": more}}),
            "an owner reference has this claim deleted",
        ),
        (
            json!({"metadata": {"finalizers": many("example.com/last").1}}),
            "removing a finalizer by hand",
        ),
    ] {
        let answer = asker.ask(&person, &patch(body));
        assert_eq!(answer.seen(), Seen::Refused, "{answer:?}");
        assert!(answer.text.contains(says), "{}", answer.text);
    }
    let fewer = patch(json!({"metadata": {"ownerReferences": &owners[1..]}}));
    assert_eq!(asker.ask(&person, &fewer).seen(), Seen::Passed);
}

/// How large a claim may be until its judgement costs more than the API server allows: owners are compared each with
/// each, so that cost grows with the square of their number.
#[test]
#[ignore = "extended suite: the whole matrix of the guard"]
fn the_budget_has_room() {
    let cluster = Cluster::start(Options::default());
    let_everybody(&cluster);
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    let asker = Asker::of(&cluster);
    install(&cluster, &[]);
    in_force(&asker, "strict", Seen::Refused);
    let judged = |number: usize| {
        let owners: Vec<_> = (0..number).map(owner).collect();
        let name = format!("of-{number}");
        let mut large = claim(&name, "");
        large["metadata"]["namespace"] = json!("strict");
        large["metadata"]["ownerReferences"] = json!(owners);
        cluster.create(&large);
        // The order is another one: each is looked for, and found.
        let turned: Vec<_> = owners.iter().rev().cloned().collect();
        let answer = asker.ask(
            &Actor::person(),
            &Asked {
                method: Method::PATCH,
                path: format!("/api/v1/namespaces/strict/persistentvolumeclaims/{name}?dryRun=All"),
                content: MERGE,
                body: json!({"metadata": {"ownerReferences": turned}}),
            },
        );
        assert!(answer.code == 200 || answer.text.contains("cost"), "{answer:?}");
        answer.code == 200
    };
    let sizes: Vec<usize> = (6..=10).map(|power| 1 << power).collect();
    let most = sizes.iter().copied().take_while(|it| judged(*it)).last();
    say(&format!("claims with {most:?} owners are judged within the budget, of {sizes:?}"));
    // A claim has one owner, or a few.
    assert!(most.is_some_and(|it| it >= MANY), "{most:?}");
}

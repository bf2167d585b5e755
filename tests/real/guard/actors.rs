//! Everybody against every rule, on both versions of Kubernetes: what is expected, and what was seen.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::ask::{Actor, Asker, Seen};
use super::attempts::{Attempt, attempts};
use super::world::{fill, fill_cluster_wide, in_force, install, let_everybody, namespace};
use crate::support::{Cluster, Options, say};

const AUTHENTICATED: &str = "system:authenticated";

fn account(namespace: &str, name: &str) -> Actor {
    let user = format!("system:serviceaccount:{namespace}:{name}");
    let of = format!("system:serviceaccounts:{namespace}");
    Actor::new(&user, &["system:serviceaccounts", &of, AUTHENTICATED], false)
}

/// People and listed accounts.
fn guarded() -> Vec<Actor> {
    let mut deployer = account("ci", "deployer");
    deployer.guarded = true;
    vec![
        Actor::new("kubernetes-admin", &["system:masters", AUTHENTICATED], true),
        Actor::new("ann@example.com", &[AUTHENTICATED], true),
        Actor::new("arn:aws:iam::1:role/admin", &["system:masters", AUTHENTICATED], true),
        Actor::new("system:admin", &["system:masters", AUTHENTICATED], true),
        Actor::new("system:anonymous", &["system:unauthenticated"], true),
        deployer,
    ]
}

/// Controllers, with and without split credentials, and who passes for other reasons.
fn passing() -> Vec<Actor> {
    let system = |user: &str| Actor::new(user, &[AUTHENTICATED], false);
    let controllers = [
        "persistent-volume-binder",
        "pvc-protection-controller",
        "pv-protection-controller",
        "attachdetach-controller",
        "statefulset-controller",
        "generic-garbage-collector",
        "namespace-controller",
        "csi-provisioner",
        "csi-attacher",
    ];
    let mut all: Vec<_> = controllers.iter().map(|it| account("kube-system", it)).collect();
    all.extend([
        account("local-path-storage", "local-path-provisioner-service-account"),
        account("ci", "another"),
        system("system:kube-controller-manager"),
        system("system:k3s-controller"),
        Actor::new("system:node:n1", &["system:nodes", AUTHENTICATED], false),
        system("cloud:volume-controller"),
        Actor::new("ann@example.com", &[AUTHENTICATED, "storage.kubectl.dev:break-glass"], false),
    ]);
    all
}

/// What of an attempt is to be seen, in a place where the guard does this with what it is against.
fn expected(attempt: &Attempt, actor: &Actor, mode: Seen) -> Seen {
    if attempt.against && actor.guarded { mode } else { Seen::Passed }
}

/// Sends every attempt in everybody's name, and returns what was seen of each: by people, by others.
fn try_all(
    asker: &Asker,
    attempts: &[Attempt],
    mode: &dyn Fn(&Attempt) -> Seen,
) -> Vec<[BTreeSet<Seen>; 2]> {
    let actors: Vec<_> = guarded().into_iter().chain(passing()).collect();
    let mut all = Vec::new();
    for attempt in attempts {
        let mut seen = [BTreeSet::new(), BTreeSet::new()];
        for actor in &actors {
            let answer = asker.ask(actor, &attempt.asked);
            let was = answer.seen();
            let wanted = expected(attempt, actor, mode(attempt));
            assert_eq!(was, wanted, "{}: {}: {answer:?}", actor.user, attempt.what);
            seen[usize::from(!actor.guarded)].insert(was);
        }
        all.push(seen);
    }
    all
}

fn words(seen: &BTreeSet<Seen>) -> String {
    let words: Vec<_> = seen.iter().map(|it| it.word()).collect();
    words.join(", ")
}

/// What is expected and what was seen, as the table of the documentation.
fn table(attempts: &[Attempt], seen: &[[BTreeSet<Seen>; 2]]) -> String {
    let mut text = String::from(
        "| rule | request | people: expected | people: seen | controllers: expected | controllers: seen |\n\
         |---|---|---|---|---|---|\n",
    );
    for (attempt, [people, others]) in attempts.iter().zip(seen) {
        let wanted = if attempt.against { Seen::Refused } else { Seen::Passed };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            attempt.rule,
            attempt.what,
            wanted.word(),
            words(people),
            Seen::Passed.word(),
            words(others),
        );
    }
    text
}

const BEGIN: &str = "<!-- what was seen: begin -->\n";
const END: &str = "<!-- what was seen: end -->\n";

/// Holds the table of the documentation to what was seen, or writes it.
fn hold(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guard.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the table has a beginning");
    let (old, after) = rest.split_once(END).expect("the table has an end");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).expect("it is ours");
    } else {
        assert_eq!(old, table, "UPDATE=1 writes the table of docs/guard.md");
    }
}

fn everybody_against_every_rule(version: &str) {
    let cluster = Cluster::start(Options { version, ..Options::default() });
    let_everybody(&cluster);
    for (name, label) in [("strict", Some("deny")), ("plain", None), ("loose", Some("off"))] {
        namespace(&cluster, name, label);
        fill(&cluster, name);
    }
    // Not a word that the guard knows: it warns.
    namespace(&cluster, "typo", Some("Deny"));
    fill(&cluster, "typo");
    fill_cluster_wide(&cluster);
    let asker = Asker::of(&cluster);

    let rules = ["--deny-account=ci/deployer", "--pass-user=cloud:volume-controller"];
    install(&cluster, &[&rules[..], &["--volumes=deny"]].concat());
    in_force(&asker, "strict", Seen::Refused);
    let strict = attempts(&cluster, "strict");
    let seen = try_all(&asker, &strict, &|_| Seen::Refused);
    let table = table(&strict, &seen);
    say(&format!("Kubernetes {version}:\n{table}"));
    hold(&table);

    // Everywhere else it warns, or does nothing; the rules about volumes know no namespace.
    let volumes = |it: &Attempt| {
        it.asked.path.contains("/persistentvolumes") || it.asked.path.contains("/volumeattachments")
    };
    for (namespace, mode) in
        [("plain", Seen::Warned), ("typo", Seen::Warned), ("loose", Seen::Passed)]
    {
        let mut attempts = attempts(&cluster, namespace);
        attempts.retain(|it| !volumes(it));
        assert!(attempts.len() > 20, "{}", attempts.len());
        try_all(&asker, &attempts, &|_| mode);
    }

    // They warn until they are told to refuse.
    install(&cluster, &["--volumes=warn"]);
    crate::support::eventually("the rules about volumes warn", || {
        let one = attempts(&cluster, "strict").into_iter().find(volumes).expect("there is one");
        asker.ask(&Actor::person(), &one.asked).seen() == Seen::Warned
    });
    let mut attempts = attempts(&cluster, "strict");
    attempts.retain(volumes);
    try_all(&asker, &attempts, &|_| Seen::Warned);
}

#[test]
#[ignore = "extended suite: the whole matrix of the guard"]
fn everybody_against_every_rule_on_1_36() {
    everybody_against_every_rule("1.36.3");
}

#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn everybody_against_every_rule_on_1_32() {
    everybody_against_every_rule("1.32.2");
}

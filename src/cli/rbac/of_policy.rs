//! What a policy of `watch` needs: where it reports, to be elected, and where it acts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    PolicyRule, RbacRole, Right, RoleFor, RoleMetadata,
    reconciler::{self, Place},
    role, rules,
};
use crate::model::{Kind, Recording, Text};
use crate::watch::policy::WatchPolicy;
use crate::watch::policy::acting::{ReconcilerMode, ReconcilerName};
use crate::watch::policy::report::{LeaderElectionPolicy, ReportPolicy};

/// What a policy needs where it reports.
pub(super) fn rights_of_policy(policy: &WatchPolicy) -> BTreeSet<Right<'static>> {
    let right = |(verb, group, resource)| Right { verb, group, resource, name: None };
    let ReportPolicy { events, metrics, probes: _, webhook: _ } = &policy.report;
    let mut rights = Vec::new();
    if events.is_some() {
        const EVENTS: &str = "events.k8s.io";
        rights.extend(["create", "get", "patch"].map(|verb| (verb, EVENTS, "events")));
    }
    // Who reads metrics from elsewhere has to show a right, which is asked of the API server.
    if metrics.as_ref().is_some_and(|it| !it.is_local()) {
        rights.push(("create", "authentication.k8s.io", "tokenreviews"));
        rights.push(("create", "authorization.k8s.io", "subjectaccessreviews"));
    }
    rights.into_iter().map(right).collect()
}

/// The rights to the Lease of an election, in its namespace. What does not exist yet cannot be named.
pub(super) fn lease_rights(election: &LeaderElectionPolicy) -> [Right<'_>; 3] {
    let name = Some(election.name());
    [("create", None), ("get", name), ("update", name)].map(|(verb, name)| {
        let group = Kind::Lease.group().name;
        Right { verb, group, resource: "leases", name }
    })
}

/// The role of the Lease of an election. Where the policy names no namespace it has none, so that
/// kubectl chooses it.
pub(super) fn lease_rules(election: &LeaderElectionPolicy) -> Vec<PolicyRule> {
    let rights = lease_rights(election);
    let rule = |name: Option<&str>| PolicyRule {
        api_groups: vec![rights[0].group],
        resources: vec![rights[0].resource],
        resource_names: name.into_iter().map(str::to_owned).collect(),
        verbs: rights.iter().filter(|it| it.name == name).map(|it| it.verb).collect(),
    };
    vec![rule(None), rule(Some(election.name()))]
}

/// The name of the roles of a command. Policies with Leases of their own have roles of their own.
pub(super) fn role_name(command: RoleFor, policy: Option<&WatchPolicy>) -> String {
    match policy.and_then(|it| it.leader_election.as_ref()) {
        Some(election) => election.name().to_owned(),
        None => format!("kubectl-storage-{}", command.name()),
    }
}

/// The reconcilers that a policy lets act, and those that were asked for.
pub(super) fn acting(
    policy: Option<&WatchPolicy>,
    asked: &[ReconcilerName],
) -> Vec<ReconcilerName> {
    let act = |it: &WatchPolicy| it.reconcilers.of_mode(ReconcilerMode::Act).collect::<Vec<_>>();
    let acting: BTreeSet<_> =
        policy.map(act).unwrap_or_default().into_iter().chain(asked.iter().copied()).collect();
    acting.into_iter().collect()
}

/// The reconcilers that a policy lets report, and that nobody lets act.
pub(super) fn reporting(
    policy: Option<&WatchPolicy>,
    acting: &[ReconcilerName],
) -> Vec<ReconcilerName> {
    let report = policy.map(|it| it.reconcilers.of_mode(ReconcilerMode::Report));
    report.into_iter().flatten().filter(|it| !acting.contains(it)).collect()
}

/// The roles of reconcilers, of which each has its own.
pub(super) fn roles_of(
    acting: &[ReconcilerName],
    policy: Option<&WatchPolicy>,
    records: &str,
) -> Vec<RbacRole> {
    let reporting = reporting(policy, acting).into_iter();
    let reporting =
        reporting.flat_map(|it| roles(it, None, reconciler::reporting(it), policy, records));
    let acting = acting.iter().flat_map(|it| {
        let (cluster, namespaced) = (reconciler::rights(*it), reconciler::namespaced(*it));
        roles(*it, Some(cluster), namespaced, policy, records)
    });
    acting.chain(reporting).collect()
}

/// A ClusterRole, and a Role in each namespace in which it records something. No Lease has a colon in its name, and so
/// no other policy a role of this name.
fn roles(
    name: ReconcilerName,
    cluster: Option<BTreeSet<Right<'static>>>,
    namespaced: Vec<(Place, BTreeSet<Right<'static>>)>,
    policy: Option<&WatchPolicy>,
    records: &str,
) -> Vec<RbacRole> {
    let role = |kind, namespace: Option<Text>, rights| RbacRole {
        api_version: "rbac.authorization.k8s.io/v1",
        kind,
        metadata: RoleMetadata {
            name: format!("{}:{name}", role_name(RoleFor::Watch, policy)),
            namespace: namespace.map(|it| it.to_string()),
        },
        rules: rules(rights),
    };
    let places = policy.map(WatchPolicy::places_by_name).unwrap_or_default();
    // One role for each namespace: two would have the same name.
    let mut by_namespace: BTreeMap<Option<Text>, BTreeSet<Right>> = BTreeMap::new();
    for (place, rights) in namespaced {
        let each = match place {
            Place::Journal => vec![places.records.clone()],
            Place::Pauses => places.pauses.clone(),
            Place::Records => vec![Some(records.into())],
        };
        for namespace in each {
            by_namespace.entry(namespace).or_default().extend(rights.iter().copied());
        }
    }
    let of_namespaces =
        by_namespace.into_iter().map(|(namespace, rights)| role("Role", namespace, rights));
    let of_cluster = cluster.map(|rights| role("ClusterRole", None, rights));
    of_cluster.into_iter().chain(of_namespaces).collect()
}

/// The roles of `watch` with a policy, as manifests, without those of reconcilers.
pub(in crate::cli) fn watch_roles(policy: &WatchPolicy) -> serde_json::Result<Vec<Value>> {
    manifests(&role(RoleFor::Watch, Some(policy), &[], Vec::new(), Recording::NAMESPACE))
}

/// The roles of the reconcilers that a policy lets act, and of those that were asked for, as manifests.
pub(in crate::cli) fn acting_roles(
    policy: &WatchPolicy,
    asked: &[ReconcilerName],
) -> serde_json::Result<Vec<Value>> {
    let acting = acting(Some(policy), asked);
    manifests(&roles_of(&acting, Some(policy), Recording::NAMESPACE))
}

fn manifests(roles: &[RbacRole]) -> serde_json::Result<Vec<Value>> {
    roles.iter().map(serde_json::to_value).collect()
}

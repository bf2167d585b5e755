//! The rights to the Lease of an election.

use super::{PolicyRule, Right};
use crate::{model::Kind, watch::policy::leader_election::LeaderElectionPolicy};

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

//! Rights that a policy of `watch` needs to report, to be elected, and for its reconcilers to act, of which each has
//! roles of its own, beside what `watch` reads anyway.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    PolicyRule, RbacRole, RoleMetadata, custom_users,
    namespaced::{self, journal_writer, pause_reader},
    role, rules,
};
use crate::{
    cli::table::{
        AUDIT, ConditionalRight, DELETE_TO_DISOWN, GC_ANNOUNCE, Right, Role, WATCH, writes_of,
    },
    journal::kept_backend::CONFIG_MAP,
    model::{Kind, Recording, Text},
    remedies::{
        ADD_PROTECTION, DISOWN, FIX_ATTACHMENT, FIX_CLAIM, PROTECT_CLAIM, RECLAIM,
        REMOVE_ATTACHER_FINALIZER, REMOVE_EXTERNAL_FINALIZER, REMOVE_IN_TREE_FINALIZER,
        REMOVE_OWNERS, RETAIN, RemedyDeclaration,
    },
    watch::policy::{
        LeaseName, RecordPlaces, WatchPolicy,
        acting::{ReconcilerMode, ReconcilerName},
        report::{LeaderElectionPolicy, ReportPolicy},
    },
};

/// Returns the rights that a policy needs to report.
pub(super) fn rights_of_policy(policy: &WatchPolicy) -> BTreeSet<Right<'_>> {
    let right = |(verb, group, resource)| Right { verb, group, resource, name: None };
    let ReportPolicy { events, metrics, probes: _, webhook: _, open_reports } = &policy.report;
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
    let mut rights: BTreeSet<_> = rights.into_iter().map(right).collect();
    if open_reports.is_some() {
        let election = policy.leader_election.as_ref();
        let name = Some(election.map_or(LeaseName::DEFAULT, LeaderElectionPolicy::name));
        for resource in ["clusterreports", "reports"] {
            // What does not exist yet cannot be named. A list is of the objects of one name.
            let verbs = [("create", None), ("delete", name), ("list", name), ("update", name)];
            let group = "openreports.io";
            rights.extend(verbs.map(|(verb, name)| Right { verb, group, resource, name }));
        }
    }
    rights
}

/// Returns the rights to the Lease of an election. What does not exist yet cannot be named.
pub(super) fn lease_rights(election: &LeaderElectionPolicy) -> [Right<'_>; 3] {
    let name = Some(election.name());
    [("create", None), ("get", name), ("update", name)].map(|(verb, name)| {
        let group = Kind::Lease.group().name;
        Right { verb, group, resource: "leases", name }
    })
}

/// Returns the rules of the Role for the Lease of an election.
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

/// Returns the name of the roles of a command. Policies with Leases of their own have roles of their own.
pub(super) fn role_name(command: &Role, policy: Option<&WatchPolicy>) -> String {
    match policy.and_then(|it| it.leader_election.as_ref()) {
        Some(election) => election.name().to_owned(),
        None => format!("kubectl-storage-{}", command.name),
    }
}

/// Returns the reconcilers that a policy lets act, and those that were asked for.
pub(super) fn acting(
    policy: Option<&WatchPolicy>,
    asked: &[ReconcilerName],
) -> Vec<ReconcilerName> {
    let act = |it: &WatchPolicy| it.reconcilers.of_mode(ReconcilerMode::Act).collect::<Vec<_>>();
    let acting: BTreeSet<_> =
        policy.map(act).unwrap_or_default().into_iter().chain(asked.iter().copied()).collect();
    acting.into_iter().collect()
}

/// Returns the reconcilers that a policy lets report, without those that act.
pub(super) fn reporting(
    policy: Option<&WatchPolicy>,
    acting: &[ReconcilerName],
) -> Vec<ReconcilerName> {
    let report = policy.map(|it| it.reconcilers.of_mode(ReconcilerMode::Report));
    report.into_iter().flatten().filter(|it| !acting.contains(it)).collect()
}

/// Returns the roles of reconcilers, of which each has its own.
pub(super) fn roles_of(
    acting: &[ReconcilerName],
    policy: Option<&WatchPolicy>,
    records: &str,
) -> Vec<RbacRole> {
    let places = policy.map(WatchPolicy::places_by_name).unwrap_or_default();
    roles_in(&places, acting, policy, records)
}

/// Returns the roles of reconcilers, for records in these places.
fn roles_in(
    places: &RecordPlaces<Option<Text>>,
    acting: &[ReconcilerName],
    policy: Option<&WatchPolicy>,
    records: &str,
) -> Vec<RbacRole> {
    let of = |name, cluster, namespaced| {
        let name = format!("{}:{name}", role_name(&WATCH, policy));
        roles(&name, cluster, namespaced, places, records)
    };
    let reporting = reporting(policy, acting).into_iter();
    let reporting = reporting.flat_map(|it| of(it, None, reporting_records(it)));
    let acting = acting.iter().map(|it| (*it, Some(acting_rights(*it)), acting_records(*it)));
    let acting = acting.flat_map(|(name, cluster, namespaced)| of(name, cluster, namespaced));
    acting.chain(reporting).collect()
}

/// Returns a ClusterRole, and a Role in each namespace in which a reconciler records something. No Lease has a colon in
/// its name, and so no other policy a role of this name.
fn roles(
    name: &str,
    cluster: Option<BTreeSet<Right<'static>>>,
    namespaced: Vec<(Place, BTreeSet<Right<'static>>)>,
    places: &RecordPlaces<Option<Text>>,
    records: &str,
) -> Vec<RbacRole> {
    let role = |kind, namespace: Option<Text>, rights| RbacRole {
        api_version: "rbac.authorization.k8s.io/v1",
        kind,
        metadata: RoleMetadata {
            name: name.to_owned(),
            namespace: namespace.map(|it| it.to_string()),
        },
        rules: rules(rights),
    };
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

/// Returns the roles of `watch` with a policy, as manifests, without those of reconcilers.
pub(in crate::cli) fn watch_roles(policy: &WatchPolicy) -> serde_json::Result<Vec<Value>> {
    manifests(&role(&WATCH, Some(policy), &[], Vec::new(), Recording::NAMESPACE, BTreeSet::new()))
}

/// Returns the roles of `dump` under a name of their own, as manifests.
pub(in crate::cli) fn dump_roles(name: &str) -> serde_json::Result<Vec<Value>> {
    let mut roles = role(&AUDIT, None, &[], Vec::new(), Recording::NAMESPACE, BTreeSet::new());
    let own = role_name(&AUDIT, None);
    for role in &mut roles {
        let metadata = &mut role.metadata;
        metadata.name = metadata.name.replacen(&own, name, 1);
    }
    manifests(&roles)
}

/// Returns the roles of the reconcilers of a policy in this namespace, and of those that were asked for, as manifests.
pub(in crate::cli) fn acting_roles(
    policy: &WatchPolicy,
    namespace: &str,
    asked: &[ReconcilerName],
) -> serde_json::Result<Vec<Value>> {
    let acting = acting(Some(policy), asked);
    // Where it runs has no name here: a policy that names it means the same place, and the same role.
    let elsewhere = |it: Text| Some(it).filter(|it| **it != *namespace);
    let RecordPlaces { records, lease, pauses } = policy.places(namespace);
    let pauses = pauses.into_iter().map(elsewhere).collect();
    let places = RecordPlaces { records: elsewhere(records), lease: elsewhere(lease), pauses };
    manifests(&roles_in(&places, &acting, Some(policy), Recording::NAMESPACE))
}

fn manifests(roles: &[RbacRole]) -> serde_json::Result<Vec<Value>> {
    roles.iter().map(serde_json::to_value).collect()
}

/// A namespace in which a reconciler records something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Namespace of the journal.
    Journal,
    /// Namespaces of the records that pause.
    Pauses,
    /// Namespace of the records of announcements and of kept backends.
    Records,
}

/// Returns the rights that an acting reconciler needs in the whole cluster, beside those of `watch`.
pub(super) fn acting_rights(name: ReconcilerName) -> BTreeSet<Right<'static>> {
    let remedies: &[&'static dyn RemedyDeclaration] = match name {
        ReconcilerName::Rescue => &[&RETAIN, &DISOWN, &REMOVE_OWNERS],
        // What deletes claims or adds owners needs a flag.
        ReconcilerName::Retention => &[&REMOVE_OWNERS],
        // What removes finalizers of third parties needs a flag.
        ReconcilerName::Finalizers => &[
            &ADD_PROTECTION,
            &FIX_CLAIM,
            &PROTECT_CLAIM,
            &FIX_ATTACHMENT,
            &REMOVE_ATTACHER_FINALIZER,
            &REMOVE_EXTERNAL_FINALIZER,
            &REMOVE_IN_TREE_FINALIZER,
        ],
        // The annotation of an announcement is a patch too.
        ReconcilerName::Reclaim => &[&RECLAIM],
    };
    // What recreates volumes, or has a driver delete what is left, needs a flag.
    let flagged = Right::of("create", Kind::PersistentVolume);
    let needed = writes_of(remedies).filter(|it| *it != flagged);
    // It is read again before it is changed.
    let again =
        (name == ReconcilerName::Finalizers).then(|| Right::of("get", Kind::VolumeAttachment));
    let events = Right { verb: "create", group: "", resource: "events", name: None };
    // Custom resources may want the claim of a volume back.
    let users = (name == ReconcilerName::Reclaim).then(custom_users).into_iter().flatten();
    needed.chain(again).chain([events]).chain(users).collect()
}

/// Returns the rights that an acting reconciler needs in single namespaces.
pub(super) fn acting_records(name: ReconcilerName) -> Vec<(Place, BTreeSet<Right<'static>>)> {
    let mut all = vec![
        (Place::Journal, journal_writer().collect()),
        (Place::Pauses, [pause_reader()].into()),
    ];
    match name {
        ReconcilerName::Rescue | ReconcilerName::Retention => {}
        // The object of a volume that is retained may go with its last finalizer.
        ReconcilerName::Finalizers => {
            let kept =
                [Right::config_map("create", None), Right::config_map("patch", Some(CONFIG_MAP))];
            all.push((Place::Records, kept.into()));
        }
        ReconcilerName::Reclaim => {
            all.push((Place::Records, namespaced::record_rights(&GC_ANNOUNCE).collect()));
        }
    }
    all
}

/// Returns the rights that a reporting reconciler needs in single namespaces.
pub(super) fn reporting_records(name: ReconcilerName) -> Vec<(Place, BTreeSet<Right<'static>>)> {
    match name {
        // What it would do rests on which finalizers were added, and which backend volumes kept.
        ReconcilerName::Finalizers => {
            let reads = journal_writer().filter(|it| matches!(it.verb, "get" | "list"));
            vec![(Place::Journal, reads.collect())]
        }
        ReconcilerName::Rescue | ReconcilerName::Retention | ReconcilerName::Reclaim => Vec::new(),
    }
}

/// Returns the rights that an acting reconciler needs only on some clusters.
pub(super) const fn acting_conditional(name: ReconcilerName) -> &'static [ConditionalRight] {
    match name {
        ReconcilerName::Rescue | ReconcilerName::Retention => &[DELETE_TO_DISOWN],
        ReconcilerName::Finalizers | ReconcilerName::Reclaim => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_command(command: &str) -> BTreeSet<Right<'static>> {
        let role = crate::cli::table::roles().find(|it| it.name == command).expect("a role");
        crate::cli::rbac::rights(role)
    }

    /// Checks that with the rights of `watch`, each reconciler can read what the command reads that does the same.
    #[test]
    fn a_reconciler_reads_what_its_command_reads() {
        let watch = of_command("watch");
        for (name, commands) in [
            (ReconcilerName::Rescue, &["retain", "disown"][..]),
            (ReconcilerName::Retention, &[]),
            (ReconcilerName::Finalizers, &["fix-finalizers"]),
            (ReconcilerName::Reclaim, &["gc-announce"]),
        ] {
            let has: BTreeSet<_> = watch.union(&acting_rights(name)).copied().collect();
            for command in commands {
                let reads = of_command(command);
                let reads = reads.iter().filter(|it| ["get", "list", "watch"].contains(&it.verb));
                let lacks: Vec<_> = reads.filter(|it| !has.contains(it)).collect();
                assert!(lacks.is_empty(), "{name}: {command:?}: {lacks:?}");
            }
        }
    }

    /// Checks that a reconciler which only reports needs no right to write.
    #[test]
    fn a_reconciler_that_reports_only_reads() {
        for name in ReconcilerName::ALL {
            let rights: Vec<_> = reporting_records(name).into_iter().flat_map(|it| it.1).collect();
            assert!(rights.iter().all(|it| matches!(it.verb, "get" | "list")), "{name}");
            assert_eq!(rights.is_empty(), name != ReconcilerName::Finalizers, "{name}");
        }
    }

    const EVENTS: &str = "create events";

    /// Checks that no reconciler can do what its command could not, nor what needs a flag.
    #[test]
    fn a_reconciler_writes_less_than_its_command() {
        let text = |name: ReconcilerName| {
            let written = acting_rights(name);
            let written = written.iter().map(|it| format!("{} {}", it.verb, it.resource));
            written.collect::<Vec<_>>()
        };
        let volumes = "patch persistentvolumes";
        let claims = "patch persistentvolumeclaims";
        assert_eq!(text(ReconcilerName::Rescue), [EVENTS, claims, volumes]);
        assert_eq!(text(ReconcilerName::Retention), [EVENTS, claims]);
        // Custom resources may want the claim of a volume back.
        let (lists, writes): (Vec<_>, Vec<_>) =
            text(ReconcilerName::Reclaim).into_iter().partition(|it| it.starts_with("list "));
        assert_eq!(
            (lists.len(), writes),
            (custom_users().count(), vec![EVENTS.into(), volumes.into()])
        );
        assert_eq!(
            text(ReconcilerName::Finalizers),
            [
                EVENTS,
                "delete volumeattachments",
                "get volumeattachments",
                claims,
                volumes,
                "patch volumeattachments"
            ]
        );
        for name in ReconcilerName::ALL {
            let own: BTreeSet<_> = acting_rights(name);
            // Nothing deletes a volume or a claim by itself, and nothing creates one.
            assert!(own.is_disjoint(&of_command("watch")), "{name}");
        }
    }
}

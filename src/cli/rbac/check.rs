//! Check which rights the current user lacks.

use std::collections::BTreeSet;

use futures::future::join_all;

use super::{
    Access, NamespacedRights, Right, Role, namespaced,
    of_policy::{self, Place, lease_rights, rights_of_policy},
    rights,
};
use crate::{
    cli::{
        Exit, Failure,
        args::ConnectionArgs,
        collect::connect,
        table::{ConditionalRight, Reads, WATCH},
        terminal,
    },
    client::{self, AccessReview, Reader, ResourceAttributes},
    model::{CUSTOM_KINDS, Text},
    watch::policy::{RecordPlaces, WatchPolicy, acting::ReconcilerName},
};

/// Command, policy and reconcilers whose rights are checked.
pub(super) struct Wanted<'a> {
    pub(super) command: &'a Role,
    pub(super) policy: Option<&'a WatchPolicy>,
    /// The reconcilers that act.
    pub(super) acting: &'a [ReconcilerName],
    pub(super) namespaced: &'a [NamespacedRights],
    /// The namespace of the records of announcements.
    pub(super) records: &'a str,
    /// Rights that the user asked for besides.
    pub(super) also: BTreeSet<Right<'static>>,
}

/// Lists the rights that the current user lacks for a command.
pub(super) async fn check(
    connection: &ConnectionArgs,
    wanted: Wanted<'_>,
) -> Result<Exit, Failure> {
    let Wanted { command, policy, acting, namespaced, records, also } = wanted;
    let connected = connect(connection, None).await?;
    let reader = Reader::new(&connected);
    let served = client::discover(&reader).await.map_err(|error| {
        let hint = error.hint();
        Failure::error(error).hint(hint)
    })?;
    let matters = |right: &Right| {
        let custom =
            CUSTOM_KINDS.iter().any(|it| it.group == right.group && it.plural == right.resource);
        // What is not installed is never listed.
        !(custom || also.contains(right)) || served.versions(right.group, right.resource).is_some()
    };
    let of_policy = policy.map(rights_of_policy).unwrap_or_default();
    let of_acting = acting.iter().flat_map(|it| of_policy::acting_rights(*it));
    let all = rights(command).into_iter().chain(of_policy).chain(of_acting);
    let all: BTreeSet<_> = all.chain(also.iter().copied()).collect();
    let all = all.into_iter().map(|right| -> (Right<'_>, Option<Text>) { (right, None) });
    let places = places(policy, &connected.namespace);
    let lease = policy.and_then(|it| it.leader_election.as_ref());
    let of_lease = lease.into_iter().flat_map(|election| {
        lease_rights(election).map(|right| (right, Some(Text::clone(&places.lease))))
    });
    let of_announcements =
        namespaced::record_rights(command).map(|right| (right, Some(Text::from(records))));
    let of_namespaces = namespaced
        .iter()
        .flat_map(|it| it.rights.iter().map(|right| (*right, Some(Text::clone(&it.namespace)))));
    let recorded = acting.iter().flat_map(|it| of_policy::acting_records(*it));
    let reporting = of_policy::reporting(policy, acting);
    let recorded = recorded.chain(reporting.into_iter().flat_map(of_policy::reporting_records));
    // Several need the same.
    let of_records: BTreeSet<(Right<'_>, Option<Text>)> = recorded
        .flat_map(|(place, rights)| {
            let namespaces = match place {
                Place::Journal => vec![Text::clone(&places.records)],
                Place::Pauses => places.pauses.clone(),
                Place::Records => vec![Text::from(records)],
            };
            let in_each = move |right: Right<'static>| {
                namespaces.clone().into_iter().map(move |it| (right, Some(it)))
            };
            rights.into_iter().flat_map(in_each)
        })
        .collect();
    let all = all.chain(of_announcements).chain(of_lease).chain(of_namespaces).chain(of_records);
    let all = all.filter(|(right, _)| matters(right));
    let asked = all.map(|(right, namespace)| {
        let reader = reader.clone();
        async move {
            let attributes = ResourceAttributes {
                verb: right.verb,
                group: right.group,
                resource: right.resource,
                namespace: namespace.as_deref(),
                name: right.name,
            };
            let allowed = client::is_allowed(&reader, AccessReview::SelfSubject, &attributes).await;
            (right, allowed)
        }
    });
    let mut lacking = Vec::new();
    for (right, allowed) in join_all(asked).await {
        let allowed = allowed.map_err(|error| {
            let hint = error.hint();
            Failure::error(error).hint(hint)
        })?;
        if !allowed {
            lacking.push(right);
        }
    }
    print(&lacking)?;
    let of_acting = acting.iter().flat_map(|it| of_policy::acting_conditional(*it));
    let conditional: Vec<_> = command.conditional.iter().chain(of_acting).collect();
    for (index, right) in conditional.iter().enumerate() {
        if conditional[..index].contains(right) {
            continue;
        }
        let ConditionalRight { verb, group, resource, reason } = **right;
        let attributes = ResourceAttributes { verb, group, resource, namespace: None, name: None };
        // A cluster without the plugin does not need it, and no API tells which plugins there are.
        let asked = client::is_allowed(&reader, AccessReview::SelfSubject, &attributes).await;
        if matches!(asked, Ok(false)) {
            terminal::note(&format!("note: you may not {verb} {resource}: {reason}"));
        }
    }
    let name = command.name;
    if lacking.is_empty() {
        terminal::note(&format!("no permission is missing for {name}"));
        return Ok(Exit::Done);
    }
    let would = match command.only_reads() {
        _ if !acting.is_empty() => "a watch would be incomplete, or could not act".to_owned(),
        true if *command == WATCH => "a watch would be incomplete".to_owned(),
        true if name == "audit" => "an audit would be incomplete".to_owned(),
        true if command.reads != Reads::Listed || command.journal == Access::Reads => {
            "what it shows would be incomplete".to_owned()
        }
        _ => format!("{name} would refuse changes that need it"),
    };
    let prints = match (acting.is_empty(), command.reads) {
        (false, _) => "with the same policy prints all permissions",
        (true, Reads::Cluster) => "prints a ClusterRole with all permissions",
        (true, _) => "prints all permissions",
    };
    terminal::note(&format!("{would}; `rbac {name}` {prints}"));
    Ok(Exit::Incomplete)
}

/// Returns the namespaces of the records of a policy, or of what acts without one.
fn places(policy: Option<&WatchPolicy>, here: &str) -> RecordPlaces {
    let alone =
        || RecordPlaces { records: here.into(), lease: here.into(), pauses: vec![here.into()] };
    policy.map_or_else(alone, |it| it.places(here))
}

/// Prints the missing permissions.
fn print(lacking: &[Right<'_>]) -> Result<(), Failure> {
    terminal::print(|out| {
        for right in lacking {
            write!(out, "missing: {} {}", right.verb, right.resource)?;
            match (right.group, right.name) {
                ("", None) => writeln!(out)?,
                ("", Some(name)) => writeln!(out, "/{name}")?,
                (group, _) => writeln!(out, ".{group}")?,
            }
        }
        Ok::<_, std::io::Error>(())
    })
    .map_err(Failure::error)
}

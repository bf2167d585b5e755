//! `kubectl storage rbac`: prints the smallest role for a command, or the rights that are missing.

mod check;
mod namespaced;
mod of_policy;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use namespaced::{NamespacedRights, namespaced};
pub(super) use of_policy::{acting_roles, dump_roles, watch_roles};
use of_policy::{lease_rules, rights_of_policy};
use serde::Serialize;

use super::{
    Exit, Failure,
    args::{ConnectionArgs, JournalPlaceArgs, WATCH_NAMESPACE, namespace, reconciler, secret},
    collect, policy_refused,
    table::{self, Access, Reads, Record, Right, Role},
    terminal,
};
use crate::{
    journal::kept_backend::CONFIG_MAP,
    model::{CUSTOM_KINDS, INVENTORY_SYSTEMS, Kind, Recording},
    output::list,
    watch::policy::{PolicyFile, PolicySource, WatchPolicy, acting::ReconcilerName},
};

/// Arguments of `rbac`.
#[derive(Debug, Args)]
pub struct RbacArgs {
    /// Print or check the permissions of this command
    #[arg(value_parser = role_name())]
    command: &'static Role,
    /// List the permissions that you lack, instead of printing the ClusterRole
    #[arg(long)]
    check: bool,
    /// With `watch`: also what this policy needs where it reports and acts; - reads stdin
    #[arg(short, long = "filename", value_name = "POLICY", value_hint = clap::ValueHint::FilePath)]
    filename: Option<PathBuf>,
    /// With `watch`: also what these reconcilers need to act, each in roles of its own
    #[arg(long, value_name = "RECONCILER", value_delimiter = ',', value_parser = reconciler())]
    act: Vec<ReconcilerName>,
    /// Also grant reading this Secret, with which a driver deletes volumes: the command checks that it exists; can be repeated
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "check", value_parser = secret)]
    secret: Vec<(String, String)>,
    /// With `audit`: also what reads the disks of storage systems whose inventory lies in the cluster
    #[arg(long)]
    inventory: bool,
    /// Grant what concerns records in this namespace instead of kube-system: that of kept backend volumes, and announcements
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    record_namespace: Option<String>,
    #[command(flatten)]
    journal: JournalPlaceArgs,
    /// With `watch-pause`, `watch-resume` and `watch-status`: the namespace in which watch runs [default: kubectl-storage]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
}

/// Role that comes with a warning.
const DF: &str = "df";
/// The warning, in comments.
const KUBELETS: &str = "\
# Warning: get on nodes/proxy is no read-only right. Who has it may run commands in every
# pod of every node (kubernetes/kubernetes issue 119640). Bind it for as long as df runs,
# and to nothing that runs in the cluster. Answers of Prometheus need no right:
# kubectl storage explain usage.";
/// Role that comes with a note that it does not suffice for proofs.
const GUARD: &str = "guard";
/// Role that comes with a note about owners of other kinds.
const DISOWN: &str = "disown";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RbacRole {
    api_version: &'static str,
    kind: &'static str,
    metadata: RoleMetadata,
    rules: Vec<PolicyRule>,
}

#[derive(Serialize)]
struct RoleMetadata {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyRule {
    api_groups: Vec<&'static str>,
    resources: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_names: Vec<String>,
    verbs: Vec<&'static str>,
}

/// Parses the name of a role.
fn role_name() -> impl TypedValueParser<Value = &'static Role> {
    let names = table::roles().map(|it| PossibleValue::new(it.name).help(it.about));
    let parse = |name: String| table::roles().find(|it| it.name == name).ok_or("no such role");
    PossibleValuesParser::new(names).try_map(parse)
}

/// Returns the rights to list the custom resources that use claims, installed or not: such a right does no harm.
fn custom_users() -> impl Iterator<Item = Right<'static>> {
    CUSTOM_KINDS.iter().map(|kind| Right {
        verb: "list",
        group: kind.group,
        resource: kind.plural,
        name: None,
    })
}

/// Returns the rights to list the disks of storage systems whose inventory lies in the cluster.
fn inventories() -> impl Iterator<Item = Right<'static>> {
    INVENTORY_SYSTEMS.iter().map(|it| Right::of("list", it.kind))
}

/// Returns all rights of a command except to Secrets: whether one exists is worth knowing, but not worth the right to
/// read all of them.
fn rights(role: &Role) -> BTreeSet<Right<'static>> {
    let mut rights: BTreeSet<_> = role.also.iter().copied().flatten().copied().collect();
    rights.extend(role.written());
    if role.reads == Reads::Listed {
        return rights;
    }
    let mut add = |verb, kind: Kind| rights.insert(Right::of(verb, kind));
    // The uid of kube-system is the cluster's identity.
    add("get", Kind::Namespace);
    match role.reads {
        Reads::Cluster => {
            add("list", Kind::Namespace);
            let kinds = collect::kinds().into_iter();
            for kind in kinds.filter(|kind| role.only_reads() || !kind.is_of_guard()) {
                read(kind, role.watches, &mut add);
            }
        }
        // It asks for what it is told, by name.
        Reads::Named | Reads::Listed => {
            add("get", Kind::PersistentVolume);
            add("get", Kind::PersistentVolumeClaim);
        }
    }
    if role.custom_users {
        rights.extend(custom_users());
    }
    if !role.only_reads() {
        rights.insert(Right { verb: "create", group: "", resource: "events", name: None });
    }
    // The record of kept backends, in a namespace of the admin's choice, and no other ConfigMap.
    if role.record >= Record::Reads {
        rights.insert(Right::config_map("get", Some(CONFIG_MAP)));
    }
    if role.record >= Record::Writes {
        rights.insert(Right::config_map("patch", Some(CONFIG_MAP)));
    }
    rights
}

/// Adds the rights to read all objects of a kind.
fn read(kind: Kind, watches: bool, add: &mut impl FnMut(&'static str, Kind) -> bool) {
    match kind {
        // An owner may be of any kind: who may not read it learns that it was not seen. The records
        // of announcements are in one namespace: `gc-announce` has a Role there.
        Kind::Secret | Kind::ConfigMap | Kind::PartialObjectMetadata => return,
        Kind::SubjectAccessReview => {
            add("create", kind);
            return;
        }
        // What is asked about by name: those that others name, and the usual owners of claims.
        // Absence is confirmed one by one where two lists do not prove it.
        Kind::PersistentVolume
        | Kind::PersistentVolumeClaim
        | Kind::Node
        | Kind::StorageClass
        | Kind::VolumeSnapshot
        | Kind::StatefulSet
        | Kind::Pod => {
            add("get", kind);
        }
        _ => {}
    }
    add("list", kind);
    if watches {
        add("watch", kind);
    }
}

/// Returns the rules that grant rights.
fn rules(rights: BTreeSet<Right>) -> Vec<PolicyRule> {
    let mut by_resource: BTreeMap<(&str, &str, Option<&str>), Vec<&'static str>> = BTreeMap::new();
    for right in rights {
        let resource = (right.group, right.resource, right.name);
        by_resource.entry(resource).or_default().push(right.verb);
    }
    // Resources of one group with the same verbs share a rule.
    let mut rules: Vec<PolicyRule> = Vec::new();
    for ((group, resource, name), verbs) in by_resource {
        let names: Vec<_> = name.into_iter().map(str::to_owned).collect();
        let twin = rules.iter_mut().find(|rule| {
            rule.api_groups == [group] && rule.verbs == verbs && rule.resource_names == names
        });
        match twin {
            Some(rule) => rule.resources.push(resource),
            None => {
                rules.push(PolicyRule {
                    api_groups: vec![group],
                    resources: vec![resource],
                    resource_names: names,
                    verbs,
                });
            }
        }
    }
    rules
}

fn role(
    command: &Role,
    policy: Option<&WatchPolicy>,
    secrets: &[(String, String)],
    namespaced: Vec<NamespacedRights>,
    records: &str,
    also: BTreeSet<Right<'static>>,
) -> Vec<RbacRole> {
    let of_policy = policy.map(rights_of_policy).unwrap_or_default();
    let all = rights(command).into_iter().chain(of_policy).chain(also).collect();
    let of_cluster = Some(rules(all)).filter(|rules| !rules.is_empty());
    // Policies with Leases of their own have roles of their own.
    let election = policy.and_then(|it| it.leader_election.as_ref());
    let name = of_policy::role_name(command, policy);
    let role = |kind, namespace: Option<&str>, rules| RbacRole {
        api_version: "rbac.authorization.k8s.io/v1",
        kind,
        metadata: RoleMetadata { name: name.clone(), namespace: namespace.map(str::to_owned) },
        rules,
    };
    let mut by_namespace: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (namespace, secret) in secrets {
        by_namespace.entry(namespace).or_default().push(secret.clone());
    }
    let of_secrets = by_namespace.into_iter().map(|(namespace, resource_names)| {
        let get = PolicyRule {
            api_groups: vec![""],
            resources: vec!["secrets"],
            resource_names,
            verbs: vec!["get"],
        };
        role("Role", Some(namespace), vec![get])
    });
    let of_lease = election.map(|election| {
        let places = policy.map(WatchPolicy::places_by_name).unwrap_or_default();
        role("Role", places.lease.as_deref(), lease_rules(election))
    });
    let of_cluster = of_cluster.map(|rules| role("ClusterRole", None, rules));
    let of_announcements = command.has_records().then(|| of_records(command, &name, records));
    let of_namespaces =
        namespaced.into_iter().map(|it| role("Role", Some(&it.namespace), rules(it.rights)));
    of_cluster
        .into_iter()
        .chain(of_announcements)
        .chain(of_namespaces)
        .chain(of_lease)
        .chain(of_secrets)
        .collect()
}

/// Returns the Role of the records in the cluster. Its name is its own: the role of a Lease may be in the same
/// namespace.
fn of_records(command: &Role, name: &str, namespace: &str) -> RbacRole {
    RbacRole {
        api_version: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: RoleMetadata {
            name: format!("{name}-records"),
            namespace: Some(namespace.to_owned()),
        },
        rules: namespaced::record_rules(command),
    }
}

impl RbacArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let policy = match &self.filename {
            None => None,
            Some(path) if *self.command == table::WATCH => {
                let file = PolicyFile::open(PolicySource::parse(path));
                Some(file.map_err(|error| policy_refused(&error))?.policy().clone())
            }
            Some(_) => return Err(Failure::usage("a policy is only that of `rbac watch`")),
        };
        if !self.act.is_empty() && *self.command != table::WATCH {
            return Err(Failure::usage("--act is only that of `rbac watch`"));
        }
        if self.inventory && *self.command != table::AUDIT {
            return Err(Failure::usage("--inventory is only that of `rbac audit`"));
        }
        let also: BTreeSet<_> = inventories().filter(|_| self.inventory).collect();
        let acting = of_policy::acting(policy.as_ref(), &self.act);
        if self.record_namespace.is_some() && !self.command.has_records() {
            let reason = format!("rbac {} neither creates nor lists records", self.command.name);
            return Err(Failure::usage(reason));
        }
        let records = self.record_namespace.as_deref().unwrap_or(Recording::NAMESPACE);
        if self.namespace.is_some() && self.command.beside_watch.is_empty() {
            return Err(Failure::usage(
                "-n is only that of `rbac watch-pause`, `watch-resume` and `watch-status`",
            ));
        }
        let watch = self.namespace.as_deref().unwrap_or(WATCH_NAMESPACE);
        let namespaced = namespaced(self.command, self.journal.namespace(), watch)?;
        if self.check {
            let wanted = check::Wanted {
                command: self.command,
                policy: policy.as_ref(),
                acting: &acting,
                namespaced: &namespaced,
                records,
                also,
            };
            return check::check(connection, wanted).await;
        }
        let mut roles =
            role(self.command, policy.as_ref(), &self.secret, namespaced, records, also);
        roles.extend(of_policy::roles_of(&acting, policy.as_ref(), records));
        terminal::print(|out| {
            for (index, role) in roles.iter().enumerate() {
                if index > 0 {
                    writeln!(out, "---")?;
                }
                list::yaml(out, role)?;
            }
            for right in self.command.conditional {
                right.write(out)?;
            }
            if self.command.name == DF {
                writeln!(out, "{KUBELETS}")?;
            }
            if self.command.name == GUARD {
                write_unproven(out)?;
            }
            for right in acting.iter().flat_map(|it| of_policy::acting_conditional(*it)) {
                right.write(out)?;
            }
            if self.command.name == DISOWN || acting.contains(&ReconcilerName::Rescue) {
                writeln!(out, "# Owners of other kinds: add get on each kind that owns claims.")?;
            }
            Ok::<_, io::Error>(())
        })
        .map_err(Failure::error)?;
        Ok(Exit::Done)
    }
}

/// Writes a note about what the rights of `guard` do not allow.
fn write_unproven(out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(
        out,
        "# Not granted here: `guard status` proves by dry runs that the guard is in force, which needs"
    )?;
    writeln!(out, "# create of the guarded kinds. Without it, that is not proven.")
}

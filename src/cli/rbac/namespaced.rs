//! Rights in one namespace: the journal in the cluster, what `watch pause` and `watch status` use, and the records of
//! kept backend volumes, announcements and vetoes.

use std::collections::{BTreeMap, BTreeSet};

use super::{PolicyRule, Right, RoleFor};
use crate::{
    cli::{Failure, args::JOURNAL_NAMESPACE},
    journal::announcement::VETOES,
    model::{Kind, Text},
    watch::pause::PAUSE,
};

const CONFIG_MAPS: &str = "configmaps";

/// Rights in one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamespacedRights {
    pub(super) namespace: Text,
    pub(super) rights: BTreeSet<Right<'static>>,
}

/// The rights of a command in namespaces: in that of the journal, if it is in the cluster, and in that of
/// `watch`.
///
/// # Errors
/// When the command has no `--cluster-journal`.
pub(super) fn namespaced(
    command: RoleFor,
    journal: Option<Text>,
    watch: &str,
) -> Result<Vec<NamespacedRights>, Failure> {
    // `watch status` looks at no other journal than one in the cluster.
    let is_status = command == RoleFor::WatchStatus;
    let journal = journal.or_else(|| is_status.then(|| JOURNAL_NAMESPACE.into()));
    // One role for each namespace: two would have the same name.
    let mut all: BTreeMap<Text, BTreeSet<Right<'static>>> = BTreeMap::new();
    if let Some(namespace) = journal {
        all.entry(namespace).or_default().extend(of_journal(command)?);
    }
    let rights = of_watch(command);
    if !rights.is_empty() {
        all.entry(watch.into()).or_default().extend(rights);
    }
    let all = all.into_iter();
    Ok(all.map(|(namespace, rights)| NamespacedRights { namespace, rights }).collect())
}

/// Segments are numbered, and no right names what does not exist yet.
fn of_journal(command: RoleFor) -> Result<Vec<Right<'static>>, Failure> {
    let verbs: &[&str] = match (command, command.only_reads()) {
        (RoleFor::Journal | RoleFor::WatchStatus, _) => &["get", "list"],
        (_, false) if !command.is_of_pause() => {
            return Ok(journal_writer().collect());
        }
        _ => {
            return Err(Failure::usage(format!(
                "{} does not use the journal of --cluster-journal",
                command.name()
            )));
        }
    };
    Ok(verbs.iter().map(|verb| config_map(verb, None)).collect())
}

/// What writes the journal.
pub(super) fn journal_writer() -> impl Iterator<Item = Right<'static>> {
    ["get", "list", "create", "update"].into_iter().map(|verb| config_map(verb, None))
}

/// What reads whether anything may act.
pub(super) const fn pause_reader() -> Right<'static> {
    config_map("get", Some(PAUSE))
}

fn of_watch(command: RoleFor) -> Vec<Right<'static>> {
    match command {
        // Where there is none, everything is paused: it need not be created.
        RoleFor::WatchPause => {
            vec![config_map("get", Some(PAUSE)), config_map("update", Some(PAUSE))]
        }
        // What does not exist yet cannot be named.
        RoleFor::WatchResume => vec![
            config_map("get", Some(PAUSE)),
            config_map("update", Some(PAUSE)),
            config_map("create", None),
        ],
        // Each policy may have a Lease of its own.
        RoleFor::WatchStatus => vec![
            config_map("get", Some(PAUSE)),
            Right {
                verb: "list",
                group: Kind::Lease.group().name,
                resource: Kind::Lease.plural(),
                name: None,
            },
        ],
        _ => Vec::new(),
    }
}

/// The identity of the cluster, by which a copy of the pause record is known: the only right to an object
/// that is in no namespace.
pub(super) fn of_identity(command: RoleFor) -> Option<Right<'static>> {
    let (group, resource) = (Kind::Namespace.group().name, Kind::Namespace.plural());
    let right = Right { verb: "get", group, resource, name: Some("kube-system") };
    matches!(command, RoleFor::WatchResume | RoleFor::WatchStatus).then_some(right)
}

const fn config_map(verb: &'static str, name: Option<&'static str>) -> Right<'static> {
    Right { verb, group: "", resource: CONFIG_MAPS, name }
}

/// Each verb, and the one object that it is about: records of announcements have names that are not
/// known before, and no right can be limited to a label.
const RIGHTS: [(&str, Option<&str>); 4] =
    [("create", None), ("list", None), ("get", Some(VETOES)), ("update", Some(VETOES))];

/// The rights of a command to records, for a check.
pub(super) fn record_rights(command: RoleFor) -> impl Iterator<Item = Right<'static>> {
    let has = move |it: &(&str, Option<&str>)| {
        command.announces()
            || command.reads_announcements() && it.0 == "list"
            // Whoever may create any ConfigMap could also write announcements, or resume `watch`.
            || command.creates_record() && it.0 == "create"
    };
    let right = |(verb, name)| Right { verb, group: "", resource: CONFIG_MAPS, name };
    RIGHTS.into_iter().filter(has).map(right)
}

/// The rules of the Role of the records of a command; none where it needs none.
pub(super) fn record_rules(command: RoleFor) -> Vec<PolicyRule> {
    let rule = |named: bool| PolicyRule {
        api_groups: vec![""],
        resources: vec![CONFIG_MAPS],
        resource_names: named.then(|| VETOES.to_owned()).into_iter().collect(),
        verbs: record_rights(command)
            .filter(|it| it.name.is_some() == named)
            .map(|it| it.verb)
            .collect(),
    };
    let mut rules = vec![rule(false), rule(true)];
    rules.retain(|it| !it.verbs.is_empty());
    rules
}

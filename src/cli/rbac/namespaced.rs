//! Rights in one namespace: the journal in the cluster, what `watch pause` and `watch status` use, and the records of
//! kept backend volumes, announcements and vetoes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Access, PolicyRule, Reads, Record, Right, Role};
use crate::{
    cli::{Failure, args::JOURNAL_NAMESPACE},
    journal::announcement::VETOES,
    model::{Kind, Text},
    watch::pause::PAUSE,
};

/// Rights in one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamespacedRights {
    pub(super) namespace: Text,
    pub(super) rights: BTreeSet<Right<'static>>,
}

/// Returns the rights of a command in the namespace of the journal, if that is in the cluster, and in that of `watch`.
///
/// # Errors
/// When the command has no `--cluster-journal`.
pub(super) fn namespaced(
    command: &Role,
    journal: Option<Text>,
    watch: &str,
) -> Result<Vec<NamespacedRights>, Failure> {
    // `watch status` looks at no other journal than one in the cluster.
    let is_status = command.reads == Reads::Listed && command.journal == Access::Reads;
    let journal = journal.or_else(|| is_status.then(|| JOURNAL_NAMESPACE.into()));
    // One role for each namespace: two would have the same name.
    let mut all: BTreeMap<Text, BTreeSet<Right<'static>>> = BTreeMap::new();
    if let Some(namespace) = journal {
        all.entry(namespace).or_default().extend(of_journal(command)?);
    }
    if !command.beside_watch.is_empty() {
        all.entry(watch.into()).or_default().extend(command.beside_watch);
    }
    let all = all.into_iter();
    Ok(all.map(|(namespace, rights)| NamespacedRights { namespace, rights }).collect())
}

/// Returns the rights of a command to the journal, whose segments are numbered: no right names what does not exist yet.
fn of_journal(command: &Role) -> Result<Vec<Right<'static>>, Failure> {
    match command.journal {
        Access::Writes => Ok(journal_writer().collect()),
        Access::Reads => Ok(["get", "list"].map(|verb| Right::config_map(verb, None)).into()),
        Access::None => {
            let name = command.name;
            Err(Failure::usage(format!("{name} does not use the journal of --cluster-journal")))
        }
    }
}

/// Returns the rights to write the journal.
pub(super) fn journal_writer() -> impl Iterator<Item = Right<'static>> {
    ["get", "list", "create", "update"].into_iter().map(|verb| Right::config_map(verb, None))
}

/// Returns the right to read whether anything may act.
pub(super) const fn pause_reader() -> Right<'static> {
    Right::config_map("get", Some(PAUSE))
}

/// Verbs for records, each with the one object that it is about: records of announcements have names that are not known
/// before, and no right can be limited to a label.
const RIGHTS: [(&str, Option<&str>); 4] =
    [("create", None), ("list", None), ("get", Some(VETOES)), ("update", Some(VETOES))];

/// Returns the rights of a command to records.
pub(super) fn record_rights(command: &Role) -> impl Iterator<Item = Right<'static>> {
    let (announcements, record) = (command.announcements, command.record);
    let has = move |it: &(&str, Option<&str>)| {
        announcements == Access::Writes
            || announcements == Access::Reads && it.0 == "list"
            // A right to create any ConfigMap is also one to write announcements, or to resume `watch`.
            || record == Record::Creates && it.0 == "create"
    };
    RIGHTS.into_iter().filter(has).map(|(verb, name)| Right::config_map(verb, name))
}

/// Returns the rules of the Role for a command's records; none where it needs none.
pub(super) fn record_rules(command: &Role) -> Vec<PolicyRule> {
    let rule = |named: bool| PolicyRule {
        api_groups: vec![""],
        resources: vec![Kind::ConfigMap.plural()],
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

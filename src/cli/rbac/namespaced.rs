//! Rights in one namespace: the journal in the cluster, and what `watch pause` and `watch status` use.

use std::collections::BTreeSet;

use super::{Right, RoleFor};
use crate::{
    cli::Failure,
    model::{Kind, Text},
    watch::{pause::PAUSE, policy::LeaseName},
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
    let mut all = Vec::new();
    if let Some(namespace) = journal {
        all.push(NamespacedRights { namespace, rights: of_journal(command)? });
    }
    let rights = of_watch(command);
    if !rights.is_empty() {
        all.push(NamespacedRights { namespace: watch.into(), rights });
    }
    Ok(all)
}

/// Segments are numbered, and no right names what does not exist yet.
fn of_journal(command: RoleFor) -> Result<BTreeSet<Right<'static>>, Failure> {
    let verbs: &[&str] = match (command, command.only_reads()) {
        (RoleFor::Journal, _) => &["get", "list"],
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

/// What writes the journal, and reads whether it may.
pub(super) fn journal_writer() -> impl Iterator<Item = Right<'static>> {
    ["get", "list", "create", "update"].into_iter().map(|verb| config_map(verb, None))
}

fn of_watch(command: RoleFor) -> BTreeSet<Right<'static>> {
    let rights = match command {
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
        RoleFor::WatchStatus => vec![
            // The journal.
            config_map("get", None),
            config_map("list", None),
            Right {
                verb: "get",
                group: Kind::Lease.group().name,
                resource: Kind::Lease.plural(),
                name: Some(LeaseName::DEFAULT),
            },
        ],
        _ => Vec::new(),
    };
    rights.into_iter().collect()
}

const fn config_map(verb: &'static str, name: Option<&'static str>) -> Right<'static> {
    Right { verb, group: "", resource: CONFIG_MAPS, name }
}

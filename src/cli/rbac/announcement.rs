//! The rights to records in the cluster, in their namespace and nowhere else: that of kept backend
//! volumes, announcements and vetoes.

use super::{PolicyRule, Right, role_for::RoleFor};
use crate::journal::announcement::VETOES;

/// Each verb, and the one object that it is about: records of announcements have names that are not
/// known before, and no right can be limited to a label.
const RIGHTS: [(&str, Option<&str>); 4] =
    [("create", None), ("list", None), ("get", Some(VETOES)), ("update", Some(VETOES))];
const CONFIG_MAPS: &str = "configmaps";

/// The rights of a command, for a check.
pub(super) fn rights(command: RoleFor) -> impl Iterator<Item = Right<'static>> {
    let has = move |it: &(&str, Option<&str>)| {
        command.announces()
            || command.reads_announcements() && it.0 == "list"
            // Whoever may create any ConfigMap could also write announcements, or resume `watch`.
            || command.creates_record() && it.0 == "create"
    };
    let right = |(verb, name)| Right { verb, group: "", resource: CONFIG_MAPS, name };
    RIGHTS.into_iter().filter(has).map(right)
}

/// The rules of the Role of a command; none where it needs none.
pub(super) fn rules(command: RoleFor) -> Vec<PolicyRule> {
    let rule = |named: bool| PolicyRule {
        api_groups: vec![""],
        resources: vec![CONFIG_MAPS],
        resource_names: named.then(|| VETOES.to_owned()).into_iter().collect(),
        verbs: rights(command).filter(|it| it.name.is_some() == named).map(|it| it.verb).collect(),
    };
    let mut rules = vec![rule(false), rule(true)];
    rules.retain(|it| !it.verbs.is_empty());
    rules
}

//! The rights to the records of announcements and vetoes, in their namespace and nowhere else.

use super::{PolicyRule, Right};
use crate::journal::announcement::VETOES;

/// Each verb, and the one object that it is about: records of announcements have names that are not
/// known before, and no right can be limited to a label.
const RIGHTS: [(&str, Option<&str>); 4] =
    [("create", None), ("list", None), ("get", Some(VETOES)), ("update", Some(VETOES))];
const CONFIG_MAPS: &str = "configmaps";

/// The rights, for a check.
pub(super) fn rights() -> [Right; RIGHTS.len()] {
    RIGHTS.map(|(verb, name)| Right { verb, group: "", resource: CONFIG_MAPS, name })
}

/// The rules of the Role.
pub(super) fn rules() -> Vec<PolicyRule> {
    let rule = |named: bool| {
        let of = RIGHTS.iter().filter(|it| it.1.is_some() == named);
        PolicyRule {
            api_groups: vec![""],
            resources: vec![CONFIG_MAPS],
            resource_names: named.then(|| VETOES.to_owned()).into_iter().collect(),
            verbs: of.map(|it| it.0).collect(),
        }
    };
    vec![rule(false), rule(true)]
}

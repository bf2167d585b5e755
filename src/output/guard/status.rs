//! Status of the guard of a cluster, in its public shape and as text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    GuardBinding, GuardChange, GuardChanges, GuardLabel, GuardMetadata, GuardNamespaces,
    GuardOthers, GuardProof, GuardRefused, GuardRules, GuardStatus, GuardTypeWarning, GuardTypes,
    changes, rules,
};
use crate::{
    facts::GuardRefusal,
    guard::{
        GUARD_LABEL, GuardKind, GuardOptions, Installed, NOT_STOPPED, Probe, ProbeVerdict, Step,
        TypeCheck,
    },
    model::{Time, format_time},
    output::{publish::tool, wire::API_VERSION},
};

/// Inputs of a status of the guard.
pub struct StatusContext<'a> {
    /// The objects of the guard that the cluster has.
    pub installed: &'a Installed,
    /// The options of the guard, as far as they are readable.
    pub options: Option<&'a GuardOptions>,
    /// The writes that would repair the guard.
    pub steps: &'a [Step],
    /// The results of dry runs.
    pub proof: Option<GuardProof>,
    /// The labels of namespaces, or why they were not read.
    pub namespaces: Result<GuardNamespaces, String>,
    /// The volumes whose controllers the guard refuses, or why Events were not read.
    pub refused: Result<Vec<GuardRefused>, String>,
    /// The server's time.
    pub now: Option<Time>,
}

/// Returns the public shape of the guard of a cluster.
pub fn status(context: StatusContext<'_>) -> GuardStatus {
    let StatusContext { installed, options, steps, proof, namespaces, refused, now } = context;
    let names = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
    let (namespaces, unread) = match namespaces {
        Ok(labels) => (Some(labels), None),
        Err(why) => (None, Some(why)),
    };
    let (refused, events_unread) = match refused {
        Ok(refused) => (refused, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    GuardStatus {
        api_version: API_VERSION.to_owned(),
        kind: "GuardStatus".to_owned(),
        metadata: metadata("guard status", now),
        installed: installed.is_any(),
        rules: options.map(rules),
        differences: changes(steps),
        types: types(installed),
        proof,
        namespaces,
        namespaces_unread: unread,
        refused,
        events_unread,
        others: GuardOthers {
            policies: names(installed.others_at_work()),
            bindings: names(installed.foreign_bindings()),
        },
        not_stopped: names(NOT_STOPPED.to_vec()),
    }
}

fn metadata(command: &str, now: Option<Time>) -> GuardMetadata {
    GuardMetadata {
        command: command.to_owned(),
        taken_at: now.as_ref().map(format_time),
        tool: tool(),
        dry_run: None,
        journal: None,
    }
}

impl GuardChanges {
    /// Returns the document of a command, without its writes. `options` are those that the guard is to have.
    pub fn new(
        command: &str,
        now: Option<Time>,
        options: Option<&GuardOptions>,
        changes: Vec<GuardChange>,
    ) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "GuardChanges".to_owned(),
            metadata: metadata(command, now),
            rules: options.map(rules),
            changes,
            proof: None,
        }
    }
}

/// Returns the public shape of the results of dry runs.
pub fn proof<'a>(
    probed: impl IntoIterator<Item = &'a (Probe, ProbeVerdict)>,
    user_passes: Option<String>,
    user_unknown: Option<String>,
) -> GuardProof {
    let binding = |(probe, verdict): &(Probe, ProbeVerdict)| {
        let (state, detail) = match verdict {
            ProbeVerdict::InForce => ("in-force", String::new()),
            // The guard does not look at this user: nothing follows from what passed.
            ProbeVerdict::NotInForce if user_passes.is_some() => {
                ("unknown", "the guard lets this user pass".to_owned())
            }
            ProbeVerdict::NotInForce => {
                ("not-in-force", format!("a dry run that it {} passed", probe.verb()))
            }
            ProbeVerdict::Unknown(why) => ("unknown", why.clone()),
        };
        GuardBinding {
            name: probe.binding.clone(),
            policy: probe.policy.clone(),
            mode: probe.mode.to_string(),
            state: state.to_owned(),
            detail,
        }
    };
    let bindings = probed.into_iter().map(binding).collect();
    GuardProof { user_passes, user_unknown, bindings }
}

/// Returns the result of kube-controller-manager's type check, from the status of the policies.
fn types(installed: &Installed) -> GuardTypes {
    let mut types = GuardTypes::default();
    for (_, policy) in installed.ours().filter(|(kind, _)| *kind == GuardKind::Policy) {
        let name = policy["metadata"]["name"].as_str().unwrap_or_default();
        match TypeCheck::of(policy) {
            TypeCheck::Waiting => types.waiting.push(name.to_owned()),
            TypeCheck::Checked(warnings) if warnings.is_empty() => types.checked += 1,
            TypeCheck::Checked(warnings) => {
                let policy = name.to_owned();
                types.warnings.extend(
                    warnings
                        .into_iter()
                        .map(|warning| GuardTypeWarning { policy: policy.clone(), warning }),
                );
            }
        }
    }
    types
}

/// Returns a status as text.
pub fn status_lines(status: &GuardStatus) -> Vec<String> {
    if !status.installed {
        return vec!["guard: not installed".to_owned()];
    }
    let mut lines = vec!["guard: installed".to_owned()];
    lines.extend(status.rules.iter().flat_map(rule_lines));
    lines.extend(differing_lines(&status.differences));
    lines.extend(type_lines(&status.types));
    lines.extend(status.proof.iter().flat_map(proof_lines));
    if let Some(why) = &status.namespaces_unread {
        lines.push(format!("namespaces: not read: {why}"));
    }
    lines.extend(status.namespaces.iter().flat_map(namespace_lines));
    if let Some(why) = &status.events_unread {
        lines.push(format!("refused controllers: Events not read: {why}"));
    }
    let passed = status.rules.as_ref().map_or(&[][..], |it| &it.passed_users);
    lines.extend(refused_lines(&status.refused, passed));
    let others = &status.others;
    lines.extend(
        others
            .policies
            .iter()
            .map(|it| format!("policy of others: {it} also decides about such deletions")),
    );
    lines.extend(
        others
            .bindings
            .iter()
            .map(|it| format!("binding of others: {it} uses a policy of the guard")),
    );
    if status.rules.is_none() {
        lines.push("options: not readable; `guard install` writes them again".to_owned());
    }
    lines
}

fn rule_lines(rules: &GuardRules) -> Vec<String> {
    let mut lines = vec![
        format!("rules about volumes: {}", rules.volumes),
        format!("break-glass group: {}", rules.break_glass_group),
    ];
    let denied = rules.denied_accounts.iter();
    lines.extend(denied.map(|it| format!("guarded against: service account {it}")));
    lines.extend(rules.passed_users.iter().map(|it| format!("passes: user {it}")));
    lines
}

fn differing_lines(differences: &[GuardChange]) -> Vec<String> {
    if differences.is_empty() {
        return vec!["policies and bindings: as installed".to_owned()];
    }
    let line = |change: &GuardChange| {
        let key = format!("{}/{}", change.object.kind.to_lowercase(), change.object.name);
        match &*change.action {
            "create" => format!("missing: {key}"),
            "delete" => format!("of another version: {key}"),
            _ => {
                let fields: Vec<_> = change.differences.iter().map(|it| &*it.field).collect();
                format!("changed: {key}: {}", fields.join(", "))
            }
        }
    };
    let mut lines: Vec<_> = differences.iter().map(line).collect();
    lines.push("`kubectl storage guard diff` shows the values, `guard install` repairs".to_owned());
    lines
}

fn type_lines(types: &GuardTypes) -> Vec<String> {
    let waiting = types.waiting.iter();
    let mut lines: Vec<_> = waiting
        .map(|it| format!("types: {it} not checked yet by kube-controller-manager"))
        .collect();
    let warnings = types.warnings.iter();
    lines.extend(warnings.map(|it| format!("types: {}: {}", it.policy, it.warning)));
    if types.checked > 0 {
        lines.push(format!("types: {} policies checked, without a warning", types.checked));
    }
    lines
}

/// Returns the lines about the results of dry runs.
pub fn proof_lines(proof: &GuardProof) -> Vec<String> {
    if let Some(passes) = &proof.user_passes {
        return vec![format!("not proven: you pass the guard ({passes}); ask as a person")];
    }
    let line = |GuardBinding { name, state, detail, .. }: &GuardBinding| match &**state {
        "in-force" => format!("in force: {name}"),
        "not-in-force" => format!("NOT in force: {name}: {detail}"),
        _ => format!("not proven: {name}: {detail}"),
    };
    let mut lines: Vec<_> = proof.bindings.iter().map(line).collect();
    if let Some(why) = &proof.user_unknown {
        lines.push(format!("unknown whether you pass the guard: {why}"));
    }
    lines
}

/// Returns the volumes whose controllers the guard refuses, each once, according to these Events. A user that passes by
/// now is refused no more, whatever remains of earlier Events.
pub fn refused(events: &[Value], options: Option<&GuardOptions>) -> Vec<GuardRefused> {
    let mut newest: BTreeMap<String, GuardRefused> = BTreeMap::new();
    for event in events {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        let Some(refusal) = text("/message").and_then(GuardRefusal::of) else { continue };
        let passes = |user: &String| options.is_some_and(|it| it.passed_users.contains(user));
        if refusal.user.as_ref().is_some_and(passes) {
            continue;
        }
        let first = |pointers: &[&str]| {
            pointers.iter().find_map(|it| text(it).filter(|it| !it.is_empty())).map(str::to_owned)
        };
        let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime"];
        let found = GuardRefused {
            volume: text("/involvedObject/name").unwrap_or_default().to_owned(),
            controller: first(&["/reportingComponent", "/source/component"]).unwrap_or_default(),
            user: refusal.user,
            last: first(&times),
        };
        let known = newest.get(&found.volume);
        if known.is_none_or(|known| known.last <= found.last) {
            newest.insert(found.volume.clone(), found);
        }
    }
    newest.into_values().collect()
}

fn refused_lines(refused: &[GuardRefused], passed: &[String]) -> Vec<String> {
    let line = |GuardRefused { volume, controller, user, last }: &GuardRefused| {
        let user = user.as_ref().map_or_else(String::new, |it| format!(" as user {it}"));
        let last = last.as_ref().map_or_else(String::new, |it| format!(", last at {it}"));
        format!("REFUSED: {controller}{user}, which deletes pv/{volume} and retries for ever{last}")
    };
    let mut lines: Vec<_> = refused.iter().map(line).collect();
    let mut advised = BTreeSet::new();
    for it in refused {
        let refusal = GuardRefusal { user: it.user.clone() };
        if advised.insert(it.user.clone()) {
            lines.push(refusal.advice(&it.controller, passed));
        }
    }
    lines
}

fn namespace_lines(labels: &GuardNamespaces) -> Vec<String> {
    let names = |all: &[String]| match all {
        [] => "none".to_owned(),
        all => all.join(", "),
    };
    let denies = match &*labels.deny {
        [] => format!("none; label one with {GUARD_LABEL}=deny"),
        names => names.join(", "),
    };
    let mut lines = vec![
        format!("refuses in namespaces: {denies}"),
        format!("off in namespaces: {}", names(&labels.off)),
        format!("warns in {} other namespaces", labels.warn + labels.unknown.len()),
    ];
    lines.extend(unknown_label_lines(&labels.unknown));
    lines
}

/// Returns the lines about namespaces whose label the guard does not know.
pub fn unknown_label_lines(labels: &[GuardLabel]) -> Vec<String> {
    let line = |GuardLabel { name, value }: &GuardLabel| {
        format!(
            "unknown label: namespace {name} has {GUARD_LABEL}={value}, which only warns; deny, warn \
             and off are known"
        )
    };
    labels.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refused_controllers_are_listed_with_the_users_that_pass_already() {
        let event = |volume: &str, user: &str, last: &str| {
            json!({
                "involvedObject": {"kind": "PersistentVolume", "name": volume},
                "message": format!(
                    "forbidden: ValidatingAdmissionPolicy 'kubectl-storage-guard-persistentvolumes' with binding 'b' \
                     denied request: no. User \"{user}\""
                ),
                "lastTimestamp": last, "source": {"component": "ebs.csi.aws.com_x"},
            })
        };
        let mut options = GuardOptions::default();
        options.passed_users.insert("eks:addon".to_owned());
        let events = [
            event("a", "eks:csi", "2026-11-01T11:00:00Z"),
            event("a", "eks:csi", "2026-11-01T11:58:00Z"),
            event("b", "eks:csi", "2026-11-01T11:57:00Z"),
            event("c", "eks:addon", "2026-11-01T11:56:00Z"),
            json!({"involvedObject": {"name": "d"}, "message": "rpc error"}),
        ];
        let found = refused(&events, Some(&options));
        let passed: Vec<_> = options.passed_users.into_iter().collect();
        assert_eq!(
            refused_lines(&found, &passed),
            [
                "REFUSED: ebs.csi.aws.com_x as user eks:csi, which deletes pv/a and retries for ever, last at \
                 2026-11-01T11:58:00Z",
                "REFUSED: ebs.csi.aws.com_x as user eks:csi, which deletes pv/b and retries for ever, last at \
                 2026-11-01T11:57:00Z",
                "if eks:csi is the user as which ebs.csi.aws.com_x acts, `kubectl storage guard install --pass-user \
                 eks:addon --pass-user eks:csi` lets it pass",
            ]
        );
    }
}

//! `guard status`: whether the guard is what it should be, is in force, and where.

use clap::Args;

use super::proof::{self, Proof};
use super::{GuardedCluster, NamespaceLabels, taken};
use crate::cli::{Exit, Failure, args::ConnectionArgs, terminal};
use crate::guard::{
    GUARD_LABEL, GuardKind, GuardOptions, NOT_STOPPED, ProbeVerdict, Step, TypeCheck, installation,
};
use crate::model::escape_control;

/// Arguments of `guard status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {}

impl StatusArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let cluster = GuardedCluster::read(connection).await?;
        let installed = &cluster.installed;
        if !installed.is_any() {
            print(&["guard: not installed".to_owned()])?;
            terminal::note("`kubectl storage guard install --dry-run` shows what it consists of");
            return Ok(Exit::Error);
        }
        let options = installed.options();
        let unreadable = options.is_none();
        let options = options.unwrap_or_default();
        let steps = installation(installed, &options).map_err(|it| taken(&it))?;
        let (labels, unread) = match cluster.namespaces().await {
            Ok(labels) => (labels, None),
            Err(error) => (NamespaceLabels::default(), Some(error.to_string())),
        };
        let proof = proof::prove(&cluster, &options, &labels).await;
        let checked = type_checking(&cluster);
        let mut lines = option_lines(&options);
        lines.extend(difference_lines(&steps));
        lines.extend(checked.lines);
        lines.extend(proof_lines(&proof));
        lines.extend(label_lines(&labels, unread.as_deref()));
        lines.extend(other_lines(&cluster));
        if unreadable {
            lines.push("options: not readable; `guard install` writes them again".to_owned());
        }
        print(&lines)?;
        list_not_stopped();
        let wrong = !steps.is_empty() || unreadable || checked.warns || proof.fails();
        Ok(match wrong {
            true => Exit::Error,
            false if !proof.holds() || unread.is_some() || checked.waits => Exit::Incomplete,
            false => Exit::Done,
        })
    }
}

fn print(lines: &[String]) -> Result<(), Failure> {
    terminal::print(|out| {
        lines.iter().try_for_each(|line| writeln!(out, "{}", escape_control(line)))
    })
    .map_err(Failure::error)
}

fn option_lines(options: &GuardOptions) -> Vec<String> {
    let mut lines = vec![
        "guard: installed".to_owned(),
        format!("volumes: {}", options.volumes),
        format!("break-glass group: {}", options.break_glass),
    ];
    for (namespace, name) in &options.denied_accounts {
        lines.push(format!("guarded against: service account {namespace}/{name}"));
    }
    lines.extend(options.passed_users.iter().map(|it| format!("passes: user {it}")));
    lines
}

fn difference_lines(steps: &[Step]) -> Vec<String> {
    if steps.is_empty() {
        return vec!["policies and bindings: as installed".to_owned()];
    }
    let line = |step: &Step| {
        let key = step.key();
        match step {
            Step::Create(_) => format!("missing: {key}"),
            Step::Change { differences, .. } => {
                let fields: Vec<_> = differences.iter().map(|it| it.field.as_str()).collect();
                format!("changed: {key}: {}", fields.join(", "))
            }
            Step::Delete { .. } => format!("of another version: {key}"),
        }
    };
    let mut lines: Vec<_> = steps.iter().map(line).collect();
    lines.push("`kubectl storage guard diff` shows the values, `guard install` repairs".to_owned());
    lines
}

/// What the API server says of the types of the expressions.
struct TypeChecking {
    lines: Vec<String>,
    /// Whether it warns of one.
    warns: bool,
    /// Whether one was not checked yet.
    waits: bool,
}

/// Reads what kube-controller-manager has written into the status of the policies.
fn type_checking(cluster: &GuardedCluster) -> TypeChecking {
    let mut checking = TypeChecking { lines: Vec::new(), warns: false, waits: false };
    let mut clean = 0;
    for (_, policy) in cluster.installed.ours().filter(|(kind, _)| *kind == GuardKind::Policy) {
        let name = policy["metadata"]["name"].as_str().unwrap_or_default();
        match TypeCheck::of(policy) {
            TypeCheck::Waiting => {
                checking.waits = true;
                checking
                    .lines
                    .push(format!("types: {name} not checked yet by kube-controller-manager"));
            }
            TypeCheck::Checked(warnings) if warnings.is_empty() => clean += 1,
            TypeCheck::Checked(warnings) => {
                checking.warns = true;
                let lines = warnings.iter().map(|it| format!("types: {name}: {it}"));
                checking.lines.extend(lines);
            }
        }
    }
    if clean > 0 {
        checking.lines.push(format!("types: {clean} policies checked, without a warning"));
    }
    checking
}

/// Says what the dry runs proved.
pub(super) fn proof_lines(proof: &Proof) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(passes) = &proof.passes {
        lines.push(format!("not proven: you pass the guard ({passes}); ask as a person"));
        return lines;
    }
    for (probe, verdict) in &proof.probed {
        let binding = &probe.binding;
        lines.push(match verdict {
            ProbeVerdict::InForce => format!("in force: {binding}"),
            ProbeVerdict::NotInForce => {
                format!("NOT in force: {binding}: a dry run that it {} passed", probe.verb())
            }
            ProbeVerdict::Unknown(why) => format!("not proven: {binding}: {why}"),
        });
    }
    if let Some(why) = &proof.unknown_user {
        lines.push(format!("unknown whether you pass the guard: {why}"));
    }
    lines
}

/// Names the namespaces whose label the guard does not know.
pub(super) fn typo_lines(labels: &NamespaceLabels) -> Vec<String> {
    let line = |(name, value): &(String, String)| {
        format!(
            "unknown label: namespace {name} has {GUARD_LABEL}={value}, which only warns; deny, warn \
             and off are known"
        )
    };
    labels.unknown.iter().map(line).collect()
}

fn label_lines(labels: &NamespaceLabels, unread: Option<&str>) -> Vec<String> {
    if let Some(why) = unread {
        return vec![format!("namespaces: not read: {why}")];
    }
    let names = |all: &std::collections::BTreeSet<String>| match all.len() {
        0 => "none".to_owned(),
        _ => all.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let mut lines = vec![
        format!("refuses in namespaces: {}", names(&labels.deny)),
        format!("off in namespaces: {}", names(&labels.off)),
        format!("warns in {} other namespaces", labels.warn.len() + labels.unknown.len()),
    ];
    lines.extend(typo_lines(labels));
    lines
}

fn other_lines(cluster: &GuardedCluster) -> Vec<String> {
    let installed = &cluster.installed;
    let policies = installed.others_at_work().into_iter();
    let policies =
        policies.map(|it| format!("policy of others: {it} also decides about such deletions"));
    let bindings = installed.foreign_bindings().into_iter();
    let bindings = bindings.map(|it| format!("binding of others: {it} uses a policy of the guard"));
    policies.chain(bindings).collect()
}

/// Lists what the guard does not stop, on stderr.
pub(super) fn list_not_stopped() {
    terminal::note("The guard is a seatbelt, not a security boundary. It does not stop:");
    for line in NOT_STOPPED {
        terminal::note(&format!("- {line}"));
    }
}

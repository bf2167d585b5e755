//! Flags that printed commands repeat, so that they are about the cluster and the records of the report.

use super::{
    lines::unquoted,
    wire::{EventFinding, Finding, FindingEvent},
};
use crate::{facts::quoted, model::PROGRAM};

/// Commands that read records in the namespace of `--record-namespace`.
pub const READ_RECORDS: [&str; 5] = ["audit", "dump", "explain", "fix-finalizers", "gc"];
/// Commands whose roles hold the right to these records: `rbac` takes the flag for them.
pub const RECORD_ROLES: [&str; 6] =
    ["audit", "watch", "gc", "gc-announce", "apply", "fix-finalizers"];
/// The separator of the commands of a pipeline.
const PIPE: &str = " | ";

/// The command that hands the names of a report to another one: without -r, a report of nothing would run it for
/// everything.
pub const XARGS: &str = "xargs -r -o ";
/// The beginning of the names of evidence that is a command: `to look at it`.
const COMMAND: &str = "to ";
/// The beginning of a command of kubectl.
const KUBECTL: &str = "kubectl ";

/// Returns the commands of a pipeline.
fn parts(pipeline: &str) -> impl Iterator<Item = &str> {
    pipeline.split(unquoted('|')).map(|it| it.trim_matches(' '))
}

/// Returns the words of a command of this program, behind its name.
fn own_words(part: &str) -> impl Iterator<Item = &str> {
    let own = part.strip_prefix(XARGS).unwrap_or(part).strip_prefix(PROGRAM);
    own.unwrap_or_default().split_whitespace()
}

/// Returns the name of the last command of a pipeline, if it is one of this program.
pub fn last_command(pipeline: &str) -> Option<&str> {
    own_words(parts(pipeline).last()?).next()
}

/// Whether a command takes the namespace of the records.
fn takes_records(part: &str) -> bool {
    let mut words = own_words(part);
    match words.next() {
        Some("rbac") => words.next().is_some_and(|role| RECORD_ROLES.contains(&role)),
        Some(command) => READ_RECORDS.contains(&command),
        None => false,
    }
}

/// Flags of the command that was typed which every command that it prints repeats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepeatedFlags {
    connection: String,
    records: String,
}

impl RepeatedFlags {
    /// Returns the flags of the connection, with their values.
    pub fn of_connection<'a>(flags: impl IntoIterator<Item = (&'a str, Option<String>)>) -> Self {
        let typed = |(flag, value): (&str, Option<String>)| match value {
            Some(value) => format!(" {flag} {}", quoted(&value)),
            None => format!(" {flag}"),
        };
        let connection = flags.into_iter().map(typed).collect();
        Self { connection, records: String::new() }
    }

    /// Adds the namespace of the records, where it is not the default.
    #[must_use]
    pub fn with_records(self, namespace: Option<&str>) -> Self {
        let flag = |it| format!(" --record-namespace {}", quoted(it));
        Self { records: namespace.map(flag).unwrap_or_default(), ..self }
    }

    /// Returns a command, or a pipeline of them, with these flags.
    pub fn command(&self, command: &str) -> String {
        if self.connection.is_empty() && self.records.is_empty() {
            return command.to_owned();
        }
        let repeated = |part: &str| {
            let is_kubectl = [KUBECTL, XARGS].iter().any(|it| part.starts_with(it));
            let connection = if is_kubectl { &*self.connection } else { "" };
            let records = if takes_records(part) { &*self.records } else { "" };
            format!("{part}{connection}{records}")
        };
        parts(command).map(repeated).collect::<Vec<_>>().join(PIPE)
    }

    /// Adds these flags to the commands in a sentence, which stand in backticks.
    pub fn repeat(&self, text: &mut String) {
        if *self == Self::default() || !text.contains("`kubectl ") {
            return;
        }
        // A driver's error may have a backtick too many: what follows one and looks like a command is one.
        let part = |(index, part): (usize, &str)| match index > 0 && part.starts_with(KUBECTL) {
            true => self.command(part),
            false => part.to_owned(),
        };
        *text = text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`");
    }

    /// Returns a finding with these flags in all of its commands.
    #[must_use]
    pub fn finding(&self, mut finding: Finding) -> Finding {
        if *self == Self::default() {
            return finding;
        }
        self.repeat(&mut finding.summary);
        self.repeat(&mut finding.verdict.reason);
        finding.evidence.iter_mut().for_each(|it| self.evidence(&it.field, &mut it.value));
        if let Some(remedy) = &mut finding.remedy {
            self.repeat(&mut remedy.effect);
            self.repeat(&mut remedy.risk);
            remedy.command = remedy.command.take().map(|it| self.command(&it));
        }
        finding
    }

    /// Adds these flags to the commands in evidence with this name; what else is evidence are words of the cluster.
    fn evidence(&self, field: &str, value: &mut String) {
        match field {
            "what helps" => self.repeat(value),
            field if field.starts_with(COMMAND) => *value = self.command(value),
            _ => {}
        }
    }

    /// Returns an event of a finding with these flags in all of its commands.
    #[must_use]
    pub fn event(&self, mut event: FindingEvent) -> FindingEvent {
        if let EventFinding::Present(finding) = event.finding {
            event.finding = EventFinding::Present(Box::new(self.finding(*finding)));
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_is_known() {
        for (command, name) in [
            ("kubectl storage retain pv/a", Some("retain")),
            (
                "kubectl storage audit -o name | xargs -r -o kubectl storage gc --older-than 7d",
                Some("gc"),
            ),
            ("kubectl storage explain pv/a --context 'the kubectl storage gc'", Some("explain")),
            ("kubectl get pv", None),
        ] {
            assert_eq!(last_command(command), name, "{command}");
        }
    }

    #[test]
    fn each_command_repeats_what_it_takes() {
        let connection =
            [("--context", Some("a b".to_owned())), ("--insecure-skip-tls-verify", None)];
        let flags = RepeatedFlags::of_connection(connection).with_records(Some("records"));
        let (of, kept) =
            (" --context 'a b' --insecure-skip-tls-verify", " --record-namespace records");
        for (command, expected) in [
            ("kubectl storage retain pv/a", format!("kubectl storage retain pv/a{of}")),
            ("kubectl storage gc pv/a", format!("kubectl storage gc pv/a{of}{kept}")),
            (
                "kubectl patch pv a -p '{\"a\": \"b | c\"}'",
                format!("kubectl patch pv a -p '{{\"a\": \"b | c\"}}'{of}"),
            ),
            (
                "kubectl storage audit -o name | xargs -r -o kubectl storage retain",
                format!(
                    "kubectl storage audit -o name{of}{kept} | xargs -r -o kubectl storage retain{of}"
                ),
            ),
            (
                "kubectl storage explain pv/a -f 'a | kubectl b.json' | jq .",
                format!("kubectl storage explain pv/a -f 'a | kubectl b.json'{of}{kept} | jq ."),
            ),
            (
                "kubectl storage rbac gc --check",
                format!("kubectl storage rbac gc --check{of}{kept}"),
            ),
            (
                "kubectl storage rbac delete --check",
                format!("kubectl storage rbac delete --check{of}"),
            ),
        ] {
            assert_eq!(flags.command(command), expected);
            assert_eq!(RepeatedFlags::default().command(command), command);
        }
        for (field, said, expected) in [
            ("to look at it", "kubectl get pv", format!("kubectl get pv{of}")),
            ("to look at it", "aws help", "aws help".to_owned()),
            ("what helps", "`kubectl get pv`", format!("`kubectl get pv{of}`")),
            ("status.message", "`kubectl get pv`", "`kubectl get pv`".to_owned()),
        ] {
            let mut value = said.to_owned();
            flags.evidence(field, &mut value);
            assert_eq!(value, expected);
        }
        for (said, expected) in [
            ("run `kubectl get pv` or `gc`", format!("run `kubectl get pv{of}` or `gc`")),
            ("error ` of it; `kubectl get pv`", format!("error ` of it; `kubectl get pv{of}`")),
        ] {
            let mut text = said.to_owned();
            flags.repeat(&mut text);
            assert_eq!(text, expected);
        }
    }
}

//! The flags that printed commands repeat, so that they are about the cluster and the records that the report is about.

use super::wire::{EventFinding, Finding, FindingEvent};
use crate::{facts::quoted, model::PROGRAM};

/// Commands that read records where `--record-namespace` says.
pub const READ_RECORDS: [&str; 5] = ["audit", "dump", "explain", "fix-finalizers", "gc"];
/// What separates the commands of a pipeline.
const PIPE: &str = " | ";

/// How the names of a report are handed to a command: without -r, a report of nothing would run it for everything.
pub const XARGS: &str = "xargs -r -o ";
/// How a command of kubectl begins.
const KUBECTL: &str = "kubectl ";

/// The commands of a pipeline.
fn parts(pipeline: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in pipeline.split(PIPE) {
        // Elsewhere it stands within a value.
        let begins = [KUBECTL, XARGS].iter().any(|it| part.starts_with(it));
        match parts.last_mut().filter(|_| !begins) {
            Some(last) => *last = format!("{last}{PIPE}{part}"),
            None => parts.push(part.to_owned()),
        }
    }
    parts
}

/// The name of a command of this program.
fn own_command(part: &str) -> Option<&str> {
    let own = part.strip_prefix(XARGS).unwrap_or(part).strip_prefix(PROGRAM)?;
    own.split_whitespace().next()
}

/// The name of the last command of a pipeline, if it is one of this program.
pub fn last_command(pipeline: &str) -> Option<String> {
    own_command(parts(pipeline).last()?).map(str::to_owned)
}

/// Flags of the command that was typed which every command that it prints repeats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepeatedFlags {
    connection: String,
    records: String,
}

impl RepeatedFlags {
    /// Flags of the connection, with their values.
    pub fn of_connection<'a>(flags: impl IntoIterator<Item = (&'a str, Option<String>)>) -> Self {
        let typed = |(flag, value): (&str, Option<String>)| match value {
            Some(value) => format!(" {flag} {}", quoted(&value)),
            None => format!(" {flag}"),
        };
        let connection = flags.into_iter().map(typed).collect();
        Self { connection, records: String::new() }
    }

    /// The namespace of the records, where it is not the default.
    #[must_use]
    pub fn with_records(self, namespace: Option<&str>) -> Self {
        let flag = |it| format!(" --record-namespace {}", quoted(it));
        Self { records: namespace.map(flag).unwrap_or_default(), ..self }
    }

    /// A command, or a pipeline of them, with these flags.
    pub fn command(&self, command: &str) -> String {
        if self.connection.is_empty() && self.records.is_empty() {
            return command.to_owned();
        }
        let mut parts = parts(command);
        for part in &mut parts {
            let reads_records = own_command(part).is_some_and(|it| READ_RECORDS.contains(&it));
            part.push_str(&self.connection);
            if reads_records {
                part.push_str(&self.records);
            }
        }
        parts.join(PIPE)
    }

    /// Gives the commands in a sentence, which stand in backticks, these flags.
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

    /// A finding, with these flags in all of its commands.
    #[must_use]
    pub fn finding(&self, mut finding: Finding) -> Finding {
        if *self == Self::default() {
            return finding;
        }
        self.repeat(&mut finding.summary);
        self.repeat(&mut finding.verdict.reason);
        // What else is evidence are words of the cluster.
        let helps = finding.evidence.iter_mut().filter(|it| it.field == "what helps");
        helps.for_each(|it| self.repeat(&mut it.value));
        if let Some(remedy) = &mut finding.remedy {
            self.repeat(&mut remedy.effect);
            self.repeat(&mut remedy.risk);
            remedy.command = remedy.command.take().map(|it| self.command(&it));
        }
        finding
    }

    /// What has become of a finding, with these flags in all of its commands.
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
            assert_eq!(last_command(command).as_deref(), name, "{command}");
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
        ] {
            assert_eq!(flags.command(command), expected);
            assert_eq!(RepeatedFlags::default().command(command), command);
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

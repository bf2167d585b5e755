//! The flags that printed commands repeat, so that they are about the cluster and the records that the report is about.

use super::wire::{EventFinding, Finding, FindingEvent};
use crate::facts::quoted;

/// Commands with `--record-namespace`.
const READ_RECORDS: [&str; 5] = ["audit", "dump", "explain", "fix-finalizers", "gc"];
/// What separates the commands of a pipeline.
const PIPE: &str = " | ";

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
        let mut parts: Vec<String> = Vec::new();
        for part in command.split(PIPE) {
            // Elsewhere it stands within a value.
            let begins = ["kubectl ", "xargs "].iter().any(|it| part.starts_with(it));
            match parts.last_mut().filter(|_| !begins) {
                Some(last) => *last = format!("{last}{PIPE}{part}"),
                None => parts.push(part.to_owned()),
            }
        }
        for part in &mut parts {
            let own = part.split_once("kubectl storage ").map(|(_, rest)| rest);
            let name = own.and_then(|rest| rest.split_whitespace().next());
            let reads_records = name.is_some_and(|it| READ_RECORDS.contains(&it));
            part.push_str(&self.connection);
            if reads_records {
                part.push_str(&self.records);
            }
        }
        parts.join(PIPE)
    }

    /// A sentence; the commands in it, which stand in backticks, get these flags.
    pub fn text(&self, text: String) -> String {
        if *self == Self::default() || !text.contains("`kubectl ") {
            return text;
        }
        let part = |(index, part): (usize, &str)| match index % 2 == 1 {
            true if part.starts_with("kubectl ") => self.command(part),
            _ => part.to_owned(),
        };
        text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
    }

    /// A finding, with these flags in all of its commands.
    #[must_use]
    pub fn finding(&self, mut finding: Finding) -> Finding {
        if *self == Self::default() {
            return finding;
        }
        let said = |text: &mut String| *text = self.text(std::mem::take(text));
        said(&mut finding.summary);
        said(&mut finding.verdict.reason);
        finding.evidence.iter_mut().for_each(|it| said(&mut it.value));
        if let Some(remedy) = &mut finding.remedy {
            said(&mut remedy.effect);
            said(&mut remedy.risk);
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
        assert_eq!(
            flags.text("run `kubectl get pv` or `gc`".to_owned()),
            format!("run `kubectl get pv{of}` or `gc`")
        );
    }
}

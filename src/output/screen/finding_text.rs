//! What a finding says, apart from its object: findings that say the same are one entry.

use super::super::wire::{Evidence, Finding};
use crate::model::escape_control;

/// So much of each text is kept: no screen shows more.
const KEPT: usize = 2_000;

/// How a summary quotes the last error.
pub const QUOTED_ERROR: &str = " (last error: ";

/// Stand for the finding's object in the ways in which texts name it. Cluster text cannot hold
/// them: they are control characters.
const MARKS: [char; 3] = ['\u{1}', '\u{2}', '\u{3}'];

/// The sentences of a finding, with marks where they name its object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FindingText {
    id: String,
    /// What is wrong.
    pub summary: String,
    /// The last error in a controller's own words.
    pub error: Option<String>,
    /// The reason of the verdict, or an advice.
    pub next: String,
    /// The command that is offered.
    pub command: Option<String>,
    state: String,
    /// How an object of its kind is named in a text about many: `pv/NAME`.
    names: [String; 3],
}

impl FindingText {
    /// The text of a finding; `object` is how people name its object.
    pub fn of(finding: &Finding, object: &str) -> Self {
        let kind = &finding.object.kind;
        let own = names(object, kind);
        let marked = |text: &str| marked(text, &own);
        let error = last_error(&finding.evidence).map(|it| marked(&it));
        // Of a remedy that is refused, the reason is the next step.
        let remedy = finding.remedy.as_ref().filter(|_| finding.verdict.state == "fixable");
        let command = remedy.and_then(|remedy| remedy.command.as_deref());
        let mut summary = marked(&plain(&finding.summary));
        if error.is_some()
            && let Some(at) = summary.find(QUOTED_ERROR)
        {
            summary.truncate(at); // Its own line has room for more of it.
        }
        let quoted = |error: &String| {
            // Without the reason of the event.
            let message = match error.split_once(": ") {
                Some((reason, message)) if !reason.contains(' ') => message,
                _ => error,
            };
            let beginning: String = message.chars().take(40).collect();
            summary.contains(&beginning)
        };
        let error = error.filter(|error| !quoted(error));
        let mut next = marked(&plain(&finding.verdict.reason));
        if let Some(error) = &error {
            next = without(&next, error);
        }
        Self {
            error,
            id: finding.id.clone(),
            command: command.map(marked),
            state: finding.verdict.state.clone(),
            names: names(&any_name(object), kind),
            next,
            summary,
        }
    }

    /// What the verdict's reason is: a next step, or why there is none.
    pub fn label(&self) -> &'static str {
        match &*self.state {
            "blocked" => "Blocked:",
            "unseen" => "Unknown:",
            _ => "Next:",
        }
    }

    /// The object, or one of many, as commands name it.
    pub fn named_on_command_line(&self, about: Option<(&str, &str)>) -> String {
        self.spoken(&MARKS[1].to_string(), about)
    }

    /// A sentence about one object of a kind, or about many.
    pub fn spoken(&self, text: &str, about: Option<(&str, &str)>) -> String {
        let own = about.map(|(object, kind)| names(object, kind));
        let mut spoken = text.to_owned();
        for (mark, name) in MARKS.iter().zip(own.as_ref().unwrap_or(&self.names)) {
            if spoken.contains(*mark) {
                spoken = spoken.replace(*mark, name);
            }
        }
        spoken
    }
}

/// How texts name an object: `pvc/NAMESPACE/NAME`, `pvc/NAME -n NAMESPACE` and
/// `persistentvolumeclaim/NAME`.
fn names(object: &str, kind: &str) -> [String; 3] {
    let mut parts = object.splitn(3, '/');
    let (short, second, third) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next());
    let kind = kind.to_lowercase();
    match third {
        Some(name) => {
            [object.to_owned(), format!("{short}/{name} -n {second}"), format!("{kind}/{name}")]
        }
        None => [object.to_owned(), object.to_owned(), format!("{kind}/{second}")],
    }
}

/// How an object of a kind is named in a text about many.
fn any_name(object: &str) -> String {
    let kind = object.split('/').next().unwrap_or_default();
    match object.matches('/').count() {
        0 | 1 => format!("{kind}/NAME"),
        _ => format!("{kind}/NAMESPACE/NAME"),
    }
}

/// A text with marks where it names the object.
fn marked(text: &str, names: &[String; 3]) -> String {
    let mut text = escape_control(&beginning(text)).into_owned();
    for (mark, name) in MARKS.iter().zip(names) {
        text = replaced(&text, name, *mark);
    }
    text
}

/// Replaces a name, but not where it is a part of a longer one.
fn replaced(text: &str, name: &str, mark: char) -> String {
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/' | '_');
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        result.push_str(before);
        let longer = after.starts_with(in_name)
            || after.starts_with('.') && after[1..].starts_with(in_name)
            || result.ends_with(in_name);
        if longer {
            result.push_str(name);
        } else {
            result.push(mark);
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// The beginning of a text, and its end if it is very long.
fn beginning(text: &str) -> String {
    if text.len() <= 2 * KEPT {
        return text.to_owned();
    }
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    format!("{}…{}", &text[..boundary(KEPT)], &text[boundary(text.len() - KEPT)..])
}

/// The last error that the evidence shows, in the words of whoever reported it, without the time.
fn last_error(evidence: &[Evidence]) -> Option<String> {
    let error = evidence.iter().filter_map(error_of).find(|it| !it.is_empty())?;
    Some(plain(&error))
}

/// The error in one piece of evidence, if it is one.
fn error_of(evidence: &Evidence) -> Option<String> {
    let Evidence { field, value, .. } = evidence;
    // What stands where there is no value, or where it was not read.
    let absent =
        value.starts_with('<') || value.starts_with("not read") || value == "none was seen";
    if absent {
        return None;
    }
    let value = beginning(value);
    let condition = field.starts_with("status.conditions[") && field.ends_with("].message");
    if field == "status.message" || field.ends_with("Error.message") || condition {
        return Some(value);
    }
    let event = field.strip_prefix("last ")?;
    let (text, has_time) = without_time(&value);
    if event.starts_with("Volume") {
        return has_time.then(|| text.to_owned());
    }
    if !(event == "event" || event == "error" || event.ends_with(" event")) {
        return None;
    }
    // Most events tell of progress. Those that do not say so in their reason.
    let (reason, _) = text.split_once(": ")?;
    let word = reason.chars().all(char::is_alphanumeric);
    let failure = ["Fail", "Error", "Mis", "Denied"];
    let failed = event == "error" || failure.iter().any(|it| reason.contains(it));
    (word && failed).then(|| text.to_owned())
}

/// An event's text without the times at its end, and whether it had any.
fn without_time(value: &str) -> (&str, bool) {
    const TIME: usize = "2026-01-01T00:00:00Z".len();
    let text = value.trim_end_matches(')');
    let Some(from) = text.len().checked_sub(TIME) else { return (value, false) };
    let (Some(before), Some(time)) = (text.get(..from), text.get(from..)) else {
        return (value, false);
    };
    if !time.ends_with('Z') || time.as_bytes().get(10) != Some(&b'T') {
        return (value, false);
    }
    let cut = match before.rfind(" (").filter(|_| value.ends_with(')')) {
        Some(at) => before.get(..at).unwrap_or(before),
        None => before.trim_end().trim_end_matches("at").trim_end().trim_end_matches(','),
    };
    (cut.trim_end(), true)
}

/// A reason without the error that it quotes, which stands above it.
fn without(reason: &str, error: &str) -> String {
    if error.len() < 20 {
        return reason.to_owned(); // It takes no more room than to say so.
    }
    reason.replace(&format!(": {error}"), " (see Error)").replace(error, "(see Error)")
}

/// An error without the wrapping of gRPC: `NotFound: no such volume`.
fn plain(error: &str) -> String {
    const WRAPPED: &str = "rpc error: code = ";
    const TEXT: &str = " desc = ";
    let mut rest = error;
    let mut plain = String::new();
    while let Some(at) = rest.find(WRAPPED) {
        let code = &rest[at + WRAPPED.len()..];
        let Some(end) = code.find(TEXT).filter(|end| !code[..*end].contains(' ')) else { break };
        plain.push_str(&rest[..at]);
        plain.push_str(&code[..end]);
        plain.push_str(": ");
        rest = &code[end + TEXT.len()..];
    }
    plain.push_str(rest);
    plain
}

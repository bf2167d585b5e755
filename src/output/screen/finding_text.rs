//! Text of a finding, apart from its object: findings that say the same are one entry.

use super::super::wire::{Evidence, Finding};
use crate::model::escape_control;

/// Number of bytes that are kept at each end of a text: no screen shows more.
const KEPT: usize = 2_000;

/// The beginning of the quotation of the last error in a summary.
pub const QUOTED_ERROR: &str = " (last error: ";

/// Characters that stand for the finding's object in the ways in which texts name it. Cluster text cannot hold them:
/// they are control characters.
const MARKS: [char; 3] = ['\u{1}', '\u{2}', '\u{3}'];

/// Number of objects that one command names.
pub const TOGETHER: usize = 5;
/// Beginnings of commands that take several objects.
const TAKES_SEVERAL: [&str; 6] = [
    "kubectl delete ",
    "kubectl storage delete ",
    "kubectl storage disown ",
    "kubectl storage fix-finalizers ",
    "kubectl storage gc ",
    "kubectl storage retain ",
];

/// The sentences of a finding, with marks where they name its object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FindingText {
    id: String,
    /// The problem, in one sentence.
    pub summary: String,
    /// The last error in a controller's own words.
    pub error: Option<String>,
    /// The reason of the verdict, or an advice.
    pub next: String,
    /// The command that is offered.
    pub command: Option<String>,
    state: String,
    kind: String,
}

/// An object as people name it, and its kind.
pub type Named<'a> = (&'a str, &'a str);

impl FindingText {
    /// Returns the text of a finding; `object` is the name that people use for its object.
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
        // What an earlier report had needs no mark.
        if let Some(state) = finding.baseline.as_deref().filter(|it| *it != "known") {
            summary = format!("{state}: {summary}");
        }
        let mut next = marked(&plain(&finding.verdict.reason));
        if let Some(error) = &error {
            next = without(&next, error);
        }
        Self {
            error,
            id: finding.id.clone(),
            command: command.map(marked),
            state: finding.verdict.state.clone(),
            kind: kind.clone(),
            next,
            summary,
        }
    }

    /// Returns the label of the verdict's reason: a next step, or why there is none.
    pub fn label(&self) -> &'static str {
        match &*self.state {
            "blocked" => "Blocked:",
            "unseen" => "Unknown:",
            _ => "Next:",
        }
    }

    /// Returns a sentence about one object, or about many of one kind. Commands in it name the objects.
    pub fn spoken(&self, text: &str, objects: &[Named]) -> String {
        let (Some(first), [_, _, ..]) = (objects.first(), objects) else {
            return objects.first().map_or_else(|| text.to_owned(), |it| about(text, *it));
        };
        if !text.contains(MARKS) {
            return text.to_owned();
        }
        let mut spoken = String::with_capacity(text.len());
        let mut is_whole = true;
        for (index, part) in text.split('`').enumerate() {
            if index > 0 {
                spoken.push('`');
            }
            if !part.starts_with("kubectl ") {
                spoken.push_str(&part.replace(MARKS, self.noun()));
            } else if let Some(commands) = together(part, objects) {
                spoken.push_str(&commands.join("` and `"));
                is_whole &= objects.len() <= TOGETHER;
            } else {
                spoken.push_str(&about(part, *first));
                is_whole &= !part.contains(MARKS);
            }
        }
        if !is_whole {
            spoken.push_str(" (the others alike)");
        }
        spoken
    }

    /// Returns the commands that are offered for these objects, as few as possible.
    pub fn commands(&self, objects: &[Named]) -> Vec<String> {
        let Some(command) = &self.command else { return Vec::new() };
        let several = || together(command, objects);
        let one = || objects.iter().take(TOGETHER).map(|it| about(command, *it)).collect();
        let mut commands: Vec<String> = several().unwrap_or_else(one);
        commands.dedup();
        commands
    }

    /// Returns the offered command for objects whose names follow it, and the namespace of all; `None` if it takes only
    /// one, or if they are of several namespaces.
    pub fn command_before_names<'a>(
        &self,
        objects: &[Named<'a>],
    ) -> Option<(String, Option<&'a str>)> {
        let command = self.command.as_deref().filter(|it| takes_several(it))?;
        let mut places = objects.iter().map(|it| place(*it));
        let first = places.next()?;
        if places.any(|it| it != first) {
            return None;
        }
        let space = first.map_or_else(String::new, |it| format!(" -n {it}"));
        // The object is a word of its own.
        let without = |command: String, mark: &char| command.replace(&format!(" {mark}"), "");
        let before = MARKS.iter().fold(command.to_owned(), without);
        Some((before + &space, first))
    }

    /// Returns the noun for one of several objects in a sentence.
    fn noun(&self) -> &'static str {
        match &*self.kind {
            "PersistentVolume" => "the volume",
            "PersistentVolumeClaim" => "the claim",
            "Pod" => "the pod",
            "StatefulSet" => "the StatefulSet",
            "VolumeAttachment" => "the VolumeAttachment",
            _ => "the object",
        }
    }
}

/// Returns a text about one object.
fn about(text: &str, (object, kind): Named) -> String {
    let mut spoken = text.to_owned();
    for (mark, name) in MARKS.iter().zip(names(object, kind)) {
        if spoken.contains(*mark) {
            spoken = spoken.replace(*mark, &name);
        }
    }
    spoken
}

/// Returns a command about the first objects, or one for each of their namespaces; `None` if it can be about one only.
fn together(command: &str, objects: &[Named]) -> Option<Vec<String>> {
    if !takes_several(command) {
        return None;
    }
    let mut by_place: Vec<(Option<&str>, Vec<String>)> = Vec::new();
    for object in objects.iter().take(TOGETHER) {
        let named = names(object.0, object.1)[1].clone();
        let named = named.split(" -n ").next().unwrap_or_default().to_owned();
        match by_place.iter_mut().find(|(known, _)| *known == place(*object)) {
            Some((_, its)) => its.push(named),
            None => by_place.push((place(*object), vec![named])),
        }
    }
    let command_in = |(place, its): (Option<&str>, Vec<String>)| {
        let space = place.map_or_else(String::new, |it| format!(" -n {it}"));
        command.replace(MARKS, &(its.join(" ") + &space))
    };
    Some(by_place.into_iter().map(command_in).collect())
}

/// Whether a command names its object once, as a word, and takes more of them.
fn takes_several(command: &str) -> bool {
    let mut words = command.split(' ').filter(|word| word.contains(MARKS));
    let is_word = words.next().is_some_and(|word| word.chars().count() == 1);
    is_word && words.next().is_none() && TAKES_SEVERAL.iter().any(|it| command.starts_with(it))
}

/// Returns the namespace of an object.
fn place((object, _): Named<'_>) -> Option<&str> {
    let mut parts = object.splitn(3, '/');
    parts.nth(1).filter(|_| parts.next().is_some())
}

/// Returns the ways in which texts name an object: `pvc/NAMESPACE/NAME`, `pvc/NAME -n NAMESPACE` and
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

/// Returns a text with marks where it names the object.
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

/// Returns the beginning of a text, and its end if it is very long.
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

/// Returns the last error that the evidence shows, in the words of its reporter, without the time.
fn last_error(evidence: &[Evidence]) -> Option<String> {
    let error = evidence.iter().filter_map(error_of).find(|it| !it.is_empty())?;
    Some(plain(&error))
}

/// Returns the error in one piece of evidence, if it is one.
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

/// Returns an event's text without the times at its end, and whether it had any.
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

/// Returns a reason without the error that it quotes, which stands above it.
fn without(reason: &str, error: &str) -> String {
    if error.len() < 20 {
        return reason.to_owned(); // It takes no more room than to say so.
    }
    reason.replace(&format!(": {error}"), " (see Error)").replace(error, "(see Error)")
}

/// Returns an error without the wrapping of gRPC: `NotFound: no such volume`.
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

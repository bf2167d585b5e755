//! Lines of a bounded width, and their colours.

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::model::Severity;

/// The longest name that is printed: no object of a cluster has a longer one.
pub const LONGEST_NAME: usize = 400;

/// Colours, where they are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    pub colour: bool,
}

impl Paint {
    /// A severity, in a column of this width.
    pub fn severity(self, severity: Option<Severity>, width: usize) -> String {
        let Some(severity) = severity else { return " ".repeat(width) };
        let style = match severity {
            Severity::Critical => AnsiColor::Red.on_default().bold(),
            Severity::High => AnsiColor::Red.on_default(),
            Severity::Medium => AnsiColor::Yellow.on_default(),
            Severity::Low => AnsiColor::Cyan.on_default(),
            Severity::Info => Style::new().dimmed(),
        };
        let name = severity.name();
        format!("{}{:2$}", self.styled(name, style), "", width.saturating_sub(name.len()))
    }

    /// The id of a finding.
    pub fn strong(self, text: &str) -> String {
        self.styled(text, Style::new().bold())
    }

    /// What destroys data.
    pub fn alarm(self, text: &str) -> String {
        self.styled(text, AnsiColor::Red.on_default())
    }

    /// What begins a line: an error, a next step, a verdict.
    pub fn label(self, label: &str) -> String {
        let style = match label.trim_end() {
            "Error:" => AnsiColor::Red.on_default(),
            "Next:" => AnsiColor::Green.on_default(),
            "Blocked:" | "Unknown:" => AnsiColor::Yellow.on_default(),
            _ => Style::new(),
        };
        let (word, gap) = label.split_at(label.trim_end().len());
        format!("{}{gap}", self.styled(word, style))
    }

    fn styled(self, text: &str, style: Style) -> String {
        match self.colour && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }
}

/// How long a command may be to stand within a sentence, in bytes.
const INLINE_COMMAND: usize = 100;

/// Splits an advice that ends in a command too long to be wrapped with it: what stands before it,
/// and the command.
pub fn split_command(advice: &str) -> (&str, Option<&str>) {
    let quoted = advice.strip_suffix('`').and_then(|text| text.rsplit_once('`'));
    match quoted {
        Some((before, command))
            if command.starts_with("kubectl ") && command.len() > INLINE_COMMAND =>
        {
            (before.trim_end(), Some(command))
        }
        _ => (advice, None),
    }
}

/// Shortens a text to at most `limit` columns: its beginning and its end remain, since errors name
/// their innermost cause last.
pub fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.width() <= limit {
        return text.to_owned();
    }
    let end = limit / 3;
    let start = limit.saturating_sub(end + 1);
    let head = columns(text.chars(), start);
    let tail: Vec<char> = columns(text.chars().rev(), end);
    let mut short: String = head.into_iter().collect();
    short.push('…');
    short.extend(tail.into_iter().rev());
    short
}

/// Shortens a sentence to at most `limit` columns, between words where it has any.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.width() <= limit {
        return text.to_owned();
    }
    let mut short: String = columns(text.chars(), limit.saturating_sub(1)).into_iter().collect();
    if let Some(at) = short.rfind(' ').filter(|at| *at > short.len() / 2) {
        short.truncate(at);
    }
    short.truncate(short.trim_end_matches([',', ';', ':', '.', ' ']).len());
    short.push('…');
    short
}

/// The first characters that have room in so many columns.
fn columns(text: impl Iterator<Item = char>, limit: usize) -> Vec<char> {
    let mut used = 0;
    text.take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= limit
    })
    .collect()
}

/// Breaks a text into lines of at most `width` columns: between words, but not in a quoted command
/// that has room on a line, and in a word that has none.
pub fn broken(text: &str, width: usize) -> Vec<String> {
    filled(text, width, true)
}

/// Breaks a text like `broken`, but never a word: names and flags are there to be copied.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    filled(text, width, false)
}

fn filled(text: &str, width: usize, breaks_words: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text, width) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width && !line.ends_with(GOES_ON) => {
                line.push(' ');
                line.push_str(&word);
                continue;
            }
            _ => {}
        }
        let mut rest = &*word;
        while breaks_words && rest.width() > width {
            let head: String = columns(rest.chars(), width.max(2)).into_iter().collect();
            rest = &rest[head.len()..];
            lines.push(head);
        }
        lines.push(rest.to_owned());
    }
    lines
}

/// Ends a line of a command that goes on in the next one.
const GOES_ON: &str = " \\";

/// The words of a text; a command in backticks is one, or one for each line that it takes.
fn words(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut command: Vec<&str> = Vec::new();
    let whole = |command: &mut Vec<&str>, words: &mut Vec<String>| {
        let joined = command.join(" ");
        match joined.width() <= width {
            true => words.push(joined),
            false if joined.contains("`kubectl ") => words.extend(command_lines(&joined, width)),
            // What a command prints is none.
            false => words.extend(command.iter().map(|it| (*it).to_owned())),
        }
        command.clear();
    };
    for word in text.split_whitespace() {
        let odd = word.matches('`').count() % 2 == 1;
        match (command.is_empty(), odd) {
            (true, false) => words.push(word.to_owned()),
            (true, true) | (false, false) => command.push(word),
            (false, true) => {
                command.push(word);
                whole(&mut command, &mut words);
            }
        }
    }
    // A backtick that nothing closes begins no command.
    words.extend(command.into_iter().map(str::to_owned));
    words
}

/// Breaks a command where a shell allows it: it can be copied as it stands.
pub fn command_lines(command: &str, width: usize) -> Vec<String> {
    if command.width() <= width {
        return vec![command.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    let mut is_quoted = false;
    // Within quotes, the sign that the line goes on would be part of the text.
    let unquoted = |letter: char| {
        is_quoted ^= letter == '\'';
        letter == ' ' && !is_quoted
    };
    for word in command.split(unquoted) {
        match lines.last_mut() {
            // Two columns for the sign that the line goes on.
            Some(line) if line.width() + 1 + word.width() + 2 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        line.push_str(GOES_ON);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_beginning_and_end() {
        assert_eq!(bounded("short", 5), "short");
        assert_eq!(bounded("0123456789", 7), "0123…89");
        let long = bounded(&"ü".repeat(64 << 10), 69);
        assert_eq!(long.width(), 69);
        assert_eq!(bounded(&"木".repeat(50), 9).width(), 7);
        assert_eq!(bounded("größer", 6), "größer");
    }

    #[test]
    fn sentences_end_at_a_word() {
        assert_eq!(shortened("as it is", 8), "as it is");
        assert_eq!(shortened("the node, which is gone", 14), "the node…");
        assert_eq!(shortened("0123456789", 5), "0123…");
    }

    #[test]
    fn no_line_is_too_wide() {
        for text in ["a b c", &"x".repeat(1000), &format!("y {} z", "木".repeat(99)), ""] {
            for width in [2, 7, 40] {
                let lines = broken(text, width);
                assert!(lines.iter().all(|it| it.width() <= width), "{width}: {lines:?}");
                let said: String = lines.concat().replace(' ', "");
                assert_eq!(said, text.replace(' ', ""), "nothing is lost");
            }
        }
    }

    #[test]
    fn quoted_commands_stay_whole() {
        let text = "run `kubectl get pv x`: it `shows` more, `never closed at all";
        assert_eq!(
            broken(text, 20),
            ["run", "`kubectl get pv x`:", "it `shows` more,", "`never closed at all"]
        );
        assert_eq!(broken("it prints `one two three`", 12), ["it prints", "`one two", "three`"]);
        assert_eq!(broken("a longer-word here", 8), ["a", "longer-w", "ord here"]);
        assert_eq!(wrapped("a longer-word here", 8), ["a", "longer-word", "here"]);
        let text = "run `kubectl get pv one` then";
        assert_eq!(broken(text, 16), ["run", "`kubectl get \\", "pv one` then"]);
    }

    #[test]
    fn commands_break_as_a_shell_reads_them() {
        assert_eq!(command_lines("a b", 10), ["a b"]);
        assert_eq!(
            command_lines("gc pv/name --older-than 7d", 14),
            ["gc pv/name \\", "--older-than \\", "7d"]
        );
        assert_eq!(command_lines("longer-than-that", 4), ["longer-than-that"]);
        assert_eq!(
            command_lines("get pv -o 'a b c' x", 8),
            ["get pv \\", "-o \\", "'a b c' \\", "x"]
        );
    }

    #[test]
    fn colours_only_where_they_are_wanted() {
        let [with, without] = [true, false].map(|colour| Paint { colour });
        assert_eq!(without.severity(Some(Severity::Low), 5), "low  ");
        assert_eq!(without.label("Next:  "), "Next:  ");
        assert!(with.severity(Some(Severity::Critical), 10).starts_with('\u{1b}'));
        assert!(
            with.severity(Some(Severity::Critical), 10).ends_with("  "),
            "the gap has no colour"
        );
        assert_eq!(with.label("Cause:"), "Cause:");
    }
}
